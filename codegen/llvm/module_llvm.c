/* tunec-llvm.so: lowered form -> LLVM IR in memory -> text, bitcode, assembly
 * or object, with Debian's LLVM 19.
 *
 * Next to no passes: kernels come with their tiles in temporaries, unrolled and
 * vectorized, and LLVM is left with instruction selection, scheduling and
 * register allocation (docs/targets.md has the figures).  Nothing of the host,
 * the time or a file's name gets into the output. */
#include "codegen/llvm/module_llvm.h"
#include "lib/alike.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Support.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <llvm/Config/llvm-config.h>

/* Slots become values, and addresses that are written again and again one
 * value each. */
static const char passes[] = "function(sroa,early-cse)";

/* --- messages of LLVM ----------------------------------------------------- */

static void take_diagnostic(LLVMDiagnosticInfoRef info, void *context)
{
	Error *error = context;
	if (LLVMGetDiagInfoSeverity(info) != LLVMDSError || error->status)
		return;
	char *text = LLVMGetDiagInfoDescription(info);
	error_set(error, STATUS_UNSUPPORTED, "LLVM: %s", text);
	LLVMDisposeMessage(text);
}

/* LLVM ends the process after this; it can only do so in a tidy way. */
static void say_fatal(const char *reason)
{
	static const char begin[] = "tunec: error: LLVM: ";
	if (write(2, begin, sizeof begin - 1) < 0 ||
	    write(2, reason, strlen(reason)) < 0 || write(2, "\n", 1) < 0)
		_exit(1);
	_exit(1);
}

static Status take_message(char *message, const char *what, Error *error)
{
	error_set(error, STATUS_UNSUPPORTED, "LLVM: %s: %s", what,
	    message ? message : "no reason given");
	if (message)
		LLVMDisposeMessage(message);
	return STATUS_UNSUPPORTED;
}

/* --- target machines ------------------------------------------------------ */

/* Addresses come with their pointers (module_llvm_address.c).  Looking for better
 * ones took a third of the time of compiling; the C API has no other word for
 * it, and the command line is the process's. */
static void disable_reduction(void)
{
	static const char *const options[] = {"tunec", "-disable-lsr"};
	static bool told;
	if (!told)
		LLVMParseCommandLineOptions(2, options, NULL);
	told = true;
}

/* What is computed before a branch stays there: moved into its arms it was computed
 * again and again, kept in registers over more of the code, and took a tenth of
 * the time of compiling.  Measured for x86-64 alone, so others keep the pass. */
static void choose_sinking(Arch arch)
{
	static const char *const off[] = {"tunec", "-disable-machine-sink"};
	static const char *const on[] = {
	    "tunec", "-disable-machine-sink=false"};
	static bool sinks = true;
	bool wanted = arch != ARCH_X86_64;
	if (sinks != wanted)
		LLVMParseCommandLineOptions(2, wanted ? on : off, NULL);
	sinks = wanted;
}

/* Shared and local memory by addresses of 32 bits; as above. */
static void shorten_pointers(void)
{
	static const char *const options[] = {"tunec", "-nvptx-short-ptr"};
	static bool told;
	if (!told)
		LLVMParseCommandLineOptions(2, options, NULL);
	told = true;
}

/* A thread's own arrays do not become shared memory, of which a header says how
 * much there is; as above. */
static void keep_private(void)
{
	static const char *const options[] = {
	    "tunec", "-disable-promote-alloca-to-lds"};
	static bool told;
	if (!told)
		LLVMParseCommandLineOptions(2, options, NULL);
	told = true;
}

static LLVMTargetMachineRef open_machine(
    const char *triple, const char *cpu, const char *attrs, Error *error)
{
	Arch arch = cpu_arch(triple);
	char *message = NULL;
	LLVMTargetRef target;
	if (arch == ARCH_X86_64) {
		LLVMInitializeX86TargetInfo();
		LLVMInitializeX86Target();
		LLVMInitializeX86TargetMC();
		LLVMInitializeX86AsmPrinter();
	} else if (arch == ARCH_AARCH64) {
		LLVMInitializeAArch64TargetInfo();
		LLVMInitializeAArch64Target();
		LLVMInitializeAArch64TargetMC();
		LLVMInitializeAArch64AsmPrinter();
	} else if (arch == ARCH_NVPTX) {
		LLVMInitializeNVPTXTargetInfo();
		LLVMInitializeNVPTXTarget();
		LLVMInitializeNVPTXTargetMC();
		LLVMInitializeNVPTXAsmPrinter();
		shorten_pointers();
	} else if (arch == ARCH_AMDGPU) {
		LLVMInitializeAMDGPUTargetInfo();
		LLVMInitializeAMDGPUTarget();
		LLVMInitializeAMDGPUTargetMC();
		LLVMInitializeAMDGPUAsmPrinter();
		keep_private();
	} else {
		error_set(error, STATUS_UNSUPPORTED,
		    "target: no code is generated for '%s' (x86_64 and "
		    "aarch64 are known)",
		    triple);
		return NULL;
	}
	disable_reduction();
	LLVMResetFatalErrorHandler();
	LLVMInstallFatalErrorHandler(say_fatal);
	if (LLVMGetTargetFromTriple(triple, &target, &message)) {
		take_message(message, triple, error);
		return NULL;
	}
	return LLVMCreateTargetMachine(target, triple, cpu, attrs,
	    arch == ARCH_NVPTX || arch == ARCH_AMDGPU
		? LLVMCodeGenLevelDefault : LLVMCodeGenLevelLess,
	    LLVMRelocPIC, LLVMCodeModelDefault);
}

/* The machine that was asked for last stays open: it takes milliseconds to make
 * its tables, and a process that has done so hands them to those that it forks. */
static LLVMTargetMachineRef keep_machine(
    const char *triple, const char *cpu, const char *attrs, Error *error)
{
	static LLVMTargetMachineRef machine;
	static Buf key;
	Buf wanted = {0};
	buf_printf(&wanted, "%s %s %s", triple, cpu, attrs);
	if (machine && !strcmp(key.data, wanted.data)) {
		buf_free(&wanted);
		return machine;
	}
	if (machine)
		LLVMDisposeTargetMachine(machine);
	buf_free(&key);
	machine = open_machine(triple, cpu, attrs, error);
	key = wanted;
	return machine;
}

/* --- compiling ------------------------------------------------------------ */

/* Of a module for AMD's GPUs: a version of code objects that every linker and
 * runtime of these years knows. */
static void set_flags(LlvmGen *gen)
{
	static const char pic[] = "PIC Level";
	static const char version[] = "amdhsa_code_object_version";
	if (!llvm_is_gpu(gen))
		LLVMAddModuleFlag(gen->module, LLVMModuleFlagBehaviorWarning,
		    pic, sizeof pic - 1,
		    LLVMValueAsMetadata(llvm_int(gen, 32, 2, 1)));
	if (gen->arch == ARCH_AMDGPU)
		LLVMAddModuleFlag(gen->module, LLVMModuleFlagBehaviorError,
		    version, sizeof version - 1,
		    LLVMValueAsMetadata(llvm_int(gen, 32, 400, 1)));
}

static Status build_module(LlvmGen *gen, const Lowered *const *lowered, int n,
    LLVMTargetMachineRef machine, Error *error)
{
	LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
	LLVMSetModuleDataLayout(gen->module, layout);
	LLVMDisposeTargetData(layout);
	set_flags(gen);
	for (int i = 0; i < n; i++) {
		for (int k = 0; k < lowered[i]->launches.n; k++)
			llvm_launch_emit(gen, &lowered[i]->launches.at[k]);
		if (lowered[i]->launches.n)
			continue; /* the host packs */
		llvm_function_emit(gen, lowered[i]->kernel);
		for (int j = 0; j < lowered[i]->packs.n; j++)
			llvm_function_emit(gen, lowered[i]->packs.at[j]);
	}
	if (gen->lacks)
		return error_set(error, STATUS_UNSUPPORTED,
		    "LLVM: a GPU has no libm, and '%s' of this type is not "
		    "written out here", gen->lacks);
	char *message = NULL;
	if (LLVMVerifyModule(gen->module, LLVMReturnStatusAction, &message))
		return take_message(message, "the module is not valid", error);
	LLVMDisposeMessage(message);
	return STATUS_OK;
}

static Status run_passes(
    LLVMModuleRef module, LLVMTargetMachineRef machine, Error *error)
{
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef failed = LLVMRunPasses(module, passes, machine, options);
	LLVMDisposePassBuilderOptions(options);
	if (!failed)
		return STATUS_OK;
	char *message = LLVMGetErrorMessage(failed);
	error_set(error, STATUS_UNSUPPORTED, "LLVM: %s", message);
	LLVMDisposeErrorMessage(message);
	return STATUS_UNSUPPORTED;
}

static Status write_code(LlvmGen *gen, LLVMTargetMachineRef machine,
    LlvmKind kind, Buf *out, Error *error)
{
	char *text = NULL;
	LLVMMemoryBufferRef memory = NULL;
	if (kind == LLVM_IR_TEXT) {
		text = LLVMPrintModuleToString(gen->module);
		buf_puts(out, text);
		LLVMDisposeMessage(text);
		return STATUS_OK;
	}
	if (kind == LLVM_BITCODE)
		memory = LLVMWriteBitcodeToMemoryBuffer(gen->module);
	else if (LLVMTargetMachineEmitToMemoryBuffer(machine, gen->module,
		     kind == LLVM_ASSEMBLY ? LLVMAssemblyFile : LLVMObjectFile,
		     &text, &memory))
		return take_message(text, "code generation failed", error);
	if (!error->status)
		buf_add(
		    out, LLVMGetBufferStart(memory), LLVMGetBufferSize(memory));
	LLVMDisposeMemoryBuffer(memory);
	return error->status;
}

/* AVX-512 that is added to a CPU without it: in LLVM 18 to 21 its features need
 * a word more for vectors of 512 bits, or selection fails.  And the version of
 * PTX that a GPU's instructions need. */
static void add_implied(const char *cpu, const char *attrs, Buf *all)
{
	CpuFeatures added =
	    cpu_features(cpu, attrs) & ~cpu_features(cpu, "");
	buf_puts(all, attrs);
	if (LLVM_VERSION_MAJOR >= 18 && LLVM_VERSION_MAJOR <= 21 &&
	    (added & FEATURE_BIT(AVX512F)))
		buf_puts(all, ",+evex512");
	if (!strcmp(cpu, "sm_75")) /* else of PTX 6.3, which has no mma */
		buf_printf(all, "%s+ptx65", *attrs ? "," : "");
}

static Status compile(const Lowered *const *lowered, int n, const char *triple,
    const char *cpu, const char *attrs, LlvmKind kind, Buf *out, Error *error)
{
	static const char name[] = "tunec";
	*error = (Error){0};
	Buf all = {0};
	add_implied(cpu, attrs, &all);
	LLVMTargetMachineRef machine =
	    keep_machine(triple, cpu, all.data, error);
	if (!machine) {
		buf_free(&all);
		return error->status;
	}
	LlvmGen gen = {.context = LLVMContextCreate(),
	    .arch = cpu_arch(triple),
	    .features = cpu_arch(triple) == ARCH_AARCH64
		? cpu_arm_features(cpu, attrs) : cpu_features(cpu, attrs),
	    .flushes = n && lowered[0]->program &&
		lowered[0]->program->numerics == NUMERICS_FAST,
	    .cpu = cpu,
	    .attrs = all.data};
	choose_sinking(gen.arch);
	LLVMContextSetDiagnosticHandler(gen.context, take_diagnostic, error);
	LLVMContextSetDiscardValueNames(gen.context, kind == LLVM_OBJECT);
	gen.module = LLVMModuleCreateWithNameInContext(name, gen.context);
	LLVMSetSourceFileName(gen.module, name, sizeof name - 1);
	LLVMSetTarget(gen.module, triple);
	gen.builder = LLVMCreateBuilderInContext(gen.context);
	Status status = build_module(&gen, lowered, n, machine, error);
	if (!status)
		status = run_passes(gen.module, machine, error);
	if (!status)
		status = write_code(&gen, machine, kind, out, error);
	LLVMDisposeBuilder(gen.builder);
	LLVMDisposeModule(gen.module);
	LLVMContextDispose(gen.context);
	buf_free(&all);
	return status;
}

/* --- what LLVM knows of CPUs ---------------------------------------------- */

static const char *version(void)
{
	return LLVM_VERSION_STRING;
}

static void host(char **triple, char **cpu, char **attrs)
{
	*triple = LLVMGetDefaultTargetTriple();
	*cpu = LLVMGetHostCPUName();
	*attrs = LLVMGetHostCPUFeatures();
}

static LLVMValueRef add_probe(LLVMContextRef context, LLVMModuleRef module,
    const char *name, const char *cpu, const char *attrs)
{
	LLVMTypeRef type =
	    LLVMFunctionType(LLVMVoidTypeInContext(context), NULL, 0, false);
	LLVMValueRef f = LLVMAddFunction(module, name, type);
	LLVMAddTargetDependentFunctionAttr(f, "target-cpu", cpu);
	LLVMAddTargetDependentFunctionAttr(f, "target-features", attrs);
	LLVMAppendBasicBlockInContext(context, f, "");
	return f;
}

/* A function may be inlined only where the caller has all of its features: one
 * that needs a single feature is called for each, and the calls that go away
 * tell which there are.  (The C API has no question for that.) */
static void probe_features(LLVMContextRef context, LLVMTargetMachineRef machine,
    const char *const *names, int n, const char *cpu, const char *attrs,
    bool *has)
{
	LLVMModuleRef module =
	    LLVMModuleCreateWithNameInContext("features", context);
	LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
	char *triple = LLVMGetTargetMachineTriple(machine);
	LLVMSetTarget(module, triple);
	LLVMValueRef caller = add_probe(context, module, "", cpu, attrs);
	for (int i = 0; i < n; i++) {
		char attr[80] = "+";
		LLVMValueRef f = add_probe(context, module, names[i], "",
		    strncat(attr, names[i], sizeof attr - 2));
		LLVMPositionBuilderAtEnd(b, LLVMGetLastBasicBlock(f));
		LLVMBuildRetVoid(b);
		LLVMPositionBuilderAtEnd(b, LLVMGetLastBasicBlock(caller));
		LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, NULL, 0, "");
		has[i] = true;
	}
	LLVMBuildRetVoid(b);
	LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
	LLVMErrorRef failed =
	    LLVMRunPasses(module, "cgscc(inline)", machine, options);
	if (failed)
		LLVMConsumeError(failed);
	LLVMValueRef in =
	    LLVMGetFirstInstruction(LLVMGetLastBasicBlock(caller));
	for (; in; in = LLVMGetNextInstruction(in)) {
		if (!LLVMIsACallInst(in))
			continue;
		size_t size;
		const char *called =
		    LLVMGetValueName2(LLVMGetCalledValue(in), &size);
		for (int i = 0; i < n; i++)
			has[i] &= strcmp(called, names[i]) != 0;
	}
	LLVMDisposePassBuilderOptions(options);
	LLVMDisposeMessage(triple);
	LLVMDisposeBuilder(b);
	LLVMDisposeModule(module);
}

/* Sorted, as they come out. */
static const char *const aarch64_features[] = {
    "bf16", "dotprod", "fp-armv8", "fullfp16", "i8mm", "neon", "sve", "sve2"};

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static char *features(const char *triple, const char *cpu, const char *attrs)
{
	const char *names[CPU_FEATURE_COUNT];
	bool has[CPU_FEATURE_COUNT];
	int n = 0;
	Error error = {0};
	Buf text = {0};
	LLVMTargetMachineRef machine = open_machine(triple, cpu, attrs, &error);
	if (machine && cpu_arch(triple) == ARCH_X86_64)
		while (n < CPU_FEATURE_COUNT) {
			names[n] = cpu_feature_name((CpuFeature)n);
			n++;
		}
	else if (machine)
		for (; n < (int)(sizeof aarch64_features / sizeof(char *)); n++)
			names[n] = aarch64_features[n];
	qsort(names, (size_t)n, sizeof *names, compare_names);
	if (machine) {
		LLVMContextRef context = LLVMContextCreate();
		probe_features(context, machine, names, n, cpu, attrs, has);
		LLVMContextDispose(context);
		LLVMDisposeTargetMachine(machine);
	}
	for (int i = 0; i < n; i++)
		if (has[i])
			buf_printf(
			    &text, "%s+%s", text.size ? "," : "", names[i]);
	buf_puts(&text, "");
	return text.data;
}

/* In a child: unknown names are only printed, and some end the process. */
static void check_child(
    const char *triple, const char *cpu, const char *attrs, int out)
{
	Error error = {0};
	dup2(out, 2);
	LLVMTargetMachineRef machine = open_machine(triple, cpu, attrs, &error);
	if (machine) {
		LLVMContextRef context = LLVMContextCreate();
		LLVMModuleRef module =
		    LLVMModuleCreateWithNameInContext("check", context);
		LLVMValueRef f = add_probe(context, module, "f", cpu, attrs);
		LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
		LLVMPositionBuilderAtEnd(b, LLVMGetLastBasicBlock(f));
		LLVMBuildRetVoid(b);
		LLVMSetTarget(module, triple);
		LLVMMemoryBufferRef memory;
		char *message;
		LLVMTargetMachineEmitToMemoryBuffer(
		    machine, module, LLVMObjectFile, &message, &memory);
	} else if (write(2, error.text, strlen(error.text)) < 0) {
		_exit(1);
	}
	_exit(0);
}

/* What LLVM prints of them, to its end; STATUS_CRASH: that ended it. */
static Status ask(const char *triple, const char *cpu, const char *attrs,
    Buf *said, Error *error)
{
	char block[4096];
	ssize_t n;
	int ends[2], state;
	if (pipe(ends))
		return error_set(error, STATUS_IO, "cannot make a pipe");
	pid_t child = fork();
	if (child == 0)
		check_child(triple, cpu, attrs, ends[1]);
	close(ends[1]);
	while (child > 0 && (n = read(ends[0], block, sizeof block)) > 0)
		buf_add(said, block, (size_t)n);
	close(ends[0]);
	if (child < 0 || waitpid(child, &state, 0) != child)
		return error_set(
		    error, STATUS_IO, "cannot ask LLVM about %s", cpu);
	return state ? error_set(error, STATUS_CRASH, "LLVM refuses it")
		     : STATUS_OK;
}

/* Of a list of lines "  NAME - what it is", to an empty one.  It is printed for a
 * CPU of this name, which then may be none that code can be made for. */
static bool cpus(const char *triple, Buf *out, Error *error)
{
	static const char head[] = "Available CPUs for this target:\n\n";
	Buf said = {0};
	Status status = ask(triple, "help", "", &said, error);
	const char *line = strstr(buf_text(&said), head);
	for (line = line ? line + sizeof head - 1 : ""; *line == ' ';) {
		const char *name = line + strspn(line, " ");
		buf_printf(out, "%.*s\n", (int)strcspn(name, " \n"), name);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	buf_free(&said);
	if (!out->size && !status)
		error_set(error, STATUS_UNSUPPORTED, "LLVM lists no CPUs");
	return out->size > 0;
}

/* "; is it 'znver4'?", and where all of them are. */
static void suggest_cpu(Buf *out, const char *triple, const char *cpu)
{
	Buf names = {0};
	Error ignored;
	Alike a = alike_to(cpu);
	if (cpus(triple, &names, &ignored))
		for (char *name = strtok(names.data, "\n"); name;
		     name = strtok(NULL, "\n"))
			alike_look(&a, name);
	buf_printf(out, "%s (`tunec target --cpus` lists them)",
	    alike_question(&a, ""));
	buf_free(&names);
}

static bool check(
    const char *triple, const char *cpu, const char *attrs, Error *error)
{
	static const char ours[] = "tunec: error: ";
	Buf said = {0}, more = {0};
	if (!strcmp(cpu, "help")) {
		error_set(error, STATUS_USAGE,
		    "target: `tunec target --cpus` lists what -mcpu= takes");
		return false;
	}
	Status status = ask(triple, cpu, attrs, &said, error);
	if (status == STATUS_IO || (!status && !said.size)) {
		buf_free(&said);
		return !status;
	}
	const char *first = said.size ? said.data : "LLVM refuses it";
	if (!strncmp(first, ours, sizeof ours - 1))
		first += sizeof ours - 1;
	size_t size = strcspn(first, "\n");
	const char *aside = strstr(first, " (ignoring");
	if (aside && (size_t)(aside - first) < size)
		size = (size_t)(aside - first);
	if (memmem(first, size, "processor", 9))
		suggest_cpu(&more, triple, cpu);
	error_set(error, STATUS_USAGE, "target: %.*s%s", (int)size, first,
	    buf_text(&more));
	buf_free(&said);
	buf_free(&more);
	return false;
}

extern const LlvmModule tunec_llvm;
const LlvmModule tunec_llvm = {
    .version = LLVM_MODULE_VERSION,
    .llvm_version = version,
    .compile = compile,
    .host = host,
    .check = check,
    .features = features,
    .cpus = cpus,
    .load = module_llvm_load,
    .call = module_llvm_call,
};
