/* Random schedules: random steps, of which those stay that apply and leave a
 * nest that is legal. */
#include "test/common_program.h"
#include "test/common_schedule.h"

#include <string.h>

enum { TRIES_A_STEP = 12, MAX_NAMES = 64 };

typedef struct {
	Arena *arena;
	const Program *program;
	const Machine *machine;
	Rng *rng;
	Nest *nest;    /* of the steps so far, not inferred */
	Trace *trace;
	int names;     /* given so far */
	bool device;   /* with what only a GPU has */
} Generator;

static int64_t below(Generator *g, int64_t n)
{
	return (int64_t)rng_below(g->rng, (uint64_t)n);
}

/* --- arguments ---------------------------------------------------------------- */

static int any_stage(Generator *g)
{
	return g->nest->order.at[below(g, g->nest->order.n)];
}

static const char *stage_name(Generator *g, int stage)
{
	return g->nest->stages.at[stage].name;
}

/* A loop of the stage; NULL where it has none. */
static const char *loop_of(Generator *g, int stage)
{
	const Stage *s = &g->nest->stages.at[stage];

	if (s->nloops == 0)
		return NULL;
	return g->nest->vars.at[s->loops[below(g, s->nloops)]].name;
}

static int var_where(Generator *g, bool (*good)(const Nest *nest, int var))
{
	for (int i = 0; i < 40; i++) {
		const Stage *s = &g->nest->stages.at[any_stage(g)];
		int var;
		if (s->nloops == 0)
			continue;
		var = s->loops[below(g, s->nloops)];
		if (good(g->nest, var))
			return var;
	}
	return -1;
}

static bool is_reduced(const Nest *nest, int var)
{
	return nest->vars.at[var].reduce;
}

static bool is_unreduced(const Nest *nest, int var)
{
	return !nest->vars.at[var].reduce;
}

static bool is_vectorizable(const Nest *nest, int var)
{
	Handle extent = edit_fixed_extent(nest, var);
	int64_t n;

	return !nest->vars.at[var].reduce && extent != HANDLE_NONE &&
	    tape_is_const(nest->tape, extent, &n) && n <= 16 && !(n & (n - 1));
}

static const char *var_name(Generator *g, int var)
{
	return var < 0 ? NULL : g->nest->vars.at[var].name;
}

static const char *pick(Generator *g, const char *const *words, int n)
{
	return words[below(g, n)];
}

static int buffers_read(Generator *g, int stage, int *buffers)
{
	int n = 0;

	for (int b = 0; b < g->nest->buffers.n && n < MAX_NAMES; b++)
		if (nest_reads(g->nest, stage, b))
			buffers[n++] = b;
	return n;
}

static const char *buffer_read(Generator *g, int stage)
{
	int buffers[MAX_NAMES];
	int n = buffers_read(g, stage, buffers);

	return n ? g->nest->buffers.at[buffers[below(g, n)]].name : NULL;
}

static const char *new_name(Generator *g)
{
	return arena_printf(g->arena, "t%d", g->names++);
}

static int64_t factor(Generator *g)
{
	static const int factors[] = {1, 2, 2, 3, 4, 4, 5, 7, 8, 8, 16};

	return factors[below(g, sizeof factors / sizeof *factors)];
}

/* --- steps -------------------------------------------------------------------- */

/* The step as text, or nothing where the nest has nothing to offer. */
typedef void (*Writer)(Generator *g, Buf *out);

static void call1(Buf *out, const char *step, const char *a)
{
	if (a)
		buf_printf(out, "%s(%s)", step, a);
}

static void call2(Buf *out, const char *step, const char *a, const char *b)
{
	if (a && b)
		buf_printf(out, "%s(%s, %s)", step, a, b);
}

static void write_split(Generator *g, Buf *out)
{
	const char *loop = loop_of(g, any_stage(g));
	int n = 2 + (int)below(g, 2);

	if (!loop)
		return;
	for (int i = 0; i < n; i++)
		buf_printf(out, "%s%s", i ? ", " : "", new_name(g));
	buf_printf(out, " = split(%s, [_", loop);
	for (int i = 1; i < n; i++)
		buf_printf(out, ", %lld", (long long)factor(g));
	buf_puts(out, "])");
}

static void write_fuse(Generator *g, Buf *out)
{
	const Stage *s = &g->nest->stages.at[any_stage(g)];
	int first;

	if (s->nloops < 2)
		return;
	first = (int)below(g, s->nloops - 1);
	buf_printf(out, "%s = fuse(%s, %s)", new_name(g),
	    var_name(g, s->loops[first]), var_name(g, s->loops[first + 1]));
}

static void write_reorder(Generator *g, Buf *out)
{
	const Stage *s = &g->nest->stages.at[any_stage(g)];
	int order[MAX_NAMES];

	if (s->nloops < 2 || s->nloops > MAX_NAMES)
		return;
	for (int i = 0; i < s->nloops; i++) {
		int j = (int)below(g, i + 1);
		order[i] = order[j];
		order[j] = s->loops[i];
	}
	buf_puts(out, "reorder(");
	for (int i = 0; i < s->nloops; i++)
		buf_printf(out, "%s%s", i ? ", " : "", var_name(g, order[i]));
	buf_putc(out, ')');
}

static void write_parallel(Generator *g, Buf *out)
{
	call1(out, "parallel", var_name(g, var_where(g, is_unreduced)));
}

static void write_vectorize(Generator *g, Buf *out)
{
	int var = var_where(g, is_vectorizable);

	if (var >= 0)
		buf_printf(out, "vectorize(%s, %lld)", var_name(g, var),
		    (long long)tape_value(g->nest->tape,
			edit_fixed_extent(g->nest, var)));
}

static void write_unroll(Generator *g, Buf *out)
{
	const char *loop = loop_of(g, any_stage(g));

	if (loop && below(g, 2))
		buf_printf(out, "unroll(%s, limit=%lld)", loop,
		    (long long)factor(g));
	else
		call1(out, "unroll", loop);
}

static void write_bind(Generator *g, Buf *out)
{
	static const char *const axes[] = {
	    "blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y"};

	call2(out, "bind", var_name(g, var_where(g, is_unreduced)),
	    pick(g, axes, 4));
}

static void write_compute_at(Generator *g, Buf *out)
{
	int stage = any_stage(g);
	IntVec readers =
	    edit_readers(g->nest, g->nest->stages.at[stage].buffer);
	const char *place = "root";

	if (readers.n > 0 && below(g, 8))
		place = loop_of(g, readers.at[below(g, readers.n)]);
	else if (below(g, 2))
		place = "inline";
	call2(out, "compute_at", stage_name(g, stage), place);
}

static void write_reverse_compute_at(Generator *g, Buf *out)
{
	int stage = any_stage(g), buffers[MAX_NAMES];
	int n = buffers_read(g, stage, buffers);
	int writer = n ? g->nest->buffers.at[buffers[below(g, n)]].writer : -1;

	if (!below(g, 3)) /* beside what reads the same */
		writer = any_stage(g);
	if (writer >= 0 && g->nest->stages.at[writer].nloops)
		call2(out, "reverse_compute_at", stage_name(g, stage),
		    loop_of(g, writer));
}

static bool may_share(const Generator *g, int a, int b)
{
	const Stage *x = &g->nest->stages.at[a], *y = &g->nest->stages.at[b];

	if (a == b || x->naxes != y->naxes ||
	    nest_reads(g->nest, a, y->buffer) ||
	    nest_reads(g->nest, b, x->buffer))
		return false;
	for (int i = 0; i < x->naxes; i++)
		if (x->axes[i].extent != y->axes[i].extent)
			return false;
	return true;
}

static void write_compute_with(Generator *g, Buf *out)
{
	int stage = any_stage(g), other = any_stage(g);

	for (int i = 0; i < 20 && !may_share(g, stage, other); i++) {
		stage = any_stage(g);
		other = any_stage(g);
	}
	call2(out, "compute_with", stage_name(g, stage), stage_name(g, other));
}

static void write_compute_inline(Generator *g, Buf *out)
{
	call1(out, "compute_inline", stage_name(g, any_stage(g)));
}

static void write_reverse_compute_inline(Generator *g, Buf *out)
{
	call1(out, "reverse_compute_inline", stage_name(g, any_stage(g)));
}

static void write_cache_read(Generator *g, Buf *out)
{
	static const char *const scopes[] = {
	    "", "", "", ", pack", ", local", ", scope=reg", ", shared",
	    ", shared"};
	int stage = any_stage(g);
	static const char *const reads[] = {
	    "", "", "", ", read=1", ", read=2", ", read=3"};
	const char *buffer = buffer_read(g, stage);

	if (buffer)
		buf_printf(out, "%s = cache_read(%s, %s%s%s)", new_name(g),
		    stage_name(g, stage), buffer, pick(g, scopes, g->device ? 8 : 6),
		    pick(g, reads, 6));
}

static void write_cache_write(Generator *g, Buf *out)
{
	static const char *const scopes[] = {
	    "", "", ", local", ", reg", ", shared"};

	buf_printf(out, "%s = cache_write(%s%s)", new_name(g),
	    stage_name(g, any_stage(g)),
	    pick(g, scopes, g->device ? 5 : 4));
}

static void write_set_scope(Generator *g, Buf *out)
{
	static const char *const scopes[] = {
	    "global", "local", "reg", "shared"};

	call2(out, "set_scope", stage_name(g, any_stage(g)),
	    pick(g, scopes, g->device ? 4 : 3));
}

/* Each dimension as one digit or two, in random order. */
static void write_transform_layout(Generator *g, Buf *out)
{
	int stage = any_stage(g), n = 0;
	const Stage *s = &g->nest->stages.at[stage];
	const char *parts[2 * MAX_NAMES];

	for (int d = 0; d < s->nspatial && d < MAX_NAMES; d++) {
		long long digit = factor(g);
		const char *name = s->axes[d].name;
		if (digit > 1 && below(g, 2)) {
			parts[n++] = arena_printf(
			    g->arena, "%s//%lld", name, digit);
			parts[n++] = arena_printf(
			    g->arena, "%s%%%lld", name, digit);
		} else {
			parts[n++] = name;
		}
	}
	buf_printf(out, "transform_layout(%s, [", stage_name(g, stage));
	for (int i = 0; i < n; i++) {
		int j = i + (int)below(g, n - i);
		const char *part = parts[j];
		parts[j] = parts[i];
		buf_printf(out, "%s%s", i ? ", " : "", part);
	}
	buf_puts(out, "])");
}

/* A block's axis, by a number that divides it if there is one. */
static void write_divide(Generator *g, Buf *out)
{
	int stage = any_stage(g);
	const Stage *s = &g->nest->stages.at[stage];
	const char *outer = new_name(g), *inner = new_name(g);

	if (!s->nspatial)
		return;
	const StageAxis *a = &s->axes[below(g, s->nspatial)];
	int64_t by = 2 + (int64_t)below(g, 4);
	while (by < a->extent && a->extent % by)
		by++;
	if (g->nest->vars.at[a->var].how == VAR_LOOP)
		buf_printf(out, "%s, %s = divide(%s, %lld)", outer, inner,
		    var_name(g, a->var), (long long)by);
}

/* Of the first block that has phases, or none. */
static void write_thin(Generator *g, Buf *out)
{
	ElementPhase phase;

	for (int i = 0; i < g->nest->order.n; i++) {
		const Stage *s =
		    &g->nest->stages.at[g->nest->order.at[i]];
		if (nest_is_argument(g->nest, s->buffer))
			continue;
		for (int a = 0; a < s->nspatial; a++)
			if (phase_greatest(s->body, a, &phase) &&
			    g->nest->vars.at[s->axes[a].var].how == VAR_LOOP) {
				buf_printf(out, "thin(%s.%s, %lld)", s->name,
				    s->axes[a].name, (long long)phase.step);
				return;
			}
	}
	call2(out, "thin", loop_of(g, any_stage(g)), "2");
}

static void write_pad(Generator *g, Buf *out)
{
	call2(out, "pad", stage_name(g, any_stage(g)), below(g, 8) ? "0" : "1");
}

static void write_tail(Generator *g, Buf *out)
{
	static const char *const styles[] = {"peel", "mask", "guard", "pad"};

	call2(out, "tail", stage_name(g, any_stage(g)), pick(g, styles, 4));
}

static void write_stages(Generator *g, Buf *out)
{
	buf_printf(out, "stages(%s, %lld)", stage_name(g, any_stage(g)),
	    (long long)(2 + below(g, 3)));
}

static void write_swizzle(Generator *g, Buf *out)
{
	buf_printf(out, "swizzle(%s, %lld)", stage_name(g, any_stage(g)),
	    (long long)(32 << below(g, 3)));
}

static void write_storage_align(Generator *g, Buf *out)
{
	buf_printf(out, "storage_align(%s, %lld, %lld, %lld)",
	    stage_name(g, any_stage(g)), (long long)below(g, 2),
	    (long long)factor(g), (long long)below(g, 4));
}

static void write_rfactor(Generator *g, Buf *out)
{
	const char *loop = var_name(g, var_where(g, is_reduced));

	if (loop)
		buf_printf(out, "%s = rfactor(%s)", new_name(g), loop);
}

static void write_prefix(Generator *g, Buf *out)
{
	const char *loop = var_name(g, var_where(g, is_reduced));
	const char *within = new_name(g), *before = new_name(g);

	if (loop)
		buf_printf(out, "%s, %s = prefix(%s, %d)", within, before,
		    loop, 2 + (int)below(g, 4));
}

/* The loop of the last running reduction, or of any. */
static const char *running_loop(Generator *g)
{
	const char *loop = var_name(g, var_where(g, is_reduced));
	Prefix prefix;
	int stage;

	for (int i = 0; i < g->nest->order.n; i++) {
		const Stage *s =
		    &g->nest->stages.at[g->nest->order.at[i]];
		int var = s->naxes == s->nspatial + 1
		    ? s->axes[s->nspatial].var : -1;
		if (var >= 0 && g->nest->vars.at[var].how == VAR_LOOP &&
		    !edit_scan(g->nest, var, &stage, &prefix))
			loop = g->nest->vars.at[var].name;
	}
	return loop;
}

static void write_carry(Generator *g, Buf *out)
{
	const char *loop = running_loop(g);

	if (loop)
		buf_printf(out, "carry(%s)", loop);
}

static bool has_window(const Stage *s, int axis)
{
	SlidingWindow w;
	bool found = false;

	for (int j = 0; j < s->nspatial && !found; j++)
		found = window_find(s->body, j, s->axes[j].extent, axis,
		    s->axes[axis].extent, &w);
	return found;
}

/* Of the last block that has windows, or any. */
static void write_separate(Generator *g, Buf *out)
{
	const char *loop = var_name(g, var_where(g, is_reduced));

	for (int i = 0; i < g->nest->order.n; i++) {
		const Stage *s =
		    &g->nest->stages.at[g->nest->order.at[i]];
		for (int a = s->nspatial; a < s->naxes; a++)
			if (has_window(s, a) &&
			    g->nest->vars.at[s->axes[a].var].how == VAR_LOOP)
				loop = g->nest->vars.at[s->axes[a].var].name;
	}
	if (loop)
		buf_printf(out, "%s = separate(%s)", new_name(g), loop);
}

/* Of some buffer that has such dimensions, or any. */
static void write_flatten(Generator *g, Buf *out)
{
	const Nest *nest = g->nest;
	int buffer = (int)below(g, (uint64_t)nest->buffers.n), dim = 0;

	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		for (int a = 0; a + 1 < s->nspatial; a++)
			if (!below(g, 3)) {
				buffer = s->buffer;
				dim = a;
			}
	}
	for (int b = 0; b < nest->buffers.n; b++) {
		const NestBuffer *x = &nest->buffers.at[b];
		for (int d = 0; x->writer < 0 && d < x->ndim - 1; d++)
			if (!below(g, 3)) {
				buffer = b;
				dim = d;
			}
	}
	buf_printf(out, "flatten(%s, %d)", nest->buffers.at[buffer].name, dim);
}

/* Of a block whose axis such a number divides, or any. */
static void write_unflatten(Generator *g, Buf *out)
{
	const Nest *nest = g->nest;
	int var = var_where(g, is_unreduced);
	int64_t by = 2 + (int64_t)below(g, 3);

	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		const StageAxis *last = &s->axes[s->nspatial - 1];
		if (s->nspatial && last->extent > by &&
		    last->extent % by == 0 && !below(g, 3))
			var = last->var;
	}
	if (var >= 0)
		buf_printf(out, "unflatten(%s, %lld)", var_name(g, var),
		    (long long)by);
}

/* Of some block, seldom one that has no such axes. */
static void write_collapse(Generator *g, Buf *out)
{
	int stage = any_stage(g);
	int n = g->nest->stages.at[stage].nspatial;
	buf_printf(out, "collapse(%s, %d)", stage_name(g, stage),
	    n > 1 ? (int)below(g, n - 1) : 0);
}

/* Of the last product that has such a factor, or any. */
static void write_extract(Generator *g, Buf *out)
{
	const char *stage = stage_name(g, any_stage(g));
	int number = (int)below(g, 4);
	Factor f;

	for (int i = 0; i < g->nest->order.n; i++) {
		const Stage *s =
		    &g->nest->stages.at[g->nest->order.at[i]];
		int64_t *extents = NEW_N(g->arena, int64_t, s->naxes);
		for (int a = 0; a < s->naxes; a++)
			extents[a] = s->axes[a].extent;
		for (int k = 0; k <= 3; k++)
			if (factor_find(g->arena, s->body, extents, s->naxes, k,
				false, &f)) {
				stage = s->name;
				number = k;
			}
	}
	buf_printf(out, "%s = extract(%s, %d%s)", new_name(g), stage, number,
	    below(g, 3) ? "" : ", apart=1");
}

/* Of the last convolution, or any; by tiles of 2, which are exact for integers. */
static void write_winograd(Generator *g, Buf *out)
{
	const char *stage = stage_name(g, any_stage(g));
	int nparts = 4;

	for (int i = 0; i < g->nest->order.n; i++) {
		const Stage *s =
		    &g->nest->stages.at[g->nest->order.at[i]];
		int64_t *extents = NEW_N(g->arena, int64_t, s->naxes);
		Winograd w;
		for (int a = 0; a < s->naxes; a++)
			extents[a] = s->axes[a].extent;
		if (winograd_find(g->arena, s->reduce, s->body, extents,
			s->nspatial, s->naxes, &w))
			continue;
		stage = s->name;
		nparts = winograd_nparts(&w);
	}
	for (int i = 0; i < nparts; i++)
		buf_printf(out, "%s%s", i ? ", " : "", new_name(g));
	buf_printf(out, " = winograd(%s, 2)", stage);
}

static void write_unfold(Generator *g, Buf *out)
{
	bool of_loop = below(g, 3) == 0;

	call1(out, "unfold",
	    of_loop ? var_name(g, var_where(g, is_reduced))
		    : stage_name(g, any_stage(g)));
}

static void write_decompose_reduction(Generator *g, Buf *out)
{
	int var = var_where(g, is_reduced);
	int stage = var < 0 ? -1 : g->nest->vars.at[var].stage;

	if (var >= 0)
		call2(out, "decompose_reduction", stage_name(g, stage),
		    loop_of(g, stage));
}

static void write_blockize(Generator *g, Buf *out)
{
	call1(out, "blockize", loop_of(g, any_stage(g)));
}

/* What sums the products of a loop's block; any one where nothing does. */
static const Intrinsic *intrinsic_for(Generator *g, int var)
{
	int stage = var < 0 ? -1 : g->nest->vars.at[var].stage;
	const Intrinsic *in = stage < 0
	    ? NULL : intrinsic_of_body(g->nest->stages.at[stage].body);

	return in ? in
		  : intrinsic_at((int)below(g, (uint64_t)intrinsic_count()));
}

static void write_tensorize(Generator *g, Buf *out)
{
	int var = var_where(g, is_reduced);

	call2(out, "tensorize", var_name(g, var), intrinsic_for(g, var)->name);
}

/* A product of narrow elements; -1. */
static int narrow_product(Generator *g)
{
	for (int i = 0; i < g->nest->order.n; i++) {
		int stage = g->nest->order.at[i];
		const Expr *e = g->nest->stages.at[stage].body;
		if (e->op == OP_MUL && e->arg[0]->op == OP_CAST &&
		    e->arg[1]->op == OP_CAST)
			return stage;
	}
	return -1;
}

static void write_retype(Generator *g, Buf *out)
{
	static const char *const types[] = {"u8", "i8", "i16", "f32"};
	int stage = narrow_product(g);

	if (stage < 0)
		stage = any_stage(g);
	buf_printf(out, "%s = retype(%s, %d, %s)", new_name(g),
	    stage_name(g, stage), 1 + (int)below(g, 2), types[below(g, 4)]);
}

/* So many sums are taken out of it, scaled ones twice; 0: it is no such block. */
static int sums_of(Generator *g, int stage, int kept)
{
	const Stage *s = &g->nest->stages.at[stage];
	int64_t *extents = NEW_N(g->arena, int64_t, s->naxes);
	Distribution d;
	for (int a = 0; a < s->naxes; a++)
		extents[a] = s->axes[a].extent;
	return s->reduce == REDUCE_SUM &&
		distribution_find(
		    g->arena, s->body, extents, s->nspatial, s->naxes, kept, &d)
	    ? d.nsums + d.nscaled
	    : 0;
}

/* Where there is none, after a byte was taken for one of the other sign, which
 * leaves one. */
static void write_distribute(Generator *g, Buf *out)
{
	int stage = any_stage(g), sums, product = narrow_product(g);
	int kept = (int)below(g, 3);
	for (int i = 0; i < g->nest->order.n && !sums_of(g, stage, kept); i++)
		stage = g->nest->order.at[i];
	sums = sums_of(g, stage, kept);
	if (!sums && product >= 0) {
		int operand = (int)below(g, 2);
		const Expr *e = g->nest->stages.at[product].body->arg[operand];
		bool is_u8 = e->arg[0]->type == DT_U8;
		stage = product;
		sums = 1;
		kept = 0;
		buf_printf(out, "%s = retype(%s, %d, %s)\n", new_name(g),
		    stage_name(g, stage), 1 + operand, is_u8 ? "i8" : "u8");
	}
	for (int i = 0; i < sums + !sums; i++)
		buf_printf(out, "%s, ", new_name(g));
	buf_printf(out,
	    kept ? "%s = distribute(%s, %d)" : "%s = distribute(%s)",
	    new_name(g), stage_name(g, stage), kept);
}

static void write_narrow(Generator *g, Buf *out)
{
	int stage = any_stage(g);
	bool zero = below(g, 2);
	for (int i = 0; i < g->nest->order.n; i++) {
		const Stage *s = &g->nest->stages.at[g->nest->order.at[i]];
		DType type = g->nest->buffers.at[s->buffer].type;
		Narrow n;
		if (s->reduce == REDUCE_NONE && below(g, 3) &&
		    (zero ? narrow_find_zero(g->arena, s->body, type, &n)
			  : narrow_find(g->arena, s->body, type, &n)))
			stage = g->nest->order.at[i];
	}
	if (zero)
		call2(out, "narrow", stage_name(g, stage), "0");
	else
		call1(out, "narrow", stage_name(g, stage));
}

static bool may_shorten(Generator *g, int stage)
{
	const Nest *nest = g->nest;
	const Stage *s = &nest->stages.at[stage];
	Interval *of = NEW_N(g->arena, Interval, nest->buffers.n);
	for (int i = 0; i < nest->buffers.n; i++)
		of[i] = dtype_interval(nest->buffers.at[i].type);
	return expr_size_within(s->body, SHORTEN_NODES_MAX) &&
	    shorten_body(
		g->arena, s->reduce, s->body, 1, edit_extents(nest, stage), of);
}

static void write_shorten(Generator *g, Buf *out)
{
	int stage = any_stage(g);
	for (int i = 0; i < g->nest->order.n; i++) {
		int other = g->nest->order.at[i];
		if (below(g, 3) && may_shorten(g, other))
			stage = other;
	}
	call1(out, "shorten", stage_name(g, stage));
}

static void write_prefetch(Generator *g, Buf *out)
{
	int stage = any_stage(g), place = g->nest->stages.at[stage].place;
	const char *buffer = buffer_read(g, stage), *loop = loop_of(g, stage);

	if (place >= 0 && below(g, 2)) /* a loop around it */
		loop = loop_of(g, g->nest->vars.at[place].stage);
	if (buffer && loop)
		buf_printf(out, "prefetch(%s, %s, %s, %lld)",
		    stage_name(g, stage), buffer, loop, (long long)factor(g));
}

/* Refused behind other steps: test_groups.c and test_pairs.c have traces that
 * begin with it. */
static void write_group(Generator *g, Buf *out)
{
	if (g->trace->steps.n)
		buf_printf(out, "group(%s)", stage_name(g, any_stage(g)));
}

static const Writer writers[] = {
#define PRIMITIVE(name, roles, outs, arguments) write_##name,
#include "schedule/primitives/primitives.def"
#undef PRIMITIVE
};

/* --- programs ----------------------------------------------------------------- */

static int extent(Rng *rng, int most)
{
	return 1 + (int)rng_below(rng, (uint64_t)most);
}

/* What is 0 in between, and sums that run: s is 2 or 3. */
static Program *program_spread(Arena *arena, int s)
{
	return program_of_text(arena, arena_printf(arena,
	    "tunec: 1\nname: spread\ninputs: {a: 'f32[4]', b: 'f32[3]'}\n"
	    "compute: |\n"
	    "  p[x < 12] = if x %% %d == 1 and x < 8 then a[x//2] else 0\n"
	    "  y[x < 10] = sum[r < 3](p[x + r]*b[r])\n", s),
	    NUMERICS_DEFAULT);
}

/* Half of them from behind. */
static Program *program_running(Arena *arena, int rows, int n)
{
	return program_of_text(arena, arena_printf(arena,
	    "tunec: 1\nname: running\ninputs: {a: 'f32[%d, %d]'}\n"
	    "compute: |\n  y[i < %d, j < %d] = sum[k < %d](if %s then a[i, k] "
	    "else 0)\n",
	    rows, n, rows, n, n, n % 2 ? "k >= j" : "k <= j"),
	    NUMERICS_DEFAULT);
}

static Program *program_windows(Arena *arena, int rows, int n, int step)
{
	return program_of_text(arena, arena_printf(arena,
	    "tunec: 1\nname: windows\ninputs: {a: 'f32[%d, %d]'}\n"
	    "compute: |\n  y[i < %d, j < %d] = sum[r < 2, s < 3]("
	    "a[i + r, %d*j + s]*a[i + r, %d*j + s])\n",
	    rows + 1, step * n + 2, rows, n, step, step),
	    NUMERICS_DEFAULT);
}

/* Of whole planes. */
static Program *program_planes(Arena *arena, int n, int rows, int columns)
{
	return program_of_text(arena, arena_printf(arena,
	    "tunec: 1\nname: planes\ninputs: {a: 'f32[%d, %d, %d]'}\n"
	    "compute: |\n  y[i < %d, j < 1] = sum[r < %d, s < %d]("
	    "a[i, r, j + s])\n",
	    n, rows, columns, n, rows, columns),
	    NUMERICS_DEFAULT);
}

/* One that may be made by tiles. */
static Program *program_fast_conv(Arena *arena, int c, int x, int o, int stride)
{
	Program *p = program_conv(arena, c, x, o, stride);
	p->numerics = NUMERICS_FAST;
	return p;
}

/* Of narrow elements, whose sum is wider. */
static Program *program_narrow(Arena *arena, Rng *rng)
{
	static const char *const types[][2] = {{"u8", "i8"}, {"i8", "u8"},
	    {"i8", "i8"}, {"u8", "u8"}, {"i16", "i16"}, {"bf16", "bf16"},
	    {"f16", "f16"}};
	const char *const *t = types[rng_below(rng, 7)];
	int m = extent(rng, 9), k = extent(rng, 24), n = extent(rng, 20);

	return program_of_text(arena, arena_printf(arena,
	    "tunec: 1\nname: narrow\ninputs:\n"
	    "  a: '%s[%d, %d]'\n  b: '%s%s[%d, %d]'\n"
	    "compute: |\n  y[i < %d, j < %d] = sum[k < %d](a[i, k]*b[k, j])\n",
	    t[0], m, k, rng_below(rng, 2) ? "const " : "", t[1], k, n, m, n, k),
	    NUMERICS_DEFAULT);
}

/* Of bytes with zero points, which pad one of them before or after; some of channels
 * each for itself. */
static Program *program_zero_points(Arena *arena, Rng *rng)
{
	static const char *const pads[] = {"p[c < C, j < T + 2] = if 1 <= j < T + 1 "
	    "then i32(x[c, j - 1]) - z[] else 0",
	    "p[c < C, j < T + 2]: i16 = if 1 <= j < T + 1 then x[c, j - 1] - "
	    "z[] else 0",
	    "p[c < C, j < T + 2] = if 1 <= j < T + 1 then x[c, j - 1] else z[]",
	    "p[c < C, j < T + 2] = if 1 <= j < T + 1 then x[c, j - 1] - 7 else 0",
	    "p[c < C, j < T + 2] = i32(x[c, j % T]) - z[]"};
	static const char *const factors[] = {"p[c, t + r]*w[o, c, r]",
	    "(p[c, t + r] - z[])*(w[o, c, r] - v[o])",
	    "(i32(p[c, t + r]) - 3)*(w[o, c, r] - v[o])*v[o]",
	    "(p[c, t + r] + v[o]*2)*w[o, c, r] - z[]*v[o]",
	    "((if 1 <= t + r < T + 1 then x[c, t + r - 1] else z[]) - z[])*"
	    "(w[o, c, r] - v[o])"};
	const char *type = rng_below(rng, 2) ? "u8" : "i8";
	return program_of_text(arena,
	    arena_printf(arena,
		"tunec: 1\nname: points\nparams: {C: %d, O: %d, T: %d}\n"
		"inputs: {x: '%s[C, T]', z: '%s[]', w: '%si8[O, C, 3]', "
		"v: 'i8[O]'}\n"
		"compute: |\n  %s\n  y[o < O, %s r < 3](%s)\n",
		extent(rng, 9), extent(rng, 9), 7 + extent(rng, 9), type, type,
		rng_below(rng, 2) ? "const " : "", pads[rng_below(rng, 5)],
		rng_below(rng, 4) ? "t < T] = sum[c < C,"
				  : "c < C, t < T] = sum[",
		factors[rng_below(rng, 5)]),
	    NUMERICS_DEFAULT);
}

Program *schedule_random_program(Arena *arena, Rng *rng)
{
	switch (rng_below(rng, 14)) {
	case 12:
		return program_zero_points(arena, rng);
	case 11:
		return program_narrow(arena, rng);
	case 13:
		return program_planes(arena, extent(rng, 9),
		    1 + extent(rng, 6), 1 + extent(rng, 12));
	case 10:
		return program_windows(arena, extent(rng, 4),
		    2 + extent(rng, 12), extent(rng, 2));
	case 7:
		return program_moments(
		    arena, extent(rng, 9), extent(rng, 20));
	case 8:
		return program_spread(arena, 1 + extent(rng, 2));
	case 9:
		return program_running(
		    arena, extent(rng, 4), 4 + extent(rng, 20));
	case 0:
		return program_matmul(arena, extent(rng, 9), extent(rng, 20),
		    extent(rng, 9));
	case 1:
		return program_fast_conv(arena, extent(rng, 4),
		    3 + extent(rng, 12), extent(rng, 9), extent(rng, 2));
	case 2:
		return program_quotient(arena, 3 + extent(rng, 30));
	case 3:
		return schedule_dot(arena);
	case 4:
		return schedule_stencil(arena, extent(rng, 20));
	default:
		return schedule_chain(arena);
	}
}

/* --- traces ------------------------------------------------------------------- */

/* The nest of the trace so far. */
static void rebuild(Generator *g)
{
	ApplyContext context = {.machine = g->machine};

	g->nest = nest_new(g->arena, g->program, tape_new(g->arena));
	for (int i = 0; i < g->trace->steps.n; i++)
		apply_step(g->nest, &g->trace->steps.at[i], &context);
}

/* Of two random primitives the one that was accepted less. */
static int choose(Generator *g, const Coverage *coverage)
{
	int a, b;

	do
		a = (int)below(g, PRIMITIVE_COUNT);
	while (coverage->excluded[a]);
	do
		b = (int)below(g, PRIMITIVE_COUNT);
	while (coverage->excluded[b]);
	return coverage->finished[a] <= coverage->finished[b] ? a : b;
}

/* Steps that need a loop of a length which luck seldom gives: tensor intrinsics,
 * vectors. */
static void prepare(Generator *g, int primitive, Buf *out)
{
	static const int lanes[] = {2, 4, 8, 8, 16, 16};
	bool tensor = primitive == PRIMITIVE_tensorize;
	int var, length = lanes[below(g, 6)];
	const Intrinsic *in;
	const char *outer, *inner;

	if ((!tensor && primitive != PRIMITIVE_vectorize) || !below(g, 3))
		return;
	var = var_where(g, tensor ? is_reduced : is_unreduced);
	if (var < 0)
		return;
	outer = new_name(g);
	inner = new_name(g);
	in = intrinsic_for(g, var);
	buf_printf(out, "%s, %s = split(%s, [_, %d])\n", outer, inner,
	    var_name(g, var), tensor ? in->terms : length);
	if (tensor)
		buf_printf(out, "tensorize(%s, %s)", inner, in->name);
	else
		buf_printf(out, "vectorize(%s, %d)", inner, length);
}

/* --- a GPU's tiles, which luck would seldom put together ----------------------- */

/* A loop of the stage that is bound to blocks; NULL. */
static const char *block_loop(Generator *g, int stage)
{
	const Stage *s = &g->nest->stages.at[stage];

	for (int i = s->nloops - 1; i >= 0; i--) {
		LoopKind kind = g->nest->vars.at[s->loops[i]].kind;
		if (loop_is_block(kind))
			return g->nest->vars.at[s->loops[i]].name;
	}
	return NULL;
}

/* A loop shared out to blocks and threads; in front, so that others can be
 * placed below its blocks. */
static void write_blocks(Generator *g, Buf *out)
{
	int var = var_where(g, is_unreduced);
	const char *bx = new_name(g), *tx = new_name(g);
	const Stage *s;

	if (var < 0)
		return;
	s = &g->nest->stages.at[g->nest->vars.at[var].stage];
	buf_printf(out, "%s, %s = split(%s, [_, %lld])\n", bx, tx,
	    var_name(g, var), (long long)factor(g));
	buf_printf(out, "reorder(%s", bx);
	for (int i = 0; i < s->nloops; i++)
		if (s->loops[i] != var)
			buf_printf(out, ", %s", var_name(g, s->loops[i]));
	buf_printf(out, ", %s)\nbind(%s, blockIdx.x)\n", tx, bx);
	if (below(g, 4))
		buf_printf(out, "bind(%s, threadIdx.x)\n", tx);
}

/* A tile of what a block reads or writes, in shared memory or its threads'
 * own, that its threads fill together, below the block loop or one inside. */
static void write_tile(Generator *g, Buf *out)
{
	int stage = any_stage(g);
	const char *t = new_name(g), *buffer = buffer_read(g, stage);
	const char *block = block_loop(g, stage);
	const char *scope = below(g, 3) ? "shared" : "local";
	const char *axis = "x0";

	if (!block)
		return;
	if (buffer && below(g, 3)) {
		buf_printf(out, "%s = cache_read(%s, %s, %s)\n", t,
		    stage_name(g, stage), buffer, scope);
	} else {
		const Stage *s = &g->nest->stages.at[stage];
		buf_printf(out, "%s = cache_write(%s, %s)\n", t,
		    stage_name(g, stage), scope);
		if (s->nspatial)
			axis = s->axes[below(g, s->nspatial)].name;
	}
	buf_printf(out, "compute_at(%s, %s)\n", t,
	    below(g, 2) ? block : loop_of(g, stage));
	if (*scope == 's' || below(g, 2))
		buf_printf(out, "bind(%s.%s, threadIdx.x)\n", t, axis);
	if (*scope == 's' && below(g, 2))
		buf_printf(out, "swizzle(%s, %lld)\n", t,
		    (long long)(32 << below(g, 3)));
	if (*scope == 's' && below(g, 2))
		buf_printf(out, "stages(%s, %lld)\n", t,
		    (long long)(2 + below(g, 3)));
}

static bool try_steps(Generator *g, const Trace *steps)
{
	int before = g->trace->steps.n;
	Error error;

	for (int i = 0; i < steps->steps.n; i++)
		vec_push(g->arena, &g->trace->steps, steps->steps.at[i]);
	if (schedule_nest(
		g->arena, g->program, g->machine, g->trace, &error))
		return true;
	g->trace->steps.n = before;
	return false;
}

/* Other steps soon leave no block that these take. */
static int first_or_chosen(Generator *g, const Coverage *coverage)
{
	bool first = !g->trace->steps.n &&
	    (!coverage->tried[PRIMITIVE_thin] || !below(g, 4));
	if (!first || !below(g, 4))
		return choose(g, coverage);
	static const Primitive firsts[] = {PRIMITIVE_thin, PRIMITIVE_flatten,
	    PRIMITIVE_unflatten, PRIMITIVE_collapse, PRIMITIVE_separate,
	    PRIMITIVE_extract, PRIMITIVE_carry};
	return (int)firsts[below(g, 7)];
}

static bool add_step(Generator *g, Coverage *coverage)
{
	int primitive = first_or_chosen(g, coverage);
	Buf text = {0};
	bool taken = false;

	if (g->device && below(g, 3) == 0) {
		(below(g, 2) ? write_blocks : write_tile)(g, &text);
		if (text.size)
			taken = try_steps(
			    g, schedule_steps(g->arena, buf_text(&text)));
		buf_free(&text);
		return taken;
	}
	prepare(g, primitive, &text);
	if (!text.size)
		writers[primitive](g, &text);
	if (text.size) {
		coverage->tried[primitive]++;
		taken = try_steps(
		    g, schedule_steps(g->arena, buf_text(&text)));
	}
	coverage->accepted[primitive] += taken;
	buf_free(&text);
	return taken;
}

Trace *schedule_random(Arena *arena, const Program *program,
    const Machine *machine, Rng *rng, int most, Coverage *coverage)
{
	Generator g = {.arena = arena, .program = program, .machine = machine,
	    .rng = rng, .trace = NEW(arena, Trace),
	    .device = coverage->device};
	int wanted = 1 + (int)below(&g, most);

	rebuild(&g);
	for (int i = 0; i < wanted * TRIES_A_STEP; i++) {
		if (g.trace->steps.n >= wanted)
			break;
		if (add_step(&g, coverage))
			rebuild(&g);
	}
	for (int i = 0; i < g.trace->steps.n; i++)
		coverage->finished[g.trace->steps.at[i].primitive]++;
	return g.trace;
}
