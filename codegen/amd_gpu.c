#include "codegen/amd_gpu.h"
#include "ir/costs.h"

#include <string.h>

static const AmdGpu gpus[] = {
#define AMD(arch, wave, waves, blocks, thread, lane, unit, shared, l1, line,    \
    issue, loads, fma, processors, l2, l2_gb, gb, ghz)                         \
	{arch, wave, waves, blocks, thread, lane, unit, shared, l1, line,      \
	    issue, loads, fma, processors, l2, l2_gb, gb, ghz},
#include "codegen/amd_gpus.def"
#undef AMD
};
enum { NGPUS = sizeof gpus / sizeof *gpus };

const AmdGpu *amd_gpu_find(const char *arch)
{
	for (int i = 0; i < NGPUS; i++)
		if (!strcmp(gpus[i].arch, arch))
			return &gpus[i];
	return NULL;
}

char *amd_gpu_list(Arena *arena)
{
	char *text = arena_strdup(arena, "");
	for (int i = 0; i < NGPUS; i++)
		text = arena_printf(
		    arena, "%s%s%s", text, i ? ", " : "", gpus[i].arch);
	return text;
}

/* The same for all of them; times are guesses that a model can rank with.  What is
 * exchanged within a wave is so among 32 threads, as the lowered form has it. */
enum { EXCHANGES = 32, BLOCK_THREADS = 1024, SIMDS = 4, BLOCK_SHARED_KIB = 64,
	SHARED_UNIT = 512, BANKS = 32, SECTOR_BYTES = 64, FMA_LATENCY = 4,
	SPECIAL_SHARE = 4, L1_NS = 60, L2_NS = 200, MEMORY_NS = 600,
	LAUNCH_NS = 5000 };

enum { KIB = 1024 };

/* What is shared is no part of a cache: all of it always. */
void amd_gpu_machine(const AmdGpu *gpu, Machine *machine)
{
	*machine = (Machine){
	    .gpu = true,
	    .gpu_costs = gpu_costs_of_family("amd"),
	    .no_libm = true,
	    .threads = 1,
	    .fma = true,
	    .f16c = true,
	    .fma_per_cycle = gpu->fma,
	    .fma_latency = FMA_LATENCY,
	    .l1_bytes = (gpu->l1_kib + gpu->shared_kib) * (int64_t)KIB,
	    .l2_bytes = gpu->l2_mib * (int64_t)KIB * KIB,
	    .line_bytes = gpu->line_bytes,
	    .clock_ghz = gpu->clock_ghz,
	    .processors = gpu->processors,
	    .partitions = SIMDS,
	    .issue_per_cycle = gpu->issue,
	    .warp = gpu->wave,
	    .exchanges = EXCHANGES,
	    .block_threads = BLOCK_THREADS,
	    .processor_threads = gpu->waves * gpu->wave,
	    .processor_blocks = gpu->waves,
	    .processor_barriers = gpu->blocks,
	    .thread_registers = gpu->thread_registers,
	    .processor_registers = gpu->lane_registers * gpu->wave * SIMDS,
	    .register_unit = gpu->register_unit * gpu->wave,
	    .block_shared = BLOCK_SHARED_KIB * (int64_t)KIB,
	    .processor_shared = gpu->shared_kib * (int64_t)KIB,
	    .processor_shared_least = gpu->shared_kib * (int64_t)KIB,
	    .shared_unit = SHARED_UNIT,
	    .banks = BANKS,
	    .sector_bytes = SECTOR_BYTES,
	    .load_per_cycle = gpu->loads,
	    .special_per_cycle = gpu->fma / SPECIAL_SHARE,
	    .l2_gb_per_s = gpu->l2_gb_per_s,
	    .memory_gb_per_s = gpu->gb_per_s,
	    .l1_ns = L1_NS,
	    .l2_ns = L2_NS,
	    .memory_ns = MEMORY_NS,
	    .launch_ns = LAUNCH_NS,
	};
}
