/* A new, empty folder in $TMPDIR, or /tmp. */
#ifndef LIB_FOLDER_H
#define LIB_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

enum { FOLDER_PATH = 4096 }; /* bytes that any path has room in */

/* "/tmp/WORD-x3Fk2a" in `path`; false: errno says why, and the path is that which
 * was tried, as far as there is room. */
bool folder_make(char *path, size_t size, const char *word);

#endif
