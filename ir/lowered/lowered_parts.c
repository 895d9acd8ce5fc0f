/* Vectors wider than a machine's registers in parts that are not:
 *
 *     t: f32 of 32 lanes = FMA(a, b, c)      t.0 = FMA(a.0, b.0, c.0)
 *     s: u8 of 32 lanes = CONVERT(t)     ->  t.1 = FMA(a.1, b.1, c.1)
 *                                            s.0 = CONVERT(t.0), of 16 lanes
 *                                            s.1 = CONVERT(t.1)
 *                                            s = SHUFFLE(s.0, s.1)
 *
 * What has no parts of its own is cut, or put together, where an operation has
 * fewer lanes, or more.  Vectors of indices stay whole: addresses are taken from
 * them lane by lane. */
#include "ir/lowered/lowered.h"

#include <assert.h>
#include <string.h>

typedef struct {
	Arena *arena;
	const LowFunction *f;
	LowFunction *to;
	int *lanes;    /* of a part, by temporary of f */
	int *assigned; /* how often, by temporary of f */
	bool *moves; /* only loaded, stored and converted, by temporary of f */
	int **parts;   /* temporaries of `to`; NULL: itself, whole */
	LowBody *out;
} Parts;

/* --- how many lanes a part has -------------------------------------------------- */

static void narrow(Parts *p, int temp, int lanes, bool *changed)
{
	if (temp >= 0 && p->lanes[temp] > lanes) {
		p->lanes[temp] = lanes;
		*changed = true;
	}
}

static bool is_mask(const Parts *p, int temp)
{
	return temp >= 0 && p->f->temps.at[temp].type == DT_BOOL &&
	    p->f->temps.at[temp].lanes > 1;
}

/* Of the temporaries of an operation that works lane by lane; a sum of products
 * has its own lanes. */
static bool is_by_lane(LowOpcode op)
{
	switch (op) {
	case LOW_CONST:
	case LOW_IOTA:
	case LOW_LANES_BELOW:
	case LOW_BROADCAST:
	case LOW_EXTRACT:
	case LOW_INSERT:
	case LOW_SHUFFLE:
	case LOW_PERMUTE:
	case LOW_ANY: return false;
	default: return true;
	}
}

/* A mask has the lanes of what it is made of, and of what it is for; so has what
 * is loaded to be converted, or the other way round. */
static void narrow_others(Parts *p, const LowNode *n, bool *changed)
{
	const int temps[] = {n->dst, n->arg[0], n->arg[1], n->arg[2]};
	int least = 64;
	if (!is_by_lane(n->op))
		return;
	for (int i = 0; i < 4; i++)
		if (temps[i] >= 0 && p->f->temps.at[temps[i]].lanes > 1 &&
		    p->lanes[temps[i]] < least)
			least = p->lanes[temps[i]];
	for (int i = 0; i < 4; i++)
		if (is_mask(p, temps[i]) ||
		    (temps[i] >= 0 && p->moves[temps[i]]))
			narrow(p, temps[i], least, changed);
}

static void note_use(Parts *p, const LowNode *n)
{
	bool moves = n->op == LOW_LOAD || n->op == LOW_STORE ||
	    n->op == LOW_STREAM || n->op == LOW_CONVERT;
	if (n->dst >= 0) {
		p->assigned[n->dst]++;
		p->moves[n->dst] &= moves;
	}
	for (int i = 0; i < 3; i++)
		if (n->arg[i] >= 0)
			p->moves[n->arg[i]] &= moves;
}

/* Of each operation, in order; `changed` NULL: what is done with temporaries. */
static void look_at(Parts *p, const LowBody *body, bool *changed)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP) {
			if (changed)
				narrow_others(p, n, changed);
			else
				note_use(p, n);
		} else if (n->kind != LOWNODE_COMMENT) {
			look_at(p, &n->body, changed);
			look_at(p, &n->other, changed);
		}
	}
}

/* Is any vector wider than that? */
static bool find_lanes(Parts *p, int bytes)
{
	bool any = false, changed;
	p->lanes = NEW_N(p->arena, int, p->f->temps.n);
	p->assigned = NEW_N(p->arena, int, p->f->temps.n);
	p->moves = NEW_N(p->arena, bool, p->f->temps.n);
	for (int i = 0; i < p->f->temps.n; i++) {
		const LowTemp *t = &p->f->temps.at[i];
		p->lanes[i] = t->lanes;
		p->moves[i] = t->lanes > 1 && t->type != DT_INDEX;
		if (t->lanes > 1 && t->type != DT_INDEX && t->type != DT_BOOL)
			narrow(p, i, bytes / dtype_bytes(t->type), &any);
	}
	if (!any)
		return false;
	look_at(p, &p->f->body, NULL);
	do {
		changed = false;
		look_at(p, &p->f->body, &changed);
	} while (changed);
	return true;
}

/* --- parts of values -------------------------------------------------------------- */

static int new_temp(Parts *p, int like, int lanes)
{
	const LowTemp *t = &p->f->temps.at[like];
	return low_temp(p->arena, p->to, t->type, lanes, t->wish);
}

static void make_parts(Parts *p)
{
	p->parts = NEW_N(p->arena, int *, p->f->temps.n);
	for (int i = 0; i < p->f->temps.n; i++) {
		int n = p->f->temps.at[i].lanes / p->lanes[i];
		if (n == 1)
			continue;
		p->parts[i] = NEW_N(p->arena, int, n);
		for (int k = 0; k < n; k++)
			p->parts[i][k] = new_temp(p, i, p->lanes[i]);
	}
}

static int part_of(const Parts *p, int temp, int k)
{
	return p->parts[temp] ? p->parts[temp][k] : temp;
}

static LowNode *emit(Parts *p, LowOpcode op, int dst, int a, int b, int c)
{
	return low_op(p->arena, p->out, op, dst, a, b, c);
}

static int lanes_of(const Parts *p, int temp)
{
	return p->to->temps.at[temp].lanes;
}

/* Lanes of a from a number on and, where there are more of d, those of b. */
static void put_shuffle(Parts *p, int dst, int a, int b, int from)
{
	int lanes = lanes_of(p, dst);
	int *takes = NEW_N(p->arena, int, lanes);
	for (int i = 0; i < lanes; i++)
		takes[i] = from + i;
	emit(p, LOW_SHUFFLE, dst, a, b, -1)->shuffle = takes;
}

/* Pieces, of equal lanes, one after the other, in dst; there is more than one. */
static void join(Parts *p, int dst, const int *pieces, int n, int like)
{
	int halves[2];
	if (n == 2) {
		put_shuffle(p, dst, pieces[0], pieces[1], 0);
		return;
	}
	for (int h = 0; h < 2; h++) {
		halves[h] = new_temp(p, like, lanes_of(p, dst) / 2);
		join(p, halves[h], pieces + h * n / 2, n / 2, like);
	}
	put_shuffle(p, dst, halves[0], halves[1], 0);
}

/* Lanes [from, from + lanes) of a temporary of f, as one of `to`. */
static int value(Parts *p, int temp, int from, int lanes)
{
	int each, part;
	if (temp < 0 || p->f->temps.at[temp].lanes == 1)
		return temp;
	each = p->lanes[temp];
	part = part_of(p, temp, from / each);
	if (lanes == each)
		return part;
	int whole = new_temp(p, temp, lanes);
	if (lanes < each)
		put_shuffle(p, whole, part, -1, from % each);
	else
		join(p, whole, p->parts[temp] + from / each, lanes / each, temp);
	return whole;
}

/* --- operations ------------------------------------------------------------------- */

static LowNode *copy(Parts *p, const LowNode *n)
{
	LowNode *c = NEW(p->arena, LowNode);
	*c = *n;
	vec_push(p->arena, p->out, c);
	return c;
}

/* A number behind a scalar. */
static int moved(Parts *p, int scalar, int64_t by)
{
	int number, sum;
	if (!by)
		return scalar;
	number = new_temp(p, scalar, 1);
	sum = new_temp(p, scalar, 1);
	emit(p, LOW_CONST, number, -1, -1, -1)->i = by;
	emit(p, LOW_ADD, sum, scalar, number, -1);
	return sum;
}

/* One value in all lanes: of what is assigned once, one part is all. */
static void put_same(Parts *p, const LowNode *n)
{
	int parts = p->f->temps.at[n->dst].lanes / p->lanes[n->dst];
	for (int k = 0; k < parts; k++)
		if (k && p->assigned[n->dst] == 1)
			p->parts[n->dst][k] = p->parts[n->dst][0];
		else
			copy(p, n)->dst = part_of(p, n->dst, k);
}

/* IOTA and LANES_BELOW: lanes that are numbered. */
static void put_numbered(Parts *p, const LowNode *n)
{
	int each = p->lanes[n->dst];
	int parts = p->f->temps.at[n->dst].lanes / each;
	for (int k = 0; k < parts; k++) {
		int64_t first = (int64_t)k * each;
		int a = moved(p, n->arg[0], n->op == LOW_IOTA ? first : -first);
		emit(p, n->op, part_of(p, n->dst, k), a, -1, -1);
	}
}

static void put_extract(Parts *p, const LowNode *n)
{
	int each = p->lanes[n->arg[0]];
	LowNode *c = copy(p, n);
	c->arg[0] = part_of(p, n->arg[0], (int)n->i / each);
	c->i = n->i % each;
}

static void put_insert(Parts *p, const LowNode *n)
{
	int each = p->lanes[n->dst], parts = p->f->temps.at[n->dst].lanes / each;
	for (int k = 0; k < parts; k++) {
		int a = value(p, n->arg[0], k * each, each);
		int dst = part_of(p, n->dst, k);
		if (n->i / each == k)
			emit(p, LOW_INSERT, dst, a, n->arg[1], -1)->i =
			    n->i % each;
		else if (a != dst)
			emit(p, LOW_COPY, dst, a, -1, -1);
	}
}

static void put_any(Parts *p, const LowNode *n)
{
	int parts = p->f->temps.at[n->arg[0]].lanes / p->lanes[n->arg[0]];
	int all = -1;
	for (int k = 0; k < parts; k++) {
		int last = k == parts - 1;
		int one = last && !k ? n->dst : new_temp(p, n->dst, 1);
		emit(p, LOW_ANY, one, part_of(p, n->arg[0], k), -1, -1);
		if (k) {
			int sum = last ? n->dst : new_temp(p, n->dst, 1);
			emit(p, LOW_OR, sum, all, one, -1);
			all = sum;
		} else {
			all = one;
		}
	}
}

/* --- shuffles: each part of parts --------------------------------------------------- */

/* The part of a or b that has a lane, counted through both. */
static int source_of(const Parts *p, const LowNode *n, int lane)
{
	return lane / p->lanes[n->arg[0]];
}

static int source_part(Parts *p, const LowNode *n, int source)
{
	int each = p->lanes[n->arg[0]];
	int parts = p->f->temps.at[n->arg[0]].lanes / each;
	return source < parts
	    ? value(p, n->arg[0], source * each, each)
	    : value(p, n->arg[1], (source - parts) * each, each);
}

/* Lanes of two parts, those of others as they come. */
static void put_two(Parts *p, const LowNode *n, int dst, const int *takes,
    const int *sources, int nsources)
{
	int lanes = lanes_of(p, dst), each = p->lanes[n->arg[0]];
	int *lane = NEW_N(p->arena, int, lanes);
	int a = source_part(p, n, sources[0]);
	int b = nsources > 1 ? source_part(p, n, sources[1]) : -1;
	for (int i = 0; i < lanes; i++) {
		int s = source_of(p, n, takes[i]);
		lane[i] = s == sources[0] ? takes[i] % each
		    : nsources > 1 && s == sources[1] ? each + takes[i] % each
		    : 0;
	}
	emit(p, LOW_SHUFFLE, dst, a, b, -1)->shuffle = lane;
}

/* Lanes of one part more, where they belong. */
static void put_more(Parts *p, const LowNode *n, int dst, int so_far,
    const int *takes, int source)
{
	int lanes = lanes_of(p, dst), each = p->lanes[n->arg[0]];
	int *lane = NEW_N(p->arena, int, lanes);
	int more = source_part(p, n, source);
	bool same = each == lanes;
	if (!same) {
		int whole = new_temp(p, n->dst, lanes);
		put_two(p, n, whole, takes, &source, 1);
		more = whole;
	}
	for (int i = 0; i < lanes; i++)
		lane[i] = source_of(p, n, takes[i]) != source ? i
		    : lanes + (same ? takes[i] % each : i);
	emit(p, LOW_SHUFFLE, dst, so_far, more, -1)->shuffle = lane;
}

static void put_shuffled(Parts *p, const LowNode *n, int dst, const int *takes)
{
	int sources[64], nsources = 0, so_far = dst;
	uint64_t used = 0;
	for (int i = 0; i < lanes_of(p, dst); i++)
		used |= UINT64_C(1) << source_of(p, n, takes[i]);
	for (int s = 0; s < 64; s++)
		if (used >> s & 1)
			sources[nsources++] = s;
	for (int k = 2; k <= nsources || k == 2; k++) {
		int to = k >= nsources ? dst
		    : new_temp(p, n->dst, lanes_of(p, dst));
		if (k == 2)
			put_two(p, n, to, takes, sources, nsources);
		else
			put_more(p, n, to, so_far, takes, sources[k - 1]);
		so_far = to;
	}
}

static void put_shuffles(Parts *p, const LowNode *n)
{
	int each = p->lanes[n->dst], lanes = p->f->temps.at[n->dst].lanes;
	for (int k = 0; k < lanes / each; k++)
		put_shuffled(p, n, part_of(p, n->dst, k), n->shuffle + k * each);
}

/* --- lane by lane ------------------------------------------------------------------- */

/* Terms of a sum of products, or integers of a wider one, that make a lane; else 1. */
static int terms_of(const Parts *p, const LowNode *n, int arg)
{
	const LowTemp *temps = p->f->temps.at;
	return (n->op == LOW_DOT && arg < 2) || (n->op == LOW_BITS && !arg)
	    ? temps[n->arg[arg]].lanes / temps[n->dst].lanes
	    : 1;
}

/* Is the argument one that all lanes look up in? */
static bool is_table(const LowNode *n, int arg)
{
	return n->op == LOW_PERMUTE && arg == 0;
}

/* The lanes of an operation, and how many of them at once. */
static int lanes_at_once(const Parts *p, const LowNode *n, int *all)
{
	int least = 64;
	*all = 1;
	for (int i = -1; i < 3; i++) {
		int temp = i < 0 ? n->dst : n->arg[i];
		if (temp < 0 || is_table(n, i) ||
		    p->f->temps.at[temp].lanes == 1)
			continue;
		int terms = i < 0 ? 1 : terms_of(p, n, i);
		int lanes = p->lanes[temp] / terms;
		*all = p->f->temps.at[temp].lanes / terms;
		least = lanes < least ? lanes : least;
	}
	return least < *all ? least : *all;
}

static bool is_contiguous(LowOpcode op)
{
	return op == LOW_LOAD || op == LOW_LOAD_MASKED || op == LOW_STORE ||
	    op == LOW_STORE_MASKED || op == LOW_STREAM;
}

static void put_piece(Parts *p, const LowNode *n, int dst, int from, int lanes)
{
	int args[3];
	for (int i = 0; i < 3; i++) {
		int terms = n->arg[i] < 0 ? 1 : terms_of(p, n, i);
		args[i] = is_table(n, i)
		    ? value(p, n->arg[i], 0, p->f->temps.at[n->arg[i]].lanes)
		    : value(p, n->arg[i], from * terms, lanes * terms);
	}
	LowNode *c = copy(p, n);
	c->dst = dst;
	memcpy(c->arg, args, sizeof args);
	if (is_contiguous(n->op))
		c->address.constant += from;
}

static void put_by_lane(Parts *p, const LowNode *n)
{
	int all, lanes = lanes_at_once(p, n, &all), pieces[64];
	int each = n->dst < 0 ? lanes : p->lanes[n->dst];
	for (int from = 0; from < all; from += each) {
		int dst = n->dst < 0 ? -1 : part_of(p, n->dst, from / each);
		if (each == lanes) {
			put_piece(p, n, dst, from, lanes);
			continue;
		}
		for (int k = 0; k < each / lanes; k++) {
			pieces[k] = new_temp(p, n->dst, lanes);
			put_piece(p, n, pieces[k], from + k * lanes, lanes);
		}
		join(p, dst, pieces, each / lanes, n->dst);
	}
}

/* Integers of a wider one each. */
static void put_apart(Parts *p, const LowNode *n)
{
	const LowTemp *temps = p->f->temps.at;
	int by = temps[n->dst].lanes / temps[n->arg[0]].lanes;
	int each = p->lanes[n->dst], parts = temps[n->dst].lanes / each;
	for (int k = 0; k < parts; k++) {
		int word = value(p, n->arg[0], k * (each / by), each / by);
		LowNode *c = copy(p, n);
		c->dst = part_of(p, n->dst, k);
		c->arg[0] = word;
	}
}

/* A word has the bits of all lanes. */
static void put_whole(Parts *p, const LowNode *n)
{
	int all = value(p, n->arg[0], 0, p->f->temps.at[n->arg[0]].lanes);
	copy(p, n)->arg[0] = all;
}

static void put_op(Parts *p, const LowNode *n)
{
	switch (n->op) {
	case LOW_CONST:
	case LOW_BROADCAST: put_same(p, n); return;
	case LOW_IOTA:
	case LOW_LANES_BELOW: put_numbered(p, n); return;
	case LOW_EXTRACT: put_extract(p, n); return;
	case LOW_INSERT: put_insert(p, n); return;
	case LOW_SHUFFLE: put_shuffles(p, n); return;
	case LOW_ANY: put_any(p, n); return;
	case LOW_BITS:
		if (is_mask(p, n->arg[0]))
			put_whole(p, n);
		else if (!terms_of(p, n, 0))
			put_apart(p, n);
		else
			put_by_lane(p, n);
		return;
	default: put_by_lane(p, n); return;
	}
}

static void put_body(Parts *p, const LowBody *body, LowBody *out)
{
	LowBody *outer = p->out;
	p->out = out;
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP) {
			put_op(p, n);
			continue;
		}
		LowNode *c = copy(p, n);
		c->body = c->other = (LowBody){0};
		put_body(p, &n->body, &c->body);
		put_body(p, &n->other, &c->other);
	}
	p->out = outer;
}

const LowFunction *low_parts(Arena *arena, const LowFunction *f, int bytes)
{
	Parts p = {.arena = arena, .f = f};
	assert(bytes >= 16);
	if (!find_lanes(&p, bytes))
		return f;
	p.to = NEW(arena, LowFunction);
	*p.to = *f;
	p.to->body = (LowBody){0};
	p.to->temps.at = NEW_N(arena, LowTemp, f->temps.n);
	p.to->temps.cap = f->temps.n;
	memcpy(p.to->temps.at, f->temps.at,
	    sizeof *f->temps.at * (size_t)f->temps.n);
	make_parts(&p);
	put_body(&p, &f->body, &p.to->body);
	return p.to;
}
