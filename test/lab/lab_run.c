/* One search over a task: proposed, looked up, learnt, until the trials are
 * spent. */
#include <math.h>

#include "test/lab/lab.h"

enum { BATCH_MOST = 256 };

static Status one_batch(Task *task, Guide *guide, int n, int *done,
    double *best_s, Error *error)
{
	Candidate batch[BATCH_MOST];
	int got = guide_next(guide, n, batch);
	for (int i = 0; i < got; i++) {
		double time_s = task->time_s[lab_number(task, &batch[i])];
		double before = *done ? best_s[*done - 1] : INFINITY;
		best_s[(*done)++] = fmin(before, time_s);
		guide_tell(guide, &batch[i], time_s);
	}
	return got < n ? STATUS_OK : guide_fit(guide, n, error);
}

Status lab_run(Task *task, const GuideSettings *settings, int batch, int trials,
    double *best_s, Error *error)
{
	SearchSpace functions = lab_space(task);
	Guide *guide = guide_new(task->space, &functions, settings);
	Status status = STATUS_OK;
	int done = 0;
	if (!guide)
		return error_set(error, STATUS_INPUT, "no search is called %s",
		    settings->search);
	for (int before = -1; !status && done < trials && done > before;) {
		int left = trials - done, n = batch < left ? batch : left;
		before = done;
		status = one_batch(task, guide, n < BATCH_MOST ? n : BATCH_MOST,
		    &done, best_s, error);
	}
	for (; !status && done < trials; done++) /* none are left */
		best_s[done] = done ? best_s[done - 1] : INFINITY;
	guide_free(guide);
	return status;
}
