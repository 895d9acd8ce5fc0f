/* What a target `hip` needs beside LLVM, which makes the code: a linker, for a GPU
 * loads what is linked.
 *
 *     hsaco.c   an object -> a .hsaco */
#ifndef CODEGEN_HIP_H
#define CODEGEN_HIP_H

#include "codegen/codegen.h"

/* hsaco.c: lld, on the path or in ROCm's folder.  NULL: nowhere. */
char *hsaco_linker(Arena *arena);
/* Appends the object, linked.  STATUS_MISSING: there is no lld; STATUS_INPUT: it
 * refuses, and says why. */
Status hsaco_link(
    Arena *arena, const Buf *object, Buf *hsaco, Error *error);

#endif
