/* How many of a stage's steps change anything (ir/nest/nest_predicate.c), as
 * codegen/lower/lower_predicate.c makes them: loops that run are narrowed to
 * what may count; what is repeated in a body is left out where the loops of the
 * body decide it.
 *
 *     for y in 7 for r in 3 unroll x in 7   1 <= y + r < 8, 1 <= x < 8
 *
 * 19 of 21 bodies, 6 of 7 copies in each.  Forms over different loops are taken
 * as independent, which they mostly are. */
#include <math.h>

#include "schedule/plan/plan.h"

enum { TERMS = PLAN_DEPTH, VISITS = 64, RESIDUES = 64 };

typedef struct {
	int64_t coef, extent;
	int axis;      /* of the path; -1 */
	int64_t below; /* values of the axis that one iteration covers */
} Term;

typedef struct {
	int n;
	Term at[TERMS];
} Terms;

/* A stage with numbers; bits for loops: those with more than one iteration,
 * vectors, those that are repeated in code. */
typedef struct {
	const PlanStage *stage;
	const int64_t *values;
	uint32_t runs, vectors, repeated;
	uint32_t moves[PLAN_CONDITIONS]; /* by form: those that move it */
} Numbers;

static int64_t coef_of(const PlanCondition *z, const int64_t *values, int loop)
{
	return z->coef[loop] == HANDLE_NONE ? 0 : values[z->coef[loop]];
}

static uint32_t movers(const Numbers *w, const PlanCondition *z)
{
	return w->moves[z - w->stage->conditions];
}

static void find_movers(Numbers *w)
{
	for (int i = 0; i < w->stage->nconditions; i++) {
		const PlanCondition *z = &w->stage->conditions[i];
		uint32_t loops = z->movers & w->runs;
		w->moves[i] = 0;
		for (; loops; loops &= loops - 1)
			if (coef_of(z, w->values, __builtin_ctz(loops)))
				w->moves[i] |= loops & -loops;
	}
}

/* Loops that follow each other like digits are one. */
static void add_term(Terms *t, Term x)
{
	Term *last = t->n ? &t->at[t->n - 1] : NULL;
	if (last && last->coef == x.coef * x.extent &&
	    last->axis == x.axis) {
		x.extent *= last->extent;
		*last = x;
	} else {
		t->at[t->n++] = x;
	}
}

/* Do the loops that may move an axis? */
static bool is_moved(const PlanStage *s, const int64_t *values, int axis)
{
	const PlanAxis *a = &s->axes[axis];
	for (int i = 0; i < a->nmovers; i++)
		if (values[a->step[i]] &&
		    values[s->loops[a->mover[i]].extent] > 1)
			return true;
	return false;
}

/* Tiles outside of an axis are not run. */
static void clip(const PlanStage *s, const int64_t *values, Terms *t)
{
	for (int i = 0; i < t->n; i++) {
		Term *x = &t->at[i];
		if (x->axis < 0 || is_moved(s, values, x->axis))
			continue;
		int64_t n = (s->axes[x->axis].length + x->below - 1) / x->below;
		if (n > 0 && n < x->extent)
			x->extent = n;
	}
}

static int64_t floor_of(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

/* How many i < n have rest + coef*i >= 0. */
static int64_t count_one(int64_t rest, int64_t coef, int64_t n)
{
	int64_t k = coef > 0 ? n + floor_of(rest, coef)
			     : floor_of(rest, -coef) + 1;
	return k < 0 ? 0 : k > n ? n : k;
}

/* The part of the terms' values at which constant + form >= 0; the last term is
 * the longest, of the others no more than VISITS values are looked at. */
static double part(const Terms *t, int first, int64_t constant, int64_t visits)
{
	const Term *x = &t->at[first];
	if (first == t->n)
		return constant >= 0;
	if (first == t->n - 1)
		return (double)count_one(constant, x->coef, x->extent) /
		    (double)x->extent;
	int64_t looks = x->extent < visits ? x->extent : visits;
	double sum = 0;
	for (int64_t i = 0; i < looks; i++)
		sum += part(t, first + 1,
		    constant + x->coef * ((2 * i + 1) * x->extent / (2 * looks)),
		    visits / looks);
	return sum / (double)looks;
}

static void longest_last(Terms *t)
{
	for (int i = 0; i + 1 < t->n; i++)
		if (t->at[i].extent > t->at[t->n - 1].extent) {
			Term swap = t->at[i];
			t->at[i] = t->at[t->n - 1];
			t->at[t->n - 1] = swap;
		}
}

/* Is constant + form >= 0 for all of the terms' values? */
static bool is_always(const Terms *t, int64_t constant)
{
	for (int i = 0; i < t->n; i++)
		if (t->at[i].coef < 0)
			constant += t->at[i].coef * (t->at[i].extent - 1);
	return constant >= 0;
}

bool loop_is_split(const PlanStage *s, const int64_t *values, int loop)
{
	const PlanLoop *l = &s->loops[loop];
	int running = 0;
	for (int d = 0; d <= loop; d++)
		running += s->loops[d].axis == l->axis &&
		    values[s->loops[d].extent] > 1;
	return l->peeled && running < 2;
}

/* One whole tile and the rest of the axis, each with its own code: of as many no
 * loop is left. */
static bool is_apart(const PlanStage *s, const int64_t *values, int loop)
{
	const PlanLoop *l = &s->loops[loop];
	const PlanAxis *a = &s->axes[l->axis];
	int64_t below = values[l->below];
	return values[l->extent] >= 2 && axis_mover(a, values) < 0 &&
	    body_tail_whole(a->length - below, below) == 1 &&
	    a->length > below && loop_is_split(s, values, loop);
}

static Numbers numbers_of(const PlanStage *s, const int64_t *values)
{
	Numbers w;
	w.stage = s;
	w.values = values;
	w.vectors = s->vectors;
	w.repeated = loops_in_code(s, values) & ~s->vectors;
	for (uint32_t loops = s->peeled; loops; loops &= loops - 1)
		if (is_apart(s, values, __builtin_ctz(loops)))
			w.repeated |= loops & -loops;
	w.runs = 0;
	for (int d = 0; d < s->nloops; d++)
		w.runs |= (uint32_t)(values[s->loops[d].extent] > 1) << d;
	find_movers(&w);
	return w;
}

static BodyLoop loop_body(const Numbers *w, int loop)
{
	const PlanLoop *l = &w->stage->loops[loop];
	return (BodyLoop){.extent = w->values[l->extent],
	    .reduce = l->reduce,
	    .code = w->repeated >> loop & 1,
	    .vector = w->vectors >> loop & 1};
}

static BodySkip skip_of(const Numbers *w, int loop)
{
	BodyLoop of = loop_body(w, loop);
	int64_t steps = 1;
	for (int d = loop + 1; d < w->stage->nloops && of.code; d++)
		steps = body_steps(steps, loop_body(w, d));
	return body_skip(of, steps);
}

/* Is an iteration of a loop told from the others?  Where loops decide that run
 * (`running`), those that are repeated in code are where the body is `told` by
 * its own conditions, or are tested. */
static bool looked_at(const Numbers *w, int loop, bool running, bool told)
{
	BodySkip skip = skip_of(w, loop);
	if (skip == BODY_SKIP_NONE || (running && told))
		return skip != BODY_SKIP_NONE;
	return running ? skip != BODY_SKIP_COPY : skip != BODY_SKIP_LIMITS;
}

/* The other loops are where the form is greatest. */
static double limit_part(
    const Numbers *w, const PlanCondition *z, bool running, bool told)
{
	const PlanStage *s = w->stage;
	const int64_t *values = w->values;
	int64_t constant = z->constant == HANDLE_NONE ? 0
						       : values[z->constant];
	Terms t;
	t.n = 0;
	for (uint32_t loops = movers(w, z); loops; loops &= loops - 1) {
		int d = __builtin_ctz(loops);
		const PlanLoop *l = &s->loops[d];
		int64_t c = values[z->coef[d]], n = values[l->extent];
		if (looked_at(w, d, running, told))
			add_term(&t,
			    (Term){c, n, l->axis,
				l->axis < 0 ? 1 : values[l->below]});
		else if (c > 0)
			constant += c * (n - 1);
	}
	clip(s, values, &t);
	if (is_always(&t, constant))
		return 1;
	longest_last(&t);
	return part(&t, 0, constant, VISITS);
}

/* The part of the repeated steps whose form the divisor divides. */
static double phase_part(const Numbers *w, const PlanCondition *z)
{
	const PlanStage *s = w->stage;
	const int64_t *values = w->values;
	double now[RESIDUES] = {0}, next[RESIDUES];
	int64_t m = z->divisor;
	if (m > RESIDUES)
		return 1.0 / (double)m;
	int64_t start = z->constant == HANDLE_NONE ? 0 : values[z->constant];
	now[((start % m) + m) % m] = 1;
	for (int d = 0; d < s->nloops; d++) {
		int64_t c = coef_of(z, values, d) % m;
		int64_t n = values[s->loops[d].extent];
		if (!c || n < 2)
			continue;
		for (int64_t r = 0; r < m; r++)
			next[r] = 0;
		for (int64_t i = 0; i < n; i++)
			for (int64_t r = 0; r < m; r++)
				next[(r + (i * c) % m + m) % m] +=
				    now[r] / (double)n;
		for (int64_t r = 0; r < m; r++)
			now[r] = next[r];
	}
	return now[0];
}

/* Only what is repeated in code decides it. */
static bool phase_decided(const Numbers *w, const PlanCondition *z)
{
	for (uint32_t d = movers(w, z) & ~w->repeated; d; d &= d - 1)
		if (w->values[z->coef[__builtin_ctz(d)]] % z->divisor)
			return false;
	return true;
}

/* Does a loop move the form that runs? */
static bool runs(const Numbers *w, const PlanCondition *z)
{
	return movers(w, z) & ~w->vectors & ~w->repeated;
}

/* Is there a loop of the reduction that runs, or is tested: what is inside is
 * narrowed, all of it is tested. */
static bool can_narrow(const Numbers *w)
{
	for (uint32_t loops = w->runs; loops; loops &= loops - 1) {
		int d = __builtin_ctz(loops);
		BodySkip skip = skip_of(w, d);
		if (w->stage->loops[d].reduce && skip != BODY_SKIP_COPY)
			return true;
	}
	return false;
}

/* Do lanes differ in the body's own conditions?  Then all are made. */
static bool differs_by_lane(const Numbers *w)
{
	const PlanStage *s = w->stage;
	for (int i = 0; i < s->nconditions; i++)
		if (s->conditions[i].own &&
		    movers(w, &s->conditions[i]) & w->vectors)
			return true;
	return false;
}

/* Of a condition and its opposite, if there is one: what is outside of the block
 * may be made, whatever the condition. */
static double limits_part(const Numbers *w, const PlanCondition *z,
    bool running, bool told, double outside)
{
	double p = limit_part(w, z, running, told);
	if (z->opposite >= 0)
		p += limit_part(
			 w, &w->stage->conditions[z->opposite], running, told) -
		    1;
	p = p > 0 ? p : 0;
	return told ? p + outside : p;
}

/* Of what does not run: the part of the copies of the body that is made. */
static double copies_of(const Numbers *w, double outside)
{
	const PlanStage *s = w->stage;
	double copies = 1;
	for (int i = 0; i < s->nconditions; i++) {
		const PlanCondition *z = &s->conditions[i];
		if (z->divisor && s->reduce && phase_decided(w, z))
			copies *= phase_part(w, z);
		if (z->divisor || runs(w, z) ||
		    (z->opposite >= 0 && z->opposite < i))
			continue; /* counted with the other */
		copies *= limits_part(w, z, false, false, outside);
	}
	return copies;
}

double stage_copies(const PlanStage *s, const int64_t *values)
{
	if (!s->nconditions)
		return 1;
	Numbers w = numbers_of(s, values);
	return copies_of(&w, 0);
}

StageDensity stage_density(
    const PlanStage *s, const int64_t *values, double padding)
{
	StageDensity density = {.bodies = 1, .copies = 1};
	if (!s->nconditions)
		return density;
	Numbers now = numbers_of(s, values), *w = &now;
	bool lanes = differs_by_lane(w);
	double outside = 1 - 1 / padding;
	density.copies = copies_of(w, outside);
	for (int i = 0; i < s->nconditions; i++) {
		const PlanCondition *z = &s->conditions[i];
		if (z->divisor && s->reduce && !phase_decided(w, z))
			density.open |= z->own, density.bound = true;
		if (z->divisor || !runs(w, z))
			continue;
		if (!z->element && !can_narrow(w)) {
			density.open |= z->own;
			continue;
		}
		if (z->opposite >= 0 && z->opposite < i)
			continue;
		double p = limits_part(w, z, true, false, outside);
		if (z->own && !lanes)
			p = fmin(p, limits_part(w, z, true, true, outside));
		density.bodies *= p;
	}
	return density;
}
