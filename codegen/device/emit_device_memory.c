/* Loads and stores of device languages.  OpenCL C loads and stores vectors at any
 * address; CUDA C elements, or two or four of them that are aligned:
 *
 *     v = load a[4*i], 4   -->   const float4 whole = *(const float4 *)&a[4*i];
 *                                v_part0 = whole.x; ...
 *
 * Where parameters may be aligned to more than they need, the kernel has asked
 * (tunec_whole). */
#include <string.h>

#include "codegen/device/emit_device.h"
#include "lib/gcd.h"

static const LowTemp *temp_of(const EmitDevice *e, int temp)
{
	return &e->c.f->temps.at[temp];
}

/* "a[8*i + 3]", of an element so many behind the address. */
static const char *element(EmitDevice *e, const LowNode *n, int behind)
{
	LowAffine at = n->address;
	at.constant += behind;
	return device_text(e, "%s[%s]", e->c.buffer[n->buffer],
	    device_affine(e, &at));
}

/* "8*i + 16, a", as vloadn takes it. */
static const char *place(EmitDevice *e, const LowNode *n, int part, int lanes)
{
	LowAffine at = n->address;
	at.constant += part * lanes;
	return device_text(e, "0, %s + %s", e->c.buffer[n->buffer],
	    device_affine(e, &at));
}

/* The same as a variable.  A CPU's compiler makes one move of it, and a tree of
 * functions of vload, which takes it as long as all the rest. */
static const char *whole(
    EmitDevice *e, const LowNode *n, int part, int lanes, const char *constant)
{
	const LowBuffer *b = &e->c.f->buffers.at[n->buffer];
	LowAffine at = n->address;
	at.constant += part * lanes;
	return device_text(e, "((%s%s%s *)(%s + %s))->v",
	    b->kind == LOWBUF_LOCAL	   ? ""
		: b->kind == LOWBUF_SHARED ? e->dialect->shared
					   : e->dialect->global,
	    constant, device_packed(e, b->type, lanes),
	    e->c.buffer[n->buffer], device_affine(e, &at));
}

/* A scalar of memory as one of a variable. */
static const char *loaded(EmitDevice *e, int dst, const char *text)
{
	return temp_of(e, dst)->type == DT_BOOL
	    ? device_text(e, device_part(e, dst) > 1 ? "-(%s != 0)" : "%s != 0",
		  text)
	    : text;
}

static const char *text_load(EmitDevice *e, const LowNode *n, int part)
{
	int lanes = device_part(e, n->dst);
	if (lanes == 1)
		return loaded(e, n->dst, element(e, n, part));
	const char *text = e->cpu
	    ? whole(e, n, part, lanes, "const ")
	    : device_text(e, "vload%d(%s)", lanes, place(e, n, part, lanes));
	return temp_of(e, n->dst)->type != DT_BOOL ? text
	    : device_text(e, "convert_int%d(%s != (uchar%d)(0))", lanes, text,
		  lanes);
}

static const char *lane_load_masked(EmitDevice *e, const LowNode *n, int lane)
{
	return device_text(e, "%s ? %s : 0", device_lane(e, n->arg[0], lane),
	    loaded(e, n->dst, element(e, n, lane)));
}

/* "a[8*i + 3 + at]" */
static const char *indirect(EmitDevice *e, const LowNode *n, const char *at)
{
	const char *base = device_affine(e, &n->address);
	return device_text(
	    e, "%s[%s + %s]", e->c.buffer[n->buffer], base, at);
}

static const char *lane_gather(EmitDevice *e, const LowNode *n, int lane)
{
	const char *value = loaded(e, n->dst,
	    indirect(e, n, device_lane(e, n->arg[0], lane)));
	return n->arg[1] < 0 ? value
	    : device_text(e, "%s ? %s : 0", device_lane(e, n->arg[1], lane), value);
}

static void store_parts(EmitDevice *e, const LowNode *n)
{
	int a = n->arg[0], lanes = device_part(e, a);
	for (int p = 0; p < device_parts(e, a); p++) {
		const char *value = device_name(e, a, p);
		if (lanes > 1 && temp_of(e, a)->type == DT_BOOL)
			value = device_text(
			    e, "convert_uchar%d(-%s)", lanes, value);
		if (lanes == 1)
			emit_c_line(&e->c, "%s = %s;", element(e, n, p), value);
		else if (e->cpu)
			emit_c_line(&e->c, "%s = %s;",
			    whole(e, n, p, lanes, ""), value);
		else
			emit_c_line(&e->c, "vstore%d(%s, %s);", lanes, value,
			    place(e, n, p, lanes));
	}
}

/* --- whole vectors of CUDA C ------------------------------------------------ */

/* What an address is a multiple of, where its buffer is aligned to so much. */
static int64_t alignment(const EmitDevice *e, const LowNode *n, int least)
{
	const LowBuffer *b = &e->c.f->buffers.at[n->buffer];
	int bytes = dtype_bytes(b->type);
	int64_t align = gcd(least, b->thread_bytes);
	align = gcd(align, n->address.constant * bytes);
	for (int i = 0; i < n->address.n; i++)
		align = gcd(align, n->address.terms[i].coefficient * bytes);
	return align;
}

/* "float4": elements of a buffer side by side; NULL: there is no such type. */
static const char *whole_type(EmitDevice *e, const LowNode *n, int lanes)
{
	static const struct {
		DType type;
		const char *name;
		int most;
	} types[] = {{DT_F64, "double", 2}, {DT_F32, "float", 4},
	    {DT_F16, "ushort", 4}, {DT_BF16, "ushort", 4},
	    {DT_I64, "longlong", 2}, {DT_I32, "int", 4}, {DT_I16, "short", 4},
	    {DT_I8, "char", 4}, {DT_U64, "ulonglong", 2},
	    {DT_U32, "uint", 4}, {DT_U16, "ushort", 4}, {DT_U8, "uchar", 4}};
	DType type = e->c.f->buffers.at[n->buffer].type;
	if (e->dialect->name != DIALECT_CUDA || (lanes != 2 && lanes != 4))
		return NULL;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (types[i].type == type && lanes <= types[i].most)
			return device_text(e, "%s%d", types[i].name, lanes);
	return NULL;
}

/* Is the access whole always, where parameters are aligned, or never? */
typedef enum { WHOLE_NEVER, WHOLE_ASKED, WHOLE_ALWAYS } Whole;

static Whole when_aligned(const EmitDevice *e, const LowNode *n, int bytes)
{
	const LowBuffer *b = &e->c.f->buffers.at[n->buffer];
	if (alignment(e, n, b->align) >= bytes)
		return WHOLE_ALWAYS;
	return b->kind == LOWBUF_PARAM && e->aligned >= bytes &&
		       alignment(e, n, e->aligned) >= bytes
	    ? WHOLE_ASKED : WHOLE_NEVER;
}

static Whole is_whole(EmitDevice *e, const LowNode *n, int lanes)
{
	DType type = e->c.f->buffers.at[n->buffer].type;
	return whole_type(e, n, lanes)
	    ? when_aligned(e, n, lanes * dtype_bytes(type)) : WHOLE_NEVER;
}

static void load_whole(EmitDevice *e, const LowNode *n)
{
	int lanes = temp_of(e, n->dst)->lanes;
	const char *type = whole_type(e, n, lanes);
	emit_c_line(&e->c, "{");
	e->c.depth++;
	emit_c_line(&e->c, "const %s whole = *(const %s *)&%s;", type, type,
	    element(e, n, 0));
	for (int l = 0; l < lanes; l++)
		emit_c_line(&e->c, "%s = whole.%c;", device_name(e, n->dst, l),
		    "xyzw"[l]);
	e->c.depth--;
	emit_c_line(&e->c, "}");
}

static void store_whole(EmitDevice *e, const LowNode *n)
{
	int lanes = temp_of(e, n->arg[0])->lanes;
	const char *type = whole_type(e, n, lanes);
	Buf list = {0};
	for (int l = 0; l < lanes; l++)
		buf_printf(&list, "%s%s", l ? ", " : "",
		    device_name(e, n->arg[0], l));
	emit_c_line(&e->c, "*(%s *)&%s = make_%s(%s);", type, element(e, n, 0),
	    type, buf_text(&list));
	buf_free(&list);
}

typedef void Access(EmitDevice *e, const LowNode *n);

static void choose(EmitDevice *e, const LowNode *n, Whole whole, Access *all,
    Access *parts)
{
	if (whole != WHOLE_ASKED) {
		(whole == WHOLE_ALWAYS ? all : parts)(e, n);
		return;
	}
	emit_c_line(&e->c, "if (tunec_whole) {");
	e->c.depth++;
	all(e, n);
	e->c.depth--;
	emit_c_line(&e->c, "} else {");
	e->c.depth++;
	parts(e, n);
	e->c.depth--;
	emit_c_line(&e->c, "}");
}

static void load_parts(EmitDevice *e, const LowNode *n)
{
	for (int p = 0; p < device_parts(e, n->dst); p++)
		device_assign(e, n->dst, p, text_load(e, n, p));
}

static void op_load(EmitDevice *e, const LowNode *n)
{
	Whole whole = temp_of(e, n->dst)->type == DT_BOOL
	    ? WHOLE_NEVER : is_whole(e, n, temp_of(e, n->dst)->lanes);
	if (whole != WHOLE_NEVER && !e->c.declared[n->dst]) {
		for (int p = 0; p < device_parts(e, n->dst); p++)
			emit_c_line(&e->c, "%s;", device_place(e, n->dst, p));
		e->c.declared[n->dst] = true;
	}
	choose(e, n, whole, load_whole, load_parts);
}

static void op_store(EmitDevice *e, const LowNode *n)
{
	Whole whole = temp_of(e, n->arg[0])->type == DT_BOOL
	    ? WHOLE_NEVER : is_whole(e, n, temp_of(e, n->arg[0])->lanes);
	choose(e, n, whole, store_whole, store_parts);
}

/* --- copies on their way ---------------------------------------------------- */

/* OpenCL C copies at once, as CUDA C does what is smaller than its instruction:
 * nobody looks before the wait. */
static void copy_elements(EmitDevice *e, const LowNode *n)
{
	int bytes = dtype_bytes(e->c.f->buffers.at[n->buffer].type);
	bool at_once = e->dialect->name != DIALECT_CUDA || bytes < 4;
	LowNode from = {.buffer = n->source, .address = n->from};
	for (int i = 0; i < n->i; i++) {
		const char *to = element(e, n, i), *at = element(e, &from, i);
		if (at_once)
			emit_c_line(&e->c, "%s = %s;", to, at);
		else
			emit_c_line(&e->c, "%s(&%s, &%s);",
			    device_copy(e, bytes), to, at);
	}
}

static void copy_whole(EmitDevice *e, const LowNode *n)
{
	int bytes = dtype_bytes(e->c.f->buffers.at[n->buffer].type);
	LowNode from = {.buffer = n->source, .address = n->from};
	emit_c_line(&e->c, "%s(&%s, &%s);",
	    device_copy(e, (int)n->i * bytes), element(e, n, 0),
	    element(e, &from, 0));
}

static void op_copy_async(EmitDevice *e, const LowNode *n)
{
	int bytes =
	    (int)n->i * dtype_bytes(e->c.f->buffers.at[n->buffer].type);
	LowNode from = {.buffer = n->source, .address = n->from};
	Whole whole = bytes < 4 || e->dialect->name != DIALECT_CUDA
	    ? WHOLE_NEVER : when_aligned(e, &from, bytes);
	choose(e, n, whole, copy_whole, copy_elements);
}

void device_copies(EmitDevice *e, const LowNode *n)
{
	if (e->dialect->name != DIALECT_CUDA)
		return;
	if (n->op == LOW_COMMIT)
		emit_c_line(
		    &e->c, "%s();", device_copies_word(e, "commit"));
	else
		emit_c_line(&e->c, "%s(%lld);", device_copies_word(e, "wait"),
		    (long long)n->i);
}

/* --- one after the other ------------------------------------------------------ */

/* Lanes that a mask may have off, one after the other. */
static void store_lanes(EmitDevice *e, const LowNode *n)
{
	bool scatter = n->op == LOW_SCATTER;
	int mask = scatter ? n->arg[2] : n->arg[1];
	for (int l = 0; l < temp_of(e, n->arg[0])->lanes; l++) {
		const char *to = scatter
		    ? indirect(e, n, device_lane(e, n->arg[1], l))
		    : element(e, n, l);
		if (mask >= 0)
			emit_c_line(&e->c, "if (%s)", device_lane(e, mask, l));
		emit_c_line(&e->c, "%s%s = %s;", mask >= 0 ? "\t" : "", to,
		    device_lane(e, n->arg[0], l));
	}
}

static void each_part(EmitDevice *e, const LowNode *n, LaneText *lane)
{
	for (int p = 0; p < device_parts(e, n->dst); p++)
		device_assign(
		    e, n->dst, p, device_from_lanes(e, n, p, lane));
}

bool device_memory(EmitDevice *e, const LowNode *n)
{
	switch (n->op) {
	case LOW_LOAD: op_load(e, n); return true;
	case LOW_COPY_ASYNC: op_copy_async(e, n); return true;
	case LOW_LOAD_MASKED: each_part(e, n, lane_load_masked); return true;
	case LOW_GATHER: each_part(e, n, lane_gather); return true;
	case LOW_STORE:
	case LOW_STREAM: op_store(e, n); return true;
	case LOW_STORE_MASKED:
	case LOW_SCATTER: store_lanes(e, n); return true;
	default: return false;
	}
}
