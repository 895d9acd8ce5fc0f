/* The header of one or more kernels: what the spec fixes, and the sizes. */
#include <string.h>
#include <strings.h>

#include "codegen/c/emit_c.h"
#include "lib/escape.h"

static const char *upper(Arena *arena, const char *text)
{
	EmitC e = {.arena = arena};
	return emit_c_upper(&e, text);
}

/* Where a name would not be one: macros and types of the headers that a caller
 * may have included, and the sizes of other kernels. */
static bool is_taken(const char *name)
{
	static const char *const types[] = {
		"CUdeviceptr", "CUstream", "cl_mem", "cl_command_queue"};
	static const char *const ends[] = {"_t", "_MAX", "_MIN", "_BYTES"};
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (!strcmp(name, types[i]))
			return true;
	if (name_is_macro(name) || !strncasecmp(name, "tunec_", 6))
		return true;
	size_t length = strlen(name);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		size_t n = strlen(ends[i]);
		if (length > n && !strcmp(name + length - n, ends[i]))
			return true;
	}
	return false;
}

static bool is_other_parameter(
    const LowFunction *f, const char *const *names, int at, const char *name)
{
	for (int i = 0; i < f->params.n; i++)
		if (i != at &&
		    !strcmp(i < at ? names[i] : f->params.at[i].name, name))
			return true;
	return false;
}

/* The spec's names; one that cannot stand gets underscores. */
const char **emit_header_names(Arena *arena, const LowFunction *f)
{
	const char **names = NEW_N(arena, const char *, f->params.n);
	for (int i = 0; i < f->params.n; i++) {
		const char *name = f->params.at[i].name;
		if (is_taken(name))
			name = arena_printf(arena, "%s_", name);
		while (is_other_parameter(f, names, i, name))
			name = arena_printf(arena, "%s_", name);
		names[i] = name;
	}
	return names;
}

static void put_shape(Buf *out, const Buffer *b)
{
	buf_printf(out, "%s%s[", b->is_const ? "const " : "",
	    dtype_name(b->type));
	for (int d = 0; d < b->ndim; d++)
		buf_printf(out, d ? ", %lld" : "%lld", (long long)b->shape[d]);
	buf_puts(out, "]");
}

static void put_arguments(Buf *out, const Program *p)
{
	buf_puts(out, "/* ");
	escape_comment(out, *p->doc ? p->doc : p->name);
	buf_putc(out, '\n');
	for (int i = 0; i < p->ninputs + p->noutputs; i++) {
		bool output = i >= p->ninputs;
		const Buffer *b =
		    &p->buffers[output ? p->outputs[i - p->ninputs] : i];
		buf_printf(out, " *     %s ", output ? "out" : "in ");
		escape_comment(out, b->name);
		buf_puts(out, ": ");
		put_shape(out, b);
		buf_putc(out, '\n');
	}
	buf_puts(out, " */\n");
}

/* What whoever launches a GPU's kernels, SYMBOL_k0 first, has to say of them. */
static void put_launches(
    Buf *out, const Lowered *l, const char *symbol, TargetKind kind)
{
	if (l->launches.n)
		buf_printf(out, "#define %s_KERNELS %d\n", symbol,
		    l->launches.n);
	for (int i = 0; i < l->launches.n; i++) {
		const LowLaunch *k = &l->launches.at[i];
		for (int d = 0; d < 3; d++)
			buf_printf(out, "#define %s_K%d_GRID_%c %lld\n",
			    symbol, i, "XYZ"[d], (long long)k->grid[d]);
		for (int d = 0; d < 3; d++)
			buf_printf(out, "#define %s_K%d_BLOCK_%c %lld\n",
			    symbol, i, "XYZ"[d], (long long)k->block[d]);
		buf_printf(out, "#define %s_K%d_SHARED_BYTES %lld\n", symbol,
		    i, (long long)k->shared_bytes);
		if (kind == TARGET_CUDA)
			buf_printf(out, "#define %s_K%d_DYNAMIC_BYTES %lld\n",
			    symbol, i, (long long)k->dynamic_bytes);
	}
}

const char *emit_header_stream(Arena *arena, const LowFunction *f,
    const char *const *names, TargetKind kind)
{
	const char *name = kind == TARGET_CUDA ? "stream" : "queue";
	for (int i = 0; i < f->params.n; i++)
		if (!strcmp(names[i], name)) {
			name = arena_printf(arena, "%s_", name);
			i = -1;
		}
	return name;
}

void emit_header_launcher(Buf *out, const LowFunction *f,
    const char *const *names, const char *stream, TargetKind kind)
{
	bool cuda = kind == TARGET_CUDA;
	buf_printf(out, "int %s(", f->name);
	for (int i = 0; i < f->params.n; i++)
		buf_printf(
		    out, "%s %s, ", cuda ? "CUdeviceptr" : "cl_mem", names[i]);
	buf_printf(
	    out, "%s %s)", cuda ? "CUstream" : "cl_command_queue", stream);
}

static void put_kernel(
    Arena *arena, Buf *out, const Lowered *l, const Target *target)
{
	const char *symbol = upper(arena, l->kernel->name);
	const char **names = emit_header_names(arena, l->kernel);
	if (l->program->buffers) {
		put_arguments(out, l->program);
	}
	TargetKind kind = target->kind;
	if (kind == TARGET_CUDA || kind == TARGET_OPENCL)
		emit_header_launcher(out, l->kernel, names,
		    emit_header_stream(arena, l->kernel, names, kind), kind);
	else if (kind != TARGET_HIP)
		emit_c_signature(out, l->kernel, names);
	buf_puts(out, kind == TARGET_HIP ? "" : ";\n");
	for (int i = 0; i < l->packs.n; i++) {
		const LowFunction *pack = l->packs.at[i];
		emit_c_signature(out, pack, emit_header_names(arena, pack));
		buf_puts(out, ";\n");
	}
	for (int i = 0; i < l->packs.n; i++)
		buf_printf(out, "#define %s_PACKED_%s_BYTES %lld\n", symbol,
		    upper(arena,
			l->program->buffers[l->packs.at[i]->pack_input].name),
		    (long long)l->packed_bytes[i]);
	buf_printf(out, "#define %s_WORKSPACE_BYTES %lld\n", symbol,
	    (long long)l->workspace_bytes);
	put_launches(out, l, symbol, kind);
	buf_putc(out, '\n');
}

static const char *guard_name(
    Arena *arena, const Lowered *const *lowered, int n)
{
	const char *first = upper(arena, lowered[0]->kernel->name);
	if (n == 1)
		return arena_printf(arena, "TUNEC_%s_H", first);
	const char *last = upper(arena, lowered[n - 1]->kernel->name);
	return arena_printf(arena, "TUNEC_%s_TO_%s_%d_H", first, last, n);
}

/* As <cuda.h> has them, which may be included as well. */
static const char cuda_types[] =
    "typedef unsigned long long CUdeviceptr;\n"
    "typedef struct CUstream_st *CUstream;\n\n"
    "/* A kernel's function is in the .c that is built for it: it launches\n"
    " * on a stream of the current context, without waiting, and returns a\n"
    " * CUresult, 0 for success.  Pointers are to the device's memory.\n"
    " *\n"
    " * Who launches SYMBOL_k0 and what follows it without that function gives\n"
    " * each its DYNAMIC_BYTES of shared memory.  Where they are not 0 the kernel\n"
    " * has to be allowed them before, once on each device:\n"
    " * CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES. */\n\n";

/* As <CL/cl.h> has them. */
static const char opencl_types[] =
    "typedef struct _cl_mem *cl_mem;\n"
    "typedef struct _cl_command_queue *cl_command_queue;\n\n"
    "/* A kernel's function is in the .c that is built for it: it launches\n"
    " * on a queue, without waiting, and returns 0 or OpenCL's error.  The\n"
    " * first call for a context and a device builds the program. */\n\n";

static const char hip_kernels[] =
    "/* The kernels are in the .hsaco: SYMBOL_k0, SYMBOL_k1 and so on, launched\n"
    " * in order by hipModuleLaunchKernel with the sizes below.  Each takes all\n"
    " * inputs, outputs and a workspace, in this order: pointers to the\n"
    " * device's memory. */\n\n";

void emit_header_all(Buf *out, const Lowered *const *lowered, int n,
    const Target *target, const EmitComment *comments)
{
	Arena *arena = arena_new();
	const char *guard = guard_name(arena, lowered, n);
	emit_comment(out, lowered, n, comments);
	buf_printf(out,
	    "#ifndef %s\n#define %s\n\n#include <stdint.h>\n\n"
	    "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
	    "/* Inputs and outputs need their element's alignment and do not\n"
	    " * overlap; workspace and packed buffers are aligned to 64 bytes. "
	    "*/\n\n",
	    guard, guard);
	if (target->kind == TARGET_CUDA)
		buf_puts(out, cuda_types);
	if (target->kind == TARGET_HIP)
		buf_puts(out, hip_kernels);
	if (target->kind == TARGET_OPENCL)
		buf_puts(out, opencl_types);
	for (int i = 0; i < n; i++)
		put_kernel(arena, out, lowered[i], target);
	buf_puts(out, "#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
	arena_free(arena);
}

void emit_header(Buf *out, const Lowered *lowered, const Target *target,
    const EmitComment *comment)
{
	emit_header_all(out, &lowered, 1, target, comment);
}
