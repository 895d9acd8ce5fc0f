/* A document's entries to the declarations of a spec: names checked, texts
 * parsed, cases and outputs found; nothing is resolved yet but these. */
#include <string.h>

#include "ir/spec/spec.h"

static void check_name(Spec *spec, const YamlScalar *s)
{
	const char *why;
	if (!name_valid(s->text, s->size, &why))
		report_error(&spec->report, s->span, "the name '%s' %s",
		    s->text, why);
	else if (!name_symbol_valid(s->text, &why))
		report_error(
		    &spec->report, s->span, "'%s' %s", s->text, why);
}

static Symbol *new_symbol(Spec *spec, const YamlScalar *s)
{
	Symbol *symbol = NEW(spec->arena, Symbol);
	symbol->name = name_intern(&spec->names, s->text, s->size);
	return symbol;
}

static void collect_params(Spec *spec)
{
	for (int i = 0; i < spec->doc.params.n; i++) {
		const DocEntry *e = &spec->doc.params.at[i];
		ParamNode param = {new_symbol(spec, &e->key), e->key.span,
			parse_expression(spec->arena, &spec->report,
			    &spec->names, &e->value)};
		vec_push(spec->arena, &spec->params, param);
	}
}

static void collect_inputs(Spec *spec)
{
	for (int i = 0; i < spec->doc.inputs.n; i++) {
		const DocEntry *e = &spec->doc.inputs.at[i];
		InputNode input = {new_symbol(spec, &e->key), e->key.span,
			parse_type(spec->arena, &spec->report, &spec->names,
			    &e->value),
			e->value.span};
		vec_push(spec->arena, &spec->inputs, input);
	}
}

/* --- cases ------------------------------------------------------------------- */

static int find_param(const Spec *spec, const char *name)
{
	for (int i = 0; i < spec->params.n; i++)
		if (!strcmp(spec->params.at[i].symbol->name->text, name))
			return i;
	return -1;
}

Alike spec_param_alike(const Spec *spec, const char *name)
{
	Alike a = alike_to(name);
	for (int i = 0; i < spec->params.n; i++)
		alike_look(&a, spec->params.at[i].symbol->name->text);
	return a;
}

static void check_case_name(Spec *spec, const YamlScalar *s)
{
	static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "abcdefghijklmnopqrstuvwxyz0123456789_";
	if (!s->size || strspn(s->text, allowed) != s->size) {
		report_error(&spec->report, s->span,
		    "a case's name is letters, digits and underscores");
		return;
	}
	const char *symbol = arena_printf(
	    spec->arena, "%s_%s", spec_name(spec), s->text);
	const char *why;
	if (name_valid(spec_name(spec), strlen(spec_name(spec)), &why) &&
	    !name_symbol_valid(symbol, &why))
		report_error(&spec->report, s->span, "'%s' %s", symbol, why);
}

static void collect_override(Spec *spec, CaseNode *c, const DocEntry *e)
{
	Override o = {find_param(spec, e->key.text),
		parse_expression(
		    spec->arena, &spec->report, &spec->names, &e->value),
		&spec->report};
	if (o.param >= 0) {
		vec_push(spec->arena, &c->overrides, o);
		return;
	}
	Alike a = spec_param_alike(spec, e->key.text);
	report_error(&spec->report, e->key.span, "'%s' is no param%s",
	    e->key.text, alike_question(&a, ""));
}

static void collect_cases(Spec *spec)
{
	spec->case_names.arena = spec->arena;
	for (int i = 0; i < spec->doc.cases.n; i++) {
		const DocCase *d = &spec->doc.cases.at[i];
		CaseNode c = {.face = {d->name.text, d->name.span, 1}};
		spec->report.diag->suffix =
		    arena_printf(spec->arena, "(case %s)", d->name.text);
		check_case_name(spec, &d->name);
		for (int k = 0; k < d->overrides.n; k++)
			collect_override(spec, &c, &d->overrides.at[k]);
		spec->report.diag->suffix = NULL;
		lookup_add(&spec->case_names, c.face.name, spec->cases.n);
		vec_push(spec->arena, &spec->cases, c);
	}
}

static void collect_weight(Spec *spec, const DocEntry *e)
{
	Node *n = parse_expression(
	    spec->arena, &spec->report, &spec->names, &e->value);
	double weight = n->kind == NODE_INT ? (double)n->i
	    : n->kind == NODE_FLOAT ? n->f : 0;
	if (n->kind != NODE_BAD && !(weight > 0))
		report_error(&spec->report, e->value.span,
		    "a weight is a number above 0");
	const char *name = e->key.text;
	int found = lookup_first(&spec->case_names, name, strlen(name));
	if (found >= 0)
		spec->cases.at[spec->case_names.entries.at[found].number]
		    .face.weight = weight;
	else
		report_error(
		    &spec->report, e->key.span, "'%s' is no case", name);
}

/* --- outputs ----------------------------------------------------------------- */

static void collect_output(
    Spec *spec, const Lookup *definitions, const YamlScalar *s)
{
	int found = lookup_first(definitions, s->text, strlen(s->text));
	if (found < 0) {
		report_error(&spec->report, s->span,
		    "the output '%s' is no definition", s->text);
		return;
	}
	int number = definitions->entries.at[found].number;
	DefinitionNode *d = &spec->definitions.at[number];
	if (d->output)
		report_error(
		    &spec->report, s->span, "'%s' is an output twice", s->text);
	d->output = true;
	vec_push(spec->arena, &spec->outputs, number);
}

void collect_outputs(Spec *spec)
{
	Lookup names = {.arena = spec->arena};
	int last = spec->definitions.n - 1;
	/* of those of one name the first is found */
	for (int i = last; i >= 0; i--)
		lookup_add(&names, spec->definitions.at[i].name->text, i);
	for (int i = 0; i < spec->doc.outputs.n; i++)
		collect_output(spec, &names, &spec->doc.outputs.at[i]);
	if (!spec->doc.outputs_span.end && last >= 0) {
		spec->definitions.at[last].output = true;
		vec_push(spec->arena, &spec->outputs, last);
	}
}

/* Producers stand before their readers, so one pass backwards is enough. */
void collect_used(Spec *spec)
{
	for (int i = 0; i < spec->outputs.n; i++)
		spec->definitions.at[spec->outputs.at[i]].used = true;
	for (int i = spec->definitions.n - 1; i >= 0; i--) {
		const DefinitionNode *d = &spec->definitions.at[i];
		for (int k = 0; d->used && k < d->reads.n; k++)
			if (d->reads.at[k]->kind == SYMBOL_DEFINITION)
				spec->definitions.at[d->reads.at[k]->index]
				    .used = true;
	}
	for (int i = 0; i < spec->definitions.n; i++)
		if (!spec->definitions.at[i].used &&
		    !spec->report.diag->errors)
			report_warning(&spec->report,
			    spec->definitions.at[i].span,
			    "'%s' is not used, and left out",
			    spec->definitions.at[i].name->text);
}

static void end_text(Arena *arena, YamlScalar *s)
{
	if (s->text)
		s->text = arena_strndup(arena, s->text, s->size);
}

static void end_keys(Arena *arena, DocMap *map)
{
	for (int i = 0; i < map->n; i++)
		end_text(arena, &map->at[i].key);
}

/* Scalars may be pieces of the source: names get an end of their own. */
static void end_texts(Arena *arena, SpecDoc *doc)
{
	end_text(arena, &doc->name);
	end_text(arena, &doc->doc);
	end_keys(arena, &doc->params);
	end_keys(arena, &doc->inputs);
	end_keys(arena, &doc->weights);
	for (int i = 0; i < doc->outputs.n; i++)
		end_text(arena, &doc->outputs.at[i]);
	for (int i = 0; i < doc->cases.n; i++) {
		end_text(arena, &doc->cases.at[i].name);
		end_keys(arena, &doc->cases.at[i].overrides);
	}
}

void collect_document(Spec *spec)
{
	const SpecDoc *doc = &spec->doc;
	end_texts(spec->arena, &spec->doc);
	if (doc->name.text)
		check_name(spec, &doc->name);
	collect_params(spec);
	collect_inputs(spec);
	collect_cases(spec);
	for (int i = 0; i < doc->weights.n; i++)
		collect_weight(spec, &doc->weights.at[i]);
	if (!doc->compute.text || !doc->compute.literal)
		return;
	int errors = spec->report.diag->errors;
	parse_definitions(spec->arena, &spec->report, &spec->names,
	    &doc->compute, &spec->definitions);
	if (!spec->definitions.n && spec->report.diag->errors == errors)
		report_error(&spec->report, doc->compute.span,
		    "at least one definition is needed");
}
