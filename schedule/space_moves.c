/* Moves of one kind from a candidate, for searches that choose among kinds; all that
 * one step leads to; and a candidate of one sketch carried over to another. */
#include "schedule/space.h"

#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { TRIES = 32, LOOSE = 4 };

/* --- kinds of decisions --------------------------------------------------------- */

static Move kind_of(const Sketch *s, const Part *part)
{
	const Step *step = &s->trace->steps.at[part->step];
	if (step->args[part->arg].domain.kind == DOMAIN_TILE)
		return MOVE_TILE;
	switch (primitive_role(step->primitive, part->arg)) {
	case 'A':
	case 'L':
		return MOVE_PLACE;
	case 'P':
		return MOVE_LAYOUT;
	default:
		return MOVE_ANNOTATION;
	}
}

static int parts_of(const Sketch *s, Move move, int *parts)
{
	int n = 0;
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].size > 1 && kind_of(s, &s->parts[p]) == move)
			parts[n++] = p;
	return n;
}

static void draw_other(const Part *part, Rng *rng, int16_t *at)
{
	assert(part->size > 1 && *at >= 0 && *at < part->size);
	int step = 1 + (int)rng_below(rng, (uint64_t)part->size - 1);
	*at = (int16_t)((*at + step) % part->size);
}

/* A size goes up where another of the same axis goes down, as often as not: what
 * the tiles hold together stays about the same. */
static void move_tile(const Sketch *s, Rng *rng, int p, Candidate *c)
{
	const Part *a = &s->parts[p];
	if (rng_below(rng, 2)) {
		draw_other(a, rng, &c->at[p]);
		return;
	}
	int up = rng_below(rng, 2) ? 1 : -1;
	for (int q = 0; q < s->nparts; q++) {
		const Part *b = &s->parts[q];
		int at = c->at[q] + (q == p ? up : -up);
		bool same = b->step == a->step && b->arg == a->arg;
		if (same && at >= 0 && at < b->size &&
		    (q == p || abs(q - p) == 1))
			c->at[q] = (int16_t)at;
	}
}

/* --- from sketch to sketch -------------------------------------------------------- */

/* Do two decisions say the same of the same thing?  By the names of either trace. */
static bool are_alike(
    const Trace *s, const Part *a, const Trace *t, const Part *b)
{
	const Step *x = &s->steps.at[a->step];
	const Step *y = &t->steps.at[b->step];
	return x->primitive == y->primitive && a->arg == b->arg &&
	    a->part == b->part && x->nargs && y->nargs &&
	    value_equal(&x->args[0].value, &y->args[0].value);
}

/* The position of the value that is nearest; -1 where none is alike. */
static int nearest(const Part *part, const TraceValue *value)
{
	int best = -1;
	int64_t least = INT64_MAX;
	for (int i = 0; i < part->size; i++) {
		const TraceValue *v = &part->values[i];
		if (value_equal(v, value))
			return i;
		if (v->kind != VALUE_INT || value->kind != VALUE_INT)
			continue;
		int64_t off = llabs(v->i - value->i);
		if (off < least) {
			least = off;
			best = i;
		}
	}
	return best;
}

/* The decision of s that says what b says in t; -1. */
static int alike_in(
    const Sketch *s, const Sketch *t, const Part *b, bool canonical)
{
	const Trace *x = canonical ? s->canonical : s->trace;
	const Trace *y = canonical ? t->canonical : t->trace;
	for (int p = 0; p < s->nparts; p++)
		if (are_alike(x, &s->parts[p], y, b))
			return p;
	return -1;
}

/* What both sketches decide is decided alike, but for one decision in `loose`
 * (0: none); the rest is drawn.  canonical: they are of two programs. */
static void carry(const Sketch *s, const Candidate *from, const Sketch *t,
    bool canonical, Rng *rng, unsigned loose, Candidate *out)
{
	for (int q = 0; q < t->nparts; q++) {
		const Part *b = &t->parts[q];
		int at = -1;
		bool drawn = loose && !rng_below(rng, loose);
		int p = drawn ? -1 : alike_in(s, t, b, canonical);
		assert(p < 0 ||
		    (from->at[p] >= 0 && from->at[p] < s->parts[p].size));
		if (p >= 0)
			at = nearest(b, &s->parts[p].values[from->at[p]]);
		out->at[q] = (int16_t)(at >= 0
			? at : (int)rng_below(rng, (uint64_t)b->size));
	}
}

static bool move_sketch(Space *space, Rng *rng, const Candidate *from,
    unsigned loose, Candidate *out)
{
	int n = space->sketches.n;
	if (n < 2)
		return false;
	int other = (int)rng_below(rng, (uint64_t)n - 1);
	memset(out, 0, sizeof *out);
	out->sketch = (uint16_t)(other + (other >= from->sketch));
	assert(out->sketch != from->sketch && out->sketch < n);
	carry(&space->sketches.at[from->sketch], from,
	    &space->sketches.at[out->sketch], false, rng, loose, out);
	return true;
}

/* --- moves ---------------------------------------------------------------------- */

/* `tries` were refused before. */
static bool move_once(Space *space, Rng *rng, Move move, int tries,
    const Candidate *from, Candidate *out)
{
	const Sketch *s = &space->sketches.at[from->sketch];
	int parts[CANDIDATE_PARTS];
	if (move == MOVE_SKETCH)
		return move_sketch(space, rng, from,
		    tries < TRIES / 4 ? 0 : LOOSE, out);
	int n = parts_of(s, move, parts);
	if (!n)
		return false;
	*out = *from;
	int p = parts[rng_below(rng, (uint64_t)n)];
	if (move == MOVE_TILE)
		move_tile(s, rng, p, out);
	else
		draw_other(&s->parts[p], rng, &out->at[p]);
	return true;
}

bool space_move(
    Space *space, Rng *rng, Move move, const Candidate *from, Candidate *out)
{
	Refusal why;
	assert(move < MOVES && from->sketch < space->sketches.n);
	for (int i = 0; i < TRIES; i++) {
		if (!move_once(space, rng, move, i, from, out))
			return false;
		if (!space_legal(space, out, &why))
			space_refuse(space, why);
		else if (memcmp(out, from, sizeof *out))
			return true;
	}
	return false;
}

/* --- all that one step leads to --------------------------------------------------- */

typedef struct {
	Space *space;
	const Candidate *from;
	Candidate *out;
	int n, most;
} Neighbours;

static void keep_neighbour(Neighbours *near, Candidate c)
{
	Refusal why;
	if (near->n == near->most)
		return;
	if (!space_legal(near->space, &c, &why)) {
		space_refuse(near->space, why);
		return;
	}
	for (int i = -1; i < near->n; i++)
		if (!memcmp(i < 0 ? near->from : &near->out[i], &c, sizeof c))
			return;
	near->out[near->n++] = c;
}

/* A decision one position up or down, and the next of its tile the other way; q is
 * p: no other. */
static void step_decision(Neighbours *near, int p, int q, int by)
{
	const Sketch *s = &near->space->sketches.at[near->from->sketch];
	Candidate c = *near->from;
	c.at[p] = (int16_t)(c.at[p] + by);
	if (q != p)
		c.at[q] = (int16_t)(c.at[q] - by);
	if (c.at[p] >= 0 && c.at[p] < s->parts[p].size && c.at[q] >= 0 &&
	    c.at[q] < s->parts[q].size)
		keep_neighbour(near, c);
}

static void step_sketch(Neighbours *near, int sketch)
{
	const Sketch *all = near->space->sketches.at;
	Rng rng = rng_stream(1, (uint64_t)sketch, near->from->sketch);
	int before = near->n;
	for (int i = 0; i < TRIES && near->n == before; i++) {
		Candidate c = {.sketch = (uint16_t)sketch};
		carry(&all[near->from->sketch], near->from, &all[sketch], false,
		    &rng, i < TRIES / 4 ? 0 : LOOSE, &c);
		keep_neighbour(near, c);
	}
}

int space_neighbours(
    Space *space, const Candidate *from, Candidate *out, int most)
{
	assert(from->sketch < space->sketches.n && most >= 0);
	Neighbours near = {space, from, out, 0, most};
	const Sketch *s = &space->sketches.at[from->sketch];
	for (int p = 0; p < s->nparts; p++)
		for (int by = -1; by <= 1; by += 2) {
			const Part *a = &s->parts[p], *b = a + 1;
			step_decision(&near, p, p, by);
			if (p + 1 < s->nparts && a->step == b->step &&
			    a->arg == b->arg)
				step_decision(&near, p, p + 1, by);
		}
	for (int t = 0; t < space->sketches.n; t++)
		if (t != from->sketch)
			step_sketch(&near, t);
	return near.n;
}

/* --- two to one ------------------------------------------------------------------- */

/* Decisions of one step go together. */
bool space_cross(Space *space, Rng *rng, const Candidate *a,
    const Candidate *b, Candidate *out)
{
	const Sketch *s = &space->sketches.at[a->sketch];
	Refusal why;
	if (a->sketch != b->sketch)
		return false;
	for (int i = 0; i < TRIES; i++) {
		bool second = false;
		*out = *a;
		for (int p = 0; p < s->nparts; p++) {
			if (!p || s->parts[p].step != s->parts[p - 1].step)
				second = rng_below(rng, 2);
			if (second)
				out->at[p] = b->at[p];
		}
		if (!space_legal(space, out, &why))
			space_refuse(space, why);
		else if (memcmp(out, a, sizeof *out) &&
		    memcmp(out, b, sizeof *out))
			return true;
	}
	return false;
}

/* --- from space to space ----------------------------------------------------------- */

static bool is_same_step(const Step *a, const Step *b)
{
	if (a->primitive != b->primitive || a->nargs != b->nargs)
		return false;
	for (int i = 0; i < a->nargs; i++)
		if (!a->args[i].decision && !b->args[i].decision &&
		    !value_equal(&a->args[i].value, &b->args[i].value))
			return false;
	return true;
}

/* How many more decisions both have than one of them alone; of equals those are more
 * alike that have more steps in common. */
static int likeness(const Sketch *s, const Sketch *t)
{
	enum { STEPS = 4096 };
	const Trace *x = s->canonical, *y = t->canonical;
	int common = 0, same = 0;
	for (int q = 0; q < t->nparts; q++)
		common += alike_in(s, t, &t->parts[q], true) >= 0;
	for (int i = 0; i < x->steps.n && i < y->steps.n && i < STEPS; i++)
		same += is_same_step(&x->steps.at[i], &y->steps.at[i]);
	return common ? (3 * common - s->nparts - t->nparts) * STEPS + same
		      : INT_MIN;
}

bool space_carry(
    Space *space, const Space *other, const Candidate *from, Candidate *out)
{
	assert(from->sketch < other->sketches.n);
	const Sketch *s = &other->sketches.at[from->sketch], *t = NULL;
	int most = INT_MIN;
	Rng rng = rng_stream(1, 0, 0);
	Refusal why;
	for (int k = 0; k < space->sketches.n; k++) {
		int like = likeness(s, &space->sketches.at[k]);
		if (like <= most)
			continue;
		most = like;
		t = &space->sketches.at[k];
	}
	for (int i = 0; t && i < TRIES; i++) {
		memset(out, 0, sizeof *out);
		out->sketch = (uint16_t)(t - space->sketches.at);
		carry(s, from, t, true, &rng, i < TRIES / 4 ? 0 : LOOSE, out);
		if (space_legal(space, out, &why))
			return true;
		space_refuse(space, why);
	}
	return false;
}
