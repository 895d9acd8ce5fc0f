/* Prefetches of a loop around a block: while a panel of a product is in use, the
 * lines of the next one are asked for, all of them, none far from it, and few at
 * once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "ir/nest/nest.h"
#include "schedule/schedule.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

enum { LINE = 64, LINE_FLOATS = LINE / 4, MOST = 1 << 20 };

#define PRODUCT(M)                                                             \
	"tunec: 1\nname: p\nparams: {M: " M ", N: 64, K: 40}\n"               \
	"inputs: {a: 'f32[M, K]', b: 'const f32[K, N]'}\n"                     \
	"compute: |\n  c[i < M, j < N] = sum[k < K](a[i, k]*b[k, j])\n"

/* Panels of 16 columns, which rows by fours use again. */
#define TILE                                                                   \
	TILE_OF("j0, j1 = split(c.j, [_, 16])\nreorder(j0, i0, i1, j1)\n", "i0")
#define TILE_OF(LOOPS, PLACE)                                                  \
	"acc = cache_write(c, reg)\n"                                          \
	"i0, i1 = split(c.i, [_, 4])\n" LOOPS                                  \
	"unroll(i1)\nvectorize(j1, 16)\n"                                      \
	"compute_at(acc, " PLACE ")\nk0, k1 = split(acc.k, [_, 2])\n"          \
	"l0, l1 = split(acc.j, [_, 16])\n"                                     \
	"reorder(k0, k1, acc.i, l0, l1)\nunroll(k1)\nunroll(acc.i)\n"          \
	"unroll(l0)\nvectorize(l1, 16)\n"                                      \
	"bp = cache_read(acc, b)\ncompute_at(bp, root)\n"                      \
	"transform_layout(bp, [x1//16, x0, x1%16])\npad(bp, 0)\n"

/* What is prefetched while the outermost loop is at `panel`. */
typedef struct {
	const LowFunction *f;
	int64_t *values; /* of the temporaries */
	int64_t panel;
	int level; /* of the cache that is asked for */
	bool asked[MOST];
	int64_t least, most;
	int most_at_once;
} Watch;

static int64_t value_of(const Watch *w, const LowAffine *x)
{
	int64_t sum = x->constant;
	for (int i = 0; i < x->n; i++)
		sum += x->terms[i].coefficient * w->values[x->terms[i].temp];
	return sum;
}

static void watch(Watch *w, const LowBody *body, int depth)
{
	int at_once = 0;
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_LOOP) {
			int64_t first = depth ? 0 : w->panel;
			int64_t end = depth ? n->extent : w->panel + 1;
			assert_null(n->limit);
			for (int64_t v = first; v < end; v++) {
				w->values[n->var] = v;
				watch(w, &n->body, depth + 1);
			}
		} else if (n->kind == LOWNODE_OP && n->op == LOW_PREFETCH) {
			int64_t at = value_of(w, &n->address);
			assert_true(at >= 0 && at < MOST);
			assert_int_equal(n->i, w->level);
			w->asked[at / LINE_FLOATS] = true;
			w->least = at < w->least ? at : w->least;
			w->most = at > w->most ? at : w->most;
			at_once++;
		}
	}
	if (at_once > w->most_at_once)
		w->most_at_once = at_once;
}

static Lowered *lowered_of(Arena *arena, const char *product,
    const char *text, int64_t l2_bytes)
{
	Error error = {0};
	Target *t = target_parse(arena, "llvm -mcpu=skylake-avx512 -threads=1",
	    &error);
	Program *p = program_of_text(arena, product, NUMERICS_DEFAULT);
	assert_non_null(t);
	t->machine.line_bytes = LINE;
	t->machine.l2_bytes = l2_bytes;
	Nest *nest = schedule_nest(arena, p, &t->machine,
	    schedule_steps(arena, text), &error);
	if (!nest)
		fail_msg("%s", error.text);
	Lowered *l = lower(arena, nest, &t->machine, &error);
	if (!l)
		fail_msg("%s", error.text);
	return l;
}

static void watch_level(Arena *arena, const char *product, const char *text,
    int64_t l2_bytes, int64_t panel, int level, Watch *w)
{
	Lowered *l = lowered_of(arena, product, text, l2_bytes);
	*w = (Watch){.f = l->kernel,
	    .values = NEW_N(arena, int64_t, l->kernel->temps.n),
	    .panel = panel,
	    .level = level,
	    .least = MOST};
	watch(w, &l->kernel->body, 0);
}

static void watch_panel_of(Arena *arena, const char *product, const char *text,
    int64_t l2_bytes, int64_t panel, Watch *w)
{
	watch_level(arena, product, text, l2_bytes, panel, 2, w);
}

static void watch_panel(Arena *arena, const char *text, int64_t l2_bytes,
    int64_t panel, Watch *w)
{
	watch_panel_of(arena, PRODUCT("12"), text, l2_bytes, panel, w);
}

static void test_next_panel(void **state)
{
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch);
	enum { PANEL = 40 * 16, SLACK = 12 * LINE_FLOATS };
	(void)state;
	watch_panel(arena, TILE "prefetch(acc, bp, j0, 1)\n", 1 << 20, 1, w);
	for (int64_t at = 2 * PANEL; at < 3 * PANEL; at += LINE_FLOATS)
		assert_true(w->asked[at / LINE_FLOATS]);
	assert_true(w->least >= 2 * PANEL);
	assert_true(w->most < 3 * PANEL + SLACK);
	assert_true(w->most_at_once <= 1);
	arena_free(arena);
}

/* Where its loop has one iteration the one around that brings the next panel. */
static void test_loop_of_one(void **state)
{
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch), *one = NEW(arena, Watch);
	(void)state;
	watch_panel(arena, TILE "prefetch(acc, bp, j0, 1)\n", 1 << 20, 1, w);
	watch_panel(arena,
	    TILE_OF("jj, j0, j1 = split(c.j, [_, 1, 16])\n"
		    "reorder(jj, i0, j0, i1, j1)\n",
		"j0") "prefetch(acc, bp, j0, 1)\n",
	    1 << 20, 1, one);
	assert_memory_equal(one->asked, w->asked, sizeof w->asked);
	arena_free(arena);
}

static void test_two_ahead(void **state)
{
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch);
	(void)state;
	watch_panel(arena, TILE "prefetch(acc, bp, j0, 2)\n", 1 << 20, 0, w);
	assert_int_equal(w->least, 2 * 40 * 16);
	arena_free(arena);
}

/* Of what a cache would lose again before it is read nothing, but where each panel
 * is read again: it is memory that the next one does not wait for. */
static void test_too_large(void **state)
{
	static const char steps[] = TILE "prefetch(acc, bp, j0, 1)\n";
	enum { PANEL = 40 * 16 };
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch);
	(void)state;
	watch_panel_of(arena, PRODUCT("4"), steps, 4096, 0, w);
	assert_int_equal(w->most_at_once, 0);
	watch_panel_of(arena, PRODUCT("8"), steps, 4096, 0, w);
	for (int64_t at = PANEL; at < 2 * PANEL; at += LINE_FLOATS)
		assert_true(w->asked[at / LINE_FLOATS]);
	arena_free(arena);
}

/* Rows around the panels that stay: no panel comes from further off than the
 * second cache but in the first row; with blocks of panels around the rows, the
 * next block does. */
#define ROWS(ORDER)                                                            \
	"acc = cache_write(c, reg)\n"                                          \
	"i0, i1 = split(c.i, [_, 2])\nJ, j0, j1 = split(c.j, [_, 2, 16])\n"   \
	"reorder(" ORDER ", i1, j1)\nunroll(i1)\nvectorize(j1, 16)\n"          \
	"compute_at(acc, j0)\nk0, k1 = split(acc.k, [_, 2])\n"                \
	"l0, l1 = split(acc.j, [_, 16])\n"                                     \
	"reorder(k0, k1, acc.i, l0, l1)\nunroll(k1)\nunroll(acc.i)\n"        \
	"unroll(l0)\nvectorize(l1, 16)\n"                                     \
	"bp = cache_read(acc, b)\ncompute_at(bp, root)\n"                     \
	"transform_layout(bp, [x1//16, x0, x1%16])\npad(bp, 0)\n"             \
	"prefetch(acc, bp, j0, 1)\n"

static void test_what_stays(void **state)
{
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch);
	enum { BLOCK = 2 * 40 * 16, SLACK = 24 * LINE_FLOATS };
	(void)state;
	watch_panel(arena, ROWS("J, i0, j0"), 1 << 20, 0, w);
	for (int64_t at = BLOCK; at < 2 * BLOCK; at += LINE_FLOATS)
		assert_true(w->asked[at / LINE_FLOATS]);
	assert_true(w->least >= BLOCK && w->most < 2 * BLOCK + SLACK);
	watch_panel(arena, ROWS("J, i0, j0"), 8 << 10, 0, w);
	assert_int_equal(w->most_at_once, 0); /* two blocks do not fit */
	arena_free(arena);
}

static void test_all_stays(void **state)
{
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch);
	(void)state;
	watch_panel(arena, ROWS("i0, J, j0"), 1 << 20, 0, w);
	assert_int_equal(w->most_at_once, 0);
	arena_free(arena);
}

/* Two rows: every line is used twice, and the next one is waited for anyway. */
static void test_used_once(void **state)
{
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch);
	(void)state;
	watch_panel_of(arena, PRODUCT("2"), ROWS("J, i0, j0"), 1 << 20, 0, w);
	assert_int_equal(w->most_at_once, 0);
	arena_free(arena);
}

/* Of a loop of its own with another inside: what the copies of each iteration read
 * next, some rows of it, a line each. */
static void test_own_rows(void **state)
{
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch);
	enum { ROWS_ = 4, ROW = 64 };
	(void)state;
	watch_panel_of(arena, PRODUCT("1"),
	    "k0, k1 = split(c.k, [_, 4])\nj0, j1 = split(c.j, [_, 16])\n"
	    "reorder(c.i, k0, j0, k1, j1)\nunroll(k1)\nvectorize(j1, 16)\n"
	    "decompose_reduction(c, k0)\nprefetch(c, b, k0, 2)\n",
	    1 << 20, 3, w);
	for (int64_t at = 0; at < MOST; at += LINE_FLOATS)
		assert_int_equal(w->asked[at / LINE_FLOATS],
		    at >= 5 * ROWS_ * ROW && at < 6 * ROWS_ * ROW);
	assert_int_equal(w->most_at_once, ROWS_);
	arena_free(arena);
}

/* Windows along the lanes: of each row that the next step reads all lines, once each,
 * whether the loop over a window runs or is in code; where they are not known, the
 * line that its last element may begin. */
#define WINDOWS(FIRST)                                                         \
	"tunec: 1\nname: w\nparams: {}\n"                                      \
	"inputs: {x: 'f32[25, 1024]', w: 'f32[24, 3]'}\ncompute: |\n"          \
	"  y[j < 48] = sum[c < 24, s < 3](x[c, j + s + " FIRST "]*w[c, s])\n"
#define WINDOW_TILE                                                            \
	"acc = cache_write(y, reg)\nj0, j1 = split(y.j, [_, 16])\n"            \
	"vectorize(j1, 16)\ncompute_at(acc, j0)\n"                             \
	"l0, l1 = split(acc.j, [_, 16])\nreorder(acc.c, acc.s, l0, l1)\n"      \
	"unroll(l0)\nvectorize(l1, 16)\n"

static int lines_of_windows(const char *product, const char *text, Watch *w)
{
	Arena *arena = arena_new();
	int n = 0;
	watch_level(arena, product, text, 1 << 20, 1, 1, w);
	for (int i = 0; i < MOST; i++)
		n += w->asked[i];
	arena_free(arena);
	return n;
}

static void test_windows(void **state)
{
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch);
	enum { ROW_LINES = 1024 / LINE_FLOATS, STEPS = 24 };
	static const char *const tiles[] = {
	    WINDOW_TILE, WINDOW_TILE "unroll(acc.s)\n"};
	(void)state;
	for (int t = 0; t < 2; t++) {
		assert_int_equal(
		    lines_of_windows(WINDOWS("0"), tiles[t], w), 2 * STEPS);
		for (int c = 1; c <= STEPS; c++)
			assert_true(w->asked[c * ROW_LINES + 1] &&
			    w->asked[c * ROW_LINES + 2]);
		assert_int_equal(w->most_at_once, 2);
		/* elements 21 to 38 */
		assert_int_equal(
		    lines_of_windows(WINDOWS("5"), tiles[t], w), 2 * STEPS);
		assert_int_equal(w->most_at_once, 2);
	}
	/* of what is inlined it is what that reads */
	assert_int_equal(
	    lines_of_windows(
		"tunec: 1\nname: w\nparams: {}\n"
		"inputs: {x: 'f32[25, 1024]', w: 'f32[24, 3]'}\ncompute: |\n"
		"  p[c < 25, i < 64] = x[c, i]*2\n"
		"  y[j < 48] = sum[c < 24, s < 3](p[c, j + s]*w[c, s])\n"
		"outputs: [y]\n",
		"acc = cache_write(y, reg)\nj0, j1 = split(y.j, [_, 16])\n"
		"vectorize(j1, 16)\ncompute_at(acc, j0)\n"
		"l0, l1 = split(acc.j, [_, 16])\n"
		"reorder(acc.c, acc.s, l0, l1)\nunroll(l0)\nvectorize(l1, 16)\n"
		"compute_inline(p)\n",
		w),
	    2 * STEPS);
	/* more rows than are asked for at once */
	assert_int_equal(
	    lines_of_windows(WINDOWS("0"),
		"acc = cache_write(y, reg)\nj0, j1 = split(y.j, [_, 16])\n"
		"vectorize(j1, 16)\ncompute_at(acc, j0)\n"
		"c0, c1 = split(acc.c, [_, 12])\n"
		"l0, l1 = split(acc.j, [_, 16])\n"
		"reorder(c0, c1, acc.s, l0, l1)\nunroll(c1)\nunroll(acc.s)\n"
		"unroll(l0)\nvectorize(l1, 16)\n",
		w),
	    0);
	arena_free(arena);
}

/* Rows of which something is computed for each row of what reads it: a function
 * takes long enough to ask for the next row. */
#define OF_ROWS(E)                                                             \
	"tunec: 1\nname: rows\nparams: {}\n"                                   \
	"inputs: {x: 'f32[8, 64]'}\ncompute: |\n"                              \
	"  e[i < 8, j < 64] = " E "\n  y[i < 8, j < 64] = e[i, j] + 1\n"       \
	"outputs: [y]\n"

static void test_rows_of_functions(void **state)
{
	static const char steps[] =
	    "compute_at(e, y.i)\nj0, j1 = split(e.j, [_, 16])\n"
	    "vectorize(j1, 16)\nprefetch(e, x, y.i, 1)\n";
	Arena *arena = arena_new();
	Watch *w = NEW(arena, Watch);
	enum { ROW = 64 };
	(void)state;
	watch_panel_of(
	    arena, OF_ROWS("exp(x[i, j])"), steps, 1 << 20, 3, w);
	for (int64_t at = 0; at < MOST; at += LINE_FLOATS)
		assert_int_equal(w->asked[at / LINE_FLOATS],
		    at >= 4 * ROW && at < 5 * ROW);
	assert_int_equal(w->most_at_once, 1);
	watch_panel_of(arena, OF_ROWS("x[i, j]*2"), steps, 1 << 20, 3, w);
	assert_int_equal(w->most_at_once, 0);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_next_panel),
	    cmocka_unit_test(test_loop_of_one),
	    cmocka_unit_test(test_two_ahead),
	    cmocka_unit_test(test_too_large),
	    cmocka_unit_test(test_what_stays),
	    cmocka_unit_test(test_all_stays),
	    cmocka_unit_test(test_used_once),
	    cmocka_unit_test(test_own_rows),
	    cmocka_unit_test(test_windows),
	    cmocka_unit_test(test_rows_of_functions),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
