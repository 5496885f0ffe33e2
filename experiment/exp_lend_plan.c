/* SPDX-License-Identifier: MIT */
#include "exp_lend_plan.h"

#include "exp_lend_priv.h"
#include "fab_lend.h"
#include "fab_route.h"
#include "topo_flow.h"

void exp_lend_plan_free(ExpLendPlan *plan)
{
    if (plan) {
        g_free(plan->adapter);
        g_array_unref(plan->targets);
        g_array_unref(plan->windows);
        g_ptr_array_unref(plan->target_names);
        g_ptr_array_unref(plan->window_names);
        g_free(plan);
    }
}

ExpLendPlan *exp_lend_plan_new(const char *adapter)
{
    ExpLendPlan *plan = g_new0(ExpLendPlan, 1);

    plan->adapter = g_strdup(adapter);
    plan->targets = g_array_new(FALSE, FALSE, sizeof(FabPlanTarget));
    plan->windows = g_array_new(FALSE, FALSE, sizeof(FabPlanWindow));
    plan->target_names = g_ptr_array_new_with_free_func(g_free);
    plan->window_names = g_ptr_array_new_with_free_func(g_free);
    return plan;
}

void exp_lend_plan_add_target(ExpLendPlan *plan, const FabPlanTarget *target,
                              char *name)
{
    g_array_append_val(plan->targets, *target);
    g_ptr_array_add(plan->target_names, name);
    plan->params.targets = (const FabPlanTarget *)(void *)plan->targets->data;
    plan->params.target_count = plan->targets->len;
}

void exp_lend_plan_add_window(ExpLendPlan *plan, const FabPlanWindow *window,
                              char *name)
{
    g_array_append_val(plan->windows, *window);
    g_ptr_array_add(plan->window_names, name);
    plan->params.windows = (const FabPlanWindow *)(void *)plan->windows->data;
    plan->params.window_count = plan->windows->len;
}

/* Adds the BARs of @device, unless they are there already: one mapping serves
 * all users. Returns false if they are. */
static bool add_target(ExpLendPlan *plan, const ExpFabric *fabric,
                       const TopoDevice *device)
{
    const FabBar *bars = fab_component_bars(exp_device(fabric, device));
    FabPlanTarget target = {.count = 1};

    for (unsigned i = 0; i < plan->target_names->len; i++) {
        if (g_str_equal(plan->target_names->pdata[i], device->path)) {
            return false;
        }
    }
    for (unsigned i = 0; i < FAB_BARS; i++) {
        target.bar_bytes[i] = bars[i].size_bytes;
    }
    exp_lend_plan_add_target(plan, &target, g_strdup(device->path));
    return true;
}

/* Returns the size of the memory below and above 4 GiB, both rounded up to
 * whole entries. */
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

/* A number for who has a window with the device of @lend: a host, or a guest,
 * by its first loan. Guests have higher numbers than hosts. */
static uint32_t borrower_number(const TopoDescription *description,
                                const TopoLend *lend)
{
    for (unsigned i = 0; lend->vm && i < description->lends->len; i++) {
        const TopoLend *other = description->lends->pdata[i];

        if (other->vm && other->to == lend->to &&
            g_strcmp0(other->guest, lend->guest) == 0) {
            return description->hosts->len + i;
        }
    }
    return lend->to->index;
}

/* "guest g0 of ", "a guest of ", or "" for a host. */
static char *guest_words(const TopoLend *lend)
{
    return !lend->vm     ? g_strdup("")
           : lend->guest ? g_strdup_printf("guest %s of ", lend->guest)
                         : g_strdup("a guest of ");
}

static void add_window(ExpLendPlan *plan, const ExpFabric *fabric,
                       const TopoDescription *description, const FabNtb *ntb,
                       const TopoLend *lend)
{
    FabRoot *to = fab_component_as_root(exp_host(fabric, lend->to));
    uint64_t ram = fab_root_params(to)->memory.size_bytes;
    FabPlanWindow window = {
        .bytes = lend->window_bytes,
        .weight = exp_lend_weight(lend->device),
        .ram_bytes = ram,
        .borrower = borrower_number(description, lend),
    };
    g_autofree char *guest = guest_words(lend);

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
    exp_lend_plan_add_window(
        plan, &window,
        g_strdup_printf("%s to %s%s%s", lend->device->path, guest,
                        lend->to->name,
                        window.covers_ram && !lend->vm ? ", IOMMU off" : ""));
}

/* Adds the DMA windows in @ntb and counts their borrowers. */
static void add_windows(ExpLendPlan *plan, const ExpFabric *fabric,
                        const FabNtb *ntb, const TopoDescription *description)
{
    g_autoptr(GHashTable) borrowers = g_hash_table_new(NULL, NULL);

    for (unsigned i = 0; i < description->lends->len; i++) {
        const TopoLend *lend = description->lends->pdata[i];

        if (fab_route_adapter(exp_device(fabric, lend->device),
                              exp_host(fabric, lend->to)) == ntb) {
            add_window(plan, fabric, description, ntb, lend);
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

static void add_p2p(ExpLendPlan *plan, const ExpFabric *fabric,
                    const FabNtb *ntb, const TopoDescription *description,
                    const TopoDevice *source, const TopoDevice *target)
{
    if (find_lend(description, source) &&
        fab_route_adapter(exp_device(fabric, source),
                          exp_device(fabric, target)) == ntb &&
        add_target(plan, fabric, target)) {
        plan->has_p2p = true;
    }
}

/* Adds the BARs that lent devices reach by orders. Returns false if no loan has
 * any. */
static bool add_orders(ExpLendPlan *plan, const ExpFabric *fabric,
                       const FabNtb *ntb, const TopoDescription *description)
{
    bool has_orders = false;

    for (unsigned i = 0; i < description->lends->len; i++) {
        const TopoLend *lend = description->lends->pdata[i];

        has_orders = has_orders || lend->has_orders;
        for (unsigned j = 0; j < lend->p2p->len; j++) {
            add_p2p(plan, fabric, ntb, description, lend->device,
                    lend->p2p->pdata[j]);
        }
    }
    return has_orders;
}

/* Adds the BARs of the devices that this host borrows, and those that lent
 * devices reach. Without orders, these are the targets of flows: the device
 * that a flow names first makes the requests, and in a ping-pong both do. */
static void add_targets(ExpLendPlan *plan, const ExpFabric *fabric,
                        const FabNtb *ntb, const TopoDescription *description)
{
    const TopoWorkload *workload = description->workload;

    for (unsigned i = 0; i < description->lends->len; i++) {
        const TopoLend *lend = description->lends->pdata[i];

        if (fab_route_adapter(exp_host(fabric, lend->to),
                              exp_device(fabric, lend->device)) == ntb) {
            add_target(plan, fabric, lend->device);
        }
    }
    if (add_orders(plan, fabric, ntb, description)) {
        return;
    }
    for (unsigned i = 0; workload && i < workload->flows->len; i++) {
        const TopoFlow *flow = workload->flows->pdata[i];
        TopoDevice *ends[2];

        if (topo_flow_get_devices(flow, ends)) {
            add_p2p(plan, fabric, ntb, description, ends[0], ends[1]);
            if (g_str_equal(topo_flow_kind(flow), "pingpong")) {
                add_p2p(plan, fabric, ntb, description, ends[1], ends[0]);
            }
        }
    }
}

static void plan_add(GPtrArray *plans, const ExpFabric *fabric,
                     const TopoDescription *description,
                     const TopoDevice *adapter)
{
    const FabNtb *ntb = fab_component_as_ntb(exp_device(fabric, adapter));
    const FabNtbParams *params;
    g_autoptr(ExpLendPlan) plan = NULL;

    if (!ntb) {
        return;
    }
    params = fab_ntb_params(ntb);
    plan = exp_lend_plan_new(adapter->path);
    plan->params = (FabPlanParams){
        .window_bytes = params->window_bytes,
        .entries = params->entries,
        .reserved = params->reserved,
        .nodes = fab_ntb_remote_nodes(ntb) + 1,
    };
    plan->params.spared = params->reserved * fab_ntb_remote_nodes(ntb) -
                          fab_ntb_reserved_entries(ntb);
    add_windows(plan, fabric, ntb, description);
    add_targets(plan, fabric, ntb, description);
    if (plan->windows->len > 0 || plan->targets->len > 0) {
        g_ptr_array_add(plans, g_steal_pointer(&plan));
    }
}

GPtrArray *exp_lend_plans_new(const TopoDescription *description,
                              GError **error)
{
    g_autoptr(ExpFabric) fabric = exp_fabric_new(description, error);
    GPtrArray *plans = NULL;

    if (!fabric) {
        return NULL;
    }
    plans = g_ptr_array_new_with_free_func((GDestroyNotify)exp_lend_plan_free);

    for (unsigned i = 0; i < description->hosts->len; i++) {
        const TopoHost *host = description->hosts->pdata[i];

        for (unsigned j = 0; j < host->devices->len; j++) {
            plan_add(plans, fabric, description, host->devices->pdata[j]);
        }
    }
    return plans;
}
