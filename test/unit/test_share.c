/* What would be computed again becomes a block: the same blocks, and bit for bit
 * the same results, as where the file has a definition for it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/spec/spec.h"
#include "lib/rng.h"
#include "test/common_program.h"

#define SPEC(inputs, compute)                                                  \
	"tunec: 1\nname: p\ninputs: {" inputs "}\ncompute: |\n" compute

typedef struct {
	const char *name;
	const char *text;
	const char *other; /* written out; NULL: it stays as it is */
	int blocks;        /* then */
} Case;

static const Case cases[] = {
    {"rows of a product",
	SPEC("x: 'f32[3, 5]', w: 'f32[5, 32]', m: 'f32[3]', g: 'f32[5]'",
	    "  y[i < 3, j < 32] = sum[k < 5]((x[i, k] - m[i])/m[i]*g[k]*"
	    "w[k, j])\n"),
	SPEC("x: 'f32[3, 5]', w: 'f32[5, 32]', m: 'f32[3]', g: 'f32[5]'",
	    "  t[i < 3, k < 5] = (x[i, k] - m[i])/m[i]*g[k]\n"
	    "  y[i < 3, j < 32] = sum[k < 5](t[i, k]*w[k, j])\n"), 0},
    {"columns of a map",
	SPEC("x: 'f32[17, 5]', v: 'f32[5]'",
	    "  y[i < 17, j < 5] = x[i, j] * (1/sqrt(v[j]*v[j] + 1))\n"),
	SPEC("x: 'f32[17, 5]', v: 'f32[5]'",
	    "  t[j < 5] = 1/sqrt(v[j]*v[j] + 1)\n"
	    "  y[i < 17, j < 5] = x[i, j] * t[j]\n"), 0},
    {"softmax",
	SPEC("x: 'f32[4, 9]'",
	    "  y[i < 4, j < 9] = exp(x[i, j] - 1)/sum[k < 9](exp(x[i, k] - "
	    "1))\n"),
	SPEC("x: 'f32[4, 9]'",
	    "  e[i < 4, k < 9] = exp(x[i, k] - 1)\n"
	    "  y[i < 4, j < 9] = e[i, j]/sum[k < 9](e[i, k])\n"), 0},
    {"softmax, as what is read lies",
	SPEC("x: 'f32[4, 9, 5]'",
	    "  y[i < 4, j < 9, n < 5] = exp(x[i, j, n] - 1)/sum[k < 9]("
	    "exp(x[i, k, n] - 1))\n"),
	SPEC("x: 'f32[4, 9, 5]'",
	    "  e[i < 4, k < 9, n < 5] = exp(x[i, k, n] - 1)\n"
	    "  y[i < 4, j < 9, n < 5] = e[i, j, n]/sum[k < 9](e[i, k, n])\n"),
	0},
    {"of several definitions",
	SPEC("x: 'f32[4, 9]'",
	    "  s[i < 4] = sum[k < 9](exp(x[i, k])*2)\n"
	    "  y[j < 9, i < 4] = exp(x[i, j]) + s[i]\n"),
	SPEC("x: 'f32[4, 9]'",
	    "  e[i < 4, k < 9] = exp(x[i, k])\n"
	    "  s[i < 4] = sum[k < 9](e[i, k]*2)\n"
	    "  y[j < 9, i < 4] = e[i, j] + s[i]\n"), 0},
    {"stored already",
	SPEC("x: 'f32[4, 9]'",
	    "  e[i < 4, k < 9] = exp(x[i, k])\n"
	    "  y[i < 4, j < 9] = e[i, j]/sum[k < 9](exp(x[i, k]))\n"),
	SPEC("x: 'f32[4, 9]'",
	    "  e[i < 4, k < 9] = exp(x[i, k])\n"
	    "  y[i < 4, j < 9] = e[i, j]/sum[k < 9](e[i, k])\n"), 0},
    /* as they are: reductions of the same loops, what stands under a condition,
     * what is cheap, what leaves the loops, other extents */
    {"the same loops",
	SPEC("x: 'f32[4, 9]'",
	    "  s[i < 4] = sum[k < 9](exp(x[i, k]))\n"
	    "  y[i < 4] = s[i] + max[k < 9](exp(x[i, k]))\n"),
	NULL, 3},
    {"under a condition",
	SPEC("x: 'f32[20, 9]', v: 'f32[9]'",
	    "  y[i < 20, j < 9] = if j < i then x[i, j]*sqrt(v[j]) else 0\n"),
	NULL, 1},
    {"cheap",
	SPEC("x: 'f32[3, 5]', w: 'f32[5, 32]'",
	    "  y[i < 3, j < 32] = sum[k < 5]((x[i, k]*2 - 1)*w[k, j])\n"),
	NULL, 1},
    /* conditions on axes alone are nothing */
    {"padding in a sum",
	SPEC("x: 'f32[20, 9]', z: 'f32[1]', w: 'f32[3, 9, 32]'",
	    "  y[i < 20, j < 32] = sum[r < 3, c < 9](((if 1 <= i + r < 21 then "
	    "x[i + r - 1, c] else z[0]) - z[0])*w[r, c, j])\n"),
	NULL, 1},
    {"of the outer loops",
	SPEC("x: 'f32[30, 20]', v: 'f32[30]'",
	    "  y[i < 30, j < 20] = x[i, j]/sqrt(v[i]*v[i] + 1)\n"),
	NULL, 1},
    {"other extents",
	SPEC("x: 'f32[4, 9]'",
	    "  y[i < 4, j < 9] = exp(x[i, j])/sum[k < 8](exp(x[i, k]))\n"),
	NULL, 2},
};
static const Program *load(Arena *arena, const char *text)
{
	Diag diag = {0};
	Source *source = NEW(arena, Source);
	*source = (Source){"p", text, strlen(text)};
	Spec *spec = spec_parse(arena, source, &diag);
	Program *p = spec ? spec_program(arena, spec, "", NULL, 0,
				NUMERICS_DEFAULT, &diag)
			  : NULL;
	if (!p)
		fail_msg("%s", buf_text(&diag.text));
	diag_free(&diag);
	return p;
}

static int64_t elements(const Buffer *b)
{
	int64_t n = 1;
	for (int d = 0; d < b->ndim; d++)
		n *= b->shape[d];
	return n;
}

/* Of the output; the inputs are the same for the same seed. */
static const float *run(Arena *arena, const Program *p)
{
	Rng rng = rng_stream(3, 0, 0);
	void **data = NEW_N(arena, void *, p->nbuffers);
	for (int b = 0; b < p->nbuffers; b++) {
		int64_t n = elements(&p->buffers[b]);
		float *x = NEW_N(arena, float, n);
		for (int64_t i = 0; b < p->ninputs && i < n; i++)
			x[i] = (float)rng_double(&rng) + 0.5f;
		data[b] = x;
	}
	interp_run(p, data);
	return data[p->outputs[0]];
}

static void check_shapes(const Case *c, const Program *p, const Program *q)
{
	if (p->nblocks != q->nblocks)
		fail_msg("%s: %d blocks for %d", c->name, p->nblocks,
		    q->nblocks);
	for (int i = 0; i < p->nblocks; i++) {
		const Buffer *a = &p->buffers[p->blocks[i].buffer];
		const Buffer *b = &q->buffers[q->blocks[i].buffer];
		assert_int_equal(a->ndim, b->ndim);
		for (int d = 0; d < a->ndim; d++)
			assert_int_equal(a->shape[d], b->shape[d]);
	}
}

static void check_case(const Case *c)
{
	Arena *arena = arena_new();
	const Program *p = load(arena, c->text);
	if (c->other) {
		const Program *q = load(arena, c->other);
		const Buffer *out = &p->buffers[p->outputs[0]];
		check_shapes(c, p, q);
		assert_memory_equal(run(arena, p), run(arena, q),
		    sizeof(float) * (size_t)elements(out));
	} else if (p->nblocks != c->blocks) {
		fail_msg("%s: %d blocks", c->name, p->nblocks);
	}
	for (int i = 0; i < p->nblocks; i++)
		assert_int_equal(p->buffers[p->blocks[i].buffer].block, i);
	arena_free(arena);
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		check_case(&cases[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_cases)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
