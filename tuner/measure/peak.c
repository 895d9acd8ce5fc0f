/* A kernel that does nothing but independent multiply-adds on registers, as a
 * lowered function: what 100 % means on any target.  They are fused where the
 * target has that, else a multiplication and an addition, as kernels have them.
 *
 *     parallel t: acc0 … acc11 = 1; for i: acc_k = acc_k * x + y
 *
 * And one that does nothing but copy: what memory allows. */
#include "tuner/measure/measure_internal.h"

enum { CHAINS = 12, STEPS = 400000 };

static LowNode *loop_node(
    Arena *arena, LowFunction *f, const char *name, int64_t extent, LoopKind kind)
{
	LowNode *loop = NEW(arena, LowNode);
	loop->kind = LOWNODE_LOOP;
	loop->var = low_temp(arena, f, DT_INDEX, 1, name);
	loop->extent = extent;
	loop->loop = kind;
	return loop;
}

static int constant(Arena *arena, LowFunction *f, LowBody *body, int lanes,
    const char *name, double value)
{
	int t = low_temp(arena, f, DT_F32, lanes, name);
	low_op(arena, body, LOW_CONST, t, -1, -1, -1)->f = value;
	return t;
}

/* acc = acc * x + y */
static void multiply_add(Arena *arena, LowFunction *f, LowBody *body, bool fma,
    int acc, int x, int y)
{
	if (fma) {
		low_op(arena, body, LOW_FMA, acc, acc, x, y);
		return;
	}
	int product =
	    low_temp(arena, f, DT_F32, f->temps.at[acc].lanes, "product");
	low_op(arena, body, LOW_MUL, product, acc, x, -1);
	low_op(arena, body, LOW_ADD, acc, product, y, -1);
}

Lowered *peak_lowered(
    Arena *arena, const Target *target, int threads, double *flops)
{
	Lowered *lowered = NEW(arena, Lowered);
	LowFunction *f = NEW(arena, LowFunction);
	int lanes = target->machine.vector_bytes / 4;
	lanes = lanes ? lanes : 1;
	*lowered = (Lowered){.arena = arena, .kernel = f};
	f->name = "tunec_peak";
	f->nthreads = threads;
	vec_push(arena, &f->params,
	    (LowParam){.name = "out", .type = DT_F32, .output = true});
	vec_push(arena, &f->params,
	    (LowParam){.name = "workspace", .workspace = true});
	vec_push(arena, &f->buffers,
	    (LowBuffer){.name = "out",
		.type = DT_F32,
		.elements = (int64_t)threads * lanes,
		.align = 4,
		.written = true});
	LowNode *outer = loop_node(arena, f, "t", threads,
	    threads > 1 ? LOOP_PARALLEL : LOOP_SERIAL);
	LowNode *inner = loop_node(arena, f, "i", STEPS, LOOP_SERIAL);
	int acc[CHAINS];
	for (int k = 0; k < CHAINS; k++)
		acc[k] = constant(arena, f, &outer->body, lanes, "acc", 1 + k);
	int x = constant(arena, f, &outer->body, lanes, "x", 0.999999);
	int y = constant(arena, f, &outer->body, lanes, "y", 1e-7);
	for (int k = 0; k < CHAINS; k++)
		multiply_add(arena, f, &inner->body, target->machine.fma,
		    acc[k], x, y);
	vec_push(arena, &outer->body, inner);
	int sum = acc[0];
	for (int k = 1; k < CHAINS; k++) {
		int next = low_temp(arena, f, DT_F32, lanes, "sum");
		low_op(arena, &outer->body, LOW_ADD, next, sum, acc[k], -1);
		sum = next;
	}
	LowNode *store =
	    low_op(arena, &outer->body, LOW_STORE, -1, sum, -1, -1);
	store->buffer = 0;
	store->address.n = 1;
	store->address.terms = NEW(arena, LowTerm);
	*store->address.terms = (LowTerm){outer->var, lanes};
	vec_push(arena, &f->body, outer);
	*flops = 2.0 * CHAINS * STEPS * lanes * threads;
	return lowered;
}

static LowBuffer copied(const char *name, int param, int64_t elements)
{
	return (LowBuffer){.name = name,
	    .type = DT_F32,
	    .elements = elements,
	    .param = param,
	    .align = 4,
	    .written = param != 0};
}

static void set_address(
    Arena *arena, LowNode *op, int t, int64_t share, int i, int lanes)
{
	op->address.n = 2;
	op->address.terms = NEW_N(arena, LowTerm, 2);
	op->address.terms[0] = (LowTerm){t, share};
	op->address.terms[1] = (LowTerm){i, lanes};
}

/* parallel t: for i: out[t*share + i*lanes ..] = in[t*share + i*lanes ..] */
Lowered *copy_lowered(
    Arena *arena, const Target *target, int64_t bytes, int64_t *elements)
{
	Lowered *lowered = NEW(arena, Lowered);
	LowFunction *f = NEW(arena, LowFunction);
	int threads = target->threads;
	int lanes = target->machine.vector_bytes / 4;
	lanes = lanes ? lanes : 1;
	int64_t steps = bytes / 2 / 4 / threads / lanes + 1;
	*elements = steps * lanes * threads;
	*lowered = (Lowered){.arena = arena, .kernel = f};
	f->name = "tunec_copy";
	f->nthreads = threads;
	vec_push(arena, &f->params, (LowParam){.name = "in", .type = DT_F32});
	vec_push(arena, &f->params,
	    (LowParam){.name = "out", .type = DT_F32, .output = true});
	vec_push(arena, &f->params,
	    (LowParam){.name = "workspace", .workspace = true});
	vec_push(arena, &f->buffers, copied("in", 0, *elements));
	vec_push(arena, &f->buffers, copied("out", 1, *elements));
	LowNode *outer = loop_node(arena, f, "t", threads,
	    threads > 1 ? LOOP_PARALLEL : LOOP_SERIAL);
	LowNode *inner = loop_node(arena, f, "i", steps, LOOP_SERIAL);
	int value = low_temp(arena, f, DT_F32, lanes, "value");
	LowNode *load =
	    low_op(arena, &inner->body, LOW_LOAD, value, -1, -1, -1);
	LowNode *store =
	    low_op(arena, &inner->body, LOW_STORE, -1, value, -1, -1);
	load->buffer = 0;
	store->buffer = 1;
	set_address(arena, load, outer->var, steps * lanes, inner->var, lanes);
	set_address(
	    arena, store, outer->var, steps * lanes, inner->var, lanes);
	vec_push(arena, &outer->body, inner);
	vec_push(arena, &f->body, outer);
	return lowered;
}
