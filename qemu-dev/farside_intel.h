/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NTBs of Intel's processors, back to back: partition 0 is the upstream
 * device, partition 1 the downstream device. docs/reference/intel.md is their
 * specification, and docs/reference/intel-gen1.md that of generation 1.
 */
#ifndef FARSIDE_INTEL_H
#define FARSIDE_INTEL_H

/* The plugin calls these. In a QEMU tree, type_init() does. */
void farside_intel_register_types(void);
void farside_intel_gen1_register_types(void);

#endif /* FARSIDE_INTEL_H */
