/* The same operator with smaller params: 2048 x 2048 x 2048 becomes
 * 128 x 128 x 128.  For checks that would take too long at the real size.
 *
 * A param keeps the power of two, up to 64, that divides it, so that what has to
 * divide still does; small ones (strides, windows, paddings) stay as they are. */
#include "ir/spec/spec.h"

enum { SMALL = 32, POWER = 64 };

static int64_t reduced(int64_t value, int64_t divisor)
{
	int64_t unit = value & -value;
	unit = unit > POWER ? POWER : unit;
	if (value < SMALL)
		return value;
	int64_t smaller = value / divisor / unit * unit;
	int64_t least = SMALL / 2 > unit ? SMALL / 2 : unit;
	return smaller > least ? smaller : least;
}

Program *program_reduced(
    Arena *arena, const Program *program, int64_t divisor)
{
	const char *name = *program->case_name ? program->case_name : NULL;
	SpecDefine *defines = NEW_N(arena, SpecDefine, program->nparams);
	Diag diag = {0};
	if (!program->source || !program->nparams)
		return NULL;
	for (int i = 0; i < program->nparams; i++) {
		const Param *p = &program->params[i];
		defines[i].name = p->name;
		defines[i].value = p->is_float
		    ? arena_printf(arena, "%.17g", p->real)
		    : arena_printf(arena, "%lld",
			  (long long)reduced(p->value, divisor));
	}
	Spec *spec = spec_parse(arena, program->source, &diag);
	Program *small = spec ? spec_program(arena, spec, name, defines,
				    program->nparams, program->numerics, &diag)
			      : NULL;
	if (diag.errors)
		small = NULL;
	diag_free(&diag);
	return small;
}
