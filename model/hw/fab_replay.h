/* SPDX-License-Identifier: MIT */
#ifndef FAB_REPLAY_H
#define FAB_REPLAY_H

#include "fab_port_priv.h"
#include "fab_waits.h"

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
typedef struct FabReplay FabReplay;

/* Makes the state of @port if there is none. @ack_limit is the Ack latency
 * limit. To be called after ranks are known. */
FabReplay *fab_replay_new(FabPort *port, SimTime ack_limit);
void fab_replay_free(FabPort *port);

/* Forgets all packets, for the link goes down. */
void fab_replay_reset(FabPort *port);

/* Sets the rate of bit errors on the wire from @port, from @begin to @end. */
void fab_replay_set_errors(FabPort *port, double rate, SimTime begin,
                           SimTime end);

/* Destroys the next @count TLPs, or DLLPs, from @port. */
void fab_replay_destroy(FabPort *port, bool dllps, uint64_t count);

/* The link of @port is in Recovery until @end; timers stand still until then.
 * Afterwards it has the speed and width that @port has now. */
void fab_replay_pause(FabPort *port, SimTime end);

/* Sends an old packet again, if one is due. Returns true if no new TLP may be
 * sent now. */
bool fab_replay_takes_wire(FabPort *port, SimTime now);

/* True if a packet waits to be sent again. */
bool fab_replay_is_pending(const FabPort *port);

/* Takes the new @tlp, which is on the wire from @start to @end. */
void fab_replay_send(FabPort *port, FabTlp *tlp, SimTime start, SimTime end);

/* Returns whether the UpdateFC of @cls that @ingress sends at @time is lost. If
 * it is not, adds the credits of lost ones to @credits: an UpdateFC has the sum
 * of all credits. */
bool fab_replay_loses_update(FabPort *ingress, FabClass cls,
                             FabCreditSum *credits, SimTime time);

/* Report the TLPs in the replay buffer of @port that have not arrived. */
void fab_replay_waits(const FabPort *port, FabWaits *waits);
void fab_replay_waiters(const FabPort *port, const FabObserver *observer);

#endif
