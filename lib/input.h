/* What a user names to be read: a file, a pipe, "-" for standard input. */
#ifndef LIB_INPUT_H
#define LIB_INPUT_H

#include <stddef.h>

#include "lib/buf.h"
#include "lib/status.h"

/* Appends what is there, at most `most` bytes: who has a limit asks for one more.
 * A pipe or a device that nothing comes from is an error, a second later; but what
 * somebody has open to write, and a terminal, is waited for. */
Status input_read(const char *path, size_t most, Buf *out, Error *error);

#endif
