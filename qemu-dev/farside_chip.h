/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A chip, as the rest of the NTB device sees it: its shape, its registers, and
 * its share in the conversation with the peers.
 *
 * Each register has one owner, the host to which it belongs. The chip of the
 * owner holds its value; the chips of the other hosts reach it by messages. A
 * chip gives its windows to farside_windows_set(), so the translation of an
 * access runs no code of a chip.
 *
 * A chip embeds a FarsideChip as its first member. All functions are called
 * under the big lock. @peer is the index of a peer in FarsideConfig; a chip of
 * two hosts has only the peer 0.
 */
#ifndef FARSIDE_CHIP_H
#define FARSIDE_CHIP_H

#include "qapi/error.h"
#include "farside_config.h"
#include "farside_link.h"

typedef struct FarsideChip FarsideChip;
typedef struct FarsideParts FarsideParts;

#define FARSIDE_RECORD_MAX 4608

typedef struct FarsideChipClass {
    const char *type; /* of the PCI device */
    const char *description;
    size_t instance_size; /* of the device's object; 0: a FarsideNtb */
    /* Adds properties of this chip. NULL: it has none. */
    void (*add_properties)(ObjectClass *klass);

    uint8_t number;     /* FARSIDE_WIRE_CHIP_* */
    uint8_t generation; /* the same at both ends; 0: introduce() tells */
    unsigned messages;  /* message registers, 0 if ring() is all there is */
    unsigned hosts_max; /* 2 to FARSIDE_NTB_HOSTS_MAX */

    /*
     * Checks the chip's properties. Returns false, and sets @errp. NULL: it has
     * none.
     */
    bool (*check)(PCIDevice *pci, Error **errp);
    void (*describe)(PCIDevice *pci, FarsideShape *ret_shape);
    /* Borrows the parameters. @parts has those that are made before. */
    FarsideChip *(*new)(const FarsideConfig *config, PCIDevice *pci,
                        const FarsideParts *parts);
    void (*free)(FarsideChip *chip);

    /* This host's part of the chip was reset. */
    void (*reset)(FarsideChip *chip);
    /*
     * An access to BAR 0, within its size, of 1 to 8 bytes. Registers of BAR 2
     * follow at the end of BAR 0. No read has an
     * effect on a register of this host.
     */
    uint64_t (*read)(FarsideChip *chip, unsigned offset, unsigned size);
    void (*write)(FarsideChip *chip, unsigned offset, uint64_t value,
                  unsigned size);

    /*
     * Registers from this offset of BAR 0 on are in configuration space, too,
     * at the same address. 0: none are.
     */
    unsigned config_registers;
    /*
     * Configuration space was written. NULL: nothing follows it. A reset clears
     * it after reset() was called.
     */
    void (*config_changed)(FarsideChip *chip);

    /* Fills in the chip's own fields of HELLO. NULL: all are 0. */
    void (*introduce)(FarsideChip *chip, struct farside_wire_hello *hello);
    /* Returns NULL, or the reason to refuse the peer. NULL: there is none. */
    const char *(*check_peer)(FarsideChip *chip, unsigned peer,
                              const struct farside_wire_hello *hello);
    /* The peer was reset, or has come or gone: no window leads to it now. */
    void (*peer_reset)(FarsideChip *chip, unsigned peer);
    /*
     * The link to the peer went up or down, or the peer was reset.
     * farside_peer.h tells the link's state.
     */
    void (*link_event)(FarsideChip *chip, unsigned peer);
    /* The peer has rung doorbells. */
    void (*ring)(FarsideChip *chip, unsigned peer, uint64_t bits);
    /* The peer has written message register @index, below @messages. */
    void (*message)(FarsideChip *chip, unsigned peer, unsigned index,
                    uint32_t value);
    /*
     * The peer accesses a register of this host: 1, 2, 4 or 8 bytes at an
     * aligned @offset. Returns false if there is none for the peer. NULL if the
     * peer reaches no register.
     */
    bool (*serve_read)(FarsideChip *chip, unsigned peer, uint64_t offset,
                       unsigned size, uint64_t *ret_value);
    bool (*serve_write)(FarsideChip *chip, unsigned peer, uint64_t offset,
                        uint64_t value, unsigned size);

    /*
     * The own messages of a chip of two hosts, from @type_first on. Their
     * receive() gets the chip. record() writes the content that a trace has of
     * such a message at
     * @at, of FARSIDE_RECORD_MAX bytes at most, and returns the end.
     */
    const FarsideLinkType *types;
    unsigned type_first;
    unsigned type_count;
    uint8_t *(*record)(PCIDevice *pci, unsigned type, const void *body,
                       uint8_t *at);
} FarsideChipClass;

struct FarsideChip {
    const FarsideChipClass *class;
};

#endif /* FARSIDE_CHIP_H */
