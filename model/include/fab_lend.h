/* SPDX-License-Identifier: MIT */
#ifndef FAB_LEND_H
#define FAB_LEND_H

#include "fab_endpoint.h"
#include "fab_ntb.h"
#include "fab_root.h"

/*
 * Device Lending (Markussen et al., Cluster Computing 23:1211-1234, sections 4
 * to 6). A lender offers its devices. A borrower takes one for itself alone,
 * and uses it as if it were its own, by windows through the NTBs:
 *
 *   BAR window  the borrower's CPU to the device's registers and memory;
 *               entries of the borrower's adapter
 *   MSI window  the device to the borrower's interrupt addresses; an entry of
 *               the lender's adapter, one for all devices of one borrower
 *   DMA window  the device to the borrower's memory; entries of the lender's
 *               adapter
 *   P2P         the device to BARs of others; entries of the lender's adapter,
 *               or none if the other is in the same host
 *
 * With the borrower's IOMMU on, the DMA window may have any size, and buffers
 * are mapped into it as they are needed. With it off, the window is the
 * borrower's RAM. With the lender's IOMMU on, the device uses addresses that
 * this maps, and its requests pass through the lender's root.
 *
 * A borrower that is a VM needs both IOMMUs. The borrower's puts the guest's
 * memory, wherever it lies, in a row behind the window; the lender's lets the
 * device use guest-physical addresses. All devices of a guest in one lender
 * share one window, which is the guest's whole memory. A host has one guest.
 *
 * All functions are for use after realize. Only interrupts take simulated
 * time.
 */
typedef struct FabLend FabLend;

typedef struct FabLendParams {
    FabEndpoint *device;
    FabRoot *borrower;
    uint64_t window_bytes; /* 0: automatic */
    bool vm;               /* the borrower is a guest of the host's */
} FabLendParams;

/* Weights of kinds of device in the automatic size of the DMA window. */
#define FAB_LEND_WEIGHT     1u
#define FAB_LEND_WEIGHT_GPU 4u

/*
 * Puts @device into the pool of those that can be borrowed. While it is not
 * lent it counts in the automatic size of others' windows, by @weight (1 to
 * 65536). Borrowing a device that was not offered offers it with
 * FAB_LEND_WEIGHT.
 */
void fab_lend_offer(FabEndpoint *device, uint32_t weight);

/*
 * Borrows a device. The automatic window is the fair share of the free entries
 * of the lender's adapter, but no larger than the borrower's RAM takes; of a
 * guest, half of the host's RAM or what the guest has already. Fails, and
 * leaves nothing behind:
 *
 *   FAB_ERROR_LENT    another host, which is named, has borrowed it already
 *   FAB_ERROR_CONFIG  it is in the borrower itself; the borrower is a guest and
 *                     an IOMMU is off; the window's size is given, and is less
 *                     than RAM with the IOMMU off, or not the guest's memory
 *   FAB_ERROR_WINDOW  no cables lead there, or window space does not suffice
 */
FabLend *fab_lend_borrow(const FabLendParams *params, GError **error);

/* Returns the device of @lend (nullable), and undoes everything that was mapped
 * for it, with P2P from others to it. TLPs under way get lost. */
void fab_lend_return(FabLend *lend);

/* The lend of @device; NULL: it is not lent. */
FabLend *fab_lend_of(FabEndpoint *device);

FabEndpoint *fab_lend_device(const FabLend *lend);
FabRoot *fab_lend_lender(const FabLend *lend);
FabRoot *fab_lend_borrower(const FabLend *lend);
bool fab_lend_is_vm(const FabLend *lend);
/* The adapter of the lender that its DMA window is in. */
FabNtb *fab_lend_adapter(const FabLend *lend);
uint64_t fab_lend_window_bytes(const FabLend *lend);

/* The address of the device's BAR for the borrower's CPU; false: it has no such
 * BAR. */
bool fab_lend_bar(const FabLend *lend, int bar, FabBusAddr *ret_addr);

/*
 * Maps [@addr, +@size_bytes) of the borrower's memory for the device, and
 * returns the address the device has to use. Fails with FAB_ERROR_NO_ROOM when
 * the DMA window is full, which is also counted and told to the observer, and
 * with FAB_ERROR_ADDRESS for what is not memory.
 */
bool fab_lend_map(FabLend *lend, FabBusAddr addr, uint64_t size_bytes,
                  FabBusAddr *ret_device_addr, GError **error);

/* Takes back a mapping by the address that fab_lend_map() returned. */
void fab_lend_unmap(FabLend *lend, FabBusAddr device_addr);

/*
 * Maps all BARs of @target for the device. @target is a device of the
 * borrower's own, or one that it has borrowed from any lender; requests to the
 * latter do not pass through the borrower. A second call changes nothing. Fails
 * with FAB_ERROR_LENT if the borrower neither owns nor has borrowed @target,
 * and with FAB_ERROR_WINDOW.
 */
bool fab_lend_enable_p2p(FabLend *lend, FabComponent *target, GError **error);

/* The address of BAR @bar of @target for the device; false: P2P is not enabled,
 * or there is no such BAR. */
bool fab_lend_p2p_addr(const FabLend *lend, const FabComponent *target, int bar,
                       FabBusAddr *ret_device_addr);

/* The handler of the borrower, or of its guest, runs for @vector. */
typedef void (*FabInterruptFn)(void *owner, unsigned vector);

#define FAB_LEND_VECTORS 2048u /* as MSI-X */

/*
 * Sets the handler of the device's interrupts; before the first one. The device
 * raises one by writing *ret_data (4 bytes) to *ret_addr, see fab_lend_msi(). A
 * borrower that is no guest gets it through the MSI window, and its handler
 * runs cpu.interrupt later. For a guest the lender's CPU takes it and passes it
 * on, so that cpu.interrupt of both hosts passes.
 */
void fab_lend_set_interrupt(FabLend *lend, FabInterruptFn fn, void *owner);
void fab_lend_msi(const FabLend *lend, unsigned vector, FabBusAddr *ret_addr,
                  uint32_t *ret_data);

typedef struct FabLendCounters {
    uint64_t maps, unmaps;
    uint64_t no_room;      /* mappings that did not fit into the window */
    uint64_t mapped_bytes; /* of the window, now */
    uint64_t most_bytes;   /* the largest mapped_bytes so far */
    uint64_t interrupts;   /* that the handler got */
} FabLendCounters;

const FabLendCounters *fab_lend_counters(const FabLend *lend);

/* Real drivers log this when a DMA window is full. */
#define FAB_LEND_NO_ROOM "No room in IOMMU range"

/* Called with the lend whose window is full, and the size that did not fit.
 * The observer must not change anything. */
typedef void (*FabNoRoomFn)(void *owner, const FabLend *lend,
                            uint64_t size_bytes);
void fab_lend_set_no_room(FabFabric *fabric, FabNoRoomFn fn, void *owner);

#endif
