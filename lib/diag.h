/* Mistakes of the user: a message at a place in a text, with the line and a
 * caret under it.  Diagnostics are collected, so that one run reports as many
 * independent errors as it can find. */
#ifndef LIB_DIAG_H
#define LIB_DIAG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/buf.h"

typedef struct {
	const char *name; /* as the user wrote it; "-" is shown as <stdin> */
	const char *text; /* size bytes and a NUL */
	size_t size;
} Source;

typedef struct {
	size_t begin, end; /* byte offsets into the source, end exclusive */
} Span;

typedef struct {
	Buf text;  /* the formatted messages so far, escaped for a terminal */
	int errors, warnings;
	const char *suffix; /* e.g. "(case big)", appended to each; may be NULL */
	size_t last_begin; /* place of the last error: one message a place */
} Diag;

/* "FILE:LINE:COLUMN: error: MESSAGE", the line, and a caret with tildes. */
void diag_error(Diag *diag, const Source *source, Span span,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
void diag_warning(Diag *diag, const Source *source, Span span,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
/* What belongs to the message before; counts as none. */
void diag_note(Diag *diag, const Source *source, Span span,
    const char *format, ...) __attribute__((format(printf, 4, 5)));
void diag_free(Diag *diag);

/* 1-based line and byte column of an offset. */
void source_place(const Source *source, size_t offset, int *line, int *column);

#endif
