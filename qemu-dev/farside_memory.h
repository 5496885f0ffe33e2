/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The RAM of this machine, as the peer may map it: the peer gets a list of the
 * regions with their files, and a new one after each change.
 */
#ifndef FARSIDE_MEMORY_H
#define FARSIDE_MEMORY_H

#include "farside_peer.h"

typedef struct FarsideMemory FarsideMemory;

/* The parameters are borrowed. */
FarsideMemory *farside_memory_new(PCIDevice *pci, FarsidePeer *peer);
/* Watches the memory that the device reaches, and tells the peer of it. */
void farside_memory_start(FarsideMemory *s);
/* No longer watches the memory. */
void farside_memory_stop(FarsideMemory *s);
/* Frees what was stopped, or never started (nullable). */
void farside_memory_free(FarsideMemory *s);

/* Tells a new peer of the RAM, whatever the last one was told. */
void farside_memory_announce(FarsideMemory *s);

#endif /* FARSIDE_MEMORY_H */
