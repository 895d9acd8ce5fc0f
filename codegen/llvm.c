/* Opens tunec-llvm.so on first use: a program linked with LLVM would start
 * twenty times slower.  The dynamic loader keeps what is open, so that asking
 * again is cheap and nothing is kept here. */
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/codegen.h"

#define FILE_NAME "tunec-llvm.so"

static const LlvmModule *open_file(const char *path, Error *error)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		const char *why = dlerror();
		bool no_llvm = why && strstr(why, "libLLVM");
		error_set(error, STATUS_MISSING, "LLVM cannot be used: %s%s",
		    why ? why : path,
		    no_llvm ? " (install the package libllvm19)" : "");
		return NULL;
	}
	const LlvmModule *module = dlsym(library, "tunec_llvm");
	if (!module || module->version != LLVM_MODULE_VERSION) {
		error_set(error, STATUS_MISSING,
		    "%s is of another version of tunec", path);
		return NULL;
	}
	return module;
}

/* The folder that holds the program, with a slash; "" if unknown. */
static void program_folder(char folder[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	while (n > 0 && folder[n - 1] != '/')
		n--;
	folder[n > 0 ? n : 0] = 0;
}

const LlvmModule *llvm_module(Error *error)
{
	char folder[PATH_MAX], paths[2][2 * PATH_MAX];
	const char *named = getenv("TUNEC_MODULES");
	int n = 0;
	if (named && *named) {
		snprintf(paths[n++], sizeof *paths, "%s/" FILE_NAME, named);
	} else {
		program_folder(folder);
		snprintf(paths[n++], sizeof *paths, "%s" FILE_NAME, folder);
		snprintf(paths[n++], sizeof *paths, "%s../lib/tunec/" FILE_NAME,
		    folder);
	}
	for (int i = 0; i < n; i++)
		if (!access(paths[i], F_OK))
			return open_file(paths[i], error);
	error_set(error, STATUS_MISSING,
	    "LLVM cannot be used: there is no %s%s%s; it is built where "
	    "llvm-19-dev is installed, and TUNEC_MODULES may name its folder",
	    paths[0], n > 1 ? " and no " : "", n > 1 ? paths[1] : "");
	return NULL;
}
