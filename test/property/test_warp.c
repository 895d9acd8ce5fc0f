/* What a warp touches is what its lanes do, gone through one by one: of random
 * loops, steps and blocks, sectors, lines, and words of the fullest bank. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/gpu.h"
#include "lib/rng.h"
#include "schedule/plan/cost_gpu.h"

enum { CASES = 100000, UNITS = 1 << 20, LOOPS_EACH = 3 };

/* A stage of thread loops, those of x innermost, and one access. */
typedef struct {
	Machine machine;
	PlanStage stage;
	PlanAccess access;
	StageNow now;
	Shape own, launch;
	int width;
	int outside; /* so many loops are not there yet */
} Case;

static int64_t below(Rng *rng, int64_t n)
{
	return (int64_t)rng_below(rng, (uint64_t)n);
}

static int64_t extent_of(Rng *rng, int64_t most)
{
	static const int64_t usual[] = {2, 3, 4, 5, 7, 8, 14, 16, 28, 32, 64};
	int64_t n = usual[below(rng, sizeof usual / sizeof *usual)];
	return n < most ? n : most;
}

/* Loops of a direction; blocks may be of a larger stage, or the last of them not
 * whole. */
static void add_direction(Rng *rng, int k, int64_t *left, Case *c)
{
	int64_t own = 1, outermost = 1;
	int n = (int)below(rng, LOOPS_EACH + 1);
	for (int i = 0; i < n && *left / own > 1; i++) {
		int d = --c->outside;
		outermost = extent_of(rng, *left / own);
		c->now.extent[d] = outermost;
		own *= outermost;
		c->own.threads |= 1u << d;
		c->stage.along[k] |= 1u << d;
		static const int64_t steps[] = {0, 1, 1, 2, 3, 4, 8, 7, 16, 32,
		    33, 64, 100, 128, 512};
		c->now.at[0].step[d] = steps[below(rng,
			sizeof steps / sizeof *steps)] *
		    c->width / c->access.bytes;
	}
	if (own > 2 && !below(rng, 4))
		own -= below(rng, own / outermost);
	int64_t all = own;
	if (!below(rng, 4))
		all += below(rng, *left / own * own - own + 1);
	c->own.block[k] = own;
	c->launch.block[k] = all;
	*left /= all;
}

static void draw(Rng *rng, Case *c)
{
	int64_t left = 1024;
	memset(c, 0, sizeof *c);
	gpu_machine(gpu_find("sm_80"), &c->machine);
	if (!below(rng, 8))
		c->machine.banks = 24;
	if (!below(rng, 8))
		c->machine.sector_bytes = 64;
	c->access.bytes = 1 << below(rng, 4);
	c->access.scope = below(rng, 2) ? SCOPE_SHARED : SCOPE_GLOBAL;
	c->width = c->access.bytes;
	while (c->width < 16 && below(rng, 2))
		c->width *= 2;
	c->stage.nloops = c->outside = DIRECTIONS * LOOPS_EACH;
	for (int k = 0; k < DIRECTIONS; k++)
		add_direction(rng, k, &left, c);
	c->stage.accesses = &c->access;
	c->stage.naccesses = 1;
	c->now.stage = &c->stage;
	c->now.machine = &c->machine;
}

static int64_t product_of(const int64_t *extent)
{
	return extent[0] * extent[1] * extent[2];
}

/* Where a thread's piece begins, in bytes; false: it has none. */
static bool place_of(const Case *c, int64_t thread, int64_t *bytes)
{
	*bytes = 0;
	for (int k = 0; k < DIRECTIONS; k++) {
		int64_t place = thread % c->launch.block[k];
		uint32_t loops = c->stage.along[k];
		thread /= c->launch.block[k];
		if (c->own.block[k] > 1 && place >= c->own.block[k])
			return false;
		while (loops) {
			int d = last_loop(&loops);
			int64_t n = loops ? c->now.extent[d] : place + 1;
			*bytes += place % n * c->now.at[0].step[d] *
			    c->access.bytes;
			place /= n;
		}
	}
	return true;
}

/* Units that the first threads touch; of those that lie a multiple of `banks`
 * apart, the most. */
static int count_units(
    const Case *c, int warp, int unit, int banks, int *most)
{
	static int touched[UNITS], call;
	int n = 0, in_bank[WARP_MOST] = {0};
	int64_t threads = product_of(c->launch.block), begin;
	threads = threads < warp ? threads : warp;
	call++;
	*most = 0;
	for (int64_t t = 0; t < threads; t++)
		for (int i = 0; place_of(c, t, &begin) && i < c->width; i++) {
			int64_t at = (begin + i) / unit;
			assert_true(at < UNITS);
			if (touched[at] == call)
				continue;
			touched[at] = call;
			int *bank = &in_bank[at % banks];
			*most = ++*bank > *most ? *bank : *most;
			n++;
		}
	return n;
}

static void check(const Case *c, int warp, int number)
{
	Lanes lanes;
	lanes_fill(&c->now, &c->own, &c->launch, warp, &lanes);
	Touch t = warp_touch(&c->now, &c->access, &lanes, c->width);
	int turns = 1, sectors = 1, lines = 1, ignored;
	const Machine *m = &c->machine;
	if (c->access.scope == SCOPE_SHARED) {
		count_units(c, warp, 4, m->banks, &turns);
	} else {
		sectors = count_units(c, warp, m->sector_bytes, 1, &ignored);
		lines = count_units(c, warp, m->line_bytes, 1, &ignored);
	}
	if (t.turns != turns || t.sectors != sectors || t.lines != lines)
		fail_msg("case %d: %g turns, %g sectors, %g lines; are %d, %d, "
			 "%d", number, t.turns, t.sectors, t.lines, turns,
		    sectors, lines);
}

static void test_lanes(void **state)
{
	Rng rng = rng_stream(1, 0, 0);
	Case c;
	(void)state;
	for (int i = 0; i < CASES; i++) {
		draw(&rng, &c);
		check(&c, below(&rng, 4) ? 32 : 64, i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_lanes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
