/* SPDX-License-Identifier: MIT */
#include "fab_port_priv.h"

/*
 * Prefetches what the events of a port touch, in the steps of SimFetchFn. Among
 * thousands of hosts nearly all of it has left the processor's caches since the
 * port's last event.
 */

/* The lines of a TLP or source; nothing if @address is NULL. */
static inline void fetch_two(const void *address)
{
    if (address) {
        fab_prefetch(address);
        fab_prefetch((const char *)address + FAB_CACHE_LINE);
    }
}

/* The receive side of @port; nothing if it is NULL. */
static inline void fetch_ingress(const FabPort *port)
{
    if (port) {
        fab_prefetch(&port->buffer.granted);
        fab_prefetch(&port->buffer.update_due);
        fab_prefetch(&port->owner);
    }
}

/* Fetches the lines that port_try_send() touches. */
void fab_port_send_fetch(const SimEvent *event, unsigned step)
{
    const FabPort *port = SIM_CONTAINER_OF(event, FabPort, send_event);
    const FabSource *source;
    const FabTlp *tlp;

    if (step == 0) {
        fab_prefetch(&port->owner);
        fab_prefetch(&port->busy_until);
        fab_prefetch(&port->credits);
        fab_prefetch(&port->arrive_event);
        fab_prefetch(&port->counters);
        return;
    }
    if (!port->active) {
        return;
    }
    source = &port->sources[__builtin_ctzll(port->active)];
    switch (step) {
    case 1:
        fetch_two(source);
        fetch_ingress(port->peer);
        fab_prefetch(port->flight.tail);
        break;
    case 2:
        tlp = source->queue[FAB_CLASS_P].head;
        fetch_two(tlp ? tlp : source->queue[FAB_CLASS_CPL].head);
        fetch_ingress(source->last_ingress);
        break;
    default:
        tlp = source->queue[FAB_CLASS_P].head;
        if (tlp) {
            fab_prefetch(tlp->next);
        }
        break;
    }
}

/* Fetches the lines that port_arrive_event() touches. */
void fab_port_arrive_fetch(const SimEvent *event, unsigned step)
{
    const FabPort *port = SIM_CONTAINER_OF(event, FabPort, arrive_event);
    const FabPort *peer = port->peer, *egress;

    switch (step) {
    case 0:
        fab_prefetch(&port->owner);
        fab_prefetch(&port->credits);
        break;
    case 1:
        fetch_two(port->flight.head);
        fetch_ingress(peer);
        break;
    case 2:
        egress = peer->last_egress;
        if (egress) {
            fab_prefetch(&egress->owner);
            fab_prefetch(&egress->busy_until);
            fab_prefetch(&egress->send_event);
        }
        break;
    default:
        egress = peer->last_egress;
        if (egress) {
            fetch_two(egress->sources);
        }
        break;
    }
}
