/* --transfer of tune: what it takes over from other operators; and the same as a
 * file, log export --model. */
#include <string.h>
#include <unistd.h>

#include "cmd/log.h"
#include "cmd/tune_verb.h"

/* --- what is said -------------------------------------------------------------- */

static void say_left_out(Buf *out, int n, const char *what)
{
	if (n)
		buf_printf(out, "; %d %s", n, what);
}

static void say_facts(const TransferFacts *f, const char *teach)
{
	Buf text = {0};
	say_left_out(&text, f->unfit, "fit no space of today's");
	say_left_out(&text, f->otherwise, "were measured in another way");
	say_left_out(&text, f->wrong, "are too fast to be true");
	say_left_out(&text, f->unread, "are beyond what is read");
	if (f->records || text.size)
		say_note("transfer: %d records of %d other operators%s%s",
		    f->records, f->operators, f->records ? teach : "",
		    buf_text(&text));
	buf_free(&text);
}

/* Of a hundred. */
static int percent(double share)
{
	return (int)(100 * share + 0.5);
}

static const char *teaching(Arena *arena, const TransferFacts *f)
{
	return arena_printf(arena,
	    f->useful
		? " teach: what they think best has %d %% of the fastest's speed, "
		  "what the analytic model does %d %%"
		: " teach no more than the analytic model knows (%d %% of the "
		  "fastest's speed, and %d %%)",
	    percent(f->share), percent(f->analytic));
}

/* --- tune ------------------------------------------------------------------------ */

/* The words' stores, opened; those of the run are not. */
typedef struct {
	VEC(Store *) read, opened;
} Sources;

static Status add_word(
    TuneRun *run, const char *word, Sources *sources, Error *error)
{
	bool is;
	Store *store;
	if (!strcmp(word, "auto")) {
		for (int i = 0; i < run->stores->n; i++)
			vec_push(
			    run->arena, &sources->read, run->stores->at[i]);
		return STATUS_OK;
	}
	Model *model = transfer_open_model(word, run->target, &is, error);
	if (is) {
		model_free(run->global);
		run->global = model;
		return model ? STATUS_OK : error->status;
	}
	if (access(word, F_OK))
		return error_set(error, STATUS_INPUT,
		    "--transfer: there is no file %s", word);
	FORWARD_IF_ERROR(store_open(word, STORE_READ, &store, error));
	vec_push(run->arena, &sources->read, store);
	vec_push(run->arena, &sources->opened, store);
	return STATUS_OK;
}

static Status read_sources(TuneRun *run, const Sources *sources, Error *error)
{
	TuneOptions *o = &run->options;
	const Program **own = NEW_N(run->arena, const Program *, run->n);
	for (int i = 0; i < run->n; i++)
		own[i] = run->tasks.at[i].program;
	TransferWish wish = {.regime = run->cold ? "cold" : "warm",
	    .measure =
		o->measure.machine == MACHINE_SIMULATED ? "simulate" : NULL,
	    .own = own,
	    .nown = run->n};
	run->transfer = transfer_new(run->target);
	return transfer_read(
	    run->transfer, sources->read.at, sources->read.n, &wish, error);
}

/* What cannot be learnt without XGBoost is no reason not to tune. */
static void learn(TuneRun *run)
{
	Error why;
	const Transfer *t = run->transfer;
	const char *teach = "; their fastest are tried";
	if (!run->global && run->options.guide.learn) {
		if (transfer_learn(
			run->transfer, run->options.seed, &run->global, &why))
			teach = arena_printf(
			    run->arena, " teach nothing: %s", why.text);
		else
			teach = teaching(run->arena, &t->facts);
	}
	if (!run->common->quiet)
		say_facts(&t->facts, teach);
}

int tune_transfer_open(TuneRun *run, const TextList *words)
{
	Sources sources = {0};
	Error error;
	Status status = STATUS_OK;
	for (int i = 0; i < words->n; i++)
		if (!strcmp(words->at[i], "off"))
			return EXIT_DONE;
	for (int i = 0; i < words->n && !status; i++)
		status = add_word(run, words->at[i], &sources, &error);
	if (!status && sources.read.n)
		status = read_sources(run, &sources, &error);
	if (!status && run->transfer)
		learn(run);
	for (int i = 0; i < sources.opened.n; i++)
		store_close(sources.opened.at[i]);
	run->options.transfer = run->transfer;
	run->options.guide.model.global = run->global;
	if (status)
		say_error("%s", error.text);
	return exit_of_status(status);
}

void tune_transfer_close(TuneRun *run)
{
	model_free(run->global);
	transfer_free(run->transfer);
}

/* --- log export --model ------------------------------------------------------------- */

static Status write_model(
    const Log *log, const Target *target, const Model *model, Error *error)
{
	Buf text = {0};
	transfer_write_model(&text, model, target);
	OutputFile file = {log->model, buf_text(&text), text.size};
	Status status = out_files(&file, 1, error);
	buf_free(&text);
	return status;
}

static Status export(Arena *arena, const Log *log, const Stores *stores,
    const Target *target, Transfer *t, Error *error)
{
	TransferWish wish = {.regime = log->cold ? "cold" : "warm"};
	Model *model;
	FORWARD_IF_ERROR(transfer_read(t, stores->at, stores->n, &wish, error));
	FORWARD_IF_ERROR(transfer_learn(t, 1, &model, error));
	if (!model && t->facts.records)
		model = model_of_prior(FEATURES);
	if (!log->common.quiet)
		say_facts(&t->facts, teaching(arena, &t->facts));
	if (!model)
		return error_set(error, STATUS_INPUT,
		    "no record that was measured on a machine as of '%s' and "
		    "fits a space of today's",
		    target->text);
	Status status = write_model(log, target, model, error);
	model_free(model);
	return status;
}

int log_model(Arena *arena, const Log *log, const Stores *stores)
{
	Error error;
	const char *asked = target_asked(log->target);
	const Target *target =
	    target_parse(arena, asked ? asked : "host", &error);
	Transfer *t = target ? transfer_new(target) : NULL;
	Status status =
	    t ? export(arena, log, stores, target, t, &error) : error.status;
	transfer_free(t);
	if (status)
		say_error("%s", error.text);
	return exit_of_status(status);
}
