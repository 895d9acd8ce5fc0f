/* What the kernels of tunec build are called: as the spec says, or --symbol and
 * --prefix; and whether names go together that meet in one file. */
#include <ctype.h>
#include <string.h>

#include "cmd/build.h"
#include "lib/lookup.h"

/* --- --symbol, --prefix ------------------------------------------------------ */

static int check_name(const char *name, const char *given, const char *option)
{
	const char *why;
	if (name_symbol_valid(name, &why))
		return EXIT_DONE;
	return say_usage("build", "'%s' of --%s %s", given, option, why);
}

/* A prefix is the beginning of a name, whatever follows. */
int build_names_usage(Arena *arena, const Build *build)
{
	const char *symbol = build->symbol, *prefix = build->prefix;
	int code = EXIT_DONE;
	if (symbol)
		code = check_name(symbol, symbol, "symbol");
	if (!code && prefix)
		code = check_name(arena_printf(arena, "%s_", prefix), prefix,
		    "prefix");
	return code;
}

static int rename_all(
    Arena *arena, const Build *build, const ProgramVec *programs)
{
	if (build->symbol && programs->n > 1)
		return say_usage("build",
		    "--symbol names one kernel, not %d: name one case, or take "
		    "--prefix", programs->n);
	for (int i = 0; i < programs->n; i++) {
		Program *p = programs->at[i];
		const char *why;
		if (build->symbol)
			p->symbol = build->symbol;
		if (build->prefix)
			p->symbol = arena_printf(
			    arena, "%s%s", build->prefix, p->symbol);
		if (name_symbol_valid(p->symbol, &why))
			continue;
		say_error("the kernel's name '%s' %s", p->symbol, why);
		return EXIT_FAILED;
	}
	return EXIT_DONE;
}

/* --- names that meet ---------------------------------------------------------- */

/* Names by their lower case, which macros do not keep apart. */
typedef struct {
	Arena *arena;
	VEC(const char *) names;
	Lookup lower; /* in `names` */
} Taken;

/* Takes a name of the header of a program; false where another program has it. */
static bool take_name(Taken *taken, int first, const char *name)
{
	char *lower = arena_strdup(taken->arena, name);
	for (char *p = lower; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	int e = lookup_first(&taken->lower, lower, strlen(lower));
	int other = e < 0 ? first : taken->lower.entries.at[e].number;
	if (other >= first) {
		lookup_add(&taken->lower, lower, taken->names.n);
		vec_push(taken->arena, &taken->names, name);
		return true;
	}
	if (!strcmp(taken->names.at[other], name))
		say_error("two kernels are named %s", name);
	else
		say_error("names of two kernels, %s and %s, differ in case "
			  "alone",
		    taken->names.at[other], name);
	return false;
}

/* Kernels meet in one file: neither functions may have one name, nor macros,
 * which are in upper case.  The workspace's size goes with the symbol. */
static int check_symbols(Arena *arena, const ProgramVec *programs)
{
	Taken taken = {.arena = arena, .lower = {.arena = arena}};
	for (int i = 0; i < programs->n; i++) {
		const Program *p = programs->at[i];
		int first = taken.names.n;
		bool good = take_name(&taken, first, p->symbol);
		for (int k = 0; k < p->ninputs && good; k++) {
			const Buffer *b = &p->buffers[k];
			if (!b->is_const)
				continue;
			good = take_name(&taken, first,
				   arena_printf(arena, "%s_pack_%s",
				       p->symbol, b->name)) &&
			    take_name(&taken, first,
				arena_printf(arena, "%s_packed_%s_bytes",
				    p->symbol, b->name));
		}
		if (!good)
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}

int build_names(Arena *arena, const Build *build, const ProgramVec *programs)
{
	int code = rename_all(arena, build, programs);
	return code ? code : check_symbols(arena, programs);
}
