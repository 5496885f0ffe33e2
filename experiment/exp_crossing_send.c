/* SPDX-License-Identifier: MIT */
/* Gives requests to the elements of the fabric that send them. */
#include "exp_crossing_priv.h"

#include <string.h>

#include "fab_root.h"
#include "fab_route.h"

/* The CPU's stores leave in pieces of a cache line at most. */
#define LINE_BYTES 64u

/* ---- Where to --------------------------------------------------------- */

static const Place *find_place(ExpCrossings *self, const Item *item)
{
    unsigned host = item->direction->to->index;
    const Place *place = g_hash_table_lookup(
        self->pages[host],
        GSIZE_TO_POINTER(item->crossing.address / PAGE_BYTES));

    return place ? place : &self->memory[host];
}

bool crossing_find_way(ExpCrossings *self, const Direction *direction,
                       FabComponent *source, const Place *place,
                       FabBusAddr *ret_addr, GError **error)
{
    Way way = {.direction = direction,
               .source = source,
               .target = place->component,
               .target_addr = place->addr};

    for (unsigned i = 0; i < self->ways->len; i++) {
        const Way *known = &g_array_index(self->ways, Way, i);

        if (known->direction == direction && known->source == source &&
            known->target == place->component &&
            known->target_addr == place->addr) {
            *ret_addr = known->addr;
            return true;
        }
    }
    if (!fab_route_map_over(direction->near, direction->way, source,
                            place->component, place->addr, place->size_bytes,
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
    const Direction *direction = item->direction;
    TopoHost *host = direction->from;
    FabComponent *source;

    for (unsigned i = 0; item->crossing.device && i < host->devices->len; i++) {
        const TopoDevice *device = host->devices->pdata[i];

        source = exp_device(self->fabric, device);
        if (strcmp(device->name, item->crossing.device) == 0 &&
            fab_component_as_endpoint(source) &&
            crossing_find_way(self, direction, source, place, ret_addr, NULL)) {
            return source;
        }
    }
    source = exp_host(self->fabric, host);
    return crossing_find_way(self, direction, source, place, ret_addr, NULL)
               ? source
               : NULL;
}

/* ---- When a request is over ------------------------------------------- */

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
        self->ops->accepted(self->data, host, item->crossing.id,
                            crossing_now_ns(self));
    }
    crossing_unref(item);
}

static void read_over(void *owner, FabStatus status)
{
    Item *item = owner;

    if (item->reader) {
        g_queue_unlink(&item->owner->readers, &item->in_readers);
        item->reader = NULL;
    }
    item->done = sim_engine_now(item->owner->engine);
    /* If its arrival is not known, the fabric refused the request on its way.
     */
    crossing_arrival_known(item, item->done);
    crossing_forget(item);
    if (item->is_torn && status == FAB_STATUS_TIMED_OUT) {
        crossing_lose_answer(item);
    }
    if (item->answer) {
        crossing_answer(item);
    }
    crossing_unref(item);
}

static void dma_over(FabDma *dma)
{
    Item *item = dma->owner;

    if (dma->type == FAB_TLP_MRD) {
        read_over(item, dma->status);
    } else {
        crossing_unref(item);
    }
}

/* ---- Pieces ----------------------------------------------------------- */

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

uint32_t crossing_send(Item *item)
{
    ExpCrossings *self = item->owner;
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
        crossing_arrival_known(item, sim_engine_now(self->engine));
        return 0;
    }
    while (++self->number == 0 ||
           g_hash_table_contains(self->items, GUINT_TO_POINTER(self->number))) {
        continue;
    }
    item->number = self->number;
    item->refs++;
    g_hash_table_insert(self->items, GUINT_TO_POINTER(item->number), item);
    if (device) {
        send_from_device(device, addr + offset, bytes, item, self->number);
    } else {
        send_from_cpu(fab_component_as_root(source), addr + offset, bytes, item,
                      self->number);
    }
    return self->number;
}
