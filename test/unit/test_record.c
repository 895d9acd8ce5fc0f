/* Records as lines: keys, order, ids, numbers, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"

static const char op[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static Trial sample(void)
{
	static const double runs[] = {0.0015, 0.1, 3};
	return (Trial){.at = "2026-01-02T03:04:05.678Z",
	    .op = op,
	    .op_text = "d0[a0 < 4] = i0[a0]\n",
	    .name = "copy",
	    .case_name = "small",
	    .target = "c",
	    .outcome = OUTCOME_OK,
	    .time_s = 0.1,
	    .spread_s = 1e-7,
	    .runs_s = runs,
	    .nruns = 3,
	    .threads = 2,
	    .pinning = "cores"};
}

static void test_keys(void **state)
{
	(void)state;
	Trial trial = sample();
	Line line;
	line_trial(&trial, &line);
	static const char rest[] =
	    "{\"tunec\":1,\"kind\":\"trial\",\"at\":\"2026-01-02T03:04:05."
	    "678Z\","
	    "\"op\":\"0123456789abcdef0123456789abcdef0123456789abcdef"
	    "0123456789abcdef\",\"op_text\":\"d0[a0 < 4] = i0[a0]\\n\","
	    "\"name\":\"copy\",\"case\":\"small\",\"target\":\"c\",\"trace\":[]"
	    ","
	    "\"outcome\":\"ok\",\"error\":null,\"time_s\":0.1,"
	    "\"spread_s\":1e-07,\"runs_s\":[0.0015,0.1,3.0],"
	    "\"regime\":{\"cache\":\"warm\",\"threads\":2,\"pinning\":"
	    "\"cores\"},"
	    "\"round\":\"search\",\"predicted\":null,\"verified\":null,\"machine\":null,"
	    "\"by\":null}";
	char hex[65], id[32];
	sha256_hex(rest, sizeof rest - 1, hex);
	assert_memory_equal(line.id, hex, 16);
	snprintf(id, sizeof id, "\"id\":\"%s\",", line.id);
	char *text = line_text(&line);
	char *at = strstr(text, id);
	assert_non_null(at);
	memmove(at, at + strlen(id), strlen(at + strlen(id)) + 1);
	assert_string_equal(text, rest);
	assert_true(line_id_matches(&line));
	free(text);
	line_free(&line);
}

static void test_round_trip(void **state)
{
	(void)state;
	Trial trial = sample();
	Line line, again;
	Error error;
	trial.same_as = "00112233445566aa";
	trial.final = true;
	line_trial(&trial, &line);
	char *text = line_text(&line);
	assert_int_equal(line_parse(text, strlen(text), &again, &error), 0);
	assert_string_equal(again.id, line.id);
	assert_string_equal(again.op, op);
	assert_string_equal(again.regime, "warm");
	assert_string_equal(again.same_as, "00112233445566aa");
	assert_true(again.final);
	assert_true(again.time_s == 0.1);
	assert_true(line_id_matches(&again));
	free(text);
	line_free(&line);
	line_free(&again);
}

static void test_unknown_keys_kept(void **state)
{
	(void)state;
	static const char text[] = "{ \"tunec\": 1, \"kind\":\"run-start\", "
				   "\"id\":\"0123456789abcdef\", \"colour\": [1.50, \"\\u00e9\"] }";
	Line line;
	Error error;
	assert_int_equal(line_parse(text, sizeof text - 1, &line, &error), 0);
	char *out = line_text(&line);
	assert_string_equal(out, text);
	free(out);
	line_free(&line);
}

static void check_refused(const char *text, Status status, const char *why)
{
	Line line;
	Error error = {0};
	assert_int_equal(line_parse(text, strlen(text), &line, &error), status);
	if (!strstr(error.text, why))
		fail_msg("'%s' is not in '%s'", why, error.text);
}

/* A trial with this id, and what may follow it. */
static void check_id(const char *id, const char *why)
{
	char text[200];
	snprintf(text, sizeof text,
	    "{\"tunec\":1,\"kind\":\"trial\",\"id\":\"%s\"}", id);
	check_refused(text, STATUS_INPUT, why);
}

static void test_refused(void **state)
{
	(void)state;
	check_refused(
	    "{\"tunec\":2,\"kind\":\"trial\"}", STATUS_UNSUPPORTED, "format 2");
	check_refused("{\"tunec\":1,\"kind\":\"tria", STATUS_INPUT, "");
	check_refused("{\"kind\":\"trial\"}", STATUS_INPUT, "tunec");
	check_refused("[1]", STATUS_INPUT, "tunec");
	check_refused("{\"tunec\":1,\"kind\":\"x\"}", STATUS_INPUT, "kind 'x'");
	check_id("", "'id'");
	check_id("0123456789abcde", "'id'");
	check_id("0123456789abcdef0", "'id'");
	check_id("0123456789ABCDEF", "'id'");
	check_id("*/int pw=9;/*000", "'id'");
	check_id("0123456789abcdef\",\"same_as\":\"../x", "'same_as'");
	check_id("0123456789abcdef\",\"op\":\"a", "'op'");
	check_id("0123456789abcdef", "without 'op'");
	check_refused("{\"tunec\":1,\"kind\":\"trial\",\"op\":\""
		      "0123456789abcdef0123456789abcdef"
		      "0123456789abcdef0123456789abcdef\","
		      "\"id\":\"0123456789abcdef\",\"target\":\"c\","
		      "\"trace\":[],\"outcome\":\"ok\",\"time_s\":null}",
	    STATUS_INPUT, "time_s");
	check_refused("{\"tunec\":1,\"tunec\":1}", STATUS_INPUT, "uplicate");
	static const char nul[] = "{\"tunec\":1\0,\"kind\":\"run-end\"}";
	Line line;
	Error error = {0};
	assert_int_equal(
	    line_parse(nul, sizeof nul - 1, &line, &error), STATUS_INPUT);
}

static void test_failed_trial(void **state)
{
	(void)state;
	Trial trial = sample();
	trial.outcome = OUTCOME_CRASH;
	trial.error = "signal 11, \xff\xfe";
	Line line;
	line_trial(&trial, &line);
	assert_true(isnan(line.time_s));
	assert_non_null(strstr(line.text,
	    "\"error\":\"signal 11, ??\","
	    "\"time_s\":null,\"spread_s\":null,\"runs_s\":[]"));
	line_free(&line);
}

static void test_mark(void **state)
{
	(void)state;
	json_t *fields = json_pack("{s:[s],s:i}", "ops", op, "seed", 7);
	Line line;
	line_mark(LINE_RUN_START, fields, &line);
	assert_true(line_concerns(&line, op));
	assert_false(line_concerns(&line, "ff"));
	assert_true(line_id_matches(&line));
	assert_int_equal(line.kind, LINE_RUN_START);
	json_decref(fields);
	line_free(&line);
}

static void check_number(double x, const char *expected)
{
	Buf out = {0};
	json_t *json = json_real(x);
	json_print(&out, json);
	assert_string_equal(out.data, expected);
	assert_true(strtod(out.data, NULL) == x);
	json_decref(json);
	buf_free(&out);
}

static void test_numbers(void **state)
{
	(void)state;
	check_number(0, "0.0");
	check_number(-0.0, "-0.0");
	check_number(1, "1.0");
	check_number(123456, "123456.0");
	check_number(1e15, "1000000000000000.0");
	check_number(1e16, "1e+16");
	check_number(0.0001, "0.0001");
	check_number(0.00001, "1e-05");
	check_number(1.25e-5, "1.25e-05");
	check_number(0.1 + 0.2, "0.30000000000000004");
	check_number(12.5, "12.5");
	check_number(5e-324, "5e-324");
	check_number(1.7976931348623157e308, "1.7976931348623157e+308");
}

static void test_members(void **state)
{
	(void)state;
	static const char *const keys[] = {"b", "d"};
	static const char good[] =
	    " {\"a\":{\"b\":1},\"b\" : [1,{\"x\":\"]\"}] "
	    ",\"c\":\"\\\"\",\"d\":-1}";
	Member m[2];
	assert_true(line_members(good, sizeof good - 1, keys, 2, m));
	assert_int_equal(m[0].size, 13);
	assert_memory_equal(m[0].at, "[1,{\"x\":\"]\"}]", 13);
	assert_memory_equal(m[1].at, "-1", 2);
	for (size_t n = 0; n < sizeof good - 2; n++)
		assert_false(line_members(good, n, keys, 2, m));
	static const char escaped[] =
	    "{\"\\u0062\":\"\\u0041\\/\\n\",\"\\u0044\":0,\"x\\\\d\":1}";
	assert_true(line_members(escaped, sizeof escaped - 1, keys, 2, m));
	assert_true(member_is(m[0], "A/\n"));
	assert_false(member_is(m[0], "A/"));
	assert_false(member_is(m[0], "A/\n\n"));
	assert_null(m[1].at);
	assert_false(line_members("[]", 2, keys, 2, m));
	assert_false(line_members("{\"a\":1,}", 8, keys, 2, m));
}

static void test_at(void **state)
{
	(void)state;
	char at[AT_BYTES];
	at_now(at);
	assert_int_equal(strlen(at), 24);
	assert_true(at[10] == 'T' && at[19] == '.' && at[23] == 'Z');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_keys),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_unknown_keys_kept),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_failed_trial),
	    cmocka_unit_test(test_mark),
	    cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_members),
	    cmocka_unit_test(test_at),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
