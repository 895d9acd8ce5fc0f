/* Vectors of which shuffles alone read, each half as many lanes, are read as halves:
 *
 *     a = load x[i]          (16 lanes)
 *     s = shuffle a [1, 3, 5, ...]
 *                                  ->     l = load x[i]          (8 lanes)
 *                                         h = load x[i + 8]
 *                                         s = shuffle l, h [1, 3, 5, ...]
 *
 * One instruction does either, but while there is one of 64 bytes Intel's processors
 * compute at two places, not three.  LLVM does the same, gcc and clang do not. */
#include "ir/lowered/lowered.h"

typedef struct {
	Arena *arena;
	LowFunction *to;
	LowDefs defs;
	int bytes;
	bool *whole;	/* by temporary: something else reads it */
	int (*half)[2]; /* 0: none */
} Halves;

/* Of lanes that a machine puts anywhere, from two vectors as from one. */
static bool is_of_both(const Halves *h, const LowNode *n)
{
	const LowTemp *d = &h->to->temps.at[n->dst];
	int lanes = d->lanes, lower = 0, upper = 0;
	if (n->op != LOW_SHUFFLE || n->arg[1] >= 0 ||
	    dtype_bytes(d->type) < 4 ||
	    h->to->temps.at[n->arg[0]].lanes != 2 * lanes)
		return false;
	for (int l = 0; l < lanes; l++) {
		lower += n->shuffle[l] >= 0 && n->shuffle[l] < lanes;
		upper += n->shuffle[l] >= lanes;
	}
	return lower && upper;
}

static void note_read(void *context, const LowNode *n, int arg)
{
	Halves *h = context;
	if (n->dst < 0 || !is_of_both(h, n))
		h->whole[n->arg[arg]] = true;
}

static void put_halves(Halves *h, const LowNode *n, LowBody *out)
{
	const LowTemp d = h->to->temps.at[n->dst];
	for (int i = 0; i < 2; i++) {
		int part =
		    low_temp(h->arena, h->to, d.type, d.lanes / 2, d.name);
		LowNode *load = arena_memdup(h->arena, n, sizeof *n);
		load->dst = h->half[n->dst][i] = part;
		load->address = low_affine_add(
		    h->arena, n->address, low_affine_const(i * d.lanes / 2), 1);
		vec_push(h->arena, out, load);
	}
}

static void halves_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Halves *h = context;
	for (int i = 0; i < n; i++) {
		LowNode *node = nodes[i];
		int d = node->dst;
		if (node->op == LOW_LOAD && h->defs.assigned[d] == 1 &&
		    !h->whole[d] &&
		    h->to->temps.at[d].lanes *
			    dtype_bytes(h->to->temps.at[d].type) ==
			h->bytes) {
			put_halves(h, node, out);
			continue;
		}
		if (node->op == LOW_SHUFFLE && h->half[node->arg[0]][0]) {
			int from = node->arg[0];
			node = arena_memdup(h->arena, node, sizeof *node);
			node->arg[0] = h->half[from][0];
			node->arg[1] = h->half[from][1];
		}
		vec_push(h->arena, out, node);
	}
}

const LowFunction *low_load_halves(
    Arena *arena, const LowFunction *f, int bytes)
{
	int n = f->temps.n + 1;
	Halves h = {arena, low_like(arena, f), low_defs(arena, f), bytes,
	    NEW_N(arena, bool, n), NULL};
	h.half = arena_alloc(arena, n * sizeof *h.half);
	low_each_read(&f->body, note_read, &h);
	low_each_run(
	    arena, &f->body, low_is_operation, halves_run, &h, &h.to->body);
	return h.to;
}
