/* Options from tables, as getopt_long reads them: --name=value, --name value,
 * unambiguous beginnings of long names, -x value, -xvalue, -xyz for flags,
 * operands anywhere, -- before operands that begin with a dash.  Words such as
 * -MD, which compilers made common, are why this is not getopt_long. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "lib/alike.h"

static const Option common_options[] = {
	{"quiet", 'q', OPTION_FLAG, offsetof(Common, quiet), NULL, NULL,
	    "print errors and results only"},
	{"verbose", 'v', OPTION_FLAG, offsetof(Common, verbose), NULL, NULL,
	    "print more"},
	{"json", 0, OPTION_FLAG, offsetof(Common, json), NULL, NULL,
	    "print JSON, one object a line where there are many"},
	{"help", 'h', OPTION_FLAG, offsetof(Common, help), NULL, NULL,
	    "print this text"},
	{0}};

static const Option spec_options[] = {
	{NULL, 'D', OPTION_LIST, offsetof(Common, define), "NAME=EXPR", NULL,
	    "set a param, after the case; repeatable"},
	{"numerics", 0, OPTION_TEXT, offsetof(Common, numerics), "MODE",
	    "default", "default, exact or fast"},
	{0}};

/* --- tables ----------------------------------------------------------------- */

enum { NTABLES = 3 };

static void option_tables(const Verb *verb, const Option *tables[NTABLES])
{
	static const Option none[] = {{0}};
	tables[0] = verb->options ? verb->options : none;
	tables[1] = verb->specs ? spec_options : none;
	tables[2] = common_options;
}

static bool option_is_end(const Option *o)
{
	return !o->name && !o->letter;
}

typedef void OptionVisit(const Option *o, void *context);

static void each_option(const Verb *verb, OptionVisit *visit, void *context)
{
	const Option *tables[NTABLES];
	option_tables(verb, tables);
	for (int t = 0; t < NTABLES; t++)
		for (const Option *o = tables[t]; !option_is_end(o); o++)
			visit(o, context);
}

/* --- looking up ------------------------------------------------------------- */

typedef struct {
	const char *text; /* without dashes */
	size_t size;
	const Option *exact, *begins;
	bool ambiguous;
} LongName;

static void match_long(const Option *o, void *context)
{
	LongName *name = context;
	if (!o->name || o->name[0] == '-' ||
	    strncmp(o->name, name->text, name->size))
		return;
	if (!o->name[name->size])
		name->exact = o;
	else if (name->begins)
		name->ambiguous = true;
	else
		name->begins = o;
}

typedef struct {
	const char *text; /* "-MD" or "x" */
	const Option *found;
} ShortName;

static void match_word(const Option *o, void *context)
{
	ShortName *name = context;
	if (o->name && !strcmp(o->name, name->text))
		name->found = o;
}

static void match_letter(const Option *o, void *context)
{
	ShortName *name = context;
	if (o->letter && o->letter == name->text[0])
		name->found = o;
}

/* --- storing ---------------------------------------------------------------- */

static void list_push(TextList *list, const char *text)
{
	if (list->n == list->cap) {
		list->cap = list->cap ? 2 * list->cap : 8;
		list->at = must_realloc(
		    list->at, (size_t)list->cap * sizeof *list->at);
	}
	list->at[list->n++] = text;
}

static bool parse_count(const char *text, int64_t *value)
{
	char *end;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	*value = n;
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno;
}

typedef struct {
	const Verb *verb;
	void *options;
	int argc, next, noperands;
	char **argv;
	bool failed;
} Parse;

static void store(Parse *p, const Option *o, const char *shown, const char *value)
{
	void *field = (char *)p->options + o->offset;
	switch (o->kind) {
	case OPTION_FLAG:
		*(bool *)field = true;
		break;
	case OPTION_TEXT:
		*(const char **)field = value;
		break;
	case OPTION_LIST:
		list_push(field, value);
		break;
	case OPTION_INT:
		if (!parse_count(value, field)) {
			say_usage(p->verb->name,
			    "'%s' of %s is not a whole number", value, shown);
			p->failed = true;
		}
	}
}

static void store_preset(const Option *o, void *context)
{
	if (o->preset && o->kind != OPTION_FLAG)
		store(context, o, o->name, o->preset);
}

/* The value behind the option's own word, or NULL after a message. */
static const char *next_value(Parse *p, const char *shown)
{
	if (p->next < p->argc)
		return p->argv[p->next++];
	say_usage(p->verb->name, "option %s needs a value", shown);
	p->failed = true;
	return NULL;
}

static void take_option(
    Parse *p, const Option *o, const char *shown, const char *attached)
{
	if (o->kind == OPTION_FLAG && attached) {
		say_usage(p->verb->name, "option %s takes no value", shown);
		p->failed = true;
		return;
	}
	const char *value = attached;
	if (o->kind != OPTION_FLAG && !value && !(value = next_value(p, shown)))
		return;
	store(p, o, shown, value);
}

static void look_at_name(const Option *o, void *context)
{
	if (o->name && o->name[0] != '-')
		alike_look(context, o->name);
}

/* The first `size` bytes of the word are no option. */
static void unknown_long(Parse *p, const char *word, int size)
{
	char name[ALIKE_SIZE + 1];
	snprintf(name, sizeof name, "%.*s", size - 2, word + 2);
	Alike a = alike_to(name);
	each_option(p->verb, look_at_name, &a);
	say_usage(p->verb->name, "unknown option '%.*s'%s", size, word,
	    alike_question(&a, "--"));
}

static void parse_long(Parse *p, const char *word)
{
	const char *equals = strchr(word, '=');
	LongName name = {.text = word + 2};
	name.size = equals ? (size_t)(equals - word - 2) : strlen(word + 2);
	each_option(p->verb, match_long, &name);
	const Option *o = name.exact ? name.exact : name.begins;
	int shown = (int)name.size + 2;
	if (!o || (!name.exact && name.ambiguous)) {
		if (o)
			say_usage(p->verb->name, "ambiguous option '%.*s'",
			    shown, word);
		else
			unknown_long(p, word, shown);
		p->failed = true;
		return;
	}
	char full[64];
	snprintf(full, sizeof full, "--%s", o->name);
	take_option(p, o, full, equals ? equals + 1 : NULL);
}

static void parse_short(Parse *p, const char *word)
{
	ShortName name = {.text = word};
	each_option(p->verb, match_word, &name);
	if (name.found) {
		take_option(p, name.found, word, NULL);
		return;
	}
	for (const char *c = word + 1; *c && !p->failed; c++) {
		char shown[3] = {'-', *c, 0};
		name = (ShortName){.text = c};
		each_option(p->verb, match_letter, &name);
		if (!name.found) {
			say_usage(p->verb->name, "unknown option '%s'", shown);
			p->failed = true;
		} else if (name.found->kind == OPTION_FLAG) {
			take_option(p, name.found, shown, NULL);
		} else {
			take_option(p, name.found, shown, c[1] ? c + 1 : NULL);
			return;
		}
	}
}

int options_parse(const Verb *verb, void *options, int argc, char **argv)
{
	Parse p = {.verb = verb, .options = options, .argc = argc, .argv = argv};
	bool only_operands = false;
	each_option(verb, store_preset, &p);
	while (p.next < argc && !p.failed) {
		char *word = argv[p.next++];
		if (only_operands || word[0] != '-' || !word[1] ||
		    !strncmp(word, "-:", 2))
			argv[p.noperands++] = word;
		else if (!strcmp(word, "--"))
			only_operands = true;
		else if (word[1] == '-')
			parse_long(&p, word);
		else
			parse_short(&p, word);
	}
	return p.failed ? -1 : p.noperands;
}

static void free_list(const Option *o, void *context)
{
	if (o->kind == OPTION_LIST)
		free(((TextList *)((char *)context + o->offset))->at);
}

void options_free(const Verb *verb, void *options)
{
	each_option(verb, free_list, options);
	free(options);
}

/* --- values ----------------------------------------------------------------- */

double time_parse(const char *text)
{
	static const struct {
		const char *unit;
		double seconds;
	} units[] = {{"", 1}, {"s", 1}, {"ms", 1e-3}, {"m", 60}, {"min", 60},
	    {"h", 3600}};
	char *end;
	double n = strtod(text, &end);
	if (end == text || !(n >= 0) || isinf(n))
		return -1;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++)
		if (!strcmp(end, units[i].unit))
			return n * units[i].seconds;
	return -1;
}

/* --- help ------------------------------------------------------------------- */

enum { HELP_COLUMN = 26 };

static void print_option(const Option *o, void *context)
{
	(void)context;
	char left[80];
	char letter[4] = {'-', o->letter, 0};
	bool word = o->name && o->name[0] == '-';
	snprintf(left, sizeof left, "  %s%s%s%s%s%s", o->letter ? letter : "",
	    o->letter && o->name ? ", " : o->letter || word ? "" : "    ",
	    o->name && !word ? "--" : "", o->name ? o->name : "",
	    !o->value ? "" : o->name && !word ? "=" : " ",
	    o->value ? o->value : "");
	if (strlen(left) >= HELP_COLUMN)
		out_text("%s\n%*s", left, HELP_COLUMN, "");
	else
		out_text("%-*s", HELP_COLUMN, left);
	for (const char *c = o->help; *c; c++) {
		out_text("%c", *c);
		if (*c == '\n')
			out_text("%*s", HELP_COLUMN, "");
	}
	if (o->preset)
		out_text(" (default: %s)", o->preset);
	out_text("\n");
}

void options_help(const Verb *verb)
{
	out_text("usage: tunec %s [options]%s%s\n\n%s\n\noptions:\n", verb->name,
	    verb->operands ? " " : "", verb->operands ? verb->operands : "",
	    verb->summary);
	each_option(verb, print_option, NULL);
	if (verb->text)
		out_text("\n%s", verb->text);
}
