/* A part of a space that is worth searching, of at most so many decision
 * vectors: of the sketches that the analytic model thinks best, around the best
 * candidate of each, the decisions that it thinks matter most, and of each of
 * these a few values that lie apart.  All else is frozen. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "test/lab/lab.h"

enum { SAMPLES = 300, DECISIONS = 7, VALUES = 5, TRIES = 2000 };

/* Sketches that are further behind are left out. */
static const double WORTH = 3;

typedef struct {
	int sketch;
	double seconds; /* of the best sample */
	Candidate best;
} Promise;

static double seconds_of(Space *space, const Candidate *c)
{
	double seconds;
	space_analytic(space, c, 1, &seconds);
	return seconds;
}

/* --- sketches ---------------------------------------------------------------- */

static void look_at(Space *space, const Candidate *c, Promise *promises)
{
	Promise *p = &promises[c->sketch];
	double seconds = seconds_of(space, c);
	if (seconds >= p->seconds)
		return;
	p->seconds = seconds;
	p->best = *c;
}

static int by_seconds(const void *a, const void *b)
{
	const Promise *x = a, *y = b;
	if (x->seconds != y->seconds)
		return x->seconds < y->seconds ? -1 : 1;
	return x->sketch - y->sketch;
}

/* Better by single moves, until so many in a row were worse. */
static void improve(Space *space, Promise *p)
{
	Rng rng = rng_stream(1, (uint64_t)p->sketch, 1);
	Candidate c;
	for (int idle = 0; idle < SAMPLES; idle++) {
		if (!space_mutate(space, &rng, &p->best, &c))
			return;
		double seconds = seconds_of(space, &c);
		if (seconds >= p->seconds)
			continue;
		p->seconds = seconds;
		p->best = c;
		idle = -1;
	}
}

/* The sketches, the best first; how many are worth it. */
static int promises_of(Space *space, Promise *promises)
{
	int n = space_nsketches(space), kept = 0;
	Rng rng = rng_stream(1, 0, 0);
	Candidate c;
	for (int i = 0; i < n; i++)
		promises[i] = (Promise){.sketch = i, .seconds = INFINITY};
	for (int i = 0; i < SAMPLES * n; i++)
		if (space_sample(space, &rng, &c))
			look_at(space, &c, promises);
	if (space_first(space, TRIES, &c))
		look_at(space, &c, promises);
	for (int i = 0; i < n; i++)
		if (isfinite(promises[i].seconds))
			improve(space, &promises[i]);
	qsort(promises, (size_t)n, sizeof *promises, by_seconds);
	while (kept < n && kept < LAB_SKETCHES &&
	       promises[kept].seconds < WORTH * promises[0].seconds)
		kept++;
	return kept;
}

/* --- decisions ----------------------------------------------------------------- */

typedef struct {
	int part;
	double matters; /* greatest |log| of the change in the predicted time */
} Weight;

static int by_matters(const void *a, const void *b)
{
	const Weight *x = a, *y = b;
	if (x->matters != y->matters)
		return x->matters > y->matters ? -1 : 1;
	return x->part - y->part;
}

static double matters(Space *space, const Promise *p, int part)
{
	double most = -1; /* no other value is legal */
	int size = space_part_size(space, p->sketch, part);
	for (int i = 0; i < size; i++) {
		Candidate c = p->best;
		Refusal why;
		c.at[part] = (int16_t)i;
		if (i == p->best.at[part] || !space_legal(space, &c, &why))
			continue;
		most = fmax(most, fabs(log(seconds_of(space, &c) / p->seconds)));
	}
	return most;
}

static int weights_of(Space *space, const Promise *p, Weight *weights)
{
	int n = 0;
	for (int i = 0; i < space_nparts(space, p->sketch); i++)
		if (space_part_size(space, p->sketch, i) > 1)
			weights[n++] = (Weight){i, matters(space, p, i)};
	qsort(weights, (size_t)n, sizeof *weights, by_matters);
	return n;
}

/* `n` positions that lie apart, `here` among them; ascending. */
static int spread_positions(int size, int here, int n, int *at)
{
	if (n > size)
		n = size;
	for (int i = 0; i < n; i++)
		at[i] = n == 1 ? here : i * (size - 1) / (n - 1);
	int nearest = 0;
	for (int i = 1; i < n; i++)
		if (abs(at[i] - here) < abs(at[nearest] - here))
			nearest = i;
	at[nearest] = here;
	return n;
}

/* How many values each decision gets: one more in turn, those that matter most
 * first, while there is room. */
static void share_room(Space *space, int sketch, const Weight *weights, int n,
    int64_t most, int *values)
{
	int64_t vectors = 1;
	bool grown = true;
	for (int i = 0; i < n; i++)
		values[i] = 1;
	while (grown) {
		grown = false;
		for (int i = 0; i < n; i++) {
			int size =
			    space_part_size(space, sketch, weights[i].part);
			int64_t more =
			    vectors / values[i] * (values[i] + 1);
			if (values[i] == size || values[i] == VALUES ||
			    weights[i].matters < 0 || more > most)
				continue;
			values[i]++;
			vectors = more;
			grown = true;
		}
	}
}

static void close_sketch(Arena *arena, Space *space, const Promise *p,
    int64_t most, ClosedSketch *out)
{
	Weight weights[CANDIDATE_PARTS];
	int values[CANDIDATE_PARTS];
	int n = weights_of(space, p, weights);
	out->sketch = p->sketch;
	for (int i = 0; i < space_nparts(space, p->sketch); i++) {
		out->parts[i].at = NEW_N(arena, int, VALUES);
		out->parts[i].at[0] = p->best.at[i];
		out->parts[i].n = 1;
	}
	n = n < DECISIONS ? n : DECISIONS;
	share_room(space, p->sketch, weights, n, most, values);
	for (int i = 0; i < n; i++) {
		int part = weights[i].part;
		out->parts[part].n = spread_positions(
		    space_part_size(space, p->sketch, part),
		    p->best.at[part], values[i], out->parts[part].at);
	}
}

static int by_sketch(const void *a, const void *b)
{
	return ((const Promise *)a)->sketch - ((const Promise *)b)->sketch;
}

Closed lab_close(Arena *arena, Space *space, int vectors)
{
	Promise *promises = NEW_N(arena, Promise, space_nsketches(space));
	int n = promises_of(space, promises);
	Closed closed = {n, NEW_N(arena, ClosedSketch, n)};
	qsort(promises, (size_t)n, sizeof *promises, by_sketch);
	for (int i = 0; i < n; i++)
		close_sketch(arena, space, &promises[i], vectors / n,
		    &closed.sketches[i]);
	return closed;
}
