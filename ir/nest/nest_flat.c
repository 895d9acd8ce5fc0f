/* Two dimensions of a buffer, one behind the other, as one: what goes over both
 * of them whole, row by row, goes over all that lies there side by side.
 *
 *     y[i] = sum[r < 7, s < 7](x[i, r, s])      x[i, 0, s], s < 49
 */
#include "ir/nest/nest.h"

/* Is it 0, axes of one value being that? */
static bool is_zero(const Expr *e, const int64_t *extents)
{
	switch (e->op) {
	case OP_INT: return e->i == 0;
	case OP_AXIS: return extents[e->id] == 1;
	case OP_ADD:
		return is_zero(e->arg[0], extents) &&
		    is_zero(e->arg[1], extents);
	case OP_MUL:
		return is_zero(e->arg[0], extents) ||
		    is_zero(e->arg[1], extents);
	default: return false;
	}
}

int flat_axis(const Expr *index, const int64_t *extents)
{
	while (index->op == OP_ADD) {
		bool first = is_zero(index->arg[0], extents);
		if (!first && !is_zero(index->arg[1], extents))
			return -1;
		index = index->arg[first];
	}
	return index->op == OP_AXIS ? index->id : -1;
}

typedef struct {
	const FlatBuffer *of;
	const int64_t *extents;
	FlatAxes axes;
	int reads, outer, inner; /* how often each stands there */
	bool fits;
} Visit;

static bool visit_read(Expr *e, void *context)
{
	Visit *v = context;
	if (e->op != OP_READ || e->id != v->of->buffer)
		return true;
	int outer = flat_axis(e->arg[v->of->dim], v->extents);
	int inner = flat_axis(e->arg[v->of->dim + 1], v->extents);
	if (!v->reads++)
		v->axes = (FlatAxes){outer, inner};
	v->fits &= outer >= 0 && inner >= 0 && outer != inner &&
	    outer == v->axes.outer && inner == v->axes.inner;
	return true;
}

static bool visit_axis(Expr *e, void *context)
{
	Visit *v = context;
	v->outer += e->op == OP_AXIS && e->id == v->axes.outer;
	v->inner += e->op == OP_AXIS && e->id == v->axes.inner;
	return true;
}

bool flat_find(Expr *body, const FlatBuffer *of, const int64_t *extents,
    int nspatial, FlatAxes *axes)
{
	Visit v = {.of = of, .extents = extents, .fits = true};
	expr_walk(body, visit_read, &v);
	if (!v.fits || !v.reads)
		return false;
	expr_walk(body, visit_axis, &v);
	*axes = v.axes;
	return v.outer == v.reads && v.inner == v.reads &&
	    v.axes.outer >= nspatial && v.axes.inner >= nspatial &&
	    extents[v.axes.outer] > 1 &&
	    extents[v.axes.outer] == of->shape[of->dim] &&
	    extents[v.axes.inner] == of->shape[of->dim + 1];
}
