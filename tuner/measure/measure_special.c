/* The fourth input set: what kernels take short cuts for, in runs that fill whole
 * vectors and rows.
 *
 *     0 0 0 0 … | -.25 -.25 … | .3 -.8 … | 2^-24*.7 … | inf inf … | 2^-130*.3 …
 *
 * Runs begin anywhere, with a row too; a quarter of the rows and of the planes is
 * one run.  Zeros of one input have one sign, so that the maximum of them has one.
 * What is repeated is a multiple of 1/4: any order of a sum of it is exact.  A
 * buffer of few elements, whose zeros would be all that is left of the results,
 * has ordinary ones.
 *
 * An input has one run of infinities at most.  Where they, or the zeros that
 * something is divided by, leave less than half of the results to compare, or
 * where it is open which of them are NaN, the set is drawn again without; for a
 * product over an axis at once, in which infinity may meet what is small or 0. */
#include <math.h>
#include <string.h>

#include "ir/scalar.h"
#include "tuner/measure/measure_internal.h"

enum {
	FEW = 8,
	MANY = 64,   /* elements */
	ROWS = 4,    /* at least, where one of them may be one run */
	LONGEST = 7, /* 2^so many elements less one */
	VECTOR = 16,
	SUBNORMAL = 2 * VECTOR, /* elements, in one run of an input of */
	LARGE = 1 << 12, /* elements: each product with one stops an Intel core
			  * for 150 cycles and more */
	KINDS = 12
};

/* --- runs -------------------------------------------------------------------- */

static bool starts(Rng *rng, int64_t at, int64_t length, int64_t all)
{
	return length > 1 && at % length == 0 && all / length >= ROWS &&
	    rng_below(rng, 4) == 0;
}

static int64_t length_of(Rng *rng, const Runs *r, int64_t at)
{
	if (starts(rng, at, r->plane, r->elements))
		return r->plane;
	if (starts(rng, at, r->row, r->elements))
		return r->row;
	int64_t n = INT64_C(1) << rng_below(rng, LONGEST + 1);
	n = 1 + (int64_t)rng_below(rng, (uint64_t)n);
	return n > r->elements / ROWS ? r->elements / ROWS + 1 : n;
}

static RunKind kind_of(Rng *rng, Runs *r)
{
	static const RunKind kinds[KINDS] = {RUN_ZERO, RUN_ZERO, RUN_ZERO,
	    RUN_REPEATED, RUN_REPEATED, RUN_TINY, RUN_SUBNORMAL, RUN_ORDINARY,
	    RUN_ORDINARY, RUN_ORDINARY, RUN_ORDINARY, RUN_ORDINARY};
	RunKind kind = kinds[rng_below(rng, KINDS)];
	if (kind == RUN_REPEATED || r->elements >= FEW)
		return r->level < SPECIAL_NONZERO || kind == RUN_ORDINARY
		    ? kind : RUN_REPEATED;
	return RUN_ORDINARY;
}

Runs runs_of(const Buffer *b, SpecialLevel level, Rng *rng)
{
	int64_t n = buffer_elements(b);
	Runs r = {.level = level, .elements = n, .row = 1, .plane = 1};
	if (b->ndim > 0)
		r.row = b->shape[b->ndim - 1];
	if (b->ndim > 1)
		r.plane = r.row * b->shape[b->ndim - 2];
	r.zero = rng_below(rng, 2) ? -0.0 : 0;
	if (level == SPECIAL_ALL && n >= MANY) {
		int64_t most = n < RUNS_DRAWN ? n : RUNS_DRAWN;
		r.infinite = (int64_t)rng_below(rng, (uint64_t)most);
		r.finite = r.infinite + (VECTOR << rng_below(rng, 3));
		r.infinity = rng_below(rng, 2) ? -INFINITY : INFINITY;
	}
	return r;
}

/* Subnormals of a large input are the beginning of its first run with room. */
static void thin_subnormals(Runs *r, int64_t at)
{
	if (r->kind != RUN_SUBNORMAL)
		return;
	if (r->elements < LARGE)
		r->subnormal = r->end;
	else if (r->subnormal == 0 && r->end - at >= SUBNORMAL)
		r->subnormal = at + SUBNORMAL;
}

/* Another begins with a row. */
void runs_step(Runs *r, Rng *rng, int64_t at)
{
	if (r->end > at && at % r->row)
		return;
	if (r->end > at && r->end - at >= r->row)
		return;
	r->kind = kind_of(rng, r);
	r->end = at + length_of(rng, r, at);
	thin_subnormals(r, at);
	r->repeated = ((double)rng_below(rng, 16) + 1) / 4;
	if (rng_below(rng, 2))
		r->repeated = -r->repeated;
	r->share = rng_double(rng);
}

/* --- elements ---------------------------------------------------------------- */

/* Far below what is ordinary, and not subnormal. */
static double tiny(DType type)
{
	return type == DT_F16 ? 0x1p-10 : 0x1p-24;
}

static double least_normal(DType type)
{
	return type == DT_F64 ? 0x1p-1022 : type == DT_F16 ? 0x1p-14 : 0x1p-126;
}

double runs_float(
    const Runs *r, int64_t at, DType type, double ordinary, double scale)
{
	if (r->infinite <= at && at < r->finite)
		return r->infinity;
	switch (r->kind) {
	case RUN_ZERO: return r->zero;
	case RUN_REPEATED: return r->repeated * scale;
	case RUN_TINY: return ordinary * tiny(type);
	case RUN_SUBNORMAL:
		return ordinary *
		    (at < r->subnormal ? least_normal(type) : tiny(type));
	default: return ordinary * scale;
	}
}

int64_t runs_int(const Runs *r, int64_t ordinary, int64_t low, int64_t high,
    int64_t least, int64_t most)
{
	switch (r->kind) {
	case RUN_ZERO: return 0;
	case RUN_REPEATED:
		return low + (int64_t)(r->share * (double)(high - low));
	case RUN_TINY: return least;
	case RUN_SUBNORMAL: return most;
	default: return ordinary;
	}
}

/* --- what comes of them ------------------------------------------------------- */

SpecialLevel special_first(const Program *program)
{
	return program_may_hide_nan(program) || magnitude_multiplies(program)
	    ? SPECIAL_FINITE
	    : SPECIAL_ALL;
}

/* Are there results to compare? */
bool special_serves(const MeasureData *data)
{
	const Program *p = data->program;
	int64_t all = 0, finite = 0;
	for (int o = 0; o < p->noutputs; o++) {
		const Buffer *b = &p->buffers[p->outputs[o]];
		const void *values =
		    data->base + data->expected[SET_SPECIAL][o];
		for (int64_t i = 0, n = buffer_elements(b); i < n; i++)
			finite += isfinite(
				      scalar_element(b->type, values, i)) != 0;
		all += buffer_elements(b);
	}
	return program_may_hide_nan(p) ? finite == all : finite >= all / 2;
}
