/* What is known of a temporary before the text is written: a number, a sum of
 * indices, a mask; and whether an operation is in the text at all. */
#include "codegen/c/emit_c.h"

const LowNode *emit_c_constant(const EmitC *e, int temp)
{
	const LowNode *n = e->plan[temp].def;
	if (n && n->kind == LOWNODE_OP && n->op == LOW_BROADCAST)
		n = e->plan[n->arg[0]].def;
	return n && n->kind == LOWNODE_OP && n->op == LOW_CONST ? n : NULL;
}

bool emit_c_is_number(const EmitC *e, int temp)
{
	const LowNode *def = e->plan[temp].def;
	return def && def->kind == LOWNODE_OP && def->op == LOW_CONST;
}

LowAffine emit_c_sum(EmitC *e, const LowAffine *a)
{
	LowAffine sum = low_affine_const(a->constant);
	for (int i = 0; i < a->n; i++) {
		const EmitTemp *t = &e->plan[a->terms[i].temp];
		LowTerm *term = NEW(e->arena, LowTerm);
		*term = (LowTerm){a->terms[i].temp, 1};
		sum = low_affine_add(e->arena, sum,
		    t->is_sum ? t->sum : (LowAffine){0, 1, term},
		    a->terms[i].coefficient);
	}
	return sum;
}

LowAffine emit_c_index(EmitC *e, int temp)
{
	LowTerm *term = NEW(e->arena, LowTerm);
	*term = (LowTerm){temp, 1};
	return emit_c_sum(e, &(LowAffine){0, 1, term});
}

bool emit_c_has_effect(const LowNode *n)
{
	return n->kind != LOWNODE_OP || n->dst < 0;
}

static bool is_among(const EmitNodes *nodes, const LowNode *n)
{
	for (int i = 0; i < nodes->n; i++)
		if (nodes->at[i] == n)
			return true;
	return false;
}

bool emit_c_is_left_out(const EmitC *e, const LowNode *n)
{
	if (emit_c_has_effect(n))
		return false;
	const EmitTemp *t = &e->plan[n->dst];
	return !t->live || t->is_sum || emit_c_is_number(e, n->dst) ||
	    (t->restarts && (t->first == n || is_among(&t->idle, n)));
}

bool emit_c_starts(const EmitC *e, const LowNode *n)
{
	const EmitTemp *t = &e->plan[n->dst];
	return t->restarts && is_among(&t->starts, n);
}

int emit_c_power_of_two(const EmitC *e, int temp)
{
	const LowNode *n = e->constant[temp];
	for (int k = 0; n && k < 62; k++)
		if (n->i == INT64_C(1) << k)
			return k;
	return -1;
}

bool emit_c_is_constant_mask(const EmitC *e, int temp)
{
	const LowNode *n = e->plan[temp].def;
	if (!n || n->kind != LOWNODE_OP)
		return false;
	if (n->op == LOW_LANES_BELOW)
		return emit_c_constant(e, n->arg[0]);
	return n->op == LOW_NOT && emit_c_is_constant_mask(e, n->arg[0]);
}

int emit_c_kept_arm(EmitC *e, const LowNode *n)
{
	if (n->kind != LOWNODE_OP || n->op != LOW_SELECT || !e->plan)
		return 0;
	const LowTemp *d = &e->f->temps.at[n->dst];
	int kept = low_is_zero(emit_c_constant(e, n->arg[2]), d->type) ? 1
	    : low_is_zero(emit_c_constant(e, n->arg[1]), d->type)      ? 2
								       : 0;
	if (d->lanes == 1 || d->type == DT_BOOL)
		return 0;
	return !emit_c_has_bits(e) ||
		(emit_c_is_constant_mask(e, n->arg[0]) &&
		    emit_c_x86(e, LOW_AND, OP_CAST, d->type, d->type, d->lanes))
	    ? kept
	    : 0;
}

/* Is it a comparison of which only the opposite is read, where masks are bits?  clang
 * 14 would turn the bits over. */
bool emit_c_is_opposite(const EmitC *e, int temp)
{
	const EmitTemp *t = &e->plan[temp];
	return emit_c_has_bits(e) && t->def && t->reads == 1 &&
	    low_op_is_comparison(t->def->op) && t->user->op == LOW_NOT &&
	    t->user->kind == LOWNODE_OP && e->f->temps.at[temp].lanes > 1 &&
	    dtype_is_float(e->f->temps.at[t->def->arg[0]].type);
}
