/* How vectors are loaded and stored whose lanes lie apart in memory. */
#include "ir/body/body.h"

enum { LOADS = 4, ZIP_MOST = 8 };

/* Machines with vectors of 64 bytes take any lanes of two vectors at once, and
 * none gathers bytes. */
int body_loads_most(const Machine *m, int bytes, int lanes)
{
	int most =
	    m->vector_bytes >= 64 || bytes < 4 ? BODY_LOADS_MOST : LOADS;
	return most < lanes ? most : lanes;
}

BodyRows body_rows(int there, int lanes, int64_t step, bool masked)
{
	int most = lanes < BODY_ROWS_MOST ? lanes : BODY_ROWS_MOST;
	bool power = !(step & (step - 1));
	bool zipped = step > 1 && step <= there && step <= lanes &&
	    step <= (power ? BODY_ROWS_MOST : ZIP_MOST);
	BodyRows rows = {.n = most, .zipped = zipped};
	if (zipped)
		rows.n = (int)step;
	else if (masked)
		rows.n = 1;
	while (rows.n > there)
		rows.n /= 2;
	return rows;
}
