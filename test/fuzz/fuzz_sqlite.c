/* Stores as SQLite files, whatever the file holds: what fuzz_store says.  An
 * input that is no such file is SQL that makes one, as the seeds are. */
#include "test/fuzz/fuzz.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char fuzz_name[] = "sqlite";
const char *const fuzz_seeds[] = {NULL};
const int fuzz_rounds = 200;

static int tired(void *context)
{
	return --*(int *)context < 0;
}

/* Only this file, and not for long. */
static void make(const char *path, const uint8_t *data, size_t size)
{
	int steps = 100;
	char *sql = fuzz_text(data, size);
	sqlite3 *db;
	fuzz_require(!sqlite3_open(path, &db), "cannot make %s", path);
	sqlite3_limit(db, SQLITE_LIMIT_ATTACHED, 0);
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 100000);
	sqlite3_progress_handler(db, 1000, tired, &steps);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_close(db);
	free(sql);
}

static void clean(const char *path)
{
	static const char *const beside[] = {"", "-wal", "-shm", "-journal"};
	for (int i = 0; i < 4; i++) {
		Buf name = {0};
		buf_printf(&name, "%s%s", path, beside[i]);
		unlink(name.data);
		buf_free(&name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char magic[] = "SQLite format 3";
	const char *path = fuzz_path("store.db");
	clean(path);
	if (size >= sizeof magic && !memcmp(data, magic, sizeof magic))
		fuzz_write(path, data, size);
	else
		make(path, data, size);
	fuzz_store(path);
	return 0;
}
