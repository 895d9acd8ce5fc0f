/* Stores of lines behind one interface.  What is common to all kinds is here:
 * the choice by path, reading lines and naming the damaged ones, and putting
 * what was written on the disk in the background. */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tuner/internal.h"

/* --- writing past a file-size limit -------------------------------------- */

/* The limit is to fail the write, not to kill the process: the signal is held
 * back around writes and taken off afterwards. */
static void limit_begin(sigset_t *old)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	pthread_sigmask(SIG_BLOCK, &set, old);
}

static void limit_end(const sigset_t *old)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGXFSZ);
	while (sigtimedwait(&set, NULL, &(struct timespec){0}) > 0)
		;
	pthread_sigmask(SIG_SETMASK, old, NULL);
}

/* --- to the disk --------------------------------------------------------- */

static void half_a_second_later(struct timespec *t)
{
	clock_gettime(CLOCK_REALTIME, t);
	t->tv_nsec += 500000000;
	if (t->tv_nsec >= 1000000000) {
		t->tv_nsec -= 1000000000;
		t->tv_sec++;
	}
}

static void *syncer_run(void *context)
{
	Syncer *s = context;
	pthread_mutex_lock(&s->mutex);
	while (!s->stop) {
		if (!s->dirty) {
			pthread_cond_wait(&s->changed, &s->mutex);
			continue;
		}
		struct timespec until;
		half_a_second_later(&until);
		while (!s->stop && pthread_cond_timedwait(&s->changed,
				       &s->mutex, &until) != ETIMEDOUT)
			;
		s->dirty = false;
		pthread_mutex_unlock(&s->mutex);
		fdatasync(s->fd);
		pthread_mutex_lock(&s->mutex);
	}
	pthread_mutex_unlock(&s->mutex);
	return NULL;
}

/* A thread that takes no signals: they are for the main thread. */
static bool syncer_start(Syncer *s, int fd)
{
	sigset_t all, old;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (own < 0)
		return false;
	pthread_mutex_init(&s->mutex, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->fd = own;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int failed = pthread_create(&s->thread, NULL, syncer_run, s);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (failed) {
		close(own);
		s->fd = -1;
	}
	return !failed;
}

void store_written(Store *store, int fd)
{
	Syncer *s = &store->syncer;
	if (s->fd < 0 && !syncer_start(s, fd)) {
		fdatasync(fd);
		return;
	}
	pthread_mutex_lock(&s->mutex);
	dup3(fd, s->fd, O_CLOEXEC); /* the file may be another one now */
	s->dirty = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->mutex);
}

static void syncer_end(Syncer *s)
{
	if (s->fd < 0)
		return;
	pthread_mutex_lock(&s->mutex);
	s->stop = true;
	pthread_cond_signal(&s->changed);
	pthread_mutex_unlock(&s->mutex);
	pthread_join(s->thread, NULL);
	fdatasync(s->fd);
	close(s->fd);
	pthread_mutex_destroy(&s->mutex);
	pthread_cond_destroy(&s->changed);
}

/* --- opening ------------------------------------------------------------- */

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);
	return n >= m && !strcmp(text + n - m, end);
}

static const StoreKind *kind_of(const char *path)
{
	return ends_with(path, ".jsonl") ? &store_jsonl : &store_sqlite;
}

const char *const *store_beside(const char *path)
{
	return kind_of(path)->beside;
}

Status store_open(const char *path, StoreMode mode, Store **out, Error *error)
{
	*out = NULL;
	if (!*path)
		return error_set(error, STATUS_INPUT, "a store without a name");
	if (!strncmp(path, "postgres://", 11) ||
	    !strncmp(path, "postgresql://", 13))
		return error_set(error, STATUS_MISSING,
		    "%s: PostgreSQL stores are not built yet", path);
	Store *store = must_alloc(sizeof *store);
	*store = (Store){.mode = mode, .syncer.fd = -1};
	store->kind = kind_of(path);
	store->path = must_alloc(strlen(path) + 1);
	strcpy(store->path, path);
	sigset_t old;
	limit_begin(&old);
	Status status = store->kind->open(store, error);
	limit_end(&old);
	if (status)
		store_close(store);
	else
		*out = store;
	return status;
}

void store_close(Store *store)
{
	if (!store)
		return;
	sigset_t old;
	limit_begin(&old);
	syncer_end(&store->syncer);
	store->kind->close(store);
	limit_end(&old);
	buf_free(&store->notes);
	free(store->path);
	free(store);
}

const char *store_path(const Store *store)
{
	return store->path;
}

/* --- writing ------------------------------------------------------------- */

Status store_append_all(
    Store *store, Line *const *lines, int n, Error *error)
{
	assert(store->mode == STORE_WRITE);
	for (int i = 0; i < n; i++) {
		if (!lines[i]->text)
			free(line_text(lines[i]));
		if (memchr(lines[i]->text, '\n', lines[i]->size))
			return error_set(error, STATUS_INPUT,
			    "%s: a record of more than one line", store->path);
		if (lines[i]->size > LINE_MOST)
			return error_set(error, STATUS_INPUT,
			    "%s: a record over %d MiB", store->path,
			    LINE_MOST >> 20);
	}
	sigset_t old;
	limit_begin(&old);
	Status status = store->kind->append(store, lines, n, error);
	limit_end(&old);
	return status;
}

Status store_append(Store *store, Line *line, Error *error)
{
	return store_append_all(store, &line, 1, error);
}

/* --- reading ------------------------------------------------------------- */

void store_note(Store *store, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(&store->notes, format, args);
	va_end(args);
	buf_putc(&store->notes, '\n');
}

void store_damaged(Store *store, int64_t number, const char *why)
{
	enum { NAMED = 10 };
	if (store->damaged++ < NAMED)
		store_note(store, "%s:%lld: damaged line skipped: %s",
		    store->path, (long long)number, why);
	else if (store->damaged == NAMED + 1)
		store->notes_end = store->notes.size;
	if (store->damaged <= NAMED)
		return;
	store->notes.size = store->notes_end;
	store_note(store, "%s: %lld damaged lines skipped in all", store->path,
	    (long long)store->damaged);
}

const char *store_notes(const Store *store)
{
	return buf_text(&store->notes);
}

Status store_scan(Store *store, const StoreQuery *query, StoreScan scan,
    void *context, bool *narrowed, Error *error)
{
	sigset_t old;
	buf_clear(&store->notes);
	store->damaged = 0;
	*narrowed = false;
	limit_begin(&old); /* SQLite may have to write its index */
	Status status =
	    store->kind->scan(store, query, scan, context, narrowed, error);
	limit_end(&old);
	return status;
}

Status store_fetch(
    Store *store, const StoredLine *where, Buf *out, Error *error)
{
	buf_clear(out);
	return store->kind->fetch(store, where, out, error);
}

typedef struct {
	Store *store;
	const char *op;
	bool (*each)(Line *line, void *context);
	void *context;
	Status status; /* of a line that ends the reading */
	Error *error;
} StoreReading;

static bool reading_line(const StoredLine *stored, void *context)
{
	StoreReading *r = context;
	Line line;
	Error why;
	Status status = line_parse(stored->text, stored->size, &line, &why);
	if (status == STATUS_UNSUPPORTED) {
		r->status = error_set(r->error, status, "%s:%lld: %s",
		    r->store->path, (long long)stored->number, why.text);
		return false;
	}
	if (status) {
		store_damaged(r->store, stored->number, why.text);
		return true;
	}
	bool more = true;
	if (!r->op || line_concerns(&line, r->op))
		more = r->each(&line, r->context);
	line_free(&line);
	return more;
}

static Status read_lines(Store *store, const StoreQuery *query,
    bool (*each)(Line *line, void *context), void *context, Error *error)
{
	StoreReading r = {.store = store,
	    .op = query->op,
	    .each = each,
	    .context = context,
	    .error = error};
	bool narrowed;
	FORWARD_IF_ERROR(
	    store_scan(store, query, reading_line, &r, &narrowed, error));
	return r.status;
}

Status store_each(Store *store, const char *op,
    bool (*each)(Line *line, void *context), void *context, Buf *damaged,
    Error *error)
{
	StoreQuery query = {.op = op};
	FORWARD_IF_ERROR(read_lines(store, &query, each, context, error));
	if (damaged && store->notes.size)
		buf_puts(damaged, store_notes(store));
	return STATUS_OK;
}

Status store_follow(Store *store, const char *op, StorePlace *place,
    bool (*each)(Line *line, void *context), void *context, Error *error)
{
	StoreQuery query = {.op = op, .place = place};
	return read_lines(store, &query, each, context, error);
}
