/* A spec, its cases, and PATH[:CASE]. */
#include <string.h>

#include "ir/spec/spec.h"
#include "lib/alike.h"
#include "lib/input.h"

/* --- the spec ---------------------------------------------------------------- */

/* Params and definitions, each read once for each case. */
enum { READ_MOST = 1000000 };

static bool are_too_many(const Spec *spec)
{
	int64_t each = (int64_t)spec->params.n + spec->definitions.n;
	return each * spec->cases.n > READ_MOST;
}

/* What else is wrong, in the parts that were understood. */
static void report_rest(Spec *spec, Diag *diag)
{
	int n = spec->cases.n && !are_too_many(spec) ? spec->cases.n : 1;
	for (int i = 0; i < n && !report_full(&spec->report); i++)
		spec_program(spec->arena, spec,
		    spec->cases.n ? spec->cases.at[i].face.name : NULL, NULL, 0,
		    NUMERICS_DEFAULT, diag);
}

static void resolve_overrides(Spec *spec, const CaseNode *c)
{
	spec->report.diag->suffix =
	    arena_printf(spec->arena, "(case %s)", c->face.name);
	for (int i = 0; i < c->overrides.n; i++) {
		const Override *o = &c->overrides.at[i];
		names_resolve_param(spec, o->report, o->value, o->param);
	}
	spec->report.diag->suffix = NULL;
}

Spec *spec_parse(Arena *arena, const Source *source, Diag *diag)
{
	Spec *spec = NEW(arena, Spec);
	spec->arena = arena;
	spec->names.arena = arena;
	spec->report = (Report){.source = source, .diag = diag,
		.said = &spec->said, .arena = arena};
	if (!doc_read(arena, &spec->report, &spec->doc) ||
	    report_full(&spec->report))
		return NULL;
	collect_document(spec);
	names_resolve(spec);
	for (int i = 0; i < spec->cases.n; i++)
		resolve_overrides(spec, &spec->cases.at[i]);
	collect_outputs(spec);
	collect_used(spec);
	if (!diag->errors)
		return spec;
	report_rest(spec, diag);
	return NULL;
}

int spec_ncases(const Spec *spec)
{
	return spec->cases.n;
}

const SpecCase *spec_case(const Spec *spec, int i)
{
	return &spec->cases.at[i].face;
}

const char *spec_name(const Spec *spec)
{
	return spec->doc.name.text ? spec->doc.name.text : "";
}

/* --- files ------------------------------------------------------------------- */

/* At most one byte more than a file may have. */
static Status read_all(
    Arena *arena, const char *path, Source *source, Error *error)
{
	Buf text = {0};
	Status status = input_read(path, SPEC_SIZE_MAX + 1, &text, error);
	source->name = arena_strdup(arena, path);
	source->size = text.size;
	source->text = arena_strndup(arena, buf_text(&text), text.size);
	buf_free(&text);
	return status;
}

typedef struct {
	Arena *arena;
	Spec *spec;
	const SpecDefine *defines;
	int ndefines;
	Numerics numerics;
	Diag *diag;
	ProgramVisit *visit; /* NULL: `programs` take them */
	void *context;
	ProgramVec *programs;
	bool stopped;
} Load;

static Status load_case(Load *l, const char *name)
{
	Arena *arena = l->visit ? arena_new() : l->arena;
	Program *p = spec_program(arena, l->spec, name, l->defines,
	    l->ndefines, l->numerics, l->diag);
	if (p && !l->visit)
		vec_push(l->arena, l->programs, p);
	if (l->visit) {
		l->stopped = !l->visit(arena, p, l->context);
		arena_free(arena);
	}
	return p ? STATUS_OK : STATUS_INPUT;
}

static Status load_every(Load *l, const char *path, Error *error)
{
	Status status = STATUS_OK;
	if (!l->spec->cases.n)
		return load_case(l, NULL);
	if (are_too_many(l->spec)) {
		error_set(error, STATUS_INPUT,
		    "%s has %d cases of %d params and definitions, more than "
		    "1,000,000 in all; name one: %s:%s",
		    path, l->spec->cases.n,
		    l->spec->params.n + l->spec->definitions.n, path,
		    spec_case(l->spec, 0)->name);
		return error->status;
	}
	for (int i = 0; i < l->spec->cases.n && !l->stopped; i++)
		if (load_case(l, spec_case(l->spec, i)->name))
			status = STATUS_INPUT;
	return status;
}

static Status no_such_case(
    const Spec *spec, const char *path, const char *name, Error *error)
{
	Buf list = {0};
	Alike a = alike_to(name);
	for (int i = 0; i < spec->cases.n; i++) {
		alike_look(&a, spec_case(spec, i)->name);
		buf_printf(&list, "%s%s", i ? ", " : "",
		    spec_case(spec, i)->name);
	}
	error_set(error, STATUS_INPUT, "%s has no case '%s'; %s%s%s", path,
	    name, spec->cases.n ? "its cases are " : "it has no cases",
	    buf_text(&list), alike_question(&a, ""));
	buf_free(&list);
	return STATUS_INPUT;
}

static Status load_named(
    Load *l, const char *path, const char *name, Error *error)
{
	if (!*name)
		return load_case(l, NULL);
	for (int i = 0; i < l->spec->cases.n; i++)
		if (!strcmp(spec_case(l->spec, i)->name, name))
			return load_case(l, name);
	return no_such_case(l->spec, path, name, error);
}

static Status load(Load *l, const char *argument, Error *error)
{
	const char *colon = strrchr(argument, ':');
	char *path = colon ? arena_strndup(l->arena, argument,
				 (size_t)(colon - argument))
			   : arena_strdup(l->arena, argument);
	Source *source = NEW(l->arena, Source);
	FORWARD_IF_ERROR(read_all(l->arena, path, source, error));
	l->spec = spec_parse(l->arena, source, l->diag);
	if (!l->spec)
		return STATUS_INPUT;
	return colon ? load_named(l, path, colon + 1, error) : load_every(l, path, error);
}

Status spec_load(Arena *arena, const char *argument, const SpecDefine *defines,
    int ndefines, Numerics numerics, Diag *diag, Error *error,
    ProgramVec *programs)
{
	Load l = {.arena = arena, .defines = defines, .ndefines = ndefines,
		.numerics = numerics, .diag = diag, .programs = programs};
	return load(&l, argument, error);
}

Status spec_each(const char *argument, const SpecDefine *defines, int ndefines,
    Numerics numerics, Diag *diag, Error *error, ProgramVisit *visit,
    void *context)
{
	Load l = {.arena = arena_new(), .defines = defines,
		.ndefines = ndefines, .numerics = numerics, .diag = diag,
		.visit = visit, .context = context};
	Status status = load(&l, argument, error);
	arena_free(l.arena);
	return status;
}
