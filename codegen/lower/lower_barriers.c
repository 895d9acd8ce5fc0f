/* Barriers that order nothing are left out, after the function is complete.
 *
 *     barrier; a_s = a; barrier            barrier; a_s = a
 *     barrier; b_s = b; barrier     -->             b_s = b; barrier
 *     c += a_s * b_s                       c += a_s * b_s
 *
 * Each stage that fills what a block shares asks for one behind itself, and for
 * one before where it fills again.  A barrier is needed where, of two accesses to
 * one buffer with no other barrier between them, one stands before it, one behind
 * it, and one of them writes: around the loops that both stand in, too. */
#include "codegen/lower/lower_internal.h"

/* What was touched since the last barrier. */
typedef struct {
	bool *read, *written; /* by buffer */
} Touched;

typedef struct {
	Arena *arena;
	const LowFunction *f;
	bool back;          /* from the end to the beginning */
	const LowNode *at;  /* the barrier in question */
	Touched found;      /* what there was where it stands */
} Flow;

static Touched none(const Flow *w)
{
	return (Touched){NEW_N(w->arena, bool, w->f->buffers.n + 1),
	    NEW_N(w->arena, bool, w->f->buffers.n + 1)};
}

static void join(const Flow *w, Touched to, Touched from)
{
	for (int i = 0; i < w->f->buffers.n; i++) {
		to.read[i] |= from.read[i];
		to.written[i] |= from.written[i];
	}
}

static void forget(const Flow *w, Touched t)
{
	for (int i = 0; i < w->f->buffers.n; i++)
		t.read[i] = t.written[i] = false;
}

static void flow(Flow *w, const LowBody *body, Touched t);

static void flow_op(Flow *w, const LowNode *n, Touched t)
{
	if (n == w->at)
		join(w, w->found, t);
	else if (n->op == LOW_BARRIER)
		forget(w, t);
	if (low_op_reads(n->op))
		t.read[n->buffer] = true;
	if (low_op_writes(n->op))
		t.written[n->buffer] = true;
	if (low_op_has_source(n->op))
		t.read[n->source] = true;
}

/* What an iteration leaves the next one finds. */
static void flow_loop(Flow *w, const LowNode *n, Touched t)
{
	if (n->loop == LOOP_SERIAL) {
		Touched before = none(w);
		join(w, before, t);
		flow(w, &n->body, t);
		join(w, t, before);
	}
	flow(w, &n->body, t);
}

static void flow_node(Flow *w, const LowNode *n, Touched t)
{
	if (n->kind == LOWNODE_OP) {
		flow_op(w, n, t);
	} else if (n->kind == LOWNODE_LOOP) {
		Touched skipped = none(w);
		if (n->limit)
			join(w, skipped, t);
		flow_loop(w, n, t);
		join(w, t, skipped);
	} else if (n->kind == LOWNODE_IF) {
		Touched other = none(w);
		join(w, other, t);
		flow(w, &n->body, t);
		flow(w, &n->other, other);
		join(w, t, other);
	}
}

static void flow(Flow *w, const LowBody *body, Touched t)
{
	for (int i = 0; i < body->n; i++)
		flow_node(w, body->at[w->back ? body->n - 1 - i : i], t);
}

static Touched touched_around(Lower *l, const LowNode *barrier, bool back)
{
	Flow w = {.arena = l->arena, .f = l->f, .back = back, .at = barrier};
	w.found = none(&w);
	flow(&w, &l->f->body, none(&w));
	return w.found;
}

static bool orders(Lower *l, const LowNode *barrier)
{
	Touched a = touched_around(l, barrier, false);
	Touched b = touched_around(l, barrier, true);
	for (int i = 0; i < l->f->buffers.n; i++)
		if (l->f->buffers.at[i].kind != LOWBUF_LOCAL &&
		    ((a.written[i] && (b.read[i] || b.written[i])) ||
			(a.read[i] && b.written[i])))
			return true;
	return false;
}

static void drop_from(Lower *l, LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		LowNode *n = body->at[i];
		drop_from(l, &n->body);
		drop_from(l, &n->other);
		if (n->kind != LOWNODE_OP || n->op != LOW_BARRIER ||
		    orders(l, n))
			continue;
		for (int k = i--; k + 1 < body->n; k++)
			body->at[k] = body->at[k + 1];
		body->n--;
	}
}

/* A warpgroup's product reads shared memory past the path of stores: what these
 * wrote is there behind a barrier that is told so. */
static void tell(LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && n->op == LOW_BARRIER)
			n->i = 1;
		tell(&n->body);
		tell(&n->other);
	}
}

void drop_barriers(Lower *l)
{
	drop_from(l, &l->f->body);
	if (low_has_op(&l->f->body, LOW_WGMMA))
		tell(&l->f->body);
}
