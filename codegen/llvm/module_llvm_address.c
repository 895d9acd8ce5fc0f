/* Addresses.  An address is the buffer's base, what varies, outer variables first,
 * and a constant, which becomes the displacement of the instruction.  What varies
 * with a loop is a pointer that the loop moves, made when the first access asks
 * for it:
 *
 *     for i for k  x[64*i + 4*k + 2]         p = x
 *                                       -->  for i  q = p
 *                                                   for k  q[2], q += 4
 *                                                   p += 64
 *
 * Accesses that differ by constants share it.  LLVM would find as much (loop
 * strength reduction), in a third of the time that it takes for a kernel.
 *
 * On a GPU what follows from the numbers of blocks and threads comes first, and
 * terms that ranges keep in 32 bits are added up there, extended once. */
#include "codegen/llvm/module_llvm.h"

#include <assert.h>

typedef LLVMValueRef V;

static bool is_assigned_again(const LlvmFunction *f, LowTerm t)
{
	return f->assigned[t.temp] > 1;
}

static bool is_after(const LlvmFunction *f, LowTerm a, LowTerm b)
{
	if (is_assigned_again(f, a) != is_assigned_again(f, b))
		return is_assigned_again(f, a);
	return f->rank[a.temp] > f->rank[b.temp];
}

int llvm_sorted_terms(
    LlvmFunction *f, const LowAffine *affine, LowTerm *terms)
{
	int n = 0;
	for (int i = 0; i < affine->n; i++) {
		LowTerm t = affine->terms[i];
		int at = n++;
		for (; at && is_after(f, terms[at - 1], t); at--)
			terms[at] = terms[at - 1];
		terms[at] = t;
	}
	return n;
}

V llvm_affine(LlvmFunction *f, const LowAffine *affine, bool narrow)
{
	LLVMBuilderRef b = f->gen->builder;
	LowTerm *terms = NEW_N(f->arena, LowTerm, affine->n);
	int n = llvm_sorted_terms(f, affine, terms);
	int bits = narrow ? 32 : 64;
	V sum = NULL, constant = llvm_int(f->gen, bits, affine->constant, 1);
	for (int i = 0; i < n; i++) {
		V term = llvm_resized(
		    f->gen, llvm_temp_read(f, terms[i].temp), bits, 1);
		if (terms[i].coefficient != 1)
			term = LLVMBuildNSWMul(b, term,
			    llvm_int(f->gen, bits, terms[i].coefficient, 1),
			    "");
		sum = sum ? LLVMBuildNSWAdd(b, sum, term, "") : term;
	}
	if (!sum)
		return constant;
	return affine->constant ? LLVMBuildNSWAdd(b, sum, constant, "") : sum;
}

static V moved(LlvmFunction *f, int buffer, V pointer, V elements)
{
	DType type = f->low->buffers.at[buffer].type;
	LLVMTypeRef element =
	    llvm_int_type(f->gen, 8 * dtype_bytes(type), 1);
	return LLVMBuildGEP2(
	    f->gen->builder, element, pointer, &elements, 1, "");
}

static V moved_by(LlvmFunction *f, int buffer, V pointer, int64_t elements)
{
	return elements ? moved(f, buffer, pointer,
			      llvm_int(f->gen, 64, elements, 1))
			: pointer;
}

static V moved_by_term(
    LlvmFunction *f, int buffer, V pointer, V value, int64_t coefficient)
{
	if (LLVMIsAConstantInt(value))
		return moved_by(f, buffer, pointer,
		    LLVMConstIntGetSExtValue(value) * coefficient);
	value = llvm_resized(f->gen, value, 64, 1);
	if (coefficient != 1)
		value = LLVMBuildNSWMul(f->gen->builder, value,
		    llvm_int(f->gen, 64, coefficient, 1), "");
	return moved(f, buffer, pointer, value);
}

static bool same_terms(const LowTerm *a, const LowTerm *b, int n)
{
	for (int i = 0; i < n; i++)
		if (a[i].temp != b[i].temp ||
		    a[i].coefficient != b[i].coefficient)
			return false;
	return true;
}

static LlvmLoop *loop_of(LlvmFunction *f, int temp)
{
	LlvmLoop *loop = f->loop;
	while (loop && loop->var != temp)
		loop = loop->outer;
	return loop;
}

static V pointer_to(
    LlvmFunction *f, int buffer, const LowTerm *terms, int n);

/* Behind what is there, but before what ends it. */
static void stand_in(LLVMBuilderRef b, LLVMBasicBlockRef block)
{
	V end = LLVMGetBasicBlockTerminator(block);
	if (end)
		LLVMPositionBuilderBefore(b, end);
	else
		LLVMPositionBuilderAtEnd(b, block);
}

/* The pointer before the loop, and where it joins the loop's head. */
static V start_running(LlvmFunction *f, LlvmLoop *loop, int buffer,
    const LowTerm *terms, int n)
{
	LLVMBuilderRef b = f->gen->builder;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
	assert(LLVMGetBasicBlockTerminator(loop->before));
	stand_in(b, loop->before);
	V first = pointer_to(f, buffer, terms, n - 1);
	first = moved_by_term(
	    f, buffer, first, loop->begin, terms[n - 1].coefficient);
	LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(loop->head));
	V phi = LLVMBuildPhi(b, LLVMTypeOf(first), "");
	LLVMAddIncoming(phi, &first, &loop->before, 1);
	vec_push(f->arena, &loop->running,
	    (LlvmRunning){buffer, n, terms, phi});
	stand_in(b, here);
	return phi;
}

static LlvmLoop *loop_of_term(LlvmFunction *f, LowTerm t)
{
	return is_assigned_again(f, t) ? NULL : loop_of(f, t.temp);
}

/* The last of n terms that no loop moves and that 32 bits may add up, as bytes:
 * where 64 cost twice as much.  Their number. */
static int narrow_terms(
    LlvmFunction *f, int buffer, const LowTerm *terms, int n)
{
	int count = 1;
	int bytes = dtype_bytes(f->low->buffers.at[buffer].type);
	if (!llvm_is_gpu(f->gen))
		return 0;
	while (count < n && !loop_of_term(f, terms[n - count - 1]))
		count++;
	LowAffine sum = {0, count, (LowTerm *)terms + n - count};
	return low_affine_is_narrow(f->low, sum, bytes) ? count : 0;
}

/* Of the buffer's element at the sum of the first n terms. */
static V pointer_to(
    LlvmFunction *f, int buffer, const LowTerm *terms, int n)
{
	if (!n)
		return f->bases[buffer];
	LowTerm last = terms[n - 1];
	LlvmLoop *loop = loop_of_term(f, last);
	if (!loop) {
		int k = narrow_terms(f, buffer, terms, n);
		V p = pointer_to(f, buffer, terms, n - (k ? k : 1));
		LowAffine sum = {0, k, (LowTerm *)terms + n - k};
		if (k)
			return moved(f, buffer, p, llvm_affine(f, &sum, true));
		return moved_by_term(f, buffer, p,
		    llvm_temp_read(f, last.temp), last.coefficient);
	}
	for (int i = 0; i < loop->running.n; i++) {
		LlvmRunning *r = &loop->running.at[i];
		if (r->buffer == buffer && r->nterms == n &&
		    same_terms(r->terms, terms, n))
			return r->pointer;
	}
	return start_running(f, loop, buffer, terms, n);
}

V llvm_address(LlvmFunction *f, const LowNode *node)
{
	const LowAffine *a = &node->address;
	LowTerm *terms = NEW_N(f->arena, LowTerm, a->n);
	int n = llvm_sorted_terms(f, a, terms);
	return moved_by(f, node->buffer,
	    pointer_to(f, node->buffer, terms, n), a->constant);
}

void llvm_addresses_step(LlvmFunction *f, LlvmLoop *loop)
{
	LLVMBasicBlockRef latch = LLVMGetInsertBlock(f->gen->builder);
	for (int i = 0; i < loop->running.n; i++) {
		LlvmRunning *r = &loop->running.at[i];
		V next = moved_by(f, r->buffer, r->pointer,
		    r->terms[r->nterms - 1].coefficient);
		LLVMAddIncoming(r->pointer, &next, &latch, 1);
	}
}
