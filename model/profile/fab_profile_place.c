/* SPDX-License-Identifier: MIT */
#include "fab_profile_priv.h"

#include <string.h>

#include "fab_endpoint_priv.h"
#include "fab_ntb_priv.h"
#include "fab_root_priv.h"

/*
 * Where the bytes of flows are. Requests count with the bytes they ask for,
 * completions with those they carry, so that a request weighs as much on its
 * way out as its answer on its way back, in however many pieces.
 */

typedef struct Look {
    FabProfile *profile;
    SimTime now;
} Look;

static ProfileFlow *flow_of(FabProfile *profile, uint32_t number)
{
    return number >= 1 && number <= profile->flow_count
               ? &profile->flows[number - 1]
               : NULL;
}

static unsigned place_of(ProfileFlow *flow, const FabPlace *wanted)
{
    for (unsigned i = 0; i < flow->places->len; i++) {
        const FabPlace *place =
            &g_array_index(flow->places, ProfilePlace, i).result;

        if (place->kind == wanted->kind && place->step == wanted->step &&
            place->component == wanted->component &&
            place->port == wanted->port &&
            place->is_completion == wanted->is_completion) {
            return i;
        }
    }
    g_array_append_val(flow->places, ((ProfilePlace){*wanted, 0}));
    return flow->places->len - 1;
}

static FabPlace place(const ProfileFlow *flow, FabPlaceKind kind,
                      const FabComponent *component, const FabPort *port)
{
    return (FabPlace){.kind = kind,
                      .step = flow->wait.step,
                      .component = component,
                      .port = port};
}

static void bytes_add(ProfileFlow *flow, const FabPlace *at, uint64_t bytes)
{
    ProfileBytes here = {place_of(flow, at), bytes};

    for (unsigned i = 0; i < flow->bytes->len; i++) {
        ProfileBytes *known = &g_array_index(flow->bytes, ProfileBytes, i);

        if (known->place == here.place) {
            known->bytes += bytes;
            return;
        }
    }
    g_array_append_val(flow->bytes, here);
}

/* Is a TLP of @cls what the flow waits for? */
static bool is_wanted(const ProfileFlow *flow, FabClass cls)
{
    if (!flow || flow->wait.ops == 0 || flow->wait.own || flow->writes) {
        return false;
    }
    if (flow->wait.posted) {
        return cls == FAB_CLASS_P;
    }
    return !flow->reads || cls != FAB_CLASS_P;
}

/* @tlp is at a place now, if anybody waits for it; @left bytes of it. */
static void tlp_at(const Look *look, const FabTlp *tlp, uint64_t left,
                   FabPlaceKind kind, const FabComponent *component,
                   const FabPort *port)
{
    ProfileFlow *flow = flow_of(look->profile, tlp->flow);
    FabPlace at;

    if (is_wanted(flow, tlp->cls)) {
        at = place(flow, kind, component, port);
        at.is_completion = fab_tlp_is_completion(tlp);
        bytes_add(flow, &at, MAX(left, 1));
    }
}

static uint64_t bytes_of(const FabTlp *tlp)
{
    return fab_tlp_is_completion(tlp)
               ? tlp->payload_bytes
               : MAX(tlp->payload_bytes, tlp->request_bytes);
}

static void fifo_at(const Look *look, const FabFifo *fifo, FabPlaceKind kind,
                    const FabComponent *component)
{
    for (const FabTlp *tlp = fifo->head; tlp; tlp = tlp->next) {
        tlp_at(look, tlp, bytes_of(tlp), kind, component, NULL);
    }
}

/* ---- Ports ------------------------------------------------------------- */

static bool lacks_class(uint32_t lacks, unsigned cls)
{
    return lacks & (1u << cls | 1u << FAB_CREDIT_DATA(cls));
}

/* Why a TLP of @cls that is queued at @port has not left. */
static FabPlaceKind queue_kind(uint32_t lacks, FabClass cls)
{
    if (lacks_class(lacks, cls)) {
        return FAB_PLACE_CREDITS;
    }
    return lacks_class(lacks, FAB_CLASS_P) ? FAB_PLACE_ORDER : FAB_PLACE_TURN;
}

static void look_at_queues(const Look *look, const FabPort *port)
{
    uint32_t lacks = port->active ? fab_profile_lacks(port, look->now) : 0;

    for (uint64_t left = port->active; left; left &= left - 1) {
        const FabSource *source = &port->sources[__builtin_ctzll(left)];

        for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
            for (const FabTlp *tlp = source->queue[cls].head; tlp;
                 tlp = tlp->next) {
                if (tlp->ready_at > look->now) {
                    tlp_at(look, tlp, bytes_of(tlp), FAB_PLACE_TRANSIT,
                           port->owner, NULL);
                } else {
                    tlp_at(look, tlp, bytes_of(tlp), queue_kind(lacks, cls),
                           port->owner, port);
                }
            }
        }
    }
}

/* A TLP in flight is sent, crosses the cable, and then the element beyond, as
 * that counts its latency. What passes through is sent while it arrives. */
static void look_at_flight(const Look *look, const FabPort *port)
{
    const FabPort *peer = port->peer;

    for (const FabTlp *tlp = port->flight.head; tlp; tlp = tlp->next) {
        SimTime out = tlp->arrive_at - peer->params.latency - peer->propagation;

        if (look->now < out) {
            tlp_at(look, tlp, bytes_of(tlp), FAB_PLACE_SERIAL, port->owner,
                   port);
        } else if (look->now < out + peer->propagation) {
            tlp_at(look, tlp, bytes_of(tlp), FAB_PLACE_WIRE, port->owner, port);
        } else {
            tlp_at(look, tlp, bytes_of(tlp), FAB_PLACE_TRANSIT, peer->owner,
                   NULL);
        }
    }
}

/* ---- Components -------------------------------------------------------- */

typedef struct Translating {
    const Look *look;
    const FabComponent *component;
} Translating;

static void iommu_tlp(void *data, const FabTlp *tlp, bool waits)
{
    const Translating *self = data;

    tlp_at(self->look, tlp, bytes_of(tlp), FAB_PLACE_IOMMU, self->component,
           NULL);
}

/* What of the first of @fifo is not sent on yet, and the others. */
static void forward_fifo(const Look *look, const FabFifo *fifo, uint32_t sent,
                         const FabComponent *component)
{
    for (const FabTlp *tlp = fifo->head; tlp; tlp = tlp->next) {
        tlp_at(look, tlp, bytes_of(tlp) - sent, FAB_PLACE_FORWARD, component,
               NULL);
        sent = 0;
    }
}

/* Time of the CPU itself, which has no TLP to show for it. */
static void cpu_at(const Look *look, uint32_t number, uint32_t bytes,
                   const FabComponent *component, FabClass cls)
{
    ProfileFlow *flow = flow_of(look->profile, number);

    if (is_wanted(flow, cls)) {
        FabPlace at = place(flow, FAB_PLACE_CPU, component, NULL);

        bytes_add(flow, &at, bytes);
    }
}

static void look_at_core(const Look *look, const FabRoot *root)
{
    const FabComponent *component = &root->component;

    for (uint32_t i = root->cpu_writes_head; i != root->cpu_writes_tail; i++) {
        const CpuWrite *write = &root->cpu_writes[i & root->cpu_writes_mask];

        cpu_at(look, write->flow, write->size_bytes, component, FAB_CLASS_P);
    }
    for (unsigned i = 0; i < root->params.cpu.mmio_reads; i++) {
        const CpuRead *read = &root->cpu_reads[i];

        if (read->in_use && read->due != SIM_TIME_NONE) {
            cpu_at(look, read->flow, read->size_bytes, component, FAB_CLASS_NP);
        }
    }
    for (unsigned i = root->cpu_read_next; i < root->cpu_read_wait->len; i++) {
        const CpuRead *read = &g_array_index(root->cpu_read_wait, CpuRead, i);

        cpu_at(look, read->flow, read->size_bytes, component, FAB_CLASS_NP);
    }
}

static void look_at_root(const Look *look, const FabRoot *root)
{
    const FabComponent *component = &root->component;
    Translating translating = {look, component};

    for (unsigned i = 0; i < root->ports; i++) {
        fifo_at(look, &root->ingress[i].posted, FAB_PLACE_ORDER, component);
        fifo_at(look, &root->ingress[i].others, FAB_PLACE_ORDER, component);
        fifo_at(look, &root->ingress[i].reads, FAB_PLACE_MEMORY, component);
    }
    for (unsigned i = 0; i < root->ports * root->ports; i++) {
        const RootPath *path = &root->paths[i];

        forward_fifo(look, &path->posted, path->posted_sent, component);
        forward_fifo(look, &path->others, path->other_sent, component);
        fifo_at(look, &path->completions, FAB_PLACE_ORDER, component);
    }
    fifo_at(look, &root->reading, FAB_PLACE_MEMORY, component);
    fifo_at(look, &root->visible, FAB_PLACE_MEMORY, component);
    fifo_at(look, &root->cpu_transit, FAB_PLACE_TRANSIT, component);
    look_at_core(look, root);
    if (root->iommu) {
        fab_iommu_foreach(root->iommu, iommu_tlp, &translating);
    }
}

static void look_at_component(const Look *look, FabComponent *component)
{
    FabRoot *root = fab_component_as_root(component);
    FabEndpoint *device = fab_component_as_endpoint(component);
    FabNtb *ntb = fab_component_as_ntb(component);

    for (unsigned i = 0; i < component->port_count; i++) {
        if (component->ports[i]->peer) {
            look_at_queues(look, component->ports[i]);
            look_at_flight(look, component->ports[i]);
        }
    }
    if (root) {
        look_at_root(look, root);
    } else if (device) {
        fifo_at(look, &device->reading, FAB_PLACE_DEVICE, component);
        fifo_at(look, &device->visible, FAB_PLACE_DEVICE, component);
    } else if (ntb) {
        fifo_at(look, fab_ntb_tag_wait(ntb), FAB_PLACE_NTB_TAG, component);
    }
}

/* ---- Orders ------------------------------------------------------------ */

/* The flow of an order, if it waits for those of @device. */
static ProfileFlow *order_flow(const Look *look, const FabEndpoint *device,
                               const FabDma *dma)
{
    ProfileFlow *flow = flow_of(look->profile, dma->flow);

    if (!flow || flow->wait.ops == 0 || flow->wait.own ||
        (flow->wait.device && flow->wait.device != device)) {
        return NULL;
    }
    return flow;
}

static void write_orders(const Look *look, const FabEndpoint *device,
                         const DmaQueue *queue)
{
    for (const FabDma *dma = queue->head; dma; dma = dma->next) {
        ProfileFlow *flow = order_flow(look, device, dma);

        if (flow) {
            if (flow->writes++ == 0) {
                flow->writer = device;
                flow->write = dma;
            }
        }
    }
}

static void look_at_orders(const Look *look, const FabEndpoint *device)
{
    const DmaEngine *engine = &device->dma;

    for (const FabDma *dma = engine->reads.head; dma; dma = dma->next) {
        ProfileFlow *flow = order_flow(look, device, dma);

        if (!flow || flow->wait.posted) {
            continue;
        }
        if (dma->issued_bytes == 0) {
            flow->unissued++;
            flow->idle_device = device;
        } else {
            flow->reads++;
        }
    }
    for (uint32_t i = 0; engine->tags_used > 0 && i < device->params.tags;
         i++) {
        ProfileFlow *flow = engine->tags[i].dma
                                ? order_flow(look, device, engine->tags[i].dma)
                                : NULL;

        if (flow && !flow->wait.posted) {
            flow->reads++;
        }
    }
    /* What leaves now was ordered first. */
    write_orders(look, device, &engine->leaving);
    write_orders(look, device, &engine->writes);
}

/* Data that are in, and whose tag is not free yet. */
static void look_at_draining(const Look *look, const FabEndpoint *device)
{
    const DmaEngine *engine = &device->dma;

    for (uint16_t tag = engine->draining_head; tag != UINT16_MAX;
         tag = engine->tags[tag].next) {
        ProfileFlow *flow = order_flow(look, device, engine->tags[tag].dma);

        if (flow && is_wanted(flow, FAB_CLASS_CPL)) {
            FabPlace at =
                place(flow, FAB_PLACE_DEVICE, &device->component, NULL);

            at.is_completion = true;
            bytes_add(flow, &at, MAX(engine->tags[tag].left_bytes, 1));
        }
    }
}

/* ---- Operations -------------------------------------------------------- */

static void time_add(ProfileFlow *flow, const FabPlace *at, uint64_t time)
{
    unsigned i = place_of(flow, at);

    g_array_index(flow->places, ProfilePlace, i).time += time;
}

/* Where a write waits that its device has not sent wholly. */
static FabPlace write_place(const Look *look, const ProfileFlow *flow)
{
    const FabEndpoint *device = flow->writer;
    const FabPort *port = device->component.ports[0];
    uint32_t lacks;

    if (flow->write->issued_bytes == 0 && flow->write->not_before > look->now) {
        return place(flow, FAB_PLACE_DEVICE, &device->component, NULL);
    }
    lacks = fab_profile_lacks(port, look->now);
    if (lacks_class(lacks, FAB_CLASS_P)) {
        return place(flow, FAB_PLACE_CREDITS, &device->component, port);
    }
    return place(flow, FAB_PLACE_SERIAL, &device->component, port);
}

static FabPlace unissued_place(const ProfileFlow *flow)
{
    const FabEndpoint *device = flow->idle_device;

    return device->dma.tags_used < device->dma.tags_usable
               ? place(flow, FAB_PLACE_TURN, &device->component,
                       device->component.ports[0])
               : place(flow, FAB_PLACE_TAG, &device->component, NULL);
}

static void spread(ProfileFlow *flow, uint64_t time)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < flow->bytes->len; i++) {
        sum += g_array_index(flow->bytes, ProfileBytes, i).bytes;
    }
    for (unsigned i = 0; i < flow->bytes->len; i++) {
        ProfileBytes here = g_array_index(flow->bytes, ProfileBytes, i);

        g_array_index(flow->places, ProfilePlace, here.place).time +=
            (__int128)time * here.bytes / sum;
    }
}

static void flow_look(const Look *look, ProfileFlow *flow, uint64_t weight)
{
    uint64_t ops = flow->wait.ops, part;
    FabPlace at;

    if (ops == 0) {
        return;
    }
    flow->under_way += weight;
    if (!flow->wait.own) {
        if (flow->unissued) {
            part = MIN(ops, flow->unissued);
            at = unissued_place(flow);
            time_add(flow, &at, part * weight);
            ops -= part;
        }
        if (flow->writes && ops) {
            at = write_place(look, flow);
            time_add(flow, &at, ops * weight);
            ops = 0;
        }
        if (flow->bytes->len > 0) {
            spread(flow, ops * weight);
            ops = 0;
        }
    }
    if (ops) {
        at = place(flow, FAB_PLACE_OWN, NULL, NULL);
        time_add(flow, &at, ops * weight);
    }
}

void fab_profile_look_at_flows(FabProfile *profile, SimTime weight)
{
    GPtrArray *components = profile->fabric->components;
    Look look = {profile, sim_engine_now(profile->fabric->engine)};

    for (unsigned i = 0; i < profile->flow_count; i++) {
        ProfileFlow *self = &profile->flows[i];
        const FabFlow *flow = self->flow;

        self->wait = (FabFlowWait){.ops = 1, .step = "operation"};
        self->unissued = 0;
        self->reads = 0;
        self->writes = 0;
        g_array_set_size(self->bytes, 0);
        if (!flow->started || flow->done || flow->start > look.now) {
            self->wait.ops = 0;
        } else if (flow->ops->wait) {
            flow->ops->wait(flow, &self->wait);
        }
    }
    for (unsigned i = 0; i < components->len; i++) {
        FabEndpoint *device = fab_component_as_endpoint(components->pdata[i]);

        if (device) {
            look_at_orders(&look, device);
        }
    }
    for (unsigned i = 0; i < components->len; i++) {
        FabEndpoint *device = fab_component_as_endpoint(components->pdata[i]);

        look_at_component(&look, components->pdata[i]);
        if (device) {
            look_at_draining(&look, device);
        }
    }
    for (unsigned i = 0; i < profile->flow_count; i++) {
        flow_look(&look, &profile->flows[i], weight);
    }
}
