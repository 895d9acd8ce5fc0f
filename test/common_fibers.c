/* Threads of a GPU's block as fibers: round after round, each runs until it waits
 * at a barrier, exchanges with its warp, or ends. */
#include "test/common_fibers.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "ir/intrinsic.h"
#include "ir/scalar.h"
#include "lib/arena.h"
#include "test/common_lower.h"

enum { STACK = 64 * 1024, WARP = 32 };

typedef enum { RUNS, AT_BARRIER, IN_WARP, ENDED } FiberState;

typedef struct {
	ucontext_t context;
	FiberState state;
	unsigned number[3];
	uint32_t value;
	const void *words; /* that others of the warp read */
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

/* --- matrices --------------------------------------------------------------- */

static Fiber *of_warp(int lane)
{
	return &launch.fibers[launch.now / WARP * WARP + lane];
}

/* Lane i has the word of row i / 4 that begins with element 2*(i % 4), of 16
 * bits; transposed, two elements of column i / 4. */
void fibers_matrix(uint32_t *to, const void *row, int n, int transposed)
{
	int lane = launch.now % WARP, g = lane / 4, k = 2 * (lane % 4);
	launch.fibers[launch.now].words = row;
	wait_as(IN_WARP);
	for (int i = 0; i < n; i++)
		for (int e = 0; e < 2; e++) {
			const Fiber *f =
			    of_warp(8 * i + (transposed ? k + e : g));
			memcpy((char *)&to[i] + 2 * e,
			    (const uint16_t *)f->words +
				(transposed ? g : k + e), 2);
		}
	wait_as(IN_WARP);
}

/* Element k of a row (column) of which lanes 4*g to 4*g + 3 have the words: one of
 * 16 bytes of steps, then those of row g + 8, then the next steps. */
static Scalar element(const Intrinsic *in, int g, int half, int halves, int k,
    int skipped)
{
	int each = fragment_word(in), lane = k % (4 * each) / each;
	int word = skipped + half + halves * (k / (4 * each));
	return scalar_load(in->a,
	    (const uint32_t *)of_warp(4 * g + lane)->words + word, k % each);
}

static void add_product(const Intrinsic *in, int row, int column, uint32_t *sum)
{
	int na = fragment_lanes(in, false) / fragment_word(in);
	float total;
	memcpy(&total, sum, sizeof total);
	for (int k = 0; k < in->terms; k++) {
		Scalar a = element(in, row % 8, row / 8, 2, k, 0);
		Scalar b = element(in, column, 0, 1, k, na);
		if (dtype_is_float(in->sum))
			total += (float)a.f * (float)b.f;
		else
			*sum += (uint32_t)(a.i * b.i);
	}
	if (dtype_is_float(in->sum))
		memcpy(sum, &total, sizeof total);
}

void fibers_mma(const char *name, const uint32_t *words, uint32_t *sums)
{
	const Intrinsic *in = intrinsic_at(intrinsic_find(name));
	int lane = launch.now % WARP;
	launch.fibers[launch.now].words = words;
	wait_as(IN_WARP);
	for (int v = 0; v < FRAGMENT_SUMS; v++)
		add_product(in, lane / 4 + v / 2 * 8, lane % 4 * 2 + v % 2,
		    &sums[v]);
	wait_as(IN_WARP);
}

/* To 11 digits, as numbers. */
uint32_t fibers_tf32(float x)
{
	int exponent;
	float digits = frexpf(x, &exponent);
	float y = isfinite(x) ? ldexpf(roundf(ldexpf(digits, 11)), exponent - 11)
			      : x;
	uint32_t bits;
	memcpy(&bits, &y, sizeof bits);
	return bits;
}

/* --- products of a warpgroup ----------------------------------------------------- */

/* What has these low 18 bits of its address, of the data behind the kernel. */
static const char *behind_kernel(uint64_t low)
{
	uint64_t kernel = (uint64_t)(uintptr_t)launch.f;
	return (const char *)(uintptr_t)(kernel + (low - kernel) % (1 << 18));
}

/* By the fields of its descriptor, as the PTX ISA has them: element (m, k) of a
 * step, of rows of 128 bytes in eights; bits 4 to 6 of an address xor 7 to 9. */
static Scalar of_tile(uint64_t tile, DType type, int across, int m, int k)
{
	uint64_t first = tile & 0x3fff, next = tile >> 16 & 0x3fff;
	uint64_t eight = tile >> 32 & 0x3fff, line = across ? k : m;
	uint64_t in = (uint64_t)((across ? m % 64 : k) * dtype_bytes(type));
	uint64_t at = 16 * first + line / 8 * 16 * eight + line % 8 * 128 + in +
	    (across ? (uint64_t)m / 64 * 16 * next : 0);
	if (tile >> 62 != 1)
		abort();
	at ^= at >> 3 & 0x70;
	return scalar_load(type, behind_kernel(at), 0);
}

/* Each thread for itself: what is read nobody changes before the next barrier. */
void fibers_wgmma(const char *name, void *sums, int n, const uint64_t *tiles,
    int a_across, int b_across)
{
	const Intrinsic *in = intrinsic_at(intrinsic_find(name));
	int thread = launch.now % (4 * WARP), g = thread % WARP / 4;
	int steps = 32 / dtype_bytes(in->a);
	for (int v = 0; v < n / 2; v++) {
		int m = thread / WARP * 16 + g + v / 2 % 2 * 8;
		int column = thread % 4 * 2 + v % 2 + v / 4 * 8;
		for (int k = 0; k < in->terms; k++) {
			const uint64_t *at = &tiles[k / steps * 2];
			Scalar a = of_tile(
			    at[0], in->a, a_across, m, k % steps);
			Scalar b = of_tile(
			    at[1], in->b, b_across, column, k % steps);
			if (dtype_is_float(in->sum))
				((float *)sums)[v] += (float)a.f * (float)b.f;
			else
				((int32_t *)sums)[v] += (int32_t)(a.i * b.i);
		}
	}
}

/* Copies are made at once: nobody looks before the wait. */
void fibers_copy(uint32_t to, const void *from, int bytes)
{
	uintptr_t near = (uintptr_t)launch.f;
	memcpy((void *)(near + (uintptr_t)(int32_t)(to - (uint32_t)near)), from,
	    (size_t)bytes);
}

/* --- running ---------------------------------------------------------------- */

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
