/* tunec target --row and --measure: what code costs on a CPU, of the table, of a file,
 * and of this machine. */
#include <math.h>
#include <signal.h>
#include <time.h>

#include "cmd/target_verb.h"
#include "tuner/measure/measure.h"

/* --- as it is known ---------------------------------------------------------- */

/* Whose numbers the table has for a family. */
static const char *row_notes(Arena *arena, const char *family)
{
	const char *as;
	costs_of_family(family, &as);
	return as ? arena_printf(arena, "# family %s, with the numbers of %s\n",
			family, as)
		  : arena_printf(arena, "# family %s\n", family);
}

static const char *cpu_of(const Target *t)
{
	return *t->cpu ? t->cpu : t->machine.family;
}

/* The target with the row that was asked for; NULL and why not. */
static Target *target_with_row(
    Arena *arena, const TargetOptions *o, const char *text, Error *error)
{
	const CostsFile *row;
	Target *t = measure_target(arena, text, error);
	if (!t || machine_row(arena, o->machine, &row, error) ||
	    machine_take(t, row, error))
		return NULL;
	if (t->machine.family)
		return t;
	error_set(error, STATUS_UNSUPPORTED,
	    "target '%s' has no row: it is no CPU's", t->text);
	return NULL;
}

int show_row(Arena *arena, const TargetOptions *o, const char *text)
{
	Error error = {0};
	Buf out = {0};
	const Target *t = target_with_row(arena, o, text, &error);
	if (!t) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	costs_print(&out, cpu_of(t), machine_costs(&t->machine),
	    machine_asked(o->machine) ? ""
				      : row_notes(arena, t->machine.family));
	out_text("%s", buf_text(&out));
	buf_free(&out);
	return EXIT_DONE;
}

/* --- as it is measured --------------------------------------------------------- */

static volatile int interrupted;

static void on_signal(int number)
{
	if (interrupted)
		_exit(128 + number);
	interrupted = 1;
}

static void say_told(const char *key, double time_s,
    const double foreseen_s[2], double value)
{
	if (isnan(time_s))
		say_note("%s: its kernel could not be measured", key);
	else if (isnan(value))
		say_note("%s: %.4g us do not tell it, foreseen are %.4g to "
			 "%.4g",
		    key, time_s * 1e6, foreseen_s[0] * 1e6,
		    foreseen_s[1] * 1e6);
	else
		say_note("%s: %.4g, by %.4g us", key, value, time_s * 1e6);
}

static void say_trouble(const char *trouble)
{
	say_warning("%s", trouble);
}

static void put_keys(
    Buf *out, const CostsMeasured *measured, bool told, const char *title)
{
	int n = 0;
	for (int i = 0; i < COSTS_KEYS; i++)
		if (costs_key_name(i) && measured->told[i] == told)
			buf_printf(out, "%s%s%s", n ? "" : title,
			    n % 10 ? ", " : "\n#     ", costs_key_name(i)),
			    n++;
	buf_puts(out, n ? "\n" : "");
}

/* When and where, which numbers are measured and which are not. */
static const char *measured_notes(
    Arena *arena, const Target *host, const CostsMeasured *measured)
{
	HostFacts facts;
	Buf out = {0};
	char day[16];
	time_t now = time(NULL);
	struct tm utc;
	host_facts(arena, &facts);
	strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &utc));
	buf_printf(&out, "# measured %s on %s, %d threads, %.4g GFLOP/s by one\n",
	    day, out_word(arena, facts.model), host->threads,
	    measured->peak * 1e-9);
	put_keys(&out, measured, true, "# told by kernels:");
	put_keys(&out, measured, false, "# as they were, since none told them:");
	const char *notes = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return notes;
}

static int write_row(const TargetOptions *o, const Buf *row)
{
	Error error = {0};
	const OutputFile file = {o->output, row->data, row->size};
	if (!o->output)
		out_text("%s", row->data);
	else if (out_files(&file, 1, &error))
		say_error("%s", error.text);
	return exit_of_status(error.status);
}

static Target *one_thread(Arena *arena, const Target *host, Error *error)
{
	Target *t = target_parse(arena,
	    arena_printf(arena, "llvm -mtriple=%s -mcpu=%s -mattr=%s -threads=1",
		host->triple, host->cpu, host->attrs),
	    error);
	if (t)
		t->machine.costs = host->machine.costs;
	return t;
}

static int measure_usage(const TargetOptions *o, int n, double *time_s)
{
	*time_s = time_parse(o->time);
	if (n)
		return say_usage("target",
		    "--measure is of this machine: it takes no TARGET");
	if (o->print || o->cpus || o->row || o->common.json)
		return say_usage("target",
		    "--measure goes with --time, --machine and -o alone");
	if (!(*time_s > 0))
		return say_usage("target",
		    "--time takes a time such as 60s or 2m, not '%s'",
		    o->time);
	return EXIT_DONE;
}

int measure_row(Arena *arena, const TargetOptions *o, int n)
{
	Error error = {0};
	CostsMeasured measured;
	CostsRun run = {.say = say_trouble, .interrupted = &interrupted};
	int code = measure_usage(o, n, &run.time_s);
	if (code)
		return code;
	struct sigaction action = {.sa_handler = on_signal};
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	run.told = o->common.verbose ? say_told : NULL;
	run.all = target_with_row(arena, o, "host", &error);
	run.one = run.all ? one_thread(arena, run.all, &error) : NULL;
	if (!run.one || measure_costs(&run, &measured, &error)) {
		say_error("%s", error.text);
		return exit_of_status(error.status);
	}
	Buf row = {0};
	costs_print(&row, cpu_of(run.all), &measured.costs,
	    measured_notes(arena, run.all, &measured));
	code = write_row(o, &row);
	buf_free(&row);
	return code;
}
