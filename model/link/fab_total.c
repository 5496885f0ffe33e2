/* SPDX-License-Identifier: MIT */
/* Sums over all ports of a fabric, and the trace of them. */
#include "fab_account_priv.h"

uint64_t fab_fabric_tlp_hops(const FabFabric *fabric)
{
    uint64_t hops = 0;

    for (unsigned i = 0; i < fabric->components->len; i++) {
        const FabComponent *component = fabric->components->pdata[i];

        for (unsigned j = 0; j < component->port_count; j++) {
            const uint64_t *sent = component->ports[j]->counters.tlps_sent;

            for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
                hops += sent[cls];
            }
        }
    }
    return hops;
}

void fab_fabric_set_trace(FabFabric *fabric, uint32_t categories, FabTraceFn fn,
                          void *data)
{
    fabric->trace_categories = fn ? categories : 0;
    fabric->trace_fn = fn;
    fabric->trace_data = data;
    for (unsigned i = 0; i < fabric->components->len; i++) {
        const FabComponent *component = fabric->components->pdata[i];

        for (unsigned j = 0; j < component->port_count; j++) {
            component->ports[j]->traced =
                fabric->trace_categories & FAB_TRACE_LINK;
        }
    }
}
