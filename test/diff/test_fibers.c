/* Kernels of a GPU as their emitters write them, on a CPU with a fiber for each
 * thread: LLVM IR for NVPTX and AMDGPU, special registers and barriers bound to
 * fibers, by llc; CUDA C, as C++.  Every operator of workloads/, small, with what the
 * rules make of it, gives what it says. */
#include "test/common_fibers.h"
#include "test/common_lower.h"
#include "test/common_lowered.h"
#include "test/common_products.h"
#include "test/common_schedule.h"
#include "test/common_workloads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <dlfcn.h>

enum { QUICK = 1, LONG = 30 };

static char folder[] = "/tmp/tunec-test-XXXXXX";
static bool have_llc, have_cxx;

/* --- compiling ---------------------------------------------------------------- */

static const char *in_folder(Arena *arena, const char *name)
{
	return arena_printf(arena, "%s/%s", folder, name);
}

static void put_file(const char *path, const Buf *text)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(text->data, 1, text->size, f), text->size);
	fclose(f);
}

static const char *what_was_said(Arena *arena)
{
	char text[1000];
	FILE *f = fopen(in_folder(arena, "said"), "rb");
	size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
	text[n] = 0;
	if (f)
		fclose(f);
	return arena_strdup(arena, text);
}

static void *compiled(Arena *arena, const Buf *text, const char *name,
    const char *command, const char **wrong)
{
	put_file(in_folder(arena, name), text);
	if (system(arena_printf(arena,
		"cd %s && { %s; } >said 2>&1 && cc -shared -o k.so k.o -lm",
		folder, command)))
		*wrong = arena_printf(arena, "it does not compile: %s",
		    what_was_said(arena));
	void *library =
	    *wrong ? NULL : dlopen(in_folder(arena, "k.so"), RTLD_NOW);
	if (!*wrong && !library)
		*wrong = arena_strdup(arena, dlerror());
	return library;
}

#define SREG(name, f)                                                          \
	unsigned fibers_##name##_x(void) { return f(0); }                      \
	unsigned fibers_##name##_y(void) { return f(1); }                      \
	unsigned fibers_##name##_z(void) { return f(2); }
unsigned fibers_tid_x(void), fibers_tid_y(void), fibers_tid_z(void),
    fibers_ctaid_x(void), fibers_ctaid_y(void), fibers_ctaid_z(void);
SREG(tid, fibers_thread)
SREG(ctaid, fibers_block)

uint32_t fibers_exchange(uint32_t, uint32_t, uint32_t, uint32_t);
uint32_t fibers_exchange(
    uint32_t all, uint32_t value, uint32_t mask, uint32_t last)
{
	(void)all, (void)last;
	return fibers_shuffle_xor(value, mask);
}

/* Of 32 lanes: and, or and xor of their numbers, five bits each. */
uint32_t fibers_swizzle(uint32_t, uint32_t);
uint32_t fibers_swizzle(uint32_t value, uint32_t pattern)
{
	assert_int_equal(pattern & 0x83ff, 0x1f);
	return fibers_shuffle_xor(value, pattern >> 10);
}

void fibers_commit(void);
void fibers_commit(void)
{
}

void fibers_wait(uint32_t);
void fibers_wait(uint32_t newest)
{
	(void)newest;
}

static void *by_llvm(Arena *arena, const Lowered *l, const Target *target,
    Buf *text, const char **wrong)
{
	Buf ir = {0};
	Lowered *all = (Lowered *)(uintptr_t)l;
	lowtest_compile(target, &all, 1, LLVM_IR_TEXT, &ir);
	fibers_ir(text, buf_text(&ir));
	buf_free(&ir);
	return compiled(arena, text, "k.ll",
	    "llc-19 -O1 -mattr=+fma,+f16c -relocation-model=pic "
	    "-filetype=obj k.ll -o k.o", wrong);
}

static void *by_cuda_c(Arena *arena, const Lowered *l, const Target *target,
    Buf *text, const char **wrong)
{
	EmitComment comment = {.target = target->text, .record = "none"};
	char here[4096];
	assert_non_null(getcwd(here, sizeof here));
	emit_device(text, &l, 1, target, &comment);
	return compiled(arena, text, "k.cu",
	    arena_printf(arena,
		"clang-14 -x c++ -std=c++17 -O1 -mfma -mf16c -ffp-contract=off "
		"-fPIC -w -include %s/test/gpu/fibers.hpp -c k.cu -o k.o",
		here), wrong);
}

typedef void *Compile(Arena *arena, const Lowered *l, const Target *target,
    Buf *text, const char **wrong);

/* --- running ------------------------------------------------------------------ */

typedef struct {
	Arena *arena;
	const Lowered *lowered;
	void *library;
	const char *wrong;
} Run;

/* Pack functions are the host's. */
static void call(void *context, const char *symbol, const LowFunction *f,
    void *const *args)
{
	Run *r = context;
	LowRun out = {0};
	for (int i = 0; i < r->lowered->launches.n && !r->wrong; i++) {
		const LowLaunch *k = &r->lowered->launches.at[i];
		if (k->function != f)
			continue;
		void *address = dlsym(r->library, symbol);
		r->wrong = address ? fibers_run(address, args, f->params.n,
					 k->grid, k->block)
				   : "it is not there";
		return;
	}
	if (!r->wrong && !low_function_run(f, args, &out))
		r->wrong = arena_strdup(r->arena, out.message);
}

static const char *run(Arena *arena, const Lowered *l, const Target *target,
    Compile *compile, void *const *data)
{
	Run r = {.arena = arena, .lowered = l};
	Buf text = {0};
	const char *wrong = NULL;
	r.library = compile(arena, l, target, &text, &wrong);
	if (r.library) {
		wrong = lowercheck_run(arena, l, data, 1e-4, call, &r);
		wrong = r.wrong ? r.wrong : wrong;
		dlclose(r.library);
	}
	if (wrong)
		wrong = arena_printf(arena, "%s\n%s", wrong, buf_text(&text));
	buf_free(&text);
	return wrong;
}

static void check(Arena *arena, const Program *p, const Trace *trace,
    const Target *target, void *const *data)
{
	static Compile *const compilers[] = {by_llvm, by_cuda_c};
	const bool have[] = {have_llc, have_cxx};
	Error error = {0};
	Buf text = {0};
	Nest *nest = schedule_nest(arena, p, &target->machine, trace, &error);
	Lowered *l = nest ? lower(arena, nest, &target->machine, &error) : NULL;
	const char *wrong = l ? NULL : error.text;
	int n = target->kind == TARGET_CUDA ? 2 : 1;
	for (int i = 0; i < n && !wrong; i++)
		if (have[i])
			wrong = run(arena, l, target, compilers[i], data);
	trace_print(&text, trace);
	if (wrong)
		fail_msg("%s, %s: %s\n%s", p->name, target->text, wrong,
		    buf_text(&text));
	buf_free(&text);
}

static void check_workload(int number)
{
	static const char *const targets[] = {
	    "cuda -arch=sm_75", "cuda -arch=sm_80", "cuda -arch=sm_90a"};
	Rng rng = rng_stream(77, (uint64_t)number, 0);
	workload_check(
	    number, targets[number % 3], &rng, QUICK, LONG, false, check);
}

static void check_amd(int number)
{
	static const char *const targets[] = {"hip -arch=gfx90a",
	    "hip -arch=gfx1030", "hip -arch=gfx906", "hip -arch=gfx1100"};
	Rng rng = rng_stream(79, (uint64_t)number, 0);
	workload_check(
	    number, targets[number % 4], &rng, 1, LONG, false, check);
}

static void test_workloads(void **state)
{
	(void)state;
	if (!have_llc && !have_cxx)
		skip();
	for (int i = 0; i < workload_count(); i += workload_step())
		check_workload(i);
}

static void test_amd(void **state)
{
	(void)state;
	if (!have_llc)
		skip();
	for (int i = 0; i < workload_count(); i += workload_step())
		check_amd(i);
}

/* Fragments of all types, loaded as rows of 16 bytes; more shared memory than a
 * kernel can declare; products of warpgroups. */
static void test_products(void **state)
{
	static const struct {
		const char *name, *trace, *target;
	} products[] = {
	    {"product_f16", "product_f16", "cuda -arch=sm_80"},
	    {"product_f16_rows", "product_f16_rows", "cuda -arch=sm_90a"},
	    {"product_bf16", "product_bf16", "cuda -arch=sm_80"},
	    {"product_i8", "product_i8", "cuda -arch=sm_80"},
	    {"product_f16", "product_f16_deep", "cuda -arch=sm_86"},
	    {"product_f32", "product_f32_deep", "cuda -arch=sm_80"},
	    {"product_tf32", "product_tf32", "cuda -arch=sm_80"},
	    {"product_bf16", "product_bf16", "hip -arch=gfx90a"}, /* as loops */
	    {"product_f16", "wgmma_f16", "cuda -arch=sm_90a"},
	    {"product_f16", "wgmma_f16_deep", "cuda -arch=sm_90a"},
	    {"product_bf16", "wgmma_bf16", "cuda -arch=sm_90a"},
	    {"product_i8", "wgmma_i8", "cuda -arch=sm_90a"},
	    {"wgmma_across", "wgmma_across", "cuda -arch=sm_90a"}};
	(void)state;
	if (!have_llc && !have_cxx)
		skip();
	for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
		Arena *arena = arena_new();
		Error error = {0};
		Rng rng = rng_stream(78, i, 0);
		Program *p = product_load(arena, products[i].name, "128");
		void **data = product_data(arena, p, &rng);
		product_expect(
		    p, strstr(products[i].name, "tf32") != NULL, data);
		check(arena, p, product_trace(arena, products[i].trace),
		    target_parse(arena, products[i].target, &error), data);
		arena_free(arena);
	}
}

static int find_tools(void **state)
{
	(void)state;
	have_llc = !system("llc-19 --version >/dev/null 2>&1");
	have_cxx = !system("clang-14 --version >/dev/null 2>&1");
	if (!have_llc)
		print_message("# skipped: llc-19 is not here\n");
	if (!have_cxx)
		print_message("# skipped: clang-14 is not here\n");
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	static const char *const files[] = {
	    "k.ll", "k.cu", "k.o", "k.so", "said"};
	char path[64];
	(void)state;
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		snprintf(path, sizeof path, "%s/%s", folder, files[i]);
		unlink(path);
	}
	return rmdir(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_workloads),
	    cmocka_unit_test(test_amd),
	    cmocka_unit_test(test_products),
	};
	return cmocka_run_group_tests(tests, find_tools, remove_folder);
}
