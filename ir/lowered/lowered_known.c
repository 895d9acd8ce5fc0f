/* A choice by lanes that are known is a shuffle, whatever the lanes are made of:
 *
 *     m: bool of 4 lanes = LANES_BELOW 3
 *     v = SELECT(m, a, b)                 v = SHUFFLE(a, b; 0 1 2 7)
 *
 * No mask is kept for it, and lanes of indices that a mask took are not there, nor
 * do they part what is chosen where they are wider than that. */
#include "ir/lowered/lowered_run.h"

enum { LANES_MOST = 64 };

typedef struct {
	Arena *arena;
	LowFunction *to;
	LowDefs defs;
	Scalar **lanes; /* by temporary; NULL: not known */
} Known;

static bool is_foldable(LowOpcode op)
{
	switch (op) {
	case LOW_CONST:
	case LOW_COPY:
	case LOW_IOTA:
	case LOW_LANES_BELOW:
	case LOW_BROADCAST:
	case LOW_CONVERT:
	case LOW_ADD:
	case LOW_SUB:
	case LOW_MUL:
	case LOW_FLOORDIV:
	case LOW_MOD:
	case LOW_MIN:
	case LOW_MAX:
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE:
	case LOW_AND:
	case LOW_OR:
	case LOW_NOT: return true;
	default: return false;
	}
}

static bool is_positive(const Scalar *lanes, int n)
{
	for (int l = 0; l < n; l++)
		if (lanes[l].i <= 0)
			return false;
	return true;
}

/* The interpreter computes them. */
static void note_lanes(Known *k, const LowNode *n)
{
	const LowTemp *temps = k->to->temps.at;
	Scalar frame[4 * LANES_MOST];
	if (n->dst < 0 || !is_foldable(n->op) ||
	    k->defs.assigned[n->dst] != 1 ||
	    dtype_is_float(temps[n->dst].type) ||
	    temps[n->dst].lanes > LANES_MOST)
		return;
	for (int i = 0; i < 3 && n->arg[i] >= 0; i++) {
		const Scalar *lanes = k->lanes[n->arg[i]];
		int count = temps[n->arg[i]].lanes;
		if (!lanes ||
		    (i == 1 && (n->op == LOW_FLOORDIV || n->op == LOW_MOD) &&
			!is_positive(lanes, count)))
			return;
		memcpy(frame + (i + 1) * LANES_MOST, lanes,
		    sizeof *lanes * (size_t)count);
	}
	code_fold(k->to, n, LANES_MOST, frame);
	k->lanes[n->dst] = arena_memdup(k->arena, frame,
	    sizeof *frame * (size_t)temps[n->dst].lanes);
}

static bool put_shuffle(Known *k, const LowNode *n, LowBody *out)
{
	int lanes = n->dst < 0 ? 1 : k->to->temps.at[n->dst].lanes;
	const Scalar *mask = n->op == LOW_SELECT ? k->lanes[n->arg[0]] : NULL;
	if (!mask || lanes == 1 || k->to->temps.at[n->dst].type == DT_BOOL)
		return false;
	/* something or 0 is an operation of bits */
	DType type = k->to->temps.at[n->dst].type;
	if (low_is_zero(low_number(&k->defs, n->arg[1]), type) ||
	    low_is_zero(low_number(&k->defs, n->arg[2]), type))
		return false;
	int *from = NEW_N(k->arena, int, lanes), first = 0;
	for (int l = 0; l < lanes; l++) {
		from[l] = mask[l].i ? l : lanes + l;
		first += mask[l].i != 0;
	}
	if (first == 0 || first == lanes)
		low_op(k->arena, out, LOW_COPY, n->dst, n->arg[first ? 1 : 2],
		    -1, -1);
	else
		low_op(k->arena, out, LOW_SHUFFLE, n->dst, n->arg[1],
		    n->arg[2], -1)->shuffle = from;
	return true;
}

static void known_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Known *k = context;
	for (int i = 0; i < n; i++) {
		note_lanes(k, nodes[i]);
		if (!put_shuffle(k, nodes[i], out))
			vec_push(k->arena, out, nodes[i]);
	}
}

const LowFunction *low_choose_known(Arena *arena, const LowFunction *f)
{
	Known k = {arena, low_like(arena, f), low_defs(arena, f),
		NEW_N(arena, Scalar *, f->temps.n)};
	low_each_run(
	    arena, &f->body, low_is_operation, known_run, &k, &k.to->body);
	return k.to;
}
