/* Is an output what is expected?
 *
 * Floats may differ by what rounding in another order explains: a few units in
 * the last place of the largest number, more where more is summed.  Where the
 * operator is conditioned badly that is not enough: y[i, k] = w[i, k]/z[i] with a
 * z near 0, a softmax over scores of 10^5.  Then the reference, itself f32, is as
 * far from the exact result as a right candidate is.  So the element that differs
 * most is computed twice by the interpreter, in f32 as it stands and in f64: a
 * candidate is right there if it is no farther from the exact result than the
 * two in f32 are, SLACK times.  What is learnt so counts for the set's other
 * elements and for all candidates that follow; the other sets stay strict.
 *
 * Where f32 says nothing of an element, as where it overflows or is off by a good
 * part of it, the error that was seen bounds nothing: a kernel may have there what
 * rounding can make of it (ir/enclosure.h), any number where a denominator may be
 * 0, and such elements are excused.
 * Of a set with more of them than are looked at one by one, the largest first, as
 * many again are, spread over what differs: one that is known to be wrong
 * suffices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/enclosure.h"
#include "ir/scalar.h"
#include "tuner/measure/measure_internal.h"

enum {
	POINTS = 64,
	SLACK = 16,
	ELEMENTS_MAX = 64 /* of an output that are computed, twice at most */
};

/* Seconds for the interpreter to settle a difference. */
static const double settle_s = 1;

/* --- tolerance --------------------------------------------------------------- */

/* Longest chain of reduction steps behind any output. */
static double reduction_length(const Program *program)
{
	double sum = 1;
	for (int i = 0; i < program->nblocks; i++) {
		const Block *b = &program->blocks[i];
		sum += block_points(b, b->nspatial, b->naxes);
	}
	return sum;
}

static bool is_float_chain(const Program *program)
{
	for (int i = 0; i < program->nbuffers; i++)
		if (dtype_is_float(program->buffers[i].type))
			return true;
	return false;
}

/* An error of a few units in the last place of the largest element for each
 * doubling that random rounding errors of the reduction make likely.  Those of a
 * product's operands come once for each term, and add up as the terms do. */
static double tolerance(const Program *program, const Buffer *b, double largest,
    double rounded)
{
	if (!dtype_is_float(b->type))
		return is_float_chain(program) ? 1 : 0;
	double eps = dtype_epsilon(b->type);
	for (int i = 0; i < program->nbuffers; i++) {
		double e = dtype_epsilon(program->buffers[i].type);
		if (dtype_is_float(program->buffers[i].type) && e > eps &&
		    program->buffers[i].role == BUFFER_TEMP)
			eps = e;
	}
	return 16 * (eps * sqrt(reduction_length(program)) + rounded) * largest;
}

static double largest_number(const Buffer *b, const void *data)
{
	double largest = 0;
	for (int64_t i = 0, n = buffer_elements(b); i < n; i++) {
		double x = fabs(scalar_element(b->type, data, i));
		if (x > largest && !isinf(x))
			largest = x;
	}
	return largest;
}

static const void *expected_of(const MeasureData *data, int set, int output)
{
	return data->base + data->expected[set][output];
}

static const Buffer *buffer_of(const MeasureData *data, int output)
{
	return &data->program->buffers[data->program->outputs[output]];
}

/* Shared by all processes; only the driver's one job at a time writes it. */
static Judged *judged_of(const MeasureData *data, int set, int output)
{
	Judged *all = (Judged *)(data->base + data->judged);
	return &all[set * data->program->noutputs + output];
}

static double allowed_of(
    const MeasureData *data, int set, int output, double rounded)
{
	const Buffer *b = buffer_of(data, output);
	Judged *j = judged_of(data, set, output);
	if (data->program->numerics == NUMERICS_EXACT)
		return 0;
	if (!(j->largest > 0))
		j->largest =
		    largest_number(b, expected_of(data, set, output));
	double rounding = tolerance(data->program, b, j->largest, rounded);
	return fmax(rounding, (SLACK + 1) * j->error);
}

/* --- elements ------------------------------------------------------------------ */

/* Interpreters of a data's program. */
typedef struct {
	const MeasureData *data;
	Arena *arena;
	Program *exact;
	double end_s;
} Judge;

static Judge judge_open(const MeasureData *data, double seconds)
{
	Judge j = {.data = data,
	    .arena = arena_new(),
	    .end_s = measure_now() + seconds};
	j.exact = program_exact(j.arena, data->program);
	return j;
}

static bool is_over(void *context)
{
	return measure_now() > ((Judge *)context)->end_s;
}

static void **inputs_of(Judge *j, int set)
{
	int n = j->data->program->ninputs;
	void **inputs = NEW_N(j->arena, void *, n);
	for (int i = 0; i < n; i++)
		inputs[i] = j->data->base + j->data->input[set][i];
	return inputs;
}

/* An element by one of the two programs; false: there is no time for it. */
static bool compute(Judge *j, const Program *p, int set, int output,
    const int64_t *index, double *out)
{
	const Buffer *b = &p->buffers[p->outputs[output]];
	unsigned char bytes[8] = {0};
	if (!interp_point_unless(p, inputs_of(j, set), p->outputs[output],
		index, bytes, is_over, j))
		return false;
	*out = scalar_element(b->type, bytes, 0);
	return true;
}

static int64_t *index_of(Arena *arena, const Buffer *b, int64_t at)
{
	int64_t *index = NEW_N(arena, int64_t, b->ndim + 1);
	for (int d = b->ndim - 1; d >= 0; d--) {
		index[d] = at % b->shape[d];
		at /= b->shape[d];
	}
	return index;
}

static int64_t place_of(const Buffer *b, const int64_t *index)
{
	int64_t at = 0;
	for (int d = 0; d < b->ndim; d++)
		at = at * b->shape[d] + index[d];
	return at;
}

static void describe(const Buffer *b, int64_t at, double got, double want,
    char *why, size_t size)
{
	Arena *arena = arena_new();
	const int64_t *index = index_of(arena, b, at);
	Buf text = {0};
	for (int d = 0; d < b->ndim; d++)
		buf_printf(&text, "%s%lld", d ? ", " : "", (long long)index[d]);
	snprintf(why, size, "%s[%s] is %.9g, expected %.9g", b->name,
	    buf_text(&text), got, want);
	buf_free(&text);
	arena_free(arena);
}

static bool same_number(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* NaN or infinite the one, and not the other: f32 says nothing of the element. */
static bool says_nothing(double plain, double exact)
{
	return !same_number(plain, exact) && !isfinite(plain - exact);
}

typedef enum { ELEMENT_WRONG, ELEMENT_RIGHT, ELEMENT_UNKNOWN } Verdict;

/* Of what is not near what is right: may rounding have made it?  `untold`: where
 * there is no time to tell. */
static Verdict judge_far(
    Judge *j, int set, int output, int64_t at, double got, Verdict untold)
{
	const Program *p = j->data->program;
	Enclosure may;
	if (!enclosure_point(
		p, inputs_of(j, set), p->outputs[output], at, &may, is_over, j))
		return untold;
	return enclosure_has(may, got) ? ELEMENT_UNKNOWN : ELEMENT_WRONG;
}

/* --- the reference itself -------------------------------------------------------- */

typedef struct {
	int set;
	int64_t at;
	double exact, plain, want;
} Point;
typedef VEC(Point) PointVec;

static bool add_point(Judge *j, PointVec *points, int set, int output,
    const int64_t *index)
{
	const Buffer *b = buffer_of(j->data, output);
	Point p = {.set = set, .at = place_of(b, index)};
	p.want = scalar_element(
	    b->type, expected_of(j->data, set, output), p.at);
	if (!compute(j, j->exact, set, output, index, &p.exact) ||
	    !compute(j, j->data->program, set, output, index, &p.plain))
		return false;
	vec_push(j->arena, points, p);
	return true;
}

/* As many as there is time for, and of few elements each once in each set. */
static void compute_points(Judge *j, int output, PointVec *points)
{
	const Buffer *b = buffer_of(j->data, output);
	int64_t all = buffer_elements(b) * MEASURE_SETS;
	Rng rng = rng_stream(1, 2, (uint64_t)output + 3);
	int64_t *index = NEW_N(j->arena, int64_t, b->ndim + 1);
	int corners = b->ndim < 6 ? 1 << b->ndim : 64;
	for (int k = 0; k < corners + POINTS && k < all; k++) {
		if (k && is_over(j))
			return;
		for (int d = 0; d < b->ndim; d++)
			index[d] = k >= corners
			    ? (int64_t)rng_below(&rng, (uint64_t)b->shape[d])
			    : (k >> (d % 6) & 1) * (b->shape[d] - 1);
		if (!add_point(j, points, k % MEASURE_SETS, output, index))
			return;
	}
}

/* Nothing is known where f32 overflows and the exact result does not. */
static void take_error(Judged *judged, double error)
{
	if (isfinite(error))
		judged->error = fmax(judged->error, error);
}

/* The interpreter's own f32 says how far off a right one may be. */
static bool check_points(
    Judge *j, int output, const PointVec *points, char *why, size_t size)
{
	const MeasureData *data = j->data;
	const Buffer *b = buffer_of(data, output);
	for (int i = 0; i < points->n; i++) {
		const Point *p = &points->at[i];
		take_error(judged_of(data, p->set, output),
		    fabs(p->plain - p->exact));
	}
	for (int i = 0; i < points->n; i++) {
		const Point *p = &points->at[i];
		double allowed = allowed_of(data, p->set, output, 0);
		if (same_number(p->want, p->exact) ||
		    same_number(p->want, p->plain) ||
		    says_nothing(p->plain, p->exact) ||
		    fabs(p->want - p->exact) <= allowed ||
		    judge_far(j, p->set, output, p->at, p->want,
			ELEMENT_WRONG) != ELEMENT_WRONG)
			continue;
		describe(b, p->at, p->want, p->exact, why, size);
		return false;
	}
	return true;
}

bool compare_expected(
    const MeasureData *data, double seconds, char *why, size_t size)
{
	int n = data->program->noutputs;
	double end_s = measure_now() + seconds;
	bool right = true;
	memset(data->base + data->judged, 0,
	    MEASURE_SETS * sizeof(Judged) * (size_t)n);
	/* one element of a long reduction may take all the time */
	for (int o = 0; o < n && right && (!o || measure_now() < end_s); o++) {
		Judge j = judge_open(data, (end_s - measure_now()) / (n - o));
		PointVec points = {0};
		compute_points(&j, o, &points);
		j.end_s = measure_now() + settle_s;
		right = check_points(&j, o, &points, why, size);
		arena_free(j.arena);
	}
	return right;
}

/* --- a candidate ------------------------------------------------------------------- */

/* The element that differs most, of those that are not excused; -1: none differs
 * by more than is allowed. */
static int64_t find_worst(const Buffer *b, const void *got, const void *want,
    double allowed, const int64_t *excused, int nexcused)
{
	int64_t worst = -1;
	double most = allowed;
	for (int64_t i = 0, n = buffer_elements(b); i < n; i++) {
		double g = scalar_element(b->type, got, i);
		double w = scalar_element(b->type, want, i);
		double off = fabs(g - w);
		if (off <= most || same_number(g, w))
			continue;
		bool skip = false;
		for (int k = 0; k < nexcused; k++)
			skip |= excused[k] == i;
		if (skip)
			continue;
		worst = i;
		if (!(off <= INFINITY) || isinf(off))
			return i;
		most = off;
	}
	return worst;
}

/* The most usual case, four times as fast; false also says that it is another. */
static bool all_near(const Buffer *b, const void *got, const void *want,
    double allowed)
{
	const float *g = got, *w = want;
	bool near = b->type == DT_F32;
	for (int64_t i = 0, n = near ? buffer_elements(b) : 0; i < n; i++)
		near &= fabs((double)g[i] - w[i]) <= allowed;
	return near;
}

/* Unsure: f32 says nothing of the element, or is off by a good part of it, and
 * not for being a small difference of large numbers.  Unknown, too: what may be
 * NaN or not. */
static Verdict judge_element(Judge *j, int set, int output, int64_t at,
    double got, double want)
{
	const Buffer *b = buffer_of(j->data, output);
	const int64_t *index = index_of(j->arena, b, at);
	double exact, plain;
	if (!compute(j, j->exact, set, output, index, &exact) ||
	    !compute(j, j->data->program, set, output, index, &plain))
		return ELEMENT_WRONG;
	double error = fmax(fabs(want - exact), fabs(plain - exact));
	double rounding = tolerance(j->data->program, b,
	    judged_of(j->data, set, output)->largest, 0);
	if (isnan(exact) && program_may_hide_nan(j->data->program))
		return ELEMENT_UNKNOWN;
	bool unsure = says_nothing(want, exact) || says_nothing(plain, exact) ||
	    (error > fabs(exact) / 4 && error > SLACK * rounding);
	if (unsure || !(fabs(got - exact) <= SLACK * error))
		return judge_far(j, set, output, at, got,
		    unsure ? ELEMENT_UNKNOWN : ELEMENT_WRONG);
	take_error(judged_of(j->data, set, output), error);
	return ELEMENT_RIGHT;
}

typedef struct {
	const MeasureData *data;
	int set, output;
	const void *got, *want;
	char *why;
	size_t size;
} Difference;

static Verdict judge_difference(Judge *j, const Difference *d, int64_t at)
{
	const Buffer *b = buffer_of(d->data, d->output);
	double g = scalar_element(b->type, d->got, at);
	double w = scalar_element(b->type, d->want, at);
	describe(b, at, g, w, d->why, d->size);
	return judge_element(j, d->set, d->output, at, g, w);
}

/* Are those that differ, of which there are too many, unknown or right wherever
 * there is time to look at them? */
static bool settle_spread(Judge *j, const Difference *d, double rounded)
{
	const Buffer *b = buffer_of(d->data, d->output);
	int64_t n = buffer_elements(b), next = 0;
	for (int64_t i = 0; i < n; i++) {
		double off = fabs(scalar_element(b->type, d->got, i) -
		    scalar_element(b->type, d->want, i));
		if (i < next ||
		    off <= allowed_of(d->data, d->set, d->output, rounded) ||
		    same_number(scalar_element(b->type, d->got, i),
			scalar_element(b->type, d->want, i)))
			continue;
		if (judge_difference(j, d, i) == ELEMENT_WRONG)
			return is_over(j);
		next = i + 1 + n / ELEMENTS_MAX;
	}
	return true;
}

static bool settle_worst(Judge *j, const Difference *d, double rounded)
{
	const Buffer *b = buffer_of(d->data, d->output);
	int64_t excused[ELEMENTS_MAX], at;
	int nexcused = 0;
	for (int k = 0; k < ELEMENTS_MAX; k++) {
		at = find_worst(b, d->got, d->want,
		    allowed_of(d->data, d->set, d->output, rounded), excused,
		    nexcused);
		if (at < 0)
			return true;
		Verdict v = judge_difference(j, d, at);
		if (v == ELEMENT_WRONG)
			return false;
		if (v == ELEMENT_UNKNOWN)
			excused[nexcused++] = at;
	}
	return settle_spread(j, d, rounded);
}

static bool settle(const MeasureData *data, int set, int output, double rounded,
    const void *got, char *why, size_t size)
{
	Difference d = {data, set, output, got,
	    expected_of(data, set, output), why, size};
	Judge j = judge_open(data, settle_s);
	bool right = settle_worst(&j, &d, rounded);
	arena_free(j.arena);
	if (right)
		*why = 0;
	return right;
}

bool compare_output(const MeasureData *data, int set, int output, double rounded,
    const void *got, char *why, size_t size)
{
	const Buffer *b = buffer_of(data, output);
	const void *want = expected_of(data, set, output);
	if (!memcmp(got, want, (size_t)buffer_bytes(b)))
		return true;
	double allowed = allowed_of(data, set, output, rounded);
	if (all_near(b, got, want, allowed))
		return true;
	int64_t at = find_worst(b, got, want, allowed, NULL, 0);
	if (at < 0)
		return true;
	describe(b, at, scalar_element(b->type, got, at),
	    scalar_element(b->type, want, at), why, size);
	return data->program->numerics != NUMERICS_EXACT &&
	    is_float_chain(data->program) &&
	    settle(data, set, output, rounded, got, why, size);
}
