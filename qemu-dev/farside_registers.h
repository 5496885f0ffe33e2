/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * BAR 0, which has the registers of the chip, and the registers that the chips
 * of the peers own.
 */
#ifndef FARSIDE_REGISTERS_H
#define FARSIDE_REGISTERS_H

#include "farside_chip.h"
#include "farside_requester.h"

typedef struct FarsideRegisters FarsideRegisters;

FarsideRegisters *farside_registers_new(void);
/* Borrows the Requester of @peer. */
void farside_registers_add_peer(FarsideRegisters *s, unsigned peer,
                                FarsideRequester *requester);
/*
 * Frees registers (nullable). Their memory region belongs to the device's
 * object, and must be gone.
 */
void farside_registers_free(FarsideRegisters *s);

/*
 * Makes the BAR, of @size bytes, whose accesses @chip (borrowed) gets. Returns
 * its region, which belongs to @owner.
 */
MemoryRegion *farside_registers_start(FarsideRegisters *s, Object *owner,
                                      FarsideChip *chip, uint64_t size);
/* True if @mr is BAR 0 of some NTB device. */
bool farside_registers_own(const MemoryRegion *mr);

/*
 * For a chip: accesses of 1, 2, 4 or 8 bytes to registers of a peer's chip, at
 *  an aligned @offset of the peer's BAR 0. While the link is down, and if the
 * peer does not answer, a read is 0 and a write is lost. put() takes effect
 * before the guest goes on, so nothing uses a window any more that it closes.
 */
uint64_t farside_registers_ask(FarsideRegisters *s, unsigned peer,
                               uint64_t offset, unsigned size);
void farside_registers_post(FarsideRegisters *s, unsigned peer, uint64_t offset,
                            uint64_t value, unsigned size);
void farside_registers_put(FarsideRegisters *s, unsigned peer, uint64_t offset,
                           uint64_t value, unsigned size);

/*
 * The same, and the caller learns if the peer has done it: a read that sets
 * *@ret_value, and a non-posted write that closes no window. The guest's access
 * goes on when the peer has answered, or for as long as a read waits.
 */
bool farside_registers_get(FarsideRegisters *s, unsigned peer, uint64_t offset,
                           unsigned size, uint64_t *ret_value);
bool farside_registers_try(FarsideRegisters *s, unsigned peer, uint64_t offset,
                           uint64_t value, unsigned size);

#endif /* FARSIDE_REGISTERS_H */
