/* One load of neighbours from memory, and whether they lie in their buffer. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

int load_op(
    Lower *l, int buffer, LowOpcode op, int lanes, Index address, int a, int b)
{
	const NestBuffer *n = &l->nest->buffers.at[buffer];
	assert(n->scope != SCOPE_REG && !index_has_lanes(address));
	assert((op == LOW_LOAD_MASKED) == (a >= 0));
	Key key = {.op = op,
	    .type = n->type,
	    .lanes = lanes,
	    .arg = {a, b, -1},
	    .buffer = buffer,
	    .address = index_address(l, address)};
	return emit_load(l, &key, n->name);
}

int load_run(Lower *l, int buffer, int lanes, Index address)
{
	return load_op(l, buffer, LOW_LOAD, lanes, address, -1, -1);
}

bool memory_inside(Lower *l, int buffer, Index address)
{
	int64_t n =
	    tape_value(l->nest->tape, l->nest->buffers.at[buffer].elements);
	return index_nonnegative(l, address) &&
	    index_nonnegative(l, index_add(l, index_const(n - 1), address, -1));
}
