/* tunec build: the outputs, from the best record. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/kernels.h"
#include "lib/escape.h"
#include "lib/lookup.h"

typedef struct {
	Common common;
	KernelOptions kernel;
	TextList output; /* -o */
	TextList emit;   /* --emit */
	bool depend;     /* -MD */
	const char *depend_file; /* -MF */
} Build;

/* --- kinds --------------------------------------------------------------- */

typedef enum {
	KIND_C,
	KIND_LL,
	KIND_BC,
	KIND_O,
	KIND_S,
	KIND_SO,
	KIND_H,
	KIND_MAIN,
	KIND_CU,
	KIND_PTX,
	KIND_CUBIN,
	KIND_CL,
	KIND_COUNT
} Kind;

static const struct {
	const char *name;
	const char *missing; /* what a kind that is not built needs */
} kinds[KIND_COUNT] = {
	[KIND_C] = {"c", NULL}, [KIND_LL] = {"ll", NULL},
	[KIND_BC] = {"bc", NULL}, [KIND_O] = {"o", NULL},
	[KIND_S] = {"s", NULL}, [KIND_SO] = {"so", NULL},
	[KIND_H] = {"h", NULL}, [KIND_MAIN] = {"main", NULL},
	[KIND_CU] = {"cu", "the CUDA C emitter"},
	[KIND_PTX] = {"ptx", "the CUDA C emitter, and NVRTC"},
	[KIND_CUBIN] = {"cubin", "the CUDA C emitter, and NVRTC"},
	[KIND_CL] = {"cl", "the OpenCL C emitter"}};

static int kind_find(const char *name, size_t length)
{
	for (int i = 0; i < KIND_COUNT; i++)
		if (strlen(kinds[i].name) == length &&
		    !strncmp(kinds[i].name, name, length))
			return i;
	return -1;
}

/* --- what is to be written ----------------------------------------------- */

typedef struct {
	const char *path;
	Kind kind;
	bool asked;  /* by -o */
	int kernel;  /* of which; -1: of all */
	Buf data;
} Output;

typedef VEC(Output) OutputVec;
typedef VEC(int) KindVec;

/* What a plan of outputs is made of. */
typedef struct {
	Arena *arena;
	const Build *build;
	const ProgramVec *programs;
	KindVec emit;      /* --emit */
	OutputVec outputs;
} OutputPlan;

/* The suffix of a path, without the dot; "" if there is none. */
static const char *suffix_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash + 1 : path, '.');
	return dot ? dot + 1 : "";
}

static int read_emit(OutputPlan *plan)
{
	for (int i = 0; i < plan->build->emit.n; i++) {
		const char *text = plan->build->emit.at[i];
		do {
			size_t n = strcspn(text, ",");
			int kind = kind_find(text, n);
			if (kind < 0)
				return say_usage("build",
				    "unknown kind '%.*s' of --emit", (int)n,
				    text);
			vec_push(plan->arena, &plan->emit, kind);
			text += n + (text[n] == ',');
		} while (*text);
	}
	return EXIT_DONE;
}

static void add_output(
    OutputPlan *plan, const char *path, Kind kind, bool asked, int kernel)
{
	for (int i = 0; i < plan->outputs.n; i++)
		if (!strcmp(plan->outputs.at[i].path, path))
			return;
	Output output = {path, kind, asked, kernel, {0}};
	vec_push(plan->arena, &plan->outputs, output);
}

/* Standard output: what the only --emit says. */
static int add_stream(OutputPlan *plan)
{
	if (plan->emit.n != 1)
		return say_usage("build", "-o - needs one --emit=KIND");
	if (plan->emit.at[0] == KIND_MAIN && plan->programs->n > 1)
		return say_usage("build",
		    "-o - holds one driver; name one case");
	Kind kind = (Kind)plan->emit.at[0];
	add_output(plan, "-", kind, true, kind == KIND_MAIN ? 0 : -1);
	return EXIT_DONE;
}

static int add_asked(OutputPlan *plan, bool *stream)
{
	const TextList *paths = &plan->build->output;
	for (int i = 0; i < paths->n; i++) {
		const char *path = paths->at[i], *suffix = suffix_of(path);
		if (!strcmp(path, "-")) {
			int code = *stream ? EXIT_DONE : add_stream(plan);
			if (code)
				return code;
			*stream = true;
			continue;
		}
		int kind = kind_find(suffix, strlen(suffix));
		if (kind < 0 || kind == KIND_MAIN)
			return say_usage("build",
			    "'%s' has none of the suffixes .c .ll .bc .o .s "
			    ".so .h .cu .ptx .cubin .cl", path);
		add_output(plan, path, (Kind)kind, true, -1);
	}
	return EXIT_DONE;
}

/* The first -o without its suffix. */
static const char *first_stem(const OutputPlan *plan)
{
	const char *path = plan->build->output.at[0];
	size_t suffix = strlen(suffix_of(path));
	return arena_strndup(plan->arena, path, strlen(path) - suffix - 1);
}

static void add_mains(OutputPlan *plan)
{
	const char *folder = "";
	if (plan->build->output.n) {
		const char *path = plan->build->output.at[0];
		const char *slash = strrchr(path, '/');
		folder = arena_strndup(plan->arena, path,
		    slash ? (size_t)(slash - path) + 1 : 0);
	}
	for (int i = 0; i < plan->programs->n; i++)
		add_output(plan,
		    arena_printf(plan->arena, "%s%s_main.c", folder,
			plan->programs->at[i]->symbol),
		    KIND_MAIN, false, i);
}

/* Beside the first -o under its stem, else here, each kernel under its symbol. */
static void add_emitted(OutputPlan *plan)
{
	bool beside = plan->build->output.n > 0;
	for (int i = 0; i < plan->emit.n; i++) {
		Kind kind = (Kind)plan->emit.at[i];
		const char *suffix = kinds[kind].name;
		if (kind == KIND_MAIN)
			add_mains(plan);
		else if (beside)
			add_output(plan,
			    arena_printf(plan->arena, "%s.%s", first_stem(plan),
				suffix),
			    kind, false, -1);
		for (int k = 0; kind != KIND_MAIN && !beside &&
				k < plan->programs->n; k++)
			add_output(plan,
			    arena_printf(plan->arena, "%s.%s",
				plan->programs->at[k]->symbol, suffix),
			    kind, false, k);
	}
}

/* Before any spec is read: the wrong usage that can be told without one. */
static int check_usage(const Build *build, OutputPlan *plan)
{
	if (!build->output.n && !build->emit.n)
		return say_usage("build", "nothing to write: -o FILE or --emit");
	int code = read_emit(plan);
	bool stream = false;
	if (!code)
		code = add_asked(plan, &stream);
	return code;
}

static int check_missing(const OutputPlan *plan)
{
	int code = EXIT_DONE;
	for (int i = 0; i < plan->outputs.n; i++) {
		const Output *o = &plan->outputs.at[i];
		if (!kinds[o->kind].missing)
			continue;
		say_error("cannot write %s: %s is missing from this tunec",
		    o->path, kinds[o->kind].missing);
		code = EXIT_FAILED;
	}
	return code;
}

static int make_plan(OutputPlan *plan)
{
	bool stream = false;
	plan->outputs.n = 0;
	int code = add_asked(plan, &stream);
	if (!code && !stream)
		add_emitted(plan);
	return code ? code : check_missing(plan);
}

/* --- contents ------------------------------------------------------------ */

typedef struct {
	OutputPlan *plan;
	int n; /* kernels */
	const Lowered **lowered;
	EmitComment *comments;
	const Target *target;
	Buf object; /* kept for .o and .so */
} Contents;

static Status llvm_text(Contents *c, LlvmKind kind, Buf *out, Error *error)
{
	const Target *t = c->target;
	if (t->kind != TARGET_LLVM)
		return error_set(error, STATUS_UNSUPPORTED,
		    "target '%s' gives .c and .h only; compile its .c, or take "
		    "an llvm target", t->text);
	const LlvmModule *llvm = llvm_module(error);
	if (!llvm)
		return error->status;
	return llvm->compile(c->lowered, c->n, t->triple, t->cpu,
	    t->attrs, kind, out, error);
}

static Status object(Contents *c, Error *error)
{
	if (c->object.size)
		return STATUS_OK;
	return llvm_text(c, LLVM_OBJECT, &c->object, error);
}

static bool uses_threads(const Contents *c)
{
	for (int i = 0; i < c->n; i++)
		if (c->lowered[i]->kernel->nthreads > 1)
			return true;
	return false;
}

/* $CC -shared, in a shell since $CC may have several words. */
static Status link_object(
    const char *object_path, const char *out, bool threads, Error *error)
{
	pid_t child = fork();
	if (!child) {
		execl("/bin/sh", "sh", "-c",
		    "exec ${CC:-cc} -shared -o \"$1\" \"$2\" -lm $3", "sh", out,
		    object_path, threads ? "-fopenmp" : "", (char *)NULL);
		_exit(127);
	}
	int status = -1;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0 || status)
		return error_set(error, STATUS_MISSING,
		    "cannot link a shared object: '%s -shared' failed",
		    getenv("CC") ? getenv("CC") : "cc");
	return STATUS_OK;
}

static Status put_file(const char *path, const Buf *data, Error *error)
{
	FILE *file = fopen(path, "wb");
	bool ok = file && fwrite(data->data, 1, data->size, file) == data->size;
	if (file && fclose(file))
		ok = false;
	return ok ? STATUS_OK : error_set(error, STATUS_IO, "cannot write %s: %s",
				    path, strerror(errno));
}

static Status shared_object(Contents *c, Buf *out, Error *error)
{
	FORWARD_IF_ERROR(object(c, error));
	Arena *arena = c->plan->arena;
	const char *tmp = getenv("TMPDIR");
	char *folder = arena_printf(
	    arena, "%s/tunec-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(folder))
		return error_set(error, STATUS_IO, "cannot make %s: %s", folder,
		    strerror(errno));
	/* the same names for every output, so that no name gets into it */
	const char *o = arena_printf(arena, "%s/kernel.o", folder);
	const char *so = arena_printf(arena, "%s/kernel.so", folder);
	size_t size = 0;
	char *bytes = NULL;
	Status status = put_file(o, &c->object, error);
	if (!status)
		status = link_object(o, so, uses_threads(c), error);
	if (!status && (bytes = kernels_read_file(arena, so, &size, error)))
		buf_add(out, bytes, size);
	unlink(o);
	unlink(so);
	rmdir(folder);
	return status ? status : bytes ? STATUS_OK : error->status;
}

/* A driver is of the only kernel. */
static Status fill(Contents *c, Output *o, Error *error)
{
	int n = c->n;
	switch (o->kind) {
	case KIND_C:
		emit_c_all(&o->data, c->lowered, n, c->target, c->comments);
		return STATUS_OK;
	case KIND_H:
		emit_header_all(&o->data, c->lowered, n, c->comments);
		return STATUS_OK;
	case KIND_MAIN:
		emit_main(&o->data, c->lowered[0], c->target);
		return STATUS_OK;
	case KIND_LL:
		return llvm_text(c, LLVM_IR_TEXT, &o->data, error);
	case KIND_BC:
		return llvm_text(c, LLVM_BITCODE, &o->data, error);
	case KIND_S:
		return llvm_text(c, LLVM_ASSEMBLY, &o->data, error);
	case KIND_O:
		FORWARD_IF_ERROR(object(c, error));
		buf_add(&o->data, c->object.data, c->object.size);
		return STATUS_OK;
	case KIND_SO:
		return shared_object(c, &o->data, error);
	default:
		return error_set(error, STATUS_MISSING, "%s is missing",
		    kinds[o->kind].missing);
	}
}

static Status fill_output(Contents *all, Output *o, Error *error)
{
	if (o->kernel < 0)
		return fill(all, o, error);
	Contents one = *all;
	one.n = 1;
	one.lowered += o->kernel;
	one.comments += o->kernel;
	one.object = (Buf){0};
	Status status = fill(&one, o, error);
	buf_free(&one.object);
	return status;
}

/* --- dependencies -------------------------------------------------------- */

/* As make reads names. */
static Status put_name(
    Buf *out, const char *name, MakePlace place, Error *error)
{
	if (escape_make(out, name, place))
		return STATUS_OK;
	return error_set(error, STATUS_INPUT,
	    "-MD: no rule of make can name the file %s", name);
}

static Status put_needed_name(Buf *out, const char *name, Error *error)
{
	buf_putc(out, ' ');
	return put_name(out, name, MAKE_NEEDED, error);
}

static Status put_specs(const ProgramVec *programs, Buf *out, Error *error)
{
	for (int i = 0; i < programs->n; i++) {
		const char *name = programs->at[i]->source->name;
		bool again = !strcmp(name, "-");
		for (int k = 0; k < i; k++)
			again |= !strcmp(name, programs->at[k]->source->name);
		if (!again)
			FORWARD_IF_ERROR(put_needed_name(out, name, error));
	}
	return STATUS_OK;
}

static Status put_needed(OutputPlan *plan, Buf *out, Error *error)
{
	const Build *build = plan->build;
	FORWARD_IF_ERROR(put_specs(plan->programs, out, error));
	if (build->kernel.trace && strcmp(build->kernel.trace, "-"))
		FORWARD_IF_ERROR(
		    put_needed_name(out, build->kernel.trace, error));
	if (build->kernel.trace || build->kernel.schedule)
		return STATUS_OK;
	TextVec stores = {0};
	kernels_stores(plan->arena, &build->kernel, &stores);
	for (int i = 0; i < stores.n; i++)
		if (!strcmp(suffix_of(stores.at[i]), "jsonl") &&
		    !access(stores.at[i], F_OK))
			FORWARD_IF_ERROR(
			    put_needed_name(out, stores.at[i], error));
	return STATUS_OK;
}

/* The rules of the outputs, each into its own file or all into one. */
static Status put_rules(
    OutputPlan *plan, const char *needed, Buf *all, Error *error)
{
	int n = plan->outputs.n;
	for (int i = 0; i < n; i++) {
		const Output o = plan->outputs.at[i];
		if (!o.asked || !strcmp(o.path, "-"))
			continue;
		size_t begin = all->size;
		FORWARD_IF_ERROR(put_name(all, o.path, MAKE_TARGET, error));
		buf_printf(all, ":%s\n", needed);
		if (plan->build->depend_file)
			continue;
		Output file = {arena_printf(plan->arena, "%s.d", o.path), KIND_H,
			false, -1, {0}};
		buf_add(&file.data, all->data + begin, all->size - begin);
		vec_push(plan->arena, &plan->outputs, file);
	}
	return STATUS_OK;
}

/* "F.d" for each -o F, or one file for all. */
static Status add_dependencies(OutputPlan *plan, Error *error)
{
	const char *path = plan->build->depend_file;
	Buf needed = {0}, all = {0};
	Status status = put_needed(plan, &needed, error);
	if (!status)
		status = put_rules(plan, buf_text(&needed), &all, error);
	buf_free(&needed);
	if (status || !path) {
		buf_free(&all);
		return status;
	}
	Output file = {path, KIND_H, false, -1, all};
	vec_push(plan->arena, &plan->outputs, file);
	return STATUS_OK;
}

/* --- the verb ------------------------------------------------------------ */

static Status write_all(OutputPlan *plan, Error *error)
{
	int n = plan->outputs.n;
	OutputFile *files = NEW_N(plan->arena, OutputFile, n);
	for (int i = 0; i < n; i++) {
		const Output *o = &plan->outputs.at[i];
		files[i] = (OutputFile){o->path, o->data.data, o->data.size};
	}
	out_flush();
	return outputs_write(files, n, error);
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

/* Names by their lower case, which macros do not keep apart. */
typedef struct {
	Arena *arena;
	VEC(const char *) names;
	Lookup lower; /* in `names` */
} Taken;

/* Takes a name of the header of a program; false where another program has it. */
static bool take_name(Taken *taken, int first, const char *name)
{
	char *lower = arena_strdup(taken->arena, name);
	for (char *p = lower; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	int e = lookup_first(&taken->lower, lower, strlen(lower));
	int other = e < 0 ? first : taken->lower.entries.at[e].number;
	if (other >= first) {
		lookup_add(&taken->lower, lower, taken->names.n);
		vec_push(taken->arena, &taken->names, name);
		return true;
	}
	if (!strcmp(taken->names.at[other], name))
		say_error("two kernels are named %s", name);
	else
		say_error("names of two kernels, %s and %s, differ in case "
			  "alone",
		    taken->names.at[other], name);
	return false;
}

/* Kernels meet in one file: neither functions may have one name, nor macros,
 * which are in upper case.  The workspace's size goes with the symbol. */
static int check_symbols(Arena *arena, const ProgramVec *programs)
{
	Taken taken = {.arena = arena, .lower = {.arena = arena}};
	for (int i = 0; i < programs->n; i++) {
		const Program *p = programs->at[i];
		int first = taken.names.n;
		bool good = take_name(&taken, first, p->symbol);
		for (int k = 0; k < p->ninputs && good; k++) {
			const Buffer *b = &p->buffers[k];
			if (!b->is_const)
				continue;
			good = take_name(&taken, first,
				   arena_printf(arena, "%s_pack_%s",
				       p->symbol, b->name)) &&
			    take_name(&taken, first,
				arena_printf(arena, "%s_packed_%s_bytes",
				    p->symbol, b->name));
		}
		if (!good)
			return EXIT_FAILED;
	}
	return EXIT_DONE;
}

static int write_kernels(OutputPlan *plan, const KernelVec *kernels)
{
	Contents c = {.plan = plan, .n = kernels->n,
	    .target = kernels->at[0].target};
	c.lowered = NEW_N(plan->arena, const Lowered *, kernels->n);
	c.comments = NEW_N(plan->arena, EmitComment, kernels->n);
	for (int i = 0; i < kernels->n; i++) {
		c.lowered[i] = kernels->at[i].lowered;
		c.comments[i] = kernels->at[i].comment;
	}
	Error error = {0};
	Status status = STATUS_OK;
	for (int i = 0; i < plan->outputs.n && !status; i++)
		status = fill_output(&c, &plan->outputs.at[i], &error);
	if (!status && (plan->build->depend || plan->build->depend_file))
		status = add_dependencies(plan, &error);
	if (!status)
		status = write_all(plan, &error);
	if (status)
		say_error("%s", error.text);
	buf_free(&c.object);
	return exit_of_status(status);
}

static int build_all(OutputPlan *plan, int n, char **operands)
{
	const Build *build = plan->build;
	ProgramVec programs = {0};
	KernelVec kernels = {0};
	plan->programs = &programs;
	int code = check_usage(build, plan);
	if (code)
		return code;
	code = specs_load(plan->arena, &build->common, n, operands, &programs);
	if (programs.n && !code)
		code = check_symbols(plan->arena, &programs);
	if (programs.n && !code)
		code = make_plan(plan);
	if (!programs.n || (code && code != EXIT_FAILED))
		return code;
	int made = kernels_make(plan->arena, &build->common, &build->kernel,
	    &programs, KERNEL_LOWERED, &kernels);
	code = exit_worse(code, made);
	if (!code)
		code = check_targets(&kernels);
	return code ? code : write_kernels(plan, &kernels);
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
	    "write FILE, its kind by the suffix: .c .ll .bc .o .s .so .h;\n"
	    "repeatable; - is standard output, with --emit"},
	{"emit", 0, OPTION_LIST, offsetof(Build, emit), "KIND,...", NULL,
	    "write these kinds too, beside the first -o under its stem,\n"
	    "else here as SYMBOL.KIND; main: SYMBOL_main.c, a driver that\n"
	    "checks and times the kernel"},
	KERNEL_OPTIONS(Build),
	{"frozen", 0, OPTION_FLAG, offsetof(Build, kernel.frozen), NULL, NULL,
	    "without a record write nothing and exit 3"},
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
