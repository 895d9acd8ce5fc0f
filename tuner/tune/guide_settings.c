/* Settings of a guide by their names: what `tune` takes as options, and what a
 * comparison of searches is told of each. */
#include <stdlib.h>
#include <string.h>

#include "tuner/tune/guide.h"

const GuideOption *guide_options(void)
{
	static const GuideOption options[] = {
#define GUIDE(name, argument, preset, words, help) {#name, words},
#include "tuner/tune/guide.def"
#undef GUIDE
	    {0}};
	return options;
}

/* Of the words "a|b|c" which one a value is; -1. */
static int word_of(const char *words, const char *value)
{
	size_t size = strlen(value);
	for (int i = 0;; i++) {
		size_t n = strcspn(words, "|");
		if (n == size && !strncmp(words, value, n))
			return i;
		if (!words[n])
			return -1;
		words += n + 1;
	}
}

static bool set_search(GuideSettings *g, const char *value)
{
	const SearchName *named = search_named(value);
	if (named)
		g->search = named->name;
	return named;
}

static bool set_model(GuideSettings *g, const char *value)
{
	const ModelName *named = model_named(value);
	g->learn = named != NULL;
	if (named)
		g->model.kind = named->name;
	return named || !strcmp(value, "none");
}

/* Of the words that guide.def has for a setting which one; -1. */
static int word_for(const char *name, const char *value)
{
	const GuideOption *o = guide_options();
	while (strcmp(o->name, name))
		o++;
	return word_of(o->words, value);
}

static bool set_objective(GuideSettings *g, const char *value)
{
	int word = word_for("objective", value);
	g->model.objective = word == 1 ? OBJECTIVE_REGRESSION : OBJECTIVE_RANK;
	return word >= 0;
}

static bool set_prior(GuideSettings *g, const char *value)
{
	int word = word_for("prior", value);
	g->model.prior = word == 0;
	return word >= 0;
}

/* A deviation takes an ensemble. */
static bool set_acquire(GuideSettings *g, const char *value)
{
	int word = word_for("acquire", value);
	g->model.acquire = word < 0 ? ACQUIRE_MEAN : (Acquire)word;
	g->model.members = word > 0 ? GUIDE_MEMBERS : 1;
	return word >= 0;
}

static bool set_polish(GuideSettings *g, const char *value)
{
	int word = word_for("polish", value);
	g->how.polish = word == 0;
	return word >= 0;
}

static bool set_batch(GuideSettings *g, const char *value)
{
	int word = word_for("batch", value);
	g->how.batch = word < 0 ? BATCH_TILES : (SearchBatch)word;
	return word >= 0;
}

static bool set_epsilon(GuideSettings *g, const char *value)
{
	char *end;
	g->how.epsilon = strtod(value, &end);
	return *value && !*end && g->how.epsilon >= 0 && g->how.epsilon <= 1;
}

static bool set_first(GuideSettings *g, const char *value)
{
	int word = word_of("analytic|random", value);
	g->analytic = word == 0;
	return word >= 0;
}

static bool set_number(GuideSettings *g, const char *key, const char *value)
{
	static const char keys[] = "chains|steps|patience|members";
	char *end;
	double x = strtod(value, &end);
	if (!*value || *end || !(x >= 0))
		return false;
	switch (word_of(keys, key)) {
	case 0:
		g->how.chains = (int)x;
		return x >= 1;
	case 1:
		g->how.steps = (int)x;
		return true;
	case 2:
		g->how.patience = (int)x;
		return true;
	case 3:
		g->model.members = (int)x;
		return x >= 1 && x <= 16;
	default:
		return false;
	}
}

bool guide_set(GuideSettings *settings, const char *key, const char *value)
{
	static const struct {
		const char *key;
		bool (*set)(GuideSettings *settings, const char *value);
	} words[] = {
#define GUIDE(name, argument, preset, words, help) {#name, set_##name},
#include "tuner/tune/guide.def"
#undef GUIDE
	    {"first", set_first}};
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i].key, key))
			return words[i].set(settings, value);
	return set_number(settings, key, value);
}
