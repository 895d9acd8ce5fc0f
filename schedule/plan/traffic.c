/* What a stage's accesses touch, and so which bytes move between the levels of
 * memory: from the loop at which all that is touched inside fits a cache,
 * everything touched there is brought in once each time that loop starts (the
 * counting of Low et al., TOMS 2016), but for what is there already.  What fits is
 * counted in sets of lines. */
#include <stdlib.h>
#include <string.h>

#include "schedule/plan/cost.h"

/* Elements of a hull that grows loop by loop, from the innermost on. */
typedef struct {
	double span[PLAN_DIMS], held[PLAN_DIMS];
	double elements;
} HullReach;

static void reach_begin(const PlanAccess *a, const int64_t *values,
    const int64_t *reach, HullReach *h)
{
	h->elements = 1;
	for (int k = 0; k < a->ndim; k++) {
		h->held[k] = a->held[k] == HANDLE_NONE
		    ? 0 : (double)values[a->held[k]];
		h->span[k] = min2(h->held[k], (double)reach[k] + 1);
		h->elements *= h->span[k];
	}
}

static void reach_grow(const PlanAccess *a, const int64_t *values, int loop,
    int64_t extent, HullReach *h)
{
	for (uint32_t dims = a->dims[loop]; dims; dims &= dims - 1) {
		int k = __builtin_ctz(dims);
		int64_t more = values[a->coef[loop][k]] * (extent - 1);
		h->span[k] = min2(h->held[k], h->span[k] + (double)more);
	}
	h->elements = 1;
	for (int k = 0; k < a->ndim; k++)
		h->elements *= h->span[k];
}

static const int64_t alone[PLAN_DIMS];

void access_elements(const PlanStage *s, const PlanAccess *a,
    const int64_t *values, double *elements)
{
	HullReach h;
	reach_begin(a, values, alone, &h);
	elements[s->nloops] = h.elements;
	for (int d = s->nloops - 1; d >= 0; d--) {
		int64_t extent = values[s->loops[d].extent];
		if (extent > 1 && access_moves(a, values, d))
			reach_grow(a, values, d, extent, &h);
		elements[d] = h.elements;
	}
}

double part_differing(
    const StageNow *w, const PlanAccess *a, uint32_t loops, double copies)
{
	const PlanAccess *first = &w->stage->accesses[a->like];
	HullReach all;
	if (first->likes == 1)
		return 1;
	reach_begin(first, w->values, first->reach, &all);
	while (loops) {
		int d = last_loop(&loops);
		reach_grow(first, w->values, d, w->extent[d], &all);
	}
	return min2(1, all.elements / (first->likes * copies));
}

/* --- sets ---------------------------------------------------------------------- */

/* Where a line of a cache may lie follows from its place in its page (of 64
 * lines, a bit each): in the first cache always, in the second because pages lie
 * anywhere.  So rows a multiple of a page apart share few of the sets. */
enum { PAGE = 4096, PAGE_LINES = 64, PAGE_LINE = PAGE / PAGE_LINES };

/* The hardware brings ahead what it sees to be a row, of so many rows in turn
 * (`streams`).  What is read of more of them, so little of each (`short_row`), waits
 * for each line.
 *
 * It stops at the end of a page: where a row ends and the next one in turn is in
 * another page, one of many, a sum of it waits for as long as so many bytes take
 * (`row_begins`).  Of what is used more often there is enough to do meanwhile.
 *
 * Lines come in pairs.  A core waits for so few lines at once (`lone_rows`) that those
 * which nothing brings ahead take twice the time, where only one of each pair is read
 * (`lone`).
 *
 * Of more pages than those whose addresses are known at once (`pages`), what is in the
 * second cache is found no sooner than what is in the last. */
enum { USED_FEW = 8 };

static uint64_t moved_by(uint64_t lines, int64_t bytes)
{
	int by = (int)(bytes % PAGE / PAGE_LINE);
	return by ? lines << by | lines >> (PAGE_LINES - by) : lines;
}

/* The lines of `n` pieces, each `step` bytes behind the one before it. */
static uint64_t repeated(uint64_t lines, int64_t step, int64_t n)
{
	int64_t done = 1;
	step %= PAGE;
	n = n < PAGE ? n : PAGE;
	for (; done * 2 <= n && ~lines; done *= 2)
		lines |= moved_by(lines, done * step);
	return ~lines ? lines | moved_by(lines, (n - done) * step) : lines;
}

static bool is_region(const PlanStage *s, int access)
{
	const PlanAccess *a = &s->accesses[access];
	return a->like == access && a->scope != SCOPE_REG;
}

/* Bytes that are read of a row before the next ones in turn, of more than are
 * seen, and how far those lie off; 0: there are not so many.  Rows that are read
 * side by side to their ends, where the next ones begin, are one. */
static int64_t read_of_row(const StageNow *w, const PlanAccess *a, int64_t *off)
{
	double rows = 1;
	int64_t row = a->bytes, all = row;
	uint32_t loops = a->write ? 0 : access_now(w, a)->moves;
	const MachineCosts *costs = w->costs;
	while (loops && rows <= costs->streams) {
		int d = last_loop(&loops);
		*off = access_now(w, a)->step[d] * a->bytes;
		if (*off == all && rows * (double)row >= (double)all) {
			row = all;
			rows = 1;
		}
		all += (w->extent[d] - 1) * *off;
		if ((double)*off > (double)row + costs->short_row)
			rows *= (double)w->extent[d];
		else
			row += (w->extent[d] - 1) * *off;
	}
	return rows > costs->streams ? row : 0;
}

static bool is_waiting(const StageNow *w, const PlanAccess *a)
{
	int64_t off, row = read_of_row(w, a, &off);
	return row && (double)row <= w->costs->short_row;
}

/* The times that a byte takes, with what its row waits for at first, where so
 * many elements are read. */
static double begin_rows(
    const StageNow *w, const PlanAccess *a, double elements)
{
	int64_t off, row = read_of_row(w, a, &off);
	bool few = w->stage->reduce &&
	    (double)w->stage->points <= USED_FEW * elements;
	return few && row && (double)off >= w->costs->page ? 1 +
		min2(w->costs->row_begins_most,
		    w->costs->row_begins / (double)row)
							   : 1;
}

/* Is one line read of each of many rows in turn?  Rows that do not begin at lines
 * touch two. */
static bool is_lone(const StageNow *w, const PlanAccess *a)
{
	const AccessNow *now = access_now(w, a);
	int64_t rows = 1, row = a->bytes, line = w->machine->line_bytes;
	double most = w->costs->lone_rows;
	uint32_t loops = a->write ? 0 : now->moves;
	while (loops && (double)rows <= most && row <= line) {
		int d = last_loop(&loops);
		int64_t step = now->step[d] * a->bytes;
		step = step < 0 ? -step : step;
		if (step > row && step % line)
			return false;
		if (step > row)
			rows *= w->extent[d];
		else
			row += (w->extent[d] - 1) * step;
	}
	return (double)rows > most && row <= line;
}

/* Of loops that run only, each by its number among these: bytes that an access,
 * with those like it, touches over loops j.. */
typedef struct {
	const PlanAccess *access;
	bool waiting, lone;
	double begins; /* begin_rows() */
	double bytes[PLAN_DEPTH + 1];
} Region;

/* Of all of them: their bytes, those that they take in a cache, with the sets that
 * only they can fill, and pages. */
typedef struct {
	int n;
	Region at[PLAN_ACCESSES];
	double touched[PLAN_DEPTH + 1];
	double taken[PLAN_DEPTH + 1], pages[PLAN_DEPTH + 1];
} Footprint;

/* The lines and pages of a region, as it grows. */
typedef struct {
	uint64_t lines;
	double share, pages; /* of the lines, what it takes of each */
} Sets;

static void sets_grow(Sets *sets, double page, int64_t step, int64_t n)
{
	if (step && ~sets->lines) {
		sets->lines = repeated(sets->lines, step, n);
		sets->share = (double)PAGE_LINES /
		    __builtin_popcountll(sets->lines);
	}
	if ((double)step >= page)
		sets->pages *= (double)n;
	else
		sets->pages += (double)((n - 1) * step) / page * sets->pages;
}

/* Of reads that move alike, the bytes of their hull, or of each on its own. */
static double reach_bytes(
    const PlanAccess *a, const HullReach *one, const HullReach *all)
{
	double elements = a->likes == 1
	    ? one->elements : min2(all->elements, a->likes * one->elements);
	return elements * a->bytes;
}

static void add_region(const StageNow *w, const PlanAccess *a, Footprint *f)
{
	const AccessNow *now = access_now(w, a);
	Region *r = &f->at[f->n++];
	Sets sets = {1, PAGE_LINES, 1};
	HullReach one, all;
	if (a->by_data)
		sets = (Sets){~(uint64_t)0, 1, 1};
	r->access = a;
	r->waiting = is_waiting(w, a);
	r->lone = is_lone(w, a);
	/* what is alone in a line brings all of it, but for what a stage before has */
	double line = w->machine->line_bytes;
	double row = r->lone && !a->after ? a->bytes : line;
	reach_begin(a, w->values, alone, &one);
	if (a->likes > 1)
		reach_begin(a, w->values, a->reach, &all);
	for (int j = w->nrunning; j >= 0; j--) {
		int d = j < w->nrunning ? w->running[j] : -1;
		if (d >= 0 && now->moves >> d & 1) {
			reach_grow(a, w->values, d, w->extent[d], &one);
			if (a->likes > 1)
				reach_grow(a, w->values, d, w->extent[d], &all);
			int64_t step = llabs(now->step[d]) * a->bytes;
			sets_grow(&sets, w->costs->page,
			    now->step[d] * a->bytes, w->extent[d]);
			if ((double)step < line)
				row += (double)(step * (w->extent[d] - 1));
		}
		r->bytes[j] = reach_bytes(a, &one, &all) * max2(1, line / row);
		f->touched[j] += r->bytes[j];
		f->taken[j] += r->bytes[j] * sets.share;
		f->pages[j] += sets.pages;
	}
	r->begins =
	    sets.pages > w->costs->pages ? begin_rows(w, a, one.elements) : 1;
}

/* How often the j-th of the loops that run starts. */
static double starts_of(const StageNow *w, const StageCost *c, int j)
{
	return c->trips[j < w->nrunning ? w->running[j] : w->stage->nloops];
}

/* Does what a stage before this one touched in the same iteration stay, beside as
 * much again of its own? */
static bool is_left(const StageNow *w, const PlanAccess *a,
    const double *taken, double size)
{
	uint32_t around = w->runs & ((1u << a->after) - 1);
	return a->after && taken[__builtin_popcount(around)] * 2 <= size;
}

/* What is touched inside of the loop at which that fits, loop j - 1, comes each
 * time its body starts, or is there: from the run before if all that the program
 * reads and writes fits, from a stage before this one in the same iteration, from
 * the last iteration if it stays and the loop does not move it, or moves it by
 * less than it is long.  What is waited for counts `waiting` times but for the
 * first. */
static double fits_traffic(const StageNow *w, const StageCost *c,
    const Footprint *f, const double *taken, bool stays, double size,
    double *split)
{
	int j = 0;
	double sum = 0, waiting = 0;
	while (j < w->nrunning && taken[j] > size)
		j++;
	if (!j && (double)w->stage->program_bytes <= size)
		return 0;
	double often = starts_of(w, c, j);
	double once = j ? starts_of(w, c, j - 1) : often;
	for (int i = 0; i < f->n; i++) {
		const Region *r = &f->at[i];
		bool moved = !j ||
		    access_moves_now(w, r->access, w->running[j - 1]);
		double bytes = r->bytes[j] * (moved || !stays ? often : once);
		if (is_left(w, r->access, taken, size))
			continue;
		if (j && moved)
			bytes = min2(bytes, r->bytes[j - 1] * once);
		if (split)
			*split += split_waits(w, c, r->access, bytes);
		sum += stays ? bytes * r->begins : bytes;
		if (r->lone && stays)
			sum += (w->costs->lone - 1) * bytes;
		if (r->waiting && stays)
			waiting += bytes - (moved ? r->bytes[0] : 0);
	}
	return sum + (w->costs->waiting - 1) * max2(waiting, 0);
}

/* The first cache is too small for much to stay beside what streams past it, and
 * the second near enough not to be waited for; the last has a place for each line
 * anywhere. */
void count_traffic(const StageNow *w, StageCost *c)
{
	const PlanStage *s = w->stage;
	const Machine *m = w->machine;
	const MachineCosts *costs = w->costs;
	Footprint f;
	f.n = 0;
	memset(f.touched, 0, sizeof f.touched);
	memset(f.taken, 0, sizeof f.taken);
	memset(f.pages, 0, sizeof f.pages);
	for (int i = 0; i < s->naccesses; i++)
		if (is_region(s, i))
			add_region(w, &s->accesses[i], &f);
	c->split = 0;
	c->traffic[0] = fits_traffic(w, c, &f, f.taken, false,
	    (double)m->l1_bytes * costs->cache_used, &c->split);
	for (int j = 0; j <= w->nrunning; j++)
		f.taken[j] = max2(f.taken[j],
		    f.pages[j] * ((double)m->l2_bytes / costs->pages));
	c->traffic[1] = fits_traffic(w, c, &f, f.taken, true,
	    (double)m->l2_bytes * costs->cache_used, NULL);
	c->traffic[2] = fits_traffic(w, c, &f, f.touched, true,
	    (double)m->l3_bytes * costs->cache_used, NULL);
	for (int d = s->nloops, j = w->nrunning; d >= 0; d--) {
		j -= d < s->nloops && w->runs >> d & 1;
		c->touched[d] = f.touched[j];
	}
}
