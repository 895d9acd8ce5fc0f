/* Nests written by hand: what is inferred, what is refused, and that running
 * them step by step gives what the plain nest gives. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "test/common_nest.h"
#include "test/common_program.h"

typedef struct {
	Arena *arena;
	Program *program;
	Tape *tape;
	Nest *nest;
} Case;

static Case start(Arena *arena, Program *program)
{
	Tape *tape = tape_new(arena);
	return (Case){arena, program, tape, nest_new(arena, program, tape)};
}

static Case matmul(int m, int n, int k)
{
	Arena *arena = arena_new();
	return start(arena, program_matmul(arena, m, n, k));
}

static Case conv(int c, int x, int o, int stride)
{
	Arena *arena = arena_new();
	return start(arena, program_conv(arena, c, x, o, stride));
}

static Handle num(Case *t, int64_t value)
{
	return tape_const(t->tape, value);
}

static void split(Case *t, const char *loop, Handle factor, const char *outer,
    const char *inner)
{
	edit_split(t->nest, loop, 1, &factor, (const char *[]){outer, inner});
}

static void check_guards(Case *t)
{
	for (int i = 0; i < t->nest->guards.n; i++) {
		int64_t value;
		const Guard *g = &t->nest->guards.at[i];
		if (tape_is_const(t->tape, g->value, &value) && !value)
			fail_msg("guard: %s", g->why);
	}
}

/* Accepted, and gives what the plain nest gives. */
static void same_as_plain(Case *t)
{
	char message[256] = "";
	const char *why = NULL;
	Nest *plain = nest_new(t->arena, t->program, t->tape);
	if (!nest_infer(t->nest, &why) || !nest_verify(t->nest, &why))
		fail_msg("refused: %s", why);
	check_guards(t);
	assert_true(nest_infer(plain, &why) && nest_verify(plain, &why));
	double *want = nest_simulate(plain, 7, message, sizeof message);
	if (!want)
		fail_msg("plain: %s", message);
	double *got = nest_simulate(t->nest, 7, message, sizeof message);
	if (!got) {
		Buf b = {0};
		nest_print(&b, t->nest);
		print_error("%s", buf_text(&b));
		buf_free(&b);
		fail_msg("%s", message);
	}
	int out = t->program->outputs[0];
	int64_t n = tape_value(t->tape, plain->buffers.at[out].elements);
	for (int64_t i = 0; i < n; i++)
		if (got[i] != want[i])
			fail_msg("element %d differs", (int)i);
	arena_free(t->arena);
}

static void refused(Case *t, const char *part)
{
	const char *why = NULL;
	if (nest_infer(t->nest, &why) && nest_verify(t->nest, &why))
		fail_msg("accepted, but: %s", part);
	if (!strstr(why, part))
		fail_msg("refused for another reason: %s", why);
	arena_free(t->arena);
}

static const Var *var(Case *t, const char *name)
{
	return &t->nest->vars.at[nest_find_loop(t->nest, name)];
}

static const StageAxis *axis(Case *t, const char *stage, int number)
{
	return &t->nest->stages.at[nest_find_stage(t->nest, stage)]
		    .axes[number];
}

static const NestBuffer *held_by(Case *t, const char *stage)
{
	int s = nest_find_stage(t->nest, stage);
	return &t->nest->buffers.at[t->nest->stages.at[s].buffer];
}

static void infer(Case *t)
{
	const char *why;
	if (!nest_infer(t->nest, &why))
		fail_msg("refused: %s", why);
}

/* --- what is inferred ----------------------------------------------------- */

static void plain_nest(void **state)
{
	(void)state;
	Case t = matmul(7, 5, 3);
	infer(&t);
	assert_int_equal(tape_value(t.tape, var(&t, "c.i")->extent), 7);
	assert_false(axis(&t, "c", 0)->above);
	assert_int_equal(
	    tape_value(t.tape, t.nest->buffers.at[2].parts[0].stride), 5);
	same_as_plain(&t);
}

static void tiled(Case *t, Handle mi, Handle ni)
{
	split(t, "c.i", mi, "mo", "mi");
	split(t, "c.j", ni, "no", "ni");
	edit_order(
	    t->nest, "c", (const char *[]){"mo", "no", "c.k", "mi", "ni"});
}

static void split_rounds_up(void **state)
{
	(void)state;
	Case t = matmul(13, 32, 5);
	tiled(&t, num(&t, 6), num(&t, 8));
	infer(&t);
	assert_int_equal(tape_value(t.tape, var(&t, "mo")->extent), 3);
	assert_true(axis(&t, "c", 0)->above);
	assert_false(axis(&t, "c", 0)->below);
	assert_false(axis(&t, "c", 1)->above);
	same_as_plain(&t);
}

/* With slots: the copy at mo starts at mo*mi and takes mi rows. */
static void slots_in_regions(void **state)
{
	(void)state;
	Case t = matmul(1009, 512, 100);
	Handle f = tape_slot(t.tape, 0), g = tape_slot(t.tape, 1);
	tiled(&t, f, g);
	edit_copy(t.nest, "c", "a", "ap", SCOPE_LOCAL);
	edit_place(t.nest, "ap", "mo", false);
	infer(&t);
	const NestBuffer *ap = held_by(&t, "ap");
	assert_int_equal(ap->extent[0], f);
	assert_int_equal(tape_value(t.tape, ap->extent[1]), 100);
	assert_int_equal(ap->elements, tape_mul(t.tape, f, num(&t, 100)));
	assert_int_equal(
	    var(&t, "mo")->extent, tape_ceildiv(t.tape, num(&t, 1009), f));
	assert_true(axis(&t, "ap", 0)->above);
	assert_false(axis(&t, "ap", 0)->below);
	assert_null(ap->start[1]);
	assert_int_equal(ap->alloc, nest_find_loop(t.nest, "mo"));
	const char *why;
	assert_true(nest_verify(t.nest, &why));
	assert_int_equal(t.nest->guards.n, 0);
	arena_free(t.arena);
}

static void set_layout(Case *t, const char *stage, int n, LayoutPart *parts)
{
	int s = nest_find_stage(t->nest, stage);
	NestBuffer *b = &t->nest->buffers.at[t->nest->stages.at[s].buffer];
	b->nparts = n;
	b->parts = arena_memdup(t->arena, parts, sizeof *parts * (size_t)n);
}

static void set_fill(Case *t, const char *stage)
{
	t->nest->stages.at[nest_find_stage(t->nest, stage)].fill =
	    expr_float(t->arena, DT_F32, 0);
}

static void set_tail(Case *t, const char *stage, TailStyle style)
{
	t->nest->stages.at[nest_find_stage(t->nest, stage)].tail = style;
}

/* Both operands packed in reading order, b ahead of the kernel; the tile in
 * registers; rows and columns past the end computed on zeros. */
static void packed_matmul(Case *t, Handle mi, Handle ni)
{
	Handle one = num(t, 1);
	tiled(t, mi, ni);
	edit_copy(t->nest, "c", "a", "ap", SCOPE_LOCAL);
	edit_place(t->nest, "ap", "mo", false);
	set_layout(t, "ap", 2,
	    (LayoutPart[]){
		{1, one, HANDLE_NONE, 0, 0}, {0, one, HANDLE_NONE, 0, 0}});
	edit_copy(t->nest, "c", "b", "bp", SCOPE_GLOBAL);
	set_layout(t, "bp", 3,
	    (LayoutPart[]){{1, ni, HANDLE_NONE, 0, 0},
		{0, one, HANDLE_NONE, 0, 0}, {1, one, ni, 0, 0}});
	edit_cache(t->nest, "c", "acc", SCOPE_REG);
	edit_place(t->nest, "c", "no", true);
	edit_kind(t->nest, "mi", LOOP_UNROLL);
	edit_kind(t->nest, "ni", LOOP_VECTOR);
	edit_kind(t->nest, "c.x0", LOOP_UNROLL);
	edit_kind(t->nest, "c.x1", LOOP_VECTOR);
	edit_kind(t->nest, "mo", LOOP_PARALLEL);
	set_fill(t, "ap");
	set_fill(t, "bp");
	set_tail(t, "acc", TAIL_PAD);
}

static void packing(void **state)
{
	(void)state;
	Case t = matmul(13, 21, 5);
	packed_matmul(&t, num(&t, 6), num(&t, 8));
	infer(&t);
	assert_true(t.nest->stages.at[nest_find_stage(t.nest, "bp")].ahead);
	assert_false(t.nest->stages.at[nest_find_stage(t.nest, "ap")].ahead);
	assert_int_equal(
	    tape_value(t.tape, held_by(&t, "bp")->elements), 24 * 5);
	assert_int_equal(tape_value(t.tape, held_by(&t, "acc")->elements), 48);
	assert_int_equal(
	    held_by(&t, "acc")->alloc, nest_find_loop(t.nest, "no"));
	same_as_plain(&t);
}

static void packing_of_many_shapes(void **state)
{
	static const int sizes[] = {1, 2, 7, 16, 19};
	(void)state;
	for (int i = 0; i < 5 * 5 * 8; i++) {
		int m = sizes[i % 5], n = sizes[i / 5 % 5], k = i / 25;
		Case t = matmul(m, n, k + 1);
		packed_matmul(&t, num(&t, 1 + k % 6), num(&t, 8));
		if (k % 2) {
			split(&t, "c.k", num(&t, 3), "ko", "ki");
			edit_order(t.nest, "acc",
			    (const char *[]){
				"mo", "no", "ko", "ki", "mi", "ni"});
		}
		if (k % 3 == 0)
			edit_place(t.nest, "bp", "no", false);
		if (k % 3 == 0)
			t.nest->buffers.at[t.nest->buffers.n - 2].scope =
			    SCOPE_LOCAL;
		same_as_plain(&t);
	}
}

static void packing_with_slots(void **state)
{
	(void)state;
	Case t = matmul(127, 257, 131);
	const char *why;
	packed_matmul(&t, tape_slot(t.tape, 0), tape_slot(t.tape, 1));
	edit_kind(t.nest, "c.x1", LOOP_UNROLL);
	infer(&t);
	if (!nest_verify(t.nest, &why))
		fail_msg("%s", why);
	assert_int_equal(t.nest->guards.n, 0);
	arena_free(t.arena);
}

/* The halo of a convolution: 4 pixels of stride 2 read 9. */
static void halo(void **state)
{
	(void)state;
	Case t = conv(3, 17, 4, 2);
	split(&t, "out.x", num(&t, 4), "xo", "xi");
	edit_order(t.nest, "out", (const char *[]){"xo", "out.o", "xi"});
	edit_place(t.nest, "conv", "xo", false);
	edit_place(t.nest, "padded", "xo", false);
	infer(&t);
	assert_int_equal(tape_value(t.tape, axis(&t, "conv", 1)->region), 4);
	assert_int_equal(tape_value(t.tape, axis(&t, "padded", 1)->region), 9);
	assert_true(axis(&t, "padded", 1)->above);
	assert_false(axis(&t, "padded", 1)->below);
	same_as_plain(&t);
}

static void halo_with_slots(void **state)
{
	(void)state;
	Case t = conv(3, 64, 4, 1);
	Handle f = tape_slot(t.tape, 0);
	split(&t, "conv.x", f, "xo", "xi");
	edit_order(t.nest, "conv",
	    (const char *[]){"xo", "conv.o", "conv.c", "conv.r", "xi"});
	edit_place(t.nest, "padded", "conv.o", false);
	infer(&t);
	assert_int_equal(
	    axis(&t, "padded", 1)->region, tape_add(t.tape, f, num(&t, 2)));
	arena_free(t.arena);
}

/* A copy of what is read at 1 <= x: the hull starts below the input. */
static void copy_below_zero(void **state)
{
	(void)state;
	Case t = conv(2, 9, 2, 1);
	edit_copy(t.nest, "padded", "data", "copy", SCOPE_GLOBAL);
	infer(&t);
	assert_true(axis(&t, "copy", 1)->below);
	assert_true(axis(&t, "copy", 1)->above);
	same_as_plain(&t);
}

static void quotients(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Case t = start(arena, program_quotient(arena, 22));
	split(&t, "out.i", num(&t, 5), "io", "ii");
	edit_place(t.nest, "half", "io", false);
	edit_copy(t.nest, "half", "x", "xh", SCOPE_LOCAL);
	edit_place(t.nest, "xh", "io", false);
	edit_copy(t.nest, "out", "x", "xm", SCOPE_LOCAL);
	edit_place(t.nest, "xm", "io", false);
	infer(&t);
	assert_int_equal(tape_value(t.tape, axis(&t, "xh", 0)->region), 4);
	assert_int_equal(tape_value(t.tape, axis(&t, "xm", 0)->region), 4);
	same_as_plain(&t);
}

static void fused_loops(void **state)
{
	(void)state;
	Case t = matmul(13, 21, 5);
	tiled(&t, num(&t, 4), num(&t, 8));
	edit_fuse(t.nest, "mo", "no", "tile");
	edit_kind(t.nest, "tile", LOOP_PARALLEL);
	edit_copy(t.nest, "c", "b", "bp", SCOPE_LOCAL);
	edit_place(t.nest, "bp", "tile", false);
	infer(&t);
	assert_int_equal(tape_value(t.tape, var(&t, "tile")->extent), 12);
	same_as_plain(&t);
}

static void fused_then_split(void **state)
{
	(void)state;
	Case t = matmul(12, 16, 5);
	edit_fuse(t.nest, "c.i", "c.j", "f");
	split(&t, "f", num(&t, 8), "fo", "fi");
	edit_kind(t.nest, "fo", LOOP_PARALLEL);
	edit_kind(t.nest, "fi", LOOP_VECTOR);
	edit_order(t.nest, "c", (const char *[]){"fo", "c.k", "fi"});
	same_as_plain(&t);
}

static void consumer_after(void **state)
{
	(void)state;
	Case t = conv(3, 17, 4, 1);
	split(&t, "conv.x", num(&t, 4), "xo", "xi");
	edit_order(t.nest, "conv",
	    (const char *[]){"xo", "conv.o", "conv.c", "conv.r", "xi"});
	edit_place(t.nest, "out", "conv.o", true);
	edit_kind(t.nest, "xo", LOOP_PARALLEL);
	infer(&t);
	assert_int_equal(tape_value(t.tape, axis(&t, "out", 0)->region), 1);
	assert_int_equal(tape_value(t.tape, axis(&t, "out", 1)->region), 4);
	assert_true(axis(&t, "out", 1)->above);
	same_as_plain(&t);
}

/* Three levels of a copy's copy, and a split below a region. */
static void nested_places(void **state)
{
	(void)state;
	Case t = conv(4, 19, 6, 2);
	split(&t, "conv.x", num(&t, 4), "xo", "xi");
	split(&t, "conv.c", num(&t, 3), "co", "ci");
	edit_order(t.nest, "conv",
	    (const char *[]){"xo", "co", "conv.o", "ci", "conv.r", "xi"});
	edit_place(t.nest, "padded", "xo", false);
	edit_copy(t.nest, "conv", "padded", "pp", SCOPE_LOCAL);
	edit_place(t.nest, "pp", "co", false);
	split(&t, "pp.x1", num(&t, 4), "po", "pi");
	split(&t, "padded.x", num(&t, 2), "qo", "qi");
	same_as_plain(&t);
}

/* A definition that is padded itself: rounded up to its reader's tile. */
static void padded_definition(void **state)
{
	(void)state;
	Case t = conv(5, 17, 4, 1);
	split(&t, "conv.c", num(&t, 4), "co", "ci");
	edit_copy(t.nest, "conv", "weight", "wp", SCOPE_GLOBAL);
	set_fill(&t, "padded");
	set_fill(&t, "wp");
	set_tail(&t, "conv", TAIL_PAD);
	infer(&t);
	assert_int_equal(
	    tape_value(t.tape, held_by(&t, "padded")->extent[0]), 8);
	same_as_plain(&t);
}

/* A tile that the threads of a block fill together and read after a barrier. */
static void shared_tile(void **state)
{
	(void)state;
	for (int barrier = 0; barrier < 2; barrier++) {
		Case t = matmul(12, 3, 8);
		split(&t, "c.i", num(&t, 4), "bx", "tx");
		split(&t, "c.k", num(&t, 4), "ko", "ki");
		edit_order(t.nest, "c",
		    (const char *[]){"bx", "ko", "tx", "c.j", "ki"});
		edit_kind(t.nest, "bx", LOOP_BLOCK_X);
		edit_kind(t.nest, "tx", LOOP_THREAD_X);
		int copy = edit_copy(t.nest, "c", "a", "tile", SCOPE_SHARED);
		edit_place(t.nest, "tile", "ko", false);
		edit_kind(t.nest, "tile.x0", LOOP_THREAD_X);
		t.nest->stages.at[copy].barrier = barrier;
		if (barrier)
			same_as_plain(&t);
		else
			refused(&t, "a thread reads what another wrote");
	}
}

/* --- what is refused ------------------------------------------------------ */

static void refusals_of_loops(void **state)
{
	(void)state;
	Case t = matmul(8, 8, 8);
	edit_kind(t.nest, "c.k", LOOP_PARALLEL);
	refused(&t, "iterations of a reduction would run at once");
	t = matmul(8, 12, 8);
	edit_kind(t.nest, "c.j", LOOP_VECTOR);
	refused(&t, "a vector loop has 1, 2, 4");
	t = matmul(8, 8, 8);
	edit_kind(t.nest, "c.i", LOOP_PARALLEL);
	edit_kind(t.nest, "c.j", LOOP_PARALLEL);
	refused(&t, "a parallel loop is below a parallel loop");
	t = matmul(8, 8, 8);
	edit_kind(t.nest, "c.i", LOOP_PARALLEL);
	edit_kind(t.nest, "c.j", LOOP_THREAD_X);
	refused(&t, "a parallel loop is beside a GPU's");
	t = matmul(8, 8, 8);
	edit_kind(t.nest, "c.i", LOOP_THREAD_X);
	edit_kind(t.nest, "c.j", LOOP_BLOCK_X);
	refused(&t, "a block loop is below a thread loop");
	t = matmul(8, 8, 8);
	split(&t, "c.i", num(&t, 4), "io", "ii");
	split(&t, "ii", num(&t, 3), "a", "b");
	refused(&t, "the tile does not divide");
	t = matmul(8, 8, 8);
	split(&t, "c.k", num(&t, 4), "ko", "ki");
	t.nest->stages.at[0].init_at = nest_find_loop(t.nest, "ki");
	refused(&t, "initialized inside of one of its loops");
	t = matmul(8, 8, 8);
	edit_kind(t.nest, "c.i", LOOP_VECTOR);
	edit_copy(t.nest, "c", "a", "ap", SCOPE_LOCAL);
	edit_place(t.nest, "ap", "c.i", false);
	refused(&t, "a block is placed below a vector loop");
}

static void refusals_of_places(void **state)
{
	(void)state;
	Case t = conv(3, 17, 4, 1);
	edit_place(t.nest, "out", "conv.c", true);
	refused(&t, "reduction that is not complete");
	t = conv(3, 17, 4, 1);
	edit_place(t.nest, "padded", "out.x", false);
	refused(&t, "not below the place where it is computed");
	t = conv(3, 17, 4, 1);
	edit_place(t.nest, "conv", "out.x", true);
	refused(&t, "reads what is only computed after it");
	t = conv(3, 17, 4, 1);
	edit_place(t.nest, "padded", "out.x", true);
	refused(&t, "blocks beside each other have other axes");
	t = conv(3, 17, 4, 1);
	edit_place(t.nest, "out", "conv.x", false);
	refused(&t, "output is computed whole");
	t = conv(3, 17, 4, 1);
	t.nest->order.at[0] = 1;
	t.nest->order.at[1] = 0;
	refused(&t, "reads what is only computed after it");
}

static void refusals_of_buffers(void **state)
{
	(void)state;
	Case t = matmul(8, 8, 8);
	edit_cache(t.nest, "c", "acc", SCOPE_REG);
	refused(&t, "register buffer moves with a loop");
	t = conv(3, 17, 4, 1);
	edit_place(t.nest, "padded", "conv.o", false);
	edit_kind(t.nest, "conv.o", LOOP_PARALLEL);
	refused(&t, "global buffer is made anew below a parallel loop");
	t = matmul(8, 8, 8);
	edit_copy(t.nest, "c", "a", "ap", SCOPE_LOCAL);
	edit_kind(t.nest, "c.i", LOOP_PARALLEL);
	refused(&t, "a buffer of one thread is used below a parallel loop");
}

static void refusals_of_padding(void **state)
{
	(void)state;
	Case t = matmul(13, 8, 8);
	split(&t, "c.i", num(&t, 4), "io", "ii");
	set_tail(&t, "c", TAIL_PAD);
	refused(&t, "a padded tail writes an output");
	t = matmul(13, 21, 5);
	packed_matmul(&t, num(&t, 6), num(&t, 8));
	t.nest->stages.at[nest_find_stage(t.nest, "ap")].fill = NULL;
	refused(&t, "a padded tail reads what is not padded");
	/* a copy is not rounded up for what follows its own loops */
	for (int follows = 0; follows < 2; follows++) {
		t = matmul(8, 8, 13);
		edit_copy(t.nest, "c", "a", "ap", SCOPE_LOCAL);
		edit_copy(t.nest, "c", "ap", "aq", SCOPE_GLOBAL);
		set_fill(&t, "ap");
		split(&t, "aq.x1", num(&t, 4), "xo", "xi");
		set_tail(&t, "aq", TAIL_PAD);
		if (!follows) {
			same_as_plain(&t);
			continue;
		}
		edit_place(t.nest, "aq", "ap.x0", true);
		refused(&t, "a padded tail reads what is not padded for it");
	}
	/* a padded reduction: 0*0 is no more than 0, 0*x may be NaN */
	for (int both = 0; both < 2; both++) {
		t = matmul(4, 4, 13);
		split(&t, "c.k", num(&t, 4), "ko", "ki");
		edit_copy(t.nest, "c", "a", "ap", SCOPE_GLOBAL);
		edit_copy(t.nest, "c", "b", "bp", SCOPE_GLOBAL);
		set_fill(&t, "ap");
		set_fill(&t, "bp");
		set_tail(&t, "c", TAIL_PAD);
		if (both) {
			same_as_plain(&t);
			continue;
		}
		t.nest->stages.at[nest_find_stage(t.nest, "bp")].fill =
		    expr_float(t.arena, DT_F32, 1);
		t.nest->stages.at[nest_find_stage(t.nest, "ap")].fill =
		    expr_float(t.arena, DT_F32, 1);
		refused(&t, "adds more than its identity");
	}
}

/* The same questions with slots become guards that hold where numbers do. */
static void guards(void **state)
{
	(void)state;
	for (int f = 1; f <= 8; f++) {
		Case t = matmul(8, 8, 8), n = matmul(8, 8, 8);
		const char *why = NULL;
		int64_t slots[1] = {f};
		Case *both[2] = {&t, &n};
		for (int i = 0; i < 2; i++) {
			Case *x = both[i];
			Handle factor = i ? num(x, f) : tape_slot(x->tape, 0);
			split(x, "c.i", num(x, 4), "io", "ii");
			split(x, "ii", factor, "a", "b");
			set_tail(x, "c", TAIL_PAD);
		}
		bool accepted =
		    nest_infer(n.nest, &why) && nest_verify(n.nest, &why);
		assert_true(
		    nest_infer(t.nest, &why) && nest_verify(t.nest, &why));
		int64_t *values = NEW_N(t.arena, int64_t, tape_size(t.tape));
		bool hold = true;
		tape_eval(t.tape, slots, values);
		for (int i = 0; i < t.nest->guards.n; i++)
			hold &= values[t.nest->guards.at[i].value] == 1;
		assert_int_equal(hold, accepted);
		assert_int_equal(accepted, 4 % f == 0);
		arena_free(t.arena);
		arena_free(n.arena);
	}
}

/* A sum of as many terms as a file can have goes no deeper than its halves do,
 * and is the same terms again; what cancels out is gone. */
static void many_terms(void **state)
{
	enum { TERMS = 60000, FEW = 1000 };
	(void)state;
	Arena *arena = arena_new();
	Tape *tape = tape_new(arena);
	Affine sum = {
	    tape_const(tape, 3), TERMS, NEW_N(arena, AffineTerm, TERMS)};
	for (int i = 0; i < TERMS; i++)
		sum.terms[i] = (AffineTerm){
		    expr_var(arena, i), tape_const(tape, i % 5 + 1)};
	Expr *e = affine_expr(arena, tape, sum);
	int depth = 0;
	for (const Expr *left = e; left->narg; left = left->arg[0])
		depth++;
	assert_true(depth < FEW);
	Affine again = affine_of(arena, tape, e);
	assert_int_equal(again.n, TERMS);
	for (int i = 0; i < TERMS; i++)
		assert_true(again.terms[i].term == sum.terms[i].term &&
		    again.terms[i].coefficient == sum.terms[i].coefficient);
	Affine zero = affine_of(arena, tape, expr_binary(arena, OP_SUB, e, e));
	assert_int_equal(zero.n, 0);
	arena_free(arena);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(plain_nest),
	    cmocka_unit_test(split_rounds_up),
	    cmocka_unit_test(slots_in_regions),
	    cmocka_unit_test(packing),
	    cmocka_unit_test(packing_of_many_shapes),
	    cmocka_unit_test(packing_with_slots),
	    cmocka_unit_test(halo),
	    cmocka_unit_test(halo_with_slots),
	    cmocka_unit_test(copy_below_zero),
	    cmocka_unit_test(quotients),
	    cmocka_unit_test(fused_loops),
	    cmocka_unit_test(fused_then_split),
	    cmocka_unit_test(consumer_after),
	    cmocka_unit_test(nested_places),
	    cmocka_unit_test(shared_tile),
	    cmocka_unit_test(padded_definition),
	    cmocka_unit_test(refusals_of_loops),
	    cmocka_unit_test(refusals_of_places),
	    cmocka_unit_test(refusals_of_buffers),
	    cmocka_unit_test(refusals_of_padding),
	    cmocka_unit_test(guards),
	    cmocka_unit_test(many_terms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
