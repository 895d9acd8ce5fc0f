/* Devices: what a machine says of them, and hand-written kernels on the first that
 * OpenCL has; where it has none those are skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tuner/device/opencl.h"

/* --- the numbers of our own prototypes ------------------------------------ */

#if __has_include(<CL/cl.h>)
#define CL_TARGET_OPENCL_VERSION 300
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include <CL/cl.h>
#include <CL/cl_ext.h>
#define SAME(ours, theirs)                                                     \
	_Static_assert((uint64_t)(ours) == (uint64_t)(theirs), #theirs)
SAME(OPENCL_PLATFORM_NAME, CL_PLATFORM_NAME);
SAME(OPENCL_DEVICE_TYPE, CL_DEVICE_TYPE);
SAME(OPENCL_DEVICE_UNITS, CL_DEVICE_MAX_COMPUTE_UNITS);
SAME(OPENCL_DEVICE_GROUP_THREADS, CL_DEVICE_MAX_WORK_GROUP_SIZE);
SAME(OPENCL_DEVICE_GROUP_SIZE, CL_DEVICE_MAX_WORK_ITEM_SIZES);
SAME(OPENCL_DEVICE_FLOAT_LANES, CL_DEVICE_PREFERRED_VECTOR_WIDTH_FLOAT);
SAME(OPENCL_DEVICE_CLOCK_MHZ, CL_DEVICE_MAX_CLOCK_FREQUENCY);
SAME(OPENCL_DEVICE_BUFFER_BYTES, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
SAME(OPENCL_DEVICE_ALIGN_BITS, CL_DEVICE_MEM_BASE_ADDR_ALIGN);
SAME(OPENCL_DEVICE_F32, CL_DEVICE_SINGLE_FP_CONFIG);
SAME(OPENCL_DEVICE_CACHE_BYTES, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
SAME(OPENCL_DEVICE_MEMORY_BYTES, CL_DEVICE_GLOBAL_MEM_SIZE);
SAME(OPENCL_DEVICE_LOCAL_TYPE, CL_DEVICE_LOCAL_MEM_TYPE);
SAME(OPENCL_DEVICE_LOCAL_BYTES, CL_DEVICE_LOCAL_MEM_SIZE);
SAME(OPENCL_DEVICE_TIMER_NS, CL_DEVICE_PROFILING_TIMER_RESOLUTION);
SAME(OPENCL_DEVICE_AVAILABLE, CL_DEVICE_AVAILABLE);
SAME(OPENCL_DEVICE_COMPILER, CL_DEVICE_COMPILER_AVAILABLE);
SAME(OPENCL_DEVICE_QUEUE, CL_DEVICE_QUEUE_PROPERTIES);
SAME(OPENCL_DEVICE_NAME, CL_DEVICE_NAME);
SAME(OPENCL_DEVICE_VENDOR, CL_DEVICE_VENDOR);
SAME(OPENCL_DRIVER_VERSION, CL_DRIVER_VERSION);
SAME(OPENCL_DEVICE_VERSION, CL_DEVICE_VERSION);
SAME(OPENCL_DEVICE_EXTENSIONS, CL_DEVICE_EXTENSIONS);
SAME(OPENCL_DEVICE_F64, CL_DEVICE_DOUBLE_FP_CONFIG);
SAME(OPENCL_DEVICE_WARP_NV, CL_DEVICE_WARP_SIZE_NV);
SAME(OPENCL_DEVICE_WARP_AMD, CL_DEVICE_WAVEFRONT_WIDTH_AMD);
SAME(OPENCL_PROGRAM_BUILD_LOG, CL_PROGRAM_BUILD_LOG);
SAME(OPENCL_KERNEL_GROUP_THREADS, CL_KERNEL_WORK_GROUP_SIZE);
SAME(OPENCL_KERNEL_LOCAL_BYTES, CL_KERNEL_LOCAL_MEM_SIZE);
SAME(OPENCL_EVENT_START, CL_PROFILING_COMMAND_START);
SAME(OPENCL_EVENT_END, CL_PROFILING_COMMAND_END);
SAME(OPENCL_TYPE_CPU, CL_DEVICE_TYPE_CPU);
SAME(OPENCL_TYPE_GPU, CL_DEVICE_TYPE_GPU);
SAME(OPENCL_LOCAL_DEDICATED, CL_LOCAL);
SAME(OPENCL_ROUNDED_DIVIDE, CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT);
SAME(OPENCL_QUEUE_PROFILING, CL_QUEUE_PROFILING_ENABLE);
SAME(OPENCL_MEMORY_READ_WRITE, CL_MEM_READ_WRITE);
#define CL_ERROR(number, name, status) SAME(number, CL_##name);
#include "tuner/device/opencl_errors.def"
#undef CL_ERROR
#endif

/* --- what there is -------------------------------------------------------- */

static const DeviceDriver *const cl = &device_opencl;
static Device *device; /* NULL: there is none */
static DeviceFacts probed; /* of it, by another process */
static char folder[] = "/tmp/tunec-test-XXXXXX"; /* of the driver's cache */

static void test_drivers(void **state)
{
	(void)state;
	assert_ptr_equal(device_driver("opencl"), cl);
	assert_null(device_driver("opengl"));
}

static void test_choice(void **state)
{
	DeviceFacts f[] = {{.type = DEVICE_GPU},
	    {.type = DEVICE_CPU, .usable = true},
	    {.type = DEVICE_GPU, .usable = true}};
	(void)state;
	assert_int_equal(device_choose(f, 3, true, DEVICE_GPU), 1);
	assert_int_equal(device_choose(f, 3, false, DEVICE_GPU), 2);
	assert_int_equal(device_choose(f, 3, false, DEVICE_OTHER), -1);
	assert_int_equal(device_choose(f, 1, true, DEVICE_GPU), -1);
}

/* The loader, or a driver for it, is not there. */
static void test_no_driver(void **state)
{
	Arena *arena = arena_new();
	Error error = {0};
	DeviceFacts *facts;
	int n;
	(void)state;
	const char *before = getenv("OCL_ICD_VENDORS");
	setenv("OCL_ICD_VENDORS", folder, 1);
	assert_int_equal(
	    device_probe(cl, arena, &facts, &n, &error), STATUS_MISSING);
	if (before)
		setenv("OCL_ICD_VENDORS", before, 1);
	else
		unsetenv("OCL_ICD_VENDORS");
	assert_int_equal(n, 0);
	assert_non_null(strstr(error.text, "pocl-opencl-icd"));
	arena_free(arena);
}

static Status crash(Arena *arena, DeviceFacts **facts, int *n, Error *error)
{
	(void)arena, (void)facts, (void)n, (void)error;
	abort();
}

static Status leave(Arena *arena, DeviceFacts **facts, int *n, Error *error)
{
	(void)arena, (void)facts, (void)n, (void)error;
	_exit(0);
}

static Status two(Arena *arena, DeviceFacts **facts, int *n, Error *error)
{
	(void)error;
	*n = 2;
	*facts = NEW_N(arena, DeviceFacts, 2);
	strcpy((*facts)[1].name, "the second");
	return STATUS_OK;
}

static void test_drivers_that_fail(void **state)
{
	static const DeviceDriver crashes = {.name = "bad", .list = crash},
				  leaves = {.name = "bad", .list = leave},
				  answers = {.name = "good", .list = two};
	Arena *arena = arena_new();
	Error error = {0};
	DeviceFacts *facts;
	int n;
	(void)state;
	assert_int_equal(
	    device_probe(&crashes, arena, &facts, &n, &error), STATUS_CRASH);
	assert_non_null(strstr(error.text, "Aborted"));
	assert_int_equal(
	    device_probe(&leaves, arena, &facts, &n, &error), STATUS_CRASH);
	assert_int_equal(
	    device_probe(&answers, arena, &facts, &n, &error), STATUS_OK);
	assert_int_equal(n, 2);
	assert_string_equal(facts[1].name, "the second");
	arena_free(arena);
}

static void need_device(void)
{
	if (!device)
		skip();
}

static void test_facts(void **state)
{
	(void)state;
	need_device();
	const DeviceFacts *f = cl->facts(device);
	assert_memory_equal(f, &probed, sizeof *f);
	assert_true(f->usable);
	assert_true(f->platform[0] && f->name[0] && f->driver[0]);
	assert_int_equal(strncmp(f->version, "OpenCL ", 7), 0);
	assert_true(f->units > 0 && f->group_threads > 0);
	assert_true(f->group_size[0] > 0 && f->local_bytes >= 16384);
	assert_true(f->memory_bytes >= f->buffer_bytes && f->buffer_bytes > 0);
}

/* --- kernels -------------------------------------------------------------- */

enum { N = 4096, GROUP = 64 };

static DeviceProgram *build(const char *text)
{
	Error error = {0};
	DeviceProgram *p = NULL;
	cl->build(device, text, strlen(text), "-cl-std=CL1.2", &p, &error);
	assert_string_equal(error.text, "");
	return p;
}

static DeviceLaunch launch_of(
    DeviceProgram *p, const char *name, int64_t groups, int64_t threads)
{
	Error error = {0};
	DeviceLaunch l = {NULL, {groups, 1, 1}, {threads, 1, 1}};
	cl->kernel(device, p, name, l.block, 0, &l.kernel, &error);
	assert_string_equal(error.text, "");
	return l;
}

static DeviceBuffer *buffer_of(size_t size)
{
	Error error = {0};
	DeviceBuffer *b;
	assert_int_equal(cl->alloc(device, size, &b, &error), STATUS_OK);
	return b;
}

static void test_add(void **state)
{
	static float a[N], got[N];
	Error error = {0};
	double seconds = -1;
	(void)state;
	need_device();
	DeviceProgram *p = build("__kernel void add(__global const float *a, "
				 "__global float *b) {\n"
				 "int i = get_global_id(0); b[i] += a[i]; }\n");
	DeviceLaunch l = launch_of(p, "add", N / GROUP, GROUP);
	DeviceBuffer *args[] = {buffer_of(sizeof a), buffer_of(sizeof a)};
	for (int i = 0; i < N; i++)
		a[i] = (float)i;
	assert_int_equal(cl->write(device, args[0], 0, a, sizeof a, &error), 0);
	assert_int_equal(cl->fill(device, args[1], 0, sizeof a, &error), 0);
	assert_int_equal(
	    cl->run(device, &l, 1, args, 2, 5, &seconds, &error), 0);
	assert_true(seconds > 0 && seconds < 1);
	assert_int_equal(
	    cl->read(device, args[1], 0, got, sizeof got, &error), 0);
	for (int i = 0; i < N; i++)
		assert_true(got[i] == 5 * a[i]);
	/* a part */
	assert_int_equal(cl->read(device, args[1], 8, got, 4, &error), 0);
	assert_true(got[0] == 10);
	/* a size that is no multiple of anything */
	assert_int_equal(cl->fill(device, args[1], 0x40, 1003, &error), 0);
	assert_int_equal(
	    cl->read(device, args[1], 0, got, sizeof got, &error), 0);
	assert_true(((unsigned char *)got)[1002] == 0x40);
	assert_true(got[251] == 5 * a[251] && got[0] == got[249]);
	/* once, and no time wanted */
	assert_int_equal(cl->run(device, &l, 1, args, 2, 1, NULL, &error), 0);
	for (int i = 0; i < 2; i++)
		cl->free(device, args[i]);
	cl->drop(device, p);
}

/* Each launch sees what the one before it wrote, in every repeat. */
static void test_order(void **state)
{
	static int32_t got[N];
	Error error = {0};
	double seconds;
	(void)state;
	need_device();
	DeviceProgram *p = build(
	    "__kernel void k0(__global int *a, __global int *b) {\n"
	    "int i = get_global_id(0); b[i] = a[i] + 1; }\n"
	    "__kernel void k1(__global int *a, __global int *b) {\n"
	    "int i = get_global_id(0); a[i] = 2*b[get_global_size(0)-1-i]; }\n");
	DeviceLaunch l[] = {launch_of(p, "k0", N / GROUP, GROUP),
	    launch_of(p, "k1", N / 2 / GROUP, 2 * GROUP)};
	DeviceBuffer *args[] = {buffer_of(sizeof got), buffer_of(sizeof got)};
	assert_int_equal(cl->fill(device, args[0], 0, sizeof got, &error), 0);
	assert_int_equal(
	    cl->run(device, l, 2, args, 2, 3, &seconds, &error), 0);
	assert_int_equal(
	    cl->read(device, args[0], 0, got, sizeof got, &error), 0);
	for (int i = 0; i < N; i++)
		assert_int_equal(got[i], 14);
	for (int i = 0; i < 2; i++)
		cl->free(device, args[i]);
	cl->drop(device, p);
}

/* A group shares memory and waits; a grid and groups of three directions. */
static void test_groups(void **state)
{
	static int32_t got[3 * 2 * 4 * 4];
	Error error = {0};
	(void)state;
	need_device();
	DeviceProgram *p = build(
	    "__kernel __attribute__((reqd_work_group_size(4, 4, 1)))\n"
	    "void turn(__global int *out) {\n"
	    "__local int s[4][4];\n"
	    "int x = get_local_id(0), y = get_local_id(1);\n"
	    "int g = get_group_id(0) + 3*get_group_id(1);\n"
	    "s[y][x] = 100*g + 4*y + x;\n"
	    "barrier(CLK_LOCAL_MEM_FENCE);\n"
	    "out[16*g + 4*y + x] = s[x][y]; }\n");
	DeviceLaunch l = {NULL, {3, 2, 1}, {4, 4, 1}};
	assert_int_equal(
	    cl->kernel(device, p, "turn", l.block, 0, &l.kernel, &error), 0);
	DeviceBuffer *out = buffer_of(sizeof got);
	assert_int_equal(cl->run(device, &l, 1, &out, 1, 1, NULL, &error), 0);
	assert_int_equal(cl->read(device, out, 0, got, sizeof got, &error), 0);
	for (int g = 0; g < 6; g++)
		for (int i = 0; i < 16; i++)
			assert_int_equal(
			    got[16 * g + i], 100 * g + 4 * (i % 4) + i / 4);
	cl->free(device, out);
	cl->drop(device, p);
}

/* --- what fails ----------------------------------------------------------- */

static void test_does_not_build(void **state)
{
	static const char text[] = "__kernel void k(__global int *a) {\n"
				   "  *a = undeclared_name;\n}\n";
	Error error = {0};
	DeviceProgram *p = NULL;
	(void)state;
	need_device();
	assert_int_equal(cl->build(device, text, sizeof text - 1, "", &p,
			     &error),
	    STATUS_INPUT);
	assert_null(p);
	assert_non_null(strstr(error.text, "undeclared_name"));
	assert_null(strchr(error.text, '\n'));
}

static void test_no_such_kernel(void **state)
{
	Error error = {0};
	DeviceLaunch l = {NULL, {1, 1, 1}, {1, 1, 1}};
	(void)state;
	need_device();
	DeviceProgram *p = build("__kernel void k(__global int *a) { *a = 1; }");
	assert_int_equal(
	    cl->kernel(device, p, "other", l.block, 0, &l.kernel, &error),
	    STATUS_INPUT);
	assert_non_null(strstr(error.text, "other"));
	cl->drop(device, p);
}

/* More than the device has of threads, memory, a group's memory. */
static void test_too_much(void **state)
{
	Error error = {0};
	DeviceKernel *k;
	DeviceBuffer *b;
	char text[256];
	(void)state;
	need_device();
	const DeviceFacts *f = cl->facts(device);
	int64_t wide[3] = {f->group_threads, 2, 1}, one[3] = {1, 1, 1};
	DeviceProgram *p = build("__kernel void k(__global int *a) { *a = 1; }");
	assert_int_equal(cl->kernel(device, p, "k", wide, 0, &k, &error),
	    STATUS_UNSUPPORTED);
	assert_non_null(strstr(error.text, "work-items"));
	cl->drop(device, p);
	assert_int_equal(cl->alloc(device, (size_t)f->buffer_bytes + 4096, &b,
			     &error),
	    STATUS_UNSUPPORTED);
	assert_non_null(strstr(error.text, f->name));
	snprintf(text, sizeof text, "__kernel void k(__global int *a) {\n"
	    "__local int s[%lld]; s[*a] = 1; barrier(CLK_LOCAL_MEM_FENCE);\n"
	    "*a = s[*a + 1]; }\n", (long long)f->local_bytes / 4 + 1024);
	error.text[0] = 0;
	p = NULL;
	Status status = cl->build(device, text, strlen(text), "", &p, &error);
	if (!status)
		status = cl->kernel(device, p, "k", one, 0, &k, &error);
	assert_true(status == STATUS_UNSUPPORTED || status == STATUS_INPUT);
	assert_true(error.text[0]);
	cl->drop(device, p);
}

static void test_wrong_arguments(void **state)
{
	Error error = {0};
	(void)state;
	need_device();
	DeviceProgram *p = build(
	    "__kernel void k(__global int *a, __global int *b) { *a = *b; }");
	DeviceLaunch l = launch_of(p, "k", 1, 1);
	DeviceBuffer *b = buffer_of(4);
	assert_int_not_equal(
	    cl->run(device, &l, 1, &b, 1, 1, NULL, &error), STATUS_OK);
	assert_true(error.text[0]);
	cl->free(device, b);
	cl->drop(device, p);
}

static void test_no_such_device(void **state)
{
	Error error = {0};
	Device *d;
	(void)state;
	need_device();
	assert_int_equal(cl->open(1000, &d, &error), STATUS_MISSING);
}

/* --- main ----------------------------------------------------------------- */

static void open_device(void)
{
	Arena *arena = arena_new();
	Error error = {0};
	DeviceFacts *facts;
	int n, i = -1;
	Status status = device_probe(cl, arena, &facts, &n, &error);
	if (!status && (i = device_choose(facts, n, true, 0)) >= 0) {
		probed = facts[i];
		status = cl->open(i, &device, &error);
	}
	if (!device)
		printf("# kernels are skipped: %s\n", error.text);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest before[] = {
	    cmocka_unit_test(test_drivers),
	    cmocka_unit_test(test_choice),
	    cmocka_unit_test(test_no_driver),
	    cmocka_unit_test(test_drivers_that_fail),
	};
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_facts),
	    cmocka_unit_test(test_add),
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_groups),
	    cmocka_unit_test(test_does_not_build),
	    cmocka_unit_test(test_no_such_kernel),
	    cmocka_unit_test(test_too_much),
	    cmocka_unit_test(test_wrong_arguments),
	    cmocka_unit_test(test_no_such_device),
	};
	if (!mkdtemp(folder))
		return 1;
	setenv("POCL_CACHE_DIR", folder, 1);
	setenv("POCL_KERNEL_CACHE", "0", 1);
	/* those fork, which nothing may do that has a driver's threads */
	int failed = cmocka_run_group_tests(before, NULL, NULL);
	open_device();
	failed += cmocka_run_group_tests(tests, NULL, NULL);
	if (device)
		cl->close(device);
	device_folder_remove(folder);
	return failed;
}
