/* A temporary in the parts that hold it: their names and types, what is assigned
 * to one, and a lane of one.
 *
 *     x of 8 lanes   -->   x_part0.s0 ... x_part1.s3   in parts of 4
 */
#include "codegen/device/emit_device.h"

static const LowTemp *temp_of(const EmitDevice *e, int temp)
{
	return &e->c.f->temps.at[temp];
}

int device_part(const EmitDevice *e, int temp)
{
	int lanes = e->c.f->temps.at[temp].lanes;
	return lanes < e->dialect->part ? lanes : e->dialect->part;
}

int device_parts(const EmitDevice *e, int temp)
{
	return e->c.f->temps.at[temp].lanes / device_part(e, temp);
}

const char *device_name(EmitDevice *e, int temp, int part)
{
	const char *name = e->c.temp[temp];
	return device_parts(e, temp) == 1
		   ? name
		   : device_text(e, "%s_part%d", name, part);
}

const char *device_variable(EmitDevice *e, int temp)
{
	int lanes = device_part(e, temp);
	return lanes == 1 && low_temp_is_narrow(e->c.f, temp)
		   ? "int"
		   : device_type(e, e->c.f->temps.at[temp].type, lanes);
}

const char *device_place(EmitDevice *e, int temp, int part)
{
	const char *name = device_name(e, temp, part);
	return e->c.declared[temp]
	    ? name : device_text(e, "%s %s", device_variable(e, temp), name);
}

void device_assign(EmitDevice *e, int dst, int part, const char *value)
{
	emit_c_line(&e->c, "%s = %s;", device_place(e, dst, part), value);
	if (part == device_parts(e, dst) - 1)
		e->c.declared[dst] = true;
}

const char *device_lane(EmitDevice *e, int temp, int lane)
{
	int part = device_part(e, temp);
	const char *name = device_name(e, temp, lane / part);
	if (part == 1)
		return name;
	return device_text(e, "%s.s%x%s", name, lane % part,
	    temp_of(e, temp)->type == DT_BOOL ? " != 0" : "");
}

const char *device_from_lanes(
    EmitDevice *e, const LowNode *n, int part, LaneText *text)
{
	const LowTemp *d = temp_of(e, n->dst);
	int lanes = device_part(e, n->dst);
	if (lanes == 1)
		return text(e, n, part);
	Buf list = {0};
	for (int l = 0; l < lanes; l++)
		buf_printf(&list, "%s%s", l ? ", " : "",
		    text(e, n, part * lanes + l));
	const char *type = device_type(e, d->type, lanes);
	const char *all = device_text(e, "(%s)(%s)", type, buf_text(&list));
	buf_free(&list);
	return all;
}
