/* A convolution by Winograd's algorithm, under --numerics=fast: by tiles of m
 * results, all transforms in the loops of the blocks that use them.
 *
 *     y[o, j] = sum[c, s](d[c, j + s]*w[o, c, s])
 * -->
 *     u, d, v, p = winograd(y, 4)
 *     parallel over blocks of tiles, or of outputs too
 *       for c                               v of a block, all channels
 *         v[i, c, tiles] = B d                lanes side by side in memory
 *       for i for tiles for c               p[i, tiles, o], in registers
 *       for tiles                           y = A p, lanes along outputs
 *
 * Two kinds of sketches.  Of `tiles`, v is made where it is used, and a block of
 * tiles has all outputs: v and p of a block stay in the second cache, u is read
 * again for each block.  Of `outputs`, v is made whole before, and blocks of
 * outputs read u once: where there are few tiles and many channels.  m is 2, 4
 * and 6. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum { LEAST_LANES = 4, LEAST_CHANNELS = 4 };

/* --- which -------------------------------------------------------------------------- */

static bool is_const_only(const Program *p, const Expr *e)
{
	if (e->op == OP_READ && !p->buffers[e->id].is_const)
		return false;
	for (int i = 0; i < e->narg; i++)
		if (!is_const_only(p, e->arg[i]))
			return false;
	return true;
}

/* The axis that lanes are along in the products: of those that the weights alone
 * have the longest; -1. */
static int output_axis(const Block *b, const Winograd *w, const int *of_weights,
    int n)
{
	int best = -1;
	for (int i = 0; i < n; i++) {
		int a = of_weights[i];
		bool shared = false;
		int axes[WINOGRAD_AXES], nown = winograd_own(w, w->data, axes);
		for (int k = 0; k < nown; k++)
			shared |= axes[k] == a;
		if (!shared && (best < 0 ||
				   b->axes[a].extent > b->axes[best].extent))
			best = a;
	}
	return best;
}

static bool find(Arena *arena, const Program *p, int block, RuleWinograd *x)
{
	const Block *b = &p->blocks[block];
	int64_t *extents = block_extents(arena, b);
	int axes[WINOGRAD_AXES];
	double channels = 1;
	if (b->naxes > WINOGRAD_AXES)
		return false;
	if (winograd_find(arena, b->reduce, b->body, extents, b->nspatial,
		b->naxes, &x->winograd) ||
	    !is_const_only(p, x->winograd.weights))
		return false;
	int n = winograd_own(&x->winograd, x->winograd.weights, axes);
	x->output = output_axis(b, &x->winograd, axes, n);
	for (int i = 0; i < n; i++)
		if (axes[i] >= b->nspatial)
			channels *= (double)extents[axes[i]];
	return x->output >= 0 && extents[x->output] >= LEAST_LANES &&
	    channels >= LEAST_CHANNELS;
}

static int heaviest(Arena *arena, const Program *p, RuleWinograd *x)
{
	int best = -1;
	for (int i = 0; i < p->nblocks; i++) {
		RuleWinograd of = {.m = x->m, .outputs = x->outputs};
		if ((best >= 0 &&
			block_work(&p->blocks[i]) <=
			    block_work(&p->blocks[best])) ||
		    !find(arena, p, i, &of))
			continue;
		best = i;
		*x = of;
	}
	return best;
}

bool winograd_fits(Arena *arena, const Program *program)
{
	RuleWinograd x = {.m = 2};
	return heaviest(arena, program, &x) >= 0;
}

static const char *const letters[] = {"u1", "u", "d", "v1", "v", "p", "y1"};

RuleForm *rule_winograd_form(const RuleForm *from, RuleWinograd *x)
{
	int at = heaviest(from->arena, from->program, x);
	if (at < 0)
		return NULL;
	const Block *y = &from->program->blocks[at];
	RuleForm *f = rule_form_copy(from);
	const char *names = "";
	for (int role = 0; role < WINOGRAD_PARTS; role++) {
		int i = winograd_number(&x->winograd, (WinogradRole)role);
		if (i < 0)
			continue;
		x->block[role] = at + i;
		names = arena_printf(f->arena, "%s%s%s", names, i ? ", " : "",
		    rule_new_name(f, y, letters[role]));
	}
	x->whole = at + winograd_nparts(&x->winograd);
	return rule_rewrite(f, "%s = winograd(%s, %d)\n", names, y->name, x->m)
	    ? f
	    : NULL;
}

/* --- names -------------------------------------------------------------------------- */

/* An axis of the block that writes, and what it is of the products. */
typedef struct {
	Rules *r;
	const RuleWinograd *x;
	const Winograd *w;
	const Block *writer;
	int *axis;         /* by spatial axis of the convolution: the writer's */
	int lanes;         /* of the outputs */
	const char *place; /* loop around a block of tiles */
	const char *inner; /* and around one tile's results, of some outputs */
} Making;

static const Block *block_of(const Making *k, WinogradRole role)
{
	return &k->r->program->blocks[k->x->block[role]];
}

static const char *name_of(const Making *k, WinogradRole role)
{
	return block_of(k, role)->name;
}

/* A loop that a split gives. */
static const char *loop(
    const Making *k, WinogradRole role, int axis, const char *suffix)
{
	const Block *b = block_of(k, role);
	return rule_name(k->r, b, b->axes[axis].name, suffix);
}

static const char *writer_loop(const Making *k, int axis, const char *suffix)
{
	return rule_name(k->r, k->writer,
	    k->writer->axes[k->axis[axis]].name, suffix);
}

static int pair_of(const Making *k, int axis)
{
	for (int p = 0; p < k->w->npairs; p++)
		if (k->w->y[p] == axis)
			return p;
	return -1;
}

static int64_t tiles_of(const Making *k, int pair)
{
	return (k->w->extent[pair] - 1) / k->x->m + 1;
}

/* Of the values those that are no longer than the axis. */
static void put_values(Making *k, const int *values, int n, int64_t most)
{
	rule_put(k->r, "[");
	for (int i = 0; i < n; i++)
		if (values[i] <= most || !i)
			rule_put(k->r, "%s%d", i ? ", " : "", values[i]);
	rule_put(k->r, "]");
}

static const int tile_values[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20,
    28, 32, 56};
static const int row_values[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14};
static const int few_values[] = {1, 2, 3, 4};
static const int vector_values[] = {1, 2, 3, 4, 6, 8, 16};
#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

/* --- the writer ------------------------------------------------------------------- */

/* The block that the results are inlined into; by axis of the convolution its
 * own, as what it reads has it: y//m, or the axis. */
static void find_writer(Making *k)
{
	const Rules *r = k->r;
	WinogradRole last = k->w->npairs == 2 ? WINOGRAD_Y1 : WINOGRAD_P;
	int buffer = block_of(k, last)->buffer, at = k->x->whole;
	while (r->blocks[at].inlined || !expr_find_read(r->bodies[at], buffer))
		at++;
	const Expr *read = expr_find_read(r->bodies[at], buffer);
	k->writer = &r->program->blocks[at];
	k->axis = NEW_N(r->arena, int, k->w->nspatial);
	for (int a = 0; a < k->w->nspatial; a++) {
		const Expr *e = read->arg[a];
		k->axis[a] = e->op == OP_FLOORDIV ? e->arg[0]->id : e->id;
	}
}

static bool is_batch(const Making *k, int axis)
{
	return axis != k->x->output && pair_of(k, axis) < 0;
}

/* The axis in blocks; of `outputs` the vectors in two levels. */
static void split_writer(Making *k)
{
	const char *w = k->writer->name;
	for (int a = 0; a < k->w->nspatial; a++) {
		const char *of = k->writer->axes[k->axis[a]].name;
		bool output = a == k->x->output;
		int64_t n = output
		    ? (k->w->extents[a] - 1) / k->lanes + 1
		    : pair_of(k, a) < 0 ? 0 : tiles_of(k, pair_of(k, a));
		if (is_batch(k, a))
			continue;
		if (output && !k->x->outputs) {
			rule_put(k->r, "%s, %s = split(%s.%s, [_, %d])\n",
			    writer_loop(k, a, "1"), writer_loop(k, a, "2"), w,
			    of, k->lanes);
			continue;
		}
		rule_put(k->r, "%s, %s, %s = split(%s.%s, ? in tile(",
		    writer_loop(k, a, "0"), writer_loop(k, a, "1"),
		    writer_loop(k, a, "2"), w, of);
		if (output)
			put_values(k, vector_values, COUNT(vector_values), n);
		else
			put_values(k, tile_values, COUNT(tile_values), n);
		rule_put(k->r, ", [%d]))\n", output ? k->lanes : k->x->m);
	}
}

/* The loops around a block: those of batches, outputs, tiles. */
static void put_outer(Making *k, const char *separator)
{
	const char *next = "";
	for (int a = 0; a < k->w->nspatial; a++)
		if (is_batch(k, a)) {
			rule_put(k->r, "%s%s.%s", next, k->writer->name,
			    k->writer->axes[k->axis[a]].name);
			next = separator;
		}
	if (k->x->outputs) {
		rule_put(k->r, "%s%s", next,
		    writer_loop(k, k->x->output, "0"));
		next = separator;
	}
	for (int p = 0; p < k->w->npairs; p++) {
		rule_put(k->r, "%s%s", next,
		    writer_loop(k, k->w->y[p], "0"));
		next = separator;
	}
}

static int outer_loops(const Making *k)
{
	int n = k->x->outputs + k->w->npairs;
	for (int a = 0; a < k->w->nspatial; a++)
		n += is_batch(k, a);
	return n;
}

static void put_pairs(Making *k, const char *suffix)
{
	for (int p = 0; p < k->w->npairs; p++)
		rule_put(k->r, ", %s", writer_loop(k, k->w->y[p], suffix));
}

static void put_writer(Making *k)
{
	int output = k->x->output;
	split_writer(k);
	rule_put(k->r, "reorder(");
	put_outer(k, ", ");
	put_pairs(k, "1");
	k->inner = writer_loop(k, output, "1");
	rule_put(k->r, ", %s", k->inner);
	put_pairs(k, "2");
	rule_put(k->r, ", %s)\n", writer_loop(k, output, "2"));
	for (int p = 0; p < k->w->npairs; p++)
		rule_put(k->r, "unroll(%s)\n",
		    writer_loop(k, k->w->y[p], "2"));
	rule_put(k->r, "vectorize(%s, %d)\ntail(%s, mask)\n",
	    writer_loop(k, output, "2"), k->lanes, k->writer->name);
	k->place = writer_loop(k, k->w->y[0], "0");
	if (outer_loops(k) > 1) {
		k->place = rule_name(k->r, k->writer, "tile", "");
		rule_put(k->r, "%s = fuse(", k->place);
		put_outer(k, ", ");
		rule_put(k->r, ")\n");
	}
	if (k->r->machine->threads > 1)
		rule_put(k->r, "parallel(%s)\n", k->place);
}

/* --- results ------------------------------------------------------------------------ */

/* Down the columns of one tile, in registers. */
static void put_columns(Making *k)
{
	const Block *b = block_of(k, WINOGRAD_Y1);
	const char *outer = loop(k, WINOGRAD_Y1, k->x->output, "1");
	const char *lane = loop(k, WINOGRAD_Y1, k->x->output, "v");
	rule_put(k->r,
	    "compute_at(%s, %s)\nset_scope(%s, reg)\n"
	    "%s, %s = split(%s.%s, [_, %d])\nreorder(",
	    b->name, k->inner, b->name, outer, lane, b->name,
	    b->axes[k->x->output].name, k->lanes);
	for (int a = 0; a < b->naxes; a++)
		if (a != k->x->output)
			rule_put(k->r, "%s.%s, ", b->name, b->axes[a].name);
	rule_put(k->r, "%s, %s)\nunroll(%s)\n", outer, lane, outer);
	for (int a = 0; a < b->naxes; a++)
		if (a != k->x->output)
			rule_put(k->r, "unroll(%s.%s)\n", b->name,
			    b->axes[a].name);
	rule_put(k->r, "vectorize(%s, %d)\n", lane, k->lanes);
}

/* --- products ------------------------------------------------------------------------- */

/* The last channels are unrolled, where so many divide them. */
static void split_channels(Making *k, int last)
{
	const Block *b = block_of(k, WINOGRAD_P);
	int64_t n = b->axes[last].extent;
	rule_put(k->r, "%s, %s = split(%s.%s, ? in tile([1%s%s]))\n",
	    loop(k, WINOGRAD_P, last, "0"), loop(k, WINOGRAD_P, last, "1"),
	    b->name, b->axes[last].name, n % 2 ? "" : ", 2",
	    n % 4 ? "" : ", 4");
}

static void split_products(Making *k)
{
	const Block *b = block_of(k, WINOGRAD_P);
	int o = k->x->output;
	int64_t vectors = (k->w->extents[o] - 1) / k->lanes + 1;
	rule_put(k->r, "%s, %s, %s = split(%s.%s, ? in tile(",
	    loop(k, WINOGRAD_P, o, "0"), loop(k, WINOGRAD_P, o, "1"),
	    loop(k, WINOGRAD_P, o, "v"), b->name, b->axes[o].name);
	put_values(k, few_values, COUNT(few_values), vectors);
	rule_put(k->r, ", [%d]))\n", k->lanes);
	for (int p = 0; p < k->w->npairs; p++) {
		int y = k->w->y[p];
		bool last = p == k->w->npairs - 1;
		rule_put(k->r, "%s, %s = split(%s.%s, ? in tile(",
		    loop(k, WINOGRAD_P, y, "0"), loop(k, WINOGRAD_P, y, "1"),
		    b->name, b->axes[y].name);
		put_values(k, last ? row_values : few_values,
		    last ? COUNT(row_values) : COUNT(few_values),
		    tiles_of(k, p));
		rule_put(k->r, "))\n");
	}
	split_channels(k, b->naxes - 1);
}

static void order_products(Making *k)
{
	const Block *b = block_of(k, WINOGRAD_P);
	int o = k->x->output, last = b->naxes - 1;
	rule_put(k->r, "reorder(");
	for (int a = 0; a < b->nspatial; a++)
		if (a >= k->w->nspatial || is_batch(k, a))
			rule_put(k->r, "%s.%s, ", b->name, b->axes[a].name);
	rule_put(k->r, "%s", loop(k, WINOGRAD_P, o, "0"));
	for (int p = 0; p < k->w->npairs; p++)
		rule_put(k->r, ", %s", loop(k, WINOGRAD_P, k->w->y[p], "0"));
	for (int a = b->nspatial; a < last; a++)
		rule_put(k->r, ", %s.%s", b->name, b->axes[a].name);
	rule_put(k->r, ", %s, %s", loop(k, WINOGRAD_P, last, "0"),
	    loop(k, WINOGRAD_P, last, "1"));
	for (int p = 0; p < k->w->npairs; p++)
		rule_put(k->r, ", %s", loop(k, WINOGRAD_P, k->w->y[p], "1"));
	rule_put(k->r, ", %s, %s)\n", loop(k, WINOGRAD_P, o, "1"),
	    loop(k, WINOGRAD_P, o, "v"));
	rule_put(k->r, "unroll(%s)\nunroll(%s)\n",
	    loop(k, WINOGRAD_P, last, "1"), loop(k, WINOGRAD_P, o, "1"));
	for (int p = 0; p < k->w->npairs; p++)
		rule_put(k->r, "unroll(%s)\n",
		    loop(k, WINOGRAD_P, k->w->y[p], "1"));
	rule_put(k->r, "vectorize(%s, %d)\ntail(%s, mask)\n",
	    loop(k, WINOGRAD_P, o, "v"), k->lanes, b->name);
}

/* Outputs side by side, tiles around them. */
static void put_products(Making *k)
{
	const Block *b = block_of(k, WINOGRAD_P);
	rule_put(k->r, "compute_at(%s, %s)\ntransform_layout(%s, [", b->name,
	    k->place, b->name);
	for (int a = 0; a < b->nspatial; a++)
		if (a >= k->w->nspatial || is_batch(k, a))
			rule_put(k->r, "%s, ", b->axes[a].name);
	for (int p = 0; p < k->w->npairs; p++)
		rule_put(k->r, "%s, ", b->axes[k->w->y[p]].name);
	rule_put(k->r, "%s])\n", b->axes[k->x->output].name);
	split_products(k);
	order_products(k);
}

/* --- weights --------------------------------------------------------------------------- */

static void put_unrolled(Making *k, WinogradRole role, int first)
{
	const Block *b = block_of(k, role);
	for (int a = first; a < b->naxes; a++)
		rule_put(k->r, "unroll(%s.%s)\n", b->name, b->axes[a].name);
}

/* In the order in which the products read them. */
static void put_weights(Making *k)
{
	const Block *u = block_of(k, WINOGRAD_U);
	int own[WINOGRAD_AXES], o = -1;
	int n = winograd_own(k->w, k->w->weights, own);
	const char *vectors = loop(k, WINOGRAD_P, k->x->output, "1");
	const char *lane = loop(k, WINOGRAD_P, k->x->output, "v");
	rule_put(k->r, "transform_layout(%s, [", u->name);
	for (int i = 0; i < n; i++) {
		if (own[i] == k->x->output)
			o = i;
		else if (own[i] < k->w->nspatial)
			rule_put(k->r, "%s, ", u->axes[i].name);
	}
	for (int a = n; a < u->naxes; a++)
		rule_put(k->r, "%s, ", u->axes[a].name);
	rule_put(k->r, "%s//(%s*%s), ", u->axes[o].name, vectors, lane);
	for (int i = 0; i < n; i++)
		if (own[i] >= k->w->nspatial)
			rule_put(k->r, "%s, ", u->axes[i].name);
	rule_put(k->r, "%s%%(%s*%s)])\n", u->axes[o].name, vectors, lane);
	put_unrolled(k, WINOGRAD_U, n);
	if (k->w->npairs == 1)
		return;
	rule_put(k->r, "compute_at(%s, %s.%s)\nset_scope(%s, reg)\n",
	    name_of(k, WINOGRAD_U1), u->name, u->axes[n - 1].name,
	    name_of(k, WINOGRAD_U1));
	put_unrolled(k, WINOGRAD_U1, 0);
}

/* --- data -------------------------------------------------------------------------------- */

static const Expr *deepest_read(const Expr *e)
{
	const Expr *read = e->op == OP_READ ? e : NULL;
	for (int i = 0; i < e->narg && !read; i++)
		read = deepest_read(e->arg[i]);
	return read;
}

/* Which of the data's own axes lies side by side in memory; -1: that of the
 * tiles does. */
static int side_by_side(const Making *k, const int *own, int n)
{
	const Expr *read = deepest_read(k->w->data);
	const Expr *last = read->narg ? read->arg[read->narg - 1] : read;
	for (int i = 0; i < n; i++)
		if (expr_has_axis(last, own[i]) &&
		    k->w->extents[own[i]] >= LEAST_LANES)
			return i;
	return -1;
}

typedef struct {
	int n;         /* own axes, which the tiles' follow */
	int own[WINOGRAD_AXES];
	int side;      /* see above */
	int lanes;     /* of the data transformed */
	const char *around; /* loop around vectors of it */
} Data;

/* Enough for all tiles of a row. */
static int lanes_for(const Making *k, const Data *d)
{
	int64_t n = d->side < 0 ? tiles_of(k, k->w->npairs - 1)
				: k->w->extents[d->own[d->side]];
	int lanes = k->lanes;
	while (lanes > LEAST_LANES && n * 2 <= lanes)
		lanes /= 2;
	return lanes;
}

/* A stage with lanes along an axis; those of `inside` run around one vector, the
 * last of them in code, all others around vectors. */
static void put_lanes(Making *k, WinogradRole role, int axis, int lanes,
    const int *inside, int n)
{
	const Block *b = block_of(k, role);
	const char *outer = loop(k, role, axis, "0");
	const char *lane = loop(k, role, axis, "v");
	rule_put(k->r, "%s, %s = split(%s.%s, [_, %d])\nreorder(", outer, lane,
	    b->name, b->axes[axis].name, lanes);
	for (int a = 0; a < b->naxes; a++) {
		bool other = a != axis;
		for (int i = 0; i < n; i++)
			other &= a != inside[i];
		if (other)
			rule_put(k->r, "%s.%s, ", b->name, b->axes[a].name);
	}
	rule_put(k->r, "%s, ", outer);
	for (int i = 0; i < n; i++)
		rule_put(k->r, "%s.%s, ", b->name, b->axes[inside[i]].name);
	rule_put(k->r, "%s)\n", lane);
	if (n)
		rule_put(k->r, "unroll(%s.%s)\n", b->name,
		    b->axes[inside[n - 1]].name);
	rule_put(k->r, "vectorize(%s, %d)\ntail(%s, mask)\n", lane, lanes,
	    b->name);
}

/* All of a stage in code, in registers. */
static void put_registers(Making *k, WinogradRole role, int axis, int lanes)
{
	const Block *b = block_of(k, role);
	const char *outer = loop(k, role, axis, "0");
	const char *lane = loop(k, role, axis, "v");
	rule_put(k->r, "set_scope(%s, reg)\n%s, %s = split(%s.%s, [_, %d])\n"
		       "reorder(", b->name, outer, lane, b->name,
	    b->axes[axis].name, lanes);
	for (int a = 0; a < b->naxes; a++)
		if (a != axis)
			rule_put(k->r, "%s.%s, ", b->name, b->axes[a].name);
	rule_put(k->r, "%s, %s)\n", outer, lane);
	for (int a = 0; a < b->naxes; a++)
		if (a != axis)
			rule_put(k->r, "unroll(%s.%s)\n", b->name,
			    b->axes[a].name);
	rule_put(k->r, "unroll(%s)\nvectorize(%s, %d)\n", outer, lane, lanes);
}

/* Threads along the longest axis that lanes are not along. */
static void put_threads(Making *k, const Data *d, int axis)
{
	const Block *b = block_of(k, WINOGRAD_V);
	int best = -1;
	for (int a = 0; a < d->n + k->w->npairs; a++)
		if (a != axis && (best < 0 ||
				     b->axes[a].extent > b->axes[best].extent))
			best = a;
	if (k->r->machine->threads > 1 && best >= 0)
		rule_put(k->r, "parallel(%s.%s)\n", b->name,
		    b->axes[best].name);
}

static void layout_data(Making *k, const Data *d)
{
	const Block *v = block_of(k, WINOGRAD_V);
	rule_put(k->r, "transform_layout(%s, [", v->name);
	for (int i = 0; i < d->n; i++)
		if (d->own[i] < k->w->nspatial)
			rule_put(k->r, "%s, ", v->axes[i].name);
	for (int a = d->n + k->w->npairs; a < v->naxes; a++)
		rule_put(k->r, "%s, ", v->axes[a].name);
	const char *next = "";
	for (int half = 0; half < 2; half++) {
		bool channels = half == (d->side >= 0);
		for (int i = 0; i < d->n && channels; i++)
			if (d->own[i] >= k->w->nspatial) {
				rule_put(k->r, "%s%s", next, v->axes[i].name);
				next = ", ";
			}
		for (int p = 0; p < k->w->npairs && !channels; p++) {
			rule_put(k->r, "%s%s", next,
			    v->axes[d->n + p].name);
			next = ", ";
		}
	}
	rule_put(k->r, "])\n");
}

/* The data transformed, of one place in a tile after the other. */
static void put_data(Making *k, Data *d)
{
	int n = d->n, pairs = k->w->npairs;
	int axis = d->side < 0 ? n + pairs - 1 : d->side;
	int inside[] = {n + pairs, n + pairs + 1};
	if (!k->x->outputs)
		rule_put(k->r, "compute_at(%s, %s)\n", name_of(k, WINOGRAD_V),
		    k->place);
	else
		put_threads(k, d, axis);
	layout_data(k, d);
	put_lanes(k, WINOGRAD_V, axis, d->lanes, inside, pairs);
	d->around = loop(k, WINOGRAD_V, axis, "0");
}

/* What that reads, down the columns: for a few vectors of it, from rows in
 * registers. */
static void put_first_data(Making *k, Data *d)
{
	int n = d->n, lanes = d->side < 0 ? k->lanes : d->lanes;
	int axis = d->side < 0 ? n + 2 : d->side;
	int inside[] = {n + 2, n + 1}, only[] = {n + 1};
	rule_put(k->r, "compute_at(%s, %s)\n", name_of(k, WINOGRAD_V1),
	    d->around);
	put_lanes(k, WINOGRAD_V1, axis, lanes, d->side < 0 ? only : inside,
	    d->side < 0 ? 1 : 2);
	const Block *v1 = block_of(k, WINOGRAD_V1);
	d->around = d->side < 0
	    ? loop(k, WINOGRAD_V1, axis, "0")
	    : arena_printf(k->r->arena, "%s.%s", v1->name,
		  v1->axes[n + 2].name);
	rule_put(k->r, "compute_at(%s, %s)\n", name_of(k, WINOGRAD_D),
	    d->around);
	put_registers(k, WINOGRAD_D, d->side < 0 ? n + 1 : d->side, lanes);
}

static void put_all_data(Making *k)
{
	Data d = {0};
	d.n = winograd_own(k->w, k->w->data, d.own);
	d.side = side_by_side(k, d.own, d.n);
	d.lanes = lanes_for(k, &d);
	put_data(k, &d);
	if (k->w->npairs == 2) {
		put_first_data(k, &d);
		return;
	}
	rule_put(k->r, "compute_at(%s, %s)\n", name_of(k, WINOGRAD_D),
	    d.around);
	if (d.side < 0)
		put_lanes(k, WINOGRAD_D, d.n, k->lanes, NULL, 0);
	else
		put_registers(k, WINOGRAD_D, d.side, d.lanes);
}

/* --- the rule ---------------------------------------------------------------------------- */

bool rule_winograd_keeps(const Rules *r, int block)
{
	if (!r->winograd)
		return false;
	for (int role = 0; role < WINOGRAD_PARTS; role++)
		if (winograd_number(&r->winograd->winograd,
			(WinogradRole)role) >= 0 &&
		    r->winograd->block[role] == block)
			return true;
	return false;
}

bool rule_winograd_results(const Rules *r, const Expr *body)
{
	const RuleWinograd *x = r->winograd;
	WinogradRole last;
	if (!x)
		return false;
	last = x->winograd.npairs == 2 ? WINOGRAD_Y1 : WINOGRAD_P;
	return expr_find_read(
	    body, r->program->blocks[x->block[last]].buffer);
}

bool rule_winograd_applies(const Rules *r, int i)
{
	return r->winograd && i == r->winograd->whole;
}

void rule_winograd(Rules *r, int i)
{
	const RuleWinograd *x = r->winograd;
	Making k = {.r = r, .x = x, .w = &x->winograd,
	    .lanes = rule_lanes(r->machine, DT_F32)};
	assert(i == x->whole);
	find_writer(&k);
	put_writer(&k);
	if (k.w->npairs == 2)
		put_columns(&k);
	put_products(&k);
	put_weights(&k);
	put_all_data(&k);
	for (int b = 0; b < r->program->nblocks; b++) {
		bool writer = &r->program->blocks[b] == k.writer;
		if (!writer && !rule_winograd_keeps(r, b))
			continue;
		r->blocks[b].scheduled = true;
		rule_root(r, b);
	}
}
