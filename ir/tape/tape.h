/* The tape: 64-bit integer quantities that may depend on slots.
 *
 * Every extent, stride, offset and count of a nest is a handle into a tape.
 * With no slot in it a quantity folds to a constant at once, so the same code
 * serves a trace with numbers and a trace with open tile sizes.  The tape is
 * hash-consed and sums and products are kept in normal form (a sum of products
 * with integer coefficients, terms sorted): two quantities are known to be
 * equal exactly where their handles are.
 *
 * Slots are integers of at least 1 (tile factors and the like). */
#ifndef IR_TAPE_H
#define IR_TAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/arena.h"
#include "lib/buf.h"

typedef int32_t Handle;
typedef struct Tape Tape;

Tape *tape_new(Arena *arena);
Handle tape_const(Tape *tape, int64_t value);
Handle tape_slot(Tape *tape, int slot); /* slots are numbered from 0 */
int tape_slot_of(const Tape *tape, Handle h); /* -1: it is none */
Handle tape_add(Tape *tape, Handle a, Handle b);
Handle tape_sub(Tape *tape, Handle a, Handle b);
Handle tape_mul(Tape *tape, Handle a, Handle b);
Handle tape_floordiv(Tape *tape, Handle a, Handle b); /* b >= 1 */
Handle tape_ceildiv(Tape *tape, Handle a, Handle b);  /* b >= 1 */
Handle tape_mod(Tape *tape, Handle a, Handle b); /* a - b*floordiv(a, b) */
Handle tape_min(Tape *tape, Handle a, Handle b);
Handle tape_max(Tape *tape, Handle a, Handle b);
/* 1 or 0: what guards are made of. */
Handle tape_at_most(Tape *tape, Handle a, Handle b); /* a <= b */
Handle tape_equal(Tape *tape, Handle a, Handle b);
Handle tape_multiple(Tape *tape, Handle a, Handle b); /* a % b == 0, b >= 1 */

bool tape_is_const(const Tape *tape, Handle h, int64_t *value);
/* The value of a quantity that is known to be constant (asserts). */
int64_t tape_value(const Tape *tape, Handle h);
/* If a == b*q for a quantity q in normal form, true and q. */
bool tape_divides(Tape *tape, Handle a, Handle b, Handle *q);
/* Known sign: true only if it follows from slots being at least 1. */
bool tape_known_nonnegative(const Tape *tape, Handle h);

int tape_size(const Tape *tape); /* handles are 0 .. size-1, arguments first */
/* Operations so far, those that were remembered, too. */
int64_t tape_work(const Tape *tape);
/* Those that were no part of others: what the same would take again. */
int64_t tape_asked(const Tape *tape);
int tape_nslots(const Tape *tape);
/* Evaluate every handle for one assignment of the slots. */
void tape_eval(const Tape *tape, const int64_t *slots, int64_t *values);
/* Of an extracted tape the same from one handle on to before another, where all is
 * evaluated and slots, the first values, have changed: slot s is bit s, from the last
 * bit on all are that. */
enum { TAPE_SLOT_LAST = 63 };
void tape_eval_again(const Tape *tape, uint64_t changed, Handle first,
    Handle end, int64_t *values);
static inline uint64_t tape_slot_bit(int slot)
{
	return (uint64_t)1 << (slot < TAPE_SLOT_LAST ? slot : TAPE_SLOT_LAST);
}
/* The slots that a quantity of an extracted tape depends on. */
uint64_t tape_slots(const Tape *tape, Handle h);
/* A tape of so many slots, whose handles are their numbers, and of just those
 * quantities whose handles stand at n places, and of what they are computed from; what
 * stands there is renamed.  It is only evaluated. */
Tape *tape_extract(
    Arena *arena, const Tape *tape, int nslots, Handle *const *places, int n);
void tape_print(Buf *out, const Tape *tape, Handle h);

#endif
