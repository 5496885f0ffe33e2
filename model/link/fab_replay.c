/* SPDX-License-Identifier: MIT */
#include "fab_replay_priv.h"

#include "fab_account_priv.h"
#include "fab_fault.h"
#include "fab_link_priv.h"
#include "fab_waits_priv.h"
#include "sim_random.h"

/* No more packets may lack an Ack, so that 12-bit sequence numbers tell old
 * ones from new ones (s3.6.2.1). */
#define PACKETS_MOST 2048u

/* The replay timer, in Ack latency limits: the tables of s3.6.2.1 have three
 * times the values of those of s3.6.3.1. */
#define TIMER_LIMITS 3

/* REPLAY_NUM has two bits (s3.6.2.1). The replay after this number of replays
 * without progress retrains the link first. */
#define REPLAYS_MOST 3u

/* Time in Recovery. No source: it is an assumption. */
#define RETRAIN_TIME (10 * SIM_US)

/* A receiver repeats UpdateFCs at least so often (s2.6.1.2). */
#define REFRESH_TIME (30 * SIM_US)

/* Parts of a bit in which the distance to the next error is counted. */
#define BIT_PARTS 1024

/* A packet without an Ack. */
typedef struct Packet {
    FabTlp *tlp; /* NULL: the receiver has accepted it */
    uint32_t bytes;
    SimTime accepted_at;
} Packet;

/* An Ack or Nak on the way. */
typedef struct Dllp {
    SimTime time;
    uint64_t expected; /* sequence number that the receiver expects next */
    bool nak;
} Dllp;

typedef struct FabReplay {
    FabLinkPart part;
    /* Sender. Sequence numbers do not wrap around here. */
    Packet *packets; /* ring of PACKETS_MOST: [oldest, newest) */
    uint64_t oldest, newest;
    uint64_t next;    /* to be sent again; newest: none */
    uint64_t bytes;   /* in the replay buffer */
    unsigned replays; /* REPLAY_NUM */
    SimTime timer_limit;
    SimTime deadline; /* of the replay timer; SIM_TIME_NONE: it is stopped */
    SimEvent timer_event;
    SimTime blocked_until; /* the link is in Recovery */
    /* Receiver. */
    SimTime ack_limit;
    uint64_t expected;
    uint64_t acked; /* the last Ack told this number */
    bool nak_scheduled, ack_wanted;
    SimEvent nak_event, ack_event;
    /* On the way back to the sender. */
    GArray *dllps; /* of Dllp */
    SimEvent dllp_event;
    /* Credits of lost UpdateFCs, which the sender has sent. */
    FabCreditSum lost[FAB_CLASSES];
    SimEvent refresh_event;
    /* Errors on the wire from the port. */
    double rate;
    SimTime begin, end;
    SimRandom random;
    uint64_t error_in;  /* parts of bits until the next error */
    uint64_t next_flit; /* FLIT mode: the first one not yet looked at */
    bool is_flit_bad;   /* the one before it */
    uint64_t hit_tlps, hit_dllps; /* the next ones get an error */
} FabReplay;

static const FabLinkOps replay_ops;

static FabReplay *replay_of(const FabPort *port)
{
    return (FabReplay *)fab_link_find(port, &replay_ops);
}

static Packet *packet_at(const FabReplay *replay, uint64_t number)
{
    return &replay->packets[number % PACKETS_MOST];
}

/* ---- Errors ---------------------------------------------------------- */

static void error_draw(FabReplay *replay)
{
    double mean = BIT_PARTS / replay->rate;

    replay->error_in = sim_random_exponential(
        &replay->random, mean < (double)(SIM_TIME_NONE / 64)
                             ? (SimTime)mean
                             : SIM_TIME_NONE / 64);
}

/* Returns whether one of the next @parts gets an error. */
static bool is_hit_within(FabReplay *replay, uint64_t parts)
{
    if (replay->rate >= 1) {
        return true;
    }
    if (replay->error_in > parts) {
        replay->error_in -= parts;
        return false;
    }
    error_draw(replay);
    return true;
}

/* The bits on the wire of a byte: 10 with 8b/10b, 8.125 with 128b/130b; in
 * eighths. */
static uint32_t bit_eighths(const FabPort *port)
{
    return port->speed >= FAB_SPEED_8_0GT ? 65 : 80;
}

double fab_port_unharmed(const FabPort *port, double rate)
{
    const uint32_t header = 16;
    uint32_t bytes = header + fab_port_mps_bytes(port);
    double good = 1 - (port->in_flits ? fab_flit_bad_rate(rate) : rate);
    double unharmed = 1;
    uint32_t units =
        port->in_flits ? (bytes + FAB_FLIT_TLP_BYTES - 1) / FAB_FLIT_TLP_BYTES
                       : (bytes + FAB_TLP_FRAME_BYTES) * bit_eighths(port) / 8;

    while (units-- > 0) {
        unharmed *= good;
    }
    return unharmed;
}

static bool has_errors(const FabReplay *replay, SimTime time)
{
    return replay->rate > 0 && time >= replay->begin && time < replay->end;
}

/* Returns whether @bytes that @port sends at @time get a bit error. In FLIT
 * mode the rate is that of bad flits, and they are in one. */
static bool is_hit(FabPort *port, uint32_t bytes, SimTime time)
{
    FabReplay *replay = replay_of(port);
    uint64_t parts = port->in_flits
                         ? BIT_PARTS
                         : (uint64_t)bytes * BIT_PARTS * bit_eighths(port) / 8;

    return has_errors(replay, time) && is_hit_within(replay, parts);
}

/* Returns whether one of the flits is bad that carry a TLP from @start to @end.
 * The TLP before it may have been in the first of them. */
static bool is_flit_hit(FabPort *port, SimTime start, SimTime end)
{
    FabReplay *replay = replay_of(port);
    uint64_t first = fab_flits_number(port->flits, start + 1);
    uint64_t last = fab_flits_number(port->flits, end);
    bool is_bad = false;

    if (first >= replay->next_flit) {
        replay->next_flit = first;
        replay->is_flit_bad = false;
    }
    is_bad = replay->is_flit_bad;
    for (; replay->next_flit <= last; replay->next_flit++) {
        replay->is_flit_bad =
            has_errors(replay, start) && is_hit_within(replay, BIT_PARTS);
        is_bad |= replay->is_flit_bad;
    }
    return is_bad;
}

/* Returns whether the next packet is one of *@left that get an error. */
static bool is_chosen(uint64_t *left)
{
    return *left > 0 && (*left)-- > 0;
}

/* The same for a DLLP that @port sends at @time. */
static bool is_dllp_hit(FabPort *port, SimTime time)
{
    fab_link_sends_dllp(port);
    return is_chosen(&replay_of(port)->hit_dllps) ||
           is_hit(port, FAB_DLLP_BYTES, time);
}

/* ---- The way back: Ack and Nak ---------------------------------------- */

/* The receiver of @port's packets sends a DLLP. */
static void dllp_send(FabPort *port, bool nak, uint64_t expected)
{
    FabReplay *replay = replay_of(port);
    FabPort *back = port->peer;
    SimTime now = sim_engine_now(port->owner->engine);
    uint64_t wire = FAB_DLLP_BYTES * (uint64_t)back->byte_time;
    Dllp dllp = {.expected = expected, .nak = nak};

    dllp.time = back->in_flits ? now : MAX(now, back->busy_until);
    dllp.time = MAX(dllp.time, replay_of(back)->blocked_until);
    if (back->dllp != FAB_DLLP_FREE) {
        fab_port_add_dllp(back, dllp.time, now);
    }
    back->counters.naks_sent += nak;
    if (is_dllp_hit(back, dllp.time)) {
        return;
    }
    dllp.time = back->in_flits ? fab_port_flit_update(back, dllp.time)
                               : dllp.time + (SimTime)(wire / FAB_PS_FRACTION) +
                                     back->propagation;
    g_array_append_val(replay->dllps, dllp);
    if (replay->dllps->len == 1) {
        sim_event_schedule(&replay->dllp_event, dllp.time);
    }
}

static void nak_event(SimEvent *event)
{
    FabReplay *replay = SIM_CONTAINER_OF(event, FabReplay, nak_event);

    if (replay->nak_scheduled) {
        dllp_send(replay->part.port, true, replay->expected);
    }
}

/* The receiver finds at @time that a packet is bad, or that one is missing. */
static void nak_schedule(FabPort *port, SimTime time)
{
    FabReplay *replay = replay_of(port);

    if (!replay->nak_scheduled) {
        replay->nak_scheduled = true;
        sim_event_reschedule(&replay->nak_event, time);
    }
}

/* When the Ack for @packet is due. */
static SimTime ack_due(const FabReplay *replay, const Packet *packet)
{
    return packet->accepted_at + (replay->part.port->peer->dllp == FAB_DLLP_SPEC
                                      ? replay->ack_limit
                                      : 0);
}

static void ack_event(SimEvent *event)
{
    FabReplay *replay = SIM_CONTAINER_OF(event, FabReplay, ack_event);
    uint64_t in = replay->expected;

    /* Packets that are still on the wire are accepted in advance. */
    while (in > replay->oldest &&
           packet_at(replay, in - 1)->accepted_at > event->time) {
        in--;
    }
    if (in > replay->acked || replay->ack_wanted) {
        replay->ack_wanted = false;
        replay->acked = in;
        dllp_send(replay->part.port, false, in);
    }
    if (in < replay->expected) {
        SimTime due = ack_due(replay, packet_at(replay, in));

        sim_event_schedule(event, MAX(due, event->time + 1));
    }
}

/* ---- Sending again ---------------------------------------------------- */

static void retrain(FabPort *port, SimTime now)
{
    FabPort *const ends[] = {port, port->peer};

    port->counters.retrains++;
    for (unsigned i = 0; i < 2; i++) {
        replay_of(ends[i])->blocked_until = now + RETRAIN_TIME;
    }
}

static void replay_begin(FabPort *port, SimTime now)
{
    FabReplay *replay = replay_of(port);

    if (replay->oldest == replay->newest) {
        return;
    }
    if (replay->replays++ == REPLAYS_MOST) {
        replay->replays = 0;
        retrain(port, now);
    }
    replay->next = replay->oldest;
    replay->deadline = SIM_TIME_NONE;
    fab_port_wake_at(port, MAX(now, port->busy_until));
}

static void timer_set(FabReplay *replay, SimTime deadline)
{
    replay->deadline = deadline;
    if (!sim_event_is_pending(&replay->timer_event)) {
        sim_event_schedule(&replay->timer_event, deadline);
    }
}

static void timer_event(SimEvent *event)
{
    FabReplay *replay = SIM_CONTAINER_OF(event, FabReplay, timer_event);

    if (replay->deadline == SIM_TIME_NONE) {
        return;
    }
    if (replay->deadline > event->time) {
        sim_event_schedule(event, replay->deadline);
        return;
    }
    replay->part.port->counters.replay_timeouts++;
    replay_begin(replay->part.port, event->time);
}

/* The sender learns that all packets before @expected have come in. */
static void purge(FabPort *port, uint64_t expected, SimTime now)
{
    FabReplay *replay = replay_of(port);

    if (expected <= replay->oldest) {
        return;
    }
    for (; replay->oldest < expected; replay->oldest++) {
        replay->bytes -= packet_at(replay, replay->oldest)->bytes;
    }
    replay->next = MAX(replay->next, replay->oldest);
    replay->replays = 0;
    if (replay->oldest == replay->newest) {
        replay->deadline = SIM_TIME_NONE;
    } else if (replay->deadline != SIM_TIME_NONE) {
        timer_set(replay, now + replay->timer_limit);
    }
    if (port->active || replay->next < replay->newest) {
        fab_port_wake_at(port, MAX(now, port->busy_until));
    }
}

static void dllp_event(SimEvent *event)
{
    FabReplay *replay = SIM_CONTAINER_OF(event, FabReplay, dllp_event);
    Dllp dllp = g_array_index(replay->dllps, Dllp, 0);

    g_array_remove_index(replay->dllps, 0);
    if (replay->dllps->len > 0) {
        sim_event_schedule(event, g_array_index(replay->dllps, Dllp, 0).time);
    }
    purge(replay->part.port, dllp.expected, event->time);
    if (dllp.nak) {
        replay_begin(replay->part.port, event->time);
    }
}

/* Packet @number is on the wire from @start to @end. */
static void packet_sent(FabPort *port, uint64_t number, SimTime start,
                        SimTime end)
{
    FabReplay *replay = replay_of(port);
    Packet *packet = packet_at(replay, number);
    SimTime in = fab_port_received(port, end);

    if (replay->deadline == SIM_TIME_NONE) {
        timer_set(replay, end + replay->timer_limit);
    }
    if (is_chosen(&replay->hit_tlps) ||
        (port->in_flits ? is_flit_hit(port, start, end)
                        : is_hit(port, packet->bytes, start))) {
        port->peer->counters.bad_tlps++;
        nak_schedule(port, in);
    } else if (number > replay->expected) {
        nak_schedule(port, in);
    } else if (number < replay->expected) { /* a duplicate */
        replay->ack_wanted = true;
        if (!sim_event_is_pending(&replay->ack_event)) {
            sim_event_schedule(&replay->ack_event, in);
        }
    } else {
        replay->expected++;
        replay->nak_scheduled = false;
        packet->accepted_at = in;
        fab_port_deliver(port, packet->tlp, start, end);
        packet->tlp = NULL;
        if (!sim_event_is_pending(&replay->ack_event)) {
            sim_event_schedule(&replay->ack_event, ack_due(replay, packet));
        }
    }
}

static bool is_full(const FabPort *port)
{
    const FabReplay *replay = replay_of(port);

    return replay->newest - replay->oldest == PACKETS_MOST ||
           (port->params.replay_bytes &&
            replay->bytes >= port->params.replay_bytes);
}

static bool replay_is_pending(const FabLinkPart *part)
{
    const FabReplay *replay = (const FabReplay *)part;

    return replay->next < replay->newest;
}

static bool replay_takes_wire(FabLinkPart *part, SimTime now)
{
    FabReplay *replay = (FabReplay *)part;
    FabPort *port = replay->part.port;
    uint64_t number = replay->next;
    SimTime start;

    if (replay->blocked_until > now) {
        fab_port_wake_at(port, replay->blocked_until);
        return true;
    }
    if (number == replay->newest) {
        return is_full(port);
    }
    start = fab_port_occupy(port, now, packet_at(replay, number)->bytes);
    port->counters.replayed_tlps++;
    replay->next++;
    packet_sent(port, number, start, port->busy_until);
    if (port->active || replay_is_pending(part)) {
        fab_port_wake_at(port, port->busy_until);
    }
    return true;
}

static bool replay_carries(FabLinkPart *part, FabTlp *tlp, SimTime start,
                           SimTime end)
{
    FabReplay *replay = (FabReplay *)part;
    uint64_t number = replay->newest;

    *packet_at(replay, number) = (Packet){
        .tlp = tlp,
        .bytes = fab_port_tlp_bytes(replay->part.port, tlp),
    };
    replay->bytes += packet_at(replay, number)->bytes;
    replay->newest++;
    replay->next = replay->newest;
    packet_sent(replay->part.port, number, start, end);
    return true;
}

/* ---- Credits ---------------------------------------------------------- */

static bool replay_loses_update(FabLinkPart *part, FabClass cls,
                                FabCreditSum *credits, SimTime time)
{
    FabReplay *replay = (FabReplay *)part;

    *credits += replay->lost[cls];
    replay->lost[cls] = 0;
    if (!is_dllp_hit(replay->part.port, time)) {
        return false;
    }
    replay->lost[cls] = *credits;
    if (!sim_event_is_pending(&replay->refresh_event)) {
        sim_event_schedule(&replay->refresh_event, time + REFRESH_TIME);
    }
    return true;
}

static void refresh_event(SimEvent *event)
{
    FabReplay *replay = SIM_CONTAINER_OF(event, FabReplay, refresh_event);

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        if (replay->lost[cls]) {
            fab_port_update_fc(replay->part.port, cls, event->time);
        }
    }
}

/* ---- For observers ---------------------------------------------------- */

static void replay_waits(const FabLinkPart *part, FabWaits *waits)
{
    const FabReplay *replay = (const FabReplay *)part;

    for (uint64_t i = replay->oldest; i < replay->newest; i++) {
        if (packet_at(replay, i)->tlp) {
            fab_waits_moves(waits, packet_at(replay, i)->tlp);
        }
    }
}

static void replay_waiters(const FabLinkPart *part, const FabObserver *observer)
{
    const FabReplay *replay = (const FabReplay *)part;

    for (uint64_t i = replay->oldest; i < replay->newest; i++) {
        if (packet_at(replay, i)->tlp) {
            fab_observer_tlp(observer, packet_at(replay, i)->tlp,
                             FAB_PLACE_SERIAL, replay->part.port);
        }
    }
}

/* ---- Life ------------------------------------------------------------ */

static void limits_set(FabReplay *replay, SimTime ack_limit)
{
    replay->ack_limit = ack_limit;
    /* The tables hold for a link of no length. */
    replay->timer_limit =
        TIMER_LIMITS * ack_limit + 2 * replay->part.port->propagation;
}

static FabReplay *replay_new(FabPort *port, SimTime ack_limit)
{
    SimEngine *engine = port->owner->engine;
    FabReplay *replay = g_new0(FabReplay, 1);
    g_autofree char *name =
        g_strdup_printf("%s.%s errors", port->owner->name, port->name);

    replay->part.port = port;
    replay->packets = g_new0(Packet, PACKETS_MOST);
    replay->dllps = g_array_new(FALSE, FALSE, sizeof(Dllp));
    limits_set(replay, ack_limit);
    replay->deadline = SIM_TIME_NONE;
    sim_random_init(&replay->random, port->owner->fabric->seed, name);
    sim_event_init(&replay->timer_event, engine, timer_event,
                   SIM_PRIORITY_NORMAL, port->rank);
    sim_event_init(&replay->nak_event, engine, nak_event, SIM_PRIORITY_NORMAL,
                   port->rank);
    sim_event_init(&replay->ack_event, engine, ack_event, SIM_PRIORITY_NORMAL,
                   port->rank);
    sim_event_init(&replay->dllp_event, engine, dllp_event, SIM_PRIORITY_NORMAL,
                   port->rank);
    sim_event_init(&replay->refresh_event, engine, refresh_event,
                   SIM_PRIORITY_NORMAL, port->rank);
    return replay;
}

static void replay_forget(FabLinkPart *part)
{
    FabReplay *replay = (FabReplay *)part;

    for (uint64_t i = replay->oldest; i < replay->newest; i++) {
        if (packet_at(replay, i)->tlp) {
            fab_link_lose(replay->part.port, packet_at(replay, i)->tlp);
        }
    }
    sim_event_cancel(&replay->timer_event);
    sim_event_cancel(&replay->nak_event);
    sim_event_cancel(&replay->ack_event);
    sim_event_cancel(&replay->dllp_event);
    sim_event_cancel(&replay->refresh_event);
    g_array_set_size(replay->dllps, 0);
    replay->oldest = replay->newest;
    replay->next = replay->newest;
    replay->expected = replay->newest;
    replay->acked = replay->newest;
    replay->bytes = 0;
    replay->replays = 0;
    replay->deadline = SIM_TIME_NONE;
    replay->blocked_until = 0;
    replay->nak_scheduled = false;
    replay->ack_wanted = false;
    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        replay->lost[cls] = 0;
    }
}

static void replay_free(FabLinkPart *part)
{
    FabReplay *replay = (FabReplay *)part;

    replay_forget(part);
    fab_link_remove(part);
    g_array_unref(replay->dllps);
    g_free(replay->packets);
    g_free(replay);
}

static void replay_pause(FabLinkPart *part, SimTime end)
{
    FabReplay *replay = (FabReplay *)part;

    replay->blocked_until = MAX(replay->blocked_until, end);
    replay->next_flit = 0;
    limits_set(replay, replay->part.port->buffer.dllp_limit);
    if (replay->deadline != SIM_TIME_NONE) {
        replay->deadline = end + replay->timer_limit;
    }
}

static const FabLinkOps replay_ops = {
    .takes_wire = replay_takes_wire,
    .is_pending = replay_is_pending,
    .carries = replay_carries,
    .loses_update = replay_loses_update,
    .forget = replay_forget,
    .pause = replay_pause,
    .waits = replay_waits,
    .waiters = replay_waiters,
    .free = replay_free,
};

void fab_replay_make(FabPort *port)
{
    FabPort *const ends[] = {port, port->peer};

    for (unsigned i = 0; i < 2; i++) {
        if (!replay_of(ends[i])) {
            FabReplay *replay = replay_new(ends[i], ends[i]->buffer.dllp_limit);

            fab_link_add(ends[i], &replay->part, &replay_ops, true);
        }
    }
}

void fab_replay_set_errors(FabPort *port, double rate, SimTime begin,
                           SimTime end)
{
    FabReplay *replay = replay_of(port);

    replay->rate = port->in_flits ? fab_flit_bad_rate(rate) : rate;
    replay->begin = begin;
    replay->end = end;
    if (replay->rate > 0 && replay->rate < 1) {
        error_draw(replay);
    }
}

void fab_replay_destroy(FabPort *port, bool dllps, uint64_t count)
{
    FabReplay *replay = replay_of(port);

    *(dllps ? &replay->hit_dllps : &replay->hit_tlps) += count;
}
