/* Index algebra.
 *
 * An index is an affine form over temporaries, the lane number and loops that
 * have not been emitted yet; `//` and `%` are taken apart where divisibility
 * or ranges allow it,
 *
 *     (16*jo + ji) // 16  ->  jo        0 <= ji < 16
 *     (16*jo + ji) % 16   ->  ji
 *
 * and computed into a temporary of known range where they do not.  Conditions
 * are decided by ranges and by facts: forms known to be at least 0 where we
 * are (the limit of a loop, the condition of an `if`). */
#include "codegen/lower/lower_internal.h"
#include "lib/gcd.h"
#include "lib/hash.h"

#include <assert.h>
#include <limits.h>

enum { LANES_MAX = 64, TERMS_FEW = 64 };

/* --- ranges ------------------------------------------------------------- */

static int64_t saturated(Wide x)
{
	return (int64_t)wide_max(INT64_MIN, wide_min(INT64_MAX, x));
}

static int64_t sat_add(int64_t a, int64_t b)
{
	return saturated((Wide)a + b);
}

static int64_t sat_mul(int64_t a, int64_t b)
{
	return saturated((Wide)a * b);
}

static int64_t floor_div(int64_t a, int64_t b)
{
	return a / b - (a % b < 0);
}

static Interval symbol_range(const Lower *l, int symbol)
{
	if (symbol >= 0)
		return l->part->temps.at[symbol].range;
	if (symbol == SYMBOL_LANE)
		return (Interval){0, l->lanes - 1};
	int free = SYMBOL_FREE - symbol;
	if (free < l->nest->vars.n)
		return (Interval){0, loop_extent(l, free) - 1};
	assert(free - l->nest->vars.n < l->part->free_ranges.n);
	return l->part->free_ranges.at[free - l->nest->vars.n];
}

static Interval form_range(const Lower *l, LowAffine form)
{
	Interval sum = interval_of(form.constant);
	for (int i = 0; i < form.n; i++)
		sum = interval_add(sum,
		    interval_scale(symbol_range(l, form.terms[i].temp),
			form.terms[i].coefficient));
	return sum;
}

static Wide form_least(const Lower *l, LowAffine form)
{
	Wide sum = form.constant;
	for (int i = 0; i < form.n; i++) {
		LowTerm t = form.terms[i];
		Interval r = symbol_range(l, t.temp);
		sum += interval_product(
		    t.coefficient < 0 ? r.hi : r.lo, t.coefficient);
	}
	return sum;
}

/* Of what is not the same for all lanes. */
static Interval lanes_range(const Lower *l, const int64_t *offsets)
{
	Interval r = interval_of(offsets[0]);
	for (int i = 1; i < l->lanes; i++)
		r = interval_hull(r, interval_of(offsets[i]));
	return r;
}

Interval range_of(const Lower *l, Index x)
{
	Interval r = form_range(l, x.form);
	int64_t offsets[LANES_MAX];
	if (x.known && index_lanes_known(l, x, offsets)) {
		Interval lane = form_range(l,
		    (LowAffine){0, 1, &(LowTerm){SYMBOL_LANE, index_lane(x)}});
		Interval all = lanes_range(l, offsets);
		r.lo += all.lo - lane.lo;
		r.hi += all.hi - lane.hi;
		return r;
	}
	return x.vector >= 0 ? interval_add(r, x.range) : r;
}

/* --- forms -------------------------------------------------------------- */

Index index_const(int64_t value)
{
	return (Index){.form = {value, 0, NULL}, .vector = -1};
}

Index index_symbol(Lower *l, int symbol)
{
	LowTerm *term = NEW(l->arena, LowTerm);
	*term = (LowTerm){symbol, 1};
	return (Index){.form = {0, 1, term}, .vector = -1};
}

/* A value of which only the range is known. */
Index index_unknown(Lower *l, Interval range)
{
	int symbol = SYMBOL_FREE - l->nest->vars.n - l->part->free_ranges.n;
	vec_push(l->arena, &l->part->free_ranges, range);
	return index_symbol(l, symbol);
}

Index index_from_vector(int temp, Interval range)
{
	return (Index){.vector = temp, .range = range};
}

bool index_lanes_known(const Lower *l, Index x, int64_t *offsets)
{
	int64_t step = index_lane(x);
	if (x.vector >= 0 && !x.known)
		return false;
	assert(l->lanes <= LANES_MAX);
	for (int i = 0; i < l->lanes; i++)
		offsets[i] = sat_add(
		    sat_mul(step, i), x.vector >= 0 ? x.known[i] : 0);
	return true;
}

bool index_is_const(Index x, int64_t *value)
{
	*value = x.form.constant;
	return !x.form.n && x.vector < 0;
}

bool index_has_free(Index x)
{
	for (int i = 0; i < x.form.n; i++)
		if (x.form.terms[i].temp <= SYMBOL_FREE)
			return true;
	return false;
}

static int64_t form_coefficient(LowAffine form, int symbol)
{
	for (int i = 0; i < form.n; i++)
		if (form.terms[i].temp == symbol)
			return form.terms[i].coefficient;
	return 0;
}

static int64_t coefficient_of(Index x, int symbol)
{
	return form_coefficient(x.form, symbol);
}

int64_t index_coefficient(Index x, int symbol)
{
	return coefficient_of(x, symbol);
}

int64_t index_lane(Index x)
{
	return coefficient_of(x, SYMBOL_LANE);
}

bool index_has_lanes(Index x)
{
	return x.vector >= 0 || index_lane(x);
}

Index index_without(Lower *l, Index x, int symbol)
{
	LowTerm *terms = NEW_N(l->arena, LowTerm, x.form.n);
	int n = 0;
	for (int i = 0; i < x.form.n; i++)
		if (x.form.terms[i].temp != symbol)
			terms[n++] = x.form.terms[i];
	x.form.terms = terms;
	x.form.n = n;
	return x;
}

static int vector_op(Lower *l, LowOpcode op, int a, int b)
{
	return emit_op(l, op, DT_INDEX, l->lanes, a, b, -1, "iv");
}

Index index_scale(Lower *l, Index a, int64_t factor)
{
	Index x = index_const(0);
	if (factor == 1)
		return a;
	x.form = low_affine_add(l->arena, x.form, a.form, factor);
	if (a.vector < 0 || !factor)
		return x;
	x.vector = vector_op(l, LOW_MUL, a.vector,
	    const_int(l, DT_INDEX, l->lanes, factor));
	if (a.known) {
		int64_t *known = NEW_N(l->arena, int64_t, l->lanes);
		for (int i = 0; i < l->lanes; i++)
			known[i] = sat_mul(a.known[i], factor);
		x.known = known;
	}
	x.range = interval_scale(a.range, factor);
	return x;
}

static const int64_t *known_sum(Lower *l, Index a, Index b)
{
	int64_t *known = NEW_N(l->arena, int64_t, l->lanes);
	for (int i = 0; i < l->lanes; i++)
		known[i] = sat_add(a.known[i], b.known[i]);
	return known;
}

/* The affine form of lanes that are evenly apart. */
static bool is_even(Lower *l, const int64_t *lanes, Index *affine)
{
	int64_t step = lanes[1] - lanes[0];
	for (int i = 2; i < l->lanes; i++)
		if (lanes[i] - lanes[i - 1] != step)
			return false;
	*affine = index_const(lanes[0]);
	if (step)
		*affine =
		    index_add(l, *affine, index_symbol(l, SYMBOL_LANE), step);
	return true;
}

Index index_add(Lower *l, Index a, Index b, int64_t scale)
{
	Index even;
	if (b.vector >= 0) {
		b = index_scale(l, b, scale);
		scale = 1;
	}
	Index sum = {.form = low_affine_add(l->arena, a.form, b.form, scale),
		.vector = a.vector, .range = a.range, .known = a.known};
	if (a.vector >= 0 && b.vector >= 0) {
		sum.known = a.known && b.known ? known_sum(l, a, b) : NULL;
		if (sum.known && is_even(l, sum.known, &even)) {
			sum = (Index){.form = sum.form, .vector = -1};
			return index_add(l, sum, even, 1);
		}
		sum.vector = vector_op(l, LOW_ADD, a.vector, b.vector);
		sum.range = interval_add(a.range, b.range);
	} else if (b.vector >= 0) {
		sum.vector = b.vector;
		sum.range = b.range;
		sum.known = b.known;
	}
	return sum;
}

Index index_extreme(Lower *l, Index x, bool greatest, bool lanes)
{
	Index out = index_const(0);
	Wide constant = x.form.constant;
	LowTerm *terms = NEW_N(l->arena, LowTerm, x.form.n);
	out.form.terms = terms;
	for (int i = 0; i < x.form.n; i++) {
		LowTerm t = x.form.terms[i];
		if (t.temp >= 0 || (t.temp == SYMBOL_LANE && !lanes)) {
			terms[out.form.n++] = t;
			continue;
		}
		Interval r = symbol_range(l, t.temp);
		Wide end = (t.coefficient > 0) == greatest ? r.hi : r.lo;
		constant += interval_product(t.coefficient, end);
	}
	if (x.vector >= 0) {
		if (lanes)
			constant += greatest ? x.range.hi : x.range.lo;
		else
			out.vector = x.vector, out.range = x.range,
			out.known = x.known;
	}
	out.form.constant = saturated(constant);
	return out;
}

/* --- temporaries -------------------------------------------------------- */

static int scalar_op(Lower *l, LowOpcode op, int a, int b, Interval range,
    const char *hint)
{
	int temp = emit_op(l, op, DT_INDEX, 1, a, b, -1, hint);
	l->part->temps.at[temp].range = range;
	return temp;
}

static int scaled_term(Lower *l, LowTerm t)
{
	if (t.coefficient == 1)
		return t.temp;
	Interval r = form_range(l, (LowAffine){0, 1, &t});
	return scalar_op(l, LOW_MUL, t.temp,
	    const_int(l, DT_INDEX, 1, t.coefficient), r, "i");
}

int index_scalar(Lower *l, Index x)
{
	assert(!index_has_lanes(x) && !index_has_free(x));
	if (!x.form.n)
		return const_int(l, DT_INDEX, 1, x.form.constant);
	int temp = -1;
	for (int i = 0; i < x.form.n; i++) {
		LowAffine sum = {0, i + 1, x.form.terms};
		int term = scaled_term(l, x.form.terms[i]);
		temp = temp < 0 ? term
				: scalar_op(l, LOW_ADD, temp, term,
				      form_range(l, sum), "i");
	}
	if (x.form.constant)
		temp = scalar_op(l, LOW_ADD, temp,
		    const_int(l, DT_INDEX, 1, x.form.constant),
		    range_of(l, x), "i");
	return temp;
}

/* x without its vector. */
static int lanes_of_form(Lower *l, Index x)
{
	assert(!index_has_free(x));
	int n = l->lanes, v = -1;
	int64_t value, lane = index_lane(x);
	Index base = index_without(l, x, SYMBOL_LANE);
	base.vector = -1;
	bool zero = index_is_const(base, &value) && !value;
	if (lane == 1)
		return emit_op(l, LOW_IOTA, DT_INDEX, n, index_scalar(l, base),
		    -1, -1, "iota");
	if (lane) {
		v = emit_op(l, LOW_IOTA, DT_INDEX, n,
		    const_int(l, DT_INDEX, 1, 0), -1, -1, "iota");
		v = vector_op(
		    l, LOW_MUL, v, const_int(l, DT_INDEX, n, lane));
		if (zero)
			return v;
	}
	int all = emit_op(l, LOW_BROADCAST, DT_INDEX, n, index_scalar(l, base),
	    -1, -1, "iv");
	return v < 0 ? all : vector_op(l, LOW_ADD, v, all);
}

int index_vector(Lower *l, Index x)
{
	int64_t value;
	if (x.vector < 0)
		return lanes_of_form(l, x);
	Index form = x;
	form.vector = -1;
	if (!index_lane(x) && index_is_const(form, &value) && !value)
		return x.vector;
	return vector_op(l, LOW_ADD, lanes_of_form(l, form), x.vector);
}

LowAffine index_address(Lower *l, Index x)
{
	(void)l;
	assert(!index_has_lanes(x) && !index_has_free(x));
	return x.form;
}

/* --- operations that are not affine ------------------------------------- */

static int64_t operated(LowOpcode op, int64_t a, int64_t b)
{
	switch (op) {
	case LOW_FLOORDIV: return floor_div(a, b);
	case LOW_MOD: return a - floor_div(a, b) * b;
	case LOW_MIN: return a < b ? a : b;
	case LOW_MAX: return a > b ? a : b;
	case LOW_XOR: return a ^ b;
	default: return sat_mul(a, b);
	}
}

/* The lanes of a value that is the same whatever runs. */
static bool fixed_lanes(const Lower *l, Index x, int64_t *lanes)
{
	if (x.form.n > (index_lane(x) != 0) || !index_lanes_known(l, x, lanes))
		return false;
	for (int i = 0; i < l->lanes; i++)
		lanes[i] = sat_add(lanes[i], x.form.constant);
	return true;
}

/* An operation on indices whose lanes are known: those of the result, affine
 * where they are evenly apart. */
static bool folded(
    Lower *l, LowOpcode op, Index a, Index b, Index *affine, int64_t **known)
{
	int64_t x[LANES_MAX], y[LANES_MAX],
	    *z = NEW_N(l->arena, int64_t, l->lanes);
	*known = NULL;
	if (!fixed_lanes(l, a, x) || !fixed_lanes(l, b, y))
		return false;
	for (int i = 0; i < l->lanes; i++)
		z[i] = operated(op, x[i], y[i]);
	*known = z;
	return is_even(l, z, affine);
}

/* An operation on two indices into a temporary, or only its range where that
 * depends on loops that are not there yet. */
Index index_computed(
    Lower *l, LowOpcode op, Index a, Index b, Interval range, const char *hint)
{
	if (range.lo == range.hi)
		return index_const(saturated(range.lo));
	if (index_has_free(a) || index_has_free(b) || l->silent)
		return index_unknown(l, range);
	if (index_has_lanes(a) || index_has_lanes(b)) {
		Index x;
		int64_t *known;
		if (folded(l, op, a, b, &x, &known))
			return x;
		x = index_from_vector(
		    vector_op(l, op, index_vector(l, a), index_vector(l, b)),
		    range);
		x.known = known;
		l->part->folded |= known != NULL;
		return x;
	}
	int temp = scalar_op(
	    l, op, index_scalar(l, a), index_scalar(l, b), range, hint);
	return index_symbol(l, temp);
}

/* x = divisor*quotient + rest, the coefficients of rest not divisible and its
 * constant in 0 .. divisor-1. */
static void divide(
    Lower *l, Index x, int64_t divisor, Index *quotient, Index *rest)
{
	*quotient = index_const(floor_div(x.form.constant, divisor));
	*rest = x;
	LowTerm *q = NEW_N(l->arena, LowTerm, x.form.n);
	LowTerm *r = NEW_N(l->arena, LowTerm, x.form.n);
	int nq = 0, nr = 0;
	for (int i = 0; i < x.form.n; i++) {
		LowTerm t = x.form.terms[i];
		if (t.coefficient % divisor)
			r[nr++] = t;
		else
			q[nq++] = (LowTerm){t.temp, t.coefficient / divisor};
	}
	quotient->form.n = nq;
	quotient->form.terms = q;
	rest->form = (LowAffine){
		x.form.constant - quotient->form.constant * divisor, nr, r};
}

/* Terms whose coefficients g does not divide, and what of the constant it does
 * not: `low`, if it stays in 0 .. g-1.  Then, for a divisor that g divides,
 *     (x + low) // divisor = (x / g) // (divisor / g)
 *     (x + low) % divisor = (x / g) % (divisor / g) * g + low */
static bool split_low(Lower *l, Index rest, int64_t g, Index *high, Index *low)
{
	LowTerm *h = NEW_N(l->arena, LowTerm, rest.form.n);
	LowTerm *w = NEW_N(l->arena, LowTerm, rest.form.n);
	int64_t constant = floor_div(rest.form.constant, g);
	int nh = 0, nw = 0;
	for (int i = 0; i < rest.form.n; i++) {
		LowTerm t = rest.form.terms[i];
		if (t.coefficient % g)
			w[nw++] = t;
		else
			h[nh++] = (LowTerm){t.temp, t.coefficient / g};
	}
	*high = (Index){.form = {constant, nh, h}, .vector = -1};
	*low = (Index){.form = {rest.form.constant - constant * g, nw, w},
	    .vector = -1};
	Interval r = range_of(l, *low);
	return nh && r.lo >= 0 && r.hi < g;
}

/* The greatest g above 1 for which that holds: of the divisor and some
 * coefficients. */
static int64_t take_low(
    Lower *l, Index rest, int64_t divisor, Index *high, Index *low)
{
	int64_t best = 1;
	if (rest.vector >= 0)
		return 1;
	for (int i = 0; i < rest.form.n; i++) {
		int64_t g = gcd(rest.form.terms[i].coefficient, divisor);
		Index a, b;
		if (g > best && split_low(l, rest, g, &a, &b)) {
			best = g;
			*high = a;
			*low = b;
		}
	}
	return best;
}

Index index_floordiv(Lower *l, Index x, int64_t divisor)
{
	assert(divisor > 0);
	if (divisor == 1)
		return x;
	Index quotient, rest, high, low;
	divide(l, x, divisor, &quotient, &rest);
	int64_t g = take_low(l, rest, divisor, &high, &low);
	if (g > 1) {
		rest = high;
		divisor /= g;
	}
	Interval r = interval_floordiv(range_of(l, rest), divisor);
	return index_add(l, quotient,
	    index_computed(l, LOW_FLOORDIV, rest, index_const(divisor), r, "q"),
	    1);
}

/* x reaches a multiple m of the divisor, or two: forms[m % 2] is at least 0 from
 * there on; 0 where there is none.  That place stays the same however little of x
 * is left. */
bool index_wraps(Lower *l, Index x, int64_t divisor, Index forms[2])
{
	Interval r = range_of(l, x);
	Wide first = wide_floordiv(r.lo, divisor) + 1;
	Wide last = wide_floordiv(r.hi, divisor);
	forms[0] = forms[1] = index_const(0);
	if (last < first || last > first + 1)
		return false;
	for (Wide m = first; m <= last; m++)
		forms[(int)(m & 1)] = index_add(
		    l, x, index_const(saturated(m * divisor)), -1);
	return true;
}

/* The remainder where facts say between which two of them x is. */
static bool known_rest(Lower *l, Index x, int64_t divisor, Index *rest)
{
	Index forms[2], all = index_const(divisor);
	int64_t none;
	l->part->asked_facts++;
	if (!l->facts || !index_wraps(l, x, divisor, forms))
		return false;
	for (int i = 0; i < 2; i++) {
		Index above = forms[i];
		if (index_is_const(above, &none))
			continue;
		Index below = index_add(l, above, all, 1);
		bool here = index_nonnegative(l, above);
		*rest = here ? above : below;
		if (here ? index_negative(l, index_add(l, above, all, -1))
			 : index_negative(l, above) &&
				index_nonnegative(l, below))
			return true;
	}
	return false;
}

Index index_mod(Lower *l, Index x, int64_t divisor)
{
	assert(divisor > 0);
	Index quotient, rest, high, low;
	divide(l, x, divisor, &quotient, &rest);
	Interval r = range_of(l, rest);
	Wide q = wide_floordiv(r.lo, divisor);
	if (q == wide_floordiv(r.hi, divisor))
		return index_add(
		    l, rest, index_const(saturated(q * divisor)), -1);
	if (known_rest(l, x, divisor, &quotient))
		return quotient;
	int64_t g = take_low(l, rest, divisor, &high, &low);
	if (g > 1)
		return index_add(
		    l, low, index_mod(l, high, divisor / g), g);
	return index_computed(l, LOW_MOD, rest, index_const(divisor),
	    (Interval){0, divisor - 1}, "r");
}

bool index_apart(const Lower *l, Index a, Index b)
{
	Interval apart = interval_sub(range_of(l, a), range_of(l, b));
	return apart.lo <= -INT64_MAX || apart.hi >= INT64_MAX - 1;
}

/* Which of two indices is known to be the less (-1: a, 1: b)? */
static int known_less(Lower *l, Index a, Index b)
{
	if (index_apart(l, a, b))
		return 0;
	Index difference = index_add(l, a, b, -1);
	return index_nonnegative(l, difference) ? 1
	    : index_nonnegative(l, index_scale(l, difference, -1)) ? -1 : 0;
}

Index index_min(Lower *l, Index a, Index b, bool max)
{
	int less = known_less(l, a, b);
	if (less)
		return (less < 0) != max ? a : b;
	Interval x = range_of(l, a), y = range_of(l, b);
	Interval r = max ? interval_max(x, y) : interval_min(x, y);
	return index_computed(
	    l, max ? LOW_MAX : LOW_MIN, a, b, r, max ? "most" : "least");
}

/* Bits of b's size alone change. */
Index index_xor(Lower *l, Index a, Index b)
{
	Interval x = range_of(l, a), y = range_of(l, b);
	Wide bits = 1;
	assert(y.lo >= 0);
	if (x.lo == x.hi && y.lo == y.hi)
		return index_const(saturated(x.lo ^ y.lo));
	while (bits <= y.hi)
		bits *= 2;
	Interval r = {bits * wide_floordiv(x.lo, bits),
	    bits * wide_floordiv(x.hi, bits) + bits - 1};
	return y.hi ? index_computed(l, LOW_XOR, a, b, r, "x") : a;
}

/* --- facts -------------------------------------------------------------- */

static int64_t coefficients_gcd(LowAffine form)
{
	int64_t g = 0;
	for (int i = 0; i < form.n; i++)
		g = gcd(form.terms[i].coefficient, g);
	return g;
}

/* Over what all coefficients are multiples of, rounded down: at least 0 where the
 * form is.  terms has room for its terms. */
static LowAffine form_reduced(LowAffine form, LowTerm *terms)
{
	int64_t g = coefficients_gcd(form);
	if (!g)
		return form;
	for (int i = 0; i < form.n; i++)
		terms[i] = (LowTerm){
		    form.terms[i].temp, form.terms[i].coefficient / g};
	return (LowAffine){floor_div(form.constant, g), form.n, terms};
}

Index index_reduced(Lower *l, Index x)
{
	if (x.vector < 0 && coefficients_gcd(x.form) > 1)
		x.form =
		    form_reduced(x.form, NEW_N(l->arena, LowTerm, x.form.n));
	return x;
}

/* Does a fact in force say more, of the same terms? */
static bool is_beaten(const Lower *l, const Fact *fact)
{
	return fact->by < l->facts &&
	    l->part->facts.at[fact->by].number == fact->by_number;
}

/* Of facts on the same terms one says all: `fact` is not pushed where one in
 * force says as much, and beats what says less. */
static bool beats_others(Lower *l, LowAffine fact, uint64_t hash)
{
	for (int i = l->facts - 1; i >= 0; i--) {
		Fact *other = &l->part->facts.at[i];
		if (other->terms != hash)
			continue;
		LowAffine same = other->form;
		same.constant = fact.constant;
		if (is_beaten(l, other) || !low_affine_equal(same, fact))
			continue;
		if (other->form.constant <= fact.constant)
			return false;
		other->by = l->facts;
		other->by_number = l->part->nfacts + 1;
	}
	return true;
}

static uint64_t hash_terms(LowAffine form)
{
	uint64_t sum = 0;
	for (int i = 0; i < form.n; i++)
		if (form.terms[i].coefficient)
			sum += hash_mix((uint64_t)form.terms[i].temp +
			    hash_mix((uint64_t)form.terms[i].coefficient));
	return sum;
}

void fact_push(Lower *l, Index x)
{
	if (index_has_lanes(x) || !x.form.n || index_has_free(x))
		return;
	LowTerm few[TERMS_FEW], *terms = few;
	size_t bytes = sizeof *terms * (size_t)x.form.n;
	if (x.form.n > TERMS_FEW)
		terms = arena_alloc(l->arena, bytes);
	LowAffine form = form_reduced(x.form, terms);
	uint64_t hash = hash_terms(form);
	if (!beats_others(l, form, hash))
		return;
	form.terms = arena_memdup(l->arena, form.terms, bytes);
	assert(l->facts <= l->part->facts.n);
	l->part->facts.n = l->facts++;
	vec_push(l->arena, &l->part->facts,
	    (Fact){form, hash, ++l->part->nfacts, INT_MAX, 0});
}

/* form - multiple of the fact, so that the term goes away */
static bool nonnegative(Lower *l, LowAffine form, int depth)
{
	LowTerm few[TERMS_FEW];
	if (form_least(l, form) >= 0)
		return true;
	if (!depth || !form.n)
		return false;
	l->part->asked_facts++;
	for (int i = l->facts - 1; i >= 0; i--) {
		LowAffine fact = l->part->facts.at[i].form;
		LowTerm *terms = few;
		if (is_beaten(l, &l->part->facts.at[i]))
			continue;
		if (form.n + fact.n > TERMS_FEW)
			terms = NEW_N(l->arena, LowTerm, form.n + fact.n);
		for (int j = 0; j < form.n; j++) {
			LowTerm t = form.terms[j];
			int64_t c = form_coefficient(fact, t.temp);
			if (!c || (c > 0) != (t.coefficient > 0) ||
			    t.coefficient % c)
				continue;
			if (nonnegative(l,
				low_affine_sum(terms, form, fact,
				    -(t.coefficient / c)),
				depth - 1))
				return true;
		}
	}
	return false;
}

bool index_nonnegative(Lower *l, Index x)
{
	if (range_of(l, x).lo >= 0)
		return true;
	return x.vector < 0 && nonnegative(l, x.form, 2);
}

bool index_negative(Lower *l, Index x)
{
	return index_nonnegative(
	    l, index_add(l, index_const(-1), x, -1));
}

/* 4*i - 14 is never 0. */
bool index_nonzero(Index x)
{
	int64_t g = coefficients_gcd(x.form);
	return x.vector < 0 && (g ? x.form.constant % g : x.form.constant);
}
