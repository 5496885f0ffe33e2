/* SPDX-License-Identifier: MIT */
#include "fab_flow_move.h"

#include "fab_flow_priv.h"

/* A chunk in the engine's buffer: first a read, then a write. */
typedef struct MoveChunk {
    FabDma dma;
    uint64_t offset;
    struct MoveChunk *next; /* in the list of free ones */
} MoveChunk;

typedef struct MoveFlow {
    FabFlow flow;
    FabMoveFlowParams params;
    FabBusAddr from, to; /* for the device */
    SimTime begin;       /* of the operation under way */
    uint64_t finished;   /* operations */
    uint64_t read_bytes; /* of the operation: ordered to be read */
    uint64_t left_bytes; /* of the operation: written */
    FabStatus status;
    bool reading; /* a loop of chunks_read() is under way */
    MoveChunk *chunks, *free;
} MoveFlow;

static SimTime flow_now(const MoveFlow *self)
{
    return sim_engine_now(self->flow.fabric->engine);
}

/* Orders reads while the buffer has room. A read that fails at once may end the
 * operation in here; the next one waits for the event that ends its setup. */
static void chunks_read(MoveFlow *self)
{
    if (self->reading) { /* called from the loop below, which goes on */
        return;
    }
    self->reading = true;
    while (self->free && self->read_bytes < self->params.size_bytes &&
           !sim_event_is_pending(&self->flow.event)) {
        MoveChunk *chunk = self->free;

        self->free = chunk->next;
        chunk->offset = self->read_bytes;
        chunk->dma.type = FAB_TLP_MRD;
        chunk->dma.addr = self->from + chunk->offset;
        chunk->dma.size_bytes = MIN(self->params.chunk_bytes,
                                    self->params.size_bytes - self->read_bytes);
        chunk->dma.metered = false;
        self->read_bytes += chunk->dma.size_bytes;
        fab_endpoint_dma(self->params.device, &chunk->dma);
    }
    self->reading = false;
}

static void operation_begin(MoveFlow *self, bool has_setup)
{
    self->begin = flow_now(self);
    self->status = FAB_STATUS_SC;
    self->read_bytes = 0;
    self->left_bytes = 0;
    sim_event_schedule(&self->flow.event,
                       self->begin + (has_setup ? self->params.setup : 0) +
                           self->params.copy);
}

static void operation_over(MoveFlow *self)
{
    if (fab_flow_count(&self->flow, self->begin, 0, self->status)) {
        sim_histogram_add(self->flow.latency, flow_now(self) - self->begin);
    }
    fab_flow_mark(&self->flow, 1);
    if (++self->finished == self->params.count) {
        fab_flow_finish(&self->flow);
    } else {
        operation_begin(self, !self->params.queued);
    }
}

static void chunk_done(FabDma *dma)
{
    MoveChunk *chunk = SIM_CONTAINER_OF(dma, MoveChunk, dma);
    MoveFlow *self = dma->owner;

    if (self->status == FAB_STATUS_SC) {
        self->status = dma->status;
    }
    if (dma->type == FAB_TLP_MRD && dma->status == FAB_STATUS_SC) {
        dma->type = FAB_TLP_MWR;
        dma->addr = self->to + chunk->offset;
        dma->metered = true;
        fab_endpoint_dma(self->params.device, dma);
        return;
    }
    self->left_bytes += dma->size_bytes;
    chunk->next = self->free;
    self->free = chunk;
    if (self->left_bytes == self->params.size_bytes) {
        operation_over(self);
    } else {
        chunks_read(self);
    }
}

/* The first event starts the flow; all others end a setup. */
static void move_event(SimEvent *event)
{
    MoveFlow *self = (MoveFlow *)fab_flow_of_event(event);

    if (self->begin == SIM_TIME_NONE) {
        operation_begin(self, true);
    } else {
        chunks_read(self);
    }
}

static void move_free(FabFlow *flow)
{
    MoveFlow *self = (MoveFlow *)flow;

    g_free(self->chunks);
    g_free(self);
}

static uint64_t move_left(const FabFlow *flow, uint64_t *ret_grain)
{
    const MoveFlow *self = (const MoveFlow *)flow;

    *ret_grain = 1;
    return self->params.count - self->finished - 1;
}

static uint64_t move_unit_bytes(const FabFlow *flow)
{
    return ((const MoveFlow *)flow)->params.size_bytes;
}

static void move_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    MoveFlow *self = (MoveFlow *)flow;

    self->params.count -= units;
    fab_flow_left_out(flow, units, units * move_unit_bytes(flow));
}

static const FabFlowOps move_ops = {
    .left = move_left,
    .skip = move_skip,
    .unit_bytes = move_unit_bytes,
    .marks = true,
    .event = move_event,
    .free = move_free,
};

/* ---- Set-up ---------------------------------------------------------- */

static bool check_params(const char *name, const FabMoveFlowParams *params,
                         GError **error)
{
    const FabComponent *device = fab_endpoint_component(params->device);
    const char *wrong = NULL;

    if (params->size_bytes == 0) {
        wrong = "an operation must have at least 1 byte";
    } else if (params->count == 0) {
        wrong = "there must be at least 1 operation";
    } else if (params->chunk_bytes == 0 ||
               params->buffer_bytes < params->chunk_bytes) {
        wrong = "the buffer must hold a chunk of at least 1 byte";
    } else if (params->from.component == device ||
               params->to.component == device) {
        wrong = "a device cannot move its own memory; use a DMA flow";
    }
    return fab_flow_accept(name, wrong, error);
}

/* Reserves the memory at @target, and maps it for @device. */
static bool take(FabComponent *device, const FabTarget *target, uint64_t bytes,
                 FabBusAddr *ret_addr, GError **error)
{
    FabBusAddr addr;

    return fab_target_take(target, bytes, &addr, error) &&
           fab_route_map_buffer(device, target->component, addr, bytes,
                                ret_addr, error);
}

FabFlow *fab_move_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabMoveFlowParams *params, GError **error)
{
    FabComponent *device = fab_endpoint_component(params->device);
    uint32_t count;
    FabBusAddr from, to;
    MoveFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !check_params(name, params, error) ||
        !take(device, &params->from, params->size_bytes, &from, error) ||
        !take(device, &params->to, params->size_bytes, &to, error)) {
        return NULL;
    }
    self = g_new0(MoveFlow, 1);
    self->params = *params;
    self->from = from;
    self->to = to;
    self->begin = SIM_TIME_NONE;
    fab_flow_init(&self->flow, fabric, &move_ops, name, warmup, params->start);
    count = params->buffer_bytes / params->chunk_bytes;
    self->chunks = g_new0(MoveChunk, count);
    for (uint32_t i = 0; i < count; i++) {
        self->chunks[i].dma.flow = self->flow.number;
        self->chunks[i].dma.done = chunk_done;
        self->chunks[i].dma.owner = self;
        self->chunks[i].next = self->free;
        self->free = &self->chunks[i];
    }
    return &self->flow;
}
