/* SPDX-License-Identifier: MIT */
/*
 * Two machines without guests, joined by two NTB devices: a lender with an NVMe
 * controller, and a borrower. The lender's BAR 4 is a window onto all of the
 * borrower's memory, and an entry of its LUT leads to the borrower's MSI range.
 * An entry of the borrower's LUT leads to the controller's registers.
 */
#ifndef DEVICE_PAIR_H
#define DEVICE_PAIR_H

#include "device_cable.h"
#include "device_nvme.h"
#include "device_rig.h"

#define PAIR_NVME_DEVFN 0x30
#define PAIR_NVME_BAR   RIG_NVME_BAR

typedef struct DevicePair DevicePair;

/*
 * @drive is QEMU's -drive for a drive with the id "d". @arguments (nullable,
 * ends with NULL) are added to the borrower's QEMU.
 */
DevicePair *pair_new(const char *drive, const char *const *arguments);
/* The same, with arguments for the lender's QEMU, and a cable in between. */
DevicePair *pair_new_with_cable(const char *drive, const char *const *lender,
                                const char *const *borrower);
/*
 * The same without a cable. The lender's NTB device checks Requester IDs
 * (check-requester=on).
 */
DevicePair *pair_new_checking(const char *drive, const char *const *lender);
void pair_free(DevicePair *pair);

/* Borrowed until the pair is freed. */
DeviceRig *pair_lender(DevicePair *pair);
DeviceRig *pair_borrower(DevicePair *pair);
DeviceCable *pair_cable(DevicePair *pair);

/* The controller, for a driver on the lender and for one on the borrower. */
DeviceNvme pair_local_nvme(DevicePair *pair);
DeviceNvme pair_borrowed_nvme(DevicePair *pair);

/* The address of the lender's window onto the borrower's MSI range. */
uint64_t pair_msi_window(void);
/* Opens a window of the borrower onto aligned 64 KiB of the lender. Returns the
 * window's address. */
uint64_t pair_open(DevicePair *pair, uint64_t target);
/*
 * Sets entry @index of the lender's table of Requester IDs: the function with
 * this ID may use the lender's windows. 0 removes the entry.
 */
void pair_admit(DevicePair *pair, unsigned index, uint16_t requester_id);
/* Makes the lender's window onto the borrower's MSI range lead to @target. */
void pair_open_back(DevicePair *pair, uint64_t target);
/*
 * An NVMe controller with a memory of 1 MiB (cmb_size_mb=1,legacy-cmb=on) at
 * 07.0 of a machine: for a driver on that machine, and the address of the other
 * machine's window onto its memory.
 */
DeviceNvme pair_cmb_nvme(DevicePair *pair, bool of_borrower);
uint64_t pair_open_cmb(DevicePair *pair, bool of_borrower);

#endif /* DEVICE_PAIR_H */
