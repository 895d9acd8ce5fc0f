/* Memory that is released all at once.
 *
 * One arena per compilation: everything from spec to emitted text lives in it
 * and dies together, so passes never free.  Running out of memory ends the
 * process with a message; no caller checks for NULL. */
#ifndef LIB_ARENA_H
#define LIB_ARENA_H

#include <stdarg.h>
#include <stddef.h>

typedef struct Arena Arena;

Arena *arena_new(void);
Arena *arena_child(Arena *parent); /* freed with its parent, or before */
void arena_free(Arena *arena); /* NULL is allowed */

/* Zeroed memory, aligned to 16 bytes; size 0 gives a unique pointer. */
void *arena_alloc(Arena *arena, size_t size);
/* The same, but for what is in it: for who writes all of it that is read. */
void *arena_piece(Arena *arena, size_t size);
char *arena_strdup(Arena *arena, const char *text);
char *arena_strndup(Arena *arena, const char *text, size_t length);
void *arena_memdup(Arena *arena, const void *data, size_t size);
char *arena_printf(Arena *arena, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
char *arena_vprintf(Arena *arena, const char *format, va_list args);

/* malloc that ends the process when memory is exhausted. */
void *must_alloc(size_t size);
void *must_realloc(void *old, size_t size);

#define NEW(arena, Type)      ((Type *)arena_alloc(arena, sizeof(Type)))
#define NEW_N(arena, Type, n) ((Type *)arena_alloc(arena, sizeof(Type) * (size_t)(n)))

#endif
