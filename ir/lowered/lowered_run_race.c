/* Races: two units touch an element, one of them writes, and nothing orders
 * them.  A unit is an iteration of a parallel loop, or a thread of a block.
 *
 * Units run one after another, so one counter, the epoch, orders everything.
 * It goes up where a region (a parallel loop, the loops of a GPU) starts, where
 * a block does (a parallel iteration is a block of one thread), and at each
 * barrier of the block.  Against the record of an earlier access:
 *
 *     before the region's start          ordered
 *     before the block's start           another block: conflict
 *     before the last barrier            ordered
 *     after it                           conflict if by another thread
 *
 * One writer suffices, since the second one conflicts or is ordered after it.
 * Of the readers of a region an earlier block's is kept, as all that follow in
 * other blocks conflict with it; several of one block become MANY. */
#include "ir/lowered/lowered_run.h"


enum { MANY = -1 };

/* Pieces of a thread's own are private by their addresses. */
static bool is_watched(const LowBuffer *b)
{
	return b->written && !b->thread_bytes && b->kind != LOWBUF_LOCAL;
}

void race_start(Runner *r)
{
	const LowFunction *f = r->function->f;
	r->shadow = NEW_N(r->arena, Shadow *, f->buffers.n);
	r->epoch = 1;
	for (int i = 0; i < f->buffers.n && r->out->check_races; i++) {
		const LowBuffer *b = &f->buffers.at[i];
		if (is_watched(b))
			r->shadow[i] = NEW_N(r->arena, Shadow, b->elements);
	}
}

void race_open(Runner *r)
{
	r->concurrent = true;
	r->region_epoch = ++r->epoch;
	r->block_epoch = r->epoch;
	r->unit = 0;
}

void race_close(Runner *r)
{
	r->concurrent = false;
	r->unit = 0;
}

void race_block(Runner *r)
{
	r->block_epoch = ++r->epoch;
	r->unit = 0;
}

void race_barrier(Runner *r)
{
	r->epoch++;
}

void race_forget(Runner *r, int buffer)
{
	if (r->shadow[buffer])
		memset(r->shadow[buffer], 0,
		    sizeof(Shadow) *
			(size_t)r->function->f->buffers.at[buffer].elements);
}

static bool of_earlier_block(const Runner *r, int64_t epoch)
{
	return epoch >= r->region_epoch && epoch < r->block_epoch;
}

static bool conflicts(const Runner *r, int64_t epoch, int32_t unit)
{
	return of_earlier_block(r, epoch) ||
	    (epoch == r->epoch && unit != r->unit);
}

bool race_read(Runner *r, int buffer, int64_t at)
{
	if (!r->concurrent || !r->shadow[buffer])
		return true;
	Shadow *s = &r->shadow[buffer][at];
	if (conflicts(r, s->written, s->writer))
		return false;
	if (of_earlier_block(r, s->read))
		return true;
	s->reader = s->read == r->epoch && s->reader != r->unit ? MANY
								: r->unit;
	s->read = r->epoch;
	return true;
}

bool race_write(Runner *r, int buffer, int64_t at, const char **other)
{
	if (!r->concurrent || !r->shadow[buffer])
		return true;
	Shadow *s = &r->shadow[buffer][at];
	*other = "wrote";
	if (conflicts(r, s->written, s->writer))
		return false;
	*other = "read";
	if (conflicts(r, s->read, s->reader))
		return false;
	s->written = r->epoch;
	s->writer = r->unit;
	return true;
}
