/* SPDX-License-Identifier: MIT */
#include "fab_ats_priv.h"
#include "fab_root_priv.h"

#define ROOT_BDF FAB_BDF(0, 0, 0)

/* A device with ATS. */
typedef struct Device {
    FabBdf id;
    FabDropFn drop;
    void *owner;
    FabInvalidation *itags[FAB_ATS_ITAGS]; /* NULL: the ITag is free */
    SimTime deadlines[FAB_ATS_ITAGS];
    unsigned used; /* ITags */
} Device;

typedef struct RootAts {
    FabRoot *root;
    GArray *devices; /* of Device */
    /* Those in front of `queued` are executed, and wait for answers. */
    FabInvalidation *first, *last, *queued;
    bool stalled; /* `queued` waits for an ITag */
    SimEvent event;
    SimEvent timeout_event;
} RootAts;

static Device *device_at(const RootAts *ats, unsigned index)
{
    return &g_array_index(ats->devices, Device, index);
}

static Device *device_find(const RootAts *ats, FabBdf id)
{
    for (unsigned i = 0; ats && i < ats->devices->len; i++) {
        if (device_at(ats, i)->id == id) {
            return device_at(ats, i);
        }
    }
    return NULL;
}

static inline unsigned domain_of(const FabRoot *root, FabBdf id)
{
    return root->domain_of ? root->domain_of[id] : 0;
}

bool fab_root_has_ats(const FabRoot *root)
{
    return root->iommu && root->params.iommu.ats;
}

bool fab_root_ats_is_on(const FabRoot *root, FabBdf device)
{
    return device_find(root->ats, device);
}

/* ---- Invalidation ---------------------------------------------------- */

/* The range of a device's addresses that an Invalidate Request names: the
 * smallest one that a power of two and its alignment allow. */
static uint64_t message_range(const FabInvalidation *invalidation)
{
    FabBusAddr last = invalidation->iova + invalidation->size_bytes - 1;
    unsigned bits = 12;

    if (invalidation->size_bytes == 0) {
        return fab_ats_range(0, FAB_DEVICE_ADDR_BITS);
    }
    while ((invalidation->iova ^ last) >> bits) {
        bits++;
    }
    return fab_ats_range(invalidation->iova, bits);
}

static void message_send(FabRoot *root, Device *device,
                         FabInvalidation *invalidation)
{
    RootAts *ats = root->ats;
    unsigned itag = 0;
    FabTlp *tlp;

    while (device->itags[itag]) {
        itag++;
    }
    device->itags[itag] = invalidation;
    device->deadlines[itag] =
        fab_timeout_begin(root->component.fabric, &ats->timeout_event);
    device->used++;
    invalidation->answers++;
    tlp = fab_tlp_new(root->component.fabric, FAB_TLP_MSGD);
    tlp->addr = FAB_MESSAGE_ADDR;
    tlp->payload_bytes = FAB_ATS_ENTRY_BYTES;
    tlp->requester_id = ROOT_BDF;
    tlp->completer_id = device->id;
    tlp->tag = itag;
    tlp->data = message_range(invalidation);
    fab_account_made(&root->component.fabric->accounts, tlp);
    for (unsigned i = 0; i < root->ports; i++) {
        FabPort *port = root->component.ports[i];
        unsigned bus = FAB_BDF_BUS(device->id);

        if (port->peer && bus >= port->bridge.secondary &&
            bus <= port->bridge.subordinate) {
            fab_port_send(port, fab_root_host_source(root), tlp);
            return;
        }
    }
    g_assert_not_reached();
}

/* True if each device of the domain has an ITag left. */
static bool has_itags(const FabRoot *root, const FabInvalidation *invalidation)
{
    for (unsigned i = 0; i < root->ats->devices->len; i++) {
        const Device *device = device_at(root->ats, i);

        if (device->used == FAB_ATS_ITAGS &&
            domain_of(root, device->id) == invalidation->domain) {
            return false;
        }
    }
    return true;
}

/* Ends the invalidations that are executed and answered, in their order. */
static void answered(RootAts *ats)
{
    while (ats->first != ats->queued && ats->first->answers == 0) {
        FabInvalidation *invalidation = ats->first;

        ats->first = invalidation->next;
        invalidation->done(invalidation);
    }
}

/* Executes the first invalidation of the queue. */
static void execute(FabRoot *root)
{
    RootAts *ats = root->ats;
    FabInvalidation *self = ats->queued;
    FabBusAddr base = fab_root_domain_base(self->domain);

    if (!has_itags(root, self)) {
        ats->stalled = true;
        return;
    }
    ats->stalled = false;
    root->counters.invalidations++;
    fab_iommu_invalidate(root->iommu, base + self->iova,
                         self->size_bytes
                             ? self->size_bytes
                             : UINT64_C(1) << FAB_DEVICE_ADDR_BITS);
    ats->queued = self->next;
    if (ats->queued) {
        sim_event_schedule(&ats->event, sim_engine_now(root->component.engine) +
                                            root->params.iommu.invalidate);
    }
    for (unsigned i = 0; i < ats->devices->len; i++) {
        Device *device = device_at(ats, i);

        if (domain_of(root, device->id) == self->domain) {
            message_send(root, device, self);
        }
    }
    answered(ats);
}

static void execute_event(SimEvent *event)
{
    RootAts *ats = SIM_CONTAINER_OF(event, RootAts, event);

    execute(ats->root);
}

void fab_root_invalidate(FabRoot *root, FabInvalidation *invalidation)
{
    RootAts *ats = root->ats;

    if (!root->iommu) {
        invalidation->done(invalidation);
        return;
    }
    invalidation->next = NULL;
    invalidation->answers = 0;
    if (ats->first) {
        ats->last->next = invalidation;
    } else {
        ats->first = invalidation;
    }
    ats->last = invalidation;
    if (!ats->queued) {
        ats->queued = invalidation;
        sim_event_schedule(&ats->event, sim_engine_now(root->component.engine) +
                                            root->params.iommu.invalidate);
    }
}

static void itag_free(RootAts *ats, Device *device, unsigned itag)
{
    device->itags[itag]->answers--;
    device->itags[itag] = NULL;
    device->used--;
}

/* Answers have come: the queue goes on. */
static void go_on(RootAts *ats)
{
    answered(ats);
    if (ats->stalled) {
        execute(ats->root);
    }
}

void fab_root_ats_message(FabRoot *root, FabTlp *tlp)
{
    Device *device = device_find(root->ats, tlp->requester_id);

    /* It may come after its time-out. */
    if (device && tlp->tag < FAB_ATS_ITAGS && device->itags[tlp->tag]) {
        itag_free(root->ats, device, tlp->tag);
    }
    fab_port_consume(tlp, sim_engine_now(root->component.engine));
    go_on(root->ats);
}

/* Gives up the answers that have not come in time. */
static void timeout_event(SimEvent *event)
{
    RootAts *ats = SIM_CONTAINER_OF(event, RootAts, timeout_event);
    SimTime next = SIM_TIME_NONE;

    for (unsigned i = 0; i < ats->devices->len; i++) {
        Device *device = device_at(ats, i);

        for (unsigned itag = 0; itag < FAB_ATS_ITAGS; itag++) {
            if (!device->itags[itag]) {
                continue;
            }
            if (device->deadlines[itag] <= event->time) {
                itag_free(ats, device, itag);
            } else {
                next = MIN(next, device->deadlines[itag]);
            }
        }
    }
    fab_timeout_next(event, next);
    go_on(ats);
}

void fab_root_ats_drop(FabRoot *root, unsigned domain, FabBusAddr iova,
                       uint64_t size_bytes)
{
    for (unsigned i = 0; root->ats && i < root->ats->devices->len; i++) {
        const Device *device = device_at(root->ats, i);

        if (domain_of(root, device->id) == domain) {
            device->drop(device->owner, iova, size_bytes);
        }
    }
}

void fab_root_ats_forget(FabRoot *root, FabBdf device)
{
    const Device *found = device_find(root->ats, device);

    if (found) {
        found->drop(found->owner, 0, UINT64_C(1) << FAB_DEVICE_ADDR_BITS);
    }
}

/* ---- Life ------------------------------------------------------------ */

void fab_root_ats_add(FabRoot *root, FabBdf device, FabDropFn drop, void *owner)
{
    Device self = {.id = device, .drop = drop, .owner = owner};

    g_array_append_val(root->ats->devices, self);
}

void fab_root_ats_new(FabRoot *root)
{
    root->ats = g_new0(RootAts, 1);
    root->ats->root = root;
    root->ats->devices = g_array_new(FALSE, FALSE, sizeof(Device));
}

void fab_root_ats_init(FabRoot *root)
{
    FabComponent *component = &root->component;

    if (!root->ats) {
        return;
    }
    sim_event_init(&root->ats->event, component->engine, execute_event,
                   SIM_PRIORITY_NORMAL, component->rank);
    sim_event_init(&root->ats->timeout_event, component->engine, timeout_event,
                   SIM_PRIORITY_NORMAL, component->rank);
}

void fab_root_ats_free(FabRoot *root)
{
    if (!root->ats) {
        return;
    }
    sim_event_cancel(&root->ats->event);
    sim_event_cancel(&root->ats->timeout_event);
    g_array_unref(root->ats->devices);
    g_free(root->ats);
}
