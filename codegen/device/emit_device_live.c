/* What a kernel's text need not have: operations whose results nothing reads, so
 * that no compiler tells its user of variables that are never used.
 *
 *     n = const 16; q = floordiv i, n; r = mod i, n   -->   int r = i & 15;
 *
 * where q is read by nothing and the text of a division by 16 has no n. */
#include "codegen/device/emit_device.h"

typedef struct {
	EmitDevice *e;
	bool changed;
} Live;

static void read_temp(Live *l, int temp)
{
	if (temp < 0 || l->e->live[temp])
		return;
	l->e->live[temp] = l->changed = true;
}

static void read_affine(Live *l, const LowAffine *a)
{
	for (int i = 0; a && i < a->n; i++)
		if (a->terms[i].coefficient)
			read_temp(l, a->terms[i].temp);
}

bool device_divides_by_bits(const EmitDevice *e, const LowNode *n)
{
	return (n->op == LOW_FLOORDIV || n->op == LOW_MOD) &&
	    emit_c_power_of_two(&e->c, n->arg[1]) >= 0 &&
	    (n->op == LOW_FLOORDIV || device_part(e, n->dst) == 1 ||
		e->c.f->temps.at[n->dst].type != DT_U8);
}

bool device_is_dead(const EmitDevice *e, const LowNode *n)
{
	return n->dst >= 0 && !low_op_writes(n->op) &&
	    !low_op_is_warps(n->op) && !e->live[n->dst];
}

static void live_body(Live *l, const LowBody *body);

static void live_node(Live *l, const LowNode *n)
{
	if (n->kind == LOWNODE_LOOP)
		read_affine(l, n->limit);
	if (n->kind == LOWNODE_IF)
		read_temp(l, n->condition);
	live_body(l, &n->body);
	live_body(l, &n->other);
	if (n->kind != LOWNODE_OP || device_is_dead(l->e, n))
		return;
	for (int i = 0; i < 3; i++)
		if (i != 1 || !device_divides_by_bits(l->e, n))
			read_temp(l, n->arg[i]);
	read_affine(l, &n->address);
	if (low_op_has_source(n->op))
		read_affine(l, &n->from);
}

/* Backwards, since what is read was assigned before it. */
static void live_body(Live *l, const LowBody *body)
{
	for (int i = body->n - 1; i >= 0; i--)
		live_node(l, body->at[i]);
}

void device_find_live(EmitDevice *e)
{
	Live l = {.e = e, .changed = true};
	e->live = NEW_N(e->c.arena, bool, e->c.f->temps.n + 1);
	while (l.changed) {
		l.changed = false;
		live_body(&l, &e->c.f->body);
	}
}
