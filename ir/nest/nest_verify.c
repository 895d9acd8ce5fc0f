/* Legality of a finished nest.
 *
 * Later steps can break what held when a primitive was applied, so everything
 * is asked of the nest as it is: who computes before whom, which loops may run
 * at once, where buffers live, what a padded tail computes.  Needs inference.
 * What handles cannot settle becomes a guard. */
#include "ir/nest/nest_internal.h"

#include <assert.h>

enum { DIRECTIONS = 3 };

/* Registers that a block's threads share out. */
typedef struct {
	bool known, by[DIRECTIONS];
	SpreadDigit digit[DIRECTIONS];
} Spread;

typedef struct {
	Nest *nest;
	Arena *arena;
	Tape *tape;
	NestTree tree;
	Expr ***value; /* by stage and axis: its form */
	FixedVars fixed; /* scratch */
	int *rank;     /* by stage: its place in the order */
	Spread *spread; /* by buffer: as its first user has it */
	const char **why;
} NestVerify;

static bool refuse(NestVerify *v, const char *why)
{
	*v->why = why;
	return false;
}

static const Stage *stage_at(const NestVerify *v, int stage)
{
	return &v->nest->stages.at[stage];
}

static const Var *var_at(const NestVerify *v, int var)
{
	return &v->nest->vars.at[var];
}

static const NestBuffer *written_by(const NestVerify *v, int stage)
{
	return &v->nest->buffers.at[stage_at(v, stage)->buffer];
}

/* Position of a loop among those around a stage's body; -1. */
static int chain_position(const NestVerify *v, int stage, int loop)
{
	for (int i = 0; i < v->tree.nchain[stage]; i++)
		if (v->tree.chain[stage][i] == loop)
			return i;
	return -1;
}

/* Is each iteration of a loop around the writer given a buffer of its own? */
static bool allocated_below(const NestVerify *v, const NestBuffer *b, int loop)
{
	if (b->alloc < 0 || b->writer < 0)
		return false;
	return chain_position(v, b->writer, loop) <=
	       chain_position(v, b->writer, b->alloc);
}

static bool is_thread(LoopKind kind)
{
	return kind == LOOP_PARALLEL || loop_is_bound(kind);
}

/* Iterations may run at the same time or interleaved. */
static bool is_concurrent(LoopKind kind)
{
	return kind == LOOP_VECTOR || is_thread(kind);
}

static bool feeds_reduction(const NestVerify *v, int loop)
{
	const Var *l = var_at(v, loop);
	if (!l->nparts)
		return l->reduce;
	for (int i = 0; i < l->nparts; i++)
		if (feeds_reduction(v, l->parts[i]))
			return true;
	return false;
}

/* --- who comes first ----------------------------------------------------- */

typedef struct {
	int n;
	int *stage; /* from the root's to the one in whose loops it runs */
} Path;

static Path path_of(const NestVerify *v, int stage)
{
	Path p = {0};
	int leader = nest_leader(v->nest, stage);
	for (int s = leader; s >= 0; s = nest_tree_host(&v->tree, s))
		p.n++;
	p.stage = NEW_N(v->arena, int, p.n);
	for (int s = leader, i = p.n; s >= 0; s = nest_tree_host(&v->tree, s))
		p.stage[--i] = s;
	return p;
}

/* Two stages hung at loops of one stage: at a loop those before its body, outer
 * loops first; after it, inner loops first. */
static bool hangs_first(const NestVerify *v, int a, int b)
{
	const Stage *x = stage_at(v, a), *y = stage_at(v, b);
	int at_x = nest_loop_position(v->nest, x->place);
	int at_y = nest_loop_position(v->nest, y->place);
	if (x->after != y->after)
		return y->after;
	if (at_x != at_y)
		return x->after ? at_x > at_y : at_x < at_y;
	return v->rank[a] < v->rank[b];
}

/* No reduction of the writer may go on around a loop that a reader hangs at; what
 * threads reduce together is complete behind all loops of threads. */
static bool complete_at(const NestVerify *v, int writer, int loop)
{
	const Stage *w = stage_at(v, writer);
	bool across = nest_reduces_across(v->nest, writer);
	for (int i = 0; i < w->nloops; i++) {
		if (feeds_reduction(v, w->loops[i]) ||
		    (across && loop_is_thread(var_at(v, w->loops[i])->kind)))
			return false;
		if (w->loops[i] == loop)
			return true;
	}
	return true;
}

static bool check_order(NestVerify *v, int writer, int reader)
{
	Path w = path_of(v, writer), r = path_of(v, reader);
	int k = 0;
	while (k < w.n && k < r.n && w.stage[k] == r.stage[k])
		k++;
	bool first;
	if (k == w.n) {
		const Stage *hung = stage_at(v, r.stage[k]);
		if (hung->after && !complete_at(v, writer, hung->place))
			return refuse(v,
			    "a block reads a reduction that is not "
			    "complete at its place");
		first = hung->after;
	} else if (k == r.n)
		first = !stage_at(v, w.stage[k])->after;
	else if (k)
		first = hangs_first(v, w.stage[k], r.stage[k]);
	else
		first = v->rank[w.stage[0]] < v->rank[r.stage[0]];
	return first ||
	       refuse(v, "a block reads what is only computed after it");
}

static bool check_reads(NestVerify *v, int reader)
{
	ExprVec reads = v->tree.reads[reader];
	for (int i = 0; i < reads.n; i++) {
		int writer = v->nest->buffers.at[reads.at[i]->id].writer;
		if (writer < 0)
			continue;
		if (!stage_at(v, writer)->live)
			return refuse(
			    v, "a block reads what no block computes");
		if (writer == reader && stage_at(v, reader)->carries >= 0)
			continue;
		if (writer == reader)
			return refuse(v, "a block reads what it writes");
		if (nest_leader(v->nest, writer) ==
		    nest_leader(v->nest, reader))
			return refuse(v, "a block reads what is computed in "
					 "the same loops");
		if (!check_order(v, writer, reader))
			return false;
	}
	return true;
}

static bool check_outputs(NestVerify *v)
{
	const Program *p = v->nest->program;
	for (int i = 0; i < p->noutputs; i++) {
		int w = v->nest->buffers.at[p->outputs[i]].writer;
		if (w < 0 || !stage_at(v, w)->live)
			return refuse(v, "an output is not computed");
	}
	return true;
}

static bool check_init(NestVerify *v, int stage)
{
	const Stage *s = stage_at(v, stage);
	if (s->reduce == REDUCE_NONE || s->init_at < 0)
		return true;
	for (int i = 0; i < s->nloops; i++) {
		if (s->loops[i] == s->init_at)
			return true;
		if (feeds_reduction(v, s->loops[i]))
			return refuse(v, "a reduction is initialized inside of "
					 "one of its loops");
	}
	return refuse(
	    v, "a reduction is initialized at a loop of another block");
}

static void fix_loop(NestVerify *v, int loop)
{
	const Var *l = var_at(v, loop);
	fixed_mark(&v->fixed, loop);
	for (int i = 0; i < l->nparts; i++)
		fix_loop(v, l->parts[i]);
}

/* --- from element to element ----------------------------------------------- */

/* The loops of an axis are run one after the other, in the order in which its
 * elements lie: outer ones outside. */
static bool runs_in_order(NestVerify *v, int stage, int var, int *last)
{
	const Var *x = var_at(v, var);
	if (x->how == VAR_FUSED)
		return refuse(v, "a fused loop does not carry");
	for (int i = 0; x->how == VAR_SPLIT && i < x->nchild; i++)
		if (!runs_in_order(v, stage, x->child[i], last))
			return false;
	if (x->how == VAR_SPLIT)
		return true;
	int at = chain_position(v, stage, var);
	if (at < *last)
		return refuse(v, "what is carried from element to element is "
				 "not made in their order");
	*last = at;
	return (x->kind == LOOP_SERIAL || x->kind == LOOP_UNROLL) ||
	    refuse(v, "what is carried from element to element is made at "
		      "once");
}

/* How many elements of a dimension a buffer keeps at once; NONE: all. */
static Handle ring_of(const NestVerify *v, const NestBuffer *b, int dim)
{
	Handle kept = tape_const(v->tape, 1);
	for (int i = 0; i < b->nparts; i++) {
		if (b->parts[i].dim != dim)
			continue;
		if (b->parts[i].mod == HANDLE_NONE)
			return HANDLE_NONE;
		kept = tape_mul(v->tape, kept, b->parts[i].mod);
	}
	return kept;
}

/* Readers hang after a loop below which no more is written than the ring keeps:
 * that is what they read. */
static bool check_ring(NestVerify *v, int stage)
{
	const Stage *s = stage_at(v, stage);
	const NestReads *reads = &v->tree.readers[s->buffer];
	Handle kept = ring_of(v, written_by(v, stage), s->carries);
	Handle one = tape_const(v->tape, 1);
	for (int i = 0; kept != HANDLE_NONE && i < reads->n; i++) {
		int r = reads->at[i].stage;
		const Stage *reader = stage_at(v, r);
		if (r == stage)
			continue;
		if (reader->place < 0 || !reader->after ||
		    nest_tree_host(&v->tree, r) != stage)
			return refuse(v, "a ring is read by what does not follow "
					 "in its loops");
		fixed_clear(&v->fixed);
		for (int k = 0; k <= chain_position(v, stage, reader->place); k++)
			fix_loop(v, v->tree.chain[stage][k]);
		Hull h = nest_hull(
		    v->nest, v->value[stage][s->carries], v->fixed.at);
		Handle span = h.known
		    ? tape_add(v->tape, tape_sub(v->tape, h.high, h.low), one)
		    : tape_const(v->tape, INT32_MAX);
		if (!nest_require(v->nest, tape_at_most(v->tape, span, kept),
			"a ring has fewer elements than are read of it",
			v->why))
			return false;
	}
	return true;
}

static bool check_carried(NestVerify *v, int stage)
{
	const Stage *s = stage_at(v, stage);
	int last = -1;
	if (s->carries < 0)
		return true;
	assert(s->place < 0 && s->with < 0);
	assert(written_by(v, stage)->scope == SCOPE_GLOBAL);
	return runs_in_order(v, stage, s->axes[s->carries].var, &last) &&
	    check_ring(v, stage);
}

/* --- concurrent loops ---------------------------------------------------- */

/* Is the loop an inner child of a split, which fixed its extent? */
static bool has_fixed_extent(const NestVerify *v, int loop)
{
	int parent = var_at(v, loop)->parent;
	return parent >= 0 && var_at(v, parent)->child[0] != loop;
}

/* Lanes that are a slot were compared with a number by the primitive. */
static bool check_lanes(NestVerify *v, int loop)
{
	int64_t lanes;
	if (!tape_is_const(v->tape, var_at(v, loop)->extent, &lanes))
		return has_fixed_extent(v, loop) ||
		       refuse(v, "a vector loop's extent is not fixed");
	return (lanes >= 1 && lanes <= 64 && !(lanes & (lanes - 1))) ||
	       refuse(v, "a vector loop has 1, 2, 4 ... or 64 iterations");
}

static bool check_nesting(NestVerify *v, int stage)
{
	int parallel = 0, blocks = 0, threads = 0, vectors = 0;
	for (int i = 0; i < v->tree.nchain[stage]; i++) {
		LoopKind kind = var_at(v, v->tree.chain[stage][i])->kind;
		parallel += kind == LOOP_PARALLEL;
		threads += loop_is_thread(kind);
		blocks += loop_is_block(kind);
		if (loop_is_block(kind) && threads)
			return refuse(v, "a block loop is below a thread loop");
		vectors += kind == LOOP_VECTOR;
		if (kind == LOOP_VECTOR && i < nest_tree_above(&v->tree, stage))
			return refuse(
			    v, "a block is placed below a vector loop");
	}
	if (parallel > 1)
		return refuse(v, "a parallel loop is below a parallel loop");
	if (parallel && blocks + threads)
		return refuse(v, "a parallel loop is beside a GPU's");
	return vectors <= 1 ||
	       refuse(v, "a vector loop is below a vector loop");
}

static Handle magnitude(NestVerify *v, Handle k)
{
	Handle minus = tape_sub(v->tape, tape_const(v->tape, 0), k);
	return tape_max(v->tape, k, minus);
}

/* Leaves out what moves by whole rounds of a thread's loop: of threads side by
 * side, each of which has an element of every round. */
static void drop_rounds(NestVerify *v, Affine *a, Handle round)
{
	Handle one = tape_const(v->tape, 1);
	for (int i = 0; i < a->n; i++)
		a->terms[i].coefficient = tape_mul(v->tape,
		    a->terms[i].coefficient,
		    tape_sub(v->tape, one,
			tape_multiple(
			    v->tape, a->terms[i].coefficient, round)));
}

/* 1 if index = k*x + rest, where rest, over all but the fixed loops, spans no
 * more than k: another x is another index.  0 where it is not of that form. */
static Handle tells_apart(NestVerify *v, Expr *index, int x)
{
	Affine a = affine_of(v->arena, v->tape, index);
	Handle zero = tape_const(v->tape, 0), one = tape_const(v->tape, 1);
	Handle k = HANDLE_NONE;
	for (int i = 0; i < a.n; i++)
		if (a.terms[i].term->op == OP_VAR && a.terms[i].term->id == x) {
			k = a.terms[i].coefficient;
			a.terms[i] = a.terms[--a.n];
			break;
		}
	if (k == HANDLE_NONE)
		return zero;
	if (loop_is_thread(var_at(v, x)->kind))
		drop_rounds(v, &a,
		    tape_mul(v->tape, magnitude(v, k), var_at(v, x)->extent));
	Hull rest =
	    nest_hull(v->nest, affine_expr(v->arena, v->tape, a), v->fixed.at);
	if (!rest.known)
		return zero;
	Handle span =
	    tape_add(v->tape, tape_sub(v->tape, rest.high, rest.low), one);
	return tape_at_most(v->tape, span, magnitude(v, k));
}

/* The same, told by axes, which do not leave their extents: index = k*axis +
 * rest, and another x is another value of the axis. */
static Handle tells_axis_apart(NestVerify *v, int stage, Expr *index, int x)
{
	const Stage *s = stage_at(v, stage);
	int axis = var_at(v, x)->axis;
	Handle span = tape_const(v->tape, 1), k = HANDLE_NONE;
	Affine a = affine_of(v->arena, v->tape, index);
	if (axis < 0 || index->op == OP_AXIS || s->tail == TAIL_PAD ||
	    s->place >= 0)
		return tape_const(v->tape, 0);
	for (int i = 0; i < a.n; i++) {
		const Expr *term = a.terms[i].term;
		if (term->op != OP_AXIS)
			return tape_const(v->tape, 0);
		if (term->id == axis)
			k = a.terms[i].coefficient;
		else
			span = tape_add(v->tape, span,
			    tape_mul(v->tape,
				magnitude(v, a.terms[i].coefficient),
				tape_const(v->tape,
				    s->axes[term->id].extent - 1)));
	}
	return k == HANDLE_NONE
	    ? tape_const(v->tape, 0)
	    : tape_mul(v->tape, tape_at_most(v->tape, span, magnitude(v, k)),
		  tells_apart(v, v->value[stage][axis], x));
}

static bool check_distinct(NestVerify *v, int stage, int x)
{
	const Stage *s = stage_at(v, stage);
	/* a loop that runs once does not run twice at once */
	Handle apart =
	    tape_at_most(v->tape, nest_covered(v->nest, x),
		tape_const(v->tape, 1));
	Expr *const *write =
	    nest_along_rows(v->arena, v->nest, s->buffer, s->write);
	for (int d = 0; d < s->nwrite; d++) {
		Expr *index = expr_substitute_axes(
		    v->arena, write[d], v->value[stage], s->naxes);
		apart = tape_max(v->tape, apart, tells_apart(v, index, x));
		apart = tape_max(v->tape, apart,
		    tells_axis_apart(v, stage, write[d], x));
	}
	return nest_require(v->nest, apart,
	    "iterations that run at once write the same element", v->why);
}

/* Parts one after the other: where the outer ones are equal, the next differs.
 */
static bool check_distinct_parts(NestVerify *v, int stage, int var)
{
	const Var *l = var_at(v, var);
	if (!l->nparts) {
		if (!check_distinct(v, stage, var))
			return false;
		fixed_mark(&v->fixed, var);
		return true;
	}
	for (int i = 0; i < l->nparts; i++)
		if (!check_distinct_parts(v, stage, l->parts[i]))
			return false;
	return true;
}

/* The fused loop that a loop was split from; the loop itself if none. */
static int fused_above(const NestVerify *v, int loop)
{
	int parent = var_at(v, loop)->parent;
	if (parent < 0 || var_at(v, parent)->axis >= 0)
		return loop;
	return fused_above(v, parent);
}

/* Elements that a stage writes below the loop differ between iterations. */
static bool check_writes(NestVerify *v, int stage, int loop)
{
	int at = chain_position(v, stage, loop), fused;
	fixed_clear(&v->fixed);
	for (int i = 0; i < at; i++)
		fix_loop(v, v->tree.chain[stage][i]);
	fused = fused_above(v, loop);
	if (fused != loop &&
	    !nest_require(v->nest,
		tells_apart(v, nest_var_value(v->nest, fused), loop),
		"iterations that run at once write the same element", v->why))
		return false;
	return check_distinct_parts(v, stage, fused);
}

/* Does the reader hang after what the same iteration of the loop wrote? */
static bool follows_in_iteration(
    const NestVerify *v, int writer, int reader, int loop)
{
	for (int s = reader; s >= 0; s = nest_tree_host(&v->tree, s)) {
		const Stage *r = stage_at(v, s);
		if (r->place >= 0 && r->after &&
		    nest_tree_below(&v->tree, writer, r->place))
			return chain_position(v, s, loop) <
			       nest_tree_above(&v->tree, s);
	}
	return false;
}

/* What is written and read below the loop is each iteration's own. */
static bool check_exchange(NestVerify *v, int writer, int loop)
{
	const Stage *w = stage_at(v, writer);
	const NestBuffer *b = written_by(v, writer);
	const NestReads *reads = &v->tree.readers[w->buffer];
	for (int i = 0; i < reads->n; i++) {
		int r = reads->at[i].stage;
		if (!nest_tree_below(&v->tree, r, loop) ||
		    (r == writer && w->carries >= 0))
			continue;
		if (b->scope == SCOPE_SHARED && w->barrier &&
		    loop_is_thread(var_at(v, loop)->kind))
			continue;
		if (!follows_in_iteration(v, writer, r, loop))
			return refuse(v,
			    "iterations that run at once write and "
			    "read one buffer");
	}
	return true;
}

/* Partial results that threads combine are temporaries. */
enum { RESULTS_MOST = 64 };

/* How many a thread has is the product of what is repeated in code. */
static bool check_across(NestVerify *v, int stage)
{
	const Stage *s = stage_at(v, stage);
	Handle n = tape_const(v->tape, nest_sharing(v->nest, v->arena,
					   nest_leader(v->nest, stage)).n);
	if (written_by(v, stage)->scope != SCOPE_REG)
		return refuse(v, "what threads reduce together is not in "
				 "registers");
	for (int i = 0; i < s->nloops; i++)
		if (var_at(v, s->loops[i])->kind == LOOP_UNROLL &&
		    !feeds_reduction(v, s->loops[i]))
			n = tape_mul(v->tape, n, var_at(v, s->loops[i])->extent);
	return nest_require(v->nest,
	    tape_at_most(v->tape, n, tape_const(v->tape, RESULTS_MOST)),
	    "threads reduce more results together than registers hold", v->why);
}

/* Steps of a reduction that run at once: lanes, or threads of a block, which are
 * combined at the end, in another order. */
static bool check_steps(NestVerify *v, int stage, int loop)
{
	const Stage *s = stage_at(v, stage);
	bool threads = loop_is_thread(var_at(v, loop)->kind);
	if (var_at(v, loop)->kind != LOOP_VECTOR && !threads)
		return refuse(v, "iterations of a reduction would run at once");
	if (threads && !check_across(v, stage))
		return false;
	return v->nest->program->numerics != NUMERICS_EXACT ||
	       !dtype_is_float(s->body->type) ||
	       refuse(v, "exact numerics keep the order of the reduction");
}

static bool check_concurrent(NestVerify *v, int stage, int loop)
{
	const NestBuffer *b = written_by(v, stage);
	if (var_at(v, loop)->stage == nest_leader(v->nest, stage) &&
	    feeds_reduction(v, loop))
		return check_steps(v, stage, loop);
	if (allocated_below(v, b, loop)) {
		if (b->scope == SCOPE_GLOBAL &&
		    is_thread(var_at(v, loop)->kind))
			return refuse(v, "a global buffer is made anew below a "
					 "parallel loop");
		return true;
	}
	return check_writes(v, stage, loop) && check_exchange(v, stage, loop);
}

static bool check_loops(NestVerify *v, int stage)
{
	const Stage *s = stage_at(v, stage);
	if (!check_nesting(v, stage))
		return false;
	for (int i = 0; i < s->nloops; i++)
		if (var_at(v, s->loops[i])->kind == LOOP_VECTOR &&
		    !check_lanes(v, s->loops[i]))
			return false;
	for (int i = 0; i < v->tree.nchain[stage]; i++) {
		int loop = v->tree.chain[stage][i];
		if (is_concurrent(var_at(v, loop)->kind) &&
		    !check_concurrent(v, stage, loop))
			return false;
	}
	return true;
}

/* --- where buffers live -------------------------------------------------- */

/* Is the loop inside of the place of a buffer? */
static bool is_inside(const NestVerify *v, const NestBuffer *b, int loop)
{
	return chain_position(v, b->writer, loop) < 0 ||
	    !allocated_below(v, b, loop);
}

/* A local or reg buffer is one thread's: no parallel loop between its
 * allocation and who uses it, but of a GPU's threads that share it out. */
static bool check_private(NestVerify *v, const NestBuffer *b, int user)
{
	for (int i = 0; i < v->tree.nchain[user]; i++) {
		int loop = v->tree.chain[user][i];
		LoopKind kind = var_at(v, loop)->kind;
		if (is_thread(kind) && is_inside(v, b, loop) &&
		    !(b->scope == SCOPE_REG && loop_is_thread(kind)))
			return refuse(v, "a buffer of one thread is used below "
					 "a parallel loop inside of its place");
	}
	return true;
}

/* Where an element lies in the buffer, by dimension. */
static Affine *place_of(
    NestVerify *v, const NestBuffer *b, int user, Expr **index)
{
	Affine *place = NEW_N(v->arena, Affine, b->ndim + 1);
	for (int d = 0; d < b->ndim; d++) {
		Expr *e = expr_substitute_axes(v->arena, index[d],
		    v->value[user], stage_at(v, user)->naxes);
		if (b->start[d])
			e = expr_binary(v->arena, OP_SUB, e, b->start[d]);
		place[d] = affine_of(v->arena, v->tape, e);
	}
	return place;
}

typedef struct {
	const NestVerify *v;
	int loop;
	bool found;
} LoopMoves;

static bool find_move(Expr *e, void *context)
{
	LoopMoves *m = context;
	if (e->op != OP_VAR)
		return !m->found;
	if (var_at(m->v, e->id)->how == VAR_LOOP)
		m->found |= e->id == m->loop;
	else
		expr_walk(nest_var_value(m->v->nest, e->id), find_move, m);
	return !m->found;
}

static bool moves_place(
    const NestVerify *v, const NestBuffer *b, const Affine *place, int loop)
{
	LoopMoves m = {v, loop, false};
	for (int d = 0; d < b->ndim; d++)
		for (int i = 0; i < place[d].n; i++)
			expr_walk(place[d].terms[i].term, find_move, &m);
	return m.found;
}

static bool is_one(const NestVerify *v, Handle n)
{
	int64_t value;
	return tape_is_const(v->tape, n, &value) && value == 1;
}

/* Is its place below a bound loop, so that each thread makes it? */
static bool is_launched(const NestVerify *v, const NestBuffer *b)
{
	const int *chain = v->tree.chain[b->writer];
	for (int i = 0; b->alloc >= 0; i++) {
		if (loop_is_bound(var_at(v, chain[i])->kind))
			return true;
		if (chain[i] == b->alloc)
			return false;
	}
	return false;
}

/* Has each thread of a direction all of the buffer?  As its writer has no loop of
 * these threads, or they reduce together; a reader in such a loop reads its own. */
static bool each_has_all(
    const NestVerify *v, int buffer, int user, const Affine *place, int loop)
{
	const NestBuffer *b = &v->nest->buffers.at[buffer];
	const Spread *s = &v->spread[buffer];
	if (!is_launched(v, b))
		return false;
	if (b->writer == user)
		return var_at(v, loop)->reduce;
	if (s->known && !s->by[loop_direction(var_at(v, loop)->kind)] &&
	    is_one(v, var_at(v, loop)->extent))
		return true; /* the first thread's */
	return !moves_place(v, b, place, loop);
}

/* Threads share the buffer out alike, whoever uses it. */
static bool check_spread(
    NestVerify *v, int buffer, int user, const Affine *place)
{
	const NestBuffer *b = &v->nest->buffers.at[buffer];
	Spread *first = &v->spread[buffer], own = {.known = true};
	for (int i = 0; i < v->tree.nchain[user]; i++) {
		int loop = v->tree.chain[user][i];
		LoopKind kind = var_at(v, loop)->kind;
		if (!loop_is_thread(kind) || !is_inside(v, b, loop) ||
		    each_has_all(v, buffer, user, place, loop))
			continue;
		int d = loop_direction(kind);
		own.by[d] = true;
		if (!nest_spread_digit(v->nest, loop, place, b->ndim,
			&own.digit[d], v->why))
			return false;
	}
	if (!first->known)
		*first = own;
	for (int d = 0; d < DIRECTIONS; d++) {
		if (own.by[d] != first->by[d])
			return refuse(v, "a thread reads registers of another "
					 "one");
		if (own.by[d] && !nest_spread_same(v->nest, &own.digit[d],
			&first->digit[d], v->why))
			return false;
	}
	return true;
}

typedef struct {
	const NestVerify *v;
	const NestBuffer *b;
	bool good;
} Registers;

static bool check_register_loop(Expr *e, void *context)
{
	Registers *r = context;
	if (e->op == OP_READ || e->op == OP_CAST)
		r->good = false; /* it depends on data */
	if (e->op != OP_VAR)
		return r->good;
	if (var_at(r->v, e->id)->how == VAR_FUSED) {
		expr_walk(
		    nest_var_value(r->v->nest, e->id), check_register_loop, r);
		return r->good;
	}
	LoopKind kind = var_at(r->v, e->id)->kind;
	if ((kind != LOOP_UNROLL && kind != LOOP_VECTOR &&
		!loop_is_thread(kind)) ||
	    (chain_position(r->v, r->b->writer, e->id) >= 0 &&
		allocated_below(r->v, r->b, e->id)))
		r->good = false;
	return r->good;
}

static bool check_registers(
    NestVerify *v, const NestBuffer *b, const Affine *place)
{
	for (int d = 0; d < b->ndim; d++) {
		Registers r = {v, b, true};
		for (int i = 0; i < place[d].n; i++)
			expr_walk(
			    place[d].terms[i].term, check_register_loop, &r);
		if (!r.good)
			return refuse(v, "an index of a register buffer moves "
					 "with a loop that is not unrolled");
	}
	return true;
}

static bool check_use(NestVerify *v, int buffer, int user, Expr **index)
{
	const NestBuffer *b = &v->nest->buffers.at[buffer];
	if (b->scope != SCOPE_LOCAL && b->scope != SCOPE_REG)
		return true;
	if (b->writer < 0 || nest_is_argument(v->nest, buffer))
		return refuse(v, "an input or output cannot be of one thread");
	if (!check_private(v, b, user))
		return false;
	if (b->scope != SCOPE_REG)
		return true;
	Affine *place = place_of(v, b, user, index);
	return check_registers(v, b, place) &&
	    check_spread(v, buffer, user, place);
}

static bool check_buffers(NestVerify *v, int stage)
{
	const Stage *s = stage_at(v, stage);
	ExprVec reads = v->tree.reads[stage];
	if (!check_use(v, s->buffer, stage, s->write))
		return false;
	for (int i = 0; i < reads.n; i++)
		if (!check_use(v, reads.at[i]->id, stage, reads.at[i]->arg))
			return false;
	return true;
}

/* --- padded tails -------------------------------------------------------- */

/* A value that is known: integers and floats that are computed exactly. */
typedef struct {
	bool known;
	double value;
} KnownValue;

typedef struct {
	const NestVerify *v;
	int axis; /* reads that it moves give their copy's fill */
} Padding;

static bool find_axis(Expr *e, void *context)
{
	int *axis = context;
	if (e->op == OP_AXIS && e->id == *axis)
		*axis = -1;
	return *axis >= 0;
}

static bool moves_with(Expr *e, int axis)
{
	expr_walk(e, find_axis, &axis);
	return axis < 0;
}

static KnownValue known_value(const Padding *p, const Expr *e);

static KnownValue known_binary(Op op, KnownValue a, KnownValue b)
{
	KnownValue r = {a.known && b.known, 0};
	switch (op) {
	case OP_ADD:
		r.value = a.value + b.value;
		break;
	case OP_SUB:
		r.value = a.value - b.value;
		break;
	case OP_MUL:
		r.value = a.value * b.value;
		break;
	case OP_MIN:
		r.value = a.value < b.value ? a.value : b.value;
		break;
	case OP_MAX:
		r.value = a.value > b.value ? a.value : b.value;
		break;
	default:
		r.known = false;
	}
	return r;
}

static KnownValue known_cast(const Expr *e, KnownValue a)
{
	bool fits = a.value == 0 || a.value == 1;
	if (dtype_is_float(e->type) && dtype_is_float(e->arg[0]->type))
		fits |= a.value - a.value != 0; /* an infinity */
	a.known &= fits;
	return a;
}

static KnownValue known_read(const Padding *p, const Expr *e)
{
	int w = p->v->nest->buffers.at[e->id].writer;
	if (w >= 0 && stage_at(p->v, w)->fill && moves_with((Expr *)e, p->axis))
		return known_value(p, stage_at(p->v, w)->fill);
	return (KnownValue){false, 0};
}

static KnownValue known_if(const Padding *p, const Expr *e)
{
	KnownValue a = known_value(p, e->arg[1]), b = known_value(p, e->arg[2]);
	a.known &= b.known && a.value == b.value;
	return a;
}

static KnownValue known_value(const Padding *p, const Expr *e)
{
	KnownValue a;
	switch (e->op) {
	case OP_INT: return (KnownValue){true, (double)e->i};
	case OP_FLOAT: return (KnownValue){true, e->f};
	case OP_READ:
		return known_read(p, e);
	case OP_IF:
		return known_if(p, e);
	case OP_CAST:
		return known_cast(e, known_value(p, e->arg[0]));
	case OP_NEG:
		a = known_value(p, e->arg[0]);
		a.value = -a.value;
		return a;
	default:
		if (e->narg != 2)
			return (KnownValue){false, 0};
		return known_binary(e->op, known_value(p, e->arg[0]),
		    known_value(p, e->arg[1]));
	}
}

/* Past the end of a reduction axis a read at the axis itself, of a copy that
 * ends there too, is FILL. */
static bool ends_with(
    const NestVerify *v, const Expr *read, const StageAxis *axis, int number)
{
	const NestBuffer *b = &v->nest->buffers.at[read->id];
	for (int d = 0; d < read->narg; d++)
		if (read->arg[d]->op == OP_AXIS && read->arg[d]->id == number &&
		    b->shape[d] == axis->extent)
			return true;
	return false;
}

/* Is what the writer stores rounded up to the tiles of this reader? */
static bool is_padded_for(const NestVerify *v, int writer, int reader)
{
	return writer >= 0 && stage_at(v, writer)->fill &&
	    !stage_at(v, writer)->after &&
	    !nest_tree_follows(&v->tree, reader, writer);
}

static const char *padding_refusal(NestVerify *v, int stage, int number)
{
	const Stage *s = stage_at(v, stage);
	const StageAxis *axis = &s->axes[number];
	ExprVec reads = v->tree.reads[stage];
	if (!axis->reduce && nest_is_argument(v->nest, s->buffer))
		return "a padded tail writes an output";
	for (int i = 0; i < reads.n; i++) {
		Expr *read = reads.at[i];
		int w = v->nest->buffers.at[read->id].writer;
		if (!moves_with(read, number))
			continue;
		if (!is_padded_for(v, w, stage))
			return "a padded tail reads what is not padded for it";
		if (axis->reduce && !ends_with(v, read, axis, number))
			return "a padded reduction reads what does not end "
			       "with its axis";
	}
	if (!axis->reduce)
		return NULL;
	Padding p = {v, number};
	Expr *identity = expr_identity(v->arena, s->reduce, s->body->type);
	KnownValue a = known_value(&p, s->body), b = known_value(&p, identity);
	if (!a.known || !b.known || a.value != b.value)
		return "a padded reduction adds more than its identity";
	return NULL;
}

/* 1 if start + value stays in the axis. */
static Handle stays_inside(NestVerify *v, const StageAxis *axis)
{
	Tape *tape = v->tape;
	Handle zero = tape_const(tape, 0), low = zero, high = zero;
	if (axis->start) {
		fixed_clear(&v->fixed);
		Hull start = nest_hull(v->nest, axis->start, v->fixed.at);
		if (!start.known)
			return zero;
		low = start.low;
		high = start.high;
	}
	high = tape_add(tape, high, nest_covered(v->nest, axis->var));
	return tape_min(tape, tape_at_most(tape, zero, low),
	    tape_at_most(tape, high, tape_const(tape, axis->extent)));
}

static bool check_padding(NestVerify *v, int stage)
{
	const Stage *s = stage_at(v, stage);
	for (int a = 0; s->tail == TAIL_PAD && a < s->naxes; a++) {
		const char *why;
		if (!s->axes[a].below && !s->axes[a].above)
			continue;
		why = padding_refusal(v, stage, a);
		if (why && !nest_require(v->nest, stays_inside(v, &s->axes[a]),
			       why, v->why))
			return false;
	}
	return true;
}

/* --- shared loops -------------------------------------------------------- */

/* The loops are narrowed for all of them. */
static bool check_sharing(NestVerify *v, int stage)
{
	const Stage *s = stage_at(v, stage);
	if (s->with < 0)
		return true;
	assert(stage_at(v, s->with)->live);
	assert(s->place == stage_at(v, s->with)->place);
	return nest_same_steps(v->nest, v->arena, stage, s->with) ||
	       refuse(v, "steps of blocks that share loops count under other "
			 "conditions");
}

/* --- the whole ----------------------------------------------------------- */

static void find_values(NestVerify *v)
{
	const Nest *nest = v->nest;
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i];
		v->rank[s] = i;
		v->value[s] = NEW_N(v->arena, Expr *, stage_at(v, s)->naxes);
		for (int a = 0; a < stage_at(v, s)->naxes; a++)
			v->value[s][a] = nest_axis_form(nest, s, a);
	}
}

bool nest_verify(Nest *nest, const char **why)
{
	Arena *arena = nest->arena;
	NestVerify v = {
	    .nest = nest,
	    .arena = arena,
	    .tape = nest->tape,
	    .tree = nest_tree(nest),
	    .value = NEW_N(arena, Expr **, nest->stages.n),
	    .fixed = fixed_vars(nest),
	    .rank = NEW_N(arena, int, nest->stages.n),
	    .spread = NEW_N(arena, Spread, nest->buffers.n),
	    .why = why,
	};
	assert(nest->inferred);
	*why = NULL;
	find_values(&v);
	if (!check_outputs(&v))
		return false;
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i];
		if (!check_reads(&v, s) || !check_init(&v, s) ||
		    !check_carried(&v, s) ||
		    !check_loops(&v, s) || !check_buffers(&v, s) ||
		    !check_padding(&v, s) || !check_sharing(&v, s))
			return false;
	}
	if (!nest_launches_verify(nest, &v.tree, why))
		return false;
	nest->ninferred = nest->guards.n - nest->first_inferred;
	return true;
}
