/* SPDX-License-Identifier: MIT */
#ifndef FAB_PROFILE_PRIV_H
#define FAB_PROFILE_PRIV_H

#include "fab_flow_priv.h"
#include "fab_profile.h"
#include "sim_random.h"

/* A resource, and what was seen of it: sums of time, in ps. */
typedef struct ProfileResource {
    FabResource result;
    uint64_t busy, full, level; /* level: of use, by time */
    uint64_t has_work, starved, ordered;
    uint64_t lacks[FAB_CREDIT_KINDS];
    GArray *causes; /* of ProfileCause */
    /* Counters when the window began. */
    FabPortCounters before;
    uint64_t requests_before;
} ProfileResource;

typedef struct ProfileCause {
    unsigned resource;
    uint64_t time;
} ProfileCause;

typedef struct ProfilePlace {
    FabPlace result;
    uint64_t time;
} ProfilePlace;

/* Bytes that are at a place now. */
typedef struct ProfileBytes {
    unsigned place;
    uint64_t bytes;
} ProfileBytes;

/* A flow, and what it waits for at the moment that is looked at. */
typedef struct ProfileFlow {
    const FabFlow *flow;
    GArray *places;  /* of ProfilePlace */
    GArray *results; /* of FabPlace */
    uint64_t under_way;
    FabFlowWait wait;
    GArray *bytes;                    /* of ProfileBytes */
    uint32_t unissued, reads, writes; /* its orders: reads of which nothing is
                                         issued, other reads, writes */
    const FabEndpoint *idle_device, *writer; /* of these */
    const FabDma *write;
} ProfileFlow;

/* Where the resources of a port are. */
typedef struct ProfilePort {
    unsigned link, buffer;
} ProfilePort;

struct FabProfile {
    FabFabric *fabric;
    SimRandom random;
    SimEvent event;
    SimTime begin, end;
    SimTime interval_begin, interval;
    unsigned interval_count, intervals_left; /* until they grow */
    bool has_begun, is_finished;
    uint64_t seen; /* sum of the intervals */

    ProfileResource *resources;
    unsigned resource_count;
    FabResource *results;
    GHashTable *ports;      /* FabPort to ProfilePort */
    GHashTable *components; /* FabComponent to its first resource */

    ProfileFlow *flows; /* by number less 1 */
    unsigned flow_count;
};

/* Bits of FAB_CREDIT_ kinds that heads of queues of @port lack now. */
uint32_t fab_profile_lacks(const FabPort *port, SimTime now);

/* fab_profile_place.c: adds @weight ps to the places where operations are. */
void fab_profile_look_at_flows(FabProfile *profile, SimTime weight);

#endif
