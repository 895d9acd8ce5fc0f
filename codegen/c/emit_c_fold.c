/* What stands where it is read: of temporaries that are read once, in the body
 * that they are assigned in, of loads and lanes that are all the same also twice.
 *
 *     x = load a[i]                    c[i] = a[i] + y;
 *     z = add x, y              -->
 *     store c[i], z
 *
 * Nothing that it reads may change between the two places: no temporary that is
 * assigned again, and for a load no memory, whatever buffer is stored to, since a
 * compiler knows nothing of what overlaps.  An argument that a macro evaluates
 * for each lane has a weight, so that no text grows beyond measure.  A product
 * of floats stays apart from a sum: a compiler that knows none of our pragmas may
 * make one operation of what is one expression. */
#include <assert.h>

#include "codegen/c/emit_c.h"

/* --- arguments ------------------------------------------------------------- */

static int lanes_of(const EmitC *e, int temp)
{
	return temp < 0 ? 1 : e->f->temps.at[temp].lanes;
}

static DType type_of(const EmitC *e, int temp)
{
	return temp < 0 ? DT_INDEX : e->f->temps.at[temp].type;
}

/* Of an operation on vectors that may be a macro. */
static int times_in_macro(EmitC *e, const LowNode *n, int arg)
{
	int lanes = lanes_of(e, n->dst);
	DType type = type_of(e, n->dst);
	switch (n->op) {
	case LOW_FMA:
		return emit_c_x86(e, LOW_FMA, OP_CAST, type, type, lanes)
		    ? 1 : lanes;
	case LOW_MIN:
	case LOW_MAX:
		return type == DT_BOOL ? 1 : 3;
	case LOW_SELECT:
		return arg ? 1 : 2;
	case LOW_ABS:
		return dtype_is_float(type) ? 1 : 3;
	case LOW_SHUFFLE:
		return n->arg[1] < 0 || n->arg[1] == n->arg[0] ? 2 : 1;
	case LOW_INSERT:
		return !arg || e->plan[n->dst].assigned == 1;
	case LOW_COPY:
	case LOW_BITS:
	case LOW_ADD:
	case LOW_SUB:
	case LOW_MUL:
	case LOW_DIV:
	case LOW_NEG:
	case LOW_XOR:
	case LOW_SHL:
	case LOW_SHR:
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE:
	case LOW_AND:
	case LOW_OR:
	case LOW_NOT:
	case LOW_LOAD:
	case LOW_IOTA:
		return 1;
	case LOW_DOT:
		return lanes * 4;
	default:
		return lanes;
	}
}

static int times_of_scalar(const LowNode *n, int arg)
{
	switch (n->op) {
	case LOW_INSERT: /* the one lane that there is goes */
		return arg;
	case LOW_MIN:
	case LOW_MAX:
	case LOW_MATH:
		return 2;
	case LOW_ABS:
	case LOW_SCALE:
		return 3;
	case LOW_SHUFFLE:
	case LOW_DOT:
		return 0;
	default:
		return 1;
	}
}

/* 0: it has to be a name. */
int emit_c_times(EmitC *e, const LowNode *n, int arg)
{
	if (n->kind == LOWNODE_LOOP)
		return 0;
	if (n->kind == LOWNODE_IF)
		return 1;
	int stored = low_op_writes(n->op) ? lanes_of(e, n->arg[0]) : 1;
	if (stored > 1)
		return n->op == LOW_STORE || arg < 0 ? 1
		    : n->op == LOW_STREAM ? 2 : 0;
	if (n->op == LOW_ANY ||
	    (n->op == LOW_BITS && type_of(e, n->arg[0]) == DT_BOOL))
		return lanes_of(e, n->arg[0]);
	if (n->op == LOW_EXTRACT)
		return 1;
	if (n->op == LOW_SHUFFLE &&
	    (lanes_of(e, n->dst) == 1 || lanes_of(e, n->arg[0]) == 1 ||
		(n->arg[1] >= 0 &&
		    lanes_of(e, n->arg[1]) != lanes_of(e, n->arg[0]))))
		return 0;
	return lanes_of(e, n->dst) > 1 ? times_in_macro(e, n, arg)
				       : times_of_scalar(n, arg);
}

static bool is_apart(const EmitC *e, const LowNode *n)
{
	return n->op == LOW_EXTRACT && n->i > 0 &&
	    type_of(e, n->arg[0]) == DT_I32 && e->isa.x86;
}

static bool sums_products(
    const EmitC *e, const LowNode *n, const LowNode *user)
{
	return n->op == LOW_MUL && dtype_is_float(type_of(e, n->dst)) &&
	    user->kind == LOWNODE_OP &&
	    (user->op == LOW_ADD || user->op == LOW_SUB ||
		user->op == LOW_NEG || user->op == LOW_FMA);
}

/* An integer that is computed, or a narrow one made wide, in a comparison: compilers
 * say of `x - x` and `x & 3` that it is always so, or never; not of a name. */
static bool compares_computed(
    const EmitC *e, const LowNode *n, const LowNode *user)
{
	bool computed = n->op != LOW_LOAD && dtype_is_int(type_of(e, n->dst));
	return (computed || n->op == LOW_CONVERT) && lanes_of(e, n->dst) == 1 &&
	    user->kind == LOWNODE_OP &&
	    (low_op_is_comparison(user->op) || user->op == LOW_MIN ||
		user->op == LOW_MAX || user->op == LOW_ABS ||
		user->op == LOW_LANES_BELOW);
}

/* A narrow integer made wide, in a division: gcc divides it as it was, and goes on with
 * so few bits up to the address that hangs on it; not of a name. */
static bool divides_narrow(
    const EmitC *e, const LowNode *n, const LowNode *user)
{
	return n->op == LOW_CONVERT && lanes_of(e, n->dst) == 1 &&
	    user->kind == LOWNODE_OP &&
	    (user->op == LOW_FLOORDIV || user->op == LOW_MOD) &&
	    dtype_bytes(type_of(e, n->arg[0])) < 4;
}

static bool may_stand_for(EmitC *e, const LowNode *n, const LowNode *user,
    int arg)
{
	return emit_c_times(e, user, arg) && !sums_products(e, n, user) &&
	    !compares_computed(e, n, user) && !divides_narrow(e, n, user);
}

static bool is_candidate(EmitC *e, const LowNode *n)
{
	if (n->kind != LOWNODE_OP || n->dst < 0 || n->op == LOW_INSERT ||
	    emit_c_is_left_out(e, n) || is_apart(e, n))
		return false;
	const EmitTemp *t = &e->plan[n->dst];
	bool twice = n->op == LOW_BROADCAST ||
	    (n->op == LOW_LOAD && !e->plan[n->dst].once);
	if (t->assigned != 1 || t->reads > 1 + twice)
		return false;
	return may_stand_for(e, n, t->user, t->user_arg) &&
	    (t->reads == 1 || (t->other_arg >= 0 && t->user_arg >= 0 &&
		may_stand_for(e, n, t->other, t->other_arg)));
}

/* --- what changes in between ------------------------------------------------ */

typedef struct {
	EmitC *e;
	/* by temporary, of the body at hand: the node that reads it; the next
	 * one that assigns it; where it would stand */
	const LowBody **read_in, **set_in;
	int *readers, *read_first, *read_at, *set_at, *stands_at;
	const LowBody *
	    *made_in;  /* by temporary: a vector that was counted there */
	int outer;     /* vectors that are not made in the body */
	int stored_at; /* the next node that writes memory */
	const LowBody *body;
	int at, end;
	bool changes;
} Fold;

static void note_reader(void *context, int temp, const LowNode *n, int arg)
{
	Fold *f = context;
	(void)n;
	(void)arg;
	if (f->read_in[temp] != f->body) {
		f->readers[temp] = 0;
		f->read_first[temp] = f->at;
	}
	f->read_in[temp] = f->body;
	f->read_at[temp] = f->at;
	f->readers[temp]++;
}

static void note_changes(Fold *f, const LowNode *n, int at)
{
	if (n->kind == LOWNODE_OP && n->dst >= 0) {
		f->set_in[n->dst] = f->body;
		f->set_at[n->dst] = at;
	}
	if (n->kind == LOWNODE_OP && low_op_writes(n->op))
		f->stored_at = at;
	for (int i = 0; i < n->body.n; i++)
		note_changes(f, n->body.at[i], at);
	for (int i = 0; i < n->other.n; i++)
		note_changes(f, n->other.at[i], at);
}

static void look_at(void *context, int temp, const LowNode *n, int arg)
{
	Fold *f = context;
	(void)n;
	(void)arg;
	if (f->e->plan[temp].assigned > 1 && f->set_in[temp] == f->body &&
	    f->set_at[temp] < f->end)
		f->changes = true;
}

/* Where the text is that the body's node `at` gives. */
static int place_of(const Fold *f, int at)
{
	const LowNode *n = f->body->at[at];
	return n->kind == LOWNODE_OP && n->dst >= 0 &&
		f->e->plan[n->dst].stands
	    ? f->stands_at[n->dst] : at;
}

/* Other vectors are made or stored before it is stored: it is made before them. */
static bool is_stored_later(const Fold *f, const LowNode *n, int at, int end)
{
	const LowNode *user = f->body->at[end];
	if (lanes_of(f->e, n->dst) == 1 || user->kind != LOWNODE_OP ||
	    (user->op != LOW_STORE && user->op != LOW_STREAM))
		return false;
	for (int i = at + 1; i < end; i++) {
		const LowNode *o = f->body->at[i];
		if (o->kind == LOWNODE_OP &&
		    (o->dst < 0 || lanes_of(f->e, o->dst) > 1))
			return true;
	}
	return false;
}

/* Is it a load of a machine's vector that is read again?  gcc would read memory
 * again, however many registers are free. */
static bool loads_again(const EmitC *e, const LowNode *n)
{
	if (n->kind != LOWNODE_OP || n->op != LOW_LOAD || !e->isa.avx2)
		return false;
	const EmitTemp *t = &e->plan[n->dst];
	DType type = emit_c_storage(type_of(e, n->dst));
	return lanes_of(e, n->dst) * dtype_bytes(type) >= 16 &&
	    t->assigned == 1 && t->reads >= 2;
}

/* A vector that the body reads and that comes from elsewhere, or is a sum. */
static void count_outer(void *context, int temp, const LowNode *n, int arg)
{
	Fold *f = context;
	(void)n;
	(void)arg;
	if (lanes_of(f->e, temp) == 1 || f->made_in[temp] == f->body)
		return;
	f->made_in[temp] = f->body;
	f->outer++;
}

/* Of each of the body's nodes: vectors that are needed behind it, if those are in
 * registers from where they are made on. */
static int *live_vectors(Fold *f)
{
	const LowBody *body = f->body;
	int *live = NEW_N(f->e->arena, int, body->n);
	f->outer = 0;
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		int dst = n->kind == LOWNODE_OP ? n->dst : -1;
		if (dst >= 0 && lanes_of(f->e, dst) > 1 &&
		    f->e->plan[dst].assigned == 1 && f->read_in[dst] == body) {
			f->made_in[dst] = body;
			for (int k = i; k < f->read_at[dst]; k++)
				live[k]++;
		}
		if (!emit_c_is_left_out(f->e, n))
			emit_c_each_read(f->e, n, count_outer, f);
	}
	for (int i = 0; i < body->n; i++)
		live[i] += f->outer;
	return live;
}

/* AVX2 has few registers: only what may cross lines of the cache, and where some are
 * free until it is read last. */
static bool has_room(const Fold *f, const int *live, int at)
{
	enum { ROOM = 12 };
	const LowNode *n = f->body->at[at];
	int temp = n->dst;
	DType type = emit_c_storage(type_of(f->e, temp));
	int bytes = lanes_of(f->e, temp) * dtype_bytes(type);
	if (low_affine_align(&n->address, type, bytes) == bytes ||
	    f->read_in[temp] != f->body ||
	    f->readers[temp] != f->e->plan[temp].reads)
		return false;
	for (int i = at; i < f->read_at[temp]; i++)
		if (live[i] > ROOM)
			return false;
	return true;
}

static void find_loads_once(Fold *f)
{
	int *live = NULL;
	for (int i = 0; i < f->body->n; i++) {
		const LowNode *n = f->body->at[i];
		if (!loads_again(f->e, n))
			continue;
		if (!f->e->isa.avx512 && !live)
			live = live_vectors(f);
		f->e->plan[n->dst].once = !live || has_room(f, live, i);
	}
}

/* Of the body's node `at`. */
static void fold_node(Fold *f, int at)
{
	const LowNode *n = f->body->at[at];
	if (!is_candidate(f->e, n) || f->read_in[n->dst] != f->body ||
	    f->readers[n->dst] != f->e->plan[n->dst].reads)
		return;
	int end = place_of(f, f->read_at[n->dst]);
	if (is_stored_later(f, n, at, f->read_at[n->dst]))
		return;
	int other = place_of(f, f->read_first[n->dst]);
	end = other > end ? other : end;
	f->end = end;
	f->changes = low_op_reads(n->op) && f->stored_at < end;
	emit_c_each_read(f->e, n, look_at, f);
	if (f->changes)
		return;
	f->e->plan[n->dst].stands = true;
	f->stands_at[n->dst] = end;
}

static void fold_body(Fold *f, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		fold_body(f, &body->at[i]->body);
		fold_body(f, &body->at[i]->other);
	}
	f->body = body;
	f->stored_at = body->n;
	for (f->at = 0; f->at < body->n; f->at++)
		if (!emit_c_is_left_out(f->e, body->at[f->at]))
			emit_c_each_read(
			    f->e, body->at[f->at], note_reader, f);
	find_loads_once(f);
	for (int i = body->n - 1; i >= 0; i--) {
		fold_node(f, i);
		note_changes(f, body->at[i], i);
	}
}

void emit_c_fold(EmitC *e)
{
	int n = e->f->temps.n + 1;
	Fold f = {.e = e,
	    .read_in = NEW_N(e->arena, const LowBody *, n),
	    .set_in = NEW_N(e->arena, const LowBody *, n),
	    .made_in = NEW_N(e->arena, const LowBody *, n),
	    .readers = NEW_N(e->arena, int, n),
	    .read_first = NEW_N(e->arena, int, n),
	    .read_at = NEW_N(e->arena, int, n),
	    .set_at = NEW_N(e->arena, int, n),
	    .stands_at = NEW_N(e->arena, int, n)};
	fold_body(&f, &e->f->body);
}
