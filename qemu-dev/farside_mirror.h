/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A copy of the translations of the peer's IOMMU for the peer's NTB device. The
 * peer sends a notice for each page that its guest maps or unmaps, so a device
 * of this machine can access a page of the peer's RAM without asking the peer.
 *
 * An access that the copy does not have is forwarded, and the IOMMU of the
 * peer decides.
 *
 * The big lock is held in all functions but farside_mirror_find().
 */
#ifndef FARSIDE_MIRROR_H
#define FARSIDE_MIRROR_H

#include "farside_qemu.h"
#include "wire/farside_wire.h"

typedef struct FarsideMirror FarsideMirror;

FarsideMirror *farside_mirror_new(void);
/* @s is nullable. */
void farside_mirror_free(FarsideMirror *s);
/* Forgets all translations. */
void farside_mirror_clear(FarsideMirror *s);
/*
 * Does what @notices, a message of @size bytes, says. Sets @ret_unmaps if it
 * unmaps something. Returns false if no peer may send it. A translation that
 * finds no room is left out, as is one of an address, or to one, that is too
 * high for this table.
 */
bool farside_mirror_apply_all(FarsideMirror *s,
                              const struct farside_wire_notices *notices,
                              size_t size, bool *ret_unmaps);
/*
 * Finds the translation of the page at @address. Returns the allowed accesses,
 * and sets @ret_target to the page's address in the peer's memory. Returns
 * IOMMU_NONE if there is no translation. May run without the big lock, under
 * RCU.
 */
IOMMUAccessFlags farside_mirror_find(FarsideMirror *s, uint64_t address,
                                     uint64_t *ret_target);

#endif /* FARSIDE_MIRROR_H */
