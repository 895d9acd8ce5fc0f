/* What is a literal 0 but for every step-th element of an axis is kept without
 * the zeros, if only sums read it: they leave such steps out.
 *
 *     p[y] = if y % 2 == 0 then d[y//2] else 0
 *     c[y] = sum[r](p[y + r]*w[r])              -->    thin(p.y, 2) */
#include "schedule/rules/rules.h"

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

void rule_thin(RuleForm *f)
{
	for (int i = 0; i < f->program->nblocks; i++)
		for (int a = 0; a < f->program->blocks[i].nspatial; a++) {
			const Program *p = f->program;
			const Block *b = &p->blocks[i];
			ElementPhase phase;
			if (b->reduce == REDUCE_NONE &&
			    p->buffers[b->buffer].role == BUFFER_TEMP &&
			    phase_greatest(b->body, a, &phase) &&
			    expr_is_zero(phase.other) &&
			    phase_extent(&phase, b->axes[a].extent) &&
			    read_by_sums(p, b->buffer))
				rule_rewrite(f, "thin(%s.%s, %lld)\n", b->name,
				    b->axes[a].name, (long long)phase.step);
		}
}
