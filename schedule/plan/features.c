/* The cost model's row: FEATURES floats, the same columns for every program on every
 * machine (features.def).
 *
 * The stages with most work come first, then the sum of the others, then what is
 * of the whole program.  Loops and accesses are the heaviest stage's. */
#include "schedule/plan/features.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "schedule/plan/cost_gpu.h"
typedef float Floats __attribute__((vector_size(16)));
typedef int32_t Ints __attribute__((vector_size(16)));

/* log2(1 + x) to about 5e-3 for x >= 0: the exponent, and a quadratic in the
 * mantissa. */
static Floats log2_1p(Floats x)
{
	union {
		Floats f;
		Ints i;
	} v = {.f = x + 1}, m;
	m.i = (v.i & 0x7fffff) | 0x3f800000;
	return __builtin_convertvector((v.i >> 23) - 127, Floats) +
	    (-0.33582878f * m.f + 2.0f) * m.f - 1.65871022f -
	    0.00546f * (m.f - 1) * (2 - m.f);
}

/* Much of a row is zeros. */
static void take_logs(float *row, int n)
{
	const Floats zero = log2_1p((Floats){0});
	for (int i = 0; i < n; i += 4) {
		Floats x;
		uint64_t bits[2];
		memcpy(&x, row + i, sizeof x);
		memcpy(bits, row + i, sizeof bits);
		x = bits[0] | bits[1] ? log2_1p(x) : zero;
		memcpy(row + i, &x, sizeof x);
	}
}

static double part_of(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* --- stages ---------------------------------------------------------------------- */

static int running(const PlanStage *s, const int64_t *values)
{
	int n = 0;
	for (int d = 0; d < s->nloops; d++)
		n += values[s->loops[d].extent] > 1;
	return n;
}

/* A store of a part of a line counts as so many, as it did when models learnt. */
enum { NARROW_GATHERS = 6 };

static double gathers_of(const StageCost *c)
{
	return c->gathers + NARROW_GATHERS * c->narrow;
}

static float *put_cpu(const PlanStage *s, const StageCost *c,
    const int64_t *values, float *row)
{
#define STAGE(name, sum, cpu, gpu, formula) *row++ = (float)(cpu);
#include "schedule/plan/features.def"
	return row;
}

static float *put_gpu(const PlanStage *s, const LaunchCost *g,
    const Machine *m, const int64_t *values, float *row)
{
#define STAGE(name, sum, cpu, gpu, formula) *row++ = (float)(gpu);
#include "schedule/plan/features.def"
	return row;
}

/* --- loops and accesses ------------------------------------------------------------- */

static float *put_loops(const PlanStage *s, const StageCost *c,
    const int64_t *values, float *row)
{
	float *end = row + LOOPS_SHOWN * LOOP_FEATURES;
	for (int d = s->nloops - 1; d >= 0 && row < end; d--) {
		const PlanLoop *l = &s->loops[d];
		if (values[l->extent] < 2)
			continue;
#define LOOP(name, value, formula) *row++ = (float)(value);
#include "schedule/plan/features.def"
	}
	memset(row, 0, (size_t)(end - row) * sizeof *row);
	return end;
}

/* The innermost loop of a set; -1. */
static int innermost(uint32_t loops)
{
	return loops ? last_loop(&loops) : -1;
}

static int64_t step_along(const PlanAccess *a, const int64_t *values, int loop)
{
	int64_t step = loop < 0 ? 0 : access_step(a, values, loop);
	return step < 0 ? -step : step;
}

static double held_bytes(const PlanAccess *a, const int64_t *values)
{
	double bytes = a->bytes;
	for (int k = 0; k < a->ndim; k++)
		bytes *= a->held[k] == HANDLE_NONE
		    ? 0 : (double)values[a->held[k]];
	return bytes;
}

/* Loops along which accesses' steps are told: c NULL: of a GPU. */
static void choose_loops(const PlanStage *s, const StageCost *c,
    const int64_t *values, int *along)
{
	Shape shape;
	if (c) {
		along[0] = s->nloops - 1;
		along[1] = s->nloops - 2;
		along[2] = s->nloops && c->body ? c->body - 1 : 0;
		return;
	}
	launch_shape(s, values, &shape);
	along[0] = innermost(shape.threads);
	along[1] = innermost(shape.code);
	along[2] = innermost(shape.serial);
}

static float *put_accesses(const PlanStage *s, const StageCost *c,
    const int64_t *values, float *row)
{
	float *end = row + ACCESSES_SHOWN * ACCESS_FEATURES;
	int along[3];
	choose_loops(s, c, values, along);
	for (int i = 0; i < s->naccesses && row < end; i++) {
		const PlanAccess *a = &s->accesses[i];
#define ACCESS(name, value, formula) *row++ = (float)(value);
#include "schedule/plan/features.def"
	}
	memset(row, 0, (size_t)(end - row) * sizeof *row);
	return end;
}

/* Without logs; STAGE_COSTS of them are always written, the others where `context`
 * says so. */
static void put_part(const Plan *plan, const Machine *m, const int64_t *values,
    const PlanPart *part, bool context, float *row)
{
	const PlanStage *s = &plan->stages[part->main];
	const StageCost *c = NULL;
	if (m->gpu) {
		LaunchCost g;
		bool found = launch_next(plan, m, values, part->first, &g);
		assert(found && g.first == part->first);
		if (!g.resident)
			g.seconds = 0; /* its needs say why */
		row = put_gpu(s, &g, m, values, row);
	} else {
		c = plan_stage_cost(plan, part->main, m, values);
		row = put_cpu(s, c, values, row);
	}
	if (!context)
		return;
	row = put_loops(s, c, values, row);
	put_accesses(s, c, values, row);
}

int plan_stage_features(const Plan *plan, const Machine *machine,
    const int64_t *values, int most, float *rows)
{
	const PlanPart *parts = plan->parts[machine->gpu];
	int n = plan->nparts[machine->gpu];
	assert(most >= 0);
	n = n < most ? n : most;
	memset(rows, 0, sizeof *rows * STAGE_FEATURES * (size_t)n);
	for (int i = 0; i < n; i++, rows += STAGE_FEATURES) {
		put_part(plan, machine, values, &parts[i], true, rows);
		take_logs(rows, STAGE_FEATURES);
	}
	return n;
}

/* --- relations ----------------------------------------------------------------------- */

/* Of one buffer, by loop that runs, from the innermost on: bytes that it touches,
 * uses of each element; first an element alone. */
typedef struct {
	int n;
	double bytes[PLAN_DEPTH + 1], reuse[PLAN_DEPTH + 1];
} ReuseByLoop;

static void walk(const PlanStage *s, const PlanAccess *a, const int64_t *values,
    ReuseByLoop *w)
{
	double elements[PLAN_DEPTH + 1], runs = 1;
	access_elements(s, a, values, elements);
	w->n = 0;
	for (int d = s->nloops; d >= 0; d--) {
		int64_t extent = d < s->nloops ? values[s->loops[d].extent] : 1;
		if (extent < 2 && d < s->nloops)
			continue;
		runs *= (double)extent;
		w->bytes[w->n] = elements[d] * a->bytes;
		w->reuse[w->n++] = runs / max2(1, elements[d]);
	}
}

/* The most of a property over the loops, from the innermost on, whose other one is
 * below each threshold. */
static float *relate(
    int n, const double *of, const double *below, float *row)
{
	double limit = 1, most = 0;
	for (int t = 0, k = 0; t < THRESHOLDS; t++) {
		limit *= 1 << THRESHOLD_OCTAVES;
		for (; k < n && below[k] < limit; k++)
			most = max2(most, of[k]);
		*row++ = (float)most;
	}
	return row;
}

static void put_relations(
    const PlanStage *s, const int64_t *values, float *row)
{
	ReuseByLoop w;
	int shown = 0;
	for (int i = s->nwrites;
	     i < s->naccesses && shown < BUFFERS_SHOWN; i++) {
		if (s->accesses[i].like != i)
			continue;
		walk(s, &s->accesses[i], values, &w);
		shown++;
#define RELATION(name, of, below, formula) \
		row = relate(w.n, w.of, w.below, row);
#include "schedule/plan/features.def"
	}
}

/* --- a program ---------------------------------------------------------------------- */

static void add_sums(const float *stage, float *to)
{
#define STAGE(name, sum, cpu, gpu, formula) \
	if (sum) \
		*to++ += *stage; \
	stage++;
#include "schedule/plan/features.def"
}

void plan_features(const Plan *plan, const Machine *machine,
    const int64_t *values, float *row)
{
	const PlanPart *parts = plan->parts[machine->gpu];
	float other[STAGE_COSTS], *at = row + STAGE_FEATURES;
	int n = plan->nparts[machine->gpu];
	memset(row, 0, FEATURES * sizeof *row);
	if (n)
		put_part(plan, machine, values, &parts[0], true, row);
	for (int i = 1; i < n; i++) {
		put_part(plan, machine, values, &parts[i], false, other);
		add_sums(other, at);
		at += i < STAGES_SHOWN ? STAGE_SUMS : 0;
	}
	at = row + STAGE_FEATURES + STAGES_SHOWN * STAGE_SUMS;
#define PROGRAM(name, value, formula) *at++ = (float)(value);
#include "schedule/plan/features.def"
	if (n)
		put_relations(&plan->stages[parts[0].main], values, at);
	take_logs(row, FEATURES);
}

/* --- names ---------------------------------------------------------------------------- */

#define NAME(...) \
	if (at++ == column) \
		snprintf(name, FEATURE_NAME, __VA_ARGS__);

const char *feature_name(int column, char name[FEATURE_NAME])
{
	int at = 0;
	assert(column >= 0 && column < FEATURES);
	snprintf(name, FEATURE_NAME, "unused%d", column);
#define STAGE(word, sum, cpu, gpu, formula) NAME("stage1." #word)
#include "schedule/plan/features.def"
	for (int i = 1; i <= LOOPS_SHOWN; i++) {
#define LOOP(word, value, formula) NAME("loop%d." #word, i)
#include "schedule/plan/features.def"
	}
	for (int i = 1; i <= ACCESSES_SHOWN; i++) {
#define ACCESS(word, value, formula) NAME("access%d." #word, i)
#include "schedule/plan/features.def"
	}
	for (int i = 2; i <= STAGES_SHOWN + 1; i++) {
#define STAGE(word, sum, cpu, gpu, formula) \
	if (sum) { \
		NAME(i > STAGES_SHOWN ? "rest." #word : "stage%d." #word, i) \
	}
#include "schedule/plan/features.def"
	}
#define PROGRAM(word, value, formula) NAME("program." #word)
#include "schedule/plan/features.def"
	for (int i = 1; i <= BUFFERS_SHOWN; i++) {
#define RELATION(word, of, below, formula) \
	for (int t = 1; t <= THRESHOLDS; t++) \
		NAME("buffer%d." #word "_%d", i, t * THRESHOLD_OCTAVES)
#include "schedule/plan/features.def"
	}
	return name;
}
