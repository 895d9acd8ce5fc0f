/* Reductions whose last axis of results goes by quotients and remainders of a small
 * number are made by phases: lanes are along the quotients.
 *
 *     y[m] = sum[k](x[m//2 + k]*h[m % 2, k])      unflatten(y.m, 2)
 * -->
 *     y[m, x0 < 2] = sum[k](x[m + k]*h[x0, k])
 *
 * and what reads these element by element along that axis.  The other rules see the
 * program as it is then. */
#include "schedule/rules/rules.h"

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

static void make_phases(Arena *arena, Program *p, int at, int64_t n)
{
	Block *b = &p->blocks[at];
	Buffer *to = &p->buffers[b->buffer];
	Axis *axes = NEW_N(arena, Axis, b->naxes + 1);
	int last = b->nspatial++ - 1, naxes = b->naxes++;
	for (int i = 0; i < p->nblocks; i++) {
		Block *reader = &p->blocks[i];
		if (expr_find_read(reader->body, b->buffer))
			reader->body = unflatten_reader(arena, reader->body,
			    b->buffer, n, block_extents(arena, reader));
	}
	to->shape = unflatten_shape(arena, to->shape, to->ndim++, n);
	memcpy(axes, b->axes, sizeof *axes * (size_t)(last + 1));
	memcpy(&axes[last + 2], &b->axes[last + 1],
	    sizeof *axes * (size_t)(naxes - last - 1));
	axes[last].extent /= n;
	axes[last + 1] = (Axis){.name = unflatten_axis, .extent = n};
	b->axes = axes;
	b->body = unflatten_body(
	    arena, b->body, last, n, block_extents(arena, b), naxes);
}

const Program *rule_unflatten(Arena *arena, const Program *program,
    const Machine *machine, Buf *steps)
{
	if (!machine->vector_bytes)
		return program;
	Program *p = rule_copy_program(arena, program);
	const int64_t *phases = choose(arena, p, machine);
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		int64_t n = phases[b->buffer];
		if (n == 1)
			continue;
		buf_printf(steps, "unflatten(%s.%s, %lld)\n", b->name,
		    b->axes[b->nspatial - 1].name, (long long)n);
		make_phases(arena, p, i, n);
	}
	return p;
}
