#include "lib/diag.h"

#include <stdarg.h>
#include <string.h>

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

/* Bytes of the line that a caret line has to skip: tabs stay tabs, a
 * continuation byte of UTF-8 takes no column on the screen. */
static void add_indent(Buf *out, const char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (line[i] == '\t')
			buf_putc(out, '\t');
		else if (((unsigned char)line[i] & 0xc0) != 0x80)
			buf_putc(out, ' ');
}

enum { LINE_SHOWN_MAX = 400 };

static void add_excerpt(Buf *out, const Source *source, Span span)
{
	size_t begin = span.begin < source->size ? span.begin : source->size;
	size_t start = begin, end = begin;
	while (start > 0 && source->text[start - 1] != '\n')
		start--;
	while (end < source->size && source->text[end] != '\n' &&
	    source->text[end] != '\r')
		end++;
	if (end - start > LINE_SHOWN_MAX)
		return;
	buf_add(out, source->text + start, end - start);
	buf_putc(out, '\n');
	add_indent(out, source->text + start, begin - start);
	buf_putc(out, '^');
	for (size_t i = begin + 1; i < span.end && i < end; i++)
		if (((unsigned char)source->text[i] & 0xc0) != 0x80)
			buf_putc(out, '~');
	buf_putc(out, '\n');
}

static void diag_add(Diag *diag, const char *kind, const Source *source,
    Span span, const char *format, va_list args)
{
	int line, column;
	source_place(source, span.begin, &line, &column);
	buf_printf(&diag->text, "%s:%d:%d: %s: ",
	    strcmp(source->name, "-") ? source->name : "<stdin>", line, column,
	    kind);
	buf_vprintf(&diag->text, format, args);
	if (diag->suffix)
		buf_printf(&diag->text, " %s", diag->suffix);
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
