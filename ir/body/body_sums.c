/* Which results of a reduction are temporaries over its loops, and how many.
 *
 *     for k                    sum_0 = sum_1 = 0
 *       for i in 2 unroll  --> for k  sum_0 += ...  sum_1 += ...
 *         c[i] += ...          c[0] = sum_0  c[1] = sum_1
 *
 * All that lie inside, where only loops that are repeated in code move over them,
 * and not more than so many. */
#include "ir/body/body.h"

enum { SUMS_MAX = 64 };

/* More than there may be stays more. */
static int product(int n, int64_t extent)
{
	return !n ? 0 : extent > SUMS_MAX / n ? SUMS_MAX + 1 : n * (int)extent;
}

void body_sums_loop(BodySums *s, BodyLoop loop)
{
	if (loop.vector)
		s->across |= loop.reduce;
	else if (!loop.reduce)
		s->results = product(s->results, loop.code ? loop.extent : 0);
	else if (loop.code && !loop.merged)
		s->copies = product(s->copies, loop.extent);
}

void body_sums_end(BodySums *s, int stages)
{
	int all = product(s->results, stages);
	if (all > SUMS_MAX)
		s->results = 0;
	if (!s->across || product(all, s->copies) > SUMS_MAX)
		s->copies = 1;
}
