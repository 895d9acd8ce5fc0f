/* Loads and stores.
 *
 * An address is an affine form.  Where its lanes are neighbours it is a LOAD or
 * a STORE, where they are the same a scalar, and where they lie apart by
 * distances known here LOADs and shuffles (lower_strided.c).  What is left is
 * GATHER and SCATTER, or a LOAD for each lane where the machine has no gathers.
 * Memory that might lie outside of its buffer is touched under a mask only.
 *
 * A buffer of scope reg is no memory: each of its elements, or as many
 * neighbours as there are lanes, is a temporary. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

/* Where the slot of this iteration begins. */
static Index slot_of(Lower *l, int buffer)
{
	const NestBuffer *b = &l->nest->buffers.at[buffer];
	const Tape *tape = l->nest->tape;
	if (b->slots == HANDLE_NONE || b->alloc < 0 ||
	    !l->part->ahead[b->alloc])
		return index_const(0);
	assert(l->part->vars[b->alloc].bound);
	return index_scale(l,
	    index_mod(
		l, l->part->vars[b->alloc].value, tape_value(tape, b->slots)),
	    tape_value(tape, b->slot));
}

/* --- addresses ---------------------------------------------------------- */

/* Data that a condition would keep inside, where lanes go on under a mask: its
 * product with a stride must not overflow. */
static Index data_inside(Lower *l, Index x, const Expr *index, int64_t n)
{
	if (l->mask.lanes <= 1 || index_has_lanes(x) || !expr_has_data(index))
		return x;
	x = index_min(l, x, index_const(0), true);
	return index_min(l, x, index_const(n - 1), false);
}

Index buffer_place(Lower *l, int buffer, Expr *const *index, int n)
{
	const NestBuffer *b = &l->nest->buffers.at[buffer];
	const Tape *tape = l->nest->tape;
	Index address = slot_of(l, buffer);
	assert(n == b->ndim);
	(void)n;
	index = nest_along_rows(l->arena, l->nest, buffer, index);
	for (int p = 0; p < b->nparts; p++) {
		const LayoutPart *part = &b->parts[p];
		assert(tape_value(tape, part->div) > 0);
		/* of one element there is no other, not even behind the end,
		 * where threads are that have nothing to do */
		if (b->scope == SCOPE_REG &&
		    tape_value(tape, b->extent[part->dim]) == 1)
			continue;
		Index x = data_inside(l, index_of(l, index[part->dim]),
		    index[part->dim], b->shape[part->dim]);
		if (b->start[part->dim])
			x = index_add(
			    l, x, index_of(l, b->start[part->dim]), -1);
		x = index_floordiv(l, x, tape_value(tape, part->div));
		if (part->mod != HANDLE_NONE)
			x = index_mod(l, x, tape_value(tape, part->mod));
		address = index_add(
		    l, address, x, tape_value(tape, part->stride));
	}
	return address;
}

Index buffer_address(Lower *l, int buffer, Expr *const *index, int n)
{
	return swizzled(l, &l->nest->buffers.at[buffer],
	    buffer_place(l, buffer, index, n));
}

static Index forced_inside(Lower *l, int buffer, Index address)
{
	int64_t n = tape_value(
	    l->nest->tape, l->nest->buffers.at[buffer].elements);
	address = index_min(l, address, index_const(0), true);
	return index_min(l, address, index_const(n - 1), false);
}

/* --- elements in temporaries -------------------------------------------- */

/* Where a vector of them begins, how far its lanes are apart. */
typedef struct {
	int64_t at, step;
	int lanes;
} VectorPlace;

static int find_element(const Lower *l, int buffer, VectorPlace p)
{
	const ElementVec *list = &l->part->registers[buffer];
	for (int i = 0; i < list->n; i++)
		if (list->at[i].at == p.at && list->at[i].lanes == p.lanes &&
		    list->at[i].step == p.step)
			return list->at[i].temp;
	return -1;
}

/* Each thread of a block has its own of what they share out. */
static Index own_part(Lower *l, Index address)
{
	for (int i = 0; i < address.form.n; i++) {
		int symbol = address.form.terms[i].temp;
		if (symbol >= 0 && l->part->temps.at[symbol].thread)
			return own_part(l, index_without(l, address, symbol));
	}
	return address;
}

static bool is_place(Lower *l, Index address, VectorPlace *p)
{
	p->step = index_lane(address);
	p->lanes = p->step ? l->lanes : 1;
	return index_is_const(
	    own_part(l, index_without(l, address, SYMBOL_LANE)), &p->at);
}

/* acc_1_3: where it lies along what the buffer has more than one of; lanes are
 * one. */
static const char *element_name(
    const Lower *l, const NestBuffer *b, const VectorPlace *place)
{
	const Tape *tape = l->nest->tape;
	const char *name = b->name;
	int64_t at = place->at;
	for (int p = 0; p < b->nparts && at >= 0; p++) {
		int64_t n = tape_value(tape, b->parts[p].extent);
		int64_t stride = tape_value(tape, b->parts[p].stride);
		int lanes = stride == place->step ? place->lanes : 1;
		if (n <= lanes)
			continue;
		name = arena_printf(l->arena, "%s_%lld", name,
		    (long long)(at / stride / lanes));
		at %= stride;
	}
	return name;
}

int register_temp(Lower *l, int buffer, Index address)
{
	const NestBuffer *b = &l->nest->buffers.at[buffer];
	VectorPlace p;
	assert(b->scope == SCOPE_REG);
	if (!is_place(l, address, &p)) {
		lower_fail(l, "%s: an index of a buffer in registers is not "
			      "known when compiling",
		    b->name);
		return new_temp(l, b->type, 1, b->name);
	}
	int temp = find_element(l, buffer, p);
	if (temp >= 0)
		return temp;
	temp = new_variable(l, b->type, p.lanes, element_name(l, b, &p));
	vec_push(l->arena, &l->part->registers[buffer],
	    (Element){p.at, p.step, p.lanes, temp});
	return temp;
}

/* A lane of a vector that holds the element. */
static Value lane_of_vector(Lower *l, int buffer, int64_t at)
{
	const NestBuffer *b = &l->nest->buffers.at[buffer];
	const ElementVec *list = &l->part->registers[buffer];
	for (int i = 0; i < list->n; i++) {
		Element e = list->at[i];
		if (e.lanes == 1 || at < e.at || (at - e.at) % e.step ||
		    (at - e.at) / e.step >= e.lanes)
			continue;
		Key key = {.op = LOW_EXTRACT,
		    .type = b->type,
		    .lanes = 1,
		    .arg = {e.temp, -1, -1},
		    .i = (at - e.at) / e.step};
		return value_temp(b->type, 1, emit_pure(l, &key, b->name));
	}
	lower_fail(l, "%s: an element in registers is read before it is "
		      "written",
	    b->name);
	return value_const(b->type, 0, 0);
}

static int one_register(Lower *l, int buffer, int64_t at)
{
	int temp = find_element(l, buffer, (VectorPlace){at, 0, 1});
	return temp >= 0 ? temp
			 : value_scalar(l, lane_of_vector(l, buffer, at));
}

static Value register_load(Lower *l, int buffer, Index address)
{
	const NestBuffer *b = &l->nest->buffers.at[buffer];
	VectorPlace p;
	if (!is_place(l, address, &p))
		return value_temp(
		    b->type, 1, register_temp(l, buffer, address));
	int temp = find_element(l, buffer, p);
	if (temp >= 0)
		return value_temp(b->type, p.lanes, temp);
	if (p.lanes == 1)
		return value_temp(
		    b->type, 1, one_register(l, buffer, p.at));
	int v = dtype_is_float(b->type)
	    ? const_float(l, b->type, p.lanes, 0)
	    : const_int(l, b->type, p.lanes, 0);
	for (int i = 0; i < p.lanes; i++) {
		Key key = {.op = LOW_INSERT,
		    .type = b->type,
		    .lanes = p.lanes,
		    .arg = {v, one_register(l, buffer, p.at + i * p.step),
			-1},
		    .i = i};
		v = emit_pure(l, &key, b->name);
	}
	return value_temp(b->type, p.lanes, v);
}

static void register_store(Lower *l, int buffer, Index address, Value v)
{
	int temp = register_temp(l, buffer, address);
	int lanes = l->f->temps.at[temp].lanes;
	if (v.lanes > lanes) {
		lower_fail(l, "%s: a vector for one register",
		    l->nest->buffers.at[buffer].name);
		return;
	}
	emit_into(l, temp, LOW_COPY, value_as(l, v, lanes), -1, -1);
}

/* --- loads -------------------------------------------------------------- */

/* offset[lane] of an address with lanes, and what is the same for all. */
static int lane_offsets(Lower *l, Index address, Index *base)
{
	Index moving = {.vector = address.vector, .range = address.range};
	int64_t step = index_lane(address);
	assert(index_has_lanes(address));
	*base = index_without(l, address, SYMBOL_LANE);
	base->vector = -1;
	moving.form = low_affine_const(0);
	if (step)
		moving = index_add(
		    l, moving, index_symbol(l, SYMBOL_LANE), step);
	return index_vector(l, moving);
}

static int gather(Lower *l, int buffer, Index address, int mask)
{
	const NestBuffer *n = &l->nest->buffers.at[buffer];
	Index base;
	int offsets = lane_offsets(l, address, &base);
	Key key = {.op = LOW_GATHER,
	    .type = n->type,
	    .lanes = l->lanes,
	    .arg = {offsets, mask, -1},
	    .i = address.vector < 0 ? index_lane(address) : 0,
	    .buffer = buffer,
	    .address = index_address(l, base)};
	return emit_load(l, &key, n->name);
}

static Index moved(Index address, int64_t by)
{
	address.form.constant += by;
	return address;
}

/* --- tables in registers -------------------------------------------------- */

/* So many elements in all lanes, from there on; -1: they are not in the buffer. */
static int table(Lower *l, int buffer, Index base, int n)
{
	DType type = l->nest->buffers.at[buffer].type;
	int held = 2;
	while (held < n)
		held *= 2;
	if (!memory_inside(l, buffer, base) ||
	    !memory_inside(l, buffer, moved(base, held - 1)))
		return -1;
	int v = load_op(l, buffer, LOW_LOAD, held, base, -1, -1);
	int *again = NEW_N(l->arena, int, l->lanes);
	for (int i = 0; i < l->lanes; i++)
		again[i] = i % held;
	Key key = {.op = LOW_SHUFFLE,
	    .type = type,
	    .lanes = l->lanes,
	    .arg = {v, -1, -1},
	    .shuffle = again};
	return held == l->lanes ? v : emit_pure(l, &key, "t");
}

/* Of the elements that lanes may read, where a register or two hold all of them:
 * those are loaded side by side, and lanes look up in them; -1. */
static int look_up(Lower *l, int buffer, Index address, int mask)
{
	const NestBuffer *n = &l->nest->buffers.at[buffer];
	int lanes = l->lanes, bytes = lanes * dtype_bytes(n->type);
	Interval r = address.range;
	Index base = index_without(l, address, SYMBOL_LANE);
	Index moving = {.vector = address.vector, .range = r};
	if (!l->machine->gather || l->machine->gpu || address.vector < 0 ||
	    index_lane(address) || dtype_bytes(n->type) != 4 ||
	    (bytes != 32 && bytes != 64) || bytes > l->machine->vector_bytes ||
	    r.hi - r.lo >= 2 * lanes)
		return -1;
	int count = (int)(r.hi - r.lo) + 1;
	moving.form = low_affine_const(-(int64_t)r.lo);
	base.vector = -1;
	base = moved(base, (int64_t)r.lo);
	int few = count < lanes ? count : lanes;
	int a = table(l, buffer, base, few);
	int b = a < 0 || count <= lanes
	    ? a
	    : table(l, buffer, moved(base, lanes), count - lanes);
	if (b < 0)
		return -1;
	int i = index_vector(l, moving);
	int v = emit_op(l, LOW_PERMUTE, n->type, lanes, a, i, -1, n->name);
	if (b != a) {
		int below = emit_op(l, LOW_LT, DT_BOOL, lanes, i,
		    const_int(l, DT_INDEX, lanes, lanes), -1, "below");
		int w =
		    emit_op(l, LOW_PERMUTE, n->type, lanes, b, i, -1, n->name);
		v = emit_op(
		    l, LOW_SELECT, n->type, lanes, below, v, w, n->name);
	}
	return mask < 0 ? v
			: emit_op(l, LOW_SELECT, n->type, lanes, mask, v,
			      const_zero(l, n->type, lanes), n->name);
}

/* Does a loop around this place, run in threads, write to the buffer?  Then
 * only what is needed may be read: the rest may be another thread's, unless each
 * has a buffer of its own. */
static bool written_by_threads(const Lower *l, int buffer)
{
	if (l->f->buffers.at[l->part->low_buffer[buffer]].thread_bytes)
		return false;
	for (const Frame *f = l->part->scope; f; f = f->up)
		if (f->fence && frame_writes(f, buffer))
			return true;
	return false;
}

static int load_lanes(Lower *l, int buffer, Index base, int64_t step)
{
	DType type = l->nest->buffers.at[buffer].type;
	int v = const_zero(l, type, l->lanes);
	for (int i = 0; i < l->lanes; i++) {
		int x = load_op(
		    l, buffer, LOW_LOAD, 1, moved(base, step * i), -1, -1);
		Key key = {.op = LOW_INSERT,
		    .type = type,
		    .lanes = l->lanes,
		    .arg = {v, x, -1},
		    .i = i};
		v = emit_pure(l, &key, "s");
	}
	return v;
}

/* The lanes that count, where they were just stored; -1. */
static int load_stored(Lower *l, int buffer, Index base)
{
	DType type = l->nest->buffers.at[buffer].type;
	if (l->mask.lanes <= 1)
		return -1;
	int mask = value_as(l, l->mask, l->lanes);
	int temp = stored_value(
	    l, buffer, index_address(l, base), l->lanes, mask);
	return temp < 0 ? -1
	    : emit_op(l, LOW_SELECT, type, l->lanes, mask, temp,
		  const_zero(l, type, l->lanes), "s");
}

static int load_vector(Lower *l, int buffer, Index address, int mask)
{
	assert(l->lanes > 1 && index_has_lanes(address));
	assert(mask < 0 || l->f->temps.at[mask].lanes == l->lanes);
	int64_t step = address.vector < 0 ? index_lane(address) : 0;
	Index base = index_without(l, address, SYMBOL_LANE);
	base.vector = -1;
	int stored = step == 1 ? load_stored(l, buffer, base) : -1;
	if (stored >= 0)
		return stored;
	if (step == 1 && mask >= 0)
		return load_op(
		    l, buffer, LOW_LOAD_MASKED, l->lanes, base, mask, -1);
	if (step == 1)
		return load_op(l, buffer, LOW_LOAD, l->lanes, base, -1, -1);
	if (!written_by_threads(l, buffer)) {
		int v = load_strided(l, buffer, address, mask);
		v = v < 0 ? look_up(l, buffer, address, mask) : v;
		if (v >= 0)
			return v;
	}
	if (step && mask < 0 && !l->machine->gather)
		return load_lanes(l, buffer, base, step);
	return gather(l, buffer, address, mask);
}

/* Whatever the loops: that lane reads what all do. */
static bool some_lane_counts(const Lower *l)
{
	const TempInfo *mask =
	    l->mask.temp < 0 ? NULL : &l->part->temps.at[l->mask.temp];
	return mask && mask->certain && mask->on;
}

Value memory_load(Lower *l, int buffer, Index address)
{
	const NestBuffer *b = &l->nest->buffers.at[buffer];
	if (b->scope == SCOPE_REG)
		return register_load(l, buffer, address);
	bool masked = l->mask.lanes > 1 && !memory_inside(l, buffer, address);
	if (index_has_lanes(address)) {
		masked |= l->mask.lanes > 1 && written_by_threads(l, buffer);
		int mask = masked ? value_as(l, l->mask, l->lanes) : -1;
		return value_temp(b->type, l->lanes,
		    load_vector(l, buffer, address, mask));
	}
	if (masked && !some_lane_counts(l))
		address = forced_inside(l, buffer, address);
	return value_temp(
	    b->type, 1, load_op(l, buffer, LOW_LOAD, 1, address, -1, -1));
}

/* --- stores ------------------------------------------------------------- */

/* Does each iteration of the loops around write whole lines, beginning with one
 * where the buffer does? */
static bool writes_lines(const Lower *l, int buffer, Index address)
{
	enum { LINE_BYTES = 64 };
	int bytes = dtype_bytes(l->nest->buffers.at[buffer].type);
	for (int i = 0; i < address.form.n; i++) {
		LowTerm t = address.form.terms[i];
		if (t.temp >= 0 && t.coefficient * bytes % LINE_BYTES)
			return false;
	}
	return address.form.constant % l->lanes == 0 &&
	    l->lanes * bytes <= LINE_BYTES;
}

/* A vector of an output that is written once and never read, in a kernel that
 * moves more memory than the last cache keeps. */
static bool streams(const Lower *l, int buffer, Index address)
{
	const Stage *s = &l->nest->stages.at[l->stage];
	return l->part->streamed && l->part->streamed[buffer] &&
	    s->buffer == buffer && s->reduce == REDUCE_NONE &&
	    writes_lines(l, buffer, address);
}

void memory_store(Lower *l, int buffer, Index address, Value v)
{
	const NestBuffer *b = &l->nest->buffers.at[buffer];
	if (b->scope == SCOPE_REG) {
		register_store(l, buffer, address, v);
		return;
	}
	LowNode *node;
	assert(l->part->low_buffer[buffer] >= 0);
	if (!index_has_lanes(address)) {
		if (v.lanes > 1) {
			lower_fail(l, "%s: lanes write one element", b->name);
			return;
		}
		int temp = value_scalar(l, v);
		node = emit_effect(l, LOW_STORE, temp, -1, -1);
		node->buffer = l->part->low_buffer[buffer];
		node->address = index_address(l, address);
		note_stored(l, buffer, node->address, temp, -1);
		return;
	}
	assert(l->lanes > 1);
	int temp = value_as(l, v, l->lanes), mask = -1;
	if (l->store_mask.lanes > 1)
		mask = value_as(l, l->store_mask, l->lanes);
	if (address.vector < 0 && index_lane(address) == 1) {
		LowOpcode op = mask >= 0 ? LOW_STORE_MASKED
		    : streams(l, buffer, address) ? LOW_STREAM
						  : LOW_STORE;
		node = emit_effect(l, op, temp, mask, -1);
		node->address = index_without(l, address, SYMBOL_LANE).form;
		node->buffer = l->part->low_buffer[buffer];
		note_stored(l, buffer, node->address, temp, mask);
		return;
	}
	Index base;
	int offsets = lane_offsets(l, address, &base);
	node = emit_effect(l, LOW_SCATTER, temp, offsets, mask);
	node->address = base.form;
	node->buffer = l->part->low_buffer[buffer];
	node->i = address.vector < 0 ? index_lane(address) : 0;
	l->part->version[buffer]++;
}
