/* Dead elements, which nobody uses (ir/nest/nest_dead.c), are not computed.
 *
 *     for i for j  s[i, j] = ...           used where j <= i
 * -->
 *     for i for j < i + 1  s[i, j] = ...
 *
 * Loops around the elements are narrowed to the iterations in which some element
 * inside of them may be used; where all of a stage's loops are repeated in code
 * there is a test before.  What is computed beyond that does no harm. */
#include "codegen/lower/lower_internal.h"

static IndexVec forms_of(Lower *l, int stage)
{
	return step_forms_of(l, stage, &step_conditions(l, stage)->live);
}

static Index most(Lower *l, Index form)
{
	return index_extreme(l, form, true, true);
}

bool live_known(Lower *l, int stage)
{
	return step_conditions(l, stage)->live.n > 0;
}

/* An element in registers has to be made for whoever names it. */
bool live_never(Lower *l, int stage)
{
	int buffer = l->nest->stages.at[stage].buffer;
	if (l->nest->buffers.at[buffer].scope == SCOPE_REG)
		return false;
	IndexVec forms = forms_of(l, stage);
	return forms_never(l, &forms);
}

Value live_some(Lower *l, int stage)
{
	IndexVec forms = forms_of(l, stage);
	return forms_some(l, &forms);
}

bool live_limits(Lower *l, int stage, int var, StepLimits *limits)
{
	IndexVec forms = forms_of(l, stage);
	bool *moved = NEW_N(l->arena, bool, forms.n);
	*limits = (StepLimits){.wanted = moved};
	step_limits_by(l, &forms, var, limits, moved);
	return limits->begins || limits->ends;
}

void live_facts(Lower *l, int stage, const bool *moved)
{
	IndexVec forms = forms_of(l, stage);
	for (int i = 0; i < forms.n; i++)
		if (!moved || moved[i])
			fact_push(l, most(l, forms.at[i]));
}
