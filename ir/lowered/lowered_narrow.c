/* Lanes of indices that never leave 32 bits are lanes of i32, half as wide:
 *
 *     v: index = convert c               (c: i32)
 *     w: index = max v, zero             w: i32 = max c, zero
 *     x: f32 = gather a[w]        ->     x: f32 = gather a[w]
 *     m: bool = lt w, n                  m: bool = lt w, n
 *
 * The ranges say that nothing wraps (lowered_range.c).  AVX2 has no minimum, maximum
 * or product of 64 bits, and twice as many vectors are more than registers.  What
 * something else reads is converted back, once. */
#include "ir/lowered/lowered.h"

typedef struct {
	Arena *arena;
	LowFunction *to;
	LowDefs defs;
	const LowRange *ranges;
	/* by temporary */
	bool *fits; /* may be of i32 */
	bool *narrow, *wide; /* something reads it so; as it is */
	int *to_narrow;	     /* the same of i32 */
} Narrowing;

static const LowTemp *temp_of(const Narrowing *p, int temp)
{
	return &p->to->temps.at[temp];
}

static bool fits(const Narrowing *p, int temp)
{
	return temp >= 0 && p->fits[temp];
}

/* --- what is narrow --------------------------------------------------------- */

static bool is_short_integer(DType type)
{
	return type == DT_BOOL ||
	    (dtype_is_int(type) && dtype_bytes(type) <= 4);
}

/* May it be made of i32? */
static bool is_made_narrow(const Narrowing *p, const LowNode *n)
{
	switch (n->op) {
	case LOW_CONST:
	case LOW_IOTA:
	case LOW_BROADCAST: return true;
	case LOW_CONVERT:
		return is_short_integer(temp_of(p, n->arg[0])->type);
	case LOW_NEG:
	case LOW_ABS: return fits(p, n->arg[0]);
	case LOW_ADD:
	case LOW_SUB:
	case LOW_MUL:
	case LOW_MIN:
	case LOW_MAX:
	case LOW_FLOORDIV:
	case LOW_MOD: return fits(p, n->arg[0]) && fits(p, n->arg[1]);
	case LOW_SELECT: return fits(p, n->arg[1]) && fits(p, n->arg[2]);
	default: return false;
	}
}

/* In the order of the text: what is read was assigned before. */
static void find_fitting(Narrowing *p, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (low_is_operation(n) && n->dst >= 0 &&
		    temp_of(p, n->dst)->type == DT_INDEX &&
		    temp_of(p, n->dst)->lanes > 1 &&
		    p->defs.only[n->dst] == n) {
			LowRange r = p->ranges[n->dst];
			p->fits[n->dst] = r.known && r.least >= INT32_MIN &&
			    r.most <= INT32_MAX && is_made_narrow(p, n);
		}
		find_fitting(p, &n->body);
		find_fitting(p, &n->other);
	}
}

/* Is its argument one of i32 where that has one? */
static bool takes_narrow(const Narrowing *p, const LowNode *n, int arg)
{
	if (fits(p, n->dst))
		return p->narrow[n->dst];
	switch (n->op) {
	case LOW_GATHER: return arg == 0;
	case LOW_PERMUTE:
	case LOW_SCATTER: return arg == 1;
	case LOW_CONVERT: return true;
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE: return fits(p, n->arg[0]) && fits(p, n->arg[1]);
	default: return false;
	}
}

static void note_reader(void *context, const LowNode *n, int arg)
{
	Narrowing *p = context;
	if (fits(p, n->arg[arg]))
		*(takes_narrow(p, n, arg) ? &p->narrow[n->arg[arg]]
					  : &p->wide[n->arg[arg]]) = true;
}

/* --- what it becomes -------------------------------------------------------- */

static int new_temp(Narrowing *p, int temp)
{
	const LowTemp *from = temp_of(p, temp);
	int to = low_temp(p->arena, p->to, DT_I32, from->lanes, from->wish);
	p->to->temps.at[to].index = true;
	return to;
}

/* The scalar that lanes are counted from, or that is in all of them. */
static int scalar(Narrowing *p, int temp, LowBody *out)
{
	const LowNode *number = p->defs.only[temp];
	int to = new_temp(p, temp);
	if (number && number->op == LOW_CONST)
		low_op(p->arena, out, LOW_CONST, to, -1, -1, -1)->i = number->i;
	else
		low_op(p->arena, out, LOW_CONVERT, to, temp, -1, -1);
	return to;
}

static void put_node(Narrowing *p, const LowNode *n, LowBody *out)
{
	LowNode *c = arena_memdup(p->arena, n, sizeof *c);
	bool narrow = fits(p, n->dst) && p->narrow[n->dst];
	for (int k = 0; k < 3; k++)
		if (fits(p, n->arg[k]) && takes_narrow(p, n, k))
			c->arg[k] = p->to_narrow[n->arg[k]];
	if (narrow) {
		c->dst = new_temp(p, n->dst);
		p->to_narrow[n->dst] = c->dst;
		if (n->op == LOW_IOTA || n->op == LOW_BROADCAST)
			c->arg[0] = scalar(p, n->arg[0], out);
	}
	if (c->op == LOW_CONVERT &&
	    temp_of(p, c->arg[0])->type == temp_of(p, c->dst)->type)
		c->op = LOW_COPY;
	vec_push(p->arena, out, c);
	if (narrow && p->wide[n->dst])
		low_op(p->arena, out, LOW_CONVERT, n->dst, c->dst, -1, -1);
}

static void narrow_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	for (int i = 0; i < n; i++)
		put_node(context, nodes[i], out);
}

const LowFunction *low_narrow(Arena *arena, const LowFunction *f)
{
	int n = f->temps.n + 1;
	Narrowing p = {arena, low_like(arena, f), low_defs(arena, f),
	    low_ranges_of(arena, f), NEW_N(arena, bool, n),
	    NEW_N(arena, bool, n), NEW_N(arena, bool, n), NEW_N(arena, int, n)};
	find_fitting(&p, &f->body);
	low_each_read(&f->body, note_reader, &p);
	low_each_run(
	    arena, &f->body, low_is_operation, narrow_run, &p, &p.to->body);
	return p.to;
}
