/* Vectors that are stored an element a row, side by side, are transposed and
 * stored row by row.
 *
 *     scatter out[x + 49*lane], a         p = a0 b0 a1 b1   q = a2 b2 a3 b3
 *     scatter out[x + 49*lane + 1], b     store out[x], p[0 1]
 *                                         store out[x + 49], p[2 3]
 *                                         store out[x + 98], q[0 1] ...
 *
 * A machine scatters lane by lane, if at all.  Vectors whose elements are
 * neighbours are interleaved in steps that stay inside of 16 bytes, which is
 * one instruction everywhere, until as many of one row lie together as 16 bytes
 * hold, or as there are vectors; then these blocks are, over the whole vector,
 * until there is one row.  Sixteen rows of a power of two may share a set of the
 * cache: a row that is written in pieces would be fetched again for each.
 *
 * Where the rows lie side by side, too (three colours of a pixel), all of it is
 * neighbours: whole vectors of interleaved elements are stored.
 *
 *     scatter out[x + 3*lane], a          store out[x], a0 b0 c0 a1
 *     scatter out[x + 3*lane + 1], b      store out[x + 4], b1 c1 a2 b2
 *     scatter out[x + 3*lane + 2], c      store out[x + 8], c2 a3 b3 c3
 *
 * and at the end of a row, where only the first lanes are, as many elements.  Integers
 * that are converted from wider ones are put together in these, without shuffles.
 *
 * What is computed of gathered vectors before is computed row by row
 * (lower_late.c).
 *
 * A run of scatters is what stands in one body without anything between that
 * may see their order; they are stored where the last of a group was. */
#include <assert.h>
#include <stdlib.h>

#include "codegen/lower/lower_internal.h"

enum { SEGMENT_BYTES = 16, ROWS_MAX = BODY_ROWS_MOST };

typedef VEC(int) Positions;

/* --- runs of scatters ---------------------------------------------------- */

/* By how much each lane's element is further than the last one's; 0: unknown. */
static int64_t stride(const LowNode *n)
{
	return n->kind == LOWNODE_OP && n->op == LOW_SCATTER ? n->i : 0;
}

static bool is_masked(const LowNode *scatter)
{
	return scatter->arg[2] >= 0;
}

static bool same_terms(LowAffine a, LowAffine b)
{
	a.constant = b.constant = 0;
	return low_affine_equal(a, b);
}

static int lanes_of(const LowFunction *f, const LowNode *scatter)
{
	return f->temps.at[scatter->arg[0]].lanes;
}

/* As many elements as 16 bytes hold, or the vector. */
static int segment_of(const LowFunction *f, const LowNode *scatter)
{
	const LowTemp *t = &f->temps.at[scatter->arg[0]];
	int n = SEGMENT_BYTES / dtype_bytes(t->type);
	return n < t->lanes ? n : t->lanes;
}

static bool alike(const LowFunction *f, const LowNode *a, const LowNode *b)
{
	return a->buffer == b->buffer && stride(a) == stride(b) &&
	    lanes_of(f, a) == lanes_of(f, b) &&
	    same_terms(a->address, b->address);
}

/* Do two that are alike store to one element? */
static bool meet(const LowFunction *f, const LowNode *a, const LowNode *b)
{
	int64_t apart = a->address.constant - b->address.constant;
	int64_t step = stride(a);
	return apart % step == 0 &&
	    llabs(apart / step) < lanes_of(f, a);
}

static bool reads(const LowNode *n, int temp)
{
	for (int i = 0; i < 3; i++)
		if (n->arg[i] == temp)
			return true;
	for (int i = 0; i < n->address.n; i++)
		if (n->address.terms[i].temp == temp)
			return true;
	return false;
}

static bool bars(const LowFunction *f, const LowNode *n, const LowNode *scatter);

static bool some_bars(
    const LowFunction *f, const LowBody *body, const LowNode *scatter)
{
	for (int i = 0; i < body->n; i++)
		if (bars(f, body->at[i], scatter))
			return true;
	return false;
}

/* Must the scatter be done before the node? */
static bool bars(const LowFunction *f, const LowNode *n, const LowNode *scatter)
{
	if (n->kind == LOWNODE_COMMENT)
		return false;
	if (n->kind == LOWNODE_IF)
		return some_bars(f, &n->body, scatter) ||
		    some_bars(f, &n->other, scatter);
	if (n->kind != LOWNODE_OP || n->op == LOW_BARRIER)
		return true;
	if (n->dst >= 0 && reads(scatter, n->dst))
		return true;
	if (!low_touches_memory(n->op) || n->buffer != scatter->buffer)
		return false;
	return !stride(n) || !alike(f, n, scatter) || meet(f, n, scatter);
}

/* The scatters that are like the one at `first`, up to what bars one. */
static Positions run_from(
    Arena *arena, const LowFunction *f, const LowBody *body, int first)
{
	Positions run = {0};
	for (int i = first; i < body->n; i++) {
		const LowNode *n = body->at[i];
		for (int k = 0; k < run.n; k++)
			if (bars(f, n, body->at[run.at[k]]))
				return run;
		if (stride(n) && alike(f, n, body->at[first]))
			vec_push(arena, &run, i);
	}
	return run;
}

/* --- transposing ---------------------------------------------------------- */

/* The blocks of a vector: each `size` elements of one row. */
typedef struct {
	int temp;
	int row[64]; /* by block */
} Blocks;

static int shuffled(
    Lower *l, LowBody *to, int lanes, int a, int b, const int *order)
{
	DType type = l->f->temps.at[a].type;
	int temp = low_temp(l->arena, l->f, type, lanes, "t");
	LowNode *n = low_op(l->arena, to, LOW_SHUFFLE, temp, a, b, -1);
	n->shuffle = arena_memdup(l->arena, order, sizeof(int) * (size_t)lanes);
	return temp;
}

/* Of each segment's blocks the first or second half, in turns from a and b. */
static Blocks interleaved(Lower *l, LowBody *to, const Blocks *a,
    const Blocks *b, int size, int segment, bool second)
{
	int lanes = l->f->temps.at[a->temp].lanes, n = 0;
	int half = segment / size / 2, order[64];
	Blocks out;
	assert(lanes <= 64 && lanes % segment == 0);
	for (int s = 0; s < lanes / segment; s++)
		for (int k = 0; k < half; k++) {
			int block = (2 * s + second) * half + k;
			out.row[n / size / 2] = a->row[block];
			for (int i = 0; i < size; i++, n++) {
				order[n] = block * size + i;
				order[n + size] = lanes + block * size + i;
			}
			n += size;
		}
	out.temp = shuffled(l, to, lanes, a->temp, b->temp, order);
	return out;
}

/* v: `n` vectors of blocks of `from` elements; then each holds blocks of n times
 * as many, in steps that stay inside of a segment. */
static void interleave(
    Lower *l, LowBody *to, Blocks *v, int n, int from, int segment)
{
	Blocks w[ROWS_MAX];
	assert(n <= ROWS_MAX && !(n & (n - 1)));
	for (int size = 1; size < n; size *= 2) {
		for (int g = 0; g < n; g += 2 * size)
			for (int i = 0; i < size; i++)
				for (int second = 0; second < 2; second++)
					w[g + 2 * i + second] = interleaved(l,
					    to, &v[g + i], &v[g + size + i],
					    size * from, segment, second);
		for (int i = 0; i < n; i++)
			v[i] = w[i];
	}
}

/* v: `n` vectors of single elements; then each holds blocks of n: first inside
 * of segments, then, of what lies in one row, over the vector. */
static void whole_rows(Lower *l, LowBody *to, Blocks *v, int n, int segment)
{
	int lanes = l->f->temps.at[v->temp].lanes;
	int inside = n < segment ? n : segment, groups = n / inside;
	Blocks of[ROWS_MAX];
	for (int g = 0; g < groups; g++)
		interleave(l, to, v + g * inside, inside, 1, segment);
	for (int i = 0; i < inside && groups > 1; i++) {
		for (int g = 0; g < groups; g++)
			of[g] = v[g * inside + i];
		interleave(l, to, of, groups, inside, lanes);
		for (int g = 0; g < groups; g++)
			v[g * inside + i] = of[g];
	}
}

static void store_block(Lower *l, LowBody *to, const LowNode *first,
    const Late *late, const Blocks *v, int block, int size)
{
	int order[ROWS_MAX], temp = v->temp;
	if (l->f->temps.at[temp].lanes > size) {
		for (int i = 0; i < size; i++)
			order[i] = block * size + i;
		temp = shuffled(l, to, size, temp, -1, order);
	}
	if (late)
		temp = late_row(l, to, late, temp, v->row[block]);
	LowNode *n = low_op(l->arena, to, LOW_STORE, -1, temp, -1, -1);
	n->buffer = first->buffer;
	n->address = first->address;
	n->address.constant += stride(first) * v->row[block];
}

/* Stores what `n` scatters of neighbours would; `late`: computed of what was
 * transposed, or NULL. */
static void store_rows(Lower *l, LowBody *to, LowNode *const *scatters, int n,
    const Late *late, const int *transposed)
{
	int lanes = lanes_of(l->f, scatters[0]);
	Blocks v[ROWS_MAX];
	for (int i = 0; i < n; i++) {
		v[i].temp = transposed[i];
		for (int k = 0; k < lanes; k++)
			v[i].row[k] = k;
	}
	whole_rows(l, to, v, n, segment_of(l->f, scatters[0]));
	for (int row = 0; row < lanes; row++)
		for (int i = 0; i < n; i++)
			for (int b = 0; b < lanes / n; b++)
				if (v[i].row[b] == row)
					store_block(l, to, scatters[0], late,
					    &v[i], b, n);
}

/* --- rows side by side ---------------------------------------------------------- */

/* By temporary: how often it is assigned; of a mask that has the first lanes on,
 * what says how many, or -1; and a constant, or -1. */
typedef struct {
	int *times, *count;
	int64_t *constant;
} Masks;

static void note_masks(Masks *m, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		note_masks(m, &n->body);
		note_masks(m, &n->other);
		if (n->kind != LOWNODE_OP || n->dst < 0)
			continue;
		m->times[n->dst]++;
		if (n->op == LOW_CONST)
			m->constant[n->dst] = n->i;
		if (n->op == LOW_LANES_BELOW)
			m->count[n->dst] = n->arg[0];
	}
}

static Masks find_masks(Arena *arena, const Lower *l)
{
	int n = l->f->temps.n;
	Masks m = {NEW_N(arena, int, n), NEW_N(arena, int, n),
	    NEW_N(arena, int64_t, n)};
	for (int i = 0; i < n; i++)
		m.constant[i] = m.count[i] = -1;
	note_masks(&m, &l->f->body);
	return m;
}

/* Of how many elements side by side the first are stored: more + times*temp. */
typedef struct {
	int temp; /* -1: no such term */
	int64_t times, more;
	bool known;
} StoredCount;

/* Of how many lanes a scatter stores. */
static StoredCount lanes_on(
    const Lower *l, const Masks *m, const LowNode *scatter)
{
	int mask = scatter->arg[2];
	if (mask < 0)
		return (StoredCount){-1, 0, lanes_of(l->f, scatter), true};
	int count = m->times[mask] == 1 ? m->count[mask] : -1;
	if (count < 0 || m->times[count] > 1)
		return (StoredCount){.known = false};
	return m->constant[count] < 0
	    ? (StoredCount){count, 1, 0, true}
	    : (StoredCount){-1, 0, m->constant[count], true};
}

/* Of `n` scatters of rows that lie side by side; unknown where it is others than
 * the first elements. */
static StoredCount elements_on(
    const Lower *l, const Masks *m, LowNode *const *scatters, int n)
{
	StoredCount first = lanes_on(l, m, scatters[0]), sum = first;
	int64_t last = first.more;
	for (int i = 1; i < n; i++) {
		StoredCount on = lanes_on(l, m, scatters[i]);
		if (on.temp != first.temp || on.more > last ||
		    on.more < first.more - 1 || !on.known)
			return (StoredCount){.known = false};
		last = on.more;
		sum.times += on.times;
		sum.more += on.more;
	}
	return sum;
}

static int number(Lower *l, LowBody *to, int64_t i)
{
	int temp = low_temp(l->arena, l->f, DT_INDEX, 1, "n");
	low_op(l->arena, to, LOW_CONST, temp, -1, -1, -1)->i = i;
	return temp;
}

/* The lanes, of elements from `at` on, that are among those. */
static int lanes_among(
    Lower *l, LowBody *to, const StoredCount *on, int lanes, int64_t at)
{
	int count = number(l, to, on->more - at);
	int mask = low_temp(l->arena, l->f, DT_BOOL, lanes, "lanes");
	if (on->temp >= 0) {
		int times = number(l, to, on->times);
		int product = low_temp(l->arena, l->f, DT_INDEX, 1, "n");
		int sum = low_temp(l->arena, l->f, DT_INDEX, 1, "n");
		low_op(l->arena, to, LOW_MUL, product, on->temp, times, -1);
		low_op(l->arena, to, LOW_ADD, sum, product, count, -1);
		count = sum;
	}
	low_op(l->arena, to, LOW_LANES_BELOW, mask, count, -1, -1);
	return mask;
}

/* Stores what of the vector is among those elements. */
static void store_first(Lower *l, LowBody *to, const LowNode *first, int temp,
    int64_t at, const StoredCount *on)
{
	int lanes = l->f->temps.at[temp].lanes, mask = -1;
	if (on->temp < 0 && on->more <= at)
		return;
	if (on->temp >= 0 || on->more - at < lanes)
		mask = lanes_among(l, to, on, lanes, at);
	LowNode *n = low_op(l->arena, to,
	    mask < 0 ? LOW_STORE : LOW_STORE_MASKED, -1, temp, mask, -1);
	n->buffer = first->buffer;
	n->address = first->address;
	n->address.constant += at;
}

/* Vector `k` of what `n` vectors give together, element by element: the lanes of
 * two first, then of one more at a time. */
static int zipped(Lower *l, LowBody *to, LowNode *const *scatters, int n, int k)
{
	int lanes = lanes_of(l->f, scatters[0]), order[64];
	int temp = scatters[0]->arg[0];
	for (int col = 1; col < n; col++) {
		for (int i = 0; i < lanes; i++) {
			int element = k * lanes + i;
			int row = element / n, from = element % n;
			order[i] = from == col ? lanes + row
			    : col == 1	       ? row
					       : i;
		}
		temp = shuffled(
		    l, to, lanes, temp, scatters[col]->arg[0], order);
	}
	return temp;
}

/* What the scatter's narrow integers are converted from, or -1. */
static int wide_of(const Lower *l, const LowDefs *defs, const LowNode *scatter)
{
	const LowNode *n = defs->only[scatter->arg[0]];
	int wide = n && n->op == LOW_CONVERT ? n->arg[0] : -1;
	if (wide < 0 || defs->assigned[wide] != 1 ||
	    !dtype_is_int(l->f->temps.at[wide].type) ||
	    !dtype_is_int(l->f->temps.at[n->dst].type))
		return -1;
	return wide;
}

static int filled(Lower *l, LowBody *to, DType type, int lanes, int64_t i)
{
	int temp = low_temp(l->arena, l->f, type, lanes, "n");
	low_op(l->arena, to, LOW_CONST, temp, -1, -1, -1)->i = i;
	return temp;
}

static int computed(
    Lower *l, LowBody *to, LowOpcode op, DType type, int a, int b)
{
	int temp =
	    low_temp(l->arena, l->f, type, l->f->temps.at[a].lanes, "word");
	low_op(l->arena, to, op, temp, a, b, -1);
	return temp;
}

/* `n` integers of `bits` bits in each lane of one: those above the last are cut off,
 * or not stored. */
static int joined(Lower *l, LowBody *to, const int *wide, int n, int bits)
{
	const LowTemp t = l->f->temps.at[wide[0]];
	int all = -1;
	for (int i = 0; i < n; i++) {
		int one = wide[i];
		if (i + 1 < n)
			one = computed(l, to, LOW_AND, t.type, one,
			    filled(l, to, t.type, t.lanes,
				(INT64_C(1) << bits) - 1));
		if (i)
			one = computed(l, to, LOW_SHL, t.type, one,
			    filled(l, to, t.type, t.lanes, i * bits));
		all = i ? computed(l, to, LOW_OR, t.type, all, one) : one;
	}
	return all;
}

/* How many neighbours' integers go into one that they are converted from: a power
 * of two, 1 where they are not converted. */
static int joined_at_once(const Lower *l, const LowDefs *defs,
    LowNode *const *scatters, int n, int *wide)
{
	const LowTemp *temps = l->f->temps.at;
	for (int i = 0; i < n; i++) {
		wide[i] = wide_of(l, defs, scatters[i]);
		if (wide[i] < 0 || temps[wide[i]].type != temps[wide[0]].type)
			return 1;
	}
	int most = dtype_bytes(temps[wide[0]].type) /
	    dtype_bytes(temps[scatters[0]->arg[0]].type);
	return l->machine->processors || most < 1 ? 1 : most < n ? most : n;
}

/* Integers of as many bytes as `n` of the type. */
static DType word_type(DType type, int n)
{
	int bytes = n * dtype_bytes(type);
	return bytes == 2 ? DT_I16 : bytes == 4 ? DT_I32 : DT_I64;
}

/* Stores a vector of words, each `n` elements, in pieces that fill a vector. */
static void store_words(Lower *l, LowBody *to, const LowNode *first, int word,
    int n, int64_t at, const StoredCount *on)
{
	const LowTemp t = l->f->temps.at[word];
	DType type = l->f->temps.at[first->arg[0]].type;
	int lanes = t.lanes, order[64];
	while (
	    lanes > 1 && lanes * dtype_bytes(t.type) > l->machine->vector_bytes)
		lanes /= 2;
	for (int from = 0; from < t.lanes; from += lanes) {
		int part = word;
		for (int i = 0; i < lanes; i++)
			order[i] = from + i;
		if (lanes < t.lanes)
			part = shuffled(l, to, lanes, word, -1, order);
		int parts = low_temp(l->arena, l->f, type, n * lanes, "parts");
		low_op(l->arena, to, LOW_BITS, parts, part, -1, -1);
		store_first(l, to, first, parts, at + (int64_t)from * n, on);
	}
}

/* The same of integers that are converted from wider ones: neighbours are put
 * together where these are, and need no shuffles.
 *
 *     u8 a0 a1 …, u8 b0 b1 …, of i16     (a0 & 255) | b0 << 8 … */
static bool store_joined(Lower *l, LowBody *to, const LowDefs *defs,
    LowNode *const *scatters, int n, const StoredCount *on)
{
	const LowNode *first = scatters[0];
	DType type = l->f->temps.at[first->arg[0]].type;
	int wide[ROWS_MAX] = {0}, lanes = lanes_of(l->f, first);
	int each = joined_at_once(l, defs, scatters, n, wide), words = n / each;
	Blocks v[ROWS_MAX];
	if (each == 1)
		return false;
	for (int i = 0; i < words; i++) {
		int word =
		    joined(l, to, &wide[i * each], each, 8 * dtype_bytes(type));
		DType of = word_type(type, each);
		if (dtype_bytes(l->f->temps.at[word].type) > dtype_bytes(of))
			word = computed(l, to, LOW_CONVERT, of, word, -1);
		v[i].temp = word;
		for (int k = 0; k < lanes; k++)
			v[i].row[k] = k;
	}
	interleave(l, to, v, words, 1, lanes);
	for (int i = 0; i < words; i++)
		store_words(l, to, first, v[i].temp, each,
		    (int64_t)v[i].row[0] * n, on);
	return true;
}

/* Stores what `n` scatters of rows that lie side by side would. */
static void store_zipped(Lower *l, LowBody *to, const LowDefs *defs,
    LowNode *const *scatters, int n, const StoredCount *on)
{
	int lanes = lanes_of(l->f, scatters[0]);
	Blocks v[ROWS_MAX];
	if (n & (n - 1)) {
		for (int k = 0; k < n; k++)
			store_first(l, to, scatters[0],
			    zipped(l, to, scatters, n, k), k * lanes, on);
		return;
	}
	if (store_joined(l, to, defs, scatters, n, on))
		return;
	for (int i = 0; i < n; i++) {
		v[i] = (Blocks){.temp = scatters[i]->arg[0]};
		for (int k = 0; k < lanes; k++)
			v[i].row[k] = k;
	}
	interleave(l, to, v, n, 1, lanes);
	for (int i = 0; i < n; i++)
		store_first(l, to, scatters[0], v[i].temp,
		    (int64_t)v[i].row[0] * n, on);
}

/* --- groups --------------------------------------------------------------- */

typedef struct {
	int n;
	LowNode *scatters[ROWS_MAX]; /* by address */
	int last;		     /* position where they are stored */
	bool zipped;		     /* rows lie side by side */
	StoredCount on;		     /* then how many of the elements */
} ScatterGroup;
typedef VEC(ScatterGroup) GroupVec;

static void sort_by_address(const LowBody *body, Positions *run)
{
	for (int i = 1; i < run->n; i++)
		for (int k = i; k > 0 &&
		     body->at[run->at[k]]->address.constant <
			 body->at[run->at[k - 1]]->address.constant;
		     k--) {
			int p = run->at[k];
			run->at[k] = run->at[k - 1];
			run->at[k - 1] = p;
		}
}

/* How many from `first` on are neighbours, all with a mask or all without. */
static int neighbours(const LowBody *body, const Positions *run, int first)
{
	int n = 1;
	while (first + n < run->n &&
	    body->at[run->at[first + n]]->address.constant ==
		body->at[run->at[first]]->address.constant + n &&
	    is_masked(body->at[run->at[first + n]]) ==
		is_masked(body->at[run->at[first]]))
		n++;
	return n;
}

static void group(Lower *l, const Masks *masks, const LowBody *body,
    Positions *run, GroupVec *out)
{
	const LowNode *one = body->at[run->at[0]];
	sort_by_address(body, run);
	for (int i = 0; i < run->n;) {
		BodyRows rows =
		    body_rows(neighbours(body, run, i), lanes_of(l->f, one),
			stride(one), is_masked(body->at[run->at[i]]));
		ScatterGroup g = {.n = rows.n, .zipped = rows.zipped};
		for (int k = 0; k < g.n; k++) {
			int at = run->at[i + k];
			g.scatters[k] = body->at[at];
			g.last = at > g.last ? at : g.last;
		}
		if (g.zipped)
			g.on = elements_on(l, masks, g.scatters, g.n);
		if (g.n > 1 && (!g.zipped || g.on.known))
			vec_push(l->arena, out, g);
		i += g.n;
	}
}

static const ScatterGroup *group_of(const GroupVec *groups, const LowNode *n)
{
	for (int i = 0; i < groups->n; i++)
		for (int k = 0; k < groups->at[i].n; k++)
			if (groups->at[i].scatters[k] == n)
				return &groups->at[i];
	return NULL;
}

static bool transpose(
    Lower *l, const Masks *masks, const LowDefs *defs, LowBody *body)
{
	if (!body->n)
		return false;
	bool *seen = NEW_N(l->arena, bool, body->n), any = false;
	GroupVec groups = {0};
	LowBody to = {0};
	for (int i = 0; i < body->n; i++) {
		LowNode *n = body->at[i];
		any = transpose(l, masks, defs, &n->body) || any;
		any = transpose(l, masks, defs, &n->other) || any;
		if (!stride(n) || seen[i])
			continue;
		Positions run = run_from(l->arena, l->f, body, i);
		for (int k = 0; k < run.n; k++)
			seen[run.at[k]] = true;
		group(l, masks, body, &run, &groups);
	}
	if (!groups.n)
		return any;
	for (int i = 0; i < body->n; i++) {
		const ScatterGroup *g = group_of(&groups, body->at[i]);
		if (!g)
			vec_push(l->arena, &to, body->at[i]);
		else if (g->last == i && g->zipped)
			store_zipped(l, &to, defs, g->scatters, g->n, &g->on);
		else if (g->last == i) {
			int temps[ROWS_MAX];
			const Late *late = late_find(
			    l, defs, body, i, g->scatters, g->n, temps);
			store_rows(l, &to, g->scatters, g->n, late, temps);
		}
	}
	*body = to;
	return true;
}

/* --- what is left over: vectors of offsets -------------------------------- */

static bool drop_unread(LowBody *body, const bool *read)
{
	bool any = false;
	int n = 0;
	for (int i = 0; i < body->n; i++) {
		LowNode *node = body->at[i];
		bool drop = node->kind == LOWNODE_OP && node->dst >= 0 &&
		    !read[node->dst];
		any = drop_unread(&node->body, read) || any || drop;
		any = drop_unread(&node->other, read) || any;
		if (!drop)
			body->at[n++] = node;
	}
	body->n = n;
	return any;
}

/* --- the whole ------------------------------------------------------------ */

void lower_transpose(Lower *l)
{
	Arena *scratch = arena_new();
	merge_stores(l);
	Masks masks = find_masks(scratch, l);
	LowDefs defs = low_defs(scratch, l->f);
	bool left = transpose(l, &masks, &defs, &l->f->body) || l->part->folded;
	while (left) {
		IntVec reads = {0};
		bool *read = NEW_N(scratch, bool, l->f->temps.n);
		lowered_reads(scratch, l->f, &reads);
		for (int i = 0; i < reads.n; i++)
			read[reads.at[i]] = true;
		left = drop_unread(&l->f->body, read);
	}
	arena_free(scratch);
}
