/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A Switchtec of two partitions as a chip of the NTB device.
 * docs/reference/device.md is its specification.
 */
#ifndef FARSIDE_SWITCHTEC_H
#define FARSIDE_SWITCHTEC_H

#include "farside_config.h"
#include "switchtec_regs.h"

#define TYPE_FARSIDE_SWITCHTEC "farside-switchtec"

/* Entries of the requester ID table */
#define FARSIDE_SWITCHTEC_REQ_IDS 32

/* The properties of this chip alone */
typedef struct SwitchtecOptions {
    uint8_t generation;
    uint8_t vectors;
    uint16_t lut_entries;
} SwitchtecOptions;

/* The plugin calls this. In a QEMU tree, type_init() does. */
void farside_switchtec_register_types(void);

#endif /* FARSIDE_SWITCHTEC_H */
