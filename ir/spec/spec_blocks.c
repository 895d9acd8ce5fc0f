/* Definitions to blocks: reductions inside a right-hand side get a block and a
 * buffer of their own.
 *
 *     out[i] = sum[k](x[i, k]) + 1   ->   out~1[i] = sum[k](x[i, k])
 *                                         out[i] = out~1[i] + 1
 *
 * A hoisted reduction is computed for the axes that it depends on, no others.
 * Conditions on axes around it stay with it, for its reads may be in bounds
 * only there: its element is then `if condition then element else identity`,
 * whose value nobody sees.  A condition that would add an axis (and so work, as
 * `if j <= i` does around softmax's sums) goes where the reads are in bounds
 * without it, and so does one on data, which stays only where it proves a read
 * at data (`if 0 <= id[i] < V then sum[d](table[id[i], d]) else 0`).
 *
 *     out[i, d] = sum[j](exp(s[i, j])*v[j, d])
 *                             ->   out~1[i, j] = exp(s[i, j])
 *                                  out[i, d] = sum[j](out~1[i, j]*v[j, d])
 *
 * So does a function or a quotient in a reduction's element that does not vary
 * along an axis of it: it would be computed again for each value of that.  What
 * another block of the definition writes already is read from there.
 *
 *     out[i] = argmax[j](e)   ->   out~1[i, j] = e
 *                                  out~2[i] = max[j](out~1[i, j])
 *                                  out~3[i] = min[j](if out~1[i, j] == out~2[i]
 *                                                    then j else 2^31 - 1)
 *                                  out[i] = if out~2[i] > -inf then out~3[i]
 *                                           else 0
 *
 * The equality holds for the first element that max takes, since both blocks
 * read the same stored value: what may come out otherwise when it is computed
 * again (a fused multiplication and addition, a function of vectors) is stored
 * once, and so is what e reads.  What may not needs no out~1.  Against a
 * reduction of pairs: this way every schedule of max and min serves. */
#include "ir/spec/spec.h"

#include <assert.h>

enum { REPEATED_LEAST = 4 };

typedef struct {
	Arena *arena;
	const Definition *definition;
	int number, hoisted; /* of the definition; blocks named so far */
	BufferVec *buffers;
	BlockVec *blocks;
	VEC(Expr *) conditions; /* around the place at hand */
	const bool *element; /* axes of the reduction's element that we are in;
				NULL: in none */
} Hoist;

/* Which of the conditions a hoisted reduction keeps. */
typedef enum { KEEP_FREE, KEEP_INDICES, KEEP_ALL } Keep;

static bool reads(const Expr *e)
{
	if (e->op == OP_READ || e->op == OP_REDUCE)
		return true;
	for (int i = 0; i < e->narg; i++)
		if (reads(e->arg[i]))
			return true;
	return false;
}

/* --- conditions -------------------------------------------------------------- */

static Expr *complement(Arena *arena, Expr *c)
{
	static const Op other[OP_COUNT] = {[OP_LT] = OP_GE, [OP_LE] = OP_GT,
	    [OP_GT] = OP_LE, [OP_GE] = OP_LT, [OP_EQ] = OP_NE, [OP_NE] = OP_EQ};
	if (c->op == OP_NOT)
		return c->arg[0];
	if (other[c->op] && c->arg[0]->type == DT_INDEX)
		return expr_binary(arena, other[c->op], c->arg[0], c->arg[1]);
	return expr_unary(arena, OP_NOT, c);
}

static bool reduces(const Expr *e)
{
	if (e->op == OP_REDUCE)
		return true;
	for (int i = 0; i < e->narg; i++)
		if (reduces(e->arg[i]))
			return true;
	return false;
}

/* What a condition that held (or not) says of axes and of data. */
static void assume(Hoist *h, Expr *c, bool truth)
{
	if (c->op == OP_NOT) {
		assume(h, c->arg[0], !truth);
	} else if ((c->op == OP_AND && truth) || (c->op == OP_OR && !truth)) {
		assume(h, c->arg[0], truth);
		assume(h, c->arg[1], truth);
	} else if (!reduces(c)) {
		Expr *e = truth ? c : complement(h->arena, c);
		vec_push(h->arena, &h->conditions, e);
	}
}

static bool adds_axis(const Expr *e, const bool *axes)
{
	if (e->op == OP_AXIS)
		return !axes[e->id];
	for (int i = 0; i < e->narg; i++)
		if (adds_axis(e->arg[i], axes))
			return true;
	return false;
}

static bool read_proven(const Hoist *h, Bounds *bounds, const Expr *e)
{
	const Buffer *b = &h->buffers->at[e->id];
	for (int i = 0; i < e->narg; i++) {
		Interval r;
		const char *why;
		if (!bounds_range(bounds, e->arg[i], &r, &why) ||
		    (r.lo <= r.hi && (r.lo < 0 || r.hi >= b->shape[i])))
			return false;
	}
	return true;
}

/* Are all reads in bounds under the facts in force? */
static bool proven(const Hoist *h, Bounds *bounds, const Expr *e)
{
	bool fine = e->op != OP_READ || read_proven(h, bounds, e);
	int mark = bounds_mark(bounds);
	for (int i = 0; i < e->narg && fine; i++) {
		if (e->op == OP_IF && i > 0)
			bounds_assume(bounds, e->arg[0], i == 1);
		else if ((e->op == OP_AND || e->op == OP_OR) && i == 1)
			bounds_assume(bounds, e->arg[0], e->op == OP_AND);
		fine = proven(h, bounds, e->arg[i]);
		bounds_forget(bounds, mark);
	}
	return fine;
}

/* The conditions in force that are kept; KEEP_FREE: those that say nothing of
 * data and add no axis to these.  NULL: there is none. */
static Expr *conjunction(const Hoist *h, Keep keep, const bool *axes)
{
	Expr *all = NULL;
	for (int i = 0; i < h->conditions.n; i++) {
		Expr *c = h->conditions.at[i];
		if ((keep != KEEP_ALL && reads(c)) ||
		    (keep == KEEP_FREE && adds_axis(c, axes)))
			continue;
		all = all ? expr_binary(h->arena, OP_AND, all, c) : c;
	}
	return all;
}

/* As few as prove the reads. */
static Expr *conditioned(const Hoist *h, Expr *element, Expr *identity)
{
	bool *axes = NEW_N(h->arena, bool, h->definition->naxes);
	Bounds *bounds = bounds_new(h->arena, h->definition->axes);
	Expr *some = NULL;
	expr_mark_axes(element, axes);
	for (int keep = KEEP_FREE; keep <= KEEP_ALL; keep++) {
		some = conjunction(h, (Keep)keep, axes);
		int mark = bounds_mark(bounds);
		if (some)
			bounds_assume(bounds, some, true);
		bool fine = keep == KEEP_ALL || proven(h, bounds, element);
		bounds_forget(bounds, mark);
		if (fine)
			break;
	}
	return some ? expr_if(h->arena, some, element, identity) : element;
}

/* --- hoisting ---------------------------------------------------------------- */

typedef struct {
	ReduceOp op; /* NONE: naxes is 0 */
	int first, naxes; /* of the definition */
} Reduction;

/* A block over the axes `chosen` of the definition, those of `reduction` being
 * reduced.  The body's axes are renumbered. */
static void add_block(Hoist *h, const char *name, int buffer,
    const bool *chosen, Reduction reduction, Expr *body)
{
	const Definition *d = h->definition;
	int first = reduction.first, nreduce = reduction.naxes;
	Expr **value = NEW_N(h->arena, Expr *, d->naxes);
	Block b = {.name = name,
	    .buffer = buffer,
	    .axes = NEW_N(h->arena, Axis, d->naxes),
	    .reduce = reduction.op,
	    .definition = h->number};
	for (int i = 0; i < d->naxes; i++) {
		if (!chosen[i] || (i >= first && i < first + nreduce))
			continue;
		value[i] = expr_axis(h->arena, b.naxes);
		b.axes[b.naxes] = d->axes[i];
		b.axes[b.naxes++].reduce = false;
	}
	b.nspatial = b.naxes;
	for (int i = first; i < first + nreduce; i++) {
		value[i] = expr_axis(h->arena, b.naxes);
		b.axes[b.naxes] = d->axes[i];
		b.axes[b.naxes++].reduce = true;
	}
	b.body = expr_substitute_axes(h->arena, body, value, d->naxes);
	h->buffers->at[buffer].block = h->blocks->n;
	vec_push(h->arena, h->blocks, b);
}

static bool same_block(const Block *a, const Block *b)
{
	if (a->definition != b->definition || a->reduce != b->reduce ||
	    a->naxes != b->naxes || a->nspatial != b->nspatial ||
	    !expr_equal(a->body, b->body))
		return false;
	for (int i = 0; i < a->naxes; i++)
		if (a->axes[i].extent != b->axes[i].extent)
			return false;
	return true;
}

/* A buffer that an earlier block of the definition writes with the same; then the last block, its
 * buffer and its name are given back.  Else the last buffer. */
static int equal_before(Hoist *h, int buffer)
{
	const Block *last = &h->blocks->at[h->blocks->n - 1];
	assert(last->buffer == buffer && buffer == h->buffers->n - 1);
	for (int i = 0; i < h->blocks->n - 1; i++) {
		const Block *b = &h->blocks->at[i];
		if (!same_block(b, last) ||
		    h->buffers->at[b->buffer].type !=
			h->buffers->at[buffer].type)
			continue;
		h->blocks->n--;
		h->buffers->n--;
		h->hoisted--;
		return b->buffer;
	}
	return buffer;
}

static Expr *hoisted(Hoist *h, Expr *e);
static Expr *hoisted_element(Hoist *h, Expr *e, bool *axes);

static const char *next_name(Hoist *h)
{
	return arena_printf(
	    h->arena, "%s~%d", h->definition->name, ++h->hoisted);
}

/* A block over the axes of `e` that reduces `element` over them, or just stores
 * it (REDUCE_NONE); returns the read of what it writes. */
static Expr *hoist_block(Hoist *h, const char *name, const Expr *e,
    ReduceOp op, Expr *element)
{
	const Definition *d = h->definition;
	Reduction r = {op, 0, 0};
	if (op != REDUCE_NONE)
		r = (Reduction){op, e->reduce.first_axis, e->reduce.naxes};
	element = conditioned(h, element,
	    expr_identity(h->arena, op ? op : REDUCE_SUM, element->type));
	bool *chosen = NEW_N(h->arena, bool, d->naxes);
	expr_mark_axes(element, chosen);
	Buffer buffer = {.name = name, .type = element->type,
	    .role = BUFFER_TEMP,
	    .shape = NEW_N(h->arena, int64_t, d->naxes), .span = e->span};
	Expr **index = NEW_N(h->arena, Expr *, d->naxes);
	int first = r.first, end = first + r.naxes;
	for (int i = 0; i < d->naxes; i++) {
		if (!chosen[i] || (i >= first && i < end))
			continue;
		index[buffer.ndim] = expr_axis(h->arena, i);
		buffer.shape[buffer.ndim++] = d->axes[i].extent;
	}
	int number = h->buffers->n;
	vec_push(h->arena, h->buffers, buffer);
	add_block(h, name, number, chosen, r, element);
	number = equal_before(h, number);
	Expr *read =
	    expr_read(h->arena, buffer.type, number, index, buffer.ndim);
	read->span = e->span;
	return read;
}

/* Has the value the same bits wherever it is computed?  Of what it reads the
 * stored value is meant. */
static bool same_bits(const Expr *e)
{
	OpKind kind = op_kind(e->op);
	bool arithmetic = kind == OPKIND_SUM || kind == OPKIND_PRODUCT;
	bool function = kind == OPKIND_FUNCTION;
	if (e->op == OP_READ)
		return true;
	if (dtype_is_float(e->type) && (arithmetic || function))
		return false;
	for (int i = 0; i < e->narg; i++)
		if (!same_bits(e->arg[i]))
			return false;
	return true;
}

static void read_once(Hoist *h, const Expr *e);

/* What is read has to be stored, or to have the same bits when it is computed
 * again. */
static void keep(Hoist *h, int buffer)
{
	Buffer *b = &h->buffers->at[buffer];
	if (b->block < 0)
		return;
	const Block *block = &h->blocks->at[b->block];
	if (block->reduce != REDUCE_NONE || !same_bits(block->body))
		b->once = true;
	else
		read_once(h, block->body);
}

static void read_once(Hoist *h, const Expr *e)
{
	if (e->op == OP_READ)
		keep(h, e->id);
	for (int i = 0; i < e->narg; i++)
		read_once(h, e->arg[i]);
}

/* A condition proves a read at data only where both see one value. */
static bool keep_indices(Expr *e, void *context)
{
	for (int i = 0; e->op == OP_READ && i < e->narg; i++)
		read_once(context, e->arg[i]);
	return true;
}

static Expr *promoted(Hoist *h, Expr *e)
{
	return expr_cast(h->arena, dtype_promoted(e->type), e);
}

/* argmax and argmin. */
static Expr *hoist_place(Hoist *h, const Expr *e)
{
	Arena *arena = h->arena;
	ReduceOp op = reduce_picked(e->reduce.op);
	const bool *outer = h->element;
	h->element = NULL;
	Expr *element = hoisted(h, e->arg[0]);
	h->element = outer;
	if (!same_bits(element)) {
		element = hoist_block(
		    h, next_name(h), e, REDUCE_NONE, element);
		h->buffers->at[element->id].once = true;
	}
	read_once(h, element);
	Expr *best = hoist_block(h, next_name(h), e, op, element);
	Expr *here = expr_cast(
	    arena, DT_I32, expr_axis(arena, e->reduce.first_axis));
	Expr *equal = expr_binary(
	    arena, OP_EQ, promoted(h, element), promoted(h, best));
	Expr *place = hoist_block(h, next_name(h), e, REDUCE_MIN,
	    expr_if(arena, equal, here, expr_int(arena, DT_I32, INT32_MAX)));
	if (!dtype_is_float(element->type))
		return place;
	Expr *none = expr_identity(arena, op, dtype_promoted(best->type));
	Expr *some = expr_binary(arena, op == REDUCE_MAX ? OP_GT : OP_LT,
	    promoted(h, best), none);
	return expr_if(arena, some, place, expr_int(arena, DT_I32, 0));
}

/* A reduction's block; returns the read of what it writes. */
static Expr *hoist(Hoist *h, const Expr *e)
{
	if (e->reduce.op != reduce_picked(e->reduce.op))
		return hoist_place(h, e);
	const char *name = next_name(h);
	bool *axes = NEW_N(h->arena, bool, h->definition->naxes);
	return hoist_block(h, name, e, e->reduce.op,
	    hoisted_element(h, e->arg[0], axes));
}

static Expr *with_args(Hoist *h, Expr *e, Expr **args)
{
	Expr *copy = arena_memdup(h->arena, e, sizeof *e);
	for (int i = 0; i < e->narg; i++)
		if (args[i] != e->arg[i]) {
			copy->arg = args;
			return copy;
		}
	return e;
}

/* The element of a reduction. */
static Expr *hoisted_element(Hoist *h, Expr *e, bool *axes)
{
	const bool *outer = h->element;
	expr_mark_axes(e, axes);
	h->element = axes;
	Expr *element = hoisted(h, e);
	h->element = outer;
	return element;
}

static bool find_dear(Expr *e, void *found)
{
	*(bool *)found |= op_kind(e->op) == OPKIND_FUNCTION ||
	    (e->op == OP_DIV && reads(e->arg[1]));
	return !*(bool *)found && e->op != OP_READ && e->op != OP_REDUCE;
}

/* Would it be computed again for each of several values of an axis? */
static bool is_repeated(const Hoist *h, Expr *e)
{
	const Definition *d = h->definition;
	bool dear = false, repeated = false;
	if (!h->element || (e->type != DT_F32 && e->type != DT_F64))
		return false;
	expr_walk(e, find_dear, &dear);
	if (!dear)
		return false;
	bool *axes = NEW_N(h->arena, bool, d->naxes);
	expr_mark_axes(e, axes);
	for (int a = 0; a < d->naxes; a++)
		repeated |= h->element[a] && !axes[a] &&
		    d->axes[a].extent >= REPEATED_LEAST;
	return repeated;
}

/* The expression with its reductions read from buffers, the first written
 * first. */
static Expr *hoisted(Hoist *h, Expr *e)
{
	if (e->op == OP_REDUCE)
		return hoist(h, e);
	if (!reads(e))
		return e;
	if (is_repeated(h, e)) {
		const bool *outer = h->element;
		h->element = NULL;
		Expr *once = hoisted(h, e);
		h->element = outer;
		return hoist_block(h, next_name(h), e, REDUCE_NONE, once);
	}
	int mark = h->conditions.n;
	Expr **args = NEW_N(h->arena, Expr *, e->narg);
	for (int i = 0; i < e->narg; i++) {
		if (e->op == OP_IF && i > 0)
			assume(h, e->arg[0], i == 1);
		else if ((e->op == OP_AND || e->op == OP_OR) && i == 1)
			assume(h, e->arg[0], e->op == OP_AND);
		args[i] = hoisted(h, e->arg[i]);
		h->conditions.n = mark;
	}
	return with_args(h, e, args);
}

void blocks_of_definition(Arena *arena, const Definition *definition,
    int number, BufferVec *buffers, BlockVec *blocks)
{
	Hoist h = {.arena = arena, .definition = definition, .number = number,
	    .buffers = buffers, .blocks = blocks};
	bool *chosen = NEW_N(arena, bool, definition->naxes);
	Expr *body = definition->body;
	Reduction r = {REDUCE_NONE, 0, 0};
	if (body->op == OP_REDUCE &&
	    body->reduce.op == reduce_picked(body->reduce.op))
		r = (Reduction){body->reduce.op, body->reduce.first_axis,
		    body->reduce.naxes};
	assert(body->type == buffers->at[definition->buffer].type);
	for (int i = 0; i < definition->nspatial; i++)
		chosen[i] = true;
	expr_walk(body, keep_indices, &h);
	bool *axes = arena_memdup(
	    arena, chosen, sizeof *chosen * (size_t)definition->naxes);
	body = r.op ? hoisted_element(&h, body->arg[0], axes)
		    : hoisted(&h, body);
	add_block(&h, definition->name, definition->buffer, chosen, r, body);
}
