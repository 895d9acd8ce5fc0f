/* The space: sketches with their decisions, and how many candidates they have.
 *
 * A decision is structural or a slot by its kind alone (apply_is_slot). */
#include "schedule/space.h"

#include <assert.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "schedule/rules/rules.h"

/* --- sketches ---------------------------------------------------------------- */

static bool is_open(const Arg *arg)
{
	return arg->decision && arg->open;
}

/* The first number of a tile follows from the others. */
static int first_part(const Arg *arg)
{
	return arg->domain.kind == DOMAIN_TILE;
}

/* The position that the rules guess; the first where they do not. */
static int usual_position(const Arg *arg, int part)
{
	const Domain *d = &arg->domain;
	const TraceValue *v = &arg->value;
	if (!arg->usual)
		return 0;
	if (d->kind == DOMAIN_TILE)
		v = &v->list[part];
	for (int i = 0; i < d->nvalues[part]; i++)
		if (value_equal(&d->values[part][i], v))
			return i;
	return 0;
}

static void sketch_parts(Sketch *s)
{
	int tail = primitive_find("tail");
	for (int i = 0; i < s->trace->steps.n; i++) {
		const Step *step = &s->trace->steps.at[i];
		for (int a = 0; a < step->nargs; a++) {
			const Arg *arg = &step->args[a];
			if (!is_open(arg))
				continue;
			bool slot = apply_is_slot(step, a);
			for (int p = first_part(arg); p < arg->domain.parts;
			     p++) {
				int n = arg->domain.nvalues[p];
				assert(n > 0 && n <= INT16_MAX);
				assert(s->nparts < CANDIDATE_PARTS);
				uint8_t part = (uint8_t)s->nparts++;
				if (slot)
					s->slot_parts[s->nslots] = part;
				else if (n > 1)
					s->word_parts[s->nwords++] = part;
				s->parts[part] =
				    (Part){i, a, p, n, arg->domain.values[p],
					slot ? s->nslots++ : -1,
					step->primitive == tail,
					usual_position(arg, p)};
			}
		}
	}
}

static TraceValue part_value(const Part *part, int position)
{
	assert(position >= 0 && position < part->size);
	return part->values[position];
}

static Step step_copy(Arena *arena, const Step *step)
{
	Step copy = *step;
	copy.args = arena_memdup(
	    arena, step->args, sizeof *step->args * (size_t)step->nargs);
	return copy;
}

/* Parts are decided in order. */
static void decide(Arena *arena, Arg *arg, int part, TraceValue v)
{
	int n = arg->domain.parts;
	assert(part == first_part(arg) || (!arg->open && part < n));
	arg->open = false;
	if (arg->domain.kind == DOMAIN_CHOICE) {
		arg->value = v;
		return;
	}
	if (part == 1) {
		arg->value = (TraceValue){.kind = VALUE_LIST,
		    .n = n,
		    .list = NEW_N(arena, TraceValue, n)};
		arg->value.list[0] = (TraceValue){.kind = VALUE_HOLE};
	}
	arg->value.list[part] = v;
}

/* Where a decision lies that is not open: a size in the middle of its domain, a
 * choice at its first word, which is the plain one. */
static TraceValue settled(const Arg *arg, int part)
{
	const Domain *d = &arg->domain;
	int at = d->kind == DOMAIN_TILE ? d->nvalues[part] / 2 : 0;
	return d->values[part][at];
}

/* A candidate has room for so many decisions: those of the last steps are
 * settled, and counted. */
static Trace *decide_beyond(Arena *arena, const Trace *trace, int *nsettled)
{
	Trace *t = NEW(arena, Trace);
	int n = 0;
	for (int i = 0; i < trace->steps.n; i++) {
		Step step = step_copy(arena, &trace->steps.at[i]);
		for (int a = 0; a < step.nargs; a++) {
			Arg *arg = &step.args[a];
			int first = first_part(arg), end = arg->domain.parts;
			if (!is_open(arg))
				continue;
			n += end - first;
			if (n <= CANDIDATE_PARTS)
				continue;
			*nsettled += end - first;
			for (int p = first; p < end; p++)
				decide(arena, arg, p, settled(arg, p));
		}
		vec_push(arena, &t->steps, step);
	}
	return t;
}

Trace *sketch_fill(
    Arena *arena, const Sketch *s, const int16_t *at, bool slots)
{
	Trace *t = NEW(arena, Trace);
	for (int i = 0; i < s->trace->steps.n; i++)
		vec_push(arena, &t->steps,
		    step_copy(arena, &s->trace->steps.at[i]));
	for (int p = 0; p < s->nparts; p++) {
		const Part *part = &s->parts[p];
		Arg *arg = &t->steps.at[part->step].args[part->arg];
		if (slots && apply_is_slot(
				 &s->trace->steps.at[part->step], part->arg))
			continue;
		decide(arena, arg, part->part, part_value(part, at[p]));
	}
	return t;
}

Sketch sketch_of(
    Arena *arena, const Program *program, const char *name, Trace *trace)
{
	Sketch s = {.name = name};
	s.trace = trace = decide_beyond(arena, trace, &s.nsettled);
	sketch_parts(&s);
	s.canonical = trace_canonical(arena, program, trace);
	return s;
}

static void add_sketch(Space *space, const char *name, Trace *trace)
{
	Sketch s = sketch_of(space->arena, space->program, name, trace);
	vec_push(space->arena, &space->sketches, s);
}

/* What a plan takes beside its tape: bodies are walked for each. */
static int64_t plan_work(const Program *program)
{
	int64_t nodes = 0;
	for (int i = 0; i < program->nblocks; i++)
		nodes += expr_nodes(program->blocks[i].body);
	return PLAN_WORK +
	    (nodes > PLAN_NODES ? NODES_WORK * (nodes - PLAN_NODES) : 0);
}

Space *space_new(Arena *arena, const Program *program, const Machine *machine,
    Error *error)
{
	Space *space = NEW(arena, Space);
	*space = (Space){.arena = arena,
	    .program = program,
	    .machine = machine,
	    .work_most = INT64_MAX,
	    .plan_work = plan_work(program)};
	Diag diag = {0};
	NamedTraceVec named = {0};
	if (program->schedule_text &&
	    !templates_parse(arena, program, &diag, &named)) {
		error_set(error, STATUS_INPUT, "%s", buf_text(&diag.text));
		diag_free(&diag);
		return NULL;
	}
	for (int i = 0; i < named.n; i++)
		add_sketch(space, named.at[i].name,
		    trace_resolve_lanes(arena, named.at[i].trace, machine));
	RuleSketchVec made = {0};
	rules_sketches(arena, program, machine, &made);
	for (int i = 0; i < made.n; i++)
		add_sketch(space, made.at[i].name, made.at[i].trace);
	space_start_plans(space);
	space->whys.arena = arena;
	space->table_size = 1024;
	space->table = NEW_N(arena, PlanEntry, space->table_size);
	return space;
}

static const Sketch *sketch_at(const Space *space, int sketch)
{
	assert(sketch >= 0 && sketch < space->sketches.n);
	return &space->sketches.at[sketch];
}

int space_nsettled(const Space *space, int sketch)
{
	return sketch_at(space, sketch)->nsettled;
}

int space_nsketches(const Space *space)
{
	return space->sketches.n;
}

const Trace *space_sketch(const Space *space, int sketch)
{
	return sketch_at(space, sketch)->trace;
}

const char *space_sketch_name(const Space *space, int sketch)
{
	return sketch_at(space, sketch)->name;
}

int space_nparts(const Space *space, int sketch)
{
	return sketch_at(space, sketch)->nparts;
}

int space_part_size(const Space *space, int sketch, int part)
{
	const Sketch *s = sketch_at(space, sketch);
	assert(part >= 0 && part < s->nparts);
	return s->parts[part].size;
}

/* --- exact counts of any length ------------------------------------------------ */

enum { DIGITS = 9, LIMB = 1000000000, LIMBS = 160 };

typedef struct {
	int n;
	uint32_t limb[LIMBS]; /* least significant first, base 10^9 */
} Big;

static void big_mul(Big *b, uint32_t k)
{
	uint64_t carry = 0;
	for (int i = 0; i < b->n; i++) {
		carry += (uint64_t)b->limb[i] * k;
		b->limb[i] = (uint32_t)(carry % LIMB);
		carry /= LIMB;
	}
	assert(!carry || b->n < LIMBS);
	if (carry)
		b->limb[b->n++] = (uint32_t)carry;
}

static void big_add(Big *a, const Big *b)
{
	uint64_t carry = 0;
	for (int i = 0; i < b->n || i < a->n || carry; i++) {
		assert(i < LIMBS);
		if (i == a->n)
			a->limb[a->n++] = 0;
		carry += a->limb[i];
		carry += i < b->n ? b->limb[i] : 0;
		a->limb[i] = (uint32_t)(carry % LIMB);
		carry /= LIMB;
	}
}

static char *text_of(Arena *arena, const uint32_t *limbs, size_t n)
{
	char *text = NEW_N(arena, char, n *DIGITS + 1), *at = text;
	while (n-- > 0)
		at += snprintf(at, DIGITS + 1, "%0*u", DIGITS, limbs[n]);
	while (text[0] == '0' && text[1])
		text++;
	return text;
}

char *space_count(Arena *arena, const Space *space)
{
	Big sum = {1, {0}};
	for (int i = 0; i < space->sketches.n; i++) {
		const Sketch *s = &space->sketches.at[i];
		Big product = {1, {1}};
		for (int p = 0; p < s->nparts; p++)
			big_mul(&product, (uint32_t)s->parts[p].size);
		big_add(&sum, &product);
	}
	Big one = {1, {1}}; /* candidate 0 */
	big_add(&sum, &one);
	return text_of(arena, sum.limb, (size_t)sum.n);
}

/* Limbs of a number's text, least significant first; how many. */
static size_t limbs_of(Arena *arena, const char *text, uint32_t **limbs)
{
	size_t n = (strlen(text) + DIGITS - 1) / DIGITS, end = strlen(text);
	*limbs = NEW_N(arena, uint32_t, n);
	for (size_t i = 0; i < n; i++) {
		size_t from = end > DIGITS ? end - DIGITS : 0;
		for (size_t k = from; k < end; k++)
			(*limbs)[i] =
			    (*limbs)[i] * 10 + (uint32_t)(text[k] - '0');
		end = from;
	}
	return n;
}

/* By hand, a limb at a time: programs of thousands of groups have thousands. */
char *space_count_times(Arena *arena, const char *a, const char *b)
{
	uint32_t *x, *y;
	size_t n = limbs_of(arena, a, &x), m = limbs_of(arena, b, &y);
	uint32_t *product = NEW_N(arena, uint32_t, n + m);
	for (size_t i = 0; i < n; i++) {
		uint64_t carry = 0;
		for (size_t k = 0; k < m; k++) {
			carry += (uint64_t)x[i] * y[k] + product[i + k];
			product[i + k] = (uint32_t)(carry % LIMB);
			carry /= LIMB;
		}
		product[i + m] = (uint32_t)carry;
	}
	return text_of(arena, product, n + m);
}

/* -1: more than `most`. */
static int64_t sketch_size(const Sketch *s, int64_t most)
{
	int64_t n = 1;
	for (int p = 0; p < s->nparts; p++)
		if (__builtin_mul_overflow(n, s->parts[p].size, &n) ||
		    n > most)
			return -1;
	return n;
}

int64_t space_size(const Space *space, int64_t most)
{
	int64_t sum = 0;
	for (int i = 0; i < space->sketches.n; i++) {
		int64_t n = sketch_size(&space->sketches.at[i], most);
		if (n < 0 || (sum += n) > most)
			return -1;
	}
	return sum;
}

bool space_at(Space *space, int64_t i, Candidate *out)
{
	Refusal why;
	assert(i >= 0);
	memset(out, 0, sizeof *out);
	for (int k = 0; k < space->sketches.n; k++) {
		const Sketch *s = &space->sketches.at[k];
		int64_t n = sketch_size(s, INT64_MAX);
		if (n >= 0 && i >= n) {
			i -= n;
			continue;
		}
		out->sketch = (uint16_t)k;
		for (int p = 0; p < s->nparts; p++) {
			out->at[p] = (int16_t)(i % s->parts[p].size);
			i /= s->parts[p].size;
		}
		assert(i == 0);
		return space_legal(space, out, &why);
	}
	return false;
}
