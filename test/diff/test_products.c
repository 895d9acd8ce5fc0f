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
	const char *name, *trace, *arch, *n;
	bool free;  /* of conflicts between banks, in loads */
	bool group; /* made by warpgroups */
} Product;

static const Product products[] = {
    {"product_f32", "product_f32", "sm_75", "128", true, false},
    {"product_f32", "product_f32", "sm_80", "256", false, false},
    {"product_f16", "product_f16", "sm_80", "256", false, false},
    {"product_f16", "product_f16", "sm_80", "128", true, false},
    {"product_f16", "product_f16", "sm_75", "128", false, false},
    {"product_f16_rows", "product_f16_rows", "sm_80", "256", true, false},
    {"product_f16_rows", "product_f16_rows", "sm_90a", "128", true, false},
    {"product_bf16", "product_bf16", "sm_90a", "128", true, false},
    /* whose tiles do not divide */
    {"product_f32", "product_f32", "sm_75", "101", false, false},
    {"product_f32", "product_f32", "sm_80", "70", false, false},
    {"product_i8", "product_i8", "sm_80", "128", true, false},
    {"product_i8", "product_i8", "sm_75", "128", false, false},
    /* 80 and 65 KiB */
    {"product_f16", "product_f16_deep", "sm_80", "128", true, false},
    {"product_f16", "product_f16_deep", "sm_86", "256", false, false},
    {"product_f32", "product_f32_deep", "sm_90a", "200", false, false},
    {"product_tf32", "product_tf32", "sm_80", "256", false, false},
    {"product_tf32", "product_tf32", "sm_90a", "128", true, false},
    {"product_tf32", "product_tf32", "sm_75", "128", false, false},
    /* by warpgroups, and where there are none */
    {"product_f16", "wgmma_f16", "sm_90a", "128", false, true},
    {"product_f16", "wgmma_f16", "sm_90a", "256", false, true},
    {"product_f16", "wgmma_f16_deep", "sm_90a", "256", false, true},
    {"product_bf16", "wgmma_bf16", "sm_90a", "128", false, true},
    {"product_i8", "wgmma_i8", "sm_90a", "256", false, true},
    {"wgmma_across", "wgmma_across", "sm_90a", "128", false, true},
    {"wgmma_across", "wgmma_across", "sm_90", "128", false, false},
    {"product_i8", "wgmma_i8", "sm_80", "128", false, false},
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
	bool is_deep = strstr(x->trace, "_deep") != NULL;
	const LowLaunch *k = &l->launches.at[0];
	assert_int_equal(l->launches.n, 1);
	assert_int_equal(k->dynamic_bytes, is_deep ? k->shared_bytes : 0);
	assert_int_equal(
	    is_deep, k->shared_bytes > t->machine.block_shared);
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
	Trace *trace = product_trace(arena, x->trace);
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
	assert_int_equal(low_has_op(&l->kernel->body, LOW_WGMMA), x->group);
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

/* --- a warpgroup's protocol ------------------------------------------------------ */

typedef void Damage(LowNode *node);

static void leave_out(LowNode *node)
{
	*node = (LowNode){.kind = LOWNODE_COMMENT, .comment = "-"};
}

/* As if for loads alone. */
static void do_not_tell(LowNode *node)
{
	node->i = 0;
}

static void move_on(LowNode *node)
{
	node->from.constant += 512;
}

/* Does so to the n-th of these operations; false: there are not so many. */
static bool damage(LowBody *body, LowOpcode op, Damage *how, int *n)
{
	for (int i = 0; i < body->n; i++) {
		LowNode *node = body->at[i];
		if (node->kind == LOWNODE_OP && node->op == op && !(*n)--) {
			how(node);
			return true;
		}
		if (damage(&node->body, op, how, n) ||
		    damage(&node->other, op, how, n))
			return true;
	}
	return false;
}

/* How many there are; each of them is missed. */
static int missed(LowOpcode op, Damage *how, const char *found)
{
	Arena *arena = arena_new();
	Error error = {0};
	Rng rng = rng_stream(32, 0, 0);
	Program *p = product_load(arena, "product_f16", "256");
	Trace *trace = product_trace(arena, "wgmma_f16");
	const Target *t = target_parse(arena, "cuda -arch=sm_90a", &error);
	void **data = product_data(arena, p, &rng);
	int number = 0;
	for (;; number++) {
		int n = number;
		Nest *nest =
		    schedule_nest(arena, p, &t->machine, trace, &error);
		Lowered *l = lower(arena, nest, &t->machine, &error);
		if (!damage(&l->launches.at[0].function->body, op, how, &n))
			break;
		const char *wrong =
		    lowercheck_run(arena, l, data, 1e-4, NULL, NULL);
		if (!wrong || !strstr(wrong, found))
			fail_msg("number %d: %s", number, wrong);
	}
	arena_free(arena);
	return number;
}

static void test_protocol(void **state)
{
	(void)state;
	assert_int_equal(missed(LOW_BARRIER, leave_out, ""), 1);
	assert_int_equal(missed(LOW_BARRIER, do_not_tell,
			     "was stored, with no barrier for a wgmma"), 1);
	assert_int_equal(missed(LOW_WAIT, leave_out, "on its way"), 1);
	/* another matrix: into the other slot, or the other's */
	assert_int_equal(missed(LOW_WGMMA, move_on, ""), 1);
}

/* Which loops are a warpgroup's product; NULL: these are. */
static void test_units(void **state)
{
	static const struct {
		const char *columns, *order, *steps, *why;
	} units[] = {{"8, 2", "i1, j1, j2, k1", "64", NULL},
	    {"1, 2", "i1, j1, j2, k1", "64", NULL},
	    {"32, 2", "i1, j1, j2, k1", "64", "not as many iterations"},
	    {"8, 4", "i1, j1, j2, k1", "64", "not as many iterations"},
	    {"8, 2", "i1, j1, j2, k1", "32", "not as many iterations"},
	    {"8, 2", "j2, j1, i1, k1", "64", "rows, columns twice, and steps"},
	    {"8, 2", "k1, i1, j1, j2", "64", "not as many iterations"},
	    {"8, 2", "j1, j2, k1, i1", "64", "not as many iterations"},
	    {"8, 2", "j2, k1", "64", "is four loops"}};
	(void)state;
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		Arena *arena = arena_new();
		Error error = {0};
		Machine machine = {.gpu = true};
		Program *p = product_load(
		    arena, "product_f16", "128");
		Trace *trace = schedule_steps(arena, arena_printf(arena,
		    "i0, i1 = split(c.i, [_, 2])\n"
		    "j0, j1, j2 = split(c.j, [_, %s])\n"
		    "k0, k1 = split(c.k, [_, %s])\n"
		    "reorder(k0, i0, j0, i1)\nreorder(%s)\n"
		    "tensorize(%.2s, wgmma64_f16)", units[i].columns,
		    units[i].steps, units[i].order, units[i].order));
		Nest *nest =
		    schedule_nest(arena, p, &machine, trace, &error);
		if (!nest != !!units[i].why ||
		    (!nest && !strstr(error.text, units[i].why)))
			fail_msg("%d: %s", (int)i, error.text);
		arena_free(arena);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_products),
	    cmocka_unit_test(test_too_much),
	    cmocka_unit_test(test_rounded),
	    cmocka_unit_test(test_protocol),
	    cmocka_unit_test(test_units),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
