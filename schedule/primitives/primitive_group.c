/* group: what follows is the schedule of these blocks alone.
 *
 *     group(c, r)      parallel(c.i)       the part {c, r} of the program
 *     group(p)         vectorize(p.x, 8)   the part {p}
 *
 * It heads the schedule of a part of the program: apply_groups.c takes a trace
 * apart at these steps, before there is a nest, so no nest ever meets one but in
 * a trace that begins with something else. */
#include "schedule/internal.h"

Refusal group_legal(const Call *call)
{
	(void)call;
	return "a trace has groups from its first step on, or none";
}

void group_apply(const Call *call)
{
	(void)call;
}
