/* Before a function is printed: what of each temporary the text needs.
 *
 *     n = const 4; r = mod i, n; j = mul r, n      r = i % 4
 *     x = load a[j]; all = broadcast x        -->  acc = FMA(SPLAT(a[4*r]), b, acc)
 *     acc = fma all, b, acc
 *
 * A number stands where it is read, and so does a short sum of indices.  What is
 * read once, in the body that it is assigned in, may stand there too, unless
 * something that it reads changes in between: a temporary, or memory.  What
 * nothing reads is left out, and the first value of a temporary that gets
 * another one before it is read. */

#include "codegen/c/emit_c.h"

enum { TERMS_SHORT = 2, TERMS_MOST = 8 };

typedef struct {
	EmitC *e;
	bool *live; /* by temporary */
	bool changed;
} LiveTemps;

typedef void Visit(EmitC *e, const LowNode *n);

static void each_node(EmitC *e, const LowBody *body, Visit *visit)
{
	for (int i = 0; i < body->n; i++) {
		visit(e, body->at[i]);
		each_node(e, &body->at[i]->body, visit);
		each_node(e, &body->at[i]->other, visit);
	}
}

/* --- assignments ----------------------------------------------------------- */

static void note_assigned(EmitC *e, const LowNode *n)
{
	int dst = n->kind == LOWNODE_LOOP ? n->var
	    : n->kind == LOWNODE_OP	  ? n->dst : -1;
	if (dst < 0)
		return;
	EmitTemp *t = &e->plan[dst];
	t->def = t->assigned++ ? NULL : n;
	if (t->assigned == 1)
		t->first = n;
}

/* --- sums of indices -------------------------------------------------------- */

/* The sum that an operation makes of its arguments; false: it makes none. */
static bool sum_of(EmitC *e, const LowNode *n, LowAffine *sum)
{
	LowAffine a = {0}, b = {0};
	if (n->arg[0] >= 0)
		a = emit_c_index(e, n->arg[0]);
	if (n->arg[1] >= 0)
		b = emit_c_index(e, n->arg[1]);
	switch (n->op) {
	case LOW_CONST:
		*sum = low_affine_const(n->i);
		return true;
	case LOW_COPY:
		*sum = a;
		return true;
	case LOW_ADD:
	case LOW_SUB:
		*sum = low_affine_add(
		    e->arena, a, b, n->op == LOW_ADD ? 1 : -1);
		return true;
	case LOW_MUL:
		if (a.n && b.n)
			return false;
		*sum = low_affine_add(e->arena, low_affine_const(0),
		    a.n ? a : b, a.n ? b.constant : a.constant);
		return true;
	case LOW_NEG:
		*sum = low_affine_add(e->arena, low_affine_const(0), a, -1);
		return true;
	default:
		return false;
	}
}

static bool is_steady(const EmitC *e, int temp)
{
	const LowTemp *t = &e->f->temps.at[temp];
	return temp < 0 || (t->type == DT_INDEX && t->lanes == 1 &&
			       e->plan[temp].assigned == 1);
}

/* What is read often is worth a name where it is long. */
static void note_sum(EmitC *e, const LowNode *n)
{
	LowAffine sum;
	if (n->kind != LOWNODE_OP || n->dst < 0 || !is_steady(e, n->dst) ||
	    low_op_has_buffer(n->op))
		return;
	for (int i = 0; i < 3; i++)
		if (n->arg[i] >= 0 && !is_steady(e, n->arg[i]))
			return;
	if (!sum_of(e, n, &sum) || sum.n > TERMS_MOST)
		return;
	if (sum.n > TERMS_SHORT && e->plan[n->dst].reads > 1)
		return;
	e->plan[n->dst].sum = sum;
	e->plan[n->dst].is_sum = true;
}

/* --- what is left out ------------------------------------------------------- */

static void count_read(void *context, int temp, const LowNode *n, int arg)
{
	EmitC *e = context;
	EmitTemp *t = &e->plan[temp];
	t->reads++;
	t->other = t->user;
	t->other_arg = t->user_arg;
	t->user = n;
	t->user_arg = arg;
}

static void count_raw(EmitC *e, const LowNode *n)
{
	emit_c_each_read(e, n, count_read, e);
}

static void mark_live(void *context, int temp, const LowNode *n, int arg)
{
	LiveTemps *p = context;
	(void)n;
	(void)arg;
	p->changed |= !p->live[temp];
	p->live[temp] = true;
}

/* Backwards, since what is read was mostly assigned before it. */
static void live_body(LiveTemps *p, const LowBody *body)
{
	for (int i = body->n - 1; i >= 0; i--) {
		const LowNode *n = body->at[i];
		live_body(p, &n->other);
		live_body(p, &n->body);
		if (emit_c_has_effect(n) || p->live[n->dst])
			emit_c_each_read(p->e, n, mark_live, p);
	}
}

static void find_live(EmitC *e)
{
	LiveTemps p = {.e = e,
	    .live = NEW_N(e->arena, bool, e->f->temps.n + 1),
	    .changed = true};
	while (p.changed) {
		p.changed = false;
		live_body(&p, &e->f->body);
	}
	for (int i = 0; i < e->f->temps.n; i++) {
		e->plan[i].live = p.live[i];
		e->plan[i].reads = 0;
	}
}

static void count_live(EmitC *e, const LowNode *n)
{
	if (!emit_c_is_left_out(e, n))
		emit_c_each_read(e, n, count_read, e);
}

/* --- values that are overwritten -------------------------------------------- */

/* A temporary's uses but the first, which assigns it: each lies in a body that
 * has assigned it before. */
typedef struct {
	const LowBody *body; /* the last of these; NULL: none yet */
	const LowNode *start; /* its assignment, while nothing has read it */
	bool fails;
} Later;

typedef struct {
	EmitC *e;
	Later *later; /* by temporary */
	VEC(const LowBody *) open;
} TempUses;

static bool is_open(const TempUses *u, const LowBody *body)
{
	for (int i = u->open.n - 1; i >= 0; i--)
		if (u->open.at[i] == body)
			return true;
	return false;
}

static void use_later(TempUses *u, int temp, const LowNode *assigns)
{
	Later *l = &u->later[temp];
	EmitTemp *t = &u->e->plan[temp];
	if (t->assigned < 2 || l->fails)
		return;
	if (l->body && is_open(u, l->body)) {
		l->start = NULL;
		return;
	}
	if (l->start)
		vec_push(u->e->arena, &t->idle, l->start);
	l->body = u->open.at[u->open.n - 1];
	l->start = assigns;
	if (assigns)
		vec_push(u->e->arena, &t->starts, assigns);
	l->fails = !assigns;
}

static void read_later(void *context, int temp, const LowNode *n, int arg)
{
	(void)n;
	(void)arg;
	use_later(context, temp, NULL);
}

static void uses_body(TempUses *u, const LowBody *body)
{
	vec_push(u->e->arena, &u->open, body);
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (!emit_c_is_left_out(u->e, n))
			emit_c_each_read(u->e, n, read_later, u);
		if (n->kind == LOWNODE_OP && n->dst >= 0 &&
		    u->e->plan[n->dst].first != n)
			use_later(u, n->dst, n);
		uses_body(u, &n->body);
		uses_body(u, &n->other);
	}
	u->open.n--;
}

static void find_restarts(EmitC *e)
{
	TempUses u = {.e = e, .later = NEW_N(e->arena, Later, e->f->temps.n)};
	uses_body(&u, &e->f->body);
	for (int i = 0; i < e->f->temps.n; i++) {
		e->plan[i].restarts = u.later[i].body && !u.later[i].fails;
		if (u.later[i].start)
			vec_push(e->arena, &e->plan[i].idle, u.later[i].start);
	}
}

/* --- captures ---------------------------------------------------------------- */

typedef struct {
	EmitC *e;
	bool *seen, *set; /* by temporary */
	IntVec read;
} Captures;

static void capture(void *context, int temp, const LowNode *n, int arg)
{
	Captures *c = context;
	(void)n;
	(void)arg;
	if (!c->seen[temp])
		vec_push(c->e->arena, &c->read, temp);
	c->seen[temp] = true;
}

static void capture_node(Captures *c, const LowNode *n)
{
	if (emit_c_is_left_out(c->e, n))
		return;
	emit_c_each_read(c->e, n, capture, c);
	if (n->kind == LOWNODE_OP && n->dst >= 0)
		c->set[n->dst] = true;
	if (n->kind == LOWNODE_LOOP)
		c->set[n->var] = true;
	for (int i = 0; i < n->body.n; i++)
		capture_node(c, n->body.at[i]);
	for (int i = 0; i < n->other.n; i++)
		capture_node(c, n->other.at[i]);
}

void emit_c_captures(EmitC *e, const LowNode *loop, IntVec *captures)
{
	Captures c = {.e = e,
	    .seen = NEW_N(e->arena, bool, e->f->temps.n + 1),
	    .set = NEW_N(e->arena, bool, e->f->temps.n + 1)};
	capture_node(&c, loop);
	for (int i = 0; i < c.read.n; i++)
		if (!c.set[c.read.at[i]])
			vec_push(e->arena, captures, c.read.at[i]);
}

/* --- the whole --------------------------------------------------------------- */

void emit_c_plan(EmitC *e)
{
	e->plan = NEW_N(e->arena, EmitTemp, e->f->temps.n + 1);
	each_node(e, &e->f->body, note_assigned);
	each_node(e, &e->f->body, count_raw);
	each_node(e, &e->f->body, note_sum);
	find_live(e);
	find_restarts(e);
	each_node(e, &e->f->body, count_live);
	emit_c_fold(e);
}
