/* Copies that move data: what a C programmer would write. */
#include <stdint.h>
#include <stddef.h>
#include <string.h>

enum { TILE = 16 };

/* y[N][M] from x[M][N], by tiles that stay in the first cache.  Where gcc knows
 * m and n it takes the two inner loops the other way round: ten times slower. */
__attribute__((noipa)) static void transposed(const float *restrict x,
    float *restrict y, int m, int n)
{
	for (int i = 0; i < m; i += TILE)
		for (int j = 0; j < n; j += TILE)
			for (int jj = j; jj < j + TILE; jj++)
				for (int ii = i; ii < i + TILE; ii++)
					y[(size_t)jj * m + ii] =
					    x[(size_t)ii * n + jj];
}

void transpose_2d(const float *x, float *y, void *workspace)
{
	(void)workspace;
	transposed(x, y, 1024, 1024);
}

void transpose_batched(const float *x, float *y, void *workspace)
{
	enum { B = 16, M = 128, N = 384 };
	(void)workspace;
	for (int b = 0; b < B; b++)
		transposed(x + b * M * N, y + b * M * N, M, N);
}

void nchw_to_nhwc(const float *x, float *out, void *workspace)
{
	(void)workspace;
	transposed(x, out, 64, 112 * 112);
}

void nhwc_to_nchw(const float *x, float *out, void *workspace)
{
	enum { P = 56 * 56, C = 96 };
	(void)workspace;
	for (int n = 0; n < 2; n++)
		transposed(x + n * P * C, out + n * P * C, P, C);
}

void heads(const float *restrict x, float *restrict y, void *workspace)
{
	enum { B = 4, L = 256, H = 12, D = 64 };
	(void)workspace;
	for (int b = 0; b < B; b++)
		for (int h = 0; h < H; h++)
			for (int l = 0; l < L; l++)
				memcpy(y + ((b * H + h) * L + l) * D,
				    x + ((b * L + l) * H + h) * D,
				    D * sizeof *x);
}

void pixel_shuffle(const float *restrict x, float *restrict out,
    void *workspace)
{
	enum { C = 64, H = 64, W = 64 };
	(void)workspace;
	for (int c = 0; c < C; c++)
		for (int y = 0; y < H; y++)
			for (int r = 0; r < 2; r++) {
				const float *a = x + ((c * 4 + r * 2) * H + y) * W;
				const float *b = a + H * W;
				float *o = out + ((c * H + y) * 2 + r) * 2 * W;
				for (int z = 0; z < W; z++) {
					o[2 * z] = a[z];
					o[2 * z + 1] = b[z];
				}
			}
}

void nearest(const float *restrict x, float *restrict out, void *workspace)
{
	enum { C = 64, H = 64, W = 64 };
	(void)workspace;
	for (int y = 0; y < C * H; y++) {
		float *o = out + y * 4 * W;
		for (int z = 0; z < W; z++)
			o[2 * z] = o[2 * z + 1] = x[y * W + z];
		memcpy(o + 2 * W, o, 2 * W * sizeof *o);
	}
}

static void bilinear_row(const float *restrict x, float *restrict o, int w)
{
	o[0] = x[0];
	for (int z = 1; z < w; z++) {
		o[2 * z - 1] = 0.75f * x[z - 1] + 0.25f * x[z];
		o[2 * z] = 0.25f * x[z - 1] + 0.75f * x[z];
	}
	o[2 * w - 1] = x[w - 1];
}

void bilinear(const float *restrict x, float *restrict out, void *workspace)
{
	enum { C = 64, H = 64, W = 64 };
	float rows[2][2 * W], *above = rows[0], *below = rows[1];
	(void)workspace;
	for (int c = 0; c < C; c++) {
		const float *in = x + c * H * W;
		float *restrict o = out + c * 4 * H * W;
		bilinear_row(in, above, W);
		memcpy(o, above, sizeof rows[0]);
		for (int y = 1; y < H; y++) {
			float *restrict o1 = o + (2 * y - 1) * 2 * W;
			float *restrict o2 = o1 + 2 * W, *swap = above;
			bilinear_row(in + y * W, below, W);
			for (int z = 0; z < 2 * W; z++) {
				o1[z] = 0.75f * above[z] + 0.25f * below[z];
				o2[z] = 0.25f * above[z] + 0.75f * below[z];
			}
			above = below;
			below = swap;
		}
		memcpy(o + (2 * H - 1) * 2 * W, above, sizeof rows[0]);
	}
}

void im2col(const float *restrict x, float *restrict out, void *workspace)
{
	enum { C = 32, H = 56, W = 56 };
	(void)workspace;
	for (int c = 0; c < C; c++)
		for (int r = 0; r < 3; r++)
			for (int s = 0; s < 3; s++)
				for (int y = 0; y < H; y++, out += W)
					memcpy(out,
					    x + (c * (H + 2) + y + r) * (W + 2) + s,
					    W * sizeof *x);
}

void roll(const float *restrict x, float *restrict y, void *workspace)
{
	enum { M = 1000, N = 900, S = 333 };
	(void)workspace;
	for (int i = 0; i < M; i++, y += N) {
		const float *row = x + (i + 100) % M * N;
		memcpy(y, row + S, (N - S) * sizeof *y);
		memcpy(y + N - S, row, S * sizeof *y);
	}
}

void thrice(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 300000; i++)
		for (int k = 0; k < 3; k++)
			y[3 * i + k] = x[i];
}

void nearest_3_2(const float *restrict x, float *restrict y, void *workspace)
{
	enum { C = 32, H = 64, W = 64 };
	(void)workspace;
	for (int c = 0; c < C; c++)
		for (int i = 0; i < H * 3 / 2; i++) {
			const float *row = x + (c * H + i * 2 / 3) * W;
			for (int j = 0; j < W; j += 2, y += 3) {
				y[0] = y[1] = row[j];
				y[2] = row[j + 1];
			}
		}
}

void channel_shuffle(const float *restrict x, float *restrict y,
    void *workspace)
{
	enum { P = 3136, C = 48, G = 3 };
	(void)workspace;
	for (int p = 0; p < P; p++)
		for (int k = 0; k < C / G; k++)
			for (int g = 0; g < G; g++)
				y[p * C + k * G + g] = x[p * C + g * (C / G) + k];
}

void edges_u8(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	enum { H = 1080, W = 1920, P = 4 };
	(void)workspace;
	for (int i = -P; i < H + P; i++, y += W + 2 * P) {
		const uint8_t *row = x + (i < 0 ? 0 : i < H ? i : H - 1) * W;
		memset(y, row[0], P);
		memcpy(y + P, row, W);
		memset(y + P + W, row[W - 1], P);
	}
}

void tile(const float *restrict x, float *restrict y, void *workspace)
{
	enum { M = 100, N = 150 };
	(void)workspace;
	for (int i = 0; i < 7 * M; i++)
		for (int k = 0; k < 9; k++, y += N)
			memcpy(y, x + i % M * N, N * sizeof *y);
}

void pad_wrap(const float *restrict x, float *restrict y, void *workspace)
{
	enum { C = 8, H = 123, W = 171 };
	(void)workspace;
	for (int c = 0; c < C; c++)
		for (int i = 0; i < H + 4; i++, y += W + 4) {
			const float *row = x + (c * H + (i + H - 2) % H) * W;
			y[0] = row[W - 2];
			y[1] = row[W - 1];
			memcpy(y + 2, row, W * sizeof *y);
			y[W + 2] = row[0];
			y[W + 3] = row[1];
		}
}

void repeat_5(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 200 * 173; i++)
		for (int k = 0; k < 5; k++)
			y[5 * i + k] = x[i];
}

void concatenate_odd(const float *restrict a, const float *restrict b,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 3000; i++) {
		memcpy(y + i * 138, a + i * 37, 37 * sizeof *a);
		memcpy(y + i * 138 + 37, b + i * 101, 101 * sizeof *b);
	}
}

void rows_of_7(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 900 * 7; i++, x += 7)
		for (int k = 0; k < 11; k++, y += 7)
			memcpy(y, x, 7 * sizeof *x);
}

void rotate(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	enum { H = 801, W = 1002, B = 16 };
	(void)workspace;
	for (int i0 = 0; i0 < W; i0 += B)
		for (int j0 = 0; j0 < H; j0 += B)
			for (int i = i0; i < i0 + B && i < W; i++)
				for (int j = j0; j < j0 + B && j < H; j++)
					y[i * H + j] = x[j * W + W - 1 - i];
}
