/* SPDX-License-Identifier: MIT */
#ifndef FAB_LEND_H
#define FAB_LEND_H

#include "fab_endpoint.h"
#include "fab_ntb.h"
#include "fab_root.h"

/*
 * Device Lending (Markussen et al., Cluster Computing 23:1211-1234, sections 4
 * to 6). A lender offers its devices. A borrower takes a device for exclusive
 * use and drives it like a local one, by windows through the NTBs:
 *
 *   BAR window  from the borrower's CPU to the device's registers and memory;
 *               entries of the borrower's adapter
 *   MSI window  from the device to the borrower's interrupt addresses; one
 *               entry of the lender's adapter for all devices of one borrower
 *   DMA window  from the device to the borrower's memory; entries of the
 *               lender's adapter
 *   P2P         from the device to BARs of other devices; entries of the
 *               lender's adapter, or none if both devices are in one host
 *
 * With the borrower's IOMMU on, the DMA window may have any size, and buffers
 * are mapped into it as they are needed. With it off, the window is the
 * borrower's RAM. With the lender's IOMMU on, the device uses addresses that
 * the lender's IOMMU translates, and its requests pass through the lender's
 * root.
 *
 * A borrower that is a VM needs both IOMMUs. The borrower's IOMMU makes the
 * guest's scattered memory contiguous behind the window. The lender's IOMMU
 * lets the device use guest-physical addresses. All devices of a guest in one
 * lender share one window, which is the guest's whole memory. Guests of one
 * host are told apart by their names, and share its memory.
 *
 * All functions are to be called after realize. Only interrupts take simulated
 * time.
 */
typedef struct FabLend FabLend;

typedef struct FabLendParams {
    FabEndpoint *device;
    FabRoot *borrower;
    uint64_t window_bytes; /* 0: automatic */
    bool vm;               /* the borrower is a guest (VM) of the host */
    bool mapped_msi; /* the device of a guest writes its MSI to the borrower */
    const char *guest; /* its name, copied; NULL: a guest without a name */
    bool no_p2p; /* a Fabric Attached Device, which SmartIO lets take no part in
                    P2P */
} FabLendParams;

/*
 * Puts @device into the pool of devices that can be borrowed. While it is not
 * lent, its @weight (1 to DLEND_WEIGHT_MAX of dl_window.h) counts in the
 * automatic size of the windows of other devices. fab_lend_borrow() offers a
 * device that was not offered, with DLEND_WEIGHT.
 */
void fab_lend_offer(FabEndpoint *device, uint32_t weight);

/*
 * Borrows a device. The automatic window is the fair share of the free entries
 * of the lender's adapter, but no larger than the borrower's RAM requires. For
 * a guest it is half of the host's RAM, or the memory that the guest already
 * has. A failure leaves nothing behind:
 *
 *   FAB_ERROR_LENT    another host has borrowed the device already; the message
 *                     names that host
 *   FAB_ERROR_CONFIG  the device is in the borrower itself; the borrower is a
 *                     guest and an IOMMU is off; the given size of the window
 *                     is less than the RAM with the IOMMU off, or differs from
 *                     the guest's memory, or all guests need more than the RAM
 *   FAB_ERROR_WINDOW  no cables lead there, or window space does not suffice
 */
FabLend *fab_lend_borrow(const FabLendParams *params, GError **error);

/* Returns the device of @lend (nullable), and undoes all mappings for it, and
 * those of other devices to it (P2P). TLPs under way get lost. */
void fab_lend_return(FabLend *lend);

/* The lend of @device; NULL if it is not lent. */
FabLend *fab_lend_of(FabEndpoint *device);

bool fab_lend_is_vm(const FabLend *lend);
FabRoot *fab_lend_borrower(const FabLend *lend);
uint64_t fab_lend_window_bytes(const FabLend *lend);

/*
 * Maps [@addr, +@size_bytes) of the borrower's memory for the device, and
 * returns the address that the device must use. Fails with FAB_ERROR_NO_ROOM
 * when the DMA window is full; this failure is also counted. Fails with
 * FAB_ERROR_ADDRESS if the range is not memory.
 */
bool fab_lend_map(FabLend *lend, FabBusAddr addr, uint64_t size_bytes,
                  FabBusAddr *ret_device_addr, GError **error);

/*
 * For drivers that map each buffer before its operation and unmap it after
 * that. fab_lend_maps_each() returns whether that is possible: the borrower is
 * no guest, whose memory stays mapped, and its IOMMU is on.
 *
 * fab_lend_take() maps [@addr, +@size_bytes), whole pages of 4 KiB of the
 * borrower's memory, into a free part of the DMA window. It returns the device
 * address at the borrower (*ret_iova), and the one that the device must use. It
 * returns false if the window has no room; this is counted. fab_lend_give()
 * frees the part at @iova, after the caller has removed its pages from the
 * borrower's IOMMU and has invalidated them.
 */
bool fab_lend_maps_each(const FabLend *lend);
bool fab_lend_take(FabLend *lend, FabBusAddr addr, uint64_t size_bytes,
                   FabBusAddr *ret_iova, FabBusAddr *ret_device_addr);
void fab_lend_give(FabLend *lend, FabBusAddr iova);

/* Somebody who waits for room in the DMA window. The caller sets @fn, and keeps
 * the waiter until @fn is called or the wait has ended. */
typedef struct FabLendWaiter FabLendWaiter;
struct FabLendWaiter {
    void (*fn)(FabLendWaiter *waiter);
    FabLendWaiter *next; /* for the lend alone */
};

/* Calls @waiter->fn once, when a part of the window is given back. Several
 * waiters are called in the order of their waits. */
void fab_lend_wait(FabLend *lend, FabLendWaiter *waiter);
/* Ends the wait of @waiter. Does nothing if it does not wait. */
void fab_lend_wait_end(FabLend *lend, FabLendWaiter *waiter);

/*
 * Maps all BARs of @target for the device. @target is a device in the
 * borrower's host, or one that the borrower has borrowed from any lender.
 * Requests to a borrowed one do not pass through the borrower. A second call
 * changes nothing. Fails with FAB_ERROR_LENT if the borrower neither owns nor
 * has borrowed @target, and with FAB_ERROR_WINDOW if no cables lead there or
 * window space does not suffice.
 */
bool fab_lend_enable_p2p(FabLend *lend, FabComponent *target, GError **error);

/*
 * Orders P2P from the device to @target, as fab_lend_enable_p2p() does. From
 * the first call on, also with NULL for @target, fab_route_map() enables
 * nothing by itself for any lent device of the fabric: without an order it
 * fails with FAB_ERROR_LENT.
 */
bool fab_lend_order_p2p(FabLend *lend, FabComponent *target, GError **error);

/* The address of BAR @bar of @target for the device. Returns false if P2P is
 * not enabled or there is no such BAR. */
bool fab_lend_p2p_addr(const FabLend *lend, const FabComponent *target, int bar,
                       FabBusAddr *ret_device_addr);

/* The interrupt handler of the borrower, or of its guest. */
typedef void (*FabInterruptFn)(void *owner, unsigned vector);

#define FAB_LEND_VECTORS 2048u /* the limit of MSI-X */

/*
 * fab_lend_set_interrupt() sets the handler of the device's interrupts, before
 * the first one. The device raises an interrupt by writing *ret_data (4 bytes)
 * to *ret_addr, which fab_lend_msi() returns. Without a guest, the interrupt
 * reaches the borrower through the MSI window, and the handler runs
 * cpu.interrupt later. With a guest, the lender's CPU takes the interrupt and
 * passes it on, which costs cpu.interrupt of both hosts, unless `mapped_msi`.
 */
void fab_lend_set_interrupt(FabLend *lend, FabInterruptFn fn, void *owner);
void fab_lend_msi(const FabLend *lend, unsigned vector, FabBusAddr *ret_addr,
                  uint32_t *ret_data);

typedef struct FabLendCounters {
    uint64_t maps;
    uint64_t no_room;      /* mappings that did not fit into the window */
    uint64_t waits;        /* those of them that wait for room */
    uint64_t mapped_bytes; /* part of the window that is mapped */
    uint64_t most_bytes;   /* the most that was mapped at a time */
    uint64_t interrupts;   /* calls of the handler */
} FabLendCounters;

const FabLendCounters *fab_lend_counters(const FabLend *lend);

/* Real drivers log this when a DMA window is full. */
#define FAB_LEND_NO_ROOM "No room in IOMMU range"

#endif
