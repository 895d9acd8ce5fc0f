#include "lib/status.h"

#include <stdarg.h>
#include <stdio.h>

const char *status_text(Status status)
{
	static const char *const texts[] = {
#define STATUS(name, text) text,
#include "lib/status.def"
#undef STATUS
	};
	return texts[status];
}

Status error_set(Error *error, Status status, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	error->status = status;
	vsnprintf(error->text, sizeof error->text, format, args);
	va_end(args);
	return status;
}
