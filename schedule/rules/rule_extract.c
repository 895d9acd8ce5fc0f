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
 * Not of several products (rule_rows.c).  The other rules see the program as it
 * is then. */
#include "schedule/rules/rules.h"

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
	return factor_find(arena, b->body, block_extents(arena, b), b->naxes,
	    number, apart, f);
}

void rule_make_element(
    Arena *arena, Program *p, int at, const Factor *f, const char *name)
{
	Block old = p->blocks[at], t = rule_block_like(arena, &old, name);
	for (int i = 0; i < f->naxes; i++) {
		t.axes[i] = old.axes[f->axes[i].axis];
		t.axes[i].extent = f->axes[i].extent;
		t.axes[i].reduce = false;
	}
	t.naxes = t.nspatial = f->naxes;
	t.reduce = REDUCE_NONE;
	t.body = f->element;
	t.buffer = rule_add_buffer(arena, p, &t, t.body->type);
	rule_add_block(arena, p, at, t);
	p->blocks[at + 1].body = factor_product(arena, f, t.buffer);
}

/* The factors of a block, each before it; where it is then. */
static int extract_factors(
    Arena *arena, Program *p, int at, Buf *steps, bool *extracted)
{
	for (int k = 1; k <= FACTORS_MOST; k++) {
		const Block *b = &p->blocks[at];
		Factor f;
		if (!rule_factor(arena, b, k, false, &f) || f.is_window ||
		    !rule_is_reused(p, b, &f, LARGER_MOST))
			continue;
		int maker = maker_of(p, &f);
		double flops = rule_flops(arena,
		    maker >= 0 ? p->blocks[maker].body : f.element);
		if (flops < 1)
			continue;
		if (maker >= 0)
			extracted[f.element->id] |= rows_is_product(b);
		if (maker >= 0 ||
		    (p->numerics == NUMERICS_EXACT && f.together > 1 &&
			dtype_is_float(f.element->type)))
			continue;
		const char *name = rule_new_name(
		    arena, p, b, arena_printf(arena, "f%d", k));
		buf_printf(steps, "%s = extract(%s, %d)\n", name, b->name, k);
		rule_make_element(arena, p, at, &f, name);
		extracted[p->nbuffers - 1] = true;
		at++;
		k = 0; /* they have other numbers now */
	}
	return at;
}

const Program *rule_extract(
    Arena *arena, const Program *program, Buf *steps, bool *extracted)
{
	Program *p = rule_copy_program(arena, program);
	int products = 0, most = p->nbuffers + ADDED_MOST;
	for (int i = 0; i < p->nblocks; i++)
		products += rows_is_product(&p->blocks[i]);
	for (int i = 0; i < p->nblocks && p->nbuffers < most; i++)
		if (p->blocks[i].reduce == REDUCE_SUM &&
		    (products == 1 || !rows_is_product(&p->blocks[i])))
			i = extract_factors(arena, p, i, steps, extracted);
	return p;
}

const Program *rule_borders(Arena *arena, const Program *program, Buf *steps)
{
	Program *p = rule_copy_program(arena, program);
	int most = p->nbuffers + ADDED_MOST;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		Factor f;
		if (b->reduce == REDUCE_NONE || p->nbuffers == most ||
		    !rule_factor(arena, b, 0, false, &f) || !f.is_window ||
		    factor_elements(&f) >
			largest_read(p, f.border) * LARGER_MOST)
			continue;
		const char *name = rule_new_name(arena, p, b, "p");
		buf_printf(steps, "%s = extract(%s, 0)\n", name, b->name);
		rule_make_element(arena, p, i, &f, name);
	}
	return p;
}

bool rule_is_extracted(const Rules *r, int block)
{
	return r->extracted[r->program->blocks[block].buffer];
}
