/* Operations on temporaries, lane by lane: the meaning of lowered.def. */
#include "ir/lowered/lowered_run.h"

#define LANES                                                                  \
	for (int l = 0; l < code->lanes; l++)

#define D frame[code->d + l]
#define A frame[code->a + l]
#define B frame[code->b + l]
#define C frame[code->c + l]

#define OPERATION(name, ...)                                                   \
	static void name(const Code *code, Scalar *frame)                      \
	{                                                                      \
		LANES { __VA_ARGS__; }                                         \
	}

/* Integers are computed in 64 bits and wrap to their type. */
#define INTEGER(name, ...)                                                     \
	OPERATION(name##_i64, D.i = (int64_t)(__VA_ARGS__))                    \
	OPERATION(name##_int,                                                  \
	    D.i = scalar_wrap(code->type, (int64_t)(__VA_ARGS__)))

/* --- arithmetic ----------------------------------------------------------- */

INTEGER(add, (uint64_t)A.i + (uint64_t)B.i)
INTEGER(sub, (uint64_t)A.i - (uint64_t)B.i)
INTEGER(mul, (uint64_t)A.i *(uint64_t)B.i)
INTEGER(neg, 0 - (uint64_t)A.i)
INTEGER(abs, A.i < 0 ? 0 - (uint64_t)A.i : (uint64_t)A.i)
INTEGER(xor, (uint64_t)A.i ^ (uint64_t)B.i)
OPERATION(floordiv, D.i = scalar_floordiv(A.i, B.i))
OPERATION(mod, D.i = scalar_mod(A.i, B.i))
OPERATION(floordiv_u64, D.i = scalar_floordiv_u64(A.i, B.i))
OPERATION(mod_u64, D.i = scalar_mod_u64(A.i, B.i))
OPERATION(min_u64, D.i = (uint64_t)A.i < (uint64_t)B.i ? A.i : B.i)
OPERATION(max_u64, D.i = (uint64_t)A.i > (uint64_t)B.i ? A.i : B.i)
OPERATION(lt_u64, D.i = (uint64_t)A.i < (uint64_t)B.i)
OPERATION(le_u64, D.i = (uint64_t)A.i <= (uint64_t)B.i)
OPERATION(min_i64, D.i = A.i < B.i ? A.i : B.i)
OPERATION(max_i64, D.i = A.i > B.i ? A.i : B.i)
OPERATION(lt_i64, D.i = A.i < B.i)
OPERATION(le_i64, D.i = A.i <= B.i)
OPERATION(eq_i64, D.i = A.i == B.i)
OPERATION(ne_i64, D.i = A.i != B.i)

#define REAL(type, m, suffix)                                                  \
	OPERATION(add_##type, D.m = A.m + B.m)                                 \
	OPERATION(sub_##type, D.m = A.m - B.m)                                 \
	OPERATION(mul_##type, D.m = A.m *B.m)                                  \
	OPERATION(div_##type, D.m = A.m / B.m)                                 \
	OPERATION(neg_##type, D.m = -A.m)                                      \
	OPERATION(abs_##type, D.m = fabs##suffix(A.m))                         \
	OPERATION(min_##type, D.m = A.m < B.m ? A.m : B.m)                     \
	OPERATION(max_##type, D.m = A.m > B.m ? A.m : B.m)                     \
	OPERATION(fma_##type, D.m = fma##suffix(A.m, B.m, C.m))                \
	OPERATION(scale_##type, D.m = code->c < 0 || C.i                       \
		? scalar_scale_##type(A.m, B.m) : 0)                           \
	OPERATION(lt_##type, D.i = A.m < B.m)                                  \
	OPERATION(le_##type, D.i = A.m <= B.m)                                 \
	OPERATION(eq_##type, D.i = A.m == B.m)                                 \
	OPERATION(ne_##type, D.i = A.m != B.m)                                 \
	OPERATION(math1_##type, D.m = scalar_math_##type(code->math, A.m, 0))  \
	OPERATION(math2_##type, D.m = scalar_math_##type(code->math, A.m, B.m))

OPERATION(rsqrt_f32, D.f = scalar_math_f32(OP_RSQRT, A.f, 0))

REAL(f32, f, f)
REAL(f64, d, )

OPERATION(shl, D.i = scalar_bits(OP_SHIFT_LEFT, code->type, A.i, B.i))
OPERATION(shr, D.i = scalar_bits(OP_SHIFT_RIGHT, code->type, A.i, B.i))
OPERATION(popcount, D.i = scalar_bits(OP_POPCOUNT, code->type, A.i, 0))

OPERATION(and, D.i = A.i & B.i)
OPERATION(or, D.i = A.i | B.i)
OPERATION(not, D.i = !A.i)

/* --- moving --------------------------------------------------------------- */

OPERATION(constant, D = code->constant)
OPERATION(copy, D = A)
OPERATION(select, D = A.i ? B : C)
OPERATION(convert, D = scalar_convert(code->type, code->from, A))

static Scalar bits_of(DType type, Scalar x)
{
	Scalar y = {0};
	int32_t narrow = (int32_t)x.i;
	switch (type) {
	case DT_F32: memcpy(&y.f, &narrow, sizeof y.f); break;
	case DT_F64: memcpy(&y.d, &x.i, sizeof y.d); break;
	case DT_I32:
		memcpy(&narrow, &x.f, sizeof narrow);
		y.i = narrow;
		break;
	default: memcpy(&y.i, &x.d, sizeof y.i);
	}
	return y;
}

/* An integer as several, its lowest bits the first. */
static void bits_apart(const Code *code, Scalar *frame)
{
	int parts = code->lanes / code->sources;
	int width = 8 * dtype_bytes(code->type);
	Scalar result[64];
	LANES
	{
		uint64_t word = (uint64_t)frame[code->a + l / parts].i;
		result[l] = (Scalar){.i = scalar_wrap(code->type,
					 (int64_t)(word >> l % parts * width))};
	}
	memcpy(frame + code->d, result, sizeof *result * (size_t)code->lanes);
}

/* Several integers, or bools, as one, the first its lowest bits; or one as another. */
static void bits(const Code *code, Scalar *frame)
{
	int parts = code->sources / code->lanes;
	Scalar result[64];
	if (!parts) {
		bits_apart(code, frame);
		return;
	}
	LANES
	{
		uint64_t word = 0;
		for (int k = parts - 1; k >= 0 && parts > 1; k--) {
			int width = code->from == DT_BOOL
			    ? 1
			    : 8 * dtype_bytes(code->from);
			word = word << width |
			    ((uint64_t)frame[code->a + l * parts + k].i &
				((UINT64_C(1) << width) - 1));
		}
		if (parts == 1)
			result[l] = bits_of(code->type, A);
		else
			result[l] = (Scalar){
			    .i = scalar_wrap(code->type, (int64_t)word)};
	}
	memcpy(frame + code->d, result, sizeof *result * (size_t)code->lanes);
}

static void iota(const Code *code, Scalar *frame)
{
	int64_t first = frame[code->a].i;
	LANES D.i = scalar_wrap(
	    code->type, (int64_t)((uint64_t)first + (uint64_t)l));
}

static void lanes_below(const Code *code, Scalar *frame)
{
	int64_t n = frame[code->a].i;
	LANES D.i = l < n;
}

static void broadcast(const Code *code, Scalar *frame)
{
	Scalar x = frame[code->a];
	LANES D = x;
}

static void extract(const Code *code, Scalar *frame)
{
	frame[code->d] = frame[code->a + code->number];
}

static void any(const Code *code, Scalar *frame)
{
	int64_t some = 0;
	for (int l = 0; l < code->sources; l++)
		some |= frame[code->a + l].i;
	frame[code->d].i = some;
}

/* The low 13 bits of 23 are rounded away; a NaN stays one. */
static void round_tf32(const Code *code, Scalar *frame)
{
	LANES {
		uint32_t bits;
		memcpy(&bits, &A.f, sizeof bits);
		if ((bits & 0x7f800000u) != 0x7f800000u)
			bits += 0x1000u;
		else if (bits & 0x7fffffu)
			bits |= 0x400000u;
		bits &= ~0x1fffu;
		memcpy(&D.f, &bits, sizeof bits);
	}
}

static void insert(const Code *code, Scalar *frame)
{
	Scalar x = frame[code->b];
	LANES D = A;
	frame[code->d + code->number] = x;
}

static void shuffle(const Code *code, Scalar *frame)
{
	Scalar result[64];
	LANES {
		int s = code->shuffle[l];
		result[l] = s < code->sources
				? frame[code->a + s]
				: frame[code->b + s - code->sources];
	}
	memcpy(frame + code->d, result, sizeof *result * (size_t)code->lanes);
}

static void permute(const Code *code, Scalar *frame)
{
	Scalar result[64];
	LANES
	result[l] = frame[code->a + (B.i & (code->sources - 1))];
	memcpy(frame + code->d, result, sizeof *result * (size_t)code->lanes);
}

/* The last term first, each rounded once. */
static void dot_of_floats(const Code *code, Scalar *frame)
{
	int terms = code->sources / code->lanes;
	LANES {
		float sum = C.f;
		for (int k = terms * (l + 1) - 1; k >= terms * l; k--)
			sum = fmaf(frame[code->a + k].f,
			    frame[code->b + k].f, sum);
		D.f = sum;
	}
}

static void dot(const Code *code, Scalar *frame)
{
	int terms = code->sources / code->lanes;
	if (code->type == DT_F32) {
		dot_of_floats(code, frame);
		return;
	}
	LANES {
		int64_t sum = C.i;
		for (int k = terms * l; k < terms * (l + 1); k++)
			sum += frame[code->a + k].i * frame[code->b + k].i;
		D.i = code->type == DT_I64 ? sum : (int32_t)sum;
	}
}

/* --- choice --------------------------------------------------------------- */

typedef void Operation(const Code *code, Scalar *frame);

static const struct {
	Operation *i64, *narrow, *f32, *f64;
} by_type[LOW_COUNT] = {
    [LOW_ADD] = {add_i64, add_int, add_f32, add_f64},
    [LOW_SUB] = {sub_i64, sub_int, sub_f32, sub_f64},
    [LOW_MUL] = {mul_i64, mul_int, mul_f32, mul_f64},
    [LOW_DIV] = {NULL, NULL, div_f32, div_f64},
    [LOW_FLOORDIV] = {floordiv, floordiv, NULL, NULL},
    [LOW_MOD] = {mod, mod, NULL, NULL},
    [LOW_XOR] = {xor_i64, xor_int, NULL, NULL},
    [LOW_NEG] = {neg_i64, neg_int, neg_f32, neg_f64},
    [LOW_ABS] = {abs_i64, abs_int, abs_f32, abs_f64},
    [LOW_MIN] = {min_i64, min_i64, min_f32, min_f64},
    [LOW_MAX] = {max_i64, max_i64, max_f32, max_f64},
    [LOW_FMA] = {NULL, NULL, fma_f32, fma_f64},
    [LOW_SCALE] = {NULL, NULL, scale_f32, scale_f64},
    [LOW_RSQRT] = {NULL, NULL, rsqrt_f32, NULL},
    [LOW_ROUND_TF32] = {NULL, NULL, round_tf32, NULL},
    [LOW_LT] = {lt_i64, lt_i64, lt_f32, lt_f64},
    [LOW_LE] = {le_i64, le_i64, le_f32, le_f64},
    [LOW_EQ] = {eq_i64, eq_i64, eq_f32, eq_f64},
    [LOW_NE] = {ne_i64, ne_i64, ne_f32, ne_f64},
    [LOW_AND] = {and, and, NULL, NULL},
    [LOW_OR] = {or, or, NULL, NULL},
    [LOW_SHL] = {shl, shl, NULL, NULL},
    [LOW_SHR] = {shr, shr, NULL, NULL},
    [LOW_POPCOUNT] = {popcount, popcount, NULL, NULL},
    [LOW_NOT] = {NULL, not, NULL, NULL},
};

/* Where it is not that of i64. */
static Operation *const of_u64[LOW_COUNT] = {
    [LOW_FLOORDIV] = floordiv_u64,
    [LOW_MOD] = mod_u64,
    [LOW_ABS] = copy,
    [LOW_MIN] = min_u64,
    [LOW_MAX] = max_u64,
    [LOW_LT] = lt_u64,
    [LOW_LE] = le_u64,
};

static Operation *const of_any_type[LOW_COUNT] = {
    [LOW_CONST] = constant,
    [LOW_COPY] = copy,
    [LOW_IOTA] = iota,
    [LOW_LANES_BELOW] = lanes_below,
    [LOW_BROADCAST] = broadcast,
    [LOW_EXTRACT] = extract,
    [LOW_INSERT] = insert,
    [LOW_SHUFFLE] = shuffle,
    [LOW_PERMUTE] = permute,
    [LOW_CONVERT] = convert,
    [LOW_BITS] = bits,
    [LOW_SELECT] = select,
    [LOW_DOT] = dot,
    [LOW_ANY] = any,
};

static Operation *math_of(const Code *code, ScalarClass class)
{
	if (code->b < 0)
		return class == SCALAR_F64 ? math1_f64 : math1_f32;
	return class == SCALAR_F64 ? math2_f64 : math2_f32;
}

/* By the type of a, which is d's but for comparisons. */
void code_choose_op(Code *code)
{
	ScalarClass class = scalar_class(code->from);
	code->run = of_any_type[code->op];
	if (code->op == LOW_MATH)
		code->run = math_of(code, class);
	if (code->from == DT_U64 && of_u64[code->op])
		code->run = of_u64[code->op];
	if (code->run)
		return;
	code->run = class == SCALAR_F64 ? by_type[code->op].f64
	    : class == SCALAR_F32       ? by_type[code->op].f32
	    : dtype_bytes(code->from) == 8 ? by_type[code->op].i64
					   : by_type[code->op].narrow;
	assert(code->run);
}
