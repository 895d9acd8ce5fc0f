/* Several outputs of one pass, reductions over axes side by side: what a C
 * programmer would write. */
#include <math.h>
#include <stddef.h>

void extremes(const float *restrict x, float *restrict lo, float *restrict hi,
    float *restrict s, void *workspace)
{
	float least = INFINITY, most = -INFINITY, sum = 0;
	(void)workspace;
	for (int i = 0; i < 1000000; i++) {
		least = x[i] < least ? x[i] : least;
		most = x[i] > most ? x[i] : most;
		sum += x[i];
	}
	*lo = least;
	*hi = most;
	*s = sum;
}

void moments(const float *restrict x, float *restrict s, float *restrict q,
    void *workspace)
{
	enum { M = 1024, N = 1000 };
	(void)workspace;
	for (int i = 0; i < M; i++, x += N) {
		float sum = 0, squares = 0;
		for (int j = 0; j < N; j++) {
			sum += x[j];
			squares += x[j] * x[j];
		}
		s[i] = sum;
		q[i] = squares;
	}
}

void sine_cosine(const float *restrict x, float *restrict s, float *restrict c,
    void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 500000; i++) {
		s[i] = sinf(6.2831853f * x[i]);
		c[i] = cosf(6.2831853f * x[i]);
	}
}

void adam(const float *restrict p, const float *restrict g,
    const float *restrict m, const float *restrict v, float *restrict p2,
    float *restrict m2, float *restrict v2, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 500000; i++) {
		m2[i] = 0.9f * m[i] + 0.1f * g[i];
		v2[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
		p2[i] = p[i] -
		    0.01f * m2[i] / (sqrtf(v2[i] * 1000.0f) + 1e-8f);
	}
}

void global_pool(const float *restrict x, float *restrict out, void *workspace)
{
	(void)workspace;
	for (int c = 0; c < 32768; c++) {
		float s = 0;
		for (int k = 0; k < 49; k++)
			s += x[c * 49 + k];
		out[c] = s * (1.0f / 49);
	}
}

void frobenius(const float *restrict x, float *restrict y, void *workspace)
{
	float s = 0;
	(void)workspace;
	for (int i = 0; i < 1024 * 1024; i++)
		s += x[i] * x[i];
	*y = sqrtf(s);
}

void channel_peaks(const float *restrict x, float *restrict hi,
    float *restrict av, void *workspace)
{
	(void)workspace;
	for (int c = 0; c < 8 * 128; c++, x += 784) {
		float m = -INFINITY, s = 0;
		for (int k = 0; k < 784; k++) {
			m = x[k] > m ? x[k] : m;
			s += x[k];
		}
		hi[c] = m;
		av[c] = s * (1.0f / 784);
	}
}

void squares_and_gradient(const float *restrict p, const float *restrict t,
    float *restrict l, float *restrict d, void *workspace)
{
	enum { N = 500000 };
	float sum = 0;
	(void)workspace;
	for (int i = 0; i < N; i++) {
		float e = p[i] - t[i];
		sum += e * e;
		d[i] = e * (2.0f / N);
	}
	*l = sum / N;
}
