/* The driver's side of measuring: jobs out, measurements in. */
#include "tuner/measure/measure.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/measure/measure_internal.h"

/* Of the candidates that were compiled last. */
typedef enum {
	SLOT_OVER,    /* it was run, or failed to compile */
	SLOT_WAITING, /* a process waits with it */
	SLOT_LOST     /* that process is gone by no fault of its own */
} Slot;

struct Measurer {
	Arena *arena;
	MeasureOptions options;
	MeasureContext context;
	MeasureData data;
	Servers servers;
	double peak, probe_s; /* the least probe of the run; 0: none */
	int cpus;
	json_t *compiled; /* their traces; NULL: none yet */
	Slot slots[MEASURE_WIDTH];
};

Status measure_open(const Program *program, const Target *target,
    const MeasureOptions *options, Measurer **out, Error *error)
{
	Measurer *m = must_alloc(sizeof *m);
	*m = (Measurer){.arena = arena_new(),
	    .options = *options,
	    .cpus = host_cpus()};
	*out = m;
	m->context = (MeasureContext){program, target, &m->options, &m->data};
	if (options->machine == MACHINE_SIMULATED)
		return STATUS_OK;
	FORWARD_IF_ERROR(measure_data_new(m->arena, program, &m->data, error));
	return servers_open(&m->servers, &m->context, error);
}

void measure_close(Measurer *m)
{
	if (!m)
		return;
	servers_close(&m->servers);
	json_decref(m->compiled);
	measure_data_free(&m->data);
	arena_free(m->arena);
	free(m);
}

void measure_set_peak(Measurer *m, double flops_per_s)
{
	m->peak = flops_per_s;
}

/* A job and what it is about, for as many attempts as it takes. */
typedef struct {
	Measurer *m;
	JobHeader job;
	json_t *traces;
	Measurement *out;
} Attempt;

static bool exchange(
    Measurer *m, JobHeader job, json_t *traces, Measurement *out)
{
	job.peak = m->peak;
	job.probe_s = m->probe_s;
	bool done = servers_exchange(&m->servers, job, traces, out);
	for (int i = 0; i < job.n; i++)
		if (out[i].probe_s > 0)
			m->probe_s = out[i].probe_s;
	for (int i = 0; !done && i < MEASURE_WIDTH; i++)
		if (m->slots[i] == SLOT_WAITING)
			m->slots[i] = SLOT_LOST;
	return done;
}

static void attempt_job(void *context)
{
	Attempt *a = context;
	exchange(a->m, a->job, a->traces, a->out);
}

static Status run_job(Measurer *m, JobHeader job, json_t *traces,
    Measurement *out, Error *error)
{
	Attempt a = {m, job, traces, out};
	Status status = servers_insist(
	    &m->servers, attempt_job, &a, out, job.n, error);
	json_decref(traces);
	return status;
}

static json_t *traces_json(
    Measurer *m, const Trace *const *traces, int n)
{
	json_t *list = json_array();
	Arena *scratch = arena_new();
	for (int i = 0; i < n; i++)
		json_array_append_new(list,
		    trace_to_json(trace_canonical(
			scratch, m->context.program, traces[i])));
	arena_free(scratch);
	return list;
}

static Status simulate(Measurer *m, const Trace *const *traces, int n,
    Measurement *out, Error *error)
{
	for (int i = 0; i < n; i++) {
		double s = simulate_seconds(m->context.program,
		    m->context.target, traces[i], m->options.seed, error);
		out[i] = (Measurement){.outcome = OUTCOME_OK,
		    .time_s = s,
		    .nruns = 1,
		    .runs_s = {s}};
		if (!(s > 0)) {
			out[i] = measure_nothing(OUTCOME_BUILD);
			snprintf(out[i].error, sizeof out[i].error, "%.*s",
			    (int)sizeof out[i].error - 1, error->text);
		}
	}
	return STATUS_OK;
}

Status measure_reference(Measurer *m, Measurement *plain, Error *error)
{
	const Trace *none = NULL;
	JobHeader job = {.kind = JOB_REFERENCE,
	    .n = 1,
	    .limit_s = m->options.build_limit_s + 12 * m->options.run_limit_s};
	if (m->options.machine == MACHINE_SIMULATED)
		return simulate(m, &none, 1, plain, error);
	measure_data_fill(&m->data, m->options.seed);
	return run_job(m, job, json_array(), plain, error);
}

int measure_width(const Measurer *m)
{
	int width = 2 * m->cpus;
	return width < MEASURE_WIDTH ? width : MEASURE_WIDTH;
}

static Slot slot_of(const Measurement *m)
{
	return m->trouble           ? SLOT_LOST
	    : m->outcome == OUTCOME_OK ? SLOT_WAITING
				       : SLOT_OVER;
}

Status measure_compile(Measurer *m, const Trace *const *traces, int n,
    Measurement *out, Error *error)
{
	if (m->options.machine == MACHINE_SIMULATED)
		return simulate(m, traces, n, out, error);
	int turns = (n + m->cpus - 1) / m->cpus;
	JobHeader job = {.kind = JOB_COMPILE,
	    .n = n,
	    .limit_s = m->options.build_limit_s * turns};
	json_decref(m->compiled);
	m->compiled = traces_json(m, traces, n);
	memset(m->slots, 0, sizeof m->slots);
	FORWARD_IF_ERROR(
	    run_job(m, job, json_incref(m->compiled), out, error));
	for (int i = 0; i < n; i++)
		m->slots[i] = slot_of(&out[i]);
	return STATUS_OK;
}

/* Compiles the candidate of a slot whose process is gone. */
static void attempt_again(Attempt *a)
{
	Measurer *m = a->m;
	int i = a->job.child;
	JobHeader again = {.kind = JOB_AGAIN,
	    .n = 1,
	    .child = i,
	    .limit_s = m->options.build_limit_s};
	if (exchange(m, again, m->compiled, a->out))
		m->slots[i] = slot_of(a->out);
}

static void attempt_run(void *context)
{
	Attempt *a = context;
	Slot *slot = &a->m->slots[a->job.child];
	if (*slot == SLOT_LOST)
		attempt_again(a);
	if (*slot == SLOT_LOST || a->out->outcome != OUTCOME_OK)
		return;
	exchange(a->m, a->job, a->traces, a->out);
	*slot = a->out->trouble ? SLOT_LOST : SLOT_OVER;
}

Status measure_run(
    Measurer *m, int i, double best_s, Measurement *out, Error *error)
{
	if (m->options.machine == MACHINE_SIMULATED)
		return STATUS_OK;
	JobHeader job = {.kind = JOB_RUN,
	    .n = 1,
	    .child = i,
	    .best_s = best_s,
	    .limit_s = m->options.run_limit_s};
	Attempt a = {m, job, json_array(), out};
	Status status = servers_insist(
	    &m->servers, attempt_run, &a, out, 1, error);
	json_decref(a.traces);
	return status;
}

Status measure_final(Measurer *m, const Trace *const *traces, int n,
    double allowed_s, Measurement *out, Error *error)
{
	if (m->options.machine == MACHINE_SIMULATED)
		return simulate(m, traces, n, out, error);
	JobHeader job = {.kind = JOB_FINAL,
	    .n = n,
	    .limit_s =
		(m->options.build_limit_s + m->options.run_limit_s) * n,
	    .allowed_s = allowed_s};
	return run_job(m, job, traces_json(m, traces, n), out, error);
}

Status measure_peak(Measurer *m, double *one, double *all, Error *error)
{
	Measurement out[2];
	*one = *all = 0;
	if (m->options.machine == MACHINE_SIMULATED)
		return STATUS_OK;
	JobHeader job = {.kind = JOB_PEAK,
	    .n = 2,
	    .limit_s = m->options.build_limit_s + 5};
	FORWARD_IF_ERROR(run_job(m, job, json_array(), out, error));
	if (out[0].outcome || out[1].outcome)
		return error_set(error, STATUS_CRASH,
		    "the FMA peak could not be measured: %.900s",
		    out[out[0].outcome ? 0 : 1].error);
	*one = out[0].time_s;
	*all = out[1].time_s;
	return STATUS_OK;
}
