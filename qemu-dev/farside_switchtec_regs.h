/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BAR 0, the Global Address Space. docs/reference/device.md is its
 * specification.
 *
 * Every access, of any size and alignment, is split into 32-bit words. Reads
 * have no side effects: the kernel reads one 64-bit register at an address that
 * is not a multiple of 8, and that read arrives as two accesses.
 */
#ifndef FARSIDE_SWITCHTEC_REGS_H
#define FARSIDE_SWITCHTEC_REGS_H

#include "farside_switchtec_ctrl.h"

typedef struct SwitchtecRegs SwitchtecRegs;

/* The parameters are borrowed. */
SwitchtecRegs *switchtec_regs_new(const FarsideConfig *config,
                                  const SwitchtecOptions *options,
                                  PCIDevice *pci, const FarsideParts *parts,
                                  SwitchtecCtrl *ctrl);
void switchtec_regs_free(SwitchtecRegs *s);
/* Resets all registers except the control blocks. */
void switchtec_regs_reset(SwitchtecRegs *s);

/* Accesses of 1 to 8 bytes; bytes beyond the BAR read as 0. */
uint64_t switchtec_regs_read(SwitchtecRegs *s, unsigned address, unsigned size);
void switchtec_regs_write(SwitchtecRegs *s, unsigned address, uint64_t value,
                          unsigned size);

/* The peer has rung doorbells, or has sent a message of index 0 to 3. */
void switchtec_regs_ring(SwitchtecRegs *s, uint64_t bits);
void switchtec_regs_message(SwitchtecRegs *s, unsigned index, uint32_t value);
/* The link went up or down, or the peer's partition was reset. */
void switchtec_regs_link_event(SwitchtecRegs *s);

#endif /* FARSIDE_SWITCHTEC_REGS_H */
