/* The cost model's row: FEATURES floats, the same columns for every program on every
 * machine (features.def).
 *
 * The stages with most work come first, then the sum of the others, then what is
 * of the whole program.  Loops and accesses are the heaviest stage's. */
#include "schedule/plan/features.h"

#include <string.h>

#include "schedule/plan/cost_gpu.h"

enum { PARTS = 64 }; /* stages with a time of their own; later ones are left out */

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

static void take_logs(float *row, int n)
{
	for (int i = 0; i < n; i += 4) {
		Floats x;
		memcpy(&x, row + i, sizeof x);
		x = log2_1p(x);
		memcpy(row + i, &x, sizeof x);
	}
}

static double part_of(double a, double b)
{
	return b > 0 ? a / b : 0;
}

/* --- stages ---------------------------------------------------------------------- */

typedef struct {
	int first; /* stage; of a GPU, of its launch */
	int main;  /* of these the one with most work */
	double work, most;
} Part;

/* The heaviest first, by what the plan alone says: the columns of candidates of one
 * plan are of the same stages. */
static int parts_by_work(const Plan *plan, const Machine *m, Part *parts)
{
	int n = 0;
	for (int i = 0; i < plan->nstages; i++) {
		const PlanStage *s = &plan->stages[i];
		int first = m->gpu ? s->launch : i, k = 0;
		double work = (s->flops + 1) * (double)s->points;
		if ((s->ahead && i != plan->anchor) || first < 0)
			continue;
		while (k < n && parts[k].first != first)
			k++;
		if (k == PARTS)
			continue;
		Part p = k < n ? parts[k] : (Part){.first = first};
		n += k == n;
		p.work += work;
		if (work > p.most) {
			p.most = work;
			p.main = i;
		}
		for (; k && parts[k - 1].work < p.work; k--)
			parts[k] = parts[k - 1];
		parts[k] = p;
	}
	return n;
}

static int running(const PlanStage *s, const int64_t *values)
{
	int n = 0;
	for (int d = 0; d < s->nloops; d++)
		n += values[s->loops[d].extent] > 1;
	return n;
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
    const Part *part, bool context, float *row)
{
	const PlanStage *s = &plan->stages[part->main];
	StageCost cost, *c = m->gpu ? NULL : &cost;
	if (m->gpu) {
		LaunchCost g;
		launch_next(plan, m, values, part->first, &g);
		if (!g.resident)
			g.seconds = 0; /* its needs say why */
		row = put_gpu(s, &g, m, values, row);
	} else {
		stage_cost(s, m, values, &cost);
		row = put_cpu(s, &cost, values, row);
	}
	if (!context)
		return;
	row = put_loops(s, c, values, row);
	put_accesses(s, c, values, row);
}

int plan_stage_features(const Plan *plan, const Machine *machine,
    const int64_t *values, int most, float *rows)
{
	Part parts[PARTS];
	int n = parts_by_work(plan, machine, parts);
	n = n < most ? n : most;
	memset(rows, 0, sizeof *rows * STAGE_FEATURES * (size_t)n);
	for (int i = 0; i < n; i++, rows += STAGE_FEATURES) {
		put_part(plan, machine, values, &parts[i], true, rows);
		take_logs(rows, STAGE_FEATURES);
	}
	return n;
}

/* --- a program ---------------------------------------------------------------------- */

enum { REST_AT = STAGES_SHOWN * STAGE_COSTS + STAGE_FEATURES - STAGE_COSTS,
	PROGRAM_AT = REST_AT + STAGE_SUMS };

static void add_rest(const float *stage, float *rest)
{
#define STAGE(name, sum, cpu, gpu, formula) \
	if (sum) \
		*rest++ += *stage; \
	stage++;
#include "schedule/plan/features.def"
}

void plan_features(const Plan *plan, const Machine *machine,
    const int64_t *values, float *row)
{
	Part parts[PARTS];
	float other[STAGE_COSTS], *at = row;
	int n = parts_by_work(plan, machine, parts);
	memset(row, 0, FEATURES * sizeof *row);
	for (int i = 0; i < n; i++) {
		bool shown = i < STAGES_SHOWN;
		put_part(plan, machine, values, &parts[i], i == 0,
		    shown ? at : other);
		if (!shown)
			add_rest(other, row + REST_AT);
		at += i ? STAGE_COSTS : STAGE_FEATURES;
	}
	at = row + PROGRAM_AT;
#define PROGRAM(name, value, formula) *at++ = (float)(value);
#include "schedule/plan/features.def"
	take_logs(row, FEATURES);
}
