/* The program in the form that the first steps of every trace give it, which the
 * rules then see.
 *
 *     y[i, j] = sum[r, s](x[i + r, j + s])
 *   + y_c = separate(y.s)
 *   ->
 *     y_c[i, j] = sum[r](x[i + r, j])
 *     y[i, j] = sum[s](y_c[i, j + s])
 *
 * A rule writes the step; it is applied to the plain nest as a replay applies it, and
 * the program is read off that nest: what a rewrite does stands in its primitive
 * alone. */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <string.h>

/* --- the program of a nest without loops that are scheduled ------------------------ */

static Block block_of(Arena *arena, const Program *from, const Stage *s)
{
	assert(s->place < 0 && s->with < 0 && "first steps place nothing");
	Block b = {.name = s->name,
	    .buffer = s->buffer,
	    .naxes = s->naxes,
	    .nspatial = s->nspatial,
	    .axes = NEW_N(arena, Axis, s->naxes),
	    .reduce = s->reduce,
	    .body = s->carries < 0 ? s->body : prefix_uncarried(s->body),
	    .definition =
		s->block < 0 ? -1 : from->blocks[s->block].definition};
	for (int a = 0; a < s->naxes; a++)
		b.axes[a] = (Axis){
		    s->axes[a].name, s->axes[a].extent, s->axes[a].reduce};
	return b;
}

/* What a step made comes from the definition of the block that it is made for. */
static void read_blocks(const RuleForm *f, Program *p)
{
	const Nest *nest = f->nest;
	int definition = -1;
	p->nblocks = nest->order.n;
	p->blocks = NEW_N(f->arena, Block, p->nblocks);
	for (int i = p->nblocks - 1; i >= 0; i--) {
		const Stage *s = &nest->stages.at[nest->order.at[i]];
		Block *b = &p->blocks[i];
		*b = block_of(f->arena, f->from, s);
		if (b->definition >= 0)
			definition = b->definition;
		b->definition = definition;
		p->buffers[b->buffer].block = i;
		p->buffers[b->buffer].once |= s->carries >= 0;
	}
}

/* What steps made of const inputs alone is made before all that reads it. */
static void mark_const(const RuleForm *f, Program *p)
{
	for (int i = 0; i < p->nblocks; i++) {
		const Block *b = &p->blocks[i];
		if (b->buffer >= f->from->nbuffers)
			p->buffers[b->buffer].is_const =
			    rule_is_ahead(p, b->body);
	}
}

static const Program *read_program(const RuleForm *f)
{
	const Nest *nest = f->nest;
	Program *p = NEW(f->arena, Program);
	*p = *f->from;
	assert(nest->buffers.n >= f->from->nbuffers);
	p->nbuffers = nest->buffers.n;
	p->buffers = NEW_N(f->arena, Buffer, p->nbuffers);
	for (int i = 0; i < p->nbuffers; i++) {
		const NestBuffer *b = &nest->buffers.at[i];
		p->buffers[i] = i < f->from->nbuffers
		    ? f->from->buffers[i]
		    : (Buffer){.name = b->name, .role = BUFFER_TEMP};
		p->buffers[i].type = b->type;
		p->buffers[i].ndim = b->ndim;
		p->buffers[i].shape = b->shape;
		p->buffers[i].block = -1;
	}
	read_blocks(f, p);
	mark_const(f, p);
	return p;
}

/* --- forms -------------------------------------------------------------------------- */

/* Up to the first that is not legal. */
static bool apply(RuleForm *f, const char *steps)
{
	ApplyContext context = {.machine = f->machine};
	Source source = {.name = "rules", .text = steps, .size = strlen(steps)};
	Diag diag = {0};
	const Trace *t =
	    trace_parse(f->arena, &source, (Span){0, source.size}, &diag);
	assert(t && "a rule wrote a step that does not parse");
	diag_free(&diag);
	for (int i = 0; i < t->steps.n; i++)
		if (apply_step(f->nest, &t->steps.at[i], &context))
			return false;
	return true;
}

/* The plain nest, under the steps so far. */
static void start(RuleForm *f)
{
	f->nest = nest_new(f->arena, f->from, tape_new(f->arena));
	bool applied = apply(f, f->steps);
	assert(applied && "they were legal once");
	(void)applied;
}

RuleForm *rule_form(
    Arena *arena, const Program *program, const Machine *machine)
{
	RuleForm *f = NEW(arena, RuleForm);
	*f = (RuleForm){
	    .arena = arena, .machine = machine, .from = program, .steps = ""};
	start(f);
	f->program = read_program(f);
	return f;
}

RuleForm *rule_form_copy(const RuleForm *from)
{
	RuleForm *f = NEW(from->arena, RuleForm);
	*f = (RuleForm){.arena = from->arena,
	    .machine = from->machine,
	    .from = from->from,
	    .program = from->program,
	    .steps = from->steps};
	start(f);
	for (int i = 0; i < from->made.n; i++)
		vec_push(f->arena, &f->made, from->made.at[i]);
	return f;
}

bool rule_rewrite(RuleForm *f, const char *format, ...)
{
	Buf buf = {0};
	va_list args;
	va_start(args, format);
	buf_vprintf(&buf, format, args);
	va_end(args);
	const char *steps = arena_strdup(f->arena, buf_text(&buf));
	buf_free(&buf);
	if (!apply(f, steps)) {
		start(f); /* without those before the one that is not legal */
		return false;
	}
	f->steps = arena_printf(f->arena, "%s%s", f->steps, steps);
	f->program = read_program(f);
	return true;
}

RuleMade *rule_made(RuleForm *f, int buffer)
{
	assert(buffer >= 0 && buffer < f->program->nbuffers);
	while (f->made.n <= buffer)
		vec_push(f->arena, &f->made, (RuleMade){0});
	return &f->made.at[buffer];
}

const char *rule_new_name(const RuleForm *f, const Block *b, const char *letter)
{
	const char *name =
	    rule_plain_name(arena_printf(f->arena, "%s_%s", b->name, letter));
	while (nest_has_name(f->nest, name))
		name = arena_printf(f->arena, "%s_", name);
	return name;
}
