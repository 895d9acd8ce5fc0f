/* What is computed of vectors that are gathered and then stored element by element
 * is computed behind the transposition (lower_transpose.c), where both are rows:
 *
 *     g = gather r[x + 49*lane]           p = a0 b0 a1 b1   q = a2 b2 a3 b3
 *     h = gather r[x + 49*lane + 1]       s = load r[x]
 *     c = add a, g    d = add b, h        t = add p[0 1], s
 *     scatter y[x + 49*lane], c      -->  store y[x], t
 *     scatter y[x + 49*lane + 1], d       s = load r[x + 49] ...
 *
 * So the addition of a layer's input to its result costs no gathers.  Needs: the
 * values of all scatters are the same operations, lane by lane, of what is gathered
 * side by side, constants, and one vector each that is transposed; nothing that is
 * gathered is stored to until the scatters are.  What was computed before is left
 * over, unread. */
#include "codegen/lower/lower_internal.h"

static bool is_lane_by_lane(LowOpcode op)
{
	switch (op) {
	case LOW_ADD:
	case LOW_SUB:
	case LOW_MUL:
	case LOW_NEG:
	case LOW_ABS:
	case LOW_MIN:
	case LOW_MAX:
	case LOW_FMA: return true;
	default: return false;
	}
}

/* The operations that assign `n` temporaries, of one kind; false: there are none. */
static bool definitions(
    const LowDefs *defs, const int *temps, int n, const LowNode **at)
{
	for (int i = 0; i < n; i++) {
		at[i] = defs->only[temps[i]];
		if (!at[i] || at[i]->op != at[0]->op)
			return false;
	}
	return true;
}

static bool is_stored_between(const LowBody *body, const LowNode *from, int end)
{
	bool between = false;
	for (int i = 0; i < end; i++) {
		const LowNode *n = body->at[i];
		if (n == from)
			between = true;
		else if (between && n->kind != LOWNODE_COMMENT &&
		    (n->kind != LOWNODE_OP ||
			(low_op_writes(n->op) && n->buffer == from->buffer)))
			return true;
	}
	return !between;
}

/* Are they neighbours, each lane as far from the last, and what they were? */
static bool are_rows(const LowBody *body, int end, const LowNode *const *at, int n)
{
	for (int i = 0; i < n; i++) {
		LowAffine address = at[0]->address;
		address.constant += i;
		if (at[i]->op != LOW_GATHER || at[i]->arg[1] >= 0 || !at[i]->i ||
		    at[i]->i != at[0]->i || at[i]->buffer != at[0]->buffer ||
		    !low_affine_equal(at[i]->address, address) ||
		    is_stored_between(body, at[i], end))
			return false;
	}
	return true;
}

static Late *new_late(Lower *l, LateKind kind, const LowNode *node)
{
	Late *late = NEW(l->arena, Late);
	late->kind = kind;
	late->node = node;
	return late;
}

static Late *late_of(Lower *l, const LowDefs *defs, const LowBody *body, int end,
    const int *temps, int n);

/* The operation on what is late of its arguments; NULL: nothing is. */
static Late *operation_of(Lower *l, const LowDefs *defs, const LowBody *body,
    int end, const LowNode *const *at, int n)
{
	Late *late = new_late(l, LATE_OPERATION, at[0]);
	int *temps = NEW_N(l->arena, int, n);
	bool any = false;
	for (int a = 0; a < low_op_nargs(at[0]->op); a++) {
		for (int i = 0; i < n; i++)
			temps[i] = at[i]->arg[a];
		late->arg[a] = late_of(l, defs, body, end, temps, n);
		any |= late->arg[a]->kind == LATE_ROWS ||
		    late->arg[a]->kind == LATE_OPERATION;
	}
	return any ? late : NULL;
}

static Late *late_of(Lower *l, const LowDefs *defs, const LowBody *body, int end,
    const int *temps, int n)
{
	const LowNode **at = NEW_N(l->arena, const LowNode *, n);
	Late *late = NULL;
	if (definitions(defs, temps, n, at)) {
		if (are_rows(body, end, at, n))
			return new_late(l, LATE_ROWS, at[0]);
		if (at[0]->op == LOW_CONST && temps[0] == temps[n - 1])
			return new_late(l, LATE_CONSTANT, at[0]);
		if (is_lane_by_lane(at[0]->op))
			late = operation_of(l, defs, body, end, at, n);
	}
	if (late)
		return late;
	late = new_late(l, LATE_TRANSPOSED, NULL);
	late->temps = arena_memdup(l->arena, temps, sizeof *temps * (size_t)n);
	return late;
}

static const Late *transposed_in(const Late *late, int *count)
{
	const Late *found = NULL;
	*count += late->kind == LATE_TRANSPOSED;
	if (late->kind == LATE_TRANSPOSED)
		return late;
	for (int i = 0; i < 3; i++) {
		const Late *in =
		    late->arg[i] ? transposed_in(late->arg[i], count) : NULL;
		found = in ? in : found;
	}
	return found;
}

const Late *late_find(Lower *l, const LowDefs *defs, const LowBody *body, int end,
    LowNode *const *scatters, int n, int *transposed)
{
	int count = 0, *temps = NEW_N(l->arena, int, n);
	for (int i = 0; i < n; i++)
		transposed[i] = temps[i] = scatters[i]->arg[0];
	const Late *late = late_of(l, defs, body, end, temps, n);
	const Late *one = transposed_in(late, &count);
	if (late->kind != LATE_OPERATION || count != 1)
		return NULL;
	for (int i = 0; i < n; i++)
		transposed[i] = one->temps[i];
	return late;
}

int late_row(
    Lower *l, LowBody *to, const Late *late, int transposed, int64_t row)
{
	int arg[3] = {-1, -1, -1};
	if (late->kind == LATE_TRANSPOSED)
		return transposed;
	for (int i = 0; i < 3; i++)
		if (late->arg[i])
			arg[i] =
			    late_row(l, to, late->arg[i], transposed, row);
	const LowTemp *like = &l->f->temps.at[transposed];
	int temp = low_temp(l->arena, l->f, like->type, like->lanes, "t");
	LowOpcode op = late->kind == LATE_ROWS ? LOW_LOAD : late->node->op;
	LowNode *n = low_op(l->arena, to, op, temp, arg[0], arg[1], arg[2]);
	if (late->kind == LATE_ROWS) {
		n->buffer = late->node->buffer;
		n->address = late->node->address;
		n->address.constant += late->node->i * row;
	} else if (late->kind == LATE_CONSTANT) {
		n->i = late->node->i;
		n->f = late->node->f;
	}
	return temp;
}
