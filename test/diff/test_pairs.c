/* Random operators under random schedules: what the interpreter of programs
 * computes is what the lowered form's interpreter, LLVM's object and emitted C
 * under sanitizers compute.  No compiler warns of the C.  Of every fifth batch the
 * C is also compiled as users do for speed, by gcc -O3 and clang -O3, and run
 * between pages without access: once with each buffer's end at one, once with its
 * beginning.
 *
 * With sanitizers of its own the test has compilers do none of that: C is
 * written, LLVM's object made and run.
 *
 * Batches of 30 pairs are made, compiled and run by a process each, two at a
 * time, until enough of them went through all; one that dies is run again pair
 * by pair.  SEED=n runs one pair, PAIRS=n that many from there;
 * SHOW=1 prints them. */
#include "lib/sanitize.h"
#include "test/common_lowered.h"
#include "test/common_pair.h"
#include "test/common_tier.h"
#include "tuner/measure/measure_internal.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	QUICK = 400,
	LONG = 50000, /* through both LLVM and C */
	BATCH = 30,
	AT_ONCE = 2,
	MOST_FAILURES = 5,
	LEAST_ACCEPTED = 5,
	LEAST_MEDIAN = 8,
	STEPS_MOST = 64,
	NAMES = 64 /* of a kernel and its pack functions */,
	LARGE = 600,
	LARGER = 1000,
	OPTIMIZED = 5, /* every such batch */
	C_OF_FIVE = 1  /* so many batches go through C in the quick tier */
};

#define STRICT "-Wall -Wextra -Werror"

static const char *const compilers[] = {"gcc", "clang-14"};
static const char *const isas[] = {"C", "SSE2", "AVX2", "AVX-512"};
enum { COMPILERS = sizeof compilers / sizeof *compilers,
	ISAS = sizeof isas / sizeof *isas };

/* What pairs for a GPU have. */
enum { DEVICE_RAN, DEVICE_BLOCKS, DEVICE_THREADS, DEVICE_SHARED, DEVICE_LOCAL,
	DEVICE_REFILLED, DEVICE_TESTED, DEVICE_COUNT };
static const char *const device_names[] = {"ran", "block loops",
    "thread loops", "shared buffers", "local buffers",
    "shared buffers filled again", "conditions of threads"};

/* What processes tell the test; in memory that they share. */
typedef struct {
	OperatorCoverage operators;
	int64_t accepted[PRIMITIVE_COUNT];
	int traces[STEPS_MOST + 1]; /* by length; longer ones last */
	int device[DEVICE_COUNT]; /* pairs for a GPU that ran, and of them */
	int interpreted, llvm, c, joined, left_out, errors;
	int optimized[COMPILERS][ISAS]; /* run between pages without access */
	int compiled[COMPILERS][ISAS];  /* not for this machine */
	char folder[64];    /* of its files, removed by whoever waits for it */
	int seed;           /* at hand */
	char stage[60];     /* what is done to it */
	char failure[8000];
	char refusal[200];  /* of one that was not lowered, or runs too long */
} Report;

typedef struct {
	Arena *arena;
	const Target *target;
	bool runs_here;
	Report *report;
	int n;              /* pairs that are compiled */
	Pair *pairs[BATCH];
	const Lowered *lowered[BATCH];
	void *functions[BATCH][NAMES];
	const char *folder;
} Batch;

static void stage(Batch *b, const Pair *pair, const char *what)
{
	if (pair)
		b->report->seed = pair->seed;
	snprintf(b->report->stage, sizeof b->report->stage, "%s", what);
}

/* False: the pair is right so far. */
static bool failed(Batch *b, const Pair *pair, const char *why)
{
	if (!why)
		return false;
	snprintf(b->report->failure, sizeof b->report->failure,
	    "%s: %s\n%.6500s", b->report->stage, why,
	    pair ? pair_show(b->arena, pair) : "");
	return true;
}

/* --- LLVM --------------------------------------------------------------------- */

static const char *call_pointer(
    void *context, const Pair *pair, int pack, void **a, int n)
{
	(void)pair;
	measure_call(((void **)context)[pack + 1], a, n);
	return NULL;
}

static const char *load(Batch *b, const LlvmModule *llvm, const Buf *object)
{
	const char *names[BATCH * NAMES];
	void *addresses[BATCH * NAMES];
	Error error;
	int n = 0, k = 0;

	for (int i = 0; i < b->n; i++) {
		names[n++] = b->lowered[i]->kernel->name;
		for (int p = 0; p < b->lowered[i]->packs.n; p++)
			names[n++] = b->lowered[i]->packs.at[p]->name;
	}
	if (llvm->load(object->data, object->size, names, n, addresses, &error))
		return arena_strdup(b->arena, error.text);
	for (int i = 0; i < b->n; i++)
		for (int p = 0; p <= b->lowered[i]->packs.n; p++)
			b->functions[i][p] = addresses[k++];
	return NULL;
}

static bool through_llvm(Batch *b)
{
	const LlvmModule *llvm = lowtest_llvm();
	Error error = {0};
	const Target *t = b->target->kind == TARGET_LLVM
	    ? b->target : target_host(b->arena, &error);
	Buf object = {0};

	stage(b, NULL, "LLVM");
	if (!llvm || !t)
		return !failed(b, NULL, "no LLVM or no host");
	if (llvm->compile(b->lowered, b->n, t->triple, t->cpu, t->attrs,
		LLVM_OBJECT, &object, &error))
		return !failed(b, b->n == 1 ? b->pairs[0] : NULL, error.text);
	if (failed(b, NULL, load(b, llvm, &object)))
		return false;
	buf_free(&object);
	for (int i = 0; i < b->n; i++) {
		stage(b, b->pairs[i], "LLVM");
		if (failed(b, b->pairs[i], pair_run(b->arena, b->pairs[i],
				 PAIR_AT_END, call_pointer, b->functions[i])))
			return false;
	}
	b->report->llvm += b->n;
	return true;
}

/* --- C ------------------------------------------------------------------------ */

static const char DRIVER[] =
    "\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n"
    "static void *take(size_t align, size_t size) {\n"
    "\tvoid *p = NULL;\n"
    "\tif (posix_memalign(&p, align < 8 ? 8 : align, size ? size : 1))\n"
    "\t\texit(9);\n"
    "\tmemset(p, 0xff, size);\n\treturn p;\n}\n"
    "static void *get(size_t size) {\n"
    "\tvoid *p = take(8, size);\n"
    "\tif (fread(p, 1, size, stdin) != size)\n\t\texit(9);\n"
    "\treturn p;\n}\n";

static void write_call(Buf *out, const Pair *pair)
{
	const Program *p = pair->program;
	const char *symbol = p->symbol;
	int pack = 0;

	buf_printf(out, "static void run_%s(void) {\n", symbol);
	for (int i = 0; i < p->ninputs; i++) {
		buf_printf(out, "\tvoid *a%d = get(%lld);\n", i,
		    (long long)buffer_bytes(&p->buffers[i]));
		if (!p->buffers[i].is_const)
			continue;
		buf_printf(out, "\tvoid *p%d = take(64, %lld);\n\t%s(a%d, "
				"p%d);\n\tfree(a%d); a%d = p%d;\n",
		    i, (long long)pair->lowered->packed_bytes[pack],
		    pair->lowered->packs.at[pack]->name, i, i, i, i, i);
		pack++;
	}
	for (int i = 0; i < p->noutputs; i++)
		buf_printf(out, "\tvoid *b%d = take(8, %lld);\n", i,
		    (long long)buffer_bytes(&p->buffers[p->outputs[i]]));
	buf_printf(out, "\tvoid *w = take(64, %lld);\n\t%s(",
	    (long long)pair->lowered->workspace_bytes, symbol);
	for (int i = 0; i < p->ninputs; i++)
		buf_printf(out, "a%d, ", i);
	for (int i = 0; i < p->noutputs; i++)
		buf_printf(out, "b%d, ", i);
	buf_puts(out, "w);\n");
	for (int i = 0; i < p->noutputs; i++)
		buf_printf(out, "\tfwrite(b%d, 1, %lld, stdout);\n\tfree(b%d);\n",
		    i, (long long)buffer_bytes(&p->buffers[p->outputs[i]]), i);
	for (int i = 0; i < p->ninputs; i++)
		buf_printf(out, "\tfree(a%d);\n", i);
	buf_puts(out, "\tfree(w);\n}\n");
}

static void write_kernels(Batch *b, Buf *out)
{
	EmitComment comments[BATCH];

	for (int i = 0; i < b->n; i++)
		comments[i] = (EmitComment){b->target->text, "none", ""};
	emit_c_all(out, b->lowered, b->n, b->target, comments);
}

static void write_c(Batch *b, Buf *out)
{
	write_kernels(b, out);
	buf_puts(out, DRIVER);
	for (int i = 0; i < b->n; i++)
		write_call(out, b->pairs[i]);
	buf_puts(out, "int main(void) {\n");
	for (int i = 0; i < b->n; i++)
		buf_printf(out,
		    "\tfputs(\"%d\\n\", stderr);\n\trun_%s();\n"
		    "\tfflush(stdout);\n",
		    i, b->pairs[i]->program->symbol);
	buf_puts(out, "\treturn 0;\n}\n");
}

static void write_file(Batch *b, const char *name, const Buf *text)
{
	FILE *f = fopen(arena_printf(b->arena, "%s/%s", b->folder, name), "wb");

	assert_non_null(f);
	assert_int_equal(fwrite(text->data, 1, text->size, f), text->size);
	fclose(f);
}

static char *read_file(Batch *b, const char *name, size_t *size)
{
	FILE *f = fopen(arena_printf(b->arena, "%s/%s", b->folder, name), "rb");
	Buf text = {0};
	char part[4096], *copy;

	for (size_t n; f && (n = fread(part, 1, sizeof part, f)) > 0;)
		buf_add(&text, part, n);
	if (f)
		fclose(f);
	*size = text.size;
	copy = arena_strndup(b->arena, buf_text(&text), text.size);
	buf_free(&text);
	return copy;
}

static void write_inputs(Batch *b)
{
	Buf data = {0};

	buf_puts(&data, "");
	for (int i = 0; i < b->n; i++) {
		const Program *p = b->pairs[i]->program;
		for (int k = 0; k < p->ninputs; k++)
			buf_add(&data, b->pairs[i]->data[k],
			    (size_t)buffer_bytes(&p->buffers[k]));
	}
	write_file(b, "in", &data);
	buf_free(&data);
}

/* The pair that the driver named last, and what the sanitizers said. */
static bool c_died(Batch *b)
{
	size_t size;
	char *text = read_file(b, "said", &size), *at = text;
	int i = 0;

	while (at && *at >= '0' && *at <= '9') {
		i = atoi(at);
		at = strchr(at, '\n');
		at = at ? at + 1 : NULL;
	}
	b->report->seed = b->pairs[i]->seed;
	return failed(
	    b, b->pairs[i], arena_printf(b->arena, "%.1200s", at ? at : text));
}

static bool compare_c(Batch *b)
{
	size_t size, at = 0;
	char *data = read_file(b, "out", &size);

	for (int i = 0; i < b->n; i++) {
		const Program *p = b->pairs[i]->program;
		stage(b, b->pairs[i], "C");
		for (int k = 0; k < p->noutputs; k++) {
			size_t bytes = (size_t)buffer_bytes(
			    &p->buffers[p->outputs[k]]);
			if (failed(b, b->pairs[i],
				at + bytes > size ? "no output"
				: pair_compare(b->arena, b->pairs[i], k,
				      arena_memdup(b->arena, data + at,
					  bytes))))
				return false;
			at += bytes;
		}
	}
	b->report->c += b->n;
	return true;
}

static const char *c_compiler(int batch)
{
	const char *cc = getenv("CC");

	if (batch % 5 != 4 && !access("/usr/bin/clang-14", X_OK))
		return "clang-14";
	return cc ? cc : "cc";
}

/* With sanitizers: clang -O1 takes minutes for a thousand lines of vectors, and
 * gcc -O1 twice as long as -O0; what optimizers make of it is run below. */
static bool through_c(Batch *b)
{
	int batch = b->pairs[0]->seed / BATCH;
	const char *cc = c_compiler(batch);
	size_t size;
	Buf text = {0};

	stage(b, NULL, "C");
	write_c(b, &text);
	write_file(b, "k.c", &text);
	buf_free(&text);
	write_inputs(b);
	if (system(arena_printf(b->arena,
		"cd %s && %s -std=c11 -O0 -w -fsanitize=address,undefined "
		"-fno-sanitize-recover=all %s -o k k.c -lm 2>said",
		b->folder, cc, batch % 2 ? "-fopenmp" : "")))
		return !failed(b, b->n == 1 ? b->pairs[0] : NULL,
		    arena_printf(b->arena, "%.900s",
			read_file(b, "said", &size)));
	if (system(arena_printf(b->arena,
		"cd %s && ./k <in >out 2>said", b->folder)))
		return !c_died(b);
	return compare_c(b);
}

/* --- C as users compile it ---------------------------------------------------- */

static bool has_compiler(const char *name)
{
	char command[100];

	snprintf(
	    command, sizeof command, "command -v %s >/dev/null 2>&1", name);
	return !system(command);
}

static int isa_of(const Target *target)
{
	int bytes = target->machine.vector_bytes;

	return target->kind == TARGET_C ? 0
	    : bytes < 32 ? 1 : bytes < 64 ? 2 : 3;
}

/* The functions of a shared library, as load() leaves them. */
static const char *open_library(Batch *b, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		return arena_strdup(b->arena, dlerror());
	for (int i = 0; i < b->n; i++) {
		const Lowered *l = b->lowered[i];
		b->functions[i][0] = dlsym(library, l->kernel->name);
		for (int p = 0; p < l->packs.n; p++)
			b->functions[i][p + 1] =
			    dlsym(library, l->packs.at[p]->name);
	}
	return NULL;
}

static bool run_between_pages(Batch *b, const char *how)
{
	static const char *const places[] = {"behind", "in front"};

	for (int i = 0; i < 2 * b->n; i++) {
		Pair *pair = b->pairs[i / 2];
		stage(b, pair, arena_printf(b->arena, "%s, page %s", how,
				   places[i % 2]));
		if (failed(b, pair, pair_run(b->arena, pair,
				i % 2 ? PAIR_AT_START : PAIR_AT_END,
				call_pointer, b->functions[i / 2])))
			return false;
	}
	return true;
}

/* What both say of the text alone; what else they say shows as they optimize. */
static bool without_warnings(Batch *b)
{
	size_t size;
	Buf text = {0};

	write_kernels(b, &text);
	write_file(b, "kernels.c", &text);
	buf_free(&text);
	for (int c = 0; c < COMPILERS; c++) {
		stage(b, b->n == 1 ? b->pairs[0] : NULL,
		    arena_printf(b->arena, "warnings of %s", compilers[c]));
		if (has_compiler(compilers[c]) &&
		    system(arena_printf(b->arena,
			"cd %s && %s -std=c11 " STRICT
			" -fopenmp -fsyntax-only kernels.c 2>said",
			b->folder, compilers[c])))
			return !failed(b, b->n == 1 ? b->pairs[0] : NULL,
			    arena_printf(b->arena, "%.900s",
				read_file(b, "said", &size)));
	}
	return true;
}

/* Compiled by compilers[c], and run where this machine can. */
static bool through_optimizer(Batch *b, int c, const char *flags)
{
	const char *how =
	    arena_printf(b->arena, "%s %s", compilers[c], flags);
	const char *path =
	    arena_printf(b->arena, "%s/%s.so", b->folder, compilers[c]);
	size_t size;
	Buf text = {0};

	stage(b, b->n == 1 ? b->pairs[0] : NULL, how);
	write_kernels(b, &text);
	write_file(b, "kernels.c", &text);
	buf_free(&text);
	if (system(arena_printf(b->arena,
		"cd %s && %s -std=c11 " STRICT
		" -fPIC -shared kernels.c -o %s.so -lm 2>said",
		b->folder, how, compilers[c]))) {
		const char *said = read_file(b, "said", &size);
		/* clang 14 gives up on some halves of CPUs that have f16 */
		return strstr(said, "error in backend") ||
		    !failed(b, b->n == 1 ? b->pairs[0] : NULL,
			arena_printf(b->arena, "%.900s", said));
	}
	if (!b->runs_here) {
		b->report->compiled[c][isa_of(b->target)] += b->n;
		return true;
	}
	if (failed(b, NULL, open_library(b, path)) ||
	    !run_between_pages(b, how))
		return false;
	b->report->optimized[c][isa_of(b->target)] += b->n;
	return true;
}

/* Target `c` leaves the machine to the compiler's flags; the others name it,
 * and flags may add to it. */
static bool through_optimizers(Batch *b)
{
	int batch = b->pairs[0]->seed / BATCH;
	bool native = b->target->kind == TARGET_C || batch % 2;
	const char *flags =
	    native && b->runs_here ? "-O3 -march=native" : "-O3";

	for (int c = 0; c < COMPILERS; c++)
		if (has_compiler(compilers[c]) &&
		    !through_optimizer(b, c, flags))
			return false;
	return true;
}

/* --- batches ------------------------------------------------------------------ */

static void count(Batch *b, const Pair *pair)
{
	Report *r = b->report;
	int steps = pair->trace->steps.n;

	operator_count(&r->operators, pair->program);
	r->joined += pair->ngroups > 1;
	for (int i = 0; i < PRIMITIVE_COUNT; i++)
		r->accepted[i] += pair->steps.accepted[i];
	if (pair->kind != PAIR_PLAIN && pair->kind != PAIR_EXACT)
		r->traces[steps > STEPS_MOST ? STEPS_MOST : steps]++;
}

static int nodes(const LowBody *body)
{
	int n = body->n;

	for (int i = 0; i < body->n; i++)
		n += nodes(&body->at[i]->body) + nodes(&body->at[i]->other);
	return n;
}

/* Unrolled so far that compilers would spend the test's time on it: LLVM takes
 * minutes for some blocks of thousands of masked stores. */
static bool is_large(const Pair *pair)
{
	return nodes(&pair->lowered->kernel->body) >
	    (tier_is_long() ? LARGER : LARGE);
}

static void leave_out(Batch *b, int seed, const char *why)
{
	b->report->left_out++;
	snprintf(b->report->refusal, sizeof b->report->refusal,
	    "seed %d: %.150s", seed, why);
}

static void find_device(const LowFunction *f, const LowBody *body,
    bool thread, bool *has)
{
	for (int i = 0; i < body->n; i++) {
		const LowNode *n = body->at[i];
		bool loop = n->kind == LOWNODE_LOOP;
		bool threads = loop && loop_is_thread(n->loop);
		has[DEVICE_BLOCKS] |=
		    loop && loop_is_block(n->loop);
		has[DEVICE_THREADS] |= threads;
		has[DEVICE_TESTED] |= n->kind == LOWNODE_IF && thread;
		if (n->kind == LOWNODE_OP && n->op == LOW_BARRIER)
			has[DEVICE_REFILLED] |= i == 0 && body->n > 1;
		find_device(f, &n->body, threads, has);
		find_device(f, &n->other, false, has);
	}
}

static void count_device(Report *r, const LowFunction *f)
{
	bool has[DEVICE_COUNT] = {[DEVICE_RAN] = true};

	for (int i = 0; i < f->buffers.n; i++) {
		has[DEVICE_SHARED] |= f->buffers.at[i].kind == LOWBUF_SHARED;
		has[DEVICE_LOCAL] |= f->buffers.at[i].kind == LOWBUF_LOCAL;
	}
	find_device(f, &f->body, false, has);
	for (int i = 0; i < DEVICE_COUNT; i++)
		r->device[i] += has[i];
}

/* Makes a pair and has the lowered form's interpreter run it. */
static bool take(Batch *b, int seed)
{
	Pair *pair = NEW(b->arena, Pair);
	const char *why;

	pair->seed = seed;
	stage(b, pair, "making");
	why = pair_make(b->arena, seed, b->target, pair);
	if (failed(b, pair, why))
		return false;
	if (getenv("SHOW"))
		print_message("%s\n", pair_show(b->arena, pair));
	count(b, pair);
	if (!pair->lowered) {
		leave_out(b, seed, pair->refused);
		return true;
	}
	stage(b, pair, "lowered form");
	why = pair_run(
	    b->arena, pair, PAIR_AT_END, pair_call_lowered, b->arena);
	if (why && strstr(why, "more than")) { /* steps */
		leave_out(b, seed, why);
		return true;
	}
	if (!why && pair->kind != PAIR_DEVICE) {
		stage(b, pair, "lowered form in parts");
		why = pair_run(
		    b->arena, pair, PAIR_AT_END, pair_call_parts, b->arena);
	}
	if (failed(b, pair, why))
		return false;
	b->report->interpreted++;
	if (pair->kind == PAIR_DEVICE)
		count_device(b->report, pair->lowered->kernel);
	if (pair->kind != PAIR_DEVICE && !is_large(pair)) {
		b->lowered[b->n] = pair->lowered;
		b->pairs[b->n++] = pair;
	}
	return true;
}

/* This machine's, one with AVX-512 and others with narrower vectors or none: those
 * that are optimized in turn are of all kinds soon. */
static const Target *choose_target(Arena *arena, int i)
{
	static const char *const targets[] = {"llvm -mcpu=x86-64-v4 -threads=2",
	    "host", "host", "llvm -mcpu=x86-64 -threads=2",
	    "llvm -mcpu=x86-64-v3 -threads=2", "c"};
	Error error;
	const Target *t = target_parse(arena, targets[i % 6], &error);

	return t ? t : target_host(arena, &error);
}

static Batch *batch_new(Report *report, const Target *target, Arena *arena)
{
	static const int fatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
	Batch *b = NEW(arena, Batch);

	/* cmocka's handlers would go on with the next test, in this process */
	for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
		signal(fatal[i], SIG_DFL);
	b->arena = arena;
	b->report = report;
	b->target = target;
	b->runs_here = target->kind == TARGET_C || target_runs_here(target);
	snprintf(report->folder, sizeof report->folder,
	    "/tmp/tunec-pairs-XXXXXX");
	b->folder = mkdtemp(report->folder);
	assert_non_null(b->folder);
	setenv("OMP_WAIT_POLICY", "passive", 1); /* two batches run at once */
	dlopen("libgomp.so.1", RTLD_NOW | RTLD_GLOBAL);
	return b;
}

static bool is_some(void)
{
	return getenv("SEED") || getenv("PAIRS");
}

/* What takes the time: the first and the last of each five in the quick tier, by
 * different compilers (c_compiler). */
static bool goes_through_c(int batch)
{
	return tier_is_long() || is_some() || batch % 5 % 4 == 0;
}

static void through_compilers(Batch *b)
{
	int batch = b->pairs[0]->seed / BATCH;
	bool optimized = batch % OPTIMIZED == 0;

	if (ADDRESS_SANITIZER) {
		Buf text = {0};
		write_c(b, &text);
		buf_free(&text);
		if (b->runs_here)
			through_llvm(b);
	} else if (!goes_through_c(batch)) {
		if (b->runs_here)
			through_llvm(b);
	} else if ((optimized ? through_optimizers(b) : without_warnings(b)) &&
	    b->runs_here && through_c(b)) {
		through_llvm(b);
	}
}

static void run_batch(Report *report, int first, int n)
{
	Arena *arena = arena_new();
	Batch *b =
	    batch_new(report, choose_target(arena, first / BATCH), arena);

	for (int i = 0; i < n; i++)
		if (!take(b, first + i))
			break;
	if (!*report->failure && b->n)
		through_compilers(b);
	_exit(0);
}

/* --- processes ---------------------------------------------------------------- */

static Report *report_shared(int n)
{
	return mmap(NULL, sizeof(Report) * (size_t)n, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

/* Of the process that made a report. */
static int wait_for(pid_t pid, const Report *report)
{
	char command[100];
	int status;

	waitpid(pid, &status, 0);
	snprintf(command, sizeof command, "rm -rf '%s'", report->folder);
	if (*report->folder && !getenv("KEEP") && system(command))
		fail_msg("%s", command);
	return status;
}

typedef struct {
	pid_t pid;
	int first, n;
	Report *report;
} Running;

static Running start(Report *report, int first, int n)
{
	Running r = {.first = first, .n = n, .report = report};

	memset(report, 0, sizeof *report);
	fflush(NULL);
	r.pid = fork();
	if (r.pid == 0)
		run_batch(report, first, n);
	return r;
}

static void add_report(Report *to, const Report *from)
{
	int *a = (int *)&to->operators, *b = (int *)&from->operators;

	for (size_t i = 0; i < sizeof to->operators / sizeof *a; i++)
		a[i] += b[i];
	for (int i = 0; i < PRIMITIVE_COUNT; i++)
		to->accepted[i] += from->accepted[i];
	for (int i = 0; i <= STEPS_MOST; i++)
		to->traces[i] += from->traces[i];
	for (int i = 0; i < DEVICE_COUNT; i++)
		to->device[i] += from->device[i];
	to->interpreted += from->interpreted;
	to->llvm += from->llvm;
	to->c += from->c;
	to->left_out += from->left_out;
	to->joined += from->joined;
	for (int c = 0; c < COMPILERS; c++)
		for (int i = 0; i < ISAS; i++) {
			to->optimized[c][i] += from->optimized[c][i];
			to->compiled[c][i] += from->compiled[c][i];
		}
	if (*from->refusal)
		memcpy(to->refusal, from->refusal, sizeof to->refusal);
}

static void finish(Running *r, Report *total)
{
	int status = wait_for(r->pid, r->report);

	r->pid = 0;
	if (status || *r->report->failure) {
		if (r->n > 1) { /* one by one */
			for (int i = 0; i < r->n; i++) {
				Running one = start(
				    r->report, r->first + i, 1);
				finish(&one, total);
			}
			return;
		}
		total->errors++;
		if (total->errors <= MOST_FAILURES)
			printf("# seed %d, %s%s\n%s\n", r->report->seed,
			    r->report->stage, status ? " died" : "",
			    r->report->failure);
		return;
	}
	add_report(total, r->report);
}

/* --- what compilers made wrong ---------------------------------------------------------- */

/* Of whose loads gcc 12 made full vectors, for machines with AVX-512: a load
 * under an `if` became one under a mask, and the mask was forgotten. */
static const struct {
	const char *target, *text, *trace;
} miscompiled[] = {
	{"llvm -mcpu=x86-64-v4 -threads=1",
	"tunec: 1\n"
	"name: padded_copy\n"
	"params: {M: 10, N: 23, K: 1}\n"
	"inputs:\n"
	"  a: i32[M, K]\n"
	"  b: const i32[N, K]\n"
	"compute: |\n"
	"  c[i < M, j < N] = sum[k < K](a[i, k]*b[j, k])\n",
	"c_acc = cache_write(c, reg)\n"
	"c_i0, c_i1, c_i2, c_iv = split(c.i, [_, 1, 2, 4])\n"
	"c_j0, c_j1, c_j2 = split(c.j, [_, 7, 7])\n"
	"reorder(c_i0, c_j0, c_i1, c_j1, c_j2, c_i2, c_iv)\n"
	"unroll(c_i2)\n"
	"unroll(c_j2)\n"
	"vectorize(c_iv, 4)\n"
	"tail(c, peel)\n"
	"compute_at(c_acc, c_j1)\n"
	"c_i_acc, c_i_lane = split(c_acc.i, [_, 4])\n"
	"reorder(c_acc.k, c_acc.j, c_i_acc, c_i_lane)\n"
	"unroll(c_acc.j)\n"
	"unroll(c_i_acc)\n"
	"vectorize(c_i_lane, 4)\n"
	"tail(c_acc, peel)\n"
	"a_pack = cache_read(c_acc, a)\n"
	"compute_at(a_pack, c_j1)\n"
	"transform_layout(a_pack, [x0//(c_i2*4), x1, x0%(c_i2*4)])\n"
	"pad(a_pack, 0)\n"
	"b_pack = cache_read(c_acc, b)\n"
	"compute_at(b_pack, root)\n"
	"transform_layout(b_pack, [x0//c_j2, x1, x0%c_j2])\n"
	"pad(b_pack, 0)\n"},
	{"c",
	"tunec: 1\n"
	"name: guarded_sum\n"
	"inputs:\n"
	"  a: i32[2]\n"
	"compute: |\n"
	"  c[i < 4] = sum[k < 8](if k < 2 then a[k] else i)\n",
	""},
	/* clang 14 takes u for v, and v for u */
	{"llvm -mcpu=x86-64-v3 -threads=1",
	"tunec: 1\n"
	"name: signs\n"
	"inputs: {u: 'u8[16]', v: 'i8[16]'}\n"
	"compute: |\n"
	"  c[] = sum[k < 16](u[k]*v[15 - k])\n",
	"k0, kv = split(c.k, [_, 16])\n"
	"vectorize(kv, 16)\n"},
};

static void run_known(Report *report, int i, int c, const char *flags)
{
	Arena *arena = arena_new();
	Error error;
	Batch *b = batch_new(report,
	    target_parse(arena, miscompiled[i].target, &error), arena);
	Pair *pair = NEW(arena, Pair);

	stage(b, NULL, "making");
	if (!failed(b, pair, pair_read(arena, miscompiled[i].text,
			miscompiled[i].trace, b->target, pair))) {
		b->lowered[0] = pair->lowered;
		b->pairs[b->n++] = pair;
		if (has_compiler(compilers[c]))
			through_optimizer(b, c, flags);
	}
	_exit(0);
}

static void test_miscompiled(void **state)
{
	static const char *const flags[] = {
	    "-O2", "-O3", "-O2 -march=native", "-O3 -march=native"};
	const int n = sizeof miscompiled / sizeof *miscompiled * COMPILERS * 4;
	Report *report = report_shared(1);
	int errors = 0;

	(void)state;
	if (ADDRESS_SANITIZER)
		skip();
	for (int i = 0; i < n; i++) {
		pid_t pid;
		int status;
		memset(report, 0, sizeof *report);
		fflush(NULL);
		pid = fork();
		if (pid == 0)
			run_known(report, i / 4 / COMPILERS,
			    i / 4 % COMPILERS, flags[i % 4]);
		status = wait_for(pid, report);
		if (!status && !*report->failure)
			continue;
		errors++;
		print_message("# known %d, %s%s\n%s\n", i / 4 / COMPILERS,
		    report->stage, status ? ": died" : "", report->failure);
	}
	munmap(report, sizeof *report);
	assert_int_equal(errors, 0);
}

/* --- the test ----------------------------------------------------------------- */

static int median(const Report *r)
{
	int all = 0, sum = 0;

	for (int i = 0; i <= STEPS_MOST; i++)
		all += r->traces[i];
	for (int i = 0; i <= STEPS_MOST; i++)
		if ((sum += r->traces[i]) * 2 >= all)
			return i;
	return 0;
}

static void print(const Report *r, int n)
{
	operator_coverage_print(&r->operators);
	for (int i = 0; i < PRIMITIVE_COUNT; i++)
		print_message("# %-24s %lld\n", primitive_name(i),
		    (long long)r->accepted[i]);
	print_message("# %d joined candidates of several groups\n", r->joined);
	print_message("# %d pairs: %d by the lowered form's interpreter, %d "
		      "through LLVM, %d through C, %d left out (%s); "
		      "median trace %d steps; %d wrong\n",
	    n, r->interpreted, r->llvm, r->c, r->left_out, r->refusal,
	    median(r), r->errors);
	for (int i = 0; i < DEVICE_COUNT; i++)
		print_message("# device: %-32s %d\n", device_names[i],
		    r->device[i]);
	for (int c = 0; c < COMPILERS; c++)
		for (int i = 0; i < ISAS; i++)
			print_message("# %s -O3, %s: %d run between pages "
				      "without access, %d compiled\n",
			    compilers[c], isas[i], r->optimized[c][i],
			    r->compiled[c][i]);
}

static void judge_coverage(const Report *r, int n)
{
	const char *gap = operator_coverage_gap(&r->operators);

	if (gap)
		fail_msg("no program has: %s", gap);
	assert_true(r->joined > 0);
	/* Not of these numerics: test_winograd.c.  Of programs of its own:
	 * test_schedules.c, where luck makes enough of them. */
	for (int i = 0; i < PRIMITIVE_COUNT; i++)
		if (r->accepted[i] < LEAST_ACCEPTED &&
		    i != PRIMITIVE_winograd && i != PRIMITIVE_narrow)
			fail_msg("%s was accepted %lld times",
			    primitive_name(i), (long long)r->accepted[i]);
	for (int i = 0; i < DEVICE_COUNT; i++)
		if (!r->device[i])
			fail_msg("device pairs: none with: %s",
			    device_names[i]);
	for (int c = 0; c < COMPILERS; c++)
		for (int i = 0; i < ISAS && has_compiler(compilers[c]); i++)
			if (!r->optimized[c][i] && !r->compiled[c][i])
				fail_msg("%s -O3 had no pair for %s",
				    compilers[c], isas[i]);
	assert_true(median(r) >= LEAST_MEDIAN);
	assert_true(r->left_out * 20 < n);
}

static int wanted_c(int wanted)
{
	return tier_is_long() ? wanted : wanted * C_OF_FIVE / 5;
}

/* Runs pairs from `first` on until `wanted` went through LLVM and C, or n were
 * made.  Returns how many were made. */
static int run_pairs(Report *total, int first, int n, int wanted)
{
	Running running[AT_ONCE] = {0};
	Report *reports = report_shared(AT_ONCE);
	int next = first;

	for (int i = 0;; i = (i + 1) % AT_ONCE) {
		if (running[i].pid)
			finish(&running[i], total);
		if (next >= first + n ||
		    (total->llvm >= wanted && total->c >= wanted_c(wanted)))
			break;
		/* the target depends on the batch */
		int size = BATCH - next % BATCH;
		if (size > first + n - next)
			size = first + n - next;
		running[i] = start(&reports[i], next, size);
		next += size;
	}
	for (int i = 0; i < AT_ONCE; i++)
		if (running[i].pid)
			finish(&running[i], total);
	munmap(reports, sizeof *reports * AT_ONCE);
	return next - first;
}

static int number(const char *variable, int otherwise)
{
	const char *text = getenv(variable);

	return text ? atoi(text) : otherwise;
}

static void test_pairs(void **state)
{
	int wanted = tier_is_long() ? LONG : QUICK;
	bool some = is_some();
	int n = some ? number("PAIRS", 1) : 2 * wanted;
	Report *total = calloc(1, sizeof *total);

	(void)state;
	n = run_pairs(total, number("SEED", 0), n, wanted);
	print(total, n);
	assert_int_equal(total->errors, 0);
	if (!some) {
		judge_coverage(total, n);
		assert_true(
		    total->llvm >= wanted && total->c >= wanted_c(wanted));
	}
	free(total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_miscompiled),
	    cmocka_unit_test(test_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
