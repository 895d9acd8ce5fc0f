/* Opens tunec-llvm.so on first use. */
#include "codegen/codegen.h"
#include "lib/module.h"

const LlvmModule *llvm_module(Error *error)
{
	static const ModuleName name = {.what = "LLVM",
	    .file = "tunec-llvm.so",
	    .symbol = "tunec_llvm",
	    .version = LLVM_MODULE_VERSION,
	    .needs = "libLLVM",
	    .package = "libllvm19",
	    .built_with = "llvm-19-dev"};
	return module_open(&name, error);
}
