/* What all threads of a warp do at once, with each other's temporaries. */
#include "ir/lowered/lowered_run.h"

#include <string.h>

static void exclusive_or(const Code *code, Scalar *const *frames)
{
	Scalar values[LOW_WARP];
	for (int i = 0; i < LOW_WARP; i++)
		values[i] = frames[i][code->a];
	for (int i = 0; i < LOW_WARP; i++)
		frames[i][code->d] = values[i ^ code->number];
}

/* Thread i has of each matrix the elements of word i mod 4 of row i div 4; where
 * it is transposed, in their place those of column i div 4 in two rows from
 * 2*(i mod 4) on. */
static void give_rows(const Code *code, Scalar *const *frames)
{
	int word = 4 / dtype_bytes(code->type);
	for (int i = 0; i < LOW_WARP; i++)
		for (int l = 0; l < code->lanes; l++) {
			int first = 8 * (l / word), g = i / 4;
			int k = word * (i % 4) + l % word;
			const Scalar *row =
			    frames[first + (code->number ? k : g)] + code->a;
			frames[i][code->d + l] = row[code->number ? g : k];
		}
}

enum { MOST_ROWS = 16, MOST_COLUMNS = 8, MOST_TERMS = 32 };

typedef struct {
	Scalar a[MOST_ROWS][MOST_TERMS], b[MOST_COLUMNS][MOST_TERMS];
} Operands;

/* As ir/intrinsic.h says who has what. */
static void collect(const Code *code, Scalar *const *frames, Operands *o)
{
	int word = fragment_word(code->fragment);
	for (int i = 0; i < LOW_WARP; i++) {
		int g = i / 4, t = i % 4;
		for (int k = 0; k < fragment_lanes(code->fragment, false); k++)
			o->a[g + 8 * (k / word % 2)]
			    [word * t + k % word + 4 * word * (k / word / 2)] =
				frames[i][code->a + k];
		for (int k = 0; k < fragment_lanes(code->fragment, true); k++)
			o->b[g][word * t + k % word + 4 * word * (k / word)] =
			    frames[i][code->b + k];
	}
}

/* Of f32 the machine does not look at what tf32 does not have. */
static float factor(const Code *code, Scalar x)
{
	uint32_t bits;
	if (!fragment_rounds(code->fragment))
		return x.f;
	memcpy(&bits, &x.f, sizeof bits);
	bits &= ~0x1fffu;
	memcpy(&x.f, &bits, sizeof bits);
	return x.f;
}

static Scalar sum(const Code *code, const Scalar *a, const Scalar *b, Scalar c)
{
	for (int k = 0; k < code->fragment->terms; k++)
		if (code->type == DT_F32)
			c.f += factor(code, a[k]) * factor(code, b[k]);
		else
			c.i = scalar_wrap(
			    code->type, c.i + a[k].i * b[k].i);
	return c;
}

static void mma(const Code *code, Scalar *const *frames)
{
	Operands o;
	collect(code, frames, &o);
	for (int i = 0; i < LOW_WARP; i++)
		for (int v = 0; v < FRAGMENT_SUMS; v++)
			frames[i][code->d + v] =
			    sum(code, o.a[i / 4 + 8 * (v / 2)],
				o.b[2 * (i % 4) + v % 2],
				frames[i][code->c + v]);
}

void code_choose_exchange(Code *code, const LowFunction *f, const LowNode *node)
{
	code->exchange = node->op == LOW_MMA ? mma
	    : node->op == LOW_LOAD_MATRIX    ? give_rows : exclusive_or;
	if (node->op == LOW_MMA)
		code->fragment = low_fragment(f, node);
}
