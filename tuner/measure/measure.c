/* The driver's side of measuring: jobs out, measurements in. */
#include "tuner/measure/measure.h"

#include <assert.h>
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

/* A trace that a process has lowered, and then waits to compile. */
typedef struct {
	const Measurer *of; /* NULL: none */
	json_t *trace;
	int64_t instructions; /* 0: not known */
} LoweredTrace;

enum { COPY_SIZES = 48 };

/* What the measurers of a run have in common. */
typedef struct {
	Arena *arena;
	MeasureOptions options;
	MeasureContext *contexts;
	MeasureDevice device;
	const Target *host;
	Servers servers;
	int users;
	Measurer *last; /* whose candidates wait */
	LoweredTrace lowered[MEASURE_LOWERED];
	int nlowered; /* so far; the places are taken in turn */
	double peak_one[PEAK_KINDS], peak_all[PEAK_KINDS]; /* 0: not measured */
	double copy[COPY_SIZES]; /* by the logarithm of its bytes; likewise */
	double probe_s; /* the least of the run; 0: none */
	int cpus;
} Nursery;

struct Measurer {
	Nursery *nursery;
	MeasureContext context;
	MeasureData data;
	int number; /* of its context */
	double end_s;
	Beside beside; /* what compiles next */
	json_t *compiled; /* their traces; NULL: none yet */
	Slot slots[MEASURE_WIDTH];
};

/* Not on this CPU, whose peaks say nothing then? */
static bool is_elsewhere(const Measurer *m)
{
	const MeasureDevice *d = &m->nursery->device;
	return d->driver && d->facts.type != DEVICE_CPU;
}

static bool is_simulated(const Measurer *m)
{
	return m->nursery->options.machine == MACHINE_SIMULATED;
}

/* What candidates run on, and what is expected of them is computed on. */
static Status open_machine(Nursery *s, const Target *target, Error *error)
{
	s->host = target;
	if (s->options.machine == MACHINE_SIMULATED)
		return STATUS_OK;
	FORWARD_IF_ERROR(measure_device_find(
	    target, s->options.any_device, &s->device, error));
	if (s->device.driver)
		s->host = target_host(s->arena, error);
	return s->host ? STATUS_OK : error->status;
}

Status measure_open_all(const Program *const *programs, int n,
    const Target *target, const MeasureOptions *options, Measurer **out,
    Error *error)
{
	Nursery *s = must_alloc(sizeof *s);
	*s = (Nursery){.arena = arena_new(),
	    .options = *options,
	    .users = n,
	    .cpus = host_cpus()};
	for (int i = 0; i < n; i++) {
		out[i] = must_alloc(sizeof **out);
		*out[i] = (Measurer){
		    .nursery = s, .number = i, .end_s = INFINITY};
	}
	FORWARD_IF_ERROR(open_machine(s, target, error));
	s->contexts = NEW_N(s->arena, MeasureContext, n);
	for (int i = 0; i < n; i++) {
		Measurer *m = out[i];
		s->contexts[i] = m->context = (MeasureContext){programs[i],
		    target, s->host, &s->device, &s->options, &m->data};
	}
	if (options->machine == MACHINE_SIMULATED)
		return STATUS_OK;
	for (int i = 0; i < n; i++)
		FORWARD_IF_ERROR(measure_data_new(
		    s->arena, programs[i], &out[i]->data, error));
	return servers_open(&s->servers, s->contexts, n, error);
}

Status measure_open(const Program *program, const Target *target,
    const MeasureOptions *options, Measurer **out, Error *error)
{
	return measure_open_all(&program, 1, target, options, out, error);
}

static void forget_lowered(Nursery *s, int place)
{
	json_decref(s->lowered[place].trace);
	s->lowered[place] = (LoweredTrace){0};
}

void measure_close(Measurer *m)
{
	if (!m)
		return;
	Nursery *s = m->nursery;
	assert(s->users > 0);
	if (--s->users == 0)
		servers_close(&s->servers);
	if (s->last == m)
		s->last = NULL;
	for (int i = 0; i < MEASURE_LOWERED; i++)
		if (s->lowered[i].of == m)
			forget_lowered(s, i);
	json_decref(m->compiled);
	measure_data_free(&m->data);
	free(m);
	if (s->users)
		return;
	measure_device_forget(&s->device);
	arena_free(s->arena);
	free(s);
}

const Target *measure_host(const Measurer *m)
{
	return m->nursery->host;
}

json_t *measure_device_json(const Measurer *m)
{
	const MeasureDevice *d = &m->nursery->device;
	return d->driver ? device_json(d->driver, &d->facts) : NULL;
}

void measure_until(Measurer *m, double end_s)
{
	m->end_s = end_s;
}

void measure_beside(Measurer *m, void (*work)(void *context), void *context)
{
	m->beside = (Beside){work, context};
}

/* Of many attempts it is the first one's. */
static Beside take_beside(Measurer *m)
{
	Beside beside = m->beside;
	m->beside = (Beside){0};
	return beside;
}

/* A job and what it is about, for as many attempts as it takes. */
typedef struct {
	Measurer *m;
	JobHeader job;
	json_t *traces;
	Measurement *out;
} Attempt;

static int peak_kind_of(const Measurer *m)
{
	return peak_of_program(
	    m->context.program, &m->context.host->machine);
}

static bool exchange(
    Measurer *m, JobHeader job, json_t *traces, Measurement *out)
{
	Nursery *s = m->nursery;
	int kind = peak_kind_of(m);
	job.program = m->number;
	job.peak = fmax(
	    s->peak_all[kind], s->peak_one[kind] * m->context.host->threads);
	job.probe_s = s->probe_s;
	job.end_s = m->end_s;
	job.limit_s = fmin(job.limit_s, fmax(m->end_s - measure_now(), 0));
	Beside beside = {0};
	if (job.kind == JOB_COMPILE)
		beside = take_beside(m);
	bool done =
	    servers_exchange(&s->servers, job, traces, beside, out);
	for (int i = 0; i < job.n; i++) {
		if (out[i].probe_s > 0)
			s->probe_s = out[i].probe_s;
		out[i].cut = out[i].outcome == OUTCOME_TIMEOUT &&
		    measure_now() >= m->end_s;
	}
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
	    &m->nursery->servers, attempt_job, &a, out, job.n, error);
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
		    m->context.target, traces[i],
		    m->nursery->options.seed, error);
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

/* --- the reference ------------------------------------------------------- */

/* Three runs, and what is made beside them. */
static const double plain_spare_s = 1;

/* A program of many groups takes as long to compile as they do one after another. */
enum { BLOCKS_ONE = 16 };

static double build_limit(const Measurer *m)
{
	return m->nursery->options.build_limit_s *
	    (1 + m->context.program->nblocks / BLOCKS_ONE);
}

static Status by_plain(Measurer *m, const ReferenceWish *wish, Reference *out,
    Error *error)
{
	const MeasureOptions *o = &m->nursery->options;
	JobHeader job = {.kind = JOB_PLAIN,
	    .n = 1,
	    .limit_s = build_limit(m) + 12 * o->run_limit_s};
	if (wish->fast)
		job.limit_s = 2 * wish->plain_allowed_s + plain_spare_s;
	FORWARD_IF_ERROR(
	    run_job(m, job, json_array(), &out->plain, error));
	out->estimated = o->cold; /* its runs were warm */
	out->by = out->plain;
	out->ready = out->by.outcome == OUTCOME_OK;
	return STATUS_OK;
}

static Status by_fast(Measurer *m, const Trace *fast, const Trace *other,
    Reference *out, Error *error)
{
	const MeasureOptions *o = &m->nursery->options;
	const Trace *traces[] = {fast, other};
	Measurement answers[2];
	JobHeader job = {.kind = JOB_FAST,
	    .n = 2,
	    .limit_s = 4 * build_limit(m) + 6 * o->run_limit_s};
	FORWARD_IF_ERROR(run_job(m, job,
	    traces_json(m, traces, other ? 2 : 1), answers, error));
	out->by = answers[0];
	out->plain = measure_nothing(OUTCOME_OK);
	out->plain.time_s = answers[1].time_s;
	out->ready = out->by.outcome == OUTCOME_OK ||
	    out->by.outcome == OUTCOME_IMPLAUSIBLE;
	out->fast = fast;
	return STATUS_OK;
}

double measure_plain_guess(const Program *program, const Target *target)
{
	Error ignored;
	return MEASURE_SETS *
	    simulate_seconds(program, target, NULL, 0, &ignored);
}

Status measure_reference(Measurer *m, const ReferenceWish *wish,
    Reference *out, Error *error)
{
	const Trace *none = NULL;
	double guess =
	    measure_plain_guess(m->context.program, m->context.host);
	bool plain = !wish->fast || guess <= wish->plain_allowed_s;
	*out = (Reference){.ready = true};
	if (is_simulated(m))
		return simulate(m, &none, 1, &out->plain, error);
	if (plain)
		FORWARD_IF_ERROR(by_plain(m, wish, out, error));
	if (!wish->fast || (plain && out->by.outcome != OUTCOME_TIMEOUT))
		return STATUS_OK;
	FORWARD_IF_ERROR(by_fast(m, wish->fast, wish->other, out, error));
	if (!out->ready && !out->by.cut && wish->other)
		FORWARD_IF_ERROR(
		    by_fast(m, wish->other, wish->fast, out, error));
	out->estimated = true;
	if (!(out->plain.time_s > 0))
		out->plain.time_s = guess / MEASURE_SETS;
	return STATUS_OK;
}

void measure_forget(Measurer *m)
{
	measure_data_forget(&m->data);
}

size_t measure_data_bytes(const Measurer *m)
{
	return m->data.size;
}

/* --- forms ------------------------------------------------------------------ */

/* The places of n processes that are to lower these. */
static void take_places(Measurer *m, json_t *traces, int n, int *places)
{
	Nursery *s = m->nursery;
	for (int i = 0; i < n; i++) {
		int place = places[i] = s->nlowered++ % MEASURE_LOWERED;
		forget_lowered(s, place);
		s->lowered[place] = (LoweredTrace){
		    m, json_incref(json_array_get(traces, (size_t)i)), 0};
	}
}

/* Of the processes that have lowered these; -1: none has.  They are used up. */
static void find_places(
    Measurer *m, json_t *traces, int n, int *places, int64_t *instructions)
{
	Nursery *s = m->nursery;
	for (int i = 0; i < n; i++) {
		json_t *trace = json_array_get(traces, (size_t)i);
		places[i] = -1;
		instructions[i] = 0;
		for (int k = 0; k < MEASURE_LOWERED && places[i] < 0; k++)
			if (s->lowered[k].of == m &&
			    json_equal(s->lowered[k].trace, trace))
				places[i] = k;
		if (places[i] < 0)
			continue;
		instructions[i] = s->lowered[places[i]].instructions;
		forget_lowered(s, places[i]);
	}
}

/* What takes longest first, so that no CPU is left alone with it at the end. */
static void order_by_size(const int64_t *instructions, int n, int *order)
{
	for (int i = 0; i < n; i++) {
		int at = i;
		for (; at && instructions[order[at - 1]] < instructions[i];
		     at--)
			order[at] = order[at - 1];
		order[at] = i;
	}
}

Status measure_forms(Measurer *m, const Trace *const *traces, int n,
    int64_t most_instructions, CodeForm *out, Error *error)
{
	Measurement answers[MEASURE_WIDTH];
	memset(out, 0, sizeof *out * (size_t)n);
	for (int i = 0; i < n && !is_simulated(m); i += MEASURE_WIDTH) {
		int part = n - i < MEASURE_WIDTH ? n - i : MEASURE_WIDTH;
		JobHeader job = {.kind = JOB_FORM,
		    .n = part,
		    .most_instructions = most_instructions,
		    .limit_s = build_limit(m)};
		json_t *list = traces_json(m, traces + i, part);
		take_places(m, list, part, job.lowered);
		FORWARD_IF_ERROR(run_job(m, job, list, answers, error));
		for (int k = 0; k < part; k++) {
			out[i + k] = (CodeForm){
			    answers[k].form, answers[k].instructions};
			m->nursery->lowered[job.lowered[k]].instructions =
			    answers[k].instructions;
		}
	}
	return STATUS_OK;
}

/* --- candidates ----------------------------------------------------------- */

/* Each process that compiles for a device has opened it, which takes half a
 * gigabyte of it: eight, or as many as take a quarter of its memory. */
static int device_width(const Measurer *m)
{
	int64_t room = m->nursery->device.facts.memory_bytes >> 31;
	return room < 8 ? 8 : room > MEASURE_WIDTH ? MEASURE_WIDTH : (int)room;
}

int measure_width(const Measurer *m)
{
	int cpus = m->nursery->cpus;
	if (!m->nursery->device.driver)
		return MEASURE_WIDTH;
	return cpus > device_width(m) ? device_width(m) : cpus < 2 ? 2 : cpus;
}

int measure_at_once(const Measurer *m, int n)
{
	int most =
	    m->nursery->device.driver ? device_width(m) : m->nursery->cpus;
	return n < most ? n : most;
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
	if (is_simulated(m)) {
		Beside beside = take_beside(m);
		if (beside.work)
			beside.work(beside.context);
		return simulate(m, traces, n, out, error);
	}
	int64_t instructions[MEASURE_WIDTH];
	JobHeader job = {.kind = JOB_COMPILE,
	    .n = n,
	    .at_once = measure_at_once(m, n),
	    .limit_s = build_limit(m)};
	Measurer *last = m->nursery->last;
	if (last) /* the server drops what waits */
		memset(last->slots, 0, sizeof last->slots);
	m->nursery->last = m;
	json_decref(m->compiled);
	m->compiled = traces_json(m, traces, n);
	memset(m->slots, 0, sizeof m->slots);
	find_places(m, m->compiled, n, job.lowered, instructions);
	order_by_size(instructions, n, job.order);
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
	    .limit_s = build_limit(m)};
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
	if (is_simulated(m))
		return STATUS_OK;
	JobHeader job = {.kind = JOB_RUN,
	    .n = 1,
	    .child = i,
	    .best_s = best_s,
	    .limit_s = m->nursery->options.run_limit_s};
	Attempt a = {m, job, json_array(), out};
	Status status = servers_insist(
	    &m->nursery->servers, attempt_run, &a, out, 1, error);
	json_decref(a.traces);
	return status;
}

Status measure_final(Measurer *m, const Trace *const *traces, int n,
    double allowed_s, Measurement *out, Error *error)
{
	if (is_simulated(m))
		return simulate(m, traces, n, out, error);
	const MeasureOptions *o = &m->nursery->options;
	JobHeader job = {.kind = JOB_FINAL,
	    .n = n,
	    .limit_s = (build_limit(m) + o->run_limit_s) * n,
	    .allowed_s = allowed_s};
	return run_job(m, job, traces_json(m, traces, n), out, error);
}

Status measure_peak(
    Measurer *m, bool again, double *one, double *all, Error *error)
{
	Nursery *s = m->nursery;
	Measurement out[2];
	int kind = peak_kind_of(m);
	*one = *all = 0;
	if (is_simulated(m) || is_elsewhere(m))
		return STATUS_OK;
	JobHeader job = {.kind = JOB_PEAK,
	    .n = 2,
	    .limit_s = s->options.build_limit_s + 5};
	if (again || !(s->peak_one[kind] > 0)) {
		FORWARD_IF_ERROR(run_job(m, job, json_array(), out, error));
		if (out[0].outcome || out[1].outcome)
			return error_set(error, STATUS_CRASH,
			    "the FMA peak could not be measured: %.900s",
			    out[out[0].outcome ? 0 : 1].error);
		s->peak_one[kind] = fmax(s->peak_one[kind], out[0].time_s);
		s->peak_all[kind] = fmax(s->peak_all[kind], out[1].time_s);
	}
	*one = s->peak_one[kind];
	*all = s->peak_all[kind];
	return STATUS_OK;
}

double measure_operations(const Measurer *m)
{
	return peak_operations(
	    m->context.program, &m->context.host->machine);
}

static int copy_size(const Program *program)
{
	int size = 0;
	for (int64_t b = program->bytes; b > 1 && size < COPY_SIZES - 1; b /= 2)
		size++;
	return size;
}

Status measure_copy(
    Measurer *m, bool again, double *bytes_per_s, Error *error)
{
	Measurement out;
	double *most = &m->nursery->copy[copy_size(m->context.program)];
	JobHeader job = {.kind = JOB_COPY,
	    .n = 1,
	    .limit_s = build_limit(m) + 5};
	*bytes_per_s = *most;
	if (is_simulated(m) || is_elsewhere(m) || (*most > 0 && !again))
		return STATUS_OK;
	FORWARD_IF_ERROR(run_job(m, job, json_array(), &out, error));
	if (out.outcome)
		return error_set(error, STATUS_CRASH,
		    "a copy could not be measured: %.900s", out.error);
	*bytes_per_s = *most = fmax(*most, out.time_s);
	return STATUS_OK;
}
