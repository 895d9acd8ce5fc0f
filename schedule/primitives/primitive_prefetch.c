/* prefetch: a buffer is asked for some iterations ahead.
 *
 *     for k  c[i] += a[k]            prefetch(c, a, k, 8)
 *   ->
 *     for k  prefetch a[k + 8]; c[i] += a[k]
 *
 * or, of a loop around it, what a whole iteration reads, part after part:
 *
 *     for j for k  c[j] += a[j, k]   prefetch(c, a, j, 1), c placed at j
 *   ->
 *     for j for k  prefetch a[j + 1, k]; c[j] += a[j, k]
 *
 * Legal for a buffer that the block reads, not at data, and a loop that its body
 * is in. */
#include "schedule/internal.h"

typedef struct {
	int stage, buffer, loop;
	Handle distance;
} PrefetchStep;

static Refusal parameters(const Call *call, PrefetchStep *p)
{
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_buffer(call, 1, &p->buffer);
	if (!why)
		why = call_loop(call, 2, &p->loop);
	return why ? why : call_handle(call, 3, 1, &p->distance);
}

static bool is_at_data(const Expr *read)
{
	for (int i = 0; i < read->narg; i++)
		if (expr_has_data(read->arg[i]))
			return true;
	return false;
}

Refusal prefetch_legal(const Call *call)
{
	const Nest *nest = call->nest;
	const Stage *s;
	PrefetchStep p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	s = &nest->stages.at[p.stage];
	if (!nest_reads(nest, p.stage, p.buffer))
		return "the block does not read the buffer";
	if (is_at_data(edit_read_of(nest, p.stage, p.buffer, 1)))
		return "the buffer is read at an index that depends on data";
	if (!edit_is_below(nest, p.stage, p.loop))
		return "the loop is not one of the block's, nor around it";
	return stage_prefetches(s, p.buffer)
	    ? "the buffer is prefetched already"
	    : NULL;
}

void prefetch_apply(const Call *call)
{
	Nest *nest = call->nest;
	PrefetchStep p;

	parameters(call, &p);
	vec_push(nest->arena, &nest->stages.at[p.stage].prefetches,
	    (Prefetch){p.buffer, p.loop, p.distance});
	nest->vars.at[p.loop].used = true;
}
