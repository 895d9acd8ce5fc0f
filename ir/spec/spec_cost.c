/* Costs below extents that vary, summed exactly without going to each point.
 *
 *     sum[j < i + 1, k < j + 1](x[k])      j + 1 additions for each j, so
 *                                          (i + 1)*(i + 2)/2 for each i
 *
 * What a point costs is a polynomial of an axis over an interval where each
 * extent below it is a plane there: a constant and a multiple of each axis that
 * moves, not below 0.  Its degree is at most the number of those extents, in
 * each other, so that as many points and one more give the sum of all (Newton's
 * forward differences).  Extents with quotients and remainders are planes in
 * steps of the divisor.  An interval where they are none is halved; one point is
 * always left.
 *
 * Sums are kept: by the end of the axis, and by the other axes that a point's
 * cost depends on.  The next one begins where the last one ended, so that an
 * extent of whatever form takes a step for each of its points, in a nest of such
 * extents too. */
#include "ir/spec/spec.h"

#include "lib/hash.h"

enum {
	MOVES_MAX = 8,	   /* axes that move together */
	FEW = 3,	   /* points that are gone to */
	KEPT_MAX = 1 << 17 /* sums that are kept for a definition */
};

/* An index over axes that move. */
typedef struct {
	Wide at; /* where all of them are 0 */
	Wide step[MOVES_MAX];
} Plane;

/* Axes that move: axis[0] is first + step*t for t below n; each other one stays
 * below its end, a plane of those before it. */
typedef struct {
	int naxes, axis[MOVES_MAX];
	int64_t first, step, n;
	Plane end[MOVES_MAX];
} MovingAxes;

typedef struct Kept Kept;
struct Kept {
	Kept *next; /* in its bucket */
	uint64_t hash;
	const CostPart *part;
	int64_t end; /* -1: the sum that was last asked for, below `below` */
	int64_t below;
	Wide sum;
	int64_t others[]; /* where the other axes stood */
};

typedef struct {
	Arena *arena;
	int64_t *at;   /* by axis: where it stands */
	int64_t *left; /* steps */
	bool huge;     /* past 64 bits */
	Kept **kept;   /* buckets */
	int nbuckets, nkept;
} StepSums;

static bool ended(const StepSums *s)
{
	return s->huge || *s->left <= 0;
}

/* --- planes ------------------------------------------------------------------ */

static const Wide plane_most = INTERVAL_LIMIT >> 2;

/* a + scale*b */
static Plane plane_add(const MovingAxes *m, Plane a, const Plane *b, Wide scale)
{
	a.at += interval_product(b->at, scale);
	for (int i = 0; i < m->naxes; i++)
		a.step[i] += interval_product(b->step[i], scale);
	return a;
}

static Plane plane_of_number(Wide number)
{
	return (Plane){.at = number};
}

/* Not above any of its values: each axis but the first at one of its ends, from
 * the innermost outwards. */
static Wide plane_least(const MovingAxes *m, const Plane *of)
{
	Plane a = *of;
	for (int i = m->naxes - 1; i > 0; i--) {
		Wide step = a.step[i];
		a.step[i] = 0;
		if (step >= 0)
			continue;
		a = plane_add(m, a, &m->end[i], step);
		a.at -= step;
		if (a.at <= -plane_most || a.at >= plane_most)
			return -INTERVAL_LIMIT;
	}
	if (m->naxes && a.step[0] < 0)
		a.at += interval_product(a.step[0], m->n - 1);
	return interval_limited(a.at);
}

static Wide plane_greatest(const MovingAxes *m, const Plane *of)
{
	Plane a = plane_add(m, (Plane){0}, of, -1);
	return -plane_least(m, &a);
}

static bool plane_is_fixed(const MovingAxes *m, const Plane *a)
{
	for (int i = 0; i < m->naxes; i++)
		if (a->step[i])
			return false;
	return true;
}

static bool plane_of(
    StepSums *s, const MovingAxes *m, const Expr *e, Plane *out);

/* The greater (sign 1) or the lesser (-1), which is the same one everywhere. */
static bool plane_pick(
    const MovingAxes *m, const Plane *a, const Plane *b, int sign, Plane *out)
{
	Plane d = plane_add(m, (Plane){0}, a, sign);
	d = plane_add(m, d, b, -sign);
	bool first = plane_least(m, &d) >= 0;
	*out = first ? *a : *b;
	return first || plane_greatest(m, &d) <= 0;
}

static bool plane_call(
    StepSums *s, const MovingAxes *m, const Expr *e, Plane *out)
{
	Plane x[3], negative;
	for (int i = 0; i < e->narg; i++)
		if (!plane_of(s, m, e->arg[i], &x[i]))
			return false;
	switch (e->op) {
	case OP_MIN: return plane_pick(m, &x[0], &x[1], -1, out);
	case OP_MAX: return plane_pick(m, &x[0], &x[1], 1, out);
	case OP_CLAMP:
		return plane_pick(m, &x[0], &x[1], 1, &x[0]) &&
		    plane_pick(m, &x[0], &x[2], -1, out);
	default: /* OP_ABS */
		negative = plane_add(m, (Plane){0}, &x[0], -1);
		return plane_pick(m, &x[0], &negative, 1, out);
	}
}

static bool steps_divide(const MovingAxes *m, const Plane *a, Wide by)
{
	for (int i = 0; i < m->naxes; i++)
		if (a->step[i] % by)
			return false;
	return true;
}

static bool plane_quotient(
    const MovingAxes *m, Op op, const Plane *a, Wide by, Plane *out)
{
	Wide q = wide_floordiv(a->at, by);
	*out = *a;
	if (steps_divide(m, a, by)) {
		out->at = op == OP_MOD ? a->at - q * by : q;
		for (int i = 0; i < m->naxes; i++)
			out->step[i] = op == OP_MOD ? 0 : a->step[i] / by;
		return true;
	}
	q = wide_floordiv(plane_least(m, a), by);
	if (q != wide_floordiv(plane_greatest(m, a), by))
		return false;
	if (op == OP_MOD)
		out->at -= q * by;
	else
		*out = plane_of_number(q);
	return true;
}

static bool plane_binary(
    StepSums *s, const MovingAxes *m, const Expr *e, Plane *out)
{
	Plane a, b;
	if (!plane_of(s, m, e->arg[0], &a) || !plane_of(s, m, e->arg[1], &b))
		return false;
	switch (e->op) {
	case OP_ADD:
	case OP_SUB:
		*out = plane_add(m, a, &b, e->op == OP_ADD ? 1 : -1);
		return true;
	case OP_MUL:
		if (!plane_is_fixed(m, &a) && !plane_is_fixed(m, &b))
			return false;
		*out = plane_is_fixed(m, &b)
		    ? plane_add(m, (Plane){0}, &a, b.at)
		    : plane_add(m, (Plane){0}, &b, a.at);
		return true;
	default: /* OP_FLOORDIV, OP_MOD */
		return plane_quotient(m, e->op, &a, b.at, out);
	}
}

/* Is d `op` 0 everywhere, or nowhere? */
static bool plane_compare(
    const MovingAxes *m, Op op, const Plane *d, bool *truth)
{
	return compare_zero(
	    op, plane_least(m, d), plane_greatest(m, d), truth);
}

static bool plane_truth(
    StepSums *s, const MovingAxes *m, const Expr *e, bool *truth)
{
	Plane a, b;
	switch (e->op) {
	case OP_INT: *truth = e->i != 0; return true;
	case OP_NOT:
		if (!plane_truth(s, m, e->arg[0], truth))
			return false;
		*truth = !*truth;
		return true;
	case OP_AND:
	case OP_OR:
		if (!plane_truth(s, m, e->arg[0], truth))
			return false;
		return *truth == (e->op == OP_OR) ||
		    plane_truth(s, m, e->arg[1], truth);
	default:
		if (!plane_of(s, m, e->arg[0], &a) ||
		    !plane_of(s, m, e->arg[1], &b))
			return false;
		a = plane_add(m, a, &b, -1);
		return plane_compare(m, e->op, &a, truth);
	}
}

static Plane plane_of_axis(const StepSums *s, const MovingAxes *m, int axis)
{
	Plane a = {.at = s->at[axis]};
	for (int i = 0; i < m->naxes; i++)
		if (m->axis[i] == axis) {
			a.at = i ? 0 : m->first;
			a.step[i] = i ? 1 : m->step;
		}
	return a;
}

/* False where it is none over all that the axes take. */
static bool plane_of(
    StepSums *s, const MovingAxes *m, const Expr *e, Plane *out)
{
	bool truth;
	--*s->left;
	switch (e->op) {
	case OP_INT: *out = plane_of_number(e->i); return true;
	case OP_AXIS: *out = plane_of_axis(s, m, e->id); return true;
	case OP_NEG:
		if (!plane_of(s, m, e->arg[0], out))
			return false;
		*out = plane_add(m, (Plane){0}, out, -1);
		return true;
	case OP_IF:
		return plane_truth(s, m, e->arg[0], &truth) &&
		    plane_of(s, m, e->arg[truth ? 1 : 2], out);
	case OP_MIN:
	case OP_MAX:
	case OP_CLAMP:
	case OP_ABS: return plane_call(s, m, e, out);
	default: return plane_binary(s, m, e, out);
	}
}

static bool end_of(
    StepSums *s, const MovingAxes *m, const CostPart *p, Plane *out)
{
	*out = plane_of_number(p->extent);
	return !p->limit || plane_of(s, m, p->limit, out);
}

/* --- degrees ----------------------------------------------------------------- */

static Wide value_of(StepSums *s, const Cost *cost);
static int degree_of(StepSums *s, MovingAxes *m, const Cost *cost);

static bool any_moves(const MovingAxes *m, const CostPart *p)
{
	for (int i = 0; i < p->needs.n; i++)
		for (int k = 0; k < m->naxes; k++)
			if (p->needs.at[i] == m->axis[k])
				return true;
	return false;
}

/* Of a sum along an axis that joins those that move. */
static int degree_of_sum(StepSums *s, MovingAxes *m, const CostPart *p)
{
	Plane end;
	if (m->naxes == MOVES_MAX || !end_of(s, m, p, &end))
		return -1;
	if (plane_greatest(m, &end) <= 0)
		return 0;
	if (plane_least(m, &end) < 0)
		return -1;
	m->axis[m->naxes] = p->axis;
	m->end[m->naxes++] = end;
	int degree = degree_of(s, m, &p->cost[0]);
	m->naxes--;
	return degree < 0 ? -1 : degree + 1;
}

/* By how much the first arm is dearer where the axis that moves is at its
 * number t. */
static Wide dearer_at(
    StepSums *s, const MovingAxes *m, const CostPart *p, int64_t t)
{
	int64_t *at = &s->at[m->axis[0]], before = *at;
	*at = m->first + m->step * t;
	Wide d = value_of(s, &p->cost[0]) - value_of(s, &p->cost[1]);
	*at = before;
	return d;
}

static bool never_dearer(const Cost *a, const Cost *b)
{
	return !a->parts && a->fixed <= b->fixed;
}

/* Of the dearer arm: the same one everywhere. */
static int degree_of_dearer(StepSums *s, MovingAxes *m, const CostPart *p)
{
	const Cost *a = &p->cost[0], *b = &p->cost[1];
	if (never_dearer(a, b))
		return degree_of(s, m, b);
	if (never_dearer(b, a))
		return degree_of(s, m, a);
	int da = degree_of(s, m, a), db = degree_of(s, m, b);
	if (da <= 0 && db <= 0)
		return da < db ? da : db;
	if (m->naxes > 1 || da < 0 || db < 0 || da > 1 || db > 1)
		return -1;
	Wide first = dearer_at(s, m, p, 0), last = dearer_at(s, m, p, m->n - 1);
	return (first <= 0 && last <= 0) || (first >= 0 && last >= 0) ? 1 : -1;
}

/* Of a cost as a polynomial of the axes that move; -1: it may be none. */
static int degree_of(StepSums *s, MovingAxes *m, const Cost *cost)
{
	int most = 0;
	for (const CostPart *p = cost->parts; p; p = p->next) {
		if (--*s->left <= 0)
			return -1;
		if (!any_moves(m, p))
			continue;
		int d = p->axis < 0 ? degree_of_dearer(s, m, p)
				    : degree_of_sum(s, m, p);
		if (d < 0)
			return -1;
		most = d > most ? d : most;
	}
	return most;
}

static int degree_along(
    StepSums *s, const CostPart *p, int64_t first, int64_t step, int64_t n)
{
	MovingAxes m = {.naxes = 1,
	    .axis = {p->axis},
	    .first = first,
	    .step = step,
	    .n = n};
	return degree_of(s, &m, &p->cost[0]);
}

/* --- sums -------------------------------------------------------------------- */

static Wide value_at(StepSums *s, const CostPart *p, int64_t place)
{
	s->at[p->axis] = place;
	return value_of(s, &p->cost[0]);
}

static Wide sum_of_few(
    StepSums *s, const CostPart *p, int64_t first, int64_t step, int64_t n)
{
	Wide sum = 0;
	for (int64_t i = 0; i < n && !ended(s); i++)
		sum += value_at(s, p, first + step * i);
	return sum;
}

/* Of a polynomial; false where numbers on the way are too large. */
static bool sum_of_polynomial(StepSums *s, const CostPart *p, int64_t first,
    int64_t step, int64_t n, int degree, Wide *sum)
{
	Wide difference[MOVES_MAX + 1], choose = n, product;
	for (int i = 0; i <= degree; i++)
		difference[i] = value_at(s, p, first + step * i);
	*sum = 0;
	for (int k = 0; k <= degree && !ended(s); k++) {
		/* choose is n over k + 1 */
		if (__builtin_mul_overflow(choose, difference[0], &product) ||
		    __builtin_add_overflow(*sum, product, sum) ||
		    __builtin_mul_overflow(choose, n - k - 1, &choose))
			return false;
		choose /= k + 2;
		for (int i = 0; i < degree - k; i++)
			difference[i] = difference[i + 1] - difference[i];
	}
	return true;
}

/* Over n points of a part's axis. */
static Wide sum_along(
    StepSums *s, const CostPart *p, int64_t first, int64_t step, int64_t n)
{
	int64_t period = p->cost[0].period, half = n / 2;
	Wide sum = 0;
	if (n <= FEW || ended(s))
		return sum_of_few(s, p, first, step, n);
	int degree = degree_along(s, p, first, step, n);
	if (degree >= n - 1)
		return sum_of_few(s, p, first, step, n);
	if (degree >= 0 &&
	    sum_of_polynomial(s, p, first, step, n, degree, &sum))
		return sum;
	if (degree >= 0 || step > 1 || period < 2 || n / FEW < period ||
	    degree_along(s, p, first, period, n / period) < 0)
		return sum_along(s, p, first, step, half) +
		    sum_along(s, p, first + step * half, step, n - half);
	for (int64_t i = 0; i < period; i++)
		sum += sum_along(
		    s, p, first + i, period, (n - i + period - 1) / period);
	return sum;
}

static void grow_kept(StepSums *s)
{
	Kept **old = s->kept;
	int n = s->nbuckets;
	s->nbuckets = n ? n * 2 : 16;
	s->kept = NEW_N(s->arena, Kept *, s->nbuckets);
	for (int i = 0; i < n; i++)
		for (Kept *k = old[i], *next; k; k = next) {
			Kept **to = &s->kept[k->hash % (unsigned)s->nbuckets];
			next = k->next;
			k->next = *to;
			*to = k;
		}
}

static bool is_kept(
    const StepSums *s, const Kept *k, const CostPart *p, int64_t end)
{
	bool same = k->part == p && k->end == end;
	for (int i = 0; i < p->others.n && same; i++)
		same = k->others[i] == s->at[p->others.at[i]];
	return same;
}

/* The sum that was kept, or room for it; NULL: there is none. */
static Kept *kept(StepSums *s, const CostPart *p, int64_t end)
{
	uint64_t hash = hash_mix((uint64_t)(uintptr_t)p + (uint64_t)end);
	int n = p->others.n;
	Kept *k;
	for (int i = 0; i < n; i++)
		hash = hash_mix(hash + (uint64_t)s->at[p->others.at[i]]);
	if (s->nkept >= s->nbuckets)
		grow_kept(s);
	Kept **bucket = &s->kept[hash % (unsigned)s->nbuckets];
	for (k = *bucket; k; k = k->next)
		if (is_kept(s, k, p, end))
			return k;
	if (s->nkept == KEPT_MAX)
		return NULL;
	s->nkept++;
	k = arena_alloc(s->arena, sizeof *k + sizeof(int64_t) * (size_t)n);
	*k = (Kept){
	    .next = *bucket, .hash = hash, .part = p, .end = end, .below = -1};
	for (int i = 0; i < n; i++)
		k->others[i] = s->at[p->others.at[i]];
	return *bucket = k;
}

/* Over the points of a part's axis below `end`. */
static Wide sum_below(StepSums *s, const CostPart *p, int64_t end)
{
	int64_t before = s->at[p->axis];
	Kept *here = kept(s, p, end), *last = kept(s, p, -1);
	int64_t from = last ? last->below : 0;
	Wide sum = last ? last->sum : 0;
	if (here && here->below >= 0)
		return here->sum;
	if (from < 0 || end < from / 2)
		from = 0, sum = 0;
	if (end >= from)
		sum += sum_along(s, p, from, 1, end - from);
	else
		sum -= sum_along(s, p, end, 1, from - end);
	s->at[p->axis] = before;
	if (here)
		here->below = end, here->sum = sum;
	if (last)
		last->below = end, last->sum = sum;
	return sum;
}

static const MovingAxes none;

static Wide value_of_part(StepSums *s, const CostPart *p)
{
	Plane end;
	if (p->axis < 0)
		return wide_max(
		    value_of(s, &p->cost[0]), value_of(s, &p->cost[1]));
	if (!end_of(s, &none, p, &end) || end.at <= 0)
		return 0;
	if (p->varies)
		return sum_below(s, p, (int64_t)end.at);
	return interval_product(end.at, value_of(s, &p->cost[0]));
}

/* Where all axes stand. */
static Wide value_of(StepSums *s, const Cost *cost)
{
	Wide sum = cost->fixed;
	for (const CostPart *p = cost->parts; p && !ended(s); p = p->next) {
		--*s->left;
		sum += value_of_part(s, p);
		s->huge |= sum > INT64_MAX;
	}
	s->huge |= sum > INT64_MAX;
	return s->huge ? 0 : sum;
}

bool cost_sum(
    Arena *arena, const Cost *cost, int naxes, int64_t *left, int64_t *sum)
{
	StepSums s = {.arena = arena, .left = left};
	if (cost->parts)
		s.at = NEW_N(arena, int64_t, naxes);
	Wide value = value_of(&s, cost);
	*sum = s.huge ? INT64_MAX : (int64_t)value;
	return s.huge || !cost->parts || *left > 0;
}
