/* What is heavy or optional is a module beside the program, opened on first
 * use: linked in, LLVM would make every start twenty times slower. */
#ifndef LIB_MODULE_H
#define LIB_MODULE_H

#include <limits.h>

#include "lib/status.h"

typedef struct {
	const char *what;    /* "LLVM", in messages */
	const char *file;    /* "tunec-llvm.so" */
	const char *symbol;  /* an exported struct that begins with `int version` */
	int version;
	const char *needs, *package; /* "libLLVM", and the package that has it */
	const char *built_with;      /* the package that it is built with */
} ModuleName;

/* Looks beside the program, then in ../lib/tunec/ of an installed one;
 * TUNEC_MODULES names another folder.  The struct, or NULL and what is missing.
 * The dynamic loader keeps what is open, so that asking again is cheap and
 * nothing is kept here. */
const void *module_open(const ModuleName *name, Error *error);

/* The folder that holds the program, with a slash; "" if unknown. */
void module_folder(char folder[PATH_MAX]);

#endif
