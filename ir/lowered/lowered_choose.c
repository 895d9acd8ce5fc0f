/* A choice between integers that were just converted to fewer bytes is made before,
 * in wide lanes, where both arms fit into a vector:
 *
 *     a = convert w                      s = convert x
 *     b = broadcast x                    u = broadcast s
 *     v = select m, a, b       ->        t = select m, w, u
 *                                        v = convert t
 *
 * Without mask registers a choice of words is one instruction, of a few bytes three
 * and a mask of their own, and one byte in all lanes comes by way of scalars; the
 * number is often there in wide lanes anyway. */
#include "ir/lowered/lowered.h"

typedef struct {
	Arena *arena;
	LowFunction *to;
	int bytes;
	LowDefs defs;
} Choose;

static bool is_integer(DType type)
{
	return dtype_is_int(type) && dtype_bytes(type) < 8;
}

static const LowNode *only_def(const Choose *c, int temp, LowOpcode op)
{
	const LowNode *n = c->defs.only[temp];
	return n && n->op == op ? n : NULL;
}

/* What a vector was before it was converted, of words or half words; -1. */
static int wide_of(const Choose *c, int temp)
{
	const LowNode *n = only_def(c, temp, LOW_CONVERT);
	const LowTemp *t = c->to->temps.at;
	if (!n || c->defs.assigned[n->arg[0]] != 1 ||
	    !is_integer(t[n->arg[0]].type) || !is_integer(t[temp].type) ||
	    dtype_bytes(t[n->arg[0]].type) <= dtype_bytes(t[temp].type) ||
	    t[temp].lanes * dtype_bytes(t[n->arg[0]].type) > c->bytes)
		return -1;
	return n->arg[0];
}

static int like(Choose *c, int temp, int lanes)
{
	const LowTemp *t = &c->to->temps.at[temp];
	return low_temp(c->arena, c->to, t->type, lanes, t->wish);
}

/* May the other arm be of w's type as well? */
static bool is_wide_too(const Choose *c, int temp, int w)
{
	const LowNode *all = only_def(c, temp, LOW_BROADCAST);
	int other = wide_of(c, temp);
	if (other >= 0)
		return c->to->temps.at[other].type == c->to->temps.at[w].type;
	return only_def(c, temp, LOW_CONST) ||
	    (all && c->defs.assigned[all->arg[0]] == 1);
}

static int put_wide(Choose *c, int temp, int w, LowBody *out)
{
	const LowNode *all = only_def(c, temp, LOW_BROADCAST);
	const LowNode *number = only_def(c, temp, LOW_CONST);
	int other = wide_of(c, temp), lanes = c->to->temps.at[w].lanes;
	if (other >= 0)
		return other;
	int u = like(c, w, lanes);
	if (number) {
		low_op(c->arena, out, LOW_CONST, u, -1, -1, -1)->i = number->i;
		return u;
	}
	int s = like(c, w, 1);
	low_op(c->arena, out, LOW_CONVERT, s, all->arg[0], -1, -1);
	low_op(c->arena, out, LOW_BROADCAST, u, s, -1, -1);
	return u;
}

static bool put_choice(Choose *c, const LowNode *n, LowBody *out)
{
	int a = n->arg[1], b = n->arg[2];
	if (n->op != LOW_SELECT || c->to->temps.at[n->dst].lanes == 1)
		return false;
	int w = wide_of(c, a) >= 0 ? wide_of(c, a) : wide_of(c, b);
	if (w < 0 || !is_wide_too(c, a, w) || !is_wide_too(c, b, w))
		return false;
	int wide_a = put_wide(c, a, w, out), wide_b = put_wide(c, b, w, out);
	int t = like(c, w, c->to->temps.at[w].lanes);
	low_op(c->arena, out, LOW_SELECT, t, n->arg[0], wide_a, wide_b);
	low_op(c->arena, out, LOW_CONVERT, n->dst, t, -1, -1);
	return true;
}

static void choose_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	for (int i = 0; i < n; i++)
		if (!put_choice(context, nodes[i], out))
			vec_push(((Choose *)context)->arena, out, nodes[i]);
}

const LowFunction *low_choose_wide(
    Arena *arena, const LowFunction *f, int bytes)
{
	Choose c = {arena, low_like(arena, f), bytes, low_defs(arena, f)};
	low_each_run(
	    arena, &f->body, low_is_operation, choose_run, &c, &c.to->body);
	return c.to;
}
