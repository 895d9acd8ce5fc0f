/* What the threads of a warp touch when they make one access together.
 *
 *     x[32*i + t], t in 32 threads      4 sectors of 32 bytes; 1 turn if shared
 *     x[32*t + i]                      32 sectors;            32 turns: one bank
 *     x[i]                              1 sector;              1 turn
 *
 * Global memory is brought by sectors.  Shared memory lies in banks, words of 4
 * bytes in turn, each of which gives one word at a time, to all that ask for it.
 *
 * Lanes are boxes of iterations: one of them, or a few where the warp ends inside
 * of a row.  Pieces of a box with no unit of memory between them are one row; rows
 * that are whole units apart touch as many each.  What is not so is gone through
 * row by row. */
#include <assert.h>

#include "schedule/plan/cost_gpu.h"

enum { WORD_BITS = 2, WORD = 1 << WORD_BITS, WIDEST = 4 };

/* --- lanes ---------------------------------------------------------------- */

static uint64_t with_byte(uint64_t bytes, int i, int byte)
{
	return (bytes & ~((uint64_t)0xff << 8 * i)) | (uint64_t)byte << 8 * i;
}

/* The first n[k] places of direction k and of those below it, of `box`: of a
 * direction's outermost loop all whole iterations, of the next those of what is
 * left, and so on. */
static void add_places(const StageNow *now, const int64_t *n, int k, LaneBox box,
    Lanes *lanes)
{
	while (k >= 0 && lanes->first[k] == lanes->first[k + 1])
		k--; /* all of them do the same */
	if (k < 0) {
		assert(lanes->nboxes < LANE_BOXES);
		lanes->box[lanes->nboxes++] = box;
		return;
	}
	int first = lanes->first[k], last = lanes->first[k + 1] - 1;
	int left = (int)n[k];
	for (int i = last; i >= first && left; i--) {
		LaneBox whole = box;
		int below = 1;
		for (int inner = first; inner < i; inner++) {
			int extent = (int)now->extent[lanes->loop[inner]];
			whole.count = with_byte(whole.count, inner, extent);
			below *= extent;
		}
		int count = i > first ? left / below : left;
		whole.count = with_byte(whole.count, i, count);
		if (count)
			add_places(now, n, k - 1, whole, lanes);
		box.from = with_byte(box.from, i, count);
		left -= count * below;
	}
}

/* One place of a direction. */
static void set_place(const StageNow *now, const Lanes *lanes, int k,
    int64_t place, LaneBox *box)
{
	int last = lanes->first[k + 1] - 1;
	for (int i = lanes->first[k]; i <= last; i++) {
		int64_t n = i < last ? now->extent[lanes->loop[i]] : place + 1;
		box->from = with_byte(box->from, i, (int)(place % n));
		place /= n;
	}
}

/* Neighbours along x are neighbouring threads, then those along y and z.  A thread
 * that is beyond the stage's own loops of a direction does nothing; where it has
 * none of that direction all do the same. */
void lanes_fill(const StageNow *now, const Shape *own, const Shape *launch,
    int warp, Lanes *lanes)
{
	const PlanStage *s = now->stage;
	const int64_t *block = launch->block;
	LaneBox box = {.count = 0x0101010101010101};
	int64_t n[DIRECTIONS];
	lanes->nloops = lanes->nboxes = lanes->first[0] = 0;
	for (int k = 0; k < DIRECTIONS; k++) {
		uint32_t loops = own->threads & s->along[k];
		while (loops && lanes->nloops < THREAD_LOOPS)
			lanes->loop[lanes->nloops++] = last_loop(&loops);
		lanes->first[k + 1] = lanes->nloops;
		n[k] = own->block[k] > 1 ? own->block[k] : block[k];
	}
	int64_t below = block[0] * block[1], left = below * block[2];
	left = left < warp ? left : warp;
	for (int k = DIRECTIONS - 1; k >= 0 && left; k--) {
		int64_t whole = k ? left / below : left;
		left -= whole * below;
		below /= k ? block[k - 1] : 1;
		bool idle = whole >= n[k];
		n[k] = idle ? n[k] : whole;
		if (whole)
			add_places(now, n, k, box, lanes);
		if (idle)
			return;
		if (whole)
			set_place(now, lanes, k, whole, &box);
	}
}

/* --- what a box touches --------------------------------------------------- */

/* Where pieces begin, in bytes: from one place on, in all combinations of so many
 * steps, the short ones first. */
typedef struct {
	int64_t from;
	int n;
	int64_t step[THREAD_LOOPS], count[THREAD_LOOPS];
} Begins;

/* Units of memory, 1 << bits bytes: a piece that begins `reach` bytes behind
 * another one has no unit between; it ends in that of `tail` bytes behind where it
 * begins. */
typedef struct {
	int bits;
	int64_t reach, tail;
} Grain;

static void begins_of(
    const LaneBox *box, const int64_t *step, int nloops, Begins *b)
{
	uint64_t from = box->from, counts = box->count;
	b->from = b->n = 0;
	for (int i = 0; i < nloops; i++, from >>= 8, counts >>= 8) {
		int64_t by = step[i], count = counts & 0xff;
		b->from += by * (int64_t)(from & 0xff);
		if (!by || count <= 1)
			continue;
		if (by < 0) {
			b->from += by * (count - 1);
			by = -by;
		}
		int k = b->n++;
		for (; k && b->step[k - 1] > by; k--) {
			b->step[k] = b->step[k - 1];
			b->count[k] = b->count[k - 1];
		}
		b->step[k] = by;
		b->count[k] = count;
	}
}

/* Of so many of its steps the pieces are one row; `length`: from the first one's
 * beginning to the last one's. */
static int row_of(const Begins *b, const Grain *g, int64_t *length)
{
	int i = 0;
	*length = 0;
	for (; i < b->n && b->step[i] <= *length + g->reach; i++)
		*length += (b->count[i] - 1) * b->step[i];
	return i;
}

/* Units from where a row begins. */
static int64_t units_of_row(const Grain *g, int64_t begin, int64_t length)
{
	return ((begin + length + g->tail) >> g->bits) - (begin >> g->bits) + 1;
}

/* Units of rows that are whole units apart and share none; 0: they are not. */
static int64_t units_apart(const Begins *b, const Grain *g)
{
	int64_t length, mask = ((int64_t)1 << g->bits) - 1;
	int i = row_of(b, g, &length);
	int64_t units = units_of_row(g, b->from, length), reach = units;
	for (; i < b->n; i++) {
		int64_t by = b->step[i] >> g->bits;
		if (b->step[i] & mask || by < reach)
			return 0;
		units *= b->count[i];
		reach += (b->count[i] - 1) * by;
	}
	return units;
}

/* --- row by row ----------------------------------------------------------- */

typedef struct {
	int64_t first, last; /* units */
} UnitRow;

typedef struct {
	int n;
	UnitRow at[WARP_MOST];
} UnitRows;

static void add_rows(const Begins *b, const Grain *g, UnitRows *rows)
{
	int64_t length, begin[WARP_MOST];
	int i = row_of(b, g, &length), n = 1;
	begin[0] = b->from;
	for (; i < b->n; i++) {
		int inner = n;
		n *= (int)b->count[i];
		for (int k = inner; k < n; k++)
			begin[k] = begin[k - inner] + b->step[i];
	}
	assert(rows->n + n <= WARP_MOST);
	for (int k = 0; k < n; k++)
		rows->at[rows->n++] = (UnitRow){begin[k] >> g->bits,
		    (begin[k] + length + g->tail) >> g->bits};
}

/* Sorts rows, makes one of those that share units, and counts these. */
static int64_t join_rows(UnitRows *rows)
{
	UnitRow *at = rows->at;
	int64_t units = 0;
	int n = 0;
	for (int i = 1; i < rows->n; i++) {
		UnitRow row = at[i];
		int k = i;
		for (; k && at[k - 1].first > row.first; k--)
			at[k] = at[k - 1];
		at[k] = row;
	}
	for (int i = 0; i < rows->n; i++) {
		if (!n || at[i].first > at[n - 1].last)
			at[n++] = at[i];
		else if (at[i].last > at[n - 1].last)
			at[n - 1].last = at[i].last;
	}
	rows->n = n;
	for (int i = 0; i < n; i++)
		units += at[i].last - at[i].first + 1;
	return units;
}

static void rows_of(
    const Lanes *lanes, const int64_t *step, const Grain *g, UnitRows *rows)
{
	rows->n = 0;
	for (int i = 0; i < lanes->nboxes; i++) {
		Begins b;
		begins_of(&lanes->box[i], step, lanes->nloops, &b);
		add_rows(&b, g, rows);
	}
}

/* --- global memory -------------------------------------------------------- */

/* Sectors, and of how many lines. */
static void touch_sectors(const Machine *m, const Lanes *lanes,
    const int64_t *step, int width, Touch *t)
{
	int sector = m->sector_bytes > 0 ? m->sector_bytes : 32;
	int line = m->line_bytes > sector ? m->line_bytes : sector;
	Grain sectors = {__builtin_ctz((unsigned)sector), sector, width - 1};
	Grain lines = {__builtin_ctz((unsigned)line), line, width - 1};
	UnitRows rows;
	if (lanes->nboxes == 1) {
		Begins b;
		begins_of(&lanes->box[0], step, lanes->nloops, &b);
		t->sectors = (double)units_apart(&b, &sectors);
		t->lines = (double)units_apart(&b, &lines);
		if (t->sectors > 0 && t->lines > 0)
			return;
	}
	rows_of(lanes, step, &sectors, &rows);
	t->sectors = (double)join_rows(&rows);
	for (int i = 0; i < rows.n; i++) {
		rows.at[i].first >>= lines.bits - sectors.bits;
		rows.at[i].last >>= lines.bits - sectors.bits;
	}
	t->lines = (double)join_rows(&rows);
}

/* --- shared memory -------------------------------------------------------- */

static int64_t ceil_of(int64_t a, int64_t b)
{
	return (a + b - 1) / b;
}

/* Turns for rows as far apart as each other: they begin at banks a multiple of
 * `apart` apart, in each of which as many; 0: that is not so. */
static int64_t turns_apart(const Begins *b, const Grain *g, int banks)
{
	int64_t length;
	int i = row_of(b, g, &length);
	int64_t words = units_of_row(g, b->from, length);
	if (i == b->n)
		return ceil_of(words, banks);
	int64_t by = b->step[i] >> g->bits, n = b->count[i];
	if (i + 1 < b->n || b->step[i] % WORD || by < words ||
	    banks & (banks - 1))
		return 0;
	int64_t apart = by & -by;
	apart = apart < banks ? apart : banks;
	int64_t begins = banks / apart;
	if (words <= apart)
		return ceil_of(n, begins);
	return n % begins ? 0 : n / begins * ceil_of(words, apart);
}

/* As many as the fullest bank has words. */
static int64_t fullest_bank(const UnitRows *rows, int banks)
{
	int in_bank[WARP_MOST] = {0}, most = 0;
	int64_t everywhere = 0;
	for (int i = 0; i < rows->n; i++) {
		const UnitRow *row = &rows->at[i];
		int64_t words = row->last - row->first + 1;
		int at = (int)(row->first % banks);
		everywhere += words / banks;
		at += at < 0 ? banks : 0;
		for (int left = (int)(words % banks); left; left--) {
			most = ++in_bank[at] > most ? in_bank[at] : most;
			at = at + 1 < banks ? at + 1 : 0;
		}
	}
	return everywhere + most;
}

/* The same where words 4 to 16 lie in others of these, as their line's number says:
 * bits 2 to 4 of a word xor 5 to 7, or fewer. */
static int64_t fullest_swizzled(const UnitRows *rows, int banks, int swizzle)
{
	int in_bank[WARP_MOST] = {0}, most = 0;
	int64_t turned = (swizzle >> WORD_BITS) - WIDEST;
	for (int i = 0; i < rows->n; i++)
		for (int64_t w = rows->at[i].first; w <= rows->at[i].last; w++) {
			int at = (int)((w ^ (w >> 3 & turned)) % banks);
			at += at < 0 ? banks : 0;
			most = ++in_bank[at] > most ? in_bank[at] : most;
		}
	return most;
}

/* Turns until all have their words. */
static double bank_turns(const Machine *m, const Lanes *lanes,
    const int64_t *step, int width, int swizzle)
{
	int banks = m->banks > 0 && m->banks <= WARP_MOST ? m->banks : 32;
	int each = width > WORD ? width / WORD : 1;
	each = each < WIDEST ? each : WIDEST;
	Grain words = {WORD_BITS, WORD * each, WORD * (each - 1)};
	UnitRows rows;
	if (lanes->nboxes == 1 && !swizzle) {
		Begins b;
		begins_of(&lanes->box[0], step, lanes->nloops, &b);
		int64_t turns = turns_apart(&b, &words, banks);
		if (turns)
			return (double)turns;
	}
	rows_of(lanes, step, &words, &rows);
	join_rows(&rows);
	return (double)(swizzle ? fullest_swizzled(&rows, banks, swizzle)
				: fullest_bank(&rows, banks));
}

Touch warp_touch(const StageNow *now, const PlanAccess *a, const Lanes *lanes,
    int width)
{
	int64_t step[THREAD_LOOPS];
	const AccessNow *at = access_now(now, a);
	Touch t = {1, 1, 1};
	bool moves = false;
	for (int i = 0; i < lanes->nloops; i++) {
		step[i] = at->step[lanes->loop[i]] * a->bytes;
		moves |= step[i] != 0;
	}
	if (!moves && width <= WORD)
		return t;
	if (a->scope == SCOPE_SHARED)
		t.turns = bank_turns(
		    now->machine, lanes, step, width, a->swizzle);
	else
		touch_sectors(now->machine, lanes, step, width, &t);
	return t;
}
