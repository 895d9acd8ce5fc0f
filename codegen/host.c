/* What this machine says of itself: /proc/cpuinfo and /sys. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "codegen/cpu.h"

static bool read_text(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return false;
	bool ok = fgets(text, (int)size, f) != NULL;
	fclose(f);
	return ok;
}

#define CACHE "/sys/devices/system/cpu/cpu0/cache/index%d/%s"

static int64_t cache_bytes(int index, int *level)
{
	char path[128], type[32], text[32], unit = 0;
	long long size = 0;
	snprintf(path, sizeof path, CACHE, index, "type");
	if (!read_text(path, type, sizeof type))
		return -1;
	snprintf(path, sizeof path, CACHE, index, "level");
	*level = read_text(path, text, sizeof text) ? atoi(text) : 0;
	snprintf(path, sizeof path, CACHE, index, "size");
	if (!strncmp(type, "Instruction", 11) ||
	    !read_text(path, text, sizeof text))
		return 0;
	sscanf(text, "%lld%c", &size, &unit);
	return size * (unit == 'K' ? 1024 : unit == 'M' ? 1 << 20 : 1);
}

static void read_caches(HostFacts *facts)
{
	for (int i = 0, level; i < 16; i++) {
		int64_t bytes = cache_bytes(i, &level);
		if (bytes < 0)
			return;
		if (!bytes)
			continue;
		if (level == 1)
			facts->l1_bytes = bytes;
		else if (level == 2)
			facts->l2_bytes = bytes;
		else if (level == 3)
			facts->l3_bytes = bytes;
	}
}

/* The greatest clock that the kernel names, else the one it shows now. */
static double read_clock(void)
{
	char text[256];
	if (read_text("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq",
		text, sizeof text))
		return atof(text) / 1e6; /* kHz */
	FILE *f = fopen("/proc/cpuinfo", "re");
	double mhz = 0;
	while (f && mhz == 0 && fgets(text, sizeof text, f))
		if (sscanf(text, "cpu MHz : %lf", &mhz) != 1)
			mhz = 0;
	if (f)
		fclose(f);
	return mhz / 1e3;
}

static char *feature_list(Arena *arena, CpuFeatures set)
{
	char *text = arena_strdup(arena, "");
	for (int i = 0; i < CPU_FEATURE_COUNT; i++)
		if (set >> i & 1)
			text = arena_printf(arena, "%s%s%s", text,
			    *text ? "," : "", cpu_feature_name((CpuFeature)i));
	return text;
}

int host_cpus(void)
{
	cpu_set_t set;
	if (!sched_getaffinity(0, sizeof set, &set))
		return CPU_COUNT(&set);
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	return n < 1 ? 1 : (int)n;
}

void host_facts(Arena *arena, HostFacts *facts)
{
	CpuHost host;
	cpu_host(&host);
	*facts = (HostFacts){0};
	memcpy(facts->model, host.model, sizeof facts->model);
	facts->features = feature_list(arena, host.features);
	facts->cpus = host_cpus();
	facts->clock_ghz = read_clock();
	read_caches(facts);
}
