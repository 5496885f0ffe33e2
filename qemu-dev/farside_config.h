/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The properties of the NTB device, and its sizes that no property changes.
 */
#ifndef FARSIDE_CONFIG_H
#define FARSIDE_CONFIG_H

#include "switchtec_regs.h"
#include "wire/farside_wire.h"

#define TYPE_FARSIDE_NTB "farside-switchtec"

#define FARSIDE_NTB_WINDOWS FARSIDE_WIRE_WINDOWS
/* The number of a window's BAR */
#define FARSIDE_NTB_WINDOW_BAR(window) (2 + 2 * (window))
/* Entries of the requester ID table */
#define FARSIDE_NTB_REQ_IDS 32
#define FARSIDE_NTB_PARTITIONS 2

/*
 * Only farside_ntb.c writes it. After realize it writes only the members that
 * change at run time.
 */
typedef struct FarsideConfig {
    char *link_path;
    char *trace_path; /* nullable; changes at run time */
    bool listen;
    bool check_requester;
    bool check_interrupts;
    bool enabled; /* this side of the link; changes at run time */
    bool cut;     /* a fault holds the link down; changes at run time */
    bool trains;  /* it trains after the fault; changes at run time */
    uint8_t partition;
    uint8_t generation;
    uint8_t vectors;
    uint16_t lut_entries;
    uint64_t bar_size[FARSIDE_NTB_WINDOWS]; /* bytes */
    uint32_t timeout_ms;
    uint32_t max_payload; /* bytes */
} FarsideConfig;

/* The partition of the device at the other end of the link. */
static inline unsigned farside_config_peer(const FarsideConfig *config)
{
    return 1 - config->partition;
}

#endif /* FARSIDE_CONFIG_H */
