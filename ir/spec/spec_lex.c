/* The words of the language: a scalar -> tokens.
 *
 * Newlines mean nothing and '#' starts a comment in a literal block; elsewhere
 * '#' is no character of the language. */
#include <string.h>
#include <strings.h>

#include "ir/spec/spec.h"

/* --- words --------------------------------------------------------------------- */

typedef struct {
	const char *text;
	uint8_t kind, id;
} Word;

static const Word words[] = {
#define DTYPE(name, spelled, bytes, class, ctype) {spelled, TOKEN_DTYPE, DT_##name},
#include "ir/dtypes.def"
#undef DTYPE
	{"sum", TOKEN_REDUCE, REDUCE_SUM},
	{"prod", TOKEN_REDUCE, REDUCE_PROD},
	{"max", TOKEN_REDUCE, REDUCE_MAX},
	{"min", TOKEN_REDUCE, REDUCE_MIN},
	{"argmax", TOKEN_REDUCE, REDUCE_ARGMAX},
	{"argmin", TOKEN_REDUCE, REDUCE_ARGMIN},
	{"if", TOKEN_IF, 0},
	{"then", TOKEN_THEN, 0},
	{"else", TOKEN_ELSE, 0},
	{"or", TOKEN_OR, 0},
	{"and", TOKEN_AND, 0},
	{"not", TOKEN_NOT, 0},
	{"inf", TOKEN_INF, 0},
};

static bool is_spelled(const char *word, const char *text, size_t size)
{
	return word[0] == text[0] && strlen(word) == size &&
	    !memcmp(word, text, size);
}

static bool find_word(const char *text, size_t size, Word *found)
{
	for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
		if (is_spelled(words[i].text, text, size)) {
			*found = words[i];
			return true;
		}
	for (Op op = 0; op < OP_COUNT; op++)
		if (is_spelled(op_name(op), text, size) &&
		    op_kind(op) >= OPKIND_CALL) {
			*found = (Word){op_name(op), TOKEN_FUNCTION, (uint8_t)op};
			return true;
		}
	return false;
}

static const char *const spelled[] = {
#define TOKEN(name, spelled) spelled,
#include "ir/spec/tokens.def"
#undef TOKEN
};

const char *token_spelled(TokenKind kind)
{
	return spelled[kind];
}

/* C11 and C23, C++ up to C++20. */
static const char *const keywords[] = {"_Alignas", "_Alignof", "_Atomic",
	"_BitInt", "_Bool", "_Complex", "_Decimal128", "_Decimal32",
	"_Decimal64", "_Generic", "_Imaginary", "_Noreturn", "_Static_assert",
	"_Thread_local", "alignas", "alignof", "and_eq", "asm", "auto",
	"bitand", "bitor", "break", "case", "catch", "char", "char16_t",
	"char32_t", "char8_t", "class", "co_await", "co_return", "co_yield",
	"compl", "concept", "const", "const_cast", "consteval", "constexpr",
	"constinit", "continue", "decltype", "default", "delete", "do",
	"double", "dynamic_cast", "enum", "explicit", "export", "extern",
	"false", "float", "for", "friend", "goto", "inline", "int", "long",
	"mutable", "namespace", "new", "noexcept", "not_eq", "nullptr",
	"operator", "or_eq", "private", "protected", "public", "register",
	"reinterpret_cast", "requires", "restrict", "return", "short",
	"signed", "sizeof", "static", "static_assert", "static_cast", "struct",
	"switch", "template", "this", "thread_local", "throw", "true", "try",
	"typedef", "typeid", "typename", "typeof", "typeof_unqual", "union",
	"unsigned", "using", "virtual", "void", "volatile", "wchar_t", "while",
	"xor", "xor_eq"};

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
	return is_letter(c) || is_digit(c);
}

static bool is_keyword(const char *text, size_t size)
{
	for (size_t i = 0; i < sizeof keywords / sizeof keywords[0]; i++)
		if (is_spelled(keywords[i], text, size))
			return true;
	return false;
}

static bool is_identifier(const char *text, size_t size, const char **why)
{
	*why = "is no name: letters, digits and underscores, no digit first";
	if (!size || !is_letter(text[0]))
		return false;
	for (size_t i = 0; i < size; i++)
		if (!is_word(text[i]))
			return false;
	return true;
}

/* An identifier that is not spoken for? */
static bool is_free(const char *text, size_t size, const char **why)
{
	Word word;
	*why = "is a word of the language";
	if (find_word(text, size, &word))
		return false;
	*why = "is a keyword of C or C++";
	if (is_keyword(text, size))
		return false;
	*why = "is taken: every kernel has an argument of this name";
	return size != 9 || memcmp(text, "workspace", 9);
}

bool name_valid(const char *text, size_t size, const char **why)
{
	if (!is_identifier(text, size, why))
		return false;
	*why = "is longer than 63 bytes";
	return size <= NAME_SIZE_MAX && is_free(text, size, why);
}

/* What C compilers have as macros where no -std says otherwise. */
static bool is_predefined(const char *text)
{
	static const char *const macros[] = {"AVR", "MIPSEB", "MIPSEL", "PPC",
		"WIN32", "WIN64", "WINNT", "hppa", "i386", "linux", "m68k",
		"mips", "sparc", "sun", "unix", "vax"};
	for (size_t i = 0; i < sizeof macros / sizeof macros[0]; i++)
		if (!strcmp(macros[i], text))
			return true;
	return false;
}

static bool is_upper(char c)
{
	return c >= 'A' && c <= 'Z';
}

/* "__x" and "_X" are the compiler's, wherever they stand. */
static bool is_reserved(const char *text)
{
	return text[0] == '_' && (text[1] == '_' || is_upper(text[1]));
}

bool name_is_macro(const char *text)
{
	static const char *const others[] = {"alloca", "complex", "errno",
		"imaginary", "math_errhandling", "noreturn"};
	static const char *const beginnings[] = {"sa_", "si_", "sigev_", "st_"};
	if (is_predefined(text) || is_reserved(text))
		return true;
	for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
		if (!strcmp(others[i], text))
			return true;
	bool like = is_upper(text[0]);
	for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++)
		like |= !strncmp(text, beginnings[i], strlen(beginnings[i]));
	return like && name_in_libc(text);
}

/* "32x16"? */
static bool is_lanes(const char *text, char times)
{
	const char *x = text + strspn(text, "0123456789");
	return x > text && *x == times && is_digit(x[1]);
}

/* "f32x16_u", "LOAD_F32X16", "tunec_floordiv": what emitted code calls its own
 * types, macros and functions. */
static bool is_emitted(const char *text)
{
	if (!strncasecmp(text, "tunec_", 6) ||
	    (strchr("fiu", text[0]) && is_lanes(text + 1, 'x')))
		return true;
	bool found = false;
	for (const char *c = text; *c; c++) {
		if (*c >= 'a' && *c <= 'z')
			return false;
		found |= (c == text || c[-1] == '_') && strchr("FIU", *c) &&
		    is_lanes(c + 1, 'X');
	}
	return found;
}

bool name_symbol_valid(const char *text, const char **why)
{
	size_t size = strlen(text);
	if (!is_identifier(text, size, why) || !is_free(text, size, why))
		return false;
	*why = "is an identifier of the C library";
	if (name_in_libc(text))
		return false;
	*why = "is a macro of C compilers";
	if (is_predefined(text))
		return false;
	*why = "begins as names of C compilers do";
	if (is_reserved(text) || !strncmp(text, "_mm", 3))
		return false;
	*why = "is a name that emitted code has for its own";
	return !is_emitted(text);
}

/* --- the scanner ---------------------------------------------------------------- */

typedef VEC(Token) TokenVec;
typedef VEC(uint32_t) Stack;

typedef struct {
	Arena *arena;
	Report *report;
	Tokens *tokens;
	TokenVec out;
	Stack open; /* '[' */
	bool comments;
	bool first;
	size_t at;
} Lexer;

Span token_span(const Tokens *tokens, const Token *token)
{
	if (!tokens->direct)
		return tokens->whole;
	return (Span){
	    tokens->offset + token->begin, tokens->offset + token->end};
}

static Token *push(Lexer *l, TokenKind kind, uint8_t id, size_t end)
{
	Token token = {.kind = (uint8_t)kind,
	    .id = id,
	    .first = l->first,
	    .begin = (uint32_t)l->at,
	    .end = (uint32_t)end};
	vec_push(l->arena, &l->out, token);
	l->first = false;
	l->at = end;
	return &l->out.at[l->out.n - 1];
}

static void push_bad(Lexer *l, size_t end, const char *what)
{
	Span span = token_span(l->tokens, push(l, TOKEN_BAD, 0, end));
	if (!report_full(l->report))
		report_error(l->report, span, "'%s' %s",
		    report_quote(l->report, span), what);
}

static void skip_blank(Lexer *l)
{
	const char *text = l->tokens->text;
	size_t n = l->tokens->size;
	for (; l->at < n; l->at++) {
		char c = text[l->at];
		if (c == '\n')
			l->first = true;
		if (c == '#' && l->comments) {
			while (l->at + 1 < n && text[l->at + 1] != '\n')
				l->at++;
			continue;
		}
		if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
			return;
	}
}

static size_t skip_digits(const Lexer *l, size_t at)
{
	while (at < l->tokens->size && is_digit(l->tokens->text[at]))
		at++;
	return at;
}

static char char_at(const Lexer *l, size_t at)
{
	return at < l->tokens->size ? l->tokens->text[at] : 0;
}

static void lex_number(Lexer *l)
{
	size_t at = skip_digits(l, l->at);
	bool is_float = char_at(l, at) == '.';
	if (is_float)
		at = skip_digits(l, at + 1);
	if (char_at(l, at) == 'e' || char_at(l, at) == 'E') {
		char sign = char_at(l, at + 1);
		size_t digits = at + 1 + (sign == '+' || sign == '-');
		if (is_digit(char_at(l, digits))) {
			is_float = true;
			at = skip_digits(l, digits);
		}
	}
	if (!is_word(char_at(l, at)) && char_at(l, at) != '.') {
		push(l, is_float ? TOKEN_FLOAT : TOKEN_INT, 0, at);
		return;
	}
	while (is_word(char_at(l, at)) || char_at(l, at) == '.')
		at++;
	push_bad(l, at, "is no number: write 12, 1.5 or 1e-5");
}

static void lex_word(Lexer *l)
{
	const char *text = l->tokens->text + l->at;
	size_t end = l->at;
	while (is_word(char_at(l, end)))
		end++;
	Word word;
	bool known = find_word(text, end - l->at, &word);
	if (end - l->at > NAME_SIZE_MAX)
		push_bad(l, end, "is longer than 63 bytes");
	else if (known)
		push(l, word.kind, word.id, end);
	else
		push(l, TOKEN_NAME, 0, end);
}

static void lex_bad(Lexer *l)
{
	size_t end = l->at + 1;
	const char *what = hint_character(l->tokens->text[l->at]);
	while (end < l->tokens->size &&
	    ((unsigned char)l->tokens->text[end] & 0xc0) == 0x80)
		end++;
	push_bad(l, end, what);
}

static void match_bracket(Lexer *l, TokenKind kind)
{
	uint32_t here = (uint32_t)l->out.n - 1;
	if (kind == TOKEN_LBRACKET)
		vec_push(l->arena, &l->open, here);
	if (kind == TOKEN_RBRACKET && l->open.n)
		l->out.at[l->open.at[--l->open.n]].match = here;
}

static void push_foreign(Lexer *l, size_t length, const char *write)
{
	push_bad(l, l->at + length,
	    arena_printf(l->arena, "is no operator: write %s", write));
}

/* Foreign signs of two characters come before signs of the language, which may
 * begin with one. */
static void lex_punctuation(Lexer *l)
{
	const char *text = l->tokens->text + l->at, *write;
	size_t left = l->tokens->size - l->at;
	size_t foreign = hint_sign(text, left, &write);
	if (foreign == 2) {
		push_foreign(l, foreign, write);
		return;
	}
	for (int kind = TOKEN_LE; kind < TOKEN_COUNT; kind++) {
		size_t n = spelled[kind][1] ? 2 : 1;
		if (left < n || memcmp(text, spelled[kind], n))
			continue;
		push(l, (TokenKind)kind, 0, l->at + n);
		match_bracket(l, (TokenKind)kind);
		return;
	}
	if (foreign)
		push_foreign(l, foreign, write);
	else
		lex_bad(l);
}

Tokens lex_scalar(Arena *arena, Report *report, const YamlScalar *scalar)
{
	Tokens tokens = {.text = scalar->text,
	    .size = scalar->size,
	    .offset = scalar->inside.begin,
	    .direct = scalar->direct,
	    .whole = scalar->span};
	Lexer l = {.arena = arena,
	    .report = report,
	    .tokens = &tokens,
	    .comments = scalar->literal,
	    .first = true};
	for (skip_blank(&l); l.at < tokens.size && !report_full(report);
	     skip_blank(&l)) {
		char c = tokens.text[l.at];
		if (is_letter(c))
			lex_word(&l);
		else if (is_digit(c) ||
		    (c == '.' && is_digit(char_at(&l, l.at + 1))))
			lex_number(&l);
		else
			lex_punctuation(&l);
	}
	if (l.out.n)
		l.at = l.out.at[l.out.n - 1].end;
	push(&l, TOKEN_END, 0, l.at);
	tokens.at = l.out.at;
	tokens.n = l.out.n;
	return tokens;
}
