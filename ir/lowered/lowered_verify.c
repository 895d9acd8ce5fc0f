/* Checks a function of the lowered form: types and lanes of every operation,
 * definedness, who may assign what, and where loops and barriers may stand.
 * docs/lowered.md has the rules in words.
 *
 * A *region* is the body of a parallel loop or a launch: a temporary
 * lives in one region; one that is read in an inner region is assigned once. */
#include "ir/intrinsic.h"
#include "ir/lowered/lowered.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	int assigned; /* how often in the text */
	int region;   /* of the assignments; -1: none yet */
	bool is_var;
	bool defined; /* on every path to here */
} TempState;

typedef struct {
	const LowFunction *f;
	char *why;
	size_t size;
	TempState *temps;
	int *trail; /* temporaries that became defined, newest last */
	int ntrail;
	int nregions;
	int region;      /* current; 0: outside of all */
	int parallel, block, thread; /* loops of each sort around here */
	int64_t thread_extent[3]; /* 0: not seen yet */
	bool launched;     /* there are loops of a launch */
	bool split_launch; /* that is what is wrong */
} LowVerify;

static bool fail(LowVerify *v, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(LowVerify *v, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	vsnprintf(v->why, v->size, format, args);
	va_end(args);
	return false;
}

#define TRY(call)                                                              \
	do {                                                                   \
		if (!(call))                                                   \
			return false;                                          \
	} while (0)

#define REQUIRE(v, condition, ...)                                             \
	do {                                                                   \
		if (!(condition))                                              \
			return fail(v, __VA_ARGS__);                           \
	} while (0)

/* --- declarations --------------------------------------------------------- */

static bool is_identifier(const char *name)
{
	if (!name || isdigit((unsigned char)*name) || !*name)
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && *name != '_')
			return false;
	return true;
}

static bool power_of_two(int n)
{
	return n > 0 && !(n & (n - 1));
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Parameters may share a name with the buffer that is all of them. */
static bool names_unique(LowVerify *v)
{
	const LowFunction *f = v->f;
	int n = 0;
	bool unique = true;
	const char **names = must_alloc(
	    sizeof *names * (size_t)(f->temps.n + f->buffers.n + 1));
	for (int i = 0; i < f->temps.n; i++)
		names[n++] = f->temps.at[i].name;
	for (int i = 0; i < f->buffers.n; i++)
		names[n++] = f->buffers.at[i].name;
	for (int i = 0; i < n && unique; i++)
		if (!is_identifier(names[i]))
			unique = fail(v, "'%s' is no identifier",
			    names[i] ? names[i] : "");
	if (unique)
		qsort(names, (size_t)n, sizeof *names, by_text);
	for (int i = 1; i < n && unique; i++)
		if (!strcmp(names[i - 1], names[i]))
			unique = fail(v, "two are named '%s'", names[i]);
	free(names);
	return unique;
}

static bool check_temps(LowVerify *v)
{
	for (int i = 0; i < v->f->temps.n; i++) {
		const LowTemp *t = &v->f->temps.at[i];
		REQUIRE(v, t->type <= DT_INDEX, "%s: no such type", t->name);
		REQUIRE(v, power_of_two(t->lanes) && t->lanes <= 64,
		    "%s: %d lanes", t->name, t->lanes);
	}
	return true;
}

static bool check_buffer(LowVerify *v, const LowBuffer *b)
{
	REQUIRE(v, b->type < DT_COUNT, "%s: not an element type", b->name);
	int bytes = dtype_bytes(b->type);
	REQUIRE(v, b->elements >= 0, "%s: %lld elements", b->name,
	    (long long)b->elements);
	REQUIRE(v, power_of_two(b->align), "%s: alignment %d", b->name,
	    b->align);
	REQUIRE(v, b->offset >= 0 && b->offset % bytes == 0,
	    "%s: offset %lld", b->name, (long long)b->offset);
	REQUIRE(v, !b->dynamic || (b->kind == LOWBUF_SHARED &&
		b->offset % b->align == 0 && LOW_SHARED_ALIGN % b->align == 0),
	    "%s: no piece of what a launch gives", b->name);
	REQUIRE(v, b->thread_bytes == 0 ||
		(b->kind == LOWBUF_WORKSPACE &&
		    b->thread_bytes >= b->elements * bytes &&
		    b->thread_bytes % bytes == 0),
	    "%s: %lld bytes a thread", b->name, (long long)b->thread_bytes);
	if (b->kind != LOWBUF_PARAM)
		return true;
	REQUIRE(v, b->param >= 0 && b->param < v->f->params.n &&
		!v->f->params.at[b->param].workspace,
	    "%s: no such parameter", b->name);
	REQUIRE(v, !b->written || v->f->params.at[b->param].output,
	    "%s: written, but its parameter is no output", b->name);
	return true;
}

static bool check_buffers(LowVerify *v)
{
	int workspaces = 0;
	for (int i = 0; i < v->f->params.n; i++) {
		workspaces += v->f->params.at[i].workspace;
		REQUIRE(v, is_identifier(v->f->params.at[i].name),
		    "parameter %d has no identifier", i);
	}
	REQUIRE(v, workspaces <= 1, "two workspaces");
	for (int i = 0; i < v->f->buffers.n; i++) {
		const LowBuffer *b = &v->f->buffers.at[i];
		TRY(check_buffer(v, b));
		REQUIRE(v, b->kind != LOWBUF_WORKSPACE || workspaces,
		    "%s: there is no workspace parameter", b->name);
	}
	return true;
}

/* --- who assigns what ------------------------------------------------------ */

static bool starts_region(const LowNode *loop)
{
	return loop->loop != LOOP_SERIAL;
}

static bool temp_exists(const LowVerify *v, int temp)
{
	return temp >= 0 && temp < v->f->temps.n;
}

static const char *temp_name(const LowVerify *v, int temp)
{
	return v->f->temps.at[temp].name;
}

static bool note_assignment(LowVerify *v, int temp, int region)
{
	TempState *t = &v->temps[temp];
	v->split_launch = v->launched; /* of a thread's own, where none runs */
	REQUIRE(v, t->region < 0 || t->region == region,
	    "%s is assigned in a parallel loop and outside of it",
	    temp_name(v, temp));
	v->split_launch = false;
	REQUIRE(v, !t->is_var, "%s, a loop variable, is assigned",
	    temp_name(v, temp));
	t->region = region;
	t->assigned++;
	return true;
}

static bool collect(LowVerify *v, const LowBody *body, int region, bool launch)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *node = body->at[i];
		int inner = region;
		if (node->kind == LOWNODE_OP && node->dst != -1) {
			REQUIRE(v, temp_exists(v, node->dst),
			    "%s: no such destination", low_op_name(node->op));
			TRY(note_assignment(v, node->dst, region));
		}
		if (node->kind == LOWNODE_LOOP) {
			REQUIRE(v, temp_exists(v, node->var),
			    "a loop without variable");
			REQUIRE(v, !v->temps[node->var].assigned,
			    "%s, a loop variable, is assigned",
			    temp_name(v, node->var));
			v->launched |= loop_is_bound(node->loop);
			bool bound = loop_is_bound(node->loop);
			if (starts_region(node) && !(bound && launch))
				inner = ++v->nregions;
			TRY(note_assignment(v, node->var, inner));
			v->temps[node->var].is_var = true;
		}
		bool inside = launch ||
		    (node->kind == LOWNODE_LOOP && loop_is_bound(node->loop));
		TRY(collect(v, &node->body, inner, inside));
		TRY(collect(v, &node->other, region, inside));
	}
	return true;
}

/* --- definedness ----------------------------------------------------------- */

static void define(LowVerify *v, int temp)
{
	if (v->temps[temp].defined)
		return;
	v->temps[temp].defined = true;
	v->trail[v->ntrail++] = temp;
}

static void undefine_to(LowVerify *v, int mark)
{
	while (v->ntrail > mark)
		v->temps[v->trail[--v->ntrail]].defined = false;
}

static bool check_read(LowVerify *v, int temp)
{
	REQUIRE(v, temp_exists(v, temp), "no such temporary");
	const TempState *t = &v->temps[temp];
	REQUIRE(v, t->defined, "%s is read before it is assigned",
	    temp_name(v, temp));
	REQUIRE(v, t->region == v->region || t->assigned == 1,
	    "%s, read in a parallel loop, is assigned more than once outside",
	    temp_name(v, temp));
	return true;
}

static bool check_affine(LowVerify *v, const LowAffine *a)
{
	for (int i = 0; i < a->n; i++) {
		TRY(check_read(v, a->terms[i].temp));
		const LowTemp *t = &v->f->temps.at[a->terms[i].temp];
		REQUIRE(v, t->type == DT_INDEX && t->lanes == 1,
		    "%s in an address is no index scalar", t->name);
	}
	return true;
}

/* --- operations ------------------------------------------------------------ */

/* What may be done to values of a type. */
static bool type_allows(LowOpcode op, DType type)
{
	bool number = type != DT_BOOL && !dtype_is_half(type);
	switch (op) {
	case LOW_IOTA: return type == DT_INDEX || type == DT_I32;
	case LOW_ADD:
	case LOW_SUB:
	case LOW_MUL:
	case LOW_NEG:
	case LOW_ABS: return number;
	case LOW_DIV:
	case LOW_FMA:
	case LOW_SCALE:
	case LOW_MATH: return number && dtype_is_float(type);
	case LOW_ROUND_TF32:
	case LOW_RSQRT: return type == DT_F32;
	case LOW_FLOORDIV:
	case LOW_MOD:
	case LOW_XOR: return number && !dtype_is_float(type);
	case LOW_MIN:
	case LOW_MAX:
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE: return !dtype_is_half(type);
	case LOW_SHL:
	case LOW_SHR: return dtype_is_int(type) && dtype_bytes(type) >= 2;
	case LOW_POPCOUNT:
		return dtype_is_int(type) && dtype_bytes(type) >= 4;
	case LOW_AND:
	case LOW_OR: return type == DT_BOOL || dtype_is_int(type);
	case LOW_NOT:
	case LOW_ANY: return type == DT_BOOL;
	case LOW_BITS:
		return type == DT_F32 || type == DT_F64 || dtype_is_int(type);
	default: return true;
	}
}

/* What lanes of offsets have to be. */
static int indices(const LowTemp *t)
{
	return t->type == DT_I32 && t->lanes > 1 ? DT_I32 : DT_INDEX;
}

/* Type and lanes that argument i must have: type DT_COUNT + 1 is any. */
enum { ANY_TYPE = DT_COUNT + 1 };

static void argument_shape(
    const LowVerify *v, const LowNode *n, int i, int *type, int *lanes)
{
	const LowTemp *temps = v->f->temps.at;
	const LowTemp *d = n->dst >= 0 ? &temps[n->dst] : NULL;
	int buffer = n->buffer >= 0 ? (int)v->f->buffers.at[n->buffer].type : -1;
	*type = d ? (int)d->type : buffer;
	*lanes = d ? d->lanes : temps[n->arg[0]].lanes;
	switch (n->op) {
	case LOW_IOTA:
	case LOW_BROADCAST: *lanes = 1; break;
	case LOW_LANES_BELOW: *type = DT_INDEX, *lanes = 1; break;
	case LOW_ANY:
	case LOW_EXTRACT: *lanes = temps[n->arg[0]].lanes; break;
	case LOW_INSERT: *lanes = i ? 1 : d->lanes; break;
	case LOW_SHUFFLE: *lanes = temps[n->arg[0]].lanes; break;
	case LOW_PERMUTE:
		*type = i ? indices(&temps[n->arg[1]]) : *type;
		*lanes = i ? *lanes : temps[n->arg[0]].lanes;
		break;
	case LOW_CONVERT: *type = ANY_TYPE; break;
	case LOW_BITS: /* check_bits knows more */
		*type = ANY_TYPE;
		*lanes = temps[n->arg[0]].lanes;
		break;
	case LOW_LT:
	case LOW_LE:
	case LOW_EQ:
	case LOW_NE: *type = (int)temps[n->arg[0]].type; break;
	case LOW_SCALE: *type = i == 2 ? DT_BOOL : *type; break;
	case LOW_SELECT: *type = i ? *type : DT_BOOL; break;
	case LOW_LOAD_MASKED: *type = DT_BOOL; break;
	case LOW_GATHER: *type = i ? DT_BOOL : indices(&temps[n->arg[0]]); break;
	case LOW_STORE_MASKED: *type = i ? DT_BOOL : buffer; break;
	case LOW_SCATTER:
		*type = i == 0 ? buffer
		    : i == 1   ? indices(&temps[n->arg[1]])
			       : DT_BOOL;
		break;
	case LOW_MMA:
		if (i < 2) { /* check_mma knows more */
			*type = ANY_TYPE;
			*lanes = temps[n->arg[i]].lanes;
		}
		break;
	case LOW_DOT:
		if (i < 2) { /* check_dot knows more */
			*type = ANY_TYPE;
			*lanes = temps[n->arg[0]].lanes;
		}
		break;
	default: break;
	}
}

static bool may_be_absent(const LowNode *n, int i)
{
	return (n->op == LOW_SHUFFLE && i == 1) ||
	    (n->op == LOW_GATHER && i == 1) ||
	    ((n->op == LOW_SCATTER || n->op == LOW_SCALE) && i == 2) ||
	    (n->op == LOW_MATH && i == 1 && op_arity(n->math) == 1);
}

static bool check_args(LowVerify *v, const LowNode *n)
{
	const char *name = low_op_name(n->op);
	int nargs = low_op_nargs(n->op);
	for (int i = 0; i < 3; i++) {
		if (n->arg[i] == -1 && (i >= nargs || may_be_absent(n, i)))
			continue;
		REQUIRE(v, i < nargs && temp_exists(v, n->arg[i]),
		    "%s: argument %d", name, i);
		TRY(check_read(v, n->arg[i]));
	}
	for (int i = 0; i < nargs; i++) {
		int type, lanes;
		if (n->arg[i] == -1)
			continue;
		const LowTemp *t = &v->f->temps.at[n->arg[i]];
		argument_shape(v, n, i, &type, &lanes);
		REQUIRE(v, type == ANY_TYPE || (int)t->type == type,
		    "%s: %s is %s, not %s", name, t->name,
		    dtype_name(t->type), dtype_name((DType)type));
		REQUIRE(v, t->lanes == lanes, "%s: %s has %d lanes, not %d",
		    name, t->name, t->lanes, lanes);
	}
	return true;
}

static bool check_memory(LowVerify *v, const LowNode *n)
{
	const char *name = low_op_name(n->op);
	REQUIRE(v, n->buffer >= 0 && n->buffer < v->f->buffers.n,
	    "%s: no such buffer", name);
	const LowBuffer *b = &v->f->buffers.at[n->buffer];
	TRY(check_affine(v, &n->address));
	REQUIRE(v, !low_op_writes(n->op) || b->written,
	    "%s: %s is not marked as written", name, b->name);
	REQUIRE(v, n->dst < 0 || n->op == LOW_WGMMA ||
		v->f->temps.at[n->dst].type == b->type,
	    "%s: %s is %s, %s is not", name, b->name, dtype_name(b->type),
	    temp_name(v, n->dst));
	REQUIRE(v,
	    (b->kind != LOWBUF_SHARED && b->kind != LOWBUF_LOCAL) ||
		v->block || v->thread,
	    "%s: %s, of a block of threads, is used outside of one", name,
	    b->name);
	return true;
}

static bool check_copy_async(LowVerify *v, const LowNode *n)
{
	const LowBuffer *to = &v->f->buffers.at[n->buffer], *from;
	REQUIRE(v, n->source >= 0 && n->source < v->f->buffers.n,
	    "COPY_ASYNC: no such source");
	from = &v->f->buffers.at[n->source];
	int64_t bytes = n->i * dtype_bytes(to->type);
	TRY(check_affine(v, &n->from));
	REQUIRE(v, to->kind == LOWBUF_SHARED &&
		(from->kind == LOWBUF_PARAM || from->kind == LOWBUF_WORKSPACE),
	    "COPY_ASYNC: from %s to %s", from->name, to->name);
	REQUIRE(v, to->type == from->type, "COPY_ASYNC: %s is %s, %s is not",
	    to->name, dtype_name(to->type), from->name);
	REQUIRE(v, bytes == 4 || bytes == 8 || bytes == 16,
	    "COPY_ASYNC of %lld bytes", (long long)bytes);
	REQUIRE(v, low_affine_align(&n->address, to->type, to->align) % bytes
		== 0,
	    "COPY_ASYNC: %s is not aligned", to->name);
	return true;
}

static bool check_dot(LowVerify *v, const LowNode *n)
{
	const LowTemp *temps = v->f->temps.at, *d = &temps[n->dst];
	const LowTemp *a = &temps[n->arg[0]];
	const Intrinsic *in = intrinsic_of(a->type, temps[n->arg[1]].type);
	REQUIRE(v, in, "DOT: no intrinsic for %s",
	    temp_name(v, n->arg[0]));
	REQUIRE(v, d->type == in->sum && a->lanes == in->terms * d->lanes,
	    "DOT: %s is not of %s", temp_name(v, n->dst), in->name);
	return true;
}

static bool check_shuffle(LowVerify *v, const LowNode *n)
{
	int sources = v->f->temps.at[n->arg[0]].lanes;
	if (n->arg[1] >= 0)
		sources *= 2;
	REQUIRE(v, n->shuffle, "SHUFFLE: no lanes");
	for (int i = 0; i < v->f->temps.at[n->dst].lanes; i++)
		REQUIRE(v, n->shuffle[i] >= 0 && n->shuffle[i] < sources,
		    "SHUFFLE: lane %d is %d of %d", i, n->shuffle[i], sources);
	return true;
}

static bool check_bits(LowVerify *v, const LowNode *n)
{
	const LowTemp *d = &v->f->temps.at[n->dst];
	const LowTemp *a = &v->f->temps.at[n->arg[0]];
	DType from = a->type;
	bool pair = (d->type == DT_F32 && from == DT_I32) ||
	    (d->type == DT_I32 && from == DT_F32) ||
	    (d->type == DT_F64 && from == DT_I64) ||
	    (d->type == DT_I64 && from == DT_F64);
	bool parts = d->lanes > 1 && a->lanes > 1 && a->lanes != d->lanes &&
	    dtype_is_int(d->type) && dtype_is_int(from) &&
	    a->lanes * dtype_bytes(from) == d->lanes * dtype_bytes(d->type);
	bool mask = d->lanes == 1 && from == DT_BOOL &&
	    dtype_is_unsigned(d->type) && a->lanes == 8 * dtype_bytes(d->type);
	REQUIRE(v, (pair && a->lanes == d->lanes) || parts || mask, "BITS: %s",
	    temp_name(v, n->dst));
	return true;
}

static bool check_warp_xor(LowVerify *v, const LowNode *n)
{
	REQUIRE(v, v->thread || v->block,
	    "WARP_XOR outside of a thread block");
	REQUIRE(v, v->f->temps.at[n->dst].lanes == 1,
	    "WARP_XOR: %s is no scalar", temp_name(v, n->dst));
	REQUIRE(v, n->i > 0 && n->i < LOW_WARP && power_of_two((int)n->i),
	    "WARP_XOR: %lld", (long long)n->i);
	return true;
}

static bool check_load_matrix(LowVerify *v, const LowNode *n)
{
	const LowBuffer *b = &v->f->buffers.at[n->buffer];
	int each = dtype_bytes(b->type);
	int bytes = v->f->temps.at[n->dst].lanes * each;
	REQUIRE(v, b->kind == LOWBUF_SHARED, "LOAD_MATRIX: of %s", b->name);
	REQUIRE(v, bytes == 4 || bytes == 8 || bytes == 16,
	    "LOAD_MATRIX: %d bytes of a thread", bytes);
	REQUIRE(v, n->i == 0 || (n->i == 1 && each == 2),
	    "LOAD_MATRIX: %s is not transposed", dtype_name(b->type));
	REQUIRE(v, low_affine_align(&n->address, b->type, b->align) %
		LOW_MATRIX_ROW == 0,
	    "LOAD_MATRIX: %s is not aligned", b->name);
	return true;
}

static bool check_mma(LowVerify *v, const LowNode *n)
{
	const LowTemp *temps = v->f->temps.at, *d = &temps[n->dst];
	const LowTemp *a = &temps[n->arg[0]], *b = &temps[n->arg[1]];
	const Intrinsic *in = low_fragment(v->f, n);
	REQUIRE(v, in && b->lanes == fragment_lanes(in, true),
	    "MMA: no fragment of %s and %s", a->name, b->name);
	REQUIRE(v, v->thread || v->block, "MMA outside of a thread block");
	REQUIRE(v, d->type == in->sum && d->lanes == FRAGMENT_SUMS,
	    "MMA: %s is not of %s", temp_name(v, n->dst), in->name);
	return true;
}

static bool check_tile(
    LowVerify *v, int buffer, const LowAffine *at, LowTile tile)
{
	const LowBuffer *b = &v->f->buffers.at[buffer];
	int bytes = dtype_bytes(b->type);
	enum { ATOM = 8 * GROUP_LINE };
	REQUIRE(v, b->kind == LOWBUF_SHARED, "WGMMA: %s is not shared", b->name);
	REQUIRE(v, low_affine_align(at, b->type, b->align) % ATOM == 0,
	    "WGMMA: %s is not aligned", b->name);
	REQUIRE(v, !tile.across || bytes == 2,
	    "WGMMA: %s, of elements of %d bytes, lies across", b->name, bytes);
	REQUIRE(v, tile.next >= 0 && tile.next * bytes % ATOM == 0,
	    "WGMMA: %s goes on after %lld elements", b->name,
	    (long long)tile.next);
	return true;
}

static bool check_wgmma(LowVerify *v, const LowNode *n)
{
	const LowTemp *d = &v->f->temps.at[n->dst];
	REQUIRE(v, v->thread || v->block, "WGMMA outside of a thread block");
	REQUIRE(v, n->source >= 0 && n->source < v->f->buffers.n && n->tiles,
	    "WGMMA: no such source");
	const Intrinsic *in = low_warpgroup(v->f, n);
	REQUIRE(v, in && d->type == in->sum, "WGMMA: no product of %s and %s",
	    v->f->buffers.at[n->source].name, v->f->buffers.at[n->buffer].name);
	REQUIRE(v, d->lanes >= 4 && d->lanes <= GROUP_MOST_COLUMNS / 2,
	    "WGMMA: %s has %d lanes", d->name, d->lanes);
	TRY(check_affine(v, &n->from));
	TRY(check_tile(v, n->source, &n->from, n->tiles[0]));
	return check_tile(v, n->buffer, &n->address, n->tiles[1]);
}

static bool check_permute(LowVerify *v, const LowNode *n)
{
	const LowTemp *a = &v->f->temps.at[n->arg[0]];
	REQUIRE(v,
	    v->f->temps.at[n->dst].lanes > 1 && a->lanes > 1 &&
		!(a->lanes & (a->lanes - 1)),
	    "PERMUTE: %s has %d lanes", a->name, a->lanes);
	REQUIRE(v, a->type != DT_INDEX && dtype_bytes(a->type) == 4,
	    "PERMUTE: %s is of %s", a->name, dtype_name(a->type));
	return true;
}

static bool check_extras(LowVerify *v, const LowNode *n)
{
	switch (n->op) {
	case LOW_SHUFFLE: return check_shuffle(v, n);
	case LOW_PERMUTE: return check_permute(v, n);
	case LOW_EXTRACT:
		REQUIRE(v, v->f->temps.at[n->dst].lanes == 1,
		    "EXTRACT: %s is no scalar", temp_name(v, n->dst));
		REQUIRE(v, n->i >= 0 &&
			n->i < v->f->temps.at[n->arg[0]].lanes,
		    "EXTRACT: lane %lld", (long long)n->i);
		return true;
	case LOW_INSERT:
		REQUIRE(v, n->i >= 0 && n->i < v->f->temps.at[n->dst].lanes,
		    "INSERT: lane %lld", (long long)n->i);
		return true;
	case LOW_PREFETCH:
		REQUIRE(v, n->i >= 1 && n->i <= 3, "PREFETCH: level %lld",
		    (long long)n->i);
		return true;
	case LOW_MATH:
		REQUIRE(v, op_is_function(n->math), "MATH: no function");
		return true;
	case LOW_LANES_BELOW:
		REQUIRE(v, v->f->temps.at[n->dst].type == DT_BOOL,
		    "LANES_BELOW: %s is not bool", temp_name(v, n->dst));
		return true;
	case LOW_ANY:
		REQUIRE(v, v->f->temps.at[n->dst].lanes == 1,
		    "ANY: %s is not a scalar", temp_name(v, n->dst));
		return true;
	case LOW_BITS: return check_bits(v, n);
	case LOW_BARRIER:
		REQUIRE(v, v->thread || v->block,
		    "BARRIER outside of a thread block");
		return true;
	case LOW_WARP_XOR: return check_warp_xor(v, n);
	case LOW_COPY_ASYNC: return check_copy_async(v, n);
	case LOW_COMMIT:
	case LOW_WAIT:
		REQUIRE(v, v->thread || v->block,
		    "%s outside of a thread block", low_op_name(n->op));
		REQUIRE(v, n->op == LOW_COMMIT || n->i >= 0, "WAIT of %lld",
		    (long long)n->i);
		return true;
	case LOW_LOAD_MATRIX: return check_load_matrix(v, n);
	case LOW_MMA: return check_mma(v, n);
	case LOW_WGMMA: return check_wgmma(v, n);
	case LOW_DOT: return check_dot(v, n);
	default: return true;
	}
}

static bool check_op(LowVerify *v, const LowNode *n)
{
	REQUIRE(v, n->op < LOW_COUNT, "no such operation");
	const char *name = low_op_name(n->op);
	REQUIRE(v, low_op_has_result(n->op) == (n->dst >= 0),
	    "%s: destination", name);
	if (low_op_has_buffer(n->op))
		TRY(check_memory(v, n));
	TRY(check_args(v, n));
	TRY(check_extras(v, n));
	if (n->dst < 0)
		return true;
	DType type = v->f->temps.at[n->dst].type, operand = type;
	if (low_op_is_comparison(n->op)) {
		REQUIRE(v, type == DT_BOOL, "%s: %s is not bool", name,
		    temp_name(v, n->dst));
		operand = v->f->temps.at[n->arg[0]].type;
	}
	REQUIRE(v, type_allows(n->op, operand), "%s of %s", name,
	    dtype_name(operand));
	define(v, n->dst);
	return true;
}

/* --- loops and ifs --------------------------------------------------------- */

/* Beside a loop of the same sort stand only operations that touch no memory:
 * all that have the inner number would make them.  Block loops nest perfectly;
 * thread loops may follow each other. */
static bool check_around(
    LowVerify *v, const LowNode *loop, bool (*same)(LoopKind))
{
	bool blocks = same == loop_is_block;
	int inner = 0, others = 0;
	bool memory = false;
	for (int i = 0; i < loop->body.n; i++) {
		const LowNode *n = loop->body.at[i];
		if (n->kind == LOWNODE_LOOP && same(n->loop))
			inner++;
		else if (n->kind == LOWNODE_LOOP || n->kind == LOWNODE_IF)
			others++;
		else if (n->kind == LOWNODE_OP)
			memory |= low_op_has_buffer(n->op) ||
			    n->op == LOW_BARRIER || low_op_is_warps(n->op);
	}
	v->split_launch = true;
	REQUIRE(v, !inner || !memory, "memory is used in %s, between two loops "
		"of its sort", temp_name(v, loop->var));
	REQUIRE(v, !blocks || !inner || (inner == 1 && !others),
	    "more than one loop in %s, between two loops of its sort",
	    temp_name(v, loop->var));
	v->split_launch = false;
	return true;
}

static bool check_thread_loop(LowVerify *v, const LowNode *loop)
{
	int64_t *extent = &v->thread_extent[loop_direction(loop->loop)];
	REQUIRE(v, !v->parallel, "a thread loop in a parallel loop");
	REQUIRE(v, !loop->limit, "thread loop %s has a limit",
	    temp_name(v, loop->var));
	REQUIRE(v, !*extent || *extent == loop->extent,
	    "thread loops of one direction differ: %lld and %lld",
	    (long long)*extent, (long long)loop->extent);
	*extent = loop->extent;
	return check_around(v, loop, loop_is_thread);
}

static bool check_loop_kind(LowVerify *v, const LowNode *loop)
{
	if (loop->loop == LOOP_SERIAL)
		return true;
	if (loop->loop == LOOP_PARALLEL) {
		REQUIRE(v, !v->parallel && !v->block && !v->thread,
		    "parallel loop %s stands in another",
		    temp_name(v, loop->var));
		REQUIRE(v, v->f->nthreads > 1,
		    "parallel loop %s in a function of one thread",
		    temp_name(v, loop->var));
		return true;
	}
	if (loop_is_block(loop->loop)) {
		REQUIRE(v, !v->parallel && !v->thread,
		    "block loop %s stands in a parallel or thread loop",
		    temp_name(v, loop->var));
		return check_around(v, loop, loop_is_block);
	}
	REQUIRE(v, loop_is_thread(loop->loop), "%s: a loop of this kind is not lowered",
	    temp_name(v, loop->var));
	return check_thread_loop(v, loop);
}

static bool check_body(LowVerify *v, const LowBody *body);

static bool check_loop(LowVerify *v, const LowNode *loop)
{
	const LowTemp *var = &v->f->temps.at[loop->var];
	int mark = v->ntrail, region = v->region;
	REQUIRE(v, var->type == DT_INDEX && var->lanes == 1,
	    "loop variable %s is no index scalar", var->name);
	REQUIRE(v, loop->extent >= 0, "loop %s: extent %lld", var->name,
	    (long long)loop->extent);
	if (!v->block && !v->thread) /* a launch of its own */
		memset(v->thread_extent, 0, sizeof v->thread_extent);
	TRY(check_loop_kind(v, loop));
	v->parallel += loop->loop == LOOP_PARALLEL;
	v->block += loop_is_block(loop->loop);
	v->thread += loop_is_thread(loop->loop);
	v->region = v->temps[loop->var].region;
	if (loop->limit) /* captured with the body */
		TRY(check_affine(v, loop->limit));
	define(v, loop->var);
	TRY(check_body(v, &loop->body));
	/* a thread goes once through each of a launch's thread loops */
	if (!loop_is_thread(loop->loop) || v->block + v->thread == 1)
		undefine_to(v, mark);
	v->region = region;
	v->parallel -= loop->loop == LOOP_PARALLEL;
	v->block -= loop_is_block(loop->loop);
	v->thread -= loop_is_thread(loop->loop);
	return true;
}

static bool check_if(LowVerify *v, const LowNode *node)
{
	TRY(check_read(v, node->condition));
	const LowTemp *t = &v->f->temps.at[node->condition];
	REQUIRE(v, t->type == DT_BOOL && t->lanes == 1,
	    "condition %s is no bool scalar", t->name);
	int mark = v->ntrail;
	TRY(check_body(v, &node->body));
	undefine_to(v, mark);
	TRY(check_body(v, &node->other));
	undefine_to(v, mark);
	return true;
}

static bool check_body(LowVerify *v, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *node = body->at[i];
		switch (node->kind) {
		case LOWNODE_OP: TRY(check_op(v, node)); break;
		case LOWNODE_LOOP: TRY(check_loop(v, node)); break;
		case LOWNODE_IF: TRY(check_if(v, node)); break;
		case LOWNODE_COMMENT: break;
		}
	}
	return true;
}

static bool check_ranges(LowVerify *v)
{
	bool claimed = false;
	for (int i = 0; i < v->f->temps.n; i++)
		claimed |= v->f->temps.at[i].range.known;
	int wrong = claimed ? low_ranges_wrong(v->f) : -1;
	REQUIRE(v, wrong < 0, "%s may leave its range", temp_name(v, wrong));
	return true;
}

static LowVerdict verdict(const LowFunction *f, char *why, size_t size)
{
	LowVerify v = {.f = f, .why = why, .size = size};
	size_t n = (size_t)f->temps.n;
	v.temps = must_alloc(n * sizeof *v.temps);
	v.trail = must_alloc(n * sizeof *v.trail);
	for (size_t i = 0; i < n; i++)
		v.temps[i] = (TempState){.region = -1};
	bool ok = names_unique(&v) && check_temps(&v) && check_buffers(&v) &&
	    collect(&v, &f->body, 0, false) && check_body(&v, &f->body) &&
	    check_ranges(&v);
	free(v.temps);
	free(v.trail);
	return ok ? LOW_SOUND : v.split_launch ? LOW_SPLIT_LAUNCH : LOW_UNSOUND;
}

bool low_function_verify(const LowFunction *f, char *why, size_t size)
{
	return verdict(f, why, size) == LOW_SOUND;
}

LowVerdict lowered_verdict(const Lowered *lowered, char *why, size_t size)
{
	for (int i = 0; i < lowered->packs.n; i++) {
		LowVerdict v = verdict(lowered->packs.at[i], why, size);
		if (v != LOW_SOUND)
			return v;
	}
	return verdict(lowered->kernel, why, size);
}

bool lowered_verify(const Lowered *lowered, char *why, size_t size)
{
	return lowered_verdict(lowered, why, size) == LOW_SOUND;
}
