/* Where a block is computed: for itself, before everything that reads it, or
 * for each tile of its reader. */
#include "schedule/rules.h"

void rule_location(Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	const Block *block = &r->program->blocks[i];
	if (b->output || !b->nconsumers)
		return;
	buf_printf(&r->text, "compute_at(%s, ? in {root", block->name);
	for (int p = 0; p < r->nplaces; p++)
		buf_printf(&r->text, ", %s", r->places[p]);
	if (block->reduce == REDUCE_NONE)
		buf_puts(&r->text, ", inline");
	buf_puts(&r->text, "})\n");
}
