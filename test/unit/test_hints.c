/* What the reader says to write instead of a word or sign of another language is
 * accepted as it stands, and is what was meant. */
#include "ir/program.h"

#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "ir/spec/spec.h"

/* A definition around what to write, in which x stands for a read and so on. */
static const char *const around[] = {
    "out[n < N] = %s\n", "out[i < N, j < N] = %s\n", "%s\n"};
static const char *const elements[] = {"n", "i", "i"};
static const char *const dtypes[] = {"f32", "i32"};

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* The text, x, y, z, c and d each with an index; y, which a whole definition
 * has for its name, stays there. */
static void with_indices(Buf *out, const char *text, const char *index)
{
	bool whole = strchr(text, '=') && !strncmp(text, "y[", 2);
	for (const char *c = text; *c; c++) {
		bool alone = (c == text || !is_word(c[-1])) && !is_word(c[1]);
		buf_putc(out, *c);
		if (alone && strchr("xyzcd", *c) && !(whole && *c == 'y'))
			buf_printf(out, "[%s]", index);
	}
}

static Program *program_around(
    Arena *arena, const char *write, int form, const char *dtype)
{
	Buf text = {0}, body = {0};
	bool whole = form == 2;
	with_indices(&body, write, elements[form]);
	buf_printf(&text,
	    "tunec: 1\nname: op\nparams: {N: 8, K: 8}\ninputs: {x: '%s[N]', "
	    "%s: '%s[N]', z: '%s[N]', c: 'bool[N]', d: 'bool[N]', "
	    "a: 'f32[N, K]', b: 'f32[K, N]'}\ncompute: |\n  ",
	    dtype, whole ? "unused" : "y", dtype, dtype);
	buf_printf(&text, around[form], buf_text(&body)); /* NOLINT */
	Source *source = NEW(arena, Source);
	*source = (Source){"op.yaml", arena_strdup(arena, buf_text(&text)),
	    strlen(buf_text(&text))};
	buf_free(&text);
	buf_free(&body);
	Diag diag = {0};
	Spec *spec = spec_parse(arena, source, &diag);
	Program *p = spec ? spec_program(arena, spec, "", NULL, 0,
				NUMERICS_DEFAULT, &diag)
			  : NULL;
	diag_free(&diag);
	return p;
}

static void accept(const char *word, const char *write)
{
	Arena *arena = arena_new();
	Program *p = NULL;
	for (int form = 0; form < 3 && !p; form++)
		for (int t = 0; t < 2 && !p; t++)
			p = program_around(arena, write, form, dtypes[t]);
	if (!p)
		fail_msg("%s: '%s' is not accepted", word, write);
	arena_free(arena);
}

static const char *as_value(Arena *arena, const char *write)
{
	DType type;
	return dtype_parse(write, strlen(write), &type)
	    ? arena_printf(arena, "%s(x)", write) : write;
}

static void accepted(void **state)
{
	Arena *arena = arena_new();
	(void)state;
#define HINT(kind, word, write, rest) accept(word, as_value(arena, write));
#define SIGN(sign, write, rest) accept(sign, write);
#include "ir/spec/hints.def"
	arena_free(arena);
}

static double softplus(double x)
{
	return x > 0 ? x + log1p(exp(-x)) : log1p(exp(x));
}

static double logistic(double x)
{
	return 1/(1 + exp(-x));
}

/* Of functions that C has, as good near 0 and far away. */
static const struct {
	const char *word;
	double (*of)(double x);
	double from; /* the least x */
} functions[] = {{"softplus", softplus, -3}, {"logistic", logistic, -40},
    {"ln", log, 1e-9}, {"log10", log10, 1e-9}, {"cbrt", cbrt, -40},
    {"arctan", atan, -40}, {"fabs", fabs, -40}, {"rint", rint, -40},
    {"fix", trunc, -40}};

static const double points[] = {
    -40, -2.5, -0.5, -1e-9, 1e-9, 0.75, 3, 300};

static void meant(void **state)
{
	(void)state;
	for (size_t f = 0; f < sizeof functions / sizeof *functions; f++) {
		Arena *arena = arena_new();
		const char *word = functions[f].word;
		Program *p =
		    program_around(arena, hint_function(word), 0, "f64");
		assert_non_null(p);
		void **data = NEW_N(arena, void *, p->nbuffers);
		for (int i = 0; i < p->nbuffers; i++)
			data[i] = arena_alloc(
			    arena, (size_t)buffer_bytes(&p->buffers[i]));
		memcpy(data[0], points, sizeof points);
		interp_run(p, data);
		const double *got = data[p->outputs[0]];
		for (int i = 0; i < 8; i++) {
			double want = functions[f].of(points[i]);
			if (points[i] >= functions[f].from &&
			    !(fabs(got[i] - want) <= 1e-7*fabs(want)))
				fail_msg("%s(%g): %.17g, not %.17g", word,
				    points[i], got[i], want);
		}
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(accepted),
	    cmocka_unit_test(meant),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
