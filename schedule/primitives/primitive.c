/* The table of primitives: names, roles of arguments. */
#include "schedule/internal.h"

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
	return table[primitive].name;
}

char primitive_role(int primitive, int i)
{
	const char *role = table[primitive].roles;
	char last = 0;

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

/* The key that the last argument may have; NULL. */
static const char *primitive_key(int primitive)
{
	switch (primitive) {
	case PRIMITIVE_unroll: return "limit";
	case PRIMITIVE_cache_read:
	case PRIMITIVE_cache_write: return "scope";
	default: return NULL;
	}
}

Refusal primitive_check(const Step *step)
{
	const char *key = primitive_key(step->primitive);
	int positional = 0;

	while (positional < step->nargs && !step->args[positional].key)
		positional++;
	if (positional < primitive_min_args(step->primitive))
		return "an argument is missing";
	if (step->nargs && !primitive_role(step->primitive, step->nargs - 1))
		return "there are too many arguments";
	for (int i = positional; i < step->nargs; i++)
		if (!step->args[i].key || !key ||
		    strcmp(step->args[i].key, key) != 0)
			return "there is no argument of that key";
	return NULL;
}
