/* set_scope: where the buffer that a block writes lives.
 *
 *     workspace b                    set_scope(b, reg)
 *   ->
 *     registers b
 *
 * Legal for buffers that are no arguments of the kernel.  Whether every index
 * of a `reg` buffer is known when code is made is asked of the finished nest.
 * A barrier follows the block that fills a `shared` buffer. */
#include "schedule/internal.h"

typedef struct {
	int stage;
	Scope scope;
} SetScope;

static Refusal parameters(const Call *call, SetScope *p)
{
	const char *word;
	Refusal why = call_stage(call, 0, &p->stage);

	if (!why)
		why = call_word(call, 1, &word);
	if (!why && !edit_scope_parse(word, &p->scope))
		why = "a scope is global, local, reg or shared";
	return why;
}

Refusal set_scope_legal(const Call *call)
{
	SetScope p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (nest_is_argument(
		call->nest, call->nest->stages.at[p.stage].buffer))
		return "the block writes an output";
	return NULL;
}

void set_scope_apply(const Call *call)
{
	Nest *nest = call->nest;
	SetScope p;

	parameters(call, &p);
	nest->buffers.at[nest->stages.at[p.stage].buffer].scope = p.scope;
	nest->stages.at[p.stage].barrier = p.scope == SCOPE_SHARED;
}
