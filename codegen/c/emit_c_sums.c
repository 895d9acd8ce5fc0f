/* Sums that fill the registers: vectors that a body adds to.  gcc keeps them there
 * where it is told what the text knows of them. */
#include "codegen/c/emit_c.h"

enum { HALF = 16 }; /* of AVX-512's registers */

static int registers_of_sums(const EmitC *e, const LowBody *body)
{
	int bytes = 0;
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind != LOWNODE_OP || n->dst < 0)
			continue;
		const LowTemp *d = &e->f->temps.at[n->dst];
		if (d->lanes > 1 && e->plan[n->dst].assigned > 1)
			bytes += d->lanes * dtype_bytes(d->type);
	}
	return bytes / e->isa.vector_bytes;
}

/* By how much the loop over `var` moves it. */
static int64_t step_of(const LowAffine *sum, int var)
{
	int64_t step = 0;
	for (int i = 0; i < sum->n; i++)
		step +=
		    sum->terms[i].temp == var ? sum->terms[i].coefficient : 0;
	return step;
}

static bool reads_step_ahead(
    const EmitBases *loads, const EmitBase *load, int var)
{
	LowAffine next = load->from;
	int64_t step = step_of(&next, var);
	next.constant += step;
	for (int i = 0; step && i < loads->n; i++)
		if (loads->at[i].buffer == load->buffer &&
		    loads->at[i].from.constant == next.constant &&
		    low_affine_equal(loads->at[i].from, next))
			return true;
	return false;
}

bool emit_c_reads_ahead(EmitC *e, const LowNode *loop)
{
	EmitBases loads = {0};
	if (!e->isa.avx512 || registers_of_sums(e, &loop->body) < HALF)
		return false;
	for (int i = 0; i < loop->body.n; i++) {
		const LowNode *n = loop->body.at[i];
		if (n->kind == LOWNODE_OP && n->op == LOW_LOAD &&
		    !emit_c_is_left_out(e, n))
			vec_push(e->arena, &loads,
			    (EmitBase){.buffer = n->buffer,
				.from = emit_c_sum(e, &n->address)});
	}
	for (int i = 0; i < loads.n; i++)
		if (reads_step_ahead(&loads, &loads.at[i], loop->var))
			return true;
	return false;
}

/* What a loop carries, by temporary. */
typedef struct {
	const EmitC *e;
	const LowNode *loop;
	const LowNode **carries;  /* it adds to the vector */
	const LowNode **restarts; /* it gives it another value */
	const LowNode **in;	  /* the last loop inside that adds to it */
	bool *several;		  /* not the only one */
	IntVec found;		  /* to which it adds */
} Carried;

static void find_carried(Carried *c, const LowNode *inner, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		const LowNode *in = n->kind == LOWNODE_LOOP ? n : inner;
		find_carried(c, in, &n->body);
		find_carried(c, in, &n->other);
		if (n->kind != LOWNODE_OP || n->dst < 0)
			continue;
		if (n->op != LOW_FMA || n->arg[2] != n->dst) {
			c->restarts[n->dst] = c->loop;
			continue;
		}
		if (c->carries[n->dst] != c->loop)
			vec_push(c->e->arena, &c->found, n->dst);
		c->several[n->dst] = c->carries[n->dst] == c->loop &&
		    (c->several[n->dst] || c->in[n->dst] != inner);
		c->carries[n->dst] = c->loop;
		c->in[n->dst] = inner;
	}
}

static bool carries_many(Carried *c)
{
	int bytes = 0;
	c->found.n = 0;
	find_carried(c, c->loop, &c->loop->body);
	for (int i = 0; i < c->found.n; i++) {
		int temp = c->found.at[i];
		const LowTemp *t = &c->e->f->temps.at[temp];
		if (t->lanes > 1 && c->restarts[temp] != c->loop &&
		    c->several[temp])
			bytes += t->lanes * dtype_bytes(t->type);
	}
	return bytes >= HALF * c->e->isa.vector_bytes;
}

static bool has_shared(Carried *c, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_LOOP) {
			c->loop = n;
			if (carries_many(c))
				return true;
		}
		if (has_shared(c, &n->body) || has_shared(c, &n->other))
			return true;
	}
	return false;
}

bool emit_c_shares_sums(EmitC *e)
{
	int n = e->f->temps.n;
	Carried c = {.e = e,
	    .carries = NEW_N(e->arena, const LowNode *, n),
	    .restarts = NEW_N(e->arena, const LowNode *, n),
	    .in = NEW_N(e->arena, const LowNode *, n),
	    .several = NEW_N(e->arena, bool, n)};
	return e->isa.avx512 && has_shared(&c, &e->f->body);
}

enum { FEWEST = 4, WINDOW = 8 }; /* sums, and additions to each */

/* `in`: by temp, the body whose sums it was last seen to be one of. */
static bool adds_window(
    const LowFunction *f, const LowBody **in, const LowBody *body)
{
	int added = 0, nsums = 0;
	for (int i = 0; i < body->n; i++)
		if (adds_window(f, in, &body->at[i]->body) ||
		    adds_window(f, in, &body->at[i]->other))
			return true;
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind != LOWNODE_OP || n->op != LOW_FMA ||
		    n->arg[2] != n->dst || f->temps.at[n->dst].lanes == 1)
			continue;
		added++;
		nsums += in[n->dst] != body;
		in[n->dst] = body;
	}
	return nsums >= FEWEST && added >= WINDOW * nsums;
}

bool emit_c_adds_window(EmitC *e)
{
	const LowBody **in = NEW_N(e->arena, const LowBody *, e->f->temps.n);
	return e->isa.avx512 && adds_window(e->f, in, &e->f->body);
}
