/* Texts are made top down, each expression for a dtype that is wanted. */
#include "test/common_operator.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
	MOST_LOOKUPS = 2, /* one in another */
	MOST_POINTS = 2500, MOST_INPUTS = 6, MOST_BUFFERS = 12, MOST_AXES = 8,
	MOST_DIMS = 3, MOST_PARAMS = 5, DEPTH = 4, OFF_GRID = 1000
};
static const double BOUND_MOST = 1e4, ERROR_MOST = 0.3;

/* How tightly the outermost operator binds. */
enum { LEVEL_IF, LEVEL_OR, LEVEL_AND, LEVEL_NOT, LEVEL_CMP, LEVEL_ADD,
	LEVEL_MUL, LEVEL_NEG, LEVEL_ATOM };

typedef struct {
	const char *text;
	DType type;
	int level;
	double bound; /* of the magnitude */
	double error;
	int bits;     /* a multiple of 2^-bits; OFF_GRID: unknown */
} Value;

typedef struct {
	const char *name;
	DType type;
	int ndim;
	int shape[MOST_DIMS];
	Value value; /* of an element */
	bool phased; /* 0 but for every step-th element */
} Readable;

typedef struct {
	const char *name;
	int extent;
} Named;

typedef struct {
	Arena *arena;
	Rng *rng;
	Named param[MOST_PARAMS];
	int nparams;
	Readable buffer[MOST_BUFFERS];
	int nbuffers, ninputs;
	Named axis[MOST_AXES]; /* in scope */
	int naxes, nspatial;
	int points;
	int names;
	int reductions; /* around */
	int lookups;    /* indices around that read data */
	Buf params, inputs, compute;
} Gen;

static Value make(Gen *g, DType type, int depth);
static Value make_exact(Gen *g, DType type, int depth);
static Value make_bool(Gen *g, int depth);

static int below(Gen *g, int n)
{
	return (int)rng_below(g->rng, (uint64_t)n);
}

static const char *pick(Gen *g, const char *const *words, int n)
{
	return words[below(g, n)];
}

#define PICK(g, words) pick(g, words, (int)(sizeof words / sizeof *words))
#define TEXT(g, ...) arena_printf((g)->arena, __VA_ARGS__)

/* --- values ------------------------------------------------------------------- */

static bool is_float(DType type)
{
	return dtype_is_float(type);
}

static int mantissa(DType type)
{
	switch (type) {
	case DT_F64: return 53;
	case DT_F16: return 11;
	case DT_BF16: return 8;
	default: return 24;
	}
}

static double int_bound(DType type)
{
	Interval all = dtype_interval(type);
	return fmax((double)all.hi, -(double)all.lo);
}

static Value value(const char *text, DType type, int level, double bound,
    double error, int bits)
{
	Value v = {text, type, level, bound, error, bits};
	return v;
}

/* After arithmetic: a rounding, unless the result is one that the dtype has. */
static Value rounded(Value v)
{
	if (!is_float(v.type)) {
		v.error = 0;
		v.bits = 0;
		if (v.bound > int_bound(v.type))
			v.bound = int_bound(v.type);
		return v;
	}
	if (v.error == 0 && v.bits < OFF_GRID &&
	    ldexp(v.bound, v.bits) <= ldexp(1, mantissa(v.type)))
		return v;
	v.error += ldexp(v.bound + v.error, 1 - mantissa(v.type));
	v.bits = OFF_GRID;
	return v;
}

static int common_bits(Value a, Value b)
{
	return a.bits > b.bits ? a.bits : b.bits;
}

/* As an operand where at least `level` is needed. */
static const char *operand(Gen *g, Value v, int level)
{
	if (v.level < level || (v.level < LEVEL_ATOM && below(g, 10) == 0))
		return TEXT(g, "(%s)", v.text);
	return v.text;
}

/* Kept small, so that errors are. */
static Value tame(Gen *g, Value v)
{
	if (!is_float(v.type) || v.bound + v.error <= BOUND_MOST)
		return v;
	v.text = TEXT(g, "clamp(%s, -4, 4)", v.text);
	v.level = LEVEL_ATOM;
	v.bound = 4;
	return v;
}

/* --- extents and numbers ------------------------------------------------------ */

/* An extent, spelled as a number or by a param. */
static const char *spell(Gen *g, int n)
{
	int i = g->nparams ? below(g, g->nparams) : 0;

	if (!g->nparams || below(g, 3) == 0)
		return TEXT(g, "%d", n);
	for (int k = 0; k < g->nparams; k++)
		if (g->param[k].extent == n && below(g, 4))
			return g->param[k].name;
	if (g->param[i].extent <= n && n - g->param[i].extent < 20)
		return TEXT(g, "%s + %d", g->param[i].name,
		    n - g->param[i].extent);
	if (g->param[i].extent > n && below(g, 2))
		return TEXT(g, "%s - %d", g->param[i].name,
		    g->param[i].extent - n);
	if (n % g->param[i].extent == 0)
		return TEXT(g, "%d*%s", n / g->param[i].extent,
		    g->param[i].name);
	return TEXT(g, "%d", n);
}

static int random_extent(Gen *g, int most)
{
	int n;

	do
		n = operator_extents[below(g, OPERATOR_EXTENTS)];
	while (n > most);
	return n;
}

static void add_param(Gen *g)
{
	Named *p = &g->param[g->nparams];
	const Named *a = g->nparams ? &g->param[below(g, g->nparams)] : NULL;

	p->name = TEXT(g, "%c%d", "NHKP"[below(g, 4)], g->nparams);
	p->extent = random_extent(g, 131);
	if (!a || below(g, 2)) {
		buf_printf(&g->params, "  %s: %d\n", p->name, p->extent);
	} else if (below(g, 2)) {
		p->extent = (a->extent + 2 * 1 - 1) / 2 + 1;
		buf_printf(&g->params, "  %s: (%s + 2*1 - 1)//2 + 1\n",
		    p->name, a->name);
	} else {
		p->extent = a->extent % 5 > 3 ? a->extent % 5 : 3;
		buf_printf(&g->params, "  %s: max(%s %% 5, 3)\n", p->name,
		    a->name);
	}
	g->nparams++;
}

static void add_axis(Gen *g, const char *letter, int extent, Buf *out)
{
	Named *a = &g->axis[g->naxes];

	a->extent = extent;
	a->name = TEXT(g, "%s%d", letter, g->names++);
	g->points *= a->extent;
	g->naxes++;
	buf_printf(out, "%s < %s", a->name, spell(g, a->extent));
}

static void add_random_axis(Gen *g, const char *letter, Buf *out)
{
	int most = MOST_POINTS / g->points;

	add_axis(g, letter, random_extent(g, most < 1 ? 1 : most), out);
}

/* An untyped number, a multiple of 1/4, for a dtype. */
static Value number(Gen *g, DType type)
{
	static const char *const floats[] = {"0.5", ".25", "2.", "1.5", "3",
	    "25e-2", "1e0", "0", "0.75"};
	static const double values[] = {.5, .25, 2, 1.5, 3, .25, 1, 0, .75};
	int i = below(g, 9), n = below(g, 20);

	if (is_float(type))
		return value(
		    floats[i], type, LEVEL_ATOM, values[i], 0, 2);
	return value(TEXT(g, "%d", n), type, LEVEL_ATOM, n, 0, 0);
}

/* Untyped, with or without axes. */
static Value untyped(Gen *g, DType type)
{
	const Named *a;

	if (below(g, 2) == 0)
		return number(g, type);
	if (g->nparams && below(g, 2) == 0) {
		a = &g->param[below(g, g->nparams)];
		return value(TEXT(g, "%s %% 9", a->name), type, LEVEL_MUL, 8,
		    0, 0);
	}
	if (!g->naxes)
		return number(g, type);
	a = &g->axis[below(g, g->naxes)];
	switch (below(g, 4)) {
	case 0:
		return value(TEXT(g, "%s %% 7", a->name), type, LEVEL_MUL, 6,
		    0, 0);
	case 1:
		return value(TEXT(g, "%s//3 + 1", a->name), type, LEVEL_ADD,
		    44, 0, 0);
	case 2:
		return value(TEXT(g, "min(%s, 5)", a->name), type, LEVEL_ATOM,
		    5, 0, 0);
	default:
		return value(TEXT(g, "abs(%s %% 9 - 4)", a->name), type,
		    LEVEL_ATOM, 4, 0, 0);
	}
}

/* --- indices ------------------------------------------------------------------ */

/* In 0 .. extent-1, by one axis; "" where the form does not fit. */
static const char *index_form(Gen *g, const Named *a, int extent)
{
	const Named *b = &g->axis[below(g, g->naxes)];
	const char *n = a->name;
	int e = a->extent, k = 1 + below(g, 3);

	switch (below(g, 12)) {
	case 0:
		return e > extent ? "" : e == extent || below(g, 2) ? n
		    : TEXT(g, "%s + %d", n, extent - e);
	case 1:
		return e > extent ? "" : TEXT(g, "%d - %s", extent - 1, n);
	case 2:
		return (e - 1) / k < extent ? TEXT(g, "%s//%d", n, k) : "";
	case 3:
		return TEXT(g, "%s %% %s", n, extent > 1 && below(g, 2)
		    ? TEXT(g, "%d", 1 + below(g, extent))
		    : TEXT(g, "%d", extent));
	case 4:
		return TEXT(g, "min(%s, %d)", n, extent - 1);
	case 5:
		return TEXT(g, "clamp(%s + %d, 0, %d)", n, k - 2, extent - 1);
	case 6:
		return e - 1 - k < extent ? TEXT(g, "max(%s - %d, 0)", n, k)
		    : "";
	case 7:
		return TEXT(g, "if %s < %d then %s else 0", n, extent, n);
	case 8:
		return e - 1 < extent + k && k < extent
		    ? TEXT(g, "abs(%s - %d)", n, k) : "";
	case 9:
		return (e - 1) * k + b->extent - 1 < extent && a != b
		    ? TEXT(g, "%s*%d + %s", n, k, b->name) : "";
	case 10:
		return (e - 1) * k < extent ? TEXT(g, "%d*%s", k, n) : "";
	default:
		return e + b->extent - 2 < extent && a != b
		    ? TEXT(g, "%s + %s", n, b->name) : "";
	}
}

static const Readable *choose(Gen *g, DType type, bool exact);
static const char *read_text(Gen *g, const Readable *b, const char *first);

/* Integer data; NULL where there can be none. */
static const char *read_integer(Gen *g, DType *type)
{
	static const DType types[] = {DT_I32, DT_I32, DT_I64, DT_I16, DT_I8,
	    DT_U64, DT_U32, DT_U16, DT_U8};
	const Readable *b;
	const char *text;

	*type = types[below(g, 9)];
	b = g->lookups < MOST_LOOKUPS ? choose(g, *type, true) : NULL;
	if (!b)
		return NULL;
	g->lookups++;
	text = read_text(g, b, NULL);
	g->lookups--;
	return text;
}

/* In 0 .. extent-1, by data. */
static const char *lookup(Gen *g, int extent)
{
	DType type;
	const char *r = read_integer(g, &type);
	const char *n = g->naxes ? g->axis[below(g, g->naxes)].name : "1";

	if (!r)
		return "";
	switch (below(g, dtype_interval(type).hi > INT32_MAX ? 6 : 12)) {
	case 0:
		return TEXT(g, "clamp(%s, 0, %d)", r, extent - 1);
	case 1:
		return TEXT(g, "%s %% %d", r, extent);
	case 2:
		return TEXT(g, "min(max(%s, 0), %d)", r, extent - 1);
	case 3:
		return TEXT(g, "%s//%d %% %d", r,
		    1 + (type == DT_U64) + below(g, 5), extent);
	case 4:
		return TEXT(g, "if 0 <= %s < %d then %s else 0", r, extent, r);
	case 5:
		return TEXT(g, "if %s >= 2 then clamp(%s, 0, %d) else %d", n,
		    r, extent - 1, below(g, extent));
	case 6:
		return TEXT(g, "clamp(%s + %s - %d, 0, %d)", r, n,
		    below(g, 4), extent - 1);
	case 7:
		return TEXT(g, "abs(%s) %% %d", r, extent);
	case 8:
		return TEXT(g, "clamp(%s*%s - %d, 0, %d)", r, n, below(g, 4),
		    extent - 1);
	case 9:
		return TEXT(g, "(%d*%s + %s*%s) %% %d", 1 + below(g, 3), n, n,
		    r, extent);
	case 10:
		return TEXT(
		    g, "max(min(%s*(%s - 1), %d), 0)", r, r, extent - 1);
	default:
		return TEXT(g, "if 0 <= %s < %d then min(%s*%s, %d) else 0", r,
		    extent, r, n, extent - 1);
	}
}

static const char *make_index(Gen *g, int extent)
{
	const char *found = below(g, 14) ? "" : lookup(g, extent);

	if (*found)
		return found;
	if (!g->naxes || below(g, 12) == 0)
		return TEXT(g, "%d", below(g, extent));
	for (int i = 0; i < 8; i++) {
		const Named *a = &g->axis[below(g, g->naxes)];
		const char *form = a->extent == extent && below(g, 2)
		    ? a->name : index_form(g, a, extent);
		if (*form)
			return form;
	}
	return TEXT(g, "%d", extent - 1);
}

/* --- reads -------------------------------------------------------------------- */

static void add_input(Gen *g, DType type)
{
	Readable *b = &g->buffer[g->nbuffers];
	int points = 1;

	b->name = TEXT(g, "%s%d", below(g, 2) ? "x" : "weight", g->ninputs);
	b->type = type;
	b->ndim = below(g, MOST_DIMS + 1);
	buf_printf(&g->inputs, "  %s: %s%s[", b->name,
	    below(g, 4) ? "" : "const ", dtype_name(type));
	for (int d = 0; d < b->ndim; d++) {
		b->shape[d] = random_extent(g, 1 + 2000 / points);
		if (g->naxes && below(g, 2))
			b->shape[d] = g->axis[below(g, g->naxes)].extent +
			    below(g, 2) * below(g, 4);
		points *= b->shape[d];
		buf_printf(&g->inputs, "%s%s", d ? ", " : "",
		    spell(g, b->shape[d]));
	}
	buf_puts(&g->inputs, "]\n");
	b->value = is_float(type)
	    ? value("", type, LEVEL_ATOM, OPERATOR_INPUT_BOUND, 0,
		OPERATOR_INPUT_BITS)
	    : value("", type, LEVEL_ATOM, int_bound(type), 0, 0);
	g->ninputs++;
	g->nbuffers++;
}

/* A buffer of the dtype; NULL where there can be none. */
static const Readable *choose(Gen *g, DType type, bool exact)
{
	int found[8 * MOST_BUFFERS], n = 0;

	/* definitions twice, those with phases more often */
	for (int i = 0; i < g->nbuffers; i++) {
		if (g->buffer[i].type != type ||
		    (exact && g->buffer[i].value.error > 0))
			continue;
		found[n++] = i;
		if (g->buffer[i].name[0] == 'd')
			found[n++] = i;
		for (int k = 0; k < 6 && g->buffer[i].phased; k++)
			found[n++] = i;
	}
	if (n && (below(g, 3) || g->ninputs == MOST_INPUTS ||
		     g->nbuffers == MOST_BUFFERS))
		return &g->buffer[found[below(g, n)]];
	if (g->ninputs == MOST_INPUTS || g->nbuffers == MOST_BUFFERS)
		return NULL;
	add_input(g, type);
	return &g->buffer[g->nbuffers - 1];
}

/* `first`: the first index, where not NULL. */
static const char *read_text(Gen *g, const Readable *b, const char *first)
{
	Buf out = {0};
	char *text;

	buf_printf(&out, "%s[", b->name);
	for (int d = 0; d < b->ndim; d++)
		buf_printf(&out, "%s%s", d ? ", " : "",
		    d == 0 && first ? first : make_index(g, b->shape[d]));
	buf_putc(&out, ']');
	text = arena_strdup(g->arena, buf_text(&out));
	buf_free(&out);
	return text;
}

static Value read_of(Gen *g, const Readable *b, const char *first)
{
	Value v = b->value;

	v.text = read_text(g, b, first);
	v.level = LEVEL_ATOM;
	return v;
}

/* A read that is in bounds only where its condition holds. */
static Value guarded(Gen *g, const Readable *b)
{
	Value v = b->value, other;
	const Named *a = &g->axis[below(g, g->naxes)];
	const char *m = g->axis[below(g, g->naxes)].name;
	const char *n = a->name, *index, *condition;
	const char *data;
	int extent = b->shape[0], k = 1 + below(g, 3);
	DType type;

	switch (below(g, 10)) {
	case 8: /* facts of min and max */
		index = TEXT(g, "%s - %s", n, m);
		condition = TEXT(
		    g, "%s <= min(%s, %d) and %s < %d", m, n, k, n, extent);
		break;
	case 9:
		index = TEXT(g, "%s + %d - %s", n, k, m);
		condition =
		    TEXT(g, "not %d < max(%s + %d - %s, %d - %s) and %s >= 0",
			extent, n, k + 1, m, k + 1, m, index);
		break;
	case 6: /* a phase */
		n = TEXT(g, "(%s + %d)", n, below(g, 3));
		index = TEXT(g, "%s//%d", n, k + 1);
		condition = TEXT(g, "%s %% %d == %d and %s < %d", n, k + 1,
		    below(g, k + 1), index, extent);
		break;
	case 7:
		data = read_integer(g, &type);
		index = data ? data : n;
		condition = TEXT(g, "0 <= %s < %d", index, extent);
		break;
	case 0:
		index = TEXT(g, "%s - %d", n, k);
		condition = TEXT(g, "0 <= %s < %d", index, extent);
		break;
	case 1:
		index = TEXT(g, "(%s + %d - %d)//%d", n, k, 1 + below(g, 2),
		    1 + below(g, 3));
		condition = TEXT(g, "0 <= %s < %d", index, extent);
		break;
	case 2:
		index = n;
		condition = TEXT(g, "not (%s >= %d or %s > %d)", n, extent, n,
		    extent);
		break;
	case 3:
		index = TEXT(g, "%s + %d", n, k);
		condition = TEXT(g, "%s < %d and %s", n, extent - k,
		    operand(g, make_bool(g, 1), LEVEL_NOT));
		break;
	case 4:
		index = TEXT(g, "%d*%s", k, n);
		condition = TEXT(g, "%d*%s < %d", k, n, extent);
		break;
	default:
		index = n;
		condition = TEXT(g, "%s < %d", n, extent);
		break;
	}
	v = read_of(g, b, index);
	other = is_float(b->type) || !below(g, 2)
	    ? number(g, b->type)
	    : value("0", b->type, LEVEL_ATOM, 0, 0, 0);
	if (b->type == DT_BOOL)
		other = value("0 == 1", DT_BOOL, LEVEL_CMP, 1, 0, 0);
	v.text = TEXT(g, "if %s then %s else %s", condition, v.text,
	    other.text);
	v.level = LEVEL_IF;
	v.bits = common_bits(v, other);
	v.bound = fmax(v.bound, other.bound);
	return v;
}

static Value number_cast(Gen *g, DType type)
{
	Value v;

	if (type == DT_BOOL)
		return value(TEXT(g, "bool(%s)", number(g, DT_I32).text),
		    DT_BOOL, LEVEL_ATOM, 1, 0, 0);
	v = untyped(g, type);
	v.text = TEXT(g, "%s(%s)", dtype_name(type), v.text);
	v.level = LEVEL_ATOM;
	return v;
}

static Value leaf(Gen *g, DType type, bool exact)
{
	const Readable *b;

	if (below(g, 15) == 0 || !(b = choose(g, type, exact)))
		return number_cast(g, type);
	if (b->ndim && g->naxes && below(g, 5) == 0)
		return guarded(g, b);
	return read_of(g, b, NULL);
}

/* --- expressions -------------------------------------------------------------- */

/* One that is promoted to the dtype, or has it. */
static DType narrow(Gen *g, DType type)
{
	static const DType ints[] = {
	    DT_I32, DT_I32, DT_I16, DT_I8, DT_U16, DT_U8};
	static const DType floats[] = {DT_F32, DT_F32, DT_F32, DT_F16, DT_BF16};

	if (type == DT_I32)
		return ints[below(g, 6)];
	if (type == DT_F32)
		return floats[below(g, 5)];
	return type;
}

static Value make_operand(Gen *g, DType type, int depth)
{
	return make(g, narrow(g, type), depth);
}

/* Beside a typed operand. */
static Value make_beside(Gen *g, DType type, int depth)
{
	return below(g, 3) ? make_operand(g, type, depth) : untyped(g, type);
}

static Value binary(Gen *g, DType type, int depth)
{
	static const char *const spelled[] = {"+", "-", "*"};
	int op = below(g, 3), level = op == 2 ? LEVEL_MUL : LEVEL_ADD;
	Value a = make_operand(g, type, depth), b = make_beside(g, type, depth);
	Value v;

	if (below(g, 2)) {
		v = a;
		a = b;
		b = v;
	}
	v = value(TEXT(g, "%s %s %s", operand(g, a, level), spelled[op],
		      operand(g, b, level + 1)),
	    type, level, a.bound + b.bound, a.error + b.error,
	    common_bits(a, b));
	if (op == 2) {
		v.bound = a.bound * b.bound;
		v.error = a.error * (b.bound + b.error) + b.error * a.bound;
		v.bits = a.bits == OFF_GRID || b.bits == OFF_GRID
		    ? OFF_GRID : a.bits + b.bits;
	}
	return rounded(v);
}

static Value negated(Gen *g, DType type, int depth)
{
	Value v = make_operand(g, type, depth);

	v.text = TEXT(g, "-%s", operand(g, v, LEVEL_NEG));
	v.level = LEVEL_NEG;
	v.type = type;
	return rounded(v);
}

/* By what is at least 1 in size, or 1e-4 where both are exact. */
static Value divided_by(Gen *g, DType type, Value a, Value b)
{
	static const char *const forms[] = {
	    "(abs(%s) + 1)", "(-1 - abs(%s))", "min(%s, -1)"};
	bool tiny = a.error == 0 && b.error == 0 && below(g, 4) == 0;
	int form = tiny ? below(g, 2) : below(g, 3);
	double scale = tiny ? 1.001e4 : 1;

	return rounded(
	    value(TEXT(g, tiny ? "%s / (%s * 1e-4)" : "%s / %s",
		      operand(g, a, LEVEL_MUL), TEXT(g, forms[form], b.text)),
		type, LEVEL_MUL, scale * a.bound,
		a.error + b.error * a.bound +
		    ldexp(scale * a.bound, 2 - mantissa(type)),
		OFF_GRID));
}

/* Of outer axes alone, as what rows are divided by. */
static Value make_outer(Gen *g, DType type, int depth)
{
	Named axes[MOST_AXES];
	int n = g->naxes;
	Value v;

	memcpy(axes, g->axis, sizeof axes);
	g->naxes = n ? below(g, n) : 0;
	v = make_operand(g, type, depth);
	memcpy(g->axis, axes, sizeof axes);
	g->naxes = n;
	return v;
}

static Value divided(Gen *g, DType type, int depth)
{
	Value a = make_operand(g, type, depth), b, v;

	if (below(g, 2)) {
		v = a;
		v.text = TEXT(g, "%s / 2", operand(g, a, LEVEL_MUL));
		v.level = LEVEL_MUL;
		v.type = type;
		v.bits = a.bits == OFF_GRID ? OFF_GRID : a.bits + 1;
		return rounded(v);
	}
	b = below(g, 2) ? make_outer(g, type, depth)
			: make_operand(g, type, depth);
	return divided_by(g, type, a, b);
}

static Value floor_divided(Gen *g, DType type, int depth)
{
	Value a = make_operand(g, type, depth);
	bool modulo = below(g, 2);
	int k = 1 + below(g, 9);
	const char *divisor = g->nparams && !below(g, 3)
	    ? g->param[below(g, g->nparams)].name : TEXT(g, "%d", k);

	return value(TEXT(g, "%s %s %s", operand(g, a, LEVEL_MUL),
			 modulo ? "%" : "//", divisor),
	    type, LEVEL_MUL, modulo ? 200 : a.bound, 0, 0);
}

static Value bitwise(Gen *g, DType type, int depth)
{
	static const char *const functions[] = {"bit_and", "bit_or", "bit_xor",
	    "shift_left", "shift_right", "popcount"};
	const char *function = PICK(g, functions);
	Value a = make_operand(g, type, depth), b = make_beside(g, type, depth);

	a.text = *function == 'p'
	    ? TEXT(g, "%s(%s)", function, a.text)
	    : TEXT(g, "%s(%s, %s)", function, a.text, b.text);
	a.level = LEVEL_ATOM;
	a.type = type;
	a.bound = int_bound(type);
	return a;
}

static Value limited(Gen *g, DType type, int depth)
{
	Value a = make(g, type, depth), b;

	if (below(g, 3) == 0) {
		int high = 1 + below(g, 40);
		a.text = TEXT(g, "clamp(%s, %d, %d)", a.text,
		    dtype_is_unsigned(type) ? 1 : -below(g, 40), high);
		a.bound = 40;
	} else if (is_float(type) && below(g, 6) == 0) {
		a.text = TEXT(g, below(g, 2) ? "min(%s, inf)" : "max(%s, -inf)",
		    a.text);
	} else {
		b = below(g, 3) ? make(g, type, depth) : number(g, type);
		a.text = TEXT(g, "%s(%s, %s)", below(g, 2) ? "min" : "max",
		    a.text, b.text);
		a.bound = fmax(a.bound, b.bound);
		a.error = fmax(a.error, b.error);
		a.bits = common_bits(a, b);
	}
	a.level = LEVEL_ATOM;
	return a;
}

static Value chosen(Gen *g, DType type, int depth)
{
	Value c = make_bool(g, depth), a = make(g, type, depth);
	Value b = type != DT_BOOL && below(g, 4) == 0 ? number(g, type)
						      : make(g, type, depth);

	a.text = TEXT(g, "if %s then %s else %s", operand(g, c, LEVEL_OR),
	    a.text, b.text);
	a.level = LEVEL_IF;
	a.bound = fmax(a.bound, b.bound);
	a.error = fmax(a.error, b.error);
	a.bits = common_bits(a, b);
	return a;
}

static Value absolute(Gen *g, DType type, int depth)
{
	Value v = make_operand(g, type, depth);

	v.text = TEXT(g, "abs(%s)", v.text);
	v.level = LEVEL_ATOM;
	v.type = type;
	return v;
}

/* exp, log … of an argument where the function is tame. */
static Value called(Gen *g, DType type, int depth)
{
	static const struct {
		const char *form;
		double slope, bound;
	} functions[] = {{"exp(clamp(%s, -4, 4))", 55, 55},
	    {"log(abs(%s) + 0.5)", 2, 10}, {"sin(clamp(%s, -9, 9))", 1, 1},
	    {"cos(clamp(%s, -9, 9))", 1, 1}, {"sqrt(abs(%s) + .25)", 1, 101},
	    {"rsqrt(abs(%s) + 0.25)", 4, 2}, {"tanh(%s)", 1, 1},
	    {"sigmoid(%s)", 1, 1}, {"erf(%s)", 2, 1},
	    {"exp2(clamp(%s, -4, 4))", 12, 16},
	    {"expm1(clamp(%s, -4, 4))", 55, 55},
	    {"log2(abs(%s) + 0.5)", 3, 14}, {"log1p(abs(%s))", 1, 10},
	    {"tan(clamp(%s, -1, 1))", 3.5, 1.6},
	    {"asin(clamp(%s, -0.75, 0.75))", 1.6, 1},
	    {"acos(clamp(%s, -0.75, 0.75))", 1.6, 2.5}, {"atan(%s)", 1, 1.6},
	    {"sinh(clamp(%s, -4, 4))", 28, 28},
	    {"cosh(clamp(%s, -4, 4))", 28, 28}, {"atan2(%s, 1.5)", 1, 1.6},
	    {"atan2(-1.5, %s)", 1, 3.2},
	    {"pow(clamp(%s, 0.5, 4), 1.5)", 3, 8},
	    {"pow(clamp(%s, 1, 4), -2)", 2, 1}};
	int i = below(g, sizeof functions / sizeof *functions);
	Value v = make_operand(g, type, depth);
	double eps = ldexp(1, 2 - mantissa(type));

	/* of a constant compilers know more bits than libm has right */
	if (type == DT_F64 && !strchr(v.text, '['))
		return v;
	/* the argument's own rounding, then the function's */
	v.error = functions[i].slope * (v.error + v.bound * eps) +
	    4 * eps * functions[i].bound;
	v.text = TEXT(g, functions[i].form, v.text);
	v.level = LEVEL_ATOM;
	v.type = type;
	v.bound = functions[i].bound;
	v.bits = OFF_GRID;
	return v;
}

static Value rounded_off(Gen *g, DType type, int depth)
{
	static const char *const functions[] = {
	    "floor", "ceil", "round", "trunc"};
	Value v = make_exact(g, narrow(g, type), depth);

	v.text = TEXT(g, "%s(%s)", PICK(g, functions), v.text);
	v.level = LEVEL_ATOM;
	v.type = type;
	v.bound += 1;
	v.bits = v.bound < 0x1p23 ? 0 : OFF_GRID;
	return v;
}

/* As a cast to the dtype, or a store, leaves it; `v` holds what the dtype can
 * hold, and is exact where an integer becomes of it. */
static Value stored(Value v, DType type)
{
	DType from = v.type;

	v.type = type;
	if (is_float(type))
		return is_float(from) && mantissa(from) <= mantissa(type)
		    ? v : rounded(v);
	v.error = 0;
	v.bits = 0;
	v.bound = type == DT_BOOL ? 1
	    : fmin(is_float(from) ? v.bound : int_bound(type), int_bound(type));
	return v;
}

/* Made fit to become the dtype. */
static Value fitted(Gen *g, DType type, int depth)
{
	static const DType floats[] = {DT_F64, DT_F32, DT_F16, DT_BF16};
	static const DType ints[] = {DT_I64, DT_I32, DT_I16, DT_I8, DT_U64,
	    DT_U32, DT_U16, DT_U8};
	DType from = below(g, 3) == 0 ? DT_BOOL
	    : below(g, 2) ? floats[below(g, 4)] : ints[below(g, 8)];
	Value v = is_float(type) ? make(g, from, depth)
				 : make_exact(g, from, depth);

	if (is_float(type) && !is_float(from) && v.bound > 500) {
		v.type = dtype_promoted(from);
		v.text = TEXT(g, "%s %% 61", operand(g, v, LEVEL_MUL));
		v.level = LEVEL_MUL;
		v.bound = 60;
	}
	if (!is_float(type) && type != DT_BOOL && is_float(from) &&
	    below(g, 4) == 0) {
		v.type = dtype_promoted(from);
		v.text = TEXT(g, "%s * 1024", operand(g, v, LEVEL_MUL));
		v.level = LEVEL_MUL;
		v.bound *= 1024;
	}
	return v;
}

static Value cast(Gen *g, DType type, int depth)
{
	Value v = fitted(g, type, depth);

	v = stored(v, type);
	v.text = TEXT(g, "%s(%s)", dtype_name(type), v.text);
	v.level = LEVEL_ATOM;
	return v;
}

/* --- reductions --------------------------------------------------------------- */

/* An axis whose extent is over one in scope, at least 1 unless `empty`; false
 * where it would be too long. */
static bool add_varying_axis(Gen *g, bool empty, Buf *out)
{
	const Named *outer = &g->axis[below(g, g->naxes)];
	Named *a = &g->axis[g->naxes];
	int n = outer->extent, k = 1 + below(g, 3);
	const char *o = outer->name, *text;

	switch (below(g, empty ? 6 : 4)) {
	case 0:
		text = TEXT(g, "%s + %d", o, k), n += k - 1;
		break;
	case 1:
		text = TEXT(g, "%d - %s", n, o);
		break;
	case 2:
		text = TEXT(g, "%s//%d + 1", o, k), n = (n - 1) / k + 1;
		break;
	case 3:
		text = TEXT(g, "min(%s, %d) + 1", o, k - 1), n = n < k ? n : k;
		break;
	case 4:
		text = TEXT(g, "%s - %d", o, k - 1), n -= k;
		break;
	default:
		text = TEXT(g, "%s %% %d", o, k + 1), n = n <= k ? n - 1 : k;
	}
	n = n < 1 ? 1 : n;
	if (n > MOST_POINTS / g->points)
		return false;
	*a = (Named){TEXT(g, "t%d", g->names++), n};
	g->points *= n;
	g->naxes++;
	buf_printf(out, "%s < %s", a->name, text);
	return true;
}

static Value sum_of(DType type, Value v, int n)
{
	Value result = v;
	double size;

	result.type = type;
	if (!is_float(type))
		return rounded(result);
	result.bound *= n;
	size = ldexp(result.bound, v.bits < OFF_GRID ? v.bits : 0);
	if (v.error == 0 && v.bits < OFF_GRID &&
	    size <= ldexp(1, mantissa(type)))
		return result;
	result.error = n * v.error +
	    n * ldexp(result.bound + n * v.error, -mantissa(type));
	result.bits = OFF_GRID;
	return result;
}

static Value prod_of(Gen *g, DType type, Value v, int n)
{
	if (is_float(type)) {
		v.text = TEXT(g, "clamp(%s, -1, 1)", v.text);
		v.error = n * (v.error + ldexp(1, 1 - mantissa(type)));
		v.bits = OFF_GRID;
		v.bound = 1;
	} else {
		v.bound = int_bound(type);
	}
	v.type = type;
	return v;
}

static Value reduced(Gen *g, DType type, int depth)
{
	static const char *const spelled[] = {"sum", "prod", "max", "min"};
	int arithmetic = type == dtype_promoted(type) && type != DT_BOOL;
	int op = arithmetic && below(g, 3) ? below(g, 2) : 2 + below(g, 2);
	int before = g->naxes, points = g->points, n;
	Buf axes = {0};
	Value v;

	for (int i = 0; i < 1 + (below(g, 3) == 0); i++) {
		buf_puts(&axes, i ? ", " : "");
		if (!g->naxes || below(g, 4) ||
		    !add_varying_axis(g, op < 2 || !is_float(type), &axes))
			add_random_axis(g, "r", &axes);
	}
	g->reductions++;
	n = g->points / points;
	v = make(g, op < 2 ? narrow(g, type) : type, depth);
	if (op == 0)
		v = sum_of(type, v, n);
	if (op == 1)
		v = prod_of(g, type, v, n);
	v.type = type;
	v.text = TEXT(g, "%s[%s](%s)", spelled[op], buf_text(&axes), v.text);
	v.level = LEVEL_ATOM;
	buf_free(&axes);
	g->reductions--;
	g->naxes = before;
	g->points = points;
	return v;
}

/* Of elements that are exact, since they are compared. */
static Value place(Gen *g, DType type, int depth)
{
	static const DType types[] = {DT_F32, DT_F32, DT_F64, DT_F16, DT_BF16,
	    DT_I32, DT_I64, DT_I8, DT_U64, DT_U32, DT_U16, DT_U8, DT_BOOL};
	int before = g->naxes, points = g->points;
	Buf axes = {0};
	Value v;

	if (!g->naxes || below(g, 4) || !add_varying_axis(g, true, &axes))
		add_random_axis(g, "r", &axes);
	g->reductions++;
	v = make_exact(g, types[below(g, 13)], depth);
	v = value(TEXT(g, "%s[%s](%s)", below(g, 2) ? "argmax" : "argmin",
		      buf_text(&axes), v.text),
	    type, LEVEL_ATOM, g->axis[before].extent, 0, 0);
	buf_free(&axes);
	g->reductions--;
	g->naxes = before;
	g->points = points;
	return v;
}

static bool can_reduce(const Gen *g)
{
	return g->naxes + 2 <= MOST_AXES && g->reductions < 2 &&
	    g->points < MOST_POINTS;
}

/* --- conditions --------------------------------------------------------------- */

static const char *axis_condition(Gen *g)
{
	const Named *a = &g->axis[below(g, g->naxes)];
	const Named *b = &g->axis[below(g, g->naxes)];
	int k = below(g, a->extent + 1);

	switch (below(g, 6)) {
	case 0: return TEXT(g, "%s < %d", a->name, k);
	case 1: return TEXT(g, "%s %% 2 == 0", a->name);
	case 2: return TEXT(g, "1 <= %s <= %d", a->name, k);
	case 3: return TEXT(g, "%s != %d", a->name, k);
	case 4: return TEXT(g, "%s//2 >= %s", a->name, b->name);
	default: return TEXT(g, "%s > %s - 1", a->name, b->name);
	}
}

static Value compared(Gen *g, int depth)
{
	static const char *const spelled[] = {"<", "<=", ">", ">=", "==", "!="};
	static const DType types[] = {DT_F32, DT_F32, DT_F64, DT_I32, DT_I32,
	    DT_I64, DT_U64, DT_U32};
	DType type = types[below(g, 8)];
	Value a = make_exact(g, narrow(g, type), depth);
	Value b = below(g, 2) ? number(g, type)
			      : make_exact(g, narrow(g, type), depth);
	const char *left = operand(g, a, LEVEL_ADD);

	if (below(g, 8) == 0 && !dtype_is_unsigned(type))
		left = TEXT(g, "-2 < %s", left);
	return value(TEXT(g, "%s %s %s", left, PICK(g, spelled),
			 operand(g, b, LEVEL_ADD)),
	    DT_BOOL, LEVEL_CMP, 1, 0, 0);
}

static Value connected(Gen *g, int depth)
{
	bool is_or = below(g, 2);
	int level = is_or ? LEVEL_OR : LEVEL_AND;
	Value a = make_bool(g, depth), b = make_bool(g, depth);

	return value(TEXT(g, "%s %s %s", operand(g, a, level),
			 is_or ? "or" : "and", operand(g, b, level + 1)),
	    DT_BOOL, level, 1, 0, 0);
}

static Value make_bool(Gen *g, int depth)
{
	Value v;

	if (depth <= 0 || below(g, 4) == 0)
		return g->naxes && below(g, 2)
		    ? value(axis_condition(g), DT_BOOL, LEVEL_CMP, 1, 0, 0)
		    : leaf(g, DT_BOOL, true);
	switch (below(g, 8)) {
	case 0: case 1:
		return connected(g, depth - 1);
	case 2:
		v = make_bool(g, depth - 1);
		v.text = TEXT(g, "not %s", operand(g, v, LEVEL_NOT));
		v.level = LEVEL_NOT;
		return v;
	case 3:
		return cast(g, DT_BOOL, depth - 1);
	case 4:
		return chosen(g, DT_BOOL, depth - 1);
	default:
		return compared(g, depth - 1);
	}
}

/* --- all together ------------------------------------------------------------- */

typedef Value Maker(Gen *g, DType type, int depth);

static Value make(Gen *g, DType type, int depth)
{
	static Maker *const floats[] = {binary, binary, binary, negated,
	    divided, limited, chosen, absolute, called, called, rounded_off,
	    cast};
	static Maker *const ints[] = {binary, binary, binary, negated,
	    floor_divided, floor_divided, limited, chosen, absolute, cast,
	    bitwise, bitwise};
	static Maker *const narrows[] = {limited, chosen, cast, cast};

	if (type == DT_BOOL)
		return make_bool(g, depth);
	if (depth <= 0 || below(g, 8) == 0)
		return leaf(g, type, false);
	if (can_reduce(g) && type == DT_I32 && below(g, 9) == 0)
		return place(g, type, depth - 1);
	if (can_reduce(g) && below(g, 9) == 0)
		return tame(g, reduced(g, type, depth - 1));
	if (type != dtype_promoted(type))
		return narrows[below(g, 4)](g, type, depth - 1);
	return tame(g, is_float(type) ? floats[below(g, 12)](g, type, depth - 1)
				      : ints[below(g, 12)](g, type, depth - 1));
}

static Value make_exact(Gen *g, DType type, int depth)
{
	for (int i = 0; i < 3; i++) {
		Value v = make(g, type, depth);
		if (v.error == 0)
			return v;
	}
	return leaf(g, type, true);
}

/* --- definitions -------------------------------------------------------------- */

/* What intrinsics are for: a sum of products of u8 and i8. */
static Value dot(Gen *g)
{
	Buf axes = {0};
	const Readable *u = &g->buffer[g->nbuffers];
	Value v = value("", DT_I32, LEVEL_ATOM, 0x1p31, 0, 0);

	add_axis(g, "r", below(g, 4) ? 16 : 49, &axes);
	add_input(g, DT_U8);
	add_input(g, DT_I8);
	v.text = TEXT(g, "sum[%s](%s * %s)", buf_text(&axes),
	    read_text(g, u, NULL), read_text(g, u + 1, NULL));
	g->naxes--;
	buf_free(&axes);
	return v;
}

/* Mostly a reduction, as kernels are. */
static Value make_body(Gen *g, DType type)
{
	if (type == DT_I32 && g->ninputs + 2 <= MOST_INPUTS &&
	    g->nbuffers + 2 <= MOST_BUFFERS && below(g, 2))
		return dot(g);
	for (int i = 0; i < 4; i++) {
		Value v = below(g, 5) < 2
		    ? reduced(g, type, DEPTH - 1) : make(g, type, DEPTH);
		if (v.error < ERROR_MOST)
			return v;
	}
	return leaf(g, type, true);
}

/* Another reduction over the same axes, that nothing reads: of several results
 * of one pass. */
static void define_twin(Gen *g, OperatorText *out, const char *axes, Value v)
{
	static const char *const kinds[] = {"sum[", "max[", "min["};
	const char *name;
	bool known = false;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		known |= !strncmp(v.text, kinds[i], 4);
	if (v.level != LEVEL_ATOM || !known)
		return;
	name = TEXT(g, "d%d", g->names++);
	buf_printf(&g->compute, "  %s[%s] = %s%s\n", name, axes,
	    below(g, 2) && v.error == 0 ? "min[" : "max[", v.text + 4);
	vec_push(g->arena, &out->errors, (OperatorError){name, v.error});
}

/* The greatest so far along the last axis of what was made. */
static void define_running(
    Gen *g, OperatorText *out, const Readable *made, const char *axes)
{
	const char *name = TEXT(g, "d%d", g->names++);
	const char *k = TEXT(g, "k%d", g->names++);
	int last = made->ndim - 1;

	buf_printf(&g->compute, "  %s[%s] = max[%s < %s + 1](%s[", name, axes,
	    k, g->axis[last].name, made->name);
	for (int d = 0; d < last; d++)
		buf_printf(&g->compute, "%s, ", g->axis[d].name);
	buf_printf(&g->compute, "%s])\n", k);
	vec_push(g->arena, &out->errors,
	    (OperatorError){name, made->value.error});
}

/* The greatest or least of windows of what was made, along its last axis, and
 * along its first where it has several; the edges are repeated. */
static void define_window(
    Gen *g, OperatorText *out, const Readable *made, const char *axes)
{
	const char *name = TEXT(g, "d%d", g->names++);
	const char *s = TEXT(g, "s%d", g->names++);
	const char *r = TEXT(g, "s%d", g->names++);
	int last = made->ndim - 1, step = 1 + below(g, 2);

	buf_printf(&g->compute, "  %s[%s] = %s[", name, axes,
	    below(g, 2) ? "max" : "min");
	if (last > 0)
		buf_printf(&g->compute, "%s < 2, ", r);
	buf_printf(&g->compute, "%s < %d](%s[", s, 2 + below(g, 3), made->name);
	for (int d = 0; d < last; d++)
		if (d)
			buf_printf(&g->compute, "%s, ", g->axis[d].name);
		else
			buf_printf(&g->compute, "min(%s + %s, %d), ",
			    g->axis[0].name, r, made->shape[0] - 1);
	buf_printf(&g->compute, "clamp(%d*%s + %d*%s - 1, 0, %d)])\n", step,
	    g->axis[last].name, step > 1 ? 1 : 1 + below(g, 2), s,
	    made->shape[last] - 1);
	vec_push(g->arena, &out->errors,
	    (OperatorError){name, made->value.error});
}

/* Rows of a buffer by what each of them has: its least or greatest, which is
 * negative, or tiny where the row is 0. */
static void write_rows(Gen *g, OperatorText *out, const Readable *b,
    const char *form, double least)
{
	const char *low = TEXT(g, "d%d", g->names++);
	const char *name = TEXT(g, "d%d", g->names++);
	Buf axes = {0}, outer = {0};
	Value v = b->value;

	for (int d = 0; d + 1 < b->ndim; d++) {
		const char *sep = d ? ", " : "";
		buf_printf(&axes, "%sz%d < %d", sep, d, b->shape[d]);
		buf_printf(&outer, "%sz%d", sep, d);
	}
	buf_printf(&g->compute, "  %s[%s] = %s[z < %d](%s[%s, z])\n", low,
	    buf_text(&axes), strstr(form, "min") ? "min" : "max",
	    b->shape[b->ndim - 1], b->name, buf_text(&outer));
	buf_printf(&g->compute, "  %s[%s, z < %d] = %s[%s, z] / ", name,
	    buf_text(&axes), b->shape[b->ndim - 1], b->name, buf_text(&outer));
	buf_printf(&g->compute, form, low, buf_text(&outer));
	buf_putc(&g->compute, '\n');
	vec_push(g->arena, &out->errors, (OperatorError){low, v.error});
	vec_push(g->arena, &out->errors,
	    (OperatorError){name,
		v.error + v.error * v.bound +
		    ldexp(v.bound / least, 2 - mantissa(b->type))});
	buf_free(&axes);
	buf_free(&outer);
}

static void define_rows(Gen *g, OperatorText *out)
{
	const Readable *b = &g->buffer[below(g, g->nbuffers)];
	int form = below(g, 3);

	if (!is_float(b->type) || dtype_is_half(b->type) || b->ndim < 2)
		return;
	if (form == 2 && b->value.error == 0)
		write_rows(g, out, b, "(max(%s[%s], 0) + 1e-4)", 0.999e-4);
	else
		write_rows(g, out, b,
		    form ? "(max(%s[%s], 0) + 1)" : "(min(%s[%s], 0) - 1)", 1);
}

/* 0 but for every step-th element of an axis. */
static Value in_phase(Gen *g, Value v)
{
	const Named *a = &g->axis[below(g, g->naxes)];
	int step = 2 + below(g, 2);

	v.text = TEXT(g, "if (%s + %d) %% %d == %d then %s else 0", a->name,
	    below(g, 3), step, below(g, step), operand(g, v, LEVEL_IF));
	v.level = LEVEL_IF;
	return v;
}

static void define(Gen *g, OperatorText *out)
{
	static const DType types[] = {DT_F32, DT_F32, DT_F32, DT_F64, DT_I32,
	    DT_I32, DT_I64, DT_F16, DT_BF16, DT_I16, DT_I8, DT_U64, DT_U32,
	    DT_U16, DT_U8, DT_BOOL};
	Readable *b;
	Readable made = {.name = TEXT(g, "d%d", g->names++)};
	DType type = below(g, 6) ? types[below(g, 16)] : DT_I32;
	DType declared = types[below(g, 16)];
	Buf axes = {0};
	Value v;

	g->points = 1;
	g->naxes = 0;
	made.ndim = below(g, 7) ? 1 + below(g, MOST_DIMS) : 0;
	made.phased = made.ndim && below(g, 3) == 0;
	if (made.phased)
		type = DT_F32;
	for (int d = 0; d < made.ndim; d++) {
		buf_puts(&axes, d ? ", " : "");
		add_random_axis(g, "y", &axes);
		made.shape[d] = g->axis[d].extent;
	}
	v = type == DT_BOOL ? make_bool(g, DEPTH) : make_body(g, type);
	if (made.phased)
		v = in_phase(g, v);
	if (made.phased || below(g, 2) || (v.error > 0 && !is_float(declared)) ||
	    (is_float(declared) && v.bound > 1000))
		declared = DT_COUNT;
	buf_printf(&g->compute, "  %s[%s]", made.name, buf_text(&axes));
	if (declared != DT_COUNT) {
		buf_printf(&g->compute, ": %s", dtype_name(declared));
		v = stored(v, declared);
	}
	buf_printf(&g->compute, " =%s%s%s\n", below(g, 4) ? " " : "\n    ",
	    v.text, below(g, 8) ? "" : "  # a comment");
	made.type = v.type;
	made.value = v;
	if (declared == DT_COUNT && below(g, 2))
		define_twin(g, out, buf_text(&axes), v);
	vec_push(g->arena, &out->errors, (OperatorError){made.name, v.error});
	if (made.ndim && made.type != DT_BOOL && below(g, 3) == 0)
		define_running(g, out, &made, buf_text(&axes));
	if (made.ndim && made.type != DT_BOOL && below(g, 4) == 0)
		define_window(g, out, &made, buf_text(&axes));
	buf_free(&axes);
	b = &g->buffer[g->nbuffers];
	if (g->nbuffers < MOST_BUFFERS) {
		*b = made;
		g->nbuffers++;
	}
	if (g->nbuffers && below(g, 2))
		define_rows(g, out);
}

static void write_outputs(Gen *g, const OperatorText *text, Buf *out)
{
	const char *sep = "";

	if (text->errors.n == 1 || below(g, 3) == 0)
		return;
	buf_puts(out, "outputs: [");
	for (int i = 0; i < text->errors.n; i++)
		if (i == text->errors.n - 1 || below(g, 2)) {
			buf_printf(out, "%s%s", sep, text->errors.at[i].name);
			sep = ", ";
		}
	buf_puts(out, "]\n");
}

void operator_random(
    Arena *arena, Rng *rng, const char *name, OperatorText *out)
{
	Gen *g = NEW(arena, Gen);
	Buf text = {0};
	int nparams = rng_below(rng, 4) ? 1 + (int)rng_below(rng, 4) : 0;

	*out = (OperatorText){0};
	g->arena = arena;
	g->rng = rng;
	g->points = 1;
	for (int i = 0; i < nparams; i++)
		add_param(g);
	for (int i = 1 + below(g, 4); i > 0; i--)
		define(g, out);
	if (below(g, 12) == 0 && g->nbuffers < MOST_BUFFERS)
		add_input(g, DT_F32);
	buf_printf(&text, "tunec: 1\nname: %s\n", name);
	if (g->params.size)
		buf_printf(&text, "params:\n%s", buf_text(&g->params));
	if (g->inputs.size)
		buf_printf(&text, "inputs:\n%s", buf_text(&g->inputs));
	buf_printf(&text, "compute: |\n%s", buf_text(&g->compute));
	write_outputs(g, out, &text);
	out->text = arena_strdup(arena, buf_text(&text));
	buf_free(&text);
	buf_free(&g->params);
	buf_free(&g->inputs);
	buf_free(&g->compute);
}

double operator_error(const OperatorText *text, const char *buffer)
{
	for (int i = 0; i < text->errors.n; i++)
		if (!strcmp(text->errors.at[i].name, buffer))
			return text->errors.at[i].error;
	return 0;
}
