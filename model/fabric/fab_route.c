/* SPDX-License-Identifier: MIT */
#include "fab_route.h"

#include "fab_account_priv.h"
#include "fab_ntb.h"
#include "fab_root.h"
#include "fab_size.h"

/*
 * The arrays of hosts and of cables between them are made once for a fabric. A
 * search looks at each host and each cable at most once. It marks the hosts
 * that it has seen with the number of the search, so the marks need no
 * clearing.
 */

/* The way from a host into another host, through one cable. */
typedef struct Crossing {
    FabNtb *near;
    FabNtb *far;
    unsigned cable;    /* way out of the near adapter */
    uint32_t from, to; /* indices of hosts */
} Crossing;

typedef struct Host {
    FabRoot *root;
    uint32_t first, count; /* range of the crossings that leave the host */
    uint32_t seen;         /* number of the last search that saw it */
    const Crossing *via;   /* crossing by which that search came; NULL: the
                              search began here */
} Host;

/* The cables between hosts. */
typedef struct FabRoutes {
    FabAttachment attachment;
    Host *hosts;
    uint32_t host_count;
    Crossing *crossings; /* sorted by host, name of adapter, cable */
    uint32_t *queue;
    uint32_t searches;
    GHashTable *index; /* from root component to index in hosts; for look-up
                          only */
} FabRoutes;

static void routes_free(FabAttachment *attachment)
{
    FabRoutes *routes = (FabRoutes *)attachment;

    g_hash_table_unref(routes->index);
    g_free(routes->hosts);
    g_free(routes->crossings);
    g_free(routes->queue);
    g_free(routes);
}

static const FabAttachmentOps routes_ops = {.free = routes_free};

static uint32_t host_index(const FabRoutes *routes, const FabComponent *root)
{
    return GPOINTER_TO_UINT(g_hash_table_lookup(routes->index, root));
}

/* Adds the crossings through @near, cable by cable; none if it is no adapter,
 * or in no host. */
static void crossings_add(const FabRoutes *routes, FabComponent *near,
                          GArray *crossings)
{
    const FabNtb *ntb = near->root ? fab_component_as_ntb(near) : NULL;

    for (unsigned i = 1; ntb && i < fab_ntb_ways(ntb); i++) {
        FabComponent *far = fab_ntb_far_end(ntb, i);
        Crossing crossing;

        /* The adapter must be in another host. */
        if (!far || !far->root || far->root == near->root) {
            continue;
        }
        crossing = (Crossing){
            .near = fab_component_as_ntb(near),
            .far = fab_component_as_ntb(far),
            .cable = i,
            .from = host_index(routes, near->root),
            .to = host_index(routes, far->root),
        };
        g_array_append_val(crossings, crossing);
    }
}

/* Sorts the crossings by host with a stable counting sort. */
static void crossings_sort(FabRoutes *routes, const GArray *found)
{
    uint32_t *next = g_new0(uint32_t, routes->host_count + 1);

    routes->crossings = g_new(Crossing, found->len + 1);
    for (unsigned i = 0; i < found->len; i++) {
        routes->hosts[g_array_index(found, Crossing, i).from].count++;
    }
    for (uint32_t i = 0; i < routes->host_count; i++) {
        routes->hosts[i].first = next[i];
        next[i + 1] = next[i] + routes->hosts[i].count;
    }
    for (unsigned i = 0; i < found->len; i++) {
        const Crossing *crossing = &g_array_index(found, Crossing, i);

        routes->crossings[next[crossing->from]++] = *crossing;
    }
    g_free(next);
}

static FabRoutes *routes_new(FabFabric *fabric)
{
    FabRoutes *routes = g_new0(FabRoutes, 1);
    GPtrArray *components = fabric->components;
    g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Crossing));

    g_assert(fabric->realized);
    routes->index = g_hash_table_new(NULL, NULL);
    routes->hosts = g_new0(Host, components->len + 1);
    for (unsigned i = 0; i < components->len; i++) {
        FabComponent *component = components->pdata[i];

        if (component->root == component) {
            uint32_t number = routes->host_count++;

            routes->hosts[number].root = fab_component_as_root(component);
            g_hash_table_insert(routes->index, component,
                                GUINT_TO_POINTER(number));
        }
    }
    /* Components stand in order of name. */
    for (unsigned i = 0; i < components->len; i++) {
        crossings_add(routes, components->pdata[i], found);
    }
    crossings_sort(routes, found);
    routes->queue = g_new(uint32_t, routes->host_count + 1);
    return routes;
}

/* Breadth-first search from host @from to host @to. On success Host.via leads
 * back from @to. Returns false if there is no way. */
static bool search(FabRoutes *routes, uint32_t from, uint32_t to)
{
    uint32_t number = ++routes->searches, head = 0, tail = 0;

    routes->hosts[from].seen = number;
    routes->hosts[from].via = NULL;
    routes->queue[tail++] = from;
    while (head < tail && routes->hosts[to].seen != number) {
        const Host *host = &routes->hosts[routes->queue[head++]];

        for (uint32_t i = 0; i < host->count; i++) {
            const Crossing *crossing = &routes->crossings[host->first + i];
            Host *next = &routes->hosts[crossing->to];

            if (next->seen != number) {
                next->seen = number;
                next->via = crossing;
                routes->queue[tail++] = crossing->to;
            }
        }
    }
    return routes->hosts[to].seen == number;
}

/* An entry that a mapping has made in an NTB or an IOMMU. */
typedef struct Record {
    FabNtb *ntb;   /* NTB of a window mapping or Requester ID; or NULL */
    FabRoot *root; /* host of an IOMMU mapping; or NULL */
    FabBusAddr addr;
    uint64_t size_bytes; /* size of a window mapping; 0: a Requester ID */
    FabBdf requester;
} Record;

/* A way from one component to another, and the entries made along it. */
typedef struct Way {
    FabRoutes *routes;
    FabComponent *from, *to;
    FabNtb *near;    /* NULL: any adapter and cable */
    unsigned cable;  /* way out of @near */
    unsigned flags;  /* FabMapFlags */
    GArray *records; /* of Record */
} Way;

/* Maps a range of the host of @root for its device @device. */
static bool map_root(const Way *way, FabRoot *root, FabBdf device,
                     FabBusAddr *addr, uint64_t size_bytes, GError **error)
{
    Record record = {.root = root};

    if (!fab_root_map_dma(root, device, *addr, size_bytes, &record.addr,
                          error)) {
        return false;
    }
    *addr = record.addr;
    g_array_append_val(way->records, record);
    return true;
}

/*
 * Maps [@addr, +@size_bytes) of the far host of @crossing into its near host.
 * @after (nullable) is the next crossing of the way.
 */
static bool map_window(const Way *way, const Crossing *crossing,
                       const Crossing *after, FabBusAddr *addr,
                       uint64_t size_bytes, GError **error)
{
    FabRoot *far = way->routes->hosts[crossing->to].root;
    bool is_device_addr = !after && way->flags & FAB_MAP_TO_DEVICE_ADDR;
    Record record = {.ntb = crossing->near, .size_bytes = size_bytes};

    /* Requests from cable to cable of one adapter do not enter the host. */
    if ((!after || crossing->far != after->near) && !is_device_addr &&
        !map_root(way, far, fab_ntb_component(crossing->far)->bdf, addr,
                  size_bytes, error)) {
        return false;
    }
    if (!fab_ntb_map(crossing->near, crossing->cable, *addr, size_bytes,
                     &record.addr, error)) {
        return false;
    }
    *addr = record.addr;
    g_array_append_val(way->records, record);
    return true;
}

static bool add_requester(const Way *way, FabNtb *ntb, FabComponent *requester,
                          GError **error)
{
    Record record = {.ntb = ntb, .requester = requester->bdf};

    if (!fab_ntb_add_requester(ntb, requester->bdf,
                               !!fab_component_as_ntb(requester), error)) {
        return false;
    }
    g_array_append_val(way->records, record);
    return true;
}

/*
 * Enters the Requester IDs under which requests arrive at the near adapter of
 * @crossing: the ID of the root, which may forward them, and the ID of their
 * requester. The requester is the far adapter of the previous crossing @before,
 * or way->from if @before is NULL.
 */
static bool add_requesters(const Way *way, const Crossing *crossing,
                           const Crossing *before, GError **error)
{
    FabRoot *root = way->routes->hosts[crossing->from].root;
    FabComponent *requester =
        before ? fab_ntb_component(before->far) : way->from;

    if (before && before->far == crossing->near) {
        return true;
    }
    return add_requester(way, crossing->near, fab_root_component(root),
                         error) &&
           add_requester(way, crossing->near, requester, error);
}

static bool check_ends(const FabComponent *from, const FabComponent *to,
                       FabBusAddr addr, uint64_t size_bytes, GError **error)
{
    if (!from->root || !to->root) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_WINDOW,
                    "%s is not connected to a host",
                    from->root ? to->name : from->name);
        return false;
    }
    if (size_bytes == 0 || addr > UINT64_MAX - size_bytes) {
        g_autofree char *size = fab_size_text(size_bytes);

        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "%s: there is no range of %s at 0x%" G_GINT64_MODIFIER "x",
                    to->name, size, addr);
        return false;
    }
    return true;
}

/* The crossing of way->near and way->cable, if it leads from @from to @to. */
static const Crossing *find_crossing(const Way *way, uint32_t from, uint32_t to)
{
    const Host *host = &way->routes->hosts[from];

    for (uint32_t i = 0; i < host->count; i++) {
        const Crossing *crossing = &way->routes->crossings[host->first + i];

        if (crossing->near == way->near && crossing->cable == way->cable &&
            crossing->to == to) {
            return crossing;
        }
    }
    return NULL;
}

/* Makes the crossing of way->near and way->cable the only one of the way from
 * @from to @to. */
static bool take_crossing(const Way *way, uint32_t from, uint32_t to)
{
    const Crossing *crossing = find_crossing(way, from, to);

    way->routes->hosts[from].via = NULL;
    way->routes->hosts[to].via = crossing;
    return crossing;
}

/* Finds the way. Host.via links its crossings, from the host of way->to back.
 */
static bool way_find(Way *way, GError **error)
{
    FabFabric *fabric = way->from->fabric;
    const FabComponent *from_host = way->from->root, *to_host = way->to->root;
    uint32_t from, to;

    way->routes = (FabRoutes *)fab_fabric_attachment(fabric, &routes_ops);
    if (!way->routes) {
        way->routes = routes_new(fabric);
        fab_fabric_attach(fabric, &way->routes->attachment, &routes_ops);
    }
    from = host_index(way->routes, from_host);
    to = host_index(way->routes, to_host);
    if (!(way->near ? take_crossing(way, from, to)
                    : search(way->routes, from, to))) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_WINDOW,
                    "no cable leads from %s to %s", from_host->name,
                    to_host->name);
        return false;
    }
    return true;
}

static bool way_map(const Way *way, FabBusAddr *addr, uint64_t size_bytes,
                    GError **error)
{
    const FabRoutes *routes = way->routes;
    const Crossing *crossing, *after = NULL;

    /* Works back from the far end: the window in one host is the target of the
     * crossing before. */
    crossing = routes->hosts[host_index(routes, way->to->root)].via;
    while (crossing) {
        const Crossing *before = routes->hosts[crossing->from].via;

        if (!map_window(way, crossing, after, addr, size_bytes, error) ||
            !add_requesters(way, crossing, before, error)) {
            return false;
        }
        after = crossing;
        crossing = before;
    }
    if (way->from != way->from->root &&
        !(way->flags & FAB_MAP_FROM_HOST_ADDR)) {
        return map_root(way, fab_component_as_root(way->from->root),
                        way->from->bdf, addr, size_bytes, error);
    }
    return true;
}

/* Removes the entries of @records, the last one first. */
static void records_undo(GArray *records)
{
    for (unsigned i = records->len; i-- > 0;) {
        const Record *record = &g_array_index(records, Record, i);

        if (record->root) {
            fab_root_unmap_dma(record->root, record->addr);
        } else if (record->size_bytes) {
            fab_ntb_unmap(record->ntb, record->addr, record->size_bytes);
        } else {
            fab_ntb_remove_requester(record->ntb, record->requester);
        }
    }
    g_array_unref(records);
}

/* ---- Mappings --------------------------------------------------------- */

struct FabMapping {
    FabBusAddr addr;
    GArray *records; /* of Record */
};

/* Finds @way and maps the range. */
static FabMapping *mapping_make(Way *way, FabBusAddr addr, uint64_t size_bytes,
                                GError **error)
{
    FabMapping *mapping;

    g_assert(way->from->fabric == way->to->fabric);
    if (!check_ends(way->from, way->to, addr, size_bytes, error) ||
        !way_find(way, error)) {
        return NULL;
    }
    way->records = g_array_new(FALSE, FALSE, sizeof(Record));
    if (!way_map(way, &addr, size_bytes, error)) {
        records_undo(way->records);
        return NULL;
    }
    mapping = g_new0(FabMapping, 1);
    mapping->addr = addr;
    mapping->records = way->records;
    return mapping;
}

FabMapping *fab_mapping_new(FabComponent *from, FabComponent *to,
                            FabBusAddr addr, uint64_t size_bytes,
                            unsigned flags, GError **error)
{
    Way way = {.from = from, .to = to, .flags = flags};

    return mapping_make(&way, addr, size_bytes, error);
}

FabBusAddr fab_mapping_addr(const FabMapping *mapping)
{
    return mapping->addr;
}

void fab_mapping_free(FabMapping *mapping)
{
    if (mapping) {
        records_undo(mapping->records);
        g_free(mapping);
    }
}

/* The first crossing of the way from @from to @to; NULL if there is none. */
static const Crossing *first_crossing(FabComponent *from, FabComponent *to)
{
    Way way = {.from = from, .to = to};
    const Crossing *crossing;

    if (!from->root || !to->root || !way_find(&way, NULL)) {
        return NULL;
    }
    crossing = way.routes->hosts[host_index(way.routes, to->root)].via;
    while (crossing && way.routes->hosts[crossing->from].via) {
        crossing = way.routes->hosts[crossing->from].via;
    }
    return crossing;
}

FabNtb *fab_route_adapter(FabComponent *from, FabComponent *to)
{
    const Crossing *crossing = first_crossing(from, to);

    return crossing ? crossing->near : NULL;
}

/* The mapping becomes permanent. */
static FabBusAddr mapping_keep(FabMapping *mapping)
{
    FabBusAddr addr = mapping->addr;

    g_array_unref(mapping->records);
    g_free(mapping);
    return addr;
}

bool fab_route_map(FabComponent *from, FabComponent *to, FabBusAddr addr,
                   uint64_t size_bytes, FabBusAddr *ret_addr, GError **error)
{
    FabFabric *fabric = from->fabric;
    FabMapping *mapping;

    g_assert(fabric == to->fabric);
    for (FabAttachment *attachment = fabric->attachments;
         attachment && size_bytes > 0; attachment = attachment->next) {
        FabRouteAnswer answer =
            attachment->ops->route
                ? attachment->ops->route(attachment, from, to, addr, size_bytes,
                                         ret_addr, error)
                : FAB_ROUTE_ORDINARY;

        if (answer != FAB_ROUTE_ORDINARY) {
            return answer == FAB_ROUTE_DONE;
        }
    }
    mapping = fab_mapping_new(from, to, addr, size_bytes, 0, error);
    if (!mapping) {
        return false;
    }
    *ret_addr = mapping_keep(mapping);
    return true;
}

bool fab_route_map_over(FabNtb *near, unsigned cable, FabComponent *from,
                        FabComponent *to, FabBusAddr addr, uint64_t size_bytes,
                        FabBusAddr *ret_addr, GError **error)
{
    Way way = {.from = from, .to = to, .near = near, .cable = cable};
    const Crossing *usual = first_crossing(from, to);
    FabMapping *mapping;

    if (usual && usual->near == near && usual->cable == cable) {
        return fab_route_map(from, to, addr, size_bytes, ret_addr, error);
    }
    mapping = mapping_make(&way, addr, size_bytes, error);
    if (!mapping) {
        return false;
    }
    *ret_addr = mapping_keep(mapping);
    return true;
}

bool fab_route_map_buffer(FabComponent *from, FabComponent *to, FabBusAddr addr,
                          uint64_t size_bytes, FabBusAddr *ret_addr,
                          GError **error)
{
    g_autoptr(GError) own = NULL;

    if (fab_route_map(from, to, addr, size_bytes, ret_addr, &own)) {
        return true;
    }
    if (g_error_matches(own, FAB_ERROR, FAB_ERROR_NO_ROOM)) {
        *ret_addr = FAB_ADDR_UNMAPPED;
        return true;
    }
    g_propagate_error(error, g_steal_pointer(&own));
    return false;
}
