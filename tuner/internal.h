/* What only tuner/ needs: the inside of stores. */
#ifndef TUNER_INTERNAL_H
#define TUNER_INTERNAL_H

#include <pthread.h>

#include "tuner/tuner.h"

/* A line as it is stored: its bytes, valid during the call, and where it
 * stands: a line of the file or a row, from 1, and in a file its first byte. */
typedef struct {
	const char *text;
	size_t size;
	int64_t number, offset;
} StoredLine;

/* False ends the reading. */
typedef bool (*StoreScan)(const StoredLine *line, void *context);

/* Which lines a reader wants.  A store may deliver more: all but `place` is
 * there to save work. */
typedef struct {
	const char *op;     /* its trials and the marks; NULL: all */
	StorePlace *place;  /* only what stands behind it, which moves it; NULL */
	/* Of op's measured ok trials those of final rounds, or all of each
	 * trace that is among the `fastest`, for a target and a regime (NULL:
	 * for each): what the best is chosen from. */
	const char *target, *regime;
	bool finals;
	int fastest;
} StoreQuery;

/* A kind of store.  append has the bytes without newline and commits them, all
 * or, where the kind can, none;
 * scan sets *narrowed where it left out trials that the query does not want;
 * fetch gives the line that scan gave from there. */
typedef struct {
	const char *const *beside; /* as store_beside gives them */
	Status (*open)(Store *store, Error *error);
	void (*close)(Store *store);
	Status (*append)(
	    Store *store, Line *const *lines, int n, Error *error);
	Status (*scan)(Store *store, const StoreQuery *query, StoreScan scan,
	    void *context, bool *narrowed, Error *error);
	Status (*fetch)(Store *store, const StoredLine *where, Buf *out,
	    Error *error);
} StoreKind;

/* Puts what was appended on the disk half a second later, so that a writer
 * need not wait for the disk and power loss costs at most the last second. */
typedef struct {
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	int fd; /* -1: not started; of the file that was appended to */
	bool dirty, stop;
} Syncer;

struct Store {
	const StoreKind *kind;
	char *path;
	StoreMode mode;
	Buf notes; /* what the last reading skipped */
	int64_t damaged; /* lines that it could not read */
	size_t notes_end; /* of the notes, before the count of damaged lines */
	void *state; /* of the kind */
	Syncer syncer;
};

extern const StoreKind store_jsonl, store_sqlite;

/* How long a store waits for another process to release its lock. */
enum { STORE_BUSY_MS = 3000 };

/* store.c */
Status store_scan(Store *store, const StoreQuery *query, StoreScan scan,
    void *context, bool *narrowed, Error *error);
void store_note(Store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Counts a line that cannot be read, and names the first ones. */
void store_damaged(Store *store, int64_t number, const char *why);
/* The bytes of a line that a reading gave; STATUS_INPUT if it is not there any
 * more. */
Status store_fetch(
    Store *store, const StoredLine *where, Buf *out, Error *error);
/* The file `fd` was written to: to the disk with it, soon. */
void store_written(Store *store, int fd);

/* record.c: so many lower-case hex digits and nothing else? */
enum { ID_DIGITS = 16, OP_DIGITS = 64 };
bool hex_is_valid(const char *text, size_t size, size_t digits);

/* As measure_quiet says, of numbers that a line has. */
bool noise_is_quiet(double probe, double switches, double cpu_s);

/* record_scan.c: the members of a line without building a tree. */
typedef struct {
	const char *at; /* the value, quotes and all; NULL: no such key */
	size_t size;
} Member;
/* Finds the values of n top-level keys; false if the text is not one object
 * with balanced brackets.  Does not check what is inside the values. */
bool line_members(const char *text, size_t size, const char *const *keys,
    int n, Member *members);
/* The JSON string of an ASCII text, escapes or not? */
bool member_is(Member member, const char *text);

#endif
