/* Target texts, the tables of CPUs against LLVM, and who runs what. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codegen/codegen.h"
#include "codegen/cpu.h"

static Arena *arena;

static const char *canonical(const char *text)
{
	Error error = {0};
	Target *t = target_parse(arena, text, &error);
	if (!t)
		fail_msg("%s: %s", text, error.text);
	return t->text;
}

static void test_canonical(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {
	    {"llvm -mcpu=x86-64-v3 -threads=2 -mtriple=x86_64-pc-linux-gnu",
		"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v3 -mattr= "
		"-threads=2"},
	    {"  llvm   -mtriple=x86_64-pc-linux-gnu -threads=1 ",
		"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64 -mattr= "
		"-threads=1"},
	    /* what a CPU has anyway goes, the rest is sorted */
	    {"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell "
	     "-mattr=+sha,+avx2,-fma,+gfni -threads=3",
		"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell "
		"-mattr=-fma,+gfni,+sha -threads=3"},
	    {"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4 "
	     "-mattr=-avx512bf16,-avx512f -threads=3",
		"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=znver4 "
		"-mattr=-avx512f -threads=3"},
	    {"llvm -mcpu=neoverse-n1 -threads=1",
		"llvm -mtriple=aarch64-unknown-linux-gnu -mcpu=neoverse-n1 "
		"-mattr= -threads=1"},
	    /* a CPU that only LLVM knows */
	    {"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=bdver2 -threads=1 "
	     "-mattr=+sse4a,-fma,+avx,-avx",
		"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=bdver2 "
		"-mattr=-avx,-fma,+sse4a -threads=1"},
	    {"c", "c"},
	    {" cuda  -arch=sm_90a ", "cuda -arch=sm_90a -compiler=llvm"},
	    {" hip  -arch=gfx90a ", "hip -arch=gfx90a"},
	    {"cuda -compiler=nvrtc -arch=sm_80",
		"cuda -arch=sm_80 -compiler=nvrtc"},
	};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		assert_string_equal(canonical(pairs[i][0]), pairs[i][1]);
		assert_string_equal(canonical(pairs[i][1]), pairs[i][1]);
	}
	const char *host = canonical("host");
	assert_string_equal(canonical(host), host);
}

static void test_refused(void **state)
{
	(void)state;
	static const struct {
		const char *text, *message;
		Status status;
	} rows[] = {
	    {"", "unknown kind ''", STATUS_USAGE},
	    {"gpu", "unknown kind 'gpu'", STATUS_USAGE},
	    {"host -threads=2", "'host' takes no keys", STATUS_USAGE},
	    {"llvm -foo=1", "unknown key '-foo' of llvm", STATUS_USAGE},
	    {"llvm -threads", "needs a value", STATUS_USAGE},
	    {"llvm -threads=0", "-threads=0", STATUS_USAGE},
	    {"llvm -threads=2x", "-threads=2x", STATUS_USAGE},
	    {"llvm -threads=1 -threads=2", "given twice", STATUS_USAGE},
	    {"llvm -mcpu=native", "'host' is this machine", STATUS_USAGE},
	    {"llvm -mcpu=", "no name of a CPU", STATUS_USAGE},
	    {"llvm -mtriple=x86", "no triple", STATUS_USAGE},
	    {"llvm -mattr=avx2", "'avx2' of -mattr", STATUS_USAGE},
	    {"llvm -mattr=+avx2,,+fma", "'' of -mattr", STATUS_USAGE},
	    {"c -threads=2", "unknown key '-threads' of c", STATUS_USAGE},
	    {"cuda", "cuda needs -arch=, one of sm_75, ", STATUS_USAGE},
	    {"cuda -arch=sm_60", "-arch=sm_60 is none of sm_75, ", STATUS_USAGE},
	    {"cuda -foo=1", "unknown key", STATUS_USAGE},
	    {"cuda -arch=sm_80 -compiler=nvcc", "none of llvm, nvrtc",
		STATUS_USAGE},
	    {"llvm -mtriple=nvptx64-nvidia-cuda", "take 'cuda -arch=sm_90'",
		STATUS_USAGE},
	    {"llvm -mtriple=amdgcn-amd-amdhsa", "take 'hip -arch=gfx90a'",
		STATUS_USAGE},
	    {"hip", "hip needs -arch=, one of gfx906, ", STATUS_USAGE},
	    {"hip -arch=gfx900", "-arch=gfx900 is none of gfx906, ",
		STATUS_USAGE},
	    {"hip -arch=sm_90", "-arch=sm_90 is none of gfx906, ",
		STATUS_USAGE},
	    {"hip -compiler=llvm", "unknown key '-compiler' of hip",
		STATUS_USAGE},
	    {"opencl -device=0", "-device=0 is none of cpu, cpu512, gpu", STATUS_USAGE},
	    {"opencl -arch=sm_90", "unknown key", STATUS_USAGE},
	    /* names that only LLVM can judge */
	    {"llvm -mtriple=x86_64-pc-linux-gnu -mcpu=foo",
		"'foo' is not a recognized processor", STATUS_USAGE},
	    {"llvm -mtriple=x86_64-pc-linux-gnu -mattr=+foo",
		"'+foo' is not a recognized feature", STATUS_USAGE},
	    {"llvm -mtriple=mips-linux-gnu", "no code is generated for",
		STATUS_USAGE},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		Error error = {0};
		if (target_parse(arena, rows[i].text, &error))
			fail_msg("'%s' is accepted", rows[i].text);
		if (!strstr(error.text, rows[i].message))
			fail_msg("'%s': %s", rows[i].text, error.text);
		assert_int_equal(error.status, rows[i].status);
	}
}

static void test_machine(void **state)
{
	(void)state;
	Error error = {0};
	Target *t = target_parse(arena, "llvm -mcpu=znver4 -threads=5", &error);
	assert_int_equal(t->machine.vector_bytes, 64);
	assert_int_equal(t->machine.vector_registers, 32);
	assert_int_equal(t->machine.threads, 5);
	assert_true(t->machine.fma && t->machine.masked && t->machine.f16c);
	assert_true(t->machine.byte_masks);
	t = target_parse(arena, "llvm -mcpu=znver4 -mattr=-avx512f", &error);
	assert_int_equal(t->machine.vector_bytes, 32);
	assert_int_equal(t->machine.vector_registers, 16);
	assert_false(t->machine.byte_masks);
	t = target_parse(arena, "llvm -mcpu=x86-64", &error);
	assert_int_equal(t->machine.vector_bytes, 16);
	assert_false(t->machine.fma);
	t = target_parse(arena,
	    "llvm -mcpu=generic "
	    "-mtriple=aarch64-unknown-linux-gnu",
	    &error);
	assert_int_equal(t->machine.vector_bytes, 16);
	assert_int_equal(t->machine.vector_registers, 32);
	t = target_parse(arena, "llvm -mcpu=bdver2", &error);
	assert_int_equal(t->machine.vector_bytes, 32);
	t = target_parse(arena, "c", &error);
	assert_int_equal(t->machine.vector_bytes, 0);
	assert_int_equal(t->threads, 1);
	assert_false(t->machine.gpu);
	t = target_parse(arena, "cuda -arch=sm_86", &error);
	assert_true(t->machine.gpu && t->machine.fma);
	assert_int_equal(t->machine.vector_bytes, 0);
	assert_int_equal(t->machine.warp, 32);
	assert_int_equal(t->machine.block_threads, 1024);
	assert_int_equal(t->machine.processor_threads, 1536);
	assert_int_equal(t->machine.block_shared, 48 << 10);
	assert_int_equal(t->machine.processor_shared, 100 << 10);
	assert_int_equal(t->machine.processor_registers, 65536);
	assert_int_equal(t->machine.block_shared_most, 99 << 10);
	assert_int_equal(t->machine.memory_gb_per_s, 936);
	t = target_parse(arena, "hip -arch=gfx90a", &error);
	assert_true(t->machine.gpu && t->machine.fma);
	assert_int_equal(t->machine.warp, 64);
	assert_int_equal(t->machine.exchanges, 32);
	assert_int_equal(t->machine.block_shared, 64 << 10);
	assert_int_equal(t->machine.processor_registers, 131072);
	assert_false(t->machine.async_copies || t->machine.capability);
	t = target_parse(arena, "hip -arch=gfx1030", &error);
	assert_int_equal(t->machine.warp, 32);
	assert_int_equal(t->machine.processor_threads, 2048);
}

static void test_runs_here(void **state)
{
	(void)state;
	Error error = {0};
	char why[256];
	assert_true(target_runs_here(target_parse(arena, "host", &error)));
	assert_true(target_runs_here(target_parse(arena, "c", &error)));
	assert_false(target_runs_here(
	    target_parse(arena, "cuda -arch=sm_90", &error)));
	assert_false(target_runs_here(
	    target_parse(arena, "hip -arch=gfx90a", &error)));
#ifdef __x86_64__
	assert_true(
	    target_runs_here(target_parse(arena, "llvm -mcpu=x86-64", &error)));
	Target *t = target_parse(arena, "llvm -mcpu=cortex-a72", &error);
	assert_false(target_runs_here_why(t, why, sizeof why));
	assert_non_null(strstr(why, "aarch64"));
	/* no CPU has both */
	t = target_parse(arena, "llvm -mattr=+avx512fp16,+sse4a", &error);
	assert_false(target_runs_here_why(t, why, sizeof why));
	assert_non_null(strstr(why, "this CPU lacks"));
#endif
}

/* A feature set as LLVM prints it: sorted names. */
static void set_text(CpuFeatures set, char *text)
{
	const char *names[CPU_FEATURE_COUNT];
	int n = 0;
	for (int i = 0; i < CPU_FEATURE_COUNT; i++) {
		if (!(set >> i & 1))
			continue;
		int at = n++;
		const char *name = cpu_feature_name((CpuFeature)i);
		for (; at && strcmp(names[at - 1], name) > 0; at--)
			names[at] = names[at - 1];
		names[at] = name;
	}
	*text = 0;
	for (int i = 0; i < n; i++)
		text += sprintf(text, "%s+%s", i ? "," : "", names[i]);
}

static void compare_with_llvm(const LlvmModule *llvm, const char *triple,
    const char *cpu, const char *attrs)
{
	char ours[2048];
	set_text(cpu_features(cpu, attrs), ours);
	char *theirs = llvm->features(triple, cpu, attrs);
	if (strcmp(ours, theirs))
		fail_msg("%s %s:\nours %s\nLLVM %s", cpu, attrs, ours, theirs);
	free(theirs);
}

static void test_tables(void **state)
{
	(void)state;
	static const char triple[] = "x86_64-pc-linux-gnu";
	Error error = {0};
	const LlvmModule *llvm = llvm_module(&error);
	if (!llvm)
		fail_msg("%s", error.text);
	for (int i = 0; i < cpu_count(); i++) {
		const Cpu *cpu = cpu_at(i);
		bool x86 = cpu->arch == ARCH_X86_64;
		if (!llvm->check(x86 ? triple : "aarch64-unknown-linux-gnu",
			cpu->name, "", &error))
			fail_msg("%s", error.text);
		if (x86)
			compare_with_llvm(llvm, triple, cpu->name, "");
	}
	for (int i = 0; i < CPU_FEATURE_COUNT; i++) {
		char attr[80];
		const char *name = cpu_feature_name((CpuFeature)i);
		snprintf(attr, sizeof attr, "+%s", name);
		compare_with_llvm(llvm, triple, "x86-64", attr);
		snprintf(attr, sizeof attr, "-%s", name);
		compare_with_llvm(llvm, triple, "sapphirerapids", attr);
	}
}

/* Instructions for a sum of products, for each of intrinsics.def in this order:
 * u8i8, i8, u8, i16, bf16; one that flushes is negative. */
static void test_dots(void **state)
{
	static const struct {
		const char *target;
		int dots[5];
	} cases[] = {
	    {"llvm -mcpu=haswell", {8, 8, 8, 2, 0}},
	    {"llvm -mcpu=skylake-avx512", {8, 8, 8, 2, 0}},
	    {"llvm -mcpu=icelake-server", {1, 8, 8, 2, 0}},
	    {"llvm -mcpu=znver4", {1, 8, 8, 2, -1}},
	    {"llvm -mcpu=znver4 -mattr=-avx512vnni", {8, 8, 8, 2, -1}},
	    {"llvm -mcpu=alderlake", {1, 8, 8, 2, 0}},
	    {"llvm -mcpu=alderlake -mattr=+avxvnniint8", {1, 1, 1, 2, 0}},
	    {"llvm -mcpu=cortex-a72", {0, 0, 0, 0, 0}},
	    {"llvm -mcpu=neoverse-n1", {0, 1, 1, 0, 0}},
	    {"llvm -mcpu=neoverse-n1 -mattr=+i8mm", {1, 1, 1, 0, 0}},
	    {"llvm -mcpu=neoverse-n1 -mattr=-dotprod", {0, 0, 0, 0, 0}},
	    {"llvm -mcpu=neoverse-v1", {1, 1, 1, 0, -1}},
	    {"c", {0, 0, 0, 0, 0}}};
	Arena *arena = arena_new();
	Error error = {0};
	(void)state;
	assert_int_equal(intrinsic_count(), 5);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const Target *t = target_parse(arena, cases[i].target, &error);
		if (!t)
			fail_msg("%s: %s", cases[i].target, error.text);
		for (int k = 0; k < 5; k++) {
			int n = cases[i].dots[k];
			const Intrinsic *in = intrinsic_at(k);
			assert_int_equal(n > 0 ? n : 0,
			    intrinsic_instructions(
				in, &t->machine, NUMERICS_DEFAULT));
			assert_int_equal(abs(n),
			    intrinsic_instructions(
				in, &t->machine, NUMERICS_FAST));
		}
	}
	arena_free(arena);
}

/* Machines as /proc/cpuinfo shows them. */
static void test_cpuinfo(void **state)
{
	(void)state;
	CpuHost host;
	cpu_host_parse(
	    "processor\t: 0\nvendor_id\t: GenuineIntel\n"
	    "cpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Intel Xeon\n"
	    "flags\t\t: lm pni ssse3 sse4_1 sse4_2 popcnt avx f16c fma avx2 "
	    "bmi1 bmi2 abm movbe adx aes pclmulqdq avx512f avx512cd avx512dq "
	    "avx512bw avx512vl avx512_vnni\n\nprocessor\t: 1\n",
	    &host);
	assert_string_equal(host.cpu->name, "cascadelake");
	assert_string_equal(host.model, "Intel Xeon");
	assert_string_equal(cpu_feature_difference(arena,
				cpu_features("cascadelake", ""), host.features),
	    "");
	/* a hypervisor that hides AVX-512 from a Zen 4 */
	cpu_host_parse(
	    "vendor_id\t: AuthenticAMD\ncpu family\t: 25\n"
	    "model\t\t: 17\nflags\t\t: lm pni ssse3 sse4_1 sse4_2 sse4a popcnt "
	    "avx f16c fma avx2 bmi1 bmi2 abm movbe adx aes pclmulqdq sha_ni "
	    "gfni vaes vpclmulqdq avx512vl\n",
	    &host);
	assert_string_equal(host.cpu->name, "znver4");
	assert_string_equal(cpu_feature_difference(arena,
				cpu_features("znver4", ""), host.features),
	    "-avx512f");
	/* unknown makers get a level */
	cpu_host_parse("vendor_id\t: Other\ncpu family\t: 6\nmodel\t\t: 1\n"
		       "flags\t\t: lm pni ssse3 sse4_1 sse4_2 popcnt\n",
	    &host);
	assert_string_equal(host.cpu->name, "x86-64-v2");
	cpu_host_parse("", &host);
	assert_null(host.cpu);
}

static int setup(void **state)
{
	(void)state;
	if (!getenv("TUNEC_MODULES") && getenv("BUILD"))
		setenv("TUNEC_MODULES", getenv("BUILD"), 1);
	arena = arena_new();
	return 0;
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
	    cmocka_unit_test(test_canonical),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_machine),
	    cmocka_unit_test(test_runs_here),
	    cmocka_unit_test(test_tables),
	    cmocka_unit_test(test_dots),
	    cmocka_unit_test(test_cpuinfo),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
