/* SPDX-License-Identifier: MIT */
#include "fab_reach.h"

#include "fab_fabric_priv.h"
#include "fab_ntb.h"
#include "fab_root.h"

/*
 * Hosts and the cables between them are put into arrays once for a fabric. A
 * search then looks at each host and each cable once at most, and clears
 * nothing: what it has seen bears its number.
 */

/* From a host through one of its adapters into another host. */
typedef struct Crossing {
    FabNtb *near;
    FabNtb *far;
    unsigned cable;    /* of the near one */
    uint32_t from, to; /* hosts */
} Crossing;

typedef struct Host {
    FabRoot *root;
    uint32_t first, count; /* of the crossings that leave it */
    uint32_t seen;         /* by the search of this number */
    const Crossing *via;   /* how that came here; NULL: it began here */
} Host;

struct FabReach {
    Host *hosts;
    uint32_t host_count;
    Crossing *crossings; /* by host, name of adapter, cable */
    uint32_t crossing_count;
    uint32_t *queue;
    uint32_t searches;
    GHashTable *index; /* of a root component in hosts, for look-up only */
};

void fab_reach_free(FabReach *reach)
{
    if (reach) {
        g_hash_table_unref(reach->index);
        g_free(reach->hosts);
        g_free(reach->crossings);
        g_free(reach->queue);
        g_free(reach);
    }
}

static uint32_t host_index(const FabReach *reach, const FabComponent *root)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(reach->index, root));
}

/* The root of the host that @component is in; NULL if it is in none. */
static FabComponent *host_of(FabComponent *component)
{
    return component->kind == FAB_KIND_ROOT ? component : component->root;
}

/* Adds the crossings through @near, cable by cable. */
static void crossings_add(const FabReach *reach, FabComponent *near,
                          GArray *crossings)
{
    for (unsigned i = 1; i < near->port_count; i++) {
        const FabPort *peer = near->ports[i]->peer;
        FabComponent *far = peer ? peer->owner : NULL;
        Crossing crossing;

        /* A cable ends at a cable port; what else there may be is no way. */
        if (!far || far->kind != FAB_KIND_NTB || peer->index == 0 ||
            !far->root || far->root == near->root) {
            continue;
        }
        crossing = (Crossing){
            .near = fab_component_as_ntb(near),
            .far = fab_component_as_ntb(far),
            .cable = i,
            .from = host_index(reach, near->root),
            .to = host_index(reach, far->root),
        };
        g_array_append_val(crossings, crossing);
    }
}

/* Sorts by host; those of one host keep their order (counting sort). */
static void crossings_sort(FabReach *reach, const GArray *found)
{
    uint32_t *next = g_new0(uint32_t, reach->host_count + 1);

    reach->crossing_count = found->len;
    reach->crossings = g_new(Crossing, found->len + 1);
    for (unsigned i = 0; i < found->len; i++) {
        reach->hosts[g_array_index(found, Crossing, i).from].count++;
    }
    for (uint32_t i = 0; i < reach->host_count; i++) {
        reach->hosts[i].first = next[i];
        next[i + 1] = next[i] + reach->hosts[i].count;
    }
    for (unsigned i = 0; i < found->len; i++) {
        const Crossing *crossing = &g_array_index(found, Crossing, i);

        reach->crossings[next[crossing->from]++] = *crossing;
    }
    g_free(next);
}

static FabReach *reach_new(FabFabric *fabric)
{
    FabReach *reach = g_new0(FabReach, 1);
    GPtrArray *components = fabric->components;
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Crossing));

    g_assert(fabric->realized);
    reach->index = g_hash_table_new(NULL, NULL);
    reach->hosts = g_new0(Host, components->len + 1);
    for (unsigned i = 0; i < components->len; i++) {
        FabComponent *component = components->pdata[i];

        if (component->kind == FAB_KIND_ROOT) {
            uint32_t number = reach->host_count++;

            reach->hosts[number].root = fab_component_as_root(component);
            g_hash_table_insert(reach->index, component,
                                GUINT_TO_POINTER(number));
        }
    }
    /* Components stand in order of name. */
    for (unsigned i = 0; i < components->len; i++) {
        FabComponent *component = components->pdata[i];

        if (component->kind == FAB_KIND_NTB && component->root) {
            crossings_add(reach, component, found);
        }
    }
    crossings_sort(reach, found);
    reach->queue = g_new(uint32_t, reach->host_count + 1);
    return reach;
}

/* Searches in breadth from host @from until @to is found, whose `via` leads
 * back. Returns false if it is not. */
static bool search(FabReach *reach, uint32_t from, uint32_t to)
{
    uint32_t number = ++reach->searches, head = 0, tail = 0;

    reach->hosts[from].seen = number;
    reach->hosts[from].via = NULL;
    reach->queue[tail++] = from;
    while (head < tail && reach->hosts[to].seen != number) {
        const Host *host = &reach->hosts[reach->queue[head++]];

        for (uint32_t i = 0; i < host->count; i++) {
            const Crossing *crossing = &reach->crossings[host->first + i];
            Host *next = &reach->hosts[crossing->to];

            if (next->seen != number) {
                next->seen = number;
                next->via = crossing;
                reach->queue[tail++] = crossing->to;
            }
        }
    }
    return reach->hosts[to].seen == number;
}

/*
 * Maps [@addr, +@size_bytes) of the far host into the near one for @crossing,
 * after which @after (nullable) comes.
 */
static bool map_window(const FabReach *reach, const Crossing *crossing,
                       const Crossing *after, FabBusAddr addr,
                       uint64_t size_bytes, FabBusAddr *ret_addr,
                       GError **error)
{
    FabRoot *far = reach->hosts[crossing->to].root;

    /* From cable to cable of one adapter nothing enters the host. */
    if ((!after || crossing->far != after->near) &&
        !fab_root_map_dma(far, addr, size_bytes, &addr, error)) {
        return false;
    }
    return fab_ntb_map(crossing->near, crossing->cable, addr, size_bytes,
                       ret_addr, error);
}

/*
 * At the near adapter of @crossing requests arrive under the name of the root,
 * when it forwards them, or of who made them: @from, or the adapter through
 * which they came in by the crossing @before (nullable).
 */
static bool add_requesters(const FabReach *reach, const Crossing *crossing,
                           const Crossing *before, FabComponent *from,
                           GError **error)
{
    FabRoot *root = reach->hosts[crossing->from].root;
    FabComponent *requester = before ? fab_ntb_component(before->far) : from;

    if (before && before->far == crossing->near) {
        return true;
    }
    return fab_ntb_add_requester(crossing->near, fab_root_component(root)->bdf,
                                 error) &&
           fab_ntb_add_requester(crossing->near, requester->bdf, error);
}

static bool check_ends(const FabComponent *from, FabComponent *from_host,
                       const FabComponent *to, FabComponent *to_host,
                       FabBusAddr addr, uint64_t size_bytes, GError **error)
{
    if (!from_host || !to_host) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_WINDOW,
                    "%s is not connected to a host",
                    from_host ? to->name : from->name);
        return false;
    }
    if (size_bytes == 0 || addr > UINT64_MAX - size_bytes) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "%s: there is no range of %" G_GUINT64_FORMAT
                    " bytes at 0x%" G_GINT64_MODIFIER "x",
                    to->name, size_bytes, addr);
        return false;
    }
    return true;
}

bool fab_reach(FabComponent *from, FabComponent *to, FabBusAddr addr,
               uint64_t size_bytes, FabBusAddr *ret_addr, GError **error)
{
    FabComponent *from_host = host_of(from), *to_host = host_of(to);
    FabFabric *fabric = from->fabric;
    FabReach *reach;
    const Crossing *crossing, *after = NULL;

    g_assert(fabric == to->fabric);
    if (!check_ends(from, from_host, to, to_host, addr, size_bytes, error)) {
        return false;
    }
    if (!fabric->reach) {
        fabric->reach = reach_new(fabric);
    }
    reach = fabric->reach;
    if (!search(reach, host_index(reach, from_host),
                host_index(reach, to_host))) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_WINDOW,
                    "no cable leads from %s to %s", from_host->name,
                    to_host->name);
        return false;
    }
    /* From the far end back: what is in one host is the target in the one
     * before. */
    crossing = reach->hosts[host_index(reach, to_host)].via;
    while (crossing) {
        const Crossing *before = reach->hosts[crossing->from].via;

        if (!map_window(reach, crossing, after, addr, size_bytes, &addr,
                        error) ||
            !add_requesters(reach, crossing, before, from, error)) {
            return false;
        }
        after = crossing;
        crossing = before;
    }
    if (from->kind != FAB_KIND_ROOT &&
        !fab_root_map_dma(fab_component_as_root(from_host), addr, size_bytes,
                          &addr, error)) {
        return false;
    }
    *ret_addr = addr;
    return true;
}
