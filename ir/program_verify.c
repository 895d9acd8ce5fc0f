/* An internal check of programs: what the spec reader promises to all that
 * read definitions and blocks. */
#include "ir/program.h"

#include <stdio.h>

typedef struct {
	const Program *program;
	const char *name;
	int naxes;
	int block;      /* reads must be written by earlier ones; or -1 */
	bool reduces;   /* OP_REDUCE is allowed */
	const char *wrong; /* NULL: nothing found */
} Verify;

static bool indices_exact(const Expr *e)
{
	for (int i = 0; i < e->narg; i++)
		if (e->arg[i]->type != DT_INDEX)
			return false;
	return true;
}

static const char *check_read(const Verify *v, const Expr *e)
{
	const Program *p = v->program;
	if (e->id < 0 || e->id >= p->nbuffers)
		return "reads no buffer";
	const Buffer *b = &p->buffers[e->id];
	if (b->type != e->type)
		return "reads with another dtype than the buffer's";
	if (b->ndim != e->narg)
		return "reads with another number of indices";
	if (v->block >= 0 && b->role != BUFFER_INPUT && b->block >= v->block)
		return "reads what is written later";
	return indices_exact(e) ? NULL : "reads at an index of a dtype";
}

static bool check_node(Expr *e, void *context)
{
	Verify *v = context;
	if (v->wrong)
		return false;
	if (e->type > DT_INDEX)
		v->wrong = "has an untyped node";
	else if (e->op == OP_AXIS && (e->id < 0 || e->id >= v->naxes))
		v->wrong = "uses no axis of its own";
	else if (e->op == OP_VAR || e->op == OP_TAPE)
		v->wrong = "holds a node of nests";
	else if (e->op == OP_REDUCE && !v->reduces)
		v->wrong = "has a reduction in a block";
	else if (e->op == OP_IF && e->arg[0]->type != DT_BOOL)
		v->wrong = "has a condition that is no bool";
	else if (e->op == OP_READ)
		v->wrong = check_read(v, e);
	return !v->wrong;
}

static const char *check_axes(const Buffer *b, const Axis *axes, int nspatial)
{
	if (b->ndim != nspatial)
		return "has another rank than its buffer";
	for (int i = 0; i < nspatial; i++)
		if (axes[i].extent != b->shape[i] || axes[i].extent < 1)
			return "has other extents than its buffer";
	return NULL;
}

static const char *check_body(Verify *v, int buffer, const Axis *axes,
    int nspatial, Expr *body)
{
	const Buffer *b = &v->program->buffers[buffer];
	v->wrong = check_axes(b, axes, nspatial);
	if (!v->wrong && body->type != b->type)
		v->wrong = "has another dtype than its buffer";
	if (!v->wrong)
		expr_walk(body, check_node, v);
	return v->wrong;
}

bool program_verify(const Program *p, char *why, size_t size)
{
	Verify v = {.program = p};
	for (int i = 0; i < p->ndefinitions && !v.wrong; i++) {
		const Definition *d = &p->definitions[i];
		v = (Verify){p, d->name, d->naxes, -1, true, NULL};
		check_body(&v, d->buffer, d->axes, d->nspatial, d->body);
	}
	for (int i = 0; i < p->nblocks && !v.wrong; i++) {
		const Block *b = &p->blocks[i];
		v = (Verify){p, b->name, b->naxes, i, false, NULL};
		check_body(&v, b->buffer, b->axes, b->nspatial, b->body);
		if (!v.wrong && p->buffers[b->buffer].block != i)
			v.wrong = "is not the block that its buffer names";
	}
	if (v.wrong)
		snprintf(why, size, "%s %s", v.name, v.wrong);
	return !v.wrong;
}
