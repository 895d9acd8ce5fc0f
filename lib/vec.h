/* Growing arrays in an arena.
 *
 *     IntVec v = {0};
 *     vec_push(arena, &v, 42);
 *     for (int i = 0; i < v.n; i++) use(v.at[i]);
 *     vec_each (x, &v) use(*x);
 *
 * Growing leaves the old array to the arena. */
#ifndef LIB_VEC_H
#define LIB_VEC_H

#include "lib/arena.h"

#define VEC(Type)                                                              \
	struct {                                                               \
		Type *at;                                                      \
		int n, cap;                                                    \
	}

typedef VEC(int) IntVec;

#define vec_push(arena, v, ...)                                                \
	((v)->n == (v)->cap                                                    \
		? (void)((v)->at = vec_grow(                                   \
			     arena, (v)->at, &(v)->cap, sizeof *(v)->at))      \
		: (void)0,                                                     \
	    (void)((v)->at[(v)->n++] = (__VA_ARGS__)))

#define vec_each(item, v)                                                      \
	for (__typeof__(&*(v)->at) item = (v)->at;                             \
	     (v)->n && item < (v)->at + (v)->n; item++)

void *vec_grow(Arena *arena, void *old, int *cap, size_t item_size);

#endif
