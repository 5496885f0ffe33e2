/* SPDX-License-Identifier: MIT */
#include "fab_flow_copy.h"

#include "fab_flow_priv.h"

/* The driver's memory has a page for the completion record, and then the ring.
 * The ring is a page, or one command if that is larger. */
#define PAGE_BYTES    4096u
#define COMMAND_BYTES (64u << 10) /* size limit of a command */
#define RECORD_BYTES  4u
#define DOORBELL_BAR  0

/* The meaning of the flow's event. */
typedef enum CopyStep {
    STEP_START,
    STEP_FETCH, /* the device may fetch the next command */
    STEP_MOVE,  /* the device has set up the copy */
    STEP_OVER,  /* the data are moved, and the least time has passed */
    STEP_POLL,  /* the driver sees the completion record */
} CopyStep;

typedef struct CopyFlow {
    FabFlow flow;
    FabCopyFlowParams params;
    CopyStep step;
    FabBusAddr doorbell; /* address for the driver's CPU */
    FabBusAddr ring;     /* address for the device */
    uint32_t ring_slots;
    unsigned doorbell_watch, record_watch;
    FabDma command, move, record;
    uint32_t finished; /* number of finished copies */
    uint32_t left;     /* copies until the completion record */
    SimTime rung_at;   /* when the driver rang the doorbell */
    SimTime begin;     /* of the present copy: begin of its command's fetch */
    FabStatus status;  /* of the present copy */
    bool measured;     /* the last copy was measured, and did not fail */
    bool is_recorded;  /* the completion record is sent or has arrived */
} CopyFlow;

static SimTime copy_now(const CopyFlow *self)
{
    return sim_engine_now(self->flow.fabric->engine);
}

static void step_at(CopyFlow *self, CopyStep step, SimTime time)
{
    self->step = step;
    sim_event_schedule(&self->flow.event, time);
}

/* ---- The driver ------------------------------------------------------ */

/* Doorbells and records contain the number of the flow, because all flows of a
 * device have the same doorbell. */
static void doorbell_ring(CopyFlow *self)
{
    self->rung_at = copy_now(self);
    self->is_recorded = false;
    fab_root_write(self->params.driver, self->doorbell, RECORD_BYTES,
                   self->flow.number, self->flow.number);
}

/* The completion record is in the driver's memory, which it polls. */
static void record_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    CopyFlow *self = owner;
    SimTime poll = fab_root_params(self->params.driver)->cpu.poll;

    if (data == self->flow.number) {
        step_at(self, STEP_POLL,
                copy_now(self) +
                    sim_random_below(&self->flow.random, 2 * poll + 1));
    }
}

static void record_seen(CopyFlow *self)
{
    if (!self->params.queued && self->measured) {
        fab_flow_add_latency(&self->flow, self->rung_at);
    }
    if (self->finished == self->params.copies) {
        fab_flow_finish(&self->flow);
    } else {
        doorbell_ring(self);
    }
}

/* ---- The device ------------------------------------------------------ */

static void doorbell_seen(void *owner, FabBusAddr addr, uint64_t data)
{
    CopyFlow *self = owner;

    if (data != self->flow.number || self->left > 0) {
        return;
    }
    self->left = self->params.queued ? self->params.copies : 1;
    step_at(self, STEP_FETCH, copy_now(self));
}

static void command_fetch(CopyFlow *self)
{
    self->begin = copy_now(self);
    self->command.addr =
        self->ring + (FabBusAddr)(self->finished % self->ring_slots) *
                         self->params.command_bytes;
    fab_endpoint_dma(self->params.device, &self->command);
}

static void copy_over(CopyFlow *self)
{
    self->measured = fab_flow_count(&self->flow, self->begin, 0, self->status);
    if (self->params.queued && self->measured) {
        fab_flow_add_latency(&self->flow, self->begin);
    }
    self->finished++;
    fab_flow_mark(&self->flow, 1);
    if (--self->left > 0) {
        step_at(self, STEP_FETCH, copy_now(self));
    } else {
        self->is_recorded = true;
        fab_endpoint_dma(self->params.device, &self->record);
    }
}

/* The data of a copy are moved, or the copy has failed. */
static void move_done(FabDma *dma)
{
    CopyFlow *self = dma->owner;

    self->status = dma->status;
    step_at(self, STEP_OVER,
            MAX(copy_now(self),
                self->begin + self->params.least - self->flow.inside));
}

static void command_done(FabDma *dma)
{
    CopyFlow *self = dma->owner;

    if (dma->status != FAB_STATUS_SC) {
        move_done(dma);
    } else {
        self->move.size_bytes = self->params.size_bytes;
        step_at(self, STEP_MOVE, copy_now(self) + self->params.setup);
    }
}

static void record_done(FabDma *dma)
{
    CopyFlow *self = dma->owner;

    /* The record leaves after all written data. */
    if (self->params.direction == FAB_TLP_MWR && self->measured) {
        self->flow.result.end = copy_now(self);
    }
}

static void copy_event(SimEvent *event)
{
    CopyFlow *self = (CopyFlow *)fab_flow_of_event(event);

    switch (self->step) {
    case STEP_START:
        doorbell_ring(self);
        break;
    case STEP_FETCH:
        command_fetch(self);
        break;
    case STEP_MOVE:
        fab_endpoint_dma(self->params.device, &self->move);
        break;
    case STEP_OVER:
        copy_over(self);
        break;
    case STEP_POLL:
        record_seen(self);
        break;
    }
}

static void copy_free(FabFlow *flow)
{
    CopyFlow *self = (CopyFlow *)flow;

    fab_endpoint_unwatch(self->params.device, self->doorbell_watch);
    fab_root_unwatch(self->params.driver, self->record_watch);
    g_free(self);
}

/* A copy is under way from the doorbell on, or, if @queued, from the fetch of
 * its command on. */
static void copy_wait(const FabFlow *flow, FabFlowWait *ret_wait)
{
    const CopyFlow *self = (const CopyFlow *)flow;
    bool pending = sim_event_is_pending(&flow->event);

    ret_wait->own = pending;
    if (self->left == 0) { /* between copies: the doorbell, or the record */
        ret_wait->ops = self->params.queued ? 0 : 1;
        ret_wait->step = pending             ? "poll"
                         : self->is_recorded ? "record"
                                             : "doorbell";
        return;
    }
    switch (self->step) {
    case STEP_MOVE:
        ret_wait->step = pending ? "set-up" : "data";
        break;
    case STEP_OVER:
        ret_wait->step = "least time";
        break;
    default:
        ret_wait->step = "command";
    }
}

static uint64_t copy_left(const FabFlow *flow, uint64_t *ret_grain)
{
    const CopyFlow *self = (const CopyFlow *)flow;
    uint32_t begun = self->left > 0 ? 1 : 0;

    *ret_grain = 1;
    return self->params.copies - self->finished - begun;
}

static uint64_t copy_unit_bytes(const FabFlow *flow)
{
    return ((const CopyFlow *)flow)->params.size_bytes;
}

static unsigned copy_orders(FabFlow *flow, FabDma **ret_orders)
{
    ret_orders[0] = &((CopyFlow *)flow)->move;
    return 1;
}

static unsigned copy_under_way(const FabFlow *flow)
{
    return ((const CopyFlow *)flow)->step == STEP_MOVE &&
                   !sim_event_is_pending(&flow->event)
               ? 1
               : FAB_FLOW_BETWEEN;
}

static void copy_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    CopyFlow *self = (CopyFlow *)flow;

    self->params.copies -= units;
    if (self->params.queued) {
        self->left -= units;
    }
    fab_flow_left_out(flow, units, units * copy_unit_bytes(flow));
}

static const FabFlowOps copy_ops = {
    .left = copy_left,
    .skip = copy_skip,
    .unit_bytes = copy_unit_bytes,
    .orders = copy_orders,
    .under_way = copy_under_way,
    .marks = true,
    .event = copy_event,
    .free = copy_free,
    .wait = copy_wait,
};

/* ---- Set-up ---------------------------------------------------------- */

static bool check_params(const char *name, const FabCopyFlowParams *params,
                         GError **error)
{
    const FabComponent *device = fab_endpoint_component(params->device);
    const char *wrong = NULL;

    if (params->direction != FAB_TLP_MWR && params->direction != FAB_TLP_MRD) {
        wrong = "the direction must be a write or a read";
    } else if (params->size_bytes == 0) {
        wrong = "a copy must have at least 1 byte";
    } else if (params->copies == 0) {
        wrong = "there must be at least 1 copy";
    } else if (params->command_bytes == 0 ||
               params->command_bytes > COMMAND_BYTES) {
        wrong = "a command must have 1 to 65536 bytes";
    } else if (params->setup < 0 || params->least < 0) {
        wrong = "the times of a copy must not be negative";
    } else if (device->bars[DOORBELL_BAR].size_bytes < RECORD_BYTES) {
        wrong = "the device needs a BAR 0 for its doorbell";
    }
    return fab_flow_accept(name, wrong, error);
}

/* The addresses of everything that the driver and the device share. */
typedef struct CopyPlaces {
    FabBusAddr doorbell; /* address for the CPU */
    FabBusAddr own;      /* record and ring in the driver's memory */
    FabBusAddr ring;     /* the same, address for the device */
    FabBusAddr buffer;   /* address for the device */
    uint32_t ring_slots;
} CopyPlaces;

static bool find_places(const FabCopyFlowParams *params, CopyPlaces *places,
                        GError **error)
{
    FabComponent *device = fab_endpoint_component(params->device);
    FabComponent *driver = fab_root_component(params->driver);
    FabTarget own = {driver, -1};
    uint64_t own_bytes;

    places->ring_slots = MAX(PAGE_BYTES / params->command_bytes, 1);
    own_bytes = PAGE_BYTES + places->ring_slots * params->command_bytes;
    return fab_target_take(&own, own_bytes, &places->own, error) &&
           fab_target_take(&params->buffer, params->size_bytes, &places->buffer,
                           error) &&
           fab_route_map(driver, device, device->bars[DOORBELL_BAR].addr,
                         RECORD_BYTES, &places->doorbell, error) &&
           fab_route_map(device, driver, places->own, own_bytes, &places->ring,
                         error) &&
           fab_route_map_buffer(device, params->buffer.component,
                                places->buffer, params->size_bytes,
                                &places->buffer, error);
}

static void dmas_init(CopyFlow *self, const CopyPlaces *places)
{
    uint32_t number = self->flow.number;

    self->command = (FabDma){
        .type = FAB_TLP_MRD,
        .is_fetch = true,
        .size_bytes = self->params.command_bytes,
        .flow = number,
        .done = command_done,
        .owner = self,
    };
    self->move = (FabDma){
        .type = self->params.direction,
        .addr = places->buffer,
        .size_bytes = self->params.size_bytes,
        .metered = true,
        .flow = number,
        .done = move_done,
        .owner = self,
    };
    self->record = (FabDma){
        .type = FAB_TLP_MWR,
        .addr = places->ring,
        .size_bytes = RECORD_BYTES,
        .data = number,
        .flow = number,
        .done = record_done,
        .owner = self,
    };
}

FabFlow *fab_copy_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabCopyFlowParams *params, GError **error)
{
    FabComponent *device = fab_endpoint_component(params->device);
    CopyPlaces places;
    CopyFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !check_params(name, params, error) ||
        !find_places(params, &places, error)) {
        return NULL;
    }
    self = g_new0(CopyFlow, 1);
    self->params = *params;
    self->doorbell = places.doorbell;
    self->ring = places.ring + PAGE_BYTES;
    self->ring_slots = places.ring_slots;
    fab_flow_init(&self->flow, fabric, &copy_ops, name, warmup, params->start);
    dmas_init(self, &places);
    self->doorbell_watch =
        fab_endpoint_watch(params->device, device->bars[DOORBELL_BAR].addr,
                           RECORD_BYTES, doorbell_seen, self);
    self->record_watch = fab_root_watch(params->driver, places.own,
                                        RECORD_BYTES, record_visible, self);
    return &self->flow;
}
