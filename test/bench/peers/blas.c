/* Products and norms of OpenBLAS or BLIS as sides of bench_sides, both operands
 * given at run time.
 *
 *     openblas product,m=M,n=N,k=K       also blis, or a FILE.so of either
 *     openblas product,m=M,n=N,k=K,b=B   B of them, one after another
 *     openblas l2,n=N                    the root of a sum of squares */
#include <dlfcn.h>

#include "test/bench/bench.h"
#include "test/bench/peers/side.h"

typedef void (*Sgemm)(int, int, int, int, int, int, float, const float *, int,
    const float *, int, float, float *, int);
typedef float (*Snrm2)(int, const float *, int);

typedef struct {
	Sgemm sgemm;
	Snrm2 snrm2;
	int m, n, k, batch;
	const float *a, *b;
	float *c;
	char about[128];
} Blas;

static char problem[512];

static void prepare(int threads)
{
	char text[32];
	snprintf(text, sizeof text, "%d", threads);
	setenv("OPENBLAS_NUM_THREADS", text, 1);
	setenv("BLIS_NUM_THREADS", text, 1);
	prepare_openblas();
}

static void *load(const char *text, int threads)
{
	char name[4096];
	snprintf(name, sizeof name, "%.*s", (int)strcspn(text, " "), text);
	prepare(threads);
	if (!strcmp(name, "openblas"))
		return dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
	if (!strcmp(name, "blis"))
		return dlopen("libblis.so.4", RTLD_NOW | RTLD_LOCAL);
	return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

/* A function of the library; wheels of OpenBLAS have a prefix. */
static void *find(void *library, const char *name)
{
	char longer[128];
	void *found = dlsym(library, name);
	snprintf(longer, sizeof longer, "scipy_%s", name);
	return found ? found : dlsym(library, longer);
}

static void describe(Blas *b, void *library, const char *text)
{
	char *(*config)(void) = NULL;
	const char *(*version)(void) = NULL;
	*(void **)&config = find(library, "openblas_get_config");
	*(void **)&version = dlsym(library, "bli_info_get_version_str");
	if (config)
		snprintf(b->about, sizeof b->about, "%.100s", config());
	else
		snprintf(b->about, sizeof b->about, "BLIS %.100s",
		    version ? version() : text);
}

void *side_open(const SideRequest *request, const char **why)
{
	const char *text = request->text;
	Blas *b = calloc(1, sizeof *b);
	void *library = load(text, request->threads);
	if (!library) {
		snprintf(problem, sizeof problem, "%s", dlerror());
		*why = problem;
		return NULL;
	}
	*(void **)&b->sgemm = find(library, "cblas_sgemm");
	*(void **)&b->snrm2 = find(library, "cblas_snrm2");
	b->m = side_number(text, "m", 1);
	b->n = side_number(text, "n", 0);
	b->k = side_number(text, "k", 0);
	b->batch = side_number(text, "b", 1);
	b->a = request->inputs[0];
	*why = "it has no such function";
	if (!side_is(text, "product") && !side_is(text, "l2"))
		return NULL;
	if (!b->sgemm || !b->snrm2)
		return NULL;
	if (side_is(text, "product"))
		b->b = request->inputs[1];
	b->c = calloc((size_t)b->batch * b->m * b->n, sizeof *b->c);
	describe(b, library, text);
	return b;
}

void side_run(void *side)
{
	Blas *s = side;
	if (!s->b) {
		*s->c = s->snrm2(s->n, s->a, 1);
		return;
	}
	for (int i = 0; i < s->batch; i++)
		s->sgemm(101, 111, 111, s->m, s->n, s->k, 1,
		    s->a + (size_t)i * s->m * s->k, s->k,
		    s->b + (size_t)i * s->k * s->n, s->n, 0,
		    s->c + (size_t)i * s->m * s->n, s->n);
}

void side_result(void *side, void *to)
{
	Blas *s = side;
	size_t n = s->b ? (size_t)s->batch * s->m * s->n : 1;
	memcpy(to, s->c, n * sizeof *s->c);
}

const char *side_about(void *side)
{
	return ((Blas *)side)->about;
}
