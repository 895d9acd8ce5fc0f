/* Names of kinds of loops. */
#include "ir/loop.h"

const char *loop_kind_name(LoopKind kind)
{
	static const char *const names[] = {
#define LOOP(name, printed) printed,
#include "ir/loops.def"
#undef LOOP
	};
	return names[kind];
}
