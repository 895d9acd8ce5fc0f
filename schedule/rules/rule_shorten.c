/* Integers of 32 bits that fit in 16 are computed there: blocks one of which reads
 * another all or none, so that no vector has lanes of both.
 *
 *     g[i] = i32(x[i + 1]) - i32(x[i])      y[i] = u8(abs(g[i])//2)
 * -->
 *     shorten(g)
 *     shorten(y)
 *
 * Long sums stay: they are made by pairs, or as products.  The other rules see the
 * program as it is then. */
#include "schedule/rules/rules.h"

enum { SUM_MOST = 32 /* steps */ };

static int64_t steps_of(const Block *b)
{
	int64_t n = 1;
	for (int a = b->nspatial; a < b->naxes; a++)
		n *= b->axes[a].extent;
	return n;
}

static ValueRange *ranges(Arena *arena, const Program *p)
{
	ValueRange *of = NEW_N(arena, ValueRange, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++)
		if (dtype_is_int(p->buffers[i].type))
			dtype_range(p->buffers[i].type, &of[i].least, &of[i].most);
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		if (dtype_is_int(b->body->type))
			of[b->buffer] = shorten_block_range(b->reduce, b->body,
			    steps_of(b), of);
	}
	return of;
}

/* Are there as many results side by side as a vector has? */
static bool fills_vector(const Machine *m, const Block *b)
{
	int a = rule_longer_axis(b, b->nspatial);
	return a >= 0 && b->axes[a].extent * 2 >= m->vector_bytes;
}

static Expr *body_of(Arena *arena, const Program *p, const Machine *m,
    const Block *b, const ValueRange *of)
{
	const Buffer *to = &p->buffers[b->buffer];
	bool stays = (to->role != BUFFER_TEMP || to->once) && to->type == DT_I32;
	bool sum = b->reduce == REDUCE_SUM || b->reduce == REDUCE_PROD;
	if (stays || (sum && steps_of(b) > SUM_MOST) || !fills_vector(m, b) ||
	    !expr_size_within(b->body, SHORTEN_NODES_MAX))
		return NULL;
	return shorten_body(arena, b->reduce, b->body, steps_of(b), of);
}

/* Is a block not short that one of these in i32 is read by, or that reads one? */
static bool drop_mixed(const Program *p, Expr **bodies)
{
	bool any = false;
	for (int i = 0; i < p->nblocks; i++) {
		int buffer = p->blocks[i].buffer;
		bool mixed = false;
		if (p->buffers[buffer].type != DT_I32)
			continue;
		for (int k = i + 1; k < p->nblocks; k++)
			mixed |= (!bodies[k] || !bodies[i]) &&
			    (bodies[k] || bodies[i]) &&
			    expr_find_read(p->blocks[k].body, buffer);
		for (int k = i; mixed && k < p->nblocks; k++)
			if (k == i || expr_find_read(p->blocks[k].body, buffer)) {
				any |= bodies[k] != NULL;
				bodies[k] = NULL;
			}
	}
	return any;
}

static void make_short(Arena *arena, Program *p, int at, Expr *body)
{
	Block *b = &p->blocks[at];
	Narrow n = {.type = body->type, .from = b->body->type, .element = body};
	b->body = body;
	if (n.type == n.from)
		return;
	p->buffers[b->buffer].type = n.type;
	for (int k = at + 1; k < p->nblocks; k++)
		if (expr_find_read(p->blocks[k].body, b->buffer))
			p->blocks[k].body = narrow_reader(
			    arena, &n, b->buffer, p->blocks[k].body);
}

const Program *rule_shorten(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	Expr **bodies = NEW_N(arena, Expr *, p->nblocks);
	if (!machine->vector_bytes)
		return p;
	const ValueRange *of = ranges(arena, p);
	for (int i = 0; i < p->nblocks; i++)
		bodies[i] = body_of(arena, p, machine, &p->blocks[i], of);
	while (drop_mixed(p, bodies))
		;
	for (int i = 0; i < p->nblocks; i++) {
		if (!bodies[i])
			continue;
		buf_printf(steps, "shorten(%s)\n", p->blocks[i].name);
		/* what it reads is short by now */
		make_short(
		    arena, p, i, body_of(arena, p, machine, &p->blocks[i], of));
	}
	return p;
}
