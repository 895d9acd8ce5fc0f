/* Inline: a block that is cheap to compute again disappears into its readers.
 *
 *     s[i] = x[i] * 2        -->   y[i] = max(x[i] * 2, 0)
 *     y[i] = max(s[i], 0)
 *
 * Right where the block has no reduction; worth it where one reader reads each
 * element once, or several in the same loops do, so that nothing is computed
 * again, or where it is next to nothing: no branch, no function call, no division
 * but by a number and no more of these than elements, and few operations, with all that was
 * inlined into the block itself.  In both cases as long as the readers' bodies
 * stay small; what is longer is computed in parts. */
#include "schedule/internal.h"

#include <assert.h>
#include "schedule/rules/rules.h"

enum {
	AGAIN_FLOPS_MAX = 2, /* of what is computed more than once */
	BODY_FLOPS_MAX = 64, /* of a reader: leaves room for unrolling */
};

/* By each point one, and by no two the same?  Points that read none, under a
 * branch, keep a function's vectors from waiting side by side, but for threads. */
static bool read_once(const Rules *r, int reader, int buffer)
{
	const RuleBlock *b = &r->blocks[reader];
	const Block *block = &r->program->blocks[reader];
	const Buffer *read_of = &r->program->buffers[buffer];
	const RuleRead *read = rule_only_read(b, buffer);
	if (!read || !read->plain ||
	    (!r->machine->gpu && expr_has_function(r->bodies[read_of->block]) &&
		block_points(block, 0, block->naxes) >
		    (double)buffer_elements(read_of)))
		return false;
	for (int a = 0; a < block->naxes; a++)
		if (block->axes[a].extent > 1 && !read->uses[a])
			return false;
	return true;
}

/* Does each element's one evaluation serve all readers, in the same loops? */
static bool read_at_once(const Rules *r, const RuleBlock *b, int buffer)
{
	assert(b->consumers.n > 0);
	int first = b->consumers.at[0];
	for (int k = 0; k < b->consumers.n; k++) {
		int reader = b->consumers.at[k];
		if (!read_once(r, reader, buffer) ||
		    (k && !rule_fuses_with(r, first, reader)))
			return false;
	}
	return true;
}

/* Does it divide where it stands, as an image that is enlarged does? */
static bool add_quotients(Expr *e, void *context)
{
	bool *divides = context;
	*divides |=
	    e->type == DT_INDEX && (e->op == OP_FLOORDIV || e->op == OP_MOD);
	return true;
}

/* It would be computed again by each read of a reader that moves it, under a
 * branch, such as a border: that has a place of its own or is inlined by choice,
 * so this one's place is chosen, too. */
static bool chosen_with_reader(const Rules *r, int i, Expr *body)
{
	const RuleBlock *b = &r->blocks[i];
	int buffer = r->program->blocks[i].buffer;
	bool more = rule_work_of(body).flops > 0;
	if (r->machine->gpu)
		return false;
	expr_walk(body, add_quotients, &more);
	for (int k = 0; more && k < b->consumers.n; k++) {
		int reader = b->consumers.at[k];
		const RuleBlock *to = &r->blocks[reader];
		if (r->program->blocks[reader].reduce == REDUCE_NONE &&
		    !to->output && to->consumers.n &&
		    !read_once(r, reader, buffer) &&
		    rule_work_of(r->bodies[reader]).dear &&
		    !read_at_once(r, to, r->program->blocks[reader].buffer))
			return true;
	}
	return false;
}

static bool add_bends(Expr *e, void *context)
{
	bool *bends = context;
	*bends |= e->op == OP_READ && read_bends(e);
	return e->op != OP_READ;
}

/* A border of what a window reads: no loop of a reduction is cut where an index
 * bends (codegen/lower/lower_cut.c), so that each of its reads would be gathered. */
static bool bends_in_window(const Rules *r, const RuleBlock *b, Expr *body)
{
	bool bends = false, again = false;
	int buffer = r->program->blocks[b->block].buffer;
	expr_walk(body, add_bends, &bends);
	for (int k = 0; k < b->consumers.n; k++) {
		int reader = b->consumers.at[k];
		again |= r->program->blocks[reader].reduce != REDUCE_NONE &&
		    !read_once(r, reader, buffer);
	}
	return bends && again;
}

/* Do readers divide what lies along their rows more often than there are elements,
 * for each row what is along them all, or each by itself? */
static bool divides_again(const Rules *r, const RuleBlock *b, int buffer)
{
	double times = 0;
	for (int k = 0; k < b->consumers.n; k++) {
		const RuleBlock *to = &r->blocks[b->consumers.at[k]];
		const Block *block = &r->program->blocks[to->block];
		const RuleRead *read = rule_only_read(to, buffer);
		int last = block->nspatial - 1;
		if (read && last >= 0 && read->uses[last])
			times += block_points(block, 0, block->nspatial);
	}
	return times > (double)buffer_elements(&r->program->buffers[buffer]);
}

static bool worth_inlining(const Rules *r, int i, Expr *body)
{
	const RuleBlock *b = &r->blocks[i];
	const Block *block = &r->program->blocks[i];
	for (int k = 0; k < b->consumers.n; k++)
		if (r->collapsed &&
		    r->collapsed[b->consumers.at[k]] != r->collapsed[i])
			return false;
	if (b->output || !b->consumers.n || rule_origin(r, i)->separated ||
	    rule_origin(r, i)->extracted || rule_rows_block_keeps(r, i) ||
	    rule_winograd_keeps(r, i))
		return false;
	if (rule_winograd_results(r, body))
		return b->consumers.n == 1 &&
		    r->program->blocks[b->consumers.at[0]].reduce ==
			REDUCE_NONE &&
		    read_once(r, b->consumers.at[0], block->buffer);
	if (read_at_once(r, b, block->buffer))
		return true;
	RuleWork w = rule_work_of(body);
	return !w.dear && w.flops <= AGAIN_FLOPS_MAX &&
	    !(w.divides && divides_again(r, b, block->buffer)) &&
	    !chosen_with_reader(r, i, body) && !bends_in_window(r, b, body);
}

/* Of the results of tiles one arm is left in code. */
static bool stays_small(const Rules *r, const Inlining *in, Expr *reader)
{
	if (!inlining_fits(in, reader))
		return false;
	if (rule_winograd_results(r, in->body) || !rule_work_of(in->body).flops)
		return true;
	Expr *body = inlining_body(r->arena, in, reader);
	return rule_work_of(body).flops <= BODY_FLOPS_MAX;
}

/* The choice for each block, producers first: the bodies are what those that
 * are chosen already make of the others, exactly as the trace will. */
static void choose(Rules *r)
{
	const Program *p = r->program;
	r->inlines = NEW_N(r->arena, bool, p->nblocks);
	r->inlinable = NEW_N(r->arena, bool, p->nblocks);
	r->bodies = NEW_N(r->arena, Expr *, p->nblocks);
	for (int i = 0; i < p->nblocks; i++)
		r->bodies[i] = p->blocks[i].body;
	for (int i = 0; i < p->nblocks; i++) {
		const RuleBlock *b = &r->blocks[i];
		int buffer = p->blocks[i].buffer;
		Inlining in = {buffer, p->buffers[buffer].type, r->bodies[i]};
		bool small = p->blocks[i].reduce == REDUCE_NONE &&
		    !p->buffers[buffer].once;
		for (int k = 0; small && k < b->consumers.n; k++)
			small = stays_small(
			    r, &in, r->bodies[b->consumers.at[k]]);
		bool chosen = small && worth_inlining(r, i, r->bodies[i]);
		for (int k = 0; chosen && k < b->consumers.n; k++) {
			Expr **reader = &r->bodies[b->consumers.at[k]];
			*reader = inlining_body(r->arena, &in, *reader);
		}
		r->inlines[i] = chosen;
		r->inlinable[i] = small;
	}
}

void rule_inline(Rules *r, int i)
{
	if (r->inlines[i])
		rule_put(r, "compute_inline(%s)\n", r->program->blocks[i].name);
}

void rules_choose_inlines(Rules *r)
{
	r->inlines = NULL;
	r->bodies = NULL;
	rules_analyse(r);
	choose(r);
	rules_analyse(r);
}
