/* What is known of OpenCL's devices without one: numbers by what they are like. */
#ifndef CODEGEN_OPENCL_CLASS_H
#define CODEGEN_OPENCL_CLASS_H

#include "ir/machine.h"
#include "lib/arena.h"

typedef struct {
	const char *name;
	int vector_bits; /* of a CPU; 0: a GPU */
	const char *cpu; /* whose caches and clock */
	int group_threads, local_kib, wave, units, fma, unit_threads, l2_kib;
	double clock_ghz;
} OpenclClass;

/* NULL for one that is not in the table. */
const OpenclClass *opencl_class_find(const char *name);
char *opencl_class_list(Arena *arena); /* "cpu, cpu512, gpu …" */
void opencl_class_machine(const OpenclClass *device, Machine *machine);

#endif
