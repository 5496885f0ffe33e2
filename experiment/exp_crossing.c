/* SPDX-License-Identifier: MIT */
#include "exp_crossing_priv.h"

#include <string.h>

#include "exp_errors_priv.h"
#include "exp_faults_priv.h"
#include "fab_root.h"

/* The range that stands for a host's memory, and the most of a BAR that is
 * mapped. Accesses keep their address within it. */
#define RANGE_BYTES (1u << 20)

/* ---- Items ------------------------------------------------------------ */

static void item_gone(void *data)
{
    crossing_unref(data);
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

static void arrival_event(SimEvent *event)
{
    Item *item = SIM_CONTAINER_OF(event, Item, event);

    if (item->is_lost) {
        crossing_lose(item);
        return;
    }
    item->is_ready = true;
    if (item->crossing.kind == EXP_CROSSING_WRITE || !is_behind_write(item)) {
        crossing_arrive(item);
    }
}

/* ---- What the fabric calls -------------------------------------------- */

static void written(void *owner, FabBusAddr addr, uint64_t data)
{
    ExpCrossings *self = owner;
    Item *item = g_hash_table_lookup(self->items, GUINT_TO_POINTER(data));

    if (item && item->crossing.kind == EXP_CROSSING_WRITE &&
        addr >= item->last) {
        crossing_arrival_known(item, sim_engine_now(self->engine));
        crossing_forget(item);
    }
}

/* The request of a read is at its target when the last link has delivered it.
 * The observer must not change the fabric, so an event does the rest. */
static void seen(void *data, const FabTraceRecord *record)
{
    ExpCrossings *self = data;
    Item *item;

    if (record->category == FAB_TRACE_LOST) {
        crossing_tlp_lost(self, record->tlp);
        return;
    }
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
        crossing_arrival_known(item, record->seen);
    }
}

/* ---- Entering --------------------------------------------------------- */

static void complete(ExpCrossings *self, Item *item)
{
    Direction *back =
        &self->directions[(2 * item->crossing.link) + (1 - item->crossing.end)];
    void *tag = GUINT_TO_POINTER(item->crossing.tag);
    Item *read = g_hash_table_lookup(back->reads, tag);

    if (!read) {
        /* Its read has ended, or another one has its tag. */
        crossing_arrival_known(item, sim_engine_now(self->engine));
        return;
    }
    if (read->is_unanswered) {
        crossing_doom(item);
        g_hash_table_remove(back->reads, tag);
        return;
    }
    read->refs++;
    read->answer = item;
    g_hash_table_remove(back->reads, tag);
    if (read->done >= 0) {
        crossing_answer(read);
    }
}

uint32_t exp_crossings_enter(ExpCrossings *self, const ExpCrossing *crossing)
{
    Item *item = g_new0(Item, 1);
    const Item *last;
    SimTime time = crossing->time * SIM_NS;
    uint32_t number = 0;

    if (time > sim_engine_now(self->engine)) {
        sim_engine_run_until(self->engine, time);
    }
    item->owner = self;
    item->crossing = *crossing;
    item->direction = &self->directions[2 * crossing->link + crossing->end];
    last = g_queue_peek_tail(&item->direction->items);
    if (last) {
        item->crossing.least = MAX(crossing->least, last->crossing.least);
    }
    item->done = -1;
    item->link.data = item;
    item->refs = 1;
    item->is_queued = true;
    sim_event_init(&item->event, self->engine, arrival_event, SIM_PRIORITY_LAST,
                   SIM_RANK_MAX);
    g_queue_push_tail_link(&item->direction->items, &item->link);
    self->queued++;
    switch (crossing->kind) {
    case EXP_CROSSING_WRITE:
        if (crossing->wants_accept) {
            self->stalls[item->direction->from->index] = item;
        }
        number = crossing_send(item);
        break;
    case EXP_CROSSING_READ:
        item->refs++;
        g_hash_table_replace(item->direction->reads,
                             GUINT_TO_POINTER(crossing->tag), item);
        number = crossing_send(item);
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
    for (unsigned i = 0; i < 2 * self->links->len; i++) {
        Item *item = g_queue_peek_head(&self->directions[i].items);

        if (item) {
            crossing_arrival_known(item, sim_engine_now(self->engine));
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

    return next == SIM_TIME_NONE ? INT64_MAX : crossing_to_ns(next);
}

int64_t exp_crossings_bound(const ExpCrossings *self, unsigned link,
                            unsigned end)
{
    Direction *direction = &self->directions[2 * link + end];
    const Item *first = g_queue_peek_head(&direction->items);

    /* The others' least times are no earlier: see exp_crossings_enter(). */
    return first ? MAX(first->crossing.least, exp_crossings_next(self))
                 : INT64_MAX;
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

/* The way out of @near by the cable at @port, or to partition @far of its
 * chip. */
static unsigned find_way(const FabNtb *near, const TopoLink *link,
                         unsigned port, const FabComponent *far)
{
    if (!link->end[0]->ntb_chip) {
        return port + 1;
    }
    for (unsigned way = fab_ntb_ways(near) - 1; way > 0; way--) {
        if (fab_ntb_far_end(near, way) == far) {
            return way;
        }
    }
    g_assert_not_reached(); /* exp_build() has joined the ends of the chip */
}

static bool make_direction(ExpCrossings *self, const TopoLink *link,
                           unsigned end, Direction *direction, GError **error)
{
    FabBusAddr addr;

    direction->from = link->end[end]->host;
    direction->to = link->end[1 - end]->host;
    direction->near =
        fab_component_as_ntb(exp_device(self->fabric, link->end[end]));
    direction->way = find_way(direction->near, link, link->port[end],
                              exp_device(self->fabric, link->end[1 - end]));
    direction->reads = g_hash_table_new_full(NULL, NULL, NULL, item_gone);
    if (!crossing_find_way(self, direction,
                           exp_host(self->fabric, direction->from),
                           &self->memory[direction->to->index], &addr, error)) {
        g_prefix_error(error, "link '%s': ", link->name);
        return false;
    }
    return true;
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
    self->links = topo_joins(description);
    self->directions = g_new0(Direction, 2 * self->links->len + 1);
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
    for (unsigned i = 0; i < 2 * self->links->len; i++) {
        if (!make_direction(self, self->links->pdata[i / 2], i % 2,
                            &self->directions[i], error)) {
            return NULL;
        }
    }
    fab_fabric_set_trace(exp_fabric(self->fabric),
                         FAB_TRACE_LINK | FAB_TRACE_LOST, seen, self);
    crossing_watch_outages(self);
    return g_steal_pointer(&self);
}

bool exp_crossings_add_faults(ExpCrossings *self,
                              const TopoDescription *description,
                              GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();

    g_assert(self->view.faults->len == 0);
    g_ptr_array_unref(self->view.faults);
    self->view.faults = faults_of_fabric(description);
    g_free(self->outages);
    crossing_watch_outages(self);
    exp_faults_build(self->fabric, &self->view, errors);
    return exp_errors_none(errors, error);
}

void exp_crossings_free(ExpCrossings *self)
{
    if (!self) {
        return;
    }
    for (unsigned i = 0; i < 2 * self->links->len; i++) {
        Direction *direction = &self->directions[i];

        while (direction->items.head) {
            crossing_drop(direction->items.head->data);
        }
        if (direction->reads) {
            g_hash_table_unref(direction->reads);
        }
    }
    for (unsigned i = 0; self->outages && i < self->description->faults->len;
         i++) {
        sim_event_cancel(&self->outages[i].event);
    }
    g_free(self->outages);
    if (self->fabric) {
        fab_fabric_set_trace(exp_fabric(self->fabric), 0, NULL, NULL);
    }
    g_hash_table_unref(self->items);
    for (unsigned i = 0; i < self->description->hosts->len; i++) {
        g_hash_table_unref(self->pages[i]);
    }
    /* Items that the fabric still knows are lost with it. */
    exp_fabric_free(self->fabric);
    g_ptr_array_unref(self->view.faults);
    g_array_unref(self->ways);
    g_ptr_array_unref(self->links);
    g_free(self->directions);
    g_free(self->memory);
    g_free(self->pages);
    g_free(self->stalls);
    g_free(self);
}
