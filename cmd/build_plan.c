/* Which files tunec build writes, and of which kinds: from -o and --emit. */
#include <string.h>

#include "cmd/build.h"
#include "lib/alike.h"

/* --- kinds --------------------------------------------------------------- */

static const char *const kinds[KIND_COUNT] = {
	[KIND_C] = "c", [KIND_LL] = "ll", [KIND_BC] = "bc", [KIND_O] = "o",
	[KIND_S] = "s", [KIND_SO] = "so", [KIND_H] = "h",
	[KIND_MAIN] = "main", [KIND_CU] = "cu", [KIND_PTX] = "ptx",
	[KIND_CUBIN] = "cubin", [KIND_CL] = "cl",
	[KIND_HSACO] = "hsaco", [KIND_JSON] = "json"};

static int kind_find(const char *name, size_t length)
{
	for (int i = 0; i < KIND_COUNT; i++)
		if (strlen(kinds[i]) == length &&
		    !strncmp(kinds[i], name, length))
			return i;
	return -1;
}

const char *plan_suffix_of(Kind kind)
{
	return kinds[kind];
}

/* --- files --------------------------------------------------------------- */

const char *plan_suffix(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *dot = strrchr(slash ? slash + 1 : path, '.');
	return dot ? dot + 1 : "";
}

static int say_unknown(const char *name)
{
	Alike a = alike_to(name);
	for (int i = 0; i < KIND_COUNT; i++)
		alike_look(&a, kinds[i]);
	return say_usage("build", "unknown kind '%s' of --emit%s", name,
	    alike_question(&a, ""));
}

static int read_emit(OutputPlan *plan)
{
	for (int i = 0; i < plan->build->emit.n; i++) {
		const char *text = plan->build->emit.at[i];
		do {
			size_t n = strcspn(text, ",");
			int kind = kind_find(text, n);
			if (kind < 0)
				return say_unknown(
				    arena_strndup(plan->arena, text, n));
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
		if (!strcmp(plan->outputs.at[i].path, path) &&
		    plan->outputs.at[i].kind == kind)
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
		const char *path = paths->at[i], *suffix = plan_suffix(path);
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
			    ".so .h .cu .ptx .cubin .cl .hsaco .json", path);
		add_output(plan, path, (Kind)kind, true, -1);
	}
	return EXIT_DONE;
}

/* The first -o without its suffix. */
static const char *first_stem(const OutputPlan *plan)
{
	const char *path = plan->build->output.at[0];
	size_t suffix = strlen(plan_suffix(path));
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
		const char *suffix = kinds[kind];
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
int plan_usage(OutputPlan *plan)
{
	const Build *build = plan->build;
	bool json = build->common.json;
	if (!build->output.n && !build->emit.n && !json)
		return say_usage("build", "nothing to write: -o FILE or --emit");
	int code = read_emit(plan);
	bool stream = false;
	if (!code)
		code = add_asked(plan, &stream);
	if (!code && stream && json)
		code = say_usage("build",
		    "-o - and --json both print: take --emit=json");
	return code;
}

int plan_outputs(OutputPlan *plan)
{
	bool stream = false;
	plan->outputs.n = 0;
	int code = add_asked(plan, &stream);
	if (!code && !stream)
		add_emitted(plan);
	return code;
}
