/* Which candidates are worth measuring: what the search draws from the space by
 * the model's score, of new code alone.
 *
 * Many candidates differ in decisions that change nothing; their lowered forms
 * are equal, and so would be their objects.  They are lowered before anything
 * is compiled, and one whose form is known is passed over: it is no trial.  So
 * is one of a quarter more code than the least that is as fast as the best: it
 * takes long to compile, and an instruction cache does not hold it.  The model
 * is told, so that few such are proposed. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "tuner/tune/tune_internal.h"

enum {
	FIRST_TRIES = 2000, /* samples behind candidate 1 */
	OTHER_TRIES = 64,   /* behind a kernel of another structure */
	STALLED = 1000,	    /* so many in a row of known code: the end */
	CODE_MOST = 1000,   /* instructions that are always allowed */
	ROUNDS_LEAST = 4,   /* for which there is time */
	BATCHES_LEAST = 6,  /* likewise */
	BATCH_LEAST = 12
};

/* A round of the search is over in this time, or in half of that of its trials:
 * where each candidate is of another structure all its steps would take many
 * times as long as what they find.  Where there is little time it is over
 * sooner, or none would be left for trials. */
static const double round_s = 0.25;

static bool is_over(void *context)
{
	const Tuning *t = context;
	return tune_measures(t) &&
	    (measure_now() > t->round_end_s || !tune_budget_left(t));
}

static Status open_space(Tuning *t)
{
	if (t->space)
		return STATUS_OK;
	t->space = space_new(
	    t->arena, t->program, &t->target->machine, t->error);
	if (t->space && t->options.schedule)
		space_keep_named(t->space, t->options.schedule);
	return t->space ? STATUS_OK : t->error->status;
}

/* The first run of a store draws by the seed alone; the next ones, which may
 * run beside it, each by another. */
static uint64_t seed_of(const Tuning *t)
{
	uint64_t seed = t->options.seed;
	return t->history.before
	    ? hash_mix(seed + (uint64_t)t->history.before) : seed;
}

Status propose_open(Tuning *t)
{
	if (t->guide)
		return STATUS_OK;
	FORWARD_IF_ERROR(open_space(t));
	SearchSpace functions = guide_space(t->space);
	GuideSettings settings = t->options.guide;
	functions.over = is_over;
	functions.over_context = t;
	settings.how.seed = seed_of(t);
	settings.model.seed = t->options.seed;
	if (t->options.transfer)
		settings.nstarts =
		    transfer_starts(t->options.transfer, t->program, t->space,
			settings.starts, guide_starts(settings.model.global));
	t->guide = guide_new(t->space, &functions, &settings);
	propose_learn_known(t, 0);
	return STATUS_OK;
}

void propose_close(Tuning *t)
{
	guide_free(t->guide);
	t->guide = NULL;
	t->nfound = t->taken = 0;
}

/* All its sketches. */
char *propose_space_key(Tuning *t)
{
	char *key = NEW_N(t->arena, char, 65);
	if (open_space(t))
		return key;
	json_t *sketches = json_array();
	for (int i = 0; i < space_nsketches(t->space); i++)
		json_array_append_new(
		    sketches, trace_to_json(space_sketch(t->space, i)));
	char *text = json_dumps(sketches, JSON_COMPACT);
	sha256_hex(text, strlen(text), key);
	free(text);
	json_decref(sketches);
	return key;
}

json_t *propose_refusals(const Tuning *t)
{
	RefusalCount counts[64];
	json_t *refusals = json_object();
	int n = t->space ? space_refusals(t->space, counts, 64) : 0;
	for (int i = 0; i < n; i++)
		json_object_set_new(refusals, counts[i].why,
		    json_integer((json_int_t)counts[i].count));
	return refusals;
}

static json_t *number_or_null(double x)
{
	return isnan(x) ? json_null() : json_real(x);
}

json_t *propose_batches(const Tuning *t)
{
	json_t *batches = json_array();
	int n = 0;
	if (t->guide)
		guide_end(t->guide);
	const GuideBatch *b = t->guide ? guide_batches(t->guide, &n) : NULL;
	for (int i = 0; i < n; i++)
		json_array_append_new(batches,
		    json_pack("{s:i,s:o,s:o,s:o}", "trials", b[i].rows,
			"correlation", number_or_null(b[i].rating.correlation),
			"recall", number_or_null(b[i].rating.recall),
			"analytic",
			number_or_null(b[i].rating.prior_correlation)));
	return batches;
}

/* --- proposals ---------------------------------------------------------------- */

static bool is_known_form(const Tuning *t, uint64_t form)
{
	for (int i = 0; i < t->forms.n; i++)
		if (t->forms.at[i] == form)
			return true;
	return false;
}

static void keep_form(Tuning *t, uint64_t form)
{
	if (form && !is_known_form(t, form))
		vec_push(t->arena, &t->forms, form);
}

static Proposal proposal(Tuning *t, const Candidate *c)
{
	return (Proposal){.candidate = *c,
	    .trace = space_trace(t->passing, t->space, c),
	    .drawn = true,
	    .predicted_s = guide_predict(t->guide, c)};
}

const Trace *propose_trace(Tuning *t, const Proposal *p)
{
	return p->drawn ? space_trace(t->arena, t->space, &p->candidate)
			: p->trace;
}

static Status set_forms(Tuning *t, Proposal *p, int n)
{
	const Trace *traces[TUNE_BATCH];
	CodeForm form[TUNE_BATCH];
	assert(n <= TUNE_BATCH);
	if (!tune_measures(t))
		return STATUS_OK;
	for (int i = 0; i < n; i++)
		traces[i] = p[i].trace;
	double start = measure_now();
	FORWARD_IF_ERROR(measure_forms(
	    t->measurer, traces, n, t->code_most, form, t->error));
	double took = measure_now() - start;
	t->result.times.lower += took;
	if (n)
		t->lower_s = took * measure_at_once(t->measurer, n) / n;
	for (int i = 0; i < n; i++) {
		p[i].form = form[i].hash;
		p[i].instructions = form[i].instructions;
	}
	return STATUS_OK;
}

bool propose_has_any(Tuning *t)
{
	Candidate c;
	return !open_space(t) && space_first(t->space, FIRST_TRIES, &c);
}

Status propose_first(Tuning *t, Proposal *out, bool *found)
{
	Candidate c;
	*found = space_first(t->space, FIRST_TRIES, &c);
	if (*found) {
		*out = proposal(t, &c);
		out->trace = propose_trace(t, out); /* the reference's, too */
		out->drawn = false;
		guide_visit(t->guide, &c);
	} else {
		out->trace = schedule_plain(t->arena, t->program);
	}
	FORWARD_IF_ERROR(set_forms(t, out, 1));
	keep_form(t, out->form);
	const CodeSize size = {0, out->instructions};
	t->code_most = propose_code_most(&size, 1);
	return STATUS_OK;
}

/* Among samples of another register tile the one that the analytic model
 * expects most of; NULL where there is none. */
static const Trace *other_trace(
    Arena *arena, Space *space, const Trace *trace)
{
	Candidate first, c, best;
	double best_s = INFINITY, s;
	Rng rng = rng_stream(1, 2, 4);
	bool found = space_find(space, trace, &first);
	uint64_t kind = found ? space_register_tile(space, &first) : 0;
	for (int i = 0; i < OTHER_TRIES; i++) {
		if (!space_sample(space, &rng, &c) ||
		    (found && space_register_tile(space, &c) == kind))
			continue;
		space_analytic(space, &c, 1, &s);
		if (s >= best_s)
			continue;
		best = c;
		best_s = s;
	}
	return isinf(best_s) ? NULL : space_trace(arena, space, &best);
}

const Trace *propose_other(Tuning *t, const Trace *trace)
{
	return other_trace(t->arena, t->space, trace);
}

Status tune_reference(Arena *arena, const Program *program,
    const Target *target, ReferenceWish *wish, Error *error)
{
	Candidate first;
	Space *space = space_new(arena, program, &target->machine, error);
	if (!space)
		return error->status;
	if (!space_first(space, FIRST_TRIES, &first))
		return STATUS_OK;
	wish->fast = space_trace(arena, space, &first);
	wish->other = other_trace(arena, space, wish->fast);
	return STATUS_OK;
}

/* How many candidates are drawn at once: the model learns after each batch, so
 * there are to be several in a run.  Small ones at the end of a long run only
 * find more often what is known. */
int propose_batch(const Tuning *t)
{
	double n = (double)tune_trials_left(t) * t->options.part;
	if (tune_measures(t) && t->trial_s > 0)
		n = fmin(n, tune_own_left(t) / t->trial_s);
	n = (n + (double)t->result.trials) / BATCHES_LEAST;
	return n >= TUNE_BATCH ? TUNE_BATCH
	    : n > BATCH_LEAST  ? (int)n
				  : BATCH_LEAST;
}

static Status fit(Tuning *t)
{
	double start = measure_now();
	Status status = guide_fit(t->guide, propose_batch(t), t->error);
	t->result.times.train += measure_now() - start;
	return status;
}

/* Of n proposals those of new code that is not too much, in their order. */
static int drop_known(Tuning *t, Proposal *p, int n)
{
	int kept = 0;
	for (int i = 0; i < n; i++) {
		if (p[i].form && is_known_form(t, p[i].form)) {
			t->result.equal++;
			continue;
		}
		keep_form(t, p[i].form);
		if (t->code_most && p[i].instructions > t->code_most) {
			t->result.large++;
			propose_learn(t, &p[i], INFINITY);
		} else {
			p[kept++] = p[i];
		}
	}
	return kept;
}

/* A round of the search for n candidates. */
static void find(Tuning *t, int n)
{
	TuneTimes *times = &t->result.times;
	double start = measure_now();
	double scored_s = guide_stats(t->guide).score_seconds;
	t->round_end_s = start +
	    fmin(fmax(round_s * n / TUNE_BATCH, n / 2 * t->trial_s),
		tune_own_left(t) / ROUNDS_LEAST);
	t->nfound = guide_next(t->guide, n, t->found);
	t->taken = 0;
	t->ended = t->nfound < n;
	scored_s = guide_stats(t->guide).score_seconds - scored_s;
	times->features += scored_s;
	times->search += measure_now() - start - scored_s;
}

Status propose_ahead(Tuning *t, int n)
{
	if (t->taken < t->nfound || t->ended)
		return STATUS_OK;
	FORWARD_IF_ERROR(fit(t));
	find(t, n);
	return STATUS_OK;
}

/* Of what was found as many as can wait with their lowered forms: what is lowered
 * is compiled by the same process, or it would be lowered twice. */
static int take(Tuning *t, int n, Proposal *out)
{
	int taken = t->nfound - t->taken;
	taken = taken > n ? n : taken;
	taken = taken > MEASURE_WIDTH ? MEASURE_WIDTH : taken;
	arena_free(t->passing);
	t->passing = arena_child(t->arena);
	for (int i = 0; i < taken; i++)
		out[i] = proposal(t, &t->found[t->taken++]);
	return taken;
}

Status propose_next(
    Tuning *t, int n, Proposal *out, int *got, bool *exhausted)
{
	assert(n > 0 && n <= TUNE_BATCH);
	*got = 0;
	*exhausted = false;
	if (t->taken == t->nfound)
		FORWARD_IF_ERROR(fit(t));
	for (int stalled = 0; !*got && !*exhausted && tune_budget_left(t);) {
		if (t->taken == t->nfound)
			find(t, n);
		int taken = take(t, n, out);
		FORWARD_IF_ERROR(set_forms(t, out, taken));
		*got = drop_known(t, out, taken);
		stalled += taken;
		*exhausted = t->taken == t->nfound &&
		    (t->ended || (!*got && stalled >= STALLED));
	}
	return STATUS_OK;
}

/* --- learning ------------------------------------------------------------------ */

int64_t propose_code_most(const CodeSize *sizes, int n)
{
	const double as_fast = 1.01; /* of the best */
	double best_s = INFINITY;
	int64_t least = INT64_MAX;
	for (int i = 0; i < n; i++)
		best_s = fmin(best_s, sizes[i].time_s);
	for (int i = 0; i < n; i++)
		if (sizes[i].time_s <= as_fast * best_s &&
		    sizes[i].instructions < least)
			least = sizes[i].instructions;
	int64_t most = n ? least + least / 4 : 0;
	return most > CODE_MOST ? most : CODE_MOST;
}

/* A run that did not begin with candidate 1 has no limit: what won is of a size
 * that is not known. */
static void learn_size(Tuning *t, const Proposal *p, double time_s)
{
	const CodeSize size = {time_s, p->instructions};
	if (!t->code_most || !p->instructions || !isfinite(time_s))
		return;
	vec_push(t->arena, &t->sizes, size);
	t->code_most = propose_code_most(t->sizes.at, t->sizes.n);
}

void propose_learn(Tuning *t, const Proposal *p, double time_s)
{
	learn_size(t, p, time_s);
	guide_tell(t->guide, &p->candidate, time_s);
}

static bool find_known(
    Tuning *t, Arena *scratch, const char *text, Candidate *out)
{
	Refusal why;
	Error ignored;
	json_t *json = json_loads(text, 0, NULL);
	const Trace *trace = trace_stored(scratch, t->program, json, &ignored);
	json_decref(json);
	return trace && space_find(t->space, trace, out) &&
	    space_legal(t->space, out, &why);
}

static void learn_known(Tuning *t, const Known *k)
{
	Arena *scratch = arena_new();
	Proposal p = {0};
	if (k->text && find_known(t, scratch, k->text, &p.candidate)) {
		guide_visit(t->guide, &p.candidate);
		propose_learn(t, &p, k->time_s);
	}
	arena_free(scratch);
}

void propose_learn_known(Tuning *t, int i)
{
	for (int k = i; k < t->known.n; k++)
		keep_form(t, t->known.at[k].form);
	if (!t->guide)
		return;
	for (int k = i; k < t->known.n; k++) {
		learn_known(t, &t->known.at[k]);
		if (!t->known.at[k].trace)
			t->known.at[k].text = NULL;
	}
	arena_free(t->unlearnt);
	t->unlearnt = NULL;
}
