/* Messages about a text: said once, and no more than can be read. */
#include <stdarg.h>
#include <string.h>

#include "ir/spec/spec.h"
#include "lib/hash.h"

enum { QUOTE_MAX = 60 };

bool report_full(const Report *report)
{
	return report->diag->errors >= SPEC_ERRORS_MAX;
}

/* True the first time. */
static bool say_once(Report *report, Span span, const char *message)
{
	uint64_t hash = hash64(message, strlen(message), span.begin);
	for (int i = 0; i < report->said->n; i++)
		if (report->said->at[i] == hash)
			return false;
	vec_push(report->arena, report->said, hash);
	return true;
}

typedef void Say(Diag *diag, const Source *source, Span span,
    const char *format, ...);

static void report(
    Report *report, Span span, Say *say, const char *format, va_list args)
{
	const char *message = arena_vprintf(report->arena, format, args);
	report->quiet = !say_once(report, span, message);
	if (!report->quiet)
		say(report->diag, report->source, span, "%s", message);
}

void report_error(Report *r, Span span, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	r->failed = true;
	r->quiet = report_full(r);
	if (!r->quiet)
		report(r, span, diag_error, format, args);
	va_end(args);
}

void report_note(Report *r, Span span, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	if (!r->quiet)
		report(r, span, diag_note, format, args);
	va_end(args);
}

void report_warning(Report *r, Span span, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	r->quiet = r->diag->warnings >= SPEC_ERRORS_MAX;
	if (!r->quiet)
		report(r, span, diag_warning, format, args);
	va_end(args);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* A comment begins only in a text of several lines, and no span. */
static size_t skip_blank(const char *text, size_t at, size_t end)
{
	while (at < end && (is_space(text[at]) || text[at] == '#'))
		if (text[at] == '#')
			while (at < end && text[at] != '\n')
				at++;
		else
			at++;
	return at;
}

const char *report_quote(Report *report, Span span)
{
	const char *text = report->source->text;
	char line[QUOTE_MAX + 8];
	size_t n = 0, at = span.begin;
	size_t end =
	    span.end < report->source->size ? span.end : report->source->size;
	while (at < end && n < QUOTE_MAX) {
		size_t next = n ? skip_blank(text, at, end) : at;
		if (next > at && next < end && n)
			line[n++] = ' ';
		at = next;
		if (at < end)
			line[n++] = text[at++];
	}
	if (skip_blank(text, at, end) < end) {
		while (n && ((unsigned char)text[at] & 0xc0) == 0x80)
			at--, n--;
		memcpy(line + n, "...", 3);
		n += 3;
	}
	return arena_strndup(report->arena, line, n);
}
