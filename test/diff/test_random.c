/* Random schedules of random programs: lowered and run by the interpreter of
 * the lowered form with races watched, through LLVM, and through C compiled
 * with sanitizers, against the interpreter of programs.  Values are such that
 * sums are exact (common_random.h): results are equal.
 *
 * Schedules try what those of earlier seeds had least of, so SEED=n in the
 * environment runs all up to that one, and prints more where it fails. */
#include "ir/scalar.h"
#include "test/common_lowered.h"
#include "test/common_random.h"
#include "test/common_schedule.h"

#include <dlfcn.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Pairs.  C gets all in the long tier, one batch of C_SHARE in the quick. */
enum { QUICK = 2000, LONG = 50000, BATCH = 50, C_SHARE = 4 };
enum { MOST_STEPS = 20, LEAST_ACCEPTED = 50, MEDIAN_STEPS = 8 };
enum { ALIGN = 64, MAX_STEPS = 10000000, MOST_ARGS = 12 };

typedef struct {
	int seed;
	Program *program;
	Trace *trace;
	Lowered *lowered;
	void **data; /* by buffer; all but inputs as they should be */
} Pair;

typedef struct {
	Arena *arena;
	Pair pairs[BATCH];
	int n;
	/* on its way through C */
	pid_t pid; /* 0: not */
	char *folder;
} Batch;

/* C compilers run beside the rest. */
enum { JOBS = 2 };

typedef struct {
	Batch jobs[JOBS];
	Coverage schedules;
	RandomCoverage programs;
	int steps[MOST_STEPS + 8]; /* traces of that many */
	int lowered, pairs, through_c;
	char folder[32];
} State;

static bool long_tier(void)
{
	const char *tier = getenv("TIER");
	return tier && !strcmp(tier, "long");
}

/* --- data ------------------------------------------------------------------ */

static void *fresh(Arena *arena, int64_t bytes)
{
	uintptr_t at = (uintptr_t)arena_alloc(
	    arena, (size_t)bytes + 2 * ALIGN);
	void *data = (void *)((at + ALIGN - 1) / ALIGN * ALIGN);

	return memset(data, 0xff, (size_t)bytes);
}

static void put(DType type, void *data, int64_t i, int value)
{
	switch (type) {
	case DT_F64: ((double *)data)[i] = value; break;
	case DT_F32: ((float *)data)[i] = (float)value; break;
	case DT_F16: ((uint16_t *)data)[i] = f16_from_f64(value); break;
	case DT_BF16: ((uint16_t *)data)[i] = bf16_from_f64(value); break;
	case DT_I64: ((int64_t *)data)[i] = value; break;
	case DT_I32: ((int32_t *)data)[i] = value; break;
	case DT_I16: ((int16_t *)data)[i] = (int16_t)value; break;
	case DT_I8: ((int8_t *)data)[i] = (int8_t)value; break;
	case DT_U8: ((uint8_t *)data)[i] = (uint8_t)(value + 4); break;
	default: ((uint8_t *)data)[i] = value & 1;
	}
}

static void **make_data(Arena *arena, const Program *p, int seed)
{
	void **data = NEW_N(arena, void *, p->nbuffers);
	Rng rng = rng_stream((uint64_t)seed, 5, 0);

	for (int i = 0; i < p->nbuffers; i++) {
		const Buffer *b = &p->buffers[i];
		data[i] = fresh(arena, buffer_bytes(b));
		for (int64_t k = 0; i < p->ninputs && k < buffer_elements(b);
		     k++)
			put(b->type, data[i], k, (int)rng_below(&rng, 9) - 4);
	}
	return data;
}

/* Zeros of either sign are equal: their order in a reduction is free. */
static bool same(DType type, const void *a, const void *b, int64_t i)
{
	size_t bytes = (size_t)dtype_bytes(type), at = (size_t)i * bytes;
	if (!dtype_is_float(type))
		return !memcmp(
		    (const char *)a + at, (const char *)b + at, bytes);
	double x = scalar_element(type, a, i);
	double y = scalar_element(type, b, i);
	return x == y || (isnan(x) && isnan(y));
}

/* --- failures ---------------------------------------------------------------- */

static void wrong(const Pair *pair, const char *through, const char *why)
{
	Buf text = {0};
	program_print(&text, pair->program);
	trace_print(&text, pair->trace);
	print_error("seed %d through %s: %s\n%s", pair->seed, through, why,
	    buf_text(&text));
	if (getenv("SEED") && pair->lowered) {
		buf_clear(&text);
		lowered_print(&text, pair->lowered);
		print_error("%s", buf_text(&text));
	}
	buf_free(&text);
	fail();
}

static void compare(const Pair *pair, const char *through, void **outputs)
{
	const Program *p = pair->program;
	char why[128];

	for (int i = 0; i < p->noutputs; i++) {
		const Buffer *b = &p->buffers[p->outputs[i]];
		for (int64_t k = 0; k < buffer_elements(b); k++) {
			if (same(b->type, outputs[i],
				pair->data[p->outputs[i]], k))
				continue;
			snprintf(why, sizeof why, "%s[%lld] differs", b->name,
			    (long long)k);
			wrong(pair, through, why);
		}
	}
}

/* --- the interpreter and LLVM ---------------------------------------------- */

typedef void Kernel(void *, void *, void *, void *, void *, void *, void *,
    void *, void *, void *, void *, void *);

/* `kernel` NULL: the interpreter.  False where that takes too long: a schedule
 * may compute things again and again. */
static bool call(const Pair *pair, const LowFunction *f, void *kernel,
    void **a)
{
	LowRun run = {.check_races = true, .max_steps = MAX_STEPS};
	Kernel *k;

	if (!kernel) {
		if (low_function_run(f, a, &run))
			return true;
		if (!strstr(run.message, "more than"))
			wrong(pair, "the interpreter", run.message);
		return false;
	}
	*(void **)&k = kernel; /* arguments too many are left alone */
	k(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10],
	    a[11]);
	return true;
}

/* Runs pack functions and the kernel; addresses: kernel, then packs. */
static bool run_pair(
    Arena *arena, const Pair *pair, const char *through, void **addresses)
{
	const Program *p = pair->program;
	const Lowered *l = pair->lowered;
	void *args[MOST_ARGS] = {NULL}, *outputs[MOST_ARGS];
	int packs = 0;

	assert_true(p->ninputs + p->noutputs < MOST_ARGS);
	for (int i = 0; i < p->ninputs; i++) {
		args[i] = pair->data[i];
		if (!p->buffers[i].is_const)
			continue;
		args[i] = fresh(arena, l->packed_bytes[packs]);
		call(pair, l->packs.at[packs],
		    addresses ? addresses[1 + packs] : NULL,
		    (void *[MOST_ARGS]){pair->data[i], args[i]});
		packs++;
	}
	for (int i = 0; i < p->noutputs; i++)
		args[p->ninputs + i] = outputs[i] = fresh(
		    arena, buffer_bytes(&p->buffers[p->outputs[i]]));
	args[p->ninputs + p->noutputs] = fresh(arena, l->workspace_bytes);
	if (!call(pair, l->kernel, addresses ? addresses[0] : NULL, args))
		return false;
	compare(pair, through, outputs);
	return true;
}

static void through_llvm(Batch *b, const Target *target)
{
	const LlvmModule *llvm = lowtest_llvm();
	Lowered *lowered[BATCH];
	const char *names[BATCH * MOST_ARGS];
	void *addresses[BATCH * MOST_ARGS];
	int n = 0;
	Buf object = {0};
	Error error = {0};

	for (int i = 0; i < b->n; i++) {
		const Lowered *l = b->pairs[i].lowered;
		lowered[i] = b->pairs[i].lowered;
		names[n++] = l->kernel->name;
		for (int k = 0; k < l->packs.n; k++)
			names[n++] = l->packs.at[k]->name;
	}
	lowtest_compile(target, lowered, b->n, LLVM_OBJECT, &object);
	if (llvm->load(object.data, object.size, names, n, addresses, &error))
		fail_msg("%s", error.text);
	n = 0;
	for (int i = 0; i < b->n; i++) {
		run_pair(b->arena, &b->pairs[i], "LLVM", addresses + n);
		n += 1 + b->pairs[i].lowered->packs.n;
	}
	buf_free(&object);
}

/* --- C ------------------------------------------------------------------------ */

/* Each buffer is a block of memory of its own, for the sanitizer to watch. */
static const char driver[] =
    "\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "static void *fresh(size_t bytes)\n{\n"
    "\tvoid *p;\n"
    "\tif (posix_memalign(&p, 64, bytes ? bytes : 1))\n\t\texit(2);\n"
    "\treturn memset(p, 0xff, bytes);\n}\n"
    "static void *take(size_t bytes)\n{\n"
    "\tvoid *p = fresh(bytes);\n"
    "\tif (fread(p, 1, bytes, stdin) != bytes)\n\t\texit(3);\n"
    "\treturn p;\n}\n";

static void write_call(Buf *out, const Pair *pair)
{
	const Program *p = pair->program;
	const Lowered *l = pair->lowered;
	Buf args = {0}, after = {0};
	int packs = 0;

	buf_printf(out, "\t{\n");
	for (int i = 0; i < p->ninputs; i++) {
		buf_printf(out, "\t\tvoid *x%d = take(%lld);\n", i,
		    (long long)buffer_bytes(&p->buffers[i]));
		if (p->buffers[i].is_const) {
			buf_printf(out,
			    "\t\tvoid *p%d = fresh(%lld);\n\t\t%s(x%d, p%d);\n",
			    i, (long long)l->packed_bytes[packs],
			    l->packs.at[packs]->name, i, i);
			packs++;
		}
		buf_printf(&args, "%c%d, ",
		    p->buffers[i].is_const ? 'p' : 'x', i);
	}
	for (int i = 0; i < p->noutputs; i++) {
		long long bytes =
		    (long long)buffer_bytes(&p->buffers[p->outputs[i]]);
		buf_printf(out, "\t\tvoid *y%d = fresh(%lld);\n", i, bytes);
		buf_printf(&args, "y%d, ", i);
		buf_printf(&after, "\t\tfwrite(y%d, 1, %lld, stdout);\n", i,
		    bytes);
	}
	buf_printf(out, "\t\t%s(%sfresh(%lld));\n%s\t}\n", l->kernel->name,
	    buf_text(&args), (long long)l->workspace_bytes, buf_text(&after));
	buf_free(&args);
	buf_free(&after);
}

static void put_file(const Batch *b, const char *name, const Buf *text)
{
	char path[64];
	snprintf(path, sizeof path, "%s/%s", b->folder, name);
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(text->data, 1, text->size, f), text->size);
	fclose(f);
}

static void write_c(const Batch *b, const Target *target)
{
	const Lowered *lowered[BATCH];
	EmitComment comments[BATCH];
	Buf text = {0}, input = {0};

	for (int i = 0; i < b->n; i++) {
		const Program *p = b->pairs[i].program;
		lowered[i] = b->pairs[i].lowered;
		comments[i] = (EmitComment){target->text, "none", ""};
		for (int k = 0; k < p->ninputs; k++)
			buf_add(&input, b->pairs[i].data[k],
			    (size_t)buffer_bytes(&p->buffers[k]));
	}
	emit_c_all(&text, lowered, b->n, target, comments);
	buf_puts(&text, driver);
	buf_puts(&text, "int main(void)\n{\n");
	for (int i = 0; i < b->n; i++)
		write_call(&text, &b->pairs[i]);
	buf_puts(&text, "\treturn 0;\n}\n");
	buf_puts(&input, "");
	put_file(b, "k.c", &text);
	put_file(b, "in", &input);
	buf_free(&text);
	buf_free(&input);
}

static void compare_c(Batch *b)
{
	char path[64];
	snprintf(path, sizeof path, "%s/out", b->folder);
	FILE *f = fopen(path, "rb");
	assert_non_null(f);
	for (int i = 0; i < b->n; i++) {
		const Program *p = b->pairs[i].program;
		void *outputs[MOST_ARGS];
		for (int k = 0; k < p->noutputs; k++) {
			size_t bytes = (size_t)buffer_bytes(
			    &p->buffers[p->outputs[k]]);
			outputs[k] = fresh(b->arena, (int64_t)bytes);
			assert_int_equal(
			    fread(outputs[k], 1, bytes, f), bytes);
		}
		compare(&b->pairs[i], "C", outputs);
	}
	fclose(f);
}

/* Clang's OpenMP is an extra package: its batches run on one thread. */
static const char *compiler(const Batch *b)
{
	bool clang = b->pairs[0].seed / BATCH / C_SHARE % 2 &&
	    !access("/usr/bin/clang-14", X_OK);
	return clang ? "clang-14" : "gcc -fopenmp";
}

static void start_c(Batch *b, const Target *target)
{
	char *command = arena_printf(b->arena,
	    "cd %s && %s -std=gnu11 -O0 -fsanitize=address,undefined "
	    "-fno-sanitize-recover=all -o k k.c -lm 2>log && "
	    "ASAN_OPTIONS=detect_leaks=0 OMP_NUM_THREADS=2 "
	    "./k <in >out 2>log || { head -n 40 log; exit 1; }",
	    b->folder, compiler(b));

	write_c(b, target);
	b->pid = fork();
	assert_true(b->pid >= 0);
	if (!b->pid) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
}

static void finish_c(State *state, Batch *b)
{
	int status;

	if (!b->pid)
		return;
	assert_int_equal(waitpid(b->pid, &status, 0), b->pid);
	b->pid = 0;
	if (status)
		fail_msg("seeds %d to %d through C, see above",
		    b->pairs[0].seed, b->pairs[b->n - 1].seed);
	compare_c(b);
	state->through_c += b->n;
	arena_free(b->arena);
}

/* --- pairs -------------------------------------------------------------------- */

/* One in four is made by hand, half of those for tensor intrinsics. */
static Program *make_program(
    Arena *arena, Rng *rng, int seed, RandomCoverage *coverage)
{
	char *symbol = arena_printf(arena, "k%d", seed);
	if (seed % 4)
		return random_program(arena, rng, symbol, coverage);
	Program *p = seed % 8 ? schedule_random_program(arena, rng)
			      : schedule_dot(arena);
	p->symbol = symbol;
	return p;
}

static void add_pair(State *state, Batch *b, int seed)
{
	Rng rng = rng_stream(2026, 12, (uint64_t)seed);
	Error error = {0};
	Pair pair = {.seed = seed};
	Nest *nest;
	char why[256];

	pair.program =
	    make_program(b->arena, &rng, seed, &state->programs);
	if (seed % 4 && !program_verify(pair.program, why, sizeof why))
		fail_msg("seed %d: %s", seed, why);
	pair.trace = schedule_random(b->arena, pair.program, &test_machine, &rng,
	    MOST_STEPS, &state->schedules);
	nest = schedule_nest(
	    b->arena, pair.program, &test_machine, pair.trace, &error);
	state->steps[pair.trace->steps.n]++;
	state->pairs++;
	if (!nest)
		wrong(&pair, "schedule_nest", error.text);
	pair.lowered = lower(b->arena, nest, &test_machine, &error);
	if (!pair.lowered) {
		if (error.status != STATUS_UNSUPPORTED)
			wrong(&pair, "lower", error.text);
		return;
	}
	if (!lowered_verify(pair.lowered, why, sizeof why))
		wrong(&pair, "lower", why);
	pair.data = make_data(b->arena, pair.program, seed);
	interp_run(pair.program, pair.data);
	if (!run_pair(b->arena, &pair, "the interpreter", NULL))
		return;
	state->lowered++;
	b->pairs[b->n++] = pair;
}

static void run_batch(State *state, const Target *target, int first, int n)
{
	Batch *b = &state->jobs[first / BATCH % JOBS];

	finish_c(state, b);
	*b = (Batch){.arena = arena_new()};
	b->folder = arena_printf(
	    b->arena, "%s/%d", state->folder, first / BATCH % JOBS);
	mkdir(b->folder, 0700);
	for (int i = 0; i < n; i++)
		add_pair(state, b, first + i);
	assert_true(b->n > 0);
	bool in_c = long_tier() || first / BATCH % C_SHARE == 0;
	if (in_c)
		start_c(b, target);
	through_llvm(b, target);
	if (!in_c)
		arena_free(b->arena);
}

/* --- coverage ----------------------------------------------------------------- */

static int median_steps(const State *state)
{
	int steps = 0;
	for (int n = state->steps[0]; 2 * n <= state->pairs;)
		n += state->steps[++steps];
	return steps;
}

static void covered(const char *what, const char *name, int count)
{
	print_message("%s %s: %d\n", what, name, count);
	if (!count)
		fail_msg("no program has %s %s", what, name);
}

static void check_programs(const RandomCoverage *c)
{
	for (int op = OP_INT; op < OP_COUNT; op++)
		if (op != OP_AXIS && op != OP_VAR && op != OP_TAPE &&
		    op != OP_REDUCE)
			covered("operation",
			    op == OP_INT ? "int" : op == OP_FLOAT ? "float"
				: op == OP_READ ? "read"
				: op == OP_CAST ? "cast" : op_name((Op)op),
			    c->op[op]);
	static const Op index[] = {OP_ADD, OP_SUB, OP_MUL, OP_FLOORDIV, OP_MOD,
	    OP_MIN, OP_MAX, OP_CLAMP, OP_ABS, OP_IF};
	for (size_t i = 0; i < sizeof index / sizeof *index; i++)
		covered("index", op_name(index[i]), c->index[index[i]]);
	for (int t = 0; t < DT_COUNT; t++)
		covered("buffer of", dtype_name((DType)t), c->type[t]);
	for (int r = REDUCE_SUM; r <= REDUCE_MIN; r++)
		covered("reduction", reduce_name((ReduceOp)r), c->reduce[r]);
	for (int i = 0; i < RANDOM_EXTENTS; i++) {
		char extent[16];
		snprintf(extent, sizeof extent, "%d", random_extents[i]);
		covered("extent", extent, c->extent[i]);
	}
	covered("a", "read under a condition", c->guarded_read);
	covered("a", "scalar", c->scalar);
	covered("several", "outputs", c->several_outputs);
	covered("an", "output that is read", c->output_read);
	covered("an", "unused input", c->unused_input);
	covered("a", "const input", c->constant_input);
}

static void check_schedules(const Coverage *c)
{
	for (int i = 0; i < PRIMITIVE_COUNT; i++) {
		if (c->excluded[i])
			continue;
		print_message("%s: %lld accepted\n", primitive_name(i),
		    (long long)c->accepted[i]);
		assert_true(c->accepted[i] >= LEAST_ACCEPTED);
	}
}

static void test_random(void **unused)
{
	State state = {.folder = "/tmp/tunec-test-XXXXXX"};
	int rounds = long_tier() ? LONG : QUICK;
	Arena *arena = arena_new();
	Error error = {0};
	char command[64];

	(void)unused;
	const char *only = getenv("SEED");
	/* what LLVM's parallel loops call */
	assert_non_null(dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL));
	/* as wide as `machine`; gcc 12 at -O0 fails on wider shuffles */
	Target *target = target_parse(arena,
	    "llvm -mtriple=x86_64-pc-linux-gnu -mcpu=x86-64-v3 -threads=2",
	    &error);
	if (!target || !target_runs_here(target))
		target = target_parse(arena, "host", &error);
	if (!target)
		fail_msg("%s", error.text);
	assert_non_null(mkdtemp(state.folder));
	/* only a GPU has them */
	state.schedules.excluded[PRIMITIVE_bind] = true;
	state.schedules.excluded[PRIMITIVE_vthread] = true;
	for (int i = 0; i < rounds; i += BATCH)
		if (!only || i / BATCH <= atoi(only) / BATCH)
			run_batch(&state, target, i, BATCH);
	for (int i = 0; i < JOBS; i++)
		finish_c(&state, &state.jobs[i]);
	snprintf(command, sizeof command, "rm -rf %s", state.folder);
	assert_int_equal(system(command), 0);
	print_message("%d pairs, %d run, %d through C, %d steps in the "
		      "median\n", state.pairs, state.lowered, state.through_c,
	    median_steps(&state));
	arena_free(arena);
	if (only)
		return;
	check_programs(&state.programs);
	check_schedules(&state.schedules);
	assert_true(median_steps(&state) >= MEDIAN_STEPS);
	assert_true(state.lowered > rounds * 9 / 10);
	assert_true(state.through_c >= state.lowered / (C_SHARE + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_random),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
