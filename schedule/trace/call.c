/* One step on its way to a nest: arguments by name become stages, loops,
 * buffers and tape handles. */
#include "schedule/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TIMES = 4096 }; /* lanes*4096 */

/* --- slots ------------------------------------------------------------------ */

/* Which arguments hold a quantity that nothing but the tape needs to know. */
static bool is_quantity(const Step *step, int i)
{
	switch (step->primitive) {
	case PRIMITIVE_split: return i == 1;
	case PRIMITIVE_unroll: return i == 1;
	case PRIMITIVE_prefetch: return i == 3;
	case PRIMITIVE_storage_align: return i >= 2;
	case PRIMITIVE_stages: return i == 1;
	default: return false;
	}
}

bool apply_is_slot(const Step *step, int i)
{
	const Arg *arg = &step->args[i];

	assert(i >= 0 && i < step->nargs);
	return arg->decision && arg->open && arg->domain.values &&
	    is_quantity(step, i) &&
	    (step->primitive != PRIMITIVE_split ||
		arg->domain.kind == DOMAIN_TILE);
}

static int arg_nslots(const Step *step, int i)
{
	if (!apply_is_slot(step, i))
		return 0;
	return step->args[i].domain.kind == DOMAIN_TILE
	    ? step->args[i].domain.parts - 1 : 1;
}

int call_nslots(const Step *step)
{
	int n = 0;

	for (int i = 0; i < step->nargs; i++)
		n += arg_nslots(step, i);
	return n;
}

/* A part with one value is that value; its slot is not used. */
static Handle slot_handle(const Call *call, int i, int part)
{
	const Domain *d = &call->step->args[i].domain;
	int at = d->kind == DOMAIN_TILE ? part + 1 : part;
	int slot = call->first_slot + part;

	assert(call->use_slots && part >= 0 && at < d->parts);
	if (d->nvalues[at] == 1 && d->values[at][0].kind == VALUE_INT)
		return tape_const(call->nest->tape, d->values[at][0].i);
	for (int j = 0; j < i; j++)
		slot += arg_nslots(call->step, j);
	return tape_slot(call->nest->tape, slot);
}

/* --- arguments -------------------------------------------------------------- */

int call_optional(const Call *call, int i, const char *key)
{
	const Step *step = call->step;

	for (int j = 0; j < step->nargs; j++)
		if (step->args[j].key ? !strcmp(step->args[j].key, key) : j == i)
			return j;
	return -1;
}

static Refusal taken(const Call *call, int i)
{
	if (i < 0 || i >= call->step->nargs)
		return "an argument is missing";
	if (call->step->args[i].open)
		return "a decision is open";
	return NULL;
}

Refusal call_word(const Call *call, int i, const char **word)
{
	Refusal why = taken(call, i);

	if (why)
		return why;
	if (call->step->args[i].value.kind != VALUE_WORD)
		return "a name or word is expected";
	*word = call->step->args[i].value.word;
	return NULL;
}

Refusal call_stage(const Call *call, int i, int *stage)
{
	const char *word;
	Refusal why = call_word(call, i, &word);

	if (why)
		return why;
	*stage = nest_find_stage(call->nest, word);
	if (*stage < 0)
		return arena_printf(
		    call->nest->arena, "there is no block '%s'", word);
	if (call->nest->stages.at[*stage].carries >= 0 &&
	    call->step->primitive != PRIMITIVE_tail &&
	    call->step->primitive != PRIMITIVE_transform_layout)
		return "the block carries from element to element";
	return NULL;
}

Refusal call_loop(const Call *call, int i, int *var)
{
	const char *word;
	Refusal why = call_word(call, i, &word);

	if (why)
		return why;
	*var = nest_find_loop(call->nest, word);
	if (*var < 0 || nest_loop_position(call->nest, *var) < 0)
		return arena_printf(
		    call->nest->arena, "there is no loop '%s'", word);
	return NULL;
}

Refusal call_buffer(const Call *call, int i, int *buffer)
{
	const char *word;
	Refusal why = call_word(call, i, &word);

	if (why)
		return why;
	*buffer = nest_find_buffer(call->nest, word);
	if (*buffer < 0)
		return arena_printf(
		    call->nest->arena, "there is no buffer '%s'", word);
	return NULL;
}

/* "lanes" or "lanes*2" on this machine. */
static bool lanes_value(const Machine *machine, const char *word, int64_t *value)
{
	int64_t lanes = machine->vector_bytes / 4;
	int64_t times = 1;

	if (strncmp(word, "lanes", 5) != 0 || (word[5] && word[5] != '*'))
		return false;
	if (word[5])
		times = strtoll(word + 6, NULL, 10);
	*value = (lanes ? lanes : 1) * times;
	return times >= 1 && times <= MAX_TIMES;
}

static bool value_number(const Call *call, const TraceValue *value, int64_t *number)
{
	*number = value->i;
	return value->kind == VALUE_INT ||
	    (value->kind == VALUE_WORD && call->machine &&
		lanes_value(call->machine, value->word, number));
}

Refusal call_int(const Call *call, int i, int64_t *number)
{
	Refusal why = taken(call, i);

	if (why)
		return why;
	if (!value_number(call, &call->step->args[i].value, number))
		return "a number is expected";
	return NULL;
}

Refusal call_handle(const Call *call, int i, int64_t least, Handle *handle)
{
	int64_t number;
	Refusal why;

	if (i >= 0 && i < call->step->nargs && call->use_slots &&
	    apply_is_slot(call->step, i)) {
		*handle = slot_handle(call, i, 0);
		return NULL;
	}
	why = call_int(call, i, &number);
	if (why)
		return why;
	if (number < least || number > INT32_MAX)
		return "a number is out of its range";
	*handle = tape_const(call->nest->tape, number);
	return NULL;
}

static Refusal open_factors(const Call *call, int i, int *n, Handle **handles)
{
	*n = call->step->args[i].domain.parts;
	assert(*n >= 2);
	*handles = NEW_N(call->nest->arena, Handle, *n);
	(*handles)[0] = HANDLE_NONE;
	for (int part = 1; part < *n; part++)
		(*handles)[part] = slot_handle(call, i, part - 1);
	return NULL;
}

/* A factor: a number, or a loop, for the number that a split gave it. */
static Refusal factor(
    const Call *call, const TraceValue *value, Handle *handle)
{
	int64_t number;

	if (!value_number(call, value, &number)) {
		int var = value->kind == VALUE_WORD
		    ? nest_find_var(call->nest, value->word) : -1;
		*handle = var < 0 ? HANDLE_NONE
				  : edit_split_extent(call->nest, var);
		return *handle != HANDLE_NONE ? NULL
		    : "a factor is a number or a loop with a fixed extent";
	}
	if (number < 1 || number > INT32_MAX)
		return "a factor is at least 1";
	*handle = tape_const(call->nest->tape, number);
	return NULL;
}

Refusal call_factors(const Call *call, int i, int *n, Handle **handles)
{
	const TraceValue *list;
	Refusal why;

	if (i < call->step->nargs && call->use_slots &&
	    apply_is_slot(call->step, i))
		return open_factors(call, i, n, handles);
	why = taken(call, i);
	if (why)
		return why;
	list = &call->step->args[i].value;
	if (list->kind != VALUE_LIST || list->n < 2)
		return "a list of at least two factors is expected";
	*n = list->n;
	*handles = NEW_N(call->nest->arena, Handle, *n);
	for (int j = 0; j < *n; j++) {
		if (list->list[j].kind == VALUE_HOLE) {
			if (j > 0)
				return "only the first factor may be _";
			(*handles)[j] = HANDLE_NONE;
			continue;
		}
		why = factor(call, &list->list[j], &(*handles)[j]);
		if (why)
			return why;
	}
	return NULL;
}

static bool is_reserved(const char *name)
{
	return !strcmp(name, "root") || !strcmp(name, "inline") ||
	    !strcmp(name, "lanes") || !strcmp(name, "_");
}

Refusal call_outs(const Call *call, int n)
{
	const Step *step = call->step;

	assert(n > 0);
	if (step->nouts != n)
		return "the step does not give as many names as it makes";
	for (int i = 0; i < n; i++) {
		if (is_reserved(step->outs[i]))
			return arena_printf(call->nest->arena,
			    "'%s' is no name to give", step->outs[i]);
		if (nest_has_name(call->nest, step->outs[i]))
			return arena_printf(call->nest->arena,
			    "the name '%s' is taken", step->outs[i]);
		for (int j = 0; j < i; j++)
			if (!strcmp(step->outs[i], step->outs[j]))
				return "a step gives one name twice";
	}
	return NULL;
}

/* --- lanes in a whole trace -------------------------------------------------- */

static TraceValue resolve_value(Arena *arena, TraceValue v, const Machine *machine)
{
	int64_t number;
	TraceValue *list;

	if (v.kind == VALUE_WORD && lanes_value(machine, v.word, &number))
		return value_int(number);
	if (v.kind != VALUE_LIST)
		return v;
	list = NEW_N(arena, TraceValue, v.n);
	for (int i = 0; i < v.n; i++)
		list[i] = resolve_value(arena, v.list[i], machine);
	v.list = list;
	return v;
}

static Domain resolve_domain(Arena *arena, Domain d, const Machine *machine)
{
	TraceValue **values = NEW_N(arena, TraceValue *, d.parts);

	for (int i = 0; i < d.parts; i++) {
		values[i] = NEW_N(arena, TraceValue, d.nvalues[i]);
		for (int j = 0; j < d.nvalues[i]; j++)
			values[i][j] = resolve_value(
			    arena, d.values[i][j], machine);
	}
	d.values = values;
	return d;
}

Trace *trace_resolve_lanes(
    Arena *arena, const Trace *trace, const Machine *machine)
{
	Trace *out = NEW(arena, Trace);

	for (int i = 0; i < trace->steps.n; i++) {
		Step s = trace->steps.at[i];
		s.args = arena_memdup(
		    arena, s.args, sizeof *s.args * (size_t)s.nargs);
		for (int j = 0; j < s.nargs; j++) {
			Arg *arg = &s.args[j];
			if (!arg->open)
				arg->value = resolve_value(
				    arena, arg->value, machine);
			if (arg->domain.values)
				arg->domain = resolve_domain(
				    arena, arg->domain, machine);
		}
		vec_push(arena, &out->steps, s);
	}
	return out;
}
