/* tunec build: the outputs, from the best record. */
#include <string.h>

#include "cmd/build.h"
#include "cmd/stores.h"

static Status write_all(OutputPlan *plan, Error *error)
{
	int n = plan->outputs.n;
	OutputFile *files = NEW_N(plan->arena, OutputFile, n);
	for (int i = 0; i < n; i++) {
		const Output *o = &plan->outputs.at[i];
		files[i] = (OutputFile){o->path, o->data.data, o->data.size};
	}
	return out_files(files, n, error);
}

/* One file holds kernels of one target. */
static int check_targets(const KernelVec *kernels)
{
	for (int i = 1; i < kernels->n; i++)
		if (strcmp(kernels->at[i].target->text,
			kernels->at[0].target->text)) {
			say_error("the records of %s and %s are for different "
				  "targets; choose one with --target",
			    kernels->at[0].program->symbol,
			    kernels->at[i].program->symbol);
			return EXIT_NO_RECORD;
		}
	return EXIT_DONE;
}

/* No output is what it is made from, nor another. */
static int check_apart(const OutputPlan *plan)
{
	const KernelOptions *kernel = &plan->build->kernel;
	TextVec paths = {0}, stores = {0};
	InputVec inputs = {0};
	for (int i = 0; i < plan->outputs.n; i++)
		vec_push(plan->arena, &paths, plan->outputs.at[i].path);
	kernels_stores(plan->arena, kernel, &stores);
	inputs_of(plan->arena, plan->programs, kernel->trace, &stores, &inputs);
	if (kernel->model)
		vec_push(
		    plan->arena, &inputs, (Input){kernel->model, "the model"});
	if (machine_asked(kernel->machine))
		vec_push(plan->arena, &inputs,
		    (Input){
			machine_asked(kernel->machine), "the machine's row"});
	return outputs_apart(plan->arena, &paths, &inputs);
}

static int write_kernels(OutputPlan *plan, const KernelVec *kernels)
{
	Error error = {0};
	Status status = plan_fill(plan, kernels, &error);
	if (!status && (plan->build->depend || plan->build->depend_file))
		status = plan_depend(plan, &error);
	int code = status ? EXIT_DONE : check_apart(plan);
	if (!status && !code)
		status = write_all(plan, &error);
	if (status)
		say_error("%s", error.text);
	return code ? code : exit_of_status(status);
}

static void print_facts(const KernelVec *kernels)
{
	Buf out = {0};
	for (int i = 0; i < kernels->n; i++)
		build_facts(&out, &kernels->at[i]);
	out_text("%s", buf_text(&out));
	buf_free(&out);
}

static int build_all(OutputPlan *plan, int n, char **operands)
{
	const Build *build = plan->build;
	ProgramVec programs = {0};
	KernelVec kernels = {0};
	plan->programs = &programs;
	int code = plan_usage(plan);
	if (!code)
		code = build_names_usage(plan->arena, build);
	if (code)
		return code;
	code = specs_load(plan->arena, &build->common, n, operands, &programs);
	if (programs.n && !code)
		code = build_names(plan->arena, build, &programs);
	if (programs.n && !code)
		code = plan_outputs(plan);
	if (!programs.n || (code && code != EXIT_FAILED))
		return code;
	int made = kernels_make(plan->arena, &build->common, &build->kernel,
	    &programs, KERNEL_LOWERED, &kernels);
	code = exit_worse(code, made);
	if (!code)
		code = check_targets(&kernels);
	if (!code)
		code = write_kernels(plan, &kernels);
	if (!code && build->common.json)
		print_facts(&kernels);
	return code;
}

static int build_run(void *options, int n, char **operands)
{
	Arena *arena = arena_new();
	OutputPlan plan = {.arena = arena, .build = options};
	int code = build_all(&plan, n, operands);
	for (int i = 0; i < plan.outputs.n; i++)
		buf_free(&plan.outputs.at[i].data);
	arena_free(arena);
	return code;
}

static const Option options[] = {
	{NULL, 'o', OPTION_LIST, offsetof(Build, output), "FILE", NULL,
	    "write FILE, its kind by the suffix: .c .h .o .so .s .ll .bc\n"
	    ".ptx .cubin .cu .cl .hsaco, or .json: what a build system\n"
	    "asks; repeatable; - is standard output, with --emit"},
	{"emit", 0, OPTION_LIST, offsetof(Build, emit), "KIND,...", NULL,
	    "write these kinds too, beside the first -o under its stem,\n"
	    "else here as SYMBOL.KIND; main: SYMBOL_main.c, a driver that\n"
	    "checks and times the kernel"},
	{"symbol", 0, OPTION_TEXT, offsetof(Build, symbol), "NAME", NULL,
	    "call the kernel so, its macros and files likewise\n"
	    "(default: the operator's name, and the case's behind it)"},
	{"prefix", 0, OPTION_TEXT, offsetof(Build, prefix), "P", NULL,
	    "put P before the names of all kernels"},
	KERNEL_OPTIONS(Build),
	{"frozen", 0, OPTION_FLAG, offsetof(Build, kernel.frozen), NULL, NULL,
	    "without a record write nothing and exit 3"},
	{"transfer", 0, OPTION_TEXT, offsetof(Build, kernel.model), "FILE", NULL,
	    "without a record take what a model of tunec log export --model\n"
	    "thinks best"},
	{"-MD", 0, OPTION_FLAG, offsetof(Build, depend), NULL, NULL,
	    "write FILE.d for each -o FILE: a rule for make"},
	{"-MF", 0, OPTION_TEXT, offsetof(Build, depend_file), "FILE", NULL,
	    "write these rules to FILE"},
	{0}};

const Verb verb_build = {
	.name = "build",
	.operands = "SPEC[:CASE]...",
	.summary = "write outputs from the best record",
	.text = "Without a record the default schedule is used.  All outputs are "
		"written or none;\none that would not change is left untouched.\n",
	.options = options,
	.size = sizeof(Build),
	.specs = true,
	.min_operands = 1,
	.max_operands = -1,
	.run = build_run,
};
