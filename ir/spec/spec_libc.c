/* Names that an operator cannot have, for its function would take the place of
 * the C library's. */
#include <stdlib.h>
#include <string.h>

#include "ir/spec/spec.h"

static const char *const names[] = {
#include "ir/spec/libc_names.def"
};

static int compare(const void *key, const void *item)
{
	return strcmp(key, *(const char *const *)item);
}

bool name_in_libc(const char *text)
{
	return bsearch(text, names, sizeof names / sizeof names[0],
		   sizeof names[0], compare) != NULL;
}
