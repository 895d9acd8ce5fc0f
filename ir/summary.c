#include "ir/summary.h"

#include <string.h>

#include "lib/hash.h"

typedef struct {
	const Expr *of; /* NULL: the slot is free */
	Summary *summary;
} Slot;

typedef struct {
	uint64_t hash;
	const AxisSet *set; /* NULL: the slot is free */
} SetSlot;

struct Summaries {
	Arena *arena;
	Slot *slot; /* open addressing */
	int nslots, n;
	SetSlot *set;
	int nset_slots, nsets;
	int *room; /* for a union on its way */
	int nroom;
};

enum { SLOTS_LEAST = 64 };

static const AxisSet none;

Summaries *summaries_new(Arena *arena)
{
	Summaries *s = NEW(arena, Summaries);
	s->arena = arena;
	s->nslots = s->nset_slots = SLOTS_LEAST;
	s->slot = NEW_N(arena, Slot, s->nslots);
	s->set = NEW_N(arena, SetSlot, s->nset_slots);
	return s;
}

/* --- sets of axes ------------------------------------------------------------ */

static void grow_sets(Summaries *s)
{
	SetSlot *old = s->set;
	int n = s->nset_slots;
	s->nset_slots = n * 2;
	s->set = NEW_N(s->arena, SetSlot, s->nset_slots);
	for (int i = 0; i < n; i++) {
		unsigned at = (unsigned)old[i].hash;
		if (!old[i].set)
			continue;
		while (s->set[at % (unsigned)s->nset_slots].set)
			at++;
		s->set[at % (unsigned)s->nset_slots] = old[i];
	}
}

/* The one set that has these axes. */
static const AxisSet *set_of(Summaries *s, const int *axis, int n)
{
	size_t bytes = sizeof *axis * (size_t)n;
	if (!n)
		return &none;
	if (s->nsets * 2 >= s->nset_slots)
		grow_sets(s);
	uint64_t hash = hash64(axis, bytes, 0);
	SetSlot *at;
	for (unsigned i = (unsigned)hash;; i++) {
		at = &s->set[i % (unsigned)s->nset_slots];
		if (!at->set)
			break;
		if (at->hash == hash && at->set->n == n &&
		    !memcmp(at->set->axis, axis, bytes))
			return at->set;
	}
	AxisSet *set = NEW(s->arena, AxisSet);
	*set = (AxisSet){n, arena_memdup(s->arena, axis, bytes)};
	*at = (SetSlot){hash, set};
	s->nsets++;
	return set;
}

bool axis_set_has(const AxisSet *set, int axis)
{
	int low = 0, high = set->n;
	while (low < high) {
		int middle = (low + high) / 2;
		if (set->axis[middle] < axis)
			low = middle + 1;
		else
			high = middle;
	}
	return low < set->n && set->axis[low] == axis;
}

const AxisSet *axis_set_union(Summaries *s, const AxisSet *a, const AxisSet *b)
{
	int i = 0, k = 0, n = 0;
	if (a == b || !b->n)
		return a;
	if (!a->n)
		return b;
	if (a->n + b->n > s->nroom) {
		s->nroom = 2 * (a->n + b->n);
		s->room = NEW_N(s->arena, int, s->nroom);
	}
	while (i < a->n || k < b->n) {
		bool of_a = k == b->n || (i < a->n && a->axis[i] <= b->axis[k]);
		bool of_b = i == a->n || (k < b->n && b->axis[k] <= a->axis[i]);
		s->room[n++] = of_a ? a->axis[i] : b->axis[k];
		i += of_a;
		k += of_b;
	}
	return n == a->n ? a : n == b->n ? b : set_of(s, s->room, n);
}

/* --- summaries --------------------------------------------------------------- */

static unsigned place_of(const Expr *e)
{
	return (unsigned)hash_mix((uint64_t)(uintptr_t)e);
}

static Slot *slot_of(const Summaries *s, const Expr *e)
{
	unsigned at = place_of(e) & (unsigned)(s->nslots - 1);
	while (s->slot[at].of && s->slot[at].of != e)
		at = (at + 1) & (unsigned)(s->nslots - 1);
	return &s->slot[at];
}

static void grow_slots(Summaries *s)
{
	Slot *old = s->slot;
	int n = s->nslots;
	s->nslots = n * 2;
	s->slot = NEW_N(s->arena, Slot, s->nslots);
	for (int i = 0; i < n; i++)
		if (old[i].of)
			*slot_of(s, old[i].of) = old[i];
}

static void add_below(Summaries *s, Summary *to, const Expr *e)
{
	const Summary *a = summary_of(s, e);
	to->hash = hash_mix(to->hash + a->hash); /* as expr_hash */
	to->alike = hash_mix(to->alike + a->alike);
	to->axes = axis_set_union(s, to->axes, a->axes);
	to->reads |= a->reads;
	to->reduces |= a->reduces;
	to->flops += a->flops;
	to->function |= a->function;
	to->dear |= a->dear;
	to->division |= a->division;
	to->division_by_data |= a->division_by_data;
}

/* What ops.def counts of one evaluation, and what joins or chooses. */
static bool is_instruction(Op op)
{
	return (op_flops(op) && op != OP_REDUCE) || op == OP_AND ||
	    op == OP_OR || op == OP_IF;
}

/* With what is below; a condition on axes alone is settled by loops. */
static int flops_with(Summaries *s, const Summary *below, const Expr *e)
{
	bool is_settled = e->type == DT_BOOL && !below->reads;
	bool chooses = e->op == OP_IF && !summary_of(s, e->arg[0])->reads;
	if (is_settled)
		return 0;
	return below->flops + (is_instruction(e->op) && !chooses);
}

static void add_own(Summaries *s, Summary *to, const Expr *e)
{
	bool root = e->op == OP_SQRT || e->op == OP_RSQRT;
	bool function = op_kind(e->op) == OPKIND_FUNCTION;
	to->flops = flops_with(s, to, e);
	to->function |= function;
	to->dear |= function && !root;
	to->division |= e->op == OP_DIV;
	to->division_by_data |=
	    e->op == OP_DIV && summary_of(s, e->arg[1])->reads;
}

const Summary *summary_of(Summaries *s, const Expr *e)
{
	Slot *slot = slot_of(s, e);
	if (slot->of)
		return slot->summary;
	Summary *to = NEW(s->arena, Summary);
	*to = (Summary){.hash = expr_node_hash(e), .axes = &none};
	to->alike = to->hash;
	if (e->op == OP_AXIS) {
		to->axes = set_of(s, &e->id, 1);
		to->alike = OP_AXIS;
	}
	for (int i = 0; i < e->narg; i++)
		add_below(s, to, e->arg[i]);
	to->reduces |= e->op == OP_REDUCE;
	to->reads |= e->op == OP_READ || e->op == OP_REDUCE;
	if (e->op == OP_READ || e->op == OP_REDUCE || e->type == DT_INDEX) {
		to->flops = 0;
		to->function = to->dear = false;
		to->division = to->division_by_data = false;
	} else {
		add_own(s, to, e);
	}
	if (s->n++ * 2 >= s->nslots)
		grow_slots(s);
	*slot_of(s, e) = (Slot){e, to};
	return to;
}

bool summary_equal(Summaries *s, const Expr *a, const Expr *b)
{
	return a == b ||
	    (summary_of(s, a)->hash == summary_of(s, b)->hash &&
		expr_equal(a, b));
}
