/* Counterexamples: each node of a tape has its values for a few assignments of
 * the slots.  A polynomial that is negative for one of them need not be proven
 * nonnegative, which would fail after trying every order in which its atoms can
 * be replaced: seconds, for the sums of products that a group of two products
 * and what lies between them makes. */
#include "ir/tape/tape_internal.h"
#include "lib/hash.h"

/* All slots 1, all large, and mixtures. */
static int64_t sample_slot(int64_t slot, int sample)
{
	static const int64_t values[] = {1, 1000, 2, 3, 5, 8, 16, 64};
	enum { N = sizeof values / sizeof *values };
	if (sample < 2)
		return values[sample];
	return values[hash_mix((uint64_t)slot * SAMPLES + (uint64_t)sample) % N];
}

/* v += a*b, or nothing is known */
static void add_product(int64_t *v, int64_t a, int64_t b)
{
	int64_t product;
	if (*v == NO_VALUE || a == NO_VALUE || b == NO_VALUE ||
	    __builtin_mul_overflow(a, b, &product) ||
	    __builtin_add_overflow(*v, product, v))
		*v = NO_VALUE;
}

static int64_t sample_pair(TapeKind kind, int64_t a, int64_t b)
{
	if (a == NO_VALUE || b == NO_VALUE || (kind == TAPE_CEILDIV && b < 1))
		return NO_VALUE;
	if (kind == TAPE_CEILDIV)
		return ceil_div(a, b);
	return (kind == TAPE_MIN) == (a < b) ? a : b;
}

static int64_t sample_value(
    const Tape *tape, const TapeNode *node, const TapeArg *arg, int s)
{
	int64_t v = node->value, product;
	switch (node->kind) {
	case TAPE_CONST:
		return v;
	case TAPE_SLOT:
		return sample_slot(v, s);
	case TAPE_PRODUCT:
		v = 1;
		for (int i = 0; i < node->n; i++) {
			product = 0;
			add_product(
			    &product, v, tape_facts(tape, arg[i].h)->sample[s]);
			v = product;
		}
		return v;
	case TAPE_SUM:
		for (int i = 0; i < node->n; i++)
			add_product(&v, arg[i].coefficient,
			    tape_facts(tape, arg[i].h)->sample[s]);
		return v;
	case TAPE_CEILDIV:
	case TAPE_MIN:
	case TAPE_MAX:
		break;
	}
	return sample_pair(node->kind, tape_facts(tape, arg[0].h)->sample[s],
	    tape_facts(tape, arg[1].h)->sample[s]);
}

void sample_node(
    const Tape *tape, const TapeNode *node, const TapeArg *arg, int64_t *sample)
{
	for (int s = 0; s < SAMPLES; s++)
		sample[s] = sample_value(tape, node, arg, s);
}

bool sample_refutes(const Tape *tape, const Poly *p)
{
	for (int s = 0; s < SAMPLES; s++) {
		int64_t v = 0;
		for (int i = 0; i < p->n && v != NO_VALUE; i++) {
			const Term *t = &p->term[i];
			int64_t product = t->coefficient, next;
			for (int j = 0; j < t->n; j++) {
				next = 0;
				add_product(&next, product,
				    tape_facts(tape, t->factor[j])->sample[s]);
				product = next;
			}
			add_product(&v, product, 1);
		}
		if (v != NO_VALUE && v < 0)
			return true;
	}
	return false;
}
