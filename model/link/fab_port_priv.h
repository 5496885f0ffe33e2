/* SPDX-License-Identifier: MIT */
#ifndef FAB_PORT_PRIV_H
#define FAB_PORT_PRIV_H

#include "fab_arena_priv.h"
#include "fab_component_priv.h"
#include "fab_credit_sum_priv.h"
#include "fab_fifo_priv.h"
#include "fab_flit_priv.h"
#include "sim_engine.h"

/*
 * A port is one end of a link. It has an egress that arbitrates, holds credits
 * and puts TLPs on the wire, and a receive buffer that returns credits. A link
 * is two connected ports.
 *
 * The number of events determines the run time of a simulation. A TLP that
 * meets no other TLP costs one event for each hop, its arrival. A link is a
 * FIFO, so it has at most one pending arrival event for all TLPs in flight.
 * Credits travel back as records that the sender reads when it wants to send;
 * only a sender that lacks credits gets an event for them.
 */

/* Called when @tlp of a source has begun to leave, so the owner may queue
 * another one. The function must not change @tlp, which is on the wire. */
typedef void (*FabDrainedFn)(void *owner, FabPort *port, const FabTlp *tlp);

/*
 * A source of TLPs at an egress, with a queue for each class. Ordering rules
 * hold between the TLPs of one source; the egress arbitrates between sources. A
 * switch has a source for each ingress port. A source needs no limit, because
 * its TLPs keep their places in the receive buffers they came through.
 */
typedef struct FabSource {
    _Alignas(FAB_CACHE_LINE) FabFifo queue[FAB_CLASSES];
    uint32_t relaxed;     /* number of its TLPs with RO or IDO */
    uint32_t held;        /* bit mask of the classes of its TLPs */
    uint32_t weight;      /* share under weighted arbitration */
    uint64_t served;      /* bytes sent / weight, under weighted arbitration */
    FabDrainedFn drained; /* nullable */
    void *owner;
    FabPort *last_ingress; /* of the last TLP that was queued; only for
                              prefetching; NULL: it came from no link */
} FabSource;

#define FAB_SOURCES_MAX 64

/*
 * The receive buffer of a port: its credits, by class, and what the receiver
 * owes the sender. The credits of `granted` are with the sender, or on their
 * way to it, and no TLP which has come in took them.
 */
typedef struct FabBuffer {
    FabCreditSum granted[FAB_CLASSES]; /* only with counts_received */
    FabCreditSum freed[FAB_CLASSES];   /* no UpdateFC is sent for them yet */
    uint32_t freed_bytes[FAB_CLASSES]; /* wire size of the freed TLPs */
    uint8_t epoch; /* number of times that the link has gone down; TLPs with
                      another one hold no credits of the link */
    uint8_t infinite[FAB_CLASSES]; /* `infinite` of the peer */

    /* When the UpdateFC for the freed TLPs is due, and when the last of them
     * left the buffer. */
    _Alignas(FAB_CACHE_LINE) SimTime update_due[FAB_CLASSES];
    SimTime freed_at[FAB_CLASSES];
    SimTime ack_due;     /* when the last Ack is made; it is for all TLPs that
                            have come in by then, under FAB_DLLP_SPEC */
    uint32_t dllp_limit; /* time until a TLP must be acknowledged, or a freed
                            credit returned, under FAB_DLLP_SPEC */
    bool ack_waits;      /* that Ack is not on the wire yet */
} FabBuffer;

/* SKP ordered sets. */
typedef struct FabSkp {
    SimTime next;      /* when it is due; always 0 in FLIT mode */
    uint32_t interval; /* 0: there are none */
    uint32_t time;     /* of one, on the wire */
} FabSkp;

/*
 * The DLLPs that wait for the wire, in two groups, and those that have been
 * made; see fab_dllp.c. The numbers are of counters.dllps_sent, modulo 2^32:
 * after those that were sent come those that have been made, then the first
 * group, and the second has the rest.
 */
typedef struct FabDllps {
    SimTime due;         /* none goes before; SIM_TIME_NONE: there are none. If
                            some were made: when the last of them was */
    SimTime last;        /* when the last of the first group is made;
                            SIM_TIME_NONE: it is empty */
    SimTime later_last;  /* the same of the second; 0: it is empty */
    uint32_t sent;       /* the last that was sent */
    uint32_t made;       /* the last that has been made */
    uint32_t first;      /* the last of the first group */
    uint32_t time_carry; /* rounding rest of what was on the wire last, as
                            byte_time */
} FabDllps;

/* The used part of the ring of credits on their way back; offsets in bytes. */
typedef struct FabReturns {
    uint32_t mask, head, tail;
} FabReturns;

/* fab_arbiter.c: what weighted arbitration and a table remember. */
typedef struct FabTurns {
    uint64_t shared; /* active sources at the last weighted arbitration */
    uint64_t served; /* FabSource.served of the source it chose */
    struct FabPortTable *table;   /* owned; NULL: there is none */
    struct FabPortGroups *groups; /* owned; NULL: there are none */
} FabTurns;

/* Something that the link does beyond the wire; see fab_link_priv.h. */
typedef struct FabLinkPart FabLinkPart;

/*
 * Among thousands of hosts, the state of a port has left the processor's caches
 * when it is used again, so what a hop touches is in few cache lines: two that
 * a receiver writes, one that nothing writes during a run, and five that a
 * sender writes.
 */
struct FabPort {
    _Alignas(FAB_CACHE_LINE) FabBuffer buffer;

    /* These do not change while the link stays as it is. */
    _Alignas(FAB_CACHE_LINE) FabComponent *owner;
    FabPort *peer;
    FabSource *sources;
    SimTime propagation;  /* of the link */
    SimTime latency;      /* time until the owner acts on a received TLP */
    FabPort *last_egress; /* to which the last TLP in its buffer went on; only
                             for prefetching; NULL: none did */
    uint32_t byte_time;   /* of the whole link, in 1/FAB_PS_FRACTION ps */
    uint16_t dllp_time;   /* of a DLLP on the wire; at most 32 ns */
    uint16_t mps_bytes;   /* Max_Payload_Size */
    uint16_t index;       /* in its owner */
    uint8_t infinite[FAB_CLASSES]; /* FAB_INFINITE_ bits of its credits */
    uint8_t dllp;                  /* of params: FabDllpPolicy */
    uint8_t arbitration;           /* of params: FabArbitration */
    bool collects : 1;             /* params.collect_bytes is set */
    bool cuts_through : 1; /* latency runs from the first byte, not the last */
    bool has_service : 1;  /* params.service limits it */
    bool special : 1;      /* a part of the link is special */
    bool is_down : 1;      /* the link is down */
    bool traced : 1;       /* the fabric traces TLPs on links */
    bool in_flits : 1;     /* FLIT mode: `flits` is set */
    bool counts_received : 1; /* `buffer.granted` is kept */

    /* Send side. The wire is taken until busy_until. */
    _Alignas(FAB_CACHE_LINE) SimTime busy_until;
    uint64_t active; /* bit mask of the sources that hold a TLP */
    uint64_t order;  /* egress_order of the next TLP to be queued */
    FabDllps dllps;

    /* Credits received and not used. */
    _Alignas(FAB_CACHE_LINE) FabCreditSum credits[FAB_CLASSES];
    FabReturns returns;
    uint8_t source_count; /* at most 64, the bits of `active` */
    uint8_t round_robin;  /* first source of the next arbitration */
    bool waiting;         /* a TLP waits for credits */
    bool starved;         /* a TLP lacked credits at the last arbitration */
    FabFifo flight;       /* on the wire to the peer */

    _Alignas(FAB_CACHE_LINE) SimEvent send_event;
    FabSkp skp;
    _Alignas(FAB_CACHE_LINE) SimEvent arrive_event;
    SimTime wake; /* earliest time at which a TLP may leave, of the last
                     arbitration that found none to send */
    /* Ring, in order of time. The entry behind the last one has a time of
     * SIM_TIME_NONE, and the one before the first has a time that is past, so
     * that no search has to look for an end. */
    FabCreditReturn *ring;

    _Alignas(FAB_CACHE_LINE) FabPortCounters counters;
    FabTurns turns;
    FabLinkPart *parts; /* owned; NULL: a plain link */
    FabFlits *flits;    /* of the arena; NULL: not in FLIT mode */

    SimTime waiting_since; /* begin of the wait for credits */

    /* Set up. */
    FabPortParams params;
    uint32_t service_bytes; /* params.service.beat_bytes as the part has it */
    uint64_t beat_inverse;  /* of params.service.beat_bytes */
    FabSpeed speed;
    uint32_t width;
    uint32_t rank;
    char *name;
    FabBridge bridge; /* without a secondary bus: it has none */
    FabPortRole role;
    FabPort *up; /* port of its owner through which its messages go up; NULL:
                    they go no further */
};

#define FAB_PORT_RANKS 2

/* An Ack, Nak or UpdateFC on the wire, framing included (s3.5). */
#define FAB_DLLP_BYTES 8

/* Framing, sequence number and LCRC of a TLP (PCIe 5.0 s3.6, s4.2). */
#define FAB_TLP_FRAME_BYTES 8

/* Fractions of a ps in which every byte time of generations 1 to 6 at every
 * width is a whole number (253.90625 ps / 32 lanes; x12 needs the factor 3). */
#define FAB_PS_FRACTION (3 * 1024)

FabPort *fab_port_new(FabComponent *owner, const char *name, unsigned index,
                      const FabPortParams *params);
void fab_port_free(FabPort *port);

/* Connects two free ports at @speed and @width; 0 stands for the best that both
 * can do. Fails if a port is taken or lacks the speed or width. */
bool fab_port_connect(FabPort *a, FabPort *b, FabSpeed speed, uint32_t width,
                      SimTime propagation, GError **error);

/* Sets the MPS, credits and events of @port. To be called after enumeration. */
void fab_port_realize(FabPort *port, uint32_t mps_bytes);

/* True if @port is the upper end of its link, or a cable port, where no end is
 * the upper one. The component at the other end is reset when the link goes
 * down. */
static inline bool fab_port_is_downstream(const FabPort *port)
{
    return port->role >= FAB_PORT_DOWNSTREAM;
}

/* Makes the events of @port ready to be scheduled. */
void fab_port_init_events(FabPort *port);
/* fab_port_fetch.c: the prefetch functions of its events. */
void fab_port_send_fetch(const SimEvent *event, unsigned step);
void fab_port_arrive_fetch(const SimEvent *event, unsigned step);

/* Lets the parts of @ingress look at all TLPs that come in there. */
void fab_port_check_arrivals(FabPort *ingress);

/* Sets `infinite` of @port for @cls, FAB_INFINITE_ bits. */
static inline void fab_port_set_infinite(FabPort *port, FabClass cls,
                                         uint8_t bits)
{
    port->infinite[cls] = bits;
    port->peer->buffer.infinite[cls] = bits;
}

/* The link of @port goes to Recovery for @recovery, when the TLPs on the wire
 * have left, and comes back with @speed and @width. TLPs and credits wait. */
void fab_port_retrain(FabPort *port, FabSpeed speed, uint32_t width,
                      SimTime recovery);

/* The entry of the ring of credits at an offset. */
static inline FabCreditReturn *fab_port_return(const FabPort *port,
                                               uint32_t offset)
{
    return (FabCreditReturn *)(void *)((char *)port->ring +
                                       (offset & port->returns.mask));
}

#define FAB_RETURN_BYTES ((uint32_t)sizeof(FabCreditReturn))

/* The next of the credits on their way back to @port; @ret is NULL at first.
 * Returns NULL after the last. */
const FabCreditReturn *fab_port_next_return(const FabPort *port,
                                            const FabCreditReturn *ret);

/* Takes the initial credits of the peer's receive buffer: the link is up. */
void fab_port_init_fc(FabPort *port);
/* Forgets the credits on their way back to @port, which has a ring for them. */
void fab_port_forget_returns(FabPort *port);

/* fab_dllp.c. Puts the DLLPs that were made by @now on the wire, and the SKP
 * ordered set that is due: busy_until becomes their end. */
void fab_port_send_due(FabPort *port, SimTime now);
/* Forgets those that wait. */
void fab_port_forget_dllps(FabPort *port);

/* @port makes an Ack, Nak or UpdateFC at @time, @now or later. It takes the
 * wire then, behind what is on it. */
static inline void fab_port_add_dllp(FabPort *port, SimTime time, SimTime now)
{
    FabDllps *dllps = &port->dllps;
    uint32_t before = (uint32_t)port->counters.dllps_sent++;

    if (dllps->last <= now) { /* the first group is over */
        dllps->due = dllps->last;
        dllps->made = dllps->first;
        if (G_LIKELY(!dllps->later_last)) {
            dllps->first = before + 1;
            dllps->last = time;
            return;
        }
        dllps->first = before;
        dllps->last = dllps->later_last;
        dllps->later_last = 0;
    }
    if (time > dllps->last) {
        dllps->later_last = MAX(dllps->later_last, time);
        return;
    }
    dllps->first++;
    if (dllps->last == SIM_TIME_NONE) {
        dllps->last = time;
        dllps->due = MIN(dllps->due, time);
    }
}

/* The same for an Ack at the Ack latency limit, which is so late that others
 * must not wait for it. */
void fab_port_add_late_ack(FabPort *port, SimTime time, SimTime now);

/* In FLIT mode: when credits that leave @port at @time or later are at its
 * peer. Each flit has room for them (PCIe 6.0 s4.2.3, DLP bytes). */
SimTime fab_port_flit_update(const FabPort *port, SimTime time);

/* fab_rate.c: gives the link of @port, which is one of its ends, @speed and
 * @width from @now on. */
void fab_port_set_rate(FabPort *port, FabSpeed speed, uint32_t width,
                       SimTime now);
/* The Ack latency limit of @port, a little shorter than the specification's. */
SimTime fab_port_ack_limit(const FabPort *port);

/* For fab_replay.c. Takes the wire for @bytes from @now on, behind DLLPs that
 * are due; busy_until becomes the end. Returns when they start. */
SimTime fab_port_occupy(FabPort *port, SimTime now, uint32_t bytes);
/* When the peer of @port has a TLP, checked, that leaves until @end. */
SimTime fab_port_received(const FabPort *port, SimTime end);
/* Lets @tlp arrive, whose bytes are on the wire from @start to @end. */
void fab_port_deliver(FabPort *port, FabTlp *tlp, SimTime start, SimTime end);
/* Tries to send at @time. */
static inline void fab_port_wake_at(FabPort *port, SimTime time)
{
    if (!sim_event_is_pending(&port->send_event)) {
        sim_event_schedule(&port->send_event, time);
    } else if (port->send_event.time > time) {
        sim_event_reschedule(&port->send_event, time);
    }
}
/* Sends an UpdateFC for the freed credits of @cls in the buffer of @ingress. */
void fab_port_update_fc(FabPort *ingress, FabClass cls, SimTime time);

/* Sets the role of @port, which is FAB_PORT_ENDPOINT at first. Its messages go
 * up through @up, another port of its owner (nullable). */
void fab_port_set_role(FabPort *port, FabPortRole role, FabPort *up);

/* Sets the number of sources of the egress; before anything is queued. */
void fab_port_set_sources(FabPort *port, unsigned count);

/* Sets the time until the owner acts on a TLP that comes in at @port: @latency
 * after the first byte for cut-through forwarding, otherwise after the last
 * byte. The owner's realize calls it. The default is 0 after the last byte. */
void fab_port_set_latency(FabPort *port, FabForwarding forwarding,
                          SimTime latency);

/* Sets the weight of @source to the rate of the link at @from, for weighted
 * arbitration. */
void fab_port_set_weight(FabPort *port, unsigned source, const FabPort *from);

/*
 * Makes the Port Arbitration Table of @port, with params.phases phases. @shares
 * has a number for each source: its phases are in proportion to that, at least
 * one, and spread over the table. A source with 0 is not in the table; its TLPs
 * are the component's own and go first. There must be as many phases as sources
 * in the table.
 */
void fab_port_set_table(FabPort *port, const uint32_t *shares);
void fab_port_free_table(FabPort *port);

/* Groups of sources: two of their own, and those from FAB_GROUP_FAR on, which
 * together have the turns of one. */
enum {
    FAB_GROUP_OWN,
    FAB_GROUP_NEAR,
    FAB_GROUP_FAR,
    FAB_GROUPS = 18
};
/* Lets @port serve groups in turn, the sources of a group in turn as well.
 * @group has that of each source. */
void fab_port_set_groups(FabPort *port, const uint8_t *group);

/* Sets the function that is called with @owner when a TLP of @source leaves. */
void fab_port_set_drained(FabPort *port, unsigned source, FabDrainedFn drained,
                          void *owner);

/* Queues @tlp behind the others of @source, and sends if it can. Takes
 * ownership. Respects tlp->ready_at and tlp->tail_at. */
void fab_port_send(FabPort *port, unsigned source, FabTlp *tlp);
/* The same for a TLP that fab_tlp_measure() has seen as it is. A TLP that came
 * in, and was not changed, is one. */
void fab_port_forward(FabPort *port, unsigned source, FabTlp *tlp);

/* Number of TLPs of a class that wait in a source. */
static inline uint32_t fab_port_queued(const FabPort *port, unsigned source,
                                       FabClass cls)
{
    return port->sources[source].queue[cls].count;
}

/* Ends the life of @tlp: frees its place in the receive buffer of tlp->ingress
 * at @time, and gives the TLP back to the pool. Its payload is accounted for.
 */
void fab_port_discard(FabTlp *tlp, SimTime time);
/* The same for a TLP whose payload has arrived where it is used. */
void fab_port_consume(FabTlp *tlp, SimTime time);

static inline uint64_t fab_port_wire_time(const FabPort *port, uint32_t bytes)
{
    return bytes * (uint64_t)port->byte_time;
}

/* Bytes of @tlp on the wire to or from @port. */
static inline uint32_t fab_port_tlp_bytes(const FabPort *port,
                                          const FabTlp *tlp)
{
    return G_UNLIKELY(port->in_flits) ? fab_flit_tlp_bytes(tlp)
                                      : tlp->wire_bytes;
}

/* Time of these bytes, without what else is on the wire in FLIT mode. */
static inline SimTime fab_port_tlp_wire_time(const FabPort *port,
                                             const FabTlp *tlp)
{
    return fab_port_wire_time(port, fab_port_tlp_bytes(port, tlp)) /
           FAB_PS_FRACTION;
}

/*
 * Beats are counted on every second hop or so, and a division takes several
 * times as long as a multiplication. The inverse of d bytes is
 * m = floor(2^40 / d) + 1, so m d = 2^40 + e with 0 < e <= d, and
 *
 *   n m / 2^40 = n / d + n e / (d 2^40)
 *
 * n / d is at least 1 / d below the next whole number. So the whole part is
 * that of n / d if n e < 2^40. TLPs have less than 2^16 bytes, and beats at
 * most 2^17 (4096 B on a link that is 32 times as wide), so n < 2^18, and
 * n e < 2^35. n m < 2^59 fits.
 */
#define FAB_BEAT_SHIFT 40

static inline uint64_t fab_beat_inverse(uint32_t beat_bytes)
{
    return (UINT64_C(1) << FAB_BEAT_SHIFT) / beat_bytes + 1;
}

/* Beats of @beat_bytes, whose inverse is @inverse, for @bytes. */
static inline uint32_t fab_beats(uint32_t bytes, uint32_t beat_bytes,
                                 uint64_t inverse)
{
    return (uint32_t)((bytes + beat_bytes - 1) * inverse >> FAB_BEAT_SHIFT);
}

/* Time that params.service takes for @tlp. */
static inline SimTime fab_port_service_time(const FabPort *port,
                                            const FabTlp *tlp)
{
    const FabService *service = &port->params.service;
    uint32_t beats = fab_beats(tlp->wire_bytes - FAB_TLP_FRAME_BYTES,
                               service->beat_bytes, port->beat_inverse);

    return (beats + service->gap_beats) * service->beat_ps;
}

/* Time that @tlp takes to leave through @port. */
static inline SimTime fab_port_tlp_time(const FabPort *port, const FabTlp *tlp)
{
    SimTime time = fab_port_tlp_wire_time(port, tlp);

    return port->has_service ? MAX(time, fab_port_service_time(port, tlp))
                             : time;
}

static inline bool fab_port_has_credits(const FabPort *port, const FabTlp *tlp)
{
    return fab_credit_sum_suffices(port->credits[tlp->cls], tlp->data_credits);
}

/* Notes the room that @tlp needs on a link. */
static inline void fab_tlp_measure(FabTlp *tlp)
{
    tlp->wire_bytes = FAB_TLP_FRAME_BYTES + fab_tlp_bytes(tlp);
    tlp->data_credits = fab_tlp_data_credits(tlp);
}

/* Gives the request @tlp, which has been measured, the address @addr in a page
 * of any size: the header may become longer or shorter. */
static inline void fab_tlp_readdress(FabTlp *tlp, FabBusAddr addr)
{
    tlp->wire_bytes += 4 * ((addr >> 32 != 0) - (tlp->addr >> 32 != 0));
    tlp->addr = addr;
}

#endif
