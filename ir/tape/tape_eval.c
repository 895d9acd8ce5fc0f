/* A tape run for one assignment of the slots, cut down to what is used,
 * and as text. */
#include "ir/tape/tape_internal.h"

#include <stdlib.h>
#include <string.h>

/* --- evaluation ---------------------------------------------------------- */

static inline int64_t eval_node(const TapeNode *d, const TapeArg *arg,
    const int64_t *slots, const int64_t *values)
{
	int64_t v = d->value, a, b;
	switch (d->kind) {
	case TAPE_CONST:
		return v;
	case TAPE_SLOT:
		return slots[v];
	case TAPE_PRODUCT:
		v = wrap_mul(values[arg[0].h], values[arg[1].h]);
		for (int i = 2; i < d->n; i++)
			v = wrap_mul(v, values[arg[i].h]);
		return v;
	case TAPE_SUM:
		for (int i = 0; i < d->n; i++)
			v = wrap_add(
			    v, wrap_mul(arg[i].coefficient, values[arg[i].h]));
		return v;
	case TAPE_CEILDIV:
	case TAPE_MIN:
	case TAPE_MAX:
		break;
	}
	a = values[arg[0].h];
	b = values[arg[1].h];
	if (d->kind == TAPE_CEILDIV)
		return ceil_div(a, b);
	return (d->kind == TAPE_MIN) == (a < b) ? a : b;
}

void tape_eval(const Tape *tape, const int64_t *slots, int64_t *values)
{
	const TapeNode *nodes = tape->nodes.at;
	const TapeArg *args = tape->args.at;
	for (Handle h = 0; h < tape->nodes.n; h++)
		values[h] = eval_node(
		    &nodes[h], args + nodes[h].first, slots, values);
}

void tape_eval_again(const Tape *tape, uint64_t changed, Handle first,
    Handle end, int64_t *values)
{
	enum { BITS = 64 };
	const TapeNode *nodes = tape->nodes.at;
	const TapeArg *args = tape->args.at;
	assert(first >= 0 && end <= tape->nodes.n);
	for (Handle from = first / BITS * BITS; from < end; from += BITS) {
		const uint64_t *by_bit =
		    tape->dependents + from / BITS * tape->nbits;
		uint64_t again = 0;
		for (uint64_t bits = changed; bits; bits &= bits - 1)
			again |= by_bit[__builtin_ctzll(bits)];
		if (from < first)
			again = again >> (first - from) << (first - from);
		if (end - from < BITS)
			again &= ((uint64_t)1 << (end - from)) - 1;
		for (; again; again &= again - 1) {
			Handle h = from + __builtin_ctzll(again);
			values[h] = eval_node(
			    &nodes[h], args + nodes[h].first, values, values);
		}
	}
}

uint64_t tape_slots(const Tape *tape, Handle h)
{
	return tape_node(tape, h)->slots;
}

/* --- text ---------------------------------------------------------------- */

static void print_sum(Buf *out, const Tape *tape, Handle h)
{
	const TapeNode *d = tape_node(tape, h);
	const TapeArg *arg = tape_args(tape, h);
	for (int i = 0; i < d->n; i++) {
		int64_t k = arg[i].coefficient;
		if (i)
			buf_puts(out, k < 0 ? " - " : " + ");
		else if (k < 0)
			buf_putc(out, '-');
		if (k != 1 && k != -1)
			buf_printf(out, "%lld*", k < 0 ? -(long long)k : k);
		tape_print(out, tape, arg[i].h);
	}
	if (d->value)
		buf_printf(out, " %c %lld", d->value < 0 ? '-' : '+',
		    d->value < 0 ? -(long long)d->value : d->value);
}

void tape_print(Buf *out, const Tape *tape, Handle h)
{
	static const char *const names[] = {
	    [TAPE_CEILDIV] = "ceildiv", [TAPE_MIN] = "min", [TAPE_MAX] = "max"};
	const TapeNode *d = tape_node(tape, h);
	const TapeArg *arg = tape_args(tape, h);
	switch (d->kind) {
	case TAPE_CONST:
		buf_printf(out, "%lld", (long long)d->value);
		return;
	case TAPE_SLOT:
		buf_printf(out, "s%lld", (long long)d->value);
		return;
	case TAPE_SUM:
		print_sum(out, tape, h);
		return;
	case TAPE_PRODUCT:
	case TAPE_CEILDIV:
	case TAPE_MIN:
	case TAPE_MAX:
		break;
	}
	bool product = d->kind == TAPE_PRODUCT;
	if (!product)
		buf_printf(out, "%s(", names[d->kind]);
	for (int i = 0; i < d->n; i++) {
		if (i)
			buf_puts(out, product ? "*" : ", ");
		bool wrap =
		    product && tape_node(tape, arg[i].h)->kind == TAPE_SUM;
		if (wrap)
			buf_putc(out, '(');
		tape_print(out, tape, arg[i].h);
		if (wrap)
			buf_putc(out, ')');
	}
	if (!product)
		buf_putc(out, ')');
}

/* --- extraction ------------------------------------------------------------ */

typedef struct {
	const Tape *from;
	Tape *to;
	Handle *renamed; /* -1: not yet */
	IntVec left;	 /* those to be renamed, their arguments first */
	IntVec done;
} Extraction;

/* One whose arguments are there; slots are. */
static Handle extract_node(Extraction *x, Handle h)
{
	const TapeNode *d = tape_node(x->from, h);
	Tape *to = x->to;
	TapeNode node = *d;
	node.first = to->args.n;
	node.slots = 0;
	if (d->kind == TAPE_SLOT) {
		assert(d->value < to->nslots);
		return (Handle)d->value;
	}
	for (int i = 0; i < d->n; i++) {
		TapeArg arg = tape_args(x->from, h)[i];
		arg.h = x->renamed[arg.h];
		node.slots |= tape_slots(to, arg.h);
		vec_push(to->arena, &to->args, arg);
	}
	vec_push(to->arena, &to->nodes, node);
	return to->nodes.n - 1;
}

static void extract_from(Extraction *x, Arena *scratch, Handle root)
{
	vec_push(scratch, &x->left, root);
	while (x->left.n) {
		Handle h = x->left.at[x->left.n - 1];
		const TapeNode *d = tape_node(x->from, h);
		int waits = 0;
		for (int i = 0; i < d->n && x->renamed[h] < 0; i++) {
			Handle arg = tape_args(x->from, h)[i].h;
			if (x->renamed[arg] >= 0)
				continue;
			vec_push(scratch, &x->left, arg);
			waits++;
		}
		if (waits)
			continue;
		if (x->renamed[h] < 0) {
			x->renamed[h] = extract_node(x, h);
			vec_push(scratch, &x->done, h);
		}
		x->left.n--;
	}
}

static void find_dependents(Tape *tape)
{
	int n = tape->nodes.n, most = TAPE_SLOT_LAST + 1;
	tape->nbits = tape->nslots < most ? tape->nslots : most;
	tape->dependents =
	    NEW_N(tape->arena, uint64_t, (n + 63) / 64 * tape->nbits);
	for (Handle h = tape->nslots; h < n; h++) {
		uint64_t *by_bit = tape->dependents + h / 64 * tape->nbits;
		uint64_t bits = tape->nodes.at[h].slots;
		for (; bits; bits &= bits - 1)
			by_bit[__builtin_ctzll(bits)] |= (uint64_t)1 << h % 64;
	}
}

Tape *tape_extract(
    Arena *arena, const Tape *tape, int nslots, Handle *const *places, int n)
{
	Arena *scratch = arena_new();
	Tape *to = NEW(arena, Tape);
	Extraction x = {.from = tape,
	    .to = to,
	    .renamed = memo_renamed(tape->memo, tape->nodes.n)};
	to->arena = scratch;
	to->nslots = nslots;
	for (int slot = 0; slot < nslots; slot++)
		vec_push(scratch, &to->nodes,
		    (TapeNode){.kind = TAPE_SLOT,
			.value = slot,
			.slots = tape_slot_bit(slot)});
	for (int i = 0; i < n; i++) {
		extract_from(&x, scratch, *places[i]);
		*places[i] = x.renamed[*places[i]];
	}
	for (int i = 0; i < x.done.n; i++)
		x.renamed[x.done.at[i]] = -1;
	to->arena = arena;
	to->nodes.at = arena_memdup(
	    arena, to->nodes.at, sizeof *to->nodes.at * (size_t)to->nodes.n);
	to->args.at = arena_memdup(
	    arena, to->args.at, sizeof *to->args.at * (size_t)to->args.n);
	find_dependents(to);
	arena_free(scratch);
	return to;
}
