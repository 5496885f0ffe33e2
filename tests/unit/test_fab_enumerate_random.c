/* SPDX-License-Identifier: MIT */
/*
 * Invariant: in any tree every function has its own BDF and every BAR its own
 * aligned range. The bus numbers and address ranges of the bridges lead from
 * the root to the component that owns a bus number or an address, and to no
 * other. The test checks random trees with a checker that knows only the rules
 * of the specification.
 */
#include <check.h>
#include <stdlib.h>

#include "fab_fake.h"
#include "fab_lab.h"
#include "../suite.h"

#define KIB    (UINT64_C(1) << 10)
#define MIB    (UINT64_C(1) << 20)
#define GIB    (UINT64_C(1) << 30)
#define PREF64 (FAKE_64BIT | FAKE_PREF)
#define BUSES  256
#define PROBES 1000

/* For conditions that are checked a million times. The assertions of libcheck
 * are too slow for this: each writes a record to a file even if it passes. */
#define must(condition)                                                        \
    do {                                                                       \
        if (!(condition)) {                                                    \
            ck_abort_msg("%s", #condition);                                    \
        }                                                                      \
    } while (0)

static FabFabric *fabric;
static FabComponent *root;

static void setup(void)
{
    fabric = lab_fabric_new(1);
}

static void teardown(void)
{
    lab_fabric_free(fabric);
}

/*
 * The checker. It follows the ports down from the root and knows three rules:
 * bus numbers nest, ranges of siblings do not overlap, and the range of a
 * bridge is the hull of the BARs and ranges below it, extended to multiples of
 * 1 MiB.
 */
typedef struct Hull {
    FabBusAddr first, last; /* first > last: empty */
} Hull;

typedef struct Seen {
    bool buses[BUSES];
    unsigned next_bus;
    GPtrArray *components;
    GArray *probes; /* addresses at the edges of BARs and ranges */
} Seen;

static const Hull empty_hull = {UINT64_MAX, 0};

static bool goes_high(const FabBar *bar)
{
    return bar->is_64bit && bar->prefetchable &&
           bar->size_bytes >= fake_mmio(root)->above_4g_bytes;
}

/* Extends @hull by [@first, @last], and adds the edges of this range to the
 * addresses to probe. */
static void add_range(Seen *seen, Hull *hull, FabBusAddr first, FabBusAddr last)
{
    FabBusAddr edges[4] = {first - 1, first, last, last + 1};

    g_array_append_vals(seen->probes, edges, 4);
    hull->first = MIN(hull->first, first);
    hull->last = MAX(hull->last, last);
}

/* Adds the BARs of @component to the hulls of the bus that it is on. */
static void check_bars(FabComponent *component, unsigned bus, Seen *seen,
                       Hull hulls[2])
{
    unsigned i;

    ck_assert_ptr_eq(component->root, root);
    ck_assert_uint_eq(component->bdf, bus << 8);
    for (i = 0; i < FAB_BARS; i++) {
        const FabBar *bar = &component->bars[i];

        if (bar->size_bytes) {
            ck_assert_uint_eq(bar->addr % bar->size_bytes, 0);
            add_range(seen, &hulls[goes_high(bar)], bar->addr,
                      bar->addr + bar->size_bytes - 1);
        }
    }
}

static void check_range(const FabBridgeRange *range, const Hull *hull)
{
    if (hull->first > hull->last) {
        ck_assert_uint_gt(range->base, range->limit);
        return;
    }
    ck_assert_uint_eq(range->base, hull->first & ~(MIB - 1));
    ck_assert_uint_eq(range->limit, hull->last | (MIB - 1));
}

/* Checks @port, a bridge on bus @bus, and everything below it. Adds the ranges
 * of the bridge to the hulls of that bus. */
static void check_below(FabPort *port, unsigned bus, Seen *seen, Hull hulls[2])
{
    const FabBridge *bridge = fab_port_bridge(port);
    Hull below[2] = {empty_hull, empty_hull};
    bool usp = port->owner->kind == FAB_KIND_SWITCH && port->index == 0;
    unsigned i;

    ck_assert_ptr_nonnull(bridge);
    ck_assert_uint_eq(bridge->primary, bus);
    ck_assert_uint_eq(FAB_BDF_BUS(bridge->bdf), bus);
    ck_assert_uint_eq(bridge->secondary, seen->next_bus);
    ck_assert(!seen->buses[bridge->secondary]);
    seen->buses[seen->next_bus++] = true;
    if (usp) {
        for (i = 1; i < port->owner->port_count; i++) {
            check_below(port->owner->ports[i], bridge->secondary, seen, below);
        }
    } else if (port->peer) {
        FabComponent *component = port->peer->owner;

        g_ptr_array_add(seen->components, component);
        check_bars(component, bridge->secondary, seen, below);
        if (component->kind == FAB_KIND_SWITCH) {
            check_below(component->ports[0], bridge->secondary, seen, below);
        }
    }
    ck_assert_uint_eq(bridge->subordinate, seen->next_bus - 1);
    check_range(&bridge->memory, &below[0]);
    check_range(&bridge->prefetchable, &below[1]);
    for (i = 0; i < 2; i++) {
        const FabBridgeRange *range =
            i ? &bridge->prefetchable : &bridge->memory;

        if (below[i].first <= below[i].last) {
            add_range(seen, &hulls[i], range->base, range->limit);
        }
    }
}

/* Returns @component if one of its BARs contains @addr, or NULL. */
static FabComponent *find_claim(FabComponent *component, FabBusAddr addr)
{
    unsigned i;

    for (i = 0; i < FAB_BARS; i++) {
        const FabBar *bar = &component->bars[i];

        if (bar->size_bytes && addr >= bar->addr &&
            addr - bar->addr < bar->size_bytes) {
            return component;
        }
    }
    return NULL;
}

static FabComponent *follow(FabPort *port, FabBusAddr addr, unsigned *claims);

/* Returns the component that claims @addr below the bridges of @owner from
 * @first on. Adds to @claims the number of bridges that claim it. */
static FabComponent *follow_bus(FabComponent *owner, unsigned first,
                                FabBusAddr addr, unsigned *claims)
{
    FabComponent *found = NULL;
    unsigned i;

    for (i = first; i < owner->port_count; i++) {
        const FabBridge *bridge = fab_port_bridge(owner->ports[i]);

        if (bridge &&
            (fab_bridge_range_contains(&bridge->memory, addr) ||
             fab_bridge_range_contains(&bridge->prefetchable, addr))) {
            FabComponent *below;

            (*claims)++;
            below = follow(owner->ports[i], addr, claims);
            found = below ? below : found;
        }
    }
    return found;
}

/* Routes @addr down from @port, a Root Port or Downstream Port. On every bus
 * at most one function may claim it. */
static FabComponent *follow(FabPort *port, FabBusAddr addr, unsigned *claims)
{
    FabComponent *component = port->peer ? port->peer->owner : NULL;
    FabComponent *claimer = component ? find_claim(component, addr) : NULL;
    unsigned here = claimer ? 1 : 0;

    if (component && component->kind == FAB_KIND_SWITCH) {
        const FabBridge *bridge = fab_port_bridge(component->ports[0]);

        if (fab_bridge_range_contains(&bridge->memory, addr) ||
            fab_bridge_range_contains(&bridge->prefetchable, addr)) {
            unsigned inside = 0;

            here++;
            claimer = follow_bus(component, 1, addr, &inside);
            must(inside <= 1);
        }
    }
    must(here <= 1);
    return claimer;
}

/* A request to @addr reaches the component that has @addr in a BAR. */
static void check_address(const Seen *seen, FabBusAddr addr)
{
    FabComponent *owner = NULL, *reached;
    unsigned claims = 0;
    unsigned i;

    for (i = 0; i < seen->components->len; i++) {
        FabComponent *claimer = find_claim(seen->components->pdata[i], addr);

        must(!claimer || !owner);
        owner = claimer ? claimer : owner;
    }
    reached = follow_bus(root, 0, addr, &claims);
    must(claims <= 1);
    must(reached == owner);
}

static void check_all(Seen *seen)
{
    const FabMmioParams *mmio = fake_mmio(root);
    Hull hulls[2] = {empty_hull, empty_hull};
    unsigned i, step;

    seen->next_bus = 1;
    for (i = 0; i < root->port_count; i++) {
        if (root->ports[i]->peer) {
            check_below(root->ports[i], 0, seen, hulls);
        } else {
            ck_assert_ptr_null(fab_port_bridge(root->ports[i]));
        }
    }
    for (i = 0; i < 2; i++) {
        FabBusAddr base = i ? mmio->high_base : mmio->low_base;
        uint64_t size_bytes = i ? mmio->high_size : mmio->low_size;

        if (hulls[i].first <= hulls[i].last) {
            ck_assert_uint_ge(hulls[i].first, base);
            ck_assert_uint_lt(hulls[i].last - base, size_bytes);
        }
    }
    /* Probes at most about 2 * PROBES addresses, spread evenly. The edges come
     * in groups of four; with an odd step all four of them get their turn. */
    step = (seen->probes->len / PROBES) | 1;
    for (i = 0; i < seen->probes->len; i += step) {
        check_address(seen, g_array_index(seen->probes, FabBusAddr, i));
    }
}

/* BARs that must be below 4 GiB have at most 2 MiB, so that the low range of
 * 1 GiB holds them. */
static void random_bars(GRand *rand, FabComponent *component, unsigned limit)
{
    unsigned i;

    for (i = 0; i < limit; i++) {
        unsigned flags = g_rand_int_range(rand, 0, 4);
        unsigned most = flags == PREF64 ? 34 : 22;

        if (g_rand_int_range(rand, 0, 2)) {
            fake_bar(component, i,
                     UINT64_C(1) << g_rand_int_range(rand, 7, most), flags);
        }
    }
}

/* Connects a random component to most ports of @above, from @first on. Adds at
 * most @depth levels of switches with fewer than @width Downstream Ports each.
 */
static void grow(GRand *rand, FabComponent *above, unsigned first,
                 unsigned depth, unsigned width)
{
    unsigned i;

    for (i = first; i < above->port_count; i++) {
        unsigned dice = g_rand_int_range(rand, 0, 10);

        if (dice == 0) {
            continue;
        }
        if (dice < 5 && depth > 0) {
            FabComponent *sw =
                fake_component(fabric, FAB_KIND_SWITCH, "h.sw",
                               1 + g_rand_int_range(rand, 0, width));

            fake_connect(above, i, sw, 0);
            random_bars(rand, sw, 2);
            grow(rand, sw, 1, depth - 1, width);
        } else {
            FabComponent *leaf = fake_component(
                fabric, dice < 7 ? FAB_KIND_NTB : FAB_KIND_ENDPOINT, "h.leaf",
                1);

            fake_connect(above, i, leaf, 0);
            random_bars(rand, leaf, FAB_BARS);
        }
    }
}

/* Counts the bridges at and below the ports of @above from @first on. */
static unsigned count_bridges(const FabComponent *above, unsigned first)
{
    unsigned count = 0;
    unsigned i;

    for (i = first; i < above->port_count; i++) {
        const FabPort *peer = above->ports[i]->peer;

        count += peer || above->kind == FAB_KIND_SWITCH;
        if (peer && peer->owner->kind == FAB_KIND_SWITCH) {
            count += 1 + count_bridges(peer->owner, 1);
        }
    }
    return count;
}

START_TEST(random_trees_obey_the_rules)
{
    g_autoptr(GRand) rand = g_rand_new_with_seed(1 + _i);
    g_autoptr(GError) error = NULL;
    Seen seen = {
        .components = g_ptr_array_new(),
        .probes = g_array_new(FALSE, FALSE, sizeof(FabBusAddr)),
    };
    bool ok;

    root = fake_component(fabric, FAB_KIND_ROOT, "h",
                          g_rand_int_range(rand, 1, 6));
    *fake_mmio(root) = (FabMmioParams){
        .low_base = 2 * GIB + g_rand_int_range(rand, 0, 64) * 64 * KIB,
        .low_size = GIB,
        .high_base = 256 * GIB + g_rand_int_range(rand, 0, 64) * 64 * MIB,
        .high_size = 16384 * GIB,
        .above_4g_bytes = UINT64_C(1) << g_rand_int_range(rand, 15, 22),
    };
    grow(rand, root, 0, 4, 2 + _i % 14);
    ok = fab_enumerate(root, &error);
    ck_assert_int_eq(ok, 1 + count_bridges(root, 0) <= BUSES);
    if (ok) {
        check_all(&seen);
    }
    g_ptr_array_free(seen.components, TRUE);
    g_array_free(seen.probes, TRUE);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("fab_enumerate_random");
    TCase *tcase = tcase_create("enumerate");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_loop_test(tcase, random_trees_obey_the_rules, 0, 80);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
