/* The walk: stages and their loops, outer to inner, with what is placed in
 * them.
 *
 * A loop that runs binds its variable to a temporary, an unrolled one to each
 * of its numbers in turn, a vector to the lane.  After each binding, what lies
 * outside of the block is left out; where only unrolled and vector loops of an
 * axis are left, a tile is whole or partial, and by the stage's style there is
 * a nest for each:
 *
 *     if (i + 5 < n) { 6 rows } else { the rows that there are }
 */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

static void walk(Lower *l, int stage, int pos, Phase phase);

/* --- tiles, whole and partial ------------------------------------------- */

/* Is an end of an axis decided now: of those that `var` is in, or of all where
 * it is -1? */
static bool decides(
    const Lower *l, int stage, int axis, End end, int var, Phase phase)
{
	const StageAxis *a = &l->nest->stages.at[stage].axes[axis];
	return axis_bounded(l, stage, axis, end) &&
	    tail_decided(l, stage, axis) &&
	    !(phase != PHASE_UPDATE && a->reduce) &&
	    (var < 0 || axis_has_var(l, stage, axis, var));
}

/* What has to hold for all that is left of the loops to count. */
static Value whole_condition(Lower *l, int stage, int var, Phase phase)
{
	Value all = value_const(DT_BOOL, 0, 1);
	Lower in = *l;
	for (int a = 0; a < l->nest->stages.at[stage].naxes; a++)
		for (End end = ABOVE; end <= BELOW; end++)
			if (decides(l, stage, a, end, var, phase))
				all = value_and_nonnegative(
				    &in, all, slack_of_all(&in, stage, a, end));
	return all;
}

static void push_whole_facts(Lower *l, int stage, int var, Phase phase)
{
	for (int a = 0; a < l->nest->stages.at[stage].naxes; a++)
		for (End end = ABOVE; end <= BELOW; end++)
			if (decides(l, stage, a, end, var, phase))
				fact_push(
				    l, slack_of_all(l, stage, a, end));
}

/* Do the ends that are decided now cut lanes? */
static bool cuts_lanes(
    const Lower *l, int stage, int pos, int var, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	for (int i = pos; i < s->nloops; i++)
		for (int a = 0; a < s->naxes; a++)
			for (End end = ABOVE; end <= BELOW; end++)
				if (loop_is_vector(l, s->loops[i]) &&
				    axis_has_var(l, stage, a, s->loops[i]) &&
				    decides(l, stage, a, end, var, phase))
					return true;
	return false;
}

static void walk_tiles(Lower *l, int stage, int pos, int var, Phase phase)
{
	BodyTiles tiles = body_tail_tiles(tail_of(l, stage));
	bool known;
	/* Tiles are told apart once, before their own loops. */
	if (tiles < BODY_TILES_TOLD ||
	    (var >= 0 && loop_at_compile_time(l, var))) {
		walk(l, stage, pos, phase);
		return;
	}
	Value whole = whole_condition(l, stage, var, phase);
	if (value_is_bool(whole, &known) || value_is_unknown(whole)) {
		walk(l, stage, pos, phase);
		return;
	}
	assert(whole.lanes == 1);
	Branch b;
	Lower yes = *l, no = *l;
	branch_begin(l, &b, whole.temp);
	push_whole_facts(&yes, stage, var, phase);
	walk(&yes, stage, pos, phase);
	branch_else(l, &b);
	no.elementwise |= tiles == BODY_TILES_BY_LANE &&
	    cuts_lanes(l, stage, pos, var, phase);
	walk(&no, stage, pos, phase);
	branch_end(l, &b);
}

/* --- loops -------------------------------------------------------------- */

static void lower_placed(Lower *l, int var, bool after)
{
	for (int i = 0; i < l->part->hung[var].n; i++) {
		int stage = l->part->hung[var].at[i];
		const Stage *s = &l->nest->stages.at[stage];
		if (s->after == after)
			lower_stage(l, stage);
	}
}

/* One iteration, its variable bound: what is placed here, then the rest. */
static void iteration(Lower *l, int stage, int pos, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	int var = s->loops[pos];
	bool ahead = phase == PHASE_UPDATE && l->part->ahead[var];
	assert(l->part->vars[var].bound);
	if (phase == PHASE_UPDATE)
		prefetch_in(l, stage, pos);
	if (ahead)
		stages_step(l, var);
	else if (phase == PHASE_UPDATE)
		lower_placed(l, var, false);
	walk_tiles(l, stage, pos + 1, var, phase);
	if (ahead)
		stages_end_step(l, var);
	if (phase == PHASE_UPDATE)
		lower_placed(l, var, true);
}

/* The same, left out where nothing in it counts. */
static void tested_iteration(
    Lower *l, int stage, int pos, Phase phase, bool clipped)
{
	const Stage *s = &l->nest->stages.at[stage];
	int var = s->loops[pos];
	Lower in = *l;
	Value some = value_const(DT_BOOL, 0, 1);
	bool known;
	for (int a = 0; a < s->naxes; a++)
		for (End end = ABOVE; end <= BELOW; end++) {
			if (!axis_tested(l, stage, a, end) ||
			    !axis_has_var(l, stage, a, var) ||
			    (phase != PHASE_UPDATE && s->axes[a].reduce))
				continue;
			Index slack = slack_of_some(&in, stage, a, end);
			if (clipped && end == ABOVE)
				fact_push(&in, slack);
			some =
			    value_and(&in, some, value_nonnegative(&in, slack));
		}
	if (value_is_bool(some, &known) || value_is_unknown(some)) {
		if (value_is_unknown(some) || known)
			iteration(&in, stage, pos, phase);
		return;
	}
	Branch b;
	branch_begin(l, &b, some.temp);
	for (int a = 0; a < s->naxes; a++)
		for (End end = ABOVE; end <= BELOW; end++)
			if (axis_tested(l, stage, a, end) &&
			    axis_has_var(l, stage, a, var) &&
			    !(phase != PHASE_UPDATE && s->axes[a].reduce))
				fact_push(
				    &in, slack_of_some(&in, stage, a, end));
	iteration(&in, stage, pos, phase);
	branch_end(l, &b);
}

static LoopKind kind_of(const Lower *l, int var)
{
	LoopKind kind = l->nest->vars.at[var].kind;
	bool runs_once = kind == LOOP_PARALLEL && !l->part->threads;
	return kind == LOOP_UNROLL || kind == LOOP_VECTOR || runs_once
	    ? LOOP_SERIAL
	    : kind;
}

/* What is placed in the loop for others does not depend on what the stage's
 * own steps do. */
static bool steps_alone(const Lower *l, int stage, int pos)
{
	IntVec below = {0};
	stages_below(l, stage, pos, &below);
	for (int i = 0; i < below.n; i++) {
		const Stage *s = &l->nest->stages.at[below.at[i]];
		if (s->after || s->barrier)
			return false;
	}
	return true;
}

/* Do the conditions of the stage's steps decide what of a loop is run?  Not
 * around the place where the results are initialized. */
static bool narrows(Lower *l, int stage, int pos, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	return phase == PHASE_UPDATE && s->reduce != REDUCE_NONE &&
	    pos >= loop_init_position(l, s) && step_has_conditions(l, stage) &&
	    steps_alone(l, stage, pos);
}

/* Does it matter which elements are used?  What follows in the loop may do more
 * than use them. */
static bool leaves_out(Lower *l, int stage, int pos)
{
	return live_known(l, stage) && steps_alone(l, stage, pos);
}

static bool first_reduction(const Lower *l, const Stage *s, int pos)
{
	for (int i = 0; i < pos; i++)
		if (l->nest->vars.at[s->loops[i]].reduce)
			return false;
	return true;
}

/* The iterations that a loop makes: count of them from `first` on, or before
 * `limit` if there is one. */
typedef struct {
	Index first, limit;
	int64_t count, end; /* all lie before `end` */
	bool limited;
	bool clipped; /* what is past the limit lies outside of the block */
	const StepLimits *steps; /* NULL: not narrowed by them */
} LoopSpan;

/* An iteration of a loop that runs; where a GPU's block has more threads than
 * the loop, of those that the loop has. */
static void running_iteration(
    Lower *l, int stage, int pos, Phase phase, const LoopSpan *span)
{
	int var = l->nest->stages.at[stage].loops[pos];
	int64_t own = loop_extent(l, var);
	Lower in = *l;
	if (!loop_is_thread(l->nest->vars.at[var].kind) ||
	    own == span->count) {
		tested_iteration(l, stage, pos, phase, span->clipped);
		return;
	}
	Branch b;
	Index slack =
	    index_add(l, index_const(own - 1), l->part->vars[var].value, -1);
	assert(own < span->count);
	branch_begin(l, &b, value_scalar(l, value_nonnegative(l, slack)));
	fact_push(&in, slack);
	tested_iteration(&in, stage, pos, phase, span->clipped);
	branch_end(l, &b);
}

/* Are there buffers that are filled ahead, in a loop in which that is so many
 * iterations? */
static bool fills_ahead(
    const Lower *l, int var, Phase phase, const LoopSpan *span)
{
	int64_t first;
	return phase == PHASE_UPDATE && kind_of(l, var) == LOOP_SERIAL &&
	    span->count > 1 && !span->limited && !span->steps &&
	    index_is_const(span->first, &first) && first == 0 &&
	    stages_depth(l, var) > 1;
}

/* A piece of one iteration stays a loop: what it loads is its own, since what
 * the pieces share would not fit the registers. */
static void running_loop(
    Lower *l, int stage, int pos, Phase phase, const LoopSpan *span)
{
	int var = l->nest->stages.at[stage].loops[pos];
	const Var *v = &l->nest->vars.at[var];
	IntVec written = written_below(l, stage, pos);
	assert(!l->part->vars[var].bound && span->count > 0);
	LowNode *node = NEW(l->arena, LowNode);
	node->kind = LOWNODE_LOOP;
	node->dst = node->buffer = node->condition = -1;
	node->extent = span->count;
	node->loop = kind_of(l, var);
	if (span->limited) {
		Index n = index_add(l, span->limit, span->first, -1);
		node->limit = NEW(l->arena, LowAffine);
		*node->limit = index_address(l, n);
	}
	if (node->loop == LOOP_PARALLEL)
		l->f->nthreads = l->machine->threads > 1
		    ? l->machine->threads
		    : 1;
	if (node->loop == LOOP_PARALLEL && l->f->nthreads == 1)
		node->loop = LOOP_SERIAL;
	note_written(l, &written);
	note_control(l);
	bool piece = span->count == 1 && !span->limited;
	bool ahead = fills_ahead(l, var, phase, span);
	if (ahead)
		stages_begin(l, var, span->count);
	Frame frame = {.fence = node->loop != LOOP_SERIAL,
	    .bound = loop_is_bound(node->loop),
	    .thread = loop_is_thread(node->loop),
	    .loop = span->count > 1,
	    .skipped = span->limited || piece,
	    .written = written};
	Lower in = *l;
	scope_open(l, &frame, &node->body);
	node->var = new_temp(l, DT_INDEX, 1, v->name);
	node->comment = loop_comment(l, stage, var);
	l->part->temps.at[node->var].range = (Interval){0, span->count - 1};
	l->part->temps.at[node->var].thread = loop_is_thread(node->loop);
	Index value = piece ? span->first
	    : index_add(l, index_symbol(l, node->var), span->first, 1);
	bind_var(l, var, (Binding){true, value});
	if (span->steps) {
		fact_push(
		    &in, index_add(l, index_const(span->end - 1), value, -1));
		if (span->steps->moved)
			step_facts(&in, stage, span->steps);
		if (span->steps->wanted)
			live_facts(&in, stage, span->steps->wanted);
		loop_cut_facts(&in, stage, span->steps->cuts);
	}
	running_iteration(&in, stage, pos, phase, span);
	unbind(l, var);
	scope_close(l);
	if (ahead)
		stages_end(l, var);
	note_written(l, &written);
	note_control(l);
	if (node->body.n)
		vec_push(l->arena, l->part->scope->body, node);
}

/* Of one iteration, as of a copy in code: how is it left out? */
static BodySkip skip_of(const Lower *l, const Stage *s, int pos)
{
	BodyLoop loop = loop_body(l, s, s->loops[pos]);
	int64_t steps = 1;
	loop.code = true;
	for (int i = pos + 1; i < s->nloops; i++)
		steps = body_steps(steps, loop_body(l, s, s->loops[i]));
	return body_skip(loop, steps);
}

/* One iteration of a reduction, its variable bound, under the condition that a
 * step in it may count. */
static void step_iteration(Lower *l, int stage, int pos, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	bool known;
	if (step_never(l, stage))
		return;
	if (skip_of(l, s, pos) != BODY_SKIP_TEST) {
		tested_iteration(l, stage, pos, phase, false);
		return;
	}
	Value some = step_some(l, stage);
	if (value_is_bool(some, &known) || value_is_unknown(some)) {
		tested_iteration(l, stage, pos, phase, false);
		return;
	}
	Branch b;
	Lower in = *l;
	branch_begin(l, &b, some.temp);
	step_facts(&in, stage, NULL);
	tested_iteration(&in, stage, pos, phase, false);
	branch_end(l, &b);
}

static void one_iteration(
    Lower *l, int stage, int pos, Phase phase, int64_t number)
{
	int var = l->nest->stages.at[stage].loops[pos];
	bind_var(l, var, (Binding){true, index_const(number)});
	if (leaves_out(l, stage, pos) && live_never(l, stage)) {
		unbind(l, var);
		return;
	}
	if (narrows(l, stage, pos, phase))
		step_iteration(l, stage, pos, phase);
	else
		tested_iteration(l, stage, pos, phase, false);
	unbind(l, var);
}

/* first .. end-1, before `limit` where that is not NULL, and of these the ones
 * in which a step may count. */
static void iterations(Lower *l, int stage, int pos, Phase phase,
    int64_t first, int64_t end, const Index *limit, const StepLimits *steps)
{
	LoopSpan span = {.first = index_const(first), .steps = steps,
		.clipped = limit, .limited = limit};
	if (limit)
		span.limit = *limit;
	if (steps && steps->begins)
		span.first = index_min(l, span.first, steps->first, true);
	if (steps && steps->ends)
		span.limit = limit ? index_min(l, *limit, steps->end, false)
				   : steps->end;
	span.limited |= steps && steps->ends;
	int64_t from, to;
	if (span.limited && index_is_const(span.limit, &to)) {
		end = to < end ? to : end;
		span.limited = false;
	}
	if (span.limited &&
	    index_nonnegative(
		l, index_add(l, span.limit, index_const(end), -1)))
		span.limited = false;
	if (!index_is_const(span.first, &from)) {
		span.limit = span.limited
		    ? index_min(l, span.limit, index_const(end), false)
		    : index_const(end);
		span.limited = true;
		from = (int64_t)range_of(l, span.first).lo;
	}
	span.count = end - from;
	span.end = end;
	if (span.count == 1 && !span.limited && !steps)
		one_iteration(l, stage, pos, phase, from);
	else if (span.count > 0)
		running_loop(l, stage, pos, phase, &span);
}

static void serial_loop(
    Lower *l, int stage, int pos, Phase phase, const StepLimits *steps)
{
	int var = l->nest->stages.at[stage].loops[pos];
	int64_t extent = loop_extent(l, var), whole, n;
	Index limit;
	bool limited = tail_limit(l, stage, var, &limit);
	if (limited && index_is_const(limit, &n)) {
		extent = n < extent ? n : extent;
		limited = false;
	}
	if (tail_split(l, stage, var, &whole) &&
	    whole < loop_extent(l, var)) {
		iterations(l, stage, pos, phase, 0, whole, NULL, steps);
		iterations(l, stage, pos, phase, whole, extent, NULL, steps);
		return;
	}
	iterations(l, stage, pos, phase, 0, extent, limited ? &limit : NULL,
	    steps);
}

/* In a pack function, a loop by digits of the layout: where tiles of 16 lie one
 * behind the other, a loop over them and one of 16, so that nothing is divided.
 * `digits` are how much one step of each of these loops is, but the last. */
static void digit_loops(Lower *l, int stage, int pos, Index first,
    int64_t count, const IntVec *digits, int at)
{
	int var = l->nest->stages.at[stage].loops[pos];
	int64_t extent = loop_extent(l, var);
	if (at == digits->n) {
		LoopSpan span = {.first = first, .count = count,
		    .end = extent, .limit = index_const(extent)};
		span.limited = !index_nonnegative(l,
		    index_add(l, index_const(extent - count), first, -1));
		running_loop(l, stage, pos, PHASE_UPDATE, &span);
		return;
	}
	int64_t digit = digits->at[at];
	LowNode *node = NEW(l->arena, LowNode);
	node->kind = LOWNODE_LOOP;
	node->dst = node->buffer = node->condition = -1;
	node->extent = (count + digit - 1) / digit;
	node->loop = LOOP_SERIAL;
	node->comment = loop_comment(l, stage, var);
	IntVec written = written_below(l, stage, pos);
	Frame frame = {.loop = true, .written = written};
	note_written(l, &written);
	note_control(l);
	scope_open(l, &frame, &node->body);
	node->var = new_temp(
	    l, DT_INDEX, 1, l->nest->vars.at[var].name);
	l->part->temps.at[node->var].range = (Interval){0, node->extent - 1};
	first = index_add(l, first, index_symbol(l, node->var), digit);
	digit_loops(l, stage, pos, first, digit, digits, at + 1);
	scope_close(l);
	note_written(l, &written);
	note_control(l);
	vec_push(l->arena, l->part->scope->body, node);
}

static bool packs_by_digits(Lower *l, int stage, int pos, Phase phase)
{
	int var = l->nest->stages.at[stage].loops[pos];
	IntVec digits = {0};
	if (l->f->role != LOWFN_PACK || phase != PHASE_UPDATE)
		return false;
	pack_digits(l, stage, var, &digits);
	if (digits.n)
		digit_loops(l, stage, pos, index_const(0), loop_extent(l, var),
		    &digits, 0);
	return digits.n > 0;
}

static void begin_at(Lower *l, StepLimits *steps, Index first)
{
	steps->first =
	    steps->begins ? index_min(l, steps->first, first, true) : first;
	steps->begins = true;
}

static void end_at(Lower *l, StepLimits *steps, Index end)
{
	steps->end =
	    steps->ends ? index_min(l, steps->end, end, false) : end;
	steps->ends = true;
}

/* The iterations in which steps may count; those in which all do apart from
 * those at the ends, where each is tested. */
static void counting_loop(Lower *l, int stage, int pos, Phase phase)
{
	int var = l->nest->stages.at[stage].loops[pos];
	StepLimits steps, whole;
	step_limits(l, stage, var, &steps);
	if (!step_whole_limits(l, stage, var, &whole)) {
		serial_loop(l, stage, pos, phase, &steps);
		return;
	}
	StepLimits before = steps, within = steps, after = steps;
	within.within = &whole;
	before.fails = whole.begin_form;
	after.fails = whole.end_form;
	if (whole.begins) {
		end_at(l, &before, whole.first);
		begin_at(l, &within, whole.first);
		begin_at(l, &after, whole.first);
		serial_loop(l, stage, pos, phase, &before);
	}
	if (whole.ends) {
		end_at(l, &within, whole.end);
		begin_at(l, &after, whole.end);
	}
	serial_loop(l, stage, pos, phase, &within);
	if (whole.ends)
		serial_loop(l, stage, pos, phase, &after);
}

/* The outermost loop of a reduction, where every step inside of it counts, as
 * far as its loops do not matter, or each is tested. */
static void whole_or_not(Lower *l, int stage, int pos, Phase phase)
{
	Value every = step_every(l, stage);
	Branch b;
	bool known;
	Lower in = *l;
	if (value_is_bool(every, &known) || value_is_unknown(every)) {
		counting_loop(l, stage, pos, phase);
		return;
	}
	branch_begin(l, &b, every.temp);
	step_every_facts(&in, stage);
	counting_loop(&in, stage, pos, phase);
	branch_else(l, &b);
	counting_loop(l, stage, pos, phase);
	branch_end(l, &b);
}

/* The same under the condition that some step inside may count. */
static void narrowed_loop(Lower *l, int stage, int pos, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	Branch b;
	bool known;
	Lower in = *l;
	if (!l->nest->vars.at[s->loops[pos]].reduce ||
	    !first_reduction(l, s, pos)) {
		counting_loop(l, stage, pos, phase);
		return;
	}
	Value some = step_some(l, stage);
	bool decided = value_is_bool(some, &known);
	if (decided || value_is_unknown(some)) {
		if (!decided || known)
			whole_or_not(l, stage, pos, phase);
		return;
	}
	branch_begin(l, &b, some.temp);
	step_facts(&in, stage, NULL);
	whole_or_not(&in, stage, pos, phase);
	branch_end(l, &b);
}

enum { CUTS_MAX = 2, ARMS_MAX = 2 };

/* By the conditions of the body from `form` on, if `cuts` more are allowed. */
static void cut_loop(Lower *l, int stage, int pos, const StepLimits *limits,
    int form, int cuts)
{
	int var = l->nest->stages.at[stage].loops[pos];
	LoopCut cut;
	if (!cuts || !loop_cut(l, stage, var, form, &cut)) {
		serial_loop(l, stage, pos, PHASE_UPDATE, limits);
		return;
	}
	for (int i = 0; i < 3; i++) {
		StepLimits part = *limits;
		CutFact fact = {cut.form, cut.rises == (i == 2), limits->cuts};
		if (i > 0)
			begin_at(l, &part, i == 1 ? cut.first : cut.second);
		if (i < 2)
			end_at(l, &part, i == 0 ? cut.first : cut.second);
		if (i != 1)
			part.cuts = &fact;
		if (i != 1 && (fact.holds || cut.wraps))
			cut_loop(l, stage, pos, &part, cut.form + 1, cuts - 1);
		else
			serial_loop(l, stage, pos, PHASE_UPDATE, &part);
	}
}

/* The innermost loop that runs of a stage that computes elements. */
static int cuts_allowed(const Lower *l, int stage, int pos, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	if (phase != PHASE_UPDATE || s->reduce != REDUCE_NONE ||
	    loop_extent(l, s->loops[pos]) < 2 || !steps_alone(l, stage, pos))
		return 0;
	for (int i = pos + 1; i < s->nloops; i++)
		if (!loop_at_compile_time(l, s->loops[i]))
			return 0;
	IntVec below = {0};
	if (l->part->sharing[stage].n > 1)
		return 0;
	stages_below(l, stage, pos, &below);
	return below.n ? loop_extent(l, s->loops[pos]) >= 4 : CUTS_MAX;
}

static void lower_loop(Lower *l, int stage, int pos, Phase phase);

/* One loop for each arm of a condition that it does not move, of a stage that
 * computes elements and in whose loops no other is; false: there is none. */
static bool parted_loop(Lower *l, int stage, int pos, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	IntVec below = {0};
	Index form;
	Branch b;
	Lower yes = *l, no;
	if (phase != PHASE_UPDATE || s->reduce != REDUCE_NONE ||
	    kind_of(l, s->loops[pos]) != LOOP_SERIAL ||
	    l->part->sharing[stage].n > 1 || l->arms == ARMS_MAX)
		return false;
	stages_below(l, stage, pos, &below);
	if (below.n || !loop_decided(l, stage, &form))
		return false;
	yes.arms++;
	no = yes;
	branch_begin(l, &b, value_scalar(l, value_nonnegative(l, form)));
	fact_push(&yes, form);
	lower_loop(&yes, stage, pos, phase);
	branch_else(l, &b);
	fact_push(&no, index_add(l, index_const(-1), form, -1));
	lower_loop(&no, stage, pos, phase);
	branch_end(l, &b);
	return true;
}

static void chosen_iteration(Lower *l, int stage, int pos, Phase phase)
{
	tested_iteration(l, stage, pos, phase, false);
}

static void lower_loop(Lower *l, int stage, int pos, Phase phase)
{
	int var = l->nest->stages.at[stage].loops[pos];
	int64_t extent = loop_extent(l, var), n;
	LoopKind kind = l->nest->vars.at[var].kind;
	const Stage *s = &l->nest->stages.at[stage];
	StepLimits none = {0}, live, *wanted = NULL;
	int cuts;
	if (phase == PHASE_UPDATE && s->intrinsic >= 0 &&
	    s->tensor_loop == var && body_tensor_step(l, stage))
		return;
	if (kind == LOOP_VECTOR && !l->elementwise && extent > 1) {
		Lower in = *l;
		in.lanes = (int)extent;
		in.across = l->nest->vars.at[var].reduce;
		bind_var(l, var, (Binding){true, index_symbol(l, SYMBOL_LANE)});
		iteration(&in, stage, pos, phase);
		unbind(l, var);
	} else if (loop_at_compile_time(l, var)) {
		for (int64_t i = 0; i < extent && !l->part->failed; i++)
			one_iteration(l, stage, pos, phase, i);
	} else if (loop_is_bound(kind)) {
		LoopSpan span = {.first = index_const(0),
		    .count = loop_is_thread(kind)
			? nest_launch_extent(l->nest, var) : extent};
		running_loop(l, stage, pos, phase, &span);
	} else if (packs_by_digits(l, stage, pos, phase) ||
	    scatter_loop(l, stage, pos, phase, chosen_iteration) ||
	    parted_loop(l, stage, pos, phase)) {
		return;
	} else if (kind_of(l, var) == LOOP_SERIAL) {
		if (leaves_out(l, stage, pos) &&
		    live_limits(l, stage, var, &live))
			wanted = &live;
		if (narrows(l, stage, pos, phase))
			narrowed_loop(l, stage, pos, phase);
		else if ((cuts = cuts_allowed(l, stage, pos, phase)))
			cut_loop(l, stage, pos, wanted ? wanted : &none, 0,
			    cuts);
		else
			serial_loop(l, stage, pos, phase, wanted);
	} else {
		Index limit;
		bool limited = kind_of(l, var) <= LOOP_PARALLEL &&
		    tail_limit(l, stage, var, &limit);
		if (limited && index_is_const(limit, &n)) {
			extent = n < extent ? n : extent;
			limited = false;
		}
		iterations(l, stage, pos, phase, 0, extent,
		    limited ? &limit : NULL, NULL);
	}
}

/* --- reductions in temporaries ------------------------------------------ */

/* A row too many would read what was computed for it where it may: the copies
 * for each row are its own. */
static bool hangs_inside(const Lower *l, const Stage *s, int pos)
{
	for (int i = pos; i < s->nloops; i++)
		if (l->part->hung[s->loops[i]].n)
			return true;
	return false;
}

/* sums += ... */
static void update_sums(const Lower *l, int stage, int pos)
{
	Accumulators sums = *l->sums;
	Lower in = *l;
	sums.clamps = !hangs_inside(l, &l->nest->stages.at[stage], pos);
	in.sums = &sums;
	in.clamp = tail_clamped_axes(&in, stage);
	walk(&in, stage, pos, PHASE_UPDATE);
}

/* sums = identity, or what there is; sums += ...; results = sums */
static void reduce_in_sums(Lower *l, int stage, int pos, bool fresh)
{
	const Stage *s = &l->nest->stages.at[stage];
	const IntVec *sharing = &l->part->sharing[stage];
	BodySums inside = sums_inside(l, stage, pos);
	bool threads = nest_reduces_across(l->nest, stage);
	bool across = inside.across || threads;
	int n = inside.results, copies = inside.copies, lanes = l->lanes;
	for (int i = pos; i < s->nloops; i++)
		if (loop_is_vector(l, s->loops[i]))
			lanes = (int)loop_extent(l, s->loops[i]);
	assert(!l->sums && n > 0 && copies > 0);
	Accumulators sums = {.stage = stage,
	    .pos = pos,
	    .fresh = fresh,
	    .across = across,
	    .results = n,
	    .copies = copies,
	    .temps = NEW_N(l->arena, int, sharing->n *n *copies),
	    .totals = NEW_N(l->arena, Value, n * sharing->n)};
	Lower in = *l;
	in.sums = &sums;
	for (int i = 0; i < sharing->n; i++)
		sums_start(&in, sharing->at[i], lanes,
		    sums.temps + i * n * copies, n * copies);
	if (!fresh && !across)
		walk(&in, stage, pos, PHASE_LOAD);
	update_sums(&in, stage, pos);
	for (int i = 0; i < sharing->n && across; i++) {
		Value *totals = sums.totals + i * n;
		sums_total(
		    &in, sharing->at[i], sums.temps + i * n * copies, totals);
		if (threads)
			across_threads(&in, sharing->at[i], totals, n);
	}
	walk(&in, stage, pos, PHASE_STORE);
}

/* What threads reduce together is summed from outside of all loops of theirs and
 * of the reduction: there they combine it. */
static bool starts_across(const Lower *l, int stage, int pos)
{
	const Stage *s = &l->nest->stages.at[stage];
	for (int i = 0; i < pos; i++)
		if (l->nest->vars.at[s->loops[i]].reduce ||
		    loop_is_thread(l->nest->vars.at[s->loops[i]].kind))
			return false;
	return l->nest->vars.at[s->loops[pos]].reduce ||
	    loop_is_thread(l->nest->vars.at[s->loops[pos]].kind);
}

static void reduce_across(Lower *l, int stage, int pos)
{
	if (sums_here(l, stage, pos))
		reduce_in_sums(l, stage, pos, true);
	else
		lower_fail(l, "%s: threads cannot reduce this together",
		    l->nest->stages.at[stage].name);
}

static void walk(Lower *l, int stage, int pos, Phase phase)
{
	const Stage *s = &l->nest->stages.at[stage];
	assert(pos >= 0 && pos <= s->nloops);
	assert(phase < PHASE_LOAD || sums_are_of(l, stage));
	if (l->part->failed)
		return;
	if (phase == PHASE_UPDATE && !l->sums &&
	    nest_reduces_across(l->nest, stage)) {
		assert(pos < s->nloops);
		if (starts_across(l, stage, pos))
			reduce_across(l, stage, pos);
		else
			lower_loop(l, stage, pos, phase);
		return;
	}
	if (phase == PHASE_UPDATE && s->reduce != REDUCE_NONE) {
		bool fresh = pos == loop_init_position(l, s);
		if (sums_here(l, stage, pos)) {
			reduce_in_sums(l, stage, pos, fresh);
			return;
		}
		if (fresh && !l->sums)
			walk(l, stage, pos, PHASE_INIT);
	}
	if (pos == s->nloops)
		lower_body(l, stage, phase);
	else if (phase != PHASE_UPDATE &&
	    l->nest->vars.at[s->loops[pos]].reduce)
		walk(l, stage, pos + 1, phase);
	else
		lower_loop(l, stage, pos, phase);
}

static void stage_if_used(Lower *l, int stage)
{
	Value some = live_some(l, stage);
	Lower in = *l;
	bool known;
	Branch b;
	if (live_never(l, stage))
		return;
	if (value_is_bool(some, &known) || value_is_unknown(some)) {
		walk_tiles(l, stage, 0, -1, PHASE_UPDATE);
		return;
	}
	branch_begin(l, &b, some.temp);
	live_facts(&in, stage, NULL);
	walk_tiles(&in, stage, 0, -1, PHASE_UPDATE);
	branch_end(l, &b);
}

void lower_stage_alone(Lower *l, int stage)
{
	Lower in = *l;
	in.stage = stage;
	in.sums = NULL;
	in.clamp = tail_clamped_axes(&in, stage);
	if (leaves_out(&in, stage, 0))
		stage_if_used(&in, stage);
	else
		walk_tiles(&in, stage, 0, -1, PHASE_UPDATE);
}

void lower_stage(Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	/* filled again while threads may still read it */
	if (s->barrier && lower_runs_again(l, s->place))
		emit_effect(l, LOW_BARRIER, -1, -1, -1);
	lower_stage_alone(l, stage);
	if (s->barrier)
		emit_effect(l, LOW_BARRIER, -1, -1, -1);
}
