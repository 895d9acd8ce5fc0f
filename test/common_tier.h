/* Which tier runs: test/tools/run.sh says so by TIER. */
#ifndef TEST_COMMON_TIER_H
#define TEST_COMMON_TIER_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static inline bool tier_is_long(void)
{
	const char *tier = getenv("TIER");
	return tier && !strcmp(tier, "long");
}

#endif
