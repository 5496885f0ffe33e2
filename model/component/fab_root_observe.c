/* SPDX-License-Identifier: MIT */
#include "fab_root_priv.h"

static bool is_read_wanted(const FabRoot *root)
{
    for (unsigned i = 0; i < root->ports; i++) {
        if (root->ingress[i].reads.head) {
            return true;
        }
    }
    return false;
}

static void root_resources(const FabComponent *component, FabResourceFn fn,
                           void *data)
{
    const FabRoot *root = (const FabRoot *)component;
    const FabRootParams *params = &root->params;
    /* One core makes the writes that no thread makes. */
    uint32_t cores = root->cores - 1;
    bool writes =
        root->cpu_writes_head != root->cpu_writes_tail && !root->cpu_stall;

    fn(data, &(FabResourceState){
                 .kind = FAB_RESOURCE_MEMORY,
                 .used = fab_completer_is_busy(&root->completer),
             });
    if (root->iommu) {
        fn(data, &(FabResourceState){
                     .kind = FAB_RESOURCE_WALKERS,
                     .size = params->iommu.walks,
                     .used = fab_iommu_walking(root->iommu),
                     .is_wanted = fab_iommu_queued(root->iommu),
                 });
    }
    fn(data, &(FabResourceState){
                 .kind = FAB_RESOURCE_CPU,
                 .size = cores,
                 .used = writes ? MAX(cores, 1) : root->cores_storing,
             });
    fn(data, &(FabResourceState){
                 .kind = FAB_RESOURCE_FORWARD_TAGS,
                 .size = params->forwarded_reads,
                 .unit_bytes = params->read_split_bytes,
                 .used = fab_root_p2p_tags_used(root),
                 .is_wanted = fab_root_p2p_is_wanted(root),
                 .requests = root->counters.forwarded_reads,
             });
    fn(data, &(FabResourceState){
                 .kind = FAB_RESOURCE_MEMORY_READS,
                 .size = params->memory.reads,
                 .used = root->completer.reading.count,
                 .is_wanted = is_read_wanted(root),
             });
}

/* ---- What holds TLPs up ---------------------------------------------- */

static bool resource_blocks(FabBlockerFn fn, void *data, FabResourceKind kind)
{
    return fn(data, &(FabBlocker){.resource = kind});
}

typedef struct WalkerSearch {
    const FabPort *ingress;
    bool is_found;
} WalkerSearch;

static void find_walker_wait(void *data, const FabTlp *tlp, bool waits)
{
    WalkerSearch *search = data;

    search->is_found |= waits && tlp->ingress == search->ingress;
}

/* True if a TLP from @ingress waits for a page walker. */
static bool waits_for_walker(const FabRoot *root, const FabPort *ingress)
{
    WalkerSearch search = {.ingress = ingress};

    if (root->iommu && fab_iommu_queued(root->iommu)) {
        fab_iommu_foreach(root->iommu, find_walker_wait, &search);
    }
    return search.is_found;
}

static bool root_blockers(const FabComponent *component, const FabPort *ingress,
                          FabClass cls, FabBlockerFn fn, void *data)
{
    const FabRoot *root = (const FabRoot *)component;

    if (waits_for_walker(root, ingress)) {
        return resource_blocks(fn, data, FAB_RESOURCE_WALKERS);
    }
    for (unsigned to = 0; to < root->ports; to++) {
        const RootPath *path = fab_root_path(root, ingress->index, to);

        if (cls == FAB_CLASS_NP ? !path->reads : !path->posted.head) {
            continue;
        }
        if (cls == FAB_CLASS_NP && path->no_tag) {
            return resource_blocks(fn, data, FAB_RESOURCE_FORWARD_TAGS);
        }
        if (fn(data, &(FabBlocker){.egress = component->ports[to]})) {
            return true;
        }
    }
    if (cls == FAB_CLASS_NP && root->ingress[ingress->index].reads.head) {
        return resource_blocks(fn, data,
                               fab_completer_is_busy(&root->completer)
                                   ? FAB_RESOURCE_MEMORY
                                   : FAB_RESOURCE_MEMORY_READS);
    }
    return cls == FAB_CLASS_P && fab_completer_is_busy(&root->completer) &&
           resource_blocks(fn, data, FAB_RESOURCE_MEMORY);
}

/* ---- What waits ------------------------------------------------------ */

static void translation_waiter(void *data, const FabTlp *tlp, bool waits)
{
    fab_observer_tlp(data, tlp, FAB_PLACE_IOMMU, NULL);
}

static void root_waiters(const FabComponent *component,
                         const FabObserver *observer)
{
    const FabRoot *root = (const FabRoot *)component;
    FabObserver translating = *observer;

    for (unsigned i = 0; i < root->ports; i++) {
        const RootIngress *ingress = &root->ingress[i];

        fab_observer_fifo(observer, &ingress->posted, FAB_PLACE_ORDER);
        fab_observer_fifo(observer, &ingress->others, FAB_PLACE_ORDER);
        fab_observer_fifo(observer, &ingress->reads, FAB_PLACE_MEMORY);
    }
    fab_root_p2p_waiters(root, observer);
    fab_completer_waiters(&root->completer, observer, FAB_PLACE_MEMORY);
    fab_observer_fifo(observer, &root->cpu_transit, FAB_PLACE_TRANSIT);
    fab_root_cpu_waiters(root, observer);
    if (root->iommu) {
        fab_iommu_foreach(root->iommu, translation_waiter, &translating);
    }
}

/* ---- What waits for what --------------------------------------------- */

static void translation_waits(void *data, const FabTlp *tlp, bool waits)
{
    fab_waits_moves(data, tlp);
}

/* Reads wait while many completions are queued at their root port. */
static void reads_wait(const FabRoot *root, const FabPort *port,
                       FabWaits *waits)
{
    const FabFifo *completions =
        &port->sources[fab_root_host_source(root)].queue[FAB_CLASS_CPL];

    for (const FabTlp *tlp = root->ingress[port->index].reads.head; tlp;
         tlp = tlp->next) {
        if (completions->count < root->params.memory.reads) {
            fab_waits_moves(waits, tlp);
            continue;
        }
        fab_waits_add(waits, tlp,
                      (FabWaitStep){.kind = FAB_WAIT_ROOM,
                                    .component = &root->component,
                                    .port = port});
        fab_waits_for_tlp(waits, completions->head);
    }
}

static void root_waits(const FabComponent *component, FabWaits *waits)
{
    const FabRoot *root = (const FabRoot *)component;

    for (unsigned i = 0; i < root->ports; i++) {
        if (root->nodes) {
            fab_root_nodes_waits(root, i, waits);
        } else {
            fab_waits_moves_all(waits, &root->ingress[i].posted);
        }
        fab_waits_moves_all(waits, &root->ingress[i].others);
        if (component->ports[i]->peer) {
            reads_wait(root, component->ports[i], waits);
        }
    }
    if (root->iommu) {
        fab_iommu_foreach(root->iommu, translation_waits, waits);
    }
    fab_waits_moves_all(waits, &root->cpu_transit);
    fab_completer_waits(&root->completer, waits);
    fab_root_p2p_waits(root, waits);
}

const FabObserveOps fab_root_observe_ops = {
    .resources = root_resources,
    .blockers = root_blockers,
    .waiters = root_waiters,
    .waits = root_waits,
};
