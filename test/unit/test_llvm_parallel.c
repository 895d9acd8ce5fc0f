/* Loops, ifs, carried values and threads through LLVM; the kinds of output and
 * what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>

#include "codegen/codegen.h"
#include "test/common_lowered.h"

static Arena *arena;

/* Stand in for an OpenMP runtime with a team of any size: the kernel's library
 * finds the program's functions first. */
static int team = 1, member;
void GOMP_parallel(void (*fn)(void *), void *data, unsigned n, unsigned flags);
int omp_get_thread_num(void);
int omp_get_num_threads(void);

void GOMP_parallel(void (*fn)(void *), void *data, unsigned n, unsigned flags)
{
	assert_int_equal(flags, 0);
	assert_int_equal(n, 4);
	for (member = 0; member < team; member++)
		fn(data);
	member = 0;
}

int omp_get_thread_num(void)
{
	return member;
}

int omp_get_num_threads(void)
{
	return team;
}

static int constant(
    LowFunction *f, LowBody *body, DType type, int lanes, double x)
{
	int t = low_temp(arena, f, type, lanes, "c");
	LowNode *n = low_op(arena, body, LOW_CONST, t, -1, -1, -1);
	n->f = x;
	n->i = (int64_t)x;
	return t;
}

static LowNode *memory_op(
    LowBody *body, LowOpcode op, int dst, int a, int buffer, LowAffine address)
{
	LowNode *n = low_op(arena, body, op, dst, a, -1, -1);
	n->buffer = buffer;
	n->address = address;
	return n;
}

enum { ROWS = 10, COLUMNS = 13 };

/* out[i] = sum of in[i][0 .. min(COLUMNS, i)), doubled where that is above 20;
 * two parallel loops: the sums by way of each thread's workspace, which is
 * filled first, then out = out * scale + one. */
static Lowered *threads_kernel(int nthreads)
{
	LowFunction *f = lowtest_function(arena, "threads");
	f->nthreads = nthreads;
	lowtest_buffer(arena, f, "in", DT_F32, ROWS * COLUMNS, false);
	lowtest_buffer(arena, f, "out", DT_F32, ROWS, true);
	for (int i = 0; i < 2; i++)
		vec_push(arena, &f->buffers,
		    (LowBuffer){.name = i ? "row" : "scratch",
			.type = DT_F32,
			.elements = 16,
			.kind = LOWBUF_WORKSPACE,
			.offset = 64 * i,
			.thread_bytes = 128,
			.align = 64,
			.written = true});
	vec_push(arena, &f->params,
	    (LowParam){.name = "workspace", .workspace = true});
	LoopKind kind = nthreads > 1 ? LOOP_PARALLEL : LOOP_SERIAL;
	int scale = constant(f, &f->body, DT_F32, 1, 3);
	int above = constant(f, &f->body, DT_F32, 1, 20);
	int ones = constant(f, &f->body, DT_F32, 16, 1);
	int yes = low_temp(arena, f, DT_BOOL, 1, "yes");
	low_op(arena, &f->body, LOW_LT, yes, scale, above, -1);

	LowNode *i = lowtest_loop(arena, f, &f->body, kind, ROWS, "i");
	memory_op(&i->body, LOW_STORE, -1, ones, 2, low_affine_const(0));
	LowNode *fill =
	    lowtest_loop(arena, f, &i->body, LOOP_SERIAL, COLUMNS, "j");
	int x = low_temp(arena, f, DT_F32, 1, "x");
	LowAffine from = lowtest_at(arena, i->var, COLUMNS, 0);
	from =
	    low_affine_add(arena, from, lowtest_at(arena, fill->var, 1, 0), 1);
	memory_op(&fill->body, LOW_LOAD, x, -1, 0, from);
	memory_op(&fill->body, LOW_STORE, -1, x, 3,
	    lowtest_at(arena, fill->var, 1, 0));
	int sum = low_temp(arena, f, DT_F32, 1, "sum");
	LowNode *zero = low_op(arena, &i->body, LOW_CONST, sum, -1, -1, -1);
	zero->f = 0;
	LowNode *j =
	    lowtest_loop(arena, f, &i->body, LOOP_SERIAL, COLUMNS, "j2");
	j->limit = NEW(arena, LowAffine);
	*j->limit = lowtest_at(arena, i->var, 2, -3);
	int y = low_temp(arena, f, DT_F32, 1, "y");
	memory_op(
	    &j->body, LOW_LOAD, y, -1, 3, lowtest_at(arena, j->var, 1, 0));
	low_op(arena, &j->body, LOW_ADD, sum, sum, y, -1);
	int big = low_temp(arena, f, DT_BOOL, 1, "big");
	low_op(arena, &i->body, LOW_LT, big, above, sum, -1);
	low_op(arena, &i->body, LOW_AND, big, big, yes, -1);
	LowNode *test = NEW(arena, LowNode);
	*test = (LowNode){.kind = LOWNODE_IF,
	    .dst = -1,
	    .buffer = -1,
	    .var = -1,
	    .condition = big};
	vec_push(arena, &i->body, test);
	low_op(arena, &test->body, LOW_ADD, sum, sum, sum, -1);
	low_op(arena, &test->other, LOW_NEG, sum, sum, -1, -1);
	memory_op(
	    &i->body, LOW_STORE, -1, sum, 1, lowtest_at(arena, i->var, 1, 0));

	LowNode *k = lowtest_loop(arena, f, &f->body, kind, ROWS, "k");
	int z = low_temp(arena, f, DT_F32, 1, "z");
	int one = low_temp(arena, f, DT_F32, 1, "one");
	int r = low_temp(arena, f, DT_F32, 1, "r");
	memory_op(
	    &k->body, LOW_LOAD, z, -1, 1, lowtest_at(arena, k->var, 1, 0));
	low_op(arena, &k->body, LOW_EXTRACT, one, ones, -1, -1)->i = 5;
	low_op(arena, &k->body, LOW_FMA, r, z, scale, one);
	memory_op(
	    &k->body, LOW_STORE, -1, r, 1, lowtest_at(arena, k->var, 1, 0));
	return lowtest_lowered(arena, f);
}

static void threads_reference(const float *in, float *out)
{
	for (int i = 0; i < ROWS; i++) {
		float sum = 0;
		for (int j = 0; j < COLUMNS && j < 2 * i - 3; j++)
			sum += in[i * COLUMNS + j];
		sum = sum > 20 ? sum + sum : -sum;
		out[i] = sum * 3 + 1;
	}
}

static void run_threads(int nthreads, const char *target)
{
	Error error = {0};
	Target *t = target_parse(arena, target, &error);
	Lowered *l = threads_kernel(nthreads);
	Buf object = {0};
	lowtest_compile(t, &l, 1, LLVM_OBJECT, &object);
	void *library = lowtest_open(&object);
	void (*kernel)(const float *, float *, void *);
	*(void **)&kernel = dlsym(library, "threads");
	static float in[ROWS * COLUMNS];
	for (int i = 0; i < ROWS * COLUMNS; i++)
		in[i] = (float)(i % 11) - 2;
	static _Alignas(64) char workspace[4 * 128];
	float want[ROWS];
	threads_reference(in, want);
	for (team = 1; team <= nthreads; team++) {
		float out[ROWS] = {0};
		kernel(in, out, workspace);
		assert_memory_equal(out, want, sizeof out);
	}
	/* not closed: the OpenMP runtime loses memory when it is unloaded */
	buf_free(&object);
}

static void test_threads(void **state)
{
	(void)state;
	run_threads(1, "host");
	run_threads(4, "host");
	run_threads(4, "llvm -mcpu=x86-64");
}

/* With a real OpenMP runtime, allowed 4, 2 and 1 threads. */
static void test_openmp(void **state)
{
	(void)state;
	static const char program[] =
	    "#include <string.h>\n"
	    "void threads(const float *, float *, void *);\n"
	    "static _Alignas(64) char workspace[512];\n"
	    "int main(void)\n{\n"
	    "static float in[130], one[10], two[10];\n"
	    "for (int i = 0; i < 130; i++) in[i] = i % 11 - 2;\n"
	    "threads(in, one, workspace);\n"
	    "for (int i = 0; i < 100; i++) threads(in, two, workspace);\n"
	    "return one[9] != REFERENCE || memcmp(one, two, sizeof one);\n}\n";
	char folder[] = "/tmp/tunec-test-XXXXXX", path[64], command[512];
	Error error = {0};
	Target *t = target_parse(arena, "host", &error);
	Lowered *l = threads_kernel(4);
	Buf object = {0};
	float in[ROWS * COLUMNS], want[ROWS];
	for (int i = 0; i < ROWS * COLUMNS; i++)
		in[i] = (float)(i % 11) - 2;
	threads_reference(in, want);
	lowtest_compile(t, &l, 1, LLVM_OBJECT, &object);
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/k.o", folder);
	FILE *f = fopen(path, "wb");
	fwrite(object.data, 1, object.size, f);
	fclose(f);
	snprintf(path, sizeof path, "%s/main.c", folder);
	f = fopen(path, "w");
	fputs(program, f);
	fclose(f);
	snprintf(command, sizeof command,
	    "cd %s && cc -DREFERENCE=%.9g -o p main.c k.o -fopenmp -lm && "
	    "./p && OMP_THREAD_LIMIT=2 ./p && OMP_THREAD_LIMIT=1 ./p; "
	    "r=$?; rm -r %s; exit $r",
	    folder, want[9], folder);
	assert_int_equal(system(command), 0);
	buf_free(&object);
}

/* What LLVM is told of one architecture says nothing to the next. */
static void test_targets_in_turn(void **state)
{
	(void)state;
	static const char *const texts[] = {"llvm -mcpu=neoverse-n1 -threads=4",
	    "llvm -mcpu=znver4 -threads=4"};
	Error error = {0};
	Lowered *l = threads_kernel(4);
	Buf code[4] = {0};
	for (int i = 0; i < 4; i++) {
		Target *t = target_parse(arena, texts[i % 2], &error);
		assert_non_null(t);
		lowtest_compile(t, &l, 1, LLVM_ASSEMBLY, &code[i]);
	}
	for (int i = 0; i < 2; i++) {
		assert_int_equal(code[i].size, code[i + 2].size);
		assert_memory_equal(
		    code[i].data, code[i + 2].data, code[i].size);
	}
	for (int i = 0; i < 4; i++)
		buf_free(&code[i]);
}

/* --- texts, symbols, refusals
 * --------------------------------------------------------- */

static void test_kinds(void **state)
{
	(void)state;
	Error error = {0};
	Target *t = target_parse(arena, "host", &error);
	Lowered *l = threads_kernel(4);
	for (int kind = LLVM_IR_TEXT; kind <= LLVM_OBJECT; kind++) {
		Buf one = {0}, two = {0};
		lowtest_compile(t, &l, 1, (LlvmKind)kind, &one);
		lowtest_compile(t, &l, 1, (LlvmKind)kind, &two);
		assert_int_equal(one.size, two.size);
		assert_memory_equal(one.data, two.data, one.size);
		if (kind == LLVM_IR_TEXT) {
			assert_non_null(
			    strstr(one.data, "define void @threads("));
			assert_non_null(strstr(one.data, "define internal"));
			assert_non_null(strstr(one.data, "!noalias"));
			assert_null(strstr(one.data, " fast "));
		} else if (kind == LLVM_ASSEMBLY) {
			assert_non_null(strstr(one.data, "threads:"));
			assert_non_null(strstr(one.data, "GOMP_parallel@PLT"));
		} else {
			assert_memory_equal(
			    one.data, kind == LLVM_BITCODE ? "BC" : "\177E", 2);
		}
		buf_free(&one);
		buf_free(&two);
	}
	Buf serial = {0};
	l = threads_kernel(1);
	lowtest_compile(t, &l, 1, LLVM_ASSEMBLY, &serial);
	assert_null(strstr(serial.data, "GOMP"));
	buf_free(&serial);
}

static void test_refused(void **state)
{
	(void)state;
	Error error = {0};
	Buf out = {0};
	Lowered *l = threads_kernel(1);
	const Lowered *const list[] = {l};
	assert_int_equal(lowtest_llvm()->compile(list, 1, "vax-dec-vms", "x",
			     "", LLVM_OBJECT, &out, &error),
	    STATUS_UNSUPPORTED);
	assert_int_equal(out.size, 0);
	buf_free(&out);
}

static void test_missing(void **state)
{
	(void)state;
	Error error = {0};
	char *old = getenv("TUNEC_MODULES");
	old = old ? arena_strdup(arena, old) : NULL;
	setenv("TUNEC_MODULES", "/nonexistent", 1);
	assert_null(llvm_module(&error));
	assert_int_equal(error.status, STATUS_MISSING);
	assert_non_null(strstr(error.text, "/nonexistent/tunec-llvm.so"));
	if (old)
		setenv("TUNEC_MODULES", old, 1);
	else
		unsetenv("TUNEC_MODULES");
}

static int setup(void **state)
{
	(void)state;
	arena = arena_new();
	return lowtest_llvm() ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	arena_free(arena);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_threads),
	    cmocka_unit_test(test_openmp),
	    cmocka_unit_test(test_targets_in_turn),
	    cmocka_unit_test(test_kinds),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_missing),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
