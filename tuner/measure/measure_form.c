/* What a lowered form says to a back end, as one hash: two candidates with equal
 * forms give one object, so only the first is worth compiling.
 *
 *     acc_7 = fma(acc_7, x_3, y_2)  and  sum_1 = fma(sum_1, a_9, b_4)   are equal
 *
 * The tree is walked in order; temporaries are numbered as they are met, and no
 * name and no comment counts.  On the way instructions are counted: all but
 * elements that are loaded for all lanes, which are a part of what uses them. */
#include <string.h>

#include "lib/hash.h"
#include "tuner/measure/measure_internal.h"

typedef struct {
	uint64_t hash;
	const LowFunction *function;
	int *number; /* of a temporary, from 1; 0: not met */
	int met;
	int64_t instructions;
} Form;

static void add(Form *f, int64_t value)
{
	f->hash = hash_mix(f->hash ^ (uint64_t)value);
}

static void add_float(Form *f, double value)
{
	int64_t bits;
	memcpy(&bits, &value, sizeof bits);
	add(f, bits);
}

static void add_temp(Form *f, int temp)
{
	if (temp < 0) {
		add(f, -1);
		return;
	}
	if (!f->number[temp]) {
		const LowTemp *t = &f->function->temps.at[temp];
		f->number[temp] = ++f->met;
		add(f, t->type);
		add(f, t->lanes);
	}
	add(f, f->number[temp]);
}

static void add_affine(Form *f, const LowAffine *a)
{
	add(f, a->constant);
	add(f, a->n);
	for (int i = 0; i < a->n; i++) {
		add_temp(f, a->terms[i].temp);
		add(f, a->terms[i].coefficient);
	}
}

static void add_op(Form *f, const LowNode *n)
{
	int lanes = n->dst >= 0 ? f->function->temps.at[n->dst].lanes : 0;
	f->instructions += n->op != LOW_CONST && n->op != LOW_BROADCAST &&
	    !(n->op == LOW_LOAD && lanes == 1);
	add(f, n->op);
	add_temp(f, n->dst);
	for (int i = 0; i < 3; i++)
		add_temp(f, n->arg[i]);
	add(f, n->buffer);
	add_affine(f, &n->address);
	if (low_op_has_source(n->op)) {
		add(f, n->source);
		add_affine(f, &n->from);
	}
	for (int i = 0; n->op == LOW_WGMMA && i < 2; i++) {
		add(f, n->tiles[i].across);
		add(f, n->tiles[i].next);
	}
	add(f, n->i);
	add_float(f, n->f);
	add(f, n->math);
	for (int i = 0; n->shuffle && i < lanes; i++)
		add(f, n->shuffle[i]);
}

static void add_body(Form *f, const LowBody *body);

static void add_node(Form *f, const LowNode *n)
{
	add(f, n->kind);
	switch (n->kind) {
	case LOWNODE_OP: add_op(f, n); break;
	case LOWNODE_LOOP:
		add_temp(f, n->var);
		add(f, n->extent);
		add(f, n->limit != NULL);
		if (n->limit)
			add_affine(f, n->limit);
		add(f, n->loop);
		add_body(f, &n->body);
		break;
	case LOWNODE_IF:
		add_temp(f, n->condition);
		add_body(f, &n->body);
		add_body(f, &n->other);
		break;
	case LOWNODE_COMMENT: break;
	}
}

static void add_body(Form *f, const LowBody *body)
{
	for (int i = 0; i < body->n; i++)
		if (body->at[i]->kind != LOWNODE_COMMENT)
			add_node(f, body->at[i]);
	add(f, -2);
}

static void add_buffer(Form *f, const LowBuffer *b)
{
	add(f, b->type);
	add(f, b->elements);
	add(f, b->kind);
	add(f, b->param);
	add(f, b->offset);
	add(f, b->thread_bytes);
	add(f, b->align);
	add(f, b->written);
}

static void add_function(Form *f, Arena *arena, const LowFunction *function)
{
	f->function = function;
	f->number = NEW_N(arena, int, function->temps.n + 1);
	f->met = 0;
	add(f, function->role);
	add(f, function->nthreads);
	for (int i = 0; i < function->buffers.n; i++)
		add_buffer(f, &function->buffers.at[i]);
	add_body(f, &function->body);
}

void measure_form(const Lowered *lowered, CodeForm *out)
{
	Form f = {.instructions = 0};
	Arena *arena = arena_new();
	add_function(&f, arena, lowered->kernel);
	out->instructions = f.instructions;
	for (int i = 0; i < lowered->packs.n; i++)
		add_function(&f, arena, lowered->packs.at[i]);
	add(&f, lowered->workspace_bytes);
	out->hash = f.hash ? f.hash : 1;
	arena_free(arena);
}
