/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BAR 0, the Global Address Space. docs/reference/device.md is its
 * specification.
 *
 * Every access, of any size and alignment, is split into 32-bit words. Reads
 * have no side effects: the kernel reads one 64-bit register at an address that
 * is not a multiple of 8, and that read arrives as two accesses.
 */
#ifndef FARSIDE_REGS_H
#define FARSIDE_REGS_H

#include "farside_ctrl.h"
#include "farside_peer.h"
#include "farside_qemu.h"
#include "farside_requester.h"

typedef struct FarsideRegs FarsideRegs;

/* Operations of the BAR, whose opaque is a FarsideRegs. */
extern const MemoryRegionOps farside_regs_ops;

/* The parameters are borrowed. */
FarsideRegs *farside_regs_new(const FarsideConfig *config, PCIDevice *pci,
                              FarsidePeer *peer, FarsideRequester *requester,
                              FarsideCtrl *ctrl);
void farside_regs_free(FarsideRegs *s);
/* Resets all registers except the control blocks. */
void farside_regs_reset(FarsideRegs *s);

/* The peer has rung doorbells, or has sent a message of index 0 to 3. */
void farside_regs_ring(FarsideRegs *s, uint64_t bits);
void farside_regs_message(FarsideRegs *s, unsigned index, uint32_t value);
/* The link went up or down, or the peer's partition was reset. */
void farside_regs_link_event(FarsideRegs *s);

#endif /* FARSIDE_REGS_H */
