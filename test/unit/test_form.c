/* Forms: the program that rules see after the first steps of a trace computes what
 * the program without them does. */
#include "schedule/rules/rules.h"
#include "test/common_operator.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include <glob.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const double TOLERANCE = 1e-3; /* of the greatest element of an output */

static void **data_of(Arena *arena, const Program *p)
{
	Rng rng = rng_stream(7, 1, 0);
	void **data = NEW_N(arena, void *, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++) {
		data[i] =
		    arena_alloc(arena, (size_t)buffer_bytes(&p->buffers[i]));
		if (i < p->ninputs)
			operator_fill(
			    &p->buffers[i], data[i], OPERATOR_SMALL, &rng);
	}
	interp_run(p, data);
	return data;
}

static double difference(const Buffer *b, const void *x, const void *y)
{
	const float *f = x, *g = y;
	double most = 0, greatest = 1;
	if (b->type != DT_F32)
		return memcmp(x, y, (size_t)buffer_bytes(b)) ? INFINITY : 0;
	for (int64_t i = 0; i < buffer_elements(b); i++) {
		most = fmax(most, fabs((double)f[i] - g[i]));
		greatest = fmax(greatest, fabs((double)f[i]));
	}
	return most / greatest;
}

/* What is carried from element to element a form has without that; and programs have
 * no arithmetic in 16 bits. */
static bool is_program(const RuleForm *f)
{
	return !strstr(f->steps, "carry(") && !strstr(f->steps, "shorten(");
}

static void check_form(Arena *arena, const Program *p, const char *name)
{
	const RuleForm *f = rules_form(arena, p, &test_machine);
	if (!*f->steps || !is_program(f))
		return;
	void **before = data_of(arena, p), **after = data_of(arena, f->program);
	for (int o = 0; o < p->noutputs; o++) {
		int out = p->outputs[o];
		const Buffer *b = &p->buffers[out];
		if (difference(b, before[out], after[out]) > TOLERANCE)
			fail_msg("%s: %s differs after\n%s", name, b->name,
			    f->steps);
	}
}

static void layouts(void **state)
{
	glob_t files;
	(void)state;
	assert_int_equal(glob("test/layouts/*.yaml", 0, NULL, &files), 0);
	assert_true(files.gl_pathc > 50);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		Arena *arena = arena_new();
		Diag diag = {0};
		Error error = {0};
		ProgramVec programs = {0};
		assert_int_equal(
		    spec_load(arena, files.gl_pathv[i], NULL, 0,
			NUMERICS_DEFAULT, &diag, &error, &programs),
		    STATUS_OK);
		check_form(arena, programs.at[0], files.gl_pathv[i]);
		diag_free(&diag);
		arena_free(arena);
	}
	globfree(&files);
}

/* A step that is not legal changes nothing, nor do those before it. */
static void refused(void **state)
{
	Arena *arena = arena_new();
	RuleForm *f = rule_form(arena, schedule_chain(arena), &test_machine);
	const Program *before = f->program;
	(void)state;
	assert_false(rule_rewrite(f, "x = separate(c.k)\n"));
	assert_ptr_equal(f->program, before);
	assert_false(
	    rule_rewrite(f, "k0, k1 = split(c.k, [_, 4])\nx = rfactor(c.i)\n"));
	assert_ptr_equal(f->program, before);
	assert_string_equal(f->steps, "");
	assert_true(rule_rewrite(f, "x = extract(c, 1)\n"));
	assert_int_equal(f->program->nblocks, before->nblocks + 1);
	assert_string_equal(f->steps, "x = extract(c, 1)\n");
	arena_free(arena);
}

/* An axis has the name that a rule gives a part of another one. */
static void named(void **state)
{
	Arena *arena = arena_new();
	RuleSketchVec sketches = {0};
	(void)state;
	rules_sketches(arena,
	    program_of_text(arena,
		"tunec: 1\nname: named\ninputs: {x: 'f32[100000, 4, 2]'}\n"
		"compute: |\n  y[c < 4, y_k_part < 2] = "
		"sum[k < 100000](x[k, c, y_k_part])\n",
		NUMERICS_DEFAULT),
	    &test_machine, &sketches);
	assert_true(sketches.n > 0);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(layouts),
	    cmocka_unit_test(refused),
	    cmocka_unit_test(named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
