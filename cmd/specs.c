/* SPEC operands and exit codes. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "codegen/codegen.h"
#include "schedule/schedule.h"

/* --- exit codes ------------------------------------------------------------- */

static int exit_rank(int code)
{
	static const int order[] = {
		EXIT_DONE, EXIT_NO_RECORD, EXIT_WRONG, EXIT_FAILED, EXIT_USAGE};
	for (int i = 0; i < (int)(sizeof order / sizeof order[0]); i++)
		if (order[i] == code)
			return i;
	return 99; /* interrupted */
}

int exit_worse(int a, int b)
{
	return exit_rank(a) >= exit_rank(b) ? a : b;
}

int exit_of_status(Status status)
{
	switch (status) {
	case STATUS_OK:
		return EXIT_DONE;
	case STATUS_USAGE:
		return EXIT_USAGE;
	case STATUS_NO_RECORD:
		return EXIT_NO_RECORD;
	case STATUS_WRONG:
		return EXIT_WRONG;
	case STATUS_INTERRUPTED:
		return EXIT_INTERRUPTED;
	default:
		return EXIT_FAILED;
	}
}

/* --- specs ------------------------------------------------------------------ */

static bool parse_numerics(const char *text, Numerics *numerics)
{
	static const char *const names[] = {"default", "exact", "fast"};
	for (int i = 0; i < 3; i++)
		if (!strcmp(text, names[i])) {
			*numerics = (Numerics)i;
			return true;
		}
	return false;
}

bool define_parse(Arena *arena, const char *text, SpecDefine *define)
{
	const char *equals = strchr(text, '=');
	if (!equals || equals == text)
		return false;
	define->name = arena_strndup(arena, text, (size_t)(equals - text));
	define->value = equals + 1;
	return true;
}

/* For this machine; the steps know little of one. */
static bool apply_templates(Arena *arena, const Program *p,
    const NamedTraceVec *templates, Diag *diag)
{
	Error ignored = {0};
	Target *host = target_host(arena, &ignored);
	return !host || templates_apply(p, &host->machine, templates, diag);
}

/* The same text in all cases of a file: looked at once. */
static bool check_templates(
    Arena *arena, const Common *common, const Program *p, Diag *diag)
{
	NamedTraceVec templates = {0};
	if (!p->schedule_text)
		return true;
	return templates_parse(arena, p, diag, &templates) &&
	    (!common->apply_templates ||
		apply_templates(arena, p, &templates, diag));
}

static int load_one(Arena *arena, const Common *common, const char *operand,
    const SpecDefine *defines, Numerics numerics, ProgramVec *programs)
{
	Diag diag = {0};
	Error error = {0};
	int before = programs->n;
	Status status = spec_load(arena, operand, defines, common->define.n,
	    numerics, &diag, &error, programs);
	if (programs->n > before &&
	    !check_templates(arena, common, programs->at[before], &diag)) {
		programs->n = before;
		status = STATUS_INPUT;
	}
	say_diag(&diag, common);
	if (error.status)
		say_error("%s", error.text);
	diag_free(&diag);
	return exit_of_status(status);
}

/* What --numerics and -D say; an exit code. */
static int settings(Arena *arena, const Common *common, Numerics *numerics,
    SpecDefine **defines)
{
	if (!parse_numerics(common->numerics, numerics))
		return say_usage(NULL,
		    "'%s' of --numerics is none of default, exact, fast",
		    common->numerics);
	*defines = NEW_N(arena, SpecDefine, common->define.n);
	for (int i = 0; i < common->define.n; i++)
		if (!define_parse(arena, common->define.at[i], &(*defines)[i]))
			return say_usage(NULL, "'%s' of -D is not NAME=EXPR",
			    common->define.at[i]);
	return EXIT_DONE;
}

int specs_load(Arena *arena, const Common *common, int n, char **operands,
    ProgramVec *programs)
{
	Numerics numerics;
	SpecDefine *defines;
	int code = settings(arena, common, &numerics, &defines);
	if (code)
		return code;
	for (int i = 0; i < n; i++)
		code = exit_worse(code, load_one(arena, common, operands[i],
						defines, numerics, programs));
	return code;
}

/* --- one at a time ----------------------------------------------------------- */

typedef struct {
	const Common *common;
	Diag diag; /* what has not been said yet */
	SpecVisit *visit;
	void *context;
	bool checked; /* the templates of the file */
	int code;
} Each;

static bool each_program(Arena *arena, Program *p, void *context)
{
	Each *each = context;
	bool good = true;
	if (p && !each->checked) {
		good = check_templates(
		    arena, each->common, p, &each->diag);
		each->checked = true;
	}
	say_diag(&each->diag, each->common);
	buf_clear(&each->diag.text);
	if (!good)
		each->code = exit_worse(each->code, EXIT_FAILED);
	else if (p)
		each->code = exit_worse(
		    each->code, each->visit(arena, p, each->context));
	return good;
}

static int each_one(Each *each, const char *operand, const SpecDefine *defines,
    Numerics numerics)
{
	Error error = {0};
	each->diag = (Diag){0};
	each->checked = false;
	Status status = spec_each(operand, defines, each->common->define.n,
	    numerics, &each->diag, &error, each_program, each);
	say_diag(&each->diag, each->common);
	if (error.status)
		say_error("%s", error.text);
	diag_free(&each->diag);
	return exit_of_status(status);
}

int specs_each(const Common *common, int n, char **operands, SpecVisit *visit,
    void *context)
{
	Each each = {.common = common, .visit = visit, .context = context};
	Arena *arena = arena_new();
	Numerics numerics;
	SpecDefine *defines;
	each.code = settings(arena, common, &numerics, &defines);
	for (int i = 0; each.code != EXIT_USAGE && i < n; i++) {
		int code = each_one(&each, operands[i], defines, numerics);
		each.code = exit_worse(each.code, code);
	}
	arena_free(arena);
	return each.code;
}

json_t *json_buffer(const Buffer *b)
{
	json_t *o = json_object(), *shape = json_array();
	for (int i = 0; i < b->ndim; i++)
		json_array_append_new(shape, json_integer(b->shape[i]));
	json_object_set_new(o, "name", json_string(b->name));
	json_object_set_new(o, "dtype", json_string(dtype_name(b->type)));
	json_object_set_new(o, "shape", shape);
	return o;
}

const char *program_label(Arena *arena, const Program *p)
{
	return *p->case_name
	    ? arena_printf(arena, "%s:%s", p->name, p->case_name)
	    : p->name;
}

static const char *asked(const char *given, const char *variable)
{
	const char *preset = getenv(variable);
	return given ? given : preset && *preset ? preset : NULL;
}

const char *target_asked(const char *given)
{
	return asked(given, "TUNEC_TARGET");
}

const char *machine_asked(const char *given)
{
	return asked(given, "TUNEC_MACHINE");
}

Status machine_row(
    Arena *arena, const char *given, const CostsFile **out, Error *error)
{
	const char *file = machine_asked(given);
	*out = NULL;
	if (!file)
		return STATUS_OK;
	CostsFile *row = NEW(arena, CostsFile);
	*out = row;
	return costs_read(file, row, error);
}

Status machine_take(Target *target, const CostsFile *row, Error *error)
{
	return row ? target_use_costs(target, row, error) : STATUS_OK;
}
