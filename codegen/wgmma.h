/* Products as PTX, which both emitters of CUDA write: types, a warpgroup's. */
#ifndef CODEGEN_WGMMA_H
#define CODEGEN_WGMMA_H

#include "ir/lowered/lowered.h"
#include "lib/buf.h"

enum { WGMMA_STEP = 32, WGMMA_STEPS = GROUP_LINE / WGMMA_STEP };

/* As a sum has it; as a product's operand does, where f32 is tf32. */
const char *ptx_type(DType type);
const char *ptx_operand(DType type);
/* Lines of assembly, in braces.  Its operands are numbered behind `sign`: the sums,
 * then for each of WGMMA_STEPS a's descriptor and b's. */
void wgmma_text(Buf *out, const Intrinsic *in, int columns,
    const LowTile *tiles, char sign);
/* A descriptor but for the first address, in units of 16 bytes below 2^14; by how
 * much it is more for the next step. */
uint64_t wgmma_descriptor(LowTile tile, DType type);
int wgmma_advance(LowTile tile);

#endif
