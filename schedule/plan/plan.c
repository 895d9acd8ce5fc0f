/* Nest -> plan: for each stage that runs, the loops around its body and what
 * each of its accesses does along each of them. */
#include "schedule/plan/plan.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "ir/costs.h"
#include "ir/summary.h"
#include "lib/hash.h"

enum { FEW = 8 }; /* neighbours that are one element */

typedef struct {
	Arena *arena;
	const Nest *nest;
	const MachineCosts *costs;
	Tape *tape;
	PlanStage *stage;
	/* where variable v stands on the path; -1: not on it */
	int *position;
	int *path, *owners; /* record_path's: as long */
	int *latest;  /* the plan's last stage whose outermost loop is v; -1 */
	int *earlier; /* by stage of the plan: the one before in that loop */
	PlanAccess *accesses; /* of the stage so far, up to PLAN_ACCESSES */
	Expr *const *index[PLAN_ACCESSES]; /* theirs */
	int64_t low[PLAN_ACCESSES][PLAN_DIMS]; /* of those like it, from it */
	PlanAccess *access; /* that is recorded; NULL */
	struct {
		int var, part, loop;
		Handle of_var, of_part; /* what a step of the loop is of each */
	} digits[PLAN_DEPTH]; /* of the stage's loops that have parts */
	int ndigits;
	ExprVec own;	   /* nest_step_conditions of the stage's body; */
	int settled;	   /* so many of them are asked of no step */
	Expr **scattered;  /* by axis of the stage: of whose loop data says the
			      iteration, which one; NULL */
} Recorder;

/* Index coefficients along the path; HANDLE_NONE is 0. */
typedef struct {
	Handle of[PLAN_DEPTH];
} Coefs;

static Coefs coefs_none(void)
{
	Coefs c;
	for (int i = 0; i < PLAN_DEPTH; i++)
		c.of[i] = HANDLE_NONE;
	return c;
}

static Handle handle_abs(Tape *tape, Handle h)
{
	int64_t value;
	if (tape_is_const(tape, h, &value) && value < 0)
		return tape_const(tape, -value);
	return h;
}

static void coefs_add(Recorder *r, Coefs *sum, const Coefs *c, Handle times)
{
	for (int l = 0; l < r->stage->nloops; l++) {
		if (c->of[l] == HANDLE_NONE)
			continue;
		Handle h = tape_mul(r->tape, c->of[l], times);
		sum->of[l] = sum->of[l] == HANDLE_NONE
		    ? h
		    : tape_add(r->tape, sum->of[l], h);
	}
}

static void coefs_put(Recorder *r, int loop, Handle times, Coefs *sum)
{
	assert(loop >= 0 && loop < r->stage->nloops);
	Handle *h = &sum->of[loop];
	*h = *h == HANDLE_NONE ? times : tape_add(r->tape, *h, times);
}

/* Of a fused loop that was split, a part along the digits of its pieces, or a
 * piece along its own. */
static bool coefs_of_digits(Recorder *r, int var, Handle times, Coefs *sum)
{
	bool found = false;
	for (int i = 0; i < r->ndigits; i++) {
		bool part = r->digits[i].part == var;
		if (!part && r->digits[i].var != var)
			continue;
		Handle step = part ? r->digits[i].of_part : r->digits[i].of_var;
		coefs_put(r, r->digits[i].loop,
		    tape_mul(r->tape, times, step), sum);
		found = true;
	}
	return found;
}

/* A variable's value along the loops it was made into. */
static void coefs_of_var(Recorder *r, int var, Handle times, Coefs *sum)
{
	const Var *v = &r->nest->vars.at[var];
	if (r->ndigits && coefs_of_digits(r, var, times, sum))
		return;
	if (v->how == VAR_SPLIT) {
		for (int i = v->nchild - 1; i >= 0; i--) {
			coefs_of_var(r, v->child[i], times, sum);
			times = tape_mul(r->tape, times,
			    r->nest->vars.at[v->child[i]].extent);
		}
		return;
	}
	if (r->position[var] >= 0)
		coefs_put(r, r->position[var], times, sum);
}

/* The part of a fused loop that (loop // div) % extent is. */
static int fused_part(const Recorder *r, int loop, Handle div)
{
	const Var *f = &r->nest->vars.at[loop];
	for (int i = 0; i < f->nparts; i++)
		if (r->nest->vars.at[f->parts[i]].div == div)
			return f->parts[i];
	return -1;
}

static Handle constant_of(Recorder *r, const Expr *e)
{
	if (e->op == OP_TAPE)
		return e->id;
	if (e->op == OP_INT)
		return tape_const(r->tape, e->i);
	return HANDLE_NONE;
}

static Coefs coefs_of(Recorder *r, const Expr *e);

static Coefs coefs_of_axis(Recorder *r, int axis)
{
	const Stage *s = &r->nest->stages.at[r->stage->stage];
	const StageAxis *a = &s->axes[axis];
	Coefs c = coefs_none();
	if (r->scattered[axis])
		return coefs_of(r, r->scattered[axis]);
	coefs_of_var(r, a->var, tape_const(r->tape, 1), &c);
	if (a->start) {
		Coefs start = coefs_of(r, a->start);
		coefs_add(r, &c, &start, tape_const(r->tape, 1));
	}
	return c;
}

/* `a` where `which` is 1, `b` where it is 0. */
static Handle choose(Tape *tape, Handle which, Handle a, Handle b)
{
	return tape_add(
	    tape, b, tape_mul(tape, which, tape_sub(tape, a, b)));
}

static void add_across(Recorder *r, int loop, Handle across)
{
	Handle *h = &r->access->across[loop];
	int64_t value;
	if (tape_is_const(r->tape, across, &value) && !value)
		return;
	*h = *h == HANDLE_NONE ? across : tape_max(r->tape, *h, across);
}

/* A few neighbours along the loop read the same: i//2. */
static void note_repeated(
    Recorder *r, const Expr *e, int loop, Handle step, Handle by)
{
	int64_t apart, few;
	if (e->op == OP_FLOORDIV && tape_is_const(r->tape, by, &few) &&
	    tape_is_const(r->tape, step, &apart) && apart < few && few <= FEW)
		r->access->repeated |= 1u << loop;
}

/* e // c and e % c.  A loop whose step c divides moves the quotient only, by
 * that; if the others together stay below c, they move the rest only.  Else
 * they move the quotient by at most ceildiv(step, c). */
static Coefs coefs_of_digit(Recorder *r, const Expr *e)
{
	Tape *tape = r->tape;
	Coefs sum = coefs_none(), c = coefs_of(r, e->arg[0]);
	Handle by = constant_of(r, e->arg[1]), whole[PLAN_DEPTH];
	Handle zero = tape_const(tape, 0), one = tape_const(tape, 1);
	Handle rest = zero;
	assert(by != HANDLE_NONE);
	for (int l = 0; l < r->stage->nloops; l++) {
		Handle extent = r->stage->loops[l].extent;
		if (c.of[l] == HANDLE_NONE)
			continue;
		whole[l] = tape_equal(tape, tape_mod(tape, c.of[l], by), zero);
		rest = tape_add(tape, rest,
		    choose(tape, whole[l], zero,
			tape_mul(tape, c.of[l], tape_sub(tape, extent, one))));
		if (!r->access)
			continue;
		add_across(r, l, tape_sub(tape, one, whole[l]));
		note_repeated(r, e, l, c.of[l], by);
	}
	Handle within = tape_at_most(tape, tape_add(tape, rest, one), by);
	for (int l = 0; l < r->stage->nloops; l++) {
		if (c.of[l] == HANDLE_NONE)
			continue;
		Handle most = tape_ceildiv(tape, c.of[l], by);
		Handle h = e->op == OP_MOD
		    ? choose(tape, whole[l], zero, c.of[l])
		    : choose(tape, whole[l], most,
			  choose(tape, within, zero, most));
		if (h != zero)
			sum.of[l] = h;
	}
	return sum;
}

/* A term that is not affine moves by no more than its parts.  No loop of a
 * reduction is cut where it is clamped: its lanes may lie anywhere. */
static Coefs coefs_of_term(Recorder *r, const Expr *e)
{
	Coefs sum = coefs_none();
	if (e->op == OP_AXIS)
		return coefs_of_axis(r, e->id);
	if (e->op == OP_VAR) {
		coefs_of_var(r, e->id, tape_const(r->tape, 1), &sum);
		return sum;
	}
	const Expr *inner = e->op == OP_MOD ? e->arg[0] : e;
	Handle div = tape_const(r->tape, 1);
	if (inner->op == OP_FLOORDIV) {
		div = constant_of(r, inner->arg[1]);
		inner = inner->arg[0];
	}
	if (inner->op == OP_VAR && r->nest->vars.at[inner->id].nparts) {
		int part = fused_part(r, inner->id, div);
		if (part >= 0)
			coefs_of_var(r, part, tape_const(r->tape, 1), &sum);
		return sum;
	}
	if (e->op == OP_FLOORDIV || e->op == OP_MOD)
		return coefs_of_digit(r, e);
	bool bends = r->access &&
	    r->nest->stages.at[r->stage->stage].reduce != REDUCE_NONE;
	for (int i = 0; i < e->narg; i++) {
		Coefs c = coefs_of(r, e->arg[i]);
		for (int l = 0; l < r->stage->nloops; l++) {
			Handle h = c.of[l];
			if (h == HANDLE_NONE)
				continue;
			if (bends)
				add_across(r, l, tape_const(r->tape, 1));
			sum.of[l] = sum.of[l] == HANDLE_NONE
			    ? h
			    : tape_max(r->tape, sum.of[l], h);
		}
	}
	return sum;
}

static Coefs coefs_of(Recorder *r, const Expr *e)
{
	Coefs sum = coefs_none();
	Affine a = affine_of(r->arena, r->tape, e);
	for (int i = 0; i < a.n; i++) {
		Coefs c = coefs_of_term(r, a.terms[i].term);
		coefs_add(r, &sum, &c,
		    handle_abs(r->tape, a.terms[i].coefficient));
	}
	return sum;
}

/* Loops along which an index moves by data, which takes it anywhere. */
static uint32_t data_movers(Recorder *r, const Expr *index)
{
	uint32_t movers = 0;
	if (!expr_has_data(index))
		return 0;
	Affine a = affine_of(r->arena, r->tape, index);
	for (int i = 0; i < a.n; i++) {
		if (!expr_has_data(a.terms[i].term))
			continue;
		Coefs c = coefs_of_term(r, a.terms[i].term);
		for (int l = 0; l < r->stage->nloops; l++)
			if (c.of[l] != HANDLE_NONE)
				movers |= 1u << l;
	}
	return movers;
}

/* How many of the loops around the stage are around the buffer, too: it holds
 * what one iteration of them needs. */
static int loops_above(const Recorder *r, const NestBuffer *b)
{
	if (b->alloc < 0)
		return 0;
	const Var *v = &r->nest->vars.at[b->alloc];
	int last = v->nparts ? v->parts[v->nparts - 1] : b->alloc;
	assert(r->position[last] < r->stage->nloops);
	return r->position[last] + 1;
}

/* Loops around a buffer move where it starts, and with it the index: but for
 * what its start does not follow, since its region is wider. */
static void leave_to_start(
    Recorder *r, Coefs *c, const Expr *start, int above)
{
	Tape *tape = r->tape;
	Handle zero = tape_const(tape, 0);
	Coefs s = start ? coefs_of(r, start) : coefs_none();
	for (int l = 0; l < above; l++) {
		if (c->of[l] == HANDLE_NONE || s.of[l] == HANDLE_NONE)
			continue;
		c->of[l] = choose(tape, tape_equal(tape, s.of[l], zero),
		    c->of[l], zero);
		if (c->of[l] == zero)
			c->of[l] = HANDLE_NONE;
	}
}

static bool moves_like(const PlanAccess *a, const PlanAccess *b)
{
	return a->buffer == b->buffer && !a->write && !b->write &&
	    !a->by_data && !b->by_data &&
	    !memcmp(a->coef, b->coef, sizeof a->coef);
}

/* What differs in more than a constant is taken as the next. */
static int64_t distance(Recorder *r, Expr *from, Expr *to)
{
	int64_t apart = 1;
	Affine a = affine_of(
	    r->arena, r->tape, expr_binary(r->arena, OP_SUB, to, from));
	if (!a.n)
		tape_is_const(r->tape, a.constant, &apart);
	return apart;
}

/* Puts an access to the first one that moves as it does. */
static void record_like(Recorder *r, int number)
{
	PlanAccess *a = &r->stage->accesses[number], *first;
	int i = 0;
	while (i < number && !moves_like(&r->stage->accesses[i], a))
		i++;
	first = &r->stage->accesses[i];
	a->like = i;
	first->likes++;
	for (int d = 0; d < a->ndim && i < number; d++) {
		int64_t *low = &r->low[i][d], high = *low + first->reach[d];
		int64_t at = distance(r, r->index[i][d], r->index[number][d]);
		high = at > high ? at : high;
		*low = at < *low ? at : *low;
		first->reach[d] = high - *low;
	}
}

/* An index is of data where an axis is that data says. */
static Expr *const *scattered_index(Recorder *r, Expr *const *index, int n)
{
	int naxes = r->nest->stages.at[r->stage->stage].naxes;
	Expr **all = NEW_N(r->arena, Expr *, n);
	for (int i = 0; i < n; i++)
		all[i] = expr_substitute_axes(
		    r->arena, index[i], r->scattered, naxes);
	return all;
}

static void record_access(Recorder *r, int buffer, Expr *const *index,
    int nindex, bool write)
{
	PlanStage *s = r->stage;
	const NestBuffer *b = &r->nest->buffers.at[buffer];
	assert(nindex == b->ndim);
	if (s->naccesses == PLAN_ACCESSES)
		return;
	if (r->settled)
		index = scattered_index(r, index, nindex);
	Expr *const *along = nest_along_rows(r->arena, r->nest, buffer, index);
	PlanAccess *a = &s->accesses[s->naccesses++];
	int above = loops_above(r, b);
	Handle one = tape_const(r->tape, 1), rows = HANDLE_NONE;
	*a = (PlanAccess){.buffer = buffer,
	    .write = write,
	    .scope = b->scope,
	    .bytes = dtype_bytes(b->type),
	    .ndim = nindex < PLAN_DIMS ? nindex : PLAN_DIMS,
	    .elements = b->scope == SCOPE_SHARED ? b->elements : HANDLE_NONE,
	    .swizzle = b->swizzle,
	    .slots = b->slots};
	for (int l = 0; l < PLAN_DEPTH; l++) {
		a->across[l] = HANDLE_NONE;
		for (int d = 0; d < PLAN_DIMS; d++)
			a->coef[l][d] = HANDLE_NONE;
	}
	for (int d = 0; d < a->ndim; d++) {
		r->access = a;
		Coefs c = coefs_of(r, along[d]);
		r->access = NULL;
		if (above)
			leave_to_start(r, &c, b->start[d], above);
		for (int l = 0; l < PLAN_DEPTH; l++) {
			Handle h = c.of[l];
			a->coef[l][d] = h;
			if (h == HANDLE_NONE)
				continue;
			a->dims[l] |= (uint8_t)(1u << d);
			if (tape_known_nonnegative(
				r->tape, tape_sub(r->tape, h, one)))
				a->movers |= 1u << l;
			else
				a->doubtful |= 1u << l;
		}
		bool joined = along[d] != index[d] && along[d]->op == OP_INT;
		Handle held = rows == HANDLE_NONE
		    ? b->extent[d] : tape_mul(r->tape, rows, b->extent[d]);
		a->held[d] = joined ? one : held;
		rows = joined ? held : HANDLE_NONE;
		a->by_data |= data_movers(r, along[d]);
	}
	a->doubtful &= ~a->movers;
	for (int p = 0; p < b->nparts && a->nparts < PLAN_PARTS; p++) {
		const LayoutPart *part = &b->parts[p];
		if (part->dim >= a->ndim)
			continue;
		a->parts_of[part->dim] |= (uint16_t)(1u << a->nparts);
		a->parts[a->nparts].dim = part->dim;
		a->parts[a->nparts].div = part->div;
		a->parts[a->nparts].mod = part->mod;
		a->parts[a->nparts++].stride = part->stride;
	}
	int number = s->naccesses - 1;
	r->index[number] = along;
	memset(r->low[number], 0, sizeof r->low[number]);
	record_like(r, number);
}

static bool same_access(const Expr *a, const Expr *b)
{
	return a->id == b->id && expr_equal(a, b);
}

typedef struct {
	Recorder *r;
	int stage; /* whose body it is */
	Expr *seen[PLAN_ACCESSES];
	int nseen;
	Summaries *known;	    /* of what is walked */
	VEC(const Expr *) computed; /* values so far, each once */
	uint32_t *movers; /* by axis: loops that move it */
	uint32_t chosen;  /* loops in code that say which row it is */
	uint32_t lanes;   /* loops that are vectors */
	const Expr *widened; /* a value that a wider type is made of */
	double part;      /* of the evaluations that compute what is walked */
	double flops, branches;
} BodyWalk;

static uint32_t movers_of(const BodyWalk *w, const Expr *e)
{
	const AxisSet *axes = summary_of(w->known, e)->axes;
	uint32_t movers = 0;
	for (int i = 0; i < axes->n; i++)
		movers |= w->movers[axes->axis[i]];
	return movers;
}

static bool is_special(Op op)
{
	return op == OP_DIV || op == OP_SQRT || op == OP_RSQRT;
}

static PlanWork *add_work(PlanStage *s, uint32_t movers, double weight)
{
	int i = 0;
	while (i < s->nworks && s->works[i].movers != movers)
		i++;
	if (i == PLAN_WORKS) { /* with those that move most */
		s->works[--i].movers |= movers;
	} else if (i == s->nworks) {
		s->works[s->nworks++] = (PlanWork){.movers = movers};
	}
	s->works[i].weight += weight;
	return &s->works[i];
}

/* Lanes read what is computed once for all of them; a load of that fills them. */
static void add_splats(BodyWalk *w, const Expr *e)
{
	PlanStage *s = w->r->stage;
	for (int i = 0; i < e->narg; i++) {
		uint32_t movers = movers_of(w, e->arg[i]) & ~w->chosen;
		if (op_flops(e->arg[i]->op) && movers &&
		    !(movers & w->lanes) && movers_of(w, e) & w->lanes)
			add_work(s, movers, 0)->splats += w->part;
	}
}

static void find_movers(BodyWalk *w, const Stage *stage)
{
	w->movers = NEW_N(w->r->arena, uint32_t, stage->naxes);
	for (int a = 0; a < stage->naxes; a++) {
		Coefs c = coefs_of_axis(w->r, a);
		for (int l = 0; l < w->r->stage->nloops; l++)
			if (c.of[l] != HANDLE_NONE)
				w->movers[a] |= 1u << l;
	}
	for (int l = 0; l < w->r->stage->nloops; l++)
		if (w->r->stage->loops[l].kind == LOOP_VECTOR)
			w->lanes |= 1u << l;
}

enum { COMPUTED_MOST = 24 };

/* Equal values are computed once; of a long body, those of its beginning. */
static bool is_computed(BodyWalk *w, const Expr *e)
{
	for (int i = 0; i < w->computed.n; i++)
		if (summary_equal(w->known, w->computed.at[i], e))
			return true;
	if (w->computed.n < COMPUTED_MOST)
		vec_push(w->r->arena, &w->computed, e);
	return false;
}

static void visit_index(BodyWalk *w, Expr *e);
static bool visit_body(Expr *e, void *context);

/* A row of a matrix of Winograd's (ir/nest/nest_winograd.c), chosen by a number:
 * `if i == 0 then … else`? */
static bool is_choice(const BodyWalk *w, const Expr *e)
{
	return w->r->nest->program->numerics == NUMERICS_FAST &&
	    e->op == OP_IF && e->type != DT_INDEX &&
	    e->arg[0]->op == OP_EQ && e->arg[0]->arg[0]->type == DT_INDEX &&
	    e->arg[0]->arg[1]->op == OP_INT;
}

/* Loops in code that move an index. */
static uint32_t choosers_of(const BodyWalk *w, const Expr *index)
{
	const PlanStage *s = w->r->stage;
	uint32_t loops = movers_of(w, index);
	for (int l = 0; l < s->nloops; l++)
		if (s->loops[l].kind != LOOP_UNROLL)
			loops &= ~(1u << l);
	return loops;
}

/* Each evaluation computes one of the rows, and all of them together what they
 * have in common once. */
static void visit_rows(BodyWalk *w, Expr *e)
{
	double part = w->part;
	uint32_t chosen = w->chosen;
	int n = 1;
	for (Expr *row = e; is_choice(w, row); row = row->arg[2])
		n++;
	w->part /= n;
	w->chosen |= choosers_of(w, e->arg[0]->arg[0]);
	for (; is_choice(w, e); e = e->arg[2])
		expr_walk(e->arg[1], visit_body, w);
	expr_walk(e, visit_body, w);
	w->part = part;
	w->chosen = chosen;
}

static bool visit_body(Expr *e, void *context)
{
	BodyWalk *w = context;
	if (e->type == DT_BOOL && e->narg && e->arg[0]->type == DT_INDEX)
		return false; /* a condition on axes */
	if (is_choice(w, e)) {
		visit_rows(w, e);
		return false;
	}
	if (e->type != DT_INDEX && op_flops(e->op)) {
		if (is_computed(w, e))
			return false;
		w->flops += w->part * op_flops(e->op);
		w->r->stage->specials += is_special(e->op);
		add_work(w->r->stage, movers_of(w, e) & ~w->chosen,
		    costs_expr(w->r->costs, e));
		add_splats(w, e);
	}
	w->branches += e->op == OP_IF && e->type != DT_INDEX &&
	    (e->arg[1]->narg || e->arg[2]->narg);
	if (e->op == OP_CAST &&
	    dtype_bytes(e->type) > dtype_bytes(e->arg[0]->type))
		w->widened = e->arg[0];
	if (e->op != OP_READ)
		return e->type != DT_INDEX;
	for (int i = 0; i < w->nseen; i++)
		if (same_access(w->seen[i], e))
			return false;
	if (w->r->stage->naccesses < PLAN_ACCESSES) {
		int at = w->r->stage->naccesses;
		w->seen[w->nseen++] = e;
		record_access(w->r, e->id, e->arg, e->narg, false);
		w->r->accesses[at].widened = w->widened == e;
		w->r->accesses[at].predicated = nest_read_is_conditional(
		    w->r->nest, w->r->arena, w->stage, e);
	}
	for (int i = 0; i < e->narg; i++)
		if (expr_has_data(e->arg[i]))
			visit_index(w, e->arg[i]);
	return false;
}

/* What an index reads. */
static void visit_index(BodyWalk *w, Expr *e)
{
	if (e->op == OP_READ)
		visit_body(e, w);
	for (int i = 0; e->op != OP_READ && i < e->narg; i++)
		visit_index(w, e->arg[i]);
}

/* Which iteration data says. */
static void visit_label(BodyWalk *w, Expr *e)
{
	if (e->op == OP_CAST)
		expr_walk(e->arg[0], visit_body, w);
	for (int i = 0; e->op != OP_CAST && i < e->narg; i++)
		visit_label(w, e->arg[i]);
}

static PlanLoop *push_loop(Recorder *r, int var, int from)
{
	PlanStage *s = r->stage;
	const Var *v = &r->nest->vars.at[var];
	const Var *loop = &r->nest->vars.at[from];
	if (s->nloops == PLAN_DEPTH)
		return NULL;
	if (r->position[var] < 0)
		r->position[var] = s->nloops;
	PlanLoop *l = &s->loops[s->nloops++];
	*l = (PlanLoop){.var = var,
	    .extent = v->extent,
	    .iterations = v->extent,
	    .kind = loop->kind,
	    .reduce = v->reduce,
	    .unroll_limit = loop->unroll_limit,
	    .axis = -1};
	return l;
}

/* The fused loop that this is a piece of; how much of it a step is. */
static const Var *fused_whole(const Recorder *r, int var, Handle *step)
{
	const Var *v = &r->nest->vars.at[var];
	*step = tape_const(r->tape, 1);
	while (v->parent >= 0) {
		const Var *whole = &r->nest->vars.at[v->parent];
		for (int i = whole->nchild - 1; whole->child[i] != var; i--)
			*step = tape_mul(r->tape, *step,
			    r->nest->vars.at[whole->child[i]].extent);
		var = v->parent;
		v = whole;
		if (v->nparts)
			return v;
	}
	return NULL;
}

/* A piece of a fused loop moves the digits of that which lie within it: a loop
 * for each, the outermost with what is left.
 *
 *     f = fuse(i in 9, j in 64); f0, f1 = split(f, [_, 16])
 *     f0 in 36: i in 9, j in 4 by 16;  f1: j in 16
 *
 * Where a piece begins within a digit, that has as many steps as it may. */
static void add_digits(Recorder *r, int var, const Var *whole, Handle step)
{
	Tape *tape = r->tape;
	Handle one = tape_const(tape, 1);
	Handle iterations = r->nest->vars.at[var].extent;
	Handle end = tape_mul(tape, step, iterations);
	for (int p = 0; p < whole->nparts; p++) {
		const Var *part = &r->nest->vars.at[whole->parts[p]];
		Handle low = tape_max(tape, step, part->div), high = end;
		if (p)
			high = tape_min(tape, end,
			    tape_mul(tape, part->div, part->extent));
		Handle extent =
		    tape_max(tape, one, tape_ceildiv(tape, high, low));
		PlanLoop *l;
		if (extent == one || !(l = push_loop(r, var, var)))
			continue;
		l->extent = extent;
		l->iterations = iterations;
		iterations = HANDLE_NONE;
		assert(r->ndigits < PLAN_DEPTH);
		r->digits[r->ndigits].var = var;
		r->digits[r->ndigits].part = whole->parts[p];
		r->digits[r->ndigits].of_var = tape_ceildiv(tape, low, step);
		r->digits[r->ndigits].of_part =
		    tape_ceildiv(tape, low, part->div);
		r->digits[r->ndigits++].loop = r->stage->nloops - 1;
	}
}

static void add_loop(Recorder *r, int var, int from)
{
	Handle step;
	const Var *whole = fused_whole(r, var, &step);
	if (whole)
		add_digits(r, var, whole, step);
	else
		push_loop(r, var, from);
}

static BodyTail tail_of(const Recorder *r, const Stage *s)
{
	return (BodyTail){.style = s->tail,
	    .fill = s->fill,
	    .reg = r->nest->buffers.at[s->buffer].scope == SCOPE_REG};
}

/* At the end of an axis only the innermost tile is ever partial. */
static LoopRuns loop_runs(
    const Recorder *r, const Stage *owner, const StageAxis *a, int var,
    bool innermost)
{
	BodyTail tail = tail_of(r, owner);
	BodyTiles tiles = body_tail_tiles(tail);
	if (!body_tail_tests(tail, a->reduce))
		return RUNS_WHOLE;
	if (tiles == BODY_TILES_WHOLE)
		return body_in_tile(innermost, false) ? RUNS_WHOLE
		    : body_in_tile(innermost, true)   ? RUNS_WHOLE_IN_BODY
						      : RUNS_CLIPPED;
	return r->nest->vars.at[var].kind == LOOP_VECTOR &&
		tiles != BODY_TILES_BY_LANE
	    ? RUNS_WHOLE
	    : RUNS_CLIPPED;
}

static void number_loop(Recorder *r, const Stage *owner, const StageAxis *axis,
    int loop, Handle below, bool innermost)
{
	PlanLoop *l = &r->stage->loops[loop];
	l->axis = r->stage->naxes;
	l->below = below;
	l->runs = loop_runs(r, owner, axis, l->var, innermost);
	l->peeled = body_tail_splits(tail_of(r, owner));
}

/* Every loop that splits one axis gets the axis's number on the path and how
 * many of its values one iteration covers. */
static void number_axis(Recorder *r, const Stage *owner, const StageAxis *axis,
    int var, Handle below, bool innermost)
{
	const Var *v = &r->nest->vars.at[var];
	if (v->how == VAR_SPLIT) {
		for (int i = v->nchild - 1; i >= 0; i--) {
			number_axis(r, owner, axis, v->child[i], below,
			    innermost && i == v->nchild - 1);
			below = tape_mul(r->tape, below,
			    r->nest->vars.at[v->child[i]].extent);
		}
	} else if (r->position[var] >= 0) {
		number_loop(r, owner, axis, r->position[var], below, innermost);
	}
	for (int i = 0; i < r->ndigits; i++)
		if (r->digits[i].part == var)
			number_loop(r, owner, axis, r->digits[i].loop,
			    tape_mul(r->tape, below, r->digits[i].of_part),
			    innermost);
}

/* The outermost makes room. */
static void add_mover(PlanAxis *a, int loop, Handle step)
{
	if (a->nmovers == PLAN_MOVERS) {
		a->nmovers--;
		for (int i = 0; i < a->nmovers; i++) {
			a->mover[i] = a->mover[i + 1];
			a->step[i] = a->step[i + 1];
		}
	}
	assert(!a->nmovers || a->mover[a->nmovers - 1] < loop);
	a->mover[a->nmovers] = loop;
	a->step[a->nmovers++] = step;
}

static void record_axis(Recorder *r, const Stage *owner, const StageAxis *axis)
{
	assert(r->stage->naxes < PLAN_DEPTH);
	PlanAxis *a = &r->stage->axes[r->stage->naxes];
	*a = (PlanAxis){.covered = nest_covered(r->nest, axis->var),
	    .end = axis->end,
	    .length = axis->extent};
	number_axis(
	    r, owner, axis, axis->var, tape_const(r->tape, 1), true);
	r->stage->naxes++;
	if (!axis->start || !axis->above || axis->end == HANDLE_NONE)
		return;
	Coefs start = coefs_of(r, axis->start);
	for (int l = 0; l < r->stage->nloops; l++)
		if (start.of[l] != HANDLE_NONE &&
		    r->stage->loops[l].axis >= 0)
			add_mover(a, l, start.of[l]);
}

static void record_axes(Recorder *r, const int *stages, int nstages)
{
	for (int i = 0; i < nstages; i++) {
		const Stage *owner = &r->nest->stages.at[stages[i]];
		for (int a = 0; a < owner->naxes; a++) {
			if (r->stage->naxes == PLAN_DEPTH)
				return;
			record_axis(r, owner, &owner->axes[a]);
		}
	}
}

static void record_path(Recorder *r)
{
	PlanStage *s = r->stage;
	const Stage *stage = &r->nest->stages.at[s->stage];
	int *vars = r->path, *owners = r->owners, nowners = 0;
	int n = nest_loops_above(r->nest, s->stage, stage->nloops, vars,
	    r->nest->vars.n);
	for (int i = 0; i < n; i++) {
		const Var *v = &r->nest->vars.at[vars[i]];
		if (!nowners || owners[nowners - 1] != v->stage)
			owners[nowners++] = v->stage;
		if (i == n - stage->nloops)
			s->own = s->nloops;
		if (v->nparts)
			for (int p = 0; p < v->nparts; p++)
				add_loop(r, v->parts[p], vars[i]);
		else
			add_loop(r, vars[i], vars[i]);
	}
	if (!stage->nloops)
		s->own = s->nloops;
	record_axes(r, owners, nowners);
}

/* A loop of which data says the one iteration that counts is in code. */
static void record_scatters(Recorder *r, int number)
{
	PlanStage *s = r->stage;
	const Stage *stage = &r->nest->stages.at[number];
	Handle one = tape_const(r->tape, 1);
	Scatter x;
	for (int l = s->own; l < s->nloops; l++) {
		if (!nest_scatters(r->nest, r->arena, number,
			s->loops[l].var, &r->own, &x))
			continue;
		s->loops[l].extent = s->loops[l].iterations = one;
		s->loops[l].kind = LOOP_UNROLL;
		s->points /= stage->axes[x.axis].extent;
		r->scattered[x.axis] = x.value;
		r->settled = x.number + 1;
	}
}

/* --- steps that change nothing ------------------------------------------------- */

static void add_constant(Recorder *r, PlanCondition *z, Handle h)
{
	z->constant = z->constant == HANDLE_NONE
	    ? h
	    : tape_add(r->tape, z->constant, h);
}

/* Over the axes alone. */
static int64_t least_of(const Recorder *r, const Stage *s, const Affine *a)
{
	int64_t least, c;
	if (!tape_is_const(r->tape, a->constant, &least))
		return INT64_MIN;
	for (int i = 0; i < a->n; i++) {
		if (!tape_is_const(r->tape, a->terms[i].coefficient, &c))
			return INT64_MIN;
		if (c < 0)
			least += c * (s->axes[a->terms[i].term->id].extent - 1);
	}
	return least;
}

/* The form of an index over the loops, with signs; false where it has none. */
static bool condition_form(Recorder *r, const Expr *e, PlanCondition *z)
{
	const Stage *s = &r->nest->stages.at[r->stage->stage];
	Affine a = affine_of(r->arena, r->tape, e);
	Coefs sum = coefs_none();
	add_constant(r, z, a.constant);
	for (int i = 0; i < a.n; i++) {
		const Expr *term = a.terms[i].term;
		if (term->op != OP_AXIS)
			return false;
		Coefs c = coefs_of_axis(r, term->id);
		coefs_add(r, &sum, &c, a.terms[i].coefficient);
		const Expr *start = s->axes[term->id].start;
		if (start)
			add_constant(r, z,
			    tape_mul(r->tape, a.terms[i].coefficient,
				affine_of(r->arena, r->tape, start).constant));
	}
	z->least = least_of(r, s, &a);
	memcpy(z->coef, sum.of, sizeof z->coef);
	z->movers = 0;
	for (int l = 0; l < r->stage->nloops; l++)
		if (sum.of[l] != HANDLE_NONE)
			z->movers |= 1u << l;
	return true;
}

static Expr *difference(Recorder *r, Expr *a, Expr *b)
{
	return expr_binary(r->arena, OP_SUB, a, b);
}

/* a < b is b - a - 1 >= 0, a % c == k is a - k divided by c. */
static bool condition_of(
    Recorder *r, const Expr *e, bool holds, PlanCondition *z)
{
	int64_t divisor;
	if (e->op == OP_NOT)
		return condition_of(r, e->arg[0], !holds, z);
	if (op_kind(e->op) != OPKIND_COMPARE || e->arg[0]->type != DT_INDEX)
		return false;
	Expr *a = e->arg[0], *b = e->arg[1];
	if (e->op == OP_EQ || e->op == OP_NE) {
		if ((e->op == OP_EQ) != holds || a->op != OP_MOD ||
		    !tape_is_const(r->tape, constant_of(r, a->arg[1]),
			&divisor))
			return false;
		z->divisor = divisor;
		return condition_form(r, difference(r, a->arg[0], b), z);
	}
	bool less = (e->op == OP_LT || e->op == OP_LE) == holds;
	bool strict = (e->op == OP_LT || e->op == OP_GT) == holds;
	if (!condition_form(
		r, less ? difference(r, b, a) : difference(r, a, b), z))
		return false;
	add_constant(r, z, tape_const(r->tape, strict ? -1 : 0));
	if (z->least != INT64_MIN)
		z->least -= strict;
	return true;
}

static bool is_opposite(
    Recorder *r, const PlanCondition *a, const PlanCondition *b)
{
	int64_t sum;
	for (int l = 0; l < r->stage->nloops; l++) {
		Handle x = a->coef[l], y = b->coef[l];
		if ((x == HANDLE_NONE) != (y == HANDLE_NONE))
			return false;
		if (x != HANDLE_NONE &&
		    (!tape_is_const(r->tape, tape_add(r->tape, x, y), &sum) ||
			sum))
			return false;
	}
	return !a->divisor && !b->divisor;
}

static void record_conditions(Recorder *r, int number)
{
	PlanStage *s = r->stage;
	ExprVec own = r->own;
	ExprVec steps = nest_step_conditions(r->nest, r->arena, number, true);
	ExprVec used = nest_live_conditions(r->nest, r->arena, number);
	ExprSet all = expr_set_of(r->arena, &steps);
	ExprSet of_own = expr_set_of(r->arena, &own);
	ExprSet of_used = expr_set_of(r->arena, &used);
	PlanCondition conditions[PLAN_CONDITIONS];
	for (int i = r->settled; i < own.n; i++)
		s->branches += expr_set_find(&all, own.at[i]) < 0;
	for (int i = 0; i < used.n; i++)
		expr_set_add(r->arena, &all, used.at[i]);
	for (int i = 0; i < all.all.n && s->nconditions < PLAN_CONDITIONS;
	     i++) {
		Expr *e = all.all.at[i];
		PlanCondition z = {.constant = HANDLE_NONE,
		    .opposite = -1,
		    .own = expr_set_find(&of_own, e) >= 0,
		    .element = expr_set_find(&of_used, e) >= 0};
		if (!condition_of(r, e, true, &z)) {
			s->branches += z.own;
			continue;
		}
		/* count_trips has no more than the block's */
		if (z.element && !z.own && !z.divisor && z.least >= 0)
			continue;
		for (int k = 0; k < s->nconditions && z.opposite < 0; k++)
			if (conditions[k].opposite < 0 &&
			    conditions[k].element == z.element &&
			    is_opposite(r, &z, &conditions[k])) {
				z.opposite = k;
				conditions[k].opposite = s->nconditions;
			}
		conditions[s->nconditions++] = z;
	}
	s->conditions = arena_memdup(
	    r->arena, conditions, sizeof *conditions * (size_t)s->nconditions);
}

/* The writes of all stages that run in its loops, then what they read. */
static void record_bodies(Recorder *r, int leader)
{
	PlanStage *s = r->stage;
	IntVec sharing = nest_sharing(r->nest, r->arena, leader);
	BodyWalk walk = {.r = r, .part = 1, .known = summaries_new(r->arena)};
	for (int i = 0; i < sharing.n; i++) {
		const Stage *stage = &r->nest->stages.at[sharing.at[i]];
		record_access(
		    r, stage->buffer, stage->write, stage->nwrite, true);
	}
	s->nwrites = s->naccesses;
	find_movers(&walk, &r->nest->stages.at[leader]);
	for (int i = 0; i < sharing.n; i++) {
		walk.stage = sharing.at[i];
		walk.flops += s->reduce;
		expr_walk(s->reduce ? nest_step_element(r->nest, r->arena,
					  walk.stage)
				    : r->nest->stages.at[walk.stage].body,
		    visit_body, &walk);
	}
	for (int a = 0; a < r->nest->stages.at[leader].naxes; a++)
		if (r->scattered[a])
			visit_label(&walk, r->scattered[a]);
	s->flops = walk.flops;
	s->branches = walk.branches;
}

static int common_loops(const PlanStage *a, const PlanStage *b)
{
	int n = 0;
	while (n < a->nloops && n < b->nloops &&
	       a->loops[n].var == b->loops[n].var)
		n++;
	return n;
}

/* What a stage before this one, which is `earlier`, leaves in the caches. */
static void record_after(PlanStage *s, PlanStage *earlier)
{
	int common = common_loops(s, earlier);
	s->common = common > s->common ? common : s->common;
	earlier->common =
	    common > earlier->common ? common : earlier->common;
	for (int a = 0; a < s->naccesses; a++)
		for (int b = 0; b < earlier->naccesses; b++)
			if (s->accesses[a].buffer ==
				earlier->accesses[b].buffer &&
			    s->accesses[a].after < common)
				s->accesses[a].after = common;
}

static void record_fragment(Recorder *r, const Stage *stage)
{
	PlanStage *s = r->stage;
	const Intrinsic *in =
	    stage->intrinsic >= 0 ? intrinsic_at(stage->intrinsic) : NULL;
	if (!in || !in->rows)
		return;
	s->fragment_loop = r->position[stage->tensor_loop];
	int loops = in->warps > 1 ? 4 : 3;
	if (s->fragment_loop >= 0 && s->fragment_loop + loops <= s->nloops)
		s->fragment = in;
}

static void record_stage(Recorder *r, int number)
{
	const Stage *stage = &r->nest->stages.at[number];
	PlanStage *s = r->stage;
	*s = (PlanStage){.stage = number,
	    .reduce = stage->reduce != REDUCE_NONE,
	    .ahead = stage->ahead,
	    .dot =
		stage->intrinsic >= 0 && !intrinsic_at(stage->intrinsic)->rows
		? intrinsic_at(stage->intrinsic)
		: NULL,
	    .numerics = r->nest->program->numerics,
	    .tail = tail_of(r, stage),
	    .points = 1,
	    .program_bytes = r->nest->program->bytes};
	r->ndigits = r->settled = 0;
	r->own = nest_step_conditions(r->nest, r->arena, number, false);
	r->scattered = NEW_N(r->arena, Expr *, stage->naxes);
	record_path(r);
	record_fragment(r, stage);
	for (int a = 0; a < stage->naxes; a++)
		if (__builtin_mul_overflow(
			s->points, stage->axes[a].extent, &s->points))
			s->points = INT64_MAX;
	record_scatters(r, number);
	s->accesses = r->accesses;
	record_bodies(r, number);
	s->accesses = arena_memdup(r->arena, r->accesses,
	    sizeof *r->accesses * (size_t)s->naccesses);
	record_conditions(r, number);
	for (int l = 0; l < s->nloops; l++)
		r->position[s->loops[l].var] = -1;
}

/* With those before it that have a loop in common. */
static void record_common(Recorder *r, Plan *plan)
{
	int number = plan->nstages;
	PlanStage *s = &plan->stages[number];
	if (!s->nloops)
		return;
	int *latest = &r->latest[s->loops[0].var];
	for (int k = *latest; k >= 0; k = r->earlier[k])
		if (!plan->stages[k].ahead)
			record_after(s, &plan->stages[k]);
	r->earlier[number] = *latest;
	*latest = number;
}

static Plan *record(Arena *arena, const Nest *nest, const Machine *machine)
{
	assert(nest->inferred);
	Plan *plan = NEW(arena, Plan);
	*plan = (Plan){.arena = arena,
	    .tape = nest->tape,
	    .nguards = nest->guards.n,
	    .guards = nest->guards.at,
	    .program_flops = nest->program->flops,
	    .program_bytes = nest->program->bytes};
	plan->stages = NEW_N(arena, PlanStage, nest->order.n);
	PlanAccess accesses[PLAN_ACCESSES];
	Recorder r = {.arena = arena,
	    .accesses = accesses,
	    .nest = nest,
	    .costs = machine_costs(machine),
	    .tape = nest->tape};
	r.position = NEW_N(arena, int, nest->vars.n);
	r.path = NEW_N(arena, int, nest->vars.n);
	r.owners = NEW_N(arena, int, nest->vars.n);
	r.latest = NEW_N(arena, int, nest->vars.n);
	r.earlier = NEW_N(arena, int, nest->order.n);
	for (int i = 0; i < nest->vars.n; i++)
		r.position[i] = r.latest[i] = -1;
	double most = -1;
	for (int i = 0; i < nest->order.n; i++) {
		if (nest->stages.at[nest->order.at[i]].with >= 0)
			continue;
		r.stage = &plan->stages[plan->nstages];
		record_stage(&r, nest->order.at[i]);
		record_common(&r, plan);
		double work = r.stage->flops * (double)r.stage->points;
		if (work > most && !r.stage->ahead) {
			most = work;
			plan->anchor = plan->nstages;
		}
		plan->nstages++;
	}
	return plan;
}

Plan *plan_record(Arena *arena, const Nest *nest, const Machine *machine)
{
	Plan *plan = record(arena, nest, machine);
	plan_settle(plan);
	plan_assert_invariants(plan);
	return plan;
}

/* --- copying ------------------------------------------------------------------ */

typedef void Visit(Handle *h, void *context);

static void each_mover(PlanStage *s, Visit *visit, void *context)
{
	for (int a = 0; a < s->naxes; a++)
		for (int i = 0; i < s->axes[a].nmovers; i++)
			visit(&s->axes[a].step[i], context);
}

static void each_end(PlanStage *s, Visit *visit, void *context)
{
	for (int a = 0; a < s->naxes; a++)
		visit(&s->axes[a].end, context);
}

static void each_other(PlanStage *s, Visit *visit, void *context)
{
	for (int l = 0; l < s->nloops; l++) {
		visit(&s->loops[l].extent, context);
		visit(&s->loops[l].iterations, context);
		visit(&s->loops[l].unroll_limit, context);
		if (s->loops[l].axis >= 0)
			visit(&s->loops[l].below, context);
	}
	for (int a = 0; a < s->naxes; a++)
		visit(&s->axes[a].covered, context);
	for (int i = 0; i < s->nconditions; i++) {
		visit(&s->conditions[i].constant, context);
		for (int l = 0; l < s->nloops; l++)
			visit(&s->conditions[i].coef[l], context);
	}
	for (int i = 0; i < s->naccesses; i++) {
		PlanAccess *a = &s->accesses[i];
		visit(&a->elements, context);
		visit(&a->slots, context);
		for (int l = 0; l < s->nloops; l++)
			visit(&a->across[l], context);
		for (int d = 0; d < a->ndim; d++) {
			visit(&a->held[d], context);
			for (int l = 0; l < s->nloops; l++)
				visit(&a->coef[l][d], context);
		}
		for (int p = 0; p < a->nparts; p++) {
			visit(&a->parts[p].div, context);
			visit(&a->parts[p].mod, context);
			visit(&a->parts[p].stride, context);
		}
	}
}

typedef struct {
	Arena *arena;
	VEC(Handle *) at;
} Places;

static void add_place(Handle *h, void *context)
{
	Places *places = context;
	if (*h != HANDLE_NONE)
		vec_push(places->arena, &places->at, h);
}

static void add_places(Plan *plan, PlanValues part, Places *places)
{
	static void (*const each[VALUES_PARTS])(
	    PlanStage *, Visit *, void *) = {[VALUES_ROOMS] = each_mover,
	    [VALUES_ENDS] = each_end,
	    [VALUES_ALL] = each_other};
	for (int i = 0; part == VALUES_ROOMS && i < plan->nrooms; i++)
		add_place(&plan->rooms[i].below, places);
	for (int i = 0; part == VALUES_GUARDS && i < plan->nguards; i++)
		add_place(&plan->guards[i].value, places);
	for (int i = 0; each[part] && i < plan->nstages; i++)
		each[part](&plan->stages[i], add_place, places);
}

/* Onto a tape of its own, on which values are in the order of their parts. */
static void extract(Plan *plan, int nslots)
{
	Places places = {.arena = arena_new()};
	int n[VALUES_PARTS];
	Handle end = nslots;
	plan_settle_rooms(plan);
	for (int part = 0; part < VALUES_PARTS; part++) {
		add_places(plan, part, &places);
		n[part] = places.at.n;
	}
	plan->tape = tape_extract(
	    plan->arena, plan->tape, nslots, places.at.at, places.at.n);
	for (int part = 0, i = 0; part < VALUES_PARTS; part++) {
		for (; i < n[part]; i++)
			if (*places.at.at[i] >= end)
				end = *places.at.at[i] + 1;
		plan->behind[part] = end;
	}
	assert(end == tape_size(plan->tape));
	arena_free(places.arena);
}

typedef struct {
	const Tape *tape;
	uint64_t slots;
} Dependence;

static void add_slots(Handle *h, void *context)
{
	Dependence *d = context;
	if (*h != HANDLE_NONE)
		d->slots |= tape_slots(d->tape, *h);
}

static void record_slots(Plan *plan)
{
	for (int i = 0; i < plan->nstages; i++) {
		Dependence d = {plan->tape, 0};
		each_mover(&plan->stages[i], add_slots, &d);
		each_end(&plan->stages[i], add_slots, &d);
		each_other(&plan->stages[i], add_slots, &d);
		plan->stages[i].slots = d.slots;
	}
}

/* Equal quantities have equal handles on one tape. */
static uint64_t stage_key(const PlanStage *s)
{
	PlanStage all = *s;
	all.accesses = NULL;
	all.conditions = NULL;
	uint64_t key = hash_long(&all,
	    offsetof(PlanStage, axes) + sizeof *s->axes * (size_t)s->naxes, 0);
	for (int i = 0; i < s->naccesses; i++)
		key = hash_long(&s->accesses[i],
		    offsetof(PlanAccess, coef) +
			sizeof *s->accesses->coef * (size_t)s->nloops,
		    key);
	return hash_long(
	    s->conditions, sizeof *s->conditions * (size_t)s->nconditions, key);
}

Plan *plan_kept(Arena *arena, Arena *scratch, const Nest *nest,
    const Machine *machine, int nslots, StagesKnown *known)
{
	const Plan *plan = record(scratch, nest, machine);
	Plan *copy = arena_memdup(arena, plan, sizeof *plan);
	copy->arena = arena;
	copy->stages_known = known;
	copy->stages = arena_memdup(arena, plan->stages,
	    sizeof *plan->stages * (size_t)plan->nstages);
	copy->guards = arena_memdup(arena, plan->guards,
	    sizeof *plan->guards * (size_t)plan->nguards);
	for (int i = 0; i < plan->nstages; i++) {
		PlanStage *s = &copy->stages[i];
		s->key = stage_key(s);
		s->accesses = arena_memdup(arena, s->accesses,
		    sizeof *s->accesses * (size_t)s->naccesses);
		s->conditions = arena_memdup(arena, s->conditions,
		    sizeof *s->conditions * (size_t)s->nconditions);
	}
	extract(copy, nslots);
	record_slots(copy);
	plan_settle(copy);
	plan_assert_invariants(copy);
	return copy;
}
