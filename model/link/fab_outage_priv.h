/* SPDX-License-Identifier: MIT */
#ifndef FAB_OUTAGE_PRIV_H
#define FAB_OUTAGE_PRIV_H

#include "fab_port_priv.h"

/*
 * A link that goes down (DL_Down, PCIe 5.0 s2.9.1). TLPs on the wire are lost.
 * While it is down, its ends take TLPs as if they sent them, so that queues
 * drain at the rate of the wire, and discard them. A Root Port, a Downstream
 * Port and a cable port of an NTB complete non-posted requests with UR. Nothing
 * completes the requests that were sent before; their requesters give up after
 * the completion time-out. When the link is up again, credits start anew, and
 * TLPs that came in before hold none of them.
 */

/*
 * Takes the link of @port down, and the links below a switch whose Upstream
 * Port loses its link, because it is reset (s6.6.1). A link may be down for
 * several reasons at a time; each fab_outage_end() ends one.
 */
void fab_outage_begin(FabPort *port);
void fab_outage_end(FabPort *port);

#endif
