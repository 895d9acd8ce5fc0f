/* How well the analytic model orders and foresees what was measured of an
 * operator's candidates: no GPU is needed once some have been measured.
 *
 *     bench_model FILE...            a row an operator, and what they come to
 *     bench_model trials FILE...   a row a launch: what the model says of it
 *     bench_model reduce NOTE STORE... >FILE
 *
 * A FILE is a store (docs/records.md) or what reduce made of some: a JSON object,
 *
 *     {"note": …,                       machine, driver, date
 *      "traces": [[…], …],              with decisions left out
 *      "operators": [{"name": …, "case": …, "target": …, "op_text": …,
 *          "trials": [[7, 12.34, …], …]}, …]}
 *
 * in which a trial is the number of its trace, the median of its times in
 * microseconds and its decisions in their order.
 *
 * Columns: trials; rank correlation of Spearman; geometric mean of measured over
 * foreseen, and the spread of that as a factor (exp of its logarithm's standard
 * deviation); the time of the one that the model likes best, of the best one's.
 * Operators of fewer than 20 trials are told apart: chance ranks them.  So are two
 * halves of the operators, by a hash of the name: constants of the model are chosen
 * by one of them. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "lib/vec.h"
#include "schedule/plan/plan.h"
#include "schedule/schedule.h"
#include "test/bench/bench.h"
#include "tuner/model/model.h"

/* For a row; for a rank that is more than chance. */
enum { TRIALS_LEAST = 3, TRIALS_MANY = 20 };

#define SINGLE_S 40e-6

typedef struct {
	json_t *trace; /* with decisions */
	char *text;    /* the same */
	double time_s, model_s;
} Trial;

typedef struct {
	const char *name, *case_name, *target, *op_text;
	VEC(Trial) trials;
} Operator;

typedef struct {
	Arena *arena;
	VEC(Operator) operators;
	VEC(json_t *) kept; /* what the above points into */
} Trials;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "bench_model: %s: %s\n", what, why);
	exit(1);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

/* --- read ------------------------------------------------------------------------ */

static Operator *operator_of(Trials *t, const json_t *json)
{
	Operator o = {.name = text_of(json, "name"),
	    .case_name = text_of(json, "case"),
	    .target = text_of(json, "target"),
	    .op_text = text_of(json, "op_text")};
	for (int i = 0; i < t->operators.n; i++) {
		Operator *have = &t->operators.at[i];
		if (!strcmp(have->op_text, o.op_text) &&
		    !strcmp(have->target, o.target))
			return have;
	}
	vec_push(t->arena, &t->operators, o);
	return &t->operators.at[t->operators.n - 1];
}

static void add_trial(Trials *t, Operator *o, json_t *trace, double time_s)
{
	Trial trial = {.trace = trace, .time_s = time_s};
	trial.text = json_dumps(trace, JSON_COMPACT);
	vec_push(t->arena, &o->trials, trial);
}

/* In their order: those of `from` are written into a trace, or, `from` NULL, taken
 * out of it and appended to `out`. */
static void decisions(json_t *json, const json_t *from, size_t *at, json_t *out)
{
	json_t *decision = json_object_get(json, "decision"), *item;
	const char *key;
	size_t i;
	if (decision && from)
		json_object_set(json, "decision", json_array_get(from, (*at)++));
	else if (decision) {
		json_array_append(out, decision);
		json_object_set_new(json, "decision", json_null());
	} else if (json_is_array(json)) {
		json_array_foreach (json, i, item)
			decisions(item, from, at, out);
	} else
		json_object_foreach (json, key, item)
			decisions(item, from, at, out);
}

static void read_reduced(Trials *t, json_t *file)
{
	json_t *json, *row;
	size_t i, k;
	json_array_foreach (json_object_get(file, "operators"), i, json) {
		Operator *o = operator_of(t, json);
		json_array_foreach (json_object_get(json, "trials"), k, row) {
			size_t from = 2;
			json_t *trace = json_deep_copy(json_array_get(
			    json_object_get(file, "traces"),
			    (size_t)json_integer_value(json_array_get(row, 0))));
			decisions(trace, row, &from, NULL);
			vec_push(t->arena, &t->kept, trace);
			add_trial(t, o, trace,
			    json_number_value(json_array_get(row, 1)) * 1e-6);
		}
	}
}

/* Of lines of a store.  Where a trial was given up after one run that is wrong by
 * far if it is short: measured again those of 14 to 32 us took 4 to 11, those of 40
 * and more the same to 12 %. */
static bool is_trusted(const json_t *line, double time_s)
{
	return time_s > SINGLE_S ||
	    json_array_size(json_object_get(line, "runs_s")) > 1;
}

/* A trial that was right. */
static void read_line(Trials *t, json_t *line)
{
	json_t *trace = json_object_get(line, "trace");
	double time_s = json_number_value(json_object_get(line, "time_s"));
	if (trace && time_s > 0 && is_trusted(line, time_s) &&
	    !strcmp(text_of(line, "kind"), "trial") &&
	    !strcmp(text_of(line, "outcome"), "ok"))
		add_trial(t, operator_of(t, line), trace, time_s);
}

static void read_file(Trials *t, const char *path)
{
	json_error_t error;
	FILE *f = fopen(path, "r");
	if (!f)
		fail(path, "cannot be read");
	json_t *json;
	while ((json = json_loadf(f, JSON_DISABLE_EOF_CHECK, &error))) {
		vec_push(t->arena, &t->kept, json);
		if (json_object_get(json, "traces"))
			read_reduced(t, json);
		else
			read_line(t, json);
	}
	fclose(f);
}

/* One trial a trace, of the median. */
static int by_trace(const void *a, const void *b)
{
	const Trial *x = a, *y = b;
	int order = strcmp(x->text, y->text);
	return order ? order : (x->time_s > y->time_s) - (x->time_s < y->time_s);
}

static void join_trials(Operator *o)
{
	int n = 0;
	qsort(o->trials.at, (size_t)o->trials.n, sizeof(Trial), by_trace);
	for (int i = 0, end; i < o->trials.n; i = end) {
		for (end = i + 1; end < o->trials.n &&
		     !strcmp(o->trials.at[end].text, o->trials.at[i].text);)
			end++;
		Trial middle = o->trials.at[(i + end - 1) / 2];
		for (int k = i; k < end; k++)
			if (k != (i + end - 1) / 2)
				free(o->trials.at[k].text);
		o->trials.at[n++] = middle;
	}
	o->trials.n = n;
}

/* --- foreseen ---------------------------------------------------------------------- */

static Plan *plan_of(Arena *arena, const Operator *o, const Trial *t,
    const Machine *machine, int64_t **values)
{
	Error error = {0};
	Program *program = canonical_read(arena, o->op_text);
	Trace *trace =
	    program ? trace_from_json(arena, t->trace, &error) : NULL;
	if (trace)
		trace = trace_localized(arena, program, trace, &error);
	Nest *nest = trace
	    ? schedule_nest(arena, program, machine, trace, &error) : NULL;
	if (!nest)
		fail(o->name, error.text);
	Plan *plan = plan_record(arena, nest, machine);
	*values = NEW_N(arena, int64_t, tape_size(plan->tape));
	tape_eval(plan->tape, NULL, *values);
	return plan;
}

static void print_launches(const Operator *o, const Trial *t, int number,
    const Plan *plan, const Machine *m, const int64_t *values)
{
	LaunchCost c;
	for (int i = 0; launch_next(plan, m, values, i, &c); i = c.first + 1)
		printf("%s:%s %d %.3f %.3f %.0f %.0f %.0f %.0f %.0f %.0f %.0f "
		       "%.0f %.0f %.0f %.0f %.0f %.0f %.0f %.2f %.2f\n",
		    o->name, o->case_name, number, t->time_s * 1e6,
		    c.seconds * 1e6, c.grid, c.threads, c.registers, c.spilled,
		    c.resident, c.issue, c.arithmetic, c.special, c.loading,
		    c.waiting, c.ahead, c.chain, c.barriers, c.from_l2,
		    c.sectors, c.turns);
}

static void foresee(Operator *o, bool print)
{
	Arena *arena = arena_new();
	Error error = {0};
	Target *target = target_parse(arena, o->target, &error);
	if (!target)
		fail(o->target, error.text);
	for (int i = 0; i < o->trials.n; i++) {
		Arena *own = arena_new();
		int64_t *values;
		Trial *t = &o->trials.at[i];
		Plan *plan = plan_of(own, o, t, &target->machine, &values);
		t->model_s = plan_seconds(plan, &target->machine, values);
		if (print)
			print_launches(
			    o, t, i, plan, &target->machine, values);
		arena_free(own);
	}
	arena_free(arena);
}

/* --- held to what was measured --------------------------------------------------------- */

/* Ranks, of equal ones the mean. */
/* Of the model's times and the measured ones; 0: one of them is the same for all. */
static double correlation(const Operator *o)
{
	int n = o->trials.n;
	double *model = must_alloc(sizeof *model * (size_t)(n + 1));
	double *measured = must_alloc(sizeof *measured * (size_t)(n + 1));
	for (int i = 0; i < n; i++) {
		model[i] = o->trials.at[i].model_s;
		measured[i] = o->trials.at[i].time_s;
	}
	double rank = rank_correlation(model, measured, n);
	free(model);
	free(measured);
	return isnan(rank) ? 0 : rank;
}

typedef struct {
	double rank, mean, spread, loss; /* logarithms but for the rank */
} Held;

static Held hold(const Operator *o)
{
	Held h = {.rank = correlation(o)};
	const Trial *t = o->trials.at, *liked = t, *best = t;
	double sum = 0, squares = 0, n = o->trials.n;
	for (int i = 0; i < o->trials.n; i++) {
		double off = log(t[i].time_s / t[i].model_s);
		sum += off;
		squares += off * off;
		if (t[i].model_s < liked->model_s)
			liked = &t[i];
		if (t[i].time_s < best->time_s)
			best = &t[i];
	}
	h.mean = sum / n;
	h.spread = sqrt(fmax(0, squares / n - h.mean * h.mean));
	h.loss = log(liked->time_s / best->time_s);
	return h;
}

static void print_held(const char *name, int trials, const Held *h)
{
	printf("%-38s %6d  %6.2f %8.2f %7.2f %6.2f\n", name, trials, h->rank,
	    exp(h->mean), exp(h->spread), exp(h->loss));
}

typedef struct {
	Held sum;
	int operators, trials;
} Group;

static void group_add(Group *g, const Operator *o, const Held *h)
{
	g->sum.rank += h->rank;
	g->sum.mean += h->mean;
	g->sum.spread += h->spread;
	g->sum.loss += h->loss;
	g->trials += o->trials.n;
	g->operators++;
}

static void group_print(const Group *g, bool many, bool held_out)
{
	double n = g->operators;
	char name[64];
	if (!g->operators)
		return;
	Held mean = {g->sum.rank / n, g->sum.mean / n, g->sum.spread / n,
	    g->sum.loss / n};
	snprintf(name, sizeof name, "* %d of %s trials, %s", g->operators,
	    many ? "many" : "few", held_out ? "held out" : "to choose by");
	print_held(name, g->trials, &mean);
}

static void report(const Trials *t)
{
	Group groups[2][2] = {0}; /* by many trials, held out */
	printf("%-38s %6s  %6s %8s %7s %6s\n", "operator", "trials", "rank",
	    "measured", "spread", "loss");
	for (int i = 0; i < t->operators.n; i++) {
		const Operator *o = &t->operators.at[i];
		char name[128];
		if (o->trials.n < TRIALS_LEAST)
			continue;
		Held h = hold(o);
		snprintf(name, sizeof name, "%s:%s", o->name, o->case_name);
		print_held(name, o->trials.n, &h);
		group_add(&groups[o->trials.n >= TRIALS_MANY]
				 [hash64(name, strlen(name), 0) & 1],
		    o, &h);
	}
	for (int i = 0; i < 4; i++)
		group_print(&groups[!(i >> 1)][i & 1], !(i >> 1), i & 1);
}

/* --- reduced ------------------------------------------------------------------------ */

static json_t *reduced_trial(json_t *traces, const Trial *t)
{
	json_t *trace = json_deep_copy(t->trace), *taken = json_array();
	json_t *row = json_array();
	size_t at = 0, i = 0;
	decisions(trace, NULL, &at, taken);
	while (i < json_array_size(traces) &&
	    !json_equal(json_array_get(traces, i), trace))
		i++;
	if (i == json_array_size(traces))
		json_array_append(traces, trace);
	json_decref(trace);
	json_array_append_new(row, json_integer((json_int_t)i));
	json_array_append_new(row, json_real(t->time_s * 1e6));
	json_array_extend(row, taken);
	json_decref(taken);
	return row;
}

static void print_each(const char *key, const json_t *list)
{
	json_t *item;
	size_t i;
	printf("\"%s\":[", key);
	json_array_foreach (list, i, item) {
		printf("%s", i ? ",\n" : "\n");
		json_dumpf(item, stdout,
		    JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(5));
	}
	printf("]");
}

static void reduce(Trials *t, const char *note)
{
	json_t *traces = json_array(), *operators = json_array();
	for (int i = 0; i < t->operators.n; i++) {
		Operator *o = &t->operators.at[i];
		json_t *rows = json_array();
		for (int k = 0; k < o->trials.n; k++)
			json_array_append_new(
			    rows, reduced_trial(traces, &o->trials.at[k]));
		json_array_append_new(operators,
		    json_pack("{s:s,s:s,s:s,s:s,s:o}", "name", o->name, "case",
			o->case_name, "target", o->target, "op_text",
			o->op_text, "trials", rows));
	}
	printf("{\"note\":\"%s\",\n", note);
	print_each("traces", traces);
	printf(",\n");
	print_each("operators", operators);
	printf("}\n");
	json_decref(traces);
	json_decref(operators);
}

static void trials_free(Trials *t)
{
	for (int i = 0; i < t->operators.n; i++)
		for (int k = 0; k < t->operators.at[i].trials.n; k++)
			free(t->operators.at[i].trials.at[k].text);
	for (int i = 0; i < t->kept.n; i++)
		json_decref(t->kept.at[i]);
	arena_free(t->arena);
}

int main(int argc, char **argv)
{
	bool few = argc > 2 && !strcmp(argv[1], "reduce");
	bool print = argc > 1 && !strcmp(argv[1], "trials");
	int first = few ? 3 : print ? 2 : 1;
	Trials t = {.arena = arena_new()};
	if (first >= argc)
		fail("usage", "[trials | reduce NOTE] FILE...");
	for (int i = first; i < argc; i++)
		read_file(&t, argv[i]);
	for (int i = 0; i < t.operators.n; i++) {
		join_trials(&t.operators.at[i]);
		if (!few)
			foresee(&t.operators.at[i], print);
	}
	if (few)
		reduce(&t, argv[2]);
	else if (!print)
		report(&t);
	trials_free(&t);
	return 0;
}
