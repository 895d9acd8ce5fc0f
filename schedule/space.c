/* The space: sketches with their decisions, and the plans behind them.
 *
 * A decision is structural or a slot by its kind alone (apply_is_slot).  The
 * structural positions of a candidate name a plan: looked up in a table, where
 * a miss applies the trace once and keeps what it costs.  Everything that is
 * asked of a candidate after that reads the plan's arrays. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "schedule/internal.h"
#include "schedule/plan/plan.h"
#include "schedule/rules/rules.h"

typedef struct {
	int step, arg, part;
	int size;             /* positions */
	const TraceValue *values;
	int slot;             /* -1: structural */
} Part;

typedef struct {
	uint64_t key;
	int16_t *positions; /* of the structural parts, others 0 */
	Plan *plan;         /* NULL: refused */
	bool *used;         /* parts that have an effect */
	Refusal why;
} PlanEntry;

typedef struct {
	const char *name;
	Trace *trace;
	const Trace *canonical;
	int nparts, nslots;
	int nsettled; /* parts that no candidate has room for */
	Part parts[CANDIDATE_PARTS];
} Sketch;

enum {
	REFUSALS_KEPT = 64,
	STAGES_KEPT = 20000 /* of plans: some 100 MB */
};

struct Space {
	Arena *arena;
	const Program *program;
	const Machine *machine;
	VEC(Sketch) sketches;
	Arena *plans;     /* what the table's entries hold */
	int stages_kept;  /* of those plans; a refusal counts as one */
	Lookup whys;      /* refusals, which outlive the plans */
	PlanEntry *table; /* open addressing; positions NULL: empty */
	int table_size, table_used;
	int64_t *values;  /* the tape, evaluated */
	int values_size;
	RefusalCount refusals[REFUSALS_KEPT];
	int nrefusals;
};

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

static void sketch_parts(Sketch *s)
{
	for (int i = 0; i < s->trace->steps.n; i++) {
		const Step *step = &s->trace->steps.at[i];
		for (int a = 0; a < step->nargs; a++) {
			const Arg *arg = &step->args[a];
			if (!is_open(arg))
				continue;
			bool slot = apply_is_slot(step, a);
			for (int p = first_part(arg); p < arg->domain.parts; p++)
				s->parts[s->nparts++] = (Part){i, a, p,
				    arg->domain.nvalues[p],
				    arg->domain.values[p],
				    slot ? s->nslots++ : -1};
		}
	}
}

static TraceValue part_value(const Part *part, int position)
{
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

/* The trace with decisions taken from `at`; with `slots`, those that are slots
 * stay open. */
static Trace *sketch_fill(
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

static void add_sketch(Space *space, const char *name, Trace *trace)
{
	Sketch s = {.name = name};
	s.trace = trace = decide_beyond(space->arena, trace, &s.nsettled);
	sketch_parts(&s);
	assert(s.nparts <= CANDIDATE_PARTS);
	s.canonical = trace_canonical(space->arena, space->program, trace);
	vec_push(space->arena, &space->sketches, s);
}

Space *space_new(Arena *arena, const Program *program, const Machine *machine,
    Error *error)
{
	Space *space = NEW(arena, Space);
	*space = (Space){
	    .arena = arena, .program = program, .machine = machine};
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
	space->plans = arena_child(arena);
	space->whys.arena = arena;
	space->table_size = 1024;
	space->table = NEW_N(arena, PlanEntry, space->table_size);
	return space;
}

int space_nsettled(const Space *space, int sketch)
{
	return space->sketches.at[sketch].nsettled;
}

int space_nsketches(const Space *space)
{
	return space->sketches.n;
}

const Trace *space_sketch(const Space *space, int sketch)
{
	return space->sketches.at[sketch].trace;
}

const char *space_sketch_name(const Space *space, int sketch)
{
	return space->sketches.at[sketch].name;
}

int space_nparts(const Space *space, int sketch)
{
	return space->sketches.at[sketch].nparts;
}

int space_part_size(const Space *space, int sketch, int part)
{
	return space->sketches.at[sketch].parts[part].size;
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
	if (carry && b->n < LIMBS)
		b->limb[b->n++] = (uint32_t)carry;
}

static void big_add(Big *a, const Big *b)
{
	uint64_t carry = 0;
	for (int i = 0; i < LIMBS && (i < b->n || i < a->n || carry); i++) {
		if (i == a->n)
			a->limb[a->n++] = 0;
		carry += a->limb[i];
		carry += i < b->n ? b->limb[i] : 0;
		a->limb[i] = (uint32_t)(carry % LIMB);
		carry /= LIMB;
	}
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
	while (sum.n > 1 && !sum.limb[sum.n - 1])
		sum.n--;
	char *text = arena_printf(arena, "%u", sum.limb[sum.n - 1]);
	for (int i = sum.n - 2; i >= 0; i--)
		text = arena_printf(
		    arena, "%s%0*u", text, DIGITS, sum.limb[i]);
	return text;
}

/* By hand, a digit at a time. */
char *space_count_times(Arena *arena, const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b), from = 0;
	int *sum = NEW_N(arena, int, n + m);
	char *text = NEW_N(arena, char, n + m + 1);
	for (size_t i = n; i-- > 0;) {
		int carry = 0;
		for (size_t k = m; k-- > 0;) {
			carry += (a[i] - '0') * (b[k] - '0') + sum[i + k + 1];
			sum[i + k + 1] = carry % 10;
			carry /= 10;
		}
		sum[i] = carry;
	}
	for (size_t i = 0; i < n + m; i++)
		text[i] = (char)('0' + sum[i]);
	while (from + 1 < n + m && text[from] == '0')
		from++;
	return text + from;
}

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
	memset(out, 0, sizeof *out);
	for (int k = 0; k < space->sketches.n; k++) {
		const Sketch *s = &space->sketches.at[k];
		int64_t n = sketch_size(s, INT64_MAX);
		if (i >= n) {
			i -= n;
			continue;
		}
		out->sketch = (uint16_t)k;
		for (int p = 0; p < s->nparts; p++) {
			out->at[p] = (int16_t)(i % s->parts[p].size);
			i /= s->parts[p].size;
		}
		return space_legal(space, out, &why);
	}
	return false;
}

/* --- plans ------------------------------------------------------------------------ */

static void refuse(Space *space, Refusal why)
{
	for (int i = 0; i < space->nrefusals; i++)
		if (!strcmp(space->refusals[i].why, why)) {
			space->refusals[i].count++;
			return;
		}
	if (space->nrefusals < REFUSALS_KEPT)
		space->refusals[space->nrefusals++] = (RefusalCount){why, 1};
}

int space_refusals(const Space *space, RefusalCount *out, int max)
{
	int n = space->nrefusals < max ? space->nrefusals : max;
	memcpy(out, space->refusals, sizeof *out * (size_t)n);
	return n;
}

/* Steps that a decision made void (of a block that is inlined) use nothing. */
static bool *parts_used(Space *space, const Sketch *s, const ApplyContext *c)
{
	bool *used = NEW_N(space->plans, bool, s->nparts);
	for (int p = 0; p < s->nparts; p++)
		used[p] = !c->void_steps || !c->void_steps[s->parts[p].step];
	return used;
}

static const char *keep_why(Space *space, const char *why)
{
	Lookup *l = &space->whys;
	int e = lookup_first(l, why, strlen(why));
	if (e >= 0)
		return l->entries.at[e].name;
	why = arena_strdup(space->arena, why);
	lookup_add(l, why, 0);
	return why;
}

/* So many structures may be asked about that their plans do not fit. */
static void forget_plans(Space *space)
{
	arena_free(space->plans);
	space->plans = arena_child(space->arena);
	space->stages_kept = space->table_used = 0;
	memset(space->table, 0,
	    sizeof *space->table * (size_t)space->table_size);
}

static void record_plan(Space *space, const Sketch *s, PlanEntry *entry)
{
	Arena *scratch = arena_new();
	Trace *trace = sketch_fill(scratch, s, entry->positions, true);
	Nest *nest = nest_new(scratch, space->program, tape_new(scratch));
	ApplyContext context = {.machine = space->machine,
	    .use_slots = true,
	    .void_steps = NEW_N(scratch, bool, trace->steps.n)};
	int step;
	Refusal why;
	if (trace_apply(nest, trace, &context, &step, &why)) {
		assert(context.nslots == s->nslots);
		entry->plan = plan_copy(
		    space->plans, plan_record(scratch, nest));
		space->stages_kept += entry->plan->nstages;
		entry->used = parts_used(space, s, &context);
		for (int i = 0; i < entry->plan->nguards; i++)
			entry->plan->guards[i].why = keep_why(
			    space, entry->plan->guards[i].why);
		int size = tape_size(entry->plan->tape);
		if (size > space->values_size) {
			space->values_size = size * 2;
			space->values = NEW_N(
			    space->arena, int64_t, space->values_size);
		}
	} else {
		entry->why = keep_why(space, why);
		space->stages_kept++;
	}
	arena_free(scratch);
}

static uint64_t structural_key(const Sketch *s, const Candidate *c)
{
	uint64_t h = hash_mix(c->sketch);
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].slot < 0 && s->parts[p].size > 1)
			h = hash_mix(h ^ (uint64_t)c->at[p]);
	return h;
}

static bool same_structure(
    const Sketch *s, const Candidate *c, const PlanEntry *e)
{
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].slot < 0 && e->positions[p] != c->at[p])
			return false;
	return true;
}

static PlanEntry *table_place(
    Space *space, const Sketch *s, const Candidate *c, uint64_t key)
{
	unsigned mask = (unsigned)space->table_size - 1;
	unsigned i = (unsigned)key & mask;
	for (;; i = (i + 1) & mask) {
		PlanEntry *e = &space->table[i];
		if (!e->positions)
			return e;
		if (e->key == key && same_structure(s, c, e))
			return e;
	}
}

static void table_grow(Space *space)
{
	PlanEntry *old = space->table;
	int n = space->table_size;
	space->table_size *= 2;
	space->table = NEW_N(space->arena, PlanEntry, space->table_size);
	unsigned mask = (unsigned)space->table_size - 1;
	for (int i = 0; i < n; i++) {
		if (!old[i].positions)
			continue;
		unsigned at = (unsigned)old[i].key & mask;
		while (space->table[at].positions)
			at = (at + 1) & mask;
		space->table[at] = old[i];
	}
}

static const PlanEntry *plan_of(Space *space, const Candidate *c)
{
	const Sketch *s = &space->sketches.at[c->sketch];
	uint64_t key = structural_key(s, c);
	PlanEntry *e = table_place(space, s, c, key);
	if (e->positions)
		return e;
	if (space->stages_kept > STAGES_KEPT) {
		forget_plans(space);
		e = table_place(space, s, c, key);
	}
	e->key = key;
	e->positions = NEW_N(space->plans, int16_t, s->nparts);
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].slot < 0)
			e->positions[p] = c->at[p];
	record_plan(space, s, e);
	if (++space->table_used * 2 > space->table_size) {
		table_grow(space);
		e = table_place(space, s, c, key);
	}
	return e;
}

/* Evaluates the plan's tape for a candidate; the values stay until the next
 * call. */
static const int64_t *fill_in(
    Space *space, const Plan *plan, const Candidate *c)
{
	const Sketch *s = &space->sketches.at[c->sketch];
	int64_t slots[CANDIDATE_PARTS];
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].slot >= 0)
			slots[s->parts[p].slot] =
			    s->parts[p].values[c->at[p]].i;
	tape_eval(plan->tape, slots, space->values);
	return space->values;
}

/* The plan of a candidate, which is normalized; NULL and why. */
static const Plan *normalize(Space *space, Candidate *c, Refusal *why)
{
	const Sketch *s = &space->sketches.at[c->sketch];
	const PlanEntry *e = plan_of(space, c);
	bool moved = false;
	for (int p = 0; e->plan && p < s->nparts; p++)
		if (!e->used[p] && c->at[p]) {
			c->at[p] = 0;
			moved |= s->parts[p].slot < 0;
		}
	if (moved)
		e = plan_of(space, c);
	*why = e->why;
	return e->plan;
}

static bool guards_hold(
    const Plan *plan, const int64_t *values, Refusal *why)
{
	for (int i = 0; i < plan->nguards; i++)
		if (values[plan->guards[i].value] != 1) {
			*why = plan->guards[i].why;
			return false;
		}
	return true;
}

bool space_replays(Space *space, Candidate *c, Refusal *why)
{
	const Plan *plan = normalize(space, c, why);
	return plan && guards_hold(plan, fill_in(space, plan, c), why);
}

bool space_legal(Space *space, Candidate *c, Refusal *why)
{
	const Plan *plan = normalize(space, c, why);
	if (!plan)
		return false;
	const int64_t *values = fill_in(space, plan, c);
	if (!guards_hold(plan, values, why))
		return false;
	*why = plan_limits(plan, space->machine, values);
	return !*why;
}

/* --- candidates ------------------------------------------------------------------- */

enum { STRUCTURE_TRIES = 64, SLOT_TRIES = 64, MUTATE_TRIES = 64 };

static void draw(const Sketch *s, Rng *rng, bool structural, Candidate *c)
{
	for (int p = 0; p < s->nparts; p++)
		if ((s->parts[p].slot < 0) == structural)
			c->at[p] = (int16_t)rng_below(
			    rng, (uint64_t)s->parts[p].size);
}

bool space_sample(Space *space, Rng *rng, Candidate *out)
{
	Refusal why = NULL;
	for (int i = 0; i < STRUCTURE_TRIES && space->sketches.n; i++) {
		memset(out, 0, sizeof *out);
		out->sketch = (uint16_t)rng_below(
		    rng, (uint64_t)space->sketches.n);
		const Sketch *s = &space->sketches.at[out->sketch];
		draw(s, rng, true, out);
		const PlanEntry *e = plan_of(space, out);
		if (!e->plan) {
			refuse(space, e->why);
			continue;
		}
		for (int k = 0; k < SLOT_TRIES; k++) {
			draw(s, rng, false, out);
			if (space_legal(space, out, &why))
				return true;
			refuse(space, why);
			if (!s->nslots)
				break;
		}
	}
	return false;
}

/* Sizes are ordered, so half of the steps go to a neighbour; words are not. */
static void move_part(const Sketch *s, Rng *rng, int p, Candidate *c)
{
	int size = s->parts[p].size;
	uint64_t r = rng_below(rng, 4);
	if (s->parts[p].slot >= 0 && r < 2) {
		int at = c->at[p] + (r ? 1 : -1);
		if (at >= 0 && at < size) {
			c->at[p] = (int16_t)at;
			return;
		}
	}
	int step = 1 + (int)rng_below(rng, (uint64_t)size - 1);
	c->at[p] = (int16_t)((c->at[p] + step) % size);
}

bool space_mutate(Space *space, Rng *rng, const Candidate *from, Candidate *out)
{
	const Sketch *s = &space->sketches.at[from->sketch];
	int free_parts[CANDIDATE_PARTS], n = 0;
	Refusal why;
	for (int p = 0; p < s->nparts; p++)
		if (s->parts[p].size > 1)
			free_parts[n++] = p;
	for (int i = 0; i < MUTATE_TRIES && n; i++) {
		if (i % 4 == 0)
			*out = *from;
		move_part(s, rng, free_parts[rng_below(rng, (uint64_t)n)],
		    out);
		Candidate moved = *out;
		if (!space_legal(space, &moved, &why)) {
			refuse(space, why);
			continue;
		}
		*out = moved;
		if (memcmp(out->at, from->at, sizeof out->at))
			return true;
	}
	return false;
}

Trace *space_trace(Arena *arena, Space *space, const Candidate *c)
{
	return sketch_fill(
	    arena, &space->sketches.at[c->sketch], c->at, false);
}

static bool words_equal(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool position_of(const Part *part, const Arg *open, const TraceValue *value,
    int16_t *position)
{
	const TraceValue *want = open->domain.kind == DOMAIN_TILE
	    ? value->kind == VALUE_LIST && value->n == open->domain.parts
		? &value->list[part->part]
		: NULL
	    : value;
	const TraceValue *values = open->domain.values[part->part];
	for (int i = 0; want && i < part->size; i++)
		if (value_equal(&values[i], want)) {
			*position = (int16_t)i;
			return true;
		}
	return false;
}

static bool sketch_matches(const Sketch *s, const Trace *trace, Candidate *out)
{
	const Trace *mine = s->canonical;
	int part = 0;
	if (mine->steps.n != trace->steps.n)
		return false;
	for (int i = 0; i < mine->steps.n; i++) {
		const Step *a = &mine->steps.at[i], *b = &trace->steps.at[i];
		if (a->primitive != b->primitive || a->nargs != b->nargs ||
		    a->nouts != b->nouts)
			return false;
		for (int k = 0; k < a->nargs; k++) {
			const Arg *x = &a->args[k], *y = &b->args[k];
			if (!words_equal(x->key, y->key))
				return false;
			if (!x->decision || !x->open) {
				if (!value_equal(&x->value, &y->value))
					return false;
				continue;
			}
			for (; part < s->nparts && s->parts[part].step == i &&
			     s->parts[part].arg == k;
			     part++)
				if (!position_of(&s->parts[part], x, &y->value,
					&out->at[part]))
					return false;
		}
	}
	return true;
}

bool space_find(Space *space, const Trace *trace, Candidate *out)
{
	const Trace *canonical =
	    trace_canonical(space->arena, space->program, trace);
	for (int i = 0; i < space->sketches.n; i++) {
		memset(out, 0, sizeof *out);
		out->sketch = (uint16_t)i;
		if (sketch_matches(&space->sketches.at[i], canonical, out))
			return true;
	}
	return false;
}

/* --- asked in batches --------------------------------------------------------------- */

uint64_t space_register_tile(Space *space, const Candidate *candidate)
{
	const Plan *plan = plan_of(space, candidate)->plan;
	const int64_t *values = fill_in(space, plan, candidate);
	const PlanStage *s = &plan->stages[plan->anchor];
	StageCost c;
	uint64_t hash = candidate->sketch;
	stage_cost(s, space->machine, values, &c);
	for (int d = c.body; d < s->nloops; d++) {
		const PlanLoop *l = &s->loops[d];
		int64_t tile[2] = {l->axis, values[l->extent]};
		if (!l->reduce && tile[1] > 1)
			hash = hash64(tile, sizeof tile, hash);
	}
	return hash;
}

void space_features(
    Space *space, const Candidate *candidates, int n, float *rows)
{
	for (int i = 0; i < n; i++) {
		const Plan *plan = plan_of(space, &candidates[i])->plan;
		assert(plan);
		plan_features(plan, space->machine,
		    fill_in(space, plan, &candidates[i]),
		    rows + (size_t)i * FEATURES);
	}
}

void space_analytic(
    Space *space, const Candidate *candidates, int n, double *seconds)
{
	for (int i = 0; i < n; i++) {
		const Plan *plan = plan_of(space, &candidates[i])->plan;
		assert(plan);
		seconds[i] = plan_seconds(plan, space->machine,
		    fill_in(space, plan, &candidates[i]));
	}
}

enum {
	FIRST_SEED = 1,
	FIRST_KEPT = 16,
	FIRST_STEPS = 60,
	FIRST_BLOCKS = 8,
	FIRST_WORK = 60 * 64 /* blocks that a kept one's single moves look at */
};

static double analytic_one(Space *space, const Candidate *c)
{
	double seconds;
	space_analytic(space, c, 1, &seconds);
	return seconds;
}

/* The best of seeded samples, each of the best few improved by single moves
 * until none of FIRST_STEPS in a row helps. */
bool space_first(Space *space, int tries, Candidate *out)
{
	Rng rng = rng_stream(FIRST_SEED, 0, 0);
	Candidate kept[FIRST_KEPT];
	double cost[FIRST_KEPT];
	int n = 0, blocks = space->program->nblocks;
	/* A large program's samples cost more, and are each a new plan. */
	if (blocks > FIRST_BLOCKS)
		tries = tries * FIRST_BLOCKS / blocks * FIRST_BLOCKS / blocks + 1;
	for (int i = 0; i < tries; i++) {
		Candidate c;
		if (!space_sample(space, &rng, &c))
			continue;
		double seconds = analytic_one(space, &c);
		if (n == FIRST_KEPT && seconds >= cost[n - 1])
			continue;
		int at = n < FIRST_KEPT ? n++ : n - 1;
		for (; at && cost[at - 1] > seconds; at--) {
			cost[at] = cost[at - 1];
			kept[at] = kept[at - 1];
		}
		cost[at] = seconds;
		kept[at] = c;
	}
	double least = 0;
	int steps = blocks * FIRST_STEPS <= FIRST_WORK ? FIRST_STEPS
						       : FIRST_WORK / blocks;
	for (int i = 0; i < n; i++) {
		for (int idle = 0; idle < steps; idle++) {
			Candidate c;
			if (!space_mutate(space, &rng, &kept[i], &c))
				break;
			double seconds = analytic_one(space, &c);
			if (seconds < cost[i]) {
				kept[i] = c;
				cost[i] = seconds;
				idle = -1;
			}
		}
		if (!i || cost[i] < least) {
			least = cost[i];
			*out = kept[i];
		}
	}
	return n > 0;
}
