/* Shared buffers whose chunks of 16 bytes lie where their rows say.
 *
 *     element x of f16, rows of 128 bytes: 8 chunks of 8 elements
 * -->
 *     8*(x // 8 xor x // 64 % 8) + x % 8
 *
 * Of rows of 64 bytes the last is % 4, of 32 % 2: rows of 128 bytes take turns,
 * and all that lie in one take the same.  Nothing leaves its 8 (4, 2) times 128
 * bytes, at a multiple of which the buffer and each of its slots begin, so what
 * moves an address by such multiples stays outside, to be added up with it. */
#include "codegen/lower/lower_internal.h"

enum { CHUNK_BYTES = 16, LINE_BYTES = 128, LINE_CHUNKS = LINE_BYTES / CHUNK_BYTES };

int swizzle_align(const NestBuffer *b)
{
	return b->swizzle / CHUNK_BYTES * LINE_BYTES;
}

/* What of a form is a multiple, and what is left. */
static Index split_multiples(Lower *l, Index x, int64_t of, Index *rest)
{
	Index whole = index_const(x.form.constant - x.form.constant % of);
	whole.form.terms = NEW_N(l->arena, LowTerm, x.form.n);
	for (int i = 0; i < x.form.n; i++)
		if (x.form.terms[i].coefficient % of == 0)
			whole.form.terms[whole.form.n++] = x.form.terms[i];
	*rest = x;
	rest->form = low_affine_add(l->arena, x.form, whole.form, -1);
	return whole;
}

Index swizzled(Lower *l, const NestBuffer *b, Index x)
{
	int bytes = dtype_bytes(b->type), chunk = CHUNK_BYTES / bytes;
	Index rest;
	if (!b->swizzle)
		return x;
	Index whole = split_multiples(l, x, swizzle_align(b) / bytes, &rest);
	Index number = index_floordiv(l, rest, chunk);
	Index turn = index_mod(l, index_floordiv(l, number, LINE_CHUNKS),
	    b->swizzle / CHUNK_BYTES);
	Index moved = index_add(l, index_mod(l, rest, chunk),
	    index_xor(l, number, turn), chunk);
	return index_add(l, whole, moved, 1);
}
