/* The matrices of Winograd's algorithm: with G times the least number that makes
 * it integers, what m + 2 products give is that many times the correlation, to
 * the last bit: all other entries are sums of a few powers of 2. */
#include "ir/nest/nest.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MOST = WINOGRAD_MOST + 2 };

static double scaled_weight(int m, int scale, int i, int tap)
{
	double exact = scale * winograd_weight(m, i, tap);
	assert_true(fabs(exact - round(exact)) < 1e-12 * scale);
	return round(exact);
}

/* scale times result r of the tile. */
static double result(int m, int scale, const double *d, const double *g, int r)
{
	double sum = 0;
	for (int i = 0; i < m + 2; i++) {
		double u = 0, v = 0;
		for (int k = 0; k < WINOGRAD_TAPS; k++)
			u += scaled_weight(m, scale, i, k) * g[k];
		for (int k = 0; k < m + 2; k++)
			v += winograd_input(m, i, k) * d[k];
		sum += winograd_output(m, r, i) * u * v;
	}
	return sum;
}

static void check(int m, int scale)
{
	double d[MOST], g[WINOGRAD_TAPS];
	for (int round = 0; round < 200; round++) {
		for (int k = 0; k < m + 2; k++)
			d[k] = (round * 7 + k * k * 13 + 5) % 31 - 15;
		for (int k = 0; k < WINOGRAD_TAPS; k++)
			g[k] = (round * 11 + k * 17 + 3) % 23 - 11;
		for (int r = 0; r < m; r++) {
			double sum = 0;
			for (int k = 0; k < WINOGRAD_TAPS; k++)
				sum += d[r + k] * g[k];
			assert_true(result(m, scale, d, g, r) == scale * sum);
		}
	}
}

static void test_matrices(void **state)
{
	(void)state;
	check(2, 2);
	check(4, 24);
	check(6, 90);
}

/* Those of Lavin and Gray. */
static void test_known(void **state)
{
	static const double input[] = {4, 0, -5, 0, 1, 0};
	static const double output[] = {0, 1, -1, 8, -8, 1};
	(void)state;
	for (int k = 0; k < 6; k++) {
		assert_true(winograd_input(4, 0, k) == input[k]);
		assert_true(winograd_output(4, 3, k) == output[k]);
	}
	assert_true(winograd_weight(4, 0, 0) == 0.25);
	assert_true(winograd_weight(4, 5, 2) == 1);
	assert_true(winograd_weight(4, 3, 1) == 1. / 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_matrices),
	    cmocka_unit_test(test_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
