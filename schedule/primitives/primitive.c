/* The table of primitives: names, roles of arguments. */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

static const struct {
	const char *name, *roles;
	char outs;
	const char *arguments;
} table[] = {
#define PRIMITIVE(name, roles, outs, arguments) {#name, roles, outs, arguments},
#include "schedule/primitives/primitives.def"
#undef PRIMITIVE
};

int primitive_find(const char *name)
{
	for (int i = 0; i < PRIMITIVE_COUNT; i++)
		if (strcmp(table[i].name, name) == 0)
			return i;
	return -1;
}

const char *primitive_name(int primitive)
{
	assert(primitive >= 0 && primitive < PRIMITIVE_COUNT);
	return table[primitive].name;
}

char primitive_role(int primitive, int i)
{
	const char *role = table[primitive].roles;
	char last = 0;

	assert(i >= 0);
	for (; *role; role++) {
		if (*role == '/')
			continue;
		if (*role == '*')
			return last;
		last = *role;
		if (i-- == 0)
			return last;
	}
	return 0;
}

char primitive_outs(int primitive)
{
	return table[primitive].outs;
}

bool primitive_gives(int primitive, int nouts)
{
	switch (primitive_outs(primitive)) {
	case 'B': return nouts == 1;
	case 'P': return nouts == 2;
	case 'W': return nouts == 4 || nouts == 7;
	case 'D':
	case 'L': return nouts > 0;
	default: return nouts == 0;
	}
}

static int primitive_min_args(int primitive)
{
	return (int)strcspn(table[primitive].roles, "/*");
}

const char *primitive_arguments(int primitive)
{
	return table[primitive].arguments;
}

/* The position of the optional argument of that key; -1: there is none. */
static int key_position(int primitive, const char *key)
{
	switch (primitive) {
	case PRIMITIVE_unroll: return strcmp(key, "limit") ? -1 : 1;
	case PRIMITIVE_cache_write: return strcmp(key, "scope") ? -1 : 1;
	case PRIMITIVE_narrow: return strcmp(key, "padding") ? -1 : 1;
	case PRIMITIVE_extract: return strcmp(key, "apart") ? -1 : 2;
	case PRIMITIVE_distribute: return strcmp(key, "kept") ? -1 : 1;
	case PRIMITIVE_cache_read:
		return !strcmp(key, "scope") ? 2 : !strcmp(key, "read") ? 3 : -1;
	default: return -1;
	}
}

Refusal primitive_check(const Step *step)
{
	int positional = 0;

	while (positional < step->nargs && !step->args[positional].key)
		positional++;
	if (positional < primitive_min_args(step->primitive))
		return "an argument is missing";
	if (step->nargs && !primitive_role(step->primitive, step->nargs - 1))
		return "there are too many arguments";
	for (int i = positional; i < step->nargs; i++) {
		const char *key = step->args[i].key;
		int at = key ? key_position(step->primitive, key) : -1;
		if (at < 0)
			return "there is no argument of that key";
		if (at < positional)
			return "an argument is given twice";
		for (int j = positional; j < i; j++)
			if (!strcmp(step->args[j].key, key))
				return "an argument is given twice";
	}
	return NULL;
}
