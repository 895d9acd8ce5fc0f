/* The final round: the fastest and candidate 1 once more, side by side, so that
 * no winner wins by noise. */
#include <math.h>
#include <string.h>

#include "tuner/tune/tune_internal.h"

/* No more than a fifth of the time that is its own, or nothing would be left to
 * search in. */
double final_cost(const Tuning *t)
{
	double best = t->result.best_s > 0 ? t->result.best_s : 0;
	double runs = fmin(70 * best, fmax(MEASURE_FINAL_S, 10 * best));
	double peak = tune_peak_is_short(t) ? 0.2 : 0;
	double cost =
	    FINALISTS * (fmax(t->lower_s + t->compile_s, 0.03) + runs) + 0.1 +
	    peak;
	return t->options.time_s < 0 ? cost
				     : fmin(cost, t->final_most_s);
}

static bool is_listed(
    const Tuning *t, const int *list, int n, const TraceKey *key)
{
	for (int i = 0; i < n; i++)
		if (known_same(&t->known.at[list[i]].key, key))
			return true;
	return false;
}

/* The plain loops where they are about as fast, and candidate 1 was measured. */
static bool can_win(const Tuning *t, int i, bool has_first)
{
	const Known *k = &t->known.at[i];
	if (isinf(k->time_s) || !k->trace)
		return false;
	return !k->plain ||
	    (has_first && k->time_s < 1.5 * t->result.best_s);
}

/* The `most` fastest of the traces that are known, the first of equals before;
 * candidate 1 in the last one's place where it is not among them. */
static int finalists(const Tuning *t, int most, int out[FINALISTS])
{
	int n = 0, first = known_first(t);
	bool has_first = first >= 0 && can_win(t, first, false);
	for (int i = 0; i < t->known.n; i++) {
		const Known *k = &t->known.at[i];
		if (!can_win(t, i, has_first) || is_listed(t, out, n, &k->key))
			continue;
		int at = n;
		while (at && t->known.at[out[at - 1]].time_s > k->time_s)
			at--;
		if (at == most)
			continue;
		n += n < most;
		memmove(&out[at + 1], &out[at],
		    sizeof *out * (size_t)(n - 1 - at));
		out[at] = i;
	}
	if (has_first && n && !is_listed(t, out, n, &t->known.at[first].key))
		out[n < most ? n++ : n - 1] = first;
	return n;
}

/* As many as can be compiled and called four times each. */
static int how_many(const Tuning *t)
{
	double each = t->lower_s + t->compile_s + 4 * t->result.best_s;
	double n = tune_time_left(t) / (each + 1e-9);
	return n >= FINALISTS ? FINALISTS : n < 2 ? 2 : (int)n;
}

Status final_round(Tuning *t)
{
	int list[FINALISTS];
	const Trace *traces[FINALISTS];
	Measurement m[FINALISTS];
	TuneResult *r = &t->result;
	char id[17];
	int n = finalists(t, how_many(t), list);
	if (n < 2 || t->options.replay_db || r->trials == 0)
		return STATUS_OK;
	tune_report(t, TUNE_FINAL);
	for (int i = 0; i < n; i++)
		traces[i] = t->known.at[list[i]].trace;
	FORWARD_IF_ERROR(measure_final(t->measurer, traces, n,
	    fmax(tune_time_left(t), 0.05), m, t->error));
	double best_s = 0;
	for (int i = 0; i < n; i++) {
		const Known *k = &t->known.at[list[i]];
		if (m[i].outcome != OUTCOME_OK)
			continue;
		TrialNote note = {.form = k->form, .final = true};
		FORWARD_IF_ERROR(lines_trial(t, k->text, &m[i], &note, id));
		if (best_s > 0 && m[i].time_s >= best_s)
			continue;
		best_s = r->best_s = r->final_s = m[i].time_s;
		r->final_quiet = measure_quiet(m[i].noise_probe,
		    m[i].noise_switches, m[i].noise_cpu_s);
		t->winner = k->trace;
		memcpy(r->best_id, id, sizeof id);
		memcpy(r->final_id, id, sizeof id);
	}
	return STATUS_OK;
}
