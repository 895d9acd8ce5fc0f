/* What is known of AMD's GPUs without one, by what LLVM calls them. */
#ifndef CODEGEN_AMD_GPU_H
#define CODEGEN_AMD_GPU_H

#include "ir/machine.h"
#include "lib/arena.h"

typedef struct {
	const char *arch; /* "gfx90a" */
	int wave, waves, blocks; /* threads; of a processor */
	int thread_registers, lane_registers, register_unit;
	int shared_kib, l1_kib, line_bytes;
	int issue, loads, fma; /* a clock and processor */
	int processors, l2_mib, l2_gb_per_s, gb_per_s;
	double clock_ghz;
} AmdGpu;

/* NULL for one that is not in the table. */
const AmdGpu *amd_gpu_find(const char *arch);
char *amd_gpu_list(Arena *arena); /* "gfx906, gfx908 …" */
void amd_gpu_machine(const AmdGpu *gpu, Machine *machine);

#endif
