/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows that are RAM. A part of a window that leads to the peer's RAM is in
 * the BAR as memory, so a CPU reaches it without QEMU. With KVM an access to
 * any other region ends the guest's run and goes through QEMU, and takes a
 * thousand times as long.
 *
 * Each such part has a mapping of its own of the peer's file. When it is
 * closed, it goes out of the BAR at once, and its memory is freed when no
 * transfer of a device that began before uses it any more.
 *
 * The rest of a BAR is below these parts, and shows where there is none: a
 * part too many, or one that cannot be mapped, is slower and otherwise the
 * same.
 *
 * The caller holds the big lock.
 */
#ifndef FARSIDE_ALIAS_H
#define FARSIDE_ALIAS_H

#include "farside_config.h"
#include "farside_peer_ram.h"

typedef struct FarsideAliases FarsideAliases;

void farside_alias_register_type(void);
/*
 * The @opaque of farside_alias_new() if @mr is the peer's memory in a window of
 * some device, and sets @ret_window; otherwise NULL. May run without the big
 * lock, while the caller has a reference to @mr.
 */
void *farside_alias_find(const MemoryRegion *mr, unsigned *ret_window);

/* The parameters are borrowed. The BARs belong to @owner. */
FarsideAliases *farside_alias_new(Object *owner, void *opaque);
/* To be called for each @peer, an index, whose RAM is @ram. */
void farside_alias_add_peer(FarsideAliases *s, unsigned peer,
                            FarsidePeerRam *ram);
/*
 * Frees what farside_alias_cut() has emptied (nullable). The BARs must be gone.
 */
void farside_alias_free(FarsideAliases *s);

/* Makes the BAR of @window, in which @below is below all. */
void farside_alias_add_bar(FarsideAliases *s, unsigned window,
                           const char *name, MemoryRegion *below);
MemoryRegion *farside_alias_get_bar(FarsideAliases *s, unsigned window);

/*
 * Replaces the windows that are RAM: begins a list that is empty, adds a
 * window, and puts the list into force.
 *
 * A window has @size bytes at @offset of the BAR of @window, and leads to the
 * bus address @target of @peer. It is RAM where @target is: all of it, a part,
 * or nothing. Windows do not overlap.
 */
void farside_alias_begin(FarsideAliases *s);
void farside_alias_add(FarsideAliases *s, unsigned window, uint64_t offset,
                       uint64_t size, unsigned peer, uint64_t target);
void farside_alias_commit(FarsideAliases *s);

/* True if a transfer may still use a part that was closed. */
bool farside_alias_is_in_use(FarsideAliases *s);
/*
 * Closes all that lead to @peer. What transfers that have begun still write
 * does not reach the peer.
 */
void farside_alias_cut(FarsideAliases *s, unsigned peer);

#endif /* FARSIDE_ALIAS_H */
