/* What becomes of the tile that an axis ends inside of, by the stage's style.
 *
 *     for i in 2 for v in 8 vector       of 13
 *
 *     peel    8 lanes; 5 under a mask
 *     guard   8 lanes; 5 one by one
 *     mask    min(8, 13 - 8*i) under a mask, twice
 *     pad     8 lanes, twice
 *
 * Loops outside of that tile are clipped: they end where nothing inside of them counts
 * any more.  What goes to registers, or to temporaries of a reduction, is nobody's but
 * the nest's: a row too many does no harm there and needs no branch, where what is
 * read for it is a row that there is. */
#include "ir/body/body.h"

bool body_tail_bounds(BodyTail t, bool reduce)
{
	return !t.fill && (t.style != TAIL_PAD || !t.reg || reduce);
}

bool body_tail_clamps(BodyTail t)
{
	return !t.fill && t.style != TAIL_PAD &&
	    (t.reg || (t.sums && !t.hosts));
}

bool body_tail_tests(BodyTail t, bool reduce)
{
	return body_tail_bounds(t, reduce) && (reduce || !body_tail_clamps(t));
}

BodyTiles body_tail_tiles(BodyTail t)
{
	if (t.style == TAIL_PAD)
		return BODY_TILES_WHOLE;
	if (t.style == TAIL_MASK)
		return BODY_TILES_ALIKE;
	return t.style == TAIL_GUARD && !t.reg && !t.sums ? BODY_TILES_BY_LANE
							  : BODY_TILES_TOLD;
}
