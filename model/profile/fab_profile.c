/* SPDX-License-Identifier: MIT */
#include "fab_profile_priv.h"

#include <string.h>

#include "fab_endpoint_priv.h"
#include "fab_ntb_priv.h"
#include "fab_root_priv.h"

/* The first interval, and how many there are before they double: less in a
 * large fabric, where more is to be seen each time. */
#define FIRST_INTERVAL (2 * SIM_NS)
#define LOOKS_MOST     4096u
#define LOOKS_LEAST    256u
#define LOOKS_WORK     1000000u

#define MILLION UINT64_C(1000000)

/* A chain of links that wait for each other's credits is no longer. */
#define CHAIN_MOST 64

#define NOBODY UINT_MAX

/* ---- Credits ---------------------------------------------------------- */

/* What @port has of a kind of credits, those included that have come back and
 * were not taken in yet. */
static uint64_t credits_of(const FabPort *port, FabClass cls, bool data,
                           SimTime now)
{
    uint64_t credits = data ? port->data[cls] : port->header[cls];

    for (uint32_t i = port->returns_head; i != port->returns_tail; i++) {
        const FabCreditReturn *ret = &port->returns[i & port->returns_mask];

        if (ret->time > now) {
            break;
        }
        if (ret->cls == cls) {
            credits += data ? ret->data : ret->header;
        }
    }
    return credits;
}

uint32_t fab_profile_lacks(const FabPort *port, SimTime now)
{
    uint32_t lacks = 0;

    for (uint64_t left = port->active; left; left &= left - 1) {
        const FabSource *source = &port->sources[__builtin_ctzll(left)];

        for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
            const FabTlp *tlp = source->queue[cls].head;

            if (!tlp || tlp->ready_at > now) {
                continue;
            }
            if (port->header[cls] < 1 &&
                credits_of(port, cls, false, now) < 1) {
                lacks |= 1u << cls;
            }
            if (port->data[cls] < fab_tlp_data_credits(tlp) &&
                credits_of(port, cls, true, now) < fab_tlp_data_credits(tlp)) {
                lacks |= 1u << FAB_CREDIT_DATA(cls);
            }
        }
    }
    return lacks;
}

static inline bool lacks_class(uint32_t lacks, unsigned cls)
{
    return lacks & (1u << cls | 1u << FAB_CREDIT_DATA(cls));
}

/* Does something stand behind posted TLPs that lack credits, and lacks none
 * itself? */
static bool is_ordered(const FabPort *port, uint32_t lacks, SimTime now)
{
    if (!lacks_class(lacks, FAB_CLASS_P)) {
        return false;
    }
    for (uint64_t left = port->active; left; left &= left - 1) {
        const FabSource *source = &port->sources[__builtin_ctzll(left)];
        const FabTlp *posted = source->queue[FAB_CLASS_P].head;

        for (unsigned cls = FAB_CLASS_NP; cls < FAB_CLASSES; cls++) {
            const FabTlp *tlp = source->queue[cls].head;

            if (posted && tlp && posted->order < tlp->order &&
                tlp->ready_at <= now && !lacks_class(lacks, cls)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- Causes ----------------------------------------------------------- */

static unsigned resource_of(const FabProfile *profile,
                            const FabComponent *component, FabResourceKind kind)
{
    unsigned i =
        GPOINTER_TO_UINT(g_hash_table_lookup(profile->components, component));

    for (; i < profile->resource_count; i++) {
        const FabResource *result = &profile->resources[i].result;

        if (result->component != component) {
            break;
        }
        if (result->kind == kind) {
            return i;
        }
    }
    return NOBODY;
}

static unsigned cause_of(const FabProfile *profile, const FabPort *port,
                         FabClass cls, SimTime now, unsigned depth);

/* What holds up the TLPs that are queued at @egress: the link itself, or what
 * it waits for. NOBODY if they are still on their way to it. */
static unsigned egress_cause(const FabProfile *profile, const FabPort *egress,
                             FabClass cls, SimTime now, unsigned depth)
{
    const ProfilePort *place;

    if (lacks_class(fab_profile_lacks(egress, now), cls)) {
        return cause_of(profile, egress, cls, now, depth + 1);
    }
    if (egress->busy_until <= now) {
        return NOBODY;
    }
    place = g_hash_table_lookup(profile->ports, egress);
    return place->link;
}

static unsigned forwarding_cause(const FabProfile *profile,
                                 FabComponent *component,
                                 const FabPort *ingress, FabClass cls,
                                 SimTime now, unsigned depth)
{
    for (unsigned i = 0; i < component->port_count; i++) {
        const FabPort *egress = component->ports[i];
        unsigned cause;

        if (!egress->peer || ingress->index >= egress->source_count ||
            !egress->sources[ingress->index].queue[cls].head) {
            continue;
        }
        cause = egress_cause(profile, egress, cls, now, depth);
        if (cause != NOBODY) {
            return cause;
        }
    }
    return NOBODY;
}

static void find_waiting(void *data, const FabTlp *tlp, bool waits)
{
    const FabPort **ingress = data;

    if (waits && tlp->ingress == *ingress) {
        *ingress = NULL; /* found */
    }
}

static unsigned root_cause(const FabProfile *profile, FabRoot *root,
                           const FabPort *ingress, FabClass cls, SimTime now,
                           unsigned depth)
{
    const RootIngress *in = &root->ingress[ingress->index];
    const FabPort *wanted = ingress;
    bool is_memory_busy = fab_memory_busy_until(root->memory) > now;
    unsigned cause;

    if (root->iommu && fab_iommu_queued(root->iommu)) {
        fab_iommu_foreach(root->iommu, find_waiting, &wanted);
        if (!wanted) {
            return resource_of(profile, &root->component, FAB_RESOURCE_WALKERS);
        }
    }
    for (unsigned to = 0; to < root->ports; to++) {
        const RootPath *path = &root->paths[ingress->index * root->ports + to];

        if (cls == FAB_CLASS_NP ? !path->others.head : !path->posted.head) {
            continue;
        }
        if (cls == FAB_CLASS_NP && root->free_tag == NO_TAG) {
            return resource_of(profile, &root->component,
                               FAB_RESOURCE_FORWARD_TAGS);
        }
        cause =
            egress_cause(profile, root->component.ports[to], cls, now, depth);
        if (cause != NOBODY) {
            return cause;
        }
    }
    if (cls == FAB_CLASS_NP && in->reads.head) {
        return resource_of(profile, &root->component,
                           is_memory_busy ? FAB_RESOURCE_MEMORY
                                          : FAB_RESOURCE_MEMORY_READS);
    }
    return cls == FAB_CLASS_P && is_memory_busy
               ? resource_of(profile, &root->component, FAB_RESOURCE_MEMORY)
               : NOBODY;
}

/*
 * @port lacks credits of @cls: the first resource downstream that does not wait
 * for another. It is the buffer beyond the link itself if what fills it moves
 * on without waiting: then it is too small for the time credits take to return.
 */
static unsigned cause_of(const FabProfile *profile, const FabPort *port,
                         FabClass cls, SimTime now, unsigned depth)
{
    const FabPort *ingress = port->peer;
    FabComponent *owner = ingress->owner;
    const ProfilePort *place = g_hash_table_lookup(profile->ports, ingress);
    unsigned cause = NOBODY;

    if (depth > CHAIN_MOST) {
        return place->buffer;
    }
    if (fab_component_as_root(owner)) {
        cause = root_cause(profile, fab_component_as_root(owner), ingress, cls,
                           now, depth);
    } else if (fab_component_as_endpoint(owner)) {
        FabEndpoint *device = fab_component_as_endpoint(owner);

        if (fab_memory_busy_until(device->memory) > now) {
            cause = resource_of(profile, owner, FAB_RESOURCE_COMPLETER);
        }
    } else {
        FabNtb *ntb = fab_component_as_ntb(owner);

        if (ntb && cls == FAB_CLASS_NP && ingress->index > 0 &&
            fab_ntb_tag_wait(ntb)->head) {
            return resource_of(profile, owner, FAB_RESOURCE_NTB_TAGS);
        }
        cause = forwarding_cause(profile, owner, ingress, cls, now, depth);
    }
    return cause == NOBODY ? place->buffer : cause;
}

static void cause_add(ProfileResource *self, unsigned cause, SimTime weight)
{
    for (unsigned i = 0; i < self->causes->len; i++) {
        ProfileCause *known = &g_array_index(self->causes, ProfileCause, i);

        if (known->resource == cause) {
            known->time += weight;
            return;
        }
    }
    g_array_append_val(self->causes, ((ProfileCause){cause, weight}));
}

/* ---- Looking at resources ---------------------------------------------- */

static void look_at_link(FabProfile *profile, ProfileResource *self,
                         SimTime now, SimTime weight)
{
    const FabPort *port = self->result.port;
    uint32_t lacks;
    unsigned cls = 0;

    if (!port->active) {
        return;
    }
    self->has_work += weight;
    lacks = fab_profile_lacks(port, now);
    if (!lacks) {
        return;
    }
    if (port->busy_until <= now) {
        self->starved += weight;
    }
    for (unsigned i = 0; i < FAB_CREDIT_KINDS; i++) {
        self->lacks[i] += lacks >> i & 1 ? weight : 0;
    }
    if (is_ordered(port, lacks, now)) {
        self->ordered += weight;
    }
    while (!lacks_class(lacks, cls)) {
        cls++;
    }
    cls = cause_of(profile, port, cls, now, 0);
    cause_add(self, cls, weight);
    if (profile->resources[cls].result.kind == FAB_RESOURCE_BUFFER &&
        profile->resources[cls].result.port == port->peer) {
        profile->resources[cls].full += weight;
    }
}

static void look_at_pool(ProfileResource *self, uint32_t used, bool wanted,
                         SimTime weight)
{
    self->level += (uint64_t)used * weight;
    if (used >= self->result.size && wanted) {
        self->full += weight;
    }
}

static bool is_forward_wanted(const FabRoot *root)
{
    for (unsigned i = 0; i < root->ports * root->ports; i++) {
        if (root->paths[i].others.head) {
            return true;
        }
    }
    return false;
}

static bool is_read_wanted(const FabRoot *root)
{
    for (unsigned i = 0; i < root->ports; i++) {
        if (root->ingress[i].reads.head) {
            return true;
        }
    }
    return false;
}

static void look_at(FabProfile *profile, ProfileResource *self, SimTime now,
                    SimTime weight)
{
    FabComponent *component = (FabComponent *)self->result.component;
    FabRoot *root = fab_component_as_root(component);
    FabEndpoint *device = fab_component_as_endpoint(component);
    FabNtb *ntb;
    bool busy = false;

    switch (self->result.kind) {
    case FAB_RESOURCE_LINK:
        look_at_link(profile, self, now, weight);
        break;
    case FAB_RESOURCE_MEMORY:
        busy = fab_memory_busy_until(root->memory) > now;
        break;
    case FAB_RESOURCE_COMPLETER:
        busy = fab_memory_busy_until(device->memory) > now;
        break;
    case FAB_RESOURCE_WALKERS:
        look_at_pool(self, fab_iommu_walking(root->iommu),
                     fab_iommu_queued(root->iommu), weight);
        break;
    case FAB_RESOURCE_CPU:
        busy =
            root->cpu_writes_head != root->cpu_writes_tail && !root->cpu_stall;
        break;
    case FAB_RESOURCE_TAGS:
        look_at_pool(self, device->dma.tags_used, device->dma.reads.head,
                     weight);
        break;
    case FAB_RESOURCE_NTB_TAGS:
        ntb = fab_component_as_ntb(component);
        look_at_pool(self, fab_ntb_tags_used(ntb), fab_ntb_tag_wait(ntb)->head,
                     weight);
        break;
    case FAB_RESOURCE_FORWARD_TAGS:
        look_at_pool(self, root->tags_used, is_forward_wanted(root), weight);
        break;
    case FAB_RESOURCE_MEMORY_READS:
        look_at_pool(self, root->reading.count, is_read_wanted(root), weight);
        break;
    default:
        break;
    }
    self->busy += busy ? weight : 0;
}

/* Requests that a window has had so far. */
static uint64_t requests_of(const FabResource *result)
{
    FabComponent *component = (FabComponent *)result->component;

    switch (result->kind) {
    case FAB_RESOURCE_TAGS:
    case FAB_RESOURCE_NTB_TAGS: /* the host's port, of an NTB */
        return component->ports[0]->counters.tlps_sent[FAB_CLASS_NP];
    case FAB_RESOURCE_FORWARD_TAGS:
        return fab_root_counters(fab_component_as_root(component))
            ->forwarded_reads;
    default:
        return 0;
    }
}

static void window_begin(FabProfile *profile)
{
    for (unsigned i = 0; i < profile->resource_count; i++) {
        ProfileResource *self = &profile->resources[i];

        if (self->result.kind == FAB_RESOURCE_LINK) {
            self->before = self->result.port->counters;
        }
        self->requests_before = requests_of(&self->result);
    }
    profile->intervals_left = profile->interval_count;
    profile->has_begun = true;
}

static void next_look(FabProfile *profile)
{
    sim_event_schedule(
        &profile->event,
        profile->interval_begin +
            sim_random_below(&profile->random, profile->interval));
}

static void look_event(SimEvent *event)
{
    FabProfile *profile = SIM_CONTAINER_OF(event, FabProfile, event);
    SimTime now = event->time;

    if (now < profile->begin) {
        /* Only to see the places of the first operations in their order. */
        fab_profile_look_at_flows(profile, 0);
        sim_event_schedule(event,
                           --profile->intervals_left > 0
                               ? MIN(now + FIRST_INTERVAL, profile->begin)
                               : profile->begin);
        return;
    }
    if (!profile->has_begun) {
        window_begin(profile);
        next_look(profile);
        return;
    }
    profile->seen += profile->interval;
    for (unsigned i = 0; i < profile->resource_count; i++) {
        look_at(profile, &profile->resources[i], now, profile->interval);
    }
    fab_profile_look_at_flows(profile, profile->interval);
    profile->interval_begin += profile->interval;
    if (--profile->intervals_left == 0) {
        profile->intervals_left = profile->interval_count;
        profile->interval *= 2;
    }
    /* Looking must not keep a run alive in which nothing else happens. */
    if (sim_engine_pending(profile->fabric->engine) > 0) {
        next_look(profile);
    }
}

/* ---- Life -------------------------------------------------------------- */

static void resource_add(GArray *list, FabResourceKind kind,
                         FabComponent *component, const FabPort *port,
                         uint32_t size, uint32_t unit_bytes)
{
    ProfileResource self = {
        .result = {.kind = kind,
                   .component = component,
                   .port = port,
                   .size = size,
                   .unit_bytes = unit_bytes},
        .causes = g_array_new(FALSE, FALSE, sizeof(ProfileCause)),
    };

    g_array_append_val(list, self);
}

static void ports_add(FabProfile *profile, GArray *list,
                      FabComponent *component)
{
    for (unsigned i = 0; i < component->port_count; i++) {
        FabPort *port = component->ports[i];
        ProfilePort *place;

        if (!port->peer) {
            continue;
        }
        place = g_new(ProfilePort, 1);
        place->link = list->len;
        resource_add(list, FAB_RESOURCE_LINK, component, port, 0, 0);
        place->buffer = list->len;
        resource_add(list, FAB_RESOURCE_BUFFER, component, port, 0, 0);
        g_hash_table_insert(profile->ports, port, place);
    }
}

static void component_add(FabProfile *profile, GArray *list,
                          FabComponent *component)
{
    FabRoot *root = fab_component_as_root(component);
    FabNtb *ntb = fab_component_as_ntb(component);
    FabEndpoint *device = fab_component_as_endpoint(component);

    g_hash_table_insert(profile->components, component,
                        GUINT_TO_POINTER(list->len));
    if (root) {
        const FabRootParams *params = &root->params;

        resource_add(list, FAB_RESOURCE_MEMORY, component, NULL, 0, 0);
        if (root->iommu) {
            resource_add(list, FAB_RESOURCE_WALKERS, component, NULL,
                         params->iommu.walks, 0);
        }
        resource_add(list, FAB_RESOURCE_CPU, component, NULL, 0, 0);
        resource_add(list, FAB_RESOURCE_FORWARD_TAGS, component, NULL,
                     params->forwarded_reads, params->read_split_bytes);
        resource_add(list, FAB_RESOURCE_MEMORY_READS, component, NULL,
                     params->memory.reads, 0);
    } else if (ntb) {
        resource_add(list, FAB_RESOURCE_NTB_TAGS, component, NULL,
                     fab_ntb_tags(ntb), 0);
    } else if (device) {
        resource_add(list, FAB_RESOURCE_COMPLETER, component, NULL, 0, 0);
        resource_add(list, FAB_RESOURCE_TAGS, component, NULL,
                     device->dma.tags_usable, device->params.read_bytes);
    }
    ports_add(profile, list, component);
}

FabProfile *fab_profile_new(FabFabric *fabric, SimTime begin)
{
    FabProfile *profile = g_new0(FabProfile, 1);
    GArray *list = g_array_new(FALSE, TRUE, sizeof(ProfileResource));
    const GPtrArray *flows = fab_flows(fabric);

    g_assert(fabric->realized);
    profile->fabric = fabric;
    profile->begin = MAX(begin, sim_engine_now(fabric->engine));
    profile->interval_begin = profile->begin;
    profile->interval = FIRST_INTERVAL;
    profile->ports = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    profile->components = g_hash_table_new(NULL, NULL);
    for (unsigned i = 0; i < fabric->components->len; i++) {
        component_add(profile, list, fabric->components->pdata[i]);
    }
    profile->resource_count = list->len;
    profile->resources = (ProfileResource *)(void *)g_array_free(list, FALSE);
    profile->interval_count = CLAMP(
        LOOKS_WORK / MAX(profile->resource_count, 1), LOOKS_LEAST, LOOKS_MOST);
    profile->intervals_left = profile->interval_count;
    profile->flow_count = flows ? flows->len : 0;
    profile->flows = g_new0(ProfileFlow, profile->flow_count);
    for (unsigned i = 0; i < profile->flow_count; i++) {
        profile->flows[i].flow = flows->pdata[i];
        profile->flows[i].places =
            g_array_new(FALSE, FALSE, sizeof(ProfilePlace));
        profile->flows[i].results = g_array_new(FALSE, FALSE, sizeof(FabPlace));
        profile->flows[i].bytes =
            g_array_new(FALSE, FALSE, sizeof(ProfileBytes));
    }
    sim_random_init(&profile->random, fabric->seed, "usage");
    sim_event_init(&profile->event, fabric->engine, look_event,
                   SIM_PRIORITY_LAST, SIM_RANK_MAX);
    sim_event_schedule(&profile->event, sim_engine_now(fabric->engine));
    return profile;
}

void fab_profile_free(FabProfile *profile)
{
    if (!profile) {
        return;
    }
    sim_event_cancel(&profile->event);
    for (unsigned i = 0; i < profile->resource_count; i++) {
        g_array_unref(profile->resources[i].causes);
    }
    for (unsigned i = 0; i < profile->flow_count; i++) {
        g_array_unref(profile->flows[i].places);
        g_array_unref(profile->flows[i].results);
        g_array_unref(profile->flows[i].bytes);
    }
    g_hash_table_unref(profile->ports);
    g_hash_table_unref(profile->components);
    g_free(profile->resources);
    g_free(profile->results);
    g_free(profile->flows);
    g_free(profile);
}

/* ---- Results ----------------------------------------------------------- */

static uint32_t share(uint64_t part, uint64_t whole)
{
    __int128 millionths = whole ? (__int128)part * MILLION / whole : 0;

    return MIN(millionths, MILLION);
}

static void link_finish(const FabProfile *profile, ProfileResource *self)
{
    FabResource *result = &self->result;
    const FabPort *port = result->port;
    const FabPortCounters *now = &port->counters, *before = &self->before;
    uint64_t window = fab_profile_interval(profile);
    uint64_t dllp = now->dllp_ps - before->dllp_ps;
    uint64_t tlp = now->busy_ps - before->busy_ps - dllp;
    uint64_t wire = (now->wire_sent_bytes - before->wire_sent_bytes) *
                    port->byte_time / FAB_PS_FRACTION;

    /* Those for which no TLP has made room yet. */
    dllp += port->dllp_owed / FAB_PS_FRACTION;
    result->tlp = share(tlp, window);
    result->dllp = share(dllp, window);
    result->skp =
        port->skp_interval ? share(port->skp_time, port->skp_interval) : 0;
    result->busy =
        MIN(result->tlp + result->dllp + result->skp, (uint32_t)MILLION);
    result->slack = tlp > wire ? share(tlp - wire, window) : 0;
    result->has_work = share(self->has_work, profile->seen);
    result->starved = share(self->starved, profile->seen);
    result->ordered = share(self->ordered, profile->seen);
    for (unsigned i = 0; i < FAB_CREDIT_KINDS; i++) {
        result->lacks[i] = share(self->lacks[i], profile->seen);
    }
}

static void cause_finish(const FabProfile *profile, ProfileResource *self)
{
    uint64_t most = 0, sum = 0;

    for (unsigned i = 0; i < self->causes->len; i++) {
        const ProfileCause *cause =
            &g_array_index(self->causes, ProfileCause, i);

        sum += cause->time;
        if (cause->time > most) {
            most = cause->time;
            profile->results[self - profile->resources].cause =
                &profile->results[cause->resource];
        }
    }
    profile->results[self - profile->resources].cause_share = share(most, sum);
}

static void pool_finish(const FabProfile *profile, ProfileResource *self)
{
    FabResource *result = &self->result;
    uint64_t requests = requests_of(result) - self->requests_before;

    if (result->size) {
        result->busy = share(self->level / result->size, profile->seen);
    } else {
        result->busy = share(self->busy, profile->seen);
    }
    result->full = share(self->full, profile->seen);
    if (requests && profile->seen) {
        /* Little's law: level = rate * time */
        result->hold = (__int128)self->level * fab_profile_interval(profile) /
                       profile->seen / requests;
    }
}

static const FabPlace *place_at(const ProfileFlow *self, unsigned i)
{
    return &g_array_index(self->places, ProfilePlace, i).result;
}

static bool is_same_step(const FabPlace *a, const FabPlace *b)
{
    return a->step == b->step && a->is_completion == b->is_completion;
}

static void flow_finish(ProfileFlow *self)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < self->places->len; i++) {
        sum += g_array_index(self->places, ProfilePlace, i).time;
    }
    for (unsigned i = 0; i < self->places->len; i++) {
        ProfilePlace *place = &g_array_index(self->places, ProfilePlace, i);

        place->result.share = share(place->time, sum);
    }
    /* What was seldom there may have been seen late: the places of a step
     * stand together. */
    for (unsigned i = 0; i < self->places->len; i++) {
        const FabPlace *first = place_at(self, i);
        unsigned j = 0;

        while (!is_same_step(place_at(self, j), first)) {
            j++;
        }
        if (j < i) {
            continue; /* the step has been dealt with */
        }
        for (; j < self->places->len; j++) {
            if (is_same_step(place_at(self, j), first)) {
                g_array_append_vals(self->results, place_at(self, j), 1);
            }
        }
    }
}

void fab_profile_finish(FabProfile *profile)
{
    g_assert(!profile->is_finished);
    profile->is_finished = true;
    profile->end = sim_engine_now(profile->fabric->engine);
    sim_event_cancel(&profile->event);
    if (!profile->has_begun) {
        profile->end = profile->begin;
    }
    profile->results = g_new0(FabResource, profile->resource_count);
    for (unsigned i = 0; i < profile->resource_count; i++) {
        ProfileResource *self = &profile->resources[i];

        if (self->result.kind == FAB_RESOURCE_LINK) {
            link_finish(profile, self);
        } else {
            pool_finish(profile, self);
        }
        profile->results[i] = self->result;
        cause_finish(profile, self);
    }
    for (unsigned i = 0; i < profile->flow_count; i++) {
        flow_finish(&profile->flows[i]);
    }
}

SimTime fab_profile_interval(const FabProfile *profile)
{
    return profile->end - profile->begin;
}

const FabResource *fab_profile_resources(const FabProfile *profile,
                                         unsigned *ret_count)
{
    *ret_count = profile->resource_count;
    return profile->results;
}

const FabPlace *fab_profile_places(const FabProfile *profile,
                                   const FabFlow *flow, unsigned *ret_count)
{
    const GArray *results = profile->flows[flow->number - 1].results;

    *ret_count = results->len;
    return (const FabPlace *)(void *)results->data;
}

uint32_t fab_profile_under_way(const FabProfile *profile, const FabFlow *flow)
{
    return share(profile->flows[flow->number - 1].under_way, profile->seen);
}
