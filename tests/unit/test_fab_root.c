/* SPDX-License-Identifier: MIT */
/*
 * Invariants of a root: completions of memory reads end on Read Completion
 * Boundaries and have the right Byte Count. The memory serves no more reads at
 * a time than configured. Reads and writes together get the bandwidth of the
 * memory.
 */
#include "fab_fixture.h"

#include "sim_random.h"
#include "../suite.h"

/* ---- Memory ---------------------------------------------------------- */

/* The log of @end holds the completions of one read, in order. */
static void check_completions(FixtureEnd *end, FabBusAddr addr, uint32_t bytes,
                              uint16_t tag, uint32_t rcb, uint32_t most)
{
    uint32_t done = 0;

    for (unsigned i = 0; i < end->log->len; i++) {
        const FabTlp *cpl = &fixture_log(end, i)->tlp;
        bool last = i + 1 == end->log->len;

        fixture_ensure(cpl->type == FAB_TLP_CPLD);
        fixture_ensure(cpl->tag == tag);
        fixture_ensure(cpl->requester_id == end->component.bdf);
        fixture_ensure(cpl->request_bytes == bytes - done);
        fixture_ensure(cpl->addr == addr + done);
        fixture_ensure(cpl->payload_bytes >= 1);
        fixture_ensure(cpl->payload_bytes <= most);
        done += cpl->payload_bytes;
        if (G_UNLIKELY(!(last || (addr + done) % rcb == 0))) {
            ck_abort_msg("%u bytes at 0x%lx: completion %u ends at 0x%lx",
                         bytes, (unsigned long)addr, i,
                         (unsigned long)(addr + done));
        }
    }
    fixture_ensure(done == bytes);
}

static void split_all(uint32_t rcb, uint32_t completion_bytes, uint32_t mps)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = fixture_root();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
    SimRandom random;
    FixtureHost host;

    sim_random_init(&random, rcb, "split");
    params.rcb_bytes = rcb;
    params.completion_bytes = completion_bytes;
    port.mps_bytes = mps;
    fixture_host_init(&host, fixture, &params, &port);
    for (uint32_t offset = 0; offset < 128; offset++) {
        for (unsigned i = 0; i < 24; i++) {
            static const uint32_t edges[] = {1,   63,  64,  65,  127,
                                             128, 129, 512, 1024};
            uint32_t bytes = i < G_N_ELEMENTS(edges)
                                 ? edges[i]
                                 : 1 + sim_random_below(&random, 1024);
            FabBusAddr addr = GIB(4) + offset;
            uint16_t tag = sim_random_below(&random, 1024);

            fixture_send_read(host.dev, addr, bytes, tag);
            fixture_run(fixture);
            check_completions(host.dev, addr, bytes, tag, rcb,
                              MIN(MAX(completion_bytes, rcb), mps));
            g_array_set_size(host.dev->log, 0);
        }
    }
    fixture_assert_drained(fixture);
}

START_TEST(memory_reads_are_completed_on_boundaries)
{
    split_all(64, 64, 256);
    split_all(64, 256, 256);
    split_all(64, 256, 128);
    split_all(128, 64, 256);
    split_all(128, 256, 256);
    split_all(128, 512, 512);
}
END_TEST

/* Completions are as large as allowed, so an aligned read gets the least
 * possible number. */
START_TEST(aligned_reads_take_no_more_completions_than_they_must)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = fixture_root();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
    FixtureHost host;

    fixture_host_init(&host, fixture, &params, &port);
    fixture_send_read(host.dev, GIB(4), 1024, 1);
    fixture_run(fixture);
    ck_assert_uint_eq(host.dev->log->len, 4);
}
END_TEST

static FabTlp *read_memory(FixtureEnd *end)
{
    return fixture_tlp(end, FAB_TLP_MRD, GIB(4) + 64 * (end->made % 1024), 64);
}

/* Reads take 500 ns each, and a limited number is served at a time. _i: 0: from
 * one port, 1: from two. */
START_TEST(memory_serves_so_many_reads_at_once)
{
    static const uint32_t reads[] = {1, 2, 5, 16};

    for (unsigned i = 0; i < G_N_ELEMENTS(reads); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = fixture_root();
        FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
        SimTime window = 500 * SIM_US;
        double want = reads[i] * (window / (double)(500 * SIM_NS)), got;
        FixtureHost host;

        params.memory.latency = 500 * SIM_NS;
        params.memory.reads = reads[i];
        fixture_host_init(&host, fixture, &params, &port);
        host.dev->make = read_memory;
        fixture_end_start(host.dev, 2);
        if (_i) {
            host.far->make = read_memory;
            fixture_end_start(host.far, 2);
        }
        fixture_run_until(fixture, window);
        got = host.dev->received[FAB_CLASS_CPL];
        if (_i) {
            fixture_assert_near(got, want / 2, 0.02);
            got += host.far->received[FAB_CLASS_CPL];
        }
        fixture_assert_near(got, want, 0.02);
        host.dev->make = NULL;
        host.far->make = NULL;
        fixture_run(fixture);
        fixture_assert_drained(fixture);
    }
}
END_TEST

static FabTlp *read_or_write_memory(FixtureEnd *end)
{
    return fixture_tlp(end, end->made % 2 ? FAB_TLP_MRD : FAB_TLP_MWR,
                       GIB(4) + 64 * end->made, 64);
}

/* Reads and writes together get the bandwidth of the memory and no more. */
START_TEST(memory_bandwidth_limits)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams params = fixture_root();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
    FixtureHost host;
    const FabRootCounters *counters;

    params.memory.bandwidth_bytes_s = 2000000000;
    params.memory.latency = 100 * SIM_NS;
    fixture_host_init(&host, fixture, &params, &port);
    host.dev->make = read_or_write_memory;
    fixture_end_start(host.dev, 4);
    fixture_run_until(fixture, SIM_MS);
    counters = fab_root_counters(host.root);
    fixture_assert_near(counters->memory_read_bytes +
                            counters->memory_written_bytes,
                        2e6, 0.01);
}
END_TEST

/* A write of n lines leaves as n writes, a line in each time; the root port's
 * link limits if it is slower. The first and last line may be parts. */
START_TEST(long_writes_are_combined_into_lines)
{
    static const struct {
        uint32_t offset, bytes, lines, first, last;
        SimTime time;
    } cases[] = {
        {0, 128, 2, 64, 64, 10 * SIM_NS},  {0, 4096, 64, 64, 64, 10 * SIM_NS},
        {32, 100, 3, 32, 4, 25 * SIM_NS},  {60, 65, 2, 4, 61, 25 * SIM_NS},
        {0, 4096, 64, 64, 64, 1 * SIM_NS},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(cases); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = fixture_root();
        FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
        uint32_t lines = cases[i].lines;
        /* 64 B, a header of 3 DW, framing. */
        double wire = 84 * SIM_S / 15.754e9;
        FixtureHost host;

        params.cpu.combine = cases[i].time;
        fixture_host_init(&host, fixture, &params, &port);
        fab_root_write(host.root,
                       fixture_bar(host.dev, 0) + 8192 + cases[i].offset,
                       cases[i].bytes, 77, 0);
        fixture_run(fixture);
        ck_assert_uint_eq(host.dev->log->len, lines);
        for (unsigned n = 0; n < lines; n++) {
            const FabTlp *tlp = &fixture_log(host.dev, n)->tlp;

            ck_assert_uint_eq(tlp->payload_bytes, n == 0 ? cases[i].first
                                                  : n + 1 == lines
                                                      ? cases[i].last
                                                      : 64);
            ck_assert_uint_eq(tlp->data, n + 1 == lines ? 77 : 0);
        }
        if (cases[i].first == cases[i].last) {
            fixture_assert_near(
                (double)(fixture_log(host.dev, lines - 1)->time -
                         fixture_log(host.dev, 0)->time),
                (lines - 1) * MAX((double)cases[i].time, wire), 0.01);
        }
        fixture_assert_drained(fixture);
    }
}
END_TEST

typedef struct Writer {
    FabBusAddr base;
    uint8_t attr;
} Writer;

static FabTlp *write_memory(FixtureEnd *end)
{
    const Writer *writer = end->user;
    FabTlp *tlp = fixture_tlp(end, FAB_TLP_MWR,
                              writer->base + end->made % 256 * 256, 256);

    tlp->attr = writer->attr;
    return tlp;
}

/* Little's law: ordered writes are so many bytes at a time, each for its time;
 * those with RO fill the link. Two root ports do not share a limit. */
START_TEST(ordered_writes_to_memory_have_a_pace)
{
    double link = 256 * 15.754e9 * (1 - 0.0027) / (256 + 16 + 8);
    uint64_t sum[3] = {0};

    for (unsigned i = 0; i < 3; i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabRootParams params = fixture_root();
        FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
        Writer writer = {.attr = i == 1 ? FAB_ATTR_RO : 0};
        FixtureHost host;
        uint64_t before;

        params.ordered_bytes = 2048;
        params.ordered_time = 400 * SIM_NS;
        fixture_host_init(&host, fixture, &params, &port);
        ck_assert(fab_root_alloc(host.root, 65536, 4096, &writer.base));
        for (unsigned n = 0; n < (i == 2 ? 2 : 1); n++) {
            FixtureEnd *end = n ? host.far : host.dev;

            end->make = write_memory;
            end->user = &writer;
            fixture_end_start(end, 4);
        }
        fixture_run_until(fixture, 20 * SIM_US);
        before = fab_root_counters(host.root)->memory_written_bytes;
        fixture_run_until(fixture, 220 * SIM_US);
        sum[i] = fab_root_counters(host.root)->memory_written_bytes - before;
        host.dev->make = host.far->make = NULL;
        fixture_run(fixture);
        fixture_assert_drained(fixture);
    }
    fixture_assert_near(sum[0] / 200e-6, 2048 / 400e-9, 0.01);
    fixture_assert_near(sum[1] / 200e-6, link, 0.01);
    fixture_assert_near(sum[2] / 200e-6, 2 * 2048 / 400e-9, 0.01);
}
END_TEST

static void ignore_done(FabDma *dma)
{
}

/* Linux' pcie_bus_perf, by hand from drivers/pci/probe.c: each port gets the
 * least of what it can do and what the port above it has, from the top down.
 * Devices read no more at a time than their payload. What a peer writes may be
 * too large then, and is malformed. */
START_TEST(each_port_has_the_payload_of_the_ports_above)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabFabric *fabric = fixture_fabric(fixture);
    FabPortParams wide = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
    FabPortParams narrow = wide;
    FabRootParams params = fixture_root();
    FabEndpointParams device = fixture_device();
    FabComponent *sw, *a, *b, *host;
    FabDma dma = {.size_bytes = 1024, .done = ignore_done};
    const FabRootCounters *counters;
    const FabLoss *losses;
    unsigned count;
    FabRoot *root;

    wide.mps_bytes = 512;
    narrow.mps_bytes = 256;
    params.mps = FAB_MPS_PERF;
    device.write_bytes = device.read_bytes = 512;
    device.bars[0] = (FabBar){.size_bytes = MIB(1)};
    root = fab_root_new(fabric, "h", &params);
    host = fab_root_component(root);
    fab_root_add_port(root, "a", &wide);
    fab_root_add_port(root, "b", &wide);
    sw = fab_switch_new(fabric, "h.sw", 1, &narrow, &wide, false);
    a = fab_endpoint_component(fab_endpoint_new(fabric, "h.a", &wide, &device));
    b = fab_endpoint_component(fab_endpoint_new(fabric, "h.b", &wide, &device));
    fixture_connect(fixture, host, 0, a, 0, 0, 0, 0);
    fixture_connect(fixture, host, 1, sw, 0, 0, 0, 0);
    fixture_connect(fixture, sw, 1, b, 0, 0, 0, 0);
    fixture_realize(fixture);
    ck_assert_uint_eq(fab_port_mps_bytes(host->ports[0]), 512);
    ck_assert_uint_eq(fab_port_mps_bytes(host->ports[1]), 512);
    ck_assert_uint_eq(fab_port_mps_bytes(a->ports[0]), 512);
    ck_assert_uint_eq(fab_port_mps_bytes(sw->ports[0]), 256);
    ck_assert_uint_eq(fab_port_mps_bytes(sw->ports[1]), 256);
    ck_assert_uint_eq(fab_port_mps_bytes(b->ports[0]), 256);
    counters = fab_root_counters(root);
    dma.type = FAB_TLP_MRD;
    dma.addr = GIB(4);
    fab_endpoint_dma(fab_component_as_endpoint(b), &dma);
    fixture_run(fixture);
    ck_assert_uint_eq(counters->memory_read_bytes, 1024);
    ck_assert_uint_eq(fab_port_counters(b->ports[0])->tlps_sent[FAB_CLASS_NP],
                      4);
    dma.type = FAB_TLP_MWR;
    dma.addr = b->bars[0].addr;
    fab_endpoint_dma(fab_component_as_endpoint(a), &dma);
    fixture_run(fixture);
    ck_assert_uint_eq(
        fab_endpoint_counters(fab_component_as_endpoint(b))->served_bytes, 0);
    losses = fab_account_losses(fabric, &count);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(losses[0].cause, FAB_LOSS_MALFORMED);
    ck_assert_ptr_eq(losses[0].component, sw); /* the first that takes less */
    ck_assert_uint_eq(losses[0].tlps, 2);
    ck_assert_uint_eq(losses[0].bytes, 1024);
    ck_assert_uint_eq(fab_port_counters(sw->ports[0])->malformed_tlps, 2);
    ck_assert_uint_eq(fab_port_counters(sw->ports[0])->unsupported_requests, 0);
    ck_assert_uint_eq(fab_fabric_unsupported(fabric), 0);
    ck_assert_ptr_null(fab_account_check(fabric));
    dma.size_bytes = 256;
    fab_endpoint_dma(fab_component_as_endpoint(a), &dma);
    fixture_run(fixture);
    ck_assert_uint_eq(
        fab_endpoint_counters(fab_component_as_endpoint(b))->served_bytes, 256);
}
END_TEST

/* Ports that could do 512 and 256 bytes. Software sets one payload for all of
 * the host, one for the tree below each root port, or 128 bytes. The root
 * splits what goes from one tree to another, and completions fit each. */
START_TEST(trees_have_payloads_of_their_own)
{
    static const uint32_t most[][2] = {[FAB_MPS_JOINED] = {256, 256},
                                       [FAB_MPS_SAFE] = {512, 256},
                                       [FAB_MPS_PEERS] = {128, 128}};
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
    FabRootParams params = fixture_root();
    FixtureEnd *end[2];
    FabRoot *root;

    params.mps = _i;
    params.completion_bytes = 512;
    root = fab_root_new(fixture_fabric(fixture), "h", &params);
    for (unsigned i = 0; i < 2; i++) {
        FabPortParams own = port;

        port.mps_bytes = 512;
        own.mps_bytes = i ? 256 : 512;
        fab_root_add_port(root, i ? "b" : "a", &port);
        end[i] = fixture_end_new(fixture, i ? "h.b" : "h.a", &own, 0, MIB(16));
        end[i]->logs = true;
        fixture_connect(fixture, fab_root_component(root), i,
                        &end[i]->component, 0, 0, 0, 0);
    }
    fixture_realize(fixture);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(fab_port_mps_bytes(end[i]->component.ports[0]),
                          most[_i][i]);
        fixture_send_read(end[i], GIB(4), 1024, 1);
        fixture_run(fixture);
        check_completions(end[i], GIB(4), 1024, 1, 64, most[_i][i]);
        ck_assert_uint_eq(end[i]->log->len, 1024 / most[_i][i]);
        g_array_set_size(end[i]->log, 0);
    }
    fixture_send(end[0], fixture_tlp(end[0], FAB_TLP_MWR,
                                     fixture_bar(end[1], 2), most[_i][0]));
    fixture_run(fixture);
    ck_assert_uint_eq(end[1]->log->len, most[_i][0] / most[_i][1]);
    for (unsigned i = 0; i < end[1]->log->len; i++) {
        const FabTlp *tlp = &fixture_log(end[1], i)->tlp;

        ck_assert_uint_eq(tlp->payload_bytes, most[_i][1]);
        ck_assert_uint_eq(tlp->addr, fixture_bar(end[1], 2) + i * most[_i][1]);
    }
    fixture_assert_drained(fixture);
}
END_TEST

/* With IDO in its completions, a root tells by the Requester ID whose writes it
 * forwards: a completion may pass them (table 2-40, D2b). */
START_TEST(completions_may_have_ido)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 16, 64, 512);
    FabRootParams params = fixture_root();
    const FixtureLog *write, *cpl;
    FixtureHost host;

    params.id_ordering = _i;
    fixture_host_init(&host, fixture, &params, &port);
    fixture_send(host.far, fixture_tlp(host.far, FAB_TLP_MWR,
                                       fixture_bar(host.dev, 2), 64));
    fixture_run(fixture);
    fixture_send_read(host.dev, GIB(4), 64, 1);
    fixture_run(fixture);
    write = fixture_log(host.dev, 0);
    cpl = fixture_log(host.dev, 1);
    ck_assert_uint_eq(cpl->tlp.type, FAB_TLP_CPLD);
    ck_assert_uint_eq(cpl->tlp.attr, _i ? FAB_ATTR_IDO : 0);
    ck_assert_uint_eq(write->tlp.requester_id,
                      _i ? host.far->component.bdf : FAB_BDF(0, 0, 0));
    ck_assert_int_eq(fab_tlp_may_pass(&cpl->tlp, &write->tlp),
                     _i ? FAB_PASS_MAY : FAB_PASS_NO);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_root");
    TCase *tcase = tcase_create("root");

    tcase_add_test(tcase, memory_reads_are_completed_on_boundaries);
    tcase_add_test(tcase,
                   aligned_reads_take_no_more_completions_than_they_must);
    tcase_add_loop_test(tcase, memory_serves_so_many_reads_at_once, 0, 2);
    tcase_add_test(tcase, memory_bandwidth_limits);
    tcase_add_test(tcase, long_writes_are_combined_into_lines);
    tcase_add_test(tcase, ordered_writes_to_memory_have_a_pace);
    tcase_add_test(tcase, each_port_has_the_payload_of_the_ports_above);
    tcase_add_loop_test(tcase, trees_have_payloads_of_their_own, 0, 3);
    tcase_add_loop_test(tcase, completions_may_have_ido, 0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
