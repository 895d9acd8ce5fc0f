/* The interpreter of programs: the truth that kernels are compared with.
 *
 * A block's body is compiled to a flat register code in one piece for each
 * axis: what depends on no axis further in than `c` runs when `c` moves on.
 * What reads no buffer cannot fail, so it is hoisted out of conditions too,
 * and evaluated in both arms; a read under a condition stays under it. */
#include "ir/program.h"

#include "ir/computed.h"
#include "ir/scalar.h"

typedef enum {
	I_END,
	I_LOOP,	       /* ++d < b ? to the first instruction : end */
	I_JUMP,	       /* by c */
	I_JUMP_UNLESS, /* by c, if a is 0 */
	I_MOVE,
	I_SELECT, /* d = a ? b : c */
	I_READ,	  /* d = access b */
	I_CONVERT,
	I_MATH_F32,
	I_MATH_F64,
	I_NOT,
	I_AND,
	I_OR,
	I_FLOORDIV,
	I_MOD,
	I_DIV_F32,
	I_DIV_F64,
	I_BITS,
	I_FLOORDIV_U64,
	I_MOD_U64,
	/* in each of these families: i32, integers of 64 bits, u32, f32, f64 */
	I_ADD,
	I_SUB = I_ADD + 5,
	I_MUL = I_SUB + 5,
	I_NEG = I_MUL + 5,
	I_ABS = I_NEG + 5,
	/* integers, f32, f64, u64 */
	I_MIN = I_ABS + 5,
	I_MAX = I_MIN + 4,
	I_LT = I_MAX + 4,
	I_LE = I_LT + 4,
	I_EQ = I_LE + 4,
	I_NE = I_EQ + 4
} InterpCode;

typedef struct {
	uint16_t code;
	uint8_t type, from; /* CONVERT: DTypes; MATH, BITS: type is the Op */
	int d, a, b, c;     /* slots */
} Instr;

typedef struct {
	int slot;
	int64_t extent, stride;
} AccessDim;

typedef struct {
	int buffer;
	DType type;
	const void *data; /* NULL: recomputed, element by element */
	int n;
	AccessDim *dims;
} InterpAccess;

typedef struct {
	int slot;
	Instr instr; /* that computes it */
} KnownInstr;
typedef VEC(KnownInstr) KnownVec;

typedef VEC(Instr) InstrVec;

typedef struct {
	InstrVec pure, main; /* pure: reads no buffer; runs first */
} Level;

/* A block, ready to run.  Slots 0 .. naxes-1 hold the axes. */
typedef struct {
	const Block *block;
	VEC(Scalar) slots;
	VEC(int) slot_level;
	VEC(int) constants; /* slots */
	VEC(InterpAccess) accesses;
	Level *levels; /* 0: on entry; a + 1: when axis a has moved */
	Instr **code;
	int result;    /* slot */
	Scalar identity;
	KnownVec pure_known, main_known; /* main: in the arm at hand */
} Compiled;

typedef struct Interp Interp;

struct Interp {
	Arena *arena;
	const Program *program;
	void *const *data;
	int ndata;           /* buffers that have data */
	Compiled **compiled; /* by block, on demand */
	Computed computed;
	VEC(Scalar) values;	     /* of those */
	bool (*stop)(void *context); /* NULL: never */
	void *context;
	int asked;
	bool stopped; /* nothing is computed any more */
};

/* --- compiling ------------------------------------------------------------ */

static int new_slot(Interp *in, Compiled *c, int level)
{
	vec_push(in->arena, &c->slots, (Scalar){0});
	vec_push(in->arena, &c->slot_level, level);
	return c->slots.n - 1;
}

static bool reads(const Expr *e)
{
	if (e->op == OP_READ)
		return true;
	for (int i = 0; i < e->narg; i++)
		if (reads(e->arg[i]))
			return true;
	return false;
}

static int deepest(const Expr *e)
{
	int level = e->op == OP_AXIS ? e->id + 1 : 0;
	for (int i = 0; i < e->narg; i++) {
		int l = deepest(e->arg[i]);
		level = l > level ? l : level;
	}
	return level;
}

static bool same_instr(const Instr *a, const Instr *b)
{
	return a->code == b->code && a->type == b->type &&
	    a->from == b->from && a->a == b->a && a->b == b->b && a->c == b->c;
}

/* Looked for among the newest only, so that compiling stays linear. */
enum { KNOWN_WINDOW = 256 };

static int find_known(const KnownVec *known, const Instr *instr)
{
	for (int i = known->n - 1; i >= 0 && i >= known->n - KNOWN_WINDOW; i--)
		if (same_instr(&known->at[i].instr, instr))
			return known->at[i].slot;
	return -1;
}

/* Where code that reads buffers goes: NULL where nothing guards it, then each
 * instruction goes to the level of its operands. */
typedef InstrVec *Stream;

static int max_level(const Compiled *c, const Instr *i)
{
	int level = 0, slots[] = {i->a, i->b, i->c};
	for (int k = 0; k < 3; k++)
		if (slots[k] >= 0 && c->slot_level.at[slots[k]] > level)
			level = c->slot_level.at[slots[k]];
	return level;
}

static int emit_pure(Interp *in, Compiled *c, Instr instr)
{
	int slot = find_known(&c->pure_known, &instr);
	if (slot >= 0)
		return slot;
	int level = max_level(c, &instr);
	instr.d = slot = new_slot(in, c, level);
	vec_push(in->arena, &c->levels[level].pure, instr);
	vec_push(in->arena, &c->pure_known, (KnownInstr){slot, instr});
	return slot;
}

static int emit_main(
    Interp *in, Compiled *c, Stream stream, int level, Instr instr)
{
	int slot = find_known(&c->main_known, &instr);
	if (slot >= 0)
		return slot;
	instr.d = slot = new_slot(in, c, level);
	vec_push(
	    in->arena, stream ? stream : &c->levels[level].main, instr);
	vec_push(in->arena, &c->main_known, (KnownInstr){slot, instr});
	return slot;
}

static int emit(Interp *in, Compiled *c, Stream stream, bool pure, Instr instr)
{
	if (pure)
		return emit_pure(in, c, instr);
	return emit_main(in, c, stream, max_level(c, &instr), instr);
}

static Instr instruction(int code, int a, int b)
{
	return (Instr){.code = (uint16_t)code, .d = -1, .a = a, .b = b, .c = -1};
}

static Scalar constant_value(const Expr *e)
{
	Scalar s = {0};
	if (e->op == OP_INT)
		s.i = e->i;
	else if (e->type == DT_F64)
		s.d = e->f;
	else
		s.f = (float)e->f;
	return s;
}

/* Equal bits share a slot, whatever their type. */
static int constant(Interp *in, Compiled *c, const Expr *e)
{
	Scalar s = constant_value(e);
	for (int i = c->constants.n - 1;
	     i >= 0 && i >= c->constants.n - KNOWN_WINDOW; i--)
		if (c->slots.at[c->constants.at[i]].i == s.i)
			return c->constants.at[i];
	int slot = new_slot(in, c, 0);
	c->slots.at[slot] = s;
	vec_push(in->arena, &c->constants, slot);
	return slot;
}

static int family5(DType type)
{
	switch (type) {
	case DT_I32: return 0;
	case DT_U32: return 2;
	case DT_F32: return 3;
	case DT_F64: return 4;
	default:
		assert(type == DT_I64 || type == DT_U64 || type == DT_INDEX);
		return 1;
	}
}

static int family4(DType type)
{
	return type == DT_U64 ? 3 : (int)scalar_class(type);
}

/* t is the type of the first argument. */
static int simple_code(Op op, DType t)
{
	switch (op) {
	case OP_ADD: return I_ADD + family5(t);
	case OP_SUB: return I_SUB + family5(t);
	case OP_MUL: return I_MUL + family5(t);
	case OP_NEG: return I_NEG + family5(t);
	case OP_ABS: return I_ABS + family5(t);
	case OP_DIV: return t == DT_F64 ? I_DIV_F64 : I_DIV_F32;
	case OP_FLOORDIV: return t == DT_U64 ? I_FLOORDIV_U64 : I_FLOORDIV;
	case OP_MOD: return t == DT_U64 ? I_MOD_U64 : I_MOD;
	case OP_MIN: return I_MIN + family4(t);
	case OP_MAX: return I_MAX + family4(t);
	case OP_LT:
	case OP_GT: return I_LT + family4(t);
	case OP_LE:
	case OP_GE: return I_LE + family4(t);
	case OP_EQ: return I_EQ + family4(t);
	case OP_NE: return I_NE + family4(t);
	case OP_NOT: return I_NOT;
	default:
		if (op_kind(op) == OPKIND_BITS)
			return I_BITS;
		return t == DT_F64 ? I_MATH_F64 : I_MATH_F32;
	}
}

static int compile(Interp *in, Compiled *c, Stream stream, const Expr *e);

static bool same_access(const InterpAccess *a, const InterpAccess *b)
{
	if (a->buffer != b->buffer)
		return false;
	for (int i = 0; i < a->n; i++)
		if (a->dims[i].slot != b->dims[i].slot)
			return false;
	return true;
}

static int known_access(const Compiled *c, const InterpAccess *access)
{
	const KnownVec *known = &c->main_known;
	for (int i = known->n - 1; i >= 0 && i >= known->n - KNOWN_WINDOW; i--)
		if (known->at[i].instr.code == I_READ &&
		    same_access(&c->accesses.at[known->at[i].instr.b], access))
			return known->at[i].slot;
	return -1;
}

static int compile_read(Interp *in, Compiled *c, Stream stream, const Expr *e)
{
	const Buffer *buffer = &in->program->buffers[e->id];
	int64_t stride = 1;
	int level = 0;
	assert(e->narg == buffer->ndim);
	InterpAccess access = {e->id, buffer->type,
	    e->id < in->ndata ? in->data[e->id] : NULL, e->narg,
	    NEW_N(in->arena, AccessDim, e->narg)};
	for (int i = e->narg - 1; i >= 0; i--) {
		int slot = compile(in, c, stream, e->arg[i]);
		access.dims[i] =
		    (AccessDim){slot, buffer->shape[i], stride};
		stride *= buffer->shape[i];
		if (c->slot_level.at[slot] > level)
			level = c->slot_level.at[slot];
	}
	int known = known_access(c, &access);
	if (known >= 0)
		return known;
	vec_push(in->arena, &c->accesses, access);
	Instr instr = instruction(I_READ, -1, c->accesses.n - 1);
	return emit_main(in, c, stream, level, instr);
}

/* d = condition ? yes : no, where `no` (or `yes`) may be a constant */
static int compile_branch(Interp *in, Compiled *c, Stream stream,
    const Expr *e, const Expr *condition, const Expr *yes, const Expr *no)
{
	int level = deepest(e);
	int test = compile(in, c, stream, condition);
	int d = new_slot(in, c, level);
	InstrVec *s = stream ? stream : &c->levels[level].main;
	int mark = c->main_known.n;

	Instr jump = instruction(I_JUMP_UNLESS, test, -1);
	int to_no = s->n;
	vec_push(in->arena, s, jump);
	Instr move = instruction(I_MOVE, compile(in, c, s, yes), -1);
	move.d = d;
	vec_push(in->arena, s, move);
	c->main_known.n = mark;
	int to_end = s->n;
	vec_push(in->arena, s, instruction(I_JUMP, -1, -1));
	s->at[to_no].c = s->n - to_no;
	move.a = compile(in, c, s, no);
	vec_push(in->arena, s, move);
	c->main_known.n = mark;
	s->at[to_end].c = s->n - to_end;
	return d;
}

/* `and` and `or` look at the second condition only if they must. */
static int compile_logic(Interp *in, Compiled *c, Stream stream, const Expr *e)
{
	bool is_and = e->op == OP_AND;
	if (!reads(e->arg[1])) {
		int a = compile(in, c, stream, e->arg[0]);
		int b = compile(in, c, stream, e->arg[1]);
		return emit(in, c, stream, !reads(e),
		    instruction(is_and ? I_AND : I_OR, a, b));
	}
	Expr *fixed = expr_int(in->arena, DT_BOOL, !is_and);
	return compile_branch(in, c, stream, e, e->arg[0],
	    is_and ? e->arg[1] : fixed, is_and ? fixed : e->arg[1]);
}

static int compile_if(Interp *in, Compiled *c, Stream stream, const Expr *e)
{
	if (reads(e->arg[1]) || reads(e->arg[2]))
		return compile_branch(
		    in, c, stream, e, e->arg[0], e->arg[1], e->arg[2]);
	Instr select = instruction(I_SELECT,
	    compile(in, c, stream, e->arg[0]),
	    compile(in, c, stream, e->arg[1]));
	select.c = compile(in, c, stream, e->arg[2]);
	return emit(in, c, stream, !reads(e->arg[0]), select);
}

static int compile_clamp(Interp *in, Compiled *c, Stream stream, const Expr *e)
{
	int family = family4(e->type);
	int x = compile(in, c, stream, e->arg[0]);
	int low = compile(in, c, stream, e->arg[1]);
	int high = compile(in, c, stream, e->arg[2]);
	int raised = emit(in, c, stream, !reads(e->arg[0]) && !reads(e->arg[1]),
	    instruction(I_MAX + family, x, low));
	return emit(in, c, stream, !reads(e),
	    instruction(I_MIN + family, raised, high));
}

/* In an index of u64 what that holds. */
static int compile_cast(Interp *in, Compiled *c, Stream stream, const Expr *e)
{
	int a = compile(in, c, stream, e->arg[0]);
	Instr i = instruction(I_CONVERT, a, -1);
	if (e->type == DT_INDEX && e->arg[0]->type == DT_U64) {
		int most = constant(
		    in, c, expr_int(in->arena, DT_INDEX, INT64_MAX));
		i = instruction(I_MIN + family4(DT_U64), a, most);
	}
	i.type = (uint8_t)e->type;
	i.from = (uint8_t)e->arg[0]->type;
	return emit(in, c, stream, !reads(e), i);
}

static int compile_simple(Interp *in, Compiled *c, Stream stream, const Expr *e)
{
	bool swapped = e->op == OP_GT || e->op == OP_GE;
	const Expr *first = expr_divides_u64(e);
	if (!first)
		first = e->arg[0];
	Instr instr = instruction(simple_code(e->op, first->type), -1, -1);
	instr.a = compile(in, c, stream, first);
	if (e->narg == 2)
		instr.b = compile(in, c, stream, e->arg[1]);
	if (swapped) {
		int a = instr.a;
		instr.a = instr.b;
		instr.b = a;
	}
	instr.type = (uint8_t)e->op;
	instr.from = (uint8_t)first->type;
	return emit(in, c, stream, !reads(e), instr);
}

static int compile(Interp *in, Compiled *c, Stream stream, const Expr *e)
{
	switch (e->op) {
	case OP_INT:
	case OP_FLOAT: return constant(in, c, e);
	case OP_AXIS: return e->id;
	case OP_READ: return compile_read(in, c, stream, e);
	case OP_AND:
	case OP_OR: return compile_logic(in, c, stream, e);
	case OP_IF: return compile_if(in, c, stream, e);
	case OP_CLAMP: return compile_clamp(in, c, stream, e);
	case OP_ABS:
		return dtype_is_unsigned(e->type)
		    ? compile(in, c, stream, e->arg[0])
		    : compile_simple(in, c, stream, e);
	case OP_CAST: return compile_cast(in, c, stream, e);
	case OP_REDUCE:
	case OP_VAR:
	case OP_TAPE:
	case OP_COUNT: assert(!"not in a block's body"); return 0;
	default: return compile_simple(in, c, stream, e);
	}
}

/* so far = step(element, so far) */
static Instr reduction_step(ReduceOp op, DType type, int element, int so_far)
{
	int code = op == REDUCE_SUM ? I_ADD + family5(type)
	    : op == REDUCE_PROD ? I_MUL + family5(type)
	    : op == REDUCE_MAX ? I_MAX + family4(type)
			       : I_MIN + family4(type);
	bool ordered = op == REDUCE_SUM || op == REDUCE_PROD;
	Instr i = ordered ? instruction(code, so_far, element)
			  : instruction(code, element, so_far);
	i.d = so_far;
	return i;
}

static Instr *joined(Arena *arena, const Level *level, bool loop, int axis,
    int64_t extent)
{
	int n = level->pure.n, m = level->main.n;
	Instr *code = NEW_N(arena, Instr, n + m + 1);
	if (n)
		memcpy(code, level->pure.at, sizeof(Instr) * (size_t)n);
	if (m)
		memcpy(code + n, level->main.at, sizeof(Instr) * (size_t)m);
	code[n + m] = (Instr){.code = loop ? I_LOOP : I_END, .d = axis,
	    .a = (int)(extent & 0x7fffffff), .b = (int)(extent >> 31),
	    .c = -(n + m)};
	return code;
}

static Compiled *compile_block(Interp *in, const Block *block)
{
	Arena *arena = in->arena;
	Compiled *c = NEW(arena, Compiled);
	c->block = block;
	c->levels = NEW_N(arena, Level, block->naxes + 1);
	c->code = NEW_N(arena, Instr *, block->naxes + 1);
	for (int i = 0; i < block->naxes; i++)
		new_slot(in, c, i + 1);
	c->result = compile(in, c, NULL, block->body);
	bool reduces = block->reduce != REDUCE_NONE;
	assert(reduces == (block->naxes > block->nspatial));
	if (reduces) {
		Expr *identity =
		    expr_identity(arena, block->reduce, block->body->type);
		int element = c->result;
		c->result = new_slot(in, c, block->naxes);
		c->identity = constant_value(identity);
		vec_push(arena, &c->levels[block->naxes].main,
		    reduction_step(block->reduce, block->body->type, element,
			c->result));
	}
	for (int i = 0; i <= block->naxes; i++) {
		bool loop = reduces && i == block->naxes;
		c->code[i] = joined(arena, &c->levels[i], loop, i - 1,
		    i ? block->axes[i - 1].extent : 0);
	}
	return c;
}

/* --- running -------------------------------------------------------------- */

static Scalar point(Interp *in, int buffer, int64_t at);

static Scalar read_element(
    Interp *in, const InterpAccess *access, const Scalar *slots)
{
	int64_t at = 0;
	for (int i = 0; i < access->n; i++) {
		const AccessDim *dim = &access->dims[i];
		int64_t index = slots[dim->slot].i;
		assert(index >= 0 && index < dim->extent);
		at += index * dim->stride;
	}
	return access->data ? scalar_load(access->type, access->data, at)
			    : point(in, access->buffer, at);
}

#define A s[p->a]
#define B s[p->b]
#define D s[p->d]

#define FAMILY5(code, wrapped, plain_f32, plain_f64)                           \
	case code:                                                             \
		D.i = (int32_t)(uint32_t)(wrapped);                            \
		break;                                                         \
	case code + 1:                                                         \
		D.i = (int64_t)(wrapped);                                      \
		break;                                                         \
	case code + 2:                                                         \
		D.i = (uint32_t)(wrapped);                                     \
		break;                                                         \
	case code + 3:                                                         \
		D.f = plain_f32;                                               \
		break;                                                         \
	case code + 4:                                                         \
		D.d = plain_f64;                                               \
		break;

#define COMPARE(code, op)                                                      \
	case code:                                                             \
		D.i = A.i op B.i;                                              \
		break;                                                         \
	case code + 1:                                                         \
		D.i = A.f op B.f;                                              \
		break;                                                         \
	case code + 2:                                                         \
		D.i = A.d op B.d;                                              \
		break;                                                         \
	case code + 3:                                                         \
		D.i = (uint64_t)A.i op (uint64_t)B.i;                          \
		break;

#define CHOOSE(code, op)                                                       \
	case code:                                                             \
		D.i = A.i op B.i ? A.i : B.i;                                  \
		break;                                                         \
	case code + 1:                                                         \
		D.f = A.f op B.f ? A.f : B.f;                                  \
		break;                                                         \
	case code + 2:                                                         \
		D.d = A.d op B.d ? A.d : B.d;                                  \
		break;                                                         \
	case code + 3:                                                         \
		D.i = (uint64_t)A.i op (uint64_t)B.i ? A.i : B.i;              \
		break;

static void execute(Interp *in, Compiled *c, const Instr *p)
{
	Scalar *s = c->slots.at;
	for (;; p++) {
		switch (p->code) {
		case I_END: return;
		case I_LOOP:
			if (++D.i >= ((int64_t)p->b << 31 | p->a))
				return;
			p += p->c - 1;
			break;
		case I_JUMP: p += p->c - 1; break;
		case I_JUMP_UNLESS:
			if (!A.i)
				p += p->c - 1;
			break;
		case I_MOVE: D = A; break;
		case I_SELECT: D = A.i ? B : s[p->c]; break;
		case I_READ:
			D = read_element(in, &c->accesses.at[p->b], s);
			break;
		case I_CONVERT:
			D = scalar_convert(
			    (DType)p->type, (DType)p->from, A);
			break;
		case I_MATH_F32:
			D.f = scalar_math_f32((Op)p->type, A.f,
			    p->b >= 0 ? B.f : 0);
			break;
		case I_MATH_F64:
			D.d = scalar_math_f64((Op)p->type, A.d,
			    p->b >= 0 ? B.d : 0);
			break;
		case I_BITS:
			D.i = scalar_bits((Op)p->type, (DType)p->from, A.i,
			    p->b >= 0 ? B.i : 0);
			break;
		case I_NOT: D.i = !A.i; break;
		case I_AND: D.i = A.i & B.i; break;
		case I_OR: D.i = A.i | B.i; break;
		case I_FLOORDIV:
			assert(B.i > 0);
			D.i = scalar_floordiv(A.i, B.i);
			break;
		case I_MOD:
			assert(B.i > 0);
			D.i = scalar_mod(A.i, B.i);
			break;
		case I_FLOORDIV_U64:
			assert(B.i > 0);
			D.i = scalar_floordiv_u64(A.i, B.i);
			break;
		case I_MOD_U64:
			assert(B.i > 0);
			D.i = scalar_mod_u64(A.i, B.i);
			break;
		case I_DIV_F32: D.f = A.f / B.f; break;
		case I_DIV_F64: D.d = A.d / B.d; break;
		FAMILY5(I_ADD, (uint64_t)A.i + (uint64_t)B.i, A.f + B.f,
		    A.d + B.d)
		FAMILY5(I_SUB, (uint64_t)A.i - (uint64_t)B.i, A.f - B.f,
		    A.d - B.d)
		FAMILY5(I_MUL, (uint64_t)A.i * (uint64_t)B.i, A.f * B.f,
		    A.d * B.d)
		FAMILY5(I_NEG, -(uint64_t)A.i, -A.f, -A.d)
		FAMILY5(I_ABS, A.i < 0 ? -(uint64_t)A.i : (uint64_t)A.i,
		    fabsf(A.f), fabs(A.d))
		CHOOSE(I_MIN, <)
		CHOOSE(I_MAX, >)
		COMPARE(I_LT, <)
		COMPARE(I_LE, <=)
		COMPARE(I_EQ, ==)
		COMPARE(I_NE, !=)
		default: assert(!"no such instruction");
		}
	}
}

/* The reduction axes from `axis` on, at the spatial axes as they stand. */
static void reduce_from(Interp *in, Compiled *c, int axis)
{
	const Block *block = c->block;
	if (axis == block->naxes - 1) {
		c->slots.at[axis].i = 0;
		execute(in, c, c->code[axis + 1]);
		return;
	}
	for (int64_t i = 0; i < block->axes[axis].extent; i++) {
		c->slots.at[axis].i = i;
		execute(in, c, c->code[axis + 1]);
		reduce_from(in, c, axis + 1);
	}
}

/* The value at the spatial axes as they stand, in the buffer's type. */
static Scalar block_value(Interp *in, Compiled *c)
{
	const Block *block = c->block;
	if (block->reduce != REDUCE_NONE) {
		c->slots.at[c->result] = c->identity;
		reduce_from(in, c, block->nspatial);
	}
	return scalar_convert(in->program->buffers[block->buffer].type,
	    block->body->type, c->slots.at[c->result]);
}

static void run_from(Interp *in, Compiled *c, int axis, int64_t *at)
{
	const Block *block = c->block;
	if (axis == block->nspatial) {
		scalar_store(in->program->buffers[block->buffer].type,
		    in->data[block->buffer], (*at)++, block_value(in, c));
		return;
	}
	for (int64_t i = 0; i < block->axes[axis].extent; i++) {
		c->slots.at[axis].i = i;
		execute(in, c, c->code[axis + 1]);
		run_from(in, c, axis + 1, at);
	}
}

void interp_run(const Program *program, void *const *data)
{
	Arena *arena = arena_new();
	Interp in = {.arena = arena, .program = program, .data = data,
	    .ndata = program->nbuffers};
	for (int i = 0; i < program->nblocks; i++) {
		Compiled *c = compile_block(&in, &program->blocks[i]);
		int64_t at = 0;
		execute(&in, c, c->code[0]);
		run_from(&in, c, 0, &at);
	}
	arena_free(arena);
}

enum { STOP_EVERY = 16 }; /* elements between two questions */

/* --- one point ------------------------------------------------------------ */

/* Blocks read only earlier ones, so a block is never entered twice at once and
 * its slots can be its own. */
static Scalar compute(Interp *in, int buffer, int64_t at)
{
	int number = in->program->buffers[buffer].block;
	const Block *block = &in->program->blocks[number];
	if (!in->compiled[number])
		in->compiled[number] = compile_block(in, block);
	Compiled *c = in->compiled[number];
	for (int i = block->nspatial - 1; i >= 0; i--) {
		c->slots.at[i].i = at % block->axes[i].extent;
		at /= block->axes[i].extent;
	}
	for (int i = 0; i <= block->nspatial; i++)
		execute(in, c, c->code[i]);
	return block_value(in, c);
}

static Scalar point(Interp *in, int buffer, int64_t at)
{
	int number = computed_find(&in->computed, buffer, at);
	if (number >= 0)
		return in->values.at[number];
	if (in->stop && !in->stopped && ++in->asked % STOP_EVERY == 0)
		in->stopped = in->stop(in->context);
	if (in->stopped)
		return (Scalar){0};
	Scalar value = compute(in, buffer, at);
	computed_add(&in->computed, buffer, at);
	vec_push(in->arena, &in->values, value);
	return value;
}

bool interp_point_unless(const Program *program, void *const *inputs,
    int buffer, const int64_t *index, void *element,
    bool (*stop)(void *context), void *context)
{
	const Buffer *b = &program->buffers[buffer];
	Arena *arena = arena_new();
	Interp in = {.arena = arena, .program = program, .data = inputs,
	    .ndata = program->ninputs, .stop = stop, .context = context};
	in.compiled = NEW_N(arena, Compiled *, program->nblocks);
	int64_t at = 0;
	for (int i = 0; i < b->ndim; i++) {
		assert(index[i] >= 0 && index[i] < b->shape[i]);
		at = at * b->shape[i] + index[i];
	}
	Scalar value = buffer < program->ninputs
	    ? scalar_load(b->type, inputs[buffer], at)
	    : point(&in, buffer, at);
	if (!in.stopped)
		scalar_store(b->type, element, 0, value);
	computed_free(&in.computed);
	arena_free(arena);
	return !in.stopped;
}

void interp_point(const Program *program, void *const *inputs, int buffer,
    const int64_t *index, void *element)
{
	interp_point_unless(
	    program, inputs, buffer, index, element, NULL, NULL);
}
