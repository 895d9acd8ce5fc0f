/* What the rules write: for each operator, steps that some sketch has, and
 * steps that none has. */
#include "codegen/codegen.h"
#include "test/common_program.h"
#include "test/common_schedule.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const Machine machine = {.threads = 1,
    .vector_bytes = 64,
    .vector_registers = 32,
    .byte_masks = true,
    .fma = true,
    .masked = true,
    .gather = true,
    .broadcast = true,
    .dots = {{.instructions = 1}, {.instructions = 8}, {.instructions = 8},
	{.instructions = 2}}, /* dot4_u8i8; dot4_i8, dot4_u8, dot2_i16 */
    .fma_per_cycle = 2,
    .fma_latency = 4,
    .l1_bytes = 49152,
    .l2_bytes = 2 << 20,
    .l3_bytes = 32 << 20,
    .l1_ways = 12,
    .line_bytes = 64};

enum { TEXTS = 8 };

typedef struct {
	const char *spec;
	const char *some[TEXTS]; /* each in a sketch */
	const char *none[TEXTS]; /* each in no sketch */
} Case;

static const Case cases[] = {
    /* an axis that a read divides is split there first; operands are packed
     * by digits, the reduction's in the order of its loops */
    {"test/layouts/nchw16c.yaml",
	{"out_c_d0, out_c_d1 = split(out_acc.c, [_, 16])",
	    "out_c0, out_c1 = split(out_c_d1, ? in tile([1, 2, 4, 8]))",
	    "reorder(out_c_d0, out_acc.r, out_acc.s, out_c0, out_c1, "
	    "out_acc.n, out_acc.y, out_acc.x, out_acc.o,",
	    "transform_layout(weight_pack, [x0//(16*out_o2), x1//16, x2, x3, "
	    "x1%16, x0//16%out_o2, x0%16])"},
	{"out.ox4"}},
    /* what lies side by side is innermost, in whatever order it is summed */
    {"test/layouts/nhwc.yaml",
	{"reorder(out_acc.r, out_acc.s, out_c0, out_c1,",
	    "transform_layout(weight_pack, [x3//(out_o2*16), x0, x1, x2, "
	    "x3%(out_o2*16)])"},
	{0}},
    {"test/layouts/grouped_query.yaml",
	{"transform_layout(q_pack, [x0//s_i2, x1//(32*s_h2), x1%32, x0%s_i2, "
	 "x1//32%s_h2])"},
	{0}},
    /* a long sum to less than a vector of results is made in parts; not what
     * another reduction makes in the same pass, nor what lies along the steps */
    {"test/layouts/narrow_sums.yaml",
	{"y_i_part, y_i_rest = split(y.i, [_, 2502])\n"
	 "y_parts = rfactor(y_i_part)",
	    "m_i_part, m_i_rest = split(m.i, [_, 1024])\n"
	    "m_parts = rfactor(m_i_part)",
	    "compute_at(y_parts_acc, "},
	{"s_parts", "q_parts"}},
    /* of two results lanes are along parts of steps that lie behind each other */
    {"test/layouts/few_sums.yaml",
	{"y_n_rest, y_n_part = split(y.n, [_, 32])\n"
	 "y_parts = rfactor(y_n_part)",
	    "vectorize(y_parts_y_n_partv, 16)"},
	{0}},
    {"test/layouts/matvec.yaml", {0}, {"_parts = rfactor("}},
    {"test/layouts/heads.yaml",
	{"y_e_d0, y_e_d1 = split(y_acc.e, [_, 16])",
	    "transform_layout(w_pack, [x0//(y_o2*16), x1, x0%(y_o2*16)])"},
	{0}},
    {"test/layouts/blocked_in.yaml",
	{"transform_layout(a_pack, [x0, x1, x3, x2])",
	    "transform_layout(b_pack, [x0, x1, x2])"},
	{0}},
    /* a buffer read twice has two copies, each in its own order */
    {"test/layouts/gram.yaml",
	{"a_pack = cache_read(c_acc, a, read=1)",
	    "a_pack2 = cache_read(c_acc, a, read=2)",
	    "transform_layout(a_pack, [x0//c_i2, x1, x0%c_i2])",
	    "transform_layout(a_pack2, [x0//(c_j2*16), x1, x0%(c_j2*16)])"},
	{0}},
    {"test/layouts/square.yaml",
	{"transform_layout(a_pack, [x0//c_i2, x1, x0%c_i2])",
	    "transform_layout(a_pack2, [x1//(c_j2*16), x0, x1%(c_j2*16)])"},
	{0}},
    /* as many rows as there are lanes are transposed at once; of few, four */
    {"test/bench/cliffs/scores.yaml",
	{"k_pack_r0, k_pack_r1 = split(k_pack.x1, [_, 16])"}, {0}},
    {"workloads/attention.yaml:small",
	{"k_pack_r0, score_1_k_pack_r1 = split(score_1_k_pack.x1, [_, 4])",
	    /* a panel for one batch, once its reader is there */
	    "compute_at(score~1, out_i0)\n"
	    "compute_at(score_1_k_pack, ? in {root, out.h})"},
	{0}},
    /* what a product reads again is computed by the copies or before them */
    {"test/layouts/shifted.yaml",
	{"cache_read(c_acc, y, read=1)", "cache_read(c_acc, y, read=2)",
	    "compute_at(y, ? in {root, inline})"},
	{"compute_inline(y)", "cache_read(c_acc, x)"}},
    /* lanes along a row, several rows at once */
    {"test/layouts/matvec.yaml",
	{"y_i0, y_i1 = split(y.i, ? in tile([1, 2, 4, 8]))",
	    "reorder(y_i0, y_k0, y_k1, y_i1, y_kv, y_kq)", "unroll(y_i1)",
	    "vectorize(y_kv, 16)"},
	{"cache_read", "cache_write"}},
    /* of places with a few channels, which are shuffled */
    {"test/layouts/stereo.yaml", {"vectorize(peak_tv, 16)"}, {0}},
    /* which is enlarged, too: by as many vectors as its indices begin anew
     * after */
    {"test/layouts/enlarged.yaml",
	{"compute_inline(u)", "vectorize(s_1_xv, 16)", "vectorize(v_1_xv, 16)"},
	{0}},
    {"test/layouts/enlarged_3.yaml",
	{"s_j0, s_j1, s_jv = split(s.j, ? in tile([3, 6], [16]))"}, {0}},
    /* but not where a row that is read again is one vector */
    {"test/bench/families/control/dct.yaml", {"y_acc = cache_write(y, reg)"},
	{"vectorize(y_jv"}},
    /* along results, where nothing lies along the steps */
    {"test/layouts/step_functions.yaml", {"vectorize(y_nv, 16)"}, {0}},
    /* nor where it is read again for a part of the results beside each other */
    {"test/layouts/joined_heads.yaml",
	{"y_acc = cache_write(y, reg)", "vectorize(y_ov, 16)"},
	{"vectorize(y_jv"}},
    /* computed in the consumer's rows, unless that computes it again */
    {"test/layouts/norm.yaml",
	{"compute_at(s, ? in {root, y_i0})", "vectorize(s_kv, 16)"}, {0}},
    /* whose loops are in the order that has a place for it */
    {"test/layouts/batch_norm.yaml",
	{"reorder(y.c, y.n)", "compute_at(m, ? in {root, y.c})"}, {0}},
    /* of short rows an output is flat with the reduction */
    {"test/layouts/batch_norm_short.yaml", {"flatten(x, 2)\n"},
	{"y_i0", "y_i1"}},
    /* and where the consumer has no place for it, in each other's */
    {"test/layouts/variance.yaml", {"compute_at(m~1, ? in {root, v_1_i0})"},
	{"compute_at(v~1"}},
    /* what there is one of for each of a few rows is no vector */
    {"test/layouts/rms.yaml",
	{"compute_at(r, ? in {root, y_i0, inline})", "unroll(r.i, limit=16)"},
	{"vectorize(r_iv"}},
    /* but a function, where a row has a few vectors: no more than tiles have */
    {"test/layouts/row_functions.yaml",
	{"compute_at(t, ? in {root, z_y0, inline})", "vectorize(t_yv, 8)"},
	{"unroll(t.y, limit=16)"}},
    {"test/layouts/channels.yaml", {"vectorize(s_iv, 16)"}, {"compute_at(s"}},
    /* a quotient is not computed again for each reader unasked, one by a
     * number is */
    {"test/layouts/normalized.yaml",
	{"compute_at(u, ? in {root, y_i0, inline})", "compute_inline(m)"},
	{"compute_inline(u)"}},
    /* what would be computed again for each step of a window, where its border is
     * inlined, has a place of its own; what is only moved has none */
    {"test/bench/compositions/relu_depthwise.yaml",
	{"compute_at(t, ? in {root, ", "compute_at(p, ? in {root, "},
	{"compute_inline(t)"}},
    {"test/bench/compositions/enlarged_depthwise.yaml",
	{"compute_at(u, ? in {root, "}, {"compute_inline(u)"}},
    {"test/layouts/moved_border.yaml", {"compute_inline(t)"}, {0}},
    {"test/layouts/clamped_window.yaml",
	{"compute_at(p, ? in {root, ", "compute_inline(q)"},
	{"compute_inline(p)"}},
    {"test/layouts/clamped_sum.yaml",
	{"y_p = extract(y, 0)\n", "z_p = extract(z, 0)\n"},
	{"extract(u, ", "extract(v, "}},
    /* of a long sum in a chain some steps are in a body */
    {"test/layouts/planes_pooled.yaml",
	{"s_i0, s_i1 = split(s.i, ? in tile([8, 16]))", "unroll(s_i1)"}, {0}},
    /* several results in one pass */
    {"test/layouts/moments.yaml", {"compute_with(q, s)"}, {"q_i0"}},
    {"test/layouts/column_moments.yaml",
	{"compute_with(q, s)", "compute_with(q_acc, s_acc)"}, {0}},
    /* all results of a short axis along which something stands still */
    {"test/layouts/pull.yaml",
	{"reorder(acc_i0, acc_j0, acc_j1, acc.c, acc_i1, acc_jv)",
	    "unroll(acc.c)"},
	{0}},
    {"test/layouts/extremes.yaml",
	{"compute_with(hi, lo)", "compute_with(s, lo)"}, {0}},
    {"test/layouts/group.yaml",
	{"compute_at(s, ? in {root, y_i0})", "compute_with(q, s)"}, {0}},
    /* an output of the elements of a sum, whichever is first, step by step */
    {"test/bench/families/several/squares_and_gradient.yaml",
	{"reverse_compute_at(d, l_1_i0)", "vectorize(d_iv, 16)"}, {0}},
    {"test/layouts/gradient.yaml", {"reverse_compute_at(g, loss_1_j0)"},
	{"reverse_compute_at(h"}},
    {"test/layouts/channels_copied.yaml",
	{"reverse_compute_at(y, s_w0)", "s_c1 = split(s.c, ? in tile([1]))"},
	{0}},
    /* and where that reads the output, it is computed again there */
    {"test/layouts/residual.yaml",
	{"compute_inline(r)\n", "reverse_compute_at(r, norm_1_k0)"},
	{"compute_inline(z"}},
    /* what the elements of a row have in common is divided where it is
     * inlined, once; what rows have in common would be for each of them */
    {"test/layouts/norm_over_planes.yaml", {"set_scope(m~1, reg)"},
	{"compute_inline(m)"}},
    /* so would what comes again after some rows, or what several read */
    {"test/layouts/seasonal.yaml", {"set_scope(m~1, reg)"},
	{"compute_inline(m)"}},
    /* so it is for sums of rows and another output, whose tiles make it; a row
     * that is all there is does not stay near */
    {"test/layouts/added.yaml",
	{"compute_inline(s)\n", "compute_at(q~1, ? in {root, y.i})",
	    "reverse_compute_at(s, y_k0)"},
	{0}},
    {"test/layouts/added_whole.yaml", {0}, {"compute_inline(s)"}},
    /* short rows are made several at once, long ones one by one */
    {"test/layouts/kept_short.yaml",
	{"split(t.i, ? in tile([1, 2, 4, 8]))", "unroll(y.i, limit=16)",
	    "reverse_compute_at(y, t_k0)"},
	{0}},
    {"test/layouts/momentum.yaml",
	{"tail(p2, peel)\n", "reverse_compute_at(p2, m2_i0)"}, {0}},
    /* planes that read the same element that is made: in code, and that is made
     * for a row of all of them */
    {"test/layouts/upwind.yaml",
	{"reorder(y_i0, y_j0, y.k, y_i1, y_j1, y_jv)\nunroll(y.k)",
	    "compute_at(s, ? in {root, y_i0, inline})"},
	{0}},
    {"test/layouts/statistics.yaml", {"compute_with(var~1, mean~1)"}, {0}},
    /* squares that are transposed in registers */
    {"test/layouts/transposed.yaml",
	{"y_i0, y_i1 = split(y.i, ? in tile([4, 8, 16]))", "unroll(y_i1)",
	    "reorder(y_j0, y_i0, y_i1, y_jv)", "vectorize(y_jv, 16)"},
	{0}},
    {"test/bench/families/moves/rotate.yaml",
	{"reorder(y_i0, y_j0, y_j1, y_iv)", "vectorize(y_iv, 16)"}, {0}},
    /* running sums from behind, down columns too */
    {"test/layouts/running_behind.yaml", {"y_w, y_p = prefix(y.k, 8)"},
	{"carry("}},
    /* three colours of a pixel fill no vector */
    {"test/layouts/stacked.yaml",
	{"y_i0, y_iv = split(y.i, [_, 16])", "reorder(y_i0, y.c, y_iv)",
	    "unroll(y.c)", "vectorize(y_iv, 16)"},
	{0}},
    /* nor do the four of a small matrix */
    {"test/bench/families/apart/inverse_2x2.yaml",
	{"y_n0, y_nv = split(y.n, [_, 16])", "reorder(y_n0, y.i, y.j, y_nv)",
	    "unroll(y.i)", "unroll(y.j)", "vectorize(y_nv, 16)"},
	{0}},
    /* lanes along all axes of many small products, but not where they share an
     * operand */
    {"test/layouts/small_matrices.yaml",
	{"unfold(y)\n", "y_f = fuse(y.n, y.i, y.j)\n",
	    "y_f0, y_f1, y_fv = split(y_f, ? in tile([1, 2, 4], [16]))"},
	{"cache_write"}},
    {"test/layouts/small_complex.yaml",
	{"compute_inline(y)\n", "u_f = fuse(u.n, u.i, u.j, u.z)\n"}, {0}},
    {"test/layouts/small_shared.yaml", {0}, {"fuse(", "unfold("}},
    {"test/layouts/small_uneven.yaml", {0}, {"fuse(", "unfold("}},
    /* bytes whose arithmetic fits in 16 bits, through what is inlined */
    {"test/bench/families/stencils/sobel_u8.yaml",
	{"shorten(gx)\nshorten(gy)\nshorten(y)\n", "vectorize(y_jv, 32)"}, {0}},
    /* rows that begin apart in one another have the lanes, not their results */
    {"test/bench/families/rows/decimate.yaml",
	{"y_k0, y_k1, y_kv = split(y.k, ", "vectorize(y_kv, 16)"}, {0}},
    /* elements of the same data at once, one of a few kinds each */
    {"test/bench/families/apart/bands.yaml",
	{"reorder(y_i0, y_j0, y.k, y_i1, y_j1, y_jv)", "unroll(y.k)"}, {0}},
    {"test/bench/families/apart/butterfly.yaml",
	{"reorder(y.b, y.g, y_s0, y.h, y.c, y_sv)"}, {0}},
    /* elements side by side that are each made in their own way, or that fill no
     * vectors of the planes' lanes */
    {"test/layouts/told_apart.yaml",
	{"reorder(y_n0, y.i, y.j, y_nv)", "unroll(y.i)", "vectorize(y_nv, 16)"},
	{0}},
    {"test/layouts/sevens.yaml",
	{"reorder(y_n0, y.c, y_nv)", "unroll(y.c)", "vectorize(y_nv, 16)"},
	{0}},
    /* what several sums in the same loops read once each is computed there */
    {"test/bench/families/stencils/bilateral.yaml",
	{"compute_inline(w)", "compute_with(y~2, y~1)",
	    "vectorize(y_1_jv, 16)"},
	{0}},
    /* as many vectors at once as an index needs to begin anew; or the axis is
     * cut there */
    {"test/layouts/threes.yaml",
	{"y_i0, y_i1, y_iv = split(y.i, ? in tile([3, 6], [16]))"}, {0}},
    {"test/layouts/kronecker.yaml",
	{"y_j_d0, y_j_d1 = split(y.j, [_, 136])",
	    "y_j0, y_j1, y_jv = split(y_j_d1, ? in tile([1, 2, 4, 8], [8]))"},
	{0}},
    /* rows of one vector: several at once */
    {"test/layouts/short_rows.yaml",
	{"y_i0, y_i1 = split(y.i, ? in tile([1, 2, 4, 8]))",
	    "reorder(y_i0, y_j0, y_i1, y_j1, y_jv)"},
	{0}},
    /* bytes and shorts alone: vectors of which a register holds half */
    {"test/bench/families/apart/grey_u8.yaml", {"vectorize(y_iv, 32)"}, {0}},
    {"test/bench/families/apart/mix_i16.yaml",
	{"flatten(a, 0)\n", "vectorize(y_cv, 32)"}, {0}},
    /* and planes of a few that lie side by side are made together; what is only
     * moved, in vectors that it fills */
    {"test/bench/families/apart/planes.yaml",
	{"reorder(out.y, out_z0, out.c, out_zv)", "vectorize(out_zv, 16)"},
	{0}},
    {"test/bench/families/apart/merge_rgb.yaml", {"vectorize(y_iv, 64)"}, {0}},
    /* or divided, where no vectors fill a period */
    {"test/bench/families/moves/tile.yaml",
	{"y_j_d0, y_j_d1 = divide(y.j, 150)",
	    "y_j0, y_j1, y_jv = split(y_j_d1, ? in tile([1, 2, 4, 8], [16]))"},
	{0}},
    /* a few steps for each point: in the registers of what reads them */
    {"test/layouts/points.yaml",
	{"set_scope(y~1, reg)\ncompute_at(y~1, y_n0)",
	    "reorder(y_1_n0, y~1.i, y~1.k, y_1_nv)", "vectorize(y_1_nv, 16)"},
	{"cache_write"}},
    /* and where values are planes: what is needed for several of them is kept */
    {"test/layouts/planes.yaml",
	{"reorder(y.i, y_j0, y.k, y_j1, y_jv)", "unroll(y.k)",
	    "set_scope(q, reg)\ncompute_at(q, y_j0)",
	    "set_scope(c, reg)\ncompute_at(c, y_j0)", "unroll(c.k)"},
	{"c_k0"}},
    /* other results of the points, whatever planes they have */
    {"test/layouts/planes_beside.yaml",
	{"reverse_compute_at(u, v_n0)", "reverse_compute_at(g, v_n0)",
	    "unroll(u.i)", "set_scope(b, reg)\ncompute_at(b, v_n0)"},
	{0}},
    /* of more values than have registers: an output has its own layout, and reads
     * what has registers */
    {"test/diff/compositions/norms_beside.yaml",
	{"reverse_compute_at(o, s_x0)", "unroll(o.y)",
	    "set_scope(o~1, reg)\ncompute_at(o~1, s_x0)"},
	{"transform_layout(o,"}},
    /* several values of a point, in registers */
    {"test/layouts/spread_planes.yaml",
	{"set_scope(e, reg)\ncompute_at(e, y_n0)", "unroll(e.c)"}, {0}},
    /* what shares something with one of them, and what they read at two places
     * may be computed again */
    {"test/layouts/fluxes.yaml",
	{"reverse_compute_at(g, f_i0)", "reverse_compute_at(h, f_i0)",
	    "compute_at(p, ? in {root, inline})",
	    "compute_at(u, ? in {root, inline})"},
	{0}},
    /* the least of some and its place, all steps for a vector of points */
    {"test/bench/families/lookups/palette.yaml",
	{"set_scope(d, reg)\ncompute_at(d, y_i0)",
	    "reorder(d.j, d.k, d_iu, d_iv)", "unroll(y~1.j)"},
	{"cache_write", "y_1_jv"}},
    {"test/bench/families/lookups/centroids.yaml",
	{"compute_at(y~1, y_i0)\ntransform_layout(y~1, [j, i])",
	    "unroll(y~1.j, limit=? in {1, 64})",
	    "y_i0, y_i1, y_iv = split(y.i, ? in tile([1, 2, 4], [16]))"},
	{"set_scope(y~1, reg)"}},
    {"test/bench/families/lookups/pool_places.yaml",
	{"reverse_compute_at(m, p_j0)"}, {"m_acc"}},
    /* a reduction of one step is none; rows of what stands still along the first
     * axis share what they read, those side by side nothing */
    {"test/layouts/one_step.yaml",
	{"unfold(c~1)\nunfold(r)\n", "compute_inline(c)\n",
	    "reorder(r_o0, r.y, r_x0, r_o1, r_x1, r_xv)"},
	{"cache_write", "r_y0"}},
    /* nor has a sum a loop of one; a dimension of one element is none */
    /* bytes of a row are added up by fours, where none is left over */
    {"test/layouts/row_sums.yaml",
	{"split(a.j, ? in tile([1, 2, 3], [16], [4]))",
	    "tensorize(a_jq, dot4_u8i8)",
	    "split(b.j, ? in tile([1, 2, 3, 4], [16], [2]))",
	    "tensorize(b_jq, dot2_i16)"},
	{"tensorize(c"}},
    {"test/layouts/ones.yaml", {"unfold(y.c)\n", "vectorize(y_kv, 16)"},
	{"y_m0, y_m1, y_mv"}},
    /* lanes along what is read least often */
    {"test/layouts/bilinear_form.yaml", {"vectorize(y_jv, 16)"}, {"y_i0"}},
    /* sums of u8*i8 by fours, which lie side by side in both copies */
    {"workloads/matmul_u8i8.yaml",
	{"c_k0, c_k1, c_kq = split(c_acc.k, ? in tile([1, 2, 3, 4, 6, 8], [4]))",
	    "c_j_lane, c_kq)", "unroll(c_kq)",
	    "transform_layout(a_pack, [x0//c_i2, x1//4, x0%c_i2, x1%4])",
	    "transform_layout(b_pack, [x0//(c_j2*16), x1//4, x0%(c_j2*16), "
	    "x1%4])",
	    "tensorize(c_kq, dot4_u8i8)"},
	{0}},
    /* i8 by i8 as u8 by i8: the constant operand is packed so, and rows of the
     * other are summed */
    {"test/layouts/product_i8.yaml",
	{"c_t2 = retype(c, 2, u8)\nc_p, c_s = distribute(c)\n",
	    "c_t2_pack = cache_read(c_p, c_t2)\ncompute_inline(c_t2)\n"
	    "compute_at(c_t2_pack, root)",
	    "tensorize(c_p_kq, dot4_u8i8)", "c_s.k, ? in tile("},
	{0}},
    /* zero points are outside of the sums, and of what pads */
    {"test/bench/cliffs/qconv.yaml:wide",
	{"narrow(p)\na_p, a_s1, a_s2, a_t2 = distribute(a)\n",
	    "tensorize(a_p_cq, dot4_u8i8)"},
	{"narrow(p, 0)", "extract("}},
    /* of channels each for itself where they need no sum of their own */
    {"test/bench/cliffs/qdepthwise.yaml:d3",
	{"narrow(p)\na_p, a_s, a_t = distribute(a, 2)\n"
	 "a_p_f2 = extract(a_p, 2)\nshorten(a_p_f2)\n",
	    "cache_read(a_s_acc, w)"},
	{"cache_read(a_s_acc, zw)"}},
    /* which is 0 where that leaves out much */
    {"test/layouts/zero_points.yaml",
	{"narrow(p, 0)\na_p, a_s1, a_s2, a_s3, a_s4 = distribute(a)\n"
	 "a_s1_c = separate(a_s1.s)\nunfold(a_s1)\n",
	    "tensorize(a_p_cq, dot4_u8i8)", "vectorize(a_s1_c_tv, "},
	{"extract("}},
    /* what is made ahead is not made where it is read */
    {"test/bench/cliffs/qconv_nhwc.yaml:deep",
	{"a_p, a_s1, a_s2, a_s3, a_s4 = distribute(a)\n",
	    "a_s2_acc = cache_write(a_s2, reg)",
	    "a_s3_acc = cache_write(a_s3, reg)"},
	{"compute_at(a_s2,", "compute_at(a_s3,"}},
    /* bytes that are padded in i32 are bytes */
    {"test/bench/cliffs/qconv_plain.yaml:deep",
	{"narrow(p)\n", "tensorize(a_cq, dot4_u8i8)"}, {"distribute("}},
    /* padding in the sum is before it then */
    {"test/bench/families/bytes/qconv_inside.yaml",
	{"a_f1 = extract(a, 1)\nnarrow(a_f1)\na_p, a_s1, a_s2, a_t2 = "
	 "distribute(a)\n",
	    "tensorize(a_p_cq, dot4_u8i8)"},
	{0}},
    {"test/bench/cliffs/qconv_onnx.yaml:wide",
	{"a_f1 = extract(a, 1)\nnarrow(a_f1)\na_p, a_s1, a_s2, a_t2 = "
	 "distribute(a)\n",
	    "tensorize(a_p_cq, dot4_u8i8)"},
	{"a~1"}},
    {"test/bench/cliffs/qconv_onnx.yaml:pointwise",
	{"transform_layout(a_f1_pack, [x0//4, x1, x2, x0%4])"}, {0}},
    /* for each tap where there are few channels */
    {"test/bench/cliffs/qconv_nhwc_onnx.yaml:stem",
	{"a_f1 = extract(a, 1, apart=1)\nnarrow(a_f1)\n",
	    "tensorize(a_p_sq, dot4_u8i8)"},
	{0}},
    {"test/layouts/zero_points_inside.yaml",
	{"a_f1 = extract(a, 1)\nnarrow(a_f1, 0)\na_p, a_s1, a_s2 = distribute(a)\n",
	    "tensorize(a_p_cq, dot4_u8i8)"},
	{0}},
    /* sums that are made ahead are not made beside others */
    {"test/bench/families/bytes/qmatvec.yaml",
	{"a_p, a_s1, a_s2 = distribute(a)\n", "tensorize(a_p_kq, dot4_u8i8)"},
	{"compute_with("}},
    /* of bf16 panels of f32 */
    {"workloads/matmul_bf16.yaml:square_1024",
	{"c_1_t1 = retype(c~1, 1, f32)\nc_1_t2 = retype(c~1, 2, f32)\n"},
	{"tensorize(", "distribute("}},
    /* running sums by blocks, their parts in the rows of the result */
    {"test/layouts/running.yaml",
	{"y_w, y_p = prefix(y.k, 16)", "y_p_w, y_p_p = prefix(y_p.x0, 16)",
	    "compute_at(y_w, ? in {root, y_i0})",
	    "reorder(y_w_i0, y_w_j0, y_w.x0, y_w_i1, y_w_j1, y_w_jv)"},
	{"cache_write"}},
    /* down columns each row from the one before */
    {"test/bench/families/triangles/column_sums.yaml",
	{"carry(y.k)", "reorder(y_i0, y_j0, y_i1, y_j1, y_jv)"}, {"prefix("}},
    /* what follows from it in its tiles */
    {"test/layouts/running_mean.yaml",
	{"carry(y~1.k)", "reverse_compute_at(y, y_1_j0)",
	    "transform_layout(y~1, [i%y_1_i1, j])"},
	{0}},
    /* a chain of filters: the first for blocks of rows and columns of the
     * second, of sizes that leave no rest */
    {"test/bench/families/stencils/gauss_5x5.yaml",
	{"compute_at(a, ? in {root, y_jb})",
	    "split(y.j, ? in tile([4, 5, 8, 10, 16, 20, 40, 80], [1, 2, 4, 8], "
	    "[16]))",
	    "reorder(y_ib, y_jb, y_i0, y_j0, y.s, y_i1, y_j1, y_jv)",
	    "unroll(a.r)"},
	{"cache_write"}},
    /* the same for filters that read the same, each with loops of its own;
     * windows are summed by columns, of several at once */
    {"test/bench/families/stencils/harris.yaml",
	{"sxy_c = separate(sxy.s)\nunfold(sxy)", "compute_inline(sxy)",
	    "vectorize(sxx_c_jv, 16)", "compute_with(sxy_c, sxx_c)",
	    "compute_at(gx, ? in {root, y_jb, inline})"},
	{"compute_with(gy", "compute_with(syy_c"}},
    {"test/bench/families/stencils/local_variance.yaml",
	{"compute_with(q_1_c, m_1_c)"}, {"q_1_c_j0"}},
    /* what is dear to compute, once; of windows that share too little, as is */
    {"test/layouts/window_ssd.yaml",
	{"y_c = separate(y.s)\nunfold(y)\ny_c_c = separate(y_c.r)",
	    "compute_at(y_c_c, ? in {root, y_jb, inline})"},
	{"compute_inline(y_c_c)"}},
    {"test/layouts/window_max.yaml", {"y_c = separate(y.s)\nunfold(y)"},
	{"y_c_c"}},
    /* bytes that are compared fill vectors */
    {"test/bench/families/stencils/dilate_5x5.yaml",
	{"vectorize(y_jv, 64)", "vectorize(y_c_jv, 64)"}, {0}},
    /* every second element of a row is dear: by columns that are read whole */
    {"workloads/max_pool.yaml", {"out_c = separate(out.s)\nunfold(out)"}, {0}},
    {"test/layouts/pool_2x2.yaml", {0}, {"separate("}},
    /* factors of a product that are computed: once, and packed */
    {"test/layouts/centered.yaml",
	{"y_f1 = extract(y, 1)", "y_f1_pack = cache_read(y_acc, y_f1)",
	    "c_pack = cache_read(y_acc, c)",
	    "compute_at(y_f1, ? in {root, inline})",
	    "compute_at(c, ? in {root, inline})"},
	{"compute_inline(c)"}},
    /* what is read once is read row by row; what a cache keeps, or what many
     * rows use, in tiles alone */
    {"test/bench/peers/product.yaml:s1x4096x4096",
	{"c_acc = cache_write(c, local)",
	    "reorder(c_k0, c_j_acc, c_k1, c_acc.i, c_j_next, c_j_lane)",
	    "prefetch(c_acc, b, c_k0, 1)",
	    "c_k0, c_k1 = split(c_acc.k, ? in tile([8]))"},
	{0}},
    {"test/layouts/column_sums.yaml",
	{"q_acc = cache_write(q, local)\ncompute_with(q, s)\n"
	 "compute_with(q_acc, s_acc)"},
	{0}},
    /* so are rows of which functions are computed: there is time to ask for the
     * next ones */
    {"workloads/softmax.yaml:sfm_2048",
	{"compute_at(e, out_i0)", "prefetch(e, x, out_i0, 1)"}, {0}},
    {"workloads/softmax.yaml:sfm_256",
	{"compute_at(e, ? in {root, out_i0, inline})"}, {"prefetch("}},
    {"test/bench/peers/product.yaml:s2048", {0}, {"prefetch("}},
    {"workloads/matmul.yaml", {0}, {"extract("}},
    {"workloads/gemm_gelu.yaml", {0}, {"extract("}},
    {"workloads/avg_pool.yaml", {0}, {"separate("}},
    {"workloads/conv2d.yaml:resnet18_c6", {0}, {"separate("}},
    {"workloads/depthwise.yaml", {"out_acc = cache_write(out, reg)"}, {0}},
    /* the zeros between the elements of a phase are not stored */
    {"workloads/conv2d_transposed.yaml:t2d_3",
	{"thin(spread.y, 2)\n", "thin(spread.x, 2)\n",
	    "spread_x0, spread_x1, spread_xv = split(spread.x, ? in tile([1, 2], "
	    "[16]))"},
	{0}},
    /* and a vector has every second result: half of all would be made of zeros;
     * where lanes are outputs, or a row too short, there is no need */
    {"workloads/conv2d_transposed.yaml:t2d_4",
	{"out_x0, out_x1, out_x2, out_xv, out_xp = split(out.x, "
	 "? in tile([1, 2], [1, 2], [16], [2]))",
	    "out_o2, out_y2, out_x2, out_xp, out_xv)",
	    "out_x_acc, out_x_lane, out_x_phase = "
	    "split(out_acc.x, [_, 16, 2])"},
	{0}},
    {"workloads/conv2d_transposed.yaml:t2d_1", {0}, {"out_xp"}},
    {"workloads/conv2d.yaml:resnet18_c1", {0}, {"out_xp"}},
    {"workloads/matmul.yaml", {"unroll("}, {"tensorize", "thin("}},
    /* bits fit in 16, and what only converts them has as many lanes */
    {"test/layouts/bits.yaml",
	{"shorten(y~1)\nshorten(y)\n", "set_scope(y~1, reg)",
	    "vectorize(y_1_nv, 32)"},
	{0}},
    {"test/layouts/nibbles.yaml", {"shorten(y)\n", "vectorize(y_nv, 32)"}, {0}},
    /* a filter's phases lie apart, and what reads them; not of what is no sum */
    {"test/layouts/phases.yaml",
	{"unflatten(t.m, 2)\nunflatten(y.m, 2)\n", "set_scope(t, reg)",
	    "y_mv = split(y.m, ? in tile("},
	{0}},
    /* samples that lie some times as far apart, too */
    {"test/layouts/resampled.yaml",
	{"unflatten(y.i, 3)\n", "y_iv = split(y.i, ? in tile("}, {0}},
    {"test/bench/families/moves/thrice.yaml", {0}, {"unflatten("}},
    /* two results of each place fill no vector: lanes are along the places */
    {"test/layouts/complex_filter.yaml",
	{"y_r0, y_r1, y_r2 = split(y.r, ", "vectorize(y_nv, 16)"}, {0}},
    /* planes that are summed whole are one row; its sums are finished by
     * vectors, along the one axis that has several */
    {"workloads/avg_pool.yaml:global_7",
	{"flatten(data, 2)\n",
	    "out_1_s0, out_1_s1, out_1_sv = split(out~1.s, ? in tile([1, 2, 3, "
	    "4], [16]))",
	    "reorder(out.y, out.x, out.c)\n", "vectorize(out_cv, 16)",
	    "compute_at(out~1, ? in {root, out_c0})"},
	{0}},
    {"workloads/avg_pool.yaml:halves", {0}, {"flatten("}},
    /* of what is made of them, too */
    {"test/layouts/gelu_mean.yaml",
	{"flatten(a, 1)\n", "y_1_s0, y_1_s1, y_1_sv = split(y~1.s, "}, {0}},
    {"test/bench/families/several/channel_peaks.yaml",
	{"flatten(x, 2)\n", "vectorize(hi_zv, 16)"}, {0}},
    {"workloads/layer_norm.yaml", {0}, {"flatten("}},
    /* and a few elements of each place, in what reads its neighbours, too */
    {"test/layouts/pixels.yaml",
	{"flatten(x, 1)\n", "y_c0, y_c1, y_cv = split(y.c, "}, {0}},
    {"test/layouts/pixel_scales.yaml",
	{"flatten(x, 0)\nflatten(x, 1)\n", "tile([3, 6], [16])",
	    "flatten(t, 0)\n", "tile([11, 22], [16])"},
	{0}},
    {"test/layouts/complex_filter.yaml", {0}, {"flatten("}},
    /* of one block alone, where others have rows of another kind */
    {"test/layouts/tanh_beside.yaml",
	{"collapse(t, 0)\ncollapse(t, 1)\n", "vectorize(y_cv, 16)",
	    "t_c0, t_c1, t_cv = split(t.c, ? in tile([1, 2, 4, 8], [16]))"},
	{"collapse(y"}},
    {"test/layouts/norm_rows_beside.yaml", {"collapse(t, 0)\n"},
	{"collapse(y", "collapse(s"}},
    /* and places with a few elements that share one */
    {"test/layouts/shared_places.yaml",
	{"shorten(y)\ncollapse(y, 0)\n", "y_n0, y_nv = split(y.n"}, {0}},
    /* or of places that are made of one place's channels, but not where these
     * are planes */
    {"test/layouts/pixel_shuffle.yaml",
	{"flatten(y, 1)\n", "tile([3, 6], [16])", "flatten(s, 2)\n"},
	{"flatten(z"}},
    /* roots that rows of channels share, in the loops of a filter: for several
     * at once; functions of rows that are a vector or two */
    {"test/layouts/norm_padded.yaml",
	{"compute_at(n, ? in {root, ",
	    "n_c0, n_c1 = split(n.c, ? in tile([1, 2, 4, 8]))"},
	{"p_c0"}},
    {"test/layouts/tanh_rows.yaml",
	{"t_y0, t_y1 = split(t.y, ? in tile([1, 2, 4, 8]))"}, {"z_y0"}},
    /* what data assigns: in one pass over the steps, or compared with each result;
     * in one dimension of rows, in two of nothing else, of each image */
    {"test/bench/families/scatters/segment_max.yaml",
	{"reorder(y_n0, y_n1, y.k, y_d0, y_d1, y_dv)", "vectorize(y_dv, 16)",
	    "y_d0, y_d1, y_dv = split(y.d, ? in tile([1, 2, 4, 8], [16]))",
	    "cache_write(y, reg)"},
	{"rfactor("}},
    {"test/bench/families/scatters/embedding_gradient.yaml",
	{"reorder(w.b, w_p0, w_p1, w.v, w_d0, w_d1, w_dv)"}, {0}},
    {"test/bench/families/scatters/confusion.yaml",
	{"reorder(m_n0, m_n1, m.a, m.b)"}, {"rfactor("}},
    {"test/bench/families/scatters/label_counts.yaml",
	{"reorder(h_n0, h_p0, h_p1, h_n1, h.k)"}, {"rfactor("}},
    /* of a few results, each is waited for: in parts */
    {"test/bench/families/scatters/few_classes.yaml",
	{"s_n_part, s_n_rest = split(s.n, [_, 5000])\n"
	 "s_parts = rfactor(s_n_part)",
	    "reorder(s_parts_s_n_part0, s_parts_s_n_rest0, s_parts_s_n_rest1, "
	    "s_parts_s_n_part1, s_parts.k)"},
	{0}},
    /* what is dear, of fewer elements than its reader has */
    {"test/layouts/tanh_joined.yaml",
	{"compute_at(t, ? in {root, z_y0, inline})",
	    "t_c0, t_c1 = split(t.c, ? in tile([1, 2, 4, 8]))"},
	{"compute_inline(t)"}},
};

static bool some_sketch_has(const Space *space, const char *text)
{
	bool found = false;
	for (int i = 0; i < space_nsketches(space); i++) {
		Buf out = {0};
		trace_print(&out, space_sketch(space, i));
		found |= strstr(buf_text(&out), text) != NULL;
		buf_free(&out);
	}
	return found;
}

static void check_case_in(Arena *arena, const Case *c, const Machine *machine,
    Numerics numerics)
{
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	if (spec_load(arena, c->spec, NULL, 0, numerics, &diag, &error,
		&programs))
		fail_msg("%s%s", buf_text(&diag.text), error.text);
	Space *space = space_new(arena, programs.at[0], machine, &error);
	if (!space)
		fail_msg("%s: %s", c->spec, error.text);
	for (int i = 0; i < TEXTS && c->some[i]; i++)
		if (!some_sketch_has(space, c->some[i]))
			fail_msg("%s: no sketch has %s", c->spec, c->some[i]);
	for (int i = 0; i < TEXTS && c->none[i]; i++)
		if (some_sketch_has(space, c->none[i]))
			fail_msg("%s: a sketch has %s", c->spec, c->none[i]);
	diag_free(&diag);
}

static void check_case(
    Arena *arena, const Case *c, const Machine *machine)
{
	check_case_in(arena, c, machine, NUMERICS_DEFAULT);
}

static const Case fast_cases[] = {
    /* tiles of 2 and 4 in two dimensions; what is transformed of a tile's
     * columns is in registers, weights are made ahead in the order of the
     * products, data where it is read or before */
    {"workloads/conv2d.yaml:resnet18_c6",
	{"conv_u1, conv_u, conv_d, conv_v1, conv_v, conv_p, conv_y1 = "
	 "winograd(conv, 4)",
	    "compute_at(conv_y1, out_o1)\nset_scope(conv_y1, reg)",
	    "transform_layout(conv_u, [x2, x3, "
	    "x0//(conv_p_x11*conv_p_x1v), x1, x0%(conv_p_x11*conv_p_x1v)])",
	    "compute_at(conv_u1, conv_u.x1)\nset_scope(conv_u1, reg)",
	    "compute_at(conv_v, out_tile)",
	    "compute_at(conv_v1, conv_v_x30)",
	    "transform_layout(conv_v, [x0, x4, x5, x1, x2, x3])"},
	{"winograd(conv, 6)"}},
    /* lanes of the data along its channels */
    {"test/layouts/nhwc.yaml",
	{"out_v_x10, out_v_x1v = split(out_v.x1, [_, 16])", "winograd(out, 2)"},
	{"split(out_v.x2"}},
    /* a stride, and no convolution */
    {"workloads/conv2d.yaml:resnet18_c4", {NULL}, {"winograd("}},
    {"workloads/matmul.yaml:square_1024", {NULL}, {"winograd("}},
};

static void test_fast_sketches(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fast_cases / sizeof *fast_cases; i++) {
		Arena *arena = arena_new();
		check_case_in(arena, &fast_cases[i], &machine, NUMERICS_FAST);
		arena_free(arena);
	}
}

/* Whatever the order of a sum is, each result's stays; that of parts does not. */
static const Case exact_cases[] = {
    {"test/bench/families/scatters/few_classes.yaml",
	{"reorder(s_n0, s_n1, s.k)"}, {"rfactor("}},
};

static void test_exact_sketches(void **state)
{
	Arena *arena = arena_new();
	(void)state;
	check_case_in(arena, &exact_cases[0], &machine, NUMERICS_EXACT);
	arena_free(arena);
}

static void test_sketches(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		Arena *arena = arena_new();
		check_case(arena, &cases[i], &machine);
		arena_free(arena);
	}
}

/* As the machines of these targets have instructions and lanes for them. */
static const struct {
	const char *target;
	Case of;
} target_cases[] = {
    {"llvm -mcpu=neoverse-n1",
	{"test/layouts/product_f64.yaml",
	    {"vectorize(c_jv, 2)", "transform_layout(b_pack, "}, {NULL}}},
    {"llvm -mcpu=x86-64",
	{"test/layouts/product_f64.yaml",
	    {"vectorize(c_jv, 2)", "transform_layout(b_pack, "}, {NULL}}},
    {"llvm -mcpu=haswell",
	{"workloads/matmul_u8i8.yaml",
	    {"c_t1 = retype(c, 1, i16)\nc_t2 = retype(c, 2, i16)\n",
		"tensorize(c_kq, dot2_i16)"},
	    {"distribute("}}},
    {"llvm -mcpu=haswell",
	{"test/layouts/product_i8.yaml",
	    {"c_t1 = retype(c, 1, i16)\nc_t2 = retype(c, 2, i16)\n",
		"tensorize(c_kq, dot2_i16)"},
	    {"distribute("}}},
    {"llvm -mcpu=haswell",
	{"test/layouts/row_sums.yaml", {"tensorize(b_jq, dot2_i16)"},
	    {"tensorize(a"}}},
    {"llvm -mcpu=haswell", /* bytes as i16 */
	{"test/bench/families/rows/matvec_i8.yaml",
	    {"tensorize(y_kq, dot2_i16)"}, {"tail(", "retype("}}},
    {"llvm -mcpu=haswell",
	{"test/layouts/row_products.yaml",
	    {"tensorize(a_jq, dot2_i16)\ntail(a, peel)\n",
		"tensorize(b_jq, dot2_i16)\ntail(b, peel)\n",
		"vectorize(d_jv, 32)"},
	    {"tensorize(c"}}},
    {"llvm -mcpu=znver4",
	{"test/layouts/row_products.yaml",
	    {"tensorize(a_jq, dot4_u8i8)\ntail(a, peel)\n",
		"tensorize(b_jq, dot2_i16)\ntail(b, peel)\n",
		"vectorize(d_jv, 64)"},
	    {"tensorize(c"}}},
    {"llvm -mcpu=neoverse-n1",
	{"test/layouts/row_sums.yaml", {"tensorize(a_jq, dot4_u8)"},
	    {"tensorize(b"}}},
    {"llvm -mcpu=neoverse-n1",
	{"test/layouts/product_i8.yaml", {"tensorize(c_kq, dot4_i8)"},
	    {"retype(", "distribute("}}},
    {"llvm -mcpu=neoverse-n1",
	{"workloads/matmul_u8i8.yaml",
	    {"c_t2 = retype(c, 2, u8)\nc_p, c_s = distribute(c)",
		"tensorize(c_p_kq, dot4_u8)"},
	    {NULL}}},
    {"llvm -mcpu=neoverse-v1",
	{"workloads/matmul_u8i8.yaml", {"tensorize(c_kq, dot4_u8i8)"},
	    {"retype("}}},
    {"llvm -mcpu=znver4",
	{"workloads/matmul_bf16.yaml:square_1024",
	    {"c_1_t1 = retype(c~1, 1, f32)"}, {"tensorize("}}},
    {"llvm -mcpu=cortex-a72",
	{"workloads/matmul_u8i8.yaml", {NULL}, {"tensorize("}}},
    /* bytes that all lanes choose alike fill vectors, masked ones do not */
    {"llvm -mcpu=haswell",
	{"test/bench/cliffs/qdepthwise.yaml:d3", {"vectorize(p_cv, 32)"},
	    {"vectorize(p_cv, 8)"}}},
    {"llvm -mcpu=haswell",
	{"test/bench/families/stencils/dilate_5x5.yaml",
	    {"vectorize(y_jv, 32)", "vectorize(y_c_jv, 8)"},
	    {"vectorize(y_c_jv, 32)"}}},
    /* sums of one pass after another, a few at once on one thread; not where a row
     * is summed, beside which its mean stands still */
    {"llvm -mcpu=znver4 -threads=1",
	{"test/layouts/standardized.yaml",
	    {"m_1_parts = rfactor(", "v_1_parts = rfactor("}, {NULL}}},
    {"llvm -mcpu=znver4 -threads=1",
	{"test/bench/families/mixed/instance_norm.yaml", {NULL}, {"rfactor("}}},
    /* threads share out vectors of what data assigns, rows of images, or have
     * results of their own */
    {"llvm -mcpu=znver4 -threads=2",
	{"test/bench/families/scatters/segment_max.yaml",
	    {"reorder(y_d0, y_n0, y_n1, y.k, y_d1, y_dv)", "parallel(y_d0)"},
	    {"rfactor("}}},
    {"llvm -mcpu=znver4 -threads=2",
	{"test/bench/families/scatters/label_counts.yaml", {"parallel(h_n0)"},
	    {"rfactor("}}},
    {"llvm -mcpu=znver4 -threads=2",
	{"test/bench/families/scatters/confusion.yaml",
	    {"m_parts = rfactor(m_n_part)", "parallel(m_parts_m_n_part0)"},
	    {NULL}}},
    /* the longest way around lanes that are along results */
    {"llvm -mcpu=znver4 -threads=2",
	{"test/layouts/step_functions.yaml", {"parallel(y.a)"},
	    {"parallel(y_b0)"}}},
    /* nor do they what takes less than a microsecond */
    {"llvm -mcpu=znver4 -threads=2",
	{"test/layouts/tanh_beside.yaml", {"collapse(t, 0)"}, {"parallel("}}},
    /* without vectors nothing is gained */
    {"c", {"test/layouts/product_i8.yaml", {NULL}, {"retype(", "tensorize("}}}};

static void test_target_sketches(void **state)
{
	Arena *arena = arena_new();
	Error error = {0};
	(void)state;
	for (size_t i = 0; i < sizeof target_cases / sizeof *target_cases; i++) {
		const Target *t =
		    target_parse(arena, target_cases[i].target, &error);
		assert_non_null(t);
		check_case(arena, &target_cases[i].of, &t->machine);
	}
	arena_free(arena);
}

static const Case gpu_cases[] = {
    /* a row is in registers for what reads it at its own places; what another
     * block reads elsewhere is computed there */
    {"test/layouts/shifted_norm.yaml", {"compute_inline(u)"},
	{"x_row = cache_read("}},
    {"test/layouts/one_step.yaml", {"unfold(c~1)\nunfold(r)\n", "bind("},
	{"cache_write"}},
    /* the sums and the copies follow the writer's decisions */
    {"workloads/matmul.yaml:square_1024",
	{"c_i0, c_ig, c_it, c_ir = split(c.i, ? in tile([1, 2, 4, 8], ",
	    "split(c_acc.j, [_, c_jt, c_jv])",
	    "split(c_a_s1_f, [_, c_it, c_jt])",
	    "transform_layout(c_b_pack, [x1//(c_jr*c_jt*c_jv), x0, ",
	    "storage_align(c_a_s1, 0, 32, 4)", "tail(c_acc, pad)"},
	{"rfactor("}},
    /* the border is made in shared memory, bias and activation in the writer's
     * loops; a third axis; the window outside of the steps; parts of a
     * reduction where tiles are few */
    {"workloads/conv2d.yaml:resnet18_c12",
	{"set_scope(padded, shared)", "set_scope(conv, reg)",
	    "bind(out_yt, threadIdx.z)", "reorder(conv.r, conv.s, conv_c0, ",
	    "conv_part = rfactor(conv_cp)", "compute_at(conv, out_f1)"},
	{NULL}},
    {"workloads/conv2d.yaml:resnet18_c3", {"set_scope(padded, shared)"},
	{"reorder(conv.r, conv.s, conv_c0, "}},
    /* channels of a group */
    {"workloads/grouped.yaml:grp_1", {"bind(out_ot, threadIdx.y)"}, {NULL}},
    /* zeros left out */
    {"workloads/conv2d_transposed.yaml:t2d_2", {"thin(spread.y, 2)"}, {NULL}},
    /* a thread has a strip, and what it reads in registers */
    {"workloads/depthwise.yaml:mobilenet_d1",
	{"out_x0, out_x1 = split(out.x, ? in tile([1, 2, 4, 7, 8]))",
	    "set_scope(padded, reg)", "compute_at(padded, out_f1)"},
	{"shared"}},
    {"workloads/elementwise.yaml:resnet_relu",
	{"split(out.i, ? in tile([1, 2, 4, 8], [32, 64, "}, {NULL}},
    /* running sums by blocks, and these again; down columns likewise */
    {"test/layouts/running_long.yaml:long",
	{"y_w, y_p = prefix(y.k, 32)", "bind(y_w_f1, threadIdx.x)"},
	{"carry("}},
    /* of few elements it is a kernel less to add all */
    {"test/layouts/running_behind.yaml", {"bind("}, {"prefix(", "carry("}}};

static void test_gpu_sketches(void **state)
{
	Arena *arena = arena_new();
	Error error = {0};
	const Target *t = target_parse(arena, "cuda -arch=sm_90", &error);
	(void)state;
	assert_non_null(t);
	for (size_t i = 0; i < sizeof gpu_cases / sizeof *gpu_cases; i++)
		check_case(arena, &gpu_cases[i], &t->machine);
	arena_free(arena);
}

/* Steps that candidate 1 has. */
static void check_first(const char *spec, const char *const *steps, int n)
{
	Arena *arena = arena_new();
	ProgramVec programs = {0};
	Diag diag = {0};
	Error error = {0};
	Candidate first;
	Buf out = {0};
	if (spec_load(arena, spec, NULL, 0, NUMERICS_DEFAULT, &diag, &error,
		&programs))
		fail_msg("%s%s", buf_text(&diag.text), error.text);
	Space *space = space_new(arena, programs.at[0], &machine, &error);
	assert_non_null(space);
	assert_true(space_first(space, 512, &first));
	trace_print(&out, space_trace(arena, space, &first));
	for (int i = 0; i < n; i++)
		if (!strstr(buf_text(&out), steps[i]))
			fail_msg("%s: candidate 1 has no %s:\n%s", spec,
			    steps[i], buf_text(&out));
	buf_free(&out);
	diag_free(&diag);
	arena_free(arena);
}

static int times_in(const char *text, const char *what)
{
	int n = 0;
	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

/* Buffers are added to a program up to a number: rules have room for so many. */
static void test_many_parts(void **state)
{
	enum { N = 300, MOST = 16 };
	Arena *arena = arena_new();
	Buf text = {0}, out = {0};
	Error error = {0};
	(void)state;
	buf_puts(&text, "tunec: 1\nname: many\ninputs: {x0: 'f32[5000, 4]'");
	for (int i = 1; i < N; i++)
		buf_printf(&text, ", x%d: 'f32[5000, 4]'", i);
	buf_puts(&text, "}\ncompute: |\n");
	for (int i = 0; i < N; i++)
		buf_printf(&text,
		    "  y%d[j < 4] = sum[i < 5000](x%d[i, j])\n", i, i);
	buf_puts(&text, "outputs: [y0");
	for (int i = 1; i < N; i++)
		buf_printf(&text, ", y%d", i);
	buf_puts(&text, "]\n");
	Space *space = space_new(arena,
	    program_of_text(arena, buf_text(&text), NUMERICS_DEFAULT),
	    &machine, &error);
	if (!space)
		fail_msg("%s", error.text);
	trace_print(&out, space_sketch(space, 0));
	assert_int_equal(times_in(buf_text(&out), "= rfactor("), MOST);
	buf_free(&text);
	buf_free(&out);
	arena_free(arena);
}

/* Rows of B a multiple of a page apart share a few sets: read in place they
 * stay in no cache.  Steps of a dot product behind the last four cost as much as
 * many fours. */
static void test_first(void **state)
{
	(void)state;
	check_first("test/bench/cliffs/product.yaml:p2048",
	    (const char *[]){"b_pack_v0, b_pack_v1 = split(b_pack.x1, [_, 16])",
		"compute_at(b_pack, ?=c_"},
	    2);
	check_first("test/bench/families/stencils/harris.yaml",
	    (const char *[]){
		"compute_at(gy, ?=y_jb", "compute_at(sxx_c, ?=y_jb"},
	    2);
	/* vectors in which elements are there twice are made once, without the
	 * zeros around them, which would tell their lanes apart */
	check_first("test/layouts/enlarged_filter.yaml",
	    (const char *[]){"compute_at(p, ?=inline"}, 1);
	/* lanes along rows would be scattered, each vector under its mask */
	check_first("test/layouts/quotient_dense.yaml",
	    (const char *[]){"vectorize(y_jv, 16)", "compute_at(u, ?=root"},
	    2);
	/* lanes across 16 matrices would be put in their places by shuffles */
	check_first("test/layouts/small_uneven.yaml",
	    (const char *[]){"vectorize(y_jv, 4)"}, 1);
	/* what is made point by point with its reader ends no tile of a sum */
	check_first("test/layouts/points_of_sums.yaml",
	    (const char *[]){"set_scope(s, reg)"}, 1);
	/* what is read further back lies side by side, too */
	check_first("test/layouts/joined_columns.yaml",
	    (const char *[]){"set_scope(y~1, reg)"}, 1);
	/* parts of a row lie side by side as rows do */
	check_first("test/bench/families/bytes/matvec_groups.yaml",
	    (const char *[]){"vectorize(y_1_kv, "}, 1);
	check_first("test/bench/peers/product.yaml:s1x4096x4096",
	    (const char *[]){"prefetch(c_acc, b, c_k0, 1)"}, 1);
	/* behind the end of what is read elements that lie apart are gathered */
	check_first("test/layouts/complex_filter.yaml",
	    (const char *[]){"tail(y_acc, ?=peel"}, 1);
	check_first("workloads/matmul_u8i8.yaml:odd",
	    (const char *[]){"tail(c_acc, ?=pad"}, 1);
}

static void check_has_first(const char *spec)
{
	Arena *arena = arena_new();
	Error error = {0};
	Candidate first;
	Space *space = space_new(arena,
	    program_of_text(arena, spec, NUMERICS_DEFAULT), &machine, &error);
	if (!space)
		fail_msg("%s", error.text);
	assert_true(space_first(space, 64, &first));
	arena_free(arena);
}

/* Many blocks each of which may be where its reader is have a candidate. */
static void test_long_chain(void **state)
{
	enum { N = 24 };
	Buf text = {0};
	(void)state;
	buf_puts(&text,
	    "tunec: 1\nname: chain\ninputs: {y0: 'f32[64, 96]'}\n"
	    "compute: |\n");
	for (int i = 1; i <= N; i++)
		buf_printf(&text,
		    "  m%d[i < 64] = max[j < 96](y%d[i, j])\n"
		    "  y%d[i < 64, j < 96] = exp(y%d[i, j] - m%d[i])\n",
		    i, i - 1, i, i - 1, i);
	buf_printf(&text, "outputs: [y%d]\n", N);
	check_has_first(buf_text(&text));
	buf_free(&text);
}

/* Many tiles, each of which has to fit the registers, have one, too. */
static void test_many_tiles(void **state)
{
	enum { N = 12 };
	Buf text = {0};
	(void)state;
	buf_puts(&text,
	    "tunec: 1\nname: norms\ninputs: {y0: 'f32[36, 63, 70]'}\n"
	    "compute: |\n");
	for (int i = 1; i <= N; i++)
		buf_printf(&text,
		    "  m%d[y < 63, x < 70] = max[c < 36](y%d[c, y, x])\n"
		    "  y%d[c < 36, y < 63, x < 70] = exp(y%d[c, y, x] - m%d[y, x])\n",
		    i, i - 1, i, i - 1, i);
	buf_printf(&text, "outputs: [y%d]\n", N);
	check_has_first(buf_text(&text));
	buf_free(&text);
}

/* Reductions of one axis that share loops, in sets of a few, are legal as they
 * stand: those of the second set are not moved to the first one's. */
static void test_many_sets(void **state)
{
	enum { N = 12 };
	Buf text = {0};
	(void)state;
	buf_puts(&text,
	    "tunec: 1\nname: sums\ninputs: {x: 'f32[64, 64]', s: 'f32[64]'}\n"
	    "compute: |\n  y[i < 64] = s[i]*max[k < 64](x[k, i] + 2)");
	for (int i = 1; i < N; i++)
		buf_printf(&text,
		    " + sum[k < 64](x[i, k]*%d)*max[k < 64](x[k, i] + %d)",
		    2 * i + 1, 2 * i + 2);
	buf_puts(&text, "\n");
	check_has_first(buf_text(&text));
	buf_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sketches),
	    cmocka_unit_test(test_fast_sketches),
	    cmocka_unit_test(test_exact_sketches),
	    cmocka_unit_test(test_target_sketches),
	    cmocka_unit_test(test_gpu_sketches), cmocka_unit_test(test_first),
	    cmocka_unit_test(test_many_parts),
	    cmocka_unit_test(test_long_chain),
	    cmocka_unit_test(test_many_tiles),
	    cmocka_unit_test(test_many_sets)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
