/* SPDX-License-Identifier: MIT */
#ifndef FAB_OUTAGE_H
#define FAB_OUTAGE_H

#include "fab_port_priv.h"
#include "fab_waits.h"

/*
 * A link that goes down (DL_Down, PCIe 5.0 s2.9.1). TLPs on the wire are lost.
 * While it is down, its ends take TLPs as if they sent them, so that queues
 * drain at the rate of the wire, and discard them. A Root Port, a Downstream
 * Port and a cable port of an NTB complete non-posted requests with UR. Nothing
 * completes the requests that were sent before; their requesters give up after
 * the completion time-out. When the link is up again, credits start anew, and
 * TLPs that came in before hold none of them.
 */
typedef struct FabOutage FabOutage;

/*
 * Takes the link of @port down, and the links below a switch whose Upstream
 * Port loses its link, because it is reset (s6.6.1). A link may be down for
 * several reasons at a time; each fab_outage_end() ends one.
 */
void fab_outage_begin(FabPort *port);
void fab_outage_end(FabPort *port);

void fab_outage_free(FabPort *port);

bool fab_outage_is_down(const FabPort *port);

/* True if the link of @port is down. */
static inline bool fab_port_is_down(const FabPort *port)
{
    return port->outage && fab_outage_is_down(port);
}

/* The link of @port, which is down, has lost @tlp: discards it. */
void fab_outage_lose(FabPort *port, FabTlp *tlp);

/* Takes @tlp, which would be on the wire from @start to @end. */
void fab_outage_drop(FabPort *port, FabTlp *tlp, SimTime start, SimTime end);

/* Report the TLPs that are about to be discarded. */
void fab_outage_waits(const FabPort *port, FabWaits *waits);
void fab_outage_waiters(const FabPort *port, const FabObserver *observer);

#endif
