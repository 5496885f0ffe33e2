/* SPDX-License-Identifier: MIT */
#include "fab_fixture.h"
#include "../suite.h"

#include <stdlib.h>

#define LATE_RANK SIM_RANK_MAX

/* What a TLP occupies, and where. */
typedef struct Place {
    FabPort *port;
    FabClass cls;
    uint32_t data;
    SimTime until; /* of a leaving one */
} Place;

typedef struct Room {
    uint32_t header[FAB_CLASSES], data[FAB_CLASSES];
} Room;

struct Fix {
    SimEngine *engine;
    FabFabric *fabric;
    bool watching;
    GHashTable *places; /* Place by FabTlp */
    GHashTable *rooms;  /* Room by receiving FabPort */
    GArray *leaving;    /* of Place */
    GPtrArray *pending; /* events of fix_at() */
};

typedef struct Later {
    SimEvent event;
    Fix *fix;
    FixFn fn;
    void *data;
} Later;

/* ---- The fabric ------------------------------------------------------ */

Fix *fix_new(void)
{
    Fix *fix = g_new0(Fix, 1);

    fix->engine = sim_engine_new();
    fix->fabric = fab_fabric_new(fix->engine, 1);
    fix->places =
        g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    fix->rooms =
        g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    fix->leaving = g_array_new(FALSE, FALSE, sizeof(Place));
    fix->pending = g_ptr_array_new_with_free_func(g_free);
    return fix;
}

void fix_free(Fix *fix)
{
    if (!fix) {
        return;
    }
    fab_fabric_free(fix->fabric);
    for (unsigned i = 0; i < fix->pending->len; i++) {
        sim_event_cancel(&((Later *)fix->pending->pdata[i])->event);
    }
    g_ptr_array_unref(fix->pending);
    sim_engine_free(fix->engine);
    g_hash_table_unref(fix->places);
    g_hash_table_unref(fix->rooms);
    g_array_unref(fix->leaving);
    g_free(fix);
}

FabFabric *fix_fabric(Fix *fix)
{
    return fix->fabric;
}

SimEngine *fix_engine(Fix *fix)
{
    return fix->engine;
}

SimTime fix_now(Fix *fix)
{
    return sim_engine_now(fix->engine);
}

void fix_connect(Fix *fix, FabComponent *a, unsigned port_a, FabComponent *b,
                 unsigned port_b, FabSpeed speed, uint32_t width,
                 SimTime propagation)
{
    g_autoptr(GError) error = NULL;

    fab_fabric_connect(a, port_a, b, port_b, speed, width, propagation, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
}

void fix_realize(Fix *fix)
{
    g_autoptr(GError) error = NULL;

    fab_fabric_realize(fix->fabric, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
}

void fix_run(Fix *fix)
{
    sim_engine_run(fix->engine);
}

void fix_run_until(Fix *fix, SimTime time)
{
    sim_engine_run_until(fix->engine, time);
}

static void later_event(SimEvent *event)
{
    Later *later = SIM_CONTAINER_OF(event, Later, event);
    FixFn fn = later->fn;
    void *data = later->data;

    g_ptr_array_remove_fast(later->fix->pending, later);
    fn(data);
}

void fix_at(Fix *fix, SimTime time, FixFn fn, void *data)
{
    Later *later = g_new0(Later, 1);

    later->fix = fix;
    later->fn = fn;
    later->data = data;
    g_ptr_array_add(fix->pending, later);
    sim_event_init(&later->event, fix->engine, later_event, SIM_PRIORITY_NORMAL,
                   LATE_RANK);
    sim_event_schedule(&later->event, time);
}

static void assert_port_drained(const FabPort *port)
{
    const FabCredits *full = &port->peer->params.credits;

    for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
        uint32_t header = port->header[cls] + port->peer->freed_header[cls];
        uint32_t data = port->data[cls] + port->peer->freed_data[cls];

        for (uint32_t i = port->returns_head; i != port->returns_tail; i++) {
            const FabCreditReturn *ret = &port->returns[i & port->returns_mask];

            if (ret->cls == cls) {
                header += ret->header;
                data += ret->data;
            }
        }
        if (G_UNLIKELY(!(header == full->header[cls]))) {
            ck_abort_msg("%s.%s: class %u has %u of "
                         "%u header credits",
                         port->owner->name, port->name, cls, header,
                         full->header[cls]);
        }
        if (G_UNLIKELY(!(data == full->data[cls]))) {
            ck_abort_msg("%s.%s: class %u has %u of %u "
                         "data credits",
                         port->owner->name, port->name, cls, data,
                         full->data[cls]);
        }
    }
}

void fix_assert_drained(Fix *fix)
{
    unsigned count;
    FabComponent *const *components =
        fab_fabric_components(fix->fabric, &count);

    ck_assert_uint_eq(fab_fabric_tlps_alive(fix->fabric), 0);
    for (unsigned i = 0; i < count; i++) {
        for (unsigned j = 0; j < components[i]->port_count; j++) {
            if (components[i]->ports[j]->peer) {
                assert_port_drained(components[i]->ports[j]);
            }
        }
    }
}

/* ---- Room in receive buffers ----------------------------------------- */

static void room_leave(Fix *fix, const Place *place)
{
    Room *room = g_hash_table_lookup(fix->rooms, place->port);

    fix_ensure(room->header[place->cls] >= 1);
    fix_ensure(room->data[place->cls] >= place->data);
    room->header[place->cls]--;
    room->data[place->cls] -= place->data;
}

static void room_enter(Fix *fix, const Place *place)
{
    const FabCredits *full = &place->port->params.credits;
    Room *room = g_hash_table_lookup(fix->rooms, place->port);

    if (!room) {
        room = g_new0(Room, 1);
        g_hash_table_insert(fix->rooms, place->port, room);
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
    Fix *fix = data;
    const FabTlp *tlp = record->tlp;
    Place *place = g_hash_table_lookup(fix->places, tlp);

    for (unsigned i = 0; i < fix->leaving->len;) {
        Place *left = &g_array_index(fix->leaving, Place, i);

        if (left->until <= record->start) {
            room_leave(fix, left);
            g_array_remove_index_fast(fix->leaving, i);
        } else {
            i++;
        }
    }
    if (place) {
        place->until = record->end;
        g_array_append_val(fix->leaving, *place);
    } else {
        place = g_new0(Place, 1);
        g_hash_table_insert(fix->places, (void *)tlp, place);
    }
    *place = (Place){record->port->peer, tlp->cls, fab_tlp_data_credits(tlp),
                     SIM_TIME_NONE};
    room_enter(fix, place);
}

void fix_watch_credits(Fix *fix)
{
    fix->watching = true;
    fab_fabric_set_trace(fix->fabric, FAB_TRACE_LINK, watch_trace, fix);
}

static void watch_consumed(Fix *fix, const FabTlp *tlp)
{
    if (fix->watching) {
        room_leave(fix, g_hash_table_lookup(fix->places, tlp));
        g_hash_table_remove(fix->places, tlp);
    }
}

/* ---- Parameters ------------------------------------------------------ */

FabPortParams fix_port(FabSpeed speed, uint32_t width)
{
    return fix_port_credits(speed, width, FAB_CREDITS_INFINITE,
                            FAB_CREDITS_INFINITE);
}

FabPortParams fix_port_credits(FabSpeed speed, uint32_t width, uint32_t header,
                               uint32_t data)
{
    return (FabPortParams){
        .max_speed = speed,
        .max_width = width,
        .mps_bytes = 256,
        .credits = {{header, header, header}, {data, data, data}},
        .dllp = FAB_DLLP_FREE,
    };
}

FabRootParams fix_root(void)
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
        .core = {.mmio_reads = 8},
    };
}

FabDeviceParams fix_device(void)
{
    return (FabDeviceParams){
        .bars = {{.size_bytes = MIB(1)}},
        .write_bytes = 256,
        .read_bytes = 256,
        .reads = 768,
        .tags = 768,
    };
}

FabNtbParams fix_ntb(void)
{
    return (FabNtbParams){
        .window_bytes = MIB(64),
        .entries = 64,
        .requesters = 32,
        .tags = 256,
    };
}

/* ---- Ends ------------------------------------------------------------ */

static void end_let_go(void *data)
{
    FabTlp *tlp = data;
    Fix *fix = ((FixEnd *)tlp->ingress->owner)->fix;

    watch_consumed(fix, tlp);
    fab_port_consume(tlp, fix_now(fix));
}

static void end_receive(FabComponent *component, FabPort *ingress, FabTlp *tlp)
{
    FixEnd *end = (FixEnd *)component;
    SimTime now = fix_now(end->fix);
    SimTime hold = end->hold ? end->hold(end, tlp) : 0;

    fix_ensure(tlp->ingress == ingress);
    fix_ensure(tlp->tail_at == now);
    end->received[tlp->cls]++;
    end->received_bytes += tlp->payload_bytes;
    if (end->logs) {
        FixLog log = {now, *tlp};

        g_array_append_val(end->log, log);
    }
    if (end->got) {
        end->got(end, tlp);
    }
    if (!hold) {
        watch_consumed(end->fix, tlp);
        fab_port_consume(tlp, now);
    } else {
        fix_at(end->fix, now + hold, end_let_go, tlp);
    }
}

static void end_fill(FixEnd *end)
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

static void end_room(void *owner, FabPort *port, const FabTlp *tlp)
{
    end_fill(owner);
}

static bool end_realize(FabComponent *component, GError **error)
{
    fab_port_set_room(component->ports[0], 0, end_room, component);
    return true;
}

static void end_free(FabComponent *component)
{
    FixEnd *end = (FixEnd *)component;

    g_array_unref(end->log);
    g_free(end);
}

static const FabComponentOps end_ops = {
    .receive = end_receive,
    .realize = end_realize,
    .free = end_free,
};

FixEnd *fix_end_new(Fix *fix, const char *name, const FabPortParams *port,
                    uint64_t bar0, uint64_t bar2)
{
    FixEnd *end = g_new0(FixEnd, 1);
    FabPortParams store = *port;

    store.forwarding = FAB_FORWARDING_STORE;
    end->fix = fix;
    end->log = g_array_new(FALSE, FALSE, sizeof(FixLog));
    fab_component_init(&end->component, fix->fabric, &end_ops,
                       FAB_KIND_ENDPOINT, name);
    end->component.bars[0] = (FabBar){.size_bytes = bar0};
    end->component.bars[2] = (FabBar){
        .size_bytes = bar2, .prefetchable = bar2 > 0, .is_64bit = bar2 > 0};
    fab_component_add_port(&end->component, "port", &store);
    return end;
}

void fix_end_start(FixEnd *end, unsigned backlog)
{
    end->backlog = backlog;
    end_fill(end);
}

FabTlp *fix_tlp(FixEnd *end, FabTlpType type, FabBusAddr addr, uint32_t bytes)
{
    FabTlp *tlp = fab_tlp_new(end->fix->fabric, type);

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

void fix_send(FixEnd *end, FabTlp *tlp)
{
    fab_port_send(end->component.ports[0], 0, tlp);
}

void fix_reply(FixEnd *end, const FabTlp *request, FabStatus status,
               uint32_t most)
{
    uint32_t left = request->request_bytes;
    FabBusAddr addr = request->addr;

    while (left > 0) {
        bool ok = status == FAB_STATUS_SC;
        uint32_t bytes = MIN(left, most - (uint32_t)(addr % most));
        FabTlp *cpl =
            fix_tlp(end, ok ? FAB_TLP_CPLD : FAB_TLP_CPL, addr, ok ? bytes : 0);

        cpl->requester_id = request->requester_id;
        cpl->tag = request->tag;
        cpl->attr = request->attr;
        cpl->status = status;
        cpl->request_bytes = left;
        fix_send(end, cpl);
        left = ok ? left - bytes : 0;
        addr += bytes;
    }
}

void fix_send_read(FixEnd *end, FabBusAddr addr, uint32_t bytes, uint16_t tag)
{
    FabTlp *tlp = fix_tlp(end, FAB_TLP_MRD, addr, bytes);

    tlp->tag = tag;
    fix_send(end, tlp);
}

void fix_host_init(FixHost *host, Fix *fix, const FabRootParams *params,
                   const FabPortParams *port)
{
    FixEnd **ends[] = {&host->dev, &host->far, &host->third};
    static const char *const names[] = {"h.dev", "h.far", "h.third"};

    host->fix = fix;
    host->root = fab_root_new(fix->fabric, "h", params);
    for (unsigned i = 0; i < 3; i++) {
        fab_root_add_port(host->root, names[i] + 2, port);
        *ends[i] = fix_end_new(fix, names[i], port, MIB(1), MIB(16));
        fix_connect(fix, fab_root_component(host->root), i,
                    &(*ends[i])->component, 0, 0, 0, 0);
        (*ends[i])->logs = true;
        (*ends[i])->user = host;
    }
    fix_realize(fix);
}

int fix_main(Suite *suite)
{

    return run_suite(suite);
}
