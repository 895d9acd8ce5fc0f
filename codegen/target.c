/* Targets: their text, what it means, and whether this machine runs them.
 *
 *     llvm -mcpu=haswell -mattr=+fma   ->
 *     llvm -mtriple=x86_64-pc-linux-gnu -mcpu=haswell -mattr= -threads=2
 *
 * All that follows from a target follows from its canonical text, so that a
 * build gives the same bytes on any host; this machine's own numbers are in
 * host.c and only reported.  CPUs and features of the tables in cpu.c need no
 * LLVM; others are asked of its module. */
#include <ctype.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/amd_gpu.h"
#include "codegen/codegen.h"
#include "codegen/cpu.h"
#include "codegen/opencl_class.h"
#include "codegen/gpu.h"
#include "lib/sort.h"

enum { MAX_THREADS = 1024 };

#ifdef __aarch64__
#define HOST_ARCH ARCH_AARCH64
#elif defined __x86_64__
#define HOST_ARCH ARCH_X86_64
#else
#define HOST_ARCH ARCH_OTHER
#endif

static const char *arch_triple(Arch arch)
{
	return arch == ARCH_AARCH64 ? "aarch64-unknown-linux-gnu"
				    : "x86_64-pc-linux-gnu";
}

/* --- reading the text ----------------------------------------------------- */

/* Keys of the kinds, in canonical order. */
static const char *const llvm_keys[] = {
    "-mtriple", "-mcpu", "-mattr", "-threads", NULL};
static const char *const no_keys[] = {NULL};
static const char *const cuda_keys[] = {"-arch", "-compiler", NULL};
static const char *const hip_keys[] = {"-arch", NULL};
static const char *const opencl_keys[] = {"-device", NULL};

enum { MAX_KEYS = 4 };

static const struct {
	const char *name;
	TargetKind kind;
	const char *const *keys;
} kinds[] = {
    {"llvm", TARGET_LLVM, llvm_keys},
    {"c", TARGET_C, no_keys},
    {"cuda", TARGET_CUDA, cuda_keys},
    {"hip", TARGET_HIP, hip_keys},
    {"opencl", TARGET_OPENCL, opencl_keys},
};
enum { NKINDS = sizeof kinds / sizeof *kinds };

static char *list_keys(Arena *arena, const char *const *keys)
{
	char *text = arena_strdup(arena, "");
	for (int i = 0; keys[i]; i++)
		text = arena_printf(
		    arena, "%s%s%s=", text, i ? ", " : "", keys[i]);
	return text;
}

static Status read_keys(Arena *arena, const char *text, int kind,
    const char *values[MAX_KEYS], Error *error)
{
	const char *const *keys = kinds[kind].keys;
	while (*(text += strspn(text, " \t\n"))) {
		char *word = arena_strndup(arena, text, strcspn(text, " \t\n"));
		text += strlen(word);
		char *equal = strchr(word, '=');
		int k = 0;
		if (equal)
			*equal = 0;
		while (keys[k] && strcmp(keys[k], word))
			k++;
		if (!keys[k])
			return error_set(error, STATUS_USAGE,
			    "target: unknown key '%s' of %s (%s)", word,
			    kinds[kind].name,
			    keys[0] ? list_keys(arena, keys) : "it has none");
		if (!equal)
			return error_set(error, STATUS_USAGE,
			    "target: key '%s' needs a value, as in %s=...",
			    word, word);
		if (values[k])
			return error_set(error, STATUS_USAGE,
			    "target: key '%s' is given twice", word);
		values[k] = equal + 1;
	}
	return STATUS_OK;
}

static bool plain_name(const char *text)
{
	if (!*text || *text == '-')
		return false;
	for (; *text; text++)
		if (!isalnum((unsigned char)*text) && !strchr("-_.+", *text))
			return false;
	return true;
}

static Status read_threads(const char *text, int *threads, Error *error)
{
	char *end;
	long n = strtol(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || n < 1 || n > MAX_THREADS)
		return error_set(error, STATUS_USAGE,
		    "target: -threads=%s is not a number from 1 to %d", text,
		    MAX_THREADS);
	*threads = (int)n;
	return STATUS_OK;
}

/* --- attributes ----------------------------------------------------------- */

typedef VEC(char *) Words;

static int compare_attrs(const void *a, const void *b)
{
	return strcmp(*(char *const *)a + 1, *(char *const *)b + 1);
}

static char *join_sorted(Arena *arena, Words *words)
{
	sort(words->at, (size_t)words->n, sizeof *words->at, compare_attrs);
	char *text = arena_strdup(arena, "");
	for (int i = 0; i < words->n; i++)
		text = arena_printf(
		    arena, "%s%s%s", text, i ? "," : "", words->at[i]);
	return text;
}

static void split_attrs(Arena *arena, const char *text, Words *words)
{
	while (*text) {
		size_t n = strcspn(text, ",");
		vec_push(arena, words, arena_strndup(arena, text, n));
		text += n + (text[n] == ',');
	}
}

/* The words of attrs, without those that the table knows where it is used; the
 * last of several about one feature stands. */
static Status check_attrs(
    Arena *arena, const char *attrs, bool table, Words *others, Error *error)
{
	Words words = {0};
	split_attrs(arena, attrs, &words);
	for (int i = 0; i < words.n; i++) {
		char *w = words.at[i];
		if ((*w != '+' && *w != '-') || !plain_name(w + 1))
			return error_set(error, STATUS_USAGE,
			    "target: '%s' of -mattr is not +feature or "
			    "-feature",
			    w);
		bool again = false;
		for (int j = i + 1; j < words.n; j++)
			again |= !strcmp(words.at[j] + !!*words.at[j], w + 1);
		if (!again && !(table && cpu_feature_find(w + 1) >= 0))
			vec_push(arena, others, w);
	}
	return STATUS_OK;
}

/* Asks LLVM whether it knows names that the tables do not. */
static Status ask_llvm(
    const char *triple, const char *cpu, const char *attrs, Error *error)
{
	const LlvmModule *llvm = llvm_module(error);
	if (!llvm)
		return error->status;
	return llvm->check(triple, cpu, attrs, error) ? STATUS_OK
						      : error->status;
}

/* --- targets -------------------------------------------------------------- */

static int default_threads(void)
{
	int n = host_cpus();
	return n < MAX_THREADS ? n : MAX_THREADS;
}

static CpuFeatures features_of(const Target *t)
{
	if (cpu_find(ARCH_X86_64, t->cpu))
		return cpu_features(t->cpu, t->attrs);
	Error error = {0};
	const LlvmModule *llvm = llvm_module(&error);
	char *all = llvm ? llvm->features(t->triple, t->cpu, t->attrs) : NULL;
	CpuFeatures set = cpu_features("", all ? all : t->attrs);
	free(all);
	return set;
}

static void fill_machine(Target *t)
{
	Arch arch = cpu_arch(t->triple);
	const Cpu *cpu = cpu_find(arch, t->cpu);
	if (!cpu)
		cpu =
		    cpu_find(arch, arch == ARCH_AARCH64 ? "generic" : "x86-64");
	if (!cpu || t->kind == TARGET_C)
		cpu = cpu_find(ARCH_X86_64, "x86-64");
	cpu_machine(cpu, arch == ARCH_X86_64 ? features_of(t)
		: arch == ARCH_AARCH64 ? cpu_arm_features(t->cpu, t->attrs)
				       : 0, &t->machine);
	if (t->kind == TARGET_C || arch == ARCH_OTHER) {
		t->machine.vector_bytes = 0;
		t->machine.vector_registers = 16;
		t->machine.fma = t->machine.f16c = false;
		memset(t->machine.dots, 0, sizeof t->machine.dots);
	}
	t->machine.threads = t->threads;
}

static Status read_cuda(
    Arena *arena, Target *t, const char *const values[MAX_KEYS], Error *error)
{
	if (!values[0])
		return error_set(error, STATUS_USAGE,
		    "target: cuda needs -arch=, one of %s", gpu_list(arena));
	const Gpu *gpu = gpu_find(values[0]);
	if (!gpu)
		return error_set(error, STATUS_USAGE,
		    "target: -arch=%s is none of %s", values[0],
		    gpu_list(arena));
	t->triple = "nvptx64-nvidia-cuda";
	t->cpu = gpu->arch;
	const char *compiler = values[1] ? values[1] : "llvm";
	t->nvrtc = !strcmp(compiler, "nvrtc");
	if (!t->nvrtc && strcmp(compiler, "llvm"))
		return error_set(error, STATUS_USAGE,
		    "target: -compiler=%s is none of llvm, nvrtc", compiler);
	t->text = arena_printf(
	    arena, "cuda -arch=%s -compiler=%s", gpu->arch, compiler);
	gpu_machine(gpu, &t->machine);
	return STATUS_OK;
}

static Status read_hip(
    Arena *arena, Target *t, const char *const values[MAX_KEYS], Error *error)
{
	if (!values[0])
		return error_set(error, STATUS_USAGE,
		    "target: hip needs -arch=, one of %s",
		    amd_gpu_list(arena));
	const AmdGpu *gpu = amd_gpu_find(values[0]);
	if (!gpu)
		return error_set(error, STATUS_USAGE,
		    "target: -arch=%s is none of %s", values[0],
		    amd_gpu_list(arena));
	t->triple = "amdgcn-amd-amdhsa";
	t->cpu = gpu->arch;
	t->text = arena_printf(arena, "hip -arch=%s", gpu->arch);
	amd_gpu_machine(gpu, &t->machine);
	return STATUS_OK;
}

/* Without a device's name: a GPU of no maker's. */
static Status read_opencl(
    Arena *arena, Target *t, const char *const values[MAX_KEYS], Error *error)
{
	const OpenclClass *device = opencl_class_find(values[0] ? values[0] : "gpu");
	if (!device)
		return error_set(error, STATUS_USAGE,
		    "target: -device=%s is none of %s", values[0],
		    opencl_class_list(arena));
	t->text = arena_printf(arena, "opencl -device=%s", device->name);
	opencl_class_machine(device, &t->machine);
	t->threads = t->machine.threads;
	return STATUS_OK;
}

/* Are its kernels launched on a device by a host? */
static bool is_of_device(const Target *t)
{
	return t->kind == TARGET_CUDA || t->kind == TARGET_HIP ||
	    t->kind == TARGET_OPENCL;
}

static Target *target_finish(Arena *arena, Target *t)
{
	if (is_of_device(t))
		return t;
	t->text = t->kind == TARGET_C
		      ? "c"
		      : arena_printf(arena,
			    "llvm -mtriple=%s -mcpu=%s -mattr=%s -threads=%d",
			    t->triple, t->cpu, t->attrs, t->threads);
	fill_machine(t);
	return t;
}

static Arch default_arch(const char *cpu)
{
	Arch host = HOST_ARCH == ARCH_AARCH64 ? ARCH_AARCH64 : ARCH_X86_64;
	Arch other = host == ARCH_AARCH64 ? ARCH_X86_64 : ARCH_AARCH64;
	if (cpu && !cpu_find(host, cpu) && cpu_find(other, cpu))
		return other;
	return host;
}

static Status read_llvm(
    Arena *arena, Target *t, const char *const values[MAX_KEYS], Error *error)
{
	t->cpu = values[1];
	t->triple = values[0] ? values[0] : arch_triple(default_arch(t->cpu));
	Arch arch = cpu_arch(t->triple);
	if (!t->cpu)
		t->cpu = arch == ARCH_X86_64 ? "x86-64" : "generic";
	if (!plain_name(t->triple) || !strchr(t->triple, '-'))
		return error_set(error, STATUS_USAGE,
		    "target: -mtriple=%s is no triple such as "
		    "x86_64-pc-linux-gnu",
		    t->triple);
	if (arch == ARCH_NVPTX || arch == ARCH_AMDGPU)
		return error_set(error, STATUS_USAGE,
		    "target: -mtriple=%s is a GPU: take '%s'", t->triple,
		    arch == ARCH_NVPTX ? "cuda -arch=sm_90"
				       : "hip -arch=gfx90a");
	if (!strcmp(t->cpu, "native") || !strcmp(t->cpu, "host"))
		return error_set(error, STATUS_USAGE,
		    "target: -mcpu=%s names no CPU; the target 'host' is this "
		    "machine",
		    t->cpu);
	if (!plain_name(t->cpu))
		return error_set(error, STATUS_USAGE,
		    "target: -mcpu=%s is no name of a CPU", t->cpu);
	t->threads = default_threads();
	if (values[3])
		FORWARD_IF_ERROR(read_threads(values[3], &t->threads, error));
	const char *attrs = values[2] ? values[2] : "";
	bool table = cpu_find(ARCH_X86_64, t->cpu) && arch == ARCH_X86_64;
	Words words = {0};
	FORWARD_IF_ERROR(check_attrs(arena, attrs, table, &words, error));
	if (words.n || !cpu_find(arch, t->cpu))
		FORWARD_IF_ERROR(ask_llvm(
		    t->triple, t->cpu, join_sorted(arena, &words), error));
	if (table)
		split_attrs(arena,
		    cpu_feature_difference(arena, cpu_features(t->cpu, ""),
			cpu_features(t->cpu, attrs)),
		    &words);
	t->attrs = join_sorted(arena, &words);
	return STATUS_OK;
}

/* Elsewhere than on x86-64 LLVM says what the host is. */
static Target *host_of_llvm(Arena *arena, Target *t, Error *error)
{
	const LlvmModule *llvm = llvm_module(error);
	if (!llvm)
		return NULL;
	char *triple, *cpu, *attrs;
	llvm->host(&triple, &cpu, &attrs);
	t->triple = arena_strdup(arena, triple);
	t->cpu = arena_strdup(arena, cpu);
	t->attrs = "";
	free(triple);
	free(cpu);
	free(attrs);
	return target_finish(arena, t);
}

Target *target_host(Arena *arena, Error *error)
{
	Target *t = NEW(arena, Target);
	*t = (Target){.kind = TARGET_LLVM, .threads = default_threads()};
	CpuHost host;
	cpu_host(&host);
	if (HOST_ARCH != ARCH_X86_64)
		return host_of_llvm(arena, t, error);
	t->triple = arch_triple(ARCH_X86_64);
	t->cpu = host.cpu ? host.cpu->name : "x86-64";
	t->attrs = host.cpu ? cpu_feature_difference(arena,
				  cpu_features(t->cpu, ""), host.features)
			    : "";
	return target_finish(arena, t);
}

Target *target_parse(Arena *arena, const char *text, Error *error)
{
	const char *begin = text + strspn(text, " \t\n");
	size_t n = strcspn(begin, " \t\n");
	const char *word = arena_strndup(arena, begin, n);
	const char *rest = begin + n + strspn(begin + n, " \t\n");
	if (!strcmp(word, "host")) {
		if (!*rest)
			return target_host(arena, error);
		error_set(error, STATUS_USAGE,
		    "target: 'host' takes no keys; `tunec target --print` "
		    "prints its text to change");
		return NULL;
	}
	int kind = 0;
	while (kind < NKINDS && strcmp(kinds[kind].name, word))
		kind++;
	if (kind == NKINDS) {
		error_set(error, STATUS_USAGE,
		    "target: unknown kind '%s' (host, llvm, c, cuda, hip, "
		    "opencl)",
		    word);
		return NULL;
	}
	const char *values[MAX_KEYS] = {0};
	if (read_keys(arena, rest, kind, values, error))
		return NULL;
	Target *t = NEW(arena, Target);
	*t = (Target){.kind = kinds[kind].kind,
	    .triple = "",
	    .cpu = "",
	    .attrs = "",
	    .threads = 1};
	if ((t->kind == TARGET_LLVM && read_llvm(arena, t, values, error)) ||
	    (t->kind == TARGET_CUDA && read_cuda(arena, t, values, error)) ||
	    (t->kind == TARGET_HIP && read_hip(arena, t, values, error)) ||
	    (t->kind == TARGET_OPENCL &&
		read_opencl(arena, t, values, error)))
		return NULL;
	return target_finish(arena, t);
}

static const char *family_of(const char *cpu)
{
	for (int i = 0; i < cpu_count(); i++)
		if (!strcmp(cpu_at(i)->name, cpu))
			return cpu_at(i)->family;
	return NULL;
}

Status target_use_costs(Target *target, const CostsFile *row, Error *error)
{
	const char *own = target->machine.family;
	const char *family = family_of(row->cpu);
	if (!family)
		return error_set(error, STATUS_INPUT,
		    "%.300s: no CPU '%s' is known whose row this is", row->file,
		    row->cpu);
	if (!own)
		return error_set(error, STATUS_INPUT,
		    "%.300s: a row of a CPU (%s) says nothing of target '%s'",
		    row->file, row->cpu, target->text);
	if (strcmp(own, family))
		return error_set(error, STATUS_INPUT,
		    "%.300s: the row is of %s, of family %s; target '%s' is of "
		    "family %s",
		    row->file, row->cpu, family, target->text, own);
	target->machine.costs = &row->costs;
	return STATUS_OK;
}

/* --- this machine --------------------------------------------------------- */

/* Attributes "+x" outside of the table cannot be told here. */
static const char *unknown_attr(Arena *arena, const char *attrs)
{
	Words words = {0};
	split_attrs(arena, attrs, &words);
	for (int i = 0; i < words.n; i++)
		if (*words.at[i] == '+' &&
		    cpu_feature_find(words.at[i] + 1) < 0)
			return words.at[i] + 1;
	return NULL;
}

static bool x86_runs_here(Arena *arena, const Target *t, char *why, size_t size)
{
	CpuHost host;
	cpu_host(&host);
	const char *unknown = unknown_attr(arena, t->attrs);
	CpuFeatures missing = features_of(t) & ~host.features;
	if (unknown)
		snprintf(
		    why, size, "whether this CPU has %s is not known", unknown);
	else if (missing)
		snprintf(why, size, "this CPU lacks %s",
		    cpu_feature_difference(arena, 0, missing));
	return !unknown && !missing;
}

static bool other_runs_here(
    Arena *arena, const Target *t, char *why, size_t size)
{
	Error error = {0};
	Target *host = target_host(arena, &error);
	if (!host)
		snprintf(why, size, "%s", error.text);
	else if (strchr(t->attrs, '+') ||
		 (strcmp(t->cpu, host->cpu) && strcmp(t->cpu, "generic")))
		snprintf(why, size, "this CPU is %s", host->cpu);
	else
		return true;
	return false;
}

bool target_runs_here_why(const Target *target, char *why, size_t size)
{
	if (size)
		*why = 0;
	if (target->kind == TARGET_C)
		return true;
	if (is_of_device(target)) {
		snprintf(
		    why, size, "kernels of devices are built, not run yet");
		return false;
	}
	if (cpu_arch(target->triple) != HOST_ARCH ||
	    !strstr(target->triple, "linux")) {
		snprintf(why, size, "this machine is no %s", target->triple);
		return false;
	}
	Arena *arena = arena_new();
	bool runs = HOST_ARCH == ARCH_X86_64
			? x86_runs_here(arena, target, why, size)
			: other_runs_here(arena, target, why, size);
	arena_free(arena);
	return runs;
}

bool target_runs_here(const Target *target)
{
	char why[256];
	return target_runs_here_why(target, why, sizeof why);
}
