/* Copies to shared memory that arrive later.
 *
 * An element is read where its copy begins, and written where a WAIT of the
 * thread that began it ends the group; it counts as written by that thread at
 * both places, and who touches it between them is told so.  So a barrier is
 * needed between the last reader and the copy, and between the WAIT and the
 * next. */
#include "ir/lowered/lowered_run.h"

bool async_touched(
    Runner *r, const Code *code, const Scalar *frame, int64_t at)
{
	return run_fail(r, code, frame,
	    "%s[%lld] is touched while a copy to it is on its way",
	    r->function->f->buffers.at[code->buffer].name, (long long)at);
}

static Copies *copies_of(Runner *r)
{
	while (r->unit >= r->ncopies) {
		int n = r->ncopies ? 2 * r->ncopies : 32;
		Copies *more = NEW_N(r->arena, Copies, n);
		if (r->ncopies)
			memcpy(more, r->copies,
			    sizeof *more * (size_t)r->ncopies);
		r->copies = more;
		r->ncopies = n;
	}
	return &r->copies[r->unit];
}

static char *awaited_of(Runner *r, int buffer)
{
	const LowFunction *f = r->function->f;
	if (!r->awaited)
		r->awaited = NEW_N(r->arena, char *, f->buffers.n);
	if (!r->awaited[buffer])
		r->awaited[buffer] =
		    NEW_N(r->arena, char, f->buffers.at[buffer].elements);
	return r->awaited[buffer];
}

static bool begin_one(Runner *r, const Code *code, const Scalar *frame,
    int lane, int64_t to, int64_t from)
{
	const LowBuffer *buffers = r->function->f->buffers.at;
	char *awaited = awaited_of(r, code->buffer);
	Copies *copies = copies_of(r);
	const char *other;
	if (to < 0 || to >= buffers[code->buffer].elements)
		return run_outside(r, code, frame, lane, code->buffer, to);
	if (from < 0 || from >= buffers[code->source].elements)
		return run_outside(r, code, frame, lane, code->source, from);
	if (awaited[to])
		return async_touched(r, code, frame, to);
	if (!race_read(r, code->source, from))
		return run_raced(
		    r, code, frame, "wrote", code->source, from);
	if (!race_write(r, code->buffer, to, &other))
		return run_raced(r, code, frame, other, code->buffer, to);
	awaited[to] = 1;
	vec_push(r->arena, &copies->elements,
	    (OnItsWay){code->buffer, to, copies->groups,
		run_element(code->type, r->base[code->source], from)});
	r->out->loads++;
	r->out->stores++;
	return true;
}

static bool begin(Runner *r, const Code *code, const Scalar *frame)
{
	int64_t to = run_affine(&code->at, frame);
	int64_t from = run_affine(&code->source_at, frame);
	for (int l = 0; l < code->number; l++)
		if (!begin_one(r, code, frame, l, to + l, from + l))
			return false;
	return true;
}

static bool wait(Runner *r, const Code *code, const Scalar *frame)
{
	Copies *copies = copies_of(r);
	const LowBuffer *buffers = r->function->f->buffers.at;
	const char *other;
	for (; copies->first < copies->elements.n; copies->first++) {
		const OnItsWay *e = &copies->elements.at[copies->first];
		if (e->group >= copies->groups - code->number)
			break;
		if (!race_write(r, e->buffer, e->at, &other))
			return run_raced(
			    r, code, frame, other, e->buffer, e->at);
		scalar_store(buffers[e->buffer].type, r->base[e->buffer],
		    e->at, e->value);
		group_stored(r, e->buffer, e->at);
		r->awaited[e->buffer][e->at] = 0;
	}
	if (copies->first > copies->elements.n / 2) {
		copies->elements.n -= copies->first;
		memmove(copies->elements.at,
		    copies->elements.at + copies->first,
		    sizeof *copies->elements.at * (size_t)copies->elements.n);
		copies->first = 0;
	}
	return true;
}

bool run_async(Runner *r, const Code *code, Scalar *frame)
{
	if (code->op == LOW_COPY_ASYNC)
		return begin(r, code, frame);
	if (code->op == LOW_WAIT)
		return wait(r, code, frame);
	copies_of(r)->groups++;
	return true;
}

void async_forget(Runner *r)
{
	const LowFunction *f = r->function->f;
	for (int i = 0; i < r->ncopies; i++)
		r->copies[i].first = r->copies[i].elements.n = 0;
	for (int i = 0; i < f->buffers.n && r->awaited; i++)
		if (r->awaited[i])
			memset(r->awaited[i], 0,
			    (size_t)f->buffers.at[i].elements);
}
