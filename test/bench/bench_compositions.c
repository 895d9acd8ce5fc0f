/* A program of many layers, beside its layers built alone.
 *
 *     bench_compositions build NAME FOLDER TUNEC TARGET [TARGET-OF-A-DEVICE...]
 *     bench_compositions time NAME FOLDER
 *
 * The program is FOLDER/NAME.yaml; where NAME is a number, the random one of that
 * seed (test/common_compose.h), which `build` writes there.  A layer is what
 * stands behind a comment `# layer`; alone it has what it reads of others as
 * inputs.
 *
 * `build` builds all without a record: the whole for each target, for this machine
 * the layers too.  Prints SECONDS PLAIN: the longest that the whole takes on one
 * core, and how many of its groups are plain loops for some target.
 *
 * `time` runs them; each layer reads what the others have made.  Prints RATIO
 * ALONE MS LAYERS WRONG: the whole's time over that of its layers called one after
 * another, and over the sum of theirs where each is called again and again, which
 * then finds its data in the nearest cache and waits for nothing (medians of the
 * turns' ratios); the whole's in milliseconds, the number of layers, and an output
 * that is not what the layers make (`-`: none), of uniform inputs or of such of
 * which half are zeros.
 *
 * All take their turn within milliseconds of each other, in reverse order every
 * second time; a part is a millisecond of calls, by the thread's own clock. */
#include <math.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/bench/object.h"
#include "test/common_compose.h"

enum { TURNS = 15, MOST_SIDES = 32, LARGEST = 8 };

static const double PART_S = 0.001, ALLOWED = 1e-3;

typedef struct {
	Arena *arena;
	const char *folder, *name;
	const Program *whole;
	int nlayers;
} Bench;

static const char *path_of(const Bench *b, const char *stem, const char *kind)
{
	return arena_printf(b->arena, "%s/%s.%s", b->folder, stem, kind);
}

/* The whole, then its layers. */
static const char *stem_of(const Bench *b, int side)
{
	return side ? arena_printf(b->arena, "%s_%d", b->name, side) : b->name;
}

static void write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");
	if (!f || fputs(text, f) < 0 || fclose(f))
		die(path, "cannot be written");
}

static char *read_file(Arena *arena, const char *path)
{
	FILE *f = fopen(path, "r");
	Buf text = {0};
	char part[4096];
	if (!f)
		die(path, "cannot be read");
	for (size_t n; (n = fread(part, 1, sizeof part, f)) > 0;)
		buf_add(&text, part, n);
	fclose(f);
	char *copy = arena_strdup(arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

/* --- layers ---------------------------------------------------------------------- */

static bool in_name(char c)
{
	return c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
	    (c >= 'A' && c <= 'Z');
}

static bool mentions(const char *text, const char *name)
{
	size_t n = strlen(name);
	for (const char *at = text; (at = strstr(at, name)); at += n)
		if (at[n] == '[' && (at == text || !in_name(at[-1])))
			return true;
	return false;
}

/* Does a line begin with a definition of it? */
static bool defines(const Bench *b, const char *text, const char *name)
{
	return strstr(text, arena_printf(b->arena, "\n  %s[", name)) != NULL;
}

static const char *type_of(const Bench *b, const Buffer *buffer)
{
	Buf out = {0};
	buf_printf(&out, "%s%s[", buffer->is_const ? "const " : "",
	    dtype_name(buffer->type));
	for (int i = 0; i < buffer->ndim; i++)
		buf_printf(
		    &out, "%s%lld", i ? ", " : "", (long long)buffer->shape[i]);
	buf_puts(&out, "]");
	const char *text = arena_strdup(b->arena, buf_text(&out));
	buf_free(&out);
	return text;
}

/* The operator file of a layer; `others`: the text of all others. */
static void write_layer(
    const Bench *b, int layer, const char *text, const char *others)
{
	const Program *p = b->whole;
	const char *separator = "";
	Buf out = {0};
	buf_printf(&out, "tunec: 1\nname: %s\ninputs:\n", stem_of(b, layer));
	for (int i = 0; i < p->nbuffers; i++) {
		const Buffer *at = &p->buffers[i];
		if (mentions(text, at->name) && !defines(b, text, at->name))
			buf_printf(
			    &out, "  %s: '%s'\n", at->name, type_of(b, at));
	}
	buf_printf(&out, "compute: |%soutputs: [", text);
	for (int i = p->ninputs; i < p->nbuffers; i++) {
		const Buffer *at = &p->buffers[i];
		if (!defines(b, text, at->name) ||
		    (at->role != BUFFER_OUTPUT && !mentions(others, at->name)))
			continue;
		buf_printf(&out, "%s%s", separator, at->name);
		separator = ", ";
	}
	buf_puts(&out, "]\n");
	write_file(path_of(b, stem_of(b, layer), "yaml"), buf_text(&out));
	buf_free(&out);
}

static void write_layers(Bench *b)
{
	static const char mark[] = "  # layer";
	char *text = read_file(b->arena, path_of(b, b->name, "yaml"));
	char *compute = strstr(text, "\ncompute: |");
	char *end = compute ? strstr(compute, "\noutputs:") : NULL;
	char *at = compute ? strstr(compute, mark) : NULL;
	if (!at || !end)
		die(b->name, "has no layers, or no outputs behind them");
	end[1] = 0;
	for (char *next; at; at = next) {
		at += sizeof mark - 1;
		next = strstr(at, mark);
		if (next)
			*next = 0;
		const char *layer = arena_strdup(b->arena, at);
		if (next)
			*next = ' ';
		memset(at, ' ', strlen(layer));
		write_layer(b, ++b->nlayers, layer, compute);
		memcpy(at, layer, strlen(layer));
	}
}

static const Program *load(const Bench *b, int side)
{
	return load_program(b->arena, path_of(b, stem_of(b, side), "yaml"));
}

static Bench open_bench(const char *name, const char *folder)
{
	Arena *arena = arena_new();
	bool random = name[strspn(name, "0123456789")] == 0;
	Bench b = {.arena = arena, .folder = folder};
	b.name = random ? arena_printf(arena, "op%s", name) : name;
	if (random) {
		Rng rng = rng_stream(2026, 41, (uint64_t)atoi(name));
		int size = 1 + (int)rng_below(&rng, LARGEST);
		write_file(path_of(&b, b.name, "yaml"),
		    compose(arena, &rng, b.name, size));
	}
	b.whole = load(&b, 0);
	write_layers(&b);
	return b;
}

/* --- building ------------------------------------------------------------------ */

/* Seconds of a core; what it says goes to FOLDER/NAME.said. */
static double run(const Bench *b, const char *command)
{
	struct rusage before, after;
	getrusage(RUSAGE_CHILDREN, &before);
	if (system(arena_printf(
		b->arena, "%s 2>>'%s'", command, path_of(b, b->name, "said"))))
		die(b->name, command);
	getrusage(RUSAGE_CHILDREN, &after);
	return (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec) +
	    (double)(after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
	    1e-6 * (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec) +
	    1e-6 * (double)(after.ru_stime.tv_usec - before.ru_stime.tv_usec);
}

static double build(const Bench *b, const char *tunec, const char *target,
    const char *stem, const char *kinds)
{
	return run(b,
	    arena_printf(b->arena,
		"%s build '%s' --target '%s' --db '%s/none' %s", tunec,
		path_of(b, stem, "yaml"), target, b->folder, kinds));
}

static const char *device_kind(const char *target)
{
	return !strncmp(target, "opencl", 6) ? "cl"
	    : !strncmp(target, "hip", 3)     ? "s"
					     : "ptx";
}

/* What was said of plain loops, so far. */
static int count_plain(const Bench *b)
{
	char line[4096];
	int n = 0;
	FILE *f = fopen(path_of(b, b->name, "said"), "r");
	while (f && fgets(line, sizeof line, f))
		n += strstr(line, "plain loops") != NULL;
	if (f)
		fclose(f);
	return n;
}

/* One library of all: links FILE.so and the headers are beside each other. */
static void link_all(const Bench *b)
{
	Buf command = {0};
	const char *so = path_of(b, b->name, "so");
	buf_printf(&command, "cc -shared -o '%s'", so);
	for (int i = 0; i <= b->nlayers; i++)
		buf_printf(&command, " '%s'", path_of(b, stem_of(b, i), "o"));
	buf_puts(&command, " -lm");
	run(b, buf_text(&command));
	buf_free(&command);
	for (int i = 0; i <= b->nlayers; i++) {
		const char *stem = stem_of(b, i);
		unlink(path_of(b, stem, "o"));
		if (!i)
			continue;
		unlink(path_of(b, stem, "so"));
		if (symlink(arena_printf(b->arena, "%s.so", b->name),
			path_of(b, stem, "so")))
			die(stem, "cannot be linked");
	}
}

static int build_all(const Bench *b, char **targets)
{
	const char *tunec = targets[0];
	double longest = 0;
	unlink(path_of(b, b->name, "said"));
	for (int i = 1; targets[i]; i++) {
		const char *kind = i == 1 ? "o" : device_kind(targets[i]);
		double s = build(b, tunec, targets[i], b->name,
		    arena_printf(b->arena, "-o '%s' -o '%s'",
			path_of(b, b->name, kind), path_of(b, b->name, "h")));
		if (s > longest)
			longest = s;
		if (i > 1)
			unlink(path_of(b, b->name, kind));
	}
	printf("%.3f %d\n", longest, count_plain(b));
	/* the header of this machine's, of which kernels are timed */
	build(b, tunec, targets[1], b->name,
	    arena_printf(b->arena, "-o '%s'", path_of(b, b->name, "h")));
	for (int i = 1; i <= b->nlayers; i++)
		build(b, tunec, targets[1], stem_of(b, i),
		    arena_printf(b->arena, "-o '%s' -o '%s'",
			path_of(b, stem_of(b, i), "o"),
			path_of(b, stem_of(b, i), "h")));
	link_all(b);
	return 0;
}

/* --- running ------------------------------------------------------------------- */

typedef struct {
	const Program *program;
	Object object;
} Side;

/* Whose data is known by name: the whole's inputs, and what layers have made. */
typedef struct {
	const char *names[4 * MOST_ARGUMENTS];
	void *data[4 * MOST_ARGUMENTS];
	int n;
} Known;

static void know(Known *k, const char *name, void *data)
{
	if (k->n == 4 * MOST_ARGUMENTS)
		die(name, "is one too many");
	k->names[k->n] = name;
	k->data[k->n++] = data;
}

static void *known(const Known *k, const char *name)
{
	for (int i = 0; i < k->n; i++)
		if (!strcmp(k->names[i], name))
			return k->data[i];
	die(name, "is made by no layer");
	return NULL;
}

static void open_side(const Bench *b, Known *k, Side *s, int side)
{
	const Program *p = s->program;
	void *plain[MOST_ARGUMENTS];
	const char *so = path_of(b, stem_of(b, side), "so");
	if (p->ninputs + p->noutputs + 1 > MOST_ARGUMENTS)
		die(p->name, "has too many inputs and outputs");
	for (int i = 0; i < p->ninputs; i++)
		plain[i] = known(k, p->buffers[i].name);
	if (!object_open(&s->object, p, plain, so, false))
		die(so, dlerror());
	object_call(&s->object);
	for (int o = 0; side && o < p->noutputs; o++)
		know(k, p->buffers[p->outputs[o]].name,
		    s->object.args[p->ninputs + o]);
}

/* Whole and layers, each called once. */
static void open_all(const Bench *b, Known *k, Side *sides, bool zeros)
{
	const Program *p = sides[0].program;
	void *plain[MOST_ARGUMENTS];
	make_inputs(p, -0.5, 0.5, plain);
	for (int i = 0; i < p->ninputs; i++) {
		size_t bytes = (size_t)buffer_bytes(&p->buffers[i]);
		if (zeros)
			memset(plain[i], 0, bytes / 8 * 4);
		know(k, p->buffers[i].name, plain[i]);
	}
	for (int i = 0; i <= b->nlayers; i++)
		open_side(b, k, &sides[i], i);
}

/* An output of the whole that is not what the layers make; NULL. */
static const char *compare(const Known *k, const Side *whole)
{
	const Program *p = whole->program;
	for (int o = 0; o < p->noutputs; o++) {
		const Buffer *out = &p->buffers[p->outputs[o]];
		const float *got = whole->object.args[p->ninputs + o];
		const float *want = known(k, out->name);
		int64_t n = buffer_elements(out);
		float largest = 1e-3f;
		for (int64_t i = 0; i < n; i++)
			if (isfinite(want[i]))
				largest = fmaxf(largest, fabsf(want[i]));
		for (int64_t i = 0; i < n; i++)
			if (!(fabsf(got[i] - want[i]) <= ALLOWED * largest) &&
			    got[i] != want[i] &&
			    !(isnan(got[i]) && isnan(want[i])))
				return out->name;
	}
	return NULL;
}

/* Seconds of a call of each of n sides, one after another. */
static double part_s(const Side *sides, int n, int calls)
{
	double begin = thread_s();
	for (int i = 0; i < calls; i++)
		for (int k = 0; k < n; k++)
			object_call(&sides[k].object);
	return (thread_s() - begin) / calls;
}

static int calls_of(const Side *sides, int n)
{
	int calls = 1;
	while (part_s(sides, n, calls) * calls < PART_S)
		calls *= 2;
	return calls;
}

/* The whole, each layer alone, and then all layers. */
static void time_all(const Bench *b, const Side *sides)
{
	double whole[TURNS], ratio[TURNS], alone[TURNS];
	int n = b->nlayers + 1, calls[MOST_SIDES + 1];
	for (int i = 0; i < n; i++)
		calls[i] = calls_of(&sides[i], 1);
	calls[n] = calls_of(&sides[1], n - 1);
	for (int turn = 0; turn < TURNS; turn++) {
		double part[MOST_SIDES + 1], sum = 0;
		for (int i = 0; i <= n; i++) {
			int at = turn % 2 ? n - i : i;
			const Side *first = &sides[at < n ? at : 1];
			int together = at < n ? 1 : n - 1;
			part_s(first, together, 1);
			part[at] = part_s(first, together, calls[at]);
		}
		for (int i = 1; i < n; i++)
			sum += part[i];
		whole[turn] = part[0];
		ratio[turn] = part[0] / part[n];
		alone[turn] = part[0] / sum;
	}
	printf("%.3f %.3f %.5f %d", median(ratio, TURNS),
	    median(alone, TURNS), median(whole, TURNS) * 1e3, n - 1);
}

static int time_composition(const Bench *b)
{
	static Side sides[MOST_SIDES];
	const char *wrong = NULL;
	if (b->nlayers >= MOST_SIDES)
		die(b->name, "has too many layers");
	for (int i = 0; i <= b->nlayers; i++)
		sides[i].program = load(b, i);
	for (int zeros = 1; zeros >= 0; zeros--) {
		Known k = {.n = 0};
		open_all(b, &k, sides, zeros);
		const char *name = compare(&k, &sides[0]);
		wrong = name ? name : wrong;
	}
	bench_pin(0, 0);
	time_all(b, sides);
	printf(" %s\n", wrong ? wrong : "-");
	return 0;
}

int main(int argc, char **argv)
{
	bool building = argc > 5 && !strcmp(argv[1], "build");
	if (!building && (argc != 4 || strcmp(argv[1], "time")))
		die("usage", "build|time NAME FOLDER [TUNEC TARGET...]");
	Bench b = open_bench(argv[2], argv[3]);
	return building ? build_all(&b, argv + 4) : time_composition(&b);
}
