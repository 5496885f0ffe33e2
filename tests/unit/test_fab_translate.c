/* SPDX-License-Identifier: MIT */
/*
 * Invariants of a root with its IOMMU on: translation delays TLPs, but never
 * breaks the ordering rules. A non-posted request that faults is completed with
 * UR, and no credit is lost. Reads run at full rate while the IOTLB holds their
 * pages, and at the rate of the page walkers if there are many more pages.
 */
#include "fab_fixture.h"

#include "sim_random.h"
#include "../suite.h"

#define WALK (280 * SIM_NS)

static FabRootParams iommu_params(void)
{
    FabRootParams params = fixture_root();

    params.iommu.enabled = true;
    params.iommu.walk = WALK;
    return params;
}

static void host_init(FixtureHost *host, Fixture *fixture,
                      const FabRootParams *params)
{
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 64, 512);

    fixture_host_init(host, fixture, params, &port);
}

/* Allocates @bytes of memory and maps them for devices. Returns their physical
 * address, and their device address in @ret_device. */
static FabBusAddr map(FixtureHost *host, uint64_t bytes, FabBusAddr *ret_device)
{
    g_autoptr(GError) error = NULL;
    FabBusAddr addr;

    ck_assert(fab_root_alloc(host->root, bytes, KIB(4), &addr));
    fab_root_map_dma(host->root, 0, addr, bytes, ret_device, &error);
    ck_assert_msg(!error, "%s", error ? error->message : "");
    return addr;
}

typedef struct Events {
    Fixture *fixture;
    char text[64]; /* one letter for each event */
    unsigned count;
    SimTime time[64];
} Events;

static void note(Events *events, char what)
{
    events->time[events->count] = fixture_now(events->fixture);
    events->text[events->count++] = what;
}

static void written(void *owner, FabBusAddr addr, uint64_t data)
{
    note(owner, 'a' + data);
}

static void read_over(void *owner, FabStatus status)
{
    note(owner, status == FAB_STATUS_SC ? 'R' : 'U');
}

static void write_data(FixtureEnd *end, FabBusAddr addr, uint64_t data)
{
    FabTlp *tlp = fixture_tlp(end, FAB_TLP_MWR, addr, 8);

    tlp->data = data;
    fixture_send(end, tlp);
}

typedef struct Rig {
    FixtureHost host; /* first: the ends' user data */
    Events events;
    FabBusAddr warm, cold; /* device addresses in the IOTLB, and not in it */
} Rig;

static void completed(FixtureEnd *end, const FabTlp *tlp)
{
    Rig *rig = end->user;

    note(&rig->events, fab_tlp_is_completion(tlp) ? 'C' : '?');
}

static void rig_init(Rig *rig, Fixture *fixture)
{
    FabRootParams params = iommu_params();
    FabBusAddr warm, cold;

    memset(rig, 0, sizeof(*rig));
    host_init(&rig->host, fixture, &params);
    rig->events.fixture = fixture;
    warm = map(&rig->host, KIB(64), &rig->warm);
    cold = map(&rig->host, KIB(64), &rig->cold);
    for (unsigned i = 0; i < 4; i++) {
        fixture_send_read(rig->host.dev, rig->warm + KIB(4) * i, 64, 0);
    }
    fixture_run(fixture);
    g_array_set_size(rig->host.dev->log, 0);
    fab_root_watch(rig->host.root, warm, KIB(64), written, &rig->events);
    fab_root_watch(rig->host.root, cold, KIB(64), written, &rig->events);
    rig->host.dev->got = completed;
}

/* A read that hits the IOTLB does not pass a write that misses it. */
START_TEST(read_waits_for_write_that_misses)
{
    g_autoptr(Fixture) fixture = fixture_new();
    Rig rig;

    rig_init(&rig, fixture);
    write_data(rig.host.dev, rig.cold, 0);
    fixture_send_read(rig.host.dev, rig.warm, 64, 1);
    write_data(rig.host.dev, rig.warm, 1);
    fixture_send_read(rig.host.dev, rig.warm, 64, 2);
    fixture_run(fixture);
    ck_assert_str_eq(rig.events.text, "abCC");
    fixture_assert_drained(fixture);
}
END_TEST

/* A write that hits the IOTLB does not pass a write that misses it. A read that
 * misses holds up no other request. */
START_TEST(writes_stay_in_order)
{
    g_autoptr(Fixture) fixture = fixture_new();
    SimTime start;
    Rig rig;

    rig_init(&rig, fixture);
    start = fixture_now(fixture);
    write_data(rig.host.dev, rig.cold, 0);
    write_data(rig.host.dev, rig.warm, 1);
    write_data(rig.host.dev, rig.cold + KIB(4), 2);
    write_data(rig.host.dev, rig.warm, 3);
    write_data(rig.host.dev, rig.cold, 4);
    fixture_run(fixture);
    ck_assert_str_eq(rig.events.text, "abcde");
    ck_assert_int_ge(rig.events.time[0] - start, WALK);
    /* The two walks ran at the same time. */
    ck_assert_int_le(rig.events.time[4] - start, WALK + 100 * SIM_NS);
    rig.events.count = 0;
    memset(rig.events.text, 0, sizeof(rig.events.text));
    fixture_send_read(rig.host.dev, rig.cold + KIB(16), 64, 1);
    write_data(rig.host.dev, rig.warm, 0);
    fixture_send_read(rig.host.dev, rig.warm, 64, 2);
    fixture_run(fixture);
    ck_assert_str_eq(rig.events.text, "aCC");
    ck_assert_uint_eq(fixture_log(rig.host.dev, 0)->tlp.tag, 2);
    fixture_assert_drained(fixture);
}
END_TEST

static void write_then_answer(FixtureEnd *end, const FabTlp *tlp)
{
    Rig *rig = end->user;

    if (tlp->type == FAB_TLP_MRD) {
        write_data(end, rig->cold + KIB(8), 0);
        fixture_reply(end, tlp, FAB_STATUS_SC, 64);
    }
}

/* The earlier writes of a device are in memory when a driver's read of its
 * register ends (table 2-40, D2). */
START_TEST(cpu_read_flushes_writes)
{
    g_autoptr(Fixture) fixture = fixture_new();
    Rig rig;

    rig_init(&rig, fixture);
    rig.host.dev->got = write_then_answer;
    fab_root_read(rig.host.root, fixture_bar(rig.host.dev, 0), 4, read_over,
                  &rig.events, 0);
    fixture_run(fixture);
    ck_assert_str_eq(rig.events.text, "aR");
    fixture_assert_drained(fixture);
}
END_TEST

/* The same without an IOMMU and with slow memory. */
START_TEST(cpu_read_flushes_writes_to_slow_memory)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = fixture_root();
    Rig rig = {.cold = GIB(4)};

    params.memory.bandwidth_bytes_s = 1000000;
    host_init(&rig.host, fixture, &params);
    rig.events.fixture = fixture;
    fab_root_watch(rig.host.root, rig.cold, KIB(64), written, &rig.events);
    rig.host.dev->got = write_then_answer;
    fab_root_read(rig.host.root, fixture_bar(rig.host.dev, 0), 4, read_over,
                  &rig.events, 0);
    fixture_run(fixture);
    ck_assert_str_eq(rig.events.text, "aR");
    fixture_assert_drained(fixture);
}
END_TEST

/* Pages that are not mapped: a non-posted request gets UR, a write is dropped,
 * and the credits come back, at any offset in the page. */
START_TEST(faults_are_unsupported)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabBusAddr device;
    Rig rig;

    rig_init(&rig, fixture);
    device = rig.cold + MIB(512);
    rig.host.dev->got = NULL;
    for (unsigned i = 0; i < 300; i++) {
        FabBusAddr addr = device + KIB(4) * (i % 7) + i;
        FabTlp *tlp;

        fixture_send(rig.host.dev,
                     fixture_tlp(rig.host.dev, FAB_TLP_MWR, addr, 1 + i % 200));
        tlp = fixture_tlp(rig.host.dev, FAB_TLP_FETCHADD, addr, 13 + i % 8);
        tlp->tag = i;
        fixture_send(rig.host.dev, tlp);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(rig.host.dev->log->len, 300);
    for (unsigned i = 0; i < 300; i++) {
        ck_assert_uint_eq(fixture_log(rig.host.dev, i)->tlp.status,
                          FAB_STATUS_UR);
    }
    ck_assert_uint_eq(fab_fabric_unsupported(fixture_fabric(fixture)), 600);
    fixture_assert_drained(fixture);
}
END_TEST

typedef struct Reader {
    FixtureHost host;
    FabBusAddr base;
    uint32_t pages;
} Reader;

/* Makes a read of 64 bytes of the next page. */
static FabTlp *read_next_page(FixtureEnd *end)
{
    const Reader *reader = end->user;
    uint64_t page = end->made % reader->pages;
    uint64_t line = end->made / reader->pages % 64;

    return fixture_tlp(end, FAB_TLP_MRD,
                       reader->base + KIB(4) * page + 64 * line, 64);
}

/* Returns the rate of reads over a working set of @pages, in bytes a second. */
static double read_rate(uint32_t pages)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = iommu_params();
    Reader reader = {.pages = pages};
    SimTime warm = 100 * SIM_US, window = 300 * SIM_US;
    uint64_t before;

    params.memory.latency = 100 * SIM_NS;
    host_init(&reader.host, fixture, &params);
    map(&reader.host, KIB(4) * (uint64_t)pages, &reader.base);
    reader.host.dev->logs = false;
    reader.host.dev->make = read_next_page;
    fixture_end_start(reader.host.dev, 4);
    fixture_run_until(fixture, warm);
    before = reader.host.dev->received_bytes;
    fixture_run_until(fixture, warm + window);
    before = reader.host.dev->received_bytes - before;
    reader.host.dev->make = NULL;
    fixture_run(fixture);
    fixture_assert_drained(fixture);
    return before * (double)SIM_S / window;
}

START_TEST(iotlb_limits_random_reads)
{
    /* Completions of 12 + 8 + 64 bytes fill a Gen3 x8 link. */
    double full = 7.877e9 * (1 - 4.0 / 1538) * 64 / 84;
    double walks = 6 * 64 / 280e-9;
    double some;

    fixture_assert_near(read_rate(1), full, 0.005);
    fixture_assert_near(read_rate(16), full, 0.005);
    fixture_assert_near(read_rate(64), full, 0.005);
    fixture_assert_near(read_rate(4096), walks, 0.02);
    fixture_assert_near(read_rate(20000), walks, 0.02);
    some = read_rate(65);
    ck_assert(some < full && some > walks * 0.98);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_translate");
    TCase *tcase = tcase_create("translate");

    tcase_add_test(tcase, read_waits_for_write_that_misses);
    tcase_add_test(tcase, writes_stay_in_order);
    tcase_add_test(tcase, cpu_read_flushes_writes);
    tcase_add_test(tcase, cpu_read_flushes_writes_to_slow_memory);
    tcase_add_test(tcase, faults_are_unsupported);
    tcase_add_test(tcase, iotlb_limits_random_reads);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
