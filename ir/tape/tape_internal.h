/* Inside the tape: what its five files share.
 *
 *     tape.c         nodes, arithmetic, division
 *     tape_poly.c    polynomials over atoms, and their signs
 *     tape_memo.c    what was asked before
 *     tape_sample.c  values for a few slots: counterexamples
 *     tape_eval.c    evaluation, extraction, text */
#ifndef IR_TAPE_INTERNAL_H
#define IR_TAPE_INTERNAL_H

#include <assert.h>

#include "ir/tape/tape.h"
#include "lib/vec.h"

enum {
	MAX_TERMS = 48,
	MAX_FACTORS = 24,
	SAMPLES = 8,
	SIGN_DEPTH = 3,
	SMALL = 64 /* constants from -1 on that are found at once */
};

/* A value that a sample of the slots does not give: too large, or of what no
 * slots should make. */
#define NO_VALUE INT64_MIN

typedef enum {
	TAPE_CONST,   /* value */
	TAPE_SLOT,    /* value: its number */
	TAPE_PRODUCT, /* of its arguments, at least two, sorted */
	TAPE_SUM,     /* value + coefficient * argument, sorted by argument */
	TAPE_CEILDIV,
	TAPE_MIN,
	TAPE_MAX
} TapeKind;

typedef struct {
	Handle h;
	int64_t coefficient;
} TapeArg;

typedef struct {
	TapeKind kind;
	int n, first; /* arguments */
	int64_t value;
	uint64_t slots; /* tape_slots; of a tape that is only evaluated */
} TapeNode;

/* What is known of a node. */
typedef struct {
	uint64_t key; /* of the quantity, the same in every tape */
	int64_t low; /* known lower bound; INT64_MIN: none */
	int64_t sample[SAMPLES]; /* its values for a few slots, or NO_VALUE */
} TapeFacts;

typedef enum {
	TAPE_OP_ADD,
	TAPE_OP_SUB,
	TAPE_OP_MUL,
	TAPE_OP_FLOORDIV,
	TAPE_OP_CEILDIV,
	TAPE_OP_MOD,
	TAPE_OP_MIN,
	TAPE_OP_MAX,
	TAPE_OP_AT_MOST,
	TAPE_OP_EQUAL,
	TAPE_OP_MULTIPLE
} TapeOp;

/* What is known of the sign of a polynomial: it is at least 0, which `proven`
 * replacements in a row show and more do, too; `failed` do not. */
typedef struct {
	int8_t proven, failed;
} Sign;

typedef struct TapeMemo TapeMemo;

struct Tape {
	Arena *arena;
	VEC(TapeNode) nodes;
	VEC(TapeArg) args;
	/* Of a tape that is only evaluated there are none of these: */
	VEC(TapeFacts) facts;
	int nslots;
	/* Of a tape that is only evaluated, for each 64 nodes by bit of tape_slots:
	 * those that depend on it. */
	uint64_t *dependents;
	int nbits;
	int *table; /* handle + 1; 0: empty */
	int table_size;
	int small[SMALL]; /* handle + 1 of -1, 0, 1, …; 0: not there yet */
	TapeMemo *memo;
	int64_t work, asked;
	int depth; /* operations that are part of others */
};

/* A monomial with its coefficient; factors sorted, none a product. */
typedef struct {
	int64_t coefficient;
	uint64_t key; /* of its factors: the sum of theirs */
	int n;
	Handle factor[MAX_FACTORS];
} Term;

/* `bad`: over a limit, or a coefficient overflowed. */
typedef struct {
	int n;
	bool bad;
	Term term[MAX_TERMS];
} Poly;

static inline const TapeNode *tape_node(const Tape *tape, Handle h)
{
	assert(h >= 0 && h < tape->nodes.n);
	return &tape->nodes.at[h];
}

static inline const TapeFacts *tape_facts(const Tape *tape, Handle h)
{
	assert(h >= 0 && h < tape->facts.n);
	return &tape->facts.at[h];
}

static inline const TapeArg *tape_args(const Tape *tape, Handle h)
{
	return tape->args.at + tape_node(tape, h)->first;
}

static inline int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t wrap_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
	int64_t q = a / b;
	return q + (a % b > 0);
}

/* tape.c: the node, made if it is new */
Handle tape_cons(
    Tape *tape, TapeKind kind, int64_t value, const TapeArg *arg, int n);

/* tape_sample.c: the node's values for each sample, its arguments' being there */
void sample_node(const Tape *tape, const TapeNode *node, const TapeArg *arg,
    int64_t *sample);
/* Is it negative for some slots? */
bool sample_refutes(const Tape *tape, const Poly *p);

/* tape_memo.c */
TapeMemo *memo_new(Arena *arena);
/* The polynomial's, which stays where it is; new: nothing is known. */
Sign *memo_sign(TapeMemo *memo, const Poly *p);
/* Of `n` handles, each -1, which it shall be again. */
Handle *memo_renamed(TapeMemo *memo, int n);
/* The result of an operation; -1: not known. */
Handle memo_result(const TapeMemo *memo, TapeOp op, Handle a, Handle b);
void memo_keep_result(
    TapeMemo *memo, TapeOp op, Handle a, Handle b, Handle result);

/* tape_poly.c */
Term term_unit(Handle factor);
bool monomial_equal(const Term *a, const Term *b);
int monomial_compare(const Term *a, const Term *b);
void poly_clear(Poly *p);
void poly_add_term(Poly *p, const Term *t);
void poly_add_const(Poly *p, int64_t value);
void term_copy(Term *to, const Term *from);
void poly_copy(Poly *to, const Poly *from);
bool term_div(Term *out, const Term *a, const Term *b);
void poly_add_scaled(Poly *p, const Poly *a, const Term *t);
void poly_add_times(Poly *p, const Poly *a, int64_t k);
void poly_mul(Poly *out, const Poly *a, const Poly *b);
void poly_of(const Tape *tape, Poly *p, Handle h);
Handle poly_handle(Tape *tape, const Poly *p);
/* a - b >= c for certain */
bool poly_differ_at_least(
    const Tape *tape, const Poly *a, const Poly *b, int64_t c);
bool poly_handle_nonnegative(const Tape *tape, Handle h);

#endif
