/* tunec show: the operator at a stage, from the file to assembly. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/kernels.h"
#include "codegen/cuda/cuda.h"
#include "lib/alike.h"
#include "tuner/tuner.h"

typedef struct {
	Common common;
	KernelOptions kernel;
	const char *stage;
} Show;

typedef enum {
	SHOW_IR,
	SHOW_SPACE,
	SHOW_SCHEDULE,
	SHOW_LOWERED,
	SHOW_C,
	SHOW_LLVM,
	SHOW_ASM,
	SHOW_PTX,
	SHOW_OPENCL,
	SHOW_COUNT
} ShowStage;

static const struct {
	const char *name;
	KernelStage needs;
} stages[SHOW_COUNT] = {
	[SHOW_IR] = {"ir", KERNEL_TARGET},
	[SHOW_SPACE] = {"space", KERNEL_TARGET},
	[SHOW_SCHEDULE] = {"schedule", KERNEL_NEST},
	[SHOW_LOWERED] = {"lowered", KERNEL_LOWERED},
	[SHOW_C] = {"c", KERNEL_LOWERED},
	[SHOW_LLVM] = {"llvm", KERNEL_LOWERED},
	[SHOW_ASM] = {"asm", KERNEL_LOWERED},
	[SHOW_PTX] = {"ptx", KERNEL_LOWERED},
	[SHOW_OPENCL] = {"opencl", KERNEL_LOWERED}};

static int say_unknown(const char *name)
{
	Alike a = alike_to(name);
	for (int i = 0; i < SHOW_COUNT; i++)
		alike_look(&a, stages[i].name);
	return say_usage("show",
	    "'%s' of --stage is none of ir, space, schedule, lowered, c, llvm, "
	    "asm, ptx, opencl%s",
	    name, alike_question(&a, ""));
}

static int stage_find(const char *name)
{
	for (int i = 0; i < SHOW_COUNT; i++)
		if (!strcmp(stages[i].name, name))
			return i;
	return -1;
}

static Status put_llvm(const Kernel *k, LlvmKind kind, Buf *out, Error *error)
{
	const Lowered *lowered = k->lowered;
	const Target *t = k->target;
	if (t->kind == TARGET_C || t->kind == TARGET_OPENCL)
		return error_set(error, STATUS_UNSUPPORTED,
		    "target '%s' is not LLVM's", t->text);
	const LlvmModule *llvm = llvm_module(error);
	if (!llvm)
		return error->status;
	return llvm->compile(
	    &lowered, 1, t->triple, t->cpu, t->attrs, kind, out, error);
}

/* A trace as --trace takes it, then the nest that it makes, as a comment. */
static void put_schedule(Arena *arena, const Kernel *k, Buf *out)
{
	Buf nest = {0};
	buf_printf(out, "# %s, target '%s', record: %s\n",
	    program_label(arena, k->program), k->comment.target,
	    k->comment.record);
	trace_print(out, k->trace);
	nest_print(&nest, k->nest);
	const char *line = buf_text(&nest);
	buf_puts(out, "#\n");
	while (*line) {
		int n = (int)strcspn(line, "\n");
		buf_printf(out, "# %.*s\n", n, line);
		line += n + (line[n] == '\n');
	}
	buf_free(&nest);
}

static Status put_space(Arena *arena, const Kernel *k, Buf *out, Error *error)
{
	const Groups *g = groups_of(arena, k->program, &k->target->machine);
	for (int i = 0; i < g->n; i++) {
		const Group *group = &g->groups[i];
		if (g->n > 1)
			buf_printf(out, "# group %s%s%s\n\n", group->name,
			    group->same_as == i ? "" : ": as group ",
			    group->same_as == i
				? "" : g->groups[group->same_as].name);
		if (group->same_as != i)
			continue;
		Space *space = space_new(
		    arena, group->program, &k->target->machine, error);
		if (!space)
			return error->status;
		for (int s = 0; s < space_nsketches(space); s++) {
			buf_printf(out, "# %s\n", space_sketch_name(space, s));
			trace_print(out, space_sketch(space, s));
			buf_putc(out, '\n');
		}
	}
	return STATUS_OK;
}

static Status put_kernel(
    Arena *arena, const Kernel *k, ShowStage stage, Buf *out, Error *error)
{
	const Lowered *lowered = k->lowered;
	switch (stage) {
	case SHOW_SPACE:
		return put_space(arena, k, out, error);
	case SHOW_SCHEDULE:
		put_schedule(arena, k, out);
		return STATUS_OK;
	case SHOW_LOWERED:
		lowered_print(out, k->lowered);
		return STATUS_OK;
	case SHOW_C:
		if (k->target->kind == TARGET_CUDA)
			emit_device(out, &lowered, 1, k->target, &k->comment);
		else if (k->target->kind == TARGET_OPENCL ||
		    k->target->kind == TARGET_HIP)
			return error_set(error, STATUS_UNSUPPORTED,
			    "target '%s' has no C: --stage=%s",
			    k->target->text,
			    k->target->kind == TARGET_HIP ? "asm" : "opencl");
		else
			emit_c(out, k->lowered, k->target, &k->comment);
		return STATUS_OK;
	case SHOW_OPENCL:
		if (k->target->kind != TARGET_OPENCL)
			return error_set(error, STATUS_UNSUPPORTED,
			    "target '%s' has no OpenCL C; take "
			    "'opencl -device=gpu'",
			    k->target->text);
		emit_device(out, &lowered, 1, k->target, &k->comment);
		return STATUS_OK;
	case SHOW_LLVM:
		return put_llvm(k, LLVM_IR_TEXT, out, error);
	case SHOW_PTX:
		if (k->target->kind != TARGET_CUDA)
			return error_set(error, STATUS_UNSUPPORTED,
			    "target '%s' has no PTX; take 'cuda -arch=sm_90'",
			    k->target->text);
		return cuda_ptx(
		    &lowered, 1, k->target, &k->comment, out, error);
	case SHOW_ASM:
		return put_llvm(k, LLVM_ASSEMBLY, out, error);
	case SHOW_IR: /* needs no kernel */
	case SHOW_COUNT: break;
	}
	assert(!"a stage of a kernel");
	return STATUS_OK;
}

/* The text as it is, or as an object; `target` may be NULL. */
static void print_stage(const Show *show, const Program *p,
    const Target *target, const Buf *text)
{
	if (!show->common.json) {
		out_text("%s", buf_text(text));
		return;
	}
	json_t *o = json_pack("{s:s,s:s,s:s,s:s?}", "name", p->name, "case",
	    p->case_name, "stage", show->stage, "target",
	    target ? target->text : NULL);
	json_object_set_new(o, "text", json_text(buf_text(text)));
	out_json(o);
	json_decref(o);
}

static int show_program(Arena *arena, const Program *p, void *context)
{
	Buf out = {0};
	(void)arena;
	program_print(&out, p);
	print_stage(context, p, NULL, &out);
	buf_free(&out);
	return EXIT_DONE;
}

typedef struct {
	const Show *show;
	ShowStage stage;
	Making *making;
} Shown;

static int show_kernel(Arena *arena, const Program *p, void *context)
{
	const Shown *shown = context;
	Kernel k;
	Buf out = {0};
	Error error = {0};
	int code = kernels_one(
	    shown->making, arena, p, stages[shown->stage].needs, &k);
	if (code)
		return code;
	Status status = put_kernel(arena, &k, shown->stage, &out, &error);
	if (status)
		say_error("%s: %s", p->symbol, error.text);
	else
		print_stage(shown->show, p, k.target, &out);
	buf_free(&out);
	return exit_of_status(status);
}

static int show_kernels(
    const Show *show, ShowStage stage, int n, char **operands)
{
	int code;
	Arena *arena = arena_new();
	Shown shown = {show, stage,
	    kernels_open(arena, &show->common, &show->kernel, &code)};
	if (!code)
		code = specs_each(
		    &show->common, n, operands, show_kernel, &shown);
	kernels_close(shown.making);
	arena_free(arena);
	return code;
}

static int show_run(void *options, int n, char **operands)
{
	const Show *show = options;
	int stage = stage_find(show->stage);
	if (stage < 0)
		return say_unknown(show->stage);
	if (stage == SHOW_IR)
		return specs_each(&show->common, n, operands, show_program,
		    (void *)show);
	return show_kernels(show, (ShowStage)stage, n, operands);
}

static const Option options[] = {
	{"stage", 0, OPTION_TEXT, offsetof(Show, stage), "STAGE", "ir",
	    "ir, space, schedule, lowered, c, llvm or asm"},
	KERNEL_OPTIONS(Show),
	{0}};

const Verb verb_show = {
	.name = "show",
	.operands = "SPEC[:CASE]...",
	.summary = "print the operator at a stage",
	.options = options,
	.size = sizeof(Show),
	.specs = true,
	.min_operands = 1,
	.max_operands = -1,
	.run = show_run,
};
