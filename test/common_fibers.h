/* A GPU's launch on one CPU: each thread of a block is a fiber, which runs until it
 * waits.  Compiled kernels call what is declared here. */
#ifndef TEST_COMMON_FIBERS_H
#define TEST_COMMON_FIBERS_H

#include <stdint.h>

#include "lib/buf.h"

/* Runs f(args[0], args[1] …) as each thread of each block, blocks one after the
 * other.  NULL, or what is wrong: some threads wait at a barrier that others
 * never reach. */
const char *fibers_run(void *f, void *const *args, int nargs,
    const int64_t grid[3], const int64_t block[3]);

/* Of the thread that runs: its number, its block's, in a direction. */
unsigned fibers_thread(int direction);
unsigned fibers_block(int direction);
void fibers_barrier(void);
/* The value that another thread of the warp has: it, its lane being xored with
 * `mask`; all 32 have to come. */
uint32_t fibers_shuffle_xor(uint32_t value, unsigned mask);
/* Of n matrices a word each, from rows of 16 bytes that the warp's threads have. */
void fibers_matrix(uint32_t *to, const void *row, int n, int transposed);
/* A warp's product (ir/fragments.def); a's words, then b's; 4 sums. */
void fibers_mma(const char *name, const uint32_t *words, uint32_t *sums);
uint32_t fibers_tf32(float x);
/* A warpgroup's (ir/warpgroups.def), of n columns; a's descriptor and b's, by turns,
 * of each step; do they lie across? */
void fibers_wgmma(const char *name, void *sums, int n, const uint64_t *tiles,
    int a_across, int b_across);
/* To an address of which these are the low bits, in the library that runs. */
void fibers_copy(uint32_t to, const void *from, int bytes);

/* common_fibers_ir.c: an IR for NVPTX as one of a CPU that calls all this. */
void fibers_ir(Buf *out, const char *text);

#endif
