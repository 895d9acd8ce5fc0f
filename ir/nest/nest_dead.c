/* Which elements of a stage are live: does anybody use them?
 *
 *     s[i, j] = sum over d of q[i, d]*k[j, d]
 *     e[i, j] = exp(s[i, j] - m[i])
 *     z[i]   += if j <= i then e[i, j] else 0       e and s: where j <= i
 *
 * A list of conditions over the stage's axes that all hold for an element that
 * is used: those under which its readers read it, or under which their steps
 * count, and those of the readers' own elements.  What lowering leaves out for
 * them holds anything: so a reader takes the conditions for its own
 * (nest_step_conditions), and never lets such an element into a result. */
#include "ir/nest/nest.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8 }; /* readers of readers of … */

/* What was found of stages until now. */
typedef struct {
	bool *done; /* by stage */
	ExprVec *all;
} KnownLive;

typedef struct {
	const Nest *nest;
	Arena *arena;
	int depth;
	KnownLive *known;
} Liveness;

/* The reads of one stage's buffer in the body of another. */
typedef struct {
	const Liveness *d;
	const Stage *stage, *reader;
	ExprSet always;  /* hold wherever the reader's element is used */
	ExprVec all;     /* of all reads until now */
	bool any;
	bool whole; /* read by what takes no conditions, or to index with */
} BufferReads;

static void add_all(const Liveness *d, ExprSet *to, const ExprVec *from)
{
	for (int i = 0; i < from->n; i++)
		expr_set_add(d->arena, to, from->at[i]);
}

typedef struct {
	Expr **values;
	bool all;
} Named;

static bool find_unnamed(Expr *e, void *context)
{
	Named *n = context;
	n->all &= e->op != OP_READ && (e->op != OP_AXIS || n->values[e->id]);
	return n->all;
}

/* The conditions over the reader's axes that are over those of the stage. */
static ExprVec over_stage(
    const BufferReads *r, const Expr *read, const ExprVec *conditions)
{
	const Liveness *d = r->d;
	ExprVec all = {0};
	Named named = {NEW_N(d->arena, Expr *, r->reader->naxes), true};
	for (int i = 0; i < read->narg; i++)
		if (read->arg[i]->op == OP_AXIS)
			named.values[read->arg[i]->id] = r->stage->write[i];
	for (int i = 0; i < conditions->n; i++) {
		named.all = true;
		expr_walk(conditions->at[i], find_unnamed, &named);
		if (named.all)
			vec_push(d->arena, &all,
			    expr_substitute_axes(d->arena, conditions->at[i],
				named.values, r->reader->naxes));
	}
	return all;
}

static void add_read(BufferReads *r, const Expr *read, const ExprVec *under)
{
	ExprSet own = {0};
	ExprVec both = {0};
	add_all(r->d, &own, under);
	add_all(r->d, &own, &r->always.all);
	ExprVec here = over_stage(r, read, &own.all);
	ExprSet found = expr_set_of(r->d->arena, &here);
	for (int i = 0; r->any && i < r->all.n; i++)
		if (expr_set_find(&found, r->all.at[i]) >= 0)
			vec_push(r->d->arena, &both, r->all.at[i]);
	r->all = r->any ? both : here;
	r->any = true;
}

/* The conditions of an arm and of those around it. */
static ExprVec under(const BufferReads *r, int arm)
{
	ExprVec all = {0};
	if (arm < 0)
		return all;
	const StageArm *a = &r->reader->arms.at[arm];
	all = under(r, a->outside);
	nest_condition_parts(
	    r->d->nest, r->d->arena, a->of->arg[0], a->number == 1, &all);
	return all;
}

static void find_reads(BufferReads *r, int reader)
{
	int buffer = r->stage->buffer;
	const Stage *s = r->reader;
	const StageRead *first = nest_first_read(r->d->nest, reader, buffer);
	const StageRead *end = s->reads.at + s->reads.n;
	for (; first && first < end && first->read->id == buffer; first++) {
		ExprVec conditions = {0};
		if (r->whole || (r->any && !r->all.n))
			return;
		r->whole |= first->indexes;
		conditions = under(r, first->arm);
		add_read(r, first->read, &conditions);
	}
}

static ExprVec live_of(const Liveness *d, int stage);

static void add_reader(BufferReads *r, int reader)
{
	const Liveness *d = r->d;
	Liveness above = {d->nest, d->arena, d->depth + 1, d->known};
	ExprVec all = live_of(&above, reader), steps;
	r->reader = &d->nest->stages.at[reader];
	r->whole |= r->reader->intrinsic >= 0;
	r->always = expr_set_of(d->arena, &all);
	steps = nest_step_conditions(d->nest, d->arena, reader, true);
	add_all(d, &r->always, &steps);
	find_reads(r, reader);
}

/* Is it computed element by element, of which any may be left out? */
static bool may_leave_out(const Nest *nest, int stage)
{
	const Stage *s = &nest->stages.at[stage];
	if (nest_is_argument(nest, s->buffer) || s->fill || s->intrinsic >= 0 ||
	    s->barrier || s->carries >= 0 || nest_reduces_across(nest, stage))
		return false;
	for (int i = 0; i < s->nwrite; i++)
		if (s->write[i]->op != OP_AXIS)
			return false;
	return true;
}

static ExprVec find_live(const Liveness *d, int stage)
{
	const Nest *nest = d->nest;
	const Stage *s = &nest->stages.at[stage];
	ExprVec none = {0};
	BufferReads r = {.d = d, .stage = s};
	if (d->depth == DEPTH_MAX || !may_leave_out(nest, stage))
		return none;
	if (s->buffer >= nest->readers.n)
		return none;
	const IntVec *readers = &nest->readers.at[s->buffer];
	for (int i = 0; i < readers->n; i++) {
		bool again = false;
		for (int k = 0; k < i; k++)
			again |= readers->at[k] == readers->at[i];
		if (!again && nest->stages.at[readers->at[i]].live)
			add_reader(&r, readers->at[i]);
		if (r.any && !r.all.n)
			break;
	}
	return r.whole ? none : r.all;
}

static ExprVec live_of(const Liveness *d, int stage)
{
	KnownLive *k = d->known;
	if (!k->done[stage]) {
		k->all[stage] = find_live(d, stage);
		k->done[stage] = true;
	}
	return k->all[stage];
}

ExprVec nest_live_conditions(const Nest *nest, Arena *arena, int stage)
{
	size_t n = (size_t)nest->stages.n;
	KnownLive known = {must_alloc(n * sizeof *known.done),
	    must_alloc(n * sizeof *known.all)};
	Liveness d = {nest, arena, 0, &known};
	memset(known.done, 0, n * sizeof *known.done);
	ExprVec all = live_of(&d, stage);
	free(known.done);
	free(known.all);
	return all;
}
