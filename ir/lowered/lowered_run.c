/* The interpreter of the lowered form: runs flat code, watches bounds, steps
 * and races, counts.
 *
 * Parallel loops run serially, each iteration with the pieces of workspace of
 * the thread that has it.  On a GPU's blocks, one after another, the threads
 * have frames of their own; each runs until a barrier or its end, and when all
 * have, they go on together, or the barrier that not all reached is reported.
 * Those of a warp stop at an exchange likewise, and go on when all have, and those
 * of a warpgroup at its product.
 * All threads of a block run all of it: a thread loop only names the thread. */
#include "ir/lowered/lowered_run.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum {
	RUN_FAILED, RUN_BARRIER, RUN_EXCHANGE, RUN_GROUP, RUN_END
} RunState;

static int describe(const Code *code, char *text, size_t size)
{
	if (code->kind == CODE_MEMORY || code->kind == CODE_DIVIDE ||
	    code->kind == CODE_INDEX || code->kind == CODE_BARRIER ||
	    code->kind == CODE_EXCHANGE || code->kind == CODE_GROUP ||
	    code->kind == CODE_ASYNC)
		return snprintf(text, size, "%s: ", low_op_name(code->op));
	return 0;
}

bool run_fail(Runner *r, const Code *code, const Scalar *frame,
    const char *format, ...)
{
	char *text = r->out->message;
	size_t size = sizeof r->out->message;
	int n = describe(code, text, size);
	va_list args;
	va_start(args, format);
	n += vsnprintf(text + n, size - (size_t)n, format, args);
	va_end(args);
	const char *mark = " (";
	for (int at = code->outer; at >= 0 && (size_t)n < size;) {
		const Code *loop = &r->function->code.at[at];
		n += snprintf(text + n, size - (size_t)n, "%s%s=%lld", mark,
		    r->function->f->temps.at[loop->temp].name,
		    (long long)frame[loop->d].i);
		mark = ", ";
		at = loop->outer;
	}
	if (code->outer >= 0 && (size_t)n < size)
		snprintf(text + n, size - (size_t)n, ")");
	return false;
}

/* --- where we are ---------------------------------------------------------- */

static void use_thread(Runner *r, int64_t thread)
{
	const LowFunction *f = r->function->f;
	for (int i = 0; i < f->buffers.n; i++)
		r->base[i] =
		    r->piece[i] + f->buffers.at[i].thread_bytes * thread;
}

/* The thread t with t*E/T <= i < (t+1)*E/T. */
static int64_t thread_of(int64_t i, int64_t extent, int64_t threads)
{
	int64_t t = (int64_t)((Wide)i * threads / extent);
	while ((Wide)(t + 1) * extent / threads <= i)
		t++;
	return t;
}

static void start_iteration(Runner *r, const Code *code, const Scalar *frame)
{
	int threads = r->function->f->nthreads;
	race_block(r);
	use_thread(r, thread_of(frame[code->d].i, frame[code->bound].i,
			  threads > 1 ? threads : 1));
}

static bool check_divisors(Runner *r, const Code *code, const Scalar *frame)
{
	for (int l = 0; l < code->lanes; l++)
		if (frame[code->b + l].i <= 0)
			return run_fail(r, code, frame, "lane %d: by %lld", l,
			    (long long)frame[code->b + l].i);
	return true;
}

static bool check_range(
    Runner *r, const Code *code, const Scalar *frame, int temp, int lanes)
{
	const LowTemp *t = &r->function->f->temps.at[temp];
	for (int l = 0; l < lanes && t->range.known; l++) {
		int64_t x = frame[code->d + l].i;
		if (x < t->range.least || x > t->range.most)
			return run_fail(r, code, frame,
			    "%s is %lld, out of its range %lld .. %lld",
			    t->name, (long long)x, (long long)t->range.least,
			    (long long)t->range.most);
	}
	return true;
}

static void watch_iteration(const Runner *r, const Code *code, bool starts)
{
	const LowWatch *watch = r->out->watch;
	if (watch)
		watch->iteration(watch->context, code->temp, starts);
}

static bool run_index(Runner *r, const Code *code, Scalar *frame)
{
	if (code->kind == CODE_DIVIDE && !check_divisors(r, code, frame))
		return false;
	code->run(code, frame);
	return check_range(r, code, frame, code->temp, code->lanes);
}

/* False: it has no iteration. */
static bool enter_loop(Runner *r, const Code *code, Scalar *frame)
{
	int64_t n = code->extent;
	int64_t limit = code->limited ? run_affine(&code->at, frame) : n;
	frame[code->bound].i = limit < n ? limit : n;
	frame[code->d].i = 0;
	if (frame[code->bound].i <= 0)
		return false;
	watch_iteration(r, code, true);
	return true;
}

/* To the next iteration, if there is one. */
static bool iterate(Runner *r, const Code *code, Scalar *frame, bool *more)
{
	*more = ++frame[code->d].i < frame[code->bound].i;
	watch_iteration(r, code, *more);
	return !*more || check_range(r, code, frame, code->temp, 1);
}

static RunState too_many_steps(Runner *r, const Code *code, const Scalar *frame)
{
	run_fail(
	    r, code, frame, "more than %lld steps", (long long)r->most_steps);
	return RUN_FAILED;
}

static RunState stops_at(CodeKind kind)
{
	return kind == CODE_BARRIER ? RUN_BARRIER
	    : kind == CODE_EXCHANGE ? RUN_EXCHANGE
				    : RUN_GROUP;
}

/* --- running --------------------------------------------------------------- */

static bool launch(Runner *r, Code *code, int first, const Scalar *frame);

/* From code *at on, until a barrier or an exchange, which *at is then behind, or
 * the end. */
static RunState execute(Runner *r, Scalar *frame, int *at)
{
	Code *codes = r->function->code.at, *code = codes + *at;
	bool more;
	for (;; code++) {
		code->count++;
		switch (code->kind) {
		case CODE_DIVIDE:
		case CODE_INDEX:
			if (!run_index(r, code, frame))
				return RUN_FAILED;
			break;
		case CODE_OP:
			code->run(code, frame);
			break;
		case CODE_MEMORY:
			if (!run_memory(r, code, frame))
				return RUN_FAILED;
			break;
		case CODE_ASYNC:
			if (!run_async(r, code, frame))
				return RUN_FAILED;
			break;
		case CODE_NEXT:
			if (!iterate(r, code, frame, &more))
				return RUN_FAILED;
			if (more)
				code = codes + code->target - 1;
			break;
		case CODE_LOOP:
			if (!enter_loop(r, code, frame))
				code = codes + code->target - 1;
			break;
		case CODE_UNLESS:
			if (!frame[code->a].i)
				code = codes + code->target - 1;
			break;
		case CODE_JUMP:
			code = codes + code->target - 1;
			break;
		case CODE_ITERATION:
			start_iteration(r, code, frame);
			break;
		case CODE_THREAD:
			frame[code->d].i = r->thread[code->number];
			if (!check_range(r, code, frame, code->temp, 1))
				return RUN_FAILED;
			break;
		case CODE_OPEN:
			race_open(r);
			break;
		case CODE_CLOSE:
			race_close(r);
			use_thread(r, 0);
			break;
		case CODE_LAUNCH:
			if (!launch(r, code, (int)(code - codes) + 1, frame))
				return RUN_FAILED;
			code = codes + code->target - 1;
			break;
		case CODE_EXCHANGE:
			if (code->buffer >= 0 && !run_memory(r, code, frame))
				return RUN_FAILED;
			/* fall through */
		case CODE_BARRIER:
		case CODE_GROUP:
			*at = (int)(code - codes) + 1;
			return stops_at(code->kind);
		case CODE_END:
			return RUN_END;
		case CODE_UNDEFINED:
			run_fail(r, code, frame, "%s is read undefined",
			    r->function->f->temps.at[code->temp].name);
			return RUN_FAILED;
		}
		if (++r->steps > r->most_steps)
			return too_many_steps(r, code, frame);
	}
}

typedef struct {
	Scalar *frame;
	int at;
	RunState state;
} Thread;

static bool is_local(const Runner *r, int buffer)
{
	return r->function->f->buffers.at[buffer].kind == LOWBUF_LOCAL;
}

static size_t buffer_size(const Runner *r, int buffer)
{
	const LowBuffer *b = &r->function->f->buffers.at[buffer];
	return (size_t)(b->elements * dtype_bytes(b->type));
}

/* A piece of each local buffer for each thread, without a value. */
static void make_locals(Runner *r, int n)
{
	for (int i = 0; i < r->function->f->buffers.n; i++)
		if (is_local(r, i)) {
			size_t size = (size_t)n * buffer_size(r, i);
			r->piece[i] = must_alloc(size);
			memset(r->piece[i], 0xff, size);
		}
}

static void free_locals(Runner *r)
{
	for (int i = 0; i < r->function->f->buffers.n; i++)
		if (is_local(r, i)) {
			free(r->piece[i]);
			r->base[i] = r->piece[i] = NULL;
		}
}

static void use_gpu_thread(Runner *r, int thread)
{
	for (int i = 0; i < r->function->f->buffers.n; i++)
		if (is_local(r, i))
			r->base[i] = r->piece[i] +
			    (size_t)thread * buffer_size(r, i);
}

static bool run_thread(Runner *r, const Code *code, Thread *thread, int number)
{
	int64_t x = code->threads[0], y = code->threads[1];
	const LowWatch *watch = r->out->watch;
	use_gpu_thread(r, number);
	if (watch && watch->thread)
		watch->thread(watch->context, number);
	r->unit = number;
	r->thread[0] = number % x;
	r->thread[1] = number / x % y;
	r->thread[2] = number / (x * y);
	thread->state = execute(r, thread->frame, &thread->at);
	return thread->state != RUN_FAILED;
}

/* All threads of a warp have stopped at one exchange: it is made; or it is told
 * which did not reach it. */
static bool exchange(Runner *r, Thread *warp, int first, int n)
{
	Scalar *frames[LOW_WARP];
	int at = 0;
	while (warp[at].state != RUN_EXCHANGE)
		at++;
	const Code *code = &r->function->code.at[warp[at].at - 1];
	for (int i = 0; i < n; i++) {
		if (warp[i].state != RUN_EXCHANGE || warp[i].at != warp[at].at)
			return run_fail(r, code, warp[at].frame,
			    "thread %d is at an exchange that thread %d of its "
			    "warp is not at", first + at, first + i);
		frames[i] = warp[i].frame;
	}
	if (n < LOW_WARP)
		return run_fail(r, code, warp->frame,
		    "thread %d is in a warp of %d threads", first, n);
	code->exchange(code, frames);
	return true;
}

/* Until each thread of the warp waits for the block or its warpgroup, or has
 * ended. */
static bool run_warp(
    Runner *r, const Code *code, Thread *warp, int first, int n)
{
	for (bool exchanges = true; exchanges;) {
		exchanges = false;
		for (int i = 0; i < n; i++) {
			if (!run_thread(r, code, &warp[i], first + i))
				return false;
			exchanges |= warp[i].state == RUN_EXCHANGE;
		}
		if (exchanges && !exchange(r, warp, first, n))
			return false;
	}
	return true;
}

/* All threads of a warpgroup are at one product, or it is told which are not. */
static bool product(Runner *r, Thread *group, int first, int n)
{
	Scalar *frames[LOW_GROUP];
	int at = 0;
	while (group[at].state != RUN_GROUP)
		at++;
	const Code *code = &r->function->code.at[group[at].at - 1];
	for (int i = 0; i < n; i++) {
		if (group[i].state != RUN_GROUP || group[i].at != group[at].at)
			return run_fail(r, code, group[at].frame,
			    "thread %d is at a product that thread %d of its "
			    "warpgroup is not at", first + at, first + i);
		frames[i] = group[i].frame;
	}
	if (n < LOW_GROUP)
		return run_fail(r, code, group->frame,
		    "thread %d is in a warpgroup of %d threads", first, n);
	return group_run(r, code, frames, first);
}

/* Until each thread of the warpgroup waits for the block or has ended. */
static bool run_group(
    Runner *r, const Code *code, Thread *group, int first, int n)
{
	for (bool products = true; products;) {
		for (int i = 0; i < n; i += LOW_WARP)
			if (!run_warp(r, code, group + i, first + i,
				n - i < LOW_WARP ? n - i : LOW_WARP))
				return false;
		products = false;
		for (int i = 0; i < n; i++)
			products |= group[i].state == RUN_GROUP;
		if (products && !product(r, group, first, n))
			return false;
	}
	return true;
}

static bool run_phase(Runner *r, const Code *code, Thread *threads, int n)
{
	for (int i = 0; i < n; i += LOW_GROUP)
		if (!run_group(r, code, threads + i, i,
			n - i < LOW_GROUP ? n - i : LOW_GROUP))
			return false;
	return true;
}

static bool check_phase(Runner *r, const Thread *threads, int n)
{
	for (int i = 1; i < n; i++) {
		int late = threads[i].state == RUN_END ? i : 0;
		int waiting = late ? 0 : i;
		const Code *barrier =
		    &r->function->code.at[threads[waiting].at - 1];
		if (threads[i].state != threads[0].state)
			return run_fail(r, barrier, threads[waiting].frame,
			    "thread %d waits at a barrier that thread %d does "
			    "not reach", waiting, late);
		if (threads[i].at != threads[0].at &&
		    threads[0].state == RUN_BARRIER)
			return run_fail(r, barrier, threads[i].frame,
			    "threads 0 and %d wait at different barriers", i);
	}
	return true;
}

static bool run_threads(Runner *r, const Code *code, Thread *threads, int n)
{
	do {
		if (!run_phase(r, code, threads, n) ||
		    !check_phase(r, threads, n))
			return false;
		race_barrier(r);
		if (threads[0].state == RUN_BARRIER &&
		    r->function->code.at[threads[0].at - 1].number)
			group_barrier(r);
	} while (threads[0].state == RUN_BARRIER);
	return true;
}

/* A block's shared buffers start without a value. */
static void clear_shared(Runner *r)
{
	const LowFunction *f = r->function->f;
	async_forget(r);
	for (int i = 0; i < f->buffers.n; i++) {
		const LowBuffer *b = &f->buffers.at[i];
		if (b->kind != LOWBUF_SHARED)
			continue;
		memset(r->base[i], 0xff,
		    (size_t)(b->elements * dtype_bytes(b->type)));
		race_forget(r, i);
	}
}

static bool launch(Runner *r, Code *code, int first, const Scalar *frame)
{
	int64_t n = code->threads[0] * code->threads[1] * code->threads[2];
	if (n <= 0)
		return true;
	size_t slots = (size_t)r->function->slots;
	Scalar *frames = must_alloc((size_t)n * slots * sizeof *frames);
	Thread *threads = must_alloc((size_t)n * sizeof *threads);
	for (int64_t i = 0; i < n; i++) {
		threads[i] = (Thread){frames + (size_t)i * slots, first, 0};
		memcpy(threads[i].frame, frame, slots * sizeof *frame);
	}
	race_block(r);
	clear_shared(r);
	make_locals(r, (int)n);
	bool ok = run_threads(r, code, threads, (int)n);
	free_locals(r);
	free(threads);
	free(frames);
	r->unit = 0;
	return ok;
}

/* --- results --------------------------------------------------------------- */

static bool is_of_indices(const Runner *r, const Code *code)
{
	const LowTemp *temps = r->function->f->temps.at;
	return code->type == DT_INDEX ||
	    (code->temp >= 0 && temps[code->temp].index);
}

static int64_t flops_of(const Runner *r, const Code *code)
{
	switch (code->op) {
	case LOW_ADD:
	case LOW_SUB:
	case LOW_MUL:
	case LOW_DIV:
	case LOW_MIN:
	case LOW_MAX:
	case LOW_ABS:
	case LOW_SCALE:
	case LOW_RSQRT:
	case LOW_MATH: return is_of_indices(r, code) ? 0 : code->lanes;
	case LOW_FMA: return 2 * code->lanes;
	case LOW_DOT: return 2 * code->sources;
	case LOW_MMA:
	case LOW_WGMMA: return 2 * code->lanes * code->fragment->terms;
	default: return 0;
	}
}

/* A loop's iterations: the times it was entered with any, and jumped back. */
static void count(Runner *r)
{
	LowRun *out = r->out;
	for (int i = 0; i < r->function->code.n; i++) {
		const Code *code = &r->function->code.at[i];
		switch (code->kind) {
		case CODE_OP:
		case CODE_INDEX:
		case CODE_DIVIDE:
		case CODE_MEMORY:
		case CODE_ASYNC:
		case CODE_BARRIER:
		case CODE_EXCHANGE:
		case CODE_GROUP:
			out->op_count[code->op] += code->count;
			out->flops += code->count * flops_of(r, code);
			break;
		case CODE_NEXT:
		case CODE_THREAD: out->iterations += code->count; break;
		default: break;
		}
	}
}

/* What launches give their blocks, one after the other in the same memory. */
static char *dynamic_memory(Runner *r)
{
	const LowFunction *f = r->function->f;
	size_t most = 0;
	for (int i = 0; i < f->buffers.n; i++) {
		size_t end = (size_t)f->buffers.at[i].offset + buffer_size(r, i);
		if (f->buffers.at[i].dynamic && end > most)
			most = end;
	}
	return arena_alloc(r->arena, most);
}

static bool find_buffers(Runner *r, void *const *args)
{
	const LowFunction *f = r->function->f;
	char *dynamic = dynamic_memory(r);
	int workspace = -1;
	for (int i = 0; i < f->params.n; i++)
		if (f->params.at[i].workspace)
			workspace = i;
	r->base = NEW_N(r->arena, char *, f->buffers.n);
	r->piece = NEW_N(r->arena, char *, f->buffers.n);
	for (int i = 0; i < f->buffers.n; i++) {
		const LowBuffer *b = &f->buffers.at[i];
		if (b->dynamic)
			r->piece[i] = dynamic + b->offset;
		else if (b->kind == LOWBUF_SHARED)
			r->piece[i] = arena_alloc(r->arena, buffer_size(r, i));
		else if (b->kind == LOWBUF_LOCAL)
			r->piece[i] = NULL; /* when threads are launched */
		else
			r->piece[i] = (char *)args[b->kind == LOWBUF_PARAM
					      ? b->param : workspace] +
			    b->offset;
		if (b->kind != LOWBUF_SHARED && b->kind != LOWBUF_LOCAL &&
		    (uintptr_t)r->piece[i] % (uintptr_t)b->align) {
			snprintf(r->out->message, sizeof r->out->message,
			    "%s is not aligned to %d bytes", b->name, b->align);
			return false;
		}
	}
	use_thread(r, 0);
	return true;
}

static void reset(LowRun *run)
{
	LowRun fresh = {.check_races = run->check_races,
	    .max_steps = run->max_steps,
	    .watch = run->watch};
	*run = fresh;
}

bool low_function_run(const LowFunction *f, void *const *args, LowRun *run)
{
	CodeFunction function;
	Runner r = {.function = &function, .out = run};
	RunState state = RUN_FAILED;
	int at = 0;
	reset(run);
	r.arena = arena_new();
	r.most_steps = run->max_steps > 0 ? run->max_steps : INT64_MAX;
	code_compile(r.arena, f, &function);
	race_start(&r);
	group_start(&r);
	Scalar *frame = NEW_N(r.arena, Scalar, function.slots);
	if (find_buffers(&r, args))
		/* a barrier of a block without threads orders nothing */
		while ((state = execute(&r, frame, &at)) == RUN_BARRIER)
			continue;
	if (state == RUN_EXCHANGE || state == RUN_GROUP)
		run_fail(&r, &function.code.at[at - 1], frame,
		    "there is no warp");
	count(&r);
	arena_free(r.arena);
	return state == RUN_END;
}
