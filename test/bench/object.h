/* What programs need that call a built kernel: memory for its arguments, and
 * the numbers of its header. */
#ifndef TEST_BENCH_OBJECT_H
#define TEST_BENCH_OBJECT_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(1);
}

static inline void *aligned(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
	if (!p)
		die("memory", "there is none left");
	return p;
}

/* Before OpenBLAS is loaded: the kernels of the widest vectors.  Where it does
 * not know the model of the CPU, Debian 12's takes those for SSE. */
static inline void prepare_openblas(void)
{
#if defined __x86_64__
	if (__builtin_cpu_supports("avx512f"))
		setenv("OPENBLAS_CORETYPE", "SkylakeX", 0);
	else if (__builtin_cpu_supports("avx2"))
		setenv("OPENBLAS_CORETYPE", "Haswell", 0);
#endif
}

/* The value of `#define SUFFIX n` in the header beside the object. */
static inline size_t header_number(const char *so, const char *symbol,
    const char *suffix)
{
	char path[4096], want[512], line[1024], *at;
	snprintf(path, sizeof path, "%.*s.h", (int)strlen(so) - 3, so);
	int n = snprintf(want, sizeof want, "#define %s_%s ", symbol, suffix);
	for (int i = 8; i < n; i++)
		if (want[i] >= 'a' && want[i] <= 'z')
			want[i] = (char)(want[i] - 'a' + 'A');
	FILE *f = fopen(path, "r");
	if (!f)
		die(path, "cannot be read; build FILE.h beside FILE.so");
	while ((at = fgets(line, sizeof line, f)))
		if (!strncmp(line, want, strlen(want)))
			break;
	fclose(f);
	if (!at)
		die(path, want);
	return strtoull(line + strlen(want), NULL, 10);
}

#endif
