/* Every operation of the lowered form, scalar and at several widths, through
 * the C emitter: compiled by gcc and clang with sanitizers, and without, for
 * AVX-512, AVX2, SSE2, for a compiler that is for none of them and as plain C;
 * the results are those of LLVM's object bit for bit. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <dlfcn.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "lib/hash.h"
#include "lib/rng.h"
#include "lib/sanitize.h"
#include "test/common_lowcases.h"
#include "test/common_tier.h"

/* --- data ---------------------------------------------------------------- */

static double some_float(Rng *rng)
{
	static const double special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN,
		1e-40, 2147483648.0, -2147483649.0, 1e19, 65519.0, 65520.0,
		0.5, 1.5, 2.5, -128.5, 127.5, 128.0, 255.9, 256.0, -0.9,
		32767.5, -32769.0, 2147483520.0, 2147483647.0, 0x1p63, 3e38, 5.9604644775390625e-8};
	if (rng_below(rng, 3) == 0)
		return special[rng_below(rng, sizeof special / sizeof *special)];
	return (rng_double(rng) - 0.5) * 200;
}

static void fill(DType type, void *data, uint64_t seed)
{
	Rng rng = rng_stream(seed, type, 1);
	unsigned char *p = data;
	for (int i = 0; i < LOWCASE_ELEMENTS; i++, p += dtype_bytes(type)) {
		double f = some_float(&rng);
		float f32 = (float)f;
		uint64_t bits = rng_next(&rng);
		uint16_t half = type == DT_F16 ? f16_from_f64(f)
					       : bf16_from_f64(f);
		uint8_t b = bits & 1;
		if (type == DT_F64)
			memcpy(p, &f, 8);
		else if (type == DT_F32)
			memcpy(p, &f32, 4);
		else if (dtype_is_half(type))
			memcpy(p, &half, 2);
		else if (type == DT_BOOL)
			*p = b;
		else if (type == DT_U8)
			*p = bits % LOWCASE_ELEMENTS;
		else
			memcpy(p, &bits, (size_t)dtype_bytes(type));
	}
}

enum { POISON = 0xa5, MAX_PARAMS = 8 };

static void write_inputs(FILE *file, const LowCase *c, int number, void **args)
{
	for (int i = 0; i < c->f->params.n; i++) {
		const LowParam *p = &c->f->params.at[i];
		size_t size = (size_t)dtype_bytes(p->type) * LOWCASE_ELEMENTS;
		args[i] = malloc(size);
		if (p->output) {
			memset(args[i], POISON, size);
			continue;
		}
		fill(p->type, args[i], (uint64_t)number * 16 + (uint64_t)i);
		assert_int_equal(fwrite(args[i], 1, size, file), size);
	}
}

/* main() of the compiled program: reads inputs, calls, writes outputs. */
static void write_driver(Buf *out, const LowCaseVec *cases)
{
	buf_puts(out, "\n#include <stdio.h>\n#include <stdlib.h>\n"
	    "#include <string.h>\n"
	    "static void *in(size_t n)\n{\n\tvoid *p = malloc(n);\n"
	    "\tif (fread(p, 1, n, stdin) != n)\n\t\texit(9);\n\treturn p;\n}\n"
	    "static void out(void *p, size_t n)\n"
	    "{\n\tfwrite(p, 1, n, stdout);\n\tfree(p);\n}\n"
	    "int main(void)\n{\n\tvoid *p[8];\n");
	for (int i = 0; i < cases->n; i++) {
		const LowFunction *f = cases->at[i].f;
		int output = -1;
		for (int k = 0; k < f->params.n; k++) {
			int size = dtype_bytes(f->params.at[k].type) *
			    LOWCASE_ELEMENTS;
			if (f->params.at[k].output) {
				output = k;
				buf_printf(out, "\tp[%d] = memset(malloc(%d), "
				    "%d, %d);\n", k, size, POISON, size);
			} else {
				buf_printf(out, "\tp[%d] = in(%d);\n", k, size);
			}
		}
		buf_printf(out, "\t%s(", f->name);
		for (int k = 0; k < f->params.n; k++)
			buf_printf(out, "%sp[%d]", k ? ", " : "", k);
		buf_puts(out, ");\n");
		for (int k = 0; k < f->params.n; k++)
			if (k != output)
				buf_printf(out, "\tfree(p[%d]);\n", k);
		buf_printf(out, "\tout(p[%d], %d);\n", output,
		    dtype_bytes(f->params.at[output].type) * LOWCASE_ELEMENTS);
	}
	buf_puts(out, "\treturn 0;\n}\n");
}

static bool is_nan_of(DType type, const void *p)
{
	double f64;
	float f32;
	uint16_t half;
	switch (type) {
	case DT_F64: memcpy(&f64, p, 8); return isnan(f64);
	case DT_F32: memcpy(&f32, p, 4); return isnan(f32);
	case DT_F16: memcpy(&half, p, 2); return isnan(f16_to_f32(half));
	case DT_BF16: memcpy(&half, p, 2); return isnan(bf16_to_f32(half));
	default: return false;
	}
}

static int compare(const LowCase *c, const void *want, const void *got)
{
	int bytes = dtype_bytes(c->out);
	for (int i = 0; i < LOWCASE_ELEMENTS; i++) {
		const char *w = (const char *)want + i * bytes;
		const char *g = (const char *)got + i * bytes;
		if (!memcmp(w, g, (size_t)bytes) ||
		    (is_nan_of(c->out, w) && is_nan_of(c->out, g)))
			continue;
		uint64_t wb = 0, gb = 0;
		memcpy(&wb, w, (size_t)bytes);
		memcpy(&gb, g, (size_t)bytes);
		print_error("%s (%s): element %d is %llx, not %llx\n", c->what,
		    c->f->name, i, (unsigned long long)gb,
		    (unsigned long long)wb);
		return 1;
	}
	return 0;
}

/* --- running ------------------------------------------------------------- */

static char folder[] = "/tmp/tunec-emit-c-XXXXXX";

static void put_file(const char *name, const Buf *text)
{
	char path[256];
	snprintf(path, sizeof path, "%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fwrite(text->data, 1, text->size, file);
	fclose(file);
}

static bool have(const char *tool)
{
	char command[128];
	snprintf(command, sizeof command, "command -v %s >/dev/null", tool);
	return system(command) == 0;
}

/* The functions as LLVM compiles them, in a library. */
static void *llvm_library(
    const Lowered *const *lowered, int n, const char *cpu)
{
	static int number;
	Error error = {0};
	Buf object = {0};
	const LlvmModule *llvm = llvm_module(&error);
	if (!llvm || llvm->compile(lowered, n, "x86_64-pc-linux-gnu", cpu, "",
			LLVM_OBJECT, &object, &error)) {
		print_error("%s\n", error.text);
		return NULL;
	}
	put_file("want.o", &object);
	buf_free(&object);
	char path[256], command[1024];
	snprintf(path, sizeof path, "%s/want%d.so", folder, number++);
	snprintf(command, sizeof command, "gcc -shared -o %s %s/want.o -lm",
	    path, folder);
	return system(command) ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void call(void *library, const LowCase *c, void **args)
{
	typedef void Function(void *, void *, void *, void *, void *, void *);
	Function *f;
	*(void **)&f = dlsym(library, c->f->name);
	assert_non_null(f);
	f(args[0], args[1], args[2], args[3], args[4], args[5]);
}

static void run_and_compare(
    const LowCaseVec *cases, const char *compiler, void *library)
{
	char command[1024];
	snprintf(command, sizeof command,
	    "cd %s && %s -Wall -Wextra -Werror -o t t.c -lm && ./t <in >out",
	    folder, compiler);
	char path[256];
	snprintf(path, sizeof path, "%s/in", folder);
	FILE *in = fopen(path, "w");
	void *(*args)[MAX_PARAMS] = calloc((size_t)cases->n, sizeof *args);
	for (int i = 0; i < cases->n; i++)
		write_inputs(in, &cases->at[i], i, args[i]);
	fclose(in);
	if (system(command))
		fail_msg("%s", command);
	snprintf(path, sizeof path, "%s/out", folder);
	FILE *out = fopen(path, "r");
	int wrong = 0;
	for (int i = 0; i < cases->n; i++) {
		const LowCase *c = &cases->at[i];
		call(library, c, args[i]);
		char got[8 * LOWCASE_ELEMENTS];
		size_t size = (size_t)dtype_bytes(c->out) * LOWCASE_ELEMENTS;
		assert_int_equal(fread(got, 1, size, out), size);
		for (int k = 0; k < c->f->params.n; k++) {
			if (c->f->params.at[k].output)
				wrong += compare(c, args[i][k], got);
			free(args[i][k]);
		}
	}
	fclose(out);
	free(args);
	assert_int_equal(wrong, 0);
}

/* Which of three cases a target of three takes; all of them, and in the long tier
 * each all. */
enum { FIRST, SECOND, THIRD, ALL };

static void keep(LowCaseVec *cases, int which)
{
	int kept = 0;
	for (int i = 0; i < cases->n; i++)
		if (tier_is_long() || which == ALL ||
		    (int)(hash_mix((uint64_t)i) % 3) == which)
			cases->at[kept++] = cases->at[i];
	cases->n = kept;
}

static void through(const char *target_text, void (*make)(LowCaseMaker *m),
    int which, const char *const *compilers)
{
	Arena *arena = arena_new();
	LowCaseVec cases = {0};
	LowCaseMaker m = {.arena = arena, .cases = &cases};
	make(&m);
	keep(&cases, which);
	Error error = {0};
	Target *target = target_parse(arena, target_text, &error);
	if (!target)
		fail_msg("%s", error.text);
	if (!target_runs_here(target)) {
		arena_free(arena);
		skip();
	}
	Program program = {.name = "test", .case_name = "", .symbol = "test"};
	const Lowered **lowered = NEW_N(arena, const Lowered *, cases.n);
	EmitComment *comments = NEW_N(arena, EmitComment, cases.n);
	for (int i = 0; i < cases.n; i++) {
		Lowered *l = NEW(arena, Lowered);
		l->program = &program;
		l->kernel = cases.at[i].f;
		lowered[i] = l;
		comments[i] = (EmitComment){target->text, "none", ""};
	}
	Buf text = {0};
	void *library = llvm_library(
	    lowered, cases.n, *target->cpu ? target->cpu : "x86-64");
	assert_non_null(library);
	emit_c_all(&text, lowered, cases.n, target, comments);
	write_driver(&text, &cases);
	put_file("t.c", &text);
	buf_free(&text);
	/* release has them; here it is the emitter that is looked at */
	for (int i = 0;
	     !ADDRESS_SANITIZER && compilers[i] && (!i || tier_is_long()); i++)
		if (have(arena_strndup(arena, compilers[i],
			strcspn(compilers[i], " "))))
			run_and_compare(&cases, compilers[i], library);
	dlclose(library);
	arena_free(arena);
}

#define SANITIZE " -fsanitize=address,undefined -fno-sanitize-recover=all "

static void avx512(void **state)
{
	(void)state;
	static const char *const compilers[] = {"gcc -O0" SANITIZE,
	    "gcc -O1" SANITIZE, "clang-14 -O1 -std=c11", NULL};
	through(
	    "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=icelake-server -threads=1",
	    lowcase_all_cases, FIRST, compilers);
}

static void avx2(void **state)
{
	(void)state;
	static const char *const compilers[] = {"clang-14 -O0" SANITIZE,
	    "clang-14 -O1" SANITIZE, "gcc -O2 -std=c11", NULL};
	through("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell -threads=1",
	    lowcase_all_cases, SECOND, compilers);
}

static void plain(void **state)
{
	(void)state;
	static const char *const compilers[] = {
		"gcc -O1 -march=native -std=c11 -pedantic",
		"clang-14 -O2 -march=native", "gcc -O2 -march=native", NULL};
	through("c", lowcase_scalar_cases, ALL, compilers);
}

/* As a compiler that is not for x86-64 reads it. */
static void sse2(void **state)
{
	(void)state;
	static const char *const compilers[] = {
		"gcc -O1 -std=c11 -DTUNEC_GENERIC", "gcc -O2", NULL};
	through("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64 -threads=1",
	    lowcase_all_cases, THIRD, compilers);
}

/* As the cases of all operations are not: without a sanitizer. */
static void widened(void **state)
{
	(void)state;
	static const char *const compilers[] = {
	    "gcc -O2", "clang-14 -O2", NULL};
	through(
	    "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=icelake-server -threads=1",
	    lowcase_widened_cases, ALL, compilers);
	through("llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell -threads=1",
	    lowcase_widened_cases, ALL, compilers);
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
	const struct CMUnitTest tests[] = {cmocka_unit_test(avx512),
	    cmocka_unit_test(avx2), cmocka_unit_test(sse2),
	    cmocka_unit_test(plain), cmocka_unit_test(widened)};
	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
