/* SPDX-License-Identifier: MIT */
#include "iommu_rig.h"

const FabIommuParams rig_usual = {
    .enabled = true,
    .iotlb_entries = 64,
    .walk = 280 * SIM_NS,
    .walks = 6,
    .page_bytes = KIB4,
};

void rig_done(void *owner, FabTlp *tlp, FabBusAddr phys, bool fault)
{
    Rig *rig = owner;
    Access *access = SIM_CONTAINER_OF(tlp, Access, tlp);

    ck_assert(!access->inside);
    assert_time_eq(access->done, -1);
    access->done = sim_engine_now(rig->engine);
    access->phys = phys;
    access->fault = fault;
    access->order = rig->ended++;
    if (rig->more) {
        rig->more(rig, access);
    }
}

Rig *rig_new(const FabIommuParams *params, uint32_t count)
{
    Rig *rig = g_new0(Rig, 1);

    rig->engine = sim_engine_new();
    rig->iommu = fab_iommu_new(rig->engine, params);
    rig->accesses = g_new0(Access, count);
    rig->count = count;
    fab_iommu_set_done(rig->iommu, rig_done, rig);
    if (params->per_port) {
        fab_iommu_set_ports(rig->iommu, RIG_PORTS);
    }
    ck_assert(fab_iommu_realize(rig->iommu, RANK, NULL));
    return rig;
}

void rig_free(Rig *rig)
{
    fab_iommu_free(rig->iommu);
    sim_engine_free(rig->engine);
    g_free(rig->accesses);
    g_free(rig);
}

void rig_map(Rig *rig, FabBusAddr iova, FabBusAddr phys, uint64_t size,
             uint64_t page)
{
    GError *error = NULL;

    fab_iommu_map(rig->iommu, iova, phys, size, page, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
}

FabTranslation rig_ask(Rig *rig, uint32_t at, FabBusAddr addr)
{
    Access *access = &rig->accesses[at];
    FabTranslation result;

    *access = (Access){
        .tlp = {.type = rig->read_bytes ? FAB_TLP_MRD : FAB_TLP_MWR,
                .addr = addr,
                .payload_bytes = rig->read_bytes ? 0 : 64,
                .request_bytes = rig->read_bytes,
                .ingress = rig->ingress},
        .addr = addr,
        .time = sim_engine_now(rig->engine),
        .done = -1,
        .inside = true,
    };
    result = fab_iommu_translate(rig->iommu, &access->tlp, &access->phys);
    access->inside = false;
    if (result != FAB_TRANSLATION_PENDING) {
        access->done = access->time;
        access->fault = result == FAB_TRANSLATION_FAULT;
        access->order = rig->ended++;
    }
    return result;
}

bool rig_touch(Rig *rig, FabBusAddr addr)
{
    uint64_t hits = fab_iommu_counters(rig->iommu)->hits;

    rig_ask(rig, 0, addr);
    sim_engine_run(rig->engine);
    ck_assert(rig->accesses[0].done >= 0);
    return fab_iommu_counters(rig->iommu)->hits == hits + 1;
}
