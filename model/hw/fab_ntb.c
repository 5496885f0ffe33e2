/* SPDX-License-Identifier: MIT */
#include "fab_ntb.h"

#include "fab_fabric_priv.h"
#include "fab_observe_priv.h"
#include "fab_waits.h"

#define HOST 0

/*
 * A way out of the adapter has a number: 0 is the port of its host, the numbers
 * of the cable ports follow, and then those of the other partitions of its
 * chip. A TLP that goes to another partition leaves through the port of that
 * partition's host. Each port has a source for each way that TLPs come from.
 */

/* A mapping entry of the window. */
typedef struct Entry {
    unsigned cable; /* way; 0: the entry is free */
    uint32_t users; /* number of mappings that use it */
    FabBusAddr target;
} Entry;

/* A Requester ID in the table. */
typedef struct Requester {
    FabBdf bdf;
    uint32_t users;
    bool is_ntb; /* it has all IDs of its bus */
} Requester;

/*
 * The adapter issues the requests of a remote requester under a Requester ID
 * with its own bus number, and a device and function number that stand for the
 * requester. Completions come back to its bus, and these numbers lead to the
 * requester. PLX (PEX 8700 data books) and Switchtec (proxy IDs) do the same,
 * and so does the mapping table of the IDT PES32NT24xG2 (user manual, chapter
 * 14). Tags stay as they are.
 */
typedef struct Alias {
    FabBdf requester_id;
    uint16_t cable; /* way that it is behind; 0: the alias is free */
} Alias;

#define ALIASES 256u

/* The original Requester ID and tag of a request that the adapter has issued
 * under a tag of its own. */
typedef struct Proxy {
    FabBdf requester_id;
    uint16_t tag;
    uint16_t cable; /* way that it came by; 0: the tag is free */
    uint16_t next_free;
    uint32_t transaction;
    SimTime deadline; /* of the completion time-out */
} Proxy;

#define NO_TAG UINT16_MAX

struct FabNtb {
    FabComponent component;
    FabNtbParams params;
    GPtrArray *chip; /* of FabNtb: the partitions of its chip, itself included;
                        NULL: it is the only one */
    unsigned number; /* of this partition */
    unsigned entry_shift;
    Entry *entries;
    uint32_t used_entries;
    GArray *requesters;         /* of Requester */
    uint64_t known[65536 / 64]; /* the same as a bit for each Requester ID */
    Alias aliases[ALIASES];     /* by device and function number */
    unsigned alias_count;
    unsigned last_alias;
    Proxy *proxies; /* NULL: tags stay as they are */
    uint16_t free_tag;
    uint16_t tags_used;
    SimEvent timeout_event;
    FabFifo tag_wait; /* non-posted requests from cables that lack a tag */
    FabNtbCounters counters;
};

/* The way by which a TLP in the buffer of @port comes. */
static inline unsigned way_of(const FabNtb *ntb, const FabPort *port)
{
    return G_LIKELY(port->owner == &ntb->component)
               ? port->index
               : ntb->component.port_count +
                     ((const FabNtb *)port->owner)->number;
}

static void from_afar(FabNtb *ntb, FabTlp *tlp);

/* Sends @tlp by @way. */
static inline void way_send(FabNtb *ntb, unsigned way, FabTlp *tlp)
{
    if (G_LIKELY(way < ntb->component.port_count)) {
        fab_port_send(ntb->component.ports[way], way_of(ntb, tlp->ingress),
                      tlp);
    } else {
        from_afar(ntb->chip->pdata[way - ntb->component.port_count], tlp);
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
static const Entry *find_entry(FabNtb *ntb, const FabTlp *tlp)
{
    uint64_t offset = tlp->addr - ntb->component.bars[FAB_NTB_WINDOW_BAR].addr;
    const Entry *entry = &ntb->entries[offset >> ntb->entry_shift];

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
        if (i == ALIASES) {
            ntb->counters.unknown_requester++;
            return false;
        }
        if (i == ntb->alias_count) {
            ntb->aliases[i] = (Alias){tlp->requester_id, cable};
            ntb->alias_count++;
        }
        ntb->last_alias = i;
    }
    tlp->requester_id = (ntb->component.bdf & ~(ALIASES - 1)) | i;
    return true;
}

static void translate(FabNtb *ntb, const Entry *entry, FabTlp *tlp)
{
    /* The window is aligned to its size. */
    uint64_t mask = (1ull << ntb->entry_shift) - 1;

    ntb->counters.translated++;
    tlp->addr = entry->target + (tlp->addr & mask);
}

static void refuse(FabNtb *ntb, FabTlp *tlp)
{
    FabPort *ingress = tlp->ingress;
    FabTlp *cpl = fab_tlp_refuse(ntb->component.fabric, tlp, FAB_STATUS_UR,
                                 ntb->component.bdf);

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
    const Entry *entry = hits_window(ntb, tlp) ? find_entry(ntb, tlp) : NULL;

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

/* Issues a request from afar to the host or, if it hits the window, to another
 * cable or partition. The latter connects a chain of hosts with one adapter
 * each. */
static void issue(FabNtb *ntb, FabTlp *tlp)
{
    unsigned egress = HOST;

    if (hits_window(ntb, tlp)) {
        const Entry *entry = find_entry(ntb, tlp);

        if (!entry) {
            refuse(ntb, tlp);
            return;
        }
        translate(ntb, entry, tlp);
        egress = entry->cable;
    }
    if (!alias_set(ntb, tlp, way_of(ntb, tlp->ingress))) {
        refuse(ntb, tlp);
        return;
    }
    way_send(ntb, egress, tlp);
}

/* Issues a non-posted request from a cable, under a tag of the adapter, to the
 * host or through the window to another cable. */
static void proxy_send(FabNtb *ntb, FabTlp *tlp)
{
    uint16_t tag = ntb->free_tag;
    Proxy *proxy = &ntb->proxies[tag];
    unsigned cable = way_of(ntb, tlp->ingress), egress = HOST;

    if (hits_window(ntb, tlp)) {
        const Entry *entry = find_entry(ntb, tlp);

        if (!entry) {
            refuse(ntb, tlp);
            return;
        }
        translate(ntb, entry, tlp);
        egress = entry->cable;
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
    fab_tlp_refuse(ntb->component.fabric, tlp, FAB_STATUS_UR,
                   ntb->component.bdf);
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
    Proxy *proxy = tlp->tag < ntb->params.tags ? &ntb->proxies[tlp->tag] : NULL;
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
static void receive_completion(FabNtb *ntb, FabTlp *tlp)
{
    const Alias *alias = &ntb->aliases[tlp->requester_id % ALIASES];

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

static void ntb_receive(FabComponent *component, FabPort *ingress, FabTlp *tlp)
{
    FabNtb *ntb = (FabNtb *)component;

    if (ingress->index != HOST) {
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
            const FabNtb *other = ntb->chip->pdata[j];

            fab_port_set_weight(component->ports[i], component->port_count + j,
                                other->component.ports[HOST]);
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
    ntb->entries = g_new0(Entry, params->entries);
    sim_event_init(&ntb->timeout_event, component->engine, timeout_event,
                   SIM_PRIORITY_NORMAL, component->rank);
    ntb->proxies = params->tags > 0 ? g_new0(Proxy, params->tags) : NULL;
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
    g_free(ntb->entries);
    g_free(ntb->proxies);
    g_free(ntb);
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

static bool ntb_blockers(const FabComponent *component, const FabPort *ingress,
                         FabClass cls, FabBlockerFn fn, void *data)
{
    const FabNtb *ntb = (const FabNtb *)component;

    if (cls == FAB_CLASS_NP && ingress->index != HOST && ntb->tag_wait.head) {
        return fn(data, &(FabBlocker){.resource = FAB_RESOURCE_NTB_TAGS});
    }
    for (unsigned i = 0; ntb->chip && i < ntb->chip->len; i++) {
        const FabNtb *other = ntb->chip->pdata[i];
        const FabPort *egress = other->component.ports[HOST];
        unsigned source = way_of(other, ingress);

        if (other == ntb) {
            continue;
        }
        if (cls == FAB_CLASS_NP && other->tag_wait.head &&
            fn(data, &(FabBlocker){.resource = FAB_RESOURCE_NTB_TAGS})) {
            return true;
        }
        if (egress->sources[source].queue[cls].head &&
            fn(data, &(FabBlocker){.egress = egress})) {
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
    FabNtb *ntb = g_new0(FabNtb, 1);
    FabComponent *component = &ntb->component;

    g_assert(cables >= 1 && cables < FAB_SOURCES_MAX);
    fab_component_init(component, fabric, &ntb_ops, FAB_KIND_NTB, name);
    ntb->params = *params;
    ntb->requesters = g_array_new(FALSE, FALSE, sizeof(Requester));
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

uint64_t fab_ntb_entry_bytes(const FabNtb *ntb)
{
    return 1ull << ntb->entry_shift;
}

uint32_t fab_ntb_used_entries(const FabNtb *ntb)
{
    return ntb->used_entries;
}

void fab_ntb_join(FabNtb *a, FabNtb *b)
{
    g_assert(a != b && !b->chip);
    if (!a->chip) {
        a->chip = g_ptr_array_new();
        g_ptr_array_add(a->chip, a);
    }
    b->number = a->chip->len;
    g_ptr_array_add(a->chip, b);
    b->chip = g_ptr_array_ref(a->chip);
}

unsigned fab_ntb_ways(const FabNtb *ntb)
{
    return ntb->component.port_count + (ntb->chip ? ntb->chip->len : 0);
}

FabComponent *fab_ntb_far_end(const FabNtb *ntb, unsigned way)
{
    const FabComponent *own = &ntb->component;
    FabComponent *far;

    g_assert(way >= 1 && way < fab_ntb_ways(ntb));
    if (way >= own->port_count) {
        FabNtb *other = ntb->chip->pdata[way - own->port_count];

        return other == ntb ? NULL : &other->component;
    }
    if (!own->ports[way]->peer) {
        return NULL;
    }
    far = own->ports[way]->peer->owner;
    return far->kind == FAB_KIND_NTB && own->ports[way]->peer->index != HOST
               ? far
               : NULL;
}

uint32_t fab_ntb_remote_nodes(const FabNtb *ntb)
{
    uint32_t nodes = ntb->chip ? ntb->chip->len - 1 : 0;

    for (unsigned i = 1; i < ntb->component.port_count; i++) {
        nodes += ntb->component.ports[i]->peer != NULL;
    }
    return nodes;
}

const FabNtbParams *fab_ntb_params(const FabNtb *ntb)
{
    return &ntb->params;
}

uint32_t fab_ntb_free_entries(const FabNtb *ntb)
{
    uint64_t taken = ntb->used_entries +
                     (uint64_t)ntb->params.reserved * fab_ntb_remote_nodes(ntb);

    return taken < ntb->params.entries ? ntb->params.entries - taken : 0;
}

/* The number of free entries among [@first, +@count) that a mapping to @target
 * through @cable would take; UINT32_MAX if an entry leads elsewhere. */
static uint32_t run_cost(const FabNtb *ntb, uint32_t first, uint32_t count,
                         unsigned cable, FabBusAddr target)
{
    uint32_t cost = 0;

    for (uint32_t i = 0; i < count; i++) {
        const Entry *entry = &ntb->entries[first + i];

        if (!entry->cable) {
            cost++;
        } else if (entry->cable != cable ||
                   entry->target !=
                       target + ((FabBusAddr)i << ntb->entry_shift)) {
            return UINT32_MAX;
        }
    }
    return cost;
}

bool fab_ntb_map(FabNtb *ntb, unsigned cable, FabBusAddr target,
                 uint64_t size_bytes, FabBusAddr *ret_addr, GError **error)
{
    uint64_t entry_bytes = fab_ntb_entry_bytes(ntb);
    FabBusAddr base = target & ~(entry_bytes - 1);
    uint64_t count =
        (target + size_bytes - base + entry_bytes - 1) >> ntb->entry_shift;
    uint32_t best = 0, best_cost = UINT32_MAX;
    const FabNtbParams *params = &ntb->params;

    g_assert(cable >= 1 && cable < fab_ntb_ways(ntb) && size_bytes);
    for (uint32_t i = 0; count <= params->entries && best_cost > 0 &&
                         i + count <= params->entries;
         i++) {
        uint32_t cost = run_cost(ntb, i, count, cable, base);

        if (cost < best_cost) {
            best_cost = cost;
            best = i;
        }
    }
    if (best_cost == UINT32_MAX || best_cost > fab_ntb_free_entries(ntb)) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_WINDOW,
                    "%s: mapping %" G_GUINT64_FORMAT
                    " bytes takes %" G_GUINT64_FORMAT
                    " consecutive mapping entries of %" G_GUINT64_FORMAT
                    " bytes; %u of %u are free (%u in use, %u reserved for "
                    "each connected node)",
                    ntb->component.name, size_bytes, count, entry_bytes,
                    fab_ntb_free_entries(ntb), params->entries,
                    ntb->used_entries, params->reserved);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        Entry *entry = &ntb->entries[best + i];

        entry->cable = cable;
        entry->users++;
        entry->target = base + ((FabBusAddr)i << ntb->entry_shift);
    }
    ntb->used_entries += best_cost;
    *ret_addr = ntb->component.bars[FAB_NTB_WINDOW_BAR].addr +
                ((FabBusAddr)best << ntb->entry_shift) + (target - base);
    return true;
}

void fab_ntb_unmap(FabNtb *ntb, FabBusAddr addr, uint64_t size_bytes)
{
    FabBusAddr offset = addr - ntb->component.bars[FAB_NTB_WINDOW_BAR].addr;
    uint64_t first = offset >> ntb->entry_shift;
    uint64_t last = (offset + size_bytes - 1) >> ntb->entry_shift;

    g_assert(size_bytes && last < ntb->params.entries);
    for (uint64_t i = first; i <= last; i++) {
        Entry *entry = &ntb->entries[i];

        g_assert(entry->users > 0);
        if (--entry->users == 0) {
            entry->cable = 0;
            ntb->used_entries--;
        }
    }
}

static Requester *requester_find(const FabNtb *ntb, FabBdf bdf)
{
    for (unsigned i = 0; i < ntb->requesters->len; i++) {
        Requester *requester = &g_array_index(ntb->requesters, Requester, i);

        if (requester->bdf == bdf) {
            return requester;
        }
    }
    return NULL;
}

/* Sets whether requests of @requester may pass. */
static void known_set(FabNtb *ntb, const Requester *requester, bool known)
{
    unsigned count = requester->is_ntb ? ALIASES : 1;
    unsigned first = requester->bdf & ~(count - 1);

    for (unsigned i = first; i < first + count; i++) {
        if (known) {
            ntb->known[i / 64] |= 1ull << (i % 64);
        } else {
            ntb->known[i / 64] &= ~(1ull << (i % 64));
        }
    }
}

bool fab_ntb_add_requester(FabNtb *ntb, FabBdf requester, bool is_ntb,
                           GError **error)
{
    Requester *known = requester_find(ntb, requester);
    Requester entry = {requester, 1, is_ntb};

    if (known) {
        known->users++;
        return true;
    }
    if (ntb->requesters->len >= ntb->params.requesters) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_WINDOW,
                    "%s: Requester ID %02x:%02x.%x does not fit: all %u "
                    "entries of the table are in use",
                    ntb->component.name, FAB_BDF_BUS(requester),
                    FAB_BDF_DEV(requester), FAB_BDF_FN(requester),
                    ntb->params.requesters);
        return false;
    }
    g_array_append_val(ntb->requesters, entry);
    known_set(ntb, &entry, true);
    return true;
}

void fab_ntb_remove_requester(FabNtb *ntb, FabBdf requester)
{
    Requester *known = requester_find(ntb, requester);

    g_assert(known);
    if (--known->users == 0) {
        known_set(ntb, known, false);
        g_array_remove_index_fast(
            ntb->requesters,
            known - (Requester *)(void *)ntb->requesters->data);
    }
}

uint32_t fab_ntb_used_requesters(const FabNtb *ntb)
{
    return ntb->requesters->len;
}

const FabNtbCounters *fab_ntb_counters(const FabNtb *ntb)
{
    return &ntb->counters;
}
