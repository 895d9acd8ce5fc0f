/* Lines with random damage: reading them never fails otherwise than with a
 * reason, what is accepted keeps its bytes, and the two readers of a line, the
 * one that builds a tree and the one that does not, see the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"

enum { ROUNDS = 20000 };

static const char *const keys[] = {
    "tunec", "kind", "at", "id", "op", "trace", "time_s", "regime", "by"};
enum { NKEYS = sizeof keys / sizeof *keys };

static const char op[] =
    "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static Buf sample(Rng *rng)
{
	static const char *const texts[] = {
	    "", "a\\b", "\"q\"", "{[", "x\ny", "\xc3\xa9", "]}"};
	json_t *trace =
	    json_pack("[[s,i,[s,i]],{s:s}]", "split", (int)rng_below(rng, 100),
		texts[rng_below(rng, 7)], -1, "k", texts[rng_below(rng, 7)]);
	json_t *by = json_pack(
	    "{s:s,s:f}", "run", texts[rng_below(rng, 7)], "x", rng_double(rng));
	Line line;
	line_trial(&(Trial){.op = op,
		       .op_text = texts[rng_below(rng, 7)],
		       .name = "n",
		       .target = "c",
		       .trace = trace,
		       .by = by,
		       .outcome = OUTCOME_OK,
		       .time_s = rng_double(rng) + 1e-9,
		       .spread_s = 0},
	    &line);
	Buf out = {0};
	buf_add(&out, line.text, line.size);
	line_free(&line);
	json_decref(trace);
	json_decref(by);
	return out;
}

static void damage(Buf *text, Rng *rng)
{
	static const char bytes[] = "{}[]\",:\\ 0-e.nt\n\xff";
	for (uint64_t n = rng_below(rng, 4); n > 0; n--) {
		size_t at = rng_below(rng, text->size);
		switch (rng_below(rng, 3)) {
		case 0:
			text->data[at] =
			    bytes[rng_below(rng, sizeof bytes - 1)];
			break;
		case 1:
			memmove(text->data + at, text->data + at + 1,
			    text->size - at);
			text->size--;
			break;
		default:
			text->size = at + 1;
			text->data[text->size] = '\0';
		}
	}
}

/* The values found by line_members are those of the tree. */
static void check_members(const Line *line, uint64_t seed)
{
	Member m[NKEYS];
	if (!line_members(line->text, line->size, keys, NKEYS, m))
		fail_msg("seed %d: no members in %s", (int)seed, line->text);
	for (int i = 0; i < NKEYS; i++) {
		json_t *expected = json_object_get(line->json, keys[i]);
		if (!m[i].at != !expected)
			fail_msg("seed %d: %s", (int)seed, keys[i]);
		if (!expected)
			continue;
		json_error_t why;
		json_t *found =
		    json_loadb(m[i].at, m[i].size, JSON_DECODE_ANY, &why);
		if (!json_equal(found, expected))
			fail_msg("seed %d: %s of %s", (int)seed, keys[i],
			    line->text);
		json_decref(found);
	}
}

static void test_damage(void **state)
{
	(void)state;
	int accepted = 0;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		Rng rng = rng_stream(seed, 0, 0);
		Buf text = sample(&rng);
		damage(&text, &rng);
		Line line;
		Error error = {0};
		if (line_parse(text.data, text.size, &line, &error)) {
			Member m[NKEYS];
			assert_true(error.text[0]);
			line_members(text.data, text.size, keys, NKEYS, m);
		} else {
			accepted++;
			if (strncmp(text.data, line.text, line.size))
				fail_msg("seed %d: other bytes", (int)seed);
			check_members(&line, seed);
			line_free(&line);
		}
		buf_free(&text);
	}
	assert_in_range(accepted, ROUNDS / 5, ROUNDS * 4 / 5);
}

/* What is printed reads back as the same, and prints the same again. */
static void test_numbers(void **state)
{
	(void)state;
	for (uint64_t seed = 0; seed < ROUNDS; seed++) {
		Rng rng = rng_stream(seed, 1, 0);
		union {
			uint64_t bits;
			double x;
		} u = {rng_next(&rng)};
		if (!(u.x - u.x == 0))
			continue;
		Buf out = {0};
		json_t *json = json_real(u.x);
		json_print(&out, json);
		if (strtod(out.data, NULL) != u.x)
			fail_msg("seed %d: %s", (int)seed, out.data);
		json_decref(json);
		buf_free(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_damage),
	    cmocka_unit_test(test_numbers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
