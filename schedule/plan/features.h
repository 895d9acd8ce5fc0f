/* The two kinds of rows that a cost model gets: of a CPU's stages, of a GPU's
 * launches. */
#ifndef SCHEDULE_FEATURES_H
#define SCHEDULE_FEATURES_H

#include "schedule/plan/plan.h"

enum { LOGS = 128 }; /* the first columns of a row; a multiple of four */

/* features.c: log2(1 + x) of these. */
void features_take_logs(float *row);
/* features_gpu.c */
void features_of_launches(const Plan *plan, const Machine *machine,
    const int64_t *values, float *row);

#endif
