/* What a candidate costs before it runs, on one core: its trace applied, the
 * nest lowered, the form's hash, LLVM; medians in ms, and the hash of all forms,
 * which two versions of the lowering are compared by.
 *
 *     bench_lower [SPEC:CASE [N]]    default: workloads/conv2d.yaml:resnet18_c6
 *
 * The candidates are N (128) that annealing on the analytic model finds; LLVM
 * compiles every eighth. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "codegen/codegen.h"
#include "lib/hash.h"
#include "schedule/schedule.h"
#include "test/bench/bench.h"
#include "tuner/measure/measure_internal.h"
#include "tuner/tune/guide.h"

enum { BATCH = 64, MOST = 4096, COMPILED = 8 };

typedef enum { NEST, LOWER, FORM, LLVM, PARTS } Part;
static const char *const part_names[] = {"nest", "lower", "form", "llvm"};

/* What a run proposes before it has learnt. */
static int draw(Space *space, int n, Candidate *out)
{
	SearchSpace functions = guide_space(space);
	GuideSettings settings = guide_defaults(1);
	settings.learn = false;
	Guide *guide = guide_new(space, &functions, &settings);
	int have = 0, got = BATCH;
	for (; have < n && got == BATCH; have += got)
		got = guide_next(guide, n - have < BATCH ? n - have : BATCH,
		    out + have);
	guide_free(guide);
	return have;
}

typedef struct {
	const Program *program;
	const Target *target;
	const LlvmModule *llvm;
	Space *space;
	double *ms[PARTS];
	int n[PARTS];
	uint64_t forms;
} Bench;

static void took(Bench *b, Part part, double *start)
{
	double now = thread_s();
	b->ms[part][b->n[part]++] = 1e3 * (now - *start);
	*start = now;
}

static void compile(Bench *b, const Lowered *lowered)
{
	Buf object = {0};
	Error error;
	double start = thread_s();
	if (!b->llvm->compile(&lowered, 1, b->target->triple, b->target->cpu,
		b->target->attrs, LLVM_OBJECT, &object, &error))
		took(b, LLVM, &start);
	buf_free(&object);
}

static void run(Bench *b, const Candidate *c, bool compiled)
{
	Arena *arena = arena_new();
	Error error;
	CodeForm form;
	const Trace *trace = space_trace(arena, b->space, c);
	double start = thread_s();
	Nest *nest = schedule_nest(
	    arena, b->program, &b->target->machine, trace, &error);
	took(b, NEST, &start);
	Lowered *lowered = nest
	    ? lower(arena, nest, &b->target->machine, &error) : NULL;
	took(b, LOWER, &start);
	if (lowered) {
		measure_form(lowered, &form);
		took(b, FORM, &start);
		b->forms = hash_mix(b->forms ^ form.hash);
		if (compiled)
			compile(b, lowered);
	}
	arena_free(arena);
}

static void print(Bench *b)
{
	for (int i = 0; i < PARTS; i++) {
		double sum = 0;
		for (int k = 0; k < b->n[i]; k++)
			sum += b->ms[i][k];
		if (b->n[i])
			printf("%-6s %7.3f ms, mean %7.3f, of %d\n",
			    part_names[i], median(b->ms[i], b->n[i]),
			    sum / b->n[i], b->n[i]);
	}
	printf("forms  %016llx\n", (unsigned long long)b->forms);
}

int main(int argc, char **argv)
{
	const char *spec =
	    argc > 1 ? argv[1] : "workloads/conv2d.yaml:resnet18_c6";
	int n = argc > 2 ? atoi(argv[2]) : 128;
	Arena *arena = arena_new();
	Diag diag = {0};
	Error error = {0};
	ProgramVec programs = {0};
	Bench b = {.target = target_parse(arena, "host", &error)};
	if (b.target && !spec_load(arena, spec, NULL, 0, NUMERICS_DEFAULT,
			    &diag, &error, &programs)) {
		b.program = programs.at[0];
		b.space = space_new(
		    arena, b.program, &b.target->machine, &error);
		b.llvm = llvm_module(&error);
	}
	if (!b.space || !b.llvm || n < 1 || n > MOST) {
		fprintf(stderr, "%sbench_lower: %s: %s\n",
		    buf_text(&diag.text), spec, error.text);
		return 1;
	}
	for (int i = 0; i < PARTS; i++)
		b.ms[i] = NEW_N(arena, double, n);
	bench_pin(0, 0);
	Candidate *candidates = NEW_N(arena, Candidate, n);
	n = draw(b.space, n, candidates);
	for (int i = 0; i < n; i++)
		run(&b, &candidates[i], i % COMPILED == 0);
	print(&b);
	diag_free(&diag);
	arena_free(arena);
	return 0;
}
