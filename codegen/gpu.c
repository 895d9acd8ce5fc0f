#include "codegen/gpu.h"

#include <string.h>

static const Gpu gpus[] = {
#define GPU(arch, threads, blocks, own, most, all, fma, processors, l2, gb,    \
    ghz)                                                                       \
	{arch, threads, blocks, own, most, all, fma, processors, l2, gb, ghz},
#include "codegen/gpus.def"
#undef GPU
};
enum { NGPUS = sizeof gpus / sizeof *gpus };

const Gpu *gpu_find(const char *arch)
{
	for (int i = 0; i < NGPUS; i++)
		if (!strcmp(gpus[i].arch, arch))
			return &gpus[i];
	return NULL;
}

char *gpu_list(Arena *arena)
{
	char *text = arena_strdup(arena, "");
	for (int i = 0; i < NGPUS; i++)
		text = arena_printf(
		    arena, "%s%s%s", text, i ? ", " : "", gpus[i].arch);
	return text;
}

/* The same for all of them. */
enum { WARP = 32, BLOCK_THREADS = 1024, THREAD_REGISTERS = 255,
	PROCESSOR_REGISTERS = 65536, LINE_BYTES = 128, FMA_LATENCY = 4 };

void gpu_machine(const Gpu *gpu, Machine *machine)
{
	*machine = (Machine){
	    .gpu = true,
	    .threads = 1,
	    .fma = true,
	    .f16c = true,
	    .fma_per_cycle = gpu->fma,
	    .fma_latency = FMA_LATENCY,
	    .l1_bytes = gpu->shared_all * INT64_C(1024),
	    .l2_bytes = gpu->l2_mib * INT64_C(1024) * 1024,
	    .line_bytes = LINE_BYTES,
	    .clock_ghz = gpu->clock_ghz,
	    .processors = gpu->processors,
	    .warp = WARP,
	    .block_threads = BLOCK_THREADS,
	    .processor_threads = gpu->processor_threads,
	    .processor_blocks = gpu->processor_blocks,
	    .thread_registers = THREAD_REGISTERS,
	    .processor_registers = PROCESSOR_REGISTERS,
	    .block_shared = gpu->shared_own * INT64_C(1024),
	    .processor_shared = gpu->shared_all * INT64_C(1024),
	};
}
