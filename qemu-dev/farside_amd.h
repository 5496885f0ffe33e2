/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The NTB of an AMD processor as a chip of the NTB device: partition 0 is its
 * primary side, partition 1 the secondary. docs/reference/amd.md is its
 * specification.
 */
#ifndef FARSIDE_AMD_H
#define FARSIDE_AMD_H

/* The plugin calls this. In a QEMU tree, type_init() does. */
void farside_amd_register_types(void);

#endif /* FARSIDE_AMD_H */
