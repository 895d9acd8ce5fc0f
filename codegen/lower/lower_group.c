/* Tensorized steps of a warpgroup: matrices that a block shares, multiplied by one
 * WGMMA into the sums of 128 threads.
 *
 *     threadIdx.z w < 4, threadIdx.y g < 8, threadIdx.x t < 4
 *       for i1 < 2 for j0 < 16 for j1 < 2 for k < 64
 *         c[16*w + 8*i1 + g, 8*j0 + 2*t + j1] += a_s[.., k] * b_s[k, ..]
 * -->
 *       c[0 .. 63] = wgmma a_s[0, 0], b_s[0, 0], c[0 .. 63]
 *
 * With more threads in z, each four of them are a warpgroup.  Both operands are
 * shared buffers with swizzle(128) whose rows of 128 bytes are all steps of a row
 * (column), or, for elements of 2 bytes, 64 rows (columns) of a step: what the
 * addresses say for each of the matrices' rows, columns and steps.
 *
 * All of it must count, in all threads; else nothing is emitted here and the
 * loops are repeated. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

enum { GROUPS = 8, MEMBERS = 4 }; /* threads of a warp along rows, columns */

typedef struct {
	Lower *l;
	const Intrinsic *in;
	int stage;
	int row, column, pair, step; /* loops of the unit: of 2, columns/8, 2, terms */
	int x, y, z;                 /* threads' */
	int columns;
} Group;

/* --- the loops -------------------------------------------------------------------- */

static int thread_loop(const Group *u, LoopKind kind)
{
	const Nest *nest = u->l->nest;
	const Stage *s = &nest->stages.at[u->stage];
	for (int i = 0; i < s->nloops; i++) {
		int loop = s->loops[i];
		if (nest->vars.at[loop].kind == kind)
			return loop_extent(u->l, loop) ==
				nest_launch_extent(nest, loop) ? loop : -1;
	}
	return -1;
}

static bool find_loops(Group *u)
{
	Lower *l = u->l;
	const Stage *s = &l->nest->stages.at[u->stage];
	int first = nest_loop_position(l->nest, s->tensor_loop);
	u->row = s->loops[first];
	u->column = s->loops[first + 1];
	u->pair = s->loops[first + 2];
	u->step = s->loops[first + 3];
	u->columns = (int)loop_extent(l, u->column) * GROUPS;
	u->x = thread_loop(u, LOOP_THREAD_X);
	u->y = thread_loop(u, LOOP_THREAD_Y);
	u->z = thread_loop(u, LOOP_THREAD_Z);
	return u->x >= 0 && u->y >= 0 && u->z >= 0 &&
	    loop_extent(l, u->x) == MEMBERS && loop_extent(l, u->y) == GROUPS &&
	    loop_extent(l, u->z) % GROUP_WARPS == 0 &&
	    !(u->columns & (u->columns - 1)) &&
	    u->columns <= GROUP_MOST_COLUMNS;
}

/* --- addresses -------------------------------------------------------------------- */

/* An element of the warpgroup's matrices: row m of a, column n of b, step k. */
static Index place_at(const Group *u, const Expr *read, int m, int n, int k)
{
	Lower *l = u->l;
	Index group = index_scale(l,
	    index_floordiv(l, l->part->vars[u->z].value, GROUP_WARPS),
	    GROUP_WARPS);
	const struct {
		int loop;
		Index value;
	} bound[] = {
	    {u->z, index_add(l, group, index_const(m / 16), 1)},
	    {u->row, index_const(m / GROUPS % 2)},
	    {u->y, index_const(m % GROUPS)},
	    {u->column, index_const(n / GROUPS)},
	    {u->x, index_const(n % GROUPS / 2)},
	    {u->pair, index_const(n % 2)},
	    {u->step, index_const(k)}};
	enum { N = sizeof bound / sizeof *bound };
	Binding was[N];
	for (int i = 0; i < N; i++)
		was[i] = bind_var(l, bound[i].loop, (Binding){true, bound[i].value});
	Index at = buffer_place(l, read->id, read->arg, read->narg);
	for (int i = N - 1; i >= 0; i--)
		bind_var(l, bound[i].loop, was[i]);
	return at;
}

/* Of which operand; its rows or columns; where they and the steps lie. */
typedef struct {
	const Expr *read;
	bool b;
	int lines;
	Index first;
	LowTile tile;
} Matrix;

static bool distance(const Group *u, const Matrix *x, int line, int k,
    int64_t *apart)
{
	Index at = place_at(u, x->read, x->b ? 0 : line, x->b ? line : 0, k);
	return at.vector < 0 && index_is_const(
	    index_add(u->l, at, x->first, -1), apart);
}

/* Does each index move with the matrix's own lines or with steps, or neither, and
 * none with the other's?  Then what lies where along each says all. */
static bool moves_apart(const Group *u, const Matrix *x)
{
	Lower *l = u->l;
	int own = l->nest->vars.at[x->b ? u->column : u->row].axis;
	int other = l->nest->vars.at[x->b ? u->row : u->column].axis;
	int step = l->nest->vars.at[u->step].axis;
	for (int d = 0; d < x->read->narg; d++)
		if (expr_has_axis(x->read->arg[d], other) ||
		    (expr_has_axis(x->read->arg[d], own) &&
			expr_has_axis(x->read->arg[d], step)))
			return false;
	return true;
}

static bool lies_along(const Group *u, const Matrix *x)
{
	int64_t apart;
	for (int k = 1; k < u->in->terms; k++)
		if (!distance(u, x, 0, k, &apart) || apart != k)
			return false;
	for (int m = 1; m < x->lines; m++)
		if (!distance(u, x, m, 0, &apart) ||
		    apart != (int64_t)m * u->in->terms)
			return false;
	return true;
}

static bool lies_across(const Group *u, Matrix *x)
{
	int each = u->in->terms;
	int64_t apart, next = 0;
	if (dtype_bytes(x->read->type) != 2 ||
	    (x->lines > each && !distance(u, x, each, 0, &next)))
		return false;
	for (int k = 1; k < u->in->terms; k++)
		if (!distance(u, x, 0, k, &apart) || apart != (int64_t)k * each)
			return false;
	for (int m = 1; m < x->lines; m++)
		if (!distance(u, x, m, 0, &apart) ||
		    apart != m / each * next + m % each)
			return false;
	x->tile = (LowTile){true, next};
	return next >= 0 &&
	    next * dtype_bytes(x->read->type) % (GROUPS * GROUP_LINE) == 0;
}

static bool find_matrix(const Group *u, const Expr *read, bool b, Matrix *x)
{
	const NestBuffer *buffer = &u->l->nest->buffers.at[read->id];
	*x = (Matrix){.read = read,
	    .b = b,
	    .lines = b ? u->columns : GROUP_ROWS};
	if (buffer->scope != SCOPE_SHARED || buffer->swizzle != GROUP_LINE ||
	    !moves_apart(u, x))
		return false;
	x->first = place_at(u, read, 0, 0, 0);
	return x->first.vector < 0 &&
	    low_affine_align(&x->first.form, buffer->type,
		GROUPS * GROUP_LINE) == GROUPS * GROUP_LINE &&
	    (lies_along(u, x) || lies_across(u, x));
}

/* --- sums ------------------------------------------------------------------------- */

/* Sum v of a thread (ir/intrinsic.h). */
static int sum_of(const Group *u, int v)
{
	Lower *l = u->l;
	const Stage *s = &l->nest->stages.at[u->stage];
	const int loops[] = {u->row, u->column, u->pair};
	const int at[] = {v / 2 % 2, v / 4, v % 2};
	Binding was[3];
	for (int i = 0; i < 3; i++)
		was[i] = bind_var(l, loops[i], (Binding){true, index_const(at[i])});
	int temp = register_temp(l, s->buffer,
	    buffer_address(l, s->buffer, s->write, s->nwrite));
	for (int i = 2; i >= 0; i--)
		bind_var(l, loops[i], was[i]);
	return temp;
}

static int pair_of(const Group *u, const int *sums)
{
	Lower *l = u->l;
	DType type = u->in->sum;
	int pair = dtype_is_float(type) ? const_float(l, type, 2, 0)
					: const_int(l, type, 2, 0);
	for (int i = 0; i < 2; i++) {
		Key key = {.op = LOW_INSERT,
		    .type = type,
		    .lanes = 2,
		    .arg = {pair, sums[i], -1},
		    .i = i};
		pair = emit_pure(l, &key, "sums");
	}
	return pair;
}

static int joined(const Group *u, const int *sums, int n)
{
	if (n == 2)
		return pair_of(u, sums);
	int *order = NEW_N(u->l->arena, int, n);
	for (int i = 0; i < n; i++)
		order[i] = i;
	Key key = {.op = LOW_SHUFFLE,
	    .type = u->in->sum,
	    .lanes = n,
	    .arg = {joined(u, sums, n / 2), joined(u, sums + n / 2, n / 2), -1},
	    .shuffle = order};
	return emit_pure(u->l, &key, "sums");
}

static void add_product(const Group *u, const Matrix *a, const Matrix *b)
{
	Lower *l = u->l;
	int n = u->columns / 2;
	int *sums = NEW_N(l->arena, int, n);
	LowTile *tiles = NEW_N(l->arena, LowTile, 2);
	for (int v = 0; v < n; v++)
		sums[v] = sum_of(u, v);
	int all = joined(u, sums, n), d = new_temp(l, u->in->sum, n, "wgmma");
	tiles[0] = a->tile;
	tiles[1] = b->tile;
	LowNode *node = emit_into(l, d, LOW_WGMMA, all, -1, -1);
	node->source = l->part->low_buffer[a->read->id];
	node->from = a->first.form;
	node->buffer = l->part->low_buffer[b->read->id];
	node->address = b->first.form;
	node->tiles = tiles;
	for (int v = 0; v < n; v++)
		emit_into(l, sums[v], LOW_EXTRACT, d, -1, -1)->i = v;
}

bool group_step(Lower *l)
{
	int stage = l->stage;
	const Stage *s = &l->nest->stages.at[stage];
	Group u = {.l = l,
	    .in = intrinsic_at(s->intrinsic),
	    .stage = stage};
	const Expr *x = s->body->arg[0]->arg[0], *y = s->body->arg[1]->arg[0];
	Matrix a, b;
	bool done = false;
	assert(fragment_sums(u.in, s->body));
	if (l->machine->warpgroups &&
	    l->nest->buffers.at[s->buffer].scope == SCOPE_REG &&
	    l->nest->buffers.at[s->buffer].type == u.in->sum &&
	    find_loops(&u) && fragment_counts(l, stage)) {
		done = find_matrix(&u, x, false, &a) &&
		    find_matrix(&u, y, true, &b);
		if (!done) /* b*a */
			done = find_matrix(&u, y, false, &a) &&
			    find_matrix(&u, x, true, &b);
		if (done)
			add_product(&u, &a, &b);
	}
	return done;
}
