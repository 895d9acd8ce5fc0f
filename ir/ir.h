/* The face of ir/: what to compute, in three forms, and what runs them.
 *
 *     program.h  definitions and blocks, from a spec       spec_*.c, interp.c
 *     nest.h     the program under a schedule              nest*.c
 *     lowered.h  loops, temporaries, vectors: what is emitted   lowered*.c */
#ifndef IR_IR_H
#define IR_IR_H

#include "ir/expr.h"
#include "ir/intrinsic.h"
#include "ir/lowered/lowered.h"
#include "ir/machine.h"
#include "ir/nest/nest.h"
#include "ir/program.h"
#include "ir/tape/tape.h"

#endif
