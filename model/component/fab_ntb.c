/* SPDX-License-Identifier: MIT */
#include "fab_ntb_priv.h"

#include "fab_observe_priv.h"
#include "fab_waits_priv.h"
#include "fab_answer_priv.h"
#include "fab_error_report_priv.h"

#define HOST   0
#define NO_TAG UINT16_MAX

/* The way by which a TLP in the buffer of @port, a port of the chip, comes. */
static inline unsigned way_of(const FabNtb *ntb, const FabPort *port)
{
    return G_LIKELY(port->owner == &ntb->component)
               ? port->index
               : ntb->component.port_count +
                     ((const FabNtb *)port->owner)->number;
}

/* The partition behind @way, which is no port of the adapter. */
static FabComponent *partition(const FabNtb *ntb, unsigned way)
{
    return ntb->chip->pdata[way - ntb->component.port_count];
}

/* Sends @tlp by @way. */
static inline void way_send(FabNtb *ntb, unsigned way, FabTlp *tlp)
{
    if (G_LIKELY(way < ntb->component.port_count)) {
        fab_port_forward(ntb->component.ports[way], way_of(ntb, tlp->ingress),
                         tlp);
    } else {
        FabComponent *other = partition(ntb, way);

        other->ops->receive(other, tlp->ingress, tlp);
    }
}

static inline bool is_known(const FabNtb *ntb, FabBdf requester)
{
    return ntb->known[requester / 64] >> (requester % 64) & 1;
}

static inline bool hits_window(const FabNtb *ntb, const FabTlp *tlp)
{
    const FabBar *window = &ntb->component.bars[FAB_NTB_WINDOW_BAR];

    return tlp->addr - window->addr < window->size_bytes;
}

/* The entry of the window that @tlp hits; NULL if the entry is free. */
static const FabNtbEntry *find_entry(FabNtb *ntb, const FabTlp *tlp)
{
    uint64_t offset = tlp->addr - ntb->component.bars[FAB_NTB_WINDOW_BAR].addr;
    const FabNtbEntry *entry = &ntb->entries[offset >> ntb->entry_shift];

    if (!entry->cable) {
        ntb->counters.unmapped++;
        return NULL;
    }
    return entry;
}

/* True if @requester_id has the bus number of the adapter, which no other
 * function has. */
static inline bool is_own(const FabNtb *ntb, FabBdf requester_id)
{
    return FAB_BDF_BUS(requester_id) == FAB_BDF_BUS(ntb->component.bdf);
}

/* Gives @tlp, which came through @cable, the Requester ID under which the
 * adapter issues it. Returns false if all aliases are in use. */
static bool alias_set(FabNtb *ntb, FabTlp *tlp, unsigned cable)
{
    unsigned i = ntb->last_alias;

    if (ntb->aliases[i].cable != cable ||
        ntb->aliases[i].requester_id != tlp->requester_id) {
        for (i = 0; i < ntb->alias_count; i++) {
            if (ntb->aliases[i].cable == cable &&
                ntb->aliases[i].requester_id == tlp->requester_id) {
                break;
            }
        }
        if (i == FAB_NTB_ALIASES) {
            ntb->counters.unknown_requester++;
            return false;
        }
        if (i == ntb->alias_count) {
            ntb->aliases[i] = (FabNtbAlias){tlp->requester_id, cable};
            ntb->alias_count++;
        }
        ntb->last_alias = i;
    }
    tlp->requester_id = (ntb->component.bdf & ~(FAB_NTB_ALIASES - 1)) | i;
    return true;
}

static void translate(FabNtb *ntb, const FabNtbEntry *entry, FabTlp *tlp)
{
    /* The window is aligned to its size. */
    uint64_t mask = (1ull << ntb->entry_shift) - 1;

    ntb->counters.translated++;
    fab_tlp_readdress(tlp, entry->target + (tlp->addr & mask));
    /* The translation was of the own host's agent; the address is another
     * one now, which only the IOMMU of the next host may judge. */
    tlp->at = FAB_AT_UNTRANSLATED;
}

static void refuse(FabNtb *ntb, FabTlp *tlp)
{
    FabPort *ingress = tlp->ingress;
    FabTlp *cpl =
        fab_tlp_refuse(&ntb->component, tlp, FAB_STATUS_UR, ntb->component.bdf);

    if (!cpl) {
        return;
    }
    if (ingress->owner == &ntb->component) {
        fab_port_send(ingress, ingress->index, cpl);
    } else { /* through the port of the other partition's host */
        fab_port_send(ingress, ingress->owner->port_count + ntb->number, cpl);
    }
}

/* Takes a request from the host. It must hit a mapped entry of the window. */
static void receive_request(FabNtb *ntb, FabTlp *tlp)
{
    /* An adapter is no Translation Agent (PCIe 5.0 s10.2.2). */
    const FabNtbEntry *entry =
        hits_window(ntb, tlp) && G_LIKELY(tlp->at != FAB_AT_REQUEST)
            ? find_entry(ntb, tlp)
            : NULL;

    if (entry && !is_known(ntb, tlp->requester_id)) {
        ntb->counters.unknown_requester++;
        entry = NULL;
    }
    if (!entry) {
        refuse(ntb, tlp);
        return;
    }
    translate(ntb, entry, tlp);
    way_send(ntb, entry->cable, tlp);
}

/*
 * Finds the way on for a request from afar: to the host or, if it hits the
 * window, to another cable or partition, with its address translated. The
 * latter connects a chain of hosts with one adapter each. Returns false if the
 * window has no entry for it.
 */
static inline bool way_on(FabNtb *ntb, FabTlp *tlp, unsigned *ret_egress)
{
    const FabNtbEntry *entry;

    if (!hits_window(ntb, tlp)) {
        *ret_egress = HOST;
        return true;
    }
    entry = find_entry(ntb, tlp);
    if (!entry) {
        return false;
    }
    translate(ntb, entry, tlp);
    *ret_egress = entry->cable;
    return true;
}

/* Issues a request from afar. */
static void issue(FabNtb *ntb, FabTlp *tlp)
{
    unsigned egress;

    if (!way_on(ntb, tlp, &egress) ||
        !alias_set(ntb, tlp, way_of(ntb, tlp->ingress))) {
        refuse(ntb, tlp);
        return;
    }
    way_send(ntb, egress, tlp);
}

/* Issues a non-posted request from a cable, under a tag of the adapter. */
static void proxy_send(FabNtb *ntb, FabTlp *tlp)
{
    uint16_t tag = ntb->free_tag;
    FabNtbProxy *proxy = &ntb->proxies[tag];
    unsigned cable = way_of(ntb, tlp->ingress), egress;

    if (!way_on(ntb, tlp, &egress)) {
        refuse(ntb, tlp);
        return;
    }
    ntb->free_tag = proxy->next_free;
    ntb->tags_used++;
    proxy->requester_id = tlp->requester_id;
    proxy->tag = tlp->tag;
    proxy->cable = cable;
    proxy->transaction = tlp->transaction;
    proxy->deadline =
        fab_timeout_begin(ntb->component.fabric, &ntb->timeout_event);
    tlp->requester_id = ntb->component.bdf;
    tlp->tag = tag;
    way_send(ntb, egress, tlp);
}

/* Unexpected Completion: dropped (PCIe 5.0 s2.3.2). */
static void completion_drop(FabNtb *ntb, FabTlp *tlp)
{
    fab_tlp_refuse(&ntb->component, tlp, FAB_STATUS_UR, ntb->component.bdf);
}

static void proxy_free(FabNtb *ntb, uint16_t tag)
{
    ntb->proxies[tag].cable = 0;
    ntb->proxies[tag].next_free = ntb->free_tag;
    ntb->free_tag = tag;
    ntb->tags_used--;
}

/* Takes a completion for a request that the adapter issued under a tag of its
 * own. Restores the requester's ID and tag, and sends the completion back
 * through the cable. */
static void proxy_completion(FabNtb *ntb, FabTlp *tlp)
{
    FabNtbProxy *proxy =
        tlp->tag < ntb->params.tags ? &ntb->proxies[tlp->tag] : NULL;
    uint16_t tag = tlp->tag;
    unsigned cable;

    if (!proxy || !proxy->cable ||
        fab_timeout_is_late(ntb->component.fabric, tlp->transaction,
                            proxy->transaction)) {
        completion_drop(ntb, tlp);
        return;
    }
    cable = proxy->cable;
    tlp->requester_id = proxy->requester_id;
    tlp->tag = proxy->tag;
    if (fab_tlp_is_last_completion(tlp)) {
        proxy_free(ntb, tag);
    }
    way_send(ntb, cable, tlp);
    while (ntb->tag_wait.head && ntb->free_tag != NO_TAG) {
        proxy_send(ntb, fab_fifo_pop(&ntb->tag_wait));
    }
}

/* Gives up the requests whose completions have not all come in time. Their
 * requesters give up themselves. */
static void timeout_event(SimEvent *event)
{
    FabNtb *ntb = SIM_CONTAINER_OF(event, FabNtb, timeout_event);
    SimTime next = SIM_TIME_NONE;

    for (unsigned i = 0; i < ntb->params.tags; i++) {
        if (!ntb->proxies[i].cable) {
            continue;
        }
        if (ntb->proxies[i].deadline > event->time) {
            next = MIN(next, ntb->proxies[i].deadline);
            continue;
        }
        fab_timeout_count(ntb->component.ports[HOST]);
        proxy_free(ntb, i);
    }
    while (ntb->tag_wait.head && ntb->free_tag != NO_TAG) {
        proxy_send(ntb, fab_fifo_pop(&ntb->tag_wait));
    }
    fab_timeout_next(event, next);
}

/* Takes a completion for a request that the adapter issued. */
static SIM_HOT void receive_completion(FabNtb *ntb, FabTlp *tlp)
{
    const FabNtbAlias *alias =
        &ntb->aliases[tlp->requester_id % FAB_NTB_ALIASES];

    if (!is_own(ntb, tlp->requester_id)) {
        completion_drop(ntb, tlp);
    } else if (ntb->proxies) {
        proxy_completion(ntb, tlp);
    } else if (!alias->cable) {
        completion_drop(ntb, tlp);
    } else {
        tlp->requester_id = alias->requester_id;
        way_send(ntb, alias->cable, tlp);
    }
}

/* Takes a TLP that comes by a cable or from another partition. */
static void from_afar(FabNtb *ntb, FabTlp *tlp)
{
    if (tlp->cls == FAB_CLASS_NP && ntb->proxies) {
        if (ntb->free_tag == NO_TAG) {
            ntb->counters.tag_waits++;
            fab_fifo_push(&ntb->tag_wait, tlp);
        } else {
            proxy_send(ntb, tlp);
        }
    } else if (!fab_tlp_is_completion(tlp)) {
        issue(ntb, tlp);
    } else if (is_own(ntb, tlp->requester_id)) {
        receive_completion(ntb, tlp);
    } else {
        tlp->completer_id = ntb->component.bdf;
        way_send(ntb, HOST, tlp);
    }
}

static SIM_HOT void ntb_receive(FabComponent *component, FabPort *ingress,
                                FabTlp *tlp)
{
    FabNtb *ntb = (FabNtb *)component;

    if (way_of(ntb, ingress) != HOST) {
        from_afar(ntb, tlp);
    } else if (fab_tlp_is_completion(tlp)) {
        receive_completion(ntb, tlp);
    } else {
        receive_request(ntb, tlp);
    }
}

static inline bool is_power(uint64_t value)
{
    return value && (value & (value - 1)) == 0;
}

/* Gives each port of the adapter a source for each partition of the chip. */
static bool chip_realize(FabNtb *ntb, GError **error)
{
    FabComponent *component = &ntb->component;
    unsigned sources = component->port_count + ntb->chip->len;

    if (sources > FAB_SOURCES_MAX) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: its chip has %u partitions; connect at most %u hosts",
                    component->name, ntb->chip->len,
                    FAB_SOURCES_MAX - component->port_count);
        return false;
    }
    for (unsigned i = 0; i < component->port_count; i++) {
        fab_port_set_sources(component->ports[i], sources);
        for (unsigned j = 0; j < ntb->chip->len; j++) {
            const FabComponent *other = ntb->chip->pdata[j];

            fab_port_set_weight(component->ports[i], component->port_count + j,
                                other->ports[HOST]);
        }
    }
    return true;
}

static bool ntb_realize(FabComponent *component, GError **error)
{
    FabNtb *ntb = (FabNtb *)component;
    const FabNtbParams *params = &ntb->params;
    const char *wrong = NULL;

    if (!is_power(params->window_bytes) || !is_power(params->entries) ||
        params->entries > params->window_bytes) {
        wrong = "the window size and the number of entries must be powers of "
                "two, with at least one byte an entry";
    } else if (params->tags >= NO_TAG) {
        wrong = "the number of tags must be 0 to 65534";
    }
    if (wrong) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG, "%s: %s",
                    component->name, wrong);
        return false;
    }
    if (ntb->chip && !chip_realize(ntb, error)) {
        return false;
    }
    ntb->entry_shift =
        __builtin_ctzll(params->window_bytes) - __builtin_ctz(params->entries);
    ntb->entries =
        FAB_ARENA_NEW(&component->fabric->arena, FabNtbEntry, params->entries);
    sim_event_init(&ntb->timeout_event, component->engine, timeout_event,
                   SIM_PRIORITY_NORMAL, component->rank);
    ntb->proxies = params->tags > 0 ? g_new0(FabNtbProxy, params->tags) : NULL;
    for (unsigned i = 0; i < params->tags; i++) {
        ntb->proxies[i].next_free = i + 1 < params->tags ? i + 1 : NO_TAG;
    }
    for (unsigned i = 0; i < component->port_count; i++) {
        FabPort *port = component->ports[i];

        fab_port_set_latency(port, port->params.forwarding,
                             port->params.latency);
        for (unsigned j = 0; j < component->port_count; j++) {
            fab_port_set_weight(port, j, component->ports[j]);
        }
    }
    return true;
}

static void ntb_free(FabComponent *component)
{
    FabNtb *ntb = (FabNtb *)component;

    fab_fifo_clear(component->fabric, &ntb->tag_wait);
    sim_event_cancel(&ntb->timeout_event);
    g_array_unref(ntb->requesters);
    g_clear_pointer(&ntb->chip, g_ptr_array_unref);
    g_free(ntb->proxies);
}

/* ---- For observers --------------------------------------------------- */

static void ntb_resources(const FabComponent *component, FabResourceFn fn,
                          void *data)
{
    const FabNtb *ntb = (const FabNtb *)component;

    if (!ntb->proxies) {
        return;
    }
    fn(data,
       &(FabResourceState){
           .kind = FAB_RESOURCE_NTB_TAGS,
           .size = ntb->params.tags,
           .used = ntb->tags_used,
           .is_wanted = ntb->tag_wait.head,
           .requests = component->ports[HOST]->counters.tlps_sent[FAB_CLASS_NP],
       });
}

/* Tells of the queue that blocks TLPs from another partition. */
static bool blockers_of_partition(const FabNtb *ntb, const FabPort *ingress,
                                  FabClass cls, FabBlockerFn fn, void *data)
{
    const FabPort *egress = ntb->component.ports[HOST];

    return egress->sources[way_of(ntb, ingress)].queue[cls].head &&
           fn(data, &(FabBlocker){.egress = egress});
}

static bool ntb_blockers(const FabComponent *component, const FabPort *ingress,
                         FabClass cls, FabBlockerFn fn, void *data)
{
    const FabNtb *ntb = (const FabNtb *)component;
    bool is_own = ingress->owner == component;

    if (cls == FAB_CLASS_NP && way_of(ntb, ingress) != HOST &&
        ntb->tag_wait.head) {
        bool is_enough =
            fn(data, &(FabBlocker){.resource = FAB_RESOURCE_NTB_TAGS});

        if (is_own || is_enough) {
            return is_enough;
        }
    }
    if (!is_own) {
        return blockers_of_partition(ntb, ingress, cls, fn, data);
    }
    for (unsigned i = 0; ntb->chip && i < ntb->chip->len; i++) {
        const FabComponent *other = ntb->chip->pdata[i];

        if (other != component &&
            other->ops->observe->blockers(other, ingress, cls, fn, data)) {
            return true;
        }
    }
    return fab_forwarding_blockers(component, ingress, cls, fn, data);
}

static void ntb_waiters(const FabComponent *component,
                        const FabObserver *observer)
{
    const FabNtb *ntb = (const FabNtb *)component;

    fab_observer_fifo(observer, &ntb->tag_wait, FAB_PLACE_NTB_TAG);
}

static void ntb_waits(const FabComponent *component, FabWaits *waits)
{
    const FabNtb *ntb = (const FabNtb *)component;

    for (const FabTlp *tlp = ntb->tag_wait.head; tlp; tlp = tlp->next) {
        fab_waits_add(
            waits, tlp,
            (FabWaitStep){.kind = FAB_WAIT_NTB_TAG, .component = component});
        for (unsigned i = 0; i < ntb->params.tags; i++) {
            if (ntb->proxies[i].cable) {
                fab_waits_for_transaction(waits, ntb->proxies[i].transaction);
            }
        }
    }
}

static const FabObserveOps ntb_observe_ops = {
    .resources = ntb_resources,
    .blockers = ntb_blockers,
    .waiters = ntb_waiters,
    .waits = ntb_waits,
};

/* ---- Life ------------------------------------------------------------ */

static const FabComponentOps ntb_ops = {
    .receive = ntb_receive,
    .realize = ntb_realize,
    .free = ntb_free,
    .observe = &ntb_observe_ops,
};

FabNtb *fab_ntb_new(FabFabric *fabric, const char *name, unsigned cables,
                    const FabPortParams *host, const FabPortParams *cable,
                    const FabNtbParams *params)
{
    FabNtb *ntb = FAB_ARENA_NEW(&fabric->arena, FabNtb, 1);
    FabComponent *component = &ntb->component;

    g_assert(cables >= 1 && cables < FAB_SOURCES_MAX);
    fab_component_init(component, fabric, &ntb_ops, FAB_KIND_NTB, name);
    ntb->params = *params;
    ntb->requesters = g_array_new(FALSE, FALSE, sizeof(FabNtbRequester));
    for (unsigned i = 0; i < FAB_BARS; i++) {
        component->bars[i] = params->bars[i];
    }
    component->bars[FAB_NTB_WINDOW_BAR] = (FabBar){
        .size_bytes = params->window_bytes,
        .prefetchable = true,
        .is_64bit = true,
    };
    fab_component_add_port(component, "host", host);
    for (unsigned i = 1; i <= cables; i++) {
        g_autofree char *port = g_strdup_printf("cable%u", i - 1);

        fab_component_add_port(component, port, cable);
        fab_port_set_role(component->ports[i], FAB_PORT_CABLE,
                          component->ports[HOST]);
    }
    for (unsigned i = 0; i <= cables; i++) {
        fab_port_set_sources(component->ports[i], cables + 1);
    }
    return ntb;
}

FabComponent *fab_ntb_component(FabNtb *ntb)
{
    return &ntb->component;
}

FabNtb *fab_component_as_ntb(FabComponent *component)
{
    return component->ops == &ntb_ops ? (FabNtb *)component : NULL;
}

void fab_ntb_join(FabNtb *a, FabNtb *b)
{
    g_assert(a != b && !b->chip);
    if (!a->chip) {
        a->chip = g_ptr_array_new();
        g_ptr_array_add(a->chip, &a->component);
    }
    b->number = a->chip->len;
    g_ptr_array_add(a->chip, &b->component);
    b->chip = g_ptr_array_ref(a->chip);
}

unsigned fab_ntb_ways(const FabNtb *ntb)
{
    return ntb->component.port_count + (ntb->chip ? ntb->chip->len : 0);
}

FabComponent *fab_ntb_far_end(const FabNtb *ntb, unsigned way)
{
    const FabComponent *own = &ntb->component;
    const FabPort *peer;

    g_assert(way >= 1 && way < fab_ntb_ways(ntb));
    if (way >= own->port_count) {
        FabComponent *other = partition(ntb, way);

        return other == own ? NULL : other;
    }
    peer = own->ports[way]->peer;
    return peer && peer->role == FAB_PORT_CABLE ? peer->owner : NULL;
}

uint32_t fab_ntb_remote_nodes(const FabNtb *ntb)
{
    uint32_t nodes = ntb->chip ? ntb->chip->len - 1 : 0;

    for (unsigned i = 1; i < ntb->component.port_count; i++) {
        nodes += !!ntb->component.ports[i]->peer;
    }
    return nodes;
}

const FabNtbParams *fab_ntb_params(const FabNtb *ntb)
{
    return &ntb->params;
}

const FabNtbCounters *fab_ntb_counters(const FabNtb *ntb)
{
    return &ntb->counters;
}
