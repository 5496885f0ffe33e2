/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An NTB device. Each chip is a type of its own, below the abstract
 * TYPE_FARSIDE_NTB, whose class has the FarsideChipClass.
 */
#ifndef FARSIDE_NTB_H
#define FARSIDE_NTB_H

#include "hw/pci/pci.h"
#include "farside_chip.h"
#include "farside_parts.h"
#include "farside_qemu.h"

typedef struct FarsideNtb {
    PCIDevice parent_obj;

    FarsideConfig config;
    MemoryRegion *bar;      /* BAR 0 */
    MemoryRegion halves[2]; /* of the last window, if it is split */

    /* Freed with the object, because its memory regions point into these. */
    FarsideParts parts;
} FarsideNtb;

typedef struct FarsideNtbClass {
    PCIDeviceClass parent_class;

    const FarsideChipClass *chip;
} FarsideNtbClass;

OBJECT_DECLARE_TYPE(FarsideNtb, FarsideNtbClass, FARSIDE_NTB)

/* The chip that an NTB device is. */
const FarsideChipClass *farside_ntb_chip(PCIDevice *pci);

/*
 * Registers the type of a chip, and once the abstract type and all that NTB
 * devices have in common. Borrows @chip for ever.
 */
void farside_ntb_register(const FarsideChipClass *chip);

#endif /* FARSIDE_NTB_H */
