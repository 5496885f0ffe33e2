/* SPDX-License-Identifier: MIT */
#include "fab_flow_list_priv.h"

#include <math.h>

/* Work is left out if that saves at least so many batches. */
#define BATCHES_WORTH 4

/* Operations that mostly end together. */
#define OPS_TOGETHER 2

/* The part of the error of a unit that the bytes within may have. */
#define PART_SHARE 0.75

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

/* The time since the first operation of @flow. */
static double time_so_far(const FabFlow *flow)
{
    SimTime now = sim_engine_now(flow->fabric->engine);

    return flow->result.operations > 0
               ? (double)(now - flow->result.begin + flow->skipped.time)
               : 0;
}

/* Returns whether @pace of @flow is known so well that the time of the flow is
 * known within @share when @left units are left out. */
static bool is_known(FabFlow *flow, const FabPace *pace, uint64_t left,
                     double share, FabPaceResult *ret_steady)
{
    double batches = (double)left / (double)pace->batch_units, unseen, most;

    if (pace->count == 0) {
        return false;
    }
    /* It is long: there is more than it has done, by many batches. */
    flow->skipped.never_steady |=
        pace->count >= FAB_PACE_BATCHES / 2 && batches > FAB_PACE_BATCHES;
    if (!fab_pace_judge(pace, batches, share, ret_steady)) {
        return false;
    }
    unseen = unseen_time(flow, ret_steady->sent) / (double)ret_steady->time;
    ret_steady->half_ps += unseen * ret_steady->unit_ps;
    ret_steady->half_latency += unseen * ret_steady->latency;
    most = share;
    if (!pace->is_order && left > 0) {
        double time = (double)left * ret_steady->unit_ps;

        most =
            (share * (time_so_far(flow) + time) - (double)flow->skipped.half) /
            time;
    }
    return ret_steady->half_ps <= most * ret_steady->unit_ps &&
           ret_steady->half_latency <= most * ret_steady->latency;
}

static bool has_order(const FabFlow *flow, unsigned i)
{
    return flow->under_way & 1u << i;
}

/* The pace of the order @i depends on whether another one is under way. */
static FabPace *order_pace(const FabFlow *flow, unsigned i)
{
    return &flow->orders[i].paces[(flow->under_way & ~(1u << i)) != 0];
}

/* The bytes that an order has not begun. */
static uint64_t order_left(const FabDma *dma)
{
    /* The last page is simulated. */
    return dma->issued_bytes > 0 &&
                   dma->size_bytes - dma->issued_bytes > DMA_GRAIN
               ? dma->size_bytes - dma->issued_bytes - DMA_GRAIN
               : 0;
}

/* Returns the time that @flow may leave out in its orders that are under way; 0
 * if their paces are not known well enough. @units that follow this one take
 * the same time, and have its error. They touch the same addresses again,
 * which caches may have or not: the interval has the time of all misses. */
static double orders_time(const FlowList *list, FabFlow *flow, uint64_t units)
{
    double share = (units > 0 ? PART_SHARE : 1) * list->accuracy;
    double time = INFINITY;

    if (!flow->orders || flow->ops->under_way(flow) != flow->under_way ||
        flow->under_way >= FAB_FLOW_BETWEEN) {
        return 0;
    }
    for (unsigned i = 0; i < flow->n_orders; i++) {
        FabFlowOrder *order = &flow->orders[i];
        uint64_t left = order_left(order->dma);

        if (!has_order(flow, i)) {
            continue;
        }
        if (left == 0 ||
            !is_known(flow, order_pace(flow, i), left, share, &order->steady)) {
            return 0;
        }
        if (units > 0) {
            double missed =
                (double)order->steady.missed / (double)order->steady.time;

            order->steady.half_ps += missed * order->steady.unit_ps;
            if (order->steady.half_ps > share * order->steady.unit_ps) {
                return 0;
            }
        }
        time = MIN(time, (double)left * order->steady.unit_ps);
    }
    return isinf(time) ? 0 : time;
}

/* The time of a batch of what @flow leaves out. */
static double batch_time(const FabFlow *flow)
{
    double longest = 0;

    if (!flow->by_orders) {
        return flow->ops->marks
                   ? flow->steady.unit_ps * (double)flow->pace->batch_units
                   : 0;
    }
    for (unsigned i = 0; i < flow->n_orders; i++) {
        if (has_order(flow, i)) {
            longest =
                MAX(longest, flow->orders[i].steady.unit_ps *
                                 (double)order_pace(flow, i)->batch_units);
        }
    }
    return longest;
}

/* The time for which the paces of @flow may stand. */
static double most_time(const FabFlow *flow)
{
    double most = INFINITY;

    if (!flow->by_orders) {
        return flow->ops->marks ? batch_time(flow) * flow->steady.most : most;
    }
    for (unsigned i = 0; i < flow->n_orders; i++) {
        const FabPaceResult *steady = &flow->orders[i].steady;

        if (has_order(flow, i)) {
            most = MIN(most, steady->unit_ps * steady->most *
                                 (double)order_pace(flow, i)->batch_units);
        }
    }
    return most;
}

/* Sets @time to the least of it and what @flow may leave out. Returns false if
 * its pace is not known well enough. */
static bool consider(const FlowList *list, FabFlow *flow, SimTime now,
                     double *time)
{
    uint64_t grain, left;
    double own;

    if (!flow->ops->left || flow->result.failed ||
        flow->start > now + list->skipped || now < flow->warmup) {
        return false;
    }
    left = flow->ops->left(flow, &grain);
    flow->by_orders = false;
    if (!flow->ops->marks) { /* its units are time */
        flow->steady = (FabPaceResult){.unit_ps = 1};
        *time = MIN(*time, (double)left);
        return true;
    }
    if (is_known(flow, flow->pace, left, list->accuracy, &flow->steady) &&
        left >= BATCHES_WORTH * flow->pace->batch_units) {
        own = (double)left * flow->steady.unit_ps;
    } else {
        own = orders_time(list, flow, left);
        flow->by_orders = true;
    }
    *time = MIN(*time, own);
    return own > 0;
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
        most = MIN(most, most_time(flow));
    }
    if (list->stop != SIM_TIME_NONE) {
        time =
            MIN(time, (double)(list->stop - list->skipped - now) - 2 * longest);
    }
    return time > most || time < BATCHES_WORTH * longest ? 0 : time;
}

/* A part that a flow leaves out: units of its work, or bytes of an order. */
typedef struct Part {
    uint64_t left, grain;  /* units; they are left out in whole grains */
    double unit_ps, share; /* and the error of that, as a share of it */
    FabFlowOrder *order;   /* NULL: whole units */
} Part;

/* Returns the number of parts, of which there is one for each order. */
static unsigned parts_of(FabFlow *flow, Part parts[FAB_FLOW_ORDERS])
{
    unsigned count = 0;

    if (!flow->by_orders) {
        const FabPaceResult *steady = &flow->steady;

        parts[0] = (Part){.unit_ps = steady->unit_ps,
                          .share = steady->half_ps / steady->unit_ps};
        parts[0].left = flow->ops->left(flow, &parts[0].grain);
        return 1;
    }
    for (unsigned i = 0; i < flow->n_orders; i++) {
        FabFlowOrder *order = &flow->orders[i];
        const FabPaceResult *steady = &order->steady;

        if (has_order(flow, i)) {
            parts[count++] = (Part){.left = order_left(order->dma),
                                    .grain = DMA_GRAIN,
                                    .unit_ps = steady->unit_ps,
                                    .share = steady->half_ps / steady->unit_ps,
                                    .order = order};
        }
    }
    return count;
}

/* The units of @part in @time, in whole grains. */
static uint64_t units_in(const Part *part, double time)
{
    double grains = floor(time / part->unit_ps / (double)part->grain + 1e-9);

    return MIN((uint64_t)grains, part->left / part->grain) * part->grain;
}

/* Shortens @time to whole grains of the part that has the largest. Returns 0 if
 * one would leave nothing out. */
static SimTime whole_time(const FlowList *list, double time)
{
    double longest = 0, whole = time;

    for (unsigned i = 0; i < list->flows->len; i++) {
        FabFlow *flow = list->flows->pdata[i];
        Part parts[FAB_FLOW_ORDERS];
        unsigned count;

        if (!is_under_way(flow) || !flow->ops->marks) {
            continue;
        }
        count = parts_of(flow, parts);
        for (unsigned j = 0; j < count; j++) {
            double grain = (double)parts[j].grain * parts[j].unit_ps;
            uint64_t units = units_in(&parts[j], time);

            if (units == 0) {
                return 0;
            }
            if (grain > longest) {
                longest = grain;
                whole = (double)units * parts[j].unit_ps;
            }
        }
    }
    return (SimTime)whole;
}

/* The error of the pace of @flow, as a share. */
static double pace_share(FabFlow *flow)
{
    Part parts[FAB_FLOW_ORDERS];
    double share = 0;

    if (flow->ops->marks) {
        for (unsigned i = parts_of(flow, parts); i-- > 0;) {
            share = MAX(share, parts[i].share);
        }
    }
    return share;
}

/* The largest error of the other flows: when they end, by which @flow goes on
 * at another pace, is known no better. */
static double share_of_others(const FlowList *list, const FabFlow *flow)
{
    double most = 0;

    for (unsigned i = 0; i < list->flows->len; i++) {
        FabFlow *other = list->flows->pdata[i];

        if (other != flow && is_under_way(other)) {
            most = MAX(most, pace_share(other));
        }
    }
    return most;
}

/* Leaves bytes out of orders that are under way. Returns the largest time by
 * which whole grains differ from @time. */
static double leave_out_bytes(FabFlow *flow, SimTime time)
{
    Part parts[FAB_FLOW_ORDERS];
    unsigned count = parts_of(flow, parts);
    double rest = 0;

    for (unsigned i = 0; i < count; i++) {
        FabDma *dma = parts[i].order->dma;
        uint64_t bytes = units_in(&parts[i], (double)time + 1);

        dma->size_bytes -= bytes;
        if (dma->metered) {
            flow->inside_bytes += bytes;
            fab_flow_left_out(flow, 0, bytes);
        }
        rest = MAX(rest, fabs((double)time - (double)bytes * parts[i].unit_ps));
    }
    flow->inside += time;
    flow->inside_all += time;
    return rest;
}

/* The same for whole units. */
static double leave_out_units(FabFlow *flow, SimTime time)
{
    Part part[FAB_FLOW_ORDERS];
    uint64_t units;

    (void)parts_of(flow, part);
    units = units_in(part, (double)time + 1);
    flow->ops->skip(flow, units, time);
    return fabs((double)time - (double)units * part->unit_ps);
}

static void leave_out(FabFlow *flow, SimTime time, double others)
{
    double half = (double)time * (pace_share(flow) + others);

    flow->skipped.time += time;
    if (!flow->ops->marks) {
        flow->ops->skip(flow, (uint64_t)time, time);
    } else if (flow->by_orders) {
        half += leave_out_bytes(flow, time);
        flow->skipped.half += (SimTime)half;
        flow->skipped.half_inside += (SimTime)half;
    } else {
        /* Of the last grain that did not fit, too, and of operations that end
         * together: a number of them may begin and end among those. */
        half += leave_out_units(flow, time) +
                (flow->orders ? 0 : OPS_TOGETHER * flow->steady.unit_ps);
        flow->skipped.half += (SimTime)half;
    }
}

/* A batch has ended. What is left out changes no pace, so the batches before
 * stay. */
static void skip_event(SimEvent *event)
{
    FlowList *list = SIM_CONTAINER_OF(event, FlowList, skip_event);
    SimTime now = event->time;
    SimTime time = whole_time(list, time_of(list, now));

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

/* The progress of @flow until @now, by its pace or that of one of its orders.
 */
static FabPaceMoment moment_of(const FabFlow *flow, const FabPace *pace,
                               SimTime now)
{
    const FabMeter *meter = &flow->meter;
    uint64_t left = meter->left + meter->last_left;
    uint64_t arrived = meter->settled - meter->early;
    FabPaceMoment moment = {
        .at = now,
        .sent = left,
        .under_way = left > arrived ? left - arrived : 0,
        .latency_sum = sim_histogram_sum(flow->latency),
        .latency_count = sim_histogram_count(flow->latency),
    };
    FabCaching sum = {0};

    fab_fabric_caching(flow->fabric, &sum);
    moment.held = sum.held;
    moment.missed = sum.missed;
    if (pace->is_order) {
        if (!pace->is_metered) {
            /* The TLPs of the fabric grow in number as those of the order. */
            moment.sent = pace->done;
            moment.under_way = fab_fabric_tlps_alive(flow->fabric) *
                               (pace->done / MAX(pace->marks, 1));
        }
        return moment;
    }
    moment.at += flow->inside_all;
    moment.left_out = flow->inside_all;
    moment.left_out_half = flow->skipped.half_inside;
    moment.sent_not = flow->inside_bytes;
    if (flow->ops->unit_bytes) {
        moment.ended = pace->done * flow->ops->unit_bytes(flow);
    }
    moment.sent += moment.sent_not;
    if (flow->ops->waiting) {
        moment.waiting = flow->ops->waiting(flow);
    }
    return moment;
}

/* @units of what @pace counts have ended. */
static void pace_marked(FabFlow *flow, FabPace *pace, uint64_t units,
                        uint64_t grain)
{
    FlowList *list = fab_flow_list_find(flow->fabric);
    SimTime now = sim_engine_now(flow->fabric->engine);
    FabPaceMoment moment;

    if (now < flow->warmup || flow->done ||
        !fab_pace_mark(pace, now, units, grain)) {
        return;
    }
    moment = moment_of(flow, pace, now);
    if (fab_pace_note(pace, &moment) &&
        !sim_event_is_pending(&list->skip_event)) {
        sim_event_schedule(&list->skip_event, now);
    }
}

void fab_flow_marked(FabFlow *flow, uint64_t units)
{
    pace_marked(flow, flow->pace, units, 1);
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

/* ---- Orders of DMA engines ---------------------------------------------- */

/* An order of @flow begins or ends. A flow that is alone has the same paces
 * when the next one is as far. */
static void orders_change(FabFlow *flow)
{
    bool is_alone = fab_flow_list_find(flow->fabric)->running == 1;

    for (unsigned i = 0; i < flow->n_orders; i++) {
        for (unsigned j = 0; j < G_N_ELEMENTS(flow->orders[i].paces); j++) {
            if (is_alone) {
                fab_pace_pause(&flow->orders[i].paces[j]);
            } else {
                fab_pace_reset(&flow->orders[i].paces[j]);
            }
        }
    }
}

/* Bytes of an order have moved. */
static void order_moved(FabDma *dma, uint32_t bytes)
{
    FabFlow *flow = dma->owner;
    unsigned under_way = flow->ops->under_way(flow) & (FAB_FLOW_BETWEEN - 1);
    unsigned i = dma == flow->orders[0].dma ? 0 : 1;
    FabFlowOrder *order = &flow->orders[i];

    if (under_way != flow->under_way) {
        flow->under_way = under_way;
        orders_change(flow);
    }
    pace_marked(flow, order_pace(flow, i), bytes, DMA_GRAIN);
    order->moved += bytes;
    if (order->moved >= dma->size_bytes) {
        order->moved = 0;
        orders_change(flow);
    }
}

static void orders_init(FabFlow *flow)
{
    FabDma *dmas[FAB_FLOW_ORDERS];

    flow->orders = g_new0(FabFlowOrder, FAB_FLOW_ORDERS);
    flow->n_orders = flow->ops->orders(flow, dmas);
    for (unsigned i = 0; i < flow->n_orders; i++) {
        FabFlowOrder *order = &flow->orders[i];

        order->dma = dmas[i];
        dmas[i]->moved = order_moved;
        for (unsigned j = 0; j < G_N_ELEMENTS(order->paces); j++) {
            order->paces[j].is_order = true;
            order->paces[j].is_metered = dmas[i]->metered;
            order->paces[j].streams = true;
        }
    }
}

void fab_flow_pace_changed(FlowList *list)
{
    for (unsigned i = 0; list->accuracy > 0 && i < list->flows->len; i++) {
        FabFlow *flow = list->flows->pdata[i];

        if (flow->pace) {
            fab_pace_reset(flow->pace);
        }
        for (unsigned j = 0; j < flow->n_orders; j++) {
            fab_pace_reset(&flow->orders[j].paces[0]);
            fab_pace_reset(&flow->orders[j].paces[1]);
        }
    }
}

void fab_flow_add_latency(FabFlow *flow, SimTime begin)
{
    sim_histogram_add(flow->latency, sim_engine_now(flow->fabric->engine) -
                                         begin + flow->inside);
    flow->inside = 0;
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
        if (flow->ops->orders) {
            orders_init(flow);
        }
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
