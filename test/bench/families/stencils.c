/* Chains of stencils: what a C programmer would write.  Rows of the first
 * filter are kept in a ring as long as the second one needs them. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void box_3x3(const float *restrict x, float *restrict y, void *workspace)
{
	enum { H = 1024, W = 1024 };
	float *ring = workspace;
	for (int i = 0; i < H + 2; i++) {
		const float *in = x + i * (W + 2);
		float *restrict a = ring + i % 3 * W;
		for (int j = 0; j < W; j++)
			a[j] = (in[j] + in[j + 1] + in[j + 2]) * 0.33333333f;
		if (i < 2)
			continue;
		for (int j = 0; j < W; j++)
			y[(i - 2) * W + j] = (ring[j] + ring[W + j] +
						 ring[2 * W + j]) *
			    0.33333333f;
	}
}

void gauss_5x5(const float *restrict x, const float *restrict w,
    float *restrict y, void *workspace)
{
	enum { H = 720, W = 1280, IN = W + 4 };
	float *restrict a = workspace;
	for (int i = 0; i < H; i++) {
		const float *in = x + i * IN;
		for (int j = 0; j < IN; j++)
			a[j] = w[0] * in[j] + w[1] * in[IN + j] +
			    w[2] * in[2 * IN + j] + w[3] * in[3 * IN + j] +
			    w[4] * in[4 * IN + j];
		for (int j = 0; j < W; j++)
			y[i * W + j] = w[0] * a[j] + w[1] * a[j + 1] +
			    w[2] * a[j + 2] + w[3] * a[j + 3] + w[4] * a[j + 4];
	}
}

void sobel(const float *restrict x, float *restrict y, void *workspace)
{
	enum { H = 1024, W = 1024 };
	(void)workspace;
	for (int i = 0; i < H; i++) {
		const float *a = x + i * (W + 2), *b = a + W + 2;
		const float *c = b + W + 2;
		for (int j = 0; j < W; j++) {
			float gx = a[j + 2] - a[j] + 2 * (b[j + 2] - b[j]) +
			    c[j + 2] - c[j];
			float gy = c[j] - a[j] + 2 * (c[j + 1] - a[j + 1]) +
			    c[j + 2] - a[j + 2];
			y[i * W + j] = sqrtf(gx * gx + gy * gy);
		}
	}
}

void unsharp(const float *restrict x, float *restrict y, void *workspace)
{
	enum { H = 768, W = 1024, IN = W + 4 };
	float *ring = workspace;
	for (int i = 0; i < H + 4; i++) {
		const float *in = x + i * IN;
		float *restrict a = ring + i % 5 * W;
		for (int j = 0; j < W; j++)
			a[j] = 0.0625f * (in[j] + in[j + 4]) +
			    0.25f * (in[j + 1] + in[j + 3]) + 0.375f * in[j + 2];
		if (i < 4)
			continue;
		const float *r0 = ring + (i + 1) % 5 * W;
		const float *r1 = ring + (i + 2) % 5 * W;
		const float *r2 = ring + (i + 3) % 5 * W;
		const float *r3 = ring + (i + 4) % 5 * W, *r4 = a;
		const float *mid = x + (i - 2) * IN + 2;
		for (int j = 0; j < W; j++) {
			float b = 0.0625f * (r0[j] + r4[j]) +
			    0.25f * (r1[j] + r3[j]) + 0.375f * r2[j];
			float t = mid[j] + 1.5f * (mid[j] - b);
			t = t < 0 ? 0 : t;
			y[(i - 4) * W + j] = t > 1 ? 1 : t;
		}
	}
}

/* Products of the gradients, summed over three rows as they come. */
void harris(const float *restrict x, float *restrict y, void *workspace)
{
	enum { H = 512, W = 768, IN = W + 4, G = W + 2 };
	float *ring = workspace, *restrict v = ring + 9 * G;
	for (int i = 0; i < H + 2; i++) {
		const float *a = x + i * IN, *b = a + IN, *c = b + IN;
		float *restrict xx = ring + i % 3 * 3 * G;
		float *restrict xy = xx + G, *restrict yy = xy + G;
		for (int j = 0; j < G; j++) {
			float gx = a[j + 2] - a[j] + 2 * (b[j + 2] - b[j]) +
			    c[j + 2] - c[j];
			float gy = c[j] - a[j] + 2 * (c[j + 1] - a[j + 1]) +
			    c[j + 2] - a[j + 2];
			xx[j] = gx * gx * 0.015625f;
			xy[j] = gx * gy * 0.015625f;
			yy[j] = gy * gy * 0.015625f;
		}
		if (i < 2)
			continue;
		for (int j = 0; j < 3 * G; j++)
			v[j] = ring[j] + ring[3 * G + j] + ring[6 * G + j];
		for (int j = 0; j < W; j++) {
			float sxx = v[j] + v[j + 1] + v[j + 2];
			float sxy = v[G + j] + v[G + j + 1] + v[G + j + 2];
			float syy = v[2 * G + j] + v[2 * G + j + 1] +
			    v[2 * G + j + 2];
			y[(i - 2) * W + j] = sxx * syy - sxy * sxy -
			    0.04f * (sxx + syy) * (sxx + syy);
		}
	}
}

static void heat(const float *restrict x, float *restrict y, int n)
{
	memcpy(y, x, (size_t)n * sizeof *x);
	for (int i = 1; i < n - 1; i++) {
		const float *a = x + (i - 1) * n, *b = a + n, *c = b + n;
		float *restrict o = y + i * n;
		o[0] = b[0];
		for (int j = 1; j < n - 1; j++)
			o[j] = 0.25f * (a[j] + c[j] + b[j - 1] + b[j + 1]);
		o[n - 1] = b[n - 1];
	}
	memcpy(y + (n - 1) * n, x + (n - 1) * n, (size_t)n * sizeof *x);
}

void jacobi(const float *x, float *y, void *workspace)
{
	enum { N = 768 };
	float *a = workspace;
	heat(x, y, N);
	heat(y, a, N);
	heat(a, y, N);
}

void local_variance(const float *restrict x, float *restrict y,
    void *workspace)
{
	enum { H = 500, W = 700, S = W + 2 };
	float s[S], q[S];
	(void)workspace;
	for (int i = 0; i < H; i++, x += S, y += W) {
		for (int j = 0; j < S; j++) {
			float a = x[j], b = x[j + S], c = x[j + 2 * S];
			s[j] = a + b + c;
			q[j] = a * a + b * b + c * c;
		}
		for (int j = 0; j < W; j++) {
			float m = (s[j] + s[j + 1] + s[j + 2]) / 9;
			y[j] = (q[j] + q[j + 1] + q[j + 2]) / 9 - m * m;
		}
	}
}

/* Columns first, then rows of what they gave. */
void dilate_5x5(const unsigned char *restrict x, unsigned char *restrict y,
    void *workspace)
{
	enum { H = 720, W = 960 };
	unsigned char v[W + 4];
	(void)workspace;
	memset(v, 0, sizeof v);
	for (int i = 0; i < H; i++) {
		const int first = i < 2 ? 0 : i - 2;
		const int end = i + 3 > H ? H : i + 3;
		memcpy(v + 2, x + first * W, W);
		for (int r = first + 1; r < end; r++) {
			const unsigned char *in = x + r * W;
			for (int j = 0; j < W; j++)
				v[j + 2] = in[j] > v[j + 2] ? in[j] : v[j + 2];
		}
		for (int j = 0; j < W; j++) {
			unsigned char a = v[j] > v[j + 1] ? v[j] : v[j + 1];
			unsigned char b = v[j + 2] > v[j + 3] ? v[j + 2] : v[j + 3];
			a = a > b ? a : b;
			y[i * W + j] = a > v[j + 4] ? a : v[j + 4];
		}
	}
}

void ssd_5x5(const float *restrict a, const float *restrict b,
    float *restrict y, void *workspace)
{
	enum { D = 8, H = 240, W = 320, A = W + 4, B = W + D + 3 };
	float *restrict ring = workspace, v[A];
	for (int d = 0; d < D; d++)
		for (int i = 0; i < H + 4; i++) {
			float *restrict e = ring + i % 5 * A;
			for (int j = 0; j < A; j++) {
				float t = a[i * A + j] - b[i * B + j + d];
				e[j] = t * t;
			}
			if (i < 4)
				continue;
			for (int j = 0; j < A; j++)
				v[j] = ring[j] + ring[A + j] + ring[2 * A + j] +
				    ring[3 * A + j] + ring[4 * A + j];
			for (int j = 0; j < W; j++)
				y[(d * H + i - 4) * W + j] = v[j] + v[j + 1] +
				    v[j + 2] + v[j + 3] + v[j + 4];
		}
}

void sad_stereo(const uint8_t *restrict a, const uint8_t *restrict b,
    int32_t *restrict y, void *workspace)
{
	enum { D = 16, H = 240, W = 320, A = W + 4, B = W + D + 3 };
	uint8_t *restrict ring = workspace;
	uint16_t v[A], best[W];
	for (int i = 0; i < H; i++) {
		int first = i ? i + 4 : 0;
		for (int j = 0; j < W; j++) {
			best[j] = UINT16_MAX;
			y[i * W + j] = 0;
		}
		for (int d = 0; d < D; d++) {
			for (int r = first; r < i + 5; r++) {
				const uint8_t *p = a + r * A,
					      *q = b + r * B + d;
				uint8_t *e = ring + (d * 5 + r % 5) * A;
				for (int j = 0; j < A; j++)
					e[j] = p[j] > q[j] ? p[j] - q[j]
							   : q[j] - p[j];
			}
			const uint8_t *e = ring + d * 5 * A;
			for (int j = 0; j < A; j++)
				v[j] = e[j] + e[A + j] + e[2 * A + j] +
				    e[3 * A + j] + e[4 * A + j];
			for (int j = 0; j < W; j++) {
				uint16_t sum = v[j] + v[j + 1] + v[j + 2] +
				    v[j + 3] + v[j + 4];
				y[i * W + j] = sum < best[j] ? d : y[i * W + j];
				best[j] = sum < best[j] ? sum : best[j];
			}
		}
	}
}

void contrast_7x7(const float *restrict x, float *restrict y, void *workspace)
{
	enum { H = 480, W = 640, S = W + 6 };
	float s[S], q[S];
	(void)workspace;
	for (int i = 0; i < H; i++, x += S, y += W) {
		for (int j = 0; j < S; j++) {
			float m = 0, p = 0;
			for (int r = 0; r < 7; r++) {
				float t = x[r * S + j];
				m += t;
				p += t * t;
			}
			s[j] = m;
			q[j] = p;
		}
		for (int j = 0; j < W; j++) {
			float m = 0, p = 0;
			for (int r = 0; r < 7; r++) {
				m += s[j + r];
				p += q[j + r];
			}
			m /= 49;
			p = p / 49 - m * m;
			p = p > 0 ? p : 0;
			y[j] = (x[3 * S + j + 3] - m) / sqrtf(p + 0.0001f);
		}
	}
}

void max_pool_nhwc(const float *restrict x, float *restrict y, void *workspace)
{
	enum { C = 64, H = 112, W = 112 };
	(void)workspace;
	for (int i = 0; i < H; i += 2)
		for (int j = 0; j < W; j += 2, y += C) {
			for (int c = 0; c < C; c++)
				y[c] = x[(i * W + j) * C + c];
			for (int a = i ? i - 1 : 0; a < i + 2; a++)
				for (int b = j ? j - 1 : 0; b < j + 2; b++)
					for (int c = 0; c < C; c++) {
						float v = x[(a * W + b) * C + c];
						y[c] = v > y[c] ? v : y[c];
					}
		}
}

void bilateral(const float *restrict x, float *restrict y, void *workspace)
{
	enum { H = 300, W = 400, S = W + 2 };
	(void)workspace;
	for (int i = 0; i < H; i++, x += S, y += W)
		for (int j = 0; j < W; j++) {
			float c = x[S + j + 1], sum = 0, all = 0;
			for (int r = 0; r < 3; r++)
				for (int s = 0; s < 3; s++) {
					float v = x[r * S + j + s], d = v - c;
					float w = expf(-4 * d * d);
					sum += w * v;
					all += w;
				}
			y[j] = sum / all;
		}
}

void sobel_u8(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	enum { H = 240, W = 320, V = W + 2 };
	(void)workspace;
	for (int i = 0; i < H; i++) {
		const uint8_t *a = x + i * V, *b = a + V, *c = b + V;
		for (int j = 0; j < W; j++) {
			short gx = a[j + 2] + 2 * b[j + 2] + c[j + 2] - a[j] -
			    2 * b[j] - c[j];
			short gy = c[j] + 2 * c[j + 1] + c[j + 2] - a[j] -
			    2 * a[j + 1] - a[j + 2];
			short s = (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy);
			y[i * W + j] = s > 255 ? 255 : s;
		}
	}
}
