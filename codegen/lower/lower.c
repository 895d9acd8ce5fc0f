/* Nest -> lowered form: the kernel and one pack function for each constant
 * input; their parameters and buffers.
 *
 *     nest of {c, r}   \    void k(x, w, y, workspace)
 *     nest of {p}      /->    the loops of c and r, then those of p
 *
 * A nest of parts is lowered part by part into the same functions: what a part
 * reads and writes of the whole is one buffer for all of them, what it has of its
 * own is its own (lower_link.c). */
#include <assert.h>
#include <limits.h>
#include <string.h>

#include "codegen/lower/lower_internal.h"

enum {
	/* of a function: beyond, compiling takes longer than it gains */
	MOST_OPERATIONS = 20000,
	/* and for each block of a large program: products that are repeated in
	 * code have up to 1,500 instructions, between blocks of a few */
	STAGE_OPERATIONS = 1000,
	/* and for each node of a body: what a long text says is code as well,
	 * more than once where tails are cut off */
	NODE_OPERATIONS = 4,
};

static bool mark_read(Expr *e, void *context)
{
	if (e->op == OP_READ)
		((bool *)context)[e->id] = true;
	return true;
}

static bool *buffers_used(Lower *l, bool *written)
{
	const Nest *nest = l->nest;
	bool *used = NEW_N(l->arena, bool, nest->buffers.n);
	for (int i = 0; i < nest->order.n; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		if (s->ahead)
			continue;
		used[s->buffer] = written[s->buffer] = true;
		expr_walk(s->body, mark_read, used);
	}
	return used;
}

/* --- the kernel --------------------------------------------------------- */

/* What a block writes is no identifier, and may be an input or output of a part
 * of a program: y~1 is y_1, or y_1_. */
static const char *param_name(Lower *l, const LowFunction *f, const char *name)
{
	char *made = arena_strdup(l->arena, name);
	if (!strchr(name, '~'))
		return name;
	for (char *c = made; *c; c++)
		if (*c == '~')
			*c = '_';
	for (int i = 0; i < f->params.n; i++)
		if (!strcmp(f->params.at[i].name, made)) {
			made = arena_printf(l->arena, "%s_", made);
			i = -1;
		}
	return made;
}

static void add_param(Lower *l, LowFunction *f, const Buffer *b, bool output)
{
	LowParam p = {.name = param_name(l, f, b->name),
	    .type = b->type,
	    .is_const_input = !output && b->is_const,
	    .output = output};
	vec_push(l->arena, &f->params, p);
}

static void add_params(Link *link, LowFunction *f)
{
	Lower *l = link->parts[0];
	const Program *p = link->whole;
	for (int i = 0; i < p->ninputs; i++)
		add_param(l, f, &p->buffers[i], false);
	for (int i = 0; i < p->noutputs; i++)
		add_param(l, f, &p->buffers[p->outputs[i]], true);
	vec_push(l->arena, &f->params,
	    (LowParam){
		.name = "workspace", .type = DT_U8, .workspace = true});
}

static void forget_buffers(Lower *l)
{
	for (int i = 0; i < l->nest->buffers.n; i++)
		lower_forget_buffer(l, i);
}

/* Before a function, whose buffers are forgotten already. */
static void reset(Lower *l)
{
	bind_begin(l);
	l->part->free_ranges.n = 0;
	l->part->operations = 0;
	l->part->folded = false;
	l->part->streamed = NULL;
}

/* By buffer of the whole: it is read, where what the kernel's parameters hold
 * fills more than half of the last cache; else NULL. */
static bool *read_in_whole(Link *link)
{
	const Program *p = link->whole;
	int64_t last = link->parts[0]->machine->l3_bytes, bytes = 0;
	for (int i = 0; i < p->nbuffers; i++)
		if (p->buffers[i].role != BUFFER_TEMP)
			bytes += buffer_bytes(&p->buffers[i]);
	if (!last || bytes <= last / 2)
		return NULL;
	bool *read = NEW_N(link->arena, bool, p->nbuffers);
	for (int i = 0; i < p->nblocks; i++)
		expr_walk(p->blocks[i].body, mark_read, read);
	for (int i = 0; i < p->nbuffers; i++)
		read[link->same[i]] |= read[i];
	return read;
}

/* Outputs that nothing reads: nothing of them would be in a cache when the caller
 * reads them. */
static bool *streamed_outputs(const Link *link, int part)
{
	Lower *l = link->parts[part];
	const Program *p = l->nest->program;
	if (!link->read)
		return NULL;
	bool *streamed = NEW_N(l->arena, bool, l->nest->buffers.n);
	bool *read = NEW_N(l->arena, bool, l->nest->buffers.n);
	for (int i = 0; i < l->nest->order.n; i++)
		expr_walk(l->nest->stages.at[l->nest->order.at[i]].body,
		    mark_read, read);
	for (int i = 0; i < p->noutputs; i++) {
		int b = p->outputs[i];
		streamed[b] = !read[b] &&
		    (p == link->whole ||
			!link->read[link_of_whole(link, part, b)]);
	}
	return streamed;
}

static void lower_part(const Link *link, int part)
{
	Lower *l = link->parts[part];
	const Nest *nest = l->nest;
	Frame frame = {0};
	emit_open(l, &frame);
	l->part->threads = true;
	l->part->streamed = streamed_outputs(link, part);
	for (int i = 0; i < nest->order.n && !l->part->failed; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		if (s->place < 0 && !s->ahead && s->with < 0)
			lower_stage(l, nest->order.at[i]);
		assert(l->part->scope == &frame && !l->facts);
	}
	emit_close(l);
	assert(!l->part->scope);
}

/* What is printed for a device has no words of parts. */
static const LowFunction *with_words(const Lower *l, const LowFunction *f)
{
	return l->machine->processors
	    ? f
	    : low_split_words(l->arena, f, l->machine->vector_bytes);
}

static int64_t lower_kernel(Link *link, LowFunction *f)
{
	Lower *last = link->parts[link->n - 1];
	add_params(link, f);
	for (int i = 0; i < link->n; i++) {
		Lower *l = link->parts[i];
		bool *written = NEW_N(l->arena, bool, l->nest->buffers.n);
		forget_buffers(l);
		reset(l);
		emit_begin(l, f);
		link_place(link, i, buffers_used(l, written), written);
	}
	int64_t bytes = link_workspace(link, f);
	link->read = read_in_whole(link);
	bool failed = link_failed(link);
	for (int i = 0; i < link->n && !failed; i++) {
		if (i)
			emit_follow(link->parts[i], link->parts[i - 1]);
		lower_part(link, i);
		failed = link->parts[i]->part->failed;
	}
	lower_transpose(last);
	if (last->machine->gpu)
		drop_barriers(last);
	else if (last->machine->vector_registers && last->machine->vector_bytes)
		*f = *low_order(last->arena,
		    with_words(last, low_narrow(last->arena, f)),
		    last->machine->vector_registers,
		    last->machine->vector_bytes);
	return bytes;
}

/* --- pack functions ------------------------------------------------------ */

static LowFunction *new_function(
    Arena *arena, const char *name, LowFunctionRole role)
{
	LowFunction *f = NEW(arena, LowFunction);
	f->name = name;
	f->role = role;
	f->nthreads = 1;
	f->pack_input = -1;
	return f;
}

static void lower_pack(Link *link, LowFunction *f, int input)
{
	const Buffer *b = &link->whole->buffers[input];
	Arena *arena = link->arena;
	Lower *before = NULL;
	vec_push(
	    arena, &f->params, (LowParam){.name = b->name, .type = b->type});
	vec_push(arena, &f->params,
	    (LowParam){.name = "packed", .type = DT_U8, .output = true});
	link->source = link->copy = -1;
	for (int i = 0; i < link->n && !link_failed(link); i++) {
		Lower *l = link->parts[i];
		if (link_in_part(link, i, input) < 0)
			continue;
		reset(l);
		emit_begin(l, f);
		if (before)
			emit_follow(l, before);
		lower_pack_part(link, i, input);
		before = l;
	}
	if (before)
		lower_transpose(before);
}

static void lower_packs(Link *link, Lowered *out)
{
	const Program *p = link->whole;
	Arena *arena = link->arena;
	out->packed_bytes = NEW_N(arena, int64_t, p->ninputs);
	for (int i = 0; i < link->n; i++)
		forget_buffers(link->parts[i]);
	for (int i = 0; i < p->ninputs && !link_failed(link); i++) {
		if (!p->buffers[i].is_const)
			continue;
		LowFunction *f = new_function(arena,
		    arena_printf(
			arena, "%s_pack_%s", p->symbol, p->buffers[i].name),
		    LOWFN_PACK);
		f->pack_input = i;
		out->packed_bytes[out->packs.n] = link->packed_bytes[i];
		lower_pack(link, f, i);
		vec_push(arena, &out->packs, f);
	}
}

/* --- the whole ---------------------------------------------------------- */

/* What only a GPU has, in a nest for another machine. */
static void refuse_gpu(Lower *l)
{
	const Nest *nest = l->nest;
	for (int i = 0; i < nest->order.n && !l->machine->gpu; i++) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		for (int k = 0; k < s->nloops; k++) {
			const Var *v = &nest->vars.at[s->loops[k]];
			if (loop_is_bound(v->kind))
				lower_fail(l,
				    "loop %s is bound to %s, which this "
				    "target has not",
				    v->name, loop_kind_name(v->kind));
		}
	}
}

/* Everything that any emitter reads went through here. */
static bool check_result(const Lowered *out, Error *error)
{
	char why[512];
	LowVerdict verdict = lowered_verdict(out, why, sizeof why);
	if (verdict == LOW_SOUND)
		return true;
	/* Where code ends up around the loops of a launch is known now only. */
	if (verdict == LOW_SPLIT_LAUNCH)
		error_set(error, STATUS_UNSUPPORTED,
		    "the loops of a launch do not nest: %s", why);
	else
		error_set(error, STATUS_INTERNAL,
		    "internal error: %s is no lowered function: %s",
		    out->kernel->name, why);
	return false;
}

static Part *part_new(Arena *arena, const Nest *nest, int most, Error *error)
{
	int nvars = nest->vars.n, nbuffers = nest->buffers.n;
	Part *p = NEW(arena, Part);
	*p = (Part){.error = error,
	    .exact = nest->program->numerics == NUMERICS_EXACT,
	    .launched = nest_is_launched(nest),
	    .sharing = NEW_N(arena, IntVec, nest->stages.n),
	    .hung = NEW_N(arena, IntVec, nvars),
	    .low_buffer = NEW_N(arena, int, nbuffers),
	    .version = NEW_N(arena, int, nbuffers),
	    .stored = NEW_N(arena, StoredVec, nbuffers),
	    .registers = NEW_N(arena, ElementVec, nbuffers),
	    .most_operations = most,
	    .vars = NEW_N(arena, Binding, nvars),
	    .steps = NEW_N(arena, StepConditions, nest->stages.n),
	    .ahead = NEW_N(arena, int64_t, nvars),
	    .keeps = NEW_N(arena, int, nvars)};
	for (int i = 0; i < nest->order.n; i++) {
		int stage = nest->order.at[i];
		const Stage *s = &nest->stages.at[stage];
		if (s->with >= 0)
			continue;
		p->sharing[stage] = nest_sharing(nest, arena, stage);
		if (s->place >= 0)
			vec_push(arena, &p->hung[s->place], stage);
	}
	return p;
}

static Lower *lower_new(Arena *arena, const Nest *nest, const Machine *machine,
    int most, Error *error)
{
	Lower *l = NEW(arena, Lower);
	assert(nest->inferred && !nest->nparts && most > 0);
	*l = (Lower){.arena = arena,
	    .nest = nest,
	    .machine = machine,
	    .lanes = 1,
	    .stage = -1,
	    .part = part_new(arena, nest, most, error)};
	refuse_gpu(l);
	return l;
}

Lowered *lower_up_to(Arena *arena, const Nest *nest, const Machine *machine,
    int most, bool *larger, Error *error)
{
	Lowered *out = NEW(arena, Lowered);
	int n = nest->nparts ? nest->nparts : 1;
	Lower **parts = NEW_N(arena, Lower *, n);
	*larger = false;
	for (int i = 0; i < n; i++)
		parts[i] = lower_new(arena,
		    nest->nparts ? nest->parts[i] : nest, machine, most, error);
	Link link = link_new(arena, nest->program, parts, n);
	*out = (Lowered){.arena = arena, .program = nest->program};
	out->kernel =
	    new_function(arena, nest->program->symbol, LOWFN_KERNEL);
	if (link_failed(&link))
		return NULL;
	out->workspace_bytes = lower_kernel(&link, out->kernel);
	lower_packs(&link, out);
	for (int i = 0; i < n; i++)
		*larger |= parts[i]->part->operations > most;
	if (link_failed(&link))
		return NULL;
	if (machine->gpu) /* where 64 bits cost twice as much */
		low_ranges(out->kernel);
	if (!check_result(out, error))
		return NULL;
	/* one that only says `gpu` has no kernels of its own: it is interpreted */
	if (machine->processors && !lower_launches(out, machine, error))
		return NULL;
	return out;
}

/* So many may be needed. */
static int64_t operations_of(const Nest *nest)
{
	int64_t nodes = 0, stages = nest->order.n;
	for (int i = 0; i < nest->order.n; i++)
		nodes += expr_nodes(nest->stages.at[nest->order.at[i]].body);
	return stages * STAGE_OPERATIONS + nodes * NODE_OPERATIONS;
}

Lowered *lower(
    Arena *arena, const Nest *nest, const Machine *machine, Error *error)
{
	int64_t most = MOST_OPERATIONS + operations_of(nest);
	bool larger;
	for (int i = 0; i < nest->nparts; i++)
		most += operations_of(nest->parts[i]);
	return lower_up_to(arena, nest, machine,
	    (int)wide_min(most, INT_MAX - 1), &larger, error);
}
