/* The proof that indices are in bounds: normal forms, facts and ranges, exactly
 * as language.md ("Bounds") says.
 *
 * A term is interned, so that equal ones are one pointer.  `least` and
 * `greatest` of a term are what the facts in force leave of it; its own range
 * is taken anew each time, from the ranges of its parts.  Inside a term the
 * facts are applied to its parts once, not to parts of parts again: that ends
 * the recursion. */
#include "ir/spec/spec.h"

#include <assert.h>
#include <string.h>

#include "lib/hash.h"

typedef struct BoundsTerm BoundsTerm;

/* What is in a table stands first in its struct. */
typedef struct Entry {
	uint64_t hash;
	struct Entry *next; /* in its bucket */
} Entry;

typedef struct {
	Entry **bucket;
	int nbuckets, n;
} Table;

typedef struct {
	BoundsTerm *term;
	Wide coefficient; /* not 0, fits 64 bits */
} Part;

typedef struct {
	Wide constant; /* fits 64 bits */
	VEC(Part) parts;
	IntVec places; /* of many parts by the hash of their terms: the part's
			* number and 1, or 0; n is 0 or a power of two */
} BoundsForm;

typedef struct Inner Inner;

typedef struct {
	bool differs; /* form != 0; else form >= 0 */
	BoundsForm form;
	Inner *parts; /* the form without its constant */
} Fact;
typedef VEC(Fact) Facts;

/* A form inside terms, of a whole index or of the parts of a fact, interned as
 * terms are. */
struct Inner {
	Entry entry;
	BoundsForm form;
	Interval range; /* under all facts in force, in state number `state` */
	int64_t state;
	bool proven;      /* as an index, */
	Interval at_most; /* by this range under some facts that are in force */
	IntVec
	    in; /* numbers of the facts in force that are it, but for a constant */
};

struct BoundsTerm {
	Entry entry;
	Op op;	/* AXIS READ MUL FLOORDIV MOD MIN MAX CLAMP ABS IF */
	int id; /* AXIS */
	const Expr *read;
	int nform;
	Inner *form[3];
	int64_t divisor;
	const Expr *condition; /* IF; then form[0] is the then arm */
	bool assumed[2];       /* by arm: `facts` has been made */
	Facts facts[2];
	BoundsTerm
	    *other; /* the quotient of a remainder, the remainder of a quotient;
		       * NULL: nobody has it */
	BoundsTerm
	    *listed; /* whose `in` is its own: the term's, or the other one's */
	IntVec in;   /* numbers of the facts in force that have it, upwards */
	Interval left;            /* by the facts in force */
	Interval once;		  /* after their first round */
	int once_by;		  /* the last one that changed it; -1 */
	bool again;		  /* the second round changed it; else `left` is
				   * `once` between reads */
};

/* What a fact did in the first round. */
typedef struct {
	int fact;
	BoundsTerm *term;
	Interval once; /* before */
	int once_by;
} Change;

typedef struct {
	int nfacts; /* the first ones proved */
	Inner *index;
} Proof;

/* What one comparison says, made once: a chain of n conditions is assumed n
 * times over, a part longer each time. */
typedef struct {
	Entry entry;
	const Expr *comparison;
	bool truth;
	Facts facts;
} Said;

struct Bounds {
	Arena *arena;
	const Axis *axes;
	VEC(BoundsTerm *) terms;
	Facts facts;
	VEC(Interval) saved; /* a stack of what is left of terms */
	VEC(BoundsForm)
	spare; /* room for sums that live shortly: a stack, too */
	int nborrowed;
	Table interned, inner, said; /* terms, forms in them, comparisons */
	int64_t state, states; /* of facts and of what they leave */
	Facts done;	   /* the first round was over these, until */
	int contradiction; /* this number; -1: none */
	int agreed; /* so many first ones of `facts` and `done` are one */
	VEC(Change) changes;
	VEC(BoundsTerm *) again; /* those that the second round changed */
	bool quiet;	   /* it did nothing, when the last fact that changed */
	int quiet_after;   /* something in the first one was this; -1 */
	VEC(Proof) proofs;
	bool current;     /* the terms' `left` are those of the facts */
	bool unreachable; /* the facts contradict each other */
	bool products;	  /* the index reads data: axes may be multiplied */
	bool bare;	  /* ranges are taken without what is left of terms */
	int arms;	  /* of terms, whose facts are in force */
	int64_t work;     /* term ranges taken for this definition */
};

/* Conditions inside conditions can double the work at each depth; what needs
 * more than this is not proven.  An axis or a read outside of them, of which
 * there are some for each pair of a condition and a read, takes one unit. */
enum { TERM_WORK = 32, WORK_MAX = 1000000 * TERM_WORK, FEW = 16, LONG = 32 };

/* Facts that one comparison is taken apart into; see assume_parts. */
enum { PARTS_MAX = 64 };

static const Interval everything = {-INTERVAL_LIMIT, INTERVAL_LIMIT};

Bounds *bounds_new(Arena *arena, const Axis *axes)
{
	Bounds *b = NEW(arena, Bounds);
	b->arena = arena;
	b->axes = axes;
	b->contradiction = -1;
	return b;
}

/* --- tables ------------------------------------------------------------------ */

static Entry **bucket_of(const Table *t, uint64_t hash)
{
	return &t->bucket[hash & (uint64_t)(t->nbuckets - 1)];
}

static void table_grow(Bounds *b, Table *t)
{
	Table old = *t;
	t->nbuckets = old.nbuckets ? old.nbuckets * 2 : FEW;
	t->bucket = NEW_N(b->arena, Entry *, t->nbuckets);
	for (int i = 0; i < old.nbuckets; i++)
		for (Entry *e = old.bucket[i], *next; e; e = next) {
			Entry **bucket = bucket_of(t, e->hash);
			next = e->next;
			e->next = *bucket;
			*bucket = e;
		}
}

static void table_add(Bounds *b, Table *t, Entry *e)
{
	if (t->n++ >= t->nbuckets)
		table_grow(b, t);
	Entry **bucket = bucket_of(t, e->hash);
	e->next = *bucket;
	*bucket = e;
}

/* The first with that hash, or the next one; NULL: there is none. */
static void *table_first(const Table *t, uint64_t hash)
{
	Entry *e = t->n ? *bucket_of(t, hash) : NULL;
	while (e && e->hash != hash)
		e = e->next;
	return e;
}

static void *table_next(Entry *e)
{
	uint64_t hash = e->hash;
	while ((e = e->next) && e->hash != hash)
		;
	return e;
}

static uint64_t hash_pointer(const void *p, uint64_t seed)
{
	return hash_mix((uint64_t)(uintptr_t)p + seed);
}

/* --- normal forms ------------------------------------------------------------ */

static const char past[] = "has numbers past 64 bits";

/* The number of the part that has the term; -1: there is none. */
static int part_of(const BoundsForm *f, const BoundsTerm *t)
{
	if (!f->places.n) {
		int i = f->parts.n;
		while (--i >= 0 && f->parts.at[i].term != t)
			;
		return i;
	}
	uint64_t mask = (uint64_t)f->places.n - 1;
	for (uint64_t h = hash_pointer(t, 0);; h++) {
		int place = f->places.at[h & mask];
		if (!place || f->parts.at[place - 1].term == t)
			return place - 1;
	}
}

static void put_place(BoundsForm *f, int part)
{
	uint64_t mask = (uint64_t)f->places.n - 1;
	uint64_t h = hash_pointer(f->parts.at[part].term, 0);
	while (f->places.at[h & mask])
		h++;
	f->places.at[h & mask] = part + 1;
}

/* Anew: the form is long, and its parts have moved or fill half of the places. */
static void place_parts(Bounds *b, BoundsForm *f)
{
	int n = 4 * LONG;
	while (n < 3 * f->parts.n)
		n *= 2;
	if (n > f->places.cap) {
		f->places.at = NEW_N(b->arena, int, n);
		f->places.cap = n;
	}
	f->places.n = n;
	memset(f->places.at, 0, (size_t)n * sizeof *f->places.at);
	for (int i = 0; i < f->parts.n; i++)
		put_place(f, i);
}

static void push_part(Bounds *b, BoundsForm *f, Part part)
{
	vec_push(b->arena, &f->parts, part);
	if (f->parts.n < LONG)
		return;
	if (2 * f->parts.n > f->places.n)
		place_parts(b, f);
	else
		put_place(f, f->parts.n - 1);
}

static void remove_part(Bounds *b, BoundsForm *f, int i)
{
	f->parts.n--;
	for (int k = i; k < f->parts.n; k++)
		f->parts.at[k] = f->parts.at[k + 1];
	f->places.n = 0;
	if (f->parts.n >= LONG)
		place_parts(b, f);
}

static bool same_form(const BoundsForm *a, const BoundsForm *b)
{
	if (a->constant != b->constant || a->parts.n != b->parts.n)
		return false;
	for (int i = 0; i < a->parts.n; i++) {
		const Part *p = &a->parts.at[i];
		int k =
		    b->parts.at[i].term == p->term ? i : part_of(b, p->term);
		if (k < 0 || b->parts.at[k].coefficient != p->coefficient)
			return false;
	}
	return true;
}

/* Whatever the order of its parts. */
static uint64_t hash_form(const BoundsForm *f)
{
	uint64_t sum = hash_mix((uint64_t)f->constant);
	for (int i = 0; i < f->parts.n; i++)
		sum += hash_pointer(f->parts.at[i].term,
		    hash_mix((uint64_t)f->parts.at[i].coefficient));
	return sum;
}

/* NULL: there is none yet. */
static Inner *form_found(const Bounds *b, const BoundsForm *f)
{
	Inner *in = table_first(&b->inner, hash_form(f));
	while (in && !same_form(&in->form, f))
		in = table_next(&in->entry);
	return in;
}

static Inner *intern_form(Bounds *b, const BoundsForm *f)
{
	Inner *in = form_found(b, f);
	if (in)
		return in;
	in = NEW(b->arena, Inner);
	*in = (Inner){.entry.hash = hash_form(f), .form = *f};
	table_add(b, &b->inner, &in->entry);
	return in;
}

static bool same_term(const BoundsTerm *a, const BoundsTerm *b)
{
	if (a->op != b->op || a->id != b->id || a->divisor != b->divisor ||
	    a->nform != b->nform || !a->condition != !b->condition ||
	    (a->condition && !expr_equal(a->condition, b->condition)) ||
	    !a->read != !b->read ||
	    (a->read && !expr_equal(a->read, b->read)))
		return false;
	for (int i = 0; i < a->nform; i++)
		if (a->form[i] != b->form[i])
			return false;
	return true;
}

static uint64_t hash_term(const BoundsTerm *t)
{
	uint64_t h = hash_mix((uint64_t)t->op << 32 | (unsigned)t->id);
	for (int i = 0; i < t->nform; i++)
		h = hash_pointer(t->form[i], h);
	return hash_mix(h + (uint64_t)t->divisor);
}

static BoundsTerm *term_found(const Bounds *b, const BoundsTerm *like)
{
	BoundsTerm *t = table_first(&b->interned, hash_term(like));
	while (t && !same_term(t, like))
		t = table_next(&t->entry);
	return t;
}

/* The quotient of a remainder, or the other way round; NULL: there is none. */
static BoundsTerm *counterpart(const Bounds *b, const BoundsTerm *t)
{
	BoundsTerm other = *t;
	if (t->op != OP_FLOORDIV && t->op != OP_MOD)
		return NULL;
	other.op = t->op == OP_MOD ? OP_FLOORDIV : OP_MOD;
	return term_found(b, &other);
}

static BoundsTerm *intern(Bounds *b, const BoundsTerm *like)
{
	BoundsTerm *t = term_found(b, like), *other;
	if (t)
		return t;
	other = counterpart(b, like);
	t = arena_memdup(b->arena, like, sizeof *like);
	t->entry.hash = hash_term(t);
	t->listed = other ? other->listed : t;
	t->other = other;
	if (other)
		other->other = t;
	t->left = t->once = everything;
	t->once_by = -1;
	vec_push(b->arena, &b->terms, t);
	table_add(b, &b->interned, &t->entry);
	return t;
}

static bool add_part(
    Bounds *b, BoundsForm *to, BoundsTerm *term, Wide coefficient)
{
	int i = part_of(to, term);
	if (i < 0) {
		if (coefficient)
			push_part(b, to, (Part){term, coefficient});
		return wide_fits(coefficient);
	}
	Part *p = &to->parts.at[i];
	p->coefficient += coefficient;
	if (!wide_fits(p->coefficient))
		return false;
	if (!p->coefficient)
		remove_part(b, to, i);
	return true;
}

static bool add_form(
    Bounds *b, BoundsForm *to, const BoundsForm *from, Wide scale)
{
	to->constant += scale * from->constant;
	if (!wide_fits(to->constant))
		return false;
	for (int i = 0; i < from->parts.n; i++) {
		const Part *p = &from->parts.at[i];
		if (!add_part(b, to, p->term, scale * p->coefficient))
			return false;
	}
	return true;
}

/* Are both the term and the other one in the form, as parts of c*(e//c) + e%c? */
static bool is_pair(
    const BoundsForm *f, const BoundsTerm *t, Part *mod, Part *div)
{
	if (!t->other)
		return false;
	int m = part_of(f, t->op == OP_MOD ? t : t->other);
	int d = part_of(f, t->op == OP_MOD ? t->other : t);
	if (m < 0 || d < 0)
		return false;
	*mod = f->parts.at[m];
	*div = f->parts.at[d];
	return div->coefficient == mod->coefficient * t->divisor;
}

/* c*(e//c) + e%c is e.  All terms of f that `added` has not were joined before. */
static bool join_remainders(Bounds *b, BoundsForm *f, const BoundsForm *added)
{
	for (int i = 0; i < added->parts.n; i++) {
		Part mod, div;
		if (!is_pair(f, added->parts.at[i].term, &mod, &div))
			continue;
		const BoundsForm *whole = &mod.term->form[0]->form;
		if (!add_part(b, f, mod.term, -mod.coefficient) ||
		    !add_part(b, f, div.term, -div.coefficient) ||
		    !add_form(b, f, whole, mod.coefficient) ||
		    !join_remainders(b, f, whole))
			return false;
	}
	return true;
}

static BoundsTerm *pair_term(
    Bounds *b, Op op, const BoundsForm *x, const BoundsForm *y)
{
	return intern(b,
	    &(BoundsTerm){.op = op,
		.nform = 2,
		.form = {intern_form(b, x), intern_form(b, y)}});
}

static bool form_of(Bounds *b, const Expr *e, BoundsForm *f, const char **why);

static bool form_product(
    Bounds *b, const Expr *e, BoundsForm *f, const char **why)
{
	BoundsForm x = {0}, y = {0};
	if (!form_of(b, e->arg[0], &x, why) || !form_of(b, e->arg[1], &y, why))
		return false;
	bool product = x.parts.n && y.parts.n;
	if (product && !b->products) {
		*why = "multiplies axes with each other";
		return false;
	}
	*why = past;
	if (product)
		return add_part(b, f, pair_term(b, OP_MUL, &x, &y), 1);
	return x.parts.n ? add_form(b, f, &x, y.constant)
			 : add_form(b, f, &y, x.constant);
}

static bool form_term(Bounds *b, const Expr *e, BoundsForm *f, const char **why)
{
	BoundsTerm t = {.op = e->op};
	int first = 0, n = e->narg;
	if (e->op == OP_AXIS)
		t.id = e->id;
	if (e->op == OP_FLOORDIV || e->op == OP_MOD) {
		assert(e->arg[1]->op == OP_INT && e->arg[1]->i > 0);
		t.divisor = e->arg[1]->i;
		n = 1;
	}
	if (e->op == OP_CAST) {
		assert(e->arg[0]->op == OP_READ);
		t.op = OP_READ;
		t.read = e->arg[0];
		n = 0;
	}
	if (e->op == OP_IF) {
		t.condition = e->arg[0];
		first = 1;
	}
	for (int i = first; i < n; i++) {
		BoundsForm x = {0};
		if (!form_of(b, e->arg[i], &x, why))
			return false;
		t.form[t.nform++] = intern_form(b, &x);
	}
	*why = past;
	return add_part(b, f, intern(b, &t), 1);
}

/* Adds e to f, which is 0. */
static bool form_of(Bounds *b, const Expr *e, BoundsForm *f, const char **why)
{
	BoundsForm x = {0};
	switch (e->op) {
	case OP_INT:
		f->constant = e->i;
		return true;
	case OP_ADD:
	case OP_SUB:
		if (!form_of(b, e->arg[0], f, why) ||
		    !form_of(b, e->arg[1], &x, why))
			return false;
		*why = past;
		return add_form(b, f, &x, e->op == OP_ADD ? 1 : -1) &&
		    join_remainders(b, f, &x);
	case OP_NEG:
		*why = past;
		return form_of(b, e->arg[0], &x, why) &&
		    add_form(b, f, &x, -1);
	case OP_MUL:
		return form_product(b, e, f, why);
	case OP_AXIS:
	case OP_FLOORDIV:
	case OP_MOD:
	case OP_MIN:
	case OP_MAX:
	case OP_CLAMP:
	case OP_ABS:
	case OP_IF:
	case OP_CAST:
		return form_term(b, e, f, why);
	default:
		*why = "is not made of axes, params and integer data alone";
		return false;
	}
}

/* --- ranges ------------------------------------------------------------------ */

static Interval term_range(Bounds *b, BoundsTerm *t, bool with_facts);

static Interval sum_range(Bounds *b, const BoundsForm *f, bool with_facts)
{
	Interval sum = interval_of(f->constant);
	for (int i = 0; i < f->parts.n; i++) {
		const Part *p = &f->parts.at[i];
		sum = interval_add(sum,
		    interval_scale(term_range(b, p->term, with_facts),
			p->coefficient));
	}
	return (Interval){
	    interval_limited(sum.lo), interval_limited(sum.hi)};
}

static BoundsForm form_borrow(Bounds *b)
{
	if (b->nborrowed == b->spare.n)
		vec_push(b->arena, &b->spare, (BoundsForm){0});
	BoundsForm f = b->spare.at[b->nborrowed++];
	f.constant = 0;
	f.parts.n = f.places.n = 0;
	return f;
}

static void form_return(Bounds *b, BoundsForm f)
{
	b->spare.at[--b->nborrowed] = f;
}

/* Of e + sign*fact. */
static Interval range_with(
    Bounds *b, const BoundsForm *e, const Fact *fact, int sign, bool with_facts)
{
	BoundsForm sum = form_borrow(b);
	Interval r = everything;
	if (add_form(b, &sum, e, 1) && add_form(b, &sum, &fact->form, sign) &&
	    join_remainders(b, &sum, &fact->form))
		r = sum_range(b, &sum, with_facts);
	form_return(b, sum);
	return r;
}

/* Is it listed with one of the form's first n terms? */
static bool is_listed(const Fact *fact, const BoundsForm *f, int n)
{
	for (int i = 0; i < n; i++)
		for (int k = 0; k < fact->form.parts.n; k++)
			if (fact->form.parts.at[k].term->listed ==
			    f->parts.at[i].term->listed)
				return true;
	return false;
}

static bool is_inside(Interval r, Interval all)
{
	return r.lo > r.hi || interval_holds(all, r);
}

/* The facts in force that are sign*e but for a constant; NULL: there are none. */
static const IntVec *facts_like(Bounds *b, const BoundsForm *e, int sign)
{
	BoundsForm f = form_borrow(b);
	const Inner *in = NULL;
	if (add_form(b, &f, e, sign)) {
		f.constant = 0;
		in = form_found(b, &f);
	}
	form_return(b, f);
	return in ? &in->in : NULL;
}

/* What such facts leave of r, the last ones first, until that is enough. */
static Interval range_by_like(
    Bounds *b, const BoundsForm *e, Interval r, const Interval *enough)
{
	for (int sign = 1; sign >= -1; sign -= 2) {
		const IntVec *like = facts_like(b, e, sign);
		int k = like ? like->n : 0;
		while (--k >= 0 && !is_inside(r, *enough)) {
			const Fact *fact = &b->facts.at[like->at[k]];
			Wide end = e->constant - sign * fact->form.constant;
			if (sign > 0)
				r.lo = wide_max(r.lo, end);
			else
				r.hi = wide_min(r.hi, end);
		}
	}
	return r;
}

/* The sum of its terms, but not below e - f nor above e + f of any fact f that
 * shares a term with it: another one, whose greatest is not below 0, leaves e as
 * it is.  Not NULL: a range inside of `enough` is so.  What proves a read is
 * mostly the condition before it, and in the index's own terms. */
static Interval form_range(Bounds *b, const BoundsForm *e, bool with_facts,
    bool in_term, const Interval *enough)
{
	Interval r = sum_range(b, e, with_facts);
	if (enough && !is_inside(r, *enough))
		r = range_by_like(b, e, r, enough);
	for (int i = 0; with_facts && i < e->parts.n; i++) {
		const BoundsTerm *t = e->parts.at[i].term->listed;
		for (int k = t->in.n - 1; k >= 0; k--) {
			const Fact *fact = &b->facts.at[t->in.at[k]];
			if (enough && is_inside(r, *enough))
				return r;
			if (is_listed(fact, e, i))
				continue;
			r.lo = wide_max(
			    r.lo, range_with(b, e, fact, -1, !in_term).lo);
			r.hi = wide_min(
			    r.hi, range_with(b, e, fact, 1, !in_term).hi);
		}
	}
	return r;
}

/* Of a form in a term; made once as long as facts stay. */
static Interval inner_range(Bounds *b, Inner *in, bool with_facts)
{
	if (!with_facts)
		return sum_range(b, &in->form, false);
	if (in->state != b->state) {
		Interval r = form_range(b, &in->form, true, true, NULL);
		in->range = r;
		in->state = b->state;
	}
	return in->range;
}

/* Facts from number `from` on are listed with their terms. */
static void list_facts(Bounds *b, int from)
{
	for (int i = from; i < b->facts.n; i++) {
		const Fact *fact = &b->facts.at[i];
		for (int k = 0; !fact->differs && k < fact->form.parts.n; k++) {
			BoundsTerm *t = fact->form.parts.at[k].term->listed;
			if (!t->in.n || t->in.at[t->in.n - 1] != i)
				vec_push(b->arena, &t->in, i);
		}
		if (!fact->differs)
			vec_push(b->arena, &fact->parts->in, i);
	}
}

static void unlist_facts(const Facts *facts, int from)
{
	for (int i = facts->n - 1; i >= from; i--) {
		const BoundsForm *f = &facts->at[i].form;
		IntVec *like = &facts->at[i].parts->in;
		for (int k = 0; k < f->parts.n; k++) {
			BoundsTerm *t = f->parts.at[k].term->listed;
			if (t->in.n && t->in.at[t->in.n - 1] >= from)
				t->in.n--;
		}
		if (like->n && like->at[like->n - 1] >= from)
			like->n--;
	}
}

static void narrow(Bounds *b, int first);

/* The facts of an arm's condition; made once. */
static void assume_arm(Bounds *b, BoundsTerm *t, int arm)
{
	int mark = b->facts.n;
	if (!t->assumed[arm]) {
		bounds_assume(b, t->condition, arm == 0);
		for (int i = mark; i < b->facts.n; i++)
			vec_push(b->arena, &t->facts[arm], b->facts.at[i]);
		t->assumed[arm] = true;
		return;
	}
	for (int i = 0; i < t->facts[arm].n; i++)
		vec_push(b->arena, &b->facts, t->facts[arm].at[i]);
}

static Interval arm_range(Bounds *b, BoundsTerm *t, int arm, bool with_facts)
{
	int mark = bounds_mark(b), n = b->terms.n, base = b->saved.n;
	bool unreachable = b->unreachable, current = b->current;
	int64_t state = b->state;
	Interval r;
	for (int i = 0; i < n; i++)
		vec_push(b->arena, &b->saved, b->terms.at[i]->left);
	b->arms++;
	assume_arm(b, t, arm);
	narrow(b, with_facts ? 0 : mark);
	b->state = ++b->states;
	list_facts(b, with_facts ? mark : b->facts.n);
	r = inner_range(b, t->form[arm], with_facts);
	if (b->unreachable)
		r = (Interval){1, 0};
	b->arms--;
	unlist_facts(&b->facts, with_facts ? mark : b->facts.n);
	b->state = state;
	b->facts.n = mark;
	for (int i = 0; i < b->terms.n; i++)
		b->terms.at[i]->left =
		    i < n ? b->saved.at[base + i] : everything;
	b->saved.n = base;
	b->unreachable = unreachable;
	b->current = current;
	return r;
}

static Interval range_of_if(Bounds *b, BoundsTerm *t, bool with_facts)
{
	Interval yes = arm_range(b, t, 0, with_facts);
	return interval_hull(yes, arm_range(b, t, 1, with_facts));
}

static Interval own_range(Bounds *b, BoundsTerm *t, bool with_facts)
{
	Interval r[3];
	if (t->op == OP_AXIS)
		return (Interval){0, (Wide)b->axes[t->id].extent - 1};
	if (t->op == OP_READ)
		return dtype_interval(t->read->type);
	if (t->op == OP_IF)
		return range_of_if(b, t, with_facts);
	for (int i = 0; i < t->nform; i++)
		r[i] = inner_range(b, t->form[i], with_facts);
	switch (t->op) {
	case OP_MUL: return interval_mul(r[0], r[1]);
	case OP_FLOORDIV: return interval_floordiv(r[0], t->divisor);
	case OP_MOD: return interval_mod(r[0], t->divisor);
	case OP_MIN: return interval_min(r[0], r[1]);
	case OP_MAX: return interval_max(r[0], r[1]);
	case OP_CLAMP:
		return interval_min(interval_max(r[0], r[1]), r[2]);
	default:
		assert(t->op == OP_ABS);
		return interval_abs(r[0]);
	}
}

/* Are the ranges of its forms known? */
static bool is_known(const Bounds *b, const BoundsTerm *t)
{
	for (int i = 0; i < t->nform; i++)
		if (t->form[i]->state != b->state)
			return false;
	return t->op != OP_IF;
}

static Interval term_range(Bounds *b, BoundsTerm *t, bool with_facts)
{
	bool light = !b->arms && (!t->nform || (with_facts && is_known(b, t)));
	b->work += light ? 1 : TERM_WORK;
	if (b->work > WORK_MAX)
		return everything;
	Interval r = own_range(b, t, with_facts);
	return b->bare ? r : interval_meet(r, t->left);
}

/* --- facts ------------------------------------------------------------------- */

/* An end of t's range that is `value` is cut off. */
static void cut(Bounds *b, const BoundsForm *f)
{
	const Part *p = f->parts.at;
	if (f->parts.n != 1 || f->constant % p->coefficient)
		return;
	Wide value = -f->constant / p->coefficient;
	Interval r = term_range(b, p->term, false);
	if (r.lo == value)
		p->term->left.lo = ++r.lo;
	if (r.hi == value)
		p->term->left.hi = --r.hi;
	if (r.lo > r.hi)
		b->unreachable = true;
}

/* f >= 0: each term by the others. */
static void narrow_by(Bounds *b, const BoundsForm *f)
{
	Interval few[FEW], *r = few;
	if (f->parts.n > FEW)
		r = NEW_N(b->arena, Interval, f->parts.n);
	Wide most = f->constant;
	for (int i = 0; i < f->parts.n; i++) {
		const Part *p = &f->parts.at[i];
		r[i] = term_range(b, p->term, false);
		most += interval_scale(r[i], p->coefficient).hi;
	}
	if (most < 0)
		b->unreachable = true;
	for (int i = 0; i < f->parts.n; i++) {
		Wide c = f->parts.at[i].coefficient;
		Interval *left = &f->parts.at[i].term->left;
		Wide own = interval_scale(r[i], c).hi, rest = interval_limited(most - own);
		if (c > 0)
			left->lo = r[i].lo =
			    wide_max(r[i].lo, wide_ceildiv(-rest, c));
		else
			left->hi = r[i].hi =
			    wide_min(r[i].hi, wide_floordiv(rest, -c));
		most += interval_scale(r[i], c).hi - own;
		if (r[i].lo > r[i].hi)
			b->unreachable = true;
	}
}

static void narrow_by_fact(Bounds *b, const Fact *fact)
{
	if (fact->differs)
		cut(b, &fact->form);
	else
		narrow_by(b, &fact->form);
}

/* Facts from number `first` on narrow terms, in written order, twice over. */
static void narrow(Bounds *b, int first)
{
	int n = b->facts.n;
	for (int round = 0; round < 2; round++)
		for (int i = first; i < n; i++) {
			/* by value: a term that is an `if` has facts */
			Fact fact = b->facts.at[i];
			narrow_by_fact(b, &fact);
		}
}

/* Facts come one after another, in chains of conditions: of the first round what
 * those before did stays.  In the second one those have nothing to do that read
 * what nobody has changed since the first: by itself a fact narrows terms from one
 * side, and reads the other.  What is left is what two rounds leave. */

static bool same_fact(const Fact *a, const Fact *b)
{
	return a->differs == b->differs &&
	    a->form.constant == b->form.constant &&
	    a->form.parts.n == b->form.parts.n &&
	    a->form.parts.at == b->form.parts.at;
}

/* Back to before fact number `fact`. */
static void undo_from(Bounds *b, int fact)
{
	while (b->changes.n && b->changes.at[b->changes.n - 1].fact >= fact) {
		const Change *c = &b->changes.at[--b->changes.n];
		c->term->once = c->term->left = c->once;
		c->term->once_by = c->once_by;
	}
	unlist_facts(&b->done, fact);
	b->done.n = fact;
	while (b->proofs.n && b->proofs.at[b->proofs.n - 1].nfacts > fact)
		b->proofs.at[--b->proofs.n].index->proven = false;
	if (b->contradiction >= fact)
		b->contradiction = -1;
}

static void first_round(Bounds *b, int number)
{
	Fact fact = b->facts.at[number];
	narrow_by_fact(b, &fact);
	for (int i = 0; i < fact.form.parts.n; i++) {
		BoundsTerm *t = fact.form.parts.at[i].term;
		if (t->left.lo == t->once.lo && t->left.hi == t->once.hi)
			continue;
		vec_push(b->arena, &b->changes,
		    (Change){number, t, t->once, t->once_by});
		t->once = t->left;
		t->once_by = number;
	}
	vec_push(b->arena, &b->done, fact);
	if (b->unreachable && b->contradiction < 0)
		b->contradiction = number;
}

/* May the term's range be another one than when the fact was applied? */
static bool has_changed(const BoundsTerm *t, int fact)
{
	if (t->again || t->once_by > fact || t->op == OP_IF)
		return true;
	for (int k = 0; k < t->nform; k++)
		for (int i = 0; i < t->form[k]->form.parts.n; i++) {
			const BoundsTerm *in =
			    t->form[k]->form.parts.at[i].term;
			if (in->again || in->once_by >= fact || in->nform)
				return true;
		}
	return false;
}

static void second_round(Bounds *b, int number)
{
	Fact fact = b->facts.at[number];
	bool changed = false;
	for (int i = 0; i < fact.form.parts.n && !changed; i++)
		changed = has_changed(fact.form.parts.at[i].term, number);
	if (!changed)
		return;
	narrow_by_fact(b, &fact);
	for (int i = 0; i < fact.form.parts.n; i++) {
		BoundsTerm *t = fact.form.parts.at[i].term;
		if (t->again ||
		    (t->left.lo == t->once.lo && t->left.hi == t->once.hi))
			continue;
		t->again = true;
		vec_push(b->arena, &b->again, t);
	}
}

/* What is known of facts from the first that is not in force any more on is
 * undone. */
static void keep_same(Bounds *b)
{
	int same = b->agreed;
	while (same < b->facts.n && same < b->done.n &&
	    same_fact(&b->facts.at[same], &b->done.at[same]))
		same++;
	undo_from(b, same);
	b->agreed = same;
}

/* What the second round did is undone. */
static void undo_second(Bounds *b)
{
	while (b->again.n) {
		BoundsTerm *t = b->again.at[--b->again.n];
		t->left = t->once;
		t->again = false;
	}
}

/* Where the second round did nothing, nor has any fact since in the first one, it
 * would do nothing again with those that it was over. */
static void renew(Bounds *b)
{
	int n = b->facts.n, same = b->done.n;
	if (b->current)
		return;
	assert(same <= n);
	undo_second(b);
	b->unreachable = b->contradiction >= 0;
	for (int i = same; i < n; i++)
		first_round(b, i);
	int changes = b->changes.n;
	int last = changes ? b->changes.at[changes - 1].fact : -1;
	bool quiet = b->quiet && last == b->quiet_after && same > last;
	bool contradict = b->unreachable;
	for (int i = quiet ? same : 0; i < n; i++)
		second_round(b, i);
	b->quiet = !b->again.n && b->unreachable == contradict;
	b->quiet_after = last;
	list_facts(b, same);
	b->state = ++b->states;
	b->agreed = n;
	b->current = true;
}

int bounds_mark(const Bounds *bounds)
{
	return bounds->facts.n;
}

void bounds_forget(Bounds *bounds, int mark)
{
	if (bounds->facts.n != mark)
		bounds->current = false;
	bounds->facts.n = mark;
	if (bounds->agreed > mark)
		bounds->agreed = mark;
}

/* What holds of c*t, t being min, max or clamp, holds of c*part[0] and of
 * c*part[1]: c times a min is at most c times either, c above 0; a max below 0
 * likewise; a clamp below 0 is the max of min(x, hi) and of lo, or of min(lo, hi)
 * where hi may be less. */
static bool parts_of(Bounds *b, const Part *p, BoundsForm part[2])
{
	const BoundsTerm *t = p->term;
	const BoundsForm *first = t->nform ? &t->form[0]->form : NULL;
	const BoundsForm *low = t->nform > 1 ? &t->form[1]->form : NULL;
	bool apart = (t->op == OP_MIN && p->coefficient > 0) ||
	    (t->op == OP_MAX && p->coefficient < 0);
	part[0] = part[1] = (BoundsForm){0};
	if (apart)
		return add_form(b, &part[0], first, 1) &&
		    add_form(b, &part[1], low, 1);
	if (t->op != OP_CLAMP || p->coefficient > 0)
		return false;
	const BoundsForm *high = &t->form[2]->form;
	BoundsForm room = {0};
	if (!add_form(b, &room, high, 1) || !add_form(b, &room, low, -1))
		return false;
	bool ordered = !room.parts.n && room.constant >= 0;
	return add_part(b, &part[0], pair_term(b, OP_MIN, first, high), 1) &&
	    (ordered ? add_form(b, &part[1], low, 1)
		     : add_part(b, &part[1],
			   pair_term(b, OP_MIN, low, high), 1));
}

static void push_fact(Bounds *b, bool differs, const BoundsForm *f)
{
	BoundsForm parts = *f;
	parts.constant = 0;
	vec_push(
	    b->arena, &b->facts, (Fact){differs, *f, intern_form(b, &parts)});
}

/* The facts that f >= 0 is as well: with the parts of each min, max and clamp in
 * its place.  What is left of `most` is not taken apart further. */
static void assume_parts(Bounds *b, const BoundsForm *f, int *most)
{
	BoundsForm part[2];
	int i = 0;
	while (i < f->parts.n && !parts_of(b, &f->parts.at[i], part))
		i++;
	if (i == f->parts.n || *most < 2) {
		push_fact(b, false, f);
		return;
	}
	Part p = f->parts.at[i];
	--*most;
	for (int k = 0; k < 2; k++) {
		BoundsForm g = {0};
		if (add_form(b, &g, f, 1) &&
		    add_part(b, &g, p.term, -p.coefficient) &&
		    add_form(b, &g, &part[k], p.coefficient) &&
		    join_remainders(b, &g, &part[k]) && wide_fits(g.constant))
			assume_parts(b, &g, most);
	}
}

/* left - right - less, as a fact; one without a normal form is none. */
static void assume_form(Bounds *b, const Expr *left, const Expr *right,
    int less, bool differs)
{
	BoundsForm f = {0}, g = {0};
	const char *why;
	if (!form_of(b, left, &f, &why) || !form_of(b, right, &g, &why) ||
	    !add_form(b, &f, &g, -1) || !join_remainders(b, &f, &g))
		return;
	f.constant -= less;
	if (!wide_fits(f.constant))
		return;
	b->current = false;
	int most = PARTS_MAX;
	if (!differs)
		assume_parts(b, &f, &most);
	if (differs || most < PARTS_MAX)
		push_fact(b, differs, &f);
}

/* Whatever the facts are: those in force may be others than those that have left
 * something of terms. */
static Interval bare_range(Bounds *b, const BoundsForm *f)
{
	bool bare = b->bare;
	b->bare = true;
	Interval r = sum_range(b, f, false);
	b->bare = bare;
	return r;
}

static Op negated(Op op)
{
	switch (op) {
	case OP_LT: return OP_GE;
	case OP_LE: return OP_GT;
	case OP_GT: return OP_LE;
	case OP_GE: return OP_LT;
	case OP_EQ: return OP_NE;
	default: return OP_EQ;
	}
}

/* What it says; without facts, and *is_new, where nobody asked before. */
static Said *said_of(Bounds *b, const Expr *c, bool truth, bool *is_new)
{
	uint64_t hash = hash_pointer(c, truth);
	Said *s = table_first(&b->said, hash);
	while (s && (s->comparison != c || s->truth != truth))
		s = table_next(&s->entry);
	*is_new = !s;
	if (s)
		return s;
	s = NEW(b->arena, Said);
	*s = (Said){.entry.hash = hash, .comparison = c, .truth = truth};
	table_add(b, &b->said, &s->entry);
	return s;
}

static void assume_comparison(Bounds *b, Op op, const Expr *x, const Expr *y)
{
	switch (op) {
	case OP_LT: assume_form(b, y, x, 1, false); break;
	case OP_LE: assume_form(b, y, x, 0, false); break;
	case OP_GT: assume_form(b, x, y, 1, false); break;
	case OP_GE: assume_form(b, x, y, 0, false); break;
	case OP_NE: assume_form(b, x, y, 0, true); break;
	default:
		assume_form(b, x, y, 0, false);
		assume_form(b, y, x, 0, false);
	}
}

/* The index that an operand of a comparison is, exactly: itself, a number, an
 * index that its dtype holds, or integer data that was read (*data is set), in a
 * dtype that holds it.  NULL: it is none. */
static const Expr *exact_operand(Bounds *b, const Expr *e, bool *data)
{
	const Expr *read = e;
	BoundsForm f = {0};
	const char *why;
	if (e->type == DT_INDEX)
		return e;
	if (!dtype_is_int(e->type))
		return NULL;
	if (e->op == OP_INT)
		return wide_fits(expr_int_value(e))
		    ? expr_int(b->arena, DT_INDEX, e->i)
		    : NULL;
	while (read->op == OP_CAST)
		read = read->arg[0];
	if (read->op == OP_READ && dtype_is_int(read->type)) {
		for (const Expr *c = e; c != read; c = c->arg[0])
			if (!dtype_is_int(c->type) ||
			    !interval_holds(dtype_interval(c->type),
				dtype_interval(read->type)))
				return NULL;
		*data = true;
		return expr_cast(b->arena, DT_INDEX, (Expr *)(uintptr_t)read);
	}
	if (e->op == OP_CAST && e->arg[0]->type == DT_INDEX &&
	    form_of(b, e->arg[0], &f, &why) &&
	    interval_holds(dtype_interval(e->type), bare_range(b, &f)))
		return e->arg[0];
	return NULL;
}

/* Of data the comparison of one integer that was read says something. */
static void assume_operands(
    Bounds *b, Op op, const Expr *left, const Expr *right)
{
	bool left_data = false, right_data = false;
	const Expr *x = exact_operand(b, left, &left_data);
	const Expr *y = exact_operand(b, right, &right_data);
	if (x && y && !(left_data && right_data))
		assume_comparison(b, op, x, y);
}

static void assume_once(Bounds *b, const Expr *c, bool truth)
{
	bool is_new;
	int mark = b->facts.n;
	Said *s = said_of(b, c, truth, &is_new);
	if (is_new) {
		assume_operands(b, truth ? c->op : negated(c->op),
		    c->arg[0], c->arg[1]);
		for (int i = mark; i < b->facts.n; i++)
			vec_push(b->arena, &s->facts, b->facts.at[i]);
		return;
	}
	for (int i = 0; i < s->facts.n; i++)
		vec_push(b->arena, &b->facts, s->facts.at[i]);
	b->current &= !s->facts.n;
}

void bounds_assume(Bounds *bounds, const Expr *c, bool truth)
{
	switch (c->op) {
	case OP_INT: /* a comparison of params */
		if ((c->i != 0) != truth) {
			push_fact(bounds, false, &(BoundsForm){.constant = -1});
			bounds->current = false;
		}
		return;
	case OP_NOT:
		bounds_assume(bounds, c->arg[0], !truth);
		return;
	case OP_AND:
	case OP_OR:
		if ((c->op == OP_AND) != truth)
			return;
		bounds_assume(bounds, c->arg[0], truth);
		bounds_assume(bounds, c->arg[1], truth);
		return;
	case OP_LT:
	case OP_LE:
	case OP_GT:
	case OP_GE:
	case OP_EQ:
	case OP_NE:
		assume_once(bounds, c, truth);
		return;
	default:
		return;
	}
}

bool bounds_range(Bounds *bounds, const Expr *index, const Interval *enough,
    Interval *range, const char **why)
{
	BoundsForm e = {0};
	bounds->products = expr_has_data(index);
	bool formed = form_of(bounds, index, &e, why);
	bounds->products = false;
	if (!formed)
		return false;
	Inner *in = intern_form(bounds, &e);
	if (!bounds->current)
		keep_same(bounds);
	*range = in->at_most;
	if (in->proven && enough && is_inside(*range, *enough))
		return true;
	renew(bounds);
	*range = form_range(bounds, &e, true, false, enough);
	if (bounds->unreachable)
		*range = (Interval){1, 0};
	if (enough && !in->proven && is_inside(*range, *enough)) {
		in->proven = true;
		in->at_most = *range;
		vec_push(bounds->arena, &bounds->proofs,
		    (Proof){bounds->facts.n, in});
	}
	return true;
}
