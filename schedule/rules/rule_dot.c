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
 * these numerics allow.  The other rules see the program as it is then, a copy of
 * a const input as one. */
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
} Product;

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

typedef struct {
	const Program *program;
	bool is_const;
} Reads;

static bool find_read(Expr *e, void *context)
{
	Reads *r = context;
	if (e->op == OP_READ)
		r->is_const &= r->program->buffers[e->id].is_const;
	return true;
}

/* Is it made of const inputs alone? */
bool rule_is_ahead(const Program *p, Expr *e)
{
	Reads r = {p, true};
	expr_walk(e, find_read, &r);
	return r.is_const;
}

/* Is it the read, as it is, or where an operand is kept, that or bytes? */
static bool is_operand(const Product *p, const Expr *e, int i, int kept)
{
	if (!kept)
		return is_cast_of(e, p->reads[i]);
	return dtype_bytes(p->reads[i]->type) == 1 &&
	    (kept == i + 1 ||
		(e->op == OP_CAST && dtype_bytes(e->arg[0]->type) == 1));
}

/* Multiplied out, is it one product of these operands, and sums that are next to
 * nothing beside it? */
static bool leaves_product(const Product *p, int kept)
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

static bool is_product(Product *p, const Program *program, const Block *b)
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
static double cycles_of(const Product *p, DType a, DType b)
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
		n += (from->is_const ? 0 : (double)buffer_elements(from)) +
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

static int add_part(Arena *arena, Program *p, int at, Block part, Expr *body)
{
	part.body = body;
	part.buffer = rule_add_buffer(arena, p, &part, body->type);
	p->buffers[part.buffer].is_const = rule_is_ahead(p, body);
	rule_add_block(arena, p, at, part);
	return part.buffer;
}

/* A block with so many of the sum's axes. */
static int add_sum(Arena *arena, Program *p, int at, const Block *old,
    const DistributedSum *sum, int naxes, const char *name, Expr *body)
{
	Block part = rule_block_like(arena, old, name);
	part.naxes = naxes;
	part.nspatial = sum->nspatial;
	part.reduce = naxes > sum->nspatial ? REDUCE_SUM : REDUCE_NONE;
	for (int i = 0; i < naxes; i++) {
		part.axes[i] = old->axes[sum->axes[i]];
		part.axes[i].reduce = i >= sum->nspatial;
	}
	return add_part(arena, p, at, part, body);
}

static const char *part_name(
    Arena *arena, const Program *p, const Block *old, char letter, int i, int n)
{
	return rule_new_name(arena, p, old,
	    n == 1 ? arena_printf(arena, "%c", letter)
		   : arena_printf(arena, "%c%d", letter, i + 1));
}

/* The sums as they are multiplied, one after another; they are kept: the block
 * would multiply them again for each of its elements. */
static int add_scaled(Arena *arena, Program *p, int at, const Block *old,
    const Distribution *d, int *buffers, Buf *steps, bool *extracted)
{
	for (int i = 0; i < d->nsums; i++) {
		const DistributedSum *sum = &d->sums[i];
		if (!sum->scaled)
			continue;
		const char *name = part_name(arena, p, old, 't', i, d->nsums);
		buf_printf(steps, ", %s", name);
		buffers[i + 1] =
		    add_sum(arena, p, at++, old, sum, sum->nspatial, name,
			distribution_scaled(
			    arena, sum, old->naxes, buffers[i + 1]));
		extracted[buffers[i + 1]] = true;
	}
	return at;
}

static void distribute(
    Arena *arena, Program *p, int at, int kept, Buf *steps, bool *extracted)
{
	const Block old = p->blocks[at];
	Distribution d;
	if (!distributes(arena, &old, kept, &d))
		return;
	int *buffers = NEW_N(arena, int, d.nsums + 1);
	Block part = rule_block_like(
	    arena, &old, rule_new_name(arena, p, &old, "p"));
	buf_printf(steps, "%s", part.name);
	buffers[0] = add_part(arena, p, at, part, d.product);
	for (int i = 0; i < d.nsums; i++) {
		const DistributedSum *sum = &d.sums[i];
		const char *name = part_name(arena, p, &old, 's', i, d.nsums);
		buf_printf(steps, ", %s", name);
		buffers[i + 1] =
		    add_sum(arena, p, at + 1 + i, &old, sum, sum->naxes, name,
			distribution_element(arena, &d, i, old.naxes, buffers));
	}
	at = add_scaled(
	    arena, p, at + 1 + d.nsums, &old, &d, buffers, steps, extracted);
	buf_printf(steps,
	    kept ? " = distribute(%s, %d)\n" : " = distribute(%s)\n", old.name,
	    kept);
	Block *whole = &p->blocks[at];
	whole->reduce = REDUCE_NONE;
	whole->naxes = whole->nspatial;
	whole->body = distribution_whole(arena, &d, old.nspatial, buffers);
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
		const Expr *read = retype_read(b->body, i + 1);
		Retype r;
		if (read->type == way->to[i])
			continue;
		if (!retype_find(b->body, i + 1, way->to[i], &r))
			assert(!"a way that was found");
		const char *name = copy_name(arena, p, b, i + 1);
		buf_printf(steps, "%s = retype(%s, %d, %s)\n", name, b->name,
		    i + 1, dtype_name(way->to[i]));
		add_copy(arena, p, at++, &r, name);
		extracted[p->nbuffers - 1] = true;
	}
	distribute(arena, p, at, way->kept, steps, extracted);
	return p->nblocks - before;
}

/* Is there an instruction for it, of integers? */
static bool has_instruction(const Product *p, const Way *way)
{
	return dtype_is_int(p->block->body->type) && way->cycles < WIDENED;
}

/* The products that are taken to what the machine has; how many of integers that
 * an instruction sums, or that are of bytes then. */
static int take_products(Arena *arena, Program *p, const Machine *machine,
    Buf *steps, bool *extracted)
{
	int taken = 0, room = rule_room(p);
	for (int i = 0; i < p->nblocks && p->nbuffers + ADDED_MOST < room;
	     i++) {
		Product product = {.arena = arena, .machine = machine};
		if (!is_product(&product, p, &p->blocks[i]))
			continue;
		Way way = best_way(&product);
		bool better = has_instruction(&product, &way) || way.kept;
		if (!product.plain && !better)
			continue;
		taken += better;
		i += take_way(arena, p, i, &way, steps, extracted);
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

/* What pads an operand in the sum is taken out of it, if bytes come of it. */
static void extract_padding(Arena *arena, Program *p, Buf *steps)
{
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		Factor f;
		Narrow n;
		if (b->reduce != REDUCE_SUM || b->body->type != DT_I32)
			continue;
		for (int k = 1; k <= 2; k++) {
			bool apart;
			if (!find_padded(arena, p, b, k, &f, &apart) ||
			    !has_choice(f.element) ||
			    !narrow_find(arena, f.element, DT_I32, &n))
				continue;
			const char *name = rule_new_name(
			    arena, p, b, arena_printf(arena, "f%d", k));
			buf_printf(steps, "%s = extract(%s, %d%s)\n", name,
			    b->name, k, apart ? ", apart=1" : "");
			rule_make_element(arena, p, i++, &f, name);
			break;
		}
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

static bool narrow_all(Arena *arena, Program *p, Buf *steps)
{
	const bool *lead = lead_to_products(arena, p);
	bool any = false;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		const Buffer *to = &p->buffers[b->buffer];
		const char *padding;
		Narrow n;
		if (!lead[i] || to->role != BUFFER_TEMP || to->once ||
		    !find_narrow(arena, p, i, &n, &padding))
			continue;
		buf_printf(steps, "narrow(%s%s)\n", b->name, padding);
		rule_make_narrow(arena, p, i, &n);
		any = true;
	}
	return any;
}

/* The program so, if something comes of it; else NULL. */
static Program *narrowed(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps, bool *extracted)
{
	Program *p = rule_copy_program(arena, program);
	extract_padding(arena, p, steps);
	return narrow_all(arena, p, steps) &&
		take_products(arena, p, machine, steps, extracted)
	    ? p : NULL;
}

const Program *rule_dot(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps, bool **extracted)
{
	Buf narrow = {0};
	*extracted = NEW_N(arena, bool, rule_room(program));
	if (!machine->vector_bytes)
		return program;
	Program *p = narrowed(arena, program, machine, &narrow, *extracted);
	if (p) {
		buf_puts(steps, buf_text(&narrow));
	} else {
		p = rule_copy_program(arena, program);
		*extracted = NEW_N(arena, bool, rule_room(program));
		take_products(arena, p, machine, steps, *extracted);
	}
	buf_free(&narrow);
	return p;
}
