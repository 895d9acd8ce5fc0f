/* What a launch of a GPU takes: its stages' work for each unit of a processor, what
 * they move, and how long a thread waits, put together by how many blocks there are
 * at once and how often.
 *
 *     work of a block           issue, arithmetic, special functions, loading
 *     waiting of a thread       loads, barriers, sums that follow each other
 *     blocks at once            ir/occupancy.c, of threads, registers, shared
 *     one block's own           its warps' share of the units, or its warps' latency
 *     T(b blocks) = max(b * work, own + waiting)
 *     a processor               whole waves * T(all) + T(the last one's)
 *     seconds = the longest of a processor, the second cache, memory; and a
 *               part of the others, since nothing overlaps perfectly
 *
 * All is for a launch with numbers: no program is built. */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "schedule/plan/cost_gpu.h"

/* A thread's widest load; buffers of a launch that are looked at. */
enum { VECTOR_BYTES = 16, LAUNCH_BUFFERS = 16 };

/* Of a condition in a body; of a digit of an index that is divided each time. */
enum { BRANCH_INSTRUCTIONS = 10, DIGIT_INSTRUCTIONS = 10 };

/* Instructions of a loop, and to begin a thread. */
enum { LOOP_INSTRUCTIONS = 3, BEGIN_INSTRUCTIONS = 20 };

/* A stage of the launch with all that is asked more than once. */
typedef struct {
	StageNow now;
	StageCost trips;     /* of which only these */
	const Shape *shape;
	Lanes lanes;
	double extent[PLAN_DEPTH]; /* of loops */
	double warps;        /* of a block that make it */
	double copies;       /* in a body */
	double runs;         /* of the body by a thread */
	double begins;       /* of these, after another stage's or a barrier */
	bool looped;         /* elements one after another, not in one body */
	int digits;          /* that each of these divides for */
} GpuStage;

/* A launch as it adds up. */
typedef struct {
	const Machine *machine;
	const GpuCosts *costs; /* the machine's */
	const int64_t *values;
	LaunchCost *cost;
	Shape shape;          /* the most of all stages */
	double l1_bytes;      /* of the first cache for a block */
	double at_once;       /* blocks */
	double others;        /* cycles of a block's warps, each by itself, but for
				 arithmetic */
	bool apart;           /* stages with barriers between them */
	/* waiting, in loads, all of them and those beyond the first cache: when
	 * data are wanted, and ahead of it */
	double from_l1, from_beyond, ahead_l1, ahead_beyond;
	double fills; /* barriers for what is shared */
	int nread, read[LAUNCH_BUFFERS]; /* by stages before this one */
	double touches, shared_touches, turns, sectors;
} Launch;

static double product_of(const int64_t *extent)
{
	return (double)extent[0] * (double)extent[1] * (double)extent[2];
}

static int64_t whole(double x)
{
	return x < 1e15 ? (int64_t)x : INT64_MAX / 2;
}

static void set_occupancy(Launch *l, const Needs *n)
{
	const Machine *m = l->machine;
	LaunchCost *c = l->cost;
	Occupancy o = occupancy(m, whole(n->threads),
	    whole(min2(n->registers.given, n->registers.most)),
	    whole(n->shared_bytes));
	double processors = m->processors > 0 ? m->processors : 1;
	c->grid = product_of(n->shape.grid);
	c->threads = n->threads;
	c->shared_bytes = n->shared_bytes;
	c->registers = n->registers.given;
	c->spilled = max2(0, n->registers.need - n->registers.most);
	c->why = n->why ? n->why : o.why;
	c->resident = c->why ? 0 : o.blocks;
	if (!c->resident)
		return;
	double threads = m->processor_threads > 0 ? m->processor_threads
						   : c->threads;
	c->occupancy = min2(1, c->resident * c->threads / threads);
	c->waves = ceil(c->grid / (c->resident * processors));
	l->at_once = min2(c->grid, c->resident * processors);
	double beside = min2(c->resident, ceil(c->grid / processors));
	double shared = (double)occupancy_shared(m,
	    whole(beside * (c->shared_bytes + (double)m->block_shared_own)));
	l->l1_bytes = max2(0, (double)m->l1_bytes - shared) / beside;
}

/* --- a stage's work ------------------------------------------------------------ */

/* Loops from which on another stage runs beside: barriers and what follows keep
 * iterations apart. */
static uint32_t common_mask(const PlanStage *s)
{
	return (uint32_t)(((uint64_t)1 << s->common) - 1);
}

static double iterations_of(const GpuStage *p, uint32_t loops)
{
	double product = 1;
	while (loops)
		product *= p->extent[last_loop(&loops)];
	return product;
}

/* Is a piece of a loop, from loop d on, run by a thread and not repeated in code? */
static bool is_looped(const GpuStage *p, const int64_t *values, int d)
{
	const PlanLoop *loop = &p->now.stage->loops[d];
	double n = (double)values[loop->iterations];
	return n > 1 && loop->kind == LOOP_SERIAL &&
	    (loop->unroll_limit == HANDLE_NONE ||
		n > (double)values[loop->unroll_limit]);
}

/* Elements that threads share out by pieces of a fused loop: where the pieces' sizes
 * are those of its digits compilers know where each element lies; where a piece begins
 * within a digit a thread divides for each. */
static void count_digits(const Launch *l, GpuStage *p)
{
	const PlanStage *s = p->now.stage;
	bool exact = true;
	int digits = 0;
	if (s->branches <= 0 && !(s->digits & ~common_mask(s)))
		return;
	for (int d = s->common; d < s->nloops;) {
		double n = (double)l->values[s->loops[d].iterations];
		double own = 1;
		int many = 0;
		if (!((s->blocks | s->threads) >> d & 1))
			p->looped |= is_looped(p, l->values, d);
		do {
			many += p->extent[d] > 1;
			own *= p->extent[d++];
		} while (s->digits >> d & 1);
		exact &= own == n;
		digits += many > 1 ? many : 0;
	}
	p->digits = p->looped && !exact ? digits : 0;
}

/* Loops that run but for those of blocks. */
static uint32_t loops_of_block(const GpuStage *p)
{
	return p->shape->threads | p->shape->code | p->shape->serial;
}

static void part_fill(
    const Launch *l, const PlanStage *s, const Shape *shape, GpuStage *p)
{
	stage_now(s, l->machine, l->values, &p->now);
	count_trips(&p->now, &p->trips);
	for (int d = 0; d < s->nloops; d++)
		p->extent[d] = (double)p->now.extent[d];
	p->shape = shape;
	int warp = l->machine->warp > 0 && l->machine->warp <= WARP_MOST
	    ? l->machine->warp : 32;
	lanes_fill(&p->now, shape, &l->shape, warp, &p->lanes);
	double rows = 1, all = 1;
	for (int k = 0; k < DIRECTIONS; k++) {
		double own = (double)shape->block[k];
		double most = (double)l->shape.block[k];
		rows *= k && own > 1 ? own : most;
		all *= own > 1 || most <= 1 ? own : most;
	}
	p->warps = ceil(min2(rows, max2(all, rows)) / warp);
	p->copies = iterations_of(p, shape->code);
	p->runs = p->trips.trips[s->nloops] /
	    (p->copies * product_of(shape->grid) * product_of(shape->block));
	p->runs = max2(p->runs, 1e-3);
	p->begins = min2(
	    p->runs, iterations_of(p, shape->serial & common_mask(s)));
	p->looped = false;
	p->digits = 0;
	if (!s->reduce)
		count_digits(l, p);
}

/* Arithmetic of a body: what moves with no loop of it once, and what moves with no
 * loop that the thread runs before. */
static double arithmetic_of(const Launch *l, const GpuStage *p)
{
	const PlanStage *s = p->now.stage;
	bool fused =
	    s->reduce && s->flops >= 2 * s->nwrites && l->machine->fma;
	double sum = s->reduce && !fused ? p->copies * s->nwrites : 0;
	for (int i = 0; i < s->nworks; i++) {
		uint32_t moves = s->works[i].movers;
		double times = iterations_of(p, moves & p->shape->code);
		if (!(moves & (p->shape->code | p->shape->serial)))
			times /= max2(p->runs, 1);
		sum += times * s->works[i].weight;
	}
	return sum;
}

/* Are a reduction's sums in registers while its steps run: has it no loop of other
 * axes inside of these that is not in code?  Then loops of steps. */
static uint32_t loops_of_steps(const GpuStage *p)
{
	uint32_t steps = p->now.runs & p->now.stage->steps;
	uint32_t outside = (steps & -steps) - 1;
	return steps && p->shape->serial & ~steps & ~outside ? 0 : steps;
}

/* A warp's product is made by the matrix unit where there is one. */
static bool is_fragment(const Machine *m, const PlanStage *s)
{
	return s->fragment && m->tensor_per_cycle > 0;
}

/* Bytes that one instruction loads or stores: of a vector loop, and of neighbours in
 * shared memory, which the device's compilers join where they are aligned. */
static int width_of(const Launch *l, const GpuStage *p, const PlanAccess *a)
{
	const PlanStage *s = p->now.stage;
	const AccessNow *now = access_now(&p->now, a);
	int64_t others = 0, n = 1;
	for (uint32_t loops = now->moves; loops;) {
		int d = last_loop(&loops);
		bool vector = s->loops[d].kind == LOOP_VECTOR;
		if (now->step[d] == 1 && p->shape->code >> d & 1 &&
		    (vector || a->scope == SCOPE_SHARED))
			n = p->now.extent[d];
		else
			others |= now->step[d];
	}
	int width = 1, most = is_fragment(l->machine, s) ? 4 : VECTOR_BYTES;
	while (width * a->bytes < most && !((n | others) & (2 * width - 1)))
		width *= 2;
	return width * a->bytes;
}

/* FMAs a cycle; those of bytes twice those of f16. */
static double fma_rate(const Machine *m, const PlanStage *s)
{
	if (is_fragment(m, s))
		return m->tensor_per_cycle * 2.0 /
		    dtype_bytes(s->fragment->a);
	return m->fma_per_cycle > 0 ? m->fma_per_cycle : max2(m->warp, 1);
}

/* Of the elements that the loops of a fragment read, a thread has those of its
 * own steps or column, and asks for them by words. */
static double fragment_part(const PlanStage *s, const AccessNow *now)
{
	const Intrinsic *in = s->fragment;
	bool row = now->moves >> s->fragment_loop & 1;
	bool column = now->moves >> (s->fragment_loop + 1) & 1;
	return row == column ? 1
			     : fragment_lanes(in, column) / (2.0 * in->terms);
}

/* How often an access is made by a thread, as instructions of `width` bytes.
 * Loops that do not move it are left out: in the body, or around it where nothing
 * else happens in them. */
static double times_made(const Launch *l, const GpuStage *p,
    const PlanAccess *a, uint32_t steps, int width)
{
	const PlanStage *s = p->now.stage;
	uint32_t moves = access_now(&p->now, a)->moves;
	uint32_t code = moves & p->shape->code;
	double runs = p->runs * a->bytes / width;
	if (is_fragment(l->machine, s) && !a->write)
		runs *= fragment_part(s, access_now(&p->now, a));
	if (a->write && s->reduce && steps)
		return runs * iterations_of(p, code & ~steps) /
		    iterations_of(p, p->shape->serial & steps);
	uint32_t around = p->shape->serial & ~common_mask(s);
	while (around) {
		int d = last_loop(&around);
		if (moves >> d & 1)
			break;
		runs /= p->extent[d];
	}
	return runs * iterations_of(p, code) *
	    (a->write && s->reduce ? 2 : 1);
}

/* --- global memory -------------------------------------------------------------- */

/* Iterations of loops while `blocks` run; returns the loops of blocks of which
 * there are more. */
static uint32_t wave_counts(const GpuStage *p, double blocks, double *counts)
{
	const PlanStage *s = p->now.stage;
	uint32_t more = 0;
	memcpy(counts, p->extent, sizeof *counts * (size_t)s->nloops);
	for (int k = 0; k < DIRECTIONS; k++) {
		uint32_t loops = p->shape->blocks & s->along[k];
		while (loops && blocks > 1) {
			int d = last_loop(&loops);
			counts[d] = min2(p->extent[d], blocks);
			blocks = ceil(blocks / counts[d]);
			more |= 1u << d;
		}
	}
	return more;
}

typedef struct {
	int n;
	Digits at[PLAN_ACCESSES];
	double asked[PLAN_ACCESSES]; /* bytes of sectors, by a block */
	double found[PLAN_ACCESSES]; /* of these not in the first cache */
} Globals;

/* What is read while some loops run, in bytes. */
typedef struct {
	double each[PLAN_ACCESSES], all;
} LoopReads;

static void reads_fill(const GpuStage *p, const Globals *g, uint32_t loops,
    int sector, LoopReads *r)
{
	r->all = 0;
	for (int i = 0; i < g->n; i++) {
		r->each[i] = g->at[i].access->write
		    ? 0 : region_bytes(&g->at[i], loops, p->extent, sector);
		r->all += r->each[i];
	}
}

/* What comes from the second cache: from the loop on at which all that a block
 * reads inside stays in the first, that once for each of its iterations; what is
 * written goes there always. */
static void count_l2(const Launch *l, const GpuStage *p, Globals *g, int sector)
{
	uint32_t serial = p->shape->serial;
	uint32_t inner = loops_of_block(p) & ~serial;
	double starts = iterations_of(p, serial);
	LoopReads reads, more;
	memcpy(g->found, g->asked, sizeof *g->found * (size_t)g->n);
	reads_fill(p, g, inner, sector, &reads);
	if (reads.all > l->l1_bytes)
		return;
	while (serial) {
		int d = last_loop(&serial);
		inner |= 1u << d;
		reads_fill(p, g, inner, sector, &more);
		if (more.all > l->l1_bytes)
			break;
		reads = more;
		starts /= p->extent[d];
	}
	for (int i = 0; i < g->n; i++)
		if (!g->at[i].access->write)
			g->found[i] =
			    min2(g->asked[i], starts * reads.each[i]);
}

static bool was_read(const Launch *l, int buffer)
{
	for (int i = 0; i < l->nread; i++)
		if (l->read[i] == buffer)
			return true;
	return false;
}

/* What a stage before this one has read is still in the first cache, if a block
 * reads so little of it. */
static void leave_read(Launch *l, const GpuStage *p, Globals *g, int sector)
{
	for (int i = 0; i < g->n; i++) {
		const PlanAccess *a = g->at[i].access;
		if (!a->write && was_read(l, a->buffer) &&
		    region_bytes(&g->at[i], loops_of_block(p), p->extent,
			sector) * 2 <= l->l1_bytes)
			g->found[i] = 0;
	}
	for (int i = 0; i < g->n && l->nread < LAUNCH_BUFFERS; i++)
		if (!g->at[i].access->write)
			l->read[l->nread++] = g->at[i].access->buffer;
}

/* What comes from memory: nothing where all that the program has fits the second
 * cache; else what blocks that run at once touch, once for all of them. */
static double memory_bytes(
    const Launch *l, const GpuStage *p, const Globals *g, int sector)
{
	double wave[PLAN_DEPTH], sum = 0, whole_run = 0;
	double l2 = 0.75 * (double)l->machine->l2_bytes;
	double blocks = product_of(p->shape->grid);
	if ((double)p->now.stage->program_bytes <= l2)
		return 0;
	uint32_t loops = loops_of_block(p), all = loops | p->shape->blocks;
	loops |= wave_counts(p, l->at_once, wave);
	for (int i = 0; i < g->n; i++)
		whole_run += region_bytes(&g->at[i], all, p->extent, sector);
	for (int i = 0; i < g->n; i++) {
		double once = region_bytes(&g->at[i], all, p->extent, sector);
		double each = region_bytes(&g->at[i], loops, wave, sector);
		double waves = max2(1, blocks / l->at_once);
		if (g->found[i] <= 0)
			continue;
		if (whole_run > l2)
			once = max2(once, min2(each * waves, g->found[i] * blocks));
		sum += once;
	}
	return sum;
}

/* --- adding up --------------------------------------------------------------------- */

/* A warp's access in cycles of the units that load: as many threads a cycle as
 * begin, a line or a turn of shared memory each. */
static double loading_cycles(const Machine *m, const PlanAccess *a,
    const Touch *t)
{
	double begin = m->load_per_cycle > 0
	    ? (double)m->warp / m->load_per_cycle : 1;
	if (a->scope == SCOPE_SHARED)
		return max2(begin, t->turns);
	return max2(max2(begin, t->lines), t->sectors / 4);
}

/* What a warpgroup's products read of an operand. */
static void add_group_reading(Launch *l, const GpuStage *p, const PlanAccess *a)
{
	double products = p->warps / GROUP_WARPS * p->runs * p->copies /
	    group_work(p->now.stage, l->values);
	double cycles = group_reading(&p->now, a);
	l->cost->loading += products * cycles;
	l->shared_touches += products;
	l->turns += products * cycles;
}

static void add_access(Launch *l, GpuStage *p, Globals *g, const PlanAccess *a,
    uint32_t steps, double *instructions)
{
	double turns = 0;
	if (is_group(p->now.stage) && a->scope == SCOPE_SHARED && !a->write) {
		add_group_reading(l, p, a);
		return;
	}
	int rows = is_fragment(l->machine, p->now.stage)
	    ? matrix_width(&p->now, a, p->shape->code, &turns) : 0;
	int width = rows ? rows : width_of(l, p, a);
	int sector = l->machine->sector_bytes > 0
	    ? l->machine->sector_bytes : 32;
	double times = times_made(l, p, a, steps, width);
	Touch t = rows ? (Touch){.turns = turns}
		       : warp_touch(&p->now, a, &p->lanes, width);
	LaunchCost *c = l->cost;
	*instructions += times;
	c->loading += p->warps * times * loading_cycles(l->machine, a, &t);
	if (a->scope == SCOPE_SHARED) {
		l->shared_touches += p->warps * times;
		l->turns += p->warps * times * t.turns;
		return;
	}
	l->touches += p->warps * times;
	l->sectors += p->warps * times * t.sectors;
	digits_fill(&p->now, a, &g->at[g->n]);
	g->asked[g->n++] = p->warps * times * t.sectors * sector;
}

static bool is_read(const PlanStage *s, Scope scope)
{
	return s->reads >> scope & 1;
}

/* Iterations that a shared buffer is filled ahead; 0: it is filled when it is
 * wanted. */
static double steps_ahead(const Launch *l, const PlanStage *s)
{
	const PlanAccess *a = &s->accesses[0];
	return a->scope == SCOPE_SHARED && a->slots != HANDLE_NONE
	    ? (double)l->values[a->slots] - 1 : 0;
}

/* Sums that threads share out: halves of a warp exchange them in turn, then warps
 * by way of shared memory, behind a barrier. */
static void add_exchanges(Launch *l, const GpuStage *p)
{
	const PlanStage *s = p->now.stage;
	const Machine *m = l->machine;
	LaunchCost *c = l->cost;
	double threads = iterations_of(p, s->steps & p->shape->threads);
	if (threads <= 1)
		return;
	double starts = p->begins;
	double sums = iterations_of(p, p->shape->code & ~s->steps);
	double within = m->exchanges ? min2(threads, m->exchanges) : 1;
	double between = ceil(threads / within);
	double instructions = 2 * log2(within) +
	    (between > 1 ? 2 + 2 * log2(between) : 0);
	c->waiting += starts *
	    (log2(within) + (between > 1 ? 1 + log2(between) : 0)) *
	    l->costs->exchange;
	c->barriers += between > 1 ? starts : 0;
	c->issue += p->warps * starts * sums * instructions /
	    max2(m->issue_per_cycle, 1);
	c->loading += p->warps * starts * sums * instructions / 2;
}

/* Threads wait for what they load as often as a few iterations begin together, or for
 * each where a condition keeps them apart, and at barriers for each other; what is
 * loaded ahead is there when it is wanted, but for what all the steps of work in
 * between do not take. */
static void add_waiting(Launch *l, const GpuStage *p, double missed)
{
	const PlanStage *s = p->now.stage;
	double own = p->runs / p->begins;
	bool alone = s->branches > 0 && p->looped;
	double rounds =
	    p->begins * ceil(own / (alone ? 1 : l->costs->together) - 1e-9);
	double ahead = steps_ahead(l, s);
	bool global = is_read(s, SCOPE_GLOBAL);
	if (ahead > 0) {
		l->ahead_l1 += p->begins / ahead;
		l->ahead_beyond += p->begins / ahead * (global ? missed : 0);
	} else {
		if (global || is_read(s, SCOPE_SHARED))
			l->from_l1 += rounds;
		if (global)
			l->from_beyond += rounds * missed;
	}
	if (s->accesses[0].scope == SCOPE_SHARED) {
		double each = ahead > 0 || p->begins <= 1 ? 1 : 2;
		l->fills = max2(l->fills, p->begins * each);
		l->apart = true;
	}
	if (s->reduce)
		add_exchanges(l, p);
}

/* Cycles of a body's steps that wait for each other. */
static double chain_of(const Launch *l, const GpuStage *p, uint32_t steps)
{
	const PlanStage *s = p->now.stage;
	double n = iterations_of(p, steps & p->shape->code);
	if (is_group(s))
		return p->copies / group_work(p->now.stage, l->values) *
		    group_cycles(&p->now, fma_rate(l->machine, s));
	return is_fragment(l->machine, s)
	    ? n / s->fragment->terms * l->costs->fragment
	    : n * l->machine->fma_latency;
}

/* Of an element: its condition and its place. */
static double index_instructions(const GpuStage *p)
{
	return DIGIT_INSTRUCTIONS * p->digits +
	    (p->now.stage->branches > 0 ? BRANCH_INSTRUCTIONS : 0);
}

/* Steps of a thread that are one operation. */
static double steps_at_once(
    const Machine *m, const PlanStage *s, const int64_t *values)
{
	return is_group(s)	? group_work(s, values)
	    : is_fragment(m, s) ? FRAGMENT_SUMS * s->fragment->terms
				: 1;
}

static void add_part(Launch *l, const PlanStage *s, const Shape *shape)
{
	const Machine *m = l->machine;
	LaunchCost *c = l->cost;
	GpuStage p;
	Globals g;
	g.n = 0;
	part_fill(l, s, shape, &p);
	uint32_t steps = s->reduce ? loops_of_steps(&p) : 0;
	int sector = m->sector_bytes > 0 ? m->sector_bytes : 32;
	double fma = fma_rate(m, s);
	double special = m->special_per_cycle > 0 ? m->special_per_cycle : fma;
	double issue = max2(m->issue_per_cycle, 1);
	StageDensity density = stage_density(s, l->values, max2(1,
	    p.trips.trips[s->nloops] / (double)s->points));
	double made = density.bodies * density.copies;
	double operations = arithmetic_of(l, &p) * p.runs * made;
	double each = steps_at_once(m, s, l->values);
	double instructions = p.runs * LOOP_INSTRUCTIONS +
	    BEGIN_INSTRUCTIONS * p.begins +
	    p.runs * p.copies * index_instructions(&p);
	for (int i = 0; i < s->naccesses; i++)
		if (s->accesses[i].scope == SCOPE_SHARED ||
		    s->accesses[i].scope == SCOPE_GLOBAL ||
		    s->accesses[i].scope == SCOPE_LOCAL)
			add_access(l, &p, &g, &s->accesses[i], steps,
			    &instructions);
	c->arithmetic += p.warps * operations * m->warp / fma;
	c->special += p.warps * s->specials * p.copies * p.runs * made *
	    m->warp / special;
	c->issue += p.warps * (operations / each + instructions) / issue;
	l->others += p.warps * instructions *
	    (s->reduce ? 1 : max2(1, m->fma_latency));
	if (steps)
		c->chain += p.runs * made * chain_of(l, &p, steps);
	count_l2(l, &p, &g, sector);
	leave_read(l, &p, &g, sector);
	double asked = 0, found = 0;
	for (int i = 0; i < g.n; i++) {
		asked += g.asked[i];
		found += g.found[i];
	}
	c->asked += asked * c->grid;
	c->from_l2 += found * c->grid;
	c->from_memory += memory_bytes(l, &p, &g, sector);
	add_waiting(l, &p, asked > 0 ? found / asked : 0);
}

/* Cycles of one block alone, which may have fewer warps than a processor has parts:
 * each has its part's units.  A warp's steps of a sum follow each other at once, its
 * other instructions are addresses, each of which waits for the one before. */
static double own_cycles(const Launch *l, double work)
{
	double warps = ceil(l->cost->threads / max2(l->machine->warp, 1));
	double parts = l->machine->partitions > 0 ? l->machine->partitions : 1;
	double share = parts / warps;
	return max2(work * (l->apart ? max2(1, share) : share),
	    l->cost->arithmetic * share + l->others / warps);
}

/* Cycles for so many blocks beside each other on one processor. */
static double together(const Launch *l, double blocks)
{
	const LaunchCost *c = l->cost;
	const double units[] = {c->issue, c->arithmetic, c->special, c->loading};
	double work = 0, sum = 0;
	for (int i = 0; i < 4; i++) {
		work = max2(work, units[i]);
		sum += units[i];
	}
	work += l->costs->not_hidden * (sum - work) + l->costs->block_each;
	double all = blocks * work;
	double most = max2(all,
	    max2(c->ahead, c->waiting + max2(own_cycles(l, work), c->chain)));
	return most + l->costs->not_hidden * max2(0, all + c->waiting - most);
}

static void set_seconds(Launch *l)
{
	const Machine *m = l->machine;
	LaunchCost *c = l->cost;
	double ghz = m->clock_ghz > 0 ? m->clock_ghz : 1;
	double processors = m->processors > 0 ? m->processors : 1;
	double missing = c->from_l2 > 0
	    ? min2(1, c->from_memory / c->from_l2) : 0;
	double beyond = m->l2_ns + missing * max2(0, m->memory_ns - m->l2_ns);
	c->barriers += l->fills;
	c->waiting += l->costs->block + c->barriers * l->costs->barrier +
	    (l->from_l1 * m->l1_ns + l->from_beyond * beyond) * ghz;
	c->ahead = (l->ahead_l1 * m->l1_ns + l->ahead_beyond * beyond) * ghz;
	double slots = c->resident * processors;
	double full = floor(c->grid / slots), rest = c->grid - full * slots;
	double cycles = full * together(l, c->resident);
	if (rest > 0)
		cycles += together(l, ceil(rest / processors));
	const double parts[] = {cycles / ghz * 1e-9,
	    m->l2_gb_per_s > 0 ? c->from_l2 / m->l2_gb_per_s * 1e-9 : 0,
	    m->memory_gb_per_s > 0 ? c->from_memory /
		    (m->memory_gb_per_s * l->costs->memory_rate) * 1e-9
				   : 0};
	double most = 0, sum = 0;
	for (int i = 0; i < 3; i++) {
		most = max2(most, parts[i]);
		sum += parts[i];
	}
	c->seconds =
	    most + l->costs->not_hidden * (sum - most) + m->launch_ns * 1e-9;
	c->sectors = l->touches > 0 ? l->sectors / l->touches : 0;
	c->turns = l->shared_touches > 0 ? l->turns / l->shared_touches : 0;
}

/* What is spilled is stored and loaded each time that sums are made. */
static void add_spills(Launch *l)
{
	LaunchCost *c = l->cost;
	double warps = ceil(c->threads / max2(l->machine->warp, 1));
	c->loading += 2 * c->spilled * warps;
	c->issue += 2 * c->spilled * warps;
}

/* --- launches -------------------------------------------------------------------- */

static void launch_cost(const Plan *plan, const Machine *machine,
    const int64_t *values, int first, LaunchCost *c)
{
	Needs needs = launch_needs(plan, machine, values, first);
	Launch l = {.machine = machine,
	    .costs = machine_gpu_costs(machine),
	    .values = values,
	    .cost = c,
	    .shape = needs.shape};
	*c = (LaunchCost){.first = first};
	set_occupancy(&l, &needs);
	if (!c->resident) {
		c->seconds = INFINITY;
		return;
	}
	for (int i = first; i >= 0; i = plan->stages[i].next)
		add_part(&l, &plan->stages[i], &plan->shapes[i]);
	add_spills(&l);
	set_seconds(&l);
}

bool launch_next(const Plan *plan, const Machine *machine,
    const int64_t *values, int first, LaunchCost *cost)
{
	for (int i = first; i < plan->nstages; i++)
		if (plan->stages[i].launch == i) {
			launch_cost(plan, machine, values, i, cost);
			return true;
		}
	return false;
}

/* --- without prices ---------------------------------------------------------- */

/* Halves of a warp, and of what warps have left, that exchange sums. */
static double exchanges_of(const Launch *l, const GpuStage *p)
{
	const PlanStage *s = p->now.stage;
	const int64_t *block = l->shape.block;
	int64_t all = block[0] * block[1] * block[2], stride = 1;
	double sum = 0;
	for (int d = 0; d < DIRECTIONS; stride *= block[d++]) {
		BodyThreads t =
		    body_threads(l->machine->exchanges, all, block[d], stride);
		if (s->steps & p->shape->threads & s->along[d])
			sum += log2(t.width) +
			    (t.warps ? log2((double)t.parts) : 0);
	}
	return sum * iterations_of(p, p->shape->code & ~s->steps);
}

void launch_counts(const Plan *plan, const Machine *machine,
    const int64_t *values, int stage, BodyCounts *n)
{
	const PlanStage *s = &plan->stages[stage];
	assert(!s->ahead && s->launch >= 0);
	Needs needs = launch_needs(plan, machine, values, s->launch);
	LaunchCost cost = {0};
	Launch l = {.machine = machine,
	    .values = values,
	    .cost = &cost,
	    .shape = needs.shape};
	GpuStage p;
	part_fill(&l, s, &plan->shapes[stage], &p);
	uint32_t steps = s->reduce ? loops_of_steps(&p) : 0;
	bool inside = steps & ~p.shape->code;
	double turns;
	*n = (BodyCounts){0};
	if (is_fragment(machine, s))
		n->products = p.copies / steps_at_once(machine, s, values);
	for (int i = 0; i < s->naccesses; i++) {
		const PlanAccess *a = &s->accesses[i];
		const AccessNow *now = access_now(&p.now, a);
		double times = iterations_of(&p, now->moves & p.shape->code);
		bool read = is_fragment(machine, s) && !a->write;
		if (a->scope == SCOPE_REG ||
		    (read && is_group(s) && a->scope == SCOPE_SHARED))
			continue;
		if (a->write && !inside)
			n->stores += times;
		if (read)
			times *= fragment_part(s, now);
		int width =
		    read ? matrix_width(&p.now, a, p.shape->code, &turns) : 0;
		if (width)
			n->matrices += times * a->bytes / width;
		if (!a->write || (s->reduce && !steps))
			n->loads += times;
	}
	if (!steps)
		return;
	n->sums = iterations_of(&p, p.shape->code & ~steps);
	if (inside && !is_fragment(machine, s))
		n->steps = p.copies * s->nwrites * stage_copies(s, values);
	if (s->steps & p.shape->threads)
		n->exchanges = exchanges_of(&l, &p);
}
