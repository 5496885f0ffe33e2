/* SPDX-License-Identifier: MIT */
#ifndef FAB_USAGE_PRIV_H
#define FAB_USAGE_PRIV_H

#include "fab_flow_priv.h"
#include "fab_usage.h"
#include "sim_random.h"

/* A resource, and what was seen of it: sums of time, in ps. */
typedef struct UsageResource {
    FabResource result;
    uint64_t busy, full, level; /* level: of use, by time */
    uint64_t has_work, starved, ordered;
    uint64_t lacks[FAB_CREDIT_KINDS];
    GArray *causes; /* of UsageCause */
    /* Counters when the window began. */
    FabPortCounters before;
    uint64_t requests_before;
} UsageResource;

typedef struct UsageCause {
    unsigned resource;
    uint64_t time;
} UsageCause;

typedef struct UsagePlace {
    FabPlace result;
    uint64_t time;
} UsagePlace;

/* Bytes that are at a place now. */
typedef struct UsageBytes {
    unsigned place;
    uint64_t bytes;
} UsageBytes;

/* A flow, and what it waits for at the moment that is looked at. */
typedef struct UsageFlow {
    const FabFlow *flow;
    GArray *places;  /* of UsagePlace */
    GArray *results; /* of FabPlace */
    uint64_t under_way;
    FabFlowWait wait;
    GArray *bytes;                    /* of UsageBytes */
    uint32_t unissued, reads, writes; /* its orders: reads of which nothing is
                                         issued, other reads, writes */
    const FabDevice *idle_device, *writer; /* of these */
    const FabDma *write;
} UsageFlow;

/* Where the resources of a port are. */
typedef struct UsagePort {
    unsigned link, buffer;
} UsagePort;

struct FabUsage {
    FabFabric *fabric;
    SimRandom random;
    SimEvent event;
    SimTime begin, end;
    SimTime interval_begin, interval;
    unsigned interval_count, intervals_left; /* until they grow */
    bool has_begun, is_finished;
    uint64_t seen; /* sum of the intervals */

    UsageResource *resources;
    unsigned resource_count;
    FabResource *results;
    GHashTable *ports;      /* FabPort to UsagePort */
    GHashTable *components; /* FabComponent to its first resource */

    UsageFlow *flows; /* by number less 1 */
    unsigned flow_count;
};

/* Bits of FAB_CREDIT_ kinds that heads of queues of @port lack now. */
uint32_t fab_usage_lacks(const FabPort *port, SimTime now);

/* fab_usage_place.c: adds @weight ps to the places where operations are. */
void fab_usage_look_at_flows(FabUsage *usage, SimTime weight);

#endif
