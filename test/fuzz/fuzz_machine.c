/* The reader of --machine: it gives an error that names a line, or a row which
 * prints as what reads as the same row. */
#include "test/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "ir/costs.h"

const char fuzz_name[] = "machine";
const char *const fuzz_seeds[] = {NULL};
const int fuzz_rounds = 20000;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CostsFile row, again;
	Error error = {0};
	Buf text = {0};
	if (costs_parse("m.row", (const char *)data, size, &row, &error)) {
		fuzz_require(!strncmp(error.text, "m.row:", 6),
		    "refused without a place: %s", error.text);
		return 0;
	}
	costs_print(&text, row.cpu, &row.costs, "");
	fuzz_require(
	    !costs_parse("again", text.data, text.size, &again, &error),
	    "%s", error.text);
	fuzz_require(
	    !strcmp(row.name, again.name), "%s is %s", row.name, again.name);
	buf_free(&text);
	return 0;
}
