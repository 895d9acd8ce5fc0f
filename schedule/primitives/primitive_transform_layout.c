/* transform_layout: the order in memory of the buffer that a block writes.
 *
 *     bp[x0, x1], row-major          transform_layout(bp, [x1//16, x0, x1%16])
 *   ->
 *     bp[x1 // 16][x0][x1 % 16]
 *
 * Parts are digits of the logical index, outer to inner: NAME, NAME//D, NAME%M,
 * NAME//D%M over the names of the writing block's axes; a divisor is a number,
 * a loop (its extent, where a split fixed it) or a product (mi*16).  Legal if
 * the digits of each dimension give its index back: divisors 1, m1, m1*m2 ...;
 * and for buffers that are no arguments.  Where a block carries from element to
 * element the outermost digit of that dimension may be left out: a ring, which
 * has the last elements; that nobody asks for others is seen of the finished
 * nest. */
#include "schedule/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
	int stage, buffer, nparts;
	LayoutPart *parts;
} TransformLayout;

/* Moves over the piece at *text: a copy of it. */
static const char *next_piece(Arena *arena, const char **text)
{
	size_t n = word_piece(*text);
	const char *piece = arena_strndup(arena, *text, n);

	*text += n;
	return piece;
}

static int find_dim(const Stage *s, const char *name)
{
	for (int d = 0; d < s->nwrite; d++)
		if (s->write[d]->op == OP_AXIS &&
		    !strcmp(s->axes[s->write[d]->id].name, name))
			return d;
	return -1;
}

static int find_var(const Nest *nest, const char *name)
{
	for (int i = 0; i < nest->vars.n; i++)
		if (!strcmp(nest->vars.at[i].name, name))
			return i;
	return -1;
}

/* A number or a loop whose extent a split fixed; HANDLE_NONE. */
static Handle divisor_atom(const Nest *nest, const char *piece)
{
	int var;

	if (piece[0] >= '0' && piece[0] <= '9') {
		int64_t value = strtoll(piece, NULL, 10);
		return value >= 1 && value <= INT32_MAX
		    ? tape_const(nest->tape, value) : HANDLE_NONE;
	}
	var = *piece ? find_var(nest, piece) : -1;
	return var < 0 ? HANDLE_NONE : edit_split_extent(nest, var);
}

static Handle divisor(const Nest *nest, const char **text)
{
	const char *piece = next_piece(nest->arena, text);
	Handle product;
	int64_t value;

	if (strcmp(piece, "(") != 0)
		return divisor_atom(nest, piece);
	product = tape_const(nest->tape, 1);
	do {
		Handle atom = divisor_atom(
		    nest, next_piece(nest->arena, text));
		if (atom == HANDLE_NONE)
			return atom;
		product = tape_mul(nest->tape, product, atom);
		if (tape_is_const(nest->tape, product, &value) &&
		    value > INT32_MAX)
			return HANDLE_NONE;
		piece = next_piece(nest->arena, text);
	} while (!strcmp(piece, "*"));
	return strcmp(piece, ")") ? HANDLE_NONE : product;
}

static Refusal read_part(
    const Nest *nest, const Stage *s, const char *text, LayoutPart *part)
{
	const char *bad = "a divisor is a number or a loop with a fixed extent";

	*part = (LayoutPart){.mod = HANDLE_NONE, .extent = HANDLE_NONE,
	    .stride = HANDLE_NONE, .div = tape_const(nest->tape, 1)};
	part->dim = find_dim(s, next_piece(nest->arena, &text));
	if (part->dim < 0)
		return "a part names no axis of the block";
	if (!strncmp(text, "//", 2)) {
		text += 2;
		part->div = divisor(nest, &text);
		if (part->div == HANDLE_NONE)
			return bad;
	}
	if (*text == '%') {
		text++;
		part->mod = divisor(nest, &text);
		if (part->mod == HANDLE_NONE)
			return bad;
	}
	return *text ? "a part is NAME, NAME//D, NAME%M or NAME//D%M" : NULL;
}

static Refusal parameters(const Call *call, TransformLayout *p)
{
	const Nest *nest = call->nest;
	const TraceValue *list;
	Refusal why = call_stage(call, 0, &p->stage);

	if (why)
		return why;
	if (call->step->nargs < 2 || call->step->args[1].open)
		return "a decision is open";
	list = &call->step->args[1].value;
	if (list->kind != VALUE_LIST)
		return "a list of parts is expected";
	p->buffer = nest->stages.at[p->stage].buffer;
	p->nparts = list->n;
	p->parts = NEW_N(nest->arena, LayoutPart, list->n);
	for (int i = 0; i < list->n && !why; i++) {
		if (list->list[i].kind != VALUE_WORD)
			return "a part is NAME, NAME//D, NAME%M or NAME//D%M";
		why = read_part(nest, &nest->stages.at[p->stage],
		    list->list[i].word, &p->parts[i]);
	}
	return why;
}

/* The digit of a dimension that comes next outwards of those with divisor
 * `div`: one of a single value first, the one without an end last; -1. */
static int next_digit(
    Tape *tape, const TransformLayout *p, const bool *used, int dim, Handle div)
{
	int best = -1;

	for (int i = 0; i < p->nparts; i++) {
		const LayoutPart *part = &p->parts[i];
		if (used[i] || part->dim != dim || part->div != div)
			continue;
		if (part->mod == tape_const(tape, 1))
			return i;
		if (best < 0 || part->mod != HANDLE_NONE)
			best = i;
	}
	return best;
}

/* Is the dimension carried along?  Then a ring of some rows will do. */
static bool may_be_ring(const Nest *nest, const TransformLayout *p, int dim)
{
	const Stage *s = &nest->stages.at[p->stage];

	return s->carries >= 0 && s->write[dim]->op == OP_AXIS &&
	    s->write[dim]->id == s->carries;
}

/* Follows the digits of a dimension from the innermost; false where one is
 * missing or there are more. */
static bool digits_complete(Nest *nest, const TransformLayout *p, int dim)
{
	bool *used = NEW_N(nest->arena, bool, p->nparts);
	Handle div = tape_const(nest->tape, 1);
	int left = 0;

	for (int i = 0; i < p->nparts; i++)
		left += p->parts[i].dim == dim;
	bool some = left > 0;
	while (left-- > 0) {
		int i = next_digit(nest->tape, p, used, dim, div);
		if (i < 0)
			return false;
		if (p->parts[i].mod == HANDLE_NONE)
			return left == 0;
		used[i] = true;
		div = tape_mul(nest->tape, div, p->parts[i].mod);
	}
	return some && may_be_ring(nest, p, dim);
}

Refusal transform_layout_legal(const Call *call)
{
	Nest *nest = call->nest;
	TransformLayout p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (nest_is_argument(nest, p.buffer))
		return "the block writes an output";
	for (int d = 0; d < nest->buffers.at[p.buffer].ndim; d++)
		if (!digits_complete(nest, &p, d))
			return "the parts do not make up each dimension once";
	return NULL;
}

void transform_layout_apply(const Call *call)
{
	NestBuffer *b;
	TransformLayout p;

	parameters(call, &p);
	b = &call->nest->buffers.at[p.buffer];
	b->nparts = p.nparts;
	b->parts = p.parts;
	b->align_part = -1;
}
