/* A program of several groups: no search, but the groups' schedules joined, each
 * a trial; then the final round.  Every kernel of a group was checked when the
 * group was tuned; here the first of the joined schedules makes the expected
 * outputs, after a second of another structure agreed with it. */
#include <math.h>
#include <string.h>

#include "tuner/tune/tune_internal.h"

enum { GIVEN_MAX = 4 };

void tune_give(Tuning *t, const Trace *const *traces, int n)
{
	t->given = traces;
	t->ngiven = n < GIVEN_MAX ? n : GIVEN_MAX;
}

/* Those that nobody has measured; the last, of the best, first: time may end. */
static int new_ones(Tuning *t, Proposal *out)
{
	TraceKey keys[GIVEN_MAX];
	int n = 0;
	for (int i = t->ngiven - 1; i >= 0; i--) {
		TraceKey key =
		    known_key(known_text(t->passing, t->program, t->given[i]));
		bool seen = known_find(t, 0, &key) != NULL;
		for (int k = 0; k < n && !seen; k++)
			seen = known_same(&keys[k], &key);
		if (seen)
			continue;
		keys[n] = key;
		out[n++] = (Proposal){.trace = t->given[i]};
	}
	return n;
}

/* On a device: what this CPU's own schedule gives. */
static Status whole_reference(Tuning *t, bool *made)
{
	ReferenceWish wish = {
	    .fast = t->given[0], .other = t->given[t->ngiven - 1]};
	if (tune_on_device(t))
		FORWARD_IF_ERROR(tune_reference(t->arena, t->program,
		    measure_host(t->measurer), &wish, t->error));
	return tune_make_reference(t, wish.fast, wish.other, made);
}

Status whole_run(Tuning *t)
{
	Proposal fresh[GIVEN_MAX];
	double times[GIVEN_MAX];
	bool made;
	int ran, n = new_ones(t, fresh);
	if (!t->run_id[0])
		FORWARD_IF_ERROR(lines_start(t));
	if (n > tune_trials_left(t))
		n = (int)tune_trials_left(t);
	if (n <= 0 || tune_interrupted(t))
		return STATUS_OK;
	if (t->options.replay_db)
		return trial_all(t, fresh, n, times, &ran);
	FORWARD_IF_ERROR(whole_reference(t, &made));
	tune_measure_peaks(t, false);
	if (!made)
		return STATUS_OK;
	FORWARD_IF_ERROR(trial_all(t, fresh, n, times, &ran));
	return tune_time_left(t) > 0 ? final_round(t) : STATUS_OK;
}
