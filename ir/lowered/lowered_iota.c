/* Numbers of lanes that are converted to i32 are made as such, in half as many
 * bytes and without a conversion, which AVX2 has no instruction for:
 *
 *     v: index = iota a             s: i32 = convert a
 *     w: i32 = convert v     ->     w: i32 = iota s
 *
 * Both wrap, so that it does not matter which is done first. */
#include "ir/lowered/lowered.h"

typedef struct {
	Arena *arena;
	LowFunction *to;
	LowDefs defs;
} Iota;

/* What numbers are counted from; -1: they are none. */
static int counted_from(const Iota *p, const LowNode *n)
{
	if (n->op != LOW_CONVERT || p->to->temps.at[n->dst].type != DT_I32 ||
	    p->to->temps.at[n->dst].lanes == 1)
		return -1;
	const LowNode *v = p->defs.only[n->arg[0]];
	return v && v->op == LOW_IOTA &&
		p->to->temps.at[v->dst].type == DT_INDEX &&
		p->defs.assigned[v->arg[0]] == 1
	    ? v->arg[0]
	    : -1;
}

static void count_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Iota *p = context;
	for (int i = 0; i < n; i++) {
		int a = counted_from(p, nodes[i]);
		if (a < 0) {
			vec_push(p->arena, out, nodes[i]);
			continue;
		}
		int s = low_temp(p->arena, p->to, DT_I32, 1, "from");
		low_op(p->arena, out, LOW_CONVERT, s, a, -1, -1);
		low_op(p->arena, out, LOW_IOTA, nodes[i]->dst, s, -1, -1);
	}
}

const LowFunction *low_iota_narrow(Arena *arena, const LowFunction *f)
{
	Iota p = {arena, low_like(arena, f), low_defs(arena, f)};
	low_each_run(
	    arena, &f->body, low_is_operation, count_run, &p, &p.to->body);
	return p.to;
}
