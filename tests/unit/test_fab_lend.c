/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a lent device reaches the resources of its borrower and no others:
 * memory through the DMA window, other devices by the three ways of P2P, and
 * the CPU by interrupts. It has one borrower at a time. After its return no
 * mapping, window entry or requester entry is left.
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "dl_window.h"
#include "fab_flow_dma.h"
#include "fab_lab.h"
#include "fab_lend.h"
#include "fab_route.h"
#include "../suite.h"

#define KIB4  UINT64_C(4096)
#define MIB   (UINT64_C(1) << 20)
#define GIB   (UINT64_C(1) << 30)
#define ENTRY (4 * MIB) /* one of the 64 window entries of a lab NTB */
#define SIZE  10000u

static SimEngine *engine;
static FabFabric *fabric;

static void setup(void)
{
    fabric = lab_fabric_new(1);
    engine = fab_fabric_engine(fabric);
}

static void teardown(void)
{
    ck_assert_uint_eq(fab_fabric_tlps_alive(fabric), 0);
    lab_fabric_free(fabric);
}

/* A host: a root, a switch, and below the switch two devices and an NTB with
 * two cables. */
typedef struct TestHost {
    FabRoot *root;
    FabComponent *dev[2];
    FabComponent *ntb;
} TestHost;

static FabComponent *ntb_new(const char *name, uint64_t window_bytes)
{
    FabPortParams port = lab_port_params();
    FabNtbParams params = lab_ntb_params();

    params.window_bytes = window_bytes;
    return fab_ntb_component(
        fab_ntb_new(fabric, name, 2, &port, &port, &params));
}

static TestHost host_sized(const char *name, bool iommu, uint64_t ram_bytes,
                           uint64_t window_bytes)
{
    g_autofree char *sw_name = g_strdup_printf("%s.sw", name);
    g_autofree char *ntb_name = g_strdup_printf("%s.ntb", name);
    FabRootParams params = lab_root_params(iommu);
    FabPortParams port = lab_port_params();
    FabComponent *sw;
    TestHost host;

    params.memory.size_bytes = ram_bytes;
    params.cpu.interrupt = 2 * SIM_US;
    host.root = fab_root_new(fabric, name, &params);
    fab_root_add_port(host.root, "rp0", &port);
    sw = lab_switch(fabric, sw_name, 3);
    lab_connect(fab_root_component(host.root), 0, sw, 0);
    for (unsigned i = 0; i < 2; i++) {
        g_autofree char *device = g_strdup_printf("%s.dev%u", name, i);

        host.dev[i] = lab_device(fabric, device);
        lab_connect(sw, 1 + i, host.dev[i], 0);
    }
    host.ntb = ntb_new(ntb_name, window_bytes);
    lab_connect(sw, 3, host.ntb, 0);
    return host;
}

static TestHost host_new(const char *name, bool iommu)
{
    return host_sized(name, iommu, 16 * GIB, 256 * MIB);
}

static FabLend *borrow(FabComponent *device, const TestHost *to,
                       uint64_t window_bytes, bool vm)
{
    FabLendParams params = {
        .device = fab_component_as_endpoint(device),
        .borrower = to->root,
        .window_bytes = window_bytes,
        .vm = vm,
    };
    g_autoptr(GError) error = NULL;
    FabLend *lend = fab_lend_borrow(&params, &error);

    ck_assert_msg(lend, "%s", error ? error->message : "no error");
    return lend;
}

/* Borrowing fails with @code, and the message contains each of @words. */
static void check_refused(FabComponent *device, const TestHost *to,
                          uint64_t window_bytes, bool vm, FabError code,
                          const char *const *words)
{
    FabLendParams params = {
        .device = fab_component_as_endpoint(device),
        .borrower = to->root,
        .window_bytes = window_bytes,
        .vm = vm,
    };
    g_autoptr(GError) error = NULL;

    ck_assert(!fab_lend_borrow(&params, &error));
    ck_assert_msg(g_error_matches(error, FAB_ERROR, code), "%s",
                  error->message);
    for (unsigned i = 0; words[i]; i++) {
        ck_assert_msg(strstr(error->message, words[i]), "\"%s\" not in: %s",
                      words[i], error->message);
    }
}

static uint32_t used(const TestHost *host)
{
    return fab_ntb_used_entries(fab_component_as_ntb(host->ntb));
}

static FabBusAddr buffer(const TestHost *host, uint64_t size_bytes)
{
    FabBusAddr addr = 0;

    ck_assert(fab_root_alloc(host->root, size_bytes, KIB4, &addr));
    return addr;
}

static FabBusAddr map(FabLend *lend, FabBusAddr addr, uint64_t size_bytes)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr device_addr = 0;

    ck_assert_msg(fab_lend_map(lend, addr, size_bytes, &device_addr, &error),
                  "%s", error ? error->message : "no error");
    return device_addr;
}

/* The address of the BAR of a borrowed device for the CPU of @borrower. */
static FabBusAddr borrowed_bar(const TestHost *borrower, FabComponent *device,
                               int bar)
{
    FabBusAddr addr = 0;

    ck_assert(fab_route_map(fab_root_component(borrower->root), device,
                            fab_component_bars(device)[bar].addr, 64, &addr,
                            NULL));
    return addr;
}

/* Writes and reads at @addr by DMA, and checks that every byte reached the
 * memory of @host. */
static void check_arrives(FabComponent *device, FabBusAddr addr,
                          const TestHost *host)
{
    FabRootCounters before = *fab_root_counters(host->root);
    const FabRootCounters *now = fab_root_counters(host->root);
    uint64_t unsupported = fab_fabric_unsupported(fabric);

    ck_assert_int_eq(lab_dma(device, FAB_TLP_MWR, addr, SIZE), FAB_STATUS_SC);
    ck_assert_int_eq(lab_dma(device, FAB_TLP_MRD, addr, SIZE), FAB_STATUS_SC);
    ck_assert_uint_eq(now->memory_written_bytes - before.memory_written_bytes,
                      SIZE);
    ck_assert_uint_eq(now->memory_read_bytes - before.memory_read_bytes, SIZE);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), unsupported);
}

/* Two hosts with a cable between them. Bit 0 of @bits: the lender's IOMMU, bit
 * 1: the borrower's. */
static void two_hosts(unsigned bits, uint64_t ram_bytes, uint64_t window_bytes,
                      TestHost *a, TestHost *b)
{
    *a = host_sized("a", bits & 1, 16 * GIB, window_bytes);
    *b = host_sized("b", bits & 2, ram_bytes, window_bytes);
    lab_connect(a->ntb, 1, b->ntb, 1);
    lab_realize(fabric);
}

/* ---- Native borrowers ------------------------------------------------- */

START_TEST(one_borrower_at_a_time)
{
    TestHost a = host_new("a", false), b = host_new("b", true),
             c = host_new("c", true);
    FabLend *lend;

    lab_connect(a.ntb, 1, b.ntb, 1);
    lab_connect(a.ntb, 2, c.ntb, 1);
    lab_realize(fabric);
    ck_assert(!fab_lend_of(fab_component_as_endpoint(a.dev[0])));
    lend = borrow(a.dev[0], &b, ENTRY, false);
    ck_assert(fab_lend_of(fab_component_as_endpoint(a.dev[0])) == lend);
    check_refused(a.dev[0], &c, ENTRY, false, FAB_ERROR_LENT,
                  (const char *[]){"a.dev0", "lent to b", NULL});
    check_refused(a.dev[0], &b, ENTRY, false, FAB_ERROR_LENT,
                  (const char *[]){"a.dev0", "lent to b", NULL});
    check_refused(a.dev[1], &a, ENTRY, false, FAB_ERROR_CONFIG,
                  (const char *[]){"a.dev1 is a device of a", NULL});
    fab_lend_return(lend);
    ck_assert(!fab_lend_of(fab_component_as_endpoint(a.dev[0])));
    lend = borrow(a.dev[0], &c, ENTRY, false);
    ck_assert(fab_lend_of(fab_component_as_endpoint(a.dev[0])) == lend);
}
END_TEST

/* _i: bits of two_hosts(). */
START_TEST(memory_through_the_window)
{
    TestHost a, b;
    FabLend *lend;
    FabBusAddr addr, other;

    /* A window of 16 GiB: 64 entries of 256 MiB. */
    two_hosts(_i, 8 * GIB, 16 * GIB, &a, &b);
    lend = borrow(a.dev[0], &b, _i & 2 ? 256 * MIB : 0, false);
    ck_assert_uint_eq(fab_lend_window_bytes(lend),
                      _i & 2 ? 256 * MIB : 8 * GIB);
    /* One entry for the MSI; one for 256 MiB, or 32 for 8 GiB. */
    ck_assert_uint_eq(used(&a), 1 + (_i & 2 ? 1 : 32));
    /* The two BARs of the device may share an entry. */
    ck_assert_uint_ge(used(&b), 1);
    addr = map(lend, buffer(&b, SIZE), SIZE);
    check_arrives(a.dev[0], addr, &b);
    other = map(lend, buffer(&b, SIZE), SIZE);
    ck_assert_uint_ne(addr, other);
    check_arrives(a.dev[0], other, &b);
    /* The lender's root sees requests when it has to translate them. */
    ck_assert_int_eq(fab_root_counters(a.root)->forwarded_writes > 0, _i & 1);
}
END_TEST

START_TEST(registers_through_the_window)
{
    TestHost a, b;
    FabEndpoint *device;

    two_hosts(_i, 8 * GIB, 16 * GIB, &a, &b);
    device = fab_component_as_endpoint(a.dev[1]);
    borrow(a.dev[1], &b, 0, false);
    fab_root_write(b.root, borrowed_bar(&b, a.dev[1], 2) + 128, 8, 0, 0);
    fab_root_write(b.root, borrowed_bar(&b, a.dev[1], 0), 4, 0, 0);
    sim_engine_run(engine);
    ck_assert_uint_eq(fab_endpoint_counters(device)->served_bytes, 12);
}
END_TEST

START_TEST(ram_that_does_not_fit)
{
    TestHost a, b;

    two_hosts(0, 16 * GIB, 8 * GIB, &a, &b);
    /* The 1 GiB of RAM below 4 GiB takes 8 entries, and the rest 120 more. */
    check_refused(a.dev[0], &b, 0, false, FAB_ERROR_WINDOW,
                  (const char *[]){"a.dev0 to b", "IOMMU of b is off",
                                   "17179869184 bytes", "takes 120", NULL});
    check_refused(a.dev[0], &b, GIB, false, FAB_ERROR_CONFIG,
                  (const char *[]){"IOMMU of b is off", "17179869184",
                                   "not 1073741824", NULL});
    ck_assert_uint_eq(used(&a), 0);
    ck_assert_uint_eq(used(&b), 0);
}
END_TEST

START_TEST(devices_share_the_ram_of_one_borrower)
{
    TestHost a, b;
    FabLend *lends[2];
    FabBusAddr addr;
    uint32_t once;

    two_hosts(0, 8 * GIB, 16 * GIB, &a, &b);
    lends[0] = borrow(a.dev[0], &b, 0, false);
    once = used(&a);
    lends[1] = borrow(a.dev[1], &b, 0, false);
    ck_assert_uint_eq(used(&a), once);
    addr = buffer(&b, SIZE);
    ck_assert_uint_eq(map(lends[0], addr, SIZE), map(lends[1], addr, SIZE));
    fab_lend_return(lends[0]);
    ck_assert_uint_eq(used(&a), once);
    check_arrives(a.dev[1], map(lends[1], addr, SIZE), &b);
    fab_lend_return(lends[1]);
    ck_assert_uint_eq(used(&a), 0);
}
END_TEST

/* Of the 64 entries the MSI takes 1. The weights 4 and 1 divide the other 63
 * into 50 and 13. */
START_TEST(fair_share)
{
    TestHost a, b;
    FabLend *gpu, *disk;

    two_hosts(2, 16 * GIB, 256 * MIB, &a, &b);
    fab_lend_offer(fab_component_as_endpoint(a.dev[0]),
                   DLEND_WEIGHT_ACCELERATOR);
    fab_lend_offer(fab_component_as_endpoint(a.dev[1]), DLEND_WEIGHT);
    /* Offers of other hosts do not count. */
    fab_lend_offer(fab_component_as_endpoint(b.dev[1]), 1000);
    gpu = borrow(a.dev[0], &b, 0, false);
    ck_assert_uint_eq(fab_lend_window_bytes(gpu), 50 * ENTRY);
    disk = borrow(a.dev[1], &b, 0, false);
    ck_assert_uint_eq(fab_lend_window_bytes(disk), 13 * ENTRY);
    fab_lend_return(gpu);
    gpu = borrow(a.dev[0], &b, 0, false);
    ck_assert_uint_eq(fab_lend_window_bytes(gpu), 50 * ENTRY);
    fab_lend_return(gpu);
    fab_lend_return(disk);
    /* A requested size is rounded up to whole entries. */
    gpu = borrow(a.dev[0], &b, 17 * ENTRY + 1, false);
    ck_assert_uint_eq(fab_lend_window_bytes(gpu), 18 * ENTRY);
    check_refused(
        a.dev[1], &b, 46 * ENTRY, false, FAB_ERROR_WINDOW,
        (const char *[]){"a.dev1 to b", "46 consecutive", "45 of 64", NULL});
}
END_TEST

START_TEST(no_window_larger_than_ram)
{
    TestHost a, b;

    two_hosts(2, 2 * GIB, 16 * GIB, &a, &b);
    ck_assert_uint_eq(fab_lend_window_bytes(borrow(a.dev[0], &b, 0, false)),
                      2 * GIB);
}
END_TEST

START_TEST(full_window)
{
    TestHost a, b;
    unsigned pages = ENTRY / KIB4;
    g_autoptr(GError) error = NULL;
    FabBusAddr memory, addr;
    FabLend *lend;

    two_hosts(2, 16 * GIB, 256 * MIB, &a, &b);
    lend = borrow(a.dev[0], &b, ENTRY, false);
    memory = buffer(&b, 2 * ENTRY);
    for (unsigned i = 0; i < pages; i++) {
        map(lend, memory + i * KIB4, KIB4);
    }
    ck_assert_uint_eq(fab_lend_counters(lend)->mapped_bytes, ENTRY);
    ck_assert(!fab_lend_map(lend, memory + ENTRY, 1, &addr, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_NO_ROOM));
    ck_assert(strstr(error->message, "a.dev0: No room in IOMMU range"));
    ck_assert_uint_eq(fab_lend_counters(lend)->no_room, 1);
    ck_assert_uint_eq(fab_lend_counters(lend)->maps, pages);
    /* For an address outside memory the error is not the lack of room. */
    g_clear_error(&error);
    ck_assert(!fab_lend_map(lend, UINT64_C(1) << 45, 1, &addr, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_ADDRESS));
    g_clear_error(&error);
    ck_assert(!fab_lend_map(lend, memory, UINT64_MAX, &addr, &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_ADDRESS));
}
END_TEST

/* A flow whose buffer does not fit into the window runs, but all its operations
 * fail. A flow whose buffer fits is not affected. */
START_TEST(flow_without_room)
{
    TestHost a, b;
    FabDmaFlowParams params = {.direction = _i ? FAB_TLP_MRD : FAB_TLP_MWR,
                               .size_bytes = KIB4,
                               .count = 100};
    FabFlow *small, *large;
    FabFlowResult result;

    two_hosts(2, 16 * GIB, 256 * MIB, &a, &b);
    params.device = fab_component_as_endpoint(a.dev[0]);
    params.target = (FabTarget){fab_root_component(b.root), -1};
    borrow(a.dev[0], &b, ENTRY, false);
    params.working_set_bytes = KIB4;
    small = fab_dma_flow_new(fabric, "small", 0, &params, NULL);
    params.working_set_bytes = ENTRY;
    large = fab_dma_flow_new(fabric, "large", 0, &params, NULL);
    ck_assert(small && large);
    ck_assert(fab_flows_run(fabric, SIM_TIME_NONE, NULL));
    sim_engine_run(engine);
    fab_flow_result(small, &result);
    ck_assert_uint_eq(result.operations, 100);
    ck_assert_uint_eq(result.failed, 0);
    fab_flow_result(large, &result);
    ck_assert_uint_eq(result.operations, 100);
    ck_assert_uint_eq(result.failed, 100);
    ck_assert_uint_eq(result.bytes, 0);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), 0);
}
END_TEST

/* ---- Who may use it --------------------------------------------------- */

static void check_lent(FabComponent *from, FabComponent *to, FabBusAddr addr)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr got;

    ck_assert(!fab_route_map(from, to, addr, 64, &got, &error));
    ck_assert_msg(g_error_matches(error, FAB_ERROR, FAB_ERROR_LENT), "%s",
                  error->message);
    ck_assert(strstr(error->message, "a.dev0"));
    ck_assert(strstr(error->message, "lent to b"));
}

START_TEST(nobody_else_reaches_it)
{
    TestHost a, b;
    FabComponent *lender, *borrower;
    FabBusAddr bar, addr;
    FabLend *lend;

    two_hosts(_i, 8 * GIB, 16 * GIB, &a, &b);
    lender = fab_root_component(a.root);
    borrower = fab_root_component(b.root);
    bar = fab_component_bars(a.dev[0])[2].addr;
    lend = borrow(a.dev[0], &b, 0, false);
    check_lent(a.dev[0], lender, buffer(&a, KIB4));
    check_lent(a.dev[0], a.dev[1], fab_component_bars(a.dev[1])[0].addr);
    check_lent(lender, a.dev[0], bar);
    check_lent(a.dev[1], a.dev[0], bar);
    /* The borrower's memory, CPU and own devices are connected with it. */
    ck_assert(
        fab_route_map(a.dev[0], borrower, buffer(&b, SIZE), SIZE, &addr, NULL));
    check_arrives(a.dev[0], addr, &b);
    ck_assert_uint_eq(fab_lend_counters(lend)->maps, 1);
    ck_assert(fab_route_map(borrower, a.dev[0], bar + 64, 64, &addr, NULL));
    ck_assert_uint_eq(addr, borrowed_bar(&b, a.dev[0], 2) + 64);
    ck_assert(fab_route_map(b.dev[0], a.dev[0], bar, 64, &addr, NULL));
    ck_assert_int_eq(lab_dma(b.dev[0], FAB_TLP_MRD, addr, 64), FAB_STATUS_SC);
    /* The other device of the lender is not affected. */
    ck_assert(
        fab_route_map(a.dev[1], lender, buffer(&a, SIZE), SIZE, &addr, NULL));
    check_arrives(a.dev[1], addr, &a);
    fab_lend_return(lend);
    ck_assert(
        fab_route_map(a.dev[0], lender, buffer(&a, SIZE), SIZE, &addr, NULL));
    check_arrives(a.dev[0], addr, &a);
}
END_TEST

/* ---- P2P -------------------------------------------------------------- */

/* Lenders a and c, borrower b, each cabled to the other two. */
static void three_hosts(bool iommu, TestHost *a, TestHost *b, TestHost *c)
{
    *a = host_new("a", iommu);
    *b = host_new("b", true);
    *c = host_new("c", iommu);
    lab_connect(a->ntb, 1, b->ntb, 1);
    lab_connect(c->ntb, 1, b->ntb, 2);
    lab_connect(a->ntb, 2, c->ntb, 2);
    lab_realize(fabric);
}

static uint64_t cable_payload(const TestHost *host, unsigned cable)
{
    const FabPort *port = fab_component_port(host->ntb, 1 + cable);

    return fab_port_counters(port)->payload_sent_bytes;
}

/* The lent device @source writes to BAR 2 of @target and reads from it. */
static void check_p2p(FabLend *lend, FabComponent *source, FabComponent *target)
{
    const FabEndpointCounters *counters =
        fab_endpoint_counters(fab_component_as_endpoint(target));
    uint64_t before = counters->served_bytes;
    g_autoptr(GError) error = NULL;
    FabBusAddr addr;

    ck_assert(!fab_lend_p2p_addr(lend, target, 2, &addr));
    ck_assert_msg(fab_lend_enable_p2p(lend, target, &error), "%s",
                  error ? error->message : "");
    ck_assert(fab_lend_enable_p2p(lend, target, NULL));
    ck_assert(fab_lend_p2p_addr(lend, target, 2, &addr));
    ck_assert(!fab_lend_p2p_addr(lend, target, 1, &addr));
    ck_assert(fab_lend_p2p_addr(lend, target, 2, &addr));
    ck_assert_int_eq(lab_dma(source, FAB_TLP_MWR, addr, SIZE), FAB_STATUS_SC);
    ck_assert_int_eq(lab_dma(source, FAB_TLP_MRD, addr, SIZE), FAB_STATUS_SC);
    ck_assert_uint_eq(counters->served_bytes - before, 2 * SIZE);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), 0);
}

/* _i: IOMMUs of the lenders. BARs of 1 and 16 MiB take 1 and 4 entries. */
START_TEST(p2p_target_of_the_borrower)
{
    TestHost a, b, c;
    FabLend *lend;
    uint32_t before;

    three_hosts(_i, &a, &b, &c);
    lend = borrow(a.dev[0], &b, ENTRY, false);
    before = used(&a);
    check_p2p(lend, a.dev[0], b.dev[1]);
    ck_assert_uint_eq(used(&a) - before, 5);
    ck_assert_uint_ge(cable_payload(&a, 0), SIZE);
    ck_assert_uint_eq(cable_payload(&a, 1), 0);
}
END_TEST

START_TEST(p2p_same_lender)
{
    TestHost a, b, c;
    FabLend *lend, *target;
    uint32_t before;

    three_hosts(_i, &a, &b, &c);
    lend = borrow(a.dev[0], &b, ENTRY, false);
    target = borrow(a.dev[1], &b, ENTRY, false);
    before = used(&a);
    check_p2p(lend, a.dev[0], a.dev[1]);
    ck_assert_uint_eq(used(&a), before);
    ck_assert_uint_eq(cable_payload(&a, 0) + cable_payload(&a, 1), 0);
    ck_assert_int_eq(fab_root_counters(a.root)->forwarded_writes > 0, _i);
    /* P2P ends when the target is returned. */
    fab_lend_return(target);
    ck_assert(!fab_lend_p2p_addr(lend, a.dev[1], 2, &(FabBusAddr){0}));
}
END_TEST

START_TEST(p2p_different_lenders)
{
    TestHost a, b, c;
    FabLend *lend;
    uint32_t before, at_borrower;

    three_hosts(_i, &a, &b, &c);
    lend = borrow(a.dev[0], &b, ENTRY, false);
    borrow(c.dev[0], &b, ENTRY, false);
    before = used(&a);
    at_borrower = used(&b);
    check_p2p(lend, a.dev[0], c.dev[0]);
    ck_assert_uint_eq(used(&a) - before, 5);
    ck_assert_uint_eq(used(&b), at_borrower);
    /* The data cross the cable between the lenders, not the borrower. */
    ck_assert_uint_eq(cable_payload(&a, 0), 0);
    ck_assert_uint_ge(cable_payload(&a, 1), SIZE);
    ck_assert_uint_eq(cable_payload(&b, 0) + cable_payload(&b, 1), 0);
}
END_TEST

START_TEST(p2p_to_others_is_refused)
{
    TestHost a, b, c;
    g_autoptr(GError) error = NULL;
    FabLend *lend;

    three_hosts(true, &a, &b, &c);
    lend = borrow(a.dev[0], &b, ENTRY, false);
    ck_assert(!fab_lend_enable_p2p(lend, c.dev[0], &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_LENT));
    g_clear_error(&error);
    borrow(a.dev[1], &c, ENTRY, false);
    ck_assert(!fab_lend_enable_p2p(lend, a.dev[1], &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_LENT));
    ck_assert(strstr(error->message, "a.dev1, which is lent to c"));
}
END_TEST

START_TEST(p2p_out_of_entries_leaves_nothing)
{
    TestHost a, b, c;
    g_autoptr(GError) error = NULL;
    uint32_t before;
    FabLend *lend;

    three_hosts(_i, &a, &b, &c);
    /* Of 64 entries the MSI takes 1 and the window 60. The other 3 are too few
     * for the BARs, which take 5. */
    lend = borrow(a.dev[0], &b, 60 * ENTRY, false);
    before = used(&a);
    ck_assert_uint_eq(before, 61);
    ck_assert(!fab_lend_enable_p2p(lend, b.dev[0], &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_WINDOW));
    ck_assert(strstr(error->message, "P2P from a.dev0 to b.dev0"));
    ck_assert_uint_eq(used(&a), before);
}
END_TEST

/* ---- Interrupts ------------------------------------------------------- */

typedef struct Handled {
    unsigned count, vector;
    SimTime at;
} Handled;

static void handle(void *owner, unsigned vector)
{
    Handled *handled = owner;

    handled->count++;
    handled->vector = vector;
    handled->at = sim_engine_now(engine);
}

static void nothing(FabDma *dma)
{
}

/* Sends the MSI of @vector and returns the time from the order of the device to
 * the call of the handler. */
static SimTime interrupt(FabLend *lend, FabComponent *device, unsigned vector,
                         Handled *handled)
{
    FabDma dma = {.type = FAB_TLP_MWR, .size_bytes = 4, .done = nothing};
    SimTime begin = sim_engine_now(engine);
    unsigned before = handled->count;
    uint32_t data;

    fab_lend_msi(lend, vector, &dma.addr, &data);
    dma.data = data;
    fab_endpoint_dma(fab_component_as_endpoint(device), &dma);
    sim_engine_run(engine);
    ck_assert_uint_eq(handled->count, before + 1);
    ck_assert_uint_eq(handled->vector, vector);
    return handled->at - begin;
}

/* _i: bits of two_hosts(); bit 2: the borrower is a guest. The way between the
 * hosts takes some hundred ns, and each CPU 2 us. */
START_TEST(interrupts_arrive)
{
    TestHost a, b;
    Handled handled[2] = {{0}};
    FabLend *lends[2];
    bool vm = _i & 4;
    SimTime time;

    two_hosts(_i & 3, 4 * GIB, 16 * GIB, &a, &b);
    for (unsigned i = 0; i < 2; i++) {
        lends[i] = borrow(a.dev[i], &b, 0, vm);
        fab_lend_set_interrupt(lends[i], handle, &handled[i]);
    }
    for (unsigned i = 0; i < 2; i++) {
        time = interrupt(lends[i], a.dev[i], 5 + 2000 * i, &handled[i]);
        ck_assert_int_gt(time, (vm ? 4 : 2) * SIM_US);
        ck_assert_int_lt(time, (vm ? 6 : 4) * SIM_US);
        ck_assert_uint_eq(fab_lend_counters(lends[i])->interrupts, 1);
    }
    ck_assert_uint_eq(handled[0].count, 1);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), 0);
}
END_TEST

/* A guest's interrupt that the device writes to the borrower costs what it
 * costs without a guest; one that the lender passes on costs the lender's
 * cpu.interrupt more, and the way of a write of its CPU in place of one of the
 * device. _i: devices, which share one domain. */
START_TEST(interrupts_of_a_guest_without_the_lender)
{
    FabLendParams params = {.vm = true, .mapped_msi = true};
    Handled handled = {0};
    SimTime time[3];
    TestHost a, b;

    two_hosts(3, 4 * GIB, 16 * GIB, &a, &b);
    params.borrower = b.root;
    for (unsigned i = 0; i < 3; i++) {
        FabLend *lend;

        params.device = fab_component_as_endpoint(a.dev[_i]);
        params.vm = i > 0;
        params.mapped_msi = i < 2;
        lend = fab_lend_borrow(&params, NULL);
        ck_assert_ptr_nonnull(lend);
        fab_lend_set_interrupt(lend, handle, &handled);
        interrupt(lend, a.dev[_i], 3, &handled); /* fills the IOTLB */
        time[i] = interrupt(lend, a.dev[_i], 4, &handled);
        fab_lend_return(lend);
        ck_assert_uint_eq(fab_root_iommu_mapped(a.root), 0);
    }
    /* The wire's time of a byte is no whole number of ps. */
    ck_assert_int_le(ABS(time[0] - time[1]), 10);
    ck_assert_int_gt(time[2] - time[1], 2 * SIM_US);
    ck_assert_int_lt(time[2] - time[1], 3 * SIM_US);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), 0);
}
END_TEST

/* Several interrupts may be on their way at a time. Those on their way when the
 * device is returned do not reach the handler. */
START_TEST(interrupts_in_a_row)
{
    TestHost a, b;
    Handled handled = {0};
    FabDma dma[3] = {{0}};
    FabLend *lend;

    two_hosts(3, 4 * GIB, 16 * GIB, &a, &b);
    lend = borrow(a.dev[0], &b, 0, _i);
    fab_lend_set_interrupt(lend, handle, &handled);
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 3; i++) {
            uint32_t data;

            dma[i] =
                (FabDma){.type = FAB_TLP_MWR, .size_bytes = 4, .done = nothing};
            fab_lend_msi(lend, i, &dma[i].addr, &data);
            dma[i].data = data;
            fab_endpoint_dma(fab_component_as_endpoint(a.dev[0]), &dma[i]);
        }
        if (round == 0) {
            sim_engine_run(engine);
            ck_assert_uint_eq(handled.count, 3);
            ck_assert_uint_eq(handled.vector, 2);
        }
    }
    sim_engine_run_until(engine, sim_engine_now(engine) + 1500 * SIM_NS);
    fab_lend_return(lend);
    sim_engine_run(engine);
    ck_assert_uint_eq(handled.count, 3);
}
END_TEST

/* ---- Guests ----------------------------------------------------------- */

START_TEST(guest_needs_both_iommus)
{
    TestHost a, b;

    two_hosts(_i, 4 * GIB, 16 * GIB, &a, &b);
    check_refused(a.dev[0], &b, 0, true, FAB_ERROR_CONFIG,
                  (const char *[]){"IOMMUs of both hosts",
                                   _i & 1 ? "that of b" : "that of a", NULL});
    ck_assert_uint_eq(used(&a) + used(&b), 0);
}
END_TEST

/* The host has 8 GiB of RAM and the guest 4 GiB: 2 GiB at 0 and 2 GiB at 4 GiB.
 * Memory that is in pieces in the host is contiguous for the device. */
START_TEST(guest_memory)
{
    TestHost a, b;
    FabLend *lend, *other;
    FabBusAddr pieces[2], addr[2], again;
    uint32_t before;

    two_hosts(3, 8 * GIB, 16 * GIB, &a, &b);
    lend = borrow(a.dev[0], &b, 0, true);
    ck_assert_uint_eq(fab_lend_window_bytes(lend), 4 * GIB);
    ck_assert_uint_eq(used(&a), 1 + 16); /* of 256 MiB */
    for (unsigned i = 0; i < 2; i++) {
        pieces[i] = buffer(&b, KIB4);
        buffer(&b, KIB4); /* separates the pieces */
        addr[i] = map(lend, pieces[i], KIB4);
        ck_assert_uint_ge(addr[i], 4 * GIB);
        ck_assert_uint_lt(addr[i], 6 * GIB);
    }
    ck_assert_uint_eq(addr[1], addr[0] + KIB4);
    ck_assert_uint_ne(pieces[1], pieces[0] + KIB4);
    ck_assert_int_eq(lab_dma(a.dev[0], FAB_TLP_MWR, addr[0], 2 * KIB4),
                     FAB_STATUS_SC);
    ck_assert_uint_eq(fab_root_counters(b.root)->memory_written_bytes,
                      2 * KIB4);
    ck_assert_uint_gt(fab_root_iommu_counters(a.root)->walks, 0);
    ck_assert_uint_gt(fab_root_iommu_counters(b.root)->walks, 0);
    /* Another device of the same guest has the same window and addresses. */
    before = used(&a);
    other = borrow(a.dev[1], &b, 0, true);
    ck_assert_uint_eq(used(&a), before);
    again = map(other, pieces[0], KIB4);
    ck_assert_uint_eq(again, addr[0]);
    check_arrives(a.dev[1], map(other, buffer(&b, SIZE), SIZE), &b);
    fab_lend_return(other);
    check_refused(a.dev[1], &b, GIB, true, FAB_ERROR_CONFIG,
                  (const char *[]){"guest of b has 4294967296 bytes", NULL});
    /* Addresses outside the memory of the guest are unsupported. */
    ck_assert_int_eq(lab_dma(a.dev[0], FAB_TLP_MRD, 3 * GIB, 64),
                     FAB_STATUS_UR);
    ck_assert_int_eq(lab_dma(a.dev[0], FAB_TLP_MRD, 6 * GIB, 64),
                     FAB_STATUS_UR);
}
END_TEST

/* Devices of two guests use equal guest-physical addresses in one lender, and
 * each reaches the memory of its own guest. */
START_TEST(guests_are_apart)
{
    TestHost a = host_sized("a", true, 16 * GIB, 16 * GIB),
             b = host_sized("b", true, 4 * GIB, 16 * GIB),
             c = host_sized("c", true, 4 * GIB, 16 * GIB);
    FabBusAddr addr[2];
    FabLend *lends[2];

    lab_connect(a.ntb, 1, b.ntb, 1);
    lab_connect(a.ntb, 2, c.ntb, 1);
    lab_realize(fabric);
    lends[0] = borrow(a.dev[0], &b, 0, true);
    lends[1] = borrow(a.dev[1], &c, 0, true);
    addr[0] = map(lends[0], buffer(&b, SIZE), SIZE);
    addr[1] = map(lends[1], buffer(&c, SIZE), SIZE);
    ck_assert_uint_eq(addr[0], addr[1]);
    check_arrives(a.dev[0], addr[0], &b);
    check_arrives(a.dev[1], addr[1], &c);
    ck_assert_uint_eq(fab_root_counters(b.root)->memory_written_bytes, SIZE);
}
END_TEST

/* Two guests of one host have windows, addresses and memory of their own, and
 * their devices do not reach each other. Together they have the host's memory
 * at most. */
START_TEST(guests_of_one_host_are_apart)
{
    TestHost a = host_sized("a", true, 16 * GIB, 16 * GIB),
             b = host_sized("b", true, 4 * GIB, 16 * GIB);
    FabLendParams params = {.borrower = b.root, .vm = true};
    static const char *const names[] = {"one", "two"};
    g_autoptr(GError) error = NULL;
    FabBusAddr addr[2];
    FabLend *lends[2];

    lab_connect(a.ntb, 1, b.ntb, 1);
    lab_realize(fabric);
    for (unsigned i = 0; i < 2; i++) {
        params.device = fab_component_as_endpoint(a.dev[i]);
        params.guest = names[i];
        params.window_bytes = (1 + i) * GIB;
        lends[i] = fab_lend_borrow(&params, &error);
        ck_assert_msg(lends[i], "%s", error ? error->message : "");
        ck_assert_uint_eq(fab_lend_window_bytes(lends[i]), (1 + i) * GIB);
        addr[i] = map(lends[i], buffer(&b, SIZE), SIZE);
    }
    /* The MSI window, and 4 + 8 entries of 256 MiB */
    ck_assert_uint_eq(used(&a), 1 + 12);
    /* Each has memory from 1 MiB on. Only its own pages are there. */
    ck_assert_uint_eq(addr[0], addr[1]);
    check_arrives(a.dev[0], addr[0], &b);
    check_arrives(a.dev[1], addr[1], &b);
    ck_assert_int_eq(lab_dma(a.dev[0], FAB_TLP_MRD, addr[0] + 3 * KIB4, 64),
                     FAB_STATUS_UR);
    ck_assert(!fab_lend_enable_p2p(lends[0], a.dev[1], &error));
    ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_LENT));
    g_clear_error(&error);
    /* 3 of 4 GiB are taken. */
    fab_lend_return(lends[1]);
    params.window_bytes = 3 * GIB + KIB4;
    ck_assert(!fab_lend_borrow(&params, &error));
    ck_assert_ptr_nonnull(strstr(error->message, "other guests of b have"));
    g_clear_error(&error);
    params.window_bytes = 3 * GIB;
    ck_assert(fab_lend_borrow(&params, &error));
}
END_TEST

/* Virtual functions are lent like devices, each with an ID and BARs of its own,
 * while the device stays at home: two to guests of one host, one to a second
 * host. A completion from a function's BAR has the function's ID. */
START_TEST(virtual_functions_are_lent)
{
    TestHost a = host_sized("a", true, 16 * GIB, 16 * GIB),
             b = host_sized("b", true, 4 * GIB, 16 * GIB),
             c = host_sized("c", true, 4 * GIB, 16 * GIB);
    FabEndpoint *device = fab_component_as_endpoint(a.dev[0]);
    FabLendParams params = {.vm = true, .window_bytes = 1 * GIB};
    static const char *const guests[] = {"one", "two", "one"};
    FabComponent *function[3];
    FabLend *lends[3];
    FabBusAddr addr[3], own = 0;

    for (unsigned i = 0; i < 3; i++) {
        g_autofree char *name = g_strdup_printf("a.dev0.vf%u", i);

        function[i] = fab_endpoint_component(
            fab_endpoint_function_new(device, name, 1 + i));
    }
    lab_connect(a.ntb, 1, b.ntb, 1);
    lab_connect(a.ntb, 2, c.ntb, 1);
    lab_realize(fabric);
    for (unsigned i = 0; i < 3; i++) {
        const TestHost *to = i < 2 ? &b : &c;
        g_autoptr(GError) error = NULL;

        ck_assert_uint_eq(fab_component_bdf(function[i]),
                          fab_component_bdf(a.dev[0]) + 1 + i);
        ck_assert_uint_eq(fab_component_bars(function[i])[0].size_bytes,
                          fab_component_bars(a.dev[0])[0].size_bytes);
        params.device = fab_component_as_endpoint(function[i]);
        params.borrower = to->root;
        params.guest = guests[i];
        lends[i] = fab_lend_borrow(&params, &error);
        ck_assert_msg(lends[i], "%s", error ? error->message : "");
        addr[i] = map(lends[i], buffer(to, SIZE), SIZE);
        check_arrives(function[i], addr[i], to);
        ck_assert_uint_eq(fab_endpoint_counters(params.device)->written_bytes,
                          SIZE);
        fab_root_write(to->root, borrowed_bar(to, function[i], 0), 4, 0, 0);
        sim_engine_run(engine);
        ck_assert_uint_eq(fab_endpoint_counters(params.device)->served_bytes,
                          4);
    }
    /* Each guest has one page at this address, and no other. */
    ck_assert_uint_eq(addr[0], addr[1]);
    ck_assert_int_eq(lab_dma(function[0], FAB_TLP_MRD, addr[0] + 3 * KIB4, 64),
                     FAB_STATUS_UR);
    /* The device itself is its own host's. */
    ck_assert(fab_route_map(a.dev[0], fab_root_component(a.root),
                            buffer(&a, SIZE), SIZE, &own, NULL));
    check_arrives(a.dev[0], own, &a);
    fab_lend_return(lends[0]);
    ck_assert_int_eq(lab_dma(function[0], FAB_TLP_MRD, addr[0], 64),
                     FAB_STATUS_UR);
    check_arrives(function[1], addr[1], &b);
    check_arrives(function[2], addr[2], &c);
}
END_TEST

/* All devices of a guest reach a BAR at the same address, in any lender. */
START_TEST(guest_p2p)
{
    TestHost a = host_sized("a", true, 16 * GIB, 16 * GIB),
             b = host_sized("b", true, 4 * GIB, 16 * GIB),
             c = host_sized("c", true, 16 * GIB, 16 * GIB);
    FabLend *lends[3];
    FabBusAddr addr[2];

    lab_connect(a.ntb, 1, b.ntb, 1);
    lab_connect(c.ntb, 1, b.ntb, 2);
    lab_connect(a.ntb, 2, c.ntb, 2);
    lab_realize(fabric);
    lends[0] = borrow(a.dev[0], &b, 0, true);
    lends[1] = borrow(a.dev[1], &b, 0, true);
    lends[2] = borrow(c.dev[0], &b, 0, true);
    check_p2p(lends[0], a.dev[0], a.dev[1]); /* same lender */
    check_p2p(lends[0], a.dev[0], c.dev[0]); /* different lenders */
    check_p2p(lends[0], a.dev[0], b.dev[0]); /* the borrower's own */
    check_p2p(lends[2], c.dev[0], a.dev[1]);
    check_p2p(lends[1], a.dev[1], c.dev[0]);
    ck_assert(fab_lend_p2p_addr(lends[0], a.dev[1], 2, &addr[0]));
    ck_assert(fab_lend_p2p_addr(lends[2], a.dev[1], 2, &addr[1]));
    ck_assert_uint_eq(addr[0], addr[1]);
    /* The mappings of the first device stay as long as the second uses them. */
    fab_lend_return(lends[0]);
    ck_assert(fab_lend_p2p_addr(lends[1], c.dev[0], 2, &addr[0]));
    ck_assert_int_eq(lab_dma(a.dev[1], FAB_TLP_MRD, addr[0], 64),
                     FAB_STATUS_SC);
}
END_TEST

/* ---- Returning -------------------------------------------------------- */

/* The resources in the three hosts that lent devices occupy. */
typedef struct Taken {
    uint32_t entries[3], requesters[3];
    uint64_t iommu_bytes[3];
} Taken;

static Taken taken(const TestHost *hosts)
{
    Taken sum = {0};

    for (unsigned i = 0; i < 3; i++) {
        const FabNtb *ntb = fab_component_as_ntb(hosts[i].ntb);

        sum.entries[i] = fab_ntb_used_entries(ntb);
        sum.requesters[i] = fab_ntb_used_requesters(ntb);
        sum.iommu_bytes[i] = fab_root_iommu_mapped(hosts[i].root);
    }
    return sum;
}

/* _i: bit 0: the lenders' IOMMUs, bit 1: the borrower's, bit 2: guests. */
START_TEST(nothing_is_left)
{
    bool lenders = _i & 1, borrower = _i & 2, vm = _i & 4;
    TestHost hosts[3] = {host_sized("a", lenders, 16 * GIB, 16 * GIB),
                         host_sized("b", borrower, 4 * GIB, 16 * GIB),
                         host_sized("c", lenders, 16 * GIB, 16 * GIB)};
    Taken before, now;
    FabBusAddr memory, addr, first = 0;
    Handled handled = {0};

    lab_connect(hosts[0].ntb, 1, hosts[1].ntb, 1);
    lab_connect(hosts[2].ntb, 1, hosts[1].ntb, 2);
    lab_connect(hosts[0].ntb, 2, hosts[2].ntb, 2);
    lab_realize(fabric);
    memory = buffer(&hosts[1], SIZE);
    before = taken(hosts);
    ck_assert_uint_eq(before.entries[0], 0);
    for (unsigned i = 0; i < 100; i++) {
        FabLend *lends[3] = {borrow(hosts[0].dev[0], &hosts[1], 0, vm),
                             borrow(hosts[0].dev[1], &hosts[1], 0, vm),
                             borrow(hosts[2].dev[0], &hosts[1], 0, vm)};

        addr = map(lends[0], memory, SIZE);
        first = i ? first : addr;
        ck_assert_uint_eq(addr, first);
        map(lends[0], memory, SIZE);
        map(lends[2], memory, SIZE);
        fab_lend_set_interrupt(lends[1], handle, &handled);
        ck_assert(fab_lend_enable_p2p(lends[0], hosts[0].dev[1], NULL));
        ck_assert(fab_lend_enable_p2p(lends[0], hosts[2].dev[0], NULL));
        ck_assert(fab_lend_enable_p2p(lends[2], hosts[0].dev[0], NULL));
        ck_assert(fab_lend_enable_p2p(lends[1], hosts[1].dev[0], NULL));
        if (i == 0) {
            check_arrives(hosts[0].dev[0], addr, &hosts[1]);
        }
        now = taken(hosts);
        ck_assert_uint_gt(now.entries[0], 0);
        ck_assert_uint_gt(now.requesters[0], 0);
        for (unsigned j = 0; j < 3; j++) {
            fab_lend_return(lends[(i + j) % 3]);
        }
        now = taken(hosts);
        ck_assert_mem_eq(&now, &before, sizeof(now));
    }
    /* A returned device no longer reaches the memory of the borrower. */
    ck_assert_int_eq(lab_dma(hosts[0].dev[0], FAB_TLP_MRD, first, 64),
                     FAB_STATUS_UR);
}
END_TEST

/* Borrowing fails at different steps, and each time leaves nothing behind. */
START_TEST(failed_borrow_leaves_nothing)
{
    TestHost hosts[3] = {host_new("a", true), host_new("b", true),
                         host_new("c", true)};
    Taken before, now;

    lab_connect(hosts[0].ntb, 1, hosts[1].ntb, 1);
    lab_realize(fabric);
    before = taken(hosts);
    check_refused(hosts[0].dev[0], &hosts[2], 0, false, FAB_ERROR_WINDOW,
                  (const char *[]){"no cable leads", NULL});
    check_refused(hosts[0].dev[0], &hosts[1], 64 * ENTRY, false,
                  FAB_ERROR_WINDOW, (const char *[]){"64 consecutive", NULL});
    check_refused(hosts[0].dev[0], &hosts[1], UINT64_MAX, false,
                  FAB_ERROR_ADDRESS,
                  (const char *[]){"device addresses", NULL});
    check_refused(hosts[0].dev[0], &hosts[1], 0, true, FAB_ERROR_WINDOW,
                  (const char *[]){"all of the guest's memory", NULL});
    check_refused(hosts[0].dev[0], &hosts[1], UINT64_MAX, true,
                  FAB_ERROR_CONFIG, (const char *[]){"bytes of RAM", NULL});
    now = taken(hosts);
    ck_assert_mem_eq(&now, &before, sizeof(now));
    fab_lend_return(NULL);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_lend");
    TCase *tc = tcase_create("lend");

    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, one_borrower_at_a_time);
    tcase_add_loop_test(tc, memory_through_the_window, 0, 4);
    tcase_add_loop_test(tc, registers_through_the_window, 0, 4);
    tcase_add_test(tc, ram_that_does_not_fit);
    tcase_add_test(tc, devices_share_the_ram_of_one_borrower);
    tcase_add_test(tc, fair_share);
    tcase_add_test(tc, no_window_larger_than_ram);
    tcase_add_test(tc, full_window);
    tcase_add_loop_test(tc, flow_without_room, 0, 2);
    tcase_add_loop_test(tc, nobody_else_reaches_it, 0, 4);
    tcase_add_loop_test(tc, p2p_target_of_the_borrower, 0, 2);
    tcase_add_loop_test(tc, p2p_same_lender, 0, 2);
    tcase_add_loop_test(tc, p2p_different_lenders, 0, 2);
    tcase_add_test(tc, p2p_to_others_is_refused);
    tcase_add_loop_test(tc, p2p_out_of_entries_leaves_nothing, 0, 2);
    tcase_add_loop_test(tc, interrupts_arrive, 0, 4);
    tcase_add_loop_test(tc, interrupts_arrive, 7, 8);
    tcase_add_loop_test(tc, interrupts_of_a_guest_without_the_lender, 0, 2);
    tcase_add_loop_test(tc, interrupts_in_a_row, 0, 2);
    tcase_add_loop_test(tc, guest_needs_both_iommus, 0, 3);
    tcase_add_test(tc, guest_memory);
    tcase_add_test(tc, guests_are_apart);
    tcase_add_test(tc, guests_of_one_host_are_apart);
    tcase_add_test(tc, virtual_functions_are_lent);
    tcase_add_test(tc, guest_p2p);
    tcase_add_loop_test(tc, nothing_is_left, 0, 4);
    tcase_add_loop_test(tc, nothing_is_left, 7, 8);
    tcase_add_test(tc, failed_borrow_leaves_nothing);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
