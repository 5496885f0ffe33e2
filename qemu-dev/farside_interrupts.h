/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interrupts of an NTB device, by MSI-X, or by MSI with one vector.
 *
 * A guest may let an interrupt's message lead anywhere, for example to the
 * registers of a device. While that device waits (farside_wait.h), only what
 * ends in a local APIC is sent at once.
 */
#ifndef FARSIDE_INTERRUPTS_H
#define FARSIDE_INTERRUPTS_H

#include "hw/pci/pci.h"
#include "farside_config.h"

typedef struct FarsideInterrupts FarsideInterrupts;

/* Borrows the parameters. */
FarsideInterrupts *farside_interrupts_new(const FarsideConfig *config,
                                          PCIDevice *pci);
void farside_interrupts_free(FarsideInterrupts *s); /* nullable */

/* Makes the capability, of MSI-X with its tables in @bar. Sets @errp. */
bool farside_interrupts_start(FarsideInterrupts *s, MemoryRegion *bar,
                              Error **errp);
void farside_interrupts_stop(FarsideInterrupts *s, MemoryRegion *bar);

/* Forgets what was not sent yet. */
void farside_interrupts_reset(FarsideInterrupts *s);
/* Raises @vector, unless the function has no such vector, or they are off. */
void farside_interrupts_raise(FarsideInterrupts *s, unsigned vector);

#endif /* FARSIDE_INTERRUPTS_H */
