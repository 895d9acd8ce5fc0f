/* What is in no cache when a kernel is called.
 *
 *     --cold        nothing is: twice the last cache is walked over before each run
 *     of a group    its constants, where all constants of the program that it is
 *                   called in are more than the last cache holds: the other groups'
 *                   went through the caches since (PyTorch's and oneDNN's "cold
 *                   weights").  They are written back line by line before each run,
 *                   which takes as long as reading them.
 *     else          all that fits is there from the run before
 *
 * A group timed with its weights at hand likes tiles that read them many times:
 * all of a transformer's that were tuned so made the whole slower than untuned. */
#include "tuner/measure/measure_kernel.h"

#include <stdlib.h>
#include <string.h>

#ifdef __x86_64__
#include <emmintrin.h>
#endif

enum { LINE = 64, LAST_CACHE = 32 << 20 /* where it is not known */ };

static size_t last_cache(void)
{
	static size_t bytes; /* asked for at each trial */
	if (!bytes) {
		HostFacts facts;
		Arena *arena = arena_new();
		host_facts(arena, &facts);
		arena_free(arena);
		bytes = (size_t)(facts.l3_bytes ? facts.l3_bytes : LAST_CACHE);
	}
	return bytes;
}

bool measure_meets_cold(const Program *program, int64_t cache_bytes)
{
#ifdef __x86_64__
	const Program *whole = program->whole;
	int64_t bytes = 0;
	for (int i = 0; whole && i < whole->ninputs; i++)
		if (whole->buffers[i].is_const)
			bytes += buffer_bytes(&whole->buffers[i]);
	return bytes > cache_bytes;
#else
	(void)program, (void)cache_bytes;
	return false;
#endif
}

bool measure_constants_cold(const Program *program)
{
	return program->whole &&
	    measure_meets_cold(program, (int64_t)last_cache());
}

static void flush_all(void *kernel)
{
	static volatile unsigned char *memory;
	static size_t bytes;
	(void)kernel;
	if (!memory) {
		bytes = 2 * last_cache();
		memory = memset(must_alloc(bytes), 0, bytes);
	}
	for (size_t i = 0; i < bytes; i += LINE)
		memory[i]++;
}

static void flush_constants(void *kernel)
{
#ifdef __x86_64__
	const Loaded *k = kernel;
	const Program *p = k->context->program;
	for (int i = 0, pack = 0; i < p->ninputs; i++) {
		if (!p->buffers[i].is_const)
			continue;
		size_t bytes = (size_t)k->lowered->packed_bytes[pack++];
		for (size_t at = 0; at < bytes; at += LINE)
			_mm_clflush((const char *)k->args[i] + at);
	}
	_mm_mfence();
#else
	(void)kernel;
#endif
}

TimedCall *kernel_before(const Loaded *k)
{
	if (k->context->options->cold)
		return flush_all;
	return measure_constants_cold(k->context->program) ? flush_constants
							   : NULL;
}
