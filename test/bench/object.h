/* What programs need that call a built kernel: its arguments, packed as its
 * header says, and inputs. */
#ifndef TEST_BENCH_OBJECT_H
#define TEST_BENCH_OBJECT_H

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/ir.h"
#include "ir/scalar.h"
#include "lib/rng.h"

enum { MOST_ARGUMENTS = 256, FEW_ARGUMENTS = 12 };

typedef struct {
	void (*kernel)(void);
	void *args[MOST_ARGUMENTS]; /* inputs, outputs, workspace */
	int nargs;
	size_t workspace_bytes;
} Object;

static inline void die(const char *what, const char *why)
{
	fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
	exit(1);
}

static inline void *aligned(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
	if (!p)
		die("memory", "there is none left");
	return p;
}

/* Inputs and outputs come from here where it is set: memory that several processes
 * have, each at the same place, so that none is faster for where its pages lie. */
typedef struct {
	char *at, *end;
} CommonMemory;

static CommonMemory common_memory;

static inline void *argument(size_t bytes)
{
	size_t whole = (bytes + 127) / 64 * 64;
	char *p = common_memory.at;
	if (whole > (size_t)(common_memory.end - p))
		return aligned(bytes);
	common_memory.at += whole;
	return p;
}

/* The value of `#define SUFFIX n` in the header beside the object. */
static inline size_t header_number(const char *so, const char *symbol,
    const char *suffix)
{
	char path[4096], want[512], line[1024], *at;
	snprintf(path, sizeof path, "%.*s.h", (int)strlen(so) - 3, so);
	int n = snprintf(want, sizeof want, "#define %s_%s ", symbol, suffix);
	for (int i = 8; i < n; i++)
		if (want[i] >= 'a' && want[i] <= 'z')
			want[i] = (char)(want[i] - 'a' + 'A');
	FILE *f = fopen(path, "r");
	if (!f)
		die(path, "cannot be read; build FILE.h beside FILE.so");
	while ((at = fgets(line, sizeof line, f)))
		if (!strncmp(line, want, strlen(want)))
			break;
	fclose(f);
	if (!at)
		die(path, want);
	return strtoull(line + strlen(want), NULL, 10);
}

/* Inputs of a program: floats uniform from `least` to `most`, integers from 0 to
 * 100. */
static inline void make_inputs(const Program *p, double least, double most,
    void **plain)
{
	Rng rng = rng_stream(1, 0, 0);
	if (p->ninputs + p->noutputs + 1 > MOST_ARGUMENTS)
		die(p->name, "has too many inputs and outputs");
	for (int i = 0; i < p->ninputs; i++) {
		const Buffer *in = &p->buffers[i];
		int64_t n = buffer_elements(in);
		plain[i] = argument((size_t)buffer_bytes(in));
		for (int64_t k = 0; k < n; k++) {
			double u = rng_double(&rng);
			double v = least + (most - least) * u;
			Scalar x = {.i = (int64_t)(u * 100)};
			if (in->type == DT_F64)
				x.d = v;
			else if (dtype_is_float(in->type))
				x.f = (float)v;
			scalar_store(in->type, plain[i], k, x);
		}
	}
}

static inline void *packed_input(const Program *p, int input, const void *plain,
    void *library, const char *so)
{
	char name[512];
	void (*pack)(const void *, void *);
	snprintf(name, sizeof name, "PACKED_%s_BYTES", p->buffers[input].name);
	void *to = aligned(header_number(so, p->symbol, name));
	snprintf(name, sizeof name, "%s_pack_%s", p->symbol,
	    p->buffers[input].name);
	*(void **)&pack = dlsym(library, name);
	if (!pack)
		die(so, dlerror());
	pack(plain, to);
	return to;
}

/* The kernel of a FILE.so with FILE.h beside it; `by_hand`: without a header,
 * const inputs as they are, a workspace of 64 MiB.  Outputs are poisoned, so
 * that what was not written is seen.  False if there is no such function. */
static inline bool object_open(Object *o, const Program *p, void *const *plain,
    const char *so, bool by_hand)
{
	*o = (Object){0};
	void *library = dlopen(so, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		die(so, dlerror());
	*(void **)&o->kernel = dlsym(library, p->symbol);
	if (!o->kernel)
		return false;
	for (int i = 0; i < p->ninputs; i++)
		o->args[o->nargs++] = p->buffers[i].is_const && !by_hand
		    ? packed_input(p, i, plain[i], library, so) : plain[i];
	for (int i = 0; i < p->noutputs; i++) {
		size_t bytes =
		    (size_t)buffer_bytes(&p->buffers[p->outputs[i]]);
		o->args[o->nargs++] = memset(argument(bytes), 0x55, bytes);
	}
	o->workspace_bytes = by_hand ? (size_t)64 << 20
		: header_number(so, p->symbol, "WORKSPACE_BYTES");
	o->args[o->nargs++] =
	    o->workspace_bytes ? aligned(o->workspace_bytes) : NULL;
	return true;
}

/* Arguments are all pointers; unread ones do no harm. */
static inline void object_call(const Object *o)
{
#define P4 void *, void *, void *, void *
#define P16 P4, P4, P4, P4
#define P64 P16, P16, P16, P16
#define A4(i) a[i], a[i + 1], a[i + 2], a[i + 3]
#define A16(i) A4(i), A4(i + 4), A4(i + 8), A4(i + 12)
#define A64(i) A16(i), A16(i + 16), A16(i + 32), A16(i + 48)
	void *const *a = o->args;
	if (o->nargs <= FEW_ARGUMENTS)
		((void (*)(P4, P4, P4))o->kernel)(A4(0), A4(4), A4(8));
	else if (o->nargs <= 64)
		((void (*)(P64))o->kernel)(A64(0));
	else
		((void (*)(P64, P64, P64, P64))o->kernel)(
		    A64(0), A64(64), A64(128), A64(192));
#undef P4
#undef P16
#undef P64
#undef A4
#undef A16
#undef A64
}

static inline const Program *load_program(Arena *arena, const char *spec)
{
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	Status status = spec_load(
	    arena, spec, NULL, 0, NUMERICS_DEFAULT, &diag, &error, &programs);
	fputs(buf_text(&diag.text), stderr);
	if (status || !programs.n)
		die(spec, error.text);
	return programs.at[0];
}

#endif
