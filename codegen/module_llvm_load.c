/* An object for this host, linked into the process by LLVM's JIT linker.
 * Nothing is ever unloaded: the process ends after one kernel. */
#include <llvm-c/Core.h>
#include <llvm-c/Error.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>

#include "codegen/module_llvm.h"

static Status fail(Error *error, LLVMErrorRef llvm)
{
	char *text = LLVMGetErrorMessage(llvm);
	error_set(error, STATUS_UNSUPPORTED, "linking: %.900s", text);
	LLVMDisposeErrorMessage(text);
	return error->status;
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
	LLVMInitializeNativeTarget();
	LLVMInitializeNativeAsmPrinter();
	llvm = LLVMOrcCreateLLJIT(&jit, NULL);
	if (!llvm)
		llvm = search_process(jit);
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
	return llvm ? fail(error, llvm) : STATUS_OK;
}
