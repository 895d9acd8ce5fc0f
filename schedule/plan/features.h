/* How many columns of each kind features.def has, and of what. */
#ifndef SCHEDULE_FEATURES_H
#define SCHEDULE_FEATURES_H

#include "schedule/plan/plan.h"

enum { STAGES_SHOWN = 3, LOOPS_SHOWN = 10, ACCESSES_SHOWN = 4,
	BUFFERS_SHOWN = 2, THRESHOLDS = 4, THRESHOLD_OCTAVES = 6 };

enum {
#define STAGE(name, sum, cpu, gpu, formula) STAGE_##name,
#include "schedule/plan/features.def"
	STAGE_COSTS
};
enum {
#define LOOP(name, value, formula) LOOP_##name,
#include "schedule/plan/features.def"
	LOOP_FEATURES
};
enum {
#define ACCESS(name, value, formula) ACCESS_##name,
#include "schedule/plan/features.def"
	ACCESS_FEATURES
};
enum {
#define RELATION(name, of, below, formula) RELATION_##name,
#include "schedule/plan/features.def"
	RELATION_FEATURES
};
enum {
#define PROGRAM(name, value, formula) PROGRAM_##name,
#include "schedule/plan/features.def"
	PROGRAM_FEATURES
};
enum {
	STAGE_SUMS = 0
#define STAGE(name, sum, cpu, gpu, formula) +(sum)
#include "schedule/plan/features.def"
};
_Static_assert(STAGE_FEATURES ==
	    STAGE_COSTS + LOOPS_SHOWN * LOOP_FEATURES +
		ACCESSES_SHOWN * ACCESS_FEATURES &&
	FEATURES_USED ==
	    STAGE_FEATURES + STAGES_SHOWN * STAGE_SUMS + PROGRAM_FEATURES +
		BUFFERS_SHOWN * RELATION_FEATURES * THRESHOLDS &&
	FEATURES_USED <= FEATURES && STAGE_FEATURES % 4 == 0 &&
	FEATURES % 4 == 0,
    "a row has room");

#endif
