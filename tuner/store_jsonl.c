/* A store as a text file of JSON lines, to commit, diff and merge.
 *
 * A writer appends a line with one write under an exclusive flock on the file.
 * What a killed writer left behind the last newline is cut off by the next one,
 * under that lock, and only where it is the beginning of a record.  Readers
 * take no lock: all they can meet of a write in progress is such an end. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tuner/internal.h"

typedef struct {
	int fd; /* -1: a reader, or not open yet */
} Jsonl;

static Status failed(const Store *store, const char *what, Error *error)
{
	return error_set(error, STATUS_IO, "%s: cannot %s: %s", store->path,
	    what, strerror(errno));
}

/* --- locking ------------------------------------------------------------- */

static Status lock(Store *store, int fd, Error *error)
{
	for (int ms = 0; flock(fd, LOCK_EX | LOCK_NB); ms += 5) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return failed(store, "lock", error);
		if (ms >= STORE_BUSY_MS)
			return error_set(error, STATUS_LOCKED,
			    "%s: locked by another process", store->path);
		nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
	}
	return STATUS_OK;
}

static Status open_writer(Store *store, Error *error)
{
	Jsonl *state = store->state;
	if (state->fd >= 0)
		close(state->fd);
	state->fd =
	    open(store->path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	return state->fd < 0 ? failed(store, "open for writing", error)
			     : STATUS_OK;
}

/* Locks the file that the path names now: another program may have renamed a
 * new one over it. */
static Status lock_current(Store *store, Error *error)
{
	Jsonl *state = store->state;
	for (;;) {
		if (state->fd < 0)
			FORWARD_IF_ERROR(open_writer(store, error));
		FORWARD_IF_ERROR(lock(store, state->fd, error));
		struct stat mine, named;
		if (!fstat(state->fd, &mine) && !stat(store->path, &named) &&
		    mine.st_ino == named.st_ino && mine.st_dev == named.st_dev)
			return STATUS_OK;
		FORWARD_IF_ERROR(open_writer(store, error));
	}
}

/* --- the end of the file ------------------------------------------------- */

/* Could a writer of records have left this?  The beginning of a line, or the
 * zeros that a power failure makes of it. */
static bool is_torn_record(const char *text, size_t size)
{
	static const char begin[] = "{\"tunec\":";
	size_t n = 0;
	while (n < size && n < sizeof begin - 1 && text[n] == begin[n])
		n++;
	if (n == sizeof begin - 1)
		return true;
	while (n < size && !text[n])
		n++;
	return n == size;
}

static bool is_record(const char *text, size_t size)
{
	Line line;
	Error error;
	Status status = line_parse(text, size, &line, &error);
	if (!status)
		line_free(&line);
	return !status || status == STATUS_UNSUPPORTED;
}

/* A newline behind a whole record that lacks it, a torn one cut off.  Anything
 * else is not ours: refused, so that no other file loses its end. */
static Status mend_end(Store *store, off_t size, Error *error)
{
	Jsonl *state = store->state;
	enum { STEP = 1 << 16 };
	Buf tail = {0};
	off_t begin = size;
	bool found = false;
	while (begin > 0 && !found) {
		size_t n = begin < STEP ? (size_t)begin : STEP;
		Buf more = {0};
		char *piece = must_alloc(n);
		if (pread(state->fd, piece, n, begin - (off_t)n) !=
		    (ssize_t)n) {
			free(piece);
			buf_free(&tail);
			return failed(store, "read", error);
		}
		const char *newline = memrchr(piece, '\n', n);
		size_t skip = newline ? (size_t)(newline + 1 - piece) : 0;
		found = newline != NULL;
		buf_add(&more, piece + skip, n - skip);
		buf_add(&more, buf_text(&tail), tail.size);
		begin -= (off_t)(n - skip);
		free(piece);
		buf_free(&tail);
		tail = more;
	}
	Status status = STATUS_OK;
	const char *text = buf_text(&tail);
	if (!tail.size)
		;
	else if (is_record(text, tail.size))
		status = write(state->fd, "\n", 1) == 1
			     ? STATUS_OK
			     : failed(store, "write", error);
	else if (!is_torn_record(text, tail.size))
		status = error_set(error, STATUS_INPUT,
		    "%s: the last line is no record, and has no end; not "
		    "written to",
		    store->path);
	else if (ftruncate(state->fd, begin))
		status = failed(store, "cut off a torn last line", error);
	buf_free(&tail);
	return status;
}

/* --- the whole file ------------------------------------------------------ */

static Status read_all(Store *store, int fd, Buf *out, Error *error)
{
	struct stat st;
	if (fstat(fd, &st))
		return failed(store, "read", error);
	if (!S_ISREG(st.st_mode))
		return error_set(
		    error, STATUS_INPUT, "%s: not a regular file", store->path);
	char piece[1 << 16];
	for (;;) {
		ssize_t n = read(fd, piece, sizeof piece);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return failed(store, "read", error);
		if (n == 0)
			return STATUS_OK;
		buf_add(out, piece, (size_t)n);
	}
}

/* Nothing yet, or a record in some line: so that no other file is taken for a
 * store, read as one full of damage or written to. */
static bool is_store(const Buf *all)
{
	const char *s = buf_text(all), *end = s + all->size;
	bool blank = true;
	while (s < end) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		size_t size = (size_t)((newline ? newline : end) - s);
		if (is_record(s, size) || (!newline && is_torn_record(s, size)))
			return true;
		blank = blank && strspn(s, " \t\r\n") >= size;
		s = newline ? newline + 1 : end;
	}
	return blank;
}

static Status read_store(Store *store, int fd, Buf *all, Error *error)
{
	Status status = read_all(store, fd, all, error);
	if (!status && !is_store(all))
		status = error_set(error, STATUS_INPUT,
		    "%s: not a store: there is no record in it", store->path);
	return status;
}

/* --- the interface ------------------------------------------------------- */

/* A writer creates the file and learns at once whether it may write. */
static Status jsonl_open(Store *store, Error *error)
{
	Jsonl *state = must_alloc(sizeof *state);
	state->fd = -1;
	store->state = state;
	if (store->mode == STORE_READ)
		return STATUS_OK;
	FORWARD_IF_ERROR(open_writer(store, error));
	Buf all = {0};
	Status status = read_store(store, state->fd, &all, error);
	buf_free(&all);
	return status;
}

static void jsonl_close(Store *store)
{
	Jsonl *state = store->state;
	if (state && state->fd >= 0)
		close(state->fd);
	free(state);
}

/* The line in one write; what was written of it is taken back if that fails. */
static Status write_line(Store *store, const Line *line, Error *error)
{
	Jsonl *state = store->state;
	struct stat st;
	if (fstat(state->fd, &st))
		return failed(store, "read", error);
	FORWARD_IF_ERROR(mend_end(store, st.st_size, error));
	if (fstat(state->fd, &st))
		return failed(store, "read", error);
	char *text = must_alloc(line->size + 1);
	memcpy(text, line->text, line->size);
	text[line->size] = '\n';
	errno = ENOSPC; /* of a short write */
	ssize_t n = write(state->fd, text, line->size + 1);
	free(text);
	if (n == (ssize_t)line->size + 1)
		return STATUS_OK;
	Status status = failed(store, "write", error);
	if (ftruncate(state->fd, st.st_size))
		return status; /* the next writer cuts it off */
	return status;
}

static Status jsonl_append(Store *store, const Line *line, Error *error)
{
	Jsonl *state = store->state;
	FORWARD_IF_ERROR(lock_current(store, error));
	Status status = write_line(store, line, error);
	flock(state->fd, LOCK_UN);
	if (!status)
		store_written(store, state->fd);
	return status;
}

/* An operator's line has its 64 digits in it; a line that is not closed is
 * looked at whatever it holds, so that damage is named. */
static bool may_concern(const char *text, size_t size, const char *op)
{
	return !op || text[0] != '{' || text[size - 1] != '}' ||
	       memmem(text, size, op, strlen(op));
}

static void scan_text(
    Store *store, const Buf *all, const char *op, StoreScan scan, void *context)
{
	const char *s = buf_text(all), *end = s + all->size;
	for (int64_t number = 1; s < end; number++) {
		const char *newline = memchr(s, '\n', (size_t)(end - s));
		const char *next = newline ? newline + 1 : end;
		size_t size = (size_t)((newline ? newline : end) - s);
		if (size && s[size - 1] == '\r')
			size--;
		if (!newline && !is_record(s, size)) {
			store_note(store, "%s:%lld: torn last line skipped",
			    store->path, (long long)number);
			return;
		}
		if (size && may_concern(s, size, op) &&
		    !scan(s, size, number, context))
			return;
		s = next;
	}
}

static Status jsonl_scan(
    Store *store, const char *op, StoreScan scan, void *context, Error *error)
{
	int fd = open(store->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return STATUS_OK;
	if (fd < 0)
		return failed(store, "open", error);
	Buf all = {0};
	Status status = read_store(store, fd, &all, error);
	close(fd);
	if (!status)
		scan_text(store, &all, op, scan, context);
	buf_free(&all);
	return status;
}

const StoreKind store_jsonl = {
    jsonl_open, jsonl_close, jsonl_append, jsonl_scan};
