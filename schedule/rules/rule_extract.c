/* A factor that is computed, and used for many elements of a sum, gets a block of
 * its own, so that it is computed once, and packed for a product:
 *
 *     y[i, j] = sum[n]((x[n, i] - m[i]) * (x[n, j] - m[j]))
 * -->
 *     y_f = extract(y, 1)           y_f[n, i] = x[n, i] - m[i]
 *
 * Likewise what a window reads clamped, mirrored or wrapped around along rows, before
 * all other steps (rule_borders):
 *
 *     y[i] = sum[k](x[max(i + k - 1, 0)]*w[k])
 * -->
 *     y_p = extract(y, 0)           y_p[i] = x[max(i - 1, 0)]
 *
 * Likewise a block that such a product reads is not inlined because it is cheap.
 * Not of several products (rule_rows.c). */
#include "schedule/rules/rules.h"

#include <assert.h>

enum { USES_LEAST = 16, FACTORS_MOST = 16, ADDED_MOST = 16 };
static const double LARGER_MOST = 1.5; /* times what it is computed of */

/* The elements of the largest buffer that is read. */
static double largest_read(const Program *p, const Expr *e)
{
	double most = 0;
	if (e->op == OP_READ)
		most = (double)buffer_elements(&p->buffers[e->id]);
	for (int i = 0; i < e->narg; i++) {
		double n = largest_read(p, e->arg[i]);
		most = n > most ? n : most;
	}
	return most;
}

static double factor_elements(const Factor *f)
{
	double elements = 1;
	for (int i = 0; i < f->naxes; i++)
		elements *= (double)f->axes[i].extent;
	return elements;
}

bool rule_is_reused(
    const Program *p, const Block *b, const Factor *f, double most)
{
	double elements = factor_elements(f), uses = 1;
	bool moves = false;
	for (int a = 0; a < b->naxes; a++) {
		double n = (double)b->axes[a].extent;
		if (f->has[a])
			moves |= a >= b->nspatial;
		else if (a < b->nspatial)
			uses *= n;
	}
	return moves && uses >= USES_LEAST &&
	    elements <= largest_read(p, f->element) * most;
}

/* The block that makes the factor, which is one read of it; -1. */
static int maker_of(const Program *p, const Factor *f)
{
	const Expr *e = f->element;
	const Buffer *b = e->op == OP_READ ? &p->buffers[e->id] : NULL;
	if (!b || b->role != BUFFER_TEMP || b->block < 0 || b->once ||
	    p->blocks[b->block].reduce != REDUCE_NONE)
		return -1;
	for (int i = 0; i < p->nblocks; i++)
		if (p->blocks[i].reduce == REDUCE_NONE &&
		    expr_find_read(p->blocks[i].body, e->id))
			return -1;
	return b->block;
}

bool rule_factor(
    Arena *arena, const Block *b, int number, bool apart, Factor *f)
{
	assert(number >= 0);
	return factor_find(arena, b->body, block_extents(arena, b), b->naxes,
	    number, apart, f);
}

/* Is it worth a block of its own?  Marks the one that it has already. */
static bool is_worth(RuleForm *f, const Block *b, const Factor *x)
{
	const Program *p = f->program;
	if (x->is_window || !rule_is_reused(p, b, x, LARGER_MOST))
		return false;
	int maker = maker_of(p, x);
	const Expr *e = maker >= 0 ? p->blocks[maker].body : x->element;
	if (rule_cost(f->arena, e).flops < 1)
		return false;
	if (maker >= 0)
		rule_made(f, x->element->id)->extracted |= rows_is_product(b);
	return maker < 0 &&
	    (p->numerics != NUMERICS_EXACT || x->together == 1 ||
		!dtype_is_float(x->element->type));
}

/* The factors of a block, each before it; where it is then. */
static int extract_factors(RuleForm *f, int at)
{
	for (int k = 1; k <= FACTORS_MOST; k++) {
		const Block *b = &f->program->blocks[at];
		Factor x;
		if (!rule_factor(f->arena, b, k, false, &x) ||
		    !is_worth(f, b, &x))
			continue;
		const char *letter = arena_printf(f->arena, "f%d", k);
		if (!rule_rewrite(f, "%s = extract(%s, %d)\n",
			rule_new_name(f, b, letter), b->name, k))
			continue;
		assert(at + 1 < f->program->nblocks);
		rule_made(f, f->program->blocks[at++].buffer)->extracted = true;
		k = 0; /* they have other numbers now */
	}
	return at;
}

void rule_extract(RuleForm *f)
{
	int products = 0, most = f->program->nbuffers + ADDED_MOST;
	for (int i = 0; i < f->program->nblocks; i++)
		products += rows_is_product(&f->program->blocks[i]);
	for (int i = 0; i < f->program->nblocks && f->program->nbuffers < most;
	     i++) {
		const Block *b = &f->program->blocks[i];
		if (b->reduce == REDUCE_SUM &&
		    (products == 1 || !rows_is_product(b)))
			i = extract_factors(f, i);
	}
}

void rule_borders(RuleForm *f)
{
	int most = f->program->nbuffers + ADDED_MOST;
	for (int i = 0; i < f->program->nblocks; i++) {
		const Program *p = f->program;
		const Block *b = &p->blocks[i];
		Factor x;
		if (b->reduce != REDUCE_NONE && p->nbuffers < most &&
		    rule_factor(f->arena, b, 0, false, &x) && x.is_window &&
		    factor_elements(&x) <=
			largest_read(p, x.border) * LARGER_MOST)
			rule_rewrite(f, "%s = extract(%s, 0)\n",
			    rule_new_name(f, b, "p"), b->name);
	}
}
