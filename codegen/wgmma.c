/* A warpgroup's product as PTX.  All that it takes is one piece of assembly, from
 * the fence before to the wait behind, so that nobody moves the sums in between:
 *
 *     wgmma.fence
 *     wgmma.mma_async  sums, a, b          for each 32 bytes of a line
 *     wgmma.commit_group
 *     wgmma.wait_group 0
 *
 * A descriptor says where a matrix lies in units of 16 bytes: its first line; of
 * one across, how far the next 64 rows or columns are; how far the next 8 lines
 * are; and that lines of 128 bytes are swizzled (PTX ISA, matrix descriptor
 * format). */
#include "codegen/wgmma.h"

#include <assert.h>

enum { UNIT = 16, LINES = 8, NEXT_AT = 16, LINES_AT = 32, SWIZZLE_AT = 62 };

const char *ptx_type(DType type)
{
	switch (type) {
	case DT_F16: return "f16";
	case DT_BF16: return "bf16";
	case DT_I8: return "s8";
	case DT_I32: return "s32";
	default: assert(type == DT_F32); return "f32";
	}
}

const char *ptx_operand(DType type)
{
	return type == DT_F32 ? "tf32" : ptx_type(type);
}

static void put_step(Buf *out, const Intrinsic *in, int columns,
    const LowTile *tiles, char sign, int step)
{
	int sums = columns / 2;
	buf_printf(out, "wgmma.mma_async.sync.aligned.m%dn%dk%d.%s.%s.%s {",
	    in->rows, columns, in->terms / WGMMA_STEPS, ptx_type(in->sum),
	    ptx_type(in->a), ptx_type(in->b));
	for (int i = 0; i < sums; i++)
		buf_printf(out, "%s%c%d", i ? ", " : "", sign, i);
	buf_printf(out, "}, %c%d, %c%d, p", sign, sums + 2 * step, sign,
	    sums + 2 * step + 1);
	if (dtype_is_float(in->sum))
		buf_printf(out, ", 1, 1, %d, %d", tiles[0].across,
		    tiles[1].across);
	buf_puts(out, ";\n");
}

void wgmma_text(Buf *out, const Intrinsic *in, int columns,
    const LowTile *tiles, char sign)
{
	buf_puts(out, "{\n.reg .pred p;\nsetp.ne.b32 p, 1, 0;\n"
		      "wgmma.fence.sync.aligned;\n");
	for (int i = 0; i < WGMMA_STEPS; i++)
		put_step(out, in, columns, tiles, sign, i);
	buf_puts(out, "wgmma.commit_group.sync.aligned;\n"
		      "wgmma.wait_group.sync.aligned 0;\n}\n");
}

uint64_t wgmma_descriptor(LowTile tile, DType type)
{
	uint64_t next = (uint64_t)(tile.next * dtype_bytes(type)) / UNIT;
	return (tile.across ? next : 1) << NEXT_AT |
	    (uint64_t)(LINES * GROUP_LINE / UNIT) << LINES_AT |
	    (uint64_t)1 << SWIZZLE_AT;
}

/* 32 bytes along a line, or 16 lines of an element of 2 bytes. */
int wgmma_advance(LowTile tile)
{
	return tile.across ? WGMMA_STEP / 2 * GROUP_LINE / UNIT
			   : WGMMA_STEP / UNIT;
}
