/* From the operators on a command line to lowered kernels. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/kernels.h"
#include "cmd/stores.h"
#include "lib/alike.h"
#include "lib/escape.h"
#include "lib/input.h"
#include "tuner/measure/measure.h"
#include "tuner/tune/transfer.h"

/* Everything that one run has in hand. */
struct Making {
	Arena *kept;  /* for the whole run */
	Arena *arena; /* for the kernel in hand */
	const Common *common;
	const KernelOptions *options;
	Target *target; /* NULL: to be chosen for each operator */
	Target *host;   /* NULL until asked for */
	const CostsFile *row; /* of --machine; NULL: the table's */
	Stores stores;
	Model *model;	  /* of --transfer; NULL: none, or not read yet */
	char *trace_text; /* of --trace; NULL until read */
	size_t trace_size;
	const Source *trace_source; /* of a trace that was given as text */
};

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
	if (needs_records(m->options)) /* else nothing is foreseen */
		FORWARD_IF_ERROR(
		    machine_row(m->kept, m->options->machine, &m->row, error));
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

static bool differs_in_threads_alone(const Target *a, const Target *b)
{
	return a->kind == TARGET_LLVM && b->kind == TARGET_LLVM &&
	    !strcmp(a->triple, b->triple) && !strcmp(a->cpu, b->cpu) &&
	    !strcmp(a->attrs, b->attrs) && a->threads != b->threads;
}

/* This machine with another number of threads: the most that it has, else the
 * fewest that there are, since a kernel is right on any number.  NULL: none. */
static Target *with_other_threads(
    Arena *arena, const Target *host, const TextVec *targets)
{
	Target *found = NULL;
	for (int i = 0; i < targets->n; i++) {
		Error ignored = {0};
		Target *t = target_parse(arena, targets->at[i], &ignored);
		if (!t || !differs_in_threads_alone(t, host))
			continue;
		bool fits = t->threads <= host->threads;
		bool found_fits = found && found->threads <= host->threads;
		if (!found || fits > found_fits ||
		    (fits == found_fits &&
			(fits ? t->threads > found->threads
			      : t->threads < found->threads)))
			found = t;
	}
	return found;
}

Target *kernels_choose_target(Arena *arena, const Common *common,
    const Program *p, Target *host, const TextVec *targets, Error *error)
{
	if (!targets->n || among(targets, host->text))
		return host;
	Target *other = with_other_threads(arena, host, targets);
	if (other && !common->quiet)
		say_note("%s: the records for %d thread%s are used, there are "
			 "none for -threads=%d",
		    program_label(arena, p), other->threads,
		    other->threads == 1 ? "" : "s", host->threads);
	if (other)
		return other;
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

/* NULL: there is none. */
static const Arg *first_open(const Trace *trace)
{
	for (int s = 0; s < trace->steps.n; s++)
		for (int a = 0; a < trace->steps.at[s].nargs; a++)
			if (trace->steps.at[s].args[a].open)
				return &trace->steps.at[s].args[a];
	return NULL;
}

/* At its place in the text of the trace; said already, then. */
static void say_place(
    const Making *m, Span span, const char *message, Error *error)
{
	Diag diag = {0};
	diag_error(&diag, m->trace_source, span, "%s", message);
	say_diag(&diag, m->common);
	diag_free(&diag);
	*error = (Error){.status = STATUS_INPUT};
}

/* What JSON has no places for. */
static void name_file(const Making *m, Error *error)
{
	Error inner = *error;
	error_set(error, inner.status, "%s: %s", m->options->trace, inner.text);
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
	if (!trace) {
		name_file(m, error);
		return NULL;
	}
	Error ignored = {0};
	Trace *named = trace_localized(m->arena, p, trace, &ignored);
	return named ? named : trace;
}

enum { TRACE_MOST = LINE_MOST }; /* bytes: of a line with one, too */

/* Once for all operators. */
static Status read_trace(Making *m, Error *error)
{
	const char *path = m->options->trace;
	Buf text = {0};
	if (m->trace_text)
		return STATUS_OK;
	Status status = input_read(path, TRACE_MOST + 1, &text, error);
	if (!status && text.size > TRACE_MOST)
		status = error_set(error, STATUS_INPUT,
		    "%s: a trace over %d MiB", path, TRACE_MOST >> 20);
	m->trace_size = text.size;
	if (!status)
		m->trace_text =
		    arena_strndup(m->kept, buf_text(&text), text.size);
	buf_free(&text);
	return status;
}

static Trace *file_trace(Making *m, const Program *p, Error *error)
{
	const char *path = m->options->trace;
	if (read_trace(m, error))
		return NULL;
	const char *text = m->trace_text;
	size_t size = m->trace_size;
	char first = text[strspn(text, " \t\r\n")];
	if (first == '[' || first == '{')
		return json_trace(m, p, text, size, error);
	Source *source = NEW(m->arena, Source);
	Diag diag = {0};
	*source = (Source){path, text, size};
	m->trace_source = source;
	if (strspn(text, " \t\r\n") == size) {
		say_place(m, (Span){0, 0},
		    "there is no trace: the plain loops are '[]', or a comment",
		    error);
		return NULL;
	}
	Trace *trace = trace_parse(m->arena, source, (Span){0, size}, &diag);
	say_diag(&diag, m->common);
	if (!trace || diag.errors) {
		error->status = STATUS_INPUT; /* said already */
		trace = NULL;
	}
	diag_free(&diag);
	return trace;
}

Trace *kernels_schedule(Arena *arena, const Common *common, const Program *p,
    const char *name, Error *error)
{
	NamedTraceVec all = {0};
	Diag diag = {0};
	bool ok = !p->schedule_text || templates_parse(arena, p, &diag, &all);
	say_diag(&diag, common);
	diag_free(&diag);
	if (!ok) {
		error->status = STATUS_INPUT; /* said already */
		return NULL;
	}
	Buf names = {0};
	Alike a = alike_to(name);
	for (int i = 0; i < all.n; i++) {
		alike_look(&a, all.at[i].name);
		if (!strcmp(all.at[i].name, name)) {
			buf_free(&names);
			return all.at[i].trace;
		}
		buf_printf(&names, "%s%s", i ? ", " : "", all.at[i].name);
	}
	error_set(error, STATUS_INPUT, "the spec has no schedule '%s' (%s)%s",
	    name, all.n ? buf_text(&names) : "it names none",
	    alike_question(&a, ""));
	buf_free(&names);
	return NULL;
}

static Trace *named_trace(Making *m, const Program *p, Error *error)
{
	m->trace_source = p->source;
	return kernels_schedule(
	    m->arena, m->common, p, m->options->schedule, error);
}

static const char *measured_text(Making *m, const Kernel *k, double time_s)
{
	double flops =
	    peak_operations(k->program, &k->target->machine) / time_s * 1e-9;
	return time_s < 1e-3
	    ? arena_printf(m->arena, "%.4g us, %.4g GFLOP/s", time_s * 1e6, flops)
	    : arena_printf(m->arena, "%.4g ms, %.4g GFLOP/s", time_s * 1e3, flops);
}

typedef struct {
	Trace *trace; /* in the program's names; NULL: no record applies */
	char id[17];  /* "": there is no record */
	double time_s;
	Error why;    /* there is one, but it is no trace of the program */
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
	out->trace = trace_stored(
	    m->arena, p, json_object_get(best.json, "trace"), &out->why);
	line_free(&best);
	return STATUS_OK;
}

/* The targets that there are records for, of groups. */
static Status targets_of_groups(
    Making *m, const Groups *g, TextVec *targets, Error *error)
{
	for (int i = 0; g->n > 1 && i < g->n; i++) {
		TextVec of_group = {0};
		FORWARD_IF_ERROR(best_targets(m->arena, m->stores.at,
		    m->stores.n, g->groups[i].program->op, &of_group, error));
		for (int t = 0; t < of_group.n; t++)
			if (!among(targets, of_group.at[t]))
				vec_push(m->arena, targets, of_group.at[t]);
	}
	return STATUS_OK;
}

/* Of the program, else of the groups that it has for this machine, which are the
 * kernel's from then on, or for most. */
static Status recorded_targets(
    Making *m, Kernel *k, const Target *host, TextVec *targets, Error *error)
{
	FORWARD_IF_ERROR(best_targets(m->arena, m->stores.at, m->stores.n,
	    k->program->op, targets, error));
	if (targets->n || !stores_exist(&m->stores))
		return STATUS_OK;
	if (host) {
		k->groups = groups_of(m->arena, k->program, &host->machine);
		FORWARD_IF_ERROR(
		    targets_of_groups(m, k->groups, targets, error));
	}
	return targets->n
	    ? STATUS_OK
	    : targets_of_groups(
		  m, groups_of(m->arena, k->program, NULL), targets, error);
}

/* Which target a kernel is for, where there are records. */
static Status choose_target(Making *m, Kernel *k, Error *error)
{
	TextVec targets = {0};
	Target *host = NULL;
	k->target = m->target;
	if (!k->target) {
		host = host_target(m, error);
		FORWARD_IF_ERROR(recorded_targets(m, k, host, &targets, error));
		k->target = host ? kernels_choose_target(m->arena, m->common,
				       k->program, host, &targets, error)
				 : NULL;
	}
	if (!k->target)
		return error->status;
	FORWARD_IF_ERROR(machine_take(k->target, m->row, error));
	if (!k->groups || k->target != host)
		k->groups =
		    groups_of(m->arena, k->program, &k->target->machine);
	return STATUS_OK;
}

/* A record that does not apply is as none, which is said; with --frozen that is
 * an error. */
static Status void_record(Making *m, const Kernel *k, const char *whose,
    const char *id, const Error *why, Error *error)
{
	const char *text = arena_printf(m->arena,
	    "record %s%s does not apply: %s", id, whose, why->text);
	if (m->options->frozen)
		return error_set(error, STATUS_NO_RECORD, "%s", text);
	if (!m->common->quiet)
		say_warning("%s: %s", program_label(m->arena, k->program), text);
	return STATUS_OK;
}

/* Says that there is no record, of the program or of some of its groups; with
 * --frozen that is an error. */
static Status no_record(
    Making *m, Kernel *k, const char *groups, Error *error)
{
	const char *why = stores_exist(&m->stores)
	    ? "; `tunec log explain` says why" : "";
	if (m->options->frozen)
		return error_set(error, STATUS_NO_RECORD,
		    "no record%s for target '%s'; `tunec tune` makes one%s",
		    groups, k->target->text, why);
	if (!m->common->quiet)
		say_warning("%s: no record%s for target '%s': the default "
			    "schedule%s is used%s",
		    program_label(m->arena, k->program), groups,
		    k->target->text, m->model ? " by the model" : "", why);
	if (!*groups)
		k->comment.record = m->model
		    ? "none (default schedule by a model)"
		    : "none (default schedule)";
	return STATUS_OK;
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

static double model_cost(void *model, const float *features, double analytic_s)
{
	float score;
	model_predict(model, features, &analytic_s, 1, &score);
	return -score;
}

/* The one that --transfer names, for a target. */
static Status open_model(Making *m, const Target *target, Error *error)
{
	bool is;
	const char *path = m->options->model;
	if (!path || m->model)
		return STATUS_OK;
	m->model = transfer_open_model(path, target, &is, error);
	if (!is)
		error_set(error, STATUS_INPUT,
		    "%s: not a model that tunec log export --model wrote",
		    path);
	return m->model ? STATUS_OK : error->status;
}

/* What the model ranks first, else (NULL) the analytic one; NULL where there is no
 * space.  The space holds every plan that was looked at, and dies here. */
static Trace *first_trace(
    Arena *arena, const Program *program, const Machine *machine, Model *model)
{
	Error ignored = {0};
	Candidate first;
	Arena *scratch = arena_new();
	Trace *trace = NULL;
	Space *space = space_new(scratch, program, machine, &ignored);
	if (space && model)
		space_rank_by(space, model_cost, model);
	if (space && space_first(space, FIRST_TRIES, &first))
		trace = trace_in(arena, space_trace(scratch, space, &first));
	arena_free(scratch);
	return trace;
}

static Status check_closed(Making *m, const Trace *trace, Error *error)
{
	const Arg *open = first_open(trace);
	if (open && m->trace_source)
		say_place(m, open->span,
		    "the decision is open: give it a value, or tune", error);
	else if (open)
		error_set(error, STATUS_INPUT,
		    "%s has open decisions: give each a value, or tune",
		    m->options->trace);
	return open ? error->status : STATUS_OK;
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
	k->comment.record = file
	    ? "none (a trace that was given)"
	    : arena_printf(m->arena, "none (schedule %s of the spec)",
		  m->options->schedule);
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

/* A refusal of a given trace is told where its text stands. */
static Nest *nest_of(
    Making *m, Arena *arena, const Kernel *k, Error *error)
{
	const Machine *machine = &k->target->machine;
	Refused refused;
	Nest *nest;
	if (!m->trace_source) {
		nest = schedule_nest(
		    arena, k->program, machine, k->trace, error);
		if (!nest && m->options->trace)
			name_file(m, error);
		return nest;
	}
	nest = schedule_nest_or(
	    arena, k->program, machine, k->trace, &refused);
	if (!nest && refused.step >= 0)
		say_place(m, k->trace->steps.at[refused.step].span,
		    refused.why, error);
	else if (!nest)
		error_set(error, STATUS_INPUT, "the schedule of %s: %s",
		    m->trace_source->name, refused.why);
	return nest;
}

/* The nest lives no longer than it is lowered: of a large program it is as large
 * as all that is emitted. */
static Status carry_out_lowered(Making *m, Kernel *k, Error *error)
{
	Arena *scratch = arena_new();
	const Nest *nest = nest_of(m, scratch, k, error);
	k->lowered = nest
	    ? lower(m->arena, nest, &k->target->machine, error) : NULL;
	arena_free(scratch);
	return k->lowered ? STATUS_OK : error->status;
}

/* The nest, or the lowered form of k->trace, as far as the stage needs. */
static Status carry_out(Making *m, Kernel *k, KernelStage stage, Error *error)
{
	if (stage <= KERNEL_TRACE)
		return STATUS_OK;
	if (stage == KERNEL_NEST) {
		k->nest = nest_of(m, m->arena, k, error);
		return k->nest ? STATUS_OK : error->status;
	}
	FORWARD_IF_ERROR(carry_out_lowered(m, k, error));
	if (m->options->threads) {
		without_threads(&k->lowered->kernel->body);
		k->lowered->kernel->nthreads = 1;
	}
	return STATUS_OK;
}

/* --- the schedule of each group -------------------------------------------- */

/* What a group has: the trace of its best record, then candidate 1, then its plain
 * loops; the next where one is refused. */
typedef enum { OF_RECORD, OF_MODEL, OF_PLAIN } Origin;

typedef struct {
	Origin origin;
	Trace *trace;
	char id[17]; /* of the record */
} Choice;

/* " of its group 'c'", of one of several. */
static const char *whose(Making *m, const Groups *g, int i)
{
	return g->n == 1 ? ""
	    : arena_printf(m->arena, " of its group '%s'", g->groups[i].name);
}

/* There is no record of the program: those of its groups, or of all of them but
 * some, which is said; with --frozen that is an error. */
static Status choose_records(
    Making *m, Kernel *k, Choice *choices, Error *error)
{
	const Groups *g = k->groups;
	Buf missing = {0};
	int nmissing = 0;
	Status status = STATUS_OK;
	for (int i = 0; i < g->n && g->n > 1 && !status; i++) {
		Recorded best;
		status = find_record(
		    m, g->groups[i].program, k->target, &best, error);
		choices[i].trace = best.trace;
		memcpy(choices[i].id, best.id, sizeof best.id);
		if (!best.trace && *best.id)
			status = void_record(
			    m, k, whose(m, g, i), best.id, &best.why, error);
		else if (!best.trace)
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

static Choice plain_choice(
    Making *m, const Kernel *k, int i, const char *why)
{
	const Groups *g = k->groups;
	if (!m->common->quiet)
		say_warning("%s: %s%s%s compiled as plain loops: %s",
		    program_label(m->arena, k->program),
		    g->n > 1 ? "group '" : "it",
		    g->n > 1 ? g->groups[i].name : "", g->n > 1 ? "' is" : " is",
		    why);
	return (Choice){
	    OF_PLAIN, schedule_plain(m->arena, g->groups[i].program), ""};
}

/* Candidate 1, or the plain loops where there is none. */
static Choice default_choice(Making *m, const Kernel *k, int i)
{
	Choice choice = {OF_MODEL,
	    first_trace(m->arena, k->groups->groups[i].program,
		&k->target->machine, m->model),
	    ""};
	return choice.trace
	    ? choice : plain_choice(m, k, i, "it has no other schedule");
}

/* So many blocks of a program have a schedule, those that are inlined aside: what
 * is beyond would take minutes, and code that fills the memory. */
enum { SCHEDULED_MOST = 8192 };

static int stages_left(const Program *group, const Trace *trace)
{
	int n = group->nblocks, inlines = primitive_find("compute_inline");
	for (int i = 0; i < trace->steps.n; i++)
		n -= trace->steps.at[i].primitive == inlines;
	return n;
}

static Choice choice_beyond(Making *m, const Program *group)
{
	return (Choice){OF_PLAIN, schedule_plain(m->arena, group), ""};
}

static void say_beyond(Making *m, const Kernel *k, int n)
{
	if (n && !m->common->quiet)
		say_warning("%s: %d of its %d groups are compiled as plain "
			    "loops: more than %d blocks are not scheduled",
		    program_label(m->arena, k->program), n, k->groups->n,
		    SCHEDULED_MOST);
}

/* Of each group that has no record; once for those that are equal. */
static void choose_defaults(Making *m, const Kernel *k, Choice *choices)
{
	const Groups *g = k->groups;
	Choice *firsts = NEW_N(m->arena, Choice, g->n);
	Error ignored = {0};
	int stages = 0, beyond = 0;
	for (int i = 0; i < g->n; i++) {
		int first = g->groups[i].same_as;
		bool room = stages < SCHEDULED_MOST;
		if (choices[i].trace)
			continue;
		beyond += !room && !firsts[first].trace;
		if (!firsts[first].trace)
			firsts[first] = room ? default_choice(m, k, first)
					     : choice_beyond(
						   m, g->groups[first].program);
		choices[i] = firsts[first];
		choices[i].trace = groups_trace(
		    m->arena, g, i, firsts[first].trace, &ignored);
		assert(choices[i].trace && "equal groups have the same names");
		stages += stages_left(g->groups[i].program, choices[i].trace);
	}
	say_beyond(m, k, beyond);
}

/* Is it carried out where the group is alone? */
static bool is_accepted(
    const Kernel *k, const Program *group, const Trace *trace, Error *why)
{
	Arena *scratch = arena_new();
	const Machine *machine = &k->target->machine;
	Nest *nest = schedule_nest(scratch, group, machine, trace, why);
	bool accepted = nest && lower(scratch, nest, machine, why);
	arena_free(scratch);
	return accepted;
}

/* The first that is accepted, from what it has on. */
static Status settle_group(
    Making *m, const Kernel *k, int i, Choice *choice, Error *error)
{
	const Program *p = k->groups->groups[i].program;
	Error why = {0};
	while (choice->origin < OF_PLAIN &&
	    !is_accepted(k, p, choice->trace, &why)) {
		if (choice->origin == OF_RECORD)
			FORWARD_IF_ERROR(void_record(m, k,
			    whose(m, k->groups, i), choice->id, &why,
			    error));
		*choice = choice->origin == OF_RECORD
		    ? default_choice(m, k, i)
		    : plain_choice(m, k, i, why.text);
	}
	return STATUS_OK;
}

static Status carry_out_choices(Making *m, Kernel *k, const Choice *choices,
    KernelStage stage, Error *error)
{
	Trace **traces = NEW_N(m->arena, Trace *, k->groups->n);
	for (int i = 0; i < k->groups->n; i++)
		traces[i] = choices[i].trace;
	k->trace = groups_join(m->arena, k->groups, traces, error);
	return k->trace ? carry_out(m, k, stage, error) : error->status;
}

/* The groups' schedules, each another where it is refused. */
static Status carry_out_groups(
    Making *m, Kernel *k, KernelStage stage, Error *error)
{
	Choice *choices = NEW_N(m->arena, Choice, k->groups->n);
	Error refused = {0};
	FORWARD_IF_ERROR(choose_records(m, k, choices, error));
	choose_defaults(m, k, choices);
	if (!carry_out_choices(m, k, choices, stage, &refused))
		return STATUS_OK;
	if (refused.status == STATUS_INTERNAL) { /* not to be hidden */
		*error = refused;
		return error->status;
	}
	for (int i = 0; i < k->groups->n; i++)
		FORWARD_IF_ERROR(settle_group(m, k, i, &choices[i], error));
	return carry_out_choices(m, k, choices, stage, error);
}

/* --- one kernel ------------------------------------------------------------ */

/* As somebody said.  With --frozen one that does not apply is none: one of another
 * operator or target, or with open decisions; but not a text that is no trace. */
static Status make_given(
    Making *m, Kernel *k, KernelStage stage, Error *error)
{
	FORWARD_IF_ERROR(given_trace(m, k, error));
	k->comment.target = k->target->text;
	Status status = check_closed(m, k->trace, error);
	if (!status)
		status = carry_out(m, k, stage, error);
	if (status && status != STATUS_INTERNAL && m->options->frozen)
		status = error->status = STATUS_NO_RECORD;
	return status;
}

/* By the program's record, where that applies; else by its groups'. */
static Status make_one(
    Making *m, Kernel *k, KernelStage stage, Error *error)
{
	Recorded best;
	if (!needs_records(m->options))
		return make_given(m, k, stage, error);
	FORWARD_IF_ERROR(choose_target(m, k, error));
	k->comment.target = k->target->text;
	FORWARD_IF_ERROR(open_model(m, k->target, error));
	if (stage == KERNEL_TARGET)
		return STATUS_OK;
	FORWARD_IF_ERROR(find_record(m, k->program, k->target, &best, error));
	k->trace = best.trace;
	if (best.trace && !carry_out(m, k, stage, &best.why)) {
		k->comment.record = arena_strdup(m->arena, best.id);
		k->comment.measured = measured_text(m, k, best.time_s);
		return STATUS_OK;
	}
	if (best.why.status == STATUS_INTERNAL) { /* not to be hidden */
		*error = best.why;
		return error->status;
	}
	if (*best.id)
		FORWARD_IF_ERROR(
		    void_record(m, k, "", best.id, &best.why, error));
	return carry_out_groups(m, k, stage, error);
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
	m->trace_source = NULL;
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
	model_free(m->model);
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
