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

/* Where the last line begins that has no newline; -1, errno. */
static off_t last_line(int fd, off_t size)
{
	char piece[1 << 16];
	off_t begin = size;
	while (begin > 0) {
		size_t n =
		    begin < (off_t)sizeof piece ? (size_t)begin : sizeof piece;
		if (pread(fd, piece, n, begin - (off_t)n) != (ssize_t)n)
			return -1;
		const char *newline = memrchr(piece, '\n', n);
		if (newline)
			return begin - (off_t)n + (newline + 1 - piece);
		begin -= (off_t)n;
	}
	return begin;
}

/* A newline behind a line that lacks it, be it whole or too long; a torn one cut
 * off.  Anything else is not ours: refused, so that no other file loses its end. */
static Status mend_line(
    Store *store, const char *text, size_t size, off_t begin, Error *error)
{
	Jsonl *state = store->state;
	bool torn = is_torn_record(text, size);
	if (is_record(text, size) || (torn && size > LINE_MOST))
		return write(state->fd, "\n", 1) == 1
		    ? STATUS_OK
		    : failed(store, "write", error);
	if (!torn)
		return error_set(error, STATUS_INPUT,
		    "%s: the last line is no record, and has no end; not "
		    "written to",
		    store->path);
	return ftruncate(state->fd, begin)
	    ? failed(store, "cut off a torn last line", error)
	    : STATUS_OK;
}

static Status mend_end(Store *store, off_t end, Error *error)
{
	Jsonl *state = store->state;
	off_t begin = last_line(state->fd, end);
	if (begin == end)
		return STATUS_OK;
	size_t size = begin < 0 || end - begin > LINE_MOST
	    ? LINE_MOST + 1
	    : (size_t)(end - begin);
	char *text = must_alloc(size);
	Status status =
	    begin < 0 || pread(state->fd, text, size, begin) != (ssize_t)size
	    ? failed(store, "read", error)
	    : mend_line(store, text, size, begin, error);
	free(text);
	return status;
}

/* --- line by line -------------------------------------------------------- */

enum { PIECE = 1 << 18 };

/* A file in pieces; what is read and not yet given is text[at .. size). */
typedef struct {
	int fd;
	Buf text;
	size_t at;
	int64_t number, offset; /* of the next line */
	int error;              /* errno of a failed read; 0 */
} LineReader;

/* More of the file behind what there is; false at its end, or with an error. */
static bool read_piece(LineReader *r)
{
	char piece[PIECE];
	ssize_t n;
	do
		n = read(r->fd, piece, sizeof piece);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		r->error = errno;
	if (n <= 0)
		return false;
	size_t left = r->text.size - r->at;
	if (left)
		memmove(r->text.data, r->text.data + r->at, left);
	r->text.size = left;
	r->at = 0;
	buf_add(&r->text, piece, (size_t)n);
	return true;
}

/* Looks for the next newline; of a line that is too long one byte more is kept than
 * a line may have, and *dropped counts the others.  NULL: the file's end. */
static const char *find_newline(LineReader *r, size_t *dropped)
{
	size_t seen = 0;
	*dropped = 0;
	do {
		size_t size = r->text.size - r->at;
		char *s = r->text.data + r->at;
		char *newline =
		    size > seen ? memchr(s + seen, '\n', size - seen) : NULL;
		size_t line = newline ? (size_t)(newline - s) : size;
		if (line > LINE_MOST + 1) {
			size_t more = line - (LINE_MOST + 1);
			memmove(s + LINE_MOST + 1, s + line, size - line);
			r->text.size -= more;
			*dropped += more;
			newline = newline ? newline - more : NULL;
			line = LINE_MOST + 1;
		}
		if (newline)
			return newline;
		seen = line;
	} while (read_piece(r));
	return NULL;
}

/* The next line, without its newline; of one that is too long its beginning, too
 * long as well.  *whole: there was a newline.  False at the end, or with an
 * error. */
static bool next_line(LineReader *r, StoredLine *line, bool *whole)
{
	size_t dropped;
	const char *newline = find_newline(r, &dropped);
	if (r->error)
		return false;
	const char *s = buf_text(&r->text) + r->at;
	size_t size = newline ? (size_t)(newline - s) : r->text.size - r->at;
	*whole = newline != NULL;
	*line = (StoredLine){s, size, r->number, r->offset};
	r->at += size + *whole;
	r->number++;
	r->offset += (int64_t)(size + dropped + *whole);
	if (line->size && !dropped && s[line->size - 1] == '\r')
		line->size--;
	return *whole || size;
}

static bool is_blank(const StoredLine *line)
{
	return strspn(line->text, " \t\r\n") >= line->size;
}

/* Nothing yet, or a record in some line: so that no other file is taken for a
 * store, read as one full of damage or written to. */
static Status check_ours(Store *store, int fd, Error *error)
{
	LineReader r = {.fd = fd, .number = 1};
	StoredLine line;
	struct stat st;
	bool whole, blank = true, record = false;
	if (fstat(fd, &st))
		return failed(store, "read", error);
	if (!S_ISREG(st.st_mode))
		return error_set(
		    error, STATUS_INPUT, "%s: not a regular file", store->path);
	while (!record && next_line(&r, &line, &whole)) {
		record = is_record(line.text, line.size) ||
			 (!whole && is_torn_record(line.text, line.size));
		blank = blank && is_blank(&line);
	}
	buf_free(&r.text);
	if ((errno = r.error))
		return failed(store, "read", error);
	if (!record && !blank)
		return error_set(error, STATUS_INPUT,
		    "%s: not a store: there is no record in it", store->path);
	return lseek(fd, 0, SEEK_SET) ? failed(store, "read", error)
				      : STATUS_OK;
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
	return check_ours(store, state->fd, error);
}

static void jsonl_close(Store *store)
{
	Jsonl *state = store->state;
	if (state && state->fd >= 0)
		close(state->fd);
	free(state);
}

/* The lines in one write; what was written of it is taken back if that fails. */
static Status write_text(Store *store, const Buf *text, Error *error)
{
	Jsonl *state = store->state;
	struct stat st;
	if (fstat(state->fd, &st))
		return failed(store, "read", error);
	FORWARD_IF_ERROR(mend_end(store, st.st_size, error));
	if (fstat(state->fd, &st))
		return failed(store, "read", error);
	errno = ENOSPC; /* of a short write */
	if (write(state->fd, text->data, text->size) == (ssize_t)text->size)
		return STATUS_OK;
	Status status = failed(store, "write", error);
	if (ftruncate(state->fd, st.st_size))
		return status; /* the next writer cuts it off */
	return status;
}

static Status jsonl_append(
    Store *store, Line *const *lines, int n, Error *error)
{
	Jsonl *state = store->state;
	Buf text = {0};
	FORWARD_IF_ERROR(lock_current(store, error));
	for (int i = 0; i < n; i++) {
		buf_add(&text, lines[i]->text, lines[i]->size);
		buf_putc(&text, '\n');
	}
	Status status = text.size ? write_text(store, &text, error) : STATUS_OK;
	flock(state->fd, LOCK_UN);
	buf_free(&text);
	if (!status)
		store_written(store, state->fd);
	return status;
}

/* An operator's line has its 64 digits in it; a line that is not closed, or too
 * long, is looked at whatever it holds, so that damage is named. */
static bool may_concern(const StoredLine *line, const char *op)
{
	const char *s = line->text;
	size_t n = line->size;
	return n &&
	    (!op || s[0] != '{' || s[n - 1] != '}' || n > LINE_MOST ||
		memmem(s, n, op, strlen(op)));
}

/* What stands before a byte of the file, to know it again. */
static uint64_t tail_hash(int fd, int64_t offset)
{
	char tail[64];
	off_t from = offset < (int64_t)sizeof tail
	    ? 0 : offset - (int64_t)sizeof tail;
	ssize_t n = pread(fd, tail, (size_t)(offset - from), from);
	return hash64(tail, n > 0 ? (size_t)n : 0, 0);
}

/* To the byte behind the place, or in a file that does not continue what was
 * read to its end: nothing in it is new. */
static Status go_to(LineReader *r, Store *store, StorePlace *place, Error *error)
{
	struct stat st;
	if (fstat(r->fd, &st))
		return failed(store, "read", error);
	if (place->offset && (place->offset > st.st_size ||
				 tail_hash(r->fd, place->offset) != place->tail))
		place->offset = st.st_size;
	r->number = place->number + 1;
	r->offset = place->offset;
	return lseek(r->fd, place->offset, SEEK_SET) < 0
		   ? failed(store, "read", error)
		   : STATUS_OK;
}

/* What is behind the last newline may be a write in progress: a reader that
 * will come again leaves it for then. */
static Status scan_lines(Store *store, LineReader *r, const StoreQuery *query,
    StoreScan scan, void *context, Error *error)
{
	StoredLine line;
	bool whole, more = true;
	while (more && next_line(r, &line, &whole)) {
		if (!whole && line.size <= LINE_MOST &&
		    !is_record(line.text, line.size)) {
			if (!query->place)
				store_note(store,
				    "%s:%lld: torn last line skipped",
				    store->path, (long long)line.number);
			break;
		}
		if (may_concern(&line, query->op))
			more = scan(&line, context);
		if (query->place) {
			query->place->number = line.number;
			query->place->offset = r->offset;
		}
	}
	if (query->place)
		query->place->tail = tail_hash(r->fd, query->place->offset);
	return (errno = r->error) ? failed(store, "read", error) : STATUS_OK;
}

/* -1 with status OK: there is no file. */
static int open_reader(Store *store, Status *status, Error *error)
{
	int fd = open(store->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool none = fd < 0 && (errno == ENOENT || errno == ENOTDIR);
	*status = fd < 0 && !none ? failed(store, "open", error) : STATUS_OK;
	return fd;
}

static Status jsonl_scan(Store *store, const StoreQuery *query, StoreScan scan,
    void *context, bool *narrowed, Error *error)
{
	Status status;
	LineReader r = {.number = 1};
	*narrowed = false;
	r.fd = open_reader(store, &status, error);
	if (r.fd < 0)
		return status;
	if (!query->place || !query->place->offset)
		status = check_ours(store, r.fd, error);
	if (!status && query->place)
		status = go_to(&r, store, query->place, error);
	if (!status)
		status = scan_lines(store, &r, query, scan, context, error);
	buf_free(&r.text);
	close(r.fd);
	return status;
}

static Status jsonl_fetch(
    Store *store, const StoredLine *where, Buf *out, Error *error)
{
	Status status;
	int fd = open_reader(store, &status, error);
	char *text = must_alloc(where->size);
	if (fd >= 0 && pread(fd, text, where->size, where->offset) ==
			   (ssize_t)where->size)
		buf_add(out, text, where->size);
	else if (!status)
		status = error_set(error, STATUS_INPUT,
		    "%s:%lld: not there any more", store->path,
		    (long long)where->number);
	free(text);
	if (fd >= 0)
		close(fd);
	return status;
}

static const char *const beside[] = {NULL};

const StoreKind store_jsonl = {
    beside, jsonl_open, jsonl_close, jsonl_append, jsonl_scan, jsonl_fetch};
