/* What drivers of devices and their compilers keep until the process ends is not
 * ours: LeakSanitizer, which asks every test program, is to leave it out. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
	return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libOpenCL\n";
}
