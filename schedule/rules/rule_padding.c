/* Is 0 to pad the bytes that a zero point pads (ir/nest/nest_narrow.c)?
 *
 *     p[i] = if 1 <= i then x[i - 1] else z[]      narrow(p, 0)
 *
 * Steps that read padding are left out of a sum of products then.  What they were
 * is a sum of the other operand for each result, over the steps inside. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum {
	STEPS_LEAST = 32, /* for each result that padding leaves out */
	POINTS_MOST = 1 << 16 /* that are looked at for it */
};

/* A reader of the padded block: what it multiplies that with, and where it is
 * padded, over the reader's axes. */
typedef struct {
	const Block *block;
	Expr *other, *condition;
	bool value; /* of the condition, there */
} PaddingReader;

static bool find_reader(
    Arena *arena, const Block *b, int buffer, const Narrow *n, PaddingReader *r)
{
	const Expr *read = expr_find_read(b->body, buffer);
	if (b->reduce != REDUCE_SUM || b->body->op != OP_MUL)
		return false;
	bool first = expr_find_read(b->body->arg[0], buffer);
	*r = (PaddingReader){.block = b,
	    .other = b->body->arg[first],
	    .condition = expr_substitute_axes(
		arena, n->element->arg[0], read->arg, read->narg),
	    .value = expr_is_zero(n->element->arg[1])};
	return !expr_find_read(r->other, buffer);
}

/* The part of the points that are padded; of a condition on data, or of too many
 * points, none. */
static double padded_part(Arena *arena, const PaddingReader *r)
{
	const Block *b = r->block;
	Axis *axes = NEW_N(arena, Axis, b->naxes);
	for (int a = 0; a < b->naxes; a++)
		axes[a].extent =
		    expr_has_axis(r->condition, a) ? b->axes[a].extent : 1;
	Expr *yes = expr_int(arena, DT_I64, r->value);
	Expr *no = expr_int(arena, DT_I64, !r->value);
	Block count = {.naxes = b->naxes,
	    .axes = axes,
	    .reduce = REDUCE_SUM,
	    .body = expr_if(arena, r->condition, yes, no)};
	Buffer to = {.type = DT_I64, .role = BUFFER_OUTPUT};
	Program p = {
	    .nbuffers = 1, .buffers = &to, .nblocks = 1, .blocks = &count};
	double points = block_points(&count, 0, count.naxes);
	int64_t padded = 0;
	if (points <= POINTS_MOST && !expr_has_data(r->condition))
		interp_run(&p, (void *[]){&padded});
	assert(padded >= 0 && (double)padded <= points);
	return (double)padded / points;
}

/* Elements of the other operand that are summed for a result: none of those that
 * are made ahead, of others one for each step that tells what is padded. */
static double summed(const Program *p, const PaddingReader *r)
{
	const Block *b = r->block;
	double n = 1;
	for (int a = b->nspatial; a < b->naxes; a++)
		if (expr_has_axis(r->condition, a))
			n *= (double)b->axes[a].extent;
	return rule_is_ahead(p, r->other) ? 0 : n;
}

bool rule_padding_is_worth_zero(
    Arena *arena, const Program *p, int block, const Narrow *n)
{
	int buffer = p->blocks[block].buffer;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		PaddingReader r;
		if (!expr_find_read(b->body, buffer))
			continue;
		if (!find_reader(arena, b, buffer, n, &r))
			return false;
		double left_out = block_steps(b) *
		    padded_part(arena, &r);
		if (left_out < STEPS_LEAST * (1 + summed(p, &r)))
			return false;
	}
	return true;
}
