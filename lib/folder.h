/* A new, empty folder in $TMPDIR, or /tmp, and files in it. */
#ifndef LIB_FOLDER_H
#define LIB_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"

enum { FOLDER_PATH = 4096 }; /* bytes that any path has room in */

/* "/tmp/WORD-x3Fk2a" in `path`; false: errno says why, and the path is that which
 * was tried, as far as there is room. */
bool folder_make(char *path, size_t size, const char *word);

/* All of a file; false: errno says why, and there may be a part of it. */
bool folder_write(const char *path, const char *data, size_t size);
bool folder_read(const char *path, Buf *out); /* appended */

#endif
