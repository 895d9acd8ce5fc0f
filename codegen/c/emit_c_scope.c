/* Before a function is printed: the C name of everything, the body in which
 * each temporary is declared, and how wide the lanes of vector bools are. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/c/emit_c.h"

/* --- names --------------------------------------------------------------- */

/* Words that the emitted file uses, or that some header makes a macro. */
static const char *const taken[] = {"thread", "threads", "bool", "true",
	"false", "isnan", "isinf", "signbit", "isfinite", "isnormal",
	"fpclassify", "DOMAIN", "SING", "OVERFLOW", "UNDERFLOW", "PLOSS",
	"TLOSS", "offsetof", "fma", "fmaf", "fabs", "fabsf", "ldexp", "ldexpf",
	"rint", "rintf", "omp_get_thread_num", "omp_get_num_threads"};

static bool is_math_name(const char *name)
{
	char stem[16];
	size_t n = strlen(name);
	if (n >= sizeof stem || !n)
		return false;
	memcpy(stem, name, n + 1);
	for (int cut = 0; cut < 2; cut++) {
		for (Op op = 0; op < OP_COUNT; op++)
			if (op_is_function(op) && !strcmp(op_name(op), stem))
				return true;
		if (stem[n - 1] != 'f')
			break;
		stem[n - 1] = 0;
	}
	return false;
}

/* f32x8, u8x16_u, F32X8, b1x8 */
static bool is_vector_name(const char *name)
{
	if (!strchr("bfiuBFIU", name[0]) || !isdigit((unsigned char)name[1]))
		return false;
	const char *x = name + 1 + strspn(name + 1, "0123456789");
	return *x == 'x' || *x == 'X';
}

static bool is_macro_family(const char *name)
{
	static const char *const beginnings[] = {"tunec_", "TUNEC_", "_", "INT",
		"UINT", "SIZE_", "PTRDIFF_", "WCHAR_", "WINT_", "SIG_", "FP_",
		"M_", "MATH_"};
	int n = (int)(sizeof beginnings / sizeof beginnings[0]);
	for (int i = 0; i < n; i++)
		if (!strncmp(name, beginnings[i], strlen(beginnings[i])))
			return true;
	size_t length = strlen(name);
	return length > 2 && !strcmp(name + length - 2, "_t");
}

bool emit_c_reserved(const char *name)
{
	for (size_t i = 0; i < sizeof taken / sizeof taken[0]; i++)
		if (!strcmp(name, taken[i]))
			return true;
	/* macros of helpers are upper case with an underscore */
	bool upper = strchr(name, '_') != NULL;
	for (const char *c = name; *c; c++)
		upper = upper && !islower((unsigned char)*c);
	return upper || name_is_macro(name) || is_math_name(name) || is_vector_name(name) ||
	    is_macro_family(name);
}

/* Of all names that a function's parameters, buffers and temporaries may bear. */
static const char *unique_name(EmitC *e, const char *wish)
{
	const char *name = wish;
	if (e->reserved(name)) /* "v_…_" never is */
		name = arena_printf(e->arena, "v_%s_", name);
	while (lookup_first(&e->names, name, strlen(name)) >= 0)
		name = arena_printf(e->arena, "%s_", name);
	return name;
}

static const char *take_name(EmitC *e, const char *wish)
{
	const char *name = unique_name(e, wish);
	lookup_add(&e->names, name, 0);
	return name;
}

bool emit_c_is_argument(const LowFunction *f, const LowBuffer *b)
{
	if (b->kind != LOWBUF_PARAM || b->offset)
		return false;
	const LowParam *p = &f->params.at[b->param];
	bool untyped = p->workspace || p->is_const_input ||
	    (f->role == LOWFN_PACK && p->output);
	return !untyped && p->type == b->type;
}

/* The names of temporaries are unique already; with a plan each gets its own
 * where it is declared. */
static void name_all(EmitC *e)
{
	const LowFunction *f = e->f;
	e->param = NEW_N(e->arena, const char *, f->params.n);
	e->buffer = NEW_N(e->arena, const char *, f->buffers.n);
	e->names = e->buffers = (Lookup){.arena = e->arena};
	take_name(e, f->name);
	for (int i = 0; i < f->params.n; i++)
		e->param[i] = take_name(e, f->params.at[i].name);
	for (int i = 0; i < f->buffers.n; i++) {
		const LowBuffer *b = &f->buffers.at[i];
		e->buffer[i] = emit_c_is_argument(f, b) ? e->param[b->param]
							: take_name(e, b->name);
		lookup_add(&e->buffers, e->buffer[i], i);
	}
	for (int i = 0; i < f->temps.n && !e->plan; i++)
		e->temp[i] = unique_name(e, f->temps.at[i].name);
}

/* --- scopes -------------------------------------------------------------- */

typedef struct {
	const LowBody *body;
	int parent, depth;
} BodyInfo;

typedef struct {
	EmitC *e;
	VEC(BodyInfo) bodies;
	int *scope, *first; /* by temporary: body, or -1 */
	bool *assigned_first;
} Scopes;

static int common_body(const Scopes *s, int a, int b)
{
	while (a != b)
		if (s->bodies.at[a].depth >= s->bodies.at[b].depth)
			a = s->bodies.at[a].parent;
		else
			b = s->bodies.at[b].parent;
	return a;
}

static void use(Scopes *s, int temp, int body, bool assigns)
{
	if (temp < 0)
		return;
	if (!assigns)
		s->e->is_read[temp] = true;
	if (s->scope[temp] < 0) {
		s->scope[temp] = s->first[temp] = body;
		s->assigned_first[temp] = assigns;
	} else {
		s->scope[temp] = common_body(s, s->scope[temp], body);
	}
}

/* The first assignment; a second one makes it no constant. */
static void note_constant(EmitC *e, const LowNode *n)
{
	if (n->dst < 0)
		return;
	e->constant[n->dst] =
	    !e->is_assigned[n->dst] && n->op == LOW_CONST ? n : NULL;
	e->is_assigned[n->dst] = true;
}

static void use_affine(Scopes *s, const LowAffine *a, int body)
{
	for (int i = 0; a && i < a->n; i++)
		use(s, a->terms[i].temp, body, false);
}

static void use_body(Scopes *s, const LowBody *body, int parent);

typedef struct {
	Scopes *scopes;
	int body;
} Reading;

static void use_read(void *context, int temp, const LowNode *n, int arg)
{
	Reading *r = context;
	(void)n;
	(void)arg;
	use(r->scopes, temp, r->body, false);
}

/* What is in the text of a planned node. */
static void use_planned(Scopes *s, const LowNode *n, int body)
{
	Reading r = {s, body};
	if (emit_c_is_left_out(s->e, n))
		return;
	emit_c_each_read(s->e, n, use_read, &r);
	if (n->kind == LOWNODE_OP)
		use(s, n->dst, body, true);
	if (n->kind == LOWNODE_LOOP)
		s->e->declared[n->var] = true;
	use_body(s, &n->body, body);
	use_body(s, &n->other, body);
}

static void use_node(Scopes *s, const LowNode *n, int body)
{
	if (s->e->plan) {
		if (n->kind == LOWNODE_OP)
			note_constant(s->e, n);
		if (n->kind != LOWNODE_COMMENT)
			use_planned(s, n, body);
		return;
	}
	switch (n->kind) {
	case LOWNODE_OP:
		for (int i = 0; i < 3; i++)
			use(s, n->arg[i], body, false);
		use_affine(s, &n->address, body);
		if (low_op_has_source(n->op))
			use_affine(s, &n->from, body);
		use(s, n->dst, body, true);
		note_constant(s->e, n);
		return;
	case LOWNODE_LOOP:
		use_affine(s, n->limit, body);
		s->e->declared[n->var] = true;
		use_body(s, &n->body, body);
		return;
	case LOWNODE_IF:
		use(s, n->condition, body, false);
		use_body(s, &n->body, body);
		use_body(s, &n->other, body);
		return;
	case LOWNODE_COMMENT:
		return;
	}
}

static void use_body(Scopes *s, const LowBody *body, int parent)
{
	int id = s->bodies.n;
	if (!body->n)
		return;
	int depth = parent < 0 ? 0 : s->bodies.at[parent].depth + 1;
	vec_push(s->e->arena, &s->bodies, (BodyInfo){body, parent, depth});
	for (int i = 0; i < body->n; i++)
		use_node(s, body->at[i], id);
}

static void find_scopes(EmitC *e)
{
	int n = e->f->temps.n;
	Scopes s = {.e = e};
	s.scope = NEW_N(e->arena, int, n);
	s.first = NEW_N(e->arena, int, n);
	s.assigned_first = NEW_N(e->arena, bool, n);
	e->declared = NEW_N(e->arena, bool, n);
	e->is_read = NEW_N(e->arena, bool, n);
	e->is_assigned = NEW_N(e->arena, bool, n);
	e->constant = NEW_N(e->arena, const LowNode *, n);
	e->starts = NEW_N(e->arena, bool, n);
	e->scope = NEW_N(e->arena, const LowBody *, n);
	for (int i = 0; i < n; i++)
		s.scope[i] = -1;
	use_body(&s, &e->f->body, -1);
	for (int i = 0; i < n; i++) {
		if (s.scope[i] < 0)
			continue;
		e->scope[i] = s.bodies.at[s.scope[i]].body;
		e->starts[i] =
		    s.assigned_first[i] && s.first[i] == s.scope[i];
		if (e->plan && e->plan[i].restarts)
			e->starts[i] = true;
	}
}

static int by_body(const void *a, const void *b)
{
	const EmitAhead *x = a, *y = b;
	uintptr_t p = (uintptr_t)x->body, q = (uintptr_t)y->body;
	return p != q ? (p > q) - (p < q) : x->temp - y->temp;
}

static void find_ahead(EmitC *e)
{
	int n = e->f->temps.n;
	e->nahead = 0;
	e->ahead = NEW_N(e->arena, EmitAhead, n);
	for (int i = 0; i < n; i++)
		if (e->scope[i] && !e->starts[i])
			e->ahead[e->nahead++] = (EmitAhead){e->scope[i], i};
	qsort(e->ahead, (size_t)e->nahead, sizeof *e->ahead, by_body);
}

const EmitAhead *emit_c_first_ahead(const EmitC *e, const LowBody *body)
{
	int low = 0, high = e->nahead;
	while (low < high) {
		int middle = (low + high) / 2;
		if ((uintptr_t)e->ahead[middle].body < (uintptr_t)body)
			low = middle + 1;
		else
			high = middle;
	}
	return e->ahead + low;
}

/* --- vector bools -------------------------------------------------------- */

typedef void MaskVisit(EmitC *e, const LowNode *n);

static void each_op(EmitC *e, const LowBody *body, MaskVisit *visit)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP)
			visit(e, n);
		else if (n->kind != LOWNODE_COMMENT) {
			each_op(e, &n->body, visit);
			each_op(e, &n->other, visit);
		}
	}
}

static bool is_mask(const EmitC *e, int temp)
{
	return temp >= 0 && e->f->temps.at[temp].type == DT_BOOL &&
	    e->f->temps.at[temp].lanes > 1;
}

static void suggest(EmitC *e, int temp, int bytes)
{
	if (is_mask(e, temp) && !e->mask_bytes[temp])
		e->mask_bytes[temp] = bytes;
}

static int value_bytes(const EmitC *e, int temp)
{
	DType type = e->f->temps.at[temp].type;
	return type == DT_INDEX ? 8 : dtype_bytes(type);
}

/* A comparison gives lanes as wide as what it compares. */
static void masks_made(EmitC *e, const LowNode *n)
{
	if (n->dst >= 0 && is_mask(e, n->dst) && n->arg[0] >= 0 &&
	    (n->op == LOW_CONVERT || low_op_is_comparison(n->op)) &&
	    !is_mask(e, n->arg[0]))
		suggest(e, n->dst, value_bytes(e, n->arg[0]));
}

static void masks_used(EmitC *e, const LowNode *n)
{
	if ((n->op == LOW_SELECT || n->op == LOW_LOAD_MASKED ||
		n->op == LOW_CONVERT) && !is_mask(e, n->dst))
		suggest(e, n->arg[0], value_bytes(e, n->dst));
	if (n->op == LOW_SCALE && n->arg[2] >= 0)
		suggest(e, n->arg[2], value_bytes(e, n->dst));
	if (n->op == LOW_GATHER && n->arg[1] >= 0)
		suggest(e, n->arg[1], value_bytes(e, n->dst));
	if (n->op == LOW_SCATTER && n->arg[2] >= 0)
		suggest(e, n->arg[2], value_bytes(e, n->arg[0]));
	if (n->op == LOW_STORE_MASKED)
		suggest(e, n->arg[1], value_bytes(e, n->arg[0]));
}

static void masks_spread(EmitC *e, const LowNode *n)
{
	if (n->dst < 0 || !is_mask(e, n->dst))
		return;
	for (int i = 0; i < 3; i++)
		if (is_mask(e, n->arg[i])) {
			if (e->mask_bytes[n->dst])
				suggest(e, n->arg[i], e->mask_bytes[n->dst]);
			else if (e->mask_bytes[n->arg[i]])
				suggest(e, n->dst, e->mask_bytes[n->arg[i]]);
		}
}

static void size_masks(EmitC *e)
{
	int n = e->f->temps.n;
	e->mask_bytes = NEW_N(e->arena, int, n);
	if (!emit_c_has_bits(e)) {
		each_op(e, &e->f->body, masks_made);
		each_op(e, &e->f->body, masks_used);
		for (int round = 0; round < 4; round++)
			each_op(e, &e->f->body, masks_spread);
	}
	for (int i = 0; i < n; i++)
		suggest(e, i, 1);
}

void emit_c_prepare(EmitC *e, const LowFunction *f)
{
	e->f = f;
	e->temp = NEW_N(e->arena, const char *, f->temps.n);
	name_all(e);
	find_scopes(e);
	find_ahead(e);
	size_masks(e);
}
