/* The reader of schedule text: it gives messages, or a trace for which holds
 * what fuzz_trace says. */
#include "test/fuzz/fuzz.h"

#include <stdlib.h>

const char fuzz_name[] = "trace";
const char *const fuzz_seeds[] = {NULL};
const int fuzz_rounds = 5000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	Arena *arena = arena_new();
	Diag diag = {0};
	Source source = {"fuzz", text, size};
	Trace *trace = trace_parse(arena, &source, (Span){0, size}, &diag);
	fuzz_require(!trace == (diag.errors > 0), "%d messages and %s trace",
	    diag.errors, trace ? "a" : "no");
	if (trace)
		fuzz_trace(arena, trace);
	diag_free(&diag);
	arena_free(arena);
	free(text);
	return 0;
}
