/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLIT_PRIV_H
#define FAB_FLIT_PRIV_H

#include "fab_tlp.h"

/*
 * FLIT mode (PCIe 6.0 s4.2.3). A direction of the link is an endless row of
 * flits, with an SKP ordered set after each `flits_between` of them. A flit has
 * 236 bytes of TLPs, 6 of the Data Link Layer, 8 of CRC and 6 of ECC. TLPs
 * follow each other without framing, and may begin in one flit and end in
 * another. A receiver has the bytes of a flit when it has decoded and checked
 * the whole.
 *
 * All times are in 1/FAB_PS_FRACTION ps. Positions count the bytes of TLPs from
 * the first flit on.
 */
#define FAB_FLIT_BYTES     256u
#define FAB_FLIT_TLP_BYTES 236u

typedef struct FabFlits {
    uint64_t origin; /* when the first flit began */
    uint64_t byte_time;
    uint64_t flits_between, skp_time;
    uint64_t position; /* behind the last TLP */
} FabFlits;

/* The link works from @now, in ps, on. */
void fab_flits_restart(FabFlits *flits, SimTime now, uint64_t byte_time,
                       uint32_t flits_between, uint64_t skp_time);

/* Puts @bytes of a TLP, whole DWs, on the wire, at @now in ps or as soon as
 * possible after it. Returns when the first one begins, and sets *@ret_end to
 * when the last one has left, in ps. */
SimTime fab_flits_take(FabFlits *flits, SimTime now, uint32_t bytes,
                       SimTime *ret_end);

/* Returns the number of the flit in which the byte lies that ends at @time, in
 * ps; @time must be one of the times of fab_flits_take(). */
uint64_t fab_flits_number(const FabFlits *flits, SimTime time);
/* Returns when flit @number begins, in ps. */
SimTime fab_flits_begin(const FabFlits *flits, uint64_t number);
/* Returns when flit @number has left, in ps. */
SimTime fab_flits_end(const FabFlits *flits, uint64_t number);
/* Returns the number of the first flit that begins at @time, in ps, or later.
 */
uint64_t fab_flits_next(const FabFlits *flits, SimTime time);

/* Returns the probability that a flit is bad after the correction of errors, if
 * each bit is wrong with probability @rate. */
double fab_flit_bad_rate(double rate);

/*
 * The bytes of @tlp in FLIT mode (PCIe 6.0 s2.2.1.2): header, OHC, payload and
 * ECRC. Without OHC-A all bytes of a memory request are enabled, so a request
 * that begins or ends within a DW has OHC-A1. A completion has OHC-A5 if its
 * data begin within a DW, or if its status is not Successful Completion.
 */
static inline uint32_t fab_flit_tlp_bytes(const FabTlp *tlp)
{
    uint32_t bytes = fab_tlp_bytes(tlp);
    bool ohc;

    if (fab_tlp_is_completion(tlp)) {
        ohc = (tlp->addr & 3) != 0 || tlp->status != FAB_STATUS_SC;
    } else {
        uint32_t length =
            tlp->type == FAB_TLP_MRD ? tlp->request_bytes : tlp->payload_bytes;

        ohc = ((tlp->addr | length) & 3) != 0 || length == 0;
        ohc &= tlp->type == FAB_TLP_MRD || tlp->type == FAB_TLP_MWR;
    }
    return bytes + (ohc ? 4 : 0);
}

#endif
