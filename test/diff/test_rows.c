/* Random operators by rows for GPUs: norms, softmax, sums, extremes, their places
 * and losses over any axes.  Candidate 1 and others, with exchanges and without,
 * run by the interpreter with races checked, against what the operator says. */
#include "test/common_lower.h"
#include "test/common_program.h"

#include "schedule/schedule.h"
#include "test/common_tier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { QUICK = 12, LONG = 400, SAMPLES = 2, AXES = 4 };

static const char *const targets[] = {"cuda -arch=sm_80", "opencl -device=gpu"};

/* An input x of some axes, of which some are summed. */
typedef struct {
	Arena *arena;
	Rng rng;
	int naxes;
	int extent[AXES];
	bool inside[AXES];
	bool together; /* axes 0 and 1 are one dimension of x */
	bool merged;   /* and one axis, m, of the element that is made */
} Draw;

static int below(Draw *d, int n)
{
	return (int)rng_below(&d->rng, (uint64_t)n);
}

static void draw(Draw *d)
{
	static const int extents[] = {1, 2, 3, 5, 7, 8, 16, 31, 32, 33, 64, 100};
	int n = 1;
	bool some = false;
	d->naxes = 1 + below(d, AXES);
	for (int a = 0; a < d->naxes; a++) {
		d->extent[a] = extents[below(d, 12)];
		d->inside[a] = below(d, 2);
		while (n * d->extent[a] > 5000)
			d->extent[a] = (d->extent[a] + 1) / 2;
		n *= d->extent[a];
		some |= d->inside[a];
	}
	if (!some)
		d->inside[below(d, d->naxes)] = true;
	if (!below(d, 6) && d->naxes == 1)
		d->extent[0] = 66000 + below(d, 3000);
	if (!below(d, 12) && d->naxes < 3) { /* more than registers hold */
		d->extent[0] = 1 + below(d, 2);
		d->extent[1] = 9000 + below(d, 30000);
		d->inside[0] = false;
		d->inside[1] = true;
		d->naxes = 2;
	}
	if (!below(d, 6) && d->naxes == 2) { /* few columns, long */
		d->extent[0] = 1100 + below(d, 200);
		d->extent[1] = 1 + below(d, 40);
		d->inside[0] = true;
		d->inside[1] = false;
	}
	d->together = d->naxes > 1 && !below(d, 4);
}

/* Axes as `form` prints one of so many, those chosen, with commas: 1 those inside,
 * 0 the others, -1 all. */
static const char *axes(Draw *d, const char *format, int which)
{
	const char *text = "";
	for (int a = 0; a < d->naxes; a++) {
		char one[64];
		if (which >= 0 && d->inside[a] != which)
			continue;
		snprintf(one, sizeof one, format, 'a' + a, d->extent[a]);
		text = arena_printf(
		    d->arena, "%s%s%s", text, *text ? ", " : "", one);
	}
	return text;
}

static const char *declared(Draw *d, int which)
{
	return axes(d, "%c < %d", which);
}

static const char *named(Draw *d, int which)
{
	return axes(d, "%c", which);
}

/* Of results by rows: the index, with m for a and b where these are merged. */
static const char *row_index(Draw *d)
{
	const char *text = "";
	for (int a = 0; a < d->naxes; a++) {
		const char *sep = *text ? ", " : "";
		if (d->inside[a])
			continue;
		text = d->merged && a < 2
		    ? arena_printf(d->arena, "%s%sm%s%d", text, sep,
			  a ? "%" : "//", d->extent[1])
		    : arena_printf(d->arena, "%s%s%c", text, sep, 'a' + a);
	}
	return text;
}

/* The element of x, and its shape. */
static const char *element(Draw *d)
{
	const char *rest = "";
	for (int a = 2; a < d->naxes; a++)
		rest = arena_printf(d->arena, "%s, %c", rest, 'a' + a);
	return d->merged ? arena_printf(d->arena, "x[m%s]", rest)
	    : d->together
	    ? arena_printf(d->arena, "x[a*%d + b%s]", d->extent[1], rest)
	    : arena_printf(d->arena, "x[%s]", named(d, -1));
}

static const char *shape(Draw *d)
{
	const char *text = "";
	for (int a = 0; a < d->naxes; a++)
		text = d->together && a == 1
		    ? arena_printf(d->arena, "%d", d->extent[0] * d->extent[1])
		    : arena_printf(d->arena, "%s%s%d", text,
			  *text ? ", " : "", d->extent[a]);
	return text;
}

/* --- operators ------------------------------------------------------------------ */

static const char *definition(Draw *d, const char *name, int which,
    const char *type, const char *value)
{
	return arena_printf(d->arena, "  %s[%s]%s%s = %s\n", name,
	    declared(d, which), *type ? ": " : "", type, value);
}

/* The operator's value of all that is inside. */
static const char *over(Draw *d, const char *reduce, const char *value)
{
	return arena_printf(
	    d->arena, "%s[%s](%s)", reduce, declared(d, 1), value);
}

static const char *of(Draw *d, const char *name)
{
	return arena_printf(d->arena, "%s[%s]", name, row_index(d));
}

/* All elements of x, each with its own axes or with one for the first two. */
static const char *elements(Draw *d, const char *value)
{
	const char *rest = "";
	for (int a = 2; a < d->naxes; a++)
		rest = arena_printf(d->arena, "%s, %c < %d", rest, 'a' + a,
		    d->extent[a]);
	return !d->merged
	    ? definition(d, "y", -1, "", value)
	    : arena_printf(d->arena, "  y[m < %d%s] = %s\n",
		  d->extent[0] * d->extent[1], rest, value);
}

static const char *sums(Draw *d)
{
	static const char *const reduce[] = {"sum", "max", "min"};
	static const char *const value[] = {"%s", "%s*%s", "abs(%s)",
		"if %s > 1 then 1. else 0."};
	const char *x = element(d);
	char text[128];
	const char *format = value[below(d, 4)];
	snprintf(text, sizeof text, format, x, x);
	return definition(
	    d, "y", 0, "", over(d, reduce[below(d, 3)], text));
}

static const char *place(Draw *d)
{
	for (int a = 0, seen = 0; a < d->naxes; a++) {
		d->inside[a] &= !seen; /* of one axis */
		seen |= d->inside[a];
	}
	return definition(d, "y", 0, "",
	    over(d, below(d, 2) ? "argmax" : "argmin", element(d)));
}

static int inside(const Draw *d)
{
	int n = 1;
	for (int a = 0; a < d->naxes; a++)
		n *= d->inside[a] ? d->extent[a] : 1;
	return n;
}

static const char *norm(Draw *d)
{
	const char *x = element(d), *mean = of(d, "mean");
	bool pass = below(d, 2); /* variance in one */
	const char *m = definition(d, "mean", 0, "",
	    arena_printf(d->arena, "%s/%d", over(d, "sum", x), inside(d)));
	const char *square = pass
	    ? arena_printf(d->arena, "%s*%s", x, x)
	    : arena_printf(d->arena, "(%s - %s)*(%s - %s)", x, mean, x, mean);
	const char *v = definition(d, "var", 0, "",
	    arena_printf(d->arena, pass ? "%s/%d - %s*%s" : "%s/%d",
		over(d, "sum", square), inside(d), mean, mean));
	d->merged = d->together;
	return arena_printf(d->arena, "%s%s%s", m, v,
	    elements(d, arena_printf(d->arena, "(%s - %s)/sqrt(abs(%s) + 1)",
		element(d), of(d, "mean"), of(d, "var"))));
}

static const char *softmax(Draw *d)
{
	const char *x = element(d);
	const char *top = definition(d, "top", 0, "", over(d, "max", x));
	const char *exponent =
	    arena_printf(d->arena, "exp(%s - %s)", x, of(d, "top"));
	const char *e = arena_printf(d->arena, "e[%s]", named(d, -1));
	bool apart = below(d, 2);
	const char *parts = apart ? definition(d, "e", -1, "", exponent) : "";
	const char *total = definition(
	    d, "total", 0, "", over(d, "sum", apart ? e : exponent));
	const char *first = arena_printf(d->arena, "%s%s%s", top, parts, total);
	const char *log = arena_printf(
	    d->arena, "log(%s) + %s", of(d, "total"), of(d, "top"));
	switch (below(d, 3)) {
	case 0:
		return arena_printf(d->arena, "%s%s", first,
		    definition(d, "y", 0, "", log));
	case 1:
		d->merged = d->together;
		return arena_printf(d->arena, "%s%s", first,
		    elements(d, arena_printf(d->arena, "%s - (log(%s) + %s)",
			element(d), of(d, "total"), of(d, "top"))));
	default:
		return arena_printf(d->arena, "%s%s", first,
		    definition(d, "y", -1, "",
			arena_printf(d->arena, "%s/%s", apart ? e : exponent,
			    of(d, "total"))));
	}
}

static const char *several(Draw *d)
{
	const char *x = element(d);
	return arena_printf(d->arena, "%s%soutputs: [s, y]\n",
	    definition(d, "s", 0, "", over(d, "sum", x)),
	    definition(d, "y", 0, "",
		over(d, "max", arena_printf(d->arena, "%s*2", x))));
}

static const struct {
	const char *name;
	const char *(*text)(Draw *d);
} forms[] = {{"sums", sums}, {"place", place}, {"norm", norm},
    {"softmax", softmax}, {"several", several}};
enum { FORMS = sizeof forms / sizeof *forms };

/* --- candidates -------------------------------------------------------------------- */

static const char *try(Arena *arena, const Program *p, const Trace *trace,
    const Machine *machine, void *const *data)
{
	Error error = {0};
	char why[512];
	Nest *nest = schedule_nest(arena, p, machine, trace, &error);
	Lowered *l = nest ? lower(arena, nest, machine, &error) : NULL;
	if (!l)
		return arena_strdup(arena, error.text);
	if (!lowered_verify(l, why, sizeof why))
		return arena_strdup(arena, why);
	if (!lower_launches(l, machine, &error))
		return arena_strdup(arena, error.text);
	/* of long rows the reference, in order, is no better */
	return lowercheck_run(arena, l, data, 1e-3, NULL, NULL);
}

/* Is some reduction shared out? */
static bool check(
    Draw *d, const Program *p, const char *text, const char *target)
{
	Error error = {0};
	Candidate c;
	void **data = lowercheck_data(d->arena, p, &d->rng);
	const Target *t = target_parse(d->arena, target, &error);
	lowercheck_expect(p, data);
	Space *space = space_new(d->arena, p, &t->machine, &error);
	if (!space || !space_first(space, 64, &c))
		fail_msg("%s: no candidate 1: %s\n%s", target, error.text, text);
	bool shared = false;
	for (int i = 0; i <= SAMPLES; i++) {
		Buf steps = {0};
		const Trace *trace = space_trace(d->arena, space, &c);
		trace_print(&steps, trace);
		const char *wrong = try(d->arena, p, trace, &t->machine, data);
		if (wrong)
			fail_msg("%s: %s\n%s\n%s", target, wrong, text,
			    buf_text(&steps));
		shared |= strstr(buf_text(&steps), "_acc = ") ||
		    strstr(buf_text(&steps), "set_scope");
		buf_free(&steps);
		if (!space_sample(space, &d->rng, &c))
			break;
	}
	return shared;
}

static bool trial(int form, int number)
{
	Draw d = {arena_new(),
	    rng_stream(78, (uint64_t)form, (uint64_t)number), 0, {0}, {0},
	    false, false};
	draw(&d);
	const char *compute = forms[form].text(&d);
	const char *text = arena_printf(d.arena,
	    "tunec: 1\nname: %s\ninputs: {x: 'f32[%s]'}\ncompute: |\n%s",
	    forms[form].name, shape(&d), compute);
	Program *p = program_of_text(d.arena, text, NUMERICS_DEFAULT);
	bool shared = false;
	for (int t = 0; t < 2; t++)
		shared |= check(&d, p, text, targets[t]);
	shared |= inside(&d) < 64;
	arena_free(d.arena);
	return shared;
}

static void test_rows(void **state)
{
	const char *seed = getenv("SEED");
	int n = tier_is_long() ? LONG : QUICK;
	int first = seed ? atoi(seed) : 0;
	(void)state;
	for (int f = 0; f < FORMS; f++) {
		int shared = 0;
		for (int i = first; i < first + n; i++)
			shared += trial(f, i);
		print_message("%s: %d of %d rows are shared out or short\n",
		    forms[f].name, shared, n);
		assert_true(4 * shared >= 3 * n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
