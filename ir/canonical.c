/* The canonical text of an operator and its SHA-256: what records are found by.
 *
 *     tunec 1
 *     i0 f32[1, 128, 28, 28]
 *     i1 const f32[128, 128, 3, 3]
 *     d0[a0 < 1, a1 < 128]: f32 = sum[r0 < 128](…)
 *     out d0
 *     numerics default
 *
 * It holds no name, and definitions stand in an order that follows from what
 * they say: of those whose producers stand already, the one with the least hash
 * comes next.  The hash of a definition is that of its text, with reads of
 * definitions replaced by their hashes.  Equal definitions are told apart by who
 * reads them first, walking from the outputs. */
#include "ir/spec/spec.h"

#include <inttypes.h>
#include <string.h>

#include "lib/hash.h"

/* Of one definition; the next one in Canonical.readers, -1 at the end. */
typedef struct {
	int definition, next;
} CanonicalReader;

typedef struct {
	Arena *arena;
	Program *program;
	int *producer;   /* buffer -> definition, -1: an input */
	char (*hash)[65]; /* by definition */
	int *visited;    /* by definition: when first met from the outputs */
	int nvisited;
	VEC(int) stack; /* of definitions, while reads are collected */
	VEC(CanonicalReader) readers;
	int *first_reader; /* by definition: in readers, -1: none */
	int *waits;	   /* by definition: for how many of its reads */
	int *ready;	   /* those that wait for none, as a heap */
	int nready;
	bool by_hash;    /* reads show hashes, else canonical names */
} Canonical;

/* --- text ------------------------------------------------------------------- */

static void print_read(Buf *out, const ExprNames *names, int buffer)
{
	const Canonical *c = names->context;
	int d = c->producer[buffer];
	if (d < 0)
		buf_printf(out, "i%d", buffer);
	else if (c->by_hash)
		buf_puts(out, c->hash[d]);
	else
		buf_printf(out, "d%d", c->program->canonical_definition[d]);
}

static void print_axis(Buf *out, const ExprNames *names, int axis)
{
	if (axis < names->nspatial)
		buf_printf(out, "a%d", axis);
	else
		buf_printf(out, "r%d", axis - names->nspatial);
}

static void print_definition(Buf *out, const Canonical *c, const Definition *d)
{
	ExprNames names = {.buffer = print_read, .axis = print_axis,
		.typed = true, .program = c->program, .context = c,
		.axes = d->axes, .nspatial = d->nspatial};
	buf_putc(out, '[');
	for (int i = 0; i < d->nspatial; i++)
		buf_printf(out, "%sa%d < %" PRId64, i ? ", " : "", i,
		    d->axes[i].extent);
	buf_printf(out, "]: %s = ",
	    dtype_name(c->program->buffers[d->buffer].type));
	expr_print_names(out, &names, d->body);
	buf_putc(out, '\n');
}

static void print_input(Buf *out, const Program *p, int i)
{
	const Buffer *b = &p->buffers[i];
	buf_printf(out, "i%d %s%s[", i, b->is_const ? "const " : "",
	    dtype_name(b->type));
	for (int k = 0; k < b->ndim; k++)
		buf_printf(out, "%s%" PRId64, k ? ", " : "", b->shape[k]);
	buf_puts(out, "]\n");
}

/* --- order ------------------------------------------------------------------ */

/* Producers come first in the program, so their hashes are known. */
static void hash_definitions(Canonical *c)
{
	Buf text = {0};
	c->by_hash = true;
	for (int d = 0; d < c->program->ndefinitions; d++) {
		buf_clear(&text);
		print_definition(&text, c, &c->program->definitions[d]);
		sha256_hex(text.data, text.size, c->hash[d]);
	}
	c->by_hash = false;
	buf_free(&text);
}

static bool push_read(Expr *e, void *context)
{
	Canonical *c = context;
	if (e->op == OP_READ && c->producer[e->id] >= 0)
		vec_push(c->arena, &c->stack, c->producer[e->id]);
	return true;
}

static void push_reads(Canonical *c, int d)
{
	expr_walk(c->program->definitions[d].body, push_read, c);
}

/* Numbers what is reached from definition d, itself first and then the whole of
 * its first read; with a stack of its own, since chains are as long as files. */
static void visit_from(Canonical *c, int d)
{
	vec_push(c->arena, &c->stack, d);
	while (c->stack.n) {
		d = c->stack.at[--c->stack.n];
		if (c->visited[d])
			continue;
		c->visited[d] = ++c->nvisited;
		int first = c->stack.n;
		push_reads(c, d);
		for (int i = first, j = c->stack.n - 1; i < j; i++, j--) {
			int swapped = c->stack.at[i];
			c->stack.at[i] = c->stack.at[j];
			c->stack.at[j] = swapped;
		}
	}
}

static bool stands_before(const Canonical *c, int a, int b)
{
	int order = strcmp(c->hash[a], c->hash[b]);
	return order ? order < 0 : c->visited[a] < c->visited[b];
}

/* `ready` is a heap: ready[i] stands before ready[2*i + 1] and ready[2*i + 2]. */
static void ready_push(Canonical *c, int d)
{
	int i = c->nready++;
	for (; i && stands_before(c, d, c->ready[(i - 1) / 2]); i = (i - 1) / 2)
		c->ready[i] = c->ready[(i - 1) / 2];
	c->ready[i] = d;
}

static int ready_pop(Canonical *c)
{
	int top = c->ready[0], last = c->ready[--c->nready], i = 0;
	for (int child; (child = 2 * i + 1) < c->nready; i = child) {
		if (child + 1 < c->nready &&
		    stands_before(c, c->ready[child + 1], c->ready[child]))
			child++;
		if (!stands_before(c, c->ready[child], last))
			break;
		c->ready[i] = c->ready[child];
	}
	c->ready[i] = last;
	return top;
}

/* Each read of a definition, once for each time it stands in the text. */
static void collect_reads(Canonical *c)
{
	for (int d = 0; d < c->program->ndefinitions; d++) {
		if (!c->visited[d])
			continue;
		push_reads(c, d);
		c->waits[d] = c->stack.n;
		while (c->stack.n) {
			int producer = c->stack.at[--c->stack.n];
			CanonicalReader reader = {d, c->first_reader[producer]};
			c->first_reader[producer] = c->readers.n;
			vec_push(c->arena, &c->readers, reader);
		}
		if (!c->waits[d])
			ready_push(c, d);
	}
}

static void number_definitions(Canonical *c, Buf *out)
{
	Program *p = c->program;
	collect_reads(c);
	for (int k = 0; c->nready; k++) {
		int d = ready_pop(c);
		p->canonical_definition[d] = k;
		buf_printf(out, "d%d", k);
		print_definition(out, c, &p->definitions[d]);
		for (int i = c->first_reader[d]; i >= 0;
		     i = c->readers.at[i].next)
			if (!--c->waits[c->readers.at[i].definition])
				ready_push(c, c->readers.at[i].definition);
	}
}

/* --- entry ------------------------------------------------------------------ */

static Canonical canonical_new(Arena *arena, Program *p)
{
	size_t n = (size_t)p->ndefinitions;
	Canonical c = {.arena = arena, .program = p};
	c.producer = NEW_N(arena, int, p->nbuffers);
	c.hash = arena_alloc(arena, n * sizeof *c.hash);
	c.visited = NEW_N(arena, int, n);
	c.first_reader = NEW_N(arena, int, n);
	c.waits = NEW_N(arena, int, n);
	c.ready = NEW_N(arena, int, n);
	p->canonical_definition = NEW_N(arena, int, n);
	for (int i = 0; i < p->nbuffers; i++)
		c.producer[i] = -1;
	for (int i = 0; i < p->ndefinitions; i++) {
		c.producer[p->definitions[i].buffer] = i;
		p->canonical_definition[i] = -1;
		c.first_reader[i] = -1;
	}
	return c;
}

void canonical_text(Arena *arena, Program *p)
{
	static const char *const numerics[] = {"default", "exact", "fast"};
	Canonical c = canonical_new(arena, p);
	Buf out = {0};
	hash_definitions(&c);
	for (int i = 0; i < p->noutputs; i++)
		visit_from(&c, c.producer[p->outputs[i]]);
	buf_puts(&out, "tunec 1\n");
	for (int i = 0; i < p->ninputs; i++)
		print_input(&out, p, i);
	number_definitions(&c, &out);
	for (int i = 0; i < p->noutputs; i++)
		buf_printf(&out, "out d%d\n",
		    p->canonical_definition[c.producer[p->outputs[i]]]);
	buf_printf(&out, "numerics %s\n", numerics[p->numerics]);
	p->op_text = arena_strndup(arena, out.data, out.size);
	sha256_hex(out.data, out.size, p->op);
	buf_free(&out);
}
