/* The table of intrinsics, and which one a body asks for. */
#include "ir/intrinsic.h"

#include <assert.h>
#include <string.h>

static const Intrinsic intrinsics[] = {
#define INTRINSIC(name, a, b, sum, terms)                                      \
	{#name, DT_##a, DT_##b, DT_##sum, terms},
#include "ir/intrinsics.def"
#undef INTRINSIC
};
enum { COUNT = sizeof intrinsics / sizeof *intrinsics };

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
	return COUNT;
}

const Intrinsic *intrinsic_of(DType a, DType b)
{
	for (int i = 0; i < COUNT; i++)
		if (intrinsics[i].a == a && intrinsics[i].b == b)
			return &intrinsics[i];
	return NULL;
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
