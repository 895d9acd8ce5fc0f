/* A kernel that does nothing but independent multiply-adds on registers, as a
 * lowered function: what 100 % means on any target.  They are fused where the
 * target has that, else a multiplication and an addition, as kernels have them.
 *
 *     parallel t: acc0 … acc11 = 1; for i: acc_k = acc_k * x + y
 *
 * For programs that sum products u8*i8, which targets add four at a time:
 * acc_k = dot4(x, y, acc_k).
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

static int constant(Arena *arena, LowFunction *f, LowBody *body, DType type,
    int lanes, const char *name, double value)
{
	int t = low_temp(arena, f, type, lanes, name);
	LowNode *node = low_op(arena, body, LOW_CONST, t, -1, -1, -1);
	node->f = value;
	node->i = (int64_t)value;
	return t;
}

/* Bytes that the compiler does not know. */
static int bytes_of_out(Arena *arena, LowFunction *f, LowBody *body, DType type,
    int lanes, const char *name)
{
	int t = low_temp(arena, f, type, 4 * lanes, name);
	LowNode *node = low_op(arena, body, LOW_LOAD, t, -1, -1, -1);
	node->buffer = f->buffers.n;
	vec_push(arena, &f->buffers,
	    (LowBuffer){.name = name,
		.type = type,
		.elements = (int64_t)4 * lanes,
		.align = 1});
	return t;
}

static bool reads_widened(const Expr *e, DType type)
{
	return e->op == OP_CAST && e->arg[0]->op == OP_READ &&
	    e->arg[0]->type == type;
}

bool peak_is_dot(const Program *p)
{
	for (int i = 0; i < p->nblocks; i++) {
		const Expr *e = p->blocks[i].body;
		if (p->blocks[i].reduce != REDUCE_SUM || e->op != OP_MUL ||
		    e->type != DT_I32)
			continue;
		for (int k = 0; k < 2; k++)
			if (reads_widened(e->arg[k], DT_U8) &&
			    reads_widened(e->arg[1 - k], DT_I8))
				return true;
	}
	return false;
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

Lowered *peak_lowered(Arena *arena, const Target *target, int threads,
    bool dot, double *flops)
{
	Lowered *lowered = NEW(arena, Lowered);
	LowFunction *f = NEW(arena, LowFunction);
	int lanes = target->machine.vector_bytes / 4;
	DType type = dot ? DT_I32 : DT_F32;
	lanes = lanes ? lanes : 1;
	*lowered = (Lowered){.arena = arena, .kernel = f};
	f->name = "tunec_peak";
	f->nthreads = threads;
	vec_push(arena, &f->params,
	    (LowParam){.name = "out", .type = type, .output = true});
	vec_push(arena, &f->params,
	    (LowParam){.name = "workspace", .workspace = true});
	vec_push(arena, &f->buffers,
	    (LowBuffer){.name = "out",
		.type = type,
		.elements = (int64_t)threads * lanes,
		.align = 4,
		.written = true});
	LowNode *outer = loop_node(arena, f, "t", threads,
	    threads > 1 ? LOOP_PARALLEL : LOOP_SERIAL);
	LowNode *inner = loop_node(arena, f, "i", STEPS, LOOP_SERIAL);
	int acc[CHAINS];
	for (int k = 0; k < CHAINS; k++)
		acc[k] = constant(
		    arena, f, &outer->body, type, lanes, "acc", 1 + k);
	int x = dot ? bytes_of_out(arena, f, &outer->body, DT_U8, lanes, "x")
		    : constant(
			  arena, f, &outer->body, type, lanes, "x", 0.999999);
	int y = dot ? bytes_of_out(arena, f, &outer->body, DT_I8, lanes, "y")
		    : constant(arena, f, &outer->body, type, lanes, "y", 1e-7);
	for (int k = 0; k < CHAINS; k++)
		if (dot)
			low_op(arena, &inner->body, LOW_DOT, acc[k], x, y,
			    acc[k]);
		else
			multiply_add(arena, f, &inner->body,
			    target->machine.fma, acc[k], x, y);
	vec_push(arena, &outer->body, inner);
	int sum = acc[0];
	for (int k = 1; k < CHAINS; k++) {
		int next = low_temp(arena, f, type, lanes, "sum");
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
	*flops = (dot ? 8.0 : 2.0) * CHAINS * STEPS * lanes * threads;
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
