/* Where NVIDIA's programs are. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/cuda/cuda.h"
#include "lib/module.h"

static char *in_folder(
    Arena *arena, const char *folder, size_t n, const char *name)
{
	char *path = arena_printf(arena, "%.*s/%s", (int)n, folder, name);
	return *folder && n && !access(path, X_OK) ? path : NULL;
}

static char *on_path(Arena *arena, const char *name)
{
	const char *path = getenv("PATH");
	char *found = NULL;
	while (path && *path && !found) {
		size_t n = strcspn(path, ":");
		found = in_folder(arena, path, n, name);
		path += n + (path[n] == ':');
	}
	return found;
}

char *toolkit_program(Arena *arena, const char *name)
{
	char folder[PATH_MAX];
	char *found = on_path(arena, name);
	const char *home = getenv("CUDA_HOME");
	if (!found && home && *home) {
		home = arena_printf(arena, "%s/bin", home);
		found = in_folder(arena, home, strlen(home), name);
	}
	if (!found) {
		module_folder(folder);
		home = arena_printf(arena, "%svenv/bin", folder);
		found = in_folder(arena, home, strlen(home), name);
	}
	return found;
}
