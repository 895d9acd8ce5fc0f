/* WGMMA: inline assembly (codegen/wgmma.h), since LLVM 19 has no intrinsic. */
#include "codegen/llvm/module_llvm.h"
#include "codegen/wgmma.h"

typedef LLVMValueRef V;

/* Of the matrix that begins at an element. */
static V descriptor(
    LlvmFunction *f, int buffer, const LowAffine *at, LowTile tile)
{
	LlvmGen *gen = f->gen;
	LLVMBuilderRef b = gen->builder;
	LowNode node = {.buffer = buffer, .address = *at};
	uint64_t fixed =
	    wgmma_descriptor(tile, f->low->buffers.at[buffer].type);
	V address = LLVMBuildPtrToInt(
	    b, llvm_address(f, &node), llvm_int_type(gen, 32, 1), "");
	address = LLVMBuildLShr(b, address, llvm_int(gen, 32, 4, 1), "");
	address = LLVMBuildAnd(b, address, llvm_int(gen, 32, 0x3fff, 1), "");
	return LLVMBuildOr(b,
	    LLVMBuildZExt(b, address, llvm_int_type(gen, 64, 1), ""),
	    llvm_int(gen, 64, (int64_t)fixed, 1), "");
}

/* "=f,=f,l,l,0,1": results, descriptors, and the same as arguments. */
static void put_constraints(Buf *out, const char *sum, int sums)
{
	for (int i = 0; i < sums; i++)
		buf_printf(out, "=%s,", sum);
	for (int i = 0; i < 2 * WGMMA_STEPS; i++)
		buf_puts(out, "l,");
	for (int i = 0; i < sums; i++)
		buf_printf(out, "%d,", i);
	buf_puts(out, "~{memory}");
}

static V in_assembly(LlvmFunction *f, const LowNode *node, V *args)
{
	enum { MOST = GROUP_MOST_COLUMNS / 2 };
	LlvmGen *gen = f->gen;
	const Intrinsic *in = low_warpgroup(f->low, node);
	int sums = f->low->temps.at[node->dst].lanes;
	LLVMTypeRef types[MOST + 2 * WGMMA_STEPS], results[MOST];
	Buf text = {0}, constraints = {0};
	for (int i = 0; i < sums; i++)
		results[i] = llvm_type(gen, in->sum, 1);
	for (int i = 0; i < sums + 2 * WGMMA_STEPS; i++)
		types[i] = LLVMTypeOf(args[i]);
	wgmma_text(&text, in, 2 * sums, node->tiles, '$');
	put_constraints(&constraints, in->sum == DT_F32 ? "f" : "r", sums);
	V all = llvm_assembly(gen, buf_text(&text), buf_text(&constraints),
	    LLVMStructTypeInContext(
		gen->context, results, (unsigned)sums, false),
	    types, args, sums + 2 * WGMMA_STEPS);
	buf_free(&text);
	buf_free(&constraints);
	return all;
}

void llvm_wgmma(LlvmFunction *f, const LowNode *node)
{
	LlvmGen *gen = f->gen;
	LLVMBuilderRef b = gen->builder;
	const LowTemp *d = &f->low->temps.at[node->dst];
	V args[GROUP_MOST_COLUMNS / 2 + 2 * WGMMA_STEPS];
	V c = llvm_temp_read(f, node->arg[0]);
	V first[] = {
	    descriptor(f, node->source, &node->from, node->tiles[0]),
	    descriptor(f, node->buffer, &node->address, node->tiles[1])};
	V all = LLVMGetPoison(llvm_type(gen, d->type, d->lanes));
	for (int i = 0; i < 2 * WGMMA_STEPS; i++)
		args[i] = LLVMBuildAdd(b, first[i % 2],
		    llvm_int(gen, 64,
			i / 2 * wgmma_advance(node->tiles[i % 2]), 1),
		    "");
	for (int v = 0; v < d->lanes; v++)
		args[2 * WGMMA_STEPS + v] = llvm_pick(gen, c, v, 1, 1);
	V results = in_assembly(f, node, args);
	for (int v = 0; v < d->lanes; v++)
		all = LLVMBuildInsertElement(b, all,
		    LLVMBuildExtractValue(b, results, (unsigned)v, ""),
		    llvm_int(gen, 32, v, 1), "");
	llvm_temp_write(f, node->dst, all);
}
