/* Rows of what code costs on a CPU: the table, and files of the same numbers. */
#include "ir/costs.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/machine.h"
#include "lib/hash.h"
#include "lib/input.h"

static const struct {
	const char *family, *as;
	MachineCosts costs;
} rows[] = {
#define COSTS(name, ...)   {.family = name, .costs = {__VA_ARGS__}},
#define COSTS_AS(name, of) {.family = name, .as = of},
#include "ir/cpu_costs.def"
#undef COSTS
#undef COSTS_AS
};
enum { NROWS = sizeof rows / sizeof *rows };

static const struct {
	const char *name, *unit, *help;
	size_t offset;
	double least, most;
} fields[] = {
#define COST(name, unit, least, most, help)                                    \
	{#name, unit, help, offsetof(MachineCosts, name), least, most},
#include "ir/costs.def"
#undef COST
};
enum { NFIELDS = sizeof fields / sizeof *fields };

const MachineCosts *costs_of_family(const char *family, const char **as)
{
	int i = 0;
	while (i < NROWS && strcmp(rows[i].family, family))
		i++;
	if (as)
		*as = i < NROWS ? rows[i].as : NULL;
	if (i == NROWS)
		return NULL;
	return rows[i].as ? costs_of_family(rows[i].as, NULL) : &rows[i].costs;
}

const MachineCosts *machine_costs(const Machine *machine)
{
	return machine->costs ? machine->costs : &rows[0].costs;
}

/* --- of GPUs ------------------------------------------------------------------ */

static const struct {
	const char *family, *as;
	GpuCosts costs;
} gpu_rows[] = {
#define COSTS(name, ...)   {.family = name, .costs = {__VA_ARGS__}},
#define COSTS_AS(name, of) {.family = name, .as = of},
#include "ir/gpu_costs.def"
#undef COSTS
#undef COSTS_AS
};
enum { NGPU_ROWS = sizeof gpu_rows / sizeof *gpu_rows };

const GpuCosts *gpu_costs_of_family(const char *family)
{
	for (int i = 0; i < NGPU_ROWS; i++)
		if (!strcmp(gpu_rows[i].family, family))
			return gpu_rows[i].as
			    ? gpu_costs_of_family(gpu_rows[i].as)
			    : &gpu_rows[i].costs;
	return NULL;
}

const GpuCosts *machine_gpu_costs(const Machine *machine)
{
	return machine->gpu_costs ? machine->gpu_costs : &gpu_rows[0].costs;
}

/* --- operations ----------------------------------------------------------------- */

double costs_op(const MachineCosts *costs, Op op)
{
	assert(op < OP_COUNT);
	return costs->op[op] > 0 ? costs->op[op] : op_weight(op);
}

double costs_expr(const MachineCosts *costs, const Expr *e)
{
	PowerSteps s;
	if (e->op != OP_POW || e->arg[1]->op != OP_FLOAT ||
	    !power_steps(e->arg[1]->f, &s))
		return costs_op(costs, e->op);
	int roots = s.quarters == 2 ? 1 : s.quarters ? 2 : 0;
	return s.whole + (s.quarters == 3) + roots * costs_op(costs, OP_SQRT) +
	    s.inverse * costs_op(costs, OP_DIV) *
	    (s.whole && s.quarters ? 2 : 1);
}

/* --- files ------------------------------------------------------------------- */

/* Operations that a row may say: functions, and what is no instruction of a
 * multiplication's cost. */
static const char *op_key(Op op)
{
	if (op == OP_DIV)
		return "divide";
	return op_kind(op) == OPKIND_FUNCTION ? op_name(op) : NULL;
}

static const double op_least = 0.1, op_most = 10000;

int costs_key(const char *key, CostKey *out)
{
	for (int i = 0; i < NFIELDS; i++) {
		if (strcmp(fields[i].name, key))
			continue;
		*out = (CostKey){
		    fields[i].offset, fields[i].least, fields[i].most};
		return i;
	}
	for (Op op = 0; op < OP_COUNT; op++) {
		if (!op_key(op) || strcmp(op_key(op), key))
			continue;
		*out =
		    (CostKey){offsetof(MachineCosts, op) + op * sizeof(double),
			op_least, op_most};
		return NFIELDS + (int)op;
	}
	return -1;
}

const char *costs_key_name(int number)
{
	assert(number >= 0 && number < COSTS_KEYS);
	return number < NFIELDS ? fields[number].name
				: op_key((Op)(number - NFIELDS));
}

/* With the digits that read back as the same. */
static void put_number(Buf *out, const char *key, double value)
{
	char text[32];
	snprintf(text, sizeof text, "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof text, "%.17g", value);
	buf_printf(out, "%s %s", key, text);
}

/* The numbers alone, as they count. */
static void put_numbers(Buf *out, const MachineCosts *costs, bool helps)
{
	for (int i = 0; i < NFIELDS; i++) {
		size_t begin = out->size;
		put_number(out, fields[i].name,
		    *(const double *)((const char *)costs + fields[i].offset));
		if (helps)
			buf_printf(out, "%*s# %s: %s",
			    (int)(begin + 24 > out->size
				    ? begin + 24 - out->size
				    : 1),
			    "", fields[i].unit, fields[i].help);
		buf_putc(out, '\n');
	}
	if (helps)
		buf_puts(
		    out, "\n# operations: of a vector, in multiplications\n");
	for (Op op = 0; op < OP_COUNT; op++) {
		if (!op_key(op))
			continue;
		put_number(out, op_key(op), costs_op(costs, op));
		buf_putc(out, '\n');
	}
}

void costs_name(const char *cpu, const MachineCosts *costs, char name[64])
{
	char hex[65];
	Buf numbers = {0};
	put_numbers(&numbers, costs, false);
	sha256_hex(numbers.data, numbers.size, hex);
	buf_free(&numbers);
	snprintf(name, 64, "%.31s %.16s", cpu, hex);
}

void costs_print(
    Buf *out, const char *cpu, const MachineCosts *costs, const char *notes)
{
	buf_printf(
	    out, "tunec-machine %d\n%scpu %s\n\n", COSTS_VERSION, notes, cpu);
	put_numbers(out, costs, true);
}

typedef struct {
	const char *file;
	int line;
	CostsFile *out;
	bool version, cpu, seen[COSTS_KEYS];
	Error *error;
} Reading;

static Status __attribute__((format(printf, 2, 3)))
refuse(const Reading *r, const char *format, ...)
{
	char what[600];
	va_list args;
	va_start(args, format);
	vsnprintf(what, sizeof what, format, args);
	va_end(args);
	return error_set(r->error, STATUS_INPUT, "%.300s:%d: error: %s",
	    r->file, r->line, what);
}

static Status refuse_beginning(const Reading *r)
{
	return refuse(r, "the file does not begin with 'tunec-machine %d'",
	    COSTS_VERSION);
}

static Status read_number(const Reading *r, const char *key, const char *text,
    double least, double most, double *value)
{
	char *end;
	errno = 0;
	double n = strtod(text, &end);
	if (end == text || *end || errno || !isfinite(n))
		return refuse(r, "'%.40s' of %s is no number", text, key);
	if (n < least || n > most)
		return refuse(r, "%s is %.40s, not between %g and %g", key,
		    text, least, most);
	*value = n;
	return STATUS_OK;
}

static Status read_header(Reading *r, const char *key, const char *value)
{
	char *end;
	long version = strtol(value, &end, 10);
	if (strcmp(key, "tunec-machine"))
		return refuse_beginning(r);
	if (end == value || *end || version != COSTS_VERSION)
		return refuse(r,
		    "version '%.40s' of a machine's row; this "
		    "tunec reads %d",
		    value, COSTS_VERSION);
	r->version = true;
	return STATUS_OK;
}

static Status read_cpu(Reading *r, const char *value)
{
	size_t n = strspn(value,
	    "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.+");
	if (value[n] || n >= sizeof r->out->cpu)
		return refuse(r, "'%.40s' is no name of a CPU", value);
	memcpy(r->out->cpu, value, n + 1);
	return STATUS_OK;
}

/* A key that has been there once is marked in *seen. */
static Status take_once(const Reading *r, const char *key, bool *seen)
{
	if (*seen)
		return refuse(r, "'%s' stands there twice", key);
	*seen = true;
	return STATUS_OK;
}

static Status read_pair(Reading *r, const char *key, const char *value)
{
	if (!r->version)
		return read_header(r, key, value);
	if (!strcmp(key, "cpu")) {
		FORWARD_IF_ERROR(take_once(r, key, &r->cpu));
		return read_cpu(r, value);
	}
	CostKey found;
	int number = costs_key(key, &found);
	if (number < 0)
		return refuse(r, "unknown key '%.40s'", key);
	FORWARD_IF_ERROR(take_once(r, key, &r->seen[number]));
	return read_number(r, key, value, found.least, found.most,
	    costs_at(&r->out->costs, &found));
}

/* "key value   # comment" */
static Status read_line(Reading *r, char *line)
{
	static const char blank[] = " \t\r";
	line[strcspn(line, "#")] = 0;
	char *key = line + strspn(line, blank);
	if (!*key)
		return STATUS_OK;
	char *end = key + strcspn(key, blank);
	char *value = *end ? end + 1 : end;
	*end = 0;
	value += strspn(value, blank);
	if (!*value)
		return refuse(r, "'%.40s' has no value", key);
	char *rest = value + strcspn(value, blank);
	if (rest[strspn(rest, blank)])
		return refuse(r, "'%.40s' is behind the value of its line",
		    rest + strspn(rest, blank));
	*rest = 0;
	return read_pair(r, key, value);
}

static Status read_lines(Reading *r, const char *text, size_t size)
{
	char line[512];
	for (size_t at = 0; at < size; r->line++) {
		const char *end = memchr(text + at, '\n', size - at);
		size_t n = end ? (size_t)(end - text) - at : size - at;
		if (n >= sizeof line || memchr(text + at, 0, n))
			return refuse(r, "this is no line of a machine's row");
		memcpy(line, text + at, n);
		line[n] = 0;
		FORWARD_IF_ERROR(read_line(r, line));
		at += n + 1;
	}
	return STATUS_OK;
}

Status costs_parse(const char *file, const char *text, size_t size,
    CostsFile *out, Error *error)
{
	Reading r = {.file = file, .line = 1, .out = out, .error = error};
	*out = (CostsFile){.file = file};
	if (size > COSTS_FILE_MOST)
		return refuse(&r, "a machine's row of more than %d KiB",
		    COSTS_FILE_MOST >> 10);
	FORWARD_IF_ERROR(read_lines(&r, text, size));
	if (!r.version)
		return refuse_beginning(&r);
	if (!r.cpu)
		return refuse(&r, "'cpu' is missing");
	for (int i = 0; i < NFIELDS; i++)
		if (!r.seen[i])
			return refuse(&r, "'%s' is missing", fields[i].name);
	costs_name(out->cpu, &out->costs, out->name);
	return STATUS_OK;
}

Status costs_read(const char *file, CostsFile *out, Error *error)
{
	Buf text = {0};
	Status status = input_read(file, COSTS_FILE_MOST + 1, &text, error);
	if (!status)
		status =
		    costs_parse(file, buf_text(&text), text.size, out, error);
	buf_free(&text);
	return status;
}
