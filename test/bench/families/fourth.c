/* Operators of any kind, the fourth lot, written before anything was measured, those
 * that took more than C, and others like them: what a C programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline int iclamp(int v, int lo, int hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

void stereo_meter(const int16_t *restrict x, float *restrict mono,
    int32_t *restrict peak, float *restrict rms, void *workspace)
{
	(void)workspace;
	for (int b = 0; b < 50; b++) {
		int p = 0;
		float q = 0;
		for (int t = 0; t < 480; t++) {
			int l = x[(b * 480 + t) * 2],
			    r = x[(b * 480 + t) * 2 + 1];
			float m = (l + r) * (1 / 65536.f);
			mono[b * 480 + t] = m;
			q += m * m;
			l = l < 0 ? -l : l;
			r = r < 0 ? -r : r;
			p = l > p ? l : p;
			p = r > p ? r : p;
		}
		peak[b] = p;
		rms[b] = sqrtf(q / 480);
	}
}

void pack_bits(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 4000; n++) {
		int v = 0;
#pragma GCC unroll 8
		for (int b = 0; b < 8; b++)
			v |= (x[8 * n + b] > 49) << (7 - b);
		y[n] = v;
	}
}

void resample_3_2(const float *restrict x, const float *restrict w,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 3000; n++) {
		const float *a = x + 2 * n;
		float *o = y + 3 * n;
		o[0] = a[0] * w[0] + a[1] * w[1] + a[2] * w[2] + a[3] * w[3];
		o[1] = a[0] * w[4] + a[1] * w[5] + a[2] * w[6] + a[3] * w[7];
		o[2] = a[1] * w[8] + a[2] * w[9] + a[3] * w[10] + a[4] * w[11];
	}
}

void over_rgba(const uint8_t *restrict s, const uint8_t *restrict d,
    uint8_t *restrict o, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 20000; n++)
		for (int c = 0; c < 4; c++) {
			unsigned v = s[n * 4 + c] +
			    (d[n * 4 + c] * (255u - s[n * 4 + 3]) + 127) / 255;
			o[n * 4 + c] = v > 255 ? 255 : v;
		}
}

void sextets(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 6000; n++) {
		const uint8_t *p = x + 3 * n;
		uint8_t *o = y + 4 * n;
		o[0] = p[0] >> 2;
		o[1] = (p[0] << 4 & 48) | p[1] >> 4;
		o[2] = (p[1] << 2 & 60) | p[2] >> 6;
		o[3] = p[2] & 63;
	}
}

void zscore_7(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 3000, C = 7 };
	float m[C] = {0}, v[C] = {0};
	for (int n = 0; n < N; n++)
		for (int c = 0; c < C; c++)
			m[c] += x[n * C + c];
	for (int c = 0; c < C; c++)
		m[c] /= N;
	for (int n = 0; n < N; n++)
		for (int c = 0; c < C; c++) {
			float d = x[n * C + c] - m[c];
			v[c] += d * d;
		}
	for (int c = 0; c < C; c++)
		v[c] = 1 / sqrtf(v[c] / (N - 1));
	for (int n = 0; n < N; n++)
		for (int c = 0; c < C; c++)
			y[n * C + c] = (x[n * C + c] - m[c]) * v[c];
}

void bond_price(const float *restrict c, const float *restrict r,
    float *restrict p, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 500; n++) {
		float d = 1 + r[n], t = 0;
		for (int k = 0; k < 20; k++)
			t += powf(d, -(k + 1));
		p[n] = c[n] * t + 100 * powf(d, -20);
	}
}

void unpack_bits(
    const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 8000; n++)
		for (int b = 0; b < 8; b++)
			y[8 * n + b] = x[n] >> (7 - b) & 1;
}

void box_down_5(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 60, W = 80 };
	for (int i = 0; i < H; i++) {
		uint16_t t[5 * W * 3];
		for (int j = 0; j < 5 * W * 3; j++) {
			int v = 0;
			for (int r = 0; r < 5; r++)
				v += x[(5 * i + r) * 5 * W * 3 + j];
			t[j] = v;
		}
		for (int j = 0; j < W; j++)
			for (int c = 0; c < 3; c++) {
				unsigned v = 12;
				for (int s = 0; s < 5; s++)
					v += t[(5 * j + s) * 3 + c];
				y[(i * W + j) * 3 + c] = v / 25;
			}
	}
}

void rgb565_unpack(
    const uint16_t *restrict p, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 10000; n++) {
		unsigned v = p[n], r = v >> 11, g = v >> 5 & 63, b = v & 31;
		y[3 * n] = r << 3 | r >> 2;
		y[3 * n + 1] = g << 2 | g >> 4;
		y[3 * n + 2] = b << 3 | b >> 2;
	}
}

void swe_flux(const float *restrict q, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 100, W = 121, V = W - 1 };
	for (int i = 0; i < H; i++) {
		float s[W], f1[W], f2[W];
		const float *a = q + i * W, *b = a + H * W, *c = b + H * W;
		for (int j = 0; j < W; j++) {
			float u = b[j] / (a[j] + .1f);
			s[j] = fabsf(u) + sqrtf(9.81f * a[j]);
			f1[j] = b[j] * u + 4.905f * a[j] * a[j];
			f2[j] = c[j] * u;
		}
		float *y0 = y + i * V, *y1 = y0 + H * V, *y2 = y1 + H * V;
		for (int j = 0; j < V; j++) {
			float m = .5f * (s[j] > s[j + 1] ? s[j] : s[j + 1]);
			y0[j] = .5f * (b[j] + b[j + 1]) - m * (a[j + 1] - a[j]);
			y1[j] =
			    .5f * (f1[j] + f1[j + 1]) - m * (b[j + 1] - b[j]);
			y2[j] =
			    .5f * (f2[j] + f2[j + 1]) - m * (c[j + 1] - c[j]);
		}
	}
}

void fdtd_te(const float *restrict ex, const float *restrict ey,
    const float *restrict hz, float *restrict exn, float *restrict eyn,
    float *restrict hzn, void *workspace)
{
	(void)workspace;
	enum { H = 120, W = 131 };
	for (int i = 0; i < H; i++) {
		const float *h = hz + i * W;
		if (i)
			for (int j = 0; j < W; j++)
				exn[i * W + j] =
				    ex[i * W + j] - .5f * (h[j] - h[j - W]);
		else
			memcpy(exn, ex, W * 4);
		eyn[i * W] = ey[i * W];
		for (int j = 1; j < W; j++)
			eyn[i * W + j] =
			    ey[i * W + j] + .5f * (h[j] - h[j - 1]);
		if (i) {
			float *o = hzn + (i - 1) * W, *a = exn + (i - 1) * W,
			      *b = eyn + (i - 1) * W;
			const float *g = h - W;
			for (int j = 0; j < W - 1; j++)
				o[j] = g[j] -
				    .7f * (a[j] - a[j + W] + b[j + 1] - b[j]);
			o[W - 1] = g[W - 1];
		}
	}
	memcpy(hzn + (H - 1) * W, hz + (H - 1) * W, W * 4);
}

void instance_norm_grad(const float *restrict x, const float *restrict gy,
    const float *restrict g, float *restrict gx, float *restrict gb,
    float *restrict ga, void *workspace)
{
	(void)workspace;
	enum { C = 24, P = 195 };
	for (int c = 0; c < C; c++) {
		const float *X = x + c * P, *G = gy + c * P;
		float m = 0, v = 0, a = 0, b = 0;
		for (int p = 0; p < P; p++) {
			m += X[p];
			a += G[p];
		}
		m /= P;
		for (int p = 0; p < P; p++) {
			float d = X[p] - m;
			v += d * d;
			b += G[p] * d;
		}
		float r = 1 / sqrtf(v / P + 1e-5f);
		b *= r;
		ga[c] = a;
		gb[c] = b;
		float k = g[c] * r, k1 = a / P, k2 = b * r / P;
		for (int p = 0; p < P; p++)
			gx[c * P + p] = k * (G[p] - k1 - (X[p] - m) * k2);
	}
}

void rms_norm_grad(const float *restrict x, const float *restrict gy,
    const float *restrict w, float *restrict gx, float *restrict gw,
    void *workspace)
{
	(void)workspace;
	enum { N = 200, D = 96 };
	float a[D] = {0};
	for (int n = 0; n < N; n++) {
		const float *X = x + n * D, *G = gy + n * D;
		float q = 0, k = 0;
		for (int d = 0; d < D; d++) {
			q += X[d] * X[d];
			k += G[d] * w[d] * X[d];
		}
		float r = 1 / sqrtf(q / D + 1e-6f);
		k = k / D * r * r;
		for (int d = 0; d < D; d++) {
			gx[n * D + d] = r * (G[d] * w[d] - X[d] * k);
			a[d] += G[d] * X[d] * r;
		}
	}
	for (int d = 0; d < D; d++)
		gw[d] = a[d];
}

void adafactor(const float *restrict g, const float *restrict r,
    const float *restrict c, float *restrict rn, float *restrict cn,
    float *restrict u, void *workspace)
{
	(void)workspace;
	enum { M = 200, N = 300 };
	float a[N] = {0}, m = 0;
	for (int i = 0; i < M; i++) {
		float s = 0;
		for (int j = 0; j < N; j++) {
			float q = g[i * N + j] * g[i * N + j];
			s += q;
			a[j] += q;
		}
		rn[i] = .9f * r[i] + .1f * s / N;
		m += rn[i];
	}
	m /= M;
	float b[N];
	for (int j = 0; j < N; j++) {
		cn[j] = .9f * c[j] + .1f * a[j] / M;
		b[j] = 1 / sqrtf(cn[j]);
	}
	for (int i = 0; i < M; i++) {
		float k = sqrtf(m / rn[i]);
		for (int j = 0; j < N; j++)
			u[i * N + j] = g[i * N + j] * k * b[j];
	}
}

void kmer_codes(const uint8_t *restrict s, int32_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 20000; i++) {
		int v = 0;
#pragma GCC unroll 11
		for (int k = 0; k < 11; k++)
			v |= (s[i + k] & 3) << 2 * (10 - k);
		y[i] = v;
	}
}

void grey_world(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 10000 };
	int s0 = 0, s1 = 0, s2 = 0;
	for (int n = 0; n < N; n++) {
		s0 += x[3 * n];
		s1 += x[3 * n + 1];
		s2 += x[3 * n + 2];
	}
	float a = (s0 + s1 + s2) / 3.f, k[3] = {a / s0, a / s1, a / s2}, t[48];
	for (int i = 0; i < 48; i++)
		t[i] = k[i % 3];
	for (int n = 0; n < 3 * N; n += 48)
		for (int i = 0; i < 48; i++) {
			float v = x[n + i] * t[i] + .5f;
			v = v > 255 ? 255 : v;
			y[n + i] = (int)v;
		}
}

void ray_spheres(const float *restrict o, const float *restrict d,
    const float *restrict c, float *restrict t, void *workspace)
{
	(void)workspace;
	float X[40], Y[40], Z[40], Q[40];
	for (int s = 0; s < 40; s++) {
		X[s] = c[4 * s];
		Y[s] = c[4 * s + 1];
		Z[s] = c[4 * s + 2];
		Q[s] = c[4 * s + 3] * c[4 * s + 3];
	}
	for (int n = 0; n < 600; n++) {
		float m = 1e9f;
		for (int s = 0; s < 40; s++) {
			float x = X[s] - o[3 * n], y = Y[s] - o[3 * n + 1],
			      z = Z[s] - o[3 * n + 2];
			float b = x * d[3 * n] + y * d[3 * n + 1] +
			    z * d[3 * n + 2],
			      h = b * b - (x * x + y * y + z * z - Q[s]);
			float v = b - sqrtf(h > 0 ? h : 0);
			v = h > 0 && v > 0 ? v : 1e9f;
			m = v < m ? v : m;
		}
		t[n] = m;
	}
}

void png_sub(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 128, W = 771 };
	for (int i = 0; i < H; i++) {
		const uint8_t *a = x + i * W;
		uint8_t *b = y + i * W;
		for (int j = 0; j < 3; j++)
			b[j] = a[j];
		for (int j = 3; j < W; j++)
			b[j] = a[j] - a[j - 3];
	}
}

void gc_windows(const uint8_t *restrict s, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 3000 };
	int *t = workspace;
	for (int i = 0; i < N + 9; i++) {
		int v = 0;
#pragma GCC unroll 10
		for (int k = 0; k < 10; k++) {
			int b = s[10 * i + k] & 3;
			v += b == 1 || b == 2;
		}
		t[i] = v;
	}
	for (int i = 0; i < N; i++) {
		int v = 0;
#pragma GCC unroll 10
		for (int k = 0; k < 10; k++)
			v += t[i + k];
		y[i] = v * .01f;
	}
}

void bollinger(const float *restrict x, float *restrict up, float *restrict lo,
    void *workspace)
{
	(void)workspace;
	enum { T = 500, S = 40, L = 20 };
	for (int t = 0; t < T; t++) {
		float m[S] = {0}, v[S] = {0};
		for (int k = 0; k < L; k++)
			for (int s = 0; s < S; s++)
				m[s] += x[(t + k) * S + s];
		for (int s = 0; s < S; s++)
			m[s] /= L;
		for (int k = 0; k < L; k++)
			for (int s = 0; s < S; s++) {
				float d = x[(t + k) * S + s] - m[s];
				v[s] += d * d;
			}
		for (int s = 0; s < S; s++) {
			float d = 2 * sqrtf(v[s] / L);
			up[t * S + s] = m[s] + d;
			lo[t * S + s] = m[s] - d;
		}
	}
}

void weekday_anomaly(
    const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { W = 100, D = 210 };
	float m[D] = {0};
	for (int w = 0; w < W; w++)
		for (int i = 0; i < D; i++)
			m[i] += x[w * D + i];
	for (int i = 0; i < D; i++)
		m[i] /= W;
	for (int w = 0; w < W; w++)
		for (int i = 0; i < D; i++)
			y[w * D + i] = x[w * D + i] - m[i];
}

void rank1_update(const float *restrict a, const float *restrict x,
    const float *restrict y, const float *restrict k, float *restrict b,
    void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 300; i++) {
		float v = *k * x[i];
		for (int j = 0; j < 500; j++)
			b[i * 500 + j] = a[i * 500 + j] + v * y[j];
	}
}

void bn_grad_nhwc(const float *restrict x, const float *restrict gy,
    const float *restrict mu, const float *restrict inv,
    const float *restrict g, float *restrict gx, float *restrict dg,
    float *restrict db, void *workspace)
{
	(void)workspace;
	enum { P = 784, C = 40 };
	float a[C] = {0}, b[C] = {0}, k0[C], k1[C], k2[C];
	for (int p = 0; p < P; p++)
		for (int c = 0; c < C; c++) {
			a[c] += gy[p * C + c];
			b[c] += gy[p * C + c] * (x[p * C + c] - mu[c]);
		}
	for (int c = 0; c < C; c++) {
		db[c] = a[c];
		dg[c] = b[c] * inv[c];
		k0[c] = g[c] * inv[c];
		k1[c] = a[c] / P;
		k2[c] = inv[c] * dg[c] / P;
	}
	for (int p = 0; p < P; p++)
		for (int c = 0; c < C; c++)
			gx[p * C + c] = k0[c] *
			    (gy[p * C + c] - k1[c] -
				(x[p * C + c] - mu[c]) * k2[c]);
}

void edge_max(const float *restrict x, const int32_t *restrict e,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 500, K = 9, D = 20 };
	for (int n = 0; n < N; n++) {
		const float *a[K];
		for (int k = 0; k < K; k++)
			a[k] = x + iclamp(e[n * K + k], 0, N - 1) * D;
		for (int d = 0; d < D; d++) {
			float m = a[0][d];
#pragma GCC unroll 9
			for (int k = 1; k < K; k++)
				m = a[k][d] > m ? a[k][d] : m;
			y[n * D + d] = m - x[n * D + d];
		}
	}
}

void mulaw(const float *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int i = 0; i < 16000; i++) {
		float v = 2 * x[i] - 1,
		      m = logf(1 + 255 * fabsf(v)) * .18033688f;
		m = v < 0 ? -m : m;
		y[i] = (int)((m + 1) * 127.5f);
	}
}

void exp_series(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	for (int b = 0; b < 800; b++) {
		float s = 0;
		for (int t = 0; t < 20; t++)
			s += expf(x[b] * (t + 1));
		y[b] = s;
	}
}

void harmonics(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 1000; n++) {
		float s = 0;
		for (int h = 0; h < 16; h++)
			s += sinf(x[n] * (2 * h + 1)) / (2 * h + 1);
		y[n] = s;
	}
}

void rbf_best(const float *restrict x, const float *restrict g,
    float *restrict y, void *workspace)
{
	(void)workspace;
	for (int a = 0; a < 12; a++)
		for (int n = 0; n < 100; n++) {
			float s = -INFINITY;
			for (int k = 0; k < 10; k++) {
				float d = x[a * 100 + n] - 0.5f * k,
				      v = g[a] * expf(-d * d);
				s = v > s ? v : s;
			}
			y[a * 100 + n] = s;
		}
}

void count_levels(const float *restrict x, int *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 2000; n++) {
		int s = 0;
		for (int k = 0; k < 30; k++)
			s += x[n] * x[n] > 0.1f * k;
		y[n] = s;
	}
}

void seasonal(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { W = 50, D = 480 };
	float m[D] = {0};
	for (int w = 0; w < W; w++)
		for (int i = 0; i < D; i++)
			m[i] += x[w * D + i];
	for (int i = 0; i < D; i++)
		m[i] /= W;
	for (int w = 0; w < W; w++)
		for (int i = 0; i < D; i++)
			y[w * D + i] = (x[w * D + i] - m[i]) * x[w * D + i];
}

void up_4_3(const float *restrict x, const float *restrict w, float *restrict y,
    void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 2500; n++) {
		const float *a = x + 3 * n;
		float *o = y + 4 * n;
		o[0] = a[0] * w[0] + a[1] * w[1] + a[2] * w[2];
		o[1] = a[0] * w[3] + a[1] * w[4] + a[2] * w[5];
		o[2] = a[1] * w[6] + a[2] * w[7] + a[3] * w[8];
		o[3] = a[2] * w[9] + a[3] * w[10] + a[4] * w[11];
	}
}

void iq_power(const int16_t *restrict x, float *restrict p,
    int32_t *restrict dc, void *workspace)
{
	(void)workspace;
	for (int b = 0; b < 40; b++) {
		float s = 0;
		int d = 0;
		for (int t = 0; t < 600; t++) {
			int i = x[(b * 600 + t) * 2],
			    q = x[(b * 600 + t) * 2 + 1];
			s += (float)i * i + (float)q * q;
			d += i - q;
		}
		p[b] = s;
		dc[b] = d;
	}
}

void minmax_5(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 4000, C = 5 };
	float lo[C], hi[C];
	for (int c = 0; c < C; c++)
		lo[c] = hi[c] = x[c];
	for (int n = 0; n < N; n++)
		for (int c = 0; c < C; c++) {
			float v = x[n * C + c];
			lo[c] = v < lo[c] ? v : lo[c];
			hi[c] = v > hi[c] ? v : hi[c];
		}
	for (int c = 0; c < C; c++)
		hi[c] = 1 / (hi[c] - lo[c]);
	for (int n = 0; n < N; n++)
		for (int c = 0; c < C; c++)
			y[n * C + c] = (x[n * C + c] - lo[c]) * hi[c];
}

void center_6(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 2500, C = 6 };
	float m[C] = {0}, e[C] = {0};
	for (int n = 0; n < N; n++)
		for (int c = 0; c < C; c++)
			m[c] += x[n * C + c];
	for (int c = 0; c < C; c++)
		m[c] /= N;
	for (int n = 0; n < N; n++)
		for (int c = 0; c < C; c++)
			e[c] += fabsf(x[n * C + c] - m[c]);
	for (int c = 0; c < C; c++)
		e[c] = 1 / (e[c] / N);
	for (int n = 0; n < N; n++)
		for (int c = 0; c < C; c++) {
			float d = (x[n * C + c] - m[c]) * e[c];
			y[n * C + c] = d < -3 ? -3 : d > 3 ? 3 : d;
		}
}

void nibble_pack(const int8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	for (int n = 0; n < 5000; n++)
		y[n] = (x[2 * n] & 15) | (x[2 * n + 1] & 15) << 4;
}

void box3_rgb(const uint8_t *restrict x, uint8_t *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 80, W = 100 };
	for (int i = 0; i < H; i++) {
		uint16_t t[3 * W * 3];
		for (int j = 0; j < 3 * W * 3; j++) {
			int v = 0;
			for (int r = 0; r < 3; r++)
				v += x[(3 * i + r) * 3 * W * 3 + j];
			t[j] = v;
		}
		for (int j = 0; j < W; j++)
			for (int c = 0; c < 3; c++) {
				unsigned v = 4;
				for (int s = 0; s < 3; s++)
					v += t[(3 * j + s) * 3 + c];
				y[(i * W + j) * 3 + c] = v / 9;
			}
	}
}

void wave2d(const float *restrict p, const float *restrict vx,
    const float *restrict vy, const float *restrict c, float *restrict nx,
    float *restrict ny, float *restrict np, void *workspace)
{
	(void)workspace;
	enum { H = 110, W = 150 };
	for (int i = 0; i < H; i++) {
		const float *P = p + i * W;
		float *X = nx + i * W, *Y = ny + i * W, *Z = np + i * W;
		for (int j = 0; j < W - 1; j++)
			X[j] = vx[i * W + j] - .4f * (P[j + 1] - P[j]);
		X[W - 1] = 0;
		if (i < H - 1)
			for (int j = 0; j < W; j++)
				Y[j] = vy[i * W + j] - .4f * (P[j + W] - P[j]);
		else
			memset(Y, 0, W * 4);
		Z[0] = 0;
		if (i)
			for (int j = 1; j < W; j++)
				Z[j] = P[j] -
				    c[i * W + j] *
					(X[j] - X[j - 1] + Y[j] - Y[j - W]);
		else
			memset(Z, 0, W * 4);
	}
}

void ln_grad(const float *restrict x, const float *restrict gy,
    const float *restrict w, float *restrict gx, float *restrict gw,
    float *restrict gb, void *workspace)
{
	(void)workspace;
	enum { N = 150, D = 128 };
	float ww[D] = {0}, bb[D] = {0};
	for (int n = 0; n < N; n++) {
		const float *X = x + n * D, *G = gy + n * D;
		float m = 0, v = 0, a = 0, b = 0;
		for (int d = 0; d < D; d++) {
			m += X[d];
			a += G[d] * w[d];
		}
		m /= D;
		a /= D;
		for (int d = 0; d < D; d++) {
			float t = X[d] - m;
			v += t * t;
			b += G[d] * w[d] * t;
		}
		float r = 1 / sqrtf(v / D + 1e-5f);
		b = b * r / D * r;
		for (int d = 0; d < D; d++) {
			float t = X[d] - m;
			gx[n * D + d] = r * (G[d] * w[d] - a - t * b);
			ww[d] += G[d] * t * r;
			bb[d] += G[d];
		}
	}
	memcpy(gw, ww, sizeof ww);
	memcpy(gb, bb, sizeof bb);
}

void double_center(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { M = 120, N = 140 };
	float c[N] = {0}, r[M], t = 0;
	for (int i = 0; i < M; i++) {
		float s = 0;
		for (int j = 0; j < N; j++) {
			s += x[i * N + j];
			c[j] += x[i * N + j];
		}
		r[i] = s / N;
		t += r[i];
	}
	t /= M;
	for (int j = 0; j < N; j++)
		c[j] /= M;
	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++)
			y[i * N + j] = -.5f * (x[i * N + j] - r[i] - c[j] + t);
}
