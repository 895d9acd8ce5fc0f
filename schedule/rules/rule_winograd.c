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
#include <string.h>

enum { LEAST_LANES = 4, LEAST_CHANNELS = 4 };

/* --- which -------------------------------------------------------------------------- */

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
	    !rule_is_ahead(p, x->winograd.weights))
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
	assert(x->output >= 0 && x->output < y->nspatial);
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
	const char *const *pairs[2]; /* the writer's loops of tiles */
	const char *vectors, *lane;  /* of the products */
} Making;

static const Block *block_of(const Making *k, WinogradRole role)
{
	return &k->r->program->blocks[k->x->block[role]];
}

static const char *name_of(const Making *k, WinogradRole role)
{
	return block_of(k, role)->name;
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

static const int tile_values[] = {
    1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 28, 32, 56, 0};
static const int row_values[] = {1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 0};
static const int few_values[] = {1, 2, 3, 4, 0};
static const int vector_values[] = {1, 2, 3, 4, 6, 8, 16, 0};

/* --- the writer ------------------------------------------------------------------- */

/* The block that the results are inlined into; by axis of the convolution its
 * own, as what it reads has it: y//m, or the axis. */
static void find_writer(Making *k)
{
	const Rules *r = k->r;
	WinogradRole last = k->w->npairs == 2 ? WINOGRAD_Y1 : WINOGRAD_P;
	int buffer = block_of(k, last)->buffer, at = k->x->whole;
	while (at < r->program->nblocks &&
	    (r->blocks[at].inlined || !expr_find_read(r->bodies[at], buffer)))
		at++;
	assert(at < r->program->nblocks);
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
static const char *const *split_writer(Making *k, int axis, bool output)
{
	Rules *r = k->r;
	if (output && !k->x->outputs)
		return rule_split(r, k->writer->name, k->writer, k->axis[axis],
		    "1 2", "[_, %d]", k->lanes);
	int64_t n = output ? (k->w->extents[axis] - 1) / k->lanes + 1
			   : tiles_of(k, pair_of(k, axis));
	return rule_split(r, k->writer->name, k->writer, k->axis[axis], "0 1 2",
	    "? in tile([%s], [%d])",
	    rule_sizes(r, output ? vector_values : tile_values, n),
	    output ? k->lanes : k->x->m);
}

/* Around a block are the loops of batches, outputs, tiles. */
static void put_writer(Making *k)
{
	Rules *r = k->r;
	const char *outputs = "", *outer = "", *tiles = "", *results = "",
		   *lane = "";
	for (int a = 0; a < k->w->nspatial; a++) {
		bool output = a == k->x->output;
		if (is_batch(k, a)) {
			outer = rule_and(
			    r, outer, k->writer->name, k->writer, k->axis[a]);
			continue;
		}
		const char *const *p = split_writer(k, a, output);
		if (!output) {
			int pair = pair_of(k, a);
			k->pairs[pair] = p;
			continue;
		}
		bool blocks = k->x->outputs;
		outputs = blocks ? p[0] : "";
		k->inner = p[blocks];
		lane = p[blocks + 1];
	}
	outer = rule_join(r, outer, outputs);
	for (int p = 0; p < k->w->npairs; p++) {
		outer = rule_join(r, outer, k->pairs[p][0]);
		tiles = rule_join(r, tiles, k->pairs[p][1]);
		results = rule_join(r, results, k->pairs[p][2]);
	}
	rule_put(r, "reorder(%s, %s, %s, %s, %s)\n", outer, tiles, k->inner,
	    results, lane);
	rule_vectors(r, results, lane, k->lanes);
	rule_put(r, "tail(%s, mask)\n", k->writer->name);
	k->place = rule_fuse(r, outer, rule_name(r, k->writer, "tile", ""));
	rule_parallel(r, k->place);
}

/* --- results ------------------------------------------------------------------------ */

/* All of a stage in code, in registers. */
static void put_registers(Making *k, WinogradRole role, int axis, int lanes)
{
	Rules *r = k->r;
	const Block *b = block_of(k, role);
	const char *all = rule_loops(r, b->name, b, 0, b->naxes, axis, -1);
	bool last = role == WINOGRAD_Y1;
	rule_put(r, "set_scope(%s, reg)\n", b->name);
	const char *const *x = rule_split(
	    r, b->name, b, axis, last ? "1 v" : "0 v", "[_, %d]", lanes);
	rule_put(r, "reorder(%s, %s, %s)\n", all, x[0], x[1]);
	rule_vectors(r,
	    last ? rule_join(r, x[0], all) : rule_join(r, all, x[0]), x[1],
	    lanes);
}

/* Down the columns of one tile. */
static void put_columns(Making *k)
{
	rule_put(
	    k->r, "compute_at(%s, %s)\n", name_of(k, WINOGRAD_Y1), k->inner);
	put_registers(k, WINOGRAD_Y1, k->x->output, k->lanes);
}

/* --- products ------------------------------------------------------------------------- */

/* Steps are unrolled, where so many divide the last channels. */
static void put_products_loops(Making *k)
{
	Rules *r = k->r;
	const Block *b = block_of(k, WINOGRAD_P);
	int o = k->x->output, last = b->naxes - 1;
	int64_t n = b->axes[last].extent;
	const char *batches = "", *tiles = "", *some = "";
	const char *const *v = rule_split(r, b->name, b, o, "0 1 v",
	    "? in tile([%s], [%d])",
	    rule_sizes(r, few_values, (k->w->extents[o] - 1) / k->lanes + 1),
	    k->lanes);
	for (int p = 0; p < k->w->npairs; p++) {
		bool rows = p == k->w->npairs - 1;
		const char *const *x = rule_split(r, b->name, b, k->w->y[p],
		    "0 1", "? in tile([%s])",
		    rule_sizes(
			r, rows ? row_values : few_values, tiles_of(k, p)));
		tiles = rule_join(r, tiles, x[0]);
		some = rule_join(r, some, x[1]);
	}
	const char *const *c = rule_split(r, b->name, b, last, "0 1",
	    "? in tile([1%s%s])", n % 2 ? "" : ", 2", n % 4 ? "" : ", 4");
	for (int a = 0; a < b->nspatial; a++)
		if (a >= k->w->nspatial || is_batch(k, a))
			batches = rule_and(r, batches, b->name, b, a);
	rule_put(r, "reorder(%s, %s, %s, %s, %s, %s, %s, %s, %s)\n", batches,
	    v[0], tiles, rule_loops(r, b->name, b, b->nspatial, last, -1, -1),
	    c[0], c[1], some, v[1], v[2]);
	rule_put(r, "each unroll(%s, %s, %s)\n", c[1], v[1], some);
	rule_vectors(r, "", v[2], k->lanes);
	rule_put(r, "tail(%s, mask)\n", b->name);
	k->vectors = v[1];
	k->lane = v[2];
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
	put_products_loops(k);
}

/* --- weights --------------------------------------------------------------------------- */

static void put_unrolled(Making *k, WinogradRole role, int first)
{
	const Block *b = block_of(k, role);
	rule_put(k->r, "each unroll(%s)\n",
	    rule_loops(k->r, b->name, b, first, b->naxes, -1, -1));
}

/* In the order in which the products read them. */
static void put_weights(Making *k)
{
	const Block *u = block_of(k, WINOGRAD_U);
	int own[WINOGRAD_AXES], o = -1;
	int n = winograd_own(k->w, k->w->weights, own);
	rule_put(k->r, "transform_layout(%s, [", u->name);
	for (int i = 0; i < n; i++) {
		if (own[i] == k->x->output)
			o = i;
		else if (own[i] < k->w->nspatial)
			rule_put(k->r, "%s, ", u->axes[i].name);
	}
	for (int a = n; a < u->naxes; a++)
		rule_put(k->r, "%s, ", u->axes[a].name);
	assert(o >= 0 && "outputs are an axis of the weights");
	rule_put(k->r, "%s//(%s*%s), ", u->axes[o].name, k->vectors, k->lane);
	for (int i = 0; i < n; i++)
		if (own[i] >= k->w->nspatial)
			rule_put(k->r, "%s, ", u->axes[i].name);
	rule_put(k->r, "%s%%(%s*%s)])\n", u->axes[o].name, k->vectors, k->lane);
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
	assert(read);
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
 * last of them in code, all others around vectors: their loop. */
static const char *put_lanes(
    Making *k, WinogradRole role, int axis, int lanes, const int *inside, int n)
{
	Rules *r = k->r;
	const Block *b = block_of(k, role);
	const char *around = "", *within = "", *last = "";
	const char *const *x =
	    rule_split(r, b->name, b, axis, "0 v", "[_, %d]", lanes);
	for (int a = 0; a < b->naxes; a++) {
		bool other = a != axis;
		for (int i = 0; i < n; i++)
			other &= a != inside[i];
		if (other)
			around = rule_and(r, around, b->name, b, a);
	}
	for (int i = 0; i < n; i++) {
		last = rule_loop(r, b->name, b, inside[i]);
		within = rule_join(r, within, last);
	}
	rule_put(r, "reorder(%s, %s, %s, %s)\n", around, x[0], within, x[1]);
	rule_vectors(r, last, x[1], lanes);
	rule_put(r, "tail(%s, mask)\n", b->name);
	return x[0];
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
	rule_parallel(k->r, rule_loop(k->r, b->name, b, best));
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
	for (int half = 0; half < 2; half++) {
		bool channels = half == (d->side >= 0);
		for (int i = 0; i < d->n && channels; i++)
			if (d->own[i] >= k->w->nspatial)
				rule_put(k->r, "%s, ", v->axes[i].name);
		for (int p = 0; p < k->w->npairs && !channels; p++)
			rule_put(k->r, "%s, ", v->axes[d->n + p].name);
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
	d->around = put_lanes(k, WINOGRAD_V, axis, d->lanes, inside, pairs);
}

/* What that reads, down the columns: for a few vectors of it, from rows in
 * registers. */
static void put_first_data(Making *k, Data *d)
{
	int n = d->n, lanes = d->side < 0 ? k->lanes : d->lanes;
	int axis = d->side < 0 ? n + 2 : d->side;
	int inside[] = {n + 2, n + 1}, only[] = {n + 1};
	rule_put(
	    k->r, "compute_at(%s, %s)\n", name_of(k, WINOGRAD_V1), d->around);
	const Block *v1 = block_of(k, WINOGRAD_V1);
	d->around = put_lanes(k, WINOGRAD_V1, axis, lanes,
	    d->side < 0 ? only : inside, d->side < 0 ? 1 : 2);
	if (d->side >= 0)
		d->around = rule_loop(k->r, v1->name, v1, n + 2);
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

void rule_winograd(Rules *r, int i)
{
	const RuleWinograd *x = r->winograd;
	if (!x || i != x->whole)
		return;
	Making k = {.r = r,
	    .x = x,
	    .w = &x->winograd,
	    .lanes = rule_lanes(r->machine, DT_F32)};
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
