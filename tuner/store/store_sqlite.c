/* A store as a SQLite file: each line's exact bytes in a row, with the columns
 * that lines are looked up by.
 *
 * Beside the lines stand facts about them, so that the best of 100,000 trials
 * is chosen without reading them all.  Facts only say which lines to look at:
 * what counts is the line.  An older tunec writes lines without facts; the next
 * writer adds them, and until then readers look at all lines.
 *
 * The file may come from a stranger: nothing of its schema is run.  It must be
 * exactly what is written here; views, triggers and what else SQL can hide in a
 * file are refused, and switched off besides.
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

#include "lib/folder.h"
#include "tuner/internal.h"

enum {
	APPLICATION_ID = 0x74756e63, /* "tunc" */
	SCHEMA_VERSION = 1
};

/* What a store may hold; the first two are all that the first version made. */
static const struct {
	const char *name, *sql;
} objects[] = {
    {"lines", "CREATE TABLE lines("
	      " seq INTEGER PRIMARY KEY, op TEXT, target TEXT,"
	      " kind TEXT NOT NULL, line TEXT NOT NULL)"},
    {"lines_by_op", "CREATE INDEX lines_by_op ON lines(op, target, kind)"},
    {"facts", "CREATE TABLE facts("
	      " seq INTEGER PRIMARY KEY, key INTEGER, trace INTEGER,"
	      " run INTEGER, round INTEGER, quiet INTEGER, time_s REAL)"},
    {"facts_by_time", "CREATE INDEX facts_by_time ON facts(key, time_s, trace)"
		      " WHERE key IS NOT NULL"},
    {"facts_by_trace", "CREATE INDEX facts_by_trace ON facts(key, trace, run)"
		       " WHERE key IS NOT NULL"},
    {"facts_final",
	"CREATE INDEX facts_final ON facts(key, round) WHERE round > 0"},
    /* what ANALYZE makes */
    {"sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"},
};
enum { NOBJECTS = sizeof objects / sizeof *objects, NMADE = NOBJECTS - 1 };

/* facts.round: a final line that names no run belongs to the round that lies
 * around it in the store. */
enum { ROUND_SEARCH, ROUND_FINAL, ROUND_NAMELESS };

typedef struct {
	sqlite3 *db; /* NULL: a reader of a store that does not exist */
	sqlite3_stmt *insert, *insert_facts, *drop_facts;
	bool facts; /* there is such a table */
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

/* Before anything is read: no code of the file's, no writing to its schema, and
 * damage is looked for.  (sqlite.org/security.html) */
static void distrust(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
	sqlite3_exec(db, "PRAGMA cell_size_check=ON; PRAGMA mmap_size=0", NULL,
	    NULL, NULL);
}

static int open_db(const char *path, int flags, sqlite3 **db)
{
	int code = sqlite3_open_v2(path, db, flags, NULL);
	if (!code)
		distrust(*db);
	return code;
}

/* Equal but for blanks. */
static bool same_sql(const char *a, const char *b)
{
	for (;; a++, b++) {
		a += strspn(a, " \t\r\n");
		b += strspn(b, " \t\r\n");
		if (*a != *b || !*a)
			return *a == *b;
	}
}

static bool is_object(const char *name, const char *sql)
{
	for (int i = 0; name && sql && i < NOBJECTS; i++)
		if (!strcmp(objects[i].name, name))
			return same_sql(objects[i].sql, sql);
	return false;
}

/* Every object of the file's schema; one must be the lines. */
static Status check_schema(Store *store, Error *error)
{
	Sqlite *state = store->state;
	sqlite3_stmt *s;
	bool lines = false;
	Status status = STATUS_OK;
	int code = sqlite3_prepare_v2(state->db,
	    "SELECT type, name, sql FROM sqlite_master", -1, &s, NULL);
	if (code)
		return failed(store, code, error);
	while (!status && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *type = (const char *)sqlite3_column_text(s, 0);
		const char *name = (const char *)sqlite3_column_text(s, 1);
		lines |= name && !strcmp(name, "lines");
		state->facts |= name && !strcmp(name, "facts");
		if (!is_object(name, (const char *)sqlite3_column_text(s, 2)))
			status = error_set(error, STATUS_INPUT,
			    "%s: not a store of tunec: its %s '%s' is none that "
			    "a store has",
			    store->path, type ? type : "object",
			    name ? name : "");
	}
	if (!status && code != SQLITE_DONE)
		status = failed(store, code, error);
	else if (!status && !lines)
		status = error_set(error, STATUS_INPUT,
		    "%s: not a store of tunec: it has no lines", store->path);
	sqlite3_finalize(s);
	return status;
}

/* Ours, or nothing yet (`*empty`): else an error.  Reads the file for the first
 * time, so it also finds what is no database. */
static Status check_ours(Store *store, bool *empty, Error *error)
{
	Sqlite *state = store->state;
	int code;
	/* in this order: another writer may make all of it at any moment */
	int64_t tables =
	    pragma(state->db, "SELECT count(*) FROM sqlite_master", &code);
	if (code)
		return failed(store, code, error);
	int64_t id = pragma(state->db, "PRAGMA application_id", &code);
	int64_t version = pragma(state->db, "PRAGMA user_version", &code);
	if (code)
		return failed(store, code, error);
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
	return check_schema(store, error);
}

/* --- its files ----------------------------------------------------------- */

/* What a store is made of, as SQLite names it; the last is an index of the second,
 * and no part of a copy. */
static const char *const files[] = {"", "-wal", "-journal", "-shm", NULL};
enum { NCOPIED = 3, NFILES };

static bool is_absent_or_file(const char *path)
{
	struct stat st;
	return stat(path, &st) || S_ISREG(st.st_mode);
}

/* A pipe of such a name would be waited for.  SQLite looks beside the file that a
 * link leads to. */
static Status check_files(const Store *store, Error *error)
{
	char *real = realpath(store->path, NULL);
	Status status = STATUS_OK;
	for (int i = 0; i < NFILES && !status; i++) {
		Buf name = {0};
		buf_printf(&name, "%s%s", real ? real : store->path, files[i]);
		if (!is_absent_or_file(name.data))
			status = error_set(error, STATUS_INPUT,
			    "%s%s: not a regular file", store->path, files[i]);
		buf_free(&name);
	}
	free(real);
	return status;
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
	int code =
	    open_db(uri.data, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, db);
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

static bool stamp(const char *path, struct stat st[NCOPIED])
{
	memset(st, 0, sizeof *st * NCOPIED);
	for (int i = 0; i < NCOPIED; i++) {
		Buf name = {0};
		buf_printf(&name, "%s%s", path, files[i]);
		int bad = stat(name.data, &st[i]);
		buf_free(&name);
		if (bad && errno != ENOENT)
			return false;
	}
	return true;
}

static bool same_stamp(const struct stat *a, const struct stat *b)
{
	for (int i = 0; i < NCOPIED; i++)
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
	for (int i = 0; i < NCOPIED; i++) {
		Buf from = {0}, to = {0};
		buf_printf(&from, "%s%s", path, files[i]);
		buf_printf(&to, "%s/db%s", folder, files[i]);
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
	char folder[FOLDER_PATH];
	Buf name = {0};
	if (!folder_make(folder, sizeof folder, "tunec-store"))
		return error_set(error, STATUS_IO,
		    "%s: cannot make a folder for a copy of %s: %s", folder,
		    store->path, strerror(errno));
	buf_puts(&name, folder);
	state->copy = name.data;
	struct stat before[NCOPIED], after[NCOPIED];
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
	int code = open_db(db.data, SQLITE_OPEN_READWRITE, &state->db);
	buf_free(&db);
	return code ? failed(store, code, error) : STATUS_OK;
}

static void remove_copy(char *folder)
{
	if (!folder)
		return;
	for (int i = 0; i < NFILES; i++) {
		Buf name = {0};
		buf_printf(&name, "%s/db%s", folder, files[i]);
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
	bool wal = has_beside(path, "-wal"), shm = has_beside(path, "-shm");
	bool writable = folder_writable(path);
	if (has_beside(path, "-journal") || (wal && !(shm && writable)))
		return open_copy(store, error);
	int code =
	    writable && (wal || !is_left_wal(path))
		? open_db(path, SQLITE_OPEN_READONLY, &state->db)
		: open_immutable(path, &state->db);
	return code ? failed(store, code, error) : STATUS_OK;
}

/* --- the schema ---------------------------------------------------------- */

static int make_objects(sqlite3 *db, bool empty)
{
	int code = sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	for (int i = 0; i < NMADE && !code; i++) {
		Buf sql = {0}; /* another writer may have made it just now */
		const char *rest = strchr(objects[i].sql + 7, ' ');
		buf_printf(&sql, "%.*s IF NOT EXISTS%s",
		    (int)(rest - objects[i].sql), objects[i].sql, rest);
		code = sqlite3_exec(db, sql.data, NULL, NULL, NULL);
		buf_free(&sql);
	}
	if (!code && empty)
		code = sqlite3_exec(db,
		    "PRAGMA application_id=1953853027; PRAGMA user_version=1",
		    NULL, NULL, NULL);
	if (!code)
		code = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	return code;
}

/* --- facts --------------------------------------------------------------- */

/* What the columns of facts hold: the first bytes of a SHA-256. */
static int64_t short_hash(const void *data, size_t size)
{
	unsigned char digest[32];
	Sha256 sha;
	sha256_init(&sha);
	sha256_add(&sha, data, size);
	sha256_end(&sha, digest);
	uint64_t h = 0;
	for (int i = 0; i < 8; i++)
		h = h << 8 | digest[i];
	return (int64_t)h;
}

static int64_t facts_key(const char *op, const char *target, const char *regime)
{
	Buf text = {0};
	buf_printf(&text, "%s\n%s\n%s", op, target, regime);
	int64_t key = short_hash(text.data, text.size);
	buf_free(&text);
	return key;
}

/* Of one run and round the newest line of a trace is all that counts, unless an
 * older one was quiet and it was not. */
typedef struct {
	int64_t key, trace, run;
	int round;
	bool quiet;
} Facts;

static Facts facts_of(const Line *line)
{
	Buf trace = {0};
	json_print(&trace, json_object_get(line->json, "trace"));
	Facts f = {.key = facts_key(line->op, line->target, line->regime),
	    .trace = short_hash(trace.data, trace.size),
	    .run = short_hash(line->run, strlen(line->run)),
	    .round = !line->final ? ROUND_SEARCH
		: *line->run	  ? ROUND_FINAL
				  : ROUND_NAMELESS,
	    .quiet = line->quiet};
	buf_free(&trace);
	return f;
}

/* Rows that a new line makes pointless keep their place, and nothing else. */
static int drop_older(Sqlite *state, const Facts *f)
{
	sqlite3_stmt *s = state->drop_facts;
	if (f->round == ROUND_NAMELESS)
		return SQLITE_OK;
	sqlite3_bind_int64(s, 1, f->key);
	sqlite3_bind_int64(s, 2, f->trace);
	sqlite3_bind_int64(s, 3, f->run);
	sqlite3_bind_int(s, 4, f->round);
	sqlite3_bind_int(s, 5, f->quiet);
	int code = sqlite3_step(s);
	sqlite3_reset(s);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* A row for each line, so that those without one are found; it is empty but for
 * measured trials that were ok. */
static int put_facts(Sqlite *state, int64_t seq, const Line *line)
{
	sqlite3_stmt *s = state->insert_facts;
	int code = SQLITE_OK;
	sqlite3_clear_bindings(s);
	sqlite3_bind_int64(s, 1, seq);
	if (line && line->kind == LINE_TRIAL && !line->measure &&
	    line->outcome == OUTCOME_OK) {
		Facts f = facts_of(line);
		code = drop_older(state, &f);
		sqlite3_bind_int64(s, 2, f.key);
		sqlite3_bind_int64(s, 3, f.trace);
		sqlite3_bind_int64(s, 4, f.run);
		sqlite3_bind_int(s, 5, f.round);
		sqlite3_bind_int(s, 6, f.quiet);
		sqlite3_bind_double(s, 7, line->time_s);
	}
	if (code)
		return code;
	code = sqlite3_step(s);
	sqlite3_reset(s);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Of the lines behind `seq`; the lines of a store only ever grow. */
static int add_facts_behind(Sqlite *state, int64_t seq)
{
	sqlite3_stmt *s;
	int code = sqlite3_prepare_v2(state->db,
	    "SELECT seq, line FROM lines WHERE seq > ? ORDER BY seq", -1, &s,
	    NULL);
	if (code)
		return code;
	sqlite3_bind_int64(s, 1, seq);
	while ((code = sqlite3_step(s)) == SQLITE_ROW) {
		Line line;
		Error ignored;
		const char *text = (const char *)sqlite3_column_text(s, 1);
		bool good = text && !line_parse(text,
			(size_t)sqlite3_column_bytes(s, 1), &line, &ignored);
		code = put_facts(
		    state, sqlite3_column_int64(s, 0), good ? &line : NULL);
		if (good)
			line_free(&line);
		if (code)
			break;
	}
	sqlite3_finalize(s);
	return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Does every line have its row of facts?  *last: of the last that has. */
static bool facts_complete(sqlite3 *db, int64_t *last, int *code)
{
	*last = pragma(db, "SELECT max(seq) FROM facts", code);
	return !*code && pragma(db, "SELECT max(seq) FROM lines", code) == *last;
}

static Status add_facts(Store *store, Error *error)
{
	Sqlite *state = store->state;
	int64_t last;
	int code;
	if (facts_complete(state->db, &last, &code))
		return STATUS_OK;
	if (!code)
		code = sqlite3_exec(
		    state->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	if (code)
		return failed(store, code, error);
	if (!facts_complete(state->db, &last, &code) && !code)
		code = add_facts_behind(state, last);
	if (!code)
		code = sqlite3_exec(state->db, "COMMIT", NULL, NULL, NULL);
	if (!code)
		return STATUS_OK;
	Status status = failed(store, code, error);
	sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

/* --- writing ------------------------------------------------------------- */

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
	int code = open_db(store->path,
	    SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &state->db);
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
	if (!code && (empty || !state->facts))
		code = make_objects(state->db, empty);
	if (!code)
		code = sqlite3_prepare_v2(state->db,
		    "INSERT INTO lines(op, target, kind, line) "
		    "VALUES(?, ?, ?, ?)",
		    -1, &state->insert, NULL);
	if (!code)
		code = sqlite3_prepare_v2(state->db,
		    "INSERT OR REPLACE INTO "
		    "facts(seq, key, trace, run, round, quiet, time_s) "
		    "VALUES(?, ?, ?, ?, ?, ?, ?)",
		    -1, &state->insert_facts, NULL);
	if (!code)
		code = sqlite3_prepare_v2(state->db,
		    "UPDATE facts SET key = NULL, round = NULL "
		    "WHERE key = ? AND trace = ? AND run = ? AND round = ? "
		    "AND quiet <= ?",
		    -1, &state->drop_facts, NULL);
	if (code)
		return failed(store, code, error);
	state->facts = true;
	return add_facts(store, error);
}

static Status sqlite_open(Store *store, Error *error)
{
	Sqlite *state = must_alloc(sizeof *state);
	*state = (Sqlite){.wal = -1};
	store->state = state;
	FORWARD_IF_ERROR(check_files(store, error));
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
		if (open_db(path, SQLITE_OPEN_READWRITE, &db))
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
	sqlite3_finalize(state->insert_facts);
	sqlite3_finalize(state->drop_facts);
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
	bind(s, 1, line->op, strlen(line->op));
	bind(s, 2, target, strlen(target));
	bind(s, 3, kind, strlen(kind));
	bind(s, 4, line->text, line->size);
	int code = sqlite3_step(s);
	sqlite3_reset(s);
	if (code == SQLITE_DONE)
		code = put_facts(
		    state, sqlite3_last_insert_rowid(state->db), line);
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

static Status sqlite_append(
    Store *store, Line *const *lines, int n, Error *error)
{
	Sqlite *state = store->state;
	int code = sqlite3_exec(state->db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
	for (int i = 0; i < n && !code; i++)
		code = insert(state, lines[i]);
	if (!code)
		code = sqlite3_exec(state->db, "COMMIT", NULL, NULL, NULL);
	if (!code) {
		to_disk(store);
		return STATUS_OK;
	}
	Status status = failed(store, code, error);
	if (!sqlite3_get_autocommit(state->db))
		sqlite3_exec(state->db, "ROLLBACK", NULL, NULL, NULL);
	return status;
}

/* --- reading ------------------------------------------------------------- */

typedef struct {
	Store *store;
	StoreScan scan;
	void *context;
	StorePlace *place;
	bool more;
} Scanning;

/* Gives the rows (line, seq) of a statement, and ends it. */
static int give_rows(Scanning *g, sqlite3_stmt *s)
{
	int code = SQLITE_DONE;
	while (g->more && (code = sqlite3_step(s)) == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(s, 0);
		StoredLine line = {.text = text ? text : "",
		    .size = (size_t)sqlite3_column_bytes(s, 0),
		    .number = sqlite3_column_int64(s, 1)};
		if (g->place)
			g->place->number = line.number;
		g->more = g->scan(&line, g->context);
	}
	sqlite3_finalize(s);
	return g->more && code != SQLITE_DONE ? code : SQLITE_OK;
}

static int scan_all(Scanning *g, const StoreQuery *query)
{
	Sqlite *state = g->store->state;
	sqlite3_stmt *s;
	int code = sqlite3_prepare_v2(state->db,
	    query->op ? "SELECT line, seq FROM lines "
			"WHERE (op = ?1 OR op IS NULL) AND seq > ?2 "
			"ORDER BY seq"
		      : "SELECT line, seq FROM lines WHERE seq > ?2 "
			"ORDER BY seq",
	    -1, &s, NULL);
	if (code)
		return code;
	if (query->op)
		sqlite3_bind_text(s, 1, query->op, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 2, query->place ? query->place->number : 0);
	return give_rows(g, s);
}

/* The trials that a query for the best wants, of one target and regime. */
static int scan_wanted(Scanning *g, const StoreQuery *query, const char *target,
    const char *regime)
{
	Sqlite *state = g->store->state;
	sqlite3_stmt *s;
	int code = sqlite3_prepare_v2(state->db,
	    query->finals
		? "SELECT line, lines.seq FROM facts JOIN lines USING(seq) "
		  "WHERE key = ?1 AND round > 0"
		: "SELECT line, lines.seq FROM facts JOIN lines USING(seq) "
		  "WHERE key = ?1 AND trace IN (SELECT trace FROM facts "
		  "WHERE key = ?1 ORDER BY time_s LIMIT ?2)",
	    -1, &s, NULL);
	if (code)
		return code;
	sqlite3_bind_int64(s, 1, facts_key(query->op, target, regime));
	if (!query->finals)
		sqlite3_bind_int(s, 2, query->fastest);
	return give_rows(g, s);
}

/* The operator's targets, one seek in the index for each. */
static int scan_targets(Scanning *g, const StoreQuery *query)
{
	static const char *const regimes[] = {"warm", "cold"};
	Sqlite *state = g->store->state;
	Buf target = {0};
	sqlite3_stmt *s;
	int code = sqlite3_prepare_v2(state->db,
	    "SELECT min(target) FROM lines WHERE op = ?1 AND target > ?2", -1,
	    &s, NULL);
	while (!code && g->more) {
		sqlite3_bind_text(s, 1, query->op, -1, SQLITE_STATIC);
		sqlite3_bind_text(
		    s, 2, buf_text(&target), (int)target.size, SQLITE_STATIC);
		code = sqlite3_step(s);
		const char *next = code == SQLITE_ROW
		    ? (const char *)sqlite3_column_text(s, 0) : NULL;
		code = code == SQLITE_ROW ? SQLITE_OK : code;
		if (code || !next)
			break;
		buf_clear(&target);
		buf_puts(&target, next);
		sqlite3_reset(s);
		for (int i = 0; i < 2 && !code; i++)
			code = scan_wanted(g, query, target.data, regimes[i]);
	}
	sqlite3_finalize(s);
	buf_free(&target);
	return code;
}

static int scan_marks(Scanning *g)
{
	Sqlite *state = g->store->state;
	sqlite3_stmt *s;
	int code = sqlite3_prepare_v2(state->db,
	    "SELECT line, seq FROM lines WHERE op IS NULL", -1, &s, NULL);
	return code ? code : give_rows(g, s);
}

/* Final lines without a run are told apart by what lies between them. */
static bool can_narrow(Sqlite *state, const StoreQuery *query, int *code)
{
	int64_t last;
	*code = SQLITE_OK;
	if (!query->op || !state->facts || (!query->finals && !query->fastest))
		return false;
	return facts_complete(state->db, &last, code) &&
	       !pragma(state->db,
		   "SELECT count(*) FROM (SELECT 1 FROM facts "
		   "WHERE round = 2 AND round > 0 LIMIT 1)", code);
}

static Status sqlite_scan(Store *store, const StoreQuery *query,
    StoreScan scan, void *context, bool *narrowed, Error *error)
{
	Sqlite *state = store->state;
	Scanning g = {store, scan, context, query->place, true};
	int code;
	if (!state->db)
		return STATUS_OK;
	*narrowed = can_narrow(state, query, &code);
	if (code)
		;
	else if (!*narrowed)
		code = scan_all(&g, query);
	else if (!(code = scan_marks(&g)))
		code = query->target && query->regime
		    ? scan_wanted(&g, query, query->target, query->regime)
		    : scan_targets(&g, query);
	return code ? failed(store, code, error) : STATUS_OK;
}

static Status sqlite_fetch(
    Store *store, const StoredLine *where, Buf *out, Error *error)
{
	Sqlite *state = store->state;
	sqlite3_stmt *s;
	int code = sqlite3_prepare_v2(state->db,
	    "SELECT line FROM lines WHERE seq = ?", -1, &s, NULL);
	if (code)
		return failed(store, code, error);
	sqlite3_bind_int64(s, 1, where->number);
	code = sqlite3_step(s);
	const char *text = code == SQLITE_ROW
	    ? (const char *)sqlite3_column_text(s, 0) : NULL;
	if (text)
		buf_add(out, text, (size_t)sqlite3_column_bytes(s, 0));
	sqlite3_finalize(s);
	return text ? STATUS_OK
		    : error_set(error, STATUS_INPUT, "%s:%lld: not there",
			  store->path, (long long)where->number);
}

const StoreKind store_sqlite = {files + 1, sqlite_open, sqlite_close,
    sqlite_append, sqlite_scan, sqlite_fetch};
