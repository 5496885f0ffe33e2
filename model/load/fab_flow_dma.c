/* SPDX-License-Identifier: MIT */
#include "fab_flow_dma.h"

#include "fab_flow_priv.h"
#include "fab_lend.h"
#include "fab_mapper_priv.h"
#include "fab_size.h"

/* The default working set: larger than any cache, smaller than any window. */
#define WORKING_SET_BYTES (UINT64_C(64) << 20)

#define OUTSTANDING_MAX 65536u

/* The driver sees the end of a write by an entry behind it, in a line of its
 * own. */
#define ENTRY_BYTES 8
#define LINE_BYTES  64

typedef struct DmaOp {
    FabDma dma;
    FabMapped *mapped; /* NULL: its buffer stays mapped */
    FabDma *entry;     /* that follows a write of such a buffer */
    SimTime begin;
    struct DmaOp *next; /* in the list of free ones */
} DmaOp;

/*
 * There is no queue of operations that arrive while no DmaOp is free. The flow
 * keeps the time of the next arrival, and catches up with late arrivals when an
 * operation is over.
 */
typedef struct DmaFlow {
    FabFlow flow;
    FabDmaFlowParams params;
    FabBusAddr base; /* address of the working set for the device; without
                        permanent mapping, in its host */
    uint64_t slots;
    uint64_t next_slot;
    uint64_t issued, finished;
    SimTime next_arrival;
    DmaOp *ops, *free;
    FabMapped *mapped; /* by operation; NULL: the working set stays mapped */
    FabDma *entries;   /* the same */
    FabBusAddr lines;  /* of the entries, for the device */
    FabMapper *mapper;
    bool issuing;
} DmaFlow;

static FabBusAddr next_addr(DmaFlow *self)
{
    uint64_t slot = self->next_slot;

    if (self->params.random) {
        slot = sim_random_below(&self->flow.random, self->slots);
    } else if (++self->next_slot == self->slots) {
        self->next_slot = 0;
    }
    return self->base + slot * self->params.size_bytes;
}

static void op_mapped(FabMapped *mapped);

static SimTime next_interval(DmaFlow *self)
{
    return self->params.arrivals == FAB_ARRIVALS_POISSON
               ? sim_random_exponential(&self->flow.random,
                                        self->params.interval)
               : self->params.interval;
}

/* Gives the operations that have arrived to the engine, while a DmaOp is free.
 */
static void issue(DmaFlow *self)
{
    SimTime now = sim_engine_now(self->flow.fabric->engine);
    bool closed = self->params.arrivals == FAB_ARRIVALS_CLOSED;

    if (self->issuing) { /* called from the loop below, which goes on */
        return;
    }
    self->issuing = true;
    while (self->free && self->issued < self->params.count) {
        DmaOp *op = self->free;

        op->begin = now;
        if (!closed) {
            if (self->next_arrival > now) {
                sim_event_reschedule(&self->flow.event, self->next_arrival);
                break;
            }
            op->begin = self->next_arrival;
            self->next_arrival += next_interval(self);
        }
        self->free = op->next;
        self->issued++;
        op->dma.addr = next_addr(self);
        if (op->mapped) {
            op->mapped->addr = op->dma.addr;
            op->mapped->done = op_mapped;
            fab_mapper_map(self->mapper, op->mapped);
        } else {
            fab_endpoint_dma(self->params.device, &op->dma);
        }
    }
    self->issuing = false;
}

/* The device knows that the rest of the write @dma was lost. A TLP that was on
 * the wire may have been counted before. */
static void count_once(FabMeter *meter, const FabDma *dma)
{
    if (dma->status != FAB_STATUS_SC && meter->lost_writes > 0 &&
        meter->last_lost == dma->transaction) {
        meter->lost_writes--;
        meter->last_lost = 0;
    }
}

static void op_over(DmaFlow *self, DmaOp *op)
{
    SimTime now = sim_engine_now(self->flow.fabric->engine);

    count_once(&self->flow.meter, &op->dma);
    if (fab_flow_count(&self->flow, op->begin, 0, op->dma.status)) {
        /* A write takes until its last byte has left the device. */
        now = MAX(now, op->dma.left_at);
        self->flow.result.end = MAX(self->flow.result.end, now);
        sim_histogram_add(self->flow.latency, now - op->begin);
    }
    op->next = self->free;
    self->free = op;
    fab_flow_mark(&self->flow, 1);
    if (++self->finished == self->params.count) {
        fab_flow_finish(&self->flow);
    } else {
        issue(self);
    }
}

static void op_unmapped(FabMapped *mapped)
{
    DmaOp *op = mapped->owner;

    op_over(op->dma.owner, op);
}

static void op_unmap(DmaFlow *self, DmaOp *op)
{
    op->mapped->done = op_unmapped;
    fab_mapper_unmap(self->mapper, op->mapped);
}

/* The driver sees the entry behind the write of an operation. */
static void entry_seen(void *owner, FabBusAddr addr, uint64_t data)
{
    DmaFlow *self = owner;

    op_unmap(self, &self->ops[data]);
}

/* The device forgets the order for an entry when it has left. */
static void entry_left(FabDma *dma)
{
}

static void op_mapped(FabMapped *mapped)
{
    DmaOp *op = mapped->owner;
    DmaFlow *self = op->dma.owner;

    op->dma.addr = mapped->device_addr;
    fab_endpoint_dma(self->params.device, &op->dma);
}

static void op_done(FabDma *dma)
{
    DmaOp *op = SIM_CONTAINER_OF(dma, DmaOp, dma);
    DmaFlow *self = dma->owner;

    if (self->params.then_read && dma->type == FAB_TLP_MWR &&
        dma->status == FAB_STATUS_SC) {
        /* The read may not overtake the write, which leaves first. */
        dma->type = FAB_TLP_MRD;
        fab_endpoint_dma(self->params.device, dma);
        return;
    }
    dma->type = self->params.direction;
    if (op->mapped && dma->addr < FAB_ADDR_UNMAPPED) {
        if (dma->type == FAB_TLP_MWR && !self->params.then_read) {
            fab_endpoint_dma(self->params.device, op->entry);
        } else {
            op_unmap(self, op);
        }
    } else {
        op_over(self, op);
    }
}

static void dma_event(SimEvent *event)
{
    DmaFlow *self = (DmaFlow *)fab_flow_of_event(event);

    if (self->mapped && !self->mapper) { /* the rank is known now */
        FabMapperParams params = {
            .root = fab_component_as_root(self->params.target.component),
            .lend = fab_lend_of(self->params.device),
            .rank = self->flow.rank,
        };

        self->mapper = fab_mapper_new(&params);
    }
    if (self->issued == 0 && self->next_arrival == SIM_TIME_NONE) {
        self->next_arrival =
            event->time + (self->params.arrivals == FAB_ARRIVALS_POISSON
                               ? next_interval(self)
                               : 0);
    }
    issue(self);
}

static void dma_free(FabFlow *flow)
{
    DmaFlow *self = (DmaFlow *)flow;

    fab_mapper_free(self->mapper);
    g_free(self->mapped);
    g_free(self->entries);
    g_free(self->ops);
    g_free(self);
}

static void dma_wait(const FabFlow *flow, FabFlowWait *ret_wait)
{
    const DmaFlow *self = (const DmaFlow *)flow;

    ret_wait->ops = self->issued - self->finished;
}

static uint64_t dma_left(const FabFlow *flow, uint64_t *ret_grain)
{
    const DmaFlow *self = (const DmaFlow *)flow;

    *ret_grain = 1;
    /* One has to end the flow. */
    return MAX(self->params.count - self->issued, 1) - 1;
}

static uint64_t dma_unit_bytes(const FabFlow *flow)
{
    const DmaFlow *self = (const DmaFlow *)flow;

    return self->params.size_bytes * (self->params.then_read ? 2 : 1);
}

static void dma_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    DmaFlow *self = (DmaFlow *)flow;

    self->params.count -= units;
    fab_flow_left_out(flow, units, units * dma_unit_bytes(flow));
}

static const FabFlowOps dma_ops = {
    .left = dma_left,
    .skip = dma_skip,
    .unit_bytes = dma_unit_bytes,
    .marks = true,
    .event = dma_event,
    .free = dma_free,
    .wait = dma_wait,
};

/* ---- Set-up ---------------------------------------------------------- */

/*
 * The number of outstanding operations that keeps the engine busy. Reads:
 * enough to use all tags, even when the oldest operation needs only few of
 * them. Writes: enough to send without a gap while the next write is prepared.
 */
static uint32_t enough_outstanding(const FabDmaFlowParams *params)
{
    const FabEndpointParams *device = fab_endpoint_params(params->device);
    uint64_t count = 0;

    if (params->direction == FAB_TLP_MRD || params->then_read) {
        uint64_t requests = (params->size_bytes - 1) / device->read_bytes + 1;

        count = (device->reads + requests - 1) / requests + 1;
    }
    if (params->direction == FAB_TLP_MWR) {
        const FabPort *port =
            fab_component_port(fab_endpoint_component(params->device), 0);
        /* Ignores encoding and overhead, so the result is too large rather than
         * too small. */
        SimTime byte_ps = (4000 >> (fab_port_speed(port) - FAB_SPEED_2_5GT)) /
                          MAX(fab_port_width(port), 1);
        uint64_t send_ps = params->size_bytes * MAX(byte_ps, 1);

        SimTime move_ps =
            device->write_move.beat_bytes
                ? (params->size_bytes / device->write_move.beat_bytes + 1) *
                      device->write_move.beat_ps
                : 0;

        count += 2 + (device->write_latency + move_ps) / send_ps;
    }
    return CLAMP(count, 2, OUTSTANDING_MAX);
}

/* Returns the size of the working set; 0 on failure. */
static uint64_t working_set(const char *name, const FabDmaFlowParams *params,
                            GError **error)
{
    uint64_t bytes = params->working_set_bytes, space, all;

    if (!fab_target_size(&params->target, &space, error)) {
        return 0;
    }
    if (bytes == 0) {
        all = params->count > WORKING_SET_BYTES / params->size_bytes
                  ? MAX(WORKING_SET_BYTES, params->size_bytes)
                  : params->count * params->size_bytes;
        bytes = MAX(MIN(all, space), params->size_bytes);
    }
    if (bytes < params->size_bytes) {
        g_autofree char *size = fab_size_text(params->size_bytes);
        g_autofree char *set = fab_size_text(bytes);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: operations of %s do not fit into a working set of %s",
                    name, size, set);
        return 0;
    }
    return bytes;
}

/* The host of the driver: the borrower, or the device's own. */
static FabComponent *driver_of(FabEndpoint *device)
{
    const FabLend *lend = fab_lend_of(device);

    return lend ? fab_root_component(fab_lend_borrower(lend))
                : fab_component_root(fab_endpoint_component(device));
}

static bool check_params(const char *name, const FabDmaFlowParams *params,
                         GError **error)
{
    const char *wrong = NULL;

    if (params->direction != FAB_TLP_MWR && params->direction != FAB_TLP_MRD) {
        wrong = "the direction must be a write or a read";
    } else if (params->warm &&
               !fab_component_as_root(params->target.component)) {
        wrong = "only the memory of a host can be warm";
    } else if (params->then_read && params->direction != FAB_TLP_MWR) {
        wrong = "only a write can be followed by a read";
    } else if (params->maps_each &&
               params->target.component != driver_of(params->device)) {
        wrong = "only the memory of the host whose driver has the device can "
                "be mapped for each operation";
    } else if (params->size_bytes == 0) {
        wrong = "an operation must have at least 1 byte";
    } else if (params->count == 0) {
        wrong = "there must be at least 1 operation";
    } else if (params->outstanding > OUTSTANDING_MAX) {
        wrong = "at most 65536 operations can be outstanding";
    } else if (params->arrivals != FAB_ARRIVALS_CLOSED &&
               params->interval <= 0) {
        wrong = "the interval between arrivals must be above 0";
    }
    return fab_flow_accept(name, wrong, error);
}

/* Returns whether the driver has something to do for each buffer. */
static bool maps_each(const FabDmaFlowParams *params)
{
    return params->maps_each &&
           fab_mapper_is_needed(
               params->device, fab_component_as_root(params->target.component));
}

static void mapped_init(DmaFlow *self, uint32_t count)
{
    self->mapped = g_new0(FabMapped, count);
    self->entries = g_new0(FabDma, count);
    for (uint32_t i = 0; i < count; i++) {
        DmaOp *op = &self->ops[i];

        op->mapped = &self->mapped[i];
        op->mapped->size_bytes = self->params.size_bytes;
        op->mapped->owner = op;
        op->entry = &self->entries[i];
        *op->entry = (FabDma){
            .type = FAB_TLP_MWR,
            .addr = self->lines + (uint64_t)LINE_BYTES * i,
            .size_bytes = ENTRY_BYTES,
            .data = i,
            .flow = self->flow.number,
            .done = entry_left,
        };
    }
}

/* The number of operations that can be under way. */
static uint32_t ops_count(const FabDmaFlowParams *params)
{
    uint32_t count =
        params->outstanding ? params->outstanding : enough_outstanding(params);

    return MIN(count, params->count);
}

static void ops_init(DmaFlow *self)
{
    const FabDmaFlowParams *params = &self->params;
    uint32_t count = ops_count(params);

    self->ops = g_new0(DmaOp, count);
    for (uint32_t i = 0; i < count; i++) {
        self->ops[i].dma = (FabDma){
            .type = params->direction,
            .size_bytes = params->size_bytes,
            .flow = self->flow.number,
            .metered = true,
            .done = op_done,
            .owner = self,
        };
        self->ops[i].next = i + 1 < count ? &self->ops[i + 1] : NULL;
    }
    if (maps_each(params)) {
        mapped_init(self, count);
    }
    self->free = self->ops;
}

FabFlow *fab_dma_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                          const FabDmaFlowParams *params, GError **error)
{
    FabComponent *device = fab_endpoint_component(params->device);
    FabComponent *target = params->target.component;
    uint64_t bytes;
    FabBusAddr host, addr, entries = 0, lines = 0;
    DmaFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !check_params(name, params, error)) {
        return NULL;
    }
    bytes = working_set(name, params, error);
    if (bytes == 0 || !fab_target_take(&params->target, bytes, &host, error)) {
        return NULL;
    }
    addr = host;
    if (maps_each(params)) {
        uint64_t size_bytes = (uint64_t)LINE_BYTES * ops_count(params);

        if (!fab_target_take(&params->target, size_bytes, &entries, error) ||
            !fab_route_map(device, target, entries, size_bytes, &lines,
                           error)) {
            return NULL;
        }
    } else if (!fab_route_map_buffer(device, target, host, bytes, &addr,
                                     error)) {
        return NULL;
    }
    if (params->warm) {
        fab_root_warm(fab_component_as_root(target), host, bytes);
    }
    self = g_new0(DmaFlow, 1);
    self->params = *params;
    self->base = addr;
    self->slots = bytes / params->size_bytes;
    self->next_arrival = SIM_TIME_NONE;
    fab_flow_init(&self->flow, fabric, &dma_ops, name, warmup, params->start);
    self->flow.writes_are_operations = true;
    self->lines = lines;
    ops_init(self);
    if (lines) {
        fab_root_watch(fab_component_as_root(target), entries,
                       (uint64_t)LINE_BYTES * ops_count(params), entry_seen,
                       self);
    }
    return &self->flow;
}
