/* What the model says of a stage's body is what lowering makes of it: the operators
 * of workloads/ in their own sizes, random candidates, CPUs and GPUs.  Nothing is
 * compiled or run.
 *
 * A body is what is in one iteration of the innermost loop of a stage that runs as
 * one, of its whole tiles: of several such loops, and of the arms of an `if` in it,
 * that with most operations.  Other loops in it are not of it.  Only bodies that no
 * other stage runs in are compared.  Of a CPU is counted:
 *   - loads, stores: vectors, each as many as instructions of the results' lanes
 *     are; splats: elements that are loaded alone; gathered, scattered: lanes of
 *     what lies anywhere;
 *   - sums: of temporaries that one iteration has from the one before;
 *   - steps: operations that add to these;
 *   - exchanges: shuffles of these behind the loop;
 *   - masked: of stores and scattered, those under a mask of lanes, which whole tiles
 *     have where nothing tells them from the last;
 *   - products: operations that are several steps (dot, mma, wgmma), matrices: loads
 *     of a warp's operands by rows of 16 bytes.
 * Of a GPU's thread loads and stores are elements, and exchanges those of a warp.
 *
 * A quantity agrees where it is the same; the mean ratio of those that differ says
 * how far off they are.  What is not the same, by cause:
 *   - splats, loads of results: what does not move with the loop is loaded before it
 *     (a row's greatest value, a bias), and is an instruction of the model's body;
 *   - loads: of windows with a stride (x[2*i + s]) copies share more, or less;
 *   - splats, gathered: where lanes are of one group (x[o//4, ..]) all read one
 *     element, where the model says that each may read another;
 *   - gathered: machines without gathers load lanes one by one, as splats;
 *   - stores, scattered: rows that are left over by groups of a power of two;
 *   - sums: where phases are apart some of a tile's are not in a loop;
 *   - masked: where a stage is placed in loops that move it by no whole tiles, the end
 *     may be in any vector, or proven to be in none;
 *   - loads of a GPU: windows of neighbours in code are loaded once for all. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <glob.h>

#include "codegen/codegen.h"
#include "ir/spec/spec.h"
#include "schedule/plan/plan.h"
#include "test/common_schedule.h"
#include "test/common_tier.h"

enum { QUICK = 8, LONG = 50 };

typedef enum {
	LOADS,
	STORES,
	SPLATS,
	GATHERED,
	SCATTERED,
	SUMS,
	EXCHANGES,
	STEPS,
	MASKED,
	PRODUCTS,
	MATRICES,
	QUANTITIES
} Quantity;
static const char *const quantities[] = {"loads", "stores", "splats",
    "gathered", "scattered", "sums", "exchanges", "steps", "masked", "products",
    "matrices"};

typedef struct {
	double of[QUANTITIES];
} Counted;

/* At least so many of a hundred are equal: of CPUs, of GPUs. */
static const int least[2][QUANTITIES] = {
    {87, 93, 65, 40, 75, 94, 85, 94, 60, 97, 100},
    {86, 89, 100, 100, 100, 93, 95, 94, 100, 85, 88},
};

typedef struct {
	int there, equal; /* bodies in which one side has some; both as many */
	double logs;      /* of ratios of the others that both have */
	int ratios;
} Tally;

/* --- the lowered form --------------------------------------------------------- */

typedef struct {
	Arena *arena;
	const LowFunction *f;
	const Machine *machine;
	int result_bytes;
	int terms;	   /* steps that are one operation; 1 */
	const bool *reads; /* by buffer: counted */
	const Nest *nest;
	const Stage *stage;
	Counted *counted;
} Walk;

static double instructions_of(const Walk *w, int lanes)
{
	int all = lanes * w->result_bytes, most = w->machine->vector_bytes;
	return most && all > most ? (all + most - 1) / most : 1;
}

static void count_memory(const Walk *w, const LowNode *n)
{
	double *of = w->counted->of;
	bool reads = low_op_reads(n->op);
	int temp = reads ? n->dst : n->arg[0];
	if (n->buffer < 0 || !w->reads[n->buffer] || n->op == LOW_PREFETCH)
		return;
	int lanes = temp < 0 ? 1 : w->f->temps.at[temp].lanes;
	if (n->op == LOW_COPY_ASYNC) {
		of[LOADS] += (double)n->i;
		of[STORES] += (double)n->i;
		return;
	}
	lanes = lanes > w->terms ? lanes / w->terms : 1;
	of[MATRICES] += n->op == LOW_LOAD_MATRIX;
	if (n->op == LOW_STORE_MASKED)
		of[MASKED] += instructions_of(w, lanes);
	if (n->op == LOW_SCATTER && n->arg[2] >= 0)
		of[MASKED] += lanes;
	if (w->machine->gpu)
		of[reads ? LOADS : STORES] += lanes;
	else if (n->op == LOW_GATHER)
		of[GATHERED] += lanes;
	else if (n->op == LOW_SCATTER)
		of[SCATTERED] += lanes;
	else if (reads && lanes == 1)
		of[SPLATS]++;
	else
		of[reads ? LOADS : STORES] += instructions_of(w, lanes);
}

static double operations_of(const LowBody *body)
{
	double n = 0;
	for (int i = 0; i < body->n; i++) {
		const LowNode *x = body->at[i];
		if (x->kind == LOWNODE_IF)
			n += fmax(operations_of(&x->body),
			    operations_of(&x->other));
		n += x->kind == LOWNODE_OP;
	}
	return n;
}

/* A thread loop of the stage that is inside: the plan has none of one thread. */
static bool is_own_thread(const Walk *w, const LowNode *x)
{
	if (x->kind != LOWNODE_LOOP || !loop_is_thread(x->loop))
		return false;
	for (int i = 0; i < w->stage->nloops; i++)
		if (!strcmp(w->f->temps.at[x->var].wish,
			w->nest->vars.at[w->stage->loops[i]].name))
			return true;
	return false;
}

/* What is left of another stage's steps may stand in the loop, too. */
static void count_product(const Walk *w, const LowNode *x)
{
	double *of = w->counted->of;
	if (w->stage->intrinsic < 0)
		return;
	if (x->op == LOW_MMA || x->op == LOW_WGMMA)
		of[PRODUCTS]++;
	else if (x->op == LOW_DOT && !w->machine->gpu)
		of[PRODUCTS] +=
		    instructions_of(w, w->f->temps.at[x->dst].lanes);
}

static void count_body(const Walk *w, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *x = body->at[i];
		if (x->kind == LOWNODE_IF)
			count_body(w,
			    operations_of(&x->body) >= operations_of(&x->other)
				? &x->body
				: &x->other);
		if (is_own_thread(w, x))
			count_body(w, &x->body);
		if (x->kind != LOWNODE_OP)
			continue;
		count_product(w, x);
		if (low_op_has_buffer(x->op) && x->op != LOW_WGMMA)
			count_memory(w, x);
	}
}

/* The loop of that name with most operations. */
static const LowNode *find_loop(
    const LowFunction *f, const LowBody *body, const char *name)
{
	const LowNode *most = NULL;
	for (int i = 0; i < body->n; i++) {
		const LowNode *x = body->at[i];
		bool same = x->kind == LOWNODE_LOOP &&
		    !strcmp(f->temps.at[x->var].wish, name);
		const LowNode *found[3] = {same ? x : NULL,
		    find_loop(f, &x->body, name), find_loop(f, &x->other, name)};
		for (int k = 0; k < 3; k++)
			if (found[k] &&
			    (!most ||
				operations_of(&found[k]->body) >
				    operations_of(&most->body)))
				most = found[k];
	}
	return most;
}

/* Of each quantity the most that a loop of that name has. */
static void count_most(Walk *w, const LowBody *body, const char *name)
{
	Counted *most = w->counted;
	for (int i = 0; i < body->n; i++) {
		const LowNode *x = body->at[i];
		count_most(w, &x->body, name);
		count_most(w, &x->other, name);
		if (x->kind != LOWNODE_LOOP ||
		    strcmp(w->f->temps.at[x->var].wish, name))
			continue;
		Counted one = {{0}};
		w->counted = &one;
		count_body(w, &x->body);
		w->counted = most;
		for (int q = 0; q < QUANTITIES; q++)
			most->of[q] = fmax(most->of[q], one.of[q]);
	}
}

/* Temporaries that a body reads before it assigns them, and others do, too. */
static void find_carried(const LowFunction *f, const LowBody *body,
    const int *assigned, bool *set, bool *carried)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *x = body->at[i];
		if (x->kind == LOWNODE_IF || x->kind == LOWNODE_LOOP) {
			find_carried(f, &x->body, assigned, set, carried);
			find_carried(f, &x->other, assigned, set, carried);
		}
		if (x->kind != LOWNODE_OP || x->dst < 0 || assigned[x->dst] < 2)
			continue;
		for (int k = 0; k < 3; k++)
			if (x->arg[k] == x->dst && !set[x->dst])
				carried[x->dst] = true;
		set[x->dst] = true;
	}
}

/* A buffer of the lowered form is called as the nest's, as an identifier. */
static bool is_called(const char *identifier, const char *name)
{
	for (; *identifier && *name; identifier++, name++)
		if (*identifier != (*name == '~' || *name == '.' ? '_' : *name))
			return false;
	return *identifier == *name;
}

/* What threads leave for each other of the stage's sums. */
static bool is_parts(const Walk *w, const LowNode *x)
{
	if (x->op != LOW_LOAD)
		return false;
	return is_called(w->f->buffers.at[x->buffer].name,
	    arena_printf(w->arena, "%s_parts", w->stage->name));
}

/* Shuffles, or exchanges, of what is made of those, and not added to others. */
static double count_exchanges(
    const Walk *w, const LowBody *body, LowOpcode op, bool *of)
{
	double n = 0;
	for (int i = 0; i < body->n; i++) {
		const LowNode *x = body->at[i];
		n += count_exchanges(w, &x->body, op, of);
		n += count_exchanges(w, &x->other, op, of);
		if (x->kind != LOWNODE_OP || x->dst < 0 ||
		    (low_op_has_buffer(x->op) && !is_parts(w, x)))
			continue;
		bool made = low_op_has_buffer(x->op), adds = false;
		for (int k = 0; k < 3; k++) {
			made |= x->arg[k] >= 0 && of[x->arg[k]];
			adds |= x->arg[k] == x->dst;
		}
		n += made && x->op == op;
		of[x->dst] |= made && !adds;
	}
	return n;
}

/* Are the stage's lanes, or threads, steps of its sums? */
static bool reduces_across(const Walk *w)
{
	for (int i = 0; i < w->stage->nloops; i++) {
		const Var *v = &w->nest->vars.at[w->stage->loops[i]];
		if (v->reduce &&
		    (v->kind == LOOP_VECTOR || loop_is_thread(v->kind)))
			return true;
	}
	return false;
}

/* As count_body: what adds to them in one iteration. */
static double count_steps(
    const Walk *w, const LowBody *body, const bool *carried)
{
	double steps = 0;
	for (int i = 0; i < body->n; i++) {
		const LowNode *x = body->at[i];
		if (x->kind == LOWNODE_IF)
			steps += count_steps(w,
			    operations_of(&x->body) >= operations_of(&x->other)
				? &x->body
				: &x->other,
			    carried);
		if (is_own_thread(w, x))
			steps += count_steps(w, &x->body, carried);
		if (x->kind == LOWNODE_OP && x->dst >= 0 && carried[x->dst])
			steps +=
			    instructions_of(w, w->f->temps.at[x->dst].lanes);
	}
	return steps;
}

static void count_sums(const Walk *w, const LowNode *loop, DType type)
{
	int n = w->f->temps.n;
	int *assigned = NEW_N(w->arena, int, n);
	bool *set = NEW_N(w->arena, bool, n), *carried = NEW_N(w->arena, bool, n);
	bool *steps = NEW_N(w->arena, bool, n);
	low_count_assigned(&w->f->body, assigned);
	find_carried(w->f, &loop->body, assigned, set, carried);
	for (int i = 0; i < n; i++) {
		int lanes = w->f->temps.at[i].lanes;
		carried[i] &= w->f->temps.at[i].type == type;
		steps[i] = carried[i];
		if (carried[i])
			w->counted->of[SUMS] += instructions_of(w, lanes);
		carried[i] &= lanes > 1 || w->machine->gpu;
	}
	w->counted->of[STEPS] = count_steps(w, &loop->body, steps);
	if (reduces_across(w))
		w->counted->of[EXCHANGES] = count_exchanges(w, &w->f->body,
		    w->machine->gpu ? LOW_WARP_XOR : LOW_SHUFFLE, carried);
}

/* --- one body ------------------------------------------------------------------ */

typedef struct {
	Arena *arena;
	const Nest *nest;
	const Machine *machine;
	const Plan *plan;
	const int64_t *values;
	const Lowered *lowered;
	Tally *tallies;
	const char *name;
	int bodies;
} Check;

static const char *loop_name(const Check *c, int var)
{
	const Var *v = &c->nest->vars.at[var];
	return c->nest->vars.at[v->how == VAR_FUSED ? v->fused : var].name;
}

static int64_t iterations_of(const Check *c, const PlanLoop *l)
{
	return l->iterations == HANDLE_NONE ? 1 : c->values[l->iterations];
}

static bool is_repeated(const Check *c, const PlanLoop *l)
{
	int64_t n = iterations_of(c, l);
	return l->kind == LOOP_UNROLL || l->kind == LOOP_VECTOR || n == 1 ||
	    (l->unroll_limit != HANDLE_NONE && n <= c->values[l->unroll_limit]);
}

/* The innermost that runs; -1.  Of a GPU's threads the innermost loop, unless they
 * are in what is repeated. */
static int running_loop(const Check *c, const PlanStage *s)
{
	int thread = -1;
	for (int d = s->nloops - 1; d >= 0; d--) {
		const PlanLoop *l = &s->loops[d];
		if (loop_is_bound(l->kind))
			thread = thread < 0 ? l->var : thread;
		else if (!is_repeated(c, l))
			return thread < 0 ? l->var : thread;
		else if (thread >= 0 && iterations_of(c, l) > 1)
			return -1;
	}
	return thread;
}

static bool is_alone(const Check *c, int stage, int var)
{
	for (int i = 0; i < c->plan->nstages; i++) {
		const PlanStage *s = &c->plan->stages[i];
		int other = i == stage || s->ahead ? -1 : running_loop(c, s);
		if (other >= 0 && loop_name(c, other) == loop_name(c, var))
			return false;
	}
	return true;
}

static const bool *buffers_of(const Check *c, const PlanStage *s)
{
	const LowFunction *f = c->lowered->kernel;
	bool *reads = NEW_N(c->arena, bool, f->buffers.n);
	for (int a = 0; a < s->naccesses; a++) {
		const char *name =
		    c->nest->buffers.at[s->accesses[a].buffer].name;
		for (int i = 0; i < f->buffers.n; i++)
			reads[i] |= is_called(f->buffers.at[i].name, name);
	}
	return reads;
}

static Counted planned(const Check *c, int stage)
{
	BodyCounts n;
	if (c->machine->gpu)
		launch_counts(c->plan, c->machine, c->values, stage, &n);
	else
		stage_counts(
		    &c->plan->stages[stage], c->machine, c->values, &n);
	return (Counted){{n.loads, n.stores, n.splats, n.gathered, n.scattered,
	    n.sums, n.exchanges, n.steps, n.masked, n.products, n.matrices}};
}

/* With VERBOSE=loads: what differs; with LOW=1 too where. */
static void show(
    const Check *c, int stage, Quantity q, double planned, double lowered)
{
	Buf text = {0};
	printf("%s: %s of %s: %g planned, %g lowered\n", c->name, quantities[q],
	    c->nest->stages.at[c->plan->stages[stage].stage].name, planned,
	    lowered);
	if (getenv("LOW")) {
		nest_print(&text, c->nest);
		lowered_print(&text, c->lowered);
		puts(buf_text(&text));
	}
	buf_free(&text);
}

static void compare(Check *c, int stage, const Counted *low)
{
	Counted plan = planned(c, stage);
	const char *verbose = getenv("VERBOSE");
	for (int q = 0; q < QUANTITIES; q++) {
		double p = plan.of[q], l = low->of[q];
		Tally *t = &c->tallies[q];
		if (p == 0 && l == 0)
			continue;
		bool equal = fabs(p - l) < 1e-6 * (p + l);
		t->there++;
		t->equal += equal;
		if (!equal && p > 0 && l > 0) {
			t->logs += log(p / l);
			t->ratios++;
		}
		if (!equal && verbose && strstr(quantities[q], verbose))
			show(c, stage, q, p, l);
	}
}

static void check_stage(Check *c, int stage)
{
	const PlanStage *s = &c->plan->stages[stage];
	int var = s->nloops ? running_loop(c, s) : -1;
	if (var < 0 || !is_alone(c, stage, var))
		return;
	const LowFunction *f = c->lowered->kernel;
	const LowNode *loop = find_loop(f, &f->body, loop_name(c, var));
	if (!loop)
		return;
	Counted counted = {{0}};
	DType type = c->nest->buffers.at[s->accesses[0].buffer].type;
	Walk w = {.arena = c->arena,
	    .f = f,
	    .machine = c->machine,
	    .result_bytes = dtype_bytes(type),
	    .terms =
		s->dot && low_has_op(&loop->body, LOW_DOT) ? s->dot->terms : 1,
	    .reads = buffers_of(c, s),
	    .nest = c->nest,
	    .stage = &c->nest->stages.at[s->stage],
	    .counted = &counted};
	count_body(&w, &loop->body);
	if (c->machine->gpu) /* loads and stores of a fill may be apart */
		count_most(&w, &f->body, loop_name(c, var));
	if (s->reduce)
		count_sums(&w, loop, type);
	compare(c, stage, &counted);
	c->bodies++;
}

static void check_candidate(Check *c, const Program *p, const Trace *trace)
{
	Error error = {0};
	c->nest = schedule_nest(c->arena, p, c->machine, trace, &error);
	c->lowered =
	    c->nest ? lower(c->arena, c->nest, c->machine, &error) : NULL;
	if (!c->lowered) {
		if (error.status != STATUS_UNSUPPORTED)
			fail_msg("%s: %s", c->name, error.text);
		return;
	}
	Plan *plan = plan_record(c->arena, c->nest, c->machine);
	int64_t *values = NEW_N(c->arena, int64_t, tape_size(plan->tape));
	tape_eval(plan->tape, NULL, values);
	c->plan = plan;
	c->values = values;
	for (int i = 0; i < plan->nstages; i++)
		if (!plan->stages[i].ahead)
			check_stage(c, i);
}

/* --- all ------------------------------------------------------------------------ */

typedef VEC(Program *) Programs;

static void load_all(Arena *arena, Programs *all)
{
	glob_t files;
	assert_int_equal(glob("workloads/*.yaml", 0, NULL, &files), 0);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		ProgramVec programs = {0};
		Diag diag = {0};
		Error error = {0};
		if (spec_load(arena, files.gl_pathv[i], NULL, 0,
			NUMERICS_DEFAULT, &diag, &error, &programs))
			fail_msg("%s: %s", files.gl_pathv[i],
			    buf_text(&diag.text));
		for (int k = 0; k < programs.n; k++)
			vec_push(arena, all, programs.at[k]);
		diag_free(&diag);
	}
	globfree(&files);
}

static const char *const targets[] = {"llvm -mcpu=haswell",
    "llvm -mcpu=skylake-avx512", "llvm -mcpu=x86-64", "llvm -mcpu=cortex-a76",
    "cuda -arch=sm_80", "cuda -arch=sm_90a", "opencl -device=nvidia"};
enum { NTARGETS = sizeof targets / sizeof *targets, NCPUS = 4 };

/* Returns how many bodies were compared. */
static int check_program(const Program *p, const char *text, int samples,
    Rng *rng, Tally *tallies)
{
	Arena *arena = arena_new();
	int bodies = 0;
	Error error = {0};
	Candidate candidate;
	const Target *target = target_parse(arena, text, &error);
	assert_non_null(target);
	Space *space = space_new(arena, p, &target->machine, &error);
	assert_non_null(space);
	for (int i = 0; i < samples && space_sample(space, rng, &candidate);
	     i++) {
		Arena *scratch = arena_new();
		Check c = {.arena = scratch,
		    .machine = &target->machine,
		    .tallies = tallies,
		    .name = arena_printf(scratch, "%s:%s, %s", p->name,
			p->case_name, text)};
		check_candidate(
		    &c, p, space_trace(scratch, space, &candidate));
		bodies += c.bodies;
		arena_free(scratch);
	}
	arena_free(arena);
	return bodies;
}

static double share_of(const Tally *t)
{
	return t->there ? 100.0 * t->equal / t->there : 100;
}

static void print_tally(const char *name, const Tally *t)
{
	print_message("#   %-10s %5d %5.1f %%  %.3f\n", name, t->there,
	    share_of(t), t->ratios ? exp(t->logs / t->ratios) : 1);
}

static void add_tally(Tally *sum, const Tally *t)
{
	sum->there += t->there;
	sum->equal += t->equal;
}

static void test_bodies(void **state)
{
	const char *sample = getenv("SAMPLE");
	bool longer = tier_is_long();
	int samples = sample ? atoi(sample) : longer ? LONG : QUICK;
	Arena *arena = arena_new();
	Programs all = {0};
	Tally kinds[2][QUANTITIES] = {{{0}}};
	Rng rng = rng_stream(21, 0, 0);
	(void)state;
	load_all(arena, &all);
	for (int t = 0; t < NTARGETS; t++) {
		Tally one[QUANTITIES] = {{0}};
		int bodies = 0;
		for (int i = longer ? 0 : t % 3; i < all.n; i += longer ? 1 : 3)
			bodies += check_program(
			    all.at[i], targets[t], samples, &rng, one);
		print_message("# %s: %d bodies\n", targets[t], bodies);
		for (int q = 0; q < QUANTITIES; q++) {
			print_tally(quantities[q], &one[q]);
			add_tally(&kinds[t >= NCPUS][q], &one[q]);
		}
	}
	for (int k = 0; k < 2; k++)
		for (int q = 0; q < QUANTITIES; q++)
			if (share_of(&kinds[k][q]) < least[k][q])
				fail_msg("%s of %s: %.1f %% are as planned",
				    quantities[q], k ? "GPUs" : "CPUs",
				    share_of(&kinds[k][q]));
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_bodies)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
