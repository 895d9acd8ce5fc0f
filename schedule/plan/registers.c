/* Registers of a thread of a launch, as ptxas gives them: what it needs, what it
 * would take to have more loads under way, and what it is given in between.
 *
 * A compiler knows the threads of a block, and so how many registers a thread may
 * have before a processor runs one block less.  So many it gives where loads are to
 * be begun early: a loop of products over memory takes 31 where 64 warps run at
 * once, 62 where 32 do, for the same text.
 *
 *     need    sums while their steps run, operands of a step, counters
 *     wish    the same, and all that a body loads, of loops that are unrolled
 *     given   the wish, if it costs no block; else what costs none, or the need
 *
 * What a loop of its own passes on to the next in registers is dissolved in part:
 * a window's elements are loaded when the first result wants them. */
#include <assert.h>
#include <math.h>

#include "schedule/plan/cost_gpu.h"

/* Registers of any thread; of one that has a tile of sums; of one sum. */
#define OWN 10
#define OWN_TILE 12
#define OWN_SUM 7

/* A tile's operands of a step are wanted at once, half of the next ones early.
 * Each loop around takes a counter, and what addresses begin with. */
#define OPERANDS_EARLY 1.5
#define TILE_LOADS 0.47
#define TILE_LOADS_MOST 72
#define LOOP_NEEDS 2
#define LOOP_WISHES 7

/* Of what is loaded for one sum, with its address; for a copy. */
#define SUM_LOADS 1.2
#define COPY_LOADS 1.25
#define COPY_LOADS_MOST 6
#define FILL_LOADS_MOST 64
#define POINTER 0.5

/* Loads of a loop that is unrolled whole; iterations of one that is so in part. */
enum { UNROLLED = 300, LONG = 8, FEW = 8 };

/* Of what stages pass on in registers. */
#define PASSED_NEED 0.6
#define PASSED_WISH 0.9

enum { WORD = 4 };

static double words_of(const PlanAccess *a)
{
	return a->bytes > WORD ? (double)a->bytes / WORD : 1;
}

static uint32_t movers_of(
    const PlanAccess *a, const int64_t *values, uint32_t loops)
{
	uint32_t moves = loops & a->movers, doubtful = loops & a->doubtful;
	while (doubtful) {
		int d = last_loop(&doubtful);
		moves |= (uint32_t)access_moves(a, values, d) << d;
	}
	return moves;
}

/* A buffer in registers, of which each thread has its share, by loops of threads
 * inside of its place: of what the stage fills, the stage's own. */
static double share_of(const PlanStage *s, const PlanAccess *a,
    const int64_t *values, const Shape *shape)
{
	uint32_t inside = a->write ? ~0u << s->own : ~0u;
	double held = 1;
	for (int k = 0; k < a->ndim; k++)
		held *= (double)values[a->held[k]];
	held /= extents_of(
	    s, values, movers_of(a, values, shape->threads & inside));
	return max2(1, held) * words_of(a);
}

void registers_hold(Registers *r, const PlanStage *s, const PlanAccess *a,
    const int64_t *values, const Shape *shape)
{
	double share = share_of(s, a, values, shape);
	if (s->reduce && s->steps & shape->serial)
		r->sums += share;
	else
		r->passed += share;
}

/* What one body loads, and of it what moves with none of its steps: a thread has
 * its part of a warp's fragments, and nothing of what a warpgroup's product
 * reads. */
typedef struct {
	double all, step;
	int pointers;
	bool shared; /* some from shared memory */
} Loads;

/* By copies that pass by registers. */
static bool is_filled_ahead(const PlanAccess *a, const int64_t *values)
{
	return a->scope == SCOPE_SHARED && a->slots != HANDLE_NONE &&
	    values[a->slots] > 1;
}

static Loads loads_of(const PlanStage *s, const Machine *m,
    const int64_t *values, const Shape *shape)
{
	Loads loads = {0};
	uint32_t code = shape->code;
	double part = !s->fragment || m->warp <= 0 ? 1
	    : s->fragment->warps > 1		   ? 0 : 1.0 / m->warp;
	for (int i = 0; i < s->naccesses; i++) {
		const PlanAccess *a = &s->accesses[i];
		if (a->scope == SCOPE_REG)
			continue;
		loads.pointers += a->scope == SCOPE_SHARED ? 1 : 2;
		if (a->write && is_filled_ahead(a, values))
			return loads;
		if (a->write)
			continue;
		loads.shared |= a->scope == SCOPE_SHARED;
		double words =
		    s->fragment ? a->bytes * part / WORD : words_of(a);
		uint32_t moves = movers_of(a, values, code);
		uint32_t kept = s->fragment ? moves : moves & ~s->steps;
		loads.all += words * extents_of(s, values, moves);
		loads.step += words * extents_of(s, values, kept);
	}
	return loads;
}

/* Loads of all loops that are unrolled, from inside, as far as no other stage runs
 * in them; a long loop of few loads goes on as long as there are registers. */
static double unrolled(const PlanStage *s, const int64_t *values,
    const Shape *shape, double loads)
{
	double sum = loads;
	uint32_t common = (uint32_t)(((uint64_t)1 << s->common) - 1);
	for (uint32_t serial = shape->serial & ~common; serial;) {
		double n = (double)values[s->loops[last_loop(&serial)].extent];
		if (sum * n > UNROLLED)
			return sum == loads && n >= LONG && loads <= FEW
			    ? INFINITY : sum;
		sum *= n;
	}
	return sum;
}

void registers_stage(Registers *r, const PlanStage *s, const Machine *m,
    const int64_t *values, const Shape *shape)
{
	Loads loads = loads_of(s, m, values, shape);
	double all = unrolled(s, values, shape, loads.all);
	double around = __builtin_popcount(shape->serial);
	double need = OWN, wish;
	if (!s->reduce)
		wish = OWN + POINTER * loads.pointers + COPY_LOADS *
		    min2(all, s->accesses[0].scope == SCOPE_SHARED
			    ? FILL_LOADS_MOST : COPY_LOADS_MOST);
	else if (!loads.shared &&
	    extents_of(s, values, shape->code & ~s->steps) <= 1)
		wish = OWN_SUM + POINTER * loads.pointers + SUM_LOADS * all;
	else {
		wish = OWN_TILE + OPERANDS_EARLY * loads.step +
		    TILE_LOADS * min2(all, TILE_LOADS_MOST) +
		    LOOP_WISHES * around;
		need = OWN_TILE + loads.step + LOOP_NEEDS * around;
	}
	r->need = max2(r->need, need);
	r->wish = max2(r->wish, wish);
	r->group |= is_group(s);
	r->exchanges |= (s->steps & shape->threads) != 0;
}

/* That threads of so many blocks can have on one processor. */
static double registers_most(const Machine *m, double threads, double blocks)
{
	double most = m->thread_registers > 0 ? m->thread_registers : 1e9;
	if (m->processor_registers <= 0 || m->warp <= 0)
		return most;
	double warps = ceil(threads / m->warp) * blocks;
	double parts = m->partitions > 0 ? m->partitions : 1;
	double each = m->processor_registers / (ceil(warps / parts) * parts);
	double unit = m->register_unit > 0 ? m->register_unit : m->warp;
	return min2(most, floor(each / unit) * unit / m->warp);
}

void registers_settle(Registers *r, const Machine *m, double threads,
    double shared_bytes)
{
	assert(threads >= 1 && shared_bytes >= 0);
	double kept = r->sums + (r->exchanges ? r->passed : 0);
	double passed = r->exchanges ? 0 : r->passed;
	Occupancy o =
	    occupancy(m, (int64_t)threads, 0, (int64_t)shared_bytes);
	double blocks = o.blocks > 0 ? o.blocks : 1;
	r->most = registers_most(m, threads, 1);
	r->need += kept + PASSED_NEED * passed;
	r->wish += kept + PASSED_WISH * passed;
	double free = registers_most(m, threads, blocks);
	while (free < r->need && blocks > 1)
		free = registers_most(m, threads, --blocks);
	r->given = min2(r->most, max2(r->need, min2(free, r->wish)));
}
