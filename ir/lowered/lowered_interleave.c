/* Copies of one long chain of operations side by side:
 *
 *     a0 = load x[i]                 a0 = load x[i]
 *     b0 = FMA(a0, c, d)             a1 = load x[i + 16]
 *     e0 = FMA(b0, a0, d)            b0 = FMA(a0, c, d)
 *     store y[i], e0           ->    b1 = FMA(a1, c, d)
 *     a1 = load x[i + 16]            e0 = FMA(b0, a0, d)
 *     b1 = FMA(a1, c, d)             e1 = FMA(b1, a1, d)
 *     e1 = FMA(b1, a1, d)            store y[i], e0
 *     store y[i + 16], e1            store y[i + 16], e1
 *
 * A processor waits for the end of each operation of a chain, and sees too few of
 * the next copy's if they are behind it.  A C compiler leaves them there, since
 * it has to think that y may overlap x; LLVM's scheduler does so, too.  Here inputs
 * and outputs do not overlap, and addresses in one buffer are compared.  Copies
 * whose ends are added to one sum are so in the order that they were.  What a copy
 * does only under a condition, of numbers alone, as what few arguments of a function
 * need, is one operation of it.  Chains that are one, since they read what all were
 * added up to, or are added up, are apart behind that, or before it: the run is cut
 * there, and each part is as one that is alone. */
#include "ir/lowered/lowered.h"

/* Copies side by side at most, and where a processor that looks SEEN operations
 * ahead does not reach the end of the next ones, and these have fewer than BUSY at a
 * time; operations that wait for one another in a copy that is worth it.  What is
 * added to a sum does not count: who carries sums through a loop has chosen how
 * many. */
enum { COPIES = 4, COPIES_ALONE = 8, SEEN = 256, BUSY = 10, LONG = 12 };

typedef struct {
	int first, last; /* operations */
	int n;		 /* operations */
	int depth;	 /* of these so many wait for one another */
	int alike;	 /* from this on so many may be side by side */
	int *at;
} Copy;

typedef struct {
	Arena *arena;
	const LowFunction *f;
	int *assigned;	 /* by temporary: how often */
	int *touched;	 /* by temporary: the last operation of the run that has
			  assigned it, or read it where several do */
	bool *read; /* by temporary: the run does more with it than steps */
	int *place; /* by temporary: where in copies its steps are; -1 */
	LowNode **nodes; /* of the run at hand */
	int n;
	bool *shared; /* by operation: done where it is first needed */
	int *copy;    /* by operation: another of the same copy, or itself */
	int *depth;
	IntVec *before,
	    *after;   /* by operation: what of its copy it waits for, and
				   what waits for it */
	bool *listed; /* by operation: a copy of a long chain begins with it */
	bool *done;
	VEC(Copy) copies;
	LowBody *out;
} Run;

/* --- what belongs together ----------------------------------------------------- */

typedef void EachTemp(Run *r, int at, int temp);

static bool has_buffer(const LowNode *n)
{
	return n->kind == LOWNODE_OP && low_op_has_buffer(n->op);
}

/* That a node reads, or what is in it. */
static void each_read(Run *r, int at, const LowNode *n, EachTemp *each)
{
	if (n->kind == LOWNODE_IF) {
		each(r, at, n->condition);
		for (int i = 0; i < n->body.n; i++)
			each_read(r, at, n->body.at[i], each);
		return;
	}
	for (int i = 0; i < 3; i++)
		if (n->arg[i] >= 0)
			each(r, at, n->arg[i]);
	for (int i = 0; has_buffer(n) && i < n->address.n; i++)
		each(r, at, n->address.terms[i].temp);
}

static void each_temp(Run *r, int at, EachTemp *each)
{
	each_read(r, at, r->nodes[at], each);
}

static void each_assigned(Run *r, int at, EachTemp *each)
{
	const LowNode *n = r->nodes[at];
	if (n->kind == LOWNODE_OP && n->dst >= 0)
		each(r, at, n->dst);
	for (int i = 0; i < n->body.n; i++)
		if (n->body.at[i]->dst >= 0)
			each(r, at, n->body.at[i]->dst);
}

static int copy_of(Run *r, int at)
{
	while (r->copy[at] != at)
		at = r->copy[at] = r->copy[r->copy[at]];
	return at;
}

/* The copy has the number of its first operation. */
static void unite(Run *r, int a, int b)
{
	a = copy_of(r, a);
	b = copy_of(r, b);
	if (a < b)
		r->copy[b] = a;
	else
		r->copy[a] = b;
}

static bool is_once(const Run *r, int temp)
{
	return r->assigned[temp] == 1;
}

/* Does an operation only go on with a sum, or what else is carried? */
static bool is_step(const LowNode *n)
{
	return n->kind == LOWNODE_OP && n->dst >= 0 &&
	    (n->dst == n->arg[0] || n->dst == n->arg[1] || n->dst == n->arg[2]);
}

static void see_read(Run *r, int at, int temp)
{
	const LowNode *n = r->nodes[at];
	r->read[temp] |= !is_step(n) || n->dst != temp;
}

static void find_read(Run *r)
{
	for (int i = 0; i < r->n; i++) {
		each_temp(r, i, see_read);
		each_assigned(r, i, see_read);
	}
}

/* Steps of it alone are of copies of their own, and stay in order. */
static bool is_carried(const Run *r, int temp)
{
	return !is_once(r, temp) && !r->read[temp];
}

static void see_shared(Run *r, int at, int temp)
{
	int def = r->touched[temp];
	if (!is_once(r, temp) || (def >= 0 && !r->shared[def]))
		r->shared[at] = false;
}

/* Numbers, scalars and what is the same in all lanes, which no store changes. */
static bool may_be_shared(const Run *r, const LowNode *n)
{
	if (n->kind != LOWNODE_OP ||
	    (has_buffer(n) && r->f->buffers.at[n->buffer].written))
		return false;
	return n->dst >= 0 && is_once(r, n->dst) &&
	    (r->f->temps.at[n->dst].lanes == 1 || n->op == LOW_CONST ||
		n->op == LOW_BROADCAST || n->op == LOW_IOTA);
}

static void see_together(Run *r, int at, int temp)
{
	int other = r->touched[temp];
	if (is_carried(r, temp))
		return;
	if (!is_once(r, temp))
		r->touched[temp] = at;
	if (other < 0 || r->shared[other])
		return;
	unite(r, at, other);
	vec_push(r->arena, &r->before[at], other);
	vec_push(r->arena, &r->after[other], at);
	if (is_once(r, temp) && r->depth[at] <= r->depth[other])
		r->depth[at] = r->depth[other] + 1;
}

static void see_assigned(Run *r, int at, int temp)
{
	if (!r->shared[at] && !is_once(r, temp))
		see_together(r, at, temp);
	if (!is_carried(r, temp))
		r->touched[temp] = at;
}

static void find_copies(Run *r)
{
	find_read(r);
	for (int i = 0; i < r->n; i++) {
		r->copy[i] = i;
		r->shared[i] = may_be_shared(r, r->nodes[i]);
		if (r->shared[i])
			each_temp(r, i, see_shared);
		if (!r->shared[i])
			each_temp(r, i, see_together);
		each_assigned(r, i, see_assigned);
	}
}

/* Those with a long chain, in the order of their first operations. */
static void list_copies(Run *r)
{
	Copy *all = NEW_N(r->arena, Copy, r->n);
	for (int i = 0; i < r->n; i++) {
		Copy *c = &all[copy_of(r, i)];
		c->n++;
		c->depth = r->depth[i] > c->depth ? r->depth[i] : c->depth;
	}
	for (int i = 0; i < r->n; i++) {
		Copy *c = &all[copy_of(r, i)];
		if (c->depth < LONG)
			continue;
		if (!c->at)
			c->at = NEW_N(r->arena, int, c->n), c->n = 0;
		c->at[c->n++] = i;
	}
	r->copies.n = 0;
	for (int i = 0; i < r->n; i++)
		if (all[i].at) {
			all[i].first = all[i].at[0];
			all[i].last = all[i].at[all[i].n - 1];
			r->listed[i] = true;
			vec_push(r->arena, &r->copies, all[i]);
		}
}

/* --- what may be side by side ------------------------------------------------------- */

static bool carries(const Run *r, const LowNode *n)
{
	return is_step(n) && is_carried(r, n->dst);
}

/* Of what is carried all steps have one place in their copies, and stay in order. */
static bool has_places(Run *r, const Copy *c)
{
	for (int i = 0; i < c->n; i++) {
		const LowNode *n = r->nodes[c->at[i]];
		if (!carries(r, n))
			continue;
		if (r->place[n->dst] >= 0 && r->place[n->dst] != i)
			return false;
		r->place[n->dst] = i;
	}
	return true;
}

static void forget_places(Run *r, const Copy *c, int n)
{
	for (int k = 0; k < n; k++)
		for (int i = 0; i < c[k].n; i++)
			if (r->nodes[c[k].at[i]]->dst >= 0)
				r->place[r->nodes[c[k].at[i]]->dst] = -1;
}

static bool is_alike(const Run *r, const Copy *a, const Copy *b)
{
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++) {
		const LowNode *m = r->nodes[a->at[i]], *n = r->nodes[b->at[i]];
		if (m->kind != n->kind || m->op != n->op ||
		    m->math != n->math || m->body.n != n->body.n)
			return false;
	}
	return true;
}

/* Bytes from the buffer's beginning on; of a parameter, or the workspace. */
static bool are_buffers_apart(const LowBuffer *a, const LowBuffer *b)
{
	if (a->kind != b->kind)
		return true;
	if (a->kind == LOWBUF_PARAM && a->param != b->param)
		return true;
	if (a->thread_bytes != b->thread_bytes)
		return false;
	int64_t a_end = a->offset + a->elements * dtype_bytes(a->type);
	int64_t b_end = b->offset + b->elements * dtype_bytes(b->type);
	return a_end <= b->offset || b_end <= a->offset;
}

static int lanes_of(const Run *r, const LowNode *n)
{
	return r->f->temps.at[low_op_writes(n->op) ? n->arg[0] : n->dst].lanes;
}

static bool is_indexed(const LowNode *n)
{
	return n->op == LOW_GATHER || n->op == LOW_SCATTER;
}

static bool are_apart(const Run *r, const LowNode *a, const LowNode *b)
{
	if (!has_buffer(a) || !has_buffer(b))
		return true;
	bool reads = low_op_reads(a->op) || low_op_reads(b->op);
	bool one = low_op_writes(a->op) || low_op_writes(b->op);
	bool both = low_op_writes(a->op) && low_op_writes(b->op);
	if (!both && !(one && reads))
		return true;
	if (a->buffer != b->buffer)
		return are_buffers_apart(
		    &r->f->buffers.at[a->buffer], &r->f->buffers.at[b->buffer]);
	if (is_indexed(a) || is_indexed(b))
		return false;
	LowAffine apart = low_affine_add(r->arena, a->address, b->address, -1);
	return !apart.n &&
	    (apart.constant >= lanes_of(r, b) ||
		apart.constant <= -lanes_of(r, a));
}

/* Is the other one a step of the same, of no copy from `first` up to this? */
static bool is_step_between(Run *r, const Copy *c, int first, int at, int other)
{
	const LowNode *n = r->nodes[at];
	int copy = copy_of(r, other);
	return carries(r, n) && n->dst == r->nodes[other]->dst &&
	    (copy < first || copy > c->first || !r->listed[copy]);
}

/* May its operations be anywhere in the run's operations from `first` on? */
static bool is_free(Run *r, const Copy *c, int first)
{
	for (int k = 0; k < c->n; k++) {
		int at = c->at[k];
		const LowNode *n = r->nodes[at];
		bool moves = !has_buffer(n) && !carries(r, n);
		for (int i = first; !moves && i <= c->last; i++)
			if (copy_of(r, i) != c->first &&
			    (!are_apart(r, n, r->nodes[i]) ||
				is_step_between(r, c, first, at, i)))
				return false;
	}
	return true;
}

/* How many copies from one on may be side by side. */
static int count_alike(Run *r, const Copy *c)
{
	const Copy *end = r->copies.at + r->copies.n;
	int n = 0;
	while (c + n < end && is_alike(r, c, c + n) && has_places(r, c + n) &&
	    is_free(r, c + n, c->first))
		n++;
	forget_places(r, c, c + n < end ? n + 1 : n);
	return n ? n : 1;
}

/* --- in the new order --------------------------------------------------------------- */

static void put(Run *r, int at);

static void put_needed(Run *r, int at, int temp)
{
	(void)at;
	int def = r->touched[temp];
	if (def >= 0 && r->shared[def])
		put(r, def);
}

static void put(Run *r, int at)
{
	if (r->done[at])
		return;
	r->done[at] = true;
	each_temp(r, at, put_needed);
	vec_push(r->arena, r->out, r->nodes[at]);
}

static void put_side_by_side(Run *r, const Copy *c, int n)
{
	for (int i = 0; i < c->n; i++)
		for (int k = 0; k < n; k++)
			put(r, c[k].at[i]);
}

static int most_copies(const Copy *c)
{
	bool sees_next = 2 * COPIES * c->n <= SEEN;
	bool is_busy = COPIES * c->n >= BUSY * c->depth;
	return sees_next || is_busy ? COPIES : COPIES_ALONE;
}

/* As many in each group as in the others, or one more. */
static void put_groups(Run *r, const Copy *c, int n)
{
	int most = most_copies(c);
	while (n > 0) {
		int groups = (n + most - 1) / most;
		int each = (n + groups - 1) / groups;
		put_side_by_side(r, c, each);
		c += each;
		n -= each;
	}
}

static void put_run(Run *r)
{
	int next = 0;
	for (int i = 0; i < r->n; i++) {
		const Copy *c = r->copies.at + next;
		if (next == r->copies.n || c->first != i) {
			put(r, i);
			continue;
		}
		if (c->alike > 1)
			put_groups(r, c, c->alike);
		else
			put(r, i);
		next += c->alike;
	}
}

/* --- chains that are one elsewhere ------------------------------------------------- */

/* Operation by operation from the run's end, or its beginning, on: where the most
 * long copies of as many operations are apart.  0: nowhere as many as COPIES. */
static int cut_of(Run *r, bool behind)
{
	int *size = NEW_N(r->arena, int, r->n);
	int *longest = NEW_N(r->arena, int, r->n);
	int *alike = NEW_N(r->arena, int, r->n + 1);
	int most = COPIES - 1, cut = 0;
	for (int i = 0; i < r->n; i++)
		r->copy[i] = i, r->depth[i] = 1;
	for (int k = 0; k < r->n; k++) {
		int i = behind ? r->n - 1 - k : k;
		const IntVec *near = behind ? &r->after[i] : &r->before[i];
		int n = !r->shared[i], deepest = 1;
		for (int j = 0; j < near->n; j++) {
			int other = near->at[j], c = copy_of(r, other);
			if (r->depth[i] <= r->depth[other])
				r->depth[i] = r->depth[other] + 1;
			if (c == copy_of(r, i))
				continue;
			n += size[c];
			deepest = longest[c] > deepest ? longest[c] : deepest;
			alike[size[c]] -= longest[c] >= LONG;
			unite(r, i, c);
		}
		int c = copy_of(r, i);
		size[c] = n;
		longest[c] = r->depth[i] > deepest ? r->depth[i] : deepest;
		if (longest[c] >= LONG && ++alike[n] > most)
			most = alike[n], cut = behind ? i : i + 1;
	}
	return cut;
}

/* --- bodies ----------------------------------------------------------------------------- */

static void forget(Run *r, int at, int temp)
{
	(void)at;
	r->touched[temp] = -1;
	r->read[temp] = false;
}

static bool count_all_alike(Run *r)
{
	bool several = false;
	for (int i = 0; i < r->copies.n; i += r->copies.at[i].alike) {
		Copy *c = &r->copies.at[i];
		c->alike = count_alike(r, c);
		several |= c->alike > 1;
	}
	return several;
}

static void begin_part(Run *r, LowNode **nodes, int n)
{
	r->nodes = nodes;
	r->n = n;
	r->shared = NEW_N(r->arena, bool, n);
	r->copy = NEW_N(r->arena, int, n);
	r->depth = NEW_N(r->arena, int, n);
	r->before = NEW_N(r->arena, IntVec, n);
	r->after = NEW_N(r->arena, IntVec, n);
	r->listed = NEW_N(r->arena, bool, n);
	r->done = NEW_N(r->arena, bool, n);
}

static void end_part(Run *r)
{
	for (int i = 0; i < r->n; i++) {
		each_temp(r, i, forget);
		each_assigned(r, i, forget);
	}
}

static void order_part(Run *r, LowNode **nodes, int n)
{
	begin_part(r, nodes, n);
	find_copies(r);
	list_copies(r);
	bool several = count_all_alike(r);
	int cut = 0;
	if (!several && r->copies.n && !(cut = cut_of(r, true)))
		cut = cut_of(r, false);
	if (!cut || cut == n)
		put_run(r);
	end_part(r);
	if (cut && cut < n) {
		order_part(r, nodes, cut);
		order_part(r, nodes + cut, n - cut);
	}
}

static void order_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Run *r = context;
	r->out = out;
	order_part(r, nodes, n);
}

/* Others wait for what is before, or are waited for. */
static bool is_plain_operation(const LowNode *n)
{
	return n->kind == LOWNODE_OP && !low_op_has_source(n->op) &&
	    !low_op_is_warps(n->op) && n->op != LOW_BARRIER &&
	    n->op != LOW_COMMIT && n->op != LOW_WAIT;
}

static bool is_plain(const LowNode *n)
{
	if (n->kind != LOWNODE_IF || n->other.n)
		return is_plain_operation(n);
	for (int i = 0; i < n->body.n; i++)
		if (!is_plain_operation(n->body.at[i]) ||
		    has_buffer(n->body.at[i]))
			return false;
	return true;
}

const LowFunction *low_interleave(Arena *arena, const LowFunction *f)
{
	Run r = {.arena = arena, .f = f};
	r.assigned = NEW_N(arena, int, f->temps.n);
	r.touched = NEW_N(arena, int, f->temps.n);
	r.read = NEW_N(arena, bool, f->temps.n);
	r.place = NEW_N(arena, int, f->temps.n);
	for (int i = 0; i < f->temps.n; i++)
		r.touched[i] = r.place[i] = -1;
	low_count_assigned(&f->body, r.assigned);
	LowFunction *to = arena_memdup(arena, f, sizeof *f);
	to->body = (LowBody){0};
	low_each_run(arena, &f->body, is_plain, order_run, &r, &to->body);
	return to;
}
