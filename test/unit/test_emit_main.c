/* The header and the driver of a kernel: a small matrix product with a packed
 * operand, compiled and run; the driver finds a wrong kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "test/common_program.h"

enum { M = 3, N = 5, K = 7 };

static char folder[] = "/tmp/tunec-emit-main-XXXXXX";

static int index_temp(Arena *a, LowFunction *f, const char *name)
{
	return low_temp(a, f, DT_INDEX, 1, name);
}

static LowNode *loop(Arena *a, LowBody *body, int var, int64_t extent)
{
	LowNode *n = NEW(a, LowNode);
	n->kind = LOWNODE_LOOP;
	n->var = var;
	n->extent = extent;
	n->condition = -1;
	vec_push(a, body, n);
	return n;
}

static LowAffine place(Arena *a, int i, int64_t stride, int j)
{
	LowAffine p = {.n = 2, .terms = NEW_N(a, LowTerm, 2)};
	p.terms[0] = (LowTerm){i, stride};
	p.terms[1] = (LowTerm){j, 1};
	return p;
}

static void param(Arena *a, LowFunction *f, LowParam p, int64_t elements)
{
	vec_push(a, &f->params, p);
	if (p.workspace)
		return;
	LowBuffer b = {.name = p.name, .type = p.type, .elements = elements,
	    .param = f->params.n - 1, .align = 4, .written = p.output};
	vec_push(a, &f->buffers, b);
}

static LowNode *op(Arena *a, LowBody *body, LowOpcode code, int dst, int x,
    int y, int z, int buffer)
{
	LowNode *n = low_op(a, body, code, dst, x, y, z);
	n->buffer = buffer;
	return n;
}

/* packed = b, element by element */
static LowFunction *pack(Arena *a)
{
	LowFunction *f = NEW(a, LowFunction);
	f->name = "mm_pack_b";
	f->role = LOWFN_PACK;
	f->pack_input = 1;
	f->nthreads = 1;
	param(a, f, (LowParam){.name = "b", .type = DT_F32}, K * N);
	param(a, f, (LowParam){.name = "packed", .type = DT_F32, .output = true},
	    K * N);
	int i = index_temp(a, f, "i"), t = low_temp(a, f, DT_F32, 1, "t");
	LowNode *l = loop(a, &f->body, i, K * N);
	LowAffine at = {.n = 1, .terms = NEW(a, LowTerm)};
	at.terms[0] = (LowTerm){i, 1};
	op(a, &l->body, LOW_LOAD, t, -1, -1, -1, 0)->address = at;
	op(a, &l->body, LOW_STORE, -1, t, -1, -1, 1)->address = at;
	return f;
}

static LowFunction *kernel(Arena *a, double start)
{
	LowFunction *f = NEW(a, LowFunction);
	f->name = "mm";
	f->nthreads = 1;
	param(a, f, (LowParam){.name = "a", .type = DT_F32}, M * K);
	param(a, f, (LowParam){.name = "b", .type = DT_F32,
			.is_const_input = true}, K * N);
	f->buffers.at[1].name = "packed_b";
	param(a, f, (LowParam){.name = "c", .type = DT_F32, .output = true},
	    M * N);
	param(a, f, (LowParam){.name = "workspace", .workspace = true}, 0);
	int i = index_temp(a, f, "i"), j = index_temp(a, f, "j");
	int k = index_temp(a, f, "k"), sum = low_temp(a, f, DT_F32, 1, "sum");
	int x = low_temp(a, f, DT_F32, 1, "x");
	int y = low_temp(a, f, DT_F32, 1, "y");
	int z = low_temp(a, f, DT_F32, 1, "z");
	LowNode *li = loop(a, &f->body, i, M), *lj = loop(a, &li->body, j, N);
	op(a, &lj->body, LOW_CONST, sum, -1, -1, -1, -1)->f = start;
	LowNode *lk = loop(a, &lj->body, k, K);
	op(a, &lk->body, LOW_LOAD, x, -1, -1, -1, 0)->address =
	    place(a, i, K, k);
	op(a, &lk->body, LOW_LOAD, y, -1, -1, -1, 1)->address =
	    place(a, k, N, j);
	op(a, &lk->body, LOW_MUL, z, x, y, -1, -1);
	op(a, &lk->body, LOW_ADD, sum, sum, z, -1, -1);
	op(a, &lj->body, LOW_STORE, -1, sum, -1, -1, 2)->address =
	    place(a, i, N, j);
	return f;
}

static void put_file(const char *name, Buf *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fwrite(text->data, 1, text->size, file);
	fclose(file);
	buf_free(text);
}

static int run(const char *command)
{
	Buf text = {0};
	buf_printf(&text, "cd %s && { %s; } >/dev/null 2>&1", folder, command);
	int status = system(text.data);
	buf_free(&text);
	return status;
}

static Lowered *make(Arena *arena, double start)
{
	Lowered *l = NEW(arena, Lowered);
	Program *p = program_matmul(arena, M, N, K);
	p->name = p->symbol = "mm";
	p->case_name = p->doc = "";
	p->flops = 2 * M * N * K;
	l->program = p;
	l->kernel = kernel(arena, start);
	vec_push(arena, &l->packs, pack(arena));
	l->packed_bytes = NEW(arena, int64_t);
	l->packed_bytes[0] = K * N * 4;
	return l;
}

static void write_all(const Lowered *l, const char *target_text)
{
	Arena *arena = arena_new();
	Error error = {0};
	Target *target = target_parse(arena, target_text, &error);
	assert_non_null(target);
	EmitComment comment = {target->text, "0123456789abcdef", "1 ms"};
	Buf c = {0}, h = {0}, driver = {0};
	emit_c(&c, l, target, &comment);
	emit_header(&h, l, target, &comment);
	emit_main(&driver, l, target, 2.0 * M * N * K);
	put_file("mm.c", &c);
	put_file("mm.h", &h);
	put_file("mm_main.c", &driver);
	arena_free(arena);
}

#define FLAGS " -Wall -Wextra -Werror -pedantic "

static void driver_accepts(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	char why[128];
	Lowered *l = make(arena, 0);
	assert_true(lowered_verify(l, why, sizeof why));
	write_all(l, "c");
	assert_int_equal(
	    run("cc -std=c11" FLAGS "mm.c mm_main.c -lm -o t && ./t"), 0);
	assert_int_equal(run("./t | grep -q 'mm: ok.*GFLOP/s'"), 0);
	arena_free(arena);
}

static void driver_refuses(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	write_all(make(arena, 0.5), "c");
	assert_int_equal(run("cc" FLAGS "mm.c mm_main.c -lm -o t"), 0);
	assert_int_not_equal(run("./t"), 0);
	/* of special inputs and of uniform ones */
	assert_int_equal(run("./t | grep -q '^mm: wrong: 30 elements'"), 0);
	arena_free(arena);
}

static void header(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	write_all(make(arena, 0), "llvm -mcpu=haswell -threads=1");
	assert_int_equal(run(
	    "printf '#include \"mm.h\"\\n#include \"mm.h\"\\n"
	    "int x = MM_PACKED_B_BYTES + MM_WORKSPACE_BYTES;\\n' >h.c &&"
	    "cp h.c h.cc && cc" FLAGS "-c h.c && "
	    "clang-14 -x c++" FLAGS "-fsyntax-only h.cc"), 0);
	assert_int_equal(run(
	    "grep -q '^void mm(const float \\*a, const void \\*b, float \\*c, "
	    "void \\*workspace);$' mm.h && "
	    "grep -q '^void mm_pack_b(const float \\*b, void \\*packed);$' mm.h && "
	    "grep -q '^#define MM_PACKED_B_BYTES 140$' mm.h && "
	    "grep -q '^#define MM_WORKSPACE_BYTES 0$' mm.h && "
	    "grep -q 'record: 0123456789abcdef' mm.h && "
	    "grep -q 'measured: 1 ms' mm.h"), 0);
	arena_free(arena);
}

/* c[i, ..] = 2 rows of 2 vectors, rows in parallel, the tail of the columns by
 * a mask: most of what a kernel's text has. */
static LowFunction *tile(Arena *a)
{
	LowFunction *f = NEW(a, LowFunction);
	f->name = "tile";
	f->nthreads = 2;
	param(a, f, (LowParam){.name = "x", .type = DT_F32}, 64 * 12);
	param(a, f, (LowParam){.name = "y", .type = DT_F32, .output = true},
	    64 * 12);
	param(a, f, (LowParam){.name = "workspace", .workspace = true}, 0);
	int two = low_temp(a, f, DT_F32, 8, "two");
	int n = index_temp(a, f, "columns"), i = index_temp(a, f, "i");
	int mask = low_temp(a, f, DT_BOOL, 8, "mask");
	int v = low_temp(a, f, DT_F32, 8, "v");
	int w = low_temp(a, f, DT_F32, 8, "w");
	op(a, &f->body, LOW_CONST, two, -1, -1, -1, -1)->f = 2;
	op(a, &f->body, LOW_CONST, n, -1, -1, -1, -1)->i = 4;
	op(a, &f->body, LOW_LANES_BELOW, mask, n, -1, -1, -1);
	LowNode *l = loop(a, &f->body, i, 64);
	l->loop = LOOP_PARALLEL;
	LowNode *comment = NEW(a, LowNode);
	comment->kind = LOWNODE_COMMENT;
	comment->comment = "y.i, a row";
	vec_push(a, &l->body, comment);
	LowAffine at = {.n = 1, .terms = NEW(a, LowTerm)};
	at.terms[0] = (LowTerm){i, 12};
	op(a, &l->body, LOW_LOAD, v, -1, -1, -1, 0)->address = at;
	op(a, &l->body, LOW_FMA, v, v, two, v, -1);
	op(a, &l->body, LOW_STORE, -1, v, -1, -1, 1)->address = at;
	at.constant = 8;
	op(a, &l->body, LOW_LOAD_MASKED, w, mask, -1, -1, 0)->address = at;
	op(a, &l->body, LOW_FMA, w, w, two, w, -1);
	op(a, &l->body, LOW_STORE_MASKED, -1, w, mask, -1, 1)->address = at;
	return f;
}

static void golden(void **state)
{
	(void)state;
	Arena *arena = arena_new();
	Program p = {.name = "tile", .case_name = "", .symbol = "tile"};
	Lowered l = {.program = &p, .kernel = tile(arena)};
	char why[128];
	assert_true(lowered_verify(&l, why, sizeof why));
	Error error = {0};
	Target *target =
	    target_parse(arena, "llvm -mcpu=haswell -threads=2", &error);
	EmitComment comment = {"haswell", "none", ""};
	Buf text = {0};
	emit_c(&text, &l, target, &comment);
	put_file("tile.c", &text);
	char command[512];
	snprintf(command, sizeof command,
	    "%s %s/tile.c test/golden/emit_c_tile.c",
	    getenv("BLESS") ? "cp" : "diff -u", folder);
	assert_int_equal(system(command), 0);
	assert_int_equal(run("gcc -fopenmp" FLAGS "-c tile.c"), 0);
	assert_int_equal(run("clang-14 -O2 -fopenmp" FLAGS "-c tile.c"), 0);
	arena_free(arena);
}

/* out[i] = (i odd ? 1 : 2) + sum of the first min(i, 4) of scratch, where
 * scratch = expf(x) in each thread's own workspace; under awkward names. */
static LowFunction *branches(Arena *a)
{
	LowFunction *f = NEW(a, LowFunction);
	f->name = "branches";
	f->nthreads = 3;
	param(a, f, (LowParam){.name = "int64_t", .type = DT_F32}, 8);
	param(a, f, (LowParam){.name = "thread", .type = DT_F32}, 1);
	param(a, f, (LowParam){.name = "expf", .type = DT_F32, .output = true},
	    20);
	param(a, f, (LowParam){.name = "workspace", .workspace = true}, 0);
	LowBuffer scratch = {.name = "f32x8", .type = DT_F32, .elements = 8,
	    .kind = LOWBUF_WORKSPACE, .offset = 64, .thread_bytes = 64,
	    .align = 64, .written = true};
	vec_push(a, &f->buffers, scratch);
	int i = index_temp(a, f, "i"), j = index_temp(a, f, "j");
	int k = index_temp(a, f, "k"), two = index_temp(a, f, "two");
	int rest = index_temp(a, f, "rest"), zero = index_temp(a, f, "zero");
	int odd = low_temp(a, f, DT_BOOL, 1, "odd");
	int sum = low_temp(a, f, DT_F32, 1, "sum");
	int x = low_temp(a, f, DT_F32, 1, "x");
	LowNode *l = loop(a, &f->body, i, 20);
	l->loop = LOOP_PARALLEL;
	LowNode *fill = loop(a, &l->body, k, 8);
	LowAffine at = {.n = 1, .terms = NEW(a, LowTerm)};
	at.terms[0] = (LowTerm){k, 1};
	op(a, &fill->body, LOW_LOAD, x, -1, -1, -1, 0)->address = at;
	op(a, &fill->body, LOW_MATH, x, x, -1, -1, -1)->math = OP_EXP;
	op(a, &fill->body, LOW_STORE, -1, x, -1, -1, 3)->address = at;
	op(a, &l->body, LOW_CONST, two, -1, -1, -1, -1)->i = 2;
	op(a, &l->body, LOW_CONST, zero, -1, -1, -1, -1)->i = 0;
	op(a, &l->body, LOW_COPY, rest, i, -1, -1, -1);
	op(a, &l->body, LOW_MOD, rest, rest, two, -1, -1);
	op(a, &l->body, LOW_NE, odd, rest, zero, -1, -1);
	op(a, &l->body, LOW_CONST, sum, -1, -1, -1, -1)->f = 9;
	LowNode *branch = NEW(a, LowNode);
	branch->kind = LOWNODE_IF;
	branch->condition = odd;
	op(a, &branch->body, LOW_CONST, sum, -1, -1, -1, -1)->f = 1;
	op(a, &branch->other, LOW_CONST, sum, -1, -1, -1, -1)->f = 2;
	vec_push(a, &l->body, branch);
	LowNode *add = loop(a, &l->body, j, 4);
	add->limit = NEW(a, LowAffine);
	*add->limit = (LowAffine){.n = 1, .terms = NEW(a, LowTerm)};
	add->limit->terms[0] = (LowTerm){i, 1};
	LowAffine from = {.n = 1, .terms = NEW(a, LowTerm)};
	from.terms[0] = (LowTerm){j, 1};
	int y = low_temp(a, f, DT_F32, 1, "y");
	op(a, &add->body, LOW_LOAD, y, -1, -1, -1, 3)->address = from;
	op(a, &add->body, LOW_ADD, sum, sum, y, -1, -1);
	LowAffine to = {.n = 1, .terms = NEW(a, LowTerm)};
	to.terms[0] = (LowTerm){i, 1};
	op(a, &l->body, LOW_STORE, -1, sum, -1, -1, 2)->address = to;
	return f;
}

static const char branches_main[] =
    "#include <math.h>\n#include <stdlib.h>\n"
    "void branches(const float *, const float *, float *, void *);\n"
    "int main(void)\n{\n"
    "\tfloat x[8], out[20], one = 0;\n"
    "\tvoid *workspace = aligned_alloc(64, 256);\n"
    "\tfor (int i = 0; i < 8; i++)\n\t\tx[i] = 0.1f * (float)i;\n"
    "\tbranches(x, &one, out, workspace);\n"
    "\tfor (int i = 0; i < 20; i++) {\n"
    "\t\tfloat want = i % 2 ? 1 : 2;\n"
    "\t\tfor (int j = 0; j < 4 && j < i; j++)\n\t\t\twant += expf(x[j]);\n"
    "\t\tif (out[i] != want)\n\t\t\treturn 1;\n\t}\n"
    "\tfree(workspace);\n\treturn 0;\n}\n";

static void control_flow(void **state)
{
	(void)state;
	static const char *const compilers[] = {"gcc -std=c11 -fopenmp -O2",
		"gcc -O1 -fsanitize=address,undefined -fno-sanitize-recover",
		"clang-14 -O2"};
	Arena *arena = arena_new();
	Program p = {.name = "branches", .case_name = "", .symbol = "branches"};
	Lowered l = {.program = &p, .kernel = branches(arena)};
	char why[128];
	if (!lowered_verify(&l, why, sizeof why))
		fail_msg("%s", why);
	Error error = {0};
	Target *target =
	    target_parse(arena, "llvm -mcpu=x86-64 -threads=3", &error);
	EmitComment comment = {target->text, "none", ""};
	Buf text = {0}, driver = {0};
	emit_c(&text, &l, target, &comment);
	put_file("branches.c", &text);
	buf_puts(&driver, branches_main);
	put_file("branches_main.c", &driver);
	for (int i = 0; i < 3; i++) {
		char command[512];
		snprintf(command, sizeof command,
		    "%s" FLAGS "branches.c branches_main.c -lm -o t && ./t",
		    compilers[i]);
		if (run(command))
			fail_msg("%s", command);
	}
	arena_free(arena);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	char command[128];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	return getenv("KEEP") ? 0 : system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(driver_accepts),
		cmocka_unit_test(driver_refuses), cmocka_unit_test(header),
		cmocka_unit_test(golden),
		cmocka_unit_test(control_flow)};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
