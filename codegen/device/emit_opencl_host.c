/* The C of the host beside OpenCL kernels: their source as text, and for each
 * operator a function of its name that launches them in order on a queue.
 *
 *     matmul_k0, matmul_k1   -->   static const char *tunec_source = "..."
 *                                  int matmul(cl_mem a, ..., queue)
 *                                    launch k0, launch k1
 *
 * Beside it the functions that pack const inputs, as the C emitter writes them.
 * OpenCL's entries are declared here, so that none of its headers is needed.
 *
 * A program belongs to a context and a device: the first call for these builds it,
 * and it stays in a list that only grows, its context with it, so that a context
 * which ends cannot be taken for a later one.  A kernel's arguments are its own
 * state: each call makes kernels of its own, and threads may call at once. */
#include <string.h>

#include "codegen/c/emit_c.h"
#include "codegen/device/emit_device.h"
#include "lib/escape.h"

static const char entries[] =
    "#include <stdatomic.h>\n#include <stdlib.h>\n\n"
    "/* OpenCL's entries: -lOpenCL. */\n"
    "typedef struct _cl_mem *cl_mem;\n"
    "typedef struct _cl_command_queue *cl_command_queue;\n"
    "int clGetCommandQueueInfo(\n"
    "    cl_command_queue queue, unsigned what, size_t size, void *value,\n"
    "    size_t *real);\n"
    "int clRetainContext(void *context);\n"
    "void *clCreateProgramWithSource(void *context, unsigned n,\n"
    "    const char **texts, const size_t *sizes, int *result);\n"
    "int clBuildProgram(void *program, unsigned n, void *const *devices,\n"
    "    const char *options, void *notify, void *data);\n"
    "int clReleaseProgram(void *program);\n"
    "void *clCreateKernel(void *program, const char *name, int *result);\n"
    "int clReleaseKernel(void *kernel);\n"
    "int clSetKernelArg(\n"
    "    void *kernel, unsigned i, size_t size, const void *value);\n"
    "int clEnqueueNDRangeKernel(cl_command_queue queue, void *kernel,\n"
    "    unsigned directions, const size_t *first, const size_t *threads,\n"
    "    const size_t *group, unsigned nafter, void *const *after,\n"
    "    void **event);\n"
    "int clReleaseEvent(void *event);\n\n";

static const char launcher[] =
    "typedef struct Tunec Tunec;\n"
    "struct Tunec {\n"
    "\tvoid *context, *device, *program;\n"
    "\tTunec *next;\n"
    "};\n\n"
    "static int tunec_build(Tunec *t)\n{\n"
    "\tint result = 0;\n"
    "\tconst char *text = tunec_source;\n"
    "\tt->program = clCreateProgramWithSource(\n"
    "\t    t->context, 1, &text, NULL, &result);\n"
    "\tif (result)\n"
    "\t\treturn result;\n"
    "\tresult = clBuildProgram(\n"
    "\t    t->program, 1, &t->device, \"-cl-std=CL1.2\", NULL, NULL);\n"
    "\tif (!result)\n"
    "\t\tresult = clRetainContext(t->context);\n"
    "\tif (result)\n"
    "\t\tclReleaseProgram(t->program);\n"
    "\treturn result;\n}\n\n"
    "/* Built once for a context and a device. */\n"
    "static int tunec_program(cl_command_queue queue, void **program)\n{\n"
    "\tenum { CONTEXT = 0x1090, DEVICE = 0x1091, OUT_OF_MEMORY = -6 };\n"
    "\tstatic Tunec *_Atomic all;\n"
    "\tTunec t = {0}, *first = atomic_load(&all);\n"
    "\tint result = clGetCommandQueueInfo(\n"
    "\t    queue, CONTEXT, sizeof t.context, &t.context, NULL);\n"
    "\tif (!result)\n"
    "\t\tresult = clGetCommandQueueInfo(\n"
    "\t\t    queue, DEVICE, sizeof t.device, &t.device, NULL);\n"
    "\tif (result)\n"
    "\t\treturn result;\n"
    "\tfor (Tunec *k = first; k; k = k->next)\n"
    "\t\tif (k->context == t.context && k->device == t.device) {\n"
    "\t\t\t*program = k->program;\n"
    "\t\t\treturn 0;\n"
    "\t\t}\n"
    "\tTunec *kept = malloc(sizeof *kept);\n"
    "\tresult = kept ? tunec_build(&t) : OUT_OF_MEMORY;\n"
    "\tif (result) {\n"
    "\t\tfree(kept);\n"
    "\t\treturn result;\n"
    "\t}\n"
    "\t*kept = t;\n"
    "\tdo\n"
    "\t\tkept->next = first;\n"
    "\twhile (!atomic_compare_exchange_weak(&all, &first, kept));\n"
    "\t*program = kept->program;\n"
    "\treturn 0;\n}\n\n"
    "/* After the launch before it, whose event it takes and gives its own. */\n"
    "static int tunec_launch(cl_command_queue queue, void *program,\n"
    "    const char *name, const size_t size[6], unsigned n,\n"
    "    const cl_mem *arguments, void **event)\n{\n"
    "\tint result = 0;\n"
    "\tvoid *before = *event;\n"
    "\tvoid *kernel = clCreateKernel(program, name, &result);\n"
    "\tif (result)\n"
    "\t\treturn result;\n"
    "\tfor (unsigned i = 0; i < n && !result; i++)\n"
    "\t\tresult = clSetKernelArg(\n"
    "\t\t    kernel, i, sizeof *arguments, &arguments[i]);\n"
    "\tif (!result)\n"
    "\t\tresult = clEnqueueNDRangeKernel(queue, kernel, 3, NULL, size,\n"
    "\t\t    size + 3, before ? 1 : 0, before ? &before : NULL, event);\n"
    "\tif (!result && before)\n"
    "\t\tclReleaseEvent(before);\n"
    "\tclReleaseKernel(kernel);\n"
    "\treturn result;\n}\n\n";

static void put_launch(
    Buf *out, const LowLaunch *k, int nparams, const char *queue)
{
	buf_printf(out,
	    "\tif (!tunec_result)\n"
	    "\t\ttunec_result = tunec_launch(%s, tunec_built,\n"
	    "\t\t    \"%s\",\n\t\t    (const size_t[]){",
	    queue, k->function->name);
	for (int d = 0; d < 3; d++)
		buf_printf(
		    out, "%lld, ", (long long)(k->grid[d] * k->block[d]));
	buf_printf(out, "%lld, %lld, %lld},\n"
		"\t\t    %d, tunec_arguments, &tunec_event);\n",
	    (long long)k->block[0], (long long)k->block[1],
	    (long long)k->block[2], nparams);
}

static void put_function(Arena *arena, Buf *out, const Lowered *l)
{
	const LowFunction *f = l->kernel;
	const char **names = emit_header_names(arena, f);
	const char *queue = emit_header_stream(arena, f, names, TARGET_OPENCL);
	emit_header_launcher(out, f, names, queue, TARGET_OPENCL);
	buf_puts(out, "\n{\n\tvoid *tunec_built, *tunec_event = NULL;\n"
		      "\tconst cl_mem tunec_arguments[] = {");
	for (int i = 0; i < f->params.n; i++)
		buf_printf(out, "%s%s", i ? ", " : "", names[i]);
	buf_printf(out,
	    "};\n\tint tunec_result = tunec_program(%s, &tunec_built);\n",
	    queue);
	for (int i = 0; i < l->launches.n; i++)
		put_launch(out, &l->launches.at[i], f->params.n, queue);
	buf_puts(out, "\tif (tunec_event)\n\t\tclReleaseEvent(tunec_event);\n"
		      "\treturn tunec_result;\n}\n");
}

void emit_opencl_host(Buf *out, const Lowered *const *lowered, int n,
    const Target *target, const EmitComment *comments)
{
	Arena *arena = arena_new();
	Buf source = {0};
	emit_packs(out, lowered, n, comments);
	buf_puts(out, entries);
	emit_device(&source, lowered, n, target, comments);
	buf_puts(out, "static const char tunec_source[] =\n");
	escape_c_lines(out, buf_text(&source), source.size);
	buf_puts(out, ";\n\n");
	buf_puts(out, launcher);
	for (int i = 0; i < n; i++) {
		buf_puts(out, i ? "\n" : "");
		put_function(arena, out, lowered[i]);
	}
	buf_free(&source);
	arena_free(arena);
}
