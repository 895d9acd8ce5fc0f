/* Operators of any kind, the fifth lot, written before anything was measured: what
 * took more than C of 88, and their like; what a C programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline int iclamp(int v, int lo, int hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

void pyr_down_clamp(
    const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 50, W = 76, P = 2 * W };
	for (int i = 0; i < H; i++) {
		const uint8_t *a = x + iclamp(2 * i - 2, 0, 2 * H - 1) * P,
			      *b = x + iclamp(2 * i - 1, 0, 2 * H - 1) * P,
			      *c = x + 2 * i * P, *d = c + P,
			      *e = x + iclamp(2 * i + 2, 0, 2 * H - 1) * P;
		uint16_t w[P + 4], *v = w + 2;
		for (int j = 0; j < P; j++)
			v[j] = a[j] + 4 * b[j] + 6 * c[j] + 4 * d[j] + e[j];
		v[-2] = v[-1] = v[0];
		v[P] = v[P + 1] = v[P - 1];
		for (int j = 0; j < W; j++)
			y[i * W + j] =
			    (v[2 * j - 2] + 4 * v[2 * j - 1] + 6 * v[2 * j] +
				4 * v[2 * j + 1] + v[2 * j + 2] + 128) >>
			    8;
	}
}

void conv5_clamp(const float *restrict x, const float *restrict w,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 90, W = 121, K = 5, P = W + 4 };
	static float p[H + 4][P];
	for (int i = 0; i < H + 4; i++) {
		const float *a = x + iclamp(i - 2, 0, H - 1) * W;
		memcpy(p[i] + 2, a, W * sizeof *a);
		p[i][0] = p[i][1] = a[0];
		p[i][W + 2] = p[i][W + 3] = a[W - 1];
	}
	for (int i = 0; i < H; i++)
		for (int j = 0; j < W; j++) {
			float s = 0;
#pragma GCC unroll 5
			for (int r = 0; r < K; r++)
#pragma GCC unroll 5
				for (int t = 0; t < K; t++)
					s += w[r * K + t] * p[i + r][j + t];
			y[i * W + j] = s;
		}
}

void box5_clamp_u8(
    const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 90, W = 150, K = 5 };
	for (int i = 0; i < H; i++) {
		uint16_t v[W + 4];
		const uint8_t *a = x + iclamp(i - 2, 0, H - 1) * W,
			      *b = x + iclamp(i - 1, 0, H - 1) * W,
			      *c = x + i * W,
			      *d = x + iclamp(i + 1, 0, H - 1) * W,
			      *e = x + iclamp(i + 2, 0, H - 1) * W;
		for (int j = 0; j < W; j++)
			v[j + 2] = a[j] + b[j] + c[j] + d[j] + e[j];
		v[0] = v[1] = v[2];
		v[W + 2] = v[W + 3] = v[W + 1];
		for (int j = 0; j < W; j++)
			y[i * W + j] = (uint16_t)(v[j] + v[j + 1] + v[j + 2] +
					   v[j + 3] + v[j + 4]) /
			    25;
	}
}

void reflect_fir(const float *restrict x, const float *restrict w,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 20, T = 500, K = 11, M = K / 2 };
	for (int c = 0; c < C; c++) {
		float p[T + K - 1];
		memcpy(p + M, x + c * T, T * sizeof *p);
		for (int m = 1; m <= M; m++) {
			p[M - m] = p[M + m];
			p[M + T - 1 + m] = p[M + T - 1 - m];
		}
		for (int t = 0; t < T; t++) {
			float s = 0;
#pragma GCC unroll 11
			for (int k = 0; k < K; k++)
				s += w[k] * p[t + k];
			y[c * T + t] = s;
		}
	}
}

void erode_wrap(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 60, W = 110 };
	for (int i = 0; i < H; i++) {
		const float *a = x + (i ? i - 1 : H - 1) * W, *b = x + i * W,
			    *c = x + (i < H - 1 ? i + 1 : 0) * W;
		float v[W + 2];
		for (int j = 0; j < W; j++) {
			float m = a[j] < b[j] ? a[j] : b[j];
			v[j + 1] = m < c[j] ? m : c[j];
		}
		v[0] = v[W];
		v[W + 1] = v[1];
		for (int j = 0; j < W; j++) {
			float m = v[j] < v[j + 1] ? v[j] : v[j + 1];
			y[i * W + j] = m < v[j + 2] ? m : v[j + 2];
		}
	}
}

void cdf53(const int16_t *restrict x, int16_t *restrict lo,
    int16_t *restrict hi, void *workspace)
{
	(void)workspace;
	enum { H = 120, W = 320, M = W / 2 };
	for (int r = 0; r < H; r++) {
		const int16_t *a = x + r * W;
		int16_t *l = lo + r * M, *h = hi + r * M;
		for (int n = 0; n < M - 1; n++)
			h[n] = a[2 * n + 1] - ((a[2 * n] + a[2 * n + 2]) >> 1);
		h[M - 1] = a[W - 1] - a[W - 2];
		l[0] = a[0] + ((2 * h[0] + 2) >> 2);
		for (int n = 1; n < M; n++)
			l[n] = a[2 * n] + ((h[n - 1] + h[n] + 2) >> 2);
	}
}

void row_col_sums(const float *restrict x, float *restrict r, float *restrict c,
    void *workspace)
{
	(void)workspace;
	enum { M = 150, N = 170 };
	float s[N] = {0};
	for (int i = 0; i < M; i++) {
		float a = 0;
		for (int j = 0; j < N; j++) {
			a += x[i * N + j];
			s[j] += x[i * N + j];
		}
		r[i] = a;
	}
	for (int j = 0; j < N; j++)
		c[j] = s[j];
}

void sinkhorn(const float *restrict k, const float *restrict v,
    const float *restrict a, const float *restrict b, float *restrict u,
    float *restrict w, void *workspace)
{
	(void)workspace;
	enum { M = 120, N = 150 };
	float s[N] = {0};
	for (int i = 0; i < M; i++) {
		float t = 0;
		for (int j = 0; j < N; j++)
			t += k[i * N + j] * v[j];
		t = a[i] / t;
		u[i] = t;
		for (int j = 0; j < N; j++)
			s[j] += k[i * N + j] * t;
	}
	for (int j = 0; j < N; j++)
		w[j] = b[j] / s[j];
}

void ternary_matvec(const uint8_t *restrict w, const int8_t *restrict x,
    const float *restrict s, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 200, K = 512, M = K / 4 };
	int sx = 0;
	for (int k = 0; k < K; k++)
		sx += x[k];
	for (int n = 0; n < N; n++) {
		int a = 0;
		for (int k = 0; k < M; k++) {
			int b = w[n * M + k];
			a += (b & 3) * x[k] + (b >> 2 & 3) * x[M + k] +
			    (b >> 4 & 3) * x[2 * M + k] +
			    (b >> 6) * x[3 * M + k];
		}
		y[n] = (a - sx) * s[n];
	}
}

void bn_train(const float *restrict x, const float *restrict g,
    const float *restrict b, const float *restrict rm, const float *restrict rv,
    float *restrict y, float *restrict nm, float *restrict nv, void *workspace)
{
	(void)workspace;
	enum { N = 4, C = 16, P = 144 };
	for (int c = 0; c < C; c++) {
		float s = 0, q = 0;
		for (int n = 0; n < N; n++)
			for (int p = 0; p < P; p++) {
				float a = x[(n * C + c) * P + p];
				s += a;
				q += a * a;
			}
		s /= N * P;
		q = q / (N * P) - s * s;
		nm[c] = .9f * rm[c] + .1f * s;
		nv[c] = .9f * rv[c] + .1f * q;
		float k = g[c] / sqrtf(fabsf(q) + 1e-5f), o = b[c] - s * k;
		for (int n = 0; n < N; n++)
			for (int p = 0; p < P; p++)
				y[(n * C + c) * P + p] =
				    x[(n * C + c) * P + p] * k + o;
	}
}
