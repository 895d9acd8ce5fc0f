/* Settings of searches, a line each: a name, then words such as search=sa, as
 * guide_set takes them, and
 *
 *     rows=N             candidates between two trainings
 *     logs=on            begins with what other tasks' logs say
 *     features=WORDS     what a model is shown (lab_show)
 *     from=TASK+TASK...  what teaches it first (lab_teach) */
#include <stdlib.h>
#include <string.h>

#include "test/lab/lab.h"

static bool put(
    Arena *arena, LabSetting *s, const char *key, const char *value)
{
	if (!strcmp(key, "logs"))
		return s->logs = !strcmp(value, "on");
	if (!strcmp(key, "features"))
		return lab_show(arena, value, &s->guide.show);
	if (!strcmp(key, "from"))
		return *(s->from = value);
	if (strcmp(key, "rows"))
		return guide_set(&s->guide, key, value);
	s->batch = atoi(value);
	return s->batch > 0;
}

Status lab_setting(
    Arena *arena, const char *line, LabSetting *out, Error *error)
{
	char *words = arena_strdup(arena, line), *rest, *word;
	*out = (LabSetting){.guide = guide_defaults(1), .batch = 32};
	out->guide.analytic = false;
	out->hash = hash64(line, strlen(line), 0);
	out->name = strtok_r(words, " \t\n", &rest);
	while ((word = strtok_r(NULL, " \t\n", &rest))) {
		char *value = strchr(word, '=');
		if (value)
			*value++ = 0;
		if (!value || !put(arena, out, word, value))
			return error_set(error, STATUS_INPUT,
			    "%s: what is %s=%s?", out->name, word,
			    value ? value : "");
	}
	return STATUS_OK;
}
