/* A spec's `schedule:` text.
 *
 *     packed:                        a template: the steps up to the next name
 *       ap = cache_read(c, a)
 *       mo, mi = split(c.i, ? in tile(2, inner<=16))
 *
 * A line that is `NAME:` stands for itself; every other line belongs to the
 * template above it.  `set NAME = VALUE` is told to be none. */
#include "schedule/internal.h"

#include <assert.h>
#include <ctype.h>
#include <string.h>

#include "lib/lookup.h"

typedef enum { LINE_STEPS, LINE_NAME, LINE_SET, LINE_BLANK } LineKind;

typedef struct {
	const Program *program;
	Arena *arena;
	Diag *diag;
	size_t at, end;
	Lookup names; /* of the templates so far */
} Lines;

typedef struct {
	LineKind kind;
	Span whole;  /* without the newline */
	Span name;   /* NAME: a template's; SET: from 'set' on */
} Line;

static size_t skip_blanks(const char *text, size_t at, size_t end)
{
	while (at < end && (text[at] == ' ' || text[at] == '\t' ||
		   text[at] == '\r'))
		at++;
	return at;
}

static Span name_at(const char *text, size_t at, size_t end)
{
	Span span = {at, at};

	while (span.end < end &&
	    (isalnum((unsigned char)text[span.end]) || text[span.end] == '_'))
		span.end++;
	return span;
}

static bool only_comment(const char *text, size_t at, size_t end)
{
	at = skip_blanks(text, at, end);
	return at == end || text[at] == '#';
}

static bool is_set(const char *text, Span name)
{
	return name.end - name.begin == 3 &&
	    !memcmp(text + name.begin, "set", 3);
}

static Line classify(const char *text, Span whole)
{
	Line line = {LINE_STEPS, whole, {0, 0}};
	size_t at = skip_blanks(text, whole.begin, whole.end);
	size_t end;

	if (only_comment(text, at, whole.end)) {
		line.kind = LINE_BLANK;
		return line;
	}
	line.name = name_at(text, at, whole.end);
	end = skip_blanks(text, line.name.end, whole.end);
	if (line.name.end > at && end < whole.end && text[end] == ':' &&
	    only_comment(text, end + 1, whole.end)) {
		line.kind = LINE_NAME;
	} else if (is_set(text, line.name) && end > line.name.end &&
	    end < whole.end && text[end] != '=') {
		line.kind = LINE_SET;
	}
	return line;
}

static bool next_line(Lines *l, Line *line)
{
	const char *text = l->program->source->text;
	size_t end = l->at;

	if (l->at >= l->end)
		return false;
	while (end < l->end && text[end] != '\n')
		end++;
	*line = classify(text, (Span){l->at, end});
	l->at = end + 1;
	return true;
}

static Lines lines_of(Arena *arena, const Program *program, Diag *diag)
{
	Span span = program->schedule_span;

	assert(span.begin <= span.end || !program->schedule_text);
	if (!program->schedule_text)
		span.end = span.begin;
	return (Lines){program, arena, diag, span.begin, span.end,
	    .names = {.arena = arena}};
}

static const char *spelled(const Lines *l, Span span)
{
	return arena_strndup(l->arena, l->program->source->text + span.begin,
	    span.end - span.begin);
}

/* --- templates --------------------------------------------------------------- */

static void add_template(Lines *l, Span span, Span steps, NamedTraceVec *out)
{
	const Source *source = l->program->source;
	const char *name = spelled(l, span);
	Trace *trace;

	if (lookup_first(&l->names, name, span.end - span.begin) >= 0) {
		diag_error(l->diag, source, span,
		    "there are two templates of this name");
		return;
	}
	trace = trace_parse(l->arena, source, steps, l->diag);
	if (!trace)
		return;
	lookup_add(&l->names, name, out->n);
	vec_push(l->arena, out, (NamedTrace){name, trace});
}

/* --- all of it --------------------------------------------------------------- */

bool templates_parse(
    Arena *arena, const Program *program, Diag *diag, NamedTraceVec *out)
{
	Lines l = lines_of(arena, program, diag);
	Span name = {0, 0}, steps = {0, 0};
	int errors = diag->errors;
	Line line;

	while (next_line(&l, &line)) {
		if (line.kind == LINE_STEPS && name.end == 0) {
			diag_error(diag, program->source, line.name,
			    "expected 'NAME:' before the steps of a template");
			return false;
		}
		if (line.kind == LINE_STEPS)
			steps.end = line.whole.end;
		if (line.kind != LINE_NAME && line.kind != LINE_SET)
			continue;
		if (name.end)
			add_template(&l, name, steps, out);
		if (line.kind == LINE_SET)
			diag_error(diag, program->source, line.name,
			    "the built-in rules have no settings; what one "
			    "would set is a template's to say");
		name = line.kind == LINE_NAME ? line.name : (Span){0, 0};
		steps = (Span){line.whole.end, line.whole.end};
	}
	if (name.end)
		add_template(&l, name, steps, out);
	return diag->errors == errors;
}
