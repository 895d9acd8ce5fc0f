/* The reader of --target: it gives an error, or a target whose canonical text
 * reads as the same target. */
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/codegen.h"

const char fuzz_name[] = "target";
const char *const fuzz_seeds[] = {NULL};
const int fuzz_rounds = 20000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size), why[256];
	Arena *arena = arena_new();
	Error error = {0};
	Target *t = target_parse(arena, text, &error);
	fuzz_require(t || error.text[0], "refused without a reason");
	if (t) {
		Target *again = target_parse(arena, t->text, &error);
		fuzz_require(again != NULL, "%s: %s", t->text, error.text);
		fuzz_require(!strcmp(t->text, again->text), "%s reads as %s",
		    t->text, again->text);
		fuzz_require(
		    !memcmp(&t->machine, &again->machine, sizeof t->machine),
		    "%s reads as another machine", t->text);
		target_runs_here_why(t, why, sizeof why);
	}
	arena_free(arena);
	free(text);
	return 0;
}
