/* SPDX-License-Identifier: MIT */
/*
 * Invariant: errors reach the ports that contain them (PCIe 5.0 s6.2.10), and
 * only those; a link that is contained is down until software releases it.
 * Poisoned TLPs are forwarded and counted at every port, and change nothing
 * where they end (s2.7.2).
 */
#include "fab_endpoint.h"
#include "fab_fault.h"
#include "fab_fixture.h"
#include "fab_root.h"
#include "../suite.h"

#define TIMEOUT  (60 * SIM_US)
#define RELEASE  (20 * SIM_US)
#define TRAINING (5 * SIM_US)
#define BEGIN    (10 * SIM_US)

/* root rp0 - switch - device; the switch's Downstream Port 0. */
typedef struct Bed {
    Fixture *fixture;
    FabRoot *root;
    FabComponent *sw;
    FabEndpoint *device;
    FabPort *rp, *usp, *dsp, *up;
    FabBusAddr bar, ram;
    unsigned noticed; /* writes seen in `ram` or the BAR */
} Bed;

static void noticed(void *owner, FabBusAddr addr, uint64_t data)
{
    ((Bed *)owner)->noticed++;
}

static void bed_init(Bed *bed, Fixture *fixture, const FabDpcParams *rp,
                     const FabDpcParams *dsp)
{
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 16, 256);
    FabPortParams root_port = port, sw_port = port;
    FabRootParams root = fixture_root();
    FabEndpointParams device = fixture_device();
    FabFabric *fabric = fixture_fabric(fixture);
    FabComponent *end;

    device.completer_latency = 100 * SIM_NS;
    root_port.dpc = *rp;
    sw_port.dpc = *dsp;
    *bed = (Bed){.fixture = fixture};
    bed->root = fab_root_new(fabric, "h", &root);
    bed->rp = fab_root_add_port(bed->root, "rp0", &root_port);
    bed->sw = fab_switch_new(fabric, "h.sw", 2, &port, &sw_port, false);
    bed->device = fab_endpoint_new(fabric, "h.dev", &port, &device);
    end = fab_endpoint_component(bed->device);
    fixture_connect(fixture, fab_root_component(bed->root), 0, bed->sw, 0, 0, 0,
                    0);
    fixture_connect(fixture, bed->sw, 1, end, 0, 0, 0, 0);
    fixture_realize(fixture);
    bed->usp = fab_component_port(bed->sw, 0);
    bed->dsp = fab_component_port(bed->sw, 1);
    bed->up = fab_component_port(end, 0);
    fab_fabric_set_completion_timeout(fabric, TIMEOUT);
    bed->bar = fab_component_bars(end)[0].addr;
    ck_assert(fab_root_alloc(bed->root, 1 << 20, 4096, &bed->ram));
    fab_root_watch(bed->root, bed->ram, 4096, noticed, bed);
    fab_endpoint_watch(bed->device, bed->bar, 4096, noticed, bed);
}

static const FabDpcParams off = {FAB_DPC_OFF, false, 0, 0};
static const FabDpcParams fatal = {FAB_DPC_FATAL, false, RELEASE, TRAINING};
static const FabDpcParams nonfatal = {FAB_DPC_NONFATAL, true, RELEASE,
                                      TRAINING};
static const FabDpcParams held = {FAB_DPC_FATAL, false, 0, TRAINING};

static const FabPortCounters *of(const FabPort *port)
{
    return fab_port_counters(port);
}

/* The next @count TLPs with data from @port, or its peer, are poisoned. */
static void poison(FabPort *port, bool from_port, unsigned count)
{
    const FabFault fault = {.action = FAB_FAULT_POISON,
                            .count = count,
                            .from_port = from_port,
                            .from_peer = !from_port};

    fab_port_add_fault(port, &fault);
}

/* ---- Poisoned TLPs --------------------------------------------------------
 */

/* Of two writes of the CPU the first is poisoned on its first link. */
START_TEST(a_poisoned_write_is_forwarded_and_dropped)
{
    g_autoptr(Fixture) fixture = fixture_new();
    Bed bed;

    bed_init(&bed, fixture, &off, &off);
    poison(bed.rp, true, 1);
    fab_root_write(bed.root, bed.bar, 4, 1, 0);
    fab_root_write(bed.root, bed.bar, 4, 2, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(bed.noticed, 1);
    ck_assert_uint_eq(of(bed.usp)->poisoned_tlps, 1);
    ck_assert_uint_eq(of(bed.up)->poisoned_tlps, 1);
    ck_assert_uint_eq(of(bed.up)->unsupported_requests, 0);
    ck_assert_uint_eq(of(bed.rp)->poisoned_tlps + of(bed.dsp)->poisoned_tlps,
                      0);
    ck_assert_uint_eq(fixture_lost(fixture), 1);
    fixture_assert_drained(fixture);
}
END_TEST

/* The same of a device that writes to RAM: 4 of 8 writes of 256 bytes. */
START_TEST(poisoned_data_do_not_reach_ram)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FixtureTally ends = {.fixture = fixture};
    FabDma dma = {.type = FAB_TLP_MWR,
                  .size_bytes = 2048,
                  .done = fixture_dma_ended,
                  .owner = &ends};
    Bed bed;

    bed_init(&bed, fixture, &off, &off);
    poison(bed.up, true, 4);
    dma.addr = bed.ram;
    fab_endpoint_dma(bed.device, &dma);
    fixture_run(fixture);
    ck_assert_uint_eq(bed.noticed, 4);
    ck_assert_uint_eq(of(bed.dsp)->poisoned_tlps, 4);
    ck_assert_uint_eq(of(bed.rp)->poisoned_tlps, 4);
    ck_assert_uint_eq(fab_root_counters(bed.root)->memory_written_bytes,
                      4 * 256);
    /* The write is posted, so the device learns nothing. */
    ck_assert_uint_eq(ends.failed, 0);
    fixture_assert_drained(fixture);
}
END_TEST

/* A completion of a DMA read, and one of a CPU read. The requester has all
 * bytes, but the operation fails. */
START_TEST(a_poisoned_completion_fails_the_read)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FixtureTally dma_ends = {.fixture = fixture}, ends = {.fixture = fixture};
    FabDma dma = {.type = FAB_TLP_MRD,
                  .size_bytes = 1024,
                  .done = fixture_dma_ended,
                  .owner = &dma_ends};
    Bed bed;

    bed_init(&bed, fixture, &off, &off);
    poison(bed.rp, true, 1);
    poison(bed.up, true, 1);
    dma.addr = bed.ram;
    fab_endpoint_dma(bed.device, &dma);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(dma_ends.count, 1);
    ck_assert_uint_eq(dma_ends.status, FAB_STATUS_POISONED);
    ck_assert_uint_eq(fab_endpoint_counters(bed.device)->failed_reads, 1);
    ck_assert_uint_eq(of(bed.up)->poisoned_tlps, 1);
    ck_assert_uint_eq(ends.count, 1);
    ck_assert_uint_eq(ends.status, FAB_STATUS_POISONED);
    ck_assert_uint_eq(of(bed.rp)->poisoned_tlps, 1);
    ck_assert_uint_eq(of(bed.rp)->completion_timeouts, 0);
    fixture_assert_drained(fixture);
}
END_TEST

static void reply_to(FixtureEnd *end, const FabTlp *tlp)
{
    if (tlp->cls == FAB_CLASS_NP) {
        fixture_reply(end, tlp, FAB_STATUS_SC, 64);
    }
}

/* Through a root that splits: the pieces of a poisoned write are poisoned; of a
 * read in 4 pieces, the completion with the data of the poisoned piece is. */
START_TEST(a_root_forwards_poison)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 8);
    FabRootParams root = fixture_root();
    const FabFault second = {.action = FAB_FAULT_POISON,
                             .event = FAB_FAULT_ON_COMPLETION,
                             .number = 2,
                             .count = 1,
                             .from_port = true};
    FixtureHost host;

    root.read_split_bytes = 64;
    root.write_split_bytes = 64;
    fixture_host_init(&host, fixture, &root, &port);
    host.far->got = reply_to;
    poison(host.dev->component.ports[0], true, 1);
    fab_port_add_fault(host.far->component.ports[0], &second);
    fixture_send(host.dev, fixture_tlp(host.dev, FAB_TLP_MWR,
                                       fixture_bar(host.far, 0), 256));
    fixture_send_read(host.dev, fixture_bar(host.far, 0), 256, 7);
    fixture_run(fixture);
    ck_assert_uint_eq(host.far->received[FAB_CLASS_P], 4);
    for (unsigned i = 0; i < 4; i++) {
        ck_assert(fixture_log(host.far, i)->tlp.poisoned);
        ck_assert_uint_eq(fixture_log(host.dev, i)->tlp.poisoned, i == 1);
        ck_assert_uint_eq(fixture_log(host.dev, i)->tlp.payload_bytes, 64);
    }
    fixture_assert_drained(fixture);
}
END_TEST

/* ---- Containment -----------------------------------------------------------
 */

/*
 * The device writes poisoned data to RAM: the root port finds an uncorrectable
 * error, which triggers it, whatever messages it heeds. The Downstream Port of
 * the switch only forwards the TLP, which is advisory, so it is not triggered.
 * _i: the root port's setting
 */
START_TEST(a_root_port_contains_what_it_finds)
{
    g_autoptr(Fixture) fixture = fixture_new();
    const FabDpcParams *const settings[] = {&off, &fatal, &nonfatal};
    FabDma dma = {
        .type = FAB_TLP_MWR, .size_bytes = 256, .done = fixture_dma_ended};
    FixtureTally ends = {.fixture = fixture};
    Bed bed;

    bed_init(&bed, fixture, settings[_i], &nonfatal);
    poison(bed.up, true, 1);
    dma.addr = bed.ram;
    dma.owner = &ends;
    fab_endpoint_dma(bed.device, &dma);
    fixture_run_until(fixture, RELEASE - SIM_US);
    ck_assert_uint_eq(of(bed.rp)->dpc_triggers, _i > 0);
    ck_assert_uint_eq(of(bed.dsp)->dpc_triggers, 0);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fixture_run_until(fixture, RELEASE + SIM_US);
    ck_assert_uint_eq(ends.count, 2);
    ck_assert_uint_eq(ends.status, _i == 0   ? FAB_STATUS_SC
                                   : _i == 1 ? FAB_STATUS_UR
                                             : FAB_STATUS_CA);
    ck_assert_uint_eq(of(bed.rp)->unsupported_requests, _i == 1);
    ck_assert_uint_eq(of(bed.rp)->completer_aborts, _i == 2);
    /* When the link is up again, all works. */
    fixture_run_until(fixture, RELEASE + TRAINING + SIM_US);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(ends.status, FAB_STATUS_SC);
    fixture_assert_drained(fixture);
}
END_TEST

/* The CPU writes poisoned data to the device, which sends ERR_NONFATAL. The
 * first port on the way up that heeds it is triggered. _i: bit 0: the
 * Downstream Port heeds it; bit 1: the root port does */
START_TEST(messages_stop_at_the_first_port)
{
    g_autoptr(Fixture) fixture = fixture_new();
    Bed bed;

    bed_init(&bed, fixture, _i & 2 ? &nonfatal : &fatal,
             _i & 1 ? &nonfatal : &fatal);
    poison(bed.dsp, true, 1);
    fab_root_write(bed.root, bed.bar, 4, 1, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(of(bed.up)->poisoned_tlps, 1);
    ck_assert_uint_eq(of(bed.dsp)->dpc_triggers, _i & 1);
    ck_assert_uint_eq(of(bed.rp)->dpc_triggers, _i == 2);
    fixture_assert_drained(fixture);
}
END_TEST

/* UR with a completion and an Unexpected Completion are advisory; UR of a
 * posted request is not. */
START_TEST(advisory_errors_trigger_nothing)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FixtureTally ends = {.fixture = fixture};
    FabBusAddr nowhere;
    Bed bed;

    bed_init(&bed, fixture, &off, &nonfatal);
    /* In the range of the bridge, behind the BAR. */
    nowhere = fab_port_bridge(bed.dsp)->memory.limit + 1 - 4096;
    if (fab_component_find_bar(fab_endpoint_component(bed.device), nowhere) >=
        0) {
        nowhere = bed.bar + MIB(1);
    }
    fab_root_read(bed.root, nowhere, 4, fixture_read_ended, &ends, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(ends.status, FAB_STATUS_UR);
    ck_assert_uint_eq(of(bed.dsp)->dpc_triggers, 0);
}
END_TEST

/*
 * Surprise removal, and the device is back after 1 us: the Downstream Port
 * holds the link until software releases it. The CPU's read was under way at
 * that time; nothing completes it. A read meanwhile gets UR. _i: 0: no DPC; 1:
 * with release; 2: without
 */
START_TEST(removal_is_contained)
{
    g_autoptr(Fixture) fixture = fixture_new();
    const FabDpcParams *const settings[] = {&off, &fatal, &held};
    const FabFault removal = {.action = FAB_FAULT_LINK_DOWN,
                              .at = BEGIN,
                              .duration = SIM_US,
                              .training = SIM_US};
    FixtureTally first = {.fixture = fixture}, ends = {.fixture = fixture};
    FabStatus want = _i == 0 ? FAB_STATUS_SC : FAB_STATUS_UR;
    Bed bed;

    bed_init(&bed, fixture, &off, settings[_i]);
    fab_port_add_fault(bed.up, &removal);
    /* The device takes 100 ns to answer. */
    fixture_run_until(fixture, BEGIN - 10 * SIM_NS);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &first, 0);
    fixture_run_until(fixture, BEGIN + 3 * SIM_US);
    ck_assert_uint_eq(of(bed.dsp)->surprise_downs, 1);
    ck_assert_uint_eq(of(bed.dsp)->dpc_triggers, _i > 0);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fixture_run_until(fixture, BEGIN + RELEASE + TRAINING - SIM_US);
    ck_assert_uint_eq(ends.count, 1);
    ck_assert_uint_eq(ends.status, want);
    fixture_run_until(fixture, BEGIN + RELEASE + TRAINING + SIM_NS);
    fab_root_read(bed.root, bed.bar, 4, fixture_read_ended, &ends, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(ends.status, _i == 2 ? FAB_STATUS_UR : FAB_STATUS_SC);
    ck_assert_uint_eq(first.status, FAB_STATUS_TIMED_OUT);
    fixture_assert_time_eq(first.time, BEGIN - 10 * SIM_NS + TIMEOUT);
    if (_i < 2) {
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* A root port that overflows finds a fatal error. A device below a Downstream
 * Port tells it with ERR_FATAL. */
START_TEST(an_overflow_is_fatal)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabDma dma[2];
    FixtureTally ends = {.fixture = fixture};
    Bed bed;

    bed_init(&bed, fixture, &fatal, &fatal);
    /* Nothing leaves the switch for a while, so its buffer fills. */
    fab_port_set_overflow(bed.dsp, 4);
    {
        const FabFault slow = {.action = FAB_FAULT_DEGRADE,
                               .at = 1,
                               .training = 50 * SIM_US,
                               .width = 1};

        fab_port_add_fault(bed.rp, &slow);
    }
    for (unsigned i = 0; i < 2; i++) {
        dma[i] = (FabDma){.type = FAB_TLP_MWR,
                          .addr = bed.ram,
                          .size_bytes = KIB(16),
                          .done = fixture_dma_ended,
                          .owner = &ends};
        fab_endpoint_dma(bed.device, &dma[i]);
    }
    fixture_run_until(fixture, 40 * SIM_US);
    ck_assert_uint_ge(of(bed.dsp)->receiver_overflows, 1);
    ck_assert_uint_le(of(bed.dsp)->receiver_overflows, 4);
    ck_assert_uint_eq(of(bed.dsp)->dpc_triggers, 1);
    ck_assert_uint_eq(of(bed.rp)->dpc_triggers, 0);
    fixture_run(fixture);
    ck_assert_uint_eq(ends.count, 2);
}
END_TEST

/* The third doorbell takes the link down for ever: two arrive. */
START_TEST(the_third_doorbell_is_the_last)
{
    g_autoptr(Fixture) fixture = fixture_new();
    const FabFault fault = {.action = FAB_FAULT_LINK_DOWN,
                            .event = FAB_FAULT_ON_DOORBELL,
                            .number = 3,
                            .from_port = true,
                            .from_peer = true};
    Bed bed;

    bed_init(&bed, fixture, &off, &off);
    fab_port_add_fault(bed.up, &fault);
    for (unsigned i = 0; i < 6; i++) {
        fab_root_write(bed.root, bed.bar, 64, 0, 0); /* too long */
        fixture_run_until(fixture, (2 * i + 1) * SIM_US);
        fab_root_write(bed.root, bed.bar + 2048, 4, i, 0);
        fixture_run_until(fixture, (2 * i + 2) * SIM_US);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(bed.noticed, 3 + 2);
    ck_assert_uint_eq(of(bed.dsp)->lost_tlps, 1 + 6);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_dpc");
    TCase *tcase = tcase_create("dpc");

    tcase_add_test(tcase, a_poisoned_write_is_forwarded_and_dropped);
    tcase_add_test(tcase, poisoned_data_do_not_reach_ram);
    tcase_add_test(tcase, a_poisoned_completion_fails_the_read);
    tcase_add_test(tcase, a_root_forwards_poison);
    tcase_add_loop_test(tcase, a_root_port_contains_what_it_finds, 0, 3);
    tcase_add_loop_test(tcase, messages_stop_at_the_first_port, 0, 4);
    tcase_add_test(tcase, advisory_errors_trigger_nothing);
    tcase_add_loop_test(tcase, removal_is_contained, 0, 3);
    tcase_add_test(tcase, an_overflow_is_fatal);
    tcase_add_test(tcase, the_third_doorbell_is_the_last);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
