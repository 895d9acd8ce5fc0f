/* Kinds of loops, which the nest and the lowered form share. */
#ifndef IR_LOOP_H
#define IR_LOOP_H

typedef enum {
#define LOOP(name, printed) LOOP_##name,
#include "ir/loops.def"
#undef LOOP
} LoopKind;

const char *loop_kind_name(LoopKind kind); /* "serial", "blockIdx.x" … */

#endif
