/* A kernel that does nothing but independent multiply-adds on registers, as a
 * lowered function: what 100 % means on any target.  They are fused where the
 * target has that, else a multiplication and an addition, as kernels have them.
 *
 *     parallel t: acc0 … acc11 = 1; for i: acc_k = acc_k * x + y
 *
 * They are of f64 where the program's products are; where the target sums products
 * of their operands several at a time, or those of what operands can be taken to
 * (schedule/rules/rule_dot.c): acc_k = dot4(x, y, acc_k).
 *
 * And one that does nothing but copy: what memory allows. */
#include "ir/intrinsic.h"
#include "tuner/measure/measure_internal.h"

enum { CHAINS = 12, ROWS = 64, STEPS = 400000 };

/* --- of what ----------------------------------------------------------------- */

bool peak_sums_products(const Block *b)
{
	return b->reduce == REDUCE_SUM && b->body->op == OP_MUL &&
	    fragment_read(b->body, 0)->op == OP_READ &&
	    fragment_read(b->body, 1)->op == OP_READ;
}

static bool count_axis(Expr *e, void *n)
{
	*(int *)n += e->op == OP_AXIS;
	return true;
}

/* That of two which axes tell apart: x[i, k] of x[i, k] - zero[i]. */
static const Expr *varied(Expr *a, Expr *b)
{
	int of_a = 0, of_b = 0;
	expr_walk(a, count_axis, &of_a);
	expr_walk(b, count_axis, &of_b);
	return of_a >= of_b ? a : b;
}

/* The elements that a factor of a sum is of, whatever a rewrite takes out of it:
 * casts, what is added to integers, zeros around them, and blocks that do these
 * alone.  NULL: of none. */
static const Expr *factor_read(const Program *p, const Expr *e)
{
	const Expr *found = NULL;
	for (;;) {
		bool whole = dtype_is_int(e->type);
		if (e->op == OP_READ) {
			int from = p->buffers[e->id].block;
			found = e;
			if (!whole || from < 0 ||
			    p->blocks[from].reduce != REDUCE_NONE)
				return found;
			e = p->blocks[from].body;
		} else if (e->op == OP_CAST) {
			e = e->arg[0];
		} else if (e->op == OP_IF && expr_is_zero(e->arg[2])) {
			e = e->arg[1];
		} else if (whole && (e->op == OP_ADD || e->op == OP_SUB)) {
			e = varied(e->arg[0], e->arg[1]);
		} else {
			return found;
		}
	}
}

typedef struct {
	const Expr *product, *a, *b;
} Summed;

/* Is it a sum of products of elements? */
static bool find_summed(const Program *p, const Block *b, Summed *s)
{
	const Expr *e = b->body;
	if (e->op == OP_IF && expr_is_zero(e->arg[2]))
		e = e->arg[1];
	if (b->reduce != REDUCE_SUM || e->op != OP_MUL)
		return false;
	*s = (Summed){
	    e, factor_read(p, e->arg[0]), factor_read(p, e->arg[1])};
	return s->a && s->b;
}

/* Bytes of either sign are taken to each other, and to words. */
static bool can_be_taken(DType from, DType to)
{
	return from == to ||
	    (dtype_is_int(from) && dtype_is_int(to) &&
		dtype_bytes(from) == 1);
}

static bool sums_for(const Intrinsic *in, const Summed *s)
{
	return in->sum == s->product->type &&
	    can_be_taken(s->a->type, in->a) &&
	    can_be_taken(s->b->type, in->b);
}

int peak_kind(const Program *p, const Block *b, const Machine *machine)
{
	double most = 1;
	int kind = PEAK_F32;
	Summed s;
	if (!find_summed(p, b, &s))
		return PEAK_F32;
	if (s.product->type == DT_F64)
		return PEAK_F64;
	for (int i = 0; i < intrinsic_count(); i++) {
		const Intrinsic *in = intrinsic_at(i);
		int n = intrinsic_instructions(in, machine, p->numerics);
		if (!n || !sums_for(in, &s) || in->terms < most * n)
			continue;
		most = (double)in->terms / n;
		kind = PEAK_DOT + i;
	}
	return kind;
}

int peak_of_program(const Program *p, const Machine *machine)
{
	double most = 0;
	int kind = PEAK_F32;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		double points = block_points(b, 0, b->naxes);
		Summed s;
		if (!find_summed(p, b, &s) || points <= most)
			continue;
		most = points;
		kind = peak_kind(p, b, machine);
	}
	return kind;
}

double peak_operations(const Program *p, const Machine *machine)
{
	int kind = peak_of_program(p, machine);
	double sum = 0;
	if (kind < PEAK_DOT)
		return (double)p->flops;
	for (int i = 0; i < p->nblocks; i++)
		if (peak_kind(p, &p->blocks[i], machine) == kind)
			sum += 2 *
			    block_points(
				&p->blocks[i], 0, p->blocks[i].naxes);
	return sum;
}

/* --- multiply-adds ----------------------------------------------------------- */

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

static int add_input(
    Arena *arena, LowFunction *f, const char *name, DType type, int64_t elements)
{
	LowParam param = {.name = name, .type = type};
	vec_push(arena, &f->buffers,
	    (LowBuffer){.name = name,
		.type = type,
		.elements = elements,
		.param = f->params.n,
		.align = dtype_bytes(type)});
	vec_push(arena, &f->params, param);
	return f->buffers.n - 1;
}

/* Vector `at` of a buffer; where there is a variable, the one that is it further. */
static int load_vector(Arena *arena, LowFunction *f, LowBody *body, int buffer,
    int lanes, int var, int64_t at)
{
	const LowBuffer *from = &f->buffers.at[buffer];
	int t = low_temp(arena, f, from->type, lanes, from->name);
	LowNode *node = low_op(arena, body, LOW_LOAD, t, -1, -1, -1);
	node->buffer = buffer;
	node->address.constant = at * lanes;
	if (var >= 0) {
		node->address.n = 1;
		node->address.terms = NEW(arena, LowTerm);
		*node->address.terms = (LowTerm){var, lanes};
	}
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
	int product = low_temp(arena, f, f->temps.at[acc].type,
	    f->temps.at[acc].lanes, "product");
	low_op(arena, body, LOW_MUL, product, acc, x, -1);
	low_op(arena, body, LOW_ADD, acc, product, y, -1);
}

/* What is the same in each step would be taken out of the loops: an instruction of
 * two, where that is what a dot product takes. */
static void sum_dots(Arena *arena, LowFunction *f, LowNode *outer,
    const Intrinsic *dot, const int *acc, int lanes)
{
	int n = dot->terms * lanes, y[CHAINS];
	int xs = add_input(arena, f, "x", dot->a, (int64_t)ROWS * n);
	int ys = add_input(arena, f, "y", dot->b, (int64_t)CHAINS * n);
	LowNode *steps = loop_node(arena, f, "j", STEPS / ROWS, LOOP_SERIAL);
	LowNode *rows = loop_node(arena, f, "i", ROWS, LOOP_SERIAL);
	for (int k = 0; k < CHAINS; k++)
		y[k] = load_vector(arena, f, &outer->body, ys, n, -1, k);
	int x = load_vector(arena, f, &rows->body, xs, n, rows->var, 0);
	for (int k = 0; k < CHAINS; k++)
		low_op(
		    arena, &rows->body, LOW_DOT, acc[k], x, y[k], acc[k]);
	vec_push(arena, &steps->body, rows);
	vec_push(arena, &outer->body, steps);
}

static void sum_products(Arena *arena, LowFunction *f, LowNode *outer,
    const Machine *machine, const int *acc, DType type, int lanes)
{
	LowNode *steps = loop_node(arena, f, "i", STEPS, LOOP_SERIAL);
	int x = constant(
	    arena, f, &outer->body, type, lanes, "x", 0.999999);
	int y = constant(arena, f, &outer->body, type, lanes, "y", 1e-7);
	for (int k = 0; k < CHAINS; k++)
		multiply_add(
		    arena, f, &steps->body, machine->fma, acc[k], x, y);
	vec_push(arena, &outer->body, steps);
}

Lowered *peak_lowered(Arena *arena, const Program *program,
    const Target *target, int threads, double *flops)
{
	Lowered *lowered = NEW(arena, Lowered);
	LowFunction *f = NEW(arena, LowFunction);
	int kind = peak_of_program(program, &target->machine);
	const Intrinsic *dot =
	    kind >= PEAK_DOT ? intrinsic_at(kind - PEAK_DOT) : NULL;
	DType type = dot ? dot->sum : kind == PEAK_F64 ? DT_F64 : DT_F32;
	int lanes = target->machine.vector_bytes / dtype_bytes(type);
	lanes = lanes ? lanes : 1;
	*lowered =
	    (Lowered){.arena = arena, .program = program, .kernel = f};
	f->name = "tunec_peak";
	f->nthreads = threads;
	vec_push(arena, &f->params,
	    (LowParam){.name = "out", .type = type, .output = true});
	vec_push(arena, &f->buffers,
	    (LowBuffer){.name = "out",
		.type = type,
		.elements = (int64_t)threads * lanes,
		.align = dtype_bytes(type),
		.written = true});
	LowNode *outer = loop_node(arena, f, "t", threads,
	    threads > 1 ? LOOP_PARALLEL : LOOP_SERIAL);
	int acc[CHAINS];
	for (int k = 0; k < CHAINS; k++)
		acc[k] = constant(
		    arena, f, &outer->body, type, lanes, "acc", 1 + k);
	if (dot)
		sum_dots(arena, f, outer, dot, acc, lanes);
	else
		sum_products(
		    arena, f, outer, &target->machine, acc, type, lanes);
	vec_push(arena, &f->params,
	    (LowParam){.name = "workspace", .workspace = true});
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
	*flops = 2.0 * (dot ? dot->terms : 1) * CHAINS * STEPS * lanes *
	    threads;
	return lowered;
}

/* --- a copy ------------------------------------------------------------------ */

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
Lowered *copy_lowered(Arena *arena, const Target *target, int threads,
    int64_t bytes, int64_t *elements)
{
	Lowered *lowered = NEW(arena, Lowered);
	LowFunction *f = NEW(arena, LowFunction);
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
