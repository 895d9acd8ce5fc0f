/* Two dimensions of a buffer, one behind the other, as one: what goes over both
 * of them whole, row by row, goes over all that lies there side by side.
 *
 *     y[i] = sum[r < 7, s < 7](x[i, r, s])      x[i, 0, s], s < 49
 *
 * A block that does so along axes of its results writes such dimensions, and
 * whatever else it reads along these axes has them: they are flat together, or
 * none is.
 *
 *     e[i, r, s] = exp(x[i, r, s])*z[r, s]      e, x and z
 *
 * Rows that lie a number of rows further on lie so many times their length on, and
 * what results read for a place in a row, is read for each of them again.
 *
 *     y[j, c] = x[j + t, c] - m[c]         x[0, c + 3*t] - m[c % 3], c < 3*n
 *
 * Wherever else the two axes of results stand, there are a quotient and a remainder.
 *
 *     y[j, c] = x[j//2, 3*(j % 2) + c]     x[c//3//2, 3*(c//3 % 2) + c % 3] */
#include "ir/nest/nest.h"

#include <string.h>

/* Is it 0, axes of one value being that? */
static bool is_zero(const Expr *e, const int64_t *extents)
{
	switch (e->op) {
	case OP_INT: return e->i == 0;
	case OP_AXIS: return extents[e->id] == 1;
	case OP_ADD:
		return is_zero(e->arg[0], extents) &&
		    is_zero(e->arg[1], extents);
	case OP_MUL:
		return is_zero(e->arg[0], extents) ||
		    is_zero(e->arg[1], extents);
	default: return false;
	}
}

int flat_axis(const Expr *index, const int64_t *extents)
{
	while (index->op == OP_ADD) {
		bool first = is_zero(index->arg[0], extents);
		if (!first && !is_zero(index->arg[1], extents))
			return -1;
		index = index->arg[first];
	}
	return index->op == OP_AXIS ? index->id : -1;
}

/* Is it the term, and something else? */
static bool has_term(const Expr *index, const Expr *term)
{
	if (expr_equal(index, term))
		return true;
	switch (index->op) {
	case OP_ADD:
		return has_term(index->arg[0], term) ||
		    has_term(index->arg[1], term);
	case OP_SUB: return has_term(index->arg[0], term);
	default: return false;
	}
}

/* What else it is; NULL: nothing. */
static Expr *without_term(Arena *arena, Expr *index, const Expr *term)
{
	if (expr_equal(index, term))
		return NULL;
	int at = !has_term(index->arg[0], term);
	Expr *rest = without_term(arena, index->arg[at], term);
	Expr *other = index->arg[!at];
	if (index->op == OP_SUB)
		return expr_binary(arena, OP_SUB,
		    rest ? rest : expr_int(arena, DT_INDEX, 0), other);
	return rest ? expr_binary(arena, OP_ADD, rest, other) : other;
}

/* The axis that goes over rows: of results the one before that within a row. */
static int rows_axis(const Expr *index, int inner, const FlatBlock *b)
{
	Expr before = {.op = OP_AXIS, .type = DT_INDEX, .id = inner - 1};
	bool beside =
	    inner > 0 && inner < b->nspatial && has_term(index, &before);
	return beside ? inner - 1 : flat_axis(index, b->extents);
}

typedef struct {
	const Flat *flat;
	const FlatBlock *block;
	FlatAxes axes;
	int pairs, again, outer, inner; /* how often each stands there */
	bool found, fits, changed;
} Visit;

static void take_axes(Visit *v, int outer, int inner)
{
	if (!v->found)
		v->axes = (FlatAxes){outer, inner, false};
	v->found = true;
	v->fits &= outer >= 0 && inner >= 0 && outer != inner &&
	    outer == v->axes.outer && inner == v->axes.inner;
}

/* Of what is flat the axes that go over it. */
static bool find_axes(Expr *e, void *context)
{
	Visit *v = context;
	int dim = e->op == OP_READ ? v->flat->dim[e->id] : -1;
	if (dim < 0)
		return true;
	int inner = flat_axis(e->arg[dim + 1], v->block->extents);
	take_axes(v, rows_axis(e->arg[dim], inner, v->block), inner);
	return true;
}

static void make_flat(Visit *v, int buffer, int dim)
{
	const Flat *f = v->flat;
	const int64_t *shape = f->shapes[buffer] + dim;
	v->fits &= shape[1] == v->block->extents[v->axes.inner] &&
	    (f->dim[buffer] < 0 || f->dim[buffer] == dim);
	v->changed |= f->dim[buffer] < 0;
	f->dim[buffer] = dim;
}

/* What is read at both axes is flat; at the inner one alone, read again. */
static bool find_pairs(Expr *e, void *context)
{
	Visit *v = context;
	const int64_t *extents = v->block->extents;
	v->outer += e->op == OP_AXIS && e->id == v->axes.outer;
	v->inner += e->op == OP_AXIS && e->id == v->axes.inner;
	for (int d = 0; e->op == OP_READ && d < e->narg; d++) {
		if (flat_axis(e->arg[d], extents) != v->axes.inner)
			continue;
		bool pair = d > 0 &&
		    rows_axis(e->arg[d - 1], v->axes.inner, v->block) ==
			v->axes.outer;
		v->pairs += pair;
		v->again += !pair && v->axes.inner < v->block->nspatial;
		if (pair)
			make_flat(v, e->id, d - 1);
	}
	return true;
}

/* What follows for a block from what is flat so far. */
static bool add_block(Flat *f, int i, bool *changed)
{
	const FlatBlock *b = &f->blocks[i];
	Visit v = {.flat = f, .block = b, .fits = true};
	if (f->dim[b->buffer] >= 0)
		take_axes(&v, f->dim[b->buffer], f->dim[b->buffer] + 1);
	expr_walk(b->body, find_axes, &v);
	if (!v.found)
		return true;
	bool spatial = v.axes.outer < b->nspatial;
	if (!v.fits || b->extents[v.axes.outer] == 1 ||
	    spatial != (v.axes.inner < b->nspatial) ||
	    (spatial && v.axes.inner != v.axes.outer + 1))
		return false;
	expr_walk(b->body, find_pairs, &v);
	if (spatial)
		make_flat(&v, b->buffer, v.axes.outer);
	f->axes[i] = v.axes;
	*changed |= v.changed;
	f->again |= v.again > 0 || v.outer > v.pairs;
	f->axes[i].apart = v.outer > v.pairs || v.inner > v.pairs + v.again;
	return v.fits && (spatial || !f->axes[i].apart);
}

/* Does the axis stand in quotients and remainders only? */
static bool in_digits(const Expr *index, int axis)
{
	bool all = index->op != OP_AXIS || index->id != axis;
	if (index->op == OP_FLOORDIV || index->op == OP_MOD)
		return true;
	for (int i = 0; i < index->narg && all; i++)
		all = in_digits(index->arg[i], axis);
	return all;
}

static bool check_digits(Expr *e, void *context)
{
	Visit *v = context;
	int last = e->op == OP_READ ? e->narg - 1 : -1;
	v->fits &= e->op != OP_AXIS ||
	    (e->id != v->axes.outer && e->id != v->axes.inner);
	for (int d = 0; d <= last && v->flat->dim[e->id] < 0; d++)
		v->fits &= in_digits(e->arg[d], v->axes.outer) &&
		    (d == last || !expr_has_axis(e->arg[d], v->axes.inner));
	return last < 0;
}

/* Do rows go by quotients and remainders wherever else they are read, and places in
 * one along the last dimension?  Then neighbours read what lies near. */
static bool is_near(const Flat *f, int block)
{
	Visit v = {.flat = f, .axes = f->axes[block], .fits = true};
	if (v.axes.apart)
		expr_walk(f->blocks[block].body, check_digits, &v);
	return v.fits;
}

bool flat_close(Flat *f, int buffer, int dim)
{
	bool changed = true, any = false;
	f->again = f->far = false;
	for (int i = 0; i < f->nbuffers; i++)
		f->dim[i] = i == buffer ? dim : -1;
	for (int i = 0; i < f->nblocks; i++)
		f->axes[i] = (FlatAxes){-1, -1, false};
	while (changed) {
		changed = false;
		for (int i = 0; i < f->nblocks; i++)
			if (!add_block(f, i, &changed))
				return false;
	}
	for (int i = 0; i < f->nblocks; i++) {
		any |= f->axes[i].outer >= 0;
		f->far |= !is_near(f, i);
	}
	return any;
}

typedef struct {
	const Flat *flat;
	FlatAxes axes;
	int64_t length; /* of the block's rows */
	Expr *row;	/* the number of one */
} Moved;

static Expr *times(Arena *arena, Expr *rows, int64_t length)
{
	return rows->op == OP_INT ? expr_int(arena, DT_INDEX, rows->i * length)
				  : expr_binary(arena, OP_MUL, rows,
					expr_int(arena, DT_INDEX, length));
}

/* The axis of both where it stood in what is flat, further on by rows; else its
 * row and its place there. */
static Expr *flat_node(Arena *arena, Expr *e, void *context)
{
	const Moved *m = context;
	int dim = e->op == OP_READ ? m->flat->dim[e->id] : -1;
	if (e->op == OP_AXIS && e->id == m->axes.inner)
		return expr_binary(arena, OP_MOD, e,
		    expr_int(arena, DT_INDEX, m->length));
	if (e->op == OP_AXIS && e->id == m->axes.outer)
		return m->row;
	if (dim < 0)
		return e;
	Expr *rows = without_term(arena, e->arg[dim], m->row);
	Expr *inner = expr_axis(arena, m->axes.inner);
	Expr *copy = arena_memdup(arena, e, sizeof *e);
	copy->arg =
	    arena_memdup(arena, e->arg, sizeof(Expr *) * (size_t)e->narg);
	copy->arg[dim] = expr_axis(arena, m->axes.outer);
	copy->arg[dim + 1] = !rows
	    ? inner
	    : expr_binary(arena, OP_ADD, inner, times(arena, rows, m->length));
	return copy;
}

Expr *flat_body(Arena *arena, const Flat *f, int block)
{
	const FlatBlock *b = &f->blocks[block];
	FlatAxes axes = f->axes[block];
	int64_t length = b->extents[axes.inner];
	Expr *row = expr_binary(arena, OP_FLOORDIV,
	    expr_axis(arena, axes.inner), expr_int(arena, DT_INDEX, length));
	Moved m = {f, axes, length, row};
	return expr_rewrite(arena, b->body, flat_node, &m);
}

Flat *flat_new(Arena *arena, int nblocks, int nbuffers)
{
	Flat *f = NEW(arena, Flat);
	*f = (Flat){nblocks, nbuffers, NEW_N(arena, FlatBlock, nblocks),
	    NEW_N(arena, const int64_t *, nbuffers),
	    NEW_N(arena, int, nbuffers), NEW_N(arena, FlatAxes, nblocks), false,
	    false};
	return f;
}

int64_t *flat_shape(Arena *arena, const Flat *f, int buffer, int ndim)
{
	int d = f->dim[buffer];
	int64_t *shape = NEW_N(arena, int64_t, ndim);
	memcpy(shape, f->shapes[buffer], sizeof *shape * (size_t)ndim);
	if (d >= 0) {
		shape[d + 1] *= shape[d];
		shape[d] = 1;
	}
	return shape;
}
