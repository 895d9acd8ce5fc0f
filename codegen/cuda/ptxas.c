/* PTX through ptxas, NVIDIA's assembler: a cubin, and what it says of each
 * kernel:
 *
 *     ptxas info    : Compiling entry function 'k' for 'sm_90'
 *         0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
 *     ptxas info    : Used 14 registers, used 1 barriers, 1024 bytes smem */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/cuda/cuda.h"
#include "lib/folder.h"
#include "lib/proc.h"

enum { LIMIT_S = 120 };

/* --- what it says ----------------------------------------------------------- */

/* The number before a word in a line; 0 where the word is not there. */
static int64_t number_before(const char *line, size_t n, const char *word)
{
	const char *at = memmem(line, n, word, strlen(word));
	if (!at)
		return 0;
	while (at > line && at[-1] == ' ')
		at--;
	while (at > line && at[-1] >= '0' && at[-1] <= '9')
		at--;
	return strtoll(at, NULL, 10);
}

static void read_line(
    Arena *arena, const char *line, size_t n, CudaUseVec *uses)
{
	static const char begins[] = "Compiling entry function '";
	const char *at = memmem(line, n, begins, sizeof begins - 1);
	if (at) {
		at += sizeof begins - 1;
		vec_push(arena, uses,
		    (CudaUse){.kernel = arena_strndup(
				  arena, at, strcspn(at, "'"))});
	}
	if (!uses->n)
		return;
	CudaUse *use = &uses->at[uses->n - 1];
	if (memmem(line, n, "bytes stack frame", 17)) {
		use->stack_bytes = number_before(line, n, "bytes stack frame");
		use->spill_stores =
		    number_before(line, n, "bytes spill stores");
		use->spill_loads = number_before(line, n, "bytes spill loads");
	}
	if (memmem(line, n, "Used ", 5)) {
		use->registers = (int)number_before(line, n, "registers");
		use->shared_bytes = number_before(line, n, "bytes smem");
	}
}

void ptxas_read(Arena *arena, const char *said, CudaUseVec *uses)
{
	while (*said) {
		size_t n = strcspn(said, "\n");
		read_line(arena, said, n, uses);
		said += n + (said[n] == '\n');
	}
}

/* --- running it ------------------------------------------------------------- */

/* The names are the same each time, so that none gets into the cubin. */
static Status assemble(const char *program, const char *arch,
    const char *folder, Buf *said, Error *error)
{
	int code = 0;
	Arena *arena = arena_new();
	const char *const argv[] = {program, "-v",
	    arena_printf(arena, "-arch=%s", arch), "-o", "kernel.cubin",
	    "kernel.ptx", NULL};
	Status status = proc_run(argv, folder, LIMIT_S, said, &code, error);
	arena_free(arena);
	if (!status && code) {
		const char *text = buf_text(said);
		const char *fatal = strstr(text, "error");
		text = fatal ? fatal : text;
		return error_set(error, STATUS_INPUT, "ptxas: %.*s",
		    (int)strcspn(text, "\n"), text);
	}
	return status;
}

static Status run_in(Arena *arena, const char *program, const char *folder,
    const char *arch, const char *ptx, size_t size, Buf *cubin,
    CudaUseVec *uses, Error *error)
{
	Buf said = {0};
	const char *from = arena_printf(arena, "%s/kernel.ptx", folder);
	const char *to = arena_printf(arena, "%s/kernel.cubin", folder);
	Status status = folder_write(from, ptx, size) ? STATUS_OK
	    : error_set(error, STATUS_IO, "cannot write %s: %s", from,
		  strerror(errno));
	if (!status)
		status = assemble(program, arch, folder, &said, error);
	if (!status && cubin && !folder_read(to, cubin))
		status = error_set(error, STATUS_IO, "cannot read %s", to);
	if (!status && uses)
		ptxas_read(arena, buf_text(&said), uses);
	unlink(from);
	unlink(to);
	buf_free(&said);
	return status;
}

Status ptxas_run(Arena *arena, const char *arch, const char *ptx, size_t size,
    Buf *cubin, CudaUseVec *uses, Error *error)
{
	const char *program = toolkit_program(arena, "ptxas");
	char folder[FOLDER_PATH];
	if (!program)
		return error_set(error, STATUS_MISSING,
		    "ptxas is missing: it is not on the path, nor in "
		    "$CUDA_HOME/bin; it comes with the CUDA toolkit, or with "
		    "`pip install nvidia-cuda-nvcc`");
	if (!folder_make(folder, sizeof folder, "tunec"))
		return error_set(error, STATUS_IO, "cannot make %s: %s", folder,
		    strerror(errno));
	Status status = run_in(
	    arena, program, folder, arch, ptx, size, cubin, uses, error);
	rmdir(folder);
	return status;
}

const CudaUse *cuda_use_of(const CudaUseVec *uses, const char *kernel)
{
	for (int i = 0; i < uses->n; i++)
		if (!strcmp(uses->at[i].kernel, kernel))
			return &uses->at[i];
	return NULL;
}
