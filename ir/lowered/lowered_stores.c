/* A vector is stored behind what computes the next one:
 *
 *     s = FMA(LOAD x[i], ...)              s = FMA(LOAD x[i], ...)
 *     STORE y[i], s                        t = FMA(LOAD x[i + 8], ...)
 *     t = FMA(LOAD x[i + 8], ...)    ->    STORE y[i], s
 *     STORE y[i + 8], t                    STORE y[i + 8], t
 *
 * A machine takes a load for one of what was just stored where the last 12 bits of
 * both addresses are the same, as they are where two buffers begin with a page, and
 * waits.  No compiler exchanges them, for it does not know that buffers lie apart.
 * One vector more is in a register: none is kept over many operations. */
#include "ir/lowered/lowered.h"

typedef struct {
	Arena *arena;
	const LowFunction *f;
} Stores;

enum { MOST_BETWEEN = 16 };

static bool is_vector_store(const Stores *s, const LowNode *n)
{
	return n->kind == LOWNODE_OP &&
	    (n->op == LOW_STORE || n->op == LOW_STREAM) &&
	    s->f->temps.at[n->arg[0]].lanes > 1;
}

/* Nothing writes an input that arrives as it is, or packed. */
static bool is_input(const Stores *s, int buffer)
{
	const LowBuffer *b = &s->f->buffers.at[buffer];
	return b->kind == LOWBUF_PARAM && !s->f->params.at[b->param].output &&
	    !s->f->params.at[b->param].workspace;
}

static bool store_reads(const LowNode *store, int temp)
{
	for (int i = 0; i < store->address.n; i++)
		if (store->address.terms[i].temp == temp)
			return true;
	return store->arg[0] == temp;
}

/* May it be done before the store? */
static bool may_pass(const Stores *s, const LowNode *n, const LowNode *store)
{
	if (n->kind != LOWNODE_OP || n->dst < 0 || low_op_writes(n->op) ||
	    low_op_is_warps(n->op) || store_reads(store, n->dst))
		return false;
	return !low_op_reads(n->op) || is_input(s, n->buffer);
}

/* The next store, where this one may stand before it; else its own place. */
static int place_of(const Stores *s, const LowBody *body, int at)
{
	const LowNode *store = body->at[at];
	for (int i = at + 1; i < body->n && i <= at + MOST_BETWEEN; i++) {
		if (is_vector_store(s, body->at[i]))
			return i;
		if (!may_pass(s, body->at[i], store))
			return at;
	}
	return at;
}

static LowNode *with_bodies(const Stores *s, const LowNode *n);

static LowBody delayed(const Stores *s, const LowBody *body)
{
	LowBody out = {0};
	const LowNode *store = NULL; /* that is to come, before body->at[place] */
	int place = 0;
	for (int i = 0; i < body->n; i++) {
		LowNode *n = body->at[i];
		if (store && i == place) {
			vec_push(s->arena, &out, (LowNode *)store);
			store = NULL;
		}
		if (is_vector_store(s, n) &&
		    (place = place_of(s, body, i)) > i)
			store = n;
		else
			vec_push(s->arena, &out,
			    n->kind == LOWNODE_LOOP || n->kind == LOWNODE_IF
				? with_bodies(s, n) : n);
	}
	return out;
}

static LowNode *with_bodies(const Stores *s, const LowNode *n)
{
	LowNode *c = NEW(s->arena, LowNode);
	*c = *n;
	c->body = delayed(s, &n->body);
	c->other = delayed(s, &n->other);
	return c;
}

const LowFunction *low_delay_stores(Arena *arena, const LowFunction *f)
{
	Stores s = {arena, f};
	LowFunction *c = NEW(arena, LowFunction);
	*c = *f;
	c->body = delayed(&s, &f->body);
	return c;
}
