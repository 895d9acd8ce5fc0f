/* A growing text on the heap, always NUL-terminated once written to. */
#ifndef LIB_BUF_H
#define LIB_BUF_H

#include <stdarg.h>
#include <stddef.h>

typedef struct {
	char *data; /* owned; NULL while empty */
	size_t size; /* bytes without the NUL */
	size_t cap;
} Buf;

void buf_add(Buf *buf, const void *data, size_t size);
void buf_puts(Buf *buf, const char *text);
void buf_putc(Buf *buf, char c);
void buf_printf(Buf *buf, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void buf_vprintf(Buf *buf, const char *format, va_list args);
void buf_clear(Buf *buf); /* size 0, memory kept */
void buf_free(Buf *buf);
const char *buf_text(const Buf *buf); /* "" while empty */

#endif
