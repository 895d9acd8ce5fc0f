/* Ranges of index temporaries: what each never leaves, from the extents of
 * loops, constants and what is done to them.
 *
 *     for i < 4                    i: 0 .. 3
 *       at = mul i, 8              at: 0 .. 24
 *       row = floordiv at, 3       row: 0 .. 8
 *
 * One walk, in the order of the text.  A temporary that is assigned more than
 * once has no range; nor has what 64 bits may not hold.  A loop's limit makes
 * ranges no smaller: a body that never runs has no values. */
#include "ir/lowered/lowered.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/wide.h"

typedef struct {
	const LowFunction *f;
	LowRange *ranges; /* by temporary */
	int *assigned;    /* how often, in the text */
} RangeWalk;

static const LowRange unknown = {0};

static LowRange range(Wide least, Wide most)
{
	assert(least <= most);
	if (!wide_fits(least) || !wide_fits(most))
		return unknown;
	return (LowRange){true, (int64_t)least, (int64_t)most};
}

static LowRange both(LowRange a, LowRange b)
{
	if (!a.known || !b.known)
		return unknown;
	return range(wide_min(a.least, b.least), wide_max(a.most, b.most));
}

/* --- operations ------------------------------------------------------------ */

static Wide floordiv(Wide a, Wide b)
{
	return wide_floordiv(a, b);
}

static Wide times(Wide a, Wide b)
{
	return a * b;
}

/* Of a function that is monotone in each argument: at the corners. */
static LowRange corners(LowRange a, LowRange b, Wide (*f)(Wide, Wide))
{
	Wide at[] = {f(a.least, b.least), f(a.least, b.most),
	    f(a.most, b.least), f(a.most, b.most)};
	Wide least = at[0], most = at[0];
	for (int i = 1; i < 4; i++) {
		least = wide_min(least, at[i]);
		most = wide_max(most, at[i]);
	}
	return range(least, most);
}

/* What is divided by is 1 at least, or the operation an error. */
static LowRange divisor(LowRange b)
{
	if (b.most < 1)
		return unknown;
	return (LowRange){true, b.least < 1 ? 1 : b.least, b.most};
}

static LowRange quotient(LowRange a, LowRange b)
{
	b = divisor(b);
	return b.known ? corners(a, b, floordiv) : unknown;
}

static LowRange modulus(LowRange a, LowRange b)
{
	b = divisor(b);
	if (!b.known)
		return unknown;
	if (a.least < 0)
		return range(0, b.most - 1);
	if (a.most < b.least)
		return a;
	return range(0, wide_min(a.most, b.most - 1));
}

static LowRange absolute(LowRange a)
{
	Wide least = a.least, most = a.most;
	if (least >= 0)
		return a;
	if (most <= 0)
		return range(-most, -least);
	return range(0, wide_max(-least, most));
}

static LowRange of_two(LowOpcode op, LowRange a, LowRange b)
{
	if (!a.known || !b.known)
		return unknown;
	switch (op) {
	case LOW_ADD:
		return range((Wide)a.least + b.least, (Wide)a.most + b.most);
	case LOW_SUB:
		return range((Wide)a.least - b.most, (Wide)a.most - b.least);
	case LOW_MUL: return corners(a, b, times);
	case LOW_XOR:
		return a.least < 0 || b.least < 0
		    ? unknown : range(0, (Wide)a.most + b.most);
	case LOW_FLOORDIV: return quotient(a, b);
	case LOW_MIN:
		return range(wide_min(a.least, b.least),
		    wide_min(a.most, b.most));
	case LOW_MAX:
		return range(wide_max(a.least, b.least),
		    wide_max(a.most, b.most));
	default: return unknown;
	}
}

/* With a range on one side only. */
static LowRange of_one(LowOpcode op, LowRange a, LowRange b)
{
	if (op == LOW_MOD && b.known && divisor(b).known)
		return a.known ? modulus(a, b) : range(0, b.most - 1);
	return of_two(op, a, b);
}

/* As an index; of u64 it would not be one of 64 bits. */
static LowRange of_type(DType type)
{
	Interval all = dtype_interval(type);
	bool whole = type == DT_BOOL || dtype_is_int(type);
	return whole && dtype_bytes(type) < 8 ? range(all.lo, all.hi) : unknown;
}

static LowRange converted(const RangeWalk *w, int from)
{
	DType type = w->f->temps.at[from].type;
	return type == DT_INDEX ? w->ranges[from] : of_type(type);
}

static LowRange of_op(const RangeWalk *w, const LowNode *n)
{
	LowRange x[3] = {unknown, unknown, unknown};
	for (int i = 0; i < 3; i++)
		if (n->arg[i] >= 0)
			x[i] = w->ranges[n->arg[i]];
	switch (n->op) {
	case LOW_CONST: return range(n->i, n->i);
	case LOW_COPY:
	case LOW_PERMUTE:
	case LOW_BROADCAST:
	case LOW_EXTRACT: return x[0];
	case LOW_INSERT: return both(x[0], x[1]);
	case LOW_SHUFFLE: return n->arg[1] < 0 ? x[0] : both(x[0], x[1]);
	case LOW_SELECT: return both(x[1], x[2]);
	case LOW_CONVERT: return converted(w, n->arg[0]);
	case LOW_NEG:
		return x[0].known ? range(-(Wide)x[0].most, -(Wide)x[0].least)
				  : unknown;
	case LOW_ABS: return x[0].known ? absolute(x[0]) : unknown;
	case LOW_IOTA:
		return x[0].known ? range(x[0].least, (Wide)x[0].most +
					    w->f->temps.at[n->dst].lanes - 1)
				  : unknown;
	default: return of_one(n->op, x[0], x[1]);
	}
}

/* --- the text -------------------------------------------------------------- */

static void walk_body(RangeWalk *w, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		bool op = n->kind == LOWNODE_OP;
		if (op && n->dst >= 0 && w->assigned[n->dst] == 1 &&
		    w->f->temps.at[n->dst].type == DT_INDEX)
			w->ranges[n->dst] = of_op(w, n);
		if (n->kind == LOWNODE_LOOP)
			w->ranges[n->var] = range(
			    0, n->extent > 0 ? n->extent - 1 : 0);
		walk_body(w, &n->body);
		walk_body(w, &n->other);
	}
}

static void count_body(RangeWalk *w, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && n->dst >= 0)
			w->assigned[n->dst]++;
		count_body(w, &n->body);
		count_body(w, &n->other);
	}
}

static void derive(const LowFunction *f, LowRange *ranges)
{
	size_t n = (size_t)f->temps.n;
	RangeWalk w = {f, ranges, must_alloc((n + 1) * sizeof *w.assigned)};
	for (size_t i = 0; i < n; i++) {
		w.ranges[i] = unknown;
		w.assigned[i] = 0;
	}
	count_body(&w, &f->body);
	walk_body(&w, &f->body);
	free(w.assigned);
}

void low_ranges(LowFunction *f)
{
	LowRange *ranges =
	    must_alloc(((size_t)f->temps.n + 1) * sizeof *ranges);
	derive(f, ranges);
	for (int i = 0; i < f->temps.n; i++)
		f->temps.at[i].range = ranges[i];
	free(ranges);
}

const LowRange *low_ranges_of(Arena *arena, const LowFunction *f)
{
	LowRange *ranges = NEW_N(arena, LowRange, f->temps.n + 1);
	derive(f, ranges);
	return ranges;
}

int low_ranges_wrong(const LowFunction *f)
{
	int wrong = -1;
	LowRange *ranges =
	    must_alloc(((size_t)f->temps.n + 1) * sizeof *ranges);
	derive(f, ranges);
	for (int i = 0; i < f->temps.n && wrong < 0; i++) {
		LowRange said = f->temps.at[i].range, is = ranges[i];
		if (said.known && (!is.known || is.least < said.least ||
				      is.most > said.most))
			wrong = i;
	}
	free(ranges);
	return wrong;
}

/* --- what emitters ask ------------------------------------------------------ */

/* One to spare on either side, for a loop's end and what is negated. */
static bool fits_32(Wide least, Wide most)
{
	return least > INT32_MIN && most < INT32_MAX;
}

bool low_temp_is_narrow(const LowFunction *f, int temp)
{
	LowRange r = f->temps.at[temp].range;
	return f->temps.at[temp].type == DT_INDEX && r.known &&
	    fits_32(r.least, r.most);
}

static Wide magnitude(Wide x)
{
	return x < 0 ? -x : x;
}

bool low_affine_is_narrow(const LowFunction *f, LowAffine a, int64_t scale)
{
	Wide most = magnitude(a.constant);
	for (int i = 0; i < a.n; i++) {
		const LowTerm *t = &a.terms[i];
		LowRange r = f->temps.at[t->temp].range;
		if (!low_temp_is_narrow(f, t->temp) ||
		    magnitude(t->coefficient) > INT32_MAX)
			return false;
		most += magnitude(t->coefficient) *
		    wide_max(magnitude(r.least), magnitude(r.most));
	}
	return fits_32(-most * scale, most * scale);
}
