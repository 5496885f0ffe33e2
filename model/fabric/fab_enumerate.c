/* SPDX-License-Identifier: MIT */
#include "fab_enumerate_priv.h"

#include "fab_endpoint.h"

#include <inttypes.h>
#include <limits.h>

/*
 * Enumeration in the manner of firmware and Linux: find the functions
 * depth-first, number the buses, add up the sizes of the ranges from the leaves
 * to the root, and assign addresses from the root to the leaves.
 *
 * The functions are in one list in the order in which they are found, each
 * after the bridge above it. Every further step is a pass over the list,
 * forward to go down the tree and backward to go up. A deep tree therefore
 * cannot exhaust the stack. Components change only after every step has
 * succeeded.
 */

#define BUSES        256
#define DEVS         32
#define FNS          8
#define BAR_SIZE_MIN 128 /* PCIe 5.0 s7.5.1.2.1 */
#define NOTHING      UINT_MAX

/* A bridge has two ranges, and the host has an address space for each. */
typedef enum Space {
    SPACE_LOW,  /* memory range */
    SPACE_HIGH, /* prefetchable range */
    SPACES,
} Space;

/* The range of one space that a bridge forwards. `at` is relative to the range
 * of the bridge above, until place() makes it an address. */
typedef struct Range {
    uint64_t size_bytes; /* 0: closed */
    uint64_t align_bytes;
    FabBusAddr at;
} Range;

/* A function: a bridge, the function with the BARs of a component, or both. */
typedef struct Fn {
    FabComponent *component;
    FabPort *bridge; /* NULL: none, or the root complex itself */
    unsigned parent; /* these four: indices in the list */
    unsigned first_child, last_child, next_sibling;
    unsigned devfn;
    unsigned secondary, subordinate; /* of a bridge */
    Range ranges[SPACES];
    FabBusAddr bars_at[FAB_BARS]; /* as Range.at */
} Fn;

/* A function yet to be visited. */
typedef struct Visit {
    FabComponent *component;
    FabPort *bridge;
    unsigned parent;
    unsigned devfn;
} Visit;

/* Something to be given an address on a bus: a BAR or a range. */
typedef struct Request {
    uint64_t size_bytes;
    uint64_t align_bytes;
    FabBusAddr *ret_at;
} Request;

/* Addresses [start, end) skipped to align what follows. */
typedef struct Gap {
    FabBusAddr start, end;
} Gap;

typedef struct Enumeration {
    FabComponent *root;
    const FabMmioParams *mmio;
    GArray *fns;    /* of Fn; the first is the root complex */
    GArray *visits; /* of Visit: a stack */
} Enumeration;

static Fn *get_fn(const Enumeration *e, unsigned index)
{
    return &g_array_index(e->fns, Fn, index);
}

/* Adds with saturation. No space reaches UINT64_MAX, so an overflowing size
 * does not fit later. */
static uint64_t add(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t align_up(uint64_t value, uint64_t align_bytes)
{
    uint64_t up = add(value, align_bytes - 1);

    return up == UINT64_MAX ? up : up & ~(align_bytes - 1);
}

static FabBusAddr space_base(const FabMmioParams *mmio, Space space)
{
    return space == SPACE_LOW ? mmio->low_base : mmio->high_base;
}

static uint64_t space_size(const FabMmioParams *mmio, Space space)
{
    return space == SPACE_LOW ? mmio->low_size : mmio->high_size;
}

static Space bar_space(const FabMmioParams *mmio, const FabBar *bar)
{
    bool high = bar->is_64bit && bar->prefetchable &&
                bar->size_bytes >= mmio->above_4g_bytes;

    return high ? SPACE_HIGH : SPACE_LOW;
}

/* Returns whether the configuration space of @fn holds its component's BARs. */
static bool fn_has_bars(const Fn *fn)
{
    return !fn->bridge || fn->bridge->role == FAB_PORT_UPSTREAM;
}

static bool check_space(const FabComponent *root, const FabMmioParams *mmio,
                        GError **error)
{
    uint64_t low_end = add(mmio->low_base, mmio->low_size);
    uint64_t high_end = add(mmio->high_base, mmio->high_size);

    if (low_end > UINT64_C(1) << 32) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: the MMIO range below 4 GiB ends at 0x%" PRIx64,
                    root->name, low_end);
        return false;
    }
    if (high_end == UINT64_MAX) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: the MMIO range at 0x%" PRIx64
                    " ends beyond the last address",
                    root->name, mmio->high_base);
        return false;
    }
    if (mmio->low_size && mmio->high_size && mmio->high_base < low_end &&
        mmio->low_base < high_end) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                    "%s: the MMIO ranges at 0x%" PRIx64 " and 0x%" PRIx64
                    " overlap",
                    root->name, mmio->low_base, mmio->high_base);
        return false;
    }
    return true;
}

static bool check_bars(const FabComponent *component, GError **error)
{
    unsigned i;

    for (i = 0; i < FAB_BARS; i++) {
        uint64_t size_bytes = component->bars[i].size_bytes;

        if (!size_bytes) {
            continue;
        }
        if (size_bytes < BAR_SIZE_MIN || size_bytes & (size_bytes - 1)) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_CONFIG,
                        "%s: BAR %u of %" PRIu64
                        " bytes: the size must be a power of two, at least %u",
                        component->name, i, size_bytes, BAR_SIZE_MIN);
            return false;
        }
    }
    return true;
}

/*
 * Device and function number of bridge @slot of @slots bridges on a bus where
 * device numbers from @first_dev on are free. Each bridge is a device of its
 * own if the device numbers suffice; otherwise eight bridges share a device. A
 * result above 0xff means that the numbers do not suffice.
 */
static unsigned slot_devfn(unsigned slot, unsigned slots, unsigned first_dev)
{
    return slots <= DEVS - first_dev ? (first_dev + slot) * FNS
                                     : first_dev * FNS + slot;
}

static void push_visit(Enumeration *e, FabComponent *component, FabPort *bridge,
                       unsigned parent, unsigned devfn)
{
    Visit visit = {
        .component = component,
        .bridge = bridge,
        .parent = parent,
        .devfn = devfn,
    };

    g_array_append_val(e->visits, visit);
}

/* Appends the visited function to the list, as the last child of its parent. */
static unsigned add_fn(Enumeration *e, const Visit *visit)
{
    unsigned index = e->fns->len;
    Fn *parent;
    Fn fn = {
        .component = visit->component,
        .bridge = visit->bridge,
        .parent = visit->parent,
        .first_child = NOTHING,
        .last_child = NOTHING,
        .next_sibling = NOTHING,
        .devfn = visit->devfn,
    };

    g_array_append_val(e->fns, fn);
    if (index == 0) {
        return index;
    }
    parent = get_fn(e, visit->parent);
    if (parent->first_child == NOTHING) {
        parent->first_child = index;
    } else {
        get_fn(e, parent->last_child)->next_sibling = index;
    }
    parent->last_child = index;
    return index;
}

/* Pushes the last port first, so it is visited last. Skips an unconnected root
 * port; firmware hides it, too. */
static bool push_root_ports(Enumeration *e, GError **error)
{
    FabComponent *root = e->root;
    unsigned i, devfn;

    for (i = root->port_count; i > 0; i--) {
        FabPort *port = root->ports[i - 1];

        if (!port->peer) {
            continue;
        }
        devfn = slot_devfn(i - 1, root->port_count, 1);
        if (devfn >= DEVS * FNS) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                        "%s: no device number on bus 00 for root port %s, the "
                        "%uth; there are %u",
                        root->name, port->name, i, (DEVS - 1) * FNS);
            return false;
        }
        push_visit(e, root, port, 0, devfn);
    }
    return true;
}

/* Software sees all Downstream Ports of a switch, connected or not. */
static void push_downstream_ports(Enumeration *e, FabComponent *component,
                                  unsigned parent)
{
    unsigned i;

    for (i = component->port_count - 1; i > 0; i--) {
        push_visit(e, component, component->ports[i], parent,
                   slot_devfn(i - 1, component->port_count - 1, 0));
    }
}

/* Visits the component at the other end of the link below @port next. */
static bool push_below(Enumeration *e, FabPort *port, unsigned parent,
                       GError **error)
{
    FabPort *peer = port->peer;
    FabComponent *below = peer->owner;

    if (peer->role == FAB_PORT_CABLE) {
        return true; /* it belongs to no hierarchy */
    }
    /* The peer leads up, and back here. Each component has one way up, so there
     * is no loop. */
    if (fab_port_is_downstream(peer) || peer->peer != port) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_CONNECT,
                    "%s port %s leads down to %s port %s, which does not lead "
                    "up: a hierarchy has one root and no loops",
                    port->owner->name, port->name, below->name, peer->name);
        return false;
    }
    if (!check_bars(below, error)) {
        return false;
    }
    push_visit(e, below, peer->role == FAB_PORT_UPSTREAM ? peer : NULL, parent,
               0);
    return true;
}

/* Adds the virtual functions of @visit behind it, which is a device. They are
 * functions of its bus: a bus below a port has one device, whose functions may
 * have any of 256 numbers (ARI, PCIe 5.0 s6.13). */
static bool add_virtual_functions(Enumeration *e, const Visit *visit,
                                  GError **error)
{
    FabEndpoint *function = fab_component_as_endpoint(visit->component);

    while (function && (function = fab_endpoint_next_function(function))) {
        Visit own = *visit;

        own.component = fab_endpoint_component(function);
        own.devfn += fab_endpoint_function_offset(function);
        if (own.devfn >= DEVS * FNS) {
            g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                        "%s: function %u of a device; a bus has %u",
                        own.component->name, own.devfn, DEVS * FNS);
            return false;
        }
        add_fn(e, &own);
    }
    return true;
}

/* Lists the functions depth-first. */
static bool find_functions(Enumeration *e, GError **error)
{
    Visit visit = {.component = e->root};

    add_fn(e, &visit);
    if (!check_bars(e->root, error) || !push_root_ports(e, error)) {
        return false;
    }
    while (e->visits->len > 0) {
        unsigned index;

        visit = g_array_index(e->visits, Visit, e->visits->len - 1);
        g_array_set_size(e->visits, e->visits->len - 1);
        index = add_fn(e, &visit);
        if (!visit.bridge) {
            if (!add_virtual_functions(e, &visit, error)) {
                return false;
            }
        } else if (visit.bridge->role == FAB_PORT_UPSTREAM) {
            push_downstream_ports(e, visit.component, index);
        } else if (visit.bridge->peer &&
                   !push_below(e, visit.bridge, index, error)) {
            return false;
        }
    }
    return true;
}

/* Numbers the buses in the order of the list, which is depth-first. */
static bool number_buses(Enumeration *e, GError **error)
{
    const Fn *unlucky = NULL;
    unsigned next = 1;
    unsigned i;

    for (i = 1; i < e->fns->len; i++) {
        Fn *fn = get_fn(e, i);

        if (!fn->bridge) {
            continue;
        }
        if (next == BUSES) {
            unlucky = fn;
        }
        fn->secondary = next++;
        fn->subordinate = fn->secondary;
    }
    if (unlucky) {
        g_set_error(error, FAB_ERROR, FAB_ERROR_ADDRESS,
                    "%s: the hierarchy needs %u buses and there are %u; "
                    "bridges without one: %u, first of them %s port %s; every "
                    "port of a switch takes one, so leave unused ports out",
                    e->root->name, next, BUSES, next - BUSES,
                    unlucky->component->name, unlucky->bridge->name);
        return false;
    }
    for (i = e->fns->len - 1; i > 0; i--) {
        const Fn *fn = get_fn(e, i);
        Fn *parent = get_fn(e, fn->parent);

        parent->subordinate = MAX(parent->subordinate, fn->subordinate);
    }
    return true;
}

static void append_request(GArray *requests, uint64_t size_bytes,
                           uint64_t align_bytes, FabBusAddr *ret_at)
{
    Request request = {
        .size_bytes = size_bytes,
        .align_bytes = align_bytes,
        .ret_at = ret_at,
    };

    g_array_append_val(requests, request);
}

static void append_bars(const Enumeration *e, Fn *fn, Space space,
                        GArray *requests)
{
    unsigned i;

    for (i = 0; i < FAB_BARS; i++) {
        const FabBar *bar = &fn->component->bars[i];

        if (bar->size_bytes && bar_space(e->mmio, bar) == space) {
            append_request(requests, bar->size_bytes, bar->size_bytes,
                           &fn->bars_at[i]);
        }
    }
}

/* Collects the BARs and ranges on the secondary bus of @index that need
 * addresses of @space, in the order of device numbers. */
static void collect_requests(const Enumeration *e, unsigned index, Space space,
                             GArray *requests)
{
    unsigned child;

    g_array_set_size(requests, 0);
    if (index == 0) {
        append_bars(e, get_fn(e, 0), space, requests);
    }
    for (child = get_fn(e, index)->first_child; child != NOTHING;
         child = get_fn(e, child)->next_sibling) {
        Fn *fn = get_fn(e, child);
        Range *range = &fn->ranges[space];

        if (fn_has_bars(fn)) {
            append_bars(e, fn, space, requests);
        }
        if (range->size_bytes) {
            append_request(requests, range->size_bytes, range->align_bytes,
                           &range->at);
        }
    }
}

static int compare_requests(gconstpointer a, gconstpointer b)
{
    const Request *x = a, *y = b;

    return (x->align_bytes < y->align_bytes) -
           (x->align_bytes > y->align_bytes);
}

/* Puts @request into the lowest gap that holds it. */
static bool fill_gap(GArray *gaps, const Request *request)
{
    unsigned i;

    for (i = 0; i < gaps->len; i++) {
        Gap *gap = &g_array_index(gaps, Gap, i);
        FabBusAddr at = align_up(gap->start, request->align_bytes);
        Gap rest = {.start = at + request->size_bytes, .end = gap->end};

        if (at >= gap->end || gap->end - at < request->size_bytes) {
            continue;
        }
        *request->ret_at = at;
        gap->end = at; /* the gap may be empty now */
        g_array_insert_val(gaps, i + 1, rest);
        return true;
    }
    return false;
}

/*
 * Gives each request an address from @start on, the most aligned first, each at
 * the lowest address where it fits. Returns the end of the last.
 */
static FabBusAddr lay_out(GArray *requests, FabBusAddr start)
{
    g_autoptr(GArray) gaps = g_array_new(FALSE, FALSE, sizeof(Gap));
    FabBusAddr end = start;
    unsigned i;

    g_array_sort(requests, compare_requests); /* GLib's sort is stable */
    for (i = 0; i < requests->len; i++) {
        const Request *request = &g_array_index(requests, Request, i);
        Gap gap = {.start = end};

        if (fill_gap(gaps, request)) {
            continue;
        }
        gap.end = align_up(end, request->align_bytes);
        if (gap.end > gap.start) {
            g_array_append_val(gaps, gap);
        }
        *request->ret_at = gap.end;
        end = add(gap.end, request->size_bytes);
    }
    return end;
}

/*
 * From the leaves to the root: lays out the requests behind each bridge, from
 * address 0 on. This gives the size of the bridge's range. The layout is valid
 * at any address with the largest alignment of its parts.
 */
static void size_ranges(Enumeration *e, Space space, GArray *requests)
{
    unsigned i;

    for (i = e->fns->len - 1; i > 0; i--) {
        Fn *fn = get_fn(e, i);
        Range *range = &fn->ranges[space];

        if (!fn->bridge) {
            continue;
        }
        collect_requests(e, i, space, requests);
        if (requests->len == 0) {
            continue;
        }
        range->size_bytes =
            align_up(lay_out(requests, 0), FAB_BRIDGE_RANGE_GRAIN);
        range->align_bytes =
            MAX(FAB_BRIDGE_RANGE_GRAIN,
                g_array_index(requests, Request, 0).align_bytes);
    }
}

/* From the root to the leaves: adds the address of each range to the addresses
 * of the BARs and ranges in it. */
static void place(Enumeration *e, Space space)
{
    unsigned i, bar;

    for (i = 1; i < e->fns->len; i++) {
        Fn *fn = get_fn(e, i);
        FabBusAddr base = get_fn(e, fn->parent)->ranges[space].at;

        fn->ranges[space].at = add(fn->ranges[space].at, base);
        for (bar = 0; fn_has_bars(fn) && bar < FAB_BARS; bar++) {
            const FabBar *b = &fn->component->bars[bar];

            if (b->size_bytes && bar_space(e->mmio, b) == space) {
                fn->bars_at[bar] = add(fn->bars_at[bar], base);
            }
        }
    }
}

/*
 * Sets the error for a full space. It names the BAR with the lowest address
 * that ends beyond @end, and the size that is left before it. @end is the end
 * of the addresses of @space that ranges can use.
 */
static void report_full(const Enumeration *e, Space space, FabBusAddr end,
                        GError **error)
{
    const Fn *unlucky = NULL;
    unsigned unlucky_bar = 0;
    FabBusAddr unlucky_at = UINT64_MAX;
    FabBusAddr taken = space_base(e->mmio, space);
    g_autoptr(GString) text = g_string_new(NULL);
    unsigned i, bar;

    for (i = 0; i < e->fns->len; i++) {
        const Fn *fn = get_fn(e, i);

        for (bar = 0; fn_has_bars(fn) && bar < FAB_BARS; bar++) {
            const FabBar *b = &fn->component->bars[bar];
            FabBusAddr bar_end = add(fn->bars_at[bar], b->size_bytes);

            if (!b->size_bytes || bar_space(e->mmio, b) != space) {
                continue;
            }
            if (bar_end <= end) {
                taken = MAX(taken, bar_end);
            } else if (!unlucky || fn->bars_at[bar] < unlucky_at) {
                unlucky = fn;
                unlucky_bar = bar;
                unlucky_at = fn->bars_at[bar];
            }
        }
    }
    g_assert(unlucky);
    g_string_append_printf(text, "%s: BAR %u of ", unlucky->component->name,
                           unlucky_bar);
    fab_append_size(text, unlucky->component->bars[unlucky_bar].size_bytes);
    g_string_append_printf(text,
                           ", aligned to its size, does not fit into "
                           "%s's MMIO range %s 4 GiB: ",
                           e->root->name,
                           space == SPACE_LOW ? "below" : "above");
    fab_append_size(text, end > taken ? end - taken : 0);
    g_string_append(text, " left of ");
    fab_append_size(text, space_size(e->mmio, space));
    g_set_error_literal(error, FAB_ERROR, FAB_ERROR_ADDRESS, text->str);
}

static bool assign_addresses(Enumeration *e, Space space, GError **error)
{
    g_autoptr(GArray) requests = g_array_new(FALSE, FALSE, sizeof(Request));
    FabBusAddr base = space_base(e->mmio, space);
    /* Whole grains: ranges cannot use the rest. */
    FabBusAddr end =
        (base + space_size(e->mmio, space)) & ~(FAB_BRIDGE_RANGE_GRAIN - 1);
    FabBusAddr used;

    size_ranges(e, space, requests);
    collect_requests(e, 0, space, requests);
    used = lay_out(requests, base);
    place(e, space);
    if (requests->len > 0 && used > end) {
        report_full(e, space, end, error);
        return false;
    }
    return true;
}

static FabBridgeRange get_range(const Range *range)
{
    if (!range->size_bytes) {
        return fab_bridge_range_closed();
    }
    return (FabBridgeRange){
        .base = range->at,
        .limit = range->at + range->size_bytes - 1,
    };
}

/* Writes the numbers and addresses to the components. */
static void commit(const Enumeration *e)
{
    unsigned i, bar;

    for (i = 0; i < e->root->port_count; i++) {
        e->root->ports[i]->bridge = (FabBridge){0};
    }
    for (i = 0; i < e->fns->len; i++) {
        const Fn *fn = get_fn(e, i);
        FabBdf bdf = get_fn(e, fn->parent)->secondary << 8 | fn->devfn;

        if (fn->bridge) {
            fn->bridge->bridge = (FabBridge){
                .bdf = bdf,
                .primary = FAB_BDF_BUS(bdf),
                .secondary = fn->secondary,
                .subordinate = fn->subordinate,
                .memory = get_range(&fn->ranges[SPACE_LOW]),
                .prefetchable = get_range(&fn->ranges[SPACE_HIGH]),
            };
        }
        if (!fn_has_bars(fn)) {
            continue;
        }
        fn->component->bdf = bdf;
        fn->component->root = e->root;
        for (bar = 0; bar < FAB_BARS; bar++) {
            fn->component->bars[bar].addr = fn->bars_at[bar];
        }
    }
}

bool fab_enumerate(FabComponent *root, GError **error)
{
    g_autoptr(GArray) fns = g_array_new(FALSE, FALSE, sizeof(Fn));
    g_autoptr(GArray) visits = g_array_new(FALSE, FALSE, sizeof(Visit));
    const FabMmioParams *mmio =
        &fab_root_params(fab_component_as_root(root))->mmio;
    Enumeration e = {.root = root, .mmio = mmio, .fns = fns, .visits = visits};

    if (!check_space(root, mmio, error) || !find_functions(&e, error) ||
        !number_buses(&e, error) || !assign_addresses(&e, SPACE_LOW, error) ||
        !assign_addresses(&e, SPACE_HIGH, error)) {
        return false;
    }
    commit(&e);
    return true;
}
