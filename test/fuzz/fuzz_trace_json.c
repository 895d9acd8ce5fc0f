/* The reader of traces in records: it gives an error, or a trace for which
 * holds what fuzz_trace says, also after its names are those of the program. */
#include "test/fuzz/fuzz.h"
#include <jansson.h>

const char fuzz_name[] = "trace_json";
const char *const fuzz_seeds[] = {NULL};
const int fuzz_rounds = 5000;

static void try(Arena *arena, const json_t *json)
{
	Error error = {0};
	Trace *trace = trace_from_json(arena, json, &error);
	fuzz_require(trace || error.text[0], "refused without a reason");
	if (!trace)
		return;
	fuzz_trace(arena, trace);
	Trace *local = trace_localized(arena, fuzz_program(), trace, &error);
	fuzz_require(local || error.text[0], "refused without a reason");
	if (local)
		fuzz_trace(arena, local);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_error_t why;
	json_t *json =
	    json_loadb((const char *)data, size, JSON_DECODE_ANY, &why);
	Arena *arena = arena_new();
	if (json)
		try(arena, json);
	json_decref(json);
	arena_free(arena);
	return 0;
}
