/* Building functions of the lowered form. */
#include "ir/lowered/lowered.h"
#include "lib/gcd.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>
#include <string.h>

static void take_in_names(Arena *arena, LowFunction *f)
{
	f->names.params.arena = f->names.buffers.arena = arena;
	for (int *i = &f->names.nparams; *i < f->params.n; ++*i)
		lookup_add(&f->names.params, f->params.at[*i].name, *i);
	for (int *i = &f->names.nbuffers; *i < f->buffers.n; ++*i)
		lookup_add(&f->names.buffers, f->buffers.at[*i].name, *i);
}

int64_t low_buffer_whole(const LowBuffer *buffer)
{
	int64_t each = buffer->align / dtype_bytes(buffer->type);
	return each < 2 ? buffer->elements
			: (buffer->elements + each - 1) / each * each;
}

int low_buffer_named(Arena *arena, LowFunction *f, const char *name)
{
	take_in_names(arena, f);
	int e = lookup_first(&f->names.buffers, name, strlen(name));
	return e < 0 ? -1 : f->names.buffers.entries.at[e].number;
}

static bool name_taken(Arena *arena, LowFunction *f, const char *name)
{
	return low_buffer_named(arena, f, name) >= 0 ||
	    lookup_first(&f->names.params, name, strlen(name)) >= 0 ||
	    (f->name && !strcmp(f->name, name));
}

/* Two temporaries never end in the same number, so only other things can have
 * the name already. */
int low_temp(Arena *arena, LowFunction *f, DType type, int lanes,
    const char *name_hint)
{
	assert(lanes >= 1 && lanes <= 64 && !(lanes & (lanes - 1)));
	int temp = f->temps.n;
	char *name = arena_printf(arena, "%s_%d", name_hint, temp);
	for (char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p))
			*p = '_';
	if (isdigit((unsigned char)*name))
		name = arena_printf(arena, "t%s", name);
	while (name_taken(arena, f, name))
		name = arena_printf(arena, "%s_%d", name, temp);
	vec_push(arena, &f->temps,
	    (LowTemp){.name = name,
		.type = type,
		.lanes = lanes,
		.wish = arena_strdup(arena, name_hint)});
	return temp;
}

LowNode *low_op(Arena *arena, LowBody *body, LowOpcode op, int dst, int a,
    int b, int c)
{
	LowNode *node = NEW(arena, LowNode);
	node->kind = LOWNODE_OP;
	node->op = op;
	node->dst = dst;
	node->arg[0] = a;
	node->arg[1] = b;
	node->arg[2] = c;
	node->buffer = node->var = node->condition = -1;
	vec_push(arena, body, node);
	return node;
}

LowAffine low_affine_const(int64_t value)
{
	return (LowAffine){.constant = value};
}

static int64_t coefficient(LowAffine a, int temp)
{
	int64_t sum = 0;
	for (int i = 0; i < a.n; i++)
		if (a.terms[i].temp == temp)
			sum += a.terms[i].coefficient;
	return sum;
}

LowAffine low_affine_sum(
    LowTerm *terms, LowAffine a, LowAffine b, int64_t scale_b)
{
	LowAffine sum = {.constant = a.constant + b.constant * scale_b,
	    .terms = terms};
	for (int i = 0; i < a.n; i++) {
		int64_t c = a.terms[i].coefficient +
		    coefficient(b, a.terms[i].temp) * scale_b;
		if (c)
			terms[sum.n++] = (LowTerm){a.terms[i].temp, c};
	}
	for (int i = 0; i < b.n && scale_b; i++)
		if (!coefficient(a, b.terms[i].temp))
			terms[sum.n++] = (LowTerm){b.terms[i].temp,
			    b.terms[i].coefficient * scale_b};
	return sum;
}

/* Terms are never changed once they are there, so sums may share them. */
LowAffine low_affine_add(
    Arena *arena, LowAffine a, LowAffine b, int64_t scale_b)
{
	int64_t constant = a.constant + b.constant * scale_b;
	if (!b.n || !scale_b)
		return (LowAffine){constant, a.n, a.terms};
	if (!a.n && scale_b == 1)
		return (LowAffine){constant, b.n, b.terms};
	return low_affine_sum(
	    NEW_N(arena, LowTerm, a.n + b.n), a, b, scale_b);
}

bool low_affine_equal(LowAffine a, LowAffine b)
{
	if (a.constant != b.constant)
		return false;
	for (int i = 0; i < a.n; i++)
		if (coefficient(b, a.terms[i].temp) !=
		    coefficient(a, a.terms[i].temp))
			return false;
	for (int i = 0; i < b.n; i++)
		if (coefficient(a, b.terms[i].temp) !=
		    coefficient(b, b.terms[i].temp))
			return false;
	return true;
}

typedef enum { MEMORY_NONE, MEMORY_READS, MEMORY_WRITES, MEMORY_HINTS } Memory;

static const struct {
	const char *name;
	int nargs;
	bool result;
	Memory memory;
} ops[LOW_COUNT] = {
#define LOWOP(name, args, result, memory) {#name, args, result, MEMORY_##memory},
#include "ir/lowered/lowered.def"
#undef LOWOP
};

const char *low_op_name(LowOpcode op)
{
	assert(op < LOW_COUNT);
	return ops[op].name;
}

int low_op_nargs(LowOpcode op)
{
	assert(op < LOW_COUNT);
	return ops[op].nargs;
}

bool low_op_has_result(LowOpcode op)
{
	assert(op < LOW_COUNT);
	return ops[op].result;
}

bool low_op_reads(LowOpcode op)
{
	assert(op < LOW_COUNT);
	return ops[op].memory == MEMORY_READS;
}

bool low_op_writes(LowOpcode op)
{
	assert(op < LOW_COUNT);
	return ops[op].memory == MEMORY_WRITES;
}

bool low_op_is_comparison(LowOpcode op)
{
	return op == LOW_LT || op == LOW_LE || op == LOW_EQ || op == LOW_NE;
}

bool low_op_has_buffer(LowOpcode op)
{
	assert(op < LOW_COUNT);
	return ops[op].memory != MEMORY_NONE;
}

bool low_op_is_warps(LowOpcode op)
{
	return op == LOW_WARP_XOR || op == LOW_MMA || op == LOW_LOAD_MATRIX ||
	    op == LOW_WGMMA;
}

bool low_op_has_source(LowOpcode op)
{
	return op == LOW_COPY_ASYNC || op == LOW_WGMMA;
}

bool low_has_op(const LowBody *body, LowOpcode op)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if ((n->kind == LOWNODE_OP && n->op == op) ||
		    low_has_op(&n->body, op) || low_has_op(&n->other, op))
			return true;
	}
	return false;
}

const Intrinsic *low_warpgroup(const LowFunction *f, const LowNode *wgmma)
{
	return warpgroup_of(f->buffers.at[wgmma->source].type,
	    f->buffers.at[wgmma->buffer].type);
}

bool lowered_has(const Lowered *lowered, LowOpcode op)
{
	return low_has_op(&lowered->kernel->body, op);
}

const Intrinsic *low_fragment(const LowFunction *f, const LowNode *mma)
{
	const LowTemp *a = &f->temps.at[mma->arg[0]];
	return fragment_of(a->type, f->temps.at[mma->arg[1]].type,
	    a->lanes * LOW_WARP / 16);
}

int64_t low_affine_align(const LowAffine *a, DType type, int64_t align)
{
	int64_t bytes = dtype_bytes(type);
	align = gcd(align, a->constant * bytes);
	for (int i = 0; i < a->n; i++)
		align = gcd(align, a->terms[i].coefficient * bytes);
	return align;
}

typedef struct {
	Arena *arena;
	IntVec *read;    /* in the order of first reading */
	char *seen, *set; /* by temporary */
} Captures;

static void capture(Captures *c, int temp)
{
	if (temp < 0 || c->seen[temp])
		return;
	c->seen[temp] = 1;
	vec_push(c->arena, c->read, temp);
}

static void capture_affine(Captures *c, const LowAffine *a)
{
	for (int i = 0; a && i < a->n; i++)
		capture(c, a->terms[i].temp);
}

static void capture_body(Captures *c, const LowBody *body);

static void capture_node(Captures *c, const LowNode *node)
{
	switch (node->kind) {
	case LOWNODE_OP:
		for (int i = 0; i < 3; i++)
			capture(c, node->arg[i]);
		capture_affine(c, &node->address);
		if (low_op_has_source(node->op))
			capture_affine(c, &node->from);
		if (node->dst >= 0)
			c->set[node->dst] = 1;
		break;
	case LOWNODE_LOOP:
		c->set[node->var] = 1;
		capture_affine(c, node->limit);
		capture_body(c, &node->body);
		break;
	case LOWNODE_IF:
		capture(c, node->condition);
		capture_body(c, &node->body);
		capture_body(c, &node->other);
		break;
	case LOWNODE_COMMENT:
		break;
	}
}

static void capture_body(Captures *c, const LowBody *body)
{
	for (int i = 0; i < body->n; i++)
		capture_node(c, body->at[i]);
}

static Captures captures_new(Arena *arena, const LowFunction *f, IntVec *read)
{
	return (Captures){arena, read, NEW_N(arena, char, f->temps.n + 1),
	    NEW_N(arena, char, f->temps.n + 1)};
}

void lowered_reads(Arena *arena, const LowFunction *f, IntVec *read)
{
	Captures c = captures_new(arena, f, read);
	capture_body(&c, &f->body);
}

void lowered_body_captures(
    Arena *arena, const LowFunction *f, const LowBody *body, IntVec *captures)
{
	IntVec read = {0};
	Captures c = captures_new(arena, f, &read);
	capture_body(&c, body);
	for (int i = 0; i < read.n; i++)
		if (!c.set[read.at[i]])
			vec_push(arena, captures, read.at[i]);
}

void lowered_captures(
    Arena *arena, const LowFunction *f, const LowNode *loop, IntVec *captures)
{
	LowNode *nodes[] = {(LowNode *)loop};
	assert(loop->kind == LOWNODE_LOOP);
	lowered_body_captures(
	    arena, f, &(LowBody){.at = nodes, .n = 1}, captures);
}

/* --- rewriting --------------------------------------------------------------- */

void low_count_assigned(const LowBody *body, int *assigned)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && n->dst >= 0)
			assigned[n->dst]++;
		if (n->kind == LOWNODE_LOOP)
			assigned[n->var]++;
		low_count_assigned(&n->body, assigned);
		low_count_assigned(&n->other, assigned);
	}
}

static void note_only(const LowBody *body, LowDefs *d)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && n->dst >= 0 &&
		    d->assigned[n->dst] == 1)
			d->only[n->dst] = n;
		note_only(&n->body, d);
		note_only(&n->other, d);
	}
}

LowDefs low_defs(Arena *arena, const LowFunction *f)
{
	LowDefs d = {NEW_N(arena, int, f->temps.n),
	    NEW_N(arena, const LowNode *, f->temps.n)};
	low_count_assigned(&f->body, d.assigned);
	note_only(&f->body, &d);
	return d;
}

const LowNode *low_number(const LowDefs *defs, int temp)
{
	const LowNode *n = temp < 0 ? NULL : defs->only[temp];
	if (n && n->op == LOW_BROADCAST)
		n = defs->only[n->arg[0]];
	return n && n->op == LOW_CONST ? n : NULL;
}

bool low_is_zero(const LowNode *number, DType type)
{
	return number &&
	    (dtype_is_float(type) ? number->f == 0 && !signbit(number->f)
				  : !number->i);
}

LowFunction *low_like(Arena *arena, const LowFunction *f)
{
	LowFunction *to = arena_memdup(arena, f, sizeof *f);
	size_t n = (size_t)f->temps.n;
	to->body = (LowBody){0};
	to->temps.at =
	    arena_memdup(arena, f->temps.at, sizeof *f->temps.at * n);
	to->temps.cap = f->temps.n;
	return to;
}

bool low_is_operation(const LowNode *n)
{
	return n->kind == LOWNODE_OP;
}

void low_each_read(const LowBody *body,
    void (*see)(void *context, const LowNode *n, int arg), void *context)
{
	for (int i = body->n - 1; i >= 0; i--) {
		const LowNode *n = body->at[i];
		low_each_read(&n->other, see, context);
		low_each_read(&n->body, see, context);
		for (int k = 0; low_is_operation(n) && k < 3; k++)
			if (n->arg[k] >= 0)
				see(context, n, k);
	}
}

void low_each_run(Arena *arena, const LowBody *body,
    bool (*plain)(const LowNode *),
    void (*run)(void *context, LowNode **nodes, int n, LowBody *out),
    void *context, LowBody *out)
{
	for (int i = 0, end; i < body->n; i = end) {
		for (end = i; end < body->n && plain(body->at[end]); end++)
			;
		if (end > i) {
			run(context, body->at + i, end - i, out);
			continue;
		}
		LowNode *c = arena_memdup(arena, body->at[i], sizeof *c);
		c->body = c->other = (LowBody){0};
		low_each_run(
		    arena, &body->at[i]->body, plain, run, context, &c->body);
		low_each_run(
		    arena, &body->at[i]->other, plain, run, context, &c->other);
		vec_push(arena, out, c);
		end = i + 1;
	}
}
