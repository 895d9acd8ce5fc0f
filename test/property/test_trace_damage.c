/* Traces with pieces exchanged at random: what is read prints as itself, in
 * text and JSON, and applying it gives a nest or a reason. */
#include "test/common_schedule.h"
#include "test/common_tier.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

enum { QUICK = 20000, LONG = 400000, MOST_CHANGES = 4 };

static const char *const texts[] = {
    "mo, mi = split(c.i, [_, 3])\njo, ji = split(c.j, [_, 8])\n"
    "reorder(mo, jo, c.k, mi, ji)\nap = cache_read(c, p)\n"
    "bp = cache_read(c, b)\ntransform_layout(ap, [x0//mi, x1, x0%mi])\n"
    "transform_layout(bp, [x1//(ji*1), x0, x1%ji])\npad(ap, 0)\npad(bp, 0)\n"
    "compute_inline(p)\ncompute_at(ap, mo)\ncw = cache_write(c, reg)\n"
    "reverse_compute_at(c, jo)\nunroll(mi)\nvectorize(ji, lanes)\n",
    "ko, ki = split(c.k, ?=[_, 4] in tile(2, inner<=8))\nrf = rfactor(ki)\n"
    "parallel(rf.i)\nunroll(rf.ko, limit=?=4 in {2, 4})\nblockize(rf.j)\n"
    "tail(rf, ?=mask in {mask, peel})\n"
    "reverse_compute_inline(out)\nij = fuse(d.i, d.j)\nparallel(ij)\n",
    "compute_at(d, ?=inline in {inline, root})\ncompute_at(c, out.j)\n"
    "decompose_reduction(c, c.j)\nprefetch(c, b, c.k, 4)\n"
    "storage_align(p, 0, 8, 1)\nset_scope(p, local)\ncompute_at(p, c.i)\n"
    "bind(out.j, blockIdx.x)\ntensorize(c.k, dot4_u8i8)\n",
};

static const char *const pieces[] = {"c", "p", "d", "out", "a", "b", "bias",
    "c.i", "c.j", "c.k", "d.i", "out.j", "mi", "mo", "ki", "ap", "rf", "x0",
    "root", "inline", "lanes", "_", "0", "1", "4", "7", "2147483647",
    "9223372036854775807", "-1", "[", "]", "(", ")", "?", "=", ",", ";", "\n",
    "//", "%", "*", "in", "tile", "{", "}", "[_, 2]", "[_, 2, 2]", "#", "reg",
    "split", "fuse", "reorder", "cache_write", "compute_at", "rfactor", "pad"};

static const char *a_piece(Rng *rng)
{
	return pieces[rng_below(rng, sizeof pieces / sizeof *pieces)];
}

/* The text with some pieces left out, put in or replaced. */
static const char *damaged(Arena *arena, Rng *rng)
{
	const char *from = texts[rng_below(rng, 3)];
	size_t size = strlen(from);
	int changes = 1 + (int)rng_below(rng, MOST_CHANGES);
	Buf out = {0};
	const char *result;

	for (size_t at = 0, n; at < size; at += n) {
		uint64_t kind = rng_below(rng, size / (size_t)changes);
		n = word_piece(from + at);
		if (kind == 0) /* left out, together with the next */
			continue;
		if (kind < 3)
			buf_puts(&out, a_piece(rng));
		if (kind != 1)
			buf_add(&out, from + at, n);
	}
	result = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return result;
}

static char *printed(Arena *arena, const Trace *trace)
{
	Buf out = {0};
	char *text;

	trace_print(&out, trace);
	text = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return text;
}

static void check_read(Arena *arena, const Program *program, const Trace *t)
{
	const char *text = printed(arena, t);
	json_t *json = trace_to_json(t), *again;
	ApplyContext open = {.machine = &test_machine, .use_slots = true};
	Nest *nest = nest_new(arena, program, tape_new(arena));
	Error error;
	Trace *read = trace_from_json(arena, json, &error);
	Refusal why;
	int step;

	assert_string_equal(text, printed(arena, schedule_steps(arena, text)));
	if (!read)
		fail_msg("%s\n%s", error.text, text);
	again = trace_to_json(read);
	assert_true(json_equal(json, again));
	json_decref(again);
	json_decref(json);
	trace_localized(
	    arena, program, trace_canonical(arena, program, t), &error);
	schedule_nest(arena, program, &test_machine, t, &error);
	if (!trace_apply(nest, t, &open, &step, &why))
		assert_non_null(why);
}

static void test_damage(void **state)
{
	int rounds = tier_is_long() ? LONG : QUICK;
	int good = 0;

	(void)state;
	for (int i = 0; i < rounds; i++) {
		Arena *arena = arena_new();
		Rng rng = rng_stream(9, 4, (uint64_t)i);
		const char *text = damaged(arena, &rng);
		Source source = {"trace", text, strlen(text)};
		Diag diag = {0};
		Trace *t = trace_parse(
		    arena, &source, (Span){0, source.size}, &diag);
		assert_true(t || diag.errors);
		if (t)
			check_read(arena, schedule_chain(arena), t);
		good += t != NULL;
		diag_free(&diag);
		arena_free(arena);
	}
	print_message("%d of %d read\n", good, rounds);
	assert_true(good > rounds / 20 && good < rounds);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_damage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
