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

#endif
