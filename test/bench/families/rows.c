/* Row reductions: what a C programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

#ifdef HAVE_CBLAS
#include <cblas.h>

void matvec(const float *w, const float *x, float *y, void *workspace)
{
	(void)workspace;
	cblas_sgemv(CblasRowMajor, CblasNoTrans, 1024, 2048, 1, w, 2048, x, 1,
	    0, y, 1);
}

void vecmat(const float *x, const float *w, float *y, void *workspace)
{
	(void)workspace;
	cblas_sgemv(CblasRowMajor, CblasTrans, 1024, 2048, 1, w, 2048, x, 1, 0,
	    y, 1);
}
#endif

void matvec_i8(const int8_t *restrict w, const int8_t *restrict x,
    int32_t *restrict y, void *workspace)
{
	enum { M = 2048, K = 2048 };
	(void)workspace;
	for (int i = 0; i < M; i++) {
		int32_t s = 0;
		for (int k = 0; k < K; k++)
			s += w[i * K + k] * x[k];
		y[i] = s;
	}
}

void matvec_u8i8(const int8_t *restrict w, const uint8_t *restrict x,
    int32_t *restrict y, void *workspace)
{
	enum { M = 1024, K = 1000 };
	(void)workspace;
	for (int i = 0; i < M; i++) {
		int32_t s = 0;
		for (int k = 0; k < K; k++)
			s += w[i * K + k] * x[k];
		y[i] = s;
	}
}

void energy_i16(const int16_t *restrict x, int32_t *restrict y, void *workspace)
{
	enum { M = 64, N = 1024 };
	(void)workspace;
	for (int i = 0; i < M; i++) {
		int32_t s = 0;
		for (int j = 0; j < N; j++)
			s += x[i * N + j] * x[i * N + j];
		y[i] = s;
	}
}

void greatest_i8(const int8_t *restrict x, int8_t *restrict y, void *workspace)
{
	enum { M = 512, N = 1024 };
	(void)workspace;
	for (int i = 0; i < M; i++) {
		int8_t most = INT8_MIN;
		for (int j = 0; j < N; j++)
			most = x[i * N + j] > most ? x[i * N + j] : most;
		y[i] = most;
	}
}

void layer_norm_backward(const float *restrict x, const float *restrict dy,
    const float *restrict g, const float *restrict mean,
    const float *restrict rstd, float *restrict dx, void *workspace)
{
	enum { M = 512, N = 768 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N, dy += N, dx += N) {
		float a = 0, b = 0, m = mean[i], r = rstd[i];
		for (int j = 0; j < N; j++) {
			float t = dy[j] * g[j];
			a += t;
			b += t * (x[j] - m);
		}
		a /= N;
		b *= r / N;
		for (int j = 0; j < N; j++)
			dx[j] = r * (dy[j] * g[j] - a - (x[j] - m) * r * b);
	}
}

void layer_norm_gradients(const float *restrict x, const float *restrict dy,
    const float *restrict mean, const float *restrict rstd, float *restrict dg,
    float *restrict db, void *workspace)
{
	enum { M = 512, N = 768 };
	(void)workspace;
	for (int j = 0; j < N; j++)
		dg[j] = db[j] = 0;
	for (int i = 0; i < M; i++, x += N, dy += N)
		for (int j = 0; j < N; j++) {
			dg[j] += dy[j] * (x[j] - mean[i]) * rstd[i];
			db[j] += dy[j];
		}
}

void softmax_backward(const float *restrict p, const float *restrict dy,
    float *restrict dx, void *workspace)
{
	enum { M = 768, N = 1024 };
	(void)workspace;
	for (int i = 0; i < M; i++, p += N, dy += N, dx += N) {
		float s = 0;
		for (int j = 0; j < N; j++)
			s += p[j] * dy[j];
		for (int j = 0; j < N; j++)
			dx[j] = p[j] * (dy[j] - s);
	}
}

void rms_norm(const float *restrict x, const float *restrict g,
    float *restrict y, void *workspace)
{
	enum { M = 512, N = 1024 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N, y += N) {
		float s = 0;
		for (int j = 0; j < N; j++)
			s += x[j] * x[j];
		s = 1 / sqrtf(s / N + 1e-6f);
		for (int j = 0; j < N; j++)
			y[j] = x[j] * s * g[j];
	}
}

void batch_statistics(const float *restrict x, float *restrict mean,
    float *restrict var, void *workspace)
{
	enum { B = 8, C = 64, P = 56 * 56 };
	(void)workspace;
	for (int c = 0; c < C; c++) {
		float s = 0, q = 0;
		for (int n = 0; n < B; n++) {
			const float *in = x + (n * C + c) * P;
			for (int k = 0; k < P; k++) {
				s += in[k];
				q += in[k] * in[k];
			}
		}
		mean[c] = s / (B * P);
		var[c] = q / (B * P) - mean[c] * mean[c];
	}
}

void batch_statistics_nhwc(const float *restrict x, float *restrict s,
    float *restrict q, void *workspace)
{
	enum { P = 8 * 56 * 56, C = 64 };
	(void)workspace;
	for (int c = 0; c < C; c++)
		s[c] = q[c] = 0;
	for (int k = 0; k < P; k++, x += C)
		for (int c = 0; c < C; c++) {
			s[c] += x[c];
			q[c] += x[c] * x[c];
		}
}

void bilinear_form(const float *restrict x, const float *restrict a,
    const float *restrict z, float *restrict y, void *workspace)
{
	enum { N = 900, M = 800 };
	float sum = 0;
	(void)workspace;
	for (int i = 0; i < N; i++) {
		float t = 0;
		for (int j = 0; j < M; j++)
			t += a[i * M + j] * z[j];
		sum += x[i] * t;
	}
	*y = sum;
}

void dots_of_3(const float *restrict a, const float *restrict b,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 50000; i++, a += 3, b += 3)
		y[i] = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

void mean_over_time(const float *restrict x, float *restrict y,
    void *workspace)
{
	enum { B = 32, T = 100, C = 160 };
	(void)workspace;
	for (int b = 0; b < B; b++, y += C) {
		float sum[C] = {0};
		for (int t = 0; t < T; t++, x += C)
			for (int c = 0; c < C; c++)
				sum[c] += x[c];
		for (int c = 0; c < C; c++)
			y[c] = sum[c] / T;
	}
}

void tall_sums(const float *restrict x, float *restrict y, void *workspace)
{
	enum { M = 40000, N = 8 };
	float sum[N] = {0};
	(void)workspace;
	for (int i = 0; i < M; i++, x += N)
		for (int j = 0; j < N; j++)
			sum[j] += x[j];
	for (int j = 0; j < N; j++)
		y[j] = sum[j];
}

void channel_sums(
    const uint8_t *restrict x, int32_t *restrict y, void *workspace)
{
	enum { H = 720, W = 1280, C = 3 };
	int32_t sum[C] = {0};
	(void)workspace;
	for (int i = 0; i < H * W; i++, x += C)
		for (int c = 0; c < C; c++)
			sum[c] += x[c];
	for (int c = 0; c < C; c++)
		y[c] = sum[c];
}

void decimate(const float *restrict x, const float *restrict h,
    float *restrict y, void *workspace)
{
	enum { N = 4096, K = 48, STEP = 4 };
	(void)workspace;
	for (int i = 0; i < N; i++) {
		float s = 0;
		for (int k = 0; k < K; k++)
			s += x[i * STEP + k] * h[k];
		y[i] = s;
	}
}

void frame_energy(const float *restrict x, float *restrict y, void *workspace)
{
	enum { N = 2000, K = 64, STEP = 16 };
	(void)workspace;
	for (int i = 0; i < N; i++) {
		float s = 0;
		for (int k = 0; k < K; k++)
			s += x[i * STEP + k] * x[i * STEP + k];
		y[i] = s;
	}
}
