/* Casts and powers: what a C programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static float limited(float x, float lo, float hi)
{
	x = x < lo ? lo : x;
	return x > hi ? hi : x;
}

void quantize_i8(const float *restrict x, int8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1000000; i++)
		y[i] = (int8_t)limited(rintf(x[i] * 100), -128, 127);
}

void quantize_u8(const float *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1000000; i++)
		y[i] = (uint8_t)limited(x[i] * 255 + 0.5f, 0, 255);
}

void dequantize(const uint8_t *restrict q, float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1000000; i++)
		y[i] = ((float)q[i] - 128) * 0.02f;
}

void requantize(const int32_t *restrict x, const float *restrict s,
    int8_t *restrict y, void *workspace)
{
	enum { M = 1024, N = 1024 };
	(void)workspace;
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++)
			y[i * N + j] = (int8_t)limited(
			    rintf((float)x[i * N + j] * s[j]), -128, 127);
}

void power(const float *restrict x, const float *restrict g, float *restrict y,
    void *workspace)
{
	float e = g[0];
	(void)workspace;
	for (int i = 0; i < 500000; i++)
		y[i] = powf(x[i], e);
}

void srgb(const float *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 500000; i++) {
		float curve = 1.055f * powf(x[i], 0.41666667f) - 0.055f;
		y[i] = (uint8_t)(255 * (x[i] < 0.0031308f ? 12.92f * x[i]
							   : curve) +
		    0.5f);
	}
}

/* To the nearest, ties to even; no NaN among the inputs. */
void to_bf16(const float *restrict x, uint16_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 1000000; i++) {
		uint32_t u;
		memcpy(&u, &x[i], sizeof u);
		y[i] = (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
	}
}

void add_u8(const uint8_t *restrict a, const uint8_t *restrict b,
    uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 65536; i++) {
		short v = (a[i] - 128) * 13 + (b[i] - 120) * 7 + 2064;
		v = v < 0 ? 0 : v > 4080 ? 4080 : v;
		y[i] = (uint8_t)(v >> 4);
	}
}
