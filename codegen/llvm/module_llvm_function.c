/* Functions.  A parallel loop's body becomes a function of its own, called by
 * a small one that the OpenMP runtime calls on each thread:
 *
 *     parallel for i < E: body       GOMP_parallel(f.1.thread, &captures, N, 0)
 *                               -->  f.1.thread: t, T of the runtime;
 *                                      f.1(t, t*E/T, (t+1)*E/T, captures…)
 *
 * The body takes the buffers' pointers as parameters of its own: what is read
 * from a struct would no longer be known not to overlap. */
#include "codegen/llvm/module_llvm.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef LLVMValueRef V;

static void emit_body(LlvmFunction *f, const LowBody *body);

static void position_at(LlvmGen *gen, LLVMBasicBlockRef block)
{
	LLVMPositionBuilderAtEnd(gen->builder, block);
}

static LLVMBasicBlockRef new_block(LlvmFunction *f, const char *name)
{
	return LLVMAppendBasicBlockInContext(
	    f->gen->context, f->function, name);
}

/* --- loops and ifs -------------------------------------------------------- */

/* begin <= var < end, in the form that ends in its test; the caller knows that
 * there is at least one iteration, or `guard`s. */
static void emit_range(
    LlvmFunction *f, const LowNode *loop, V begin, V end, bool guard)
{
	LlvmGen *gen = f->gen;
	LLVMBuilderRef b = gen->builder;
	LLVMBasicBlockRef before = LLVMGetInsertBlock(b);
	LLVMBasicBlockRef head = new_block(f, "loop");
	LLVMBasicBlockRef after =
	    LLVMAppendBasicBlockInContext(gen->context, f->function, "after");
	if (guard)
		LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSLT, begin, end, ""),
		    head, after);
	else
		LLVMBuildBr(b, head);
	position_at(gen, head);
	V var = LLVMBuildPhi(
	    b, LLVMTypeOf(begin), f->low->temps.at[loop->var].name);
	LLVMAddIncoming(var, &begin, &before, 1);
	llvm_temp_write(f, loop->var, var);
	LlvmLoop own = {f->loop, loop->var, begin, before, head, {0}};
	f->loop = &own;
	emit_body(f, &loop->body);
	f->loop = own.outer;
	llvm_addresses_step(f, &own);
	V next = LLVMBuildNSWAdd(b, var,
	    LLVMConstInt(LLVMTypeOf(begin), 1, false), "");
	LLVMBasicBlockRef latch = LLVMGetInsertBlock(b);
	LLVMAddIncoming(var, &next, &latch, 1);
	LLVMBuildCondBr(
	    b, LLVMBuildICmp(b, LLVMIntSLT, next, end, ""), head, after);
	LLVMMoveBasicBlockAfter(after, latch);
	position_at(gen, after);
}

static int var_bits(LlvmFunction *f, const LowNode *loop)
{
	return 8 * dtype_bytes(llvm_held_as(f, loop->var));
}

/* The number of iterations, as wide as the variable; below 1 for none. */
static V loop_end(LlvmFunction *f, const LowNode *loop)
{
	LlvmGen *gen = f->gen;
	int bits = var_bits(f, loop);
	bool narrow =
	    bits == 32 && (!loop->limit ||
			      low_affine_is_narrow(f->low, *loop->limit, 1));
	V args[2] = {llvm_int(gen, narrow ? 32 : 64, loop->extent, 1), NULL};
	if (!loop->limit)
		return args[0];
	args[1] = llvm_affine(f, loop->limit, narrow);
	V end = llvm_intrinsic_of(gen, "llvm.smin", args, 2);
	if (narrow || bits == 64)
		return end;
	args[0] = end; /* what is cut stays below 1 */
	args[1] = llvm_int(gen, 64, 0, 1);
	return llvm_resized(
	    gen, llvm_intrinsic_of(gen, "llvm.smax", args, 2), bits, 1);
}

/* A piece of a loop: what others read as well is read again, for as many vectors
 * as that is are more than registers.  A label that stands for nothing keeps
 * LLVM's scheduler to one piece: it loads ahead what the fence has it wait for,
 * which was spilled. */
static void begin_piece(LlvmGen *gen)
{
	static const char name[] = "llvm.codeview.annotation";
	LLVMBuildFence(
	    gen->builder, LLVMAtomicOrderingAcquireRelease, 1, "");
	LLVMMetadataRef piece = LLVMMDStringInContext2(gen->context, "", 0);
	V words = LLVMMetadataAsValue(gen->context,
	    LLVMMDNodeInContext2(gen->context, &piece, 1));
	V label = LLVMGetIntrinsicDeclaration(gen->module,
	    LLVMLookupIntrinsicID(name, sizeof name - 1), NULL, 0);
	LLVMBuildCall2(gen->builder, LLVMGlobalGetValueType(label), label,
	    &words, 1, "");
}

static void emit_serial(LlvmFunction *f, const LowNode *loop)
{
	V zero = llvm_int(f->gen, var_bits(f, loop), 0, 1);
	if (loop->extent < 1)
		return;
	if (loop->extent == 1 && !loop->limit) {
		if (!llvm_is_gpu(f->gen))
			begin_piece(f->gen);
		llvm_temp_write(f, loop->var, zero);
		emit_body(f, &loop->body);
		return;
	}
	emit_range(f, loop, zero, loop_end(f, loop), loop->limit != NULL);
}

/* Every block or thread has an iteration of its own. */
static void emit_bound(LlvmFunction *f, const LowNode *loop)
{
	LLVMBuilderRef b = f->gen->builder;
	LLVMBasicBlockRef after = NULL, here = llvm_fixed_begin(f);
	V var = llvm_resized(f->gen, llvm_launch_index(f->gen, loop->loop),
	    var_bits(f, loop), 1);
	llvm_temp_write(f, loop->var, var);
	llvm_fixed_end(f, here, loop->var);
	if (loop->limit) {
		LLVMBasicBlockRef inside = new_block(f, "inside");
		after = new_block(f, "after");
		LLVMBuildCondBr(b,
		    LLVMBuildICmp(b, LLVMIntSLT, var, loop_end(f, loop), ""),
		    inside, after);
		position_at(f->gen, inside);
	}
	emit_body(f, &loop->body);
	if (!after)
		return;
	LLVMBuildBr(b, after);
	position_at(f->gen, after);
}

/* A test of the lanes of a vector is for what is rare: it is laid out behind the
 * rest, and none of that is moved beside it. */
static void weigh(LlvmGen *gen, V branch)
{
	static const char kind[] = "branch_weights";
	LLVMMetadataRef part[] = {
	    LLVMMDStringInContext2(gen->context, kind, sizeof kind - 1),
	    LLVMValueAsMetadata(llvm_int(gen, 32, 1, 1)),
	    LLVMValueAsMetadata(llvm_int(gen, 32, 2000, 1))};
	if (LLVMIsACallInst(LLVMGetCondition(branch)))
		LLVMSetMetadata(branch,
		    LLVMGetMDKindIDInContext(gen->context, "prof", 4),
		    LLVMMetadataAsValue(gen->context,
			LLVMMDNodeInContext2(gen->context, part, 3)));
}

static void emit_if(LlvmFunction *f, const LowNode *node)
{
	LLVMBuilderRef b = f->gen->builder;
	LLVMBasicBlockRef yes = new_block(f, "then");
	LLVMBasicBlockRef no = node->other.n ? new_block(f, "else") : NULL;
	LLVMBasicBlockRef after = new_block(f, "after");
	weigh(f->gen, LLVMBuildCondBr(b,
	    llvm_temp_read(f, node->condition), yes, no ? no : after));
	position_at(f->gen, yes);
	emit_body(f, &node->body);
	LLVMBuildBr(b, after);
	if (no) {
		position_at(f->gen, no);
		emit_body(f, &node->other);
		LLVMBuildBr(b, after);
	}
	LLVMMoveBasicBlockAfter(after, LLVMGetLastBasicBlock(f->function));
	position_at(f->gen, after);
}

/* --- buffers -------------------------------------------------------------- */

/* Is its body a function of its own? */
static bool is_region(const LlvmFunction *f, const LowNode *node)
{
	return node->kind == LOWNODE_LOOP && node->loop == LOOP_PARALLEL &&
	    !f->parallel && f->low->nthreads > 1 && node->extent > 0;
}

static void mark_used(LlvmFunction *f, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *node = body->at[i];
		if (node->kind == LOWNODE_OP && node->buffer >= 0)
			f->used[node->buffer] = true;
		if (node->kind == LOWNODE_OP && low_op_has_source(node->op))
			f->used[node->source] = true;
		if (is_region(f, node))
			continue;
		mark_used(f, &node->body);
		mark_used(f, &node->other);
	}
}

static bool is_on_chip(const LowBuffer *b)
{
	return b->kind == LOWBUF_SHARED || b->kind == LOWBUF_LOCAL;
}

static int base_param(const LowFunction *low, const LowBuffer *b)
{
	if (b->kind == LOWBUF_PARAM)
		return b->param;
	if (is_on_chip(b))
		return -1;
	for (int i = 0; i < low->params.n; i++)
		if (low->params.at[i].workspace)
			return i;
	return -1;
}

/* Can no thread's part of one touch that of the other, seen by one thread? */
static bool are_apart(
    const LowFunction *low, const LowBuffer *a, const LowBuffer *b)
{
	int64_t a_bytes = a->elements * dtype_bytes(a->type);
	int64_t b_bytes = b->elements * dtype_bytes(b->type);
	if (a->thread_bytes != b->thread_bytes) {
		a_bytes += (low->nthreads - 1) * a->thread_bytes;
		b_bytes += (low->nthreads - 1) * b->thread_bytes;
	}
	return a->offset + a_bytes <= b->offset ||
	       b->offset + b_bytes <= a->offset;
}

static LLVMMetadataRef scope_of(LlvmFunction *f, const LowBuffer *b)
{
	LLVMContextRef context = f->gen->context;
	LLVMMetadataRef parts[2], domain;
	char name[512];
	domain =
	    LLVMMDStringInContext2(context, f->low->name, strlen(f->low->name));
	domain = LLVMMDNodeInContext2(context, &domain, 1);
	snprintf(name, sizeof name, "%s.%s", f->low->name, b->name);
	parts[0] = LLVMMDStringInContext2(context, name, strlen(name));
	parts[1] = domain;
	return LLVMMDNodeInContext2(context, parts, 2);
}

static V metadata_list(LlvmFunction *f, LLVMMetadataRef *list, int n)
{
	LLVMContextRef context = f->gen->context;
	return n ? LLVMMetadataAsValue(
		       context, LLVMMDNodeInContext2(context, list, (size_t)n))
		 : NULL;
}

/* Pieces of one parameter are told apart by scopes; parameters by noalias. */
static void make_scopes(LlvmFunction *f)
{
	const LowFunction *low = f->low;
	int n = low->buffers.n;
	LLVMMetadataRef *all = NEW_N(f->arena, LLVMMetadataRef, n);
	LLVMMetadataRef *apart = NEW_N(f->arena, LLVMMetadataRef, n);
	for (int i = 0; i < n; i++)
		if (f->used[i])
			all[i] = scope_of(f, &low->buffers.at[i]);
	for (int i = 0; i < n; i++) {
		const LowBuffer *b = &low->buffers.at[i];
		int napart = 0, shared = 0;
		for (int j = 0; j < n && f->used[i] && !is_on_chip(b); j++) {
			const LowBuffer *other = &low->buffers.at[j];
			if (j == i || !f->used[j] ||
			    base_param(low, b) != base_param(low, other))
				continue;
			shared++;
			if (are_apart(low, b, other))
				apart[napart++] = all[j];
		}
		f->noalias[i] = metadata_list(f, apart, napart);
		f->scopes[i] = shared ? metadata_list(f, &all[i], 1) : NULL;
	}
}

static void make_bases(LlvmFunction *f)
{
	LlvmGen *gen = f->gen;
	LLVMBuilderRef b = gen->builder;
	LLVMTypeRef byte = llvm_int_type(gen, 8, 1);
	for (int i = 0; i < f->low->buffers.n; i++) {
		const LowBuffer *buffer = &f->low->buffers.at[i];
		if (!f->used[i])
			continue;
		if (is_on_chip(buffer)) {
			f->bases[i] = llvm_launch_memory(f, buffer);
			continue;
		}
		V offset = llvm_int(gen, 64, buffer->offset, 1);
		if (buffer->thread_bytes)
			offset = LLVMBuildNSWAdd(b,
			    LLVMBuildNSWMul(b, f->thread,
				llvm_int(gen, 64, buffer->thread_bytes, 1), ""),
			    offset, "");
		V base = f->params[base_param(f->low, buffer)];
		if (buffer->offset || buffer->thread_bytes)
			base = LLVMBuildGEP2(
			    b, byte, base, &offset, 1, buffer->name);
		f->bases[i] = base;
	}
}

/* --- functions ------------------------------------------------------------ */

static bool uses_wide_vectors(const LowFunction *low)
{
	for (int i = 0; i < low->temps.n; i++) {
		const LowTemp *t = &low->temps.at[i];
		if (t->type != DT_BOOL && t->lanes * dtype_bytes(t->type) >= 64)
			return true;
	}
	return false;
}

static void string_attribute(
    LlvmGen *gen, V function, const char *key, const char *value)
{
	if (*value)
		LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
		    LLVMCreateStringAttribute(gen->context, key,
			(unsigned)strlen(key), value, (unsigned)strlen(value)));
}

static V add_function(LlvmGen *gen, const LowFunction *low, const char *name,
    LLVMTypeRef *types, int n, bool internal)
{
	LLVMTypeRef type = LLVMFunctionType(
	    LLVMVoidTypeInContext(gen->context), types, (unsigned)n, false);
	V function = LLVMAddFunction(gen->module, name, type);
	LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
	    llvm_attribute(gen, "nounwind", 0));
	string_attribute(gen, function, "target-cpu", gen->cpu);
	string_attribute(gen, function, "target-features", gen->attrs);
	if (uses_wide_vectors(low) && llvm_has(gen, FEATURE_AVX512F))
		string_attribute(gen, function, "prefer-vector-width", "512");
	/* Registers are saved where the stack is: a vector that crosses a line
	 * there costs more than the rest of the loop. */
	if (llvm_has(gen, FEATURE_AVX))
		string_attribute(gen, function, "stackrealign", "true");
	if (internal)
		LLVMSetLinkage(function, LLVMInternalLinkage);
	return function;
}

/* Workspace and packed buffers are aligned to 64 bytes. */
static bool is_aligned(const LowFunction *low, int param)
{
	const LowParam *p = &low->params.at[param];
	if (low->role == LOWFN_PACK)
		return p->output;
	return p->workspace || p->is_const_input;
}

/* Names `function`'s parameters from `first` on, and keeps them. */
static void take_params(LlvmFunction *f, int first)
{
	const LowFunction *low = f->low;
	for (int i = 0; i < low->params.n; i++) {
		V p = LLVMGetParam(f->function, (unsigned)(first + i));
		const char *name = low->params.at[i].name;
		LLVMSetValueName2(p, name, strlen(name));
		LLVMAddAttributeAtIndex(f->function,
		    (LLVMAttributeIndex)(first + i + 1),
		    llvm_attribute(f->gen, "noalias", 0));
		if (is_aligned(low, i))
			LLVMAddAttributeAtIndex(f->function,
			    (LLVMAttributeIndex)(first + i + 1),
			    llvm_attribute(f->gen, "align", 64));
		f->params[i] = p;
	}
}

/* Memory for what goes by temporary, buffer and parameter, and the entry. */
static void function_begin(
    LlvmFunction *f, const LowBody *body, int first_param)
{
	const LowFunction *low = f->low;
	f->values = NEW_N(f->arena, V, low->temps.n);
	f->rank = NEW_N(f->arena, int, low->temps.n);
	f->fixed = NEW_N(f->arena, bool, low->temps.n);
	f->params = NEW_N(f->arena, V, low->params.n);
	f->bases = NEW_N(f->arena, V, low->buffers.n);
	f->scopes = NEW_N(f->arena, V, low->buffers.n);
	f->noalias = NEW_N(f->arena, V, low->buffers.n);
	f->used = NEW_N(f->arena, bool, low->buffers.n);
	mark_used(f, body);
	make_scopes(f);
	f->entry = new_block(f, "entry");
	take_params(f, first_param);
	LLVMBasicBlockRef start = new_block(f, "start");
	position_at(f->gen, start);
	make_bases(f);
}

/* Streamed stores are ordered before whatever the caller does next. */
static void function_end(LlvmFunction *f)
{
	LLVMBuilderRef b = f->gen->builder;
	if (f->streams)
		LLVMBuildFence(
		    b, LLVMAtomicOrderingSequentiallyConsistent, false, "");
	LLVMBuildRetVoid(b);
	position_at(f->gen, f->entry);
	LLVMBuildBr(b, LLVMGetNextBasicBlock(f->entry));
}

/* --- parallel loops ------------------------------------------------------- */

static V call_runtime(LlvmGen *gen, const char *name, LLVMTypeRef result,
    LLVMTypeRef *types, V *args, int n)
{
	LLVMTypeRef type = LLVMFunctionType(result, types, (unsigned)n, false);
	V function = LLVMGetNamedFunction(gen->module, name);
	if (!function) {
		function = LLVMAddFunction(gen->module, name, type);
		LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
		    llvm_attribute(gen, "nounwind", 0));
	}
	return LLVMBuildCall2(
	    gen->builder, type, function, args, (unsigned)n, "");
}

static V runtime_number(LlvmGen *gen, const char *name)
{
	V n = call_runtime(gen, name, llvm_int_type(gen, 32, 1), NULL, NULL, 0);
	return LLVMBuildZExt(gen->builder, n, llvm_int_type(gen, 64, 1), "");
}

/* What a region's body takes: thread, begin, end, parameters, captures. */
typedef struct {
	const LowNode *loop;
	IntVec captures;
	int ntypes;
	LLVMTypeRef *types; /* of all arguments */
	LLVMTypeRef
	    record;	/* of what is passed by memory: end, params, captures */
	V body, thread; /* functions */
} Region;

enum { REGION_OWN = 3 }; /* arguments before the parameters */

static void region_types(LlvmFunction *f, Region *r)
{
	const LowFunction *low = f->low;
	LLVMTypeRef index = llvm_int_type(f->gen, 64, 1);
	r->ntypes = REGION_OWN + low->params.n + r->captures.n;
	r->types = NEW_N(f->arena, LLVMTypeRef, r->ntypes);
	int n = 0;
	while (n < REGION_OWN)
		r->types[n++] = index;
	for (int i = 0; i < low->params.n; i++)
		r->types[n++] = llvm_pointer_type(f->gen);
	for (int i = 0; i < r->captures.n; i++) {
		const LowTemp *t = &low->temps.at[r->captures.at[i]];
		/* a bool is a byte in memory */
		r->types[n++] = t->type == DT_BOOL
				    ? llvm_int_type(f->gen, 8, t->lanes)
				    : llvm_type(f->gen, t->type, t->lanes);
	}
	r->record =
	    LLVMStructTypeInContext(f->gen->context, r->types + REGION_OWN - 1,
		(unsigned)(r->ntypes - REGION_OWN + 1), false);
}

static V field(LlvmGen *gen, const Region *r, V record, int i)
{
	return LLVMBuildStructGEP2(
	    gen->builder, r->record, record, (unsigned)i, "");
}

static void emit_region_body(const LlvmFunction *outer, Region *r)
{
	LlvmGen *gen = outer->gen;
	LlvmFunction f = *outer;
	f.arena = arena_new();
	f.function = r->body;
	f.thread = LLVMGetParam(r->body, 0);
	f.parallel = true;
	f.loop = NULL;
	f.streams = false;
	function_begin(&f, &r->loop->body, REGION_OWN);
	for (int i = 0; i < r->captures.n; i++) {
		int temp = r->captures.at[i];
		V value = LLVMGetParam(
		    r->body, (unsigned)(REGION_OWN + f.low->params.n + i));
		if (f.low->temps.at[temp].type == DT_BOOL)
			value = LLVMBuildTrunc(gen->builder, value,
			    llvm_type(
				gen, DT_BOOL, f.low->temps.at[temp].lanes),
			    "");
		llvm_temp_write(&f, temp, value);
	}
	emit_range(&f, r->loop, LLVMGetParam(r->body, 1),
	    LLVMGetParam(r->body, 2), true);
	function_end(&f);
	arena_free(f.arena);
}

/* Its parts of the iterations: t*E/T to (t+1)*E/T. */
static void emit_region_thread(LlvmFunction *outer, Region *r)
{
	LlvmGen *gen = outer->gen;
	LLVMBuilderRef b = gen->builder;
	V *args = NEW_N(outer->arena, V, r->ntypes);
	position_at(gen,
	    LLVMAppendBasicBlockInContext(gen->context, r->thread, "entry"));
	V record = LLVMGetParam(r->thread, 0);
	V t = runtime_number(gen, "omp_get_thread_num");
	V T = runtime_number(gen, "omp_get_num_threads");
	V end = LLVMBuildLoad2(
	    b, r->types[REGION_OWN - 1], field(gen, r, record, 0), "");
	V next = LLVMBuildNSWAdd(b, t, llvm_int(gen, 64, 1, 1), "");
	args[0] = t;
	args[1] = LLVMBuildSDiv(b, LLVMBuildNSWMul(b, t, end, ""), T, "");
	args[2] = LLVMBuildSDiv(b, LLVMBuildNSWMul(b, next, end, ""), T, "");
	for (int i = REGION_OWN; i < r->ntypes; i++)
		args[i] = LLVMBuildLoad2(b, r->types[i],
		    field(gen, r, record, i - REGION_OWN + 1), "");
	LLVMBuildCall2(b, LLVMGlobalGetValueType(r->body), r->body, args,
	    (unsigned)r->ntypes, "");
	LLVMBuildRetVoid(b);
}

static V make_record(LlvmFunction *f, Region *r, V end)
{
	LlvmGen *gen = f->gen;
	LLVMBuilderRef b = gen->builder;
	LLVMBasicBlockRef here = LLVMGetInsertBlock(b);
	position_at(gen, f->entry);
	V record = LLVMBuildAlloca(b, r->record, "captures");
	position_at(gen, here);
	LLVMBuildStore(b, end, field(gen, r, record, 0));
	for (int i = 0; i < f->low->params.n; i++)
		LLVMBuildStore(b, f->params[i], field(gen, r, record, 1 + i));
	for (int i = 0; i < r->captures.n; i++) {
		int temp = r->captures.at[i];
		V value = llvm_temp_read(f, temp);
		if (f->low->temps.at[temp].type == DT_BOOL)
			value = LLVMBuildZExt(b, value,
			    r->types[REGION_OWN + f->low->params.n + i], "");
		LLVMBuildStore(
		    b, value, field(gen, r, record, 1 + f->low->params.n + i));
	}
	return record;
}

/* Vectors wider than the target's registers may differ between caller and
 * callee only across modules: both carry the same attributes here. */
static void emit_parallel(LlvmFunction *f, const LowNode *loop)
{
	LlvmGen *gen = f->gen;
	char name[512];
	Region r = {.loop = loop};
	lowered_captures(f->arena, f->low, loop, &r.captures);
	region_types(f, &r);
	LLVMTypeRef pointer = llvm_pointer_type(gen);
	LLVMBasicBlockRef here = LLVMGetInsertBlock(gen->builder);
	int number = ++*f->nregions;
	snprintf(name, sizeof name, "%s.%d", f->low->name, number);
	r.body = add_function(gen, f->low, name, r.types, r.ntypes, true);
	snprintf(name, sizeof name, "%s.%d.thread", f->low->name, number);
	r.thread = add_function(gen, f->low, name, &pointer, 1, true);
	emit_region_body(f, &r);
	emit_region_thread(f, &r);
	position_at(gen, here);
	LLVMTypeRef word = llvm_int_type(gen, 32, 1);
	LLVMTypeRef types[] = {pointer, pointer, word, word};
	V args[] = {r.thread, make_record(f, &r, loop_end(f, loop)),
	    llvm_int(gen, 32, f->low->nthreads, 1), llvm_int(gen, 32, 0, 1)};
	call_runtime(gen, "GOMP_parallel", LLVMVoidTypeInContext(gen->context),
	    types, args, 4);
}

static void emit_body(LlvmFunction *f, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *node = body->at[i];
		switch (node->kind) {
		case LOWNODE_OP:
			llvm_op_emit(f, node);
			break;
		case LOWNODE_IF:
			emit_if(f, node);
			break;
		case LOWNODE_COMMENT:
			break;
		case LOWNODE_LOOP:
			if (is_region(f, node))
				emit_parallel(f, node);
			else if (loop_is_bound(node->loop))
				emit_bound(f, node);
			else
				emit_serial(f, node);
		}
	}
}

/* Are all parameters that need no more than their elements' alignment aligned to
 * so many bytes? */
static V all_aligned(LlvmFunction *f, int bytes)
{
	LLVMBuilderRef b = f->gen->builder;
	LLVMTypeRef word = llvm_int_type(f->gen, 64, 1);
	V all = llvm_int(f->gen, 64, 0, 1);
	for (int i = 0; i < f->low->params.n; i++)
		if (!is_aligned(f->low, i))
			all = LLVMBuildOr(b, all,
			    LLVMBuildPtrToInt(b, f->params[i], word, ""), "");
	all = LLVMBuildAnd(b, all, llvm_int(f->gen, 64, bytes - 1, 1), "");
	return LLVMBuildICmp(
	    b, LLVMIntEQ, all, llvm_int(f->gen, 64, 0, 1), "");
}

/* The body twice, where parameters may be aligned to more than they need: all
 * threads of all blocks go the same way. */
static void emit_versions(LlvmFunction *f, int aligned)
{
	LLVMBuilderRef b = f->gen->builder;
	if (!aligned) {
		emit_body(f, &f->low->body);
		return;
	}
	LLVMBasicBlockRef yes = new_block(f, "aligned");
	LLVMBasicBlockRef no = new_block(f, "unaligned");
	LLVMBasicBlockRef after = new_block(f, "after");
	LLVMBuildCondBr(b, all_aligned(f, aligned), yes, no);
	position_at(f->gen, yes);
	f->aligned = aligned;
	emit_body(f, &f->low->body);
	LLVMBuildBr(b, after);
	position_at(f->gen, no);
	f->aligned = 0;
	memset(f->values, 0, sizeof *f->values * (size_t)f->low->temps.n);
	emit_body(f, &f->low->body);
	LLVMBuildBr(b, after);
	LLVMMoveBasicBlockAfter(after, LLVMGetLastBasicBlock(f->function));
	position_at(f->gen, after);
}

/* Returns the function. */
static V emit_function(LlvmGen *gen, const LowFunction *low, int aligned)
{
	Arena *arena = arena_new();
	int nregions = 0;
	int *assigned = NEW_N(arena, int, low->temps.n);
	low_count_assigned(&low->body, assigned);
	LlvmFunction f = {.gen = gen,
	    .low = low,
	    .arena = arena,
	    .assigned = assigned,
	    .nregions = &nregions,
	    .thread = llvm_int(gen, 64, 0, 1)};
	LLVMTypeRef *types = NEW_N(arena, LLVMTypeRef, low->params.n);
	for (int i = 0; i < low->params.n; i++)
		types[i] = llvm_pointer_type(gen);
	f.function =
	    add_function(gen, low, low->name, types, low->params.n, false);
	function_begin(&f, &low->body, 0);
	emit_versions(&f, aligned);
	function_end(&f);
	arena_free(arena);
	return f.function;
}

/* LLVM's scheduler keeps long chains one behind the other. */
void llvm_function_emit(LlvmGen *gen, const LowFunction *low)
{
	Arena *arena = arena_new();
	emit_function(gen, low_interleave(arena, low), 0);
	arena_free(arena);
}

void llvm_launch_emit(LlvmGen *gen, const LowLaunch *launch)
{
	llvm_launch_mark(gen,
	    emit_function(gen, launch->function, launch->aligned), launch);
}
