/* Emission of operations.
 *
 * Equal pure operations, and loads that nothing was stored to in between, are
 * emitted once (value numbering), and as far out of the loops as their
 * arguments allow:
 *
 *     for k                          zero = CONST 0
 *       for m unrolled by 2          for k
 *         c[m] += a[m, k] * b[k]       b_0 = LOAD b[k]
 *                                      ...
 *
 * A loop or `if` becomes part of the body around it only when it is complete,
 * so what is hoisted out of it lands before it. */
#include "codegen/lower/lower_internal.h"
#include "lib/hash.h"

#include <assert.h>
#include <string.h>

void lower_fail(Lower *l, const char *format, ...)
{
	if (l->part->failed)
		return;
	l->part->failed = true;
	va_list args;
	va_start(args, format);
	char *text = arena_vprintf(l->arena, format, args);
	va_end(args);
	error_set(l->part->error, STATUS_UNSUPPORTED, "%s", text);
}

void emit_begin(Lower *l, LowFunction *f)
{
	assert(!l->part->scope && !l->part->numbers);
	l->f = f;
	l->part->temps.n = 0;
}

void emit_follow(Lower *l, const Lower *before)
{
	assert(l->f == before->f && !l->part->scope && !before->part->scope);
	l->part->temps = before->part->temps;
}

void scope_open(Lower *l, Frame *scope, LowBody *body)
{
	scope->up = l->part->scope;
	scope->body = body;
	scope->depth = l->part->scope ? l->part->scope->depth + 1 : 0;
	scope->serial = ++l->part->nserials;
	if (scope->depth >= MAX_DEPTH) {
		lower_fail(l, "loops nested deeper than %d", MAX_DEPTH);
		scope->depth = MAX_DEPTH - 1;
	}
	l->part->open_serial[scope->depth] = scope->serial;
	scope->fenced = scope->fence ? scope->depth
	    : l->part->scope	     ? l->part->scope->fenced
				     : 0;
	l->part->scope = scope;
}

void scope_close(Lower *l)
{
	assert(l->part->scope);
	assert(l->part->failed ||
	    l->part->open_serial[l->part->scope->depth] ==
		l->part->scope->serial);
	l->part->open_serial[l->part->scope->depth] = 0;
	l->part->scope = l->part->scope->up;
	if (l->part->scope)
		l->part->open_serial[l->part->scope->depth] =
		    l->part->scope->serial;
}

void emit_open(Lower *l, Frame *frame)
{
	assert(!l->part->scope && !l->part->numbers);
	l->part->numbers = arena_new();
	l->part->nnumbered = 0;
	l->part->nbuckets = NUMBERED_BUCKETS;
	l->part->buckets =
	    NEW_N(l->part->numbers, Numbered *, l->part->nbuckets);
	scope_open(l, frame, &l->f->body);
}

void emit_close(Lower *l)
{
	scope_close(l);
	assert(!l->part->scope && l->part->numbers);
	arena_free(l->part->numbers);
	l->part->numbers = NULL;
	l->part->buckets = NULL;
}

int new_temp(Lower *l, DType type, int lanes, const char *hint)
{
	int temp = low_temp(l->arena, l->f, type, lanes, hint);
	assert(temp == l->part->temps.n && l->part->scope);
	assert(lanes > 0 && type <= DT_INDEX);
	vec_push(l->arena, &l->part->temps,
	    (TempInfo){
		.range = dtype_interval(type == DT_U64 ? DT_U64 : DT_I64),
		.depth = l->part->scope->depth});
	return temp;
}

static LowNode *emit_at(
    Lower *l, Frame *scope, LowOpcode op, int dst, int a, int b, int c)
{
	if (++l->part->operations > l->part->most_operations)
		lower_fail(
		    l, "more than %d operations", l->part->most_operations);
	return low_op(l->arena, scope->body, op, dst, a, b, c);
}

/* A launch goes on around the frame of a thread's loop. */
static bool is_inside_launch(const Frame *frame)
{
	for (const Frame *f = frame->up; f; f = f->up)
		if (f->bound)
			return true;
	return false;
}

/* A temporary that is assigned in several places begins as 0, so that it is
 * defined whichever of them ran: where its scope may begin, outside of loops
 * and branches but within the thread; of a GPU's threads within the launch. */
int new_variable(Lower *l, DType type, int lanes, const char *hint)
{
	Frame *frame = l->part->scope;
	int temp = new_temp(l, type, lanes, hint);
	while (frame->up &&
	    (!frame->fence || (frame->thread && is_inside_launch(frame))))
		frame = frame->up;
	l->part->temps.at[temp].mutable = true;
	l->part->temps.at[temp].depth = frame->depth;
	emit_at(l, frame, LOW_CONST, temp, -1, -1, -1);
	return temp;
}

/* --- numbered values ---------------------------------------------------- */

static uint32_t key_hash(const Key *key)
{
	uint64_t h = (uint64_t)key->op * 31 + (uint64_t)key->lanes;
	for (int i = 0; i < 3; i++)
		h = h * 0x9E3779B97F4A7C15u + (uint64_t)(key->arg[i] + 1);
	uint64_t bits;
	memcpy(&bits, &key->f, sizeof bits);
	h = h * 0x9E3779B97F4A7C15u + (uint64_t)key->i;
	h = h * 0x9E3779B97F4A7C15u + bits;
	h = h * 0x9E3779B97F4A7C15u + (uint64_t)(key->buffer + 1);
	h = h * 0x9E3779B97F4A7C15u + (uint64_t)key->address.constant;
	uint64_t sum = 0; /* in whatever order they stand */
	for (int i = 0; i < key->address.n; i++) {
		const LowTerm *t = &key->address.terms[i];
		sum += hash_mix((uint64_t)t->temp) * (uint64_t)t->coefficient;
	}
	h = h * 0x9E3779B97F4A7C15u + sum;
	return (uint32_t)(h >> 32);
}

static bool key_equal(const Key *a, const Key *b)
{
	return a->op == b->op && a->type == b->type && a->lanes == b->lanes &&
	    !memcmp(a->arg, b->arg, sizeof a->arg) &&
	    !memcmp(a->stamp, b->stamp, sizeof a->stamp) && a->i == b->i &&
	    !memcmp(&a->f, &b->f, sizeof a->f) && a->math == b->math &&
	    a->buffer == b->buffer && a->version == b->version &&
	    low_affine_equal(a->address, b->address) &&
	    !a->shuffle == !b->shuffle &&
	    (!a->shuffle ||
		!memcmp(a->shuffle, b->shuffle,
		    sizeof(int) * (size_t)a->lanes));
}

static int find(const Part *p, const Key *key)
{
	uint32_t bucket = key_hash(key) & (uint32_t)(p->nbuckets - 1);
	for (Numbered *n = p->buckets[bucket]; n; n = n->next)
		if (n->depth >= p->scope->fenced &&
		    p->open_serial[n->depth] == n->serial &&
		    key_equal(&n->key, key))
			return n->temp;
	return -1;
}

static void link_numbered(Part *p, Numbered *n)
{
	uint32_t bucket = key_hash(&n->key) & (uint32_t)(p->nbuckets - 1);
	n->next = p->buckets[bucket];
	p->buckets[bucket] = n;
}

/* Twice the buckets; what stood in a scope that is closed is forgotten. */
static void grow_buckets(Part *p)
{
	Numbered **old = p->buckets;
	int n = p->nbuckets;
	p->nbuckets *= 2;
	p->nnumbered = 0;
	p->buckets = NEW_N(p->numbers, Numbered *, p->nbuckets);
	for (int i = 0; i < n; i++)
		for (Numbered *e = old[i], *next; e; e = next) {
			next = e->next;
			if (p->open_serial[e->depth] != e->serial)
				continue;
			link_numbered(p, e);
			p->nnumbered++;
		}
}

static void number(Part *p, const Key *key, int temp, const Frame *scope)
{
	Numbered *n = NEW(p->numbers, Numbered);
	if (p->nnumbered++ > p->nbuckets)
		grow_buckets(p);
	*n = (Numbered){NULL, *key, temp, scope->depth, scope->serial};
	link_numbered(p, n);
}

/* A temporary of a scope that we are in. */
static bool is_here(const Part *p, int temp)
{
	return temp < p->temps.n && p->temps.at[temp].depth <= p->scope->depth;
}

static void stamp_arguments(const Part *p, Key *key)
{
	for (int i = 0; i < 3; i++) {
		key->stamp[i] = 0;
		if (key->arg[i] < 0)
			continue;
		const TempInfo *t = &p->temps.at[key->arg[i]];
		assert(is_here(p, key->arg[i]));
		if (t->mutable)
			key->stamp[i] =
			    t->stamp > p->epoch ? t->stamp : p->epoch;
	}
}

bool frame_writes(const Frame *frame, int buffer)
{
	for (int i = 0; i < frame->written.n; i++)
		if (frame->written.at[i] == buffer)
			return true;
	return false;
}

/* Whether an operation may leave the scope. */
static bool may_leave(const Frame *s, const Key *key)
{
	if (!s->up || s->fence)
		return false;
	if (key->buffer >= 0)
		return !s->skipped &&
		    !frame_writes(s, key->buffer);
	return key->op != LOW_MATH || !s->skipped;
}

/* The outermost scope in which all arguments are known. */
static Frame *place(const Part *p, const Key *key)
{
	int depth = 0;
	for (int i = 0; i < 3; i++) {
		if (key->arg[i] < 0)
			continue;
		if (p->temps.at[key->arg[i]].mutable)
			return p->scope;
		if (p->temps.at[key->arg[i]].depth > depth)
			depth = p->temps.at[key->arg[i]].depth;
	}
	for (int i = 0; i < key->address.n; i++) {
		int d = p->temps.at[key->address.terms[i].temp].depth;
		depth = d > depth ? d : depth;
	}
	Frame *s = p->scope;
	while (s->depth > depth && may_leave(s, key))
		s = s->up;
	return s;
}

static uint64_t first_lanes(int64_t n)
{
	return n <= 0 ? 0 : ~(uint64_t)0 >> (n < 64 ? 64 - n : 0);
}

/* Of masks whose lanes do not vary, such as those of the last part of a row. */
static void note_lanes(Lower *l, const Key *key, TempInfo *t)
{
	const TempInfo *a =
	    &l->part->temps.at[key->arg[0] < 0 ? 0 : key->arg[0]];
	const TempInfo *b =
	    &l->part->temps.at[key->arg[1] < 0 ? 0 : key->arg[1]];
	uint64_t all = first_lanes(key->lanes);
	switch (key->op) {
	case LOW_LANES_BELOW:
		t->certain = a->range.lo == a->range.hi;
		t->on = first_lanes(a->range.lo) & all;
		break;
	case LOW_NOT:
		t->certain = a->certain;
		t->on = ~a->on & all;
		break;
	case LOW_AND:
		t->certain = a->certain && b->certain;
		t->on = a->on & b->on;
		break;
	default: break;
	}
}

static int emit_key(Lower *l, Key *key, const char *hint)
{
	stamp_arguments(l->part, key);
	int temp = find(l->part, key);
	if (temp >= 0)
		return temp;
	Frame *scope = place(l->part, key);
	assert(scope->depth <= l->part->scope->depth);
	assert(low_op_has_result(key->op) && !low_op_writes(key->op));
	assert(key->buffer < 0 || l->part->low_buffer[key->buffer] >= 0);
	temp = new_temp(l, key->type, key->lanes, hint);
	l->part->temps.at[temp].depth = scope->depth;
	note_lanes(l, key, &l->part->temps.at[temp]);
	LowNode *node = emit_at(l, scope, key->op, temp, key->arg[0],
	    key->arg[1], key->arg[2]);
	node->i = key->i;
	node->f = key->f;
	node->math = key->math;
	node->shuffle = (int *)key->shuffle;
	if (key->buffer >= 0)
		node->buffer = l->part->low_buffer[key->buffer];
	node->address = key->address;
	number(l->part, key, temp, scope);
	return temp;
}

int emit_pure(Lower *l, Key *key, const char *hint)
{
	key->buffer = -1;
	return emit_key(l, key, hint);
}

int emit_load(Lower *l, Key *key, const char *hint)
{
	assert(low_op_reads(key->op) && key->buffer >= 0);
	key->version = l->part->version[key->buffer];
	int stored = key->op != LOW_LOAD ? -1
	    : stored_value(l, key->buffer, key->address, key->lanes, -1);
	return stored >= 0 ? stored : emit_key(l, key, hint);
}

int emit_op(Lower *l, LowOpcode op, DType type, int lanes, int a, int b,
    int c, const char *hint)
{
	Key key = {.op = op, .type = type, .lanes = lanes, .arg = {a, b, c}};
	return emit_pure(l, &key, hint);
}

int emit_known(Lower *l, Key *key)
{
	key->buffer = -1;
	stamp_arguments(l->part, key);
	return find(l->part, key);
}

void note_known(Lower *l, Key *key, int temp)
{
	assert(is_here(l->part, temp));
	key->buffer = -1;
	stamp_arguments(l->part, key);
	number(l->part, key, temp, l->part->scope);
}

int const_int(Lower *l, DType type, int lanes, int64_t value)
{
	Key key = {.op = LOW_CONST, .type = type, .lanes = lanes,
		.arg = {-1, -1, -1}, .i = value};
	int temp = emit_pure(l, &key, "n");
	if (lanes == 1)
		l->part->temps.at[temp].range = interval_of(value);
	return temp;
}

int const_float(Lower *l, DType type, int lanes, double value)
{
	Key key = {.op = LOW_CONST, .type = type, .lanes = lanes,
		.arg = {-1, -1, -1}, .f = value};
	return emit_pure(l, &key, "k");
}

int const_zero(Lower *l, DType type, int lanes)
{
	return dtype_is_float(type) ? const_float(l, type, lanes, 0)
				    : const_int(l, type, lanes, 0);
}

/* --- effects ------------------------------------------------------------ */

LowNode *emit_into(Lower *l, int dst, LowOpcode op, int a, int b, int c)
{
	assert(dst >= 0 && is_here(l->part, dst));
	assert(low_op_has_result(op));
	l->part->temps.at[dst].mutable = true;
	l->part->temps.at[dst].stamp = ++l->part->stamp;
	return emit_at(l, l->part->scope, op, dst, a, b, c);
}

LowNode *emit_effect(Lower *l, LowOpcode op, int a, int b, int c)
{
	assert(!low_op_has_result(op));
	return emit_at(l, l->part->scope, op, -1, a, b, c);
}

void note_written(Lower *l, const IntVec *written)
{
	for (int i = 0; i < written->n; i++)
		l->part->version[written->at[i]]++;
}

void note_control(Lower *l)
{
	l->part->epoch = ++l->part->stamp;
}

/* --- branches ----------------------------------------------------------- */

/* What an arm assigns has another stamp from there on, and what was numbered in an
 * arm is forgotten at its end: what is known of anything else stays so. */

void branch_begin(Lower *l, Branch *b, int condition)
{
	assert(condition >= 0 && is_here(l->part, condition));
	assert(l->f->temps.at[condition].type == DT_BOOL);
	assert(l->f->temps.at[condition].lanes == 1);
	b->node = NEW(l->arena, LowNode);
	b->node->kind = LOWNODE_IF;
	b->node->dst = b->node->buffer = b->node->var = -1;
	b->node->condition = condition;
	b->scope = (Frame){.skipped = true};
	scope_open(l, &b->scope, &b->node->body);
}

void branch_else(Lower *l, Branch *b)
{
	assert(l->part->scope == &b->scope);
	scope_close(l);
	b->scope = (Frame){.skipped = true};
	scope_open(l, &b->scope, &b->node->other);
}

/* The branch before, where that asks the same and has nothing for the other case */
static LowNode *same_branch(Lower *l, const LowNode *node)
{
	const LowBody *body = l->part->scope->body;
	LowNode *last = body->n ? body->at[body->n - 1] : NULL;
	return last && last->kind == LOWNODE_IF && !last->other.n &&
		!node->other.n && last->condition == node->condition &&
		!l->part->temps.at[node->condition].mutable
	    ? last
	    : NULL;
}

void branch_end(Lower *l, Branch *b)
{
	assert(l->part->scope == &b->scope);
	scope_close(l);
	LowNode *node = b->node, *before = same_branch(l, node);
	for (int i = 0; before && i < node->body.n; i++)
		vec_push(l->arena, &before->body, node->body.at[i]);
	if (!before && (node->body.n || node->other.n))
		vec_push(l->arena, l->part->scope->body, node);
}
