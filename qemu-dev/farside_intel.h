/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NTBs of Intel's processors, generations 3 to 6, back to back: partition 0
 * is the upstream device, partition 1 the downstream device.
 * docs/reference/intel.md is their specification.
 */
#ifndef FARSIDE_INTEL_H
#define FARSIDE_INTEL_H

/* The plugin calls this. In a QEMU tree, type_init() does. */
void farside_intel_register_types(void);

#endif /* FARSIDE_INTEL_H */
