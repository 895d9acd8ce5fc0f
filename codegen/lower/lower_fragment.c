/* Tensorized steps of a warp: fragments of matrices in the registers of its
 * threads, multiplied by one MMA.
 *
 *     threadIdx.y g < 8, threadIdx.x t < 4
 *       for i1 < 2 for j1 < 2 for k < 16
 *         c[8*i1 + g, 2*t + j1] += a[8*i1 + g, k] * b[k, 2*t + j1]
 * -->
 *       x = a[g, 2*t ..], a[g + 8, 2*t ..], a[g, 2*t + 8 ..], a[g + 8, 2*t + 8 ..]
 *       y = b[2*t .., g], b[2*t + 8 .., g]
 *       c[0 .. 3] = mma x, y, c[0 .. 3]
 *
 * A thread loads what ir/intrinsic.h says that it has, by the addresses that the
 * loops give: of a row of its own, the steps that its number t has; of b's column
 * g instead of its own.  So a's index must not move with columns, nor b's with
 * rows, each of their dimensions with a row or column or the step alone, steps and
 * columns in equal distances.
 *
 * All of it must count, in all 32 threads of the warp; else nothing is emitted
 * here and the loops are repeated. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

enum { GROUPS = 8, MEMBERS = 4 }; /* g and t of a thread */

typedef struct {
	Lower *l;
	const Intrinsic *in;
	int stage;
	int row, column, step; /* loops of the unit */
	int y, x;              /* threads' */
} Unit;

/* --- the loops ---------------------------------------------------------------- */

static int axis_of(const Unit *u, int loop)
{
	return u->l->nest->vars.at[loop].axis;
}

/* The thread loop of a direction, which all threads of the block run. */
static int thread_loop(const Unit *u, LoopKind kind, int64_t extent)
{
	const Nest *nest = u->l->nest;
	const Stage *s = &nest->stages.at[u->stage];
	for (int i = 0; i < s->nloops; i++)
		if (nest->vars.at[s->loops[i]].kind == kind)
			return loop_extent(u->l, s->loops[i]) == extent &&
				nest_launch_extent(nest, s->loops[i]) == extent
			    ? s->loops[i] : -1;
	return -1;
}

/* Which of the unit's loops are rows and columns, the threads' loops tell. */
static bool find_loops(Unit *u)
{
	const Nest *nest = u->l->nest;
	const Stage *s = &nest->stages.at[u->stage];
	int first = nest_loop_position(nest, s->tensor_loop);
	u->row = u->column = u->step = -1;
	u->y = thread_loop(u, LOOP_THREAD_Y, GROUPS);
	u->x = thread_loop(u, LOOP_THREAD_X, MEMBERS);
	if (u->y < 0 || u->x < 0)
		return false;
	for (int i = first; i < s->nloops; i++) {
		int loop = s->loops[i];
		if (nest->vars.at[loop].reduce)
			u->step = loop;
		else if (axis_of(u, loop) == axis_of(u, u->y))
			u->row = loop;
		else if (axis_of(u, loop) == axis_of(u, u->x))
			u->column = loop;
	}
	return u->row >= 0 && u->column >= 0 && u->step >= 0 &&
	    loop_extent(u->l, u->row) == 2 &&
	    loop_extent(u->l, u->column) == 2 &&
	    loop_extent(u->l, u->step) == u->in->terms;
}

/* No branch and no limit stands between here and the block. */
static bool is_uniform(const Lower *l)
{
	const Frame *f = l->scope;
	for (; f && f->up; f = f->up)
		if (f->skipped && !f->fence)
			return false;
	return true;
}

static bool all_counts(const Unit *u)
{
	const Stage *s = &u->l->nest->stages.at[u->stage];
	for (int a = 0; a < s->naxes; a++)
		for (End end = ABOVE; end <= BELOW; end++)
			if (axis_tested(u->l, u->stage, a, end) &&
			    !index_nonnegative(u->l,
				slack_of_all(u->l, u->stage, a, end)))
				return false;
	return u->l->mask.lanes <= 1 && u->l->lanes == 1 &&
	    !step_condition(u->l, u->stage);
}

/* --- addresses ------------------------------------------------------------------ */

typedef struct {
	bool *axes;
} Uses;

static bool note_axis(Expr *e, void *context)
{
	if (e->op == OP_AXIS)
		((Uses *)context)->axes[e->id] = true;
	return true;
}

/* Does each dimension move with `own` or with steps, or neither, and none with
 * `other`? */
static bool moves_apart(const Unit *u, const Expr *read, int own, int other)
{
	int naxes = u->l->nest->stages.at[u->stage].naxes;
	for (int d = 0; d < read->narg; d++) {
		Uses uses = {NEW_N(u->l->arena, bool, naxes)};
		expr_walk(read->arg[d], note_axis, &uses);
		if (uses.axes[axis_of(u, other)] ||
		    (uses.axes[axis_of(u, own)] &&
			uses.axes[axis_of(u, u->step)]))
			return false;
	}
	return u->l->nest->buffers.at[read->id].scope != SCOPE_REG;
}

/* In an iteration of two loops, for the unit's others at 0. */
static Index address_at(
    const Unit *u, const Expr *read, int loop, int64_t value, int64_t step)
{
	Lower *l = u->l;
	const int loops[] = {u->row, u->column, u->step, loop};
	const int64_t values[] = {0, 0, step, value};
	Binding was[4];
	for (int i = 0; i < 4; i++)
		was[i] = bind(
		    l, loops[i], (Binding){true, index_const(values[i])});
	Index at = buffer_address(l, read->id, read->arg, read->narg);
	for (int i = 3; i >= 0; i--)
		bind(l, loops[i], was[i]);
	return at;
}

static bool distance(const Unit *u, Index a, Index b, int64_t *apart)
{
	return a.vector < 0 && b.vector < 0 &&
	    index_is_const(index_add(u->l, b, a, -1), apart);
}

/* How an operand lies: its element at row (or column) and step 0, and how far
 * others are from it. */
typedef struct {
	int buffer;
	Index first;
	int64_t own[2];    /* of a: to row 8 of the fragment */
	int64_t column;    /* of b: to the next one */
	int64_t steps[64]; /* to each step */
	int64_t member;    /* to the step that the next t has */
} Operand;

static bool find_steps(const Unit *u, const Expr *read, Operand *o)
{
	int word = fragment_word(u->in);
	for (int k = 0; k < u->in->terms; k++)
		if (!distance(u, o->first,
			address_at(u, read, u->step, k, k), &o->steps[k]))
			return false;
	o->member = o->steps[word] - o->steps[0];
	for (int k = 0; k < u->in->terms; k++) {
		int t = k % (MEMBERS * word) / word;
		int64_t from = o->steps[k - t * word];
		if (o->steps[k] != from + t * o->member)
			return false;
	}
	return true;
}

static bool find_rows(const Unit *u, const Expr *read, Operand *o)
{
	*o = (Operand){.buffer = read->id};
	o->first = address_at(u, read, u->row, 0, 0);
	return moves_apart(u, read, u->row, u->column) &&
	    distance(u, o->first, address_at(u, read, u->row, 1, 0),
		&o->own[1]) &&
	    find_steps(u, read, o);
}

/* Column n is column n % 2 of thread n / 2. */
static bool find_columns(const Unit *u, const Expr *read, Operand *o)
{
	Lower *l = u->l;
	bool equal = moves_apart(u, read, u->column, u->row);
	*o = (Operand){.buffer = read->id};
	Binding was = bind(l, u->x, (Binding){true, index_const(0)});
	o->first = address_at(u, read, u->column, 0, 0);
	equal = equal && find_steps(u, read, o);
	for (int n = 1; n < GROUPS && equal; n++) {
		int64_t apart;
		bind(l, u->x, (Binding){true, index_const(n / 2)});
		equal = distance(u, o->first,
		    address_at(u, read, u->column, n % 2, 0), &apart);
		o->column = n == 1 ? apart : o->column;
		equal = equal && apart == n * o->column;
	}
	bind(l, u->x, was);
	return equal;
}

/* --- operands ------------------------------------------------------------------ */

static int joined(const Unit *u, DType type, const int *words, int n, int lanes)
{
	if (n == 1)
		return words[0];
	int *order = NEW_N(u->l->arena, int, n * lanes);
	for (int i = 0; i < n * lanes; i++)
		order[i] = i;
	Key key = {.op = LOW_SHUFFLE,
	    .type = type,
	    .lanes = n * lanes,
	    .arg = {joined(u, type, words, n / 2, lanes),
		joined(u, type, words + n / 2, n / 2, lanes), -1},
	    .shuffle = order};
	return emit_pure(u->l, &key, "fragment");
}

/* `n` elements from steps[0] on, which may lie apart. */
static int word_of(const Unit *u, const Operand *o, Index at, int step)
{
	Lower *l = u->l;
	DType type = l->nest->buffers.at[o->buffer].type;
	int n = fragment_word(u->in);
	bool together = true;
	for (int e = 1; e < n; e++)
		together &= o->steps[step + e] == o->steps[step] + e;
	at.form.constant += o->steps[step];
	if (together)
		return load_lanes_at(l, o->buffer, n, at);
	int v = dtype_is_float(type) ? const_float(l, type, n, 0)
				     : const_int(l, type, n, 0);
	for (int e = 0; e < n; e++) {
		Index one = at;
		one.form.constant += o->steps[step + e] - o->steps[step];
		Key key = {.op = LOW_INSERT,
		    .type = type,
		    .lanes = n,
		    .arg = {v, load_lanes_at(l, o->buffer, 1, one), -1},
		    .i = e};
		v = emit_pure(l, &key, "word");
	}
	return v;
}

static Index moved(const Unit *u, Index at, int thread, int64_t by)
{
	return index_add(u->l, at, u->l->vars[thread].value, by);
}

static int rows_of(const Unit *u, const Operand *o)
{
	int words[8], word = fragment_word(u->in);
	int n = fragment_lanes(u->in, false) / word;
	Index at = moved(u, o->first, u->x, o->member);
	assert(n <= 8);
	for (int i = 0; i < n; i++) {
		Index row = at;
		row.form.constant += o->own[i % 2];
		words[i] = word_of(u, o, row, i / 2 * MEMBERS * word);
	}
	return joined(u, u->in->a, words, n, word);
}

static int columns_of(const Unit *u, const Operand *o)
{
	int words[4], word = fragment_word(u->in);
	int n = fragment_lanes(u->in, true) / word;
	Index at = moved(u, o->first, u->x, o->member);
	at = moved(u, at, u->y, o->column);
	assert(n <= 4);
	for (int i = 0; i < n; i++)
		words[i] = word_of(u, o, at, i * MEMBERS * word);
	return joined(u, u->in->b, words, n, word);
}

/* --- sums ---------------------------------------------------------------------- */

static int sum_of(const Unit *u, int v)
{
	Lower *l = u->l;
	const Stage *s = &l->nest->stages.at[u->stage];
	Binding row = bind(l, u->row, (Binding){true, index_const(v / 2)});
	Binding column =
	    bind(l, u->column, (Binding){true, index_const(v % 2)});
	int temp = register_temp(l, s->buffer,
	    buffer_address(l, s->buffer, s->write, s->nwrite));
	bind(l, u->column, column);
	bind(l, u->row, row);
	return temp;
}

static void add_product(const Unit *u, int a, int b)
{
	Lower *l = u->l;
	int sums[FRAGMENT_SUMS], all;
	DType type = u->in->sum;
	all = dtype_is_float(type) ? const_float(l, type, FRAGMENT_SUMS, 0)
				   : const_int(l, type, FRAGMENT_SUMS, 0);
	for (int v = 0; v < FRAGMENT_SUMS; v++) {
		sums[v] = sum_of(u, v);
		Key key = {.op = LOW_INSERT,
		    .type = type,
		    .lanes = FRAGMENT_SUMS,
		    .arg = {all, sums[v], -1},
		    .i = v};
		all = emit_pure(l, &key, "sums");
	}
	int d = new_temp(l, type, FRAGMENT_SUMS, "mma");
	emit_into(l, d, LOW_MMA, a, b, all);
	for (int v = 0; v < FRAGMENT_SUMS; v++) {
		LowNode *n = emit_into(l, sums[v], LOW_EXTRACT, d, -1, -1);
		n->i = v;
	}
}

bool fragment_step(Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	Unit u = {.l = l,
	    .in = intrinsic_at(s->intrinsic),
	    .stage = stage};
	Operand a, b;
	const Expr *x = s->body->arg[0]->arg[0], *y = s->body->arg[1]->arg[0];
	int outer = l->stage;
	bool done = false;
	assert(fragment_sums(u.in, s->body) && u.in->rows == 2 * GROUPS &&
	    u.in->columns == GROUPS && u.in->terms <= 64);
	l->stage = stage;
	if (l->machine->capability >= u.in->capability &&
	    l->nest->buffers.at[s->buffer].scope == SCOPE_REG &&
	    l->nest->buffers.at[s->buffer].type == u.in->sum &&
	    l->sums.stage < 0 && find_loops(&u) && is_uniform(l) &&
	    all_counts(&u)) {
		bool right = find_rows(&u, x, &a) && find_columns(&u, y, &b);
		if (!right && x->type == y->type) /* b*a */
			right = find_rows(&u, y, &a) && find_columns(&u, x, &b);
		if (right)
			add_product(&u, rows_of(&u, &a), columns_of(&u, &b));
		done = right;
	}
	l->stage = outer;
	return done;
}
