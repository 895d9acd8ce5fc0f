/* What the models say of random candidates, one checksum a case and target: rows
 * of features, seconds, refusals, of candidates that are drawn by these.
 *
 *     sum_plans CANDIDATES TARGET...
 *
 *     build/test/bench/sum_plans 200 cuda host >before
 *     ... a change that shall not change what is foreseen ...
 *     build/test/bench/sum_plans 200 cuda host | diff before -
 *
 * Of all specs of workloads/, the first and the last case.  Values are compared bit
 * by bit. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "schedule/schedule.h"
#include "test/bench/bench.h"

static uint64_t sum_candidate(Space *space, Candidate *c, uint64_t sum)
{
	float row[FEATURES];
	double seconds;
	Refusal why = NULL;
	space_features(space, c, 1, row);
	space_analytic(space, c, 1, &seconds);
	sum = hash64(row, sizeof row, sum);
	sum = hash64(&seconds, sizeof seconds, sum);
	if (!space_legal(space, c, &why))
		sum = hash64(why, strlen(why), sum);
	return sum;
}

/* A random one, then neighbours, then another random one. */
static void sum_program(const Program *program, const Machine *machine,
    int candidates, const char *target)
{
	enum { NEIGHBOURS = 4 };
	Arena *arena = arena_new();
	Error error = {0};
	Space *space = space_new(arena, program, machine, &error);
	Rng rng = rng_stream(1, 0, 0);
	Candidate last = {0}, c;
	uint64_t sum = 0;
	int n = 0;
	for (int i = 0; space && i < candidates; i++) {
		if (i % NEIGHBOURS == 0 ? !space_sample(space, &rng, &c)
					: !space_mutate(space, &rng, &last, &c))
			continue;
		sum = sum_candidate(space, &c, sum);
		last = c;
		n++;
	}
	printf("%016llx %5d %s %s%s\n", (unsigned long long)sum, n, target,
	    program->symbol, space ? "" : error.text);
	arena_free(arena);
}

static int is_spec(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');
	return dot && !strcmp(dot, ".yaml");
}

static void sum_spec(const char *name, int candidates, const char *target)
{
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	char path[512];
	snprintf(path, sizeof path, "workloads/%s", name);
	Target *t = target_parse(arena, target, &error);
	if (!t || spec_load(arena, path, NULL, 0, NUMERICS_DEFAULT, &diag,
		&error, &programs)) {
		fprintf(stderr, "%ssum_plans: %s: %s\n", buf_text(&diag.text),
		    path, error.text);
		exit(1);
	}
	sum_program(programs.at[0], &t->machine, candidates, target);
	if (programs.n > 1)
		sum_program(programs.at[programs.n - 1], &t->machine,
		    candidates, target);
	diag_free(&diag);
	arena_free(arena);
}

int main(int argc, char **argv)
{
	struct dirent **names;
	int n = scandir("workloads", &names, is_spec, alphasort);
	if (argc < 3 || n < 0) {
		fprintf(stderr, "usage: sum_plans CANDIDATES TARGET...\n");
		return 1;
	}
	for (int i = 0; i < n; i++) {
		for (int k = 2; k < argc; k++)
			sum_spec(names[i]->d_name, atoi(argv[1]), argv[k]);
		free(names[i]);
	}
	free(names);
	return 0;
}
