#include "lib/diag.h"

#include <stdarg.h>
#include <string.h>

#include "lib/escape.h"

void source_place(const Source *source, size_t offset, int *line, int *column)
{
	size_t start = 0;
	*line = 1;
	if (offset > source->size)
		offset = source->size;
	for (size_t i = 0; i < offset; i++)
		if (source->text[i] == '\n') {
			++*line;
			start = i + 1;
		}
	*column = (int)(offset - start) + 1;
}

/* As many columns of `c` as the text takes when it is shown: tabs stay tabs, a
 * continuation byte of UTF-8 takes no column on the screen. */
static void add_columns(Buf *out, const char *text, size_t size, char c)
{
	Buf shown = {0};
	escape_terminal(&shown, text, size, "\t");
	for (size_t i = 0; i < shown.size; i++)
		if (shown.data[i] == '\t' && c == ' ')
			buf_putc(out, '\t');
		else if (((unsigned char)shown.data[i] & 0xc0) != 0x80)
			buf_putc(out, c);
	buf_free(&shown);
}

enum { LINE_SHOWN_MAX = 400 };

static void add_excerpt(Buf *out, const Source *source, Span span)
{
	size_t begin = span.begin < source->size ? span.begin : source->size;
	size_t start = begin, end = begin;
	while (start > 0 && begin - start <= LINE_SHOWN_MAX &&
	    source->text[start - 1] != '\n')
		start--;
	while (end < source->size && end - start <= LINE_SHOWN_MAX &&
	    source->text[end] != '\n' && source->text[end] != '\r')
		end++;
	if (end - start > LINE_SHOWN_MAX)
		return;
	escape_terminal(out, source->text + start, end - start, "\t");
	buf_putc(out, '\n');
	add_columns(out, source->text + start, begin - start, ' ');
	size_t caret = out->size;
	if (span.end > begin && begin < end)
		add_columns(out, source->text + begin,
		    (span.end < end ? span.end : end) - begin, '~');
	if (out->size == caret)
		buf_putc(out, '~');
	out->data[caret] = '^';
	buf_putc(out, '\n');
}

static void diag_add(Diag *diag, const char *kind, const Source *source,
    Span span, const char *format, va_list args)
{
	int line, column;
	source_place(source, span.begin, &line, &column);
	const char *name = strcmp(source->name, "-") ? source->name : "<stdin>";
	Buf message = {0};
	buf_vprintf(&message, format, args);
	escape_terminal(&diag->text, name, strlen(name), "");
	buf_printf(&diag->text, ":%d:%d: %s: ", line, column, kind);
	if (diag->suffix)
		buf_printf(&message, " %s", diag->suffix);
	escape_terminal(&diag->text, buf_text(&message), message.size, "");
	buf_free(&message);
	buf_putc(&diag->text, '\n');
	add_excerpt(&diag->text, source, span);
}

void diag_error(
    Diag *diag, const Source *source, Span span, const char *format, ...)
{
	if (diag->errors && diag->last_begin == span.begin)
		return;
	diag->last_begin = span.begin;
	diag->errors++;
	va_list args;
	va_start(args, format);
	diag_add(diag, "error", source, span, format, args);
	va_end(args);
}

void diag_warning(
    Diag *diag, const Source *source, Span span, const char *format, ...)
{
	diag->warnings++;
	va_list args;
	va_start(args, format);
	diag_add(diag, "warning", source, span, format, args);
	va_end(args);
}

void diag_note(
    Diag *diag, const Source *source, Span span, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	diag_add(diag, "note", source, span, format, args);
	va_end(args);
}

void diag_free(Diag *diag)
{
	buf_free(&diag->text);
}
