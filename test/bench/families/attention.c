/* Attention with masks and shared heads: what a C programmer would write.
 * Blocks of rows, so that scores stay in the cache; columns that no row of the
 * block sees are left out. */
#include <math.h>
#include <stddef.h>

static void softmax_row(float *restrict s, int from, int to, int n)
{
	float top = -INFINITY, sum = 0;
	for (int j = from; j < to; j++)
		top = s[j] > top ? s[j] : top;
	for (int j = from; j < to; j++) {
		s[j] = expf(s[j] - top);
		sum += s[j];
	}
	sum = 1 / sum;
	for (int j = from; j < to; j++)
		s[j] *= sum;
	for (int j = 0; j < from; j++)
		s[j] = 0;
	for (int j = to; j < n; j++)
		s[j] = 0;
}

#ifdef HAVE_CBLAS
#include <cblas.h>

enum { D = 64, ROWS = 64 };

/* Rows i0 to i0 + ROWS of one head see the columns j0 to j1 together; row i
 * alone i - window + 1 to i, or all. */
static void head_rows(const float *q, const float *k, const float *v,
    float *out, float *s, int i0, int j0, int j1, int window, int masked)
{
	int n = j1 - j0;
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, ROWS, n, D, 0.125f,
	    q + i0 * D, D, k + j0 * D, D, 0, s, n);
	for (int i = i0; i < i0 + ROWS; i++) {
		int from = masked ? i - window + 1 - j0 : 0;
		softmax_row(s + (i - i0) * n, from > 0 ? from : 0,
		    masked ? i + 1 - j0 : n, n);
	}
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, ROWS, D, n, 1, s,
	    n, v + j0 * D, D, 0, out + i0 * D, D);
}

void causal(const float *q, const float *k, const float *v, float *out,
    void *workspace)
{
	enum { H = 4, L = 512 };
	for (int h = 0; h < H; h++)
		for (int i = 0; i < L; i += ROWS)
			head_rows(q + h * L * D, k + h * L * D, v + h * L * D,
			    out + h * L * D, workspace, i, 0, i + ROWS, L, 1);
}

void sliding_window(const float *q, const float *k, const float *v, float *out,
    void *workspace)
{
	enum { H = 4, L = 1024, W = 128 };
	for (int h = 0; h < H; h++)
		for (int i = 0; i < L; i += ROWS)
			head_rows(q + h * L * D, k + h * L * D, v + h * L * D,
			    out + h * L * D, workspace, i,
			    i < W ? 0 : i - W, i + ROWS, W, 1);
}

void grouped_query(const float *q, const float *k, const float *v, float *out,
    void *workspace)
{
	enum { H = 8, G = 4, L = 256 };
	for (int h = 0; h < H; h++)
		for (int i = 0; i < L; i += ROWS)
			head_rows(q + h * L * D, k + h / G * L * D,
			    v + h / G * L * D, out + h * L * D, workspace, i,
			    0, L, 0, 0);
}
#endif

/* One row of queries against rows of keys that lie `step` apart. */
static void decode_head(const float *restrict q, const float *restrict k,
    const float *restrict v, float *restrict out, float *restrict s, int n,
    int step)
{
	float o[64] = {0};
	for (int j = 0; j < n; j++) {
		float t = 0;
		for (int d = 0; d < 64; d++)
			t += q[d] * k[j * step + d];
		s[j] = t * 0.125f;
	}
	softmax_row(s, 0, n, n);
	for (int j = 0; j < n; j++)
		for (int d = 0; d < 64; d++)
			o[d] += s[j] * v[j * step + d];
	for (int d = 0; d < 64; d++)
		out[d] = o[d];
}

void decode(const float *q, const float *k, const float *v, float *out,
    void *workspace)
{
	enum { H = 16, L = 1024 };
	for (int h = 0; h < H; h++)
		decode_head(q + h * 64, k + h * L * 64, v + h * L * 64,
		    out + h * 64, workspace, L, 64);
}

void decode_grouped(const float *q, const float *k, const float *v, float *out,
    void *workspace)
{
	enum { H = 32, G = 4, L = 1024 };
	for (int h = 0; h < H; h++)
		decode_head(q + h * 64, k + h / G * 64, v + h / G * 64,
		    out + h * 64, workspace, L, H / G * 64);
}
