#include "ir/expr_set.h"

enum { FEW = 8 };

static ExprSlot *slot_of(const ExprSet *set, uint64_t hash, const Expr *e)
{
	for (unsigned i = (unsigned)hash;; i++) {
		ExprSlot *at = &set->slot[i & (unsigned)(set->nslots - 1)];
		if (!at->number ||
		    (at->hash == hash &&
			expr_equal(set->all.at[at->number - 1], e)))
			return at;
	}
}

int expr_set_find(const ExprSet *set, const Expr *e)
{
	if (set->slot)
		return slot_of(set, expr_hash(e), e)->number - 1;
	for (int i = 0; i < set->all.n; i++)
		if (expr_equal(set->all.at[i], e))
			return i;
	return -1;
}

/* At most half of the slots are taken. */
static void grow(Arena *arena, ExprSet *set)
{
	set->nslots = 4 * set->all.n;
	set->slot = NEW_N(arena, ExprSlot, set->nslots);
	for (int i = 0; i < set->all.n; i++) {
		const Expr *e = set->all.at[i];
		uint64_t hash = expr_hash(e);
		*slot_of(set, hash, e) = (ExprSlot){hash, i + 1};
	}
}

bool expr_set_add(Arena *arena, ExprSet *set, const Expr *e)
{
	if (set->slot ? set->all.n * 2 == set->nslots : set->all.n == FEW)
		grow(arena, set);
	if (!set->slot) {
		if (expr_set_find(set, e) >= 0)
			return false;
	} else {
		uint64_t hash = expr_hash(e);
		ExprSlot *at = slot_of(set, hash, e);
		if (at->number)
			return false;
		*at = (ExprSlot){hash, set->all.n + 1};
	}
	vec_push(arena, &set->all, (Expr *)(uintptr_t)e);
	return true;
}

ExprSet expr_set_of(Arena *arena, const ExprVec *all)
{
	ExprSet set = {0};
	for (int i = 0; i < all->n; i++)
		expr_set_add(arena, &set, all->at[i]);
	return set;
}
