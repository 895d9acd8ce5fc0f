/* Partial results of a block's threads to one, which all of them have.
 *
 *     v                      of the threads of a warp, in a tree:
 *                      -->     o = warp_xor v, xor 16;  v = v + o;  ... xor 1
 *
 *     v, of 4 warps          each warp's into shared memory; a barrier; then
 *                              v = parts[thread % 4];  o = warp_xor v, xor 2 ...
 *
 * Where the threads of a warp do not exchange registers, or those that reduce
 * together do not lie side by side, partial results go through shared memory
 * alone: the first threads combine a few each, and wait, until few are left,
 * which every thread combines for itself.  In each tree both sides combine the
 * same two, so all threads have the same bits. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

enum { DIRECTIONS = 3, TOGETHER = 8 }; /* partial results for one thread */

typedef struct {
	Lower *l;
	const Stage *stage;
	DType type;
	int n;              /* results */
	Value *v;
	int64_t threads[DIRECTIONS];
	Index number[DIRECTIONS];   /* of this thread */
	/* of the direction whose threads are combined */
	int64_t count, stride, others; /* threads: of it, between neighbours,
					  of the other directions */
	Index own, other;   /* this one's number in it and in the others */
	int scratch;        /* of the lowered form */
} Across;

/* --- operations ------------------------------------------------------------- */

static Value combined(Across *a, Value x, int y)
{
	int temp = new_temp(a->l, a->type, 1, "both");
	return eval_combined(
	    a->l, a->stage->reduce, x, value_temp(a->type, 1, y), temp);
}

static Value exchanged(Across *a, Value x, int64_t bits)
{
	int from = value_as(a->l, x, 1);
	int other = new_temp(a->l, a->type, 1, "other");
	emit_into(a->l, other, LOW_WARP_XOR, from, -1, -1)->i = bits;
	return combined(a, x, other);
}

/* Partial result number `part` of a result. */
static LowAffine part_at(Across *a, int result, int64_t parts, Index part)
{
	Index at = index_add(a->l, a->other, part, a->others);
	at = index_add(a->l, at, index_const(result * parts * a->others), 1);
	return index_address(a->l, at);
}

static int load_part(Across *a, int result, int64_t parts, Index part)
{
	int temp = new_temp(a->l, a->type, 1, "part");
	LowNode *node = emit_into(a->l, temp, LOW_LOAD, -1, -1, -1);
	node->buffer = a->scratch;
	node->address = part_at(a, result, parts, part);
	return temp;
}

static void store_part(Across *a, int result, int64_t parts, Index part)
{
	LowNode *node = emit_effect(
	    a->l, LOW_STORE, value_as(a->l, a->v[result], 1), -1, -1);
	node->buffer = a->scratch;
	node->address = part_at(a, result, parts, part);
}

static void barrier(Across *a)
{
	emit_effect(a->l, LOW_BARRIER, -1, -1, -1);
}

/* --- within warps ------------------------------------------------------------- */

/* Combines those that lie in one warp. */
static void in_warps(Across *a, int width)
{
	for (int w = 1; w < width; w *= 2)
		for (int r = 0; r < a->n; r++)
			a->v[r] = exchanged(a, a->v[r], a->stride * w);
}

/* --- through shared memory ---------------------------------------------------- */

/* The condition that x >= 0, as a branch around what follows; false: it holds. */
static bool begin_if(Across *a, Branch *b, Index x)
{
	bool known;
	Value holds = value_nonnegative(a->l, x);
	if (value_is_bool(holds, &known) && known)
		return false;
	branch_begin(a->l, b, value_scalar(a->l, holds));
	return true;
}

/* One of each `width` threads, which have the same. */
static void store_parts(Across *a, int64_t parts, int64_t width)
{
	Branch b;
	Lower *l = a->l;
	Index first = index_scale(l, index_mod(l, a->own, width), -1);
	bool some = begin_if(a, &b, first);
	for (int r = 0; r < a->n; r++)
		store_part(a, r, parts, index_floordiv(l, a->own, width));
	if (some)
		branch_end(l, &b);
	barrier(a);
}

/* Numbers own, own + left, own + 2*left ... of the parts. */
static void combine_some(
    Across *a, int result, int64_t parts, int64_t now, int64_t left, Index own)
{
	Lower *l = a->l;
	int sum = load_part(a, result, parts, own);
	for (int64_t k = left; k < now; k += left) {
		Index part = index_add(l, own, index_const(k), 1);
		Branch b;
		bool some = left > 1 && begin_if(a, &b,
		    index_add(l, index_const(now - 1), part, -1));
		eval_combined(l, a->stage->reduce,
		    value_temp(a->type, 1, sum),
		    value_temp(a->type, 1, load_part(a, result, parts, part)),
		    sum);
		if (some)
			branch_end(l, &b);
	}
	a->v[result] = value_temp(a->type, 1, sum);
}

/* The first threads a few parts each. */
static int64_t fewer_parts(Across *a, int64_t parts, int64_t now)
{
	Lower *l = a->l;
	Branch b;
	int64_t left = (now + TOGETHER - 1) / TOGETHER;
	bool some = begin_if(a, &b,
	    index_add(l, index_const(left - 1), a->own, -1));
	for (int r = 0; r < a->n; r++) {
		combine_some(a, r, parts, now, left, a->own);
		store_part(a, r, parts, a->own);
	}
	if (some)
		branch_end(l, &b);
	barrier(a);
	return left;
}

/* Each warp has all parts, one in each of its threads. */
static void parts_in_warps(Across *a, int64_t parts)
{
	Index own = index_mod(a->l, a->own, parts);
	for (int r = 0; r < a->n; r++) {
		a->v[r] = value_temp(
		    a->type, 1, load_part(a, r, parts, own));
		for (int64_t bits = parts / 2; bits; bits /= 2)
			a->v[r] = exchanged(a, a->v[r], bits);
	}
}

static void through_memory(Across *a, int64_t parts, int width, bool warps)
{
	const char *name = arena_printf(
	    a->l->arena, "%s_parts", a->stage->name);
	a->scratch = declare_buffer(a->l, name, a->type,
	    a->n * parts * a->others, LOWBUF_SHARED, 0, 0, WORKSPACE_ALIGN);
	a->l->f->buffers.at[a->scratch].written = true;
	store_parts(a, parts, width);
	if (warps) {
		parts_in_warps(a, parts);
		return;
	}
	int64_t now = parts;
	while (now > TOGETHER)
		now = fewer_parts(a, parts, now);
	for (int r = 0; r < a->n; r++)
		combine_some(a, r, parts, now, 1, index_const(0));
}

/* --- the whole ---------------------------------------------------------------- */

static void one_direction(Across *a, int direction)
{
	a->count = a->threads[direction];
	a->stride = a->others = 1;
	a->own = a->number[direction];
	a->other = index_const(0);
	for (int d = 0; d < DIRECTIONS; d++) {
		if (d < direction)
			a->stride *= a->threads[d];
		if (d == direction)
			continue;
		a->other =
		    index_add(a->l, a->other, a->number[d], a->others);
		a->others *= a->threads[d];
	}
	if (a->count == 1)
		return;
	int exchanges = a->l->machine->exchanges;
	assert(!exchanges || exchanges == LOW_WARP);
	BodyThreads t =
	    body_threads(exchanges, a->count * a->others, a->count, a->stride);
	in_warps(a, t.width);
	if (t.parts > 1)
		through_memory(a, t.parts, t.width, t.warps);
}

static LoopKind thread_kind(int direction)
{
	LoopKind kind = 0;
	while (!loop_is_thread(kind) || loop_direction(kind) != direction)
		kind++;
	return kind;
}

/* The loops of the block's threads, all of them. */
static void open_threads(Across *a, Frame *frames, LowNode **nodes)
{
	Lower *l = a->l;
	for (int d = DIRECTIONS - 1; d >= 0; d--) {
		a->number[d] = index_const(0);
		nodes[d] = NULL;
		if (a->threads[d] == 1)
			continue;
		LowNode *node = nodes[d] = NEW(l->arena, LowNode);
		node->kind = LOWNODE_LOOP;
		node->dst = node->buffer = node->condition = -1;
		node->extent = a->threads[d];
		node->loop = thread_kind(d);
		frames[d] = (Frame){
		    .fence = true, .bound = true, .thread = true, .loop = true};
		scope_open(l, &frames[d], &node->body);
		node->var = new_temp(l, DT_INDEX, 1, "thread");
		l->part->temps.at[node->var].range =
		    (Interval){0, a->threads[d] - 1};
		l->part->temps.at[node->var].thread = true;
		a->number[d] = index_symbol(l, node->var);
	}
}

static void close_threads(Across *a, LowNode *const *nodes)
{
	for (int d = 0; d < DIRECTIONS; d++)
		if (nodes[d]) {
			scope_close(a->l);
			vec_push(
			    a->l->arena, a->l->part->scope->body, nodes[d]);
		}
}

/* Which of its threads reduce together, by direction. */
static void directions_of(const Nest *nest, const Stage *s, bool *reduces)
{
	for (int i = 0; i < s->nloops; i++) {
		const Var *v = &nest->vars.at[s->loops[i]];
		if (v->reduce && loop_is_thread(v->kind))
			reduces[loop_direction(v->kind)] = true;
	}
}

static bool runs_again(const Lower *l, const Stage *s)
{
	for (int i = 0; i < l->sums->pos; i++)
		if (!loop_at_compile_time(l, s->loops[i]) &&
		    loop_extent(l, s->loops[i]) > 1)
			return true;
	return lower_runs_again(l, s->place);
}

void across_threads(Lower *l, int stage, Value *v, int n)
{
	const Stage *s = &l->nest->stages.at[stage];
	Across a = {.l = l,
	    .stage = s,
	    .type = l->nest->buffers.at[s->buffer].type,
	    .n = n,
	    .v = v};
	bool reduces[DIRECTIONS] = {false};
	Frame frames[DIRECTIONS];
	LowNode *nodes[DIRECTIONS];
	int *result = NEW_N(l->arena, int, n);
	assert(l->sums && l->sums->results == n);
	directions_of(l->nest, s, reduces);
	nest_launch_threads(l->nest, s->loops[l->sums->pos], a.threads);
	for (int r = 0; r < n; r++)
		result[r] = new_temp(l, a.type, 1, s->name);
	note_control(l);
	open_threads(&a, frames, nodes);
	if (runs_again(l, s)) /* and their parts may still be read */
		barrier(&a);
	for (int d = 0; d < DIRECTIONS; d++)
		if (reduces[d])
			one_direction(&a, d);
	for (int r = 0; r < n; r++) {
		emit_into(l, result[r], LOW_COPY, value_as(l, v[r], 1), -1, -1);
		v[r] = value_temp(a.type, 1, result[r]);
	}
	close_threads(&a, nodes);
	note_control(l);
}
