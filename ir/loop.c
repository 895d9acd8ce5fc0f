/* What loops.def says of kinds of loops. */
#include "ir/loop.h"

#include <assert.h>

typedef enum { BOUND_NONE, BOUND_BLOCK, BOUND_THREAD } Bound;

static const struct {
	const char *name;
	Bound bound;
	int direction;
} kinds[] = {
#define LOOP(name, printed, bound, direction)                                  \
	{printed, BOUND_##bound, direction},
#include "ir/loops.def"
#undef LOOP
};

const char *loop_kind_name(LoopKind kind)
{
	assert(kind < LOOP_KINDS);
	return kinds[kind].name;
}

bool loop_is_block(LoopKind kind)
{
	assert(kind < LOOP_KINDS);
	return kinds[kind].bound == BOUND_BLOCK;
}

bool loop_is_thread(LoopKind kind)
{
	assert(kind < LOOP_KINDS);
	return kinds[kind].bound == BOUND_THREAD;
}

bool loop_is_bound(LoopKind kind)
{
	return loop_is_block(kind) || loop_is_thread(kind);
}

int loop_direction(LoopKind kind)
{
	assert(loop_is_bound(kind));
	return kinds[kind].direction;
}
