/* Strided lanes: those that lie apart by distances that are known when compiling
 * are loaded whole, with what lies between, and shuffled:
 *
 *     gather x[6*i + 3*lane + c]      a = load x[6*i]     lanes 4, c < 3
 *                                     b = load x[6*i + 4]
 *                                     d = load x[6*i + 8]
 *                                     s = shuffle a b [c, 3 + c, 6 + c, ...]
 *                                     s = shuffle s d [0, 1, 2, 5 + c]
 *
 * Nothing is read but what lies between the first and the last element that is
 * needed, unless more is sure to be inside of the buffer: then vectors begin at
 * a multiple of the stride, or of their own length, so that what is read for
 * one c is read for all.  Each lane is put at its place in the first shuffle
 * that it passes, later ones only choose; or the other way round, where places
 * differ and no instruction takes any lanes of two vectors.  Under a mask whose
 * lanes do not vary those that are off read what others do. */
#include <assert.h>
#include <stdlib.h>

#include "codegen/lower/lower_internal.h"

enum { LANES_MAX = 64 };

/* --- windows -------------------------------------------------------------- */

/* What is read, from the address without lanes: by `count` loads of `lanes`
 * elements, the last one ending with `end`. */
typedef struct {
	int64_t begin, end;
	int lanes, count;
} Window;

static int64_t floor_to(int64_t a, int64_t b)
{
	return a - ((a % b) + b) % b;
}

/* Of a load: of narrow elements as many as a vector has, where an instruction takes
 * any of them. */
static int widest_load(const Lower *l, int buffer)
{
	int bytes = dtype_bytes(l->nest->buffers.at[buffer].type);
	int all = l->machine->vector_bytes / bytes;
	bool any = l->machine->permutes && l->machine->permutes <= bytes;
	return any && all > l->lanes ? all : l->lanes;
}

/* As few loads, of at most so many lanes, as hold it all. */
static Window window(int widest, int64_t begin, int64_t end)
{
	int64_t span = end - begin;
	assert(span > 0);
	Window w = {begin, end, widest, 1};
	while (w.lanes > span)
		w.lanes /= 2;
	w.count = (int)((span + w.lanes - 1) / w.lanes);
	return w;
}

static Index moved(Index address, int64_t by)
{
	address.form.constant += by;
	return address;
}

static bool window_inside(Lower *l, int buffer, Index base, Window w)
{
	return memory_inside(l, buffer, moved(base, w.begin)) &&
	    memory_inside(l, buffer, moved(base, w.end - 1));
}

static void choose(
    Lower *l, int buffer, Index base, Window other, int64_t last, Window *best)
{
	if (other.end > last && other.count <= best->count &&
	    window_inside(l, buffer, base, other))
		*best = other;
}

static void choose_fewer(
    Lower *l, int buffer, Index base, Window other, Window *best)
{
	if (other.count < best->count && !l->machine->gpu &&
	    window_inside(l, buffer, base, other))
		*best = other;
}

/* first .. last, or more than that where it makes no more loads, or with what lies
 * behind or before where it makes fewer.  A device loads only what is aligned whole. */
static Window best_window(
    Lower *l, int buffer, Index base, int64_t step, int64_t first, int64_t last)
{
	int widest = widest_load(l, buffer);
	Window best = window(widest, first, last + 1);
	int64_t at = base.form.constant, stride = step < 0 ? -step : step;
	int64_t whole = 1, begin;
	if (stride > 1) {
		begin = floor_to(at + first, stride) - at;
		choose(l, buffer, base,
		    window(widest, begin, begin + stride * l->lanes), last,
		    &best);
	}
	while (whole < last + 1 - first)
		whole *= 2;
	begin = floor_to(at + first, whole) - at;
	choose(
	    l, buffer, base, window(widest, begin, begin + whole), last, &best);
	choose_fewer(
	    l, buffer, base, window(widest, first, first + whole), &best);
	choose_fewer(
	    l, buffer, base, window(widest, last + 1 - whole, last + 1), &best);
	return best;
}

/* --- the loads ------------------------------------------------------------ */

typedef struct {
	int lanes, count;
	int64_t begin[BODY_LOADS_MOST]; /* from the address without lanes */
} Loads;

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return (x > y) - (x < y);
}

/* Of each group of elements that lie within a vector of the next. */
static int windows(Lower *l, int buffer, Index base, int64_t step,
    const int64_t *offsets, Window *out)
{
	int64_t sorted[LANES_MAX];
	int n = 0, first = 0;
	for (int i = 0; i < l->lanes; i++)
		sorted[i] = offsets[i];
	qsort(sorted, (size_t)l->lanes, sizeof *sorted, compare);
	for (int i = 1; i <= l->lanes; i++) {
		if (i < l->lanes && sorted[i] - sorted[i - 1] <= l->lanes)
			continue;
		if (n == BODY_LOADS_MOST)
			return 0;
		out[n++] = best_window(
		    l, buffer, base, step, sorted[first], sorted[i - 1]);
		first = i;
	}
	return n;
}

/* All with as many lanes as the shortest window has. */
static bool place_loads(const Window *w, int n, int most, Loads *loads)
{
	*loads = (Loads){.lanes = LANES_MAX};
	for (int i = 0; i < n; i++)
		if (w[i].lanes < loads->lanes)
			loads->lanes = w[i].lanes;
	for (int i = 0; i < n; i++)
		for (int64_t at = w[i].begin; at < w[i].end;
		     at += loads->lanes) {
			if (loads->count == most)
				return false;
			loads->begin[loads->count++] =
			    at + loads->lanes > w[i].end
			    ? w[i].end - loads->lanes
			    : at;
		}
	return loads->count > 0;
}

static int load_of(const Loads *loads, int64_t offset)
{
	int i = 0;
	while (i < loads->count && (offset < loads->begin[i] ||
		   offset >= loads->begin[i] + loads->lanes))
		i++;
	assert(i < loads->count);
	return i;
}

/* --- shuffles ------------------------------------------------------------- */

static int shuffled(Lower *l, int a, int b, const int *order)
{
	Key key = {.op = LOW_SHUFFLE,
	    .type = l->f->temps.at[a].type,
	    .lanes = l->lanes,
	    .arg = {a, b, -1},
	    .shuffle = order};
	return emit_pure(l, &key, "s");
}

/* The lanes that come of one load or two, at their places; the others hold
 * anything. */
static int placed(Lower *l, const int *temps, const Loads *loads,
    const int64_t *offsets, int first, int n)
{
	int *order = NEW_N(l->arena, int, l->lanes);
	for (int i = 0; i < l->lanes; i++) {
		int load = load_of(loads, offsets[i]);
		if (load >= first && load < first + n)
			order[i] = (load - first) * loads->lanes +
			    (int)(offsets[i] - loads->begin[load]);
	}
	return shuffled(
	    l, temps[first], n > 1 ? temps[first + 1] : -1, order);
}

/* Those of `n` loads from `first` on. */
static int collected(Lower *l, const int *temps, const Loads *loads,
    const int64_t *offsets, int first, int n)
{
	int *order, a, b, half = (n + 1) / 2;
	if (n <= 2)
		return placed(l, temps, loads, offsets, first, n);
	half += half % 2;
	bool one = n - half == 1 && loads->lanes == l->lanes;
	a = collected(l, temps, loads, offsets, first, half);
	b = one ? temps[first + half]
		: collected(
		      l, temps, loads, offsets, first + half, n - half);
	order = NEW_N(l->arena, int, l->lanes);
	for (int i = 0; i < l->lanes; i++) {
		int load = load_of(loads, offsets[i]);
		order[i] = i;
		if (load >= first + half && load < first + n)
			order[i] = l->lanes +
			    (one ? (int)(offsets[i] - loads->begin[load]) : i);
	}
	return shuffled(l, a, b, order);
}

/* Is it one lane of each `count`, of loads that lie one behind the other, as wide as
 * the result? */
static bool is_every(const Lower *l, const Loads *loads, const int64_t *offsets)
{
	int n = loads->count, lanes = loads->lanes;
	int64_t first = offsets[0] - loads->begin[0];
	if (n < 4 || (n & (n - 1)) || lanes != l->lanes || first < 0 ||
	    first >= n)
		return false;
	for (int i = 1; i < lanes; i++)
		if (offsets[i] != offsets[0] + n * i)
			return false;
	for (int k = 1; k < n; k++)
		if (loads->begin[k] != loads->begin[0] + k * lanes)
			return false;
	return true;
}

/* Of two neighbours each other lane, of two of these again: what is read for one of
 * the `n` that lie side by side is half of what the next one needs. */
static int unzipped(Lower *l, const int *temps, int n, int64_t first)
{
	int half[BODY_LOADS_MOST / 2];
	if (n == 1)
		return temps[0];
	for (int k = 0; k < n / 2; k++) {
		int *order = NEW_N(l->arena, int, l->lanes);
		for (int i = 0; i < l->lanes; i++)
			order[i] = 2 * i + (int)(first & 1);
		half[k] = shuffled(l, temps[2 * k], temps[2 * k + 1], order);
	}
	return unzipped(l, half, n / 2, first >> 1);
}

/* Does each lane lie at a place of its own in its load? */
static bool places_differ(
    const Lower *l, const Loads *loads, const int64_t *offsets)
{
	uint64_t taken = 0;
	for (int i = 0; i < l->lanes; i++) {
		int load = load_of(loads, offsets[i]);
		uint64_t bit = UINT64_C(1) << (offsets[i] - loads->begin[load]);
		if (taken & bit)
			return false;
		taken |= bit;
	}
	return true;
}

/* Where no instruction takes any lanes of two vectors: each lane is chosen at the
 * place that it has in its load, and the last shuffle, of one vector, puts all at
 * theirs. */
static int chosen(
    Lower *l, const int *temps, const Loads *loads, const int64_t *offsets)
{
	int all = temps[0];
	int *last = NEW_N(l->arena, int, l->lanes);
	for (int k = 1; k < loads->count; k++) {
		int *order = NEW_N(l->arena, int, l->lanes);
		for (int i = 0; i < l->lanes; i++)
			order[i] = i;
		for (int i = 0; i < l->lanes; i++) {
			int place = (int)(offsets[i] - loads->begin[k]);
			if (load_of(loads, offsets[i]) == k)
				order[place] = l->lanes + place;
		}
		all = shuffled(l, all, temps[k], order);
	}
	for (int i = 0; i < l->lanes; i++)
		last[i] = (int)(offsets[i] -
		    loads->begin[load_of(loads, offsets[i])]);
	return shuffled(l, all, -1, last);
}

static bool chooses_first(
    const Lower *l, DType type, const Loads *loads, const int64_t *offsets)
{
	return l->machine->vector_bytes == 32 && dtype_bytes(type) >= 4 &&
	    loads->lanes == l->lanes && loads->count > 1 &&
	    places_differ(l, loads, offsets);
}

/* --- all ------------------------------------------------------------------ */

/* Lanes that are off read what the one before them does, or the first that is on.
 * False: which are on is not known, or none is. */
static bool masked_offsets(const Lower *l, int mask, int64_t *offsets)
{
	const TempInfo *m = &l->part->temps.at[mask];
	if (!m->certain || !m->on)
		return false;
	int64_t last = offsets[__builtin_ctzll(m->on)];
	for (int i = 0; i < l->lanes; i++)
		last = offsets[i] = m->on >> i & 1 ? offsets[i] : last;
	return true;
}

int load_strided(Lower *l, int buffer, Index address, int mask)
{
	DType type = l->nest->buffers.at[buffer].type;
	int64_t offsets[LANES_MAX];
	int temps[BODY_LOADS_MOST], n;
	assert(l->lanes > 1 && l->lanes <= LANES_MAX);
	Window all[BODY_LOADS_MOST];
	Loads loads;
	if (!index_lanes_known(l, address, offsets) ||
	    (mask >= 0 && !masked_offsets(l, mask, offsets)))
		return -1;
	int64_t step = address.vector < 0 ? index_lane(address) : 0;
	Index base = index_without(l, address, SYMBOL_LANE);
	base.vector = -1;
	base.known = NULL;
	n = windows(l, buffer, base, step, offsets, all);
	int most = body_loads_most(l->machine, dtype_bytes(type), l->lanes);
	if (!place_loads(all, n, most, &loads))
		return -1;
	for (int i = 0; i < loads.count; i++)
		temps[i] = load_run(
		    l, buffer, loads.lanes, moved(base, loads.begin[i]));
	int v = is_every(l, &loads, offsets)
	    ? unzipped(l, temps, loads.count, offsets[0] - loads.begin[0])
	    : chooses_first(l, type, &loads, offsets)
	    ? chosen(l, temps, &loads, offsets)
	    : collected(l, temps, &loads, offsets, 0, loads.count);
	return mask < 0 ? v
			: emit_op(l, LOW_SELECT, type, l->lanes, mask, v,
			      const_zero(l, type, l->lanes), "s");
}
