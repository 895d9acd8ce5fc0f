/* The reader of operator files, on damaged ones: whatever the text, it ends
 * soon, reads within its bounds (make VARIANT=asan), and either gives a message
 * or programs that the verifier accepts.
 *
 *     fuzz_spec [SEED [ROUNDS]]    from the folder that has workloads/ */
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "lib/hash.h"

enum { TEXT_MAX = 1 << 16 };

static uint64_t state;
static int accepted;
static size_t nworkloads; /* the first of the files; half of the rounds */

static size_t draw(size_t below)
{
	state = hash_mix(state);
	return below ? (size_t)(state % below) : 0;
}

static const char *const pieces[] = {"[", "]", "(", ")", "<", "=", "==", ":",
	"\n", "  ", ",", "if ", " then ", " else ", "sum[q < 2](", "max(", "-",
	"//", "%", "0", "9223372036854775807", "1e308", "inf", "#", "'", "\"",
	"&a ", "*a", "!!x ", "- ", "{", "}", "|", "\t", "\r", "\xff", "\xc3\xa9",
	"f32", "u8[", "const ", " and ", "not ", "compute: |\n", "outputs: ["};

typedef struct {
	char text[TEXT_MAX + 1];
	size_t size;
} Text;

static void replace(Text *t, size_t at, size_t n, const char *with, size_t size)
{
	if (t->size - n + size > TEXT_MAX)
		return;
	memmove(t->text + at + size, t->text + at + n, t->size - at - n);
	memcpy(t->text + at, with, size);
	t->size += size - n;
}

static void damage(Text *t)
{
	char copy[64];
	size_t at = draw(t->size + 1), left = t->size - at;
	size_t n = draw(left < 40 ? left + 1 : 40), from = draw(t->size + 1);
	size_t many = t->size - from < 60 ? t->size - from : draw(60);
	const char *piece = pieces[draw(sizeof pieces / sizeof pieces[0])];
	switch (draw(5)) {
	case 0:
		replace(t, at, n, "", 0);
		break;
	case 1:
		replace(t, at, 0, piece, strlen(piece));
		break;
	case 2: /* a piece from elsewhere */
		memcpy(copy, t->text + from, many);
		replace(t, at, 0, copy, many);
		break;
	case 3:
		if (at < t->size)
			t->text[at] = (char)draw(256);
		break;
	default:
		replace(t, at, left ? 1 : 0, piece, strlen(piece));
	}
}

/* What must hold; NULL, or what does not. */
static const char *try(Text *t)
{
	static char why[256];
	const char *wrong = NULL;
	Arena *arena = arena_new();
	Diag diag = {0};
	t->text[t->size] = 0;
	Source source = {"fuzz", t->text, t->size};
	Spec *spec = spec_parse(arena, &source, &diag);
	if (!spec && !diag.errors)
		wrong = "refused without a message";
	if (spec && diag.errors)
		wrong = "accepted with a message";
	for (int i = -1; spec && !wrong && i < spec_ncases(spec); i++) {
		int errors = diag.errors;
		Program *p = spec_program(arena, spec,
		    i < 0 ? "" : spec_case(spec, i)->name, NULL, 0,
		    NUMERICS_DEFAULT, &diag);
		accepted += p != NULL;
		if (p && diag.errors > errors)
			wrong = "a program and a message";
		if (p && !program_verify(p, why, sizeof why))
			wrong = why;
		if (!p && !diag.errors)
			wrong = "no program and no message";
	}
	diag_free(&diag);
	arena_free(arena);
	return wrong;
}

static bool read_text(const char *path, Text *t)
{
	FILE *file = fopen(path, "rb");
	if (!file)
		return false;
	t->size = fread(t->text, 1, TEXT_MAX, file);
	fclose(file);
	return true;
}

static int fuzz(const glob_t *files, uint64_t seed, int rounds)
{
	static Text text;
	for (int i = 0; i < rounds; i++) {
		state = hash_mix(seed + (uint64_t)i);
		const char *path = files->gl_pathv[draw(
		    draw(2) ? nworkloads : files->gl_pathc)];
		if (!read_text(path, &text))
			continue;
		for (size_t n = 1 + draw(draw(6)); n > 0; n--)
			damage(&text);
		const char *wrong = try(&text);
		if (!wrong)
			continue;
		printf("not ok fuzz_spec seed %llu (%s): %s\n%s\n",
		    (unsigned long long)seed + (unsigned long long)i, path,
		    wrong, text.text);
		return 1;
	}
	printf("ok fuzz_spec: %d texts from seed %llu, %d programs\n", rounds,
	    (unsigned long long)seed, accepted);
	return 0;
}

int main(int argc, char **argv)
{
	const char *tier = getenv("TIER");
	bool is_long = tier && !strcmp(tier, "long");
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	int rounds = argc > 2 ? atoi(argv[2]) : is_long ? 2000000 : 20000;
	glob_t files = {0};
	glob("workloads/*.yaml", 0, NULL, &files);
	nworkloads = files.gl_pathc;
	glob("test/error/*.yaml", GLOB_APPEND, NULL, &files);
	if (!files.gl_pathc) {
		puts("not ok fuzz_spec: no workloads/ here");
		return 1;
	}
	int code = fuzz(&files, seed, rounds);
	globfree(&files);
	return code;
}
