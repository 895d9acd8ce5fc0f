/* Where NVIDIA's programs are. */
#include <stdlib.h>

#include "codegen/cuda/cuda.h"
#include "lib/module.h"
#include "lib/proc.h"

char *toolkit_program(Arena *arena, const char *name)
{
	char folder[PATH_MAX];
	char *found = proc_find(arena, getenv("PATH"), name);
	const char *home = getenv("CUDA_HOME");
	if (!found && home && *home)
		found = proc_find(
		    arena, arena_printf(arena, "%s/bin", home), name);
	if (!found) {
		module_folder(folder);
		found = proc_find(
		    arena, arena_printf(arena, "%svenv/bin", folder), name);
	}
	return found;
}
