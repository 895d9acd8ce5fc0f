/* Programs: where one is, and one run to its end, with what it said. */
#ifndef LIB_PROC_H
#define LIB_PROC_H

#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/status.h"

/* argv[0] is looked for on the path where it has no slash; `folder` is where it
 * runs.  It reads nothing; both of its outputs are appended to `said`.
 * STATUS_MISSING: it cannot be started; STATUS_CRASH: it was ended by a signal,
 * STATUS_TIMEOUT: by us, after so many seconds.  *code: what it exited with. */
Status proc_run(const char *const *argv, const char *folder, double limit_s,
    Buf *said, int *code, Error *error);

/* A program in one of the folders "a:b:c", the first that has it.  NULL: none;
 * `folders` may be NULL. */
char *proc_find(Arena *arena, const char *folders, const char *name);

#endif
