/* A store as a SQLite file: each line's exact bytes in a row, with the columns
 * that lines are looked up by.
 *
 * While a writer has it, the file is in WAL mode, so that a commit is one write
 * and readers never wait; the last writer brings it back to one file.  Readers
 * change nothing: they open the file read-only, and where SQLite could not read
 * it without writing beside it (a folder that cannot be written, what a killed
 * writer left), as immutable or in a copy. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tuner/internal.h"

enum {
	APPLICATION_ID = 0x74756e63, /* "tunc" */
	SCHEMA_VERSION = 1
};

static const char schema[] =
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS lines("
    " seq INTEGER PRIMARY KEY, op TEXT, target TEXT, kind TEXT NOT NULL,"
    " line TEXT NOT NULL);"
    "CREATE INDEX IF NOT EXISTS lines_by_op ON lines(op, target, kind);"
    "PRAGMA application_id=1953853027;"
    "PRAGMA user_version=1;"
    "COMMIT;";

typedef struct {
	sqlite3 *db; /* NULL: a reader of a store that does not exist */
	sqlite3_stmt *insert;
	char *copy; /* folder of a reader's copy; NULL */
	int wal;    /* the log, for the disk; -1 */
} Sqlite;

static Status failed(const Store *store, int code, Error *error)
{
	const Sqlite *state = store->state;
	const char *why =
	    state->db ? sqlite3_errmsg(state->db) : sqlite3_errstr(code);
	switch (code & 0xff) {
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return error_set(error, STATUS_LOCKED,
		    "%s: locked by another process", store->path);
	case SQLITE_NOTADB:
		return error_set(error, STATUS_INPUT,
		    "%s: not a store: neither a SQLite file nor named .jsonl",
		    store->path);
	case SQLITE_CORRUPT:
		return error_set(
		    error, STATUS_INPUT, "%s: damaged: %s", store->path, why);
	default:
		return error_set(error, STATUS_IO, "%s: %s", store->path, why);
	}
}

static int64_t pragma(sqlite3 *db, const char *sql, int *code)
{
	sqlite3_stmt *s;
	int64_t value = 0;
	*code = sqlite3_prepare_v2(db, sql, -1, &s, NULL);
	if (*code)
		return 0;
	*code = sqlite3_step(s);
	if (*code == SQLITE_ROW)
		value = sqlite3_column_int64(s, 0);
	int end = sqlite3_finalize(s);
	*code = end ? end : SQLITE_OK;
	return value;
}

/* Ours, or nothing yet (`*empty`): else an error.  Reads the file for the first
 * time, so it also finds what is no database. */
static Status check_ours(Store *store, bool *empty, Error *error)
{
	Sqlite *state = store->state;
	int code;
	int64_t tables =
	    pragma(state->db, "SELECT count(*) FROM sqlite_master", &code);
	if (code)
		return failed(store, code, error);
	int64_t id = pragma(state->db, "PRAGMA application_id", &code);
	int64_t version = pragma(state->db, "PRAGMA user_version", &code);
	*empty = !tables && !id;
	if (*empty)
		return STATUS_OK;
	if (id != APPLICATION_ID)
		return error_set(error, STATUS_INPUT,
		    "%s: a SQLite file, but not a store of tunec", store->path);
	if (version > SCHEMA_VERSION)
		return error_set(error, STATUS_UNSUPPORTED,
		    "%s: a store of format %lld; this tunec reads formats up "
		    "to %d",
		    store->path, (long long)version, SCHEMA_VERSION);
	return STATUS_OK;
}

/* --- readers ------------------------------------------------------------- */

static bool has_beside(const char *path, const char *suffix)
{
	Buf name = {0};
	buf_printf(&name, "%s%s", path, suffix);
	bool there = !access(name.data, F_OK);
	buf_free(&name);
	return there;
}

static bool folder_writable(const char *path)
{
	const char *slash = strrchr(path, '/');
	Buf folder = {0};
	if (slash)
		buf_add(&folder, path, (size_t)(slash - path) + 1);
	else
		buf_puts(&folder, ".");
	bool yes = !access(folder.data, W_OK);
	buf_free(&folder);
	return yes;
}

static int open_immutable(const char *path, sqlite3 **db)
{
	Buf uri = {0};
	buf_puts(&uri, "file:");
	for (const char *s = path; *s; s++) {
		if (strchr("?#%", *s))
			buf_printf(&uri, "%%%02x", *s);
		else
			buf_putc(&uri, *s);
	}
	buf_puts(&uri, "?immutable=1");
	int code = sqlite3_open_v2(
	    uri.data, db, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
	buf_free(&uri);
	return code;
}

static bool copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	if (in < 0)
		return errno == ENOENT;
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	char piece[1 << 16];
	ssize_t n = out < 0 ? -1 : 1;
	while (n > 0 && (n = read(in, piece, sizeof piece)) > 0)
		if (write(out, piece, (size_t)n) != n)
			n = -1;
	close(in);
	if (out >= 0)
		close(out);
	return n == 0;
}

static const char *const beside[] = {"", "-wal", "-journal"};
enum { NBESIDE = sizeof beside / sizeof *beside };

static bool stamp(const char *path, struct stat st[NBESIDE])
{
	memset(st, 0, sizeof *st * NBESIDE);
	for (int i = 0; i < NBESIDE; i++) {
		Buf name = {0};
		buf_printf(&name, "%s%s", path, beside[i]);
		int bad = stat(name.data, &st[i]);
		buf_free(&name);
		if (bad && errno != ENOENT)
			return false;
	}
	return true;
}

static bool same_stamp(const struct stat *a, const struct stat *b)
{
	for (int i = 0; i < NBESIDE; i++)
		if (a[i].st_size != b[i].st_size ||
		    a[i].st_ino != b[i].st_ino ||
		    a[i].st_mtim.tv_sec != b[i].st_mtim.tv_sec ||
		    a[i].st_mtim.tv_nsec != b[i].st_mtim.tv_nsec)
			return false;
	return true;
}

static bool copy_once(const char *path, const char *folder)
{
	bool good = true;
	for (int i = 0; i < NBESIDE; i++) {
		Buf from = {0}, to = {0};
		buf_printf(&from, "%s%s", path, beside[i]);
		buf_printf(&to, "%s/db%s", folder, beside[i]);
		unlink(to.data);
		good = copy_file(from.data, to.data) && good;
		buf_free(&from);
		buf_free(&to);
	}
	return good;
}

/* A copy in which nothing changed meanwhile. */
static Status open_copy(Store *store, Error *error)
{
	Sqlite *state = store->state;
	const char *tmp = getenv("TMPDIR");
	Buf name = {0};
	buf_printf(&name, "%s/tunec-store-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	state->copy = name.data;
	if (!mkdtemp(name.data)) {
		state->copy = NULL;
		Status status = error_set(error, STATUS_IO,
		    "%s: cannot make a folder for a copy of %s: %s", name.data,
		    store->path, strerror(errno));
		buf_free(&name);
		return status;
	}
	struct stat before[NBESIDE], after[NBESIDE];
	bool good = false;
	for (int i = 0; i < 20 && !good; i++)
		good = stamp(store->path, before) &&
		       copy_once(store->path, state->copy) &&
		       stamp(store->path, after) && same_stamp(before, after);
	if (!good)
		return error_set(error, STATUS_IO, "%s: cannot be copied to %s",
		    store->path, state->copy);
	Buf db = {0};
	buf_printf(&db, "%s/db", state->copy);
	int code =
	    sqlite3_open_v2(db.data, &state->db, SQLITE_OPEN_READWRITE, NULL);
	buf_free(&db);
	return code ? failed(store, code, error) : STATUS_OK;
}

static void remove_copy(char *folder)
{
	static const char *const names[] = {"", "-wal", "-journal", "-shm"};
	if (!folder)
		return;
	for (int i = 0; i < 4; i++) {
		Buf name = {0};
		buf_printf(&name, "%s/db%s", folder, names[i]);
		unlink(name.data);
		buf_free(&name);
	}
	rmdir(folder);
	free(folder);
}

/* A file that its last writer did not bring out of WAL mode, and nobody has
 * open: SQLite would make a log and an index for it.  Only asked where there is
 * no log, since closing a descriptor drops the locks that the process has. */
static bool is_left_wal(const char *path)
{
	unsigned char header[20] = {0};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	ssize_t n = read(fd, header, sizeof header);
	close(fd);
	return n == sizeof header && header[18] == 2 && header[19] == 2;
}

/* A log that nobody keeps an index of was left by a killed writer or came with
 * the file: SQLite would make the index. */
static Status open_reader(Store *store, Error *error)
{
	Sqlite *state = store->state;
	const char *path = store->path;
	struct stat st;
	if (stat(path, &st)) {
		if (errno == ENOENT || errno == ENOTDIR)
			return STATUS_OK;
		return error_set(error, STATUS_IO, "%s: cannot open: %s", path,
		    strerror(errno));
	}
	if (!S_ISREG(st.st_mode))
		return error_set(
		    error, STATUS_INPUT, "%s: not a regular file", path);
	bool wal = has_beside(path, "-wal"), shm = has_beside(path, "-shm");
	bool writable = folder_writable(path);
	if (has_beside(path, "-journal") || (wal && !(shm && writable)))
		return open_copy(store, error);
	int code =
	    writable && (wal || !is_left_wal(path))
		? sqlite3_open_v2(path, &state->db, SQLITE_OPEN_READONLY, NULL)
		: open_immutable(path, &state->db);
	return code ? failed(store, code, error) : STATUS_OK;
}

/* --- writers ------------------------------------------------------------- */

/* WAL mode; another writer may be on its way out of it or into it. */
static int enter_wal(sqlite3 *db)
{
	int code = SQLITE_BUSY;
	for (int ms = 0; ms < STORE_BUSY_MS && code == SQLITE_BUSY; ms += 20) {
		code = sqlite3_exec(
		    db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
		if (code == SQLITE_BUSY)
			sqlite3_sleep(20);
	}
	return code;
}

static Status open_writer(Store *store, Error *error)
{
	Sqlite *state = store->state;
	int code = sqlite3_open_v2(store->path, &state->db,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
	if (code)
		return failed(store, code, error);
	sqlite3_busy_timeout(state->db, STORE_BUSY_MS);
	bool empty;
	FORWARD_IF_ERROR(check_ours(store, &empty, error));
	if (sqlite3_db_readonly(state->db, "main") == 1)
		return error_set(
		    error, STATUS_IO, "%s: cannot be written", store->path);
	code = enter_wal(state->db);
	if (!code)
		code = sqlite3_exec(
		    state->db, "PRAGMA synchronous=NORMAL", NULL, NULL, NULL);
	if (!code && empty)
		code = sqlite3_exec(state->db, schema, NULL, NULL, NULL);
	if (!code)
		code = sqlite3_prepare_v2(state->db,
		    "INSERT INTO lines(op, target, kind, line) "
		    "VALUES(?, ?, ?, ?)",
		    -1, &state->insert, NULL);
	return code ? failed(store, code, error) : STATUS_OK;
}

static Status sqlite_open(Store *store, Error *error)
{
	Sqlite *state = must_alloc(sizeof *state);
	*state = (Sqlite){.wal = -1};
	store->state = state;
	if (store->mode == STORE_WRITE)
		return open_writer(store, error);
	FORWARD_IF_ERROR(open_reader(store, error));
	if (!state->db)
		return STATUS_OK;
	sqlite3_busy_timeout(state->db, STORE_BUSY_MS);
	bool empty;
	FORWARD_IF_ERROR(check_ours(store, &empty, error));
	if (!empty)
		return STATUS_OK;
	sqlite3_close(state->db);
	state->db = NULL;
	return STATUS_OK;
}

/* Back to one file, which needs the store for oneself.  Writers that end at the
 * same time would each find the other there, so one that is refused closes, and
 * looks again a random moment later.  A writer that goes on will do it when it
 * ends.  Takes the connection. */
static void leave_wal(const char *path, sqlite3 *db)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	Rng rng = rng_stream((uint64_t)getpid(), (uint64_t)now.tv_nsec, 0);
	for (int i = 0; i < 10; i++) {
		sqlite3_busy_timeout(db, 0);
		int code = sqlite3_exec(
		    db, "PRAGMA journal_mode=DELETE", NULL, NULL, NULL);
		sqlite3_close(db);
		if (code != SQLITE_BUSY && code != SQLITE_LOCKED)
			return;
		sqlite3_sleep(1 + (int)rng_below(&rng, 16));
		if (sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL))
			break;
	}
	sqlite3_close(db);
}

static void sqlite_close(Store *store)
{
	Sqlite *state = store->state;
	if (!state)
		return;
	sqlite3_finalize(state->insert);
	if (state->db && store->mode == STORE_WRITE &&
	    sqlite3_db_readonly(state->db, "main") == 0)
		leave_wal(store->path, state->db);
	else
		sqlite3_close(state->db);
	if (state->wal >= 0)
		close(state->wal);
	remove_copy(state->copy);
	free(state);
}

static int bind(sqlite3_stmt *s, int i, const char *text, size_t size)
{
	return size ? sqlite3_bind_text(s, i, text, (int)size, SQLITE_STATIC)
		    : sqlite3_bind_null(s, i);
}

static int insert(Sqlite *state, const Line *line)
{
	const char *target = line->target ? line->target : "";
	const char *kind = line_kind_name(line->kind);
	sqlite3_stmt *s = state->insert;
	int code = sqlite3_exec(state->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (code)
		return code;
	bind(s, 1, line->op, strlen(line->op));
	bind(s, 2, target, strlen(target));
	bind(s, 3, kind, strlen(kind));
	bind(s, 4, line->text, line->size);
	code = sqlite3_step(s);
	sqlite3_reset(s);
	if (code == SQLITE_DONE)
		code = sqlite3_exec(state->db, "COMMIT", NULL, NULL, NULL);
	return code;
}

/* The log's own descriptor is no lock holder: closing it releases nothing. */
static void to_disk(Store *store)
{
	Sqlite *state = store->state;
	if (state->wal < 0) {
		Buf name = {0};
		buf_printf(&name, "%s-wal", store->path);
		state->wal = open(name.data, O_RDWR | O_CLOEXEC);
		buf_free(&name);
	}
	if (state->wal >= 0)
		store_written(store, state->wal);
}

static Status sqlite_append(Store *store, const Line *line, Error *error)
{
	Sqlite *state = store->state;
	int code = insert(state, line);
	if (!code) {
		to_disk(store);
		return STATUS_OK;
	}
	Status status = failed(store, code, error);
	if (!sqlite3_get_autocommit(state->db))
		sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

static Status sqlite_scan(
    Store *store, const char *op, StoreScan scan, void *context, Error *error)
{
	Sqlite *state = store->state;
	if (!state->db)
		return STATUS_OK;
	sqlite3_stmt *s;
	int code = sqlite3_prepare_v2(state->db,
	    op ? "SELECT line, seq FROM lines WHERE op = ?1 OR op IS NULL "
		 "ORDER BY seq"
	       : "SELECT line, seq FROM lines ORDER BY seq",
	    -1, &s, NULL);
	if (code)
		return failed(store, code, error);
	if (op)
		sqlite3_bind_text(s, 1, op, -1, SQLITE_STATIC);
	bool more = true;
	while (more && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(s, 0);
		int size = sqlite3_column_bytes(s, 0);
		more = scan(text ? text : "", (size_t)size,
		    sqlite3_column_int64(s, 1), context);
	}
	Status status = more && code != SQLITE_DONE ? failed(store, code, error)
						    : STATUS_OK;
	sqlite3_finalize(s);
	return status;
}

const StoreKind store_sqlite = {
    sqlite_open, sqlite_close, sqlite_append, sqlite_scan};
