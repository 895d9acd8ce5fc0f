/* Kernels of different operators, and libraries, side by side.
 *
 *     bench_sides [-t THREADS] [-b TURNS] [-i sse|avx2|avx512] SIDE...
 *
 *     NAME[*COUNT]=SPEC:CASE@FILE.so      built by tunec, with FILE.h beside it
 *     NAME=dnnl:DESCRIPTION@FILE.so       oneDNN: test/bench/cliffs/dnnl.c
 *     NAME=openblas:M,N,K                 a product of f32 matrices
 *
 * A line for each side, then two:
 *
 *     NAME MS GFLOPS RATIO SPREAD
 *     parts RATIO SPREAD
 *     peak GFLOPS VARIATION
 *
 * median of the turns; GFLOP/s by the side's own operations, a library's by
 * those of the first side; its time over the first side's, the median of the
 * turns' ratios, and half of the middle half of these, in %.  `parts` is the
 * first side's time over the sum of all others', each COUNT times.  The peak is
 * of one core, of the widest vectors or of -i.  A library that is not there is
 * left out and said so.  Results are not compared: `tunec tune` does that.
 *
 * On one thread the clock is that of the thread: what other processes take does
 * not count.  Before a part on several threads is a pause in which spinning
 * threads of other libraries fall asleep. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "test/bench/bench.h"
#include "test/bench/object.h"
#include "test/bench/peak.h"

enum { SIDES = 40, MOST_TURNS = 201, PAUSE_MS = 60 };

typedef void (*Sgemm)(int, int, int, int, int, int, float, const float *, int,
    const float *, int, float, float *, int);

typedef struct {
	char name[64];
	int count;
	double flops; /* 0: as the first side's */
	Object object;
	void (*library)(void *); /* oneDNN's run, with its state */
	void *state;
	Sgemm sgemm;
	int m, n, k;
	double turn_s[MOST_TURNS], ratio[MOST_TURNS];
} Side;

typedef struct {
	Arena *arena;
	int threads, nturns, nsides;
	const char *isa;
	Side sides[SIDES];
	double peak[MOST_TURNS]; /* FLOP/s */
} Bench;

/* --- sides -------------------------------------------------------------------- */

static bool open_dnnl(Side *s, char *text)
{
	char *so = strchr(text, '@');
	if (!so)
		die(text, "is not dnnl:DESCRIPTION@FILE.so");
	*so++ = 0;
	void *library = dlopen(so, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s: skipped, %s\n", s->name, dlerror());
		return false;
	}
	void *(*open)(const char *);
	*(void **)&open = dlsym(library, "dnnl_side_open");
	*(void **)&s->library = dlsym(library, "dnnl_side_run");
	if (!open || !s->library)
		die(so, dlerror());
	s->state = open(text);
	if (!s->state)
		fprintf(stderr, "%s: skipped, oneDNN cannot\n", s->name);
	return s->state != NULL;
}

static bool open_openblas(const Bench *b, Side *s, const char *text)
{
	prepare_openblas();
	void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s: skipped, %s\n", s->name, dlerror());
		return false;
	}
	void (*set_threads)(int);
	*(void **)&s->sgemm = dlsym(library, "cblas_sgemm");
	*(void **)&set_threads = dlsym(library, "openblas_set_num_threads");
	if (!s->sgemm || !set_threads)
		die("openblas", dlerror());
	if (sscanf(text, "%d,%d,%d", &s->m, &s->n, &s->k) != 3)
		die(text, "is not openblas:M,N,K");
	set_threads(b->threads);
	int64_t size[3] = {(int64_t)s->m * s->k, (int64_t)s->k * s->n,
	    (int64_t)s->m * s->n};
	for (int i = 0; i < 3; i++) {
		float *x = aligned((size_t)size[i] * 4);
		for (int64_t k = 0; k < size[i]; k++)
			x[k] = (float)(k % 1000) * 1e-3f - 0.5f;
		s->object.args[i] = x;
	}
	return true;
}

static void open_kernel(Bench *b, Side *s, char *text)
{
	char *so = strrchr(text, '@');
	void *plain[MOST_ARGUMENTS];
	if (!so)
		die(text, "is not SPEC:CASE@FILE.so");
	*so++ = 0;
	const Program *p = load_program(b->arena, text);
	make_inputs(p, -0.5, 0.5, plain);
	if (!object_open(&s->object, p, plain, so, false))
		die(so, dlerror());
	s->flops = (double)p->flops;
}

static void add_side(Bench *b, const char *text)
{
	Side *s = &b->sides[b->nsides];
	const char *equals = strchr(text, '='), *count = strchr(text, '*');
	if (b->nsides == SIDES || !equals || equals - text >= 64)
		die(text, "is not NAME=SIDE");
	*s = (Side){.count = 1};
	memcpy(s->name, text, (size_t)(equals - text));
	if (count && count < equals) {
		s->count = atoi(count + 1);
		s->name[count - text] = 0;
	}
	char *what = strdup(equals + 1);
	bool there = true;
	if (!strncmp(what, "dnnl:", 5))
		there = open_dnnl(s, what + 5);
	else if (!strncmp(what, "openblas:", 9))
		there = open_openblas(b, s, what + 9);
	else
		open_kernel(b, s, what);
	b->nsides += there;
	free(what);
}

static void call(const Side *s)
{
	void *const *a = s->object.args;
	if (s->library)
		s->library(s->state);
	else if (s->sgemm)
		s->sgemm(101, 111, 111, s->m, s->n, s->k, 1, a[0], s->k, a[1],
		    s->n, 0, a[2], s->n);
	else
		object_call(&s->object);
}

/* --- measuring ------------------------------------------------------------------ */

static double clock_s(const Bench *b)
{
	return b->threads == 1 ? thread_s() : now_s();
}

static double part_s(const Bench *b, const Side *s)
{
	int calls = 0;
	if (b->threads > 1)
		nanosleep(&(struct timespec){0, PAUSE_MS * 1000000L}, NULL);
	call(s);
	double begin = clock_s(b), spent;
	do
		call(s);
	while (++calls, (spent = clock_s(b) - begin) < 0.005);
	return spent / calls;
}

static void measure(Bench *b)
{
	for (int turn = 0; turn < b->nturns; turn++) {
		double begin = thread_s();
		double flops = b->isa ? chains_of(b->isa) : chains();
		b->peak[turn] = flops / (thread_s() - begin);
		for (int i = 0; i < b->nsides; i++) {
			int at = turn % 2 ? b->nsides - 1 - i : i;
			b->sides[at].turn_s[turn] = part_s(b, &b->sides[at]);
		}
	}
}

static double spread(double *v, int n)
{
	double m = median(v, n);
	return 50 * (quantile(v, n, 0.75) - quantile(v, n, 0.25)) / m;
}

static void report(Bench *b)
{
	int n = b->nturns;
	double first[MOST_TURNS], parts[MOST_TURNS];
	memcpy(first, b->sides[0].turn_s, sizeof first);
	for (int t = 0; t < n; t++) {
		double sum = 0;
		for (int i = 1; i < b->nsides; i++)
			sum += b->sides[i].count * b->sides[i].turn_s[t];
		parts[t] = sum > 0 ? first[t] / sum : 0;
	}
	for (int i = 0; i < b->nsides; i++) {
		Side *s = &b->sides[i];
		for (int t = 0; t < n; t++)
			s->ratio[t] = s->turn_s[t] / first[t];
		double m = median(s->turn_s, n);
		double flops = s->flops > 0 ? s->flops : b->sides[0].flops;
		printf("%s %.4f %.1f %.3f %.1f\n", s->name, m * 1e3,
		    flops / m * 1e-9, median(s->ratio, n), spread(s->ratio, n));
	}
	if (b->nsides > 1)
		printf("parts %.3f %.1f\n", median(parts, n), spread(parts, n));
	double peak = median(b->peak, n);
	printf("peak %.1f %.1f\n", peak * 1e-9,
	    100 * (quantile(b->peak, n, 0.9) - quantile(b->peak, n, 0.1)) / peak);
}

/* Read when the first kernel or library with OpenMP is opened. */
static void set_threads(int threads)
{
	char text[32];
	snprintf(text, sizeof text, "%d", threads);
	setenv("OMP_NUM_THREADS", text, 1);
	setenv("OPENBLAS_NUM_THREADS", text, 1);
	if (threads == 1)
		bench_pin(0, 0);
	else
		setenv("OMP_PROC_BIND", "true", 1);
}

int main(int argc, char **argv)
{
	static Bench b = {.nturns = 15, .threads = 1};
	int option;
	while ((option = getopt(argc, argv, "+b:t:i:")) != -1)
		switch (option) {
		case 'b': b.nturns = atoi(optarg); break;
		case 't': b.threads = atoi(optarg); break;
		case 'i': b.isa = optarg; break;
		default: return 2;
		}
	if (argc == optind || b.nturns < 1 || b.nturns > MOST_TURNS ||
	    b.threads < 1)
		return 2;
	set_threads(b.threads);
	b.arena = arena_new();
	for (int i = optind; i < argc; i++)
		add_side(&b, argv[i]);
	if (!b.nsides)
		die("sides", "there is none");
	measure(&b);
	report(&b);
	arena_free(b.arena);
	return 0;
}
