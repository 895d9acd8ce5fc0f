/* annotate: a number for a loop that its kind does not tell.
 *
 *     for c.i in 100                 annotate(c.i, chunk, 4)
 *   ->
 *     for c.i in 100 (chunk 4)
 *
 * Keys: `chunk`, iterations that a thread takes at a time; `unroll`, the limit
 * of unroll(loop, limit).  Always legal, once a key. */
#include "schedule/internal.h"

#include <string.h>

typedef struct {
	int loop;
	const char *key;
	Handle value;
} Annotate;

static Refusal parameters(const Call *call, Annotate *p)
{
	Refusal why = call_loop(call, 0, &p->loop);

	if (!why)
		why = call_word(call, 1, &p->key);
	return why ? why : call_handle(call, 2, 1, &p->value);
}

Refusal annotate_legal(const Call *call)
{
	const Var *v;
	Annotate p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	if (!strcmp(p.key, "unroll"))
		return edit_annotate_legal(call->nest, p.loop);
	if (strcmp(p.key, "chunk") != 0)
		return "the keys are chunk and unroll";
	v = &call->nest->vars.at[p.loop];
	for (int i = 0; i < v->annotations.n; i++)
		if (!strcmp(v->annotations.at[i].key, p.key))
			return "the loop has that annotation already";
	return NULL;
}

void annotate_apply(const Call *call)
{
	Nest *nest = call->nest;
	Annotate p;

	parameters(call, &p);
	if (!strcmp(p.key, "unroll"))
		nest->vars.at[p.loop].unroll_limit = p.value;
	else
		vec_push(nest->arena, &nest->vars.at[p.loop].annotations,
		    (Annotation){p.key, p.value});
}
