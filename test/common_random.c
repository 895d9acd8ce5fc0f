#include "test/common_random.h"

#include <assert.h>
#include <string.h>

enum { MOST_BUFFERS = 10, MOST_ELEMENTS = 4000, MOST_POINTS = 12000 };

const int random_extents[RANDOM_EXTENTS] = {1, 2, 3, 7, 16, 49, 131};

typedef struct {
	Arena *arena;
	Rng *rng;
	Program *p;
	const Block *b;
} Gen;

static int below(Gen *g, int n)
{
	return (int)rng_below(g->rng, (uint64_t)n);
}

/* --- indices --------------------------------------------------------------- */

static Expr *ix(Gen *g, int64_t value)
{
	return expr_int(g->arena, DT_INDEX, value);
}

static Expr *two(Gen *g, Op op, Expr *a, Expr *b)
{
	return expr_binary(g->arena, op, a, b);
}

static Expr *call(Gen *g, Op op, Expr *a, Expr *b, Expr *c)
{
	Expr *args[] = {a, b, c};
	return expr_call(
	    g->arena, op, a->type, args, c ? 3 : b ? 2 : 1);
}

/* An axis and something, which may reach anywhere. */
static Expr *moved_axis(Gen *g, int axis)
{
	Expr *x = expr_axis(g->arena, axis);
	switch (below(g, 4)) {
	case 0: return two(g, OP_ADD, x, ix(g, 1 + below(g, 3)));
	case 1: return two(g, OP_SUB, x, ix(g, 1 + below(g, 3)));
	case 2: return two(g, OP_MUL, x, ix(g, 2 + below(g, 2)));
	default:
		return two(g, OP_ADD, x,
		    expr_axis(g->arena, below(g, g->b->naxes)));
	}
}

/* In 0 .. extent-1. */
static Expr *index_within(Gen *g, int64_t extent)
{
	if (!g->b->naxes || extent == 1)
		return ix(g, below(g, (int)extent));
	int axis = below(g, g->b->naxes);
	int64_t n = g->b->axes[axis].extent;
	Expr *x = expr_axis(g->arena, axis), *zero = ix(g, 0);
	Expr *last = ix(g, extent - 1);
	if (n <= extent && below(g, 2))
		return n < extent && below(g, 2)
		    ? two(g, OP_ADD, x, ix(g, extent - n)) : x;
	switch (below(g, 6)) {
	case 0: return two(g, OP_MOD, moved_axis(g, axis), ix(g, extent));
	case 1:
		return two(g, OP_FLOORDIV, x,
		    ix(g, (n + extent - 1) / extent + below(g, 2)));
	case 2: return call(g, OP_CLAMP, moved_axis(g, axis), zero, last);
	case 3:
		return call(g, OP_MIN,
		    call(g, OP_ABS, moved_axis(g, axis), NULL, NULL), last,
		    NULL);
	case 4:
		return call(g, OP_MAX,
		    call(g, OP_MIN, two(g, OP_SUB, last, x), last, NULL), zero,
		    NULL);
	default:
		return expr_if(g->arena, two(g, OP_LT, x, ix(g, extent)), x,
		    expr_int(g->arena, DT_INDEX, below(g, (int)extent)));
	}
}

static Expr *index_condition(Gen *g)
{
	static const Op ops[] = {OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE};
	if (!g->b->naxes)
		return two(g, OP_LT, ix(g, 1), ix(g, 2));
	int axis = below(g, g->b->naxes);
	int half = (int)g->b->axes[axis].extent / 2;
	Expr *x = below(g, 2) ? expr_axis(g->arena, axis)
			      : moved_axis(g, axis);
	return two(g, ops[below(g, 6)], x, ix(g, half));
}

/* --- values ---------------------------------------------------------------- */

static Expr *value(Gen *g, DType type, int depth);

static Expr *number(Gen *g, DType type, int n)
{
	return dtype_is_float(type) ? expr_float(g->arena, type, n)
				    : expr_int(g->arena, type, n);
}

static Expr *clamped(Gen *g, Expr *x, int most)
{
	if (x->type == DT_BOOL)
		return x;
	return call(g, OP_CLAMP, x,
	    number(g, x->type, x->type == DT_U8 ? 0 : -most),
	    number(g, x->type, most));
}

static Expr *read_buffer(Gen *g, int buffer)
{
	const Buffer *b = &g->p->buffers[buffer];
	Expr *index[4];
	for (int d = 0; d < b->ndim; d++)
		index[d] = index_within(g, b->shape[d]);
	int guarded = b->ndim && g->b->naxes && !below(g, 4)
	    ? below(g, b->ndim) : -1;
	if (guarded >= 0)
		index[guarded] = moved_axis(g, below(g, g->b->naxes));
	Expr *x = expr_read(g->arena, b->type, buffer, index, b->ndim);
	if (guarded >= 0)
		x = expr_if(g->arena,
		    two(g, OP_AND,
			two(g, OP_GE, index[guarded], ix(g, 0)),
			two(g, OP_LT, index[guarded],
			    ix(g, b->shape[guarded]))),
		    x, number(g, b->type, 1));
	return b->role == BUFFER_INPUT ? x : clamped(g, x, 4);
}

static Expr *leaf(Gen *g, DType type)
{
	int n = g->p->nbuffers;
	if (n && below(g, 6))
		return expr_cast(g->arena, type, read_buffer(g, below(g, n)));
	if (!g->b->naxes || below(g, 2))
		return number(g, type, below(g, type == DT_BOOL ? 2 : 4));
	Expr *axis = expr_axis(g->arena, below(g, g->b->naxes));
	return expr_cast(
	    g->arena, type, two(g, OP_MOD, axis, ix(g, 1 + below(g, 4))));
}

static DType computing_type(Gen *g)
{
	static const DType types[] = {DT_F32, DT_F32, DT_I32, DT_F64, DT_I64};
	return types[below(g, 5)];
}

static Expr *condition(Gen *g, int depth)
{
	static const Op ops[] = {OP_LT, OP_LE, OP_GT, OP_GE, OP_EQ, OP_NE};
	if (depth <= 0 && below(g, 2))
		return index_condition(g);
	switch (depth <= 0 ? 0 : below(g, 5)) {
	case 1:
		return two(g, OP_AND, condition(g, depth - 1),
		    condition(g, depth - 1));
	case 2:
		return two(g, OP_OR, condition(g, depth - 1),
		    condition(g, depth - 1));
	case 3: return expr_unary(g->arena, OP_NOT, condition(g, depth - 1));
	case 4: return leaf(g, DT_BOOL);
	default: {
		DType type = computing_type(g);
		return two(g, ops[below(g, 6)], leaf(g, type), leaf(g, type));
	}
	}
}

/* A function's value, made an integer; zeros have lost their sign before. */
static Expr *function(Gen *g, DType type, Expr *x)
{
	static const Op ops[] = {OP_EXP, OP_LOG, OP_SIN, OP_COS, OP_SQRT,
	    OP_RSQRT, OP_TANH, OP_SIGMOID, OP_ERF, OP_FLOOR, OP_CEIL,
	    OP_ROUND, OP_POW, OP_DIV};
	Op op = ops[below(g, 14)];
	Expr *a = call(g, OP_ABS, clamped(g, x, 8), NULL, NULL), *y;
	if (op == OP_FLOOR || op == OP_CEIL || op == OP_ROUND)
		return call(g, op, two(g, OP_DIV, x, number(g, type, 4)), NULL,
		    NULL);
	if (op == OP_POW)
		y = call(g, op, a, clamped(g, leaf(g, type), 3), NULL);
	else if (op == OP_DIV)
		y = two(g, op, x, two(g, OP_ADD, a, number(g, type, 1)));
	else
		y = call(g, op, a, NULL, NULL);
	return call(g, OP_ROUND,
	    two(g, OP_MUL, clamped(g, y, 8), number(g, type, 4)), NULL, NULL);
}

static Expr *arithmetic(Gen *g, DType type, int depth)
{
	Expr *x = value(g, type, depth - 1);
	bool real = dtype_is_float(type);
	switch (below(g, 9)) {
	case 0: return two(g, OP_ADD, x, value(g, type, depth - 1));
	case 1: return two(g, OP_SUB, x, value(g, type, depth - 1));
	case 2: return two(g, OP_MUL, x, value(g, type, depth - 1));
	case 3: return expr_unary(g->arena, OP_NEG, x);
	case 4: return call(g, OP_ABS, x, NULL, NULL);
	case 5:
		return real ? two(g, OP_DIV, x, number(g, type, 2))
			    : two(g, OP_FLOORDIV, x,
				  number(g, type, 1 + below(g, 4)));
	case 6:
		if (!real)
			return two(g, OP_MOD, x,
			    number(g, type, 1 + below(g, 4)));
		/* fall through */
	default:
		return real ? function(g, type, x)
			    : two(g, OP_ADD, x, leaf(g, type));
	}
}

static Expr *value(Gen *g, DType type, int depth)
{
	if (depth <= 0)
		return leaf(g, type);
	switch (below(g, 6)) {
	case 0:
		return expr_if(g->arena, condition(g, depth - 1),
		    value(g, type, depth - 1), value(g, type, depth - 1));
	case 1:
		return call(g, below(g, 2) ? OP_MIN : OP_MAX,
		    value(g, type, depth - 1), value(g, type, depth - 1),
		    NULL);
	default: break;
	}
	if (type == DT_BOOL)
		return condition(g, depth);
	if (dtype_promoted(type) != type || !below(g, 4)) {
		DType work = computing_type(g);
		Expr *x = work == type ? leaf(g, type)
				       : arithmetic(g, work, depth);
		return expr_cast(g->arena, type, clamped(g, x, 8));
	}
	return arithmetic(g, type, depth);
}

/* --- programs -------------------------------------------------------------- */

static int64_t pick_extent(Gen *g, int64_t most)
{
	int n = RANDOM_EXTENTS;
	while (random_extents[n - 1] > most)
		n--;
	return random_extents[below(g, n)];
}

static int add_buffer(Gen *g, BufferRole role, DType type)
{
	Program *p = g->p;
	int number = p->nbuffers++;
	p->buffers[number] = (Buffer){
	    .name = arena_printf(g->arena, "%c%d",
		role == BUFFER_INPUT ? 'x' : 'y', number),
	    .type = type,
	    .role = role,
	    .block = -1,
	    .shape = NEW_N(g->arena, int64_t, 3)};
	return number;
}

static void add_input(Gen *g)
{
	Buffer *b = &g->p->buffers[add_buffer(
	    g, BUFFER_INPUT, (DType)below(g, DT_COUNT))];
	int64_t left = MOST_ELEMENTS;
	b->ndim = below(g, 4);
	b->is_const = !below(g, 3);
	for (int d = 0; d < b->ndim; d++) {
		b->shape[d] = pick_extent(g, left);
		left /= b->shape[d];
	}
	g->p->ninputs++;
}

static DType reduction_type(Gen *g, Block *b)
{
	b->reduce = (ReduceOp)(REDUCE_SUM + below(g, 4));
	return b->reduce == REDUCE_SUM || b->reduce == REDUCE_PROD
	    ? computing_type(g) : (DType)below(g, DT_COUNT);
}

/* Of a product's elements none is above 1, so that it stays exact. */
static Expr *element(Gen *g, DType type, ReduceOp reduce)
{
	Expr *x = value(g, type, 1 + below(g, 2));
	if (reduce == REDUCE_PROD)
		x = clamped(g, x, 1);
	if (reduce == REDUCE_PROD && dtype_is_float(type))
		x = call(g, OP_ROUND, x, NULL, NULL);
	return reduce == REDUCE_SUM ? clamped(g, x, 4) : x;
}

static void add_block(Gen *g)
{
	static const char *const names[] = {"i", "j", "k", "r", "s"};
	Program *p = g->p;
	Block *b = &p->blocks[p->nblocks];
	int64_t left = MOST_POINTS;
	b->nspatial = below(g, 8) ? 1 + below(g, 3) : 0;
	b->naxes = b->nspatial + (below(g, 2) ? 1 + below(g, 2) : 0);
	b->axes = NEW_N(g->arena, Axis, b->naxes);
	for (int i = 0; i < b->naxes; i++) {
		bool reduce = i >= b->nspatial;
		int64_t n = pick_extent(g, left);
		b->axes[i] = (Axis){names[reduce ? 3 + i - b->nspatial : i],
		    n, reduce};
		left /= n;
	}
	DType type = b->naxes > b->nspatial ? reduction_type(g, b)
					    : (DType)below(g, DT_COUNT);
	g->b = b;
	b->body = element(g, type, b->reduce);
	b->buffer = add_buffer(g, BUFFER_TEMP, type);
	b->name = p->buffers[b->buffer].name;
	b->definition = p->nblocks;
	Buffer *to = &p->buffers[b->buffer];
	to->ndim = b->nspatial;
	to->block = p->nblocks++;
	for (int d = 0; d < b->nspatial; d++)
		to->shape[d] = b->axes[d].extent;
}

typedef struct {
	bool read[MOST_BUFFERS];
} Reads;

static bool note_read(Expr *e, void *context)
{
	if (e->op == OP_READ)
		((Reads *)context)->read[e->id] = true;
	return true;
}

static Reads all_reads(const Program *p)
{
	Reads reads = {{false}};
	for (int i = 0; i < p->nblocks; i++)
		expr_walk(p->blocks[i].body, note_read, &reads);
	return reads;
}

/* What nobody reads is an output, and some of what is read. */
static void choose_outputs(Gen *g)
{
	Program *p = g->p;
	Reads reads = all_reads(p);
	p->outputs = NEW_N(g->arena, int, MOST_BUFFERS);
	for (int i = p->ninputs; i < p->nbuffers; i++)
		if (!reads.read[i] || !below(g, 4)) {
			p->buffers[i].role = BUFFER_OUTPUT;
			p->outputs[p->noutputs++] = i;
		}
}

static void define_all(Gen *g)
{
	Program *p = g->p;
	p->ndefinitions = p->nblocks;
	p->definitions = NEW_N(g->arena, Definition, p->nblocks);
	p->canonical_definition = NEW_N(g->arena, int, p->nblocks);
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		p->definitions[i] = (Definition){.name = b->name,
		    .buffer = b->buffer,
		    .naxes = b->naxes,
		    .nspatial = b->nspatial,
		    .axes = b->axes,
		    .body = b->body};
		p->canonical_definition[i] = i;
	}
}

/* --- coverage -------------------------------------------------------------- */

typedef struct {
	bool op[OP_COUNT], index[OP_COUNT], guarded;
} Seen;

static void see(const Expr *e, Seen *seen, bool guarded)
{
	bool index = e->type == DT_INDEX ||
	    (e->narg == 2 && e->arg[0]->type == DT_INDEX &&
		e->op != OP_READ);
	(index ? seen->index : seen->op)[e->op] = true;
	seen->guarded |= guarded && e->op == OP_READ;
	for (int i = 0; i < e->narg; i++)
		see(e->arg[i], seen, guarded || (e->op == OP_IF && i));
}

static void count_axes(const Program *p, RandomCoverage *c)
{
	bool seen[RANDOM_EXTENTS] = {false};
	for (int i = 0; i < p->nblocks; i++)
		for (int a = 0; a < p->blocks[i].naxes; a++)
			for (int e = 0; e < RANDOM_EXTENTS; e++)
				seen[e] |= p->blocks[i].axes[a].extent ==
				    random_extents[e];
	for (int e = 0; e < RANDOM_EXTENTS; e++)
		c->extent[e] += seen[e];
}

static void count_buffers(const Program *p, RandomCoverage *c)
{
	Reads reads = all_reads(p);
	bool type[DT_COUNT] = {false}, constant = false, scalar = false;
	bool unused = false, again = false;
	for (int i = 0; i < p->nbuffers; i++) {
		const Buffer *b = &p->buffers[i];
		type[b->type] = true;
		constant |= b->is_const;
		scalar |= !b->ndim;
		unused |= b->role == BUFFER_INPUT && !reads.read[i];
		again |= b->role == BUFFER_OUTPUT && reads.read[i];
	}
	for (int t = 0; t < DT_COUNT; t++)
		c->type[t] += type[t];
	c->constant_input += constant;
	c->scalar += scalar;
	c->unused_input += unused;
	c->output_read += again;
	c->several_outputs += p->noutputs > 1;
}

static void count(const Program *p, RandomCoverage *c)
{
	Seen seen = {0};
	bool reduce[REDUCE_MIN + 1] = {false};
	for (int i = 0; i < p->nblocks; i++) {
		see(p->blocks[i].body, &seen, false);
		reduce[p->blocks[i].reduce] = true;
	}
	for (int i = 0; i < OP_COUNT; i++) {
		c->op[i] += seen.op[i];
		c->index[i] += seen.index[i];
	}
	for (int i = 0; i <= REDUCE_MIN; i++)
		c->reduce[i] += reduce[i];
	c->guarded_read += seen.guarded;
	c->programs++;
	count_axes(p, c);
	count_buffers(p, c);
}

Program *random_program(
    Arena *arena, Rng *rng, const char *symbol, RandomCoverage *coverage)
{
	static const Source source = {"random", "", 0};
	Gen g = {arena, rng, NEW(arena, Program), NULL};
	Program *p = g.p;
	p->source = &source;
	p->name = p->symbol = symbol;
	p->case_name = p->doc = "";
	p->weight = 1;
	p->buffers = NEW_N(arena, Buffer, MOST_BUFFERS);
	p->blocks = NEW_N(arena, Block, MOST_BUFFERS);
	for (int i = below(&g, 5); i > 0; i--)
		add_input(&g);
	for (int i = 1 + below(&g, 4); i > 0; i--)
		add_block(&g);
	choose_outputs(&g);
	define_all(&g);
	count(p, coverage);
	return p;
}
