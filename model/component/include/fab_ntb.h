/* SPDX-License-Identifier: MIT */
#ifndef FAB_NTB_H
#define FAB_NTB_H

#include "fab_fabric.h"

/*
 * A non-transparent bridge adapter. Port 0 faces its host; the other ports are
 * cables to adapters in other hosts. The window BAR is divided into mapping
 * (LUT) entries of equal size. An entry sends the requests that hit it through
 * one cable to an address in the host at the far side. The adapter there issues
 * them under Requester IDs of its own bus, one for each remote requester, and
 * restores the ID in the completion. Tags stay as they are, unless params.tags
 * says otherwise. A request that
 * comes through a cable and hits the window goes on through another cable,
 * without entering the host.
 *
 * Adapters may be partitions of one chip (fab_ntb_join()): a switch with a
 * non-transparent endpoint for each of several hosts. An entry then also leads
 * to another partition: the request leaves through the port of that host, with
 * the latency of one adapter in all and without a cable.
 */
typedef struct FabNtb FabNtb;

typedef struct FabNtbParams {
    uint64_t window_bytes; /* a power of two */
    uint32_t entries;      /* entries of the window; a power of two */
    uint32_t reserved;     /* entries kept back for each connected cable */
    uint32_t requesters;   /* entries of the Requester ID table */
    uint32_t tags;         /* 0: tags stay as they are; otherwise the adapter
                              issues all requests under one Requester ID, and at
                              most so many non-posted ones at a time, under
                              tags of its own */
    FabBar bars[FAB_BARS]; /* all BARs except BAR 2, which is the window */
} FabNtbParams;

#define FAB_NTB_WINDOW_BAR 2

typedef struct FabNtbCounters {
    uint64_t translated;        /* requests through the window */
    uint64_t unmapped;          /* requests to an entry that leads nowhere */
    uint64_t unknown_requester; /* requests whose ID is not in the table */
    uint64_t tag_waits;         /* non-posted requests that waited for a tag */
} FabNtbCounters;

/* Makes an adapter with @cables cable ports, numbered from 1. @fabric owns it.
 * The latency in @host and @cable is the one-way latency of one adapter. */
FabNtb *fab_ntb_new(FabFabric *fabric, const char *name, unsigned cables,
                    const FabPortParams *host, const FabPortParams *cable,
                    const FabNtbParams *params);
FabComponent *fab_ntb_component(FabNtb *ntb);
/* Makes @b a partition of the chip of @a, before realize. @b is in no other
 * chip yet. Partitions are in different hosts. */
void fab_ntb_join(FabNtb *a, FabNtb *b);

/* One past the last number of a way out of @ntb: cable ports count from 1, and
 * the partitions of its chip follow. */
unsigned fab_ntb_ways(const FabNtb *ntb);
/* The adapter at the far end of @way, from 1 on; NULL if there is none. */
FabComponent *fab_ntb_far_end(const FabNtb *ntb, unsigned way);

/* Casts @component to its NTB; NULL if it is not an NTB. */
FabNtb *fab_component_as_ntb(FabComponent *component);

/* Bytes of the window that one mapping entry covers; after realize. */
uint64_t fab_ntb_entry_bytes(const FabNtb *ntb);
/* Entries that are neither in use nor reserved. */
uint32_t fab_ntb_free_entries(const FabNtb *ntb);
/* Entries in use. */
uint32_t fab_ntb_used_entries(const FabNtb *ntb);
/* Connected cables, and other partitions. params.reserved entries are kept back
 * for each. */
uint32_t fab_ntb_remote_nodes(const FabNtb *ntb);
/* Entries that are kept back: for a node whose IOMMU is off and that
 * reserves_less, only as many as its preallocated memory takes. After
 * realize. */
uint32_t fab_ntb_reserved_entries(const FabNtb *ntb);
/* Entries of the Requester ID table in use. */
uint32_t fab_ntb_used_requesters(const FabNtb *ntb);
const FabNtbParams *fab_ntb_params(const FabNtb *ntb);

/*
 * Maps [@target, +@size_bytes) of the host at the far end of the way @cable
 * into the window, and returns the address of the mapping in this host. It
 * takes as many consecutive entries as the range touches, and shares entries
 * that already lead there. To be called after realize. Fails with
 * FAB_ERROR_WINDOW; the message says how many entries are needed and free.
 */
bool fab_ntb_map(FabNtb *ntb, unsigned cable, FabBusAddr target,
                 uint64_t size_bytes, FabBusAddr *ret_addr, GError **error);

/* Enters @requester, an ID in this host, in the Requester ID table. If @is_ntb,
 * it is another adapter, which uses all IDs of its bus. The adapter answers
 * requests with an ID outside the table with UR. An ID may be entered several
 * times. Fails with FAB_ERROR_WINDOW when the table is full. */
bool fab_ntb_add_requester(FabNtb *ntb, FabBdf requester, bool is_ntb,
                           GError **error);

/* Remove a mapping (by the address that fab_ntb_map() returned, and the same
 * size) or a Requester ID. An entry that was made several times stays until it
 * is removed as often. */
void fab_ntb_unmap(FabNtb *ntb, FabBusAddr addr, uint64_t size_bytes);
void fab_ntb_remove_requester(FabNtb *ntb, FabBdf requester);

const FabNtbCounters *fab_ntb_counters(const FabNtb *ntb);

#endif
