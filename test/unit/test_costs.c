/* Rows of what code costs: the table, files of them, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "codegen/cpu.h"

static const struct {
	const char *name;
	double least, most;
} fields[] = {
#define COST(name, unit, least, most, help) {#name, least, most},
#include "ir/costs.def"
#undef COST
};
enum { NFIELDS = sizeof fields / sizeof *fields };

/* A row that is right. */
static void print_row(Buf *out)
{
	costs_print(out, "znver3", costs_of_family("znver3", NULL), "");
}

/* Without the line of a key, and with `line` in its place; NULL: nothing. */
static void edit(const Buf *row, const char *key, const char *line, Buf *out)
{
	size_t n = strlen(key);
	for (const char *at = buf_text(row); *at;) {
		size_t length = strcspn(at, "\n") + 1;
		if (strncmp(at, key, n) || at[n] != ' ')
			buf_add(out, at, length);
		else if (line)
			buf_printf(out, "%s\n", line);
		at += length;
	}
}

static void refused(const char *text, const char *why)
{
	CostsFile row;
	Error error = {0};
	assert_int_equal(costs_parse("m.row", text, strlen(text), &row, &error),
	    STATUS_INPUT);
	if (!strstr(error.text, why))
		fail_msg("'%s', wanted '%s'", error.text, why);
}

/* Each family's row reads back as it is printed, and by the same name. */
static void test_round_trip(void **state)
{
	(void)state;
	for (int i = 0; i < cpu_count(); i++) {
		const Cpu *cpu = cpu_at(i);
		const MachineCosts *costs = costs_of_family(cpu->family, NULL);
		CostsFile row;
		Error error = {0};
		char name[64];
		Buf text = {0}, again = {0};
		assert_non_null(costs);
		costs_print(&text, cpu->name, costs, "# a note\n");
		if (costs_parse("m.row", text.data, text.size, &row, &error))
			fail_msg("%s", error.text);
		assert_string_equal(row.cpu, cpu->name);
		costs_name(cpu->name, costs, name);
		assert_string_equal(row.name, name);
		costs_print(&again, row.cpu, &row.costs, "# a note\n");
		assert_string_equal(text.data, again.data);
		buf_free(&text);
		buf_free(&again);
	}
}

static void test_numbers_of_a_file(void **state)
{
	(void)state;
	Buf row = {0}, text = {0};
	CostsFile file;
	Error error = {0};
	print_row(&row);
	edit(&row, "exp", "exp 0.3333333333333333 # quick", &text);
	buf_puts(&text, "\r\n\t \n# the end");
	if (costs_parse("m.row", text.data, text.size, &file, &error))
		fail_msg("%s", error.text);
	assert_true(costs_op(&file.costs, OP_EXP) == 0.3333333333333333);
	assert_true(costs_op(&file.costs, OP_LOG) == op_weight(OP_LOG));
	assert_true(costs_op(&file.costs, OP_DIV) == op_weight(OP_DIV));
	assert_string_not_equal(file.name, "");
	buf_free(&row);
	buf_free(&text);
}

/* A machine that is none of the table's has its first row. */
static void test_no_row(void **state)
{
	(void)state;
	const Machine machine = {.threads = 1};
	assert_ptr_equal(
	    machine_costs(&machine), costs_of_family("x86-64", NULL));
	assert_null(costs_of_family("nosuch", NULL));
}

static void test_each_field(void **state)
{
	(void)state;
	Buf row = {0};
	print_row(&row);
	for (int i = 0; i < NFIELDS; i++) {
		char line[64], why[64];
		Buf text = {0};
		edit(&row, fields[i].name, NULL, &text);
		snprintf(why, sizeof why, "'%s' is missing", fields[i].name);
		refused(text.data, why);
		for (int high = 0; high < 2; high++) {
			double value = high ? fields[i].most * 2 + 1
					    : fields[i].least / 2 - 1;
			buf_clear(&text);
			snprintf(line, sizeof line, "%s %g", fields[i].name,
			    value);
			snprintf(why, sizeof why, "%s is %g, not between",
			    fields[i].name, value);
			edit(&row, fields[i].name, line, &text);
			refused(text.data, why);
		}
		buf_free(&text);
	}
	buf_free(&row);
}

static void test_refusals(void **state)
{
	(void)state;
	static const struct {
		const char *key, *line, *why;
	} edits[] = {
	    {"tunec-machine", NULL, "m.row:1: error: the file does not begin"},
	    {"tunec-machine", "tunec-machine 2",
		"m.row:1: error: version '2' of a machine's row; this tunec "
		"reads 1"},
	    {"tunec-machine", "tunec-machine one", "version 'one'"},
	    {"cpu", NULL, "'cpu' is missing"},
	    {"cpu", "cpu a/b", "m.row:2: error: 'a/b' is no name of a CPU"},
	    {"cpu", "cpu a\ncpu a", "m.row:3: error: 'cpu' stands there twice"},
	    {"load", "loud 1", ": error: unknown key 'loud'"},
	    {"load", "load", "'load' has no value"},
	    {"load", "load # 1", "'load' has no value"},
	    {"load", "load 1 2", "'2' is behind the value of its line"},
	    {"load", "load 1\nload 1", "'load' stands there twice"},
	    {"load", "load one", "'one' of load is no number"},
	    {"load", "load nan", "'nan' of load is no number"},
	    {"load", "load 1e999", "'1e999' of load is no number"},
	    {"load", "load -1", "load is -1, not between 0.1 and 8"},
	    {"exp", "exp 0", "exp is 0, not between 0.1 and 10000"},
	    {"exp", "floor 2", "unknown key 'floor'"},
	    {"exp", "exp 1\nexp 1", "'exp' stands there twice"},
	};
	Buf row = {0};
	print_row(&row);
	for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
		Buf text = {0};
		edit(&row, edits[i].key, edits[i].line, &text);
		refused(text.data, edits[i].why);
		buf_free(&text);
	}
	refused("", "m.row:1: error: the file does not begin");
	buf_free(&row);
}

static void test_bytes(void **state)
{
	(void)state;
	static char large[COSTS_FILE_MOST + 1];
	CostsFile row;
	Error error = {0};
	assert_int_equal(
	    costs_parse("m", "tunec-machine 1\nlo\0ad", 21, &row, &error),
	    STATUS_INPUT);
	assert_non_null(strstr(error.text, "m:2: error: this is no line"));
	memset(large, '#', sizeof large);
	assert_int_equal(
	    costs_parse("m", large, 1000, &row, &error), STATUS_INPUT);
	assert_non_null(strstr(error.text, "m:1: error: this is no line"));
	assert_int_equal(costs_parse("m", large, sizeof large, &row, &error),
	    STATUS_INPUT);
	assert_non_null(strstr(error.text, "of more than 64 KiB"));
	assert_int_equal(
	    costs_read("/nonexistent.row", &row, &error), STATUS_IO);
}

/* A row is of the CPUs of one family. */
static void test_families(void **state)
{
	(void)state;
	static const struct {
		const char *cpu, *target, *why; /* NULL: it is taken */
	} cases[] = {
	    {"znver3", "llvm -mcpu=znver3 -threads=1", NULL},
	    {"sapphirerapids", "llvm -mcpu=emeraldrapids -threads=1", NULL},
	    {"x86-64-v3", "c", NULL},
	    {"znver3", "llvm -mcpu=znver4 -threads=1",
		"m.row: the row is of znver3, of family znver3; target"},
	    {"znver3", "llvm -mcpu=cortex-a72 -threads=1", "of family cortex"},
	    {"znver3", "cuda -arch=sm_90", "a row of a CPU (znver3)"},
	    {"nosuch", "llvm -mcpu=znver3 -threads=1", "no CPU 'nosuch'"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Arena *arena = arena_new();
		CostsFile row = {.file = "m.row"};
		Error error = {0};
		Target *t = target_parse(arena, cases[i].target, &error);
		assert_non_null(t);
		const MachineCosts *before = t->machine.costs;
		strcpy(row.cpu, cases[i].cpu);
		Status status = target_use_costs(t, &row, &error);
		assert_int_equal(
		    status, cases[i].why ? STATUS_INPUT : STATUS_OK);
		assert_ptr_equal(t->machine.costs,
		    cases[i].why ? before : &row.costs);
		if (cases[i].why && !strstr(error.text, cases[i].why))
			fail_msg("%s", error.text);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_numbers_of_a_file),
	    cmocka_unit_test(test_no_row),
	    cmocka_unit_test(test_each_field),
	    cmocka_unit_test(test_refusals),
	    cmocka_unit_test(test_bytes),
	    cmocka_unit_test(test_families),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
