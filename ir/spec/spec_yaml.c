/* The YAML around the language: text -> SpecDoc.
 *
 * libyaml gives events; what they hold is text, never typed by YAML's rules.
 * It tells neither the indentation of a literal block nor the lines inside it,
 * so a scalar whose bytes stand in the source as they are (plain, quoted
 * without escapes, literal) is a piece of the source, and offsets need no map.
 * A mark of libyaml counts characters: `bytes` turns it into a byte offset. */
#include <string.h>
#include <yaml.h>

#include "ir/spec/spec.h"
#include "lib/escape.h"
#include "lib/hash.h"

enum { DEPTH_MAX = 8 };

typedef struct {
	Arena *arena;
	Report *report;
	SpecDoc *doc;
	yaml_parser_t parser;
	yaml_event_t event;
	bool failed;     /* no event follows */
	size_t base;     /* bytes of a byte-order mark */
	uint32_t *bytes; /* of a character; NULL where all are ASCII */
	size_t nchars;
} YamlReader;

/* --- characters --------------------------------------------------------------- */

static const char *wrong_character(const char *text, size_t left)
{
	const unsigned char *p = (const unsigned char *)text;
	if (!utf8_size(text, left))
		return "is not UTF-8";
	if (*p == '\r' && (left < 2 || p[1] != '\n'))
		return "is a carriage return without a newline";
	if ((*p < 0x20 && !strchr("\t\n\r", *p)) || *p == 0x7f || *p == 0)
		return "is a control character";
	if (*p == 0xc2 && p[1] < 0xa0 && p[1] != 0x85)
		return "begins a control character";
	if (*p == 0xef && p[1] == 0xbf && p[2] >= 0xbe)
		return "begins no character";
	return NULL;
}

static bool check_characters(YamlReader *r)
{
	const Source *source = r->report->source;
	const char *p = source->text;
	size_t n = source->size, ascii = 0;
	if (n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		r->base = 3;
	for (size_t i = r->base; i < n; ascii++) {
		const char *why = wrong_character(p + i, n - i);
		int size = utf8_size(p + i, n - i);
		if (why) {
			Span span = {i, i + (size_t)(size ? size : 1)};
			report_error(r->report, span,
			    "the byte 0x%02x %s", (unsigned char)p[i], why);
			return false;
		}
		i += (size_t)size;
	}
	r->nchars = ascii;
	if (ascii == n - r->base)
		return true;
	r->bytes = NEW_N(r->arena, uint32_t, r->nchars + 1);
	size_t at = r->base;
	for (size_t i = 0; i < r->nchars; i++) {
		r->bytes[i] = (uint32_t)at;
		at += (size_t)utf8_size(p + at, n - at);
	}
	r->bytes[r->nchars] = (uint32_t)n;
	return true;
}

static size_t offset_of(const YamlReader *r, const yaml_mark_t *mark)
{
	size_t index = mark->index < r->nchars ? mark->index : r->nchars;
	return r->bytes ? r->bytes[index] : r->base + index;
}

static Span event_span(const YamlReader *r)
{
	Span span = {offset_of(r, &r->event.start_mark),
	    offset_of(r, &r->event.end_mark)};
	if (r->event.type != YAML_SCALAR_EVENT && span.end > span.begin + 1)
		span.end = span.begin + 1;
	return span;
}

/* --- events ------------------------------------------------------------------- */

static void yaml_failed(YamlReader *r)
{
	const yaml_parser_t *p = &r->parser;
	size_t at = offset_of(r, &p->problem_mark);
	report_error(r->report, (Span){at, at}, "%s%s%s",
	    p->problem ? p->problem : "no YAML", p->context ? " " : "",
	    p->context ? p->context : "");
	r->failed = true;
}

static void refuse_properties(
    YamlReader *r, const yaml_char_t *anchor, const yaml_char_t *tag)
{
	if (anchor)
		report_error(r->report, event_span(r),
		    "anchors are not allowed: '&%s'", (const char *)anchor);
	else if (tag)
		report_error(r->report, event_span(r),
		    "tags are not allowed: '%s'", (const char *)tag);
}

/* Moves on to the next event; its type, or NO_EVENT where there is none. */
static yaml_event_type_t next_event(YamlReader *r)
{
	if (r->failed)
		return YAML_NO_EVENT;
	yaml_event_delete(&r->event);
	if (report_full(r->report)) {
		r->failed = true;
	} else if (!yaml_parser_parse(&r->parser, &r->event)) {
		yaml_failed(r);
	}
	if (r->failed) {
		memset(&r->event, 0, sizeof r->event);
		return YAML_NO_EVENT;
	}
	switch (r->event.type) {
	case YAML_ALIAS_EVENT:
		report_error(r->report, event_span(r),
		    "aliases are not allowed: '*%s'",
		    (const char *)r->event.data.alias.anchor);
		break;
	case YAML_SCALAR_EVENT:
		refuse_properties(r, r->event.data.scalar.anchor,
		    r->event.data.scalar.tag);
		break;
	case YAML_SEQUENCE_START_EVENT:
		refuse_properties(r, r->event.data.sequence_start.anchor,
		    r->event.data.sequence_start.tag);
		break;
	case YAML_MAPPING_START_EVENT:
		refuse_properties(r, r->event.data.mapping_start.anchor,
		    r->event.data.mapping_start.tag);
		break;
	default:
		break;
	}
	return r->event.type;
}

/* Passes over the node that begins with the event at hand. */
static void skip_node(YamlReader *r)
{
	int depth = 0;
	for (;;) {
		yaml_event_type_t type = r->event.type;
		if (type == YAML_SEQUENCE_START_EVENT ||
		    type == YAML_MAPPING_START_EVENT)
			depth++;
		if (type == YAML_SEQUENCE_END_EVENT ||
		    type == YAML_MAPPING_END_EVENT)
			depth--;
		if (depth > DEPTH_MAX) {
			report_error(
			    r->report, event_span(r), "nested too deep");
			r->failed = true;
			return;
		}
		if (depth == 0 || next_event(r) == YAML_NO_EVENT)
			return;
	}
}

/* --- scalars ------------------------------------------------------------------ */

static size_t after_line(const Source *source, size_t at)
{
	const char *newline =
	    memchr(source->text + at, '\n', source->size - at);
	return newline ? (size_t)(newline - source->text) + 1 : source->size;
}

/* The bytes of the value, if they stand in the source. */
static bool find_inside(const YamlReader *r, YamlScalar *s)
{
	const Source *source = r->report->source;
	const char *text = source->text;
	Span in = s->span;
	char escape = 0;
	switch (r->event.data.scalar.style) {
	case YAML_SINGLE_QUOTED_SCALAR_STYLE:
		escape = '\'';
		break;
	case YAML_DOUBLE_QUOTED_SCALAR_STYLE:
		escape = '\\';
		break;
	case YAML_LITERAL_SCALAR_STYLE:
	case YAML_FOLDED_SCALAR_STYLE:
		in.begin = after_line(source, in.begin);
		break;
	default:
		break;
	}
	if (escape && in.end >= in.begin + 2)
		in.begin++, in.end--;
	if (in.end < in.begin)
		in.end = in.begin;
	s->inside = in;
	return !escape || !memchr(text + in.begin, escape, in.end - in.begin);
}

static YamlScalar scalar_here(YamlReader *r)
{
	YamlScalar s = {.span = event_span(r)};
	s.text = "";
	s.inside = s.span;
	if (r->event.type != YAML_SCALAR_EVENT)
		return s; /* an alias */
	s.literal = r->event.data.scalar.style == YAML_LITERAL_SCALAR_STYLE;
	s.direct = find_inside(r, &s) && !r->event.data.scalar.anchor &&
	    !r->event.data.scalar.tag;
	s.text = r->report->source->text + s.inside.begin;
	s.size = s.inside.end - s.inside.begin;
	if (!s.direct) {
		s.size = r->event.data.scalar.length;
		s.text = arena_memdup(
		    r->arena, r->event.data.scalar.value, s.size + 1);
	}
	if (s.literal) /* its header is enough to point at */
		while (s.span.end > s.span.begin &&
		    memchr(r->report->source->text + s.span.begin, '\n',
			s.span.end - s.span.begin))
			s.span.end = s.span.begin + 1;
	return s;
}

static bool scalar_is(const YamlScalar *s, const char *text)
{
	return s->size == strlen(text) && !memcmp(s->text, text, s->size);
}

static bool is_leaf(const YamlReader *r)
{
	return r->event.type == YAML_SCALAR_EVENT ||
	    r->event.type == YAML_ALIAS_EVENT;
}

/* The node at hand, if it is a scalar; else a message about `what`. */
static bool read_scalar(YamlReader *r, const char *what, YamlScalar *s)
{
	if (is_leaf(r)) {
		*s = scalar_here(r);
		return r->event.type == YAML_SCALAR_EVENT;
	}
	report_error(r->report, event_span(r), "%s is a text, not a %s", what,
	    r->event.type == YAML_MAPPING_START_EVENT ? "mapping" : "list");
	skip_node(r);
	return false;
}

/* --- mappings and lists -------------------------------------------------------- */

/* The key at hand; moves on to its value.  False where it cannot be used (the
 * value is then passed over). */
static bool read_key(YamlReader *r, YamlScalar *key)
{
	bool good = read_scalar(r, "a key", key);
	if (good && scalar_is(key, "<<")) {
		report_error(
		    r->report, key->span, "merge keys are not allowed");
		good = false;
	}
	if (next_event(r) == YAML_NO_EVENT)
		return false;
	if (!good)
		skip_node(r);
	return good;
}

/* Keys that a mapping has had: open addressing. */
typedef struct {
	YamlScalar *at;
	size_t n, cap;
} KeySet;

static bool put_key(KeySet *set, const YamlScalar *key)
{
	size_t at = hash64(key->text, key->size, 0) & (set->cap - 1);
	for (; set->at[at].text; at = (at + 1) & (set->cap - 1))
		if (set->at[at].size == key->size &&
		    !memcmp(set->at[at].text, key->text, key->size))
			return false;
	set->at[at] = *key;
	set->n++;
	return true;
}

/* False, after a message, where the key is there already. */
static bool add_key(YamlReader *r, KeySet *set, const YamlScalar *key)
{
	if (2 * set->n >= set->cap) {
		KeySet old = *set;
		set->cap = old.cap ? 2 * old.cap : 16;
		set->n = 0;
		set->at = NEW_N(r->arena, YamlScalar, set->cap);
		for (size_t i = 0; i < old.cap; i++)
			if (old.at[i].text)
				put_key(set, &old.at[i]);
	}
	if (put_key(set, key))
		return true;
	report_error(r->report, key->span, "'%s' is there twice",
	    report_quote(r->report, key->span));
	return false;
}

/* True where the node at hand is a mapping; else a message. */
static bool enter_mapping(YamlReader *r, const YamlScalar *owner)
{
	if (r->event.type == YAML_MAPPING_START_EVENT)
		return true;
	Span span = event_span(r);
	report_error(r->report, span.end > span.begin ? span : owner->span,
	    "'%s' holds a mapping, NAME: VALUE",
	    report_quote(r->report, owner->span));
	skip_node(r);
	return false;
}

static void read_map(YamlReader *r, const YamlScalar *owner, DocMap *map)
{
	KeySet keys = {0};
	if (!enter_mapping(r, owner))
		return;
	while (next_event(r) != YAML_MAPPING_END_EVENT && !r->failed) {
		DocEntry entry = {0};
		if (!read_key(r, &entry.key))
			continue;
		const char *what = arena_printf(r->arena, "'%s'",
		    report_quote(r->report, entry.key.span));
		bool good = read_scalar(r, what, &entry.value);
		if (add_key(r, &keys, &entry.key) && good)
			vec_push(r->arena, map, entry);
	}
}

static void read_cases(YamlReader *r, const YamlScalar *owner)
{
	KeySet keys = {0};
	if (!enter_mapping(r, owner))
		return;
	while (next_event(r) != YAML_MAPPING_END_EVENT && !r->failed) {
		DocCase entry = {0};
		if (!read_key(r, &entry.name))
			continue;
		bool fresh = add_key(r, &keys, &entry.name);
		r->report->diag->suffix = arena_printf(r->arena, "(case %s)",
		    report_quote(r->report, entry.name.span));
		read_map(r, &entry.name, &entry.overrides);
		r->report->diag->suffix = NULL;
		if (fresh)
			vec_push(r->arena, &r->doc->cases, entry);
	}
}

static void read_outputs(YamlReader *r, const YamlScalar *owner)
{
	r->doc->outputs_span = owner->span;
	if (r->event.type != YAML_SEQUENCE_START_EVENT) {
		report_error(r->report, event_span(r),
		    "'outputs' holds a list of definitions, [NAME, NAME]");
		skip_node(r);
		return;
	}
	int errors = r->report->diag->errors;
	while (next_event(r) != YAML_SEQUENCE_END_EVENT && !r->failed) {
		YamlScalar name;
		if (read_scalar(r, "an output", &name))
			vec_push(r->arena, &r->doc->outputs, name);
	}
	if (!r->doc->outputs.n && r->report->diag->errors == errors)
		report_error(r->report, owner->span,
		    "'outputs' names at least one definition");
}

/* --- the top level ------------------------------------------------------------- */

static void read_format(YamlReader *r, const YamlScalar *owner)
{
	YamlScalar *format = &r->doc->format;
	(void)owner;
	if (!read_scalar(r, "'tunec'", format))
		return;
	size_t zeros = 0;
	while (zeros < format->size && format->text[zeros] == '0')
		zeros++;
	if (format->size - zeros == 1 && format->text[zeros] == '1')
		return;
	report_error(r->report, format->span,
	    "'tunec' is the version of the format: this tunec reads 1");
	r->failed = true;
}

static void read_name(YamlReader *r, const YamlScalar *owner)
{
	(void)owner;
	read_scalar(r, "'name'", &r->doc->name);
}

static void read_doc(YamlReader *r, const YamlScalar *owner)
{
	YamlScalar *s = &r->doc->doc;
	(void)owner;
	if (!read_scalar(r, "'doc'", s))
		return;
	s->size = r->event.data.scalar.length;
	s->text = arena_memdup(
	    r->arena, r->event.data.scalar.value, s->size + 1);
	s->direct = false;
}

static void read_literal(YamlReader *r, const YamlScalar *owner, YamlScalar *s)
{
	const char *name = report_quote(r->report, owner->span);
	const char *what = arena_printf(r->arena, "'%s'", name);
	if (read_scalar(r, what, s) && !s->literal)
		report_error(r->report, s->span,
		    "'%s' is a literal block: write '%s: |' and the text "
		    "below, indented", name, name);
}

static void read_compute(YamlReader *r, const YamlScalar *owner)
{
	read_literal(r, owner, &r->doc->compute);
}

static void read_schedule(YamlReader *r, const YamlScalar *owner)
{
	read_literal(r, owner, &r->doc->schedule);
}

static void read_params(YamlReader *r, const YamlScalar *owner)
{
	read_map(r, owner, &r->doc->params);
}

static void read_inputs(YamlReader *r, const YamlScalar *owner)
{
	read_map(r, owner, &r->doc->inputs);
}

static void read_weights(YamlReader *r, const YamlScalar *owner)
{
	read_map(r, owner, &r->doc->weights);
}

static const struct {
	const char *name;
	bool required;
	void (*read)(YamlReader *r, const YamlScalar *owner);
} top_keys[] = {
	{"tunec", true, read_format},
	{"name", true, read_name},
	{"doc", false, read_doc},
	{"params", false, read_params},
	{"inputs", false, read_inputs},
	{"compute", true, read_compute},
	{"outputs", false, read_outputs},
	{"cases", false, read_cases},
	{"weights", false, read_weights},
	{"schedule", false, read_schedule},
};
enum { NKEYS = sizeof top_keys / sizeof top_keys[0] };

static void read_entry(YamlReader *r, bool *seen)
{
	YamlScalar key;
	int k = 0;
	if (!read_key(r, &key))
		return;
	while (k < NKEYS && !scalar_is(&key, top_keys[k].name))
		k++;
	if (k < NKEYS && !seen[k]) {
		seen[k] = true;
		top_keys[k].read(r, &key);
		return;
	}
	report_error(r->report, key.span,
	    k < NKEYS ? "the key '%s' is there twice"
		      : "unknown key '%s'; there are tunec, name, doc, params, "
			"inputs, compute, outputs, cases, weights, schedule",
	    report_quote(r->report, key.span));
	skip_node(r);
}

static void require_keys(YamlReader *r, const bool *seen, Span span)
{
	const char *missing = NULL;
	int n = 0;
	for (int k = 0; k < NKEYS; k++)
		if (top_keys[k].required && !seen[k]) {
			missing = arena_printf(r->arena, "%s%s'%s'",
			    missing ? missing : "", missing ? ", " : "",
			    top_keys[k].name);
			n++;
		}
	if (missing)
		report_error(r->report, span, "%s %s missing", missing,
		    n > 1 ? "are" : "is");
}

static void read_document(YamlReader *r)
{
	bool seen[NKEYS] = {false};
	Span start = {r->base, r->base};
	next_event(r); /* of the stream */
	if (next_event(r) == YAML_STREAM_END_EVENT) {
		report_error(r->report, start, "the file is empty");
		return;
	}
	if (next_event(r) != YAML_MAPPING_START_EVENT) {
		if (!r->failed)
			report_error(r->report, event_span(r),
			    "expected a mapping that begins with 'tunec: 1'");
		return;
	}
	start = event_span(r);
	while (next_event(r) != YAML_MAPPING_END_EVENT && !r->failed)
		read_entry(r, seen);
	if (r->failed)
		return;
	require_keys(r, seen, start);
	next_event(r); /* the document's end */
	if (next_event(r) != YAML_STREAM_END_EVENT && !r->failed)
		report_error(r->report, event_span(r),
		    "a second document: a file holds one operator");
}

bool doc_read(Arena *arena, Report *report, SpecDoc *doc)
{
	YamlReader r = {.arena = arena, .report = report, .doc = doc};
	const Source *source = report->source;
	if (source->size > SPEC_SIZE_MAX) {
		report_error(report, (Span){0, 0},
		    "the file is larger than 1 MiB");
		return false;
	}
	if (!check_characters(&r) || !yaml_parser_initialize(&r.parser))
		return false;
	yaml_parser_set_input_string(&r.parser,
	    (const unsigned char *)source->text + r.base,
	    source->size - r.base);
	read_document(&r);
	yaml_event_delete(&r.event);
	yaml_parser_delete(&r.parser);
	return !r.failed;
}
