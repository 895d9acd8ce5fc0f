/* From a program to its sketches: the rules of rules.def, once for each choice
 * of structure. */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <string.h>

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
	/* of a GPU's some are made by the thread that reads them */
	for (int i = 0; i < n; i++)
		assert(r->machine->gpu || !rule_is_open(r, i));
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
	rules_analyse(r);
	run_passes(r);
	Source *source = NEW(r->arena, Source);
	*source = (Source){.name = "rules", .text = rule_steps(r)};
	source->size = strlen(source->text);
	Diag diag = {0};
	Trace *trace = trace_parse(
	    r->arena, source, (Span){0, source->size}, &diag);
	assert(trace && "a rule wrote a trace that does not parse");
	diag_free(&diag);
	if (r->cross_thread &&
	    !schedule_fits(r->arena, r->program, r->machine, trace)) {
		if (r->tiled.rows)
			return NULL;
		r->cross_thread = false; /* a row's parts do not fit together */
		trace = sketch_trace(r);
		r->cross_thread = true;
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
	assert(w.phases > 0);
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

static void begin(Rules *r, RuleForm *form, const Program *program)
{
	assert(program->nblocks == form->program->nblocks);
	rule_made(form, form->program->nbuffers - 1); /* all are there */
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
	r->cross_thread = true;
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
	of.point_host = NEW_N(r->arena, int, p->nblocks);
	for (int i = 0; i < p->nblocks; i++)
		of.point_host[i] = -1;
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
		rule_fuse_reductions(r, i);
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
	rule_rematerialize(f);
	rule_split_reduction(f);
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
	rule_fuse_pointwise_choose(&r);
	cpu_sketches(&r, out);
	collapse_sketches(&r, f, out);
	scatter_sketches(&r, out);
	winograd_sketches(&r, f, out);
	buf_free(&r.text);
}
