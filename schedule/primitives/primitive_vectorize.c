/* vectorize: the iterations of a loop are the lanes of a vector.
 *
 *     for ni in 8                    vectorize(ni, 8)
 *   ->
 *     vector for ni in 8
 *
 * A loop with a multiple of `lanes` iterations is split into an unrolled loop
 * of vectors, ni.u, and the lanes, ni.v; inference guards that it is a multiple
 * where that is a slot's matter.  Lanes of a reduction loop are partial results,
 * combined in a tree at the end: not under --numerics=exact, where floats are
 * summed in the order of the file. */
#include "schedule/internal.h"

#include <assert.h>

enum { MAX_LANES = 64 };

typedef struct {
	int loop;
	int64_t lanes;
} Vectorize;

static Refusal parameters(const Call *call, Vectorize *p)
{
	Refusal why = call_loop(call, 0, &p->loop);

	return why ? why : call_int(call, 1, &p->lanes);
}

Refusal vectorize_legal(const Call *call)
{
	Nest *nest = call->nest;
	Vectorize p;
	int64_t number;
	Handle extent;
	Refusal why = parameters(call, &p);

	if (!why)
		why = edit_annotate_legal(nest, p.loop);
	if (why)
		return why;
	if (p.lanes < 1 || p.lanes > MAX_LANES || (p.lanes & (p.lanes - 1)))
		return "a vector has 1, 2, 4, ... or 64 lanes";
	if (nest->vars.at[p.loop].reduce &&
	    edit_is_exact(nest, nest->vars.at[p.loop].stage))
		return "exact numerics keep the order of the reduction";
	if (edit_kind_own(nest, p.loop, LOOP_VECTOR))
		return "the block has a vector loop already";
	if (edit_has_attached(nest, p.loop))
		return "a block is placed at the loop";
	extent = edit_fixed_extent(nest, p.loop);
	if (extent == HANDLE_NONE)
		return "the loop's extent is not fixed: split the lanes off";
	if (tape_is_const(nest->tape, extent, &number) && number % p.lanes)
		return "the loop's iterations are no multiple of the lanes";
	return NULL;
}

/* The loop of the lanes. */
static int split_lanes(Nest *nest, int loop, Handle lanes)
{
	const char *name = nest->vars.at[loop].name;
	const char *names[] = {arena_printf(nest->arena, "%s.u", name),
	    arena_printf(nest->arena, "%s.v", name)};
	const Handle factors[] = {HANDLE_NONE, lanes};
	const int *parts = edit_split_loop(nest, loop, 2, factors, names);

	nest->vars.at[parts[0]].kind = LOOP_UNROLL;
	return parts[1];
}

void vectorize_apply(const Call *call)
{
	Nest *nest = call->nest;
	Handle lanes;
	Vectorize p;

	parameters(call, &p);
	lanes = tape_const(nest->tape, p.lanes);
	if (edit_fixed_extent(nest, p.loop) != lanes)
		p.loop = split_lanes(nest, p.loop, lanes);
	assert(edit_fixed_extent(nest, p.loop) == lanes);
	nest->vars.at[p.loop].kind = LOOP_VECTOR;
}
