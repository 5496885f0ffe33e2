/* SPDX-License-Identifier: MIT */
/*
 * Invariant: enumeration gives the bus numbers, BAR addresses and bridge ranges
 * that the comments below work out by hand. It refuses a hierarchy that is not
 * a tree or does not fit; the error names the component, and nothing changes.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "fab_fake.h"
#include "fab_lab.h"
#include "../suite.h"

#define KIB     (UINT64_C(1) << 10)
#define MIB     (UINT64_C(1) << 20)
#define GIB     (UINT64_C(1) << 30)
#define LOW     UINT64_C(0x80000000)
#define HIGH    UINT64_C(0x4000000000)
#define PREF64  (FAKE_64BIT | FAKE_PREF)
#define HOST    "h"
#define UNMOVED UINT64_C(0x5a5a)

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

static FabComponent *add(FabKind kind, const char *name, unsigned ports)
{
    return fake_component(fabric, kind, name, ports);
}

static void add_root(unsigned ports)
{
    root = add(FAB_KIND_ROOT, HOST, ports);
    *fake_mmio(root) = (FabMmioParams){
        .low_base = LOW,
        .low_size = GIB,
        .high_base = HIGH,
        .high_size = 64 * GIB,
        .above_4g_bytes = 256 * MIB,
    };
}

/* An endpoint below @port of @above. */
static FabComponent *add_endpoint(FabComponent *above, unsigned port,
                                  const char *name)
{
    FabComponent *endpoint = add(FAB_KIND_ENDPOINT, name, 1);

    fake_connect(above, port, endpoint, 0);
    return endpoint;
}

static void must_enumerate(void)
{
    g_autoptr(GError) error = NULL;
    bool ok = fab_enumerate(root, &error);

    ck_assert_msg(ok, "%s", error ? error->message : "no message");
}

static void must_fail(FabError code, const char *message)
{
    g_autoptr(GError) error = NULL;

    ck_assert(!fab_enumerate(root, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, (int)code));
    ck_assert_str_eq(error->message, message);
}

static void assert_bridge(const FabComponent *component, unsigned port,
                          FabBdf bdf, unsigned secondary, unsigned subordinate)
{
    const FabBridge *bridge = fab_port_bridge(component->ports[port]);

    ck_assert_ptr_nonnull(bridge);
    ck_assert_uint_eq(bridge->bdf, bdf);
    ck_assert_uint_eq(bridge->primary, bdf >> 8);
    ck_assert_uint_eq(bridge->secondary, secondary);
    ck_assert_uint_eq(bridge->subordinate, subordinate);
}

static void assert_range(const FabBridgeRange *range, FabBusAddr base,
                         FabBusAddr limit)
{
    ck_assert_uint_eq(range->base, base);
    ck_assert_uint_eq(range->limit, limit);
}

/*
 * A switch below a switch, a hole at rp1 and one at dsp1, an NTB at rp2.
 *
 * bus 0: h 00.0, rp0 01.0 [1-7], rp2 03.0 [8]
 * bus 1: sw0 00.0 [2-7]
 * bus 2: dsp0 00.0 [3], dsp1 01.0 [4] with nothing, dsp2 02.0 [5-7]
 * bus 3: a 00.0
 * bus 5: sw1 00.0 [6-7]
 * bus 6: dsp0 00.0 [7]
 * bus 7: b 00.0
 * bus 8: n 00.0
 */
typedef struct Tree {
    FabComponent *sw0, *sw1, *a, *b, *n;
} Tree;

static Tree make_tree(void)
{
    Tree t;

    add_root(3);
    t.sw0 = add(FAB_KIND_SWITCH, "h.sw0", 4);
    t.sw1 = add(FAB_KIND_SWITCH, "h.sw1", 2);
    t.n = add(FAB_KIND_NTB, "h.n", 2);
    fake_connect(root, 0, t.sw0, 0);
    t.a = add_endpoint(t.sw0, 1, "h.a");
    fake_connect(t.sw0, 3, t.sw1, 0);
    t.b = add_endpoint(t.sw1, 1, "h.b");
    fake_connect(root, 2, t.n, 0);
    fake_connect(t.n, 1, add(FAB_KIND_NTB, "far.n", 2), 1);

    fake_bar(t.sw0, 0, 256 * KIB, 0);
    fake_bar(t.a, 0, 16 * MIB, 0);
    fake_bar(t.a, 1, 256 * MIB, PREF64);
    fake_bar(t.b, 0, 4 * KIB, 0);
    fake_bar(t.b, 2, 512 * MIB, PREF64);
    fake_bar(t.n, 0, 128 * KIB, 0);
    fake_bar(t.n, 2, 128 * MIB, PREF64);
    return t;
}

START_TEST(buses_are_numbered_depth_first)
{
    Tree t = make_tree();

    must_enumerate();
    ck_assert_uint_eq(root->bdf, 0);
    assert_bridge(root, 0, FAB_BDF(0, 1, 0), 1, 7);
    ck_assert_ptr_null(fab_port_bridge(root->ports[1]));
    assert_bridge(root, 2, FAB_BDF(0, 3, 0), 8, 8);
    assert_bridge(t.sw0, 0, FAB_BDF(1, 0, 0), 2, 7);
    assert_bridge(t.sw0, 1, FAB_BDF(2, 0, 0), 3, 3);
    assert_bridge(t.sw0, 2, FAB_BDF(2, 1, 0), 4, 4);
    assert_bridge(t.sw0, 3, FAB_BDF(2, 2, 0), 5, 7);
    assert_bridge(t.sw1, 0, FAB_BDF(5, 0, 0), 6, 7);
    assert_bridge(t.sw1, 1, FAB_BDF(6, 0, 0), 7, 7);
    ck_assert_uint_eq(t.sw0->bdf, FAB_BDF(1, 0, 0));
    ck_assert_uint_eq(t.sw1->bdf, FAB_BDF(5, 0, 0));
    ck_assert_uint_eq(t.a->bdf, FAB_BDF(3, 0, 0));
    ck_assert_uint_eq(t.b->bdf, FAB_BDF(7, 0, 0));
    ck_assert_uint_eq(t.n->bdf, FAB_BDF(8, 0, 0));
    ck_assert_ptr_null(fab_port_bridge(t.a->ports[0]));
    ck_assert_ptr_null(fab_port_bridge(t.n->ports[0]));
}
END_TEST

/*
 * The memory ranges, sizes in MiB, alignment behind the slash:
 *   dsp0 of sw0: a's BAR 0                   16/16
 *   dsp2, sw1, its dsp0: b's BAR 0 of 4 KiB   1/1
 *   sw0: 16/16 at 0, 1/1 at 16               17/16
 *   rp0: 17/16 at 0, sw0's BAR 0 at 17       18/16
 *   rp2: BAR 2 of 128 at 0, BAR 0 at 128    129/128
 * Bus 0: rp2 at +0 as the most aligned, ends at +129; rp0 at +144.
 */
START_TEST(memory_ranges_are_packed_by_alignment)
{
    Tree t = make_tree();

    must_enumerate();
    assert_range(&root->ports[2]->bridge.memory, 0x80000000, 0x880fffff);
    ck_assert_uint_eq(t.n->bars[2].addr, 0x80000000);
    ck_assert_uint_eq(t.n->bars[0].addr, 0x88000000);
    assert_range(&root->ports[0]->bridge.memory, 0x89000000, 0x8a1fffff);
    ck_assert_uint_eq(t.sw0->bars[0].addr, 0x8a100000);
    assert_range(&t.sw0->ports[0]->bridge.memory, 0x89000000, 0x8a0fffff);
    assert_range(&t.sw0->ports[1]->bridge.memory, 0x89000000, 0x89ffffff);
    assert_range(&t.sw0->ports[2]->bridge.memory, 1, 0);
    assert_range(&t.sw0->ports[3]->bridge.memory, 0x8a000000, 0x8a0fffff);
    assert_range(&t.sw1->ports[0]->bridge.memory, 0x8a000000, 0x8a0fffff);
    assert_range(&t.sw1->ports[1]->bridge.memory, 0x8a000000, 0x8a0fffff);
    ck_assert_uint_eq(t.a->bars[0].addr, 0x89000000);
    ck_assert_uint_eq(t.b->bars[0].addr, 0x8a000000);
    ck_assert_uint_eq(t.b->bars[1].addr, 0);
}
END_TEST

/* b's 512 MiB are placed before a's 256 MiB. n's 128 MiB are below the minimum
 * size for an address above 4 GiB, so the prefetchable range of rp2 is closed.
 */
START_TEST(large_prefetchable_bars_are_above_4g)
{
    Tree t = make_tree();

    must_enumerate();
    ck_assert_uint_eq(t.b->bars[2].addr, 0x4000000000);
    ck_assert_uint_eq(t.a->bars[1].addr, 0x4020000000);
    assert_range(&root->ports[0]->bridge.prefetchable, 0x4000000000,
                 0x402fffffff);
    assert_range(&t.sw0->ports[0]->bridge.prefetchable, 0x4000000000,
                 0x402fffffff);
    assert_range(&t.sw0->ports[1]->bridge.prefetchable, 0x4020000000,
                 0x402fffffff);
    assert_range(&t.sw0->ports[2]->bridge.prefetchable, 1, 0);
    assert_range(&t.sw0->ports[3]->bridge.prefetchable, 0x4000000000,
                 0x401fffffff);
    assert_range(&root->ports[2]->bridge.prefetchable, 1, 0);
    ck_assert(!fab_bridge_range_is_open(&root->ports[2]->bridge.prefetchable));
}
END_TEST

/* A BAR above 4 GiB must be 64-bit, prefetchable and large. */
START_TEST(only_64bit_prefetchable_large_bars_go_high)
{
    static const struct {
        uint64_t size_bytes;
        unsigned flags;
        FabBusAddr addr;
    } cases[] = {
        {256 * MIB, PREF64, HIGH},
        {256 * MIB, FAKE_64BIT, LOW},
        {256 * MIB, FAKE_PREF, LOW},
        {128 * MIB, PREF64, LOW},
    };
    FabComponent *endpoint;

    add_root(1);
    endpoint = add_endpoint(root, 0, "h.e");
    fake_bar(endpoint, 0, cases[_i].size_bytes, cases[_i].flags);
    must_enumerate();
    ck_assert_uint_eq(endpoint->bars[0].addr, cases[_i].addr);
}
END_TEST

/*
 * Two ranges of 9 MiB aligned to 8, one of 2 MiB and one of 1 MiB, from
 * 0x80100000 on. The first is at 0x80800000 and the second at 0x81800000. The
 * others fit into the gap before the first: the third is at 0x80200000, which
 * leaves 1 MiB at 0x80100000 for the last.
 */
START_TEST(alignment_gaps_are_used)
{
    static const uint64_t sizes[] = {8 * MIB, 8 * MIB, 2 * MIB, MIB};
    FabComponent *e[4];
    unsigned i;

    add_root(4);
    fake_mmio(root)->low_base = 0x80100000;
    for (i = 0; i < 4; i++) {
        e[i] = add_endpoint(root, i, "h.e");
        fake_bar(e[i], 0, sizes[i], 0);
    }
    fake_bar(e[0], 1, MIB, 0);
    fake_bar(e[1], 1, 128, 0);
    must_enumerate();
    ck_assert_uint_eq(e[0]->bars[0].addr, 0x80800000);
    ck_assert_uint_eq(e[0]->bars[1].addr, 0x81000000);
    ck_assert_uint_eq(e[1]->bars[0].addr, 0x81800000);
    ck_assert_uint_eq(e[1]->bars[1].addr, 0x82000000);
    ck_assert_uint_eq(e[2]->bars[0].addr, 0x80200000);
    ck_assert_uint_eq(e[3]->bars[0].addr, 0x80100000);
}
END_TEST

/* Bus 0 has 31 device numbers for root ports. With 32 root ports or more, every
 * device from device 1 on has eight functions. */
START_TEST(root_ports_beyond_31_are_functions)
{
    FabComponent *e[32];
    unsigned count = _i;
    unsigned i;

    add_root(count);
    for (i = 0; i < count; i++) {
        e[i] = add_endpoint(root, i, "h.e");
    }
    must_enumerate();
    assert_bridge(root, 0, FAB_BDF(0, 1, 0), 1, 1);
    if (count == 31) {
        assert_bridge(root, 30, FAB_BDF(0, 31, 0), 31, 31);
    } else {
        assert_bridge(root, 7, FAB_BDF(0, 1, 7), 8, 8);
        assert_bridge(root, 8, FAB_BDF(0, 2, 0), 9, 9);
        assert_bridge(root, 31, FAB_BDF(0, 4, 7), 32, 32);
    }
    ck_assert_uint_eq(e[count - 1]->bdf, FAB_BDF(count, 0, 0));
}
END_TEST

START_TEST(downstream_ports_beyond_32_are_functions)
{
    unsigned count = _i;
    FabComponent *sw;

    add_root(1);
    sw = add(FAB_KIND_SWITCH, "h.sw", 1 + count);
    fake_connect(root, 0, sw, 0);
    must_enumerate();
    assert_bridge(sw, 1, FAB_BDF(2, 0, 0), 3, 3);
    if (count == 32) {
        assert_bridge(sw, 32, FAB_BDF(2, 31, 0), 34, 34);
    } else {
        assert_bridge(sw, 9, FAB_BDF(2, 1, 0), 11, 11);
        assert_bridge(sw, 33, FAB_BDF(2, 4, 0), 35, 35);
    }
    assert_bridge(root, 0, FAB_BDF(0, 1, 0), 1, 2 + count);
}
END_TEST

/* 31 devices of eight functions are 248 numbers. The 249th root port has none,
 * which is an error only if something is connected to it. */
START_TEST(device_numbers_run_out)
{
    add_root(249);
    add_endpoint(root, 247, "h.e");
    must_enumerate();
    assert_bridge(root, 247, FAB_BDF(0, 31, 7), 1, 1);
    add_endpoint(root, 248, "h.f");
    must_fail(FAB_ERROR_ADDRESS, "h: no device number on bus 00 for root port "
                                 "rp248, the 249th; there are 248");
}
END_TEST

/* Bus 0, one bus below the root port, one inside the switch, and one for each
 * Downstream Port leave room for 253 Downstream Ports. */
#define HINT "; every port of a switch takes one, so leave unused ports out"

START_TEST(bus_numbers_run_out)
{
    unsigned count = _i;
    FabComponent *sw;

    add_root(1);
    sw = add(FAB_KIND_SWITCH, "h.sw", 1 + count);
    fake_connect(root, 0, sw, 0);
    if (count == 253) {
        must_enumerate();
        assert_bridge(sw, 253, FAB_BDF(2, 31, 4), 255, 255);
    } else if (count == 254) {
        must_fail(
            FAB_ERROR_ADDRESS,
            "h: the hierarchy needs 257 buses and there are 256; "
            "bridges without one: 1, first of them h.sw port dsp253" HINT);
    } else {
        must_fail(
            FAB_ERROR_ADDRESS,
            "h: the hierarchy needs 1003 buses and there are 256; "
            "bridges without one: 747, first of them h.sw port dsp253" HINT);
    }
}
END_TEST

/* In a chain of switches, bus 2k is below the Upstream Port of the k-th switch,
 * and bus 2k + 1 below its Downstream Port. So the 128th switch is the first
 * without a bus number. 50,000 switches must neither hang the enumeration nor
 * exhaust the stack. */
START_TEST(long_chain_is_refused)
{
    FabComponent *above;
    unsigned i;

    add_root(1);
    above = root;
    for (i = 0; i < 50000; i++) {
        FabComponent *sw = add(FAB_KIND_SWITCH, "h.sw", 2);

        fake_connect(above, above == root ? 0 : 1, sw, 0);
        above = sw;
    }
    must_fail(FAB_ERROR_ADDRESS,
              "h: the hierarchy needs 100002 buses and there are 256; bridges "
              "without one: 99746, first of them h.sw#129 port usp" HINT);
}
END_TEST

/* 32 + 32 MiB fill 64 MiB to the last byte. */
START_TEST(low_space_runs_out)
{
    FabComponent *e[3];
    unsigned i;

    add_root(3);
    fake_mmio(root)->low_size = 64 * MIB;
    for (i = 0; i < 3; i++) {
        e[i] = add_endpoint(root, i, i == 1 ? "h.gpu1" : "h.e");
    }
    fake_bar(e[0], 0, 32 * MIB, 0);
    fake_bar(e[1], 3, 32 * MIB, 0);
    must_enumerate();
    ck_assert_uint_eq(e[1]->bars[3].addr, LOW + 32 * MIB);
    fake_bar(e[2], 0, MIB, 0);
    must_fail(FAB_ERROR_ADDRESS,
              "h.e#4: BAR 0 of 1 MiB, aligned to its size, does not fit into "
              "h's MMIO range below 4 GiB: 0 B left of 64 MiB");
    fake_bar(e[2], 0, 128 * MIB, 0); /* the largest, so it is placed first */
    must_fail(FAB_ERROR_ADDRESS,
              "h.e#4: BAR 0 of 128 MiB, aligned to its size, does not fit into "
              "h's MMIO range below 4 GiB: 64 MiB left of 64 MiB");
}
END_TEST

/* The 2 GiB of e0 and the 1 GiB of e1 fill 3 GiB, so e2 does not fit. If e1
 * asks for 2 GiB, e1 does not fit: 1 GiB is left. With 512 MiB for e1 and
 * 256 MiB for e2 all BARs fit. */
START_TEST(high_space_runs_out)
{
    FabComponent *sw, *e[3];
    unsigned i;

    add_root(1);
    fake_mmio(root)->high_size = 3 * GIB;
    sw = add(FAB_KIND_SWITCH, "h.sw", 4);
    fake_connect(root, 0, sw, 0);
    for (i = 0; i < 3; i++) {
        g_autofree char *name = g_strdup_printf("h.e%u", i);

        e[i] = add_endpoint(sw, 1 + i, name);
    }
    fake_bar(e[0], 0, 2 * GIB, PREF64);
    fake_bar(e[1], 2, GIB, PREF64);
    fake_bar(e[2], 4, 256 * MIB, PREF64);
    must_fail(FAB_ERROR_ADDRESS,
              "h.e2: BAR 4 of 256 MiB, aligned to its size, does not fit into "
              "h's MMIO range above 4 GiB: 0 B left of 3 GiB");
    fake_bar(e[1], 2, 2 * GIB, PREF64);
    must_fail(FAB_ERROR_ADDRESS,
              "h.e1: BAR 2 of 2 GiB, aligned to its size, does not fit into "
              "h's MMIO range above 4 GiB: 1 GiB left of 3 GiB");
    fake_bar(e[1], 2, 512 * MIB, PREF64);
    must_enumerate();
}
END_TEST

/* The sum of these BAR sizes exceeds 64 bits. */
START_TEST(absurd_bars_are_refused)
{
    FabComponent *sw;
    unsigned i, bar;

    add_root(1);
    sw = add(FAB_KIND_SWITCH, "h.sw", 9);
    fake_connect(root, 0, sw, 0);
    for (i = 0; i < 8; i++) {
        FabComponent *endpoint = add_endpoint(sw, 1 + i, "h.e");

        for (bar = 0; bar < FAB_BARS; bar++) {
            fake_bar(endpoint, bar, UINT64_C(1) << 63, PREF64);
        }
    }
    must_fail(FAB_ERROR_ADDRESS,
              "h.e: BAR 0 of 8 EiB, aligned to its size, does not fit into "
              "h's MMIO range above 4 GiB: 64 GiB left of 64 GiB");
}
END_TEST

START_TEST(wrong_bar_size_is_refused)
{
    FabComponent *endpoint;

    add_root(1);
    endpoint = add_endpoint(root, 0, "h.e");
    fake_bar(endpoint, 1, 3 * KIB, 0);
    must_fail(FAB_ERROR_CONFIG, "h.e: BAR 1 of 3072 bytes: the size must be a "
                                "power of two, at least 128");
    fake_bar(endpoint, 1, 64, 0);
    must_fail(FAB_ERROR_CONFIG, "h.e: BAR 1 of 64 bytes: the size must be a "
                                "power of two, at least 128");
}
END_TEST

START_TEST(wrong_mmio_ranges_are_refused)
{
    add_root(1);
    fake_mmio(root)->low_size = 2 * GIB + 1;
    must_fail(FAB_ERROR_CONFIG,
              "h: the MMIO range below 4 GiB ends at 0x100000001");
    fake_mmio(root)->low_size = 2 * GIB;
    fake_mmio(root)->high_size = UINT64_MAX;
    must_fail(FAB_ERROR_CONFIG, "h: the MMIO range at 0x4000000000 ends beyond "
                                "the last address");
    fake_mmio(root)->high_size = GIB;
    fake_mmio(root)->high_base = 4 * GIB - 1;
    must_fail(FAB_ERROR_CONFIG,
              "h: the MMIO ranges at 0x80000000 and 0xffffffff overlap");
}
END_TEST

START_TEST(hierarchies_that_are_no_trees_are_refused)
{
    FabComponent *sw[2];

    add_root(2);
    sw[0] = add(FAB_KIND_SWITCH, "h.sw0", 3);
    sw[1] = add(FAB_KIND_SWITCH, "h.sw1", 3);
    fake_connect(root, 0, sw[0], 0);
    fake_connect(root, 1, sw[1], 0);
    must_enumerate();
    fake_connect(sw[0], 1, sw[1], 2);
    must_fail(FAB_ERROR_CONNECT,
              "h.sw0 port dsp0 leads down to h.sw1 port dsp1, which does not "
              "lead up: a hierarchy has one root and no loops");
    fake_connect(sw[0], 1, add(FAB_KIND_ROOT, "other", 1), 0);
    must_fail(FAB_ERROR_CONNECT,
              "h.sw0 port dsp0 leads down to other port rp0, which does not "
              "lead up: a hierarchy has one root and no loops");
    sw[0]->ports[1]->peer = sw[0]->ports[0]; /* no link can do this */
    must_fail(FAB_ERROR_CONNECT,
              "h.sw0 port dsp0 leads down to h.sw0 port usp, which does not "
              "lead up: a hierarchy has one root and no loops");
}
END_TEST

/* The cable port of another host's NTB is connected to a switch of this host.
 * Enumeration stops there and does not touch that NTB. */
START_TEST(cables_end_the_hierarchy)
{
    FabComponent *sw, *far;

    add_root(1);
    sw = add(FAB_KIND_SWITCH, "h.sw", 2);
    far = add(FAB_KIND_NTB, "far.n", 2);
    far->bdf = UNMOVED;
    fake_connect(root, 0, sw, 0);
    fake_connect(sw, 1, far, 1);
    must_enumerate();
    assert_bridge(sw, 1, FAB_BDF(2, 0, 0), 3, 3);
    ck_assert_uint_eq(far->bdf, UNMOVED);
    ck_assert_ptr_null(far->root);
}
END_TEST

START_TEST(components_learn_their_root)
{
    Tree t = make_tree();

    must_enumerate();
    ck_assert_ptr_eq(root->root, root);
    ck_assert_ptr_eq(t.sw1->root, root);
    ck_assert_ptr_eq(t.b->root, root);
    ck_assert_ptr_eq(t.n->root, root);
    ck_assert_ptr_null(t.n->ports[1]->peer->owner->root);
}
END_TEST

START_TEST(failure_changes_nothing)
{
    Tree t = make_tree();

    t.a->bdf = UNMOVED;
    t.a->bars[0].addr = UNMOVED;
    fake_mmio(root)->high_size = 512 * MIB;
    must_fail(FAB_ERROR_ADDRESS,
              "h.a: BAR 1 of 256 MiB, aligned to its size, does not fit into "
              "h's MMIO range above 4 GiB: 0 B left of 512 MiB");
    ck_assert_uint_eq(t.a->bdf, UNMOVED);
    ck_assert_uint_eq(t.a->bars[0].addr, UNMOVED);
    ck_assert_ptr_null(t.a->root);
    ck_assert_ptr_null(fab_port_bridge(root->ports[0]));
}
END_TEST

START_TEST(root_alone_is_a_hierarchy)
{
    add_root(0);
    fake_mmio(root)->low_size = 0;
    fake_mmio(root)->high_size = 0;
    must_enumerate();
    ck_assert_uint_eq(root->bdf, 0);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *suite = suite_create("fab_enumerate");
    TCase *tcase = tcase_create("enumerate");

    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, buses_are_numbered_depth_first);
    tcase_add_test(tcase, memory_ranges_are_packed_by_alignment);
    tcase_add_test(tcase, large_prefetchable_bars_are_above_4g);
    tcase_add_loop_test(tcase, only_64bit_prefetchable_large_bars_go_high, 0,
                        4);
    tcase_add_test(tcase, alignment_gaps_are_used);
    tcase_add_loop_test(tcase, root_ports_beyond_31_are_functions, 31, 33);
    tcase_add_loop_test(tcase, downstream_ports_beyond_32_are_functions, 32,
                        34);
    tcase_add_test(tcase, device_numbers_run_out);
    tcase_add_loop_test(tcase, bus_numbers_run_out, 253, 255);
    tcase_add_loop_test(tcase, bus_numbers_run_out, 1000, 1001);
    tcase_add_test(tcase, long_chain_is_refused);
    tcase_add_test(tcase, low_space_runs_out);
    tcase_add_test(tcase, high_space_runs_out);
    tcase_add_test(tcase, absurd_bars_are_refused);
    tcase_add_test(tcase, wrong_bar_size_is_refused);
    tcase_add_test(tcase, wrong_mmio_ranges_are_refused);
    tcase_add_test(tcase, hierarchies_that_are_no_trees_are_refused);
    tcase_add_test(tcase, cables_end_the_hierarchy);
    tcase_add_test(tcase, components_learn_their_root);
    tcase_add_test(tcase, failure_changes_nothing);
    tcase_add_test(tcase, root_alone_is_a_hierarchy);
    suite_add_tcase(suite, tcase);
    return suite;
}

int main(void)
{
    return run_suite(make_suite());
}
