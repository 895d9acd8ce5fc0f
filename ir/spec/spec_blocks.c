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
 *     out[i] = sum[k](if 1 <= i + k then x[i + k - 1]*w[k] else 0)
 *                             ->   sum[k]((if 1 <= i + k then x[i + k - 1] else 0)*w[k])
 *
 * A sum of products is one, of integers, wherever a condition on one factor is
 * written; of floats 0 times the other may be NaN.
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
 * once, and so is what e reads.  What may not, such as one addition, needs no
 * out~1: both are computed as products are.  Against a reduction of pairs: this
 * way every schedule of max and min serves. */
#include "ir/spec/spec.h"

#include <assert.h>

enum { REPEATED_LEAST = 4 };

/* A condition around a place, and whether it holds there. */
typedef struct {
	Expr *e;
	bool truth;
} Around;

typedef struct {
	Arena *arena;
	Summaries *seen; /* of this definition's expressions */
	const Definition *definition;
	int number, hoisted; /* of the definition; blocks named so far */
	BufferVec *buffers;
	BlockVec *blocks;
	VEC(Around) around;	/* the place at hand */
	VEC(Expr *) conditions; /* what these say, each alone */
	Expr **value; /* by axis of the definition: for add_block, else NULL */
	int *slot, nslots; /* the definition's blocks, by what they compute */
	const AxisSet *element; /* of the reduction's element that we are in;
				   NULL: in none */
} Hoist;

/* Which of the conditions a hoisted reduction keeps. */
typedef enum { KEEP_FREE, KEEP_INDICES, KEEP_ALL } Keep;

static bool reads(const Hoist *h, const Expr *e)
{
	return summary_of(h->seen, e)->reads;
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

/* What a condition that held (or not) says of axes and of data. */
static void assume(Hoist *h, Expr *c, bool truth)
{
	if (c->op == OP_NOT) {
		assume(h, c->arg[0], !truth);
	} else if ((c->op == OP_AND && truth) || (c->op == OP_OR && !truth)) {
		assume(h, c->arg[0], truth);
		assume(h, c->arg[1], truth);
	} else if (!summary_of(h->seen, c)->reduces) {
		Expr *e = truth ? c : complement(h->arena, c);
		vec_push(h->arena, &h->conditions, e);
	}
}

static bool adds_axis(const AxisSet *to, const AxisSet *axes)
{
	for (int i = 0; i < axes->n; i++)
		if (!axis_set_has(to, axes->axis[i]))
			return true;
	return false;
}

static bool read_proven(const Hoist *h, Bounds *bounds, const Expr *e)
{
	const Buffer *b = &h->buffers->at[e->id];
	for (int i = 0; i < e->narg; i++) {
		const Interval inside = {0, b->shape[i] - 1};
		Interval r;
		const char *why;
		if (!bounds_range(bounds, e->arg[i], &inside, &r, &why) ||
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
static Expr *conjunction(const Hoist *h, Keep keep, const AxisSet *axes)
{
	Expr *all = NULL;
	for (int i = 0; i < h->conditions.n; i++) {
		Expr *c = h->conditions.at[i];
		const Summary *s = summary_of(h->seen, c);
		if ((keep != KEEP_ALL && s->reads) ||
		    (keep == KEEP_FREE && adds_axis(axes, s->axes)))
			continue;
		all = all ? expr_binary(h->arena, OP_AND, all, c) : c;
	}
	return all;
}

/* As few as prove the reads. */
static Expr *conditioned(Hoist *h, Expr *element, Expr *identity)
{
	Expr *some = NULL;
	h->conditions.n = 0;
	for (int i = 0; i < h->around.n; i++)
		assume(h, h->around.at[i].e, h->around.at[i].truth);
	if (!h->conditions.n)
		return element;
	Bounds *bounds = bounds_new(h->arena, h->definition->axes);
	for (int keep = KEEP_FREE; keep <= KEEP_ALL; keep++) {
		some = conjunction(
		    h, (Keep)keep, summary_of(h->seen, element)->axes);
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
} ReducedAxes;

static bool is_reduced(const ReducedAxes *r, int axis)
{
	return axis >= r->first && axis < r->first + r->naxes;
}

/* Axis number `i` of the definition is the block's next one. */
static void add_axis(Hoist *h, Block *b, int i, bool reduce)
{
	h->value[i] = expr_axis(h->arena, b->naxes);
	b->axes[b->naxes] = h->definition->axes[i];
	b->axes[b->naxes++].reduce = reduce;
}

/* A block over the axes `chosen` of the definition, those of `reduction` being
 * reduced.  The body's axes are renumbered. */
static void add_block(Hoist *h, const char *name, int buffer,
    const AxisSet *chosen, ReducedAxes reduction, Expr *body)
{
	int first = reduction.first, end = first + reduction.naxes;
	Block b = {.name = name,
	    .buffer = buffer,
	    .axes = NEW_N(h->arena, Axis, chosen->n + reduction.naxes),
	    .reduce = reduction.op,
	    .definition = h->number};
	for (int i = 0; i < chosen->n; i++)
		if (!is_reduced(&reduction, chosen->axis[i]))
			add_axis(h, &b, chosen->axis[i], false);
	b.nspatial = b.naxes;
	for (int i = first; i < end; i++)
		add_axis(h, &b, i, true);
	b.body = expr_substitute_axes(
	    h->arena, body, h->value, h->definition->naxes);
	for (int i = 0; i < chosen->n; i++)
		h->value[chosen->axis[i]] = NULL;
	for (int i = first; i < end; i++)
		h->value[i] = NULL;
	h->buffers->at[buffer].block = h->blocks->n;
	vec_push(h->arena, h->blocks, b);
}

static bool same_block(Hoist *h, const Block *a, const Block *b)
{
	if (a->reduce != b->reduce || a->naxes != b->naxes ||
	    a->nspatial != b->nspatial ||
	    !summary_equal(h->seen, a->body, b->body))
		return false;
	for (int i = 0; i < a->naxes; i++)
		if (a->axes[i].extent != b->axes[i].extent)
			return false;
	return h->buffers->at[a->buffer].type == h->buffers->at[b->buffer].type;
}

/* Where the number of an equal block, + 1, stands or is to stand. */
static int *slot_of(Hoist *h, const Block *b)
{
	unsigned at = (unsigned)summary_of(h->seen, b->body)->hash;
	for (;; at++) {
		int *slot = &h->slot[at & (unsigned)(h->nslots - 1)];
		if (!*slot || same_block(h, &h->blocks->at[*slot - 1], b))
			return slot;
	}
}

static void grow_blocks(Hoist *h)
{
	int n = h->nslots, *old = h->slot;
	h->nslots = n ? n * 2 : 16;
	h->slot = NEW_N(h->arena, int, h->nslots);
	for (int i = 0; i < n; i++)
		if (old[i])
			*slot_of(h, &h->blocks->at[old[i] - 1]) = old[i];
}

/* A buffer that an earlier block of the definition writes with the same; then the
 * last block, its buffer and its name are given back.  Else the last buffer. */
static int equal_before(Hoist *h, int buffer)
{
	const Block *last = &h->blocks->at[h->blocks->n - 1];
	assert(last->buffer == buffer && buffer == h->buffers->n - 1);
	if (h->hoisted * 2 >= h->nslots)
		grow_blocks(h);
	int *slot = slot_of(h, last);
	if (!*slot) {
		*slot = h->blocks->n;
		return buffer;
	}
	h->blocks->n--;
	h->buffers->n--;
	h->hoisted--;
	return h->blocks->at[*slot - 1].buffer;
}

static Expr *hoisted(Hoist *h, Expr *e);
static Expr *hoisted_element(
    Hoist *h, ReduceOp op, Expr *e, const AxisSet *axes);

static const char *next_name(Hoist *h)
{
	return arena_printf(
	    h->arena, "%s~%d", h->definition->name, ++h->hoisted);
}

/* The read of a buffer that a block over the axes `chosen` writes; the buffer's
 * shape is made. */
static Expr *read_of(
    Hoist *h, Buffer *buffer, const AxisSet *chosen, ReducedAxes r)
{
	Expr **index = NEW_N(h->arena, Expr *, chosen->n);
	buffer->shape = NEW_N(h->arena, int64_t, chosen->n);
	for (int i = 0; i < chosen->n; i++) {
		int axis = chosen->axis[i];
		if (is_reduced(&r, axis))
			continue;
		index[buffer->ndim] = expr_axis(h->arena, axis);
		buffer->shape[buffer->ndim++] =
		    h->definition->axes[axis].extent;
	}
	Expr *read = expr_read(h->arena, buffer->type, -1, index, buffer->ndim);
	read->span = buffer->span;
	return read;
}

/* A block over the axes of `e` that reduces `element` over them, or just stores
 * it (REDUCE_NONE); returns the read of what it writes. */
static Expr *hoist_block(Hoist *h, const char *name, const Expr *e,
    ReduceOp op, Expr *element)
{
	ReducedAxes r = {op, 0, 0};
	if (op != REDUCE_NONE)
		r = (ReducedAxes){op, e->reduce.first_axis, e->reduce.naxes};
	element = conditioned(h, element,
	    expr_identity(h->arena, op ? op : REDUCE_SUM, element->type));
	const AxisSet *chosen = summary_of(h->seen, element)->axes;
	Buffer buffer = {.name = name,
	    .type = element->type,
	    .role = BUFFER_TEMP,
	    .span = e->span};
	Expr *read = read_of(h, &buffer, chosen, r);
	int number = h->buffers->n;
	vec_push(h->arena, h->buffers, buffer);
	add_block(h, name, number, chosen, r, element);
	read->id = equal_before(h, number);
	return read;
}

/* Has the value the same bits wherever it is computed?  Of what it reads the
 * stored value is meant.  One sum of floats has (`sum`); with a second operation
 * it might be fused, and a product with 0 may be left out. */
static bool same_bits(const Expr *e, bool sum)
{
	OpKind kind = op_kind(e->op);
	if (e->op == OP_READ)
		return true;
	if (dtype_is_float(e->type) && kind == OPKIND_SUM) {
		if (!sum || dtype_bytes(e->type) < dtype_bytes(DT_F32))
			return false;
		sum = false;
	} else if (dtype_is_float(e->type) &&
	    (kind == OPKIND_PRODUCT || kind == OPKIND_FUNCTION)) {
		return false;
	}
	for (int i = 0; i < e->narg; i++)
		if (!same_bits(e->arg[i], sum))
			return false;
	return true;
}

static void read_once(Hoist *h, const Expr *e);

/* What is read has to be stored, or to have the same bits when it is computed
 * again. */
static void keep(Hoist *h, int buffer)
{
	Buffer *b = &h->buffers->at[buffer];
	if (b->block < 0 || b->once || b->kept)
		return;
	b->kept = true;
	const Block *block = &h->blocks->at[b->block];
	if (block->reduce != REDUCE_NONE || !same_bits(block->body, false))
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
	const AxisSet *outer = h->element;
	h->element = NULL;
	Expr *element = hoisted(h, e->arg[0]);
	h->element = outer;
	if (!same_bits(element, true)) {
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

static bool is_within(Hoist *h, Expr *e, Expr *other)
{
	return !adds_axis(
	    summary_of(h->seen, other)->axes, summary_of(h->seen, e)->axes);
}

/* if c then a*b else 0, of integers: the condition is that of the factor that has
 * its axes, where the other one's reads are in bounds without it. */
static Expr *factor_conditioned(Hoist *h, Expr *e)
{
	bool choice = e->op == OP_IF && dtype_is_int(e->type);
	int zero = choice && expr_is_zero(e->arg[1]) ? 1 : 2;
	if (!choice || !expr_is_zero(e->arg[zero]) ||
	    e->arg[3 - zero]->op != OP_MUL)
		return e;
	Bounds *bounds = bounds_new(h->arena, h->definition->axes);
	for (int i = 0; i < 2; i++) {
		Expr **factor = e->arg[3 - zero]->arg;
		if (!is_within(h, e->arg[0], factor[i]) ||
		    !proven(h, bounds, factor[1 - i]))
			continue;
		Expr *part = expr_if(h->arena, e->arg[0],
		    zero == 1 ? e->arg[1] : factor[i],
		    zero == 1 ? factor[i] : e->arg[2]);
		part = factor_conditioned(h, part);
		return expr_binary(h->arena, OP_MUL, i ? factor[0] : part,
		    i ? part : factor[1]);
	}
	return e;
}

/* A reduction's block; returns the read of what it writes. */
static Expr *hoist(Hoist *h, const Expr *e)
{
	if (e->reduce.op != reduce_picked(e->reduce.op))
		return hoist_place(h, e);
	const char *name = next_name(h);
	return hoist_block(h, name, e, e->reduce.op,
	    hoisted_element(h, e->reduce.op, e->arg[0],
		summary_of(h->seen, e->arg[0])->axes));
}

static Expr *with_args(Hoist *h, Expr *e, Expr **args)
{
	bool same = true;
	for (int i = 0; i < e->narg; i++)
		same &= args[i] == e->arg[i];
	if (same)
		return e;
	Expr *copy = arena_memdup(h->arena, e, sizeof *e);
	copy->arg =
	    arena_memdup(h->arena, args, sizeof *args * (size_t)e->narg);
	return copy;
}

/* The element of a reduction, which is computed for these axes. */
static Expr *hoisted_element(
    Hoist *h, ReduceOp op, Expr *e, const AxisSet *axes)
{
	const AxisSet *outer = h->element;
	h->element = axes;
	Expr *element = hoisted(h, e);
	h->element = outer;
	return op == REDUCE_SUM ? factor_conditioned(h, element) : element;
}

/* Would it be computed again for each of several values of an axis? */
static bool is_repeated(const Hoist *h, Expr *e)
{
	const Definition *d = h->definition;
	bool repeated = false;
	if (!h->element || (e->type != DT_F32 && e->type != DT_F64))
		return false;
	const Summary *s = summary_of(h->seen, e);
	if (!s->function && !s->division_by_data)
		return false;
	for (int i = 0; i < h->element->n && s->axes != h->element; i++) {
		int a = h->element->axis[i];
		repeated |= d->axes[a].extent >= REPEATED_LEAST &&
		    !axis_set_has(s->axes, a);
	}
	return repeated;
}

/* The expression with its reductions read from buffers, the first written
 * first. */
static Expr *hoisted(Hoist *h, Expr *e)
{
	enum { ARGS_MOST = 3 };
	Expr *few[ARGS_MOST], **args = few;
	if (e->op == OP_REDUCE)
		return hoist(h, e);
	if (!reads(h, e))
		return e;
	if (is_repeated(h, e)) {
		const AxisSet *outer = h->element;
		h->element = NULL;
		Expr *once = hoisted(h, e);
		h->element = outer;
		return hoist_block(h, next_name(h), e, REDUCE_NONE, once);
	}
	int mark = h->around.n;
	if (e->narg > ARGS_MOST)
		args = NEW_N(h->arena, Expr *, e->narg);
	for (int i = 0; i < e->narg; i++) {
		Around c = {
		    e->arg[0], e->op == OP_IF ? i == 1 : e->op == OP_AND};
		if ((e->op == OP_IF && i > 0) ||
		    ((e->op == OP_AND || e->op == OP_OR) && i == 1))
			vec_push(h->arena, &h->around, c);
		args[i] = hoisted(h, e->arg[i]);
		h->around.n = mark;
	}
	return with_args(h, e, args);
}

static const AxisSet *spatial_axes(Hoist *h)
{
	int n = h->definition->nspatial;
	int *axis = NEW_N(h->arena, int, n);
	AxisSet *all = NEW(h->arena, AxisSet);
	for (int i = 0; i < n; i++)
		axis[i] = i;
	*all = (AxisSet){n, axis};
	return all;
}

void blocks_of_definition(Arena *arena, const Definition *definition,
    int number, BufferVec *buffers, BlockVec *blocks)
{
	Arena *own = arena_child(arena);
	Hoist h = {.arena = arena,
	    .seen = summaries_new(own),
	    .definition = definition,
	    .number = number,
	    .buffers = buffers,
	    .blocks = blocks};
	Expr *body = definition->body;
	ReducedAxes r = {REDUCE_NONE, 0, 0};
	if (body->op == OP_REDUCE &&
	    body->reduce.op == reduce_picked(body->reduce.op))
		r = (ReducedAxes){body->reduce.op, body->reduce.first_axis,
		    body->reduce.naxes};
	assert(body->type == buffers->at[definition->buffer].type);
	h.value = NEW_N(own, Expr *, definition->naxes);
	const AxisSet *chosen = spatial_axes(&h);
	expr_walk(body, keep_indices, &h);
	if (r.op)
		body = hoisted_element(&h, r.op, body->arg[0],
		    axis_set_union(h.seen, chosen,
			summary_of(h.seen, body->arg[0])->axes));
	else
		body = hoisted(&h, body);
	add_block(&h, definition->name, definition->buffer, chosen, r, body);
	arena_free(own);
}
