/* SPDX-License-Identifier: MIT */
#ifndef FAB_METER_H
#define FAB_METER_H

#include <stdbool.h>
#include <stdint.h>

#include "fab_component.h"

/*
 * The data of a flow that cross the fabric in a span of time: of a TLP, the
 * part that leaves its source within the span, and the part that comes in at
 * its receiver. The smaller sum has crossed every link between. So no link
 * carries less than what is counted, wherever buffers fill or drain at the ends
 * of the span.
 */
typedef struct FabMeter {
    SimTime from;       /* it counts nothing before */
    bool of_cpu;        /* the accesses of CPUs count */
    uint32_t flow;      /* number of the flow */
    uint64_t sent;      /* bytes of TLPs, from the start on */
    uint64_t settled;   /* of these, those that have arrived or are lost */
    uint64_t lost;      /* of these, those that are lost */
    uint64_t early;     /* of those that have arrived, those before `from` */
    uint64_t other;     /* bytes that were counted without a TLP */
    uint64_t left;      /* bytes of TLPs that have left their source */
    SimTime begun_at;   /* when the first byte left */
    SimTime arrived_at; /* when the last TLP arrived */
    uint32_t last_left; /* bytes of the last TLP that left, not in `left` */
    SimTime last_left_from; /* when they began to leave */
    SimTime last_left_at;   /* when the last of them leaves */
    const FabPort *ingress; /* where data arrive; NULL: no TLP has come in
                               wholly after `from` */
    uint32_t last_lost;     /* FabTlp.transaction of the write lost last */
    uint64_t lost_writes;   /* number of writes of which a TLP was lost */
} FabMeter;

/* The bytes that have crossed all links between their ends until @now. */
uint64_t fab_meter_bytes(const FabMeter *meter, SimTime now);

#endif
