/* Shared buffers that are filled iterations ahead (the primitive `stages`).
 *
 *     for k {                       for j < n - 1 { fill(j); commit }
 *       fill(k); barrier       -->  for k {
 *       compute(k)                    wait n - 2; barrier
 *     }                               if k + n - 1 < E { fill(k + n - 1) }
 *                                     commit
 *                                     compute(k)
 *                                   }
 *
 * The buffer has n slots, k % n is the iteration's.  The slot that is filled was
 * read for the last time in the iteration before, behind which the barrier is;
 * what is filled here is read behind the barrier of a later one.  So one barrier
 * an iteration is enough.
 *
 * On a machine that has them, what is only copied is copied asynchronously.
 * Else what is stored is made, and loaded, before `compute`, kept in registers,
 * and stored after it, so that the loads have that long to arrive.
 *
 * A loop that does not run from 0 to a number is not touched: its fills stay
 * where they are, in the first slot. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

static int64_t slots_of(const Lower *l, int stage)
{
	const NestBuffer *b =
	    &l->nest->buffers.at[l->nest->stages.at[stage].buffer];
	return b->slots == HANDLE_NONE ? 1
				       : tape_value(l->nest->tape, b->slots);
}

/* Is it filled ahead where it is placed? */
static bool is_ahead(const Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	return !s->after && !s->ahead && slots_of(l, stage) > 1;
}

int64_t stages_depth(const Lower *l, int var)
{
	int64_t depth = 1;
	for (int i = 0; i < l->part->hung[var].n; i++) {
		int stage = l->part->hung[var].at[i];
		if (is_ahead(l, stage) && slots_of(l, stage) > depth)
			depth = slots_of(l, stage);
	}
	return depth;
}

/* --- how a stage is filled --------------------------------------------------- */

/* Nothing is computed on the way. */
static bool is_plain(const Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	return s->body->op == OP_READ &&
	    s->body->type == l->nest->buffers.at[s->buffer].type;
}

/* Are there copies of what a thread stores at once, or of its elements? */
static bool is_large(const Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	int64_t size = dtype_bytes(s->body->type), bytes = size;
	for (int i = 0; i < s->nloops; i++)
		if (l->nest->vars.at[s->loops[i]].kind == LOOP_VECTOR)
			bytes = size * loop_extent(l, s->loops[i]);
	return size >= 4 || (bytes >= 4 && bytes <= 16);
}

static bool is_async(const Lower *l, int stage)
{
	return l->machine->async_copies && is_plain(l, stage) &&
	    is_large(l, stage);
}

/* Is each element that a thread stores known by a number, so that it can wait in
 * a temporary? */
static bool is_numbered(const Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	for (int i = 0; i < s->nloops; i++)
		if (!loop_at_compile_time(l, s->loops[i]) &&
		    !loop_is_bound(l->nest->vars.at[s->loops[i]].kind))
			return false;
	return true;
}

static bool is_kept(const Lower *l, int stage)
{
	return !is_async(l, stage) && is_numbered(l, stage);
}

/* --- the loop ----------------------------------------------------------------- */

static void fill(Lower *l, int stage, Filling how)
{
	Lower in = *l;
	in.filling = how;
	lower_stage_alone(&in, stage);
}

/* The least number of slots that are filled asynchronously; 0: none. */
static int64_t least_async(const Lower *l, int var)
{
	int64_t least = 0;
	for (int i = 0; i < l->part->hung[var].n; i++) {
		int stage = l->part->hung[var].at[i];
		int64_t n = slots_of(l, stage);
		if (is_ahead(l, stage) && is_async(l, stage) &&
		    (!least || n < least))
			least = n;
	}
	return least;
}

void stages_begin(Lower *l, int var, int64_t count)
{
	int64_t depth = stages_depth(l, var);
	assert(depth > 1 && count > 1);
	l->part->ahead[var] = count;
	emit_effect(l, LOW_BARRIER, -1, -1, -1);
	for (int64_t v = 1 - depth; v < 0; v++) {
		for (int i = 0; i < l->part->hung[var].n; i++) {
			int stage = l->part->hung[var].at[i];
			int64_t k = v + slots_of(l, stage) - 1;
			if (!is_ahead(l, stage) || k < 0 || k >= count)
				continue;
			bind_var(l, var, (Binding){true, index_const(k)});
			fill(l, stage, is_async(l, stage) ? FILL_ASYNC
							  : FILL_NOW);
			unbind(l, var);
		}
		if (least_async(l, var))
			emit_effect(l, LOW_COMMIT, -1, -1, -1);
	}
}

static Filling filling_of(const Lower *l, int stage)
{
	return is_async(l, stage) ? FILL_ASYNC
	    : is_kept(l, stage)	  ? FILL_LOAD
				  : FILL_NOW;
}

/* Of the stages with so many slots; `late`: what they kept is stored. */
static void fill_all(Lower *l, int var, int64_t slots, bool late)
{
	for (int i = 0; i < l->part->hung[var].n; i++) {
		int stage = l->part->hung[var].at[i];
		if (!is_ahead(l, stage) || slots_of(l, stage) != slots ||
		    (late && !is_kept(l, stage)))
			continue;
		fill(l, stage, late ? FILL_STORE : filling_of(l, stage));
	}
}

/* For the iteration that is so many ahead, if there is one. */
static void fill_ahead(Lower *l, int var, int64_t slots, bool late)
{
	Lower in = *l;
	Index k =
	    index_add(l, l->part->vars[var].value, index_const(slots - 1), 1);
	Index slack = index_add(l, index_const(l->part->ahead[var] - 1), k, -1);
	Branch b;
	if (index_negative(l, slack))
		return;
	branch_begin(l, &b, value_scalar(l, value_nonnegative(l, slack)));
	fact_push(&in, slack);
	Binding was = bind_var(l, var, (Binding){true, k});
	fill_all(&in, var, slots, late);
	bind_var(l, var, was);
	branch_end(l, &b);
}

static bool some_ahead(const Lower *l, int var, int64_t slots, bool kept)
{
	for (int i = 0; i < l->part->hung[var].n; i++) {
		int stage = l->part->hung[var].at[i];
		if (is_ahead(l, stage) && slots_of(l, stage) == slots &&
		    (!kept || is_kept(l, stage)))
			return true;
	}
	return false;
}

static void fill_each(Lower *l, int var, bool late)
{
	int64_t depth = stages_depth(l, var);
	for (int64_t n = 2; n <= depth; n++)
		if (some_ahead(l, var, n, late))
			fill_ahead(l, var, n, late);
}

void stages_step(Lower *l, int var)
{
	int64_t least = least_async(l, var);
	if (least)
		emit_effect(l, LOW_WAIT, -1, -1, -1)->i = least - 2;
	emit_effect(l, LOW_BARRIER, -1, -1, -1);
	for (int i = 0; i < l->part->hung[var].n; i++) {
		int stage = l->part->hung[var].at[i];
		const Stage *s = &l->nest->stages.at[stage];
		if (!s->after && !s->ahead && !is_ahead(l, stage))
			lower_stage(l, stage);
	}
	l->part->keeps[var] = l->part->kept.n; /* a loop around may have some */
	fill_each(l, var, false);
	if (least)
		emit_effect(l, LOW_COMMIT, -1, -1, -1);
}

void stages_end_step(Lower *l, int var)
{
	assert(l->part->ahead[var] && l->part->keeps[var] <= l->part->kept.n);
	l->part->nkept = l->part->keeps[var];
	fill_each(l, var, true);
	assert(l->part->failed || l->part->nkept == l->part->kept.n);
	l->part->kept.n = l->part->keeps[var];
}

void stages_end(Lower *l, int var)
{
	l->part->ahead[var] = 0;
}
