/* The measurer: candidates compiled at once and run one by one, what becomes of
 * those that cannot be compiled, that die while they wait, or whose turn never
 * comes, that no process outlives it, how quiet the machine was, and whose fault
 * what is.  trouble.sh has the machine in trouble. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test/common_program.h"
#include "test/common_schedule.h"
#include "tuner/measure/measure_internal.h"

enum { N = 24, CHILDREN = 64 };

typedef struct {
	Arena *arena;
	Program *program;
	Target *target;
	MeasureOptions options;
	Measurer *measurer;
	Error error;
} Case;

static int setup(void **state)
{
	static Case c;
	c = (Case){.arena = arena_new()};
	c.program = program_matmul(c.arena, N, N, N);
	program_complete(c.arena, c.program);
	c.target = target_host(c.arena, &c.error);
	c.options = (MeasureOptions){
	    .pin = true, .build_limit_s = 10, .run_limit_s = 10, .seed = 1};
	*state = &c;
	return c.target ? 0 : -1;
}

static int teardown(void **state)
{
	Case *c = *state;
	measure_close(c->measurer);
	arena_free(c->arena);
	return 0;
}

/* Seconds that the plain nest takes. */
static double start(Case *c)
{
	ReferenceWish wish = {0};
	Reference r;
	if (measure_open(
		c->program, c->target, &c->options, &c->measurer, &c->error) ||
	    measure_reference(c->measurer, &wish, &r, &c->error))
		fail_msg("%s", c->error.text);
	assert_true(r.ready && !r.estimated);
	return r.plain.time_s;
}

static const Trace *tile(Case *c, int factor)
{
	char text[128];
	snprintf(text, sizeof text,
	    "io, ii = split(c.i, [_, %d])\nreorder(io, c.j, ii)\n", factor);
	return schedule_steps(c->arena, text);
}

static void compile(Case *c, const Trace *const *traces, int n, Measurement *m)
{
	if (measure_compile(c->measurer, traces, n, m, &c->error))
		fail_msg("%s", c->error.text);
}

/* What is done beside the next candidates is done before they answer, once. */
typedef struct {
	const Measurement *answer;
	int calls;
} Work;

static void work(void *context)
{
	Work *w = context;
	w->calls++;
	assert_int_equal(w->answer->outcome, OUTCOME_IMPLAUSIBLE);
}

static void test_beside(void **state)
{
	Case *c = *state;
	Measurement m = {.outcome = OUTCOME_IMPLAUSIBLE};
	const Trace *trace = tile(c, 8);
	Work w = {&m, 0};
	start(c);
	measure_beside(c->measurer, work, &w);
	compile(c, &trace, 1, &m);
	assert_int_equal(m.outcome, OUTCOME_OK);
	compile(c, &trace, 1, &m);
	assert_int_equal(w.calls, 1);
}

/* Of a clock of its own; each call is off by up to a fiftieth. */
static double seconds_of(void *context, int calls)
{
	static const double off[] = {0, 0.02, -0.01, 0.01, -0.02, 0.005};
	double *time_s = context;
	static int n;
	return *time_s * (1 + off[n++ % 6]) * calls;
}

static int samples(double time_s, double best_s)
{
	Measurement m = measure_nothing(OUTCOME_OK);
	TimedKernel k = {
	    .context = &time_s, .best_s = best_s, .seconds = seconds_of};
	measure_time(&k, &m);
	assert_true(fabs(m.time_s / time_s - 1) < 0.02);
	return m.nruns;
}

/* What may be the best is timed until it is known well, what is slower until it is
 * known to be. */
static void test_samples(void **state)
{
	(void)state;
	int best = samples(1e-3, 1e-3);
	assert_in_range(best, 8, MEASURE_RUNS);
	assert_in_range(samples(1.02e-3, 1e-3), 8, MEASURE_RUNS);
	assert_int_equal(samples(1.2e-3, 1e-3), 5);
	assert_in_range(samples(1.06e-3, 1e-3), 5, best - 1);
	assert_int_equal(samples(4e-3, 1e-3), 1);
}

/* Calls that were short once. */
static void call_slower(void *context)
{
	int *calls = context;
	usleep((*calls)++ ? 10000 : 100);
}

/* Others come, and turns take a hundred times what was foreseen. */
static void test_turns_end(void **state)
{
	(void)state;
	int calls[2] = {0, 0};
	TimedKernel k[2];
	Measurement m[2];
	for (int i = 0; i < 2; i++)
		k[i] = (TimedKernel){.context = &calls[i], .call = call_slower};
	measure_time_interleaved(k, 2, 0.03, m);
	assert_int_equal(m[0].nruns, 2);
	assert_int_equal(m[1].nruns, 2);
}

/* A device begins 20 us after it was asked to, however many calls there are. */
static double late_seconds_of(void *context, int calls)
{
	return 20e-6 + *(double *)context * calls;
}

/* What is short is not hopeless for how it begins. */
static void test_late_begin(void **state)
{
	(void)state;
	double time_s = 5e-6;
	Measurement m = measure_nothing(OUTCOME_OK);
	TimedKernel k = {
	    .context = &time_s, .best_s = 6e-6, .seconds = late_seconds_of};
	measure_time(&k, &m);
	assert_in_range(m.nruns, 3, MEASURE_RUNS);
	assert_true(m.time_s < 2 * time_s);
}

/* Two layers with 8000 bytes of weights: the groups meet them cold where the last
 * cache has fewer, the whole, called again and again, does not. */
static void test_cold_constants(void **state)
{
	Arena *arena = arena_new();
	const Program *p = program_of_text(arena,
	    "tunec: 1\nname: two\n"
	    "inputs: {x: 'f32[10, 20]', v: 'const f32[20, 50]', "
	    "w: 'const f32[50, 20]'}\ncompute: |\n"
	    "  h[i < 10, j < 50] = sum[k < 20](x[i, k]*v[k, j])\n"
	    "  y[i < 10, j < 20] = sum[k < 50](max(h[i, k], 0)*w[k, j])\n",
	    NUMERICS_DEFAULT);
	Program **parts = program_parts(
	    arena, p, (int[]){0, 1}, (const char *const[]){"h", "y"}, 2);
	(void)state;
	for (int i = 0; i < 2; i++) {
		assert_int_equal(measure_meets_cold(parts[i], 8000), false);
#ifdef __x86_64__
		assert_int_equal(measure_meets_cold(parts[i], 7999), true);
#endif
	}
	assert_int_equal(measure_meets_cold(p, 7999), false);
	arena_free(arena);
}

static void count_call(void *context)
{
	(*(int *)context)++;
}

static void count_before(void *context)
{
	((int *)context)[1]++;
}

/* What empties caches is done before each call, and a sample is one call. */
static void test_before(void **state)
{
	int calls[2] = {0};
	Measurement m = measure_nothing(OUTCOME_OK);
	TimedKernel k = {
	    .call = count_call, .context = calls, .before = count_before};
	(void)state;
	measure_time(&k, &m);
	assert_true(calls[0] > 2);
	assert_int_equal(calls[0], calls[1]);
}

static void run(Case *c, int i, Measurement *m)
{
	if (measure_run(c->measurer, i, 0, m, &c->error))
		fail_msg("%s", c->error.text);
}

/* The parent of a process; 0 if it is dead. */
static int parent_of(const char *pid)
{
	char path[300], line[512], state;
	int parent = 0;
	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	FILE *f = fopen(path, "r");
	char *rest =
	    f && fgets(line, sizeof line, f) ? strrchr(line, ')') : NULL;
	if (!rest || sscanf(rest, ") %c %d", &state, &parent) != 2 ||
	    state == 'Z')
		parent = 0;
	if (f)
		fclose(f);
	return parent;
}

/* Those whose parent is `parent`. */
static int children(pid_t parent, pid_t *out)
{
	DIR *all = opendir("/proc");
	struct dirent *entry;
	int n = 0;
	while ((entry = readdir(all)) && n < CHILDREN)
		if (isdigit((unsigned char)entry->d_name[0]) &&
		    parent_of(entry->d_name) == parent)
			out[n++] = atoi(entry->d_name);
	closedir(all);
	return n;
}

/* Those of the measurer that wait for their turn, below the one of its servers
 * that works. */
static int waiting(pid_t *out)
{
	pid_t server[CHILDREN];
	int n = 0;
	for (int i = children(getpid(), server) - 1; i >= 0 && !n; i--)
		n = children(server[i], out);
	return n;
}

/* Threads that share a CPU wait for each other's time slice, milliseconds long;
 * the nest takes microseconds. */
static void test_plain_nest_has_its_cpus(void **state)
{
	Case *c = *state;
	double pinned = start(c);
	measure_close(c->measurer);
	c->options.pin = false;
	assert_true(pinned < 10 * start(c) + 1e-3);
}

static void test_order_is_free(void **state)
{
	Case *c = *state;
	const Trace *traces[] = {tile(c, 2), tile(c, 3), tile(c, 2)};
	Measurement m[3], alone;
	start(c);
	compile(c, traces, 3, m);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(m[i].outcome, OUTCOME_OK);
		assert_int_equal(strlen(m[i].object), 64);
		assert_true(isnan(m[i].time_s));
		assert_int_equal(m[i].nruns, 0);
	}
	assert_string_equal(m[0].object, m[2].object);
	assert_string_not_equal(m[0].object, m[1].object);
	for (int i = 2; i >= 0; i--) {
		char object[65];
		memcpy(object, m[i].object, sizeof object);
		run(c, i, &m[i]);
		assert_int_equal(m[i].outcome, OUTCOME_OK);
		assert_true(m[i].time_s > 0 && m[i].nruns > 0);
		assert_string_equal(m[i].object, object);
	}
	compile(c, &traces[1], 1, &alone);
	assert_string_equal(alone.object, m[1].object);
}

/* Names do not count, tiles do. */
static void test_forms(void **state)
{
	Case *c = *state;
	const Trace *traces[] = {tile(c, 2),
	    schedule_steps(c->arena,
		"outer, inner = split(c.i, [_, 2])\nreorder(outer, c.j, inner)\n"),
	    tile(c, 3), schedule_steps(c->arena, "parallel(c.k)\n")};
	CodeForm forms[4];
	start(c);
	if (measure_forms(c->measurer, traces, 4, 0, forms, &c->error))
		fail_msg("%s", c->error.text);
	assert_true(forms[0].hash);
	assert_true(forms[0].hash == forms[1].hash);
	assert_true(forms[0].hash != forms[2].hash);
	assert_true(!forms[3].hash); /* it is refused */
	assert_true(forms[0].instructions > 0);
	assert_int_equal(forms[0].instructions, forms[1].instructions);
}

/* More than there are CPUs, begun by size: each answer is its own trace's. */
static void test_full_width(void **state)
{
	Case *c = *state;
	const Trace *traces[MEASURE_WIDTH];
	CodeForm forms[MEASURE_WIDTH];
	Measurement all[MEASURE_WIDTH], one;
	pid_t pids[CHILDREN];
	start(c);
	for (int i = 0; i < MEASURE_WIDTH; i++)
		traces[i] = tile(c, i + 2);
	if (measure_forms(
		c->measurer, traces, MEASURE_WIDTH, 0, forms, &c->error))
		fail_msg("%s", c->error.text);
	compile(c, traces, MEASURE_WIDTH, all);
	assert_int_equal(waiting(pids), MEASURE_WIDTH);
	run(c, 5, &all[5]);
	assert_int_equal(all[5].outcome, OUTCOME_OK);
	for (int i = 0; i < MEASURE_WIDTH; i += 5) {
		compile(c, &traces[i], 1, &one);
		assert_int_equal(one.outcome, OUTCOME_OK);
		assert_string_equal(one.object, all[i].object);
	}
}

/* Those that have not begun do not outlast it; none of them is to blame. */
static void test_end_of_time(void **state)
{
	Case *c = *state;
	const Trace *traces[MEASURE_WIDTH];
	Measurement m[MEASURE_WIDTH];
	start(c);
	for (int i = 0; i < MEASURE_WIDTH; i++)
		traces[i] = tile(c, i + 2);
	double end_s = measure_now() + 0.002;
	measure_until(c->measurer, end_s);
	compile(c, traces, MEASURE_WIDTH, m);
	assert_true(measure_now() < end_s + 2); /* each alone has 10 s */
	assert_true(m[0].cut && m[MEASURE_WIDTH - 1].cut);
	assert_int_equal(m[0].outcome, OUTCOME_TIMEOUT);
	measure_until(c->measurer, INFINITY);
	compile(c, traces, 1, m);
	assert_int_equal(m[0].outcome, OUTCOME_OK);
}

static Reference reference(Case *c, const Trace *fast, const Trace *other)
{
	ReferenceWish wish = {.fast = fast, .other = other};
	Reference r;
	if (measure_open(
		c->program, c->target, &c->options, &c->measurer, &c->error) ||
	    measure_reference(c->measurer, &wish, &r, &c->error))
		fail_msg("%s", c->error.text);
	return r;
}

/* No params to make it smaller by: two structures have to agree. */
static void test_fast_reference(void **state)
{
	Case *c = *state;
	const Trace *fast = tile(c, 4), *other = tile(c, 3);
	const Trace *refused =
	    schedule_steps(c->arena, "parallel(c.k)\n");
	Measurement m;
	Reference r = reference(c, fast, other);
	assert_true(r.ready && r.estimated && r.fast == fast);
	assert_true(r.plain.time_s > 0);
	compile(c, &fast, 1, &m);
	run(c, 0, &m);
	assert_int_equal(m.outcome, OUTCOME_OK);
	measure_close(c->measurer);
	r = reference(c, refused, fast);
	assert_false(r.ready); /* with whom would the other one agree? */
	measure_close(c->measurer);
	r = reference(c, fast, NULL);
	assert_false(r.ready);
	assert_non_null(strstr(r.by.error, "nothing to compare"));
}

/* At a reduced size, where there are params. */
static void test_reduced_reference(void **state)
{
	static const char text[] = "tunec: 1\nname: mm\n"
	    "params: {M: 200, N: 192, K: 320, S: 1}\n"
	    "inputs: {a: \"f32[M, K]\", b: \"f32[K, N]\"}\n"
	    "compute: |\n"
	    "  c[i < M, j < N] = sum[k < K](a[i*S, k]*b[k, j])\n";
	Case *c = *state;
	Source source = {"mm.yaml", text, sizeof text - 1};
	Diag diag = {0};
	Spec *spec = spec_parse(c->arena, &source, &diag);
	assert_non_null(spec);
	c->program = spec_program(
	    c->arena, spec, NULL, NULL, 0, NUMERICS_DEFAULT, &diag);
	assert_non_null(c->program);
	Program *small = program_reduced(c->arena, c->program, 4);
	assert_non_null(small);
	assert_int_equal(small->params[0].value, 48);
	assert_int_equal(small->params[1].value, 64);
	assert_int_equal(small->params[2].value, 64);
	assert_int_equal(small->params[3].value, 1);
	Reference r = reference(c, tile(c, 4), NULL);
	assert_true(r.ready && r.estimated);
	diag_free(&diag);
}

static void test_failures_keep_to_themselves(void **state)
{
	Case *c = *state;
	const Trace *traces[] = {tile(c, 2),
	    schedule_steps(c->arena, "parallel(c.k)\n"), tile(c, 4)};
	Measurement m[3];
	start(c);
	compile(c, traces, 3, m);
	assert_int_equal(m[0].outcome, OUTCOME_OK);
	assert_int_equal(m[1].outcome, OUTCOME_BUILD);
	assert_true(m[1].error[0]);
	assert_int_equal(m[2].outcome, OUTCOME_OK);
	run(c, 0, &m[0]);
	run(c, 2, &m[2]);
	assert_int_equal(m[0].outcome, OUTCOME_OK);
	assert_int_equal(m[2].outcome, OUTCOME_OK);
}

static void test_death_while_waiting(void **state)
{
	Case *c = *state;
	const Trace *traces[] = {tile(c, 2), tile(c, 3)};
	Measurement m[2];
	pid_t pids[CHILDREN];
	start(c);
	compile(c, traces, 2, m);
	assert_int_equal(waiting(pids), 2);
	pid_t first = pids[0] < pids[1] ? pids[0] : pids[1];
	kill(first, SIGSEGV);
	run(c, 0, &m[0]);
	run(c, 1, &m[1]);
	assert_int_equal(m[0].outcome, OUTCOME_CRASH);
	assert_non_null(strstr(m[0].error, "Segmentation"));
	assert_int_equal(m[1].outcome, OUTCOME_OK);
	run(c, 1, &m[1]); /* a second time there is none */
	assert_int_equal(m[1].outcome, OUTCOME_CRASH);
}

static void test_standstill_while_waiting(void **state)
{
	Case *c = *state;
	const Trace *trace = tile(c, 2);
	Measurement m;
	pid_t pid[CHILDREN];
	c->options.run_limit_s = 0.5;
	start(c);
	compile(c, &trace, 1, &m);
	assert_int_equal(waiting(pid), 1);
	kill(pid[0], SIGSTOP);
	run(c, 0, &m);
	assert_int_equal(m.outcome, OUTCOME_TIMEOUT);
	assert_string_equal(m.error, "took more than 0.5 s");
	assert_int_equal(waiting(pid), 0);
}

static void test_late_compiling(void **state)
{
	Case *c = *state;
	const Trace *trace = tile(c, 2);
	Measurement m;
	c->options.build_limit_s = 0;
	if (measure_open(
		c->program, c->target, &c->options, &c->measurer, &c->error))
		fail_msg("%s", c->error.text);
	compile(c, &trace, 1, &m);
	assert_int_equal(m.outcome, OUTCOME_TIMEOUT);
	assert_string_equal(m.error, "compiling took more than 0 s");
	assert_false(m.cut);
}

static void test_dropped(void **state)
{
	Case *c = *state;
	const Trace *traces[] = {tile(c, 2), tile(c, 3), tile(c, 4)};
	Measurement m[3];
	pid_t pids[CHILDREN];
	char pid[16];
	start(c);
	compile(c, traces, 3, m);
	assert_int_equal(waiting(pids), 3);
	compile(c, &traces[2], 1, m);
	assert_int_equal(waiting(pids), 1);
	measure_close(c->measurer);
	c->measurer = NULL;
	snprintf(pid, sizeof pid, "%d", pids[0]);
	for (int tries = 0; tries < 100 && parent_of(pid); tries++)
		usleep(10000);
	assert_int_equal(parent_of(pid), 0);
}

/* More threads than a machine of today has: the target says how many. */
static void test_peak_of_many_threads(void **state)
{
	Case *c = *state;
	double one, all;
	c->options.pin = false;
	c->target->threads = 512;
	if (measure_open(c->program, c->target, &c->options, &c->measurer,
		&c->error) ||
	    measure_peak(c->measurer, false, &one, &all, &c->error))
		fail_msg("%s", c->error.text);
	assert_true(one > 0 && all > 0);
}

static double copied(Case *c, int threads)
{
	double bytes_per_s;
	c->options.pin = false;
	c->target->threads = threads;
	if (measure_open(
		c->program, c->target, &c->options, &c->measurer, &c->error) ||
	    measure_copy(c->measurer, false, &bytes_per_s, &c->error))
		fail_msg("%s", c->error.text);
	measure_close(c->measurer);
	c->measurer = NULL;
	return bytes_per_s;
}

/* What a few bytes are copied by is not slower where there are threads, which take
 * longer to begin than the bytes. */
static void test_copy_of_few(void **state)
{
	Case *c = *state;
	double alone = copied(c, 1);
	assert_true(copied(c, 8) > alone / 4);
}

/* As a network of many layers has them. */
static void test_many_buffers(void **state)
{
	Case *c = *state;
	ReferenceWish wish = {0};
	Reference r;
	c->program = program_inputs(c->arena, 70, N);
	program_complete(c->arena, c->program);
	if (measure_open(
		c->program, c->target, &c->options, &c->measurer, &c->error) ||
	    measure_reference(c->measurer, &wish, &r, &c->error))
		fail_msg("%s", c->error.text);
	if (r.by.outcome != OUTCOME_OK)
		fail_msg("%s", r.by.error);
}

typedef struct {
	atomic_int n;
	int cpu[2], cpus[2]; /* where each ran, where it may */
} Places;

static void note_place(void *context)
{
	Places *p = context;
	cpu_set_t set;
	int i = atomic_fetch_add(&p->n, 1);
	sched_getaffinity(0, sizeof set, &set);
	p->cpus[i] = CPU_COUNT(&set);
	p->cpu[i] = sched_getcpu();
}

/* Before anything is called; in a process of its own, as libgomp is. */
static void test_team_is_pinned(void **state)
{
	int status;
	(void)state;
	if (host_cpus() < 2)
		skip();
	pid_t child = fork();
	if (child == 0) {
		Places p = {.n = 0};
		if (!dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL))
			_exit(2);
		measure_pin_team(1);
		measure_pin_team(2);
		measure_team(note_place, &p, 2);
		_exit(p.n != 2 || p.cpus[0] != 1 || p.cpus[1] != 1 ||
		    p.cpu[0] == p.cpu[1]);
	}
	waitpid(child, &status, 0);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Two for the first CPU, which the first thread is pinned to. */
static void start_spinning(pid_t spinning[2])
{
	cpu_set_t all, first;
	int cpu = 0;
	sched_getaffinity(0, sizeof all, &all);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&first);
	CPU_SET(cpu, &first);
	for (int i = 0; i < 2; i++) {
		spinning[i] = fork();
		if (spinning[i] == 0) {
			volatile unsigned n = 0;
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			sched_setaffinity(0, sizeof first, &first);
			for (;;)
				n++;
		}
	}
}

static void stop_spinning(const pid_t spinning[2])
{
	for (int i = 0; i < 2; i++) {
		kill(spinning[i], SIGKILL);
		waitpid(spinning[i], NULL, 0);
	}
}

static void test_rivals_are_noise(void **state)
{
	Case *c = *state;
	const Trace *traces[] = {tile(c, 2), tile(c, 4)};
	Measurement m[2];
	pid_t spinning[2];
	c->program = program_matmul(c->arena, 6 * N, 6 * N, 6 * N);
	program_complete(c->arena, c->program);
	c->target->threads = 1;
	start(c);
	start_spinning(spinning);
	Status status =
	    measure_final(c->measurer, traces, 2, 5, m, &c->error);
	stop_spinning(spinning);
	if (status)
		fail_msg("%s", c->error.text);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(m[i].outcome, OUTCOME_OK);
		assert_false(measure_quiet(m[i].noise_probe,
		    m[i].noise_switches, m[i].noise_cpu_s));
	}
	assert_true(m[0].noise_switches == m[1].noise_switches);
}

/* As many threads as the kernel has are probed; how quiet the machine is that
 * tests run on, nobody knows. */
static void test_probes_of_threads(void **state)
{
	Case *c = *state;
	const Trace *trace = schedule_steps(c->arena, "parallel(c.i)\n");
	for (int threads = 1; threads <= 2; threads++) {
		Measurement m;
		c->target->threads = threads;
		start(c);
		compile(c, &trace, 1, &m);
		assert_true(isnan(m.noise_probe) && m.noise_switches == -1);
		run(c, 0, &m);
		assert_int_equal(m.outcome, OUTCOME_OK);
		assert_true(m.noise_probe >= 0 && m.noise_switches >= 0);
		assert_true(m.noise_cpu_s > 0 && m.noise_cpu_s < 10);
		assert_true(m.probe_s > 1e-7 && m.probe_s < 1e-2);
		measure_close(c->measurer);
		c->measurer = NULL;
	}
}

static void test_simulated_machine_is_quiet(void **state)
{
	Case *c = *state;
	c->options.machine = MACHINE_SIMULATED;
	ReferenceWish wish = {0};
	Reference r;
	if (measure_open(
		c->program, c->target, &c->options, &c->measurer, &c->error) ||
	    measure_reference(c->measurer, &wish, &r, &c->error))
		fail_msg("%s", c->error.text);
	assert_true(r.plain.noise_probe == 0 && r.plain.noise_switches == 0);
	assert_true(measure_quiet(0, 0, 0));
}

static void test_what_is_quiet(void **state)
{
	(void)state;
	assert_true(measure_quiet(NAN, -1, 0)); /* nothing is known */
	assert_true(measure_quiet(0.14, 2, 0.001));
	assert_true(measure_quiet(0.01, 30, 1));
	assert_false(measure_quiet(1, 0, 1)); /* half a core */
	assert_false(measure_quiet(NAN, 200, 1));
	assert_false(measure_quiet(0.01, 8, 0.03)); /* a rival */
}

static void test_whose_fault(void **state)
{
	(void)state;
	assert_int_equal(trouble_of_text("libgomp: Thread creation failed: "
					 "Resource temporarily unavailable"),
	    TROUBLE_CERTAIN);
	assert_int_equal(
	    trouble_of_text("x: Too many open files"), TROUBLE_CERTAIN);
	assert_int_equal(trouble_of_text("tunec: error: out of memory"),
	    TROUBLE_DOUBTFUL);
	assert_int_equal(trouble_of_text("linking: Cannot allocate memory"),
	    TROUBLE_DOUBTFUL);
	assert_int_equal(trouble_of_text("free(): invalid pointer"),
	    TROUBLE_NONE);
	assert_true(trouble_own_memory(13L << 20, MEASURE_CHILD_BYTES));
	assert_false(trouble_own_memory(100, MEASURE_CHILD_BYTES));
	assert_false(trouble_memory_short());
}

/* In a process of its own: the limit stays. */
static void test_own_limit(void **state)
{
	(void)state;
	size_t gib = (size_t)1 << 30, pages = 0;
	int status;
	pid_t pid = fork();
	if (pid == 0) {
		FILE *f = fopen("/proc/self/statm", "r");
		if (!f || fscanf(f, "%zu", &pages) != 1)
			_exit(2);
		size_t most = pages * (size_t)getpagesize() + 2 * gib;
		struct rlimit limit = {most, most};
		setrlimit(RLIMIT_AS, &limit);
		_exit(!trouble_own_limit(gib) && trouble_own_limit(3 * gib) &&
			    trouble_own_limit(2 * most)
			? 0
			: 1);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_plain_nest_has_its_cpus, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_order_is_free, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_forms, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_beside, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_full_width, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_end_of_time, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_fast_reference, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_reduced_reference, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_failures_keep_to_themselves, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_death_while_waiting, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_standstill_while_waiting, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_late_compiling, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_dropped, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_peak_of_many_threads, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_copy_of_few, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_many_buffers, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_rivals_are_noise, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_probes_of_threads, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_simulated_machine_is_quiet, setup, teardown),
	    cmocka_unit_test(test_team_is_pinned),
	    cmocka_unit_test(test_late_begin),
	    cmocka_unit_test(test_samples),
	    cmocka_unit_test(test_turns_end),
	    cmocka_unit_test(test_cold_constants),
	    cmocka_unit_test(test_before),
	    cmocka_unit_test(test_what_is_quiet),
	    cmocka_unit_test(test_whose_fault),
	    cmocka_unit_test(test_own_limit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
