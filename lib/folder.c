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

bool folder_write(const char *path, const char *data, size_t size)
{
	FILE *file = fopen(path, "wb");
	bool ok = file && fwrite(data, 1, size, file) == size;
	if (file && fclose(file))
		ok = false;
	return ok;
}

bool folder_read(const char *path, Buf *out)
{
	char piece[65536];
	size_t n;
	FILE *file = fopen(path, "rb");
	while (file && (n = fread(piece, 1, sizeof piece, file)) > 0)
		buf_add(out, piece, n);
	bool ok = file && !ferror(file);
	if (file)
		fclose(file);
	return ok;
}
