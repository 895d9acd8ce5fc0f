#include "test/common_compose.h"

#include <stdarg.h>
#include <stdbool.h>

#include "lib/buf.h"
#include "lib/vec.h"

enum { LEAST_LAYERS = 2, MOST_LAYERS = 8 };

/* An image with its channels first or last, rows of vectors, a vector. */
typedef enum { FIRST, LAST, ROWS, VECTOR } Layout;

typedef struct {
	const char *name;
	Layout layout;
	int c, y, x; /* ROWS: y vectors of c; VECTOR: c */
	int read;    /* by so many layers */
} Tensor;

typedef struct {
	Arena *arena;
	Rng *rng;
	int size, names;
	VEC(Tensor) tensors;
	Buf inputs, compute; /* lines of the operator file */
} Composer;

static int below(Composer *c, int n)
{
	return (int)rng_below(c->rng, (uint64_t)n);
}

static int between(Composer *c, int least, int most)
{
	return least + below(c, most - least + 1);
}

/* --- text -------------------------------------------------------------------- */

static const char *ordered(Composer *c, Layout layout, const char *channel,
    const char *y, const char *x)
{
	switch (layout) {
	case FIRST: return arena_printf(c->arena, "%s, %s, %s", channel, y, x);
	case LAST: return arena_printf(c->arena, "%s, %s, %s", y, x, channel);
	case ROWS: return arena_printf(c->arena, "%s, %s", y, channel);
	default: return channel;
	}
}

static const char *axis(Composer *c, const char *name, int extent)
{
	return arena_printf(c->arena, "%s < %d", name, extent);
}

static const char *axes(Composer *c, const Tensor *t)
{
	return ordered(c, t->layout, axis(c, "c", t->c), axis(c, "y", t->y),
	    axis(c, "x", t->x));
}

static const char *shape(Composer *c, const Tensor *t)
{
	return ordered(c, t->layout, arena_printf(c->arena, "%d", t->c),
	    arena_printf(c->arena, "%d", t->y),
	    arena_printf(c->arena, "%d", t->x));
}

/* An element of a tensor. */
static const char *at(Composer *c, const Tensor *t, const char *channel,
    const char *y, const char *x)
{
	return arena_printf(
	    c->arena, "%s[%s]", t->name, ordered(c, t->layout, channel, y, x));
}

static const char *here(Composer *c, const Tensor *t)
{
	return at(c, t, "c", "y", "x");
}

static const char *constant(Composer *c, const char *extents)
{
	const char *name = arena_printf(c->arena, "w%d", c->names++);
	buf_printf(&c->inputs, "  %s: 'const f32[%s]'\n", name, extents);
	return name;
}

/* A definition of the layer in hand. */
static Tensor define(Composer *c, Layout layout, int channels, int y, int x)
{
	return (Tensor){arena_printf(c->arena, "t%d", c->names++), layout,
	    channels, y, x, 0};
}

static Tensor like(Composer *c, const Tensor *t)
{
	return define(c, t->layout, t->c, t->y, t->x);
}

__attribute__((format(printf, 3, 4))) static void body(
    Composer *c, const Tensor *t, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	buf_printf(&c->compute, "  %s[%s] = ", t->name, axes(c, t));
	buf_vprintf(&c->compute, format, args);
	buf_putc(&c->compute, '\n');
	va_end(args);
}

/* Zeros around an image. */
static Tensor padded(Composer *c, const Tensor *t, int by)
{
	Tensor p = define(c, t->layout, t->c, t->y + 2 * by, t->x + 2 * by);
	body(c, &p, "if %d <= y < %d and %d <= x < %d then %s else 0", by,
	    t->y + by, by, t->x + by,
	    at(c, t, "c", arena_printf(c->arena, "y - %d", by),
		arena_printf(c->arena, "x - %d", by)));
	return p;
}

/* --- layers of images, and of what has channels ---------------------------------- */

static Tensor convolution(Composer *c, const Tensor *t)
{
	int k = 1 + 2 * below(c, 2), step = k == 3 ? 1 + below(c, 2) : 1;
	Tensor p = k > 1 ? padded(c, t, k / 2) : *t;
	Tensor s = define(c, t->layout, between(c, 2, 6) * c->size,
	    (t->y - 1) / step + 1, (t->x - 1) / step + 1);
	const char *w = constant(
	    c, arena_printf(c->arena, "%d, %d, %d, %d", s.c, t->c, k, k));
	body(c, &s, "sum[i < %d, r < %d, q < %d](%s*%s[c, i, r, q])", t->c, k,
	    k,
	    at(c, &p, "i", arena_printf(c->arena, "y*%d + r", step),
		arena_printf(c->arena, "x*%d + q", step)),
	    w);
	Tensor r = like(c, &s);
	const char *b = constant(c, arena_printf(c->arena, "%d", s.c));
	body(c, &r, "max(%s + %s[c], 0)", here(c, &s), b);
	return r;
}

static Tensor depthwise(Composer *c, const Tensor *t)
{
	int k = 3 + 2 * below(c, 2);
	Tensor p = padded(c, t, k / 2), s = like(c, t);
	const char *w =
	    constant(c, arena_printf(c->arena, "%d, %d, %d", t->c, k, k));
	body(c, &s, "sum[r < %d, q < %d](%s*%s[c, r, q])", k, k,
	    at(c, &p, "c", "y + r", "x + q"), w);
	return s;
}

static Tensor pool(Composer *c, const Tensor *t)
{
	int k = 2 + below(c, 2);
	bool mean = below(c, 2);
	Tensor s =
	    define(c, t->layout, t->c, (t->y - k) / 2 + 1, (t->x - k) / 2 + 1);
	body(c, &s, "%s[r < %d, q < %d](%s)%s", mean ? "sum" : "max", k, k,
	    at(c, t, "c", "y*2 + r", "x*2 + q"),
	    mean ? k == 2 ? "*0.25" : "/9" : "");
	return s;
}

/* The greatest, or the sum, over the channels. */
static Tensor over_channels(Composer *c, const Tensor *t)
{
	Tensor s = define(c, t->layout, 1, t->y, t->x);
	body(c, &s, "%s[i < %d](%s)", below(c, 2) ? "sum" : "max", t->c,
	    at(c, t, "i", "y", "x"));
	return s;
}

/* Over all places. */
static Tensor global_mean(Composer *c, const Tensor *t)
{
	Tensor s = define(c, VECTOR, t->c, 1, 1);
	if (t->layout == ROWS)
		body(c, &s, "sum[y < %d](%s)/%d", t->y, here(c, t), t->y);
	else
		body(c, &s, "sum[y < %d, x < %d](%s)/%d", t->y, t->x,
		    here(c, t), t->y * t->x);
	return s;
}

static Tensor dense(Composer *c, const Tensor *t)
{
	Tensor s = define(c, t->layout, between(c, 2, 9) * c->size, t->y, t->x);
	const char *w =
	    constant(c, arena_printf(c->arena, "%d, %d", t->c, s.c));
	const char *b = constant(c, arena_printf(c->arena, "%d", s.c));
	body(c, &s, "sum[i < %d](%s*%s[i, c]) + %s[c]", t->c,
	    at(c, t, "i", "y", "x"), w, b);
	return s;
}

static Tensor activation(Composer *c, const Tensor *t)
{
	static const char *const forms[] = {"max(%s, 0)", "%s*sigmoid(%s)",
	    "tanh(%s)", "0.5*%s*(1 + erf(%s*0.70710678))", "clamp(%s, 0, 6)"};
	const char *form = forms[below(c, 5)], *e = here(c, t);
	Tensor s = like(c, t);
	buf_printf(&c->compute, "  %s[%s] = ", s.name, axes(c, &s));
	for (const char *p = form; *p; p++) {
		if (*p == '%')
			buf_puts(&c->compute, e), p++;
		else
			buf_putc(&c->compute, *p);
	}
	buf_putc(&c->compute, '\n');
	return s;
}

static Tensor excite(Composer *c, const Tensor *t)
{
	Tensor g = global_mean(c, t), h = dense(c, &g),
	       s = define(c, VECTOR, t->c, 1, 1), r = like(c, t);
	const char *w =
	    constant(c, arena_printf(c->arena, "%d, %d", h.c, t->c));
	body(c, &s, "sigmoid(sum[i < %d](max(%s[i], 0)*%s[i, c]))", h.c, h.name,
	    w);
	body(c, &r, "%s*%s[c]", here(c, t), s.name);
	return r;
}

/* --- statistics of each place over its channels ---------------------------------- */

static const char *statistic(Composer *c, const Tensor *t, const char *text)
{
	const char *name = arena_printf(c->arena, "t%d", c->names++);
	const char *y = axis(c, "y", t->y);
	buf_printf(&c->compute, "  %s[%s] = %s\n", name,
	    t->layout == VECTOR ? ""
		: t->layout == ROWS
		? y
		: arena_printf(c->arena, "%s, %s", y, axis(c, "x", t->x)),
	    text);
	return arena_printf(c->arena, "%s[%s]", name,
	    t->layout == VECTOR	    ? ""
		: t->layout == ROWS ? "y"
				    : "y, x");
}

static Tensor softmax(Composer *c, const Tensor *t)
{
	const char *e = at(c, t, "i", "y", "x");
	const char *m =
	    statistic(c, t, arena_printf(c->arena, "max[i < %d](%s)", t->c, e));
	const char *z = statistic(c, t,
	    arena_printf(c->arena, "sum[i < %d](exp(%s - %s))", t->c, e, m));
	Tensor s = like(c, t);
	body(c, &s, "exp(%s - %s)/%s", here(c, t), m, z);
	return s;
}

static Tensor layer_norm(Composer *c, const Tensor *t)
{
	const char *e = at(c, t, "i", "y", "x");
	const char *m = statistic(
	    c, t, arena_printf(c->arena, "sum[i < %d](%s)/%d", t->c, e, t->c));
	const char *v = statistic(c, t,
	    arena_printf(c->arena, "sum[i < %d]((%s - %s)*(%s - %s))/%d", t->c,
		e, m, e, m, t->c));
	Tensor s = like(c, t);
	const char *g = constant(c, arena_printf(c->arena, "%d", t->c));
	body(c, &s, "(%s - %s)*rsqrt(%s + 1e-3)*%s[c]", here(c, t), m, v, g);
	return s;
}

static Tensor length_norm(Composer *c, const Tensor *t)
{
	const char *e = at(c, t, "i", "y", "x");
	const char *n = statistic(c, t,
	    arena_printf(c->arena, "sqrt(sum[i < %d](%s*%s))", t->c, e, e));
	Tensor s = like(c, t);
	body(c, &s, "%s/max(%s, 0.125)", here(c, t), n);
	return s;
}

/* --- layers of one layout ---------------------------------------------------------- */

static Tensor batch_norm(Composer *c, const Tensor *t)
{
	Tensor m = global_mean(c, t), v = like(c, &m), s = like(c, t);
	body(c, &v, "sum[y < %d, x < %d]((%s - %s[c])*(%s - %s[c]))/%d", t->y,
	    t->x, here(c, t), m.name, here(c, t), m.name, t->y * t->x);
	body(c, &s, "(%s - %s[c])/sqrt(%s[c] + 1e-3)", here(c, t), m.name,
	    v.name);
	return s;
}

static Tensor upsample(Composer *c, const Tensor *t)
{
	Tensor s = define(c, t->layout, t->c, 2 * t->y, 2 * t->x);
	body(c, &s, "%s", at(c, t, "c", "y//2", "x//2"));
	return s;
}

static Tensor attention(Composer *c, const Tensor *t)
{
	Tensor scores = define(c, ROWS, t->y, t->y, 1), s = like(c, t);
	body(c, &scores, "sum[i < %d](%s*%s)*0.25", t->c,
	    at(c, t, "i", "y", "x"), at(c, t, "i", "c", "x"));
	Tensor p = softmax(c, &scores);
	body(c, &s, "sum[i < %d](%s*%s)", t->y, at(c, &p, "i", "y", "x"),
	    at(c, t, "c", "i", "x"));
	return s;
}

/* --- layers of two tensors --------------------------------------------------------- */

/* Another of the layout and places; NULL.  `channels`: and as many channels. */
static Tensor *other(Composer *c, int tensor, bool channels)
{
	const Tensor *t = &c->tensors.at[tensor];
	for (int i = 0; i < c->tensors.n; i++) {
		Tensor *o = &c->tensors.at[i];
		if (i != tensor && o->layout == t->layout && o->y == t->y &&
		    o->x == t->x && (!channels || o->c == t->c))
			return o;
	}
	return NULL;
}

static Tensor added(Composer *c, const Tensor *t, const Tensor *o)
{
	Tensor s = like(c, t);
	body(c, &s, "%s + %s", here(c, t), here(c, o));
	return s;
}

static Tensor joined(Composer *c, const Tensor *t, const Tensor *o)
{
	Tensor s = define(c, t->layout, t->c + o->c, t->y, t->x);
	body(c, &s, "if c < %d then %s else %s", t->c, here(c, t),
	    at(c, o, arena_printf(c->arena, "c - %d", t->c), "y", "x"));
	return s;
}

/* --- a layer ------------------------------------------------------------------------ */

typedef Tensor Make(Composer *c, const Tensor *t);

static Make *const of_images[] = {convolution, convolution, depthwise,
    depthwise, pool, excite, activation, batch_norm, softmax, layer_norm,
    length_norm, upsample, over_channels, global_mean, dense};
static Make *const of_rows[] = {dense, dense, dense, activation, softmax,
    layer_norm, length_norm, attention, over_channels, global_mean};
static Make *const of_vectors[] = {
    dense, activation, softmax, layer_norm, length_norm};

enum {
	IMAGES = sizeof of_images / sizeof *of_images,
	OF_ROWS = sizeof of_rows / sizeof *of_rows,
	VECTORS = sizeof of_vectors / sizeof *of_vectors
};

static Make *choose(Composer *c, const Tensor *t)
{
	if (t->layout == VECTOR)
		return of_vectors[below(c, VECTORS)];
	if (t->layout == ROWS)
		return of_rows[below(c, OF_ROWS)];
	for (;;) {
		Make *make = of_images[below(c, IMAGES)];
		if ((make == pool && (t->y < 3 || t->x < 3)) ||
		    (make == upsample && t->y > 16 * c->size))
			continue;
		return make;
	}
}

static void add_layer(Composer *c, int tensor)
{
	Tensor t = c->tensors.at[tensor], made;
	bool channels = below(c, 2);
	Tensor *o = below(c, 4) ? NULL : other(c, tensor, channels);
	buf_puts(&c->compute, "  # layer\n");
	c->tensors.at[tensor].read++;
	if (o) {
		o->read++;
		made = channels ? added(c, &t, o) : joined(c, &t, o);
	} else {
		made = choose(c, &t)(c, &t);
	}
	vec_push(c->arena, &c->tensors, made);
}

/* --- files ------------------------------------------------------------------------- */

/* What no layer reads is an output, and now and then something else. */
static const char *whole(Composer *c, const char *name)
{
	Buf out = {0}, outputs = {0};
	buf_printf(&out, "tunec: 1\nname: %s\ninputs:\n", name);
	buf_printf(&out, "  %s: 'f32[%s]'\n", c->tensors.at[0].name,
	    shape(c, &c->tensors.at[0]));
	buf_printf(&out, "%scompute: |\n%s", buf_text(&c->inputs),
	    buf_text(&c->compute));
	for (int i = 1; i < c->tensors.n; i++)
		if (!c->tensors.at[i].read || !below(c, 8))
			buf_printf(&outputs, "%s%s", outputs.size ? ", " : "",
			    c->tensors.at[i].name);
	buf_printf(&out, "outputs: [%s]\n", buf_text(&outputs));
	const char *text = arena_strdup(c->arena, buf_text(&out));
	buf_free(&out);
	buf_free(&outputs);
	return text;
}

static Tensor first(Composer *c)
{
	Layout layout = (Layout)below(c, 3);
	int y = between(c, 4, 9) * c->size;
	return define(c, layout, between(c, 2, 5) * c->size, y,
	    layout == ROWS ? 1 : between(c, 4, 9) * c->size);
}

const char *compose(Arena *arena, Rng *rng, const char *name, int size)
{
	Composer c = {.arena = arena, .rng = rng, .size = size};
	vec_push(arena, &c.tensors, first(&c));
	for (int n = between(&c, LEAST_LAYERS, MOST_LAYERS); n > 0; n--) {
		/* mostly what was made last */
		int last = c.tensors.n - 1;
		add_layer(&c, below(&c, 4) ? last : below(&c, last + 1));
	}
	const char *text = whole(&c, name);
	buf_free(&c.inputs);
	buf_free(&c.compute);
	return text;
}
