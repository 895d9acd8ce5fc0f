/* cache_write: a block computes into a buffer of its own, which is then copied.
 *
 *     for mo for mi for k  c[i, j] += ...        cw = cache_write(c)
 *   ->
 *     for mo for mi for k  cw[i, j] += ...       (block cw has c's schedule)
 *     for c.i for c.j  c[i, j] = cw[i, j]        (block c is the copy)
 *
 * Always legal.  The loops that had no name of their own are cw.i, cw.j ...
 * from now on. */
#include "schedule/internal.h"

#include <string.h>

typedef struct {
	int stage;
	Scope scope;
} CacheWrite;

static Refusal parameters(const Call *call, CacheWrite *p)
{
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = edit_scope_argument(call, 1, &p->scope);
	return why ? why : call_outs(call, 1);
}

Refusal cache_write_legal(const Call *call)
{
	CacheWrite p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (call->nest->stages.at[p.stage].fill)
		return "the block is padded";
	if (!edit_is_identity_write(call->nest, p.stage) &&
	    call->nest->stages.at[p.stage].nwrite <
		call->nest->stages.at[p.stage].nspatial)
		return "the block does not write at its axes";
	return NULL;
}

/* Loops and variables go over to the new stage. */
static void hand_over(Nest *nest, int from, int to)
{
	const char *name = nest->stages.at[from].name;
	size_t n = strlen(name);

	for (int i = nest->stages.at[from].vars; i >= 0;
	     i = nest->vars.at[i].next) {
		Var *v = &nest->vars.at[i];
		v->stage = to;
		if (!strncmp(v->name, name, n) && v->name[n] == '.')
			nest_rename_var(nest, i,
			    arena_printf(nest->arena, "%s%s",
				nest->stages.at[to].name, v->name + n));
	}
	nest->stages.at[from].vars = -1;
}

static void become_copy(Nest *nest, int stage, int from)
{
	Stage *s = &nest->stages.at[stage];

	s->block = -1;
	s->naxes = s->nspatial;
	s->axes = arena_memdup(nest->arena, s->axes,
	    sizeof *s->axes * (size_t)s->naxes);
	s->reduce = REDUCE_NONE;
	nest_set_body(nest, stage,
	    expr_read(nest->arena, nest->buffers.at[from].type, from,
		s->write, s->nwrite));
	s->is_copy = true;
	s->init_at = -1;
	s->tail = TAIL_GUARD;
	s->prefetches.n = s->prefetches.cap = 0;
	s->prefetches.at = NULL;
	s->intrinsic = s->tensor_loop = -1;
	edit_new_loops(nest, stage);
}

void cache_write_apply(const Call *call)
{
	Nest *nest = call->nest;
	const char *name = call->step->outs[0];
	int stage, buffer;
	CacheWrite p;
	Stage *s;

	parameters(call, &p);
	buffer = edit_new_buffer(nest, name,
	    &nest->buffers.at[nest->stages.at[p.stage].buffer], p.scope);
	if (nest->stages.at[p.stage].place >= 0 && p.scope == SCOPE_GLOBAL)
		nest->buffers.at[buffer].scope = SCOPE_LOCAL;
	stage = edit_new_stage(nest, name, p.stage, false);
	s = &nest->stages.at[stage];
	*s = nest->stages.at[p.stage];
	nest_set_body(nest, stage, s->body);
	s->name = name;
	s->buffer = buffer;
	s->barrier = p.scope == SCOPE_SHARED;
	nest->buffers.at[buffer].writer = stage;
	hand_over(nest, p.stage, stage);
	become_copy(nest, p.stage, buffer);
}
