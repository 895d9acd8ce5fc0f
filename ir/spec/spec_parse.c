/* Tokens -> trees, by recursive descent along the grammar of the language.
 *
 * A mistake ends the definition that it is in: one message, and the reader goes
 * on at the next definition.  Where that begins is found first, from the '=',
 * which no expression has.  Nesting is counted, so that the stack is bounded;
 * what is not nested (`a + b + c…`) is read by loops. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/spec/spec.h"
#include "lib/hash.h"

enum {
	HEIGHT_MAX = SPEC_NESTING_MAX + SPEC_CHAIN_MAX,
	SIZE_MAX_NODES = 1 << 20 /* of a tree; of what is shared */
};

typedef VEC(Node *) NodeVec;

typedef struct {
	Arena *arena;
	Report *report;
	NameTable *names;
	Tokens tokens;
	int at;
	int end;    /* the token that the piece at hand ends before */
	int depth;
	int naxes; /* in scope */
	int shared; /* nodes that a < b < c has twice */
	bool failed; /* a message has been given for this piece */
} Parser;

/* --- names --------------------------------------------------------------------- */

SpecName *name_intern(NameTable *table, const char *text, size_t size)
{
	SpecName **bucket =
	    &table->bucket[hash64(text, size, 0) % NAME_BUCKETS];
	for (SpecName *name = *bucket; name; name = name->next)
		if (strlen(name->text) == size &&
		    !memcmp(name->text, text, size))
			return name;
	SpecName *name = NEW(table->arena, SpecName);
	name->text = arena_strndup(table->arena, text, size);
	name->next = *bucket;
	*bucket = name;
	return name;
}

/* --- tokens -------------------------------------------------------------------- */

static const Token *token_here(const Parser *p)
{
	return &p->tokens.at[p->at];
}

static TokenKind kind_here(const Parser *p)
{
	if (p->failed || p->at >= p->end)
		return TOKEN_END;
	return (TokenKind)token_here(p)->kind;
}

static TokenKind kind_after(const Parser *p)
{
	if (p->failed || p->at + 1 >= p->end)
		return TOKEN_END;
	return (TokenKind)p->tokens.at[p->at + 1].kind;
}

/* The name at hand, or NULL. */
static const char *word_here(const Parser *p)
{
	const Token *t = token_here(p);
	if (kind_here(p) != TOKEN_NAME)
		return NULL;
	return arena_strndup(
	    p->arena, p->tokens.text + t->begin, t->end - t->begin);
}

static bool is_word(const Parser *p, const char *word)
{
	const char *here = word_here(p);
	return here && !strcmp(here, word);
}

static Span span_here(const Parser *p)
{
	return token_span(&p->tokens, token_here(p));
}

/* From a token to the one before the reader's place. */
static Span span_from(const Parser *p, int first)
{
	Span span = token_span(&p->tokens, &p->tokens.at[first]);
	int last = p->at > first ? p->at - 1 : first;
	span.end = token_span(&p->tokens, &p->tokens.at[last]).end;
	return span;
}

static Span join(Span a, Span b)
{
	return (Span){a.begin, b.end > a.end ? b.end : a.end};
}

static void fail(Parser *p, Span span, const char *message)
{
	if (!p->failed && !report_full(p->report))
		report_error(p->report, span, "%s", message);
	p->failed = true;
}

static const char *found(const Parser *p)
{
	const Token *t = token_here(p);
	if (t->kind == TOKEN_END)
		return "the end";
	if (!p->tokens.direct)
		return arena_printf(p->arena, "'%.*s'", (int)(t->end - t->begin),
		    p->tokens.text + t->begin);
	return arena_printf(p->arena, "%s'%s'",
	    p->at >= p->end ? "the next definition, " : "",
	    report_quote(p->report, span_here(p)));
}

static void fail_expected(Parser *p, const char *what)
{
	if (p->failed)
		return;
	if (token_here(p)->kind == TOKEN_BAD) { /* said by the lexer */
		p->failed = true;
		return;
	}
	const char *hint = token_here(p)->kind == TOKEN_ASSIGN && p->at < p->end
	    ? " ('==' compares)" : "";
	fail(p, span_here(p), arena_printf(p->arena, "expected %s, got %s%s",
				  what, found(p), hint));
}

static bool accept(Parser *p, TokenKind kind)
{
	if (kind_here(p) != kind)
		return false;
	p->at++;
	return true;
}

static bool expect(Parser *p, TokenKind kind)
{
	if (accept(p, kind))
		return true;
	fail_expected(
	    p, arena_printf(p->arena, "'%s'", token_spelled(kind)));
	return false;
}

static bool enter(Parser *p)
{
	if (p->depth >= SPEC_NESTING_MAX) {
		if (!p->failed)
			fail(p, span_here(p), "nested deeper than 256");
		return false;
	}
	p->depth++;
	return true;
}

/* --- nodes --------------------------------------------------------------------- */

static Node *node_new(Parser *p, NodeKind kind, Span span)
{
	Node *n = NEW(p->arena, Node);
	n->kind = kind;
	n->span = n->outer = span;
	n->height = n->size = 1;
	n->axis = -1;
	return n;
}

static Node *node_bad(Parser *p)
{
	return node_new(p, NODE_BAD, span_here(p));
}

/* Takes the operands; a tree that is too large to be worked on is refused. */
static void adopt(Parser *p, Node *n, Node **args, int narg)
{
	n->narg = narg;
	n->arg = arena_memdup(p->arena, args, sizeof *args * (size_t)narg);
	for (int i = 0; i < narg; i++) {
		if (args[i]->height >= n->height)
			n->height = args[i]->height + 1;
		if (n->size <= SIZE_MAX_NODES)
			n->size += args[i]->size;
	}
	if (n->height > HEIGHT_MAX || n->size > SIZE_MAX_NODES) {
		fail(p, n->span, "the expression is too large: make "
				 "definitions of its parts");
		n->height = n->size = 1;
		n->kind = NODE_BAD;
		n->narg = 0;
	}
}

static Node *node_binary(Parser *p, Op op, Node *a, Node *b)
{
	Node *n = node_new(p, NODE_BINARY, join(a->outer, b->outer));
	n->op = op;
	adopt(p, n, (Node *[]){a, b}, 2);
	return n;
}

/* --- expressions ---------------------------------------------------------------- */

static Node *parse_expr(Parser *p);
static Node *parse_add(Parser *p);

static const struct {
	TokenKind token;
	Op op;
} binaries[] = {
	{TOKEN_LT, OP_LT}, {TOKEN_LE, OP_LE}, {TOKEN_GT, OP_GT},
	{TOKEN_GE, OP_GE}, {TOKEN_EQ, OP_EQ}, {TOKEN_NE, OP_NE},
	{TOKEN_ADD, OP_ADD}, {TOKEN_SUB, OP_SUB}, {TOKEN_MUL, OP_MUL},
	{TOKEN_DIV, OP_DIV}, {TOKEN_FLOORDIV, OP_FLOORDIV},
	{TOKEN_MOD, OP_MOD}, {TOKEN_AND, OP_AND}, {TOKEN_OR, OP_OR},
};

/* The operator at hand if it is of the kind; moves past it. */
static bool accept_binary(Parser *p, OpKind of, Op *op)
{
	TokenKind kind = kind_here(p);
	for (size_t i = 0; i < sizeof binaries / sizeof binaries[0]; i++)
		if (binaries[i].token == kind &&
		    op_kind(binaries[i].op) == of) {
			*op = binaries[i].op;
			p->at++;
			return true;
		}
	return false;
}

/* Operators of one level, left to right. */
static Node *parse_chain(
    Parser *p, OpKind kind, Node *(*operand)(Parser *p))
{
	Node *a = operand(p);
	Op op;
	int n = 1;
	while (!p->failed && accept_binary(p, kind, &op)) {
		Node *b = operand(p);
		a = node_binary(p, op, a, b);
		if (++n > SPEC_CHAIN_MAX)
			fail(p, a->span, "more than 2000 operands in a row");
	}
	return a;
}

enum { SHOWN_AXES = 4 };

/* Axes without extents from token `first` on, SHOWN_AXES at most. */
static int bare_axes(const Parser *p, int first)
{
	int n = 0;
	for (int at = first; n < SHOWN_AXES && at + 1 < p->end; at += 2) {
		TokenKind behind = (TokenKind)p->tokens.at[at + 1].kind;
		if (p->tokens.at[at].kind != TOKEN_NAME ||
		    (behind != TOKEN_COMMA && behind != TOKEN_RBRACKET))
			break;
		n++;
		if (behind == TOKEN_RBRACKET)
			break;
	}
	return n;
}

static void print_token(Buf *out, const Parser *p, int at)
{
	const Token *t = &p->tokens.at[at];
	buf_printf(out, "%.*s", (int)(t->end - t->begin),
	    p->tokens.text + t->begin);
}

/* How they are written: y[i < M, j < N]. */
static const char *axes_with_extents(Parser *p, int first)
{
	static const char extents[] = "KLMN";
	int n = bare_axes(p, first);
	bool all = first >= 2 && p->tokens.at[first - 1].match &&
	    p->tokens.at[first + 2 * n - 1].kind == TOKEN_RBRACKET;
	Buf text = {0};
	if (all) {
		print_token(&text, p, first - 2);
		buf_putc(&text, '[');
	}
	for (int i = 0; i < n; i++) {
		buf_puts(&text, i ? ", " : "");
		print_token(&text, p, first + 2 * i);
		buf_printf(&text, " < %c", extents[SHOWN_AXES - n + i]);
	}
	buf_puts(&text, all ? "]" : "");
	const char *result = arena_strdup(p->arena, buf_text(&text));
	buf_free(&text);
	return result;
}

/* The '<' behind the name of an axis, at token `first`. */
static bool expect_extent(Parser *p, int first)
{
	TokenKind kind = kind_here(p);
	if (kind == TOKEN_COMMA || kind == TOKEN_RBRACKET) {
		fail(p, span_here(p), arena_printf(p->arena,
		    "expected '<' and an extent, got %s: write %s",
		    found(p), axes_with_extents(p, first)));
		return false;
	}
	return expect(p, TOKEN_LT);
}

static void parse_axes(Parser *p, AxisNodes *axes)
{
	do {
		int first = p->at;
		AxisNode axis = {.span = span_here(p)};
		const Token *t = token_here(p);
		if (!accept(p, TOKEN_NAME)) {
			fail_expected(p, "an axis, NAME < EXTENT");
			return;
		}
		axis.name = name_intern(p->names, p->tokens.text + t->begin,
		    t->end - t->begin);
		if (!expect_extent(p, first))
			return;
		axis.extent = parse_add(p);
		vec_push(p->arena, axes, axis);
		if (++p->naxes > SPEC_AXES_MAX && !p->failed)
			fail(p, axis.span, "more than 1024 axes");
	} while (!p->failed && accept(p, TOKEN_COMMA));
	expect(p, TOKEN_RBRACKET);
}

/* After the opening bracket: expressions up to the closing one. */
static NodeVec parse_list(Parser *p, TokenKind closing)
{
	NodeVec list = {0};
	if (closing == TOKEN_RBRACKET && accept(p, closing))
		return list;
	do
		vec_push(p->arena, &list, parse_expr(p));
	while (accept(p, TOKEN_COMMA));
	if (kind_here(p) != closing)
		fail_expected(p, closing == TOKEN_RPAREN
			? "an operator, ',' or ')'" : "an operator, ',' or ']'");
	else
		p->at++;
	return list;
}

static Node *parse_number(Parser *p)
{
	const Token *t = token_here(p);
	bool is_int = t->kind == TOKEN_INT;
	Node *n = node_new(p, is_int ? NODE_INT : NODE_FLOAT, span_here(p));
	char *text = arena_strndup(
	    p->arena, p->tokens.text + t->begin, t->end - t->begin);
	errno = 0;
	if (is_int) {
		n->i = strtoll(text, NULL, 10);
		if (errno)
			fail(p, n->span, "the number does not fit 64 bits");
	} else {
		n->f = strtod(text, NULL);
		if (isinf(n->f))
			fail(p, n->span, "the number is too large");
	}
	p->at++;
	return n;
}

static void fail_function(Parser *p, const Node *n)
{
	const char *word = n->name->text, *hint = hint_function(word);
	if (hint)
		fail(p, n->span, arena_printf(p->arena,
		    "'%s' is no function: write %s", word, hint));
	else if ((hint = hint_dtype(word)))
		fail(p, n->span, arena_printf(p->arena,
		    "'%s' is no dtype: write %s", word, hint));
	else
		fail(p, n->span, arena_printf(p->arena,
		    "'%s' is no function; a buffer is read with brackets",
		    word));
}

/* NAME[…](: nothing of the language. */
static bool is_reduction(const Parser *p)
{
	int closing = (int)token_here(p)->match;
	return closing && closing + 1 < p->end &&
	    p->tokens.at[closing + 1].kind == TOKEN_LPAREN;
}

static void fail_reduction(Parser *p, const Node *n)
{
	const char *word = n->name->text, *hint = hint_reduction(word);
	fail(p, n->span, arena_printf(p->arena,
	    hint ? "'%s' is no reduction: write %s"
		 : "'%s' is no reduction: there are sum, prod, max, min, argmax "
		   "and argmin%s",
	    word, hint ? hint : ""));
}

static Node *parse_name(Parser *p)
{
	const Token *t = token_here(p);
	int first = p->at++;
	Node *n = node_new(p, NODE_NAME, span_from(p, first));
	n->name = name_intern(
	    p->names, p->tokens.text + t->begin, t->end - t->begin);
	if (kind_here(p) == TOKEN_LPAREN) {
		fail_function(p, n);
		return n;
	}
	if (kind_here(p) != TOKEN_LBRACKET)
		return n;
	if (is_reduction(p)) {
		fail_reduction(p, n);
		return n;
	}
	if (!enter(p))
		return n;
	p->at++;
	n->kind = NODE_READ;
	NodeVec list = parse_list(p, TOKEN_RBRACKET);
	p->depth--;
	n->span = n->outer = span_from(p, first);
	if (kind_here(p) == TOKEN_LBRACKET)
		fail(p, span_here(p), arena_printf(p->arena,
		    "indices stand in one pair of brackets: write %s[i, j]",
		    n->name->text));
	adopt(p, n, list.at, list.n);
	return n;
}

static void fail_arity(Parser *p, const Node *n, int given, int arity)
{
	const char *name =
	    n->kind == NODE_CAST ? dtype_name(n->type) : op_name(n->op);
	const char *hint = "";
	if ((n->op == OP_MIN || n->op == OP_MAX) && given != arity)
		hint = arena_printf(p->arena, given < arity
			? ": write %s(x, y), or %s[i < N](x)"
			: ": write %s(%s(x, y), z)", name, name);
	fail(p, n->span, arena_printf(p->arena,
	    "'%s' takes %d argument%s, not %d%s", name, arity,
	    arity == 1 ? "" : "s", given, hint));
}

/* A function or a cast, and its arguments. */
static Node *parse_call(Parser *p, NodeKind kind, Op op, DType type, int arity)
{
	int first = p->at++;
	Node *n = node_new(p, kind, span_from(p, first));
	n->op = op;
	n->type = type;
	if (kind_here(p) != TOKEN_LPAREN) {
		fail_expected(p, "'('");
		return n;
	}
	if (!enter(p))
		return n;
	p->at++;
	NodeVec list = parse_list(p, TOKEN_RPAREN);
	p->depth--;
	n->span = n->outer = span_from(p, first);
	if (!p->failed && list.n != arity)
		fail_arity(p, n, list.n, arity);
	adopt(p, n, list.at, list.n);
	return n;
}

static Node *parse_reduce(Parser *p)
{
	const Token *t = token_here(p);
	if (kind_after(p) == TOKEN_LPAREN && t->id == REDUCE_MAX)
		return parse_call(p, NODE_CALL, OP_MAX, DT_COUNT, 2);
	if (kind_after(p) == TOKEN_LPAREN && t->id == REDUCE_MIN)
		return parse_call(p, NODE_CALL, OP_MIN, DT_COUNT, 2);
	int first = p->at++;
	Node *n = node_new(p, NODE_REDUCE, span_from(p, first));
	n->reduce = (ReduceOp)t->id;
	if (kind_here(p) != TOKEN_LBRACKET) {
		fail_expected(p, arena_printf(p->arena,
		    "'['%s and the axes, as in %s[i < N](x)",
		    t->id == REDUCE_MAX || t->id == REDUCE_MIN
			? " or '('" : "", reduce_name(n->reduce)));
		return n;
	}
	if (!enter(p))
		return n;
	p->at++;
	int outside = p->naxes;
	parse_axes(p, &n->axes);
	if (!accept(p, TOKEN_LPAREN))
		fail_expected(p, arena_printf(p->arena,
		    "'(', as in %s[i < N](x)", reduce_name(n->reduce)));
	Node *body = parse_expr(p);
	expect(p, TOKEN_RPAREN);
	p->depth--;
	p->naxes = outside;
	n->span = n->outer = span_from(p, first);
	adopt(p, n, &body, 1);
	return n;
}

static Node *parse_paren(Parser *p)
{
	int first = p->at;
	if (!enter(p))
		return node_bad(p);
	p->at++;
	Node *n = parse_expr(p);
	if (!accept(p, TOKEN_RPAREN))
		fail_expected(p, "an operator or ')'");
	p->depth--;
	n->outer = span_from(p, first);
	return n;
}

static Node *parse_if(Parser *p)
{
	int first = p->at;
	Node *parts[3];
	if (!enter(p))
		return node_bad(p);
	p->at++;
	parts[0] = parse_expr(p);
	expect(p, TOKEN_THEN);
	parts[1] = parse_expr(p);
	if (!accept(p, TOKEN_ELSE))
		fail_expected(p, is_word(p, "elif") || is_word(p, "elseif")
			? "'else if'" : "'else'");
	parts[2] = parse_expr(p);
	p->depth--;
	Node *n = node_new(p, NODE_IF, span_from(p, first));
	n->op = OP_IF;
	adopt(p, n, parts, 3);
	return n;
}

static Node *parse_inf(Parser *p)
{
	Node *n = node_new(p, NODE_FLOAT, span_here(p));
	n->f = INFINITY;
	p->at++;
	return n;
}

static Node *parse_atom(Parser *p)
{
	switch (kind_here(p)) {
	case TOKEN_INT:
	case TOKEN_FLOAT:
		return parse_number(p);
	case TOKEN_INF:
		return parse_inf(p);
	case TOKEN_NAME:
		return parse_name(p);
	case TOKEN_LPAREN:
		return parse_paren(p);
	case TOKEN_FUNCTION:
		return parse_call(p, NODE_CALL, (Op)token_here(p)->id, DT_COUNT,
		    op_arity((Op)token_here(p)->id));
	case TOKEN_DTYPE:
		return parse_call(p, NODE_CAST, OP_CAST,
		    (DType)token_here(p)->id, 1);
	case TOKEN_REDUCE:
		return parse_reduce(p);
	case TOKEN_IF:
		return parse_if(p);
	default:
		fail_expected(p, "an expression");
		return node_bad(p);
	}
}

/* The least integer has no positive twin, so its sign belongs to it. */
static bool is_least(const Parser *p)
{
	const Token *t = token_here(p);
	return kind_here(p) == TOKEN_INT && t->end - t->begin == 19 &&
	    !memcmp(p->tokens.text + t->begin, "9223372036854775808", 19);
}

static Node *parse_prefix(Parser *p, Op op, Node *(*operand)(Parser *p))
{
	int first = p->at;
	if (!enter(p))
		return node_bad(p);
	p->at++;
	Node *n = node_new(p, NODE_UNARY, span_from(p, first));
	if (op == OP_NEG && is_least(p)) {
		n->kind = NODE_INT;
		n->i = INT64_MIN;
		p->at++;
	} else {
		Node *a = operand(p);
		n->op = op;
		adopt(p, n, &a, 1);
	}
	p->depth--;
	n->span = n->outer = span_from(p, first);
	return n;
}

static Node *parse_neg(Parser *p)
{
	if (kind_here(p) == TOKEN_SUB)
		return parse_prefix(p, OP_NEG, parse_neg);
	return parse_atom(p);
}

static Node *parse_mul(Parser *p)
{
	return parse_chain(p, OPKIND_PRODUCT, parse_neg);
}

static Node *parse_add(Parser *p)
{
	return parse_chain(p, OPKIND_SUM, parse_mul);
}

/* a < b < c is a < b and b < c: the middle is one node with two parents. */
static Node *parse_cmp(Parser *p)
{
	Node *a = parse_add(p), *all = NULL;
	Op op;
	int n = 1;
	while (!p->failed && accept_binary(p, OPKIND_COMPARE, &op)) {
		Node *b = parse_add(p);
		Node *one = node_binary(p, op, a, b);
		if (all && (p->shared += a->size) > SIZE_MAX_NODES)
			fail(p, one->span, "the comparisons are too many");
		all = all ? node_binary(p, OP_AND, all, one) : one;
		a = b;
		if (++n > SPEC_CHAIN_MAX)
			fail(p, one->span, "more than 2000 operands in a row");
	}
	return all ? all : a;
}

static Node *parse_not(Parser *p)
{
	if (kind_here(p) == TOKEN_NOT)
		return parse_prefix(p, OP_NOT, parse_not);
	return parse_cmp(p);
}

static Node *parse_and(Parser *p)
{
	return parse_chain(p, OPKIND_AND, parse_not);
}

static Node *parse_expr(Parser *p)
{
	return parse_chain(p, OPKIND_OR, parse_and);
}

static Parser parser_new(
    Arena *arena, Report *report, NameTable *names, const YamlScalar *scalar)
{
	Parser p = {.arena = arena, .report = report, .names = names};
	p.tokens = lex_scalar(arena, report, scalar);
	p.end = p.tokens.n - 1;
	return p;
}

Node *parse_expression(
    Arena *arena, Report *report, NameTable *names, const YamlScalar *scalar)
{
	Parser p = parser_new(arena, report, names, scalar);
	Node *n = parse_expr(&p);
	if (!p.failed && p.at < p.end)
		fail_expected(&p, "an operator");
	if (!p.failed)
		return n;
	return node_new(&p, NODE_BAD, scalar->span);
}

/* --- types ---------------------------------------------------------------------- */

static void fail_dtype(Parser *p)
{
	const char *word = word_here(p);
	const char *hint = word ? hint_dtype(word) : NULL;
	if (hint)
		fail(p, span_here(p), arena_printf(p->arena,
		    "'%s' is no dtype: write %s", word, hint));
	else
		fail_expected(p, "a dtype (f64 f32 f16 bf16 i64 i32 i16 i8 u64 u32 u16 u8 "
				 "bool)");
}

TypeNode parse_type(
    Arena *arena, Report *report, NameTable *names, const YamlScalar *scalar)
{
	Parser p = parser_new(arena, report, names, scalar);
	TypeNode type = {.bad = true};
	const Token *t = token_here(&p);
	if (kind_here(&p) == TOKEN_NAME && t->end - t->begin == 5 &&
	    !memcmp(p.tokens.text + t->begin, "const", 5)) {
		type.is_const = true;
		p.at++;
	}
	type.type = (DType)token_here(&p)->id;
	if (!accept(&p, TOKEN_DTYPE)) {
		fail_dtype(&p);
		return type;
	}
	if (!accept(&p, TOKEN_LBRACKET)) {
		fail_expected(&p, "'[' and the extents, or '[]' of a scalar");
	} else {
		NodeVec shape = parse_list(&p, TOKEN_RBRACKET);
		for (int i = 0; i < shape.n; i++)
			vec_push(arena, &type.shape, shape.at[i]);
	}
	if (!p.failed && p.at < p.end)
		fail_expected(&p, kind_here(&p) == TOKEN_LBRACKET
			? "the extents in one pair of brackets, f32[M, N]"
			: "the end");
	type.bad = p.failed;
	return type;
}

/* --- definitions ----------------------------------------------------------------- */

/* The '[' of the ']' at token `at`, or -1; looks no further back than `least`. */
static int open_bracket(const Parser *p, int at, int least)
{
	int depth = 0;
	for (; at >= least; at--) {
		if (p->tokens.at[at].kind == TOKEN_RBRACKET)
			depth++;
		if (p->tokens.at[at].kind == TOKEN_LBRACKET && --depth == 0)
			return at;
	}
	return -1;
}

/* Does the head of a definition end before the '=' at token `assign`?  Where
 * it begins, or -1.  A head has axes, or no index, or begins a line; so that
 * `if x[i] = 0` is none. */
static int head_before(const Parser *p, int assign, int least)
{
	const Token *at = p->tokens.at;
	int end = assign - 1;
	if (end - 2 >= least && at[end].kind == TOKEN_DTYPE &&
	    at[end - 1].kind == TOKEN_COLON)
		end -= 2;
	if (end >= least && at[end].kind == TOKEN_NAME && at[end].first)
		return end; /* its brackets are missing */
	if (end < least || at[end].kind != TOKEN_RBRACKET)
		return -1;
	int open = open_bracket(p, end, least);
	if (open < 1 || at[open - 1].kind != TOKEN_NAME ||
	    open - 1 < least)
		return -1;
	bool axes = end == open + 1 ||
	    (at[open + 1].kind == TOKEN_NAME && at[open + 2].kind == TOKEN_LT);
	return axes || at[open - 1].first ? open - 1 : -1;
}

static void fail_brackets(Parser *p, const DefinitionNode *d)
{
	TokenKind kind = kind_here(p);
	const char *name = d->name->text;
	if (kind == TOKEN_ASSIGN || kind == TOKEN_COLON)
		fail(p, d->span, arena_printf(p->arena,
		    "'%s' has no axes: write %s[i < N], or %s[] for a scalar",
		    name, name, name));
	else
		fail_expected(p, "'['");
}

static void parse_head(Parser *p, DefinitionNode *d)
{
	const Token *t = token_here(p);
	int first = p->at;
	d->span = span_here(p);
	if (!accept(p, TOKEN_NAME)) {
		fail_expected(p, "a definition, NAME[axes] = expression");
		return;
	}
	d->name = name_intern(
	    p->names, p->tokens.text + t->begin, t->end - t->begin);
	if (!accept(p, TOKEN_LBRACKET))
		fail_brackets(p, d);
	else if (!accept(p, TOKEN_RBRACKET))
		parse_axes(p, &d->axes);
	d->nspatial = d->axes.n;
	if (!p->failed && accept(p, TOKEN_COLON)) {
		d->declared = true;
		d->type = (DType)token_here(p)->id;
		if (!accept(p, TOKEN_DTYPE))
			fail_dtype(p);
	}
	d->head = span_from(p, first);
	expect(p, TOKEN_ASSIGN);
}

/* The definition at hand; false where it has no name even. */
static bool parse_definition(Parser *p, DefinitionNode *d)
{
	p->failed = false;
	p->depth = p->naxes = 0;
	parse_head(p, d);
	d->body = parse_expr(p);
	bool next = kind_here(p) == TOKEN_NAME && token_here(p)->first;
	if (!p->failed && p->at < p->end && !next)
		fail_expected(p, kind_here(p) == TOKEN_IF
			? "an operator or a definition (a choice is written "
			  "'if c then x else y')"
			: "an operator or a definition");
	d->bad = p->failed;
	if (d->bad)
		d->body = node_bad(p);
	return d->name != NULL;
}

void parse_definitions(Arena *arena, Report *report, NameTable *names,
    const YamlScalar *scalar, DefinitionNodes *definitions)
{
	Parser p = parser_new(arena, report, names, scalar);
	int last = p.end;
	VEC(int) starts = {0};
	for (int i = 0, least = 0; i < last; i++)
		if (p.tokens.at[i].kind == TOKEN_ASSIGN) {
			int head = head_before(&p, i, least);
			if (head >= 0)
				vec_push(arena, &starts, head);
			least = i + 1;
		}
	vec_push(arena, &starts, last);
	for (int next = 0; p.at < last;) {
		while (next < starts.n && starts.at[next] <= p.at)
			next++;
		p.end = next < starts.n ? starts.at[next] : last;
		DefinitionNode d = {0};
		if (parse_definition(&p, &d))
			vec_push(arena, definitions, d);
		if (p.failed)
			p.at = p.end;
		if (report_full(report))
			return;
	}
}
