/* Intervals of integers: what is known of a sum, a product, a quotient where
 * only the ends of its parts are.  Ends of products are limited to
 * INTERVAL_LIMIT, far above what fits 64 bits and far below what overflows when
 * millions are added: a sum is limited as a whole, or its ends were no ends. */
#ifndef LIB_INTERVAL_H
#define LIB_INTERVAL_H

#include "lib/wide.h"

#define INTERVAL_LIMIT ((Wide)1 << 100)

typedef struct {
	Wide lo, hi; /* both included; none where lo > hi */
} Interval;

static inline Wide interval_limited(Wide x)
{
	return wide_max(-INTERVAL_LIMIT, wide_min(INTERVAL_LIMIT, x));
}

static inline Wide interval_product(Wide a, Wide b)
{
	Wide x;
	if (wide_fits(a) && wide_fits(b)) /* nearly always */
		return interval_limited((Wide)(int64_t)a * (int64_t)b);
	if (__builtin_mul_overflow(a, b, &x))
		return (a < 0) == (b < 0) ? INTERVAL_LIMIT : -INTERVAL_LIMIT;
	return interval_limited(x);
}

static inline Interval interval_of(Wide x)
{
	return (Interval){x, x};
}

static inline bool interval_is_empty(Interval a)
{
	return a.lo > a.hi;
}

static inline bool interval_holds(Interval outer, Interval inner)
{
	return outer.lo <= inner.lo && inner.hi <= outer.hi;
}

static inline Interval interval_add(Interval a, Interval b)
{
	return (Interval){a.lo + b.lo, a.hi + b.hi};
}

static inline Interval interval_scale(Interval a, Wide c)
{
	Interval s = {interval_product(a.lo, c), interval_product(a.hi, c)};
	return c < 0 ? (Interval){s.hi, s.lo} : s;
}

static inline Interval interval_sub(Interval a, Interval b)
{
	return interval_add(a, interval_scale(b, -1));
}

/* What is in either, and between them. */
static inline Interval interval_hull(Interval a, Interval b)
{
	if (interval_is_empty(a) || interval_is_empty(b))
		return interval_is_empty(a) ? b : a;
	return (Interval){wide_min(a.lo, b.lo), wide_max(a.hi, b.hi)};
}

static inline Interval interval_meet(Interval a, Interval b)
{
	return (Interval){wide_max(a.lo, b.lo), wide_min(a.hi, b.hi)};
}

static inline Interval interval_mul(Interval a, Interval b)
{
	return interval_hull(interval_scale(a, b.lo), interval_scale(a, b.hi));
}

/* Of quotients and remainders; c > 0. */
static inline Interval interval_floordiv(Interval a, Wide c)
{
	return (Interval){wide_floordiv(a.lo, c), wide_floordiv(a.hi, c)};
}

static inline Interval interval_mod(Interval a, Wide c)
{
	Wide q = wide_floordiv(a.lo, c);
	if (q != wide_floordiv(a.hi, c))
		return (Interval){0, c - 1};
	return (Interval){a.lo - q * c, a.hi - q * c};
}

static inline Interval interval_min(Interval a, Interval b)
{
	return (Interval){wide_min(a.lo, b.lo), wide_min(a.hi, b.hi)};
}

static inline Interval interval_max(Interval a, Interval b)
{
	return (Interval){wide_max(a.lo, b.lo), wide_max(a.hi, b.hi)};
}

static inline Interval interval_abs(Interval a)
{
	if (a.lo >= 0)
		return a;
	if (a.hi <= 0)
		return (Interval){-a.hi, -a.lo};
	return (Interval){0, wide_max(-a.lo, a.hi)};
}

#endif
