/* Where does the language leave it open whether a result is NaN?
 *
 *     p[i] = if 1 <= i then x[i - 1] else 0       y[] = sum[i](p[i] * w[i])
 *
 * A product with the literal 0 of an arm may be 0 whatever the other factor is,
 * and so on (docs/language.md, Numerics); under --numerics=fast infinities come
 * to meet each other that never did.  Not where the arm is what the reduction
 * around it starts from. */
#include "ir/program.h"

#include <math.h>

static bool is_nothing(const Expr *e)
{
	return dtype_is_float(e->type) &&
	    ((e->op == OP_INT && !e->i) ||
		(e->op == OP_FLOAT && (e->f == 0 || e->f == -INFINITY)));
}

/* What a reduction makes of its elements, where it takes them. */
static Expr *taken(const Block *b)
{
	Expr *e = b->body;
	while (b->reduce != REDUCE_NONE && e->op == OP_IF &&
	    is_nothing(e->arg[1]) != is_nothing(e->arg[2]))
		e = e->arg[is_nothing(e->arg[1]) ? 2 : 1];
	return e;
}

static bool finds_arm(Expr *e, void *found)
{
	for (int i = 1; e->op == OP_IF && i <= 2; i++)
		*(bool *)found |= is_nothing(e->arg[i]);
	return !*(bool *)found;
}

bool program_may_hide_nan(const Program *program)
{
	bool found = program->numerics == NUMERICS_FAST;
	for (int i = 0; i < program->nblocks; i++)
		expr_walk(taken(&program->blocks[i]), finds_arm, &found);
	return found && program->numerics != NUMERICS_EXACT;
}
