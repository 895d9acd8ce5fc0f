/* Failures of the world (disk, child process, missing library) as values. */
#ifndef LIB_STATUS_H
#define LIB_STATUS_H

typedef enum {
#define STATUS(name, text) STATUS_##name,
#include "lib/status.def"
#undef STATUS
} Status;

typedef struct {
	Status status;
	char text[1024]; /* one line without "error:", for a person */
} Error;

const char *status_text(Status status);

/* Fills error and returns status, so that callers write
 * `return error_set(error, STATUS_IO, ...)`. */
Status error_set(Error *error, Status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#define FORWARD_IF_ERROR(call)                                                 \
	do {                                                                   \
		Status forwarded = (call);                                     \
		if (forwarded)                                                 \
			return forwarded;                                      \
	} while (0)

#endif
