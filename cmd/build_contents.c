/* What stands in the files that tunec build writes. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/build.h"
#include "codegen/cuda/cuda.h"
#include "codegen/hip/hip.h"
#include "lib/folder.h"
#include "tuner/measure/measure.h"

typedef struct {
	OutputPlan *plan;
	int n; /* kernels */
	const Kernel *kernels;
	const Lowered **lowered;
	EmitComment *comments;
	const Target *target;
	Buf object; /* kept for .o, .so and .hsaco */
	Buf ptx;    /* kept for .ptx, .cubin and .c */
} Contents;

static Status llvm_text(Contents *c, LlvmKind kind, Buf *out, Error *error)
{
	const Target *t = c->target;
	if (t->kind == TARGET_C)
		return error_set(error, STATUS_UNSUPPORTED,
		    "target '%s' gives .c and .h only; compile its .c, or take "
		    "an llvm target", t->text);
	const LlvmModule *llvm = llvm_module(error);
	if (!llvm)
		return error->status;
	return llvm->compile(c->lowered, c->n, t->triple, t->cpu,
	    t->attrs, kind, out, error);
}

static Status object(Contents *c, Error *error)
{
	if (c->object.size)
		return STATUS_OK;
	return llvm_text(c, LLVM_OBJECT, &c->object, error);
}

static Status ptx(Contents *c, Error *error)
{
	if (c->ptx.size)
		return STATUS_OK;
	return cuda_ptx(
	    c->lowered, c->n, c->target, c->comments, &c->ptx, error);
}

static bool uses_threads(const Contents *c)
{
	for (int i = 0; i < c->n; i++)
		if (c->lowered[i]->kernel->nthreads > 1)
			return true;
	return false;
}

/* $CC -shared, in a shell since $CC may have several words. */
static Status link_object(const Target *target, const char *object_path,
    const char *out, bool threads, Error *error)
{
	const char *cc = getenv("CC");
	pid_t child = fork();
	if (!child) {
		execl("/bin/sh", "sh", "-c",
		    "exec ${CC:-cc} -shared -o \"$1\" \"$2\" -lm $3", "sh", out,
		    object_path, threads ? "-fopenmp" : "", (char *)NULL);
		_exit(127);
	}
	int status = -1;
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0 || status)
		return error_set(error, STATUS_MISSING,
		    "cannot link a .so for %s: '%s -shared' failed; $CC names "
		    "the compiler that links for it",
		    target->triple, cc && *cc ? cc : "cc");
	return STATUS_OK;
}

static Status shared_object(Contents *c, Buf *out, Error *error)
{
	FORWARD_IF_ERROR(object(c, error));
	Arena *arena = c->plan->arena;
	char folder[FOLDER_PATH];
	if (!folder_make(folder, sizeof folder, "tunec"))
		return error_set(error, STATUS_IO, "cannot make %s: %s", folder,
		    strerror(errno));
	/* the same names for every output, so that no name gets into it */
	const char *o = arena_printf(arena, "%s/kernel.o", folder);
	const char *so = arena_printf(arena, "%s/kernel.so", folder);
	Status status = STATUS_OK;
	if (!folder_write(o, c->object.data, c->object.size))
		status = error_set(error, STATUS_IO, "cannot write %s: %s", o,
		    strerror(errno));
	if (!status)
		status = link_object(c->target, o, so, uses_threads(c), error);
	if (!status && !folder_read(so, out))
		status = error_set(error, STATUS_IO, "cannot read %s: %s", so,
		    strerror(errno));
	unlink(o);
	unlink(so);
	rmdir(folder);
	return status;
}

/* What targets for devices have; kinds of one alone are no other's. */
static const struct {
	TargetKind target;
	unsigned alone, all; /* bits of kinds */
	const char *says, *take;
} devices[] = {
    {TARGET_CUDA, 1u << KIND_PTX | 1u << KIND_CUBIN | 1u << KIND_CU,
	1u << KIND_PTX | 1u << KIND_CUBIN | 1u << KIND_CU | 1u << KIND_C |
	    1u << KIND_LL | 1u << KIND_BC | 1u << KIND_H,
	".ptx, .cubin, .cu, .c, .ll, .bc and .h", "cuda -arch=sm_90"},
    {TARGET_HIP, 1u << KIND_HSACO,
	1u << KIND_HSACO | 1u << KIND_S | 1u << KIND_LL | 1u << KIND_BC |
	    1u << KIND_C | 1u << KIND_H,
	".hsaco, .s, .ll, .bc, .c and .h", "hip -arch=gfx90a"},
    {TARGET_OPENCL, 1u << KIND_CL,
	1u << KIND_CL | 1u << KIND_C | 1u << KIND_H, ".cl, .c and .h",
	"opencl -device=gpu"},
};

/* Does the target have files of the kind? */
static Status check_kind(const Target *t, Kind kind, Error *error)
{
	const unsigned asked = 1u << kind;
	if (kind == KIND_JSON) /* of every target */
		return STATUS_OK;
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		if (devices[i].target != t->kind) {
			if (!(devices[i].alone & asked))
				continue;
			return error_set(error, STATUS_UNSUPPORTED,
			    "target '%s' gives no .%s; take '%s'", t->text,
			    plan_suffix_of(kind), devices[i].take);
		}
		if (!(devices[i].all & asked))
			return error_set(error, STATUS_UNSUPPORTED,
			    "target '%s' gives %s", t->text, devices[i].says);
	}
	return STATUS_OK;
}

/* A driver is of the only kernel. */
static Status fill(Contents *c, Output *o, Error *error)
{
	int n = c->n;
	FORWARD_IF_ERROR(check_kind(c->target, o->kind, error));
	switch (o->kind) {
	case KIND_C:
		if (c->target->kind == TARGET_CUDA) {
			FORWARD_IF_ERROR(ptx(c, error));
			emit_cuda_host(&o->data, c->lowered, n, c->comments,
			    c->ptx.data, c->ptx.size);
			return STATUS_OK;
		}
		if (c->target->kind == TARGET_HIP)
			emit_packs(&o->data, c->lowered, n, c->comments);
		else if (c->target->kind == TARGET_OPENCL)
			emit_opencl_host(&o->data, c->lowered, n, c->target,
			    c->comments);
		else
			emit_c_all(&o->data, c->lowered, n, c->target,
			    c->comments);
		return STATUS_OK;
	case KIND_H:
		emit_header_all(&o->data, c->lowered, n, c->target,
		    c->comments);
		return STATUS_OK;
	case KIND_MAIN:
		emit_main(&o->data, c->lowered[0], c->target,
		    peak_operations(
			c->kernels[0].program, &c->target->machine));
		return STATUS_OK;
	case KIND_CU:
	case KIND_CL:
		emit_device(&o->data, c->lowered, n, c->target, c->comments);
		return STATUS_OK;
	case KIND_LL:
		return llvm_text(c, LLVM_IR_TEXT, &o->data, error);
	case KIND_BC:
		return llvm_text(c, LLVM_BITCODE, &o->data, error);
	case KIND_PTX:
		FORWARD_IF_ERROR(ptx(c, error));
		buf_add(&o->data, c->ptx.data, c->ptx.size);
		return STATUS_OK;
	case KIND_CUBIN:
		FORWARD_IF_ERROR(ptx(c, error));
		return ptxas_run(c->plan->arena, c->target->cpu, c->ptx.data,
		    c->ptx.size, &o->data, NULL, error);
	case KIND_S:
		return llvm_text(c, LLVM_ASSEMBLY, &o->data, error);
	case KIND_O:
		FORWARD_IF_ERROR(object(c, error));
		buf_add(&o->data, c->object.data, c->object.size);
		return STATUS_OK;
	case KIND_HSACO:
		FORWARD_IF_ERROR(object(c, error));
		return hsaco_link(
		    c->plan->arena, &c->object, &o->data, error);
	case KIND_SO:
		return shared_object(c, &o->data, error);
	case KIND_JSON:
		for (int i = 0; i < n; i++)
			build_facts(&o->data, &c->kernels[i]);
		return STATUS_OK;
	case KIND_COUNT: break;
	}
	assert(!"a kind of file");
	return STATUS_OK;
}

static Status fill_output(Contents *all, Output *o, Error *error)
{
	if (o->kernel < 0)
		return fill(all, o, error);
	Contents one = *all;
	one.n = 1;
	one.kernels += o->kernel;
	one.lowered += o->kernel;
	one.comments += o->kernel;
	one.object = one.ptx = (Buf){0};
	Status status = fill(&one, o, error);
	buf_free(&one.object);
	buf_free(&one.ptx);
	return status;
}

Status plan_fill(OutputPlan *plan, const KernelVec *kernels, Error *error)
{
	Contents c = {.plan = plan, .n = kernels->n,
	    .kernels = kernels->at, .target = kernels->at[0].target};
	Status status = STATUS_OK;
	c.lowered = NEW_N(plan->arena, const Lowered *, kernels->n);
	c.comments = NEW_N(plan->arena, EmitComment, kernels->n);
	for (int i = 0; i < kernels->n; i++) {
		c.lowered[i] = kernels->at[i].lowered;
		c.comments[i] = kernels->at[i].comment;
	}
	for (int i = 0; i < plan->outputs.n && !status; i++)
		status = fill_output(&c, &plan->outputs.at[i], error);
	buf_free(&c.object);
	buf_free(&c.ptx);
	return status;
}
