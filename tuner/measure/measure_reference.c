/* The expected outputs of the input sets, and whether to believe them.
 *
 * The plain nest makes them where that is cheap.  Where it would take too long a
 * fast kernel does, which is compared in full first: the same trace with the
 * plain nest at a reduced size; or, where the operator cannot be made smaller or
 * the trace does not apply then, its outputs with those of a kernel of another
 * structure.  Either way points are computed by the interpreter. */
#include <math.h>
#include <string.h>

#include "schedule/groups.h"
#include "tuner/measure/measure_kernel.h"

/* Seconds for the interpreter's points; a run of the plain nest beyond which it
 * is not timed but the runs on the ordinary sets are its time. */
static const double points_s = 0.3, long_s = 0.05;

/* Operations of a program of several groups beyond which a point of it takes the
 * interpreter too long: most of the program is behind each.  Its groups' kernels
 * were compared with it. */
enum { COMPOSED_FLOPS = 20000000 };

/* Operations of a reduced size, and by what params are divided for it. */
enum { REDUCED_FLOPS = 30000000, DIVISOR_MAX = 1 << 16 };

static bool is_composed(const Program *p)
{
	Arena *arena = arena_new();
	bool composed = groups_of_products(arena, p)->n > 1;
	arena_free(arena);
	return composed;
}

static bool run_set(Loaded *k, int set, Measurement *m)
{
	const Program *p = k->context->program;
	const MeasureData *data = k->context->data;
	if (!kernel_guard(k, set, m))
		return false;
	double start = measure_now();
	kernel_call(k);
	if (set != SET_SPECIAL)
		m->runs_s[m->nruns++] = measure_now() - start;
	m->outcome = OUTCOME_WRONG;
	if (!kernel_inputs_unchanged(k, set, m))
		return false;
	for (int o = 0; o < p->noutputs; o++)
		memcpy(data->base + data->expected[set][o],
		    k->args[p->ninputs + o],
		    (size_t)buffer_bytes(&p->buffers[p->outputs[o]]));
	return true;
}

/* Drawn anew until it serves. */
static bool run_special(Loaded *k, Measurement *m)
{
	MeasureData data = *k->context->data; /* the mapping is the same */
	SpecialLevel level = special_first(k->context->program);
	if (!run_set(k, SET_SPECIAL, m))
		return false;
	while (level < SPECIAL_NONZERO && !special_serves(&data)) {
		measure_data_special(
		    &data, k->context->options->seed, ++level);
		if (!run_set(k, SET_SPECIAL, m))
			return false;
	}
	return true;
}

/* With every CPU there is; m->runs_s: of each ordinary set. */
static bool make_expected(Loaded *k, Measurement *m)
{
	const Program *p = k->context->program;
	if (!kernel_pin(k, m))
		return false;
	for (int set = 0; set < SET_SPECIAL; set++)
		if (!run_set(k, set, m))
			return false;
	if (!run_special(k, m))
		return false;
	m->outcome = OUTCOME_WRONG;
	if ((p->flops < COMPOSED_FLOPS || !is_composed(p)) &&
	    !compare_expected(
		k->context->data, points_s, m->error, sizeof m->error))
		return false;
	m->outcome = OUTCOME_OK;
	measure_summary(m);
	return true;
}

static double least_run(const Measurement *m)
{
	double least = m->runs_s[0];
	for (int i = 1; i < m->nruns; i++)
		least = fmin(least, m->runs_s[i]);
	return least;
}

static void fill(const MeasureContext *c)
{
	MeasureData data = *c->data; /* the mapping is the same */
	measure_data_fill(&data, c->options->seed);
}

/* Is it not worth another call for its time?  What the model says is a thousandth
 * of a long run only waited for its CPUs. */
static bool is_long(const MeasureContext *c, const Measurement *m)
{
	double guess =
	    measure_plain_guess(c->program, c->target) / MEASURE_SETS;
	return least_run(m) > long_s && 1000 * guess > long_s;
}

/* Its time is candidate 0's only where the target has as many threads as there
 * are CPUs. */
void job_plain(const MeasureContext *c, Arena *arena, Measurement *m)
{
	int cpus = host_cpus();
	int threads = c->target->threads;
	Loaded all = {.context = c}, own = {.context = c}, *k = &all;
	fill(c);
	if (!kernel_compile(
		&all, arena, NULL, cpus > threads ? cpus : threads, m) ||
	    !kernel_load(&all, m) || !make_expected(&all, m))
		return;
	if (cpus > threads) {
		k = &own;
		if (!kernel_compile(&own, arena, NULL, threads, m) ||
		    !kernel_load(&own, m))
			return;
	}
	m->outcome = OUTCOME_OK;
	if ((k == &all && is_long(c, m)) || c->options->cold ||
	    !kernel_place(&k, 1, m))
		return;
	kernel_call(k);
	job_time(k, 0, 0, m);
}

/* --- a fast kernel --------------------------------------------------------- */

/* Is the trace one of the program's, and the guards hold? */
static bool applies(Arena *arena, const MeasureContext *c,
    const Program *program, const json_t *trace)
{
	MeasureContext reduced = *c;
	Measurement ignored;
	Loaded k = {.context = &reduced};
	reduced.program = program;
	return kernel_lower(&k, arena, trace, c->target->threads, &ignored);
}

/* The largest of few operations that the trace applies to; NULL. */
static Program *reduced_program(
    Arena *arena, const MeasureContext *c, const json_t *trace)
{
	for (int64_t divisor = 2; divisor < DIVISOR_MAX; divisor *= 2) {
		Program *p = program_reduced(arena, c->program, divisor);
		if (!p || p->flops >= c->program->flops)
			return NULL;
		if (p->flops <= REDUCED_FLOPS && applies(arena, c, p, trace))
			return p;
	}
	return NULL;
}

/* The plain nest and the trace on a reduced program; sets plain_s, of the plain
 * nest at the real size as far as operations tell. */
static bool agrees_reduced(const MeasureContext *c, const Program *program,
    Arena *arena, const json_t *trace, double *plain_s, Measurement *m)
{
	MeasureData data;
	Error error = {0};
	MeasureContext reduced = *c;
	Loaded plain = {.context = &reduced}, fast = {.context = &reduced};
	int threads = c->target->threads;
	Measurement runs = measure_nothing(OUTCOME_OK);
	reduced.program = program;
	reduced.data = &data;
	if (measure_data_new(arena, program, &data, &error)) {
		snprintf(m->error, sizeof m->error, "%.500s", error.text);
		m->trouble = TROUBLE_DOUBTFUL;
		return false;
	}
	fill(&reduced);
	if (!kernel_compile(&plain, arena, NULL, threads, &runs) ||
	    !kernel_load(&plain, &runs) || !make_expected(&plain, &runs)) {
		*m = runs;
		return false;
	}
	*plain_s = least_run(&runs) * (double)c->program->flops /
	    (double)program->flops;
	return kernel_compile(&fast, arena, trace, threads, m) &&
	    kernel_load(&fast, m) && kernel_check(&fast, 0, m);
}

/* Another structure on the real program, whose expected outputs there are. */
static bool agrees_with_other(const MeasureContext *c, Arena *arena,
    const json_t *trace, Measurement *m)
{
	Loaded other = {.context = c};
	return kernel_compile(&other, arena, trace, c->target->threads, m) &&
	    kernel_load(&other, m) && kernel_check(&other, 0, m);
}

/* The kernel's time: the runs on the second and the third set, which are pinned,
 * where they are long. */
static bool own_time(Loaded *k, const JobHeader *job, Measurement *m)
{
	m->nruns--;
	memmove(m->runs_s, m->runs_s + 1,
	    sizeof *m->runs_s * (size_t)m->nruns);
	if (least_run(m) > long_s) {
		measure_summary(m);
		return true;
	}
	if (!kernel_place(&k, 1, m))
		return false;
	kernel_call(k);
	job_time(k, 0, job->probe_s, m);
	return true;
}

/* m[0]: of the kernel, which is a candidate; m[1].time_s: of the plain nest. */
void job_fast(const MeasureContext *c, Arena *arena, const json_t *traces,
    const JobHeader *job, Measurement *m)
{
	const json_t *trace = json_array_get(traces, 0);
	const json_t *second = json_array_get(traces, 1);
	Loaded k = {.context = c};
	Measurement agreement = measure_nothing(OUTCOME_WRONG);
	Program *reduced = is_composed(c->program)
	    ? NULL : reduced_program(arena, c, trace);
	double start = measure_now();
	snprintf(agreement.error, sizeof agreement.error,
	    "there is nothing to compare a fast kernel with");
	fill(c);
	if (!kernel_compile(&k, arena, trace, c->target->threads, m) ||
	    !kernel_load(&k, m) || !make_expected(&k, m))
		return;
	bool agrees = reduced
	    ? agrees_reduced(
		  c, reduced, arena, trace, &m[1].time_s, &agreement)
	    : second && agrees_with_other(c, arena, second, &agreement);
	m->check_s = measure_now() - start;
	start = measure_now();
	if (agrees && own_time(&k, job, m))
		plausible_judge(c, job->peak, m);
	m->run_s = measure_now() - start;
	if (agrees)
		return;
	*m = agreement;
	if (m->outcome == OUTCOME_OK)
		m->outcome = OUTCOME_WRONG;
}
