/* Numbers in all lanes that are read again rather than kept where there are more
 * vectors than registers:
 *
 *     s = load x[i]                    s = load x[i]
 *     a = broadcast s                  a = broadcast s
 *     c = FMA(a, p, c)                 c = FMA(a, p, c)
 *     … more vectors than              …
 *     registers …               ->     for once < 1 { }
 *     d = FMA(a, q, d)                 t = load x[i]
 *                                      b = broadcast t
 *                                      d = FMA(b, q, d)
 *
 * A loop without a body says that what was read before is not kept: emitters turn
 * it into what compilers understand.  Nothing is read again of buffers that the
 * function writes. */
#include "ir/lowered/lowered.h"

/* Registers that are free for what an instruction reads on its way; operations
 * without a use that are worth it. */
enum { SPARE = 2, FAR = 6 };

typedef struct {
	Arena *arena;
	LowFunction *to;
	int registers, bytes;
	int *assigned;	 /* by temporary: how often */
	LowNode **nodes; /* of the run at hand */
	int n;
	int *live; /* by operation: registers that are needed behind it */
	int *def;  /* by temporary: its operation in the run; -1: none */
	int *last; /* by temporary: its last use in the run so far; -1: none */
	int *is;   /* by temporary: what has its value now */
	int *read; /* by temporary, a number in all lanes: when it was read */
	int again; /* before which operation all is read again; -1: nowhere */
	LowBody *out;
} Again;

/* Vectors take registers, but for constants, which lie in memory. */
static int registers_of(const Again *g, int temp)
{
	const LowTemp *t = &g->to->temps.at[temp];
	int def = g->def[temp];
	if (t->lanes == 1 || t->type == DT_BOOL ||
	    (def >= 0 && g->assigned[temp] == 1 &&
		g->nodes[def]->op == LOW_CONST))
		return 0;
	int bytes = t->lanes * (int)dtype_bytes(t->type);
	return (bytes + g->bytes - 1) / g->bytes;
}

static void add_live(Again *g, int temp, int from, int end, int times)
{
	int n = times * registers_of(g, temp);
	for (int i = from; n && i < end; i++)
		g->live[i] += n;
}

/* From the last use to this one; what several operations assign is there all the
 * time. */
static void use(Again *g, int at, int temp)
{
	if (temp < 0)
		return;
	int since = g->last[temp];
	if (g->assigned[temp] > 1 || g->def[temp] < 0) {
		if (since < 0)
			add_live(g, temp, 0, g->n, 1);
	} else {
		add_live(g, temp, since, at, 1);
	}
	g->last[temp] = at;
}

static void find_live(Again *g)
{
	for (int i = 0; i < g->n; i++) {
		const LowNode *n = g->nodes[i];
		for (int k = 0; k < 3; k++)
			use(g, i, n->arg[k]);
		if (n->dst < 0)
			continue;
		g->def[n->dst] = i;
		if (g->assigned[n->dst] > 1)
			use(g, i, n->dst);
		g->last[n->dst] = i;
	}
}

/* The load of a number that is the same wherever it is read; NULL: it is none. */
static const LowNode *number_of(const Again *g, int temp)
{
	if (g->assigned[temp] != 1 || g->def[temp] < 0)
		return NULL;
	const LowNode *all = g->nodes[g->def[temp]];
	if (all->op != LOW_BROADCAST || g->assigned[all->arg[0]] != 1 ||
	    g->def[all->arg[0]] < 0)
		return NULL;
	const LowNode *load = g->nodes[g->def[all->arg[0]]];
	if (load->op != LOW_LOAD || g->to->buffers.at[load->buffer].written)
		return NULL;
	for (int i = 0; i < load->address.n; i++)
		if (g->assigned[load->address.terms[i].temp] != 1)
			return NULL;
	return load;
}

static bool is_tight(const Again *g, int from, int end)
{
	for (int i = from; i < end; i++)
		if (g->live[i] > g->registers - SPARE)
			return true;
	return false;
}

static int like(Again *g, int temp)
{
	const LowTemp *t = &g->to->temps.at[temp];
	return low_temp(g->arena, g->to, t->type, t->lanes, t->wish);
}

static void put_again(Again *g, int at)
{
	LowNode *loop = NEW(g->arena, LowNode);
	loop->kind = LOWNODE_LOOP;
	loop->loop = LOOP_SERIAL;
	loop->extent = 1;
	loop->var = low_temp(g->arena, g->to, DT_INDEX, 1, "again");
	vec_push(g->arena, g->out, loop);
	g->again = at;
}

/* Reads a number again before an operation that uses it. */
static void read_again(Again *g, int at, int temp, const LowNode *load)
{
	if (g->again < 0 || g->again <= g->read[temp])
		put_again(g, at);
	int scalar = like(g, load->dst), all = like(g, temp);
	LowNode *n = arena_memdup(g->arena, load, sizeof *n);
	n->dst = scalar;
	vec_push(g->arena, g->out, n);
	low_op(g->arena, g->out, LOW_BROADCAST, all, scalar, -1, -1);
	g->is[temp] = all;
	g->read[temp] = at;
}

static void put(Again *g, int at)
{
	LowNode *n = arena_memdup(g->arena, g->nodes[at], sizeof *n);
	for (int k = 0; k < 3; k++) {
		int temp = n->arg[k];
		const LowNode *load = temp < 0 ? NULL : number_of(g, temp);
		if (!load)
			continue;
		int since = g->last[temp];
		if (at - since > FAR && is_tight(g, since, at)) {
			add_live(g, temp, since, at, -1);
			read_again(g, at, temp, load);
		}
		g->last[temp] = at;
		n->arg[k] = g->is[temp];
	}
	vec_push(g->arena, g->out, n);
	if (n->dst >= 0)
		g->last[n->dst] = g->read[n->dst] = at;
}

static void read_run(void *context, LowNode **nodes, int n, LowBody *out)
{
	Again *g = context;
	g->out = out;
	g->nodes = nodes;
	g->n = n;
	g->again = -1;
	g->live = NEW_N(g->arena, int, n);
	find_live(g);
	for (int i = 0; i < n; i++)
		put(g, i);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < 3; k++)
			if (nodes[i]->arg[k] >= 0)
				g->last[nodes[i]->arg[k]] = -1;
		if (nodes[i]->dst >= 0)
			g->def[nodes[i]->dst] = g->last[nodes[i]->dst] = -1;
	}
}

const LowFunction *low_again(
    Arena *arena, const LowFunction *f, int registers, int bytes)
{
	Again g = {.arena = arena, .registers = registers, .bytes = bytes};
	int n = f->temps.n;
	g.assigned = NEW_N(arena, int, n);
	g.def = NEW_N(arena, int, n);
	g.last = NEW_N(arena, int, n);
	g.is = NEW_N(arena, int, n);
	g.read = NEW_N(arena, int, n);
	for (int i = 0; i < n; i++) {
		g.def[i] = g.last[i] = -1;
		g.is[i] = i;
	}
	low_count_assigned(&f->body, g.assigned);
	g.to = arena_memdup(arena, f, sizeof *f);
	g.to->body = (LowBody){0};
	g.to->temps.at =
	    arena_memdup(arena, f->temps.at, sizeof *f->temps.at * (size_t)n);
	g.to->temps.cap = n;
	low_each_run(
	    arena, &f->body, low_is_operation, read_run, &g, &g.to->body);
	return g.to;
}
