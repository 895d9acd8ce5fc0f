/* oneDNN 2 as a side of bench_sides: one convolution in the layouts that it
 * likes best, source and weights reordered before the clock runs.
 *
 *     conv:CI,H,CO,R,STRIDE,PAD,GROUPS,RELU      with bias where RELU is 1
 *     deconv:CI,H,CO,R,STRIDE,PAD
 *     conv3d:CI,D,H,CO,R,STRIDE,PAD
 *
 * Built by cliffs.sh where libdnnl-dev is. */
#include <dnnl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
	dnnl_stream_t stream;
	dnnl_primitive_t primitive;
	dnnl_exec_arg_t args[4];
	int nargs;
} Side;

typedef struct {
	int nspatial, ci, co, groups;
	dnnl_dims_t in, out, kernel, stride, pad;
	int relu;
} Shape;

#define TRY(call)                                                              \
	do                                                                     \
		if ((call) != dnnl_success)                                    \
			return NULL;                                           \
	while (0)

static dnnl_memory_desc_t any(int n, const dnnl_dims_t dims)
{
	dnnl_memory_desc_t md;
	dnnl_memory_desc_init_by_tag(
	    &md, n, dims, dnnl_f32, dnnl_format_tag_any);
	return md;
}

/* dims[] = a, b, tail[0..n) */
static dnnl_memory_desc_t tensor(int64_t a, int64_t b, const dnnl_dims_t tail,
    int n)
{
	dnnl_dims_t dims = {a, b};
	memcpy(dims + 2, tail, (size_t)n * sizeof *tail);
	return any(2 + n, dims);
}

static dnnl_memory_desc_t weights(const Shape *s)
{
	dnnl_dims_t dims = {s->groups, s->co / s->groups, s->ci / s->groups};
	if (s->groups == 1)
		return tensor(s->co, s->ci, s->kernel, s->nspatial);
	memcpy(dims + 3, s->kernel, (size_t)s->nspatial * sizeof *dims);
	return any(3 + s->nspatial, dims);
}

static int add(Side *s, dnnl_engine_t engine, const_dnnl_primitive_desc_t pd,
    dnnl_query_t query, int arg)
{
	const dnnl_memory_desc_t *md = dnnl_primitive_desc_query_md(pd, query, 0);
	dnnl_memory_t memory;
	void *data;
	if (!md || !dnnl_memory_desc_get_size(md))
		return 0;
	if (dnnl_memory_create(&memory, md, engine, DNNL_MEMORY_ALLOCATE) ||
	    dnnl_memory_get_data_handle(memory, &data))
		return 0;
	for (size_t i = 0; i < dnnl_memory_desc_get_size(md) / 4; i++)
		((float *)data)[i] = (float)(i % 1000) * 1e-3f - 0.5f;
	s->args[s->nargs++] = (dnnl_exec_arg_t){arg, memory};
	return 1;
}

static int parse(const char *text, Shape *s, int *transposed)
{
	int h, d, r, stride, pad;
	*s = (Shape){.groups = 1, .nspatial = 2};
	*transposed = 0;
	if (sscanf(text, "conv:%d,%d,%d,%d,%d,%d,%d,%d", &s->ci, &h, &s->co, &r,
		&stride, &pad, &s->groups, &s->relu) == 8)
		d = h;
	else if (sscanf(text, "deconv:%d,%d,%d,%d,%d,%d", &s->ci, &h, &s->co,
		     &r, &stride, &pad) == 6) {
		d = h;
		*transposed = 1;
	} else if (sscanf(text, "conv3d:%d,%d,%d,%d,%d,%d,%d", &s->ci, &d, &h,
		       &s->co, &r, &stride, &pad) == 7)
		s->nspatial = 3;
	else
		return 0;
	for (int i = 0; i < s->nspatial; i++) {
		s->in[i] = i ? h : d;
		s->kernel[i] = r;
		s->stride[i] = stride;
		s->pad[i] = pad;
		s->out[i] = *transposed ? (s->in[i] - 1) * stride - 2 * pad + r
					: (s->in[i] + 2 * pad - r) / stride + 1;
	}
	return 1;
}

void *dnnl_side_open(const char *text)
{
	Side *side = calloc(1, sizeof *side);
	Shape s;
	int transposed;
	dnnl_engine_t engine;
	dnnl_primitive_desc_t pd;
	dnnl_primitive_attr_t attr;
	dnnl_post_ops_t post;
	if (!side || !parse(text, &s, &transposed))
		return NULL;
	TRY(dnnl_engine_create(&engine, dnnl_cpu, 0));
	TRY(dnnl_stream_create(&side->stream, engine, 0));
	TRY(dnnl_primitive_attr_create(&attr));
	TRY(dnnl_post_ops_create(&post));
	if (s.relu) {
		TRY(dnnl_post_ops_append_eltwise(
		    post, 1, dnnl_eltwise_relu, 0, 0));
		TRY(dnnl_primitive_attr_set_post_ops(attr, post));
	}
	dnnl_memory_desc_t src = tensor(1, s.ci, s.in, s.nspatial);
	dnnl_memory_desc_t dst = tensor(1, s.co, s.out, s.nspatial);
	dnnl_memory_desc_t w = weights(&s), bias;
	dnnl_dims_t co = {s.co};
	dnnl_memory_desc_init_by_tag(&bias, 1, co, dnnl_f32, dnnl_a);
	if (transposed) {
		dnnl_deconvolution_desc_t d;
		TRY(dnnl_deconvolution_forward_desc_init(&d,
		    dnnl_forward_inference, dnnl_deconvolution_direct, &src, &w,
		    NULL, &dst, s.stride, s.pad, s.pad));
		TRY(dnnl_primitive_desc_create(&pd, &d, attr, engine, NULL));
	} else {
		dnnl_convolution_desc_t d;
		TRY(dnnl_convolution_forward_desc_init(&d,
		    dnnl_forward_inference, dnnl_convolution_direct, &src, &w,
		    s.relu ? &bias : NULL, &dst, s.stride, s.pad, s.pad));
		TRY(dnnl_primitive_desc_create(&pd, &d, attr, engine, NULL));
	}
	TRY(dnnl_primitive_create(&side->primitive, pd));
	if (!add(side, engine, pd, dnnl_query_src_md, DNNL_ARG_SRC) ||
	    !add(side, engine, pd, dnnl_query_weights_md, DNNL_ARG_WEIGHTS) ||
	    !add(side, engine, pd, dnnl_query_dst_md, DNNL_ARG_DST))
		return NULL;
	if (s.relu) {
		dnnl_memory_t memory;
		void *data;
		TRY(dnnl_memory_create(
		    &memory, &bias, engine, DNNL_MEMORY_ALLOCATE));
		TRY(dnnl_memory_get_data_handle(memory, &data));
		memset(data, 0, (size_t)s.co * 4);
		side->args[side->nargs++] =
		    (dnnl_exec_arg_t){DNNL_ARG_BIAS, memory};
	}
	return side;
}

void dnnl_side_run(void *state)
{
	Side *s = state;
	dnnl_primitive_execute(s->primitive, s->stream, s->nargs, s->args);
	dnnl_stream_wait(s->stream);
}
