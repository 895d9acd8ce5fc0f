/* Fragments of matrices in a warp's registers.  MMA is inline assembly, which has
 * one form for all types where LLVM's intrinsics have several; LOAD_MATRIX has one. */
#include "codegen/llvm/module_llvm.h"
#include "codegen/wgmma.h"
#include "ir/intrinsic.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef LLVMValueRef V;

/* Lanes as words of 32 bits, behind those that there are. */
static void add_words(LlvmGen *gen, V x, int word, int n, V *words)
{
	for (int i = 0; i < n; i++)
		words[i] = LLVMBuildBitCast(gen->builder,
		    llvm_pick(gen, x, i * word, 1, word),
		    llvm_int_type(gen, 32, 1), "");
}

/* "{$4, $5}, " and as much of the constraints. */
static void put_list(Buf *text, Buf *constraints, int first, int n,
    const char *constraint)
{
	buf_putc(text, '{');
	for (int i = 0; i < n; i++) {
		buf_printf(text, "%s$%d", i ? ", " : "", first + i);
		buf_printf(constraints, "%s%s",
		    constraints->size ? "," : "", constraint);
	}
	buf_puts(text, "}");
}

V llvm_mma(LlvmFunction *f, const LowNode *node, V *args)
{
	LlvmGen *gen = f->gen;
	assert(gen->arch == ARCH_NVPTX); /* no other has such products */
	const Intrinsic *in = low_fragment(f->low, node);
	int word = fragment_word(in);
	int na = fragment_lanes(in, false) / word;
	int nb = fragment_lanes(in, true) / word;
	LLVMTypeRef sum = llvm_type(gen, in->sum, 1), types[16];
	LLVMTypeRef sums[] = {sum, sum, sum, sum};
	const char *c = in->sum == DT_F32 ? "f" : "r";
	V words[16], d = LLVMGetPoison(llvm_type(gen, in->sum, FRAGMENT_SUMS));
	Buf text = {0}, constraints = {0};
	add_words(gen, args[0], word, na, words);
	add_words(gen, args[1], word, nb, words + na);
	for (int v = 0; v < FRAGMENT_SUMS; v++)
		words[na + nb + v] = llvm_pick(gen, args[2], v, 1, 1);
	for (int i = 0; i < na + nb + FRAGMENT_SUMS; i++)
		types[i] = LLVMTypeOf(words[i]);
	buf_printf(&text, "mma.sync.aligned.m%dn%dk%d.row.col.%s.%s.%s.%s ",
	    in->rows, in->columns, in->terms, ptx_type(in->sum),
	    ptx_operand(in->a), ptx_operand(in->b), ptx_type(in->sum));
	put_list(&text, &constraints, 0, FRAGMENT_SUMS,
	    *c == 'f' ? "=f" : "=r");
	buf_puts(&text, ", ");
	put_list(&text, &constraints, FRAGMENT_SUMS, na, "r");
	buf_puts(&text, ", ");
	put_list(&text, &constraints, FRAGMENT_SUMS + na, nb, "r");
	buf_puts(&text, ", ");
	put_list(&text, &constraints, FRAGMENT_SUMS + na + nb, FRAGMENT_SUMS, c);
	buf_puts(&text, ";");
	V all = llvm_assembly(gen, buf_text(&text), buf_text(&constraints),
	    LLVMStructTypeInContext(gen->context, sums, FRAGMENT_SUMS, false),
	    types, words, na + nb + FRAGMENT_SUMS);
	for (int v = 0; v < FRAGMENT_SUMS; v++)
		d = LLVMBuildInsertElement(gen->builder, d,
		    LLVMBuildExtractValue(gen->builder, all, (unsigned)v, ""),
		    llvm_int(gen, 32, v, 1), "");
	buf_free(&text);
	buf_free(&constraints);
	return d;
}

V llvm_load_matrix(LlvmFunction *f, const LowNode *node)
{
	LlvmGen *gen = f->gen;
	const LowTemp *d = &f->low->temps.at[node->dst];
	int n = d->lanes * dtype_bytes(d->type) / 4;
	LLVMTypeRef word = llvm_int_type(gen, 32, 1);
	V from = llvm_address(f, node), all = LLVMGetPoison(
	    LLVMVectorType(word, (unsigned)n));
	LLVMTypeRef pointer = LLVMTypeOf(from);
	char name[80];
	snprintf(name, sizeof name,
	    "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x%d%s.b16", n,
	    node->i ? ".trans" : "");
	V words = llvm_intrinsic(gen, name, &pointer, 1, &from, 1);
	for (int i = 0; i < n; i++)
		all = LLVMBuildInsertElement(gen->builder, all, n == 1 ? words
			: LLVMBuildExtractValue(
			      gen->builder, words, (unsigned)i, ""),
		    llvm_int(gen, 32, i, 1), "");
	return LLVMBuildBitCast(
	    gen->builder, all, llvm_type(gen, d->type, d->lanes), "");
}

V llvm_round_tf32(LlvmGen *gen, V x, int lanes)
{
	V all = LLVMGetPoison(LLVMTypeOf(x));
	LLVMTypeRef type = llvm_type(gen, DT_F32, 1);
	for (int l = 0; l < lanes; l++) {
		V lane = llvm_pick(gen, x, l, 1, 1);
		lane = LLVMBuildBitCast(gen->builder,
		    llvm_intrinsic(
			gen, "llvm.nvvm.f2tf32.rna", NULL, 0, &lane, 1),
		    type, "");
		all = lanes == 1 ? lane
		    : LLVMBuildInsertElement(gen->builder, all, lane,
			  llvm_int(gen, 32, l, 1), "");
	}
	return all;
}
