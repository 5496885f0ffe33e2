/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device as Completer: requests of one peer. Memory requests are issued on
 * this machine with the requester ID of this device; doorbells and messages
 * reach its registers.
 *
 * While a device of this machine waits for a peer (farside_wait.h), only
 * requests that run no device's code are served. The Completer defers all
 * others, and the posted requests behind a deferred posted one, until no device
 * waits. A device that has released the big lock in the middle of an access is
 * left alone as well. A read of memory passes deferred requests, unless it
 * reads bytes that they write. If such reads had to wait, two devices that each
 * read from the other host's memory would wait for each other.
 *
 * A request for a register of this host goes to the chip. A non-posted write
 * that closes a window completes when no CPU uses that window any more.
 *
 * A memory request that no window of the peer leads to, or that has crossed too
 * many links, is an Unsupported Request (PCIe 5.0 s2.3.1): a read completes
 * with that status, a write is dropped. Both are counted and logged.
 */
#ifndef FARSIDE_COMPLETER_H
#define FARSIDE_COMPLETER_H

#include "farside_parts.h"

typedef struct FarsideCompleter FarsideCompleter;

/* The pointers are borrowed; @peer is the index of the peer that it serves. */
FarsideCompleter *farside_completer_new(PCIDevice *pci,
                                        const FarsideParts *parts,
                                        unsigned peer);
void farside_completer_free(FarsideCompleter *s);

/*
 * Serves or defers a READ, WRITE, DOORBELL or MESSAGE. Returns false if the
 * peer must not send it.
 */
bool farside_completer_on_request(FarsideCompleter *s,
                                  const FarsideLinkMessage *m);
/* Drops all deferred requests. */
void farside_completer_peer_gone(FarsideCompleter *s);
/*
 * The number of Unsupported Requests of the peer: those that no window leads
 * to, and those that have crossed too many links
 */
uint64_t farside_completer_unsupported(const FarsideCompleter *s);

#endif /* FARSIDE_COMPLETER_H */
