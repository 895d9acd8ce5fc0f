/* What the plan counts is what the interpreter counts while it runs the lowered
 * form, which shares no code with it, on every workload at a small shape, for
 * tiles that are whole, clipped, masked and padded:
 *   - arithmetic of all stages;
 *   - evaluations of each stage that stores, as often as it stores;
 *   - elements of each buffer;
 *   - elements that each access touches in the whole run, and at most in one
 *     iteration of each loop around it; with partial tiles the plan's hull is a
 *     bound. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "schedule/plan/plan.h"
#include "test/common_schedule.h"

/* Of steps that are left out where tiles are partial, too: taken as
 * independent. */
#define NEAR 1.25

enum { CANDIDATES = 300, ARGS_MAX = 8, LOOPS_MAX = 64, BUFFERS_MAX = 16 };

typedef struct {
	const char *argument;
	int n;
	SpecDefine defines[8];
} Shape;

/* What a dimension's steps leave out is in its hull: no dilation. */
static const Shape shapes[] = {
    {"workloads/attention.yaml:", 3, {{"H", "2"}, {"L", "8"}, {"D", "8"}}},
    {"workloads/avg_pool.yaml:", 4,
	{{"C", "4"}, {"H", "6"}, {"W", "6"}, {"K", "3"}}},
    {"workloads/batch_matmul.yaml:", 4,
	{{"B", "2"}, {"N", "12"}, {"M", "16"}, {"K", "9"}}},
    {"workloads/conv2d.yaml:", 4,
	{{"CI", "4"}, {"CO", "16"}, {"H", "8"}, {"W", "8"}}},
    {"workloads/conv2d.yaml:", 5,
	{{"CI", "4"}, {"CO", "16"}, {"H", "8"}, {"W", "8"}, {"pad", "0"}}},
    {"workloads/max_pool.yaml:", 4,
	{{"C", "8"}, {"H", "9"}, {"W", "9"}, {"pad", "0"}}},
    {"workloads/conv2d_transposed.yaml:", 4,
	{{"CI", "4"}, {"CO", "8"}, {"H", "4"}, {"W", "4"}}},
    {"workloads/conv2d_transposed.yaml:", 7,
	{{"CI", "4"}, {"CO", "8"}, {"H", "4"}, {"W", "4"}, {"stride", "3"},
	    {"K", "5"}, {"pad", "3"}}},
    {"workloads/conv2d.yaml:", 6,
	{{"CI", "4"}, {"CO", "16"}, {"H", "7"}, {"W", "7"}, {"R", "7"},
	    {"pad", "3"}}},
    {"workloads/depthwise.yaml:", 3, {{"C", "16"}, {"H", "8"}, {"W", "8"}}},
    {"workloads/dilated.yaml:", 5,
	{{"CI", "4"}, {"CO", "8"}, {"H", "8"}, {"W", "8"},
	    {"dilation", "1"}}},
    {"workloads/elementwise.yaml:", 1, {{"N", "96"}}},
    {"workloads/gemm_gelu.yaml:", 3, {{"M", "6"}, {"N", "24"}, {"K", "8"}}},
    {"workloads/grouped.yaml:", 5,
	{{"CI", "4"}, {"CO", "16"}, {"G", "2"}, {"H", "8"}, {"W", "8"}}},
    {"workloads/layer_norm.yaml:", 2, {{"M", "6"}, {"N", "16"}}},
    {"workloads/matmul.yaml:", 3, {{"M", "12"}, {"N", "32"}, {"K", "9"}}},
    {"workloads/matmul.yaml:", 3, {{"M", "12"}, {"N", "32"}, {"K", "8"}}},
    {"workloads/matmul_bf16.yaml:", 3,
	{{"M", "12"}, {"N", "32"}, {"K", "8"}}},
    {"workloads/matmul_transposed.yaml:", 3,
	{{"M", "12"}, {"N", "32"}, {"K", "8"}}},
    {"workloads/matmul_u8i8.yaml:", 3,
	{{"M", "12"}, {"N", "16"}, {"K", "8"}}},
    {"workloads/max_pool.yaml:", 3, {{"C", "8"}, {"H", "8"}, {"W", "8"}}},
    {"workloads/softmax.yaml:", 2, {{"M", "6"}, {"N", "16"}}},
    {"workloads/sum_all.yaml:", 2, {{"M", "8"}, {"N", "16"}}},
    {"workloads/transpose_batch_matmul.yaml:", 3,
	{{"L", "8"}, {"H", "2"}, {"D", "8"}}},
    {"test/layouts/gram.yaml:", 2, {{"M", "12"}, {"K", "9"}}},
    {"test/layouts/square.yaml:", 1, {{"M", "16"}}},
    {"test/layouts/distances.yaml:", 2, {{"M", "12"}, {"K", "6"}}},
    {"test/layouts/nchw16c.yaml:", 5,
	{{"CB", "2"}, {"H", "5"}, {"W", "6"}, {"OB", "1"}, {"K", "3"}}},
    {"test/layouts/grouped_query.yaml:", 4,
	{{"L", "8"}, {"H", "4"}, {"G", "2"}, {"D", "8"}}},
    {"test/layouts/blocked_in.yaml:", 3,
	{{"M", "16"}, {"N", "32"}, {"K", "16"}}},
};

/* --- the interpreter's counts ------------------------------------------------- */

/* Since the iteration of a loop began, and at most in one. */
typedef struct {
	int64_t *last; /* by element: the iteration that touched it last */
	int64_t now, most;
} Touched;

/* All lowered loops that one loop of the nest became; the first is the run. */
typedef struct {
	const char *name;
	bool open;
	int64_t iteration;
	Touched touched[BUFFERS_MAX][2]; /* loads, stores */
} LoopWatch;

typedef struct {
	Arena *arena;
	const LowFunction *f;
	int n;
	LoopWatch loops[LOOPS_MAX];
	int64_t stores[BUFFERS_MAX]; /* lanes that are off included */
} Counts;

static void count_access(
    void *context, int buffer, int64_t element, bool write)
{
	Counts *c = context;
	c->stores[buffer] += write;
	for (int i = 0; i < c->n && element >= 0; i++) {
		LoopWatch *l = &c->loops[i];
		Touched *t = &l->touched[buffer][write];
		if (!l->open || t->last[element] == l->iteration)
			continue;
		t->last[element] = l->iteration;
		if (++t->now > t->most)
			t->most = t->now;
	}
}

/* A variable of the lowered form is the nest's, '_' and a number. */
static char *loop_name(Arena *arena, const char *variable)
{
	const char *end = strrchr(variable, '_');
	return arena_strndup(arena, variable, (size_t)(end - variable));
}

static LoopWatch *watched_loop(Counts *c, const char *name)
{
	for (int i = 0; i < c->n; i++)
		if (!strcmp(c->loops[i].name, name))
			return &c->loops[i];
	return NULL;
}

static LoopWatch *watch_loop(Counts *c, const char *name)
{
	assert_true(c->n < LOOPS_MAX);
	LoopWatch *l = &c->loops[c->n++];
	*l = (LoopWatch){.name = name};
	for (int b = 0; b < c->f->buffers.n; b++)
		for (int k = 0; k < 2; k++)
			l->touched[b][k].last = NEW_N(c->arena, int64_t,
			    c->f->buffers.at[b].elements);
	return l;
}

static void count_iteration(void *context, int var, bool starts)
{
	Counts *c = context;
	char *name = loop_name(c->arena, c->f->temps.at[var].name);
	LoopWatch *l = watched_loop(c, name);
	if (!l)
		l = watch_loop(c, name);
	l->open = starts;
	l->iteration++;
	for (int b = 0; b < c->f->buffers.n; b++)
		l->touched[b][0].now = l->touched[b][1].now = 0;
}

static void *buffer_of(const Program *p, int i)
{
	int64_t bytes = buffer_bytes(&p->buffers[i]);
	return calloc(1, (size_t)bytes + 64);
}

/* Runs the packs and the kernel in the interpreter. */
static void run(Arena *arena, const Program *p, const Lowered *lowered,
    LowRun *stats, Counts *counts)
{
	void *args[ARGS_MAX], *source;
	int n = 0, pack = 0;
	LowWatch watch = {counts, count_access, count_iteration, NULL};
	*counts = (Counts){.arena = arena, .f = lowered->kernel};
	LoopWatch *whole = watch_loop(counts, "");
	whole->iteration = 1;
	whole->open = true;
	for (int i = 0; i < p->ninputs; i++) {
		args[n] = source = buffer_of(p, i);
		if (p->buffers[i].is_const) {
			LowRun packing = {0};
			void *two[2] = {source,
			    aligned_alloc(64,
				(size_t)lowered->packed_bytes[pack])};
			if (!low_function_run(
				lowered->packs.at[pack++], two, &packing))
				fail_msg("%s", packing.message);
			free(source);
			args[n] = two[1];
		}
		n++;
	}
	for (int i = 0; i < p->noutputs; i++)
		args[n++] = buffer_of(p, p->outputs[i]);
	args[n++] = aligned_alloc(64, (size_t)lowered->workspace_bytes + 64);
	stats->watch = &watch;
	if (!low_function_run(lowered->kernel, args, stats))
		fail_msg("%s", stats->message);
	while (n)
		free(args[--n]);
}

/* --- against the plan --------------------------------------------------------- */

typedef struct {
	const char *symbol;
	const Nest *nest;
	const Plan *plan;
	const int64_t *values;
	StageCost *costs;
	const Lowered *lowered;
	const LowRun *stats;
	Counts *counts;
	int stores, touched; /* compared */
} Check;

static void compare(const Check *c, const char *what, const char *name,
    double planned, double counted, bool bound)
{
	Buf text = {0};
	planned = round(planned); /* of means over starts */
	if (bound ? planned >= counted : planned == counted)
		return;
	nest_print(&text, c->nest);
	fail_msg("%s: %s of %s: %.0f planned, %.0f counted\n%s", c->symbol,
	    what, name, planned, counted, buf_text(&text));
}

static bool leaves_block(const Stage *s)
{
	for (int a = 0; a < s->naxes; a++)
		if (s->axes[a].below || s->axes[a].above)
			return true;
	return false;
}

static bool is_partial(const Stage *s)
{
	return !s->fill && leaves_block(s);
}

/* A function is a polynomial in the lowered form, and a comparison is not
 * counted there. */
static bool is_not_arithmetic(Expr *e, void *found)
{
	*(bool *)found |= e->type != DT_INDEX && e->op >= OP_CLAMP &&
	    e->op != OP_ABS;
	return !*(bool *)found;
}

static bool skips_steps(const Check *c, int stage)
{
	return nest_step_conditions(c->nest, c->nest->arena, stage, true).n > 0;
}

/* The body's own conditions are branches around a step, too. */
static bool branches(const PlanStage *s)
{
	for (int i = 0; i < s->nconditions; i++)
		if (s->conditions[i].own)
			return true;
	return s->branches > 0;
}

/* A phase and a limit of one index are taken as independent: near. */
static bool has_phase_and_limit(const PlanStage *s)
{
	bool phase = false, limit = false;
	for (int i = 0; i < s->nconditions; i++) {
		phase |= s->conditions[i].divisor > 0;
		limit |= s->conditions[i].divisor == 0;
	}
	return phase && limit;
}

/* Lanes that are known to be off are not computed, nor is a step that a
 * condition makes none. */
static void check_flops(const Check *c)
{
	double sum = 0;
	bool bound = false, functions = false, near = false;
	for (int i = 0; i < c->plan->nstages; i++) {
		const PlanStage *s = &c->plan->stages[i];
		const Stage *stage = &c->nest->stages.at[s->stage];
		if (!s->ahead)
			sum += c->costs[i].trips[s->nloops] * s->flops *
				c->costs[i].density +
			    c->costs[i].results *
				fmax(c->costs[i].partials - 1, 0);
		near |= skips_steps(c, s->stage) &&
		    (is_partial(stage) || has_phase_and_limit(s));
		StageDensity density = stage_density(s, c->values, 1);
		if (stage_copies(s, c->values) != density.copies)
			fail_msg("%s: %g copies, not %g", stage->name,
			    stage_copies(s, c->values), density.copies);
		bound |= s->reduce &&
		    (branches(s) || density.bound ||
			(is_partial(stage) && s->tail.style != TAIL_PAD));
		expr_walk(stage->body, is_not_arithmetic, &functions);
	}
	if (!functions)
		compare(c, "operations", "all", near ? sum * NEAR : sum,
		    (double)c->stats->flops, bound || near);
}

static int lowered_buffer(const Check *c, int buffer)
{
	const LowFunction *f = c->lowered->kernel;
	for (int i = 0; i < f->buffers.n; i++)
		if (!strcmp(f->buffers.at[i].name,
			c->nest->buffers.at[buffer].name))
			return i;
	return -1;
}

static void check_buffers(const Check *c)
{
	for (int b = 0; b < c->nest->buffers.n; b++) {
		int i = lowered_buffer(c, b);
		const NestBuffer *buffer = &c->nest->buffers.at[b];
		if (i < 0)
			continue;
		compare(c, "elements", buffer->name,
		    (double)tape_value(c->nest->tape, buffer->elements),
		    (double)c->lowered->kernel->buffers.at[i].elements, false);
	}
}

static bool is_quotient(Expr *e, void *found)
{
	*(bool *)found |= e->op == OP_FLOORDIV || e->op == OP_MOD;
	return !*(bool *)found;
}

/* Ends in front of the block are not counted, nor starts that are not affine. */
static bool starts_regularly(const Stage *s)
{
	bool quotient = false;
	for (int a = 0; a < s->naxes; a++) {
		if (s->axes[a].below)
			return false;
		if (s->axes[a].start && s->axes[a].above)
			expr_walk(s->axes[a].start, is_quotient, &quotient);
	}
	return !quotient;
}

static void check_stores(Check *c, int stage)
{
	const PlanStage *s = &c->plan->stages[stage];
	int i = lowered_buffer(c, s->accesses[0].buffer);
	if (i < 0 || s->reduce || s->accesses[0].scope == SCOPE_REG ||
	    !starts_regularly(&c->nest->stages.at[s->stage]))
		return;
	compare(c, "stores", c->counts->f->buffers.at[i].name,
	    c->costs[stage].trips[s->nloops], (double)c->counts->stores[i],
	    false);
	c->stores++;
}

/* Is this the only access of the kernel that loads, or stores, the buffer? */
static bool is_alone(const Check *c, const PlanAccess *access)
{
	int n = 0;
	for (int i = 0; i < c->plan->nstages; i++) {
		const PlanStage *s = &c->plan->stages[i];
		for (int k = 0; k < s->naccesses && !s->ahead; k++)
			n += s->accesses[k].buffer == access->buffer &&
			    (s->accesses[k].write == access->write ||
				(s->reduce && !access->write));
	}
	return n == 1;
}

/* What ran for a loop of the plan; NULL: nothing by that name, or a part of a
 * fused loop that is not its innermost. */
static LoopWatch *loop_that_ran(const Check *c, const PlanStage *s, int d)
{
	if (d == 0)
		return &c->counts->loops[0];
	const Var *v = &c->nest->vars.at[s->loops[d - 1].var];
	if (v->how == VAR_FUSED) {
		const Var *fused = &c->nest->vars.at[v->fused];
		if (fused->parts[fused->nparts - 1] != s->loops[d - 1].var)
			return NULL;
		v = fused;
	}
	char name[128];
	snprintf(name, sizeof name, "%s", v->name);
	for (char *p = name; *p; p++)
		if (*p == '.')
			*p = '_';
	return watched_loop(c->counts, name);
}

/* Is every tile around a stage's body whole? */
static bool is_whole(const Check *c, const PlanStage *s)
{
	const Stage *own = &c->nest->stages.at[s->stage];
	if (is_partial(own) && own->tail != TAIL_PAD)
		return false;
	for (int l = 0; l < s->nloops; l++) {
		const Stage *owner = &c->nest->stages.at[c->nest->vars
			.at[s->loops[l].var].stage];
		if (is_partial(owner) && owner->tail != TAIL_PAD)
			return false;
	}
	return true;
}

/* Whole vectors are loaded where the buffer goes on behind the row. */
static bool has_lanes_off(const Check *c, const PlanStage *s)
{
	bool lanes = false;
	for (int l = 0; l < s->nloops; l++)
		lanes |= s->loops[l].kind == LOOP_VECTOR;
	return lanes && leaves_block(&c->nest->stages.at[s->stage]);
}

/* What lies between lanes that are apart is loaded with them. */
static bool has_lanes_apart(
    const Check *c, const PlanStage *s, const PlanAccess *a)
{
	int last = a->ndim - 1;
	for (int l = 0; l < s->nloops; l++)
		if (s->loops[l].kind == LOOP_VECTOR &&
		    access_moves(a, c->values, l) &&
		    !(a->dims[l] >> last & 1 &&
			c->values[a->coef[l][last]] == 1))
			return true;
	return false;
}

/* The hull of // or % is a bound, and so is that of partial tiles.
 * What does not move along a loop is loaded before it.  Sums are in temporaries
 * within a reduction.  What is read under a condition, or where lanes are off,
 * is read somewhere else. */
static void check_touched(Check *c, const PlanStage *s, const PlanAccess *a)
{
	double elements[PLAN_DEPTH + 1];
	bool whole = is_whole(c, s) && !skips_steps(c, s->stage);
	bool quotient = false;
	int buffer = lowered_buffer(c, a->buffer);
	if (buffer < 0 || a->scope == SCOPE_REG || !is_alone(c, a) ||
	    (!a->write &&
		(s->branches || (s->reduce && !whole) || has_lanes_off(c, s) ||
		    has_lanes_apart(c, s, a))))
		return;
	expr_walk(c->nest->stages.at[s->stage].body, is_quotient, &quotient);
	access_elements(s, a, c->values, elements);
	for (int d = 0; d <= s->nloops; d++) {
		const LoopWatch *l = loop_that_ran(c, s, d);
		if (!l || (d && !access_moves(a, c->values, d - 1)) ||
		    (s->reduce && a->write && d > s->own))
			continue;
		char what[160];
		snprintf(what, sizeof what, "elements %s in '%s'",
		    a->write ? "stored" : "loaded", l->name);
		compare(c, what, c->counts->f->buffers.at[buffer].name,
		    elements[d],
		    (double)l->touched[buffer][a->write].most,
		    !whole || quotient);
		c->touched += whole && !quotient;
	}
}

static void check_plan(Check *c)
{
	check_flops(c);
	check_buffers(c);
	for (int i = 0; i < c->plan->nstages; i++) {
		const PlanStage *s = &c->plan->stages[i];
		if (s->ahead)
			continue;
		check_stores(c, i);
		for (int a = 0; a < s->naccesses; a++)
			check_touched(c, s, &s->accesses[a]);
	}
}

static void check_candidate(
    const Program *p, const Trace *trace, int *stores, int *touched)
{
	Arena *arena = arena_new();
	Error error = {0};
	LowRun stats = {0};
	Counts *counts = NEW(arena, Counts);
	Nest *nest = schedule_nest(arena, p, &test_machine, trace, &error);
	if (!nest)
		fail_msg("%s", error.text);
	Lowered *lowered = lower(arena, nest, &test_machine, &error);
	if (!lowered && strstr(error.text, "more than")) { /* too much code */
		arena_free(arena);
		return;
	}
	if (!lowered)
		fail_msg("%s", error.text);
	run(arena, p, lowered, &stats, counts);
	Plan *plan = plan_record(arena, nest, &test_machine);
	int64_t *values = NEW_N(arena, int64_t, tape_size(plan->tape));
	StageCost *costs = NEW_N(arena, StageCost, plan->nstages);
	tape_eval(plan->tape, NULL, values);
	for (int i = 0; i < plan->nstages; i++)
		stage_cost(&plan->stages[i], &test_machine, values, &costs[i]);
	Check check = {.symbol = p->symbol,
	    .nest = nest,
	    .plan = plan,
	    .values = values,
	    .costs = costs,
	    .lowered = lowered,
	    .stats = &stats,
	    .counts = counts};
	check_plan(&check);
	*stores += check.stores;
	*touched += check.touched;
	arena_free(arena);
}

static void check_shape(const Shape *shape)
{
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	int stores = 0, touched = 0;
	if (spec_load(arena, shape->argument, shape->defines, shape->n,
		NUMERICS_DEFAULT, &diag, &error, &programs))
		fail_msg("%s%s", buf_text(&diag.text), error.text);
	const Program *p = programs.at[0];
	Space *space = space_new(arena, p, &test_machine, &error);
	if (!space)
		fail_msg("%s", error.text);
	Rng rng = rng_stream(7, 0, 0);
	for (int i = 0; i < CANDIDATES; i++) {
		Candidate c;
		if (space_sample(space, &rng, &c))
			check_candidate(p, space_trace(arena, space, &c),
			    &stores, &touched);
	}
	print_message("# %s: %d stages, %d accesses exact\n", p->symbol,
	    stores, touched);
	assert_true(touched > 0);
	diag_free(&diag);
	arena_free(arena);
}

static void test_workloads(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
		check_shape(&shapes[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_workloads)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
