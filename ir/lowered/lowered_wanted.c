/* Of lanes of integers only the bits that something reads are made:
 *
 *     l = mul w, 256                    (w: i16)
 *     s = floordiv l, 256
 *     a = and s, 15                      a = and w, 15
 *     t = floordiv w, 256
 *     u = and t, 15                ->    t = floordiv w, 16
 *     b = mul u, 16                      b = and t, 240
 *     o = or a, b                        o = or a, b
 *
 * A shift there and one back are one by the difference, or none, where what either
 * lost or filled in is not read; a mask in between stands behind.  What a mask or a
 * division's rest clears, and nobody reads, it need not.  LLVM does the same by
 * itself, and so does clang; gcc does not for vectors. */
#include "ir/lowered/lowered_run.h"

typedef struct {
	Arena *arena;
	LowFunction *to;
	LowDefs defs;
	/* by temporary */
	uint64_t *wanted; /* bits of any lane that are read */
	int *reads;
} Wanted;

/* --- numbers and shifts ----------------------------------------------------- */

static const LowTemp *temp_of(const Wanted *p, int temp)
{
	return &p->to->temps.at[temp];
}

static int width_of(const Wanted *p, int temp)
{
	return 8 * dtype_bytes(temp_of(p, temp)->type);
}

static uint64_t low_bits(int n)
{
	return n >= 64 ? UINT64_MAX : (UINT64_C(1) << n) - 1;
}

static bool is_integers(const Wanted *p, int temp)
{
	return temp >= 0 && temp_of(p, temp)->lanes > 1 &&
	    dtype_is_int(temp_of(p, temp)->type);
}

/* The bits of what is the same number in all lanes. */
static bool is_number(const Wanted *p, int temp, uint64_t *bits)
{
	const LowNode *n = low_number(&p->defs, temp);
	if (!n)
		return false;
	*bits = (uint64_t)n->i & low_bits(width_of(p, temp));
	return true;
}

static int log2_of(uint64_t power)
{
	int k = 0;
	while (power >> k > 1)
		k++;
	return power == UINT64_C(1) << k ? k : -1;
}

/* By how many bits to the left it shifts each lane; to the right, fewer than 0. */
static bool is_shift(const Wanted *p, const LowNode *n, int *by)
{
	uint64_t number;
	if (!n || !is_integers(p, n->dst) || !is_number(p, n->arg[1], &number))
		return false;
	bool left = n->op == LOW_SHL || n->op == LOW_MUL;
	if (n->op == LOW_SHL || n->op == LOW_SHR)
		*by = (int)(number % (uint64_t)width_of(p, n->dst));
	else if (n->op == LOW_MUL || n->op == LOW_FLOORDIV)
		*by = log2_of(number);
	else
		return false;
	if (*by < 1)
		return false;
	*by = left ? *by : -*by;
	return true;
}

/* The bits that a mask, or a rest, leaves. */
static bool is_mask(const Wanted *p, const LowNode *n, uint64_t *mask)
{
	uint64_t number;
	if (!n || !is_integers(p, n->dst) || !is_number(p, n->arg[1], &number))
		return false;
	*mask = n->op == LOW_AND ? number : number - 1;
	return n->op == LOW_AND || (n->op == LOW_MOD && log2_of(number) >= 0);
}

/* --- what is read ----------------------------------------------------------- */

/* Bits that are read of what is shifted.  Those from `width` on are its sign. */
static uint64_t before_shift(uint64_t wanted, int by, int width)
{
	if (by >= 0)
		return wanted >> by;
	uint64_t bits = wanted << -by & low_bits(width);
	bool fills = wanted & ~low_bits(width + by);
	return fills ? bits | UINT64_C(1) << (width - 1) : bits;
}

static uint64_t before_convert(const Wanted *p, const LowNode *n)
{
	int from = width_of(p, n->arg[0]);
	uint64_t wanted = p->wanted[n->dst], bits = wanted & low_bits(from);
	return bits == wanted ? bits : bits | UINT64_C(1) << (from - 1);
}

static uint64_t wanted_by(const Wanted *p, const LowNode *n, int arg)
{
	uint64_t all = low_bits(width_of(p, n->arg[arg])), bits;
	int by;
	if (n->dst < 0 || p->defs.only[n->dst] != n || !is_integers(p, n->dst))
		return all;
	uint64_t wanted = p->wanted[n->dst];
	if (arg == 0 && is_shift(p, n, &by))
		return before_shift(wanted, by, width_of(p, n->dst));
	if (arg == 0 && is_mask(p, n, &bits))
		return wanted & bits;
	switch (n->op) {
	case LOW_COPY:
	case LOW_SHUFFLE:
	case LOW_AND:
	case LOW_OR:
	case LOW_XOR: return wanted;
	case LOW_SELECT: return arg ? wanted : all;
	case LOW_CONVERT:
		return is_integers(p, n->arg[0]) ? before_convert(p, n) : all;
	case LOW_ADD:
	case LOW_SUB:
	case LOW_MUL:
	case LOW_NEG: /* carries go up */
		for (by = 0; by < 64 && wanted >> by; by++)
			;
		return low_bits(by);
	default: return all;
	}
}

static void note_bits(void *context, const LowNode *n, int arg)
{
	Wanted *p = context;
	if (!is_integers(p, n->arg[arg]))
		return;
	p->wanted[n->arg[arg]] |= wanted_by(p, n, arg);
	p->reads[n->arg[arg]]++;
}

/* --- what is left ----------------------------------------------------------- */

static int put_number(Wanted *p, int like, uint64_t value, LowBody *out)
{
	const LowTemp *t = temp_of(p, like);
	DType type = t->type;
	int d = low_temp(p->arena, p->to, type, t->lanes, "n");
	low_op(p->arena, out, LOW_CONST, d, -1, -1, -1)->i =
	    scalar_wrap(type, (int64_t)value);
	return d;
}

/* dst = x shifted by so many bits. */
static void put_shift(Wanted *p, int dst, int x, int by, LowBody *out)
{
	if (!by) {
		low_op(p->arena, out, LOW_COPY, dst, x, -1, -1);
		return;
	}
	uint64_t power = UINT64_C(1) << (by < 0 ? -by : by);
	int number = put_number(p, dst, power, out);
	low_op(
	    p->arena, out, by < 0 ? LOW_FLOORDIV : LOW_MUL, dst, x, number, -1);
}

/* A shift of one the other way.  A mask in between, which nothing else reads, says
 * what is read of both; else the reader does. */
static bool put_shifts(Wanted *p, const LowNode *n, LowBody *out)
{
	int by, first, width = width_of(p, n->dst);
	uint64_t mask, read = p->wanted[n->dst];
	if (!is_shift(p, n, &by))
		return false;
	const LowNode *inner = p->defs.only[n->arg[0]];
	bool masked = is_mask(p, inner, &mask);
	if (masked) {
		if (p->reads[inner->dst] > 1 || (by < 0 && mask >> (width - 1)))
			return false;
		read = by < 0 ? mask >> -by : mask << by & low_bits(width);
		inner = p->defs.only[inner->arg[0]];
	}
	uint64_t lost =
	    by < 0 ? low_bits(width) & ~low_bits(width + by) : low_bits(by);
	if (!is_shift(p, inner, &first) || (first < 0) == (by < 0) ||
	    read & lost || p->defs.assigned[inner->arg[0]] != 1)
		return false;
	int d = n->dst;
	if (masked)
		d = low_temp(p->arena, p->to, temp_of(p, d)->type,
		    temp_of(p, d)->lanes, "t");
	put_shift(p, d, inner->arg[0], first + by, out);
	if (masked)
		low_op(p->arena, out, LOW_AND, n->dst, d,
		    put_number(p, d, read, out), -1);
	return true;
}

static bool put_wanted(Wanted *p, const LowNode *n, LowBody *out)
{
	uint64_t mask;
	if (!is_integers(p, n->dst) || p->defs.only[n->dst] != n)
		return false;
	if (is_mask(p, n, &mask) && !(p->wanted[n->dst] & ~mask)) {
		low_op(p->arena, out, LOW_COPY, n->dst, n->arg[0], -1, -1);
		return true;
	}
	return put_shifts(p, n, out);
}

static void wanted_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	for (int i = 0; i < n; i++)
		if (!put_wanted(context, nodes[i], out))
			vec_push(((Wanted *)context)->arena, out, nodes[i]);
}

const LowFunction *low_make_wanted(Arena *arena, const LowFunction *f)
{
	Wanted p = {arena, low_like(arena, f), low_defs(arena, f),
	    NEW_N(arena, uint64_t, f->temps.n + 1),
	    NEW_N(arena, int, f->temps.n + 1)};
	low_each_read(&f->body, note_bits, &p);
	low_each_run(
	    arena, &f->body, low_is_operation, wanted_run, &p, &p.to->body);
	return p.to;
}
