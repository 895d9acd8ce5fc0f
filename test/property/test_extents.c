/* Extents over outer axes, against the definition: `sum[j < E](e)` is
 * `sum[j < J](if j < E then e else 0)`, bit for bit, J is the greatest of E over
 * its axes, and its FLOPs are those of the points below E, all counted here one
 * by one.  Extents are random. */
#include "ir/program.h"
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

/* Axes a, b of the definition; j, k of its sum; l of a sum in that one. */
enum { A, B, J, K, L, NAXES, MOST_DEPTH = 3, NX = 7 };

static const char names[] = "abjkl";

typedef struct Term Term;

/* A random extent: an index over the axes before it. */
struct Term {
	char op; /* 'n' number, 'x' axis, or how it is written */
	int64_t n;
	Term *a, *b;
};

typedef struct {
	Arena *arena;
	Rng rng;
	int64_t extent[2];     /* of a, b */
	Term *limit[NAXES];    /* of j, k, l */
	int64_t greatest[NAXES]; /* of those below */
	int64_t extents[NAXES];  /* of all axes, so the greatest of all points */
	int64_t flops;
} Trial;

static int below(Trial *t, int n)
{
	return (int)rng_below(&t->rng, (uint64_t)n);
}

static Term *term(Trial *t, int axes, int depth)
{
	static const char ops[] = "++--*/%mMc";
	Term *x = NEW(t->arena, Term);
	x->n = 1 + below(t, 4);
	if (!depth || !below(t, 4)) {
		x->op = below(t, 4) ? 'x' : 'n';
		x->n = x->op == 'x' ? below(t, axes) : below(t, 6);
		return x;
	}
	x->op = ops[below(t, (int)sizeof ops - 1)];
	x->a = term(t, axes, depth - 1);
	x->b = term(t, axes, depth - 1);
	return x;
}

/* An extent without an axis is a number, and at least 1. */
static bool has_axis(const Term *x)
{
	return x->op == 'x' || (x->a && has_axis(x->a)) ||
	    (x->b && x->op != '*' && x->op != '/' && x->op != '%' &&
		has_axis(x->b));
}

static void print_term(Buf *out, const Term *x)
{
	const char *format[256] = {['+'] = " + ", ['-'] = " - "};
	switch (x->op) {
	case 'n':
		buf_printf(out, "%d", (int)x->n);
		return;
	case 'x':
		buf_putc(out, names[x->n]);
		return;
	case '*':
		buf_printf(out, "%d*(", (int)x->n - 2);
		break;
	case '/':
	case '%':
		buf_putc(out, '(');
		break;
	case 'm':
	case 'M':
		buf_puts(out, x->op == 'm' ? "min(" : "max(");
		break;
	case 'c':
		buf_puts(out, "(if ");
		break;
	default:
		buf_putc(out, '(');
	}
	print_term(out, x->a);
	if (x->op == '/' || x->op == '%') {
		buf_printf(out, ")%s%d", x->op == '/' ? "//" : "%", (int)x->n);
		return;
	}
	if (x->op == '*') {
		buf_putc(out, ')');
		return;
	}
	if (x->op == 'c') {
		buf_puts(out, " < ");
		print_term(out, x->b);
		buf_puts(out, " then ");
		print_term(out, x->b);
		buf_puts(out, " else 2)");
		return;
	}
	buf_puts(out, format[(unsigned char)x->op]
		? format[(unsigned char)x->op] : ", ");
	print_term(out, x->b);
	buf_putc(out, ')');
}

static int64_t floordiv(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static int64_t value(const Term *x, const int64_t *axis)
{
	int64_t a, b;
	if (x->op == 'n')
		return x->n;
	if (x->op == 'x')
		return axis[x->n];
	a = value(x->a, axis), b = value(x->b, axis);
	switch (x->op) {
	case '+': return a + b;
	case '-': return a - b;
	case '*': return (x->n - 2) * a;
	case '/': return floordiv(a, x->n);
	case '%': return a - floordiv(a, x->n) * x->n;
	case 'm': return a < b ? a : b;
	case 'M': return a > b ? a : b;
	default: return a < b ? b : 2;
	}
}

/* Counts the points of axes `i` on, and finds the greatest extents.  One of l
 * is an addition, one of k is two and a product. */
static void visit(Trial *t, int i, int64_t *axis)
{
	int64_t extent = i < J ? t->extent[i] : value(t->limit[i], axis);
	if (i >= J && extent > t->greatest[i])
		t->greatest[i] = extent;
	for (axis[i] = 0; axis[i] < extent; axis[i]++) {
		t->flops += i == L ? 1 : i == K ? 3 : 0;
		if (i < L)
			visit(t, i + 1, axis);
	}
}

/* The extents of axes j, k, l, one after another, over those before them. */
static void find_extents(Trial *t, int i, int of, int64_t *axis)
{
	if (i == of) {
		int64_t extent = value(t->limit[of], axis);
		if (extent > t->extents[of])
			t->extents[of] = extent;
		return;
	}
	for (axis[i] = 0; axis[i] < t->extents[i]; axis[i]++)
		find_extents(t, i + 1, of, axis);
}

static void check_extents(Trial *t, const Program *p, const char *text)
{
	const Definition *d = &p->definitions[0];
	int64_t axis[NAXES] = {0};
	for (int i = 0; i < J; i++)
		t->extents[i] = t->extent[i];
	for (int i = J; i <= L; i++) {
		t->extents[i] = 1;
		find_extents(t, 0, i, axis);
		if (d->axes[i].extent != t->extents[i])
			fail_msg("%s%c has %lld, not %lld", text, names[i],
			    (long long)d->axes[i].extent,
			    (long long)t->extents[i]);
	}
}

static void print_text(Buf *out, const Trial *t, bool explicitly)
{
	static const char *const inner[] = {"j", "k", "l"};
	buf_printf(out,
	    "tunec: 1\nname: op\ninputs: {x: 'f32[%d]'}\ncompute: |\n"
	    "  y[a < %d, b < %d] = sum[",
	    NX, (int)t->extent[0], (int)t->extent[1]);
	for (int i = J; i <= L; i++) {
		if (i == L)
			buf_puts(out, "](");
		if (i == L && explicitly) {
			buf_puts(out, "if j < ");
			print_term(out, t->limit[J]);
			buf_puts(out, " and k < ");
			print_term(out, t->limit[K]);
			buf_puts(out, " then ");
		}
		if (i == L)
			buf_printf(out, "2*x[(j + k)%%%d] + sum[", NX);
		buf_printf(out, "%s%s < ", i == K ? ", " : "", inner[i - J]);
		if (explicitly)
			buf_printf(out, "%d", (int)t->greatest[i]);
		else
			print_term(out, t->limit[i]);
	}
	buf_puts(out, "](");
	if (explicitly) {
		buf_puts(out, "if l < ");
		print_term(out, t->limit[L]);
		buf_puts(out, " then ");
	}
	buf_printf(out, "x[(l + a)%%%d]%s)%s)\n", NX,
	    explicitly ? " else 0" : "", explicitly ? " else 0" : "");
}

static Program *program(Trial *t, const char *text)
{
	char why[200];
	Program *p = program_of_text(t->arena, text, NUMERICS_EXACT);
	if (!program_verify(p, why, sizeof why))
		fail_msg("%s\n%s", text, why);
	return p;
}

/* The result's elements. */
static float *run(Trial *t, const Program *p)
{
	void **data = NEW_N(t->arena, void *, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++)
		data[i] = arena_alloc(
		    t->arena, (size_t)buffer_bytes(&p->buffers[i]));
	for (int i = 0; i < NX; i++)
		((float *)data[0])[i] = (float)(i*i + 1) / 3;
	interp_run(p, data);
	return data[p->outputs[0]];
}

static void trial(uint64_t seed)
{
	Trial t = {.arena = arena_new(), .rng = rng_stream(seed, 0, 0)};
	Buf texts[2] = {{0}, {0}};
	int64_t axis[NAXES] = {0};
	for (int i = J; i <= L; i++) {
		t.greatest[i] = 1;
		do
			t.limit[i] = term(&t, i, MOST_DEPTH);
		while (!has_axis(t.limit[i]));
	}
	for (int i = 0; i < 2; i++)
		t.extent[i] = 1 + below(&t, 9);
	visit(&t, 0, axis);
	print_text(&texts[0], &t, false);
	print_text(&texts[1], &t, true);
	const Program *p = program(&t, buf_text(&texts[0]));
	check_extents(&t, p, buf_text(&texts[0]));
	if (p->flops != t.flops)
		fail_msg("%s%lld flops, not %lld", buf_text(&texts[0]),
		    (long long)p->flops, (long long)t.flops);
	float *got = run(&t, p);
	float *want = run(&t, program(&t, buf_text(&texts[1])));
	for (int64_t i = 0; i < t.extent[0] * t.extent[1]; i++)
		if (memcmp(&got[i], &want[i], sizeof *got))
			fail_msg("%s%selement %d is %g, not %g",
			    buf_text(&texts[0]), buf_text(&texts[1]), (int)i,
			    (double)got[i], (double)want[i]);
	buf_free(&texts[0]);
	buf_free(&texts[1]);
	arena_free(t.arena);
}

static void extents(void **state)
{
	int n = tier_is_long() ? 20000 : 1000;
	(void)state;
	for (int i = 0; i < n; i++)
		trial((uint64_t)i);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(extents)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
