/* The fixed schedules of test/gpu, small: lowered and run by the interpreter,
 * with races checked, each gives what the operator says; and no load of shared
 * memory waits for a bank. */
#include "test/common_lower.h"
#include "test/common_products.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
	const char *name, *arch, *n;
	bool free; /* of conflicts between banks, in loads */
	bool deep; /* with more shared memory than a kernel can declare */
} Product;

static const Product products[] = {
    {"product_f32", "sm_75", "128", true, false},
    {"product_f32", "sm_80", "256", false, false},
    {"product_f16", "sm_80", "256", false, false},
    {"product_f16", "sm_80", "128", true, false},
    {"product_f16", "sm_75", "128", false, false},
    {"product_f16_rows", "sm_80", "256", true, false},
    {"product_f16_rows", "sm_90a", "128", true, false},
    {"product_bf16", "sm_90a", "128", true, false},
    /* whose tiles do not divide */
    {"product_f32", "sm_75", "101", false, false},
    {"product_f32", "sm_80", "70", false, false},
    {"product_i8", "sm_80", "128", true, false},
    {"product_i8", "sm_75", "128", false, false},
    /* 80 and 65 KiB */
    {"product_f16", "sm_80", "128", true, true},
    {"product_f16", "sm_86", "256", false, true},
    {"product_f32", "sm_90a", "200", false, true},
    {"product_tf32", "sm_80", "256", false, false},
    {"product_tf32", "sm_90a", "128", true, false},
    {"product_tf32", "sm_75", "128", false, false},
};
enum { NPRODUCTS = sizeof products / sizeof *products };

/* --- banks of shared memory ------------------------------------------------------ */

/* What each thread of a warp loads of shared memory, until they wait: of neighbours
 * as many at once as 16 bytes hold. */
enum { WARP = 32, LOADS = 4096, BANKS = 32, WORD = 4, WIDEST = 16 };

typedef struct {
	int buffer;
	int64_t at, bytes;
} Load;

typedef struct {
	const LowFunction *f;
	Load loads[WARP][LOADS];
	int n[WARP], thread;
	int64_t phases, least; /* that the memory takes, and at least would */
} Banks;

static int64_t word_of(const Load *l, int64_t byte)
{
	return (l->at + byte) / WORD;
}

/* Threads that are served together: as many as fill all banks. */
static int64_t phases_of(const Banks *b, int k, int first, int n)
{
	int64_t most = 1;
	for (int bank = 0; bank < BANKS; bank++) {
		int64_t words[WARP * WIDEST];
		int64_t found = 0;
		for (int t = first; t < first + n; t++) {
			const Load *l = &b->loads[t][k];
			for (int64_t i = 0; i < l->bytes; i++) {
				int64_t word = word_of(l, i), seen = 0;
				if (word % BANKS != bank)
					continue;
				while (seen < found && words[seen] != word)
					seen++;
				words[found] = word;
				found += seen == found;
			}
		}
		most = found > most ? found : most;
	}
	return most;
}

static void count_warp(Banks *b)
{
	for (int k = 0; k < b->n[0]; k++) {
		int64_t bytes = b->loads[0][k].bytes;
		int at_once = bytes > 8 ? 8 : bytes > 4 ? 16 : 32;
		for (int t = 0; t < WARP; t += at_once) {
			b->phases += phases_of(b, k, t, at_once);
			b->least++;
		}
	}
}

static void end_warp(Banks *b)
{
	bool alike = b->thread == WARP - 1;
	for (int t = 0; alike && t < WARP; t++)
		alike = b->n[t] == b->n[0];
	if (alike)
		count_warp(b);
	memset(b->n, 0, sizeof b->n);
}

static void see_thread(void *context, int number)
{
	Banks *b = context;
	if (number % WARP == 0)
		end_warp(b);
	b->thread = number % WARP;
	b->n[b->thread] = 0;
}

static void see_access(void *context, int buffer, int64_t element, bool write)
{
	Banks *b = context;
	const LowBuffer *low = &b->f->buffers.at[buffer];
	int64_t size = dtype_bytes(low->type);
	int *n = &b->n[b->thread];
	Load *last = *n ? &b->loads[b->thread][*n - 1] : NULL;
	if (low->kind != LOWBUF_SHARED || write || element < 0)
		return;
	if (last && last->buffer == buffer &&
	    last->at + last->bytes == element * size &&
	    last->at / WIDEST == element * size / WIDEST) {
		last->bytes += size;
		return;
	}
	if (*n < LOADS)
		b->loads[b->thread][(*n)++] =
		    (Load){buffer, element * size, size};
}

static void see_iteration(void *context, int var, bool starts)
{
	(void)context, (void)var, (void)starts;
}

/* How often a load of a warp waits for a bank; 0: never. */
static int64_t conflicts(Arena *arena, const Lowered *l, void *const *data)
{
	static Banks b;
	memset(&b, 0, sizeof b);
	b.f = l->launches.at[0].function;
	LowWatch watch = {&b, see_access, see_iteration, see_thread};
	LowRun run = {.watch = &watch};
	void *c = lowercheck_memory(arena,
	    buffer_bytes(&l->program->buffers[l->program->outputs[0]]));
	void *args[] = {data[0], data[1], c, NULL};
	assert_true(low_function_run(b.f, args, &run));
	end_warp(&b);
	assert_true(b.least > 0);
	return b.phases - b.least;
}

/* All of what a block shares, or nothing of it. */
static void check_dynamic(
    const Product *x, const Target *t, const Lowered *l)
{
	const LowLaunch *k = &l->launches.at[0];
	assert_int_equal(l->launches.n, 1);
	assert_int_equal(k->dynamic_bytes, x->deep ? k->shared_bytes : 0);
	assert_int_equal(
	    x->deep, k->shared_bytes > t->machine.block_shared);
}

static void check(const Product *x)
{
	Arena *arena = arena_new();
	Error error = {0};
	char why[512];
	Rng rng = rng_stream(31, (uint64_t)(x - products), 0);
	Program *p = product_load(arena, x->name, x->n);
	const Target *t = target_parse(
	    arena, arena_printf(arena, "cuda -arch=%s", x->arch), &error);
	Trace *trace = product_trace(arena,
	    arena_printf(arena, "%s%s", x->name, x->deep ? "_deep" : ""));
	void **data = product_data(arena, p, &rng);
	Nest *nest = schedule_nest(arena, p, &t->machine, trace, &error);
	Lowered *l = nest ? lower(arena, nest, &t->machine, &error) : NULL;
	if (!l)
		fail_msg("%s on %s: %s", x->name, x->arch, error.text);
	check_dynamic(x, t, l);
	product_expect(p, lowered_has(l, LOW_ROUND_TF32), data);
	if (!lowered_verify(l, why, sizeof why))
		fail_msg("%s on %s: %s", x->name, x->arch, why);
	const char *wrong = lowercheck_run(arena, l, data, 1e-4, NULL, NULL);
	if (wrong)
		fail_msg("%s on %s: %s", x->name, x->arch, wrong);
	if (x->free)
		assert_int_equal(conflicts(arena, l, data), 0);
	arena_free(arena);
}

static void test_products(void **state)
{
	(void)state;
	for (int i = 0; i < NPRODUCTS; i++)
		check(&products[i]);
}

/* By asking, too, a card has only so much. */
static void test_too_much(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Error error = {0};
	const Target *t = target_parse(arena, "cuda -arch=sm_75", &error);
	Program *p = product_load(arena, "product_f32", "256");
	Nest *nest = schedule_nest(arena, p, &t->machine,
	    product_trace(arena, "product_f32_deep"), &error);
	assert_non_null(nest);
	assert_null(lower(arena, nest, &t->machine, &error));
	assert_int_equal(error.status, STATUS_UNSUPPORTED);
	assert_non_null(
	    strstr(error.text, "more shared memory than a block has"));
	arena_free(arena);
}

/* Operands are rounded only where that is allowed. */
static void test_rounded(void **state)
{
	static const Numerics modes[] = {NUMERICS_DEFAULT, NUMERICS_EXACT};
	(void)state;
	for (int i = 0; i < 2; i++) {
		Arena *arena = arena_new();
		Error error = {0};
		Program *p = product_load(arena, "product_tf32", "128");
		const Target *t =
		    target_parse(arena, "cuda -arch=sm_80", &error);
		p->numerics = modes[i];
		assert_null(schedule_nest(arena, p, &t->machine,
		    product_trace(arena, "product_tf32"), &error));
		assert_string_equal(error.text,
		    "step 50, tensorize(ai2, mma16x8x8_tf32): only "
		    "--numerics=fast rounds f32 to tf32");
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_products),
	    cmocka_unit_test(test_too_much),
	    cmocka_unit_test(test_rounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
