/* What only tuner/ needs: the inside of stores. */
#ifndef TUNER_INTERNAL_H
#define TUNER_INTERNAL_H

#include <pthread.h>

#include "tuner/tuner.h"

/* A line as it is stored: its bytes, and where it stands (a line of the file, a
 * row), from 1.  False ends the reading. */
typedef bool (*StoreScan)(
    const char *text, size_t size, int64_t number, void *context);

/* A kind of store.  append has the bytes without newline and commits them; scan
 * may deliver more than the lines that concern `op` (NULL: all), which is only
 * there to save work. */
typedef struct {
	Status (*open)(Store *store, Error *error);
	void (*close)(Store *store);
	Status (*append)(Store *store, const Line *line, Error *error);
	Status (*scan)(Store *store, const char *op, StoreScan scan,
	    void *context, Error *error);
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
	void *state; /* of the kind */
	Syncer syncer;
};

extern const StoreKind store_jsonl, store_sqlite;

/* How long a store waits for another process to release its lock. */
enum { STORE_BUSY_MS = 3000 };

/* store.c */
Status store_scan(Store *store, const char *op, StoreScan scan, void *context,
    Error *error);
void store_note(Store *store, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The file `fd` was written to: to the disk with it, soon. */
void store_written(Store *store, int fd);

/* record_scan.c: the members of a line without building a tree. */
typedef struct {
	const char *at; /* the value, quotes and all; NULL: no such key */
	size_t size;
} Member;
/* Finds the values of n top-level keys; false if the text is not one object
 * with balanced brackets.  Does not check what is inside the values. */
bool line_members(const char *text, size_t size, const char *const *keys,
    int n, Member *members);
/* Equal to the JSON string of a text that needs no escapes? */
bool member_is(Member member, const char *text);

#endif
