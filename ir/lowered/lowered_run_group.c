/* Products of a warpgroup: each of its 128 threads adds to its own sums what it
 * reads of both operands in shared memory, by address and with the swizzle undone
 * (ir/intrinsic.h).  All of them have stopped there, at the same matrices.
 *
 * The hardware reads past the path of ordinary stores.  So an element that was
 * stored, or copied, is read only behind a barrier that says so (BARRIER 1). */
#include "ir/lowered/lowered_run.h"

enum { CHUNK = 16, CHUNKS = GROUP_LINE / CHUNK };

/* --- what was stored --------------------------------------------------------- */

void group_start(Runner *r)
{
	const LowFunction *f = r->function->f;
	if (!low_has_op(&f->body, LOW_WGMMA))
		return;
	r->stored = NEW_N(r->arena, char *, f->buffers.n);
	for (int i = 0; i < f->buffers.n; i++)
		if (f->buffers.at[i].kind == LOWBUF_SHARED)
			r->stored[i] = NEW_N(
			    r->arena, char, f->buffers.at[i].elements);
}

void group_stored(Runner *r, int buffer, int64_t at)
{
	if (r->stored && r->stored[buffer])
		r->stored[buffer][at] = 1;
}

void group_barrier(Runner *r)
{
	const LowFunction *f = r->function->f;
	for (int i = 0; i < f->buffers.n && r->stored; i++)
		if (r->stored[i])
			memset(r->stored[i], 0,
			    (size_t)f->buffers.at[i].elements);
}

/* --- products ------------------------------------------------------------------ */

typedef struct {
	Runner *r;
	const Code *code;
	const Scalar *frame;
	int buffer;
	int64_t first; /* element */
	LowTile tile;
	DType type;
} Operand;

/* Of row (or column) m, step k. */
static int64_t place(const Operand *o, int64_t m, int64_t k)
{
	int64_t bytes = dtype_bytes(o->type), each = GROUP_LINE / bytes;
	int64_t line = o->tile.across ? k : m;
	int64_t in = (o->tile.across ? m % each : k) * bytes;
	int64_t chunk = (in / CHUNK) ^ (line % CHUNKS);
	int64_t next = o->tile.across ? m / each * o->tile.next : 0;
	return o->first + next + line * each +
	    (chunk * CHUNK + in % CHUNK) / bytes;
}

static bool read_one(const Operand *o, int64_t m, int64_t k, Scalar *x)
{
	Runner *r = o->r;
	int64_t at = place(o, m, k);
	const LowBuffer *b = &r->function->f->buffers.at[o->buffer];
	if (at < 0 || at >= b->elements)
		return run_outside(r, o->code, o->frame, 0, o->buffer, at);
	if (async_awaited(r, o->buffer, at))
		return run_fail(r, o->code, o->frame,
		    "%s[%lld] is read while a copy to it is on its way",
		    b->name, (long long)at);
	if (!race_read(r, o->buffer, at))
		return run_raced(
		    r, o->code, o->frame, "wrote", o->buffer, at);
	if (r->stored[o->buffer][at])
		return run_fail(r, o->code, o->frame,
		    "%s[%lld] was stored, with no barrier for a wgmma since",
		    b->name, (long long)at);
	r->out->loads++;
	*x = run_element(o->type, r->base[o->buffer], at);
	return true;
}

static bool read_line(const Operand *o, int64_t m, Scalar *line)
{
	for (int k = 0; k < o->code->fragment->terms; k++)
		if (!read_one(o, m, k, &line[k]))
			return false;
	return true;
}

static void add_line(
    const Code *code, const Scalar *a, const Scalar *b, Scalar *sum)
{
	for (int k = 0; k < code->fragment->terms; k++)
		if (code->type == DT_F32)
			sum->f += a[k].f * b[k].f;
		else
			sum->i = scalar_wrap(code->type, sum->i + a[k].i * b[k].i);
}

static Operand operand_of(
    Runner *r, const Code *code, const Scalar *frame, bool b)
{
	int buffer = b ? code->buffer : code->source;
	return (Operand){.r = r, .code = code, .frame = frame, .buffer = buffer,
	    .first = run_affine(b ? &code->at : &code->source_at, frame),
	    .tile = code->tiles[b],
	    .type = r->function->f->buffers.at[buffer].type};
}

/* Thread `number` of the warpgroup. */
static bool add_thread(Runner *r, const Code *code, Scalar *frame, int number)
{
	Scalar a[2][GROUP_LINE], b[GROUP_LINE];
	Operand rows = operand_of(r, code, frame, false);
	Operand columns = operand_of(r, code, frame, true);
	int g = number % LOW_WARP / 4, t = number % 4;
	for (int i = 0; i < 2; i++)
		if (!read_line(&rows, number / LOW_WARP * 16 + g + 8 * i, a[i]))
			return false;
	for (int c = 0; c < code->lanes / 2; c++) {
		if (!read_line(&columns, 2 * t + c % 2 + c / 2 * 8, b))
			return false;
		for (int i = 0; i < 2; i++) {
			int v = c % 2 + 2 * i + c / 2 * 4;
			frame[code->d + v] = frame[code->a + v];
			add_line(code, a[i], b, &frame[code->d + v]);
		}
	}
	return true;
}

bool group_run(Runner *r, const Code *code, Scalar *const *frames, int first)
{
	for (int i = 0; i < LOW_GROUP; i++) {
		if (run_affine(&code->at, frames[i]) !=
			run_affine(&code->at, frames[0]) ||
		    run_affine(&code->source_at, frames[i]) !=
			run_affine(&code->source_at, frames[0]))
			return run_fail(r, code, frames[i],
			    "threads %d and %d of a warpgroup multiply "
			    "different matrices", first, first + i);
		r->unit = first + i;
		if (!add_thread(r, code, frames[i], i))
			return false;
	}
	return true;
}
