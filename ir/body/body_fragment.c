/* How a thread of a warp loads what it has of a fragment's operand from shared memory,
 * where that lies in rows of 16 bytes (fragment_row): eight rows are a matrix, of which
 * it has 4 bytes, and one instruction loads up to four matrices.
 *
 *     for j in 4 unroll      b[.., 8*j + g], 16 steps of f16: two matrices
 *       mma                  j = 0 and 1 at once, then 2 and 3
 *
 * What it has room for beside those of one fragment it loads of its neighbours', along
 * the first loop around the fragment in which there are any. */
#include "ir/body/body.h"

#include <assert.h>

enum { MEMBERS = 4, DIGITS_MOST = 2 };

BodyMatrices body_matrices(const Intrinsic *in, bool b)
{
	int own = !b + (in->terms > MEMBERS * fragment_word(in));
	assert(fragment_lanes(in, b) == fragment_word(in) << own);
	return (BodyMatrices){own, own};
}

bool body_is_row(const Intrinsic *in, int64_t elements)
{
	return elements * dtype_bytes(in->a) % FRAGMENT_ROW == 0;
}

int body_matrices_along(const BodyMatrices *m, int64_t extent)
{
	int n = 0;
	while (m->digits == m->own && m->own + n < DIGITS_MOST &&
	    extent % (INT64_C(2) << n) == 0)
		n++;
	return n;
}
