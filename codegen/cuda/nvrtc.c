/* CUDA C through NVRTC, NVIDIA's run-time compiler, opened where it is found:
 * $TUNEC_NVRTC, the loader's path, $CUDA_HOME/lib64 and lib, and the wheels of
 * the virtual environment beside tunec.  Prototypes are our own.
 *
 * It opens its built-ins by a bare name, which the loader does not find beside a
 * library that it was given a path to: they are opened first, by theirs. */
#include <dlfcn.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cuda/cuda.h"
#include "lib/module.h"

typedef struct NvrtcProgram NvrtcProgram;

typedef struct {
	const char *path; /* that it was opened by */
	int (*version)(int *major, int *minor);
	int (*count_archs)(int *n);
	int (*archs)(int *numbers);
	int (*create)(NvrtcProgram **out, const char *source, const char *name,
	    int nheaders, const char *const *headers, const char *const *names);
	int (*compile)(NvrtcProgram *p, int n, const char *const *options);
	int (*log_size)(NvrtcProgram *p, size_t *size);
	int (*log)(NvrtcProgram *p, char *text);
	int (*ptx_size)(NvrtcProgram *p, size_t *size);
	int (*ptx)(NvrtcProgram *p, char *text);
	int (*destroy)(NvrtcProgram **p);
	const char *(*error)(int result);
} Nvrtc;

/* --- finding it ------------------------------------------------------------- */

/* Those that it has beside it, whatever their version. */
static void open_builtins(Arena *arena, const char *path)
{
	glob_t found;
	const char *slash = strrchr(path, '/');
	if (!slash)
		return;
	const char *pattern = arena_printf(arena,
	    "%.*s/libnvrtc-builtins.so.*", (int)(slash - path), path);
	if (glob(pattern, 0, NULL, &found))
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		if (!strstr(found.gl_pathv[i], ".alt."))
			dlopen(found.gl_pathv[i], RTLD_NOW | RTLD_GLOBAL);
	globfree(&found);
}

static void *open_path(Arena *arena, const char *path)
{
	open_builtins(arena, path);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_pattern(
    Arena *arena, const char *pattern, const char **path)
{
	glob_t found;
	void *library = NULL;
	if (glob(pattern, 0, NULL, &found))
		return NULL;
	for (size_t i = found.gl_pathc; i-- > 0 && !library;) {
		*path = arena_strdup(arena, found.gl_pathv[i]);
		library = open_path(arena, *path);
	}
	globfree(&found);
	return library;
}

static void *open_in_folders(Arena *arena, const char **path)
{
	char folder[PATH_MAX];
	void *library = NULL;
	const char *home = getenv("CUDA_HOME");
	for (int i = 0; i < 2 && home && *home && !library; i++)
		library = open_pattern(arena,
		    arena_printf(arena, "%s/%s/libnvrtc.so*", home,
			i ? "lib" : "lib64"),
		    path);
	module_folder(folder);
	if (!library)
		library = open_pattern(arena,
		    arena_printf(arena,
			"%svenv/lib/python*/site-packages/nvidia/*/lib/"
			"libnvrtc.so.*",
			folder),
		    path);
	return library;
}

static void *open_library(Arena *arena, const char **path)
{
	static const char *const names[] = {
	    "libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"};
	const char *named = getenv("TUNEC_NVRTC");
	void *library = NULL;
	if (named && *named) {
		*path = arena_strdup(arena, named);
		return open_path(arena, named);
	}
	for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++) {
		*path = names[i];
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	}
	return library ? library : open_in_folders(arena, path);
}

static bool take(void *library, const char *name, void *entry)
{
	void *symbol = dlsym(library, name);
	memcpy(entry, &symbol, sizeof symbol);
	return symbol != NULL;
}

static Status open_nvrtc(Arena *arena, Nvrtc *n, Error *error)
{
	void *library = open_library(arena, &n->path);
	const char *why = dlerror();
	if (!library)
		return error_set(error, STATUS_MISSING,
		    "NVRTC is missing: there is no libnvrtc.so on the loader's "
		    "path, nor in $CUDA_HOME/lib64; it comes with the CUDA "
		    "toolkit, or with `pip install nvidia-cuda-nvrtc`, and "
		    "TUNEC_NVRTC may name it%s%s",
		    getenv("TUNEC_NVRTC") && why ? ": " : "",
		    getenv("TUNEC_NVRTC") && why ? why : "");
	bool whole = take(library, "nvrtcVersion", &n->version) &&
	    take(library, "nvrtcGetNumSupportedArchs", &n->count_archs) &&
	    take(library, "nvrtcGetSupportedArchs", &n->archs) &&
	    take(library, "nvrtcCreateProgram", &n->create) &&
	    take(library, "nvrtcCompileProgram", &n->compile) &&
	    take(library, "nvrtcGetProgramLogSize", &n->log_size) &&
	    take(library, "nvrtcGetProgramLog", &n->log) &&
	    take(library, "nvrtcGetPTXSize", &n->ptx_size) &&
	    take(library, "nvrtcGetPTX", &n->ptx) &&
	    take(library, "nvrtcDestroyProgram", &n->destroy) &&
	    take(library, "nvrtcGetErrorString", &n->error);
	return whole ? STATUS_OK
		     : error_set(error, STATUS_MISSING,
			   "NVRTC: %s lacks what is needed of it", n->path);
}

Status nvrtc_find(Arena *arena, NvrtcFacts *facts, Error *error)
{
	Nvrtc n;
	*error = (Error){0};
	FORWARD_IF_ERROR(open_nvrtc(arena, &n, error));
	*facts = (NvrtcFacts){.path = n.path};
	n.version(&facts->major, &facts->minor);
	return STATUS_OK;
}

/* --- compiling -------------------------------------------------------------- */

/* "sm_90a" is "compute_90a". */
static Status check_arch(const Nvrtc *n, const char *arch, Error *error)
{
	int count = 0, numbers[64], number = atoi(arch + strlen("sm_"));
	n->count_archs(&count);
	if (count > (int)(sizeof numbers / sizeof *numbers))
		return STATUS_OK; /* it says itself what it lacks */
	n->archs(numbers);
	for (int i = 0; i < count; i++)
		if (numbers[i] == number)
			return STATUS_OK;
	return error_set(error, STATUS_UNSUPPORTED,
	    "NVRTC: %s knows no %s", n->path, arch);
}

/* The first line that says what is wrong. */
static Status refused(
    Arena *arena, const Nvrtc *n, NvrtcProgram *p, int result, Error *error)
{
	size_t size = 0;
	char *log = NULL;
	if (!n->log_size(p, &size) && size > 1) {
		log = arena_alloc(arena, size + 1);
		n->log(p, log);
		log[size] = 0;
		char *first = strstr(log, "error");
		log = first ? first : log;
	}
	return error_set(error, STATUS_INPUT, "NVRTC: %s%s%.*s",
	    n->error(result), log ? ": " : "",
	    log ? (int)strcspn(log, "\n") : 0, log ? log : "");
}

/* A product and a sum are made one only where the kernel says so. */
static Status compile_with(Arena *arena, const Nvrtc *n, const char *arch,
    const char *source, Buf *ptx, Error *error)
{
	NvrtcProgram *p = NULL;
	size_t size = 0;
	const char *const options[] = {
	    arena_printf(arena, "-arch=compute_%s", arch + strlen("sm_")),
	    "-fmad=false", "-modify-stack-limit=false"};
	int result = n->create(&p, source, "kernel.cu", 0, NULL, NULL);
	if (result)
		return error_set(error, STATUS_INPUT, "NVRTC: %s",
		    n->error(result));
	result = n->compile(p, sizeof options / sizeof *options, options);
	if (!result)
		result = n->ptx_size(p, &size);
	Status status = result || !size
	    ? refused(arena, n, p, result, error) : STATUS_OK;
	if (!status) {
		char *text = arena_alloc(arena, size);
		n->ptx(p, text);
		buf_add(ptx, text, size - 1);
	}
	n->destroy(&p);
	return status;
}

Status nvrtc_compile(
    const char *arch, const char *source, Buf *ptx, Error *error)
{
	static const char *const meddling[] = {
	    "NVRTC_APPEND_FLAGS", "NVRTC_DISABLE_PCH"};
	Arena *arena = arena_new();
	Nvrtc n;
	*error = (Error){0};
	for (size_t i = 0; i < sizeof meddling / sizeof *meddling; i++)
		unsetenv(meddling[i]);
	Status status = open_nvrtc(arena, &n, error);
	if (!status)
		status = check_arch(&n, arch, error);
	if (!status)
		status = compile_with(arena, &n, arch, source, ptx, error);
	arena_free(arena);
	return status;
}
