/* Launches: a kernel of a GPU becomes a function for each launch, and its host
 * calls them in order.
 *
 *     kernel f                      kernel f_k0, grid 8, block 256
 *       c = const 0.5                 c = const 0.5
 *       blockIdx.x b < 8        -->   blockIdx.x b < 8
 *         threadIdx.x t < 256           threadIdx.x t < 256 ...
 *       for i < 4                   kernel f_k1, grid 1, block 1
 *         ...                         for i < 4 ...
 *
 * A launch is what stands below an outermost loop of blocks or threads, or else
 * what stands between such loops, which one thread does.  Operations that give
 * the same everywhere go with each launch that reads them.  Between launches all
 * of a GPU's memory is in step, so this changes nothing.
 *
 * A CPU behind OpenCL has groups of one thread: a parallel loop is a launch, of
 * as many groups as share its iterations.  What is more entangled than that,
 * parallel loops in others or what a thread computes for them, is one launch of
 * one thread. */
#include "codegen/lower/lower_internal.h"

#include <assert.h>

typedef struct {
	Lowered *l;
	const Machine *machine;
	LowBody before; /* operations that give the same everywhere */
	LowBody serial; /* what one thread does */
	bool *computed; /* by temporary: by that thread */
	Error *error;
} Cut;

static bool refuse(const Cut *c, const char *what)
{
	error_set(c->error, STATUS_UNSUPPORTED, "%s: %s", c->l->kernel->name,
	    what);
	return false;
}

/* --- what a launch has -------------------------------------------------------- */

typedef struct {
	LowLaunch *launch;
	bool *used; /* by buffer: counted already */
} LaunchCount;

static void count_shared(LaunchCount *c, int buffer)
{
	const LowBuffer *b = &c->launch->function->buffers.at[buffer];
	if (b->kind != LOWBUF_SHARED || c->used[buffer])
		return;
	c->used[buffer] = true;
	c->launch->shared_bytes += low_buffer_whole(b) * dtype_bytes(b->type);
}

/* Those of one alignment. */
static void lay_out_aligned(LaunchCount *c, int align)
{
	LowLaunch *launch = c->launch;
	for (int i = 0; i < launch->function->buffers.n; i++) {
		LowBuffer *b = &launch->function->buffers.at[i];
		if (!c->used[i] || b->align != align)
			continue;
		b->dynamic = true;
		b->offset = launch->dynamic_bytes;
		launch->dynamic_bytes +=
		    low_buffer_whole(b) * dtype_bytes(b->type);
	}
}

/* A kernel declares what its blocks share, up to a limit; what is more the launch
 * gives, all of it at once, and buffers lie in it one behind the other, those with
 * the largest alignment first.  A buffer that blocks share is of one launch, as its
 * place is. */
static void lay_out_shared(LaunchCount *c, const Machine *m)
{
	LowLaunch *launch = c->launch;
	if (!m->block_shared || launch->shared_bytes <= m->block_shared)
		return;
	for (int align = LOW_SHARED_ALIGN; align; align /= 2)
		lay_out_aligned(c, align);
	assert(launch->dynamic_bytes == launch->shared_bytes);
}

/* A GPU has loads of 16 bytes and less. */
static void count_vector(LaunchCount *c, const LowNode *n)
{
	const LowFunction *f = c->launch->function;
	const LowBuffer *b = &f->buffers.at[n->op == LOW_COPY_ASYNC
		? n->source : n->buffer];
	int temp = n->dst >= 0 ? n->dst : n->arg[0];
	int bytes = 0;
	if (n->op == LOW_COPY_ASYNC && b->kind == LOWBUF_PARAM)
		bytes = (int)n->i * dtype_bytes(b->type);
	if ((n->op == LOW_LOAD || n->op == LOW_STORE || n->op == LOW_STREAM) &&
	    b->kind == LOWBUF_PARAM)
		bytes = f->temps.at[temp].lanes * dtype_bytes(b->type);
	bytes = bytes > 16 ? 16 : bytes;
	if (bytes > b->align && bytes > c->launch->aligned)
		c->launch->aligned = bytes;
}

static void count_body(LaunchCount *c, const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		int64_t *extent = NULL;
		if (n->kind == LOWNODE_OP && n->buffer >= 0) {
			count_shared(c, n->buffer);
			count_vector(c, n);
		}
		if (n->kind == LOWNODE_LOOP && loop_is_bound(n->loop))
			extent = loop_is_block(n->loop) ? c->launch->grid
							: c->launch->block;
		if (extent) {
			extent += loop_direction(n->loop);
			*extent = n->extent > *extent ? n->extent : *extent;
		}
		count_body(c, &n->body);
		count_body(c, &n->other);
	}
}

/* --- functions ------------------------------------------------------------------ */

static void read_by(const LowNode *n, bool *read)
{
	for (int i = 0; i < 3; i++)
		if (n->arg[i] >= 0)
			read[n->arg[i]] = true;
	for (int i = 0; i < n->address.n; i++)
		read[n->address.terms[i].temp] = true;
	for (int i = 0; low_op_has_source(n->op) && i < n->from.n; i++)
		read[n->from.terms[i].temp] = true;
}

static void mark_set(const LowBody *body, bool *set)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && n->dst >= 0)
			set[n->dst] = true;
		if (n->kind == LOWNODE_LOOP)
			set[n->var] = true;
		mark_set(&n->body, set);
		mark_set(&n->other, set);
	}
}

/* Of the operations before it those that a body needs, in their order. */
static bool add_needed(Cut *c, const LowBody *body, LowBody *to)
{
	const LowFunction *kernel = c->l->kernel;
	IntVec captures = {0};
	bool *read = NEW_N(c->l->arena, bool, kernel->temps.n + 1);
	bool *needed = NEW_N(c->l->arena, bool, c->before.n + 1);
	lowered_body_captures(c->l->arena, kernel, body, &captures);
	for (int i = 0; i < captures.n; i++) {
		read[captures.at[i]] = true;
		if (c->computed[captures.at[i]])
			return refuse(c, "a launch reads a temporary that one "
				"thread computes before it");
	}
	for (int i = c->before.n - 1; i >= 0; i--) {
		const LowNode *n = c->before.at[i];
		needed[i] = read[n->dst];
		if (needed[i])
			read_by(n, read);
	}
	for (int i = 0; i < c->before.n; i++)
		if (needed[i])
			vec_push(c->l->arena, to, c->before.at[i]);
	return true;
}

static bool check_limits(const Cut *c, const LowLaunch *launch)
{
	static const int64_t grid[] = {INT32_MAX, 65535, 65535};
	static const int64_t block[] = {1024, 1024, 64};
	const Machine *m = c->machine;
	int64_t threads = 1, shared = occupancy_block_shared(m);
	for (int i = 0; i < 3; i++) {
		if (launch->grid[i] > grid[i] || launch->block[i] > block[i])
			return refuse(c, "more blocks or threads in one "
				"direction than a GPU has");
		threads *= launch->block[i];
	}
	if (m->block_threads && threads > m->block_threads)
		return refuse(c, "more threads in a block than this GPU has");
	if (shared && launch->shared_bytes > shared)
		return refuse(c, "more shared memory than a block has");
	return true;
}

/* Groups that share the iterations of a launch's parallel loop. */
static int64_t count_groups(const Cut *c, const LowBody *body)
{
	const LowNode *n = body->at[0];
	int64_t most = c->l->kernel->nthreads;
	if (body->n > 1 || n->kind != LOWNODE_LOOP || n->loop != LOOP_PARALLEL)
		return 1;
	return n->extent < most ? n->extent : most;
}

static bool add_launch(Cut *c, const LowBody *body)
{
	Arena *arena = c->l->arena;
	LowFunction *f = NEW(arena, LowFunction);
	*f = *c->l->kernel;
	f->name = arena_printf(arena, "%s_k%d", f->name, c->l->launches.n);
	f->body = (LowBody){0};
	if (!add_needed(c, body, &f->body))
		return false;
	for (int i = 0; i < body->n; i++)
		vec_push(arena, &f->body, body->at[i]);
	LowLaunch launch = {
	    .function = f, .grid = {count_groups(c, body), 1, 1},
	    .block = {1, 1, 1}};
	LaunchCount count = {&launch, NEW_N(arena, bool, f->buffers.n + 1)};
	count_body(&count, &f->body);
	lay_out_shared(&count, c->machine);
	vec_push(arena, &c->l->launches, launch);
	return check_limits(c, &launch);
}

static bool end_serial(Cut *c)
{
	bool work = false;
	for (int i = 0; i < c->serial.n; i++)
		work |= c->serial.at[i]->kind != LOWNODE_COMMENT;
	bool done = !work || add_launch(c, &c->serial);
	c->serial = (LowBody){0};
	return done;
}

/* --- the kernel, node by node --------------------------------------------------- */

static bool is_launch(const LowNode *n)
{
	return n->kind == LOWNODE_LOOP &&
	    (loop_is_bound(n->loop) || n->loop == LOOP_PARALLEL);
}

static bool has_launch(const LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (is_launch(n) || has_launch(&n->body) ||
		    has_launch(&n->other))
			return true;
	}
	return false;
}

/* Does it give the same in every launch? */
static bool is_same_everywhere(const Cut *c, const LowNode *n)
{
	const LowFunction *f = c->l->kernel;
	if (n->kind != LOWNODE_OP || n->dst < 0 || c->computed[n->dst])
		return false;
	for (int i = 0; i < 3; i++)
		if (n->arg[i] >= 0 && c->computed[n->arg[i]])
			return false;
	for (int i = 0; i < n->address.n; i++)
		if (c->computed[n->address.terms[i].temp])
			return false;
	return !low_op_has_buffer(n->op) || !f->buffers.at[n->buffer].written;
}

/* What is assigned more than once is a thread's own. */
static void mark_assigned_again(Cut *c, const LowBody *body, bool *assigned)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->kind == LOWNODE_OP && n->dst >= 0) {
			c->computed[n->dst] |= assigned[n->dst];
			assigned[n->dst] = true;
		}
		mark_assigned_again(c, &n->body, assigned);
		mark_assigned_again(c, &n->other, assigned);
	}
}

static bool cut_node(Cut *c, LowNode *n)
{
	LowBody one = {.at = &n, .n = 1};
	if (is_launch(n))
		return end_serial(c) && add_launch(c, &one);
	if (has_launch(&n->body) || has_launch(&n->other))
		return refuse(c, "a launch stands in a loop or a condition");
	if (is_same_everywhere(c, n)) {
		vec_push(c->l->arena, &c->before, n);
		return true;
	}
	mark_set(&one, c->computed);
	vec_push(c->l->arena, &c->serial, n);
	return true;
}

static bool cut_kernel(Lowered *l, const Machine *machine, Error *error)
{
	const LowFunction *f = l->kernel;
	Cut c = {.l = l,
	    .machine = machine,
	    .computed = NEW_N(l->arena, bool, f->temps.n + 1),
	    .error = error};
	mark_assigned_again(
	    &c, &f->body, NEW_N(l->arena, bool, f->temps.n + 1));
	l->launches.n = 0;
	for (int i = 0; i < f->body.n; i++)
		if (!cut_node(&c, f->body.at[i]))
			return false;
	return end_serial(&c);
}

/* All of it by one thread. */
static bool keep_whole(Lowered *l, const Machine *machine, Error *error)
{
	Cut c = {.l = l,
	    .machine = machine,
	    .computed = NEW_N(l->arena, bool, l->kernel->temps.n + 1),
	    .error = error};
	l->launches.n = 0;
	if (!l->kernel->body.n)
		return true;
	return add_launch(&c, &l->kernel->body);
}

bool lower_launches(Lowered *l, const Machine *machine, Error *error)
{
	Error entangled = {0};
	if (machine->gpu)
		return cut_kernel(l, machine, error);
	return cut_kernel(l, machine, &entangled) ||
	    keep_whole(l, machine, error);
}
