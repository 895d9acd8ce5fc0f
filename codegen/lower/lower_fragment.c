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
 * What lies in shared memory as rows of 16 bytes, aligned to that, is loaded by
 * LOAD_MATRIX: a thread loads a row of some matrix and gets words of others.
 * Rows are of steps, or where these do not lie side by side of rows or columns,
 * then transposed.  What an instruction has room for beside this fragment's it
 * loads of its neighbours', which find it loaded.
 *
 * f32 is rounded to tf32 where it has been loaded.
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
	const Frame *f = l->part->scope;
	for (; f && f->up; f = f->up)
		if (f->skipped && !f->fence)
			return false;
	return true;
}

bool fragment_counts(Lower *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	for (int a = 0; a < s->naxes; a++)
		for (End end = ABOVE; end <= BELOW; end++)
			if (axis_tested(l, stage, a, end) &&
			    !index_nonnegative(
				l, slack_of_all(l, stage, a, end)))
				return false;
	return is_uniform(l) && l->mask.lanes <= 1 && l->lanes == 1 &&
	    !l->sums && !step_condition(l, stage);
}

/* --- addresses ------------------------------------------------------------------ */

typedef struct {
	bool *axes;
} AxisUses;

static bool note_axis(Expr *e, void *context)
{
	if (e->op == OP_AXIS)
		((AxisUses *)context)->axes[e->id] = true;
	return true;
}

/* Does each dimension move with `own` or with steps, or neither, and none with
 * `other`? */
static bool moves_apart(const Unit *u, const Expr *read, int own, int other)
{
	int naxes = u->l->nest->stages.at[u->stage].naxes;
	for (int d = 0; d < read->narg; d++) {
		AxisUses uses = {NEW_N(u->l->arena, bool, naxes)};
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
		was[i] = bind_var(
		    l, loops[i], (Binding){true, index_const(values[i])});
	Index at = buffer_address(l, read->id, read->arg, read->narg);
	for (int i = 3; i >= 0; i--)
		bind_var(l, loops[i], was[i]);
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
	const Expr *read;
	bool columns;      /* it is b */
	int buffer;
	Index first;
	int64_t own[2];    /* of a: to row 8 of the fragment */
	int64_t column;    /* of b: to the next one */
	int64_t steps[64]; /* to each step */
	int64_t member;    /* to the step that the next t has */
} FragmentOperand;

static bool find_steps(const Unit *u, const Expr *read, FragmentOperand *o)
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

static bool find_rows(const Unit *u, const Expr *read, FragmentOperand *o)
{
	*o = (FragmentOperand){.read = read, .buffer = read->id};
	o->first = address_at(u, read, u->row, 0, 0);
	return moves_apart(u, read, u->row, u->column) &&
	    distance(u, o->first, address_at(u, read, u->row, 1, 0),
		&o->own[1]) &&
	    find_steps(u, read, o);
}

/* Column n is column n % 2 of thread n / 2. */
static bool find_columns(const Unit *u, const Expr *read, FragmentOperand *o)
{
	Lower *l = u->l;
	bool equal = moves_apart(u, read, u->column, u->row);
	*o = (FragmentOperand){
	    .read = read, .columns = true, .buffer = read->id};
	Binding was = bind_var(l, u->x, (Binding){true, index_const(0)});
	o->first = address_at(u, read, u->column, 0, 0);
	equal = equal && find_steps(u, read, o);
	for (int n = 1; n < GROUPS && equal; n++) {
		int64_t apart;
		bind_var(l, u->x, (Binding){true, index_const(n / 2)});
		equal = distance(u, o->first,
		    address_at(u, read, u->column, n % 2, 0), &apart);
		o->column = n == 1 ? apart : o->column;
		equal = equal && apart == n * o->column;
	}
	bind_var(l, u->x, was);
	return equal;
}

/* --- rows of 16 bytes ------------------------------------------------------------ */

/* Of a fragment, and what is loaded with it: eight rows of 16 bytes each are a
 * matrix; which one is a number of two binary digits at most. */
typedef struct {
	Index first;      /* row 0 of matrix 0 */
	int64_t row;      /* from a row to the next */
	int64_t digit[2]; /* from a matrix to that with this digit */
	BodyMatrices of;
	bool transposed;
	int number;       /* of its matrices, shifted by `own` */
} Matrices;

/* From a row (column) of eight to the next, equal for all; and where they
 * begin. */
static bool find_row(
    const Unit *u, const FragmentOperand *o, Index *first, int64_t *row)
{
	Lower *l = u->l;
	bool equal = true;
	*first = o->first;
	*row = o->column;
	if (o->columns)
		return true;
	Binding was = bind_var(l, u->y, (Binding){true, index_const(0)});
	*first = address_at(u, o->read, u->row, 0, 0);
	for (int g = 1; g < GROUPS && equal; g++) {
		int64_t apart;
		bind_var(l, u->y, (Binding){true, index_const(g)});
		equal = distance(u, *first,
		    address_at(u, o->read, u->row, 0, 0), &apart);
		*row = g == 1 ? apart : *row;
		equal = equal && apart == g * *row;
	}
	bind_var(l, u->y, was);
	return equal;
}

/* Are the steps of each matrix equally far apart? */
static bool steps_apart(const Unit *u, const FragmentOperand *o, int64_t apart)
{
	int n = LOW_MATRIX_ROW / dtype_bytes(u->in->a);
	for (int k = 0; k < u->in->terms; k++)
		if (o->steps[k] != o->steps[k / n * n] + k % n * apart)
			return false;
	return true;
}

static bool find_matrices(const Unit *u, const FragmentOperand *o, Matrices *m)
{
	int word = fragment_word(u->in), n = MEMBERS * word, first = 0;
	int64_t own, step = o->steps[1];
	*m = (Matrices){.of = body_matrices(u->in, o->columns)};
	if (!find_row(u, o, &m->first, &own) || !steps_apart(u, o, step))
		return false;
	m->transposed = step != 1;
	m->row = fragment_row(u->in, own, step);
	if (!o->columns)
		m->digit[first++] = o->own[1];
	if (first < m->of.own)
		m->digit[first] = o->steps[n];
	return m->row && body_is_row(u->in, m->digit[0]) &&
	    body_is_row(u->in, m->digit[1]);
}

/* The number of an iteration that is repeated as code; -1: it is not. */
static int64_t iteration_of(const Unit *u, int loop)
{
	const Binding *b = &u->l->part->vars[loop];
	int64_t value;
	return b->bound && index_is_const(b->value, &value) ? value : -1;
}

/* Of the iterations of a loop from a multiple of `n` on, all of which count. */
static bool all_lie_apart(
    const Unit *u, const FragmentOperand *o, int loop, int64_t n, int64_t apart)
{
	Lower *l = u->l;
	int64_t now = iteration_of(u, loop), from = now - now % n;
	Binding was = l->part->vars[loop];
	bool right = true;
	Index first = {0};
	for (int64_t i = 0; i < n && right; i++) {
		int64_t found = 0;
		bind_var(l, loop, (Binding){true, index_const(from + i)});
		Index at = address_at(u, o->read, u->step, 0, 0);
		if (i == 0)
			first = at;
		right = fragment_counts(l, u->stage) &&
		    distance(u, first, at, &found) && found == i * apart;
	}
	bind_var(l, loop, was);
	return right;
}

/* Fragments of the loop's next iterations as well, as far as digits are left. */
static void add_neighbours(
    const Unit *u, const FragmentOperand *o, int loop, Matrices *m)
{
	Lower *l = u->l;
	int64_t now = iteration_of(u, loop), apart, n = 1;
	int most =
	    m->of.digits + body_matrices_along(&m->of, loop_extent(l, loop));
	Index here = address_at(u, o->read, u->step, 0, 0);
	Binding was = bind_var(l, loop,
	    (Binding){true, index_const(now % 2 ? now - 1 : now + 1)});
	bool known = distance(
	    u, here, address_at(u, o->read, u->step, 0, 0), &apart);
	bind_var(l, loop, was);
	apart = now % 2 ? -apart : apart;
	if (!known || !apart || !body_is_row(u->in, apart))
		return;
	while (m->of.digits < most && all_lie_apart(u, o, loop, 2 * n, apart)) {
		m->digit[m->of.digits++] = n * apart;
		n *= 2;
	}
	m->number = (int)(now % n);
	m->first.form.constant -= m->number * apart;
}

/* Loops around the fragment's that are repeated as code, and move the operand. */
static void find_neighbours(
    const Unit *u, const FragmentOperand *o, Matrices *m)
{
	const Nest *nest = u->l->nest;
	const Stage *s = &nest->stages.at[u->stage];
	int pos = nest_loop_position(nest, s->tensor_loop);
	while (--pos >= 0 && iteration_of(u, s->loops[pos]) >= 0)
		if (body_matrices_along(
			&m->of, loop_extent(u->l, s->loops[pos])))
			add_neighbours(u, o, s->loops[pos], m);
}

/* Thread i has the address of row i % 8 of matrix i / 8. */
static Index row_address(const Unit *u, const Matrices *m)
{
	Lower *l = u->l;
	Index y = l->part->vars[u->y].value, at = m->first;
	at = index_add(l, at, l->part->vars[u->x].value, m->row);
	at = index_add(l, at, index_mod(l, y, 2), MEMBERS * m->row);
	if (m->of.digits > 0)
		at = index_add(l, at,
		    index_mod(l, index_floordiv(l, y, 2), 2), m->digit[0]);
	if (m->of.digits > 1)
		at = index_add(l, at, index_floordiv(l, y, 4), m->digit[1]);
	return at;
}

static int part_of(const Unit *u, int all, int first, int lanes)
{
	int *order = NEW_N(u->l->arena, int, lanes);
	for (int i = 0; i < lanes; i++)
		order[i] = first + i;
	Key key = {.op = LOW_SHUFFLE,
	    .type = u->in->a,
	    .lanes = lanes,
	    .arg = {all, -1, -1},
	    .shuffle = order};
	return emit_pure(u->l, &key, "fragment");
}

/* -1: the operand does not lie so. */
static int by_rows(const Unit *u, const FragmentOperand *o)
{
	Lower *l = u->l;
	const NestBuffer *b = &l->nest->buffers.at[o->buffer];
	const LowBuffer *low =
	    &l->f->buffers.at[l->part->low_buffer[o->buffer]];
	int word = fragment_word(u->in);
	Matrices m;
	if (b->scope != SCOPE_SHARED || !find_matrices(u, o, &m))
		return -1;
	find_neighbours(u, o, &m);
	LowAffine at = index_address(l, row_address(u, &m));
	if (low_affine_align(&at, b->type, low->align) % LOW_MATRIX_ROW)
		return -1;
	Key key = {.op = LOW_LOAD_MATRIX,
	    .type = b->type,
	    .lanes = word << m.of.digits,
	    .arg = {-1, -1, -1},
	    .i = m.transposed,
	    .buffer = o->buffer,
	    .address = at};
	int all = emit_load(l, &key, b->name), lanes = word << m.of.own;
	return m.of.digits == m.of.own
	    ? all
	    : part_of(u, all, m.number * lanes, lanes);
}

/* --- operands ------------------------------------------------------------------ */

/* Scalars side by side. */
static int inserted(const Unit *u, DType type, const int *words, int n)
{
	Lower *l = u->l;
	int v = dtype_is_float(type) ? const_float(l, type, n, 0)
				     : const_int(l, type, n, 0);
	for (int i = 0; i < n; i++) {
		Key key = {.op = LOW_INSERT,
		    .type = type,
		    .lanes = n,
		    .arg = {v, words[i], -1},
		    .i = i};
		v = emit_pure(l, &key, "word");
	}
	return v;
}

static int joined(const Unit *u, DType type, const int *words, int n, int lanes)
{
	if (n == 1)
		return words[0];
	if (lanes == 1)
		return inserted(u, type, words, n);
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
static int word_of(const Unit *u, const FragmentOperand *o, Index at, int step)
{
	Lower *l = u->l;
	DType type = l->nest->buffers.at[o->buffer].type;
	int n = fragment_word(u->in);
	bool together = true;
	for (int e = 1; e < n; e++)
		together &= o->steps[step + e] == o->steps[step] + e;
	at.form.constant += o->steps[step];
	if (together)
		return load_run(l, o->buffer, n, at);
	int words[4];
	for (int e = 0; e < n; e++) {
		Index one = at;
		one.form.constant += o->steps[step + e] - o->steps[step];
		words[e] = load_run(l, o->buffer, 1, one);
	}
	return inserted(u, type, words, n);
}

static Index moved(const Unit *u, Index at, int thread, int64_t by)
{
	return index_add(u->l, at, u->l->part->vars[thread].value, by);
}

static int rows_of(const Unit *u, const FragmentOperand *o)
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

static int columns_of(const Unit *u, const FragmentOperand *o)
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

/* What a thread has of a or b. */
static int loaded(const Unit *u, const FragmentOperand *o)
{
	int all = by_rows(u, o);
	if (all < 0)
		all = o->columns ? columns_of(u, o) : rows_of(u, o);
	if (!fragment_rounds(u->in))
		return all;
	return emit_op(u->l, LOW_ROUND_TF32, u->in->a,
	    fragment_lanes(u->in, o->columns), all, -1, -1, "rounded");
}

/* --- sums ---------------------------------------------------------------------- */

static int sum_of(const Unit *u, int v)
{
	Lower *l = u->l;
	const Stage *s = &l->nest->stages.at[u->stage];
	Binding row = bind_var(l, u->row, (Binding){true, index_const(v / 2)});
	Binding column =
	    bind_var(l, u->column, (Binding){true, index_const(v % 2)});
	int temp = register_temp(l, s->buffer,
	    buffer_address(l, s->buffer, s->write, s->nwrite));
	bind_var(l, u->column, column);
	bind_var(l, u->row, row);
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

bool fragment_step(Lower *l)
{
	int stage = l->stage;
	const Stage *s = &l->nest->stages.at[stage];
	Unit u = {.l = l,
	    .in = intrinsic_at(s->intrinsic),
	    .stage = stage};
	FragmentOperand a, b;
	const Expr *x = fragment_read(s->body, 0);
	const Expr *y = fragment_read(s->body, 1);
	bool done = false;
	assert(fragment_sums(u.in, s->body) && u.in->rows == 2 * GROUPS &&
	    u.in->columns == GROUPS && u.in->terms <= 64);
	if (l->machine->capability >= u.in->capability &&
	    l->nest->buffers.at[s->buffer].scope == SCOPE_REG &&
	    l->nest->buffers.at[s->buffer].type == u.in->sum &&
	    find_loops(&u) && fragment_counts(l, stage)) {
		bool right = find_rows(&u, x, &a) && find_columns(&u, y, &b);
		if (!right && x->type == y->type) /* b*a */
			right = find_rows(&u, y, &a) && find_columns(&u, x, &b);
		if (right)
			add_product(&u, loaded(&u, &a), loaded(&u, &b));
		done = right;
	}
	return done;
}
