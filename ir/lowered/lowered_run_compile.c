/* The lowered form's tree becomes flat code.
 *
 *     for i < min(8, n) {        LOOP i, to 3 if there is none
 *         c = add a, b           OP
 *     }                          NEXT i, to 1
 *     parallel loop              OPEN LOOP ITERATION ... NEXT CLOSE
 *     block loop                 OPEN LOOP LAUNCH THREAD ... END NEXT CLOSE
 *
 * Definedness is decided here, by the rule of lowered.h: what is assigned in a
 * body or an arm is undefined after it.  A read of what may be undefined has an
 * UNDEFINED before it, which fails where it is reached. */
#include "ir/lowered/lowered_run.h"

typedef struct {
	Arena *arena;
	const LowFunction *f;
	CodeFunction *out;
	char *defined; /* by temporary */
	IntVec trail;  /* what became defined, newest last */
	int outer;     /* the code of the loop around; -1 */
	bool open, launched;
} Compiler;

static int add(Compiler *c, CodeKind kind)
{
	vec_push(c->arena, &c->out->code,
	    (Code){.kind = kind,
		.d = -1,
		.a = -1,
		.b = -1,
		.c = -1,
		.buffer = -1,
		.outer = c->outer});
	return c->out->code.n - 1;
}

static Code *code_at(Compiler *c, int at)
{
	return &c->out->code.at[at];
}

static void define(Compiler *c, int temp)
{
	if (c->defined[temp])
		return;
	c->defined[temp] = 1;
	vec_push(c->arena, &c->trail, temp);
}

static void undefine_to(Compiler *c, int mark)
{
	while (c->trail.n > mark)
		c->defined[c->trail.at[--c->trail.n]] = 0;
}

static int read_temp(Compiler *c, int temp)
{
	if (temp < 0)
		return -1;
	if (!c->defined[temp]) {
		int at = add(c, CODE_UNDEFINED);
		code_at(c, at)->temp = temp;
	}
	return c->out->slot[temp];
}

static CodeAffine read_affine(Compiler *c, const LowAffine *a)
{
	CodeAffine result = {.constant = a->constant, .n = a->n};
	result.terms = NEW_N(c->arena, CodeTerm, a->n);
	for (int i = 0; i < a->n; i++)
		result.terms[i] = (CodeTerm){read_temp(c, a->terms[i].temp),
		    a->terms[i].coefficient};
	return result;
}

/* --- operations ------------------------------------------------------------ */

static Scalar constant_of(const LowNode *node, DType type)
{
	Scalar x = {.d = node->f};
	if (dtype_is_float(type))
		return scalar_convert(type, DT_F64, x);
	x.i = scalar_wrap(type, node->i);
	return x;
}

static CodeKind kind_of(const Compiler *c, const LowNode *node)
{
	if (node->op == LOW_FLOORDIV || node->op == LOW_MOD)
		return CODE_DIVIDE;
	if (node->op == LOW_WGMMA)
		return CODE_GROUP;
	if (node->op == LOW_COPY_ASYNC || node->op == LOW_COMMIT ||
	    node->op == LOW_WAIT)
		return CODE_ASYNC;
	if (low_op_is_warps(node->op))
		return CODE_EXCHANGE;
	if (low_op_has_buffer(node->op))
		return CODE_MEMORY;
	if (node->op == LOW_BARRIER)
		return CODE_BARRIER;
	return node->dst >= 0 && c->f->temps.at[node->dst].range.known
	    ? CODE_INDEX : CODE_OP;
}

/* All but the slots, and what only some kinds have. */
static Code code_of(const LowFunction *f, const LowNode *node)
{
	const LowTemp *temps = f->temps.at;
	const LowTemp *a = node->arg[0] >= 0 ? &temps[node->arg[0]] : NULL;
	const LowTemp *d = node->dst >= 0 ? &temps[node->dst] : a;
	Code code = {.op = node->op,
	    .buffer = -1,
	    .temp = node->dst,
	    .lanes = d ? d->lanes : 1,
	    .type = d ? d->type : DT_INDEX,
	    .number = (int)node->i,
	    .shuffle = node->shuffle,
	    .math = node->math};
	if (node->buffer >= 0 && low_op_has_buffer(node->op))
		code.type = f->buffers.at[node->buffer].type;
	code.from = a ? a->type : code.type;
	code.sources = a ? a->lanes : 0;
	if (node->op == LOW_CONST)
		code.constant = constant_of(node, code.type);
	return code;
}

static void compile_op(Compiler *c, const LowNode *node)
{
	Code code = code_of(c->f, node);
	code.kind = kind_of(c, node);
	code.a = read_temp(c, node->arg[0]);
	code.b = read_temp(c, node->arg[1]);
	code.c = read_temp(c, node->arg[2]);
	code.d = node->dst < 0 ? -1 : c->out->slot[node->dst];
	code.outer = c->outer;
	if (low_op_has_buffer(node->op)) {
		code.buffer = node->buffer;
		code.at = read_affine(c, &node->address);
	}
	if (node->op == LOW_LOAD_MATRIX) { /* the row that the thread loads */
		code.a = c->out->slots;
		code.sources = LOW_MATRIX_ROW / dtype_bytes(code.type);
		c->out->slots += code.sources;
	}
	if (low_op_has_source(node->op)) {
		code.source = node->source;
		code.source_at = read_affine(c, &node->from);
	}
	if (code.kind == CODE_GROUP) {
		code.type = c->f->temps.at[node->dst].type;
		code.fragment = low_warpgroup(c->f, node);
		code.tiles = node->tiles;
	}
	if (code.kind == CODE_OP || code.kind == CODE_INDEX ||
	    code.kind == CODE_DIVIDE)
		code_choose_op(&code);
	if (code.kind == CODE_EXCHANGE)
		code_choose_exchange(&code, c->f, node);
	vec_push(c->arena, &c->out->code, code);
	if (node->dst >= 0)
		define(c, node->dst);
}

void code_fold(
    const LowFunction *f, const LowNode *node, int most, Scalar *frame)
{
	Code code = code_of(f, node);
	code.a = node->arg[0] < 0 ? -1 : most;
	code.b = node->arg[1] < 0 ? -1 : 2 * most;
	code.c = node->arg[2] < 0 ? -1 : 3 * most;
	code_choose_op(&code);
	code.run(&code, frame);
}

/* --- loops ----------------------------------------------------------------- */

static void compile_body(Compiler *c, const LowBody *body);

static bool has_block_loop(const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_LOOP && loop_is_block(n->loop))
			return true;
		if (has_block_loop(&n->body) || has_block_loop(&n->other))
			return true;
	}
	return false;
}

static void thread_extents(const LowBody *body, int64_t *extents)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_LOOP && loop_is_thread(n->loop))
			extents[loop_direction(n->loop)] = n->extent;
		thread_extents(&n->body, extents);
		thread_extents(&n->other, extents);
	}
}

/* `loop` itself may be the first of the thread loops. */
static int compile_launch(Compiler *c, const LowNode *loop)
{
	LowNode *nodes[] = {(LowNode *)loop};
	LowBody self = {nodes, 1, 1};
	int at = add(c, CODE_LAUNCH);
	Code *code = code_at(c, at);
	for (int i = 0; i < 3; i++)
		code->threads[i] = 1;
	thread_extents(&self, code->threads);
	c->launched = true;
	return at;
}

static void end_launch(Compiler *c, int launch)
{
	add(c, CODE_END);
	code_at(c, launch)->target = c->out->code.n;
	c->launched = false;
}

static void compile_thread(Compiler *c, const LowNode *loop)
{
	int at = add(c, CODE_THREAD);
	Code *code = code_at(c, at);
	code->d = c->out->slot[loop->var];
	code->temp = loop->var;
	code->number = loop_direction(loop->loop);
	define(c, loop->var);
	c->outer = at;
	compile_body(c, &loop->body);
}

static int compile_loop_start(Compiler *c, const LowNode *loop)
{
	CodeAffine limit = {0};
	if (loop->limit)
		limit = read_affine(c, loop->limit);
	int at = add(c, CODE_LOOP);
	Code *code = code_at(c, at);
	code->d = c->out->slot[loop->var];
	code->temp = loop->var;
	code->extent = loop->extent;
	code->limited = loop->limit != NULL;
	code->at = limit;
	code->bound = c->out->slots++;
	define(c, loop->var);
	return at;
}

static void compile_counted(Compiler *c, const LowNode *loop)
{
	int at = compile_loop_start(c, loop), launch = -1;
	c->outer = at;
	if (loop->loop == LOOP_PARALLEL) {
		int iteration = add(c, CODE_ITERATION);
		code_at(c, iteration)->d = code_at(c, at)->d;
		code_at(c, iteration)->bound = code_at(c, at)->bound;
	}
	if (loop_is_block(loop->loop) && !c->launched &&
	    !has_block_loop(&loop->body))
		launch = compile_launch(c, loop);
	compile_body(c, &loop->body);
	if (launch >= 0)
		end_launch(c, launch);
	int next = add(c, CODE_NEXT);
	code_at(c, next)->d = code_at(c, at)->d;
	code_at(c, next)->temp = loop->var;
	code_at(c, next)->bound = code_at(c, at)->bound;
	code_at(c, next)->target = at + 1;
	code_at(c, at)->target = next + 1;
}

static void compile_loop(Compiler *c, const LowNode *loop)
{
	int mark = c->trail.n, outer = c->outer, launch = -1;
	bool opens = loop->loop != LOOP_SERIAL && !c->open;
	if (opens) {
		add(c, CODE_OPEN);
		c->open = true;
	}
	if (!loop_is_thread(loop->loop)) {
		compile_counted(c, loop);
	} else {
		if (!c->launched)
			launch = compile_launch(c, loop);
		compile_thread(c, loop);
		if (launch >= 0)
			end_launch(c, launch);
	}
	c->outer = outer;
	if (opens) {
		add(c, CODE_CLOSE);
		c->open = false;
	}
	/* a thread goes once through each thread loop of a launch */
	if (!loop_is_thread(loop->loop) || launch >= 0)
		undefine_to(c, mark);
}

static void compile_if(Compiler *c, const LowNode *node)
{
	int condition = read_temp(c, node->condition), mark = c->trail.n;
	int unless = add(c, CODE_UNLESS);
	code_at(c, unless)->a = condition;
	compile_body(c, &node->body);
	undefine_to(c, mark);
	if (node->other.n) {
		int jump = add(c, CODE_JUMP);
		code_at(c, unless)->target = c->out->code.n;
		compile_body(c, &node->other);
		undefine_to(c, mark);
		code_at(c, jump)->target = c->out->code.n;
	} else {
		code_at(c, unless)->target = c->out->code.n;
	}
}

static void compile_body(Compiler *c, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *node = body->at[i];
		switch (node->kind) {
		case LOWNODE_OP: compile_op(c, node); break;
		case LOWNODE_LOOP: compile_loop(c, node); break;
		case LOWNODE_IF: compile_if(c, node); break;
		case LOWNODE_COMMENT: break;
		}
	}
}

void code_compile(Arena *arena, const LowFunction *f, CodeFunction *out)
{
	Compiler c = {.arena = arena, .f = f, .out = out, .outer = -1};
	*out = (CodeFunction){.f = f};
	out->slot = NEW_N(arena, int, f->temps.n);
	c.defined = NEW_N(arena, char, f->temps.n);
	for (int i = 0; i < f->temps.n; i++) {
		out->slot[i] = out->slots;
		out->slots += f->temps.at[i].lanes;
	}
	compile_body(&c, &f->body);
	add(&c, CODE_END);
}
