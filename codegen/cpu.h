/* What is known of CPUs without asking LLVM: their features, their numbers, and
 * which one this machine has.  test_target.c keeps the tables equal to LLVM's.
 */
#ifndef CODEGEN_CPU_H
#define CODEGEN_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "ir/machine.h"
#include "lib/arena.h"

typedef enum { ARCH_X86_64, ARCH_AARCH64, ARCH_NVPTX, ARCH_AMDGPU,
	ARCH_OTHER } Arch;

typedef enum {
#define CPU_FEATURE(id, name, flag, implies) FEATURE_##id,
#include "codegen/cpu_features.def"
#undef CPU_FEATURE
	CPU_FEATURE_COUNT
} CpuFeature;

typedef enum {
#define ARM_FEATURE(id, name) ARM_FEATURE_##id,
#include "codegen/arm_features.def"
#undef ARM_FEATURE
	ARM_FEATURE_COUNT
} ArmFeature;

/* A bit for each CpuFeature, or of an aarch64 CPU for each ArmFeature. */
typedef uint64_t CpuFeatures;
#define FEATURE_BIT(id) ((CpuFeatures)1 << FEATURE_##id)
#define ARM_BIT(id)	((CpuFeatures)1 << ARM_FEATURE_##id)

typedef struct {
	const char *name; /* LLVM's */
	Arch arch;
	CpuFeatures features; /* with all that they imply */
	bool masked_avx2;     /* AVX2's masked stores are fast too */
	int fma_per_cycle, fma_latency;
	int l1_kib, l1_ways, l2_kib, l3_kib;
	double clock_ghz; /* nominal */
	const char *family; /* whose row of ir/cpu_costs.def it has */
} Cpu;

Arch cpu_arch(const char *triple);
const char *cpu_feature_name(CpuFeature feature);
/* -1 for a name that is not in the table. */
int cpu_feature_find(const char *name);
/* NULL for a CPU that is not in the table. */
const Cpu *cpu_find(Arch arch, const char *name);
int cpu_count(void);
const Cpu *cpu_at(int i);

/* Adds a feature and what it implies; removes one and what needs it. */
CpuFeatures cpu_feature_add(CpuFeatures set, CpuFeature feature);
CpuFeatures cpu_feature_remove(CpuFeatures set, CpuFeature feature);
/* Of an x86-64 CPU and attributes "+a,-b"; a CPU that is not in the table
 * counts as plain x86-64, attributes that are not are passed over. */
CpuFeatures cpu_features(const char *cpu, const char *attrs);
/* Of an aarch64 CPU: one that is not in the table has none but those of attrs. */
CpuFeatures cpu_arm_features(const char *cpu, const char *attrs);
const char *cpu_arm_feature_name(ArmFeature feature);
/* The shortest attributes, sorted, that turn `from` into `to`. */
char *cpu_feature_difference(Arena *arena, CpuFeatures from, CpuFeatures to);

/* This machine, from the text of /proc/cpuinfo (its first processor). */
typedef struct {
	const Cpu *cpu; /* NULL: not x86-64, or no /proc/cpuinfo */
	CpuFeatures features;
	char model[128]; /* for people; "" if unknown */
} CpuHost;
void cpu_host_parse(const char *cpuinfo, CpuHost *host);
void cpu_host(CpuHost *host);

/* The numbers of a CPU with these features. */
void cpu_machine(const Cpu *cpu, CpuFeatures features, Machine *machine);

#endif
