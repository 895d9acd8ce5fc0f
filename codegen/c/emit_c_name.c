/* Names of what is declared: the one that it was made for, without the block
 * that it is part of, or with a number behind it where something has that name
 * here already.
 *
 *     conv.k, conv_k0, acc, acc   -->   k, k0, acc, acc_1
 *
 * A body that ends gives its names back. */
#include <ctype.h>
#include <string.h>

#include "codegen/c/emit_c.h"

static bool is_taken(const EmitC *e, const char *name)
{
	return e->reserved(name) ||
	    lookup_first(&e->names, name, strlen(name)) >= 0;
}

void emit_c_open_names(EmitC *e)
{
	vec_push(e->arena, &e->scopes, e->names.entries.n);
}

/* The newest entries are the first of their buckets. */
void emit_c_close_names(EmitC *e)
{
	Lookup *names = &e->names;
	int until = e->scopes.at[--e->scopes.n];
	while (names->entries.n > until)
		lookup_drop(names);
}

/* As it stands in names: "score_1" of "score~1". */
void emit_c_name_blocks(EmitC *e, const Program *program)
{
	e->blocks = (Lookup){.arena = e->arena};
	for (int i = 0; program && i < program->nbuffers; i++) {
		char *name = arena_strdup(e->arena, program->buffers[i].name);
		for (char *c = name; *c; c++)
			if (*c == '~')
				*c = '_';
		lookup_add(&e->blocks, name, i);
	}
}

/* The length of the longest of the program's names that it begins with, and of
 * an underscore, of "score_1_" in "score_1_k0"; 0: none. */
static size_t block_of(const EmitC *e, const char *name)
{
	for (size_t n = strlen(name); n > 1; n--)
		if (name[n - 1] == '_' && isalpha((unsigned char)name[n]) &&
		    lookup_first(&e->blocks, name, n - 1) >= 0)
			return n;
	return 0;
}

/* "data_at", where data is one. */
static bool points_into_buffer(const EmitC *e, const char *name)
{
	size_t n = strlen(name);
	return n > 3 && !strcmp(name + n - 3, "_at") &&
	    lookup_first(&e->buffers, name, n - 3) >= 0;
}

/* "k0" of "conv.k0" and "conv_k0", as an identifier; what points into a buffer keeps
 * its name. */
static char *stem_of(EmitC *e, const char *wish)
{
	const char *dot = strrchr(wish, '.');
	char *stem = arena_strdup(e->arena, dot && dot[1] ? dot + 1 : wish);
	for (char *c = stem; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '_';
	if (!points_into_buffer(e, stem))
		stem += block_of(e, stem);
	if (isdigit((unsigned char)*stem))
		stem = arena_printf(e->arena, "t%s", stem);
	return stem;
}

/* Is no number behind it any help?  "A_1" may be a macro, "tunec_1" a helper. */
static bool is_reserved_numbered(const EmitC *e, const char *stem)
{
	return e->reserved(arena_printf(e->arena, "%s_1", stem));
}

/* The last number that was tried behind the stem is an entry too, under a name
 * that nothing else has. */
const char *emit_c_name(EmitC *e, const char *wish)
{
	char *stem = stem_of(e, wish);
	if (is_taken(e, stem) &&
	    (e->reserved(stem) || is_reserved_numbered(e, stem)))
		/* "v_…_" never is */
		stem = arena_printf(e->arena, "v_%s_", stem);
	const char *name = stem, *counter = arena_printf(e->arena, "#%s", stem);
	int entry = lookup_first(&e->names, counter, strlen(counter));
	int number = entry < 0 ? 0 : e->names.entries.at[entry].number;
	while (is_taken(e, name))
		name = arena_printf(e->arena, "%s_%d", stem, ++number);
	if (number)
		lookup_add(&e->names, counter, number);
	lookup_add(&e->names, name, 0);
	return name;
}
