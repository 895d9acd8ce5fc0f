/* What a loop of the nest is to lowering: how often it runs, whether it is repeated
 * in code, and whether what is inside runs more than once. */
#include "codegen/lower/lower_internal.h"

int64_t loop_extent(const Lower *l, int var)
{
	return tape_value(l->nest->tape, l->nest->vars.at[var].extent);
}

bool loop_at_compile_time(const Lower *l, int var)
{
	const Var *v = &l->nest->vars.at[var];
	int64_t limit = v->unroll_limit == HANDLE_NONE
	    ? 0
	    : tape_value(l->nest->tape, v->unroll_limit);
	return body_in_code(v->kind, loop_extent(l, var), limit);
}

bool lower_runs_again(const Lower *l, int loop)
{
	while (loop >= 0) {
		const Stage *s =
		    &l->nest->stages.at[l->nest->vars.at[loop].stage];
		for (int i = nest_loop_position(l->nest, loop); i >= 0; i--)
			if (!loop_is_bound(
				l->nest->vars.at[s->loops[i]].kind) &&
			    loop_extent(l, s->loops[i]) > 1)
				return true;
		loop = s->place;
	}
	return false;
}

bool loop_is_vector(const Lower *l, int var)
{
	return l->nest->vars.at[var].kind == LOOP_VECTOR && !l->elementwise &&
	    loop_extent(l, var) > 1;
}

/* Position of the loop before which a reduction is initialized. */
int loop_init_position(const Lower *l, const Stage *s)
{
	for (int i = 0; i < s->nloops; i++)
		if (s->init_at >= 0 ? s->loops[i] == s->init_at
				    : l->nest->vars.at[s->loops[i]].reduce)
			return i;
	return s->nloops;
}

/* Are the lanes inside of a loop steps of the reduction? */
bool loop_lanes_reduce(const Lower *l, const Stage *s, int pos)
{
	for (int i = pos; i < s->nloops; i++)
		if (loop_is_vector(l, s->loops[i]) &&
		    l->nest->vars.at[s->loops[i]].reduce)
			return true;
	return false;
}

BodyLoop loop_body(const Lower *l, const Stage *s, int var)
{
	return (BodyLoop){.extent = loop_extent(l, var),
	    .reduce = l->nest->vars.at[var].reduce,
	    .code = loop_at_compile_time(l, var),
	    .vector = loop_is_vector(l, var),
	    .merged = var == s->tensor_loop};
}

static void add_sharing(const Lower *l, int stage, IntVec *all)
{
	for (int i = 0; i < l->part->sharing[stage].n; i++)
		vec_push(l->arena, all, l->part->sharing[stage].at[i]);
}

/* Stages hung at the stage's loops from `pos` inwards, and below those. */
void stages_below(const Lower *l, int stage, int pos, IntVec *below)
{
	const Stage *s = &l->nest->stages.at[stage];
	for (int i = pos; i < s->nloops; i++) {
		const IntVec *hung = &l->part->hung[s->loops[i]];
		for (int k = 0; k < hung->n; k++) {
			add_sharing(l, hung->at[k], below);
			stages_below(l, hung->at[k], 0, below);
		}
	}
}

IntVec written_below(const Lower *l, int host, int pos)
{
	IntVec written = {0};
	add_sharing(l, host, &written);
	stages_below(l, host, pos, &written);
	for (int i = 0; i < written.n; i++)
		written.at[i] = l->nest->stages.at[written.at[i]].buffer;
	return written;
}
