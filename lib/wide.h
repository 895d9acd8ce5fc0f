/* Integers of 128 bits, for sums and products of 64-bit ones that must not
 * overflow before they are checked. */
#ifndef LIB_WIDE_H
#define LIB_WIDE_H

#include <stdbool.h>
#include <stdint.h>

typedef __int128 Wide;

static inline bool wide_fits(Wide x)
{
	return x >= INT64_MIN && x <= INT64_MAX;
}

static inline Wide wide_min(Wide a, Wide b)
{
	return a < b ? a : b;
}

static inline Wide wide_max(Wide a, Wide b)
{
	return a > b ? a : b;
}

/* Rounds towards minus infinity; b > 0. */
static inline Wide wide_floordiv(Wide a, Wide b)
{
	Wide q = a / b;
	return a % b < 0 ? q - 1 : q;
}

static inline Wide wide_ceildiv(Wide a, Wide b)
{
	return -wide_floordiv(-a, b);
}

#endif
