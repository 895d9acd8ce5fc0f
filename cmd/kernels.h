/* From the operators on a command line to lowered kernels: which target, which
 * trace, and why.  Shared by build, show and replay. */
#ifndef CMD_KERNELS_H
#define CMD_KERNELS_H

#include "cmd/cmd.h"
#include "codegen/codegen.h"
#include "schedule/groups.h"
#include "schedule/schedule.h"
#include "tuner/tuner.h"

/* Options of every verb that makes kernels. */
typedef struct {
	const char *target;   /* NULL: TUNEC_TARGET, or chosen by the records */
	const char *trace;    /* file; NULL: none */
	const char *schedule; /* name; NULL: none */
	const char *threads;  /* "none" or NULL */
	const char *machine; /* file; NULL: TUNEC_MACHINE, or the table's row */
	const char *model;    /* file: what ranks where there is no record */
	TextList db;          /* layers; empty: TUNEC_DB, or tunec.db */
	bool frozen;          /* a record is needed */
} KernelOptions;

/* Lines of an option table, for a struct with a member `kernel`. */
#define KERNEL_OPTIONS(Struct)                                                 \
	{"target", 0, OPTION_TEXT, offsetof(Struct, kernel.target), "TARGET",  \
	    NULL, "host, c, llvm -mcpu=... (default: that of the records)"},   \
	{"db", 0, OPTION_LIST, offsetof(Struct, kernel.db), "STORE", NULL,     \
	    "where records are; repeatable, the first that has one counts\n"   \
	    "(default: $TUNEC_DB, or tunec.db)"},                              \
	{"trace", 0, OPTION_TEXT, offsetof(Struct, kernel.trace), "FILE",      \
	    NULL, "use this trace, text or JSON, instead of a record"},        \
	{"schedule", 0, OPTION_TEXT, offsetof(Struct, kernel.schedule),        \
	    "NAME", NULL, "use this named trace of the spec"},                 \
	{"machine", 0, OPTION_TEXT, offsetof(Struct, kernel.machine), "FILE",  \
	    NULL, MACHINE_HELP},                                               \
	{"threads", 0, OPTION_TEXT, offsetof(Struct, kernel.threads), "none",  \
	    NULL, "none: a kernel without OpenMP"}

typedef struct {
	const Program *program;
	Target *target;
	const Groups *groups; /* where records are looked for; else NULL */
	const Trace *trace;
	Nest *nest;
	Lowered *lowered;
	EmitComment comment;
} Kernel;

typedef VEC(Kernel) KernelVec;

typedef enum {
	KERNEL_TARGET, /* needs no record */
	KERNEL_TRACE,
	KERNEL_NEST,
	KERNEL_LOWERED
} KernelStage;

/* Makes each program's kernel up to a stage.  Says what is wrong; the exit code
 * is that of the worst. */
int kernels_make(Arena *arena, const Common *common,
    const KernelOptions *options, const ProgramVec *programs,
    KernelStage stage, KernelVec *kernels);

/* The same one after another.  What open returns is to be closed, even where
 * *code, its exit code, is not EXIT_DONE; then there is nothing to make. */
typedef struct Making Making;
Making *kernels_open(Arena *arena, const Common *common,
    const KernelOptions *options, int *code);
int kernels_one(Making *making, Arena *arena, const Program *program,
    KernelStage stage, Kernel *kernel);
void kernels_close(Making *making);

/* The spec's schedule of that name, its decisions open; NULL and `error`, without
 * a text where all was said already. */
Trace *kernels_schedule(Arena *arena, const Common *common, const Program *p,
    const char *name, Error *error);

/* The target to take where none was asked for: the host's where `targets`, which
 * there are records for, has it or is empty; else one that differs from it in its
 * threads alone, or the only one, which is said.
 * NULL (and `error`) where there are several. */
Target *kernels_choose_target(Arena *arena, const Common *common,
    const Program *program, Target *host, const TextVec *targets, Error *error);

/* The stores that the options name. */
void kernels_stores(
    Arena *arena, const KernelOptions *options, TextVec *paths);

#endif
