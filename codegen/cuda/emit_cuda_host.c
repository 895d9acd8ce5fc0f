/* The C of the host beside a GPU's kernels: their PTX as text, and for each
 * operator a function of its name that launches them in order on a stream.
 *
 *     matmul_k0, matmul_k1   -->   static const char tunec_ptx[] = "..."
 *                                  int matmul(CUdeviceptr a, ..., stream)
 *                                    launch k0, launch k1
 *
 * Beside it the functions that pack const inputs, as the C emitter writes them.
 * The driver's entries are declared here, so that no header of CUDA's is needed.
 *
 * A library of the driver's belongs to no context: it is loaded once in a process,
 * and its kernels run in whichever context is current.  Modules would be loaded
 * for each context, under a lock, in a table that contexts which end leave
 * entries in.  The first call of a kernel keeps it in a static that is set
 * atomically; two that come at once load twice and one is dropped.
 *
 * A kernel whose launch gives it more shared memory than it could declare has to
 * be allowed that on each device: once, of which a bit is kept beside it. */
#include <string.h>

#include "codegen/c/emit_c.h"
#include "codegen/cuda/cuda.h"
#include "lib/escape.h"

static const char driver[] =
    "#include <stdatomic.h>\n\n"
    "/* The driver's entries, of CUDA 12 and later: -lcuda. */\n"
    "typedef unsigned long long CUdeviceptr;\n"
    "typedef struct CUstream_st *CUstream;\n"
    "int cuLibraryLoadData(void **library, const void *code, void *options,\n"
    "    void **values, unsigned n, void *library_options,\n"
    "    void **library_values, unsigned library_n);\n"
    "int cuLibraryUnload(void *library);\n"
    "int cuLibraryGetKernel(void **kernel, void *library, const char *name);\n"
    "int cuCtxGetDevice(int *device);\n"
    "int cuKernelSetAttribute(\n"
    "    int attribute, int value, void *kernel, int device);\n"
    "int cuLaunchKernel(void *kernel, unsigned grid_x, unsigned grid_y,\n"
    "    unsigned grid_z, unsigned block_x, unsigned block_y,\n"
    "    unsigned block_z, unsigned shared_bytes, CUstream stream,\n"
    "    void **arguments, void **extra);\n\n";

static const char launcher[] =
    "/* Loaded once, for all contexts. */\n"
    "static int tunec_load(void **library)\n{\n"
    "\tstatic void *_Atomic loaded;\n"
    "\tvoid *other = NULL;\n"
    "\t*library = atomic_load(&loaded);\n"
    "\tif (*library)\n"
    "\t\treturn 0;\n"
    "\tint result = cuLibraryLoadData(\n"
    "\t    library, tunec_ptx, NULL, NULL, 0, NULL, NULL, 0);\n"
    "\tif (!result && !atomic_compare_exchange_strong(\n"
    "\t\t\t   &loaded, &other, *library)) {\n"
    "\t\tcuLibraryUnload(*library);\n"
    "\t\t*library = other;\n"
    "\t}\n"
    "\treturn result;\n}\n\n"
    "typedef struct {\n"
    "\tvoid *_Atomic kernel;\n"
    "\tatomic_ullong allowed; /* by device: so much shared memory */\n"
    "} tunec_kept;\n\n"
    "/* More shared memory than a kernel can declare, once on each device. */\n"
    "static int tunec_allow(tunec_kept *kept, void *kernel, unsigned bytes)\n{\n"
    "\tenum { MAX_DYNAMIC_SHARED_SIZE_BYTES = 8, DEVICES = 64 };\n"
    "\tint device, result = cuCtxGetDevice(&device);\n"
    "\tif (result)\n"
    "\t\treturn result;\n"
    "\tunsigned long long bit = device < DEVICES ? 1ull << device : 0;\n"
    "\tif (atomic_load(&kept->allowed) & bit)\n"
    "\t\treturn 0;\n"
    "\tresult = cuKernelSetAttribute(\n"
    "\t    MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes, kernel, device);\n"
    "\tif (!result)\n"
    "\t\tatomic_fetch_or(&kept->allowed, bit);\n"
    "\treturn result;\n}\n\n"
    "/* size: the grid, the block, bytes of shared memory that the launch gives */\n"
    "static int tunec_launch(tunec_kept *kept, const char *name,\n"
    "    const unsigned size[7], CUstream stream, void **arguments)\n{\n"
    "\tvoid *library, *kernel = atomic_load(&kept->kernel);\n"
    "\tint result = 0;\n"
    "\tif (!kernel) {\n"
    "\t\tresult = tunec_load(&library);\n"
    "\t\tif (!result)\n"
    "\t\t\tresult = cuLibraryGetKernel(&kernel, library, name);\n"
    "\t\tif (result)\n"
    "\t\t\treturn result;\n"
    "\t\tatomic_store(&kept->kernel, kernel);\n"
    "\t}\n"
    "\tif (size[6])\n"
    "\t\tresult = tunec_allow(kept, kernel, size[6]);\n"
    "\tif (result)\n"
    "\t\treturn result;\n"
    "\treturn cuLaunchKernel(kernel, size[0], size[1], size[2], size[3],\n"
    "\t    size[4], size[5], size[6], stream, arguments, NULL);\n}\n\n";

static void put_launch(
    Buf *out, const LowLaunch *k, int i, const char *stream)
{
	buf_printf(out, "\tif (!tunec_result)\n"
		"\t\ttunec_result = tunec_launch(&tunec_kernels[%d],\n"
		"\t\t    \"%s\",\n"
		"\t\t    (const unsigned[]){%lld, %lld, %lld, %lld, %lld, "
		"%lld,\n\t\t\t%lld},\n\t\t    %s, tunec_arguments);\n",
	    i, k->function->name, (long long)k->grid[0], (long long)k->grid[1],
	    (long long)k->grid[2], (long long)k->block[0],
	    (long long)k->block[1], (long long)k->block[2],
	    (long long)k->dynamic_bytes, stream);
}

static void put_function(Arena *arena, Buf *out, const Lowered *l)
{
	const char **names = emit_header_names(arena, l->kernel);
	const char *stream = emit_header_stream(
	    arena, l->kernel, names, TARGET_CUDA);
	emit_header_launcher(out, l->kernel, names, stream, TARGET_CUDA);
	buf_printf(out, "\n{\n\tstatic tunec_kept tunec_kernels[%d];\n",
	    l->launches.n ? l->launches.n : 1);
	buf_puts(out, "\tvoid *tunec_arguments[] = {");
	for (int i = 0; i < l->kernel->params.n; i++)
		buf_printf(out, "%s&%s", i ? ", " : "", names[i]);
	buf_puts(out, "};\n\tint tunec_result = 0;\n");
	for (int i = 0; i < l->launches.n; i++)
		put_launch(out, &l->launches.at[i], i, stream);
	buf_puts(out, "\treturn tunec_result;\n}\n");
}

void emit_cuda_host(Buf *out, const Lowered *const *lowered, int n,
    const EmitComment *comments, const char *ptx, size_t size)
{
	Arena *arena = arena_new();
	emit_packs(out, lowered, n, comments);
	buf_puts(out, driver);
	buf_puts(out, "static const char tunec_ptx[] =\n");
	escape_c_lines(out, ptx, size);
	buf_puts(out, ";\n\n");
	buf_puts(out, launcher);
	for (int i = 0; i < n; i++) {
		buf_puts(out, i ? "\n" : "");
		put_function(arena, out, lowered[i]);
	}
	arena_free(arena);
}
