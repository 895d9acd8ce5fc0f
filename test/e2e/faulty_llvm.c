/* An LLVM module that compiles wrongly: a vector's multiply-add forgets what
 * was added so far.  tune.sh puts it beside the real one, which does the rest,
 * under TUNEC_MODULES; plain loop nests have no vectors and stay right. */
#include <dlfcn.h>
#include <stdlib.h>

#include "codegen/codegen.h"

static void spoil(const LowFunction *f, LowBody *body)
{
	for (int i = 0; i < body->n; i++) {
		LowNode *node = body->at[i];
		if (node->kind == LOWNODE_OP && node->op == LOW_FMA &&
		    f->temps.at[node->dst].lanes > 1) {
			node->op = LOW_MUL;
			node->arg[2] = -1;
		}
		spoil(f, &node->body);
		spoil(f, &node->other);
	}
}

static const LlvmModule *real(void)
{
	void *library = dlopen(getenv("REAL_LLVM"), RTLD_NOW | RTLD_LOCAL);
	return library ? dlsym(library, "tunec_llvm") : NULL;
}

static Status compile(const Lowered *const *lowered, int n, const char *triple,
    const char *cpu, const char *attrs, LlvmKind kind, Buf *out, Error *error)
{
	for (int i = 0; i < n; i++)
		spoil(lowered[i]->kernel, &lowered[i]->kernel->body);
	return real()->compile(
	    lowered, n, triple, cpu, attrs, kind, out, error);
}

extern LlvmModule tunec_llvm;
LlvmModule tunec_llvm;

__attribute__((constructor)) static void set_up(void)
{
	tunec_llvm = *real();
	tunec_llvm.compile = compile;
}
