/* What the blocks and threads of a GPU ask of a nest beyond other loops that run
 * at once.
 *
 *     for n                             a launch: all that is below the
 *       blockIdx.y, blockIdx.x          outermost bound loop
 *         for ko
 *           tile[...] = a[...]          threadIdx.x of its own; shared; then
 *           threadIdx.x, for ki  ...    a barrier, and one before it is filled
 *                                       again
 *
 * Every thread of every block runs all of a launch; a bound loop only says what
 * its variable is.  So what a stage writes for others is written once only if
 * all loops that the launch has are around it, and what one thread writes
 * another reads after a barrier, which all reach: none stands below a thread
 * loop.  Block loops are around everything in the launch, nothing between
 * them.  Thread loops of one direction may be of several lengths: lowering
 * tests the shorter ones. */
#include "ir/nest/nest_internal.h"

#include <assert.h>

typedef struct {
	const Nest *nest;
	const NestTree *tree;
	int *outer; /* by stage: its launch, the outermost bound loop; -1 */
	int *block; /* by stage: the innermost block loop; -1 */
	const char **why;
} Launches;

static bool refuse(const Launches *l, const char *why)
{
	*l->why = why;
	return false;
}

static LoopKind kind_of(const Nest *nest, int loop)
{
	return nest->vars.at[loop].kind;
}

/* --- launches ------------------------------------------------------------- */

static bool find_launch(Launches *l, int stage)
{
	const int *chain = l->tree->chain[stage];
	int first = -1;
	l->outer[stage] = l->block[stage] = -1;
	for (int i = 0; i < l->tree->nchain[stage]; i++) {
		LoopKind kind = kind_of(l->nest, chain[i]);
		if (l->outer[stage] < 0 && loop_is_bound(kind)) {
			l->outer[stage] = chain[i];
			first = i;
		}
		if (!loop_is_block(kind))
			continue;
		if (i > first && !loop_is_block(kind_of(l->nest, chain[i - 1])))
			return refuse(l, "a loop stands between two block loops");
		l->block[stage] = chain[i];
	}
	return true;
}

/* Where a reduction's results are given their first values, in the chain of loops
 * around the stage; the end of it where there is none. */
static int start_of_reduction(const Launches *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	int above = nest_tree_above(l->tree, stage);
	if (s->reduce == REDUCE_NONE)
		return l->tree->nchain[stage];
	if (s->init_at >= 0)
		return above + nest_loop_position(l->nest, s->init_at);
	for (int i = 0; i < s->nloops; i++)
		if (l->nest->vars.at[s->loops[i]].reduce)
			return above + i;
	return l->tree->nchain[stage];
}

/* The first values would be given in loops of their own between two of blocks. */
static bool check_start(const Launches *l, int stage)
{
	int start = start_of_reduction(l, stage);
	bool bound = false;
	for (int i = 0; i < l->tree->nchain[stage]; i++) {
		LoopKind kind = kind_of(l->nest, l->tree->chain[stage][i]);
		if (i >= start && bound && loop_is_block(kind))
			return refuse(l, "a reduction starts between two block "
					 "loops");
		bound |= i < start && loop_is_bound(kind);
	}
	return true;
}

/* Block loops are around all that is launched with them. */
static bool check_blocks(const Launches *l)
{
	const Nest *nest = l->nest;
	int *block = NEW_N(nest->arena, int, nest->vars.n); /* + 1; by launch */
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i], launch = l->outer[s];
		if (launch < 0)
			continue;
		if (block[launch] && block[launch] != l->block[s] + 1)
			return refuse(l, "a block is placed between two block "
					 "loops");
		block[launch] = l->block[s] + 1;
	}
	return true;
}

/* --- who writes what -------------------------------------------------------- */

/* The directions of the thread loops around a stage, as bits. */
static unsigned threads_around(const Launches *l, int stage)
{
	unsigned bits = 0;
	for (int i = 0; i < l->tree->nchain[stage]; i++) {
		LoopKind kind = kind_of(l->nest, l->tree->chain[stage][i]);
		if (loop_is_thread(kind))
			bits |= 1u << loop_direction(kind);
	}
	return bits;
}

static bool is_private(Scope scope)
{
	return scope == SCOPE_LOCAL || scope == SCOPE_REG;
}

static bool check_written_once(const Launches *l)
{
	const Nest *nest = l->nest;
	unsigned *all = NEW_N(nest->arena, unsigned, nest->vars.n);
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i];
		if (l->outer[s] >= 0)
			all[l->outer[s]] |= threads_around(l, s);
	}
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i];
		int buffer = nest->stages.at[s].buffer;
		if (l->outer[s] >= 0 &&
		    !is_private(nest->buffers.at[buffer].scope) &&
		    threads_around(l, s) != all[l->outer[s]])
			return refuse(l, "every thread of the block would "
					 "write what the block writes");
	}
	return true;
}

/* Are a stage's thread loops all around another one too? */
static bool threads_within(const Launches *l, int stage, int other)
{
	for (int i = 0; i < l->tree->nchain[stage]; i++) {
		int loop = l->tree->chain[stage][i];
		if (loop_is_thread(kind_of(l->nest, loop)) &&
		    !nest_tree_below(l->tree, other, loop))
			return false;
	}
	return true;
}

static bool same_thread(const Launches *l, int a, int b)
{
	return threads_within(l, a, b) && threads_within(l, b, a);
}

/* Between threads: through shared memory, behind a barrier. */
static bool check_exchange(const Launches *l, int writer)
{
	const Stage *s = &l->nest->stages.at[writer];
	const NestReads *reads = &l->tree->readers[s->buffer];
	if (l->nest->buffers.at[s->buffer].scope == SCOPE_REG)
		return true; /* a thread reads its own (nest_spread.c) */
	for (int i = 0; i < reads->n; i++) {
		int r = reads->at[i].stage;
		if (l->outer[writer] >= 0 && l->outer[r] == l->outer[writer] &&
		    !s->barrier && !same_thread(l, writer, r))
			return refuse(l, "a thread reads what another wrote, "
					 "without a barrier");
	}
	return true;
}

/* --- shared memory ----------------------------------------------------------- */

/* One piece for a block: made inside of its block loops, outside of its thread
 * loops. */
static bool check_shared(const Launches *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	const NestBuffer *b = &l->nest->buffers.at[s->buffer];
	bool inside = false;
	if (b->scope != SCOPE_SHARED)
		return true;
	for (int i = 0; i < l->tree->nchain[stage] && b->alloc >= 0; i++) {
		int loop = l->tree->chain[stage][i];
		inside |= loop == l->block[stage];
		if (loop_is_thread(kind_of(l->nest, loop)))
			return refuse(l, "a shared buffer is made anew below a "
					 "thread loop");
		if (loop == b->alloc)
			break;
	}
	return inside || refuse(l, "a shared buffer is not inside of a block of "
				   "threads");
}

static bool check_barrier(const Launches *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	int above = nest_tree_above(l->tree, stage);
	for (int i = 0; i < above && s->barrier; i++)
		if (loop_is_thread(kind_of(l->nest, l->tree->chain[stage][i])))
			return refuse(l, "a barrier stands below a thread loop, "
					 "where not all threads reach it");
	return true;
}

/* --- reductions that threads share out --------------------------------------- */

bool nest_reduces_across(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];
	for (int i = 0; i < s->nloops; i++)
		if (nest->vars.at[s->loops[i]].reduce &&
		    loop_is_thread(kind_of(nest, s->loops[i])))
			return true;
	return false;
}

/* Partial results are combined where the stage's loops of threads and of the
 * reduction have ended, by all threads of the block together. */
static bool check_across(const Launches *l, int stage)
{
	const Stage *s = &l->nest->stages.at[stage];
	int above = nest_tree_above(l->tree, stage);
	if (!nest_reduces_across(l->nest, stage))
		return true;
	if (l->block[stage] < 0)
		return refuse(l, "threads reduce together outside of a block");
	if (s->init_at >= 0)
		return refuse(l, "what threads reduce together is initialized "
				 "at a loop of its own");
	for (int i = 0; i < above; i++)
		if (loop_is_thread(kind_of(l->nest, l->tree->chain[stage][i])))
			return refuse(l, "threads reduce together below a thread "
					 "loop, which not all may reach");
	for (int i = 0; i < s->nloops; i++)
		if (loop_is_block(kind_of(l->nest, s->loops[i])))
			return refuse(l, "what threads reduce together is not "
					 "placed below the block's loops");
	return true;
}

/* --- shared memory that is filled ahead --------------------------------------- */

/* Is a buffer written below the loop? */
static bool made_below(const Launches *l, int buffer, int loop)
{
	const Nest *nest = l->nest;
	for (int i = 0; i < nest->order.n; i++)
		if (nest->stages.at[nest->order.at[i]].buffer == buffer &&
		    nest_tree_below(l->tree, nest->order.at[i], loop))
			return true;
	return false;
}

/* What is filled iterations ahead reads nothing that these make, and is read by
 * no other loop's iterations. */
static bool check_slots(const Launches *l, int stage)
{
	const Nest *nest = l->nest;
	const Stage *s = &nest->stages.at[stage];
	const NestBuffer *b = &nest->buffers.at[s->buffer];
	if (b->swizzle && b->scope != SCOPE_SHARED)
		return refuse(l, "a swizzled buffer is not shared");
	if (b->slots == HANDLE_NONE)
		return true;
	if (b->scope != SCOPE_SHARED)
		return refuse(l, "a buffer in stages is not shared");
	if (s->place < 0 || s->after || b->alloc != s->place)
		return refuse(l, "a buffer in stages is not filled anew in each "
				 "iteration of a loop");
	if (s->reduce != REDUCE_NONE || s->with >= 0 || s->nloops == 0)
		return refuse(l, "a block in stages is a reduction or shares its "
				 "loops");
	for (int i = 0; i < s->nloops; i++)
		for (int k = 0; k < nest->order.n; k++)
			if (nest->stages.at[nest->order.at[k]].place ==
			    s->loops[i])
				return refuse(l, "a block is placed in one in "
						 "stages");
	ExprVec reads = l->tree->reads[stage];
	for (int i = 0; i < reads.n; i++)
		if (made_below(l, reads.at[i]->id, s->place))
			return refuse(l, "a block in stages reads what the loop "
					 "makes");
	return true;
}

/* --- the whole ----------------------------------------------------------- */

bool nest_launches_verify(
    const Nest *nest, const NestTree *tree, const char **why)
{
	Launches l = {.nest = nest,
	    .tree = tree,
	    .outer = NEW_N(nest->arena, int, nest->stages.n),
	    .block = NEW_N(nest->arena, int, nest->stages.n),
	    .why = why};
	bool any = false;
	assert(nest->inferred);
	for (int i = 0; i < nest->order.n; i++) {
		int s = nest->order.at[i];
		if (!find_launch(&l, s) || !check_start(&l, s))
			return false;
		any |= l.outer[s] >= 0;
		if (!check_shared(&l, s) || !check_barrier(&l, s) ||
		    !check_across(&l, s) || !check_slots(&l, s))
			return false;
	}
	if (!any)
		return true;
	if (!check_blocks(&l) || !check_written_once(&l))
		return false;
	for (int i = 0; i < nest->order.n; i++)
		if (!check_exchange(&l, nest->order.at[i]))
			return false;
	return true;
}

/* The outermost bound loop around a loop, or itself. */
static int launch_of(const Nest *nest, int loop)
{
	int outer = -1;
	while (loop >= 0) {
		const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];
		for (int i = nest_loop_position(nest, loop); i >= 0; i--)
			if (loop_is_bound(kind_of(nest, s->loops[i])))
				outer = s->loops[i];
		loop = s->place;
	}
	return outer;
}

/* The most iterations of a loop of a kind in a launch; 0: it has none. */
static int64_t most_of(const Nest *nest, int launch, LoopKind kind)
{
	int64_t most = 0;
	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		for (int k = 0; k < s->nloops; k++) {
			int64_t n;
			if (kind_of(nest, s->loops[k]) != kind ||
			    launch_of(nest, s->loops[k]) != launch)
				continue;
			n = tape_value(
			    nest->tape, nest->vars.at[s->loops[k]].extent);
			most = n > most ? n : most;
		}
	}
	return most;
}

int64_t nest_launch_extent(const Nest *nest, int loop)
{
	int launch = launch_of(nest, loop);
	assert(launch >= 0);
	int64_t most = most_of(nest, launch, kind_of(nest, loop));
	assert(most >=
	    tape_value(nest->tape, nest->vars.at[loop].extent));
	return most;
}

void nest_launch_threads(const Nest *nest, int loop, int64_t threads[3])
{
	int launch = launch_of(nest, loop);
	assert(launch >= 0);
	for (LoopKind kind = 0; kind < LOOP_KINDS; kind++) {
		if (!loop_is_thread(kind))
			continue;
		int64_t n = most_of(nest, launch, kind);
		threads[loop_direction(kind)] = n > 0 ? n : 1;
	}
}

bool nest_below_bound(const Nest *nest, int loop)
{
	return loop >= 0 && launch_of(nest, loop) >= 0;
}
