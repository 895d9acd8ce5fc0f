/* How threads of a block combine partial results (codegen/lower/lower_threads.c):
 * halves of those that lie side by side in one warp exchange them; of what is left
 * each warp has all where there are no more than it has threads. */
#include "ir/body/body.h"

BodyThreads body_threads(
    int exchanges, int64_t all, int64_t count, int64_t stride)
{
	int width = 1;
	if (exchanges && all % exchanges == 0 && !(stride & (stride - 1)))
		while (stride * width < exchanges && count % (2 * width) == 0)
			width *= 2;
	int64_t parts = count / width;
	return (BodyThreads){width, parts,
	    width == exchanges && parts <= exchanges && !(parts & (parts - 1))};
}
