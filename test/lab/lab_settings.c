/* Settings of searches, a line each: a name, then words such as search=sa, as
 * guide_set takes them, rows=N, the candidates between two trainings, and logs=on. */
#include <stdlib.h>
#include <string.h>

#include "test/lab/lab.h"

static bool put(LabSetting *s, const char *key, const char *value)
{
	if (!strcmp(key, "logs"))
		return s->logs = !strcmp(value, "on");
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
		if (!value || !put(out, word, value))
			return error_set(error, STATUS_INPUT,
			    "%s: what is %s=%s?", out->name, word,
			    value ? value : "");
	}
	return STATUS_OK;
}
