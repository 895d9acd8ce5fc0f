/* What runs come to: two tables, a line for each setting and task to compute with,
 * and curves.
 *
 * A share is that of the best there is which the best so far has; until something
 * has not failed it is a tenth. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/lab/lab.h"

enum { MARKS = 4, CHART_LINES = 8 };
static const int marks[MARKS] = {16, 32, 64, 128};
static const double FAILED = 0.1;

/* --- of a setting on a table ------------------------------------------------------ */

static double median_trials(
    const LabRuns *r, int setting, int table, double share)
{
	double n[LAB_SEEDS];
	for (int k = 0; k < r->seeds; k++)
		n[k] = lab_trials_to(
		    lab_curve(r, setting, table, k), r->trials, share);
	return lab_quantile(n, r->seeds, 0.5);
}

static double score(const LabRuns *r, int setting, int table)
{
	const float *own[LAB_SEEDS], *base[LAB_SEEDS];
	int n = (int)median_trials(r, 0, table, 0.95);
	for (int k = 0; k < r->seeds; k++) {
		own[k] = lab_curve(r, setting, table, k);
		base[k] = lab_curve(r, 0, table, k);
	}
	return lab_score(own, base, r->seeds, n < r->trials ? n : r->trials);
}

static double share_at(
    const LabRuns *r, int setting, int table, int seed, int trial)
{
	return fmax(lab_curve(r, setting, table, seed)[trial], FAILED);
}

static double mean_share(const LabRuns *r, int setting, int table, int trial)
{
	double sum = 0;
	for (int k = 0; k < r->seeds; k++)
		sum += share_at(r, setting, table, k, trial) / r->seeds;
	return sum;
}

/* --- tables ----------------------------------------------------------------------- */

static void print_heads(const LabRuns *r, int beside)
{
	int columns = 3;
	printf(
	    "| setting | score P | trials to 95 %%, of %s's: median | most |",
	    r->settings[0].name);
	if (beside > 0) {
		printf(" of %s's: median | most |", r->settings[beside].name);
		columns += 2;
	}
	for (int m = 0; m < MARKS && marks[m] <= r->trials; m++, columns++)
		printf(" %d trials |", marks[m]);
	printf("\n| --- |");
	while (columns--)
		printf(" --- |");
	putchar('\n');
}

static void print_ratios(const LabRuns *r, int setting, int beside)
{
	double ratio[LAB_TABLES];
	for (int t = 0; t < r->ntables; t++)
		ratio[t] = median_trials(r, setting, t, 0.95) /
		    median_trials(r, beside, t, 0.95);
	printf(" %.2f | %.2f |", lab_quantile(ratio, r->ntables, 0.5),
	    lab_quantile(ratio, r->ntables, 1));
}

static void print_shares(const LabRuns *r, int setting, int trial)
{
	int n = r->ntables * r->seeds;
	double *share = must_alloc(sizeof *share * (size_t)n);
	for (int t = 0; t < r->ntables; t++)
		for (int k = 0; k < r->seeds; k++)
			share[t * r->seeds + k] =
			    share_at(r, setting, t, k, trial);
	printf(" %.3f / %.3f / %.3f |", lab_geometric_mean(share, n),
	    lab_quantile(share, n, 0.1), lab_quantile(share, n, 0));
	free(share);
}

static void print_setting(const LabRuns *r, int setting, int beside)
{
	double p = 0;
	for (int t = 0; t < r->ntables; t++)
		p += score(r, setting, t) / r->ntables;
	printf("| %s | %.2f |", r->settings[setting].name, p);
	print_ratios(r, setting, 0);
	if (beside > 0)
		print_ratios(r, setting, beside);
	for (int m = 0; m < MARKS && marks[m] <= r->trials; m++)
		print_shares(r, setting, marks[m] - 1);
	putchar('\n');
}

static void print_tasks(const LabRuns *r)
{
	printf("\n| trials to 95 %% |");
	for (int i = 0; i < r->nsettings; i++)
		printf(" %s |", r->settings[i].name);
	printf("\n| --- |");
	for (int i = 0; i < r->nsettings; i++)
		printf(" --- |");
	for (int t = 0; t < r->ntables; t++) {
		printf("\n| %s |", r->names[t]);
		for (int i = 0; i < r->nsettings; i++)
			printf(" %.0f |", median_trials(r, i, t, 0.95));
	}
	putchar('\n');
}

void lab_report(const LabRuns *r)
{
	int second = lab_setting_named(r, "ga");
	print_heads(r, second);
	for (int i = 0; i < r->nsettings; i++)
		print_setting(r, i, second);
	print_tasks(r);
}

void lab_report_lines(const LabRuns *r, FILE *out)
{
	fprintf(out, "setting task score to_95 to_99");
	for (int m = 0; m < MARKS; m++)
		fprintf(out, " at_%d", marks[m]);
	for (int i = 0; i < r->nsettings; i++)
		for (int t = 0; t < r->ntables; t++) {
			fprintf(out, "\n%s %s %.4f %g %g", r->settings[i].name,
			    r->names[t], score(r, i, t),
			    median_trials(r, i, t, 0.95),
			    median_trials(r, i, t, 0.99));
			for (int m = 0; m < MARKS; m++)
				fprintf(out, " %.4f",
				    mean_share(r, i, t,
					(marks[m] < r->trials ? marks[m]
							      : r->trials) -
					    1));
		}
	fputc('\n', out);
}

/* --- curves ------------------------------------------------------------------------ */

/* Student's t for 95 %, by degrees of freedom. */
static double student(int freedom)
{
	static const double t[] = {
	    0, 12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};
	return freedom < (int)(sizeof t / sizeof *t) ? t[freedom] : 2;
}

/* The geometric mean over tables; its mean over seeds, and how far that may be off. */
static void curve_at(const LabRuns *r, int setting, int trial, ChartLine *out)
{
	double sum = 0, squares = 0;
	for (int k = 0; k < r->seeds; k++) {
		double log_mean = 0;
		for (int t = 0; t < r->ntables; t++)
			log_mean +=
			    log(share_at(r, setting, t, k, trial)) / r->ntables;
		sum += log_mean / r->seeds;
		squares += log_mean * log_mean / r->seeds;
	}
	int freedom = r->seeds - 1;
	double off = freedom
	    ? student(freedom) * sqrt(fmax(squares - sum * sum, 0) / freedom)
	    : 0;
	out->y[trial] = exp(sum);
	out->low[trial] = exp(sum - off);
	out->high[trial] = fmin(exp(sum + off), 1);
}

static ChartLine line_of(Arena *arena, const LabRuns *r, int setting)
{
	ChartLine line = {.name = r->settings[setting].name,
	    .n = r->trials,
	    .y = NEW_N(arena, double, r->trials),
	    .low = NEW_N(arena, double, r->trials),
	    .high = NEW_N(arena, double, r->trials)};
	for (int i = 0; i < r->trials; i++)
		curve_at(r, setting, i, &line);
	return line;
}

/* NAME: SETTING...: TITLE */
static void chart(const LabRuns *r, char *text, const char *folder)
{
	Arena *arena = arena_new();
	ChartLine lines[CHART_LINES];
	char path[512], *rest, *name = strtok_r(text, ":", &rest),
			       *settings = strtok_r(NULL, ":", &rest),
			       *title = strtok_r(NULL, "\n", &rest), *word;
	int n = 0, setting;
	while (title && n < CHART_LINES && (word = strtok(settings, " "))) {
		settings = NULL;
		if ((setting = lab_setting_named(r, word)) >= 0)
			lines[n++] = line_of(arena, r, setting);
	}
	snprintf(path, sizeof path, "%s/%s.svg", folder, name);
	FILE *out = n > 1 ? fopen(path, "w") : NULL;
	if (out) {
		lab_chart(out, title + strspn(title, " "), lines, n);
		fclose(out);
	}
	arena_free(arena);
}

void lab_charts(const LabRuns *r, FILE *charts, const char *folder)
{
	char line[512];
	while (fgets(line, sizeof line, charts))
		if (*line != '#' && *line != '\n')
			chart(r, line, folder);
}

void lab_report_held(const LabRuns *r)
{
	printf("| rank correlation |");
	for (int t = 0; t < r->ntables; t++)
		printf(" %s |", r->names[t]);
	printf(" mean |\n| --- |");
	for (int t = 0; t <= r->ntables; t++)
		printf(" --- |");
	for (int i = 0; i < r->nsettings; i++) {
		double all = 0;
		printf("\n| %s |", r->settings[i].name);
		for (int t = 0; t < r->ntables; t++) {
			double sum = 0;
			for (int k = 0; k < r->seeds; k++)
				sum += *lab_curve(r, i, t, k) / r->seeds;
			printf(" %.3f |", sum);
			all += sum / r->ntables;
		}
		printf(" %.3f |", all);
	}
	putchar('\n');
}
