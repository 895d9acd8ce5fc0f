/* One job in a disposable process: compile, link, check, time, answer.
 *
 * A check runs the kernel between guard pages: each buffer ends where a page
 * without access begins, outputs and workspace are poisoned before, inputs are
 * compared afterwards.  Timing uses buffers aligned to 64 bytes. */
#include <dlfcn.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/hash.h"
#include "tuner/measure/measure_internal.h"

enum { ARGS_MAX = 64, ALIGN = 64, POISON = 0xff, FLUSH_BYTES = 64 << 20 };

typedef struct {
	const MeasureContext *context;
	Lowered *lowered;
	Buf object;
	void *kernel;
	void *packs[ARGS_MAX];
	int nargs;
	void *args[ARGS_MAX];
	size_t wanted; /* bytes of the buffer that was asked for last */
} Loaded;

/* --- memory --------------------------------------------------------------------- */

/* `size` bytes that end (rounded up to `align`) at a page without access, with
 * another such page in front. */
static void *guarded(size_t size, size_t align)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t rounded = (size + align - 1) / align * align;
	size_t inner = (rounded + page - 1) / page * page;
	char *map = mmap(NULL, inner + 2 * page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		return NULL;
	if (mprotect(map, page, PROT_NONE) ||
	    mprotect(map + page + inner, page, PROT_NONE))
		return NULL;
	return map + page + inner - rounded;
}

static void *aligned(size_t size)
{
	size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
	return aligned_alloc(ALIGN, rounded ? rounded : ALIGN);
}

/* --- calls ------------------------------------------------------------------------ */

bool measure_call(void *function, void **a, int n)
{
	switch (n) {
#define CALL(n)                                                                \
	case n: {                                                              \
		void (*f)(V##n);                                               \
		memcpy(&f, &function, sizeof f);                               \
		f(A##n);                                                       \
		break;                                                         \
	}
#include "tuner/call.def"
#undef CALL
	default: return false;
	}
	return true;
}

static void call_loaded(void *context)
{
	Loaded *k = context;
	measure_call(k->kernel, k->args, k->nargs);
}

/* --- compiling ----------------------------------------------------------------------- */

/* What went wrong, which is not the candidate's fault where the machine refused
 * what is within its limit: `wanted` bytes, or a library's own business. */
static void tell(const char *what, size_t wanted, Measurement *m)
{
	snprintf(m->error, sizeof m->error, "%.*s",
	    (int)sizeof m->error - 1, what);
	m->trouble = trouble_of_text(what);
	if (m->trouble == TROUBLE_DOUBTFUL && trouble_own_limit(wanted))
		m->trouble = TROUBLE_NONE;
}

static void tell_errno(const char *what, size_t wanted, Measurement *m)
{
	char text[256];
	snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
	m->outcome = OUTCOME_CRASH;
	tell(text, wanted, m);
}

/* The lowered form to an object. */
static bool compile_lowered(Loaded *k, Measurement *m)
{
	const Target *t = k->context->target;
	const Lowered *lowered = k->lowered;
	Error error = {0};
	const LlvmModule *llvm = llvm_module(&error);
	if (llvm &&
	    !llvm->compile(&lowered, 1, t->triple, t->cpu, t->attrs,
		LLVM_OBJECT, &k->object, &error))
		return true;
	tell(error.text, 0, m);
	return false;
}

/* `json`: a trace; NULL: candidate 0. */
static bool compile(
    Loaded *k, Arena *arena, const json_t *json, int threads, Measurement *m)
{
	const MeasureContext *c = k->context;
	Machine machine = c->target->machine;
	Error error = {0};
	machine.threads = threads;
	Trace *trace = NULL;
	m->outcome = OUTCOME_BUILD;
	if (json) {
		Trace *canonical = trace_from_json(arena, json, &error);
		trace = canonical ? trace_localized(arena, c->program,
					canonical, &error)
				  : NULL;
		if (!trace)
			goto failed;
	}
	Nest *nest = schedule_nest(
	    arena, c->program, &machine, trace, &error);
	if (!nest)
		goto failed;
	k->lowered = lower(arena, nest, &machine, &error);
	if (!k->lowered)
		goto failed;
	if (!compile_lowered(k, m))
		return false;
	sha256_hex(k->object.data, k->object.size, m->object);
	return true;
failed:
	tell(error.text, 0, m);
	return false;
}

/* A kernel without threads needs none. */
static bool open_openmp(Measurement *m)
{
	if (dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL))
		return true;
	tell(dlerror(), 0, m);
	if (m->trouble)
		return false;
	m->error[0] = 0;
	return true;
}

static bool load(Loaded *k, Measurement *m)
{
	Error error = {0};
	const char *names[ARGS_MAX + 1];
	void *addresses[ARGS_MAX + 1];
	int n = 0;
	const LlvmModule *llvm = llvm_module(&error);
	if (!open_openmp(m))
		return false;
	names[n++] = k->lowered->kernel->name;
	for (int i = 0; i < k->lowered->packs.n && n <= ARGS_MAX; i++)
		names[n++] = k->lowered->packs.at[i]->name;
	if (!llvm ||
	    llvm->load(k->object.data, k->object.size, names, n, addresses,
		&error)) {
		tell(error.text, 0, m);
		return false;
	}
	k->kernel = addresses[0];
	memcpy(k->packs, addresses + 1, sizeof *addresses * (size_t)(n - 1));
	return true;
}

/* --- buffers ---------------------------------------------------------------------------- */

static void *take(Loaded *k, bool guard, size_t size, size_t align)
{
	k->wanted = size;
	return guard ? guarded(size, align) : aligned(size);
}

static bool fill_args(Loaded *k, int set, bool guard)
{
	const Program *p = k->context->program;
	const MeasureData *data = k->context->data;
	int n = 0, pack = 0;
	for (int i = 0; i < p->ninputs; i++) {
		const Buffer *b = &p->buffers[i];
		size_t bytes = (size_t)buffer_bytes(b);
		void *at = take(k, guard, bytes, (size_t)dtype_bytes(b->type));
		if (!at)
			return false;
		memcpy(at, data->base + data->input[set][i], bytes);
		if (b->is_const) {
			size_t size = (size_t)k->lowered->packed_bytes[pack];
			void *packed = take(k, guard, size, ALIGN);
			if (!packed)
				return false;
			memset(packed, POISON, size);
			void *args[2] = {at, packed};
			measure_call(k->packs[pack++], args, 2);
			at = packed;
		}
		k->args[n++] = at;
	}
	for (int i = 0; i < p->noutputs; i++) {
		const Buffer *b = &p->buffers[p->outputs[i]];
		size_t bytes = (size_t)buffer_bytes(b);
		void *at = take(k, guard, bytes, (size_t)dtype_bytes(b->type));
		if (!at)
			return false;
		memset(at, POISON, bytes);
		k->args[n++] = at;
	}
	size_t bytes = (size_t)k->lowered->workspace_bytes;
	k->args[n] = bytes ? take(k, guard, bytes, ALIGN) : NULL;
	if (bytes && !k->args[n])
		return false;
	if (bytes)
		memset(k->args[n], POISON, bytes);
	k->nargs = n + 1;
	return true;
}

/* Arguments of the kernel on an input set, constants packed; false and a crash
 * where that cannot be.  Nothing is freed: the process ends soon. */
static bool prepare(Loaded *k, int set, bool guard, Measurement *m)
{
	const Program *p = k->context->program;
	if (p->ninputs + p->noutputs + 1 > ARGS_MAX) {
		m->outcome = OUTCOME_CRASH;
		snprintf(m->error, sizeof m->error,
		    "more than %d inputs and outputs cannot be measured",
		    ARGS_MAX - 1);
		return false;
	}
	if (fill_args(k, set, guard))
		return true;
	tell_errno("no memory for the kernel's buffers", k->wanted, m);
	return false;
}

static bool pin(const MeasureContext *c, Measurement *m)
{
	if (!c->options->pin || measure_pin_threads())
		return true;
	tell_errno("the threads cannot be pinned", 0, m);
	return false;
}

/* --- checking ------------------------------------------------------------------------------ */

static bool inputs_unchanged(const Loaded *k, int set, Measurement *m)
{
	const Program *p = k->context->program;
	const MeasureData *data = k->context->data;
	for (int i = 0; i < p->ninputs; i++) {
		const Buffer *b = &p->buffers[i];
		if (b->is_const ||
		    !memcmp(k->args[i], data->base + data->input[set][i],
			(size_t)buffer_bytes(b)))
			continue;
		snprintf(m->error, sizeof m->error,
		    "the kernel wrote to its input %s", b->name);
		return false;
	}
	return true;
}

/* Every candidate that may become the best is compared in full; one that is
 * hopeless twice in a row is compared on the first set only. */
static bool is_hopeless(Loaded *k, double took_s, double best_s)
{
	if (!(best_s > 0) || took_s < 3 * best_s)
		return false;
	double start = measure_now();
	call_loaded(k);
	return measure_now() - start > 2.5 * best_s;
}

static bool check(Loaded *k, double best_s, Measurement *m)
{
	const Program *p = k->context->program;
	m->outcome = OUTCOME_WRONG;
	for (int set = 0; set < MEASURE_SETS; set++) {
		if (!prepare(k, set, true, m))
			return false;
		double start = measure_now();
		call_loaded(k);
		double took = measure_now() - start;
		if (!inputs_unchanged(k, set, m))
			return false;
		for (int o = 0; o < p->noutputs; o++)
			if (!measure_data_compare(k->context->data, set, o,
				k->args[p->ninputs + o], m->error,
				sizeof m->error))
				return false;
		if (set == 0 && is_hopeless(k, took, best_s))
			break;
	}
	return true;
}

/* --- jobs ------------------------------------------------------------------------------------ */

static TimedKernel timed(Loaded *k, double best_s)
{
	TimedKernel t = {
	    .call = call_loaded, .context = k, .best_s = best_s};
	if (k->context->options->cold) {
		HostFacts facts;
		Arena *arena = arena_new();
		host_facts(arena, &facts);
		arena_free(arena);
		t.flush_bytes = 2 *
		    (size_t)(facts.l3_bytes ? facts.l3_bytes : FLUSH_BYTES);
		t.flush = memset(must_alloc(t.flush_bytes), 0, t.flush_bytes);
	}
	return t;
}

/* probe_s: the least probe of the run; 0: none yet. */
static void time_kernel(
    Loaded *k, double best_s, double probe_s, Measurement *m)
{
	Noise noise;
	TimedKernel t = timed(k, best_s);
	t.noise = &noise;
	noise_begin(&noise, k->lowered->kernel->nthreads, probe_s);
	measure_time(&t, m);
	noise_end(&noise, m, 1);
}

/* The runs on the three sets are its time where it is long. */
static const double long_s = 0.05;

/* The expected outputs, with every CPU there is; their times are candidate 0's
 * only where the target has as many threads. */
static bool make_expected(Loaded *k, Measurement *m)
{
	const Program *p = k->context->program;
	const MeasureData *data = k->context->data;
	for (int set = 0; set < MEASURE_SETS; set++) {
		if (!prepare(k, set, true, m))
			return false;
		double start = measure_now();
		call_loaded(k);
		m->runs_s[m->nruns++] = measure_now() - start;
		if (set == 0 && !pin(k->context, m))
			return false;
		for (int o = 0; o < p->noutputs; o++)
			memcpy(data->base + data->expected[set][o],
			    k->args[p->ninputs + o],
			    (size_t)buffer_bytes(&p->buffers[p->outputs[o]]));
	}
	m->outcome = OUTCOME_WRONG;
	if (!measure_data_check(data, m->error, sizeof m->error))
		return false;
	m->outcome = OUTCOME_OK;
	measure_summary(m);
	return true;
}

static double least_run(const Measurement *m)
{
	double least = m->runs_s[0];
	for (int i = 1; i < m->nruns; i++)
		least = fmin(least, m->runs_s[i]);
	return least;
}

static void job_reference(const MeasureContext *c, Arena *arena, Measurement *m)
{
	int cpus = host_cpus();
	int threads = c->target->threads;
	Loaded all = {.context = c}, own = {.context = c}, *k = &all;
	if (!compile(&all, arena, NULL, cpus > threads ? cpus : threads, m) ||
	    !load(&all, m) || !make_expected(&all, m))
		return;
	if (cpus > threads) {
		k = &own;
		if (!compile(&own, arena, NULL, threads, m) || !load(&own, m))
			return;
	}
	m->outcome = OUTCOME_OK;
	if ((k == &all && least_run(m) > long_s) ||
	    !prepare(k, 0, false, m))
		return;
	call_loaded(k);
	time_kernel(k, 0, 0, m);
}

static void judge_time(const Loaded *k, double peak, Measurement *m)
{
	double flops = (double)k->context->program->flops;
	m->outcome = OUTCOME_OK;
	if (peak > 0 && m->time_s * peak < flops * 0.5) {
		m->outcome = OUTCOME_IMPLAUSIBLE;
		snprintf(m->error, sizeof m->error,
		    "%.3g s is less than half of what the peak allows",
		    m->time_s);
	}
}

static void run_compiled(Loaded *k, const JobHeader *run, Measurement *m)
{
	double start = measure_now();
	if (!load(k, m))
		return;
	m->outcome = OUTCOME_CRASH;
	bool right = check(k, run->best_s, m);
	m->check_s = measure_now() - start;
	if (!right)
		return;
	start = measure_now();
	if (!prepare(k, 0, false, m) || !pin(k->context, m))
		return;
	time_kernel(k, run->best_s, run->probe_s, m);
	m->run_s = measure_now() - start;
	judge_time(k, run->peak, m);
}

/* Its first answer says what compiling gave. */
static void job_candidate(const MeasureContext *c, Arena *arena,
    const json_t *trace, int fd, Measurement *m)
{
	Loaded k = {.context = c};
	JobHeader run;
	if (!compile(&k, arena, trace, c->target->threads, m))
		return;
	m->outcome = OUTCOME_OK;
	if (!measure_write(fd, m, sizeof *m) ||
	    !measure_read(fd, &run, sizeof run))
		_exit(0);
	m->outcome = OUTCOME_BUILD;
	run_compiled(&k, &run, m);
}

static double level(const Measurement *m)
{
	return noise_level(m->noise_probe, m->noise_switches, m->noise_cpu_s);
}

/* Those that can be timed, with their places in m. */
static int load_finalists(const MeasureContext *c, Arena *arena,
    const json_t *traces, int n, Loaded *loaded, int *of, Measurement *m)
{
	int count = 0;
	for (int i = 0; i < n; i++) {
		Loaded *k = &loaded[count];
		*k = (Loaded){.context = c};
		if (!compile(k, arena, json_array_get(traces, (size_t)i),
			c->target->threads, &m[i]) ||
		    !load(k, &m[i]) || !prepare(k, 0, false, &m[i]))
			continue;
		call_loaded(k);
		of[count++] = i;
	}
	return count;
}

/* Seconds that it took; *kept: the quieter of those so far. */
static double time_round(TimedKernel *t, int n, int threads, Measurement *kept)
{
	Measurement times[MEASURE_WIDTH] = {0};
	Noise noise;
	double start = measure_now();
	noise_begin(&noise, threads, kept->probe_s);
	for (int i = 0; i < n; i++)
		t[i].noise = &noise;
	measure_time_interleaved(t, n, times);
	noise_end(&noise, times, n);
	if (kept->nruns && level(times) >= level(kept))
		kept->probe_s = times->probe_s;
	else
		memcpy(kept, times, sizeof *times * (size_t)n);
	return measure_now() - start;
}

static void job_final(const MeasureContext *c, Arena *arena,
    const json_t *traces, const JobHeader *job, Measurement *m)
{
	Loaded loaded[MEASURE_WIDTH];
	TimedKernel t[MEASURE_WIDTH];
	Measurement kept[MEASURE_WIDTH] = {{.probe_s = job->probe_s}};
	int of[MEASURE_WIDTH], threads = 1;
	double start = measure_now();
	int n = load_finalists(c, arena, traces, job->n, loaded, of, m);
	if (!n || !pin(c, &m[of[0]]))
		return;
	for (int i = 0; i < n; i++) {
		t[i] = timed(&loaded[i], 0);
		if (loaded[i].lowered->kernel->nthreads > threads)
			threads = loaded[i].lowered->kernel->nthreads;
	}
	double took = time_round(t, n, threads, kept);
	if (level(kept) > 1 &&
	    measure_now() - start + took < job->allowed_s)
		time_round(t, n, threads, kept);
	for (int i = 0; i < n; i++) {
		memcpy(kept[i].object, m[of[i]].object, sizeof m->object);
		m[of[i]] = kept[i];
	}
}

static void job_peak(const MeasureContext *c, Arena *arena, Measurement *m)
{
	for (int i = 0; i < 2; i++) {
		double flops;
		int threads = i ? c->target->threads : 1;
		Loaded k = {.context = c,
		    .lowered = peak_lowered(
			arena, c->target, threads, &flops)};
		m[i].outcome = OUTCOME_BUILD;
		if (!compile_lowered(&k, &m[i]) || !load(&k, &m[i]))
			return;
		int64_t sums = k.lowered->kernel->buffers.at[0].elements;
		k.args[0] = NEW_N(arena, float, sums);
		k.args[1] = NULL;
		k.nargs = 2;
		call_loaded(&k);
		if (threads > 1 && !pin(c, &m[i]))
			return;
		TimedKernel t = {.call = call_loaded, .context = &k};
		measure_time(&t, &m[i]);
		/* What the machine can do, not what its other users leave. */
		for (int r = 0; r < m[i].nruns; r++)
			m[i].time_s = fmin(m[i].time_s, m[i].runs_s[r]);
		m[i].time_s = flops / m[i].time_s;
		m[i].outcome = OUTCOME_OK;
	}
}

static json_t *parse(const char *text)
{
	json_t *traces = json_loads(text, 0, NULL);
	if (traces)
		return traces;
	fprintf(stderr, "no list of traces: %s\n", strerror(ENOMEM));
	_exit(1);
}

void measure_child(const MeasureContext *context, const JobHeader *job,
    const char *text, int trace, int fd)
{
	Arena *arena = arena_new();
	Measurement *m = must_alloc(sizeof *m * (size_t)job->n);
	json_t *traces = parse(text);
	for (int i = 0; i < job->n; i++)
		m[i] = measure_nothing(OUTCOME_OK);
	switch (job->kind) {
	case JOB_REFERENCE: job_reference(context, arena, m); break;
	case JOB_COMPILE:
	case JOB_AGAIN:
		job_candidate(context, arena,
		    json_array_get(traces, (size_t)trace), fd, m);
		break;
	case JOB_FINAL: job_final(context, arena, traces, job, m); break;
	case JOB_PEAK: job_peak(context, arena, m); break;
	case JOB_RUN: break; /* read by job_candidate */
	}
	measure_write(fd, m, sizeof *m * (size_t)job->n);
}
