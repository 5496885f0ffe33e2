/* SPDX-License-Identifier: MIT */
#ifndef FAB_FLOW_REPLAY_H
#define FAB_FLOW_REPLAY_H

#include "fab_flow.h"

/*
 * Repeats what agents did in another fabric: CPUs and devices that write and
 * read. The order and the dependencies are those of the recording; the times of
 * transfers are those of this fabric.
 *
 * A recording is a list of events. Each belongs to an agent: the agent issues
 * an operation, or something arrives at it: the completion of its read, or a
 * write of another agent. An agent goes through its events in their order. It
 * waits at an arrival until that operation is over in this fabric. It issues an
 * operation @gap after its event before, which is the time that it needed to
 * think. So a request waits for all that had arrived at its agent before, and
 * not for what was still under way. A CPU also waits until its write has left
 * it, and a device does so before it reads. The order among the requests of an
 * agent is that of the fabric.
 */
typedef enum FabReplayKind {
    FAB_REPLAY_CPU_READ,
    FAB_REPLAY_CPU_WRITE,
    FAB_REPLAY_DMA_READ,
    FAB_REPLAY_DMA_WRITE,
    FAB_REPLAY_INTERRUPT, /* a device's write that is an MSI */
    FAB_REPLAY_KINDS,
} FabReplayKind;

typedef struct FabReplayEvent {
    bool is_arrival;
    uint32_t agent; /* index: the event is its */
    uint64_t op;    /* number of the operation; each is issued before it
                       arrives */
    SimTime gap;    /* of an issue: since the agent's event before; of its first
                       event, since the start of the flow */
    /* Of an issue: */
    FabReplayKind kind;
    uint32_t target; /* index */
    uint64_t offset; /* of the first byte in the target */
    uint32_t bytes;  /* from 1 on */
} FabReplayEvent;

/* A CPU (a root) or a device. */
typedef struct FabReplayAgent {
    FabComponent *component;
} FabReplayAgent;

typedef struct FabReplayTarget {
    FabTarget target;
    uint64_t size_bytes; /* of the range that operations use */
} FabReplayTarget;

typedef struct FabReplayFlowParams {
    const FabReplayAgent *agents; /* borrowed until the flow is made */
    uint32_t n_agents;
    const FabReplayTarget *targets; /* borrowed until the flow is made */
    uint32_t n_targets;
    /* For each agent and target, by agent * n_targets + target: the agent uses
     * the target. Borrowed until the flow is made. */
    const bool *uses;
    /* Gets the next event. Returns false at the end. */
    bool (*next)(void *owner, FabReplayEvent *ret_event);
    void *owner; /* of the events */
    void (*free_owner)(void *owner);
    uint32_t ahead; /* most events that are read ahead */
    SimTime start;
} FabReplayFlowParams;

/*
 * See fab_flow.h for what the makers of flows have in common. An operation is
 * over when the data of a read are in, or when a write can be seen at its
 * target. On success the flow owns params->owner.
 */
FabFlow *fab_replay_flow_new(FabFabric *fabric, const char *name,
                             SimTime warmup, const FabReplayFlowParams *params,
                             GError **error);

/* The latencies, in ps, of the measured operations of @kind; NULL if the flow
 * is of another kind than a replay. Owned by the flow. */
const SimHistogram *fab_replay_flow_latency(const FabFlow *flow,
                                            FabReplayKind kind);

#endif
