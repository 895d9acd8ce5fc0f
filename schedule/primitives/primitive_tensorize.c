/* tensorize: the loops from one inwards are what an intrinsic computes.
 *
 *     for ki in 4  c[i] += i32(a[k]) * i32(b[k])     tensorize(ki, dot4_u8i8)
 *   ->
 *     dot4_u8i8 { for ki in 4 ... }
 *
 * One operand alone is multiplied by 1.
 *
 * Of a fragment: three loops from one inwards, of the reduction as many steps as
 * it has terms, and two rows and two columns, which a thread has of it.
 *
 *     for i8 in 2 for j1 in 2 for ki in 16   c[...] += f32(a[...]) * f32(b[...])
 *
 * Of a warpgroup the same with a fourth loop, a half, quarter .. of the columns'
 * blocks of 8.
 *
 *     for i8 in 2 for j8 in 16 for j1 in 2 for ki in 64   c[...] += ...
 *
 * Legal if the loops, the body and the types match the description in
 * ir/intrinsics.def, fragments.def or warpgroups.def.  What it means does not
 * change: code generation may use the instruction where the target has it.  One of
 * f32 rounds operands to tf32 there, and wants --numerics=fast. */
#include "schedule/internal.h"

typedef struct {
	int loop, intrinsic;
} Tensorize;

static Refusal parameters(const Call *call, Tensorize *p)
{
	const char *word;
	Refusal why = call_loop(call, 0, &p->loop);

	if (!why)
		why = call_word(call, 1, &word);
	if (why)
		return why;
	p->intrinsic = intrinsic_find(word);
	return p->intrinsic < 0 ? "there is no such intrinsic" : NULL;
}

/* Two loops of a row and a column, and the steps, in any order. */
static Refusal unit_legal(Nest *nest, const Intrinsic *in, int loop)
{
	const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];
	int first = nest_loop_position(nest, loop), steps = 0, axis = -1;
	const char *refusal;

	if (s->nloops - first != 3)
		return "a fragment is three loops";
	for (int i = first; i < s->nloops; i++) {
		const Var *v = &nest->vars.at[s->loops[i]];
		Handle n = edit_fixed_extent(nest, s->loops[i]);
		Handle wanted =
		    tape_const(nest->tape, v->reduce ? in->terms : 2);
		if (n == HANDLE_NONE ||
		    !nest_require(nest, tape_equal(nest->tape, n, wanted),
			"a loop of the fragment has not as many iterations",
			&refusal))
			return "a loop of the fragment has not as many iterations";
		steps += v->reduce;
		if (!v->reduce && (v->axis < 0 || v->axis == axis))
			return "a fragment has a loop of rows and one of columns";
		axis = v->reduce ? axis : v->axis;
	}
	return steps == 1 ? NULL : "a fragment has one loop of the reduction";
}

/* A row's and a column's axis, and the steps, outer to inner: rows of 2, columns,
 * columns of 2, the reduction. */
static Refusal warpgroup_legal(Nest *nest, const Intrinsic *in, int loop)
{
	enum { LOOPS = 4 };
	const int64_t wanted[LOOPS] = {2, GROUP_MOST_COLUMNS / 8, 2, in->terms};
	const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];
	const Var *v[LOOPS];
	int first = nest_loop_position(nest, loop);
	const char *refusal;

	if (s->nloops - first != LOOPS)
		return "a warpgroup's product is four loops";
	for (int i = 0; i < LOOPS; i++) {
		Handle n = edit_fixed_extent(nest, s->loops[first + i]);
		Handle most = tape_const(nest->tape, wanted[i]);
		v[i] = &nest->vars.at[s->loops[first + i]];
		if (n == HANDLE_NONE ||
		    !nest_require(nest, i == 1
			    ? tape_at_most(nest->tape, n, most)
			    : tape_equal(nest->tape, n, most),
			"a loop of the product has not as many iterations",
			&refusal))
			return "a loop of the product has not as many iterations";
		if (v[i]->reduce != (i == 3) || v[i]->axis < 0)
			return "a warpgroup's product is rows, columns twice, and "
			       "steps";
	}
	return v[0]->axis != v[1]->axis && v[1]->axis == v[2]->axis
	    ? NULL : "a warpgroup's product is rows, columns twice, and steps";
}

static Refusal fragment_legal(Nest *nest, const Intrinsic *in, int loop)
{
	const Stage *s = &nest->stages.at[nest->vars.at[loop].stage];

	if (s->reduce != REDUCE_SUM || !fragment_sums(in, s->body))
		return "the body is not what the intrinsic computes";
	if (fragment_rounds(in) && nest->program->numerics != NUMERICS_FAST)
		return "only --numerics=fast rounds f32 to tf32";
	if (dtype_is_float(in->sum) &&
	    edit_is_exact(nest, nest->vars.at[loop].stage))
		return "exact numerics keep the order of the reduction";
	Refusal why = in->warps > 1 ? warpgroup_legal(nest, in, loop)
				    : unit_legal(nest, in, loop);
	return why ? why : edit_unit_legal(nest, loop);
}

Refusal tensorize_legal(const Call *call)
{
	Nest *nest = call->nest;
	const Intrinsic *in;
	const Stage *s;
	Tensorize p;
	Refusal why = parameters(call, &p);

	if (why)
		return why;
	in = intrinsic_at(p.intrinsic);
	s = &nest->stages.at[nest->vars.at[p.loop].stage];
	if (s->intrinsic >= 0 ||
	    (s->tensor_loop >= 0 && s->tensor_loop != p.loop))
		return "the block has a unit already";
	if (in->rows)
		return fragment_legal(nest, in, p.loop);
	if (s->reduce != REDUCE_SUM || !intrinsic_sums(in, s->body))
		return "the body is not what the intrinsic computes";
	if (edit_is_exact(nest, nest->vars.at[p.loop].stage))
		return "exact numerics keep the order of the reduction";
	if (!nest->vars.at[p.loop].reduce ||
	    nest_loop_position(nest, p.loop) != s->nloops - 1)
		return "the loop is not the innermost reduction loop";
	if (edit_fixed_extent(nest, p.loop) != tape_const(nest->tape, in->terms))
		return "the loop has not as many iterations as the intrinsic";
	return edit_unit_legal(nest, p.loop);
}

void tensorize_apply(const Call *call)
{
	Nest *nest = call->nest;
	Stage *s;
	Tensorize p;

	parameters(call, &p);
	s = &nest->stages.at[nest->vars.at[p.loop].stage];
	s->intrinsic = p.intrinsic;
	s->tensor_loop = p.loop;
}
