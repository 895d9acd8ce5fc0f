/* tunec VERB [options] SPEC[:CASE]... */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"
#include "codegen/codegen.h"
#include "lib/alike.h"

#define VERB(name) extern const Verb verb_##name;
#include "cmd/verbs.def"
#undef VERB

static const Verb *const verbs[] = {
#define VERB(name) &verb_##name,
#include "cmd/verbs.def"
#undef VERB
};

enum { NVERBS = sizeof verbs / sizeof verbs[0] };

static const Verb *verb_find(const char *name)
{
	for (int i = 0; i < NVERBS; i++)
		if (!strcmp(verbs[i]->name, name))
			return verbs[i];
	return NULL;
}

static int unknown_verb(const char *word)
{
	Alike a = alike_to(word);
	for (int i = 0; i < NVERBS; i++)
		alike_look(&a, verbs[i]->name);
	return say_usage(
	    NULL, "unknown verb '%s'%s", word, alike_question(&a, ""));
}

static int unknown_option(const char *word)
{
	Alike a = alike_to(word);
	alike_look(&a, "--help");
	alike_look(&a, "--version");
	return say_usage(
	    NULL, "unknown option '%s'%s", word, alike_question(&a, ""));
}

/* What bug reports need: the commit, and the LLVM that makes objects. */
static void print_version(void)
{
	Error error = {0};
	const LlvmModule *llvm = llvm_module(&error);
	out_text("tunec %s%s%s%s\n", TUNEC_VERSION, *TUNEC_COMMIT ? " (" : "",
	    TUNEC_COMMIT, *TUNEC_COMMIT ? ")" : "");
	if (llvm)
		out_text("LLVM %s\n", llvm->llvm_version());
	else
		out_text("LLVM: %s\n", error.text);
}

static void print_help(void)
{
	out_text("usage: tunec VERB [options] SPEC[:CASE]...\n\n"
	       "Compiles a tensor operator, described in a YAML file, to fast C,\n"
	       "LLVM IR or objects, and tunes it for a machine.\n\nverbs:\n");
	for (int i = 0; i < NVERBS; i++)
		out_text("  %-8s %s\n", verbs[i]->name, verbs[i]->summary);
	out_text("\n  tunec VERB --help   what a verb does and takes\n"
	       "  tunec --version     the version\n\n"
	       "A SPEC is a file; FILE:CASE is one of its cases, FILE: the bare\n"
	       "params, and - standard input.\n");
}

/* What was printed must have arrived.  Who closed a pipe has read enough: that is
 * no error to tell, and the end is that of other programs, by the signal. */
static int flush_output(int code)
{
	bool arrived = out_flush();
	if (out_closed()) {
		signal(SIGPIPE, SIG_DFL);
		if (code == EXIT_DONE)
			raise(SIGPIPE);
	} else if (!arrived) {
		say_error("cannot write standard output");
		return exit_worse(code, EXIT_FAILED);
	}
	return code;
}

static int verb_run(const Verb *verb, int argc, char **argv)
{
	void *options = calloc(1, verb->size);
	if (!options)
		return EXIT_FAILED;
	int code = EXIT_USAGE;
	int n = options_parse(verb, options, argc, argv);
	if (n >= 0 && ((Common *)options)->help) {
		options_help(verb);
		code = EXIT_DONE;
	} else if (n >= 0 && n < verb->min_operands) {
		say_usage(verb->name, "%s is missing", verb->operands);
	} else if (n >= 0 && verb->max_operands >= 0 && n > verb->max_operands) {
		say_usage(verb->name, "unexpected '%s'",
		    argv[verb->max_operands]);
	} else if (n >= 0) {
		code = verb->run(options, n, argv);
	}
	options_free(verb, options);
	return code;
}

static int tunec(int argc, char **argv)
{
	if (argc < 2)
		return say_usage(NULL, "no verb");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help();
		return EXIT_DONE;
	}
	if (!strcmp(argv[1], "--version")) {
		print_version();
		return EXIT_DONE;
	}
	if (argv[1][0] == '-')
		return unknown_option(argv[1]);
	const Verb *verb = verb_find(argv[1]);
	if (!verb)
		return unknown_verb(argv[1]);
	return verb_run(verb, argc - 2, argv + 2);
}

/* Threads are put on CPUs here (tuner/measure/measure_team.c).  Where OpenMP is told
 * to do so, too, it binds the thread that loads it, and whatever that makes begins
 * on the one CPU that is left. */
static void forget_openmp_places(void)
{
	unsetenv("OMP_PROC_BIND");
	unsetenv("OMP_PLACES");
	unsetenv("GOMP_CPU_AFFINITY");
}

int main(int argc, char **argv)
{
	forget_openmp_places();
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* a write past the limit fails instead */
	return flush_output(tunec(argc, argv));
}
