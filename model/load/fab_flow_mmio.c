/* SPDX-License-Identifier: MIT */
#include "fab_flow_mmio.h"

#include "fab_flow_priv.h"

/* Operations use ascending addresses in a range of this size, and then begin
 * again. */
#define RANGE_BYTES 4096u

typedef struct MmioFlow {
    FabFlow flow;
    FabMmioFlowParams params;
    FabBusAddr base; /* address of the range for the CPU */
    uint32_t step_bytes;
    uint32_t range_bytes;
    uint64_t finished;
    SimTime begin;    /* of the present operation */
    FabRoot *watched; /* host whose CPU sees the writes; NULL: none */
    unsigned watch;
    FabBusAddr answer; /* address of the range for answers, for that CPU */
    unsigned answer_watch;
    enum {
        STEP_BEGIN,
        STEP_SEEN,
        STEP_ANSWERED
    } step; /* at the next event */
} MmioFlow;

static void next_begin(MmioFlow *self);

static void op_over(MmioFlow *self, FabStatus status)
{
    uint32_t bytes = self->flow.meter.of_cpu ? 0 : self->params.size_bytes;

    if (fab_flow_count(&self->flow, self->begin, bytes, status)) {
        sim_histogram_add(self->flow.latency,
                          self->flow.result.end - self->begin);
    }
    fab_flow_mark(&self->flow, 1);
    if (++self->finished == self->params.count) {
        fab_flow_finish(&self->flow);
    } else if (self->params.between > 0) {
        self->step = STEP_BEGIN;
        sim_event_schedule(&self->flow.event,
                           sim_engine_now(self->flow.fabric->engine) +
                               self->params.between);
    } else {
        next_begin(self);
    }
}

static void write_over(void *owner)
{
    op_over(owner, FAB_STATUS_SC);
}

/* Time until the CPU of @host has seen a write that is in its memory */
static SimTime until_seen(MmioFlow *self, FabRoot *host)
{
    const FabRootParams *root = fab_root_params(host);

    if (self->params.seen == FAB_SEEN_INTERRUPT) {
        return root->cpu.interrupt;
    }
    return sim_random_below(&self->flow.random, 2 * root->cpu.poll + 1);
}

/* A write of this operation is in the memory of @host. */
static void visible(MmioFlow *self, FabRoot *host, uint64_t data, int step)
{
    if (data != self->finished + 1) {
        return;
    }
    self->step = step;
    sim_event_schedule(&self->flow.event,
                       sim_engine_now(self->flow.fabric->engine) +
                           until_seen(self, host));
}

static void write_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    MmioFlow *self = owner;

    visible(self, self->watched, data, STEP_SEEN);
}

static void answer_visible(void *owner, FabBusAddr addr, uint64_t data)
{
    MmioFlow *self = owner;

    visible(self, self->params.host, data, STEP_ANSWERED);
}

static void read_over(void *owner, FabStatus status)
{
    op_over(owner, status);
}

static FabBusAddr offset_of(const MmioFlow *self)
{
    return self->finished * self->step_bytes % self->range_bytes;
}

/* Neither fab_root_write_then() nor fab_root_read() calls back at once, so this
 * does not recurse. */
static void next_begin(MmioFlow *self)
{
    const FabMmioFlowParams *params = &self->params;
    FabBusAddr addr = self->base + offset_of(self);

    self->begin = sim_engine_now(self->flow.fabric->engine);
    if (params->direction == FAB_TLP_MWR) {
        fab_root_write_then(params->host, addr, params->size_bytes,
                            params->seen ? self->finished + 1 : 0,
                            self->flow.number, params->seen ? NULL : write_over,
                            self);
    } else {
        fab_root_read(params->host, addr, params->size_bytes, read_over, self,
                      self->flow.number);
    }
}

/* An operation begins, or a CPU sees a write. */
static void mmio_event(SimEvent *event)
{
    MmioFlow *self = (MmioFlow *)fab_flow_of_event(event);

    if (self->step == STEP_BEGIN) {
        next_begin(self);
    } else if (self->step == STEP_SEEN &&
               self->params.seen == FAB_SEEN_ANSWERED) {
        fab_root_write_then(self->watched, self->answer + offset_of(self),
                            self->params.size_bytes, self->finished + 1,
                            self->flow.number, NULL, NULL);
    } else {
        op_over(self, FAB_STATUS_SC);
    }
}

static void mmio_free(FabFlow *flow)
{
    MmioFlow *self = (MmioFlow *)flow;

    if (self->watched) {
        fab_root_unwatch(self->watched, self->watch);
    }
    if (self->params.seen == FAB_SEEN_ANSWERED) {
        fab_root_unwatch(self->params.host, self->answer_watch);
    }
    g_free(self);
}

static uint64_t mmio_left(const FabFlow *flow, uint64_t *ret_grain)
{
    const MmioFlow *self = (const MmioFlow *)flow;

    *ret_grain = 1;
    return self->params.count - self->finished - 1;
}

static void mmio_skip(FabFlow *flow, uint64_t units, SimTime time)
{
    MmioFlow *self = (MmioFlow *)flow;

    self->params.count -= units;
    fab_flow_left_out(flow, units, units * self->params.size_bytes);
}

static const FabFlowOps mmio_ops = {
    .left = mmio_left,
    .skip = mmio_skip,
    .marks = true,
    .event = mmio_event,
    .free = mmio_free,
};

static bool check_params(const char *name, const FabMmioFlowParams *params,
                         GError **error)
{
    const char *wrong = NULL;

    if (params->direction != FAB_TLP_MWR && params->direction != FAB_TLP_MRD) {
        wrong = "the direction must be a write or a read";
    } else if (params->size_bytes == 0 || params->size_bytes > RANGE_BYTES ||
               (params->size_bytes > FAB_LINE_BYTES &&
                (params->direction != FAB_TLP_MWR ||
                 !fab_root_params(params->host)->cpu.combine))) {
        wrong = "a CPU can write and read 1 to 64 bytes, and write up to 4096 "
                "if it has write-combining buffers";
    } else if (params->count == 0) {
        wrong = "there must be at least 1 operation";
    } else if (params->between < 0 || params->between > SIM_S) {
        wrong = "the time between two operations must be 0 to 1 s";
    } else if (params->seen &&
               (params->direction != FAB_TLP_MWR ||
                !fab_component_as_root(params->target.component))) {
        wrong = "only a write to the memory of a host can be seen";
    }
    return fab_flow_accept(name, wrong, error);
}

/* Finds memory for the answers: *ret_own is its address in the host, and
 * *ret_answer that for the other CPU. False and @error if it has none. */
static bool find_answers(const FabMmioFlowParams *params, uint32_t range_bytes,
                         FabBusAddr *ret_own, FabBusAddr *ret_answer,
                         GError **error)
{
    FabTarget own = {fab_root_component(params->host), -1};

    return params->seen != FAB_SEEN_ANSWERED ||
           (fab_target_take(&own, range_bytes, ret_own, error) &&
            fab_route_map(params->target.component, own.component, *ret_own,
                          range_bytes, ret_answer, error));
}

FabFlow *fab_mmio_flow_new(FabFabric *fabric, const char *name, SimTime warmup,
                           const FabMmioFlowParams *params, GError **error)
{
    uint32_t step = 1, range;
    uint64_t space;
    FabBusAddr addr, target, own = 0, answer = 0;
    MmioFlow *self;

    if (!fab_flow_check(fabric, name, params->start, error) ||
        !check_params(name, params, error) ||
        !fab_target_size(&params->target, &space, error)) {
        return NULL;
    }
    /* With a power of two as step, no operation crosses a 4 KiB boundary. */
    while (step < params->size_bytes) {
        step *= 2;
    }
    range = MIN(MIN(RANGE_BYTES / step, params->count) * step,
                MAX(space / step, 1) * step);
    if (!fab_target_take(&params->target, range, &target, error) ||
        !fab_route_map(fab_root_component(params->host),
                       params->target.component, target, range, &addr, error) ||
        !find_answers(params, range, &own, &answer, error)) {
        return NULL;
    }
    self = g_new0(MmioFlow, 1);
    self->params = *params;
    self->base = addr;
    self->step_bytes = step;
    self->range_bytes = range;
    fab_flow_init(&self->flow, fabric, &mmio_ops, name, warmup, params->start);
    /* An answer moves no data, and neither does the own memory through a link.
     */
    self->flow.meter.of_cpu =
        params->seen != FAB_SEEN_ANSWERED &&
        params->target.component != fab_root_component(params->host);
    self->flow.writes_are_operations = true;
    if (params->seen) {
        self->watched = fab_component_as_root(params->target.component);
        self->watch =
            fab_root_watch(self->watched, target, range, write_visible, self);
    }
    if (params->seen == FAB_SEEN_ANSWERED) {
        self->answer = answer;
        self->answer_watch =
            fab_root_watch(params->host, own, range, answer_visible, self);
    }
    return &self->flow;
}
