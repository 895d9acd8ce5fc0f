/* What a model is shown of candidates, and what other tasks teach it: how far each
 * kind of column carries over. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/hash.h"
#include "test/lab/lab.h"

/* --- what is shown ------------------------------------------------------------- */

static void show_decisions(const void *context, Space *space,
    const Candidate *candidates, int n, float *rows)
{
	(void)context;
	memset(rows, 0, sizeof *rows * FEATURES * (size_t)n);
	for (int i = 0; i < n; i++, rows += FEATURES) {
		rows[0] = candidates[i].sketch;
		for (int p = 0; p < space_nparts(space, candidates[i].sketch);
		     p++)
			rows[1 + p] = candidates[i].at[p];
	}
}

static void show_columns(const void *context, Space *space,
    const Candidate *candidates, int n, float *rows)
{
	const bool *shown = context;
	space_features(space, candidates, n, rows);
	for (int i = 0; i < n * FEATURES; i++)
		rows[i] = shown[i % FEATURES] ? rows[i] : 0;
}

/* Each candidate's columns in an order of its own: they tell nothing. */
static void show_mixed(const void *context, Space *space,
    const Candidate *candidates, int n, float *rows)
{
	(void)context;
	space_features(space, candidates, n, rows);
	for (int i = 0; i < n; i++, rows += FEATURES) {
		Rng rng = rng_stream(
		    hash64(&candidates[i], sizeof *candidates, 0), 4, 1);
		for (int k = FEATURES - 1; k > 0; k--) {
			int from = (int)rng_below(&rng, (uint64_t)k + 1);
			float held = rows[k];
			rows[k] = rows[from];
			rows[from] = held;
		}
	}
}

static int show_word(const char *word, bool *shown)
{
	int n = 0;
	for (int i = 0; i < FEATURES; i++) {
		char name[FEATURE_NAME];
		if (strncmp(feature_name(i, name), word, strlen(word)))
			continue;
		shown[i] = true;
		n++;
	}
	return n;
}

bool lab_show(Arena *arena, const char *words, Showing *out)
{
	bool *shown = NEW_N(arena, bool, FEATURES);
	char *copy = arena_strdup(arena, words), *rest, *word;
	*out = (Showing){show_decisions, NULL};
	if (!strcmp(words, "config"))
		return true;
	out->rows = show_mixed;
	if (!strcmp(words, "mixed"))
		return true;
	memset(shown, 0, FEATURES);
	*out = (Showing){show_columns, shown};
	for (word = strtok_r(copy, ",", &rest); word;
	     word = strtok_r(NULL, ",", &rest))
		if (!show_word(word, shown))
			return false;
	return true;
}

/* --- what teaches ----------------------------------------------------------------- */

static void tell(const LabSetting *s, const Task *task, int group, int number,
    Model *model)
{
	const Candidate *c = &task->all.items[number];
	float row[FEATURES];
	double prior_s;
	s->guide.show.rows(s->guide.show.context, task->space, c, 1, row);
	space_analytic(task->space, c, 1, &prior_s);
	model_add(model, group, row, prior_s, task->time_s[number]);
}

/* Random candidates, each once. */
static void tell_some(const LabSetting *s, const Task *task, int group,
    uint64_t seed, bool *told, Model *model)
{
	Rng rng = rng_stream(seed, (uint64_t)group, 0);
	for (int i = 0; i < LAB_TAUGHT && i < task->all.n / 2;) {
		int at = (int)rng_below(&rng, (uint64_t)task->all.n);
		if (told[at])
			continue;
		told[at] = true;
		tell(s, task, group, at, model);
		i++;
	}
}

/* NAME: the table of that name beside `path`, "": itself.  NAME@CPU: its operator
 * there. */
static Task *teacher(Arena *arena, const char *path, const char *word,
    uint64_t seed, Error *error)
{
	int folder = (int)(strrchr(path, '/') ? strrchr(path, '/') - path : 0);
	int name = (int)strcspn(word, "@");
	const char *table = name
	    ? arena_printf(arena, "%.*s/%.*s.json", folder, path, name, word)
	    : path;
	Task *task = lab_load(arena, table, error);
	if (!task || !word[name])
		return task;
	task = lab_task(arena, task->name, task->spec, task->group,
	    arena_printf(arena, "llvm -mcpu=%s -threads=1", word + name + 1),
	    NULL, error);
	if (task)
		lab_simulate(task, seed + 1, 0.9, 0);
	return task;
}

/* Of tunec's size for what others teach (transfer.c). */
static Model *global_new(const LabSetting *s, uint64_t seed)
{
	ModelSettings settings = s->guide.model;
	settings.seed = seed;
	settings.rounds = 32;
	settings.depth = 3;
	return model_new(&settings);
}

Status lab_teach(const LabSetting *s, const char *path, uint64_t seed,
    Model **out, Error *error)
{
	Arena *arena = arena_new();
	Status status = STATUS_OK;
	char *words = arena_strdup(arena, s->from ? s->from : ""), *rest;
	int group = 0;
	*out = s->from ? global_new(s, seed) : NULL;
	for (char *word = strtok_r(words, "+", &rest); word && !status;
	     word = strtok_r(NULL, "+", &rest)) {
		Task *task = teacher(arena, path, word, seed, error);
		if (!task) {
			status = error->status;
			break;
		}
		bool *told = NEW_N(arena, bool, task->all.n);
		memset(told, 0, (size_t)task->all.n);
		tell_some(s, task, group++, seed, told, *out);
	}
	if (*out && !status)
		status = model_fit(*out, error);
	if (status) {
		model_free(*out);
		*out = NULL;
	}
	arena_free(arena);
	return status;
}

static double correlation_of(const LabSetting *s, const Task *task,
    const bool *told, const Model *model)
{
	double *score = NEW_N(task->arena, double, task->all.n);
	double *truth = NEW_N(task->arena, double, task->all.n);
	int n = 0;
	for (int i = 0; i < task->all.n; i++) {
		float row[FEATURES], one;
		double prior_s;
		const Candidate *c = &task->all.items[i];
		if (told[i] || !isfinite(task->time_s[i]))
			continue;
		s->guide.show.rows(
		    s->guide.show.context, task->space, c, 1, row);
		space_analytic(task->space, c, 1, &prior_s);
		model_predict(model, row, &prior_s, 1, &one);
		score[n] = one;
		truth[n++] = -task->time_s[i];
	}
	double r = rank_correlation(score, truth, n);
	return isnan(r) ? 0 : r; /* it says the same of all */
}

Status lab_held(const LabSetting *s, const Task *task, const char *path,
    uint64_t seed, double *correlation, Error *error)
{
	Model *model;
	bool *told = NEW_N(task->arena, bool, task->all.n);
	Status status = lab_teach(s, path, seed, &model, error);
	memset(told, 0, (size_t)task->all.n);
	if (!status && !model) {
		ModelSettings settings = s->guide.model;
		settings.seed = seed;
		model = model_new(&settings);
		tell_some(s, task, 0, seed, told, model);
		status = model_fit(model, error);
	}
	*correlation = status ? NAN : correlation_of(s, task, told, model);
	model_free(model);
	return status;
}
