/* SPDX-License-Identifier: MIT */
#ifndef FAB_ANSWER_PRIV_H
#define FAB_ANSWER_PRIV_H

#include "fab_account_priv.h"

/*
 * Answers the read @request, and consumes it. The completions leave through the
 * port at which the request came in, from @source, not before
 * @request->ready_at. Each has at most @most bytes
 * (and at most MPS), and all but the last end on a multiple of @rcb_bytes (PCIe
 * 5.0 s2.3.1.1). @most is at least @rcb_bytes.
 */
void fab_tlp_answer(FabTlp *request, unsigned source, FabBdf completer_id,
                    uint32_t most, uint32_t rcb_bytes, bool ecrc);

/*
 * Ends the life of @request, which fails at @component, and counts it as
 * unsupported.
 * Returns the completion with @status for a non-posted request; the caller
 * sends it. Returns NULL for a posted request and for an Unexpected Completion
 * (PCIe 5.0 s2.3.1, s2.3.2).
 */
FabTlp *fab_tlp_refuse(const FabComponent *component, FabTlp *request,
                       FabStatus status, FabBdf completer_id);
/* The same for a cause that @status does not tell. */
FabTlp *fab_tlp_refuse_for(const FabComponent *component, FabTlp *request,
                           FabStatus status, FabBdf completer_id,
                           FabLossCause cause);

/* True if @tlp has more payload than @ingress, where it came in, may receive.
 * Only FAB_MPS_PERF lets such TLPs come, and only writes of a peer, to switches
 * and endpoints: no read asks for more, and all ports of an NTB's host are
 * alike. */
static inline bool fab_tlp_is_malformed(const FabTlp *tlp,
                                        const FabPort *ingress)
{
    return tlp->payload_bytes > ingress->mps_bytes;
}

/* Ends the life of such a TLP. It is a Malformed TLP, a fatal error that has no
 * completion (PCIe 5.0 s2.2.2, s6.2.7). */
void fab_tlp_drop_malformed(FabTlp *tlp);

#endif
