#include "lib/folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

bool folder_make(char *path, size_t size, const char *word)
{
	const char *tmp = getenv("TMPDIR");
	int n = snprintf(path, size, "%s/%s-XXXXXX",
	    tmp && *tmp ? tmp : "/tmp", word);
	if (n < 0 || (size_t)n >= size) {
		errno = ENAMETOOLONG;
		return false;
	}
	return mkdtemp(path) != NULL;
}
