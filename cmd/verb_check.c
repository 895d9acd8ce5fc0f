/* tunec check: parse, type-check, prove bounds; print what was understood. */
#include <stdio.h>

#include "cmd/cmd.h"

typedef struct {
	Common common;
} Check;

static int check_run(void *options, int n, char **operands)
{
	const Check *check = options;
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	int code = specs_load(arena, &check->common, n, operands, &programs);
	for (int i = 0; i < programs.n; i++)
		printf("%s\n", programs.at[i]->symbol);
	arena_free(arena);
	return code;
}

const Verb verb_check = {
	.name = "check",
	.operands = "SPEC[:CASE]...",
	.summary = "parse, type-check, prove bounds; print what was understood",
	.size = sizeof(Check),
	.specs = true,
	.min_operands = 1,
	.max_operands = -1,
	.run = check_run,
};
