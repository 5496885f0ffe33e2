/* SPDX-License-Identifier: MIT */
/* The state of an NTB: for the files that forward TLPs and keep the tables. */
#ifndef FAB_NTB_PRIV_H
#define FAB_NTB_PRIV_H

#include "fab_ntb.h"

#include "fab_account_priv.h"

/*
 * A way out of the adapter has a number: 0 is the port of its host, the numbers
 * of the cable ports follow, and then those of the other partitions of its
 * chip. A TLP that goes to another partition leaves through the port of that
 * partition's host: the adapter hands it to the `receive` of that partition,
 * and knows nothing else of it but its number. Each port has a source for each
 * way that TLPs come from.
 */

/* A mapping entry of the window. */
typedef struct FabNtbEntry {
    unsigned cable; /* way; 0: the entry is free */
    uint32_t users; /* number of mappings that use it */
    FabBusAddr target;
} FabNtbEntry;

/* A Requester ID in the table. */
typedef struct FabNtbRequester {
    FabBdf bdf;
    uint32_t users;
    bool is_ntb; /* it has all IDs of its bus */
} FabNtbRequester;

/*
 * The adapter issues the requests of a remote requester under a Requester ID
 * with its own bus number, and a device and function number that stand for the
 * requester. Completions come back to its bus, and these numbers lead to the
 * requester. PLX (PEX 8700 data books) and Switchtec (proxy IDs) do the same,
 * and so does the mapping table of the IDT PES32NT24xG2 (user manual, chapter
 * 14). Tags stay as they are.
 */
typedef struct FabNtbAlias {
    FabBdf requester_id;
    uint16_t cable; /* way that it is behind; 0: the alias is free */
} FabNtbAlias;

#define FAB_NTB_ALIASES 256u

/* The original Requester ID and tag of a request that the adapter has issued
 * under a tag of its own. */
typedef struct FabNtbProxy {
    FabBdf requester_id;
    uint16_t tag;
    uint16_t cable; /* way that it came by; 0: the tag is free */
    uint16_t next_free;
    uint32_t transaction;
    SimTime deadline; /* of the completion time-out */
} FabNtbProxy;

struct FabNtb {
    FabComponent component;
    FabNtbEntry *entries;
    unsigned entry_shift;
    unsigned alias_count;
    unsigned last_alias;
    FabNtbProxy *proxies; /* NULL: tags stay as they are */
    FabNtbCounters counters;

    FabNtbParams params;
    GPtrArray *chip; /* of FabComponent: the partitions of its chip, itself
                        included, by number; NULL: it is the only one */
    unsigned number; /* of this partition */
    uint32_t used_entries;
    GArray *requesters;         /* of FabNtbRequester */
    uint64_t known[65536 / 64]; /* the same as a bit for each Requester ID */
    FabNtbAlias aliases[FAB_NTB_ALIASES]; /* by device and function number */
    uint16_t free_tag;
    uint16_t tags_used;
    SimEvent timeout_event;
    FabFifo tag_wait; /* non-posted requests from cables that lack a tag */
};

#endif
