/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RAM of this machine that the peer may map. The peer gets a list of the
 * regions with their files, and a new list after each change.
 *
 * Behind an IOMMU the peer also gets a notice of each page that this machine's
 * guest maps or unmaps for the device, if the IOMMU tells of them. A guest that
 * unmaps a page goes on when the peer has acknowledged that.
 */
#ifndef FARSIDE_MEMORY_H
#define FARSIDE_MEMORY_H

#include "farside_peer.h"
#include "farside_wait.h"

typedef struct FarsideMemory FarsideMemory;

/* The parameters are borrowed. */
FarsideMemory *farside_memory_new(PCIDevice *pci, FarsidePeer *peer,
                                  FarsideWait *wait);
/* Begins to watch the memory that the device reaches. */
void farside_memory_start(FarsideMemory *s);
/* Stops watching the memory. */
void farside_memory_stop(FarsideMemory *s);
/* Frees @s, which was stopped or never started (nullable). */
void farside_memory_free(FarsideMemory *s);

/* Sends the list to a new peer. */
void farside_memory_announce(FarsideMemory *s);
/* The peer has acknowledged notices. */
void farside_memory_on_noted(FarsideMemory *s,
                             const struct farside_wire_noted *m);

#endif /* FARSIDE_MEMORY_H */
