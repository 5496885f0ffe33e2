/* SPDX-License-Identifier: MIT */
#include "fab_flow_transfer.h"

#include "fab_flow_priv.h"

#define DOORBELL_BAR 0
#define WORD_BYTES   4u
#define PAGE_BYTES   4096u

/* Of so many copies whole ones are left out, and not chunks of them. */
#define CHUNKS_COPIES 128

/* The progress of a copy. */
typedef enum TransferStep {
    STEP_DRIVER,  /* the driver works */
    STEP_CONTROL, /* the first GPU reads the control data */
    STEP_MOVE,    /* the data move */
} TransferStep;

typedef struct TransferFlow {
    FabFlow flow;
    FabTransferFlowParams params;
    TransferStep step;
    SimTime begin;
    uint32_t finished; /* number of finished copies */
    FabStatus status;
    FabBusAddr doorbell; /* address for the driver's CPU */
    unsigned doorbell_watch, flag_watch;
    FabBusAddr write_buffers; /* for the writer: address of the buffers in
                                 memory, or of the other GPU */
    FabBusAddr read_buffers;  /* for the reader: address of the buffers */
    FabDma control, write, flag, probe, read;

    /* Chunks of the copy under way. */
    uint64_t size_bytes; /* of it */
    uint64_t chunks;
    uint64_t written, flagged, known, fetched; /* numbers of such chunks */
    uint32_t probes_left;
    bool is_writing, is_reading;
    bool by_chunks; /* it leaves out whole chunks, not copies */
} TransferFlow;

static SimTime flow_now(const TransferFlow *self)
{
    return sim_engine_now(self->flow.fabric->engine);
}

static uint64_t chunk_bytes(const TransferFlow *self, uint64_t chunk)
{
    uint64_t begin = chunk * self->params.chunk_bytes;

    return MIN(self->params.chunk_bytes, self->size_bytes - begin);
}

static FabBusAddr chunk_offset(const TransferFlow *self, uint64_t chunk)
{
    return chunk % self->params.buffers * self->params.chunk_bytes;
}

static void copy_begin(TransferFlow *self)
{
    self->begin = flow_now(self);
    self->status = FAB_STATUS_SC;
    self->chunks = (self->params.size_bytes + self->params.chunk_bytes - 1) /
                   self->params.chunk_bytes;
    self->size_bytes = self->params.size_bytes;
    self->write.size_bytes = self->size_bytes;
    self->written = 0;
    self->flagged = 0;
    self->known = 0;
    self->fetched = 0;
    self->step = STEP_DRIVER;
    sim_event_schedule(&self->flow.event,
                       flow_now(self) + self->params.cpu_time);
}

static void copy_over(TransferFlow *self)
{
    if (fab_flow_count(&self->flow, self->begin, 0, self->status)) {
        fab_flow_add_latency(&self->flow, self->begin);
    }
    if (!self->by_chunks) {
        fab_flow_mark(&self->flow, 1);
    } else if (self->flow.pace) {
        fab_pace_reset(self->flow.pace);
    }
    if (++self->finished == self->params.copies) {
        fab_flow_finish(&self->flow);
    } else {
        copy_begin(self);
    }
}

static void note_status(TransferFlow *self, const FabDma *dma)
{
    if (self->status == FAB_STATUS_SC) {
        self->status = dma->status;
    }
}

/* ---- Through memory -------------------------------------------------- */

static void chunk_write(TransferFlow *self)
{
    if (self->is_writing || self->written == self->chunks ||
        self->written - self->fetched == self->params.buffers) {
        return;
    }
    self->is_writing = true;
    self->write.addr =
        self->write_buffers + PAGE_BYTES + chunk_offset(self, self->written);
    self->write.size_bytes = chunk_bytes(self, self->written);
    fab_endpoint_dma(self->params.from, &self->write);
}

/* The reader probes until it has learned of the next chunk, then reads it. */
static void chunk_fetch(TransferFlow *self)
{
    if (self->probes_left > 0) {
        fab_endpoint_dma(self->params.to, &self->probe);
        return;
    }
    self->known++;
    self->read.addr =
        self->read_buffers + PAGE_BYTES + chunk_offset(self, self->fetched);
    self->read.size_bytes = chunk_bytes(self, self->fetched);
    fab_endpoint_dma(self->params.to, &self->read);
}

/* The reader begins to learn of the next chunk, if one is flagged. */
static void chunk_read(TransferFlow *self)
{
    if (self->is_reading || self->known == self->flagged) {
        return;
    }
    self->is_reading = true;
    self->probes_left = self->params.round_trips;
    chunk_fetch(self);
}

static void probe_done(FabDma *dma)
{
    TransferFlow *self = dma->owner;

    note_status(self, dma);
    self->probes_left--;
    chunk_fetch(self);
}

static void read_done(FabDma *dma)
{
    TransferFlow *self = dma->owner;

    note_status(self, dma);
    self->is_reading = false;
    if (++self->fetched == self->chunks) {
        copy_over(self);
        return;
    }
    if (self->by_chunks) {
        fab_flow_mark(&self->flow, 1);
    }
    chunk_write(self);
    chunk_read(self);
}

/* The flag behind a chunk is in memory. */
static void flag_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    TransferFlow *self = owner;

    self->flagged++;
    chunk_read(self);
}

static void flag_done(FabDma *dma)
{
    TransferFlow *self = dma->owner;

    self->is_writing = false;
    chunk_write(self);
}

static void write_done(FabDma *dma)
{
    TransferFlow *self = dma->owner;

    if (!self->params.via) {
        copy_over(self);
        return;
    }
    self->written++;
    fab_endpoint_dma(self->params.from, &self->flag);
}

/* ---- Both ------------------------------------------------------------ */

static void move_begin(TransferFlow *self)
{
    if (self->status != FAB_STATUS_SC) {
        copy_over(self);
    } else if (self->params.via) {
        chunk_write(self);
    } else {
        fab_endpoint_dma(self->params.from, &self->write);
    }
}

static void control_done(FabDma *dma)
{
    TransferFlow *self = dma->owner;

    note_status(self, dma);
    self->step = STEP_MOVE;
    sim_event_schedule(&self->flow.event, flow_now(self));
}

static void doorbell_seen(void *owner, FabBusAddr addr, uint64_t data)
{
    TransferFlow *self = owner;

    if (data != self->flow.number || self->step != STEP_DRIVER) {
        return;
    }
    self->step = STEP_CONTROL;
    sim_event_reschedule(&self->flow.event, flow_now(self));
}

static void transfer_event(SimEvent *event)
{
    TransferFlow *self = (TransferFlow *)fab_flow_of_event(event);

    if (!self->chunks) { /* the flow starts */
        copy_begin(self);
        return;
    }
    switch (self->step) {
    case STEP_DRIVER:
        fab_root_write(self->params.driver, self->doorbell, WORD_BYTES,
                       self->flow.number, self->flow.number);
        break;
    case STEP_CONTROL:
        fab_endpoint_dma(self->params.from, &self->control);
        break;
    case STEP_MOVE:
        move_begin(self);
        break;
    }
}

static void transfer_free(FabFlow *flow)
{
    TransferFlow *self = (TransferFlow *)flow;

    fab_endpoint_unwatch(self->params.from, self->doorbell_watch);
    if (self->params.via) {
        fab_root_unwatch(self->params.via, self->flag_watch);
    }
    g_free(self);
}

/* With @via, the copy is over when the reader is done. While the reader reads,
 * the copy waits for the reader; otherwise it waits for the next chunk. */
static void transfer_wait(const FabFlow *flow, FabFlowWait *ret_wait)
{
    const TransferFlow *self = (const TransferFlow *)flow;

    if (self->step == STEP_DRIVER) {
        ret_wait->own = sim_event_is_pending(&flow->event);
        ret_wait->step = ret_wait->own ? "driver" : "doorbell";
    } else if (self->step == STEP_CONTROL) {
        ret_wait->step = "control";
        ret_wait->device = self->params.from;
    } else if (self->is_reading) {
        ret_wait->step = self->probes_left > 0 ? "notice" : "read";
        ret_wait->device = self->params.to;
    } else if (self->params.via && self->flagged < self->written) {
        ret_wait->step = "flag";
        ret_wait->posted = true;
    } else {
        ret_wait->step = "write";
        ret_wait->device = self->params.from;
    }
}

/* Units are copies, or with memory in between, the chunks of one. */
static uint64_t transfer_left(const FabFlow *flow, uint64_t *ret_grain)
{
    const TransferFlow *self = (const TransferFlow *)flow;
    uint64_t kept;

    *ret_grain = 1;
    if (!self->by_chunks) {
        return self->params.copies - self->finished - 1;
    }
    /* The chunk that is being written remains, and one that is smaller. */
    kept = self->written + (self->is_writing ? 1 : 0) +
           (self->size_bytes % self->params.chunk_bytes ? 1 : 0);
    return self->chunks > kept ? self->chunks - kept : 0;
}

static uint64_t transfer_unit_bytes(const FabFlow *flow)
{
    const TransferFlow *self = (const TransferFlow *)flow;

    return self->by_chunks ? self->params.chunk_bytes : self->params.size_bytes;
}

/* Chunks in memory that the second GPU has not read. The first one stops when
 * the buffers are full. */
static uint64_t transfer_waiting(const FabFlow *flow)
{
    const TransferFlow *self = (const TransferFlow *)flow;

    return self->params.via
               ? (self->written - self->fetched) * self->params.chunk_bytes
               : 0;
}

static unsigned transfer_orders(FabFlow *flow, FabDma **ret_orders)
{
    TransferFlow *self = (TransferFlow *)flow;

    ret_orders[0] = &self->write;
    ret_orders[1] = &self->read;
    return self->params.via ? 2 : 1;
}

/* A GPU that does nothing waits for an order of the other one, but for the flag
 * behind a chunk, and while it looks for one. */
static unsigned transfer_under_way(const FabFlow *flow)
{
    const TransferFlow *self = (const TransferFlow *)flow;
    unsigned orders = (self->is_writing ? 1 : 0) | (self->is_reading ? 2 : 0);

    if (self->step != STEP_MOVE || sim_event_is_pending(&flow->event)) {
        return FAB_FLOW_BETWEEN;
    }
    if (!self->params.via) {
        return 1;
    }
    return self->flagged < self->written ||
                   (self->is_reading && self->probes_left > 0)
               ? orders | FAB_FLOW_BETWEEN
               : orders;
}

static void transfer_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    TransferFlow *self = (TransferFlow *)flow;

    if (!self->by_chunks) {
        self->params.copies -= units;
        fab_flow_left_out(flow, units, units * transfer_unit_bytes(flow));
        return;
    }
    flow->inside += time;
    self->chunks -= units;
    self->size_bytes -= units * self->params.chunk_bytes;
    fab_flow_left_out(flow, 0, units * self->params.chunk_bytes);
}

static const FabFlowOps transfer_ops = {
    .left = transfer_left,
    .skip = transfer_skip,
    .unit_bytes = transfer_unit_bytes,
    .waiting = transfer_waiting,
    .orders = transfer_orders,
    .under_way = transfer_under_way,
    .marks = true,
    .event = transfer_event,
    .free = transfer_free,
    .wait = transfer_wait,
};

/* ---- Set-up ---------------------------------------------------------- */

static bool check_params(const char *name, const FabTransferFlowParams *params,
                         GError **error)
{
    const FabComponent *from = fab_endpoint_component(params->from);
    const char *wrong = NULL;

    if (params->from == params->to) {
        wrong = "the two GPUs must not be the same";
    } else if (params->size_bytes == 0 || params->copies == 0) {
        wrong = "there must be at least 1 copy of at least 1 byte";
    } else if (params->control_bytes == 0) {
        wrong = "a copy must have at least 1 control byte";
    } else if (params->via &&
               (params->chunk_bytes == 0 || params->buffers == 0)) {
        wrong = "a copy through memory must have chunks and buffers";
    } else if (from->bars[DOORBELL_BAR].size_bytes < WORD_BYTES) {
        wrong = "the first GPU needs a BAR 0 for its doorbell";
    }
    return fab_flow_accept(name, wrong, error);
}

/* The addresses of everything that the driver and the GPUs share. */
typedef struct Places {
    FabBusAddr doorbell, control, flag, write, read;
} Places;

static bool find_places(const FabTransferFlowParams *params, Places *places,
                        GError **error)
{
    FabComponent *from = fab_endpoint_component(params->from);
    FabComponent *to = fab_endpoint_component(params->to);
    FabComponent *driver = fab_root_component(params->driver);
    FabTarget control = {driver, -1}, data = {to, -1};
    uint64_t bytes = params->size_bytes;

    if (params->via) {
        data.component = fab_root_component(params->via);
        bytes = PAGE_BYTES + params->buffers * params->chunk_bytes;
    }
    if (!fab_target_take(&control, params->control_bytes, &places->control,
                         error) ||
        !fab_route_map(driver, from, from->bars[DOORBELL_BAR].addr, WORD_BYTES,
                       &places->doorbell, error) ||
        !fab_route_map(from, driver, places->control, params->control_bytes,
                       &places->control, error)) {
        return false;
    }
    return fab_target_take(&data, bytes, &places->flag, error) &&
           fab_route_map(from, data.component, places->flag, bytes,
                         &places->write, error) &&
           (!params->via || fab_route_map(to, data.component, places->flag,
                                          bytes, &places->read, error));
}

static FabDma dma_of(TransferFlow *self, FabTlpType type, FabBusAddr addr,
                     uint64_t size_bytes, FabDmaFn done)
{
    return (FabDma){.type = type,
                    .addr = addr,
                    .size_bytes = size_bytes,
                    .flow = self->flow.number,
                    .done = done,
                    .owner = self};
}

FabFlow *fab_transfer_flow_new(FabFabric *fabric, const char *name,
                               SimTime warmup,
                               const FabTransferFlowParams *params,
                               GError **error)
{
    FabComponent *from = fab_endpoint_component(params->from);
    Places places = {0};
    TransferFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !check_params(name, params, error) ||
        !find_places(params, &places, error)) {
        return NULL;
    }
    self = g_new0(TransferFlow, 1);
    self->params = *params;
    if (!params->via) {
        self->params.chunk_bytes = params->size_bytes;
        self->params.buffers = 1;
    }
    self->doorbell = places.doorbell;
    self->write_buffers = places.write;
    self->read_buffers = places.read;
    fab_flow_init(&self->flow, fabric, &transfer_ops, name, warmup,
                  params->start);
    self->control = dma_of(self, FAB_TLP_MRD, places.control,
                           params->control_bytes, control_done);
    self->write =
        dma_of(self, FAB_TLP_MWR, places.write, params->size_bytes, write_done);
    self->by_chunks = params->via && params->copies < CHUNKS_COPIES;
    self->flag = dma_of(self, FAB_TLP_MWR, places.write, WORD_BYTES, flag_done);
    self->probe =
        dma_of(self, FAB_TLP_MRD, places.read, WORD_BYTES, probe_done);
    self->read = dma_of(self, FAB_TLP_MRD, places.read, WORD_BYTES, read_done);
    /* The data count where they arrive. */
    *(params->via ? &self->read.metered : &self->write.metered) = true;
    self->doorbell_watch =
        fab_endpoint_watch(params->from, from->bars[DOORBELL_BAR].addr,
                           WORD_BYTES, doorbell_seen, self);
    if (params->via) {
        self->flag_watch = fab_root_watch(params->via, places.flag, WORD_BYTES,
                                          flag_visible, self);
    }
    return &self->flow;
}
