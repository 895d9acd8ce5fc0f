/* The lowered form: building, printing, what the verifier refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "ir/lowered/lowered.h"

/* out[i] = a[i] * a[i] + s for i < 10, eight lanes and a masked tail */
typedef struct {
	Arena *arena;
	LowFunction f;
	int i, n, x, y, s, sv, mask;
	LowNode *loop, *load, *fma, *store, *below;
} Square;

static void affine_term(Arena *arena, LowAffine *a, int temp, int64_t c)
{
	LowTerm *term = NEW(arena, LowTerm);
	*term = (LowTerm){temp, c};
	*a = low_affine_add(arena, *a, (LowAffine){0, 1, term}, 1);
}

static LowNode *loop_node(
    Arena *arena, LowBody *body, LoopKind kind, int var, int64_t extent)
{
	LowNode *loop = NEW(arena, LowNode);
	loop->kind = LOWNODE_LOOP;
	loop->loop = kind;
	loop->var = var;
	loop->extent = extent;
	vec_push(arena, body, loop);
	return loop;
}

static void square_new(Square *q)
{
	Arena *a = arena_new();
	*q = (Square){.arena = a};
	LowFunction *f = &q->f;
	f->name = "square";
	f->nthreads = 2;
	vec_push(a, &f->params, (LowParam){.name = "a", .type = DT_F32});
	vec_push(a, &f->params,
	    (LowParam){.name = "out", .type = DT_F32, .output = true});
	vec_push(a, &f->buffers,
	    (LowBuffer){.name = "a", .type = DT_F32, .elements = 10,
		.align = 4});
	vec_push(a, &f->buffers,
	    (LowBuffer){.name = "out", .type = DT_F32, .elements = 10,
		.param = 1, .align = 4, .written = true});
	q->s = low_temp(a, f, DT_F32, 1, "s");
	low_op(a, &f->body, LOW_CONST, q->s, -1, -1, -1)->f = 0.5;
	q->i = low_temp(a, f, DT_INDEX, 1, "c.i");
	q->loop = loop_node(a, &f->body, LOOP_PARALLEL, q->i, 2);
	LowBody *body = &q->loop->body;
	q->n = low_temp(a, f, DT_INDEX, 1, "left");
	int ten = low_temp(a, f, DT_INDEX, 1, "ten");
	int eight = low_temp(a, f, DT_INDEX, 1, "eight");
	int at = low_temp(a, f, DT_INDEX, 1, "at");
	low_op(a, body, LOW_CONST, ten, -1, -1, -1)->i = 10;
	low_op(a, body, LOW_CONST, eight, -1, -1, -1)->i = 8;
	low_op(a, body, LOW_MUL, at, q->i, eight, -1);
	low_op(a, body, LOW_SUB, q->n, ten, at, -1);
	q->mask = low_temp(a, f, DT_BOOL, 8, "mask");
	q->below = low_op(a, body, LOW_LANES_BELOW, q->mask, q->n, -1, -1);
	q->x = low_temp(a, f, DT_F32, 8, "x");
	q->y = low_temp(a, f, DT_F32, 8, "y");
	q->sv = low_temp(a, f, DT_F32, 8, "sv");
	q->load = low_op(a, body, LOW_LOAD_MASKED, q->x, q->mask, -1, -1);
	q->load->buffer = 0;
	affine_term(a, &q->load->address, q->i, 8);
	low_op(a, body, LOW_BROADCAST, q->sv, q->s, -1, -1);
	q->fma = low_op(a, body, LOW_FMA, q->y, q->x, q->x, q->sv);
	q->store =
	    low_op(a, body, LOW_STORE_MASKED, -1, q->y, q->mask, -1);
	q->store->buffer = 1;
	q->store->address = q->load->address;
}

static void affine(void **state)
{
	(void)state;
	Arena *a = arena_new();
	LowAffine x = low_affine_const(3), y = low_affine_const(1);
	affine_term(a, &x, 5, 2);
	affine_term(a, &x, 2, 7);
	affine_term(a, &y, 2, 7);
	affine_term(a, &y, 5, 1);
	LowAffine sum = low_affine_add(a, x, y, -1); /* 2 + t5 */
	assert_int_equal(sum.constant, 2);
	assert_int_equal(sum.n, 1);
	assert_int_equal(sum.terms[0].temp, 5);
	assert_false(low_affine_equal(x, y));
	affine_term(a, &y, 5, 1);
	y.constant = 3;
	assert_true(low_affine_equal(x, y)); /* in whatever order */
	arena_free(a);
}

static void print(void **state)
{
	(void)state;
	static const char expected[] =
	    "kernel square(a: f32, out out: f32) threads 2 {\n"
	    "	buffer a: f32[10] a, aligned 4\n"
	    "	buffer out: f32[10] out, aligned 4, written\n"
	    "	s_0: f32 = const 0.5\n"
	    "	for parallel c_i_1 < 2 {\n"
	    "		ten_3: index = const 10\n"
	    "		eight_4: index = const 8\n"
	    "		at_5: index = mul c_i_1, eight_4\n"
	    "		left_2: index = sub ten_3, at_5\n"
	    "		mask_6: boolx8 = lanes_below left_2\n"
	    "		x_7: f32x8 = load_masked a[8*c_i_1], mask_6\n"
	    "		sv_9: f32x8 = broadcast s_0\n"
	    "		y_8: f32x8 = fma x_7, x_7, sv_9\n"
	    "		store_masked out[8*c_i_1], y_8, mask_6\n"
	    "	}\n"
	    "}\n";
	Square q;
	Buf out = {0};
	square_new(&q);
	low_function_print(&out, &q.f);
	assert_string_equal(buf_text(&out), expected);
	buf_free(&out);
	arena_free(q.arena);
}

static void captures(void **state)
{
	(void)state;
	Square q;
	IntVec read = {0};
	square_new(&q);
	lowered_captures(q.arena, &q.f, q.loop, &read);
	assert_int_equal(read.n, 1);
	assert_int_equal(read.at[0], q.s);
	arena_free(q.arena);
}

static void refused(Square *q, const char *reason)
{
	char why[256] = "";
	assert_false(low_function_verify(&q->f, why, sizeof why));
	assert_string_equal(why, reason);
	arena_free(q->arena);
	square_new(q);
}

static void verify(void **state)
{
	(void)state;
	Square q;
	char why[256];
	square_new(&q);
	assert_true(low_function_verify(&q.f, why, sizeof why));

	q.fma->arg[2] = q.s;
	refused(&q, "FMA: s_0 has 1 lanes, not 8");
	q.fma->arg[2] = q.mask;
	refused(&q, "FMA: mask_6 is bool, not f32");
	q.fma->arg[2] = q.y;
	refused(&q, "y_8 is read before it is assigned");
	for (int i = 0; i < 2; i++) { /* not as many bits; with a sign */
		int d = low_temp(
		    q.arena, &q.f, i ? DT_I8 : DT_U16, 1, "word");
		*q.fma = (LowNode){.kind = LOWNODE_OP,
		    .op = LOW_BITS,
		    .dst = d,
		    .arg = {q.mask, -1, -1},
		    .buffer = -1};
		refused(&q, "BITS: word_10");
	}
	q.fma->op = LOW_PERMUTE;
	q.fma->arg[1] = q.x;
	q.fma->arg[2] = -1;
	refused(&q, "PERMUTE: x_7 is f32, not index");
	int lanes = low_temp(q.arena, &q.f, DT_INDEX, 8, "lanes");
	q.below->op = LOW_IOTA;
	q.below->dst = lanes;
	q.f.temps.at[q.x].lanes = 1;
	*q.load = (LowNode){.kind = LOWNODE_OP,
	    .op = LOW_CONST,
	    .dst = q.x,
	    .arg = {-1, -1, -1},
	    .buffer = -1};
	q.fma->op = LOW_PERMUTE;
	q.fma->arg[0] = q.x;
	q.fma->arg[1] = lanes;
	q.fma->arg[2] = -1;
	refused(&q, "PERMUTE: x_7 has 1 lanes");
	q.load->buffer = 2;
	refused(&q, "LOAD_MASKED: no such buffer");
	q.f.buffers.at[1].written = false;
	refused(&q, "STORE_MASKED: out is not marked as written");
	q.f.buffers.at[0].written = true;
	refused(&q, "a: written, but its parameter is no output");
	q.f.buffers.at[0].type = DT_I32;
	refused(&q, "LOAD_MASKED: a is i32, x_7 is not");
	q.f.buffers.at[0].dynamic = true;
	refused(&q, "a: no piece of what a launch gives");
	q.f.nthreads = 1;
	refused(&q, "parallel loop c_i_1 in a function of one thread");
	q.loop->loop = LOOP_VECTOR;
	refused(&q, "c_i_1: a loop of this kind is not lowered");
	q.f.temps.at[q.x].lanes = 6;
	refused(&q, "x_7: 6 lanes");
	q.f.temps.at[q.x].name = "y_8";
	refused(&q, "two are named 'y_8'");
	low_op(q.arena, &q.f.body, LOW_BARRIER, -1, -1, -1, -1);
	refused(&q, "BARRIER outside of a thread block");
	static const DType types[] = {DT_F16, DT_F16, DT_F32};
	int of[3];
	for (int lanes = 4; lanes <= 8; lanes += 4) {
		for (int i = 0; i < 3; i++) {
			of[i] = low_temp(q.arena, &q.f, types[i],
			    i ? 4 : lanes, "m");
			low_op(q.arena, &q.f.body, LOW_CONST, of[i], -1, -1, -1);
		}
		low_op(q.arena, &q.f.body, LOW_MMA, of[2], of[0], of[1], of[2]);
		refused(&q, lanes == 4 ? "MMA: no fragment of m_10 and m_11"
				       : "MMA outside of a thread block");
	}
	low_op(q.arena, &q.f.body, LOW_WAIT, -1, -1, -1, -1);
	refused(&q, "WAIT outside of a thread block");
	LowNode *copy =
	    low_op(q.arena, &q.f.body, LOW_COPY_ASYNC, -1, -1, -1, -1);
	copy->buffer = 1;
	copy->source = 9;
	refused(&q, "COPY_ASYNC: no such source");
	copy = low_op(q.arena, &q.f.body, LOW_COPY_ASYNC, -1, -1, -1, -1);
	copy->buffer = 1;
	refused(&q, "COPY_ASYNC: from a to out");
	low_op(q.arena, &q.f.body, LOW_COPY, q.sv, q.y, -1, -1);
	refused(&q, "sv_9 is assigned in a parallel loop and outside of it");
	low_op(q.arena, &q.f.body, LOW_CONST, q.s, -1, -1, -1);
	refused(&q, "s_0, read in a parallel loop, is assigned more than once "
		    "outside");
	int t = low_temp(q.arena, &q.f, DT_F32, 8, "t");
	low_op(q.arena, &q.f.body, LOW_COPY, t, q.y, -1, -1);
	refused(&q, "y_8 is read before it is assigned");
	low_op(q.arena, &q.loop->body, LOW_CONST, q.i, -1, -1, -1);
	refused(&q, "c_i_1, a loop variable, is assigned");
	t = low_temp(q.arena, &q.f, DT_BF16, 1, "t");
	low_op(q.arena, &q.loop->body, LOW_CONST, t, -1, -1, -1);
	low_op(q.arena, &q.loop->body, LOW_ADD, t, t, t, -1);
	refused(&q, "ADD of bf16");
	t = low_temp(q.arena, &q.f, DT_INDEX, 1, "t");
	loop_node(q.arena, &q.loop->body, LOOP_PARALLEL, t, 2);
	refused(&q, "parallel loop t_10 stands in another");
	affine_term(q.arena, &q.load->address, q.s, 1);
	refused(&q, "s_0 in an address is no index scalar");
	arena_free(q.arena);
}

/* A product of 64 x 64 elements of a and as many of b. */
typedef struct {
	DType type, sum;
	LowBufferKind kind;
	int align, lanes;
	int64_t first;
	LowTile b;
} Wgmma;

static void product(Wgmma x, const char *reason)
{
	Square q;
	char why[256];
	square_new(&q);
	for (int i = 0; i < 2; i++)
		vec_push(q.arena, &q.f.buffers,
		    (LowBuffer){.name = i ? "b_s" : "a_s",
			.type = x.type,
			.elements = 16384,
			.kind = x.kind,
			.align = x.align});
	LowNode *loop = loop_node(q.arena, &q.f.body, LOOP_THREAD_X,
	    low_temp(q.arena, &q.f, DT_INDEX, 1, "t"), 128);
	int c = low_temp(q.arena, &q.f, x.sum, x.lanes, "c");
	low_op(q.arena, &loop->body, LOW_CONST, c, -1, -1, -1);
	LowNode *n = low_op(q.arena, &loop->body, LOW_WGMMA, c, c, -1, -1);
	const LowTile tiles[] = {{false, 0}, x.b};
	n->source = 2;
	n->buffer = 3;
	n->from.constant = x.first;
	n->tiles = arena_memdup(q.arena, tiles, sizeof tiles);
	if (reason)
		refused(&q, reason);
	else if (!low_function_verify(&q.f, why, sizeof why))
		fail_msg("%s", why);
	arena_free(q.arena);
}

static void products(void **state)
{
	const Wgmma right = {
	    DT_F16, DT_F32, LOWBUF_SHARED, 1024, 32, 512, {true, 4096}};
	Wgmma x = right;
	(void)state;
	product(x, NULL);
	x.kind = LOWBUF_LOCAL;
	product(x, "WGMMA: a_s is not shared");
	x = right, x.align = 512;
	product(x, "WGMMA: a_s is not aligned");
	x = right, x.first = 64;
	product(x, "WGMMA: a_s is not aligned");
	x = right, x.lanes = 2;
	product(x, "WGMMA: c_11 has 2 lanes");
	x = right, x.sum = DT_I32;
	product(x, "WGMMA: no product of a_s and b_s");
	x = right, x.type = DT_F32;
	product(x, "WGMMA: no product of a_s and b_s");
	x = right, x.b.next = 64;
	product(x, "WGMMA: b_s goes on after 64 elements");
	x = (Wgmma){DT_I8, DT_I32, LOWBUF_SHARED, 1024, 32, 0, {true, 8192}};
	product(x, "WGMMA: b_s, of elements of 1 bytes, lies across");
}

/* One that a warp loads of 64 elements. */
static void matrix(DType type, LowBufferKind kind, int lanes, int64_t first,
    int transposed, const char *reason)
{
	Square q;
	char why[256];
	square_new(&q);
	vec_push(q.arena, &q.f.buffers,
	    (LowBuffer){.name = "s",
		.type = type,
		.elements = 64,
		.kind = kind,
		.align = 16});
	LowNode *loop = loop_node(q.arena, &q.f.body, LOOP_THREAD_X,
	    low_temp(q.arena, &q.f, DT_INDEX, 1, "t"), 32);
	LowNode *n = low_op(q.arena, &loop->body, LOW_LOAD_MATRIX,
	    low_temp(q.arena, &q.f, type, lanes, "m"), -1, -1, -1);
	n->buffer = 2;
	n->i = transposed;
	n->address.constant = first;
	if (reason) {
		refused(&q, reason);
		arena_free(q.arena);
		return;
	}
	if (!low_function_verify(&q.f, why, sizeof why))
		fail_msg("%s", why);
	arena_free(q.arena);
}

static void matrices(void **state)
{
	(void)state;
	matrix(DT_F16, LOWBUF_SHARED, 8, 8, 1, NULL);
	matrix(DT_I8, LOWBUF_SHARED, 8, 16, 0, NULL);
	matrix(DT_F16, LOWBUF_LOCAL, 8, 8, 0, "LOAD_MATRIX: of s");
	matrix(DT_F16, LOWBUF_SHARED, 1, 8, 0,
	    "LOAD_MATRIX: 2 bytes of a thread");
	matrix(DT_F16, LOWBUF_SHARED, 16, 8, 0,
	    "LOAD_MATRIX: 32 bytes of a thread");
	matrix(DT_I8, LOWBUF_SHARED, 8, 16, 1,
	    "LOAD_MATRIX: i8 is not transposed");
	matrix(DT_F16, LOWBUF_SHARED, 8, 4, 0,
	    "LOAD_MATRIX: s is not aligned");
}

static int operate(Square *q, LowOpcode op, int a, int b)
{
	int t = low_temp(q->arena, &q->f, DT_INDEX, 1, "t");
	low_op(q->arena, &q->loop->body, op, t, a, b, -1);
	return t;
}

static int number(Square *q, int64_t value)
{
	int t = low_temp(q->arena, &q->f, DT_INDEX, 1, "n");
	low_op(q->arena, &q->loop->body, LOW_CONST, t, -1, -1, -1)->i = value;
	return t;
}

static void has_range(const Square *q, int temp, int64_t least, int64_t most)
{
	LowRange r = q->f.temps.at[temp].range;
	assert_true(r.known);
	assert_int_equal(r.least, least);
	assert_int_equal(r.most, most);
}

static void ranges(void **state)
{
	(void)state;
	Square q;
	square_new(&q); /* i: 0 .. 1 */
	int ten = number(&q, 10), eight = number(&q, 8), far;
	int minus = number(&q, -3);
	int at = operate(&q, LOW_MUL, q.i, ten);     /* 0 .. 10 */
	int down = operate(&q, LOW_MUL, at, minus);  /* -30 .. 0 */
	int row = operate(&q, LOW_FLOORDIV, down, eight);
	int column = operate(&q, LOW_MOD, down, eight);
	int same = operate(&q, LOW_MOD, q.i, eight);
	int some = operate(&q, LOW_MIN, at, eight);
	int sum = operate(&q, LOW_SUB, row, some);
	int size = operate(&q, LOW_ABS, down, -1);
	int bits = low_temp(q.arena, &q.f, DT_I32, 1, "data");
	low_op(q.arena, &q.loop->body, LOW_CONST, bits, -1, -1, -1);
	int read = operate(&q, LOW_CONVERT, bits, -1);
	far = operate(&q, LOW_MUL, read, number(&q, INT64_MAX));
	int rest = operate(&q, LOW_MOD, far, eight);
	low_ranges(&q.f);
	has_range(&q, at, 0, 10);
	has_range(&q, down, -30, 0);
	has_range(&q, row, -4, 0);
	has_range(&q, column, 0, 7);
	has_range(&q, same, 0, 1);
	has_range(&q, some, 0, 8);
	has_range(&q, sum, -12, 0);
	has_range(&q, size, 0, 30);
	has_range(&q, read, INT32_MIN, INT32_MAX);
	assert_false(q.f.temps.at[far].range.known);
	has_range(&q, rest, 0, 7);
	assert_true(low_temp_is_narrow(&q.f, down));
	assert_false(low_temp_is_narrow(&q.f, far));
	assert_false(low_temp_is_narrow(&q.f, read)); /* none to spare */
	LowAffine a = low_affine_const(5);
	affine_term(q.arena, &a, at, 100);
	affine_term(q.arena, &a, down, -1);
	assert_true(low_affine_is_narrow(&q.f, a, 4));
	assert_false(low_affine_is_narrow(&q.f, a, INT32_MAX / 1000));
	affine_term(q.arena, &a, far, 1);
	assert_false(low_affine_is_narrow(&q.f, a, 1));
	/* what is said is held to what follows */
	char why[256];
	assert_true(low_function_verify(&q.f, why, sizeof why));
	q.f.temps.at[at].range.most = 11;
	assert_true(low_function_verify(&q.f, why, sizeof why));
	q.f.temps.at[at].range.most = 9;
	assert_false(low_function_verify(&q.f, why, sizeof why));
	assert_string_equal(why, "t_13 may leave its range");
	low_op(q.arena, &q.loop->body, LOW_COPY, at, eight, -1, -1);
	low_ranges(&q.f);
	assert_false(q.f.temps.at[at].range.known); /* assigned again */
	arena_free(q.arena);
}

/* y[8*c + 8] = x[8*c + from] * x[8*c + from] * … for c < copies, x a buffer. */
static LowFunction *chains(
    Arena *a, int copies, int products, int source, int64_t from)
{
	LowFunction *f = NEW(a, LowFunction);
	f->name = "chains";
	f->nthreads = 1;
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "y" : "x";
		vec_push(a, &f->params,
		    (LowParam){.name = name, .type = DT_F32, .output = i});
		vec_push(a, &f->buffers,
		    (LowBuffer){.name = name,
			.type = DT_F32,
			.elements = 128,
			.param = i,
			.align = 4,
			.written = i});
	}
	for (int c = 0; c < copies; c++) {
		int x = low_temp(a, f, DT_F32, 8, "x"), y = x;
		LowNode *load = low_op(a, &f->body, LOW_LOAD, x, -1, -1, -1);
		load->buffer = source;
		load->address = low_affine_const(8 * c + from);
		for (int i = 0; i < products; i++) {
			int product = low_temp(a, f, DT_F32, 8, "m");
			low_op(a, &f->body, LOW_MUL, product, y, x, -1);
			y = product;
		}
		LowNode *store = low_op(a, &f->body, LOW_STORE, -1, y, -1, -1);
		store->buffer = 1;
		store->address = low_affine_const(8 * c + 8);
	}
	return f;
}

/* How many operations of one kind the body begins with. */
static int begins_alike(const LowFunction *f)
{
	int n = 0;
	while (f->body.at[n]->op == f->body.at[0]->op)
		n++;
	return n;
}

static void side_by_side(void **state)
{
	(void)state;
	static const struct {
		int copies, products, source;
		int64_t from;
		int first; /* loads */
	} cases[] = {
	    {3, 12, 0, 0, 3}, {3, 10, 0, 0, 1}, /* a short chain */
	    {3, 12, 1, 24, 3}, /* nothing is read that is written */
	    {3, 12, 1, 0, 3},  /* by another copy */
	    {3, 12, 1, -8, 1}, /* what the copy before has written */
	    {3, 12, 1, -1, 1}, /* a part of it */
	    {3, 12, 1, 7, 1},  /* of what the copy behind will write */
	    {8, 30, 0, 0, 4},
	    {8, 31, 0, 0, 8}, /* so long that none sees others */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Arena *a = arena_new();
		char why[256];
		const LowFunction *f = chains(a, cases[i].copies,
		    cases[i].products, cases[i].source, 8 + cases[i].from);
		const LowFunction *to = low_interleave(a, f);
		assert_true(low_function_verify(to, why, sizeof why));
		assert_int_equal(to->body.n, f->body.n);
		assert_int_equal(begins_alike(to), cases[i].first);
		arena_free(a);
	}
}

/* y[8*c] = (x[8*c] < 0 in any lane ? other : x[8*c])^13 for c < 3, `other` made of
 * products, or read from a buffer. */
static LowFunction *chains_that_branch(Arena *a, bool reads)
{
	LowFunction *f = chains(a, 3, 12, 0, 0);
	LowBody all = f->body;
	f->body = (LowBody){0};
	for (int i = 0; i < all.n; i++) {
		LowNode *load = all.at[i];
		vec_push(a, &f->body, load);
		if (load->op != LOW_LOAD)
			continue;
		int mask = low_temp(a, f, DT_BOOL, 8, "m");
		int any = low_temp(a, f, DT_BOOL, 1, "any");
		int other = low_temp(a, f, DT_F32, 8, "other");
		low_op(a, &f->body, LOW_LT, mask, load->dst, load->dst, -1);
		low_op(a, &f->body, LOW_ANY, any, mask, -1, -1);
		LowNode *branch = NEW(a, LowNode);
		branch->kind = LOWNODE_IF;
		branch->condition = any;
		vec_push(a, &f->body, branch);
		LowNode *make =
		    low_op(a, &branch->body, reads ? LOW_LOAD : LOW_MUL, other,
			reads ? -1 : load->dst, reads ? -1 : load->dst, -1);
		make->buffer = reads ? 0 : -1;
		low_op(a, &branch->body, LOW_COPY, load->dst, other, -1, -1);
	}
	return f;
}

static void branches_side_by_side(void **state)
{
	(void)state;
	for (int reads = 0; reads < 2; reads++) {
		Arena *a = arena_new();
		char why[256];
		const LowFunction *f = chains_that_branch(a, reads);
		const LowFunction *to = low_interleave(a, f);
		assert_true(low_function_verify(f, why, sizeof why));
		assert_true(low_function_verify(to, why, sizeof why));
		assert_int_equal(to->body.n, f->body.n);
		assert_int_equal(begins_alike(to), reads ? 1 : 3);
		for (int i = 0; i < 3 && !reads; i++)
			assert_int_equal(to->body.at[9 + i]->kind, LOWNODE_IF);
		arena_free(a);
	}
}

/* s += x[8*c]^13 for c < 3 in a loop, s begun before it; in it s is read, or each
 * copy has an earlier step, too, or one of none stands between. */
typedef enum { SUM_ALONE, SUM_READ, SUM_EARLIER, SUM_BETWEEN } SumKind;

static LowFunction *chains_of_a_sum(Arena *a, SumKind kind)
{
	LowFunction *f = chains(a, 3, 12, 0, 0);
	LowBody all = f->body;
	int sum = low_temp(a, f, DT_F32, 8, "sum");
	f->body = (LowBody){0};
	low_op(a, &f->body, LOW_CONST, sum, -1, -1, -1);
	int var = low_temp(a, f, DT_INDEX, 1, "i");
	LowNode *loop = loop_node(a, &f->body, LOOP_SERIAL, var, 2);
	for (int i = 0, copies = 0; i < all.n; i++) {
		LowNode *n = all.at[i];
		if (n->op == LOW_STORE) {
			low_op(
			    a, &loop->body, LOW_ADD, sum, sum, n->arg[0], -1);
			copies++;
		}
		if (n->op != LOW_STORE || kind == SUM_READ)
			vec_push(a, &loop->body, n);
		if (n->op == LOW_STORE && kind == SUM_READ)
			n->arg[0] = sum;
		if (n->op == LOW_LOAD && kind == SUM_EARLIER)
			low_op(a, &loop->body, LOW_ADD, sum, sum, n->dst, -1);
		if (n->op == LOW_STORE && kind == SUM_BETWEEN && copies == 1)
			low_op(a, &loop->body, LOW_ADD, sum, sum, sum, -1);
	}
	LowNode *store = low_op(a, &f->body, LOW_STORE, -1, sum, -1, -1);
	store->buffer = 1;
	return f;
}

/* Long chains stand side by side, whatever sum their ends are added to, and are so
 * in the order that they were. */
static void sums_side_by_side(void **state)
{
	(void)state;
	static const int loads[] = {[SUM_ALONE] = 3,
	    [SUM_READ] = 1,
	    [SUM_EARLIER] = 1,
	    [SUM_BETWEEN] = 1};
	for (SumKind kind = SUM_ALONE; kind <= SUM_BETWEEN; kind++) {
		Arena *a = arena_new();
		char why[256];
		float x[128], y[2][128] = {{0}};
		LowRun run = {0};
		for (int i = 0; i < 128; i++)
			x[i] = 0.9F + 0.001F * (float)(i * i % 97);
		const LowFunction *f = chains_of_a_sum(a, kind);
		const LowFunction *to = low_interleave(a, f);
		assert_true(low_function_verify(f, why, sizeof why));
		assert_true(low_function_verify(to, why, sizeof why));
		const LowFunction body = {.body = to->body.at[1]->body};
		assert_int_equal(body.body.n, f->body.at[1]->body.n);
		assert_int_equal(begins_alike(&body), loads[kind]);
		void *const given[] = {x, y[0]}, *const made[] = {x, y[1]};
		assert_true(low_function_run(f, given, &run));
		assert_true(low_function_run(to, made, &run));
		assert_memory_equal(y[0], y[1], sizeof y[0]);
		arena_free(a);
	}
}

/* y[8*c] = x[8*c]^12*s for c < copies, s the sum of all x[8*c]; or `behind` all
 * y[8*c] added up and stored once. */
static LowFunction *chains_that_share(Arena *a, int copies, bool behind)
{
	LowFunction *f = chains(a, copies, 12, 0, 0);
	LowBody all = f->body, rest = {0};
	int sum = -1;
	f->body = (LowBody){0};
	for (int i = 0; i < all.n; i++) {
		LowNode *n = all.at[i];
		bool added = n->op == (behind ? LOW_STORE : LOW_LOAD);
		int x = behind ? n->arg[0] : n->dst, first = sum;
		if (!behind && n->op == LOW_LOAD)
			vec_push(a, &f->body, n);
		else if (!behind || n->op != LOW_STORE)
			vec_push(a, behind ? &f->body : &rest, n);
		if (!added)
			continue;
		sum = first < 0 ? x : low_temp(a, f, DT_F32, 8, "sum");
		if (first >= 0)
			low_op(a, behind ? &rest : &f->body, LOW_ADD, sum,
			    first, x, -1);
	}
	for (int i = 0; i < rest.n; i++) {
		LowNode *n = rest.at[i];
		if (n->op == LOW_MUL && n->arg[0] == n->arg[1])
			n->arg[1] = sum;
		vec_push(a, &f->body, n);
	}
	if (behind)
		low_op(a, &f->body, LOW_STORE, -1, sum, -1, -1)->buffer = 1;
	return f;
}

/* As many as are put side by side at least, in front of what they share or behind
 * it. */
static void shared_side_by_side(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		Arena *a = arena_new();
		char why[256];
		float x[128], y[2][128] = {{0}};
		LowRun run = {0};
		bool behind = i % 2;
		int copies = i < 2 ? 4 : 3, n = 0;
		for (int k = 0; k < 128; k++)
			x[k] = 0.9F + 0.001F * (float)(k * k % 97);
		const LowFunction *f = chains_that_share(a, copies, behind);
		const LowFunction *to = low_interleave(a, f);
		assert_true(low_function_verify(f, why, sizeof why));
		assert_true(low_function_verify(to, why, sizeof why));
		assert_int_equal(to->body.n, f->body.n);
		LowNode *const *at = to->body.at;
		for (; at[n]->op == LOW_LOAD || at[n]->op == LOW_ADD; n++)
			;
		for (int k = 1; k < 4; k++)
			assert_int_equal(
			    at[n + k]->arg[0] != at[n + k - 1]->dst,
			    copies == 4);
		void *const given[] = {x, y[0]}, *const made[] = {x, y[1]};
		assert_true(low_function_run(f, given, &run));
		assert_true(low_function_run(to, made, &run));
		assert_memory_equal(y[0], y[1], sizeof y[0]);
		arena_free(a);
	}
}

/* A load of eight lanes from one of Square's buffers, a store of them to `out`. */
static LowNode *access_lanes(
    Square *q, LowBody *body, int buffer, int temp, bool store)
{
	LowNode *n = store ? low_op(q->arena, body, LOW_STORE, -1, temp, -1, -1)
			   : low_op(q->arena, body, LOW_LOAD, temp, -1, -1, -1);
	n->buffer = buffer;
	return n;
}

/* x = load a; store out, x; y = load BUFFER; store out, y: is x stored behind the
 * second load? */
static bool is_delayed(int buffer, bool again)
{
	Square q;
	square_new(&q);
	LowBody *body = &q.loop->body;
	*body = (LowBody){0};
	int y = again ? q.x : low_temp(q.arena, &q.f, DT_F32, 8, "y");
	access_lanes(&q, body, 0, q.x, false);
	LowNode *first = access_lanes(&q, body, 1, q.x, true);
	LowNode *load = access_lanes(&q, body, buffer, y, false);
	LowNode *last = access_lanes(&q, body, 1, y, true);
	const LowFunction *f = low_delay_stores(q.arena, &q.f);
	const LowBody *to = &f->body.at[f->body.n - 1]->body;
	bool delayed = to->at[1] == load;
	assert_int_equal(to->n, 4);
	assert_ptr_equal(to->at[delayed ? 2 : 1], first);
	assert_ptr_equal(to->at[3], last);
	assert_ptr_equal(body->at[1], first); /* what was given stays */
	arena_free(q.arena);
	return delayed;
}

static void stores(void **state)
{
	(void)state;
	assert_true(is_delayed(0, false));
	assert_false(is_delayed(1, false)); /* what is stored may be read */
	assert_false(is_delayed(0, true));  /* x is another one then */
}

/* load 8 lanes, the upper ones behind the lower ones, multiply, store the first
 * `below`: the lanes of what is stored then; 0: the mask stays. */
static int lanes_stored(int64_t below, bool again)
{
	Square q;
	char why[256];
	square_new(&q);
	Arena *a = q.arena;
	LowBody *body = &q.loop->body;
	*body = (LowBody){0};
	int *order = NEW_N(a, int, 8), u = low_temp(a, &q.f, DT_F32, 8, "u");
	for (int l = 0; l < 8; l++)
		order[l] = (l + 4) % 8;
	low_op(a, body, LOW_CONST, q.n, -1, -1, -1)->i = below;
	low_op(a, body, LOW_LANES_BELOW, q.mask, q.n, -1, -1);
	access_lanes(&q, body, 0, q.x, false);
	low_op(a, body, LOW_SHUFFLE, u, q.x, -1, -1)->shuffle = order;
	low_op(a, body, LOW_MUL, q.y, u, u, -1);
	low_op(a, body, LOW_STORE_MASKED, -1, q.y, q.mask, -1)->buffer = 1;
	if (again)
		access_lanes(&q, body, 1, q.y, true);
	const LowFunction *f = low_store_few(a, &q.f);
	assert_true(low_function_verify(f, why, sizeof why));
	body = &f->body.at[f->body.n - 1]->body;
	int lanes = 0, product = 0;
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		if (n->op == LOW_MUL)
			product = f->temps.at[n->dst].lanes;
		if (n->op == LOW_STORE && !lanes)
			lanes = f->temps.at[n->arg[0]].lanes;
	}
	assert_int_equal(product, lanes && !again ? lanes : 8);
	arena_free(a);
	return lanes;
}

static void few_stored(void **state)
{
	(void)state;
	assert_int_equal(lanes_stored(1, false), 1);
	assert_int_equal(lanes_stored(4, false), 4);
	assert_int_equal(lanes_stored(2, false), 0); /* 8 bytes */
	assert_int_equal(lanes_stored(3, false), 0);
	assert_int_equal(lanes_stored(1, true), 1); /* of the product's eight */
}

/* The first `below` of so many lanes of a type, from the `at`th element of `out` on:
 * are these the places and lanes of what is stored? */
static void check_pieces(
    DType type, int lanes, int64_t below, const char *expected)
{
	Square q;
	char why[256];
	square_new(&q);
	Arena *a = q.arena;
	LowBody *body = &q.loop->body;
	Buf stores = {0};
	*body = (LowBody){0};
	q.f.buffers.at[0].type = q.f.params.at[0].type = type;
	q.f.buffers.at[1].type = q.f.params.at[1].type = type;
	int x = low_temp(a, &q.f, type, lanes, "x"),
	    mask = low_temp(a, &q.f, DT_BOOL, lanes, "mask");
	low_op(a, body, LOW_CONST, q.n, -1, -1, -1)->i = below;
	low_op(a, body, LOW_LANES_BELOW, mask, q.n, -1, -1);
	access_lanes(&q, body, 0, x, false);
	LowNode *store = low_op(a, body, LOW_STORE_MASKED, -1, x, mask, -1);
	store->buffer = 1;
	store->address = low_affine_const(3);
	const LowFunction *f = low_store_few(a, &q.f);
	assert_true(low_function_verify(f, why, sizeof why));
	body = &f->body.at[f->body.n - 1]->body;
	for (int i = 0; i < body->n; i++)
		if (body->at[i]->op == LOW_STORE)
			buf_printf(&stores, " %d+%d",
			    (int)body->at[i]->address.constant,
			    f->temps.at[body->at[i]->arg[0]].lanes);
	assert_string_equal(buf_text(&stores), expected);
	buf_free(&stores);
	arena_free(a);
}

static void pieces_stored(void **state)
{
	(void)state;
	check_pieces(DT_U8, 32, 28, " 3+16 19+8 27+4");
	check_pieces(DT_U8, 32, 16, " 3+16");
	check_pieces(DT_I8, 32, 5, " 3+4 7+1");
	check_pieces(DT_F16, 8, 7, " 3+4 7+2 9+1");
	check_pieces(DT_I16, 4, 1, " 3+1");
	check_pieces(DT_F32, 8, 7, "");
	check_pieces(DT_U8, 32, 32, "");
}

/* y[l] = x[clamp(c[l], 0, 3)*step], of 8 lanes; `apart`: a lane of the offsets is
 * read as an index, too. */
static LowFunction *gathered(Arena *a, int64_t step, bool apart)
{
	static const char *const names[] = {"c", "x", "y"};
	LowFunction *f = NEW(a, LowFunction);
	int t[8];
	f->name = "gathered";
	f->nthreads = 1;
	for (int i = 0; i < 3; i++) {
		DType type = i ? DT_F32 : DT_I32;
		vec_push(a, &f->params,
		    (LowParam){
			.name = names[i], .type = type, .output = i == 2});
		vec_push(a, &f->buffers,
		    (LowBuffer){.name = names[i],
			.type = type,
			.param = i,
			.elements = 16,
			.align = 4,
			.written = i == 2});
	}
	for (int i = 0; i < 8; i++)
		t[i] = low_temp(a, f,
		    i == 0	       ? DT_I32
			: i == 6 ? DT_F32
				       : DT_INDEX,
		    i == 7 ? 1 : 8, "t");
	low_op(a, &f->body, LOW_LOAD, t[0], -1, -1, -1)->buffer = 0;
	low_op(a, &f->body, LOW_CONVERT, t[1], t[0], -1, -1);
	low_op(a, &f->body, LOW_CONST, t[2], -1, -1, -1)->i = 0;
	low_op(a, &f->body, LOW_MAX, t[3], t[1], t[2], -1);
	low_op(a, &f->body, LOW_CONST, t[7], -1, -1, -1)->i = 3;
	low_op(a, &f->body, LOW_BROADCAST, t[4], t[7], -1, -1);
	int least = low_temp(a, f, DT_INDEX, 8, "least");
	low_op(a, &f->body, LOW_MIN, least, t[3], t[4], -1);
	int by = low_temp(a, f, DT_INDEX, 8, "by");
	low_op(a, &f->body, LOW_CONST, by, -1, -1, -1)->i = step;
	low_op(a, &f->body, LOW_MUL, t[5], least, by, -1);
	low_op(a, &f->body, LOW_GATHER, t[6], t[5], -1, -1)->buffer = 1;
	low_op(a, &f->body, LOW_STORE, -1, t[6], -1, -1)->buffer = 2;
	if (apart) {
		int lane = low_temp(a, f, DT_INDEX, 1, "lane");
		low_op(a, &f->body, LOW_EXTRACT, lane, t[5], -1, -1)->i = 1;
	}
	return f;
}

static int vectors_of(const LowFunction *f, DType type)
{
	int count = 0;
	for (int i = 0; i < f->body.n; i++) {
		const LowNode *n = f->body.at[i];
		count += n->dst >= 0 && f->temps.at[n->dst].lanes > 1 &&
		    f->temps.at[n->dst].type == type;
	}
	return count;
}

static void narrow_indices(void **state)
{
	(void)state;
	static const struct {
		int64_t step;
		bool apart;
		int indices; /* vectors that are left */
	} cases[] = {
	    {5, false, 0},
	    {5, true, 1}, /* as it was, for the one lane */
	    {INT32_MAX, false, 7}, /* all: the product does not fit */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Arena *a = arena_new();
		char why[256];
		const LowFunction *f =
		    gathered(a, cases[i].step, cases[i].apart);
		const LowFunction *to = low_narrow(a, f);
		assert_true(low_function_verify(f, why, sizeof why));
		assert_true(low_function_verify(to, why, sizeof why));
		assert_int_equal(vectors_of(to, DT_INDEX), cases[i].indices);
		int32_t c[16] = {0, 1, 2, 3, -1, 4, INT32_MIN, INT32_MAX};
		float x[16], y[16] = {0};
		for (int k = 0; k < 16; k++)
			x[k] = (float)k;
		void *const args[] = {c, x, y};
		LowRun run = {0};
		if (cases[i].step < 6) {
			assert_true(low_function_run(to, args, &run));
			for (int k = 0; k < 8; k++)
				assert_true(y[k] ==
				    x[5 * (c[k] < 0 ? 0 : c[k] > 3 ? 3 : c[k])]);
		}
		arena_free(a);
	}
}

/* So many sums of x[0]*x[0] in all lanes, twice; x[0] is written, or not. */
static LowFunction *sums(Arena *a, int count, bool written)
{
	LowFunction *f = NEW(a, LowFunction);
	int x = low_temp(a, f, DT_F32, 1, "x"), sum[16];
	int all = low_temp(a, f, DT_F32, 8, "all");
	f->name = "sums";
	f->nthreads = 1;
	vec_push(a, &f->params,
	    (LowParam){.name = "x", .type = DT_F32, .output = written});
	vec_push(a, &f->buffers,
	    (LowBuffer){.name = "x",
		.type = DT_F32,
		.elements = 1,
		.align = 4,
		.written = written});
	for (int i = 0; i < count; i++) {
		sum[i] = low_temp(a, f, DT_F32, 8, "sum");
		low_op(a, &f->body, LOW_CONST, sum[i], -1, -1, -1);
	}
	low_op(a, &f->body, LOW_LOAD, x, -1, -1, -1)->buffer = 0;
	low_op(a, &f->body, LOW_BROADCAST, all, x, -1, -1);
	for (int i = 0; i < 2 * count; i++)
		if (i % count < 2)
			low_op(a, &f->body, LOW_FMA, sum[i % count], all, all,
			    sum[i % count]);
		else
			low_op(a, &f->body, LOW_ADD, sum[i % count],
			    sum[i % count], sum[i % count], -1);
	return f;
}

static void read_again(void **state)
{
	(void)state;
	static const struct {
		int sums, registers;
		bool written;
		int more; /* operations */
	} cases[] = {
	    {10, 8, false, 3},	/* a mark, a load, all lanes */
	    {10, 13, false, 0}, /* enough registers */
	    {10, 12, false, 3}, /* but two for what instructions read */
	    {10, 8, true, 0},	/* may be another number */
	    {6, 4, false, 0},	/* the other use is near */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Arena *a = arena_new();
		char why[256];
		const LowFunction *f = sums(a, cases[i].sums, cases[i].written);
		const LowFunction *to = low_again(a, f, cases[i].registers, 32);
		assert_true(low_function_verify(to, why, sizeof why));
		assert_int_equal(to->body.n - f->body.n, cases[i].more);
		arena_free(a);
	}
}

static int load_of(Arena *a, LowFunction *f, int buffer, int at)
{
	int to = low_temp(a, f, DT_F32, 8, "loaded");
	LowNode *n = low_op(a, &f->body, LOW_LOAD, to, -1, -1, -1);
	n->buffer = buffer;
	n->address = low_affine_const(8 * at);
	return to;
}

/* Sums of so many neighbours under a window of three, as lanes of eight:
 * y[i] = x[i]*w[0] + x[i + 1]*w[1] + x[i + 2]*w[2]; each x is loaded once. */
static LowFunction *window(Arena *a, int count, bool written)
{
	LowFunction *f = NEW(a, LowFunction);
	int sum[16], x[18] = {0};
	f->name = "window";
	f->nthreads = 1;
	for (int i = 0; i < 2; i++) {
		const char *name = i ? "w" : "x";
		vec_push(a, &f->params,
		    (LowParam){.name = name, .type = DT_F32, .output = true});
		vec_push(a, &f->buffers,
		    (LowBuffer){.name = name,
			.type = DT_F32,
			.elements = 256,
			.param = i,
			.align = 4,
			.written = written});
	}
	for (int i = 0; i < count; i++) {
		sum[i] = low_temp(a, f, DT_F32, 8, "sum");
		low_op(a, &f->body, LOW_CONST, sum[i], -1, -1, -1);
	}
	for (int q = 0; q < 3; q++) {
		int w = load_of(a, f, 1, q);
		for (int i = 0; i < count; i++) {
			if (!x[i + q])
				x[i + q] = load_of(a, f, 0, i + q);
			low_op(
			    a, &f->body, LOW_FMA, sum[i], x[i + q], w, sum[i]);
		}
	}
	return f;
}

/* The most vectors that have been loaded and are still to be read. */
static int most_loaded(const LowFunction *f)
{
	int most = 0;
	for (int at = 0; at < f->body.n; at++) {
		int n = 0;
		for (int i = 0; i <= at; i++) {
			const LowNode *load = f->body.at[i];
			bool read = false;
			for (int k = at + 1; k < f->body.n; k++)
				read |= f->body.at[k]->op == LOW_FMA &&
				    (f->body.at[k]->arg[0] == load->dst ||
					f->body.at[k]->arg[1] == load->dst);
			n += load->op == LOW_LOAD && read;
		}
		most = n > most ? n : most;
	}
	return most;
}

/* Of eight sums the next step reads seven vectors again, or all of them read three
 * weights. */
static void order(void **state)
{
	(void)state;
	static const struct {
		int registers, most;
	} cases[] = {
	    {32, 8}, /* enough */
	    {12, 5}, /* eight sums and these, nearly */
	    {8, 8},  /* too many in any order */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Arena *a = arena_new();
		char why[256];
		const LowFunction *f = window(a, 8, i == 1);
		assert_int_equal(most_loaded(f), 8);
		const LowFunction *to = low_order(a, f, cases[i].registers, 32);
		assert_true(low_function_verify(to, why, sizeof why));
		assert_int_equal(to->body.n, f->body.n);
		assert_int_equal(most_loaded(to), cases[i].most);
		arena_free(a);
	}
}

/* So many numbers, of which each is added to one of some sums in turn and read
 * again or not; or products. */
static LowFunction *terms(
    Arena *a, int count, int nsums, DType type, LowOpcode term)
{
	LowFunction *f = NEW(a, LowFunction);
	int sum[8], x = low_temp(a, f, type, 8, "x");
	f->name = "terms";
	f->nthreads = 1;
	low_op(a, &f->body, LOW_CONST, x, -1, -1, -1);
	for (int i = 0; i < nsums; i++) {
		sum[i] = low_temp(a, f, type, 8, "sum");
		low_op(a, &f->body, LOW_CONST, sum[i], -1, -1, -1);
	}
	for (int i = 0; i < count; i++) {
		int t = low_temp(a, f, type, 8, "t"), to = sum[i % nsums];
		low_op(a, &f->body, term, t, x, term == LOW_ABS ? -1 : x, -1);
		low_op(a, &f->body, LOW_ADD, to, to, t, -1);
	}
	return f;
}

/* Additions of two terms. */
static int pairs_of(const LowFunction *f)
{
	int n = 0;
	for (int i = 0; i < f->body.n; i++) {
		const LowNode *o = f->body.at[i];
		n += o->op == LOW_ADD && o->dst != o->arg[0];
	}
	return n;
}

static void sums_by_pairs(void **state)
{
	(void)state;
	static const struct {
		int count, sums;
		DType type;
		LowOpcode term;
		int pairs;
	} cases[] = {
	    {4, 1, DT_I32, LOW_ABS, 2}, {5, 1, DT_I32, LOW_ABS, 2},
	    {2, 1, DT_I32, LOW_ABS, 0},	 /* short */
	    {12, 3, DT_I16, LOW_ABS, 6}, /* side by side */
	    {40, 4, DT_I32, LOW_ABS, 0}, /* enough of them */
	    {8, 1, DT_I32, LOW_MUL, 0},	 /* products */
	    {8, 1, DT_F32, LOW_ABS, 0},	 /* in this order */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Arena *a = arena_new();
		char why[256];
		const LowFunction *f = terms(a, cases[i].count, cases[i].sums,
		    cases[i].type, cases[i].term);
		const LowFunction *to = low_pair_sums(a, f);
		assert_true(low_function_verify(to, why, sizeof why));
		assert_int_equal(to->body.n, f->body.n);
		assert_int_equal(pairs_of(to), cases[i].pairs);
		arena_free(a);
	}
}

/* s += |x|, s += |x|, y = s, s += |x|, s += |x|, and once more: the sum is read as
 * it is in the middle. */
static void sums_in_use(void **state)
{
	(void)state;
	Arena *a = arena_new();
	char why[256];
	LowFunction *f = terms(a, 5, 1, DT_I32, LOW_ABS);
	int y = low_temp(a, f, DT_I32, 8, "y");
	LowNode *read = low_op(a, &f->body, LOW_COPY, y, 1, -1, -1);
	f->body.n--;
	vec_push(a, &f->body, NULL);
	for (int i = f->body.n - 1; i > 4; i--)
		f->body.at[i] = f->body.at[i - 1];
	f->body.at[4] = read; /* behind the first term */
	const LowFunction *to = low_pair_sums(a, f);
	assert_true(low_function_verify(to, why, sizeof why));
	assert_int_equal(pairs_of(to), 2);
	assert_int_equal(to->body.at[3]->op, LOW_ADD); /* the first, alone */
	assert_ptr_equal(to->body.at[4], read);
	arena_free(a);
}

/* select m, i8(w), ARM where ARM is a byte in all lanes, a number, i8(w2) of another
 * type's lanes, or what was loaded: is the choice made before? */
typedef enum { ARM_BYTE, ARM_NUMBER, ARM_WIDE, ARM_LOADED } Arm;

static bool chooses_wide(Arm arm, DType wide, DType other, int lanes)
{
	Arena *a = arena_new();
	LowFunction *f = NEW(a, LowFunction);
	char why[256];
	f->name = "choice";
	f->nthreads = 1;
	int w = low_temp(a, f, wide, lanes, "w"),
	    x = low_temp(a, f, DT_I8, 1, "x");
	int u = low_temp(a, f, other, lanes, "u");
	int m = low_temp(a, f, DT_BOOL, lanes, "m");
	int v = low_temp(a, f, DT_I8, lanes, "v");
	int narrow = low_temp(a, f, DT_I8, lanes, "narrow");
	int b = low_temp(a, f, DT_I8, lanes, "b");
	low_op(a, &f->body, LOW_CONST, w, -1, -1, -1);
	low_op(a, &f->body, LOW_CONST, u, -1, -1, -1);
	low_op(a, &f->body, LOW_CONST, x, -1, -1, -1);
	low_op(a, &f->body, LOW_LT, m, w, w, -1);
	low_op(a, &f->body, LOW_CONVERT, narrow, w, -1, -1);
	if (arm == ARM_BYTE)
		low_op(a, &f->body, LOW_BROADCAST, b, x, -1, -1);
	else if (arm == ARM_NUMBER)
		low_op(a, &f->body, LOW_CONST, b, -1, -1, -1)->i = 3;
	else if (arm == ARM_WIDE)
		low_op(a, &f->body, LOW_CONVERT, b, u, -1, -1);
	else
		low_op(a, &f->body, LOW_ABS, b, narrow, -1, -1);
	low_op(a, &f->body, LOW_SELECT, v, m, narrow, b);
	const LowFunction *to = low_choose_wide(a, f, 32);
	assert_true(low_function_verify(to, why, sizeof why));
	const LowNode *last = to->body.at[to->body.n - 1];
	bool before = last->op == LOW_CONVERT && last->dst == v;
	assert_true(before || last->op == LOW_SELECT);
	arena_free(a);
	return before;
}

static void choices(void **state)
{
	(void)state;
	assert_true(chooses_wide(ARM_BYTE, DT_I32, DT_I32, 8));
	assert_true(chooses_wide(ARM_NUMBER, DT_I16, DT_I32, 8));
	assert_true(chooses_wide(ARM_WIDE, DT_I32, DT_I32, 8));
	assert_false(chooses_wide(ARM_WIDE, DT_I32, DT_I16, 8));
	assert_false(chooses_wide(ARM_LOADED, DT_I32, DT_I32, 8));
	assert_false(chooses_wide(ARM_BYTE, DT_I32, DT_I32, 16)); /* 64 bytes */
	assert_false(chooses_wide(ARM_BYTE, DT_F32, DT_I32, 8));
}

/* select m, a, b where m is 5 + lane % 4 < `below`, or lanes of data that are, and b a
 * vector or a number: the operation that chooses. */
static LowNode *choice_by(Arena *a, bool known, int number, int64_t below)
{
	LowFunction *f = NEW(a, LowFunction);
	char why[256];
	f->name = "known";
	f->nthreads = 1;
	int five = low_temp(a, f, DT_INDEX, 1, "five");
	int i = low_temp(a, f, DT_INDEX, 8, "i");
	int four = low_temp(a, f, DT_INDEX, 8, "four");
	int r = low_temp(a, f, DT_INDEX, 8, "r");
	int n = low_temp(a, f, DT_INDEX, 8, "n");
	int m = low_temp(a, f, DT_BOOL, 8, "m");
	int one = low_temp(a, f, DT_U8, 8, "one");
	int x = low_temp(a, f, DT_U8, 8, "x"),
	    y = low_temp(a, f, DT_U8, 8, "y");
	int v = low_temp(a, f, DT_U8, 8, "v");
	low_op(a, &f->body, LOW_CONST, five, -1, -1, -1)->i = 5;
	low_op(a, &f->body, LOW_CONST, four, -1, -1, -1)->i = 4;
	low_op(a, &f->body, LOW_CONST, n, -1, -1, -1)->i = below;
	if (known)
		low_op(a, &f->body, LOW_IOTA, i, five, -1, -1);
	else
		low_op(a, &f->body, LOW_XOR, i, four, n, -1);
	low_op(a, &f->body, LOW_MOD, r, i, four, -1);
	low_op(a, &f->body, LOW_LT, m, r, n, -1);
	low_op(a, &f->body, LOW_CONST, one, -1, -1, -1)->i = 1;
	low_op(a, &f->body, LOW_XOR, x, one, one, -1);
	if (number >= 0)
		low_op(a, &f->body, LOW_CONST, y, -1, -1, -1)->i = number;
	else
		low_op(a, &f->body, LOW_XOR, y, x, one, -1);
	low_op(a, &f->body, LOW_SELECT, v, m, x, y);
	const LowFunction *to = low_choose_known(a, f);
	assert_true(low_function_verify(to, why, sizeof why));
	return to->body.at[to->body.n - 1];
}

static void known_choices(void **state)
{
	static const int want[] = {0, 9, 10, 3, 4, 13, 14, 7};
	Arena *a = arena_new();
	(void)state;
	LowNode *n = choice_by(a, true, -1, 2); /* 1 2 3 0 1 2 3 0 */
	assert_int_equal(n->op, LOW_SHUFFLE);
	assert_memory_equal(n->shuffle, want, sizeof want);
	n = choice_by(a, true, -1, 4);
	assert_int_equal(n->op, LOW_COPY);
	assert_int_equal(choice_by(a, true, 0, 2)->op, LOW_SELECT);
	assert_int_equal(choice_by(a, true, 7, 2)->op, LOW_SHUFFLE);
	assert_int_equal(choice_by(a, false, -1, 2)->op, LOW_SELECT);
	arena_free(a);
}

/* Lanes `by` apart of two vectors of 16 bytes, from each of the first `parts` ones,
 * converted to i32: the function with parts of words. */
static const LowFunction *parts_of(
    Arena *a, DType type, int by, int parts, bool swapped, int bytes)
{
	LowFunction *f = NEW(a, LowFunction);
	int lanes = 16 / dtype_bytes(type), x[2];
	f->name = "parts";
	f->nthreads = 1;
	for (int i = 0; i < 2; i++) {
		x[i] = low_temp(a, f, type, lanes, "x");
		low_op(a, &f->body, LOW_CONST, x[i], -1, -1, -1)->i = i + 5;
	}
	for (int r = 0; r < parts; r++) {
		int n = 2 * lanes / by, *order = NEW_N(a, int, n);
		int s = low_temp(a, f, type, n, "s");
		int d = low_temp(a, f, DT_I32, n, "d");
		for (int l = 0; l < n; l++)
			order[l] = by * l + r;
		low_op(a, &f->body, LOW_SHUFFLE, s, x[swapped], x[!swapped], -1)
		    ->shuffle = order;
		low_op(a, &f->body, LOW_CONVERT, d, s, -1, -1);
	}
	return low_split_words(a, f, bytes);
}

/* Four vectors of four bytes, read from `at`, joined by twos: how many of the three
 * shuffles are loads, fewer than 0 where the last is none.  `set`: what is added to
 * the addresses is assigned twice. */
static int joined_loads(const int at[4], bool written, bool set, int bytes)
{
	Arena *a = arena_new();
	LowFunction *f = NEW(a, LowFunction);
	int part[4], half[2], i = low_temp(a, f, DT_INDEX, 1, "i");
	char why[256];
	f->name = "joined";
	f->nthreads = 1;
	vec_push(a, &f->params,
	    (LowParam){.name = "x", .type = DT_U8, .output = written});
	vec_push(a, &f->buffers,
	    (LowBuffer){.name = "x",
		.type = DT_U8,
		.elements = 64,
		.align = 1,
		.written = written});
	for (int k = 0; k < 1 + set; k++)
		low_op(a, &f->body, LOW_CONST, i, -1, -1, -1)->i = k;
	for (int k = 0; k < 4; k++) {
		part[k] = low_temp(a, f, DT_U8, 4, "part");
		LowNode *n = low_op(a, &f->body, LOW_LOAD, part[k], -1, -1, -1);
		n->buffer = 0;
		affine_term(a, &n->address, i, 1);
		n->address.constant = at[k];
	}
	int order[16];
	for (int l = 0; l < 16; l++)
		order[l] = l;
	for (int k = 0; k < 3; k++) {
		int d = low_temp(a, f, DT_U8, k < 2 ? 8 : 16, "d");
		const int *of = k < 2 ? part + 2 * k : half;
		low_op(a, &f->body, LOW_SHUFFLE, d, of[0], of[1], -1)->shuffle =
		    arena_memdup(a, order, sizeof order);
		if (k < 2)
			half[k] = d;
	}
	const LowFunction *to = low_load_joined(a, f, bytes);
	assert_true(low_function_verify(to, why, sizeof why));
	int last = to->body.at[to->body.n - 1]->op == LOW_LOAD, loads = 0;
	for (int k = to->body.n - 3; k < to->body.n; k++) {
		const LowNode *n = to->body.at[k];
		loads += n->op == LOW_LOAD;
		if (n->op == LOW_LOAD)
			assert_int_equal(
			    n->address.constant, at[n->dst == half[1] ? 2 : 0]);
	}
	arena_free(a);
	return last ? loads : -loads;
}

static void loads_joined(void **state)
{
	(void)state;
	static const int row[4] = {3, 7, 11, 15}, two[4] = {3, 7, 15, 19};
	static const int back[4] = {7, 3, 11, 15};
	assert_int_equal(joined_loads(row, false, false, 16), 3);
	assert_int_equal(joined_loads(row, false, false, 8), -2);
	assert_int_equal(joined_loads(two, false, false, 16), -2);
	assert_int_equal(joined_loads(back, false, false, 16), -1);
	assert_int_equal(joined_loads(row, true, false, 16), 0);
	assert_int_equal(joined_loads(row, false, true, 16), 0);
}

static int count_of(const LowFunction *f, LowOpcode op)
{
	int n = 0;
	for (int i = 0; i < f->body.n; i++)
		n += f->body.at[i]->op == op;
	return n;
}

static void parts_of_words(void **state)
{
	(void)state;
	static const struct {
		DType type;
		int by, parts;
		bool swapped;
		int bytes, words; /* vectors of words */
		int mod, floordiv, mul;
	} cases[] = {
	    {DT_U8, 4, 4, false, 32, 1, 4, 3, 0},
	    {DT_U8, 4, 1, true, 32, 1, 1, 0, 0},
	    {DT_I8, 4, 4, false, 64, 1, 0, 4, 3},
	    {DT_I16, 2, 2, false, 32, 1, 0, 2, 1},
	    {DT_U8, 4, 4, false, 16, 1, 4, 3, 0},
	    {DT_U8, 4, 4, false, 8, 0, 0, 0, 0},   /* wider than two of that */
	    {DT_U8, 2, 2, false, 64, 0, 0, 0, 0},  /* no word apart */
	    {DT_I16, 4, 1, false, 64, 0, 0, 0, 0}, /* two words apart */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Arena *a = arena_new();
		char why[256];
		const LowFunction *f = parts_of(a, cases[i].type, cases[i].by,
		    cases[i].parts, cases[i].swapped, cases[i].bytes);
		assert_true(low_function_verify(f, why, sizeof why));
		assert_int_equal(count_of(f, LOW_BITS), cases[i].words);
		assert_int_equal(count_of(f, LOW_MOD), cases[i].mod);
		assert_int_equal(count_of(f, LOW_FLOORDIV), cases[i].floordiv);
		assert_int_equal(count_of(f, LOW_MUL), cases[i].mul);
		assert_int_equal(count_of(f, LOW_CONVERT),
		    cases[i].words ? 0 : cases[i].parts);
		arena_free(a);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(affine),
	    cmocka_unit_test(print),
	    cmocka_unit_test(captures),
	    cmocka_unit_test(verify),
	    cmocka_unit_test(matrices),
	    cmocka_unit_test(products),
	    cmocka_unit_test(ranges),
	    cmocka_unit_test(side_by_side),
	    cmocka_unit_test(branches_side_by_side),
	    cmocka_unit_test(sums_side_by_side),
	    cmocka_unit_test(shared_side_by_side),
	    cmocka_unit_test(stores),
	    cmocka_unit_test(read_again),
	    cmocka_unit_test(order),
	    cmocka_unit_test(sums_by_pairs),
	    cmocka_unit_test(sums_in_use),
	    cmocka_unit_test(choices),
	    cmocka_unit_test(known_choices),
	    cmocka_unit_test(loads_joined),
	    cmocka_unit_test(few_stored),
	    cmocka_unit_test(pieces_stored),
	    cmocka_unit_test(narrow_indices),
	    cmocka_unit_test(parts_of_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
