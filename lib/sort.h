/* qsort for arrays that may be empty: without items there need be no array,
 * which qsort does not allow. */
#ifndef LIB_SORT_H
#define LIB_SORT_H

#include <stdlib.h>

static inline void sort(void *items, size_t n, size_t size,
    int (*compare)(const void *, const void *))
{
	if (n > 1)
		qsort(items, n, size, compare);
}

static inline int sort_by_number(const void *a, const void *b)
{
	const int *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

static inline void sort_ints(int *items, int n)
{
	sort(items, (size_t)n, sizeof *items, sort_by_number);
}

static inline int sort_by_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static inline void sort_doubles(double *items, int n)
{
	sort(items, (size_t)n, sizeof *items, sort_by_double);
}

#endif
