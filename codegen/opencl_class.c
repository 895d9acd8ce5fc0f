#include "codegen/opencl_class.h"

#include <string.h>

#include "codegen/cpu.h"
#include "ir/costs.h"

static const OpenclClass devices[] = {
#define DEVICE(name, vectors, cpu, group, local, wave, units, fma, threads,    \
    l2, ghz)                                                                   \
	{name, vectors, cpu, group, local, wave, units, fma, threads, l2, ghz},
#include "codegen/opencl_classes.def"
#undef DEVICE
};
enum { NDEVICES = sizeof devices / sizeof *devices };

const OpenclClass *opencl_class_find(const char *name)
{
	for (int i = 0; i < NDEVICES; i++)
		if (!strcmp(devices[i].name, name))
			return &devices[i];
	return NULL;
}

char *opencl_class_list(Arena *arena)
{
	char *text = arena_strdup(arena, "");
	for (int i = 0; i < NDEVICES; i++)
		text = arena_printf(
		    arena, "%s%s%s", text, i ? ", " : "", devices[i].name);
	return text;
}

/* Groups that the iterations of a parallel loop are dealt to: more than most
 * CPUs have cores, so that a device with fewer deals them evenly, and few enough
 * for each to have its piece of the workspace. */
enum { CPU_GROUPS = 16 };

/* OpenCL C has vectors of 16, but no masks, gathers or estimates. */
static void cpu_device(const OpenclClass *d, Machine *m)
{
	const Cpu *cpu = cpu_find(ARCH_X86_64, d->cpu);
	cpu_machine(cpu, cpu->features, m);
	m->vector_bytes = d->vector_bits / 8;
	m->masked = m->gather = m->scale = m->rsqrt = false;
	m->permutes = 0;
	m->threads = m->processors = CPU_GROUPS;
}

/* Nobody says these of a class: guesses that a model can rank with. */
enum { THREAD_REGISTERS = 128, LINE_BYTES = 64, FMA_LATENCY = 4,
	PARTITIONS = 4, BANKS = 32, SECTOR_BYTES = 32, LOADS = 32, SPECIAL = 16,
	L1_NS = 30, L2_NS = 200, MEMORY_NS = 600, LAUNCH_NS = 5000 };

static void gpu_device(const OpenclClass *d, Machine *m)
{
	*m = (Machine){
	    .gpu = true,
	    .gpu_costs = gpu_costs_of_family("opencl"),
	    .threads = 1,
	    .fma = true,
	    .fma_per_cycle = d->fma,
	    .fma_latency = FMA_LATENCY,
	    .l1_bytes = d->local_kib * INT64_C(1024),
	    .l2_bytes = d->l2_kib * INT64_C(1024),
	    .line_bytes = LINE_BYTES,
	    .clock_ghz = d->clock_ghz,
	    .processors = d->units,
	    .warp = d->wave,
	    .block_threads = d->group_threads,
	    .processor_threads = d->unit_threads,
	    .processor_blocks = 16,
	    .thread_registers = THREAD_REGISTERS,
	    .processor_registers = 65536,
	    .partitions = PARTITIONS,
	    .issue_per_cycle = PARTITIONS,
	    .banks = BANKS,
	    .sector_bytes = SECTOR_BYTES,
	    .load_per_cycle = LOADS,
	    .special_per_cycle = SPECIAL,
	    .l1_ns = L1_NS,
	    .l2_ns = L2_NS,
	    .memory_ns = MEMORY_NS,
	    .launch_ns = LAUNCH_NS,
	    .block_shared = d->local_kib * INT64_C(1024),
	    .processor_shared = d->local_kib * INT64_C(1024),
	};
}

void opencl_class_machine(const OpenclClass *device, Machine *machine)
{
	if (device->vector_bits)
		cpu_device(device, machine);
	else
		gpu_device(device, machine);
}
