/* Kernels side by side in one process, beside a library, as shares of the peak.
 *
 *     bench_kernels [-b BLOCKS] SPEC:CASE NAME:THREADS=FILE.so... [openblas:THREADS]
 *
 * FILE.so was built by `tunec build -o FILE.so -o FILE.h` from the same case,
 * whose inputs and outputs are all f32.  OpenBLAS joins in for a plain product
 * of two matrices, or says why not.  A line for each side:
 *
 *     NAME THREADS MS GFLOPS SHARE SPREAD
 *
 * median of blocks, share in % of the peak of as many cores, spread in % (half
 * of the middle half of the blocks); then `peak THREADS GFLOPS VARIATION`, where
 * the variation (10th to 90th percentile, %) above 5 makes a run noisy.  Exit 1
 * if results differ from the interpreter's at random points.
 *
 * A block is at least 20 calls and 20 ms, after 5 calls that are not timed.
 * Before it, and before the peak, is a pause in which other sides' spinning
 * threads fall asleep; turns take all sides in order, the second half of them in
 * reverse.  Threads are pinned one by one after the first call of a side: the
 * main thread to the first CPU, each new one to the next.  The peak is one block
 * of register-only multiply-adds in each turn. */
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ir/ir.h"
#include "lib/rng.h"
#include "test/bench/bench.h"
#include "test/bench/object.h"
#include "test/bench/peak.h"

enum { SIDES = 8, MOST_BLOCKS = 101, MOST_THREADS = 64 };
enum { POINTS = 64, MOST_TASKS = 256, PAUSE_MS = 60 };

typedef void (*Sgemm)(int, int, int, int, int, int, float, const float *, int,
    const float *, int, float, float *, int);

typedef struct {
	char name[32];
	int threads;
	Object object;
	Sgemm sgemm;
	void (*set_threads)(int);
	double block_s[MOST_BLOCKS];
} Side;

typedef struct {
	const Program *program;
	void *plain[MOST_ARGUMENTS]; /* inputs, unpacked */
	Side sides[SIDES];
	int nsides, nblocks, most_threads;
	double peak[MOST_THREADS + 1][MOST_BLOCKS]; /* FLOP/s */
	int tasks[MOST_TASKS], ntasks; /* threads that are pinned */
} Bench;

/* --- the peak ------------------------------------------------------------------ */

typedef struct {
	int cpu;
	pthread_barrier_t *together;
	double begin, end, flops;
} PeakThread;

static void *peak_thread(void *argument)
{
	PeakThread *t = argument;
	bench_pin(0, t->cpu);
	pthread_barrier_wait(t->together);
	t->begin = now_s();
	t->flops = chains();
	t->end = now_s();
	return NULL;
}

static double peak_flops_per_s(int threads)
{
	PeakThread t[MOST_THREADS];
	pthread_t id[MOST_THREADS];
	pthread_barrier_t together;
	pthread_barrier_init(&together, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++) {
		t[i] = (PeakThread){.cpu = i, .together = &together};
		if (pthread_create(&id[i], NULL, peak_thread, &t[i]))
			die("peak", "no thread");
	}
	double begin = INFINITY, end = 0, flops = 0;
	for (int i = 0; i < threads; i++) {
		pthread_join(id[i], NULL);
		begin = fmin(begin, t[i].begin);
		end = fmax(end, t[i].end);
		flops += t[i].flops;
	}
	pthread_barrier_destroy(&together);
	return flops / (end - begin);
}

/* --- sides ----------------------------------------------------------------------- */

/* A [M, K] by B [K, N] to C [M, N], by the names of the workload. */
static bool is_matmul(const Program *p)
{
	const Buffer *v = p->buffers;
	return !strcmp(p->name, "matmul") && p->ninputs == 2 &&
	    v[0].ndim == 2 && v[1].ndim == 2 && v[0].shape[1] == v[1].shape[0];
}

static bool open_openblas(Bench *b, Side *s)
{
	prepare_openblas();
	void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!library || !is_matmul(b->program)) {
		fprintf(stderr, "openblas: skipped, %s\n",
		    library ? "no matrix product" : "not installed");
		return false;
	}
	*(void **)&s->sgemm = dlsym(library, "cblas_sgemm");
	*(void **)&s->set_threads = dlsym(library, "openblas_set_num_threads");
	if (!s->sgemm || !s->set_threads)
		die("openblas", dlerror());
	s->object.args[0] = b->plain[0];
	s->object.args[1] = b->plain[1];
	s->object.args[2] = aligned((size_t)buffer_bytes(
	    &b->program->buffers[b->program->outputs[0]]));
	s->object.nargs = 4;
	return true;
}

static void call(const Bench *b, const Side *s)
{
	void *const *a = s->object.args;
	if (s->sgemm) {
		const Buffer *v = b->program->buffers;
		int m = (int)v[0].shape[0], k = (int)v[0].shape[1];
		int n = (int)v[1].shape[1];
		s->sgemm(101, 111, 111, m, n, k, 1, a[0], k, a[1], n, 0, a[2],
		    n);
		return;
	}
	object_call(&s->object);
}

/* --- threads ------------------------------------------------------------------ */

/* Pins the threads that have come since, to the CPUs behind the main one's. */
static void pin_new_threads(Bench *b)
{
	int next = 1;
	DIR *folder = opendir("/proc/self/task");
	for (struct dirent *e; folder && (e = readdir(folder));) {
		int task = atoi(e->d_name), known = task == getpid();
		for (int i = 0; i < b->ntasks && !known; i++)
			known = b->tasks[i] == task;
		if (task <= 0 || known || b->ntasks == MOST_TASKS)
			continue;
		b->tasks[b->ntasks++] = task;
		bench_pin(task, next++);
	}
	if (folder)
		closedir(folder);
}

/* --- measuring ------------------------------------------------------------------ */

static void pause_ms(int ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static double block(const Bench *b, const Side *s)
{
	double begin;
	int calls = 0;
	if (s->set_threads)
		s->set_threads(s->threads);
	pause_ms(PAUSE_MS);
	for (int i = 0; i < 5; i++)
		call(b, s);
	begin = now_s();
	do
		call(b, s);
	while (++calls < 20 || now_s() - begin < 0.02);
	return (now_s() - begin) / calls;
}

static void measure(Bench *b)
{
	for (int turn = 0; turn < b->nblocks; turn++) {
		pause_ms(PAUSE_MS);
		for (int t = 1; t <= b->most_threads; t++)
			b->peak[t][turn] = peak_flops_per_s(t);
		for (int i = 0; i < b->nsides; i++) {
			int at = turn < b->nblocks / 2 ? i : b->nsides - 1 - i;
			b->sides[at].block_s[turn] = block(b, &b->sides[at]);
		}
	}
}

static void report(Bench *b)
{
	double flops = (double)b->program->flops;
	double peak[MOST_THREADS + 1];
	int n = b->nblocks;
	for (int t = 1; t <= b->most_threads; t++)
		peak[t] = median(b->peak[t], n);
	for (int i = 0; i < b->nsides; i++) {
		Side *s = &b->sides[i];
		double m = median(s->block_s, n);
		double spread = quantile(s->block_s, n, 0.75) -
		    quantile(s->block_s, n, 0.25);
		printf("%s %d %.4f %.1f %.1f %.1f\n", s->name, s->threads,
		    m * 1e3, flops / m * 1e-9,
		    100 * flops / m / peak[s->threads], 50 * spread / m);
	}
	for (int t = 1; t <= b->most_threads; t++)
		printf("peak %d %.1f %.1f\n", t, peak[t] * 1e-9,
		    100 * (quantile(b->peak[t], n, 0.9) -
			      quantile(b->peak[t], n, 0.1)) /
			peak[t]);
}

/* --- results --------------------------------------------------------------------- */

static int64_t offset_of(const Buffer *out, const int64_t *index)
{
	int64_t at = 0;
	for (int d = 0; d < out->ndim; d++)
		at = at * out->shape[d] + index[d];
	return at;
}

static bool check(const Bench *b)
{
	const Program *p = b->program;
	Rng rng = rng_stream(7, 0, 0);
	bool right = true;
	for (int o = 0; o < p->noutputs; o++) {
		const Buffer *out = &p->buffers[p->outputs[o]];
		for (int i = 0; i < POINTS; i++) {
			int64_t index[16] = {0};
			float want;
			for (int d = 0; d < out->ndim; d++)
				index[d] = (int64_t)(rng_double(&rng) *
				    (double)out->shape[d]);
			interp_point(p, (void *const *)b->plain, p->outputs[o],
			    index, &want);
			for (int s = 0; s < b->nsides; s++) {
				const float *got =
				    b->sides[s].object.args[p->ninputs + o];
				float f = got[offset_of(out, index)];
				if (fabsf(f - want) <= 1e-3f + 1e-4f * fabsf(want))
					continue;
				fprintf(stderr, "%s: %s is wrong: %g, not %g\n",
				    b->sides[s].name, out->name, (double)f,
				    (double)want);
				right = false;
			}
		}
	}
	return right;
}

/* --- arguments ------------------------------------------------------------------- */

static void all_f32(const Program *p)
{
	for (int i = 0; i < p->nbuffers; i++)
		if (p->buffers[i].type != DT_F32 &&
		    p->buffers[i].role != BUFFER_TEMP)
			die(p->buffers[i].name, "is not f32");
}

/* NAME:THREADS=FILE.so */
static void add_side(Bench *b, const char *text)
{
	Side *s = &b->sides[b->nsides];
	const char *colon = strchr(text, ':'), *equals = strchr(text, '=');
	if (b->nsides == SIDES || !colon || colon - text >= 32)
		die(text, "is not NAME:THREADS=FILE.so");
	*s = (Side){.threads = atoi(colon + 1)};
	memcpy(s->name, text, (size_t)(colon - text));
	if (s->threads < 1 || s->threads > MOST_THREADS)
		die(text, "has no number of threads");
	if (equals) {
		if (!object_open(&s->object, b->program, b->plain, equals + 1,
			false))
			die(equals + 1, dlerror());
	} else if (strcmp(s->name, "openblas"))
		die(text, "is not NAME:THREADS=FILE.so");
	else if (!open_openblas(b, s))
		return;
	b->nsides++;
	if (s->threads > b->most_threads)
		b->most_threads = s->threads;
	if (s->set_threads)
		s->set_threads(s->threads);
	call(b, s);
	bench_pin(0, 0);
	pin_new_threads(b);
}

int main(int argc, char **argv)
{
	static Bench b = {.nblocks = 15};
	int option;
	while ((option = getopt(argc, argv, "+b:")) != -1)
		if (option == 'b')
			b.nblocks = atoi(optarg);
		else
			return 2;
	if (argc - optind < 2 || b.nblocks < 1 || b.nblocks > MOST_BLOCKS)
		return 2;
	Arena *arena = arena_new();
	bench_cpu(0);
	b.program = load_program(arena, argv[optind]);
	all_f32(b.program);
	make_inputs(b.program, -0.5, 0.5, b.plain);
	for (int i = optind + 1; i < argc; i++)
		add_side(&b, argv[i]);
	measure(&b);
	report(&b);
	bool right = check(&b);
	arena_free(arena);
	return right ? 0 : 1;
}
