/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that are a peer's RAM, mapped into an address space at the peer's
 * bus addresses.
 *
 * The caller holds the big lock, except in farside_peer_ram_space().
 */
#ifndef FARSIDE_PEER_RAM_H
#define FARSIDE_PEER_RAM_H

#include "farside_qemu.h"
#include "wire/farside_wire.h"

typedef struct FarsidePeerRam FarsidePeerRam;

void farside_peer_ram_register_type(void);

/*
 * The region of the address space belongs to @owner, and must be gone before
 * farside_peer_ram_free().
 */
FarsidePeerRam *farside_peer_ram_new(Object *owner);
void farside_peer_ram_start(FarsidePeerRam *s);
void farside_peer_ram_stop(FarsidePeerRam *s);
void farside_peer_ram_free(FarsidePeerRam *s);

/* False if a peer must not send @m with @fd_count files. */
bool farside_peer_ram_is_sane(const struct farside_wire_ram *m,
                              unsigned fd_count);
/*
 * Maps what @ram says, if the files are safe. Takes ownership of @files. The
 * caller has removed all that was mapped before.
 */
void farside_peer_ram_take(FarsidePeerRam *s,
                           const struct farside_wire_ram *ram,
                           const int *files);
/* From now on nothing seems to be mapped: no new translation leads to it. */
void farside_peer_ram_hide(FarsidePeerRam *s);
/*
 * Takes away all that was hidden. A device that has mapped some of it keeps its
 * pointer, but what it writes from now on does not reach the peer.
 */
void farside_peer_ram_remove(FarsidePeerRam *s);
/* Does that, and maps the same files again. */
void farside_peer_ram_renew(FarsidePeerRam *s);

/* The regions that are mapped, and not hidden */
unsigned farside_peer_ram_count(const FarsidePeerRam *s);
/* The bus addresses of region @i */
void farside_peer_ram_range(const FarsidePeerRam *s, unsigned i,
                            uint64_t *ret_address, uint64_t *ret_size);
/* The file of region @i, its place there, and the size of the file's pages */
typedef struct {
    int fd; /* borrowed */
    uint64_t offset;
    uint64_t page;
} FarsidePeerRamFile;

void farside_peer_ram_file(const FarsidePeerRam *s, unsigned i,
                           FarsidePeerRamFile *ret_file);
AddressSpace *farside_peer_ram_space(FarsidePeerRam *s);
/*
 * True if a device has mapped some of it for a transfer: then it looks up no
 * window any more.
 */
bool farside_peer_ram_is_in_use(const FarsidePeerRam *s);

/*
 * Makes @mr, of @owner, a mapping of a peer's file. Takes ownership of @fd, and
 * closes it if that fails. There is a bound on all mappings together.
 */
bool farside_peer_ram_map(MemoryRegion *mr, Object *owner, uint64_t size,
                          int fd, uint64_t offset, Error **errp);
/* To be called when @mr is gone, or could not be made. */
void farside_peer_ram_unmapped(const MemoryRegion *mr);
/*
 * Puts other memory in the place of the peer's. A device that has mapped some
 * of it keeps its pointer, and writes there.
 */
void farside_peer_ram_cut(MemoryRegion *mr);

#endif /* FARSIDE_PEER_RAM_H */
