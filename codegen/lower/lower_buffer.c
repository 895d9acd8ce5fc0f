/* The buffers of a function that is made: a name of its own for each, and what is
 * forgotten of them before the next function.
 *
 *     c, c of another part   -->   c, c_0
 */
#include "codegen/lower/lower_internal.h"

#include <assert.h>
#include <ctype.h>

static const char *buffer_name(Lower *l, const char *name)
{
	char *s = arena_strdup(l->arena, name);
	for (char *p = s; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	int other = low_buffer_named(l->arena, l->f, s);
	return other < 0
	    ? s
	    : buffer_name(l, arena_printf(l->arena, "%s_%d", s, other));
}

int declare_buffer(Lower *l, const char *name, DType type, int64_t elements,
    LowBufferKind kind, int param, int64_t offset, int align)
{
	const char *unique = buffer_name(l, name);
	assert(elements >= 0 && offset >= 0);
	assert(align > 0 && offset % align == 0);
	assert(kind != LOWBUF_PARAM || param < l->f->params.n);
	vec_push(l->arena, &l->f->buffers,
	    (LowBuffer){.name = unique,
		.type = type,
		.elements = elements,
		.kind = kind,
		.param = param,
		.offset = offset,
		.align = align});
	return l->f->buffers.n - 1;
}

void lower_forget_buffer(Lower *l, int buffer)
{
	l->part->low_buffer[buffer] = -1;
	l->part->registers[buffer] = (ElementVec){0};
	l->part->stored[buffer] = (StoredVec){0};
	l->part->version[buffer] = 0;
}
