/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The properties that all NTB devices have, and the shape of the PCI function,
 * which a chip describes.
 */
#ifndef FARSIDE_CONFIG_H
#define FARSIDE_CONFIG_H

#include "qapi/qapi-types-common.h"
#include "wire/farside_wire.h"

/* Abstract: each chip has a type of its own. */
#define TYPE_FARSIDE_NTB "farside-ntb"

#define FARSIDE_NTB_WINDOWS FARSIDE_WIRE_BAR_WINDOWS
/* The number of a window's BAR */
#define FARSIDE_NTB_WINDOW_BAR(window) (2 + 2 * (window))
#define FARSIDE_NTB_PARTITIONS 2
/* The hosts that a chip can have, and the peers of each */
#define FARSIDE_NTB_HOSTS_MAX 8
#define FARSIDE_NTB_PEERS_MAX (FARSIDE_NTB_HOSTS_MAX - 1)

/*
 * The PCI function as its chip describes it. BAR 0 has the registers, and the
 * MSI-X tables among them, if the function has MSI-X.
 */
typedef struct FarsideShape {
    uint16_t vendor_id;
    uint16_t device_id;
    uint16_t class_id; /* 0: another bridge */
    uint8_t revision;
    uint8_t express; /* offset of the PCI Express capability; 0: QEMU's */
    uint32_t registers_size; /* bytes of BAR 0 */
    /* Bytes of BAR 2, if it has registers, too; 0: it is a window. */
    uint32_t doorbells_size;
    uint32_t msix_table; /* offsets in BAR 0 */
    uint32_t msix_pba;
    uint8_t vectors;
    uint8_t msi; /* offset of an MSI capability with one vector; 0: MSI-X */
    bool is_32_bit;  /* BAR 0 */
    bool is_split;   /* the last window has two BARs of 32 bits, half each */
    uint8_t port;    /* Port Number in Link Capabilities */
    uint16_t link_status; /* of the PCI Express capability; 0: QEMU's */
} FarsideShape;

/* One peer, and the state of the link to it */
typedef struct FarsidePeerConfig {
    uint8_t host;     /* its number at the chip */
    char *link_path;
    bool listens;     /* for this peer */
    char *trace_path; /* nullable; changes at run time */
    bool enabled; /* this side of the link; changes at run time */
    bool cut;     /* a fault holds the link down; changes at run time */
    bool trains;  /* it trains after the fault; changes at run time */
} FarsidePeerConfig;

/*
 * Only farside_ntb.c writes it. After realize it writes only the members that
 * change at run time.
 */
typedef struct FarsideConfig {
    char *link_path;
    bool listen;
    bool check_requester; /* only functions that the chip names may enter */
    bool check_interrupts;
    OnOffAuto window_ram; /* auto: not after realize */
    uint8_t partition; /* number of this host at the chip */
    uint8_t hosts;     /* that the chip has */
    /*
     * The other hosts, in the order of their numbers. A peer is its index. Only
     * before realize, this host has a place among those of a chip that can have
     * more than two.
     */
    unsigned peer_count;
    FarsidePeerConfig peer[FARSIDE_NTB_HOSTS_MAX];
    uint64_t bar_size[FARSIDE_NTB_WINDOWS]; /* bytes */
    uint32_t timeout_ms;
    uint32_t max_payload; /* bytes */
    FarsideShape shape;
} FarsideConfig;

/* For a chip of two hosts: the partition of the other one. */
static inline unsigned farside_config_peer(const FarsideConfig *config)
{
    return config->peer[0].host;
}

/* 0 for the lower of two numbers of hosts, whose link it is, 1 for the other */
static inline unsigned farside_config_end(const FarsideConfig *config,
                                          unsigned peer)
{
    return config->partition > config->peer[peer].host;
}

/*
 * The number of the BAR that has the place @offset of a window; @offset becomes
 * that in the BAR.
 */
static inline unsigned farside_config_bar(const FarsideConfig *config,
                                          unsigned window, uint64_t *offset)
{
    uint64_t half = config->bar_size[window] / 2;

    if (!config->shape.is_split || window < FARSIDE_NTB_WINDOWS - 1 ||
        *offset < half) {
        return FARSIDE_NTB_WINDOW_BAR(window);
    }
    *offset -= half;
    return FARSIDE_NTB_WINDOW_BAR(window) + 1;
}

#endif /* FARSIDE_CONFIG_H */
