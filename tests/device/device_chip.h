/* SPDX-License-Identifier: MIT */
/*
 * The tests of chips share this: registers of a page, interrupts, and requests
 * for registers that the test makes as the far end.
 */
#ifndef DEVICE_CHIP_H
#define DEVICE_CHIP_H

#include <glib.h>
#include "device_page.h"
#include "device_rig.h"

/* The number of the NTB device on bus 0, and its function */
#define CHIP_DEVFN 0x28

/*
 * Writes the register, and fails if it does not read back as the page says.
 * @mask is that of the page, or narrower.
 */
void chip_check_writes(DeviceRig *rig, const PageRegister *r, uint64_t mask);
/*
 * Fails if one of @count bytes of BAR 0, below @size and outside of @registers
 * and the MSI-X tables, is not 0, or can be written.
 */
void chip_check_gaps(DeviceRig *rig, const GArray *registers, unsigned size,
                     unsigned table, unsigned vectors, unsigned count);

/* Lets each MSI-X vector write its number + 1 to memory. */
void chip_enable_interrupts(DeviceRig *rig, unsigned table, unsigned vectors);
/* The vectors that were raised since the last call, a bit each */
uint64_t chip_raised(DeviceRig *rig, unsigned vectors);

/* A WRITE of @space, and the completion of one */
void chip_send_write(RigPeer *peer, unsigned space, uint64_t offset,
                     uint64_t value, unsigned size, uint16_t tag);
void chip_expect_completion(RigPeer *peer, uint16_t tag, unsigned status);

#endif
