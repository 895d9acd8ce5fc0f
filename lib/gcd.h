/* The greatest common divisor of two integers, 0 of 0 and 0; never negative.  By
 * Euclid. */
#ifndef LIB_GCD_H
#define LIB_GCD_H

#include <stdint.h>

static inline int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a < 0 ? -a : a;
}

#endif
