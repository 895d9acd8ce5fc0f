/* Reductions whose last axis of results goes by quotients and remainders of a small
 * number are made by phases: lanes are along the quotients.
 *
 *     y[m] = sum[k](x[m//2 + k]*h[m % 2, k])      unflatten(y.m, 2)
 * -->
 *     y[m, x0 < 2] = sum[k](x[m + k]*h[x0, k])
 *
 * and what reads these element by element along that axis. */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <string.h>

enum { PHASES_MOST = 4 };

static bool reads_phases(const Program *p, const Expr *e, const int64_t *phases)
{
	bool found = false;
	for (int i = 0; i < p->nbuffers && !found; i++)
		found = phases[i] > 1 && expr_find_read(e, i);
	return found;
}

static bool has_axis(const Block *b, const char *name)
{
	for (int a = 0; a < b->naxes; a++)
		if (!strcmp(b->axes[a].name, name))
			return true;
	return false;
}

static int64_t phases_of(
    const Program *p, const Machine *m, const Block *b, const int64_t *phases)
{
	int axis = b->nspatial - 1;
	bool sums =
	    b->reduce != REDUCE_NONE || reads_phases(p, b->body, phases);
	if (axis < 0 || !sums || has_axis(b, unflatten_axis))
		return 1;
	int64_t n = unflatten_find(b->body, axis, phases, PHASES_MOST);
	int64_t extent = b->axes[axis].extent;
	return extent % n == 0 &&
		extent / n >= rule_lanes(m, p->buffers[b->buffer].type)
	    ? n
	    : 1;
}

/* By buffer; where another block reads one otherwise, it has none. */
static int64_t *choose(Arena *arena, const Program *p, const Machine *m)
{
	int64_t *phases = NEW_N(arena, int64_t, p->nbuffers);
	bool *apart = NEW_N(arena, bool, p->nbuffers);
	bool changed = true;
	for (int i = 0; i < p->nbuffers; i++)
		phases[i] = 1;
	while (changed) {
		changed = false;
		for (int i = 0; i < p->nblocks; i++) {
			const Block *b = &p->blocks[i];
			phases[b->buffer] =
			    apart[b->buffer] ? 1 : phases_of(p, m, b, phases);
		}
		for (int i = 0; i < p->nblocks; i++) {
			const Block *b = &p->blocks[i];
			unflatten_mark_apart(b->body, b->nspatial - 1,
			    phases[b->buffer], phases, apart);
		}
		for (int i = 0; i < p->nbuffers; i++)
			changed |= apart[i] && phases[i] > 1;
	}
	return phases;
}

void rule_unflatten(RuleForm *f)
{
	if (!f->machine->vector_bytes)
		return;
	const int64_t *phases = choose(f->arena, f->program, f->machine);
	for (int i = 0; i < f->program->nblocks; i++) {
		const Block *b = &f->program->blocks[i];
		int64_t extent =
		    b->nspatial ? b->axes[b->nspatial - 1].extent : 1;
		assert(extent % phases[b->buffer] == 0);
		if (phases[b->buffer] > 1)
			rule_rewrite(f, "unflatten(%s.%s, %lld)\n", b->name,
			    b->axes[b->nspatial - 1].name,
			    (long long)phases[b->buffer]);
	}
}
