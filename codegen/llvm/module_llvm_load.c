/* An object for this host, linked into the process by LLVM's JIT linker, and
 * called.  Nothing is ever unloaded: the process ends after one kernel. */
#include <ffi.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

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

/* Functions of a program of many layers take hundreds of pointers, which C cannot
 * say: libffi can, and LLVM brings it along. */
void module_llvm_call(void *function, void **args, int n)
{
	ffi_cif cif;
	ffi_type **types = must_alloc(sizeof *types * (size_t)n);
	void **at = must_alloc(sizeof *at * (size_t)n);
	void (*f)(void);
	memcpy(&f, &function, sizeof f);
	for (int i = 0; i < n; i++) {
		types[i] = &ffi_type_pointer;
		at[i] = &args[i];
	}
	ffi_status prepared = ffi_prep_cif(
	    &cif, FFI_DEFAULT_ABI, (unsigned)n, &ffi_type_void, types);
	assert(prepared == FFI_OK && "pointers are always types");
	(void)prepared;
	ffi_call(&cif, f, NULL, at);
	free(types);
	free(at);
}
