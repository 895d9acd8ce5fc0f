/* Conversions of device languages: as casts of the language, of the lanes of a
 * part. */
#include <string.h>

#include "codegen/device/emit_device.h"

static const char *signed_of_bytes(int bytes)
{
	return bytes == 1 ? "char" : bytes == 2 ? "short"
	    : bytes == 4 ? "int" : "long";
}

const char *device_mask(EmitDevice *e, const char *mask, int lanes, int bytes)
{
	if (lanes == 1 || bytes == 4)
		return mask;
	return device_text(
	    e, "convert_%s%d(%s)", signed_of_bytes(bytes), lanes, mask);
}

const char *device_as_mask(
    EmitDevice *e, const char *test, int lanes, int bytes)
{
	if (lanes == 1 || bytes == 4)
		return test;
	return device_text(e, "convert_int%d(%s)", lanes, test);
}

static const char *from_bool(
    EmitDevice *e, DType to, int lanes, const char *a)
{
	const char *type = device_type(e, to, lanes);
	const char *one = to == DT_F16 ? "0x3c00" : "0x3f80";
	if (lanes == 1 && dtype_is_half(to))
		return device_text(e, "%s ? %s : 0", a, one);
	if (lanes == 1)
		return device_text(e, "(%s)%s", type, a);
	if (dtype_is_half(to))
		return device_text(
		    e, "convert_%s(%s & %s)", type, a, one);
	return device_text(e, "convert_%s(-%s)", type, a);
}

static const char *to_bool(EmitDevice *e, DType from, int lanes, const char *a)
{
	const char *zero = lanes == 1 ? "0"
	    : device_text(e, "(%s)(0)", device_type(e, from, lanes));
	const char *test = dtype_is_half(from)
	    ? device_text(e, "(%s & (%s)0x7fff) != %s", a,
		  device_element(e, from), zero)
	    : device_text(e, "%s != %s", a, zero);
	return device_as_mask(e, test, lanes, device_bytes(from));
}

/* Of doubles a lane after the other. */
static const char *narrowed(EmitDevice *e, DType to, int lanes, const char *a)
{
	const char *name = device_half(e, DT_F64, to, 1);
	Buf text = {0};
	if (lanes > 1)
		buf_printf(&text, "(%s)(", device_type(e, to, lanes));
	for (int l = 0; l < lanes; l++) {
		buf_printf(&text, "%s%s(%s", l ? ", " : "", name, a);
		if (lanes > 1)
			buf_printf(&text, ".s%x", l);
		buf_printf(&text, ", %d)", to == DT_F16 ? 10 : 7);
	}
	buf_puts(&text, lanes > 1 ? ")" : "");
	const char *copy = arena_strdup(e->c.arena, buf_text(&text));
	buf_free(&text);
	return copy;
}

static const char *plain(EmitDevice *e, DType to, int lanes, const char *a)
{
	const char *type = device_type(e, to, lanes);
	return lanes == 1 ? device_text(e, "(%s)(%s)", type, a)
			  : device_text(e, "convert_%s(%s)", type, a);
}

const char *device_convert(
    EmitDevice *e, DType from, DType to, int lanes, const char *a)
{
	bool index = (from == DT_I64 || from == DT_INDEX) &&
	    (to == DT_I64 || to == DT_INDEX);
	if (from == to || index)
		return a;
	if (from == DT_BOOL)
		return from_bool(e, to, lanes, a);
	if (to == DT_BOOL)
		return to_bool(e, from, lanes, a);
	if (dtype_is_half(from)) {
		a = device_text(
		    e, "%s(%s)", device_half(e, from, DT_F32, lanes), a);
		return device_convert(e, DT_F32, to, lanes, a);
	}
	if (dtype_is_half(to) && from == DT_F32)
		return device_text(
		    e, "%s(%s)", device_half(e, from, to, lanes), a);
	if (dtype_is_half(to)) {
		/* an integer's double is exact, but for 64 bits */
		if (from != DT_F64)
			a = device_text(
			    e, "(%s)", plain(e, DT_F64, lanes, a));
		return narrowed(e, to, lanes, a);
	}
	if (!dtype_is_float(from) || dtype_is_float(to))
		return plain(e, to, lanes, a);
	if (lanes == 1)
		return device_text(
		    e, "%s(%s)", device_saturate(e, from, to), a);
	/* Truncates, saturates; NaN gives 0. */
	return device_text(
	    e, "convert_%s_sat_rtz(%s)", device_type(e, to, lanes), a);
}
