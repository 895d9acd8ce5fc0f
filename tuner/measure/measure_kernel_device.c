/* A candidate on a device: its source, built; buffers, with their copies on this
 * side; calls and their times.
 *
 * What is compared, and with what, is as for a CPU: the copies are filled and
 * poisoned there, sent before a call and fetched after it.  A device has no pages
 * to guard, so each buffer has a tail that no kernel may write to. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/cuda/cuda.h"
#include "lib/hash.h"
#include "tuner/measure/measure_kernel.h"

enum { TAIL = 256, POISON = 0xff };

/* One for the process, which measures for one. */
static Device *opened;

bool kernel_on_device(const Loaded *k)
{
	return k->context->device->driver != NULL;
}

static const DeviceDriver *driver_of(const Loaded *k)
{
	return k->context->device->driver;
}

/* --- compiling ------------------------------------------------------------ */

static Status emit(Loaded *k, Error *error)
{
	const Target *t = k->context->target;
	const Lowered *lowered = k->lowered;
	EmitComment comment = {t->text, "none", ""};
	if (t->kind == TARGET_OPENCL) {
		emit_device(&k->object, &lowered, 1, t, &comment);
		return STATUS_OK;
	}
	return cuda_ptx(&lowered, 1, t, &comment, &k->object, error);
}

/* Of the text and the launches, which are not part of it. */
static void hash_object(const Loaded *k, Measurement *m)
{
	Buf all = {0};
	buf_add(&all, k->object.data, k->object.size);
	for (int i = 0; i < k->lowered->launches.n; i++) {
		const LowLaunch *l = &k->lowered->launches.at[i];
		buf_add(&all, l->grid, sizeof l->grid);
		buf_add(&all, l->block, sizeof l->block);
	}
	sha256_hex(all.data, all.size, m->object);
	buf_free(&all);
}

bool device_compile(Loaded *k, Measurement *m)
{
	Error error = {0};
	if (emit(k, &error)) {
		kernel_tell(error.text, 0, m);
		return false;
	}
	hash_object(k, m);
	return true;
}

/* --- loading -------------------------------------------------------------- */

static bool open_device(Loaded *k, Measurement *m)
{
	Error error = {0};
	if (opened)
		return true;
	measure_device_settings(k->context);
	if (!driver_of(k)->open(k->context->device->index, &opened, &error))
		return true;
	m->outcome = OUTCOME_CRASH;
	m->trouble = TROUBLE_CERTAIN;
	snprintf(m->error, sizeof m->error, "the device cannot be opened: %.400s",
	    error.text);
	return false;
}

/* Functions that pack constants run on this CPU: a kernel that does nothing, and
 * these. */
static bool load_packs(Loaded *k, Measurement *m)
{
	static const MeasureDevice none;
	MeasureContext host = *k->context;
	Lowered lowered = *k->lowered;
	LowFunction nothing = *lowered.kernel;
	Loaded packs = {.context = &host, .lowered = &lowered};
	Measurement by = measure_nothing(OUTCOME_BUILD);
	if (!lowered.packs.n)
		return true;
	host.device = &none;
	host.target = host.host;
	memset(&nothing.body, 0, sizeof nothing.body);
	memset(&nothing.buffers, 0, sizeof nothing.buffers);
	nothing.nthreads = 1;
	lowered.kernel = &nothing;
	lowered.launches.n = 0;
	if (kernel_compile_lowered(&packs, &by) && kernel_load(&packs, &by)) {
		free(k->packs);
		k->packs = packs.packs;
		free(packs.args);
		free(packs.sources);
		free(packs.buffers);
		buf_free(&packs.object);
		return true;
	}
	kernel_tell(by.error, 0, m);
	return false;
}

/* Division and roots of f32 need be exact only where the operator says so. */
static const char *options_of(const Loaded *k)
{
	bool exact = k->context->program->numerics == NUMERICS_EXACT &&
	    k->context->device->facts.rounded_divide;
	if (k->context->target->kind != TARGET_OPENCL)
		return "";
	return exact ? "-cl-std=CL1.2 -cl-fp32-correctly-rounded-divide-sqrt"
		     : "-cl-std=CL1.2";
}

static Status build(Loaded *k, Error *error)
{
	const DeviceDriver *d = driver_of(k);
	const Lowered *l = k->lowered;
	FORWARD_IF_ERROR(d->build(opened, k->object.data, k->object.size,
	    options_of(k), &k->program, error));
	k->launches = NEW_N(l->arena, DeviceLaunch, l->launches.n);
	for (int i = 0; i < l->launches.n; i++) {
		const LowLaunch *from = &l->launches.at[i];
		DeviceLaunch *to = &k->launches[i];
		memcpy(to->grid, from->grid, sizeof to->grid);
		memcpy(to->block, from->block, sizeof to->block);
		FORWARD_IF_ERROR(d->kernel(opened, k->program,
		    from->function->name, to->block, from->dynamic_bytes,
		    &to->kernel, error));
	}
	return STATUS_OK;
}

bool device_load(Loaded *k, Measurement *m)
{
	Error error = {0};
	if (!open_device(k, m) || !load_packs(k, m))
		return false;
	if (!build(k, &error))
		return true;
	kernel_tell(error.text, 0, m);
	return false;
}

/* --- buffers -------------------------------------------------------------- */

/* Bytes of an argument. */
static size_t size_of(const Loaded *k, int arg)
{
	const Program *p = k->context->program;
	int pack = 0;
	if (arg >= p->ninputs + p->noutputs)
		return k->workspace;
	if (arg >= p->ninputs)
		return (size_t)buffer_bytes(
		    &p->buffers[p->outputs[arg - p->ninputs]]);
	if (!p->buffers[arg].is_const)
		return (size_t)buffer_bytes(&p->buffers[arg]);
	for (int i = 0; i < arg; i++)
		pack += p->buffers[i].is_const;
	return (size_t)k->lowered->packed_bytes[pack];
}

static Status put(Loaded *k, int arg, Error *error)
{
	const DeviceDriver *d = driver_of(k);
	unsigned char tail[TAIL];
	size_t size = size_of(k, arg);
	if (!k->buffers[arg]) {
		memset(tail, POISON, sizeof tail);
		FORWARD_IF_ERROR(d->alloc(
		    opened, size + TAIL, &k->buffers[arg], error));
		FORWARD_IF_ERROR(d->write(
		    opened, k->buffers[arg], size, tail, TAIL, error));
	}
	if (k->args[arg])
		return d->write(opened, k->buffers[arg], 0, k->args[arg], size,
		    error);
	return d->fill(opened, k->buffers[arg], POISON, size, error);
}

static bool lost(const Error *error, Measurement *m)
{
	m->outcome = OUTCOME_CRASH;
	kernel_tell(error->text, 0, m);
	return false;
}

bool device_put(Loaded *k, Measurement *m)
{
	Error error = {0};
	for (int i = 0; i < k->nargs; i++)
		if (put(k, i, &error))
			return lost(&error, m);
	return true;
}

static const char *name_of(const Loaded *k, int arg)
{
	return k->lowered->kernel->params.at[arg].name;
}

static Status get(Loaded *k, int arg, bool *intact, Error *error)
{
	const DeviceDriver *d = driver_of(k);
	const Program *p = k->context->program;
	unsigned char tail[TAIL];
	size_t size = size_of(k, arg);
	FORWARD_IF_ERROR(
	    d->read(opened, k->buffers[arg], size, tail, TAIL, error));
	*intact = true;
	for (int i = 0; i < TAIL; i++)
		*intact &= tail[i] == POISON;
	if (!k->args[arg] || (arg < p->ninputs && p->buffers[arg].is_const))
		return STATUS_OK;
	return d->read(
	    opened, k->buffers[arg], 0, k->args[arg], size, error);
}

bool device_get(Loaded *k, Measurement *m)
{
	Error error = {0};
	bool intact;
	if (!device_sound(k, m))
		return false;
	for (int i = 0; i < k->nargs; i++) {
		if (get(k, i, &intact, &error))
			return lost(&error, m);
		if (intact)
			continue;
		snprintf(m->error, sizeof m->error,
		    "the kernel wrote beyond the end of %s", name_of(k, i));
		return false;
	}
	return true;
}

void device_share(Loaded *k, const Loaded *from)
{
	const Program *p = k->context->program;
	for (int i = 0; i < from->nargs; i++)
		if (i >= p->ninputs || !p->buffers[i].is_const)
			k->buffers[i] = from->buffers[i];
}

/* --- calls ---------------------------------------------------------------- */

static bool run(Loaded *k, int calls, double *seconds)
{
	return !k->failed.status &&
	    !driver_of(k)->run(opened, k->launches, k->lowered->launches.n,
		k->buffers, k->nargs, calls, seconds, &k->failed);
}

void device_call(Loaded *k)
{
	if (!run(k, 1, &k->call_s))
		k->call_s = INFINITY;
}

bool device_sound(const Loaded *k, Measurement *m)
{
	return k->failed.status ? lost(&k->failed, m) : true;
}

/* Twice the caches of the device are written before each call. */
static double cold_seconds(Loaded *k, int calls)
{
	static DeviceBuffer *flush;
	static size_t size = (size_t)64 << 20;
	const DeviceDriver *d = driver_of(k);
	double sum = 0, one;
	if (!flush) {
		size_t cache = (size_t)k->context->device->facts.cache_bytes;
		size = 2 * cache > size ? 2 * cache : size;
		if (d->alloc(opened, size, &flush, &k->failed))
			return INFINITY;
	}
	for (int i = 0; i < calls; i++) {
		if (d->fill(opened, flush, (unsigned char)i, size,
			&k->failed) ||
		    !run(k, 1, &one))
			return INFINITY;
		sum += one;
	}
	return sum;
}

double device_seconds(void *loaded, int calls)
{
	Loaded *k = loaded;
	double seconds;
	if (k->context->options->cold)
		return cold_seconds(k, calls);
	return run(k, calls, &seconds) ? seconds : INFINITY;
}

/* --- the end -------------------------------------------------------------- */

void device_release(Loaded *k)
{
	const DeviceDriver *d = driver_of(k);
	for (int i = 0; i < k->nargs; i++) {
		if (k->buffers[i])
			d->free(opened, k->buffers[i]);
		free(k->args[i]);
		free(k->sources[i]);
	}
	free(k->args);
	free(k->sources);
	free(k->buffers);
	free(k->packs);
	if (k->program)
		d->drop(opened, k->program);
	buf_free(&k->object);
}
