/* A model of what other operators measured, and what was fastest of the nearest. */
#include "tuner/tune/transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "lib/input.h"
#include "lib/sort.h"

enum {
	ROWS_MOST = 64,	   /* of an operator */
	BEST = 8,	   /* of which a model is to be right */
	ROWS_TELLING = 16, /* of which that says something */
	FOLDS = 4,
	ROUNDS = 32,
	DEPTH = 3
};

/* No schedule is so many times faster, by the analytic model, than half of its
 * operator's: its time is wrong. */
static const double WRONG = 1000;
/* A model that orders what was held back less than that has learnt nothing; by so
 * much what it thinks best is to be faster than what the analytic one does. */
static const double ORDERS = 0.2, BETTER = 0.01;
/* Octaves of extents that other blocks, or another machine, count as. */
static const double OTHER_BLOCK = 16, OTHER_TARGET = 8;

Transfer *transfer_new(const Target *target)
{
	Arena *arena = arena_new();
	Transfer *t = NEW(arena, Transfer);
	*t = (Transfer){.arena = arena, .target = target};
	return t;
}

void transfer_free(Transfer *t)
{
	if (t)
		arena_free(t->arena);
}

void transfer_add(Transfer *t, const Past *past)
{
	vec_push(t->arena, &t->pasts, *past);
}

/* --- rows ----------------------------------------------------------------------- */

typedef struct {
	double time_s, prior_s;
	Candidate candidate;
} TransferRow;

static int by_time(const void *a, const void *b)
{
	const TransferRow *x = a, *y = b;
	if (x->time_s != y->time_s)
		return x->time_s < y->time_s ? -1 : 1;
	return memcmp(&x->candidate, &y->candidate, sizeof x->candidate);
}

static int by_number(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The middle of time over prediction. */
static double middle_ratio(const TransferRow *at, int n)
{
	double *ratio = must_alloc(sizeof *ratio * (size_t)(n + 1));
	int m = 0;
	for (int i = 0; i < n; i++)
		if (isfinite(at[i].time_s))
			ratio[m++] = at[i].time_s / at[i].prior_s;
	sort(ratio, (size_t)m, sizeof *ratio, by_number);
	double middle = m ? ratio[m / 2] : 1;
	free(ratio);
	return middle;
}

/* Of an operator the fastest, and of the others as many as there is room for, evenly
 * by their times; those that cannot be right left out. */
static int rows_of(Transfer *t, const Past *past, TransferRow *out)
{
	int n = 0, kept = 0;
	TransferRow *all = must_alloc(sizeof *all * (size_t)(past->n + 1));
	memset(all, 0, sizeof *all * (size_t)(past->n + 1));
	for (int i = 0; i < past->n; i++) {
		all[i].time_s = past->time_s[i];
		all[i].candidate = past->candidates[i];
		space_analytic(
		    past->space, &all[i].candidate, 1, &all[i].prior_s);
	}
	double least = middle_ratio(all, past->n) / WRONG;
	for (int i = 0; i < past->n; i++) {
		if (all[i].time_s < least * all[i].prior_s)
			t->facts.wrong++;
		else
			all[n++] = all[i];
	}
	sort(all, (size_t)n, sizeof *all, by_time);
	int most = n < ROWS_MOST ? n : ROWS_MOST;
	for (; kept < most; kept++)
		out[kept] = all[(int64_t)kept * n / most];
	free(all);
	return kept;
}

/* --- the model ---------------------------------------------------------------------- */

typedef struct {
	int n;
	TransferRow *at; /* the fastest first */
	float *features;
} Rows;

static Rows *all_rows(Transfer *t)
{
	Rows *all = NEW_N(t->arena, Rows, t->pasts.n);
	for (int i = 0; i < t->pasts.n; i++) {
		Rows *r = &all[i];
		r->at = NEW_N(t->arena, TransferRow, ROWS_MOST);
		r->n = rows_of(t, &t->pasts.at[i], r->at);
		r->features = NEW_N(t->arena, float, r->n *FEATURES);
		for (int k = 0; k < r->n; k++)
			space_features(t->pasts.at[i].space,
			    &r->at[k].candidate, 1, r->features + k * FEATURES);
		t->facts.records += r->n;
		t->facts.operators += r->n > 0;
	}
	return all;
}

/* Of parts by operators; of a few operators, by their rows. */
static bool is_in(const Transfer *t, int past, int row, int fold)
{
	return (t->pasts.n >= FOLDS ? past : row) % FOLDS == fold;
}

/* Of all rows but those of a fold (-1: none). */
static Status learn(const Transfer *t, const Rows *rows, int but, uint64_t seed,
    Model **out, Error *error)
{
	ModelSettings settings = model_defaults(FEATURES, seed);
	settings.prior = true;
	settings.rounds = ROUNDS;
	settings.depth = DEPTH;
	*out = model_new(&settings);
	for (int i = 0; i < t->pasts.n; i++)
		for (int k = 0; k < rows[i].n; k++)
			if (but < 0 || !is_in(t, i, k, but))
				model_add(*out, i,
				    rows[i].features + k * FEATURES,
				    rows[i].at[k].prior_s,
				    rows[i].at[k].time_s);
	if (!model_rows(*out))
		return STATUS_OK;
	return model_fit(*out, error);
}

/* The mean speed of the BEST by score, of the fastest's. */
static double share_of_best(const double *score, const double *truth, int n)
{
	bool taken[ROWS_MOST] = {false};
	double best = truth[0], sum = 0;
	for (int i = 1; i < n; i++)
		best = fmax(best, truth[i]);
	for (int k = 0; k < BEST; k++) {
		int at = -1;
		for (int i = 0; i < n; i++)
			if (!taken[i] && (at < 0 || score[i] > score[at]))
				at = i;
		taken[at] = true;
		sum += best / truth[at] / BEST;
	}
	return sum;
}

/* What the model says of an operator's rows that it was not taught. */
static void rate(const Transfer *t, const Model *model, const Rows *rows,
    int past, int fold, int *operators, TransferFacts *f)
{
	double score[ROWS_MOST], prior[ROWS_MOST], truth[ROWS_MOST];
	int n = 0;
	for (int k = 0; k < rows->n; k++) {
		const TransferRow *row = &rows->at[k];
		float s;
		if (!is_in(t, past, k, fold))
			continue;
		model_predict(
		    model, rows->features + k * FEATURES, &row->prior_s, 1, &s);
		score[n] = s;
		prior[n] = -row->prior_s;
		truth[n++] = -row->time_s;
	}
	if (n < ROWS_TELLING)
		return;
	double r = rank_correlation(score, truth, n);
	++*operators;
	f->correlation += isnan(r) ? 0 : r;
	f->share += share_of_best(score, truth, n);
	f->analytic += share_of_best(prior, truth, n);
}

/* Each fold by what the others teach. */
static Status hold_back(
    Transfer *t, const Rows *rows, uint64_t seed, Error *error)
{
	TransferFacts *f = &t->facts;
	int n = 0;
	for (int fold = 0; fold < FOLDS; fold++) {
		Model *model;
		Status status = learn(t, rows, fold, seed, &model, error);
		for (int i = 0; i < t->pasts.n && model_fitted(model); i++)
			rate(t, model, &rows[i], i, fold, &n, f);
		model_free(model);
		FORWARD_IF_ERROR(status);
	}
	f->correlation /= n ? n : 1;
	f->share /= n ? n : 1;
	f->analytic /= n ? n : 1;
	f->useful = f->correlation > ORDERS && f->share > f->analytic + BETTER;
	return STATUS_OK;
}

static int by_name(const void *a, const void *b)
{
	const Past *x = a, *y = b;
	return strcmp(x->name, y->name);
}

Status transfer_learn(Transfer *t, uint64_t seed, Model **out, Error *error)
{
	*out = NULL;
	sort(t->pasts.at, (size_t)t->pasts.n, sizeof *t->pasts.at, by_name);
	const Rows *rows = all_rows(t);
	if (!t->facts.records)
		return STATUS_OK;
	FORWARD_IF_ERROR(hold_back(t, rows, seed, error));
	if (!t->facts.useful)
		return STATUS_OK;
	Status status = learn(t, rows, -1, seed, out, error);
	if (status) {
		model_free(*out);
		*out = NULL;
	}
	return status;
}

/* --- as a file --------------------------------------------------------------------- */

enum { FILE_MOST = 4 << 20 };

/* Features mean the same on all machines of a kind. */
static void kind_of(const Target *target, char kind[32])
{
	snprintf(kind, 32, "%s %d %d", target->machine.gpu ? "gpu" : "cpu",
	    FEATURES_VERSION, FEATURES);
}

void transfer_write_model(Buf *out, const Model *model, const Target *target)
{
	char kind[32];
	kind_of(target, kind);
	model_write(out, model, kind);
}

Model *transfer_open_model(
    const char *path, const Target *target, bool *is, Error *error)
{
	char kind[32];
	Buf text = {0};
	Model *model = NULL;
	Status status = input_read(path, FILE_MOST, &text, error);
	*is = !strncmp(buf_text(&text), MODEL_BEGINS, strlen(MODEL_BEGINS));
	kind_of(target, kind);
	if (*is && !status)
		model =
		    model_read(buf_text(&text), path, FEATURES, kind, error);
	buf_free(&text);
	return model;
}

/* --- the nearest --------------------------------------------------------------------- */

static bool mix_op(Expr *e, void *context)
{
	uint64_t *hash = context;
	if (e->type == DT_INDEX)
		return false;
	*hash = hash_mix(*hash ^ (uint64_t)e->op ^ (uint64_t)e->type << 8);
	return true;
}

/* What a block computes, whatever its extents and indices are. */
static uint64_t form_of(const Block *b)
{
	uint64_t hash = hash_mix((uint64_t)b->naxes << 16 |
	    (uint64_t)b->nspatial << 8 | (uint64_t)b->reduce);
	expr_walk(b->body, mix_op, &hash);
	return hash;
}

/* Octaves between the extents of blocks of one form. */
static double octaves(const Block *a, const Block *b)
{
	double sum = 0;
	if (form_of(a) != form_of(b))
		return OTHER_BLOCK;
	for (int i = 0; i < a->naxes; i++)
		sum += fabs(log2(
		    (double)a->axes[i].extent / (double)b->axes[i].extent));
	return fmin(sum, OTHER_BLOCK);
}

/* From each block of a to the nearest of b. */
static double one_way(const Program *a, const Program *b)
{
	double sum = 0;
	for (int i = 0; i < a->nblocks; i++) {
		double least = OTHER_BLOCK;
		for (int k = 0; k < b->nblocks; k++)
			least =
			    fmin(least, octaves(&a->blocks[i], &b->blocks[k]));
		sum += least;
	}
	return sum;
}

typedef struct {
	double distance;
	const Past *past;
} Near;

static int by_distance(const void *a, const void *b)
{
	const Near *x = a, *y = b;
	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return by_name(x->past, y->past);
}

static const Candidate *fastest(const Past *past)
{
	int best = -1;
	for (int i = 0; i < past->n; i++)
		if (isfinite(past->time_s[i]) &&
		    (best < 0 || past->time_s[i] < past->time_s[best]))
			best = i;
	return best < 0 ? NULL : &past->candidates[best];
}

static bool is_among(const Candidate *c, const Candidate *all, int n)
{
	for (int i = 0; i < n; i++)
		if (!memcmp(c, &all[i], sizeof *c))
			return true;
	return false;
}

int transfer_starts(const Transfer *t, const Program *program, Space *space,
    Candidate *out, int most)
{
	Near *near = must_alloc(sizeof *near * (size_t)(t->pasts.n + 1));
	int n = 0;
	for (int i = 0; i < t->pasts.n; i++) {
		const Past *p = &t->pasts.at[i];
		bool other = strcmp(p->target->text, t->target->text);
		near[i] = (Near){one_way(program, p->program) +
			one_way(p->program, program) +
			(other ? OTHER_TARGET : 0),
		    p};
	}
	sort(near, (size_t)t->pasts.n, sizeof *near, by_distance);
	/* of whatever is alike at all, no further than the blocks go */
	for (int i = 0; i < t->pasts.n && n < most; i++) {
		const Candidate *best = fastest(near[i].past);
		if (best &&
		    space_carry(space, near[i].past->space, best, &out[n]) &&
		    !is_among(&out[n], out, n))
			n++;
	}
	free(near);
	return n;
}
