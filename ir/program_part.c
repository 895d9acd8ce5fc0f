/* A program cut into parts, each a program of its own: some of its blocks, with
 * what they read from other parts as inputs and what others read as outputs.
 *
 *     p = pad(x); c = conv(p, w); r = relu(c); q = pool(r)
 *     parts {p, c, r} and {q}:  inputs x and const w, output r;  input r
 *
 * A definition all of whose blocks are in one part stays as it was written, so
 * that a part has the canonical text of a file that holds it alone; of another,
 * and of one that shares with another part what is in the middle of a
 * definition, each block becomes a definition.  Blocks, axes and buffers keep their names,
 * so that a trace of a part is one of the whole.  Inputs stand in the order in
 * which the definitions, in canonical order, read them first. */
#include <assert.h>
#include <stdlib.h>

#include "ir/program.h"
#include "ir/spec/spec.h"
#include "lib/sort.h"

enum { SEVERAL = -1, NOWHERE = -2 };

typedef struct {
	int number, item;
} Ranked;

typedef struct {
	Arena *arena;
	const Program *whole;
	const int *part_of; /* by block */
	int *definition_in; /* by definition: its part, or SEVERAL */
	bool *crosses;      /* by buffer: another part reads it */
	Ranked *blocks;     /* in canonical order */
	/* of the part in hand */
	Program *part;
	int *to;            /* buffer of the whole -> of the part; -1 */
	int *from;	    /* and back */
	Buffer *buffers;    /* room for those of any part */
	int *definition_to; /* definition of the whole -> of the part; -1 */
} Cutting;

/* --- what holds for all parts ------------------------------------------------- */

/* Behind all: what only an arm reads that a constant condition leaves out. */
int program_rank(const Program *p, int definition)
{
	int k = p->canonical_definition ? p->canonical_definition[definition]
					: definition;
	assert(k < p->ndefinitions);
	return k < 0 ? p->ndefinitions : k;
}

static int compare_ranked(const void *a, const void *b)
{
	const Ranked *x = a, *y = b;
	return x->number != y->number ? (x->number < y->number ? -1 : 1)
				      : (x->item > y->item) - (x->item < y->item);
}

typedef struct {
	Cutting *c;
	int block;
} PartReader;

static bool mark_crossing(Expr *e, void *context)
{
	const PartReader *r = context;
	Cutting *c = r->c;
	const Program *p = c->whole;
	if (e->op != OP_READ)
		return true;
	int from = p->buffers[e->id].block;
	if (from < 0 || c->part_of[from] == c->part_of[r->block])
		return true;
	int made_by = p->blocks[from].definition;
	c->crosses[e->id] = true;
	/* what no file has a name for */
	if (p->definitions[made_by].buffer != e->id)
		c->definition_in[made_by] =
		    c->definition_in[p->blocks[r->block].definition] = SEVERAL;
	return true;
}

static void look_at_whole(Cutting *c)
{
	const Program *p = c->whole;
	for (int d = 0; d < p->ndefinitions; d++)
		c->definition_in[d] = NOWHERE;
	for (int i = 0; i < p->nblocks; i++) {
		int *in = &c->definition_in[p->blocks[i].definition];
		*in = *in == NOWHERE || *in == c->part_of[i] ? c->part_of[i]
							     : SEVERAL;
		c->blocks[i] = (Ranked){
		    program_rank(p, p->blocks[i].definition), i};
	}
	for (int i = 0; i < p->nblocks; i++) {
		PartReader reader = {c, i};
		expr_walk(p->blocks[i].body, mark_crossing, &reader);
	}
	qsort(c->blocks, (size_t)p->nblocks, sizeof *c->blocks,
	    compare_ranked);
}

/* --- buffers of a part ---------------------------------------------------------- */

static void add_buffer(Cutting *c, int buffer, BufferRole role)
{
	Program *p = c->part;
	Buffer copy = c->whole->buffers[buffer];
	copy.role = role;
	copy.block = -1;
	c->to[buffer] = p->nbuffers;
	c->from[p->nbuffers] = buffer;
	p->buffers[p->nbuffers++] = copy;
}

static bool add_input(Expr *e, void *context)
{
	Cutting *c = context;
	if (e->op == OP_READ && c->to[e->id] < 0) {
		add_buffer(c, e->id, BUFFER_INPUT);
		c->part->ninputs++;
	}
	return true;
}

typedef VEC(int) BlockList;

/* Blocks of the part in canonical order; written buffers are told from inputs
 * before any is numbered. */
static void add_buffers(Cutting *c, const BlockList *blocks)
{
	enum { OWN = 1 << 30 };
	const Program *whole = c->whole;
	Program *p = c->part;
	for (int i = 0; i < blocks->n; i++)
		c->to[whole->blocks[blocks->at[i]].buffer] = OWN;
	for (int i = 0; i < blocks->n; i++)
		expr_walk(whole->blocks[blocks->at[i]].body, add_input, c);
	for (int i = 0; i < blocks->n; i++) {
		int b = whole->blocks[blocks->at[i]].buffer;
		bool output = c->crosses[b] ||
		    whole->buffers[b].role == BUFFER_OUTPUT;
		add_buffer(c, b, output ? BUFFER_OUTPUT : BUFFER_TEMP);
		if (output)
			p->outputs[p->noutputs++] = c->to[b];
	}
}

/* --- definitions and blocks of a part --------------------------------------------- */

static Expr *renumber_read(Arena *arena, Expr *e, void *context)
{
	const Cutting *c = context;
	if (e->op != OP_READ)
		return e;
	assert(c->to[e->id] >= 0 && c->to[e->id] < c->part->nbuffers);
	Expr *copy = arena_memdup(arena, e, sizeof *e);
	copy->id = c->to[e->id];
	return copy;
}

static Expr *renumbered(Cutting *c, Expr *e)
{
	return expr_rewrite(c->arena, e, renumber_read, c);
}

static Expr *reduction_of(Arena *arena, const Block *b, Expr *body)
{
	if (b->reduce == REDUCE_NONE)
		return body;
	Expr *e = NEW(arena, Expr);
	*e = (Expr){.op = OP_REDUCE,
	    .type = body->type,
	    .narg = 1,
	    .arg = NEW_N(arena, Expr *, 1)};
	e->arg[0] = body;
	e->reduce.op = b->reduce;
	e->reduce.first_axis = b->nspatial;
	e->reduce.naxes = b->naxes - b->nspatial;
	return e;
}

/* The definition that a block is alone. */
static Definition definition_of_block(Cutting *c, const Block *b)
{
	Definition d = {.name = b->name,
	    .buffer = c->to[b->buffer],
	    .naxes = b->naxes,
	    .nspatial = b->nspatial,
	    .axes = b->axes,
	    .body = reduction_of(c->arena, b, renumbered(c, b->body)),
	    .span = c->whole->definitions[b->definition].span};
	Expr **limits = NEW_N(c->arena, Expr *, d.naxes); /* none: the box */
	FlopsSums none = {0};
	flops_of_definition(c->arena, &d, limits, &none);
	return d;
}

static int add_definition(Cutting *c, Definition d)
{
	c->part->definitions[c->part->ndefinitions] = d;
	return c->part->ndefinitions++;
}

static int definition_for(Cutting *c, const Block *b)
{
	int whole = b->definition;
	if (c->definition_in[whole] == SEVERAL)
		return add_definition(c, definition_of_block(c, b));
	if (c->definition_to[whole] < 0) {
		Definition d = c->whole->definitions[whole];
		d.buffer = c->to[d.buffer];
		d.body = renumbered(c, d.body);
		c->definition_to[whole] = add_definition(c, d);
	}
	return c->definition_to[whole];
}

static void add_block(Cutting *c, int number)
{
	Program *p = c->part;
	Block b = c->whole->blocks[number];
	b.definition = definition_for(c, &b);
	b.buffer = c->to[b.buffer];
	b.body = renumbered(c, b.body);
	p->buffers[b.buffer].block = p->nblocks;
	p->blocks[p->nblocks++] = b;
}

/* --- totals ----------------------------------------------------------------- */

void program_count(Program *p)
{
	Wide flops = 0, bytes = 0;
	for (int i = 0; i < p->ndefinitions; i++)
		flops += p->definitions[i].flops;
	for (int i = 0; i < p->nbuffers; i++)
		if (p->buffers[i].role != BUFFER_TEMP)
			bytes += buffer_bytes(&p->buffers[i]);
	p->flops = (int64_t)wide_min(flops, INT64_MAX);
	p->bytes = (int64_t)wide_min(bytes, INT64_MAX);
}

/* --- a part, and all ------------------------------------------------------------- */

static void forget(Cutting *c, const BlockList *blocks)
{
	for (int i = 0; i < blocks->n; i++)
		c->definition_to[c->whole->blocks[blocks->at[i]].definition] = -1;
	for (int i = 0; i < c->part->nbuffers; i++)
		c->to[c->from[i]] = -1;
}

/* `blocks` in canonical order; the program has its own, producers first. */
static Program *cut(Cutting *c, BlockList *blocks, const char *name)
{
	const Program *whole = c->whole;
	Program *p = arena_memdup(c->arena, whole, sizeof *whole);
	c->part = p;
	p->name = arena_printf(c->arena, "%s.%s", whole->name, name);
	p->schedule_text = NULL;
	p->nparams = 0; /* the whole's file would be read again with others */
	p->nbuffers = p->ninputs = p->noutputs = 0;
	p->ndefinitions = p->nblocks = 0;
	p->definitions = NEW_N(c->arena, Definition, blocks->n);
	p->blocks = NEW_N(c->arena, Block, blocks->n);
	p->outputs = NEW_N(c->arena, int, blocks->n);
	p->buffers = c->buffers;
	add_buffers(c, blocks);
	p->buffers = arena_memdup(
	    c->arena, c->buffers, sizeof *c->buffers * (size_t)p->nbuffers);
	p->whole = whole;
	p->of_whole = arena_memdup(
	    c->arena, c->from, sizeof *c->from * (size_t)p->nbuffers);
	sort_ints(blocks->at, blocks->n);
	for (int i = 0; i < blocks->n; i++)
		add_block(c, blocks->at[i]);
	forget(c, blocks);
	program_count(p);
	canonical_text(c->arena, p);
	return p;
}

Program **program_parts(Arena *arena, const Program *whole,
    const int *part_of, const char *const *names, int n)
{
	Arena *scratch = arena_new();
	Cutting c = {.arena = arena, .whole = whole, .part_of = part_of};
	Program **parts = NEW_N(arena, Program *, n);
	BlockList *blocks = NEW_N(scratch, BlockList, n);
	c.definition_in = NEW_N(scratch, int, whole->ndefinitions);
	c.crosses = NEW_N(scratch, bool, whole->nbuffers);
	c.blocks = NEW_N(scratch, Ranked, whole->nblocks);
	c.to = NEW_N(scratch, int, whole->nbuffers);
	c.from = NEW_N(scratch, int, whole->nbuffers);
	c.buffers = NEW_N(scratch, Buffer, whole->nbuffers);
	c.definition_to = NEW_N(scratch, int, whole->ndefinitions);
	for (int i = 0; i < whole->nbuffers; i++)
		c.to[i] = -1;
	for (int i = 0; i < whole->ndefinitions; i++)
		c.definition_to[i] = -1;
	look_at_whole(&c);
	for (int i = 0; i < whole->nblocks; i++) {
		int block = c.blocks[i].item;
		assert(part_of[block] >= 0 && part_of[block] < n);
		vec_push(scratch, &blocks[part_of[block]], block);
	}
	for (int i = 0; i < n; i++)
		parts[i] = cut(&c, &blocks[i], names[i]);
	arena_free(scratch);
	return parts;
}
