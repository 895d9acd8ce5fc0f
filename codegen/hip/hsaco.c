/* An object of LLVM's AMDGPU back end through lld: the shared object that HIP
 * loads, a .hsaco ("code object").  No other linker knows the architecture. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/hip/hip.h"
#include "lib/folder.h"
#include "lib/proc.h"

enum { LIMIT_S = 120 };

char *hsaco_linker(Arena *arena)
{
	static const char *const names[] = {"ld.lld-19", "ld.lld"};
	const char *rocm = getenv("ROCM_PATH");
	char *found = NULL;
	for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
		found = proc_find(arena, getenv("PATH"), names[i]);
	if (!found && rocm && *rocm)
		found = proc_find(arena,
		    arena_printf(arena, "%s/llvm/bin", rocm), "ld.lld");
	return found ? found
		     : proc_find(arena, "/opt/rocm/llvm/bin", "ld.lld");
}

/* The names are the same each time, so that none gets into the output. */
static Status run(const char *program, const char *folder, Error *error)
{
	int code = 0;
	Buf said = {0};
	const char *const argv[] = {program, "-shared", "--no-undefined", "-o",
	    "kernel.hsaco", "kernel.o", NULL};
	Status status = proc_run(argv, folder, LIMIT_S, &said, &code, error);
	if (!status && code) {
		const char *text = buf_text(&said);
		const char *wrong = strstr(text, "error: ");
		text = wrong ? wrong + strlen("error: ") : text;
		status = error_set(error, STATUS_INPUT, "%s: %.*s", program,
		    (int)strcspn(text, "\n"), text);
	}
	buf_free(&said);
	return status;
}

static Status run_in(Arena *arena, const char *program, const char *folder,
    const Buf *object, Buf *hsaco, Error *error)
{
	const char *from = arena_printf(arena, "%s/kernel.o", folder);
	const char *to = arena_printf(arena, "%s/kernel.hsaco", folder);
	Status status = folder_write(from, object->data, object->size)
	    ? run(program, folder, error)
	    : error_set(error, STATUS_IO, "cannot write %s: %s", from,
		  strerror(errno));
	if (!status && !folder_read(to, hsaco))
		status = error_set(error, STATUS_IO, "cannot read %s: %s", to,
		    strerror(errno));
	unlink(from);
	unlink(to);
	return status;
}

Status hsaco_link(
    Arena *arena, const Buf *object, Buf *hsaco, Error *error)
{
	const char *program = hsaco_linker(arena);
	char folder[FOLDER_PATH];
	if (!program)
		return error_set(error, STATUS_MISSING,
		    "ld.lld is missing: it is not on the path, nor in "
		    "$ROCM_PATH/llvm/bin or /opt/rocm/llvm/bin; it is in "
		    "Debian's package lld-19, and in ROCm");
	if (!folder_make(folder, sizeof folder, "tunec"))
		return error_set(error, STATUS_IO, "cannot make %s: %s", folder,
		    strerror(errno));
	Status status =
	    run_in(arena, program, folder, object, hsaco, error);
	rmdir(folder);
	return status;
}
