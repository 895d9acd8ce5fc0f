/* Small questions about a nest, and small changes of it, that several
 * primitives share. */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

#include "lib/sort.h"

/* --- questions --------------------------------------------------------------- */

typedef struct {
	int buffer;
	int64_t left; /* of different reads, up to the one that is looked for */
	ExprSet seen;
	Arena *arena;
	const Expr *found;
} ReadCount;

static bool count_read(Expr *e, void *context)
{
	ReadCount *c = context;

	if (e->op != OP_READ || e->id != c->buffer)
		return !c->found;
	if (expr_set_add(c->arena, &c->seen, e) && --c->left == 0)
		c->found = e;
	return !c->found;
}

const Expr *edit_read_of(
    const Nest *nest, int stage, int buffer, int64_t n)
{
	ReadCount c = {.buffer = buffer, .left = n, .arena = nest->arena};

	assert(n >= 1);
	expr_walk(nest->stages.at[stage].body, count_read, &c);
	return c.found;
}

/* The innermost loop around the body of a stage; -1: none. */
static int innermost_loop(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];

	return s->nloops ? s->loops[s->nloops - 1] : s->place;
}

/* The next loop outwards, through all places; -1: none. */
static int loop_around(const Nest *nest, int loop)
{
	const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];
	int at = nest_loop_position(nest, loop);

	assert(at >= 0 && "split and fused loops are none any more");
	return at > 0 ? s->loops[at - 1] : s->place;
}

bool edit_is_below(const Nest *nest, int stage, int loop)
{
	int at = innermost_loop(nest, stage);

	assert(loop >= 0 && nest->vars.at[loop].how == VAR_LOOP);
	while (at >= 0 && at != loop)
		at = loop_around(nest, at);
	return at >= 0;
}

bool edit_is_inside(const Nest *nest, int a, int b)
{
	while (a != b) {
		int place = nest->stages.at[a].place;
		if (place < 0)
			return false;
		a = nest->vars.at[place].stage;
	}
	return true;
}

bool edit_has_attached(const Nest *nest, int loop)
{
	if (!nest->vars.at[loop].used)
		return false;
	for (int i = 0; i < nest->placed.n; i++) {
		const Stage *s = &nest->stages.at[nest->placed.at[i]];
		if (s->live && s->place == loop)
			return true;
	}
	return false;
}

bool edit_has_attached_stage(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];

	for (int i = 0; i < s->nloops; i++)
		if (edit_has_attached(nest, s->loops[i]))
			return true;
	return false;
}

bool edit_is_sealed(const Nest *nest, int loop)
{
	const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];

	return s->tensor_loop >= 0 &&
	    nest_loop_position(nest, loop) >=
	    nest_loop_position(nest, s->tensor_loop);
}

bool edit_is_exact(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];

	return nest->program->numerics == NUMERICS_EXACT &&
	    s->reduce != REDUCE_NONE && dtype_is_float(s->body->type);
}

Refusal edit_annotate_legal(const Nest *nest, int loop)
{
	const Var *v = &nest->vars.at[loop];

	if (v->kind != LOOP_SERIAL || v->unroll_limit != HANDLE_NONE)
		return "the loop is annotated already";
	if (edit_is_sealed(nest, loop))
		return "the loop belongs to a block made by blockize";
	return NULL;
}

bool edit_kind_above(const Nest *nest, int loop, LoopKind kind)
{
	while ((loop = loop_around(nest, loop)) >= 0)
		if (nest->vars.at[loop].kind == kind)
			return true;
	return false;
}

static bool kind_between(
    const Nest *nest, int loop, int stage, LoopKind kind)
{
	int at = innermost_loop(nest, stage);
	bool found = false;

	for (; at >= 0 && at != loop; at = loop_around(nest, at))
		found |= nest->vars.at[at].kind == kind;
	return found && at == loop;
}

/* Only its own stage and those that are placed can be below a loop. */
bool edit_kind_below(const Nest *nest, int loop, LoopKind kind)
{
	if (kind_between(nest, loop, nest->vars.at[loop].stage, kind))
		return true;
	for (int i = 0; i < nest->placed.n; i++) {
		int stage = nest->placed.at[i];
		if (nest->stages.at[stage].live &&
		    kind_between(nest, loop, stage, kind))
			return true;
	}
	return false;
}

bool edit_kind_own(const Nest *nest, int loop, LoopKind kind)
{
	const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];

	for (int i = 0; i < s->nloops; i++)
		if (s->loops[i] != loop &&
		    nest->vars.at[s->loops[i]].kind == kind)
			return true;
	return false;
}

/* A vector loop that is whole only because the block is at the root. */
static bool has_loose_vector(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];

	for (int i = 0; i < s->nloops; i++) {
		const Var *v = &nest->vars.at[s->loops[i]];
		if (v->kind == LOOP_VECTOR && v->axis >= 0 &&
		    s->axes[v->axis].var == s->loops[i])
			return true;
	}
	return false;
}

Refusal edit_move_legal(const Nest *nest, int stage, int loop)
{
	const Var *v = &nest->vars.at[loop];

	if (edit_is_inside(nest, v->stage, stage))
		return "the loop belongs to the block, or to one below it";
	if (v->kind == LOOP_VECTOR)
		return "the loop is a vector loop";
	if (edit_is_sealed(nest, loop))
		return "the loop belongs to a block made by blockize";
	if (has_loose_vector(nest, stage))
		return "the block's vector loop is not split off";
	return NULL;
}

/* A loop kind inside of itself: parallel below parallel, say. */
Refusal edit_kinds_legal(const Nest *nest, int stage, int loop)
{
	for (int kind = 0; kind < LOOP_KINDS; kind++) {
		const Stage *s = &nest->stages.at[stage];
		bool above = (LoopKind)kind == nest->vars.at[loop].kind ||
		    edit_kind_above(nest, loop, (LoopKind)kind);
		if (!above || (kind != LOOP_PARALLEL &&
				  !loop_is_bound((LoopKind)kind)))
			continue;
		for (int i = 0; i < s->nloops; i++)
			if (nest->vars.at[s->loops[i]].kind ==
				(LoopKind)kind ||
			    edit_kind_below(
				nest, s->loops[i], (LoopKind)kind))
				return "the block has a loop of a kind that "
				       "is outside already";
	}
	return NULL;
}

Refusal edit_scope_argument(const Call *call, int i, Scope *scope)
{
	const char *word;
	int at = call_optional(call, i, "scope");
	Refusal why;

	*scope = SCOPE_GLOBAL;
	if (at < 0)
		return NULL;
	why = call_word(call, at, &word);
	if (why || !strcmp(word, "pack"))
		return why;
	return edit_scope_parse(word, scope) ? NULL
	    : "a scope is global, local, reg or shared";
}

Refusal edit_unit_legal(const Nest *nest, int loop)
{
	const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];

	for (int i = nest_loop_position(nest, loop); i < s->nloops; i++) {
		const Var *v = &nest->vars.at[s->loops[i]];
		if (edit_has_attached(nest, s->loops[i]))
			return "a block is placed below the loop";
		if (v->kind != LOOP_SERIAL && v->kind != LOOP_UNROLL)
			return "a loop of the unit is annotated";
	}
	return NULL;
}

bool edit_is_once(const Nest *nest, int buffer)
{
	int number = nest->buffers.at[buffer].program_buffer;

	return number >= 0 && nest->program->buffers[number].once;
}

int64_t *edit_extents(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];
	int64_t *extents = NEW_N(nest->arena, int64_t, s->naxes);

	for (int a = 0; a < s->naxes; a++)
		extents[a] = s->axes[a].extent;
	return extents;
}

Flat *edit_flat(const Nest *nest)
{
	Flat *f = flat_new(nest->arena, nest->order.n, nest->buffers.n);
	for (int b = 0; b < f->nbuffers; b++)
		f->shapes[b] = nest->buffers.at[b].shape;
	for (int i = 0; i < f->nblocks; i++) {
		int stage = nest->order.at[i];
		const Stage *s = &nest->stages.at[stage];
		f->blocks[i] = (FlatBlock){
		    s->body, s->buffer, s->nspatial, edit_extents(nest, stage)};
	}
	return f;
}

Expr *edit_collapsed(Arena *arena, Expr *e, int axis, int64_t row, int naxes)
{
	Expr **axes = NEW_N(arena, Expr *, naxes);
	Expr *place = expr_axis(arena, axis + 1);
	Expr *length = expr_int(arena, DT_INDEX, row);

	assert(axis >= 0 && axis + 1 < naxes);
	for (int a = 0; a < naxes; a++)
		axes[a] = expr_axis(arena, a);
	axes[axis] = expr_binary(arena, OP_FLOORDIV, place, length);
	axes[axis + 1] = expr_binary(arena, OP_MOD, place, length);
	return expr_substitute_axes(arena, e, axes, naxes);
}

bool edit_is_identity_write(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];

	if (s->nwrite != s->nspatial)
		return false;
	for (int i = 0; i < s->nwrite; i++)
		if (s->write[i]->op != OP_AXIS || s->write[i]->id != i)
			return false;
	return true;
}

/* What was noted more than once, or is no reader any more, is dropped. */
IntVec edit_readers(const Nest *nest, int buffer)
{
	IntVec *noted;
	int n = 0;

	if (buffer >= nest->readers.n)
		return (IntVec){0};
	noted = &nest->readers.at[buffer];
	sort_ints(noted->at, noted->n);
	for (int i = 0; i < noted->n; i++) {
		int stage = noted->at[i];
		if ((!i || noted->at[i - 1] != stage) &&
		    nest->stages.at[stage].live &&
		    nest_reads(nest, stage, buffer))
			noted->at[n++] = stage;
	}
	noted->n = n;
	return *noted;
}

Refusal edit_body_replaceable(const Nest *nest, int stage, const Expr *body)
{
	enum { NODES_MAX = 1024 };
	const Stage *s = &nest->stages.at[stage];

	if (s->is_copy)
		return "a copy reads it";
	if (s->tensor_loop >= 0)
		return "a block that reads it was made by blockize";
	return expr_size_within(body, NODES_MAX)
	    ? NULL
	    : "the body of a block that reads it would be too large";
}

Refusal edit_narrow_legal(const Nest *nest, int stage, const Narrow *n)
{
	int buffer = nest->stages.at[stage].buffer;
	IntVec readers = edit_readers(nest, buffer);

	for (int i = 0; i < readers.n; i++) {
		int reader = readers.at[i];
		Refusal why = edit_body_replaceable(nest, reader,
		    narrow_reader(
			nest->arena, n, buffer, nest->stages.at[reader].body));
		if (why)
			return why;
	}
	return NULL;
}

void edit_narrow(Nest *nest, int stage, const Narrow *n)
{
	int buffer = nest->stages.at[stage].buffer;
	IntVec readers = edit_readers(nest, buffer);

	assert(n->element->type == n->type);
	nest->buffers.at[buffer].type = n->type;
	nest_set_body(nest, stage, n->element);
	for (int i = 0; i < readers.n; i++)
		nest_set_body(nest, readers.at[i],
		    narrow_reader(nest->arena, n, buffer,
			nest->stages.at[readers.at[i]].body));
}

Handle edit_split_extent(const Nest *nest, int loop)
{
	const Var *v = &nest->vars.at[loop];

	if (v->parent < 0 || nest->vars.at[v->parent].child[0] == loop)
		return HANDLE_NONE;
	return v->extent;
}

Handle edit_fixed_extent(const Nest *nest, int loop)
{
	const Var *v = &nest->vars.at[loop];
	const Stage *s = &nest->stages.at[v->stage];
	Handle extent = edit_split_extent(nest, loop);

	if (extent != HANDLE_NONE)
		return extent;
	/* a copy at the root holds what is read of it, which may be less, and
	 * what is padded may be more */
	if (s->place < 0 && v->axis >= 0 && s->axes[v->axis].var == loop &&
	    !s->fill && !(s->is_copy && nest->buffers.at[s->buffer].program_buffer < 0))
		return tape_const(nest->tape, s->axes[v->axis].extent);
	return HANDLE_NONE;
}

bool edit_scope_parse(const char *word, Scope *scope)
{
	static const char *const names[] = {[SCOPE_GLOBAL] = "global",
	    [SCOPE_LOCAL] = "local", [SCOPE_REG] = "reg",
	    [SCOPE_SHARED] = "shared"};

	for (int i = 0; i < 4; i++)
		if (!strcmp(names[i], word)) {
			*scope = (Scope)i;
			return true;
		}
	return false;
}

/* --- changes ----------------------------------------------------------------- */

int edit_new_var(Nest *nest, const char *name, int stage, int axis)
{
	Var v = {
	    .name = name,
	    .stage = stage,
	    .axis = axis,
	    .reduce = axis >= 0 && nest->stages.at[stage].axes[axis].reduce,
	    .how = VAR_LOOP,
	    .extent = HANDLE_NONE,
	    .parent = -1,
	    .fused = -1,
	    .div = HANDLE_NONE,
	    .unroll_limit = HANDLE_NONE,
	};

	return nest_add_var(nest, v);
}

void edit_new_loops(Nest *nest, int stage)
{
	Stage *s = &nest->stages.at[stage];

	s->nloops = s->naxes;
	s->loops = NEW_N(nest->arena, int, s->naxes);
	for (int i = 0; i < s->naxes; i++) {
		const char *name = arena_printf(
		    nest->arena, "%s.%s", s->name, s->axes[i].name);
		s->loops[i] = edit_new_var(nest, name, stage, i);
		s->axes[i].var = s->loops[i];
	}
}

int edit_new_buffer(
    Nest *nest, const char *name, const NestBuffer *like, Scope scope)
{
	NestBuffer b = {
	    .name = name,
	    .type = like->type,
	    .program_buffer = -1,
	    .scope = scope,
	    .writer = -1,
	    .align_part = -1,
	    .align_factor = HANDLE_NONE,
	    .align_offset = HANDLE_NONE,
	    .slots = HANDLE_NONE,
	    .elements = HANDLE_NONE,
	};

	edit_set_shape(nest, &b, like->ndim, like->shape);
	vec_push(nest->arena, &nest->buffers, b);
	return nest->buffers.n - 1;
}

int edit_order_of(const Nest *nest, int stage)
{
	for (int i = 0; i < nest->order.n; i++)
		if (nest->order.at[i] == stage)
			return i;
	assert(!"a live stage is in the order");
	return -1;
}

int edit_new_stage(Nest *nest, const char *name, int other, bool behind)
{
	Stage s = {
	    .name = name,
	    .block = -1,
	    .live = true,
	    .vars = -1,
	    .place = -1,
	    .with = -1,
	    .last = -1,
	    .after = nest->stages.at[other].after,
	    .carries = -1,
	    .init_at = -1,
	    .tail = TAIL_GUARD,
	    .intrinsic = -1,
	    .tensor_loop = -1,
	};
	int stage = nest->stages.n;
	int at = edit_order_of(nest, other) + behind;

	vec_push(nest->arena, &nest->stages, s);
	vec_push(nest->arena, &nest->order, stage);
	memmove(&nest->order.at[at + 1], &nest->order.at[at],
	    sizeof(int) * (size_t)(nest->order.n - 1 - at));
	nest->order.at[at] = stage;
	edit_set_place(nest, stage, nest->stages.at[other].place);
	return stage;
}

int edit_new_block(Nest *nest, int other, const char *name,
    const StageAxis *axes, int naxes, int nspatial, ReduceOp reduce, DType type)
{
	int stage = edit_new_stage(nest, name, other, false);
	Stage *s = &nest->stages.at[stage];
	NestBuffer like = {.type = type,
	    .ndim = nspatial,
	    .shape = NEW_N(nest->arena, int64_t, nspatial)};

	assert(nspatial >= 0 && nspatial <= naxes);
	s->naxes = naxes;
	s->nspatial = s->nwrite = nspatial;
	s->reduce = naxes > nspatial ? reduce : REDUCE_NONE;
	s->axes = NEW_N(nest->arena, StageAxis, naxes);
	s->write = NEW_N(nest->arena, Expr *, nspatial);
	for (int a = 0; a < naxes; a++)
		s->axes[a] = (StageAxis){.name = axes[a].name,
		    .extent = axes[a].extent,
		    .reduce = a >= nspatial,
		    .region = HANDLE_NONE};
	for (int a = 0; a < nspatial; a++) {
		s->write[a] = expr_axis(nest->arena, a);
		like.shape[a] = axes[a].extent;
	}
	s->buffer = edit_new_buffer(nest, name, &like, SCOPE_GLOBAL);
	nest->buffers.at[s->buffer].writer = stage;
	edit_new_loops(nest, stage);
	return stage;
}

StageAxis *edit_numbered_axes(const Nest *nest, const int64_t *extents, int n)
{
	StageAxis *axes = NEW_N(nest->arena, StageAxis, n);

	for (int a = 0; a < n; a++)
		axes[a] =
		    (StageAxis){.name = arena_printf(nest->arena, "x%d", a),
			.extent = extents[a]};
	return axes;
}

int edit_new_copy(
    Nest *nest, int other, const char *name, int buffer, DType type)
{
	const NestBuffer *b = &nest->buffers.at[buffer];

	return edit_new_block(nest, other, name,
	    edit_numbered_axes(nest, b->shape, b->ndim), b->ndim, b->ndim,
	    REDUCE_NONE, type);
}

void edit_set_place(Nest *nest, int stage, int loop)
{
	Stage *s = &nest->stages.at[stage];
	bool listed = false;

	/* else the tree of places would be a circle */
	assert(loop < 0 ||
	    !edit_is_inside(nest, nest->vars.at[loop].stage, stage));
	s->place = loop;
	if (loop < 0)
		return;
	nest->vars.at[loop].used = true;
	for (int i = 0; i < nest->placed.n && !listed; i++)
		listed = nest->placed.at[i] == stage;
	if (!listed)
		vec_push(nest->arena, &nest->placed, stage);
}

void edit_remove_stage(Nest *nest, int stage)
{
	int at = edit_order_of(nest, stage);

	assert(!edit_has_attached_stage(nest, stage));
	nest->stages.at[stage].live = false;
	nest->order.n--;
	memmove(&nest->order.at[at], &nest->order.at[at + 1],
	    sizeof(int) * (size_t)(nest->order.n - at));
}

void edit_replace_loops(
    Nest *nest, int stage, int at, int n, const int *loops, int nloops)
{
	Stage *s = &nest->stages.at[stage];
	int total = s->nloops - n + nloops;
	int *all = NEW_N(nest->arena, int, total);

	assert(at >= 0 && n >= 1 && at + n <= s->nloops);
	memcpy(all, s->loops, sizeof(int) * (size_t)at);
	memcpy(all + at, loops, sizeof(int) * (size_t)nloops);
	memcpy(all + at + nloops, s->loops + at + n,
	    sizeof(int) * (size_t)(s->nloops - at - n));
	s->loops = all;
	s->nloops = total;
}

typedef struct {
	int from, to;
	const Expr *only; /* NULL: all reads */
} Redirect;

static Expr *redirect_read(Arena *arena, Expr *e, void *context)
{
	const Redirect *r = context;

	if (e->op != OP_READ || e->id != r->from ||
	    (r->only && !expr_equal(r->only, e)))
		return e;
	return expr_read(arena, e->type, r->to, e->arg, e->narg);
}

void edit_redirect(
    Nest *nest, int stage, int from, int to, const Expr *only)
{
	Redirect r = {from, to, only};

	assert(nest->buffers.at[from].ndim == nest->buffers.at[to].ndim);
	nest_set_body(nest, stage,
	    expr_rewrite(nest->arena, nest->stages.at[stage].body,
		redirect_read, &r));
}

void edit_move_attachments(Nest *nest, int from, int to)
{
	assert(nest->vars.at[from].stage == nest->vars.at[to].stage);
	if (!nest->vars.at[from].used)
		return;
	nest->vars.at[to].used = true;
	for (int i = 0; i < nest->placed.n; i++) {
		Stage *s = &nest->stages.at[nest->placed.at[i]];
		if (s->place == from)
			s->place = to;
	}
	for (int k = 0; k < nest->stages.n; k++) {
		Stage *s = &nest->stages.at[k];
		for (int i = 0; i < s->prefetches.n; i++)
			if (s->prefetches.at[i].var == from)
				s->prefetches.at[i].var = to;
	}
}

const int *edit_split_loop(Nest *nest, int loop, int n, const Handle *factors,
    const char *const *names)
{
	int stage = nest->vars.at[loop].stage, axis = nest->vars.at[loop].axis;
	bool reduce = nest->vars.at[loop].reduce;
	int *parts = NEW_N(nest->arena, int, n);

	assert(n >= 2 && nest->vars.at[loop].how == VAR_LOOP);
	for (int i = 0; i < n; i++) {
		assert(!i || factors[i] != HANDLE_NONE);
		parts[i] = edit_new_var(nest, names[i], stage, axis);
		nest->vars.at[parts[i]].extent = i ? factors[i] : HANDLE_NONE;
		nest->vars.at[parts[i]].reduce = reduce;
		nest->vars.at[parts[i]].parent = loop;
	}
	edit_replace_loops(
	    nest, stage, nest_loop_position(nest, loop), 1, parts, n);
	nest->vars.at[loop].how = VAR_SPLIT;
	nest->vars.at[loop].nchild = n;
	nest->vars.at[loop].child = parts;
	/* what hangs at the loop hangs at the innermost part: all of its
	 * iterations are above that */
	edit_move_attachments(nest, loop, parts[n - 1]);
	if (nest->stages.at[stage].init_at == loop)
		nest->stages.at[stage].init_at = parts[0];
	return parts;
}

bool edit_has_plain_layout(const NestBuffer *b)
{
	for (int i = 0; i < b->nparts; i++)
		if (b->parts[i].dim != i || b->parts[i].mod != HANDLE_NONE)
			return false;
	return b->nparts == b->ndim && b->align_part < 0;
}

bool edit_is_pristine(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];

	if (s->place >= 0 || s->init_at >= 0 || s->fill ||
	    s->tail != TAIL_GUARD || s->prefetches.n || s->tensor_loop >= 0 ||
	    edit_has_attached_stage(nest, stage) || s->nloops != s->naxes)
		return false;
	for (int i = 0; i < s->nloops; i++) {
		const Var *v = &nest->vars.at[s->loops[i]];
		if (v->axis < 0 || s->axes[v->axis].var != s->loops[i] ||
		    v->kind != LOOP_SERIAL || v->unroll_limit != HANDLE_NONE)
			return false;
	}
	return true;
}

Refusal edit_scan(const Nest *nest, int loop, int *stage, Prefix *prefix)
{
	*stage = nest->vars.at[loop].stage;
	const Stage *s = &nest->stages.at[*stage];
	if (!nest->vars.at[loop].reduce)
		return "the loop is not a reduction loop";
	if (s->naxes != s->nspatial + 1)
		return "the block reduces over several axes";
	for (int j = 0; j < s->nspatial; j++)
		if (prefix_find(nest->arena, s->body, s->reduce, j,
			s->nspatial, prefix))
			return NULL;
	return "the block is no running sum";
}

void edit_remake(Nest *nest, int stage, Expr *body)
{
	int i = nest->stages.at[stage].vars;

	assert(!edit_has_attached_stage(nest, stage));
	for (; i >= 0; i = nest->vars.at[i].next)
		nest_rename_var(nest, i, ""); /* no loop any more */
	nest_set_body(nest, stage, body);
	edit_new_loops(nest, stage);
}

void edit_make_elementwise(Nest *nest, int stage, Expr *body)
{
	Stage *s = &nest->stages.at[stage];

	assert(s->reduce != REDUCE_NONE);
	s->reduce = REDUCE_NONE;
	s->axes = arena_memdup(
	    nest->arena, s->axes, sizeof *s->axes * (size_t)s->nspatial);
	s->naxes = s->nspatial;
	edit_remake(nest, stage, body);
}

void edit_drop_axis(Nest *nest, int stage, int axis, Expr *body)
{
	Stage *s = &nest->stages.at[stage];
	StageAxis *axes =
	    arena_memdup(nest->arena, s->axes, sizeof *axes * (size_t)s->naxes);

	assert(axis >= s->nspatial && axis < s->naxes && s->naxes > 1);
	memmove(&axes[axis], &axes[axis + 1],
	    sizeof *axes * (size_t)(s->naxes - axis - 1));
	s->axes = axes;
	s->naxes--;
	edit_remake(nest, stage, body);
}

void edit_add_axis(Nest *nest, int stage, int axis, StageAxis new)
{
	Stage *s = &nest->stages.at[stage];
	StageAxis *axes = NEW_N(nest->arena, StageAxis, s->naxes + 1);

	assert(axis >= 0 && axis <= s->naxes);
	memcpy(axes, s->axes, sizeof *axes * (size_t)axis);
	axes[axis] = new;
	memcpy(axes + axis + 1, s->axes + axis,
	    sizeof *axes * (size_t)(s->naxes - axis));
	s->axes = axes;
	s->naxes++;
	edit_remake(nest, stage, s->body);
}

void edit_set_shape(
    const Nest *nest, NestBuffer *b, int ndim, int64_t *shape)
{
	b->ndim = b->nparts = ndim;
	b->shape = shape;
	b->parts = NEW_N(nest->arena, LayoutPart, ndim);
	b->start = NEW_N(nest->arena, Expr *, ndim);
	b->extent = NEW_N(nest->arena, Handle, ndim);
	for (int d = 0; d < ndim; d++) {
		b->parts[d] = (LayoutPart){.dim = d,
		    .div = tape_const(nest->tape, 1), .mod = HANDLE_NONE,
		    .extent = HANDLE_NONE, .stride = HANDLE_NONE};
		b->extent[d] = HANDLE_NONE;
	}
}
