/* From the operators on a command line to lowered kernels. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/kernels.h"
#include "cmd/stores.h"
#include "lib/escape.h"
#include "tuner/measure/measure.h"

/* Everything that one run has in hand. */
struct Making {
	Arena *kept;  /* for the whole run */
	Arena *arena; /* for the kernel in hand */
	const Common *common;
	const KernelOptions *options;
	Target *target; /* NULL: to be chosen for each operator */
	Target *host;   /* NULL until asked for */
	Stores stores;
	char *trace_text; /* of --trace; NULL until read */
	size_t trace_size;
};

/* --- files --------------------------------------------------------------- */

char *kernels_read_file(
    Arena *arena, const char *path, size_t *size, Error *error)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	if (!file) {
		error_set(error, STATUS_IO, "cannot read %s: %s", path,
		    strerror(errno));
		return NULL;
	}
	Buf text = {0};
	char part[4096];
	for (size_t n; (n = fread(part, 1, sizeof part, file)) > 0;)
		buf_add(&text, part, n);
	bool failed = ferror(file);
	if (failed)
		error_set(error, STATUS_IO, "cannot read %s: %s", path,
		    strerror(errno));
	if (file != stdin)
		fclose(file);
	*size = text.size;
	char *copy = failed
	    ? NULL : arena_strndup(arena, buf_text(&text), text.size);
	buf_free(&text);
	return copy;
}

/* --- stores -------------------------------------------------------------- */

void kernels_stores(Arena *arena, const KernelOptions *options, TextVec *paths)
{
	for (int i = 0; i < options->db.n; i++)
		vec_push(arena, paths, options->db.at[i]);
	if (!paths->n)
		vec_push(arena, paths, stores_preset());
}

static bool needs_records(const KernelOptions *options)
{
	return !options->trace && !options->schedule;
}

/* --- targets ------------------------------------------------------------- */

static Status open_target(Making *m, Error *error)
{
	const char *text = target_asked(m->options->target);
	if (!text)
		return STATUS_OK;
	m->target = measure_target(m->kept, text, error);
	return m->target ? STATUS_OK : error->status;
}

static Target *host_target(Making *m, Error *error)
{
	if (!m->host)
		m->host = target_host(m->kept, error);
	return m->host;
}

static bool among(const TextVec *texts, const char *text)
{
	for (int i = 0; i < texts->n; i++)
		if (!strcmp(texts->at[i], text))
			return true;
	return false;
}

enum { CHOICES_MAX = 800 }; /* bytes, so that an Error holds them */

/* One of `left` targets as the option that chooses it; false where there is no
 * room: half an option would be a trap. */
static bool put_choice(Buf *list, const char *target, int left)
{
	Buf word = {0};
	escape_shell(&word, target);
	bool fits = list->size + word.size < CHOICES_MAX;
	if (fits)
		buf_printf(list, "%s--target %s", list->size ? ", " : "",
		    buf_text(&word));
	else
		buf_printf(list, "%s%d more", list->size ? " and " : "", left);
	buf_free(&word);
	return fits;
}

/* The only target that records have, and what this CPU lacks for it. */
static void say_target(const Program *p, Arena *arena, const Target *target)
{
	char why[256];
	bool runs = target->kind != TARGET_LLVM ||
	    target_runs_here_why(target, why, sizeof why);
	bool lacks = !runs && !strncmp(why, "this CPU", strlen("this CPU"));
	say_note("%s: target '%s', which its records have%s%s",
	    program_label(arena, p), target->text,
	    lacks ? "; " : "", lacks ? why : "");
}

Target *kernels_choose_target(Arena *arena, const Common *common,
    const Program *p, Target *host, const TextVec *targets, Error *error)
{
	if (!targets->n || among(targets, host->text))
		return host;
	if (targets->n == 1) {
		Target *only = target_parse(arena, targets->at[0], error);
		if (only && !common->quiet)
			say_target(p, arena, only);
		return only;
	}
	Buf list = {0};
	for (int i = 0; i < targets->n; i++)
		if (!put_choice(&list, targets->at[i], targets->n - i))
			break;
	error_set(error, STATUS_NO_RECORD,
	    "there are records for several targets; choose one: %s",
	    buf_text(&list));
	buf_free(&list);
	return NULL;
}

/* --- traces -------------------------------------------------------------- */

static bool has_open(const Trace *trace)
{
	for (int s = 0; s < trace->steps.n; s++)
		for (int a = 0; a < trace->steps.at[s].nargs; a++)
			if (trace->steps.at[s].args[a].open)
				return true;
	return false;
}

/* A list of steps, or an object that has one: a line of a log.  A record names
 * things canonically. */
static Trace *json_trace(
    Making *m, const Program *p, const char *text, size_t size, Error *error)
{
	json_error_t why;
	json_t *json = json_loadb(text, size, 0, &why);
	if (!json) {
		error_set(error, STATUS_INPUT, "%s:%d:%d: error: %s",
		    m->options->trace, why.line, why.column, why.text);
		return NULL;
	}
	json_t *steps = json_is_object(json) ? json_object_get(json, "trace")
					     : json;
	Trace *trace = trace_from_json(m->arena, steps, error);
	json_decref(json);
	if (!trace)
		return NULL;
	Error ignored = {0};
	Trace *named = trace_localized(m->arena, p, trace, &ignored);
	return named ? named : trace;
}

static Trace *file_trace(Making *m, const Program *p, Error *error)
{
	const char *path = m->options->trace;
	if (!m->trace_text)
		m->trace_text = kernels_read_file(
		    m->kept, path, &m->trace_size, error);
	const char *text = m->trace_text;
	size_t size = m->trace_size;
	if (!text)
		return NULL;
	char first = text[strspn(text, " \t\r\n")];
	if (first == '[' || first == '{')
		return json_trace(m, p, text, size, error);
	Source source = {path, text, size};
	Diag diag = {0};
	Trace *trace =
	    trace_parse(m->arena, &source, (Span){0, size}, &diag);
	say_diag(&diag, m->common);
	if (!trace || diag.errors) {
		error->status = STATUS_INPUT; /* said already */
		trace = NULL;
	}
	diag_free(&diag);
	return trace;
}

static Trace *named_trace(Making *m, const Program *p, Error *error)
{
	const char *name = m->options->schedule;
	NamedTraceVec all = {0};
	Diag diag = {0};
	bool ok = !p->schedule_text || templates_parse(m->arena, p, &diag, &all);
	say_diag(&diag, m->common);
	diag_free(&diag);
	if (!ok) {
		error->status = STATUS_INPUT;
		return NULL;
	}
	Buf names = {0};
	for (int i = 0; i < all.n; i++) {
		if (!strcmp(all.at[i].name, name)) {
			buf_free(&names);
			return all.at[i].trace;
		}
		buf_printf(&names, "%s%s", i ? ", " : "", all.at[i].name);
	}
	error_set(error, STATUS_INPUT, "the spec has no schedule '%s' (%s)",
	    name, all.n ? buf_text(&names) : "it names none");
	buf_free(&names);
	return NULL;
}

static const char *measured_text(Making *m, const Program *p, double time_s)
{
	double flops = (double)p->flops / time_s * 1e-9;
	return time_s < 1e-3
	    ? arena_printf(m->arena, "%.4g us, %.4g GFLOP/s", time_s * 1e6, flops)
	    : arena_printf(m->arena, "%.4g ms, %.4g GFLOP/s", time_s * 1e3, flops);
}

typedef struct {
	Trace *trace; /* in the program's names; NULL: there is no record */
	char id[17];
	double time_s;
} Recorded;

/* The best record of a program for a target. */
static Status find_record(Making *m, const Program *p, const Target *target,
    Recorded *out, Error *error)
{
	BestQuery query = {.op = p->op, .target = target->text};
	Line best = {0};
	*out = (Recorded){0};
	FORWARD_IF_ERROR(
	    best_find(m->stores.at, m->stores.n, &query, &best, error));
	if (!best.json)
		return STATUS_OK;
	memcpy(out->id, best.id, sizeof out->id);
	out->time_s = best.time_s;
	Trace *found = trace_from_json(
	    m->arena, json_object_get(best.json, "trace"), error);
	line_free(&best);
	if (found)
		out->trace = trace_localized(m->arena, p, found, error);
	return out->trace ? STATUS_OK : error->status;
}

/* The targets that there are records for: of the program, else of its
 * groups. */
static Status recorded_targets(
    Making *m, const Kernel *k, TextVec *targets, Error *error)
{
	FORWARD_IF_ERROR(best_targets(m->arena, m->stores.at, m->stores.n,
	    k->program->op, targets, error));
	for (int i = 0; !targets->n && k->groups->n > 1 && i < k->groups->n;
	     i++) {
		TextVec of_group = {0};
		FORWARD_IF_ERROR(best_targets(m->arena, m->stores.at,
		    m->stores.n, k->groups->groups[i].program->op, &of_group,
		    error));
		for (int t = 0; t < of_group.n; t++)
			if (!among(targets, of_group.at[t]))
				vec_push(m->arena, targets, of_group.at[t]);
	}
	return STATUS_OK;
}

/* The trace of the best record for the operator and target; sets k->trace and
 * what the outputs say of it.  Leaves k->trace NULL where there is no record. */
static Status build_trace_for(Making *m, Kernel *k, Error *error)
{
	const Program *p = k->program;
	TextVec targets = {0};
	Recorded best;
	k->target = m->target;
	k->groups = groups_of(m->arena, p);
	if (!k->target) {
		FORWARD_IF_ERROR(recorded_targets(m, k, &targets, error));
		Target *host = host_target(m, error);
		k->target = host ? kernels_choose_target(m->arena, m->common, p,
				       host, &targets, error)
				 : NULL;
		if (!k->target)
			return error->status;
	}
	FORWARD_IF_ERROR(find_record(m, p, k->target, &best, error));
	k->trace = best.trace;
	if (!best.trace)
		return STATUS_OK;
	k->comment.record = arena_strdup(m->arena, best.id);
	k->comment.measured = measured_text(m, p, best.time_s);
	return STATUS_OK;
}

/* Says that there is no record, of the program or of some of its groups; with
 * --frozen that is an error. */
static Status no_record(
    Making *m, Kernel *k, const char *groups, Error *error)
{
	if (m->options->frozen)
		return error_set(error, STATUS_NO_RECORD,
		    "no record%s for target '%s'; `tunec tune` makes one",
		    groups, k->target->text);
	if (!m->common->quiet)
		say_warning("%s: no record%s for target '%s': the default "
			    "schedule is used",
		    program_label(m->arena, k->program), groups,
		    k->target->text);
	if (!*groups)
		k->comment.record = "none (default schedule)";
	return STATUS_OK;
}

/* There is no record of the program: those of its groups, or of all of them but
 * some, which is said; with --frozen that is an error. */
static Status group_records(
    Making *m, Kernel *k, Trace **traces, Error *error)
{
	const Groups *g = k->groups;
	Buf missing = {0};
	int nmissing = 0;
	Status status = STATUS_OK;
	for (int i = 0; i < g->n && g->n > 1 && !status; i++) {
		Recorded best;
		status = find_record(
		    m, g->groups[i].program, k->target, &best, error);
		traces[i] = best.trace;
		if (!traces[i])
			buf_printf(&missing, "%s'%s'", nmissing++ ? ", " : "",
			    g->groups[i].name);
	}
	const char *names = arena_strdup(m->arena, buf_text(&missing));
	buf_free(&missing);
	if (status)
		return status;
	if (g->n == 1 || nmissing == g->n)
		return no_record(m, k, "", error);
	k->comment.record = nmissing ? "those of some of its groups"
				     : "those of its groups";
	return nmissing ? no_record(m, k,
	    arena_printf(m->arena, " of its groups %s", names), error)
			: STATUS_OK;
}

enum { FIRST_TRIES = 2000 };

/* In another arena, by way of its text. */
static Trace *trace_in(Arena *arena, const Trace *trace)
{
	Buf text = {0};
	Diag diag = {0};
	trace_print(&text, trace);
	Source source = {"candidate 1",
	    arena_strndup(arena, buf_text(&text), text.size), text.size};
	Trace *copy = trace_parse(arena,
	    arena_memdup(arena, &source, sizeof source),
	    (Span){0, text.size}, &diag);
	buf_free(&text);
	diag_free(&diag);
	return copy;
}

/* What the analytic model ranks first; NULL where there is no space.  The space
 * holds every plan that was looked at, and dies here. */
static Trace *first_trace(
    Arena *arena, const Program *program, const Machine *machine)
{
	Error ignored = {0};
	Candidate first;
	Arena *scratch = arena_new();
	Trace *trace = NULL;
	Space *space = space_new(scratch, program, machine, &ignored);
	if (space && space_first(space, FIRST_TRIES, &first))
		trace = trace_in(arena, space_trace(scratch, space, &first));
	arena_free(scratch);
	return trace;
}

static Status given_trace(Making *m, Kernel *k, Error *error)
{
	k->target = m->target ? m->target : host_target(m, error);
	if (!k->target)
		return error->status;
	bool file = m->options->trace != NULL;
	Trace *trace = file ? file_trace(m, k->program, error)
			    : named_trace(m, k->program, error);
	if (!trace)
		return error->status;
	k->comment.record = file ? "none (a trace that was given)"
	    : arena_printf(m->arena, "none (schedule %s of the spec)",
		  m->options->schedule);
	if (has_open(trace))
		return error_set(error, STATUS_INPUT,
		    "the trace has open decisions; give each a value, or tune");
	k->trace = trace_resolve_lanes(m->arena, trace, &k->target->machine);
	return STATUS_OK;
}

/* --- kernels ------------------------------------------------------------- */

/* --threads=none: the loops stay, run by one thread. */
static void without_threads(LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		LowNode *n = body->at[i];
		if (n->kind == LOWNODE_LOOP && n->loop == LOOP_PARALLEL)
			n->loop = LOOP_SERIAL;
		if (n->kind == LOWNODE_LOOP || n->kind == LOWNODE_IF) {
			without_threads(&n->body);
			without_threads(&n->other);
		}
	}
}

/* The nest and the lowered form of k->trace, as far as the stage needs. */
static Status carry_out(Making *m, Kernel *k, KernelStage stage, Error *error)
{
	const Machine *machine = &k->target->machine;
	if (stage <= KERNEL_TRACE)
		return STATUS_OK;
	k->nest = schedule_nest(m->arena, k->program, machine, k->trace, error);
	if (!k->nest)
		return error->status;
	if (stage == KERNEL_NEST)
		return STATUS_OK;
	k->lowered = lower(m->arena, k->nest, machine, error);
	if (!k->lowered)
		return error->status;
	if (m->options->threads) {
		without_threads(&k->lowered->kernel->body);
		k->lowered->kernel->nthreads = 1;
	}
	return STATUS_OK;
}

/* Is the group's trace carried out where it is alone? */
static bool accepted(Making *m, const Kernel *k, const Program *program,
    const Trace *trace)
{
	Arena *scratch = arena_new();
	const Machine *machine = &k->target->machine;
	Error refused = {0};
	Nest *nest = trace
	    ? schedule_nest(scratch, program, machine, trace, &refused)
	    : NULL;
	bool fine = nest && lower(scratch, nest, machine, &refused);
	if (!fine && !m->common->quiet)
		say_warning("%s: group '%s' is compiled as plain loops%s%s",
		    program_label(m->arena, k->program), program->name,
		    trace ? ": " : "", trace ? refused.text : "");
	arena_free(scratch);
	return fine;
}

/* The groups' traces joined; each that is NULL is that of its plain loops. */
static Trace *joined_trace(
    Making *m, const Groups *g, Trace **traces, Error *error)
{
	for (int i = 0; i < g->n; i++)
		if (!traces[i])
			traces[i] = schedule_plain(
			    m->arena, g->groups[i].program);
	return groups_join(m->arena, g, traces, error);
}

/* The groups' traces, and where the whole is refused with them, without those
 * that are refused alone. */
static Status carry_out_groups(Making *m, Kernel *k, Trace **traces,
    KernelStage stage, Error *error)
{
	const Groups *g = k->groups;
	Error refused = {0};
	k->trace = joined_trace(m, g, traces, &refused);
	if (k->trace && !carry_out(m, k, stage, &refused))
		return STATUS_OK;
	if (refused.status == STATUS_INTERNAL) { /* not to be hidden */
		*error = refused;
		return error->status;
	}
	for (int i = 0; i < g->n; i++)
		if (!accepted(m, k, g->groups[i].program, traces[i]))
			traces[i] = schedule_plain(
			    m->arena, g->groups[i].program);
	k->trace = joined_trace(m, g, traces, error);
	if (k->trace && !carry_out(m, k, stage, error))
		return STATUS_OK;
	if (!m->common->quiet)
		say_warning("%s: compiled as plain loops: %s",
		    program_label(m->arena, k->program), error->text);
	k->trace = schedule_plain(m->arena, k->program);
	return carry_out(m, k, stage, error);
}

/* Candidate 1 of each group for which traces[] has none. */
static void default_traces(Making *m, const Kernel *k, Trace **traces)
{
	const Groups *g = k->groups;
	const Machine *machine = &k->target->machine;
	Trace **firsts = NEW_N(m->arena, Trace *, g->n);
	Error ignored = {0};
	for (int i = 0; i < g->n; i++) {
		int first = g->groups[i].same_as;
		if (traces[i])
			continue;
		if (!firsts[first])
			firsts[first] = first_trace(m->arena,
			    g->groups[first].program, machine);
		if (!firsts[first])
			continue;
		traces[i] = groups_trace(
		    m->arena, g, i, firsts[first], &ignored);
		assert(traces[i] && "equal groups have the same names");
	}
}

static Status make_one(
    Making *m, Kernel *k, KernelStage stage, Error *error)
{
	if (needs_records(m->options))
		FORWARD_IF_ERROR(build_trace_for(m, k, error));
	else
		FORWARD_IF_ERROR(given_trace(m, k, error));
	k->comment.target = k->target->text;
	if (k->trace || stage == KERNEL_TARGET)
		return carry_out(m, k, stage, error);
	Trace **traces = NEW_N(m->arena, Trace *, k->groups->n);
	FORWARD_IF_ERROR(group_records(m, k, traces, error));
	default_traces(m, k, traces);
	return carry_out_groups(m, k, traces, stage, error);
}

static int check_options(const KernelOptions *options)
{
	if (options->threads && strcmp(options->threads, "none"))
		return say_usage(NULL, "'%s' of --threads is not 'none'",
		    options->threads);
	if (options->trace && options->schedule)
		return say_usage(NULL, "--trace and --schedule exclude each other");
	return EXIT_DONE;
}

Making *kernels_open(Arena *arena, const Common *common,
    const KernelOptions *options, int *code)
{
	Making *m = NEW(arena, Making);
	Error error = {0};
	*m = (Making){.kept = arena, .common = common, .options = options};
	*code = check_options(options);
	if (!*code && open_target(m, &error)) {
		say_error("%s", error.text);
		*code = exit_of_status(error.status);
	}
	if (!*code && needs_records(options))
		*code = stores_open(&options->db, STORE_READ, &m->stores);
	return m;
}

/* --numerics=fast may have asked for what the operator is not. */
static void say_same(const Making *m, Arena *arena, const Kernel *k)
{
	const Program *p = k->program;
	if (m->common->verbose && p->numerics == NUMERICS_FAST &&
	    !k->target->machine.gpu && !winograd_fits(arena, p))
		say_note("%s: no convolution that Winograd's algorithm fits: "
			 "the kernel is that of --numerics=default",
		    program_label(arena, p));
}

int kernels_one(Making *m, Arena *arena, const Program *program,
    KernelStage stage, Kernel *k)
{
	Error error = {0};
	m->arena = arena;
	*k = (Kernel){.program = program, .comment = {"", "none", ""}};
	Status status = make_one(m, k, stage, &error);
	if (!status)
		say_same(m, arena, k);
	if (status && *error.text)
		say_error("%s: %s", program_label(arena, program), error.text);
	return exit_of_status(status);
}

void kernels_close(Making *m)
{
	stores_warn(&m->stores, m->common);
	stores_close(&m->stores);
}

int kernels_make(Arena *arena, const Common *common,
    const KernelOptions *options, const ProgramVec *programs,
    KernelStage stage, KernelVec *kernels)
{
	int code;
	Making *m = kernels_open(arena, common, options, &code);
	for (int i = 0, n = code ? 0 : programs->n; i < n; i++) {
		Kernel k;
		int one = kernels_one(m, arena, programs->at[i], stage, &k);
		if (!one)
			vec_push(arena, kernels, k);
		code = exit_worse(code, one);
	}
	kernels_close(m);
	return code;
}
