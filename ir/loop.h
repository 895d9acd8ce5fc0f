/* Kinds of loops, which the nest and the lowered form share, and styles of their
 * tails (ir/body/body_tail.c). */
#ifndef IR_LOOP_H
#define IR_LOOP_H

#include <stdbool.h>

typedef enum {
#define LOOP(name, printed, bound, direction) LOOP_##name,
#include "ir/loops.def"
#undef LOOP
	LOOP_KINDS
} LoopKind;

typedef enum { TAIL_PEEL, TAIL_MASK, TAIL_GUARD, TAIL_PAD } TailStyle;

const char *loop_kind_name(LoopKind kind); /* "serial", "blockIdx.x" … */
/* Run by the blocks or threads of a GPU. */
bool loop_is_block(LoopKind kind);
bool loop_is_thread(LoopKind kind);
bool loop_is_bound(LoopKind kind);  /* either */
int loop_direction(LoopKind kind);  /* of a bound one: 0 x, 1 y, 2 z */

#endif
