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
