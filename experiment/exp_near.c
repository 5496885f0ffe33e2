/* SPDX-License-Identifier: MIT */
#include "exp_near.h"

#include <string.h>

#include "exp_build.h"
#include "exp_errors_priv.h"
#include "exp_explain.h"
#include "exp_flow.h"
#include "exp_path.h"
#include "fab_flow_dma.h"
#include "topo_flow.h"

/* One operation of the candidate, and the time in which it is measured. In the
 * warm-up the queues of the fabric fill. */
#define OPERATION_BYTES 4096
#define PROBE_BYTES     256
#define WARMUP          (20 * SIM_US)
#define STOP            (120 * SIM_US)

static void row_free(void *data)
{
    ExpNearRow *row = data;

    g_free(row->refusal);
    g_free(row->way);
    g_free(row->limit);
    g_free(row);
}

void exp_near_free(ExpNear *near)
{
    if (near) {
        g_ptr_array_unref(near->rows);
        g_free(near);
    }
}

/* Measures the time of one TLP and its way. Returns false and sets @error if
 * there is none. */
static bool measure_path(ExpNearRow *row, const TopoDescription *description,
                         const TopoDevice *near, GError **error)
{
    ExpPathRequest request = {
        .from = {TOPO_TARGET_DEVICE, row->device->host,
                 (TopoDevice *)row->device, -1},
        .to = {TOPO_TARGET_DEVICE, near->host, (TopoDevice *)near, -1},
        .size_bytes = PROBE_BYTES,
    };
    g_autoptr(ExpPath) write = exp_path_new(description, &request, error);
    g_autoptr(ExpPath) read = NULL;

    if (!write) {
        return false;
    }
    request.is_read = true;
    read = exp_path_new(description, &request, error);
    if (!read) {
        return false;
    }
    row->hops = write->hops;
    row->roots = write->roots;
    row->way = g_strdup(write->text);
    row->write_ps = write->time_ps;
    row->read_ps = read->round_trip_ps;
    return true;
}

/* Makes the flows of the description that move data, in @fabric. @flows gets
 * them. */
static bool make_flows(ExpFabric *fabric, const TopoDescription *description,
                       GPtrArray *flows, GError **error)
{
    g_autoptr(TopoErrors) errors = topo_errors_new();

    exp_flow_new_all(fabric, description, WARMUP, flows, errors);
    return exp_errors_none(errors, error);
}

/* Runs the candidate's DMA engine in a fabric of its own, with the flows of the
 * description if @shared. Sets *ret_rate to bytes a second, and *ret_limit, if
 * not NULL, to the sentence that says what limits. */
static bool measure_rate(const ExpNearRow *row,
                         const TopoDescription *description,
                         const TopoDevice *near, FabTlpType direction,
                         bool shared, int64_t *ret_rate, char **ret_limit,
                         GError **error)
{
    g_autoptr(ExpFabric) fabric = exp_build(description, error);
    g_autoptr(GPtrArray) flows = g_ptr_array_new();
    g_autoptr(GPtrArray) paths = g_ptr_array_new();
    g_autoptr(GPtrArray) names = g_ptr_array_new();
    g_autoptr(ExpExplain) explain = NULL;
    FabProfile *profile = NULL;
    FabDmaFlowParams params = {
        .direction = direction,
        .size_bytes = OPERATION_BYTES,
        .count = UINT64_MAX,
    };
    FabFlowResult result;
    FabFlow *own;

    if (!fabric || (shared && !make_flows(fabric, description, flows, error))) {
        return false;
    }
    params.device = fab_component_as_endpoint(exp_device(fabric, row->device));
    params.target = (FabTarget){exp_device(fabric, near), -1};
    /* No flow of a description has a name with a blank. */
    own = fab_dma_flow_new(exp_fabric(fabric), "the candidate", WARMUP, &params,
                           error);
    if (!own) {
        return false;
    }
    g_ptr_array_add(flows, own);
    if (ret_limit) {
        profile = fab_profile_new(exp_fabric(fabric), WARMUP);
    }
    fab_flows_run(exp_fabric(fabric), STOP, NULL);
    fab_flow_result(own, &result);
    *ret_rate = result.end > result.begin
                    ? (int64_t)((__int128)result.bytes * SIM_S /
                                (result.end - result.begin))
                    : 0;
    if (ret_limit) {
        fab_profile_finish(profile);
        g_ptr_array_set_size(paths, (int)flows->len);
        for (unsigned i = 0; i < flows->len; i++) {
            g_ptr_array_add(names, (void *)(flows->pdata[i]
                                                ? fab_flow_name(flows->pdata[i])
                                                : ""));
        }
        explain = exp_explain_new(profile, flows, paths, names);
        *ret_limit = g_strdup(explain->text);
        fab_profile_free(profile);
    }
    return true;
}

static bool measure(ExpNearRow *row, const TopoDescription *description,
                    const TopoDevice *near, GError **error)
{
    g_autoptr(GError) refusal = NULL;
    FabTlpType slower;
    int64_t rate;

    if (!measure_path(row, description, near, &refusal)) {
        row->refusal = g_strdup(refusal->message);
        return true;
    }
    if (!measure_rate(row, description, near, FAB_TLP_MWR, false,
                      &row->write_alone, NULL, error) ||
        !measure_rate(row, description, near, FAB_TLP_MRD, false,
                      &row->read_alone, NULL, error) ||
        !measure_rate(row, description, near, FAB_TLP_MWR, true,
                      &row->write_shared, NULL, error) ||
        !measure_rate(row, description, near, FAB_TLP_MRD, true,
                      &row->read_shared, NULL, error)) {
        return false;
    }
    slower = row->write_shared < row->read_shared ? FAB_TLP_MWR : FAB_TLP_MRD;
    return measure_rate(row, description, near, slower, true, &rate,
                        &row->limit, error);
}

static int compare(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static int64_t slower_rate(const ExpNearRow *row)
{
    return MIN(row->write_shared, row->read_shared);
}

/* The rule by which rows are sorted. */
typedef struct Ranking {
    ExpNearGoal goal;
    int64_t best_rate; /* of all rows */
} Ranking;

/* Returns the rate of @row in whole percent of the best. A smaller difference
 * does not count: it depends on where the measured interval ends. */
static int64_t percent(const ExpNearRow *row, const Ranking *ranking)
{
    int64_t best = MAX(ranking->best_rate, 1);

    return (int64_t)(((__int128)slower_rate(row) * 100 + best / 2) / best);
}

static int compare_rows(const void *a, const void *b, void *user)
{
    const ExpNearRow *first = *(ExpNearRow *const *)a;
    const ExpNearRow *second = *(ExpNearRow *const *)b;
    const Ranking *ranking = user;
    int order = (first->refusal != NULL) - (second->refusal != NULL);

    if (!order && !first->refusal && ranking->goal == EXP_NEAR_BANDWIDTH) {
        order = compare(percent(second, ranking), percent(first, ranking));
    }
    if (!order && !first->refusal) {
        order = compare(first->read_ps, second->read_ps);
    }
    if (!order && !first->refusal) {
        order = compare(first->write_ps, second->write_ps);
    }
    if (!order && !first->refusal) {
        order = compare(first->hops, second->hops);
    }
    return order ? order : strcmp(first->device->path, second->device->path);
}

static unsigned count_flows(const TopoDescription *description)
{
    unsigned n = 0;

    for (unsigned i = 0;
         description->workload && i < description->workload->flows->len; i++) {
        n += topo_flow_has_own_fabric(description->workload->flows->pdata[i])
                 ? 0
                 : 1;
    }
    return n;
}

ExpNear *exp_near_new(const TopoDescription *description,
                      const TopoDevice *near, const GPtrArray *candidates,
                      ExpNearGoal goal, GError **error)
{
    g_autoptr(ExpNear) result = g_new0(ExpNear, 1);
    Ranking ranking = {.goal = goal};

    result->rows = g_ptr_array_new_with_free_func(row_free);
    result->n_flows = count_flows(description);
    for (unsigned i = 0; i < candidates->len; i++) {
        ExpNearRow *row = g_new0(ExpNearRow, 1);

        row->device = candidates->pdata[i];
        g_ptr_array_add(result->rows, row);
        if (!measure(row, description, near, error)) {
            return NULL;
        }
        ranking.best_rate = MAX(ranking.best_rate, slower_rate(row));
    }
    g_ptr_array_sort_with_data(result->rows, compare_rows, &ranking);
    return g_steal_pointer(&result);
}
