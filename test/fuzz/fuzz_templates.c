/* The reader of a spec's `schedule:`, whose text the input is: it gives
 * messages, or traces with names, each of which prints as what it reads; the
 * settings of the same text are read or refused. */
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

const char fuzz_name[] = "templates";
const char *const fuzz_seeds[] = {"test/fuzz/corpus/trace", NULL};
const int fuzz_rounds = 3000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	Arena *arena = arena_new();
	Diag diag = {0};
	NamedTraceVec out = {0};
	Source source = {"fuzz", text, size};
	Program p = *fuzz_program();
	p.source = &source;
	p.schedule_text = text;
	p.schedule_span = (Span){0, size};
	bool good = templates_parse(arena, &p, &diag, &out);
	fuzz_require(good == !diag.errors, "%d messages, and %s", diag.errors,
	    good ? "accepted" : "refused");
	for (int i = 0; good && i < out.n; i++) {
		fuzz_require(*out.at[i].name, "a template without a name");
		fuzz_trace(arena, out.at[i].trace);
	}
	diag_free(&diag);
	arena_free(arena);
	free(text);
	return 0;
}
