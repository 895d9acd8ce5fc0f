/* One operator, built by tunec and written in C, side by side on one core.
 *
 *     bench_families [-s] [-b TURNS] SPEC[:CASE] NAME=FILE.so...
 *
 * FILE.so has the operator's function, as in tunec's header.  Beside a FILE.so
 * that `tunec build` wrote lies FILE.h; without it the function is C written by
 * hand, gets const inputs as they are and a workspace of 64 MiB.  The first
 * side is the reference.  Prints
 *
 *     NAME MS RATIO SPREAD
 *     peak GFLOPS VARIATION
 *
 * median of the turns, its ratio to the reference (median of the turns' ratios)
 * and half of the middle half of these, in %; the variation of the peak (10th
 * to 90th percentile, %), which is measured in each turn, above 5 makes a run
 * noisy.  Exit 3 if the reference has no such function, 1 if results differ.
 *
 * -s: sides of one schedule, which share packed inputs, outputs and workspace
 * when they are timed; pages of its own make a side some percent faster or slower.
 *
 * All sides take their turn within milliseconds of each other, in reverse order
 * every second time; a side's part is one call that is not timed and then at
 * least 4 ms of calls.  The clock is that of the thread: what other processes
 * take away does not count.  Inputs are uniform between 0 and 1, so that powers
 * and roots have a value. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/bench/object.h"
#include "test/bench/peak.h"

enum { SIDES = 4, MOST_TURNS = 201 };

typedef struct {
	char name[32];
	Object object;
	double turn_s[MOST_TURNS], ratio[MOST_TURNS];
} Side;

typedef struct {
	const Program *program;
	void *plain[MOST_ARGUMENTS]; /* inputs, unpacked */
	Side sides[SIDES];
	int nsides, nturns;
	double peak[MOST_TURNS]; /* FLOP/s */
} Bench;

/* --- sides ------------------------------------------------------------------- */

/* NAME=FILE.so */
static void add_side(Bench *b, const char *text)
{
	Side *s = &b->sides[b->nsides];
	const char *so = strchr(text, '=');
	char header[4096];
	if (b->nsides == SIDES || !so || so - text >= 32 || strlen(so) < 5)
		die(text, "is not NAME=FILE.so");
	*s = (Side){0};
	memcpy(s->name, text, (size_t)(so++ - text));
	snprintf(header, sizeof header, "%.*s.h", (int)strlen(so) - 3, so);
	bool by_hand = access(header, R_OK) != 0;
	if (!object_open(&s->object, b->program, b->plain, so, by_hand)) {
		if (by_hand)
			exit(3);
		die(so, dlerror());
	}
	b->nsides++;
}

/* --- measuring ----------------------------------------------------------------- */

static double part_s(const Side *s)
{
	int calls = 0;
	object_call(&s->object);
	double begin = thread_s(), spent;
	do
		object_call(&s->object);
	while (++calls, (spent = thread_s() - begin) < 0.004);
	return spent / calls;
}

/* Of the first side, for all. */
static void share_buffers(Bench *b)
{
	for (int i = 1; i < b->nsides; i++)
		memcpy(b->sides[i].object.args, b->sides[0].object.args,
		    sizeof b->sides[0].object.args);
}

static void measure(Bench *b)
{
	for (int turn = 0; turn < b->nturns; turn++) {
		double begin = thread_s();
		double flops = chains();
		b->peak[turn] = flops / (thread_s() - begin);
		for (int i = 0; i < b->nsides; i++) {
			int at = turn % 2 ? b->nsides - 1 - i : i;
			b->sides[at].turn_s[turn] = part_s(&b->sides[at]);
		}
		for (int i = 0; i < b->nsides; i++)
			b->sides[i].ratio[turn] = b->sides[i].turn_s[turn] /
			    b->sides[0].turn_s[turn];
	}
}

static void report(Bench *b)
{
	int n = b->nturns;
	for (int i = 0; i < b->nsides; i++) {
		Side *s = &b->sides[i];
		double ratio = median(s->ratio, n);
		double spread = quantile(s->ratio, n, 0.75) -
		    quantile(s->ratio, n, 0.25);
		printf("%s %.4f %.3f %.1f\n", s->name,
		    median(s->turn_s, n) * 1e3, ratio, 50 * spread / ratio);
	}
	double peak = median(b->peak, n);
	printf("peak %.1f %.1f\n", peak * 1e-9,
	    100 * (quantile(b->peak, n, 0.9) - quantile(b->peak, n, 0.1)) / peak);
}

/* --- results --------------------------------------------------------------------- */

static double element(const Buffer *out, const void *data, int64_t at)
{
	Scalar x = scalar_load(out->type, data, at);
	switch (scalar_class(out->type)) {
	case SCALAR_F64: return x.d;
	case SCALAR_F32: return (double)x.f;
	default: return (double)x.i;
	}
}

/* To a thousandth of the largest: -ffast-math and other orders of sums.  What
 * was rounded to an integer may lie on the other side of a half. */
static bool equal(const Bench *b, const Side *s, int o)
{
	const Program *p = b->program;
	const Buffer *out = &p->buffers[p->outputs[o]];
	const void *want = b->sides[0].object.args[p->ninputs + o];
	const void *got = s->object.args[p->ninputs + o];
	int64_t n = buffer_elements(out);
	double largest = 0, allowed;
	for (int64_t i = 0; i < n; i++)
		if (isfinite(element(out, want, i)))
			largest = fmax(largest, fabs(element(out, want, i)));
	allowed = scalar_class(out->type) == SCALAR_INT ? 1
	    : largest * (dtype_bytes(out->type) == 2 ? 1e-2 : 1e-3);
	for (int64_t i = 0; i < n; i++) {
		double x = element(out, want, i), y = element(out, got, i);
		if (x == y || fabs(x - y) <= allowed)
			continue;
		fprintf(stderr, "%s: %s[%lld] of %s is %g, by the reference %g\n",
		    p->symbol, out->name, (long long)i, s->name, y, x);
		return false;
	}
	return true;
}

static bool check(const Bench *b)
{
	bool right = true;
	for (int i = 1; i < b->nsides; i++)
		for (int o = 0; o < b->program->noutputs; o++)
			right = equal(b, &b->sides[i], o) && right;
	return right;
}

int main(int argc, char **argv)
{
	static Bench b = {.nturns = 21};
	int option;
	bool share = false;
	while ((option = getopt(argc, argv, "+b:s")) != -1)
		if (option == 'b')
			b.nturns = atoi(optarg);
		else if (option == 's')
			share = true;
		else
			return 2;
	if (argc - optind < 2 || b.nturns < 1 || b.nturns > MOST_TURNS)
		return 2;
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	prepare_openblas();
	Arena *arena = arena_new();
	bench_pin(0, 0);
	b.program = load_program(arena, argv[optind]);
	make_inputs(b.program, 0.01, 0.99, b.plain);
	for (int i = optind + 1; i < argc; i++)
		add_side(&b, argv[i]);
	for (int i = 0; i < b.nsides; i++)
		object_call(&b.sides[i].object);
	bool right = check(&b);
	if (right) {
		if (share)
			share_buffers(&b);
		measure(&b);
		report(&b);
	}
	arena_free(arena);
	return right ? 0 : 1;
}
