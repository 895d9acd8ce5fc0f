/* Convolutions by Winograd's algorithm: in one dimension and two, in several
 * layouts, padded and not, of extents that are no multiples of a tile, by the
 * step alone and by what the rules write, lowered, interpreted and compiled, as
 * LLVM and as C, give what the operator says.  And the error of the convolutions
 * of ResNet-18 against f64 is at most 8 times that of the direct kernels. */
#include "codegen/codegen.h"
#include "test/common_lower.h"
#include "test/common_lowered.h"
#include "test/common_program.h"
#include "test/common_schedule.h"
#include "test/common_tier.h"

#include "schedule/space.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>

#define SPEC(inputs, compute)                                                  \
	"tunec: 1\nname: z\ninputs: {" inputs "}\ncompute: |\n" compute

/* The names that the step gives. */
static const char two[] = "u1, u, d, v1, v, p, q", one[] = "u, d, v, p";

typedef struct {
	const char *name, *outs, *text;
} Case;

static const Case cases[] = {
    {"nchw", two, SPEC("x: 'f32[2, 5, 9, 14]', w: 'const f32[20, 5, 3, 3]'",
	"  e[n < 2, c < 5, i < 11, j < 16] = if 1 <= i < 10 and 1 <= j < 15\n"
	"    then x[n, c, i - 1, j - 1] else 0\n"
	"  y[n < 2, o < 20, i < 9, j < 14] =\n"
	"    sum[c < 5, r < 3, s < 3](e[n, c, i + r, j + s]*w[o, c, r, s])\n"
	"  z[n < 2, o < 20, i < 9, j < 14] = max(y[n, o, i, j] + o, 0)\n")},
    {"whole", two, SPEC("x: 'f32[4, 14, 26]', w: 'const f32[16, 4, 3, 3]'",
	"  y[o < 16, i < 12, j < 24] =\n"
	"    sum[c < 4, r < 3, s < 3](x[c, i + r, j + s]*w[o, c, r, s])\n")},
    {"nhwc", two, SPEC("x: 'f32[1, 7, 8, 21]', w: 'const f32[3, 3, 21, 18]'",
	"  e[n < 1, i < 9, j < 10, c < 21] = if 1 <= i < 8 and 1 <= j < 9\n"
	"    then x[n, i - 1, j - 1, c] else 0\n"
	"  y[n < 1, i < 7, j < 8, o < 18] =\n"
	"    sum[r < 3, s < 3, c < 21](w[r, s, c, o]*e[n, i + r, j + s, c])\n")},
    {"blocked", two, SPEC(
	"x: 'f32[2, 9, 11, 8]', w: 'const f32[2, 2, 3, 3, 8, 8]'",
	"  y[o < 2, i < 7, j < 9, b < 8] = sum[c < 16, r < 3, s < 3](\n"
	"    x[c//8, i + r, j + s, c%8]*w[o, c//8, r, s, c%8, b])\n")},
    {"groups", two, SPEC(
	"x: 'f32[3, 4, 10, 9]', w: 'const f32[3, 6, 4, 3, 3]'",
	"  y[g < 3, o < 6, i < 8, j < 7] =\n"
	"    sum[c < 4, r < 3, s < 3](x[g, c, i + r, j + s]*w[g, o, c, r, s])\n")},
    {"volume", two, SPEC("x: 'f32[4, 5, 8, 8]', w: 'const f32[8, 4, 3, 3, 3]'",
	"  y[o < 8, k < 3, i < 6, j < 6] = sum[c < 4, q < 3, r < 3, s < 3](\n"
	"    x[c, k + q, i + r, j + s]*w[o, c, q, r, s])\n")},
    {"turned", two, SPEC("x: 'f32[5, 8, 9]', w: 'const f32[9, 5, 3, 3]'",
	"  y[j < 7, i < 6, o < 9] = sum[s < 3, c < 5, r < 3](\n"
	"    x[c, i + r, j + s]*w[o, c, 2 - r, 2 - s])\n")},
    {"line", one, SPEC("x: 'f32[6, 37]', w: 'const f32[16, 6, 3]'",
	"  e[c < 6, j < 39] = if 1 <= j < 38 then x[c, j - 1] else 0\n"
	"  y[o < 16, j < 37] = sum[c < 6, s < 3](e[c, j + s]*w[o, c, s])\n"
	"  z[o < 16, j < 37] = y[o, j]*2\n")},
    {"line_last", one, SPEC("x: 'f32[23, 17]', w: 'const f32[17, 3, 12]'",
	"  y[j < 21, o < 12] = sum[c < 17, s < 3](x[j + s, c]*w[c, s, o])\n")},
    {"column", one, SPEC("x: 'f32[5, 14, 34]', w: 'const f32[8, 5, 3]'",
	"  y[o < 8, i < 12, j < 34] =\n"
	"    sum[c < 5, r < 3](x[c, i + r, j]*w[o, c, r])\n")},
};
enum {
	NCASES = sizeof cases / sizeof *cases,
	NSIZES = 3,      /* of tiles */
	SAMPLES = 2,     /* of a sketch */
	SKETCHES_MOST = 8,
	MADE_MOST = NCASES * (NSIZES + 1 + SKETCHES_MOST * SAMPLES)
};

typedef struct {
	const Case *of;
	Program *program;
	void **data;
	Lowered *lowered;
} Made;

static Arena *arena;
static Target *target;
static Made made[MADE_MOST];
static int nmade;

static Lowered *lowered_of(const Program *p, const char *name, const Trace *trace)
{
	Error error = {0};
	char why[512];
	Nest *nest = schedule_nest(arena, p, &target->machine, trace, &error);
	if (!nest)
		fail_msg("%s: %s", name, error.text);
	Lowered *l = lower(arena, nest, &target->machine, &error);
	if (!l)
		fail_msg("%s: %s", name, error.text);
	if (!lowered_verify(l, why, sizeof why))
		fail_msg("%s: %s", name, why);
	return l;
}

static Program *program_for(const Case *c)
{
	Program *p = program_of_text(arena, c->text, NUMERICS_FAST);
	p->symbol = arena_printf(arena, "z_%s_%d", c->name, nmade);
	return p;
}

static void make(const Case *c, Program *p, void **data, const Trace *trace)
{
	assert_true(nmade < MADE_MOST);
	made[nmade] = (Made){c, p, data, lowered_of(p, c->name, trace)};
	nmade++;
}

/* Of each of its sketches that is Winograd's. */
static int make_samples(const Case *c, void **data)
{
	Error error = {0};
	Rng rng = rng_stream(8, 0, (uint64_t)(c - cases));
	Program *p = program_for(c);
	Space *space = space_new(arena, p, &target->machine, &error);
	int made_of[SKETCHES_MOST * 2] = {0}, n = 0;
	Candidate x;
	assert_non_null(space);
	for (int i = 0; i < 4000 && space_sample(space, &rng, &x); i++) {
		const char *name = space_sketch_name(space, x.sketch);
		if (!strstr(name, "winograd") || x.sketch >= SKETCHES_MOST * 2 ||
		    made_of[x.sketch]++ >= (tier_is_long() ? SAMPLES : 1))
			continue;
		p = program_for(c);
		make(c, p, data, space_trace(arena, space, &x));
		n++;
	}
	return n;
}

static int set_up(void **state)
{
	Error error;
	(void)state;
	arena = arena_new();
	target = target_parse(arena, "llvm -mcpu=haswell -threads=2", &error);
	assert_non_null(target);
	for (int i = 0; i < NCASES; i++) {
		const Case *c = &cases[i];
		Rng rng = rng_stream(7, 0, (uint64_t)i);
		Program *p = program_for(c);
		void **data = lowercheck_data(arena, p, &rng);
		lowercheck_expect(p, data);
		for (int m = 2; m <= WINOGRAD_MOST; m += 2) {
			make(c, program_for(c), data,
			    schedule_steps(arena, arena_printf(arena,
				"%s = winograd(y, %d)", c->outs, m)));
		}
		int n = make_samples(c, data);
		print_message("# %s: %d candidates\n", c->name, n);
		assert_true(n >= 2);
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

/* Of sums of some hundred products of small integers, the largest transforms'
 * rounding. */
static const double tolerance = 5e-3;

static void check(int i, LowerCall call, void *context)
{
	const char *why = lowercheck_run(arena, made[i].lowered, made[i].data,
	    tolerance, call, context);
	if (why)
		fail_msg("%s: %s", made[i].program->symbol, why);
}

static void test_interpreted(void **state)
{
	(void)state;
	for (int i = 0; i < nmade; i++)
		check(i, NULL, NULL);
}

static void call_compiled(void *library, const char *symbol,
    const LowFunction *f, void *const *args)
{
	void *function = dlsym(library, symbol);
	assert_non_null(function);
	lowercheck_call(function, args, f->params.n);
}

static Lowered **all_lowered(void)
{
	Lowered **all = NEW_N(arena, Lowered *, nmade);
	for (int i = 0; i < nmade; i++)
		all[i] = made[i].lowered;
	return all;
}

static void test_compiled(void **state)
{
	Buf object = {0};
	(void)state;
	if (!target_runs_here(target))
		skip();
	lowtest_compile(target, all_lowered(), nmade, LLVM_OBJECT, &object);
	void *library = lowtest_open(&object);
	for (int i = 0; i < nmade; i++)
		check(i, call_compiled, library);
	buf_free(&object);
}

static void test_c(void **state)
{
	char folder[] = "/tmp/tunec_winograd_XXXXXX";
	EmitComment *comments = NEW_N(arena, EmitComment, nmade);
	Buf text = {0};
	(void)state;
	if (!target_runs_here(target))
		skip();
	assert_non_null(mkdtemp(folder));
	for (int i = 0; i < nmade; i++)
		comments[i] = (EmitComment){target->text, "none", ""};
	emit_c_all(&text, (const Lowered *const *)all_lowered(), nmade, target,
	    comments);
	FILE *file = fopen(arena_printf(arena, "%s/t.c", folder), "w");
	assert_non_null(file);
	fputs(buf_text(&text), file);
	assert_int_equal(fclose(file), 0);
	const char *library = arena_printf(arena, "%s/t.so", folder);
	assert_int_equal(system(arena_printf(arena,
	    "cc -O1 -w -fPIC -shared -fopenmp -o %s %s/t.c -lm", library,
	    folder)), 0);
	void *handle = dlopen(library, RTLD_NOW);
	assert_non_null(handle);
	for (int i = 0; i < nmade; i++)
		check(i, call_compiled, handle);
	buf_free(&text);
	assert_int_equal(system(arena_printf(arena, "rm -r %s", folder)), 0);
}

/* --- errors ------------------------------------------------------------------------ */

/* One of a sketch of that kind. */
static Lowered *sampled(const char *path, Numerics numerics, const char *kind)
{
	Error error = {0};
	Diag diag = {0};
	ProgramVec programs = {0};
	Rng rng = rng_stream(9, 0, 0);
	Candidate x;
	if (spec_load(arena, path, NULL, 0, numerics, &diag, &error, &programs))
		fail_msg("%s: %s", path, error.text);
	Program *p = programs.at[0];
	p->symbol = arena_printf(arena, "e_%d", (int)nmade++);
	Space *space = space_new(arena, p, &target->machine, &error);
	assert_non_null(space);
	for (int i = 0; i < 100000 && space_sample(space, &rng, &x); i++)
		if (strstr(space_sketch_name(space, x.sketch), kind))
			return lowered_of(
			    p, path, space_trace(arena, space, &x));
	fail_msg("%s: no %s", path, kind);
	return NULL;
}

static float uniform(Rng *rng)
{
	return (float)(rng_double(rng) * 2 - 1);
}

/* data, weight, bias: as a layer has them. */
static float *drawn(Rng *rng, const Buffer *b, double scale)
{
	int64_t n = buffer_elements(b);
	float *x = lowercheck_memory(arena, n * (int64_t)sizeof *x);
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)(scale * (double)uniform(rng));
	return x;
}

/* A result in f64, before its bias is added. */
static double expected(const Program *p, float *const *in, int64_t o,
    int64_t y, int64_t x)
{
	const int64_t *d = p->buffers[0].shape;
	double sum = 0;
	for (int64_t c = 0; c < d[1]; c++)
		for (int64_t r = 0; r < 3; r++)
			for (int64_t s = 0; s < 3; s++) {
				int64_t i = y + r - 1, j = x + s - 1;
				if (i < 0 || j < 0 || i >= d[2] || j >= d[3])
					continue;
				sum += (double)in[0][(c * d[2] + i) * d[3] + j] *
				    (double)in[1][((o * d[1] + c) * 3 + r) * 3 + s];
			}
	return sum;
}

static double largest_error(void *library, const Lowered *l, float *const *in)
{
	const Program *p = l->program;
	const Buffer *out = &p->buffers[p->outputs[0]];
	void *args[5];
	int pack = 0;
	float *y = lowercheck_memory(arena, buffer_bytes(out));
	for (int i = 0; i < 3; i++) {
		args[i] = in[i];
		if (!p->buffers[i].is_const)
			continue;
		void *two_args[2] = {in[i],
		    lowercheck_memory(arena, l->packed_bytes[pack])};
		call_compiled(library, l->packs.at[pack]->name,
		    l->packs.at[pack], two_args);
		args[i] = two_args[1];
		pack++;
	}
	args[3] = y;
	args[4] = lowercheck_memory(arena, l->workspace_bytes + 64);
	call_compiled(library, l->kernel->name, l->kernel, args);
	double most = 0;
	for (int64_t i = 0; i < buffer_elements(out); i += 61) {
		int64_t x = i % out->shape[3], row = i / out->shape[3];
		int64_t o = row / out->shape[2];
		double e = expected(p, in, o, row % out->shape[2], x) +
		    (double)in[2][o];
		most = fmax(most, fabs(fmax(e, 0) - (double)y[i]));
	}
	return most;
}

static void test_errors(void **state)
{
	static const char *const layers[] = {"c2", "c6", "c9", "c12"};
	(void)state;
	if (!target_runs_here(target))
		skip();
	for (int i = 0; i < 4; i++) {
		const char *path = arena_printf(arena,
		    "workloads/conv2d.yaml:resnet18_%s", layers[i]);
		Lowered *both[] = {sampled(path, NUMERICS_DEFAULT, "conv.o"),
		    sampled(path, NUMERICS_FAST, "winograd2"),
		    sampled(path, NUMERICS_FAST, "winograd4")};
		const Program *p = both[0]->program;
		Rng rng = rng_stream(10, 0, (uint64_t)i);
		double he = sqrt(6. / (9 * (double)p->buffers[0].shape[1]));
		float *in[] = {drawn(&rng, &p->buffers[0], 1),
		    drawn(&rng, &p->buffers[1], he),
		    drawn(&rng, &p->buffers[2], 1)};
		Buf object = {0};
		lowtest_compile(target, both, 3, LLVM_OBJECT, &object);
		void *library = lowtest_open(&object);
		double direct = largest_error(library, both[0], in);
		for (int m = 1; m < 3; m++) {
			double e = largest_error(library, both[m], in);
			print_message("# %s: %g direct, %g by tiles of %d\n",
			    layers[i], direct, e, 2 * m);
			assert_true(e <= 8 * direct);
		}
		buf_free(&object);
	}
}

/* No other numerics have it. */
static void test_numerics(void **state)
{
	static const Numerics others[] = {NUMERICS_DEFAULT, NUMERICS_EXACT};
	(void)state;
	for (int i = 0; i < 2; i++) {
		Error error = {0};
		Program *p = program_of_text(arena, cases[0].text, others[i]);
		Space *space = space_new(arena, p, &target->machine, &error);
		assert_non_null(space);
		for (int k = 0; k < space_nsketches(space); k++)
			assert_null(strstr(
			    space_sketch_name(space, k), "winograd"));
		assert_null(schedule_nest(arena, p, &target->machine,
		    schedule_steps(arena, arena_printf(arena,
			"%s = winograd(y, 2)", cases[0].outs)),
		    &error));
		assert_non_null(strstr(error.text, "only --numerics=fast"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_interpreted),
	    cmocka_unit_test(test_compiled),
	    cmocka_unit_test(test_c),
	    cmocka_unit_test(test_errors),
	    cmocka_unit_test(test_numerics),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
