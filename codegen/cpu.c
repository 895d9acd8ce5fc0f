#include "codegen/cpu.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/costs.h"
#include "ir/intrinsic.h"
#include "lib/buf.h"

enum {
#define CPU_FEATURE(id, name, flag, implies) FEATURE_FITS_##id,
#include "codegen/cpu_features.def"
#undef CPU_FEATURE
	FEATURES_TOO_MANY
};
_Static_assert(FEATURES_TOO_MANY <= 64, "CpuFeatures has 64 bits");

static const struct {
	const char *name, *flag;
	CpuFeatures implies;
} features[CPU_FEATURE_COUNT] = {
#define CPU_FEATURE(id, name, flag, implies) {name, flag, implies},
#include "codegen/cpu_features.def"
#undef CPU_FEATURE
};

static const char *const arm_features[ARM_FEATURE_COUNT] = {
#define ARM_FEATURE(id, name) name,
#include "codegen/arm_features.def"
#undef ARM_FEATURE
};

#define F(id)  FEATURE_BIT(id)
#define SET_V2 (F(SSE42) | F(POPCNT))
#define SET_V3                                                                 \
	(SET_V2 | F(AVX2) | F(FMA) | F(F16C) | F(BMI) | F(BMI2) | F(LZCNT) |   \
	    F(MOVBE))
#define SET_AVX512                                                             \
	(F(AVX512F) | F(AVX512CD) | F(AVX512DQ) | F(AVX512BW) | F(AVX512VL))
#define SET_V4	      (SET_V3 | SET_AVX512)
#define SET_SANDY     (SET_V2 | F(AVX) | F(PCLMUL))
#define SET_IVY	      (SET_SANDY | F(F16C))
#define SET_HASWELL   (SET_V3 | F(PCLMUL))
#define SET_BROADWELL (SET_HASWELL | F(ADX))
#define SET_SKYLAKE   (SET_BROADWELL | F(AES))
#define SET_SKX	      (SET_SKYLAKE | SET_AVX512)
#define SET_CLX	      (SET_SKX | F(AVX512VNNI))
#define SET_CPX	      (SET_CLX | F(AVX512BF16))
#define SET_ICL                                                                \
	(SET_CLX | F(AVX512IFMA) | F(AVX512VBMI) | F(AVX512VBMI2) |            \
	    F(AVX512BITALG) | F(AVX512POPCNT) | F(SHA) | F(GFNI) | F(VAES) |   \
	    F(VPCLMULQDQ))
#define SET_TGL (SET_ICL | F(AVX512VP2I))
#define SET_RKL SET_ICL
#define SET_ADL                                                                \
	(SET_SKYLAKE | F(AVXVNNI) | F(SHA) | F(GFNI) | F(VAES) | F(VPCLMULQDQ))
#define SET_SPR	 (SET_ICL | F(AVX512BF16) | F(AVX512FP16) | F(AVXVNNI))
#define SET_ZEN1 (SET_SKYLAKE | F(SSE4A) | F(SHA))
#define SET_ZEN3 (SET_ZEN1 | F(VAES) | F(VPCLMULQDQ))
#define SET_ZEN4 (SET_ZEN3 | SET_ICL | F(AVX512BF16))
#define SET_ZEN5 (SET_ZEN4 | F(AVXVNNI) | F(AVX512VP2I))
#define SET_A76	 ARM_BIT(DOTPROD)
#define SET_V1	 (SET_A76 | ARM_BIT(I8MM) | ARM_BIT(BF16))

static const Cpu cpus[] = {
#define CPU(                                                                   \
    name, arch, set, masked, fma, latency, l1, ways, l2, l3, clock, family)    \
	{name, ARCH_##arch, set, masked, fma, latency, l1, ways, l2, l3,       \
	    clock, family},
#include "codegen/cpus.def"
#undef CPU
};

/* Which CPU of the table a machine has, by what /proc/cpuinfo says; after
 * LLVM's Host.cpp.  The first row that fits wins: those that ask for a feature
 * stand first. */
static const struct {
	const char *vendor;
	int family, first, last; /* models */
	CpuFeatures needs;
	const char *name;
} models[] = {
    {"AuthenticAMD", 23, 0x00, 0x2f, 0, "znver1"},
    {"AuthenticAMD", 23, 0x30, 0xff, 0, "znver2"},
    {"AuthenticAMD", 25, 0x10, 0x1f, 0, "znver4"},
    {"AuthenticAMD", 25, 0x60, 0x7f, 0, "znver4"},
    {"AuthenticAMD", 25, 0xa0, 0xaf, 0, "znver4"},
    {"AuthenticAMD", 25, 0x00, 0xff, 0, "znver3"},
    {"AuthenticAMD", 26, 0x00, 0xff, 0, "znver5"},
    {"GenuineIntel", 6, 0x2a, 0x2a, 0, "sandybridge"},
    {"GenuineIntel", 6, 0x2d, 0x2d, 0, "sandybridge"},
    {"GenuineIntel", 6, 0x3a, 0x3a, 0, "ivybridge"},
    {"GenuineIntel", 6, 0x3e, 0x3e, 0, "ivybridge"},
    {"GenuineIntel", 6, 0x3c, 0x3c, 0, "haswell"},
    {"GenuineIntel", 6, 0x3f, 0x3f, 0, "haswell"},
    {"GenuineIntel", 6, 0x45, 0x46, 0, "haswell"},
    {"GenuineIntel", 6, 0x3d, 0x3d, 0, "broadwell"},
    {"GenuineIntel", 6, 0x47, 0x47, 0, "broadwell"},
    {"GenuineIntel", 6, 0x4f, 0x4f, 0, "broadwell"},
    {"GenuineIntel", 6, 0x56, 0x56, 0, "broadwell"},
    {"GenuineIntel", 6, 0x4e, 0x4e, 0, "skylake"},
    {"GenuineIntel", 6, 0x5e, 0x5e, 0, "skylake"},
    {"GenuineIntel", 6, 0x8e, 0x8e, 0, "skylake"},
    {"GenuineIntel", 6, 0x9e, 0x9e, 0, "skylake"},
    {"GenuineIntel", 6, 0xa5, 0xa6, 0, "skylake"},
    {"GenuineIntel", 6, 0x55, 0x55, F(AVX512BF16), "cooperlake"},
    {"GenuineIntel", 6, 0x55, 0x55, F(AVX512VNNI), "cascadelake"},
    {"GenuineIntel", 6, 0x55, 0x55, 0, "skylake-avx512"},
    {"GenuineIntel", 6, 0x7d, 0x7e, 0, "icelake-client"},
    {"GenuineIntel", 6, 0x6a, 0x6a, 0, "icelake-server"},
    {"GenuineIntel", 6, 0x6c, 0x6c, 0, "icelake-server"},
    {"GenuineIntel", 6, 0x8c, 0x8d, 0, "tigerlake"},
    {"GenuineIntel", 6, 0xa7, 0xa7, 0, "rocketlake"},
    {"GenuineIntel", 6, 0x97, 0x97, 0, "alderlake"},
    {"GenuineIntel", 6, 0x9a, 0x9a, 0, "alderlake"},
    {"GenuineIntel", 6, 0xb7, 0xb7, 0, "raptorlake"},
    {"GenuineIntel", 6, 0xba, 0xba, 0, "raptorlake"},
    {"GenuineIntel", 6, 0xbf, 0xbf, 0, "raptorlake"},
    {"GenuineIntel", 6, 0x8f, 0x8f, 0, "sapphirerapids"},
    {"GenuineIntel", 6, 0xcf, 0xcf, 0, "emeraldrapids"},
    {"GenuineIntel", 6, 0xad, 0xae, 0, "graniterapids"},
};

/* A machine that is not among them is the highest level that it covers. */
static const char *const levels[] = {
    "x86-64-v4", "x86-64-v3", "x86-64-v2", "x86-64"};

#define COUNT(array) ((int)(sizeof(array) / sizeof *(array)))

Arch cpu_arch(const char *triple)
{
	if (!strncmp(triple, "x86_64-", 7))
		return ARCH_X86_64;
	if (!strncmp(triple, "aarch64-", 8) || !strncmp(triple, "arm64-", 6))
		return ARCH_AARCH64;
	if (!strncmp(triple, "nvptx64-", 8))
		return ARCH_NVPTX;
	if (!strncmp(triple, "amdgcn-", 7))
		return ARCH_AMDGPU;
	return ARCH_OTHER;
}

const char *cpu_feature_name(CpuFeature feature)
{
	assert(feature < CPU_FEATURE_COUNT);
	return features[feature].name;
}

int cpu_feature_find(const char *name)
{
	for (int i = 0; i < CPU_FEATURE_COUNT; i++)
		if (!strcmp(features[i].name, name))
			return i;
	return -1;
}

/* Implied features stand above, so one walk upwards closes a set. */
static CpuFeatures close_set(CpuFeatures set)
{
	for (int i = CPU_FEATURE_COUNT - 1; i >= 0; i--)
		if (set >> i & 1)
			set |= features[i].implies;
	return set;
}

CpuFeatures cpu_feature_add(CpuFeatures set, CpuFeature feature)
{
	return close_set(set | (CpuFeatures)1 << feature);
}

CpuFeatures cpu_feature_remove(CpuFeatures set, CpuFeature feature)
{
	CpuFeatures gone = (CpuFeatures)1 << feature;
	for (int i = 0; i < CPU_FEATURE_COUNT; i++)
		if (features[i].implies & gone)
			gone |= (CpuFeatures)1 << i;
	return set & ~gone;
}

int cpu_count(void)
{
	return COUNT(cpus);
}

const Cpu *cpu_at(int i)
{
	assert(i >= 0 && i < cpu_count());
	return &cpus[i];
}

const Cpu *cpu_find(Arch arch, const char *name)
{
	for (int i = 0; i < cpu_count(); i++)
		if (cpus[i].arch == arch && !strcmp(cpus[i].name, name))
			return &cpus[i];
	return NULL;
}

CpuFeatures cpu_features(const char *cpu, const char *attrs)
{
	const Cpu *known = cpu_find(ARCH_X86_64, cpu);
	CpuFeatures set = known ? close_set(known->features) : 0;
	while (*attrs) {
		char name[64];
		size_t n = strcspn(attrs, ",");
		if (n > 1 && n < sizeof name) {
			memcpy(name, attrs + 1, n - 1);
			name[n - 1] = 0;
			int f = cpu_feature_find(name);
			if (f >= 0)
				set = *attrs == '+'
					  ? cpu_feature_add(set, (CpuFeature)f)
					  : cpu_feature_remove(
						set, (CpuFeature)f);
		}
		attrs += n + (attrs[n] == ',');
	}
	return set;
}

const char *cpu_arm_feature_name(ArmFeature feature)
{
	assert(feature < ARM_FEATURE_COUNT);
	return arm_features[feature];
}

CpuFeatures cpu_arm_features(const char *cpu, const char *attrs)
{
	const Cpu *known = cpu_find(ARCH_AARCH64, cpu);
	CpuFeatures set = known ? known->features : 0;
	while (*attrs) {
		size_t n = strcspn(attrs, ",");
		for (int i = 0; i < ARM_FEATURE_COUNT; i++) {
			CpuFeatures bit = (CpuFeatures)1 << i;
			if (n == 1 + strlen(arm_features[i]) &&
			    !memcmp(attrs + 1, arm_features[i], n - 1))
				set = *attrs == '+' ? set | bit : set & ~bit;
		}
		attrs += n + (attrs[n] == ',');
	}
	return set;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a + 1, *(char *const *)b + 1);
}

char *cpu_feature_difference(Arena *arena, CpuFeatures from, CpuFeatures to)
{
	char *list[CPU_FEATURE_COUNT];
	int n = 0;
	for (int i = 0; i < CPU_FEATURE_COUNT; i++) {
		if (from & ~to & (CpuFeatures)1 << i) {
			list[n++] =
			    arena_printf(arena, "-%s", features[i].name);
			from = cpu_feature_remove(from, (CpuFeature)i);
		}
	}
	for (int i = CPU_FEATURE_COUNT - 1; i >= 0; i--) {
		if (to & ~from & (CpuFeatures)1 << i) {
			list[n++] =
			    arena_printf(arena, "+%s", features[i].name);
			from = cpu_feature_add(from, (CpuFeature)i);
		}
	}
	qsort(list, (size_t)n, sizeof *list, compare_names);
	Buf text = {0};
	for (int i = 0; i < n; i++)
		buf_printf(&text, "%s%s", i ? "," : "", list[i]);
	char *result = arena_strdup(arena, buf_text(&text));
	buf_free(&text);
	return result;
}

/* --- this machine --------------------------------------------------------- */

/* The value of a line "key<blanks>: value"; its length, or -1. */
static int field(const char *cpuinfo, const char *key, const char **value)
{
	size_t n = strlen(key);
	for (const char *line = cpuinfo; line && *line;) {
		if (!strncmp(line, key, n) &&
		    (line[n] == '\t' || line[n] == ' ' || line[n] == ':') &&
		    line[n + strspn(line + n, " \t")] == ':') {
			const char *colon = strchr(line, ':');
			*value = colon + 1 + strspn(colon + 1, " \t");
			return (int)strcspn(*value, "\n");
		}
		line = strchr(line, '\n');
		line = line ? line + 1 : NULL;
	}
	return -1;
}

static bool has_flag(const char *flags, int length, const char *flag)
{
	size_t n = strlen(flag);
	const char *end = flags + length;
	for (const char *p = flags; p < end;) {
		size_t word = strcspn(p, " \n");
		if (word == n && !memcmp(p, flag, n))
			return true;
		p += word + 1;
	}
	return false;
}

/* Features whose implied ones a hypervisor hides are as good as absent. */
static CpuFeatures parse_flags(const char *flags, int length)
{
	CpuFeatures set = 0;
	for (int i = 0; i < CPU_FEATURE_COUNT; i++)
		if (has_flag(flags, length, features[i].flag) &&
		    !(features[i].implies & ~set))
			set |= (CpuFeatures)1 << i;
	return set;
}

static int number(const char *cpuinfo, const char *key)
{
	const char *value;
	return field(cpuinfo, key, &value) > 0 ? atoi(value) : -1;
}

void cpu_host_parse(const char *cpuinfo, CpuHost *host)
{
	const char *vendor, *flags, *model;
	*host = (CpuHost){0};
	int nmodel = field(cpuinfo, "model name", &model);
	if (nmodel > 0)
		snprintf(
		    host->model, sizeof host->model, "%.*s", nmodel, model);
	int nflags = field(cpuinfo, "flags", &flags);
	int nvendor = field(cpuinfo, "vendor_id", &vendor);
	if (nflags < 0 || nvendor < 0 || !has_flag(flags, nflags, "lm"))
		return;
	host->features = parse_flags(flags, nflags);
	int family = number(cpuinfo, "cpu family");
	int m = number(cpuinfo, "model");
	for (int i = 0; i < COUNT(models) && !host->cpu; i++)
		if (has_flag(vendor, nvendor, models[i].vendor) &&
		    family == models[i].family && m >= models[i].first &&
		    m <= models[i].last && !(models[i].needs & ~host->features))
			host->cpu = cpu_find(ARCH_X86_64, models[i].name);
	for (int i = 0; i < COUNT(levels) && !host->cpu; i++) {
		const Cpu *level = cpu_find(ARCH_X86_64, levels[i]);
		if (!(close_set(level->features) & ~host->features))
			host->cpu = level;
	}
}

void cpu_host(CpuHost *host)
{
	/* The first processor's lines are enough and stay below this. */
	char text[16384];
	size_t size = 0;
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		ssize_t n;
		while (size < sizeof text - 1 &&
		       (n = read(fd, text + size, sizeof text - 1 - size)) > 0)
			size += (size_t)n;
		close(fd);
	}
	text[size] = 0;
	cpu_host_parse(text, host);
}

/* Sums of products by instructions: the first row that fits. */
static const struct {
	const char *intrinsic;
	Arch arch;
	CpuFeatures needs;
	int bytes;
	Numerics numerics;
	int instructions;
} dots[] = {
#define CPU_DOT(name, arch, needs, bytes, numerics, instructions)              \
	{#name, ARCH_##arch, needs, bytes, NUMERICS_##numerics, instructions},
#include "codegen/cpu_dots.def"
#undef CPU_DOT
};

static void fill_dots(const Cpu *cpu, CpuFeatures set, Machine *machine)
{
	for (int i = 0; i < COUNT(dots); i++) {
		MachineDot *dot = &machine->dots[intrinsic_find(dots[i].intrinsic)];
		if (dot->instructions || dots[i].arch != cpu->arch ||
		    (dots[i].needs & ~set) ||
		    (dots[i].bytes && dots[i].bytes != machine->vector_bytes))
			continue;
		dot->instructions = (unsigned char)dots[i].instructions;
		dot->flushes = dots[i].numerics == NUMERICS_FAST;
	}
}

void cpu_machine(const Cpu *cpu, CpuFeatures set, Machine *machine)
{
	bool x86 = cpu->arch == ARCH_X86_64;
	bool avx512 = x86 && !(SET_AVX512 & ~F(AVX512CD) & ~set);
	*machine = (Machine){
	    .threads = 1,
	    .vector_bytes = avx512	? 64
		: x86 && (set & F(AVX)) ? 32
					: 16,
	    .vector_registers = avx512 || !x86 ? 32 : 16,
	    .fma = !x86 || (set & F(FMA)),
	    .broadcast = avx512,
	    .splat = !x86 || (set & F(AVX)),
	    .permutes = !avx512	      ? 0
		: set & F(AVX512VBMI) ? 1
				      : 2,
	    .scale = avx512,
	    .rsqrt = avx512,
	    .masked = avx512 || (cpu->masked_avx2 && (set & F(AVX2))),
	    .byte_masks = avx512, /* AVX512BW */
	    .gather = x86 && (set & F(AVX2)),
	    .f16c = !x86 || (set & F(F16C)),
	    .fma_per_cycle = cpu->fma_per_cycle,
	    .fma_latency = cpu->fma_latency,
	    .l1_bytes = cpu->l1_kib * INT64_C(1024),
	    .l2_bytes = cpu->l2_kib * INT64_C(1024),
	    .l3_bytes = cpu->l3_kib * INT64_C(1024),
	    .l1_ways = cpu->l1_ways,
	    .line_bytes =
		cpu->arch == ARCH_AARCH64 && !strcmp(cpu->name, "apple-m1")
		? 128
		: 64,
	    .clock_ghz = cpu->clock_ghz,
	    .costs = costs_of_family(cpu->family, NULL),
	    .family = cpu->family,
	};
	fill_dots(cpu, set, machine);
}
