/* What was at the reference already: products by OpenBLAS, loops around. */
#ifdef HAVE_CBLAS
#include <cblas.h>
#include <math.h>
#include <stddef.h>
#include <string.h>

static void product(int m, int n, int k, const float *a, const float *b,
    float sum, float *c)
{
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, a, k,
	    b, n, sum, c, n);
}

static float sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

void lstm(const float *x, const float *h, const float *restrict c,
    const void *wx, const void *wh, const float *restrict b, float *restrict h2,
    float *restrict c2, void *workspace)
{
	enum { B = 32, X = 256, H = 256 };
	float *t = workspace;
	product(B, 4 * H, X, x, wx, 0, t);
	product(B, 4 * H, H, h, wh, 1, t);
	for (int n = 0; n < B; n++)
		for (int j = 0; j < H; j++) {
			const float *g = t + n * 4 * H + j;
			float new = sigmoid(g[H] + b[H + j]) * c[n * H + j] +
			    sigmoid(g[0] + b[j]) *
				tanhf(g[2 * H] + b[2 * H + j]);
			c2[n * H + j] = new;
			h2[n * H + j] =
			    sigmoid(g[3 * H] + b[3 * H + j]) * tanhf(new);
		}
}

void gru(const float *x, const float *restrict h, const void *wx,
    const void *wh, const float *restrict b, float *restrict h2,
    void *workspace)
{
	enum { B = 32, X = 256, H = 256 };
	float *t = workspace, *u = t + B * 3 * H;
	product(B, 3 * H, X, x, wx, 0, t);
	product(B, 3 * H, H, h, wh, 0, u);
	for (int n = 0; n < B; n++)
		for (int j = 0; j < H; j++) {
			const float *s = t + n * 3 * H + j;
			const float *v = u + n * 3 * H + j;
			float z = sigmoid(s[0] + b[j] + v[0]);
			float r = sigmoid(s[H] + b[H + j] + v[H]);
			float new = tanhf(s[2 * H] + b[2 * H + j] + r * v[2 * H]);
			h2[n * H + j] = (1 - z) * new + z * h[n * H + j];
		}
}

/* Columns of one row of pixels at a time, then a product. */
void conv_nhwc(const float *restrict x, const void *w, const float *restrict b,
    float *restrict out, void *workspace)
{
	enum { H = 28, W = 28, C = 64, O = 64, IN = (W + 2) * C };
	float *restrict t = workspace;
	for (int y = 0; y < H; y++)
		for (int z = 0; z < W; z++)
			for (int r = 0; r < 3; r++)
				memcpy(t + ((y * W + z) * 3 + r) * 3 * C,
				    x + (y + r) * IN + z * C,
				    3 * C * sizeof *t);
	product(H * W, O, 9 * C, t, w, 0, out);
	for (int i = 0; i < H * W; i++)
		for (int o = 0; o < O; o++) {
			float v = out[i * O + o] + b[o];
			out[i * O + o] = v > 0 ? v : 0;
		}
}

void einsum_bijk(const float *x, const float *w, float *y, void *workspace)
{
	(void)workspace;
	product(4 * 64, 16 * 32, 128, x, w, 0, y);
}

void einsum_bhd(const float *x, const float *z, float *y, void *workspace)
{
	enum { B = 2, L = 128, M = 128, H = 8, D = 64 };
	(void)workspace;
	for (int b = 0; b < B; b++)
		for (int h = 0; h < H; h++)
			cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, L,
			    M, D, 1, x + (b * L * H + h) * D, H * D,
			    z + (b * M * H + h) * D, H * D, 0,
			    y + (b * H + h) * L * M, M);
}
#endif

void dct(const float *restrict x, const float *restrict k, float *restrict y,
    void *workspace)
{
	enum { A = 64, B = 80 };
	(void)workspace;
	for (int n = 0; n < A * B; n++, y += 64) {
		const float *in = x + n / B * 64 * B + n % B * 8;
		float t[64];
		for (int u = 0; u < 8; u++)
			for (int j = 0; j < 8; j++) {
				float sum = 0;
				for (int i = 0; i < 8; i++)
					sum += k[8 * u + i] * in[i * 8 * B + j];
				t[8 * u + j] = sum;
			}
		for (int u = 0; u < 8; u++)
			for (int v = 0; v < 8; v++) {
				float sum = 0;
				for (int j = 0; j < 8; j++)
					sum += t[8 * u + j] * k[8 * v + j];
				y[8 * u + v] = sum;
			}
	}
}
