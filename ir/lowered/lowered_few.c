/* Of a vector that is stored under a mask of its first lanes, as many as a number
 * says, no more are computed:
 *
 *     v = load x[i]                   s: f32 = load x[i]
 *     w = mul v, v                    t: f32 = mul s, s
 *     one = const 1                   store y[i], t
 *     m = lanes_below one      ->
 *     store_masked y[i], w, m
 *
 * Without mask registers a store under a mask is many times as slow on some machines
 * as one of a scalar or of a shorter vector.  These are stored as they are, one lane
 * or 16 bytes and more; LLVM does the same, of one lane.  Lanes of less than 4 bytes
 * have no such store at all: any number is stored, in halves of halves.
 *
 *     store_masked y[i], w, m      store y[i], first 16 lanes of w
 *     where 28 bytes are on    ->  store y[i + 16], the next 8
 *                                  store y[i + 24], the next 4
 *
 * What is read elsewhere keeps its lanes. */
#include "ir/lowered/lowered.h"

typedef struct {
	Arena *arena;
	LowFunction *to;
	LowDefs defs;
	/* by temporary: how many lanes are read; what has only these, 0: nothing */
	int *want, *few;
} Few;

enum {
	LEAST_BYTES = 16,
	MASKED_BYTES =
	    4 /* of a lane: the least that has a store under a mask */
};

static int lanes_of(const Few *p, int temp)
{
	return p->to->temps.at[temp].lanes;
}

/* The least number of lanes, n or more, that a vector of this type has. */
static int whole(const Few *p, int temp, int n)
{
	const LowTemp *t = &p->to->temps.at[temp];
	int lanes = t->type == DT_BOOL
	    ? 1
	    : LEAST_BYTES / (t->type == DT_INDEX ? 8 : dtype_bytes(t->type));
	if (n <= 1)
		return n;
	while (lanes < n)
		lanes *= 2;
	return lanes < t->lanes ? lanes : t->lanes;
}

/* How many lanes a STORE_MASKED stores, where shorter stores do it; or 0. */
static int stored(const Few *p, const LowNode *n)
{
	if (n->op != LOW_STORE_MASKED)
		return 0;
	const LowNode *mask = p->defs.only[n->arg[1]];
	const LowNode *number = mask && mask->op == LOW_LANES_BELOW
	    ? p->defs.only[mask->arg[0]]
	    : NULL;
	DType type = p->to->temps.at[n->arg[0]].type;
	if (!number || number->op != LOW_CONST || number->i < 1 ||
	    number->i >= lanes_of(p, n->arg[0]) || type == DT_BOOL)
		return 0;
	int lanes = (int)number->i;
	return (type != DT_INDEX && dtype_bytes(type) < MASKED_BYTES) ||
		whole(p, n->arg[0], lanes) == lanes
	    ? lanes
	    : 0;
}

static bool is_by_lanes(LowOpcode op)
{
	switch (op) {
	case LOW_CONST:
	case LOW_LANES_BELOW:
	case LOW_BROADCAST:
	case LOW_CONVERT:
	case LOW_ADD:
	case LOW_SUB:
	case LOW_MUL:
	case LOW_DIV:
	case LOW_NEG:
	case LOW_ABS:
	case LOW_MIN:
	case LOW_MAX:
	case LOW_FMA:
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE:
	case LOW_AND:
	case LOW_OR:
	case LOW_NOT:
	case LOW_SELECT:
	case LOW_LOAD: return true;
	default: return false;
	}
}

/* Does the operation make fewer lanes? */
static bool is_few(const Few *p, const LowNode *n)
{
	return n->dst >= 0 && p->defs.only[n->dst] == n && p->want[n->dst] &&
	    p->want[n->dst] < lanes_of(p, n->dst) &&
	    (is_by_lanes(n->op) || n->op == LOW_SHUFFLE);
}

/* --- what is read ----------------------------------------------------------- */

/* Lanes of both of a SHUFFLE's sources that its first ones come from. */
static int shuffled(const Few *p, const LowNode *n)
{
	int most = 0, split = lanes_of(p, n->arg[0]);
	for (int l = 0; l < p->want[n->dst]; l++) {
		int from = n->shuffle[l] < split ? n->shuffle[l]
						 : n->shuffle[l] - split;
		most = from > most ? from : most;
	}
	return whole(p, n->arg[0], most + 1);
}

static int wanted(const Few *p, const LowNode *n, int arg)
{
	int lanes = lanes_of(p, n->arg[arg]), count = stored(p, n);
	if (count)
		return arg ? 0 : whole(p, n->arg[0], count);
	if (lanes == 1 || !is_few(p, n))
		return lanes;
	if (n->op == LOW_SHUFFLE) {
		int most = shuffled(p, n);
		return most < lanes ? most : lanes;
	}
	return whole(p, n->arg[arg], p->want[n->dst]);
}

static void note_lanes(void *context, const LowNode *n, int arg)
{
	Few *p = context;
	int temp = n->arg[arg], lanes = wanted(p, n, arg);
	if (p->want[temp] < lanes)
		p->want[temp] = lanes;
}

/* --- what is left ----------------------------------------------------------- */

static int like(Few *p, int temp, int lanes)
{
	const LowTemp *t = &p->to->temps.at[temp];
	return low_temp(p->arena, p->to, t->type, lanes, t->wish);
}

/* Lanes one behind the other, from `at` on. */
static int part(Few *p, int from, int at, int lanes, LowBody *out)
{
	int to = like(p, from, lanes);
	LowNode *n = low_op(p->arena, out,
	    lanes == 1 ? LOW_EXTRACT : LOW_SHUFFLE, to, from, -1, -1);
	if (lanes == 1) {
		n->i = at;
		return to;
	}
	n->shuffle = NEW_N(p->arena, int, lanes);
	for (int l = 0; l < lanes; l++)
		n->shuffle[l] = at + l;
	return to;
}

/* The first lanes of what has that many or more. */
static int first(Few *p, int temp, int lanes, LowBody *out)
{
	int from = p->few[temp] ? p->few[temp] : temp;
	return lanes_of(p, from) <= lanes ? from : part(p, from, 0, lanes, out);
}

static void put_shuffle(Few *p, const LowNode *n, int to, LowBody *out)
{
	int lanes = lanes_of(p, to), split = lanes_of(p, n->arg[0]);
	int most = shuffled(p, n), a = -1, b = -1;
	bool second = n->shuffle[0] >= split;
	if (lanes == 1) { /* of one of both */
		int from = n->arg[second];
		from = p->few[from] ? p->few[from] : from;
		low_op(p->arena, out,
		    lanes_of(p, from) == 1 ? LOW_COPY : LOW_EXTRACT, to, from,
		    -1, -1)
		    ->i = n->shuffle[0] - (second ? split : 0);
		return;
	}
	a = first(p, n->arg[0], most, out);
	b = n->arg[1] < 0 ? -1 : first(p, n->arg[1], most, out);
	int *order = NEW_N(p->arena, int, lanes);
	for (int l = 0; l < lanes; l++)
		order[l] = n->shuffle[l] < split
		    ? n->shuffle[l]
		    : n->shuffle[l] - split + lanes_of(p, a);
	low_op(p->arena, out, LOW_SHUFFLE, to, a, b, -1)->shuffle = order;
}

static void put_few(Few *p, const LowNode *n, LowBody *out)
{
	int lanes = p->want[n->dst], to = like(p, n->dst, lanes);
	if (n->op == LOW_SHUFFLE) {
		put_shuffle(p, n, to, out);
	} else {
		LowNode *c = arena_memdup(p->arena, n, sizeof *n);
		for (int k = 0; k < 3; k++)
			if (n->arg[k] >= 0)
				c->arg[k] = first(p, n->arg[k], lanes, out);
		c->dst = to;
		vec_push(p->arena, out, c);
	}
	p->few[n->dst] = to;
}

/* The first `count` lanes of what has that many or more, `at` elements behind. */
static void put_stores(
    Few *p, const LowNode *store, int temp, int count, int at, LowBody *out)
{
	int lanes = lanes_of(p, temp), half = lanes / 2;
	if (count == lanes) {
		LowNode *c = arena_memdup(p->arena, store, sizeof *c);
		c->op = LOW_STORE;
		c->arg[0] = temp;
		c->arg[1] = -1;
		c->address.constant += at;
		vec_push(p->arena, out, c);
		return;
	}
	put_stores(p, store, part(p, temp, 0, half, out),
	    count < half ? count : half, at, out);
	if (count > half)
		put_stores(p, store, part(p, temp, half, half, out),
		    count - half, at + half, out);
}

static void few_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Few *p = context;
	for (int i = 0; i < n; i++) {
		int count = stored(p, nodes[i]);
		if (count) {
			int temp = nodes[i]->arg[0];
			put_stores(p, nodes[i],
			    first(p, temp, whole(p, temp, count), out), count,
			    0, out);
		} else if (is_few(p, nodes[i])) {
			put_few(p, nodes[i], out);
		} else {
			vec_push(p->arena, out, nodes[i]);
		}
	}
}

const LowFunction *low_store_few(Arena *arena, const LowFunction *f)
{
	Few p = {arena, low_like(arena, f), low_defs(arena, f),
	    NEW_N(arena, int, f->temps.n + 1),
	    NEW_N(arena, int, f->temps.n + 1)};
	low_each_read(&f->body, note_lanes, &p);
	low_each_run(
	    arena, &f->body, low_is_operation, few_run, &p, &p.to->body);
	return p.to;
}
