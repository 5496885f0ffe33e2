/* SPDX-License-Identifier: MIT */
#include "fab_flow_threads.h"

#include "fab_flow_priv.h"
#include "fab_size.h"

/* The default working set: larger than any cache, smaller than any window. */
#define WORKING_SET_BYTES (UINT64_C(64) << 20)

#define WARP_MOST  64u
#define LINE_LEAST 16u
#define LINE_MOST  128u
#define OPS_MOST   (1u << 20)

/* A place for an operation of a warp or core. */
typedef struct ThreadsOp {
    struct ThreadsFlow *flow;
    struct ThreadsOp *next; /* in the list of those that wait for a time */
    FabDma *dmas;           /* of a GPU */
    uint32_t warp;
    uint32_t left; /* requests that are not over */
    FabStatus status;
    SimTime begin;
    SimTime due;
} ThreadsOp;

typedef struct ThreadsFlow {
    FabFlow flow;
    FabThreadsFlowParams params;
    FabBusAddr base;     /* of the working set, for the device or CPU */
    uint32_t warps;      /* or cores */
    uint32_t span_bytes; /* from an operation to the next in memory */
    uint64_t slots;      /* of the working set, each a span */
    uint64_t issued, finished;
    uint64_t *issued_by; /* by warp */
    ThreadsOp *ops;
    FabDma *dmas;
    ThreadsOp *waiting;              /* by due */
    ThreadsOp *last;                 /* of them */
    uint64_t asked_ops, asked_bytes; /* of a GPU: issued so far */
    bool is_begun;
    bool issuing; /* an order to the engine is being given */
} ThreadsFlow;

static SimTime flow_now(const ThreadsFlow *self)
{
    return sim_engine_now(self->flow.fabric->engine);
}

/* ---- Coalescing -------------------------------------------------------- */

typedef struct Run {
    uint64_t begin, end;
} Run;

/* The bytes that the access at @offset touches: those of a write, and whole
 * sectors of a read. */
static Run touched(const FabThreadsFlowParams *params, uint64_t offset)
{
    uint64_t sector =
        params->direction == FAB_TLP_MRD ? params->sector_bytes : 1;

    return (Run){offset / sector * sector,
                 (offset + params->access_bytes + sector - 1) / sector *
                     sector};
}

/* Fills @runs with the requests of an operation of @threads threads whose first
 * one accesses @offset of the working set. Returns their number. */
static uint32_t coalesce(const FabThreadsFlowParams *params, uint64_t offset,
                         uint32_t threads, Run *runs)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < threads; i++) {
        Run run = touched(params, offset + (uint64_t)i * params->stride_bytes);
        Run *last = count ? &runs[count - 1] : NULL;

        if (last && run.begin <= last->end &&
            (run.end - 1) / params->line_bytes ==
                last->begin / params->line_bytes) {
            last->end = MAX(last->end, run.end);
        } else {
            runs[count++] = run;
        }
    }
    return count;
}

/* ---- Operations -------------------------------------------------------- */

static void op_issue(ThreadsOp *op);

/* Makes @op wait until @due, and then begin. All wait for the same time, so
 * none that waits is due later. */
static void op_wait(ThreadsOp *op, SimTime due)
{
    ThreadsFlow *self = op->flow;

    if (self->params.host) {
        fab_root_core_stores(self->params.host, true);
    }
    op->due = due;
    op->next = NULL;
    if (self->waiting) {
        self->last->next = op;
    } else {
        self->waiting = op;
        sim_event_reschedule(&self->flow.event, due);
    }
    self->last = op;
}

/* Begins the next operation in the place @op, if its warp has one left. */
static void op_begin(ThreadsOp *op, SimTime time)
{
    ThreadsFlow *self = op->flow;

    if (self->issued_by[op->warp] == self->params.count) {
        return;
    }
    self->issued_by[op->warp]++;
    op->begin = time;
    op->status = FAB_STATUS_SC;
    time += self->params.latency;
    /* An order may fail at once, and the next one as well. */
    if (time > flow_now(self) || self->issuing) {
        op_wait(op, time);
    } else {
        op_issue(op);
    }
}

static void op_over(ThreadsOp *op)
{
    ThreadsFlow *self = op->flow;
    uint32_t bytes = self->params.host && !self->flow.meter.of_cpu
                         ? self->params.access_bytes
                         : 0;
    SimTime now = flow_now(self);

    if (fab_flow_count(&self->flow, op->begin, bytes, op->status)) {
        sim_histogram_add(self->flow.latency, now - op->begin);
    }
    fab_flow_mark(&self->flow, 1);
    if (++self->finished == self->warps * self->params.count) {
        fab_flow_finish(&self->flow);
        return;
    }
    op_begin(op, now);
}

static void dma_done(FabDma *dma)
{
    ThreadsOp *op = dma->owner;

    if (op->status == FAB_STATUS_SC) {
        op->status = dma->status;
    }
    if (--op->left == 0) {
        op_over(op);
    }
}

static void read_over(void *owner, FabStatus status)
{
    ThreadsOp *op = owner;

    op->status = status;
    op_over(op);
}

static void write_over(void *owner)
{
    op_over(owner);
}

/* The offset of the next operation in the working set. */
static uint64_t next_offset(ThreadsFlow *self)
{
    uint64_t slot = self->params.random
                        ? sim_random_below(&self->flow.random, self->slots)
                        : self->issued % self->slots;

    self->issued++;
    return slot * self->span_bytes;
}

static void warp_issue(ThreadsOp *op, uint64_t offset)
{
    ThreadsFlow *self = op->flow;
    uint32_t threads = MIN(self->params.warp,
                           self->params.threads - op->warp * self->params.warp);
    Run runs[WARP_MOST];
    uint32_t count = coalesce(&self->params, offset, threads, runs);

    op->left = count;
    self->asked_ops++;
    self->issuing = true;
    for (uint32_t i = 0; i < count; i++) {
        op->dmas[i].addr = self->base + runs[i].begin;
        op->dmas[i].size_bytes = runs[i].end - runs[i].begin;
        self->asked_bytes += op->dmas[i].size_bytes;
        fab_endpoint_dma(self->params.device, &op->dmas[i]);
    }
    self->issuing = false;
}

static void op_issue(ThreadsOp *op)
{
    ThreadsFlow *self = op->flow;
    const FabThreadsFlowParams *params = &self->params;
    uint64_t offset = next_offset(self);

    if (params->device) {
        warp_issue(op, offset);
    } else if (params->direction == FAB_TLP_MRD) {
        fab_root_read(params->host, self->base + offset, params->access_bytes,
                      read_over, op, self->flow.number);
    } else {
        fab_root_store(params->host, self->base + offset, params->access_bytes,
                       self->flow.number, write_over, op);
    }
}

/* The flow begins, or the time of an operation has come. */
static void threads_event(SimEvent *event)
{
    ThreadsFlow *self = (ThreadsFlow *)fab_flow_of_event(event);
    uint32_t ops = self->warps * self->params.outstanding;
    SimTime now = event->time; /* op_wait() changes that of the event */

    if (!self->is_begun) {
        self->is_begun = true;
        for (uint32_t i = 0; i < ops; i++) {
            op_begin(&self->ops[i], now);
        }
        return;
    }
    while (self->waiting && self->waiting->due <= now) {
        ThreadsOp *op = self->waiting;

        self->waiting = op->next;
        if (self->params.host) {
            fab_root_core_stores(self->params.host, false);
        }
        op_issue(op);
    }
    if (self->waiting && !self->flow.done) {
        sim_event_reschedule(event, self->waiting->due);
    }
}

static void threads_free(FabFlow *flow)
{
    ThreadsFlow *self = (ThreadsFlow *)flow;

    g_free(self->issued_by);
    g_free(self->dmas);
    g_free(self->ops);
    g_free(self);
}

static void threads_wait(const FabFlow *flow, FabFlowWait *ret_wait)
{
    const ThreadsFlow *self = (const ThreadsFlow *)flow;
    uint64_t begun = 0;

    for (uint32_t i = 0; i < self->warps; i++) {
        begun += self->issued_by[i];
    }
    ret_wait->ops = begun - self->finished;
    for (const ThreadsOp *op = self->waiting; op; op = op->next) {
        ret_wait->ops--;
        ret_wait->stores += self->params.host ? 1 : 0;
    }
    ret_wait->host = self->params.host;
}

static uint64_t threads_left(const FabFlow *flow, uint64_t *ret_grain)
{
    const ThreadsFlow *self = (const ThreadsFlow *)flow;
    uint64_t most = 0;

    for (uint32_t i = 0; i < self->warps; i++) {
        most = MAX(most, self->issued_by[i]);
    }
    *ret_grain = self->warps;
    return self->params.count == UINT64_MAX
               ? UINT64_MAX / 2 / self->warps * self->warps
               : (MAX(self->params.count - most, 1) - 1) * self->warps;
}

/* Operations move as many bytes as those before, in the mean. */
static void threads_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    ThreadsFlow *self = (ThreadsFlow *)flow;
    uint64_t bytes = units * self->params.access_bytes;

    if (self->params.count != UINT64_MAX) {
        self->params.count -= units / self->warps;
    }
    if (self->params.device) {
        bytes = (double)self->asked_bytes / (double)MAX(self->asked_ops, 1) *
                (double)units;
    }
    fab_flow_left_out(flow, units, bytes);
}

static const FabFlowOps threads_ops = {
    .left = threads_left,
    .skip = threads_skip,
    .marks = true,
    .event = threads_event,
    .free = threads_free,
    .wait = threads_wait,
};

/* ---- Set-up ------------------------------------------------------------ */

static bool is_power(uint32_t value, uint32_t most)
{
    return value && value <= most && (value & (value - 1)) == 0;
}

static const char *gpu_wrong(const FabThreadsFlowParams *params)
{
    if (!is_power(params->access_bytes, 16)) {
        return "a thread of a GPU can access 1, 2, 4, 8 or 16 bytes";
    } else if (params->warp == 0 || params->warp > WARP_MOST) {
        return "a warp must have 1 to 64 threads";
    } else if (!is_power(params->line_bytes, LINE_MOST) ||
               params->line_bytes < LINE_LEAST ||
               !is_power(params->sector_bytes, params->line_bytes)) {
        return "a line must have 16 to 128 bytes, and a sector no more than a "
               "line, all powers of two";
    }
    return NULL;
}

static bool check_params(const char *name, const FabThreadsFlowParams *params,
                         GError **error)
{
    const char *wrong = params->device ? gpu_wrong(params) : NULL;

    if (wrong) {
        /* reported below */
    } else if (!params->device == !params->host) {
        wrong = "the threads must be those of a GPU or of a CPU";
    } else if (!is_power(params->access_bytes, 64)) {
        wrong = "an access must have 1 to 64 bytes, a power of two";
    } else if (params->stride_bytes < params->access_bytes ||
               params->stride_bytes % params->access_bytes != 0) {
        wrong = "the stride must be a multiple of the access";
    } else if (params->threads == 0 || params->outstanding == 0 ||
               (uint64_t)params->threads * params->outstanding > OPS_MOST) {
        wrong = "there must be 1 to 1048576 threads times accesses under way";
    } else if (params->count == 0) {
        wrong = "there must be at least 1 operation";
    } else if (params->host && params->direction == FAB_TLP_MWR &&
               params->outstanding > 1) {
        wrong = "a core writes one access after the other";
    }
    return fab_flow_accept(name, wrong, error);
}

/* The largest number of requests of an operation. */
static uint32_t requests_most(const FabThreadsFlowParams *params,
                              uint32_t span_bytes)
{
    uint32_t threads = params->device ? MIN(params->warp, params->threads) : 0;
    uint32_t grain = params->direction == FAB_TLP_MRD
                         ? MAX(params->sector_bytes, params->access_bytes)
                         : params->access_bytes;

    /* Without gaps it is one for each line, of which the first and the last may
     * be touched in part. */
    return params->device && params->stride_bytes <= grain
               ? MIN(threads, span_bytes / params->line_bytes + 2)
               : threads;
}

/* Gives each operation its place, and a GPU's its requests. */
static void ops_init(ThreadsFlow *self)
{
    const FabThreadsFlowParams *params = &self->params;
    uint32_t count = self->warps * params->outstanding;
    uint32_t most = requests_most(params, self->span_bytes);

    self->ops = g_new0(ThreadsOp, count);
    self->dmas = g_new0(FabDma, (gsize)count * most);
    self->issued_by = g_new0(uint64_t, self->warps);
    for (uint32_t i = 0; i < count; i++) {
        ThreadsOp *op = &self->ops[i];

        op->flow = self;
        op->warp = i % self->warps;
        op->dmas = self->dmas + (gsize)i * most;
        for (uint32_t j = 0; j < most; j++) {
            op->dmas[j].type = params->direction;
            op->dmas[j].is_direct = true;
            op->dmas[j].flow = self->flow.number;
            op->dmas[j].metered = true;
            op->dmas[j].done = dma_done;
            op->dmas[j].owner = op;
        }
    }
}

/* The bytes that the target must have; 0 on failure. */
static uint64_t working_set(const char *name,
                            const FabThreadsFlowParams *params, uint32_t span,
                            GError **error)
{
    uint64_t bytes = params->working_set_bytes, space;

    if (!fab_target_size(&params->target, &space, error)) {
        return 0;
    }
    if (bytes == 0) {
        bytes = MAX(MIN(WORKING_SET_BYTES, space), span);
    }
    if (bytes < span) {
        g_autofree char *touched = fab_size_text(span);
        g_autofree char *set = fab_size_text(bytes);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: an operation touches %s, which do not fit into a "
                    "working set of %s",
                    name, touched, set);
        return 0;
    }
    return bytes;
}

FabFlow *fab_threads_flow_new(FabFabric *fabric, const char *name,
                              SimTime warmup,
                              const FabThreadsFlowParams *params,
                              GError **error)
{
    FabComponent *from = params->device ? fab_endpoint_component(params->device)
                                        : fab_root_component(params->host);
    uint32_t warp = params->device ? params->warp : 1, span;
    FabBusAddr host, addr;
    ThreadsFlow *self;
    uint64_t bytes;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !check_params(name, params, error)) {
        return NULL;
    }
    span = params->stride_bytes * MIN(warp, params->threads);
    bytes = working_set(name, params, span, error);
    if (bytes == 0 || !fab_target_take(&params->target, bytes, &host, error) ||
        !(params->device ? fab_route_map_buffer(from, params->target.component,
                                                host, bytes, &addr, error)
                         : fab_route_map(from, params->target.component, host,
                                         bytes, &addr, error))) {
        return NULL;
    }
    self = g_new0(ThreadsFlow, 1);
    self->params = *params;
    if (params->host) {
        self->params.latency =
            params->direction == FAB_TLP_MWR
                ? fab_root_params(params->host)->cpu.mmio_write
                : 0;
        fab_root_use_cores(params->host, params->threads);
    }
    self->base = addr;
    self->warps = (params->threads + warp - 1) / warp;
    self->span_bytes = span;
    self->slots = bytes / span;
    fab_flow_init(&self->flow, fabric, &threads_ops, name, warmup,
                  params->start);
    self->flow.meter.of_cpu = params->host && from != params->target.component;
    self->flow.writes_are_operations = params->host;
    ops_init(self);
    return &self->flow;
}
