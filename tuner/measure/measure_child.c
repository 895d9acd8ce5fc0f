/* One job in a disposable process: compile, link, check, time, answer. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tuner/measure/measure_kernel.h"

enum { DEVICE_CALLS = 1000 /* that wait in a device's queue, at most */ };

/* --- jobs ------------------------------------------------------------------------------------ */

static TimedKernel timed(Loaded *k, double best_s)
{
	TimedKernel t = {
	    .call = kernel_call, .context = k, .best_s = best_s};
	if (kernel_on_device(k)) {
		t.seconds = device_seconds;
		t.calls_most = k->context->options->cold ? 1 : DEVICE_CALLS;
	} else {
		t.before = kernel_before(k);
	}
	return t;
}

void job_time(Loaded *k, double best_s, double probe_s, Measurement *m)
{
	Noise noise;
	TimedKernel t = timed(k, best_s);
	if (kernel_on_device(k)) { /* whose clock it is */
		measure_time(&t, m);
		return;
	}
	t.noise = &noise;
	noise_begin(&noise, k->lowered->kernel->nthreads, probe_s);
	measure_time(&t, m);
	noise_end(&noise, m, 1);
}

/* What takes so long is not called again for its time. */
static const double long_s = 0.25;

static void time_by_check(Measurement *m)
{
	m->runs_s[0] = m->runs_s[--m->nruns];
	m->run_s = m->check_s;
	m->check_s = 0;
	measure_summary(m);
}

static void run_compiled(Loaded *k, const JobHeader *run, Measurement *m)
{
	double start = measure_now();
	m->outcome = OUTCOME_CRASH;
	bool right = kernel_check(k, run->best_s, m);
	m->check_s = measure_now() - start;
	if (!right)
		return;
	if (m->nruns == SET_SPECIAL && m->runs_s[1] > long_s) {
		time_by_check(m);
		plausible_judge(k->context, run->peak, m);
		return;
	}
	start = measure_now();
	if (!kernel_place(&k, 1, m))
		return;
	job_time(k, run->best_s, run->probe_s, m);
	m->run_s = measure_now() - start;
	if (!kernel_on_device(k) || device_sound(k, m))
		plausible_judge(k->context, run->peak, m);
}

static void answer_form(const Lowered *lowered, Measurement *m)
{
	CodeForm form;
	measure_form(lowered, &form);
	m->outcome = OUTCOME_OK;
	m->form = form.hash;
	m->instructions = form.instructions;
}

/* Says what there is, and is told how to go on; else it is not wanted. */
static void answer_and_wait(int fd, Measurement *m, JobHeader *next)
{
	if (!measure_write(fd, m, sizeof *m) ||
	    !measure_read(fd, next, sizeof *next))
		_exit(0);
}

/* Of a lowered form with so many instructions: 0.9 to 1.3 for each were seen. */
static int most_operations(int64_t instructions)
{
	return (int)(instructions + instructions / 2);
}

/* A driver compiles the most of a kernel when it is called first, which is better
 * done beside others than when its time comes. */
static bool first_call(Loaded *k, Measurement *m)
{
	if (!kernel_guard(k, 0, m))
		return false;
	kernel_call(k);
	return device_sound(k, m);
}

/* An answer for each step: lowered, if that was asked for; compiled; run.  What is
 * for a device is compiled by another process, which has opened it. */
static void candidate_steps(Loaded *k, Arena *arena, const json_t *trace,
    const JobHeader *job, int fd, Measurement *m)
{
	JobHeader next;
	if (!kernel_lower(k, arena, trace, k->context->target->threads, m)) {
		if (k->larger) {
			*m = measure_nothing(OUTCOME_OK);
			m->instructions = job->most_instructions + 1;
		}
		return;
	}
	if (job->kind == JOB_FORM) {
		answer_form(k->lowered, m);
		if (kernel_on_device(k))
			return;
		answer_and_wait(fd, m, &next);
		*m = measure_nothing(OUTCOME_BUILD);
	}
	if (!kernel_compile_lowered(k, m) || !kernel_load(k, m) ||
	    (kernel_on_device(k) && !first_call(k, m)))
		return;
	m->outcome = OUTCOME_OK;
	answer_and_wait(fd, m, &next);
	m->outcome = OUTCOME_BUILD;
	run_compiled(k, &next, m);
}

static void job_candidate(const MeasureContext *c, Arena *arena,
    const json_t *trace, const JobHeader *job, int fd, Measurement *m)
{
	Loaded k = {.context = c};
	if (job->kind == JOB_FORM)
		k.most_operations = most_operations(job->most_instructions);
	candidate_steps(&k, arena, trace, job, fd, m);
	if (kernel_on_device(&k))
		device_release(&k);
}

static double level(const Measurement *m)
{
	return noise_level(m->noise_probe, m->noise_switches, m->noise_cpu_s);
}

/* Those that can be timed, with their places in m. */
static int load_finalists(const MeasureContext *c, Arena *arena,
    const json_t *traces, int n, Loaded *loaded, int *of, Measurement *m)
{
	int count = 0;
	for (int i = 0; i < n; i++) {
		Loaded *k = &loaded[count];
		*k = (Loaded){.context = c};
		if (kernel_compile(k, arena, json_array_get(traces, (size_t)i),
			c->target->threads, &m[i]) &&
		    kernel_load(k, &m[i]))
			of[count++] = i;
	}
	return count;
}

/* By the device's clock, which no other work on this machine slows. */
static void time_on_device(TimedKernel *t, const Loaded *loaded, int n,
    double seconds, Measurement *kept)
{
	for (int i = 0; i < n; i++)
		kept[i] = measure_nothing(OUTCOME_OK);
	measure_time_interleaved(t, n, seconds, kept);
	for (int i = 0; i < n; i++)
		device_sound(&loaded[i], &kept[i]);
}

/* Seconds that it took, of so many at most; *kept: the quieter of those so far. */
static double time_round(TimedKernel *t, int n, int threads, double seconds,
    Measurement *kept)
{
	Measurement times[MEASURE_WIDTH] = {0};
	Noise noise;
	double start = measure_now();
	noise_begin(&noise, threads, kept->probe_s);
	for (int i = 0; i < n; i++)
		t[i].noise = &noise;
	measure_time_interleaved(t, n, seconds, times);
	noise_end(&noise, times, n);
	if (kept->nruns && level(times) >= level(kept))
		kept->probe_s = times->probe_s;
	else
		memcpy(kept, times, sizeof *times * (size_t)n);
	return measure_now() - start;
}

static void job_final(const MeasureContext *c, Arena *arena,
    const json_t *traces, const JobHeader *job, Measurement *m)
{
	Loaded loaded[MEASURE_WIDTH];
	TimedKernel t[MEASURE_WIDTH];
	Measurement kept[MEASURE_WIDTH] = {{.probe_s = job->probe_s}};
	int of[MEASURE_WIDTH], threads = 1;
	double start = measure_now();
	Loaded *places[MEASURE_WIDTH];
	int n = load_finalists(c, arena, traces, job->n, loaded, of, m);
	for (int i = 0; i < n; i++)
		places[i] = &loaded[i];
	if (!n || !kernel_place(places, n, &m[of[0]]))
		return;
	for (int i = 0; i < n; i++) {
		if (!kernel_pin(places[i], &m[of[i]]))
			return;
		kernel_call(places[i]);
	}
	for (int i = 0; i < n; i++) {
		t[i] = timed(&loaded[i], 0);
		if (loaded[i].lowered->kernel->nthreads > threads)
			threads = loaded[i].lowered->kernel->nthreads;
	}
	double left = job->allowed_s - (measure_now() - start);
	if (kernel_on_device(loaded)) {
		time_on_device(t, loaded, n, left, kept);
	} else {
		double took = time_round(t, n, threads, left, kept);
		left = job->allowed_s - (measure_now() - start);
		if (level(kept) > 1 && took < left)
			time_round(t, n, threads, left, kept);
	}
	for (int i = 0; i < n; i++) {
		memcpy(kept[i].object, m[of[i]].object, sizeof m->object);
		m[of[i]] = kept[i];
	}
}

/* What the machine can do, not what its other users leave. */
static double least_run(const Measurement *m)
{
	double least = m->runs_s[0];
	for (int i = 1; i < m->nruns; i++)
		least = fmin(least, m->runs_s[i]);
	return least;
}

/* Seconds for a peak, and for a copy. */
static const double peak_s = 0.015;

static void job_peak(const MeasureContext *c, Arena *arena, Measurement *m)
{
	for (int i = 0; i < 2; i++) {
		double flops;
		int threads = i ? c->target->threads : 1;
		Loaded k = {.context = c,
		    .lowered = peak_lowered(
			arena, c->program, c->target, threads, &flops)};
		m[i].outcome = OUTCOME_BUILD;
		if (!kernel_compile_lowered(&k, &m[i]) || !kernel_load(&k, &m[i]))
			return;
		const LowFunction *f = k.lowered->kernel;
		for (int b = 0; b < f->buffers.n; b++) {
			const LowBuffer *of = &f->buffers.at[b];
			k.args[of->param] = arena_alloc(arena,
			    (size_t)(of->elements * dtype_bytes(of->type)));
		}
		if (threads > 1 && !kernel_pin(&k, &m[i]))
			return;
		kernel_call(&k);
		TimedKernel t = {.call = kernel_call,
		    .context = &k,
		    .budget_s = peak_s};
		measure_time(&t, &m[i]);
		m[i].time_s = flops / least_run(&m[i]);
		m[i].outcome = OUTCOME_OK;
	}
}

/* Bytes a second in the place of a time; 0 after a failure. */
static double copy_by(
    const MeasureContext *c, Arena *arena, int threads, Measurement *m)
{
	int64_t elements;
	Loaded k = {.context = c,
	    .lowered = copy_lowered(
		arena, c->target, threads, c->program->bytes, &elements)};
	m->outcome = OUTCOME_BUILD;
	if (!kernel_compile_lowered(&k, m) || !kernel_load(&k, m))
		return 0;
	for (int i = 0; i < 2; i++) {
		k.args[i] = must_alloc((size_t)elements * sizeof(float));
		memset(k.args[i], i, (size_t)elements * sizeof(float));
	}
	if (!kernel_pin(&k, m))
		return 0;
	kernel_call(&k);
	TimedKernel t = {.call = kernel_call,
	    .context = &k,
	    .before = c->options->cold ? kernel_before(&k) : NULL,
	    .budget_s = peak_s};
	measure_time(&t, m);
	free(k.args[0]);
	free(k.args[1]);
	m->outcome = OUTCOME_OK;
	return 2.0 * sizeof(float) * (double)elements / least_run(m);
}

/* By one thread, too: all take longer to begin than a few bytes. */
static void job_copy(const MeasureContext *c, Arena *arena, Measurement *m)
{
	double alone = copy_by(c, arena, 1, m);
	if (m->outcome == OUTCOME_OK && c->target->threads > 1)
		alone = fmax(alone, copy_by(c, arena, c->target->threads, m));
	m->time_s = alone;
}

static json_t *parse(const char *text)
{
	json_t *traces = json_loads(text, 0, NULL);
	if (traces)
		return traces;
	fprintf(stderr, "no list of traces: %s\n", strerror(ENOMEM));
	_exit(1);
}

/* What is expected, and what this CPU can do, has nothing to do with a device. */
static MeasureContext context_of(const MeasureContext *all, JobKind kind)
{
	static const MeasureDevice none;
	MeasureContext c = *all;
	if (kind == JOB_PLAIN || kind == JOB_FAST || kind == JOB_PEAK ||
	    kind == JOB_COPY) {
		c.target = c.host;
		c.device = &none;
	}
	return c;
}

void measure_child(const MeasureContext *all, const JobHeader *job,
    const char *text, int trace, int fd)
{
	Arena *arena = arena_new();
	Measurement *m = must_alloc(sizeof *m * (size_t)job->n);
	json_t *traces = parse(text);
	MeasureContext own = context_of(all, job->kind), *context = &own;
	for (int i = 0; i < job->n; i++)
		m[i] = measure_nothing(OUTCOME_OK);
	switch (job->kind) {
	case JOB_PLAIN: job_plain(context, arena, m); break;
	case JOB_FAST: job_fast(context, arena, traces, job, m); break;
	case JOB_FORM:
	case JOB_COMPILE:
	case JOB_AGAIN:
		job_candidate(context, arena,
		    json_array_get(traces, (size_t)trace), job, fd, m);
		break;
	case JOB_FINAL: job_final(context, arena, traces, job, m); break;
	case JOB_PEAK: job_peak(context, arena, m); break;
	case JOB_COPY: job_copy(context, arena, m); break;
	case JOB_RUN: break; /* read by job_candidate */
	}
	measure_write(fd, m, sizeof *m * (size_t)job->n);
	json_decref(traces);
	free(m);
	arena_free(arena);
}
