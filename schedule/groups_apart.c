/* Reductions that have a group each, though they are no products.
 *
 *     d[c, y, x] = sum over r, s of p[c, y + r, x + s]*w[c, r, s]
 *     g[c]       = sum over y, x of d[c, y, x]           over what d has made
 *
 *     m[i]    = max over j of x[i, j]
 *     z[i]    = sum over j of exp(x[i, j] - m[i])        m stands still
 *
 * Where the second of two reductions goes over results of the first, one by one,
 * the loops of both are the same only as far as one of them is made slower: rows
 * of g are planes of d.  Where it does not, as in a softmax, they go over the same
 * rows.  Whether the former are better apart is asked of the analytic model, once
 * for a group between products: of its best candidate, and of those of the groups
 * that it would be.  The machine is the same whatever the target is, so that a
 * group's records are found by every target. */
#include <math.h>
#include <string.h>

#include "schedule/groups.h"
#include "schedule/internal.h"

enum { TRIES = 200, NONE = -1 };

/* What parts read is read by both: of less than that the model is not sure. */
static const double PARTS_LESS = 0.92;

static const Machine judge = {.threads = 1,
    .vector_bytes = 32,
    .vector_registers = 16,
    .fma = true,
    .splat = true,
    .masked = true,
    .gather = true,
    .f16c = true,
    .fma_per_cycle = 2,
    .fma_latency = 4,
    .l1_bytes = 32 << 10,
    .l2_bytes = 1 << 20,
    .l3_bytes = 16 << 20,
    .l1_ways = 8,
    .line_bytes = 64,
    .clock_ghz = 3};

/* --- over what another has made ------------------------------------------------ */

typedef struct {
	const Groups *groups;
	bool **moves; /* by block: axes that move with the reduction in hand; NULL:
			 nothing of the block does */
	bool *apart;
	Arena *arena;
	int block; /* whose reads are looked at */
} Look;

/* A reduction is apart where its results are told apart by what moves; of another
 * block what moves with it is noted. */
static bool look_at_read(Expr *e, void *context)
{
	Look *look = context;
	const Groups *g = look->groups;
	const Program *p = g->whole;
	int from = e->op == OP_READ ? p->buffers[e->id].block : NONE;
	if (from < 0 || g->group_of[from] != g->group_of[look->block])
		return true;
	const Block *b = &p->blocks[from];
	bool *uses = NEW_N(
	    look->arena, bool, p->blocks[look->block].naxes * b->nspatial);
	for (int i = 0; i < e->narg; i++) {
		bool moves = false;
		int n = p->blocks[look->block].naxes;
		expr_mark_axes(e->arg[i], uses + i * n);
		for (int a = 0; a < n; a++)
			moves |= uses[i * n + a] && look->moves[look->block][a];
		if (!moves || b->axes[i].extent == 1)
			continue;
		if (!look->moves[from])
			look->moves[from] =
			    NEW_N(look->arena, bool, b->naxes);
		look->moves[from][i] = true;
		look->apart[from] |= block_reduces(b);
	}
	return true;
}

static void look_from(Look *look, int reduction)
{
	const Program *p = look->groups->whole;
	const Block *b = &p->blocks[reduction];
	memset(look->moves, 0, sizeof *look->moves * (size_t)p->nblocks);
	look->moves[reduction] = NEW_N(look->arena, bool, b->naxes);
	for (int a = b->nspatial; a < b->naxes; a++)
		look->moves[reduction][a] = true;
	for (int i = reduction; i >= 0; i--) {
		look->block = i;
		if (look->moves[i] &&
		    (i == reduction || !block_reduces(&p->blocks[i])))
			expr_walk(p->blocks[i].body, look_at_read, look);
	}
}

bool *apart_may(Arena *arena, const Groups *joined)
{
	const Program *p = joined->whole;
	Arena *scratch = arena_new();
	bool *product = NEW_N(scratch, bool, joined->n);
	Look look = {.groups = joined,
	    .moves = NEW_N(scratch, bool *, p->nblocks),
	    .apart = NEW_N(arena, bool, p->nblocks),
	    .arena = scratch};
	bool any = false;
	for (int i = 0; i < p->nblocks; i++)
		product[joined->group_of[i]] |= rows_is_product(&p->blocks[i]);
	for (int i = 0; i < p->nblocks && !p->schedule_text; i++)
		if (block_reduces(&p->blocks[i]) &&
		    !product[joined->group_of[i]])
			look_from(&look, i);
	arena_free(scratch);
	for (int i = 0; i < p->nblocks; i++)
		any |= look.apart[i];
	return any ? look.apart : NULL;
}

/* --- what the model says --------------------------------------------------------- */

/* Of the best of a few candidates; infinite where there is none. */
static double seconds_of(const Program *program)
{
	Arena *arena = arena_new();
	Error ignored = {0};
	Candidate first;
	double seconds = INFINITY;
	Space *space = space_new(arena, program, &judge, &ignored);
	if (space && space_first(space, TRIES, &first))
		space_analytic(space, &first, 1, &seconds);
	arena_free(arena);
	return seconds;
}

/* Each of equal groups once. */
static double seconds_of_group(const Groups *g, int group, double *known)
{
	int first = g->groups[group].same_as;
	if (known[first] < 0)
		known[first] = seconds_of(g->groups[first].program);
	return known[first];
}

static double *nothing_known(Arena *arena, int n)
{
	double *known = NEW_N(arena, double, n);
	for (int i = 0; i < n; i++)
		known[i] = -1;
	return known;
}

static bool reduces(const Program *p)
{
	int i = p->nblocks;
	while (--i >= 0 && !block_reduces(&p->blocks[i]))
		;
	return i >= 0;
}

/* Outputs without sums are better made side by side, of what both read. */
bool apart_parts(const Groups *joined, const Groups *parts)
{
	Arena *arena = arena_new();
	double *known = nothing_known(arena, parts->n);
	double sum = 0;
	for (int i = 0; i < parts->n; i++)
		sum += reduces(parts->groups[i].program)
		    ? seconds_of_group(parts, i, known)
		    : INFINITY;
	arena_free(arena);
	return sum < PARTS_LESS * seconds_of(joined->groups[0].program);
}

void apart_choose(const Groups *joined, const Groups *cut, bool *apart)
{
	int n = joined->whole->nblocks;
	Arena *arena = arena_new();
	bool *asked = NEW_N(arena, bool, joined->n);
	bool *counted = NEW_N(arena, bool, cut->n);
	double *sum = NEW_N(arena, double, joined->n);
	double *known_joined = nothing_known(arena, joined->n);
	double *known_cut = nothing_known(arena, cut->n);
	for (int i = 0; i < n; i++)
		asked[joined->group_of[i]] |= apart[i];
	for (int i = 0; i < n; i++) {
		int from = joined->group_of[i], to = cut->group_of[i];
		if (asked[from] && !counted[to])
			sum[from] += seconds_of_group(cut, to, known_cut);
		counted[to] |= asked[from];
	}
	for (int i = 0; i < n; i++) {
		int from = joined->group_of[i];
		if (apart[i])
			apart[i] = sum[from] <
			    seconds_of_group(joined, from, known_joined);
	}
	arena_free(arena);
}
