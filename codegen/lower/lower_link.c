/* Parts of a program in one function: what belongs to all of them, and to each.
 *
 *     whole  x -> [c, r] -> r -> [p] -> y      two parts, r between them
 *
 *     x, y   parameters, r a piece of the workspace: one buffer of the function
 *            each, whatever it is called in the parts that have it
 *     rest   a part's own, at places that it has while the part runs
 *
 * Of parts that compute the same of the same, the first is lowered: what the others
 * write is what it writes.
 *
 * The workspace is laid out by the lives of these pieces, counted in parts:
 * inside of its own piece a part has laid out its buffers by itself.  A packed
 * argument has the input as it is, if a part reads it so, then each part's
 * pieces. */
#include <assert.h>
#include <string.h>

#include "codegen/lower/lower_internal.h"
#include "lib/hash.h"

/* --- the map ------------------------------------------------------------------ */

/* One part may be a whole that is a part of another. */
static bool is_cut(const Link *link, int part)
{
	const Program *p = link->parts[part]->nest->program;
	assert(p == link->whole || p->whole == link->whole);
	return p != link->whole;
}

int link_of_whole(const Link *link, int part, int buffer)
{
	const Program *p = link->parts[part]->nest->program;
	assert(buffer >= 0 && buffer < p->nbuffers);
	return link->same[is_cut(link, part) ? p->of_whole[buffer] : buffer];
}

int link_in_part(const Link *link, int part, int whole_buffer)
{
	const Program *p = link->parts[part]->nest->program;
	if (!is_cut(link, part))
		return whole_buffer;
	for (int i = 0; i < p->nbuffers; i++)
		if (p->of_whole[i] == whole_buffer)
			return i;
	return -1;
}

bool link_failed(const Link *link)
{
	for (int i = 0; i < link->n; i++)
		if (link->parts[i]->part->failed)
			return true;
	return false;
}

/* --- packed arguments ----------------------------------------------------------- */

static void lay_out_packed(Link *link, int input)
{
	int64_t at = 0;
	for (int i = 0; i < link->n; i++) {
		const Nest *nest = link->parts[i]->nest;
		int b = link_in_part(link, i, input);
		if (b >= 0 && pack_is_plain(nest, b))
			at = pack_plain_bytes(nest, b);
	}
	for (int i = 0; i < link->n; i++) {
		int b = link_in_part(link, i, input);
		if (b >= 0)
			at = pack_layout(link, i, b, at, &link->pieces[input]);
	}
	link->packed_bytes[input] = at;
}

/* --- parts that compute the same ------------------------------------------------- */

static bool is_output(const Link *link, int part)
{
	const Program *p = link->parts[part]->nest->program;
	int buffer = link_of_whole(link, part, p->outputs[0]);
	return link->whole->buffers[buffer].role == BUFFER_OUTPUT;
}

static bool same_part(const Link *link, int a, int b)
{
	const Program *p = link->parts[a]->nest->program;
	const Program *q = link->parts[b]->nest->program;
	bool same = is_cut(link, a) && is_cut(link, b) && !strcmp(p->op, q->op) &&
	    p->noutputs == 1 && !(is_output(link, a) && is_output(link, b));
	for (int i = 0; same && i < p->ninputs; i++)
		same = link_of_whole(link, a, i) == link_of_whole(link, b, i);
	return same;
}

/* Parts by what they compute of what. */
typedef struct {
	int *value;  /* by buffer of the whole: a number of its values, which
			* stays as it is where the buffer is put elsewhere */
	int *bucket; /* newest part; -1 */
	int *older;  /* by part: the one before in its bucket; -1 */
	int mask;
} Known;

static Known known_new(Arena *arena, const Program *whole, int n)
{
	Known k = {.mask = 1};
	while (k.mask < 2 * n)
		k.mask *= 2;
	k.value = NEW_N(arena, int, whole->nbuffers);
	k.bucket = NEW_N(arena, int, k.mask);
	k.older = NEW_N(arena, int, n);
	for (int i = 0; i < whole->nbuffers; i++)
		k.value[i] = i;
	for (int i = 0; i < k.mask; i++)
		k.bucket[i] = -1;
	k.mask--;
	return k;
}

static int *bucket_of(const Known *k, const Link *link, int part)
{
	const Program *p = link->parts[part]->nest->program;
	uint64_t hash = hash64(p->op, strlen(p->op), 0);
	for (int i = 0; i < p->ninputs; i++)
		hash = hash_mix(
		    hash + (uint64_t)k->value[link_of_whole(link, part, i)]);
	return &k->bucket[hash & (uint64_t)k->mask];
}

/* The last part's result is that of part `first`: an output's place, if it is one. */
static void drop_last(Link *link, Known *k, int first)
{
	int last = link->n - 1;
	int a = link_of_whole(
	    link, first, link->parts[first]->nest->program->outputs[0]);
	int b = link_of_whole(
	    link, last, link->parts[last]->nest->program->outputs[0]);
	int stays = is_output(link, last) ? b : a;
	int value = k->value[a];
	for (int i = 0; i < link->whole->nbuffers; i++)
		if (link->same[i] == a || link->same[i] == b) {
			link->same[i] = stays;
			k->value[i] = value;
		}
	link->n--;
}

static void add_part(Link *link, Known *k, Lower *part)
{
	int last = link->n++, first = -1;
	link->parts[last] = part;
	if (!is_cut(link, last))
		return;
	int *bucket = bucket_of(k, link, last);
	for (int i = *bucket; i >= 0; i = k->older[i])
		if (same_part(link, i, last))
			first = i;
	if (first >= 0) {
		drop_last(link, k, first);
		return;
	}
	k->older[last] = *bucket;
	*bucket = last;
}

Link link_new(Arena *arena, const Program *whole, Lower **parts, int n)
{
	Link link = {.arena = arena,
	    .whole = whole,
	    .parts = NEW_N(arena, Lower *, n),
	    .same = NEW_N(arena, int, whole->nbuffers),
	    .packed_bytes = NEW_N(arena, int64_t, whole->ninputs),
	    .pieces = NEW_N(arena, PackPieceVec, whole->ninputs),
	    .low_buffer = NEW_N(arena, int, whole->nbuffers),
	    .first = NEW_N(arena, int, whole->nbuffers),
	    .last = NEW_N(arena, int, whole->nbuffers),
	    .own = NEW_N(arena, OwnBuffers, n)};
	for (int i = 0; i < whole->nbuffers; i++)
		link.same[i] = i;
	Known known = known_new(arena, whole, n);
	for (int i = 0; i < n; i++)
		add_part(&link, &known, parts[i]);
	for (int i = 0; i < whole->ninputs; i++)
		if (whole->buffers[i].is_const)
			lay_out_packed(&link, i);
	for (int i = 0; i < whole->nbuffers; i++)
		link.low_buffer[i] = -1;
	return link;
}

/* --- the kernel's buffers --------------------------------------------------------- */

/* Which parameter of the kernel's holds a buffer of the whole; -1: none. */
static int param_of(const Program *whole, int buffer)
{
	if (buffer < whole->ninputs)
		return buffer;
	for (int i = 0; i < whole->noutputs; i++)
		if (whole->outputs[i] == buffer)
			return whole->ninputs + i;
	return -1;
}

/* An input or output of the part that is not packed. */
static void place_common(Link *link, int part, int b, bool written)
{
	Lower *l = link->parts[part];
	const NestBuffer *n = &l->nest->buffers.at[b];
	int64_t elements = tape_value(l->nest->tape, n->elements);
	int whole = link_of_whole(link, part, b);
	int param = param_of(link->whole, whole);
	const char *name = link->whole->buffers[whole].name;
	int *low = &link->low_buffer[whole];
	if (*low < 0) {
		*low = param >= 0
		    ? declare_buffer(l, name, n->type, elements,
			  LOWBUF_PARAM, param, 0, dtype_bytes(n->type))
		    : declare_buffer(l, name, n->type, elements,
			  LOWBUF_WORKSPACE, 0, 0, WORKSPACE_ALIGN);
		link->first[whole] = part;
	}
	link->last[whole] = part;
	l->part->low_buffer[b] = *low;
	l->f->buffers.at[*low].written |= written;
	assert(l->f->buffers.at[*low].elements == elements);
}

static void place_packed(Link *link, int part, int input, const bool *used)
{
	Lower *l = link->parts[part];
	const Nest *nest = l->nest;
	int whole = link_of_whole(link, part, input);
	const PackPieceVec *pieces = &link->pieces[whole];
	for (int k = 0; k < pieces->n; k++) {
		int i = pieces->at[k].buffer;
		const NestBuffer *b = &nest->buffers.at[i];
		if (pieces->at[k].part != part || !used[i])
			continue;
		int *low = i == input ? &link->low_buffer[whole]
				      : &l->part->low_buffer[i];
		if (*low < 0)
			*low = declare_buffer(l, b->name, b->type,
			    tape_value(nest->tape, b->elements), LOWBUF_PARAM,
			    whole, pieces->at[k].offset, WORKSPACE_ALIGN);
		l->part->low_buffer[i] = *low;
	}
}

void link_place(Link *link, int part, const bool *used, const bool *written)
{
	Lower *l = link->parts[part];
	const Program *p = l->nest->program;
	OwnBuffers *own = &link->own[part];
	for (int i = 0; i < p->ninputs + p->noutputs; i++) {
		int b = i < p->ninputs ? i : p->outputs[i - p->ninputs];
		if (i < p->ninputs && p->buffers[i].is_const)
			place_packed(link, part, i, used);
		else if (used[b])
			place_common(link, part, b, written[b]);
	}
	own->from = l->f->buffers.n;
	own->bytes = place_workspace(l, used, written);
	own->end = l->f->buffers.n;
}

int64_t link_workspace(Link *link, LowFunction *f)
{
	const Program *whole = link->whole;
	PieceVec pieces = {0};
	for (int i = 0; i < whole->nbuffers; i++) {
		int low = link->low_buffer[i];
		if (low < 0 || f->buffers.at[low].kind != LOWBUF_WORKSPACE)
			continue;
		Piece p = {.buffer = i,
		    .first = link->first[i],
		    .last = link->last[i],
		    .bytes = workspace_rounded(
			buffer_bytes(&whole->buffers[i]))};
		vec_push(link->arena, &pieces, p);
	}
	for (int i = 0; i < link->n; i++) {
		Piece p = {.buffer = whole->nbuffers + i,
		    .first = i,
		    .last = i,
		    .bytes = workspace_rounded(link->own[i].bytes)};
		vec_push(link->arena, &pieces, p);
	}
	int64_t bytes = place_pieces(link->arena, &pieces);
	for (int i = 0; i < pieces.n; i++) {
		const Piece *p = &pieces.at[i];
		int part = p->buffer - whole->nbuffers;
		if (part < 0)
			f->buffers.at[link->low_buffer[p->buffer]].offset =
			    p->offset;
		for (int k = part < 0 ? 0 : link->own[part].from;
		     part >= 0 && k < link->own[part].end; k++)
			if (f->buffers.at[k].kind == LOWBUF_WORKSPACE)
				f->buffers.at[k].offset += p->offset;
	}
	return bytes;
}
