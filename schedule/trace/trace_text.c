/* Traces as text.
 *
 *     trace  = { step (newline | ";") }            # comments
 *     step   = [NAME {"," NAME} "="] PRIMITIVE "(" [arg {"," arg}] ")"
 *     arg    = [NAME "="] (value | "?" ["=" value] ["in" domain])
 *     value  = INT | "_" | word | "[" [value {"," value}] "]"
 *     word   = NAME, c.i, out~1.k, lanes*2, j//16%4, j//(mi*4), -inf
 *     domain = "tile" "(" "[" values "]" {"," "[" values "]"} ")"
 *            | "tile" "(" INT {"," bound} ")"
 *            | "{" values "}"
 *     bound  = ("inner" | "middle") ("<=" INT | "in" set)
 *     set    = "{" values "}" | "lanes" "*" "{" INT {"," INT} "}"
 *
 * Newlines inside of brackets mean nothing. */
#include "schedule/internal.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum {
	MAX_ERRORS = 50, /* then no more is read */
	MAX_DEPTH = 8,
	MAX_TILE_PARTS = 16,
	MAX_INNER = 4096,
	MAX_VALUES =
	    INT16_MAX /* of a domain: a candidate has their positions */
};

/* --- values ---------------------------------------------------------------- */

TraceValue value_int(int64_t i)
{
	return (TraceValue){.kind = VALUE_INT, .i = i};
}

TraceValue value_word(const char *word)
{
	return (TraceValue){.kind = VALUE_WORD, .word = word};
}

TraceValue value_hole(void)
{
	return (TraceValue){.kind = VALUE_HOLE};
}

bool value_equal(const TraceValue *a, const TraceValue *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case VALUE_INT: return a->i == b->i;
	case VALUE_WORD: return strcmp(a->word, b->word) == 0;
	case VALUE_HOLE: return true;
	case VALUE_LIST: break;
	}
	if (a->n != b->n)
		return false;
	for (int i = 0; i < a->n; i++)
		if (!value_equal(&a->list[i], &b->list[i]))
			return false;
	return true;
}

size_t word_piece(const char *text)
{
	size_t n = 0;

	if (isalnum((unsigned char)*text) || *text == '_')
		while (isalnum((unsigned char)text[n]) ||
		    (text[n] && strchr("_.~", text[n])))
			n++;
	else if (text[0] == '/' && text[1] == '/')
		n = 2;
	else if (*text)
		n = 1;
	return n;
}

/* --- printing -------------------------------------------------------------- */

static void print_values(Buf *out, const TraceValue *values, int n, const char *ends)
{
	buf_putc(out, ends[0]);
	for (int i = 0; i < n; i++) {
		buf_puts(out, i ? ", " : "");
		value_print(out, &values[i]);
	}
	buf_putc(out, ends[1]);
}

void value_print(Buf *out, const TraceValue *value)
{
	switch (value->kind) {
	case VALUE_INT: buf_printf(out, "%lld", (long long)value->i); break;
	case VALUE_WORD: buf_puts(out, value->word); break;
	case VALUE_HOLE: buf_putc(out, '_'); break;
	case VALUE_LIST: print_values(out, value->list, value->n, "[]"); break;
	}
}

/* 1, 2, 3 ... n: written inner<=n */
static bool is_counting(const TraceValue *values, int n)
{
	for (int i = 0; i < n; i++)
		if (values[i].kind != VALUE_INT || values[i].i != i + 1)
			return false;
	return n >= 3;
}

static void print_domain(Buf *out, const Domain *d)
{
	buf_puts(out, " in ");
	if (d->kind == DOMAIN_CHOICE) {
		print_values(out, d->values[0], d->nvalues[0], "{}");
		return;
	}
	if (d->parts == 2 && is_counting(d->values[1], d->nvalues[1])) {
		buf_printf(out, "tile(2, inner<=%d)", d->nvalues[1]);
		return;
	}
	buf_puts(out, "tile(");
	for (int i = 1; i < d->parts; i++) {
		buf_puts(out, i > 1 ? ", " : "");
		print_values(out, d->values[i], d->nvalues[i], "[]");
	}
	buf_putc(out, ')');
}

static void print_arg(Buf *out, const Arg *arg)
{
	assert(arg->decision || !arg->open);
	if (arg->key)
		buf_printf(out, "%s=", arg->key);
	if (arg->decision)
		buf_puts(out, arg->open ? "?" : "?=");
	if (!arg->open)
		value_print(out, &arg->value);
	if (arg->decision && arg->domain.values)
		print_domain(out, &arg->domain);
}

static void print_step(Buf *out, const Step *step)
{
	assert(primitive_gives(step->primitive, step->nouts));
	for (int i = 0; i < step->nouts; i++)
		buf_printf(out, i ? ", %s" : "%s", step->outs[i]);
	buf_printf(out, "%s%s(", step->nouts ? " = " : "",
	    primitive_name(step->primitive));
	for (int i = 0; i < step->nargs; i++) {
		buf_puts(out, i ? ", " : "");
		print_arg(out, &step->args[i]);
	}
	buf_puts(out, ")\n");
}

void trace_print(Buf *out, const Trace *trace)
{
	for (int i = 0; i < trace->steps.n; i++)
		print_step(out, &trace->steps.at[i]);
}

/* --- reading --------------------------------------------------------------- */

typedef struct {
	Arena *arena;
	const Source *source;
	Diag *diag;
	size_t at, end;
	int depth;   /* of brackets: newlines mean nothing inside */
	bool failed; /* in this step: only the first mistake is told */
	VEC(Arg) args; /* room for those of the step in hand */
} Parser;

typedef VEC(TraceValue) ValueVec;

static int peek_at(const Parser *p, size_t offset)
{
	if (p->at + offset >= p->end)
		return 0;
	return (unsigned char)p->source->text[p->at + offset];
}

static void skip_comment(Parser *p)
{
	while (p->at < p->end && p->source->text[p->at] != '\n')
		p->at++;
}

static void skip_space(Parser *p)
{
	for (;;) {
		int c = peek_at(p, 0);
		if (c == '#')
			skip_comment(p);
		else if (c == ' ' || c == '\t' || c == '\r' ||
		    (c == '\n' && p->depth > 0))
			p->at++;
		else
			return;
	}
}

static int peek(Parser *p)
{
	skip_space(p);
	return peek_at(p, 0);
}

static bool take(Parser *p, const char *text)
{
	size_t n = strlen(text);

	skip_space(p);
	if (p->at + n > p->end || memcmp(p->source->text + p->at, text, n) != 0)
		return false;
	p->at += n;
	return true;
}

__attribute__((format(printf, 3, 4))) static void fail(
    Parser *p, Span span, const char *format, ...)
{
	char text[512];
	va_list args;

	if (p->failed)
		return;
	p->failed = true;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	diag_error(p->diag, p->source, span, "%s", text);
}

/* What stands here, for a message: one piece of text. */
static Span here(Parser *p)
{
	size_t n;

	skip_space(p);
	n = p->at < p->end ? word_piece(p->source->text + p->at) : 0;
	if (p->at + n > p->end)
		n = p->end - p->at;
	return (Span){p->at, p->at + n};
}

static void expect(Parser *p, const char *text, const char *after)
{
	if (p->failed)
		return;
	if (text[0] == ')' || text[0] == ']' || text[0] == '}')
		p->depth--;
	if (take(p, text))
		return;
	fail(p, here(p), "expected '%s' %s", text, after);
}

static void enter(Parser *p, const char *text, const char *after)
{
	expect(p, text, after);
	p->depth++;
}

static bool is_name_start(int c)
{
	return isalpha(c) || c == '_';
}

/* A piece of letters, digits, dots and tildes; NULL where there is none. */
static const char *name(Parser *p)
{
	Span span;

	if (!is_name_start(peek(p)))
		return NULL;
	span = here(p);
	p->at = span.end;
	return arena_strndup(p->arena, p->source->text + span.begin,
	    span.end - span.begin);
}

static bool integer(Parser *p, int64_t *value)
{
	bool negative = take(p, "-");
	size_t begin = p->at;

	*value = 0;
	if (!isdigit(peek(p))) {
		fail(p, here(p), "expected a number");
		return false;
	}
	for (; isdigit(peek_at(p, 0)); p->at++) {
		int digit = peek_at(p, 0) - '0';
		if (__builtin_mul_overflow(*value, 10, value) ||
		    __builtin_add_overflow(*value, digit, value)) {
			fail(p, (Span){begin, p->at + 1}, "number too large");
			return false;
		}
	}
	if (is_name_start(peek_at(p, 0)) || peek_at(p, 0) == '.') {
		fail(p, (Span){begin, p->at + 1}, "expected an integer");
		return false;
	}
	if (negative)
		*value = -*value;
	return true;
}

/* An operand of a layout part: a name or a number. */
static void part_operand(Parser *p, Buf *text)
{
	int64_t number;
	const char *word;

	if (isdigit(peek(p))) {
		if (integer(p, &number))
			buf_printf(text, "%lld", (long long)number);
	} else if ((word = name(p))) {
		buf_puts(text, word);
	} else {
		fail(p, here(p), "expected a loop or a number");
	}
}

static void part_divisor(Parser *p, Buf *text)
{
	if (peek(p) != '(') {
		part_operand(p, text);
		return;
	}
	enter(p, "(", "");
	buf_putc(text, '(');
	part_operand(p, text);
	while (!p->failed && take(p, "*")) {
		buf_putc(text, '*');
		part_operand(p, text);
	}
	expect(p, ")", "after the divisor");
	buf_putc(text, ')');
}

/* A name and what is joined to it: lanes*2, j//16%4. */
static TraceValue word(Parser *p)
{
	Buf text = {0};
	TraceValue value;

	buf_puts(&text, name(p));
	while (!p->failed) {
		if (take(p, "//"))
			buf_puts(&text, "//");
		else if (take(p, "%"))
			buf_putc(&text, '%');
		else if (strcmp(buf_text(&text), "lanes") == 0 &&
		    peek(p) == '*' && peek_at(p, 1) != '{' && take(p, "*"))
			buf_putc(&text, '*');
		else
			break;
		part_divisor(p, &text);
	}
	value = value_word(arena_strdup(p->arena, buf_text(&text)));
	buf_free(&text);
	return value;
}

static TraceValue value(Parser *p, int depth);

static void values(Parser *p, const char *ends, int depth, ValueVec *out)
{
	char open[2] = {ends[0]}, close[2] = {ends[1]};

	enter(p, open, "before the values");
	while (!p->failed && peek(p) != close[0]) {
		if (out->n)
			expect(p, ",", "between values");
		if (p->failed)
			return;
		vec_push(p->arena, out, value(p, depth));
	}
	expect(p, close, "after the values");
}

static TraceValue value(Parser *p, int depth)
{
	ValueVec list = {0};
	int64_t number;
	int c = peek(p);

	if (c == '[' && depth < MAX_DEPTH) {
		values(p, "[]", depth + 1, &list);
		return (TraceValue){
		    .kind = VALUE_LIST, .n = list.n, .list = list.at};
	}
	if (take(p, "-inf"))
		return value_word("-inf");
	if (isdigit(c) || c == '-') {
		if (integer(p, &number))
			return value_int(number);
	} else if (c == '_' && !isalnum(peek_at(p, 1)) && peek_at(p, 1) != '_') {
		p->at++;
	} else if (is_name_start(c)) {
		return word(p);
	} else {
		fail(p, here(p), "expected a value");
	}
	return value_hole();
}

/* --- domains ---------------------------------------------------------------- */

static void add_range(Parser *p, ValueVec *out, int64_t last, bool powers)
{
	for (int64_t i = 1; i <= last; i = powers ? 2 * i : i + 1)
		vec_push(p->arena, out, value_int(i));
}

static void lanes_set(Parser *p, ValueVec *out)
{
	ValueVec numbers = {0};

	values(p, "{}", 0, &numbers);
	for (int i = 0; i < numbers.n && !p->failed; i++) {
		if (numbers.at[i].kind != VALUE_INT)
			fail(p, here(p), "expected numbers in 'lanes*{...}'");
		else
			vec_push(p->arena, out,
			    value_word(arena_printf(p->arena, "lanes*%lld",
				(long long)numbers.at[i].i)));
	}
}

/* inner<=16, inner in {8, 16}, middle in lanes*{1, 2} */
static void tile_bound(Parser *p, ValueVec *parts, int nparts)
{
	Span span = here(p);
	const char *which = name(p);
	ValueVec set = {0};
	int64_t last;

	if (!which || (strcmp(which, "inner") && strcmp(which, "middle"))) {
		fail(p, span, "expected 'inner' or 'middle'");
		return;
	}
	if (take(p, "<=")) {
		span = here(p);
		if (!integer(p, &last))
			return;
		if (last < 1 || last > MAX_INNER)
			fail(p, span, "a bound is 1 to %d", MAX_INNER);
		else
			add_range(p, &set, last, false);
	} else if (take(p, "in ") || take(p, "in{")) {
		p->at -= p->source->text[p->at - 1] == '{';
		if (take(p, "lanes*"))
			lanes_set(p, &set);
		else
			values(p, "{}", 0, &set);
	} else {
		fail(p, here(p), "expected '<=' or 'in' after '%s'", which);
	}
	if (which[0] == 'i')
		parts[nparts - 1] = set;
	else
		for (int i = 1; i < nparts - 1; i++)
			parts[i] = set;
}

static int tile_by_count(Parser *p, ValueVec *parts)
{
	Span span = here(p);
	int64_t n;

	if (!integer(p, &n))
		return 0;
	if (n < 2 || n > MAX_TILE_PARTS) {
		fail(p, span, "a tile has 2 to %d parts", MAX_TILE_PARTS);
		return 0;
	}
	for (int i = 1; i < n; i++)
		add_range(p, &parts[i], 64, true);
	while (!p->failed && take(p, ","))
		tile_bound(p, parts, (int)n);
	return (int)n;
}

static int tile_by_lists(Parser *p, ValueVec *parts)
{
	int n = 1;

	do {
		if (n == MAX_TILE_PARTS) {
			fail(p, here(p), "a tile has 2 to %d parts",
			    MAX_TILE_PARTS);
			return 0;
		}
		values(p, "[]", 0, &parts[n++]);
	} while (!p->failed && take(p, ","));
	return n;
}

static void check_size(Parser *p, Span span, const Domain *d)
{
	for (int i = 0; i < d->parts; i++)
		if (d->nvalues[i] > MAX_VALUES)
			fail(p, span, "a domain has at most %d values",
			    MAX_VALUES);
}

static Domain domain_of(
    Parser *p, Span span, DomainKind kind, ValueVec *parts, int n)
{
	Domain d = {.kind = kind, .parts = n};

	assert(n >= (kind == DOMAIN_TILE ? 2 : 1) && n <= MAX_TILE_PARTS);
	d.nvalues = NEW_N(p->arena, int, n);
	d.values = NEW_N(p->arena, TraceValue *, n);
	for (int i = 0; i < n; i++) {
		d.nvalues[i] = parts[i].n;
		d.values[i] = parts[i].at;
	}
	check_size(p, span, &d);
	return d;
}

static void check_tile_parts(Parser *p, Span span, const Domain *d)
{
	for (int i = 1; i < d->parts; i++) {
		if (d->nvalues[i] == 0)
			fail(p, span, "a part of the tile has no values");
		for (int j = 0; j < d->nvalues[i]; j++) {
			const TraceValue *v = &d->values[i][j];
			if (!(v->kind == VALUE_INT && v->i >= 1) &&
			    !(v->kind == VALUE_WORD &&
				strncmp(v->word, "lanes", 5) == 0))
				fail(p, span,
				    "the values of a tile are numbers of at "
				    "least 1");
		}
	}
}

static Domain domain(Parser *p)
{
	ValueVec parts[MAX_TILE_PARTS] = {0};
	Span span = here(p);
	Domain d = {0};
	int n;

	if (peek(p) == '{') {
		values(p, "{}", 0, &parts[0]);
		if (parts[0].n == 0)
			fail(p, span, "a domain has at least one value");
		return p->failed ? d
				 : domain_of(p, span, DOMAIN_CHOICE, parts, 1);
	}
	if (!take(p, "tile")) {
		fail(p, span, "expected 'tile(...)' or '{...}'");
		return d;
	}
	vec_push(p->arena, &parts[0], value_hole());
	enter(p, "(", "after 'tile'");
	n = peek(p) == '[' ? tile_by_lists(p, parts) : tile_by_count(p, parts);
	expect(p, ")", "after the tile's parts");
	if (p->failed)
		return d;
	d = domain_of(p, span, DOMAIN_TILE, parts, n);
	span.end = p->at;
	check_tile_parts(p, span, &d);
	return d;
}

/* --- steps ------------------------------------------------------------------ */

static bool part_in(const TraceValue *v, const TraceValue *values, int n)
{
	for (int i = 0; i < n; i++)
		if (value_equal(v, &values[i]))
			return true;
	return false;
}

/* Numbers may stand for lanes that only a machine tells. */
static bool has_lanes(const TraceValue *values, int n)
{
	for (int i = 0; i < n; i++)
		if (values[i].kind == VALUE_WORD &&
		    strncmp(values[i].word, "lanes", 5) == 0)
			return true;
	return false;
}

static bool in_domain(const TraceValue *v, const Domain *d)
{
	if (d->kind == DOMAIN_CHOICE)
		return part_in(v, d->values[0], d->nvalues[0]) ||
		    has_lanes(d->values[0], d->nvalues[0]);
	if (v->kind != VALUE_LIST || v->n != d->parts ||
	    v->list[0].kind != VALUE_HOLE)
		return false;
	for (int i = 1; i < d->parts; i++)
		if (!part_in(&v->list[i], d->values[i], d->nvalues[i]) &&
		    !has_lanes(d->values[i], d->nvalues[i]))
			return false;
	return true;
}

static void decision(Parser *p, Arg *arg)
{
	Span span = here(p);

	arg->decision = true;
	arg->open = !take(p, "=");
	if (!arg->open)
		arg->value = value(p, 0);
	span.end = p->at;
	if (p->failed || !(take(p, "in ") || take(p, "in{"))) {
		if (arg->open)
			fail(p, here(p), "an open decision needs 'in' and a "
			    "domain");
		return;
	}
	p->at -= p->source->text[p->at - 1] == '{';
	arg->domain = domain(p);
	if (!p->failed && !arg->open && !in_domain(&arg->value, &arg->domain))
		fail(p, span, "the value is not in the decision's domain");
}

static Arg argument(Parser *p)
{
	Arg arg = {0};
	size_t begin;

	skip_space(p);
	begin = p->at;
	if (is_name_start(peek(p))) {
		const char *key = name(p);
		if (peek(p) == '=') {
			take(p, "=");
			arg.key = key;
		} else {
			p->at = begin;
		}
	}
	if (take(p, "?"))
		decision(p, &arg);
	else
		arg.value = value(p, 0);
	arg.span = (Span){begin, p->at};
	return arg;
}

static void arguments(Parser *p, Step *step)
{
	int positional = 0, n = 0;

	enter(p, "(", "after the step's name");
	while (!p->failed && peek(p) != ')') {
		Arg arg;
		if (n)
			expect(p, ",", "between arguments");
		if (p->failed)
			return;
		arg = argument(p);
		if (!arg.key && positional != n)
			fail(p, arg.span, "a positional argument comes before "
			    "those with a key");
		positional += !arg.key;
		if (n == p->args.n)
			vec_push(p->arena, &p->args, arg);
		p->args.at[n++] = arg;
	}
	expect(p, ")", "after the arguments");
	step->nargs = n;
	step->args = arena_memdup(
	    p->arena, p->args.at, sizeof *step->args * (size_t)n);
	if (!p->failed && primitive_check(step))
		fail(p, (Span){step->span.begin, p->at}, "%s takes (%s)",
		    primitive_name(step->primitive),
		    primitive_arguments(step->primitive));
}

static void outs(Parser *p, Step *step)
{
	VEC(const char *) names = {0};
	size_t begin = p->at;
	const char *out = name(p);

	if (!out || (peek(p) != ',' && peek(p) != '=')) {
		p->at = begin;
		return;
	}
	vec_push(p->arena, &names, out);
	while (take(p, ",")) {
		if (!(out = name(p))) {
			fail(p, here(p), "expected a name");
			return;
		}
		vec_push(p->arena, &names, out);
	}
	for (int i = 0; i < names.n; i++)
		if (strpbrk(names.at[i], ".~") || !strcmp(names.at[i], "_"))
			fail(p, (Span){begin, p->at},
			    "a step gives names of letters, digits and '_'");
	expect(p, "=", "after the names");
	step->nouts = names.n;
	step->outs = names.at;
}

static void check_outs(Parser *p, const Step *step)
{
	char kind = primitive_outs(step->primitive);
	const char *spelled = primitive_name(step->primitive);

	if (primitive_gives(step->primitive, step->nouts))
		return;
	if (kind == 'B')
		fail(p, step->span, "%s gives one name: NAME = %s(...)",
		    spelled, spelled);
	else if (kind == 'P')
		fail(p, step->span, "%s gives two names: NAME, NAME = %s(...)",
		    spelled, spelled);
	else if (kind == 'D')
		fail(p, step->span, "%s gives names: NAME, NAME, ... = %s(...)",
		    spelled, spelled);
	else if (kind == 'W')
		fail(p, step->span, "%s gives four names, of two pairs of axes "
		    "seven: NAME, NAME, ... = %s(...)", spelled, spelled);
	else if (kind == 'L')
		fail(p, step->span, "%s gives names: NAMES = %s(...)", spelled,
		    spelled);
	else
		fail(p, step->span, "%s gives no name", spelled);
}

static void step(Parser *p, Trace *trace)
{
	Step s = {0};
	const char *spelled;
	Span span;

	p->failed = false;
	p->depth = 0;
	s.span.begin = p->at;
	outs(p, &s);
	span = here(p);
	if (p->failed)
		return;
	spelled = name(p);
	if (!spelled) {
		fail(p, span, "expected a step");
		return;
	}
	s.primitive = primitive_find(spelled);
	if (s.primitive < 0) {
		fail(p, span, "no step is named '%s'", spelled);
		return;
	}
	arguments(p, &s);
	s.span.end = p->at;
	check_outs(p, &s);
	if (!p->failed && peek(p) && peek(p) != '\n' && peek(p) != ';')
		fail(p, here(p), "expected a new line or ';' after the step");
	if (!p->failed)
		vec_push(p->arena, &trace->steps, s);
}

Trace *trace_parse(Arena *arena, const Source *source, Span span, Diag *diag)
{
	Parser p = {.arena = arena, .source = source, .diag = diag,
	    .at = span.begin, .end = span.end};
	Trace *trace = NEW(arena, Trace);
	int errors = diag->errors;

	assert(span.begin <= span.end && span.end <= source->size);
	for (;;) {
		p.depth = 0;
		while (peek(&p) == '\n' || peek(&p) == ';')
			p.at++;
		if (p.at >= p.end || diag->errors - errors >= MAX_ERRORS)
			break;
		step(&p, trace);
		if (p.failed)
			skip_comment(&p);
	}
	return diag->errors == errors ? trace : NULL;
}

bool value_parse(Arena *arena, const Source *source, Span span, Diag *diag,
    TraceValue *out)
{
	Parser p = {.arena = arena, .source = source, .diag = diag,
	    .at = span.begin, .end = span.end};

	assert(span.begin <= span.end && span.end <= source->size);
	*out = value(&p, 0);
	if (!p.failed && peek(&p))
		fail(&p, here(&p), "expected the end of the line");
	return !p.failed;
}
