/* What logs teach about operators that they do not have.
 *
 *     stores -> Past: an operator on a target, and its trials    transfer_log.c
 *         -> their features, one group an operator -> a model    transfer.c
 *         -> the fastest of the nearest, carried over to a space
 *
 * The model is a guide's global one (model.h); what was carried over is among what
 * its search measures first. */
#ifndef TUNER_TUNE_TRANSFER_H
#define TUNER_TUNE_TRANSFER_H

#include "tuner/model/model.h"
#include "tuner/tuner.h"

/* What became of what was read. */
typedef struct {
	int records, operators; /* that the model was taught by */
	int unfit;     /* no operator, target or sketch of today has them */
	int otherwise; /* simulated ones where times are measured, or the like */
	int wrong;     /* faster than the rest of their operator lets believe */
	int unread;    /* beyond what is looked at */
	/* Of the model that the rest taught, on what was held back: the rank
	 * correlation, and the speed of what it thinks best, of the fastest's. */
	double correlation, share;
	double analytic; /* such a share of the analytic one */
	bool useful;	 /* it is the better one */
} TransferFacts;

/* An operator and what was measured in its space, which live as long as the
 * transfer; `name` orders operators. */
typedef struct {
	const char *name;
	const Program *program;
	const Target *target;
	Space *space;
	int n;
	Candidate *candidates;
	double *time_s; /* infinite: failed */
} Past;

/* For operators on a target, which lives as long. */
typedef struct {
	Arena *arena;
	const Target *target;
	VEC(Past) pasts;
	TransferFacts facts;
} Transfer;
Transfer *transfer_new(const Target *target);
void transfer_free(Transfer *transfer); /* NULL is allowed */

/* transfer_log.c: trials of that kind of machine, regime and way of measuring; no
 * operator of `own`, on the target itself, is another one. */
typedef struct {
	const char *regime, *measure; /* as in History */
	const Program *const *own;
	int nown;
} TransferWish;
Status transfer_read(Transfer *transfer, Store *const *stores, int nstores,
    const TransferWish *wish, Error *error);

void transfer_add(Transfer *transfer, const Past *past);

/* The model of all that was added, of the size that files have; *out is NULL where it
 * is no better than the analytic one on what it was not taught, or nothing was
 * added. */
Status transfer_learn(
    Transfer *transfer, uint64_t seed, Model **out, Error *error);

/* A model in a file, of a target's kind of machine.  *is false where the file is
 * something else, or there is none: a store, perhaps. */
Model *transfer_open_model(
    const char *path, const Target *target, bool *is, Error *error);
void transfer_write_model(Buf *out, const Model *model, const Target *target);

/* The fastest candidates of the operators that are nearest to the program, carried
 * over to its space: the nearest first, each once. */
int transfer_starts(const Transfer *transfer, const Program *program,
    Space *space, Candidate *out, int most);

#endif
