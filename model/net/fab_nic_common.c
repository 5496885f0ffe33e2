/* SPDX-License-Identifier: MIT */
/* Fetches, registers and steering, for reception and transmission. */
#include "fab_nic_priv.h"
#include "fab_route.h"

bool fab_nic_regs(FabNic *nic, FabRoot *driver, unsigned number,
                  FabBusAddr *ret_regs, FabBusAddr *ret_cpu_regs)
{
    FabComponent *component = fab_endpoint_component(nic->device);

    *ret_regs = component->bars[0].addr + FAB_NIC_REGS +
                (FabBusAddr)number * FAB_NIC_REG_STEP;
    return fab_route_map(fab_root_component(driver), component, *ret_regs,
                         FAB_NIC_REG_STEP, ret_cpu_regs, NULL);
}

void fab_nic_fetches_init(NicFetch *fetches, NicFetch **ret_free, void *queue,
                          uint32_t flow, FabDmaFn done)
{
    *ret_free = NULL;
    for (unsigned i = NIC_FETCHES; i-- > 0;) {
        fetches[i].queue = queue;
        fetches[i].dma = (FabDma){.type = FAB_TLP_MRD,
                                  .flow = flow,
                                  .done = done,
                                  .owner = &fetches[i]};
        fetches[i].next_free = *ret_free;
        *ret_free = &fetches[i];
    }
}

void fab_nic_fetch(FabNic *nic, NicFetch **free, FabBusAddr ring,
                   uint32_t bytes, uint32_t first, uint32_t count)
{
    NicFetch *fetch = *free;

    *free = fetch->next_free;
    fetch->count = count;
    fetch->dma.addr = ring + (uint64_t)first * bytes;
    fetch->dma.size_bytes = (uint64_t)count * bytes;
    nic->counters.fetches++;
    fab_endpoint_dma(nic->device, &fetch->dma);
}

FabNicRxQueue *fab_nic_steered(const FabNic *nic, unsigned port, uint32_t tuple)
{
    FabNicRxQueue *queue =
        g_hash_table_lookup(nic->steering, GUINT_TO_POINTER(tuple));
    const GPtrArray *rss = nic->ports[port].rss;
    uint64_t hash = tuple;

    if (queue || rss->len == 0) {
        return queue;
    }
    return rss->pdata[sim_random_splitmix64(&hash) % rss->len];
}
