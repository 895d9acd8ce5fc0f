/* From a program to its sketches: the rules of rules.def, once for each choice
 * of structure. */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <string.h>

int rule_axis_of(const Expr *e)
{
	return e->op == OP_AXIS ? e->id : -1;
}

bool rule_keeps_order(const Program *p, const Block *b)
{
	return p->numerics == NUMERICS_EXACT && dtype_is_float(b->body->type);
}

int rule_lanes(const Machine *machine, DType type)
{
	int bytes = dtype_bytes(dtype_promoted(type));
	return machine->vector_bytes > bytes ? machine->vector_bytes / bytes : 1;
}

int rule_filled(const Block *b, int axis, int lanes)
{
	while (lanes > 1 && b->axes[axis].extent * 2 <= lanes)
		lanes /= 2;
	return lanes;
}

int rule_widest(const Rules *r, const Block *block, int axis)
{
	DType type = r->program->buffers[block->buffer].type;
	int lanes = rule_lanes(r->machine, type);
	return rule_filled(block, axis, lanes);
}

int rule_least_lanes(int widest)
{
	return widest < 4 ? 2 : 4;
}

enum { MASKED_LEAST = 64 }; /* bytes of a vector: then bytes have masks, too */

/* Bytes of the widest value, where all is compared, chosen or moved in the type
 * that is stored, or done in 16 bits; 0: it is not.  What lanes along the axis
 * choose alike is a branch, without a mask. */
static int widest_value(const Machine *machine, const Expr *e, int axis)
{
	bool is_short = dtype_is_int(e->type) && dtype_bytes(e->type) <= 2 &&
	    e->op != OP_IF &&
	    (e->op != OP_CAST ||
		(dtype_is_int(e->arg[0]->type) &&
		    dtype_bytes(e->arg[0]->type) <= 2));
	bool narrow = is_short || e->op == OP_READ || e->op == OP_INT ||
	    e->op == OP_MAX || e->op == OP_MIN || e->op == OP_ADD ||
	    (e->op == OP_CAST && dtype_is_int(e->arg[0]->type) &&
		dtype_bytes(e->arg[0]->type) == dtype_bytes(e->type)) ||
	    (e->op == OP_IF &&
		(machine->vector_bytes >= MASKED_LEAST ||
		    (!expr_has_data(e->arg[0]) &&
			!expr_has_axis(e->arg[0], axis))));
	int bytes = narrow && dtype_is_int(e->type) ? dtype_bytes(e->type) : 0;
	/* of all lanes */
	if (dtype_is_int(e->type) && !expr_has_data(e) &&
	    !expr_has_axis(e, axis))
		return dtype_bytes(e->type);
	for (int i = e->op == OP_IF; bytes && e->op != OP_READ && i < e->narg;
	     i++) {
		int b = widest_value(machine, e->arg[i], axis);
		bytes = !b ? 0 : b > bytes ? b : bytes;
	}
	return bytes;
}

int rule_value_lanes(const Rules *r, int block, int axis)
{
	const Block *b = &r->program->blocks[block];
	int bytes = widest_value(r->machine, r->bodies[block], axis);
	int lanes = rule_lanes(r->machine, b->body->type);
	bool chosen = b->reduce == REDUCE_NONE || b->reduce == REDUCE_MAX ||
	    b->reduce == REDUCE_MIN || b->reduce == REDUCE_SUM;
	if (!bytes || !chosen ||
	    r->program->buffers[b->buffer].type != b->body->type ||
	    r->machine->vector_bytes / bytes < lanes)
		return lanes;
	return r->machine->vector_bytes / bytes;
}

static bool plain_index(const Expr *read)
{
	for (int i = 0; i < read->narg; i++) {
		int a = rule_axis_of(read->arg[i]);
		if (a < 0)
			return false;
		for (int k = 0; k < i; k++)
			if (rule_axis_of(read->arg[k]) == a)
				return false;
	}
	return true;
}

typedef struct {
	Arena *arena;
	const Program *program;
	const Block *block;
	RuleBlock *blocks;
	RuleBlock *out;
	ExprSet seen; /* the reads of `out` */
} BodyVisit;

bool rule_is_flop(const Expr *e)
{
	OpKind kind = op_kind(e->op);
	bool selects = kind == OPKIND_IF || kind == OPKIND_AND ||
	    kind == OPKIND_OR;
	return e->type != DT_INDEX && (op_flops(e->op) || selects);
}

static void add_consumer(const BodyVisit *visit, int buffer)
{
	int from = visit->program->buffers[buffer].block;
	int reader = visit->out->block;
	RuleBlock *b = from >= 0 ? &visit->blocks[from] : NULL;
	if (b && (!b->consumers.n ||
		     b->consumers.at[b->consumers.n - 1] != reader))
		vec_push(visit->arena, &b->consumers, reader);
}

int rule_reads_of(const RuleBlock *b, int buffer)
{
	int last = b->reads.n - 1;
	while (last >= 0 && b->reads.at[last].buffer != buffer)
		last--;
	return last < 0 ? 0 : b->reads.at[last].number;
}

const RuleRead *rule_only_read(const RuleBlock *b, int buffer)
{
	vec_each (read, &b->reads)
		if (read->buffer == buffer)
			return rule_reads_of(b, buffer) == 1 ? read : NULL;
	return NULL;
}

bool rule_is_read_elsewhere(const Rules *r, const RuleBlock *reader, int buffer)
{
	for (int i = 0; i < r->program->nblocks; i++)
		if (&r->blocks[i] != reader &&
		    rule_reads_of(&r->blocks[i], buffer))
			return true;
	return false;
}

int rule_maker(const Rules *r, int buffer)
{
	int made = r->program->buffers[buffer].block;
	return made >= 0 && rule_is_open(r, made) &&
		r->program->blocks[made].reduce == REDUCE_NONE &&
		!r->blocks[made].output && r->blocks[made].consumers.n == 1
	    ? made
	    : -1;
}

int rule_last_dim(const Buffer *b)
{
	int last = b->ndim - 1;
	while (last >= 0 && b->shape[last] == 1)
		last--;
	return last;
}

static bool visit_expr(Expr *e, void *context)
{
	BodyVisit *visit = context;
	RuleBlock *b = visit->out;
	b->flops += rule_is_flop(e);
	if (e->op != OP_READ)
		return true;
	add_consumer(visit, e->id);
	if (!expr_set_add(visit->arena, &visit->seen, e))
		return false;
	RuleRead r = {.buffer = e->id,
	    .maker = visit->program->buffers[e->id].block,
	    .nindex = e->narg,
	    .index = e->arg,
	    .last = rule_last_dim(&visit->program->buffers[e->id]),
	    .number = 1 + rule_reads_of(b, e->id),
	    .plain = plain_index(e),
	    .uses = NEW_N(visit->arena, bool, visit->block->naxes)};
	for (int i = 0; i < e->narg; i++)
		expr_mark_axes(e->arg[i], r.uses);
	rule_digits(visit->arena, visit->block, &r);
	vec_push(visit->arena, &b->reads, r);
	return true; /* an index may read, too */
}

/* What blocks read and who reads them, with what is chosen to be inlined in
 * the place of its reads. */
static void analyse(Rules *r)
{
	const Program *program = r->program;
	memset(r->blocks, 0, sizeof *r->blocks * (size_t)program->nblocks);
	for (int i = 0; i < program->nblocks; i++) {
		const Block *block = &program->blocks[i];
		RuleBlock *b = &r->blocks[i];
		b->block = i;
		b->home = b->beside = b->again = b->with = -1;
		b->inlined = r->inlines && r->inlines[i];
		b->output =
		    program->buffers[block->buffer].role == BUFFER_OUTPUT;
		BodyVisit visit = {.arena = r->arena,
		    .program = program,
		    .block = block,
		    .blocks = r->blocks,
		    .out = b};
		if (!b->inlined)
			expr_walk(r->bodies ? r->bodies[i] : block->body,
			    visit_expr, &visit);
		b->flops += block->reduce != REDUCE_NONE;
	}
}

/* Is there something to tile for: an operand that is read again along a spatial
 * axis, or one whose neighbours lie along one? */
static bool worth_tiling(const Program *program, const RuleBlock *b)
{
	const Block *block = &program->blocks[b->block];
	vec_each (r, &b->reads) {
		const Expr *last = r->last < 0 ? NULL : r->index[r->last];
		bool streamed = false;
		for (int a = block->nspatial; a < block->naxes; a++)
			streamed |= r->uses[a];
		for (int a = 0; a < block->nspatial && streamed; a++)
			if (block->axes[a].extent > 1 &&
			    (!r->uses[a] || (last && expr_has_axis(last, a))))
				return true;
	}
	return false;
}

/* Of all that runs in its loops. */
double rule_work(const Rules *r, int block)
{
	double flops = r->blocks[block].flops;
	for (int i = 0; i < r->program->nblocks; i++)
		if (r->blocks[i].with == block)
			flops += r->blocks[i].flops;
	const Block *b = &r->program->blocks[block];
	return block_points(b, 0, b->naxes) * flops;
}

bool rule_can_tile(const Rules *r, int block)
{
	return r->program->blocks[block].reduce != REDUCE_NONE &&
	    r->blocks[block].with < 0 &&
	    worth_tiling(r->program, &r->blocks[block]) &&
	    !rule_is_row(r, block) && !rule_is_running(r, block) &&
	    !rule_is_window(r, block) && !rule_is_few(r, block) &&
	    !rule_is_point(r, block) && !rule_is_scattered(r, block);
}

/* The reduction with most arithmetic that is worth it; -1. */
static int tiled_block(const Rules *r)
{
	int best = -1;
	for (int i = 0; i < r->program->nblocks; i++)
		if (rule_can_tile(r, i) &&
		    (best < 0 || rule_work(r, i) > rule_work(r, best)))
			best = i;
	/* or the product whose rows that one makes */
	for (int i = best + 1; best >= 0 && i < r->program->nblocks; i++)
		if (rule_can_tile(r, i) &&
		    rows_between(r->arena, r->program, best, i))
			best = i;
	return best;
}

/* The last axis's do in the output, or with a few more in between, those of an
 * operand that is packed do there, and some in an operand as it is. */
bool rule_worth_vectors(const Rules *r, int i, int axis)
{
	const RuleBlock *b = &r->blocks[i];
	const Block *block = &r->program->blocks[i];
	vec_each (read, &b->reads) {
		int64_t stride = rule_stride(r->program, read, axis, 1);
		if ((read->packable && read->uses[axis]) || stride == 1)
			return true;
	}
	return block_points(block, axis + 1, block->nspatial) <= RULE_FEW;
}

/* --- the table --------------------------------------------------------------- */

typedef enum { NO_PASS, PRODUCERS_FIRST, READERS_FIRST } Pass;

/* A rule, or the pass that the rules behind it belong to. */
typedef struct {
	Pass pass;
	void (*write)(Rules *r, int block);
} Rule;

#define PASS(order) {.pass = order},
#define RULE(name)  {NO_PASS, rule_##name},
static const Rule cpu_rules[] = {
#include "schedule/rules/rules.def"
};
static const Rule gpu_rules[] = {
#include "schedule/rules/rules_gpu.def"
};
#undef RULE
#undef PASS

typedef struct {
	const Rule *first, *end;
} Table;

static Table table_for(const Machine *machine)
{
	int cpu = sizeof cpu_rules / sizeof *cpu_rules;
	int gpu = sizeof gpu_rules / sizeof *gpu_rules;
	return machine->gpu ? (Table){gpu_rules, gpu_rules + gpu}
			    : (Table){cpu_rules, cpu_rules + cpu};
}

bool rule_is_open(const Rules *r, int i)
{
	return !r->blocks[i].scheduled && !r->blocks[i].inlined;
}

static void try_rules(Rules *r, Table rest, int block)
{
	for (const Rule *row = rest.first; row < rest.end && !row->pass; row++)
		row->write(r, block);
}

static void run_passes(Rules *r)
{
	Table table = table_for(r->machine);
	int n = r->program->nblocks;
	for (const Rule *row = table.first; row < table.end; row++)
		for (int i = 0; row->pass && i < n; i++)
			try_rules(r, (Table){row + 1, table.end},
			    row->pass == READERS_FIRST ? n - 1 - i : i);
}

/* What a rule takes with a domain behind it is where a search begins. */
static void open_decisions(Trace *trace)
{
	for (int i = 0; i < trace->steps.n; i++)
		for (int k = 0; k < trace->steps.at[i].nargs; k++) {
			Arg *arg = &trace->steps.at[i].args[k];
			arg->usual = arg->decision && !arg->open &&
			    arg->domain.values;
			arg->open |= arg->usual;
		}
}

/* Everything for one choice of structure; NULL: a block of rows is too large. */
static Trace *sketch_trace(Rules *r)
{
	buf_clear(&r->text);
	buf_puts(&r->text, r->form->steps);
	r->places.n = 0;
	r->row_loop = r->batch_loop = NULL;
	analyse(r);
	run_passes(r);
	Source *source = NEW(r->arena, Source);
	*source = (Source){.name = "rules", .text = rule_steps(r)};
	source->size = strlen(source->text);
	Diag diag = {0};
	Trace *trace = trace_parse(
	    r->arena, source, (Span){0, source->size}, &diag);
	assert(trace && "a rule wrote a trace that does not parse");
	diag_free(&diag);
	if (r->across &&
	    !schedule_fits(r->arena, r->program, r->machine, trace)) {
		if (r->tiled.rows)
			return NULL;
		r->across = false; /* a row's parts do not fit together */
		trace = sketch_trace(r);
		r->across = true;
		return trace;
	}
	open_decisions(trace);
	return trace_resolve_lanes(r->arena, trace, r->machine);
}

static void add_sketch(Rules *r, RuleSketchVec *out)
{
	Trace *trace = sketch_trace(r);
	const RuleTiled *t = &r->tiled;
	const char *name = "plain";
	if (r->winograd)
		name = arena_printf(r->arena, "%s.winograd%d%s",
		    r->program->blocks[r->winograd->whole].name,
		    r->winograd->m, r->winograd->outputs ? " outputs" : "");
	else if (t->block >= 0 && r->machine->gpu)
		name = arena_printf(r->arena, "%s.blocks%s",
		    r->program->blocks[t->block].name,
		    t->warps	   ? " warps"
			: t->groups ? " warpgroups"
			: t->outer ? " taps"
			: t->split ? " split"
			: t->rows  ? " rows" : "");
	else if (t->block < 0 && r->scatters)
		name = "scatter";
	else if (t->block < 0 && r->collapsed)
		name = "collapsed";
	else if (t->block >= 0)
		name = arena_printf(r->arena, "%s.%sx%d%s%s%s%s",
		    r->program->blocks[t->block].name,
		    r->program->blocks[t->block].axes[t->axis].name, t->lanes,
		    r->scatters ? " scatter" : "",
		    r->collapsed ? " collapsed" : "",
		    t->phases > 1 ? " phases" : "",
		    t->streams	   ? " stream"
			: t->outer ? " outer"
				   : "");
	if (trace)
		vec_push(r->arena, out, (RuleSketch){name, trace});
}

typedef struct {
	int axis;
	int64_t step; /* of what was found so far */
} Phases;

/* A condition that holds for every n-th element of the axis. */
static bool find_phases(Expr *e, void *context)
{
	enum { MOST = 8 };
	Phases *x = context;
	if (e->op != OP_EQ && e->op != OP_NE)
		return true;
	for (int i = 0; i < 2; i++) {
		const Expr *mod = e->arg[i];
		if (mod->op != OP_MOD || mod->type != DT_INDEX ||
		    mod->arg[1]->op != OP_INT || mod->arg[1]->i > MOST)
			continue;
		int64_t period = rule_period(mod, x->axis);
		if (period > x->step && period <= MOST)
			x->step = period;
	}
	return true;
}

/* How far apart lanes along the axis are, so that conditions of a sum are the same
 * for all of them; nothing that is packed in vectors moves with it. */
static int phases_of(const Rules *r, int tiled, int axis)
{
	const RuleBlock *info = &r->blocks[tiled];
	Phases x = {axis, 1};
	vec_each (read, &info->reads)
		if (read->packable && read->uses[axis])
			return 1;
	expr_walk(r->bodies[tiled], find_phases, &x);
	return (int)x.step;
}

typedef struct {
	int lanes, more; /* widths worth a sketch; 0: none */
	int phases;
} Widths;

/* As wide as the axis is long, at least half of the lanes busy, four at least or
 * as many as there are; narrower ones, too, where the last vector is not full. */
static Widths widths_of(const Rules *r, int tiled, int axis)
{
	const Block *block = &r->program->blocks[tiled];
	int64_t n = block->axes[axis].extent;
	int widest =
	    rule_lanes(r->machine, r->program->buffers[block->buffer].type);
	int least = rule_least_lanes(widest);
	Widths w = {.phases = phases_of(r, tiled, axis)};
	if (!rule_worth_vectors(r, tiled, axis))
		return (Widths){0};
	if (n < w.phases * (widest < 8 ? widest : 8)) /* short vectors lose more */
		w.phases = 1;
	n = (n - 1) / w.phases + 1;
	w.lanes = widest;
	while (w.lanes >= least && n * 2 <= w.lanes)
		w.lanes /= 2;
	if (w.lanes < least)
		return (Widths){0};
	if (w.lanes == widest && w.lanes > 4 && n % w.lanes &&
	    n <= 8 * w.lanes)
		w.more = w.lanes / 2;
	return w;
}

/* Vector axes worth a sketch: with at least half of the lanes that some axis
 * can have, and the one along which the results lie: across them lanes are put in
 * their places by shuffles. */
static void sketches_tiled(Rules *r, int tiled, RuleSketchVec *out)
{
	const Block *block = &r->program->blocks[tiled];
	int best = 0;
	for (int a = 0; a < block->nspatial; a++) {
		Widths w = widths_of(r, tiled, a);
		best = w.lanes > best ? w.lanes : best;
	}
	for (int a = block->nspatial - 1; a >= 0; a--) {
		Widths w = widths_of(r, tiled, a);
		int widths[2] = {w.lanes, w.more};
		for (int i = 0; i < 4; i++) {
			int lanes = widths[i / 2];
			if (!lanes || (lanes * 2 < best && a < block->nspatial - 1))
				continue;
			if (r->rows && (i % 2 || r->rows->axes[a]))
				continue; /* rows are outermost */
			r->tiled = (RuleTiled){.block = tiled,
			    .axis = a,
			    .lanes = lanes,
			    .phases = w.phases,
			    .outer = i % 2};
			add_sketch(r, out);
		}
		if (w.lanes * 2 >= best && w.lanes &&
		    rule_stream_fits(r, tiled, a, w.lanes)) {
			r->tiled = (RuleTiled){.block = tiled,
			    .axis = a,
			    .lanes = w.lanes,
			    .streams = true};
			add_sketch(r, out);
		}
	}
}

void rules_choose_inlines(Rules *r)
{
	r->inlines = NULL;
	r->bodies = NULL;
	analyse(r);
	rule_inline_choose(r);
	analyse(r);
}

static void begin(Rules *r, RuleForm *form, const Program *program)
{
	rule_made(form, form->program->nbuffers - 1);
	r->form = form;
	r->made = form->made.at;
	r->program = program;
	r->plain = nest_new(r->arena, program, tape_new(r->arena));
	r->blocks = NEW_N(r->arena, RuleBlock, program->nblocks);
	rules_choose_inlines(r);
}

/* Of the reduction with most work that fits blocks of threads. */
static void sketches_blocks(Rules *r, int anchor, RuleSketchVec *out)
{
	static const RuleTiled kinds[] = {{.groups = true}, {.warps = true},
	    {0}, {.outer = true}, {.split = true}};
	const bool fits[] = {rule_warp_fits(r, anchor, true),
	    rule_warp_fits(r, anchor, false), true,
	    rule_block_has_window(r, anchor), rule_block_splits(r, anchor)};
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		r->tiled = kinds[i];
		r->tiled.block = anchor;
		if (fits[i])
			add_sketch(r, out);
	}
}

static void gpu_sketches(Rules *r, RuleForm *f, RuleSketchVec *out)
{
	const Program *program = f->program;
	int anchor = -1;
	r->across = true;
	r->tiled.block = -1;
	begin(r, f, program);
	for (int i = 0; i < program->nblocks; i++)
		if (rule_block_fits(r, i) &&
		    (anchor < 0 || rule_work(r, i) > rule_work(r, anchor)))
			anchor = i;
	if (anchor >= 0)
		sketches_blocks(r, anchor, out);
	if (rule_rows_block_choose(r))
		add_sketch(r, out);
	r->rows = NULL;
	r->tiled = (RuleTiled){.block = -1};
	rules_choose_inlines(r);
	add_sketch(r, out);
	buf_free(&r->text);
}

/* The rules for the program in another form: no block is made point by point with
 * others. */
static Rules rules_for(const Rules *r, const Program *p)
{
	Rules of = *r;
	of.rows = NULL;
	of.points = NEW_N(r->arena, int, p->nblocks);
	for (int i = 0; i < p->nblocks; i++)
		of.points[i] = -1;
	return of;
}

/* What --numerics=fast allows: the program by Winograd's algorithm, which needs
 * vectors. */
static void winograd_sketches(Rules *r, RuleForm *form, RuleSketchVec *out)
{
	if (form->program->numerics != NUMERICS_FAST ||
	    rule_lanes(r->machine, DT_F32) < 4)
		return;
	r->tiled = (RuleTiled){.block = -1};
	for (int i = 0; i < 6; i++) {
		RuleWinograd x = {.m = 2 + i / 2 * 2, .outputs = i % 2};
		RuleForm *f = rule_winograd_form(form, &x);
		/* in two dimensions tiles of 6 lose a digit more */
		if (!f || (x.m == WINOGRAD_MOST && x.winograd.npairs > 1))
			continue;
		Rules of = rules_for(r, f->program);
		of.winograd = &x;
		begin(&of, f, f->program);
		add_sketch(&of, out);
		r->text = of.text;
		r->places = of.places;
	}
}

/* Of the block with most work, or where none is worth it, one. */
static void cpu_sketches(Rules *r, RuleSketchVec *out)
{
	int before = out->n;
	for (int i = 0; i < r->program->nblocks; i++)
		rule_with(r, i);
	int tiled = tiled_block(r);
	if (tiled >= 0) {
		r->tiled = (RuleTiled){.block = tiled};
		rule_rows_choose(r);
		sketches_tiled(r, tiled, out);
	}
	if (r->rows && out->n == before) {
		r->rows = NULL;
		sketches_tiled(r, tiled, out);
	}
	if (out->n == before) {
		r->tiled = (RuleTiled){.block = -1};
		add_sketch(r, out);
	}
}

/* Of the program in another form, or with other axes. */
static void form_sketches(
    Rules *r, Rules of, RuleForm *f, const Program *program, RuleSketchVec *out)
{
	begin(&of, f, program);
	cpu_sketches(&of, out);
	r->text = of.text;
	r->places = of.places;
}

static void collapse_sketches(Rules *r, RuleForm *f, RuleSketchVec *out)
{
	int *collapsed;
	const Program *p = rule_collapse_program(r, &collapsed);
	if (!p)
		return;
	Rules of = rules_for(r, p);
	of.collapsed = collapsed;
	form_sketches(r, of, f, p, out);
}

static void scatter_sketches(Rules *r, RuleSketchVec *out)
{
	RuleForm *f = rule_scatter_form(r);
	if (!f)
		return;
	Rules of = rules_for(r, f->program);
	of.scatters = true;
	form_sketches(r, of, f, f->program, out);
}

/* Vectors of operations that take less time than threads do to begin and to end;
 * operations that a function is. */
enum { SLIGHT = 8192, FUNCTION = 16 };

/* Is all of the program so little that threads do not pay? */
static bool is_slight(const Program *p, const Machine *m)
{
	double operations = 0;
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		double each = 1 + (b->reduce != REDUCE_NONE) +
		    rule_work_of(b->body).flops;
		operations += block_points(b, 0, b->naxes) * each *
		    (expr_has_function(b->body) ? FUNCTION : 1);
	}
	return operations < SLIGHT * (double)rule_lanes(m, DT_F32);
}

/* In the order in which they see each other's programs. */
RuleForm *rules_form(
    Arena *arena, const Program *program, const Machine *machine)
{
	RuleForm *f = rule_form(arena, program, machine);
	rule_unfold(f);
	rule_thin(f);
	if (machine->gpu) {
		rule_prefix(f);
		return f;
	}
	rule_flatten(f);
	rule_unflatten(f);
	rule_borders(f);
	f = rule_dot(f);
	rule_separate(f);
	rule_extract(f);
	rule_again(f);
	rule_parts(f);
	rule_prefix(f);
	rule_shorten(f);
	return f;
}

void rules_sketches(Arena *arena, const Program *program,
    const Machine *machine, RuleSketchVec *out)
{
	Machine *alone = arena_memdup(arena, machine, sizeof *machine);
	if (!machine->gpu && is_slight(program, machine))
		alone->threads = 1;
	RuleForm *f = rules_form(arena, program, alone);
	Rules r = {.arena = arena, .machine = alone};
	if (machine->gpu) {
		gpu_sketches(&r, f, out);
		return;
	}
	begin(&r, f, f->program);
	rule_points_choose(&r);
	cpu_sketches(&r, out);
	collapse_sketches(&r, f, out);
	scatter_sketches(&r, out);
	winograd_sketches(&r, f, out);
	buf_free(&r.text);
}
