/* What the targets of test/fuzz/ share. */
#include "test/fuzz/fuzz.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codegen/codegen.h"
#include "schedule/internal.h"
#include <jansson.h>

const Machine fuzz_machine = {.threads = 2,
    .vector_bytes = 32,
    .vector_registers = 16,
    .fma = true,
    .masked = true,
    .gather = true,
    .f16c = true,
    .fma_per_cycle = 2,
    .fma_latency = 4,
    .l1_bytes = 32 << 10,
    .l2_bytes = 512 << 10,
    .l3_bytes = 16 << 20,
    .l1_ways = 8,
    .line_bytes = 64,
    .clock_ghz = 3};

void fuzz_require(bool holds, const char *format, ...)
{
	va_list args;
	if (holds)
		return;
	va_start(args, format);
	dprintf(2, "fuzz_%s: ", fuzz_name);
	vdprintf(2, format, args);
	dprintf(2, "\n");
	va_end(args);
	abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (*argc != 2 || strcmp((*argv)[1], "--seeds"))
		return 0;
	printf("test/fuzz/corpus/%s", fuzz_name);
	for (int i = 0; fuzz_seeds[i]; i++)
		printf(" %s", fuzz_seeds[i]);
	putchar('\n');
	exit(0);
}

char *fuzz_text(const uint8_t *data, size_t size)
{
	char *text = must_alloc(size + 1);
	if (size)
		memcpy(text, data, size);
	text[size] = 0;
	return text;
}

/* --- traces ---------------------------------------------------------------- */

static const char program_text[] =
    "tunec: 1\n"
    "name: chain\n"
    "inputs:\n"
    "  a: 'f32[7, 16]'\n"
    "  b: 'const f32[16, 20]'\n"
    "  bias: 'f32[20]'\n"
    "compute: |\n"
    "  p[i < 7, k < 16] = a[i, k]*2\n"
    "  c[i < 7, j < 20] = sum[k < 16](p[i, k]*b[k, j])\n"
    "  d[i < 7, j < 20] = c[i, j] + bias[j]\n"
    "  out[j < 20, i < 7] = max(d[i, j], 0)\n"
    "  s[i < 5, j < 20] = if j < 19 then out[j + 1, i] - out[j, i//2 + 2]"
    " else 0\n"
    "outputs: [out, s]\n";

const Program *fuzz_program(void)
{
	static const Source source = {
	    "chain", program_text, sizeof program_text - 1};
	static Arena *arena;
	static const Program *program;
	Diag diag = {0};
	if (program)
		return program;
	arena = arena_new();
	Spec *spec = spec_parse(arena, &source, &diag);
	if (spec)
		program = spec_program(
		    arena, spec, "", NULL, 0, NUMERICS_DEFAULT, &diag);
	fuzz_require(program != NULL, "%s", buf_text(&diag.text));
	diag_free(&diag);
	return program;
}

static char *printed(Arena *arena, const Trace *trace)
{
	Buf out = {0};
	trace_print(&out, trace);
	char *text = arena_strdup(arena, buf_text(&out));
	buf_free(&out);
	return text;
}

/* JSON leaves domains out, and without its domain an open decision is no text. */
static bool lacks_domain(const Trace *trace)
{
	for (int i = 0; i < trace->steps.n; i++) {
		const Step *s = &trace->steps.at[i];
		for (int k = 0; k < s->nargs; k++)
			if (s->args[k].open && !s->args[k].domain.nvalues)
				return true;
	}
	return false;
}

static void check_text(Arena *arena, const Trace *trace)
{
	const char *text = printed(arena, trace);
	Source source = {"printed", text, strlen(text)};
	Diag diag = {0};
	Trace *again =
	    trace_parse(arena, &source, (Span){0, source.size}, &diag);
	fuzz_require(again != NULL, "printed, not read:\n%s%s", text,
	    buf_text(&diag.text));
	fuzz_require(!strcmp(text, printed(arena, again)),
	    "printed otherwise:\n%s%s", text, printed(arena, again));
	diag_free(&diag);
}

static void check_json(Arena *arena, const Trace *trace)
{
	Error error;
	json_t *json = trace_to_json(trace);
	Trace *read = trace_from_json(arena, json, &error);
	fuzz_require(read != NULL, "%s", error.text);
	json_t *again = trace_to_json(read);
	fuzz_require(json_equal(json, again), "JSON read as another");
	json_decref(again);
	json_decref(json);
}

/* Names of a record, given those of the spec, are those of the record again. */
static void check_names(Arena *arena, const Trace *trace)
{
	Error error;
	const Program *p = fuzz_program();
	Trace *names = trace_canonical(arena, p, trace);
	Trace *local = trace_localized(arena, p, names, &error);
	if (!local)
		return;
	const char *text = printed(arena, names);
	const char *again = printed(arena, trace_canonical(arena, p, local));
	fuzz_require(!strcmp(text, again), "names changed:\n%s%s", text, again);
}

static void check_lowered(Arena *arena, const Nest *nest)
{
	char why[256];
	Error error = {0};
	Lowered *l = lower(arena, nest, &fuzz_machine, &error);
	fuzz_require(l || error.text[0], "not lowered, and no reason");
	if (!l)
		return;
	fuzz_require(lowered_verify(l, why, sizeof why), "lowered: %s", why);
	Buf out = {0};
	Target *target = target_parse(arena, "c", &error);
	fuzz_require(target != NULL, "%s", error.text);
	emit_c(&out, l, target, &(EmitComment){"c", "none", ""});
	fuzz_require(out.size > 0, "nothing emitted");
	buf_free(&out);
}

void fuzz_trace(Arena *arena, const Trace *trace)
{
	Error error = {0};
	const Program *p = fuzz_program();
	ApplyContext open = {.machine = &fuzz_machine, .use_slots = true};
	Nest *nest = nest_new(arena, p, tape_new(arena));
	Refusal why = NULL;
	int step;
	if (!lacks_domain(trace))
		check_text(arena, trace);
	check_json(arena, trace);
	check_names(arena, trace);
	fuzz_require(trace_apply(nest, trace, &open, &step, &why) || why,
	    "refused without a reason");
	nest = schedule_nest(arena, p, &fuzz_machine, trace, &error);
	fuzz_require(nest || error.text[0], "refused without a reason");
	if (nest)
		check_lowered(arena, nest);
}

/* --- files ----------------------------------------------------------------- */

static char folder[64];

static void remove_folder(void)
{
	char command[96];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	if (system(command))
		perror(folder);
}

const char *fuzz_path(const char *name)
{
	static char path[128];
	if (!*folder) {
		snprintf(folder, sizeof folder, "%s/tunec-fuzz-XXXXXX",
		    access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
		fuzz_require(mkdtemp(folder) != NULL, "no folder %s", folder);
		atexit(remove_folder);
	}
	snprintf(path, sizeof path, "%s/%s", folder, name);
	return path;
}

void fuzz_write(const char *path, const void *data, size_t size)
{
	FILE *file = fopen(path, "wb");
	fuzz_require(
	    file && fwrite(data, 1, size, file) == size && !fclose(file),
	    "cannot write %s", path);
}

Buf fuzz_read(const char *path)
{
	Buf out = {0};
	char piece[1 << 12];
	size_t n;
	FILE *file = fopen(path, "rb");
	fuzz_require(file != NULL, "cannot read %s", path);
	while ((n = fread(piece, 1, sizeof piece, file)) > 0)
		buf_add(&out, piece, n);
	fclose(file);
	return out;
}
