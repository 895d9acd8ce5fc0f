/* An output that one reduction reads, element by element, is computed there
 * again where that costs little: its steps then read what the output does, and
 * both are made in one pass (rule_beside.c).
 *
 *     r[i] = b[i] - a*q[i]             r[i] = b[i] - a*q[i]
 *     s[] += r[i]*r[i]           -->   s[] += (b[i] - a*q[i])*(b[i] - a*q[i]) */
#include "schedule/rules/rules.h"

enum { FLOPS_MOST = 8, LEAST = 64 };

typedef struct {
	const Block *block, *reader;
	bool each; /* all reads so far are of an element for each step */
} Reads;

/* Each axis of the reader is an index, one that it reduces the last. */
static bool check_read(Expr *e, void *context)
{
	Reads *w = context;
	int n = w->reader->naxes;
	if (e->op != OP_READ || e->id != w->block->buffer)
		return true;
	w->each = w->each && e->narg == n &&
	    rule_axis_of(e->arg[n - 1]) >= w->reader->nspatial;
	for (int d = 0; d < n && w->each; d++) {
		int a = rule_axis_of(e->arg[d]);
		w->each = a >= 0 &&
		    w->reader->axes[a].extent == w->block->axes[d].extent;
		for (int k = 0; k < d && w->each; k++)
			w->each = rule_axis_of(e->arg[k]) != a;
	}
	return true;
}

static bool is_cheap(const Block *b)
{
	RuleWork w = rule_work_of(b->body);
	return !w.dear && !w.divides && w.flops <= FLOPS_MOST;
}

static bool is_output(const Program *p, const Block *b)
{
	return p->buffers[b->buffer].role == BUFFER_OUTPUT;
}

/* The one block that reads it; NULL. */
static Block *only_reader(const Program *p, int buffer)
{
	Block *reader = NULL;
	for (int i = 0; i < p->nblocks; i++) {
		if (!expr_find_read(p->blocks[i].body, buffer))
			continue;
		if (reader)
			return NULL;
		reader = &p->blocks[i];
	}
	return reader;
}

/* Is nothing computed of it but outputs, element by element? */
static bool ends_there(const Program *p, const Block *b)
{
	for (int i = 0; i < p->nblocks; i++) {
		const Block *reader = &p->blocks[i];
		if (expr_find_read(reader->body, b->buffer) &&
		    (!is_output(p, reader) || reader->reduce != REDUCE_NONE ||
			reader->nspatial != b->nspatial))
			return false;
	}
	return true;
}

static bool streams(const Program *p, const Machine *machine, const Block *b)
{
	const Block *reader = only_reader(p, b->buffer);
	Reads w = {b, reader, true};
	if (!reader || reader->reduce == REDUCE_NONE || !b->naxes ||
	    reader->naxes != b->naxes || b->axes[b->naxes - 1].extent < LEAST ||
	    (!reader->nspatial && machine->threads > 1) ||
	    !ends_there(p, reader))
		return false;
	expr_walk(reader->body, check_read, &w);
	return w.each;
}

static bool is_made_again(
    const Program *p, const Machine *machine, const Block *b)
{
	const Buffer *to = &p->buffers[b->buffer];
	return is_output(p, b) && b->reduce == REDUCE_NONE && !to->once &&
	    to->type == b->body->type && is_cheap(b) &&
	    (p->numerics != NUMERICS_EXACT || !dtype_is_float(to->type)) &&
	    streams(p, machine, b);
}

const Program *rule_again(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		if (!is_made_again(p, machine, b))
			continue;
		Inlining in = {b->buffer, b->body->type, b->body};
		Block *reader = only_reader(p, b->buffer);
		if (!inlining_fits(&in, reader->body))
			continue;
		buf_printf(steps, "compute_inline(%s)\n", b->name);
		reader->body = inlining_body(arena, &in, reader->body);
	}
	return p;
}
