/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The peer as this device sees it, and everything that is sent to it.
 *
 * Writes that follow each other in address, as a device's DMA does in pieces of
 * 8 bytes, are sent as one: a burst. A burst that is not complete is sent
 * before any other message, otherwise from the main loop, which is where DMA
 * ends. All that is sent is recorded.
 *
 * A doorbell is never lost: doorbells that wait merge into one message. A guest
 * that causes other messages has to wait first while the peer does not read
 * (farside_requester_wait()). The peer itself causes no more messages when this
 * device no longer reads from it.
 *
 * Doorbells are messages, and so come after the writes that were posted before
 * them. An eventfd has no order with the socket. A peer could fill it and make
 * it blocking, and so stop a guest that rings. On idle CPUs it is no faster.
 */
#ifndef FARSIDE_PEER_H
#define FARSIDE_PEER_H

#include "hw/pci/pci.h"
#include "farside_config.h"
#include "farside_link.h"
#include "farside_recorder.h"

typedef struct FarsidePeer FarsidePeer;

/* The parameters are borrowed. There is no peer, and no link, at first. */
FarsidePeer *farside_peer_new(const FarsideConfig *config, PCIDevice *pci,
                              FarsideRecorder *recorder);
void farside_peer_free(FarsidePeer *s);

/* State */

void farside_peer_set_link(FarsidePeer *s, FarsideLink *link);
/* The peer said @hello. */
void farside_peer_appear(FarsidePeer *s,
                         const struct farside_wire_hello *hello);
/* The peer is gone, and all that was not sent to it. */
void farside_peer_vanish(FarsidePeer *s);
/* The peer has enabled or disabled its side of the link. */
void farside_peer_set_enabled(FarsidePeer *s, bool enabled);
/*
 * Computes from all of this, and from the own side, whether the link is up.
 * Returns whether that has changed.
 */
bool farside_peer_update(FarsidePeer *s);

/* True from HELLO until the connection ends. */
bool farside_peer_is_here(const FarsidePeer *s);
/* True while the peer is here, and both sides are enabled. */
bool farside_peer_link_is_up(const FarsidePeer *s);
/* The requester ID of the peer's device on its own bus. */
uint16_t farside_peer_requester_id(const FarsidePeer *s);

/* Sending. Nothing is sent while the peer is not here. */

void farside_peer_send(FarsidePeer *s, unsigned type, const void *body,
                       size_t size);
/* The peer gets copies of the files. */
void farside_peer_send_ram(FarsidePeer *s, const struct farside_wire_ram *m,
                           const int *files);
/* @near is NULL for a read that comes from no window. */
void farside_peer_send_read(FarsidePeer *s, const FarsideNear *near,
                            const struct farside_wire_read *m);
/* Adds @size bytes, 8 at most, to the burst, or begins one. */
void farside_peer_send_write(FarsidePeer *s, const FarsideNear *near,
                             uint64_t address, uint64_t value, unsigned size);
/* @c answers @read. */
void farside_peer_send_completion(FarsidePeer *s,
                                  const struct farside_wire_read *read,
                                  const struct farside_wire_completion *c,
                                  const void *data);

/* True if so many messages wait that a guest must not cause more. */
bool farside_peer_is_full(const FarsidePeer *s);
/* A message that waited was sent. */
void farside_peer_drained(FarsidePeer *s);
/* Stops or resumes reading from the peer. */
void farside_peer_hold(FarsidePeer *s, bool hold);

#endif /* FARSIDE_PEER_H */
