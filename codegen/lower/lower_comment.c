/* What a loop is, in words, for who reads the code: the axes that it runs through
 * and how much of each a step is, by the names of the spec.
 *
 *     for parallel out_tile < 4    threads: out.y by 7
 *     for conv_c0 < 64             conv.c by 2, summed
 *
 * What is made ahead has a function of its own: there the name of a loop through
 * a whole axis says it all. */
#include "codegen/lower/lower_internal.h"

/* How much of `root` a step of the loop is, where it is one at all; of a fused
 * loop, which moves several, what it is of the part. */
static int64_t step_of(const Lower *l, int root, int var)
{
	const Var *v = &l->nest->vars.at[root];
	int64_t inner = 1;
	if (root == var)
		return 1;
	if (v->how == VAR_FUSED)
		return tape_value(l->nest->tape, v->extent) > 1
		    ? step_of(l, v->fused, var) : 0;
	for (int i = v->nchild - 1; v->how == VAR_SPLIT && i >= 0; i--) {
		int64_t step = step_of(l, v->child[i], var);
		if (step)
			return step * inner;
		inner *= loop_extent(l, v->child[i]);
	}
	return 0;
}

const char *loop_comment(Lower *l, int stage, int var)
{
	const Stage *s = &l->nest->stages.at[stage];
	const Var *v = &l->nest->vars.at[var];
	Buf words = {0};
	for (int a = 0; a < s->naxes; a++)
		if (s->ahead && s->axes[a].var == var)
			return NULL;
	for (int a = 0; a < s->naxes; a++) {
		int64_t step = step_of(l, s->axes[a].var, var);
		if (!step)
			continue;
		buf_printf(&words, "%s%s.%s", words.size ? ", " : "", s->name,
		    s->axes[a].name);
		if (step > 1)
			buf_printf(&words, " by %lld", (long long)step);
	}
	const char *text = arena_printf(l->arena, "%s%s%s",
	    v->kind == LOOP_PARALLEL && l->part->threads ? "threads: " : "",
	    words.size ? buf_text(&words) : v->name,
	    v->reduce ? ", summed" : "");
	buf_free(&words);
	return text;
}
