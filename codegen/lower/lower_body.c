/* One body of a stage where all its loops stand: what it stores, adds up in memory or
 * in temporaries, or leaves alone outside of its block.
 *
 *     c[i] += a[i]*b   -->   v = load c[i]; w = fma ...; store c[i], w
 *                            sum = fma ..., sum
 */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

Value body_identity(Lower *l, const Stage *s)
{
	DType type = l->nest->buffers.at[s->buffer].type;
	return eval(l, expr_identity(l->arena, s->reduce, type));
}

static Value body_value(Lower *l, const Stage *s)
{
	return value_convert(
	    l, eval(l, s->body), l->nest->buffers.at[s->buffer].type);
}

/* Are the axes in the block? */
static Value inside_block(Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	Value inside = value_const(DT_BOOL, 0, 1);
	Lower in = *l;
	for (int a = 0; a < s->naxes; a++)
		for (End end = ABOVE; end <= BELOW; end++) {
			if (end == ABOVE ? !s->axes[a].above
					 : !s->axes[a].below)
				continue;
			Index x = index_of_axis(&in, stage, a);
			Index slack = end == BELOW
			    ? x
			    : index_add(&in, index_const(s->axes[a].extent - 1),
				  x, -1);
			inside = value_and_nonnegative(&in, inside, slack);
		}
	return inside;
}

/* `if the axes are in the block then body else fill`. */
static Value filled_value(Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	Value inside = inside_block(l, stage);
	bool known;
	if (value_is_bool(inside, &known))
		return known ? body_value(l, s) : eval(l, s->fill);
	DType type = l->nest->buffers.at[s->buffer].type;
	Value fill = eval(l, s->fill);
	if (inside.lanes > 1) {
		Lower in = *l;
		in.mask = inside;
		Value v = body_value(&in, s);
		int temp = emit_op(l, LOW_SELECT, type, l->lanes, inside.temp,
		    value_as(l, v, l->lanes), value_as(l, fill, l->lanes),
		    "filled");
		return value_temp(type, l->lanes, temp);
	}
	Branch b;
	int dst = new_temp(l, type, l->lanes, "filled");
	l->part->temps.at[dst].mutable = true;
	emit_into(l, dst, LOW_COPY, value_as(l, fill, l->lanes), -1, -1);
	branch_begin(l, &b, inside.temp);
	emit_into(
	    l, dst, LOW_COPY, value_as(l, body_value(l, s), l->lanes), -1, -1);
	branch_end(l, &b);
	return value_temp(type, l->lanes, dst);
}

/* Of the loops inside of the accumulators', those of the reduction or the
 * others that are repeated in code: the number of the iteration that we are in.
 * (One that is left with one iteration is a number, too, and not counted.) */
static int64_t unrolled_number(const Lower *l, const Stage *s, bool reduce)
{
	int64_t number = 0;
	for (int i = l->sums->pos; i < s->nloops; i++) {
		int var = s->loops[i];
		int64_t value;
		if (l->nest->vars.at[var].reduce == reduce &&
		    var != s->tensor_loop && loop_at_compile_time(l, var) &&
		    l->part->vars[var].bound &&
		    index_is_const(l->part->vars[var].value, &value))
			number = number * loop_extent(l, var) + value;
	}
	return number;
}

/* The first result of the stage whose body we are in. */
static int64_t first_result(const Lower *l)
{
	const IntVec *sharing = &l->part->sharing[l->sums->stage];
	int i = 0;
	while (sharing->at[i] != l->stage)
		i++;
	assert(i < sharing->n);
	return (int64_t)i * l->sums->results;
}

/* Of the reduction that we are in; -1: its results are in memory. */
static int accumulator(const Lower *l, const Stage *s)
{
	int64_t number, copy = 0;
	if (!l->sums)
		return -1;
	number = first_result(l) + unrolled_number(l, s, false);
	if (l->sums->copies > 1)
		copy = unrolled_number(l, s, true);
	assert(copy < l->sums->copies);
	assert(number < l->part->sharing[l->sums->stage].n * l->sums->results);
	return l->sums->temps[number * l->sums->copies + copy];
}

/* The lanes of a step that counts none of them are the identity. */
static Value step_across(Lower *l, const Stage *s, const Expr *x, DType type)
{
	Value v = value_convert(l, eval(l, x), type);
	int identity, lanes = l->lanes;
	if (l->mask.lanes <= 1)
		return value_temp(type, lanes, value_as(l, v, lanes));
	identity = value_as(l, body_identity(l, s), lanes);
	return value_temp(type, lanes,
	    emit_op(l, LOW_SELECT, type, lanes, l->mask.temp,
		value_as(l, v, lanes), identity, "counted"));
}

static void step(Lower *l, const Stage *s, Index address, const Expr *x)
{
	DType type = l->nest->buffers.at[s->buffer].type;
	bool reg = l->nest->buffers.at[s->buffer].scope == SCOPE_REG;
	int into = accumulator(l, s);
	if (into < 0 && reg)
		into = register_temp(l, s->buffer, address);
	if (l->across && (into < 0 || l->f->temps.at[into].lanes == 1)) {
		Value v;
		if (s->reduce != REDUCE_SUM || !bits_step(l, x, &v))
			v = horizontal_lanes(
			    l, s->reduce, step_across(l, s, x, type));
		if (into >= 0)
			eval_combined(
			    l, s->reduce, value_temp(type, 1, into), v, into);
		else
			memory_store(l, s->buffer, address,
			    eval_combined(l, s->reduce,
				memory_load(l, s->buffer, address), v, -1));
		return;
	}
	if (l->across && l->mask.lanes > 1) {
		Value acc = value_temp(type, l->lanes, into);
		eval_combined(
		    l, s->reduce, acc, step_across(l, s, x, type), into);
		return;
	}
	if (into >= 0) {
		Value acc = value_temp(type, l->f->temps.at[into].lanes, into);
		eval_step(l, s->reduce, x, acc, into);
		return;
	}
	Value acc = memory_load(l, s->buffer, address);
	memory_store(
	    l, s->buffer, address, eval_step(l, s->reduce, x, acc, -1));
}

/* A step that changes nothing is not made: where the body's own condition is
 * the same for all lanes, it is a branch.  (A sum that began as 0 is never -0:
 * adding 0 changes nothing, bit for bit.) */
static void update(Lower *l, int stage, Index address)
{
	const Stage *s = &l->nest->stages.at[stage];
	const Expr *own = step_condition(l, stage);
	bool known;
	if (step_never(l, stage))
		return;
	if (!own) {
		step(l, s, address, step_element(l, stage));
		return;
	}
	Value condition = eval(l, own);
	bool decided = value_is_bool(condition, &known);
	if (decided ? known : condition.lanes > 1)
		step(l, s, address,
		    decided ? step_element(l, stage) : step_guarded(l, stage));
	if (decided || condition.lanes > 1)
		return;
	Branch b;
	Lower in = *l;
	branch_begin(l, &b, condition.temp);
	push_facts(&in, own, true);
	step(&in, s, address, step_element(l, stage));
	branch_end(l, &b);
}

/* Where the stage writes: its own region, so never clamped. */
static Index write_address(Lower *l, const Stage *s)
{
	Lower in = *l;
	in.clamp = NULL;
	return buffer_address(&in, s->buffer, s->write, s->nwrite);
}

/* Of one element, when the loops have ended. */
static Value result(Lower *l, const Stage *s, DType type, Index address)
{
	if (!l->sums->across)
		return value_temp(type, l->lanes, accumulator(l, s));
	Value all =
	    l->sums->totals[first_result(l) + unrolled_number(l, s, false)];
	return l->sums->fresh
	    ? all
	    : eval_combined(
		  l, s->reduce, memory_load(l, s->buffer, address), all, -1);
}

static bool dot_step(Lower *l)
{
	const Stage *s = &l->nest->stages.at[l->stage];
	bool reg = l->nest->buffers.at[s->buffer].scope == SCOPE_REG;
	DType type = l->nest->buffers.at[s->buffer].type;
	int a, b, into = accumulator(l, s);
	/* lanes that are steps are added up behind the loops, or here */
	bool later =
	    !l->across || (into >= 0 && l->f->temps.at[into].lanes == l->lanes);
	if (!later ||
	    !dot_operands(l, !l->across && (reg || into >= 0), &a, &b))
		return false;
	Index address = write_address(l, s);
	if (into < 0 && reg)
		into = register_temp(l, s->buffer, address);
	if (into >= 0) {
		assert(l->f->temps.at[into].lanes == l->lanes);
		emit_into(l, into, LOW_DOT, a, b, into);
	} else {
		int sum =
		    value_as(l, memory_load(l, s->buffer, address), l->lanes);
		memory_store(l, s->buffer, address,
		    value_temp(type, l->lanes,
			emit_op(l, LOW_DOT, type, l->lanes, a, b, sum, "dot")));
	}
	return true;
}

bool body_tensor_step(Lower *l, int stage)
{
	int warps = intrinsic_at(l->nest->stages.at[stage].intrinsic)->warps;
	Lower in = *l;
	in.stage = stage;
	return warps > 1 ? group_step(&in)
	    : warps	 ? fragment_step(&in)
			 : dot_step(&in);
}

/* By an asynchronous copy, but for what is filled; false: as always. */
static bool copied_ahead(Lower *l, int stage, Index address)
{
	const Stage *s = &l->nest->stages.at[stage];
	bool known;
	if (l->filling != FILL_ASYNC)
		return false;
	if (!s->fill)
		return stages_copy(l, s, address);
	Value inside = inside_block(l, stage);
	if (inside.lanes > 1 || value_is_unknown(inside))
		return false;
	if (value_is_bool(inside, &known))
		return known && stages_copy(l, s, address);
	Branch b;
	branch_begin(l, &b, inside.temp);
	if (!stages_copy(l, s, address))
		memory_store(l, s->buffer, address, body_value(l, s));
	branch_else(l, &b);
	memory_store(l, s->buffer, address, eval(l, s->fill));
	branch_end(l, &b);
	return true;
}

/* Of a stage that is no reduction. */
static void fill_element(Lower *l, int stage, Index address)
{
	const Stage *s = &l->nest->stages.at[stage];
	DType type = l->nest->buffers.at[s->buffer].type;
	Value v;
	if (copied_ahead(l, stage, address))
		return;
	if (!stages_kept(l, &v, type)) {
		v = s->fill ? filled_value(l, stage) : body_value(l, s);
		if (stages_keep(l, v, type))
			return;
	}
	memory_store(l, s->buffer, address, v);
}

/* What a phase does with one element, or with one for each lane. */
static void element(Lower *l, int stage, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	DType type = l->nest->buffers.at[s->buffer].type;
	assert(phase == PHASE_UPDATE || s->reduce != REDUCE_NONE);
	assert(phase < PHASE_LOAD || l->sums);
	Index address = write_address(l, s);
	int sum = phase >= PHASE_LOAD ? accumulator(l, s) : -1;
	if (phase == PHASE_INIT)
		memory_store(l, s->buffer, address, body_identity(l, s));
	else if (phase == PHASE_LOAD)
		emit_into(l, sum, LOW_COPY,
		    value_as(l, memory_load(l, s->buffer, address), l->lanes),
		    -1, -1);
	else if (phase == PHASE_STORE)
		memory_store(
		    l, s->buffer, address, result(l, s, type, address));
	else if (s->reduce != REDUCE_NONE)
		update(l, stage, address);
	else
		fill_element(l, stage, address);
}

static void one_body(Lower *l, int stage, Phase phase)
{
	Lower in = *l;
	bool known;
	in.stage = stage;
	Value mask = tail_mask(&in, stage, phase);
	if (value_is_bool(mask, &known) && !known)
		return;
	in.mask = mask.lanes > 1 ? mask : (Value){0};
	in.store_mask = in.mask;
	element(&in, stage, phase);
}

void lower_body(Lower *l, int stage, Phase phase)
{
	const IntVec *sharing = &l->part->sharing[stage];
	for (int i = 0; i < sharing->n; i++)
		one_body(l, sharing->at[i], phase);
}
