/* Elements that lie 2, 3, 4 or 8 apart: what a C programmer would write. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

void grey(const float *restrict x, float *restrict out, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 720 * 1280; i++)
		out[i] = 0.299f * x[3 * i] + 0.587f * x[3 * i + 1] +
		    0.114f * x[3 * i + 2];
}

void planes(const uint8_t *restrict x, const float *restrict mean,
    const float *restrict scale, float *restrict out, void *workspace)
{
	enum { P = 512 * 512 };
	(void)workspace;
	for (int i = 0; i < P; i++)
		for (int c = 0; c < 3; c++)
			out[c * P + i] =
			    ((float)x[3 * i + c] - mean[c]) * scale[c];
}

void interleave(const float *restrict x, float *restrict out, void *workspace)
{
	enum { P = 512 * 512 };
	(void)workspace;
	for (int i = 0; i < P; i++)
		for (int c = 0; c < 3; c++)
			out[3 * i + c] = x[c * P + i];
}

void complex_product(const float *restrict a, const float *restrict b,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1000000; i += 2) {
		y[i] = a[i] * b[i] - a[i + 1] * b[i + 1];
		y[i + 1] = a[i] * b[i + 1] + a[i + 1] * b[i];
	}
}

void premultiply(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 4 * 262144; i += 4) {
		float a = x[i + 3];
		y[i] = x[i] * a;
		y[i + 1] = x[i + 1] * a;
		y[i + 2] = x[i + 2] * a;
		y[i + 3] = a;
	}
}

void blocks_of_8(const int8_t *restrict q, const float *restrict s,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1048576 / 8; i++)
		for (int k = 0; k < 8; k++)
			y[8 * i + k] = (float)q[8 * i + k] * s[i];
}

void period_4(const float *restrict x, const float *restrict b,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1048576; i += 4)
		for (int k = 0; k < 4; k++)
			y[i + k] = x[i + k] + b[k];
}

void concatenate(const float *restrict a, const float *restrict b,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 16384; i++) {
		memcpy(y + i * 64, a + i * 16, 16 * sizeof *a);
		memcpy(y + i * 64 + 16, b + i * 48, 48 * sizeof *b);
	}
}

void rotary(const float *restrict x, const float *restrict c,
    const float *restrict s, float *restrict y, void *workspace)
{
	enum { L = 512, H = 12 };
	(void)workspace;
	for (int l = 0; l < L; l++, c += 32, s += 32)
		for (int h = 0; h < H; h++, x += 64, y += 64)
			for (int d = 0; d < 32; d++) {
				y[d] = x[d] * c[d] - x[d + 32] * s[d];
				y[d + 32] = x[d + 32] * c[d] + x[d] * s[d];
			}
}

void rotary_pairs(const float *restrict x, const float *restrict c,
    const float *restrict s, float *restrict y, void *workspace)
{
	enum { L = 512, H = 12 };
	(void)workspace;
	for (int l = 0; l < L; l++, c += 32, s += 32)
		for (int h = 0; h < H; h++, x += 64, y += 64)
			for (int d = 0; d < 32; d++) {
				float a = x[2 * d], b = x[2 * d + 1];
				y[2 * d] = a * c[d] - b * s[d];
				y[2 * d + 1] = b * c[d] + a * s[d];
			}
}

void haar(const float *restrict x, float *restrict low, float *restrict high,
    void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1000000; i++) {
		low[i] = 0.5f * (x[2 * i] + x[2 * i + 1]);
		high[i] = 0.5f * (x[2 * i] - x[2 * i + 1]);
	}
}

void merge_rgb(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	enum { P = 500000 };
	(void)workspace;
	for (int i = 0; i < P; i++)
		for (int c = 0; c < 3; c++)
			y[3 * i + c] = x[c * P + i];
}

static uint8_t byte(float x)
{
	x = x < 0 ? 0 : x;
	return (uint8_t)(x > 255 ? 255 : x);
}

void yuv_to_rgb(const uint8_t *restrict x, uint8_t *restrict y,
    void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 3 * 480000; i += 3) {
		float l = x[i], u = x[i + 1] - 128.0f, v = x[i + 2] - 128.0f;
		y[i] = byte(l + 1.402f * v);
		y[i + 1] = byte(l - 0.344f * u - 0.714f * v);
		y[i + 2] = byte(l + 1.772f * u);
	}
}

void points(const float *restrict p, const float *restrict m,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 150000; n++, p += 3, y += 3)
		for (int i = 0; i < 3; i++)
			y[i] = m[4 * i] * p[0] + m[4 * i + 1] * p[1] +
			    m[4 * i + 2] * p[2] + m[4 * i + 3];
}

void grey_u8(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 500000; i++, x += 3)
		y[i] = (uint8_t)((77 * x[0] + 150 * x[1] + 29 * x[2]) >> 8);
}

void bands(const float *restrict x, float *restrict y, void *workspace)
{
	enum { H = 400, W = 600 };
	(void)workspace;
	for (int i = 0; i < H; i++, x += 4 * W, y += W)
		for (int j = 0; j < W; j++) {
			float a = x[2 * j], b = x[2 * j + 1];
			float c = x[2 * W + 2 * j], d = x[2 * W + 2 * j + 1];
			y[j] = 0.5f * (a + b + c + d);
			y[H * W + j] = 0.5f * (a - b + c - d);
			y[2 * H * W + j] = 0.5f * (a + b - c - d);
			y[3 * H * W + j] = 0.5f * (a - b - c + d);
		}
}

void butterfly(const float *restrict x, const float *restrict w,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int g = 0; g < 2000 * 4; g++, x += 32, y += 32)
		for (int s = 0; s < 16; s += 2) {
			float re = w[s] * x[16 + s] - w[s + 1] * x[17 + s];
			float im = w[s] * x[17 + s] + w[s + 1] * x[16 + s];
			y[s] = x[s] + re;
			y[s + 1] = x[s + 1] + im;
			y[16 + s] = x[s] - re;
			y[17 + s] = x[s + 1] - im;
		}
}

void rgba_premultiply(const uint8_t *restrict x, uint8_t *restrict y,
    void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 4 * 250000; i += 4) {
		int a = x[i + 3];
		y[i] = (uint8_t)((x[i] * a + 128) >> 8);
		y[i + 1] = (uint8_t)((x[i + 1] * a + 128) >> 8);
		y[i + 2] = (uint8_t)((x[i + 2] * a + 128) >> 8);
		y[i + 3] = (uint8_t)a;
	}
}

void blend_u8(const uint8_t *restrict a, const uint8_t *restrict b,
    const uint8_t *restrict m, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1000000; i++)
		y[i] = (uint8_t)((a[i] * m[i] + b[i] * (255 - m[i]) + 128) >> 8);
}

void mix_i16(const int16_t *restrict a, const int16_t *restrict b,
    const int16_t *restrict g, int16_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 200000; i++)
		for (int c = 0; c < 2; c++) {
			int t = (a[2 * i + c] * g[c] + b[2 * i + c] * g[2 + c]) >> 15;
			t = t < -32768 ? -32768 : t;
			y[2 * i + c] = (int16_t)(t > 32767 ? 32767 : t);
		}
}

void inverse_2x2(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 250000; n++) {
		const float *a = x + 4 * n;
		float *b = y + 4 * n;
		float d = 1 / (a[0] * a[3] - a[1] * a[2]);
		b[0] = a[3] * d;
		b[1] = -a[1] * d;
		b[2] = -a[2] * d;
		b[3] = a[0] * d;
	}
}
