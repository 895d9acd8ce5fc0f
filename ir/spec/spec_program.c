/* The program of one case: params, then inputs, then definitions in the file's
 * order.  Definitions that no output needs are checked like the others, last,
 * and left out. */
#include <string.h>

#include "ir/spec/spec.h"

/* What extents that vary may cost in a file with all its cases: a second or two
 * each. */
enum { INTERVALS_MAX = 1 << 22, STEPS_MAX = 1 << 26 };

typedef struct {
	Arena *arena;
	Spec *spec;
	Report report;
	Program *program;
	Typer typer;
	Node **value;    /* by param, with its overrides */
	Report **report_of; /* by param: where its text stands */
	BufferVec buffers;
	BlockVec blocks;
	VEC(Definition) definitions;
	bool failed;
} Build;

/* --- params ------------------------------------------------------------------ */

static int param_index(const Spec *spec, const char *name)
{
	for (int i = 0; i < spec->params.n; i++)
		if (!strcmp(spec->params.at[i].symbol->name->text, name))
			return i;
	return -1;
}

static Report *report_copy(Build *b, const Report *report)
{
	Report *copy = arena_memdup(b->arena, report, sizeof *report);
	copy->diag = b->report.diag;
	return copy;
}

static void take_case(Build *b, const CaseNode *c)
{
	for (int i = 0; i < c->overrides.n; i++) {
		const Override *o = &c->overrides.at[i];
		b->value[o->param] = o->value;
		b->report_of[o->param] = report_copy(b, o->report);
	}
}

static void take_define(Build *b, const SpecDefine *define)
{
	size_t head = strlen(define->name) + 1, size = strlen(define->value);
	Source *source = NEW(b->arena, Source);
	source->name = "-D";
	source->text = arena_printf(
	    b->arena, "%s=%s", define->name, define->value);
	source->size = head + size;
	Report *report = report_copy(b, &b->report);
	report->source = source;
	report->failed = false;
	Span span = {head, head + size};
	int i = param_index(b->spec, define->name);
	if (i < 0) {
		Alike a = spec_param_alike(b->spec, define->name);
		report_error(report, (Span){0, head - 1},
		    "'%s' is no param of '%s'%s", define->name,
		    b->program->name, alike_question(&a, ""));
		b->failed = true;
		return;
	}
	YamlScalar scalar = {.text = source->text + head, .size = size,
		.span = span, .inside = span, .direct = true};
	b->value[i] =
	    parse_expression(b->arena, report, &b->spec->names, &scalar);
	names_resolve_param(b->spec, report, b->value[i], i);
	b->report_of[i] = report;
	b->failed |= report->failed; /* even where a later -D replaces it */
}

static void eval_params(Build *b)
{
	Program *p = b->program;
	Typer *t = &b->typer;
	p->nparams = t->nparams = b->spec->params.n;
	p->params = NEW_N(b->arena, Param, p->nparams);
	t->params = NEW_N(b->arena, Number, p->nparams);
	t->param_known = NEW_N(b->arena, bool, p->nparams);
	for (int i = 0; i < p->nparams; i++) {
		Number *x = &t->params[i];
		t->report = b->report_of[i];
		t->param_known[i] = type_number(t, b->value[i], x);
		b->failed |= !t->param_known[i];
		p->params[i] = (Param){
			b->spec->params.at[i].symbol->name->text, x->i,
			x->is_float, x->f};
	}
	t->report = &b->report;
}

static void build_params(Build *b, const CaseNode *c,
    const SpecDefine *defines, int ndefines)
{
	int n = b->spec->params.n;
	b->value = NEW_N(b->arena, Node *, n);
	b->report_of = NEW_N(b->arena, Report *, n);
	for (int i = 0; i < n; i++) {
		b->value[i] = b->spec->params.at[i].value;
		b->report_of[i] = &b->report;
	}
	if (c)
		take_case(b, c);
	for (int i = 0; i < ndefines; i++)
		take_define(b, &defines[i]);
	eval_params(b);
}

/* --- buffers ----------------------------------------------------------------- */

static bool bytes_fit(const Buffer *buffer)
{
	Wide bytes = dtype_bytes(buffer->type);
	for (int i = 0; i < buffer->ndim; i++) {
		bytes *= buffer->shape[i];
		if (!wide_fits(bytes))
			return false;
	}
	return true;
}

/* Of those that blocks brought along. */
static void check_bytes(Build *b, int first)
{
	for (int i = first; i < b->buffers.n; i++) {
		const Buffer *buffer = &b->buffers.at[i];
		if (bytes_fit(buffer))
			continue;
		report_error(&b->report, buffer->span,
		    "the buffer of this reduction has 2^63 bytes or more");
		b->failed = true;
	}
}

static int add_buffer(Build *b, Buffer buffer, Span span, bool *bad)
{
	if (!*bad && !bytes_fit(&buffer)) {
		report_error(&b->report, span,
		    "'%s' has 2^63 bytes or more", buffer.name);
		*bad = true;
	}
	vec_push(b->arena, &b->buffers, buffer);
	b->program->buffers = b->buffers.at;
	b->program->nbuffers = b->buffers.n;
	return b->buffers.n - 1;
}

static void build_input(Build *b, int i)
{
	const InputNode *input = &b->spec->inputs.at[i];
	bool bad = input->type.bad;
	Buffer buffer = {.name = input->symbol->name->text,
		.type = input->type.type, .ndim = input->type.shape.n,
		.role = BUFFER_INPUT, .is_const = input->type.is_const,
		.block = -1, .span = input->span};
	buffer.shape = NEW_N(b->arena, int64_t, buffer.ndim);
	for (int k = 0; k < buffer.ndim; k++)
		buffer.shape[k] = bad ? 1
		    : type_extent(&b->typer, input->type.shape.at[k], &bad);
	int number = add_buffer(b, buffer, input->type_span, &bad);
	b->typer.buffer[i] = bad ? -1 : number;
	b->failed |= bad;
}

/* --- definitions ------------------------------------------------------------- */

/* Outer axes come before inner ones, whose extents may use them. */
static void build_axes(Build *b, const DefinitionNode *node, bool *bad)
{
	Typer *typer = &b->typer;
	for (int i = 0; i < node->axes.n; i++) {
		const AxisNode *a = &node->axes.at[i];
		Axis *axis = &typer->definition->axes[i];
		axis->name = a->name->text;
		axis->reduce = i >= node->nspatial;
		if (!a->varies) {
			axis->extent = type_extent(typer, a->extent, bad);
			continue;
		}
		if (!typer->point) {
			typer->point = NEW_N(b->arena, int64_t, node->axes.n);
			typer->seen = summaries_new(b->arena);
		}
		typer->limits[i] = *bad ? NULL
		    : type_limit(typer, a->extent, &axis->extent);
		*bad |= !typer->limits[i];
	}
}

static Buffer definition_buffer(Build *b, const Definition *d, DType type,
    bool output)
{
	Buffer buffer = {.name = d->name, .type = type, .ndim = d->nspatial,
		.role = output ? BUFFER_OUTPUT : BUFFER_TEMP, .block = -1,
		.span = d->span};
	buffer.shape = NEW_N(b->arena, int64_t, d->nspatial);
	for (int i = 0; i < d->nspatial; i++)
		buffer.shape[i] = d->axes[i].extent;
	return buffer;
}

static void count_flops(Build *b, Definition *d)
{
	if (flops_of_definition(b->arena, d, b->typer.limits, &b->typer.flops))
		return;
	report_error(&b->report, d->span,
	    "the points below the extents in '%s' are too many to count",
	    d->name);
	b->failed = true;
}

static void build_definition(Build *b, int number)
{
	const DefinitionNode *node = &b->spec->definitions.at[number];
	int *slot = &b->typer.buffer[b->spec->inputs.n + number];
	bool bad = node->bad;
	*slot = -1;
	if (bad) {
		b->failed = true;
		return;
	}
	Definition d = {.name = node->name->text, .span = node->span,
		.naxes = node->axes.n, .nspatial = node->nspatial};
	d.axes = NEW_N(b->arena, Axis, d.naxes);
	b->typer.definition = &d;
	Arena *scratch = arena_child(b->arena);
	b->typer.bounds = bounds_new(scratch, d.axes);
	b->typer.limits = NEW_N(b->arena, Expr *, d.naxes);
	b->typer.point = NULL;
	build_axes(b, node, &bad);
	d.body = bad ? NULL : type_body(&b->typer, node);
	arena_free(scratch);
	if (!d.body) {
		b->failed = true;
		return;
	}
	d.buffer =
	    add_buffer(b, definition_buffer(b, &d, d.body->type, node->output),
		node->head, &bad);
	*slot = d.buffer;
	b->failed |= bad;
	count_flops(b, &d);
	blocks_of_definition(
	    b->arena, &d, b->definitions.n, &b->buffers, &b->blocks);
	check_bytes(b, d.buffer + 1);
	vec_push(b->arena, &b->definitions, d);
}

static void build_definitions(Build *b, bool used)
{
	for (int i = 0; i < b->spec->definitions.n; i++)
		if (b->spec->definitions.at[i].used == used) {
			build_definition(b, i);
			b->program->buffers = b->buffers.at;
			b->program->nbuffers = b->buffers.n;
		}
}

/* --- the whole --------------------------------------------------------------- */

static void take_program(Build *b)
{
	Program *p = b->program;
	p->buffers = b->buffers.at;
	p->nbuffers = b->buffers.n;
	p->definitions = b->definitions.at;
	p->ndefinitions = b->definitions.n;
	p->blocks = b->blocks.at;
	p->nblocks = b->blocks.n;
}

static void build_outputs(Build *b)
{
	const Spec *spec = b->spec;
	Program *p = b->program;
	p->noutputs = spec->outputs.n;
	p->outputs = NEW_N(b->arena, int, p->noutputs);
	for (int i = 0; i < p->noutputs; i++)
		p->outputs[i] =
		    b->typer.buffer[spec->inputs.n + spec->outputs.at[i]];
}

static void build_names(Build *b, const CaseNode *c, Numerics numerics)
{
	const SpecDoc *doc = &b->spec->doc;
	Program *p = b->program;
	p->source = b->spec->report.source;
	p->name = spec_name(b->spec);
	p->case_name = c ? c->face.name : "";
	p->symbol = c ? arena_printf(b->arena, "%s_%s", p->name, p->case_name)
		      : p->name;
	p->doc = doc->doc.text ? doc->doc.text : "";
	p->numerics = numerics;
	p->weight = c ? c->face.weight : 1;
	if (doc->schedule.text) {
		p->schedule_span = doc->schedule.inside;
		p->schedule_text = arena_strndup(b->arena,
		    p->source->text + p->schedule_span.begin,
		    p->schedule_span.end - p->schedule_span.begin);
	}
}

static const CaseNode *case_find(const Spec *spec, const char *name)
{
	int e = name ? lookup_first(&spec->case_names, name, strlen(name)) : -1;
	return e < 0 ? NULL
		     : &spec->cases.at[spec->case_names.entries.at[e].number];
}

static Build build_new(Arena *arena, Spec *spec, Diag *diag)
{
	Build b = {.arena = arena, .spec = spec, .report = spec->report};
	b.report.diag = diag;
	b.program = NEW(arena, Program);
	int64_t cases = spec->cases.n ? spec->cases.n : 1;
	b.typer = (Typer){.arena = arena,
	    .spec = spec,
	    .program = b.program,
	    .intervals_left = INTERVALS_MAX / cases,
	    .flops = {.steps_left = STEPS_MAX / cases, .known.arena = arena}};
	b.typer.buffer =
	    NEW_N(arena, int, spec->inputs.n + spec->definitions.n);
	return b;
}

Program *spec_program(Arena *arena, Spec *spec, const char *case_name,
    const SpecDefine *defines, int ndefines, Numerics numerics, Diag *diag)
{
	const CaseNode *c = case_find(spec, case_name);
	Build b = build_new(arena, spec, diag);
	const char *suffix = diag->suffix;
	if (case_name && *case_name && !c)
		return NULL;
	diag->last_begin = SIZE_MAX; /* a place may fail in each case */
	b.typer.report = &b.report;
	if (c)
		diag->suffix = arena_printf(arena, "(case %s)", c->face.name);
	build_names(&b, c, numerics);
	build_params(&b, c, defines, ndefines);
	for (int i = 0; i < spec->inputs.n; i++)
		build_input(&b, i);
	b.program->ninputs = spec->inputs.n;
	build_definitions(&b, true);
	if (!b.failed)
		blocks_share(arena, &b.buffers, &b.blocks);
	take_program(&b);
	Program used = *b.program;
	build_definitions(&b, false);
	diag->suffix = suffix;
	if (b.failed || !spec->outputs.n)
		return NULL;
	*b.program = used;
	build_outputs(&b);
	program_count(b.program);
	canonical_text(arena, b.program);
	return b.program;
}
