/* What the programs of random operators have: none of it must be missing. */
#include "test/common_operator.h"

#include <stdio.h>
#include <string.h>

const int operator_extents[OPERATOR_EXTENTS] = {1, 2, 3, 7, 16, 49, 131};

/* Flags of one program. */
typedef struct {
	const Program *program;
	OperatorCoverage *seen; /* 0 or 1 each */
	int ifs, ifs_of_data, reductions, indices; /* around */
} Walk;

static bool reads_data(const Expr *e)
{
	if (e->op == OP_READ)
		return true;
	for (int i = 0; i < e->narg; i++)
		if (reads_data(e->arg[i]))
			return true;
	return false;
}

static void walk(Walk *w, const Expr *e);

static void walk_read(Walk *w, const Expr *e)
{
	if (w->ifs)
		w->seen->guarded = 1;
	if (w->ifs_of_data)
		w->seen->guarded_by_data = 1;
	w->indices++;
	for (int i = 0; i < e->narg; i++) {
		w->seen->lookup |= reads_data(e->arg[i]);
		walk(w, e->arg[i]);
	}
	w->indices--;
}

static bool has(const Expr *e, Op op)
{
	if (e->op == op)
		return true;
	for (int i = 0; i < e->narg; i++)
		if (has(e->arg[i], op))
			return true;
	return false;
}

static bool is_zero(const Expr *e)
{
	return (e->op == OP_INT && !e->i) || (e->op == OP_FLOAT && e->f == 0);
}

static void look_at_if(Walk *w, const Expr *e)
{
	bool phases = has(e->arg[0], OP_MOD) || has(e->arg[0], OP_FLOORDIV);
	bool data = reads_data(e->arg[0]);

	for (int arm = 1; arm <= 2; arm++) {
		if (!reads_data(e->arg[arm]))
			continue;
		w->seen->padding |= !data && is_zero(e->arg[3 - arm]);
		w->seen->phases |= !data && phases;
		w->seen->proven |= data && e->arg[arm]->op == OP_READ &&
		    e->arg[arm]->narg && e->arg[arm]->arg[0]->op == OP_CAST;
	}
}

static void walk_if(Walk *w, const Expr *e)
{
	int of_data = reads_data(e->arg[0]);

	look_at_if(w, e);

	walk(w, e->arg[0]);
	w->ifs++;
	w->ifs_of_data += of_data;
	walk(w, e->arg[1]);
	walk(w, e->arg[2]);
	w->ifs--;
	w->ifs_of_data -= of_data;
}

/* `if j < E then ... else the identity`, as an extent that varies becomes. */
static bool varies(const Expr *e)
{
	const Expr *c = e->arg[0]->op == OP_IF ? e->arg[0]->arg[0] : NULL;

	while (c && c->op == OP_AND)
		c = c->arg[0];
	return c && c->op == OP_LT && c->arg[0]->op == OP_AXIS &&
	    c->arg[0]->id >= e->reduce.first_axis && has(c->arg[1], OP_AXIS);
}

static void walk_reduce(Walk *w, const Expr *e)
{
	w->seen->varying |= varies(e);
	w->seen->reduce[e->reduce.op] = 1;
	w->seen->reduced[e->type] = 1;
	if (w->reductions++)
		w->seen->nested = 1;
	walk(w, e->arg[0]);
	w->reductions--;
}

static void walk(Walk *w, const Expr *e)
{
	if (w->indices)
		w->seen->index[e->op] = 1;
	else if (e->type != DT_INDEX)
		w->seen->op[e->op] = 1;
	if (w->indices && e->op == OP_MUL)
		w->seen->strided = 1;
	if (e->op == OP_CAST && e->type != DT_INDEX &&
	    e->arg[0]->type != DT_INDEX)
		w->seen->cast[e->arg[0]->type][e->type] = 1;
	if (e->op == OP_READ)
		walk_read(w, e);
	else if (e->op == OP_IF && !w->indices)
		walk_if(w, e);
	else if (e->op == OP_REDUCE)
		walk_reduce(w, e);
	else
		for (int i = 0; i < e->narg; i++)
			walk(w, e->arg[i]);
}

static bool is_read(const Program *p, int buffer);

static bool reads(const Expr *e, int buffer)
{
	if (e->op == OP_READ && e->id == buffer)
		return true;
	for (int i = 0; i < e->narg; i++)
		if (reads(e->arg[i], buffer))
			return true;
	return false;
}

static bool is_read(const Program *p, int buffer)
{
	for (int i = 0; i < p->ndefinitions; i++)
		if (reads(p->definitions[i].body, buffer))
			return true;
	return false;
}

typedef struct {
	const Expr *first;
	int buffer;
	bool two;
} Reads;

static void find_reads(Reads *r, const Expr *e)
{
	if (e->op == OP_READ && e->id == r->buffer) {
		r->two |= r->first && !expr_equal(r->first, e);
		r->first = e;
	}
	for (int i = 0; i < e->narg; i++)
		find_reads(r, e->arg[i]);
}

static bool reads_twice(const Program *p, const Definition *d)
{
	for (int b = 0; b < p->nbuffers; b++) {
		Reads r = {.buffer = b};
		find_reads(&r, d->body);
		if (r.two)
			return true;
	}
	return false;
}

static void look_at_buffers(Walk *w)
{
	const Program *p = w->program;

	w->seen->outputs = p->noutputs > 1;
	for (int i = 0; i < p->nbuffers; i++) {
		const Buffer *b = &p->buffers[i];
		w->seen->type[b->type] = 1;
		if (b->role == BUFFER_INPUT) {
			w->seen->constant |= b->is_const;
			w->seen->scalar_input |= b->ndim == 0;
			w->seen->unused |= !is_read(p, i);
		} else {
			w->seen->scalar |= b->ndim == 0;
			w->seen->output_read |= b->role == BUFFER_OUTPUT &&
			    is_read(p, i);
		}
	}
}

static void look_at_axes(Walk *w, const Definition *d)
{
	for (int a = 0; a < d->naxes; a++)
		for (int i = 0; i < OPERATOR_EXTENTS; i++)
			if (d->axes[a].extent == operator_extents[i])
				w->seen->extent[i] = 1;
}

void operator_count(OperatorCoverage *coverage, const Program *program)
{
	OperatorCoverage seen = {.programs = 1};
	Walk w = {.program = program, .seen = &seen};
	int *to = (int *)coverage, *from = (int *)&seen;

	for (int i = 0; i < program->ndefinitions; i++) {
		look_at_axes(&w, &program->definitions[i]);
		seen.twice |= reads_twice(program, &program->definitions[i]);
		walk(&w, program->definitions[i].body);
	}
	look_at_buffers(&w);
	for (size_t i = 0; i < sizeof seen / sizeof *from; i++)
		to[i] += from[i];
}

/* --- reports ------------------------------------------------------------------ */

typedef struct {
	bool print;
	const char *gap;
} Listing;

static void list(Listing *l, const char *kind, const char *name, int count)
{
	static _Thread_local char text[80];

	if (l->print)
		printf("# %-8s %-12s %d\n", kind, name, count);
	if (count || l->gap)
		return;
	snprintf(text, sizeof text, "%s %s", kind, name);
	l->gap = text;
}

static void list_operations(Listing *l, const OperatorCoverage *c)
{
	static const Op in_indices[] = {OP_INT, OP_AXIS, OP_ADD, OP_SUB,
	    OP_MUL, OP_FLOORDIV, OP_MOD, OP_MIN, OP_MAX, OP_CLAMP, OP_ABS,
	    OP_IF};

	for (int i = OP_NEG; i < OP_COUNT; i++)
		list(l, "value", i == OP_IF ? "if" : op_name((Op)i), c->op[i]);
	for (size_t i = 0; i < sizeof in_indices / sizeof *in_indices; i++) {
		Op op = in_indices[i];
		list(l, "index", op == OP_IF ? "if" : op == OP_INT ? "number"
			: op == OP_AXIS ? "axis" : op_name(op), c->index[op]);
	}
	for (int i = REDUCE_SUM; i < REDUCE_COUNT; i++)
		list(l, "reduce", reduce_name((ReduceOp)i), c->reduce[i]);
}

static void list_types(Listing *l, const OperatorCoverage *c)
{
	for (int i = 0; i < DT_COUNT; i++) {
		const char *name = dtype_name((DType)i);
		int from = 0, to = 0; /* each pair: test_emit_c.c */
		for (int k = 0; k < DT_COUNT; k++) {
			from += i != k && c->cast[i][k];
			to += i != k && c->cast[k][i];
		}
		list(l, "dtype", name, c->type[i]);
		list(l, "cast from", name, from);
		list(l, "cast to", name, to);
		if (i != DT_BOOL)
			list(l, "reduced", name, c->reduced[i]);
	}
}

static void list_all(Listing *l, const OperatorCoverage *c)
{
	char name[16];

	list_operations(l, c);
	list_types(l, c);
	for (int i = 0; i < OPERATOR_EXTENTS; i++) {
		snprintf(name, sizeof name, "%d", operator_extents[i]);
		list(l, "extent", name, c->extent[i]);
	}
	list(l, "reduce", "nested", c->nested);
	list(l, "extent", "over axes", c->varying);
	list(l, "read", "at data", c->lookup);
	list(l, "read", "data proves", c->proven);
	list(l, "read", "twice", c->twice);
	list(l, "read", "padded", c->padding);
	list(l, "read", "in phases", c->phases);
	list(l, "read", "guarded", c->guarded);
	list(l, "read", "by data", c->guarded_by_data);
	list(l, "read", "strided", c->strided);
	list(l, "scalar", "input", c->scalar_input);
	list(l, "scalar", "defined", c->scalar);
	list(l, "outputs", "several", c->outputs);
	list(l, "outputs", "read again", c->output_read);
	list(l, "input", "unused", c->unused);
	list(l, "input", "const", c->constant);
}

void operator_coverage_print(const OperatorCoverage *coverage)
{
	Listing l = {.print = true};

	printf("# %d programs; of them with\n", coverage->programs);
	list_all(&l, coverage);
}

const char *operator_coverage_gap(const OperatorCoverage *coverage)
{
	Listing l = {0};

	list_all(&l, coverage);
	return l.gap;
}
