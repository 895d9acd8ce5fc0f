/* What the parts of `tunec log` share. */
#ifndef CMD_LOG_H
#define CMD_LOG_H

#include "cmd/stores.h"

typedef struct {
	Common common;
	TextList db;
	const char *outcome, *output, *target, *model;
	bool cold, trace, csv;
} Log;

/* What tables and choices need of a line; strings are in the arena. */
typedef struct {
	LineKind kind;
	const char *text; /* the line */
	const char *id, *at, *op, *name, *case_name, *target, *regime;
	const char *error;   /* "" */
	const char *same_as; /* NULL */
	Outcome outcome;
	double time_s, spread_s; /* NaN unless ok */
	bool final;
} Row;

typedef VEC(Row) RowVec;

/* The trials (and marks, where asked for) of the programs' operators (none: of
 * all), layer after layer in stored order. */
int log_rows(Arena *arena, const Log *log, const Stores *stores,
    const ProgramVec *programs, bool marks, RowVec *rows);

/* "1.53 ms" */
const char *log_time(double time_s, char out[32]);
/* "conv2d:resnet18_c6", as it can be printed */
const char *log_operator(Arena *arena, const Row *row);
/* A table: lines of cells, each column as wide as its widest cell.  A cell is
 * what its text is on one line. */
typedef struct {
	Arena *arena;
	int ncolumns;
	VEC(const char *) cells;
} LogTable;
void log_cell(LogTable *table, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void log_print(const LogTable *table);

/* log_csv.c: a header, and a row a trial; features where one of the programs is its
 * operator. */
void log_csv(Arena *arena, const ProgramVec *programs, const RowVec *rows,
    Buf *out);
/* The programs and their groups. */
void log_csv_programs(Arena *arena, const ProgramVec *named, ProgramVec *all);
/* tune_transfer.c: what the stores teach, as a file */
int log_model(Arena *arena, const Log *log, const Stores *stores);
/* log_explain.c */
int log_explain(Arena *arena, const Log *log, const Stores *stores,
    const ProgramVec *programs);
/* log_import.c */
int log_import(const Log *log, int n, char **files);

#endif
