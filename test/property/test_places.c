/* argmax and argmin against a loop that keeps the best element so far: random
 * elements of every dtype with ties, NaN and infinities, extents over the outer
 * axis, and elements that are computed. */
#include "ir/program.h"
#include "ir/scalar.h"
#include "lib/rng.h"
#include "test/common_program.h"
#include "test/common_tier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MOST = 9 };

typedef struct {
	Arena *arena;
	Rng rng;
	DType type;
	bool least;  /* argmin */
	bool varies; /* j < i - 1, else j < n */
	int computed; /* of `elements` */
	int m, n;
	Scalar *x;
} Trial;

static int below(Trial *t, int n)
{
	return (int)rng_below(&t->rng, (uint64_t)n);
}

static Scalar element(Trial *t)
{
	static const double specials[] = {NAN, -INFINITY, INFINITY, -0.0};
	Scalar x = {0};
	int kind = below(t, 8);
	double value = below(t, 5) - 2;
	if (dtype_is_float(t->type) && (kind < 4 || !below(t, t->n)))
		value = specials[kind & 3];
	x.d = value;
	x = scalar_convert(t->type, DT_F64, x);
	if (dtype_is_int(t->type) && kind < 4)
		x.i = scalar_wrap(t->type, kind < 2 ? INT64_MIN : INT64_MAX);
	return x;
}

/* As a double or an integer of 64 bits, which all values fit; of u64 it is less
 * by 2^63. */
typedef struct {
	double d;
	int64_t i;
} Exact;

static Exact value_of(const Trial *t, int i, int j)
{
	Scalar x = t->x[i * t->n + j];
	Exact v = {0};
	if (dtype_is_float(t->type)) {
		v.d = scalar_convert(DT_F64, t->type, x).d;
		if (t->computed == 1)
			v.d = 2 - v.d * 3;
		else if (t->computed == 2)
			v.d = v.d > 0 ? v.d : 0;
		else if (t->computed == 3)
			v.d -= 2;
		return v;
	}
	v.i = x.i;
	if (t->computed == 1) {
		DType promoted = dtype_promoted(t->type);
		v.i = scalar_wrap(promoted, (int64_t)(2 - (uint64_t)x.i * 3));
	} else if (t->computed == 2) {
		v.i = x.i > 0 ? x.i : 0;
	} else if (t->computed == 3) {
		v.i = scalar_wrap(dtype_promoted(t->type),
		    (int64_t)((uint64_t)x.i - 2));
	}
	if (t->computed == 2 && t->type == DT_U64)
		v.i = x.i;
	if (t->type == DT_U64)
		v.i ^= INT64_MIN;
	return v;
}

static int expected(const Trial *t, int i)
{
	bool floats = dtype_is_float(t->type);
	int best = 0, end = t->varies ? i - 1 : t->n;
	Exact so_far = {t->least ? INFINITY : -INFINITY, 0};
	bool any = false;
	for (int j = 0; j < end; j++) {
		Exact v = value_of(t, i, j);
		bool better = floats
		    ? (t->least ? v.d < so_far.d : v.d > so_far.d)
		    : !any || (t->least ? v.i < so_far.i : v.i > so_far.i);
		if (!better)
			continue;
		any = true;
		so_far = v;
		best = j;
	}
	return best;
}

static void trial(uint64_t seed)
{
	static const char *const elements[] = {
	    "x[i, j]", "2 - x[i, j]*3", "max(x[i, j], 0)", "x[i, j] - 2"};
	Trial t = {.arena = arena_new(), .rng = rng_stream(seed, 0, 0)};
	t.type = (DType)below(&t, DT_COUNT);
	t.least = below(&t, 2);
	t.varies = below(&t, 3) == 0;
	t.computed = t.type == DT_BOOL ? 0 : below(&t, 4);
	t.m = 1 + below(&t, MOST), t.n = 1 + below(&t, MOST);
	if (t.varies && t.m > t.n + 2)
		t.m = t.n + 2;
	const char *text = arena_printf(t.arena,
	    "tunec: 1\nname: op\ninputs: {x: '%s[%d, %d]'}\ncompute: |\n"
	    "  y[i < %d] = %s[j < %s](%s)\n",
	    dtype_name(t.type), t.m, t.n, t.m, t.least ? "argmin" : "argmax",
	    t.varies ? "i - 1" : arena_printf(t.arena, "%d", t.n),
	    elements[t.computed]);
	Program *p = program_of_text(t.arena, text, NUMERICS_DEFAULT);
	void **data = NEW_N(t.arena, void *, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++)
		data[i] = arena_alloc(
		    t.arena, (size_t)buffer_bytes(&p->buffers[i]));
	t.x = NEW_N(t.arena, Scalar, t.m * t.n);
	for (int i = 0; i < t.m * t.n; i++) {
		scalar_store(t.type, data[0], i, element(&t));
		t.x[i] = scalar_load(t.type, data[0], i);
	}
	interp_run(p, data);
	const int32_t *got = data[p->outputs[0]];
	for (int i = 0; i < t.m; i++)
		if (got[i] != expected(&t, i))
			fail_msg("seed %d: %selement %d is %d, not %d",
			    (int)seed, text, i, got[i], expected(&t, i));
	arena_free(t.arena);
}

static void places(void **state)
{
	int n = tier_is_long() ? 100000 : 5000;
	(void)state;
	for (int i = 0; i < n; i++)
		trial((uint64_t)i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(places)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
