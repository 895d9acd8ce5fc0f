/* The nest: the plain one, lookups, and the value of an axis over loops. */
#include "ir/nest/nest.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- the plain nest ------------------------------------------------------ */

static NestBuffer plain_buffer(Nest *nest, int number)
{
	const Buffer *from = &nest->program->buffers[number];
	Handle one = tape_const(nest->tape, 1);
	NestBuffer b = {
	    .name = from->name,
	    .type = from->type,
	    .program_buffer = number,
	    .scope = SCOPE_GLOBAL,
	    .ndim = from->ndim,
	    .shape = from->shape,
	    .writer = -1,
	    .nparts = from->ndim,
	    .parts = NEW_N(nest->arena, LayoutPart, from->ndim),
	    .align_part = -1,
	    .align_factor = HANDLE_NONE,
	    .align_offset = HANDLE_NONE,
	    .slots = HANDLE_NONE,
	    .start = NEW_N(nest->arena, Expr *, from->ndim),
	    .extent = NEW_N(nest->arena, Handle, from->ndim),
	    .elements = HANDLE_NONE,
	    .alloc = -1,
	};
	for (int d = 0; d < b.ndim; d++) {
		b.parts[d] =
		    (LayoutPart){d, one, HANDLE_NONE, HANDLE_NONE, HANDLE_NONE};
		b.extent[d] = HANDLE_NONE;
	}
	return b;
}

int nest_add_var(Nest *nest, Var var)
{
	Stage *s = &nest->stages.at[var.stage];
	var.next = s->vars;
	s->vars = nest->vars.n;
	vec_push(nest->arena, &nest->vars, var);
	return s->vars;
}

static int plain_var(Nest *nest, int stage, int axis, const Axis *from)
{
	return nest_add_var(nest,
	    (Var){
		.name = arena_printf(nest->arena, "%s.%s",
		    nest->stages.at[stage].name, from->name),
		.stage = stage,
		.axis = axis,
		.reduce = from->reduce,
		.how = VAR_LOOP,
		.extent = HANDLE_NONE,
		.parent = -1,
		.fused = -1,
		.div = HANDLE_NONE,
		.unroll_limit = HANDLE_NONE,
	    });
}

static void plain_stage(Nest *nest, int number)
{
	const Block *block = &nest->program->blocks[number];
	Stage s = {
	    .name = block->name,
	    .block = number,
	    .live = true,
	    .naxes = block->naxes,
	    .nspatial = block->nspatial,
	    .axes = NEW_N(nest->arena, StageAxis, block->naxes),
	    .reduce = block->reduce,
	    .body = block->body,
	    .buffer = block->buffer,
	    .nwrite = block->nspatial,
	    .write = NEW_N(nest->arena, Expr *, block->nspatial),
	    .nloops = block->naxes,
	    .loops = NEW_N(nest->arena, int, block->naxes),
	    .vars = -1,
	    .place = -1,
	    .with = -1,
	    .last = -1,
	    .carries = -1,
	    .init_at = -1,
	    .tail = TAIL_GUARD,
	    .intrinsic = -1,
	    .tensor_loop = -1,
	};
	vec_push(nest->arena, &nest->stages, s);
	for (int i = 0; i < block->naxes; i++) {
		const Axis *axis = &block->axes[i];
		int var = plain_var(nest, number, i, axis);
		s.loops[i] = var;
		s.axes[i] = (StageAxis){
		    .name = axis->name,
		    .extent = axis->extent,
		    .reduce = axis->reduce,
		    .var = var,
		    .region = HANDLE_NONE,
		};
		if (i < block->nspatial)
			s.write[i] = expr_axis(nest->arena, i);
	}
	nest->buffers.at[block->buffer].writer = number;
}

/* --- bodies -------------------------------------------------------------- */

static int by_buffer(const void *a, const void *b)
{
	const StageRead *x = a, *y = b;
	return x->read->id != y->read->id ? x->read->id - y->read->id
					  : x->number - y->number;
}

static void note_reader(Nest *nest, int stage, int buffer)
{
	while (nest->readers.n <= buffer)
		vec_push(nest->arena, &nest->readers, (IntVec){0});
	IntVec *readers = &nest->readers.at[buffer];
	if (!readers->n || readers->at[readers->n - 1] != stage)
		vec_push(nest->arena, readers, stage);
}

static void note_reads(Nest *nest, int stage, Expr *e, int arm, bool indexes)
{
	Stage *s = &nest->stages.at[stage];
	if (e->op == OP_READ) {
		note_reader(nest, stage, e->id);
		vec_push(nest->arena, &s->reads,
		    (StageRead){e, s->reads.n, arm, indexes});
	}
	for (int i = 0; i < e->narg; i++) {
		int inside = arm;
		if (e->op == OP_IF && i && !indexes) {
			inside = s->arms.n;
			vec_push(nest->arena, &s->arms, (StageArm){e, i, arm});
		}
		note_reads(nest, stage, e->arg[i], inside,
		    indexes || e->op == OP_READ);
	}
}

void nest_set_body(Nest *nest, int stage, Expr *body)
{
	Stage *s = &nest->stages.at[stage];
	s->body = body;
	memset(&s->reads, 0, sizeof s->reads);
	memset(&s->arms, 0, sizeof s->arms);
	note_reads(nest, stage, body, -1, false);
	if (s->reads.n)
		qsort(s->reads.at, (size_t)s->reads.n, sizeof *s->reads.at,
		    by_buffer);
}

const StageRead *nest_first_read(const Nest *nest, int stage, int buffer)
{
	const Stage *s = &nest->stages.at[stage];
	int low = 0, high = s->reads.n;
	while (low < high) {
		int middle = (low + high) / 2;
		if (s->reads.at[middle].read->id < buffer)
			low = middle + 1;
		else
			high = middle;
	}
	return low < s->reads.n && s->reads.at[low].read->id == buffer
	    ? &s->reads.at[low]
	    : NULL;
}

bool nest_reads(const Nest *nest, int stage, int buffer)
{
	return nest_first_read(nest, stage, buffer);
}

bool stage_prefetches(const Stage *s, int buffer)
{
	for (int i = 0; i < s->prefetches.n; i++)
		if (s->prefetches.at[i].access == buffer)
			return true;
	return false;
}

static bool mark_read(Expr *e, void *context)
{
	if (e->op == OP_READ)
		((bool *)context)[e->id] = true;
	return true;
}

/* Blocks that no output needs are not run. */
static void drop_unused(Nest *nest)
{
	const Program *p = nest->program;
	bool *used = NEW_N(nest->arena, bool, p->nbuffers);
	for (int i = 0; i < p->noutputs; i++)
		used[p->outputs[i]] = true;
	for (int i = p->nblocks - 1; i >= 0; i--) {
		Stage *s = &nest->stages.at[i];
		s->live = used[s->buffer];
		if (s->live)
			expr_walk(s->body, mark_read, used);
	}
	for (int i = 0; i < p->nblocks; i++)
		if (nest->stages.at[i].live) {
			vec_push(nest->arena, &nest->order, i);
			nest_set_body(nest, i, nest->stages.at[i].body);
		}
}

Nest *nest_new(Arena *arena, const Program *program, Tape *tape)
{
	Nest *nest = NEW(arena, Nest);
	nest->arena = arena;
	nest->program = program;
	nest->tape = tape;
	nest->names = NEW(arena, NestNames);
	nest->names->all.arena = arena;
	for (int i = 0; i < program->nbuffers; i++) {
		NestBuffer b = plain_buffer(nest, i);
		vec_push(arena, &nest->buffers, b);
	}
	for (int i = 0; i < program->nblocks; i++)
		plain_stage(nest, i);
	drop_unused(nest);
	return nest;
}

/* --- lookups ------------------------------------------------------------- */

enum { OF_STAGE, OF_BUFFER, OF_VAR, NAMED };

static void take_in_names(const Nest *nest)
{
	NestNames *names = nest->names;
	for (int *i = &names->nstages; *i < nest->stages.n; ++*i)
		lookup_add(&names->all, nest->stages.at[*i].name,
		    *i * NAMED + OF_STAGE);
	for (int *i = &names->nbuffers; *i < nest->buffers.n; ++*i)
		lookup_add(&names->all, nest->buffers.at[*i].name,
		    *i * NAMED + OF_BUFFER);
	for (int *i = &names->nvars; *i < nest->vars.n; ++*i)
		lookup_add(
		    &names->all, nest->vars.at[*i].name, *i * NAMED + OF_VAR);
}

static bool is_stage(const Nest *nest, int stage, const char *name)
{
	return !strcmp(nest->stages.at[stage].name, name);
}

static bool is_live_stage(const Nest *nest, int stage, const char *name)
{
	return nest->stages.at[stage].live && is_stage(nest, stage, name);
}

static bool is_buffer(const Nest *nest, int buffer, const char *name)
{
	return !strcmp(nest->buffers.at[buffer].name, name);
}

static bool is_var(const Nest *nest, int var, const char *name)
{
	return !strcmp(nest->vars.at[var].name, name);
}

static bool is_loop(const Nest *nest, int var, const char *name)
{
	const Var *v = &nest->vars.at[var];
	return v->how == VAR_LOOP && nest->stages.at[v->stage].live &&
	       is_var(nest, var, name);
}

/* The first one of a kind that is what is looked for; -1. */
static int find_name(const Nest *nest, int kind, const char *name,
    bool (*wanted)(const Nest *nest, int number, const char *name))
{
	const Lookup *all = &nest->names->all;
	int found = -1;
	take_in_names(nest);
	for (int e = lookup_first(all, name, strlen(name)); e >= 0;
	     e = lookup_next(all, e)) {
		int number = all->entries.at[e].number / NAMED;
		if (all->entries.at[e].number % NAMED == kind &&
		    (found < 0 || number < found) && wanted(nest, number, name))
			found = number;
	}
	return found;
}

int nest_find_stage(const Nest *nest, const char *name)
{
	return find_name(nest, OF_STAGE, name, is_live_stage);
}

int nest_find_loop(const Nest *nest, const char *name)
{
	return find_name(nest, OF_VAR, name, is_loop);
}

int nest_find_var(const Nest *nest, const char *name)
{
	return find_name(nest, OF_VAR, name, is_var);
}

int nest_find_buffer(const Nest *nest, const char *name)
{
	return find_name(nest, OF_BUFFER, name, is_buffer);
}

bool nest_has_name(const Nest *nest, const char *name)
{
	static bool (*const is[])(const Nest *, int, const char *) = {
	    [OF_STAGE] = is_stage, [OF_BUFFER] = is_buffer, [OF_VAR] = is_var};
	const Lookup *all = &nest->names->all;
	take_in_names(nest);
	for (int e = lookup_first(all, name, strlen(name)); e >= 0;
	     e = lookup_next(all, e)) {
		int number = all->entries.at[e].number;
		if (is[number % NAMED](nest, number / NAMED, name))
			return true;
	}
	return false;
}

void nest_rename_var(Nest *nest, int var, const char *name)
{
	take_in_names(nest);
	nest->vars.at[var].name = name;
	lookup_add(&nest->names->all, name, var * NAMED + OF_VAR);
}

int nest_loop_position(const Nest *nest, int var)
{
	const Stage *s = &nest->stages.at[nest->vars.at[var].stage];
	for (int i = 0; i < s->nloops; i++)
		if (s->loops[i] == var)
			return i;
	return -1;
}

int nest_leader(const Nest *nest, int stage)
{
	int with = nest->stages.at[stage].with;
	assert(with < 0 || nest->stages.at[with].with < 0);
	return with < 0 ? stage : with;
}

bool nest_is_sharing(const Nest *nest, int stage)
{
	return nest->stages.at[stage].with >= 0 ||
	    nest->stages.at[stage].last >= 0;
}

IntVec nest_sharing(const Nest *nest, Arena *arena, int stage)
{
	IntVec all = {0};
	vec_push(arena, &all, stage);
	bool leads = nest->stages.at[stage].last >= 0;
	for (int i = 0; leads && i < nest->order.n; i++)
		if (nest->stages.at[nest->order.at[i]].with == stage)
			vec_push(arena, &all, nest->order.at[i]);
	return all;
}

bool nest_is_argument(const Nest *nest, int buffer)
{
	int number = nest->buffers.at[buffer].program_buffer;
	return number >= 0 &&
	       nest->program->buffers[number].role != BUFFER_TEMP;
}

int nest_loops_above(const Nest *nest, int stage, int at, int *vars, int max)
{
	const Stage *s = &nest->stages.at[stage];
	int n = 0;
	if (s->place >= 0)
		n = nest_loops_above(nest, nest->vars.at[s->place].stage,
		    nest_loop_position(nest, s->place) + 1, vars, max);
	for (int i = 0; i < at; i++) {
		assert(n < max);
		vars[n++] = s->loops[i];
	}
	return n;
}

/* --- values -------------------------------------------------------------- */

static Expr *var_form(const Nest *nest, int var, bool over_loops);

static Expr *split_form(const Nest *nest, const Var *v, bool over_loops)
{
	Arena *arena = nest->arena;
	Expr *value = var_form(nest, v->child[0], over_loops);
	for (int i = 1; i < v->nchild; i++) {
		Handle extent = nest->vars.at[v->child[i]].extent;
		value = expr_binary(arena, OP_MUL, value,
		    handle_expr(arena, nest->tape, extent));
		value = expr_binary(arena, OP_ADD, value,
		    var_form(nest, v->child[i], over_loops));
	}
	return value;
}

/* The outermost part needs no % extent, the innermost no // 1. */
static Expr *part_value(const Nest *nest, const Var *v, int var)
{
	Arena *arena = nest->arena;
	const Var *loop = &nest->vars.at[v->fused];
	Expr *value = var_form(nest, v->fused, true);
	if (loop->parts[loop->nparts - 1] != var)
		value = expr_binary(arena, OP_FLOORDIV, value,
		    handle_expr(arena, nest->tape, v->div));
	if (loop->parts[0] != var)
		value = expr_binary(arena, OP_MOD, value,
		    handle_expr(arena, nest->tape, v->extent));
	return value;
}

static Expr *var_form(const Nest *nest, int var, bool over_loops)
{
	const Var *v = &nest->vars.at[var];
	if (v->how == VAR_SPLIT)
		return split_form(nest, v, over_loops);
	if (v->how == VAR_FUSED && over_loops)
		return part_value(nest, v, var);
	return expr_var(nest->arena, var);
}

Expr *nest_var_value(const Nest *nest, int var)
{
	return var_form(nest, var, true);
}

static Expr *expand_part(Arena *arena, Expr *e, void *context)
{
	(void)arena;
	return e->op == OP_VAR ? nest_var_value(context, e->id) : e;
}

static Expr *add_start(const Nest *nest, Expr *start, Expr *value)
{
	return start ? expr_binary(nest->arena, OP_ADD, start, value) : value;
}

Expr *nest_axis_value(const Nest *nest, int stage, int axis)
{
	const StageAxis *a = &nest->stages.at[stage].axes[axis];
	Expr *start = a->start ? expr_rewrite(nest->arena, a->start,
				     expand_part, (void *)nest)
			       : NULL;
	return add_start(nest, start, nest_var_value(nest, a->var));
}

Expr *nest_axis_form(const Nest *nest, int stage, int axis)
{
	const StageAxis *a = &nest->stages.at[stage].axes[axis];
	return add_start(nest, a->start, var_form(nest, a->var, false));
}

bool nest_is_launched(const Nest *nest)
{
	for (int i = 0; i < nest->vars.n; i++)
		if (loop_is_bound(nest->vars.at[i].kind))
			return true;
	return false;
}

bool nest_is_root(const Nest *nest, int var)
{
	const Var *v = &nest->vars.at[var];
	return v->axis >= 0 &&
	       nest->stages.at[v->stage].axes[v->axis].var == var;
}

/* Of an axis what counts its tiles: behind its end is behind the axis's. */
static bool is_outermost(const Nest *nest, int var)
{
	const Var *v = &nest->vars.at[var];
	if (v->axis < 0 || nest_is_root(nest, var))
		return v->axis >= 0;
	return v->parent >= 0 && nest->vars.at[v->parent].child[0] == var &&
	       is_outermost(nest, v->parent);
}

bool nest_may_run_past(const Nest *nest, int loop)
{
	const Var *v = &nest->vars.at[loop];
	bool bound = false;
	for (int i = 0; i < v->nchild; i++)
		bound |= loop_is_bound(nest->vars.at[v->child[i]].kind);
	return v->how == VAR_SPLIT && !v->reduce && bound &&
	       is_outermost(nest, v->nparts ? v->parts[0] : loop);
}

/* The parts of an exact split give the extent; a root is rounded up. */
Handle nest_covered(const Nest *nest, int var)
{
	const Var *v = &nest->vars.at[var];
	if (v->how == VAR_FUSED && nest_may_run_past(nest, v->fused) &&
	    nest->vars.at[v->fused].parts[0] == var)
		return tape_ceildiv(
		    nest->tape, nest_covered(nest, v->fused), v->div);
	if (v->how != VAR_SPLIT ||
	    (!nest_is_root(nest, var) && !nest_may_run_past(nest, var)))
		return v->extent;
	Handle covered = nest_covered(nest, v->child[0]);
	for (int i = 1; i < v->nchild; i++)
		covered = tape_mul(
		    nest->tape, covered, nest->vars.at[v->child[i]].extent);
	return covered;
}

/* --- guards -------------------------------------------------------------- */

bool nest_require(
    Nest *nest, Handle value, const char *why, const char **refusal)
{
	int64_t known;
	if (tape_is_const(nest->tape, value, &known)) {
		if (known != 1)
			*refusal = why;
		return known == 1;
	}
	for (int i = 0; i < nest->guards.n; i++)
		if (nest->guards.at[i].value == value)
			return true;
	vec_push(nest->arena, &nest->guards, (Guard){value, why});
	return true;
}
