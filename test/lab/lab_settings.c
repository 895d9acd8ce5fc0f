/* Settings of searches, a line each: a name, then words such as search=sa.
 *
 *     search=NAME                 of searches.def
 *     model=NAME|none             of models.def
 *     objective=rank|regression
 *     prior=off|on                the model begins with the analytic time
 *     acquire=mean|ei|ucb         of an ensemble
 *     members=N                   of it; each costs a training
 *     first=analytic|random       what scores a batch before anything is learnt
 *     batch=N                     candidates between two trainings
 *     epsilon=X                   the share of a batch that is random
 *     chains=N steps=N patience=N of annealing */
#include <stdlib.h>
#include <string.h>

#include "test/lab/lab.h"

static bool put_number(LabSetting *s, const char *key, double x)
{
	SearchSettings *how = &s->guide.how;
	if (!strcmp(key, "batch"))
		s->batch = (int)x;
	else if (!strcmp(key, "epsilon"))
		how->epsilon = x;
	else if (!strcmp(key, "chains"))
		how->chains = (int)x;
	else if (!strcmp(key, "steps"))
		how->steps = (int)x;
	else if (!strcmp(key, "patience"))
		how->patience = (int)x;
	else if (!strcmp(key, "members"))
		s->guide.model.members = (int)x;
	else
		return false;
	return x >= 0;
}

static bool one_of(
    const char *value, const char *yes, const char *no, bool *out)
{
	*out = !strcmp(value, yes);
	return *out || !strcmp(value, no);
}

static bool put_acquire(const char *value, Acquire *out)
{
	*out = !strcmp(value, "ei") ? ACQUIRE_EI
	    : !strcmp(value, "ucb") ? ACQUIRE_UCB
				    : ACQUIRE_MEAN;
	return *out != ACQUIRE_MEAN || !strcmp(value, "mean");
}

static bool put(LabSetting *s, const char *key, const char *value)
{
	bool rank;
	GuideSettings *g = &s->guide;
	if (!strcmp(key, "search")) {
		const SearchName *named = search_named(value);
		g->search = named ? named->name : NULL;
		return named;
	}
	if (!strcmp(key, "model")) {
		const ModelName *named = model_named(value);
		g->learn = named != NULL;
		g->model.kind = named ? named->name : g->model.kind;
		return named || !strcmp(value, "none");
	}
	if (!strcmp(key, "prior"))
		return one_of(value, "on", "off", &g->model.prior);
	if (!strcmp(key, "acquire"))
		return put_acquire(value, &g->model.acquire);
	if (!strcmp(key, "first"))
		return one_of(value, "analytic", "random", &g->analytic);
	if (!strcmp(key, "objective")) {
		bool known = one_of(value, "rank", "regression", &rank);
		g->model.objective =
		    rank ? OBJECTIVE_RANK : OBJECTIVE_REGRESSION;
		return known;
	}
	char *end;
	double x = strtod(value, &end);
	return *value && !*end && put_number(s, key, x);
}

Status lab_setting(
    Arena *arena, const char *line, LabSetting *out, Error *error)
{
	char *words = arena_strdup(arena, line), *rest, *word;
	*out = (LabSetting){.guide = guide_defaults(1), .batch = 32};
	out->guide.analytic = false;
	out->name = strtok_r(words, " \t\n", &rest);
	while ((word = strtok_r(NULL, " \t\n", &rest))) {
		char *value = strchr(word, '=');
		if (value)
			*value++ = 0;
		if (!value || !put(out, word, value))
			return error_set(error, STATUS_INPUT,
			    "%s: what is %s=%s?", out->name, word,
			    value ? value : "");
	}
	out->guide.learn &= search_named(out->guide.search)->learns;
	return STATUS_OK;
}
