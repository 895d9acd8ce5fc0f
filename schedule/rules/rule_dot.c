/* The operands of a sum of products are taken to types of which the machine sums
 * products by instructions (ir/intrinsics.def), where they are used often enough
 * to make up for the copies.
 *
 *     c[i, j] = sum[k](i32(a[i, k]) * i32(b[k, j]))       i8 by i8
 * -->
 *     c_t2 = retype(c, 2, u8)       where there is u8 by i8: AVX-512 VNNI
 *     c_p, c_s = distribute(c)      c = c_p + c_s * -128, c_s[i] = sum a[i, k]
 * or
 *     c_t1 = retype(c, 1, i16)      where there is i16 by i16: AVX2
 *     c_t2 = retype(c, 2, i16)
 *
 * bf16 and f16 are taken to f32, unless there is an instruction for them that
 * these numerics allow.  The other rules see the program as it is then, a copy of
 * a const input as one. */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <float.h>
#include <string.h>

enum {
	USES_LEAST = 16, /* of an element of a copy */
	AHEAD_LEAST = 2  /* of one that is made ahead */
};

/* What the operands become, and what that costs. */
typedef struct {
	DType to[2];
	double cycles; /* of one of the block's products */
} Way;

typedef struct {
	Arena *arena;
	const Program *program;
	const Machine *machine;
	const Block *block;
	const Expr *reads[2];
	bool worth[2]; /* is a copy? */
	double points;
} Product;

static const Expr *read_of(const Expr *e)
{
	return e->op == OP_CAST && e->arg[0]->op == OP_READ ? e->arg[0] : NULL;
}

static double elements_of(const Buffer *b)
{
	double n = 1;
	for (int d = 0; d < b->ndim; d++)
		n *= (double)b->shape[d];
	return n;
}

static bool has_axis(const Expr *e, int axis)
{
	if (e->op == OP_AXIS)
		return e->id == axis;
	for (int i = 0; i < e->narg; i++)
		if (has_axis(e->arg[i], axis))
			return true;
	return false;
}

/* Points over the axes that an operand has. */
static double points_of(const Block *b, const Expr *e)
{
	double n = 1;
	for (int a = 0; a < b->naxes; a++)
		n *= !e || has_axis(e, a) ? (double)b->axes[a].extent : 1;
	return n;
}

static bool is_product(Product *p, const Program *program, const Block *b)
{
	if (b->reduce != REDUCE_SUM || b->body->op != OP_MUL)
		return false;
	p->program = program;
	p->block = b;
	p->points = points_of(b, NULL);
	for (int i = 0; i < 2; i++) {
		p->reads[i] = read_of(b->body->arg[i]);
		if (!p->reads[i])
			return false;
		const Buffer *from = &program->buffers[p->reads[i]->id];
		p->worth[i] = p->points >= elements_of(from) *
		    (from->is_const ? AHEAD_LEAST : USES_LEAST);
	}
	return true;
}

/* Of a product of these types, in instructions; as it is written, where there is
 * none: operands are widened first. */
static double cycles_of(const Product *p, DType a, DType b)
{
	const Intrinsic *in = intrinsic_of(a, b);
	if (!in)
		in = intrinsic_of(b, a);
	int n = in ? intrinsic_instructions(
	    in, p->machine, p->program->numerics) : 0;
	if (n && in->sum == p->block->body->type)
		return (double)n / in->terms;
	return a == b && a == p->block->body->type ? 1 : 2;
}

/* The copies' elements, and those that are summed to take off an offset. */
static double extra_of(const Product *p, const DType *to)
{
	double n = 0;
	for (int i = 0; i < 2; i++) {
		const Buffer *from = &p->program->buffers[p->reads[i]->id];
		Retype r;
		if (to[i] == from->type)
			continue;
		if (!p->worth[i] ||
		    !retype_find(p->block->body, i + 1, to[i], &r))
			return DBL_MAX;
		double sums = points_of(p->block, p->reads[1 - i]);
		if (r.offset && (p->points < sums * USES_LEAST || n > 0))
			return DBL_MAX;
		n += (from->is_const ? 0 : elements_of(from)) +
		    (r.offset ? sums : 0);
	}
	return n;
}

/* The least instructions; of several ways with as many the one with the least to
 * do besides. */
static Way best_way(const Product *p)
{
	static const DType types[] = {DT_U8, DT_I8, DT_I16, DT_F32};
	enum { N = sizeof types / sizeof *types };
	DType own[2] = {p->reads[0]->type, p->reads[1]->type};
	Way best = {{own[0], own[1]}, cycles_of(p, own[0], own[1])};
	double least = 0;
	for (int i = 0; i < (N + 1) * (N + 1); i++) {
		DType to[2] = {i / (N + 1) < N ? types[i / (N + 1)] : own[0],
		    i % (N + 1) < N ? types[i % (N + 1)] : own[1]};
		double cycles = cycles_of(p, to[0], to[1]);
		double extra = extra_of(p, to);
		if (extra == DBL_MAX || cycles > best.cycles ||
		    (cycles == best.cycles && extra >= least))
			continue;
		best = (Way){{to[0], to[1]}, cycles};
		least = extra;
	}
	return best;
}

/* --- the program as it is then ---------------------------------------------------- */

/* As the block but for its axes: x0, x1 … over the buffer that is read. */
static void add_copy(Arena *arena, Program *p, int at, const Retype *r,
    const char *name)
{
	const Buffer from = p->buffers[r->read->id];
	Block t = rule_block_like(arena, &p->blocks[at], name);
	Expr **index = NEW_N(arena, Expr *, from.ndim);
	t.axes = NEW_N(arena, Axis, from.ndim);
	t.naxes = t.nspatial = from.ndim;
	t.reduce = REDUCE_NONE;
	for (int d = 0; d < from.ndim; d++) {
		t.axes[d] = (Axis){arena_printf(arena, "x%d", d),
		    from.shape[d], false};
		index[d] = expr_axis(arena, d);
	}
	t.body = retype_element(arena, r,
	    expr_read(arena, from.type, r->read->id, index, from.ndim));
	t.buffer = rule_add_buffer(arena, p, &t, r->to);
	p->buffers[t.buffer].is_const = from.is_const;
	p->blocks[at].body =
	    retype_product(arena, r, p->blocks[at].body, t.buffer);
	rule_add_block(arena, p, at, t);
}

static void add_parts(Arena *arena, Program *p, int at, const Distribution *d,
    const char *product, const char *other)
{
	Block old = p->blocks[at];
	Block of_both = rule_block_like(arena, &old, product);
	Block of_one = rule_block_like(arena, &old, other);
	of_both.body = d->product;
	of_one.naxes = d->naxes;
	of_one.nspatial = d->nspatial;
	of_one.reduce = d->naxes > d->nspatial ? REDUCE_SUM : REDUCE_NONE;
	for (int i = 0; i < d->naxes; i++)
		of_one.axes[i] = old.axes[d->axes[i]];
	of_one.body = distribution_other(arena, d, old.naxes);
	of_both.buffer = rule_add_buffer(arena, p, &of_both, DT_I32);
	of_one.buffer = rule_add_buffer(arena, p, &of_one, DT_I32);
	rule_add_block(arena, p, at, of_both);
	rule_add_block(arena, p, at + 1, of_one);
	Block *whole = &p->blocks[at + 2];
	whole->reduce = REDUCE_NONE;
	whole->naxes = whole->nspatial;
	whole->body = distribution_whole(
	    arena, d, old.nspatial, of_both.buffer, of_one.buffer);
}

static void distribute(Arena *arena, Program *p, int at, Buf *steps)
{
	const Block *b = &p->blocks[at];
	int64_t *extents = NEW_N(arena, int64_t, b->naxes);
	Distribution d;
	for (int a = 0; a < b->naxes; a++)
		extents[a] = b->axes[a].extent;
	if (!distribution_find(
		arena, b->body, extents, b->nspatial, b->naxes, &d))
		return;
	const char *product = rule_new_name(arena, p, b, "p");
	const char *other = rule_new_name(arena, p, b, "s");
	buf_printf(steps, "%s, %s = distribute(%s)\n", product, other, b->name);
	add_parts(arena, p, at, &d, product, other);
}

/* A name that no loop has: those of an axis t are t0, t1 … */
static const char *copy_name(
    Arena *arena, const Program *p, const Block *b, int operand)
{
	bool like_loop = false;
	for (int a = 0; a < b->naxes; a++)
		like_loop |= !strcmp(b->axes[a].name, "t");
	return rule_new_name(arena, p, b,
	    arena_printf(arena, like_loop ? "t%d_" : "t%d", operand));
}

/* How many blocks there are more than before. */
static int take_way(Arena *arena, Program *p, int at, const Way *way,
    Buf *steps, bool *extracted)
{
	int before = p->nblocks;
	for (int i = 0; i < 2; i++) {
		const Block *b = &p->blocks[at];
		const Expr *read = read_of(b->body->arg[i]);
		Retype r;
		if (!read || read->type == way->to[i])
			continue;
		if (!retype_find(b->body, i + 1, way->to[i], &r))
			assert(!"a way that was found");
		const char *name = copy_name(arena, p, b, i + 1);
		buf_printf(steps, "%s = retype(%s, %d, %s)\n", name, b->name,
		    i + 1, dtype_name(way->to[i]));
		add_copy(arena, p, at++, &r, name);
		extracted[p->nbuffers - 1] = true;
	}
	distribute(arena, p, at, steps);
	return p->nblocks - before;
}

const Program *rule_dot(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps, bool *extracted)
{
	Program *p = rule_copy_program(arena, program);
	if (!machine->vector_bytes)
		return p;
	for (int i = 0; i < p->nblocks; i++) {
		Product product = {.arena = arena, .machine = machine};
		if (!is_product(&product, p, &p->blocks[i]))
			continue;
		Way way = best_way(&product);
		i += take_way(arena, p, i, &way, steps, extracted);
	}
	return p;
}
