/* SPDX-License-Identifier: MIT */
#ifndef FAB_LEND_PRIV_H
#define FAB_LEND_PRIV_H

#include "fab_fabric_priv.h"
#include "fab_lend.h"
#include "fab_ranges.h"
#include "fab_route.h"

/* Memory of the host that a guest uses, and where the guest has it. */
typedef struct GuestRange {
    FabBusAddr addr; /* of the host */
    uint64_t size_bytes;
    FabBusAddr guest_addr;
    uint32_t users;
} GuestRange;

/* Where the guest has the BARs of a device. */
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

/* What the devices of one guest in one lender have in common. */
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

/* A device whose BARs the device reaches. */
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

/* Who has borrowed what in a fabric. */
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
/* Undoes it, whatever of it has been made, and all mappings in it. */
void fab_lend_window_close(FabLend *lend);

/* fab_lend_guest.c */

/* The guest's domain in the lender, with its window; made if there is none.
 * @window_bytes of 0: automatic. */
Domain *fab_lend_domain_ref(FabLend *lend, uint64_t window_bytes,
                            GError **error);
void fab_lend_domain_unref(Lending *lending, Domain *domain);

/* Maps whole pages of the host's memory; false if the guest has no room, or
 * with @error set. */
bool fab_lend_domain_map(Domain *domain, FabBusAddr addr, uint64_t size_bytes,
                         FabBusAddr *ret_guest_addr, GError **error);
void fab_lend_domain_unmap(Domain *domain, FabBusAddr guest_addr,
                           uint64_t size_bytes);

/* Lets devices of the domain reach a BAR at the guest's address of it. */
bool fab_lend_domain_add_bar(Domain *domain, FabComponent *target, int bar,
                             FabBusAddr *ret_guest_addr, GError **error);
void fab_lend_domain_remove_bar(Domain *domain, const FabComponent *target,
                                int bar);

/* fab_lend_msi.c */
/* What the MSI window lets through. */
#define FAB_LEND_MSI_BYTES 4096u
bool fab_lend_msi_open(FabLend *lend, GError **error);
void fab_lend_msi_close(FabLend *lend);

/* fab_lend_p2p.c */
/* Takes P2P from @lend to @target back; nothing if there is none. */
void fab_lend_disable_p2p(FabLend *lend, const FabComponent *target);

#endif
