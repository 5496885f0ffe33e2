/* SPDX-License-Identifier: MIT */
#ifndef FAB_PROFILE_PRIV_H
#define FAB_PROFILE_PRIV_H

#include "fab_flow_observe.h"
#include "fab_profile.h"
#include "sim_random.h"

/* A resource, and what looks have found. Sums are in ps; for their meaning see
 * the member of FabResource with the same name. */
typedef struct ProfileResource {
    FabResource result;
    FabResourceState state; /* present state; unused for LINK and BUFFER */
    uint64_t busy, full;
    uint64_t level; /* sum of the number in use times ps */
    uint64_t has_work, starved, ordered, degraded;
    uint64_t lacks[FAB_CREDIT_KINDS];
    GArray *causes; /* of ProfileCause */
    /* Counters at the beginning of the observed time. */
    FabPortCounters before;
    uint64_t requests_before;
} ProfileResource;

typedef struct ProfileCause {
    unsigned resource; /* index into FabProfile.resources */
    uint64_t time;     /* sum of the time for which it was the cause, in ps */
} ProfileCause;

typedef struct ProfilePlace {
    FabPlace result;
    uint64_t time; /* sum over operations of their time there, in ps */
} ProfilePlace;

/* Bytes that are at a place now. */
typedef struct ProfileBytes {
    unsigned place; /* index into ProfileFlow.places */
    uint64_t bytes;
} ProfileBytes;

/* A flow, and what it waits for at the moment of a look. */
typedef struct ProfileFlow {
    const FabFlow *flow;
    GArray *places;     /* of ProfilePlace */
    GArray *results;    /* of FabPlace */
    uint64_t under_way; /* sum of the time with an operation under way, in ps */
    FabFlowWait wait;
    const FabComponent *engine; /* owner of wait.device; NULL: any DMA engine */
    GArray *bytes;              /* of ProfileBytes */
    /* Numbers of its DMA orders: reads without an issued request, other reads,
     * writes. */
    uint32_t unissued, reads, writes;
    FabPlace unissued_at; /* place of the last unissued read */
    FabPlace write_at;    /* place of the first write */
} ProfileFlow;

/* A component and its resources. Those of its ports come last. */
typedef struct ProfileComponent {
    const FabComponent *component;
    unsigned first; /* index of its first one in FabProfile.resources */
} ProfileComponent;

/* Indexes of the resources of a port in FabProfile.resources. */
typedef struct ProfilePort {
    unsigned link, buffer;
} ProfilePort;

struct FabProfile {
    FabFabric *fabric;
    SimRandom random;
    SimEvent event;
    SimTime begin, end;
    SimTime interval_begin, interval;
    unsigned interval_count; /* number of intervals of the same length */
    unsigned intervals_left; /* intervals until their length doubles */
    bool has_begun, is_finished;
    uint64_t seen; /* sum of the intervals so far, in ps */

    ProfileResource *resources;
    unsigned resource_count;
    FabResource *results;
    GHashTable *ports; /* FabPort to ProfilePort */
    ProfileComponent *components;
    unsigned component_count;
    GHashTable *by_component; /* FabComponent to its ProfileComponent */

    ProfileFlow *flows; /* indexed by the flow's number - 1 */
    unsigned flow_count;
};

/* fab_profile_cause.c: returns the index in profile->resources of the resource
 * that causes the lack of credits of @cls at @port. */
unsigned fab_profile_cause(const FabProfile *profile, const FabPort *port,
                           FabClass cls);

/* fab_profile_place.c: adds @weight ps to the places where the operations of
 * flows are now. */
void fab_profile_look_at_flows(FabProfile *profile, SimTime weight);

#endif
