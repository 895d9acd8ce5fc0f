/* Stores: nothing finished is lost, readers change nothing, and what is no
 * store is refused; the same tests for both kinds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tuner/internal.h"

static char folder[64];
static const char *const names[] = {"s.db", "s.jsonl"};
static const char op_a[] =
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
static const char op_b[] =
    "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

static const char *path_of(const char *name)
{
	static char path[512];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

static int setup(void **state)
{
	(void)state;
	strcpy(folder, "/tmp/tunec-test-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	chmod(folder, 0700);
	DIR *dir = opendir(folder);
	for (struct dirent *e; (e = readdir(dir));)
		if (e->d_name[0] != '.')
			unlink(path_of(e->d_name));
	closedir(dir);
	return rmdir(folder);
}

static int entries(void)
{
	int n = 0;
	DIR *dir = opendir(folder);
	for (struct dirent *e; (e = readdir(dir));)
		n += e->d_name[0] != '.';
	closedir(dir);
	return n;
}

static void put_file(const char *name, const char *text, size_t size)
{
	FILE *f = fopen(path_of(name), "w");
	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, size, f), size);
	fclose(f);
}

static Buf get_file(const char *name)
{
	Buf out = {0};
	FILE *f = fopen(path_of(name), "r");
	assert_non_null(f);
	for (int c; (c = getc(f)) != EOF;)
		buf_putc(&out, (char)c);
	fclose(f);
	return out;
}

static Line make_line(const char *op, int number)
{
	char at[64];
	snprintf(at, sizeof at, "2026-01-02T03:04:%02d.%03dZ",
	    number / 1000 % 60, number % 1000);
	Line line;
	line_trial(&(Trial){.at = at,
		       .op = op,
		       .op_text = "x",
		       .name = "n",
		       .target = "c",
		       .outcome = OUTCOME_OK,
		       .threads = 1,
		       .time_s = 1 + number,
		       .spread_s = 0},
	    &line);
	return line;
}

static Status append(Store *store, const char *op, int number, Error *error)
{
	Line line = make_line(op, number);
	Status status = store_append(store, &line, error);
	line_free(&line);
	return status;
}

static Store *must_open(const char *name, StoreMode mode)
{
	Store *store;
	Error error;
	if (store_open(path_of(name), mode, &store, &error))
		fail_msg("%s", error.text);
	return store;
}

typedef struct {
	int n;
	double sum;
	Buf text;
} Seen;

static bool see(Line *line, void *context)
{
	Seen *seen = context;
	seen->n++;
	seen->sum += line->time_s;
	char *text = line_text(line);
	buf_puts(&seen->text, text);
	buf_putc(&seen->text, '\n');
	free(text);
	return true;
}

static Seen read_store(const char *name, const char *op, Buf *damaged)
{
	Store *store = must_open(name, STORE_READ);
	Seen seen = {0};
	Error error;
	if (store_each(store, op, see, &seen, damaged, &error))
		fail_msg("%s", error.text);
	store_close(store);
	return seen;
}

static int count(const char *name, const char *op)
{
	Seen seen = read_store(name, op, NULL);
	buf_free(&seen.text);
	return seen.n;
}

static void fill(const char *name, int from, int n)
{
	Store *store = must_open(name, STORE_WRITE);
	Error error;
	for (int i = 0; i < n; i++)
		assert_int_equal(append(store, op_a, from + i, &error), 0);
	store_close(store);
}

static void check_open_refused(
    const char *name, StoreMode mode, Status status, const char *why)
{
	Store *store;
	Error error = {0};
	Seen seen = {0};
	Status got = store_open(path_of(name), mode, &store, &error);
	if (!got)
		got = store_each(store, NULL, see, &seen, NULL, &error);
	store_close(store);
	buf_free(&seen.text);
	if (got != status || !strstr(error.text, why) ||
	    !strstr(error.text, path_of(name)))
		fail_msg("%s: %d '%s', not '%s'", name, got, error.text, why);
}

static void test_write_and_read(void **state)
{
	(void)state;
	Buf expected = {0};
	for (int k = 0; k < 2; k++) {
		Store *store = must_open(names[k], STORE_WRITE);
		Error error;
		for (int i = 0; i < 5; i++) {
			Line line = make_line(i % 2 ? op_a : op_b, i);
			assert_int_equal(store_append(store, &line, &error), 0);
			if (!k)
				buf_printf(&expected, "%s\n", line.text);
			line_free(&line);
		}
		/* Committed at once: another process would see it. */
		assert_int_equal(count(names[k], NULL), 5);
		assert_int_equal(count(names[k], op_a), 2);
		store_close(store);
		Seen seen = read_store(names[k], NULL, NULL);
		assert_string_equal(seen.text.data, expected.data);
		buf_free(&seen.text);
	}
	assert_int_equal(entries(), 2); /* at rest one file each */
	buf_free(&expected);
}

static void test_absent(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++)
		assert_int_equal(count(names[k], NULL), 0);
	assert_int_equal(entries(), 0);
	put_file("s.db", "", 0);
	assert_int_equal(count("s.db", NULL), 0);
}

static void test_torn(void **state)
{
	(void)state;
	fill("s.jsonl", 0, 3);
	Buf whole = get_file("s.jsonl");
	put_file("s.jsonl", whole.data, whole.size - 10);
	Buf damaged = {0};
	Seen seen = read_store("s.jsonl", NULL, &damaged);
	assert_int_equal(seen.n, 2);
	assert_non_null(strstr(damaged.data, "s.jsonl:3: torn last line"));
	fill("s.jsonl", 7, 1);
	buf_clear(&damaged);
	Seen after = read_store("s.jsonl", NULL, &damaged);
	assert_int_equal(after.n, 3);
	assert_int_equal(damaged.size, 0);
	assert_memory_equal(after.text.data, seen.text.data, seen.text.size);
	/* Only the newline is missing: the line is whole. */
	put_file("s.jsonl", whole.data, whole.size - 1);
	assert_int_equal(count("s.jsonl", NULL), 3);
	fill("s.jsonl", 9, 1);
	assert_int_equal(count("s.jsonl", NULL), 4);
	buf_free(&whole);
	buf_free(&damaged);
	buf_free(&seen.text);
	buf_free(&after.text);
}

static void test_damaged(void **state)
{
	(void)state;
	fill("s.jsonl", 0, 3);
	Buf whole = get_file("s.jsonl");
	memcpy(strchr(whole.data, '\n') + 1, "<<<<", 4);
	put_file("s.jsonl", whole.data, whole.size);
	Buf damaged = {0};
	Seen seen = read_store("s.jsonl", NULL, &damaged);
	assert_int_equal(seen.n, 2);
	assert_non_null(strstr(damaged.data, "s.jsonl:2: damaged line"));
	fill("s.jsonl", 7, 1); /* what is damaged stays */
	Buf after = get_file("s.jsonl");
	assert_memory_equal(after.data, whole.data, whole.size);
	buf_free(&after);
	buf_free(&whole);
	buf_free(&damaged);
	buf_free(&seen.text);
}

static void test_newer_format(void **state)
{
	(void)state;
	static const char text[] = "{\"tunec\":2,\"kind\":\"trial\"}\n";
	put_file("s.jsonl", text, sizeof text - 1);
	check_open_refused(
	    "s.jsonl", STORE_READ, STATUS_UNSUPPORTED, "format 2");
	sqlite3 *db;
	fill("s.db", 0, 1);
	sqlite3_open(path_of("s.db"), &db);
	sqlite3_exec(db, "PRAGMA user_version=2", NULL, NULL, NULL);
	sqlite3_close(db);
	check_open_refused("s.db", STORE_READ, STATUS_UNSUPPORTED, "format 2");
	check_open_refused("s.db", STORE_WRITE, STATUS_UNSUPPORTED, "format 2");
}

static void test_no_store(void **state)
{
	(void)state;
	static const char *const texts[] = {"hello\nworld\n", "hello",
	    "{\"a\":1}\n",
	    "\177ELF\1\1\1 and so on, for a long time"};
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 2; k++) {
			size_t n = strlen(texts[i]);
			put_file(names[k], texts[i], n);
			check_open_refused(
			    names[k], STORE_READ, STATUS_INPUT, "not a store");
			check_open_refused(
			    names[k], STORE_WRITE, STATUS_INPUT, "not a store");
			Buf after = get_file(names[k]);
			assert_int_equal(after.size, n);
			assert_memory_equal(after.data, texts[i], n);
			buf_free(&after);
			unlink(path_of(names[k]));
		}
	sqlite3 *db;
	sqlite3_open(path_of("s.db"), &db);
	sqlite3_exec(db, "CREATE TABLE t(x)", NULL, NULL, NULL);
	sqlite3_close(db);
	check_open_refused("s.db", STORE_READ, STATUS_INPUT, "not a store");
	check_open_refused("s.db", STORE_WRITE, STATUS_INPUT, "not a store");
	unlink(path_of("s.db"));
	mkdir(path_of("s.db"), 0700);
	check_open_refused("s.db", STORE_READ, STATUS_INPUT, "not a regular");
	rmdir(path_of("s.db"));
	check_open_refused("no/s.db", STORE_WRITE, STATUS_IO, "");
	check_open_refused("no/s.jsonl", STORE_WRITE, STATUS_IO, "No such");
	Store *store;
	Error error;
	assert_int_equal(
	    store_open("postgres://h/d", STORE_READ, &store, &error),
	    STATUS_MISSING);
}

/* Several processes, each appending its lines, all at once. */
static void test_writers(void **state)
{
	(void)state;
	enum { WRITERS = 4, EACH = 25 };
	for (int k = 0; k < 2; k++) {
		for (int w = 0; w < WRITERS; w++)
			if (!fork()) {
				for (int i = 0; i < 5; i++)
					fill(names[k], 1000 * w + 5 * i, 5);
				_exit(0);
			}
		for (int w = 0, status; w < WRITERS; w++) {
			wait(&status);
			assert_int_equal(status, 0);
		}
		Buf damaged = {0};
		Seen seen = read_store(names[k], NULL, &damaged);
		assert_int_equal(seen.n, WRITERS * EACH);
		assert_true(seen.sum == WRITERS * EACH + 1000.0 * EACH * 6 +
					    WRITERS * EACH * (EACH - 1) / 2.0);
		assert_int_equal(damaged.size, 0);
		buf_free(&seen.text);
	}
	assert_int_equal(entries(), 2);
}

/* A writer that says each number after its append, killed at some moment: what
 * it said is there, and the next writer goes on. */
static void test_killed(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++) {
		int said = 0;
		for (int round = 0; round < 6; round++) {
			int pipes[2];
			assert_int_equal(pipe(pipes), 0);
			pid_t pid = fork();
			if (!pid) {
				Store *store = must_open(names[k], STORE_WRITE);
				Error error;
				for (int i = 0;; i++)
					if (append(store, op_a, i, &error) ||
					    write(pipes[1], "x", 1) != 1)
						_exit(1);
			}
			usleep(20000 + 7000 * (useconds_t)round);
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
			close(pipes[1]);
			char c;
			while (read(pipes[0], &c, 1) == 1)
				said++;
			close(pipes[0]);
			int n = count(names[k], NULL);
			if (n < said || n > said + round + 1)
				fail_msg("%d said, %d there", said, n);
		}
		fill(names[k], 0, 1);
	}
	assert_int_equal(entries(), 2);
}

/* A killed writer's log: whole to a reader, in a folder that it cannot write
 * and where the index is gone, without a change to any file. */
static void test_left_log(void **state)
{
	(void)state;
	if (!fork()) {
		Store *store = must_open("s.db", STORE_WRITE);
		Error error;
		append(store, op_a, 1, &error);
		append(store, op_a, 2, &error);
		_exit(0);
	}
	wait(NULL);
	assert_int_equal(entries(), 3);
	assert_int_equal(count("s.db", NULL), 2);
	assert_int_equal(entries(), 3);
	unlink(path_of("s.db-shm"));
	assert_int_equal(count("s.db", NULL), 2);
	assert_int_equal(entries(), 2);
	chmod(folder, 0500);
	assert_int_equal(count("s.db", NULL), 2);
	chmod(folder, 0700);
	fill("s.db", 3, 1);
	assert_int_equal(entries(), 1);
	chmod(folder, 0500);
	assert_int_equal(count("s.db", NULL), 3);
}

/* A store at rest that is still in WAL mode. */
static void test_left_mode(void **state)
{
	(void)state;
	fill("s.db", 0, 2);
	sqlite3 *db;
	sqlite3_open(path_of("s.db"), &db);
	sqlite3_exec(db, "PRAGMA journal_mode=WAL", NULL, NULL, NULL);
	sqlite3_close(db);
	assert_int_equal(entries(), 1);
	assert_int_equal(count("s.db", NULL), 2);
	assert_int_equal(entries(), 1);
	fill("s.db", 2, 1);
	assert_int_equal(count("s.db", NULL), 3);
	assert_int_equal(entries(), 1);
}

static void test_file_limit(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++) {
		fill(names[k], 0, 20);
		struct stat before;
		stat(path_of(names[k]), &before);
		pid_t pid = fork();
		if (!pid) {
			struct rlimit limit = {(rlim_t)before.st_size + 100,
			    (rlim_t)before.st_size + 100};
			setrlimit(RLIMIT_FSIZE, &limit);
			Store *store;
			Error error = {0};
			Status status = store_open(
			    path_of(names[k]), STORE_WRITE, &store, &error);
			for (int i = 0; !status && i < 100; i++)
				status = append(store, op_a, 100, &error);
			_exit(
			    status == STATUS_IO && strstr(error.text, names[k])
				? 0
				: 1);
		}
		int status;
		waitpid(pid, &status, 0);
		assert_int_equal(status, 0);
		Buf damaged = {0};
		Seen seen = read_store(names[k], NULL, &damaged);
		assert_in_range(seen.n, 20, 30);
		assert_int_equal(damaged.size, 0);
		buf_free(&seen.text);
		buf_free(&damaged);
		fill(names[k], 50, 1);
		assert_int_equal(count(names[k], NULL), seen.n + 1);
	}
}

static void test_locked(void **state)
{
	(void)state;
	Error error;
	fill("s.jsonl", 0, 1);
	fill("s.db", 0, 1);
	Store *text = must_open("s.jsonl", STORE_WRITE);
	int fd = open(path_of("s.jsonl"), O_RDONLY);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(append(text, op_a, 1, &error), STATUS_LOCKED);
	assert_non_null(strstr(error.text, "s.jsonl: locked"));
	close(fd);
	assert_int_equal(append(text, op_a, 1, &error), 0);
	store_close(text);
	assert_int_equal(count("s.jsonl", NULL), 2);

	sqlite3 *db;
	sqlite3_open(path_of("s.db"), &db);
	sqlite3_exec(db, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
	check_open_refused("s.db", STORE_WRITE, STATUS_LOCKED, "locked");
	sqlite3_close(db);
	assert_int_equal(count("s.db", NULL), 1);
}

/* In a process that root's rights do not help. */
static void unprivileged(void (*check)(void))
{
	chmod(folder, 0755);
	pid_t pid = fork();
	if (!pid) {
		if (!geteuid() && (setgid(65534) || setuid(65534)))
			_exit(1);
		check();
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

static void check_read_only(void)
{
	for (int k = 0; k < 2; k++) {
		Store *store;
		Error error = {0};
		Status status = store_open(path_of(names[k]), STORE_WRITE,
		    &store, &error);
		if (status != STATUS_IO || !strstr(error.text, names[k]) ||
		    count(names[k], NULL) != 2)
			_exit(1);
	}
}

static void test_read_only(void **state)
{
	(void)state;
	for (int k = 0; k < 2; k++) {
		fill(names[k], 0, 2);
		chmod(path_of(names[k]), 0444);
	}
	unprivileged(check_read_only);
}

static void check_left_log(void)
{
	if (count("s.db", NULL) != 3 || entries() != 3)
		_exit(1);
}

/* Its owner was killed, and this user may not write the folder. */
static void test_foreign_log(void **state)
{
	(void)state;
	fill("s.db", 0, 1);
	if (!fork()) {
		Store *store = must_open("s.db", STORE_WRITE);
		Error error;
		append(store, op_a, 1, &error);
		append(store, op_a, 2, &error);
		_exit(0);
	}
	wait(NULL);
	if (geteuid())
		return; /* the folder is ours */
	unprivileged(check_left_log);
}

static void test_replaced_file(void **state)
{
	(void)state;
	Store *store = must_open("s.jsonl", STORE_WRITE);
	Error error;
	append(store, op_a, 1, &error);
	Buf whole = get_file("s.jsonl");
	put_file("new", whole.data, whole.size);
	char from[512];
	strcpy(from, path_of("new"));
	assert_int_equal(rename(from, path_of("s.jsonl")), 0);
	append(store, op_a, 2, &error);
	store_close(store);
	assert_int_equal(count("s.jsonl", NULL), 2);
	buf_free(&whole);
}

/* --- what a stranger may have made of the schema --------------------------- */

static void run_sql(const char *name, const char *sql)
{
	sqlite3 *db;
	char *why = NULL;
	assert_int_equal(sqlite3_open(path_of(name), &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &why))
		fail_msg("%s: %s", sql, why);
	sqlite3_close(db);
}

/* A reading that does not end is cut off: the test fails by its signal. */
static void test_foreign_schema(void **state)
{
	(void)state;
	static const struct {
		const char *sql, *why;
	} cases[] = {
	    {"CREATE TRIGGER t AFTER INSERT ON lines "
	     "BEGIN DELETE FROM lines; END",
		"trigger 't'"},
	    {"DROP TABLE lines; CREATE VIEW lines AS WITH RECURSIVE r(i) AS "
	     "(SELECT 1 UNION ALL SELECT i + 1 FROM r) SELECT i seq, NULL op, "
	     "NULL target, 'trial' kind, '{}' line FROM r",
		"view 'lines'"},
	    {"CREATE VIEW v AS SELECT 1", "view 'v'"},
	    {"DROP TABLE lines", "it has no lines"},
	    {"CREATE TABLE more(x)", "table 'more'"},
	    {"CREATE INDEX i ON lines(length(line))",
		"index 'i'"},
	    {"ALTER TABLE lines ADD COLUMN x AS (seq + 1)", "table 'lines'"},
	    {"DROP TABLE facts; CREATE VIEW facts AS SELECT 1 seq",
		"view 'facts'"},
	    {"DROP INDEX lines_by_op; CREATE UNIQUE INDEX lines_by_op "
	     "ON lines(kind)",
		"index 'lines_by_op'"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		unlink(path_of("s.db"));
		fill("s.db", 0, 1);
		run_sql("s.db", cases[i].sql);
		Buf before = get_file("s.db");
		alarm(20);
		for (int mode = STORE_READ; mode <= STORE_WRITE; mode++)
			check_open_refused(
			    "s.db", (StoreMode)mode, STATUS_INPUT, cases[i].why);
		alarm(0);
		Buf after = get_file("s.db");
		assert_int_equal(before.size, after.size);
		assert_memory_equal(before.data, after.data, after.size);
		buf_free(&before);
		buf_free(&after);
	}
}

/* What the sqlite3 shell leaves, and stores of the first version: the lines
 * alone, to which the next writer adds the facts. */
static void test_kept_schema(void **state)
{
	(void)state;
	fill("s.db", 0, 3);
	run_sql("s.db", "ANALYZE; VACUUM");
	assert_int_equal(count("s.db", op_a), 3);
	fill("s.db", 3, 1);
	assert_int_equal(count("s.db", NULL), 4);
	run_sql("s.db",
	    "DROP TABLE facts; DROP TABLE sqlite_stat1; "
	    "DELETE FROM lines WHERE seq > 2");
	assert_int_equal(count("s.db", op_a), 2);
	fill("s.db", 4, 1);
	assert_int_equal(count("s.db", op_a), 3);
	run_sql("s.db", "INSERT INTO lines(op, kind, line) "
			"SELECT op, kind, line FROM lines WHERE seq = 1");
	fill("s.db", 5, 1);
	run_sql("s.db",
	    "CREATE TABLE t AS SELECT seq FROM lines EXCEPT "
	    "SELECT seq FROM facts; CREATE TABLE n(x CHECK(x = 0)); "
	    "INSERT INTO n SELECT count(*) FROM t");
}

/* Only what is new, and what others wrote; of a file that was replaced nothing
 * is new. */
static void test_follow(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		Seen seen = {0};
		Error error;
		StorePlace place = {0};
		fill(names[i], 0, 2);
		Store *store = must_open(names[i], STORE_WRITE);
		for (int round = 0; round < 3; round++) {
			assert_int_equal(store_follow(store, op_a, &place, see,
					     &seen, &error),
			    0);
			assert_int_equal(seen.n, 2 + 3 * round);
			append(store, op_a, 10 + round, &error);
			append(store, op_b, 20 + round, &error);
			fill(names[i], 30 + 2 * round, 2);
		}
		store_close(store);
		buf_free(&seen.text);
	}
	Seen seen = {0};
	Error error;
	StorePlace place = {0};
	Store *store = must_open("s.jsonl", STORE_READ);
	store_follow(store, NULL, &place, see, &seen, &error);
	int before = seen.n;
	FILE *f = fopen(path_of("s.jsonl"), "a");
	fputs("{\"tunec\":1,\"ki", f); /* being written */
	fclose(f);
	store_follow(store, NULL, &place, see, &seen, &error);
	assert_int_equal(seen.n, before);
	assert_string_equal(store_notes(store), "");
	fill("s.jsonl", 50, 1); /* cuts it off */
	store_follow(store, NULL, &place, see, &seen, &error);
	assert_int_equal(seen.n, before + 1);
	unlink(path_of("s.jsonl"));
	fill("s.jsonl", 60, 40);
	store_follow(store, NULL, &place, see, &seen, &error);
	assert_int_equal(seen.n, before + 1);
	fill("s.jsonl", 70, 1);
	store_follow(store, NULL, &place, see, &seen, &error);
	assert_int_equal(seen.n, before + 2);
	store_close(store);
	buf_free(&seen.text);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    TEST(test_write_and_read),
	    TEST(test_absent),
	    TEST(test_torn),
	    TEST(test_damaged),
	    TEST(test_newer_format),
	    TEST(test_no_store),
	    TEST(test_writers),
	    TEST(test_killed),
	    TEST(test_left_log),
	    TEST(test_left_mode),
	    TEST(test_file_limit),
	    TEST(test_locked),
	    TEST(test_read_only),
	    TEST(test_foreign_log),
	    TEST(test_replaced_file),
	    TEST(test_foreign_schema),
	    TEST(test_kept_schema),
	    TEST(test_follow),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
