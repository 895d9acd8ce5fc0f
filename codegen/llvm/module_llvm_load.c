/* An object for this host, linked into the process by LLVM's JIT linker.
 * Nothing is ever unloaded: the process ends after one kernel. */
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>

#include "codegen/llvm/module_llvm.h"

/* The first message counts: the session reports the cause (no memory), then the
 * look-up fails because of it. */
static void report(void *context, LLVMErrorRef llvm)
{
	Error *error = context;
	char *text = LLVMGetErrorMessage(llvm);
	if (!error->status)
		error_set(error, STATUS_UNSUPPORTED, "linking: %.900s", text);
	LLVMDisposeErrorMessage(text);
}

/* libm, libc and whatever OpenMP runtime the process has opened. */
static LLVMErrorRef search_process(LLVMOrcLLJITRef jit)
{
	LLVMOrcDefinitionGeneratorRef process;
	LLVMErrorRef llvm = LLVMOrcCreateDynamicLibrarySearchGeneratorForProcess(
	    &process, LLVMOrcLLJITGetGlobalPrefix(jit), NULL, NULL);
	if (!llvm)
		LLVMOrcJITDylibAddGenerator(
		    LLVMOrcLLJITGetMainJITDylib(jit), process);
	return llvm;
}

Status module_llvm_load(const void *object, size_t size,
    const char *const *names, int n, void **addresses, Error *error)
{
	LLVMOrcLLJITRef jit;
	LLVMErrorRef llvm;
	*error = (Error){0};
	LLVMInitializeNativeTarget();
	LLVMInitializeNativeAsmPrinter();
	llvm = LLVMOrcCreateLLJIT(&jit, NULL);
	if (!llvm) {
		LLVMOrcExecutionSessionSetErrorReporter(
		    LLVMOrcLLJITGetExecutionSession(jit), report, error);
		llvm = search_process(jit);
	}
	if (!llvm)
		llvm = LLVMOrcLLJITAddObjectFile(jit,
		    LLVMOrcLLJITGetMainJITDylib(jit),
		    LLVMCreateMemoryBufferWithMemoryRangeCopy(
			object, size, "kernel"));
	for (int i = 0; !llvm && i < n; i++) {
		LLVMOrcExecutorAddress address;
		llvm = LLVMOrcLLJITLookup(jit, &address, names[i]);
		addresses[i] = (void *)(uintptr_t)address;
	}
	if (llvm)
		report(error, llvm);
	return error->status;
}
