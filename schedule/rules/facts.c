/* Facts of blocks that rules ask for: what is read and who reads it, how many
 * lanes there are, what an element costs, what first steps or the choices of a
 * sketch made of a block.  Nothing here decides how anything is scheduled. */
#include "schedule/rules/rules.h"

#include <assert.h>
#include <string.h>

#include "lib/gcd.h"

int rule_axis_of(const Expr *e)
{
	return e->op == OP_AXIS ? e->id : -1;
}

bool rule_keeps_order(const Program *p, const Block *b)
{
	return p->numerics == NUMERICS_EXACT && dtype_is_float(b->body->type);
}

int rule_last_dim(const Buffer *b)
{
	int last = b->ndim - 1;
	while (last >= 0 && b->shape[last] == 1)
		last--;
	return last;
}

int rule_longer_axis(const Block *b, int below)
{
	int a = below - 1;
	assert(below <= b->naxes);
	while (a >= 0 && b->axes[a].extent == 1)
		a--;
	return a;
}

int rule_first_axis(const Block *b, int first, int end)
{
	assert(first >= 0 && end <= b->naxes);
	for (int a = first; a < end; a++)
		if (b->axes[a].extent > 1)
			return a;
	return -1;
}

bool rule_same_extents(
    const Block *x, int from, const Block *y, int to, int naxes)
{
	assert(from >= 0 && from + naxes <= x->naxes);
	assert(to >= 0 && to + naxes <= y->naxes);
	for (int i = 0; i < naxes; i++)
		if (x->axes[from + i].extent != y->axes[to + i].extent)
			return false;
	return true;
}

bool rule_has_row(const Block *block)
{
	return rule_longer_axis(block, block->nspatial) >= 0;
}

int64_t rule_times_read(const Block *block, const RuleRead *read)
{
	int64_t n = 1;
	for (int a = 0; a < block->naxes; a++)
		n *= read->reuse[a];
	return n;
}

/* --- lanes -------------------------------------------------------------------- */

int rule_lanes(const Machine *machine, DType type)
{
	int bytes = dtype_bytes(dtype_promoted(type));
	return machine->vector_bytes > bytes ? machine->vector_bytes / bytes : 1;
}

int rule_filled(const Block *b, int axis, int lanes)
{
	assert(axis >= 0 && axis < b->naxes && lanes > 0);
	while (lanes > 1 && b->axes[axis].extent * 2 <= lanes)
		lanes /= 2;
	return lanes;
}

int rule_widest(const Rules *r, const Block *block, int axis)
{
	DType type = r->program->buffers[block->buffer].type;
	int lanes = rule_lanes(r->machine, type);
	return rule_filled(block, axis, lanes);
}

int rule_least_lanes(int widest)
{
	return widest < 4 ? 2 : 4;
}

/* Bytes of the widest value, where all is compared, chosen or moved in the type
 * that is stored, or done in 16 bits; 0: it is not.  What lanes along the axis
 * choose alike is a branch, without a mask. */
static int widest_value(const Machine *machine, const Expr *e, int axis)
{
	bool is_short = dtype_is_int(e->type) && dtype_bytes(e->type) <= 2 &&
	    e->op != OP_IF &&
	    (e->op != OP_CAST ||
		(dtype_is_int(e->arg[0]->type) &&
		    dtype_bytes(e->arg[0]->type) <= 2));
	bool narrow = is_short || e->op == OP_READ || e->op == OP_INT ||
	    e->op == OP_MAX || e->op == OP_MIN || e->op == OP_ADD ||
	    (e->op == OP_CAST && dtype_is_int(e->arg[0]->type) &&
		dtype_bytes(e->arg[0]->type) == dtype_bytes(e->type)) ||
	    (e->op == OP_IF &&
		(machine->byte_masks ||
		    (!expr_has_data(e->arg[0]) &&
			!expr_has_axis(e->arg[0], axis))));
	int bytes = narrow && dtype_is_int(e->type) ? dtype_bytes(e->type) : 0;
	/* of all lanes */
	if (dtype_is_int(e->type) && !expr_has_data(e) &&
	    !expr_has_axis(e, axis))
		return dtype_bytes(e->type);
	for (int i = e->op == OP_IF; bytes && e->op != OP_READ && i < e->narg;
	     i++) {
		int b = widest_value(machine, e->arg[i], axis);
		bytes = !b ? 0 : b > bytes ? b : bytes;
	}
	return bytes;
}

int rule_value_lanes(const Rules *r, int block, int axis)
{
	const Block *b = &r->program->blocks[block];
	int bytes = widest_value(r->machine, r->bodies[block], axis);
	int lanes = rule_lanes(r->machine, b->body->type);
	bool chosen = b->reduce == REDUCE_NONE || b->reduce == REDUCE_MAX ||
	    b->reduce == REDUCE_MIN || b->reduce == REDUCE_SUM;
	if (!bytes || !chosen ||
	    r->program->buffers[b->buffer].type != b->body->type ||
	    r->machine->vector_bytes / bytes < lanes)
		return lanes;
	return r->machine->vector_bytes / bytes;
}

/* The last axis's do in the output, or with a few more in between, those of an
 * operand that is packed do there, and some in an operand as it is. */
bool rule_worth_vectors(const Rules *r, int i, int axis)
{
	const RuleBlock *b = &r->blocks[i];
	const Block *block = &r->program->blocks[i];
	assert(axis >= 0 && axis < block->nspatial);
	vec_each (read, &b->reads) {
		int64_t stride = rule_stride(r->program, read, axis, 1);
		if ((read->packable && read->uses[axis]) || stride == 1)
			return true;
	}
	return block_points(block, axis + 1, block->nspatial) <= RULE_FEW;
}

/* --- what an element costs --------------------------------------------------- */

bool rule_is_flop(const Expr *e)
{
	OpKind kind = op_kind(e->op);
	bool selects = kind == OPKIND_IF || kind == OPKIND_AND ||
	    kind == OPKIND_OR;
	return e->type != DT_INDEX && (op_flops(e->op) || selects);
}

static bool add_work(Expr *e, void *context)
{
	RuleWork *w = context;
	w->flops += rule_is_flop(e);
	bool divides = e->type != DT_INDEX && e->op == OP_DIV;
	w->divides |= divides;
	if (e->type != DT_INDEX)
		w->dear |= e->op == OP_IF ||
		    op_kind(e->op) == OPKIND_FUNCTION ||
		    (divides && e->arg[1]->op != OP_FLOAT);
	return e->op != OP_READ;
}

RuleWork rule_work_of(Expr *body)
{
	RuleWork w = {0};
	expr_walk(body, add_work, &w);
	return w;
}

/* Operations that these are worth. */
enum { FUNCTION = 12, QUOTIENT = 4 };

typedef struct {
	double flops;
	ExprSet reads;
	Arena *arena;
} CostVisit;

/* Conditions over axes alone are settled by the loops. */
static void add_cost(CostVisit *c, const Expr *e)
{
	bool by_axes = e->op == OP_IF && !expr_has_data(e->arg[0]);
	if (rule_is_flop(e) && !by_axes)
		c->flops += op_kind(e->op) == OPKIND_FUNCTION ? FUNCTION
		    : e->op == OP_DIV			      ? QUOTIENT
							      : 1;
	if (e->op == OP_READ && !expr_set_add(c->arena, &c->reads, e))
		return;
	for (int i = by_axes; i < e->narg; i++)
		add_cost(c, e->arg[i]);
}

RuleCost rule_cost(Arena *arena, const Expr *e)
{
	CostVisit c = {.arena = arena};
	add_cost(&c, e);
	return (RuleCost){c.flops, c.reads.all.n};
}

const char *rule_copies(
    const Rules *r, const RuleBlock *b, int axis, int64_t vectors, int lanes)
{
	int64_t period = rule_block_period(b, axis);
	int64_t n = period ? period / gcd(period, lanes) : 1;
	int64_t flops = 1 + rule_work_of(r->bodies[b->block]).flops;
	return n > 1 && n <= COPIES_MOST && n <= vectors &&
		n * flops <= BODY_OPERATIONS_MAX
	    ? arena_printf(r->arena, 2 * n <= vectors ? "%lld, %lld" : "%lld",
		  (long long)n, (long long)(2 * n))
	    : NULL;
}

/* --- reads and readers ---------------------------------------------------------- */

typedef struct {
	Arena *arena;
	const Program *program;
	const Block *block;
	RuleBlock *blocks;
	RuleBlock *out;
	ExprSet seen; /* the reads of `out` */
} BodyVisit;

static bool plain_index(const Expr *read)
{
	for (int i = 0; i < read->narg; i++) {
		int a = rule_axis_of(read->arg[i]);
		if (a < 0)
			return false;
		for (int k = 0; k < i; k++)
			if (rule_axis_of(read->arg[k]) == a)
				return false;
	}
	return true;
}

int rule_reads_of(const RuleBlock *b, int buffer)
{
	int last = b->reads.n - 1;
	while (last >= 0 && b->reads.at[last].buffer != buffer)
		last--;
	return last < 0 ? 0 : b->reads.at[last].number;
}

const RuleRead *rule_only_read(const RuleBlock *b, int buffer)
{
	vec_each (read, &b->reads)
		if (read->buffer == buffer)
			return rule_reads_of(b, buffer) == 1 ? read : NULL;
	return NULL;
}

static void add_consumer(const BodyVisit *visit, int buffer)
{
	int from = visit->program->buffers[buffer].block;
	int reader = visit->out->block;
	RuleBlock *b = from >= 0 ? &visit->blocks[from] : NULL;
	assert(from < reader && "blocks stand behind what they read");
	if (b && (!b->consumers.n ||
		     b->consumers.at[b->consumers.n - 1] != reader))
		vec_push(visit->arena, &b->consumers, reader);
}

static bool visit_expr(Expr *e, void *context)
{
	BodyVisit *visit = context;
	RuleBlock *b = visit->out;
	b->flops += rule_is_flop(e);
	if (e->op != OP_READ)
		return true;
	add_consumer(visit, e->id);
	if (!expr_set_add(visit->arena, &visit->seen, e))
		return false;
	RuleRead r = {.buffer = e->id,
	    .maker = visit->program->buffers[e->id].block,
	    .nindex = e->narg,
	    .index = e->arg,
	    .last = rule_last_dim(&visit->program->buffers[e->id]),
	    .number = 1 + rule_reads_of(b, e->id),
	    .plain = plain_index(e),
	    .uses = NEW_N(visit->arena, bool, visit->block->naxes)};
	for (int i = 0; i < e->narg; i++)
		expr_mark_axes(e->arg[i], r.uses);
	rule_digits(visit->arena, visit->block, &r);
	vec_push(visit->arena, &b->reads, r);
	return true; /* an index may read, too */
}

/* What blocks read and who reads them, with what is chosen to be inlined in
 * the place of its reads. */
void rules_analyse(Rules *r)
{
	const Program *program = r->program;
	memset(r->blocks, 0, sizeof *r->blocks * (size_t)program->nblocks);
	for (int i = 0; i < program->nblocks; i++) {
		const Block *block = &program->blocks[i];
		RuleBlock *b = &r->blocks[i];
		b->block = i;
		b->host = b->colocated_with = b->recomputed_at = b->fused_with = -1;
		b->inlined = r->inlines && r->inlines[i];
		b->output =
		    program->buffers[block->buffer].role == BUFFER_OUTPUT;
		BodyVisit visit = {.arena = r->arena,
		    .program = program,
		    .block = block,
		    .blocks = r->blocks,
		    .out = b};
		if (!b->inlined)
			expr_walk(r->bodies ? r->bodies[i] : block->body,
			    visit_expr, &visit);
		b->flops += block->reduce != REDUCE_NONE;
	}
}

bool rule_is_open(const Rules *r, int i)
{
	return !r->blocks[i].scheduled && !r->blocks[i].inlined;
}

bool rule_is_read_elsewhere(const Rules *r, const RuleBlock *reader, int buffer)
{
	for (int i = 0; i < r->program->nblocks; i++)
		if (&r->blocks[i] != reader &&
		    rule_reads_of(&r->blocks[i], buffer))
			return true;
	return false;
}

int rule_maker(const Rules *r, int buffer)
{
	int made = r->program->buffers[buffer].block;
	return made >= 0 && rule_is_open(r, made) &&
		r->program->blocks[made].reduce == REDUCE_NONE &&
		!r->blocks[made].output && r->blocks[made].consumers.n == 1
	    ? made
	    : -1;
}

/* The block's only reader, if it reads each element at its own place; not where
 * the block alone is made ahead, nor where the reader is made point by point. */
int rule_elementwise_reader(const Rules *r, const RuleBlock *b)
{
	if (b->output || b->consumers.n != 1)
		return -1;
	int reader = b->consumers.at[0];
	const RuleBlock *w = &r->blocks[reader];
	const Block *wb = &r->program->blocks[reader];
	const Block *block = &r->program->blocks[b->block];
	const RuleRead *read = rule_only_read(w, block->buffer);
	if (wb->reduce != REDUCE_NONE || w->scheduled ||
	    rule_is_pointwise(r, reader) || wb->nspatial != block->nspatial ||
	    r->program->buffers[wb->buffer].is_const !=
		r->program->buffers[block->buffer].is_const ||
	    !read || !read->plain || read->nindex != wb->nspatial)
		return -1;
	for (int d = 0; d < read->nindex; d++)
		if (wb->axes[rule_axis_of(read->index[d])].extent !=
		    block->axes[d].extent)
			return -1;
	return reader;
}

int rule_reader_axis(const Rules *r, const Block *block, int reader, int a)
{
	assert(a >= 0 && a < block->nspatial);
	if (reader < 0)
		return a;
	const RuleBlock *w = &r->blocks[reader];
	vec_each (read, &w->reads)
		if (read->buffer == block->buffer && read->plain)
			return rule_axis_of(read->index[a]);
	return a;
}

bool rule_only_outputs_read(const Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	const Block *block = &r->program->blocks[i];
	for (int k = 0; k < b->consumers.n; k++) {
		int c = b->consumers.at[k];
		const Block *reader = &r->program->blocks[c];
		if (!r->blocks[c].output || reader->reduce != REDUCE_NONE ||
		    reader->nspatial != block->nspatial)
			return false;
	}
	return block->reduce != REDUCE_NONE && b->consumers.n;
}

bool rule_ready_before(const Rules *r, int i, int first)
{
	const RuleBlock *b = &r->blocks[i];
	vec_each (read, &b->reads)
		if (read->maker >= 0 &&
		    (read->maker >= first ||
			r->blocks[read->maker].colocated_with >= 0))
			return false;
	return true;
}

int rule_results(const Rules *r, int block)
{
	return 1 + r->blocks[block].nfused;
}

/* Of all that runs in its loops. */
double rule_work(const Rules *r, int block)
{
	double flops = r->blocks[block].flops;
	for (int i = 0; i < r->program->nblocks; i++)
		if (r->blocks[i].fused_with == block)
			flops += r->blocks[i].flops;
	const Block *b = &r->program->blocks[block];
	return block_points(b, 0, b->naxes) * flops;
}

/* --- what was made of it ---------------------------------------------------------- */

const RuleMade *rule_origin(const Rules *r, int block)
{
	return &r->made[r->program->blocks[block].buffer];
}

/* The axis of the block, if it is that of a running sum; -1. */
static int scan_axis(const Rules *r, int block, RuleScan running)
{
	const RuleMade *made = rule_origin(r, block);
	return made->scan == running ? made->scan_axis : -1;
}

bool rule_is_scan(const Rules *r, int block)
{
	return scan_axis(r, block, SCAN_PART) >= 0;
}

int rule_scan_whole(const Rules *r, int block)
{
	return scan_axis(r, block, SCAN_WHOLE);
}

int rule_carries(const Rules *r, int block)
{
	return scan_axis(r, block, SCAN_CARRIED);
}

bool rule_is_collapsed(const Rules *r, int i)
{
	return r->collapsed && r->collapsed[i] >= 0;
}

bool rule_is_pointwise(const Rules *r, int i)
{
	return r->point_host && r->point_host[i] >= 0;
}

bool rule_rows_has(const Rules *r, int block)
{
	return r->rows && r->rows->between[block];
}

bool rule_rows_is_row(const Rules *r, int block, int axis)
{
	int of = rule_rows_has(r, block) ? r->rows->moves[block][axis] : -1;
	return of >= 0 && r->rows->axes[of];
}

bool rule_is_ahead(const Program *p, const Expr *e)
{
	if (e->op == OP_READ && !p->buffers[e->id].is_const)
		return false;
	for (int i = 0; i < e->narg; i++)
		if (!rule_is_ahead(p, e->arg[i]))
			return false;
	return true;
}

bool rule_winograd_keeps(const Rules *r, int block)
{
	if (!r->winograd)
		return false;
	for (int role = 0; role < WINOGRAD_PARTS; role++)
		if (winograd_number(
			&r->winograd->winograd, (WinogradRole)role) >= 0 &&
		    r->winograd->block[role] == block)
			return true;
	return false;
}

bool rule_winograd_results(const Rules *r, const Expr *body)
{
	const RuleWinograd *x = r->winograd;
	WinogradRole last;
	if (!x)
		return false;
	last = x->winograd.npairs == 2 ? WINOGRAD_Y1 : WINOGRAD_P;
	return expr_find_read(body, r->program->blocks[x->block[last]].buffer);
}

bool rule_rows_block_keeps(const Rules *r, int i)
{
	const RuleBlock *b = &r->blocks[i];
	bool read = false;
	for (int c = 0; c < b->consumers.n; c++)
		read |= b->consumers.at[c] == r->tiled.block;
	return r->tiled.rows && rule_rows_has(r, i) && read;
}
