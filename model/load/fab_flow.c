/* SPDX-License-Identifier: MIT */
#include "fab_flow_priv.h"

#include <string.h>

#include "fab_account_priv.h"
#include "fab_size.h"
#include "fab_flow_list_priv.h"

/* Buffers in memory are aligned to their size, within these limits. */
#define ALIGN_LEAST (4u << 10)
#define ALIGN_MOST  (2u << 20)

/* ---- Making one ------------------------------------------------------ */

bool fab_flow_check(FabFabric *fabric, const char *name, SimTime start,
                    GError **error)
{
    const FlowList *list = fab_flow_list(fabric);

    g_assert(fabric->realized);
    if (g_hash_table_contains(list->by_name, name)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: another flow has this name; choose another name",
                    name);
        return false;
    }
    if (fabric->ranks + list->flows->len > SIM_RANK_MAX) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: there are more components and flows than a simulation "
                    "can rank; leave some out",
                    name);
        return false;
    }
    if (start < 0 || start == SIM_TIME_NONE) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: the start must be a time from 0 on", name);
        return false;
    }
    return true;
}

bool fab_flow_accept(const char *name, const char *wrong, GError **error)
{
    if (wrong) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG, "%s: %s", name, wrong);
    }
    return !wrong;
}

void fab_flow_init(FabFlow *flow, FabFabric *fabric, const FabFlowOps *ops,
                   const char *name, SimTime warmup, SimTime start)
{
    FlowList *list = fab_flow_list(fabric);

    flow->ops = ops;
    flow->fabric = fabric;
    flow->name = g_strdup(name);
    flow->start = start;
    flow->warmup = warmup;
    flow->meter.from = warmup;
    flow->latency = sim_histogram_new();
    flow->result.latency = flow->latency;
    sim_random_init(&flow->random, fabric->seed, name);
    g_ptr_array_add(list->flows, flow);
    g_hash_table_insert(list->by_name, flow->name, flow);
    flow->number = list->flows->len;
    fab_account_open(fabric, flow->number, &flow->meter);
}

FabFlow *fab_flow_nth(FabFabric *fabric, uint32_t number)
{
    const FlowList *list = fab_flow_list(fabric);

    return number <= list->flows->len ? list->flows->pdata[number - 1] : NULL;
}

/* The number of the BAR that @target names; -1 if there is none. */
static int target_bar(const FabTarget *target)
{
    const FabBar *bars = target->component->bars;
    int largest = -1;

    if (target->bar >= 0) {
        return target->bar < FAB_BARS && bars[target->bar].size_bytes
                   ? target->bar
                   : -1;
    }
    for (int i = 0; i < FAB_BARS; i++) {
        if (bars[i].size_bytes &&
            (largest < 0 || bars[i].size_bytes > bars[largest].size_bytes)) {
            largest = i;
        }
    }
    return largest;
}

bool fab_target_size(const FabTarget *target, uint64_t *ret_bytes,
                     GError **error)
{
    int bar;

    if (fab_component_as_root(target->component)) {
        *ret_bytes = UINT64_MAX;
        return true;
    }
    bar = target_bar(target);
    if (bar < 0) {
        if (target->bar < 0) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG, "%s has no BAR",
                        target->component->name);
        } else {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG, "%s has no BAR %d",
                        target->component->name, target->bar);
        }
        return false;
    }
    *ret_bytes = target->component->bars[bar].size_bytes;
    return true;
}

static uint64_t buffer_align(uint64_t size_bytes)
{
    uint64_t align = ALIGN_LEAST;

    while (align < size_bytes && align < ALIGN_MOST) {
        align *= 2;
    }
    return align;
}

bool fab_target_take(const FabTarget *target, uint64_t size_bytes,
                     FabBusAddr *ret_addr, GError **error)
{
    FabComponent *component = target->component;
    FabRoot *root = fab_component_as_root(component);
    uint64_t space, align = buffer_align(size_bytes);

    if (!fab_target_size(target, &space, error)) {
        return false;
    }
    if (size_bytes > space) {
        int bar = target_bar(target);
        g_autofree char *has = fab_size_text(space);
        g_autofree char *needs = fab_size_text(size_bytes);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: BAR %d has %s, and the flow needs %s", component->name,
                    bar, has, needs);
        return false;
    }
    if (!root) {
        *ret_addr = component->bars[target_bar(target)].addr;
        return true;
    }
    if (!(target->bar < 0
              ? fab_root_alloc(root, size_bytes, align, ret_addr)
              : fab_root_alloc_in_node(root, target->bar, size_bytes, align,
                                       ret_addr))) {
        g_autofree char *size = fab_size_text(size_bytes);

        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: the memory has no space for a buffer of %s",
                    component->name, size);
        return false;
    }
    return true;
}

/* ---- Running --------------------------------------------------------- */

bool fab_flow_count(FabFlow *flow, SimTime begin, uint64_t bytes,
                    FabStatus status)
{
    FabFlowResult *result = &flow->result;
    SimTime now = sim_engine_now(flow->fabric->engine);

    if (now < flow->warmup) {
        return false;
    }
    begin = MAX(begin, flow->warmup);
    result->begin = result->operations ? MIN(result->begin, begin) : begin;
    result->end = MAX(result->end, now);
    result->operations++;
    if (status != FAB_STATUS_SC) {
        result->failed++;
        return false;
    }
    flow->meter.other += bytes;
    return true;
}

void fab_flow_finish(FabFlow *flow)
{
    FlowList *list = fab_flow_list_find(flow->fabric);

    g_assert(flow->started && !flow->done);
    flow->done = true;
    fab_flow_pace_changed(list);
    for (unsigned i = 0; flow->followers && i < flow->followers->len; i++) {
        FabFlow *follower = flow->followers->pdata[i];

        if (--follower->waits_for == 0) {
            fab_flow_ready(list, follower);
        }
    }
    fab_flow_engine_leave(flow);
    if (--list->running == 0) {
        sim_engine_stop(flow->fabric->engine);
    }
}

void fab_flow_after(FabFlow *flow, FabFlow *before)
{
    g_assert(!flow->started && !before->started);
    if (!before->followers) {
        before->followers = g_ptr_array_new();
    }
    g_ptr_array_add(before->followers, flow);
    flow->waits_for++;
}

static int compare_names(const void *a, const void *b)
{
    const FabFlow *const *x = a;
    const FabFlow *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* Starts the flows that are new. Ranks follow names, so the order in which
 * flows were made changes no result. */
static void flows_start(FabFabric *fabric, FlowList *list)
{
    unsigned count = list->flows->len - list->started;
    FabFlow **flows;

    if (count == 0) {
        return;
    }
    flows = g_new(FabFlow *, count);
    memcpy(flows, list->flows->pdata + list->started, count * sizeof(*flows));
    qsort(flows, count, sizeof(*flows), compare_names);
    for (unsigned i = 0; i < count; i++) {
        FabFlow *flow = flows[i];

        flow->rank = fabric->ranks + list->started + i;
        sim_event_init(&flow->event, fabric->engine, flow->ops->event,
                       SIM_PRIORITY_NORMAL, flow->rank);
        flow->started = true;
        flow->base = list->skipped;
        if (flow->waits_for == 0) {
            fab_flow_ready(list, flow);
        }
    }
    g_free(flows);
    list->started += count;
    list->running += count;
    fab_flow_pace_changed(list);
}

/* Posted data that are still under way when all flows are done arrive within
 * this time, unless they never do. */
#define SETTLE_MOST (100 * SIM_MS)

/* Lets the data of the flows, which are done, arrive or be lost. */
static void settle(FabFabric *fabric, SimTime stop)
{
    SimTime most = sim_engine_now(fabric->engine) + SETTLE_MOST;

    if (fab_accounts_are_settled(&fabric->accounts)) {
        return;
    }
    fabric->accounts.settles = true;
    sim_engine_run_until(fabric->engine,
                         stop == SIM_TIME_NONE ? most : MIN(stop, most));
    fabric->accounts.settles = false;
}

/* Runs the engine until all flows are done, or until @stop, which comes the
 * earlier by the time that flows leave out. */
static void run_until(FabFabric *fabric, FlowList *list, SimTime stop)
{
    SimTime skipped;

    list->stop = stop;
    do {
        skipped = list->skipped;
        sim_engine_run_until(
            fabric->engine,
            MAX(stop - list->skipped, sim_engine_now(fabric->engine)));
    } while (list->running > 0 && list->skipped != skipped);
}

bool fab_flows_run(FabFabric *fabric, SimTime stop, FabFlow **ret_stuck)
{
    FlowList *list = fab_flow_list(fabric);
    FabFlow *stuck = NULL;

    flows_start(fabric, list);
    if (list->running == 0) {
        return true;
    }
    if (stop == SIM_TIME_NONE) {
        list->stop = stop;
        sim_engine_run(fabric->engine);
    } else {
        run_until(fabric, list, stop);
    }
    if (list->running == 0) {
        settle(fabric, stop);
        return true;
    }
    if (sim_engine_pending(fabric->engine) > 0) {
        return true;
    }
    for (unsigned i = 0; i < list->flows->len; i++) {
        FabFlow *flow = list->flows->pdata[i];

        if (!flow->done && (!stuck || strcmp(flow->name, stuck->name) < 0)) {
            stuck = flow;
        }
    }
    if (ret_stuck) {
        *ret_stuck = stuck;
    }
    return false;
}

/* ---- Access ---------------------------------------------------------- */

const char *fab_flow_name(const FabFlow *flow)
{
    return flow->name;
}

uint32_t fab_flow_number(const FabFlow *flow)
{
    return flow->number;
}

bool fab_flow_is_done(const FabFlow *flow)
{
    return flow->done;
}

void fab_flow_result(const FabFlow *flow, FabFlowResult *ret_result)
{
    const FabMeter *meter = &flow->meter;
    SimTime now = sim_engine_now(flow->fabric->engine);

    *ret_result = flow->result;
    ret_result->bytes = fab_meter_bytes(meter, now);
    if (flow->writes_are_operations) {
        ret_result->failed = MIN(ret_result->operations,
                                 ret_result->failed + meter->lost_writes);
    }
    ret_result->has_failed = (ret_result->operations > 0 &&
                              ret_result->failed == ret_result->operations) ||
                             (meter->lost > 0 && ret_result->bytes == 0 &&
                              meter->sent == meter->lost);
    ret_result->sent_bytes = meter->sent;
    ret_result->lost_bytes = meter->lost;
    /* The work that it left out lies between its first and its last operation.
     */
    if (ret_result->operations > 0) {
        ret_result->begin += flow->base;
        ret_result->end += flow->base + flow->skipped.time;
    }
    if (!flow->done && flow->started && now > flow->warmup) {
        ret_result->end = now + fab_flows_skipped(flow->fabric);
        if (ret_result->operations == 0) {
            ret_result->begin =
                MIN(MAX(flow->start, flow->warmup), ret_result->end);
        }
    }
    /* The last bytes may arrive when the last operation is over. */
    ret_result->data_time =
        MAX(ret_result->end - ret_result->begin,
            meter->arrived_at - meter->begun_at + flow->skipped.time);
}

const GPtrArray *fab_flows(const FabFabric *fabric)
{
    const FlowList *list = fab_flow_list_find(fabric);

    return list ? list->flows : NULL;
}

void fab_flow_observe(const FabFlow *flow, FabFlowWait *ret_wait)
{
    *ret_wait = (FabFlowWait){.ops = 1, .step = "operation"};
    if (!flow->started || flow->done ||
        flow->start > sim_engine_now(flow->fabric->engine)) {
        ret_wait->ops = 0;
    } else if (flow->ops->wait) {
        flow->ops->wait(flow, ret_wait);
    }
}
