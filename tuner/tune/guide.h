/* What to measure next of one operator: a search over its space by what a cost
 * model makes of what was measured.  Who measures, and whether at all, is not
 * known here: a run of `tune` asks a machine, a comparison of searches a table. */
#ifndef TUNER_TUNE_GUIDE_H
#define TUNER_TUNE_GUIDE_H

#include "tuner/model/model.h"
#include "tuner/search/search.h"

/* So many starts at most; what a model that was taught thinks best is worth more. */
enum { GUIDE_STARTS = 3 };
int guide_starts(const Model *global);

/* What a model is shown of each of n candidates: FEATURES floats. */
typedef struct {
	void (*rows)(const void *context, Space *space,
	    const Candidate *candidates, int n, float *rows);
	const void *context;
} Showing;

typedef struct {
	const char *search; /* of searches.def */
	bool learn;         /* false: the analytic model alone */
	bool analytic;      /* by which scores are made while nothing is learnt;
			       false: random candidates */
	ModelSettings model;
	SearchSettings how;
	Showing show; /* space_features */
	/* what is proposed before all else, where there is a search by scores */
	Candidate starts[GUIDE_STARTS];
	int nstarts;
} GuideSettings;
GuideSettings guide_defaults(uint64_t seed);

/* guide_settings.c: what a user may set, as guide.def has it; a NULL name ends the
 * list. */
typedef struct {
	const char *name, *words; /* words: "on|off"; "" */
} GuideOption;
const GuideOption *guide_options(void);

/* False where there is no such setting, or it has no such value: those of guide.def,
 * and
 *
 *     members=N                   of the ensemble; each costs a training
 *     first=analytic|random       what scores candidates before one is trained
 *     chains=N, steps=N, patience=N  of annealing */
enum { GUIDE_MEMBERS = 4 };
bool guide_set(GuideSettings *settings, const char *key, const char *value);

/* Of a space as it is.  Its context is the space. */
SearchSpace guide_space(Space *space);

typedef struct Guide Guide;
/* `functions` are those of the space, or of a part of it; both outlive the guide.
 * NULL: no such search. */
Guide *guide_new(Space *space, const SearchSpace *functions,
    const GuideSettings *settings);
void guide_free(Guide *guide);

/* Up to n candidates that were never proposed.  Fewer than n: there are no more. */
int guide_next(Guide *guide, int n, Candidate *out);
/* What was measured: infinity for a failure. */
void guide_tell(Guide *guide, const Candidate *candidate, double time_s);
/* Never to be proposed. */
void guide_visit(Guide *guide, const Candidate *candidate);

/* Learns, where at least `batch` candidates were told since the last time: twice
 * as many of a long run, for what a fit costs must not be more than the batch
 * that it guides. */
Status guide_fit(Guide *guide, int batch, Error *error);

/* Seconds that are expected of a candidate: by the model, or by the analytic one. */
double guide_predict(const Guide *guide, const Candidate *candidate);

/* Each training's rating of the one before it, on as many rows. */
typedef struct {
	int rows;
	Rating rating;
} GuideBatch;
const GuideBatch *guide_batches(const Guide *guide, int *n);
/* Rates the model on what it has not learnt from, as a training would. */
void guide_end(Guide *guide);

SearchStats guide_stats(const Guide *guide);
/* The model's; NaN without one. */
Rating guide_rating(const Guide *guide);

#endif
