/* What code costs on a CPU: a row of numbers, of the table ir/cpu_costs.def or of a
 * file, which the analytic model foresees times by.
 *
 *     tunec-machine 1
 *     cpu znver3
 *     load 0.56            # cycles: a vector's, from the first cache, ...
 *     exp 14               # operations
 *
 * ir/costs.def lists what a row has.  A file has each of these once, and may have
 * functions of ir/ops.def and `divide`; a '#' begins a comment. */
#ifndef IR_COSTS_H
#define IR_COSTS_H

#include <stddef.h>

#include "ir/expr.h"
#include "lib/buf.h"
#include "lib/status.h"

typedef struct MachineCosts {
#define COST(name, unit, least, most, help) double name;
#include "ir/costs.def"
#undef COST
	double op[OP_COUNT]; /* operations; 0: as ir/ops.def says */
} MachineCosts;

/* NULL: there is none.  `as`: whose numbers it has, NULL for its own. */
const MachineCosts *costs_of_family(const char *family, const char **as);

/* What an operation costs, in multiplications of vectors. */
double costs_op(const MachineCosts *costs, Op op);
double costs_expr(const MachineCosts *costs, const Expr *e);

/* Of GPUs (ir/gpu_costs.def); none is measured, and no file has them. */
typedef struct GpuCosts {
#define GPU_COST(name, unit, help) double name;
#include "ir/gpu_costs.def"
#undef GPU_COST
} GpuCosts;
/* NULL: there is none. */
const GpuCosts *gpu_costs_of_family(const char *family);

enum {
	COSTS_KEYS = OP_COUNT
#define COST(name, unit, least, most, help) +1
#include "ir/costs.def"
#undef COST
};

/* A key of a file: where its number is, between which ends. */
typedef struct {
	size_t offset;
	double least, most;
} CostKey;
/* Its number, below COSTS_KEYS; -1: there is none. */
int costs_key(const char *key, CostKey *out);
/* NULL: a row does not say it. */
const char *costs_key_name(int number);

static inline double *costs_at(MachineCosts *costs, const CostKey *key)
{
	return (double *)((char *)costs + key->offset);
}

/* --- files ------------------------------------------------------------------- */

enum { COSTS_VERSION = 1, COSTS_FILE_MOST = 64 << 10 /* bytes */ };

typedef struct {
	const char *file; /* borrowed */
	char cpu[32];	  /* LLVM's name of the one that was measured */
	MachineCosts costs;
	char name[64]; /* of these numbers: "znver3 0123456789abcdef" */
} CostsFile;

/* "znver3 " and 16 hex digits of the SHA-256 of what the numbers are. */
void costs_name(const char *cpu, const MachineCosts *costs, char name[64]);
/* The text of a file; `notes` are lines of comments behind the first, or "". */
void costs_print(
    Buf *out, const char *cpu, const MachineCosts *costs, const char *notes);
/* What is wrong is said as "FILE:LINE: error: ..."; STATUS_INPUT. */
Status costs_parse(const char *file, const char *text, size_t size,
    CostsFile *out, Error *error);
Status costs_read(const char *file, CostsFile *out, Error *error);

#endif
