/* What a store knows of an operator's trials for one target, regime and way of
 * measuring, read on as the store grows: several tuners may write to it. */
#ifndef TUNER_HISTORY_H
#define TUNER_HISTORY_H

#include "tuner/tuner.h"

typedef struct {
	char id[17];    /* of its run-start */
	double start_s; /* by the clock */
	double spent_s; /* as far as is known */
	bool own;
} HistoryRun;

typedef struct {
	Arena *arena; /* where the runs are kept */
	/* what is asked for */
	const char *op, *target;
	const char *regime;  /* "warm", "cold" */
	const char *measure; /* NULL: run on the machine */
	char own[17];        /* id of this run's mark, which does not count */
	/* told of each search trial that counts; may be NULL */
	void (*trial)(const Line *line, void *context);
	void *context;
	/* what was found */
	int64_t trials;  /* search trials, whoever made them */
	double spent_s;  /* of the budgets of time */
	int64_t counter; /* the greatest that a run has */
	int before;      /* runs that stand before this one */
	char exhausted[65]; /* the space whose end a run came to; "" */
	double bound_s;	    /* its limit, as the newest run has it; 0 */
	char bound_kind[16]; /* of what */
	/* how far it is read */
	StorePlace place;
	VEC(HistoryRun) runs;
} History;

/* Reads what is new. */
Status history_read(History *history, Store *store, Error *error);

#endif
