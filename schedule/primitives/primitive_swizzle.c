/* swizzle: rows of a shared buffer lie in other banks than those beside them.
 *
 *     a[x0][x1], rows of 128 bytes     swizzle(a, 128)
 *   ->
 *     chunk c of 16 bytes of row r lies where chunk c xor r % 8 would
 *
 * What changes places is inside of 1024 bytes (512 with rows of 64, 256 of 32), so
 * it is said of the buffer's bytes in their order, whatever its layout: bits 4 to
 * 6 of an address are xor-ed with bits 7 to 9.  Legal for buffers of scope
 * shared. */
#include "schedule/internal.h"

typedef struct {
	int stage;
	int64_t bytes;
} Swizzle;

static Refusal parameters(const Call *call, Swizzle *p)
{
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_int(call, 1, &p->bytes);
	if (!why && p->bytes != 128 && p->bytes != 64 && p->bytes != 32)
		why = "rows of 128, 64 or 32 bytes are swizzled";
	return why;
}

Refusal swizzle_legal(const Call *call)
{
	const Nest *nest = call->nest;
	Swizzle p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (nest->buffers.at[nest->stages.at[p.stage].buffer].scope !=
	    SCOPE_SHARED)
		return "the buffer is not shared by a block of threads";
	return NULL;
}

void swizzle_apply(const Call *call)
{
	Nest *nest = call->nest;
	Swizzle p;

	parameters(call, &p);
	nest->buffers.at[nest->stages.at[p.stage].buffer].swizzle =
	    (int)p.bytes;
}
