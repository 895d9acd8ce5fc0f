/* Random operators of the families that rules have structures of their own for,
 * of odd sizes: candidate 1 exists, and what it and others compute is what the
 * operator says, for machines with short, long and masked vectors.  Each form has
 * the steps that its rule writes in most of its trials. */
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

enum { QUICK = 40, LONG = 3000, SAMPLES = 3 };

static const char *const targets[] = {"llvm -mcpu=skylake-avx512 -threads=1",
    "llvm -mcpu=haswell -threads=2", "llvm -mcpu=x86-64 -threads=1",
    "llvm -mcpu=znver4 -threads=1"};
enum { TARGETS = sizeof targets / sizeof *targets };

static const char *best(Draw *d)
{
	return between(d, 0, 1) ? "min" : "max";
}

static const char *number(Draw *d)
{
	static const char *const types[] = {"f32", "f32", "f64", "i32", "u8"};
	return one_of(d, types, 5);
}

/* The nearest of some values, and perhaps how near that is. */
static const char *nearest(Draw *d)
{
	int n = between(d, 17, 90), c = between(d, 2, 24), k = between(d, 2, 4);
	const char *type = between(d, 0, 2) ? "f32" : "f64", *how = best(d);
	bool planes = between(d, 0, 1), both = between(d, 0, 1);
	const char *at = planes ? "x[k, i]" : "x[i, k]";
	return arena_printf(d->arena,
	    "inputs: {x: '%s[%d, %d]', c: '%s[%d, %d]'}\ncompute: |\n"
	    "  d[i < %d, j < %d] = sum[k < %d]((%s - c[j, k])*(%s - c[j, k]))\n"
	    "  m[i < %d] = %s[j < %d](d[i, j])\n"
	    "  y[i < %d] = arg%s[j < %d](d[i, j])\noutputs: [%sy]\n",
	    type, planes ? k : n, planes ? n : k, type, c, k, n, c, k, at, at, n,
	    how, c, n, how, c, both ? "m, " : "");
}

/* The best of planes. */
static const char *classes(Draw *d)
{
	int c = between(d, 2, 40), h = between(d, 1, 4), w = between(d, 17, 70);
	const char *type = number(d);
	return arena_printf(d->arena,
	    "inputs: {x: '%s[%d, %d, %d]'}\ncompute: |\n"
	    "  y[i < %d, j < %d] = arg%s[c < %d](x[c, i, j])\n",
	    type, c, h, w, h, w, best(d), c);
}

/* Elements that are computed, of which the best place is used further. */
static const char *computed(Draw *d)
{
	int n = between(d, 17, 70), c = between(d, 2, 40);
	return arena_printf(d->arena,
	    "inputs: {x: 'f32[%d]', c: 'f32[%d]', t: 'f32[%d]'}\ncompute: |\n"
	    "  p[i < %d] = arg%s[j < %d](abs(x[i] - c[j]))\n"
	    "  y[i < %d] = t[clamp(p[i], 0, %d)]*x[i]\n",
	    n, c, c, n, best(d), c, n, c - 1);
}

/* The greatest of a window, and where it is. */
static const char *windows(Draw *d)
{
	int c = between(d, 1, 3), h = between(d, 2, 5), w = between(d, 17, 40);
	int k = between(d, 2, 3);
	const char *type = number(d);
	return arena_printf(d->arena,
	    "inputs: {x: '%s[%d, %d, %d]'}\ncompute: |\n"
	    "  w[c < %d, i < %d, j < %d, k < %d] = "
	    "x[c, %d*i + k//%d, %d*j + k%%%d]\n"
	    "  m[c < %d, i < %d, j < %d] = max[k < %d](w[c, i, j, k])\n"
	    "  p[c < %d, i < %d, j < %d] = argmax[k < %d](w[c, i, j, k])\n"
	    "outputs: [m, p]\n",
	    type, c, h * k, w * k, c, h, w, k * k, k, k, k, k, c, h, w, k * k,
	    c, h, w, k * k);
}

/* Rows repeated, of a length that is no multiple of a vector. */
static const char *tiles(Draw *d)
{
	static const char *const types[] = {"f32", "u8", "i16", "f64"};
	int m = between(d, 1, 4), n = 2 * between(d, 8, 30) + 1;
	int times = between(d, 2, 5), rows = between(d, 2, 3);
	const char *type = one_of(d, types, 4);
	return arena_printf(d->arena,
	    "inputs: {x: '%s[%d, %d]', b: '%s[%d]'}\ncompute: |\n"
	    "  y[i < %d, j < %d] = x[i%%%d, j%%%d] + b[j//%d]\n",
	    type, m, n, type, times, rows * m, times * n, m, n, n);
}

/* A border from the other side. */
static const char *wraps(Draw *d)
{
	int n = between(d, 40, 130), p = between(d, 1, 5);
	return arena_printf(d->arena,
	    "inputs: {x: '%s[3, %d]'}\ncompute: |\n"
	    "  y[i < 3, j < %d] = x[i, (j + %d)%%%d]\n",
	    number(d), n, n + 2 * p, n - p, n);
}

/* Pixels and sounds of bytes and shorts, perhaps of one channel. */
static const char *narrow(Draw *d)
{
	static const char *const types[] = {"u8", "i8", "i16"};
	const char *type = one_of(d, types, 3);
	int n = between(d, 32, 150), k = between(d, 2, 4);
	bool all = between(d, 0, 1);
	return arena_printf(d->arena,
	    "inputs: {x: '%s[%d, %d]', b: '%s[%d]'}\ncompute: |\n"
	    "  t[i < %d] = i32(x[i, 0])*%d + i32(b[i])\n"
	    "  y[i < %d%s] = %s(clamp((i32(x[i, %s])*%d + t[i]*%d) // 16, 0, "
	    "127))\n",
	    type, n, k, type, n, n, between(d, 1, 9), n,
	    all ? arena_printf(d->arena, ", c < %d", k) : "", type,
	    all ? "c" : "1", between(d, 1, 99), between(d, 1, 9));
}

/* Of small matrices something of all their elements. */
static const char *matrices(Draw *d)
{
	int n = between(d, 32, 150), k = between(d, 0, 1);
	return arena_printf(d->arena,
	    "inputs: {x: 'f32[%d, 2, 2]'}\ncompute: |\n"
	    "  t[n < %d] = x[n, 0, %d]*x[n, 1, 1] - x[n, %d, 1]*x[n, 1, 0]\n"
	    "  y[n < %d, i < 2, j < 2] = (if i == j then x[n, 1 - i, 1 - j] "
	    "else -x[n, i, j])*t[n]\n",
	    n, n, k, 1 - k, n);
}

/* Sums over some axes, and an output of the same elements before or after them. */
static const char *steps(Draw *d)
{
	static const char *const kept[] = {"", "a", "b", "c"};
	static const char *const parts[] = {"x[a, b, c]", "x[a, b, c]*t[b]",
	    "(if b <= a then x[a, b, c] else 0)",
	    "(if c < 20 then x[a, b, c] else t[b])"};
	static const char letters[] = "abc";
	int n[3] = {between(d, 1, 5), between(d, 1, 9), between(d, 33, 150)};
	int keep = between(d, 0, 2);
	const char *e = one_of(d, parts, 4), *over = "", *of = "";
	const char *type = between(d, 0, 2) ? "f32" : "f64";
	for (int i = 0; i < 3; i++)
		if (i != keep - 1)
			over = arena_printf(d->arena, "%s%s%c < %d", over,
			    *over ? ", " : "", letters[i], n[i]);
	if (keep)
		of = arena_printf(d->arena, "%s < %d", kept[keep], n[keep - 1]);
	const char *sum = arena_printf(d->arena,
	    "  s[%s] = sum[%s](%s*%s)\n", of, over, e, e);
	const char *sum_of_y = arena_printf(d->arena,
	    "  s[%s] = sum[%s](y[a, b, c]*t[b])\n", of, over);
	const char *each = arena_printf(d->arena,
	    "  y[a < %d, b < %d, c < %d] = %s*2\n", n[0], n[1], n[2],
	    one_of(d, parts, 4));
	bool first = between(d, 0, 1);
	if (first && between(d, 0, 1))
		sum = sum_of_y;
	return arena_printf(d->arena,
	    "inputs: {x: '%s[%d, %d, %d]', t: '%s[%d]'}\ncompute: |\n"
	    "%s%soutputs: [s, y]\n",
	    type, n[0], n[1], n[2], type, n[1], first ? each : sum,
	    first ? sum : each);
}

/* `each` for each of n axes, # its number, with `own` at place `at` among them. */
static const char *list(Draw *d, int n, const char *each, int at,
    const char *own, const char *between_them)
{
	Buf text = {0};
	for (int i = 0; i < n + (at >= 0); i++) {
		const char *c = i == at ? own : each;
		buf_puts(&text, i ? between_them : "");
		for (; *c; c++)
			buf_putc(&text, *c != '#' ? *c
				: (char)('0' + i - (at >= 0 && i > at)));
	}
	const char *all = arena_strdup(d->arena, buf_text(&text));
	buf_free(&text);
	return all;
}

static const char *axes(
    Draw *d, int n, const char *each, int at, const char *own)
{
	return list(d, n, each, at, own, ", ");
}

/* Sums of products of bytes and words, wherever channels lie: matrices, or windows
 * in one to three dimensions. */
static const char *bytes(Draw *d)
{
	static const char *const types[] = {"u8", "i8", "i16"};
	int n = between(d, 1, 3), w = between(d, 1, 3);
	int kind = between(d, 0, 8), at = between(d, 0, n), wat = between(d, 0, n);
	const char *a = types[kind < 8 ? kind % 2 : 2];
	const char *b = kind < 8 ? types[between(d, 0, 1)] : a;
	bool first = between(d, 0, 1), pads = between(d, 0, 2);
	const char *pad = pads ? arena_printf(d->arena,
	    "if %s then x[%s] else %s(0)",
	    list(d, n, "1 <= j# < S + 1", -1, "", " and "),
	    axes(d, n, "j# - 1", at, "c"), a)
	    : arena_printf(d->arena, "x[%s]", axes(d, n, "j#", at, "c"));
	return arena_printf(d->arena,
	    "params: {C: %d, O: %d, S: %d, W: %d, T: %d, P: %d, "
	    "E: '(S + P - W)//T + 1'}\n"
	    "inputs: {x: '%s[%s]', w: '%s%s[%s]'}\ncompute: |\n"
	    "  p[%s] = %s\n  y[%s] = sum[%s](p[%s]*w[%s])\n",
	    between(d, 5, 21), between(d, 8, 40), between(d, 5, 9), w,
	    between(d, 1, 2), pads ? 2 : 0, a, axes(d, n, "S", at, "C"),
	    between(d, 0, 1) ? "const " : "", b,
	    axes(d, n, "W", wat, first ? "O, C" : "C, O"),
	    axes(d, n, pads ? "j# < S + 2" : "j# < S", at, "c < C"), pad,
	    axes(d, n, "i# < E", between(d, 0, n), "o < O"),
	    axes(d, n, "k# < W", 0, "c < C"),
	    axes(d, n, "i#*T + k#", at, "c"),
	    axes(d, n, "k#", wat, first ? "o, c" : "c, o"));
}

/* Several results of points that share what is computed for each of them. */
static const char *shared(Draw *d)
{
	int n = between(d, 17, 150), k = between(d, 2, 9);
	return arena_printf(d->arena,
	    "inputs: {f: 'f32[%d, %d]', w: 'f32[%d]'}\ncompute: |\n"
	    "  s[n < %d] = sum[q < %d](f[q, n]*w[q])\n"
	    "  u[n < %d] = f[0, n]/s[n]\n"
	    "  y[n < %d] = u[n]*s[n] + f[1, n]\n"
	    "  z[n < %d] = %s(u[n] + f[1, n])\noutputs: [y, z]\n",
	    k, n, k, n, k, n, n, n, between(d, 0, 1) ? "exp" : "abs");
}

/* Parts of a whole along an axis that is not the last one, of more than is near. */
static const char *shares(Draw *d)
{
	int n = between(d, 1, 4), c = between(d, 2, 21), h = between(d, 1, 6);
	int w = between(d, 17, 70), times = between(d, 1, 3);
	return arena_printf(d->arena,
	    "params: {N: %d, C: %d, H: %d, W: %d}\n"
	    "inputs: {x: 'f32[N, C, H, W]'}\ncompute: |\n"
	    "  m[n < N, i < H, j < W] = max[c < C](x[n, c, i, j])\n"
	    "  e[n < N, c < C, i < H, j < W] = "
	    "exp(%d*(x[n, c, i, j] - m[n, i, j]))\n"
	    "  s[n < N, i < H, j < W] = sum[c < C](e[n, c, i, j])\n"
	    "  y[n < N, c < C, i < H, j < W] = e[n, c, i, j]/s[n, i, j]\n",
	    n, c, h, w, times);
}

/* What data assigns to results of one axis or two, of rows of some, in groups;
 * extremes, too; labels that are computed, out of range, behind other conditions. */
static const char *assigned(Draw *d)
{
	static const char *const labels[] = {"l[g, i]", "l[g, i] % 5",
	    "i32(b[g, i])//3", "clamp(i32(floor(x[g, i, 0])), 0, 5)",
	    "l[g, i] + 2"};
	static const char *const firsts[] = {"", "", "i > 2 and ",
	    "x[g, i, 0] > 0 and ", "i32(b[g, i]) == i32(h) and "};
	int g = between(d, 1, 5), n = between(d, 20, 90), c = between(d, 1, 40);
	int k = between(d, 1, 12), h = between(d, 1, 4);
	int label = between(d, 0, 4), first = between(d, 0, 4);
	bool groups = between(d, 0, 1), two = first == 4, rows = between(d, 0, 2);
	const char *how = between(d, 0, 2) ? "sum" : best(d);
	const char *other = !strcmp(how, "sum") ? "0"
	    : !strcmp(how, "max")		? "-inf"
						: "inf";
	return arena_printf(d->arena,
	    "inputs: {l: 'i32[%d, %d]', b: 'u8[%d, %d]', x: 'f32[%d, %d, %d]'}\n"
	    "compute: |\n  y[%s%sk < %d%s] = %s[%si < %d%s](\n"
	    "    if %s%s == i32(k) then x[g, i, %s] else %s)\n",
	    g, n, g, n, g, n, c, groups ? arena_printf(d->arena, "g < %d, ", g) : "",
	    two ? arena_printf(d->arena, "h < %d, ", h) : "", k,
	    rows ? arena_printf(d->arena, ", c < %d", c) : "", how,
	    groups ? "" : arena_printf(d->arena, "g < %d, ", g), n,
	    rows ? "" : arena_printf(d->arena, ", c < %d", c), firsts[first],
	    labels[label], "c", other);
}

typedef struct {
	const char *name;
	const char *(*text)(Draw *d); /* but for the first lines */
	const char *step;	      /* in more than half of the sketches */
	int64_t l2_bytes;	      /* 0: as the machine has */
} Form;

/* Bands of an image, from the same elements each. */
static const char *bands(Draw *d)
{
	int h = between(d, 2, 9), w = between(d, 64, 150);
	const char *type = number(d);
	return arena_printf(d->arena,
	    "params: {H: %d, W: %d}\ninputs: {x: '%s[2*H, 2*W]'}\ncompute: |\n"
	    "  a[i < H, j < W] = x[2*i, 2*j] + x[2*i + 1, 2*j + 1]\n"
	    "  b[i < H, j < W] = x[2*i, 2*j] - x[2*i, 2*j + 1]\n"
	    "  c[i < H, j < W] = x[2*i, 2*j] - x[2*i + 1, 2*j]\n"
	    "outputs: [c, a, b]\n",
	    h, w, type);
}

/* Results of the same points, with a few planes each or none. */
static const char *results(Draw *d)
{
	int n = between(d, 32, 150), h = between(d, 1, 3);
	int k = between(d, 2, 4), l = between(d, 1, 4);
	return arena_printf(d->arena,
	    "params: {N: %d, H: %d, K: %d, L: %d}\n"
	    "inputs: {x: 'f32[K, H, N]', t: 'f32[H, N]'}\ncompute: |\n"
	    "  s[i < H, n < N] = sqrt(x[0, i, n]*x[0, i, n] + 1)\n"
	    "  q[i < H, n < N] = s[i, n]*t[i, n] + x[1, i, n]\n"
	    "  %s = %s*q[i, n] - s[i, n]\n"
	    "  v[k < K, i < H, n < N] = if k == 0 then x[0, i, n]*s[i, n] else "
	    "x[k, i, n] - q[i, n]\noutputs: [%s]\n",
	    n, h, k, l,
	    l > 1 ? "u[l < L, i < H, n < N]" : "u[i < H, n < N]",
	    l > 1 ? "f32(l)" : "t[i, n]", between(d, 0, 1) ? "u, v" : "v, u");
}

/* Elements side by side that are each made in their own way, more or fewer. */
static const char *ways(Draw *d)
{
	int n = between(d, 17, 150), k = between(d, 2, 9), e = between(d, 0, 2);
	const char *type = between(d, 0, 2) ? "f32" : "i32";
	return arena_printf(d->arena,
	    "params: {N: %d, K: %d}\n"
	    "inputs: {x: '%s[N, K]', a: '%s[N]'}\ncompute: |\n"
	    "  y[n < N, k < K] = if k == %d then x[n, 0]*a[n] else %s\n",
	    n, k, type, type, e,
	    one_of(d,
		(const char *const[]){"x[n, (k + 1) % K] - a[n]",
		    "if k == 1 then x[n, k] + a[n] else x[n, k] - a[n]",
		    "x[n, k] - a[n]",
		    "if (k + 1) % 3 == 0 then a[n] else x[n, (k + 2) % K]"},
		4));
}

/* A few elements of each point, a plane for each. */
static const char *slender(Draw *d)
{
	int n = between(d, 32, 150), k = between(d, 2, 13);
	const char *type = number(d);
	return arena_printf(d->arena,
	    "inputs: {x: '%s[%d, %d]', b: '%s[%d]'}\ncompute: |\n"
	    "  y[k < %d, n < %d] = x[n, k] + b[k]\n",
	    type, n, k, type, k, k, n);
}

static const Form forms[] = {
    {"nearest", nearest, "set_scope(y~2, reg)", 0},
    {"classes", classes, "set_scope(y~2, reg)", 0},
    {"computed", computed, "set_scope(p~2, reg)", 0},
    {"windows", windows, "reverse_compute_at(m, p_j0)", 0},
    {"tiles", tiles, "divide(y.j, ", 0},
    {"wraps", wraps, "vectorize(y_jv, ", 0},
    {"narrow", narrow, "vectorize(y_iv, ", 0},
    {"matrices", matrices, "compute_at(t, ", 0},
    {"steps", steps, "reverse_compute_at(y, s_c0)", 0},
    {"bytes", bytes, "tensorize(y_cq, ", 0},
    {"shared", shared, "set_scope(u, reg)", 0},
    {"bands", bands, "reverse_compute_at(c, a_j0)", 0},
    {"shares", shares, "compute_at(s, ", 512},
    {"assigned", assigned, "_i1, y", 0},
    {"results", results, "reverse_compute_at(", 0},
    {"ways", ways, "vectorize(y_", 0},
    {"slender", slender, "vectorize(y_nv, ", 0},
};
enum { FORMS = sizeof forms / sizeof *forms };

static bool has_step(Space *space, const char *step)
{
	Buf out = {0};
	for (int i = 0; i < space_nsketches(space); i++)
		trace_print(&out, space_sketch(space, i));
	bool found = strstr(buf_text(&out), step) != NULL;
	buf_free(&out);
	return found;
}

static void check(Arena *arena, const Program *p, const Trace *trace,
    const Machine *machine, void *const *data, const char *text)
{
	Error error = {0};
	char why[512];
	Buf steps = {0};
	Nest *nest = schedule_nest(arena, p, machine, trace, &error);
	Lowered *l = nest ? lower(arena, nest, machine, &error) : NULL;
	trace_print(&steps, trace);
	if (!l)
		fail_msg("%s\n%s\n%s", error.text, text, buf_text(&steps));
	if (!lowered_verify(l, why, sizeof why))
		fail_msg("%s\n%s\n%s", why, text, buf_text(&steps));
	const char *wrong = lowercheck_run(arena, l, data, 1e-5, NULL, NULL);
	if (wrong)
		fail_msg("%s\n%s\n%s", wrong, text, buf_text(&steps));
	buf_free(&steps);
}

/* Candidate 1 and some others for a target; the space. */
static Space *check_target(Draw *d, const Form *form, const Program *p,
    const char *target, void *const *data, const char *text)
{
	Error error = {0};
	Candidate c;
	const Target *t = target_parse(d->arena, target, &error);
	assert_non_null(t);
	Machine *machine =
	    arena_memdup(d->arena, &t->machine, sizeof t->machine);
	if (form->l2_bytes)
		machine->l2_bytes = form->l2_bytes;
	Space *space = space_new(d->arena, p, machine, &error);
	if (!space || !space_first(space, 64, &c))
		fail_msg("%s: no candidate 1: %s\n%s", target, error.text, text);
	for (int i = 0; i <= SAMPLES; i++) {
		Arena *scratch = arena_new();
		check(scratch, p, space_trace(scratch, space, &c), machine,
		    data, text);
		arena_free(scratch);
		if (!space_sample(space, &d->rng, &c))
			break;
	}
	return space;
}

static bool trial(const Form *form, int number)
{
	Draw d = {arena_new(), rng_stream(77, (uint64_t)(form - forms),
				   (uint64_t)number)};
	const char *text = arena_printf(
	    d.arena, "tunec: 1\nname: %s\n%s", form->name, form->text(&d));
	Program *p = program_of_text(d.arena, text, NUMERICS_DEFAULT);
	void **data = lowercheck_data(d.arena, p, &d.rng);
	lowercheck_expect(p, data);
	bool found = has_step(
	    check_target(&d, form, p, targets[number % TARGETS], data, text),
	    form->step);
	check_target(&d, form, p, "cuda -arch=sm_80", data, text);
	arena_free(d.arena);
	return found;
}

static void test_families(void **state)
{
	const char *seed = getenv("SEED");
	int n = tier_is_long() ? LONG : QUICK;
	(void)state;
	for (int f = 0; f < FORMS; f++) {
		int found = 0, first = seed ? atoi(seed) : 0;
		for (int i = first; i < first + n; i++)
			found += trial(&forms[f], i);
		print_message("%s: %d of %d have %s\n", forms[f].name, found, n,
		    forms[f].step);
		assert_true(2 * found > n);
	}
}

/* Running reductions that a GPU makes by blocks. */
static void test_running(void **state)
{
	static const char *const bodies[] = {"sum[k < j + 1](x[i, k])",
	    "max[k < N](if k < j then x[i, k] else -inf)",
	    "sum[k < N](if k >= j then x[i, k] else 0)"};
	(void)state;
	for (int i = 0; i < 3; i++) {
		Draw d = {arena_new(), rng_stream(78, (uint64_t)i, 0)};
		const char *text = arena_printf(d.arena,
		    "tunec: 1\nname: running\nparams: {M: %d, N: %d}\n"
		    "inputs: {x: 'f32[M, N]'}\n"
		    "compute: |\n  y[i < M, j < N] = %s\n",
		    11 + i, 509 + 2 * i, bodies[i]);
		Program *p = program_of_text(d.arena, text, NUMERICS_DEFAULT);
		void **data = lowercheck_data(d.arena, p, &d.rng);
		lowercheck_expect(p, data);
		assert_true(has_step(check_target(&d, &(Form){0}, p,
					 "cuda -arch=sm_87", data, text),
		    "prefix("));
		arena_free(d.arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_families), cmocka_unit_test(test_running)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
