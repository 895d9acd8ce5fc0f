/* Invariants: what holds of every nest, whatever steps made it.  Our own
 * mistakes, so assertions.  Legality, which depends on the user's steps, is nest_verify's.
 *
 *     structure   before an inference: stages, loops, variables, bodies and
 *                 buffers agree about each other
 *     inference   after it: everything marked (inferred) in nest.h is there
 *
 * Both take the time to look at everything once; a nest is inferred once for
 * each plan that is recorded and each candidate that is lowered. */
#include "ir/nest/nest_internal.h"

#include <assert.h>

typedef struct {
	const Nest *nest;
	const Stage *stage;
	int number, owner; /* whose variables its axes and loops are */
} StageCheck;

static StageCheck check_of(const Nest *nest, int stage)
{
	assert(stage >= 0 && stage < nest->stages.n);
	return (StageCheck){
	    nest, &nest->stages.at[stage], stage, nest_leader(nest, stage)};
}

static const Var *var_at(const Nest *nest, int var)
{
	assert(var >= 0 && var < nest->vars.n);
	return &nest->vars.at[var];
}

static const NestBuffer *buffer_at(const Nest *nest, int buffer)
{
	assert(buffer >= 0 && buffer < nest->buffers.n);
	return &nest->buffers.at[buffer];
}

/* --- structure -------------------------------------------------------------- */

static bool assert_body(Expr *e, void *context)
{
	const StageCheck *s = context;
	switch (e->op) {
	case OP_AXIS:
		assert(e->id >= 0 && e->id < s->stage->naxes);
		break;
	case OP_READ:
		assert(e->narg == buffer_at(s->nest, e->id)->ndim);
		assert(e->type == buffer_at(s->nest, e->id)->type);
		break;
	case OP_VAR:
	case OP_TAPE:
		assert(!"a body is over the stage's axes");
		break;
	default: break;
	}
	return true;
}

static bool is_own_loop(const StageCheck *s, int var)
{
	return var_at(s->nest, var)->stage == s->owner &&
	    nest_loop_position(s->nest, var) >= 0;
}

/* A variable is a loop of the stage, or leads to some. */
static void assert_var(const StageCheck *s, int var)
{
	const Var *v = var_at(s->nest, var);
	assert(v->name && v->stage == s->owner);
	switch (v->how) {
	case VAR_LOOP:
		assert(is_own_loop(s, var));
		break;
	case VAR_SPLIT:
		assert(v->nchild > 1);
		for (int i = 0; i < v->nchild; i++) {
			assert(var_at(s->nest, v->child[i])->parent == var);
			assert_var(s, v->child[i]);
		}
		break;
	case VAR_FUSED:
		assert(var_at(s->nest, v->fused)->nparts > 1);
		assert_var(s, v->fused);
	}
}

/* The axes' root variables are the stage's; reduction axes come last. */
static void assert_axes(const StageCheck *s)
{
	const Stage *stage = s->stage;
	assert(stage->nspatial >= 0 && stage->nspatial <= stage->naxes);
	assert(stage->reduce != REDUCE_NONE || stage->nspatial == stage->naxes);
	for (int a = 0; a < stage->naxes; a++) {
		const StageAxis *axis = &stage->axes[a];
		const Var *root = var_at(s->nest, axis->var);
		assert(axis->extent >= 0);
		assert(axis->reduce == (a >= stage->nspatial));
		assert(root->stage == s->owner && root->axis == a);
		assert(root->parent < 0 && root->reduce == axis->reduce);
		assert_var(s, axis->var);
	}
}

static void assert_loops(const StageCheck *s)
{
	for (int i = 0; i < s->stage->nloops; i++) {
		const Var *v = var_at(s->nest, s->stage->loops[i]);
		assert(v->how == VAR_LOOP && v->stage == s->owner);
		for (int p = 0; p < v->nparts; p++) {
			const Var *part = var_at(s->nest, v->parts[p]);
			assert(part->how == VAR_FUSED);
			assert(part->fused == s->stage->loops[i]);
		}
	}
}

static void assert_stage(const StageCheck *s)
{
	const Stage *stage = s->stage;
	const NestBuffer *b = buffer_at(s->nest, stage->buffer);
	assert(stage->live && b->writer == s->number);
	assert(stage->nwrite == b->ndim);
	assert(stage->body);
	assert_axes(s);
	assert_loops(s);
	expr_walk(stage->body, assert_body, (void *)s);
	for (int i = 0; i < stage->nwrite; i++)
		expr_walk(stage->write[i], assert_body, (void *)s);
	assert(stage->place < 0 ||
	    var_at(s->nest, stage->place)->stage != s->number);
	assert(stage->place >= 0 || !stage->after);
	assert(stage->init_at < 0 || is_own_loop(s, stage->init_at));
	assert(stage->tensor_loop < 0 || is_own_loop(s, stage->tensor_loop));
	assert(stage->intrinsic < 0 || stage->tensor_loop >= 0);
	for (int i = 0; i < stage->prefetches.n; i++) {
		buffer_at(s->nest, stage->prefetches.at[i].access);
		var_at(s->nest, stage->prefetches.at[i].var);
	}
}

static void assert_buffers(const Nest *nest)
{
	assert(nest->buffers.n >= nest->program->nbuffers);
	for (int i = 0; i < nest->buffers.n; i++) {
		const NestBuffer *b = &nest->buffers.at[i];
		bool own = i >= nest->program->nbuffers;
		assert(b->program_buffer == (own ? -1 : i));
		assert(b->writer >= -1 && b->writer < nest->stages.n);
		assert(b->align_part >= -1 && b->align_part < b->nparts);
		for (int p = 0; p < b->nparts; p++) {
			assert(b->parts[p].dim >= 0);
			assert(b->parts[p].dim < b->ndim);
			assert(b->parts[p].div != HANDLE_NONE);
		}
	}
}

void nest_assert_structure(const Nest *nest)
{
	bool *seen = NEW_N(nest->arena, bool, nest->stages.n);
	int live = 0;
	for (int i = 0; i < nest->order.n; i++) {
		int number = nest->order.at[i];
		StageCheck s = check_of(nest, number);
		assert(!seen[number]);
		seen[number] = true;
		assert_stage(&s);
	}
	for (int i = 0; i < nest->stages.n; i++)
		live += nest->stages.at[i].live;
	assert(live == nest->order.n);
	assert_buffers(nest);
}

/* --- what was inferred -------------------------------------------------------- */

static bool assert_start(Expr *e, void *context)
{
	const StageCheck *s = context;
	assert(e->op != OP_AXIS && e->op != OP_READ);
	if (e->op == OP_VAR) /* a loop above, or a part of a fused one */
		assert(var_at(s->nest, e->id)->stage != s->number &&
		    var_at(s->nest, e->id)->how != VAR_SPLIT);
	return true;
}

static void axes_inferred(const StageCheck *s)
{
	const Nest *nest = s->nest;
	for (int i = 0; i < s->stage->nloops; i++)
		assert(nest->vars.at[s->stage->loops[i]].extent != HANDLE_NONE);
	for (int a = 0; a < s->stage->naxes; a++) {
		const StageAxis *axis = &s->stage->axes[a];
		assert(axis->region != HANDLE_NONE);
		assert(nest->vars.at[axis->var].extent == axis->region);
		/* without an end it is tested at both */
		assert(axis->end != HANDLE_NONE || (axis->below && axis->above));
		assert(axis->start || !axis->below);
		if (axis->start)
			expr_walk(axis->start, assert_start, (void *)s);
	}
	assert(!s->stage->ahead || s->stage->place < 0 ||
	    nest->stages.at[nest->vars.at[s->stage->place].stage].ahead);
}

static void buffer_inferred(const Nest *nest, int number)
{
	const NestBuffer *b = &nest->buffers.at[number];
	assert(b->elements != HANDLE_NONE);
	for (int d = 0; d < b->ndim; d++)
		assert(b->extent[d] != HANDLE_NONE);
	for (int p = 0; p < b->nparts; p++) {
		assert(b->parts[p].extent != HANDLE_NONE);
		assert(b->parts[p].stride != HANDLE_NONE);
	}
	assert(b->alloc < 0 || nest_loop_position(nest, b->alloc) >= 0);
	assert(b->alloc < 0 || !nest_is_argument(nest, number));
}

void nest_assert_inferred(const Nest *nest)
{
	assert(nest->inferred);
	for (int i = 0; i < nest->order.n; i++) {
		StageCheck s = check_of(nest, nest->order.at[i]);
		axes_inferred(&s);
	}
	for (int i = 0; i < nest->buffers.n; i++)
		buffer_inferred(nest, i);
	assert(nest->first_inferred >= 0 && nest->ninferred >= 0);
	assert(nest->first_inferred + nest->ninferred <= nest->guards.n);
	for (int i = 0; i < nest->guards.n; i++)
		assert(nest->guards.at[i].value != HANDLE_NONE &&
		    nest->guards.at[i].why);
}
