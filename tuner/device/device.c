/* Which drivers there are, and which device of one is taken. */
#include "tuner/device/device.h"

#include <string.h>

const DeviceDriver *const device_drivers[] = {
    &device_opencl, &device_cuda, NULL};

const DeviceDriver *device_driver(const char *name)
{
	for (int i = 0; device_drivers[i]; i++)
		if (!strcmp(device_drivers[i]->name, name))
			return device_drivers[i];
	return NULL;
}

const char *device_type_name(DeviceType type)
{
	static const char *const names[] = {"gpu", "cpu", "other"};
	return names[type];
}

int device_choose(const DeviceFacts *facts, int n, bool any, DeviceType type)
{
	for (int i = 0; i < n; i++)
		if (facts[i].usable && (any || facts[i].type == type))
			return i;
	return -1;
}
