/* A CPU's row as this machine has it: kernels of our own are measured as candidates
 * are, and each number is made such that the analytic model foresees what its kernel
 * took.
 *
 *     microkernels.def   load: y[r] = sum[i](x[i]*z[i]), 8 vectors at a time
 *     measured           5.31 us
 *     foreseen           2.66 us at load = 0.1 ... 212 us at load = 8
 *     so                 load = 0.53
 *
 * What a number means is what the model makes of it, and code is what tunec emits;
 * so a number that is told in this way explains its kernel, whatever a manual says of
 * ports.  Where a kernel's time does not tell (it took less, or more, than the model
 * can foresee by that number alone), the number stays what it was, and that is said. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/schedule.h"
#include "tuner/measure/measure_internal.h"

typedef struct {
	const char *key;
	bool all; /* threads */
	const char *inputs, *compute, *trace;
	double time_s; /* the least so far; 0: none yet */
} Microkernel;
typedef VEC(Microkernel) MicrokernelVec;

enum { ONE, ALL };
static const Microkernel microkernels[] = {
#define MICROKERNEL(key, all, inputs, compute, trace)                          \
	{key, all, inputs, compute, trace, 0},
#include "tuner/measure/microkernels.def"
#undef MICROKERNEL
};
enum { NMICROKERNELS = sizeof microkernels / sizeof *microkernels };

/* All kernels are measured one after another, so often in turn, and each so often in
 * its turn; the least counts, since what comes between only takes longer, and may do so
 * for seconds. */
enum { ROUNDS = 4, TIMES = 2 };

typedef struct {
	Arena *arena; /* of one kernel */
	const CostsRun *run;
	CostsMeasured *out;
	const Target *target;
	const Program *program;
	const Trace *trace;
	const Nest *nest; /* of both; NULL: the trace does not apply, which
			     it does on any CPU */
	bool peak; /* is measured beside */
	double end_s;
} Micro;

/* --- the kernel ---------------------------------------------------------------- */

static void put_sizes(const Micro *m, Buf *text)
{
	const Machine *machine = &m->target->machine;
	enum { F32 = 4, MOST = 1 << 25, ROWS = 64 };
	int64_t lanes =
	    machine->vector_bytes ? machine->vector_bytes / F32 : 1;
	int64_t d = 2 * machine->l3_bytes / F32;
	d = (d < MOST ? d : MOST) / ROWS / (64 * lanes) * ROWS * 64 * lanes;
	buf_printf(text,
	    "params: {A: %lld, B: %lld, C: %lld, D: %lld, W: %lld, V: %d, T: %d}\n",
	    (long long)(machine->l1_bytes / 4 / F32),
	    (long long)(machine->l2_bytes / 2 / F32),
	    (long long)(machine->l3_bytes / 4 / F32), (long long)d,
	    (long long)(d / ROWS + 32 * lanes), (int)lanes, machine->threads);
}

static Status make_program(Micro *m, const Microkernel *k, Error *error)
{
	Buf text = {0};
	Diag diag = {0};
	Error ignored = {0};
	Source *source = NEW(m->arena, Source);
	buf_puts(&text, "tunec: 1\nname: micro\n");
	put_sizes(m, &text);
	buf_printf(&text, "inputs: %s\ncompute: |\n  %s\n", k->inputs,
	    k->compute);
	*source = (Source){"a microkernel",
	    arena_strndup(m->arena, text.data, text.size), text.size};
	Spec *spec = spec_parse(m->arena, source, &diag);
	m->program = spec ? spec_program(m->arena, spec, NULL, NULL, 0,
				NUMERICS_DEFAULT, &diag)
			  : NULL;
	Source *steps = NEW(m->arena, Source);
	*steps = (Source){"its trace", k->trace, strlen(k->trace)};
	m->trace = trace_parse(
	    m->arena, steps, (Span){0, steps->size}, &diag);
	if (m->trace)
		m->trace = trace_resolve_lanes(
		    m->arena, m->trace, &m->target->machine);
	if (!m->program || !m->trace)
		error_set(error, STATUS_INTERNAL, "%.900s",
		    buf_text(&diag.text));
	else
		m->nest = schedule_nest(m->arena, m->program,
		    &m->target->machine, m->trace, &ignored);
	buf_free(&text);
	diag_free(&diag);
	return m->program && m->trace ? STATUS_OK : error->status;
}

/* --- its time ------------------------------------------------------------------- */

/* FLOP/s of multiply-adds by one thread, the most so far: they tell the clock. */
static Status take_peak(Micro *m, Measurer *measurer, Error *error)
{
	double one, all;
	FORWARD_IF_ERROR(measure_peak(measurer, true, &one, &all, error));
	m->out->peak = fmax(m->out->peak, one);
	return STATUS_OK;
}

static Status take_times(
    Micro *m, Measurer *measurer, Microkernel *k, Error *error)
{
	ReferenceWish wish = {0};
	Reference reference;
	if (m->peak)
		FORWARD_IF_ERROR(take_peak(m, measurer, error));
	FORWARD_IF_ERROR(
	    measure_reference(measurer, &wish, &reference, error));
	for (int i = 0; i < TIMES && reference.ready; i++) {
		Measurement out;
		FORWARD_IF_ERROR(
		    measure_compile(measurer, &m->trace, 1, &out, error));
		if (out.outcome == OUTCOME_OK)
			FORWARD_IF_ERROR(
			    measure_run(measurer, 0, 0, &out, error));
		if (out.outcome == OUTCOME_OK &&
		    !(k->time_s > 0 && k->time_s < out.time_s))
			k->time_s = out.time_s;
	}
	return STATUS_OK;
}

static Status measure_kernel(Micro *m, Microkernel *k, Error *error)
{
	MeasureOptions options = {.pin = true,
	    .build_limit_s = 10,
	    .run_limit_s = 10,
	    .seed = 1,
	    .say = m->run->say,
	    .interrupted = m->run->interrupted};
	Measurer *measurer = NULL;
	Status status =
	    measure_open(m->program, m->target, &options, &measurer, error);
	if (!status) {
		measure_until(measurer, m->end_s);
		status = take_times(m, measurer, k, error);
	}
	measure_close(measurer);
	return status;
}

/* --- its number ----------------------------------------------------------------- */

/* With three digits: a machine says no more. */
static double rounded(double value)
{
	char text[32];
	snprintf(text, sizeof text, "%.3g", value);
	return atof(text);
}

static void keep(Micro *m, const char *name, double value)
{
	CostKey key;
	int number = costs_key(name, &key);
	assert(number >= 0);
	*costs_at(&m->out->costs, &key) =
	    fmin(key.most, fmax(key.least, rounded(value)));
	m->out->told[number] = true;
}

/* Seconds by the row so far with this number. */
static double foreseen(const Micro *m, const CostKey *key, double value)
{
	Arena *arena = arena_new();
	MachineCosts costs = m->out->costs;
	Machine machine = m->target->machine;
	*costs_at(&costs, key) = value;
	machine.costs = &costs;
	double seconds = simulate_nest_seconds(arena, m->nest, &machine);
	arena_free(arena);
	return seconds;
}

/* A rate of all cores that is none of its own stands for infinitely much. */
static double least_of(const CostKey *key)
{
	return fmax(key->least, key->most * 1e-6);
}

/* The number by which the kernel takes time_s; NaN where none does.  What takes
 * hardly less than by the least has the least. */
static double told(
    const Micro *m, const CostKey *key, double time_s, double foreseen_s[2])
{
	static const double near = 1.1;
	double low = least_of(key), high = key->most;
	double at_low = foreseen(m, key, low), at_high = foreseen(m, key, high);
	bool rising = at_high > at_low;
	double fast = fmin(at_low, at_high), slow = fmax(at_low, at_high);
	foreseen_s[0] = at_low;
	foreseen_s[1] = at_high;
	if (rising && time_s <= fast && time_s * near > fast)
		return key->least;
	if (!(time_s > fast && time_s < slow) || slow < fast * near)
		return NAN;
	for (int i = 0; i < 60; i++) {
		double middle = sqrt(low * high);
		if ((foreseen(m, key, middle) < time_s) == rising)
			low = middle;
		else
			high = middle;
	}
	return sqrt(low * high);
}

/* The clock that the core has while it multiplies and adds. */
static void tell_clock(Micro *m)
{
	const Machine *machine = &m->run->one->machine;
	double each = machine->vector_bytes ? machine->vector_bytes / 4 : 1;
	double cycle = 2 * each *
	    (machine->fma_per_cycle > 0 ? machine->fma_per_cycle : 1);
	if (m->out->peak > 0)
		keep(m, "clock", m->out->peak / cycle * 1e-9);
}

static void tell(Micro *m, const Microkernel *k)
{
	CostKey key;
	double value = NAN, foreseen_s[2] = {NAN, NAN};
	costs_key(k->key, &key);
	if (k->time_s > 0 && m->nest)
		value = told(m, &key, k->time_s, foreseen_s);
	if (!isnan(value))
		keep(m, k->key, value);
	if (m->run->told)
		m->run->told(
		    k->key, k->time_s > 0 ? k->time_s : NAN, foreseen_s, value);
}

/* --- all of them ------------------------------------------------------------------ */

static void list_kernels(Arena *arena, const CostsRun *run, MicrokernelVec *all)
{
	for (int i = 0; i < NMICROKERNELS; i++)
		if (!microkernels[i].all || run->all->threads > 1)
			vec_push(arena, all, microkernels[i]);
	for (Op op = 0; op < OP_COUNT; op++) {
		bool two = op_kind(op) == OPKIND_FUNCTION && op_arity(op) == 2;
		Microkernel k = {.key = op_name(op),
		    .inputs =
			two ? "{x: 'f32[A]', z: 'f32[A]'}" : "{x: 'f32[A]'}",
		    .compute = arena_printf(arena, "y[i < A] = %s(x[i]%s)",
			op_name(op), two ? ", z[i]" : ""),
		    .trace = "io, iu, iv = split(y.i, [_, 4, lanes]); "
			     "unroll(iu); vectorize(iv, lanes)"};
		if (op_kind(op) == OPKIND_FUNCTION)
			vec_push(arena, all, k);
	}
}

/* In an arena of its own: measures a kernel, or takes its number. */
static Status with_kernel(Micro *m, Microkernel *k, bool measure, Error *error)
{
	m->arena = arena_new();
	m->target = k->all ? m->run->all : m->run->one;
	Status status = make_program(m, k, error);
	if (!status && measure)
		status = measure_kernel(m, k, error);
	else if (!status)
		tell(m, k);
	arena_free(m->arena);
	return status;
}

static Status measure_round(Micro *m, MicrokernelVec *all, Error *error)
{
	for (int i = 0; i < all->n && measure_now() < m->end_s; i++) {
		m->peak = i == 0;
		FORWARD_IF_ERROR(with_kernel(m, &all->at[i], true, error));
	}
	return STATUS_OK;
}

Status measure_costs(const CostsRun *run, CostsMeasured *out, Error *error)
{
	Arena *arena = arena_new();
	MicrokernelVec all = {0};
	Micro m = {
	    .run = run, .out = out, .end_s = measure_now() + run->time_s};
	Status status = STATUS_OK;
	*out = (CostsMeasured){.costs = *machine_costs(&run->one->machine)};
	list_kernels(arena, run, &all);
	for (int i = 0; i < ROUNDS && !status; i++)
		status = measure_round(&m, &all, error);
	tell_clock(&m);
	for (int i = 0; i < all.n && !status; i++)
		status = with_kernel(&m, &all.at[i], false, error);
	arena_free(arena);
	return status;
}
