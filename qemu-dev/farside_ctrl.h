/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The control blocks of both partitions: LOCK, writes, CFG.
 *
 * A block is in force on the host of its partition: that machine has the
 * windows, and decides which host gets the lock first. So this process holds
 * the own block, and asks the peer for the peer's block (wire/farside_wire.h).
 * While no peer is connected, this process stands in for the peer's block.
 * Everything written to it is forgotten when a peer connects.
 */
#ifndef FARSIDE_CTRL_H
#define FARSIDE_CTRL_H

#include "farside_peer.h"
#include "farside_requester.h"
#include "farside_windows.h"

typedef struct FarsideCtrl FarsideCtrl;

/* Borrows the parameters. @windows use the own block from now on. */
FarsideCtrl *farside_ctrl_new(const FarsideConfig *config, PCIDevice *pci,
                              FarsidePeer *peer, FarsideRequester *requester,
                              FarsideWindows *windows);
void farside_ctrl_free(FarsideCtrl *s);

/* The own partition was reset. */
void farside_ctrl_reset(FarsideCtrl *s);
/*
 * The peer's partition was reset, or the peer has come or gone. Closes all
 * windows that lead to the peer, until a driver sets them up again.
 */
void farside_ctrl_peer_reset(FarsideCtrl *s);

/* A register of the block of @part. @offset is a multiple of 4. */
uint32_t farside_ctrl_read(FarsideCtrl *s, unsigned part, unsigned offset);
/* Only the bits of @mask are written. */
void farside_ctrl_write(FarsideCtrl *s, unsigned part, unsigned offset,
                        uint32_t value, uint32_t mask);

/* Messages of the peer */
void farside_ctrl_on_lock(FarsideCtrl *s, const struct farside_wire_lock *m);
void farside_ctrl_on_locked(FarsideCtrl *s, const struct farside_wire_ctrl *m);
void farside_ctrl_on_config(FarsideCtrl *s, const struct farside_wire_ctrl *m);
void farside_ctrl_on_configured(FarsideCtrl *s,
                                const struct farside_wire_configured *m);
void farside_ctrl_on_release(FarsideCtrl *s, const struct farside_wire_lock *m);
/* Returns false if the peer must not send @m: CFG would refuse the block. */
bool farside_ctrl_on_block(FarsideCtrl *s, const struct farside_wire_ctrl *m);

/*
 * True if one window of the peer leads to all of the @size bytes at @address of
 * this machine's bus.
 */
bool farside_ctrl_peer_reaches(const FarsideCtrl *s, uint64_t address,
                               uint64_t size);

#endif /* FARSIDE_CTRL_H */
