/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The device as Requester: memory requests to the peer, for accesses to windows
 * that do not lead to the peer's RAM.
 *
 * A read waits for its completion under the big lock (farside_wait.h).
 * Meanwhile it serves the peers of all links. Otherwise two hosts that read
 * from each other would deadlock, which PCI Express forbids. While the peer is
 * silent, a read fails at once.
 */
#ifndef FARSIDE_REQUESTER_H
#define FARSIDE_REQUESTER_H

#include "farside_peer.h"
#include "farside_wait.h"

typedef struct FarsideRequester FarsideRequester;

/* The parameters are borrowed. */
FarsideRequester *farside_requester_new(const FarsideConfig *config,
                                        PCIDevice *pci, FarsidePeer *peer,
                                        FarsideWait *wait);
void farside_requester_free(FarsideRequester *s);

/*
 * The links that the access which this machine makes now has crossed. It is 0
 * for an access of the machine's own. The Completer sets it while it performs a
 * request of a peer, and restores the old value, which the function returns.
 */
unsigned farside_requester_set_hops(unsigned hops);
/*
 * While @hold is true, nothing crosses any link: each request fails at once.
 */
void farside_requester_hold_all(bool hold);
bool farside_requester_is_held(void);
/*
 * Requests to the peer, for an access of up to 8 bytes at @near. A read that
 * fails returns false, and *@ret_value is all ones; a write that fails is
 * dropped. A request that has crossed FARSIDE_WIRE_HOPS links is an Unsupported
 * Request, so it fails.
 */
bool farside_requester_read(FarsideRequester *s, const FarsideNear *near,
                            uint64_t address, unsigned size,
                            uint64_t *ret_value);
void farside_requester_write(FarsideRequester *s, const FarsideNear *near,
                             uint64_t address, uint64_t value, unsigned size);
/*
 * Reads a block of up to FARSIDE_WIRE_PAYLOAD bytes for the device at @near, in
 * requests that are under way at once. The block must be greater than 8 bytes.
 */
FarsideFetched farside_requester_fetch(FarsideRequester *s,
                                       const FarsideNear *near,
                                       uint64_t address, void *data,
                                       unsigned size);
/*
 * The same in a timed cluster, without a wait: @done is called by a bottom half
 * when all bytes have come, or some do not come. To be cancelled if @data
 * disappears before. NULL if the link is down.
 */
FarsideFetching *farside_requester_fetch_then(FarsideRequester *s,
                                              const FarsideNear *near,
                                              uint64_t address, void *data,
                                              unsigned size,
                                              FarsideFetchDone *done,
                                              void *opaque);
void farside_requester_cancel(FarsideFetching *fetching);
/*
 * Reads a register of the peer's chip, as farside_requester_read() does.
 */
bool farside_requester_ask(FarsideRequester *s, uint64_t offset, unsigned size,
                           bool is_device, uint64_t *ret_value);
/*
 * An access to a window that leads to registers of the peer's chip: a part of
 * one is neither read nor written.
 */
bool farside_requester_read_register(FarsideRequester *s,
                                     const FarsideNear *near, uint64_t offset,
                                     unsigned size, uint64_t *ret_value);
void farside_requester_write_register(FarsideRequester *s,
                                      const FarsideNear *near, uint64_t offset,
                                      uint64_t value, unsigned size);
/* Writes a register of the peer's chip, by a posted write. */
void farside_requester_post(FarsideRequester *s, uint64_t offset,
                            uint64_t value, unsigned size, bool is_device);
/* The same without a wait for the queue, for a chip that no guest has called */
void farside_requester_tell(FarsideRequester *s, uint64_t offset,
                            uint64_t value, unsigned size);
/*
 * The same by a non-posted write, which takes effect before the guest goes on:
 * the CPU waits before its guest's next block of code. Other hosts may do the
 * same at that time, so the CPU does not keep the big lock. In virtual time
 * nobody waits: no access there goes to the peer's RAM directly.
 */
void farside_requester_put(FarsideRequester *s, uint64_t offset,
                           uint64_t value, unsigned size, bool is_device);
/*
 * The same for a write that closes no window: the wait is that of a read. True
 * if the peer has done it, false if it has refused it, or does not answer.
 */
bool farside_requester_try(FarsideRequester *s, uint64_t offset, uint64_t value,
                           unsigned size, bool is_device);
/* The link is down: nothing comes any more. */
void farside_requester_link_down(FarsideRequester *s);
/*
 * Waits until the peer has done all earlier writes, by a read of 0 bytes. False
 * if it does not answer. @is_device is that of farside_wait_begin().
 */
bool farside_requester_flush(FarsideRequester *s, bool is_device);
/*
 * Called before the guest causes a message: waits while the queue to the peer
 * is full. Returns false if the message must be dropped.
 */
bool farside_requester_wait(FarsideRequester *s, bool is_device);

/* True if the completion with this tag is for a register. */
bool farside_requester_awaits_register(const FarsideRequester *s, uint16_t tag);
/* Returns false if the peer must not send this message. */
bool farside_requester_on_completion(FarsideRequester *s,
                                     const FarsideLinkMessage *m);
void farside_requester_peer_gone(FarsideRequester *s);
/* The number of requests that failed because they had crossed too many links */
uint64_t farside_requester_unsupported(const FarsideRequester *s);

#endif /* FARSIDE_REQUESTER_H */
