/* What the threads of a warp touch when they make one access together.
 *
 *     x[32*i + t], t in 32 threads      4 sectors of 32 bytes; 1 turn if shared
 *     x[32*t + i]                      32 sectors;            32 turns: one bank
 *     x[i]                              1 sector;              1 turn
 *
 * Global memory is brought by sectors.  Shared memory lies in banks, words of 4
 * bytes in turn, each of which gives one word at a time, to all that ask for it. */
#include <string.h>

#include "schedule/plan/cost_gpu.h"

enum { WORD = 4, WIDEST = 4, TABLE = 2 * WARP_MOST * WIDEST };

/* The numbers of all threads one after another, as an odometer has them. */
static void count_lanes(const PlanStage *s, const int64_t *values,
    const Shape *own, const Shape *launch, int warp, const int *first,
    Lanes *lanes)
{
	int64_t place[DIRECTIONS] = {0}, at[THREAD_LOOPS] = {0};
	for (int t = 0; t < warp; t++) {
		bool idle = false;
		for (int k = 0; k < DIRECTIONS; k++)
			idle |= own->block[k] > 1 && place[k] >= own->block[k];
		for (int i = 0; i < lanes->nloops && !idle; i++)
			lanes->at[i][lanes->n] = at[i];
		lanes->n += !idle;
		int k = 0;
		while (k < DIRECTIONS && ++place[k] == launch->block[k]) {
			for (int i = first[k]; i < first[k + 1]; i++)
				at[i] = 0;
			place[k++] = 0;
		}
		if (k == DIRECTIONS)
			return;
		for (int i = first[k]; i < first[k + 1]; i++) {
			if (++at[i] < values[s->loops[lanes->loop[i]].extent] ||
			    i + 1 == first[k + 1])
				break;
			at[i] = 0;
		}
	}
}

/* Do the lanes have all combinations of so many first iterations of each loop?
 * So it is where loops make up their direction, no lane is idle, and the warp ends
 * with an iteration of the loop that it does not have all of.  What they touch is
 * then known without going through the lanes. */
static bool is_box(const PlanStage *s, const int64_t *values, const Shape *own,
    const Shape *launch, int warp, const int *first, Lanes *lanes)
{
	int64_t rest = warp;
	for (int k = 0; k < DIRECTIONS; k++) {
		int64_t left = launch->block[k];
		if (own->block[k] > 1 && own->block[k] != left)
			return false;
		for (int i = first[k]; i < first[k + 1]; i++) {
			int64_t n = values[s->loops[lanes->loop[i]].extent];
			if (n < 1 || left % n || (rest > n && rest % n))
				return false;
			lanes->count[i] = (int)(n < rest ? n : rest);
			left /= n;
			rest = rest > n ? rest / n : 1;
		}
		if (first[k] < first[k + 1] && left != 1)
			return false;
		if (rest > left && rest % left)
			return false;
		rest = rest > left ? rest / left : 1;
	}
	return true;
}

/* Neighbours along x are neighbouring threads, then those along y and z.  A thread
 * that is beyond the stage's own loops of a direction does nothing; where it has
 * none of that direction all do the same. */
void lanes_fill(const PlanStage *s, const int64_t *values, const Shape *own,
    const Shape *launch, int warp, Lanes *lanes)
{
	lanes->n = lanes->nloops = 0;
	int first[DIRECTIONS + 1] = {0};
	for (int k = 0; k < DIRECTIONS; k++) {
		uint32_t loops = own->threads;
		while (loops && lanes->nloops < THREAD_LOOPS) {
			int d = last_loop(&loops);
			if (loop_direction(s->loops[d].kind) == k)
				lanes->loop[lanes->nloops++] = d;
		}
		first[k + 1] = lanes->nloops;
	}
	lanes->box = is_box(s, values, own, launch, warp, first, lanes);
	if (!lanes->box)
		count_lanes(s, values, own, launch, warp, first, lanes);
}

/* Where each lane's piece begins. */
static int lane_bytes(const Lanes *lanes, const int64_t *step, int64_t *bytes)
{
	memset(bytes, 0, sizeof *bytes * (size_t)lanes->n);
	for (int i = 0; i < lanes->nloops; i++)
		for (int k = 0; k < lanes->n && step[i]; k++)
			bytes[k] += step[i] * lanes->at[i][k];
	return lanes->n;
}

/* The same of a box: loops that do not move it are left out, and those with long
 * steps go around those with short ones, so that mostly they rise. */
static int box_bytes(const Lanes *lanes, const int64_t *step, int64_t *bytes)
{
	int order[THREAD_LOOPS], n = 0, count = 1;
	for (int i = 0; i < lanes->nloops; i++) {
		int k = n;
		if (!step[i] || lanes->count[i] <= 1)
			continue;
		for (; k && step[order[k - 1]] > step[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
		n++;
	}
	bytes[0] = 0;
	for (int k = 0; k < n; k++) {
		int inner = count;
		int64_t by = step[order[k]];
		count *= lanes->count[order[k]];
		for (int i = inner; i < count; i++)
			bytes[i] = bytes[i - inner] + by;
	}
	return count;
}

static int hash_of(int64_t x)
{
	return (int)((uint64_t)x * 0x9e3779b97f4a7c15u >> 48);
}

/* Different values among them, which are moved to the front; those that rise need
 * no table. */
static int distinct(int64_t *values, int n)
{
	int64_t seen[TABLE];
	bool used[TABLE];
	int count = n > 0, size = WARP_MOST;
	bool rising = true;
	for (int i = 1; i < n && rising; i++)
		rising = values[i] >= values[i - 1];
	for (int i = 1; i < n && rising; i++)
		if (values[i] != values[count - 1])
			values[count++] = values[i];
	if (rising)
		return count;
	while (size < 2 * n)
		size *= 2;
	memset(used, 0, (size_t)size);
	count = 0;
	for (int i = 0; i < n; i++) {
		int at = hash_of(values[i]) & (size - 1);
		while (used[at] && seen[at] != values[i])
			at = (at + 1) & (size - 1);
		if (used[at])
			continue;
		used[at] = true;
		seen[at] = values[i];
		values[count++] = values[i];
	}
	return count;
}

/* The units of memory, a power of two of bytes, that the lanes' pieces are in. */
static int units(const int64_t *bytes, int n, int width, int unit, int64_t *at)
{
	int count = 0, bits = __builtin_ctz((unsigned)unit);
	for (int i = 0; i < n; i++) {
		int64_t end = (bytes[i] + width - 1) >> bits;
		at[count++] = bytes[i] >> bits;
		if (end != at[count - 1])
			at[count++] = end;
	}
	return distinct(at, count);
}

/* Turns until all have their words: as many as the fullest bank has. */
static double bank_turns(const int64_t *bytes, int n, int width, int banks)
{
	int64_t words[WARP_MOST * WIDEST];
	int in_bank[WARP_MOST] = {0}, count = 0, most = 1;
	int each = width > WORD ? width / WORD : 1;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < each && k < WIDEST; k++)
			words[count++] = bytes[i] / WORD + k;
	count = distinct(words, count);
	for (int i = 0; i < count; i++) {
		int64_t at = banks & (banks - 1)
		    ? (words[i] % banks + banks) % banks
		    : words[i] & (banks - 1);
		int *bank = &in_bank[at];
		most = ++*bank > most ? *bank : most;
	}
	return most;
}

Touch warp_touch(const StageNow *now, const PlanAccess *a, const Lanes *lanes,
    int width)
{
	const Machine *m = now->machine;
	int64_t bytes[WARP_MOST], step[THREAD_LOOPS];
	int sector = m->sector_bytes > 0 ? m->sector_bytes : 32;
	int line = m->line_bytes > sector ? m->line_bytes : sector;
	int banks = m->banks > 0 && m->banks <= WARP_MOST ? m->banks : 32;
	Touch t = {1, 1, 1};
	bool moves = false;
	for (int i = 0; i < lanes->nloops; i++) {
		step[i] = now->at[a - now->stage->accesses]
			      .step[lanes->loop[i]] * a->bytes;
		moves |= step[i] != 0;
	}
	if (!moves && width <= WORD)
		return t;
	int pieces = lanes->box ? box_bytes(lanes, step, bytes)
				: lane_bytes(lanes, step, bytes);
	if (a->scope == SCOPE_SHARED) {
		t.turns = bank_turns(bytes, pieces, width, banks);
		return t;
	}
	int64_t at[WARP_MOST * 2];
	int n = units(bytes, pieces, width, sector, at);
	t.sectors = n;
	for (int i = 0; i < n; i++)
		at[i] *= sector;
	t.lines = units(at, n, 1, line, at);
	return t;
}
