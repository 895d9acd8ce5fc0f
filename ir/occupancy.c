/* Threads, registers and shared memory of a kernel -> blocks that a processor of a
 * GPU runs at once, as NVIDIA's runtime counts them; of AMD's, waves, SIMDs and
 * their registers count the same way.
 *
 *     sm_80: 256 threads of 128 registers, 16 KiB shared -> 2 blocks, by registers
 *
 * Threads come in warps.  A warp's registers lie in one partition of the
 * processor's, in whole units; whether a block may run at all is asked as if it
 * had as many warps in each partition.  What it shares comes in units, the
 * driver's own part with it.  Limits that a machine does not name do not hold. */
#include <limits.h>
#include <stddef.h>

#include "ir/machine.h"

enum { KIB = 1024 };

static int64_t up_to(int64_t n, int64_t unit)
{
	return unit > 0 ? (n + unit - 1) / unit * unit : n;
}

static int at_most(int64_t n)
{
	return n < INT_MAX ? (int)n : INT_MAX;
}

static int warp_of(const Machine *m)
{
	return m->warp > 0 ? m->warp : 1;
}

static int by_threads(const Machine *m, int64_t warps)
{
	return m->processor_threads
	    ? at_most(m->processor_threads / warp_of(m) / warps) : INT_MAX;
}

static int by_registers(const Machine *m, int64_t warps, int64_t registers)
{
	int64_t partitions = m->partitions > 0 ? m->partitions : 1;
	int64_t each = up_to(registers * warp_of(m), m->register_unit);
	if (!m->processor_registers || !each)
		return INT_MAX;
	if (each * up_to(warps, partitions) > m->processor_registers)
		return 0;
	return at_most(
	    m->processor_registers / partitions / each * partitions / warps);
}

static int by_shared(const Machine *m, int64_t bytes)
{
	int64_t each = up_to(bytes + m->block_shared_own, m->shared_unit);
	if (!m->processor_shared || !each)
		return INT_MAX;
	return at_most(m->processor_shared / each);
}

int64_t occupancy_block_shared(const Machine *m)
{
	return m->block_shared_most > m->block_shared ? m->block_shared_most
						      : m->block_shared;
}

static const char *refusal(const Machine *m, int64_t threads,
    int64_t registers, int64_t shared_bytes)
{
	int64_t most = occupancy_block_shared(m);
	if (m->block_threads && threads > m->block_threads)
		return "more threads in a block than this GPU has";
	if (m->thread_registers && registers > m->thread_registers)
		return "more registers in a thread than this GPU has";
	if (most && shared_bytes > most)
		return "more shared memory than a block has";
	return NULL;
}

Occupancy occupancy(const Machine *m, int64_t threads, int64_t registers,
    int64_t shared_bytes)
{
	Occupancy o = {.why = refusal(m, threads, registers, shared_bytes)};
	if (o.why)
		return o;
	int64_t warps = threads > 0 ? up_to(threads, warp_of(m)) / warp_of(m)
				    : 1;
	o.by_threads = by_threads(m, warps);
	o.by_registers = by_registers(m, warps, registers);
	o.by_shared = by_shared(m, shared_bytes);
	o.blocks = m->processor_blocks ? m->processor_blocks : 1;
	if (warps > 1 && m->processor_barriers &&
	    m->processor_barriers < o.blocks)
		o.blocks = m->processor_barriers;
	if (o.by_threads < o.blocks)
		o.blocks = o.by_threads;
	if (o.by_registers < o.blocks)
		o.blocks = o.by_registers;
	if (o.by_shared < o.blocks)
		o.blocks = o.by_shared;
	if (!o.blocks)
		o.why = !o.by_registers ? "more registers in a block than this "
					  "GPU has"
		    : !o.by_shared	? "more shared memory than a block has"
					: "more threads than run at once";
	return o;
}

int64_t occupancy_shared(const Machine *m, int64_t bytes)
{
	static const int kib[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};
	int n = sizeof kib / sizeof *kib;
	for (int i = 0; i < n; i++) {
		int64_t size = kib[i] * (int64_t)KIB;
		if (size >= bytes && size >= m->processor_shared_least &&
		    size <= m->processor_shared)
			return size;
	}
	return m->processor_shared;
}
