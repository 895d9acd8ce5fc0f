/* Loads and stores. */
#include "codegen/llvm/module_llvm.h"
#include "lib/gcd.h"

#include <stdio.h>

typedef LLVMValueRef V;

static LLVMTypeRef memory_type(LlvmGen *gen, DType type, int lanes)
{
	return type == DT_BOOL ? llvm_int_type(gen, 8, lanes)
			       : llvm_type(gen, type, lanes);
}

/* What every address of this form is a multiple of, given the buffer's
 * alignment; a power of two as that is one. */
static unsigned alignment_of(
    LlvmFunction *f, int number, const LowAffine *address)
{
	const LowBuffer *buffer = &f->low->buffers.at[number];
	int least = buffer->align;
	if (buffer->kind == LOWBUF_PARAM && f->aligned > least)
		least = f->aligned;
	return (unsigned)low_affine_align(
	    address, buffer->type, gcd(least, buffer->thread_bytes));
}

static unsigned alignment(LlvmFunction *f, const LowNode *node)
{
	return alignment_of(f, node->buffer, &node->address);
}

static V tag(LlvmFunction *f, const LowNode *node, V access)
{
	static const char *const names[] = {"alias.scope", "noalias"};
	V lists[] = {f->scopes[node->buffer], f->noalias[node->buffer]};
	for (int i = 0; i < 2; i++)
		if (lists[i])
			LLVMSetMetadata(access,
			    LLVMGetMDKindIDInContext(
				f->gen->context, names[i], i ? 7 : 11),
			    lists[i]);
	return access;
}

static V from_memory(LlvmGen *gen, DType type, V x)
{
	return type == DT_BOOL ? LLVMBuildICmp(gen->builder, LLVMIntNE, x,
				     LLVMConstNull(LLVMTypeOf(x)), "")
			       : x;
}

static V to_memory(LlvmGen *gen, DType type, int lanes, V x)
{
	return type == DT_BOOL ? LLVMBuildZExt(gen->builder, x,
				     llvm_int_type(gen, 8, lanes), "")
			       : x;
}

/* Bytes of a vector that are loaded or stored at once.  LLVM's NVPTX back end
 * takes several bytes as words, however they are aligned. */
static int piece_bytes(const LlvmGen *gen, DType type, int lanes, int align)
{
	int bytes = lanes * dtype_bytes(type);
	bool words = gen->arch == ARCH_NVPTX && dtype_bytes(type) == 1;
	return words && align < bytes ? align : bytes;
}

static V lanes_behind(LlvmGen *gen, V pointer, int lanes)
{
	V n = llvm_int(gen, 64, lanes, 1);
	return lanes ? LLVMBuildGEP2(gen->builder,
			   llvm_int_type(gen, 8, 1), pointer, &n, 1, "")
		     : pointer;
}

/* Of bytes, in pieces. */
static V load_bytes(LlvmGen *gen, V pointer, int lanes, int piece)
{
	LLVMBuilderRef b = gen->builder;
	V all = LLVMGetPoison(llvm_int_type(gen, 8, lanes));
	for (int at = 0; at < lanes; at += piece) {
		V x = LLVMBuildLoad2(b, llvm_int_type(gen, 8, piece),
		    lanes_behind(gen, pointer, at), "");
		LLVMSetAlignment(x, (unsigned)piece);
		for (int i = 0; i < piece; i++)
			all = LLVMBuildInsertElement(b, all,
			    piece > 1 ? llvm_pick(gen, x, i, 1, 1) : x,
			    llvm_int(gen, 32, at + i, 1), "");
	}
	return all;
}

static void store_bytes(LlvmGen *gen, V pointer, V x, int lanes, int piece)
{
	for (int at = 0; at < lanes; at += piece)
		LLVMSetAlignment(
		    LLVMBuildStore(gen->builder, llvm_pick(gen, x, at, 1, piece),
			lanes_behind(gen, pointer, at)),
		    (unsigned)piece);
}

static V load_aligned(
    LlvmFunction *f, DType type, int lanes, V pointer, int align)
{
	int piece = piece_bytes(f->gen, type, lanes, align);
	if (piece < lanes * dtype_bytes(type))
		return load_bytes(f->gen, pointer, lanes, piece);
	V x = LLVMBuildLoad2(f->gen->builder, memory_type(f->gen, type, lanes),
	    pointer, "");
	LLVMSetAlignment(x, (unsigned)align);
	return x;
}

/* aarch64 has no vectors of 32 bits: LLVM would load and widen element by
 * element. */
static bool is_word(const LlvmFunction *f, DType type, int lanes)
{
	return f->gen->arch == ARCH_AARCH64 && lanes > 1 && type != DT_BOOL &&
	    lanes * dtype_bytes(type) == 4;
}

static V load(LlvmFunction *f, const LowNode *node, DType type, int lanes)
{
	if (is_word(f, type, lanes)) {
		V word = load_aligned(f, DT_I32, 1, llvm_address(f, node),
		    (int)alignment(f, node));
		return LLVMBuildBitCast(f->gen->builder, tag(f, node, word),
		    llvm_type(f->gen, type, lanes), "");
	}
	V x = load_aligned(f, type, lanes, llvm_address(f, node),
	    (int)alignment(f, node));
	return from_memory(
	    f->gen, type, LLVMIsALoadInst(x) ? tag(f, node, x) : x);
}

static void store(LlvmFunction *f, const LowNode *node, DType type, int lanes)
{
	LlvmGen *gen = f->gen;
	V x = to_memory(gen, type, lanes, llvm_temp_read(f, node->arg[0]));
	int piece =
	    piece_bytes(gen, type, lanes, (int)alignment(f, node));
	if (piece < lanes * dtype_bytes(type)) {
		store_bytes(gen, llvm_address(f, node), x, lanes, piece);
		return;
	}
	V s = LLVMBuildStore(gen->builder, x, llvm_address(f, node));
	LLVMSetAlignment(s, alignment(f, node));
	tag(f, node, s);
}

/* --- streamed ------------------------------------------------------------- */

enum { LINE_BYTES = 64 };

static void without_caching(LlvmFunction *f, V store)
{
	LlvmGen *gen = f->gen;
	LLVMMetadataRef one = LLVMValueAsMetadata(llvm_int(gen, 32, 1, 1));
	LLVMSetMetadata(store,
	    LLVMGetMDKindIDInContext(gen->context, "nontemporal", 11),
	    LLVMMetadataAsValue(
		gen->context, LLVMMDNodeInContext2(gen->context, &one, 1)));
	f->streams = true;
}

/* Is every address of this form a multiple of that, where the buffer is? */
static bool stays_aligned(LlvmFunction *f, const LowNode *node, int64_t align)
{
	int bytes = dtype_bytes(f->low->buffers.at[node->buffer].type);
	int64_t all = gcd(align, node->address.constant * bytes);
	for (int i = 0; i < node->address.n; i++)
		all = gcd(all, node->address.terms[i].coefficient * bytes);
	return all == align;
}

static void stream_aligned(
    LlvmFunction *f, const LowNode *node, DType type, int lanes)
{
	V x = to_memory(f->gen, type, lanes, llvm_temp_read(f, node->arg[0]));
	V s = LLVMBuildStore(f->gen->builder, x, llvm_address(f, node));
	LLVMSetAlignment(s, (unsigned)(lanes * dtype_bytes(type)));
	without_caching(f, tag(f, node, s));
}

/* Where the buffer begins with a line of the cache, which its caller decides;
 * else a store: machines have none past the caches for other addresses, and
 * lines written in parts would be slow. */
static void stream(LlvmFunction *f, const LowNode *node, DType type, int lanes)
{
	LlvmGen *gen = f->gen;
	LLVMBuilderRef b = gen->builder;
	int bytes = lanes * dtype_bytes(type);
	LLVMBasicBlockRef blocks[3];
	if (bytes < 16 || bytes > LINE_BYTES || !stays_aligned(f, node, bytes)) {
		store(f, node, type, lanes);
		return;
	}
	for (int i = 0; i < 3; i++)
		blocks[i] = LLVMAppendBasicBlockInContext(
		    gen->context, f->function, "stream");
	V low = LLVMBuildPtrToInt(
	    b, f->bases[node->buffer], llvm_int_type(gen, 64, 1), "");
	low = LLVMBuildAnd(b, low, llvm_int(gen, 64, LINE_BYTES - 1, 1), "");
	LLVMBuildCondBr(b,
	    LLVMBuildICmp(b, LLVMIntEQ, low, llvm_int(gen, 64, 0, 1), ""),
	    blocks[0], blocks[1]);
	LLVMPositionBuilderAtEnd(b, blocks[0]);
	stream_aligned(f, node, type, lanes);
	LLVMBuildBr(b, blocks[2]);
	LLVMPositionBuilderAtEnd(b, blocks[1]);
	store(f, node, type, lanes);
	LLVMBuildBr(b, blocks[2]);
	LLVMPositionBuilderAtEnd(b, blocks[2]);
}

/* --- masked --------------------------------------------------------------- */

/* The masked intrinsics take vectors: a scalar is one of one lane. */
static V as_vector(LlvmGen *gen, V x, int lanes)
{
	if (lanes > 1)
		return x;
	return LLVMBuildInsertElement(gen->builder,
	    LLVMGetPoison(LLVMVectorType(LLVMTypeOf(x), 1)), x,
	    llvm_int(gen, 32, 0, 1), "");
}

static V as_scalar(LlvmGen *gen, V x, int lanes)
{
	return lanes > 1 ? x
			 : LLVMBuildExtractElement(
			       gen->builder, x, llvm_int(gen, 32, 0, 1), "");
}

static V mask_of(LlvmFunction *f, int temp, int lanes)
{
	LlvmGen *gen = f->gen;
	if (temp >= 0)
		return as_vector(gen, llvm_temp_read(f, temp), lanes);
	return LLVMConstAllOnes(
	    LLVMVectorType(llvm_int_type(gen, 1, 1), (unsigned)lanes));
}

/* Addresses by lane: the index lanes are in elements. */
static V addresses(LlvmFunction *f, const LowNode *node, int temp, int lanes)
{
	LlvmGen *gen = f->gen;
	DType type = f->low->buffers.at[node->buffer].type;
	V index = as_vector(gen, llvm_temp_read(f, temp), lanes);
	return LLVMBuildGEP2(gen->builder, memory_type(gen, type, 1),
	    llvm_address(f, node), &index, 1, "");
}

/* Without AVX-512 LLVM makes loads of a gather, but takes vectors of addresses apart
 * for them, twice as wide as indices; only Intel's have an instruction that is worth
 * it, for indices that are not known. */
static bool by_lanes(LlvmGen *gen, const LowNode *node, V index)
{
	const Cpu *cpu = cpu_find(gen->arch, gen->cpu);
	return node->op == LOW_GATHER && node->arg[1] < 0 && cpu &&
	    gen->arch == ARCH_X86_64 &&
	    !(gen->features & FEATURE_BIT(AVX512F)) &&
	    (!cpu->masked_avx2 || LLVMIsConstant(index));
}

static V gather_lanes(
    LlvmFunction *f, const LowNode *node, DType type, int lanes, V index)
{
	LlvmGen *gen = f->gen;
	LLVMBuilderRef b = gen->builder;
	LLVMTypeRef element = memory_type(gen, type, 1);
	V from = llvm_address(f, node);
	V all = LLVMGetPoison(LLVMVectorType(element, (unsigned)lanes));
	for (int l = 0; l < lanes; l++) {
		V lane = llvm_int(gen, 32, l, 1);
		V i = LLVMBuildExtractElement(b, index, lane, "");
		V at = LLVMBuildGEP2(b, element, from, &i, 1, "");
		V x = LLVMBuildLoad2(b, element, at, "");
		LLVMSetAlignment(x, (unsigned)dtype_bytes(type));
		all = LLVMBuildInsertElement(b, all, tag(f, node, x), lane, "");
	}
	return from_memory(gen, type, all);
}

static V load_masked(
    LlvmFunction *f, const LowNode *node, DType type, int lanes)
{
	LlvmGen *gen = f->gen;
	bool gather = node->op == LOW_GATHER;
	V index = gather && lanes > 1 ? llvm_temp_read(f, node->arg[0]) : NULL;
	if (index && by_lanes(gen, node, index))
		return gather_lanes(f, node, type, lanes, index);
	V p =
	    gather ? addresses(f, node, node->arg[0], lanes) : llvm_address(f, node);
	LLVMTypeRef result =
	    LLVMVectorType(memory_type(gen, type, 1), (unsigned)lanes);
	LLVMTypeRef types[] = {result, LLVMTypeOf(p)};
	int align = gather ? dtype_bytes(type) : (int)alignment(f, node);
	V args[] = {p, llvm_int(gen, 32, align, 1),
	    mask_of(f, node->arg[gather], lanes), LLVMConstNull(result)};
	V x = llvm_intrinsic(gen,
	    gather ? "llvm.masked.gather" : "llvm.masked.load", types, 2, args,
	    4);
	return from_memory(gen, type, as_scalar(gen, tag(f, node, x), lanes));
}

static void store_masked(
    LlvmFunction *f, const LowNode *node, DType type, int lanes)
{
	LlvmGen *gen = f->gen;
	bool scatter = node->op == LOW_SCATTER;
	V x = to_memory(gen, type, lanes, llvm_temp_read(f, node->arg[0]));
	V p = scatter ? addresses(f, node, node->arg[1], lanes)
		      : llvm_address(f, node);
	x = as_vector(gen, x, lanes);
	LLVMTypeRef types[] = {LLVMTypeOf(x), LLVMTypeOf(p)};
	int align = scatter ? dtype_bytes(type) : (int)alignment(f, node);
	V args[] = {x, p, llvm_int(gen, 32, align, 1),
	    mask_of(f, node->arg[scatter ? 2 : 1], lanes)};
	tag(f, node,
	    llvm_intrinsic(gen,
		scatter ? "llvm.masked.scatter" : "llvm.masked.store", types, 2,
		args, 4));
}

/* for reading, locality 3 is the nearest cache, data */
static void prefetch(LlvmFunction *f, const LowNode *node)
{
	LlvmGen *gen = f->gen;
	V args[] = {llvm_address(f, node), llvm_int(gen, 32, 0, 1),
	    llvm_int(gen, 32, 4 - node->i, 1), llvm_int(gen, 32, 1, 1)};
	llvm_intrinsic_of(gen, "llvm.prefetch", args, 4);
}

/* --- past the registers ----------------------------------------------------- */

/* Addresses of shared memory have 32 bits, others 64: LLVM's intrinsic takes two
 * of one size. */
static void copy_piece(LlvmGen *gen, V to, V from, int bytes)
{
	LLVMBuilderRef b = gen->builder;
	LLVMTypeRef types[] = {
	    llvm_int_type(gen, 32, 1), llvm_int_type(gen, 64, 1)};
	V args[] = {LLVMBuildPtrToInt(b, to, types[0], ""),
	    LLVMBuildPtrToInt(b, from, types[1], "")};
	char text[64];
	snprintf(text, sizeof text,
	    "cp.async.%s.shared.global [$0], [$1], %d;",
	    bytes == 16 ? "cg" : "ca", bytes);
	llvm_assembly(gen, text, "r,l,~{memory}",
	    LLVMVoidTypeInContext(gen->context), types, args, 2);
}

/* In the pieces that the source is aligned to; of less than 4 bytes there are
 * none: it is loaded and stored at once, which a WAIT allows. */
static void copy_async(LlvmFunction *f, const LowNode *node, DType type)
{
	LlvmGen *gen = f->gen;
	LLVMBuilderRef b = gen->builder;
	int bytes = (int)node->i * dtype_bytes(type);
	int piece = (int)alignment_of(f, node->source, &node->from);
	LowNode source = {.buffer = node->source, .address = node->from};
	V to = llvm_address(f, node), from = llvm_address(f, &source);
	piece = piece > bytes ? bytes : piece;
	if (piece < 4) {
		V x = load_aligned(f, type, (int)node->i, from, piece);
		LLVMSetAlignment(LLVMBuildStore(b, x, to), (unsigned)bytes);
		return;
	}
	for (int at = 0; at < bytes; at += piece) {
		V offset = llvm_int(gen, 64, at, 1);
		LLVMTypeRef byte = llvm_int_type(gen, 8, 1);
		copy_piece(gen,
		    at ? LLVMBuildGEP2(b, byte, to, &offset, 1, "") : to,
		    at ? LLVMBuildGEP2(b, byte, from, &offset, 1, "") : from,
		    piece);
	}
}

void llvm_memory_emit(LlvmFunction *f, const LowNode *node)
{
	const LowTemp *temps = f->low->temps.at;
	DType type = f->low->buffers.at[node->buffer].type;
	int lanes = node->dst >= 0	    ? temps[node->dst].lanes
		    : node->arg[0] >= 0 ? temps[node->arg[0]].lanes : 1;
	switch (node->op) {
	case LOW_LOAD:
		llvm_temp_write(f, node->dst, load(f, node, type, lanes));
		break;
	case LOW_LOAD_MATRIX:
		llvm_temp_write(f, node->dst, llvm_load_matrix(f, node));
		break;
	case LOW_LOAD_MASKED:
	case LOW_GATHER:
		llvm_temp_write(
		    f, node->dst, load_masked(f, node, type, lanes));
		break;
	case LOW_STORE_MASKED:
	case LOW_SCATTER:
		store_masked(f, node, type, lanes);
		break;
	case LOW_PREFETCH:
		prefetch(f, node);
		break;
	case LOW_STREAM:
		stream(f, node, type, lanes);
		break;
	case LOW_WGMMA:
		llvm_wgmma(f, node);
		break;
	case LOW_COPY_ASYNC:
		copy_async(f, node, type);
		break;
	default:
		store(f, node, type, lanes);
		break;
	}
}
