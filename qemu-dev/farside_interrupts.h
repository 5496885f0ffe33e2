/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The MSI-X interrupts of an NTB device.
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

/* Forgets what was not sent yet. */
void farside_interrupts_reset(FarsideInterrupts *s);
/* Raises @vector, unless the function has no such vector, or MSI-X is off. */
void farside_interrupts_raise(FarsideInterrupts *s, unsigned vector);

#endif /* FARSIDE_INTERRUPTS_H */
