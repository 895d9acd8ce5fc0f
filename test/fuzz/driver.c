/* A fuzz target without libFuzzer: the seeds as they are, then with random
 * damage.
 *
 *     fuzz_NAME [SEED [ROUNDS]]    from the folder that has test/
 *     fuzz_NAME FILE...            these inputs alone
 *     fuzz_NAME --seeds            the folders of seeds, for fuzz.sh */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test/common_tier.h"
#include "test/fuzz/fuzz.h"

enum { INPUT_MAX = 1 << 16, SECONDS = 10 };

typedef struct {
	const char *path;
	Buf bytes;
} Seed;

static Arena *arena;
static VEC(Seed) seeds;
static VEC(const char *) pieces;
static char trying[256]; /* the input under trial, in words */

/* --- what broke it ---------------------------------------------------------- */

static void say_broken(void)
{
	static const char begin[] = "not ok fuzz_";
	const char *parts[] = {begin, fuzz_name, ": ", trying, "\n"};
	for (int i = 0; i < 5; i++)
		if (write(1, parts[i], strlen(parts[i])) < 0)
			return;
}

static void on_signal(int number)
{
	say_broken();
	signal(number, SIG_DFL);
	raise(number);
}

/* Of a sanitizer, which has handlers of its own for what it explains. */
void __sanitizer_set_death_callback(void (*callback)(void))
    __attribute__((weak));

static void watch(void)
{
	static const int numbers[] = {
	    SIGABRT, SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
	bool sanitized = __sanitizer_set_death_callback != NULL;
	for (int i = 0; i < (sanitized ? 2 : 6); i++)
		signal(numbers[i], on_signal);
	if (sanitized)
		__sanitizer_set_death_callback(say_broken);
}

static void try(const Buf *bytes)
{
	alarm(SECONDS);
	LLVMFuzzerTestOneInput((const uint8_t *)buf_text(bytes), bytes->size);
	alarm(0);
}

/* --- seeds and pieces ------------------------------------------------------- */

static void add_seed(const char *path)
{
	Seed seed = {arena_strdup(arena, path), fuzz_read(path)};
	vec_push(arena, &seeds, seed);
}

static void add_folder(const char *folder)
{
	struct dirent **names;
	int n = scandir(folder, &names, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		const char *path =
		    arena_printf(arena, "%s/%s", folder, names[i]->d_name);
		struct stat st;
		if (!stat(path, &st) && S_ISREG(st.st_mode) &&
		    st.st_size <= INPUT_MAX)
			add_seed(path);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

/* The text between the outer quotes of a dictionary's line; what libFuzzer
 * reads: \\, \" and \xHH stand for a byte. */
static const char *piece_of(char *line)
{
	char *from = strchr(line, '"'), *end = strrchr(line, '"'), *to = from;
	if (!from || from == end || *line == '#')
		return NULL;
	const char *piece = to;
	for (from++; from < end; from++) {
		unsigned byte;
		if (*from != '\\') {
			*to++ = *from;
		} else if (sscanf(from, "\\x%2x", &byte) == 1) {
			*to++ = (char)byte;
			from += 3;
		} else {
			*to++ = *++from;
		}
	}
	*to = 0;
	return arena_strdup(arena, piece);
}

static void read_pieces(void)
{
	const char *path = arena_printf(arena, "test/fuzz/%s.dict", fuzz_name);
	char line[256];
	FILE *file = fopen(path, "r");
	while (file && fgets(line, sizeof line, file)) {
		const char *piece = piece_of(line);
		if (piece)
			vec_push(arena, &pieces, piece);
	}
	if (file)
		fclose(file);
}

/* --- damage ----------------------------------------------------------------- */

static void replace(Buf *t, size_t at, size_t n, const char *with, size_t size)
{
	Buf out = {0};
	buf_add(&out, buf_text(t), at);
	buf_add(&out, with, size);
	buf_add(&out, buf_text(t) + at + n, t->size - at - n);
	buf_free(t);
	*t = out;
}

static const Seed *a_seed(Rng *rng)
{
	return &seeds.at[rng_below(rng, (uint64_t)seeds.n)];
}

static void damage(Buf *t, Rng *rng)
{
	size_t at = rng_below(rng, t->size + 1), left = t->size - at;
	size_t n = rng_below(rng, left < 40 ? left + 1 : 40);
	const char *piece =
	    pieces.n ? pieces.at[rng_below(rng, (uint64_t)pieces.n)] : "";
	const Buf *other = rng_below(rng, 4) ? t : &a_seed(rng)->bytes;
	size_t from = rng_below(rng, other->size + 1);
	size_t many = rng_below(rng, other->size - from + 1);
	Buf copy = {0};
	char byte = (char)rng_below(rng, 256);
	switch (rng_below(rng, 5)) {
	case 0: replace(t, at, n, "", 0); break;
	case 1: replace(t, at, 0, piece, strlen(piece)); break;
	case 2: /* a piece from elsewhere */
		if (other->size)
			buf_add(
			    &copy, other->data + from, many < 60 ? many : 60);
		replace(t, at, 0, buf_text(&copy), copy.size);
		buf_free(&copy);
		break;
	case 3: replace(t, at, left > 0, &byte, left > 0); break;
	default: replace(t, at, left > 0, piece, strlen(piece));
	}
}

/* --- the test --------------------------------------------------------------- */

static void try_seeds(void)
{
	for (int i = 0; i < seeds.n; i++) {
		snprintf(trying, sizeof trying, "%s", seeds.at[i].path);
		try(&seeds.at[i].bytes);
	}
}

static void try_damaged(uint64_t seed, int rounds)
{
	for (int i = 0; i < rounds && seeds.n; i++) {
		Rng rng = rng_stream(seed + (uint64_t)i, 0, 0);
		const Seed *from = a_seed(&rng);
		Buf bytes = {0};
		snprintf(trying, sizeof trying, "seed %llu (of %s)",
		    (unsigned long long)seed + (unsigned long long)i,
		    from->path);
		buf_add(&bytes, buf_text(&from->bytes), from->bytes.size);
		uint64_t n = 1 + rng_below(&rng, 1 + rng_below(&rng, 6));
		for (; n > 0; n--)
			damage(&bytes, &rng);
		if (rounds == 1)
			fwrite(bytes.data, 1, bytes.size, stderr);
		try(&bytes);
		buf_free(&bytes);
	}
}

static void read_seeds(void)
{
	add_folder(arena_printf(arena, "test/fuzz/corpus/%s", fuzz_name));
	for (int i = 0; fuzz_seeds[i]; i++)
		add_folder(fuzz_seeds[i]);
	read_pieces();
}

static int test(uint64_t seed, int rounds)
{
	read_seeds();
	if (!seeds.n) {
		printf("not ok fuzz_%s: no seeds here\n", fuzz_name);
		return 1;
	}
	try_seeds();
	try_damaged(seed, rounds);
	printf("ok fuzz_%s: %d seeds, %d damaged from seed %llu\n", fuzz_name,
	    seeds.n, rounds, (unsigned long long)seed);
	return 0;
}

static int rounds_of_tier(void)
{
	return tier_is_long() ? 100 * fuzz_rounds : fuzz_rounds;
}

int main(int argc, char **argv)
{
	int code = 0;
	arena = arena_new();
	watch();
	LLVMFuzzerInitialize(&argc, &argv);
	if (argc > 1 && argv[1][strspn(argv[1], "0123456789")]) {
		for (int i = 1; i < argc; i++)
			add_seed(argv[i]);
		try_seeds();
	} else {
		code = test(argc > 1 ? strtoull(argv[1], NULL, 10) : 1,
		    argc > 2 ? atoi(argv[2]) : rounds_of_tier());
	}
	for (int i = 0; i < seeds.n; i++)
		buf_free(&seeds.at[i].bytes);
	arena_free(arena);
	return code;
}
