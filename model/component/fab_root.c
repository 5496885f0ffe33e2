/* SPDX-License-Identifier: MIT */
#include "fab_ats_priv.h"
#include "fab_atc_priv.h"
#include "fab_root_priv.h"
#include "fab_answer_priv.h"

#define ROOT_BDF FAB_BDF(0, 0, 0)

/* A tag has 16 bits in the model. */
#define FORWARDED_MOST 60000u

/* ---- Memory ---------------------------------------------------------- */

/* Begins waiting reads, from the root ports in turn, until memory takes no
 * more. Skips a port at which many completions are queued. */
static SIM_HOT void reads_begin(FabRoot *root)
{
    unsigned idle = 0; /* root ports that begin none, looked at in a row */

    while (root->reads_waiting > 0 && idle < root->ports &&
           root->completer.reading.count < root->params.memory.reads) {
        unsigned index = root->read_turn;
        RootIngress *ingress = &root->ingress[index];
        FabPort *port = root->component.ports[index];

        root->read_turn = fab_root_next_port(root, index);
        if (!ingress->reads.head ||
            fab_port_queued(port, fab_root_host_source(root), FAB_CLASS_CPL) >=
                root->params.memory.reads) {
            idle++;
            continue;
        }
        root->reads_waiting--;
        fab_completer_read(&root->completer, fab_fifo_pop(&ingress->reads));
        idle = 0;
    }
}

static SIM_HOT void read_answer(FabComponent *owner, FabTlp *tlp)
{
    FabRoot *root = (FabRoot *)owner;

    root->counters.memory_read_bytes += tlp->request_bytes;
    if (G_UNLIKELY(root->nodes)) {
        tlp->ready_at = fab_root_nodes_from_memory(
            root, tlp->ingress->index, tlp->addr, tlp->request_bytes);
    }
    tlp->attr |= root->params.id_ordering ? FAB_ATTR_IDO : 0;
    fab_tlp_answer(tlp, fab_root_host_source(root), ROOT_BDF,
                   root->params.completion_bytes, root->params.rcb_bytes,
                   tlp->ecrc);
    if (root->reads_waiting > 0) {
        reads_begin(root);
    }
}

/* True if @tlp is a write to memory that must not become visible before those
 * ahead of it (PCIe 5.0 table 2-40, A2b). */
static inline bool is_ordered(const FabRoot *root, const FabTlp *tlp)
{
    return !(tlp->attr & FAB_ATTR_RO) &&
           fab_memory_contains(root->completer.memory, tlp->addr,
                               tlp->payload_bytes);
}

static inline void memory_write(FabRoot *root, FabTlp *tlp)
{
    RootIngress *ingress = &root->ingress[tlp->ingress->index];

    if (G_UNLIKELY(root->params.ordered_bytes) && is_ordered(root, tlp)) {
        ingress->ordered_bytes += tlp->payload_bytes;
        fab_root_acks_add(&root->ordered,
                          sim_engine_now(root->component.engine) +
                              root->params.ordered_time,
                          tlp->ingress->index, tlp->payload_bytes);
    }

    root->counters.memory_written_bytes += tlp->payload_bytes;
    ingress->visible_at = fab_completer_write(
        &root->completer, tlp,
        G_UNLIKELY(root->nodes)
            ? fab_root_nodes_to_memory(root, tlp->ingress->index, tlp->addr,
                                       tlp->payload_bytes)
            : 0);
}

/* ---- Requests -------------------------------------------------------- */

/* A page without memory or BARs. */
#define FAULT_PAGE (UINT64_MAX & ~0xfffull)

/* A faulting request keeps its place in the order, and dispatch() refuses it.
 * Until then its address, @addr, is in tlp->data. Its offset in the page stays,
 * because the number of DWs depends on it. */
static void fault(FabTlp *tlp, FabBusAddr addr)
{
    tlp->data = addr;
    fab_tlp_readdress(tlp, FAULT_PAGE | (addr & 0xfff));
}

/* True if the root forwards requests like @tlp between its ports. */
static inline bool is_forwarded(const FabRoot *root, const FabTlp *tlp)
{
    FabRootP2p p2p = root->params.p2p;

    return p2p == FAB_ROOT_P2P_ALL ||
           (p2p == FAB_ROOT_P2P_WRITES && tlp->cls == FAB_CLASS_P);
}

static void refuse(FabRoot *root, FabTlp *tlp)
{
    FabPort *port = tlp->ingress;
    FabLossCause cause = FAB_LOSS_UNSUPPORTED;
    FabStatus status = FAB_STATUS_UR;
    FabTlp *cpl;

    if (tlp->poisoned) {
        cause = FAB_LOSS_POISONED;
    } else if (root->iommu && tlp->addr >= FAULT_PAGE) {
        cause = tlp->at ? FAB_LOSS_BLOCKED : FAB_LOSS_NOT_MAPPED;
        fab_tlp_readdress(tlp, tlp->data);
    } else if (!is_forwarded(root, tlp) && fab_root_route(root, tlp->addr)) {
        cause = FAB_LOSS_NOT_FORWARDED;
        status = root->params.p2p_aborts ? FAB_STATUS_CA : FAB_STATUS_UR;
    }
    cpl = fab_tlp_refuse_for(&root->component, tlp, status, ROOT_BDF, cause);
    if (cpl) {
        fab_port_send(port, fab_root_host_source(root), cpl);
    }
}

/* Dispatches the completion @tlp. All TLPs that it must not pass have gone. */
static void completion_dispatch(FabRoot *root, FabTlp *tlp)
{
    FabPort *ingress = tlp->ingress;

    if (tlp->requester_id == ROOT_BDF) {
        if (tlp->tag < fab_root_split_first_tag(root)) {
            fab_root_cpu_completion(root, tlp);
        } else {
            fab_root_p2p_completion(root, ingress, tlp);
        }
        return;
    }
    /* ACS redirect has sent it up, to a device below some root port. */
    for (unsigned i = 0; i < root->ports; i++) {
        FabPort *port = root->component.ports[i];
        unsigned bus = FAB_BDF_BUS(tlp->requester_id);

        if (port->peer && bus >= port->bridge.secondary &&
            bus <= port->bridge.subordinate) {
            tlp->ready_at = fab_root_ready_at(root, ingress->index, i,
                                              tlp->tail_at, tlp->payload_bytes);
            fab_root_p2p_return(root, ingress->index, i, tlp);
            return;
        }
    }
    fab_tlp_refuse(&root->component, tlp, FAB_STATUS_UR, ROOT_BDF);
}

/* Dispatches @tlp, which has a host address. All TLPs that it must not pass
 * have gone. */
static SIM_HOT void dispatch(FabRoot *root, FabTlp *tlp)
{
    FabPort *from = tlp->ingress, *to;
    uint32_t bytes = MAX(tlp->payload_bytes, tlp->request_bytes);

    if (fab_tlp_is_completion(tlp)) {
        completion_dispatch(root, tlp);
        return;
    }
    if (G_UNLIKELY(tlp->at == FAB_AT_REQUEST)) {
        fab_tlp_answer(tlp, fab_root_host_source(root), ROOT_BDF,
                       root->params.rcb_bytes, root->params.rcb_bytes,
                       tlp->ecrc);
        return;
    }
    if (G_UNLIKELY(tlp->type == FAB_TLP_MSG)) {
        fab_root_ats_message(root, tlp);
        return;
    }
    if (fab_memory_contains(root->completer.memory, tlp->addr, bytes)) {
        if (G_UNLIKELY(tlp->poisoned)) {
            refuse(root, tlp); /* bad data change nothing (s2.7.2.2) */
        } else if (tlp->cls == FAB_CLASS_P) {
            memory_write(root, tlp);
        } else {
            fab_fifo_push(&root->ingress[from->index].reads, tlp);
            root->reads_waiting++;
            reads_begin(root);
        }
        return;
    }
    to = fab_root_route(root, tlp->addr);
    if (to && G_UNLIKELY(!is_forwarded(root, tlp))) {
        refuse(root, tlp);
    } else if (to) {
        /* With ACS redirect, a request between two endpoints below one root
         * port leaves through the port it came in. */
        fab_root_p2p_request(root, from, to, tlp);
    } else if (tlp->addr - FAB_MSI_BASE < FAB_MSI_BYTES &&
               tlp->cls == FAB_CLASS_P && !tlp->poisoned) {
        memory_write(root, tlp);
    } else {
        refuse(root, tlp);
    }
}

/* True if the posted request @tlp must wait although it is its turn. */
static inline bool is_held(FabRoot *root, const FabTlp *tlp)
{
    uint32_t most = root->params.ordered_bytes;
    uint32_t bytes = root->ingress[tlp->ingress->index].ordered_bytes;

    return (G_UNLIKELY(root->nodes) && fab_root_nodes_hold(root, tlp)) ||
           (bytes && bytes + tlp->payload_bytes > most &&
            is_ordered(root, tlp));
}

static inline uint64_t early_number(const RootIngress *ingress, unsigned i)
{
    return g_array_index(ingress->early, uint64_t, i);
}

/* Requests whose turn would be next have gone early. */
static G_GNUC_NO_INLINE void skip_early(RootIngress *ingress)
{
    unsigned gone = 0;

    while (gone < ingress->early->len &&
           early_number(ingress, gone) == ingress->posted_dispatched) {
        ingress->posted_dispatched++;
        gone++;
    }
    if (gone > 0) {
        g_array_remove_range(ingress->early, 0, gone);
    }
}

/* The posted request whose turn it is is dispatched. */
static inline void posted_advance(RootIngress *ingress)
{
    ingress->passed = 0;
    ingress->posted_dispatched++;
    if (G_UNLIKELY(ingress->early)) {
        skip_early(ingress);
    }
}

/* True if @tlp may pass all posted requests of the queue that are ahead of it.
 */
static bool may_go_first(const FabFifo *posted, const FabTlp *tlp)
{
    for (const FabTlp *ahead = posted->head; ahead != tlp;
         ahead = ahead->next) {
        if (fab_tlp_may_pass(tlp, ahead) == FAB_PASS_NO) {
            return false;
        }
    }
    return true;
}

/* Takes @tlp, which is behind @before, out of the queue. Of the early ones, the
 * first @smaller have lower numbers. */
static FabTlp *go_early(RootIngress *ingress, FabTlp *before, FabTlp *tlp,
                        unsigned smaller)
{
    FabFifo *posted = &ingress->posted;

    before->next = tlp->next;
    if (posted->tail == tlp) {
        posted->tail = before;
    }
    posted->count--;
    if (!ingress->early) {
        ingress->early = g_array_new(FALSE, FALSE, sizeof(uint64_t));
    }
    g_array_insert_val(ingress->early, smaller, tlp->posted_before);
    ingress->passed++;
    return tlp;
}

/* The first posted request is held. Takes one that may pass it, and is not
 * held, out of the queue. Returns NULL if there is none. A request that the
 * IOMMU has not translated yet is passed by none. Numbers stay as they are, so
 * reads and completions wait for the same requests as before, wherever they
 * are. */
static FabTlp *pass(FabRoot *root, RootIngress *ingress)
{
    FabTlp *before = ingress->posted.head;
    uint64_t number = before->posted_before + 1; /* of the next one */
    unsigned early = 0;

    if (ingress->passed >= root->params.nodes.passes) {
        return NULL;
    }
    for (FabTlp *tlp = before->next; tlp;
         before = tlp, tlp = tlp->next, number++) {
        while (ingress->early && early < ingress->early->len &&
               early_number(ingress, early) == number) {
            early++;
            number++;
        }
        if (tlp->posted_before != number) {
            return NULL;
        }
        if (tlp->attr & (FAB_ATTR_RO | FAB_ATTR_IDO) && !is_held(root, tlp) &&
            may_go_first(&ingress->posted, tlp)) {
            return go_early(ingress, before, tlp, early);
        }
    }
    return NULL;
}

/* Dispatches the TLPs at root port @from whose turn it is. */
static void dispatch_more(FabRoot *root, unsigned from)
{
    RootIngress *ingress = &root->ingress[from];

    for (;;) {
        FabTlp *posted = ingress->posted.head, *other = ingress->others.head;
        FabTlp *passer;

        if (other && other->posted_before <= ingress->posted_dispatched) {
            dispatch(root, fab_fifo_pop(&ingress->others));
        } else if (!posted ||
                   posted->posted_before != ingress->posted_dispatched) {
            return;
        } else if (!is_held(root, posted)) {
            posted_advance(ingress);
            dispatch(root, fab_fifo_pop(&ingress->posted));
        } else {
            passer = pass(root, ingress);
            if (!passer) {
                return;
            }
            dispatch(root, passer);
        }
    }
}

/* Ordered writes of root port @from have become visible. */
static void ordered_over(FabRoot *root, unsigned from, uint32_t bytes)
{
    root->ingress[from].ordered_bytes -= bytes;
    dispatch_more(root, from);
}

/* translated() for a posted request, where some wait or may have to. */
static G_GNUC_NO_INLINE void posted_in_turn(FabRoot *root, FabTlp *tlp)
{
    unsigned from = tlp->ingress->index;
    RootIngress *ingress = &root->ingress[from];

    if (tlp->posted_before != ingress->posted_dispatched ||
        is_held(root, tlp)) {
        fab_fifo_insert_posted(&ingress->posted, tlp);
        if (G_UNLIKELY(root->params.nodes.passes)) {
            dispatch_more(root, from);
        }
        return;
    }
    posted_advance(ingress);
    dispatch(root, tlp);
    if (ingress->posted.head || ingress->others.head) {
        dispatch_more(root, from);
    }
}

/* The address of @tlp is a host address now. All calls come last here, so that
 * no registers are saved for them. */
static inline void translated(FabRoot *root, FabTlp *tlp)
{
    RootIngress *ingress = &root->ingress[tlp->ingress->index];

    if (tlp->cls != FAB_CLASS_P) {
        if (tlp->posted_before <= ingress->posted_dispatched) {
            dispatch(root, tlp);
        } else {
            fab_fifo_push(&ingress->others, tlp);
        }
    } else if (tlp->posted_before != ingress->posted_dispatched ||
               ingress->posted.head || ingress->others.head || ingress->early ||
               root->nodes || root->params.ordered_bytes) {
        posted_in_turn(root, tlp);
    } else {
        ingress->posted_dispatched++;
        dispatch(root, tlp);
    }
}

static void translate_done(void *owner, FabTlp *tlp, FabBusAddr phys,
                           bool faults)
{
    if (G_UNLIKELY(tlp->at == FAB_AT_REQUEST)) { /* tlp->data is the answer */
        fab_tlp_readdress(tlp, tlp->addr &
                                   ((UINT64_C(1) << FAB_DEVICE_ADDR_BITS) - 1));
        translated(owner, tlp);
        return;
    }
    if (faults) { /* the bits above an address are the domain's */
        fault(tlp, tlp->addr & ((UINT64_C(1) << FAB_DEVICE_ADDR_BITS) - 1));
    } else {
        fab_tlp_readdress(tlp, phys);
    }
    translated(owner, tlp);
}

static void request_receive(FabRoot *root, FabTlp *tlp)
{
    RootIngress *ingress = &root->ingress[tlp->ingress->index];
    FabBusAddr phys;

    tlp->posted_before = tlp->cls == FAB_CLASS_P ? ingress->posted_received++
                                                 : ingress->posted_received;
    if (!root->iommu || tlp->addr - FAB_MSI_BASE < FAB_MSI_BYTES) {
        translated(root, tlp);
        return;
    }
    if (G_UNLIKELY(tlp->at) && !fab_root_ats_is_on(root, tlp->requester_id)) {
        root->counters.ats_blocked++;
        tlp->at = FAB_AT_TRANSLATED; /* a Translation Request gets no answer */
        fault(tlp, tlp->addr);
        translated(root, tlp);
        return;
    }
    if (tlp->at == FAB_AT_TRANSLATED || tlp->type == FAB_TLP_MSG) {
        translated(root, tlp);
        return;
    }
    if (tlp->addr >> FAB_DEVICE_ADDR_BITS) {
        fault(tlp, tlp->addr);
        translated(root, tlp);
        return;
    }
    if (root->domain_of) {
        fab_tlp_readdress(
            tlp, tlp->addr |
                     fab_root_domain_base(root->domain_of[tlp->requester_id]));
    }
    switch (fab_iommu_translate(root->iommu, tlp, &phys)) {
    case FAB_TRANSLATION_DONE:
        translate_done(root, tlp, phys, false);
        break;
    case FAB_TRANSLATION_FAULT:
        translate_done(root, tlp, 0, true);
        break;
    case FAB_TRANSLATION_PENDING:
        break;
    }
}

static void completion_receive(FabRoot *root, FabTlp *tlp)
{
    RootIngress *ingress = &root->ingress[tlp->ingress->index];

    if (ingress->posted_dispatched == ingress->posted_received) {
        completion_dispatch(root, tlp);
    } else { /* the completion must not pass posted requests (D2) */
        tlp->posted_before = ingress->posted_received;
        fab_fifo_push(&ingress->others, tlp);
    }
}

static SIM_HOT void root_receive(FabComponent *component, FabPort *ingress,
                                 FabTlp *tlp)
{
    FabRoot *root = (FabRoot *)component;

    if (fab_tlp_is_completion(tlp)) {
        completion_receive(root, tlp);
    } else {
        request_receive(root, tlp);
    }
}

/* ---- Life ------------------------------------------------------------ */

/* A TLP of the host has left @port, so the next read or CPU write may go. */
static SIM_HOT void host_drained(void *owner, FabPort *port, const FabTlp *tlp)
{
    FabRoot *root = owner;

    if (tlp->metered) {
        fab_account_left(&root->component.fabric->accounts, port, tlp,
                         sim_engine_now(root->component.engine));
    }
    fab_root_cpu_drained(root, port);
    if (root->ingress[port->index].reads.head) {
        reads_begin(root);
    }
}

/* A TLP from a root port has left @port, so the paths to @port may go on. */
static SIM_HOT void path_drained(void *owner, FabPort *port, const FabTlp *tlp)
{
    FabRoot *root = owner;
    RootEgress *egress = &root->egress[port->index];

    uint64_t left = egress->used;

    while (left) {
        unsigned from = __builtin_ctzll(left);
        const RootPath *path = fab_root_path(root, from, port->index);

        if (path->posted.head || path->reads || path->completions.head) {
            fab_root_p2p_advance(root, from, port->index);
        } else {
            egress->used &= ~(UINT64_C(1) << from);
        }
        left = egress->used & UINT64_MAX << from << 1;
    }
}

/* Returns whether @bytes is a valid split size. SplitRead.piece has room for
 * pieces of at least 64 bytes. */
static bool is_split(uint32_t bytes)
{
    return bytes == 0 || (bytes >= 64 && (bytes & (bytes - 1)) == 0);
}

static bool check_params(const FabRootParams *params, unsigned ports,
                         GError **error)
{
    const char *wrong = NULL;

    if (!is_split(params->read_split_bytes) ||
        !is_split(params->write_split_bytes)) {
        wrong =
            "requests must be split into a power of two of at least 64 bytes";
    } else if (params->forwarded_reads < 1 || params->forwarded_reads > 4095) {
        wrong = "the number of forwarded reads must be 1 to 4095";
    } else if (ports * params->forwarded_reads > FORWARDED_MOST) {
        wrong = "the root ports must have at most 60000 forwarded reads "
                "together";
    } else if (params->cpu.mmio_reads < 1 || params->cpu.mmio_reads > 1023) {
        wrong = "the number of reads of the CPU must be 1 to 1023";
    } else if (params->rcb_bytes != 64 && params->rcb_bytes != 128) {
        wrong = "the Read Completion Boundary must be 64 or 128 bytes";
    }
    if (wrong) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG, "%s", wrong);
    }
    return !wrong;
}

/* Checks that RAM and the addresses for BARs do not overlap. */
static bool check_addresses(const FabRoot *root, GError **error)
{
    if (fab_memory_end(root->completer.memory) > root->params.mmio.high_base) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "memory ends at 0x%" G_GINT64_MODIFIER
                    "x, above the begin of the addresses for large BARs, "
                    "0x%" G_GINT64_MODIFIER "x",
                    fab_memory_end(root->completer.memory),
                    root->params.mmio.high_base);
        return false;
    }
    return true;
}

static void cache_make(FabRoot *root)
{
    FabCompleter *completer = &root->completer;
    const FabMemoryParams *memory = &root->params.memory;

    completer->cache = fab_cache_new(&memory->cache);
    completer->hit_saves = memory->latency - memory->cache.latency;
}

static bool iommu_realize(FabRoot *root, GError **error)
{
    const FabComponent *component = &root->component;

    if (root->params.iommu.per_port) {
        fab_iommu_set_ports(root->iommu, component->port_count);
    }
    return fab_iommu_realize(root->iommu, component->rank, error);
}

static bool root_realize(FabComponent *component, GError **error)
{
    FabRoot *root = (FabRoot *)component;

    if (!check_params(&root->params, component->port_count, error) ||
        !check_addresses(root, error) ||
        !fab_memory_check(root->completer.memory, error) ||
        !fab_cache_check(&root->params.memory, error) ||
        (root->iommu && !iommu_realize(root, error))) {
        g_prefix_error(error, "%s: ", component->name);
        return false;
    }
    if (root->params.memory.cache.size_bytes) {
        cache_make(root);
    }
    root->ports = component->port_count;
    fab_root_ats_init(root);
    root->ingress =
        FAB_ARENA_NEW(&component->fabric->arena, RootIngress, root->ports);
    root->paths = FAB_ARENA_NEW(&component->fabric->arena, RootPath,
                                root->ports * root->ports);
    for (unsigned i = 0; i < root->ports; i++) {
        FabPort *port = component->ports[i];

        /* The root acts on whole TLPs. */
        fab_port_set_latency(port, FAB_FORWARDING_STORE, port->params.latency);
        fab_port_set_sources(port, root->ports + 1);
        for (unsigned j = 0; j < root->ports; j++) {
            fab_port_set_drained(port, j, path_drained, root);
            fab_port_set_weight(port, j, component->ports[j]);
        }
        /* Memory is no slower than the link. */
        fab_port_set_weight(port, fab_root_host_source(root), port);
        fab_port_set_drained(port, fab_root_host_source(root), host_drained,
                             root);
    }
    fab_completer_realize(&root->completer, component->rank + 1, read_answer);
    fab_root_nodes_init(root, dispatch_more);
    fab_root_acks_init(&root->ordered, root, ordered_over);
    fab_root_p2p_init(root);
    fab_root_cpu_init(root);
    return true;
}

static void root_free(FabComponent *component)
{
    FabRoot *root = (FabRoot *)component;
    FabFabric *fabric = component->fabric;

    for (unsigned i = 0; i < root->ports; i++) {
        fab_fifo_clear(fabric, &root->ingress[i].posted);
        fab_fifo_clear(fabric, &root->ingress[i].others);
        fab_fifo_clear(fabric, &root->ingress[i].reads);
        g_clear_pointer(&root->ingress[i].early, g_array_unref);
    }
    fab_root_nodes_free(root);
    fab_root_acks_free(&root->ordered);
    fab_root_ats_free(root);
    fab_root_p2p_free(root);
    fab_root_cpu_free(root);
    fab_iommu_free(root->iommu);
    fab_completer_done(&root->completer);
    fab_root_iova_free(root);
}

static void root_caching(const FabComponent *component, FabCaching *sum)
{
    const FabRoot *root = (const FabRoot *)component;
    const FabCache *cache = root->completer.cache;
    uint64_t page_bytes = root->params.iommu.page_bytes;

    if (cache) {
        sum->held += fab_cache_held(cache);
        sum->missed +=
            (SimTime)fab_cache_missed(cache) * root->completer.hit_saves;
    }
    if (root->iommu) {
        fab_iommu_caching(root->iommu, page_bytes, sum);
    }
    if (root->iommu && root->params.iommu.ats &&
        page_bytes > sum->seen_bytes / 2) {
        sum->unseen_ps += (double)FAB_ATC_MISS_TIME / (double)page_bytes;
    }
}

static const FabComponentOps root_ops = {
    .receive = root_receive,
    .realize = root_realize,
    .free = root_free,
    .observe = &fab_root_observe_ops,
    .caching = root_caching,
};

FabRoot *fab_root_new(FabFabric *fabric, const char *name,
                      const FabRootParams *params)
{
    FabRoot *root = FAB_ARENA_NEW(&fabric->arena, FabRoot, 1);

    root->params = *params;
    root->params.completion_bytes =
        MAX(params->completion_bytes, params->rcb_bytes);
    fab_component_init(&root->component, fabric, &root_ops, FAB_KIND_ROOT,
                       name);
    fab_completer_init(&root->completer, &root->component,
                       fab_memory_new(&params->memory, params->mmio.low_base));
    if (params->iommu.enabled) {
        root->iommu = fab_iommu_new(fabric->engine, &params->iommu);
        fab_iommu_set_done(root->iommu, translate_done, root);
        fab_root_ats_new(root);
    }
    fab_root_iova_init(root);
    return root;
}

FabComponent *fab_root_component(FabRoot *root)
{
    return &root->component;
}

FabRoot *fab_component_as_root(FabComponent *component)
{
    return component->ops == &root_ops ? (FabRoot *)component : NULL;
}

const FabRootParams *fab_root_params(const FabRoot *root)
{
    return &root->params;
}

FabPort *fab_root_add_port(FabRoot *root, const char *name,
                           const FabPortParams *params)
{
    FabPort *port;

    g_assert(root->component.port_count + 1 < FAB_SOURCES_MAX);
    port = fab_component_add_port(&root->component, name, params);
    fab_port_set_role(port, FAB_PORT_ROOT, NULL);
    return port;
}

const FabRootCounters *fab_root_counters(const FabRoot *root)
{
    return &root->counters;
}

const FabIommuCounters *fab_root_iommu_counters(const FabRoot *root)
{
    return root->iommu ? fab_iommu_counters(root->iommu) : NULL;
}
