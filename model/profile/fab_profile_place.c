/* SPDX-License-Identifier: MIT */
#include "fab_profile_priv.h"

/*
 * Finds the places of the bytes of flows. A request counts as the bytes that it
 * asks for, and a completion as the bytes that it carries. So a read weighs the
 * same on its way out and on its way back, in any number of completions.
 */

/* A component that is looked at. */
typedef struct Look {
    FabProfile *profile;
    const FabComponent *component;
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

/* True if @flow (nullable) waits for a TLP of @cls. */
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

static void waiter_seen(void *data, const FabWaiter *waiter)
{
    ProfileFlow *flow = flow_of(data, waiter->flow);

    if (is_wanted(flow, waiter->cls)) {
        FabPlace at =
            place(flow, waiter->place, waiter->component, waiter->port);

        at.is_completion = waiter->cls == FAB_CLASS_CPL;
        bytes_add(flow, &at, waiter->bytes);
    }
}

/* ---- DMA orders -------------------------------------------------------- */

/* The flow of the order @waiter. NULL if there is none, or if the flow does not
 * wait for orders of look->component. */
static ProfileFlow *order_flow(const Look *look, const FabDmaWaiter *waiter)
{
    ProfileFlow *flow = flow_of(look->profile, waiter->flow);

    if (!flow || flow->wait.ops == 0 || flow->wait.own ||
        (flow->engine && flow->engine != look->component)) {
        return NULL;
    }
    return flow;
}

/* Counts the orders of each flow. is_wanted() needs the numbers. */
static void order_count(void *data, const FabDmaWaiter *waiter)
{
    const Look *look = data;
    ProfileFlow *flow = order_flow(look, waiter);
    FabPlace at;

    if (!flow || waiter->phase == FAB_DMA_DRAINING) {
        return;
    }
    at = place(flow, waiter->place, look->component, waiter->port);
    if (waiter->phase == FAB_DMA_WRITING) {
        if (flow->writes++ == 0) {
            flow->write_at = at;
        }
    } else if (flow->wait.posted) {
        return; /* the flow does not wait for reads */
    } else if (waiter->phase == FAB_DMA_UNISSUED) {
        flow->unissued++;
        flow->unissued_at = at;
    } else {
        flow->reads++;
    }
}

/* Adds the data that have arrived for a read whose tag is not free yet. */
static void draining_seen(void *data, const FabDmaWaiter *waiter)
{
    const Look *look = data;
    ProfileFlow *flow = order_flow(look, waiter);

    if (waiter->phase == FAB_DMA_DRAINING && is_wanted(flow, FAB_CLASS_CPL)) {
        FabPlace at = place(flow, waiter->place, look->component, waiter->port);

        at.is_completion = true;
        bytes_add(flow, &at, waiter->bytes);
    }
}

/* ---- Operations -------------------------------------------------------- */

static void time_add(ProfileFlow *flow, const FabPlace *at, uint64_t time)
{
    unsigned i = place_of(flow, at);

    g_array_index(flow->places, ProfilePlace, i).time += time;
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

static void flow_look(ProfileFlow *flow, uint64_t weight)
{
    uint64_t ops = flow->wait.ops, part;
    FabPlace at;

    if (ops == 0 && flow->wait.stores == 0) {
        return;
    }
    flow->under_way += weight;
    if (flow->wait.stores) {
        at = place(flow, FAB_PLACE_CPU, fab_root_component(flow->wait.host),
                   NULL);
        time_add(flow, &at, flow->wait.stores * weight);
    }
    if (!flow->wait.own) {
        if (flow->unissued) {
            part = MIN(ops, flow->unissued);
            time_add(flow, &flow->unissued_at, part * weight);
            ops -= part;
        }
        if (flow->writes && ops) {
            time_add(flow, &flow->write_at, ops * weight);
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
    for (unsigned i = 0; i < profile->flow_count; i++) {
        ProfileFlow *self = &profile->flows[i];

        fab_flow_observe(self->flow, &self->wait);
        self->engine = self->wait.device
                           ? fab_endpoint_component(self->wait.device)
                           : NULL;
        self->unissued = 0;
        self->reads = 0;
        self->writes = 0;
        g_array_set_size(self->bytes, 0);
    }
    for (unsigned i = 0; i < profile->component_count; i++) {
        Look look = {profile, profile->components[i].component};

        fab_observe_dma(look.component, order_count, &look);
    }
    for (unsigned i = 0; i < profile->component_count; i++) {
        Look look = {profile, profile->components[i].component};

        fab_observe_waiters(look.component, waiter_seen, profile);
        fab_observe_dma(look.component, draining_seen, &look);
    }
    for (unsigned i = 0; i < profile->flow_count; i++) {
        flow_look(&profile->flows[i], weight);
    }
}
