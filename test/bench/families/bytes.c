/* Sums of products of bytes: what a C programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { C = 64, O = 64, H = 28, P = H + 2 };

static uint8_t requantized(int32_t sum, float scale, int zero)
{
	float y = rintf((float)sum * scale) + (float)zero;
	y = y < 0 ? 0 : y;
	return (uint8_t)(y > 255 ? 255 : y);
}

/* A loop of its own: gcc would exchange it with those around. */
__attribute__((noinline)) static void add_times(
    int32_t *restrict a, const int16_t *restrict from, int v, int n)
{
	for (int i = 0; i < n; i++)
		a[i] += v * from[i];
}

static void nchw(const uint8_t *restrict x, int zx, const int8_t *restrict w,
    const int8_t *zw, const int32_t *bias, const float *scale, int zy,
    uint8_t *restrict y)
{
	enum { ALL = H * P }; /* rows with what pads them */
	static int16_t p[C][P * P + 2];
	for (int c = 0; c < C; c++)
		for (int i = 0; i < H; i++)
			for (int j = 0; j < H; j++)
				p[c][(i + 1) * P + j + 1] =
				    (int16_t)(x[(c * H + i) * H + j] - zx);
	for (int o = 0; o < O; o++) {
		int32_t a[ALL] = {0};
		for (int c = 0; c < C; c++)
			for (int t = 0; t < 9; t++) {
				const int16_t *from = &p[c][t / 3 * P + t % 3];
				int v = w[(o * C + c) * 9 + t] - (zw ? zw[o] : 0);
				add_times(a, from, v, ALL);
			}
		for (int i = 0; i < H; i++)
			for (int j = 0; j < H; j++)
				y[(o * H + i) * H + j] = requantized(
				    a[i * P + j] + bias[o], scale[o], zy);
	}
}

static void nhwc(const uint8_t *restrict x, int zx, const int8_t *restrict w,
    const int8_t *zw, const int32_t *bias, const float *scale, int zy,
    uint8_t *restrict y)
{
	static int16_t p[P][P][C];
	for (int i = 0; i < H; i++)
		for (int j = 0; j < H; j++)
			for (int c = 0; c < C; c++)
				p[i + 1][j + 1][c] =
				    (int16_t)(x[(i * H + j) * C + c] - zx);
	for (int i = 0; i < H; i++)
		for (int j = 0; j < H; j++) {
			int32_t a[O] = {0}, all = 0;
			for (int t = 0; t < 9; t++)
				for (int c = 0; c < C; c++) {
					int v = p[i + t / 3][j + t % 3][c];
					all += v;
					for (int o = 0; o < O; o++)
						a[o] += v * w[(t * C + c) * O + o];
				}
			for (int o = 0; o < O; o++)
				y[(i * H + j) * O + o] = requantized(a[o] -
					(zw ? zw[o] : 0) * all + bias[o],
				    scale[o], zy);
		}
}

void conv_u8i8_nchw(const uint8_t *x, const int8_t *w, const int32_t *bias,
    const float *scale, const uint8_t *zy, uint8_t *y, void *workspace)
{
	(void)workspace;
	nchw(x, 0, w, NULL, bias, scale, *zy, y);
}

void conv_u8i8_nhwc(const uint8_t *x, const int8_t *w, const int32_t *bias,
    const float *scale, const uint8_t *zy, uint8_t *y, void *workspace)
{
	(void)workspace;
	nhwc(x, 0, w, NULL, bias, scale, *zy, y);
}

void qconv_nchw(const uint8_t *x, const uint8_t *zx, const int8_t *w,
    const int8_t *zw, const int32_t *bias, const float *scale,
    const uint8_t *zy, uint8_t *y, void *workspace)
{
	(void)workspace;
	nchw(x, *zx, w, zw, bias, scale, *zy, y);
}

void qconv_nhwc(const uint8_t *x, const uint8_t *zx, const int8_t *w,
    const int8_t *zw, const int32_t *bias, const float *scale,
    const uint8_t *zy, uint8_t *y, void *workspace)
{
	(void)workspace;
	nhwc(x, *zx, w, zw, bias, scale, *zy, y);
}

void qconv_inside(const uint8_t *x, const uint8_t *zx, const int8_t *w,
    const int8_t *zw, const int32_t *bias, const float *scale,
    const uint8_t *zy, uint8_t *y, void *workspace)
{
	(void)workspace;
	nchw(x, *zx, w, zw, bias, scale, *zy, y);
}

static void product(const uint8_t *restrict x, int zx, const int8_t *restrict w,
    int zw, float scale, int zy, uint8_t *restrict y)
{
	enum { M = 384, N = 384, K = 384 };
	for (int i = 0; i < M; i++) {
		int32_t a[N] = {0};
		for (int k = 0; k < K; k++) {
			int v = x[i * K + k] - zx;
			for (int j = 0; j < N; j++)
				a[j] += v * (w[k * N + j] - zw);
		}
		for (int j = 0; j < N; j++)
			y[i * N + j] = requantized(a[j], scale, zy);
	}
}

void matmul_requantized(const uint8_t *x, const int8_t *w, const float *scale,
    const uint8_t *zy, uint8_t *y, void *workspace)
{
	(void)workspace;
	product(x, 0, w, 0, *scale, *zy, y);
}

void qmatmul(const uint8_t *x, const uint8_t *zx, const int8_t *w,
    const int8_t *zw, const float *scale, const uint8_t *zy, uint8_t *y,
    void *workspace)
{
	(void)workspace;
	product(x, *zx, w, *zw, *scale, *zy, y);
}

void qmatvec(const uint8_t *restrict x, const uint8_t *zx,
    const int8_t *restrict w, const int8_t *restrict zw,
    const float *restrict scale, const uint8_t *zy, uint8_t *restrict y,
    void *workspace)
{
	enum { N = 512, K = 1024 };
	int32_t a[N] = {0}, all = 0;
	(void)workspace;
	for (int k = 0; k < K; k++) {
		int v = x[k] - *zx;
		all += v;
		for (int j = 0; j < N; j++)
			a[j] += v * w[k * N + j];
	}
	for (int j = 0; j < N; j++)
		y[j] = requantized(a[j] - zw[j] * all, scale[j], *zy);
}

void matvec_groups(const int8_t *restrict w, const float *restrict scale,
    const float *restrict x, float *restrict y, void *workspace)
{
	enum { N = 768, K = 512, G = 32 };
	(void)workspace;
	for (int o = 0; o < N; o++) {
		float all = 0;
		for (int g = 0; g < K / G; g++) {
			float part = 0;
			for (int k = g * G; k < (g + 1) * G; k++)
				part += w[o * K + k] * x[k];
			all += scale[o * (K / G) + g] * part;
		}
		y[o] = all;
	}
}
