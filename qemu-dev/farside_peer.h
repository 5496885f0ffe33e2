/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The peer as this device sees it, and everything that is sent to it.
 *
 * Writes to adjacent addresses are sent as one message, a burst: a device's DMA
 * arrives here in pieces of 8 bytes. An incomplete burst is sent before any
 * other message, or else from the main loop, which runs when the DMA has ended.
 * The recorder gets every message that is sent.
 *
 * A full queue loses no doorbell, because waiting doorbells merge into one
 * message. A guest waits while the queue is full (farside_requester_wait())
 * before it causes a posted write, an outbound message, or an operation on the
 * peer's control block. The peer also causes messages: completions, and answers
 * about control blocks. A peer that does not read them loses the connection
 * (farside_link.c).
 *
 * A doorbell is a message on the socket, so it arrives after the writes that
 * were posted before it. An eventfd would not keep that order. A peer could
 * also fill an eventfd and make it blocking, and so stop a guest that rings. On
 * idle CPUs an eventfd is no faster.
 */
#ifndef FARSIDE_PEER_H
#define FARSIDE_PEER_H

#include "hw/pci/pci.h"
#include "farside_config.h"
#include "farside_link.h"
#include "farside_recorder.h"

typedef struct FarsidePeer FarsidePeer;

/*
 * Borrows the parameters; @index is the peer's. At first there is no peer and
 * no link.
 */
FarsidePeer *farside_peer_new(const FarsideConfig *config, unsigned index,
                              PCIDevice *pci, FarsideRecorder *recorder);
void farside_peer_free(FarsidePeer *s);

/* State */

void farside_peer_set_link(FarsidePeer *s, FarsideLink *link);
/* The peer has sent @hello and was accepted. */
void farside_peer_appear(FarsidePeer *s,
                         const struct farside_wire_hello *hello);
/* The peer is gone. Discards everything that was not sent to it. */
void farside_peer_vanish(FarsidePeer *s);
/* The peer has enabled or disabled its side of the link. */
void farside_peer_set_enabled(FarsidePeer *s, bool enabled);
/*
 * Finds out if the link is up: the peer is here, and both sides are enabled.
 * Returns true if that has changed.
 */
bool farside_peer_update(FarsidePeer *s);
/*
 * Tells the link if it is in use: it is up, and the guest's driver has enabled
 * this device as a bus master. To be called when the command register may have
 * changed.
 */
void farside_peer_activity(FarsidePeer *s);

/* True from HELLO until the connection ends. */
bool farside_peer_is_here(const FarsidePeer *s);
/* The result of the last farside_peer_update() */
bool farside_peer_link_is_up(const FarsidePeer *s);
/* The requester ID of the peer's device on its own bus. */
uint16_t farside_peer_requester_id(const FarsidePeer *s);

/* Sending. Nothing is sent while the peer is not here. */

void farside_peer_send(FarsidePeer *s, unsigned type, const void *body,
                       size_t size);
/* The peer gets copies of the files. */
void farside_peer_send_ram(FarsidePeer *s, const struct farside_wire_ram *m,
                           const int *files);
/*
 * Adds a notice to those that wait. They are sent before any other message, or
 * else from the main loop.
 */
void farside_peer_send_notice(FarsidePeer *s,
                              const struct farside_wire_notice *m);
/*
 * Sends the notices that wait. Returns the number of the last message that
 * unmaps something, or 0.
 */
uint32_t farside_peer_flush_notices(FarsidePeer *s);
/* @near is NULL for a read that did not come through a window. */
void farside_peer_send_read(FarsidePeer *s, const FarsideNear *near,
                            const struct farside_wire_read *m);
/*
 * Adds @size bytes, 8 at most, to the burst, or begins a new burst. @hops is
 * the number of links that the write has crossed before.
 */
void farside_peer_send_write(FarsidePeer *s, const FarsideNear *near,
                             uint64_t address, uint64_t value, unsigned size,
                             unsigned hops);
/* Sends @m, a write of a register of the peer's, with @value. */
void farside_peer_send_register(FarsidePeer *s,
                                const struct farside_wire_write *m,
                                uint64_t value);
/* Sends @c, the completion of @read. */
void farside_peer_send_completion(FarsidePeer *s,
                                  const struct farside_wire_read *read,
                                  const struct farside_wire_completion *c,
                                  const void *data);

/* True if the queue is so long that guests must not cause more messages. */
bool farside_peer_is_full(const FarsidePeer *s);
/* A message of the queue was sent. */
void farside_peer_drained(FarsidePeer *s);
/* Stops or resumes reading from the peer. */
void farside_peer_hold(FarsidePeer *s, bool hold);

#endif /* FARSIDE_PEER_H */
