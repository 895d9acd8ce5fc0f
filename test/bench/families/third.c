/* Operators of any kind, the third lot, written before anything was measured: what a C
 * programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef HAVE_CBLAS
#include <cblas.h>
#endif
static inline float sigmoid(float x)
{
	return 1 / (1 + expf(-x));
}

void image_normalize(const uint8_t *restrict img, const float *restrict mean,
    const float *restrict inv, float *restrict out, void *workspace)
{
	(void)workspace;
	enum { H = 224, W = 224 };
	for (int c = 0; c < 3; c++)
		for (int i = 0; i < H * W; i++)
			out[c * H * W + i] =
			    ((float)img[i * 3 + c] - mean[c]) * inv[c];
}

void rms_residual(const float *restrict x, const float *restrict r,
    const float *restrict g, float *restrict s, float *restrict y,
    void *workspace)
{
	(void)workspace;
	enum { M = 128, N = 1024 };
	for (int i = 0; i < M; i++) {
		float q = 0;
		for (int j = 0; j < N; j++) {
			float v = x[i * N + j] + r[i * N + j];
			s[i * N + j] = v;
			q += v * v;
		}
		q = 1 / sqrtf(q / N + 1e-5f);
		for (int j = 0; j < N; j++)
			y[i * N + j] = s[i * N + j] * q * g[j];
	}
}

void causal_dw_conv(const float *restrict x, const float *restrict k,
    const float *restrict b, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { T = 512, C = 512, K = 4 };
	for (int t = 0; t < T; t++)
		for (int c = 0; c < C; c++) {
			float v = b[c];
			for (int q = 0; q < K; q++)
				if (t >= q)
					v += x[(t - q) * C + c] * k[q * C + c];
			y[t * C + c] = v * sigmoid(v);
		}
}

void lstm_pointwise(const float *restrict g, const float *restrict c,
    float *restrict cn, float *restrict h, void *workspace)
{
	(void)workspace;
	enum { B = 64, N = 512 };
	for (int b = 0; b < B; b++)
		for (int n = 0; n < N; n++) {
			const float *G = g + b * 4 * N;
			float v = sigmoid(G[N + n]) * c[b * N + n] +
			    sigmoid(G[n]) * tanhf(G[2 * N + n]);
			cn[b * N + n] = v;
			h[b * N + n] = sigmoid(G[3 * N + n]) * tanhf(v);
		}
}

void kl_rows(const float *restrict p, const float *restrict q,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { M = 256, N = 1000 };
	for (int i = 0; i < M; i++) {
		float s = 0;
		for (int j = 0; j < N; j++)
			s += p[i * N + j] *
			    (logf(p[i * N + j] + 1e-6f) -
				logf(q[i * N + j] + 1e-6f));
		y[i] = s;
	}
}
#ifdef HAVE_CBLAS
void cosine_matrix(const float *restrict a, const float *restrict b,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { M = 256, N = 256, K = 128 };
	float na[M], nb[N];
	for (int i = 0; i < M; i++) {
		float s = 0;
		for (int k = 0; k < K; k++)
			s += a[i * K + k] * a[i * K + k];
		na[i] = 1 / sqrtf(s + 1e-6f);
	}
	for (int i = 0; i < N; i++) {
		float s = 0;
		for (int k = 0; k < K; k++)
			s += b[i * K + k] * b[i * K + k];
		nb[i] = 1 / sqrtf(s + 1e-6f);
	}
	cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, M, N, K, 1, a, K,
	    b, K, 0, y, N);
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++)
			y[i * N + j] *= na[i] * nb[j];
}

void dot_interaction(
    const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { B = 128, F = 27, D = 64 };
	for (int b = 0; b < B; b++)
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, F, F, D, 1,
		    x + b * F * D, D, x + b * F * D, D, 0, y + b * F * F, F);
}
#endif
void bilinear_up2(const float *restrict x, float *restrict y, void *workspace)
{
	enum { C = 16, H = 64, W = 64 };
	float *t = workspace;
	for (int c = 0; c < C; c++) {
		const float *X = x + c * H * W;
		for (int i = 0; i < H; i++) {
			const float *a = X + (i ? i - 1 : 0) * W,
				    *b = X + i * W,
				    *d = X + (i < H - 1 ? i + 1 : i) * W;
			for (int j = 0; j < W; j++) {
				t[(2 * i) * W + j] = .25f * a[j] + .75f * b[j];
				t[(2 * i + 1) * W + j] =
				    .75f * b[j] + .25f * d[j];
			}
		}
		for (int i = 0; i < 2 * H; i++) {
			float *Y = y + (c * 2 * H + i) * 2 * W;
			const float *a = t + i * W;
			Y[0] = .25f * a[0] + .75f * a[0];
			for (int j = 1; j < W; j++)
				Y[2 * j] = .25f * a[j - 1] + .75f * a[j];
			for (int j = 0; j < W - 1; j++)
				Y[2 * j + 1] = .75f * a[j] + .25f * a[j + 1];
			Y[2 * W - 1] = a[W - 1];
		}
	}
}

void nearest_3_2(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	for (int c = 0; c < 32; c++)
		for (int i = 0; i < 96; i++) {
			const float *a = x + (c * 64 + i * 2 / 3) * 64;
			float *Y = y + (c * 96 + i) * 96;
			for (int j = 0; j < 32; j++) {
				Y[3 * j] = a[2 * j];
				Y[3 * j + 1] = a[2 * j];
				Y[3 * j + 2] = a[2 * j + 1];
			}
		}
}

void sobel_u8(const uint8_t *restrict x, uint8_t *restrict m, void *workspace)
{
	(void)workspace;
	enum { H = 480, W = 640 };
	for (int i = 0; i < H - 2; i++) {
		const uint8_t *a = x + i * W, *b = a + W, *c = b + W;
		for (int j = 0; j < W - 2; j++) {
			int gx = a[j + 2] + 2 * b[j + 2] + c[j + 2] - a[j] -
			    2 * b[j] - c[j],
			    gy = c[j] + 2 * c[j + 1] + c[j + 2] - a[j] -
			    2 * a[j + 1] - a[j + 2];
			int v = (gx < 0 ? -gx : gx) + (gy < 0 ? -gy : gy);
			m[i * (W - 2) + j] = v > 255 ? 255 : v;
		}
	}
}

void erode_5x5(const uint8_t *restrict x, uint8_t *restrict m, void *workspace)
{
	enum { H = 256, W = 256 };
	uint8_t *t = workspace;
	for (int i = 0; i < H; i++)
		for (int j = 0; j < W - 4; j++) {
			uint8_t v = x[i * W + j];
			for (int q = 1; q < 5; q++) {
				uint8_t a = x[i * W + j + q];
				v = a < v ? a : v;
			}
			t[i * (W - 4) + j] = v;
		}
	for (int i = 0; i < H - 4; i++)
		for (int j = 0; j < W - 4; j++) {
			uint8_t v = t[i * (W - 4) + j];
			for (int q = 1; q < 5; q++) {
				uint8_t a = t[(i + q) * (W - 4) + j];
				v = a < v ? a : v;
			}
			m[i * (W - 4) + j] = v;
		}
}

void box_9x9(const float *restrict x, float *restrict m, void *workspace)
{
	enum { H = 256, W = 256 };
	float *t = workspace;
	for (int i = 0; i < H; i++)
		for (int j = 0; j < W - 8; j++) {
			float v = 0;
			for (int q = 0; q < 9; q++)
				v += x[i * W + j + q];
			t[i * (W - 8) + j] = v;
		}
	for (int i = 0; i < H - 8; i++)
		for (int j = 0; j < W - 8; j++) {
			float v = 0;
			for (int q = 0; q < 9; q++)
				v += t[(i + q) * (W - 8) + j];
			m[i * (W - 8) + j] = v / 81;
		}
}

void matmul_4x4_batch(const float *restrict a, const float *restrict b,
    float *restrict c, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 4096; n++) {
		for (int i = 0; i < 4; i++) {
			float s[4] = {0};
			for (int k = 0; k < 4; k++)
				for (int j = 0; j < 4; j++)
					s[j] += a[n * 16 + i * 4 + k] *
					    b[n * 16 + k * 4 + j];
			for (int j = 0; j < 4; j++)
				c[n * 16 + i * 4 + j] = s[j];
		}
	}
}

void quat_rotate(const float *restrict q, const float *restrict v,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 8192; n++) {
		const float *Q = q + 4 * n, *V = v + 3 * n;
		float *Y = y + 3 * n;
		float t0 = 2 * (Q[2] * V[2] - Q[3] * V[1]),
		      t1 = 2 * (Q[3] * V[0] - Q[1] * V[2]),
		      t2 = 2 * (Q[1] * V[1] - Q[2] * V[0]);
		Y[0] = V[0] + Q[0] * t0 + Q[2] * t2 - Q[3] * t1;
		Y[1] = V[1] + Q[0] * t1 + Q[3] * t0 - Q[1] * t2;
		Y[2] = V[2] + Q[0] * t2 + Q[1] * t1 - Q[2] * t0;
	}
}

void nbody_force(const float *restrict x, const float *restrict m,
    float *restrict f, void *workspace)
{
	(void)workspace;
	enum { N = 512 };
	float X[N], Y[N], Z[N];
	for (int i = 0; i < N; i++) {
		X[i] = x[3 * i];
		Y[i] = x[3 * i + 1];
		Z[i] = x[3 * i + 2];
	}
	for (int i = 0; i < N; i++) {
		float a = 0, b = 0, c = 0;
		for (int j = 0; j < N; j++) {
			float dx = X[j] - X[i], dy = Y[j] - Y[i],
			      dz = Z[j] - Z[i];
			float r = dx * dx + dy * dy + dz * dz + 0.01f;
			float s = 1 / sqrtf(r);
			float k = m[j] * s * s * s;
			a += k * dx;
			b += k * dy;
			c += k * dz;
		}
		f[3 * i] = a;
		f[3 * i + 1] = b;
		f[3 * i + 2] = c;
	}
}

void stencil_27(const float *restrict x, const float *restrict k,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { D = 64, E = 62 };
	for (int i = 0; i < E; i++)
		for (int j = 0; j < E; j++)
			for (int l = 0; l < E; l++) {
				float s = 0;
				for (int p = 0; p < 3; p++)
					for (int q = 0; q < 3; q++)
						for (int r = 0; r < 3; r++)
							s += x[((i + p) * D +
								   j + q) *
								     D +
								 l + r] *
							    k[(p * 3 + q) * 3 +
								r];
				y[(i * E + j) * E + l] = s;
			}
}

void heat_varcoef(const float *restrict u, const float *restrict k,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 512, W = 512 };
	memcpy(y, u, 4 * W);
	memcpy(y + (H - 1) * W, u + (H - 1) * W, 4 * W);
	for (int i = 1; i < H - 1; i++) {
		const float *a = u + i * W, *b = k + i * W;
		float *Y = y + i * W;
		Y[0] = a[0];
		Y[W - 1] = a[W - 1];
		for (int j = 1; j < W - 1; j++)
			Y[j] = a[j] +
			    .1f *
				((b[j] + b[j + W]) * (a[j + W] - a[j]) -
				    (b[j] + b[j - W]) * (a[j] - a[j - W]) +
				    (b[j] + b[j + 1]) * (a[j + 1] - a[j]) -
				    (b[j] + b[j - 1]) * (a[j] - a[j - 1]));
	}
}

void int8_gemv(const int8_t *restrict a, const int8_t *restrict x,
    const float *restrict s, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { M = 1024, K = 1024 };
	for (int i = 0; i < M; i++) {
		int v = 0;
		for (int k = 0; k < K; k++)
			v += a[i * K + k] * x[k];
		y[i] = s[i] * (float)v;
	}
}

void alibi_causal(const float *restrict q, const float *restrict k,
    const float *restrict v, const float *restrict sl, float *restrict o,
    void *workspace)
{
	enum { H = 4, T = 128, D = 64 };
	float *s = workspace;
	for (int h = 0; h < H; h++)
		for (int i = 0; i < T; i++) {
			const float *Q = q + (h * T + i) * D;
			float m = -INFINITY, z = 0;
			for (int j = 0; j <= i; j++) {
				const float *K = k + (h * T + j) * D;
				float a = 0;
				for (int d = 0; d < D; d++)
					a += Q[d] * K[d];
				a = a * .125f + sl[h] * (float)(j - i);
				s[j] = a;
				m = a > m ? a : m;
			}
			for (int j = 0; j <= i; j++) {
				s[j] = expf(s[j] - m);
				z += s[j];
			}
			float acc[D] = {0};
			for (int j = 0; j <= i; j++) {
				const float *V = v + (h * T + j) * D;
				for (int d = 0; d < D; d++)
					acc[d] += s[j] * V[d];
			}
			for (int d = 0; d < D; d++)
				o[(h * T + i) * D + d] = acc[d] / z;
		}
}

void group_norm(const float *restrict x, const float *restrict g,
    const float *restrict b, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { G = 8, C = 8, P = 784 };
	for (int n = 0; n < G; n++) {
		const float *X = x + n * C * P;
		float s = 0, v = 0;
		for (int i = 0; i < C * P; i++)
			s += X[i];
		s /= C * P;
		for (int i = 0; i < C * P; i++)
			v += (X[i] - s) * (X[i] - s);
		v = 1 / sqrtf(v / (C * P) + 1e-5f);
		for (int c = 0; c < C; c++)
			for (int i = 0; i < P; i++)
				y[n * C * P + c * P + i] =
				    (X[c * P + i] - s) * v * g[n * C + c] +
				    b[n * C + c];
	}
}

void toeplitz(const float *restrict t, const float *restrict x,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 1024 };
	for (int i = 0; i < N; i++)
		y[i] = 0;
	for (int j = 0; j < N; j++) {
		float a = x[j];
		const float *T = t + N - 1 - j;
		for (int i = 0; i < N; i++)
			y[i] += T[i] * a;
	}
}

void horner_channels(const float *restrict x, const float *restrict k,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int t = 0; t < 4096; t++)
		for (int c = 0; c < 16; c++) {
			float a = x[t * 16 + c];
			y[t * 16 + c] =
			    ((((k[80 + c] * a + k[64 + c]) * a + k[48 + c]) *
				     a +
				 k[32 + c]) *
				    a +
				k[16 + c]) *
				a +
			    k[c];
		}
}

void haar_2d(const float *restrict x, float *restrict ll, float *restrict lh,
    float *restrict hl, float *restrict hh, void *workspace)
{
	(void)workspace;
	enum { H = 256, W = 256 };
	for (int i = 0; i < H; i++) {
		const float *a = x + 2 * i * 2 * W, *b = a + 2 * W;
		for (int j = 0; j < W; j++) {
			float p = a[2 * j], q = a[2 * j + 1], r = b[2 * j],
			      s = b[2 * j + 1];
			ll[i * W + j] = .5f * (p + q + r + s);
			lh[i * W + j] = .5f * (p - q + r - s);
			hl[i * W + j] = .5f * (p + q - r - s);
			hh[i * W + j] = .5f * (p - q - r + s);
		}
	}
}

void nearest_centroid(const float *restrict x, const float *restrict c,
    int32_t *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 4096, K = 32, D = 8 };
	float ct[D][K];
	for (int k = 0; k < K; k++)
		for (int d = 0; d < D; d++)
			ct[d][k] = c[k * D + d];
	for (int n = 0; n < N; n++) {
		float s[K] = {0};
		for (int d = 0; d < D; d++) {
			float a = x[n * D + d];
			for (int k = 0; k < K; k++) {
				float e = a - ct[d][k];
				s[k] += e * e;
			}
		}
		float m = s[0];
		for (int k = 1; k < K; k++)
			m = s[k] < m ? s[k] : m;
		int b = 0;
		for (int k = K - 1; k >= 0; k--)
			if (s[k] == m)
				b = k;
		y[n] = b;
	}
}

void ycc_to_rgb(const uint8_t *restrict p, uint8_t *restrict o, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 65536; n++) {
		float y = p[3 * n], cb = (float)p[3 * n + 1] - 128,
		      cr = (float)p[3 * n + 2] - 128;
		float a[3] = {y + 1.402f * cr,
		    y - .344136f * cb - .714136f * cr, y + 1.772f * cb};
		for (int c = 0; c < 3; c++) {
			float v = a[c] + .5f;
			v = v < 0 ? 0 : v;
			v = v > 255 ? 255 : v;
			o[3 * n + c] = (uint8_t)v;
		}
	}
}

void channel_stats(const float *restrict x, float *restrict mu,
    float *restrict va, void *workspace)
{
	(void)workspace;
	enum { P = 3136, C = 64 };
	float s[C] = {0}, q[C] = {0};
	for (int p = 0; p < P; p++)
		for (int c = 0; c < C; c++) {
			float a = x[p * C + c];
			s[c] += a;
			q[c] += a * a;
		}
	for (int c = 0; c < C; c++) {
		mu[c] = s[c] / P;
		va[c] = q[c] / P - mu[c] * mu[c];
	}
}

void im2col(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 16, H = 56, W = 56 };
	for (int c = 0; c < C; c++)
		for (int r = 0; r < 3; r++)
			for (int s = 0; s < 3; s++)
				for (int i = 0; i < H; i++) {
					float *Y = y +
					    (((c * 3 + r) * 3 + s) * H + i) * W;
					int a = i + r - 1;
					if (a < 0 || a >= H) {
						memset(Y, 0, 4 * W);
						continue;
					}
					const float *X = x + (c * H + a) * W;
					int j0 = s == 0,
					    j1 = s == 2 ? W - 1 : W;
					if (j0)
						Y[0] = 0;
					if (j1 < W)
						Y[W - 1] = 0;
					memcpy(Y + j0, X + j0 + s - 1,
					    4 * (size_t)(j1 - j0));
				}
}

void pixel_shuffle(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 16, H = 64, W = 64 };
	for (int c = 0; c < C; c++)
		for (int i = 0; i < 2 * H; i++) {
			const float *a = x +
			    ((4 * c + 2 * (i & 1)) * H + i / 2) * W,
				    *b = a + H * W;
			float *Y = y + (c * 2 * H + i) * 2 * W;
			for (int j = 0; j < W; j++) {
				Y[2 * j] = a[j];
				Y[2 * j + 1] = b[j];
			}
		}
}

void ell_spmm(const float *restrict val, const int32_t *restrict col,
    const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { M = 1024, K = 16, N = 64, V = 1024 };
	for (int i = 0; i < M; i++) {
		float s[N] = {0};
		for (int k = 0; k < K; k++) {
			float a = val[i * K + k];
			int c = col[i * K + k];
			c = c < 0 ? 0 : c > V - 1 ? V - 1 : c;
			const float *X = x + c * N;
			for (int n = 0; n < N; n++)
				s[n] += a * X[n];
		}
		for (int n = 0; n < N; n++)
			y[i * N + n] = s[n];
	}
}

void huber(const float *restrict p, const float *restrict t, float *restrict l,
    float *restrict g, void *workspace)
{
	(void)workspace;
	enum { N = 100000 };
	float s = 0;
	for (int i = 0; i < N; i++) {
		float d = p[i] - t[i], a = fabsf(d);
		s += a <= 1 ? .5f * d * d : a - .5f;
		float c = d < -1 ? -1 : d;
		c = c > 1 ? 1 : c;
		g[i] = c / N;
	}
	*l = s / N;
}

void radix4(const float *restrict re, const float *restrict im,
    const float *restrict wr, const float *restrict wi, float *restrict yr,
    float *restrict yi, void *workspace)
{
	(void)workspace;
	enum { N = 4096 };
	for (int n = 0; n < N; n++) {
		float a[4], b[4];
		for (int k = 0; k < 4; k++) {
			a[k] = re[k * N + n] * wr[k * N + n] -
			    im[k * N + n] * wi[k * N + n];
			b[k] = re[k * N + n] * wi[k * N + n] +
			    im[k * N + n] * wr[k * N + n];
		}
		yr[n] = a[0] + a[2] + a[1] + a[3];
		yr[N + n] = a[0] - a[2] + b[1] - b[3];
		yr[2 * N + n] = a[0] + a[2] - a[1] - a[3];
		yr[3 * N + n] = a[0] - a[2] + b[3] - b[1];
		yi[n] = b[0] + b[2] + b[1] + b[3];
		yi[N + n] = b[0] - b[2] + a[3] - a[1];
		yi[2 * N + n] = b[0] + b[2] - b[1] - b[3];
		yi[3 * N + n] = b[0] - b[2] + a[1] - a[3];
	}
}

void rowmax_mask(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { M = 512, N = 1000 };
	for (int i = 0; i < M; i++) {
		const float *X = x + i * N;
		float m = X[0];
		for (int j = 1; j < N; j++)
			m = X[j] > m ? X[j] : m;
		m *= .9f;
		for (int j = 0; j < N; j++)
			y[i * N + j] = X[j] >= m ? X[j] : 0;
	}
}

void bias_relu_pool(const float *restrict x, const float *restrict b,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 64, H = 56, W = 56 };
	for (int c = 0; c < C; c++)
		for (int i = 0; i < 28; i++) {
			const float *p = x + (c * H + 2 * i) * W, *q = p + W;
			for (int j = 0; j < 28; j++) {
				float m = p[2 * j] > p[2 * j + 1]
				    ? p[2 * j]
				    : p[2 * j + 1],
				      n = q[2 * j] > q[2 * j + 1]
				    ? q[2 * j]
				    : q[2 * j + 1];
				m = m > n ? m : n;
				m += b[c];
				y[(c * 28 + i) * 28 + j] = m > 0 ? m : 0;
			}
		}
}

void focal_loss(const float *restrict p, const uint8_t *restrict t,
    float *restrict l, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 65536; i++) {
		float a = 1 - p[i];
		float u = -a * a * logf(p[i] + 1e-6f),
		      v = -p[i] * p[i] * logf(1.000001f - p[i]);
		l[i] = t[i] > 128 ? u : v;
	}
}
