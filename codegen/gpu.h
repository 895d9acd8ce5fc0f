/* What is known of GPUs without one: limits and rates by compute capability. */
#ifndef CODEGEN_GPU_H
#define CODEGEN_GPU_H

#include "ir/machine.h"
#include "lib/arena.h"

typedef struct {
	const char *arch; /* "sm_90" */
	int processor_threads, processor_blocks;
	int shared_own, shared_most, shared_all, l1; /* KiB */
	int shared_unit, shared_kept; /* bytes */
	int loads, fma, tensor; /* f32 and f16, a clock and processor */
	int processors, l2_mib, l2_gb_per_s, gb_per_s;
	double clock_ghz;
} Gpu;

/* NULL for one that is not in the table. */
const Gpu *gpu_find(const char *arch);
char *gpu_list(Arena *arena); /* "sm_75, sm_80 …" */
void gpu_machine(const Gpu *gpu, Machine *machine);

#endif
