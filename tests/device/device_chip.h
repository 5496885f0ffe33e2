/* SPDX-License-Identifier: MIT */
/*
 * The tests of chips share this: machines, registers of a page, interrupts,
 * requests for registers that the test makes as the far end, and accesses at
 * random of a hostile guest and hostile peers.
 */
#ifndef DEVICE_CHIP_H
#define DEVICE_CHIP_H

#include <check.h>
#include <glib.h>
#include "device_page.h"
#include "device_rig.h"

/* The number of the NTB device on bus 0, and its function */
#define CHIP_DEVFN 0x28

/* Meets the first side, which listens, as its peer. The link between the
 * processes is up then. */
RigPeer *chip_meet(DeviceRig *rig);
/* Starts the other side of the chip, and waits for that link. */
DeviceRig *chip_new_other(DeviceRig *rig, const char *type,
                          const char *properties);
/* Ends what a test has started, and sets it to NULL. */
void chip_stop(DeviceRig **rig, DeviceRig **other, RigPeer **peer);

/* Adds a case whose tests have these fixtures. @setup is nullable. */
TCase *chip_add_case(Suite *suite, const char *name, SFun setup, SFun teardown);

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

#define CHIP_FUZZ_PEERS 7

/* Bytes at an address, or an offset */
typedef struct ChipRange {
    uint64_t start, size;
} ChipRange;

/* The chip under hostile accesses. Ranges end with an empty one. */
typedef struct ChipFuzz {
    DeviceRig *rig; /* completion-timeout is that of CHIP_FUZZ_PROPERTIES */
    unsigned peers;
    /* Returns the peer after HELLO. NULL: chip_meet() does it. */
    RigPeer *(*meet)(unsigned peer);
    const ChipRange *guest; /* which the guest accesses, beside the windows */
    const ChipRange *far; /* which a peer accesses in the space of registers */
} ChipFuzz;

/* Peers may never answer. */
#define CHIP_FUZZ_PROPERTIES "completion-timeout=2"

/*
 * Makes accesses of the guest, and sends messages of the peers, of which most
 * are nearly right, FARSIDE_FUZZ (6000) in all. Peers answer with anything, or
 * not, and are replaced now and then. Prints the seed, which is @seed, or
 * FARSIDE_SEED. Fails if the device does not answer the guest.
 */
void chip_fuzz(const ChipFuzz *fuzz, unsigned seed);
/* Adds the case "fuzz", with a limit of time for FARSIDE_FUZZ accesses. */
TCase *chip_add_fuzz(Suite *suite, SFun teardown);

#endif
