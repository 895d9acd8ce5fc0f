/* Random products and convolutions for a GPU: every sketch of each, its first
 * candidate and some others, computes what the operator says, with races checked,
 * and asks for no more than a GPU has.  A candidate's trace is found again, and
 * what the launches need fits what the plan says. */
#include "test/common_draw.h"
#include "test/common_lower.h"
#include "test/common_program.h"
#include "test/common_schedule.h"
#include "test/common_tier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { QUICK = 4, LONG = 600, SAMPLES = 6 };

static const char *const types[] = {"f32", "f32", "f16", "bf16", "f64", "i32"};

/* Operands either way round, perhaps a batch of them; what follows.  One step would
 * be no product. */
static const char *product(Draw *d)
{
	static const char *const ends[] = {"c[%si, j]", "max(c[%si, j] + t[j], 0)",
	    "c[%si, j] + r[%si, j]"};
	const char *a[] = {"i, k", "k, i"}, *b[] = {"k, j", "j, k"};
	int m = between(d, 4, 40), n = between(d, 4, 40), k = between(d, 2, 30);
	int x = between(d, 0, 1), y = between(d, 0, 1), end = between(d, 0, 2);
	bool batch = !between(d, 0, 2);
	const char *o = batch ? "o, " : "", *three = batch ? "3, " : "";
	const char *type = one_of(d, types, 6);
	const char *sum = !strcmp(type, "f64") || !strcmp(type, "i32")
	    ? type : "f32";
	const char *last = arena_printf(d->arena, ends[end], o, o);
	return arena_printf(d->arena,
	    "inputs: {a: '%s[%s%d, %d]', b: '%s%s[%s%d, %d]', t: '%s[%d]', "
	    "r: '%s[%s%d, %d]'}\ncompute: |\n"
	    "  c[%s%si < %d, j < %d] = sum[k < %d](%s(a[%s%s])*%s(b[%s%s]))\n"
	    "  y[%s%si < %d, j < %d] = %s\noutputs: [y]\n",
	    type, three, x ? k : m, x ? m : k, between(d, 0, 1) ? "const " : "",
	    type, three, y ? n : k, y ? k : n, sum, n, sum, three, m, n,
	    batch ? "o < 3" : "", batch ? ", " : "", m, n, k, sum, o, a[x], sum,
	    o, b[y], batch ? "o < 3" : "", batch ? ", " : "", m, n, last);
}

/* The same in whole fragments of a warp, which f32 is for --numerics=fast. */
static const char *fragments(Draw *d)
{
	static const char *const kinds[] = {"f16", "bf16", "f32", "i8"};
	const char *a[] = {"i, k", "k, i"}, *b[] = {"k, j", "j, k"};
	const char *type = one_of(d, kinds, 4);
	const char *sum = !strcmp(type, "i8") ? "i32" : "f32";
	bool plain = !strcmp(type, "f32");
	int m = 16 * between(d, 1, 5), n = 8 * between(d, 1, 6);
	int k = (plain ? 8 : 16) * between(d, 1, 4);
	int x = between(d, 0, 1), y = between(d, 0, 1);
	return arena_printf(d->arena,
	    "inputs: {a: '%s[%d, %d]', b: '%s%s[%d, %d]', t: '%s[%d]'}\n"
	    "compute: |\n"
	    "  c[i < %d, j < %d] = sum[k < %d](%s(a[%s])*%s(b[%s]))\n"
	    "  y[i < %d, j < %d] = %s\noutputs: [y]\n",
	    type, x ? k : m, x ? m : k, between(d, 0, 1) ? "const " : "", type,
	    y ? n : k, y ? k : n, sum, n, m, n, k, plain ? "" : sum, a[x],
	    plain ? "" : sum, b[y], m, n,
	    between(d, 0, 1) ? "max(c[i, j] + t[j], 0)" : "c[i, j]*t[j]");
}

/* In whole products of a warpgroup, of one or in one direction two. */
static const char *groups(Draw *d)
{
	static const char *const kinds[] = {"f16", "bf16", "i8"};
	const char *a[] = {"i, k", "k, i"}, *b[] = {"k, j", "j, k"};
	const char *type = one_of(d, kinds, 3);
	bool bytes = !strcmp(type, "i8");
	const char *sum = bytes ? "i32" : "f32";
	int twice = between(d, 0, 3);
	int m = twice == 1 ? 128 : 64, n = twice == 2 ? 128 : 64;
	int k = (bytes ? 128 : 64) * (twice == 3 ? 2 : 1);
	int x = bytes ? 0 : between(d, 0, 1), y = bytes || between(d, 0, 1);
	return arena_printf(d->arena,
	    "inputs: {a: '%s[%d, %d]', b: '%s%s[%d, %d]', t: '%s[%d]'}\n"
	    "compute: |\n"
	    "  c[i < %d, j < %d] = sum[k < %d](%s(a[%s])*%s(b[%s]))\n"
	    "  y[i < %d, j < %d] = %s\noutputs: [y]\n",
	    type, x ? k : m, x ? m : k, between(d, 0, 1) ? "const " : "", type,
	    y ? n : k, y ? k : n, sum, n, m, n, k, sum, a[x], sum, b[y], m, n,
	    between(d, 0, 1) ? "max(c[i, j] + t[j], 0)" : "c[i, j]*t[j]");
}

/* With a border, a stride, gaps in the window, groups; channels first or last. */
static const char *convolution(Draw *d)
{
	int groups = between(d, 0, 2) ? 1 : between(d, 2, 3);
	int c = between(d, 1, 6), o = groups * between(d, 4, 12);
	int h = between(d, 3, 9), w = between(d, 3, 15), k = between(d, 1, 3);
	int stride = between(d, 1, 2), pad = between(d, 0, 1);
	int gap = h > 2 * (k - 1) && w > 2 * (k - 1) ? between(d, 1, 2) : 1;
	int p = (h + 2 * pad - gap * (k - 1) - 1) / stride + 1;
	int q = (w + 2 * pad - gap * (k - 1) - 1) / stride + 1;
	bool last = between(d, 0, 1);
	const char *channel = groups == 1 ? "c"
	    : arena_printf(d->arena, "o//%d*%d + c", o / groups, c);
	const char *x = arena_printf(d->arena,
	    last ? "p[i*%d + r*%d, j*%d + s*%d, %s]"
		 : "p[%5$s, i*%1$d + r*%2$d, j*%3$d + s*%4$d]",
	    stride, gap, stride, gap, channel);
	const char *border = arena_printf(d->arena,
	    "if %d <= i < %d and %d <= j < %d then x[%s] else 0", pad, h + pad,
	    pad, w + pad,
	    arena_printf(d->arena, last ? "i - %d, j - %d, c" : "c, i - %d, j - %d",
		pad, pad));
	int all = c * groups, hp = h + 2 * pad, wp = w + 2 * pad;
	return arena_printf(d->arena,
	    "inputs: {x: 'f32[%s]', w: '%sf32[%d, %d, %d, %d]', t: 'f32[%d]'}\n"
	    "compute: |\n  p[%s] = %s\n"
	    "  f[%s] = sum[c < %d, r < %d, s < %d](%s*w[o, c, r, s])\n"
	    "  y[%s] = max(f[%s] + t[o], 0)\noutputs: [y]\n",
	    last ? arena_printf(d->arena, "%d, %d, %d", h, w, all)
		 : arena_printf(d->arena, "%d, %d, %d", all, h, w),
	    between(d, 0, 1) ? "const " : "", o, c, k, k, o,
	    last ? arena_printf(d->arena, "i < %d, j < %d, c < %d", hp, wp, all)
		 : arena_printf(d->arena, "c < %d, i < %d, j < %d", all, hp, wp),
	    border,
	    last ? arena_printf(d->arena, "i < %d, j < %d, o < %d", p, q, o)
		 : arena_printf(d->arena, "o < %d, i < %d, j < %d", o, p, q),
	    c, k, k, x,
	    last ? arena_printf(d->arena, "i < %d, j < %d, o < %d", p, q, o)
		 : arena_printf(d->arena, "o < %d, i < %d, j < %d", o, p, q),
	    last ? "i, j, o" : "o, i, j");
}

/* An input spread by a stride; each channel by itself; two products. */
static const char *others(Draw *d)
{
	int c = between(d, 1, 5), o = between(d, 4, 9), h = between(d, 2, 6);
	int k = between(d, 2, 4), n = 2 * h - 2 + k, m = between(d, 4, 20);
	switch (between(d, 0, 2)) {
	case 0:
		return arena_printf(d->arena,
		    "inputs: {x: 'f32[%d, %d, %d]', w: 'f32[%d, %d, %d, %d]'}\n"
		    "compute: |\n"
		    "  u[c < %d, i < %d, j < %d] = if i%%2 == 0 and j%%2 == 0 "
		    "and i//2 < %d and j//2 < %d then x[c, i//2, j//2] else 0\n"
		    "  y[o < %d, i < %d, j < %d] = sum[c < %d, r < %d, s < %d]"
		    "(u[c, i + r, j + s]*w[c, o, r, s])\n",
		    c, h, h, c, o, k, k, c, n + k - 1, n + k - 1, h, h, o, n, n,
		    c, k, k);
	case 1:
		return arena_printf(d->arena,
		    "inputs: {x: 'f32[%d, %d, %d]', w: 'const f32[%d, %d, %d]'}\n"
		    "compute: |\n  y[c < %d, i < %d, j < %d] = "
		    "sum[r < %d, s < %d](x[c, i + r, j + s]*w[c, r, s])\n",
		    o, h + k, m + k, o, k, k, o, h, m, k, k);
	default:
		return arena_printf(d->arena,
		    "inputs: {q: 'f32[2, %d, %d]', k: 'f32[2, %d, %d]', "
		    "v: 'f32[2, %d, %d]'}\ncompute: |\n"
		    "  s[h < 2, i < %d, j < %d] = "
		    "sum[d < %d](q[h, i, d]*k[h, j, d])\n"
		    "  y[h < 2, i < %d, d < %d] = "
		    "sum[j < %d](s[h, i, j]*v[h, j, d])\n",
		    m, o, m, o, m, o, m, m, o, m, o, m);
	}
}

/* Rows of scores between two products: all of them, those behind or near a row;
 * exponentials or what is positive, divided by their sum at the end, before, or
 * not at all; heads that share keys. */
static const char *attention(Draw *d)
{
	static const char *const masks[] = {
	    "%s", "if j <= i then %s else -inf",
	    "if j <= i and (i - j < 5 or j < 2) then %s else -inf"};
	static const char *const weights[] = {
	    "exp(s[h, i, j] - m[h, i])", "max(s[h, i, j] - m[h, i]*0.5, 0.125)"};
	static const char *const ends[][2] = {
	    {"e[h, i, j]", "/z[h, i]"}, {"e[h, i, j]/z[h, i]", ""},
	    {"e[h, i, j]", ""}};
	int heads = between(d, 1, 2), shared = between(d, 1, 2);
	int rows = between(d, 8, 40), keys = between(d, 5, 50);
	int depth = between(d, 3, 20), columns = between(d, 8, 40);
	int end = between(d, 0, 2), all = heads * shared;
	bool across = between(d, 0, 1);
	const char *type = one_of(d, types, 4);
	const char *key = shared > 1 ? "h//2" : "h";
	const char *score = arena_printf(d->arena,
	    "sum[d < %d](f32(q[h, i, d])*f32(k[%s, j, d]))*0.25", depth, key);
	const char *weight = between(d, 0, 3) ? weights[0] : weights[1];
	const char *masked = arena_printf(d->arena,
	    weight == weights[0] ? masks[between(d, 0, 2)] : "%s", score);
	return arena_printf(d->arena,
	    "inputs: {q: '%s[%d, %d, %d]', k: '%s[%d, %d, %d]', "
	    "v: '%s[%d, %d, %d]'}\ncompute: |\n"
	    "  s[h < %d, i < %d, j < %d] = %s\n"
	    "  m[h < %d, i < %d] = max[j < %d](s[h, i, j])\n"
	    "  e[h < %d, i < %d, j < %d] = %s\n"
	    "  z[h < %d, i < %d] = sum[j < %d](e[h, i, j])\n"
	    "  y[h < %d, i < %d, c < %d] = "
	    "sum[j < %d](%s*f32(v[%s, %s]))%s\noutputs: [y]\n",
	    type, all, rows, depth, type, heads, keys, depth, type, heads,
	    across ? columns : keys, across ? keys : columns, all, rows, keys,
	    masked, all, rows, keys, all, rows, keys, weight, all, rows, keys,
	    all, rows, columns, keys, ends[end][0], key, across ? "c, j" : "j, c",
	    ends[end][1]);
}

/* Few results of many steps. */
static const char *deep(Draw *d)
{
	int m = between(d, 4, 12), n = between(d, 4, 12), c = 2 * between(d, 16, 30);
	if (between(d, 0, 1))
		return arena_printf(d->arena,
		    "inputs: {a: 'f32[%d, %d]', b: 'f32[%d, %d]'}\ncompute: |\n"
		    "  y[i < %d, j < %d] = sum[k < %d](a[i, k]*b[k, j])\n",
		    m, 8 * c, 8 * c, n, m, n, 8 * c);
	return arena_printf(d->arena,
	    "inputs: {x: 'f32[%d, %d, %d]', w: 'f32[%d, %d, 3, 3]', t: 'f32[%d]'}\n"
	    "compute: |\n  f[o < %d, i < %d, j < %d] = sum[c < %d, r < 3, s < 3]"
	    "(x[c, i + r, j + s]*w[o, c, r, s])\n"
	    "  y[o < %d, i < %d, j < %d] = max(f[o, i, j] + t[o], 0)\n"
	    "outputs: [y]\n",
	    c, m + 2, n + 2, n, c, n, n, m, n, c, n, m, n);
}

/* A channel's own filter with a border, a pool, pictures and lines without
 * channels. */
static const char *window(Draw *d)
{
	static const char *const reduces[] = {"max", "sum", "min"};
	int c = between(d, 1, 5), h = between(d, 3, 9), w = between(d, 3, 30);
	int k = between(d, 2, 3), s = between(d, 1, 2);
	int p = (h + 2 - k) / s + 1, q = (w + 2 - k) / s + 1;
	const char *how = one_of(d, reduces, 3);
	switch (between(d, 0, 3)) {
	case 0:
		return arena_printf(d->arena,
		    "inputs: {x: 'f32[%d, %d, %d]', w: 'const f32[%d, %d, %d]'}\n"
		    "compute: |\n  p[c < %d, i < %d, j < %d] = "
		    "if 1 <= i <= %d and 1 <= j <= %d then x[c, i - 1, j - 1] "
		    "else 0\n  f[c < %d, i < %d, j < %d] = sum[r < %d, s < %d]"
		    "(p[c, i*%d + r, j*%d + s]*w[c, r, s])\n"
		    "  y[c < %d, i < %d, j < %d] = max(f[c, i, j], 0)\n"
		    "outputs: [y]\n",
		    c, h, w, c, k, k, c, h + 2, w + 2, h, w, c, p, q, k, k, s, s,
		    c, p, q);
	case 1:
		return arena_printf(d->arena,
		    "inputs: {x: 'f32[%d, %d, %d]'}\ncompute: |\n"
		    "  y[i < %d, j < %d, c < %d] = %s[r < %d, s < %d]"
		    "(if 1 <= i*%d + r <= %d and 1 <= j*%d + s <= %d then "
		    "x[i*%d + r - 1, j*%d + s - 1, c] else 0)\n",
		    h, w, c, p, q, c, how, k, k, s, h, s, w, s, s);
	case 2:
		return arena_printf(d->arena,
		    "inputs: {x: 'f32[%d, %d]'}\ncompute: |\n"
		    "  b[i < %d, j < %d] = x[clamp(i - 1, 0, %d), "
		    "clamp(j - 1, 0, %d)]*2\n"
		    "  y[i < %d, j < %d] = %s[r < 3, s < 3](b[i + r, j + s])\n"
		    "outputs: [y]\n",
		    h, w, h + 2, w + 2, h - 1, w - 1, h, w, how);
	default:
		return arena_printf(d->arena,
		    "inputs: {x: 'f64[%d]', w: 'f64[%d]'}\ncompute: |\n"
		    "  y[i < %d] = sum[k < %d](x[i + k]*w[k])\n",
		    w + k, k, w, k);
	}
}

/* Axes in another order, something else beside it, a reduction before it. */
static const char *transpose(Draw *d)
{
	int m = between(d, 16, 70), n = between(d, 16, 70), b = between(d, 1, 3);
	const char *type = one_of(d, types, 6);
	switch (between(d, 0, 2)) {
	case 0:
		return arena_printf(d->arena,
		    "inputs: {x: '%s[%d, %d, %d]', z: '%s[%d, %d]'}\ncompute: |\n"
		    "  y[i < %d, o < %d, j < %d] = x[o, j, i] + z[i, j]\n",
		    type, b, n, m, type, m, n, m, b, n);
	case 1:
		return arena_printf(d->arena,
		    "inputs: {x: '%s[%d, %d]', z: '%s[%d, %d]'}\ncompute: |\n"
		    "  y[i < %d, j < %d] = x[i, j] + x[j, i]*z[j, i]\n",
		    type, n, n, type, n, n, n, n);
	default:
		return arena_printf(d->arena,
		    "inputs: {x: 'f32[%d, %d]'}\ncompute: |\n"
		    "  t[i < %d] = sum[j < %d](x[i, j])\n"
		    "  y[i < %d, j < %d] = x[j, %d - i] - t[j]\noutputs: [y]\n",
		    n, m, n, m, m, n, m - 1);
	}
}

/* Candidates with fragments, and those of them that are a warp's products: others
 * have tiles that are not whole, and repeat the loops. */
static int tensorized, products;

static void check(Arena *arena, Space *space, const Program *p,
    const Candidate *c, const Machine *machine, void *const *data,
    const char *text)
{
	Error error = {0};
	Candidate found;
	char why[512];
	Buf steps = {0};
	const Trace *trace = space_trace(arena, space, c);
	Nest *nest = schedule_nest(arena, p, machine, trace, &error);
	Lowered *l = nest ? lower(arena, nest, machine, &error) : NULL;
	if (nest && !l && strstr(error.text, "operations"))
		return; /* too much code: conditions of each element */
	trace_print(&steps, trace);
	if (!l)
		fail_msg("%s\n%s\n%s", error.text, text, buf_text(&steps));
	if (!lowered_verify(l, why, sizeof why))
		fail_msg("%s\n%s\n%s", why, text, buf_text(&steps));
	tensorized += strstr(buf_text(&steps), "tensorize") != NULL;
	products += lowered_has(l, LOW_MMA) ||
	    lowered_has(l, LOW_WGMMA);
	const char *wrong = lowercheck_run(arena, l, data, 1e-5, NULL, NULL);
	if (wrong)
		fail_msg("%s\n%s\n%s", wrong, text, buf_text(&steps));
	if (!lower_launches(l, machine, &error))
		fail_msg("%s\n%s\n%s", error.text, text, buf_text(&steps));
	if (!space_find(space, trace, &found) ||
	    memcmp(&found, c, sizeof found))
		fail_msg("not found again\n%s\n%s", text, buf_text(&steps));
	buf_free(&steps);
}

/* Samples of each sketch; how many sketches have such a name.  *missed counts
 * those of which none was drawn. */
static int check_sketches(Draw *d, const Program *p, const Target *t,
    void *const *data, const char *text, const char *name, int *missed)
{
	Error error = {0};
	Candidate c;
	Space *space = space_new(d->arena, p, &t->machine, &error);
	int named = 0;
	assert_non_null(space);
	int *left = NEW_N(d->arena, int, space_nsketches(space));
	for (int i = 0; i < space_nsketches(space); i++) {
		left[i] = SAMPLES;
		named += strstr(space_sketch_name(space, i), name) != NULL;
	}
	bool any = space_first(space, 64, &c);
	for (int i = 0; any && i < SAMPLES * 5; i++) {
		Arena *scratch = arena_new();
		if (left[c.sketch]-- > 0)
			check(scratch, space, p, &c, &t->machine, data, text);
		arena_free(scratch);
		any = space_sample(space, &d->rng, &c);
	}
	RefusalCount refused[4];
	int n = space_refusals(space, refused, 4);
	if (!any || left[0] == SAMPLES)
		fail_msg("no candidates of the first sketch: %s\n%s",
		    n ? refused[n - 1].why : "", text);
	for (int i = 0; i < space_nsketches(space); i++)
		*missed += left[i] == SAMPLES;
	return named;
}

typedef struct {
	const char *name;
	const char *(*text)(Draw *d); /* but for the first lines */
	int least; /* of ten that have the sketch */
	const char *sketch; /* that is wanted */
	const char *arch;
	Numerics numerics;
} Form;

static const Form forms[] = {
    {"product", product, 10, ".blocks", "sm_80", NUMERICS_DEFAULT},
    {"convolution", convolution, 6, ".blocks", "sm_80", NUMERICS_DEFAULT},
    {"others", others, 2, ".blocks", "sm_80", NUMERICS_DEFAULT},
    {"attention", attention, 7, " rows", "sm_80", NUMERICS_DEFAULT},
    {"deep", deep, 10, ".blocks", "sm_80", NUMERICS_DEFAULT},
    {"window", window, 0, ".blocks", "sm_80", NUMERICS_DEFAULT},
    {"transpose", transpose, 0, ".blocks", "sm_80", NUMERICS_DEFAULT},
    {"fragments", fragments, 10, " warps", "sm_80", NUMERICS_FAST},
    {"fragments", fragments, 0, " warps", "sm_75", NUMERICS_FAST},
    {"groups", groups, 10, " warpgroups", "sm_90a", NUMERICS_DEFAULT}};
enum { FORMS = sizeof forms / sizeof *forms };

static int trial(const Form *form, int number, int *missed)
{
	Draw d = {arena_new(), rng_stream(78, (uint64_t)(form - forms),
				   (uint64_t)number)};
	Error error = {0};
	const char *text = arena_printf(
	    d.arena, "tunec: 1\nname: %s\n%s", form->name, form->text(&d));
	Program *p = program_of_text(d.arena, text, form->numerics);
	const Target *t = target_parse(d.arena,
	    arena_printf(d.arena, "cuda -arch=%s", form->arch), &error);
	void **data = lowercheck_data(d.arena, p, &d.rng);
	lowercheck_expect(p, data);
	int named =
	    check_sketches(&d, p, t, data, text, form->sketch, missed);
	arena_free(d.arena);
	return named;
}

static void test_blocks(void **state)
{
	const char *seed = getenv("SEED");
	int n = tier_is_long() ? LONG : QUICK;
	(void)state;
	for (int f = 0; f < FORMS; f++) {
		int found = 0, missed = 0, first = seed ? atoi(seed) : 0;
		for (int i = first; i < first + n; i++)
			found += trial(&forms[f], i, &missed) > 0;
		print_message("%s: %d of %d have %s, %d sketches missed, %d of "
		    "%d products of a warp\n", forms[f].name, found, n,
		    forms[f].sketch, missed, products, tensorized);
		assert_true(10 * missed <= n);
		assert_true(4 * products >= tensorized);
		assert_true(10 * found >= forms[f].least * n);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_blocks)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
