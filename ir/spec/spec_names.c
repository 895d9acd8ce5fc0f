/* Names and scopes: params, inputs and definitions share one name space, in
 * which each is defined once and before it is read; an axis is local to its
 * definition or reduction and shadows nothing in scope. */
#include <string.h>

#include "ir/spec/spec.h"

typedef struct {
	Arena *arena;
	Spec *spec;
	Report *report;
	DefinitionNode *definition; /* NULL: over numbers and params alone */
	int before; /* params from this number on are not to be read */
	bool in_extent; /* of a reduction: over numbers, params and axes */
	bool varies;    /* an axis was met there */
} Names;

static const char *const kinds[] = {"a param", "an input", "a definition"};

/* --- messages -------------------------------------------------------------------- */

/* The name in scope that is most like this one. */
static Alike alike(const Names *s, const char *text)
{
	Alike a = alike_to(text);
	for (int i = 0; i < NAME_BUCKETS; i++)
		for (SpecName *n = s->spec->names.bucket[i]; n; n = n->next)
			if (n->axis || n->symbol)
				alike_look(&a, n->text);
	return a;
}

static void refuse_unknown(Names *s, Node *n)
{
	const char *text = n->name->text, *other;
	if (n->name->later) {
		bool self = s->definition && s->definition->name == n->name;
		report_error(s->report, n->span,
		    self ? "'%s' reads itself"
			 : "'%s' is read before it is defined", text);
	} else if ((other = hint_value(text))) {
		report_error(s->report, n->span,
		    "unknown name '%s': write %s", text, other);
	} else if (!report_full(s->report)) {
		Alike a = alike(s, text);
		report_error(s->report, n->span, "unknown name '%s'%s", text,
		    alike_question(&a, ""));
	}
	n->kind = NODE_BAD;
}

static void refuse(Names *s, Node *n, const char *why)
{
	report_error(s->report, n->span, "'%s' %s", n->name->text, why);
	n->kind = NODE_BAD;
}

/* --- expressions ----------------------------------------------------------------- */

static void resolve(Names *s, Node *n);

/* What counts where no data does. */
static const char *counting(const Names *s)
{
	return s->in_extent ? "only numbers, params and axes count"
			    : "only numbers and params count";
}

static void resolve_name(Names *s, Node *n)
{
	Symbol *symbol = n->name->symbol;
	if (n->name->axis && !s->definition) {
		refuse(s, n, "is an axis: an extent is made of numbers and "
			     "params");
	} else if (n->name->axis) {
		n->axis = n->name->axis - 1;
		s->varies = true;
	} else if (!symbol) {
		refuse_unknown(s, n);
	} else if (symbol->kind != SYMBOL_PARAM) {
		refuse(s, n, s->definition && !s->in_extent
			? arena_printf(s->arena, "is %s: read it as %s[%s]",
			      kinds[symbol->kind], n->name->text,
			      symbol->ndim ? "..." : "")
			: arena_printf(s->arena, "is no param: here %s",
			      counting(s)));
	} else if (symbol->index >= s->before) {
		refuse(s, n, "is not an earlier param");
	} else {
		n->symbol = symbol;
		if (symbol->bad)
			n->kind = NODE_BAD;
	}
}

static void resolve_read(Names *s, Node *n)
{
	Symbol *symbol = n->name->symbol;
	for (int i = 0; i < n->narg; i++)
		resolve(s, n->arg[i]);
	if (!s->definition || s->in_extent) {
		report_error(s->report, n->span, "'%s' reads a buffer: here %s",
		    report_quote(s->report, n->span), counting(s));
		n->kind = NODE_BAD;
	} else if (n->name->axis) {
		refuse(s, n, "is an axis and has no index");
	} else if (!symbol) {
		refuse_unknown(s, n);
	} else if (symbol->kind == SYMBOL_PARAM) {
		refuse(s, n, "is a param and has no index");
	} else if (symbol->bad) {
		n->kind = NODE_BAD;
		vec_push(s->arena, &s->definition->reads, symbol);
	} else {
		n->symbol = symbol;
		vec_push(s->arena, &s->definition->reads, symbol);
		if (n->narg != symbol->ndim)
			refuse(s, n, arena_printf(s->arena,
			    "has %d ind%s, not %d", symbol->ndim,
			    symbol->ndim == 1 ? "ex" : "ices", n->narg));
	}
}

/* Those of a definition are over numbers and params, those of a reduction over
 * the axes in scope, too. */
static void resolve_extent(Names *s, AxisNode *axis, bool of_reduction)
{
	Names inside = *s;
	inside.definition = of_reduction ? s->definition : NULL;
	inside.in_extent = of_reduction;
	inside.varies = false;
	resolve(&inside, axis->extent);
	axis->varies = inside.varies;
}

/* Brings axes into scope as the definition's next ones.  One that has no place
 * in scope loses its name here. */
static void open_axes(Names *s, AxisNodes *axes, bool append)
{
	for (int i = 0; i < axes->n; i++) {
		AxisNode *axis = &axes->at[i];
		SpecName *name = axis->name;
		const char *why;
		int number = append ? s->definition->axes.n : i;
		resolve_extent(s, axis, append);
		if (append)
			vec_push(s->arena, &s->definition->axes, *axis);
		if (!name_valid(name->text, strlen(name->text), &why)) {
			report_error(
			    s->report, axis->span, "'%s' %s", name->text, why);
			s->definition->bad = true;
		}
		if (!name->axis && !name->symbol) {
			name->axis = number + 1;
			continue;
		}
		report_error(s->report, axis->span, "'%s' is already %s here",
		    name->text,
		    name->axis ? "an axis" : kinds[name->symbol->kind]);
		s->definition->bad = true;
		axis->name = NULL;
	}
}

static void close_axes(AxisNodes *axes)
{
	for (int i = 0; i < axes->n; i++)
		if (axes->at[i].name)
			axes->at[i].name->axis = 0;
}

static void resolve_reduce(Names *s, Node *n)
{
	if (!s->definition || s->in_extent) {
		report_error(s->report, n->span,
		    "a reduction cannot stand here: %s",
		    counting(s));
		n->kind = NODE_BAD;
		return;
	}
	n->axis = s->definition->axes.n;
	open_axes(s, &n->axes, true);
	resolve(s, n->arg[0]);
	close_axes(&n->axes);
}

static void resolve(Names *s, Node *n)
{
	if (n->seen)
		return; /* the middle of a < b < c */
	n->seen = true;
	switch (n->kind) {
	case NODE_NAME:
		resolve_name(s, n);
		break;
	case NODE_READ:
		resolve_read(s, n);
		break;
	case NODE_REDUCE:
		resolve_reduce(s, n);
		break;
	default:
		for (int i = 0; i < n->narg; i++)
			resolve(s, n->arg[i]);
	}
}

/* --- what is declared ------------------------------------------------------------- */

/* The symbol of a new param, input or definition; bad, after a message, where
 * it has no name of its own. */
static Symbol *declare(Names *s, SymbolKind kind, SpecName *name, Span span,
    int index)
{
	Symbol *symbol = NEW(s->arena, Symbol);
	const char *why;
	*symbol = (Symbol){.kind = kind, .index = index, .name = name};
	if (!name_valid(name->text, strlen(name->text), &why)) {
		report_error(s->report, span, "'%s' %s", name->text, why);
		symbol->bad = true;
	} else if (name->symbol) {
		report_error(s->report, span, "'%s' is already %s", name->text,
		    kinds[name->symbol->kind]);
		symbol->bad = true;
	}
	if (!name->symbol)
		name->symbol = symbol;
	return symbol;
}

static void declare_params(Names *s)
{
	Spec *spec = s->spec;
	for (int i = 0; i < spec->params.n; i++) {
		ParamNode *param = &spec->params.at[i];
		resolve(s, param->value);
		SpecName *name = param->symbol->name;
		param->symbol = declare(s, SYMBOL_PARAM, name, param->span, i);
	}
}

static const char *in_lower_case(Arena *arena, const char *name)
{
	char *lower = arena_strdup(arena, name);
	for (char *c = lower; *c; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c += 'a' - 'A';
	return lower;
}

static void refuse_twins(Names *s)
{
	const Spec *spec = s->spec;
	Lookup names = {.arena = s->arena};
	for (int i = 0; i < spec->inputs.n; i++) {
		const InputNode *a = &spec->inputs.at[i];
		const char *text = a->symbol->name->text;
		const char *lower = in_lower_case(s->arena, text);
		if (!a->type.is_const)
			continue;
		int e = lookup_first(&names, lower, strlen(lower));
		if (e >= 0)
			report_error(s->report, a->span,
			    "const inputs '%s' and '%s' differ in case alone, "
			    "but their macros are in upper case",
			    spec->inputs.at[names.entries.at[e].number]
				.symbol->name->text,
			    text);
		lookup_add(&names, lower, i);
	}
}

static void declare_inputs(Names *s)
{
	Spec *spec = s->spec;
	for (int i = 0; i < spec->inputs.n; i++) {
		InputNode *input = &spec->inputs.at[i];
		for (int k = 0; k < input->type.shape.n; k++)
			resolve(s, input->type.shape.at[k]);
		SpecName *name = input->symbol->name;
		input->symbol = declare(s, SYMBOL_INPUT, name, input->span, i);
		input->symbol->ndim = input->type.shape.n;
		if (input->type.bad)
			input->symbol->bad = true;
	}
	refuse_twins(s);
}

static void declare_definition(Names *s, DefinitionNode *d, int index)
{
	/* not AxisNodes of its own: reductions append to d->axes */
	AxisNodes spatial = {
	    arena_memdup(s->arena, d->axes.at,
		sizeof *d->axes.at * (size_t)d->axes.n),
	    d->axes.n, d->axes.n};
	s->definition = d;
	open_axes(s, &spatial, false);
	resolve(s, d->body);
	close_axes(&spatial);
	s->definition = NULL;
	d->symbol = declare(s, SYMBOL_DEFINITION, d->name, d->span, index);
	d->symbol->ndim = d->nspatial;
	if (d->bad)
		d->symbol->bad = true;
}

void names_resolve(Spec *spec)
{
	Names s = {.arena = spec->arena,
	    .spec = spec,
	    .report = &spec->report,
	    .before = spec->params.n};
	for (int i = 0; i < spec->definitions.n; i++)
		spec->definitions.at[i].name->later = true;
	declare_params(&s);
	declare_inputs(&s);
	for (int i = 0; i < spec->definitions.n && !report_full(s.report); i++)
		declare_definition(&s, &spec->definitions.at[i], i);
}

void names_resolve_param(Spec *spec, Report *report, Node *value, int before)
{
	Names s = {.arena = spec->arena,
	    .spec = spec,
	    .report = report,
	    .before = before};
	resolve(&s, value);
}
