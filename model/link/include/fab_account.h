/* SPDX-License-Identifier: MIT */
#ifndef FAB_ACCOUNT_H
#define FAB_ACCOUNT_H

#include "fab_fabric.h"

/*
 * The fate of each flow's payload. Bytes that were made have arrived,
 * are lost, or are still on their way: fab_account_check() compares the three
 * with the TLPs that exist, so a component that drops bytes without a word is
 * found. Losses, and requests that failed without payload, are kept by place.
 */

/* The reason why a TLP did not do what its requester wanted. */
typedef enum FabLossCause {
    FAB_LOSS_UNSUPPORTED,   /* nothing claims it: UR (PCIe 5.0 s2.3.1) */
    FAB_LOSS_ABORTED,       /* CA (s2.3.1) */
    FAB_LOSS_NOT_MAPPED,    /* the IOMMU has no mapping: UR */
    FAB_LOSS_BLOCKED,       /* AT says translated, but the root expects no
                               translated requests from this requester: UR */
    FAB_LOSS_NOT_FORWARDED, /* the root forwards no such requests between its
                               ports: UR or CA (s1.3.1) */
    FAB_LOSS_UNEXPECTED,    /* a completion whose request is over (s2.3.2) */
    FAB_LOSS_POISONED,      /* its data are bad (s2.7.2) */
    FAB_LOSS_MALFORMED,     /* more payload than the receiver takes (s2.2.2) */
    FAB_LOSS_LINK_DOWN,     /* the link was or went down (s2.9.1) */
    FAB_LOSS_OVERFLOW,      /* no space in the receive buffer (s2.6.1) */
    FAB_LOSS_TIMED_OUT,  /* of a requester: completions did not come (s2.8) */
    FAB_LOSS_NO_ADDRESS, /* the DMA window had no room for its buffer */
    FAB_LOSS_CAUSES,
} FabLossCause;

/* The losses of a flow at one place for one reason. */
typedef struct FabLoss {
    uint32_t flow; /* number of the flow; 0: none */
    const FabComponent *component;
    FabLossCause cause;
    bool is_read;    /* non-posted requests and completions; or else posted */
    FabBusAddr addr; /* of the first one, as the component saw it */
    SimTime since;   /* time of the first one */
    uint64_t tlps, bytes;
} FabLoss;

/* The losses, in the order of their first TLP. The array belongs to @fabric. */
const FabLoss *fab_account_losses(const FabFabric *fabric, unsigned *ret_count);

/* Compares the bytes of each flow that were made with those that arrived, are
 * lost, or are in a TLP that exists. Returns NULL, or what is wrong; the caller
 * frees it. The clock stands still meanwhile. */
char *fab_account_check(FabFabric *fabric);

#endif
