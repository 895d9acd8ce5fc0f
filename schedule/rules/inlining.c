/* Inlining as an operation on bodies, for compute_inline and for the rule that
 * writes it: each read of a buffer becomes the body that writes it, with a cast
 * to the buffer's type, since storing rounds.
 *
 * A body is a tree to everything that looks at it, so what is read twice stands
 * there twice, and twice as often with each block that is inlined on top.
 * Therefore a body has a largest size: beyond it the code and the repeated
 * evaluations cost more than the store and the load that inlining saves. */
#include "schedule/internal.h"

enum { BODY_NODES_MAX = 1024 };

static Expr *inline_read(Arena *arena, Expr *e, void *context)
{
	const Inlining *in = context;

	if (e->op != OP_READ || e->id != in->buffer)
		return e;
	return expr_cast(arena, in->type,
	    expr_substitute_axes(arena, in->body, e->arg, e->narg));
}

Expr *inlining_body(Arena *arena, const Inlining *in, Expr *reader)
{
	return expr_rewrite(arena, reader, inline_read, (void *)in);
}

/* What is left of `most` after `e` with the buffer's reads replaced, and its
 * axes by `axes` where that is not NULL. */
static int64_t left_after(
    const Inlining *in, const Expr *e, Expr *const *axes, int64_t most)
{
	if (axes && e->op == OP_AXIS)
		return left_after(in, axes[e->id], NULL, most);
	if (!axes && e->op == OP_READ && e->id == in->buffer)
		return left_after(in, in->body, e->arg,
		    most - (in->type != in->body->type));
	most--;
	for (int i = 0; i < e->narg && most >= 0; i++)
		most = left_after(in, e->arg[i], axes, most);
	return most;
}

bool inlining_fits(const Inlining *in, const Expr *reader)
{
	return left_after(in, reader, NULL, BODY_NODES_MAX) >= 0;
}
