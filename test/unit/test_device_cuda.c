/* Devices of CUDA's, without one: the driver against a libcuda of the tests' own
 * (test/e2e/fake_cuda.c), whose kernels do by their name what goes wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>

#include "tuner/device/cuda_driver.h"
#include "tuner/measure/measure_internal.h"

/* --- the numbers of our own prototypes ------------------------------------ */

#if __has_include(<cuda.h>)
#include <cuda.h>
#define SAME(ours, theirs)                                                     \
	_Static_assert((int)(ours) == (int)(theirs), #theirs)
SAME(CUDA_BLOCK_THREADS, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(CUDA_BLOCK_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X);
SAME(CUDA_BLOCK_X + 2, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
SAME(CUDA_BLOCK_SHARED, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK);
SAME(CUDA_BLOCK_SHARED_MOST,
    CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME(CUDA_WARP, CU_DEVICE_ATTRIBUTE_WARP_SIZE);
SAME(CUDA_CLOCK_KHZ, CU_DEVICE_ATTRIBUTE_CLOCK_RATE);
SAME(CUDA_PROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME(CUDA_L2_BYTES, CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
SAME(CUDA_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME(CUDA_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME(CUDA_KERNEL_THREADS, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME(CUDA_KERNEL_SHARED, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME(CUDA_KERNEL_DYNAMIC_MOST,
    CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME(CUDA_LOAD_ERRORS, CU_JIT_ERROR_LOG_BUFFER);
SAME(CUDA_LOAD_ERRORS_BYTES, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME(CUDA_STREAM_ALONE, CU_STREAM_NON_BLOCKING);
#define CU_ERROR(number, name, status) SAME(number, CUDA_ERROR_##name);
#include "tuner/device/cuda_errors.def"
#undef CU_ERROR
#endif

/* --- the fake ------------------------------------------------------------- */

static const DeviceDriver *const cu = &device_cuda;
static char folder[] = "/tmp/tunec-test-XXXXXX";

/* One that has its name is open already when the driver asks for it. */
static int make_library(void **state)
{
	char so[64], command[256];
	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(so, sizeof so, "%s/libcuda.so.1", folder);
	snprintf(command, sizeof command,
	    "cc -std=c11 -D_GNU_SOURCE -fPIC -shared -Wl,-soname,libcuda.so.1 "
	    "-o %s test/e2e/fake_cuda.c", so);
	assert_int_equal(system(command), 0);
	void *library = dlopen(so, RTLD_NOW | RTLD_GLOBAL);
	if (!library)
		fail_msg("%s", dlerror());
	unlink(so);
	rmdir(folder);
	return 0;
}

static const char ptx[] =
    ".visible .entry count_k0(\n.visible .entry sticky_k0(\n"
    ".visible .entry deep_k0(\n.visible .entry hang_k0(\n"
    ".visible .entry mean_k0(\n";

static Device *open_first(void)
{
	Error error = {0};
	Device *d = NULL;
	assert_int_equal(cu->open(0, &d, &error), STATUS_OK);
	return d;
}

static DeviceProgram *build(Device *d)
{
	Error error = {0};
	DeviceProgram *p = NULL;
	if (cu->build(d, ptx, sizeof ptx - 1, "", &p, &error))
		fail_msg("%s", error.text);
	return p;
}

static DeviceLaunch launch_of(Device *d, DeviceProgram *p, const char *name)
{
	Error error = {0};
	DeviceLaunch l = {NULL, {4, 1, 1}, {32, 2, 1}};
	if (cu->kernel(d, p, name, l.block, 0, &l.kernel, &error))
		fail_msg("%s", error.text);
	return l;
}

/* --- what is right -------------------------------------------------------- */

static void test_facts(void **state)
{
	Arena *arena = arena_new();
	Error error = {0};
	DeviceFacts *facts;
	int n;
	(void)state;
	setenv("FAKE_CUDA_DEVICES", "2", 1);
	assert_int_equal(
	    device_probe(cu, arena, &facts, &n, &error), STATUS_OK);
	unsetenv("FAKE_CUDA_DEVICES");
	assert_int_equal(n, 2);
	assert_string_equal(facts[1].name, "Fake 1");
	assert_string_equal(facts[0].arch, "sm_90");
	assert_string_equal(facts[0].version, "CUDA 13.0");
	assert_true(facts[0].usable && facts[0].type == DEVICE_GPU);
	assert_int_equal(facts[0].units, 132);
	assert_int_equal(facts[0].group_size[2], 64);
	assert_int_equal(facts[0].local_bytes, 232448);
	assert_ptr_equal(device_driver("cuda"), cu);
	arena_free(arena);
}

/* The kernel's module was "Module", the open one says for which machine it is. */
static void test_module_version(void **state)
{
	static const char *const cases[][2] = {
	    {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  "
	     "580.159.04  Release Build  (root@host)\n",
		"580.159.04"},
	    {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.54.03  Tue "
	     "Jun  6 22:20:39 UTC 2023\n",
		"535.54.03"},
	    {"none\n", ""}};
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char line[256], version[32];
		snprintf(line, sizeof line, "%s", cases[i][0]);
		cuda_module_version(line, version, sizeof version);
		assert_string_equal(version, cases[i][1]);
	}
}

/* A target of another architecture is not measured here, but its results may be
 * looked at. */
static void test_choice(void **state)
{
	Arena *arena = arena_new();
	Error error = {0};
	MeasureDevice found;
	(void)state;
	const Target *t = target_parse(arena, "cuda -arch=sm_90a", &error);
	assert_int_equal(
	    measure_device_find(t, false, &found, &error), STATUS_OK);
	measure_device_forget(&found);
	t = target_parse(arena, "cuda -arch=sm_80", &error);
	assert_int_equal(
	    measure_device_find(t, true, &found, &error), STATUS_OK);
	measure_device_forget(&found);
	assert_int_equal(
	    measure_device_find(t, false, &found, &error), STATUS_MISSING);
	assert_non_null(strstr(error.text, "the first of cuda is a gpu, Fake 0, "
					   "sm_90"));
	arena_free(arena);
}

static void test_runs(void **state)
{
	Error error = {0};
	double seconds = -1;
	int32_t number = 5;
	(void)state;
	Device *d = open_first();
	DeviceProgram *p = build(d);
	DeviceLaunch l = launch_of(d, p, "count_k0");
	DeviceBuffer *b;
	assert_int_equal(cu->alloc(d, 64, &b, &error), STATUS_OK);
	assert_int_equal(cu->fill(d, b, 0, 64, &error), STATUS_OK);
	assert_int_equal(
	    cu->write(d, b, 0, &number, sizeof number, &error), STATUS_OK);
	assert_int_equal(
	    cu->run(d, &l, 1, &b, 1, 10, &seconds, &error), STATUS_OK);
	assert_true(seconds > 0.0199 && seconds < 0.0201); /* 2 ms each */
	assert_int_equal(
	    cu->read(d, b, 0, &number, sizeof number, &error), STATUS_OK);
	assert_int_equal(number, 15);
	assert_int_equal(
	    cu->read(d, b, 4, &number, sizeof number, &error), STATUS_OK);
	assert_int_equal(number, 0);
	cu->free(d, b);
	cu->drop(d, p);
	cu->close(d);
}

/* Shared memory that a launch gives, more than a kernel has unasked: the driver
 * launches it only where it was asked. */
static void test_shares(void **state)
{
	enum { BYTES = 80 << 10 };
	Error error = {0};
	int32_t number = 5;
	CuModule module;
	CuFunction f;
	void *arguments[] = {&(CuPointer){(uintptr_t)&number}};
	(void)state;
	Device *d = open_first();
	const Cuda *cuda = cuda_library(&error);
	assert_int_equal(
	    cuda->cuModuleLoadDataEx(&module, ptx, 0, NULL, NULL), 0);
	assert_int_equal(
	    cuda->cuModuleGetFunction(&f, module, "count_k0"), 0);
	assert_int_equal(cuda->cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, BYTES, NULL,
			     arguments, NULL), 1);
	assert_int_equal(number, 5);
	cuda->cuModuleUnload(module);
	DeviceProgram *p = build(d);
	DeviceLaunch l = {NULL, {4, 1, 1}, {32, 2, 1}};
	DeviceBuffer *b;
	assert_int_equal(cu->kernel(d, p, "count_k0", l.block, BYTES,
			     &l.kernel, &error), STATUS_OK);
	assert_int_equal(cu->alloc(d, 64, &b, &error), STATUS_OK);
	assert_int_equal(
	    cu->run(d, &l, 1, &b, 1, 1, NULL, &error), STATUS_OK);
	assert_int_equal(cu->kernel(d, p, "count_k0", l.block, 228 << 10,
			     &l.kernel, &error), STATUS_UNSUPPORTED);
	assert_string_equal(error.text,
	    "count_k0 shares 233472 bytes in a block; Fake 0 has 232448");
	assert_int_equal(cu->kernel(d, p, "mean_k0", l.block, BYTES,
			     &l.kernel, &error), STATUS_UNSUPPORTED);
	assert_string_equal(error.text, "Fake 0 gives mean_k0 no 81920 shared "
					"bytes: CUDA_ERROR_INVALID_VALUE");
	cu->free(d, b);
	cu->drop(d, p);
	cu->close(d);
}

/* --- what fails ----------------------------------------------------------- */

static void test_refusals(void **state)
{
	static const int64_t many[3] = {2048, 1, 1}, flat[3] = {1, 1, 128};
	Error error = {0};
	DeviceProgram *none = NULL;
	DeviceKernel *kernel;
	DeviceBuffer *b = NULL;
	(void)state;
	Device *d = open_first();
	assert_int_equal(cu->open(7, &d, &error), STATUS_MISSING);
	assert_int_equal(
	    cu->build(d, "text", 4, "", &none, &error), STATUS_INPUT);
	assert_non_null(strstr(error.text, "this is no PTX"));
	assert_null(none);
	DeviceProgram *p = build(d);
	DeviceLaunch l = launch_of(d, p, "count_k0");
	assert_int_equal(
	    cu->kernel(d, p, "other", l.block, 0, &kernel, &error),
	    STATUS_INPUT);
	assert_non_null(strstr(error.text, "other"));
	assert_int_equal(cu->kernel(d, p, "count_k0", many, 0, &kernel, &error),
	    STATUS_UNSUPPORTED);
	assert_int_equal(cu->kernel(d, p, "count_k0", flat, 0, &kernel, &error),
	    STATUS_UNSUPPORTED);
	assert_non_null(strstr(error.text, "direction 2"));
	assert_int_equal(cu->kernel(d, p, "deep_k0",
			     (int64_t[]){128, 1, 1}, 0, &kernel, &error),
	    STATUS_UNSUPPORTED);
	assert_non_null(strstr(error.text, "it can have 64"));
	assert_int_equal(cu->alloc(d, (size_t)1 << 40, &b, &error),
	    STATUS_UNSUPPORTED);
	assert_non_null(strstr(error.text, "CUDA_ERROR_OUT_OF_MEMORY"));
	cu->drop(d, p);
	cu->close(d);
}

/* After it nothing works any more: in a process of its own. */
static void be_struck(void)
{
	Error error = {0};
	int32_t number;
	Device *d = open_first();
	DeviceProgram *p = build(d), *other = NULL;
	DeviceLaunch l = launch_of(d, p, "sticky_k0");
	DeviceBuffer *b;
	bool good = !cu->alloc(d, 64, &b, &error) &&
	    cu->run(d, &l, 1, &b, 1, 1, NULL, &error) == STATUS_CRASH &&
	    strstr(error.text, "CUDA_ERROR_ILLEGAL_ADDRESS") &&
	    cu->read(d, b, 0, &number, sizeof number, &error) ==
		STATUS_CRASH &&
	    cu->build(d, ptx, sizeof ptx - 1, "", &other, &error) ==
		STATUS_CRASH;
	cu->close(d);
	_exit(good ? 0 : 1);
}

static void test_sticky(void **state)
{
	int ended = -1;
	(void)state;
	pid_t pid = fork();
	if (!pid)
		be_struck();
	assert_int_equal(waitpid(pid, &ended, 0), pid);
	assert_true(WIFEXITED(ended) && !WEXITSTATUS(ended));
}

/* One without a device, and one that does not start. */
static void test_none(void **state)
{
	Arena *arena = arena_new();
	Error error = {0};
	DeviceFacts *facts;
	int n;
	(void)state;
	setenv("FAKE_CUDA_DEVICES", "0", 1);
	assert_int_equal(
	    device_probe(cu, arena, &facts, &n, &error), STATUS_MISSING);
	assert_non_null(strstr(error.text, "NO_DEVICE"));
	unsetenv("FAKE_CUDA_DEVICES");
	setenv("FAKE_CUDA_INIT", "803", 1);
	assert_int_equal(
	    device_probe(cu, arena, &facts, &n, &error), STATUS_MACHINE);
	assert_non_null(strstr(error.text, "SYSTEM_DRIVER_MISMATCH"));
	unsetenv("FAKE_CUDA_INIT");
	arena_free(arena);
}

int main(void)
{
	/* those that ask another process first: this one keeps the library */
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_none),
	    cmocka_unit_test(test_facts),
	    cmocka_unit_test(test_sticky),
	    cmocka_unit_test(test_module_version),
	    cmocka_unit_test(test_choice),
	    cmocka_unit_test(test_runs),
	    cmocka_unit_test(test_shares),
	    cmocka_unit_test(test_refusals),
	};
	return cmocka_run_group_tests(tests, make_library, NULL);
}
