/* Integers that lie apart by as many bytes as they are converted to are parts of
 * words:
 *
 *     s = shuffle x, y [1, 5, 9, ...]     z = shuffle x, y [0, 1, 2, ...]
 *     w = convert s                       b = bits z, as words
 *                                  ->     t = floordiv b, 2^8
 *                                         w = mod t, 2^8
 *
 * what is 2 and 3 mod 4 comes of the same words.  Shifts and masks are done in
 * more places than shuffles of bytes, which gcc takes apart besides, and no
 * vector of bytes is widened. */
#include "ir/lowered/lowered.h"

#include <string.h>

enum { MOST_SOURCES = 4, LANES_MAX = 64 };

/* Vectors one behind the other, as words. */
typedef struct {
	int source[MOST_SOURCES], n;
	DType type; /* of the words */
	int words;
} Words;

typedef struct {
	Arena *arena;
	LowFunction *to;
	int bytes;
	LowDefs defs;
	VEC(Words) have;     /* of the run at hand */
	LowBody *out;
} Split;

static int put(Split *s, LowOpcode op, DType type, int lanes, int a, int b)
{
	int d = low_temp(s->arena, s->to, type, lanes, "w");
	low_op(s->arena, s->out, op, d, a, b, -1);
	return d;
}

static int put_number(Split *s, DType type, int lanes, int64_t value)
{
	int d = low_temp(s->arena, s->to, type, lanes, "n");
	low_op(s->arena, s->out, LOW_CONST, d, -1, -1, -1)->i = value;
	return d;
}

/* Where a lane comes from, through shuffles; false: not known. */
static bool trace(const Split *s, int *temp, int *lane)
{
	for (;;) {
		const LowNode *n = s->defs.only[*temp];
		if (s->defs.assigned[*temp] != 1)
			return false;
		if (!n || n->op != LOW_SHUFFLE)
			return true;
		int from = n->shuffle[*lane];
		int first = s->to->temps.at[n->arg[0]].lanes;
		if (from < 0 || (from >= first && n->arg[1] < 0))
			return false;
		*temp = n->arg[from >= first];
		*lane = from >= first ? from - first : from;
	}
}

/* The vectors of which lane l of a temporary is element each*l + `part`. */
static bool find_sources(
    const Split *s, int temp, int each, int *part, Words *w)
{
	int lanes = s->to->temps.at[temp].lanes, length = 0;
	w->n = 0;
	for (int l = 0; l < lanes; l++) {
		int source = temp, lane = l;
		if (!trace(s, &source, &lane) || source == temp)
			return false;
		if (!l) {
			length = s->to->temps.at[source].lanes;
			*part = lane;
			if (lane >= each || length < each ||
			    each * lanes > MOST_SOURCES * length ||
			    each * lanes < length)
				return false;
		}
		int at = each * l + *part;
		if (at / length == w->n)
			w->source[w->n++] = source;
		if (at % length != lane || w->source[at / length] != source)
			return false;
	}
	return true;
}

/* Vectors of equal lanes as one. */
static int put_joined(Split *s, const int *source, int n)
{
	if (n == 1)
		return source[0];
	int a = put_joined(s, source, n / 2);
	int b = put_joined(s, source + n / 2, n / 2);
	const LowTemp *t = &s->to->temps.at[a];
	int lanes = 2 * t->lanes, *order = NEW_N(s->arena, int, lanes);
	for (int i = 0; i < lanes; i++)
		order[i] = i;
	int d = put(s, LOW_SHUFFLE, t->type, lanes, a, b);
	s->out->at[s->out->n - 1]->shuffle = order;
	return d;
}

/* Their words: by halves where they have more lanes than a vector may. */
static int put_words_of(
    Split *s, const int *source, int n, DType type, int lanes)
{
	if (n == 1 || n * s->to->temps.at[source[0]].lanes <= LANES_MAX)
		return put(
		    s, LOW_BITS, type, lanes, put_joined(s, source, n), -1);
	int halves[2];
	for (int i = 0; i < 2; i++)
		halves[i] = put_words_of(
		    s, source + i * (n / 2), n / 2, type, lanes / 2);
	return put_joined(s, halves, 2);
}

static int words_of(Split *s, Words *w, DType type, int lanes)
{
	w->type = type;
	for (int i = 0; i < s->have.n; i++) {
		const Words *h = &s->have.at[i];
		if (h->n == w->n && h->type == type &&
		    !memcmp(
			h->source, w->source, sizeof *w->source * (size_t)w->n))
			return h->words;
	}
	w->words = put_words_of(s, w->source, w->n, type, lanes);
	vec_push(s->arena, &s->have, *w);
	return w->words;
}

/* dst = the bits of each word from `first` on, with their sign if they have one. */
static void put_part(
    Split *s, int dst, int word, int first, int bits, bool has_sign)
{
	DType type = s->to->temps.at[dst].type;
	int lanes = s->to->temps.at[dst].lanes;
	int above = 8 * dtype_bytes(type) - first - bits;
	if (has_sign && above)
		word = put(s, LOW_MUL, type, lanes, word,
		    put_number(s, type, lanes, INT64_C(1) << above));
	else if (!has_sign && first)
		word = put(s, LOW_FLOORDIV, type, lanes, word,
		    put_number(s, type, lanes, INT64_C(1) << first));
	int number = put_number(
	    s, type, lanes, INT64_C(1) << (has_sign ? first + above : bits));
	low_op(s->arena, s->out, has_sign ? LOW_FLOORDIV : LOW_MOD, dst, word,
	    number, -1);
}

/* A conversion of parts of words to words. */
static bool put_words(Split *s, const LowNode *n)
{
	if (n->op != LOW_CONVERT || s->to->temps.at[n->dst].lanes == 1)
		return false;
	DType to = s->to->temps.at[n->dst].type;
	DType from = s->to->temps.at[n->arg[0]].type;
	int lanes = s->to->temps.at[n->dst].lanes, part = 0;
	int bytes = lanes * dtype_bytes(to), bits = 8 * dtype_bytes(from);
	Words w;
	if ((to != DT_I32 && to != DT_I16) ||
	    (from != DT_U8 && from != DT_I8 && from != DT_I16) ||
	    dtype_bytes(from) >= dtype_bytes(to) || bytes < 16 ||
	    bytes > 2 * s->bytes ||
	    !find_sources(
		s, n->arg[0], dtype_bytes(to) / dtype_bytes(from), &part, &w))
		return false;
	int word = words_of(s, &w, to, lanes);
	put_part(s, n->dst, word, part * bits, bits, from != DT_U8);
	return true;
}

static void split_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Split *s = context;
	s->out = out;
	s->have.n = 0;
	for (int i = 0; i < n; i++)
		if (!put_words(s, nodes[i]))
			vec_push(s->arena, out, nodes[i]);
}

const LowFunction *low_split_words(
    Arena *arena, const LowFunction *f, int bytes)
{
	Split s = {.arena = arena,
	    .to = low_like(arena, f),
	    .bytes = bytes,
	    .defs = low_defs(arena, f)};
	low_each_run(
	    arena, &f->body, low_is_operation, split_run, &s, &s.to->body);
	return s.to;
}
