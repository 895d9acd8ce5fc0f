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

void classes(const float *restrict x, int32_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 50000; i++, x += 10) {
		float best = x[0];
		int at = 0;
		for (int j = 1; j < 10; j++) {
			at = x[j] > best ? j : at;
			best = x[j] > best ? x[j] : best;
		}
		y[i] = at;
	}
}

void segments(const float *restrict x, int32_t *restrict y, void *workspace)
{
	enum { C = 21, P = 200 * 180, ROW = 512 };
	float best[ROW];
	(void)workspace;
	for (int i = 0; i < P; i += ROW) {
		int n = P - i < ROW ? P - i : ROW;
		for (int k = 0; k < n; k++) {
			best[k] = x[i + k];
			y[i + k] = 0;
		}
		for (int c = 1; c < C; c++)
			for (int k = 0; k < n; k++) {
				float v = x[c * P + i + k];
				y[i + k] = v > best[k] ? c : y[i + k];
				best[k] = v > best[k] ? v : best[k];
			}
	}
}

void centroids(const float *restrict x, const float *restrict c,
    int32_t *restrict y, void *workspace)
{
	enum { N = 20000, C = 40, AT_ONCE = 64 };
	(void)workspace;
	for (int i = 0; i < N; i += AT_ONCE) {
		float best[AT_ONCE];
		int32_t at[AT_ONCE];
		int n = N - i < AT_ONCE ? N - i : AT_ONCE;
		for (int k = 0; k < n; k++)
			best[k] = INFINITY;
		for (int j = 0; j < C; j++)
			for (int k = 0; k < n; k++) {
				float u = x[i + k] - c[2 * j];
				float v = x[N + i + k] - c[2 * j + 1];
				float d = u * u + v * v;
				at[k] = d < best[k] ? j : at[k];
				best[k] = d < best[k] ? d : best[k];
			}
		memcpy(y + i, at, (size_t)n * sizeof *at);
	}
}

void pool_places(const float *restrict x, float *restrict m,
    int32_t *restrict p, void *workspace)
{
	enum { R = 16 * 100, W = 96 };
	(void)workspace;
	for (int i = 0; i < R; i++, x += 4 * W)
		for (int j = 0; j < W; j++) {
			float best = x[2 * j];
			int at = 0;
			for (int k = 1; k < 4; k++) {
				float v = x[2 * j + k / 2 * 2 * W + k % 2];
				at = v > best ? k : at;
				best = v > best ? v : best;
			}
			m[i * W + j] = best;
			p[i * W + j] = at;
		}
}

void segments_prior(const float *restrict x, const float *restrict p,
    int32_t *restrict y, void *workspace)
{
	enum { C = 21, P = 200 * 180, ROW = 512 };
	float best[ROW];
	(void)workspace;
	for (int i = 0; i < P; i += ROW) {
		int n = P - i < ROW ? P - i : ROW;
		for (int k = 0; k < n; k++) {
			best[k] = x[i + k] + p[0];
			y[i + k] = 0;
		}
		for (int c = 1; c < C; c++)
			for (int k = 0; k < n; k++) {
				float v = x[c * P + i + k] + p[c];
				y[i + k] = v > best[k] ? c : y[i + k];
				best[k] = v > best[k] ? v : best[k];
			}
	}
}

void sample(const float *restrict x, const float *restrict g,
    int32_t *restrict y, void *workspace)
{
	enum { M = 64, N = 8000 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N, g += N) {
		float most = -INFINITY;
		int at = 0;
		for (int j = 0; j < N; j++) {
			float v = x[j] + g[j];
			most = v > most ? v : most;
		}
		while (x[at] + g[at] != most)
			at++;
		y[i] = at;
	}
}

void viterbi(const float *restrict s, const float *restrict t,
    float *restrict d, int32_t *restrict b, void *workspace)
{
	enum { N = 64, S = 96 };
	(void)workspace;
	for (int n = 0; n < N; n++, s += S, d += S, b += S) {
		float best[S];
		int32_t at[S];
		for (int j = 0; j < S; j++) {
			best[j] = -INFINITY;
			at[j] = 0;
		}
		for (int i = 0; i < S; i++)
			for (int j = 0; j < S; j++) {
				float v = s[i] + t[i * S + j];
				at[j] = v > best[j] ? i : at[j];
				best[j] = v > best[j] ? v : best[j];
			}
		memcpy(d, best, sizeof best);
		memcpy(b, at, sizeof at);
	}
}
