/* Which drivers there are, and which device of one is taken. */
#include "tuner/device/device.h"

#include <string.h>

static const DeviceDriver *const drivers[] = {&device_opencl};

const DeviceDriver *device_driver(const char *name)
{
	for (size_t i = 0; i < sizeof drivers / sizeof *drivers; i++)
		if (!strcmp(drivers[i]->name, name))
			return drivers[i];
	return NULL;
}

const char *device_class_name(DeviceClass class)
{
	static const char *const names[] = {"gpu", "cpu", "other"};
	return names[class];
}

int device_choose(const DeviceFacts *facts, int n, bool any, DeviceClass class)
{
	for (int i = 0; i < n; i++)
		if (facts[i].usable && (any || facts[i].class == class))
			return i;
	return -1;
}
