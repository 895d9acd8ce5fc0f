/* Traces between a spec's names and canonical ones.
 *
 *     ap = cache_read(c, a)          b0 = cache_read(d0, i0)
 *     mo, mi = split(c.i, [_, 6])    l0, l1 = split(d0.a0, [_, 6])
 *
 * Definitions are d0, d1 ..., blocks split off from them d0~1, inputs i0 ...,
 * axes of a block a0 ... and r0 ...; names that the trace gives are numbered in
 * order, l0 ... for loops, b0 ... for blocks.  The way back names these for what
 * they are made of, and once more where a name is taken:
 *
 *     l0, l1 = split(d0.a0, [_, 6])     c_i0, c_i1 = split(c.i, [_, 6])
 *     l2 = fuse(l0, d0.a1)              c_i0_j = fuse(c_i0, c.j)
 *     b0 = cache_read(d0, i0)           a_pack = cache_read(c, a) */
#include "schedule/internal.h"

#include <assert.h>
#include <string.h>

typedef struct {
	const char *from, *to;
	int block; /* whose axes the stage, or the loop's stage, has; -1: x0 ... */
	const char *stem; /* of a loop that the trace names: its stage, as names
			     begin with it; else NULL */
} Name;

struct TraceNames {
	Arena *arena;
	const Program *program;
	bool canonical; /* the way there */
	VEC(Name) names;
	Lookup from, to; /* positions in `names` */
	Lookup taken;    /* by the program */
	int nloops, nblocks; /* given so far */
	char unknown[128];   /* the first name that was not found */
};
typedef struct TraceNames Rename;

/* --- names of the program ---------------------------------------------------- */

/* A part of a program may have the block y~2 of a definition alone: there it is
 * a definition of that name, d0, as y~1 is in another part. */
static const char *canonical_block(Arena *arena, const Program *p, int block)
{
	int definition = p->blocks[block].definition;
	const char *whole = p->definitions[definition].name;
	const char *name = p->blocks[block].name;

	assert(!strncmp(name, whole, strlen(whole)));
	return arena_printf(arena, "d%d%s", p->canonical_definition[definition],
	    name + strlen(whole));
}

static void push_name(Rename *r, Name name)
{
	lookup_add(&r->from, name.from, r->names.n);
	lookup_add(&r->to, name.to, r->names.n);
	vec_push(r->arena, &r->names, name);
	/* else trace_canonical_after would drop others' */
	assert(r->from.entries.n == r->names.n);
	assert(r->to.entries.n == r->names.n);
}

static void add_name(
    Rename *r, const char *spec, const char *canonical, int block)
{
	Name name = {spec, canonical, block, NULL};

	if (!r->canonical) {
		name.from = canonical;
		name.to = spec;
	}
	push_name(r, name);
}

static void add_program(Rename *r)
{
	const Program *p = r->program;

	for (int i = 0; i < p->ninputs; i++)
		add_name(r, p->buffers[i].name,
		    arena_printf(r->arena, "i%d", i), -1);
	for (int i = 0; i < p->nblocks; i++)
		if (p->canonical_definition[p->blocks[i].definition] >= 0)
			add_name(r, p->blocks[i].name,
			    canonical_block(r->arena, p, i), i);
	for (int i = 0; i < p->nbuffers; i++)
		lookup_add(&r->taken, p->buffers[i].name, i);
	for (int i = 0; i < p->ndefinitions; i++)
		lookup_add(&r->taken, p->definitions[i].name, i);
}

/* --- one word ------------------------------------------------------------------ */

static const Name *find_name(const Rename *r, const char *from, size_t n)
{
	int e = lookup_first(&r->from, from, n);

	return e < 0 ? NULL
	    : &r->names.at[r->from.entries.at[e].number];
}

static const char *miss(Rename *r, const char *word)
{
	if (!r->unknown[0])
		strncpy(r->unknown, word, sizeof r->unknown - 1);
	return word;
}

static const char *axis_canonical(Arena *arena, const Block *b, int axis)
{
	return axis < b->nspatial
	    ? arena_printf(arena, "a%d", axis)
	    : arena_printf(arena, "r%d", axis - b->nspatial);
}

/* An axis of a block; NULL: no axis of that name. */
static const char *axis_name(const Rename *r, int block, const char *axis)
{
	const Block *b = &r->program->blocks[block];

	for (int i = 0; i < b->naxes; i++) {
		const char *canonical = axis_canonical(r->arena, b, i);
		const char *spec = b->axes[i].name;
		if (!strcmp(axis, r->canonical ? spec : canonical))
			return r->canonical ? canonical : spec;
	}
	return NULL;
}

static bool is_place(const char *axis)
{
	return axis[0] == 'x' && axis[1] >= '0' && axis[1] <= '9';
}

/* An axis of a stage.  Those of copies are x0, x1 ..., whatever else in the
 * program is called so; loops that rfactor made axes have their own names. */
static const char *stage_axis(Rename *r, const Name *stage, const char *axis)
{
	const char *to = NULL;
	const Name *loop;

	if (stage->block < 0 && is_place(axis))
		return axis;
	if (stage->block >= 0)
		to = axis_name(r, stage->block, axis);
	if (!to && (loop = find_name(r, axis, strlen(axis))))
		to = loop->to;
	if (!to && is_place(axis))
		to = axis;
	return to ? to : miss(r, axis);
}

static const char *rename_word(Rename *r, const char *word)
{
	const char *dot = strchr(word, '.');
	const Name *name = find_name(
	    r, word, dot ? (size_t)(dot - word) : strlen(word));

	if (!name)
		return miss(r, word);
	if (!dot)
		return name->to;
	return arena_printf(
	    r->arena, "%s.%s", name->to, stage_axis(r, name, dot + 1));
}

/* j//(mi*16)%4: an axis of the block, then loops. */
static const char *rename_part(Rename *r, const char *part, const Name *stage)
{
	Buf text = {0};
	const char *result;
	bool first = true;

	while (*part) {
		size_t n = word_piece(part);
		const char *piece = arena_strndup(r->arena, part, n);
		bool word = strchr("0123456789/%*()", piece[0]) == NULL;
		if (first && stage)
			piece = stage_axis(r, stage, piece);
		else if (word && strcmp(piece, "lanes") != 0)
			piece = rename_word(r, piece);
		buf_puts(&text, piece);
		part += n;
		first = false;
	}
	result = arena_strdup(r->arena, buf_text(&text));
	buf_free(&text);
	return result;
}

/* --- steps ---------------------------------------------------------------------- */

static bool names_something(char role, const char *word)
{
	if (role == 'A')
		return strcmp(word, "root") && strcmp(word, "inline");
	return role == 'B' || role == 'L' || role == 'U' || role == 'X';
}

/* A factor that is another loop's. */
static bool names_loop(char role, const char *word)
{
	bool lanes = !strncmp(word, "lanes", 5) && (!word[5] || word[5] == '*');

	return role == 'F' && !lanes;
}

static TraceValue rename_value(
    Rename *r, char role, TraceValue v, const Name *stage)
{
	TraceValue *list;

	if (v.kind == VALUE_WORD && role == 'P')
		v.word = rename_part(r, v.word, stage);
	else if (v.kind == VALUE_WORD &&
	    (names_something(role, v.word) || names_loop(role, v.word)))
		v.word = rename_word(r, v.word);
	if (v.kind != VALUE_LIST)
		return v;
	list = NEW_N(r->arena, TraceValue, v.n);
	for (int i = 0; i < v.n; i++)
		list[i] = rename_value(r, role, v.list[i], stage);
	v.list = list;
	return v;
}

static void rename_domain(
    Rename *r, char role, Domain *d, const Name *stage)
{
	TraceValue **values;

	if (!d->values)
		return;
	values = NEW_N(r->arena, TraceValue *, d->parts);
	for (int i = 0; i < d->parts; i++) {
		values[i] = NEW_N(r->arena, TraceValue, d->nvalues[i]);
		for (int j = 0; j < d->nvalues[i]; j++)
			values[i][j] = rename_value(
			    r, role, d->values[i][j], stage);
	}
	d->values = values;
}

static bool is_taken(const Rename *r, const char *name)
{
	size_t n = strlen(name);

	return lookup_first(&r->taken, name, n) >= 0 ||
	    lookup_first(&r->to, name, n) >= 0;
}

static const char *canonical_name(Rename *r, char kind)
{
	return kind != 'L' ? arena_printf(r->arena, "b%d", r->nblocks++)
			   : arena_printf(r->arena, "l%d", r->nloops++);
}

enum { STEM_MOST = 40 }; /* bytes: a name of names ends there */

/* A stage or a loop in a name: t~1.j as t_1_j. */
static char *as_stem(Arena *arena, const char *word, size_t size)
{
	char *stem = arena_strndup(arena, word, size);

	for (char *c = stem; *c; c++)
		if (*c == '.' || *c == '~')
			*c = '_';
	return stem;
}

/* The stage of a loop in the new names, as names begin with it. */
static const char *stem_of_loop(const Rename *r, const char *loop)
{
	int e = lookup_first(&r->to, loop, strlen(loop));
	const Name *name =
	    e < 0 ? NULL : &r->names.at[r->to.entries.at[e].number];

	return name && name->stem ? name->stem
	    : as_stem(r->arena, loop, strcspn(loop, "."));
}

/* Has every argument that names are made of a word? */
static bool has_words(const Step *step)
{
	int n = step->primitive == PRIMITIVE_fuse ? step->nargs : 1;

	for (int i = 0; i < n; i++)
		if (i >= step->nargs || step->args[i].open ||
		    step->args[i].value.kind != VALUE_WORD)
			return false;
	return true;
}

/* c_i0_j of c_i0 and c.j. */
static const char *fused_stem(const Rename *r, const Step *step)
{
	assert(has_words(step));
	const char *stage = stem_of_loop(r, step->args[0].value.word);
	Buf text = {0};
	const char *stem;

	buf_puts(&text, stage);
	for (int i = 0; i < step->nargs; i++) {
		const char *loop = step->args[i].value.word;
		const char *part = as_stem(r->arena, loop, strlen(loop));
		size_t same = strlen(stage);
		bool begins = !strncmp(part, stage, same) && part[same] == '_';
		buf_printf(&text, "_%s", begins ? part + same + 1 : part);
	}
	stem = text.size <= STEM_MOST
	    ? arena_strdup(r->arena, buf_text(&text))
	    : arena_printf(r->arena, "%s_fused", stage);
	buf_free(&text);
	return stem;
}

/* What a name tells of the step, whose arguments have their new names. */
static const char *stem_of(const Rename *r, const Step *step)
{
	const char *of = step->args[0].value.word;
	const char *what = primitive_name(step->primitive);
	bool reads = step->primitive == PRIMITIVE_cache_read;
	bool writes = step->primitive == PRIMITIVE_cache_write;
	int scope = reads ? 2 : 1; /* which argument */

	if (step->primitive == PRIMITIVE_fuse)
		return fused_stem(r, step);
	of = as_stem(r->arena, of, strlen(of));
	if (primitive_outs(step->primitive) == 'L')
		return of;
	if (reads)
		what = "pack";
	if ((reads || writes) && step->nargs > scope &&
	    !step->args[scope].key &&
	    step->args[scope].value.kind == VALUE_WORD)
		what = step->args[scope].value.word;
	if (reads && step->args[1].value.kind == VALUE_WORD)
		of = as_stem(r->arena, step->args[1].value.word,
		    strlen(step->args[1].value.word));
	return arena_printf(r->arena, "%s_%s", of, what);
}

/* The i-th of a step's names; digits tell several apart. */
static const char *speaking_name(const Rename *r, const Step *step, int i)
{
	const char *stem = stem_of(r, step), *name = stem;
	size_t n = strlen(stem);

	assert(n > 0 && i < step->nouts);
	if (step->nouts > 1 || primitive_outs(step->primitive) == 'P')
		name = stem = arena_printf(r->arena, "%s%s%d", stem,
		    stem[n - 1] >= '0' && stem[n - 1] <= '9' ? "_" : "", i);
	for (int k = 2; is_taken(r, name); k++)
		name = arena_printf(r->arena, "%s_%d", stem, k);
	return name;
}

/* The i-th name that a renamed step gives. */
static Name new_name(Rename *r, const Step *step, int i, const char *from)
{
	char kind = primitive_outs(step->primitive);
	Name name = {.from = from};

	if (r->canonical || !has_words(step)) {
		name.to = canonical_name(r, kind);
		while (!r->canonical && is_taken(r, name.to))
			name.to = arena_printf(r->arena, "%s_", name.to);
		return name;
	}
	name.to = speaking_name(r, step, i);
	if (kind == 'L')
		name.stem = stem_of_loop(r, step->args[0].value.word);
	return name;
}

/* Whose axes a block, or the block of loops, made by this step has. */
static int axes_of(const Rename *r, const Step *step)
{
	const char *word;
	const char *dot;
	const Name *name;

	if (step->primitive == PRIMITIVE_cache_read ||
	    step->primitive == PRIMITIVE_winograd || step->nargs < 1 ||
	    step->args[0].open || step->args[0].value.kind != VALUE_WORD)
		return -1;
	word = step->args[0].value.word;
	dot = strchr(word, '.');
	name = find_name(r, word, dot ? (size_t)(dot - word) : strlen(word));
	return name ? name->block : -1;
}

static Step rename_step(Rename *r, const Step *from)
{
	Step s = *from;
	int block = axes_of(r, from);
	const Name *stage = NULL;

	if (s.nargs && s.args[0].value.kind == VALUE_WORD && !s.args[0].open)
		stage = find_name(r, s.args[0].value.word,
		    strlen(s.args[0].value.word));
	s.args = NEW_N(r->arena, Arg, s.nargs);
	for (int i = 0; i < s.nargs; i++) {
		Arg arg = from->args[i];
		char role = arg.key ? 'W' : primitive_role(s.primitive, i);
		if (!arg.open)
			arg.value = rename_value(r, role, arg.value, stage);
		rename_domain(r, role, &arg.domain, stage);
		s.args[i] = arg;
	}
	s.outs = NEW_N(r->arena, const char *, s.nouts);
	for (int i = 0; i < s.nouts; i++) {
		Name name = new_name(r, &s, i, from->outs[i]);
		name.block = block;
		s.outs[i] = name.to;
		push_name(r, name);
	}
	return s;
}

static Rename rename_new(Arena *arena, const Program *program, bool canonical)
{
	Rename r = {.arena = arena,
	    .program = program,
	    .canonical = canonical,
	    .from.arena = arena,
	    .to.arena = arena,
	    .taken.arena = arena};

	add_program(&r);
	return r;
}

static Trace *rename_trace(Rename *r, const Trace *trace)
{
	Trace *out = NEW(r->arena, Trace);

	for (int i = 0; i < trace->steps.n; i++) {
		Step step = rename_step(r, &trace->steps.at[i]);
		vec_push(r->arena, &out->steps, step);
	}
	return out;
}

Trace *trace_canonical(Arena *arena, const Program *program, const Trace *trace)
{
	Rename r = rename_new(arena, program, true);

	return rename_trace(&r, trace);
}

TraceNames *trace_names(Arena *arena, const Program *program)
{
	Rename r = rename_new(arena, program, true);

	return arena_memdup(arena, &r, sizeof r);
}

/* What this trace names is not there for the next one. */
Trace *trace_canonical_after(TraceNames *names, const Trace *trace)
{
	int before = names->names.n;
	assert(names->canonical);
	Trace *out = rename_trace(names, trace);

	for (; names->names.n > before; names->names.n--) {
		lookup_drop(&names->from);
		lookup_drop(&names->to);
	}
	return out;
}

Trace *trace_localized(
    Arena *arena, const Program *program, const Trace *trace, Error *error)
{
	Rename r = rename_new(arena, program, false);
	Trace *out = rename_trace(&r, trace);

	if (!r.unknown[0])
		return out;
	error_set(error, STATUS_INPUT,
	    "the trace names '%s', which the operator does not have",
	    r.unknown);
	return NULL;
}

Trace *trace_stored(Arena *arena, const Program *program,
    const struct json_t *json, Error *error)
{
	const Trace *trace = trace_from_json(arena, json, error);
	return trace ? trace_localized(arena, program, trace, error) : NULL;
}

Trace *trace_between(Arena *arena, const Program *from, const Program *to,
    const Trace *trace, Error *error)
{
	return trace_localized(
	    arena, to, trace_canonical(arena, from, trace), error);
}
