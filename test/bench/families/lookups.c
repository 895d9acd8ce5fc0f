/* Look-ups and where the greatest is: what a C programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void embedding(const int32_t *restrict id, const float *restrict table,
    float *restrict y, void *workspace)
{
	enum { L = 2048, V = 8192, D = 256 };
	(void)workspace;
	for (int i = 0; i < L; i++)
		memcpy(y + i * D, table + (uint32_t)id[i] * 81 % V * D,
		    D * sizeof *y);
}

void look_up_table(const uint8_t *restrict x, const float *restrict t,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1000000; i++)
		y[i] = t[x[i]];
}

void argmax_rows(const float *restrict x, int32_t *restrict y, void *workspace)
{
	enum { M = 1024, N = 1000 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N) {
		float most = x[0];
		int at = 0;
		for (int j = 1; j < N; j++)
			most = x[j] > most ? x[j] : most;
		while (x[at] != most)
			at++;
		y[i] = at;
	}
}

void nearest_code(const float *restrict x, const float *restrict c,
    int32_t *restrict y, void *workspace)
{
	enum { N = 1024, C = 256, D = 32 };
	(void)workspace;
	for (int i = 0; i < N; i++, x += D) {
		float least = 0;
		for (int j = 0; j < C; j++) {
			float d = 0;
			for (int k = 0; k < D; k++) {
				float t = x[k] - c[j * D + k];
				d += t * t;
			}
			if (j == 0 || d < least) {
				least = d;
				y[i] = j;
			}
		}
	}
}

void palette(const float *restrict x, const float *restrict c,
    int32_t *restrict y, void *workspace)
{
	enum { P = 20000, C = 16 };
	(void)workspace;
	for (int i = 0; i < P; i++, x += 3) {
		float best = INFINITY;
		int at = 0;
		for (int j = 0; j < C; j++) {
			float r = x[0] - c[3 * j], g = x[1] - c[3 * j + 1];
			float b = x[2] - c[3 * j + 2];
			float d = r * r + g * g + b * b;
			at = d < best ? j : at;
			best = d < best ? d : best;
		}
		y[i] = at;
	}
}
