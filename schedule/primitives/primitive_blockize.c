/* blockize: the loops from one inwards become a unit.
 *
 *     for io for ii for k            blockize(ii)
 *   ->
 *     for io  block { for ii for k }
 *
 * No later step changes the loops of the unit or places anything there; that
 * is what an intrinsic stands for.  Legal where nothing is placed there yet. */
#include "schedule/internal.h"

Refusal blockize_legal(const Call *call)
{
	const Nest *nest = call->nest;
	int loop;
	Refusal why = call_loop(call, 0, &loop);

	if (why)
		return why;
	if (nest->stages.at[nest->vars.at[loop].stage].tensor_loop >= 0)
		return "the block has a unit already";
	return edit_unit_legal(nest, loop);
}

void blockize_apply(const Call *call)
{
	Nest *nest = call->nest;
	int loop;

	call_loop(call, 0, &loop);
	nest->stages.at[nest->vars.at[loop].stage].tensor_loop = loop;
}
