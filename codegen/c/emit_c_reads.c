/* The temporaries that a node's text reads: terms of a sum for the sum, nothing for
 * a number, and what one macro takes where it does the work of several operations. */
#include "codegen/c/emit_c.h"

static void read_one(EmitC *e, int temp, const LowNode *n, int arg,
    EmitRead *read, void *context)
{
	if (temp < 0)
		return;
	const EmitTemp *t = &e->plan[temp];
	if (t->is_sum)
		for (int i = 0; i < t->sum.n; i++)
			read(context, t->sum.terms[i].temp, n, -1);
	else if (!emit_c_is_number(e, temp))
		read(context, temp, n, arg);
}

static void read_sum(EmitC *e, const LowAffine *a, const LowNode *n,
    EmitRead *read, void *context)
{
	for (int i = 0; a && i < a->n; i++)
		if (a->terms[i].coefficient)
			read_one(e, a->terms[i].temp, n, -1, read, context);
}

/* Of the node itself, not of what is inside.  Arguments that are printed as they
 * are have their number, others -1. */
void emit_c_each_read(EmitC *e, const LowNode *n, EmitRead *read, void *context)
{
	if (n->kind == LOWNODE_LOOP)
		read_sum(e, n->limit, n, read, context);
	if (n->kind == LOWNODE_IF)
		read_one(e, n->condition, n, 0, read, context);
	if (n->kind != LOWNODE_OP)
		return;
	int source = emit_c_pack_source(e, n), kept = emit_c_kept_arm(e, n);
	const LowNode *put = emit_c_widened(e, n);
	if (source < 0)
		source = emit_c_low_bits_source(e, n);
	const int *arg = put ? put->arg : n->arg;
	for (int i = 0; i < 3; i++)
		if (!i || !kept || i == kept)
			read_one(e, !i && source >= 0 ? source : arg[i], n, i,
			    read, context);
	read_sum(e, &n->address, n, read, context);
}
