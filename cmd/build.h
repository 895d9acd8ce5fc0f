/* What tunec build writes: from the options to files.
 *
 *     build_plan.c      which files, of which kinds
 *     build_names.c     what the kernels are called there
 *     build_contents.c  what stands in each
 *     build_facts.c     what a build system is told of them, as JSON
 *     build_depend.c    rules for make about them
 *     verb_build.c      the verb: specs, records, all files or none */
#ifndef CMD_BUILD_H
#define CMD_BUILD_H

#include "cmd/kernels.h"

typedef struct {
	Common common;
	KernelOptions kernel;
	TextList output; /* -o */
	TextList emit;   /* --emit */
	const char *symbol, *prefix; /* NULL: as the spec says */
	bool depend;     /* -MD */
	const char *depend_file; /* -MF */
} Build;

typedef enum {
	KIND_C,
	KIND_LL,
	KIND_BC,
	KIND_O,
	KIND_S,
	KIND_SO,
	KIND_H,
	KIND_MAIN,
	KIND_CU,
	KIND_PTX,
	KIND_CUBIN,
	KIND_CL,
	KIND_HSACO,
	KIND_JSON,
	KIND_COUNT
} Kind;

/* A file. */
typedef struct {
	const char *path;
	Kind kind;
	bool asked;  /* by -o */
	int kernel;  /* of which; -1: of all */
	Buf data;
} Output;

typedef VEC(Output) OutputVec;
typedef VEC(int) KindVec;

/* What a plan of outputs is made of. */
typedef struct {
	Arena *arena;
	const Build *build;
	const ProgramVec *programs;
	KindVec emit;      /* --emit */
	OutputVec outputs;
} OutputPlan;

/* build_plan.c: an exit code, and what is wrong is said. */
int plan_usage(OutputPlan *plan); /* what can be told without a spec */
int plan_outputs(OutputPlan *plan);
/* The suffix of a path, without the dot; "" if there is none. */
const char *plan_suffix(const char *path);
const char *plan_suffix_of(Kind kind); /* "ptx" */

/* build_names.c: gives the programs their symbols, and sees that they go together
 * in one file; an exit code, and what is wrong is said. */
int build_names_usage(Arena *arena, const Build *build);
int build_names(Arena *arena, const Build *build, const ProgramVec *programs);

/* build_facts.c: an object of JSON on a line. */
void build_facts(Buf *out, const Kernel *kernel);

/* build_contents.c: fills the outputs of a plan. */
Status plan_fill(OutputPlan *plan, const KernelVec *kernels, Error *error);

/* build_depend.c: adds "F.d" for each -o F, or one file for all. */
Status plan_depend(OutputPlan *plan, Error *error);

#endif
