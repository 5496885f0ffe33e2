/* SPDX-License-Identifier: MIT */
#include "exp_crossing.h"

#include <string.h>

#include "exp_build.h"
#include "exp_faults_priv.h"
#include "fab_endpoint.h"
#include "fab_root.h"
#include "fab_route.h"

/* The range that stands for a host's memory, and the most of a BAR that is
 * mapped. Accesses keep their address within it. */
#define RANGE_BYTES (1u << 20)
#define PAGE_BYTES  4096u
/* The CPU's stores leave in pieces of a cache line at most. */
#define LINE_BYTES  64u
/* The least that a request covers: one DW (PCIe 5.0 s2.2.5) */
#define DW_BYTES    4u
/* Between two probes of the idle fabric, in ns */
#define PAUSE_NS    100000
/* A packet that has not arrived this long after a link went down is lost. The
 * others have arrived by then, unless they wait for the same link again. */
#define LOSS_PS     (1 * SIM_MS)

/* An element that requests go to. */
typedef struct Place {
    FabComponent *component;
    FabBusAddr addr; /* in its host */
    uint64_t size_bytes;
} Place;

/* The same, as a source must address it. */
typedef struct Way {
    const FabComponent *source, *target;
    FabBusAddr target_addr;
    FabBusAddr addr;
} Way;

typedef struct Direction {
    TopoHost *from, *to;
    GQueue items;      /* of Item, under way, in the order in which they
                          entered */
    GHashTable *reads; /* of Item by tag: arrived, or not, but not answered */
} Direction;

typedef struct Item {
    ExpCrossings *owner;
    ExpCrossing crossing;
    Direction *direction;
    SimEvent event; /* its arrival, when the fabric is done with it */
    GList link;     /* in the direction's items */
    unsigned refs;  /* the queue, the fabric's callbacks, the table of reads */
    bool is_queued;
    bool is_known;    /* its arrival is known or over */
    bool is_ready;    /* it may arrive when all writes before it have */
    int64_t arrived;  /* the time of it */
    SimTime deadline; /* a link that was down has lost it if its arrival is not
                         known then; 0: none was */
    unsigned unsent;  /* pieces that have not left the CPU */
    FabBusAddr last;  /* first byte of the last piece, as the target sees it */
    SimTime done;     /* READ: the fabric's completion; -1: not yet */
    struct Item *answer; /* READ: its COMPLETION */
    FabComponent *target;
    FabRoot *reader;  /* READ by the CPU that the fabric has not done */
    uint32_t number;  /* of its TLPs */
    GList in_readers; /* while @reader is set */
    FabDma dma;       /* of a device */
} Item;

/* A link goes down at this event. */
typedef struct Outage {
    SimEvent event;
    ExpCrossings *owner;
    const char *link; /* its name; NULL: that of a device */
} Outage;

struct ExpCrossings {
    TopoDescription view; /* with the faults that are the fabric's */
    const TopoDescription *description;
    const ExpCrossingsOps *ops;
    void *data;
    ExpFabric *fabric;
    SimEngine *engine;
    Direction *directions; /* two for each link */
    Place *memory;         /* of each host */
    GHashTable **pages;    /* of each host: Place by number of page */
    GArray *ways;          /* of Way */
    GHashTable *items;     /* all that the fabric knows, by number */
    Item **stalls;         /* of each host: the write that its CPU waits for */
    GQueue readers;        /* of Item: reads of CPUs */
    Outage *outages;       /* of each fault of the description */
    SimEvent loss;         /* the first deadline of an item */
    uint32_t number;
    unsigned queued;
    bool has_called;
};

static int64_t to_ns(SimTime time)
{
    return (time + SIM_NS - 1) / SIM_NS;
}

static int64_t now_ns(const ExpCrossings *self)
{
    return to_ns(sim_engine_now(self->engine));
}

/* ---- Items ------------------------------------------------------------ */

static void item_unref(Item *item)
{
    if (--item->refs > 0) {
        return;
    }
    sim_event_cancel(&item->event);
    g_free(item);
}

static void item_gone(void *data)
{
    item_unref(data);
}

static void queue_drop(Item *item)
{
    if (item->is_queued) {
        item->is_queued = false;
        g_queue_unlink(&item->direction->items, &item->link);
        item->owner->queued--;
        item_unref(item);
    }
}

static bool is_behind_write(const Item *item)
{
    for (const GList *l = item->link.prev; l; l = l->prev) {
        const Item *before = l->data;

        if (before->crossing.kind == EXP_CROSSING_WRITE) {
            return true;
        }
    }
    return false;
}

static void arrive(Item *item);

/* Reads and completions that waited only for the write behind which @next
 * stands arrive. */
static void let_go(Direction *direction)
{
    for (GList *l = direction->items.head; l;) {
        Item *next = l->data;

        l = l->next;
        if (next->crossing.kind == EXP_CROSSING_WRITE) {
            break;
        }
        if (next->is_ready) {
            arrive(next);
        }
    }
}

static void arrive(Item *item)
{
    ExpCrossings *self = item->owner;
    Direction *direction = item->direction;
    bool is_write = item->crossing.kind == EXP_CROSSING_WRITE;

    item->arrived = now_ns(self);
    if (self->stalls[direction->from->index] == item) {
        /* It never was in the fabric. */
        self->stalls[direction->from->index] = NULL;
        self->ops->accepted(self->data, direction->from->index,
                            item->crossing.id, item->arrived);
    }
    self->has_called = true;
    sim_engine_stop(self->engine);
    self->ops->arrived(self->data, item->crossing.link, item->crossing.end,
                       item->crossing.id, item->arrived);
    queue_drop(item);
    if (is_write) {
        let_go(direction);
    }
}

/* A link that went down has lost it: it never arrives. */
static void lose(Item *item)
{
    ExpCrossings *self = item->owner;
    Direction *direction = item->direction;
    bool is_write = item->crossing.kind == EXP_CROSSING_WRITE;
    int64_t now = now_ns(self);

    if (item->is_known) {
        return;
    }
    item->is_known = true;
    self->has_called = true;
    sim_engine_stop(self->engine);
    if (self->stalls[direction->from->index] == item) {
        self->stalls[direction->from->index] = NULL;
        self->ops->accepted(self->data, direction->from->index,
                            item->crossing.id, now);
    }
    if (self->ops->lost) {
        self->ops->lost(self->data, item->crossing.link, item->crossing.end,
                        item->crossing.id, now);
    }
    queue_drop(item);
    if (is_write) {
        let_go(direction);
    }
}

/* The first item of @direction that a link may have lost. Their deadlines are
 * in the order in which they entered. */
static Item *first_doubtful(const Direction *direction)
{
    for (const GList *l = direction->items.head; l; l = l->next) {
        Item *item = l->data;

        if (item->deadline && !item->is_known) {
            return item;
        }
    }
    return NULL;
}

/* One event for all items: there may be many of them. */
static void schedule_loss(ExpCrossings *self)
{
    SimTime first = SIM_TIME_NONE;

    for (unsigned i = 0; i < 2 * self->description->links->len; i++) {
        const Item *item = first_doubtful(&self->directions[i]);

        if (item && (first == SIM_TIME_NONE || item->deadline < first)) {
            first = item->deadline;
        }
    }
    if (first != SIM_TIME_NONE) {
        sim_event_reschedule(&self->loss, first);
    }
}

static void loss_event(SimEvent *event)
{
    ExpCrossings *self = SIM_CONTAINER_OF(event, ExpCrossings, loss);
    SimTime now = event->time;

    for (unsigned i = 0; i < 2 * self->description->links->len; i++) {
        Item *item;

        while ((item = first_doubtful(&self->directions[i])) &&
               item->deadline <= now) {
            lose(item);
        }
    }
    schedule_loss(self);
}

/* A link is down, or goes down now: @item may be lost. */
static void doubt(Item *item)
{
    item->deadline = sim_engine_now(item->owner->engine) + LOSS_PS;
}

static bool may_lose(const TopoFault *fault)
{
    return fault->action == TOPO_FAULT_LINK_DOWN;
}

/* True if a link is down, which may lose what enters now. */
static bool is_losing(const ExpCrossings *self)
{
    const GPtrArray *faults = self->description->faults;
    SimTime now = sim_engine_now(self->engine);

    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];

        if (may_lose(fault) && now >= fault->at_ps &&
            (fault->for_ps == 0 ||
             now < fault->at_ps + fault->for_ps + fault->training_ps)) {
            return true;
        }
    }
    return false;
}

/*
 * The NTBs of the link @link do not wait for their peers any more: they
 * complete the reads that have crossed it. If the fabric has lost the
 * completion of such a read, the CPU's next one would wait for the end of its
 * time-out.
 */
static void end_reads(ExpCrossings *self, const char *link)
{
    for (const GList *l = self->readers.head; l; l = l->next) {
        Item *item = l->data;
        const TopoLink *its =
            self->description->links->pdata[item->crossing.link];
        GHashTable *reads = item->direction->reads;
        void *tag = GUINT_TO_POINTER(item->crossing.tag);

        if (g_strcmp0(its->name, link) != 0) {
            continue;
        }
        fab_root_end_reads(item->reader, item->number);
        if (g_hash_table_lookup(reads, tag) == item) {
            g_hash_table_remove(reads, tag);
        }
        if (item->answer) {
            /* It is lost, unless it was through already. */
            item->answer = NULL;
            item_unref(item);
        }
    }
}

/* A link goes down: what is under way may be lost. */
static void outage_event(SimEvent *event)
{
    Outage *outage = SIM_CONTAINER_OF(event, Outage, event);
    ExpCrossings *self = outage->owner;

    end_reads(self, outage->link);
    for (unsigned i = 0; i < 2 * self->description->links->len; i++) {
        for (const GList *l = self->directions[i].items.head; l; l = l->next) {
            Item *item = l->data;

            if (!item->is_known) {
                doubt(item);
            }
        }
    }
    schedule_loss(self);
}

static void arrival_event(SimEvent *event)
{
    Item *item = SIM_CONTAINER_OF(event, Item, event);

    item->is_ready = true;
    if (item->crossing.kind == EXP_CROSSING_WRITE || !is_behind_write(item)) {
        arrive(item);
    }
}

/* The fabric is done with @item at @time. */
static void arrival_known(Item *item, SimTime time)
{
    if (item->is_known) {
        return;
    }
    item->is_known = true;
    time = MAX(time, sim_engine_now(item->owner->engine));
    sim_event_schedule(&item->event, MAX(time, item->crossing.least * SIM_NS));
}

/* ---- What the fabric calls -------------------------------------------- */

static void written(void *owner, FabBusAddr addr, uint64_t data)
{
    ExpCrossings *self = owner;
    Item *item = g_hash_table_lookup(self->items, GUINT_TO_POINTER(data));

    if (item && item->crossing.kind == EXP_CROSSING_WRITE &&
        addr >= item->last) {
        arrival_known(item, sim_engine_now(self->engine));
        g_hash_table_remove(self->items, GUINT_TO_POINTER(data));
    }
}

/* The request of a read is at its target when the last link has delivered it.
 * The observer must not change the fabric, so an event does the rest. */
static void seen(void *data, const FabTraceRecord *record)
{
    ExpCrossings *self = data;
    Item *item;

    if (self->ops->hop) {
        self->ops->hop(self->data, record);
    }
    if (record->tlp->type != FAB_TLP_MRD) {
        return;
    }
    item =
        g_hash_table_lookup(self->items, GUINT_TO_POINTER(record->tlp->flow));
    if (item && item->crossing.kind == EXP_CROSSING_READ &&
        fab_port_owner(fab_port_peer(record->port)) == item->target) {
        arrival_known(item, record->seen);
        g_hash_table_remove(self->items, GUINT_TO_POINTER(record->tlp->flow));
    }
}

static void left_cpu(void *owner)
{
    Item *item = owner;
    ExpCrossings *self = item->owner;
    unsigned host = item->direction->from->index;

    if (--item->unsent == 0 && item->crossing.wants_accept &&
        self->stalls[host] == item) {
        self->stalls[host] = NULL;
        self->has_called = true;
        sim_engine_stop(self->engine);
        self->ops->accepted(self->data, host, item->crossing.id, now_ns(self));
    }
    item_unref(item);
}

/* The completion is in when the fabric's is, and later by the time that the
 * machine took to answer. */
static void answer(Item *read)
{
    Item *completion = read->answer;
    int64_t late = completion->crossing.time - read->arrived;

    arrival_known(completion, read->done + MAX(late, 0) * SIM_NS);
    read->answer = NULL;
    item_unref(read);
}

static void read_over(void *owner, FabStatus status)
{
    Item *item = owner;

    if (item->reader) {
        g_queue_unlink(&item->owner->readers, &item->in_readers);
        item->reader = NULL;
    }
    item->done = sim_engine_now(item->owner->engine);
    if (!item->is_known && item->deadline && status != FAB_STATUS_SC) {
        lose(item);
    } else if (!item->is_known) {
        /* The fabric refused the request on its way. */
        arrival_known(item, item->done);
    }
    if (item->answer) {
        answer(item);
    }
    item_unref(item);
}

static void dma_over(FabDma *dma)
{
    Item *item = dma->owner;

    if (dma->type == FAB_TLP_MRD) {
        read_over(item, dma->status);
    } else {
        item_unref(item);
    }
}

/* ---- Sending ---------------------------------------------------------- */

static const Place *find_place(ExpCrossings *self, const Item *item)
{
    unsigned host = item->direction->to->index;
    const Place *place = g_hash_table_lookup(
        self->pages[host],
        GSIZE_TO_POINTER(item->crossing.address / PAGE_BYTES));

    return place ? place : &self->memory[host];
}

/* Finds the address by which @source reaches @place. Maps it at first. */
static bool find_way(ExpCrossings *self, FabComponent *source,
                     const Place *place, FabBusAddr *ret_addr, GError **error)
{
    Way way = {.source = source,
               .target = place->component,
               .target_addr = place->addr};

    for (unsigned i = 0; i < self->ways->len; i++) {
        const Way *known = &g_array_index(self->ways, Way, i);

        if (known->source == source && known->target == place->component &&
            known->target_addr == place->addr) {
            *ret_addr = known->addr;
            return true;
        }
    }
    if (!fab_route_map(source, place->component, place->addr, place->size_bytes,
                       &way.addr, error)) {
        return false;
    }
    g_array_append_val(self->ways, way);
    *ret_addr = way.addr;
    return true;
}

/* The element that sends, and the address that it uses for @place. */
static FabComponent *find_source(ExpCrossings *self, const Item *item,
                                 const Place *place, FabBusAddr *ret_addr)
{
    TopoHost *host = item->direction->from;
    FabComponent *source;

    for (unsigned i = 0; item->crossing.device && i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];

        source = exp_device(self->fabric, device);
        if (strcmp(device->name, item->crossing.device) == 0 &&
            fab_component_as_endpoint(source) &&
            find_way(self, source, place, ret_addr, NULL)) {
            return source;
        }
    }
    source = exp_host(self->fabric, host);
    return find_way(self, source, place, ret_addr, NULL) ? source : NULL;
}

static uint32_t piece_bytes(FabBusAddr addr, uint32_t left, uint32_t most)
{
    return MIN(left, most - (uint32_t)(addr & (most - 1)));
}

static unsigned count_pieces(FabBusAddr addr, uint32_t bytes, uint32_t most)
{
    return (unsigned)((addr + bytes - 1) / most - addr / most) + 1;
}

static void send_from_cpu(FabRoot *root, FabBusAddr addr, uint32_t bytes,
                          Item *item, uint32_t number)
{
    if (item->crossing.kind == EXP_CROSSING_READ) {
        item->refs++;
        item->reader = root;
        item->number = number;
        item->in_readers.data = item;
        g_queue_push_tail_link(&item->owner->readers, &item->in_readers);
        fab_root_read(root, addr, MIN(bytes, LINE_BYTES), read_over, item,
                      number);
        return;
    }
    item->unsent = count_pieces(addr, bytes, LINE_BYTES);
    while (bytes > 0) {
        uint32_t piece = piece_bytes(addr, bytes, LINE_BYTES);

        item->refs++;
        fab_root_write_then(root, addr, piece, number, number, left_cpu, item);
        addr += piece;
        bytes -= piece;
    }
}

/* The size of the TLPs in which the engine of @device writes. */
static uint32_t dma_bytes(FabEndpoint *device)
{
    uint32_t mps = fab_port_mps_bytes(
        fab_component_port(fab_endpoint_component(device), 0));

    return MIN(fab_endpoint_params(device)->write_bytes, mps);
}

static void send_from_device(FabEndpoint *device, FabBusAddr addr,
                             uint32_t bytes, Item *item, uint32_t number)
{
    item->dma = (FabDma){
        .type = item->crossing.kind == EXP_CROSSING_READ ? FAB_TLP_MRD
                                                         : FAB_TLP_MWR,
        .addr = addr,
        .size_bytes = bytes,
        .data = number,
        .flow = number,
        .done = dma_over,
        .owner = item,
    };
    item->refs++;
    fab_endpoint_dma(device, &item->dma);
}

/* Gives a request to the element that sends it. Returns the number of its TLPs;
 * 0 if there are none. */
static uint32_t send(ExpCrossings *self, Item *item)
{
    const Place *place = find_place(self, item);
    uint32_t bytes = MAX(item->crossing.bytes, DW_BYTES);
    FabBusAddr addr = 0;
    FabComponent *source = find_source(self, item, place, &addr);
    FabEndpoint *device;
    uint64_t offset;
    uint32_t most;

    if (!source) {
        /* For example, the device is lent to another host. */
        place = &self->memory[item->direction->to->index];
        source = find_source(self, item, place, &addr);
    }
    offset = item->crossing.address & (place->size_bytes - 1);
    /* Bytes that would leave the range begin at its start. */
    offset = offset + bytes <= place->size_bytes ? offset : 0;
    device = source ? fab_component_as_endpoint(source) : NULL;
    most = device ? dma_bytes(device) : LINE_BYTES;
    item->target = place->component;
    item->last = place->addr + offset;
    if (count_pieces(addr + offset, bytes, most) > 1) {
        item->last +=
            (addr + offset + bytes - 1) / most * most - (addr + offset);
    }
    if (!source || bytes > place->size_bytes) {
        item->done = sim_engine_now(self->engine);
        arrival_known(item, sim_engine_now(self->engine));
        return 0;
    }
    while (++self->number == 0 ||
           g_hash_table_contains(self->items, GUINT_TO_POINTER(self->number))) {
        continue;
    }
    item->refs++;
    g_hash_table_insert(self->items, GUINT_TO_POINTER(self->number), item);
    if (device) {
        send_from_device(device, addr + offset, bytes, item, self->number);
    } else {
        send_from_cpu(fab_component_as_root(source), addr + offset, bytes, item,
                      self->number);
    }
    return self->number;
}

static void complete(ExpCrossings *self, Item *item)
{
    Direction *back =
        &self->directions[(2 * item->crossing.link) + (1 - item->crossing.end)];
    void *tag = GUINT_TO_POINTER(item->crossing.tag);
    Item *read = g_hash_table_lookup(back->reads, tag);

    if (!read) {
        /* Its read has ended, or another one has its tag. */
        arrival_known(item, sim_engine_now(self->engine));
        return;
    }
    read->refs++;
    read->answer = item;
    g_hash_table_remove(back->reads, tag);
    if (read->done >= 0) {
        answer(read);
    }
}

uint32_t exp_crossings_enter(ExpCrossings *self, const ExpCrossing *crossing)
{
    Item *item = g_new0(Item, 1);
    SimTime time = crossing->time * SIM_NS;
    uint32_t number = 0;

    if (time > sim_engine_now(self->engine)) {
        sim_engine_run_until(self->engine, time);
    }
    item->owner = self;
    item->crossing = *crossing;
    item->direction = &self->directions[2 * crossing->link + crossing->end];
    item->done = -1;
    item->link.data = item;
    item->refs = 1;
    item->is_queued = true;
    sim_event_init(&item->event, self->engine, arrival_event, SIM_PRIORITY_LAST,
                   SIM_RANK_MAX);
    g_queue_push_tail_link(&item->direction->items, &item->link);
    self->queued++;
    if (is_losing(self)) {
        doubt(item);
        schedule_loss(self);
    }
    switch (crossing->kind) {
    case EXP_CROSSING_WRITE:
        if (crossing->wants_accept) {
            self->stalls[item->direction->from->index] = item;
        }
        number = send(self, item);
        break;
    case EXP_CROSSING_READ:
        item->refs++;
        g_hash_table_replace(item->direction->reads,
                             GUINT_TO_POINTER(crossing->tag), item);
        number = send(self, item);
        break;
    default:
        complete(self, item);
        break;
    }
    item->crossing.device = NULL; /* the caller's */
    return number;
}

/* ---- Running ---------------------------------------------------------- */

static bool is_under_way(const ExpCrossings *self)
{
    for (unsigned i = 0; i < self->description->hosts->len; i++) {
        if (self->stalls[i]) {
            return true;
        }
    }
    return self->queued > 0;
}

/* The fabric has lost what is left, for example to a link error: a machine must
 * not wait for it for ever. */
static void arrive_lost(ExpCrossings *self)
{
    for (unsigned i = 0; i < 2 * self->description->links->len; i++) {
        Item *item = g_queue_peek_head(&self->directions[i].items);

        if (item) {
            arrival_known(item, sim_engine_now(self->engine));
        }
    }
}

bool exp_crossings_run(ExpCrossings *self, int64_t until)
{
    SimTime limit = MIN(until, INT64_MAX / SIM_NS) * SIM_NS;

    self->has_called = false;
    while (!self->has_called && is_under_way(self)) {
        SimTime next = sim_engine_next(self->engine);

        if (next == SIM_TIME_NONE) {
            arrive_lost(self);
            next = sim_engine_next(self->engine);
        }
        if (next > limit) {
            break;
        }
        sim_engine_run_until(self->engine, next);
    }
    return self->has_called;
}

int64_t exp_crossings_next(const ExpCrossings *self)
{
    SimTime next =
        is_under_way(self) ? sim_engine_next(self->engine) : SIM_TIME_NONE;

    return next == SIM_TIME_NONE ? INT64_MAX : to_ns(next);
}

int64_t exp_crossings_bound(const ExpCrossings *self, unsigned link,
                            unsigned end)
{
    const Direction *direction = &self->directions[2 * link + end];
    int64_t next = exp_crossings_next(self), bound = INT64_MAX;

    for (const GList *l = direction->items.head; l; l = l->next) {
        const Item *item = l->data;

        bound = MIN(bound, MAX(item->crossing.least, next));
    }
    return bound;
}

bool exp_crossings_is_stalled(const ExpCrossings *self, unsigned host)
{
    return self->stalls[host];
}

/* ---- Places ----------------------------------------------------------- */

static bool find_bar(ExpCrossings *self, const TopoHost *host, const char *name,
                     unsigned bar, Place *ret_place)
{
    for (unsigned i = 0; i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];
        FabComponent *component = exp_device(self->fabric, device);
        const FabBar *bars = fab_component_bars(component);
        unsigned best = MIN(bar, FAB_BARS - 1);

        if (strcmp(device->name, name) != 0 ||
            !fab_component_as_endpoint(component)) {
            continue;
        }
        /* The emulated device may have other BARs than the part. */
        for (unsigned j = 0; j < FAB_BARS && !bars[best].size_bytes; j++) {
            best = j;
        }
        *ret_place = (Place){component, bars[best].addr,
                             MIN(bars[best].size_bytes, RANGE_BYTES)};
        return bars[best].size_bytes > 0;
    }
    return false;
}

static bool is_watched(const ExpCrossings *self, const Place *place)
{
    for (unsigned i = 0; i < self->ways->len; i++) {
        const Way *way = &g_array_index(self->ways, Way, i);

        if (!way->source && way->target == place->component &&
            way->target_addr == place->addr) {
            return true;
        }
    }
    return false;
}

void exp_crossings_place(ExpCrossings *self, unsigned host, uint64_t address,
                         const char *device, unsigned bar, uint64_t offset)
{
    void *page = GSIZE_TO_POINTER(address / PAGE_BYTES);
    Place place;

    if (!device || !find_bar(self, self->description->hosts->pdata[host],
                             device, bar, &place)) {
        g_hash_table_remove(self->pages[host], page);
        return;
    }
    if (!is_watched(self, &place)) {
        /* A way without a source says that the place is watched. */
        Way way = {.target = place.component, .target_addr = place.addr};

        fab_endpoint_watch(fab_component_as_endpoint(place.component),
                           place.addr, place.size_bytes, written, self);
        g_array_append_val(self->ways, way);
    }
    g_hash_table_replace(self->pages[host], page,
                         g_memdup2(&place, sizeof(place)));
}

/* ---- Making and freeing ----------------------------------------------- */

static bool make_memory(ExpCrossings *self, const TopoHost *host,
                        GError **error)
{
    Place *place = &self->memory[host->index];
    FabRoot *root = fab_component_as_root(exp_host(self->fabric, host));

    place->component = fab_root_component(root);
    place->size_bytes = RANGE_BYTES;
    if (!fab_root_alloc(root, RANGE_BYTES, RANGE_BYTES, &place->addr)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "%s: no memory is left for what other hosts access",
                    host->name);
        return false;
    }
    fab_root_watch(root, place->addr, place->size_bytes, written, self);
    return true;
}

static bool make_direction(ExpCrossings *self, const TopoLink *link,
                           unsigned end, Direction *direction, GError **error)
{
    FabBusAddr addr;

    direction->from = link->end[end]->host;
    direction->to = link->end[1 - end]->host;
    direction->reads = g_hash_table_new_full(NULL, NULL, NULL, item_gone);
    if (!find_way(self, exp_host(self->fabric, direction->from),
                  &self->memory[direction->to->index], &addr, error)) {
        g_prefix_error(error, "link '%s': ", link->name);
        return false;
    }
    return true;
}

static void watch_outages(ExpCrossings *self)
{
    const GPtrArray *faults = self->description->faults;

    self->outages = g_new0(Outage, faults->len + 1);
    for (unsigned i = 0; i < faults->len; i++) {
        const TopoFault *fault = faults->pdata[i];
        Outage *outage = &self->outages[i];

        outage->owner = self;
        /* The faults of a branch are those of another description. */
        outage->link = fault->link ? fault->link->name : NULL;
        sim_event_init(&outage->event, self->engine, outage_event,
                       SIM_PRIORITY_FIRST, 0);
        if (may_lose(fault)) {
            sim_event_schedule(&outage->event, fault->at_ps);
        }
    }
}

/* The machines take the link down that waits for an event. */
static GPtrArray *faults_of_fabric(const TopoDescription *description)
{
    GPtrArray *faults = g_ptr_array_new();

    for (unsigned i = 0; i < description->faults->len; i++) {
        TopoFault *fault = description->faults->pdata[i];

        if (fault->action != TOPO_FAULT_LINK_DOWN || !fault->event) {
            g_ptr_array_add(faults, fault);
        }
    }
    return faults;
}

ExpCrossings *exp_crossings_new(const TopoDescription *description,
                                const ExpCrossingsOps *ops, void *owner,
                                GError **error)
{
    g_autoptr(ExpCrossings) self = g_new0(ExpCrossings, 1);
    unsigned hosts = description->hosts->len;

    self->view = *description;
    self->view.faults = faults_of_fabric(description);
    self->description = &self->view;
    self->ops = ops;
    self->data = owner;
    self->directions = g_new0(Direction, 2 * description->links->len + 1);
    self->memory = g_new0(Place, hosts);
    self->pages = g_new0(GHashTable *, hosts);
    self->stalls = g_new0(Item *, hosts);
    self->ways = g_array_new(FALSE, FALSE, sizeof(Way));
    self->items = g_hash_table_new_full(NULL, NULL, NULL, item_gone);
    for (unsigned i = 0; i < hosts; i++) {
        self->pages[i] = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    }
    self->fabric = exp_build(&self->view, error);
    if (!self->fabric) {
        return NULL;
    }
    self->engine = exp_engine(self->fabric);
    for (unsigned i = 0; i < hosts; i++) {
        if (!make_memory(self, description->hosts->pdata[i], error)) {
            return NULL;
        }
    }
    for (unsigned i = 0; i < 2 * description->links->len; i++) {
        if (!make_direction(self, description->links->pdata[i / 2], i % 2,
                            &self->directions[i], error)) {
            return NULL;
        }
    }
    fab_fabric_set_trace(exp_fabric(self->fabric), FAB_TRACE_LINK, seen, self);
    sim_event_init(&self->loss, self->engine, loss_event, SIM_PRIORITY_LAST,
                   SIM_RANK_MAX);
    watch_outages(self);
    return g_steal_pointer(&self);
}

bool exp_crossings_add_faults(ExpCrossings *self,
                              const TopoDescription *description,
                              GError **error)
{
    g_assert(self->view.faults->len == 0);
    g_ptr_array_unref(self->view.faults);
    self->view.faults = faults_of_fabric(description);
    g_free(self->outages);
    watch_outages(self);
    return exp_faults_build(self->fabric, &self->view, error);
}

void exp_crossings_free(ExpCrossings *self)
{
    if (!self) {
        return;
    }
    for (unsigned i = 0; i < 2 * self->description->links->len; i++) {
        Direction *direction = &self->directions[i];

        while (direction->items.head) {
            queue_drop(direction->items.head->data);
        }
        if (direction->reads) {
            g_hash_table_unref(direction->reads);
        }
    }
    for (unsigned i = 0; self->outages && i < self->description->faults->len;
         i++) {
        sim_event_cancel(&self->outages[i].event);
    }
    if (self->outages) {
        sim_event_cancel(&self->loss);
    }
    g_free(self->outages);
    g_hash_table_unref(self->items);
    for (unsigned i = 0; i < self->description->hosts->len; i++) {
        g_hash_table_unref(self->pages[i]);
    }
    /* Items that the fabric still knows are lost with it. */
    exp_fabric_free(self->fabric);
    g_ptr_array_unref(self->view.faults);
    g_array_unref(self->ways);
    g_free(self->directions);
    g_free(self->memory);
    g_free(self->pages);
    g_free(self->stalls);
    g_free(self);
}

/* ---- The idle fabric -------------------------------------------------- */

typedef struct Probe {
    ExpCrossings *crossings;
    int64_t arrived;
} Probe;

static void probe_arrived(void *owner, unsigned link, unsigned end, uint64_t id,
                          int64_t time)
{
    Probe *probe = owner;

    probe->arrived = time;
}

static int64_t probe_run(Probe *probe, const ExpCrossing *crossing)
{
    probe->arrived = -1;
    exp_crossings_enter(probe->crossings, crossing);
    while (probe->arrived < 0) {
        exp_crossings_run(probe->crossings, INT64_MAX);
    }
    return probe->arrived;
}

/* The least times of a write, a read and its completion, after one of each has
 * filled the IOTLBs. */
static void probe_access(Probe *probe, ExpCrossing *crossing, int64_t *least)
{
    ExpCrossing back = *crossing;

    for (unsigned i = 0; i < 2; i++) {
        int64_t arrived;

        crossing->time += PAUSE_NS;
        crossing->kind = EXP_CROSSING_WRITE;
        arrived = probe_run(probe, crossing) - crossing->time;
        *least = i ? MIN(*least, arrived) : *least;
        crossing->time += PAUSE_NS;
        crossing->kind = EXP_CROSSING_READ;
        back.time = probe_run(probe, crossing);
        arrived = back.time - crossing->time;
        *least = i ? MIN(*least, arrived) : *least;
        back.kind = EXP_CROSSING_COMPLETION;
        back.end = 1 - crossing->end;
        arrived = probe_run(probe, &back) - back.time;
        *least = i ? MIN(*least, arrived) : *least;
    }
}

/* All pairs of elements that may use @link in this direction. */
static void probe_direction(Probe *probe, const TopoLink *link,
                            ExpCrossing *crossing, int64_t *least)
{
    const TopoHost *from = link->end[crossing->end]->host;
    const TopoHost *to = link->end[1 - crossing->end]->host;

    for (unsigned i = 0; i <= from->devices->len; i++) {
        const TopoDevice *source = i > 0 ? from->devices->pdata[i - 1] : NULL;

        if (source && topo_part_kind(source->part) == TOPO_PART_NTB) {
            continue;
        }
        crossing->device = source ? source->name : NULL;
        for (unsigned j = 0; j <= to->devices->len; j++) {
            const TopoDevice *target = j > 0 ? to->devices->pdata[j - 1] : NULL;

            if (target && topo_part_kind(target->part) == TOPO_PART_NTB) {
                continue;
            }
            exp_crossings_place(probe->crossings, to->index, 0,
                                target ? target->name : NULL, 0, 0);
            probe_access(probe, crossing, least);
        }
        exp_crossings_place(probe->crossings, to->index, 0, NULL, 0, 0);
    }
}

bool exp_crossings_least(const TopoDescription *description, int64_t *ret_ns,
                         GError **error)
{
    static const ExpCrossingsOps ops = {.arrived = probe_arrived};
    g_autoptr(GPtrArray) none = g_ptr_array_new();
    TopoDescription whole = *description;
    Probe probe = {.crossings = NULL};
    ExpCrossing crossing = {.bytes = DW_BYTES};

    /* Faults make nothing quicker. */
    whole.faults = none;
    probe.crossings = exp_crossings_new(&whole, &ops, &probe, error);
    if (!probe.crossings) {
        return false;
    }
    for (unsigned i = 0; i < description->links->len; i++) {
        crossing.link = i;
        ret_ns[i] = INT64_MAX;
        for (unsigned end = 0; end < 2; end++) {
            crossing.end = end;
            probe_direction(&probe, description->links->pdata[i], &crossing,
                            &ret_ns[i]);
        }
        ret_ns[i] = MAX(ret_ns[i], 1);
    }
    exp_crossings_free(probe.crossings);
    return true;
}
