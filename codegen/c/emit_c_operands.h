/* Operands and results of one operation, by the names that the files of operations
 * have for them. */
#ifndef CODEGEN_EMIT_C_OPERANDS_H
#define CODEGEN_EMIT_C_OPERANDS_H

#include "codegen/c/emit_c.h"

static inline const LowTemp *temp_of(const EmitC *e, int temp)
{
	return &e->f->temps.at[temp];
}

static inline bool is_vector(const EmitC *e, int temp)
{
	return temp_of(e, temp)->lanes > 1;
}

/* An operand in a list of arguments, and as what binds tightest. */
static inline const char *loose(EmitC *e, int temp)
{
	return emit_c_text(e, temp, LEVEL_CHOICE);
}

static inline const char *tight(EmitC *e, int temp)
{
	return emit_c_text(e, temp, LEVEL_UNARY);
}

static inline const char *mask(EmitC *e, int temp, int bytes)
{
	return emit_c_mask_of(e, temp, bytes, LEVEL_UNARY);
}

/* Of a call, a macro, a name. */
static inline void assign(EmitC *e, int dst, const char *value)
{
	emit_c_assign(e, dst, LEVEL_PRIMARY, value);
}

#endif
