/* SPDX-License-Identifier: MIT */
#include "fab_flow_list_priv.h"

#include <math.h>

/* Work is left out if that saves at least so many batches. */
#define BATCHES_WORTH 4

/* Operations that mostly end together. */
#define OPS_TOGETHER 2

/* Bytes of an order are left out in multiples of a page, so that the requests
 * behind them have the same places in their pages. */
#define DMA_GRAIN 4096

static bool is_under_way(const FabFlow *flow)
{
    return flow->started && !flow->done && flow->waits_for == 0;
}

/* The time of translations in @sent bytes that have no address of each other,
 * by pages so large that they may not have been seen in that. */
static double unseen_time(const FabFlow *flow, uint64_t sent)
{
    FabCaching sum = {.seen_bytes = sent};

    fab_fabric_caching(flow->fabric, &sum);
    return sum.unseen_ps * (double)sent;
}

/* Returns whether the pace of @flow is known well enough. @left: units. */
static bool is_known(const FlowList *list, FabFlow *flow, uint64_t left)
{
    FabPaceResult *steady = &flow->steady;
    double batches = (double)left / (double)flow->pace->batch_units, unseen;

    /* It is long: there is more than it has done, by many batches. */
    flow->skipped.never_steady |=
        flow->pace->count >= FAB_PACE_BATCHES / 2 && batches > FAB_PACE_BATCHES;
    if (!fab_pace_judge(flow->pace, batches, list->accuracy, steady)) {
        return false;
    }
    unseen = unseen_time(flow, steady->sent) / (double)steady->time;
    steady->half_ps += unseen * steady->unit_ps;
    steady->half_latency += unseen * steady->latency;
    return steady->half_ps <= list->accuracy * steady->unit_ps &&
           steady->half_latency <= list->accuracy * steady->latency;
}

/* Sets @time to the least of it and what @flow may leave out. Returns false if
 * its pace is not known well enough. */
static bool consider(const FlowList *list, FabFlow *flow, SimTime now,
                     double *time)
{
    uint64_t grain, left;

    if (!flow->ops->left || flow->result.failed ||
        flow->start > now + list->skipped || now < flow->warmup) {
        return false;
    }
    left = flow->ops->left(flow, &grain);
    if (!flow->ops->marks) { /* its units are time */
        flow->steady = (FabPaceResult){.unit_ps = 1};
    } else if (flow->pace->count == 0 || !is_known(list, flow, left)) {
        return false;
    }
    *time = MIN(*time, (double)left * flow->steady.unit_ps);
    return true;
}

/* The time of a batch of @flow. */
static double batch_time(const FabFlow *flow)
{
    return flow->ops->marks
               ? flow->steady.unit_ps * (double)flow->pace->batch_units
               : 0;
}

/* Returns the time that all flows may leave out; 0: it is not known, or not
 * worth it. */
static double time_of(FlowList *list, SimTime now)
{
    double time = INFINITY, longest = 0, most = INFINITY;

    for (unsigned i = 0; i < list->flows->len; i++) {
        FabFlow *flow = list->flows->pdata[i];

        if (!is_under_way(flow)) {
            continue;
        }
        if (!consider(list, flow, now, &time)) {
            return 0;
        }
        longest = MAX(longest, batch_time(flow));
        if (flow->ops->marks) {
            most = MIN(most, batch_time(flow) * flow->steady.most);
        }
    }
    if (list->stop != SIM_TIME_NONE) {
        time =
            MIN(time, (double)(list->stop - list->skipped - now) - 2 * longest);
    }
    return time > most || time < BATCHES_WORTH * longest ? 0 : time;
}

/* The units of @flow in @time, in whole grains. */
static uint64_t units_in(const FabFlow *flow, double time)
{
    uint64_t grain, left = flow->ops->left(flow, &grain);
    double grains = floor(time / flow->steady.unit_ps / (double)grain + 1e-9);

    return MIN((uint64_t)grains, left / grain) * grain;
}

/* Shortens @time to whole grains of the flow that has the largest. Returns 0 if
 * a flow would leave nothing out. */
static SimTime whole_time(const FlowList *list, SimTime now, double time)
{
    double longest = 0, whole = time;

    for (unsigned i = 0; i < list->flows->len; i++) {
        const FabFlow *flow = list->flows->pdata[i];
        uint64_t grain, units;

        if (!is_under_way(flow) || !flow->ops->marks) {
            continue;
        }
        units = units_in(flow, time);
        (void)flow->ops->left(flow, &grain);
        if (units == 0) {
            return 0;
        }
        if ((double)grain * flow->steady.unit_ps > longest) {
            longest = (double)grain * flow->steady.unit_ps;
            whole = (double)units * flow->steady.unit_ps;
        }
    }
    return (SimTime)whole;
}

/* The error of the pace of @flow, as a share. */
static double pace_share(const FabFlow *flow)
{
    return flow->ops->marks ? flow->steady.half_ps / flow->steady.unit_ps : 0;
}

/* The largest error of the other flows: when they end, by which @flow goes on
 * at another pace, is known no better. */
static double share_of_others(const FlowList *list, const FabFlow *flow)
{
    double most = 0;

    for (unsigned i = 0; i < list->flows->len; i++) {
        const FabFlow *other = list->flows->pdata[i];

        if (other != flow && is_under_way(other)) {
            most = MAX(most, pace_share(other));
        }
    }
    return most;
}

static void leave_out(FabFlow *flow, SimTime time, double others)
{
    uint64_t units = units_in(flow, (double)time + 1), grain;
    double whole = (double)units * flow->steady.unit_ps;

    (void)flow->ops->left(flow, &grain);
    flow->ops->skip(flow, flow->ops->marks ? units : (uint64_t)time, time);
    flow->skipped.time += time;
    if (flow->ops->marks) {
        /* Of time, of the last grain that did not fit, and of operations that
         * end together: a number of them may begin and end among those. */
        flow->skipped.half +=
            (SimTime)((double)time * (pace_share(flow) + others) +
                      fabs((double)time - whole) +
                      (grain == 1 ? OPS_TOGETHER * flow->steady.unit_ps : 0));
    }
}

/* A batch has ended. What is left out changes no pace, so the batches before
 * stay. */
static void skip_event(SimEvent *event)
{
    FlowList *list = SIM_CONTAINER_OF(event, FlowList, skip_event);
    SimTime now = event->time;
    SimTime time = whole_time(list, now, time_of(list, now));

    if (time <= 0) {
        return;
    }
    for (unsigned i = 0; i < list->flows->len; i++) {
        FabFlow *flow = list->flows->pdata[i];

        if (is_under_way(flow)) {
            leave_out(flow, time, share_of_others(list, flow));
        }
    }
    list->skipped += time;
    if (list->stop != SIM_TIME_NONE) {
        sim_engine_stop(event->engine);
    }
}

/* The progress of @flow until @now. */
static FabPaceMoment moment_of(const FabFlow *flow, SimTime now)
{
    const FabMeter *meter = &flow->meter;
    uint64_t left = meter->left + meter->last_left;
    uint64_t arrived = meter->settled - meter->early;
    FabCaching sum = {0};

    fab_fabric_caching(flow->fabric, &sum);
    return (FabPaceMoment){
        .at = now,
        .sent = left,
        .under_way = left > arrived ? left - arrived : 0,
        .ended = flow->ops->unit_bytes
                     ? flow->pace->done * flow->ops->unit_bytes(flow)
                     : 0,
        .latency_sum = sim_histogram_sum(flow->latency),
        .latency_count = sim_histogram_count(flow->latency),
        .held = sum.held,
        .missed = sum.missed,
    };
}

void fab_flow_marked(FabFlow *flow, uint64_t units)
{
    FlowList *list = fab_flow_list_find(flow->fabric);
    SimTime now = sim_engine_now(flow->fabric->engine);
    FabPace *pace = flow->pace;
    FabPaceMoment moment;
    uint64_t grain = 1;

    if (now < flow->warmup || flow->done) {
        return;
    }
    if (!pace->has_begun) {
        (void)flow->ops->left(flow, &grain);
        pace->streams = grain == DMA_GRAIN;
    }
    if (!fab_pace_mark(pace, units, grain)) {
        return;
    }
    moment = moment_of(flow, now);
    if (fab_pace_note(pace, &moment) &&
        !sim_event_is_pending(&list->skip_event)) {
        sim_event_schedule(&list->skip_event, now);
    }
}

void fab_flow_left_out(FabFlow *flow, uint64_t operations, uint64_t bytes)
{
    flow->result.operations += operations;
    flow->meter.other += bytes;
    flow->skipped.operations += operations;
    flow->skipped.latency_sum += (double)operations * flow->steady.latency;
    flow->skipped.half_latency +=
        (double)operations * flow->steady.half_latency;
}

void fab_flow_pace_changed(FlowList *list)
{
    for (unsigned i = 0; list->accuracy > 0 && i < list->flows->len; i++) {
        FabFlow *flow = list->flows->pdata[i];

        if (flow->pace) {
            fab_pace_reset(flow->pace);
        }
    }
}

/* ---- Orders of a DMA engine --------------------------------------------- */

uint64_t fab_flow_dma_left(const FabDma *dma, uint64_t *ret_grain)
{
    *ret_grain = DMA_GRAIN;
    /* The last page is simulated. */
    return dma->issued_bytes > 0 &&
                   dma->size_bytes - dma->issued_bytes > DMA_GRAIN
               ? dma->size_bytes - dma->issued_bytes - DMA_GRAIN
               : 0;
}

void fab_flow_dma_skip(FabFlow *flow, FabDma *dma, uint64_t bytes)
{
    dma->size_bytes -= bytes;
    fab_flow_left_out(flow, 0, bytes);
}

/* ---- Access -------------------------------------------------------------- */

void fab_flows_set_accuracy(FabFabric *fabric, double share)
{
    FlowList *list = fab_flow_list(fabric);

    g_assert(list->started == 0 && share > 0);
    list->accuracy = share;
    sim_event_init(&list->skip_event, fabric->engine, skip_event,
                   SIM_PRIORITY_NORMAL, fabric->ranks);
    for (unsigned i = 0; i < list->flows->len; i++) {
        FabFlow *flow = list->flows->pdata[i];

        flow->pace =
            flow->ops->left && flow->ops->marks ? g_new0(FabPace, 1) : NULL;
    }
}

SimTime fab_flows_skipped(const FabFabric *fabric)
{
    const FlowList *list = fab_flow_list_find(fabric);

    return list ? list->skipped : 0;
}

void fab_flow_skipped(const FabFlow *flow, FabFlowSkipped *ret_skipped)
{
    uint64_t all = flow->result.operations;

    *ret_skipped = flow->skipped;
    ret_skipped->half_latency = all ? flow->skipped.half_latency / all : 0;
}
