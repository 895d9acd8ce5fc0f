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
#include <stdlib.h>

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
		return l->temps.at[symbol].range;
	if (symbol == SYMBOL_LANE)
		return (Interval){0, l->lanes - 1};
	int free = SYMBOL_FREE - symbol;
	if (free < l->nest->vars.n)
		return (Interval){0, loop_extent(l, free) - 1};
	return l->free_ranges.at[free - l->nest->vars.n];
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
static Index index_unknown(Lower *l, Interval range)
{
	int symbol = SYMBOL_FREE - l->nest->vars.n - l->free_ranges.n;
	vec_push(l->arena, &l->free_ranges, range);
	return index_symbol(l, symbol);
}

static Index index_from_vector(int temp, Interval range)
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
	l->temps.at[temp].range = range;
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
static Index computed(
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
		l->folded |= known != NULL;
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
	    computed(l, LOW_FLOORDIV, rest, index_const(divisor), r, "q"), 1);
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
	l->asked_facts++;
	if (!l->facts.n || !index_wraps(l, x, divisor, forms))
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
	return computed(l, LOW_MOD, rest, index_const(divisor),
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
	return computed(l, max ? LOW_MAX : LOW_MIN, a, b, r,
	    max ? "most" : "least");
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
	return y.hi ? computed(l, LOW_XOR, a, b, r, "x") : a;
}

static Index index_abs(Lower *l, Index a)
{
	return index_min(l, a, index_scale(l, a, -1), true);
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
	return fact->by < l->facts.n &&
	    l->facts.at[fact->by].number == fact->by_number;
}

/* Of facts on the same terms one says all: `fact` is not pushed where one in
 * force says as much, and beats what says less. */
static bool beats_others(Lower *l, LowAffine fact, uint64_t hash)
{
	for (int i = l->facts.n - 1; i >= 0; i--) {
		Fact *other = &l->facts.at[i];
		if (other->terms != hash)
			continue;
		LowAffine same = other->form;
		same.constant = fact.constant;
		if (is_beaten(l, other) || !low_affine_equal(same, fact))
			continue;
		if (other->form.constant <= fact.constant)
			return false;
		other->by = l->facts.n;
		other->by_number = l->nfacts + 1;
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
	vec_push(
	    l->arena, &l->facts, (Fact){form, hash, ++l->nfacts, INT_MAX, 0});
}

/* form - multiple of the fact, so that the term goes away */
static bool nonnegative(Lower *l, LowAffine form, int depth)
{
	LowTerm few[TERMS_FEW];
	if (form_least(l, form) >= 0)
		return true;
	if (!depth || !form.n)
		return false;
	l->asked_facts++;
	for (int i = l->facts.n - 1; i >= 0; i--) {
		LowAffine fact = l->facts.at[i].form;
		LowTerm *terms = few;
		if (is_beaten(l, &l->facts.at[i]))
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

/* --- variables and expressions ------------------------------------------ */

static Index index_of_split(Lower *l, const Var *v)
{
	Index x = index_of_var(l, v->child[0]);
	for (int i = 1; i < v->nchild; i++) {
		int64_t extent = tape_value(l->nest->tape,
		    l->nest->vars.at[v->child[i]].extent);
		x = index_add(l, index_of_var(l, v->child[i]), x, extent);
	}
	return x;
}

/* What addresses need as well is no code for a condition. */
static Index index_of_part(Lower *l, int var)
{
	const Var *v = &l->nest->vars.at[var];
	const Var *loop = &l->nest->vars.at[v->fused];
	int silent = l->silent;
	Index x = index_of_var(l, v->fused);
	l->silent = 0;
	if (loop->parts[loop->nparts - 1] != var)
		x = index_floordiv(l, x, tape_value(l->nest->tape, v->div));
	if (loop->parts[0] != var)
		x = index_mod(l, x, tape_value(l->nest->tape, v->extent));
	l->silent = silent;
	return x;
}

Index index_of_var(Lower *l, int var)
{
	const Var *v = &l->nest->vars.at[var];
	KnownValue *known = &l->values[var];
	if (v->how == VAR_LOOP)
		return l->vars[var].bound ? l->vars[var].value
					  : index_symbol(l, SYMBOL_FREE - var);
	bool holds =
	    known->moved == l->moved[var] && term_holds(l, &known->term);
	if (holds && !lower_asks_again)
		return known->value;
	Asked asked = ask_begin(l);
	Index x = v->how == VAR_SPLIT ? index_of_split(l, v)
				      : index_of_part(l, var);
	assert(!holds || low_affine_equal(x.form, known->value.form));
	*known = (KnownValue){l->moved[var], x, ask_end(l, asked, &x, 1)};
	return x;
}

Index index_of_axis(Lower *l, int stage, int axis)
{
	const StageAxis *a = &l->nest->stages.at[stage].axes[axis];
	Index x = index_of_var(l, a->var);
	if (a->start)
		x = index_add(l, x, index_of(l, a->start), 1);
	return x;
}

/* base + min(row, last - base) of a row number `row` of its tile, the tile's
 * first row being in the block: what the base is divisible by stays visible, and
 * how far the row is from it. */
static bool clamped_row(Lower *l, int axis, Index x, int64_t extent, Index *y)
{
	Index base = tail_base(l, l->stage, axis);
	Index last = index_add(l, index_const(extent - 1), base, -1);
	int64_t row;
	if (!index_is_const(index_add(l, x, base, -1), &row) ||
	    !index_nonnegative(l, base) || !index_nonnegative(l, last))
		return false;
	last = index_min(l, last, index_const(row), false);
	last = index_min(l, last, index_const(0), true);
	*y = index_add(l, base, last, 1);
	return true;
}

/* An axis as reads see it: clamped to the block where rows outside of it are
 * computed too. */
static Index clamped_axis(Lower *l, int axis)
{
	Index x = index_of_axis(l, l->stage, axis), y;
	if (!l->clamp || !l->clamp[axis] || index_has_lanes(x))
		return x;
	int64_t extent = l->nest->stages.at[l->stage].axes[axis].extent;
	Index last = index_const(extent - 1);
	if (index_nonnegative(l, x) &&
	    index_nonnegative(l, index_add(l, last, x, -1)))
		return x;
	if (clamped_row(l, axis, x, extent, &y))
		return y;
	x = index_min(l, x, index_const(0), true);
	return index_min(l, x, last, false);
}

typedef struct {
	Lower *l;
	bool free, lanes;
} Moving;

static bool find_moving(Expr *e, void *context)
{
	Moving *m = context;
	Index x = index_const(0);
	if (e->op == OP_AXIS)
		x = index_of_axis(m->l, m->l->stage, e->id);
	else if (e->op == OP_VAR)
		x = index_of_var(m->l, e->id);
	m->free |= index_has_free(x);
	m->lanes |= index_has_lanes(x);
	return true;
}

/* Does the value move with loops that are not there yet, with lanes? */
static Moving moving(Lower *l, const Expr *e)
{
	Moving m = {l, false, false};
	expr_walk((Expr *)(uintptr_t)e, find_moving, &m);
	return m;
}

static int index_temp(Lower *l, Index x, int lanes)
{
	return lanes > 1 ? index_vector(l, x) : index_scalar(l, x);
}

static Index index_of_temp(Lower *l, int temp, int lanes, Interval range)
{
	if (lanes > 1)
		return index_from_vector(temp, range);
	l->temps.at[temp].range = range;
	return index_symbol(l, temp);
}

static Interval assign_arm(
    Lower *l, int dst, const Expr *condition, bool holds, const Expr *arm)
{
	int facts = l->facts.n, lanes = l->f->temps.at[dst].lanes;
	push_facts(l, condition, holds);
	Index x = index_of(l, arm);
	Interval r = range_of(l, x);
	emit_into(l, dst, LOW_COPY, index_temp(l, x, lanes), -1, -1);
	l->facts.n = facts;
	return r;
}

/* What an arm reads may be there under the condition only. */
static Index index_branch(Lower *l, Value condition, const Expr *e)
{
	Moving a = moving(l, e->arg[1]), b = moving(l, e->arg[2]);
	int lanes = a.lanes || b.lanes ? l->lanes : 1;
	int dst = new_temp(l, DT_INDEX, lanes, "i");
	Branch branch;
	l->temps.at[dst].mutable = true;
	emit_into(l, dst, LOW_CONST, -1, -1, -1);
	branch_begin(l, &branch, value_scalar(l, condition));
	Interval yes = assign_arm(l, dst, e->arg[0], true, e->arg[1]);
	branch_else(l, &branch);
	Interval no = assign_arm(l, dst, e->arg[0], false, e->arg[2]);
	branch_end(l, &branch);
	return index_of_temp(l, dst, lanes, interval_hull(yes, no));
}

/* An arm under its condition; where that differs by lane, so does what may be
 * read. */
static Index index_arm(Lower *l, Value condition, const Expr *e, bool holds)
{
	int facts = l->facts.n;
	Value outer = l->mask;
	if (condition.lanes > 1) {
		Value mask = holds ? condition : value_not(l, condition);
		l->mask = outer.lanes ? value_and(l, outer, mask) : mask;
	} else {
		push_facts(l, e->arg[0], holds);
	}
	Index x = index_of(l, e->arg[holds ? 1 : 2]);
	l->mask = outer;
	l->facts.n = facts;
	return x;
}

static Index index_if(Lower *l, const Expr *e)
{
	bool known;
	Value condition = eval(l, e->arg[0]);
	if (value_is_bool(condition, &known))
		return index_of(l, e->arg[known ? 1 : 2]);
	bool data = expr_has_data(e->arg[1]) || expr_has_data(e->arg[2]);
	Moving m = moving(l, e);
	if (data && condition.lanes == 1 && !m.free && !l->silent &&
	    !value_is_unknown(condition))
		return index_branch(l, condition, e);
	Index yes = index_arm(l, condition, e, true);
	Index no = index_arm(l, condition, e, false);
	Interval r = interval_hull(range_of(l, yes), range_of(l, no));
	if (value_is_unknown(condition) || index_has_free(yes) ||
	    index_has_free(no) || l->silent)
		return index_unknown(l, r);
	int lanes = condition.lanes;
	if (index_has_lanes(yes) || index_has_lanes(no))
		lanes = l->lanes;
	int temp = emit_op(l, LOW_SELECT, DT_INDEX, lanes,
	    value_as(l, condition, lanes), index_temp(l, yes, lanes),
	    index_temp(l, no, lanes), "i");
	return index_of_temp(l, temp, lanes, r);
}

static Index index_product(Lower *l, const Expr *e)
{
	Index a = index_of(l, e->arg[0]), b = index_of(l, e->arg[1]);
	int64_t value;
	if (index_is_const(b, &value))
		return index_scale(l, a, value);
	if (index_is_const(a, &value))
		return index_scale(l, b, value);
	return computed(l, LOW_MUL, a, b,
	    interval_mul(range_of(l, a), range_of(l, b)), "i");
}

/* Integer data: a scalar, or an element for each lane, of which the range of its
 * dtype is known; of u64 what an index holds. */
static Index index_of_data(Lower *l, Expr *e)
{
	const Interval all = dtype_interval(DT_I64);
	Interval r = interval_meet(dtype_interval(e->type), all);
	if (l->silent || moving(l, e).free)
		return index_unknown(l, r);
	if (e->type == DT_U64)
		e = expr_binary(l->arena, OP_MIN, e,
		    expr_int(l->arena, DT_U64, (int64_t)r.hi));
	Value v = value_convert(l, eval(l, e), DT_INDEX);
	return index_of_temp(l, value_as(l, v, v.lanes), v.lanes, r);
}

/* The quotient or remainder of data of u64, by c: an index again. */
static Index index_of_divided(Lower *l, Op op, Expr *data, int64_t c)
{
	Interval all = dtype_interval(DT_U64);
	Interval r = interval_meet(dtype_interval(DT_I64),
	    op == OP_MOD ? interval_mod(all, c) : interval_floordiv(all, c));
	Expr *by = expr_int(l->arena, DT_U64, c);
	Expr *divided = expr_binary(l->arena, op, data, by);
	if (l->silent || moving(l, divided).free)
		return index_unknown(l, r);
	Value v = value_convert(l, eval(l, divided), DT_INDEX);
	return index_of_temp(l, value_as(l, v, v.lanes), v.lanes, r);
}

int64_t index_divisor(Lower *l, const Expr *e)
{
	int64_t value;
	bool known = index_is_const(index_of(l, e), &value);
	assert(known && value > 0);
	(void)known;
	return value;
}

typedef struct {
	const Expr *e;
	int sign;
} Operand;

/* A long sum by halves: each sum on the way holds all of its terms. */
static Index sum_of(Lower *l, const Operand *operands, int n)
{
	enum { LONG = 8 };
	int left = n > LONG ? n / 2 : n - 1;
	if (n == 1)
		return index_scale(l, index_of(l, operands->e), operands->sign);
	Index b = sum_of(l, operands + left, n - left);
	return index_add(l, sum_of(l, operands, left), b, 1);
}

static bool is_sum(const Expr *e)
{
	return e->op == OP_ADD || e->op == OP_SUB;
}

static Index index_of_sum(Lower *l, const Expr *e)
{
	int n = 1;
	for (const Expr *x = e; is_sum(x); x = x->arg[0])
		n++;
	Operand *operands = must_alloc(sizeof *operands * (size_t)n);
	for (int i = n - 1; i > 0; e = e->arg[0])
		operands[i--] = (Operand){e->arg[1], e->op == OP_ADD ? 1 : -1};
	operands[0] = (Operand){e, 1};
	Index sum = sum_of(l, operands, n);
	free(operands);
	return sum;
}

Index index_of(Lower *l, const Expr *e)
{
	Expr *data = expr_divides_u64(e);
	if (data)
		return index_of_divided(
		    l, e->op, data, index_divisor(l, e->arg[1]));
	switch (e->op) {
	case OP_INT:
		return index_const(e->i);
	case OP_TAPE:
		return index_const(tape_value(l->nest->tape, e->id));
	case OP_VAR:
		return index_of_var(l, e->id);
	case OP_AXIS:
		return clamped_axis(l, e->id);
	case OP_CAST:
		return index_of_data(l, e->arg[0]);
	case OP_NEG:
		return index_scale(l, index_of(l, e->arg[0]), -1);
	case OP_ADD:
	case OP_SUB: return index_of_sum(l, e);
	case OP_MUL:
		return index_product(l, e);
	case OP_FLOORDIV:
		return index_floordiv(
		    l, index_of(l, e->arg[0]), index_divisor(l, e->arg[1]));
	case OP_MOD:
		return index_mod(
		    l, index_of(l, e->arg[0]), index_divisor(l, e->arg[1]));
	case OP_MIN:
	case OP_MAX:
		return index_min(l, index_of(l, e->arg[0]),
		    index_of(l, e->arg[1]), e->op == OP_MAX);
	case OP_CLAMP:
		return index_min(l,
		    index_min(l, index_of(l, e->arg[0]),
			index_of(l, e->arg[1]), true),
		    index_of(l, e->arg[2]), false);
	case OP_ABS:
		return index_abs(l, index_of(l, e->arg[0]));
	case OP_IF:
		return index_if(l, e);
	default:
		lower_fail(l, "'%s' in an index", op_name(e->op));
		return index_const(0);
	}
}
