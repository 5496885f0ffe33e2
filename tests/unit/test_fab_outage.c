/* SPDX-License-Identifier: MIT */
/*
 * Invariant: when a link goes down, TLPs are lost as PCIe 5.0 s2.9.1 says, and
 * nothing else is: above it, non-posted requests are completed with UR; the
 * requests sent before end by the completion time-out (s2.8). When the link is
 * up, credits start anew, and all goes on at full rate.
 */
#include "fab_endpoint.h"
#include "fab_fixture.h"
#include "fab_port_priv.h"
#include "fab_root.h"
#include "../suite.h"

#define SPEED       FAB_SPEED_8_0GT
#define WIDTH       8
#define PROPAGATION (5 * SIM_NS)
#define TIMEOUT     (50 * SIM_US)

/* A root and an endpoint with a BAR. */
typedef struct Bed {
    Fixture *fixture;
    FabRoot *root;
    FabEndpoint *device;
    FabPort *down, *up; /* root port and the port of the endpoint */
    FabBusAddr bar, ram;
} Bed;

static void bed_init(Bed *bed, Fixture *fixture, const FabPortParams *port,
                     const FabEndpointParams *params)
{
    FabRootParams root = fixture_root();
    FabFabric *fabric = fixture_fabric(fixture);

    bed->fixture = fixture;
    bed->root = fab_root_new(fabric, "host", &root);
    bed->down = fab_root_add_port(bed->root, "rp0", port);
    bed->device = fab_endpoint_new(fabric, "host.dev0", port, params);
    bed->up = fab_component_port(fab_endpoint_component(bed->device), 0);
    fixture_connect(fixture, fab_root_component(bed->root), 0,
                    fab_endpoint_component(bed->device), 0, 0, 0, PROPAGATION);
    fixture_realize(fixture);
    fab_fabric_set_completion_timeout(fabric, TIMEOUT);
    bed->bar = fab_component_bars(fab_endpoint_component(bed->device))[0].addr;
    ck_assert(fab_root_alloc(bed->root, 1 << 20, 4096, &bed->ram));
}

static FabEndpointParams bed_device(void)
{
    FabEndpointParams params = fixture_device();

    params.bars[0] = (FabBar){.size_bytes = 1 << 20, .is_64bit = true};
    return params;
}

static void count_lost(void *data, const FabTraceRecord *record)
{
    unsigned *lost = data;

    if (record->category == FAB_TRACE_LOST) {
        lost[record->tlp->cls]++;
    }
}

/* The observer learns of each TLP that the link discards: of what is on the
 * wire when it goes down, and of what its ends take then, also of a read that
 * is answered with UR. */
START_TEST(the_observer_learns_of_lost_tlps)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabEndpointParams device = bed_device();
    FixtureTally ends = {.fixture = fixture};
    unsigned lost[FAB_CLASSES] = {0};
    Bed bed;

    bed_init(&bed, fixture, &port, &device);
    fixture_set_outage(bed.up, 1 * SIM_US, 20 * SIM_US);
    fixture_run_until(fixture, 900 * SIM_NS);
    fab_fabric_set_trace(fixture_fabric(fixture), FAB_TRACE_LOST, count_lost,
                         lost);
    for (unsigned i = 0; i < 12; i++) {
        fab_root_write(bed.root, bed.bar, 64, 1, 0);
    }
    fixture_run_until(fixture, 2 * SIM_US);
    fab_root_write(bed.root, bed.bar, 64, 1, 0);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fixture_run(fixture);
    ck_assert_uint_ge(lost[FAB_CLASS_P], 2);
    ck_assert_uint_eq(lost[FAB_CLASS_P], fixture_lost(fixture));
    ck_assert_uint_eq(lost[FAB_CLASS_NP], 1);
    ck_assert_uint_eq(lost[FAB_CLASS_CPL], 0);
    fab_fabric_set_trace(fixture_fabric(fixture), 0, NULL, NULL);
}
END_TEST

/* The CPU reads a BAR while the link is down: UR at once, and the root port
 * counts it. When the link is up again, reads succeed. */
START_TEST(requests_to_a_link_that_is_down_get_ur)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabEndpointParams device = bed_device();
    FixtureTally ends = {.fixture = fixture};
    Bed bed;

    bed_init(&bed, fixture, &port, &device);
    fixture_set_outage(bed.up, 1 * SIM_US, 20 * SIM_US);
    fixture_run_until(fixture, 2 * SIM_US);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fab_root_write(bed.root, bed.bar, 4, 1, 0);
    fixture_run_until(fixture, 19 * SIM_US);
    ck_assert_uint_eq(ends.count, 1);
    ck_assert_uint_eq(ends.status, FAB_STATUS_UR);
    ck_assert_uint_eq(fab_port_counters(bed.down)->unsupported_requests, 1);
    ck_assert_uint_eq(fab_port_counters(bed.down)->lost_tlps, 1);
    ck_assert_uint_eq(fab_port_counters(bed.down)->tlps_sent[FAB_CLASS_P], 0);
    fixture_run_until(fixture, 21 * SIM_US);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(ends.count, 2);
    ck_assert_uint_eq(ends.status, FAB_STATUS_SC);
    ck_assert_uint_eq(fab_port_counters(bed.down)->completion_timeouts, 0);
    fixture_assert_drained(fixture);
}
END_TEST

/* The link goes down while the device works on the read of the CPU, so the
 * completion is lost. The read ends TIMEOUT after the request was made. */
START_TEST(a_read_without_a_completion_times_out)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabEndpointParams device = bed_device();
    FixtureTally ends = {.fixture = fixture};
    Bed bed;

    device.completer_latency = 2 * SIM_US;
    bed_init(&bed, fixture, &port, &device);
    fixture_set_outage(bed.up, 1 * SIM_US, SIM_TIME_NONE);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(ends.count, 1);
    ck_assert_uint_eq(ends.status, FAB_STATUS_TIMED_OUT);
    fixture_assert_time_eq(ends.time, TIMEOUT);
    ck_assert_uint_eq(fab_port_counters(bed.down)->completion_timeouts, 1);
    ck_assert_uint_eq(fab_port_counters(bed.up)->lost_tlps, 1);
    fixture_assert_drained(fixture);
}
END_TEST

/* The completer takes longer than the time-out. The read ends by it, and the
 * completion that comes later is unexpected. */
START_TEST(a_late_completion_is_unexpected)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabEndpointParams device = bed_device();
    FixtureTally ends = {.fixture = fixture};
    Bed bed;

    device.completer_latency = TIMEOUT + SIM_US;
    bed_init(&bed, fixture, &port, &device);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(ends.count, 1);
    fixture_assert_time_eq(ends.time, TIMEOUT);
    ck_assert_uint_eq(fab_port_counters(bed.down)->completion_timeouts, 1);
    ck_assert_uint_eq(fab_port_counters(bed.down)->unexpected_completions, 1);
    fixture_assert_drained(fixture);
}
END_TEST

/* A DMA engine reads 8 KiB in 16 requests when the link goes down for ever:
 * each of its requests times out, and the operation fails, TIMEOUT after the
 * last request was made. */
START_TEST(a_dma_read_fails_by_the_time_out)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabEndpointParams device = bed_device();
    FixtureTally ends = {.fixture = fixture};
    FabDma dma = {.type = FAB_TLP_MRD,
                  .size_bytes = 8192,
                  .done = fixture_dma_ended,
                  .owner = &ends};
    Bed bed;

    device.read_bytes = 512;
    device.reads = 16;
    bed_init(&bed, fixture, &port, &device);
    fixture_set_outage(bed.down, 1, SIM_TIME_NONE);
    dma.addr = bed.ram;
    fab_endpoint_dma(bed.device, &dma);
    fixture_run(fixture);
    ck_assert_uint_eq(ends.count, 1);
    ck_assert_uint_eq(ends.status, FAB_STATUS_TIMED_OUT);
    ck_assert_uint_eq(fab_port_counters(bed.up)->completion_timeouts, 16);
    ck_assert_int_ge(ends.time, TIMEOUT);
    ck_assert_int_le(ends.time, TIMEOUT + SIM_US);
    ck_assert_uint_eq(fab_endpoint_counters(bed.device)->failed_reads, 16);
    fixture_assert_drained(fixture);
}
END_TEST

/*
 * A device writes without pause, and the link is down for a quarter of the
 * time. Writes at that time fail. Afterwards the rate is the one before, which
 * credits that were lost or doubled would change. The rate of memory writes of
 * 256 bytes on 8.0 GT/s x8: 256 bytes for 20 + 8 + 256 on the wire. _i: bit 0:
 * few credits; bit 1: a replay buffer
 */
#define WRITES 4000
#define BYTES  256

typedef struct Writer {
    FixtureTally ends;
    Bed bed;
    FabDma dma[4];
    unsigned begun;
} Writer;

static void write_ended(FabDma *dma)
{
    Writer *writer = dma->owner;

    writer->ends.count++;
    writer->ends.failed += dma->status != FAB_STATUS_SC;
    if (writer->begun < WRITES) {
        writer->begun++;
        fab_endpoint_dma(writer->bed.device, dma);
    }
}

START_TEST(the_rate_is_the_same_afterwards)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = _i & 1 ? fixture_port_credits(SPEED, WIDTH, 16, 256)
                                : fixture_port(SPEED, WIDTH);
    FabEndpointParams device = bed_device();
    Writer writer = {.ends.fixture = fixture};
    Bed *bed = &writer.bed;
    uint64_t sent, good;

    port.replay_bytes = _i & 2 ? 64 << 10 : 0;
    device.write_bytes = BYTES;
    bed_init(bed, fixture, &port, &device);
    fixture_set_outage(bed->up, 30 * SIM_US, 60 * SIM_US);
    for (unsigned i = 0; i < G_N_ELEMENTS(writer.dma); i++) {
        writer.dma[i] = (FabDma){.type = FAB_TLP_MWR,
                                 .addr = bed->ram,
                                 .size_bytes = BYTES,
                                 .done = write_ended,
                                 .owner = &writer};
        writer.begun++;
        fab_endpoint_dma(bed->device, &writer.dma[i]);
    }
    fixture_run_until(fixture, 30 * SIM_US);
    sent = fab_port_counters(bed->up)->payload_sent_bytes;
    ck_assert_uint_eq(writer.ends.failed, 0);
    fixture_run_until(fixture, 59 * SIM_US);
    ck_assert_uint_eq(fab_port_counters(bed->up)->payload_sent_bytes, sent);
    ck_assert_uint_gt(writer.ends.failed, 0);
    fixture_run_until(fixture, 60 * SIM_US + SIM_NS);
    good = fab_port_counters(bed->up)->payload_sent_bytes - sent;
    fixture_run_until(fixture, 90 * SIM_US);
    good = fab_port_counters(bed->up)->payload_sent_bytes - sent - good;
    fixture_assert_near(good, sent, 0.01);
    fixture_run(fixture);
    ck_assert_uint_eq(writer.ends.count, WRITES);
    /* Writes that did not fail were sent; those on the wire are lost unnoticed.
     */
    ck_assert_uint_eq(fab_port_counters(bed->up)->payload_sent_bytes,
                      (uint64_t)(WRITES - writer.ends.failed) * BYTES);
    ck_assert_uint_ge(fab_port_counters(bed->up)->lost_tlps,
                      writer.ends.failed);
    fixture_assert_drained(fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_outage");
    TCase *tcase = tcase_create("outage");

    tcase_add_test(tcase, the_observer_learns_of_lost_tlps);
    tcase_add_test(tcase, requests_to_a_link_that_is_down_get_ur);
    tcase_add_test(tcase, a_read_without_a_completion_times_out);
    tcase_add_test(tcase, a_late_completion_is_unexpected);
    tcase_add_test(tcase, a_dma_read_fails_by_the_time_out);
    tcase_add_loop_test(tcase, the_rate_is_the_same_afterwards, 0, 4);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
