/* A trace of groups -> a nest with a part for each.
 *
 *     group(c, r)             program {c, r}: its nest, under the steps up to
 *     l0, l1 = split(c.i, …)  the next group
 *     group(p)                program {p}: likewise
 *     parallel(p.i)
 *
 * A part is a program of its own (ir/program_part.c), so that what is legal in a
 * group is legal in the whole.  The trace says which blocks a group has: nothing
 * here asks what would be made groups of today.  Needs: every block in one group,
 * and the groups in an order in which each reads of those before it alone. */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

typedef struct {
	Arena *arena;
	const Program *program;
	const Trace *trace;
	IntVec heads; /* steps that begin groups */
	int *part_of; /* by block; -1: none yet */
} Scopes;

bool trace_has_groups(const Trace *trace)
{
	return trace->steps.n &&
	    trace->steps.at[0].primitive == PRIMITIVE_group;
}

/* --- which blocks ------------------------------------------------------------ */

static Refusal take_block(Scopes *s, const Lookup *blocks, const Arg *arg)
{
	if (arg->open || arg->key || arg->value.kind != VALUE_WORD)
		return "a group has blocks";
	assert(s->heads.n > 0);
	int e = lookup_first(blocks, arg->value.word, strlen(arg->value.word));
	if (e < 0)
		return "there is no block of that name";
	int *part = &s->part_of[blocks->entries.at[e].number];
	if (*part >= 0)
		return "a block is in two groups";
	*part = s->heads.n - 1;
	return NULL;
}

/* Fills heads and part_of; *step is what is refused, or -1. */
static Refusal find_parts(Scopes *s, int *step)
{
	const Program *p = s->program;
	const Trace *t = s->trace;
	Lookup blocks = {.arena = s->arena};
	Refusal why = NULL;
	for (int i = 0; i < p->nblocks; i++) {
		lookup_add(&blocks, p->blocks[i].name, i);
		s->part_of[i] = -1;
	}
	for (*step = 0; *step < t->steps.n && !why; ++*step) {
		const Step *group = &t->steps.at[*step];
		if (group->primitive != PRIMITIVE_group)
			continue;
		why = group->nouts ? "the step gives no names"
				   : primitive_check(group);
		vec_push(s->arena, &s->heads, *step);
		for (int i = 0; i < group->nargs && !why; i++)
			why = take_block(s, &blocks, &group->args[i]);
		if (why)
			return why;
	}
	*step = -1;
	for (int i = 0; i < p->nblocks; i++)
		if (s->part_of[i] < 0)
			return arena_printf(s->arena,
			    "block '%s' is in no group", p->blocks[i].name);
	return NULL;
}

/* --- in which order ---------------------------------------------------------- */

typedef struct {
	const Scopes *scopes;
	int part;
	bool early; /* it reads what a later part writes */
} Order;

static bool look_at_read(Expr *e, void *context)
{
	Order *o = context;
	if (e->op != OP_READ)
		return true;
	int from = o->scopes->program->buffers[e->id].block;
	o->early |= from >= 0 && o->scopes->part_of[from] > o->part;
	return true;
}

static Refusal check_order(const Scopes *s, int *step)
{
	for (int i = 0; i < s->program->nblocks; i++) {
		Order o = {s, s->part_of[i], false};
		assert(o.part >= 0 && o.part < s->heads.n);
		expr_walk(s->program->blocks[i].body, look_at_read, &o);
		*step = s->heads.at[o.part];
		if (o.early)
			return "the group reads what a later one writes";
	}
	*step = -1;
	return NULL;
}

/* --- the parts' nests -------------------------------------------------------- */

/* A group is called by its last block. */
static const char **names_of(const Scopes *s)
{
	const char **names = NEW_N(s->arena, const char *, s->heads.n);
	for (int i = 0; i < s->heads.n; i++) {
		const Step *group = &s->trace->steps.at[s->heads.at[i]];
		assert(group->nargs > 0);
		names[i] = group->args[group->nargs - 1].value.word;
	}
	return names;
}

Nest *nest_of_groups(Arena *arena, const Program *program,
    const Machine *machine, const Trace *trace, Refused *refused)
{
	Scopes s = {.arena = arena,
	    .program = program,
	    .trace = trace,
	    .part_of = NEW_N(arena, int, program->nblocks)};
	int step;
	Refusal why = find_parts(&s, &step);
	if (!why)
		why = check_order(&s, &step);
	if (why) {
		*refused = (Refused){step, why};
		return NULL;
	}
	assert(s.heads.at[0] == 0 && "no step stands before the first group");
	Program **parts = program_parts(
	    arena, program, s.part_of, names_of(&s), s.heads.n);
	Nest *nest = NEW(arena, Nest);
	*nest = (Nest){.arena = arena,
	    .program = program,
	    .inferred = true,
	    .nparts = s.heads.n,
	    .parts = NEW_N(arena, Nest *, s.heads.n)};
	for (int i = 0; i < s.heads.n; i++) {
		int first = s.heads.at[i] + 1;
		int end = i + 1 < s.heads.n ? s.heads.at[i + 1]
					    : trace->steps.n;
		nest->parts[i] = nest_under(
		    arena, parts[i], machine, trace, first, end, refused);
		if (!nest->parts[i])
			return NULL;
	}
	return nest;
}
