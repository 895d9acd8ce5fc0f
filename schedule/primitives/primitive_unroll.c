/* unroll: the body of a loop is written once for each iteration.
 *
 *     for mi in 6                    unroll(mi)
 *   ->
 *     unroll for mi in 6
 *
 * With a limit the loop stays serial and is unrolled where it has no more
 * iterations than that: a quantity, while the other is structure.  Always
 * legal. */
#include "schedule/internal.h"

typedef struct {
	int loop;
	Handle limit; /* HANDLE_NONE: always */
} Unroll;

static Refusal parameters(const Call *call, Unroll *p)
{
	Refusal why = call_loop(call, 0, &p->loop);
	int limit = call_optional(call, 1, "limit");

	p->limit = HANDLE_NONE;
	if (!why && limit >= 0)
		why = call_handle(call, limit, 1, &p->limit);
	return why;
}

Refusal unroll_legal(const Call *call)
{
	Unroll p;
	Refusal why = parameters(call, &p);

	return why ? why : edit_annotate_legal(call->nest, p.loop);
}

void unroll_apply(const Call *call)
{
	Unroll p;

	parameters(call, &p);
	if (p.limit == HANDLE_NONE)
		call->nest->vars.at[p.loop].kind = LOOP_UNROLL;
	else
		call->nest->vars.at[p.loop].unroll_limit = p.limit;
}
