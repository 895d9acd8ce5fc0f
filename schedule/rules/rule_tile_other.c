/* Reductions with a share of the anchor's arithmetic, each tiled for itself:
 * vectors along one axis, no choices of structure, since each of those would
 * multiply the sketches; what feeds them is not computed in their tiles.  Those
 * with less that have no lanes but in tiles have tiles that are not searched. */
#include "schedule/rules/rules.h"

/* Of the anchor's arithmetic that another reduction has at least. */
enum { LEAST_SHARE = 16 };

static bool has_share(const Rules *r, int i)
{
	return rule_work(r, i) * LEAST_SHARE >= rule_work(r, r->tiled.block);
}

static bool has_row(const Rules *r, int i)
{
	int axis;
	return rule_row_lanes(r, i, &axis) > 1;
}

/* Vectors along the last axis that is worth it, as wide as it is long. */
static RuleTiled plain_choice(const Rules *r, int i)
{
	const Block *block = &r->program->blocks[i];
	int widest =
	    rule_lanes(r->machine, r->program->buffers[block->buffer].type);
	int least = rule_least_lanes(widest);
	for (int a = block->nspatial - 1; a >= 0; a--)
		for (int lanes = widest; lanes >= least; lanes /= 2)
			if (rule_worth_vectors(r, i, a) &&
			    !rule_rows_is_row(r, i, a) &&
			    block->axes[a].extent >= lanes)
				return (RuleTiled){.block = i,
				    .axis = a,
				    .lanes = lanes};
	return (RuleTiled){.block = -1};
}

void rule_tile_other(Rules *r, int i)
{
	if (r->tiled.block < 0 || !rule_is_open(r, i) || !rule_can_tile(r, i))
		return;
	RuleTiled tiled = plain_choice(r, i);
	tiled.settled = !has_share(r, i);
	if (tiled.block >= 0 && !(tiled.settled && has_row(r, i)))
		rule_tile_along(r, &tiled);
}
