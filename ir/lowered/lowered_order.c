/* Operations in an order in which fewer vectors are kept, where there are more of
 * them than registers:
 *
 *     a = load x[i]                    a = load x[i]
 *     p = load w[0]                    p = load w[0]
 *     s = FMA(a, p, s)                 s = FMA(a, p, s)
 *     b = load x[i + 16]               b = load x[i + 16]
 *     t = FMA(b, p, t)         ->      q = load w[16]
 *     q = load w[16]                   s = FMA(b, q, s)
 *     s = FMA(b, q, s)                 t = FMA(b, p, t)
 *     c = load x[i + 32]               c = load x[i + 32]
 *     t = FMA(c, q, t)                 t = FMA(c, q, t)
 *
 * What copies of a window share is one load, which a later step uses again: here
 * all that can use a vector do before the next one is loaded.  Compilers keep the
 * order that they find, and store what does not fit.
 *
 * Next comes the operation behind which the fewest registers are in use, with what
 * is loaded for it; of several the first.  What is assigned more than once, and
 * what is written to memory, is so in the order that it was, so that results are
 * the same, bit for bit. */
#include "ir/lowered/lowered.h"

/* Operations that are looked at for the next one; those done for one before it; the
 * part of what is too many that may be left, or the order stays. */
enum { WINDOW = 192, NEEDED = 12, LEFT = 4 };

typedef struct {
	Arena *arena;
	const LowFunction *f;
	int registers, bytes;
	int *assigned;	 /* by temporary: how often */
	int *used;	 /* by temporary: how often, in the function */
	LowNode **nodes; /* of the run at hand */
	int n;
	/* by temporary, of the run: */
	int *def;     /* the last operation so far that assigns it; -1: none */
	IntVec *uses; /* operations that have read it since */
	int *left;    /* uses that are to come */
	bool *ends;   /* with the last of these it needs no register */
	bool *lasts;  /* it has one all the time */
	/* by operation: */
	IntVec *before; /* what has to be done before it */
	bool *done;
	bool *ahead; /* done where it is needed: a load, a number, an index */
	int next;    /* all others before this one are done */
	LowBody *out;
} Order;

static int registers_of(const Order *o, int temp)
{
	const LowTemp *t = &o->f->temps.at[temp];
	if (t->lanes == 1 || t->type == DT_BOOL)
		return 0;
	int bytes = t->lanes * (int)dtype_bytes(t->type);
	return (bytes + o->bytes - 1) / o->bytes;
}

typedef void EachTemp(Order *o, int at, int temp);

static void each_read(Order *o, int at, EachTemp *each)
{
	const LowNode *n = o->nodes[at];
	for (int i = 0; i < 3; i++)
		if (n->arg[i] >= 0)
			each(o, at, n->arg[i]);
	for (int i = 0; low_op_has_buffer(n->op) && i < n->address.n; i++)
		each(o, at, n->address.terms[i].temp);
}

/* --- how many registers ------------------------------------------------------ */

static void use_later(Order *o, int at, int temp)
{
	(void)at;
	o->left[temp]++;
}

static void count_uses(Order *o)
{
	for (int i = 0; i < o->n; i++)
		each_read(o, i, use_later);
}

static void find_ends(Order *o)
{
	for (int i = 0; i < o->n; i++) {
		int dst = o->nodes[i]->dst;
		if (dst >= 0)
			o->ends[dst] = o->assigned[dst] == 1 &&
			    o->left[dst] == o->used[dst];
	}
}

/* Registers that are in use all the time. */
static int count_lasting(Order *o)
{
	int sum = 0;
	for (int i = 0; i < o->n; i++) {
		const LowNode *n = o->nodes[i];
		const int temps[] = {n->dst, n->arg[0], n->arg[1], n->arg[2]};
		for (int k = 0; k < 4; k++) {
			int temp = temps[k];
			if (temp < 0 || o->ends[temp] || o->lasts[temp])
				continue;
			o->lasts[temp] = true;
			sum += registers_of(o, temp);
		}
	}
	return sum;
}

/* Registers more behind an operation, whose uses have come. */
static int count_done(Order *o, const LowNode *n)
{
	int more = n->dst >= 0 && o->ends[n->dst] ? registers_of(o, n->dst) : 0;
	for (int i = 0; i < 3; i++)
		if (n->arg[i] >= 0 && !--o->left[n->arg[i]] &&
		    o->ends[n->arg[i]])
			more -= registers_of(o, n->arg[i]);
	for (int i = 0; low_op_has_buffer(n->op) && i < n->address.n; i++)
		o->left[n->address.terms[i].temp]--;
	return more;
}

/* The most at once; all uses are to come, before and after. */
static int most_of(Order *o, LowNode **nodes, int lasting)
{
	int now = lasting, most = lasting;
	for (int i = 0; i < o->n; i++) {
		now += count_done(o, nodes[i]);
		most = now > most ? now : most;
	}
	count_uses(o);
	return most;
}

/* --- what waits for what --------------------------------------------------- */

static void wait_for(Order *o, int at, int other)
{
	if (other >= 0 && other != at)
		vec_push(o->arena, &o->before[at], other);
}

static void see_read(Order *o, int at, int temp)
{
	wait_for(o, at, o->def[temp]);
	vec_push(o->arena, &o->uses[temp], at);
}

static void see_assigned(Order *o, int at, int temp)
{
	wait_for(o, at, o->def[temp]);
	for (int i = 0; i < o->uses[temp].n; i++)
		wait_for(o, at, o->uses[temp].at[i]);
	o->uses[temp].n = 0;
	o->def[temp] = at;
}

/* Loads, numbers, and what indices are made of. */
static bool is_ahead(const Order *o, const LowNode *n)
{
	if (n->dst < 0 || o->assigned[n->dst] != 1)
		return false;
	return n->op == LOW_LOAD || n->op == LOW_CONST ||
	    n->op == LOW_BROADCAST || o->f->temps.at[n->dst].lanes == 1;
}

/* Stores stay in order, and so do loads of what may be stored. */
static void find_order(Order *o)
{
	int written = -1;
	IntVec read = {0};
	for (int i = 0; i < o->n; i++) {
		const LowNode *n = o->nodes[i];
		o->ahead[i] = is_ahead(o, n);
		each_read(o, i, see_read);
		if (n->dst >= 0)
			see_assigned(o, i, n->dst);
		if (low_op_writes(n->op)) {
			wait_for(o, i, written);
			for (int k = 0; k < read.n; k++)
				wait_for(o, i, read.at[k]);
			read.n = 0;
			written = i;
		} else if (low_op_reads(n->op) &&
		    o->f->buffers.at[n->buffer].written) {
			wait_for(o, i, written);
			vec_push(o->arena, &read, i);
		}
	}
}

/* --- in the new order ------------------------------------------------------------ */

static void put(Order *o, int at)
{
	if (o->done[at])
		return;
	o->done[at] = true;
	for (int i = 0; i < o->before[at].n; i++)
		put(o, o->before[at].at[i]);
	vec_push(o->arena, o->out, o->nodes[at]);
	count_done(o, o->nodes[at]);
}

/* Registers more behind an operation with all that it waits for, which is done
 * ahead; false: other things come before. */
static bool needs(Order *o, int at, int *more, int *budget)
{
	const LowNode *n = o->nodes[at];
	if (--*budget < 0)
		return false;
	if (n->dst >= 0 && o->ends[n->dst])
		*more += registers_of(o, n->dst);
	for (int i = 0; i < o->before[at].n; i++) {
		int other = o->before[at].at[i];
		if (o->done[other])
			continue;
		if (!o->ahead[other] || !needs(o, other, more, budget))
			return false;
	}
	for (int i = 0; i < 3; i++) {
		int temp = n->arg[i];
		if (temp >= 0 && o->ends[temp] && o->left[temp] == 1)
			*more -= registers_of(o, temp);
	}
	return true;
}

/* -1: all are done. */
static int best_of(Order *o)
{
	int best = -1, least = 0, seen = 0;
	while (o->next < o->n && (o->done[o->next] || o->ahead[o->next]))
		o->next++;
	for (int i = o->next; i < o->n && seen < WINDOW; i++) {
		int more = 0, budget = NEEDED;
		if (o->done[i] || o->ahead[i])
			continue;
		seen++;
		if (best < 0)
			best = i, least = 1 << 20;
		if (needs(o, i, &more, &budget) && more < least)
			best = i, least = more;
	}
	return best;
}

static void put_in_order(Order *o)
{
	o->next = 0;
	for (int best; (best = best_of(o)) >= 0;)
		put(o, best);
	for (int i = 0; i < o->n; i++)
		put(o, i);
}

/* --- bodies ------------------------------------------------------------------------ */

static LowNode **in_order(Order *o)
{
	LowBody ordered = {0};
	o->out = &ordered;
	o->before = NEW_N(o->arena, IntVec, o->n);
	o->done = NEW_N(o->arena, bool, o->n);
	o->ahead = NEW_N(o->arena, bool, o->n);
	find_order(o);
	put_in_order(o);
	count_uses(o);
	return ordered.at;
}

static void forget(Order *o, int at, int temp)
{
	(void)at;
	o->def[temp] = -1;
	o->uses[temp].n = o->left[temp] = 0;
	o->ends[temp] = o->lasts[temp] = false;
}

static void order_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Order *o = context;
	o->nodes = nodes;
	o->n = n;
	count_uses(o);
	find_ends(o);
	int lasting = count_lasting(o);
	int over = most_of(o, nodes, lasting) - o->registers;
	LowNode **ordered = over > 0 ? in_order(o) : nodes;
	if (over > 0 &&
	    LEFT * (most_of(o, ordered, lasting) - o->registers) > over)
		ordered = nodes;
	for (int i = 0; i < n; i++)
		vec_push(o->arena, out, ordered[i]);
	for (int i = 0; i < n; i++) {
		each_read(o, i, forget);
		if (nodes[i]->dst >= 0)
			forget(o, i, nodes[i]->dst);
	}
}

static void use_in_all(Order *o, int at, int temp)
{
	(void)at;
	o->used[temp]++;
}

static void count_used(Order *o, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		LowNode *n = body->at[i];
		o->nodes = &n;
		if (n->kind == LOWNODE_OP)
			each_read(o, 0, use_in_all);
		count_used(o, &n->body);
		count_used(o, &n->other);
	}
}

const LowFunction *low_order(
    Arena *arena, const LowFunction *f, int registers, int bytes)
{
	int n = f->temps.n;
	Order o = {.arena = arena,
	    .f = f,
	    .registers = registers,
	    .bytes = bytes,
	    .assigned = NEW_N(arena, int, n),
	    .used = NEW_N(arena, int, n),
	    .def = NEW_N(arena, int, n),
	    .uses = NEW_N(arena, IntVec, n),
	    .left = NEW_N(arena, int, n),
	    .ends = NEW_N(arena, bool, n),
	    .lasts = NEW_N(arena, bool, n)};
	for (int i = 0; i < n; i++)
		o.def[i] = -1;
	low_count_assigned(&f->body, o.assigned);
	count_used(&o, &f->body);
	LowFunction *to = arena_memdup(arena, f, sizeof *f);
	to->body = (LowBody){0};
	low_each_run(
	    arena, &f->body, low_is_operation, order_run, &o, &to->body);
	return to;
}
