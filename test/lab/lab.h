/* The laboratory: searches compared on tasks that are known whole.
 *
 * A task is an operator and a closed part of its space, so small that each of its
 * candidates was measured once; a search over it is exact and takes a second.
 * What lies outside of the part is illegal: there is no candidate without a time.
 *
 *     lab_close.c    a part of a space that is worth searching
 *     lab_task.c     tasks: opened, listed, asked
 *     lab_table.c    what was measured: tables in the repository
 *     lab_measure.c  a table is made on this machine
 *     lab_simulate.c a machine that no model knows
 *     lab_run.c      one search over a task
 *     lab_learn.c    what a model is shown, and what other tasks teach it
 *     lab_settings.c how a search may be set
 *     lab_figures.c  what a run comes to
 *     lab_runs.c     many settings on many tables with many seeds
 *     lab_report.c   what they come to
 *     lab_chart.c    curves as SVG
 *     lab_transfer.c what the logs of some tasks are worth to others
 *     lab_rules.c    what steps of a schedule are worth */
#ifndef TEST_LAB_H
#define TEST_LAB_H

#include <stdio.h>

#include "codegen/codegen.h"
#include "tuner/search/search_internal.h"
#include "tuner/tune/guide.h"
#include "tuner/tune/transfer.h"

enum { LAB_VECTORS = 4096, LAB_SKETCHES = 4 };

/* Of a sketch, by part: the positions that are left. */
typedef struct {
	int sketch;
	struct {
		int n;
		int *at; /* ascending */
	} parts[CANDIDATE_PARTS];
} ClosedSketch;

typedef struct {
	int n;
	ClosedSketch *sketches;
} Closed;

typedef struct {
	Arena *arena;
	const char *name, *spec, *group; /* group NULL: the whole */
	const Program *program;
	const Target *target;
	Space *space;     /* the closed part alone */
	Closed closed;    /* of the whole space */
	char hash[65];    /* of the closed part */
	CandidateSet all; /* candidates, in the order of their vectors */
	double *time_s;   /* of each; infinite: it fails; NULL: not known */
	double best_s;
} Task;

/* lab_close.c: the same for the same space on any machine. */
Closed lab_close(Arena *arena, Space *space, int vectors);

/* lab_task.c */
/* The part of an operator's space; `group` names one of its groups, NULL: the
 * whole.  closed NULL: lab_close's.  The task's memory is the arena's. */
Task *lab_task(Arena *arena, const char *name, const char *spec,
    const char *group, const char *target, const Closed *closed,
    Error *error);
int lab_number(const Task *task, const Candidate *candidate);
void lab_set_times(Task *task, double *time_s); /* finds the best */
/* As a search sees it: samples are uniform over the candidates. */
SearchSpace lab_space(Task *task);

/* lab_table.c: PATH is a JSON object; what was measured on another space is
 * refused. */
Status lab_save(
    const Task *task, const char *machine, const char *path, Error *error);
Task *lab_load(Arena *arena, const char *path, Error *error);

/* lab_measure.c: times on this machine, a median of a few; nothing may run
 * beside it.  `say` is told how far it is. */
Status lab_measure(Task *task, void (*say)(const Task *task, int done),
    Error *error);

/* lab_rules.c: of each sketch of an operator the best time here, as a table. */
Status lab_rules(
    Arena *arena, const char *spec, const char *target, Error *error);

/* lab_simulate.c: the analytic time, and effects of pairs of decisions by seed,
 * as large as leaves a rank correlation of `correlation` with it.  Of their variance
 * `shared` is one function of features, by seed, for all tasks: what the analytic
 * model has wrong on this machine. */
void lab_simulate(Task *task, uint64_t seed, double correlation, double shared);
double lab_analytic_correlation(const Task *task);

/* lab_run.c: best_s[i] is the least time of the first i + 1 trials; NULL where a
 * model cannot be trained. */
Status lab_run(Task *task, const GuideSettings *settings, int batch, int trials,
    double *best_s, Error *error);

/* lab_settings.c: of a line of settings.txt. */
typedef struct {
	const char *name;
	GuideSettings guide;
	int batch;
	bool logs;     /* begin with what other tasks' logs say */
	uint64_t hash; /* of the line */
	const char *from; /* tasks that teach it first: "c1+c2@haswell"; NULL */
} LabSetting;
Status lab_setting(
    Arena *arena, const char *line, LabSetting *out, Error *error);

/* lab_learn.c */
/* Of the words of features=: "config", a candidate's decisions; "mixed", the columns
 * of each in an order of its own; or beginnings of names of columns, "loop,access",
 * others being 0.  False: no column begins so. */
bool lab_show(Arena *arena, const char *words, Showing *out);
/* A global model of what the setting's `from` names: LAB_TAUGHT random candidates of
 * each table beside the task's own (`path`); with @CPU of the operator on another
 * machine, a simulated one.  *out NULL: it names none. */
enum { LAB_TAUGHT = 64 };
Status lab_teach(const LabSetting *setting, const char *path, uint64_t seed,
    Model **out, Error *error);
/* The rank correlation of such a model with a task's times; where the setting has no
 * `from`, of one of as many of its candidates with the others. */
Status lab_held(const LabSetting *setting, const Task *task, const char *path,
    uint64_t seed, double *correlation, Error *error);

/* lab_figures.c */
double lab_quantile(const double *values, int n, double q);
double lab_geometric_mean(const double *values, int n);
/* Trials until a curve has that share of the best; n + 1: never. */
int lab_trials_to(const float *curve, int n, double share);
/* Kernel Tuner's score P (arXiv 2509.26300) of runs beside random ones over n
 * trials: 0 as good as random, 1 the best from the first trial on. */
double lab_score(const float *const *curves, const float *const *random,
    int seeds, int n);

/* lab_runs.c: curves by setting, table, seed and trial: the share of the best. */
enum { LAB_SETTINGS = 64, LAB_TABLES = 64, LAB_SEEDS = 256 };
typedef struct {
	LabSetting settings[LAB_SETTINGS];
	int nsettings, seeds, trials, ntables;
	char **tables;	 /* paths */
	char **teachers; /* those whose logs are known; paths */
	int nteachers;
	bool held;	  /* no searches: lab_held, a curve of one point */
	const char *kept; /* a folder where curves of before are; NULL */
	uint64_t machine; /* the seed of a simulated one; 0: as measured */
	float *curves;
	char (*names)[32]; /* of the tables' tasks */
} LabRuns;
/* False, and what is wrong on standard error, where one failed. */
bool lab_runs(LabRuns *runs);
float *lab_curve(const LabRuns *runs, int setting, int table, int seed);
int lab_setting_named(const LabRuns *runs, const char *name); /* -1 */

/* lab_transfer.c: a log of a task, random candidates of it; shuffled: with the times
 * of others. */
enum { LAB_LOGGED = 64 };
Past lab_log(const Task *task, uint64_t seed, bool shuffled);
/* What the logs of tables teach, as `tune` asks; *global is NULL where that is nothing. */
Status lab_logs(Arena *arena, char *const *tables, int n, uint64_t machine,
    uint64_t seed, const Task *task, Transfer **logs, Model **global,
    Error *error);
/* Begins a search of the task with it. */
void lab_begin_with(const Transfer *logs, const Model *global, const Task *task,
    GuideSettings *out);

/* lab_report.c: tables on standard output, where trials are in units of those of the
 * first setting, and of `ga` where that is one. */
void lab_report(const LabRuns *runs);
/* Of `held` ones, by setting and table. */
void lab_report_held(const LabRuns *runs);
/* A head, and a line for each setting and task. */
void lab_report_lines(const LabRuns *runs, FILE *out);
/* FOLDER/NAME.svg for each line of test/lab/charts.txt. */
void lab_charts(const LabRuns *runs, FILE *charts, const char *folder);

/* lab_chart.c: by trial a share, and between what it may lie. */
typedef struct {
	const char *name;
	int n;
	double *y, *low, *high;
} ChartLine;
void lab_chart(FILE *out, const char *title, const ChartLine *lines, int n);

#endif
