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
#ifndef FARSIDE_SWITCHTEC_CTRL_H
#define FARSIDE_SWITCHTEC_CTRL_H

#include "farside_parts.h"
#include "farside_switchtec.h"

typedef struct SwitchtecCtrl SwitchtecCtrl;

/* Borrows the parameters. The windows follow the own block from now on. */
SwitchtecCtrl *switchtec_ctrl_new(const FarsideConfig *config,
                                  const SwitchtecOptions *options,
                                  PCIDevice *pci, const FarsideParts *parts);
void switchtec_ctrl_free(SwitchtecCtrl *s);

/* The own partition was reset. */
void switchtec_ctrl_reset(SwitchtecCtrl *s);
/*
 * The peer's partition was reset, or the peer has come or gone. Closes all
 * windows that lead to the peer, until a driver sets them up again.
 */
void switchtec_ctrl_peer_reset(SwitchtecCtrl *s);

/* A register of the block of @part. @offset is a multiple of 4. */
uint32_t switchtec_ctrl_read(SwitchtecCtrl *s, unsigned part, unsigned offset);
/* Only the bits of @mask are written. */
void switchtec_ctrl_write(SwitchtecCtrl *s, unsigned part, unsigned offset,
                          uint32_t value, uint32_t mask);

/* Messages of the peer */
void switchtec_ctrl_on_lock(SwitchtecCtrl *s,
                            const struct farside_wire_lock *m);
void switchtec_ctrl_on_locked(SwitchtecCtrl *s,
                              const struct farside_wire_ctrl *m);
void switchtec_ctrl_on_config(SwitchtecCtrl *s,
                              const struct farside_wire_ctrl *m);
void switchtec_ctrl_on_configured(SwitchtecCtrl *s,
                                  const struct farside_wire_configured *m);
void switchtec_ctrl_on_release(SwitchtecCtrl *s,
                               const struct farside_wire_lock *m);
#endif /* FARSIDE_SWITCHTEC_CTRL_H */
