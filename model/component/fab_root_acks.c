/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"

/* Acknowledgements that posted writes of root ports wait for: a ring, in order
 * of time, with one event. */

#define ACKS 64

static RootAck *ack_at(const RootAcks *acks, uint32_t at)
{
    return &acks->ring[at & acks->mask];
}

static void acks_grow(RootAcks *acks)
{
    uint32_t old = acks->mask + 1, size = 2 * old;
    RootAck *ring = g_new(RootAck, size);

    for (uint32_t i = 0; i < old; i++) {
        ring[i] = *ack_at(acks, acks->head + i);
    }
    g_free(acks->ring);
    acks->ring = ring;
    acks->mask = size - 1;
    acks->head = 0;
    acks->tail = old;
}

static void ack_event(SimEvent *event)
{
    RootAcks *acks = SIM_CONTAINER_OF(event, RootAcks, event);
    RootAck ack = *ack_at(acks, acks->head++);

    if (acks->head != acks->tail) {
        sim_event_schedule(event, ack_at(acks, acks->head)->time);
    }
    acks->fn(acks->root, ack.from, ack.bytes);
}

void fab_root_acks_add(RootAcks *acks, SimTime time, unsigned from,
                       uint32_t bytes)
{
    uint32_t at;

    if (acks->tail - acks->head == acks->mask + 1) {
        acks_grow(acks);
    }
    for (at = acks->tail++; at != acks->head; at--) {
        if (ack_at(acks, at - 1)->time <= time) {
            break;
        }
        *ack_at(acks, at) = *ack_at(acks, at - 1);
    }
    *ack_at(acks, at) = (RootAck){time, bytes, from};
    if (at == acks->head) {
        sim_event_reschedule(&acks->event, time);
    }
}

void fab_root_acks_init(RootAcks *acks, FabRoot *root, RootAckFn fn)
{
    acks->root = root;
    acks->fn = fn;
    acks->mask = ACKS - 1;
    acks->ring = g_new(RootAck, ACKS);
    sim_event_init(&acks->event, root->component.engine, ack_event,
                   SIM_PRIORITY_NORMAL, root->component.rank + 3);
}

void fab_root_acks_free(RootAcks *acks)
{
    if (acks->ring) {
        sim_event_cancel(&acks->event);
        g_free(acks->ring);
    }
}
