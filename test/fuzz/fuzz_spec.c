/* The reader of operator files: whatever the text, it ends soon, reads within
 * its bounds, and gives either messages or, for each case, a program that the
 * verifier accepts or messages why there is none.  The same text gives the same
 * canonical text. */
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

const char fuzz_name[] = "spec";
const char *const fuzz_seeds[] = {
    "workloads", "test/error", "test/golden/ir", NULL};
const int fuzz_rounds = 20000;

static Program *program_of(Arena *arena, Spec *spec, int i, Diag *diag)
{
	int errors = diag->errors;
	Program *p =
	    spec_program(arena, spec, i < 0 ? "" : spec_case(spec, i)->name,
		NULL, 0, NUMERICS_DEFAULT, diag);
	fuzz_require(!p || diag->errors == errors, "a program and a message");
	fuzz_require(p || diag->errors, "no program and no message");
	return p;
}

static void try_case(Arena *arena, Spec *spec, int i, Diag *diag)
{
	char why[256];
	Program *p = program_of(arena, spec, i, diag);
	if (!p)
		return;
	fuzz_require(program_verify(p, why, sizeof why), "%s", why);
	Program *again = program_of(arena, spec, i, diag);
	fuzz_require(again && !strcmp(p->op_text, again->op_text) &&
		!strcmp(p->op, again->op),
	    "read twice, not the same");
	Buf out = {0};
	program_print(&out, p);
	buf_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text(data, size);
	Arena *arena = arena_new();
	Diag diag = {0};
	Source source = {"fuzz", text, size};
	Spec *spec = spec_parse(arena, &source, &diag);
	fuzz_require(spec || diag.errors, "refused without a message");
	fuzz_require(!spec || !diag.errors, "accepted with a message");
	for (int i = -1; spec && i < spec_ncases(spec); i++)
		try_case(arena, spec, i, &diag);
	diag_free(&diag);
	arena_free(arena);
	free(text);
	return 0;
}
