/* An output that a reduction reads, element by element, is computed there again
 * where that costs little: its steps then read what the output does, and both are
 * made in one pass (rule_colocate.c).
 *
 *     r[i] = b[i] - a*q[i]             r[i] = b[i] - a*q[i]
 *     s[] += r[i]*r[i]           -->   s[] += (b[i] - a*q[i])*(b[i] - a*q[i])
 *
 * So is one that reductions of rows read and outputs of the same elements: it is
 * made in the tiles of these, while the row that all of them read is near.
 *
 *     s[i, j] = x[i, j] + r[i, j]      s[i, j] = x[i, j] + r[i, j]
 *     q[i] += s[i, j]*s[i, j]    -->   q[i] += (x[i, j] + r[i, j])*(x[i, j] + r[i, j])
 *     y[i, j] = s[i, j]/q[i]           y[i, j] = (x[i, j] + r[i, j])/q[i] */
#include "schedule/rules/rules.h"

enum { FLOPS_MOST = 8, LEAST = 64 };

typedef struct {
	const Block *block, *reader;
	bool each; /* all reads so far are of an element for each step */
} ElementReads;

/* Each axis of the reader is an index: one that it reduces the last, or in order
 * where there is none. */
static bool check_read(Expr *e, void *context)
{
	ElementReads *w = context;
	int n = w->reader->naxes;
	bool ordered = w->reader->reduce == REDUCE_NONE;
	if (e->op != OP_READ || e->id != w->block->buffer)
		return true;
	w->each = w->each && e->narg == n &&
	    (ordered || rule_axis_of(e->arg[n - 1]) >= w->reader->nspatial);
	for (int d = 0; d < n && w->each; d++) {
		int a = rule_axis_of(e->arg[d]);
		w->each = a >= 0 && (!ordered || a == d) &&
		    w->reader->axes[a].extent == w->block->axes[d].extent;
		for (int k = 0; k < d && w->each; k++)
			w->each = rule_axis_of(e->arg[k]) != a;
	}
	return true;
}

static bool reads_each(const Block *b, const Block *reader)
{
	ElementReads w = {b, reader, reader->naxes == b->naxes};
	expr_walk(reader->body, check_read, &w);
	return w.each;
}

static bool is_cheap(const Block *b)
{
	RuleWork w = rule_work_of(b->body);
	return !w.dear && w.flops <= FLOPS_MOST;
}

static bool is_output(const Program *p, const Block *b)
{
	return p->buffers[b->buffer].role == BUFFER_OUTPUT;
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

/* What reads an output. */
typedef struct {
	int sums, rows; /* reductions, those of rows */
	int outputs;	/* of its elements */
	const Block *last;
} Readers;

static bool find_readers(const Program *p, const Block *b, Readers *found)
{
	*found = (Readers){0};
	for (int i = 0; i < p->nblocks; i++) {
		const Block *reader = &p->blocks[i];
		bool sums = reader->reduce != REDUCE_NONE;
		if (!expr_find_read(reader->body, b->buffer))
			continue;
		if (!reads_each(b, reader) || (!sums && !is_output(p, reader)))
			return false;
		found->sums += sums;
		found->rows += sums && reader->nspatial > 0;
		found->outputs += !sums;
		found->last = reader;
	}
	return found->sums > 0;
}

static bool streams(const Program *p, const Machine *machine, const Block *b)
{
	Readers found;
	if (!b->naxes || b->axes[b->naxes - 1].extent < LEAST ||
	    !find_readers(p, b, &found))
		return false;
	if (found.outputs)
		return found.rows == found.sums;
	return found.sums == 1 && (found.rows || machine->threads == 1) &&
	    ends_there(p, found.last);
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

void rule_rematerialize(RuleForm *f)
{
	for (int i = 0; i < f->program->nblocks; i++) {
		const Block *b = &f->program->blocks[i];
		if (is_made_again(f->program, f->machine, b))
			rule_rewrite(f, "compute_inline(%s)\n", b->name);
	}
}
