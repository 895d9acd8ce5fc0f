/* Threads of a GPU's block as fibers: round after round, each runs until it waits
 * at a barrier, exchanges with its warp, or ends. */
#include "test/common_fibers.h"

#include <stdbool.h>
#include <stdlib.h>
#include <ucontext.h>

#include "lib/arena.h"
#include "test/common_lower.h"

enum { STACK = 64 * 1024, WARP = 32 };

typedef enum { RUNS, AT_BARRIER, IN_WARP, ENDED } FiberState;

typedef struct {
	ucontext_t context;
	FiberState state;
	unsigned number[3];
	uint32_t value;
	char *stack;
} Fiber;

static struct {
	ucontext_t scheduler;
	Fiber *fibers;
	int n, now;
	unsigned block[3];
	void *f;
	void *const *args;
	int nargs;
} launch;

static void run_thread(void)
{
	lowercheck_call(launch.f, launch.args, launch.nargs);
	launch.fibers[launch.now].state = ENDED;
	swapcontext(
	    &launch.fibers[launch.now].context, &launch.scheduler);
}

static void wait_as(FiberState state)
{
	Fiber *f = &launch.fibers[launch.now];
	f->state = state;
	swapcontext(&f->context, &launch.scheduler);
}

unsigned fibers_thread(int direction)
{
	return launch.fibers[launch.now].number[direction];
}

unsigned fibers_block(int direction)
{
	return launch.block[direction];
}

void fibers_barrier(void)
{
	wait_as(AT_BARRIER);
}

uint32_t fibers_shuffle_xor(uint32_t value, unsigned mask)
{
	int me = launch.now;
	launch.fibers[me].value = value;
	wait_as(IN_WARP);
	uint32_t other = launch.fibers[me ^ (int)mask].value;
	wait_as(IN_WARP); /* all have read */
	return other;
}

static int count(int first, int n, FiberState state)
{
	int found = 0;
	for (int i = first; i < first + n; i++)
		found += launch.fibers[i].state == state;
	return found;
}

static void release(int first, int n)
{
	for (int i = first; i < first + n; i++)
		launch.fibers[i].state = RUNS;
}

/* Lets go on who has waited for all others; false: nobody can. */
static bool step(void)
{
	bool moved = false;
	for (int i = 0; i < launch.n; i++) {
		if (launch.fibers[i].state != RUNS)
			continue;
		moved = true;
		launch.now = i;
		swapcontext(&launch.scheduler, &launch.fibers[i].context);
	}
	for (int w = 0; w < launch.n; w += WARP) {
		int lanes = launch.n - w < WARP ? launch.n - w : WARP;
		if (count(w, lanes, IN_WARP) == lanes) {
			release(w, lanes);
			moved = true;
		}
	}
	if (count(0, launch.n, AT_BARRIER) == launch.n) {
		release(0, launch.n);
		moved = true;
	}
	return moved;
}

static void start_fiber(Fiber *f, int64_t number, const int64_t block[3])
{
	for (int d = 0; d < 3; d++) {
		f->number[d] = (unsigned)(number % block[d]);
		number /= block[d];
	}
	getcontext(&f->context);
	f->context.uc_stack.ss_sp = f->stack;
	f->context.uc_stack.ss_size = STACK;
	f->context.uc_link = NULL;
	f->state = RUNS;
	makecontext(&f->context, run_thread, 0);
}

static const char *run_block(const int64_t block[3])
{
	for (int i = 0; i < launch.n; i++)
		start_fiber(&launch.fibers[i], i, block);
	while (step())
		;
	return count(0, launch.n, ENDED) == launch.n
	    ? NULL : "threads of a block wait at different places";
}

const char *fibers_run(void *f, void *const *args, int nargs,
    const int64_t grid[3], const int64_t block[3])
{
	Arena *arena = arena_new();
	const char *wrong = NULL;
	int64_t blocks = grid[0] * grid[1] * grid[2];
	launch.f = f;
	launch.args = args;
	launch.nargs = nargs;
	launch.n = (int)(block[0] * block[1] * block[2]);
	launch.fibers = NEW_N(arena, Fiber, launch.n);
	char *stacks = must_alloc((size_t)launch.n * STACK);
	for (int i = 0; i < launch.n; i++)
		launch.fibers[i].stack = stacks + (size_t)i * STACK;
	for (int64_t b = 0; b < blocks && !wrong; b++) {
		launch.block[0] = (unsigned)(b % grid[0]);
		launch.block[1] = (unsigned)(b / grid[0] % grid[1]);
		launch.block[2] = (unsigned)(b / grid[0] / grid[1]);
		wrong = run_block(block);
	}
	free(stacks);
	arena_free(arena);
	return wrong;
}
