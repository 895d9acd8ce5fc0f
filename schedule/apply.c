/* A trace applied to the plain nest. */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

#include "schedule/plan/plan.h"

typedef struct {
	Refusal (*legal)(const Call *call);
	void (*apply)(const Call *call);
} Functions;

static const Functions functions[] = {
#define PRIMITIVE(name, roles, outs, arguments) {name##_legal, name##_apply},
#include "schedule/primitives/primitives.def"
#undef PRIMITIVE
};

/* Does a step schedule what runs in shared loops?  It may place others there. */
static bool changes_shared(const Nest *nest, const Step *step)
{
	int sharing = nest->stages.n;
	while (--sharing >= 0 && !nest_is_sharing(nest, sharing))
		;
	for (int i = 0; i < step->nargs && sharing >= 0; i++) {
		const Arg *arg = &step->args[i];
		char role = arg->key ? 'W' : primitive_role(step->primitive, i);
		bool place = role == 'A' ||
		    (role == 'L' &&
			step->primitive == PRIMITIVE_reverse_compute_at);
		int stage = -1, var = -1;
		if (arg->open || arg->value.kind != VALUE_WORD || place ||
		    !strchr("BLX", role))
			continue;
		if (role != 'L')
			stage = nest_find_stage(nest, arg->value.word);
		if (stage < 0)
			var = nest_find_loop(nest, arg->value.word);
		if (var >= 0)
			stage = nest->vars.at[var].stage;
		if (stage >= 0 && nest_is_sharing(nest, stage))
			return true;
	}
	return false;
}

Refusal apply_step(Nest *nest, const Step *step, ApplyContext *context)
{
	Call call = {
	    .nest = nest,
	    .step = step,
	    .machine = context->machine,
	    .use_slots = context->use_slots,
	    .first_slot = context->nslots,
	};
	Refusal why = primitive_check(step);

	assert(!nest->nparts && "its parts have nests of their own");
	if (context->use_slots)
		context->nslots += call_nslots(step);
	if (!why && step->nouts && primitive_outs(step->primitive) == '-')
		why = "the step gives no names";
	if (!why && step->primitive != PRIMITIVE_compute_with &&
	    changes_shared(nest, step))
		why = "the block shares its loops: compute_with comes last";
	if (!why)
		why = functions[step->primitive].legal(&call);
	if (why)
		return why;
	functions[step->primitive].apply(&call);
	nest->inferred = false;
	return NULL;
}

/* --- steps without a meaning ------------------------------------------------ */

/* A block that a compute_at inlined is gone, and with it what later steps of
 * the trace say of it: they are void. */
typedef struct {
	Nest *nest;
	Lookup names;
} Void;

static bool has_void_name(const Void *gone, const char *name, size_t n)
{
	return lookup_first(&gone->names, name, n) >= 0;
}

static bool names_void(const Void *gone, const char *word)
{
	const Nest *nest = gone->nest;
	const char *dot = strchr(word, '.');
	const Stage *s;
	int var;

	if (has_void_name(gone, word, dot ? (size_t)(dot - word) : strlen(word)))
		return true;
	var = nest_find_var(nest, word);
	if (var < 0)
		return false;
	s = &nest->stages.at[nest->vars.at[var].stage];
	return !s->live && has_void_name(gone, s->name, strlen(s->name));
}

/* `decided`: by what is a decision, too. */
static bool is_void(const Void *gone, const Step *step, bool decided)
{
	for (int i = 0; i < step->nargs && gone->names.entries.n; i++) {
		const Arg *arg = &step->args[i];
		char role = arg->key ? 'W' : primitive_role(step->primitive, i);
		if (!arg->open && arg->value.kind == VALUE_WORD &&
		    (decided || !arg->decision) && strchr("BLUXA", role) &&
		    names_void(gone, arg->value.word))
			return true;
	}
	return false;
}

static bool is_inlining(const Step *step)
{
	return step->primitive == PRIMITIVE_compute_at && step->nargs > 1 &&
	    !step->args[1].open && step->args[1].value.kind == VALUE_WORD &&
	    !strcmp(step->args[1].value.word, "inline");
}

static void skip(Void *gone, const Step *step, ApplyContext *context, int at)
{
	if (context->use_slots)
		context->nslots += call_nslots(step);
	if (context->void_steps)
		context->void_steps[at] = true;
	for (int i = 0; i < step->nouts; i++)
		lookup_add(&gone->names, step->outs[i], at);
}

/* --- a trace ------------------------------------------------------------------ */

bool trace_apply(Nest *nest, const Trace *trace, ApplyContext *context,
    int *step, Refusal *why)
{
	Void gone = {.nest = nest, .names = {.arena = nest->arena}};

	for (*step = 0; *step < trace->steps.n; ++*step) {
		const Step *s = &trace->steps.at[*step];
		if (is_void(&gone, s, true)) {
			context->decides_void |= !is_void(&gone, s, false);
			skip(&gone, s, context, *step);
			continue;
		}
		*why = apply_step(nest, s, context);
		if (*why)
			return false;
		if (is_inlining(s))
			lookup_add(&gone.names, s->args[0].value.word, *step);
	}
	*step = -1;
	*why = NULL;
	return nest_infer(nest, why) && nest_verify(nest, why);
}

Refusal nest_guards_hold(const Nest *nest)
{
	int64_t value;

	for (int i = 0; i < nest->guards.n; i++)
		if (!tape_is_const(
			nest->tape, nest->guards.at[i].value, &value) ||
		    value != 1)
			return nest->guards.at[i].why;
	return NULL;
}

/* --- the plain schedule --------------------------------------------------- */

/* The outermost spatial axis that has something to share. */
static int parallel_axis(const Block *block)
{
	for (int i = 0; i < block->nspatial; i++)
		if (block->axes[i].extent > 1)
			return i;
	return block->nspatial ? 0 : -1;
}

static Step parallel_step(Arena *arena, const Block *block, int axis)
{
	Step step = {.primitive = PRIMITIVE_parallel, .nargs = 1};

	step.args = NEW(arena, Arg);
	step.args[0].value = value_word(arena_printf(
	    arena, "%s.%s", block->name, block->axes[axis].name));
	return step;
}

Trace *schedule_plain(Arena *arena, const Program *program)
{
	Arena *scratch = arena_new();
	Nest *nest = nest_new(scratch, program, tape_new(scratch));
	Trace *trace = NEW(arena, Trace);

	for (int i = 0; i < nest->order.n; i++) {
		int number = nest->stages.at[nest->order.at[i]].block;
		assert(number >= 0 && number < program->nblocks);
		const Block *block = &program->blocks[number];
		int axis = parallel_axis(block);
		if (axis >= 0)
			vec_push(arena, &trace->steps,
			    parallel_step(arena, block, axis));
	}
	arena_free(scratch);
	return trace;
}

/* --- a nest ---------------------------------------------------------------- */

static void tell(Error *error, const Trace *trace, const Refused *refused)
{
	Buf text = {0};
	Trace one = {{0}};

	assert(refused->why && refused->step < trace->steps.n);
	if (refused->step < 0) {
		error_set(
		    error, STATUS_INPUT, "the schedule: %s", refused->why);
		return;
	}
	one.steps.at = &trace->steps.at[refused->step];
	one.steps.n = 1;
	trace_print(&text, &one);
	text.data[text.size - 1] = 0;
	error_set(error, STATUS_INPUT, "step %d, %s: %s", refused->step + 1,
	    buf_text(&text), refused->why);
	buf_free(&text);
}

Nest *nest_under(Arena *arena, const Program *program, const Machine *machine,
    const Trace *trace, int first, int end, Refused *refused)
{
	ApplyContext context = {.machine = machine};
	Nest *nest = nest_new(arena, program, tape_new(arena));
	Trace steps = {{0}};
	Refusal why;
	int step = -1;

	assert(first >= 0 && first <= end && end <= trace->steps.n);
	steps.steps.at = trace->steps.at + first;
	steps.steps.n = end - first;
	if (trace_apply(nest, &steps, &context, &step, &why))
		why = nest_guards_hold(nest);
	if (!why)
		return nest;
	*refused = (Refused){step < 0 ? step : first + step, why};
	return NULL;
}

Nest *schedule_nest_or(Arena *arena, const Program *program,
    const Machine *machine, const Trace *trace, Refused *refused)
{
	if (trace_has_groups(trace))
		return nest_of_groups(
		    arena, program, machine, trace, refused);
	return nest_under(arena, program, machine, trace, 0, trace->steps.n,
	    refused);
}

Nest *schedule_nest(Arena *arena, const Program *program,
    const Machine *machine, const Trace *trace, Error *error)
{
	Refused refused;
	Nest *nest;

	if (!trace)
		trace = schedule_plain(arena, program);
	nest = schedule_nest_or(arena, program, machine, trace, &refused);
	if (!nest)
		tell(error, trace, &refused);
	return nest;
}

bool schedule_fits(Arena *arena, const Program *program, const Machine *machine,
    const Trace *trace)
{
	Error error = {0};
	Nest *nest = schedule_nest(arena, program, machine, trace, &error);
	if (!nest)
		return false;
	Plan *plan = plan_record(arena, nest, machine);
	int64_t *values = NEW_N(arena, int64_t, tape_size(plan->tape));
	assert(tape_nslots(plan->tape) == 0);
	tape_eval(plan->tape, NULL, values);
	return !plan_limits(plan, machine, values);
}
