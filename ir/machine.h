/* A machine's numbers, as plain data: what rules, lowering and the analytic
 * model may know.  How to emit for it is codegen's. */
#ifndef IR_MACHINE_H
#define IR_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

/* A sum of products as one operation. */
typedef struct {
	unsigned char instructions; /* for one; 0: it is not worth tiling for */
	bool flushes;               /* subnormals, to 0 */
} MachineDot;
enum { MACHINE_DOTS = 8 }; /* at least those of ir/intrinsics.def */

typedef struct {
	bool gpu;               /* blocks of threads, memory that those of a
				   block share, barriers */
	bool no_libm;           /* functions are written out, or refused */
	int threads;            /* at most, as in -threads=N */
	int vector_bytes;       /* widest useful vector; 0: scalar only */
	int vector_registers;   /* of that width */
	bool fma;               /* fused multiply-add of f32 and f64, vectors too */
	bool masked;            /* masked vector loads and stores are fast */
	bool gather;            /* vector gathers exist */
	bool broadcast;         /* arithmetic reads one element of memory for
				   all lanes */
	bool splat;             /* a load fills all lanes with one element */
	bool byte_masks;        /* lanes of bytes and words are chosen by masks */
	int permutes; /* an instruction takes any lanes of two vectors, of
				   so many bytes or more; 0: none does */
	bool scale;             /* vectors of floats times powers of two, rounded
				   once, in an instruction */
	bool rsqrt;             /* estimates of reciprocal roots of f32, to 14
				   bits */
	bool f16c;              /* f16 <-> f32 conversion instructions */
	MachineDot dots[MACHINE_DOTS]; /* by number of an intrinsic */
	int fma_per_cycle;      /* vector FMAs issued per cycle */
	int fma_latency;        /* cycles */
	int64_t l1_bytes, l2_bytes, l3_bytes; /* data; l3 as one core may use it */
	int l1_ways;
	int line_bytes;
	double clock_ghz;       /* 0 if unknown */
	const struct MachineCosts *costs; /* what code costs (ir/costs.h); NULL:
					     the first row of the table */
	const char *family; /* of CPUs whose row that is; NULL: no CPU's */

	/* Of a GPU; 0 elsewhere, and where a device does not say.  Its caches
	 * are l1 (a processor's, together with what is shared) and l2;
	 * fma_per_cycle counts threads of a processor. */
	int processors;         /* that run blocks ("SM", compute unit) */
	int partitions;         /* of a processor, each with its registers */
	int warp;               /* threads that run together */
	int exchanges;          /* threads that read each other's registers, of
				   consecutive numbers; 0: none do */
	int issue_per_cycle;    /* instructions of warps that begin */
	int block_threads;      /* at most */
	int processor_threads, processor_blocks; /* at once, at most */
	int processor_barriers; /* blocks that have several warps; 0: as many */
	int thread_registers, processor_registers; /* of 32 bits */
	int register_unit;      /* a warp gets a multiple of it */
	int64_t block_shared;   /* bytes, at most, as a kernel declares them */
	int64_t block_shared_most; /* where its launch asks for more; 0: it
				      cannot */
	int64_t block_shared_own;  /* that a block loses to the driver */
	int64_t processor_shared;  /* at most; the rest is its cache */
	int64_t processor_shared_least;
	int shared_unit;        /* a block gets a multiple of it */
	int banks;              /* of 4 bytes, of shared memory */
	int sector_bytes;       /* of a line, brought alone */
	int load_per_cycle;     /* threads whose loads begin: as fma_per_cycle */
	int special_per_cycle;  /* exponentials, reciprocals: likewise */
	int tensor_per_cycle;   /* FMAs of f16 by its matrix unit */
	int l2_gb_per_s, memory_gb_per_s;
	int l1_ns, l2_ns, memory_ns; /* until what is loaded is there */
	int launch_ns;          /* between a kernel and the next */
	const struct GpuCosts
	    *gpu_costs;		/* what code costs; NULL: the first row
					     of ir/gpu_costs.def */
	bool async_copies;      /* to shared memory, past the registers */
	bool warpgroups;        /* four warps multiply what a block shares
				   (ir/warpgroups.def) */
	int capability;         /* 10*major + minor of NVIDIA's; 0: another's */
} Machine;

/* costs.c: never NULL. */
const struct MachineCosts *machine_costs(const Machine *machine);
const struct GpuCosts *machine_gpu_costs(const Machine *machine);

/* occupancy.c: how many blocks a processor of a GPU runs at once. */
typedef struct {
	int blocks; /* 0: none can run */
	int by_threads, by_registers, by_shared; /* each alone; at least blocks */
	const char *why; /* none can; else NULL */
} Occupancy;
/* For so many threads in a block, registers in a thread and bytes that a block
 * shares. */
Occupancy occupancy(const Machine *machine, int64_t threads, int64_t registers,
    int64_t shared_bytes);
/* Bytes that a block can share, its launch asking for them or not; 0: not known. */
int64_t occupancy_block_shared(const Machine *machine);
/* The part of a processor's memory that is shared where its blocks need so many
 * bytes: sizes come in steps. */
int64_t occupancy_shared(const Machine *machine, int64_t bytes);

#endif
