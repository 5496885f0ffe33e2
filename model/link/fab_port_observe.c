/* SPDX-License-Identifier: MIT */
#include "fab_link_priv.h"

/* The credits of @cls that @port has, including credits that have come back but
 * are not collected yet. */
static FabCreditSum credits_of(const FabPort *port, FabClass cls, SimTime now)
{
    FabCreditSum credits = port->credits[cls];
    const FabCreditReturn *ret = NULL;

    while ((ret = fab_port_next_return(port, ret)) && ret->time <= now) {
        if (fab_credit_return_class(ret) == cls) {
            credits += fab_credit_return_sum(ret);
        }
    }
    return credits;
}

/* The kinds of credits that the first TLPs of the queues lack. */
static uint32_t lacking(const FabPort *port, SimTime now)
{
    uint32_t lacks = 0;

    for (uint64_t left = port->active; left; left &= left - 1) {
        const FabSource *source = &port->sources[__builtin_ctzll(left)];

        for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
            const FabTlp *tlp = source->queue[cls].head;
            FabCreditSum credits;

            if (!tlp || tlp->ready_at > now) {
                continue;
            }
            credits = credits_of(port, cls, now);
            if (fab_credit_sum_header(credits) < 1) {
                lacks |= 1u << cls;
            }
            if (fab_credit_sum_data(credits) < fab_tlp_data_credits(tlp)) {
                lacks |= 1u << FAB_CREDIT_DATA(cls);
            }
        }
    }
    return lacks;
}

/* True if a TLP with credits waits behind a posted TLP without. */
static bool is_ordered(const FabPort *port, uint32_t lacks, SimTime now)
{
    if (!fab_credits_lack_class(lacks, FAB_CLASS_P)) {
        return false;
    }
    for (uint64_t left = port->active; left; left &= left - 1) {
        const FabSource *source = &port->sources[__builtin_ctzll(left)];
        const FabTlp *posted = source->queue[FAB_CLASS_P].head;

        for (unsigned cls = FAB_CLASS_NP; cls < FAB_CLASSES; cls++) {
            const FabTlp *tlp = source->queue[cls].head;

            if (posted && tlp && posted->egress_order < tlp->egress_order &&
                tlp->ready_at <= now && !fab_credits_lack_class(lacks, cls)) {
                return true;
            }
        }
    }
    return false;
}

void fab_port_observe(const FabPort *port, FabLinkState *ret_state)
{
    SimTime now = sim_engine_now(port->owner->engine);
    uint32_t lacks = port->active ? lacking(port, now) : 0;

    *ret_state = (FabLinkState){
        .has_work = port->active,
        .is_sending = port->busy_until > now,
        .lacks = lacks,
        .is_ordered = is_ordered(port, lacks, now),
    };
}

FabPlaceKind fab_port_queue_place(const FabLinkState *link, FabClass cls)
{
    if (fab_credits_lack_class(link->lacks, cls)) {
        return FAB_PLACE_CREDITS;
    }
    if (fab_credits_lack_class(link->lacks, FAB_CLASS_P)) {
        return FAB_PLACE_ORDER;
    }
    /* A TLP that waits for nothing leaves now. */
    return link->is_sending ? FAB_PLACE_TURN : FAB_PLACE_SERIAL;
}

static void queue_waiters(const FabPort *port, const FabObserver *observer)
{
    FabLinkState link;

    fab_port_observe(port, &link);
    for (uint64_t left = port->active; left; left &= left - 1) {
        const FabSource *source = &port->sources[__builtin_ctzll(left)];

        for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
            for (const FabTlp *tlp = source->queue[cls].head; tlp;
                 tlp = tlp->next) {
                if (tlp->ready_at > observer->now) {
                    fab_observer_tlp(observer, tlp, FAB_PLACE_TRANSIT, NULL);
                } else {
                    fab_observer_tlp(observer, tlp,
                                     fab_port_queue_place(&link, cls), port);
                }
            }
        }
    }
}

/* A TLP in flight is first sent, then crosses the cable, and then crosses the
 * component at the far end, for the time of that component's latency. With
 * cut-through, the TLP counts as being sent while it arrives there. */
static void flight_waiters(const FabPort *port, const FabObserver *observer)
{
    const FabPort *peer = port->peer;
    FabObserver beyond = *observer;

    beyond.component = peer->owner;
    for (const FabTlp *tlp = port->flight.head; tlp; tlp = tlp->next) {
        SimTime out = tlp->arrive_at - peer->latency - peer->propagation;

        if (observer->now < out) {
            fab_observer_tlp(observer, tlp, FAB_PLACE_SERIAL, port);
        } else if (observer->now < out + peer->propagation) {
            fab_observer_tlp(observer, tlp, FAB_PLACE_WIRE, port);
        } else {
            fab_observer_tlp(&beyond, tlp, FAB_PLACE_TRANSIT, NULL);
        }
    }
}

void fab_port_waiters(const FabPort *port, const FabObserver *observer)
{
    queue_waiters(port, observer);
    flight_waiters(port, observer);
    fab_link_waiters(port, observer);
}

bool fab_port_is_degraded(const FabPort *port)
{
    const FabPortParams *a = &port->params, *b = &port->peer->params;

    return port->speed < MIN(a->max_speed, b->max_speed) ||
           port->width < MIN(a->max_width, b->max_width);
}

SimTime fab_port_skp_time(const FabPort *port)
{
    return port->skp.time;
}

SimTime fab_port_skp_interval(const FabPort *port)
{
    return port->skp.interval;
}
