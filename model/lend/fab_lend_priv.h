/* SPDX-License-Identifier: MIT */
#ifndef FAB_LEND_PRIV_H
#define FAB_LEND_PRIV_H

#include "fab_fabric_priv.h"
#include "fab_lend.h"
#include "fab_ranges.h"
#include "fab_route.h"

/* Memory of the host that a guest uses, and the guest's address of it. */
typedef struct GuestRange {
    FabBusAddr addr; /* of the host */
    uint64_t size_bytes;
    FabBusAddr guest_addr;
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
    uint64_t memory_bytes;
    FabRanges *low, *high; /* memory below and above the hole */
    FabRanges *mmio;
    GArray *ranges; /* of GuestRange */
    GArray *bars;   /* of GuestBars */
    uint32_t users;
} Guest;

/* A BAR of a P2P target in a domain. */
typedef struct DomainBar {
    const FabComponent *component;
    int bar;
    FabMapping *mapping;
    FabBusAddr iova; /* page that the mapping begins in */
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
    unsigned number;     /* in the lender's IOMMU */
    FabBusAddr iova;     /* of the window in the borrower's IOMMU */
    FabMapping *mapping; /* of the window, NULL while there is none */
    GArray *bars;        /* of DomainBar */
    GArray *ranges;      /* of DomainRange */
    uint32_t users;
} Domain;

/* Memory that was mapped for the device. */
typedef struct LendMap {
    FabBusAddr device_addr; /* as it was returned */
    FabBusAddr base;        /* page it begins in: offset in the window, or
                               guest-physical address */
    uint64_t size_bytes;    /* whole pages */
} LendMap;

/* A device whose BARs are mapped for the lent one. */
typedef struct LendTarget {
    FabComponent *component;
    FabMapping *mapping[FAB_BARS]; /* NULL: it has none such */
    FabBusAddr addr[FAB_BARS];
} LendTarget;

/* Interrupts on their way through a CPU. */
typedef struct LendStage {
    SimEvent event;
    FabLend *lend;
    void (*fn)(FabLend *lend, unsigned vector);
    GArray *pending; /* of LendPending, from head on */
    unsigned head;
} LendStage;

typedef struct LendPending {
    SimTime due;
    unsigned vector;
} LendPending;

/* The lends of a fabric. */
typedef struct Lending {
    FabAttachment attachment;
    FabFabric *fabric;
    GPtrArray *lends;   /* owned */
    GArray *offers;     /* of LendOffer */
    GPtrArray *guests;  /* owned */
    GPtrArray *domains; /* owned */
    FabNoRoomFn no_room;
    void *no_room_owner;
} Lending;

typedef struct LendOffer {
    FabEndpoint *device;
    uint32_t weight;
} LendOffer;

struct FabLend {
    Lending *lending;
    FabEndpoint *device;
    FabRoot *lender, *borrower;
    FabNtb *adapter; /* the lender's */
    uint32_t number; /* among lends; in the data of its MSIs */
    bool vm;
    bool iommu; /* the borrower's is on */
    FabMapping *bar[FAB_BARS];
    FabMapping *msi; /* from the device, or the CPU that forwards for a guest */

    /* The DMA window. */
    uint64_t window_bytes;
    FabBusAddr iova;    /* in the borrower's IOMMU, unless vm */
    FabRanges *space;   /* of the window: IOMMU on, no guest */
    FabMapping *dma[2]; /* the window; or RAM below and above 4 GiB */
    FabRange memory[2]; /* the borrower's RAM */
    Domain *domain;     /* of a guest */
    GArray *maps;       /* of LendMap */
    GArray *targets;    /* of LendTarget */

    FabInterruptFn interrupt;
    void *interrupt_owner;
    LendStage at_lender, at_borrower;
    unsigned lender_watch, borrower_watch;

    FabLendCounters counters;
};

static inline FabComponent *lend_component(const FabLend *lend)
{
    return fab_endpoint_component(lend->device);
}

/* fab_lend_window.c */

/* Makes the DMA window; @window_bytes as in FabLendParams. */
bool fab_lend_window_open(FabLend *lend, uint64_t window_bytes, GError **error);
/* Undoes the window, made wholly or partly, and all mappings in it. */
void fab_lend_window_close(FabLend *lend);

/* fab_lend_guest.c */

/* The guest's domain in the lender, with its window; made if there is none.
 * @window_bytes of 0: automatic. */
Domain *fab_lend_domain_ref(FabLend *lend, uint64_t window_bytes,
                            GError **error);
void fab_lend_domain_unref(Lending *lending, Domain *domain);

/* Maps whole pages of the host's memory. Returns false without an error if the
 * guest's memory is full, and with @error set if the mapping failed. */
bool fab_lend_domain_map(Domain *domain, FabBusAddr addr, uint64_t size_bytes,
                         FabBusAddr *ret_guest_addr, GError **error);
void fab_lend_domain_unmap(Domain *domain, FabBusAddr guest_addr,
                           uint64_t size_bytes);

/* Maps a BAR for devices of the domain, at the guest's address of it. */
bool fab_lend_domain_add_bar(Domain *domain, FabComponent *target, int bar,
                             FabBusAddr *ret_guest_addr, GError **error);
void fab_lend_domain_remove_bar(Domain *domain, const FabComponent *target,
                                int bar);

/* fab_lend_msi.c */
/* The size of the MSI window. */
#define FAB_LEND_MSI_BYTES 4096u
bool fab_lend_msi_open(FabLend *lend, GError **error);
void fab_lend_msi_close(FabLend *lend);

/* fab_lend_p2p.c */
/* Takes P2P from @lend to @target back. Does nothing if it is not enabled. */
void fab_lend_disable_p2p(FabLend *lend, const FabComponent *target);

#endif
