/* A machine's numbers, as plain data: what rules, lowering and the analytic
 * model may know.  How to emit for it is codegen's. */
#ifndef IR_MACHINE_H
#define IR_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
	bool gpu;               /* blocks of threads, memory that those of a
				   block share, barriers */
	int threads;            /* at most, as in -threads=N */
	int vector_bytes;       /* widest useful vector; 0: scalar only */
	int vector_registers;   /* of that width */
	bool fma;               /* fused multiply-add of f32 and f64, vectors too */
	bool masked;            /* masked vector loads and stores are fast */
	bool gather;            /* vector gathers exist */
	bool broadcast;         /* arithmetic reads one element of memory for
				   all lanes */
	bool splat;             /* a load fills all lanes with one element */
	bool scale;             /* vectors of floats times powers of two, rounded
				   once, in an instruction */
	bool rsqrt;             /* estimates of reciprocal roots of f32, to 14
				   bits */
	bool f16c;              /* f16 <-> f32 conversion instructions */
	int fma_per_cycle;      /* vector FMAs issued per cycle */
	int fma_latency;        /* cycles */
	int64_t l1_bytes, l2_bytes, l3_bytes; /* data; l3 as one core may use it */
	int l1_ways;
	int line_bytes;
	double clock_ghz;       /* 0 if unknown */

	/* Of a GPU; 0 elsewhere.  Its caches are l1 (a processor's, with what
	 * is shared) and l2; fma_per_cycle counts threads of a processor. */
	int processors;         /* that run blocks ("SM", compute unit) */
	int warp;               /* threads that run together */
	int block_threads;      /* at most */
	int processor_threads, processor_blocks; /* at once, at most */
	int thread_registers, processor_registers; /* of 32 bits */
	int64_t block_shared, processor_shared; /* bytes, at most */
} Machine;

#endif
