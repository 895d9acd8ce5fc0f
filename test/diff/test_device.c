/* What the emitters for devices write, on the first device of each driver here:
 * every operator of workloads/, small, with what the rules make of it for each
 * class of devices, gives what the operator says.  Without a device it is
 * skipped. */
#include "test/common_lower.h"
#include "test/common_schedule.h"
#include "test/common_workloads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "codegen/cuda/cuda.h"
#include "test/common_tier.h"
#include "tuner/device/device.h"

enum { QUICK = 1, LONG = 8 };

/* One of CUDA's is for what the device is: %s. */
static const char *const opencl_targets[] = {"opencl -device=cpu",
    "opencl -device=cpu512", "opencl -device=gpu", "opencl -device=intel"};
static const char *const cuda_targets[] = {"cuda -arch=%s",
    "cuda -arch=%sa", "cuda -arch=%s -compiler=nvrtc"};
enum { OPENCL_TARGETS = 4, CUDA_TARGETS = 3 };

/* Of the driver that the test has. */
static Device *device; /* NULL: none is here */
static const DeviceDriver *driver;
static char cache[] = "/tmp/tunec-test-XXXXXX";

/* --- one kernel --------------------------------------------------------------- */

typedef struct {
	Arena *arena;
	const Lowered *lowered;
	DeviceProgram *program;
	const char *wrong; /* NULL: nothing yet */
} Run;

static int64_t argument_bytes(const Lowered *l, int i)
{
	const Program *p = l->program;
	int packed = 0;
	if (i == p->ninputs + p->noutputs)
		return l->workspace_bytes;
	if (i >= p->ninputs || !p->buffers[i].is_const) {
		const Buffer *b = &p->buffers[i < p->ninputs
			? i : p->outputs[i - p->ninputs]];
		return buffer_elements(b) * dtype_bytes(b->type);
	}
	for (int k = 0; k < i; k++)
		packed += p->buffers[k].is_const;
	return l->packed_bytes[packed];
}

static const LowLaunch *launch_of(const Lowered *l, const LowFunction *f)
{
	for (int i = 0; i < l->launches.n; i++)
		if (l->launches.at[i].function == f)
			return &l->launches.at[i];
	return NULL;
}

static void launch(Run *r, const LowLaunch *k, void *const *args)
{
	enum { MOST = 16 };
	DeviceBuffer *buffers[MOST] = {0};
	Error error = {0};
	int n = k->function->params.n;
	DeviceLaunch one = {.kernel = NULL};
	assert_true(n <= MOST);
	memcpy(one.grid, k->grid, sizeof one.grid);
	memcpy(one.block, k->block, sizeof one.block);
	Status status = driver->kernel(device, r->program, k->function->name,
	    k->block, k->dynamic_bytes, &one.kernel, &error);
	for (int i = 0; i < n && !status; i++) {
		int64_t bytes = argument_bytes(r->lowered, i);
		status = driver->alloc(device, (size_t)(bytes ? bytes : 1),
		    &buffers[i], &error);
		if (!status && bytes)
			status = driver->write(device, buffers[i], 0, args[i],
			    (size_t)bytes, &error);
	}
	if (!status)
		status = driver->run(
		    device, &one, 1, buffers, n, 1, NULL, &error);
	for (int i = 0; i < n && !status; i++) {
		int64_t bytes = argument_bytes(r->lowered, i);
		if (bytes)
			status = driver->read(device, buffers[i], 0, args[i],
			    (size_t)bytes, &error);
	}
	for (int i = 0; i < n; i++)
		if (buffers[i])
			driver->free(device, buffers[i]);
	if (status)
		r->wrong = arena_strdup(r->arena, error.text);
}

/* Pack functions are the host's. */
static void call(void *context, const char *symbol, const LowFunction *f,
    void *const *args)
{
	Run *r = context;
	const LowLaunch *k = launch_of(r->lowered, f);
	LowRun out = {0};
	(void)symbol;
	if (r->wrong)
		return;
	if (k)
		launch(r, k, args);
	else if (!low_function_run(f, args, &out))
		r->wrong = arena_strdup(r->arena, out.message);
}

static const char *run_on_device(Arena *arena, const Lowered *l,
    const Target *target, void *const *data, double tolerance)
{
	Run r = {.arena = arena, .lowered = l};
	EmitComment comment = {.target = target->text, .record = "none"};
	Error error = {0};
	Buf text = {0};
	if (target->kind == TARGET_OPENCL)
		emit_device(&text, &l, 1, target, &comment);
	else if (cuda_ptx(&l, 1, target, &comment, &text, &error))
		return arena_strdup(arena, error.text);
	if (driver->build(device, buf_text(&text), text.size, "-cl-std=CL1.2",
		&r.program, &error))
		return arena_printf(
		    arena, "%s\n%s", error.text, buf_text(&text));
	const char *wrong =
	    lowercheck_run(arena, l, data, tolerance, call, &r);
	if (r.wrong)
		wrong = r.wrong;
	if (wrong)
		wrong = arena_printf(
		    arena, "%s\n%s", wrong, buf_text(&text));
	driver->drop(device, r.program);
	buf_free(&text);
	return wrong;
}

/* --- workloads ---------------------------------------------------------------- */

static void check(Arena *arena, const Program *p, const Trace *trace,
    const Target *target, void *const *data)
{
	Error error = {0};
	Buf text = {0};
	Nest *nest = schedule_nest(arena, p, &target->machine, trace, &error);
	Lowered *l = nest ? lower(arena, nest, &target->machine, &error) : NULL;
	if (trace)
		trace_print(&text, trace);
	const char *wrong = l ? run_on_device(arena, l, target, data, 1e-4)
			      : error.text;
	if (wrong)
		fail_msg("%s, %s: %s\n%s", p->name, target->text, wrong,
		    buf_text(&text));
	buf_free(&text);
}

static void check_all(const char *const *targets, int ntargets)
{
	bool all = tier_is_long();
	if (!device)
		skip();
	for (int i = 0; i < workload_count(); i += workload_step())
		for (int t = 0; t < ntargets; t++) {
			Rng rng = rng_stream(31, (uint64_t)i, (uint64_t)t);
			if (all || (i + t) % 2 == 0)
				workload_check(i, targets[t], &rng, QUICK, LONG,
				    false, check);
		}
}

static void test_opencl(void **state)
{
	(void)state;
	check_all(opencl_targets, OPENCL_TARGETS);
}

/* sm_90 has a form of its own, sm_90a; sm_89 has none. */
static bool is_target(const char *text)
{
	Arena *arena = arena_new();
	Error error = {0};
	bool is = target_parse(arena, text, &error) != NULL;
	arena_free(arena);
	return is;
}

/* A kernel that reads or writes where it may not ends all that follow. */
static void test_cuda(void **state)
{
	char texts[CUDA_TARGETS][64];
	const char *targets[CUDA_TARGETS];
	int n = 0;
	(void)state;
	for (int i = 0; device && i < CUDA_TARGETS; i++) {
		const char *arch = driver->facts(device)->arch;
		snprintf(texts[n], sizeof texts[n], cuda_targets[i], arch);
		if (is_target(texts[n]))
			targets[n] = texts[n], n++;
	}
	check_all(targets, n);
}

static int open_device(const char *name)
{
	Error error = {0};
	driver = device_driver(name);
	if (driver->open(0, &device, &error))
		print_message("# skipped: %s\n", error.text);
	return 0;
}

static int open_opencl(void **state)
{
	(void)state;
	if (!mkdtemp(cache))
		return -1;
	setenv("POCL_CACHE_DIR", cache, 1);
	setenv("POCL_KERNEL_CACHE", "0", 1);
	return open_device("opencl");
}

static int open_cuda(void **state)
{
	(void)state;
	return open_device("cuda");
}

static int close_device(void **state)
{
	(void)state;
	if (device)
		driver->close(device);
	device = NULL;
	device_folder_remove(cache);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(
		test_opencl, open_opencl, close_device),
	    cmocka_unit_test_setup_teardown(
		test_cuda, open_cuda, close_device),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
