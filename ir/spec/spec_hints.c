/* What people write first, and what it is called here: words and signs of other
 * languages, for messages that say what to write. */
#include "ir/spec/spec.h"

#include <string.h>
#include <strings.h>

typedef struct {
	const char *word, *hint;
} Hint;

/* --- words ------------------------------------------------------------------- */

static const Hint functions[] = {
	{"relu", "max(x, 0)"},
	{"relu6", "clamp(x, 0, 6)"},
	{"leaky_relu", "if x > 0 then x else 0.01*x"},
	{"gelu", "0.5*x*(1 + erf(x/sqrt(2)))"},
	{"silu", "x*sigmoid(x)"},
	{"swish", "x*sigmoid(x)"},
	{"logistic", "sigmoid(x)"},
	{"softplus", "log(1 + exp(x))"},
	{"clip", "clamp(x, lo, hi)"},
	{"exp2", "pow(2, x)"},
	{"expm1", "exp(x) - 1"},
	{"ln", "log(x)"},
	{"log2", "log(x)/log(2)"},
	{"log10", "log(x)/log(10)"},
	{"log1p", "log(1 + x)"},
	{"power", "pow(x, y)"},
	{"sqr", "x*x"},
	{"square", "x*x"},
	{"cbrt", "pow(x, 1/3) where x is positive"},
	{"hypot", "sqrt(x*x + y*y)"},
	{"reciprocal", "1/x"},
	{"tan", "sin(x)/cos(x)"},
	{"sinh", "(exp(x) - exp(-x))/2"},
	{"cosh", "(exp(x) + exp(-x))/2"},
	{"fabs", "abs(x)"},
	{"sign", "if x > 0 then 1 else if x < 0 then -1 else 0"},
	{"rint", "round(x)"},
	{"nearbyint", "round(x)"},
	{"trunc", "if x < 0 then ceil(x) else floor(x)"},
	{"fmin", "min(x, y)"},
	{"minimum", "min(x, y)"},
	{"fmax", "max(x, y)"},
	{"maximum", "max(x, y)"},
	{"fma", "x*y + z"},
	{"mod", "x % y"},
	{"fmod", "x % y, of integers"},
	{"cdiv", "(x + y - 1)//y"},
	{"ceildiv", "(x + y - 1)//y"},
	{"isnan", "x != x"},
	{"isinf", "abs(x) == inf"},
	{"select", "if c then x else y"},
	{"where", "if c then x else y"},
	{"if_then_else", "if c then x else y"},
	{"mean", "sum[i < N](x)/N"},
	{"avg", "sum[i < N](x)/N"},
	{"average", "sum[i < N](x)/N"},
	{"dot", "sum[k < K](a[i, k]*b[k, j])"},
	{"matmul", "sum[k < K](a[i, k]*b[k, j])"},
};

static const Hint reductions[] = {
	{"mean", "sum[i < N](x)/N"},
	{"avg", "sum[i < N](x)/N"},
	{"average", "sum[i < N](x)/N"},
	{"any", "max[i < N](c)"},
	{"all", "min[i < N](c)"},
	{"count", "sum[i < N](if c then 1 else 0)"},
	{"norm", "sqrt(sum[i < N](x*x))"},
	{"add", "sum[i < N](x)"},
	{"product", "prod[i < N](x)"},
	{"maximum", "max[i < N](x)"},
	{"minimum", "min[i < N](x)"},
};

static const Hint dtypes[] = {
	{"float64", "f64"}, {"double", "f64"},
	{"float32", "f32"}, {"float", "f32"}, {"fp32", "f32"},
	{"single", "f32"},
	{"float16", "f16"}, {"half", "f16"}, {"fp16", "f16"},
	{"bfloat16", "bf16"}, {"bfloat", "bf16"},
	{"int64", "i64"}, {"int64_t", "i64"}, {"long", "i64"},
	{"int32", "i32"}, {"int32_t", "i32"}, {"int", "i32"},
	{"int16", "i16"}, {"int16_t", "i16"}, {"short", "i16"},
	{"int8", "i8"}, {"int8_t", "i8"},
	{"uint8", "u8"}, {"uint8_t", "u8"}, {"char", "i8 or u8"},
	{"byte", "u8"}, {"boolean", "bool"},
	{"u16", "i32: of unsigned dtypes there is u8 alone"},
	{"uint16", "i32: of unsigned dtypes there is u8 alone"},
	{"u32", "i32 or i64: of unsigned dtypes there is u8 alone"},
	{"uint32", "i32 or i64: of unsigned dtypes there is u8 alone"},
	{"u64", "i64: of unsigned dtypes there is u8 alone"},
	{"uint64", "i64: of unsigned dtypes there is u8 alone"},
};

static const Hint values[] = {
	{"true", "bool(1)"}, {"false", "bool(0)"},
	{"infinity", "inf"},
	{"nan", "inf - inf"},
	{"pi", "3.141592653589793"},
};

#define FIND(hints, word) find(hints, sizeof hints / sizeof hints[0], word)

static const char *find(const Hint *hints, size_t n, const char *word)
{
	for (size_t i = 0; i < n; i++)
		if (!strcasecmp(hints[i].word, word))
			return hints[i].hint;
	return NULL;
}

const char *hint_function(const char *word)
{
	return FIND(functions, word);
}

const char *hint_reduction(const char *word)
{
	return FIND(reductions, word);
}

const char *hint_dtype(const char *word)
{
	return FIND(dtypes, word);
}

const char *hint_value(const char *word)
{
	return FIND(values, word);
}

/* --- signs ------------------------------------------------------------------- */

/* Those of two characters come first; none is two signs of the language. */
static const Hint signs[] = {
	{"**", "is no operator: write pow(x, y), or x*x"},
	{"&&", "is no operator: write 'and'"},
	{"||", "is no operator: write 'or'"},
	{"<>", "is no operator: write '!='"},
	{"=<", "is no operator: write '<='"},
	{"=>", "is no operator: write '>='"},
	{"<<", "is no operator: write x*2, x*4, x*8..."},
	{">>", "is no operator: write x//2, x//4, x//8..."},
	{":=", "is no operator: a definition has '='"},
	{"+=", "is no operator: write y[i < N] = sum[k < K](x)"},
	{"*=", "is no operator: write y[i < N] = prod[k < K](x)"},
	{"-=", "is no operator: a definition has '=', and is made once"},
	{"->", "is no operator"},
	{"..", "is no operator: an axis is NAME < EXTENT, from 0 on"},
};

static const Hint characters[] = {
	{"!", "is no operator: write 'not'"},
	{"?", "is no operator: write 'if c then x else y'"},
	{"^", "is no operator: write pow(x, y), or x*x"},
	{"&", "is no operator: conditions are joined by 'and'"},
	{"|", "is no operator: conditions are joined by 'or'"},
	{"~", "is no operator: write 'not'"},
	{"@", "is no operator: a matrix product is sum[k < K](a[i, k]*b[k, j])"},
	{";", "is not needed: a definition ends where the next one begins"},
	{"{", "is no bracket of the language: write '('"},
	{"}", "is no bracket of the language: write ')'"},
	{"#", "is allowed in 'compute: |' only: a comment here needs a blank "
	      "before it"},
};

size_t hint_sign(const char *text, size_t size, const char **what)
{
	for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
		if (size >= 2 && !memcmp(text, signs[i].word, 2)) {
			*what = signs[i].hint;
			return 2;
		}
	return 0;
}

const char *hint_character(char c)
{
	for (size_t i = 0; i < sizeof characters / sizeof characters[0]; i++)
		if (characters[i].word[0] == c)
			return characters[i].hint;
	return "is no character of the language";
}
