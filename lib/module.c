#include "lib/module.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const void *open_file(
    const ModuleName *name, const char *path, Error *error)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		const char *why = dlerror();
		bool absent = why && strstr(why, name->needs);
		error_set(error, STATUS_MISSING, "%s cannot be used: %s%s%s%s",
		    name->what, why ? why : path,
		    absent ? " (install the package " : "",
		    absent ? name->package : "", absent ? ")" : "");
		return NULL;
	}
	const int *version = dlsym(library, name->symbol);
	if (!version || *version != name->version) {
		error_set(error, STATUS_MISSING,
		    "%s is of another version of tunec", path);
		return NULL;
	}
	return version;
}

void module_folder(char folder[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", folder, PATH_MAX - 1);
	while (n > 0 && folder[n - 1] != '/')
		n--;
	folder[n > 0 ? n : 0] = 0;
}

const void *module_open(const ModuleName *name, Error *error)
{
	char folder[PATH_MAX], paths[2][2 * PATH_MAX];
	const char *named = getenv("TUNEC_MODULES");
	int n = 0;
	if (named && *named) {
		snprintf(paths[n++], sizeof *paths, "%s/%s", named, name->file);
	} else {
		module_folder(folder);
		snprintf(paths[n++], sizeof *paths, "%s%s", folder, name->file);
		snprintf(paths[n++], sizeof *paths, "%s../lib/tunec/%s", folder,
		    name->file);
	}
	for (int i = 0; i < n; i++)
		if (!access(paths[i], F_OK))
			return open_file(name, paths[i], error);
	error_set(error, STATUS_MISSING,
	    "%s cannot be used: there is no %s%s%s; it is built where "
	    "%s is installed, and TUNEC_MODULES may name its folder",
	    name->what, paths[0], n > 1 ? " and no " : "", n > 1 ? paths[1] : "",
	    name->built_with);
	return NULL;
}
