/* Stores as text, whatever the file holds: what fuzz_store says, and a writer
 * leaves every whole line of the file as it is. */
#include "test/fuzz/fuzz.h"

#include <string.h>

const char fuzz_name[] = "jsonl";
const char *const fuzz_seeds[] = {"test/fuzz/corpus/line", NULL};
const int fuzz_rounds = 500;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_path("store.jsonl");
	fuzz_write(path, data, size);
	fuzz_store(path);
	Buf after = fuzz_read(path);
	const uint8_t *newline = size ? memrchr(data, '\n', size) : NULL;
	size_t whole = newline ? (size_t)(newline + 1 - data) : 0;
	fuzz_require(
	    after.size >= whole && !memcmp(buf_text(&after), data, whole),
	    "the writer changed a line");
	buf_free(&after);
	return 0;
}
