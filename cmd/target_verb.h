/* What the files of tunec target share. */
#ifndef CMD_TARGET_VERB_H
#define CMD_TARGET_VERB_H

#include "cmd/cmd.h"

typedef struct {
	Common common;
	bool print, cpus, row, measure;
	const char *machine, *output, *time;
} TargetOptions;

/* target_row.c: what code costs, as --machine takes it; an exit code. */
int show_row(Arena *arena, const TargetOptions *options, const char *target);
/* n: the operands that there are, which are too many. */
int measure_row(Arena *arena, const TargetOptions *options, int n);

#endif
