#include "lib/arena.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/sanitize.h"

/* Under AddressSanitizer nobody may look at what lies between pieces, to the byte,
 * nor at chunks that were given back. */
enum { CHUNK_BYTES = (ADDRESS_SANITIZER ? 16 : 64) * 1024, ALIGN = 16 };

#if ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
enum { BETWEEN = 16 };
#else
enum { BETWEEN = 0 };
#define ASAN_POISON_MEMORY_REGION(at, size)   ((void)(at), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

typedef struct Chunk Chunk;
struct Chunk {
	Chunk *next;
	size_t size; /* usable bytes after the header */
	size_t used;
	_Alignas(16) unsigned char data[];
};

struct Arena {
	Chunk *chunks; /* newest first */
	Arena *parent; /* NULL: none */
	Arena *children, *sibling;
};

/* Chunks that were given back: arenas come and go by the thousand, and new pages cost
 * more than what is done in them. */
enum { SPARES_MOST = 64 };
static Chunk *spares;
static int nspares;

static bool spare_keep(Chunk *c)
{
	if (ADDRESS_SANITIZER || c->size != CHUNK_BYTES ||
	    nspares == SPARES_MOST)
		return false;
	assert(c->used <= c->size);
	c->next = spares;
	spares = c;
	nspares++;
	return true;
}

static Chunk *spare_take(void)
{
	Chunk *c = spares;
	assert(c && nspares > 0);
	spares = c->next;
	nspares--;
	return c;
}

static _Noreturn void out_of_memory(void)
{
	static const char text[] = "tunec: error: out of memory\n";
	if (write(2, text, sizeof text - 1) < 0)
		_exit(1);
	_exit(1);
}

void *must_alloc(size_t size)
{
	void *p = malloc(size ? size : 1);
	if (!p)
		out_of_memory();
	return p;
}

void *must_realloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);
	if (!p)
		out_of_memory();
	return p;
}

Arena *arena_new(void)
{
	Arena *arena = must_alloc(sizeof *arena);
	*arena = (Arena){0};
	return arena;
}

Arena *arena_child(Arena *parent)
{
	Arena *arena = arena_new();
	assert(parent);
	arena->parent = parent;
	arena->sibling = parent->children;
	parent->children = arena;
	return arena;
}

static void leave_parent(Arena *arena)
{
	Arena **at = &arena->parent->children;
	while (*at != arena)
		at = &(*at)->sibling;
	assert(*at == arena && arena->parent);
	*at = arena->sibling;
}

void arena_free(Arena *arena)
{
	if (!arena)
		return;
	while (arena->children)
		arena_free(arena->children);
	if (arena->parent)
		leave_parent(arena);
	for (Chunk *c = arena->chunks, *next; c; c = next) {
		next = c->next;
		if (!spare_keep(c))
			free(c);
	}
	free(arena);
}

static __attribute__((noinline)) Chunk *chunk_new(Arena *arena, size_t need)
{
	size_t size = need > CHUNK_BYTES ? need : CHUNK_BYTES;
	Chunk *c = size > CHUNK_BYTES ? calloc(1, sizeof *c + size)
	    : spares		      ? spare_take()
				      : malloc(sizeof *c + size);
	if (!c)
		out_of_memory();
	c->size = size;
	c->used = 0;
	c->next = arena->chunks;
	arena->chunks = c;
	ASAN_POISON_MEMORY_REGION(c->data, size);
	return c;
}

void *arena_piece(Arena *arena, size_t size)
{
	if (size > SIZE_MAX / 2)
		out_of_memory();
	size += !size;
	size_t room = (size + BETWEEN + ALIGN - 1) / ALIGN * ALIGN;
	Chunk *c = arena->chunks;
	if (!c || c->size - c->used < room)
		c = chunk_new(arena, room);
	assert(c->size - c->used >= room);
	void *p = c->data + c->used;
	ASAN_UNPOISON_MEMORY_REGION(p, size);
	c->used += room;
	assert((uintptr_t)p % ALIGN == 0);
	return p;
}

void *arena_alloc(Arena *arena, size_t size)
{
	void *p = arena_piece(arena, size);
	/* What is larger than a chunk has a new one, of pages that the system
	 * zeroes when they are touched. */
	return size > CHUNK_BYTES ? p : memset(p, 0, size);
}

void *arena_memdup(Arena *arena, const void *data, size_t size)
{
	void *p = arena_piece(arena, size);
	if (size)
		memcpy(p, data, size);
	return p;
}

char *arena_strndup(Arena *arena, const char *text, size_t length)
{
	char *p = arena_piece(arena, length + 1);
	memcpy(p, text, length);
	p[length] = 0;
	return p;
}

char *arena_strdup(Arena *arena, const char *text)
{
	return arena_strndup(arena, text, strlen(text));
}

char *arena_vprintf(Arena *arena, const char *format, va_list args)
{
	enum { SHORT = 256 }; /* and nearly all are: printed once */
	char text[SHORT], *p;
	va_list again;
	va_copy(again, args);
	int n = vsnprintf(text, sizeof text, format, args);
	assert(n >= 0); /* no text of ours is in wide characters */
	if (n < SHORT)
		p = arena_memdup(arena, text, (size_t)n + 1);
	else {
		p = arena_piece(arena, (size_t)n + 1);
		vsnprintf(p, (size_t)n + 1, format, again);
	}
	va_end(again);
	return p;
}

char *arena_printf(Arena *arena, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	char *p = arena_vprintf(arena, format, args);
	va_end(args);
	return p;
}
