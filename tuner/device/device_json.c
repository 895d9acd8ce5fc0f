/* A device in JSON: what `tunec target --json` lists and what a trial's line says
 * of the machine that measured it. */
#include "tuner/device/device.h"
#include "tuner/tuner.h"

static void set_integer(json_t *o, const char *key, int64_t value)
{
	if (value)
		json_object_set_new(o, key, json_integer((json_int_t)value));
}

json_t *device_json(const DeviceDriver *driver, const DeviceFacts *f)
{
	json_t *o = json_object();
	json_object_set_new(o, "through", json_string(driver->name));
	json_object_set_new(o, "type", json_string(device_type_name(f->type)));
	json_object_set_new(o, "name", json_text(f->name));
	json_object_set_new(o, "vendor", json_text(f->vendor));
	json_object_set_new(o, "platform", json_text(f->platform));
	json_object_set_new(o, "version", json_text(f->version));
	json_object_set_new(o, "driver", json_text(f->driver));
	if (f->arch[0])
		json_object_set_new(o, "arch", json_text(f->arch));
	json_object_set_new(o, "usable", json_boolean(f->usable));
	set_integer(o, "units", f->units);
	set_integer(o, "clock_mhz", f->clock_mhz);
	set_integer(o, "warp", f->warp);
	set_integer(o, "float_lanes", f->float_lanes);
	set_integer(o, "group_threads", f->group_threads);
	set_integer(o, "local_bytes", f->local_bytes);
	json_object_set_new(
	    o, "local_dedicated", json_boolean(f->local_dedicated));
	set_integer(o, "memory_bytes", f->memory_bytes);
	set_integer(o, "buffer_bytes", f->buffer_bytes);
	set_integer(o, "cache_bytes", f->cache_bytes);
	json_object_set_new(o, "f64", json_boolean(f->f64));
	json_object_set_new(o, "f16", json_boolean(f->f16));
	return o;
}
