/* SPDX-License-Identifier: MIT */
#include "fab_flow_list_priv.h"

static void flow_free(void *data)
{
    FabFlow *flow = data;

    sim_event_cancel(&flow->event);
    sim_histogram_free(flow->latency);
    g_clear_pointer(&flow->followers, g_ptr_array_unref);
    g_free(flow->pace);
    g_free(flow->orders);
    g_free(flow->name);
    flow->ops->free(flow);
}

static void list_free(FabAttachment *attachment)
{
    FlowList *list = (FlowList *)attachment;

    sim_event_cancel(&list->skip_event);
    g_hash_table_unref(list->by_name);
    g_clear_pointer(&list->engines, g_hash_table_unref);
    g_ptr_array_unref(list->flows);
    g_free(list);
}

static const FabAttachmentOps list_ops = {.free = list_free};

FlowList *fab_flow_list_find(const FabFabric *fabric)
{
    return (FlowList *)fab_fabric_attachment(fabric, &list_ops);
}

FlowList *fab_flow_list(FabFabric *fabric)
{
    FlowList *list = fab_flow_list_find(fabric);

    if (!list) {
        list = g_new0(FlowList, 1);
        list->flows = g_ptr_array_new_with_free_func(flow_free);
        list->by_name = g_hash_table_new(g_str_hash, g_str_equal);
        fab_fabric_attach(fabric, &list->attachment, &list_ops);
    }
    return list;
}
