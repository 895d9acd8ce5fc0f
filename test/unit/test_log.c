/* log on programs made by hand: which records a SPEC chooses, and why it finds
 * none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/log.h"

static char path[64];

static Program program(const char *text)
{
	Program p = {.name = "conv2d",
	    .case_name = "c6",
	    .symbol = "conv2d_c6",
	    .op_text = (char *)text};
	sha256_hex(text, strlen(text), p.op);
	return p;
}

static void put(Store *store, const char *text, const char *target,
    const char *name, double time_s, bool cold)
{
	Program p = program(text);
	Line line;
	Error error;
	line_trial(&(Trial){.op = p.op,
		       .op_text = text,
		       .name = name,
		       .case_name = "c6",
		       .target = target,
		       .outcome = time_s > 0 ? OUTCOME_OK : OUTCOME_CRASH,
		       .error = time_s > 0 ? NULL : "signal 11",
		       .time_s = time_s,
		       .cold = cold},
	    &line);
	assert_int_equal(store_append(store, &line, &error), 0);
	line_free(&line);
}

static int setup(void **state)
{
	(void)state;
	strcpy(path, "/tmp/tunec-test-XXXXXX.jsonl");
	int fd = mkstemps(path, 6);
	close(fd);
	Store *store;
	Error error;
	if (fd < 0 || store_open(path, STORE_WRITE, &store, &error))
		return -1;
	put(store, "i0 f32[1, 64]\nd0 = i0\n", "c", "conv2d", 1, false);
	put(store, "i0 f32[1, 64]\nd0 = i0\n", "c", "conv2d", 2, false);
	put(store, "i0 f32[2, 64]\nd0 = i0 + 1\n", "c", "other", 1, false);
	put(store, "i0 f32[3, 64]\nd0 = i0\n", "c", "conv2d", 1, true);
	put(store, "i0 f32[4, 64]\nd0 = i0\n", "c", "conv2d", 0, false);
	store_close(store);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	return unlink(path);
}

/* What explain prints. */
static char *explain(const char *text, bool json, const char *target)
{
	static char out[4096];
	const char *names[] = {path};
	Log log = {.db = {1, 1, names}, .target = target};
	log.common.json = json;
	Stores stores;
	assert_int_equal(stores_open(&log.db, STORE_READ, &stores), 0);
	Program p = program(text), *programs[] = {&p};
	ProgramVec vec = {programs, 1, 1};
	Arena *arena = arena_new();
	fflush(stdout);
	int kept = dup(1);
	FILE *f = tmpfile();
	dup2(fileno(f), 1);
	int code = log_explain(arena, &log, &stores, &vec);
	fflush(stdout);
	dup2(kept, 1);
	close(kept);
	rewind(f);
	out[fread(out, 1, sizeof out - 1, f)] = '\0';
	fclose(f);
	arena_free(arena);
	stores_close(&stores);
	assert_int_equal(code, 0);
	return out;
}

static void check(const char *text, const char *target, const char *what)
{
	char *out = explain(text, false, target);
	if (!strstr(out, what))
		fail_msg("no '%s' in\n%s", what, out);
}

static void test_explain(void **state)
{
	(void)state;
	check("i0 f32[1, 64]\nd0 = i0\n", "c",
	    "conv2d_c6: 2 ok trials match, such as ");
	check("i0 f32[9, 64]\nd0 = i0\n", "c",
	    "  operator:\n    record: i0 f32[1, 64]\n"
	    "    wanted: i0 f32[9, 64]\n");
	check("i0 f32[3, 64]\nd0 = i0\n", "c",
	    "differ in\n  regime: cold\n    wanted: warm\n");
	check("i0 f32[4, 64]\nd0 = i0\n", "c",
	    "differ in\n  outcome: crash, none ok\n");
}

static void test_explain_json(void **state)
{
	(void)state;
	char *out = explain("i0 f32[9, 64]\nd0 = i0\n", true, "c");
	json_error_t why;
	json_t *json = json_loads(out, 0, &why), *near, *field;
	assert_non_null(json);
	assert_true(json_is_false(json_object_get(json, "matches")));
	near = json_array_get(json_object_get(json, "nearest"), 0);
	field = json_object_get(near, "differs");
	assert_int_equal(json_array_size(field), 1);
	assert_string_equal(json_string_value(json_array_get(field, 0)), "op");
	assert_int_equal(
	    json_integer_value(json_object_get(near, "trials")), 2);
	json_decref(json);
}

static void test_rows(void **state)
{
	(void)state;
	const char *names[] = {path};
	Log log = {.db = {1, 1, names}};
	Stores stores;
	stores_open(&log.db, STORE_READ, &stores);
	Program a = program("i0 f32[1, 64]\nd0 = i0\n");
	Program b = program("i0 f32[4, 64]\nd0 = i0\n");
	Program *programs[] = {&a, &b};
	ProgramVec one = {programs, 1, 1}, two = {programs, 2, 2}, all = {0};
	const struct {
		const ProgramVec *programs;
		const char *outcome;
		int n;
	} cases[] = {{&all, NULL, 5}, {&one, NULL, 2}, {&two, NULL, 3},
	    {&two, "ok", 2}, {&all, "crash", 1}, {&one, "crash", 0}};
	for (int i = 0; i < 6; i++) {
		Arena *arena = arena_new();
		RowVec rows = {0};
		log.outcome = cases[i].outcome;
		assert_int_equal(log_rows(arena, &log, &stores,
				     cases[i].programs, false, &rows),
		    0);
		assert_int_equal(rows.n, cases[i].n);
		arena_free(arena);
	}
	stores_close(&stores);
}

static void test_time(void **state)
{
	(void)state;
	char out[32];
	assert_string_equal(log_time(1.5, out), "1.5 s");
	assert_string_equal(log_time(0.00153, out), "1.53 ms");
	assert_string_equal(log_time(0.000823, out), "823 us");
	assert_string_equal(log_time(1e-8, out), "10 ns");
	assert_string_equal(log_time(0.0 / 0.0, out), "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_explain, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_explain_json, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_rows, setup, teardown),
	    cmocka_unit_test(test_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
