/* SPDX-License-Identifier: MIT */
/* Reads `workload:`. */
#include "topo_flow_priv.h"

/* Enters the name of a flow, or a list of pairs, that is refused. */
static void enter_refused(TopoLoader *loader, const TopoNode *node)
{
    const char *name = topo_node_get_text(node, "name");

    if (name && !g_hash_table_contains(loader->loaded->flows, name)) {
        g_hash_table_insert(loader->loaded->flows, (void *)name, NULL);
    }
}

static TopoFlow *load_flow(TopoLoader *loader, TopoWorkload *workload,
                           const TopoNode *node)
{
    TopoFlow *flow = topo_flow_new(loader, node);
    const TopoValue *name;

    if (!flow) {
        enter_refused(loader, node);
        return NULL;
    }
    flow->index = workload->flows->len;
    g_ptr_array_add(workload->flows, flow);
    name = topo_values_get(flow->values, "name");
    if (topo_load_check_unique(loader, loader->loaded->flows, "flow",
                               topo_flow_name(flow), name->place)) {
        g_hash_table_insert(loader->loaded->flows, (void *)name->text, flow);
    }
    return flow;
}

/* Loads the flows of the list of pairs @node. Its name stands for the last
 * one. */
static void load_pairs(TopoLoader *loader, TopoWorkload *workload,
                       const TopoNode *node)
{
    g_autoptr(GPtrArray) nodes = topo_pairs_expand(loader, node);
    unsigned before = topo_errors_count(loader->errors);
    TopoFlow *last = NULL;

    for (unsigned i = 0; nodes && i < nodes->len; i++) {
        g_ptr_array_add(loader->loaded->made, nodes->pdata[i]);
        /* The flows after one with an error would have the same one. */
        if (topo_errors_count(loader->errors) == before) {
            last = load_flow(loader, workload, nodes->pdata[i]);
        }
    }
    if (!last || topo_errors_count(loader->errors) > before) {
        enter_refused(loader, node);
        return;
    }
    last->pairs = nodes->len;
    if (topo_load_check_unique(loader, loader->loaded->flows, "flow",
                               topo_node_get_text(node, "name"),
                               topo_node_get(node, "name")->place)) {
        g_hash_table_insert(loader->loaded->flows,
                            (void *)topo_node_get_text(node, "name"), last);
    }
}

void topo_load_workload(TopoLoader *loader, const TopoValues *file)
{
    g_autoptr(TopoValues) values = NULL;
    g_autoptr(GPtrArray) items = NULL;
    const TopoNode *node;
    TopoWorkload *workload;
    unsigned i;

    if (!topo_values_given(file, "workload")) {
        return;
    }
    node = topo_values_get(file, "workload")->node;
    values = topo_values_read(&topo_section_workload, node, loader->errors);
    workload = g_new0(TopoWorkload, 1);
    loader->loaded->pub.workload = workload;
    workload->place = node->place;
    workload->seed = (uint64_t)topo_values_number(values, "seed");
    workload->seeds = (unsigned)topo_values_number(values, "seeds");
    workload->warmup_ps = topo_values_number(values, "warmup");
    workload->stop_ps = topo_values_number(values, "stop");
    workload->completion_timeout_ps =
        topo_values_given(values, "completion_timeout")
            ? topo_values_number(values, "completion_timeout")
            : 0;
    if (topo_values_given(values, "accuracy")) {
        const TopoValue *accuracy = topo_values_get(values, "accuracy");

        workload->accuracy = accuracy->valid && accuracy->den
                                 ? (double)accuracy->number / accuracy->den
                                 : 0;
        if (workload->accuracy >= 1) {
            topo_errors_add(loader->errors, accuracy->place,
                            "accuracy: %s says nothing of a time; write less "
                            "than 100%%",
                            accuracy->text);
        }
        if (workload->seeds > 1) {
            topo_errors_add(loader->errors, accuracy->place,
                            "accuracy: the results of several seeds have an "
                            "interval of their own; leave accuracy or seeds "
                            "out");
        }
    }
    workload->flows = g_ptr_array_new_with_free_func(topo_flow_free);
    if (workload->stop_ps > 0 && workload->warmup_ps >= workload->stop_ps) {
        topo_errors_add(loader->errors, topo_values_get(values, "stop")->place,
                        "stop: %s is not later than warmup, %s; write more",
                        topo_values_text(values, "stop"),
                        topo_values_text(values, "warmup"));
    }
    items = topo_values_items(values, "flows");
    for (i = 0; i < items->len; i++) {
        node = g_ptr_array_index(items, i);
        if (topo_node_get(node, "pairs")) {
            load_pairs(loader, workload, node);
        } else {
            load_flow(loader, workload, node);
        }
    }
}
