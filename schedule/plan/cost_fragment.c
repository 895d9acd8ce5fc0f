/* How a warp loads the operands of its products from shared memory: by rows of 16
 * bytes, eight of which are a matrix, four matrices at once; where they do not lie
 * so, by words.
 *
 *     a_s[i, k], rows 80 bytes apart    16 bytes a thread; 4 turns
 *     a_s[i, k], rows 64 bytes apart    16 turns: every other row in one place
 *
 * A warpgroup's product reads its operands itself, 128 bytes a cycle, and all of
 * both for each product. */
#include "schedule/plan/cost_gpu.h"

#include <assert.h>

enum { ROW = FRAGMENT_ROW, ROWS = 8, WORD = 4 };

/* Loops of a fragment: a row's, a column's, steps'; then those of the threads that
 * it is made by. */
static uint32_t fragment_loops(const PlanStage *s)
{
	uint32_t loops = (uint32_t)7 << s->fragment_loop;
	for (int d = 0; d < s->nloops; d++)
		if (s->loops[d].kind == LOOP_THREAD_X ||
		    s->loops[d].kind == LOOP_THREAD_Y)
			loops |= 1u << d;
	return loops;
}

/* From a row (column) to the next. */
static int64_t own_step(const PlanStage *s, const AccessNow *now)
{
	if (now->moves >> (s->fragment_loop + 1) & 1)
		return now->step[s->fragment_loop + 1];
	for (int d = s->nloops - 1; d >= 0; d--)
		if (s->loops[d].kind == LOOP_THREAD_Y && now->step[d])
			return now->step[d];
	return 0;
}

/* Rows that lie in the same banks wait for each other. */
static double turns_of(const Machine *m, int64_t stride, int width)
{
	int units = (m->banks > 0 ? m->banks : 32) * WORD / ROW;
	int most = 1;
	for (int unit = 0; unit < units; unit++) {
		int rows = 0;
		for (int r = 0; r < ROWS; r++)
			rows += r * (stride / ROW) % units == unit;
		most = rows > most ? rows : most;
	}
	return (double)width / WORD * most;
}

static bool is_code(const StageNow *now, uint32_t code, int d)
{
	LoopKind kind = now->stage->loops[d].kind;
	return code >> d & 1 || (now->extent[d] == 1 && !loop_is_bound(kind));
}

int matrix_width(const StageNow *now, const PlanAccess *a, uint32_t code,
    double *turns)
{
	const PlanStage *s = now->stage;
	assert(s->fragment);
	const AccessNow *at = access_now(now, a);
	bool column = at->moves >> (s->fragment_loop + 1) & 1;
	int64_t stride = a->bytes *
	    fragment_row(
		s->fragment, own_step(s, at), at->step[s->fragment_loop + 2]);
	uint32_t others = at->moves & ~fragment_loops(s);
	if (a->scope != SCOPE_SHARED || a->write || !stride)
		return 0;
	while (others)
		if (!body_is_row(s->fragment, at->step[last_loop(&others)]))
			return 0;
	BodyMatrices m = body_matrices(s->fragment, column);
	for (int d = s->fragment_loop - 1; d >= 0 && is_code(now, code, d); d--)
		if (at->moves >> d & 1)
			m.digits += body_matrices_along(&m, now->extent[d]);
	int width = BODY_MATRIX_BYTES << m.digits;
	*turns = turns_of(now->machine, stride, width);
	return width;
}

/* --- products of a warpgroup -------------------------------------------------- */

bool is_group(const PlanStage *s)
{
	return s->fragment && s->fragment->warps > 1;
}

/* Its loops: a row's, columns, columns' two, steps'. */
double group_work(const PlanStage *s, const int64_t *values)
{
	double work = 1;
	for (int i = 0; i < 4 && is_group(s); i++)
		work *= (double)values[s->loops[s->fragment_loop + i].extent];
	return work;
}

static double columns_of(const StageNow *now)
{
	return (double)now->extent[now->stage->fragment_loop + 1] * ROWS;
}

double group_cycles(const StageNow *now, double rate)
{
	const Intrinsic *in = now->stage->fragment;
	assert(is_group(now->stage));
	return machine_gpu_costs(now->machine)->group +
	    GROUP_ROWS * columns_of(now) * in->terms / rate;
}

double group_reading(const StageNow *now, const PlanAccess *a)
{
	const AccessNow *at = access_now(now, a);
	assert(is_group(now->stage) && !a->write);
	bool row = at->moves >> now->stage->fragment_loop & 1;
	double banks = now->machine->banks > 0 ? now->machine->banks : 32;
	return (row ? GROUP_ROWS : columns_of(now)) * GROUP_LINE /
	    (banks * WORD);
}
