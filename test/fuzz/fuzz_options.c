/* The words of a command line, one a line of the input, the verb first: they
 * give options and operands, which are words of the input, or a message; what
 * -D says is then tried on a small operator, and gives it or messages. */
#include "test/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd.h"

#define VERB(name) extern const Verb verb_##name;
#include "cmd/verbs.def"
#undef VERB

static const Verb *const verbs[] = {
#define VERB(name) &verb_##name,
#include "cmd/verbs.def"
#undef VERB
};

const char fuzz_name[] = "options";
const char *const fuzz_seeds[] = {NULL};
const int fuzz_rounds = 20000;

static const char spec_text[] = "tunec: 1\n"
				"name: scale\n"
				"params: {N: 8, M: N*2, F: 1.5}\n"
				"inputs:\n"
				"  x: 'f32[N, M]'\n"
				"compute: |\n"
				"  y[i < N, j < M] = x[i, j]*F\n";

static const Verb *verb_of(const char *word)
{
	for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++)
		if (!strcmp(verbs[i]->name, word))
			return verbs[i];
	return NULL;
}

static void define(const TextList *list)
{
	Arena *arena = arena_new();
	Diag diag = {0};
	Source source = {"spec", spec_text, sizeof spec_text - 1};
	Spec *spec = spec_parse(arena, &source, &diag);
	fuzz_require(spec != NULL, "%s", buf_text(&diag.text));
	SpecDefine *all = NEW_N(arena, SpecDefine, list->n);
	int n = 0;
	for (int i = 0; i < list->n; i++)
		n += define_parse(arena, list->at[i], &all[n]);
	Program *p =
	    spec_program(arena, spec, "", all, n, NUMERICS_DEFAULT, &diag);
	fuzz_require(!p == (diag.errors > 0), "%d messages and %s program",
	    diag.errors, p ? "a" : "no");
	diag_free(&diag);
	arena_free(arena);
}

static void try(const Verb *verb, int argc, char **argv)
{
	Common *common = must_alloc(verb->size);
	memset(common, 0, verb->size);
	char **words = must_alloc(sizeof *words * (size_t)(argc + 1));
	memcpy(words, argv, sizeof *words * (size_t)(argc + 1));
	int n = options_parse(verb, common, argc, words);
	fuzz_require(n >= -1 && n <= argc, "%d operands", n);
	for (int i = 0, at = 0; i < n; i++) {
		while (at < argc && argv[at] != words[i])
			at++;
		fuzz_require(at < argc, "operand %d is no word", i);
	}
	if (n >= 0 && verb->specs)
		define(&common->define);
	options_free(verb, common);
	free(words);
}

/* Messages of verbs go nowhere; those of sanitizers go past stdio. */
static void be_quiet(void)
{
	static bool quiet;
	if (!quiet)
		stderr = fopen("/dev/null", "w");
	quiet = true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum { MOST = 64 };
	char *text = fuzz_text(data, size), *words[MOST + 1] = {0};
	int n = 0;
	be_quiet();
	for (char *s = text; s && n < MOST;)
		words[n++] = strsep(&s, "\n");
	const Verb *verb = verb_of(words[0]);
	if (verb)
		try(verb, n - 1, words + 1);
	free(text);
	return 0;
}
