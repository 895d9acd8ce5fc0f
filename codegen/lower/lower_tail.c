/* Tails: what an axis whose tiles leave it means for its loops.
 *
 * A loop outside of the innermost tile is clipped: it ends where nothing inside
 * of it counts any more.  So only the innermost tile is ever partial, and the
 * stage's style says what happens to that one: `pad` computes it whole, as if
 * its first row were all of it. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

BodyTail tail_of(const Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	return (BodyTail){.style = s->tail,
	    .fill = s->fill,
	    .reg = l->nest->buffers.at[s->buffer].scope == SCOPE_REG,
	    .sums = sums_are_of(l, stage),
	    .hosts = sums_are_of(l, stage) && !l->sums->clamps};
}

static bool may_leave(const StageAxis *a, End end)
{
	return end == ABOVE ? a->above : a->below;
}

bool axis_bounded(const Lower *l, int stage, int axis, End end)
{
	const Stage *s = &l->nest->stages.at[stage];
	assert(axis >= 0 && axis < s->naxes);
	return may_leave(&s->axes[axis], end) &&
	    body_tail_bounds(tail_of(l, stage), s->axes[axis].reduce);
}

bool axis_tested(const Lower *l, int stage, int axis, End end)
{
	const Stage *s = &l->nest->stages.at[stage];
	assert(axis >= 0 && axis < s->naxes);
	return may_leave(&s->axes[axis], end) &&
	    body_tail_tests(tail_of(l, stage), s->axes[axis].reduce);
}

static bool var_has(const Lower *l, int root, int var)
{
	const Var *v = &l->nest->vars.at[root];
	if (root == var)
		return true;
	if (v->how == VAR_FUSED)
		return var_has(l, v->fused, var);
	for (int i = 0; v->how == VAR_SPLIT && i < v->nchild; i++)
		if (var_has(l, v->child[i], var))
			return true;
	return false;
}

bool axis_has_var(const Lower *l, int stage, int axis, int var)
{
	assert(axis >= 0 && axis < l->nest->stages.at[stage].naxes);
	return var_has(l, l->nest->stages.at[stage].axes[axis].var, var);
}

Index slack_of_some(Lower *l, int stage, int axis, End end)
{
	return index_extreme(
	    l, axis_slack(l, stage, axis, end), true, true);
}

Index slack_of_all(Lower *l, int stage, int axis, End end)
{
	return index_extreme(
	    l, axis_slack(l, stage, axis, end), false, true);
}

/* Is every loop of the axis inside of `var` unrolled or a vector? */
static bool rest_at_compile_time(const Lower *l, int root, int var)
{
	const Var *v = &l->nest->vars.at[root];
	if (v->how == VAR_SPLIT) {
		for (int i = 0; i < v->nchild; i++)
			if (!rest_at_compile_time(l, v->child[i], var))
				return false;
		return true;
	}
	if (v->how == VAR_FUSED)
		return rest_at_compile_time(l, v->fused, var);
	return root == var || l->part->vars[root].bound ||
	    loop_at_compile_time(l, root);
}

bool tail_decided(const Lower *l, int stage, int axis)
{
	return rest_at_compile_time(
	    l, l->nest->stages.at[stage].axes[axis].var, -1);
}

bool tail_limit(Lower *l, int stage, int var, Index *limit)
{
	const Stage *s = &l->nest->stages.at[stage];
	int64_t extent = loop_extent(l, var);
	bool limited = false;
	assert(
	    !l->part->vars[var].bound); /* else it is no symbol of the slack */
	for (int a = 0; a < s->naxes; a++) {
		if (!axis_tested(l, stage, a, ABOVE) ||
		    !axis_has_var(l, stage, a, var))
			continue;
		/* slack = rest - step*var; counts where slack >= 0 */
		Index slack = axis_slack(l, stage, a, ABOVE);
		int symbol = SYMBOL_FREE - var;
		int64_t step = -index_coefficient(slack, symbol);
		if (step <= 0)
			continue;
		Index rest = index_extreme(
		    l, index_without(l, slack, symbol), true, true);
		Index n = index_add(
		    l, index_floordiv(l, rest, step), index_const(1), 1);
		if (index_nonnegative(
			l, index_add(l, n, index_const(extent), -1)))
			continue;
		*limit = limited ? index_min(l, *limit, n, false) : n;
		limited = true;
	}
	return limited;
}

bool tail_split(Lower *l, int stage, int var, int64_t *whole)
{
	const Stage *s = &l->nest->stages.at[stage];
	bool split = false;
	assert(!l->part->vars[var].bound);
	if (!body_tail_splits(tail_of(l, stage)))
		return false;
	for (int a = 0; a < s->naxes; a++) {
		if (!axis_tested(l, stage, a, ABOVE) ||
		    !axis_has_var(l, stage, a, var) ||
		    !rest_at_compile_time(l, s->axes[a].var, var))
			continue;
		Index slack = axis_slack(l, stage, a, ABOVE);
		int symbol = SYMBOL_FREE - var;
		int64_t step = -index_coefficient(slack, symbol), n;
		Index rest = index_extreme(
		    l, index_without(l, slack, symbol), false, true);
		if (step <= 0 || !index_is_const(rest, &n))
			continue;
		n = body_tail_whole(n, step);
		*whole = split && *whole < n ? *whole : n;
		split = true;
	}
	return split;
}

Value tail_mask(Lower *l, int stage, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	Value mask = value_const(DT_BOOL, 0, 1);
	for (int a = 0; a < s->naxes; a++)
		for (End end = ABOVE; end <= BELOW; end++) {
			if (!axis_bounded(l, stage, a, end) ||
			    (phase != PHASE_UPDATE && s->axes[a].reduce))
				continue;
			Index slack = axis_slack(l, stage, a, end);
			if (index_has_lanes(slack))
				mask = value_and(
				    l, mask, value_nonnegative(l, slack));
		}
	return mask;
}

const bool *tail_clamped_axes(Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	bool *clamp = NEW_N(l->arena, bool, s->naxes);
	bool clamps = body_tail_clamps(tail_of(l, stage));
	for (int a = 0; a < s->naxes; a++)
		clamp[a] = clamps && !s->axes[a].reduce &&
		    (s->axes[a].above || s->axes[a].below);
	return clamp;
}
