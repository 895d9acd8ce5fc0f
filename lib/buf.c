#include "lib/buf.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/arena.h"

static void buf_reserve(Buf *buf, size_t more)
{
	size_t need = buf->size + more + 1;
	assert(need > more && buf->size <= buf->cap);
	if (need <= buf->cap)
		return;
	size_t cap = buf->cap ? buf->cap : 256;
	while (cap < need)
		cap *= 2;
	buf->data = must_realloc(buf->data, cap);
	buf->cap = cap;
}

void buf_add(Buf *buf, const void *data, size_t size)
{
	buf_reserve(buf, size);
	if (size)
		memcpy(buf->data + buf->size, data, size);
	buf->size += size;
	assert(buf->size < buf->cap);
	buf->data[buf->size] = 0;
}

void buf_puts(Buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

void buf_putc(Buf *buf, char c)
{
	buf_add(buf, &c, 1);
}

void buf_vprintf(Buf *buf, const char *format, va_list args)
{
	va_list again;
	va_copy(again, args);
	buf_reserve(buf, 0);
	size_t room = buf->cap - buf->size;
	int n = vsnprintf(buf->data + buf->size, room, format, args);
	assert(n >= 0);
	if ((size_t)n >= room) {
		buf_reserve(buf, (size_t)n);
		vsnprintf(buf->data + buf->size, (size_t)n + 1, format, again);
	}
	buf->size += (size_t)n;
	va_end(again);
}

void buf_printf(Buf *buf, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_vprintf(buf, format, args);
	va_end(args);
}

void buf_clear(Buf *buf)
{
	buf->size = 0;
	if (buf->data)
		buf->data[0] = 0;
}

void buf_free(Buf *buf)
{
	free(buf->data);
	*buf = (Buf){0};
}

const char *buf_text(const Buf *buf)
{
	return buf->data ? buf->data : "";
}
