/* SPDX-License-Identifier: MIT */
#include "fab_fixture.h"

#include "fab_fault.h"
#include "fab_replay_priv.h"

#include <stdlib.h>

#define LATE_RANK SIM_RANK_MAX

/* The receive buffer that a TLP occupies, and the credits that it holds. */
typedef struct Place {
    FabPort *port;
    FabClass cls;
    uint32_t data; /* data credits */
    SimTime until; /* end of sending, for a Place in Fixture.leaving */
} Place;

/* Credits in use in one receive buffer. */
typedef struct Room {
    uint32_t header[FAB_CLASSES], data[FAB_CLASSES];
} Room;

struct Fixture {
    SimEngine *engine;
    FabFabric *fabric;
    bool watching;
    GHashTable *places; /* Place by FabTlp */
    GHashTable *rooms;  /* Room by receiving FabPort */
    GArray *leaving;    /* of Place: buffers whose TLP is being sent onwards */
    GPtrArray *pending; /* events of fixture_at() */
};

typedef struct Later {
    SimEvent event;
    Fixture *fixture;
    FixtureFn fn;
    void *data;
} Later;

/* ---- The fabric ------------------------------------------------------ */

Fixture *fixture_new(void)
{
    Fixture *fixture = g_new0(Fixture, 1);

    fixture->engine = sim_engine_new();
    fixture->fabric = fab_fabric_new(fixture->engine, 1);
    fixture->places =
        g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    fixture->rooms =
        g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    fixture->leaving = g_array_new(FALSE, FALSE, sizeof(Place));
    fixture->pending = g_ptr_array_new_with_free_func(g_free);
    return fixture;
}

void fixture_free(Fixture *fixture)
{
    if (!fixture) {
        return;
    }
    fab_fabric_free(fixture->fabric);
    for (unsigned i = 0; i < fixture->pending->len; i++) {
        sim_event_cancel(&((Later *)fixture->pending->pdata[i])->event);
    }
    g_ptr_array_unref(fixture->pending);
    sim_engine_free(fixture->engine);
    g_hash_table_unref(fixture->places);
    g_hash_table_unref(fixture->rooms);
    g_array_unref(fixture->leaving);
    g_free(fixture);
}

FabFabric *fixture_fabric(Fixture *fixture)
{
    return fixture->fabric;
}

SimEngine *fixture_engine(Fixture *fixture)
{
    return fixture->engine;
}

SimTime fixture_now(Fixture *fixture)
{
    return sim_engine_now(fixture->engine);
}

void fixture_connect(Fixture *fixture, FabComponent *a, unsigned port_a,
                     FabComponent *b, unsigned port_b, FabSpeed speed,
                     uint32_t width, SimTime propagation)
{
    g_autoptr(GError) error = NULL;

    fab_fabric_connect(a, port_a, b, port_b, speed, width, propagation, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
}

void fixture_realize(Fixture *fixture)
{
    g_autoptr(GError) error = NULL;

    fab_fabric_realize(fixture->fabric, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
}

void fixture_run(Fixture *fixture)
{
    sim_engine_run(fixture->engine);
}

void fixture_run_until(Fixture *fixture, SimTime time)
{
    sim_engine_run_until(fixture->engine, time);
}

static void later_event(SimEvent *event)
{
    Later *later = SIM_CONTAINER_OF(event, Later, event);
    FixtureFn fn = later->fn;
    void *data = later->data;

    g_ptr_array_remove_fast(later->fixture->pending, later);
    fn(data);
}

void fixture_at(Fixture *fixture, SimTime time, FixtureFn fn, void *data)
{
    Later *later = g_new0(Later, 1);

    later->fixture = fixture;
    later->fn = fn;
    later->data = data;
    g_ptr_array_add(fixture->pending, later);
    sim_event_init(&later->event, fixture->engine, later_event,
                   SIM_PRIORITY_NORMAL, LATE_RANK);
    sim_event_schedule(&later->event, time);
}

static void assert_port_drained(const FabPort *port)
{
    const FabCredits *full = &port->peer->params.credits;

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        FabCreditSum credits =
            port->credits[cls] + port->peer->buffer.freed[cls];
        const FabCreditReturn *ret = NULL;
        FabCreditSum all = fab_credit_sum(full->header[cls], full->data[cls]);

        while ((ret = fab_port_next_return(port, ret))) {
            if (fab_credit_return_class(ret) == cls) {
                credits += fab_credit_return_sum(ret);
            }
        }
        if (G_UNLIKELY(credits != all)) {
            ck_abort_msg(
                "%s.%s: class %u has %u of %u header credits, and %u "
                "of %u data credits",
                port->owner->name, port->name, cls,
                fab_credit_sum_header(credits), fab_credit_sum_header(all),
                fab_credit_sum_data(credits), fab_credit_sum_data(all));
        }
    }
}

void fixture_assert_drained(Fixture *fixture)
{
    unsigned count;
    FabComponent *const *components =
        fab_fabric_components(fixture->fabric, &count);

    ck_assert_uint_eq(fab_fabric_tlps_alive(fixture->fabric), 0);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < components[i]->port_count; j++) {
            if (components[i]->ports[j]->peer) {
                assert_port_drained(components[i]->ports[j]);
            }
        }
    }
}

/* ---- Room in receive buffers ----------------------------------------- */

static void room_leave(Fixture *fixture, const Place *place)
{
    Room *room = g_hash_table_lookup(fixture->rooms, place->port);

    fixture_ensure(room->header[place->cls] >= 1);
    fixture_ensure(room->data[place->cls] >= place->data);
    room->header[place->cls]--;
    room->data[place->cls] -= place->data;
}

static void room_enter(Fixture *fixture, const Place *place)
{
    const FabCredits *full = &place->port->params.credits;
    Room *room = g_hash_table_lookup(fixture->rooms, place->port);

    if (!room) {
        room = g_new0(Room, 1);
        g_hash_table_insert(fixture->rooms, place->port, room);
    }
    room->header[place->cls]++;
    room->data[place->cls] += place->data;
    if (G_UNLIKELY(!(room->header[place->cls] <= full->header[place->cls]))) {
        ck_abort_msg("%s.%s holds %u headers of class %u",
                     place->port->owner->name, place->port->name,
                     room->header[place->cls], place->cls);
    }
    if (G_UNLIKELY(!(room->data[place->cls] <= full->data[place->cls]))) {
        ck_abort_msg("%s.%s holds %u data of class %u",
                     place->port->owner->name, place->port->name,
                     room->data[place->cls], place->cls);
    }
}

static void watch_trace(void *data, const FabTraceRecord *record)
{
    Fixture *fixture = data;
    const FabTlp *tlp = record->tlp;
    Place *place = g_hash_table_lookup(fixture->places, tlp);

    for (unsigned i = 0; i < fixture->leaving->len;) {
        Place *left = &g_array_index(fixture->leaving, Place, i);

        if (left->until <= record->start) {
            room_leave(fixture, left);
            g_array_remove_index_fast(fixture->leaving, i);
        } else {
            i++;
        }
    }
    if (place) {
        place->until = record->end;
        g_array_append_val(fixture->leaving, *place);
    } else {
        place = g_new0(Place, 1);
        g_hash_table_insert(fixture->places, (void *)tlp, place);
    }
    *place = (Place){record->port->peer, tlp->cls, fab_tlp_data_credits(tlp),
                     SIM_TIME_NONE};
    room_enter(fixture, place);
}

void fixture_watch_credits(Fixture *fixture)
{
    fixture->watching = true;
    fab_fabric_set_trace(fixture->fabric, FAB_TRACE_LINK, watch_trace, fixture);
}

static void watch_consumed(Fixture *fixture, const FabTlp *tlp)
{
    if (fixture->watching) {
        room_leave(fixture, g_hash_table_lookup(fixture->places, tlp));
        g_hash_table_remove(fixture->places, tlp);
    }
}

/* ---- Faults ---------------------------------------------------------- */

void fixture_set_outage(FabPort *port, SimTime begin, SimTime end)
{
    const FabFault fault = {
        .action = FAB_FAULT_LINK_DOWN,
        .at = begin,
        .duration = end == SIM_TIME_NONE ? 0 : end - begin,
    };

    fab_port_add_fault(port, &fault);
}

void fixture_set_errors(FabPort *port, double rate, SimTime begin, SimTime end)
{
    fab_replay_make(port);
    fab_replay_set_errors(port, rate, begin, end);
    fab_replay_set_errors(port->peer, rate, begin, end);
}

uint64_t fixture_lost(Fixture *fixture)
{
    const GPtrArray *components = fixture->fabric->components;
    uint64_t lost = fixture->fabric->dropped;

    for (unsigned i = 0; i < components->len; i++) {
        const FabComponent *component = components->pdata[i];

        for (unsigned j = 0; j < component->port_count; j++) {
            lost += component->ports[j]->counters.lost_tlps;
        }
    }
    return lost;
}

/* ---- Parameters ------------------------------------------------------ */

FabPortParams fixture_port(FabSpeed speed, uint32_t width)
{
    return fixture_port_credits(speed, width, FAB_CREDITS_INFINITE,
                                FAB_CREDITS_INFINITE);
}

FabPortParams fixture_port_credits(FabSpeed speed, uint32_t width,
                                   uint32_t header, uint32_t data)
{
    return (FabPortParams){
        .max_speed = speed,
        .max_width = width,
        .mps_bytes = 256,
        .credits = {{header, header, header}, {data, data, data}},
        .dllp = FAB_DLLP_FREE,
    };
}

FabRootParams fixture_root(void)
{
    return (FabRootParams){
        .forwarded_reads = 32,
        .rcb_bytes = 64,
        .completion_bytes = 256,
        .memory = {.size_bytes = GIB(16), .reads = 1024},
        .iommu = {.iotlb_entries = 64,
                  .walk = 280 * SIM_NS,
                  .walks = 6,
                  .page_bytes = KIB(4)},
        .mmio = {.low_base = 0x80000000,
                 .low_size = 0x70000000,
                 .high_base = GIB(1024),
                 .high_size = GIB(1024),
                 .above_4g_bytes = MIB(64)},
        .cpu = {.mmio_reads = 8},
    };
}

FabEndpointParams fixture_device(void)
{
    return (FabEndpointParams){
        .bars = {{.size_bytes = MIB(1)}},
        .write_bytes = 256,
        .read_bytes = 256,
        .reads = 768,
        .tags = 768,
    };
}

FabNtbParams fixture_ntb(void)
{
    return (FabNtbParams){
        .window_bytes = MIB(64),
        .entries = 64,
        .requesters = 32,
    };
}

/* ---- Ends ------------------------------------------------------------ */

static void end_let_go(void *data)
{
    FabTlp *tlp = data;
    Fixture *fixture = ((FixtureEnd *)tlp->ingress->owner)->fixture;

    watch_consumed(fixture, tlp);
    fab_port_consume(tlp, fixture_now(fixture));
}

static void end_receive(FabComponent *component, FabPort *ingress, FabTlp *tlp)
{
    FixtureEnd *end = (FixtureEnd *)component;
    SimTime now = fixture_now(end->fixture);
    SimTime hold = end->hold ? end->hold(end, tlp) : 0;

    fixture_ensure(tlp->ingress == ingress);
    fixture_ensure(tlp->tail_at == now);
    end->received[tlp->cls]++;
    end->received_bytes += tlp->payload_bytes;
    if (end->logs) {
        FixtureLog log = {now, *tlp};

        g_array_append_val(end->log, log);
    }
    if (end->got) {
        end->got(end, tlp);
    }
    if (!hold) {
        watch_consumed(end->fixture, tlp);
        fab_port_consume(tlp, now);
    } else {
        fixture_at(end->fixture, now + hold, end_let_go, tlp);
    }
}

static void end_fill(FixtureEnd *end)
{
    FabPort *port = end->component.ports[0];
    const FabSource *source = &port->sources[0];

    while (end->make && source->queue[FAB_CLASS_P].count +
                                source->queue[FAB_CLASS_NP].count +
                                source->queue[FAB_CLASS_CPL].count <
                            end->backlog) {
        FabTlp *tlp = end->make(end);

        if (!tlp) {
            end->make = NULL;
            return;
        }
        end->made++;
        fab_port_send(port, 0, tlp);
    }
}

static void end_drained(void *owner, FabPort *port, const FabTlp *tlp)
{
    end_fill(owner);
}

static bool end_realize(FabComponent *component, GError **error)
{
    FabPort *port = component->ports[0];

    fab_port_set_latency(port, FAB_FORWARDING_STORE, port->params.latency);
    fab_port_set_drained(port, 0, end_drained, component);
    return true;
}

static void end_free(FabComponent *component)
{
    FixtureEnd *end = (FixtureEnd *)component;

    g_array_unref(end->log);
    g_free(end);
}

static const FabComponentOps end_ops = {
    .receive = end_receive,
    .realize = end_realize,
    .free = end_free,
};

FixtureEnd *fixture_end_new(Fixture *fixture, const char *name,
                            const FabPortParams *port, uint64_t bar0,
                            uint64_t bar2)
{
    FixtureEnd *end = g_new0(FixtureEnd, 1);

    end->fixture = fixture;
    end->log = g_array_new(FALSE, FALSE, sizeof(FixtureLog));
    fab_component_init(&end->component, fixture->fabric, &end_ops,
                       FAB_KIND_ENDPOINT, name);
    end->component.bars[0] = (FabBar){.size_bytes = bar0};
    end->component.bars[2] = (FabBar){
        .size_bytes = bar2, .prefetchable = bar2 > 0, .is_64bit = bar2 > 0};
    fab_component_add_port(&end->component, "port", port);
    return end;
}

void fixture_end_start(FixtureEnd *end, unsigned backlog)
{
    end->backlog = backlog;
    end_fill(end);
}

FabTlp *fixture_tlp(FixtureEnd *end, FabTlpType type, FabBusAddr addr,
                    uint32_t bytes)
{
    FabTlp *tlp = fab_tlp_new(end->fixture->fabric, type);

    tlp->addr = addr;
    tlp->requester_id = end->component.bdf;
    tlp->completer_id = end->component.bdf;
    if (type != FAB_TLP_MRD && type != FAB_TLP_CPL) {
        tlp->payload_bytes = bytes;
    }
    if (type != FAB_TLP_MWR) {
        tlp->request_bytes = bytes;
    }
    return tlp;
}

void fixture_send(FixtureEnd *end, FabTlp *tlp)
{
    fab_port_send(end->component.ports[0], 0, tlp);
}

void fixture_reply(FixtureEnd *end, const FabTlp *request, FabStatus status,
                   uint32_t most)
{
    uint32_t left = request->request_bytes;
    FabBusAddr addr = request->addr;

    while (left > 0) {
        bool ok = status == FAB_STATUS_SC;
        uint32_t bytes = MIN(left, most - (uint32_t)(addr % most));
        FabTlp *cpl = fixture_tlp(end, ok ? FAB_TLP_CPLD : FAB_TLP_CPL, addr,
                                  ok ? bytes : 0);

        cpl->requester_id = request->requester_id;
        cpl->tag = request->tag;
        cpl->attr = request->attr;
        cpl->status = status;
        cpl->request_bytes = left;
        fixture_send(end, cpl);
        left = ok ? left - bytes : 0;
        addr += bytes;
    }
}

void fixture_send_read(FixtureEnd *end, FabBusAddr addr, uint32_t bytes,
                       uint16_t tag)
{
    FabTlp *tlp = fixture_tlp(end, FAB_TLP_MRD, addr, bytes);

    tlp->tag = tag;
    fixture_send(end, tlp);
}

void fixture_host_init(FixtureHost *host, Fixture *fixture,
                       const FabRootParams *params, const FabPortParams *port)
{
    FixtureEnd **ends[] = {&host->dev, &host->far, &host->third};
    static const char *const names[] = {"h.dev", "h.far", "h.third"};

    host->fixture = fixture;
    host->root = fab_root_new(fixture->fabric, "h", params);
    for (unsigned i = 0; i < 3; i++) {
        fab_root_add_port(host->root, names[i] + 2, port);
        *ends[i] = fixture_end_new(fixture, names[i], port, MIB(1), MIB(16));
        fixture_connect(fixture, fab_root_component(host->root), i,
                        &(*ends[i])->component, 0, 0, 0, 0);
        (*ends[i])->logs = true;
        (*ends[i])->user = host;
    }
    fixture_realize(fixture);
}

/* ---- Operations --------------------------------------------------------- */

void fixture_read_ended(void *owner, FabStatus status)
{
    FixtureTally *tally = owner;

    tally->count++;
    tally->failed += status != FAB_STATUS_SC;
    tally->status = status;
    tally->time = fixture_now(tally->fixture);
}

void fixture_dma_ended(FabDma *dma)
{
    fixture_read_ended(dma->owner, dma->status);
}
