/* Candidates on a device of OpenCL that is a CPU: compiled by processes that go on
 * with the next one, checked against what this CPU computes, timed by the device;
 * what never ends, what asks for too much.  Without a device they are skipped. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/common_program.h"
#include "test/common_schedule.h"
#include "tuner/measure/measure_internal.h"

typedef struct {
	Arena *arena;
	Target *target;
	Measurer *measurer;
	MeasureOptions options;
	Error error;
} Case;

static bool there; /* is a device */

static int setup(void **state)
{
	static Case c;
	c = (Case){.arena = arena_new()};
	c.target = target_parse(c.arena, "opencl -device=cpu", &c.error);
	c.options = (MeasureOptions){
	    .pin = true, .build_limit_s = 30, .run_limit_s = 30, .seed = 1};
	*state = &c;
	return c.target ? 0 : -1;
}

static int teardown(void **state)
{
	Case *c = *state;
	measure_close(c->measurer);
	arena_free(c->arena);
	return 0;
}

static void need_device(void)
{
	if (!there)
		skip();
}

static void open_measurer(Case *c, const Program *p)
{
	if (measure_open(p, c->target, &c->options, &c->measurer, &c->error))
		fail_msg("%s", c->error.text);
}

static void refer(Case *c)
{
	ReferenceWish wish = {0};
	Reference r;
	if (measure_reference(c->measurer, &wish, &r, &c->error))
		fail_msg("%s", c->error.text);
	if (!r.ready)
		fail_msg("%s", r.by.error);
}

static void compile(Case *c, const Trace *const *traces, int n, Measurement *m)
{
	if (measure_compile(c->measurer, traces, n, m, &c->error))
		fail_msg("%s", c->error.text);
}

static void run(Case *c, int i, Measurement *m)
{
	if (measure_run(c->measurer, i, 0, m, &c->error))
		fail_msg("%s", c->error.text);
}

static Program *matmul(Case *c)
{
	Program *p = program_matmul(c->arena, 24, 40, 32);
	program_complete(c->arena, p);
	return p;
}

static const Trace *tiles(Case *c, const char *text)
{
	return schedule_steps(c->arena, text);
}

static void assert_measured(const Measurement *m)
{
	if (m->outcome != OUTCOME_OK)
		fail_msg("%s: %s", outcome_name(m->outcome), m->error);
	assert_true(m->time_s > 0 && m->time_s < 1);
	assert_true(m->nruns >= 3);
	assert_int_equal(strlen(m->object), 64);
	assert_true(isnan(m->noise_probe));
}

/* --- what is right -------------------------------------------------------- */

/* The same processes serve all rounds; a schedule has its object's hash. */
static void test_rounds(void **state)
{
	Case *c = *state;
	need_device();
	const Trace *traces[] = {tiles(c, "parallel(c.i)\n"),
	    tiles(c, "jo, ji = split(c.j, [_, 8])\nreorder(c.i, jo, c.k, ji)\n"
		     "vectorize(ji, 8)\nparallel(c.i)\n")};
	Measurement m[2], again[2];
	open_measurer(c, matmul(c));
	refer(c);
	for (int round = 0; round < 3; round++) {
		compile(c, traces, 2, m);
		for (int i = 0; i < 2; i++) {
			run(c, i, &m[i]);
			assert_measured(&m[i]);
		}
		assert_string_not_equal(m[0].object, m[1].object);
		if (round)
			assert_string_equal(m[0].object, again[0].object);
		memcpy(again, m, sizeof m);
	}
	if (measure_final(c->measurer, traces, 2, 1, m, &c->error))
		fail_msg("%s", c->error.text);
	for (int i = 0; i < 2; i++) {
		assert_measured(&m[i]);
		assert_string_equal(m[i].object, again[i].object);
	}
}

/* Constants are packed on this side; a workspace and several launches. */
static void test_pieces(void **state)
{
	Case *c = *state;
	need_device();
	Program *p = schedule_chain(c->arena);
	const Trace *traces[] = {tiles(c,
	    "bp = cache_read(c, b, pack)\ntransform_layout(bp, [x1, x0])\n"
	    "parallel(c.i)\nparallel(out.j)\n")};
	Measurement m;
	program_complete(c->arena, p);
	open_measurer(c, p);
	refer(c);
	compile(c, traces, 1, &m);
	run(c, 0, &m);
	assert_measured(&m);
}

static void test_device_is_told(void **state)
{
	Case *c = *state;
	need_device();
	open_measurer(c, matmul(c));
	json_t *device = measure_device_json(c->measurer);
	assert_non_null(device);
	assert_string_equal(
	    json_string_value(json_object_get(device, "through")), "opencl");
	assert_non_null(json_object_get(device, "driver"));
	json_decref(device);
	assert_int_equal(measure_host(c->measurer)->kind, TARGET_LLVM);
}

/* --- what fails ----------------------------------------------------------- */

/* The process is killed, and the next candidate has another. */
static void test_never_ends(void **state)
{
	static const char text[] =
	    "tunec: 1\nname: p\ninputs: {x: 'f32[2]', n: 'f32[2]'}\ncompute: |\n"
	    "  y[i < 2] = sum[k < 4000000000](x[i]*k - n[i])\n";
	Case *c = *state;
	need_device();
	Program *p = program_of_text(c->arena, text, NUMERICS_DEFAULT);
	const Trace *traces[] = {tiles(c, ""), tiles(c, "parallel(y.i)\n")};
	Measurement m[2];
	c->options.build_limit_s = 1.5;
	open_measurer(c, p);
	double start = measure_now();
	for (int i = 0; i < 2; i++) {
		compile(c, &traces[i], 1, &m[i]);
		assert_int_equal(m[i].outcome, OUTCOME_TIMEOUT);
		assert_non_null(strstr(m[i].error, "a first call"));
	}
	assert_true(measure_now() - start < 6);
}

static void test_too_large(void **state)
{
	static const char text[] =
	    "tunec: 1\nname: p\ninputs: {x: 'f32[8]'}\ncompute: |\n"
	    "  t[i < 3000000000] = x[i % 8]\n"
	    "  y[i < 8] = t[i] + t[i*1000]\n";
	Case *c = *state;
	need_device();
	Program *p = program_of_text(c->arena, text, NUMERICS_DEFAULT);
	const Trace *none = tiles(c, "");
	Measurement m;
	open_measurer(c, p);
	compile(c, &none, 1, &m);
	assert_int_equal(m.outcome, OUTCOME_CRASH);
	assert_non_null(strstr(m.error, "a buffer of 12000000"));
}

/* A device of another type is none. */
static void test_no_such_device(void **state)
{
	Case *c = *state;
	need_device();
	c->target = target_parse(c->arena, "opencl -device=gpu", &c->error);
	Status status = measure_open(matmul(c), c->target, &c->options,
	    &c->measurer, &c->error);
	if (!status) /* a machine with a GPU */
		return;
	assert_int_equal(status, STATUS_MISSING);
	assert_non_null(strstr(c->error.text, "no device here"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test_setup_teardown(test_rounds, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_pieces, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_device_is_told, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_never_ends, setup, teardown),
	    cmocka_unit_test_setup_teardown(test_too_large, setup, teardown),
	    cmocka_unit_test_setup_teardown(
		test_no_such_device, setup, teardown),
	};
	Arena *arena = arena_new();
	Error error = {0};
	char why[600] = "";
	Target *t = target_parse(arena, "opencl -device=cpu", &error);
	there = t && measure_can(t, false, why, sizeof why);
	if (!there)
		printf("# all are skipped: %s\n", why);
	arena_free(arena);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
