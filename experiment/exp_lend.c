/* SPDX-License-Identifier: MIT */
#include "exp_lend.h"

#include "fab_lend.h"
#include "fab_route.h"
#include "topo_flow.h"

/* GPUs are known to need large windows. */
static uint32_t weight_of(const TopoDevice *device)
{
    return topo_part_kind(device->part) == TOPO_PART_GPU ? FAB_LEND_WEIGHT_GPU
                                                         : FAB_LEND_WEIGHT;
}

static FabEndpoint *lent_device(const ExpFabric *bld, const TopoLend *lend)
{
    return fab_component_as_endpoint(exp_device(bld, lend->device));
}

static bool borrow(ExpFabric *bld, const TopoLend *lend, GError **error)
{
    FabLendParams params = {
        .device = lent_device(bld, lend),
        .borrower = fab_component_as_root(exp_host(bld, lend->to)),
        .window_bytes = lend->window_bytes,
        .vm = lend->vm,
    };

    if (!fab_lend_borrow(&params, error)) {
        g_autofree char *place = topo_place_to_string(lend->place);

        g_prefix_error(error, "%s: ", place);
        return false;
    }
    return true;
}

/* Whether the size of the window depends on what others leave. */
static bool is_automatic(const TopoLend *lend)
{
    return lend->window_auto && lend->to->iommu && !lend->vm;
}

bool exp_lend_all(ExpFabric *bld, const TopoDescription *description,
                  GError **error)
{
    const GPtrArray *lends = description->lends;

    for (unsigned i = 0; i < lends->len; i++) {
        const TopoLend *lend = lends->pdata[i];

        fab_lend_offer(lent_device(bld, lend), weight_of(lend->device));
    }
    /* A description says who borrows what, not in which order: windows of a
     * given size first, and then shares of what they leave. */
    for (unsigned pass = 0; pass < 2; pass++) {
        for (unsigned i = 0; i < lends->len; i++) {
            const TopoLend *lend = lends->pdata[i];

            if (is_automatic(lend) == (pass == 1) &&
                !borrow(bld, lend, error)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- Plans ------------------------------------------------------------ */

static void plan_free(void *data)
{
    ExpPlan *plan = data;

    g_free(plan->adapter);
    g_array_unref(plan->targets);
    g_array_unref(plan->windows);
    g_ptr_array_unref(plan->target_names);
    g_ptr_array_unref(plan->window_names);
    g_free(plan);
}

static ExpPlan *plan_new(const FabNtb *ntb, const char *adapter)
{
    const FabNtbParams *params = fab_ntb_params(ntb);
    ExpPlan *plan = g_new0(ExpPlan, 1);

    plan->adapter = g_strdup(adapter);
    plan->params = (FabPlanParams){
        .window_bytes = params->window_bytes,
        .entries = params->entries,
        .reserved = params->reserved,
        .nodes = fab_ntb_remote_nodes(ntb) + 1,
    };
    plan->targets = g_array_new(FALSE, FALSE, sizeof(FabPlanTarget));
    plan->windows = g_array_new(FALSE, FALSE, sizeof(FabPlanWindow));
    plan->target_names = g_ptr_array_new_with_free_func(g_free);
    plan->window_names = g_ptr_array_new_with_free_func(g_free);
    return plan;
}

/* Adds the BARs of @device, once: all who reach it share them. */
static bool add_target(ExpPlan *plan, const ExpFabric *bld,
                       const TopoDevice *device)
{
    const FabBar *bars = fab_component_bars(exp_device(bld, device));
    FabPlanTarget target = {.count = 1};

    for (unsigned i = 0; i < plan->target_names->len; i++) {
        if (g_str_equal(plan->target_names->pdata[i], device->path)) {
            return false;
        }
    }
    for (unsigned i = 0; i < FAB_BARS; i++) {
        target.bar_bytes[i] = bars[i].size_bytes;
    }
    g_array_append_val(plan->targets, target);
    g_ptr_array_add(plan->target_names, g_strdup(device->path));
    return true;
}

/* Memory in whole entries, below and above 4 GiB. */
static uint64_t memory_bytes(FabRoot *root, const FabNtb *ntb)
{
    uint64_t entry = fab_ntb_entry_bytes(ntb), bytes = 0;
    FabRange ranges[2];

    fab_root_memory_ranges(root, ranges);
    for (unsigned i = 0; i < G_N_ELEMENTS(ranges); i++) {
        bytes += (ranges[i].size_bytes + entry - 1) & ~(entry - 1);
    }
    return bytes;
}

static void add_window(ExpPlan *plan, const ExpFabric *bld, const FabNtb *ntb,
                       const TopoLend *lend)
{
    FabRoot *to = fab_component_as_root(exp_host(bld, lend->to));
    uint64_t ram = fab_root_params(to)->memory.size_bytes;
    FabPlanWindow window = {
        .bytes = lend->window_bytes,
        .weight = weight_of(lend->device),
        .ram_bytes = ram,
        .borrower = lend->to->index,
    };
    const char *guest = lend->vm ? "a guest of " : "";

    if (lend->vm) {
        window.covers_ram = true;
        window.ram_bytes = ram / 2;
        if (lend->window_bytes) {
            window.ram_bytes = lend->window_bytes;
        }
    } else if (!lend->to->iommu) {
        window.covers_ram = true;
        window.ram_bytes = memory_bytes(to, ntb);
    }
    g_array_append_val(plan->windows, window);
    g_ptr_array_add(
        plan->window_names,
        g_strdup_printf("%s to %s%s%s", lend->device->path, guest,
                        lend->to->name,
                        window.covers_ram && !lend->vm ? ", IOMMU off" : ""));
}

/* The DMA windows in @ntb, and their borrowers. */
static void add_windows(ExpPlan *plan, const ExpFabric *bld, const FabNtb *ntb,
                        const TopoDescription *description)
{
    g_autoptr(GHashTable) borrowers = g_hash_table_new(NULL, NULL);

    for (unsigned i = 0; i < description->lends->len; i++) {
        const TopoLend *lend = description->lends->pdata[i];

        if (fab_route_adapter(exp_device(bld, lend->device),
                              exp_host(bld, lend->to)) == ntb) {
            add_window(plan, bld, ntb, lend);
            g_hash_table_add(borrowers, lend->to);
        }
    }
    plan->params.borrowers = g_hash_table_size(borrowers);
}

static const TopoLend *find_lend(const TopoDescription *description,
                                 const TopoDevice *device)
{
    for (unsigned i = 0; i < description->lends->len; i++) {
        const TopoLend *lend = description->lends->pdata[i];

        if (lend->device == device) {
            return lend;
        }
    }
    return NULL;
}

static void add_p2p(ExpPlan *plan, const ExpFabric *bld, const FabNtb *ntb,
                    const TopoDescription *description,
                    const TopoDevice *source, const TopoDevice *target)
{
    if (find_lend(description, source) &&
        fab_route_adapter(exp_device(bld, source), exp_device(bld, target)) ==
            ntb &&
        add_target(plan, bld, target)) {
        plan->has_p2p = true;
    }
}

/* BARs of devices that this host borrows, and of those that flows make lent
 * devices reach, both ways. */
static void add_targets(ExpPlan *plan, const ExpFabric *bld, const FabNtb *ntb,
                        const TopoDescription *description)
{
    const TopoWorkload *workload = description->workload;

    for (unsigned i = 0; i < description->lends->len; i++) {
        const TopoLend *lend = description->lends->pdata[i];

        if (fab_route_adapter(exp_host(bld, lend->to),
                              exp_device(bld, lend->device)) == ntb) {
            add_target(plan, bld, lend->device);
        }
    }
    for (unsigned i = 0; workload && i < workload->flows->len; i++) {
        const TopoFlow *flow = workload->flows->pdata[i];
        TopoDevice *ends[2];

        if (topo_flow_get_devices(flow, ends)) {
            add_p2p(plan, bld, ntb, description, ends[0], ends[1]);
            add_p2p(plan, bld, ntb, description, ends[1], ends[0]);
        }
    }
}

static void plan_add(GPtrArray *plans, const ExpFabric *bld,
                     const TopoDescription *description,
                     const TopoDevice *adapter)
{
    const FabNtb *ntb = fab_component_as_ntb(exp_device(bld, adapter));
    ExpPlan *plan;

    if (!ntb) {
        return;
    }
    plan = plan_new(ntb, adapter->path);
    add_windows(plan, bld, ntb, description);
    add_targets(plan, bld, ntb, description);
    if (plan->windows->len == 0 && plan->targets->len == 0) {
        plan_free(plan);
        return;
    }
    plan->params.targets = (const FabPlanTarget *)(void *)plan->targets->data;
    plan->params.target_count = plan->targets->len;
    plan->params.windows = (const FabPlanWindow *)(void *)plan->windows->data;
    plan->params.window_count = plan->windows->len;
    g_ptr_array_add(plans, plan);
}

GPtrArray *exp_lend_plans(const ExpFabric *bld,
                          const TopoDescription *description)
{
    GPtrArray *plans = g_ptr_array_new_with_free_func(plan_free);

    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            plan_add(plans, bld, description, host->devices->pdata[j]);
        }
    }
    return plans;
}
