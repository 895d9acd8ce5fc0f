/* The two readers of a record's line: what line_parse accepts keeps its bytes
 * and its members are found by line_members, with the same values; printed from
 * its values, it reads as the same.  What it refuses has a reason, and
 * line_members ends on it all the same. */
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "tuner/internal.h"

const char fuzz_name[] = "line";
const char *const fuzz_seeds[] = {NULL};
const int fuzz_rounds = 20000;

static const char *const keys[] = {"tunec", "kind", "at", "id", "op", "target",
    "trace", "outcome", "time_s", "regime", "round", "by", "measure"};
enum { NKEYS = sizeof keys / sizeof *keys };

static bool is_ascii(const char *text)
{
	while (*text && !(*text & 0x80))
		text++;
	return !*text;
}

static void check_members(const Line *line)
{
	Member m[NKEYS];
	fuzz_require(line_members(line->text, line->size, keys, NKEYS, m),
	    "no members found");
	for (int i = 0; i < NKEYS; i++) {
		json_error_t why;
		json_t *want = json_object_get(line->json, keys[i]);
		fuzz_require(!m[i].at == !want, "member %s", keys[i]);
		if (!want)
			continue;
		json_t *found =
		    json_loadb(m[i].at, m[i].size, JSON_DECODE_ANY, &why);
		fuzz_require(json_equal(found, want), "value of %s", keys[i]);
		const char *text = json_string_value(want);
		if (text && is_ascii(text))
			fuzz_require(member_is(m[i], text), "%s is not '%s'",
			    keys[i], text);
		json_decref(found);
	}
}

static void check_printed(const Line *line)
{
	Buf out = {0};
	Error error = {0};
	Line again;
	json_print(&out, line->json);
	fuzz_require(!line_parse(buf_text(&out), out.size, &again, &error),
	    "printed, not read: %s\n%s", error.text, buf_text(&out));
	fuzz_require(json_equal(line->json, again.json), "printed otherwise");
	line_free(&again);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	Line line;
	Error error = {0};
	if (line_parse(text, size, &line, &error)) {
		Member m[NKEYS];
		fuzz_require(error.text[0], "refused without a reason");
		line_members(text, size, keys, NKEYS, m);
	} else {
		fuzz_require(
		    line.size <= size && !memcmp(text, line.text, line.size),
		    "other bytes");
		check_members(&line);
		check_printed(&line);
		line_id_matches(&line);
		line_concerns(&line, "");
		line_free(&line);
	}
	free(text);
	return 0;
}
