/* Copying as a side of bench_sides: half of BYTES read, half written, what the
 * memory of the machine allows.
 *
 *     copy copy,bytes=BYTES */
#include <omp.h>

#include "test/bench/peers/side.h"

typedef struct {
	char *from, *to;
	size_t bytes;
	int threads;
} Copy;

void *side_open(const SideRequest *request, const char **why)
{
	Copy *c = calloc(1, sizeof *c);
	c->bytes = (size_t)side_value(request->text, "bytes", 0) / 2;
	c->threads = request->threads;
	c->from = aligned_alloc(64, (c->bytes + 127) / 64 * 64);
	c->to = aligned_alloc(64, (c->bytes + 127) / 64 * 64);
	*why = "there is no memory";
	if (!c->from || !c->to)
		return NULL;
	memset(c->from, 1, c->bytes);
	memset(c->to, 2, c->bytes);
	return c;
}

void side_run(void *side)
{
	Copy *c = side;
#pragma omp parallel num_threads(c->threads) if (c->threads > 1)
	{
		size_t n = (size_t)omp_get_num_threads();
		size_t i = (size_t)omp_get_thread_num();
		size_t begin = c->bytes / 64 * i / n * 64;
		size_t end = i + 1 == n ? c->bytes
		    : c->bytes / 64 * (i + 1) / n * 64;
		memcpy(c->to + begin, c->from + begin, end - begin);
	}
}

const char *side_about(void *side)
{
	(void)side;
	return "memcpy";
}
