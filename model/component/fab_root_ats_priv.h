/* SPDX-License-Identifier: MIT */
#ifndef FAB_ROOT_ATS_PRIV_H
#define FAB_ROOT_ATS_PRIV_H

#include "fab_root.h"

/*
 * The queue of invalidations of a root's IOMMU, and the devices with ATS below
 * the root.
 */

/* Makes root->ats of a root whose IOMMU is on. */
void fab_root_ats_new(FabRoot *root);
/* Makes its events; nothing if the IOMMU is off, as fab_root_ats_free(). */
void fab_root_ats_init(FabRoot *root);
void fab_root_ats_free(FabRoot *root);

/* True if the IOMMU is on and answers Translation Requests. */
bool fab_root_has_ats(const FabRoot *root);

/* Drops translations of [@iova, +@size_bytes) from a device's ATC. */
typedef void (*FabDropFn)(void *owner, FabBusAddr iova, uint64_t size_bytes);

/* Turns ATS on for the device with Requester ID @device, whose ATC @drop
 * changes with @owner, borrowed. */
void fab_root_ats_add(FabRoot *root, FabBdf device, FabDropFn drop,
                      void *owner);

/* True if ATS is on for @device. */
bool fab_root_ats_is_on(const FabRoot *root, FabBdf device);

/* Takes the Invalidate Completion @tlp. */
void fab_root_ats_message(FabRoot *root, FabTlp *tlp);

/* Drops a range from the ATCs of @domain, or all from the ATC of @device. It
 * takes no time, as the changes of mappings that no load makes. */
void fab_root_ats_drop(FabRoot *root, unsigned domain, FabBusAddr iova,
                       uint64_t size_bytes);
void fab_root_ats_forget(FabRoot *root, FabBdf device);

#endif
