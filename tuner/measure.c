/* The driver's side of measuring: jobs out, measurements in. */
#include "tuner/measure.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/measure_internal.h"

struct Measurer {
	Arena *arena;
	MeasureOptions options;
	MeasureContext context;
	MeasureData data;
	pid_t server;
	int fd;
	double peak;
	int cpus;
};

Status measure_open(const Program *program, const Target *target,
    const MeasureOptions *options, Measurer **out, Error *error)
{
	Measurer *m = must_alloc(sizeof *m);
	int ends[2];
	*m = (Measurer){.arena = arena_new(),
	    .options = *options,
	    .fd = -1,
	    .cpus = host_cpus()};
	*out = m;
	m->context = (MeasureContext){program, target, &m->options, &m->data};
	if (options->machine == MACHINE_SIMULATED)
		return STATUS_OK;
	FORWARD_IF_ERROR(measure_data_new(m->arena, program, &m->data, error));
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
		return error_set(error, STATUS_IO, "socketpair: %s",
		    strerror(errno));
	m->server = fork();
	if (m->server == 0) {
		close(ends[0]);
		measure_server(&m->context, ends[1]);
	}
	close(ends[1]);
	m->fd = ends[0];
	if (m->server < 0)
		return error_set(
		    error, STATUS_IO, "fork: %s", strerror(errno));
	return STATUS_OK;
}

void measure_close(Measurer *m)
{
	if (!m)
		return;
	if (m->fd >= 0)
		close(m->fd);
	if (m->server > 0) {
		kill(m->server, SIGKILL);
		waitpid(m->server, NULL, 0);
	}
	measure_data_free(&m->data);
	arena_free(m->arena);
	free(m);
}

void measure_set_peak(Measurer *m, double flops_per_s)
{
	m->peak = flops_per_s;
}

static Status run_job(Measurer *m, JobHeader job, json_t *traces,
    Measurement *out, Error *error)
{
	char *text = json_dumps(traces, JSON_COMPACT);
	json_decref(traces);
	job.text = strlen(text);
	job.peak = m->peak;
	bool done = measure_write(m->fd, &job, sizeof job) &&
	    measure_write(m->fd, text, job.text) &&
	    measure_read(m->fd, out, sizeof *out * (size_t)job.n);
	free(text);
	if (!done)
		return error_set(error, STATUS_CRASH,
		    "the measuring process has died");
	return STATUS_OK;
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
			out[i].outcome = OUTCOME_BUILD;
			out[i].time_s = out[i].spread_s = NAN;
			snprintf(out[i].error, sizeof out[i].error, "%.*s",
			    (int)sizeof out[i].error - 1, error->text);
		}
	}
	return STATUS_OK;
}

static Status run_traces(Measurer *m, JobKind kind, const Trace *const *traces,
    int n, double limit_s, Measurement *out, Error *error)
{
	if (m->options.machine == MACHINE_SIMULATED)
		return simulate(m, traces, n, out, error);
	JobHeader job = {.kind = kind, .n = n, .limit_s = limit_s};
	return run_job(m, job, traces_json(m, traces, n), out, error);
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

Status measure_compile(Measurer *m, const Trace *const *traces, int n,
    Measurement *out, Error *error)
{
	int turns = (n + m->cpus - 1) / m->cpus;
	return run_traces(m, JOB_COMPILE, traces, n,
	    m->options.build_limit_s * turns, out, error);
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
	return run_job(m, job, json_array(), out, error);
}

Status measure_final(Measurer *m, const Trace *const *traces, int n,
    Measurement *out, Error *error)
{
	double limit =
	    (m->options.build_limit_s + m->options.run_limit_s) * n;
	return run_traces(m, JOB_FINAL, traces, n, limit, out, error);
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
