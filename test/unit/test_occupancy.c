/* Blocks that a processor runs at once, to what cuda_occupancy.h of CUDA 13.0
 * says, a kernel asking for all the shared memory that it may; of AMD's GPUs waves
 * of a SIMD, to what LLVM's AMDGPU back end prints ("Occupancy"). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "codegen/amd_gpu.h"
#include "codegen/gpu.h"

enum { ARCHS = 5, AMD_ARCHS = 6 };

static const char *const archs[ARCHS] = {
    "sm_75", "sm_80", "sm_86", "sm_89", "sm_90"};

static const struct {
	int threads, registers, shared_bytes;
	int blocks[ARCHS];
} rows[] = {
    {32, 32, 0, {16, 32, 16, 24, 32}},
    {64, 32, 0, {16, 32, 16, 24, 32}},
    {96, 40, 0, {10, 16, 16, 16, 16}},
    {128, 64, 0, {8, 8, 8, 8, 8}},
    {128, 168, 24576, {2, 3, 3, 3, 3}},
    {256, 32, 0, {4, 8, 6, 6, 8}},
    {256, 64, 16384, {4, 4, 4, 4, 4}},
    {256, 96, 16384, {2, 2, 2, 2, 2}},
    {256, 128, 16384, {2, 2, 2, 2, 2}},
    {256, 128, 49152, {1, 2, 2, 2, 2}},
    {256, 255, 0, {1, 1, 1, 1, 1}},
    {288, 104, 0, {1, 1, 1, 1, 1}},
    {384, 168, 0, {1, 1, 1, 1, 1}},
    {416, 160, 0, {0, 0, 0, 0, 0}},
    {512, 128, 65536, {1, 1, 1, 1, 1}},
    {768, 80, 0, {1, 1, 1, 1, 1}},
    {800, 72, 8192, {1, 1, 1, 1, 1}},
    {1024, 64, 0, {1, 1, 1, 1, 1}},
    {1024, 65, 0, {0, 0, 0, 0, 0}},
    {1000, 40, 33000, {1, 1, 1, 1, 1}},
    {64, 255, 0, {4, 4, 4, 4, 4}},
    {128, 32, 100000, {0, 1, 1, 1, 2}},
    {32, 16, 49152, {1, 3, 2, 2, 4}},
    {128, 168, 81920, {0, 2, 1, 1, 2}},
    {512, 64, 65536, {1, 2, 1, 1, 2}},
    {32, 16, 232448, {0, 0, 0, 0, 1}},
    {192, 104, 1100, {2, 2, 2, 2, 2}},
};

static Machine machine_of(const char *arch)
{
	Machine m;
	gpu_machine(gpu_find(arch), &m);
	return m;
}

static void test_blocks(void **state)
{
	(void)state;
	for (int a = 0; a < ARCHS; a++) {
		Machine m = machine_of(archs[a]);
		for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
			Occupancy o = occupancy(&m, rows[i].threads,
			    rows[i].registers, rows[i].shared_bytes);
			if (o.blocks != rows[i].blocks[a])
				fail_msg("%s, %d threads, %d registers, %d "
					"bytes: %d blocks", archs[a],
				    rows[i].threads, rows[i].registers,
				    rows[i].shared_bytes, o.blocks);
			assert_true(!o.blocks == (o.why != NULL));
		}
	}
}

static void test_refused(void **state)
{
	(void)state;
	Machine m = machine_of("sm_80");
	assert_string_equal(occupancy(&m, 1025, 16, 0).why,
	    "more threads in a block than this GPU has");
	assert_string_equal(occupancy(&m, 32, 256, 0).why,
	    "more registers in a thread than this GPU has");
	assert_string_equal(occupancy(&m, 1024, 65, 0).why,
	    "more registers in a block than this GPU has");
	assert_string_equal(occupancy(&m, 32, 16, (163 << 10) + 1).why,
	    "more shared memory than a block has");
	assert_null(occupancy(&m, 32, 16, 163 << 10).why);
}

static const char *const amd_archs[AMD_ARCHS] = {
    "gfx906", "gfx908", "gfx90a", "gfx942", "gfx1030", "gfx1100"};

/* Of one wave where there are no threads: blocks of several come and go whole,
 * which LLVM leaves out where registers are what is short. */
static const struct {
	int threads, registers, shared_bytes;
	int waves[AMD_ARCHS]; /* of a SIMD */
} amd_rows[] = {
    {0, 24, 0, {10, 10, 8, 8, 16, 16}},
    {0, 25, 0, {9, 9, 8, 8, 16, 16}},
    {0, 32, 0, {8, 8, 8, 8, 16, 16}},
    {0, 40, 0, {6, 6, 8, 8, 16, 16}},
    {0, 65, 0, {3, 3, 7, 7, 12, 16}},
    {0, 84, 0, {3, 3, 5, 5, 10, 16}},
    {0, 100, 0, {2, 2, 4, 4, 9, 12}},
    {0, 129, 0, {1, 1, 3, 3, 7, 10}},
    {0, 168, 0, {1, 1, 3, 3, 5, 9}},
    {0, 250, 0, {1, 1, 2, 2, 4, 5}},
    {64, 16, 1024, {10, 10, 8, 8, 16, 16}},
    {64, 16, 4096, {4, 4, 4, 4, 16, 16}},
    {128, 16, 1024, {8, 8, 8, 8, 16, 16}},
    {256, 16, 8192, {8, 8, 8, 8, 16, 16}},
    {256, 16, 16384, {4, 4, 4, 4, 16, 16}},
    {256, 16, 16385, {3, 3, 3, 3, 14, 14}},
    {256, 16, 20000, {3, 3, 3, 3, 12, 12}},
    {256, 16, 40000, {1, 1, 1, 1, 6, 6}},
    {512, 16, 32768, {4, 4, 4, 4, 16, 16}},
    {1024, 16, 65536, {4, 4, 4, 4, 16, 16}},
    {320, 16, 0, {10, 10, 8, 8, 15, 15}},
    {704, 16, 0, {9, 9, 6, 6, 11, 11}},
};

static void test_waves(void **state)
{
	(void)state;
	for (int a = 0; a < AMD_ARCHS; a++) {
		Machine m;
		amd_gpu_machine(amd_gpu_find(amd_archs[a]), &m);
		for (size_t i = 0; i < sizeof amd_rows / sizeof *amd_rows;
		     i++) {
			int threads = amd_rows[i].threads
			    ? amd_rows[i].threads : m.warp;
			Occupancy o = occupancy(&m, threads,
			    amd_rows[i].registers, amd_rows[i].shared_bytes);
			int warps = (threads + m.warp - 1) / m.warp * o.blocks;
			int waves = (warps + m.partitions - 1) / m.partitions;
			if (waves != amd_rows[i].waves[a])
				fail_msg("%s, %d threads, %d registers, %d "
					"bytes: %d waves", amd_archs[a],
				    threads, amd_rows[i].registers,
				    amd_rows[i].shared_bytes, waves);
		}
	}
}

/* Compute units do not trade their memory for cache. */
static void test_amd_shared(void **state)
{
	(void)state;
	Machine cdna, rdna;
	amd_gpu_machine(amd_gpu_find("gfx90a"), &cdna);
	amd_gpu_machine(amd_gpu_find("gfx1100"), &rdna);
	assert_int_equal(occupancy_shared(&cdna, 0), 64 << 10);
	assert_int_equal(occupancy_shared(&rdna, 1), 128 << 10);
	assert_string_equal(occupancy(&rdna, 32, 16, (64 << 10) + 1).why,
	    "more shared memory than a block has");
	assert_string_equal(occupancy(&cdna, 1024, 129, 0).why,
	    "more registers in a block than this GPU has");
}

/* A device that does not say what it has runs a block at a time. */
static void test_unknown(void **state)
{
	(void)state;
	Machine m = {.gpu = true, .block_threads = 256};
	assert_int_equal(occupancy(&m, 256, 200, 1 << 20).blocks, 1);
	assert_int_equal(occupancy(&m, 257, 1, 0).blocks, 0);
}

/* What is shared comes in steps; the rest is a cache. */
static void test_shared(void **state)
{
	(void)state;
	Machine turing = machine_of("sm_75"), ampere = machine_of("sm_86");
	Machine hopper = machine_of("sm_90");
	assert_int_equal(occupancy_shared(&turing, 0), 32 << 10);
	assert_int_equal(occupancy_shared(&turing, 33 << 10), 64 << 10);
	assert_int_equal(occupancy_shared(&ampere, 0), 0);
	assert_int_equal(occupancy_shared(&ampere, 1), 8 << 10);
	assert_int_equal(occupancy_shared(&ampere, 65 << 10), 100 << 10);
	assert_int_equal(occupancy_shared(&hopper, 200 << 10), 228 << 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_blocks),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_waves),
	    cmocka_unit_test(test_amd_shared),
	    cmocka_unit_test(test_unknown),
	    cmocka_unit_test(test_shared),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
