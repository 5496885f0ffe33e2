/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Address spaces whose regions belong to an object of ours */
#ifndef FARSIDE_SPACE_H
#define FARSIDE_SPACE_H

#include "qom/object.h"
#include "farside_qemu.h"

/*
 * An address space of what @region has. QEMU takes as the root of what it keeps
 * of an address space (its FlatView) the innermost region that fills it. QEMU
 * 7.2 frees the regions of a bridge's ranges while such a root still leads to
 * them, so this root is never one of somebody else.
 */
typedef struct {
    MemoryRegion root;
    MemoryRegion way;    /* to the region of somebody else */
    MemoryRegion anchor; /* of size 0: `way` is not all that `root` has */
    AddressSpace as;
} FarsideSpace;

/* @owner has @s, and lives until farside_space_let_go() and all users end. */
void farside_space_init(FarsideSpace *s, Object *owner, MemoryRegion *region,
                        const char *name);

/*
 * Destroys @as, which @owner has; call it from the method unparent. @owner is
 * freed at the end of an RCU grace period at the earliest: QEMU may read an
 * address space until then.
 */
void farside_space_let_go(AddressSpace *as, Object *owner);

#endif /* FARSIDE_SPACE_H */
