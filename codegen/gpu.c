#include "codegen/gpu.h"
#include "ir/costs.h"

#include <stdlib.h>
#include <string.h>

static const Gpu gpus[] = {
#define GPU(arch, threads, blocks, own, most, all, l1, unit, kept, loads, fma,  \
    tensor, processors, l2, l2_gb, gb, ghz)                                    \
	{arch, threads, blocks, own, most, all, l1, unit, kept, loads, fma,    \
	    tensor, processors, l2, l2_gb, gb, ghz},
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

/* The same for all of them; times as others have measured them, with nothing
 * else under way. */
enum { WARP = 32, BLOCK_THREADS = 1024, THREAD_REGISTERS = 255,
	PROCESSOR_REGISTERS = 65536, REGISTER_UNIT = 256, PARTITIONS = 4,
	BANKS = 32, SECTOR_BYTES = 32, LINE_BYTES = 128, FMA_LATENCY = 4,
	SPECIAL = 16, L1_NS = 20, L2_NS = 150, MEMORY_NS = 500,
	LAUNCH_NS = 3000 };

enum { KIB = 1024 };

/* Of a processor's memory so much is shared at least where the cache cannot have
 * all of it. */
static int64_t shared_least(const Gpu *gpu)
{
	return gpu->shared_kept ? 0 : gpu->shared_all / 2 * (int64_t)KIB;
}

void gpu_machine(const Gpu *gpu, Machine *machine)
{
	int capability = atoi(gpu->arch + strlen("sm_"));
	*machine = (Machine){
	    .gpu = true,
	    .gpu_costs = gpu_costs_of_family("nvidia"),
	    .no_libm = true,
	    .threads = 1,
	    .fma = true,
	    .f16c = true,
	    .fma_per_cycle = gpu->fma,
	    .fma_latency = FMA_LATENCY,
	    .l1_bytes = gpu->l1 * (int64_t)KIB,
	    .l2_bytes = gpu->l2_mib * (int64_t)KIB * KIB,
	    .line_bytes = LINE_BYTES,
	    .clock_ghz = gpu->clock_ghz,
	    .processors = gpu->processors,
	    .partitions = PARTITIONS,
	    .warp = WARP,
	    .exchanges = WARP,
	    .issue_per_cycle = PARTITIONS,
	    .block_threads = BLOCK_THREADS,
	    .processor_threads = gpu->processor_threads,
	    .processor_blocks = gpu->processor_blocks,
	    .thread_registers = THREAD_REGISTERS,
	    .processor_registers = PROCESSOR_REGISTERS,
	    .register_unit = REGISTER_UNIT,
	    .block_shared = gpu->shared_own * (int64_t)KIB,
	    .block_shared_most = gpu->shared_most * (int64_t)KIB,
	    .block_shared_own = gpu->shared_kept,
	    .async_copies = capability >= 80,
	    .warpgroups = !strcmp(gpu->arch, "sm_90a"),
	    .capability = capability,
	    .processor_shared = gpu->shared_all * (int64_t)KIB,
	    .processor_shared_least = shared_least(gpu),
	    .shared_unit = gpu->shared_unit,
	    .banks = BANKS,
	    .sector_bytes = SECTOR_BYTES,
	    .load_per_cycle = gpu->loads,
	    .special_per_cycle = SPECIAL,
	    .tensor_per_cycle = gpu->tensor,
	    .l2_gb_per_s = gpu->l2_gb_per_s,
	    .memory_gb_per_s = gpu->gb_per_s,
	    .l1_ns = L1_NS,
	    .l2_ns = L2_NS,
	    .memory_ns = MEMORY_NS,
	    .launch_ns = LAUNCH_NS,
	};
}
