/* A candidate becomes a trial: compiled beside others, run alone, stored before
 * the next one runs. */
#include <math.h>
#include <string.h>

#include "tuner/tune/tune_internal.h"

static void count(Tuning *t, const Known *k, const Measurement *m, bool ok)
{
	TuneResult *r = &t->result;
	r->ok += ok;
	r->failed += !ok;
	t->failed_by[m->outcome]++;
	if (ok && (r->best_s <= 0 || k->time_s < r->best_s)) {
		r->best_s = k->time_s;
		memcpy(r->best_id, k->id, sizeof r->best_id);
	}
	if (!ok && !r->best_error[0])
		snprintf(r->best_error, sizeof r->best_error, "%s: %.480s",
		    outcome_name(m->outcome), m->error);
}

/* Stores a search trial and what it means for the best. */
static Status finish_trial(Tuning *t, const Proposal *p, const char *text,
    const Measurement *m, const char *same_as)
{
	Known k = {.key = known_key(text),
	    .form = p->form,
	    .predicted_s = p->predicted_s};
	k.plain = known_same(&k.key, &t->plain_key);
	t->result.trials++;
	TrialNote note = {
	    .form = p->form, .predicted_s = p->predicted_s, .same_as = same_as};
	FORWARD_IF_ERROR(lines_trial(t, text, m, &note, k.id));
	bool ok = m->outcome == OUTCOME_OK && m->time_s > 0;
	k.time_s = ok ? m->time_s : INFINITY;
	if (ok && m->object[0])
		k.measured = arena_memdup(t->arena, m, sizeof *m);
	if (known_may_win(t, &k)) {
		k.text = arena_strdup(t->arena, text);
		k.trace = propose_trace(t, p);
	}
	vec_push(t->arena, &t->known, k);
	count(t, &k, m, ok);
	return STATUS_OK;
}

/* The i-th of those that were compiled to m.  *cut: time ended, it is no
 * trial. */
static Status run_trial(Tuning *t, int i, const Proposal *p, const char *text,
    Measurement *m, bool *cut)
{
	const Known *same = known_object(t, m->object);
	if (same) {
		*m = *same->measured;
	} else if (m->outcome == OUTCOME_OK && !t->options.replay_db) {
		FORWARD_IF_ERROR(measure_run(
		    t->measurer, i, t->result.best_s, m, t->error));
		t->result.times.check += m->check_s;
		t->result.times.run += m->run_s;
	}
	*cut = m->cut;
	if (*cut)
		return STATUS_OK;
	FORWARD_IF_ERROR(
	    finish_trial(t, p, text, m, same ? same->id : NULL));
	tune_report(t, TUNE_SEARCH);
	return STATUS_OK;
}

static Status compile_all(Tuning *t, const Proposal *p, int n, char **texts,
    TraceKey *keys, Measurement *m)
{
	const Trace *traces[MEASURE_WIDTH];
	double start = measure_now();
	for (int i = 0; i < n; i++) {
		traces[i] = p[i].trace;
		texts[i] = known_text(t->passing, t->program, p[i].trace);
		keys[i] = known_key(texts[i]);
		if (t->options.replay_db)
			known_replay(t, &keys[i], &m[i]);
	}
	if (t->options.replay_db)
		return STATUS_OK;
	TuneTimes times = t->result.times; /* what is done beside takes none */
	FORWARD_IF_ERROR(measure_compile(t->measurer, traces, n, m, t->error));
	FORWARD_IF_ERROR(t->ahead);
	double took = measure_now() - start;
	t->result.times = times;
	t->result.times.compile += took;
	t->compile_s = took * measure_at_once(t->measurer, n) / n;
	return STATUS_OK;
}

Status trial_all(Tuning *t, const Proposal *p, int n, double *times, int *ran)
{
	Measurement m[MEASURE_WIDTH];
	char *texts[MEASURE_WIDTH];
	TraceKey keys[MEASURE_WIDTH];
	double start = measure_now();
	FORWARD_IF_ERROR(compile_all(t, p, n, texts, keys, m));
	for (*ran = 0; *ran < n; ++*ran) {
		int i = *ran;
		bool cut = false;
		FORWARD_IF_ERROR(known_follow(t));
		if (known_first(t) >= 0 && !tune_budget_left(t))
			break;
		times[i] = NAN;
		if (known_find(t, t->nstored, &keys[i]))
			continue;
		FORWARD_IF_ERROR(
		    run_trial(t, i, &p[i], texts[i], &m[i], &cut));
		if (!cut)
			times[i] = t->known.at[t->known.n - 1].time_s;
	}
	if (*ran)
		t->trial_s = (measure_now() - start) / *ran;
	return STATUS_OK;
}

Status trial_of_reference(Tuning *t, const Proposal *p, double *time_s)
{
	const Measurement *m = &t->reference.by;
	t->result.times.check += m->check_s;
	t->result.times.run += m->run_s;
	FORWARD_IF_ERROR(finish_trial(
	    t, p, known_text(t->passing, t->program, p->trace), m, NULL));
	tune_report(t, TUNE_SEARCH);
	*time_s = t->known.at[t->known.n - 1].time_s;
	return STATUS_OK;
}

void trial_plain(Tuning *t, const Measurement *m)
{
	Known k = {.key = t->plain_key,
	    .text = t->plain_text,
	    .trace = schedule_plain(t->arena, t->program),
	    .plain = true};
	t->result.plain_s = m->time_s > 0 ? m->time_s : 0;
	t->result.plain_estimated = t->reference.estimated;
	t->result.plain_disturbed =
	    !measure_quiet(m->noise_probe, m->noise_switches, m->noise_cpu_s);
	k.time_s = m->outcome == OUTCOME_OK && !t->reference.estimated &&
		m->time_s > 0 && !tune_on_device(t)
	    ? m->time_s : INFINITY;
	vec_push(t->arena, &t->known, k);
}

Status trial_again(Tuning *t)
{
	Measurement m;
	int best = known_best(t, t->nstored);
	if (best < 0 || !t->known.at[best].trace || !tune_measures(t))
		return STATUS_OK;
	const Known *k = &t->known.at[best];
	const Trace *trace = k->trace;
	FORWARD_IF_ERROR(
	    measure_compile(t->measurer, &trace, 1, &m, t->error));
	if (m.outcome == OUTCOME_OK)
		FORWARD_IF_ERROR(
		    measure_run(t->measurer, 0, 0, &m, t->error));
	t->result.times.check += m.check_s;
	t->result.times.run += m.run_s;
	if (m.outcome != OUTCOME_OK || !(m.time_s > 0))
		return STATUS_OK;
	t->result.best_s = m.time_s;
	memcpy(t->result.best_id, k->id, sizeof k->id);
	return STATUS_OK;
}
