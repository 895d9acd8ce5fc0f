/* Products of padded bytes with zero points: `narrow`, padding as it is, and
 * `distribute` compute what the plain nest does. */
#include "test/common_nest.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static double *run(Arena *arena, const Program *program, const char *steps)
{
	char why[256] = "";
	Error error = {0};
	Nest *nest = schedule_nest(arena, program, &test_machine,
	    steps ? schedule_steps(arena, steps) : NULL, &error);
	if (!nest)
		fail_msg("%s: %s", steps ? steps : "plain", error.text);
	double *y = nest_simulate(nest, 1, why, sizeof why);
	if (!y)
		fail_msg("%s: %s", steps ? steps : "plain", why);
	return y;
}

static void check(Arena *arena, const char *text, const char *steps)
{
	const Program *p = program_of_text(arena, text, NUMERICS_DEFAULT);
	const Buffer *y = &p->buffers[p->outputs[0]];
	double *expected = run(arena, p, NULL), *got = run(arena, p, steps);
	int64_t n = 1;
	for (int d = 0; d < y->ndim; d++)
		n *= y->shape[d];
	for (int64_t i = 0; i < n; i++)
		if (expected[i] != got[i])
			fail_msg("element %lld is %g, not %g\n%s\n%s",
			    (long long)i, got[i], expected[i], text, steps);
}

/* What a reader makes of an element wraps around where it did. */
static void test_casts(void **state)
{
	static const char *const readers[] = {"i32(p[c, t + r])",
	    "i32(i16(i32(p[c, t + r])*20000))", "i32(i16(i32(p[c, t + r]) + 32767))",
	    "i32(i16(i32(p[c, t + r])))"};
	(void)state;
	for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
		Arena *arena = arena_new();
		check(arena, arena_printf(arena,
		    "tunec: 1\nname: casts\n"
		    "inputs: {x: 'u8[5, 9]', z: 'u8[]', w: 'i8[4, 5, 3]'}\n"
		    "compute: |\n"
		    "  p[c < 5, j < 11]: i16 = if 1 <= j < 10 then "
		    "i32(x[c, j - 1]) - z[] else 0\n"
		    "  y[o < 4, t < 9] = sum[c < 5, r < 3](%s*w[o, c, r])\n",
		    readers[i]), "narrow(p)");
		arena_free(arena);
	}
}

/* --- with 0 as padding ---------------------------------------------------------- */

enum { ROUNDS = 400, SUMS_MOST = 12 };

typedef struct {
	int rows, columns, taps[2], stride[2], before[2], after[2];
	int channels, outputs;
	bool last; /* channels are */
} Shape;

static int upto(Rng *rng, int most)
{
	return 1 + (int)rng_below(rng, (uint64_t)most);
}

static Shape any_shape(Rng *rng)
{
	Shape s = {upto(rng, 6), upto(rng, 6), .channels = upto(rng, 5),
	    .outputs = upto(rng, 4), .last = rng_below(rng, 2)};
	for (int d = 0; d < 2; d++) {
		s.taps[d] = upto(rng, 4);
		s.stride[d] = upto(rng, 3);
		s.before[d] = (int)rng_below(rng, 3);
		s.after[d] = s.taps[d] + (int)rng_below(rng, 2);
	}
	return s;
}

/* An element of something with channels, by its rows and columns. */
static const char *at(Arena *arena, const Shape *s, const char *of,
    const char *row, const char *column)
{
	return s->last ? arena_printf(arena, "%s[%s, %s, c]", of, row, column)
		       : arena_printf(arena, "%s[c, %s, %s]", of, row, column);
}

/* What is padded: as i32 less its zero point, or as the bytes with that, with a
 * number, or in the sum. */
typedef struct {
	const char *type, *inside, *outside, *reader;
} Padding;

static const Padding paddings[] = {{"i32", "i32(%s) - z[]", "0", "%s"},
    {"i32", "0", "i32(%s) - z[]", "%s"},
    {"i16", "i32(%s) - z[]", "0", "i32(%s)"},
    {"u8", "%s", "z[]", "(i32(%s) - z[])"}, {"u8", "%s", "7", "(i32(%s) - 7)"},
    {"u8", "%s", "9", "(i32(%s) - z[])"}, {"u8", "%s", "3", "i32(%s)"},
    {"u8", "%s", "z[]", "(z[] - i32(%s))"}};

static const char *const factors[] = {"(w[o, c, r, s] - v[o])",
    "i32(w[o, c, r, s])", "(w[o, c, r, s] + v[o]*z[])*v[o]"};

/* The operator; `inside` false: the arms are exchanged. */
static const char *operator_text(
    Arena *arena, const Shape *s, const Padding *pad, const char *factor)
{
	bool inside = strcmp(pad->inside, "0") != 0;
	const char *x = at(arena, s, "x", "i - A", "j - B");
	const char *p = at(arena, s, "p", "i*S + r", "j*T + s");
	const char *axes[] = {"c < C", "i < A + H + D", "j < B + W + E"};
	const char *format = inside ? pad->inside : pad->outside;
	const char *element = arena_printf(arena, "%.*s%s%s",
	    (int)(strstr(format, "%s") - format), format, x,
	    strstr(format, "%s") + 2);
	const char *reader = arena_printf(arena, "%.*s%s%s",
	    (int)(strstr(pad->reader, "%s") - pad->reader), pad->reader, p,
	    strstr(pad->reader, "%s") + 2);
	const char *where = "A <= i < A + H and B <= j < B + W";
	return arena_printf(arena,
	    "tunec: 1\nname: padded\nparams: {C: %d, O: %d, H: %d, W: %d, "
	    "K: %d, L: %d, S: %d, T: %d, A: %d, B: %d, D: %d, E: %d, "
	    "P: (A + H + D - K)//S + 1, Q: (B + W + E - L)//T + 1}\n"
	    "inputs: {x: 'u8[%s]', z: 'u8[]', w: 'i8[O, C, K, L]', "
	    "v: 'i8[O]'}\ncompute: |\n"
	    "  p[%s, %s, %s]: %s = if %s%s%s then %s else %s\n"
	    "  y[%s] = sum[c < C, r < K, s < L](%s*%s)\n",
	    s->channels, s->outputs, s->rows, s->columns, s->taps[0],
	    s->taps[1], s->stride[0], s->stride[1], s->before[0], s->before[1],
	    s->after[0], s->after[1], s->last ? "H, W, C" : "C, H, W",
	    axes[s->last ? 1 : 0], axes[s->last ? 2 : 1], axes[s->last ? 0 : 2],
	    pad->type, inside ? "" : "not (", where, inside ? "" : ")",
	    inside ? element : "0", inside ? pad->outside : element,
	    s->last ? "i < P, j < Q, o < O" : "o < O, i < P, j < Q", reader,
	    factor);
}

/* With as many names as it makes. */
static const char *distributed(
    Arena *arena, const Program *p, const char *narrow)
{
	const char *names = "p0";
	for (int n = 1; n <= SUMS_MOST; n++) {
		const char *steps = arena_printf(
		    arena, "%s%s = distribute(y)\n", narrow, names);
		Error error = {0};
		if (schedule_nest(arena, p, &test_machine,
			schedule_steps(arena, steps), &error))
			return steps;
		names = arena_printf(arena, "%s, p%d", names, n);
	}
	return NULL;
}

static void test_zero_padding(void **state)
{
	(void)state;
	for (int i = 0; i < ROUNDS; i++) {
		Arena *arena = arena_new();
		Rng rng = rng_stream(2026, 25, (uint64_t)i);
		Shape s = any_shape(&rng);
		const Padding *pad =
		    &paddings[i % (int)(sizeof paddings / sizeof *paddings)];
		const char *text =
		    operator_text(arena, &s, pad, factors[rng_below(&rng, 3)]);
		const Program *p =
		    program_of_text(arena, text, NUMERICS_DEFAULT);
		const char *steps = distributed(arena, p, "narrow(p, 0)\n");
		if (!steps)
			fail_msg("not multiplied out: %s", text);
		check(arena, text, "narrow(p, 0)\n");
		check(arena, text, steps);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_casts),
	    cmocka_unit_test(test_zero_padding),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
