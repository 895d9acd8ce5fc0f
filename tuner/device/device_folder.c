/* Where a driver may write to: PoCL leaves a file behind each time that it is
 * opened, and what it compiled.  All of it goes to a folder that is removed. */
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/folder.h"
#include "tuner/device/device.h"

void device_folder_make(char folder[DEVICE_FOLDER])
{
	if (!folder_make(folder, DEVICE_FOLDER, "tunec-device"))
		folder[0] = 0;
}

void device_folder_use(const char *folder)
{
	if (*folder)
		setenv("POCL_CACHE_DIR", folder, 0);
	else
		setenv("POCL_KERNEL_CACHE", "0", 0);
}

static int remove_one(
    const char *path, const struct stat *s, int kind, struct FTW *walk)
{
	(void)s, (void)kind, (void)walk;
	remove(path);
	return 0;
}

void device_folder_remove(const char *folder)
{
	if (*folder)
		nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
