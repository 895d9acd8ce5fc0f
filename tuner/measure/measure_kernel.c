/* A trace to a kernel that can be called, between guard pages or where it is
 * timed.
 *
 * A check runs the kernel between guard pages: each buffer ends where a page
 * without access begins, outputs and workspace are poisoned before, inputs are
 * compared afterwards.  Timing uses buffers aligned to 64 bytes.  All of them are
 * written whole, so their pages are had at once, in half of the time. */
#include "tuner/measure/measure_kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/hash.h"

enum { ALIGN = 64, POISON = 0xff, LARGE = 128 << 10 };

/* --- memory -------------------------------------------------------------- */

/* `size` bytes that end (rounded up to `align`) at a page without access, with
 * another such page in front. */
static void *guarded(size_t size, size_t align)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t rounded = (size + align - 1) / align * align;
	size_t inner = (rounded + page - 1) / page * page;
	char *map = mmap(NULL, inner + 2 * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	if (mprotect(map, page, PROT_NONE) ||
	    mprotect(map + page + inner, page, PROT_NONE))
		return NULL;
	return map + page + inner - rounded;
}

/* Large ones as far into a page in each process, as malloc has them. */
static void *aligned(size_t size)
{
	size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
	if (rounded < LARGE)
		return aligned_alloc(ALIGN, rounded ? rounded : ALIGN);
	char *map = mmap(NULL, rounded + ALIGN, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	return map == MAP_FAILED ? NULL : map + ALIGN;
}

/* --- calls ----------------------------------------------------------------- */

void measure_call(void *function, void **a, int n)
{
	Error error;
	switch (n) {
#define CALL(n)                                                                \
	case n: {                                                              \
		void (*f)(V##n);                                               \
		memcpy(&f, &function, sizeof f);                               \
		f(A##n);                                                       \
		break;                                                         \
	}
#include "tuner/call.def"
#undef CALL
	default: /* it was loaded by that module */
		llvm_module(&error)->call(function, a, n);
	}
}

void kernel_call(void *context)
{
	Loaded *k = context;
	if (kernel_on_device(k))
		device_call(k);
	else
		measure_call(k->function, k->args, k->nargs);
}

/* Seconds of a call. */
static double timed_call(Loaded *k)
{
	double start = measure_now();
	kernel_call(k);
	return kernel_on_device(k) ? k->call_s : measure_now() - start;
}

/* --- compiling ------------------------------------------------------------- */

void kernel_tell(const char *what, size_t wanted, Measurement *m)
{
	snprintf(m->error, sizeof m->error, "%.*s",
	    (int)sizeof m->error - 1, what);
	m->trouble = trouble_of_text(what);
	if (m->trouble == TROUBLE_DOUBTFUL && trouble_own_limit(wanted))
		m->trouble = TROUBLE_NONE;
}

static void tell_errno(const char *what, size_t wanted, Measurement *m)
{
	char text[256];
	snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
	m->outcome = OUTCOME_CRASH;
	kernel_tell(text, wanted, m);
}

/* The lowered form to an object, and its hash. */
bool kernel_compile_lowered(Loaded *k, Measurement *m)
{
	const Target *t = k->context->target;
	const Lowered *lowered = k->lowered;
	Error error = {0};
	if (kernel_on_device(k))
		return device_compile(k, m);
	const LlvmModule *llvm = llvm_module(&error);
	if (!llvm ||
	    llvm->compile(&lowered, 1, t->triple, t->cpu, t->attrs,
		LLVM_OBJECT, &k->object, &error)) {
		kernel_tell(error.text, 0, m);
		return false;
	}
	sha256_hex(k->object.data, k->object.size, m->object);
	return true;
}

bool kernel_lower(Loaded *k, Arena *arena, const json_t *json, int threads,
    Measurement *m)
{
	const Program *program = k->context->program;
	Machine machine = k->context->target->machine;
	Error error = {0};
	machine.threads = threads;
	m->outcome = OUTCOME_BUILD;
	Trace *trace = json ? trace_stored(arena, program, json, &error) : NULL;
	Nest *nest = json && !trace
	    ? NULL : schedule_nest(arena, program, &machine, trace, &error);
	k->lowered = !nest ? NULL
	    : k->most_operations
		? lower_up_to(arena, nest, &machine, k->most_operations,
		      &k->larger, &error)
		: lower(arena, nest, &machine, &error);
	if (!k->lowered)
		kernel_tell(error.text, 0, m);
	return k->lowered != NULL;
}

bool kernel_compile(Loaded *k, Arena *arena, const json_t *json, int threads,
    Measurement *m)
{
	return kernel_lower(k, arena, json, threads, m) &&
	    kernel_compile_lowered(k, m);
}

/* A kernel without threads needs none. */
static bool open_openmp(Measurement *m)
{
	if (dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL))
		return true;
	kernel_tell(dlerror(), 0, m);
	if (m->trouble)
		return false;
	m->error[0] = 0;
	return true;
}

static void *zeros(size_t n, size_t size)
{
	return memset(must_alloc(n * size), 0, n * size);
}

/* For arguments that are not there yet. */
static void make_room(Loaded *k)
{
	size_t n = k->nargs = k->lowered->kernel->params.n;
	k->args = zeros(n, sizeof *k->args);
	k->sources = zeros(n, sizeof *k->sources);
	k->buffers = zeros(n, sizeof *k->buffers);
	k->packs = zeros(n + 1, sizeof *k->packs);
}

bool kernel_load(Loaded *k, Measurement *m)
{
	Error error = {0};
	int n = 0;
	make_room(k);
	if (kernel_on_device(k))
		return device_load(k, m);
	const LlvmModule *llvm = llvm_module(&error);
	if (!open_openmp(m))
		return false;
	const char **names =
	    zeros((size_t)k->lowered->packs.n + 1, sizeof *names);
	for (int i = 0; i < k->lowered->packs.n; i++)
		names[n++] = k->lowered->packs.at[i]->name;
	names[n++] = k->lowered->kernel->name;
	if (!llvm ||
	    llvm->load(k->object.data, k->object.size, names, n, k->packs,
		&error)) {
		kernel_tell(error.text, 0, m);
		return false;
	}
	k->function = k->packs[n - 1];
	return true;
}

/* --- buffers ---------------------------------------------------------------- */

/* A buffer where `have` is none yet. */
static void *take(Loaded *k, void *have, size_t size, size_t align)
{
	k->wanted = size;
	if (have)
		return have;
	if (kernel_on_device(k))
		return aligned_alloc(ALIGN, (size + ALIGN) / ALIGN * ALIGN);
	return k->guarded ? guarded(size, align) : aligned(size);
}

static bool fill_input(Loaded *k, int i, int set)
{
	const Program *p = k->context->program;
	const MeasureData *data = k->context->data;
	const Buffer *b = &p->buffers[i];
	size_t bytes = (size_t)buffer_bytes(b);
	void **at = b->is_const ? &k->sources[i] : &k->args[i];
	*at = take(k, *at, bytes, (size_t)dtype_bytes(b->type));
	if (*at)
		memcpy(*at, data->base + data->input[set][i], bytes);
	return *at != NULL;
}

static bool pack_input(Loaded *k, int i, int pack)
{
	size_t size = (size_t)k->lowered->packed_bytes[pack];
	void *packed = k->args[i] = take(k, k->args[i], size, ALIGN);
	if (!packed)
		return false;
	memset(packed, POISON, size);
	void *args[2] = {k->sources[i], packed};
	measure_call(k->packs[pack], args, 2);
	return true;
}

static bool fill_inputs(Loaded *k, int set)
{
	const Program *p = k->context->program;
	int pack = 0;
	for (int i = 0; i < p->ninputs; i++)
		if (!fill_input(k, i, set) ||
		    (p->buffers[i].is_const && !pack_input(k, i, pack++)))
			return false;
	return true;
}

static bool poison_outputs(Loaded *k)
{
	const Program *p = k->context->program;
	for (int i = 0; i < p->noutputs; i++) {
		const Buffer *b = &p->buffers[p->outputs[i]];
		size_t bytes = (size_t)buffer_bytes(b);
		void **at = &k->args[p->ninputs + i];
		*at = take(k, *at, bytes, (size_t)dtype_bytes(b->type));
		if (!*at)
			return false;
		memset(*at, POISON, bytes);
	}
	return true;
}

/* `bytes`: what the workspace has; at least what the kernel needs. */
static bool poison_workspace(Loaded *k, size_t bytes)
{
	const Program *p = k->context->program;
	void **at = &k->args[p->ninputs + p->noutputs];
	k->workspace = bytes;
	if (!bytes || kernel_on_device(k))
		return true;
	*at = take(k, *at, bytes, ALIGN);
	if (*at)
		memset(*at, POISON, bytes);
	return *at != NULL;
}

static bool no_memory(const Loaded *k, Measurement *m)
{
	tell_errno("no memory for the kernel's buffers", k->wanted, m);
	return false;
}

static void forget_places(Loaded *k)
{
	memset(k->args, 0, sizeof *k->args * (size_t)k->nargs);
	memset(k->sources, 0, sizeof *k->sources * (size_t)k->nargs);
}

bool kernel_guard(Loaded *k, int set, Measurement *m)
{
	if (!k->guarded)
		forget_places(k);
	k->guarded = true;
	if (!fill_inputs(k, set) || !poison_outputs(k) ||
	    !poison_workspace(k, (size_t)k->lowered->workspace_bytes))
		return no_memory(k, m);
	return !kernel_on_device(k) || device_put(k, m);
}

bool kernel_place(Loaded *const *kernels, int n, Measurement *m)
{
	const Program *p = kernels[0]->context->program;
	size_t workspace = 0;
	for (int i = 0; i < n; i++)
		if ((size_t)kernels[i]->lowered->workspace_bytes > workspace)
			workspace = (size_t)kernels[i]->lowered->workspace_bytes;
	for (int i = 0; i < n; i++) {
		Loaded *k = kernels[i];
		forget_places(k);
		k->guarded = false;
		for (int a = 0; i && a < kernels[0]->nargs; a++)
			if (a >= p->ninputs || !p->buffers[a].is_const)
				k->args[a] = kernels[0]->args[a];
		for (int a = 0; i && a < p->ninputs; a++)
			k->sources[a] = kernels[0]->sources[a];
		if (!fill_inputs(k, 0) || !poison_outputs(k) ||
		    !poison_workspace(k, workspace))
			return no_memory(k, m);
		if (i)
			device_share(k, kernels[0]);
		if (kernel_on_device(k) && !device_put(k, m))
			return false;
	}
	return true;
}

bool kernel_pin(const Loaded *k, Measurement *m)
{
	if (!k->context->options->pin || kernel_on_device(k) ||
	    measure_pin_team(k->lowered->kernel->nthreads))
		return true;
	tell_errno("the threads cannot be pinned", 0, m);
	return false;
}

/* --- checking --------------------------------------------------------------- */

bool kernel_inputs_unchanged(const Loaded *k, int set, Measurement *m)
{
	const Program *p = k->context->program;
	const MeasureData *data = k->context->data;
	for (int i = 0; i < p->ninputs; i++) {
		const Buffer *b = &p->buffers[i];
		if (b->is_const ||
		    !memcmp(k->args[i], data->base + data->input[set][i],
			(size_t)buffer_bytes(b)))
			continue;
		snprintf(m->error, sizeof m->error,
		    "the kernel wrote to its input %s", b->name);
		return false;
	}
	return true;
}

/* Every candidate that may become the best is compared in full; one that is
 * hopeless twice in a row is compared on the first set only. */
static bool is_hopeless(Loaded *k, double took_s, double best_s)
{
	if (!(best_s > 0) || took_s < measure_hopeless(best_s))
		return false;
	return timed_call(k) > 0.9 * measure_hopeless(best_s);
}

bool kernel_check(Loaded *k, double best_s, Measurement *m)
{
	const Program *p = k->context->program;
	double rounded = lowered_has(k->lowered, LOW_ROUND_TF32) ? 0x1p-11 : 0;
	m->nruns = 0;
	if (!kernel_pin(k, m))
		return false;
	for (int set = 0; set < MEASURE_SETS; set++) {
		if (!kernel_guard(k, set, m))
			return false;
		m->outcome = OUTCOME_WRONG;
		double took = timed_call(k);
		if (set != SET_SPECIAL)
			m->runs_s[m->nruns++] = took;
		if (kernel_on_device(k) && !device_get(k, m))
			return false;
		if (!kernel_inputs_unchanged(k, set, m))
			return false;
		for (int o = 0; o < p->noutputs; o++)
			if (!compare_output(k->context->data, set, o, rounded,
				k->args[p->ninputs + o], m->error,
				sizeof m->error))
				return false;
		if (set == 0 && is_hopeless(k, took, best_s))
			break;
	}
	return true;
}
