/* tail: what a block does with the last tile of an axis that it leaves.
 *
 *     for mo in 7  for mi in 16 [mi < 100 - 16*mo]     tail(c, peel)
 *   ->
 *     for mo in 6  for mi in 16
 *     for mi in 4
 *
 * One style a block: peel, mask, guard, pad.  Whether `pad` is right (every
 * operand a padded copy) is asked of the finished nest. */
#include "schedule/internal.h"

#include <string.h>

typedef struct {
	int stage;
	TailStyle style;
} Tail;

static Refusal parameters(const Call *call, Tail *p)
{
	static const char *const names[] = {[TAIL_PEEL] = "peel",
	    [TAIL_MASK] = "mask", [TAIL_GUARD] = "guard", [TAIL_PAD] = "pad"};
	const char *word;
	Refusal why = call_stage(call, 0, &p->stage);
	int loop;

	if (why) {
		why = call_loop(call, 0, &loop);
		if (why)
			return why;
		p->stage = call->nest->vars.at[loop].stage;
	}
	why = call_word(call, 1, &word);
	for (int i = 0; i < 4 && !why; i++)
		if (!strcmp(names[i], word)) {
			p->style = (TailStyle)i;
			return NULL;
		}
	return why ? why : "a tail is peel, mask, guard or pad";
}

Refusal tail_legal(const Call *call)
{
	Tail p;

	return parameters(call, &p);
}

void tail_apply(const Call *call)
{
	Tail p;

	parameters(call, &p);
	call->nest->stages.at[p.stage].tail = p.style;
}
