/* Operators of any kind, the second lot, written after all others were measured:
 * what a C programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>

static inline unsigned char least(unsigned char a, unsigned char b)
{
	return a < b ? a : b;
}

static inline unsigned char most(unsigned char a, unsigned char b)
{
	return a > b ? a : b;
}

void adaptive_pool(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 128, H = 31, W = 45, P = 7 };
	for (int c = 0; c < C; c++)
		for (int i = 0; i < P; i++)
			for (int j = 0; j < P; j++) {
				float s = 0;
				int i0 = i * H / P, i1 = (i + 1) * H / P + 1,
				    j0 = j * W / P, j1 = (j + 1) * W / P + 1;
				if (i1 > H)
					i1 = H;
				if (j1 > W)
					j1 = W;
				for (int p = i0; p < i1; p++)
					for (int q = j0; q < j1; q++)
						s += x[(c * H + p) * W + q];
				y[(c * P + i) * P + j] = s / 30;
			}
}

void advect_3d(const float *restrict x, const float *restrict u,
    const float *restrict v, const float *restrict w, float *restrict y,
    void *workspace)
{
	(void)workspace;
	enum { D = 48, H = 48, W = 48 };
	for (int d = 0; d < D; d++)
		for (int i = 0; i < H; i++)
			for (int j = 0; j < W; j++) {
				int o = (d * H + i) * W + j;
				const float *p = x +
				    ((d + 1) * (H + 2) + i + 1) * (W + 2) + j +
				    1;
				float c = p[0];
				float a = u[o] > 0.5f ? c - p[-1] : p[1] - c,
				      b = v[o] > 0.5f ? c - p[-(W + 2)]
						      : p[W + 2] - c,
				      e = w[o] > 0.5f
				    ? c - p[-(H + 2) * (W + 2)]
				    : p[(H + 2) * (W + 2)] - c;
				y[o] =
				    c - 0.1f * (u[o] * a + v[o] * b + w[o] * e);
			}
}

void bsr_spmv(const float *restrict v, const int *restrict c,
    const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { R = 256, K = 8, B = 4, N = 256 };
	for (int r = 0; r < R; r++) {
		float s[B] = {0};
		for (int k = 0; k < K; k++) {
			int q = c[r * K + k];
			q = q < 0 ? 0 : q > N - 1 ? N - 1 : q;
			for (int i = 0; i < B; i++)
				for (int j = 0; j < B; j++)
					s[i] +=
					    v[((r * K + k) * B + i) * B + j] *
					    x[q * B + j];
		}
		for (int i = 0; i < B; i++)
			y[r * B + i] = s[i];
	}
}

void centroid_update(const float *restrict x, const unsigned char *restrict a,
    float *restrict c, void *workspace)
{
	(void)workspace;
	enum { N = 2000, K = 16, D = 32 };
	for (int i = 0; i < K * D; i++)
		c[i] = 0;
	for (int n = 0; n < N; n++)
		for (int d = 0; d < D; d++)
			c[(a[n] % 16) * D + d] += x[n * D + d];
}

void channel_softmax(
    const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 4, C = 21, H = 64, W = 64 };
	for (int n = 0; n < N; n++)
		for (int i = 0; i < H; i++) {
			float m[W], s[W];
			const float *a = x + (n * C * H + i) * W;
			float *o = y + (n * C * H + i) * W;
			for (int j = 0; j < W; j++) {
				m[j] = -INFINITY;
				s[j] = 0;
			}
			for (int c = 0; c < C; c++)
				for (int j = 0; j < W; j++)
					m[j] = a[c * H * W + j] > m[j]
					    ? a[c * H * W + j]
					    : m[j];
			for (int c = 0; c < C; c++)
				for (int j = 0; j < W; j++) {
					float v =
					    expf(2 * (a[c * H * W + j] - m[j]));
					o[c * H * W + j] = v;
					s[j] += v;
				}
			for (int j = 0; j < W; j++)
				s[j] = 1 / s[j];
			for (int c = 0; c < C; c++)
				for (int j = 0; j < W; j++)
					o[c * H * W + j] *= s[j];
		}
}

void color_matrix(const unsigned char *restrict x, const short *restrict m,
    unsigned char *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 40000 };
	for (int n = 0; n < N; n++)
		for (int o = 0; o < 3; o++) {
			int s = 128;
			for (int c = 0; c < 3; c++)
				s += x[3 * n + c] * m[3 * o + c];
			s >>= 8;
			y[3 * n + o] = s < 0 ? 0 : s > 255 ? 255 : s;
		}
}

void complex_fir(const float *restrict x, const float *restrict h,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 8000, K = 32 };
	for (int n = 0; n < 2 * N; n++)
		y[n] = 0;
	for (int k = 0; k < K; k++) {
		float a = h[2 * k], b = h[2 * k + 1];
		for (int n = 0; n < N; n++) {
			float u = x[2 * (n + k)], v = x[2 * (n + k) + 1];
			y[2 * n] += u * a - v * b;
			y[2 * n + 1] += u * b + v * a;
		}
	}
}

void conv_gelu_res(const float *restrict x, const float *restrict w,
    const float *restrict r, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 32, H = 28, W = 28 };
	for (int i = 0; i < H; i++)
		for (int j = 0; j < W; j++) {
			float a[C] = {0};
			for (int p = 0; p < 3; p++)
				for (int q = 0; q < 3; q++)
					for (int c = 0; c < C; c++) {
						float v = x[((i + p) * (W + 2) +
								j + q) *
							C +
						    c];
						for (int o = 0; o < C; o++)
							a[o] += v *
							    w[((p * 3 + q) * C +
								  c) *
								    C +
								o];
					}
			for (int o = 0; o < C; o++)
				y[(i * W + j) * C + o] =
				    r[(i * W + j) * C + o] +
				    0.5f * a[o] *
					(1 +
					    tanhf(0.79788f *
						(a[o] +
						    0.044715f * a[o] * a[o] *
							a[o])));
		}
}

void convex_upsample(const float *restrict f, const float *restrict l,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 40, W = 56 };
	for (int i = 0; i < H; i++)
		for (int s = 0; s < 4; s++) {
			float m[W], z[W], t[W];
			for (int j = 0; j < W; j++) {
				m[j] = -INFINITY;
				z[j] = t[j] = 0;
			}
			for (int k = 0; k < 9; k++)
				for (int j = 0; j < W; j++) {
					float v =
					    l[((k * 4 + s) * H + i) * W + j];
					m[j] = v > m[j] ? v : m[j];
				}
			for (int k = 0; k < 9; k++)
				for (int j = 0; j < W; j++) {
					float v = expf(
					    l[((k * 4 + s) * H + i) * W + j] -
					    m[j]);
					z[j] += v;
					t[j] += v *
					    f[(i + k / 3) * (W + 2) + j +
						k % 3];
				}
			for (int j = 0; j < W; j++)
				y[(2 * i + s / 2) * 2 * W + 2 * j + s % 2] =
				    t[j] / z[j];
		}
}

void cost_volume(const float *restrict l, const float *restrict r,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { D = 16, C = 32, H = 24, W = 80 };
	for (int d = 0; d < D; d++)
		for (int i = 0; i < H; i++) {
			float s[W] = {0};
			for (int c = 0; c < C; c++)
				for (int j = d; j < W; j++)
					s[j] += l[(c * H + i) * W + j] *
					    r[(c * H + i) * W + j - d];
			for (int j = 0; j < W; j++)
				y[(d * H + i) * W + j] = s[j] / C;
		}
}

void det_3x3(const float *restrict a, float *restrict d, void *workspace)
{
	(void)workspace;
	enum { N = 5000 };
	for (int n = 0; n < N; n++) {
		const float *p = a + 9 * n;
		d[n] = p[0] * (p[4] * p[8] - p[5] * p[7]) -
		    p[1] * (p[3] * p[8] - p[5] * p[6]) +
		    p[2] * (p[3] * p[7] - p[4] * p[6]);
	}
}

void distance_rows(const float *restrict f, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { R = 128, N = 256 };
	for (int r = 0; r < R; r++)
		for (int j = 0; j < N; j++) {
			float m = INFINITY;
			for (int k = 0; k < N; k++) {
				float v =
				    f[r * N + k] + (float)((j - k) * (j - k));
				m = v < m ? v : m;
			}
			y[r * N + j] = m;
		}
}

void dither_threshold(const unsigned char *restrict x,
    const unsigned char *restrict t, unsigned char *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 240, W = 320 };
	for (int i = 0; i < H; i++)
		for (int j = 0; j < W; j++)
			y[i * W + j] =
			    x[i * W + j] > t[i % 8 * 8 + j % 8] ? 255 : 0;
}

void dynamic_quantize(const float *restrict x, float *restrict s,
    signed char *restrict q, void *workspace)
{
	(void)workspace;
	enum { N = 256, D = 512 };
	for (int n = 0; n < N; n++) {
		float m = 0;
		for (int d = 0; d < D; d++) {
			float v = fabsf(x[n * D + d] - 0.5f);
			m = v > m ? v : m;
		}
		s[n] = m / 127;
		float r = 127 / m;
		for (int d = 0; d < D; d++) {
			float v = rintf((x[n * D + d] - 0.5f) * r);
			v = v < -127 ? -127 : v > 127 ? 127 : v;
			q[n * D + d] = (signed char)v;
		}
	}
}

void gated_conv1d(const float *restrict x, const float *restrict f,
    const float *restrict g, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { T = 512, C = 64 };

	for (int t = 0; t < T; t++) {
		float a[C] = {0}, b[C] = {0};
		for (int k = 0; k < 3; k++)
			for (int c = 0; c < C; c++) {
				float v = x[(t + 2 * k) * C + c];
				for (int o = 0; o < C; o++) {
					a[o] += v * f[(k * C + c) * C + o];
					b[o] += v * g[(k * C + c) * C + o];
				}
			}
		for (int o = 0; o < C; o++)
			y[t * C + o] = tanhf(a[o]) / (1 + expf(-b[o]));
	}
}

void group_conv_small(const float *restrict x, const float *restrict w,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { G = 16, H = 28, W = 28 };
	for (int g = 0; g < G; g++)
		for (int o = 0; o < 4; o++)
			for (int i = 0; i < H; i++) {
				float s[W] = {0};
				for (int c = 0; c < 4; c++)
					for (int p = 0; p < 3; p++)
						for (int q = 0; q < 3; q++) {
							float v =
							    w[(((g * 4 + o) *
								       4 +
								   c) *
								      3 +
								  p) *
								    3 +
								q];
							const float *a = x +
							    ((g * 4 + c) *
								    (H + 2) +
								i + p) *
								(W + 2) +
							    q;
							for (int j = 0; j < W;
							     j++)
								s[j] +=
								    a[j] * v;
						}
				for (int j = 0; j < W; j++)
					y[((g * 4 + o) * H + i) * W + j] =
					    s[j] > 0 ? s[j] : 0;
			}
}

void group_dequant_matvec(const signed char *restrict w,
    const float *restrict s, const float *restrict x, float *restrict y,
    void *workspace)
{
	(void)workspace;
	enum { N = 512, K = 1024, G = 32 };
	for (int n = 0; n < N; n++) {
		float t = 0;
		for (int g = 0; g < K / G; g++) {
			float u = 0;
			for (int k = 0; k < G; k++)
				u += w[n * K + g * G + k] * x[g * G + k];
			t += u * s[n * (K / G) + g];
		}
		y[n] = t;
	}
}

void histogram(
    const unsigned char *restrict x, int *restrict h, void *workspace)
{
	(void)workspace;
	enum { N = 20000, B = 64 };
	for (int b = 0; b < B; b++)
		h[b] = 0;
	for (int n = 0; n < N; n++)
		h[x[n] / 4]++;
}

void hsv(const float *restrict x, float *restrict h, float *restrict s,
    void *workspace)
{
	(void)workspace;
	enum { N = 30000 };
	for (int n = 0; n < N; n++) {
		float r = x[n], g = x[N + n], b = x[2 * N + n];
		float a = r > g ? r : g;
		a = a > b ? a : b;
		float m = r < g ? r : g;
		m = m < b ? m : b;
		float d = a - m + 1e-6f;
		h[n] = a == r ? (g - b) / d
		    : a == g  ? 2 + (b - r) / d
			      : 4 + (r - g) / d;
		s[n] = d / (a + 1e-6f);
	}
}

void integral_image(
    const unsigned char *restrict x, int *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 120, W = 160 };
	for (int i = 0; i < H; i++) {
		int s = 0;
		for (int j = 0; j < W; j++) {
			s += x[i * W + j];
			y[i * W + j] = s + (i ? y[(i - 1) * W + j] : 0);
		}
	}
}

void lattice(const float *restrict f, float *restrict g0, float *restrict g1,
    float *restrict g2, float *restrict g5, void *workspace)
{
	(void)workspace;
	enum { N = 20000 };
	for (int n = 0; n < N; n++) {
		float r = 0;
		for (int q = 0; q < 9; q++)
			r += f[q * N + n];
		float u = (f[1 * N + n] - f[3 * N + n] + f[5 * N + n] -
			      f[6 * N + n] - f[7 * N + n] + f[8 * N + n]) /
		    r,
		      v = (f[2 * N + n] - f[4 * N + n] + f[5 * N + n] +
			      f[6 * N + n] - f[7 * N + n] - f[8 * N + n]) /
		    r,
		      k = 1 - 1.5f * (u * u + v * v);
		g0[n] =
		    f[0 * N + n] + 0.6f * (r * 0.444444f * k - f[0 * N + n]);
		g1[n] = f[1 * N + n] +
		    0.6f *
			(r * 0.111111f * (k + 3 * u + 4.5f * u * u) -
			    f[1 * N + n]);
		g2[n] = f[2 * N + n] +
		    0.6f *
			(r * 0.111111f * (k + 3 * v + 4.5f * v * v) -
			    f[2 * N + n]);
		g5[n] = f[5 * N + n] +
		    0.6f *
			(r * 0.027778f *
				(k + 3 * (u + v) + 4.5f * (u + v) * (u + v)) -
			    f[5 * N + n]);
	}
}

void lut_linear(const unsigned char *restrict x, const float *restrict t,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 100000 };
	for (int n = 0; n < N; n++)
		y[n] = t[x[n]] * 1.5f + 0.25f;
}

void max_pool3d(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 16, D = 16, H = 28, W = 28 };
	for (int c = 0; c < C; c++)
		for (int d = 0; d < D; d++)
			for (int i = 0; i < H; i++)
				for (int j = 0; j < W; j++) {
					float m = -INFINITY;
					for (int p = 0; p < 2; p++)
						for (int q = 0; q < 2; q++)
							for (int r = 0; r < 2;
							     r++)
								m = fmaxf(m,
								    x[((c * 2 *
									       D +
									   2 * d +
									   p) *
									      2 *
									      H +
									  2 * i +
									  q) *
									    2 *
									    W +
									2 * j +
									r]);
					y[((c * D + d) * H + i) * W + j] = m;
				}
}

void mean_pool_mask(const float *restrict x, const unsigned char *restrict m,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { B = 16, T = 100, D = 256 };
	for (int b = 0; b < B; b++) {
		float c = 0, s[D] = {0};
		for (int t = 0; t < T; t++) {
			float w = m[b * T + t];
			c += w;
			for (int d = 0; d < D; d++)
				s[d] += x[(b * T + t) * D + d] * w;
		}
		c = c > 1 ? c : 1;
		for (int d = 0; d < D; d++)
			y[b * D + d] = s[d] / c;
	}
}

void median_3x3(
    const unsigned char *restrict x, unsigned char *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 240, W = 320 };

	for (int i = 0; i < H; i++)
		for (int j = 0; j < W; j++) {
			unsigned char l[3], h[3], m[3];
			for (int k = 0; k < 3; k++) {
				const unsigned char *p =
				    x + (i + k) * (W + 2) + j;
				unsigned char s = least(p[0], p[1]),
					      t = most(p[0], p[1]);
				l[k] = least(s, p[2]);
				h[k] = most(t, p[2]);
				unsigned char u = least(t, p[2]);
				m[k] = most(s, u);
			}
			unsigned char a = most(most(l[0], l[1]), l[2]),
				      b = least(least(h[0], h[1]), h[2]);
			unsigned char s = least(m[0], m[1]),
				      t = most(m[0], m[1]), u = least(t, m[2]),
				      c = most(s, u);
			s = least(a, b);
			t = most(a, b);
			u = least(t, c);
			y[i * W + j] = most(s, u);
		}
}

void mixture(const float *restrict x, const float *restrict u,
    const float *restrict p, const float *restrict w, float *restrict l,
    void *workspace)
{
	(void)workspace;
	enum { N = 1000, K = 16, D = 8 };
	for (int n = 0; n < N; n++) {
		float q[K], m = -INFINITY, s = 0;
		for (int k = 0; k < K; k++) {
			float t = 0;
			for (int d = 0; d < D; d++) {
				float v = x[n * D + d] - u[k * D + d];
				t += v * v * p[k * D + d];
			}
			q[k] = w[k] - 0.5f * t;
			m = q[k] > m ? q[k] : m;
		}
		for (int k = 0; k < K; k++)
			s += expf(q[k] - m);
		l[n] = m + logf(s);
	}
}

void nll(const float *restrict x, const int *restrict t, float *restrict l,
    void *workspace)
{
	(void)workspace;
	enum { N = 512, C = 100 };
	for (int n = 0; n < N; n++) {
		float m = -INFINITY, s = 0;
		for (int c = 0; c < C; c++)
			m = x[n * C + c] > m ? x[n * C + c] : m;
		for (int c = 0; c < C; c++)
			s += expf(x[n * C + c] - m);
		int k = t[n] < 0 ? 0 : t[n] > C - 1 ? C - 1 : t[n];
		l[n] = logf(s) + m - x[n * C + k];
	}
}

void prelu(const float *restrict x, const float *restrict a, float *restrict y,
    void *workspace)
{
	(void)workspace;
	enum { C = 64, H = 56, W = 56 };
	for (int c = 0; c < C; c++)
		for (int i = 0; i < H * W; i++) {
			float v = x[c * H * W + i] - 0.5f;
			y[c * H * W + i] = v > 0 ? v : a[c] * v;
		}
}

void running_mean(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { B = 64, N = 512 };
	for (int b = 0; b < B; b++) {
		float s = 0;
		for (int n = 0; n < N; n++) {
			s += x[b * N + n];
			y[b * N + n] = s / (n + 1);
		}
	}
}

void second_difference(
    const double *restrict x, double *restrict e, void *workspace)
{
	(void)workspace;
	enum { B = 64, N = 1000 };
	for (int b = 0; b < B; b++) {
		double s = 0;
		for (int n = 0; n < N; n++) {
			const double *p = x + b * (N + 2) + n;
			double d = p[0] - 2 * p[1] + p[2];
			s += d * d;
		}
		e[b] = s;
	}
}

void separable_dw(const float *restrict x, const float *restrict a,
    const float *restrict b, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 32, H = 56, W = 56 };
	for (int c = 0; c < C; c++)
		for (int i = 0; i < H; i++) {
			float t[W + 6];
			for (int j = 0; j < W + 6; j++) {
				float s = 0;
				for (int k = 0; k < 7; k++)
					s += x[(c * (H + 6) + i + k) * (W + 6) +
						 j] *
					    a[c * 7 + k];
				t[j] = s;
			}
			for (int j = 0; j < W; j++) {
				float s = 0;
				for (int k = 0; k < 7; k++)
					s += t[j + k] * b[c * 7 + k];
				y[(c * H + i) * W + j] = s;
			}
		}
}

void short_rows_norm(
    const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 4000, D = 40 };
	for (int n = 0; n < N; n++) {
		const float *a = x + n * D;
		float m = 0, v = 0;
		for (int d = 0; d < D; d++)
			m += a[d];
		m /= D;
		for (int d = 0; d < D; d++)
			v += (a[d] - m) * (a[d] - m);
		v = 1 / sqrtf(v / D + 1e-5f);
		for (int d = 0; d < D; d++)
			y[n * D + d] = (a[d] - m) * v;
	}
}

void swap_halves(const float *restrict x, const float *restrict c,
    const float *restrict s, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { B = 32, N = 1024 };
	for (int b = 0; b < B; b++)
		for (int n = 0; n < N / 2; n++) {
			float u = x[b * N + n], v = x[b * N + n + N / 2];
			y[b * N + n] = u * c[n] - v * s[n];
			y[b * N + n + N / 2] = v * c[n] + u * s[n];
		}
}

void upsample_fir(const float *restrict x, const float *restrict h,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 4000, K = 8 };
	for (int n = 0; n < N; n++) {
		float a = 0, b = 0;
		for (int k = 0; k < K; k++) {
			a += x[n + k] * h[k];
			b += x[n + k] * h[K + k];
		}
		y[2 * n] = a;
		y[2 * n + 1] = b;
	}
}

void warp(const float *restrict x, const float *restrict u,
    const float *restrict v, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 120, W = 160 };
	for (int i = 0; i < H; i++)
		for (int j = 0; j < W; j++) {
			float r = i + 4 * v[i * W + j] - 2,
			      c = j + 4 * u[i * W + j] - 2;
			r = r < 0 ? 0 : r > H - 2 ? H - 2 : r;
			c = c < 0 ? 0 : c > W - 2 ? W - 2 : c;
			int p = (int)r, q = (int)c;
			float a = r - p, b = c - q;
			const float *o = x + p * W + q;
			y[i * W + j] = (1 - a) * ((1 - b) * o[0] + b * o[1]) +
			    a * ((1 - b) * o[W] + b * o[W + 1]);
		}
}

void xcorr_norm(const float *restrict x, const float *restrict h,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 2000, K = 64 };
	for (int n = 0; n < N; n++) {
		float p = 0, e = 0;
		for (int k = 0; k < K; k++) {
			p += x[n + k] * h[k];
			e += x[n + k] * x[n + k];
		}
		y[n] = p / sqrtf(e + 0.001f);
	}
}
