/* An index over one axis that moves through an interval, all others standing
 * still: value at the interval's begin, and what each step adds.
 *
 *     min(i + 1, 8)   i in 0..7: 1, 1      i in 8..20: 8, 0      i in 0..20: none
 *
 * Where an interval is none, a half of it may be; one point always is.  So what
 * holds at every point of some axes is found without going to each. */
#include "ir/spec/spec.h"

#include <assert.h>

typedef struct {
	int axis;	     /* -1: none moves */
	int64_t first, last; /* both included */
	int64_t *point;	     /* by axis: where the others stand */
} LineWalk;

typedef struct {
	Wide begin, step;
} Line;

/* A tenth of a second. */
enum { VISITS_MAX = 1 << 20 };

static bool line_of(const LineWalk *walk, const Expr *e, Line *out);

static Line fixed(Wide value)
{
	return (Line){value, 0};
}

static Wide line_end(const LineWalk *walk, Line a)
{
	return a.begin + a.step * (walk->last - walk->first);
}

/* Is it at most 0 everywhere (-1), at least 0 everywhere (1), or does it change
 * (0)?  What is 0 everywhere is at most 0. */
static int side(const LineWalk *walk, Line a)
{
	Wide begin = a.begin, end = line_end(walk, a);
	return begin <= 0 && end <= 0 ? -1 : begin >= 0 && end >= 0 ? 1 : 0;
}

static Line minus(Line a, Line b)
{
	return (Line){a.begin - b.begin, a.step - b.step};
}

static bool line_greatest(const LineWalk *walk, Line a, Line b, Line *out)
{
	int s = side(walk, minus(a, b));
	*out = s < 0 ? b : a;
	return s != 0;
}

static bool line_least(const LineWalk *walk, Line a, Line b, Line *out)
{
	int s = side(walk, minus(a, b));
	*out = s < 0 ? a : b;
	return s != 0;
}

static bool line_quotient(
    const LineWalk *walk, Op op, Line a, Wide c, Line *out)
{
	Wide q = wide_floordiv(a.begin, c);
	bool steps = a.step % c == 0;
	if (!steps && q != wide_floordiv(line_end(walk, a), c))
		return false;
	if (op == OP_FLOORDIV)
		*out = (Line){q, steps ? a.step / c : 0};
	else
		*out = (Line){a.begin - q * c, steps ? 0 : a.step};
	return true;
}

bool compare_zero(Op op, Wide lo, Wide hi, bool *truth)
{
	bool never, always;
	switch (op) {
	case OP_LT: always = hi < 0, never = lo >= 0; break;
	case OP_LE: always = hi <= 0, never = lo > 0; break;
	case OP_GT: always = lo > 0, never = hi <= 0; break;
	case OP_GE: always = lo >= 0, never = hi < 0; break;
	case OP_EQ: always = !lo && !hi, never = lo > 0 || hi < 0; break;
	default: always = lo > 0 || hi < 0, never = !lo && !hi;
	}
	*truth = always;
	return always || never;
}

static bool line_compare(const LineWalk *walk, Op op, Line d, bool *truth)
{
	Wide begin = d.begin, end = line_end(walk, d);
	return compare_zero(
	    op, wide_min(begin, end), wide_max(begin, end), truth);
}

static bool line_truth(const LineWalk *walk, const Expr *e, bool *truth)
{
	Line a, b;
	switch (e->op) {
	case OP_INT:
		*truth = e->i != 0;
		return true;
	case OP_NOT:
		if (!line_truth(walk, e->arg[0], truth))
			return false;
		*truth = !*truth;
		return true;
	case OP_AND:
	case OP_OR:
		if (!line_truth(walk, e->arg[0], truth))
			return false;
		return *truth == (e->op == OP_OR) ||
		    line_truth(walk, e->arg[1], truth);
	default:
		return line_of(walk, e->arg[0], &a) &&
		    line_of(walk, e->arg[1], &b) &&
		    line_compare(walk, e->op, minus(a, b), truth);
	}
}

static bool line_call(const LineWalk *walk, const Expr *e, Line *out)
{
	Line x[3];
	for (int i = 0; i < e->narg; i++)
		if (!line_of(walk, e->arg[i], &x[i]))
			return false;
	switch (e->op) {
	case OP_MIN:
		return line_least(walk, x[0], x[1], out);
	case OP_MAX:
		return line_greatest(walk, x[0], x[1], out);
	case OP_CLAMP:
		return line_greatest(walk, x[0], x[1], out) &&
		    line_least(walk, *out, x[2], out);
	default:
		assert(e->op == OP_ABS);
		return line_greatest(walk, x[0], minus(fixed(0), x[0]), out);
	}
}

static bool line_binary(const LineWalk *walk, const Expr *e, Line *out)
{
	Line a, b;
	if (!line_of(walk, e->arg[0], &a) || !line_of(walk, e->arg[1], &b))
		return false;
	switch (e->op) {
	case OP_ADD:
		*out = (Line){a.begin + b.begin, a.step + b.step};
		return true;
	case OP_SUB:
		*out = minus(a, b);
		return true;
	case OP_MUL:
		*out = (Line){a.begin * b.begin,
		    a.step ? a.step * b.begin : a.begin * b.step};
		return !a.step || !b.step;
	default:
		return line_quotient(walk, e->op, a, b.begin, out);
	}
}

static bool line_of(const LineWalk *walk, const Expr *e, Line *out)
{
	bool truth;
	switch (e->op) {
	case OP_INT:
		*out = fixed(e->i);
		return true;
	case OP_AXIS:
		*out = e->id != walk->axis ? fixed(walk->point[e->id])
		    : (Line){walk->first, walk->first < walk->last};
		return true;
	case OP_NEG:
		if (!line_of(walk, e->arg[0], out))
			return false;
		*out = minus(fixed(0), *out);
		return true;
	case OP_IF:
		return line_truth(walk, e->arg[0], &truth) &&
		    line_of(walk, e->arg[truth ? 1 : 2], out);
	case OP_MIN:
	case OP_MAX:
	case OP_CLAMP:
	case OP_ABS:
		return line_call(walk, e, out);
	default:
		return line_binary(walk, e, out);
	}
}

/* --- all points of axes ------------------------------------------------------ */

typedef struct {
	const Expr *index;
	const Axis *axes;
	const AxisSet *moves;
	LineWalk walk;
	Wide most, found;
	int visits;
	int64_t *left;
} Most;

/* Is the greatest known, or may no more be looked at? */
static bool look_at(Most *m, int64_t first, int64_t last)
{
	LineWalk *walk = &m->walk;
	Line line;
	walk->first = first;
	walk->last = last;
	if (walk->axis >= 0)
		walk->point[walk->axis] = first;
	if (++m->visits > VISITS_MAX || --*m->left < 0) {
		m->found = m->most;
		return true;
	}
	if (!line_of(walk, m->index, &line)) {
		int64_t middle = first + (last - first) / 2;
		return look_at(m, first, middle) ||
		    look_at(m, middle + 1, last);
	}
	m->found =
	    wide_max(m->found, wide_max(line.begin, line_end(walk, line)));
	return m->found >= m->most;
}

/* All points of the axes from number `at` on, by intervals of the longest of
 * them: those of the others are gone through one by one. */
static bool look_from(Most *m, int at)
{
	int longest = m->walk.axis;
	if (at == m->moves->n)
		return look_at(
		    m, 0, longest < 0 ? 0 : m->axes[longest].extent - 1);
	int axis = m->moves->axis[at];
	if (axis == longest)
		return look_from(m, at + 1);
	for (int64_t i = 0; i < m->axes[axis].extent; i++) {
		m->walk.point[axis] = i;
		if (look_from(m, at + 1))
			return true;
	}
	return false;
}

Wide line_most(Summaries *seen, const Expr *index, const Axis *axes,
    int64_t *point, Wide most, int64_t *left)
{
	const AxisSet *moves = summary_of(seen, index)->axes;
	Most m = {.index = index,
	    .axes = axes,
	    .moves = moves,
	    .walk = {.axis = -1, .point = point},
	    .most = most,
	    .found = INT64_MIN,
	    .left = left};
	for (int i = 0; i < moves->n; i++)
		if (m.walk.axis < 0 ||
		    axes[moves->axis[i]].extent > axes[m.walk.axis].extent)
			m.walk.axis = moves->axis[i];
	look_from(&m, 0);
	return m.found;
}
