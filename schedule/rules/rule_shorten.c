/* Integers of 32 bits that fit in 16 are computed there: blocks one of which reads
 * another all or none, so that no vector has lanes of both.
 *
 *     g[i] = i32(x[i + 1]) - i32(x[i])      y[i] = u8(abs(g[i])//2)
 * -->
 *     shorten(g)
 *     shorten(y)
 *
 * Operands (rule_extract.c) are short for readers that are not.  Long sums stay:
 * they are made by pairs, or as products. */
#include "schedule/rules/rules.h"

enum {
	SUM_MOST = 32, /* steps */
	PLACE_MOST = 8 /* results, side by side */
};

static Interval *ranges(Arena *arena, const Program *p)
{
	Interval *of = NEW_N(arena, Interval, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++)
		of[i] = dtype_interval(p->buffers[i].type);
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		if (dtype_is_int(b->body->type))
			of[b->buffer] = shorten_range(b->reduce, b->body,
			    (int64_t)block_steps(b), block_extents(arena, b), of);
	}
	return of;
}

/* Are there as many results side by side as a vector has, or as many places with a
 * few? */
static bool fills_vector(const Machine *m, const Block *b)
{
	int a = rule_longer_axis(b, b->nspatial);
	while (a > 0 && b->axes[a].extent <= PLACE_MOST)
		a = rule_longer_axis(b, a);
	return a >= 0 && b->axes[a].extent * 2 >= m->vector_bytes;
}

static Expr *body_of(Arena *arena, const Program *p, const Machine *m,
    const Block *b, const Interval *of)
{
	const Buffer *to = &p->buffers[b->buffer];
	bool stays =
	    (to->role != BUFFER_TEMP || to->once) && shorten_is_word(to->type);
	bool sum = b->reduce == REDUCE_SUM || b->reduce == REDUCE_PROD;
	if (stays || (sum && block_steps(b) > SUM_MOST) || !fills_vector(m, b) ||
	    !expr_size_within(b->body, SHORTEN_NODES_MAX))
		return NULL;
	return shorten_body(arena, b->reduce, b->body, (int64_t)block_steps(b),
	    block_extents(arena, b), of);
}

/* Those that are not short although they read, or are read by, what is, through a
 * buffer of 32 bits that is no operand. */
static bool drop_mixed(RuleForm *f, const Program *p, bool *is_short)
{
	bool any = false;
	for (int i = 0; i < p->nblocks; i++) {
		int buffer = p->blocks[i].buffer;
		for (int k = i + 1; k < p->nblocks; k++) {
			if (!shorten_is_word(p->buffers[buffer].type) ||
			    rule_made(f, buffer)->extracted ||
			    is_short[i] == is_short[k] ||
			    !expr_find_read(p->blocks[k].body, buffer))
				continue;
			is_short[i] = is_short[k] = false;
			any = true;
		}
	}
	return any;
}

/* What only converts elements is short if they are: its vectors are as long then. */
static bool is_worth(const Program *p, int at, const bool *is_short)
{
	const Block *b = &p->blocks[at];
	bool any = !shorten_is_move(b->reduce, b->body);
	for (int i = 0; i < at && !any; i++) {
		int buffer = p->blocks[i].buffer;
		any = is_short[i] && shorten_is_word(p->buffers[buffer].type) &&
		    expr_find_read(b->body, buffer);
	}
	return any;
}

void rule_shorten(RuleForm *f)
{
	const Program *p = f->program;
	if (!f->machine->vector_bytes)
		return;
	bool *is_short = NEW_N(f->arena, bool, p->nblocks);
	const Interval *of = ranges(f->arena, p);
	for (int i = 0; i < p->nblocks; i++)
		is_short[i] =
		    body_of(f->arena, p, f->machine, &p->blocks[i], of) &&
		    is_worth(p, i, is_short);
	while (drop_mixed(f, p, is_short))
		;
	for (int i = 0; i < p->nblocks; i++)
		is_short[i] &= is_worth(p, i, is_short);
	for (int i = 0; i < p->nblocks; i++)
		if (is_short[i])
			rule_rewrite(f, "shorten(%s)\n", p->blocks[i].name);
}
