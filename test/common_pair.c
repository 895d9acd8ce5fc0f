#include "test/common_pair.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ir/scalar.h"
#include "schedule/groups.h"
#include "test/common_compose.h"

enum {
	MOST_STEPS = 19,
	MAX_STEPS = 100000000,
	POISON = 0xff,
	ALIGN = 64,
	MOST_ARGS = 64,
	FIRST_TRIES = 20,
	COMPOSED = 11, /* every such pair */
	WANTING = 5,   /* every such pair is drawn for a primitive */
	DRAWS_MOST = 60
};

/* What luck seldom puts into a trace. */
static const int rare[] = {PRIMITIVE_tensorize, PRIMITIVE_blockize,
    PRIMITIVE_rfactor, PRIMITIVE_compute_with, PRIMITIVE_reverse_compute_inline,
    PRIMITIVE_reverse_compute_at, PRIMITIVE_compute_inline,
    PRIMITIVE_decompose_reduction, PRIMITIVE_fuse, PRIMITIVE_pad,
    PRIMITIVE_narrow, PRIMITIVE_shorten, PRIMITIVE_prefix};
/* Of them, and of what is tried as often as the others, the rarest. */
static const int rarest[] = {PRIMITIVE_shorten, PRIMITIVE_distribute,
    PRIMITIVE_extract, PRIMITIVE_shorten, PRIMITIVE_prefix,
    PRIMITIVE_distribute, PRIMITIVE_flatten, PRIMITIVE_retype};

static const double COMPOSED_ERROR = 1e-4;

/* --- making ------------------------------------------------------------------- */

static Numerics numerics_of(const Pair *pair)
{
	return pair->kind == PAIR_EXACT		    ? NUMERICS_EXACT
	    : pair->composed && pair->seed % 3 == 0 ? NUMERICS_FAST
						    : NUMERICS_DEFAULT;
}

static const char *read_program(Arena *arena, Pair *pair)
{
	Source source = {"op.yaml", pair->text.text, strlen(pair->text.text)};
	Source *kept = arena_memdup(arena, &source, sizeof source);
	Diag diag = {0};
	Spec *spec = spec_parse(arena, kept, &diag);
	const char *why = NULL;
	char reason[256];

	pair->program = !spec ? NULL
			      : spec_program(arena, spec, NULL, NULL, 0,
				    numerics_of(pair), &diag);
	if (!pair->program)
		why = arena_printf(
		    arena, "refused: %s", buf_text(&diag.text));
	else if (!program_verify(pair->program, reason, sizeof reason))
		why = arena_strdup(arena, reason);
	diag_free(&diag);
	return why;
}

static PairKind random_kind(Rng *rng)
{
	static const PairKind kinds[] = {PAIR_EXACT, PAIR_PLAIN, PAIR_SAMPLED,
	    PAIR_SAMPLED, PAIR_DEVICE, PAIR_DEVICE, PAIR_DEVICE, PAIR_DEVICE};
	int i = (int)rng_below(rng, 16);

	return i < 8 ? kinds[i] : PAIR_RANDOM;
}

/* A candidate; of a program of several groups one of each, joined. */
static Trace *sampled(Arena *arena, Pair *pair, const Target *target,
    Rng *rng)
{
	Error error;
	const Groups *g = groups_of(arena, pair->program, &target->machine);
	Trace **traces = NEW_N(arena, Trace *, g->n);
	Trace *joined;

	for (int i = 0; i < g->n; i++) {
		const Program *p = g->groups[g->groups[i].same_as].program;
		Space *space =
		    space_new(arena, p, &target->machine, &error);
		Candidate c;
		/* as build does, or a search */
		if (space &&
		    (pair->composed && pair->seed % 2
			    ? space_first(space, FIRST_TRIES, &c)
			    : space_sample(space, rng, &c)))
			traces[i] = groups_trace(arena, g, i,
			    space_trace(arena, space, &c), &error);
		else
			traces[i] = schedule_plain(
			    arena, g->groups[i].program);
	}
	joined = groups_join(arena, g, traces, &error);
	pair->ngroups = g->n;
	return joined;
}

/* Primitives that luck seldom accepts are preferred, and each trace has a taste
 * of its own. */
static Trace *random_trace(Arena *arena, Pair *pair, const Target *target,
    Rng *rng)
{
	Coverage *c = &pair->steps;
	bool device = pair->kind == PAIR_DEVICE;
	Trace *trace;

	for (int i = 0; i < PRIMITIVE_COUNT; i++)
		c->finished[i] = 100 + (int)rng_below(rng, 1000);
	for (size_t i = 0; i < sizeof rare / sizeof *rare; i++)
		c->finished[rare[i]] /= 4;
	c->finished[PRIMITIVE_tensorize] = 0;
	c->finished[PRIMITIVE_vectorize] = (int)rng_below(rng, 100);
	c->device = device;
	c->excluded[PRIMITIVE_bind] = !device;
	c->excluded[PRIMITIVE_group] = true;
	c->excluded[PRIMITIVE_stages] = !device;
	if (device)
		c->finished[PRIMITIVE_bind] = 0;
	trace = schedule_random(arena, pair->program, &target->machine, rng,
	    MOST_STEPS, c);
	memset(c, 0, sizeof *c);
	return trace;
}

static void make_trace(
    Arena *arena, Pair *pair, const Target *target, Rng *rng)
{
	switch (pair->kind) {
	case PAIR_SAMPLED:
		pair->trace = sampled(arena, pair, target, rng);
		break;
	case PAIR_PLAIN:
	case PAIR_EXACT:
		pair->trace = schedule_plain(arena, pair->program);
		break;
	default:
		pair->trace = random_trace(arena, pair, target, rng);
	}
	for (int i = 0; pair->trace && i < pair->trace->steps.n; i++)
		pair->steps.accepted[pair->trace->steps.at[i].primitive]++;
}

/* The target's, with blocks of threads where the pair is for a device. */
static Machine machine_of(const Pair *pair, const Target *target)
{
	Machine machine = target->machine;

	machine.gpu = pair->kind == PAIR_DEVICE;
	return machine;
}

static const char *make_lowered(
    Arena *arena, Pair *pair, const Target *target)
{
	Error error;
	Machine machine = machine_of(pair, target);
	Nest *nest = schedule_nest(
	    arena, pair->program, &machine, pair->trace, &error);

	if (!nest)
		return arena_printf(arena, "nest: %s", error.text);
	pair->lowered = lower(arena, nest, &machine, &error);
	if (pair->lowered)
		return NULL;
	pair->refused = arena_strdup(arena, error.text);
	return (pair->kind == PAIR_DEVICE || pair->kind == PAIR_RANDOM) &&
		error.status == STATUS_UNSUPPORTED
	    ? NULL : arena_printf(arena, "lower: %s", pair->refused);
}

/* May the value be the literal 0 of an arm, there or in what it reads? */
static bool may_be_zero(const Program *p, const Expr *e, bool here)
{
	const Expr *arm;
	int block;

	if (e->op == OP_CAST)
		return may_be_zero(p, e->arg[0], here);
	if (e->op == OP_READ && here) {
		block = p->buffers[e->id].block;
		return block >= 0 &&
		    may_be_zero(p, p->blocks[block].body, false);
	}
	for (int i = 1; e->op == OP_IF && i <= 2; i++) {
		arm = e->arg[i];
		if ((arm->op == OP_FLOAT && arm->f == 0) ||
		    (arm->op == OP_INT && arm->i == 0) ||
		    may_be_zero(p, arm, here))
			return true;
	}
	return false;
}

static bool multiplies_zeros(const Program *p, const Expr *e)
{
	if (e->op == OP_MUL && dtype_is_float(e->type) &&
	    (may_be_zero(p, e->arg[0], true) ||
		may_be_zero(p, e->arg[1], true)))
		return true;
	for (int i = 0; i < e->narg; i++)
		if (multiplies_zeros(p, e->arg[i]))
			return true;
	return false;
}

/* By default such a product may be 0 whatever the other factor is, so that one
 * is finite. */
static bool has_zero_products(const Program *p)
{
	for (int i = 0; i < p->nblocks; i++)
		if (multiplies_zeros(p, p->blocks[i].body))
			return true;
	return false;
}

/* Of layers one after another no bound is known but that each is well behaved: a
 * part of the largest element of a result.  Where a layer takes the mean from
 * values that are all alike, what is left is a rounding of theirs: of about 1. */
static void allow_errors(Arena *arena, Pair *pair)
{
	const Program *p = pair->program;
	for (int o = 0; o < p->noutputs; o++) {
		const Buffer *b = &p->buffers[p->outputs[o]];
		const float *at = pair->data[p->outputs[o]];
		double most = 0.3; /* what norms make of nothing but rounding */
		for (int64_t i = 0; i < buffer_elements(b); i++)
			most = fmax(most, fabs(at[i]));
		OperatorError e = {b->name, COMPOSED_ERROR * most};
		vec_push(arena, &pair->text.errors, e);
	}
}

static void make_data(Arena *arena, Pair *pair)
{
	const Program *p = pair->program;
	Rng rng = rng_stream((uint64_t)pair->seed, 23, 0);
	OperatorData kind = pair->kind == PAIR_EXACT ? OPERATOR_ANY
	    : pair->composed || rng_below(&rng, 3) || has_zero_products(p)
	    ? OPERATOR_SMALL
	    : OPERATOR_SPECIAL;

	pair->data = NEW_N(arena, void *, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++) {
		pair->data[i] = arena_alloc(
		    arena, (size_t)buffer_bytes(&p->buffers[i]));
		if (i < p->ninputs)
			operator_fill(
			    &p->buffers[i], pair->data[i], kind, &rng);
		/* whole rows and channels of zeros */
		if (i < p->ninputs && pair->composed && pair->seed % 4 == 0)
			memset(pair->data[i], 0,
			    (size_t)buffer_bytes(&p->buffers[i]) / 8 * 4);
	}
	interp_run(p, pair->data);
	if (pair->composed && pair->kind != PAIR_EXACT)
		allow_errors(arena, pair);
}

/* The primitive that the pair is drawn again for; -1: it is taken as it comes. */
static int wanted_of(int seed)
{
	int n = sizeof rarest / sizeof *rarest;

	return seed % WANTING || seed % COMPOSED == 0
	    ? -1
	    : rarest[seed / WANTING % n];
}

/* An operator and a trace of it: the draw-th of the seed. */
static const char *draw_pair(Arena *arena, int seed, int draw, int wanted,
    const Target *target, Pair *pair)
{
	Rng rng = rng_stream(2026, 21, (uint64_t)seed + ((uint64_t)draw << 32));
	const char *name = arena_printf(arena, "op%d", seed);
	const char *why;

	*pair = (Pair){.seed = seed, .composed = seed % COMPOSED == 0};
	if (pair->composed)
		pair->text.text =
		    arena_strdup(arena, compose(arena, &rng, name, 1));
	else
		operator_random(arena, &rng, name, &pair->text);
	rng = rng_stream(2026, 22, (uint64_t)seed + ((uint64_t)draw << 32));
	pair->kind = pair->composed
	    ? (seed / COMPOSED % 5 ? PAIR_SAMPLED : PAIR_EXACT)
	    : wanted >= 0 ? PAIR_RANDOM
			  : random_kind(&rng);
	if ((why = read_program(arena, pair)))
		return why;
	make_trace(arena, pair, target, &rng);
	return NULL;
}

const char *pair_make(Arena *arena, int seed, const Target *target, Pair *pair)
{
	int wanted = wanted_of(seed), draw = 0;
	const char *why;

	do
		why = draw_pair(arena, seed, draw, wanted, target, pair);
	while (!why && wanted >= 0 && !pair->steps.accepted[wanted] &&
	    ++draw < DRAWS_MOST);
	if (why || (why = make_lowered(arena, pair, target)))
		return why;
	make_data(arena, pair);
	return NULL;
}

const char *pair_read(Arena *arena, const char *text, const char *trace,
    const Target *target, Pair *pair)
{
	const char *why;

	*pair = (Pair){.text.text = arena_strdup(arena, text)};
	if ((why = read_program(arena, pair)))
		return why;
	pair->trace = schedule_steps(arena, trace);
	if ((why = make_lowered(arena, pair, target)))
		return why;
	make_data(arena, pair);
	return pair->refused;
}

char *pair_show(Arena *arena, const Pair *pair)
{
	static const char *const kinds[] = {
	    "random", "device", "sampled", "plain", "exact"};
	Buf out = {0};
	char *text;

	buf_printf(&out, "seed %d (%s)\n%s", pair->seed, kinds[pair->kind],
	    pair->text.text ? pair->text.text : "");
	buf_puts(&out, "--- trace\n");
	if (pair->trace)
		trace_print(&out, pair->trace);
	text = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return text;
}

/* --- comparing ---------------------------------------------------------------- */

static bool is_same(const Buffer *b, const void *got, const void *want,
    int64_t i, double error)
{
	size_t size = (size_t)dtype_bytes(b->type);
	double g = scalar_element(b->type, got, i);
	double w = scalar_element(b->type, want, i);

	if (!memcmp((const char *)got + (size_t)i * size,
		(const char *)want + (size_t)i * size, size))
		return true;
	if (!dtype_is_float(b->type))
		return false;
	if (isnan(g) || isnan(w))
		return isnan(g) && isnan(w);
	return (error >= 0 && g == w) || fabs(g - w) <= error;
}

const char *pair_compare(
    Arena *arena, const Pair *pair, int i, const void *got)
{
	const Program *p = pair->program;
	const Buffer *b = &p->buffers[p->outputs[i]];
	const void *want = pair->data[p->outputs[i]];
	double error = pair->kind == PAIR_EXACT
	    ? -1 : 2 * operator_error(&pair->text, b->name);

	for (int64_t k = 0; k < buffer_elements(b); k++)
		if (!is_same(b, got, want, k, error))
			return arena_printf(arena,
			    "element %lld of %s is %.17g, expected %.17g "
			    "to %.3g",
			    (long long)k, b->name,
			    scalar_element(b->type, got, k),
			    scalar_element(b->type, want, k), error);
	return NULL;
}

/* --- running ------------------------------------------------------------------ */

typedef struct {
	char *map;
	size_t size;
} Guarded;

/* Between two pages without access: begins where the first ends, or ends,
 * rounded up to `align`, where the second begins. */
static void *guarded(Guarded *g, PairPlace place, int64_t bytes, size_t align)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t rounded = ((size_t)bytes + align - 1) / align * align;
	size_t inner = (rounded + page - 1) / page * page;

	g->size = inner + 2 * page;
	g->map = mmap(NULL, g->size, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(g->map, POISON, g->size);
	mprotect(g->map, page, PROT_NONE);
	mprotect(g->map + page + inner, page, PROT_NONE);
	return g->map + page + (place == PAIR_AT_START ? 0 : inner - rounded);
}

static const char *pack_inputs(const Pair *pair, PairPlace place,
    PairCall *call, void *context, void **args, Guarded *maps, int *nmaps)
{
	const Program *p = pair->program;
	const char *why = NULL;
	int packs = 0;

	for (int i = 0; i < p->ninputs && !why; i++) {
		const Buffer *b = &p->buffers[i];
		void *both[2];
		args[i] = guarded(&maps[(*nmaps)++], place, buffer_bytes(b),
		    (size_t)dtype_bytes(b->type));
		memcpy(args[i], pair->data[i], (size_t)buffer_bytes(b));
		if (!b->is_const)
			continue;
		both[0] = args[i];
		both[1] = guarded(&maps[(*nmaps)++], place,
		    pair->lowered->packed_bytes[packs], ALIGN);
		why = call(context, pair, packs++, both, 2);
		args[i] = both[1];
	}
	return why;
}

static const char *check(Arena *arena, const Pair *pair, void **args)
{
	const Program *p = pair->program;
	const char *why = NULL;

	for (int i = 0; i < p->ninputs && !why; i++)
		if (!p->buffers[i].is_const &&
		    memcmp(args[i], pair->data[i],
			(size_t)buffer_bytes(&p->buffers[i])))
			why = arena_printf(
			    arena, "input %s changed", p->buffers[i].name);
	for (int i = 0; i < p->noutputs && !why; i++)
		why = pair_compare(arena, pair, i, args[p->ninputs + i]);
	return why;
}

const char *pair_run(Arena *arena, const Pair *pair, PairPlace place,
    PairCall *call, void *context)
{
	const Program *p = pair->program;
	Guarded maps[2 * MOST_ARGS];
	void *args[MOST_ARGS];
	int nmaps = 0, n = p->ninputs;
	const char *why = pack_inputs(
	    pair, place, call, context, args, maps, &nmaps);

	for (int i = 0; i < p->noutputs; i++) {
		const Buffer *b = &p->buffers[p->outputs[i]];
		args[n++] = guarded(&maps[nmaps++], place, buffer_bytes(b),
		    (size_t)dtype_bytes(b->type));
	}
	args[n++] = guarded(
	    &maps[nmaps++], place, pair->lowered->workspace_bytes, ALIGN);
	if (!why)
		why = call(context, pair, -1, args, n);
	if (!why)
		why = check(arena, pair, args);
	while (nmaps--)
		munmap(maps[nmaps].map, maps[nmaps].size);
	return why;
}

static const char *run_lowered(
    Arena *arena, const LowFunction *f, void *const *args)
{
	LowRun run = {.check_races = true, .max_steps = MAX_STEPS};

	return low_function_run(f, args, &run)
	    ? NULL
	    : arena_strdup(arena, run.message);
}

static const LowFunction *function_of(const Pair *pair, int pack)
{
	return pack < 0 ? pair->lowered->kernel : pair->lowered->packs.at[pack];
}

const char *pair_call_lowered(
    void *context, const Pair *pair, int pack, void **args, int n)
{
	(void)n;
	return run_lowered(context, function_of(pair, pack), args);
}

const char *pair_call_parts(
    void *context, const Pair *pair, int pack, void **args, int n)
{
	const LowFunction *f = function_of(pair, pack);
	char why[512];

	f = low_choose_known(context, low_narrow(context, f));
	f = low_parts(context, f, 16);
	f = low_make_wanted(context, low_split_words(context, f, 16));
	f = low_load_halves(context, low_load_joined(context, f, 16), 16);
	f = low_pair_sums(context, low_choose_wide(context, f, 16));
	f = low_order(context, low_store_few(context, f), 4, 16);
	f = low_delay_stores(context, low_interleave(context, f));
	f = low_again(context, f, 8, 16);
	(void)n;
	if (!low_function_verify(f, why, sizeof why))
		return arena_printf(context, "in parts: %s", why);
	return run_lowered(context, f, args);
}
