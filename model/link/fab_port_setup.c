/* SPDX-License-Identifier: MIT */
/* A port outside of a run: its making, its link, and what others ask of it. */
#include "fab_port_priv.h"

#include <string.h>

#include "fab_account_priv.h"
#include "fab_link_priv.h"

/* Room at first for credits on their way back. A larger ring would be spread
 * over more cache lines, and most links have few UpdateFCs on the wire. */
#define RETURNS 8

/* ---- Life ------------------------------------------------------------ */

FabPort *fab_port_new(FabComponent *owner, const char *name, unsigned index,
                      const FabPortParams *params)
{
    FabPort *port = FAB_ARENA_NEW(&owner->fabric->arena, FabPort, 1);

    port->owner = owner;
    port->name = g_strdup(name);
    port->index = index;
    port->params = *params;
    fab_port_set_sources(port, 1);
    return port;
}

void fab_port_free(FabPort *port)
{
    FabFabric *fabric;

    if (!port) {
        return;
    }
    fabric = port->owner->fabric;
    for (unsigned i = 0; i < port->source_count; i++) {
        for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
            fab_fifo_clear(fabric, &port->sources[i].queue[cls]);
        }
    }
    fab_fifo_clear(fabric, &port->flight);
    fab_port_free_table(port);
    fab_link_free(port);
    sim_event_cancel(&port->send_event);
    sim_event_cancel(&port->arrive_event);
    g_free(port->name);
}

void fab_port_set_role(FabPort *port, FabPortRole role, FabPort *up)
{
    port->role = role;
    port->up = up;
}

void fab_port_set_sources(FabPort *port, unsigned count)
{
    g_assert(count >= 1 && count <= FAB_SOURCES_MAX && !port->active);
    port->sources =
        FAB_ARENA_NEW(&port->owner->fabric->arena, FabSource, count);
    port->source_count = count;
    for (unsigned i = 0; i < count; i++) {
        port->sources[i].weight = 1;
    }
}

void fab_port_set_latency(FabPort *port, FabForwarding forwarding,
                          SimTime latency)
{
    port->cuts_through = forwarding == FAB_FORWARDING_CUT_THROUGH;
    port->latency = latency;
}

void fab_port_set_weight(FabPort *port, unsigned source, const FabPort *from)
{
    if (from->peer) {
        port->sources[source].weight =
            MAX(1, from->width * (1u << (from->speed - 1)));
    }
}

void fab_port_set_drained(FabPort *port, unsigned source, FabDrainedFn drained,
                          void *owner)
{
    port->sources[source].drained = drained;
    port->sources[source].owner = owner;
}

static bool check_free(const FabPort *port, GError **error)
{
    if (port->peer) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONNECT,
                    "%s.%s is already connected to %s.%s", port->owner->name,
                    port->name, port->peer->owner->name, port->peer->name);
        return false;
    }
    return true;
}

bool fab_port_connect(FabPort *a, FabPort *b, FabSpeed speed, uint32_t width,
                      SimTime propagation, GError **error)
{
    FabSpeed max_speed = MIN(a->params.max_speed, b->params.max_speed);
    uint32_t max_width = MIN(a->params.max_width, b->params.max_width);
    FabPort *ends[] = {a, b};

    if (!check_free(a, error) || !check_free(b, error)) {
        return false;
    }
    if (a == b) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONNECT,
                    "%s.%s cannot be connected to itself", a->owner->name,
                    a->name);
        return false;
    }
    if (speed > max_speed || width > max_width) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONNECT,
                    "%s.%s and %s.%s can do x%u at %s at most", a->owner->name,
                    a->name, b->owner->name, b->name, max_width,
                    fab_speed_name(max_speed));
        return false;
    }
    for (unsigned i = 0; i < 2; i++) {
        FabPort *port = ends[i];

        port->peer = ends[1 - i];
        /* Two ends that can do it are in FLIT mode at every speed. */
        if (max_speed >= FAB_SPEED_64_0GT) {
            port->in_flits = true;
            port->flits =
                FAB_ARENA_NEW(&port->owner->fabric->arena, FabFlits, 1);
        }
        port->propagation = propagation;
        port->service_bytes = port->params.service.beat_bytes;
        fab_port_set_rate(port, speed ? speed : max_speed,
                          width ? width : max_width, 0);
    }
    return true;
}

void fab_port_init_fc(FabPort *port)
{
    FabPort *peer = port->peer;
    const FabCredits *credits = &peer->params.credits;

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        uint8_t infinite = 0;

        port->credits[cls] =
            fab_credit_sum(credits->header[cls], credits->data[cls]);
        peer->buffer.granted[cls] = port->credits[cls];
        if (credits->header[cls] == FAB_CREDITS_INFINITE) {
            infinite |= FAB_INFINITE_HEADER;
        }
        if (credits->data[cls] == FAB_CREDITS_INFINITE) {
            infinite |= FAB_INFINITE_DATA;
        }
        fab_port_set_infinite(port, cls, infinite);
    }
}

void fab_port_forget_returns(FabPort *port)
{
    memset(port->ring, 0, port->returns.mask + FAB_RETURN_BYTES);
    port->ring[0].time = SIM_TIME_NONE;
    port->returns.head = 0;
    port->returns.tail = 0;
}

const FabCreditReturn *fab_port_next_return(const FabPort *port,
                                            const FabCreditReturn *ret)
{
    uint32_t at = ret ? (uint32_t)(ret + 1 - port->ring) * FAB_RETURN_BYTES
                      : port->returns.head;

    return (at - port->returns.tail) & port->returns.mask
               ? fab_port_return(port, at)
               : NULL;
}

/* Sets the limit of @port, and so when it must send what it owes already. */
static void dllp_limit_set(FabPort *port)
{
    SimTime limit = fab_port_ack_limit(port);

    for (unsigned cls = 0; !port->collects && cls < FAB_CLASSES; cls++) {
        port->buffer.update_due[cls] += limit - port->buffer.dllp_limit;
    }
    port->buffer.dllp_limit = limit;
}

void fab_port_retrain(FabPort *port, FabSpeed speed, uint32_t width,
                      SimTime recovery)
{
    FabPort *const ends[] = {port, port->peer};
    SimTime now = sim_engine_now(port->owner->engine);
    SimTime begin = MAX(now, MAX(port->busy_until, port->peer->busy_until));

    for (unsigned i = 0; i < 2; i++) {
        fab_port_set_rate(ends[i], speed, width, begin + recovery);
        ends[i]->busy_until = begin + recovery;
        dllp_limit_set(ends[i]);
        fab_link_pause(ends[i], begin + recovery);
    }
}

void fab_port_realize(FabPort *port, uint32_t mps_bytes)
{
    fab_port_init_events(port);
    port->mps_bytes = mps_bytes;
    port->traced = port->owner->fabric->trace_categories & FAB_TRACE_LINK;
    port->collects = port->params.collect_bytes > 0;
    /* In FLIT mode, DLLPs have their own place in each flit. */
    port->dllp = port->in_flits ? FAB_DLLP_FREE : port->params.dllp;
    port->counts_received = port->dllp == FAB_DLLP_SPEC;
    port->arbitration = port->params.arbitration;
    port->has_service = port->params.service.beat_bytes > 0;
    if (!port->peer) {
        return;
    }
    dllp_limit_set(port);
    fab_port_forget_dllps(port);
    fab_port_init_fc(port);
    port->returns.mask = (RETURNS - 1) * FAB_RETURN_BYTES;
    port->ring =
        FAB_ARENA_NEW(&port->owner->fabric->arena, FabCreditReturn, RETURNS);
    fab_port_forget_returns(port);
}

/* ---- Access -------------------------------------------- */

const char *fab_port_name(const FabPort *port)
{
    return port->name;
}

FabComponent *fab_port_owner(const FabPort *port)
{
    return port->owner;
}

FabPortRole fab_port_role(const FabPort *port)
{
    return port->role;
}

FabPort *fab_port_peer(const FabPort *port)
{
    return port->peer;
}

FabSpeed fab_port_speed(const FabPort *port)
{
    return port->speed;
}

uint32_t fab_port_width(const FabPort *port)
{
    return port->width;
}

uint32_t fab_port_mps_bytes(const FabPort *port)
{
    return port->mps_bytes;
}

const FabCredits *fab_port_credits(const FabPort *port)
{
    return &port->params.credits;
}

SimTime fab_port_propagation(const FabPort *port)
{
    return port->propagation;
}

const FabBridge *fab_port_bridge(const FabPort *port)
{
    return port->bridge.secondary ? &port->bridge : NULL;
}

const FabPortCounters *fab_port_counters(const FabPort *port)
{
    return &port->counters;
}
