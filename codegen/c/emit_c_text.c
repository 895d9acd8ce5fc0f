/* Operands and values: numbers in place, sums of indices, parentheses where
 * they are needed, lines, and whether a value is assigned or stands where it is
 * read. */
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/c/emit_c.h"
#include "lib/gcd.h"

enum {
	LONGEST = 104,    /* text that stands where it is read */
	LIST_COLUMNS = 96, /* of declarations on one line */
	/* evaluations of what stands in a text: where every compiler has that
	 * text, and where those do that are not for the machine */
	MOST_WEIGHT = 64, MOST_WEIGHT_GENERIC = 1500,
};

/* --- numbers ---------------------------------------------------------------- */

const char *emit_c_float(EmitC *e, DType type, double value)
{
	const char *f = type == DT_F32 ? "f" : "";
	if (isnan(value) || isinf(value)) {
		e->math = true;
		return isnan(value) ? "NAN" : value < 0 ? "-INFINITY"
							: "INFINITY";
	}
	char text[64];
	for (int digits = 1; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, value);
		if (type == DT_F32 ? strtof(text, NULL) == (float)value
				   : strtod(text, NULL) == value)
			break;
	}
	return arena_printf(e->arena, "%s%s%s", text,
	    strpbrk(text, ".e") ? "" : ".0", f);
}

const char *emit_c_int(EmitC *e, DType type, int64_t value)
{
	if (dtype_is_unsigned(type) && dtype_bytes(type) >= 4)
		return arena_printf(e->arena,
		    (uint64_t)value > UINT32_MAX ? "UINT64_C(%llu)" : "%lluu",
		    (unsigned long long)value);
	if (value == INT64_MIN)
		return "INT64_MIN";
	if (type == DT_I32 && value == INT32_MIN)
		return "INT32_MIN";
	return arena_printf(e->arena,
	    value > INT32_MAX || value < INT32_MIN ? "INT64_C(%lld)" : "%lld",
	    (long long)value);
}

static const char *scalar_number(EmitC *e, DType type, const LowNode *n)
{
	if (type == DT_F16)
		return arena_printf(e->arena, "0x%04x", f16_from_f64(n->f));
	if (type == DT_BF16)
		return arena_printf(e->arena, "0x%04x", bf16_from_f64(n->f));
	if (dtype_is_float(type))
		return emit_c_float(e, type, n->f);
	if (type == DT_BOOL)
		return n->i ? "true" : "false";
	return emit_c_int(e, type, n->i);
}

const char *emit_c_number(EmitC *e, const LowNode *n, EmitLevel *level)
{
	const LowTemp *d = &e->f->temps.at[n->dst];
	const char *text = scalar_number(e, d->type, n);
	*level = *text == '-' ? LEVEL_UNARY : LEVEL_NAME;
	if (d->lanes == 1)
		return text;
	*level = LEVEL_PRIMARY;
	const char *type = emit_c_type(e, n->dst);
	if (d->type == DT_BOOL)
		return arena_printf(e->arena, "%s(%s)",
		    emit_c_mask_splat(e, type, d->lanes), n->i ? "-1" : "0");
	return arena_printf(e->arena, "%s(%s)", emit_c_splat(e, type), text);
}

/* --- sums of indices ---------------------------------------------------------- */

static EmitLevel sum_level(const LowAffine *sum)
{
	if (sum->n + (sum->constant != 0) > 1)
		return LEVEL_SUM;
	if (!sum->n)
		return sum->constant < 0 ? LEVEL_UNARY : LEVEL_NAME;
	int64_t k = sum->terms[0].coefficient;
	return k == 1 ? LEVEL_NAME : k == -1 ? LEVEL_UNARY : LEVEL_PRODUCT;
}

static void put_term(EmitC *e, Buf *text, LowTerm t)
{
	int64_t k = t.coefficient;
	const char *sign = text->size ? k < 0 ? " - " : " + "
				      : k < 0 ? "-" : "";
	uint64_t size = k < 0 ? -(uint64_t)k : (uint64_t)k;
	EmitLevel level = size != 1 ? LEVEL_UNARY
	    : k < 0		    ? LEVEL_PRIMARY : LEVEL_SUM;
	if (!k)
		return;
	const char *name = e->temp[t.temp];
	if (e->plan[t.temp].level > level)
		name = arena_printf(e->arena, "(%s)", name);
	buf_printf(text, "%s%s", sign, name);
	if (size != 1)
		buf_printf(text, "*%llu", (unsigned long long)size);
}

static void put_constant(Buf *text, int64_t k)
{
	uint64_t size = k < 0 ? -(uint64_t)k : (uint64_t)k;
	if (!text->size)
		buf_printf(text, "%lld", (long long)k);
	else if (k)
		buf_printf(text, " %c %llu", k < 0 ? '-' : '+',
		    (unsigned long long)size);
}

/* What is added before what is taken away; a positive number first where nothing
 * else is added.  `sum` has atoms only: emit_c_sum. */
static const char *sum_text(EmitC *e, const LowAffine *sum)
{
	Buf text = {0};
	for (int i = 0; i < sum->n; i++)
		if (sum->terms[i].coefficient > 0)
			put_term(e, &text, sum->terms[i]);
	bool leads = !text.size && sum->constant > 0;
	if (leads)
		put_constant(&text, sum->constant);
	for (int i = 0; i < sum->n; i++)
		if (sum->terms[i].coefficient < 0)
			put_term(e, &text, sum->terms[i]);
	if (!leads)
		put_constant(&text, sum->constant);
	const char *copy = arena_strdup(e->arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

const char *emit_c_affine(EmitC *e, const LowAffine *a)
{
	LowAffine sum = emit_c_sum(e, a);
	return sum_text(e, &sum);
}

/* Where form >= 0 (LE), or form == 0, or not. */
const char *emit_c_condition(EmitC *e, LowOpcode op, LowAffine form)
{
	LowAffine left = {0}, right = {0};
	int64_t g = 0, k = form.constant;
	for (int i = 0; i < form.n; i++)
		g = gcd(form.terms[i].coefficient, g);
	if (op == LOW_LE && g > 1)
		k = k / g - (k % g < 0);
	else
		g = 1;
	left.terms = NEW_N(e->arena, LowTerm, form.n + 1);
	right.terms = NEW_N(e->arena, LowTerm, form.n + 1);
	for (int i = 0; i < form.n; i++) {
		LowTerm t = {form.terms[i].temp, form.terms[i].coefficient / g};
		if (t.coefficient > 0)
			right.terms[right.n++] = t;
		else
			left.terms[left.n++] = (LowTerm){t.temp, -t.coefficient};
	}
	if (op != LOW_LE) {
		const char *sign = emit_c_comparison(op);
		*(right.n && k < 0 ? &left.constant : &right.constant) =
		    right.n && k < 0 ? -k : k;
		return right.n && (!left.n || k < 0)
		    ? arena_printf(e->arena, "%s %s %s", sum_text(e, &right),
			  sign, sum_text(e, &left))
		    : arena_printf(e->arena, "%s %s %s", sum_text(e, &left),
			  sign, sum_text(e, &right));
	}
	if (!left.n && right.n) { /* right >= -k */
		left.constant = -k;
		return arena_printf(e->arena, "%s >= %s", sum_text(e, &right),
		    sum_text(e, &left));
	}
	right.constant = k + 1;
	return arena_printf(e->arena, "%s < %s", sum_text(e, &left),
	    sum_text(e, &right));
}

/* --- lines ---------------------------------------------------------------------- */

void emit_c_line(EmitC *e, const char *format, ...)
{
	emit_c_end_list(e);
	for (int i = 0; i < e->depth; i++)
		buf_putc(e->out, '\t');
	va_list args;
	va_start(args, format);
	buf_vprintf(e->out, format, args);
	va_end(args);
	buf_putc(e->out, '\n');
}

const char *emit_c_place(EmitC *e, int temp)
{
	if (e->declared[temp])
		return e->temp[temp];
	e->declared[temp] = true;
	if (e->plan)
		e->temp[temp] = emit_c_name(e, e->f->temps.at[temp].wish);
	return arena_printf(
	    e->arena, "%s %s", emit_c_type(e, temp), e->temp[temp]);
}

/* --- operands ---------------------------------------------------------------- */

static const char *text_of(EmitC *e, int temp, EmitLevel *level)
{
	const EmitTemp *t = &e->plan[temp];
	*level = t->level;
	if (t->is_sum) {
		*level = sum_level(&t->sum);
		return sum_text(e, &t->sum);
	}
	if (t->def && t->def->kind == LOWNODE_OP && t->def->op == LOW_CONST)
		return emit_c_number(e, t->def, level);
	return e->temp[temp];
}

EmitLevel emit_c_has_level(EmitC *e, int temp)
{
	EmitLevel level;
	text_of(e, temp, &level);
	return level == LEVEL_LIST ? LEVEL_PRIMARY : level;
}

const char *emit_c_text(EmitC *e, int temp, EmitLevel level)
{
	EmitLevel has;
	const char *text = text_of(e, temp, &has);
	assert(text);
	return has > level ? arena_printf(e->arena, "(%s)", text) : text;
}

/* --- values ------------------------------------------------------------------ */

void emit_c_end_list(EmitC *e)
{
	Buf list = e->list;
	if (!list.size)
		return;
	e->list = (Buf){0};
	emit_c_line(e, e->chained ? "%s = %s;" : "%s;", buf_text(&list),
	    e->chained);
	e->chained = NULL;
	buf_free(&list);
}

/* Several variables get one number: a = b = c = 0. */
static void put_chained(EmitC *e, int dst, const char *value)
{
	const char *type = emit_c_type(e, dst);
	if (e->list.size && (!e->chained || strcmp(e->chained, value) ||
		strcmp(e->listed, type) || e->list.size > LIST_COLUMNS))
		emit_c_end_list(e);
	buf_printf(&e->list, "%s%s", e->list.size ? " = " : "", e->temp[dst]);
	e->chained = value;
	e->listed = type;
}

static int weight_of(EmitC *e, const LowNode *n)
{
	int64_t weight = 1;
	for (int i = 0; i < 3; i++)
		if (n->arg[i] >= 0) {
			int times = emit_c_times(e, n, i);
			weight += (int64_t)(times ? times : 1) *
			    e->plan[n->arg[i]].weight;
		}
	return weight > INT32_MAX / 128 ? INT32_MAX / 128 : (int)weight;
}

/* The operation that reads it is a macro with a text for this machine. */
static bool is_intrinsic(EmitC *e, const LowNode *user)
{
	if (user->kind != LOWNODE_OP || user->dst < 0)
		return false;
	const LowTemp *d = &e->f->temps.at[user->dst];
	DType of = d->type, to = d->type;
	if (d->lanes == 1 || user->op == LOW_MATH || user->op == LOW_CONVERT ||
	    user->op == LOW_ANY || d->type == DT_BOOL)
		return false;
	if (user->op == LOW_DOT) {
		of = e->f->temps.at[user->arg[0]].type;
		to = e->f->temps.at[user->arg[1]].type;
	}
	return emit_c_x86(e, user->op, OP_CAST, of, to, d->lanes) != NULL;
}

static bool stands(EmitC *e, int dst, const char *value, int weight)
{
	const EmitTemp *t = &e->plan[dst];
	if (!t->stands || strlen(value) > LONGEST)
		return false;
	int times = emit_c_times(e, t->user, t->user_arg);
	int most = is_intrinsic(e, t->user) ? MOST_WEIGHT_GENERIC : MOST_WEIGHT;
	return times * weight <= most;
}

/* Declared: those of one type share a line while it is short. */
static void put_listed(EmitC *e, int dst, const char *value)
{
	const char *type = emit_c_type(e, dst);
	if (e->list.size && (e->chained || strcmp(e->listed, type) ||
		e->list.size + strlen(value) > LIST_COLUMNS))
		emit_c_end_list(e);
	e->temp[dst] = emit_c_name(e, e->f->temps.at[dst].wish);
	e->declared[dst] = true;
	if (e->list.size)
		buf_printf(&e->list, ", %s = %s", e->temp[dst], value);
	else
		buf_printf(&e->list, "%s %s = %s", type, e->temp[dst], value);
	e->listed = type;
}

/* A number, or a copy of one; NULL: neither. */
static const LowNode *number_of(const EmitC *e, const LowNode *n)
{
	if (n->op == LOW_CONST)
		return n;
	const LowNode *def = n->op == LOW_COPY ? e->plan[n->arg[0]].def : NULL;
	return def && def->kind == LOWNODE_OP && def->op == LOW_CONST ? def
								      : NULL;
}

void emit_c_assign(EmitC *e, int dst, EmitLevel level, const char *value)
{
	EmitTemp *t = &e->plan[dst];
	int weight = weight_of(e, e->node);
	if (stands(e, dst, value, weight)) {
		e->temp[dst] = value;
		t->level = level;
		t->weight = weight;
		return;
	}
	t->level = LEVEL_NAME;
	t->weight = 1;
	const LowNode *number = number_of(e, e->node);
	if (e->declared[dst] && number) {
		put_chained(e, dst, value);
		return;
	}
	if (e->declared[dst] || !t->reads) {
		const char *place = emit_c_place(e, dst);
		emit_c_line(e, "%s = %s;", place, value);
		return;
	}
	const LowTemp *d = &e->f->temps.at[dst];
	bool zero = d->lanes > 1 && low_is_zero(number, d->type);
	put_listed(e, dst, zero ? "{0}" : value);
}

void emit_c_assign_format(
    EmitC *e, int dst, EmitLevel level, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const char *value = arena_vprintf(e->arena, format, args);
	va_end(args);
	emit_c_assign(e, dst, level, value);
}

void emit_c_assign_as_is(EmitC *e, int dst, int a)
{
	emit_c_assign(
	    e, dst, emit_c_has_level(e, a), emit_c_text(e, a, LEVEL_CHOICE));
}

void emit_c_read_anyway(EmitC *e, int temp)
{
	if (e->declared[temp])
		emit_c_line(e, "(void)%s;", e->temp[temp]);
}
