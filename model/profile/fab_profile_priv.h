/* SPDX-License-Identifier: MIT */
#ifndef FAB_PROFILE_PRIV_H
#define FAB_PROFILE_PRIV_H

#include "fab_flow_observe.h"
#include "fab_profile.h"
#include "sim_random.h"

/* A resource, and what was seen of it: sums of time, in ps. */
typedef struct ProfileResource {
    FabResource result;
    FabResourceState state; /* now; not of LINK and BUFFER */
    uint64_t busy, full;
    uint64_t level; /* how many were in use, times for how long */
    uint64_t has_work, starved, ordered;
    uint64_t lacks[FAB_CREDIT_KINDS];
    GArray *causes; /* of ProfileCause */
    /* Counters when the observed time began. */
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

/* A flow, and what it waits for at the moment of a look. */
typedef struct ProfileFlow {
    const FabFlow *flow;
    GArray *places;  /* of ProfilePlace */
    GArray *results; /* of FabPlace */
    uint64_t under_way;
    FabFlowWait wait;
    const FabComponent *engine; /* of wait.device; NULL: every DMA engine */
    GArray *bytes;              /* of ProfileBytes */
    /* Its orders: reads of which nothing is issued, other reads, writes. */
    uint32_t unissued, reads, writes;
    FabPlace unissued_at, write_at; /* of the last read, and the first write */
} ProfileFlow;

/* A component, and where its resources begin; the ports' come last. */
typedef struct ProfileComponent {
    const FabComponent *component;
    unsigned first;
} ProfileComponent;

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
    GHashTable *ports; /* FabPort to ProfilePort */
    ProfileComponent *components;
    unsigned component_count;
    GHashTable *by_component; /* FabComponent to its ProfileComponent */

    ProfileFlow *flows; /* by number less 1 */
    unsigned flow_count;
};

/* fab_profile_cause.c: the resource that the lack of credits of @cls at @port
 * comes of, by its place in profile->resources. */
unsigned fab_profile_cause(const FabProfile *profile, const FabPort *port,
                           FabClass cls);

/* fab_profile_place.c: adds @weight ps to the places where operations are. */
void fab_profile_look_at_flows(FabProfile *profile, SimTime weight);

#endif
