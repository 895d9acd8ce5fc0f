/* Groups without a product that are better in two.
 *
 *     d[c, y, x] = sum over r, s of p[c, y + r, x + s]*w[c, r, s]
 *     ----------------------------------------------------------- d, written whole
 *     g[c]       = sum over y, x of d[c, y, x]
 *
 * What one group holds shares its loops as far as it can, so that a reduction may
 * get loops that it would not choose alone: rows of g are planes of d.  In a
 * softmax, whose reductions go over the same rows, that is what a group is for.
 * Which it is is asked of the analytic model: of the group's best candidate, and of
 * those of its two parts where it is cut behind a reduction.  In front of such a
 * cut stands what the reduction is made of, and what is made of that element by
 * element; each part is asked again.  Of machines there are two, those with vectors
 * of 64 bytes and all others, so that most targets have the same groups.  These also
 * say which of two ways to cut a program is better (groups_better). */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "lib/lookup.h"
#include "schedule/groups.h"
#include "schedule/internal.h"

enum {
	TRIES = 200,
	WORK = 2000000,	 /* for each, */
	ASKED_MOST = 32, /* programs of a whole */
	LARGE = 12,	 /* blocks */
	NONE = -1
};

/* The most that two parts may take, over their time together: where the second
 * reads just what the first reduces to, whose loops it would share, and of a group
 * so large that a search does not find its best; of others, of which the model is
 * less sure.  Never where what reads results of rows reads the same rows (a mean, and
 * what differs from it): these rows are near once. */
static const double OF_RESULTS = 1.05, OF_OTHERS = 0.92, OF_ROWS = 0;
/* The most that groups may take, over others of the same blocks. */
static const double OF_SETS = 0.97;

#define OF_BOTH                                                                \
	.threads = 1, .fma = true, .splat = true, .masked = true,              \
	.gather = true, .f16c = true, .fma_per_cycle = 2, .fma_latency = 4,    \
	.l1_bytes = 32 << 10, .l2_bytes = 1 << 20, .l3_bytes = 16 << 20,       \
	.l1_ways = 8, .line_bytes = 64, .clock_ghz = 3

static const Machine narrow = {
    OF_BOTH, .vector_bytes = 32, .vector_registers = 16};
static const Machine wide = {OF_BOTH, .vector_bytes = 64,
    .vector_registers = 32, .broadcast = true, .byte_masks = true,
    .scale = true, .rsqrt = true};

/* --- what the model says --------------------------------------------------------- */

typedef struct {
	Arena *arena;
	const Machine *machine;
	/* those that were asked for, and the blocks of each, since what is cut in
	 * two and again may have its inputs in another order than what is cut once */
	Lookup operators, blocks;
	VEC(double) seconds; /* what each takes */
	Lookup whole;	     /* blocks of all groups */
} Judged;

/* Of the best of a few candidates; infinite where there is none. */
static double seconds_of(const Program *program, const Machine *machine)
{
	Arena *arena = arena_new();
	Error ignored = {0};
	Candidate first;
	double seconds = INFINITY;
	Space *space = space_new(arena, program, machine, &ignored);
	if (space && space_first_within(space, TRIES, WORK, &first))
		space_analytic(space, &first, 1, &seconds);
	arena_free(arena);
	return seconds;
}

static const char *blocks_of(Arena *arena, const Program *program)
{
	Buf names = {0};
	for (int i = 0; i < program->nblocks; i++)
		buf_printf(&names, "%s ", program->blocks[i].name);
	const char *text = arena_strdup(arena, buf_text(&names));
	buf_free(&names);
	return text;
}

static int known(const Lookup *asked, const char *name)
{
	int e = lookup_first(asked, name, strlen(name));
	return e < 0 ? NONE : asked->entries.at[e].number;
}

static double judged(Judged *j, const Program *program)
{
	int at = known(&j->operators, program->op);
	if (at != NONE)
		return j->seconds.at[at];
	const char *blocks = blocks_of(j->arena, program);
	at = known(&j->blocks, blocks);
	vec_push(j->arena, &j->seconds,
	    at != NONE ? j->seconds.at[at] : seconds_of(program, j->machine));
	at = j->seconds.n - 1;
	lookup_add(&j->operators, arena_strdup(j->arena, program->op), at);
	lookup_add(&j->blocks, blocks, at);
	return j->seconds.at[at];
}

/* --- where a group is cut -------------------------------------------------------- */

typedef struct {
	const Program *program;
	bool *first; /* by block: it stands in front of the cut */
	bool reads, fits;
} CutReach;

/* What a block in front is made of stands there, too. */
static bool add_source(Expr *e, void *context)
{
	const CutReach *r = context;
	int from = e->op == OP_READ ? r->program->buffers[e->id].block : NONE;
	if (from >= 0)
		r->first[from] = true;
	return true;
}

/* Does it read what stands in front, each index an axis of its own? */
static bool check_read(Expr *e, void *context)
{
	CutReach *r = context;
	int from = e->op == OP_READ ? r->program->buffers[e->id].block : NONE;
	if (from < 0)
		return true;
	r->reads = true;
	r->fits &= r->first[from];
	for (int i = 0; i < e->narg && r->fits; i++) {
		r->fits = e->arg[i]->op == OP_AXIS;
		for (int k = 0; k < i && r->fits; k++)
			r->fits = e->arg[k]->id != e->arg[i]->id;
	}
	return true;
}

/* Blocks stand behind what they read.  False: there is nothing behind the cut. */
static bool cut_behind(const Program *p, int reduction, bool *first)
{
	bool all = true;
	CutReach r = {.program = p, .first = first};
	assert(block_reduces(&p->blocks[reduction]));
	memset(first, 0, sizeof *first * (size_t)p->nblocks);
	first[reduction] = true;
	for (int i = reduction; i >= 0; i--)
		if (first[i])
			expr_walk(p->blocks[i].body, add_source, &r);
	for (int i = 0; i < p->nblocks; i++) {
		r.reads = false;
		r.fits = !block_reduces(&p->blocks[i]);
		expr_walk(p->blocks[i].body, check_read, &r);
		first[i] |= r.reads && r.fits;
		all &= first[i];
	}
	return !all;
}

static Program **parts_of(Arena *arena, const Program *p, const bool *first)
{
	const char *names[] = {"first", "second"};
	int *part = NEW_N(arena, int, p->nblocks);
	for (int i = 0; i < p->nblocks; i++)
		part[i] = !first[i];
	Program **parts = program_parts(arena, p, part, names, 2);
	assert(parts[0]->nblocks + parts[1]->nblocks == p->nblocks);
	return parts;
}

static bool has_input(const Program *p, const char *name)
{
	int i = p->ninputs;
	while (--i >= 0 && strcmp(p->buffers[i].name, name))
		;
	return i >= 0;
}

typedef struct {
	const Program *first, *second;
	double reduced; /* elements */
	bool input, result; /* of `first`: does a block read one? */
} Beside;

static bool note_read(Expr *e, void *context)
{
	Beside *s = context;
	const char *name =
	    e->op == OP_READ ? s->second->buffers[e->id].name : NULL;
	for (int i = 0; name && i < s->first->nbuffers; i++) {
		const Buffer *b = &s->first->buffers[i];
		if (strcmp(b->name, name))
			continue;
		s->result |= i >= s->first->ninputs;
		s->input |= i < s->first->ninputs &&
		    buffer_elements(b) > s->reduced;
	}
	return true;
}

/* Does a block of the second read a larger input of the first beside a result? */
static bool reads_beside(Program *const *parts, const Buffer *reduced)
{
	bool beside = false;
	for (int i = 0; i < parts[1]->nblocks; i++) {
		Beside s = {.first = parts[0],
			.second = parts[1],
			.reduced = buffer_elements(reduced)};
		expr_walk(parts[1]->blocks[i].body, note_read, &s);
		beside |= s.input && s.result;
	}
	return beside;
}

/* `reduced`: what the reduction makes behind which they are cut. */
static double most_of(Program *const *parts, const Buffer *reduced)
{
	const Program *first = parts[0];
	bool shared = false, leads = false, more = false;
	for (int i = 0; i < first->nbuffers; i++) {
		const Buffer *b = &first->buffers[i];
		if (!has_input(parts[1], b->name))
			continue;
		bool larger = buffer_elements(b) > buffer_elements(reduced);
		shared |= i < first->ninputs && larger;
		leads |= i >= first->ninputs;
		more |= i >= first->ninputs && larger;
	}
	if (!more && reads_beside(parts, reduced))
		return OF_ROWS;
	if (first->nblocks + parts[1]->nblocks > LARGE)
		return OF_RESULTS;
	return leads && !shared && !more ? OF_RESULTS : OF_OTHERS;
}

/* The best two parts of a group; NULL: they are better together. */
static Program **best_parts(Judged *j, Arena *arena, const Program *group)
{
	Program **best = NULL;
	bool *first = NEW_N(arena, bool, group->nblocks);
	double least = INFINITY;
	for (int i = 0; i < group->nblocks; i++) {
		if (!block_reduces(&group->blocks[i]) ||
		    !cut_behind(group, i, first) || j->seconds.n >= ASKED_MOST)
			continue;
		double together = judged(j, group);
		Program **parts = parts_of(arena, group, first);
		double seconds = judged(j, parts[0]) + judged(j, parts[1]);
		double most = together *
		    most_of(parts, &group->buffers[group->blocks[i].buffer]);
		if (seconds < least && seconds < most) {
			least = seconds;
			best = parts;
		}
	}
	return best;
}

/* Numbers the pieces of a group from *pieces; piece[]: by block of the whole. */
static void cut_group(Judged *j, const Program *group, int *piece, int *pieces)
{
	Arena *arena = arena_new();
	Program **parts = best_parts(j, arena, group);
	for (int i = 0; i < 2 && parts; i++)
		cut_group(j, parts[i], piece, pieces);
	for (int i = 0; i < group->nblocks && !parts; i++) {
		int block = known(&j->whole, group->blocks[i].name);
		assert(block != NONE);
		piece[block] = *pieces;
	}
	*pieces += !parts;
	arena_free(arena);
}

static Judged judge(const Machine *machine)
{
	bool is_wide = machine && !machine->gpu && machine->vector_bytes >= 64;
	Judged j = {.arena = arena_new(), .machine = is_wide ? &wide : &narrow};
	j.operators.arena = j.blocks.arena = j.whole.arena = j.arena;
	return j;
}

void groups_apart(
    const Groups *joined, const bool *kept, const Machine *machine, int *piece)
{
	Judged j = judge(machine);
	int pieces = 0;
	for (int i = 0; i < joined->whole->nblocks; i++)
		lookup_add(&j.whole, joined->whole->blocks[i].name, i);
	for (int g = 0; g < joined->n; g++)
		if (!kept[g])
			cut_group(
			    &j, joined->groups[g].program, piece, &pieces);
	arena_free(j.arena);
}

/* --- two ways to cut ---------------------------------------------------------------- */

/* Of groups in one set; infinite where too many were asked for. */
static double seconds_of_set(
    Judged *j, const Groups *g, int first, int *up, int root)
{
	double seconds = 0;
	for (int i = 0; i < g->n && isfinite(seconds); i++)
		if (groups_root(up, first + i) == root)
			seconds += j->seconds.n < ASKED_MOST
			    ? judged(j, g->groups[i].program)
			    : INFINITY;
	return seconds;
}

/* Groups of both that have blocks in common are one set. */
void groups_better(const Groups *first, const Groups *second,
    const Machine *machine, bool *better)
{
	Judged j = judge(machine);
	int n = first->n + second->n;
	assert(first->whole == second->whole);
	int *up = NEW_N(j.arena, int, n);
	bool *differs = NEW_N(j.arena, bool, n);
	for (int i = 0; i < n; i++)
		up[i] = i;
	for (int i = 0; i < first->whole->nblocks; i++)
		up[groups_root(up, first->group_of[i])] =
		    groups_root(up, first->n + second->group_of[i]);
	int *groups = NEW_N(j.arena, int, n);
	for (int i = 0; i < n; i++)
		groups[groups_root(up, i)]++;
	for (int i = 0; i < n; i++) {
		if (groups_root(up, i) != i || groups[i] == 2)
			continue;
		double of_first = seconds_of_set(&j, first, 0, up, i);
		double of_second = seconds_of_set(&j, second, first->n, up, i);
		differs[i] =
		    isfinite(of_first) && of_second < OF_SETS * of_first;
	}
	for (int i = 0; i < first->whole->nblocks; i++)
		better[i] = differs[groups_root(up, first->group_of[i])];
	arena_free(j.arena);
}
