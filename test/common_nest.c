#include "test/common_nest.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "lib/rng.h"

/* --- edits --------------------------------------------------------------- */

static int loop_named(const Nest *nest, const char *name)
{
	int var = nest_find_loop(nest, name);
	assert(var >= 0);
	return var;
}

static int new_var(Nest *nest, const char *name, int stage, int axis)
{
	bool reduce = axis >= 0 && nest->stages.at[stage].axes[axis].reduce;
	return nest_add_var(nest,
	    (Var){.name = name,
		.stage = stage,
		.axis = axis,
		.reduce = reduce,
		.extent = HANDLE_NONE,
		.parent = -1,
		.fused = -1,
		.div = HANDLE_NONE,
		.unroll_limit = HANDLE_NONE});
}

static void replace_loop(Nest *nest, int at, int remove, int n, const int *by)
{
	Stage *s = &nest->stages.at[nest->vars.at[at].stage];
	int *loops = NEW_N(nest->arena, int, s->nloops + n), k = 0;
	for (int i = 0; i < s->nloops; i++)
		if (s->loops[i] == at) {
			for (int j = 0; j < n; j++)
				loops[k++] = by[j];
			i += remove - 1;
		} else
			loops[k++] = s->loops[i];
	s->loops = loops;
	s->nloops = k;
}

void edit_split(Nest *nest, const char *loop, int n, const Handle *factors,
    const char *const *names)
{
	int var = loop_named(nest, loop);
	int stage = nest->vars.at[var].stage, axis = nest->vars.at[var].axis;
	int *child = NEW_N(nest->arena, int, n + 1);
	for (int i = 0; i <= n; i++) {
		child[i] = new_var(nest, names[i], stage, axis);
		nest->vars.at[child[i]].reduce = nest->vars.at[var].reduce;
		nest->vars.at[child[i]].parent = var;
		if (i)
			nest->vars.at[child[i]].extent = factors[i - 1];
	}
	nest->vars.at[var].how = VAR_SPLIT;
	nest->vars.at[var].nchild = n + 1;
	nest->vars.at[var].child = child;
	replace_loop(nest, var, 1, n + 1, child);
}

void edit_fuse(
    Nest *nest, const char *outer, const char *inner, const char *name)
{
	int a = loop_named(nest, outer), b = loop_named(nest, inner);
	int f = new_var(nest, name, nest->vars.at[a].stage, -1);
	int *parts = NEW_N(nest->arena, int, 2);
	parts[0] = a;
	parts[1] = b;
	nest->vars.at[f].nparts = 2;
	nest->vars.at[f].parts = parts;
	nest->vars.at[f].reduce =
	    nest->vars.at[a].reduce || nest->vars.at[b].reduce;
	replace_loop(nest, a, 2, 1, &f);
	nest->vars.at[a].how = nest->vars.at[b].how = VAR_FUSED;
	nest->vars.at[a].fused = nest->vars.at[b].fused = f;
}

void edit_order(Nest *nest, const char *stage, const char *const *loops)
{
	Stage *s = &nest->stages.at[nest_find_stage(nest, stage)];
	int *order = NEW_N(nest->arena, int, s->nloops);
	for (int i = 0; i < s->nloops; i++)
		order[i] = loop_named(nest, loops[i]);
	s->loops = order;
}

static int new_buffer(Nest *nest, int like, const char *name, Scope scope)
{
	const NestBuffer *from = &nest->buffers.at[like];
	NestBuffer b = *from;
	b.name = name;
	b.program_buffer = -1;
	b.scope = scope;
	b.parts = arena_memdup(
	    nest->arena, from->parts, sizeof *b.parts * (size_t)b.nparts);
	b.start = NEW_N(nest->arena, Expr *, b.ndim);
	b.extent = NEW_N(nest->arena, Handle, b.ndim);
	vec_push(nest->arena, &nest->buffers, b);
	return nest->buffers.n - 1;
}

/* A stage that copies `from` to `to`, last in the order. */
static int copy_stage(Nest *nest, const char *name, int from, int to)
{
	const NestBuffer *b = &nest->buffers.at[from];
	int number = nest->stages.n;
	Stage s = {.name = name,
	    .block = -1,
	    .live = true,
	    .naxes = b->ndim,
	    .nspatial = b->ndim,
	    .buffer = to,
	    .nwrite = b->ndim,
	    .vars = -1,
	    .place = -1,
	    .with = -1,
	    .last = -1,
	    .carries = -1,
	    .init_at = -1,
	    .is_copy = true,
	    .tail = TAIL_GUARD,
	    .intrinsic = -1,
	    .tensor_loop = -1};
	s.axes = NEW_N(nest->arena, StageAxis, b->ndim);
	s.write = NEW_N(nest->arena, Expr *, b->ndim);
	s.loops = NEW_N(nest->arena, int, b->ndim);
	s.nloops = b->ndim;
	vec_push(nest->arena, &nest->stages, s);
	for (int d = 0; d < b->ndim; d++) {
		const char *axis = arena_printf(nest->arena, "x%d", d);
		s.axes[d] = (StageAxis){
		    .name = axis, .extent = b->shape[d], .region = HANDLE_NONE};
		s.loops[d] = s.axes[d].var = new_var(nest,
		    arena_printf(nest->arena, "%s.x%d", name, d), number, d);
		s.write[d] = expr_axis(nest->arena, d);
	}
	nest->stages.at[number].body =
	    expr_read(nest->arena, b->type, from, s.write, b->ndim);
	nest->buffers.at[to].writer = number;
	vec_push(nest->arena, &nest->order, number);
	return number;
}

typedef struct {
	int from, to;
} Redirect;

static Expr *redirect(Arena *arena, Expr *e, void *context)
{
	Redirect *r = context;
	if (e->op != OP_READ || e->id != r->from)
		return e;
	return expr_read(arena, e->type, r->to, e->arg, e->narg);
}

static void put_before(Nest *nest, int stage, int before)
{
	int n = 0, *order = NEW_N(nest->arena, int, nest->order.n);
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i];
		if (s == before)
			order[n++] = stage;
		if (s != stage)
			order[n++] = s;
	}
	memcpy(nest->order.at, order, sizeof *order * (size_t)n);
}

static int buffer_named(const Nest *nest, const char *name)
{
	for (int i = 0; i < nest->buffers.n; i++)
		if (!strcmp(nest->buffers.at[i].name, name))
			return i;
	assert(!"no such buffer");
	return -1;
}

int edit_copy(Nest *nest, const char *reader, const char *buffer,
    const char *name, Scope scope)
{
	int r = nest_find_stage(nest, reader),
	    from = buffer_named(nest, buffer);
	Redirect change = {from, new_buffer(nest, from, name, scope)};
	int copy = copy_stage(nest, name, from, change.to);
	put_before(nest, copy, r);
	nest->stages.at[r].body = expr_rewrite(
	    nest->arena, nest->stages.at[r].body, redirect, &change);
	return copy;
}

int edit_cache(Nest *nest, const char *stage, const char *name, Scope scope)
{
	int s = nest_find_stage(nest, stage);
	int out = nest->stages.at[s].buffer;
	int cache = new_buffer(nest, out, name, scope);
	int copy = copy_stage(nest, stage, cache, out);
	put_before(nest, copy, s);
	put_before(nest, s, copy);
	nest->stages.at[s].name = name;
	nest->names->nstages = 0; /* all are taken in again */
	nest->stages.at[s].buffer = cache;
	nest->buffers.at[cache].writer = s;
	return copy;
}

void edit_place(Nest *nest, const char *stage, const char *loop, bool after)
{
	Stage *s = &nest->stages.at[nest_find_stage(nest, stage)];
	s->place = loop_named(nest, loop);
	s->after = after;
}

void edit_kind(Nest *nest, const char *loop, LoopKind kind)
{
	nest->vars.at[loop_named(nest, loop)].kind = kind;
}

/* --- running ------------------------------------------------------------- */

enum { CONCURRENT = 4 };

/* Which iteration of which run of the concurrent loops; runs are numbered. */
typedef struct {
	int n;
	int64_t run[CONCURRENT], iteration[CONCURRENT];
} Stamp;

typedef struct {
	const Nest *nest;
	Stamp now;
	int64_t runs;
	Stamp **wrote, **read; /* by buffer and element: the last time */
	int64_t *var;	       /* values of loops */
	int64_t **axis;	       /* by stage: values of axes */
	double **data;	       /* by buffer: elements */
	bool **written;
	char *why;
	size_t size;
	bool failed;
} Run;

static void fail_run(Run *run, const char *what, const char *name)
{
	if (!run->failed)
		snprintf(run->why, run->size, "%s: %s", name, what);
	run->failed = true;
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static int64_t extent_of(const Run *run, Handle h)
{
	return tape_value(run->nest->tape, h);
}

/* i16 wraps around; bytes do not: inputs have both signs, whatever their type. */
static double converted(DType type, double value)
{
	return type == DT_I16 ? (double)(int16_t)(int64_t)value : value;
}

static double value_of(Run *run, int stage, const Expr *e);

static int64_t index_of(Run *run, int stage, const Expr *e)
{
	return (int64_t)value_of(run, stage, e);
}

/* The address of an element, checked. */
static int64_t address(
    Run *run, int stage, int buffer, Expr *const *index, int n)
{
	const NestBuffer *b = &run->nest->buffers.at[buffer];
	int64_t at = 0, local[16];
	for (int d = 0; d < n; d++) {
		local[d] = index_of(run, stage, index[d]);
		if (b->start[d])
			local[d] -= index_of(run, stage, b->start[d]);
		if (local[d] < 0 || local[d] >= extent_of(run, b->extent[d])) {
			fail_run(run, "outside of what is held", b->name);
			return 0;
		}
	}
	for (int i = 0; i < b->nparts; i++) {
		const LayoutPart *p = &b->parts[i];
		int64_t digit = local[p->dim] / extent_of(run, p->div);
		if (p->mod != HANDLE_NONE)
			digit %= extent_of(run, p->mod);
		if (digit >= extent_of(run, p->extent))
			fail_run(run, "a digit is too large", b->name);
		at += digit * extent_of(run, p->stride);
	}
	if (at >= extent_of(run, b->elements)) {
		fail_run(run, "outside of the buffer", b->name);
		return 0;
	}
	return at;
}

/* Two iterations that may run at once touched one element. */
static void check_race(Run *run, const Stamp *then, int buffer)
{
	for (int i = 0; i < then->n && i < run->now.n; i++)
		if (then->run[i] == run->now.run[i] &&
		    then->iteration[i] != run->now.iteration[i])
			fail_run(
			    run, "a race", run->nest->buffers.at[buffer].name);
}

static double read_element(Run *run, int stage, const Expr *e)
{
	int64_t at = address(run, stage, e->id, e->arg, e->narg);
	if (run->failed)
		return 0;
	check_race(run, &run->wrote[e->id][at], e->id);
	run->read[e->id][at] = run->now;
	if (!run->written[e->id][at])
		fail_run(run, "read before it is written",
		    run->nest->buffers.at[e->id].name);
	return run->data[e->id][at];
}

static double binary(Op op, double a, double b)
{
	switch (op) {
	case OP_ADD:
		return a + b;
	case OP_SUB:
		return a - b;
	case OP_MUL:
		return a * b;
	case OP_FLOORDIV:
		return (double)floor_quotient((int64_t)a, (int64_t)b);
	case OP_MOD:
		return a - b * (double)floor_quotient((int64_t)a, (int64_t)b);
	case OP_LT:
		return a < b;
	case OP_LE:
		return a <= b;
	case OP_GE:
		return a >= b;
	case OP_GT:
		return a > b;
	case OP_EQ:
		return a == b;
	case OP_AND:
		return a && b;
	case OP_MIN:
		return a < b ? a : b;
	case OP_MAX:
		return a > b ? a : b;
	default:
		assert(!"operation of the test's programs");
		return 0;
	}
}

static double value_of(Run *run, int stage, const Expr *e)
{
	switch (e->op) {
	case OP_INT:
		return (double)e->i;
	case OP_FLOAT:
		return e->f;
	case OP_AXIS:
		return (double)run->axis[stage][e->id];
	case OP_VAR:
		if (run->nest->vars.at[e->id].how != VAR_LOOP)
			return value_of(
			    run, stage, nest_var_value(run->nest, e->id));
		return (double)run->var[e->id];
	case OP_TAPE:
		return (double)extent_of(run, e->id);
	case OP_READ:
		return read_element(run, stage, e);
	case OP_NEG:
		return -value_of(run, stage, e->arg[0]);
	case OP_NOT: return !value_of(run, stage, e->arg[0]);
	case OP_CAST:
		return converted(e->type, value_of(run, stage, e->arg[0]));
	case OP_IF:
		return value_of(run, stage,
		    e->arg[value_of(run, stage, e->arg[0]) ? 1 : 2]);
	default:
		return binary(e->op, value_of(run, stage, e->arg[0]),
		    value_of(run, stage, e->arg[1]));
	}
}

/* Sets the axes; false where the stage's predicate does not hold. */
static bool set_axes(Run *run, int stage)
{
	const Stage *s = &run->nest->stages.at[stage];
	bool inside = true;
	for (int a = 0; a < s->naxes; a++) {
		const StageAxis *axis = &s->axes[a];
		int64_t v =
		    index_of(run, stage, nest_axis_value(run->nest, stage, a));
		run->axis[stage][a] = v;
		bool in = v >= 0 && v < axis->extent;
		if ((v < 0 && !axis->below) ||
		    (v >= axis->extent && !axis->above))
			fail_run(
			    run, "no predicate where one is needed", s->name);
		inside &= in || s->tail == TAIL_PAD;
	}
	return inside;
}

static void store(Run *run, int stage, double value)
{
	const Stage *s = &run->nest->stages.at[stage];
	int64_t at = address(run, stage, s->buffer, s->write, s->nwrite);
	if (run->failed)
		return;
	check_race(run, &run->wrote[s->buffer][at], s->buffer);
	check_race(run, &run->read[s->buffer][at], s->buffer);
	run->wrote[s->buffer][at] = run->now;
	run->data[s->buffer][at] = value;
	run->written[s->buffer][at] = true;
}

static void run_body(Run *run, int stage, bool init)
{
	const Stage *s = &run->nest->stages.at[stage];
	bool inside = set_axes(run, stage);
	if (!inside && s->fill)
		store(run, stage, value_of(run, stage, s->fill));
	if (!inside || run->failed)
		return;
	if (init) {
		store(run, stage, 0);
		return;
	}
	double value = value_of(run, stage, s->body);
	if (run->failed)
		return;
	if (s->reduce != REDUCE_NONE) {
		int64_t at =
		    address(run, stage, s->buffer, s->write, s->nwrite);
		if (!run->written[s->buffer][at])
			fail_run(run, "not initialized", s->name);
		value += run->data[s->buffer][at];
	}
	store(run, stage, value);
}

static void run_bodies(Run *run, int stage, bool init)
{
	run_body(run, stage, init);
	for (int i = 0; i < run->nest->order.n; i++)
		if (run->nest->stages.at[run->nest->order.at[i]].with == stage)
			run_body(run, run->nest->order.at[i], init);
}

static void run_init(Run *run, int stage, int at)
{
	const Stage *s = &run->nest->stages.at[stage];
	if (at == s->nloops) {
		run_bodies(run, stage, true);
		return;
	}
	int loop = s->loops[at];
	int64_t n = run->nest->vars.at[loop].reduce
			? 1
			: extent_of(run, run->nest->vars.at[loop].extent);
	for (int64_t i = 0; i < n && !run->failed; i++) {
		run->var[loop] = i;
		run_init(run, stage, at + 1);
	}
}

static void run_stage(Run *run, int stage, int at);

static void run_hung(Run *run, int loop, bool after)
{
	for (int i = 0; i < run->nest->order.n; i++) {
		int s = run->nest->order.at[i];
		if (run->nest->stages.at[s].place == loop &&
		    run->nest->stages.at[s].after == after &&
		    run->nest->stages.at[s].with < 0)
			run_stage(run, s, 0);
	}
}

static void forget(Run *run, int loop)
{
	for (int i = 0; i < run->nest->buffers.n; i++) {
		const NestBuffer *b = &run->nest->buffers.at[i];
		size_t n = (size_t)extent_of(run, b->elements);
		if (b->alloc != loop)
			continue;
		memset(run->written[i], 0, n);
		memset(run->wrote[i], 0, n * sizeof(Stamp));
		memset(run->read[i], 0, n * sizeof(Stamp));
	}
}

static bool init_comes(const Run *run, const Stage *s, int at)
{
	if (s->reduce == REDUCE_NONE)
		return false;
	if (s->init_at >= 0)
		return s->loops[at] == s->init_at;
	for (int i = 0; i < at; i++)
		if (run->nest->vars.at[s->loops[i]].reduce)
			return false;
	return run->nest->vars.at[s->loops[at]].reduce;
}

static void run_stage(Run *run, int stage, int at)
{
	const Stage *s = &run->nest->stages.at[stage];
	if (run->failed)
		return;
	if (at == s->nloops) {
		run_bodies(run, stage, false);
		return;
	}
	int loop = s->loops[at];
	if (init_comes(run, s, at))
		run_init(run, stage, at);
	int64_t n = extent_of(run, run->nest->vars.at[loop].extent);
	Stamp *now = &run->now;
	int depth = now->n;
	LoopKind kind = run->nest->vars.at[loop].kind;
	/* lanes or threads of a reduction are combined, in any order */
	bool lanes = (kind == LOOP_VECTOR || loop_is_thread(kind)) &&
	    run->nest->vars.at[loop].reduce;
	if (kind != LOOP_SERIAL && kind != LOOP_UNROLL && !lanes &&
	    depth < CONCURRENT)
		now->run[now->n++] = ++run->runs;
	for (int64_t i = 0; i < n && !run->failed; i++) {
		run->var[loop] = i;
		if (now->n > depth)
			now->iteration[depth] = i;
		forget(run, loop);
		run_hung(run, loop, false);
		run_stage(run, stage, at + 1);
		run_hung(run, loop, true);
	}
	now->n = depth;
}

double *nest_simulate(const Nest *nest, uint64_t seed, char *why, size_t size)
{
	Arena *arena = nest->arena;
	Rng rng = rng_stream(seed, 0, 0);
	Run run = {
	    .nest = nest,
	    .wrote = NEW_N(arena, Stamp *, nest->buffers.n),
	    .read = NEW_N(arena, Stamp *, nest->buffers.n),
	    .var = NEW_N(arena, int64_t, nest->vars.n),
	    .axis = NEW_N(arena, int64_t *, nest->stages.n),
	    .data = NEW_N(arena, double *, nest->buffers.n),
	    .written = NEW_N(arena, bool *, nest->buffers.n),
	    .why = why,
	    .size = size,
	};
	for (int i = 0; i < nest->stages.n; i++)
		run.axis[i] = NEW_N(arena, int64_t, nest->stages.at[i].naxes);
	for (int i = 0; i < nest->buffers.n; i++) {
		const NestBuffer *b = &nest->buffers.at[i];
		int64_t n = extent_of(&run, b->elements);
		run.data[i] = NEW_N(arena, double, n);
		run.written[i] = NEW_N(arena, bool, n);
		run.wrote[i] = NEW_N(arena, Stamp, n);
		run.read[i] = NEW_N(arena, Stamp, n);
		for (int64_t k = 0; b->writer < 0 && k < n; k++) {
			run.data[i][k] = (double)rng_below(&rng, 9) - 4;
			run.written[i][k] = true;
		}
	}
	for (int i = 0; i < nest->order.n; i++)
		if (nest->stages.at[nest->order.at[i]].place < 0 &&
		    nest->stages.at[nest->order.at[i]].with < 0)
			run_stage(&run, nest->order.at[i], 0);
	int out = nest->program->outputs[0];
	int64_t n = extent_of(&run, nest->buffers.at[out].elements);
	for (int64_t k = 0; k < n; k++)
		if (!run.written[out][k])
			fail_run(&run, "an element of the output is missing",
			    nest->buffers.at[out].name);
	return run.failed ? NULL : run.data[out];
}
