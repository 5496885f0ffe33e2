/* SPDX-License-Identifier: MIT */
#ifndef FAB_NTB_H
#define FAB_NTB_H

#include "fab_fabric.h"

/*
 * A non-transparent bridge adapter: port 0 faces its host, the others are
 * cables to adapters in other hosts. Its window BAR is divided into mapping
 * (LUT) entries of equal size; each sends the requests that hit it through one
 * cable to an address in the host at the far side. The adapter there issues
 * them as its own: with its own Requester ID and, if they are non-posted, a tag
 * of its own, and restores both in the completion. A request that comes through
 * a cable and hits the window goes on through another cable, without entering
 * the host.
 */
typedef struct FabNtb FabNtb;

typedef struct FabNtbParams {
    uint64_t window_bytes; /* a power of two */
    uint32_t entries;      /* that divide the window; a power of two */
    uint32_t reserved;     /* entries kept back for each connected cable */
    uint32_t requesters;   /* entries of the Requester ID table */
    uint32_t tags;         /* non-posted requests outstanding into the host */
    FabBar bars[FAB_BARS]; /* others than the window, which is BAR 2 */
} FabNtbParams;

#define FAB_NTB_WINDOW_BAR 2

typedef struct FabNtbCounters {
    uint64_t translated;        /* requests through the window */
    uint64_t unmapped;          /* requests to an entry that leads nowhere */
    uint64_t unknown_requester; /* requests whose ID is not in the table */
    uint64_t tag_waits;         /* non-posted requests that waited for a tag */
} FabNtbCounters;

/* An adapter of @fabric (owned by it) with @cables cable ports, ports 1 to
 * @cables. The ports' latency is that of one adapter, one way. */
FabNtb *fab_ntb_new(FabFabric *fabric, const char *name, unsigned cables,
                    const FabPortParams *host, const FabPortParams *cable,
                    const FabNtbParams *params);
FabComponent *fab_ntb_component(FabNtb *ntb);
/* The NTB that @component is; NULL if it is none. */
FabNtb *fab_component_as_ntb(FabComponent *component);

/* Bytes of the window that one mapping entry covers; after realize. */
uint64_t fab_ntb_entry_bytes(const FabNtb *ntb);
/* Entries not in use and not reserved. */
uint32_t fab_ntb_free_entries(const FabNtb *ntb);
/* Entries in use. */
uint32_t fab_ntb_used_entries(const FabNtb *ntb);
/* Cables that are connected; entries are reserved for each. */
uint32_t fab_ntb_remote_nodes(const FabNtb *ntb);
/* Entries of the Requester ID table in use. */
uint32_t fab_ntb_used_requesters(const FabNtb *ntb);
const FabNtbParams *fab_ntb_params(const FabNtb *ntb);

/*
 * Maps [@target, +@size_bytes) of the host at the far end of @cable (1 ..) into
 * the window, whose address in this host comes back. Takes as many consecutive
 * entries as the range touches; entries that already lead there are shared.
 * After realize. Fails with FAB_ERROR_WINDOW, saying what is needed and what is
 * free.
 */
bool fab_ntb_map(FabNtb *ntb, unsigned cable, FabBusAddr target,
                 uint64_t size_bytes, FabBusAddr *ret_addr, GError **error);

/* Enters @requester, an ID in this host, in the Requester ID table, without
 * which its requests are answered with UR. Entering it twice is harmless.
 * Fails with FAB_ERROR_WINDOW when the table is full. */
bool fab_ntb_add_requester(FabNtb *ntb, FabBdf requester, GError **error);

/* Take back a mapping, by the address that fab_ntb_map() has returned and the
 * same size, and a Requester ID. An entry that was made several times stays
 * until it is taken back as often. */
void fab_ntb_unmap(FabNtb *ntb, FabBusAddr addr, uint64_t size_bytes);
void fab_ntb_remove_requester(FabNtb *ntb, FabBdf requester);

const FabNtbCounters *fab_ntb_counters(const FabNtb *ntb);

#endif
