/* What one stage costs: instructions of its innermost body, how often that
 * runs, and by traffic.c the bytes that move between levels of memory.
 *
 * The innermost body is everything inside the last serial loop: what is
 * unrolled or a vector.  An access whose index does not move along an unrolled
 * loop is made once for all its copies, since lowering numbers values. */
#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "lib/gcd.h"
#include "schedule/plan/cost.h"

/* A condition, a select, and what it keeps from being shared. */
enum { BRANCH_OPERATIONS = 4 };

/* Those of a loop itself. */
enum { LOOP_INSTRUCTIONS = 3 };

/* What a reduction reads of fewer bytes than a word is converted: a vector at
 * once, and what is the same for all lanes before it is in all of them. */
enum { WORD = 4, CONVERT_ONE = 3 };

/* Operations to make the mask of a store from where its row stands. */
enum { MASK = 4, TESTED = 3 };

static double at(const int64_t *values, Handle h)
{
	return h == HANDLE_NONE ? 0 : (double)values[h];
}

/* A digit shows the part of a dimension's step that it is of. */
static int64_t part_step(
    const PlanAccess *a, const int64_t *values, int part, int64_t step)
{
	int64_t div = values[a->parts[part].div];
	if (div > 1 && step % div)
		return 0;
	if (div > 1)
		step /= div;
	if (a->parts[part].mod != HANDLE_NONE &&
	    step % values[a->parts[part].mod] == 0)
		return 0;
	return step * values[a->parts[part].stride];
}

int64_t access_step(const PlanAccess *a, const int64_t *values, int loop)
{
	int64_t sum = 0;
	if (!access_moves(a, values, loop))
		return 0;
	if (a->by_data >> loop & 1)
		return INT32_MAX; /* neighbours lie anywhere */
	for (uint32_t dims = a->dims[loop]; dims; dims &= dims - 1) {
		int dim = __builtin_ctz(dims);
		int64_t c = values[a->coef[loop][dim]];
		for (uint32_t p = c ? a->parts_of[dim] : 0; p; p &= p - 1)
			sum += part_step(a, values, __builtin_ctz(p), c);
	}
	return sum;
}

int64_t access_dim_step(
    const PlanAccess *a, const int64_t *values, int dim, int64_t step)
{
	int64_t sum = 0;
	for (uint32_t p = step ? a->parts_of[dim] : 0; p; p &= p - 1)
		sum += part_step(a, values, __builtin_ctz(p), step);
	return sum;
}

static bool runs_whole(const StageNow *w, int loop)
{
	LoopRuns runs = w->stage->loops[loop].runs;
	return runs == RUNS_WHOLE ||
	    (runs == RUNS_WHOLE_IN_BODY && w->code >> loop & 1);
}

static double tiles_of(int64_t length, int64_t tile)
{
	if (length <= tile)
		return length > 0;
	return (double)((length + tile - 1) / tile);
}

/* Tiles that hold some of `length` values, of which the first is behind `before`
 * others: a border is made with what it is around. */
static double tiles_between(
    int64_t before, int64_t n, int64_t length, int64_t tile)
{
	int64_t end = before + length < n ? before + length : n;
	return (double)((end - 1) / tile - before / tile + 1);
}

/* Tiles of `below` values of an axis each time its place is reached, no more than
 * `most`: the mean over its starts, of which the last reach the end of the
 * block. */
static double clipped_tiles(const PlanAxis *a, const int64_t *values,
    double starts, int64_t step, int64_t below, double most)
{
	int64_t n = values[a->covered];
	int64_t before = a->end == HANDLE_NONE ? 0 : n - values[a->end];
	if (starts <= 1 && before > 0)
		return min2(most, tiles_between(before, n, a->length, below));
	if (!step || values[a->end] <= a->length) {
		int64_t length = n < a->length ? n : a->length;
		return (double)length >= most * (double)below
		    ? most : min2(most, tiles_of(length, below));
	}
	int64_t i = (int64_t)starts;
	double sum = 0;
	while (i > 0 && (i - 1) * step + n > a->length) {
		int64_t rest = a->length - --i * step;
		sum += tiles_of(rest < n ? rest : n, below);
	}
	return min2(most, (sum + tiles_of(n, below) * (double)i) / starts);
}

/* trips[d]: how often the body of loop d-1 starts, for trips[0] = 1.  Along an
 * axis that is ceil(extent / what one iteration covers), but for loops that run
 * whole. */
void count_trips(const StageNow *w, StageCost *c)
{
	const PlanStage *s = w->stage;
	const int64_t *values = w->values;
	double tiles[PLAN_DEPTH];
	int64_t least[PLAN_DEPTH]; /* values that an iteration covers so far */
	for (int a = 0; a < s->naxes; a++) {
		tiles[a] = 1;
		least[a] = INT64_MAX;
	}
	double product = 1;
	c->trips[0] = 1;
	for (int d = 0; d < s->nloops; d++) {
		const PlanLoop *l = &s->loops[d];
		double t = (double)w->extent[d];
		c->trips[d + 1] = product;
		if (!(w->runs >> d & 1))
			continue;
		if (l->axis < 0) {
			product *= t;
		} else {
			const PlanAxis *a = &s->axes[l->axis];
			int i = axis_mover(a, values);
			int64_t step = i < 0 ? 0 : values[a->step[i]];
			double starts = i < 0
			    ? 1
			    : max2(1, tiles[s->loops[a->mover[i]].axis]);
			int64_t below = values[l->below];
			if (below < least[l->axis])
				least[l->axis] = below;
			t *= tiles[l->axis];
			if (!runs_whole(w, d))
				t = clipped_tiles(a, values, starts, step,
				    least[l->axis], t);
			product *= tiles[l->axis] > 0 ? t / tiles[l->axis] : 0;
			tiles[l->axis] = t;
		}
		c->trips[d + 1] = product;
	}
}

/* Does a loop of the body move the access along a dimension in which one
 * inside of it does, too: x + s over s and x? */
static bool overlaps(const StageNow *w, const PlanAccess *a, int loop)
{
	if (!access_moves_now(w, a, loop))
		return false;
	for (int d = loop + 1; d < w->stage->nloops; d++) {
		uint32_t dims = a->dims[loop] & a->dims[d];
		for (; access_moves_now(w, a, d) && dims; dims &= dims - 1) {
			int k = __builtin_ctz(dims);
			if (w->values[a->coef[loop][k]] &&
			    w->values[a->coef[d][k]])
				return true;
		}
	}
	return false;
}

/* Registers for elements that all lanes read and one vector uses: in a reduction
 * of several steps LLVM leaves the sum where the element was (vfmadd213), so
 * that sums wander and need as many registers again. */
static double count_wandering(
    const StageNow *w, const PlanAccess *a, int body, int vector)
{
	double copies = 1, steps = 1;
	for (int d = body; d < w->stage->nloops; d++) {
		double extent = (double)w->extent[d];
		if (w->stage->loops[d].reduce)
			steps *= extent;
		else if (d != vector && access_moves_now(w, a, d))
			copies *= extent;
		else if (d != vector && extent > 1)
			return 1;
	}
	return steps > 1 ? copies : 1;
}

/* Registers for elements that all lanes read: one after another, but where a
 * reduction in the body reads again what its last step read, that is kept: what
 * differs of it.  `made`: the part of the copies that are made. */
static double count_kept(const StageNow *w, const PlanAccess *a, int body,
    int vector, double made)
{
	double copies = made, kept = made, elements[PLAN_DEPTH + 1];
	bool known = false;
	for (int d = w->stage->nloops - 1; d >= body; d--) {
		if (w->stage->loops[d].reduce && w->extent[d] > 1 &&
		    overlaps(w, a, d)) {
			if (!known)
				access_elements(
				    w->stage, a, w->values, elements);
			known = true;
			kept = max2(kept, min2(copies, elements[d + 1]));
		}
		if (d != vector && access_moves_now(w, a, d))
			copies *= (double)w->extent[d];
	}
	return kept;
}

/* Copies of the body that lie side by side, but for lanes. */
static int neighbours(
    const StageNow *w, const PlanAccess *a, int body, int vector)
{
	int n = 1;
	for (int d = body; d < w->stage->nloops; d++)
		if (d != vector && access_now(w, a)->step[d] == 1)
			n = (int)w->extent[d];
	return n;
}

/* How many neighbours of a row are stored at once where lanes lie apart, on
 * average; of rows that lie side by side, whole vectors. */
static double stored_together(
    const StageNow *w, const PlanAccess *a, int body, int vector)
{
	int lanes = (int)w->extent[vector], groups = 0;
	int n = neighbours(w, a, body, vector);
	int64_t step = access_now(w, a)->step[vector];
	for (int left = n; left > 0; groups++) {
		BodyRows rows = body_rows(left, lanes, step, false);
		if (rows.zipped)
			return lanes;
		left -= rows.n;
	}
	return (double)n / groups;
}

/* Do all starts of the axis lie whole tiles apart? */
static bool starts_at_tiles(const StageNow *w, const PlanAxis *a, int64_t tile)
{
	for (int i = 0; i < a->nmovers; i++)
		if (w->values[a->step[i]] % tile)
			return false;
	return true;
}

/* The part of the vectors that have a mask, which are scattered as they are: where
 * tiles are not told apart, of each row in the body that in which the axis ends, or
 * any; else the last of all.  `whole`: of whole tiles alone. */
static double part_masked(const StageNow *w, int body, int vector, bool whole)
{
	const PlanStage *s = w->stage;
	int axis = s->loops[vector].axis;
	int64_t lanes = w->extent[vector], vectors = 1;
	BodyTiles tiles = body_tail_tiles(s->tail);
	if (tiles == BODY_TILES_WHOLE || axis < 0)
		return 0;
	for (int d = body; d < s->nloops; d++)
		if (d != vector && s->loops[d].axis == axis)
			vectors *= w->extent[d];
	const PlanAxis *a = &s->axes[axis];
	bool moved = axis_mover(a, w->values) >= 0;
	bool partial = a->length % lanes;
	bool all = !moved && a->length <= lanes * vectors;
	if (whole &&
	    (tiles == BODY_TILES_BY_LANE || (tiles == BODY_TILES_TOLD && !all)))
		return 0;
	if (all || tiles != BODY_TILES_ALIKE)
		return partial ? 1 / tiles_of(a->length, lanes) : 0;
	if (moved && !starts_at_tiles(w, a, lanes * vectors))
		return partial || w->values[a->end] > a->length;
	return partial ? 1 / (double)vectors : 0;
}

/* The part of the tiles along an axis of which a mask says where it ends, that is
 * not known when compiling: none where the loop that moves them is split, or where
 * none ends inside of a tile. */
static double part_open(const StageNow *w, int axis, int64_t tile)
{
	const PlanStage *s = w->stage;
	const PlanAxis *a = &s->axes[axis];
	int i = axis_mover(a, w->values);
	bool cut = i >= 0 && w->values[a->end] > a->length;
	BodyTiles tiles = body_tail_tiles(s->tail);
	if (tiles == BODY_TILES_WHOLE ||
	    (cut && loop_is_split(s, w->values, a->mover[i])))
		return 0;
	if (tiles == BODY_TILES_ALIKE)
		return cut || a->length % tile;
	return cut && a->length % w->values[a->step[i]]
	    ? 1 / tiles_of(a->length, w->values[a->step[i]])
	    : 0;
}

/* The part of the vectors of what is read that are gathered, since they may lie
 * behind the end of an axis and of the buffer; none of a buffer that has what whole
 * tiles read. */
static double part_gathered(
    const StageNow *w, const PlanAccess *a, int body, int vector)
{
	const PlanStage *s = w->stage;
	int axis = s->loops[vector].axis, outer = 0;
	while (outer < a->ndim - 1 && at(w->values, a->held[outer]) == 1)
		outer++;
	if (axis < 0 || a->predicated || !(a->dims[vector] >> outer & 1))
		return 0;
	int64_t tile = 1, lanes = w->extent[vector];
	int64_t length = s->axes[axis].length;
	for (int d = body; d < s->nloops; d++)
		if (s->loops[d].axis == axis)
			tile *= w->extent[d];
	double all = ceil((double)length / (double)tile) * (double)tile;
	return at(w->values, a->coef[vector][outer]) * all >
		at(w->values, a->held[outer])
	    ? part_open(w, axis, tile) *
		(1 - (double)(length % tile / lanes * lanes) / (double)tile)
	    : 0;
}

/* Does all of the buffer stay in the first cache until the rest of a line of it
 * follows? */
static bool stays_near(const StageNow *w, const PlanAccess *a)
{
	double held = a->bytes;
	for (int k = 0; k < a->ndim; k++)
		held *= at(w->values, a->held[k]);
	return held * 2 <= (double)w->machine->l1_bytes;
}

/* The part of a line that the copies leave alone, of a row that they store. */
static double part_of_line(
    const StageNow *w, const PlanAccess *a, int body, int vector)
{
	double bytes = (double)neighbours(w, a, body, vector) * a->bytes;
	return stays_near(w, a) ? 0
				: max2(0, 1 - bytes / w->machine->line_bytes);
}

/* Of the rows that the body stores vectors of in turn: how many of their pieces end
 * inside of a line, which waits for the next piece until all rows had theirs. */
static double pieces_torn(
    const StageNow *w, const PlanAccess *a, int body, int vector)
{
	const AccessNow *now = access_now(w, a);
	int64_t line = w->machine->line_bytes, even = line;
	int64_t piece = w->extent[vector];
	double rows = 1;
	bool goes_on = false, first = true; /* of the loops around the body */
	for (uint32_t loops = now->moves & ~(1u << vector); loops;) {
		int d = last_loop(&loops);
		bool next = rows == 1 && llabs(now->step[d]) == piece;
		if (d < body && first && next)
			return 0;
		if (d >= body && next) {
			piece *= w->extent[d];
			continue;
		}
		if (d >= body && llabs(now->step[d]) * a->bytes < line)
			return 0; /* rows that go on where the last one ended */
		if (d >= body)
			rows *= (double)w->extent[d];
		first &= d >= body;
		goes_on |= d < body && llabs(now->step[d]) == piece;
		even = gcd(even, now->step[d] * a->bytes);
	}
	return goes_on ? rows * (1 - (double)even / (double)line) : 0;
}

/* Where the results are temporaries over the loops of the reduction: how many are
 * stored once each, and of how many lanes and unrolled steps each is the sum. */
static void count_results(const StageNow *w, int vector, StageCost *c)
{
	const PlanStage *s = w->stage;
	int first = s->steps ? __builtin_ctz(s->steps) : s->nloops;
	BodySums sums = body_sums_none();
	for (int d = first; d < s->nloops && sums.results; d++)
		body_sums_loop(&sums,
		    (BodyLoop){.extent = w->values[s->loops[d].extent],
			.reduce = s->loops[d].reduce,
			.code = w->code >> d & 1,
			.vector = d == vector,
			.merged = s->dot && d == s->nloops - 1});
	body_sums_end(&sums, s->nwrites);
	if (first == s->nloops || !sums.results)
		return;
	c->results = c->trips[first] * sums.results * s->nwrites;
	c->partials = sums.across ? sums.copies * c->lanes : 1;
	c->accumulators = sums.results * s->nwrites * sums.copies;
}

/* Vectors that are loaded whole for one whose lanes lie a few elements apart, each
 * with a shuffle.  0: not so. */
static int loads_apart(
    const Machine *m, const PlanAccess *a, int lanes, int64_t step)
{
	int64_t apart = step < 0 ? -step : step;
	int most = body_loads_most(m, a->bytes, lanes);
	return step != 1 && apart <= most ? (int)apart : 0;
}

/* Copies that read other vectors, of those whose lanes lie apart: x*2 + s for two
 * of s reads the same ones, but where a condition guards what lies between. */
static double copies_apart(
    const StageNow *w, const PlanAccess *a, uint32_t loops, int apart)
{
	double copies = 1;
	while (loops) {
		int d = last_loop(&loops);
		double n = (double)w->extent[d];
		double step = fabs((double)access_now(w, a)->step[d]);
		copies *= step < apart ? ceil(n * step / apart) : n;
	}
	return copies;
}

/* Is what lanes read told by where a loop that runs stands: (x + s)//2 for lanes
 * over x? */
static bool lanes_wander(
    const StageNow *w, const PlanAccess *a, int body, int vector)
{
	for (int d = 0; d < body && at(w->values, a->across[vector]) > 0; d++)
		if (w->extent[d] > 1 && at(w->values, a->across[d]) > 0 &&
		    a->dims[d] & a->dims[vector])
			return true;
	return false;
}

/* Does a condition tell lanes apart? */
static bool lanes_open(const StageNow *w, int vector)
{
	for (int i = 0; i < w->stage->nconditions; i++)
		if (w->stage->conditions[i].movers >> vector & 1)
			return true;
	return false;
}

/* Accesses that a vector of neighbours takes: one where all its steps are whole
 * lines, else where it begins is anywhere, and some lie in two. */
static double lines_each(const StageNow *w, const PlanAccess *a, int vector)
{
	const Machine *m = w->machine;
	uint32_t loops = access_now(w, a)->moves & ~(1u << vector);
	double bytes = min2((double)w->extent[vector] * a->bytes *
		(w->merged ? w->merged : 1), m->vector_bytes);
	while (loops) {
		int64_t step = access_now(w, a)->step[last_loop(&loops)];
		if (step * a->bytes % m->line_bytes)
			return 1 +
			    (a->write ? 1 : w->costs->crossing) *
			    ((bytes - a->bytes) / m->line_bytes);
	}
	return 1;
}

/* Operations of the body: what does not move with one of its loops is made once
 * for all iterations of that, and what moves with none, nor with the loop around
 * them, before that one.  A sum's last multiplication adds. */
static double count_work(const PlanStage *s, const Machine *m,
    const int64_t *values, int vector, double words, const StageCost *c)
{
	bool fused = s->reduce && s->flops >= 2 * s->nwrites && m->fma;
	double sum = s->reduce && !fused ? c->unrolled * words * s->nwrites : 0;
	for (int i = 0; i < s->nworks; i++) {
		const PlanWork *w = &s->works[i];
		double copies = 1;
		bool around = c->body && w->movers >> (c->body - 1) & 1;
		bool moves = around;
		for (int d = c->body; d < s->nloops; d++) {
			if (!(w->movers >> d & 1))
				continue;
			moves = true;
			copies *= d == vector ? words
					      : at(values, s->loops[d].extent);
		}
		if (moves)
			sum += copies * w->weight;
		if (around || copies > 1)
			sum += copies * w->splats;
	}
	return sum;
}

/* Of what moves neither with the body nor with the loop around it, over the run:
 * once in each iteration of the last loop that moves it. */
static double count_outside(const PlanStage *s, const StageCost *c)
{
	double sum = 0;
	for (int i = 0; i < s->nworks && c->body; i++) {
		const PlanWork *w = &s->works[i];
		if (w->movers && !(w->movers >> (c->body - 1)))
			sum +=
			    w->weight * c->trips[32 - __builtin_clz(w->movers)];
	}
	return sum;
}

/* The part of the copies of an elementwise body that are made: none behind the end
 * of an axis that ends inside of its tile. */
static double part_made(const PlanStage *s, const StageCost *c)
{
	double all = c->trips[c->body] * c->unrolled * c->lanes;
	return s->reduce || all <= 0 ? 1 : min2(1, c->trips[s->nloops] / all);
}

/* Are whole tiles of some axis not told from the last one, which has no more than
 * a part of its copies? */
static bool is_masked(const PlanStage *s, const int64_t *values,
    const StageCost *c)
{
	if (body_tail_tiles(s->tail) != BODY_TILES_ALIKE || s->reduce)
		return false;
	for (int a = 0; a < s->naxes; a++) {
		int64_t tile = 1, lanes = 1;
		for (int d = c->body; d < s->nloops; d++)
			if (s->loops[d].axis == a &&
			    s->loops[d].kind != LOOP_VECTOR)
				tile *= values[s->loops[d].extent];
			else if (s->loops[d].axis == a)
				lanes = values[s->loops[d].extent];
		if (lanes == 1 && s->axes[a].length % tile)
			return true;
	}
	return false;
}

/* Is the innermost loop of products one operation, as codegen/lower/lower_dot.c
 * has it: a step's elements side by side in both operands? */
static bool is_one_operation(const StageNow *w)
{
	const PlanStage *s = w->stage;
	if (!s->dot)
		return false;
	for (int i = 0; i < s->naccesses; i++)
		if (!s->accesses[i].write &&
		    s->accesses[i].scope != SCOPE_REG &&
		    w->at[i].step[s->nloops - 1] != 1)
			return false;
	return true;
}

/* Of such a stage: without that loop, elements as wide as all its steps are. */
static void merge_steps(StageNow *w)
{
	int four = w->stage->nloops - 1;
	w->extent[four] = 1;
	w->runs &= ~(1u << four);
	w->merged = w->stage->dot->terms;
	for (int i = 0; i < w->stage->naccesses; i++) {
		AccessNow *now = &w->at[i];
		now->moves &= ~(1u << four);
		for (int d = 0; d < four && now->step[four] == 1; d++)
			if (now->step[d] % w->merged == 0)
				now->step[d] /= w->merged;
	}
}

static double count_dots(const StageNow *w, double words, const StageCost *c)
{
	int n = intrinsic_instructions(
	    w->stage->dot, w->machine, w->stage->numerics);
	return c->unrolled * words *
	    (n ? n : 2 * w->stage->dot->terms);
}

/* A digit of a fused loop that has one value: another candidate's nest has none. */
static bool is_no_loop(const StageNow *w, int d)
{
	return w->stage->digits >> d & 1 && w->extent[d] == 1;
}

/* A body that is being counted. */
typedef struct {
	int vector;	 /* loop of its lanes; -1: none */
	double words;	 /* instructions of a vector of them */
	double copies;	 /* for the parts between which conditions differ */
	uint32_t inside; /* its loops that run, but for the lanes */
	double streams,
	    broadcasts;	      /* vectors, numbers that stay in registers */
	double narrow;	      /* elements of stores that are a part of a line */
	double shared, again; /* vectors that copies read; loads if not */
	double folded;	      /* loads that are a part of an operation */
} Body;

/* An access of it: how often it differs, in copies and in steps of results. */
typedef struct {
	const PlanAccess *of;
	const AccessNow *now;
	uint32_t moving;
	double copies, step_copies;
	double loaded; /* vectors that copies do not share */
	double made;   /* the part of these that is */
	double each;   /* instructions of one */
	int64_t step;  /* between lanes */
	bool wide;
	int whole; /* vectors that are loaded for one of lanes that lie apart */
} BodyAccess;

/* The loops of the body, from the innermost on. */
static void find_body(const StageNow *w, Body *b, StageCost *c)
{
	const PlanStage *s = w->stage;
	b->vector = -1;
	c->body = s->nloops;
	while (c->body > 0 &&
	    (is_no_loop(w, c->body - 1) || w->code >> (c->body - 1) & 1)) {
		const PlanLoop *l = &s->loops[--c->body];
		if (l->kind == LOOP_VECTOR) {
			b->vector = c->body;
			c->lanes = at(w->values, l->extent);
		} else {
			c->unrolled *= (double)w->extent[c->body];
		}
	}
	double bytes = c->lanes * s->accesses[0].bytes;
	b->words = w->machine->vector_bytes && b->vector >= 0
	    ? max2(1, ceil(bytes / w->machine->vector_bytes))
	    : 1;
	b->inside = w->runs >> c->body << c->body;
	if (b->vector >= 0)
		b->inside &= ~(1u << b->vector);
}

static void count_computed(const StageNow *w, Body *b, StageCost *c)
{
	const PlanStage *s = w->stage;
	StageDensity density = stage_density(s, w->values, c->padding);
	double branches = s->branches + density.open;
	b->copies = c->copies = density.copies;
	c->density = density.bodies * density.copies;
	c->body_runs = c->trips[c->body] * density.bodies;
	c->steps = s->reduce
	    ? c->unrolled * b->words * s->nwrites * density.copies
	    : 0;
	c->operations = density.copies *
	    ((w->merged ? count_dots(w, b->words, c)
			: count_work(s, w->machine, w->values, b->vector,
			      b->words, c)) +
		c->unrolled * b->words * BRANCH_OPERATIONS * branches);
	if (s->reduce)
		count_results(w, b->vector, c);
}

static BodyAccess find_access(
    const StageNow *w, int i, const Body *b, StageCost *c)
{
	const PlanStage *s = w->stage;
	const PlanAccess *a = &s->accesses[i];
	BodyAccess x = {.of = a,
	    .now = &w->at[i],
	    .moving = b->inside & w->at[i].moves,
	    .copies = 1,
	    .step_copies = 1};
	for (uint32_t loops = x.moving; loops;) {
		int d = last_loop(&loops);
		x.copies *= (double)w->extent[d];
		x.step_copies *= s->loops[d].reduce ? 1 : (double)w->extent[d];
	}
	x.step = b->vector >= 0 ? x.now->step[b->vector] : 0;
	x.wide = x.step != 0;
	if (x.wide && lanes_wander(w, a, c->body, b->vector))
		x.step = INT32_MAX;
	if (x.wide && a->repeated >> b->vector & 1) {
		if (a->predicated && lanes_open(w, b->vector))
			x.step = INT32_MAX;
		c->operations += x.copies * b->words * w->costs->shuffle;
	}
	return x;
}

/* Of these loops the one with the shortest step. */
static int nearest_loop(const AccessNow *now, uint32_t loops)
{
	int nearest = last_loop(&loops);
	while (loops) {
		int d = last_loop(&loops);
		if (llabs(now->step[d]) < llabs(now->step[nearest]))
			nearest = d;
	}
	return nearest;
}

/* Places that the loops read: the steps of a window read again what the next rows do
 * (`x[i + k, j]`). */
static double places_read(
    const StageNow *w, const PlanAccess *a, uint32_t loops)
{
	const AccessNow *now = access_now(w, a);
	double places = 1, row = 1; /* of neighbours `unit` apart */
	int64_t unit = 0;
	while (loops) {
		int d = nearest_loop(now, loops);
		int64_t step = llabs(now->step[d]);
		double n = (double)w->extent[d];
		loops &= ~(1u << d);
		if (unit && step % unit == 0 && (double)(step / unit) <= row) {
			row += (double)(step / unit) * (n - 1);
			continue;
		}
		places *= row;
		row = n;
		unit = step;
	}
	return places * row;
}

/* What copies share: which vectors are loaded, or elements. */
static void share_copies(
    const StageNow *w, const Body *b, BodyAccess *x, const StageCost *c)
{
	const PlanAccess *a = x->of;
	x->whole =
	    a->write ? 0 : loads_apart(w->machine, a, (int)c->lanes, x->step);
	bool beside = x->wide && x->step == 1 && !a->write && !a->predicated &&
	    !a->by_data;
	double differing = (x->wide && x->whole) || beside
	    ? part_differing(w, a, x->moving, x->copies)
	    : 1;
	double places = beside ? places_read(w, a, x->moving) : 0;
	x->copies *= differing;
	x->step_copies *= differing;
	x->loaded = x->wide && x->whole && !a->predicated
	    ? differing * copies_apart(w, a, x->moving, x->whole)
	    : beside ? min2(places, x->copies)
		     : x->copies;
	x->made = a->predicated ? b->copies : 1;
}

/* How many instructions an access is, of elements that lie apart too. */
static void count_each(
    const StageNow *w, const Body *b, BodyAccess *x, StageCost *c)
{
	const PlanAccess *a = x->of;
	share_copies(w, b, x, c);
	x->each = x->wide ? b->words : 1;
	if (x->step == 1 || (x->wide && x->whole))
		x->each *= lines_each(w, a, b->vector);
	x->each *= x->made;
	if (x->wide && x->whole) {
		double gathered = part_gathered(w, a, c->body, b->vector);
		x->each =
		    x->each * x->whole * (1 - gathered) + c->lanes * gathered;
		c->gathers += x->copies * c->lanes * gathered;
		c->operations +=
		    x->copies * b->words * w->costs->shuffle * (x->whole - 1);
	} else if (x->wide && x->step != 1) {
		double together = 1, whole_part = 0;
		x->each = c->lanes;
		if (a->write) {
			together = stored_together(w, a, c->body, b->vector);
			whole_part =
			    1 - part_masked(w, c->body, b->vector, false);
		}
		x->each *= 1 - whole_part + whole_part / together;
		c->gathers +=
		    x->copies * (x->each + whole_part * log2(together));
	}
}

/* By the time that the next part of a line is stored, the line may have to be brought
 * again, and its page's address.  Where other rows come between a row's pieces there
 * is time for operations, not for what else is brought. */
static void count_store(
    const StageNow *w, Body *b, const BodyAccess *x, StageCost *c)
{
	if (x->wide && x->step != 1)
		b->narrow += x->copies * x->each *
		    part_of_line(w, x->of, c->body, b->vector);
	else if (x->wide && !stays_near(w, x->of))
		c->torn += pieces_torn(w, x->of, c->body, b->vector) *
		    (w->costs->torn +
			w->costs->torn_twice * (x->each / b->words - 1));
	c->stores += x->copies * x->each;
}

static void count_load(
    const StageNow *w, Body *b, const BodyAccess *x, StageCost *c)
{
	const PlanAccess *a = x->of;
	const Machine *m = w->machine;
	bool reduce = w->stage->reduce;
	if (x->loaded < x->copies) {
		b->again += (x->copies - x->loaded) * x->each;
		b->shared += x->step_copies * b->words * max2(1, x->whole);
	}
	if (!x->wide && b->vector >= 0 && !m->splat)
		c->operations += x->copies; /* a shuffle */
	if (reduce && a->bytes < WORD && !w->merged)
		c->operations += x->copies * (x->wide ? b->words : CONVERT_ONE);
	if (!reduce && a->widened && x->wide)
		c->operations += x->loaded * b->words;
	if (x->copies * x->each >= c->operations && (x->wide || m->broadcast))
		b->folded = c->operations;
	if (x->wide && x->step_copies * b->words < b->streams)
		b->streams = x->step_copies * b->words;
	if (!x->wide)
		b->broadcasts = max2(b->broadcasts,
		    count_kept(w, a, c->body, b->vector,
			a->predicated ? b->copies : 1));
	if (!x->wide && !m->broadcast && reduce)
		b->broadcasts = max2(
		    b->broadcasts, count_wandering(w, a, c->body, b->vector));
}

/* Operations beside the stores of a part of a vector.  Machines without masks of 64
 * lanes have none for what is narrower than a word, of which each lane is tested, and
 * take longer for others. */
static double parts_stored(
    const StageNow *w, const Body *b, const BodyAccess *x, const StageCost *c)
{
	if (!w->machine->vector_bytes || w->machine->vector_bytes >= 64 ||
	    x->step != 1)
		return 0;
	return x->copies * part_masked(w, c->body, b->vector, false) *
	    (x->of->bytes < WORD ? TESTED * c->lanes : w->costs->masked_store);
}

static void count_access(const StageNow *w, int i, Body *b, StageCost *c)
{
	bool reduce = w->stage->reduce;
	BodyAccess x = find_access(w, i, b, c);
	const PlanAccess *a = x.of;
	if (a->write && reduce && !c->results)
		c->accumulators += b->words * x.copies;
	if (a->write && a->scope != SCOPE_REG)
		c->operations += parts_stored(w, b, &x, c);
	if (a->scope == SCOPE_REG || (a->write && c->results > 0))
		return;
	count_each(w, b, &x, c);
	if (a->write)
		count_store(w, b, &x, c);
	if (!a->write || reduce)
		c->loads += x.loaded * x.each *
		    (w->merged && !x.wide ? w->costs->dot_broadcast : 1);
	if (!a->write)
		count_load(w, b, &x, c);
}

/* Instructions of the body: one for each access that differs. */
static void count_body(const StageNow *w, StageCost *c)
{
	const PlanStage *s = w->stage;
	Body b = {.streams = 1e9};
	find_body(w, &b, c);
	count_computed(w, &b, c);
	for (int i = 0; i < s->naccesses; i++)
		count_access(w, i, &b, c);
	c->narrow = b.narrow;
	if (is_masked(s, w->values, c))
		c->operations += c->stores * MASK;
	if (c->results > 0)
		c->accumulators *= b.words;
	c->registers =
	    c->accumulators + (b.streams < 1e9 ? b.streams : 1) + b.broadcasts;
	/* vectors that several sums take, and an element that all lanes do */
	c->crowded = c->accumulators +
	    (b.streams < c->accumulators ? b.streams : 1) +
	    (b.broadcasts > 0 && !w->machine->broadcast);
	if (c->accumulators + b.shared > w->machine->vector_registers)
		c->loads += b.again;
	c->instructions =
	    c->operations + c->loads - b.folded + c->stores + LOOP_INSTRUCTIONS;
}

static void count_instructions(const StageNow *w, StageCost *c)
{
	StageNow merged;
	if (!is_one_operation(w)) {
		count_body(w, c);
		return;
	}
	merged = *w;
	merge_steps(&merged);
	count_body(&merged, c);
}

/* --- without prices ---------------------------------------------------------- */

/* Of neighbours that lie apart, rows of each lane for all that go together, or whole
 * vectors; so often. */
static void note_rows(const StageNow *w, const Body *b, const BodyAccess *x,
    const StageCost *c, double runs, bool masked, BodyCounts *n)
{
	int there = neighbours(w, x->of, c->body, b->vector);
	for (int left = there; left > 0;) {
		BodyRows rows = body_rows(left, (int)c->lanes, x->step, masked);
		double bytes = rows.n * x->of->bytes;
		double words = w->machine->vector_bytes
		    ? ceil(bytes / w->machine->vector_bytes)
		    : 1;
		left -= rows.n;
		if (rows.zipped)
			n->stores += runs / there * rows.n * b->words;
		else if (rows.n > 1)
			n->stores += runs / there * c->lanes * words;
		else
			n->scattered += runs / there * c->lanes;
	}
}

static void note_store(const StageNow *w, const Body *b, const BodyAccess *x,
    const StageCost *c, BodyCounts *n)
{
	double all = x->copies * x->made, before = n->stores + n->scattered;
	double part = x->wide ? part_masked(w, c->body, b->vector, true) : 0;
	if (!x->wide || x->step == 1) {
		n->stores += all * (x->wide ? b->words : 1);
		n->masked += (n->stores + n->scattered - before) * part;
		return;
	}
	note_rows(w, b, x, c, all * part, true, n);
	n->masked += n->stores + n->scattered - before;
	note_rows(w, b, x, c, all * (1 - part), false, n);
}

/* Lanes that lie anywhere are loaded one by one where nothing gathers. */
static void note_load(const StageNow *w, const Body *b, const BodyAccess *x,
    const StageCost *c, BodyCounts *n)
{
	double all = x->loaded * x->made;
	if (!x->wide)
		n->splats += all;
	else if (x->step == 1 || x->whole)
		n->loads += all * b->words * max2(1, x->whole);
	else if (w->machine->gather || x->of->by_data >> b->vector & 1)
		n->gathered += all * c->lanes;
	else
		n->splats += all * c->lanes;
}

/* Behind the loops of each stage's results, so many vectors: halves of two, then of
 * one, of which the last two lanes are taken out. */
static double note_across(int results, int lanes)
{
	double shuffles = 0;
	for (int left = results, n; left > 0; left -= n) {
		n = body_horizontal(left, lanes);
		shuffles += 2 * (n - 1 + log2(lanes / n) - (n == 1));
	}
	return shuffles;
}

void stage_counts(
    const PlanStage *s, const Machine *m, const int64_t *values, BodyCounts *n)
{
	StageNow now;
	StageCost c;
	Body b = {.streams = 1e9};
	stage_now(s, m, values, &now);
	memset(&c, 0, offsetof(StageCost, touched));
	c.lanes = c.unrolled = c.padding = 1;
	count_trips(&now, &c);
	*n = (BodyCounts){0};
	if (is_one_operation(&now))
		merge_steps(&now);
	find_body(&now, &b, &c);
	count_computed(&now, &b, &c);
	bool steps = c.body > 0 && s->loops[c.body - 1].reduce;
	if (now.merged)
		n->products = c.steps;
	for (int i = 0; i < s->naccesses; i++) {
		BodyAccess x = find_access(&now, i, &b, &c);
		if (x.of->scope == SCOPE_REG)
			continue;
		share_copies(&now, &b, &x, &c);
		if (x.of->write && (c.results <= 0 || !steps))
			note_store(&now, &b, &x, &c, n);
		if (!x.of->write || (s->reduce && c.results <= 0))
			note_load(&now, &b, &x, &c, n);
	}
	if (c.results <= 0)
		return;
	n->sums = steps ? c.accumulators * b.words : 0;
	n->steps = steps ? c.steps : 0;
	if (c.partials > 1)
		n->exchanges = s->nwrites *
		    note_across((int)(c.accumulators * c.lanes / c.partials) /
			    s->nwrites,
			(int)c.lanes);
}

/* Is what the body touches of each row a line, which need not stay? */
static bool whole_lines(
    const StageNow *w, const PlanAccess *a, const StageCost *c)
{
	for (int d = c->body; d < w->stage->nloops; d++)
		if (access_now(w, a)->step[d] == 1 &&
		    w->extent[d] * a->bytes >= w->machine->line_bytes)
			return true;
	return false;
}

/* Rows that lie a multiple of a cache way apart fall into one set, half a way apart
 * into two: more of them than these have lines, and none stays until its next
 * element is read. */
static void count_conflicts(const StageNow *w, StageCost *c)
{
	const Machine *m = w->machine;
	int64_t way = m->l1_ways > 0 ? m->l1_bytes / m->l1_ways : 4096;
	for (int i = 0; i < w->stage->naccesses; i++) {
		const PlanAccess *a = &w->stage->accesses[i];
		double rows = 1, sets = 1;
		if (a->scope == SCOPE_REG || whole_lines(w, a, c))
			continue;
		uint32_t loops = w->at[i].moves >> c->body << c->body;
		while (loops) {
			int d = last_loop(&loops);
			int64_t n = w->extent[d];
			int64_t step = w->at[i].step[d] * a->bytes;
			if (step < m->line_bytes)
				continue;
			int64_t own = way / gcd(step, way);
			rows *= (double)n;
			sets *= (double)(own < n ? own : n);
		}
		if (rows > m->l1_ways * sets)
			c->conflicts += rows;
	}
}

/* Is the next body of the same sums?  Those of other sums run at once. */
static bool waits_for_sums(const PlanStage *s, const StageCost *c)
{
	return c->results > 0 || !c->body || s->loops[c->body - 1].reduce;
}

/* The part of the tiles of a parallel loop's axis that there is: seven rows by six
 * are 7/12 of two tiles.  What a loop above moves is cut elsewhere. */
static double filled(const StageNow *w, int body, int loop)
{
	const PlanStage *s = w->stage;
	const int64_t *values = w->values;
	const PlanLoop *l = &s->loops[loop];
	int64_t least = values[l->below], most;
	if (l->axis < 0 || axis_mover(&s->axes[l->axis], values) >= 0)
		return 1;
	most = values[l->extent] * values[l->below];
	for (int d = 0; d < body; d++) {
		const PlanLoop *other = &s->loops[d];
		if (other->axis != l->axis)
			continue;
		if (d < loop && other->kind == LOOP_PARALLEL)
			return 1; /* the outermost of them has counted it */
		if (!runs_whole(w, d) && values[other->below] < least)
			least = values[other->below];
	}
	double made = tiles_of(s->axes[l->axis].length, least) * (double)least;
	return min2(1, made / (double)most);
}

/* Of P iterations thread t of T makes those from t P / T on: the last one as many
 * as any, and those that there are not; others so many only where two or more are
 * left over.  A loop that each thread goes through leaves as much to all. */
static void count_parallel(const StageNow *w, StageCost *c)
{
	const PlanStage *s = w->stage;
	const Machine *m = w->machine;
	const int64_t *values = w->values;
	double threads = m->threads > 1 ? m->threads : 1;
	for (int d = 0; d < s->nloops; d++)
		if (s->loops[d].kind == LOOP_PARALLEL)
			c->parallel *= at(values, s->loops[d].extent);
	double each = floor(c->parallel / threads);
	double over = c->parallel - each * threads;
	double round = c->parallel, made = c->parallel;
	for (int d = 0; d < s->nloops && round > each; d++) {
		double extent = at(values, s->loops[d].extent);
		if (s->loops[d].kind != LOOP_PARALLEL || extent == 1)
			continue;
		made *= filled(w, c->body, d);
		round /= extent;
	}
	double others = threads > 1 ? each + (over > 1) : 0;
	double last = each + (over > 0) - (c->parallel - made);
	c->imbalance = max2(others, last) * threads / made;
}

/* Cycles for one result: its partial results in pairs, two instructions for
 * each halving of the lanes, a store. */
static double combining(const PlanStage *s, const StageCost *c)
{
	bool memory = s->accesses[0].scope != SCOPE_REG;
	double pairs = c->partials / c->lanes - 1;
	if (c->partials <= 1)
		return memory;
	return max2(pairs, 0) / 2 + 1.5 * log2(c->lanes) + memory;
}

/* Cycles for the steps behind the last whole dot product of four: each lane on
 * its own. */
static double odd_steps(const StageNow *w, const StageCost *c)
{
	const PlanStage *s = w->stage;
	if (!s->dot)
		return 0;
	assert(s->nloops > 0);
	const PlanLoop *four = &s->loops[s->nloops - 1];
	if (runs_whole(w, s->nloops - 1) || four->axis < 0)
		return 0;
	int64_t rest = s->axes[four->axis].length % w->values[four->extent];
	return c->results * (double)rest * c->lanes * 3;
}

/* Cycles for beginning and ending the stage's own loops that run, of a reduction
 * those of its steps. */
static double starting(
    const PlanStage *s, const MachineCosts *costs, const StageCost *c)
{
	int first = s->own;
	while (first < c->body && s->reduce && !s->loops[first].reduce)
		first++;
	return first < c->body ? costs->loop_start * c->trips[first] +
		costs->loop_again * c->trips[c->body - 1]
			       : 0;
}

/* What does not fit the registers is stored and loaded.  Where zeros cut a loop of
 * steps, sums go through several loops: of those LLVM may keep none. */
static double spilling(const Machine *m, const StageCost *c)
{
	double over = c->registers - m->vector_registers;
	if (over <= 0)
		return 0;
	return c->density < 1 ? max2(2 * over, c->accumulators / 2) : 2 * over;
}

static void set_steps(
    const PlanAccess *a, const int64_t *values, int nloops, AccessNow *now)
{
	memset(now->step, 0, sizeof *now->step * (size_t)nloops);
	for (int i = 0; i < a->nterms; i++) {
		const PlanTerm *t = &a->terms[i];
		int64_t runs = now->moves >> t->loop & 1;
		now->step[t->loop] +=
		    runs * values[t->coef] * values[t->stride];
	}
	for (uint32_t loops = a->plain ? 0 : now->moves; loops;) {
		int d = last_loop(&loops);
		now->step[d] = access_step(a, values, d);
	}
}

void stage_now(const PlanStage *s, const Machine *m, const int64_t *values,
    StageNow *w)
{
	w->stage = s;
	w->machine = m;
	w->costs = machine_costs(m);
	w->values = values;
	w->runs = 0;
	w->code = loops_in_code(s, values);
	w->merged = 0;
	w->nrunning = 0;
	for (int d = 0; d < s->nloops; d++) {
		bool runs = values[s->loops[d].extent] > 1;
		w->extent[d] = values[s->loops[d].extent];
		w->runs |= (uint32_t)runs << d;
		w->running[w->nrunning] = (uint8_t)d;
		w->nrunning += runs;
	}
	for (int i = 0; i < s->naccesses; i++) {
		const PlanAccess *a = &s->accesses[i];
		AccessNow *now = &w->at[i];
		now->moves = a->movers & w->runs;
		uint32_t doubtful = a->doubtful & w->runs;
		while (doubtful) {
			int d = last_loop(&doubtful);
			now->moves |= (uint32_t)access_moves(a, values, d) << d;
		}
		set_steps(a, values, s->nloops, now);
	}
}

static void count_stage(const StageNow *w, StageCost *c)
{
	memset(c, 0, offsetof(StageCost, touched));
	c->lanes = c->unrolled = c->parallel = 1;
	count_trips(w, c);
	c->padding = max2(
	    1, c->trips[w->stage->nloops] / (double)w->stage->points);
	count_instructions(w, c);
}

void stage_body(const PlanStage *s, const Machine *m, const int64_t *values,
    StageCost *c)
{
	StageNow now;
	stage_now(s, m, values, &now);
	count_stage(&now, c);
}

/* Bytes a cycle that a core has of what all cores have in common; 0 of `all`: it is
 * not known to be less. */
static double rate(double one, double all, const Machine *m)
{
	double threads = m->threads > 1 ? m->threads : 1;
	return all > 0 ? min2(one, all / threads) : one;
}

/* What is left after count_stage. */
static void count_rest(const StageNow *w, StageCost *c)
{
	const PlanStage *s = w->stage;
	const Machine *m = w->machine;
	const MachineCosts *costs = w->costs;
	count_parallel(w, c);
	count_traffic(w, c);

	double issue = m->fma_per_cycle > 0 ? m->fma_per_cycle : 1;
	double latency = m->fma_latency > 0 ? m->fma_latency : 4;
	double body = max2(c->operations / issue, c->loads * costs->load);
	body = max2(body, c->stores * costs->store);
	if (s->reduce && c->accumulators > 0 && waits_for_sums(s, c))
		body = max2(
		    body, c->steps / c->accumulators * latency * costs->late);
	if (m->vector_registers && s->reduce && c->accumulators > 0 &&
	    c->crowded > m->vector_registers)
		body = max2(body,
		    c->steps / c->accumulators * (latency + costs->forwarded));
	if (m->vector_registers)
		body += spilling(m, c);
	count_conflicts(w, c);
	body = max2(body, c->instructions / costs->issue);
	/* where a reduction waits for its sums there is time for the branch back */
	body += c->gathers * costs->gather + c->narrow * costs->narrow_store +
	    c->conflicts * costs->conflict + (s->reduce ? 0 : costs->loop_back);
	double compute = body * c->body_runs * part_made(s, c) +
	    starting(s, costs, c) + count_outside(s, c) / issue +
	    c->results * combining(s, c) + odd_steps(w, c) + c->split;
	double l2 = c->traffic[0] / costs->l2;
	double l3 = c->traffic[1] / rate(costs->l3, costs->l3_all, m);
	double memory =
	    c->traffic[2] / rate(costs->memory, costs->memory_all, m);
	double torn = c->torn * c->body_runs * part_made(s, c);
	double moved = max2(max2(l2, l3), memory);
	double longest = max2(compute, moved);
	c->cycles = longest +
	    costs->not_hidden * (compute + l2 + l3 + memory - longest);
	double waits = max2(longest, moved + torn) - longest;
	waits += costs->not_hidden * (torn - waits);
	c->cycles += waits;
	double threads = m->threads > 1 ? m->threads : 1;
	double ghz = costs->clock > 0 ? costs->clock : m->clock_ghz;
	double hertz = (ghz > 0 ? ghz : 3) * 1e9;
	c->seconds = c->cycles * c->imbalance / threads / hertz;
	c->waits = waits * c->imbalance / threads / hertz;
	if (c->parallel > 1 && threads > 1)
		c->seconds += costs->team * 1e-6;
}

void stage_finish(
    const PlanStage *s, const Machine *m, const int64_t *values, StageCost *c)
{
	StageNow now;
	stage_now(s, m, values, &now);
	count_rest(&now, c);
}

void stage_cost(
    const PlanStage *s, const Machine *m, const int64_t *values, StageCost *c)
{
	StageNow now;
	stage_now(s, m, values, &now);
	count_stage(&now, c);
	count_rest(&now, c);
}
