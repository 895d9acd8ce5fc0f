#include "lib/escape.h"

#include <stdint.h>
#include <string.h>

/* --- characters ---------------------------------------------------------- */

int utf8_size(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;
	int n = *p < 0x80 ? 1 : *p < 0xc2 ? 0 : *p < 0xe0 ? 2 : *p < 0xf0 ? 3
	    : *p < 0xf5 ? 4 : 0;
	if (n == 0 || (size_t)n > left)
		return 0;
	for (int i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] > 0x9f) ||
	    (*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

/* The character of a sequence of n bytes. */
static uint32_t code_point(const char *p, int n)
{
	static const unsigned char first[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t c = (unsigned char)p[0] & first[n];
	for (int i = 1; i < n; i++)
		c = c << 6 | ((unsigned char)p[i] & 0x3f);
	return c;
}

/* Not seen by a person, or not where it stands. */
static bool is_hidden(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x61c ||
	    c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) ||
	    (c >= 0x2066 && c <= 0x2069) || c == 0xfeff ||
	    (c & 0xfffe) == 0xfffe; /* no character */
}

/* One character of a text. */
typedef struct {
	int size;  /* bytes, at least 1 */
	bool utf8; /* else a byte that begins no character */
	bool plain; /* can be seen */
	uint32_t code;
} Char;

static Char char_at(const char *p, size_t left)
{
	int n = utf8_size(p, left);
	if (!n)
		return (Char){.size = 1, .code = (unsigned char)*p};
	uint32_t code = code_point(p, n);
	return (Char){n, true, !is_hidden(code), code};
}

static void put_char(Buf *out, const char *p, Char c)
{
	if (c.plain)
		buf_add(out, p, (size_t)c.size);
	else
		buf_printf(out, c.utf8 && c.code >= 0x80 ? "\\u%04x" : "\\x%02x",
		    (unsigned)c.code);
}

/* --- a person ------------------------------------------------------------ */

void escape_terminal(Buf *out, const char *text, size_t size, const char *keep)
{
	for (size_t i = 0; i < size;) {
		Char c = char_at(text + i, size - i);
		bool space = text[i] == '\n' || text[i] == '\t';
		if (space && strchr(keep, text[i]))
			buf_putc(out, text[i]);
		else if (space)
			buf_puts(out, text[i] == '\n' ? "\\n" : "\\t");
		else
			put_char(out, text + i, c);
		i += (size_t)c.size;
	}
}

/* --- C ------------------------------------------------------------------- */

/* Would the line end with this backslash, for a compiler that skips blanks? */
static bool ends_line(const char *backslash)
{
	return !backslash[1 + strspn(backslash + 1, " \t\r\n")];
}

/* The pairs that mean something in a comment get a space between them; the
 * first half may stand in `out` already. */
void escape_comment(Buf *out, const char *text)
{
	size_t size = strlen(text);
	for (size_t i = 0; i < size;) {
		Char c = char_at(text + i, size - i);
		char now = text[i], last = out->size ? out->data[out->size - 1] : 0;
		bool pair = (last == '*' && now == '/') ||
		    (last == '/' && now == '*') || (last == '?' && now == '?');
		if (pair)
			buf_putc(out, ' ');
		if (now == '\n' || now == '\t')
			buf_putc(out, ' ');
		else if (now == '\\' && ends_line(text + i))
			buf_puts(out, "\\x5c");
		else
			put_char(out, text + i, c);
		i += (size_t)c.size;
	}
}

void escape_c_string(Buf *out, const char *text)
{
	size_t size = strlen(text);
	buf_putc(out, '"');
	for (size_t i = 0; i < size;) {
		Char c = char_at(text + i, size - i);
		if (text[i] == '"' || text[i] == '\\')
			buf_printf(out, "\\%c", text[i]);
		else if (text[i] == '\n')
			buf_puts(out, "\\n");
		else if (text[i] == '?' && i && text[i - 1] == '?')
			buf_puts(out, "\\?"); /* no trigraph */
		else if (c.plain)
			buf_add(out, text + i, (size_t)c.size);
		else
			for (int k = 0; k < c.size; k++)
				buf_printf(out, "\\%03o", (unsigned char)text[i + (size_t)k]);
		i += (size_t)c.size;
	}
	buf_putc(out, '"');
}

void escape_c_lines(Buf *out, const char *text, size_t size)
{
	Buf line = {0};
	for (size_t at = 0; at < size;) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t n = end ? (size_t)(end - text) + 1 - at : size - at;
		buf_clear(&line);
		buf_add(&line, text + at, n);
		buf_puts(out, at ? "\n    " : "    ");
		escape_c_string(out, buf_text(&line));
		at += n;
	}
	buf_free(&line);
}

/* --- JSON ---------------------------------------------------------------- */

void escape_json(Buf *out, const char *text, size_t size)
{
	buf_putc(out, '"');
	for (size_t i = 0; i < size;) {
		int n = utf8_size(text + i, size - i);
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			buf_printf(out, "\\%c", c);
		else if (c == '\n')
			buf_puts(out, "\\n");
		else if (c == '\t')
			buf_puts(out, "\\t");
		else if (c == '\r')
			buf_puts(out, "\\r");
		else if (c < 0x20)
			buf_printf(out, "\\u%04x", c);
		else if (n)
			buf_add(out, text + i, (size_t)n);
		else
			buf_puts(out, "\xef\xbf\xbd");
		i += n ? (size_t)n : 1;
	}
	buf_putc(out, '"');
}

/* Controls of C0 stand between values only, as white space. */
void escape_json_text(Buf *out, const char *json, size_t size)
{
	for (size_t i = 0; i < size;) {
		Char c = char_at(json + i, size - i);
		if (c.plain || c.code < 0x20)
			buf_add(out, json + i, (size_t)c.size);
		else if (c.code < 0x10000)
			buf_printf(out, "\\u%04x", (unsigned)c.code);
		else
			buf_printf(out, "\\u%04x\\u%04x",
			    (unsigned)(0xd7c0 + (c.code >> 10)),
			    (unsigned)(0xdc00 + (c.code & 0x3ff)));
		i += (size_t)c.size;
	}
}

/* --- a shell ------------------------------------------------------------- */

typedef enum { WORD_BARE, WORD_QUOTED, WORD_PRINTED } WordForm;

/* The least that a word needs. */
static WordForm word_form(const char *text, size_t size)
{
	static const char bare[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				   "abcdefghijklmnopqrstuvwxyz0123456789"
				   "_-./:,+@";
	WordForm form = size && strspn(text, bare) == size ? WORD_BARE
							    : WORD_QUOTED;
	for (size_t i = 0; i < size;) {
		Char c = char_at(text + i, size - i);
		if (!c.plain)
			return WORD_PRINTED;
		i += (size_t)c.size;
	}
	return form;
}

/* Within single quotes. */
static void put_quoted(Buf *out, char c)
{
	if (c == '\'')
		buf_puts(out, "'\\''");
	else
		buf_putc(out, c);
}

/* As the format of printf(1), which every shell has; not every one has $'...'. */
static void put_format(Buf *out, const char *text, size_t size)
{
	for (size_t i = 0; i < size;) {
		Char c = char_at(text + i, size - i);
		for (int k = 0; k < c.size; k++) {
			char b = text[i + (size_t)k];
			if (!c.plain || (!i && b == '-'))
				buf_printf(out, "\\%03o", (unsigned char)b);
			else if (b == '%' || b == '\\')
				buf_printf(out, "%c%c", b, b);
			else
				put_quoted(out, b);
		}
		i += (size_t)c.size;
	}
}

/* $() drops the newlines at the end, so these alone stand in quotes. */
void escape_shell(Buf *out, const char *text)
{
	size_t size = strlen(text);
	WordForm form = word_form(text, size);
	if (form == WORD_BARE) {
		buf_puts(out, text);
		return;
	}
	if (form == WORD_PRINTED) {
		size_t end = size;
		while (end && text[end - 1] == '\n')
			end--;
		if (end) {
			buf_puts(out, "\"$(printf '");
			put_format(out, text, end);
			buf_puts(out, "')\"");
		}
		if (end == size)
			return;
		text += end;
	}
	buf_putc(out, '\'');
	for (; *text; text++)
		put_quoted(out, *text);
	buf_putc(out, '\'');
}

/* --- make ---------------------------------------------------------------- */

/* Words end at the first, or mean something else with them. */
static const char unnameable[] = "\t\n\v\f\r;|&()";
/* Patterns of names: a backslash before one of them is taken away when the
 * name is looked for, and then so is every other. */
static const char globs[] = "*?[";

static bool make_can(const char *name)
{
	size_t n = strlen(name);
	return n && !name[strcspn(name, unnameable)] && name[n - 1] != '\\' &&
	    !(strchr(name, '\\') && name[strcspn(name, globs)]);
}

bool escape_make(Buf *out, const char *name, MakePlace place)
{
	int backslashes = 0; /* just before */
	if (!make_can(name))
		return false;
	if (*name == '~')
		buf_puts(out, "./");
	for (; *name; name++) {
		char c = *name;
		bool escaped = strchr(" #:", c) || strchr(globs, c) ||
		    (c == '%' && place == MAKE_TARGET);
		for (int i = 0; escaped && i <= backslashes; i++)
			buf_putc(out, '\\');
		backslashes = c == '\\' ? backslashes + 1 : 0;
		if (c == '=')
			buf_puts(out, "$(or =)"); /* no assignment */
		else if (c == '$')
			buf_puts(out, "$$");
		else
			buf_putc(out, c);
	}
	return true;
}
