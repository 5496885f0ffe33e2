/* SPDX-License-Identifier: MIT */
#ifndef FAB_LEND_PRIV_H
#define FAB_LEND_PRIV_H

#include "fab_fabric_priv.h"
#include "fab_lend.h"
#include "fab_ranges_priv.h"
#include "fab_route.h"

/* Memory of the host that a guest uses, and its address in the guest. */
typedef struct GuestRange {
    FabBusAddr addr; /* address in the host */
    uint64_t size_bytes;
    FabBusAddr guest_addr; /* guest-physical address */
    uint32_t users;
} GuestRange;

/* The guest's addresses of the BARs of a device. */
typedef struct GuestBars {
    const FabComponent *component;
    FabBusAddr addr[FAB_BARS];
    uint32_t users;
} GuestBars;

/* The VM on a host: its guest-physical address space. */
typedef struct Guest {
    FabRoot *host;
    char *name; /* NULL: it has none */
    uint64_t memory_bytes;
    FabRanges *low, *high; /* free memory below and above the hole */
    FabRanges *mmio;       /* free addresses for BARs */
    GArray *ranges;        /* of GuestRange */
    GArray *bars;          /* of GuestBars */
    uint32_t users;
} Guest;

/* A BAR of a P2P target in a domain. */
typedef struct DomainBar {
    const FabComponent *component;
    int bar;
    FabMapping *mapping;
    FabBusAddr iova; /* guest-physical address of the first page of the BAR */
    uint64_t size_bytes;
    uint32_t users;
} DomainBar;

/* Guest memory that is mapped behind the window of a domain. */
typedef struct DomainRange {
    FabBusAddr guest_addr;
    uint64_t size_bytes;
    uint32_t users;
} DomainRange;

/* The IOMMU domain that all devices of one guest in one lender share. */
typedef struct Domain {
    FabRoot *lender;
    Guest *guest;
    unsigned number;     /* number of the domain in the lender's IOMMU */
    FabBusAddr iova;     /* device address of the window at the borrower */
    FabMapping *mapping; /* the window; NULL while there is none */
    GArray *bars;        /* of DomainBar */
    GArray *ranges;      /* of DomainRange */
    uint32_t users;
} Domain;

/* Memory of the borrower that is mapped for the device. */
typedef struct LendMap {
    FabBusAddr device_addr; /* address that fab_lend_map() returned */
    FabBusAddr base;        /* its first page: offset in the window, or
                               guest-physical address */
    uint64_t size_bytes;    /* size in whole pages */
} LendMap;

/* A device whose BARs are mapped for the lent one. */
typedef struct LendTarget {
    FabComponent *component;
    FabMapping *mapping[FAB_BARS]; /* NULL: there is no such BAR */
    FabBusAddr addr[FAB_BARS];     /* addresses for the lent device */
} LendTarget;

/* Interrupts that a CPU has received and not handled yet. */
typedef struct LendStage {
    SimEvent event;
    FabLend *lend;
    void (*fn)(FabLend *lend, unsigned vector); /* the handler */
    GArray *pending; /* of LendPending, from index `head` on */
    unsigned head;
} LendStage;

typedef struct LendPending {
    SimTime due; /* when the handler runs */
    unsigned vector;
} LendPending;

/* The lends of a fabric. */
typedef struct Lending {
    FabAttachment attachment;
    FabFabric *fabric;
    GPtrArray *lends;   /* owned */
    GArray *offers;     /* of LendOffer */
    bool is_ordered;    /* P2P is enabled by orders alone */
    GPtrArray *guests;  /* owned */
    GPtrArray *domains; /* owned */
} Lending;

typedef struct LendOffer {
    FabEndpoint *device;
    uint32_t weight;
} LendOffer;

struct FabLend {
    Lending *lending;
    FabEndpoint *device;
    FabRoot *lender, *borrower;
    FabNtb *adapter; /* the lender's adapter towards the borrower */
    uint32_t number; /* number of the lend, part of the data of its MSIs */
    bool vm;         /* the borrower is a guest */
    bool forwards;   /* the lender's CPU passes interrupts on; only if `vm` */
    bool iommu;      /* the borrower's IOMMU is on */
    bool no_p2p;     /* as in FabLendParams */
    FabMapping *bar[FAB_BARS]; /* BAR windows; NULL: there is no such BAR */
    /* The MSI window: for the device, or for the lender's CPU if it passes
     * interrupts on or `vm`. */
    FabMapping *msi;
    FabBusAddr msi_iova; /* its address in the domain of a guest; 0: none */

    /* The DMA window. */
    uint64_t window_bytes;
    FabBusAddr iova;     /* device address at the borrower; unused if `vm` */
    FabRanges *space;    /* free parts; NULL if `vm` or the IOMMU is off */
    FabMapping *dma[2];  /* the window; or RAM below and above 4 GiB */
    FabRange memory[2];  /* the borrower's RAM */
    Domain *domain;      /* domain of a guest; NULL unless `vm` */
    unsigned own_domain; /* number of its own domain in the lender's IOMMU; 0:
                            the IOMMU is off, or `vm` */
    GArray *maps;        /* of LendMap */
    FabLendWaiter *waiters; /* for room in the window, the oldest first */
    GArray *targets;        /* of LendTarget */

    FabInterruptFn interrupt;
    void *interrupt_owner;
    LendStage at_lender, at_borrower;
    unsigned lender_watch, borrower_watch;

    FabLendCounters counters;
};

/* The lend of @component; NULL if there is none, or @lending is NULL. */
FabLend *lend_find(const Lending *lending, const FabComponent *component);

static inline FabComponent *lend_component(const FabLend *lend)
{
    return fab_endpoint_component(lend->device);
}

/* fab_lend_window.c */

/* Makes the DMA window. */
bool fab_lend_window_open(FabLend *lend, const FabLendParams *params,
                          GError **error);
/* Removes the window and all mappings in it. Works on a partly made window. */
void fab_lend_window_close(FabLend *lend);

/* fab_lend_guest.c */

/* Returns a reference to the domain of the guest @guest (nullable: without a
 * name) in the lender, with its window.
 * Makes both if there is no such domain; @window_bytes of 0 is automatic. */
Domain *fab_lend_domain_ref(FabLend *lend, const char *guest,
                            uint64_t window_bytes, GError **error);
void fab_lend_domain_unref(Lending *lending, Domain *domain);

/* Gives the loan a domain of its own in the lender's IOMMU, and takes it back.
 * The device is in that domain meanwhile. */
bool fab_lend_own_domain_open(FabLend *lend, GError **error);
void fab_lend_own_domain_close(FabLend *lend);

/* Maps whole pages of the host's memory. Returns false without an error if the
 * guest's memory is full, and with @error set if the mapping failed. */
bool fab_lend_domain_map(Domain *domain, FabBusAddr addr, uint64_t size_bytes,
                         FabBusAddr *ret_guest_addr, GError **error);
void fab_lend_domain_unmap(Domain *domain, FabBusAddr guest_addr,
                           uint64_t size_bytes);

/* Maps a BAR of @target for the devices of the domain, at its guest-physical
 * address. */
bool fab_lend_domain_add_bar(Domain *domain, FabComponent *target, int bar,
                             FabBusAddr *ret_guest_addr, GError **error);
void fab_lend_domain_remove_bar(Domain *domain, const FabComponent *target,
                                int bar);

/* fab_lend_msi.c */

/* The size of the MSI window. */
#define FAB_LEND_MSI_BYTES 4096u
bool fab_lend_msi_open(FabLend *lend, GError **error);
/* After the window of a guest is there: shows the MSI window to its device. */
bool fab_lend_msi_show(FabLend *lend, GError **error);
void fab_lend_msi_close(FabLend *lend);

/* fab_lend_p2p.c */

/* Sets @error: the device takes no part in P2P. */
void fab_lend_refuse_p2p(const FabLend *lend, GError **error);

/* Disables P2P from @lend to @target. Does nothing if it is not enabled. */
void fab_lend_disable_p2p(FabLend *lend, const FabComponent *target);

#endif
