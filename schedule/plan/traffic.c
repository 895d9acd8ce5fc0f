/* What a stage's accesses touch, and so which bytes move between the levels of
 * memory: from the loop at which all that is touched inside fits a cache,
 * everything touched there is brought in once each time that loop starts (the
 * counting of Low et al., TOMS 2016), but for what is there already.  What fits is
 * counted in sets of lines. */
#include <string.h>

#include "schedule/plan/cost.h"

/* The hull over one loop more. */
static double hull_grown(const PlanStage *s, const PlanAccess *a,
    const int64_t *values, int loop, const double *held, double *span)
{
	int64_t steps = values[s->loops[loop].extent] - 1;
	double all = 1;
	for (uint32_t dims = a->dims[loop]; dims; dims &= dims - 1) {
		int k = __builtin_ctz(dims);
		span[k] = min2(held[k], span[k] +
			(double)(values[a->coef[loop][k]] * steps));
	}
	for (int k = 0; k < a->ndim; k++)
		all *= span[k];
	return all;
}

/* From a first hull on. */
static void hull_elements(const PlanStage *s, const PlanAccess *a,
    const int64_t *values, uint32_t moves, const int64_t *reach,
    double *elements)
{
	double span[PLAN_DIMS], held[PLAN_DIMS], all = 1;
	for (int k = 0; k < a->ndim; k++) {
		held[k] = a->held[k] == HANDLE_NONE
		    ? 0 : (double)values[a->held[k]];
		span[k] = min2(held[k], (double)reach[k] + 1);
		all *= span[k];
	}
	elements[s->nloops] = all;
	for (int d = s->nloops - 1; d >= 0; d--) {
		if (moves >> d & 1)
			all = hull_grown(s, a, values, d, held, span);
		elements[d] = all;
	}
}

void access_elements(const PlanStage *s, const PlanAccess *a,
    const int64_t *values, double *elements)
{
	static const int64_t one[PLAN_DIMS];
	uint32_t moves = 0;
	for (int d = 0; d < s->nloops; d++)
		if (values[s->loops[d].extent] > 1 && access_moves(a, values, d))
			moves |= 1u << d;
	hull_elements(s, a, values, moves, one, elements);
}

/* Bytes of all that move like it: of their hull, or each on its own. */
static void count_region(const StageNow *w, const PlanAccess *a, double *bytes)
{
	static const int64_t one[PLAN_DIMS];
	const PlanStage *s = w->stage;
	uint32_t moves = access_now(w, a)->moves;
	double hull[PLAN_DEPTH + 1];
	hull_elements(s, a, w->values, moves, one, bytes);
	for (int d = 0; d <= s->nloops; d++)
		bytes[d] *= a->bytes;
	if (a->likes == 1)
		return;
	hull_elements(s, a, w->values, moves, a->reach, hull);
	for (int d = 0; d <= s->nloops; d++)
		bytes[d] = min2(hull[d] * a->bytes, a->likes * bytes[d]);
}

static bool is_region(const PlanStage *s, int access)
{
	const PlanAccess *a = &s->accesses[access];
	return a->like == access && a->scope != SCOPE_REG;
}

/* --- sets ---------------------------------------------------------------------- */

/* Where a line of a cache may lie follows from its place in its page (of 64
 * lines, a bit each): in the first cache always, in the second because pages lie
 * anywhere.  So rows a multiple of a page apart share few of the sets. */
enum { PAGE = 4096, PAGE_LINES = 64, PAGE_LINE = PAGE / PAGE_LINES };

/* The hardware brings ahead what it sees to be a row, of so many rows in turn.
 * What is read of more of them, so little of each, waits for each line. */
enum { STREAMS = 32, SHORT_ROW = 256, WAITING = 3 };

/* Pages whose addresses are known at once: of more of them, what is in the second
 * cache is found no sooner than what is in the last. */
enum { PAGES = 1536 };

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

static bool is_waiting(const StageNow *w, const PlanAccess *a)
{
	double rows = 1;
	int64_t row = a->bytes;
	uint32_t loops = access_now(w, a)->moves;
	while (loops && rows <= STREAMS) {
		int d = last_loop(&loops);
		int64_t step = access_now(w, a)->step[d] * a->bytes;
		if (step > row + SHORT_ROW)
			rows *= (double)w->extent[d];
		else
			row += (w->extent[d] - 1) * step;
	}
	return !a->write && rows > STREAMS && row <= SHORT_ROW;
}

/* Bytes that an access, with those like it, touches over loops d.. */
typedef struct {
	const PlanAccess *access;
	bool waiting;
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

static void add_region(const StageNow *w, const PlanAccess *a, Footprint *f)
{
	Region *r = &f->at[f->n++];
	uint64_t lines = a->by_data ? ~(uint64_t)0 : 1;
	double pages = 1, share = 1;
	r->access = a;
	r->waiting = is_waiting(w, a);
	count_region(w, a, r->bytes);
	share = ~lines ? PAGE_LINES : 1;
	for (int d = w->stage->nloops; d >= 0; d--) {
		if (d < w->stage->nloops && access_moves_now(w, a, d)) {
			int64_t step = access_now(w, a)->step[d] * a->bytes;
			int64_t n = w->extent[d];
			if (step && ~lines)
				lines = repeated(lines, step, n);
			if (~lines)
				share = (double)PAGE_LINES /
				    __builtin_popcountll(lines);
			else
				share = 1;
			if (step >= PAGE)
				pages *= (double)n;
			else
				pages += (double)((n - 1) * step) *
				    (1.0 / PAGE) * pages;
		}
		f->touched[d] += r->bytes[d];
		f->taken[d] += r->bytes[d] * share;
		f->pages[d] += pages;
	}
}

/* What is touched inside of the loop at which that fits, loop d - 1, comes each
 * time its body starts, or is there: from the run before if all that the program
 * reads and writes fits, from a stage before this one in the same iteration, from
 * the last iteration if it stays and the loop does not move it, or moves it by
 * less than it is long.  What is waited for counts WAITING times but for the
 * first. */
static double fits_traffic(const StageNow *w, const StageCost *c,
    const Footprint *f, const double *taken, bool stays, double size)
{
	const PlanStage *s = w->stage;
	int d = 0;
	double sum = 0, waiting = 0;
	while (d < s->nloops && taken[d] > size)
		d++;
	if (!d && (double)s->program_bytes <= size)
		return 0;
	double often = c->trips[d], once = d ? c->trips[d - 1] : often;
	for (int i = 0; i < f->n; i++) {
		const Region *r = &f->at[i];
		int after = r->access->after;
		bool moved = !d || access_moves_now(w, r->access, d - 1);
		double bytes = r->bytes[d] * (moved || !stays ? often : once);
		if (after && taken[after] <= size)
			continue;
		if (d && moved)
			bytes = min2(bytes, r->bytes[d - 1] * once);
		sum += bytes;
		if (r->waiting && stays)
			waiting += bytes - (moved ? r->bytes[0] : 0);
	}
	return sum + (WAITING - 1) * max2(waiting, 0);
}

/* The first cache is too small for much to stay beside what streams past it, and
 * the second near enough not to be waited for; the last has a place for each line
 * anywhere. */
void count_traffic(const StageNow *w, StageCost *c)
{
	const PlanStage *s = w->stage;
	const Machine *m = w->machine;
	Footprint f;
	f.n = 0;
	for (int d = 0; d <= s->nloops; d++)
		f.touched[d] = f.taken[d] = f.pages[d] = 0;
	for (int i = 0; i < s->naccesses; i++)
		if (is_region(s, i))
			add_region(w, &s->accesses[i], &f);
	memcpy(c->touched, f.touched,
	    sizeof *f.touched * (size_t)(s->nloops + 1));
	c->traffic[0] = fits_traffic(
	    w, c, &f, f.taken, false, (double)m->l1_bytes * 0.75);
	for (int d = 0; d <= s->nloops; d++)
		f.taken[d] = max2(f.taken[d],
		    f.pages[d] / PAGES * (double)m->l2_bytes);
	c->traffic[1] = fits_traffic(
	    w, c, &f, f.taken, true, (double)m->l2_bytes * 0.75);
	c->traffic[2] = fits_traffic(
	    w, c, &f, f.touched, true, (double)m->l3_bytes * 0.75);
}
