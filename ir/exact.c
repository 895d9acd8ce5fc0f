/* The same program with every float an f64: what the results would be but for
 * rounding.  Inputs and constants keep the values that they have.
 *
 *     y[i]: f32 = (x[i] * f32(0.1))     becomes     y[i]: f64 = (f64(x[i]) * f64(0.1f))
 */
#include "ir/program.h"

static Expr *typed_f64(Arena *arena, const Expr *e)
{
	Expr *copy = arena_memdup(arena, e, sizeof *e);
	copy->type = DT_F64;
	return copy;
}

static Expr *exact_node(Arena *arena, Expr *e, void *context)
{
	const Program *p = context;
	if (!dtype_is_float(e->type) || e->type == DT_F64)
		return e;
	if (e->op == OP_READ && p->buffers[e->id].role == BUFFER_INPUT)
		return expr_cast(arena, DT_F64, e);
	if (e->op == OP_CAST)
		return expr_cast(arena, DT_F64, e->arg[0]);
	return typed_f64(arena, e);
}

Program *program_exact(Arena *arena, const Program *program)
{
	Program *p = arena_memdup(arena, program, sizeof *program);
	p->buffers = arena_memdup(arena, program->buffers,
	    sizeof *p->buffers * (size_t)program->nbuffers);
	p->blocks = arena_memdup(arena, program->blocks,
	    sizeof *p->blocks * (size_t)program->nblocks);
	for (int i = program->ninputs; i < program->nbuffers; i++)
		if (dtype_is_float(p->buffers[i].type))
			p->buffers[i].type = DT_F64;
	for (int i = 0; i < program->nblocks; i++)
		p->blocks[i].body = expr_rewrite(
		    arena, program->blocks[i].body, exact_node, p);
	return p;
}
