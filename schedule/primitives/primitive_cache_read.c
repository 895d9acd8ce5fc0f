/* cache_read: a block reads a copy of a buffer.
 *
 *     c[i, j] += a[i, k] * b[k, j]   ap = cache_read(c, a)
 *   ->
 *     ap[x0, x1] = a[x0, x1]         (right before c)
 *     c[i, j] += ap[i, k] * b[k, j]
 *
 * A buffer that is read at several places has several reads: `read=n` copies
 * for the n-th of those that differ, in the order in which the body has them;
 * without it one copy serves all.  `read=all`: it serves all other blocks that
 * read the buffer, too.
 *
 * Always legal.  Together with transform_layout, pad and compute_at it is
 * packing. */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

typedef struct {
	int stage, buffer;
	Scope scope;
	const Expr *read; /* the only one that is copied for; NULL: all */
	bool everybodys;  /* whoever reads the buffer reads the copy */
} CacheRead;

/* Which of the reads, as `read=n` has it. */
static Refusal read_argument(const Call *call, CacheRead *p)
{
	int at = call_optional(call, 3, "read");
	int64_t n;
	Refusal why;

	const char *word;

	p->read = NULL;
	p->everybodys = false;
	if (at < 0)
		return NULL;
	if (!call_word(call, at, &word)) {
		p->everybodys = !strcmp(word, "all");
		return p->everybodys ? NULL : "read is a number, or all";
	}
	why = call_int(call, at, &n);
	if (why)
		return why;
	if (n < 1)
		return "reads are counted from 1";
	p->read = edit_read_of(call->nest, p->stage, p->buffer, n);
	return p->read ? NULL : "the block has not so many different reads of "
				"the buffer";
}

static Refusal parameters(const Call *call, CacheRead *p)
{
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_buffer(call, 1, &p->buffer);
	if (!why)
		why = edit_scope_argument(call, 2, &p->scope);
	if (!why && !nest_reads(call->nest, p->stage, p->buffer))
		why = "the block does not read the buffer";
	if (!why)
		why = read_argument(call, p);
	return why ? why : call_outs(call, 1);
}

Refusal cache_read_legal(const Call *call)
{
	CacheRead p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (call->nest->stages.at[p.stage].tensor_loop >= 0)
		return "the block was made by blockize";
	return NULL;
}

/* The first of all that read the buffer. */
static int first_reader(const Nest *nest, int buffer)
{
	int i = 0;

	while (
	    i < nest->order.n && !nest_reads(nest, nest->order.at[i], buffer))
		i++;
	assert(i < nest->order.n);
	return nest->order.at[i];
}

static void redirect_others(Nest *nest, int copy, int from, int to)
{
	for (int i = 0; i < nest->order.n; i++)
		if (nest->order.at[i] != copy &&
		    nest_reads(nest, nest->order.at[i], from))
			edit_redirect(nest, nest->order.at[i], from, to, NULL);
}

void cache_read_apply(const Call *call)
{
	Nest *nest = call->nest;
	CacheRead p;

	parameters(call, &p);
	if (p.everybodys)
		p.stage = first_reader(nest, p.buffer);
	const NestBuffer from = nest->buffers.at[p.buffer];
	int stage = edit_new_copy(
	    nest, p.stage, call->step->outs[0], p.buffer, from.type);
	Stage *s = &nest->stages.at[stage];
	nest_set_body(nest, stage,
	    expr_read(nest->arena, from.type, p.buffer, s->write, from.ndim));
	s->is_copy = true;
	s->barrier = p.scope == SCOPE_SHARED;
	nest->buffers.at[s->buffer].scope =
	    nest->stages.at[p.stage].place >= 0 && p.scope == SCOPE_GLOBAL
	    ? SCOPE_LOCAL
	    : p.scope;
	edit_redirect(nest, p.stage, p.buffer, s->buffer, p.read);
	if (p.everybodys)
		redirect_others(nest, stage, p.buffer, s->buffer);
}
