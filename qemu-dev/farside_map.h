/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The translation of all windows, as one piece of memory that does not change:
 * it is replaced as a whole, and read under RCU, without the big lock.
 */
#ifndef FARSIDE_MAP_H
#define FARSIDE_MAP_H

#include "qemu/rcu.h"
#include "farside_config.h"

/* A part of a BAR that leads to a peer's bus, or to registers of its chip */
typedef struct FarsideWindow {
    unsigned window; /* index of the BAR, FARSIDE_NTB_WINDOW_BAR() */
    uint64_t offset; /* in the BAR, a multiple of 4 KiB */
    uint64_t size;   /* bytes, not 0 */
    uint64_t target; /* address on the peer's bus, or offset of a register */
    unsigned peer;   /* index of the peer */
    bool is_registers;
} FarsideWindow;

/* This decides how accesses reach a peer. */
typedef struct FarsideMapPeer {
    bool link_up;
    bool traced;     /* a trace is on, so everything is forwarded */
    bool translated; /* the peer's bus addresses go through its IOMMU */
    unsigned ram_count;
    struct {
        uint64_t address;
        uint64_t size;
    } ram[FARSIDE_WIRE_FDS];
} FarsideMapPeer;

typedef struct {
    struct rcu_head rcu;
    FarsideMapPeer peer[FARSIDE_NTB_PEERS_MAX];
    bool admits_all;
    unsigned id_count;
    const uint16_t *ids; /* Requester IDs; behind the windows */
    unsigned first[FARSIDE_NTB_WINDOWS + 1]; /* each BAR's first of window[] */
    FarsideWindow window[];
} FarsideMap;

/*
 * A map of the @count windows of @list, which are in the order of BAR and
 * offset and do not overlap. If @ids is not NULL, it admits only the @id_count
 * functions with these Requester IDs. All links are down, and no address is
 * RAM: the caller sets @peer. g_free() frees it.
 */
FarsideMap *farside_map_new(const FarsideWindow *list, unsigned count,
                            const uint16_t *ids, unsigned id_count);
/* The place on a peer's bus to which one in a BAR leads */
typedef struct FarsideTarget {
    unsigned peer;
    uint64_t address; /* on the peer's bus */
    uint64_t size;    /* bytes from there to the end of the window */
    bool is_registers; /* the address is the offset of a register */
} FarsideTarget;

/*
 * Finds out where the offset @offset of the BAR of @window leads. False if no
 * window is there, or the link to its peer is down.
 */
bool farside_map_resolve(const FarsideMap *map, unsigned window,
                         uint64_t offset, FarsideTarget *ret_target);
/* True if one RAM region of @peer holds [address, address + size). */
bool farside_map_is_ram(const FarsideMap *map, unsigned peer, uint64_t address,
                        uint64_t size);
/* True if the function with the Requester ID @id may enter. */
bool farside_map_admits(const FarsideMap *map, uint16_t id);

/*
 * True if a window of @old, or a part of one, is not in @new, or leads
 * elsewhere. Both lists are in the order of BAR and offset.
 */
bool farside_windows_have_closed(const FarsideWindow *old, unsigned old_count,
                                 const FarsideWindow *new, unsigned new_count);

#endif /* FARSIDE_MAP_H */
