#include "test/common_lowered.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <unistd.h>

LowFunction *lowtest_function(Arena *arena, const char *name)
{
	LowFunction *f = NEW(arena, LowFunction);
	f->name = name;
	f->nthreads = 1;
	return f;
}

void lowtest_buffer(Arena *arena, LowFunction *f, const char *name, DType type,
    int64_t elements, bool written)
{
	vec_push(arena, &f->buffers,
	    (LowBuffer){.name = name,
		.type = type,
		.elements = elements,
		.param = f->params.n,
		.align = dtype_bytes(type),
		.written = written});
	vec_push(arena, &f->params,
	    (LowParam){.name = name, .type = type, .output = written});
}

LowNode *lowtest_loop(Arena *arena, LowFunction *f, LowBody *body,
    LoopKind kind, int64_t extent, const char *name)
{
	LowNode *loop = NEW(arena, LowNode);
	*loop = (LowNode){.kind = LOWNODE_LOOP,
	    .dst = -1,
	    .buffer = -1,
	    .loop = kind,
	    .extent = extent,
	    .condition = -1};
	loop->var = low_temp(arena, f, DT_INDEX, 1, name);
	vec_push(arena, body, loop);
	return loop;
}

Lowered *lowtest_lowered(Arena *arena, LowFunction *f)
{
	Lowered *l = NEW(arena, Lowered);
	l->arena = arena;
	l->kernel = f;
	return l;
}

LowAffine lowtest_at(
    Arena *arena, int var, int64_t coefficient, int64_t constant)
{
	LowAffine a = {constant, 1, NEW(arena, LowTerm)};
	a.terms[0] = (LowTerm){var, coefficient};
	return a;
}

const LlvmModule *lowtest_llvm(void)
{
	Error error = {0};
	if (!getenv("TUNEC_MODULES") && getenv("BUILD"))
		setenv("TUNEC_MODULES", getenv("BUILD"), 1);
	const LlvmModule *llvm = llvm_module(&error);
	if (!llvm)
		print_error("%s\n", error.text);
	return llvm;
}

void lowtest_compile(
    const Target *target, Lowered **lowered, int n, LlvmKind kind, Buf *out)
{
	Error error = {0};
	const LlvmModule *llvm = lowtest_llvm();
	assert_non_null(llvm);
	if (llvm->compile((const Lowered *const *)lowered, n, target->triple,
		target->cpu, target->attrs, kind, out, &error))
		fail_msg("%s: %s", target->text, error.text);
}

void *lowtest_open(const Buf *object)
{
	char folder[] = "/tmp/tunec-test-XXXXXX", o[64], so[64], command[256];
	assert_non_null(mkdtemp(folder));
	snprintf(o, sizeof o, "%s/k.o", folder);
	snprintf(so, sizeof so, "%s/k.so", folder);
	FILE *f = fopen(o, "wb");
	assert_int_equal(
	    fwrite(object->data, 1, object->size, f), object->size);
	fclose(f);
	snprintf(command, sizeof command,
	    "cc -shared -fopenmp -Wl,-z,text -o %s %s -lm", so, o);
	assert_int_equal(system(command), 0);
	void *library = dlopen(so, RTLD_NOW);
	if (!library)
		fail_msg("%s", dlerror());
	unlink(o);
	unlink(so);
	rmdir(folder);
	return library;
}
