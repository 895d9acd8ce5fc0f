/* vectorize: the iterations of a loop are the lanes of a vector.
 *
 *     for ni in 8                    vectorize(ni, 8)
 *   ->
 *     vector for ni in 8
 *
 * The loop must have exactly `lanes` iterations: split it off before.  A
 * factor that is a slot is left to a guard.  Not a reduction loop: that would
 * need an operation across lanes. */
#include "schedule/internal.h"

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
	if (nest->vars.at[p.loop].reduce)
		return "a reduction loop cannot be a vector: rfactor it";
	if (edit_kind_own(nest, p.loop, LOOP_VECTOR))
		return "the block has a vector loop already";
	if (edit_has_attached(nest, p.loop))
		return "a block is placed at the loop";
	extent = edit_fixed_extent(nest, p.loop);
	if (extent == HANDLE_NONE)
		return "the loop's extent is not fixed: split the lanes off";
	if (tape_is_const(nest->tape, extent, &number) && number != p.lanes)
		return "the loop has not as many iterations as lanes";
	return NULL;
}

void vectorize_apply(const Call *call)
{
	Nest *nest = call->nest;
	Handle extent, lanes;
	Vectorize p;

	parameters(call, &p);
	extent = edit_fixed_extent(nest, p.loop);
	lanes = tape_const(nest->tape, p.lanes);
	nest->vars.at[p.loop].kind = LOOP_VECTOR;
	if (extent != lanes)
		vec_push(nest->arena, &nest->guards,
		    (Guard){edit_equal_handle(nest->tape, extent, lanes),
			"a vector loop has not as many iterations as lanes"});
}
