/* What is a literal 0 but for every step-th element of an axis is kept without
 * the zeros, if only sums read it: they leave such steps out.
 *
 *     p[y] = if y % 2 == 0 then d[y//2] else 0
 *     c[y] = sum[r](p[y + r]*w[r])              -->    thin(p.y, 2)
 *
 * The other rules see the program as it is then. */
#include "schedule/rules/rules.h"

#include <string.h>

/* Only sums read it, in which a product with 0 is none. */
static bool read_by_sums(const Program *p, int buffer)
{
	int readers = 0;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		if (!expr_find_read(b->body, buffer))
			continue;
		readers++;
		if (b->reduce != REDUCE_SUM || rule_keeps_order(p, b))
			return false;
	}
	return readers > 0;
}

static void make_thin(Arena *arena, Program *p, int block, const ElementPhase *phase)
{
	Block *b = &p->blocks[block];
	Buffer *to = &p->buffers[b->buffer];
	int64_t n = phase_extent(phase, b->axes[phase->axis].extent);
	Axis *axes = NEW_N(arena, Axis, b->naxes);
	int64_t *shape = NEW_N(arena, int64_t, to->ndim);
	memcpy(axes, b->axes, sizeof *axes * (size_t)b->naxes);
	memcpy(shape, to->shape, sizeof *shape * (size_t)to->ndim);
	axes[phase->axis].extent = shape[phase->axis] = n;
	b->axes = axes;
	to->shape = shape;
	b->body = phase_body(arena, phase, b->body, b->naxes);
	for (int i = 0; i < p->nblocks; i++)
		if (expr_find_read(p->blocks[i].body, b->buffer))
			p->blocks[i].body = phase_reader(
			    arena, phase, b->buffer, p->blocks[i].body);
}

const Program *rule_thin(Arena *arena, const Program *program, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		ElementPhase phase;
		if (b->reduce != REDUCE_NONE ||
		    p->buffers[b->buffer].role != BUFFER_TEMP)
			continue;
		for (int a = 0; a < b->naxes; a++) {
			if (!phase_greatest(b->body, a, &phase) ||
			    !expr_is_zero(phase.other) ||
			    !phase_extent(&phase, b->axes[a].extent) ||
			    !read_by_sums(p, b->buffer))
				continue;
			buf_printf(steps, "thin(%s.%s, %lld)\n", b->name,
			    b->axes[a].name, (long long)phase.step);
			make_thin(arena, p, i, &phase);
		}
	}
	return p;
}
