/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device as Requester: memory requests to the peer, for accesses to windows
 * that do not lead to the peer's RAM.
 *
 * A read waits for its completion under the big lock. Meanwhile the peers of
 * all links are served: otherwise hosts that read from each other would wait
 * for each other, which PCI Express forbids.
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
 * Requests to the peer, for an access at @near, of up to 8 bytes. A read that
 * fails returns all ones; a write that fails is dropped.
 */
uint64_t farside_requester_read(FarsideRequester *s, const FarsideNear *near,
                                uint64_t address, unsigned size);
void farside_requester_write(FarsideRequester *s, const FarsideNear *near,
                             uint64_t address, uint64_t value, unsigned size);
/* Waits until what was written before is done: reads 0 bytes. */
void farside_requester_flush(FarsideRequester *s);
/*
 * Waits while the peer does not read, before the guest causes one more message.
 * False if the message has to be lost.
 */
bool farside_requester_wait(FarsideRequester *s);

/* False if the peer must not send this. */
bool farside_requester_on_completion(FarsideRequester *s,
                                     const FarsideLinkMessage *m);
void farside_requester_peer_gone(FarsideRequester *s);

#endif /* FARSIDE_REQUESTER_H */
