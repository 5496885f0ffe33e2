/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device as Requester: memory requests to the peer, for accesses to windows
 * that do not lead to the peer's RAM.
 *
 * A read waits for its completion under the big lock. Meanwhile it serves the
 * peers of all links. Otherwise two hosts that read from each other would
 * deadlock, which PCI Express forbids.
 */
#ifndef FARSIDE_REQUESTER_H
#define FARSIDE_REQUESTER_H

#include "farside_peer.h"

typedef struct FarsideRequester FarsideRequester;

/* The parameters are borrowed. */
FarsideRequester *farside_requester_new(const FarsideConfig *config,
                                        PCIDevice *pci, FarsidePeer *peer);
void farside_requester_free(FarsideRequester *s);

/*
 * Requests to the peer, for an access of up to 8 bytes at @near. A read that
 * fails returns all ones; a write that fails is dropped.
 */
uint64_t farside_requester_read(FarsideRequester *s, const FarsideNear *near,
                                uint64_t address, unsigned size);
void farside_requester_write(FarsideRequester *s, const FarsideNear *near,
                             uint64_t address, uint64_t value, unsigned size);
/* Waits until the peer has done all earlier writes, by a read of 0 bytes. */
void farside_requester_flush(FarsideRequester *s);
/*
 * Called before the guest causes a message: waits while the queue to the peer
 * is full. Returns false if the message must be dropped.
 */
bool farside_requester_wait(FarsideRequester *s);

/* Returns false if the peer must not send this message. */
bool farside_requester_on_completion(FarsideRequester *s,
                                     const FarsideLinkMessage *m);
void farside_requester_peer_gone(FarsideRequester *s);

#endif /* FARSIDE_REQUESTER_H */
