/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * /dev/lull: the calls are in core/include/lull/abi/kernel.h.
 */
#ifndef LULL_KERNEL_DEVICE_H
#define LULL_KERNEL_DEVICE_H

/* lull_device_register(), lull_device_unregister() - make the device, and take it away. */
int lull_device_register(void);
void lull_device_unregister(void);

#endif
