/* Which device candidates run on: the first usable one that is what the target is
 * for.  It is looked for in a process of its own; those that measure open it. */
#include <stdlib.h>
#include <string.h>

#include "tuner/measure/measure_internal.h"

static const DeviceDriver *driver_of(const Target *target)
{
	return target->kind == TARGET_OPENCL ? device_driver("opencl")
	    : target->kind == TARGET_CUDA    ? device_driver("cuda")
					     : NULL;
}

/* What a driver said of its devices. */
typedef struct {
	const DeviceDriver *driver;
	DeviceFacts *facts;
	int n;
	Status status;
	Error error;
} Asked;

/* Each driver once in a process: that starts another one, and takes a second. */
static const Asked *ask(const DeviceDriver *driver)
{
	static Asked asked[2];
	static Arena *arena;
	Asked *a = asked;
	while (a->driver && a->driver != driver)
		a++;
	if (a->driver)
		return a;
	arena = arena ? arena : arena_new();
	a->driver = driver;
	a->status = device_probe(driver, arena, &a->facts, &a->n, &a->error);
	return a;
}

/* --- a target of what is here ------------------------------------------------ */

static const char *class_of(const DeviceFacts *f)
{
	static const struct {
		const char *word, *name;
	} makers[] = {{"NVIDIA", "nvidia"}, {"Advanced Micro", "amd"},
	    {"AMD", "amd"}, {"Intel", "intel"}};
	if (f->type == DEVICE_CPU)
		return f->float_lanes >= 16 ? "cpu512" : "cpu";
	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
		if (strstr(f->vendor, makers[i].word))
			return makers[i].name;
	return "gpu";
}

Target *measure_target(Arena *arena, const char *text, Error *error)
{
	const Asked *devices;
	int i;
	const char *begin = text + strspn(text, " \t\n");
	size_t size = strcspn(begin, " \t\n");
	if (size != strlen("opencl") || strncmp(begin, "opencl", size) ||
	    begin[size + strspn(begin + size, " \t\n")] ||
	    (devices = ask(&device_opencl))->status ||
	    (i = device_choose(
		 devices->facts, devices->n, true, DEVICE_GPU)) < 0)
		return target_parse(arena, text, error);
	return target_parse(arena,
	    arena_printf(arena, "opencl -device=%s", class_of(&devices->facts[i])),
	    error);
}

/* --- the device for a target -------------------------------------------------- */

/* sm_90 is what sm_90a is for, too. */
static bool is_arch(const DeviceFacts *f, const char *arch)
{
	size_t n = strlen(f->arch);
	return n && !strncmp(f->arch, arch, n) &&
	    (!arch[n] || !strcmp(arch + n, "a"));
}

/* Targets for GPUs have blocks of threads; one that names an architecture is for
 * no other. */
static int choose(
    const Target *t, bool any, const DeviceFacts *facts, int n)
{
	DeviceType type = t->machine.gpu ? DEVICE_GPU : DEVICE_CPU;
	bool named = t->kind == TARGET_CUDA;
	int found = -1;
	for (int i = n - 1; i >= 0; i--)
		if (facts[i].usable && named && is_arch(&facts[i], t->cpu))
			found = i;
	if (found < 0 && !named)
		found = device_choose(facts, n, false, type);
	return found < 0 && any ? device_choose(facts, n, true, type) : found;
}

static Status find(const Target *target, const DeviceDriver *driver, bool any,
    MeasureDevice *out, Error *error)
{
	const Asked *a = ask(driver);
	if (a->status)
		return error_set(error, a->status, "%s", a->error.text);
	int i = choose(target, any, a->facts, a->n);
	if (i < 0)
		return error_set(error, STATUS_MISSING,
		    "no device here is what '%s' is for: the first of %s is "
		    "a %s, %s%s%s",
		    target->text, driver->name,
		    device_type_name(a->facts[0].type), a->facts[0].name,
		    *a->facts[0].arch ? ", " : "", a->facts[0].arch);
	*out = (MeasureDevice){driver, i, a->facts[i], ""};
	return STATUS_OK;
}

Status measure_device_find(const Target *target, bool any_device,
    MeasureDevice *out, Error *error)
{
	const DeviceDriver *driver = driver_of(target);
	*out = (MeasureDevice){0};
	if (target->kind == TARGET_LLVM)
		return STATUS_OK;
	if (!driver)
		return error_set(error, STATUS_UNSUPPORTED,
		    "target '%s' is built for, not measured", target->text);
	FORWARD_IF_ERROR(find(target, driver, any_device, out, error));
	device_folder_make(out->folder);
	return STATUS_OK;
}

void measure_device_forget(MeasureDevice *device)
{
	device_folder_remove(device->folder);
}

bool measure_can(
    const Target *target, bool any_device, char *why, size_t size)
{
	Error error = {0};
	MeasureDevice found;
	if (target->kind == TARGET_LLVM)
		return target_runs_here_why(target, why, size);
	Status status = measure_device_find(target, any_device, &found, &error);
	measure_device_forget(&found);
	snprintf(why, size, "%s", error.text);
	return status == STATUS_OK;
}

/* What was built is kept for the final round, and not beyond the run.  PoCL's
 * threads stay on their CPUs.  What the user has set stands. */
void measure_device_settings(const MeasureContext *c)
{
	device_folder_use(c->device->folder);
	setenv("CUDA_CACHE_DISABLE", "1", 0);
	if (c->options->pin)
		setenv("POCL_AFFINITY", "1", 0);
}
