/* SPDX-License-Identifier: MIT */
#ifndef FAB_REPLAY_PRIV_H
#define FAB_REPLAY_PRIV_H

#include "fab_port_priv.h"

/*
 * The Data Link Layer of a link with bit errors (PCIe 5.0 s3.6): sequence
 * numbers, Ack and Nak, the replay buffer and its timer. Each direction has a
 * FabReplay, which belongs to the sending port and also has the state of the
 * receiver. A link without errors has none, because there all of this costs
 * events and changes nothing.
 *
 * The receiver's answer to a packet depends only on the packets sent before. So
 * it is computed when the packet is sent: a TLP that will be accepted goes the
 * usual way, and others stay in the replay buffer.
 */
/* Gives both ends of the link of @port a FabReplay, unless they have one. To be
 * called after ranks are known. */
void fab_replay_make(FabPort *port);

/* Sets the rate of bit errors on the wire from @port, whose link has a
 * FabReplay, from @begin to @end. */
void fab_replay_set_errors(FabPort *port, double rate, SimTime begin,
                           SimTime end);

/* Destroys the next @count TLPs, or DLLPs, from @port. */
void fab_replay_destroy(FabPort *port, bool dllps, uint64_t count);

#endif
