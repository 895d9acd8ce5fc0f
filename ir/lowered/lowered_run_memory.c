/* Loads and stores of the lowered form's interpreter: every lane that is
 * touched lies in its buffer and is raced for by nobody. */
#include "ir/lowered/lowered_run.h"

/* Where lane l of an access lies; false where the mask has it off. */
typedef struct {
	int64_t first;
	const Scalar *index; /* of gather and scatter; NULL: contiguous */
	const Scalar *mask;  /* NULL: all lanes */
} LaneAddresses;

static const Scalar *lanes_at(const Scalar *frame, int slot)
{
	return slot < 0 ? NULL : frame + slot;
}

static LaneAddresses access_of(const Code *code, const Scalar *frame)
{
	LaneAddresses x = {run_affine(&code->at, frame), NULL, NULL};
	switch (code->op) {
	case LOW_LOAD_MASKED: x.mask = lanes_at(frame, code->a); break;
	case LOW_GATHER:
		x.index = lanes_at(frame, code->a);
		x.mask = lanes_at(frame, code->b);
		break;
	case LOW_STORE_MASKED: x.mask = lanes_at(frame, code->b); break;
	case LOW_SCATTER:
		x.index = lanes_at(frame, code->b);
		x.mask = lanes_at(frame, code->c);
		break;
	default: break;
	}
	return x;
}

bool run_outside(Runner *r, const Code *code, const Scalar *frame, int lane,
    int buffer, int64_t at)
{
	const LowBuffer *b = &r->function->f->buffers.at[buffer];
	return run_fail(r, code, frame, "lane %d is %s[%lld] of %lld elements",
	    lane, b->name, (long long)at, (long long)b->elements);
}

bool run_raced(Runner *r, const Code *code, const Scalar *frame,
    const char *other, int buffer, int64_t at)
{
	return run_fail(r, code, frame,
	    "a race: %s[%lld], which another iteration %s",
	    r->function->f->buffers.at[buffer].name, (long long)at, other);
}

/* Bools in memory are true where not 0. */
Scalar run_element(DType type, const void *base, int64_t at)
{
	Scalar x = scalar_load(type, base, at);
	if (type == DT_BOOL)
		x.i = x.i != 0;
	return x;
}

static void watch_access(
    const Runner *r, const Code *code, int64_t element, bool write)
{
	const LowWatch *watch = r->out->watch;
	if (watch)
		watch->access(watch->context, code->buffer, element, write);
}

static bool load(Runner *r, const Code *code, Scalar *frame)
{
	LaneAddresses x = access_of(code, frame);
	int64_t n = r->function->f->buffers.at[code->buffer].elements;
	const char *base = r->base[code->buffer];
	bool row = code->op == LOW_LOAD_MATRIX; /* which is given out later */
	Scalar *to = frame + (row ? code->a : code->d);
	for (int l = 0; l < (row ? code->sources : code->lanes); l++) {
		int64_t at = x.first + (x.index ? x.index[l].i : l);
		if (x.mask && !x.mask[l].i) {
			to[l] = (Scalar){0};
			watch_access(r, code, -1, false);
			continue;
		}
		if (at < 0 || at >= n)
			return run_outside(
			    r, code, frame, l, code->buffer, at);
		if (async_awaited(r, code->buffer, at))
			return async_touched(r, code, frame, at);
		if (!race_read(r, code->buffer, at))
			return run_raced(
			    r, code, frame, "wrote", code->buffer, at);
		to[l] = run_element(code->type, base, at);
		watch_access(r, code, at, false);
		r->out->loads++;
	}
	return true;
}

static bool store(Runner *r, const Code *code, Scalar *frame)
{
	LaneAddresses x = access_of(code, frame);
	int64_t n = r->function->f->buffers.at[code->buffer].elements;
	char *base = r->base[code->buffer];
	const char *other;
	for (int l = 0; l < code->lanes; l++) {
		int64_t at = x.first + (x.index ? x.index[l].i : l);
		if (x.mask && !x.mask[l].i) {
			watch_access(r, code, -1, true);
			continue;
		}
		if (at < 0 || at >= n)
			return run_outside(
			    r, code, frame, l, code->buffer, at);
		if (async_awaited(r, code->buffer, at))
			return async_touched(r, code, frame, at);
		if (!race_write(r, code->buffer, at, &other))
			return run_raced(
			    r, code, frame, other, code->buffer, at);
		scalar_store(code->type, base, at, frame[code->a + l]);
		group_stored(r, code->buffer, at);
		watch_access(r, code, at, true);
		r->out->stores++;
	}
	return true;
}

bool run_memory(Runner *r, const Code *code, Scalar *frame)
{
	if (low_op_reads(code->op))
		return load(r, code, frame);
	return !low_op_writes(code->op) || store(r, code, frame);
}
