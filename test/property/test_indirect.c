/* Reads at data, against a product with ones and zeros: table[e] is
 * sum[v < V](if v == e then table[v] else 0), where e is computed as values
 * are, in i64.  Integer inputs of every dtype, of small and of all values.  And
 * what may not be done to such a read. */
#include "ir/program.h"
#include "ir/scalar.h"
#include "lib/rng.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { N = 9, V = 12, D = 3, FORM_SIZE = 200 };

/* @ is the read; WIDE ones need more bits than 64 have, or a sign. */
static const struct {
	const char *text;
	bool wide;
} forms[] = {
	{"clamp(@, 0, V - 1)", false},
	{"@%V", false},
	{"max(min(@, V - 1), 0)", false},
	{"(@//3)%V", false},
	{"clamp(2*@ - 5, 0, V - 1)", true},
	{"abs(@)%V", true},
	{"V - 1 - @%4 - clamp(@, 0, 2)", false},
	{"if 0 <= @ < V then @ else 2", false},
	{"if @ < 0 or @ > V - 2 then 0 else @ + 1", true},
	{"if @ < 3 then clamp(-@, 0, V - 1) else i", true},
	{"clamp(@ + i, 0, V - 1)", true},
	{"if i > 4 then @%5 else i", false},
	{"if not @ >= 4 then @%4 else min(@ - 4, i)", true},
	{"clamp(@*i - 3, 0, V - 1)", true},
	{"(@*@ + i*i*@)%V", true},
	{"if 0 <= @ < V then @*i//N else V - 1", true},
	{"clamp((@ - 1)*(i - 4), 0, V - 1)", true},
};

static const DType dtypes[] = {
    DT_I64, DT_I32, DT_I16, DT_I8, DT_U64, DT_U32, DT_U16, DT_U8};
static const char *const reads[] = {"id[i]", "id[N - 1 - i]", "id[id[i]%N]"};

static char *with(const char *form, const char *read, char *out)
{
	char *to = out;
	for (const char *c = form; *c; c++)
		if (*c == '@')
			to += sprintf(to, "%s", read);
		else
			*to++ = *c;
	*to = 0;
	return out;
}

static void run_text(const char *text, int kind, uint64_t seed)
{
	Arena *arena = arena_new();
	Rng rng = rng_stream(seed, 0, 0);
	char why[200];
	Program *p = program_of_text(arena, text, NUMERICS_DEFAULT);
	if (!program_verify(p, why, sizeof why))
		fail_msg("%s\n%s", text, why);
	void **data = NEW_N(arena, void *, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++)
		data[i] = arena_alloc(
		    arena, (size_t)buffer_bytes(&p->buffers[i]));
	for (int i = 0; i < V * D; i++)
		((float *)data[0])[i] = (float)(1 + i);
	for (int i = 0; i < N; i++) {
		Scalar x = {.i = (int64_t)rng_next(&rng)};
		if (kind)
			x.i = (int64_t)rng_below(&rng, 2 * V) - V / 2;
		x.i = scalar_wrap(p->buffers[1].type, x.i);
		scalar_store(p->buffers[1].type, data[1], i, x);
	}
	interp_run(p, data);
	if (memcmp(data[p->outputs[0]], data[p->outputs[1]],
		sizeof(float) * N * D))
		fail_msg("%s: differ", text);
	arena_free(arena);
}

static const char head[] =
    "tunec: 1\nname: op\nparams: {N: %d, V: %d, D: %d}\n"
    "inputs: {table: 'f32[V, D]', id: '%s[N]'}\noutputs: [y, z]\n"
    "compute: |\n"
    "  z[i < N, d < D] = sum[v < V](if v == (%s) then table[v, d] else 0)\n"
    "  y[i < N, d < D] = ";

static void compare(const char *form, const char *read, DType type)
{
	char index[FORM_SIZE], value[FORM_SIZE], wide[60], text[2000];
	snprintf(wide, sizeof wide, type == DT_U64 ? "%s" : "i64(%s)", read);
	with(form, read, index);
	with(form, wide, value);
	int n = snprintf(
	    text, sizeof text, head, N, V, D, dtype_name(type), value);
	snprintf(text + n, sizeof text - (size_t)n, "table[%s, d]\n", index);
	for (uint64_t seed = 0; seed < 8; seed++)
		run_text(text, seed & 1, seed);
}

/* Under a condition that proves it. */
static void compare_guarded(const char *read, DType type)
{
	char text[2000];
	int n = snprintf(
	    text, sizeof text, head, N, V, D, dtype_name(type), read);
	snprintf(text + n, sizeof text - (size_t)n,
	    "if 0 <= %s < V then table[%s, d] else 0\n", read, read);
	for (uint64_t seed = 0; seed < 8; seed++)
		run_text(text, seed & 1, seed);
}

static void indirect(void **state)
{
	(void)state;
	for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes; t++)
		for (size_t r = 0; r < sizeof reads / sizeof *reads; r++) {
			for (size_t f = 0; f < sizeof forms / sizeof *forms;
			     f++)
				if (!forms[f].wide ||
				    dtype_interval(dtypes[t]).hi <= INT32_MAX)
					compare(forms[f].text, reads[r],
					    dtypes[t]);
			compare_guarded(reads[r], dtypes[t]);
		}
}

/* --- schedules ----------------------------------------------------------------- */

static void try_trace(const char *trace, const char *why)
{
	static const char text[] =
	    "tunec: 1\nname: op\ninputs: {x: 'f32[4, 3]', id: 'i32[9]'}\n"
	    "compute: |\n"
	    "  t[v < 4, d < 3] = x[v, d]*2 + 1\n"
	    "  y[i < 9, d < 3] = t[clamp(id[i], 0, 3), d]\n";
	Arena *arena = arena_new();
	Error error = {0};
	Program *p = program_of_text(arena, text, NUMERICS_DEFAULT);
	Nest *nest = schedule_nest(arena, p, &test_machine,
	    schedule_steps(arena, trace), &error);
	if (!why != (nest != NULL))
		fail_msg("%s: %s", trace, nest ? "applied" : error.text);
	if (why && !strstr(error.text, why))
		fail_msg("%s: %s", trace, error.text);
	arena_free(arena);
}

static void schedules(void **state)
{
	(void)state;
	try_trace("compute_at(t, y.i)", NULL);
	try_trace("compute_inline(t)", NULL);
	try_trace("c = cache_read(y, t)\ncompute_at(c, y.i)", NULL);
	try_trace("parallel(y.i)\nunroll(y.d)", NULL);
	try_trace("prefetch(y, id, y.i, 4)", NULL);
	try_trace("prefetch(y, t, y.i, 4)", "depends on data");
	try_trace("reverse_compute_at(y, t.v)", "");
	try_trace("set_scope(t, reg)\nunroll(t.v)\nunroll(t.d)\n"
		  "unroll(y.i)\nunroll(y.d)", "an index of a register buffer");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(indirect),
	    cmocka_unit_test(schedules),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
