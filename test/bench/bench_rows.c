/* How well the analytic model orders what was measured, by several rows of what code
 * costs (ir/costs.h), and what each of a row's numbers is worth.
 *
 *     bench_rows NAME=FILE.row... STORE.jsonl...
 *
 * FILE.row of "table" is the row of the trials' CPU in the table.  A trial's trace is
 * foreseen by each row; nothing is measured here.  For each operator of TRIALS_LEAST
 * trials or more, by each row: the correlation of ranks (Spearman), and the time of
 * the trial that the row likes best, of the best one's: candidate 1, where the store
 * has it.  Then what these come to; and by number, what comes of the first row where
 * that alone is another row's, or half or twice of what it is. */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"
#include "lib/vec.h"
#include "schedule/plan/plan.h"
#include "schedule/schedule.h"
#include "tuner/model/model.h"

enum { TRIALS_LEAST = 6, ROWS_MOST = 4, TRIALS_MOST = 400 };

/* A row, or one in which a number is another's. */
typedef struct {
	const char *name;
	bool table;
	CostsFile file;
	double rank, loss, worst; /* sums over operators, of logarithms the loss */
} Row;

/* The first row with one number changed: of each other row, half of it, twice. */
typedef struct {
	double rank, loss;
	bool differs;
} Changed;
enum { HALF = ROWS_MOST, TWICE, CHANGES };

/* Functions are one: they are told together. */
enum { FUNCTIONS = COSTS_KEYS };

typedef struct {
	int nrows, operators, trials;
	Row rows[ROWS_MOST];
	Changed changed[COSTS_KEYS + 1][CHANGES];
} Bench;

typedef struct {
	const char *name, *op_text, *target;
	int n;
	const json_t *trace[TRIALS_MOST];
	double time_s[TRIALS_MOST];
} Operator;

static void fail(const char *what, const char *why)
{
	fprintf(stderr, "bench_rows: %s: %s\n", what, why);
	exit(1);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

/* --- foreseen ---------------------------------------------------------------------- */

typedef struct {
	Nest *nest[TRIALS_MOST];
	Plan *plan[TRIALS_MOST]; /* by the first row */
	int64_t *values[TRIALS_MOST];
	const Machine *machine;
} Foreseen;

static double seconds_by(const Foreseen *f, Plan *plan, const int64_t *values,
    const MachineCosts *costs)
{
	Machine machine = *f->machine;
	machine.costs = costs;
	return plan_seconds(plan, &machine, values);
}

/* All plans anew, since they have what operations cost. */
static void foresee_anew(
    const Foreseen *f, int n, const MachineCosts *costs, double *out)
{
	Machine machine = *f->machine;
	machine.costs = costs;
	for (int i = 0; i < n; i++) {
		Arena *arena = arena_new();
		Plan *plan = plan_record(arena, f->nest[i], &machine);
		int64_t *values = NEW_N(arena, int64_t, tape_size(plan->tape));
		tape_eval(plan->tape, NULL, values);
		out[i] = seconds_by(f, plan, values, costs);
		arena_free(arena);
	}
}

static void foresee(
    const Foreseen *f, int n, const MachineCosts *costs, double *out)
{
	for (int i = 0; i < n; i++)
		out[i] = seconds_by(f, f->plan[i], f->values[i], costs);
}

/* False: of several groups, or none of today's. */
static bool make_plans(Arena *arena, Operator *o, const Target *target,
    const MachineCosts *costs, Foreseen *f)
{
	Error error = {0};
	Program *program = canonical_read(arena, o->op_text);
	int n = 0;
	f->machine = &target->machine;
	Machine *machine = NEW(arena, Machine);
	*machine = target->machine;
	machine->costs = costs;
	for (int i = 0; program && i < o->n; i++) {
		Trace *trace = trace_from_json(arena, o->trace[i], &error);
		if (trace)
			trace = trace_localized(arena, program, trace, &error);
		Nest *nest = trace ? schedule_nest(arena, program, machine,
					 trace, &error)
				   : NULL;
		if (!nest || nest->nparts)
			continue;
		f->nest[n] = nest;
		f->plan[n] = plan_record(arena, nest, machine);
		f->values[n] =
		    NEW_N(arena, int64_t, tape_size(f->plan[n]->tape));
		tape_eval(f->plan[n]->tape, NULL, f->values[n]);
		o->time_s[n++] = o->time_s[i];
	}
	o->n = n;
	return n >= TRIALS_LEAST;
}

/* --- held to what was measured ------------------------------------------------------- */

static void hold(const Operator *o, double *model, double *rank, double *loss)
{
	int liked = 0, best = 0;
	for (int i = 0; i < o->n; i++) {
		if (model[i] < model[liked])
			liked = i;
		if (o->time_s[i] < o->time_s[best])
			best = i;
	}
	double r = rank_correlation(model, (double *)o->time_s, o->n);
	*rank = isnan(r) ? 0 : r;
	*loss = log(o->time_s[liked] / o->time_s[best]);
}

static void change(Bench *b, const Operator *o, const Foreseen *f, int key,
    int how, const MachineCosts *costs)
{
	double model[TRIALS_MOST], rank, loss;
	Changed *c = &b->changed[key][how];
	if (key == FUNCTIONS)
		foresee_anew(f, o->n, costs, model);
	else
		foresee(f, o->n, costs, model);
	hold(o, model, &rank, &loss);
	c->rank += rank;
	c->loss += loss;
	c->differs = true;
}

/* A number of another row, half or twice of its own; false: it is the same. */
static bool changed_costs(const MachineCosts *first, const MachineCosts *other,
    int key, int how, MachineCosts *out)
{
	CostKey k;
	*out = *first;
	if (key == FUNCTIONS) {
		for (Op op = 0; op < OP_COUNT; op++)
			out->op[op] = how >= HALF
			    ? costs_op(first, op) * (how == HALF ? 0.5 : 2)
			    : costs_op(other, op);
	} else {
		costs_key(costs_key_name(key), &k);
		double *value = costs_at(out, &k);
		*value = how == HALF ? *value / 2
		    : how == TWICE   ? *value * 2
				     : *costs_at((MachineCosts *)other, &k);
	}
	return memcmp(out, first, sizeof *out) != 0;
}

static bool is_function(int key)
{
	CostKey k;
	return costs_key(costs_key_name(key), &k) >= 0 &&
	    k.offset >= offsetof(MachineCosts, op);
}

static void change_all(Bench *b, const Operator *o, const Foreseen *f,
    const MachineCosts *const rows[])
{
	for (int key = 0; key <= FUNCTIONS; key++) {
		if (key < FUNCTIONS &&
		    (!costs_key_name(key) || is_function(key)))
			continue;
		for (int how = 1; how < CHANGES; how++) {
			MachineCosts costs;
			if (how >= b->nrows && how < HALF)
				continue;
			if (changed_costs(rows[0],
				rows[how < HALF ? how : 0], key, how, &costs))
				change(b, o, f, key, how, &costs);
		}
	}
}

/* --- an operator ---------------------------------------------------------------------- */

static void bench_operator(Bench *b, Operator *o)
{
	Arena *arena = arena_new();
	Error error = {0};
	Foreseen *f = NEW(arena, Foreseen);
	const Target *target = target_parse(arena, o->target, &error);
	const MachineCosts *rows[ROWS_MOST];
	if (!target)
		fail(o->target, error.text);
	for (int i = 0; i < b->nrows; i++)
		rows[i] = b->rows[i].table ? machine_costs(&target->machine)
					   : &b->rows[i].file.costs;
	if (make_plans(arena, o, target, rows[0], f)) {
		printf("%-32s %3d", o->name, o->n);
		for (int i = 0; i < b->nrows; i++) {
			double model[TRIALS_MOST], rank, loss;
			foresee_anew(f, o->n, rows[i], model);
			hold(o, model, &rank, &loss);
			b->rows[i].rank += rank;
			b->rows[i].loss += loss;
			b->rows[i].worst = fmax(b->rows[i].worst, loss);
			printf("   %6.2f %6.2f", rank, exp(loss));
		}
		printf("\n");
		fflush(stdout);
		change_all(b, o, f, rows);
		b->operators++;
		b->trials += o->n;
	}
	arena_free(arena);
}

/* Lines of a store: an operator at a time. */
static void bench_store(Bench *b, const char *path)
{
	json_t *json, *lines = json_array();
	json_error_t error;
	FILE *file = fopen(path, "r");
	if (!file)
		fail(path, "cannot be read");
	while ((json = json_loadf(file, JSON_DISABLE_EOF_CHECK, &error)))
		json_array_append_new(lines, json);
	fclose(file);
	size_t n = json_array_size(lines);
	bool *done = must_alloc(n + 1);
	memset(done, 0, n + 1);
	for (size_t i = 0; i < n; i++) {
		const json_t *first = json_array_get(lines, i);
		char name[80];
		snprintf(name, sizeof name, "%s:%s", text_of(first, "name"),
		    text_of(first, "case"));
		Operator *o = must_alloc(sizeof *o);
		*o = (Operator){.name = name,
		    .op_text = text_of(first, "op_text"),
		    .target = text_of(first, "target")};
		for (size_t k = i; k < n && *o->op_text; k++) {
			const json_t *line = json_array_get(lines, k);
			double time_s = json_number_value(
			    json_object_get(line, "time_s"));
			if (done[k] ||
			    strcmp(text_of(line, "op_text"), o->op_text))
				continue;
			done[k] = true;
			if (o->n == TRIALS_MOST || !(time_s > 0) ||
			    strcmp(text_of(line, "round"), "search"))
				continue;
			o->trace[o->n] = json_object_get(line, "trace");
			o->time_s[o->n++] = time_s;
		}
		if (o->n >= TRIALS_LEAST)
			bench_operator(b, o);
		free(o);
	}
	free(done);
	json_decref(lines);
}

/* --- what it comes to -------------------------------------------------------------------- */

static void print_rows(const Bench *b)
{
	double n = b->operators ? b->operators : 1;
	printf("\n%d operators, %d trials\n%-20s %6s %14s %6s\n", b->operators,
	    b->trials, "row", "rank", "first/best", "worst");
	for (int i = 0; i < b->nrows; i++)
		printf("%-20s %6.3f %14.3f %6.2f\n", b->rows[i].name,
		    b->rows[i].rank / n, exp(b->rows[i].loss / n),
		    exp(b->rows[i].worst));
}

static void print_change(const Bench *b, const Changed *c)
{
	double n = b->operators;
	if (!c->differs)
		printf("   %6s %6s", "=", "=");
	else
		printf("   %+6.3f %+6.3f", (c->rank - b->rows[0].rank) / n,
		    exp(c->loss / n) - exp(b->rows[0].loss / n));
}

static void print_changes(const Bench *b)
{
	printf("\n%s with one number changed: rank, first/best, more or less\n",
	    b->rows[0].name);
	printf("%-16s", "number");
	for (int i = 1; i < b->nrows; i++)
		printf("   %13.13s", b->rows[i].name);
	printf("   %13s   %13s\n", "half", "twice");
	for (int key = 0; key <= FUNCTIONS; key++) {
		if (key < FUNCTIONS &&
		    (!costs_key_name(key) || is_function(key)))
			continue;
		printf("%-16s",
		    key == FUNCTIONS ? "functions" : costs_key_name(key));
		for (int how = 1; how < CHANGES; how++)
			if (how < b->nrows || how >= HALF)
				print_change(b, &b->changed[key][how]);
		printf("\n");
	}
}

int main(int argc, char **argv)
{
	static Bench b;
	int i = 1;
	for (; i < argc && strchr(argv[i], '='); i++) {
		if (b.nrows == ROWS_MOST)
			fail(argv[i], "too many rows");
		Row *r = &b.rows[b.nrows++];
		Error error = {0};
		char *file = strchr(argv[i], '=');
		*file++ = 0;
		r->name = argv[i];
		r->table = !strcmp(file, "table");
		if (!r->table && costs_read(file, &r->file, &error))
			fail(file, error.text);
	}
	if (!b.nrows || i == argc)
		fail("usage", "NAME=FILE.row... STORE.jsonl...");
	printf("%-32s %3s", "operator", "n");
	for (int k = 0; k < b.nrows; k++)
		printf("   %13.13s", b.rows[k].name);
	printf("\n%-36s", "");
	for (int k = 0; k < b.nrows; k++)
		printf("   %6s %6s", "rank", "loss");
	printf("\n");
	for (; i < argc; i++)
		bench_store(&b, argv[i]);
	print_rows(&b);
	if (b.operators)
		print_changes(&b);
	return 0;
}
