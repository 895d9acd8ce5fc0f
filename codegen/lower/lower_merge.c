/* Lanes of a vector that are stored one by one, side by side, are stored
 * together, after the function is complete:
 *
 *     a = extract v 0    store y[8*i], a
 *     b = extract v 1    store y[8*i + 1], b     -->     store y[8*i], v
 *
 * Results of a reduction whose lanes are its steps come so
 * (lower_horizontal.c). */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

bool low_touches_memory(LowOpcode op)
{
	switch (op) {
	case LOW_LOAD:
	case LOW_LOAD_MASKED:
	case LOW_GATHER:
	case LOW_STORE:
	case LOW_STORE_MASKED:
	case LOW_SCATTER:
	case LOW_STREAM: return true;
	default: return false;
	}
}

typedef struct {
	Lower *l;
	Arena *scratch;
	int *times;		 /* by temporary: how often it is assigned */
	const LowNode **extract; /* that assigns it; NULL: another operation */
} Merge;

static void note(Merge *j, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		note(j, &n->body);
		note(j, &n->other);
		if (n->kind != LOWNODE_OP || n->dst < 0)
			continue;
		j->times[n->dst]++;
		if (n->op == LOW_EXTRACT)
			j->extract[n->dst] = n;
	}
}

/* The lane of a vector that is stored; NULL: something else. */
static const LowNode *stored_lane(const Merge *j, const LowNode *n)
{
	if (n->kind != LOWNODE_OP || n->op != LOW_STORE)
		return NULL;
	const LowNode *lane = j->extract[n->arg[0]];
	return lane && j->times[n->arg[0]] == 1 && j->times[lane->arg[0]] == 1
	    ? lane
	    : NULL;
}

/* Is it the store of the k-th lane after that of `first`, k elements on? */
static bool follows(
    const Merge *j, const LowNode *n, const LowNode *first, int k)
{
	const LowNode *a = stored_lane(j, first), *b = stored_lane(j, n);
	LowAffine at = first->address;
	at.constant += k;
	return b && a->arg[0] == b->arg[0] && b->i == a->i + k &&
	    n->buffer == first->buffer && low_affine_equal(at, n->address);
}

/* May a store to that address be done after the node as well? */
static bool lets_pass(const LowNode *n, const LowAffine *address)
{
	if (n->kind == LOWNODE_COMMENT)
		return true;
	if (n->kind != LOWNODE_OP || n->dst < 0 || low_touches_memory(n->op))
		return false;
	for (int i = 0; i < address->n; i++)
		if (address->terms[i].temp == n->dst)
			return false;
	return true;
}

/* How many stores there are from `first` on that can be one: a power of two.
 * Where they stand: at[]. */
static int run_from(const Merge *j, const LowBody *body, int first, IntVec *at)
{
	const LowNode *store = body->at[first];
	int n = 1;
	at->n = 0;
	vec_push(j->l->arena, at, first);
	for (int i = first + 1; i < body->n; i++)
		if (follows(j, body->at[i], store, at->n))
			vec_push(j->l->arena, at, i);
		else if (!lets_pass(body->at[i], &store->address))
			break;
	while (n * 2 <= at->n)
		n *= 2;
	return n;
}

static void store_lanes(Merge *j, LowBody *to, const LowNode *first, int n)
{
	LowFunction *f = j->l->f;
	const LowNode *lane = stored_lane(j, first);
	int v = lane->arg[0], *order = NEW_N(j->l->arena, int, n);
	assert(lane->i + n <= f->temps.at[v].lanes);
	if (n < f->temps.at[v].lanes) {
		for (int i = 0; i < n; i++)
			order[i] = (int)lane->i + i;
		int part = low_temp(
		    j->l->arena, f, f->temps.at[v].type, n, "part");
		low_op(j->l->arena, to, LOW_SHUFFLE, part, v, -1, -1)->shuffle =
		    order;
		v = part;
	}
	LowNode *store = low_op(j->l->arena, to, LOW_STORE, -1, v, -1, -1);
	store->buffer = first->buffer;
	store->address = first->address;
}

static void merge(Merge *j, LowBody *body)
{
	LowBody to = {0};
	IntVec at = {0};
	bool *gone = NEW_N(j->scratch, bool, body->n + 1), any = false;
	LowNode **first = NEW_N(j->scratch, LowNode *, body->n + 1);
	int *lanes = NEW_N(j->scratch, int, body->n + 1);
	for (int i = 0; i < body->n; i++) {
		merge(j, &body->at[i]->body);
		merge(j, &body->at[i]->other);
		if (gone[i] || !stored_lane(j, body->at[i]))
			continue;
		int n = run_from(j, body, i, &at);
		for (int k = 0; k < n && n > 1; k++)
			gone[at.at[k]] = true;
		first[at.at[n - 1]] = body->at[i];
		lanes[at.at[n - 1]] = n;
		any |= gone[i];
	}
	for (int i = 0; i < body->n && any; i++) {
		if (!gone[i])
			vec_push(j->l->arena, &to, body->at[i]);
		else if (lanes[i])
			store_lanes(j, &to, first[i], lanes[i]);
		j->l->part->folded |= gone[i];
	}
	if (any)
		*body = to;
}

void merge_stores(Lower *l)
{
	Arena *scratch = arena_new();
	Merge j = {.l = l,
	    .scratch = scratch,
	    .times = NEW_N(scratch, int, l->f->temps.n + 1),
	    .extract = NEW_N(scratch, const LowNode *, l->f->temps.n + 1)};
	note(&j, &l->f->body);
	merge(&j, &l->f->body);
	arena_free(scratch);
}
