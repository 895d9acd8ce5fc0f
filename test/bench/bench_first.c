/* What it takes to find candidate 1, and what the model expects of it.
 *
 *     bench_first [-t TARGET] SPEC[:CASE]…
 *
 * Prints a line for each group of each case: spec, case, group, blocks, ms of the
 * CPU for its space and for the search, plans recorded, the model's seconds, a
 * hash of the trace, and the work that was counted. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "codegen/codegen.h"
#include "lib/hash.h"
#include "schedule/groups.h"
#include "schedule/space.h"

enum { TRIES = 2000 };

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void first_of(
    const Group *g, const char *spec, const char *label, const Machine *machine)
{
	Arena *arena = arena_new();
	Error error = {0};
	Candidate c;
	double begin = cpu_ms(), seconds = 0;
	Space *space = space_new(arena, g->program, machine, &error);
	double made = cpu_ms();
	bool found = space && space_first(space, TRIES, &c);
	double end = cpu_ms();
	uint64_t hash = 0;
	if (found) {
		Buf text = {0};
		space_analytic(space, &c, 1, &seconds);
		trace_print(&text, space_trace(arena, space, &c));
		hash = hash64(buf_text(&text), text.size, 0);
		buf_free(&text);
	}
	printf("%s:%s %s %d %.1f %.1f %" PRId64 " %.9g %016" PRIx64 " %" PRId64
	       "\n",
	    spec, label, *g->name ? g->name : "-", g->program->nblocks,
	    made - begin, end - made, space ? space->plans_made : 0, seconds,
	    hash, space ? space->work : 0);
	fflush(stdout);
	arena_free(arena);
}

static int firsts_of(const char *spec, const Target *target)
{
	Arena *arena = arena_new();
	Diag diag = {0};
	Error error = {0};
	ProgramVec programs = {0};
	if (spec_load(arena, spec, NULL, 0, NUMERICS_DEFAULT, &diag, &error,
		&programs)) {
		fprintf(stderr, "%sbench_first: %s: %s\n", buf_text(&diag.text),
		    spec, error.text);
		return 1;
	}
	for (int i = 0; i < programs.n; i++) {
		const Groups *g =
		    groups_of(arena, programs.at[i], &target->machine);
		const char *name = programs.at[i]->case_name;
		for (int k = 0; k < g->n; k++)
			if (g->groups[k].same_as == k)
				first_of(&g->groups[k], spec, name ? name : "",
				    &target->machine);
	}
	diag_free(&diag);
	arena_free(arena);
	return 0;
}

int main(int argc, char **argv)
{
	Arena *arena = arena_new();
	Error error = {0};
	int first = argc > 2 && !strcmp(argv[1], "-t") ? 3 : 1, bad = 0;
	const Target *target =
	    target_parse(arena, first == 3 ? argv[2] : "host", &error);
	if (!target) {
		fprintf(stderr, "bench_first: %s\n", error.text);
		return 1;
	}
	for (int i = first; i < argc; i++)
		bad |= firsts_of(argv[i], target);
	arena_free(arena);
	return bad;
}
