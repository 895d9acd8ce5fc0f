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
 * What is added to the operands, zero points, stands outside of such a sum: it is
 * taken out of it (`distribute`), and before out of what pads an operand (`narrow`),
 * which is before it (`extract`).
 *
 *     c[i, j] = sum[k]((i32(a[i, k]) - z[]) * i32(b[k, j]))
 * -->
 *     c_p, c_s, c_t = distribute(c)    c = c_p + c_t, c_t[j] = -z * sum b[k, j]
 *
 * Of channels each for itself the other operand keeps what is added to it, which
 * would need a sum of as many steps (`distribute(c, 2)`; rule_extract.c).
 *
 * bf16 and f16 are taken to f32, unless there is an instruction for them that
 * these numerics allow. */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <float.h>
#include <string.h>

enum {
	USES_LEAST = 16,  /* of an element of a copy */
	AHEAD_LEAST = 2,  /* of one that is made ahead */
	WIDENED = 2,	  /* cycles of a product of what is widened first */
	ADDED_MOST = 128, /* buffers for one product, and for other rules */
	PADDED_MOST = 4,  /* times as large as what is padded */
	APART_MOST = 16,  /* the same, of windows apart */
	TERMS_MOST = 4	  /* that an instruction sums */
};

/* What the operands become, and what that costs. */
typedef struct {
	DType to[2];
	double cycles; /* of one of the block's products */
	int kept;      /* the operand that is not multiplied out; 0: none */
} Way;

typedef struct {
	Arena *arena;
	const Program *program;
	const Machine *machine;
	const Block *block;
	const Expr *reads[2];
	bool plain;    /* nothing is added to them */
	int kept; /* but to this one, which stays so; 0: to none that does */
	bool worth[2]; /* is a copy? */
	double points;
} DotProduct;

/* Points over the axes that an operand has. */
static double points_of(const Block *b, const Expr *e)
{
	double n = 1;
	for (int a = 0; a < b->naxes; a++)
		n *= !e || expr_has_axis(e, a) ? (double)b->axes[a].extent : 1;
	return n;
}

static bool is_cast_of(const Expr *e, const Expr *read)
{
	return e->op == OP_CAST && expr_equal(e->arg[0], read);
}

static bool distributes(Arena *arena, const Block *b, int kept, Distribution *d)
{
	int64_t *extents = block_extents(arena, b);
	return b->reduce == REDUCE_SUM &&
	    distribution_find(
		arena, b->body, extents, b->nspatial, b->naxes, kept, d);
}

static double sum_points(const Block *b, const DistributedSum *sum)
{
	double n = 1;
	for (int i = 0; i < sum->naxes; i++)
		n *= (double)b->axes[sum->axes[i]].extent;
	return n;
}

/* Is it the read, as it is, or where an operand is kept, that or bytes? */
static bool is_operand(const DotProduct *p, const Expr *e, int i, int kept)
{
	if (!kept)
		return is_cast_of(e, p->reads[i]);
	return dtype_bytes(p->reads[i]->type) == 1 &&
	    (kept == i + 1 ||
		(e->op == OP_CAST && dtype_bytes(e->arg[0]->type) == 1));
}

/* Multiplied out, is it one product of these operands, and sums that are next to
 * nothing beside it? */
static bool leaves_product(const DotProduct *p, int kept)
{
	Distribution d;
	if (!distributes(p->arena, p->block, kept, &d) ||
	    d.product->op != OP_MUL)
		return false;
	for (int i = 0; i < 2; i++)
		if (!is_operand(p, d.product->arg[i], i, kept))
			return false;
	for (int i = 0; i < d.nsums; i++)
		if (p->points < sum_points(p->block, &d.sums[i]) * USES_LEAST &&
		    d.sums[i].element &&
		    !rule_is_ahead(p->program, d.sums[i].element))
			return false;
	return true;
}

static bool is_product(DotProduct *p, const Program *program, const Block *b)
{
	if (b->reduce != REDUCE_SUM || b->body->op != OP_MUL)
		return false;
	p->program = program;
	p->block = b;
	p->points = points_of(b, NULL);
	p->plain = true;
	for (int i = 0; i < 2; i++) {
		p->reads[i] = retype_read(b->body, i + 1);
		if (!p->reads[i])
			return false;
		p->plain &= is_cast_of(b->body->arg[i], p->reads[i]);
		const Buffer *from = &program->buffers[p->reads[i]->id];
		p->worth[i] = p->points >= (double)buffer_elements(from) *
			(from->is_const ? AHEAD_LEAST : USES_LEAST);
	}
	static const int keeps[] = {0, 2, 1};
	for (int i = 0; i < 3 && !p->plain; i++)
		if (leaves_product(p, keeps[i])) {
			p->kept = keeps[i];
			return true;
		}
	return p->plain;
}

/* Of a product of these types, in instructions; as it is written, where there is
 * none: operands are widened first. */
static double cycles_of(const DotProduct *p, DType a, DType b)
{
	const Intrinsic *in = intrinsic_of(a, b);
	if (!in)
		in = intrinsic_of(b, a);
	int n = in ? intrinsic_instructions(
	    in, p->machine, p->program->numerics) : 0;
	if (n && in->sum == p->block->body->type)
		return (double)n / in->terms;
	return a == b && a == p->block->body->type ? 1 : WIDENED;
}

/* The copies' elements, and those that are summed to take off an offset. */
static double extra_of(const DotProduct *p, const DType *to)
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
		n += (from->is_const ? 0 : (double)buffer_elements(from)) +
		    (r.offset ? sums : 0);
	}
	return n;
}

/* The least instructions; of several ways with as many the one with the least to
 * do besides. */
static Way best_way(const DotProduct *p)
{
	static const DType types[] = {DT_U8, DT_I8, DT_I16, DT_F32};
	enum { N = sizeof types / sizeof *types };
	DType own[2] = {p->reads[0]->type, p->reads[1]->type};
	Way best = {{own[0], own[1]}, WIDENED, p->kept};
	double least = 0;
	if (p->kept)
		return best;
	best.cycles = cycles_of(p, own[0], own[1]);
	for (int i = 0; i < (N + 1) * (N + 1); i++) {
		DType to[2] = {i / (N + 1) < N ? types[i / (N + 1)] : own[0],
		    i % (N + 1) < N ? types[i % (N + 1)] : own[1]};
		double cycles = cycles_of(p, to[0], to[1]);
		double extra = extra_of(p, to);
		if (extra == DBL_MAX || cycles > best.cycles ||
		    (cycles == best.cycles && extra >= least))
			continue;
		best = (Way){{to[0], to[1]}, cycles, 0};
		least = extra;
	}
	return best;
}

/* --- the steps ---------------------------------------------------------------------- */

static const char *part_name(
    const RuleForm *f, const Block *b, char letter, int i, int n)
{
	return rule_new_name(f, b,
	    n == 1 ? arena_printf(f->arena, "%c", letter)
		   : arena_printf(f->arena, "%c%d", letter, i + 1));
}

/* The product, the sums, and these as they are multiplied, which are kept: the block
 * would multiply them again for each of its elements. */
static void distribute(RuleForm *f, int at, int kept)
{
	const Block *b = &f->program->blocks[at];
	Distribution d;
	if (!distributes(f->arena, b, kept, &d))
		return;
	const char *names = rule_new_name(f, b, "p");
	for (int i = 0; i < d.nsums; i++)
		names = arena_printf(f->arena, "%s, %s", names,
		    part_name(f, b, 's', i, d.nsums));
	for (int i = 0; i < d.nsums; i++)
		if (d.sums[i].scaled)
			names = arena_printf(f->arena, "%s, %s", names,
			    part_name(f, b, 't', i, d.nsums));
	const char *format =
	    kept ? "%s = distribute(%s, %d)\n" : "%s = distribute(%s)\n";
	int before = f->program->nbuffers;
	if (!rule_rewrite(f, format, names, b->name, kept))
		return;
	assert(f->program->nbuffers == before + 1 + d.nsums + d.nscaled);
	for (int i = 1; i <= d.nscaled; i++)
		rule_made(f, f->program->nbuffers - i)->extracted = true;
}

/* A name that no loop has: those of an axis t are t0, t1 … */
static const char *copy_name(const RuleForm *f, const Block *b, int operand)
{
	bool like_loop = false;
	for (int a = 0; a < b->naxes; a++)
		like_loop |= !strcmp(b->axes[a].name, "t");
	return rule_new_name(
	    f, b, arena_printf(f->arena, like_loop ? "t%d_" : "t%d", operand));
}

/* How many blocks there are more than before. */
static int take_way(RuleForm *f, int at, const Way *way)
{
	int before = f->program->nblocks;
	for (int i = 0; i < 2; i++) {
		const Block *b = &f->program->blocks[at];
		if (retype_read(b->body, i + 1)->type != way->to[i] &&
		    rule_rewrite(f, "%s = retype(%s, %d, %s)\n",
			copy_name(f, b, i + 1), b->name, i + 1,
			dtype_name(way->to[i])))
			rule_made(f, f->program->blocks[at++].buffer)
			    ->extracted = true;
	}
	distribute(f, at, way->kept);
	assert(f->program->nblocks >= before);
	return f->program->nblocks - before;
}

/* Is there an instruction for it, of integers? */
static bool has_instruction(const DotProduct *p, const Way *way)
{
	return dtype_is_int(p->block->body->type) && way->cycles < WIDENED;
}

/* The products that are taken to what the machine has; how many of integers that
 * an instruction sums, or that are of bytes then. */
static int take_products(RuleForm *f)
{
	int taken = 0, most = f->program->nbuffers + ADDED_MOST;
	for (int i = 0; i < f->program->nblocks && f->program->nbuffers < most;
	     i++) {
		DotProduct product = {.arena = f->arena, .machine = f->machine};
		if (!is_product(&product, f->program, &f->program->blocks[i]))
			continue;
		Way way = best_way(&product);
		bool better = has_instruction(&product, &way) || way.kept;
		if (!product.plain && !better)
			continue;
		taken += better;
		i += take_way(f, i, &way);
	}
	return taken;
}

/* --- what pads an operand -------------------------------------------------------- */

static bool has_choice(const Expr *e)
{
	bool found = e->op == OP_IF;
	for (int i = 0; i < e->narg; i++)
		found |= has_choice(e->arg[i]);
	return found;
}

/* Can terms of products lie along one of its axes? */
static bool has_terms(const Block *b, const Factor *f)
{
	bool found = false;
	for (int i = 0; i < f->naxes; i++)
		found |= f->axes[i].axis >= b->nspatial &&
		    f->axes[i].extent >= TERMS_MOST;
	return found;
}

/* The factor with its windows as they are, or, where there are too few steps beside
 * these for the terms of a product, with the elements of each window apart. */
static bool find_padded(Arena *arena, const Program *p, const Block *b,
    int number, Factor *f, bool *apart)
{
	Factor other;
	*apart = false;
	if (!rule_factor(arena, b, number, false, f))
		return false;
	if (f->is_window && !has_terms(b, f) &&
	    rule_factor(arena, b, number, true, &other) &&
	    has_terms(b, &other) && rule_is_reused(p, b, &other, APART_MOST)) {
		*f = other;
		*apart = true;
		return true;
	}
	return rule_is_reused(p, b, f, PADDED_MOST);
}

/* What pads an operand in the sum is taken out of it, if bytes come of it: is it? */
static bool extract_operand(RuleForm *f, const Block *b, int number)
{
	bool apart;
	Factor x;
	Narrow n;
	if (!find_padded(f->arena, f->program, b, number, &x, &apart) ||
	    !has_choice(x.element) ||
	    !narrow_find(f->arena, x.element, DT_I32, &n))
		return false;
	const char *letter = arena_printf(f->arena, "f%d", number);
	return rule_rewrite(f, "%s = extract(%s, %d%s)\n",
	    rule_new_name(f, b, letter), b->name, number,
	    apart ? ", apart=1" : "");
}

static void extract_padding(RuleForm *f)
{
	for (int i = 0; i < f->program->nblocks; i++) {
		const Block *b = &f->program->blocks[i];
		if (b->reduce == REDUCE_SUM && b->body->type == DT_I32 &&
		    (extract_operand(f, b, 1) || extract_operand(f, b, 2)))
			i++;
	}
}

/* Marks the blocks that lead to what a sum of products reads. */
static bool *lead_to_products(Arena *arena, const Program *p)
{
	bool *lead = NEW_N(arena, bool, p->nblocks);
	for (int i = p->nblocks - 1; i >= 0; i--) {
		const Block *b = &p->blocks[i];
		bool product = b->reduce == REDUCE_SUM &&
		    b->body->op == OP_MUL && dtype_is_int(b->body->type);
		for (int k = 0; k < i; k++)
			lead[k] |= (product || lead[i]) &&
			    p->blocks[k].reduce == REDUCE_NONE &&
			    expr_find_read(b->body, p->blocks[k].buffer);
	}
	return lead;
}

/* With 0 as padding, if that is worth it. */
static bool find_narrow(
    Arena *arena, const Program *p, int block, Narrow *n, const char **padding)
{
	const Block *b = &p->blocks[block];
	DType type = p->buffers[b->buffer].type;
	*padding = ", 0";
	if (narrow_find_zero(arena, b->body, type, n) &&
	    rule_padding_is_worth_zero(arena, p, block, n))
		return true;
	*padding = "";
	return narrow_find(arena, b->body, type, n);
}

static bool narrow_all(RuleForm *f)
{
	const bool *lead = lead_to_products(f->arena, f->program);
	bool any = false;
	for (int i = 0; i < f->program->nblocks; i++) {
		const Block *b = &f->program->blocks[i];
		const Buffer *to = &f->program->buffers[b->buffer];
		const char *padding;
		Narrow n;
		any |= lead[i] && to->role == BUFFER_TEMP && !to->once &&
		    find_narrow(f->arena, f->program, i, &n, &padding) &&
		    rule_rewrite(f, "narrow(%s%s)\n", b->name, padding);
	}
	return any;
}

/* Without one no padding is taken out of a sum, nor leads to a product. */
static bool has_integer_sum(const Program *p)
{
	for (int i = 0; i < p->nblocks; i++)
		if (p->blocks[i].reduce == REDUCE_SUM &&
		    dtype_is_int(p->blocks[i].body->type))
			return true;
	return false;
}

/* With the bytes that zero points pad as bytes, if a product comes of it. */
RuleForm *rule_dot(RuleForm *f)
{
	if (!f->machine->vector_bytes)
		return f;
	if (has_integer_sum(f->program)) {
		RuleForm *narrowed = rule_form_copy(f);
		extract_padding(narrowed);
		if (narrow_all(narrowed) && take_products(narrowed))
			return narrowed;
	}
	take_products(f);
	return f;
}
