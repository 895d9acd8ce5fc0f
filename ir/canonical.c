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
#include "ir/spec.h"

#include <inttypes.h>
#include <string.h>

#include "lib/hash.h"

typedef struct {
	Arena *arena;
	Program *program;
	int *producer;   /* buffer -> definition, -1: an input */
	char (*hash)[65]; /* by definition */
	int *visited;    /* by definition: when first met from the outputs */
	int nvisited;
	bool *placed;
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

static bool visit_read(Expr *e, void *context);

static void visit_definition(Canonical *c, int d)
{
	if (d < 0 || c->visited[d])
		return;
	c->visited[d] = ++c->nvisited;
	expr_walk(c->program->definitions[d].body, visit_read, c);
}

static bool visit_read(Expr *e, void *context)
{
	Canonical *c = context;
	if (e->op == OP_READ)
		visit_definition(c, c->producer[e->id]);
	return true;
}

typedef struct {
	const Canonical *c;
	bool ready;
} Ready;

static bool check_read(Expr *e, void *context)
{
	Ready *r = context;
	if (e->op == OP_READ) {
		int d = r->c->producer[e->id];
		r->ready &= d < 0 || r->c->placed[d];
	}
	return r->ready;
}

static bool is_ready(const Canonical *c, int d)
{
	Ready r = {c, true};
	if (c->placed[d] || !c->visited[d])
		return false;
	expr_walk(c->program->definitions[d].body, check_read, &r);
	return r.ready;
}

static bool stands_before(const Canonical *c, int a, int b)
{
	int order = strcmp(c->hash[a], c->hash[b]);
	return order ? order < 0 : c->visited[a] < c->visited[b];
}

static int next_definition(const Canonical *c)
{
	int best = -1;
	for (int d = 0; d < c->program->ndefinitions; d++)
		if (is_ready(c, d) && (best < 0 || stands_before(c, d, best)))
			best = d;
	return best;
}

static void number_definitions(Canonical *c, Buf *out)
{
	Program *p = c->program;
	for (int k = 0, d; (d = next_definition(c)) >= 0; k++) {
		p->canonical_definition[d] = k;
		c->placed[d] = true;
		buf_printf(out, "d%d", k);
		print_definition(out, c, &p->definitions[d]);
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
	c.placed = NEW_N(arena, bool, n);
	p->canonical_definition = NEW_N(arena, int, n);
	for (int i = 0; i < p->nbuffers; i++)
		c.producer[i] = -1;
	for (int i = 0; i < p->ndefinitions; i++) {
		c.producer[p->definitions[i].buffer] = i;
		p->canonical_definition[i] = -1;
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
		visit_definition(&c, c.producer[p->outputs[i]]);
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
