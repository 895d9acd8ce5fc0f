/* The table of intrinsics, and which one a body asks for. */
#include "ir/intrinsic.h"

#include <assert.h>
#include <string.h>

static const Intrinsic intrinsics[] = {
#define INTRINSIC(name, a, b, sum, terms)                                      \
	{#name, DT_##a, DT_##b, DT_##sum, terms, 0, 0, 0, 0},
#include "ir/intrinsics.def"
#undef INTRINSIC
#define FRAGMENT(name, a, b, sum, rows, columns, terms, capability)            \
	{#name, DT_##a, DT_##b, DT_##sum, terms, rows, columns, capability, 1},
#include "ir/fragments.def"
#undef FRAGMENT
#define WARPGROUP(name, a, b, sum, terms)                                      \
	{#name, DT_##a, DT_##b, DT_##sum, terms, GROUP_ROWS, 0, 0, GROUP_WARPS},
#include "ir/warpgroups.def"
#undef WARPGROUP
};
enum {
#define INTRINSIC(name, a, b, sum, terms) NUMBER_##name,
#include "ir/intrinsics.def"
#undef INTRINSIC
	PLAIN,
	COUNT = sizeof intrinsics / sizeof *intrinsics
};

int intrinsic_find(const char *name)
{
	for (int i = 0; i < COUNT; i++)
		if (!strcmp(intrinsics[i].name, name))
			return i;
	return -1;
}

const Intrinsic *intrinsic_at(int number)
{
	assert(number >= 0 && number < COUNT);
	return &intrinsics[number];
}

int intrinsic_count(void)
{
	return PLAIN;
}

const Intrinsic *intrinsic_of(DType a, DType b)
{
	for (int i = 0; i < PLAIN; i++)
		if (intrinsics[i].a == a && intrinsics[i].b == b)
			return &intrinsics[i];
	return NULL;
}

int intrinsic_instructions(
    const Intrinsic *in, const Machine *machine, Numerics numerics)
{
	_Static_assert((int)PLAIN <= (int)MACHINE_DOTS, "Machine.dots has too few");
	const MachineDot *dot = &machine->dots[in - intrinsics];
	assert(in - intrinsics < PLAIN);
	return dot->flushes && numerics != NUMERICS_FAST ? 0
							 : dot->instructions;
}

const Intrinsic *fragment_of(DType a, DType b, int terms)
{
	for (int i = PLAIN; i < COUNT; i++)
		if (intrinsics[i].a == a && intrinsics[i].b == b &&
		    intrinsics[i].terms == terms && intrinsics[i].warps == 1)
			return &intrinsics[i];
	return NULL;
}

const Intrinsic *warpgroup_of(DType a, DType b)
{
	for (int i = PLAIN; i < COUNT; i++)
		if (intrinsics[i].a == a && intrinsics[i].b == b &&
		    intrinsics[i].warps == GROUP_WARPS)
			return &intrinsics[i];
	return NULL;
}

int fragment_word(const Intrinsic *in)
{
	return 4 / dtype_bytes(in->a);
}

int fragment_lanes(const Intrinsic *in, bool b)
{
	return (b ? in->columns : in->rows) * in->terms / 32;
}

int64_t fragment_row(const Intrinsic *in, int64_t own, int64_t step)
{
	bool across = own == 1 && fragment_word(in) == 2;
	int64_t row = step == 1 ? own : across ? step : 0;
	return row * dtype_bytes(in->a) % FRAGMENT_ROW ? 0 : row;
}

bool fragment_rounds(const Intrinsic *in)
{
	return in->rows && in->a == DT_F32;
}

static bool is_operand(const Expr *e)
{
	return e->op == OP_CAST && e->arg[0]->op == OP_READ;
}

const Intrinsic *intrinsic_of_body(const Expr *body)
{
	if (body->op != OP_MUL || !is_operand(body->arg[0]) ||
	    !is_operand(body->arg[1]))
		return NULL;
	DType a = body->arg[0]->arg[0]->type, b = body->arg[1]->arg[0]->type;
	const Intrinsic *in = intrinsic_of(a, b);
	if (!in)
		in = intrinsic_of(b, a);
	return in && in->sum == body->type ? in : NULL;
}

/* As it is, or in as many more bits as hold all of its numbers. */
static bool widens(DType from, DType to)
{
	return from == to || (to == DT_I16 && (from == DT_I8 || from == DT_U8));
}

static bool takes(const Intrinsic *in, DType a, DType b)
{
	return widens(a, in->a) && widens(b, in->b);
}

bool intrinsic_sums(const Intrinsic *in, const Expr *body)
{
	if (in->rows || in->sum != body->type)
		return false;
	if (body->op == OP_MUL && is_operand(body->arg[0]) &&
	    is_operand(body->arg[1])) {
		DType a = body->arg[0]->arg[0]->type;
		DType b = body->arg[1]->arg[0]->type;
		return takes(in, a, b) || takes(in, b, a);
	}
	return is_operand(body) && dtype_is_int(in->sum) &&
	    (in->a == body->arg[0]->type || in->b == body->arg[0]->type);
}

void intrinsic_reads(
    const Intrinsic *in, const Expr *body, const Expr **a, const Expr **b)
{
	assert(intrinsic_sums(in, body));
	const Expr *x = body->arg[0], *y = NULL;
	if (body->op == OP_MUL) {
		x = body->arg[0]->arg[0];
		y = body->arg[1]->arg[0];
	}
	bool turned = y ? !takes(in, x->type, y->type) : x->type != in->a;
	*a = turned ? y : x;
	*b = turned ? x : y;
}

const Expr *fragment_read(const Expr *body, int operand)
{
	const Expr *e = body->arg[operand];
	return e->op == OP_CAST ? e->arg[0] : e;
}

bool fragment_sums(const Intrinsic *in, const Expr *body)
{
	if (body->op != OP_MUL || body->type != in->sum)
		return false;
	const Expr *a = fragment_read(body, 0), *b = fragment_read(body, 1);
	return a->op == OP_READ && b->op == OP_READ && a->type == in->a &&
	    b->type == in->b;
}
