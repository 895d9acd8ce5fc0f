/* The shape of a block: what its loops are made for, by what it reads and how.  The
 * first that fits, in the order in which rules.def has what takes them; a reduction
 * that has none may have tiles in levels. */
#include "schedule/rules/rules.h"

RuleShape rule_shape(const Rules *r, int i)
{
	bool reduces = r->program->blocks[i].reduce != REDUCE_NONE;
	return rule_is_pointwise(r, i)	   ? SHAPE_POINTWISE
	    : !reduces			   ? SHAPE_MAP
	    : rule_origin(r, i)->scattered ? SHAPE_SCATTER
	    : rule_is_scan(r, i)	   ? SHAPE_SCAN
	    : rule_is_interleaved(r, i)	   ? SHAPE_INTERLEAVED
	    : rule_is_window(r, i)	   ? SHAPE_WINDOW
	    : rule_is_row(r, i)		   ? SHAPE_ROW
					   : SHAPE_REDUCTION;
}
