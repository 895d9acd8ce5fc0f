/* Operators of any kind, written after all others were measured: what a C
 * programmer would write. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

static inline float bf(uint16_t h)
{
	union {
		uint32_t u;
		float f;
	} v = {(uint32_t)h << 16};
	return v.f;
}

static inline float sg(float x)
{
	return 1 / (1 + expf(-x));
}

void avg_pool1d(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 128, T = 500 };
	for (int c = 0; c < C; c++)
		for (int t = 0; t < T; t++) {
			const float *a = x + c * (2 * T + 2) + 2 * t;
			y[c * T + t] = 0.25f * (a[0] + a[1] + a[2] + a[3]);
		}
}

void bayer(const float *restrict x, float *restrict g, void *workspace)
{
	(void)workspace;
	enum { H = 240, W = 320, V = W + 2 };
	for (int i = 0; i < H; i++) {
		const float *a = x + i * V, *b = a + V, *c = b + V;
		for (int j = 0; j < W; j++) {
			float m =
			    0.25f * (a[j + 1] + c[j + 1] + b[j] + b[j + 2]);
			g[i * W + j] = (i + j) % 2 ? m : b[j + 1];
		}
	}
}

void bce_logits(const float *restrict x, const float *restrict y,
    float *restrict l, void *workspace)
{
	(void)workspace;
	enum { N = 64, C = 500 };
	for (int n = 0; n < N; n++) {
		float s = 0;
		for (int c = 0; c < C; c++) {
			float v = x[n * C + c];
			s += (v > 0 ? v : 0) - v * y[n * C + c] +
			    logf(1 + expf(-__builtin_fabsf(v)));
		}
		l[n] = s * 0.002f;
	}
}

void bf16_layer_norm(const uint16_t *restrict x, const float *restrict g,
    const float *restrict b, uint16_t *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 128, D = 768 };
	for (int n = 0; n < N; n++) {
		const uint16_t *a = x + n * D;
		float m = 0, v = 0;
		for (int d = 0; d < D; d++)
			m += bf(a[d]);
		m /= D;
		for (int d = 0; d < D; d++)
			v += (bf(a[d]) - m) * (bf(a[d]) - m);
		v = 1 / sqrtf(v / D + 1e-5f);
		for (int d = 0; d < D; d++) {
			union {
				uint32_t u;
				float f;
			} o = {.f = (bf(a[d]) - m) * v * g[d] + b[d]};
			y[n * D + d] = (o.u + 0x7fff + ((o.u >> 16) & 1)) >> 16;
		}
	}
}

void bilinear_u8(
    const unsigned char *restrict x, unsigned char *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 120, W = 160, V = W + 1 };
	for (int i = 0; i < H; i++) {
		const unsigned char *a = x + i * V, *b = a + V;
		unsigned char *o = y + 2 * i * 2 * W, *p = o + 2 * W;
		for (int j = 0; j < W; j++) {
			o[2 * j] = a[j];
			o[2 * j + 1] = (a[j] + a[j + 1] + 1) >> 1;
			p[2 * j] = (a[j] + b[j] + 1) >> 1;
			p[2 * j + 1] =
			    (a[j] + a[j + 1] + b[j] + b[j + 1] + 2) >> 2;
		}
	}
}

void black_scholes(const float *restrict s, const float *restrict k,
    const float *restrict t, float *restrict c, void *workspace)
{
	(void)workspace;
	enum { N = 20000 };
	for (int i = 0; i < N; i++) {
		float T = t[i] + 0.1f, r = sqrtf(T),
		      d1 = (logf((s[i] + 1) / (k[i] + 1)) + 0.065f * T) /
		    (0.3f * r);
		c[i] = (s[i] + 1) * 0.5f * (1 + erff(d1 * 0.70710678f)) -
		    (k[i] + 1) * expf(-0.02f * T) * 0.5f *
			(1 + erff((d1 - 0.3f * r) * 0.70710678f));
	}
}

void box_9(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 256, W = 320, V = W + 8 };
	float c[V];
	for (int j = 0; j < V; j++) {
		c[j] = 0;
		for (int r = 0; r < 8; r++)
			c[j] += x[r * V + j];
	}
	for (int i = 0; i < H; i++) {
		for (int j = 0; j < V; j++)
			c[j] += x[(i + 8) * V + j];
		for (int j = 0; j < W; j++)
			y[i * W + j] = 0.012345679f *
			    (c[j] + c[j + 1] + c[j + 2] + c[j + 3] + c[j + 4] +
				c[j + 5] + c[j + 6] + c[j + 7] + c[j + 8]);
		for (int j = 0; j < V; j++)
			c[j] -= x[i * V + j];
	}
}

void cdist_l1(
    const float *x, const float *y, float *restrict d, void *workspace)
{
	(void)workspace;
	enum { M = 128, N = 128, D = 48 };
	static float yt[D * N];
	for (int j = 0; j < N; j++)
		for (int k = 0; k < D; k++)
			yt[k * N + j] = y[j * D + k];
	for (int i = 0; i < M; i++) {
		float s[N];
		for (int j = 0; j < N; j++)
			s[j] = 0;
		for (int k = 0; k < D; k++) {
			float v = x[i * D + k];
			for (int j = 0; j < N; j++)
				s[j] += __builtin_fabsf(v - yt[k * N + j]);
		}
		for (int j = 0; j < N; j++)
			d[i * N + j] = s[j];
	}
}

void complex_matmul(const float *restrict ar, const float *restrict ai,
    const float *restrict br, const float *restrict bi, float *restrict cr,
    float *restrict ci, void *workspace)
{
	(void)workspace;
	enum { N = 96 };
	for (int i = 0; i < N; i++) {
		float r[N], m[N];
		for (int j = 0; j < N; j++)
			r[j] = m[j] = 0;
		for (int k = 0; k < N; k++) {
			float a = ar[i * N + k], b = ai[i * N + k];
			for (int j = 0; j < N; j++) {
				r[j] += a * br[k * N + j] - b * bi[k * N + j];
				m[j] += a * bi[k * N + j] + b * br[k * N + j];
			}
		}
		for (int j = 0; j < N; j++) {
			cr[i * N + j] = r[j];
			ci[i * N + j] = m[j];
		}
	}
}

void conv1d_ncw(const float *restrict x, const float *restrict f,
    const float *restrict b, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 64, T = 400, O = 64, K = 5 };
	for (int o = 0; o < O; o++) {
		float s[T];
		for (int t = 0; t < T; t++)
			s[t] = b[o];
		for (int c = 0; c < C; c++)
			for (int k = 0; k < K; k++) {
				float v = f[(o * C + c) * K + k];
				for (int t = 0; t < T; t++)
					s[t] += x[c * (T + K - 1) + t + k] * v;
			}
		for (int t = 0; t < T; t++)
			y[o * T + t] = s[t] > 0 ? s[t] : 0;
	}
}

void conv3x3_hwc_small(const float *restrict x, const float *restrict f,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 64, W = 64, C = 8, O = 8, V = W + 2 };
	for (int i = 0; i < H; i++)
		for (int j = 0; j < W; j += 4) {
			float s[4][O];
			for (int a = 0; a < 4; a++)
				for (int o = 0; o < O; o++)
					s[a][o] = 0;
			for (int r = 0; r < 3; r++)
				for (int q = 0; q < 3 * C; q++)
					for (int a = 0; a < 4; a++) {
						float v =
						    x[((i + r) * V + j + a) *
							    C +
							q];
						for (int o = 0; o < O; o++)
							s[a][o] += v *
							    f[(r * 3 * C + q) *
								    O +
								o];
					}
			for (int a = 0; a < 4; a++)
				for (int o = 0; o < O; o++)
					y[(i * W + j + a) * O + o] = s[a][o];
		}
}

void conv_s2_nhwc3(const float *restrict x, const float *restrict f,
    const float *restrict b, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 112, W = 112, C = 3, O = 16, V = 2 * W + 1 };
	for (int i = 0; i < H; i++)
		for (int j = 0; j < W; j++) {
			float s[O];
			for (int o = 0; o < O; o++)
				s[o] = b[o];
			for (int r = 0; r < 3; r++)
				for (int q = 0; q < 9; q++) {
					float v =
					    x[((2 * i + r) * V + 2 * j) * C +
						q];
					for (int o = 0; o < O; o++)
						s[o] +=
						    v * f[(r * 9 + q) * O + o];
				}
			for (int o = 0; o < O; o++)
				y[(i * W + j) * O + o] = s[o] < 0 ? 0
				    : s[o] > 6			  ? 6
								  : s[o];
		}
}

void corr_2(const float *restrict x, const float *restrict h, float *restrict y,
    void *workspace)
{
	(void)workspace;
	enum { N = 4096, K = 33 };
	for (int i = 0; i < N; i++) {
		float s = 0;
		for (int k = 0; k < K; k++)
			s += x[2 * i + k] * h[k];
		y[i] = s;
	}
}

void count_above(const unsigned char *restrict x,
    const unsigned char *restrict t, int *restrict c, void *workspace)
{
	(void)workspace;
	int s = 0;
	unsigned char k = t[0];
	for (int i = 0; i < 100000; i++)
		s += x[i] > k;
	*c = s;
}

void cross_entropy(const float *restrict x, const int *restrict t,
    float *restrict l, void *workspace)
{
	(void)workspace;
	enum { N = 256, C = 1000 };
	for (int n = 0; n < N; n++) {
		const float *a = x + n * C;
		float m = -1e30f, s = 0;
		for (int c = 0; c < C; c++)
			m = a[c] > m ? a[c] : m;
		for (int c = 0; c < C; c++)
			s += expf(a[c] - m);
		int k = t[n] < 0 ? 0 : t[n] > C - 1 ? C - 1 : t[n];
		l[n] = logf(s) + m - a[k];
	}
}

void depth_to_space(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { H = 64, W = 64, C = 16 };
	for (int i = 0; i < H; i++)
		for (int j = 0; j < W; j++)
			for (int r = 0; r < 2; r++)
				for (int s = 0; s < 2; s++)
					for (int c = 0; c < C; c++)
						y[((2 * i + r) * 2 * W + 2 * j +
						      s) *
							C +
						    c] = x[(i * W + j) * 4 * C +
						    (r * 2 + s) * C + c];
}

void depthwise_1d(const float *restrict x, const float *restrict f,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { T = 512, C = 384, K = 31 };
	for (int t = 0; t < T; t += 8)
		for (int c = 0; c < C; c += 16) {
			float s[8][16];
			for (int a = 0; a < 8; a++)
				for (int i = 0; i < 16; i++)
					s[a][i] = 0;
			for (int k = 0; k < K; k++)
				for (int a = 0; a < 8; a++)
					for (int i = 0; i < 16; i++)
						s[a][i] +=
						    x[(t + a + k) * C + c + i] *
						    f[k * C + c + i];
			for (int a = 0; a < 8; a++)
				for (int i = 0; i < 16; i++)
					y[(t + a) * C + c + i] = s[a][i];
		}
}

void ell_spmv(const float *restrict v, const int *restrict col,
    const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 20000, K = 12 };
	for (int i = 0; i < N; i++) {
		float s = 0;
		for (int k = 0; k < K; k++) {
			int c = col[i * K + k];
			c = c < 0 ? 0 : c > N - 1 ? N - 1 : c;
			s += v[i * K + k] * x[c];
		}
		y[i] = s;
	}
}

void embedding_bag(const float *restrict e, const int *restrict id,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { V = 5000, B = 256, K = 16, D = 64 };
	for (int b = 0; b < B; b++) {
		float s[D];
		for (int d = 0; d < D; d++)
			s[d] = 0;
		for (int k = 0; k < K; k++) {
			int v = id[b * K + k];
			v = v < 0 ? 0 : v > V - 1 ? V - 1 : v;
			for (int d = 0; d < D; d++)
				s[d] += e[v * D + d];
		}
		for (int d = 0; d < D; d++)
			y[b * D + d] = s[d] * (1.f / K);
	}
}

void f16_matvec(const _Float16 *restrict a, const float *restrict x,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { M = 512, K = 1024 };
	for (int i = 0; i < M; i++) {
		float s = 0;
		for (int k = 0; k < K; k++)
			s += (float)a[i * K + k] * x[k];
		y[i] = s;
	}
}

void fir_64(const float *restrict x, const float *restrict h, float *restrict y,
    void *workspace)
{
	(void)workspace;
	enum { N = 16384, K = 64 };
	for (int i = 0; i < N; i += 64) {
		float s[64];
		for (int j = 0; j < 64; j++)
			s[j] = 0;
		for (int k = 0; k < K; k++)
			for (int j = 0; j < 64; j++)
				s[j] += x[i + k + j] * h[k];
		for (int j = 0; j < 64; j++)
			y[i + j] = s[j];
	}
}

void fir_i16(const short *restrict x, const short *restrict h,
    short *restrict y, void *workspace)
{
	(void)workspace;
	enum { N = 8192, K = 32 };
	for (int i = 0; i < N; i += 32) {
		int s[32];
		for (int j = 0; j < 32; j++)
			s[j] = 16384;
		for (int k = 0; k < K; k++)
			for (int j = 0; j < 32; j++)
				s[j] += x[i + k + j] * h[k];
		for (int j = 0; j < 32; j++) {
			int v = s[j] >> 15;
			y[i + j] = v < -32768 ? -32768 : v > 32767 ? 32767 : v;
		}
	}
}

void gn_silu_nhwc(const float *restrict x, const float *restrict s,
    const float *restrict b, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { P = 256, G = 8, D = 16 };
	float m[G * D], q[G * D];
	for (int i = 0; i < G * D; i++)
		m[i] = q[i] = 0;
	for (int p = 0; p < P; p++)
		for (int i = 0; i < G * D; i++) {
			float v = x[p * G * D + i];
			m[i] += v;
			q[i] += v * v;
		}
	for (int g = 0; g < G; g++) {
		float a = 0, c = 0;
		for (int d = 0; d < D; d++) {
			a += m[g * D + d];
			c += q[g * D + d];
		}
		a /= P * D;
		c /= P * D;
		float r = 1 / sqrtf(c - a * a + 1e-5f);
		for (int d = 0; d < D; d++) {
			m[g * D + d] = a;
			q[g * D + d] = r;
		}
	}
	for (int p = 0; p < P; p++)
		for (int i = 0; i < G * D; i++) {
			float n =
			    (x[p * G * D + i] - m[i]) * q[i] * s[i] + b[i];
			y[p * G * D + i] = n / (1 + expf(-n));
		}
}

void huber(const float *restrict x, const float *restrict y, float *restrict l,
    void *workspace)
{
	(void)workspace;
	enum { N = 100000 };
	float s = 0;
	for (int i = 0; i < N; i++) {
		float d = __builtin_fabsf(x[i] - y[i]);
		s += d < 0.3f ? 0.5f * d * d : 0.3f * (d - 0.15f);
	}
	*l = s;
}

void instance_norm(const float *restrict x, const float *g, const float *b,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 32, P = 3136 };
	for (int c = 0; c < C; c++) {
		const float *q = x + c * P;
		float m = 0, v = 0;
		for (int p = 0; p < P; p++)
			m += q[p];
		m /= P;
		for (int p = 0; p < P; p++)
			v += (q[p] - m) * (q[p] - m);
		v /= P;
		float a = g[c] / sqrtf(v + 1e-5f);
		for (int p = 0; p < P; p++)
			y[c * P + p] = (q[p] - m) * a + b[c];
	}
}

void kl_rows(const float *restrict p, const float *restrict q,
    float *restrict d, void *workspace)
{
	(void)workspace;
	enum { N = 256, C = 1000 };
	for (int n = 0; n < N; n++) {
		float s = 0;
		for (int c = 0; c < C; c++)
			s += (p[n * C + c] + 0.01f) *
			    (logf(p[n * C + c] + 0.01f) -
				logf(q[n * C + c] + 0.01f));
		d[n] = s;
	}
}

void knn_ip(const float *restrict q, const float *restrict x, int *restrict a,
    void *workspace)
{
	(void)workspace;
	enum { Q = 64, N = 1000, D = 32 };
	static float xt[D * N];
	for (int j = 0; j < N; j++)
		for (int d = 0; d < D; d++)
			xt[d * N + j] = x[j * D + d];
	for (int i = 0; i < Q; i++) {
		float s[N];
		for (int j = 0; j < N; j++)
			s[j] = 0;
		for (int d = 0; d < D; d++) {
			float v = q[i * D + d];
			for (int j = 0; j < N; j++)
				s[j] += v * xt[d * N + j];
		}
		float m = s[0];
		int k = 0;
		for (int j = 0; j < N; j++)
			if (s[j] > m) {
				m = s[j];
				k = j;
			}
		a[i] = k;
	}
}

void linear_attention(const float *restrict q, const float *restrict k,
    const float *restrict v, float *restrict o, void *workspace)
{
	(void)workspace;
	enum { N = 512, D = 64, E = 64 };
	static float kv[D * E], z[D];
	for (int i = 0; i < D * E; i++)
		kv[i] = 0;
	for (int d = 0; d < D; d++)
		z[d] = 0;
	for (int n = 0; n < N; n++) {
		float x[D];
		for (int d = 0; d < D; d++) {
			x[d] = expf(k[n * D + d]);
			z[d] += x[d];
		}
		for (int d = 0; d < D; d++)
			for (int e = 0; e < E; e++)
				kv[d * E + e] += x[d] * v[n * E + e];
	}
	for (int n = 0; n < N; n++) {
		float s[E], t = 0.001f;
		for (int e = 0; e < E; e++)
			s[e] = 0;
		for (int d = 0; d < D; d++) {
			t += q[n * D + d] * z[d];
			for (int e = 0; e < E; e++)
				s[e] += q[n * D + d] * kv[d * E + e];
		}
		t = 1 / t;
		for (int e = 0; e < E; e++)
			o[n * E + e] = s[e] * t;
	}
}

void lrn(const float *restrict x, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { C = 64, P = 27 * 27 };
	for (int c = 0; c < C; c++) {
		for (int p = 0; p < P; p++) {
			float s = 0;
			for (int k = -2; k <= 2; k++)
				if (c + k >= 0 && c + k < C)
					s += x[(c + k) * P + p] *
					    x[(c + k) * P + p];
			float b = 1 + 0.00002f * s, q = sqrtf(b);
			y[c * P + p] = x[c * P + p] / (q * sqrtf(q));
		}
	}
}

void lstm_gates(const float *restrict g, const float *restrict c,
    float *restrict n, float *restrict h, void *workspace)
{
	(void)workspace;
	enum { B = 32, H = 256 };
	for (int b = 0; b < B; b++)
		for (int i = 0; i < H; i++) {
			const float *a = g + b * 4 * H + i;
			float v = sg(a[H]) * c[b * H + i] +
			    sg(a[0]) * tanhf(a[2 * H]);
			n[b * H + i] = v;
			h[b * H + i] = sg(a[3 * H]) * tanhf(v);
		}
}

void masked_mean(const float *restrict x, const int *restrict n,
    float *restrict s, void *workspace)
{
	(void)workspace;
	enum { B = 32, T = 128, D = 256 };
	for (int b = 0; b < B; b++) {
		float a[D];
		for (int d = 0; d < D; d++)
			a[d] = 0;
		for (int t = 0; t < T && t < n[b]; t++)
			for (int d = 0; d < D; d++)
				a[d] += x[(b * T + t) * D + d];
		float r = 1.f / (n[b] > 1 ? n[b] : 1);
		for (int d = 0; d < D; d++)
			s[b * D + d] = a[d] * r;
	}
}

void mel(const float *re, const float *im, const float *fb, float *restrict m,
    void *workspace)
{
	(void)workspace;
	enum { T = 100, F = 257, B = 40 };
	for (int t = 0; t < T; t++) {
		float s[B];
		for (int b = 0; b < B; b++)
			s[b] = 0;
		for (int f = 0; f < F; f++) {
			float p = re[t * F + f] * re[t * F + f] +
			    im[t * F + f] * im[t * F + f];
			for (int b = 0; b < B; b++)
				s[b] += p * fb[f * B + b];
		}
		for (int b = 0; b < B; b++)
			m[t * B + b] = logf(s[b] + 1e-6f);
	}
}

void mel_delta(const float *restrict x, float *restrict d, void *workspace)
{
	(void)workspace;
	enum { T = 200, B = 80 };
	for (int t = 0; t < T; t++)
		for (int b = 0; b < B; b++) {
			float s = 0;
			for (int k = 1; k <= 4; k++)
				s += k *
				    (x[(t + 4 + k) * B + b] -
					x[(t + 4 - k) * B + b]);
			d[t * B + b] = s * (1.f / 60);
		}
}

void outer_norm(const float *restrict x, const float *restrict y,
    float *restrict p, void *workspace)
{
	(void)workspace;
	enum { N = 300, M = 200 };
	for (int i = 0; i < N; i++) {
		float s = 0;
		for (int j = 0; j < M; j++) {
			float d = x[i] - y[j];
			p[i * M + j] = expf(-d * d);
			s += p[i * M + j];
		}
		s = 1 / s;
		for (int j = 0; j < M; j++)
			p[i * M + j] *= s;
	}
}

void pool_places2(const float *restrict x, float *restrict m, int *restrict p,
    void *workspace)
{
	(void)workspace;
	enum { C = 32, H = 56, W = 56 };
	for (int c = 0; c < C; c++)
		for (int i = 0; i < H; i++)
			for (int j = 0; j < W; j++) {
				const float *a =
				    x + (c * 2 * H + 2 * i) * 2 * W + 2 * j;
				float b = a[0];
				int q = 0;
				if (a[1] > b) {
					b = a[1];
					q = 1;
				}
				if (a[2 * W] > b) {
					b = a[2 * W];
					q = 2;
				}
				if (a[2 * W + 1] > b) {
					b = a[2 * W + 1];
					q = 3;
				}
				m[(c * H + i) * W + j] = b;
				p[(c * H + i) * W + j] = q;
			}
}

void quat_rotate(const float *restrict q, const float *restrict v,
    float *restrict o, void *workspace)
{
	(void)workspace;
	enum { N = 10000 };
	for (int n = 0; n < N; n++) {
		float a = q[4 * n], x = q[4 * n + 1], y = q[4 * n + 2],
		      z = q[4 * n + 3], u = v[3 * n], p = v[3 * n + 1],
		      r = v[3 * n + 2];
		float t0 = 2 * (y * r - z * p), t1 = 2 * (z * u - x * r),
		      t2 = 2 * (x * p - y * u);
		o[3 * n] = u + a * t0 + y * t2 - z * t1;
		o[3 * n + 1] = p + a * t1 + z * t0 - x * t2;
		o[3 * n + 2] = r + a * t2 + x * t1 - y * t0;
	}
}

void rbf(const float *x, const float *y, float *restrict o, void *workspace)
{
	(void)workspace;
	enum { M = 128, N = 160, D = 32 };
	static float yt[D * N];
	for (int j = 0; j < N; j++)
		for (int k = 0; k < D; k++)
			yt[k * N + j] = y[j * D + k];
	for (int i = 0; i < M; i++) {
		float s[N];
		for (int j = 0; j < N; j++)
			s[j] = 0;
		for (int k = 0; k < D; k++) {
			float v = x[i * D + k];
			for (int j = 0; j < N; j++) {
				float t = v - yt[k * N + j];
				s[j] += t * t;
			}
		}
		for (int j = 0; j < N; j++)
			o[i * N + j] = expf(-0.5f * s[j]);
	}
}

void rope_hd(const float *restrict x, const float *restrict c,
    const float *restrict s, float *restrict y, void *workspace)
{
	(void)workspace;
	enum { T = 128, H = 12, D = 64, G = 32 };
	for (int t = 0; t < T; t++)
		for (int h = 0; h < H; h++) {
			const float *a = x + (t * H + h) * D;
			float *o = y + (t * H + h) * D;
			for (int d = 0; d < G; d++) {
				o[d] = a[d] * c[t * G + d] -
				    a[d + G] * s[t * G + d];
				o[d + G] = a[d + G] * c[t * G + d] +
				    a[d] * s[t * G + d];
			}
		}
}

void stft_frames(const float *restrict x, const float *restrict h,
    float *restrict y, void *workspace)
{
	(void)workspace;
	enum { T = 200, K = 256, F = 32 };
	for (int t = 0; t < T; t++)
		for (int f = 0; f < F; f++) {
			float s = 0;
			for (int k = 0; k < K; k++)
				s += x[80 * t + k] * h[f * K + k];
			y[t * F + f] = s;
		}
}

void symmetrize(const float *restrict a, float *restrict s, void *workspace)
{
	(void)workspace;
	enum { N = 1024, B = 16 };
	for (int i = 0; i < N; i += B)
		for (int j = 0; j < N; j += B)
			for (int p = i; p < i + B; p++)
				for (int q = j; q < j + B; q++)
					s[p * N + q] = 0.5f *
					    (a[p * N + q] + a[q * N + p]);
}

void tropical(
    const float *a, const float *b, float *restrict c, void *workspace)
{
	(void)workspace;
	enum { M = 192, N = 192, K = 192 };
	for (int i = 0; i < M; i++) {
		float m[N];
		for (int j = 0; j < N; j++)
			m[j] = 1e30f;
		for (int k = 0; k < K; k++) {
			float v = a[i * K + k];
			for (int j = 0; j < N; j++) {
				float e = v + b[k * N + j];
				m[j] = e < m[j] ? e : m[j];
			}
		}
		for (int j = 0; j < N; j++)
			c[i * N + j] = m[j];
	}
}

void variance_hw(const float *restrict x, float *restrict v, void *workspace)
{
	(void)workspace;
	enum { C = 64, P = 32 * 33 };
	float s[P], q[P];
	for (int p = 0; p < P; p++)
		s[p] = q[p] = 0;
	for (int c = 0; c < C; c++)
		for (int p = 0; p < P; p++) {
			float a = x[c * P + p];
			s[p] += a;
			q[p] += a * a;
		}
	for (int p = 0; p < P; p++)
		v[p] = q[p] / C - (s[p] / C) * (s[p] / C);
}
