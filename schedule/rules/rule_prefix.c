/* A running sum is made by blocks: within each, over those before, and again so
 * where there are many.
 *
 *     y[j] = sum[k](if k <= j then x[k] else 0)
 * -->
 *     y_w[j], y_p[b] = prefix(y.k, 16)      y[j] = y_w[j] + y_p[j // 16]
 *
 * Blocks are as long as a vector along the last axis.  Along others lanes are
 * columns, and each row is made from the one before:
 *
 *     carry(y.k)                             y[j, c] = y[j - 1, c] + x[j, c]
 *
 * unless the sum is kept in another type than it is added in; then blocks are
 * short, since each row of one adds those before it anew.  On a GPU, whose threads
 * do not wait for each other so long, blocks have a warp's elements.  The other rules
 * see what is carried without what it reads of itself. */
#include "schedule/rules/rules.h"

#include <assert.h>

enum { ROWS = 8, GPU_SIZE = 32, TIMES_MOST = 8, LEAST = 64 };

static bool is_scan(Arena *arena, const Program *p, int i, Prefix *x)
{
	const Block *b = &p->blocks[i];
	if (b->reduce == REDUCE_NONE || b->naxes != b->nspatial + 1)
		return false;
	for (int j = 0; j < b->nspatial; j++)
		if (prefix_find(
			arena, b->body, b->reduce, j, b->nspatial, x))
			return true;
	return false;
}

static bool is_down_columns(const Block *b, const Prefix *x)
{
	for (int j = x->j + 1; j < b->nspatial; j++)
		if (b->axes[j].extent > 1)
			return true;
	return false;
}

static int64_t size_of(const Machine *machine, const Block *b, const Prefix *x)
{
	int lanes = rule_lanes(machine, b->body->type);
	if (machine->gpu)
		return GPU_SIZE;
	return is_down_columns(b, x) || lanes < ROWS ? ROWS : lanes;
}

static bool is_carried(const Program *p, const Block *b, const Prefix *x)
{
	return is_down_columns(b, x) &&
	    p->buffers[b->buffer].type == b->body->type &&
	    prefix_carries(x, b->axes[x->j].extent, b->axes[x->k].extent);
}

/* Do the steps, each of which loads, take longer than two kernels more do to begin?
 * A CPU has loops for them. */
static bool is_long(const Machine *m, const Block *b)
{
	enum { KERNELS = 2 };
	double loads_per_ns = m->processors * m->load_per_cycle * m->clock_ghz;
	return !m->gpu ||
	    block_points(b, 0, b->naxes) >
	    KERNELS * m->launch_ns * loads_per_ns;
}

static void carry(RuleForm *f, int at, const Prefix *x)
{
	const Block *b = &f->program->blocks[at];
	if (rule_rewrite(f, "carry(%s.%s)\n", b->name, b->axes[x->k].name)) {
		RuleMade *made = rule_made(f, b->buffer);
		made->scan = SCAN_CARRIED;
		made->scan_axis = x->j;
	}
}

static bool cut(RuleForm *f, int at, const Prefix *x, int64_t size)
{
	const Block *b = &f->program->blocks[at];
	if (!rule_rewrite(f, "%s, %s = prefix(%s.%s, %lld)\n",
		rule_new_name(f, b, "w"), rule_new_name(f, b, "p"), b->name,
		b->axes[x->k].name, (long long)size))
		return false;
	assert(at + 2 < f->program->nblocks);
	for (int i = 0; i < 3; i++) {
		RuleMade *made =
		    rule_made(f, f->program->blocks[at + i].buffer);
		made->scan = i < 2 ? SCAN_PART : SCAN_WHOLE;
		made->scan_axis = x->j;
	}
	return true;
}

void rule_prefix(RuleForm *f)
{
	int times = 0;
	for (int i = 0; i < f->program->nblocks && times < TIMES_MOST; i++) {
		const Program *p = f->program;
		const Block *b = &p->blocks[i];
		Prefix x;
		if (!is_scan(f->arena, p, i, &x))
			continue;
		if (!f->machine->gpu && is_carried(p, b, &x)) {
			carry(f, i, &x);
			continue;
		}
		int64_t size = size_of(f->machine, b, &x);
		int64_t nj = b->axes[x.j].extent, nk = b->axes[x.k].extent;
		times += !rule_keeps_order(p, b) && nj >= LEAST &&
		    is_long(f->machine, b) && prefix_fits(&x, size, nj, nk) &&
		    cut(f, i, &x, size);
	}
}
