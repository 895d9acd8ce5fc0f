/* Where a block is computed: for itself, before everything that reads it, or
 * for each tile of its reader. */
#include "schedule/rules/rules.h"

/* Every reader has to be inside of the loops that are offered. */
static bool readers_located(const Rules *r, const RuleBlock *b)
{
	for (int i = 0; i < b->consumers.n; i++) {
		const RuleBlock *c = &r->blocks[b->consumers.at[i]];
		if (!c->located && c->block != r->place_block)
			return false;
	}
	return true;
}

void rule_location(Rules *r, int i)
{
	RuleBlock *b = &r->blocks[i];
	const Block *block = &r->program->blocks[i];
	if (b->output || !b->consumers.n || !readers_located(r, b))
		return;
	b->located = true;
	buf_printf(&r->text, "compute_at(%s, ? in {root", block->name);
	for (int p = 0; p < r->nplaces; p++)
		buf_printf(&r->text, ", %s", r->places[p]);
	if (r->inlinable[i])
		buf_puts(&r->text, ", inline");
	buf_puts(&r->text, "})\n");
}
