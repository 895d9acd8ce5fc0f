/* What drivers of devices and their compilers keep until the process ends is not
 * ours: LeakSanitizer, which asks every test program, is to leave it out.  PoCL has
 * an LLVM of its own (libLLVM-15.so.1), ours is libLLVM.so.19.1. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpocl\nleak:libLLVM-\nleak:libclang\nleak:libOpenCL\n";
}
