/* What follows from a nest's structure: regions, extents, predicates, buffers.
 *
 *     for c.mo in _                      c.i is [_, 6], so mo is ceildiv(n, 6)
 *       ap[i, k] = a[i, k]               placed at mo: i starts at mo*6 and
 *       for c.k, c.mi in 6 ...           takes 6 values, k takes all
 *
 * Needs the structure alone; sets everything marked (inferred) in nest.h.
 * Stages are visited readers first, because a region is the hull of its
 * readers' accesses; a stage placed after a loop's body (reverse_compute_at)
 * comes after what it reads there, because its region is what was written. */
#include "ir/intrinsic.h"
#include "ir/nest/nest_internal.h"

#include <assert.h>

typedef struct {
	Nest *nest;
	Arena *arena;
	Tape *tape;
	NestTree tree;
	bool *done;    /* by stage */
	bool *sized;   /* by variable: its extent is known */
	Expr ***value; /* by stage and axis: its form */
	FixedVars fixed; /* scratch */
	const char **why;
} Infer;

static bool refuse(Infer *f, const char *why)
{
	*f->why = why;
	return false;
}

static Stage *stage_at(Infer *f, int stage)
{
	return &f->nest->stages.at[stage];
}

/* --- the tree ------------------------------------------------------------ */

/* Is the stage hung, through any number of places, below `host`'s loops? */
static bool hangs_below(const Infer *f, int stage, int host)
{
	for (int s = nest_tree_host(&f->tree, stage); s >= 0;
	     s = nest_tree_host(&f->tree, s))
		if (s == host)
			return true;
	return false;
}

/* What lowers and prints loops goes down them by recursion, and each region is
 * found once for each block around. */
enum { PLACES_MOST = 256, LOOPS_MOST = 2048 };

static bool check_places(Infer *f)
{
	const Nest *nest = f->nest;
	for (int i = 0; i < nest->order.n; i++) {
		int depth = 0, loops = 0;
		for (int s = nest->order.at[i];
		     nest->stages.at[s].place >= 0;) {
			int place = nest->stages.at[s].place;
			s = nest->vars.at[place].stage;
			if (!nest->stages.at[s].live ||
			    nest_loop_position(nest, place) < 0)
				return refuse(
				    f, "the place of a block is no loop");
			if (++depth > nest->order.n)
				return refuse(
				    f, "blocks are placed in a circle");
			if (depth > PLACES_MOST)
				return refuse(f, "more than 256 blocks are at "
						 "one another's loops");
			loops += nest_loop_position(nest, place) + 1;
		}
		loops += nest->stages.at[nest->order.at[i]].nloops;
		if (loops > LOOPS_MOST)
			return refuse(
			    f, "more than 2,048 loops are in one another");
	}
	return true;
}

/* The loops above a stage's own, or down to and with `loop`, stand still. */
static const bool *fix_above(Infer *f, int stage, int count)
{
	fixed_clear(&f->fixed);
	for (int i = 0; i < count; i++)
		fixed_mark(&f->fixed, f->tree.chain[stage][i]);
	return f->fixed.at;
}

/* --- extents of variables ------------------------------------------------- */

static bool size_var(Infer *f, int var, Handle extent);

static bool size_children(Infer *f, int var)
{
	Nest *nest = f->nest;
	const Var *v = &nest->vars.at[var];
	Handle inner = tape_const(f->tape, 1);
	for (int i = 1; i < v->nchild; i++)
		inner =
		    tape_mul(f->tape, inner, nest->vars.at[v->child[i]].extent);
	if (!nest_is_root(nest, var) && !nest_may_run_past(nest, var) &&
	    !nest_require(nest, tape_multiple(f->tape, v->extent, inner),
		"the tile does not divide the extent of the inner or fused "
		"loop that it splits",
		f->why))
		return false;
	if (!size_var(f, v->child[0], tape_ceildiv(f->tape, v->extent, inner)))
		return false;
	for (int i = 1; i < v->nchild; i++)
		if (!size_var(
			f, v->child[i], nest->vars.at[v->child[i]].extent))
			return false;
	return true;
}

/* Once the last part of a fused loop is known. */
static bool size_fused(Infer *f, int loop)
{
	Nest *nest = f->nest;
	Var *v = &nest->vars.at[loop];
	Handle product = tape_const(f->tape, 1);
	for (int i = 0; i < v->nparts; i++)
		if (!f->sized[v->parts[i]])
			return true;
	for (int i = v->nparts - 1; i >= 0; i--) {
		Var *part = &nest->vars.at[v->parts[i]];
		part->div = product;
		product = tape_mul(f->tape, product, part->extent);
	}
	return size_var(f, loop, product);
}

static bool size_var(Infer *f, int var, Handle extent)
{
	Var *v = &f->nest->vars.at[var];
	v->extent = extent;
	f->sized[var] = true;
	switch (v->how) {
	case VAR_SPLIT:
		return size_children(f, var);
	case VAR_FUSED:
		return size_fused(f, v->fused);
	case VAR_LOOP:
		break;
	}
	return true;
}

/* --- regions ------------------------------------------------------------- */

/* The least hull that has both; unknown where they move apart. */
static void join(Infer *f, Hull *all, const Hull *h, bool first)
{
	if (first) {
		*all = *h;
		return;
	}
	all->known &= h->known && hull_same_outer(all, h);
	all->low = tape_min(f->tape, all->low, h->low);
	all->high = tape_max(f->tape, all->high, h->high);
}

static Expr *over_loops(Infer *f, int stage, Expr *index)
{
	return expr_substitute_axes(
	    f->arena, index, f->value[stage], stage_at(f, stage)->naxes);
}

/* A reader that follows the stage's own loops takes what it writes, and in the
 * end all of it; one at an index that depends on data may take any. */
static Hull hull_of_read(
    Infer *f, int reader, int buffer, Expr *index, int dim, const bool *fixed)
{
	int64_t last = f->nest->buffers.at[buffer].shape[dim] - 1;
	Handle zero = tape_const(f->tape, 0);
	if (f->done[reader] && !expr_has_data(index))
		return nest_hull(f->nest, over_loops(f, reader, index), fixed);
	return (Hull){{zero, 0, NULL}, zero, tape_const(f->tape, last), true};
}

/* All that is read of one dimension of a stage's buffer. */
static void hull_of_reads(
    Infer *f, int stage, int dim, const bool *fixed, Hull *all)
{
	int buffer = stage_at(f, stage)->buffer;
	const NestReads *reads = &f->tree.readers[buffer];
	for (int i = 0; i < reads->n; i++) {
		const NestRead *r = &reads->at[i];
		Hull h = hull_of_read(
		    f, r->stage, buffer, r->read->arg[dim], dim, fixed);
		join(f, all, &h, !i);
	}
}

static Expr *start_expr(Infer *f, const Hull *h)
{
	int64_t zero;
	if (!h->outer.n && tape_is_const(f->tape, h->low, &zero) && !zero)
		return NULL;
	Affine sum = {h->low, h->outer.n, h->outer.terms};
	return affine_expr(f->arena, f->tape, sum);
}

static Handle span_of(Infer *f, const Hull *h)
{
	return tape_add(f->tape, tape_sub(f->tape, h->high, h->low),
	    tape_const(f->tape, 1));
}

/* The axis that is a whole index; -1. */
static int plain_axis(const Expr *e)
{
	return e->op == OP_AXIS ? e->id : -1;
}

static void whole_axes(Infer *f, Stage *s)
{
	for (int a = 0; a < s->naxes; a++) {
		s->axes[a].start = NULL;
		s->axes[a].region = tape_const(f->tape, s->axes[a].extent);
	}
}

static bool check_readers(Infer *f, int stage)
{
	const Stage *s = stage_at(f, stage);
	const NestReads *reads = &f->tree.readers[s->buffer];
	for (int i = 0; i < reads->n; i++)
		if (s->place >= 0 && !nest_tree_below(&f->tree,
					 reads->at[i].stage, s->place))
			return refuse(f,
			    "a block that reads the buffer is not "
			    "below the place where it is computed");
	return reads->n || refuse(f, "nothing reads what the block computes there");
}

/* What the readers need: exact where it moves with the loops above by one
 * affine form, else all that is read in the whole run. */
static bool region_from_reads(Infer *f, int stage)
{
	Stage *s = stage_at(f, stage);
	if (!check_readers(f, stage))
		return false;
	for (int d = 0; d < s->nwrite; d++) {
		int axis = plain_axis(s->write[d]);
		Hull all = {0};
		if (axis < 0 || s->axes[axis].reduce)
			continue;
		hull_of_reads(f, stage, d,
		    fix_above(f, stage, nest_tree_above(&f->tree, stage)),
		    &all);
		if (!all.known)
			hull_of_reads(
			    f, stage, d, fix_above(f, stage, 0), &all);
		if (!all.known)
			continue;
		s->axes[axis].start = start_expr(f, &all);
		s->axes[axis].region = span_of(f, &all);
	}
	return true;
}

/* What is written from 0 on is taken as far as the axis goes, not up to the
 * writer's tile. */
static void follow_write(Infer *f, StageAxis *axis, const Hull *written)
{
	Handle whole = tape_const(f->tape, axis->extent);
	Handle region = span_of(f, written);
	axis->start = start_expr(f, written);
	axis->region = !axis->start && tape_known_nonnegative(f->tape,
					   tape_sub(f->tape, region, whole))
			   ? whole
			   : region;
}

typedef struct {
	Infer *f;
	const Stage *writer;
	bool whole;
} Tiles;

static bool check_tiles(Expr *e, void *context)
{
	Tiles *t = context;
	if (e->op != OP_AXIS)
		return t->whole;
	const StageAxis *a = &t->writer->axes[e->id];
	t->whole = nest_require(t->f->nest,
	    tape_at_most(t->f->tape, nest_covered(t->f->nest, a->var),
		tape_const(t->f->tape, a->extent)),
	    "tiles of an axis that is a part of an index run past its end",
	    t->f->why);
	return t->whole;
}

/* An index of several axes (k*a + b, of an axis that was divided): where tiles of
 * one run past its end, that is no element behind it. */
static bool writes_whole_tiles(Infer *f, int writer, Expr *index)
{
	Tiles t = {f, stage_at(f, writer), true};
	if (index->op != OP_AXIS)
		expr_walk(index, check_tiles, &t);
	return t.whole;
}

/* An axis of what follows takes what the loops of `writer` make of an index. */
static bool region_from_index(Infer *f, int stage, int axis, int writer,
    Expr *index, Hull *seen, bool *has)
{
	Stage *s = stage_at(f, stage);
	const bool *fixed =
	    fix_above(f, stage, nest_tree_above(&f->tree, stage));
	if (!writes_whole_tiles(f, writer, index))
		return false;
	index = over_loops(f, writer, index);
	Hull h = nest_hull(f->nest, index, fixed);
	Handle dense = nest_hull_dense(f->nest, index, fixed);
	if (!nest_require(f->nest, dense,
		"what is written below the loop has gaps", f->why))
		return false;
	if (axis < 0 || !h.known)
		return refuse(f, "what is read below the loop is not "
				 "read at an axis of the block");
	if (has[axis] &&
	    (!hull_same_outer(&seen[axis], &h) ||
		seen[axis].low != h.low || seen[axis].high != h.high))
		return refuse(f, "the block's axis would follow two "
				 "different regions");
	seen[axis] = h;
	has[axis] = true;
	if (s->axes[axis].reduce)
		return !h.outer.n ||
		    refuse(f, "a reduction of the block is "
			      "not complete below the loop");
	follow_write(f, &s->axes[axis], &h);
	return true;
}

/* One read below a loop of what is written there: each axis that is an index
 * takes what the writer writes of that dimension. */
static bool region_from_write(
    Infer *f, int stage, const Expr *read, Hull *seen, bool *has)
{
	int writer = f->nest->buffers.at[read->id].writer;
	const Stage *w = stage_at(f, writer);
	for (int d = 0; d < read->narg; d++)
		if (!region_from_index(f, stage, plain_axis(read->arg[d]),
			writer, w->write[d], seen, has))
			return false;
	return true;
}

/* It reads nothing of the loop's block: its axes are that one's. */
static bool region_beside(Infer *f, int stage, Hull *seen, bool *has)
{
	const Stage *s = stage_at(f, stage);
	int host = nest_tree_host(&f->tree, stage);
	int *axis_of = NEW_N(f->arena, int, s->naxes);
	if (!nest_colocated(f->nest, stage, host, axis_of))
		return refuse(
		    f, "blocks beside each other have other axes");
	for (int a = 0; a < s->naxes; a++)
		if (axis_of[a] >= 0 &&
		    !region_from_index(f, stage, a, host,
			expr_axis(f->arena, axis_of[a]), seen, has))
			return false;
	return true;
}

static bool region_from_writes(Infer *f, int stage)
{
	Stage *s = stage_at(f, stage);
	Hull *seen = NEW_N(f->arena, Hull, s->naxes);
	bool *has = NEW_N(f->arena, bool, s->naxes), any = false;
	ExprVec reads = f->tree.reads[stage];
	for (int h = nest_tree_host(&f->tree, stage); h >= 0;
	     h = nest_tree_host(&f->tree, h))
		if (stage_at(f, h)->place >= 0 && !stage_at(f, h)->after)
			return refuse(f,
			    "the loop is of a block that is itself "
			    "computed at a loop");
	for (int i = 0; i < reads.n; i++) {
		int w = f->nest->buffers.at[reads.at[i]->id].writer;
		if (w < 0 || !nest_tree_below(&f->tree, w, s->place))
			continue;
		/* computed there for its readers: sized by them later */
		if (stage_at(f, w)->place >= 0 && !stage_at(f, w)->after &&
		    !f->done[w])
			continue;
		any = true;
		if (!region_from_write(f, stage, reads.at[i], seen, has))
			return false;
	}
	return any || region_beside(f, stage, seen, has);
}

/* Does a stage at the root compute what is read of it, tiles of its readers
 * rounded up?  Copies that a primitive made do, and what is padded. */
static bool follows_readers(const Infer *f, const Stage *s)
{
	bool made = f->nest->buffers.at[s->buffer].program_buffer < 0;
	return (s->is_copy && made) || s->fill;
}

/* A definition that is computed at the root is computed whole. */
static bool find_region(Infer *f, int stage)
{
	Stage *s = stage_at(f, stage);
	const NestBuffer *b = &f->nest->buffers.at[s->buffer];
	bool output =
	    b->program_buffer >= 0 &&
	    f->nest->program->buffers[b->program_buffer].role == BUFFER_OUTPUT;
	whole_axes(f, s);
	if (s->place >= 0 && s->after)
		return region_from_writes(f, stage);
	if (s->place >= 0 && output)
		return refuse(f, "an output is computed whole");
	if (s->place >= 0 || follows_readers(f, s))
		return region_from_reads(f, stage);
	return true;
}

/* Where start + value can be, over all loops. */
static void find_predicate(Infer *f, StageAxis *axis)
{
	Tape *tape = f->tape;
	Handle zero = tape_const(tape, 0), one = tape_const(tape, 1);
	Handle last = tape_const(tape, axis->extent - 1);
	Hull start = {{zero, 0, NULL}, zero, zero, true};
	if (axis->start)
		start = nest_hull(f->nest, axis->start, fix_above(f, 0, 0));
	start.known &= !start.outer.n;
	Handle high = tape_add(tape, start.high,
	    tape_sub(tape, nest_covered(f->nest, axis->var), one));
	axis->below = !start.known || !tape_known_nonnegative(tape, start.low);
	axis->above = !start.known ||
		      !tape_known_nonnegative(tape, tape_sub(tape, last, high));
	axis->end = start.known ? tape_add(tape, high, one) : HANDLE_NONE;
}

/* What follows a producer's loop must not run past what was written there. */
static bool check_exact(Infer *f, int stage)
{
	const Stage *s = stage_at(f, stage);
	for (int a = 0; s->place >= 0 && s->after && a < s->naxes; a++) {
		const StageAxis *axis = &s->axes[a];
		Handle whole = tape_const(f->tape, axis->extent);
		if (!axis->start && axis->region == whole)
			continue;
		if (!nest_require(f->nest,
			tape_equal(f->tape, axis->region,
			    nest_covered(f->nest, axis->var)),
			"the tile does not divide what the loop's block wrote",
			f->why))
			return false;
	}
	return true;
}

static bool same_start(const Expr *a, const Expr *b)
{
	return a && b ? expr_equal(a, b) : a == b;
}

/* Stages in the same loops compute the same part of their axes. */
static bool check_shared(Infer *f, int stage)
{
	const Stage *s = stage_at(f, stage);
	int leader = nest_leader(f->nest, stage);
	bool sharing = nest_is_sharing(f->nest, stage);
	for (int i = 0; sharing && i < f->nest->order.n; i++) {
		int other = f->nest->order.at[i];
		const Stage *o = stage_at(f, other);
		if (!f->done[other] || nest_leader(f->nest, other) != leader)
			continue;
		assert(o->naxes == s->naxes && o->place == s->place);
		for (int a = 0; a < s->naxes; a++)
			if (s->axes[a].region != o->axes[a].region ||
			    !same_start(s->axes[a].start, o->axes[a].start))
				return refuse(f, "blocks that share loops need "
						 "other parts of their axes");
	}
	return true;
}

static bool infer_stage(Infer *f, int stage)
{
	Stage *s = stage_at(f, stage);
	if (!find_region(f, stage) || !check_shared(f, stage))
		return false;
	for (int a = 0; a < s->naxes; a++)
		if (!size_var(f, s->axes[a].var, s->axes[a].region))
			return false;
	if (!check_exact(f, stage))
		return false;
	f->value[stage] = NEW_N(f->arena, Expr *, s->naxes);
	for (int a = 0; a < s->naxes; a++) {
		f->value[stage][a] = nest_axis_form(f->nest, stage, a);
		find_predicate(f, &s->axes[a]);
	}
	return true;
}

/* --- the order of stages -------------------------------------------------- */

static bool ready_after(Infer *f, int stage)
{
	const Stage *s = stage_at(f, stage);
	ExprVec reads = f->tree.reads[stage];
	if (!f->done[nest_tree_host(&f->tree, stage)])
		return false;
	for (int i = 0; i < reads.n; i++) {
		int w = f->nest->buffers.at[reads.at[i]->id].writer;
		if (w < 0 || f->done[w] ||
		    !nest_tree_below(&f->tree, w, s->place))
			continue;
		/* what is made before for several is sized by all of them */
		if (stage_at(f, w)->place < 0 || stage_at(f, w)->after ||
		    (!hangs_below(f, w, nest_leader(f->nest, stage)) &&
			nest_tree_follows(&f->tree, stage, w)))
			return false;
	}
	return true;
}

static bool ready(Infer *f, int stage)
{
	const Stage *s = stage_at(f, stage);
	const NestReads *reads = &f->tree.readers[s->buffer];
	if (s->place >= 0 && s->after)
		return ready_after(f, stage);
	if (s->place < 0 && !follows_readers(f, s))
		return true;
	for (int i = 0; i < reads->n; i++) {
		int r = reads->at[i].stage;
		/* one that follows takes its region from the writer */
		if (!f->done[r] && r != stage &&
		    !nest_tree_follows(&f->tree, r, stage))
			return false;
	}
	return true;
}

static bool infer_stages(Infer *f)
{
	const Nest *nest = f->nest;
	for (int left = nest->order.n; left;) {
		int before = left;
		for (int i = nest->order.n - 1; i >= 0; i--) {
			int s = nest->order.at[i];
			if (f->done[s] || !ready(f, s))
				continue;
			if (!infer_stage(f, s))
				return false;
			f->done[s] = true;
			left--;
		}
		if (left == before)
			return refuse(f, "the places of blocks wait for each "
					 "other");
	}
	return true;
}

/* --- buffers ------------------------------------------------------------- */

/* How many loops, from outside, the writer and all readers have in common.  A
 * global buffer is not made anew by the writer's own loops, and none below the
 * place where a reduction into it starts. */
static int common_loops(Infer *f, int buffer)
{
	const Nest *nest = f->nest;
	const NestBuffer *b = &nest->buffers.at[buffer];
	const NestReads *reads = &f->tree.readers[buffer];
	int w = b->writer, n = f->tree.nchain[w];
	const Stage *s = stage_at(f, w);
	if (b->scope == SCOPE_GLOBAL)
		n = nest_tree_above(&f->tree, w);
	else if (s->reduce != REDUCE_NONE && s->init_at >= 0)
		n = nest_tree_above(&f->tree, w) +
		    nest_loop_position(nest, s->init_at);
	for (int i = 0; i < reads->n; i++) {
		int r = reads->at[i].stage, k = 0;
		while (k < n && k < f->tree.nchain[r] &&
		       f->tree.chain[r][k] == f->tree.chain[w][k])
			k++;
		n = k;
	}
	return reads->n ? n : nest_tree_above(&f->tree, w);
}

static void hold_whole(Infer *f, NestBuffer *b)
{
	b->alloc = -1;
	for (int d = 0; d < b->ndim; d++) {
		b->start[d] = NULL;
		b->extent[d] = tape_const(f->tape, b->shape[d]);
	}
}

/* What is written below the loop that the buffer is allocated at. */
static void hold_region(Infer *f, int buffer)
{
	NestBuffer *b = &f->nest->buffers.at[buffer];
	const Stage *w = stage_at(f, b->writer);
	int n = common_loops(f, buffer);
	if (!n && nest_lies_whole(f->nest, b)) {
		hold_whole(f, b);
		return;
	}
	b->alloc = n ? f->tree.chain[b->writer][n - 1] : -1;
	for (int d = 0; d < b->ndim; d++) {
		Expr *index = over_loops(f, b->writer, w->write[d]);
		Hull h = nest_hull(f->nest, index, fix_above(f, b->writer, n));
		if (!h.known)
			h = nest_hull(
			    f->nest, index, fix_above(f, b->writer, 0));
		b->start[d] = h.known ? start_expr(f, &h) : NULL;
		b->extent[d] =
		    h.known ? span_of(f, &h) : tape_const(f->tape, b->shape[d]);
	}
}

enum { SLOT_ELEMENTS = 64, SWIZZLED = 8 };

/* What changes places does so inside of whole rows, 8 of 128 bytes. */
static Handle rounded(Infer *f, Handle elements, int64_t to)
{
	Handle unit = tape_const(f->tape, to);
	return tape_mul(
	    f->tape, unit, tape_ceildiv(f->tape, elements, unit));
}

/* How far the last lanes of dot products that read it reach behind its end, where
 * their axis ends inside of a vector: what they read there is nobody's. */
static int64_t reached_behind(Infer *f, int buffer)
{
	const NestBuffer *b = &f->nest->buffers.at[buffer];
	const NestReads *reads = &f->tree.readers[buffer];
	int64_t most = 0;
	for (int i = 0; i < reads->n && b->scope != SCOPE_REG &&
	     b->scope != SCOPE_SHARED; i++) {
		const Stage *s = stage_at(f, reads->at[i].stage);
		const Intrinsic *in =
		    s->intrinsic >= 0 ? intrinsic_at(s->intrinsic) : NULL;
		for (int k = 0; k < s->nloops && in && !in->rows; k++) {
			const Var *v = &f->nest->vars.at[s->loops[k]];
			int64_t lanes;
			if (v->kind == LOOP_VECTOR && v->axis >= 0 &&
			    tape_is_const(f->tape, v->extent, &lanes) &&
			    s->axes[v->axis].extent % lanes &&
			    (lanes - 1) * in->terms > most)
				most = (lanes - 1) * in->terms;
		}
	}
	return most;
}

static void lay_out(Infer *f, NestBuffer *b, int64_t behind)
{
	Tape *tape = f->tape;
	Handle stride = tape_const(tape, 1);
	for (int i = b->nparts - 1; i >= 0; i--) {
		LayoutPart *p = &b->parts[i];
		p->extent = p->mod != HANDLE_NONE
				? p->mod
				: tape_ceildiv(tape, b->extent[p->dim], p->div);
		if (i == b->align_part) {
			Handle over = tape_sub(tape, stride, b->align_offset);
			stride = tape_add(tape, b->align_offset,
			    tape_mul(tape, b->align_factor,
				tape_ceildiv(tape, over, b->align_factor)));
		}
		p->stride = stride;
		stride = tape_mul(tape, stride, p->extent);
	}
	stride = tape_add(tape, stride, tape_const(tape, behind));
	if (b->swizzle)
		stride = rounded(f, stride,
		    SWIZZLED * b->swizzle / dtype_bytes(b->type));
	b->elements = b->slot = stride;
	if (b->slots == HANDLE_NONE)
		return;
	/* each begins where vectors may */
	if (!b->swizzle)
		b->slot = rounded(f, stride, SLOT_ELEMENTS);
	b->elements = tape_mul(tape, b->slot, b->slots);
}

static void infer_buffers(Infer *f)
{
	Nest *nest = f->nest;
	for (int i = 0; i < nest->buffers.n; i++) {
		NestBuffer *b = &nest->buffers.at[i];
		if (nest_is_argument(nest, i) || b->writer < 0 ||
		    !nest->stages.at[b->writer].live)
			hold_whole(f, b);
		else
			hold_region(f, i);
		lay_out(f, b,
		    nest_is_argument(nest, i) ? 0 : reached_behind(f, i));
	}
}

/* --- pack functions ------------------------------------------------------- */

/* The one const input that all a stage reads comes from, or what is made of that
 * in its loops or before it; -1.  `most`: so many stages one after the other. */
static int made_of(const Infer *f, int stage, int most)
{
	const Nest *nest = f->nest;
	ExprVec reads = f->tree.reads[stage];
	int input = -1;
	for (int i = 0; i < reads.n; i++) {
		const NestBuffer *b = &nest->buffers.at[reads.at[i]->id];
		int from = b->program_buffer, of = -1;
		if (b->writer >= 0 && most &&
		    (nest->stages.at[b->writer].ahead ||
			(b->scope == SCOPE_REG &&
			    hangs_below(f, b->writer, stage))))
			of = made_of(f, b->writer, most - 1);
		else if (from >= 0 && nest->program->buffers[from].is_const)
			of = from;
		if (of < 0 || (input >= 0 && of != input))
			return -1;
		input = of;
	}
	return input;
}

/* All that hangs at its loops is made for it there. */
static bool hosts_own(const Infer *f, int stage)
{
	for (int i = 0; i < f->nest->order.n; i++) {
		int s = f->nest->order.at[i];
		const Stage *of = &f->nest->stages.at[s];
		if (hangs_below(f, s, stage) &&
		    (of->after ||
			f->nest->buffers.at[of->buffer].scope != SCOPE_REG))
			return false;
	}
	return true;
}

static bool runs_ahead(Infer *f, int stage)
{
	const Nest *nest = f->nest;
	const Stage *s = stage_at(f, stage);
	const NestBuffer *to = &nest->buffers.at[s->buffer];
	return s->place < 0 && to->scope == SCOPE_GLOBAL &&
	    to->program_buffer < 0 && !nest_is_sharing(nest, stage) &&
	    hosts_own(f, stage) && made_of(f, stage, nest->order.n) >= 0;
}

static void find_ahead(Infer *f)
{
	const Nest *nest = f->nest;
	for (int i = 0; i < nest->order.n; i++)
		stage_at(f, nest->order.at[i])->ahead = false;
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i];
		stage_at(f, s)->ahead = runs_ahead(f, s);
	}
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i];
		for (int h = s; h >= 0; h = nest_tree_host(&f->tree, h))
			stage_at(f, s)->ahead |= runs_ahead(f, h);
	}
}

/* --- the whole ------------------------------------------------------------ */

/* Guards of an earlier inference and verification make room for new ones. */
static void drop_inferred_guards(Nest *nest)
{
	int from = nest->first_inferred, n = nest->ninferred;
	for (int i = from + n; i < nest->guards.n; i++)
		nest->guards.at[i - n] = nest->guards.at[i];
	nest->guards.n -= n;
	nest->first_inferred = nest->guards.n;
	nest->ninferred = 0;
}

bool nest_infer(Nest *nest, const char **why)
{
	Arena *arena = nest->arena;
	Infer f = {
	    .nest = nest,
	    .arena = arena,
	    .tape = nest->tape,
	    .done = NEW_N(arena, bool, nest->stages.n),
	    .sized = NEW_N(arena, bool, nest->vars.n),
	    .value = NEW_N(arena, Expr **, nest->stages.n),
	    .fixed = fixed_vars(nest),
	    .why = why,
	};
	nest_assert_structure(nest);
	*why = NULL;
	nest->inferred = false;
	drop_inferred_guards(nest);
	if (!check_places(&f))
		return false;
	f.tree = nest_tree(nest);
	if (!infer_stages(&f))
		return false;
	infer_buffers(&f);
	find_ahead(&f);
	nest->ninferred = nest->guards.n - nest->first_inferred;
	nest->inferred = true;
	nest_assert_inferred(nest);
	return true;
}
