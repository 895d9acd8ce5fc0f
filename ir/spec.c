/* From PATH:CASE to programs. */
#include "ir/program.h"

Status spec_load(Arena *arena, const char *argument, const SpecDefine *defines,
    int ndefines, Numerics numerics, Diag *diag, Error *error,
    ProgramVec *programs)
{
	(void)arena, (void)defines, (void)ndefines, (void)numerics;
	(void)diag, (void)programs;
	return error_set(
	    error, STATUS_UNSUPPORTED, "%s: cannot be read yet", argument);
}
