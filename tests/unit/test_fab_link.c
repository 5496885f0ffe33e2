/* SPDX-License-Identifier: MIT */
/*
 * Invariant: the rate of a saturated link agrees with the closed formula within
 * 0.5 %: payload / (payload + header + 8 bytes of framing [+ 4 of ECRC] [+ the
 * DLLPs that acknowledge the other direction]) x lanes x rate of a lane after
 * encoding x the share that SKP ordered sets leave. DLLPs are sent as often as
 * the tables of the specification say.
 */
#include "fab_fixture.h"
#include "../suite.h"

#define FRAME_BYTES 8.0
#define DLLP_BYTES  8.0

/* Gb/s of a lane after encoding, by FabSpeed. */
static const double lane_gbps[] = {0, 2, 4, 7.877, 15.754, 31.508};
/* The share that SKP ordered sets leave: they take 4 B of every 1538 B. */
#define SKP_LEFT (1 - 4.0 / 1538)

typedef struct Stream {
    uint32_t payload;
    bool wide; /* an address above 4 GiB */
    bool ecrc;
} Stream;

static FabTlp *stream_make(FixtureEnd *end)
{
    const Stream *stream = end->user;
    FabTlp *tlp = fixture_tlp(end, FAB_TLP_MWR, stream->wide ? GIB(8) : MIB(1),
                              stream->payload);

    tlp->ecrc = stream->ecrc;
    return tlp;
}

static double tlp_wire_bytes(const Stream *stream)
{
    return stream->payload + FRAME_BYTES + (stream->wide ? 16 : 12) +
           (stream->ecrc ? 4 : 0);
}

/* The rate of a link, in bytes of TLPs and DLLPs a second. */
static double link_bytes_s(FabSpeed speed, uint32_t width)
{
    return lane_gbps[speed] * 1e9 / 8 * width * SKP_LEFT;
}

/* Each of the first @ends ends of a link (1 or 2) sends @want bytes of payload
 * a second. */
static void measure(const Stream *stream, FabSpeed speed, uint32_t width,
                    FabDllpPolicy dllp, unsigned ends, double want)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(speed, width, 2000, 200000);
    FixtureEnd *end[2];
    uint64_t before[2];
    SimTime window, warm = 20 * SIM_US;

    port.mps_bytes = 4096;
    port.dllp = dllp;
    end[0] = fixture_end_new(fixture, "a", &port, 0, 0);
    end[1] = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &end[0]->component, 0, &end[1]->component, 0, 0, 0,
                    5 * SIM_NS);
    fixture_realize(fixture);
    for (unsigned i = 0; i < ends; i++) {
        end[i]->make = stream_make;
        end[i]->user = (void *)stream;
        fixture_end_start(end[i], 2);
    }
    /* At least 400 TLPs and at least 12 intervals of SKP ordered sets. */
    window = MAX(400 * stream->payload / want * SIM_S,
                 12 * 1538 * 8 / lane_gbps[speed] * SIM_NS);
    fixture_run_until(fixture, warm);
    before[0] = end[0]->received_bytes;
    before[1] = end[1]->received_bytes;
    fixture_run_until(fixture, warm + window);
    for (unsigned i = 0; i < ends; i++) {
        uint64_t bytes = end[1 - i]->received_bytes - before[1 - i];

        fixture_assert_near(bytes * (double)SIM_S / window, want, 0.005);
    }
}

static const uint32_t widths[] = {1, 2, 4, 8, 16};
static const uint32_t payloads[] = {128, 256, 512, 1024, 2048, 4096};

/* Calls @fn for every combination of header size, ECRC, payload and width. */
static void each_stream(void (*fn)(const Stream *, FabSpeed, uint32_t),
                        FabSpeed speed)
{
    for (unsigned i = 0; i < 4 * G_N_ELEMENTS(payloads); i++) {
        Stream stream = {payloads[i / 4], i & 1, i & 2};

        for (unsigned w = 0; w < G_N_ELEMENTS(widths); w++) {
            fn(&stream, speed, widths[w]);
        }
    }
}

static void check_dllps_free(const Stream *stream, FabSpeed speed,
                             uint32_t width)
{
    double want =
        stream->payload / tlp_wire_bytes(stream) * link_bytes_s(speed, width);

    measure(stream, speed, width, FAB_DLLP_FREE, 2, want);
}

/* _i: the speed */
START_TEST(goodput_without_dllps)
{
    each_stream(check_dllps_free, _i);
}
END_TEST

static void check_one_way(const Stream *stream, FabSpeed speed, uint32_t width)
{
    double want =
        stream->payload / tlp_wire_bytes(stream) * link_bytes_s(speed, width);

    measure(stream, speed, width, FAB_DLLP_SPEC, 1, want);
    measure(stream, speed, width, FAB_DLLP_EACH, 1, want);
}

/* One end sends: Acks and UpdateFCs use the other direction of the link. */
START_TEST(goodput_one_way_knows_no_dllps)
{
    each_stream(check_one_way, _i);
}
END_TEST

static void check_each(const Stream *stream, FabSpeed speed, uint32_t width)
{
    double want = stream->payload / (tlp_wire_bytes(stream) + 2 * DLLP_BYTES) *
                  link_bytes_s(speed, width);

    measure(stream, speed, width, FAB_DLLP_EACH, 2, want);
}

/* An Ack and an UpdateFC for each TLP of the other direction. */
START_TEST(goodput_two_way_with_dllps_for_each)
{
    each_stream(check_each, _i);
}
END_TEST

/* The Ack latency limits in symbol times, by Max_Payload_Size 128 and 256 (PCIe
 * 5.0 s3.6.3.1). They hold for UpdateFCs too (s2.6.1.2). */
static const struct {
    FabSpeed speed;
    uint32_t width;
    uint32_t symbols[2];
} intervals[] = {
    {FAB_SPEED_2_5GT, 16, {48, 72}},    {FAB_SPEED_5_0GT, 8, {118, 158}},
    {FAB_SPEED_5_0GT, 16, {99, 123}},   {FAB_SPEED_8_0GT, 4, {169, 214}},
    {FAB_SPEED_8_0GT, 8, {163, 203}},   {FAB_SPEED_8_0GT, 16, {144, 168}},
    {FAB_SPEED_16_0GT, 4, {169, 214}},  {FAB_SPEED_16_0GT, 8, {163, 203}},
    {FAB_SPEED_16_0GT, 16, {144, 168}}, {FAB_SPEED_32_0GT, 4, {169, 214}},
    {FAB_SPEED_32_0GT, 8, {163, 203}},  {FAB_SPEED_32_0GT, 16, {144, 168}},
};

/* Sends @count writes of @payload bytes. Returns the number of DLLPs that the
 * receiver sends. */
static uint64_t dllps_for(unsigned at, unsigned mps, uint32_t payload,
                          unsigned count)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(intervals[at].speed,
                                              intervals[at].width, 4000, 40000);
    FixtureEnd *a, *b;

    port.mps_bytes = 128u << mps;
    port.dllp = FAB_DLLP_SPEC;
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0, 0);
    fixture_realize(fixture);
    for (unsigned i = 0; i < count; i++) {
        fixture_send(a, fixture_tlp(a, FAB_TLP_MWR, 0x1000, payload));
    }
    fixture_run(fixture);
    ck_assert_uint_eq(b->received[FAB_CLASS_P], count);
    fixture_assert_drained(fixture);
    return fab_port_counters(b->component.ports[0])->dllps_sent;
}

/* The receiver sends one Ack and one UpdateFC for the smallest number of TLPs
 * that fills the interval. Payload sizes in steps of a DW determine the
 * interval to within 4 bytes. */
START_TEST(dllps_come_at_the_intervals_of_the_specification)
{
    for (unsigned mps = 0; mps < 2; mps++) {
        /* A symbol time is a byte on each lane. */
        uint32_t bytes = intervals[_i].symbols[mps] * intervals[_i].width;

        for (uint32_t payload = 4; payload <= 128; payload += 4) {
            uint32_t tlp = 12 + 8 + payload;
            uint32_t tlps = (bytes + tlp - 1) / tlp;

            /* Those that are left get an Ack, but their credits are kept. */
            uint64_t want = 480 / tlps + (480 + tlps - 1) / tlps;
            uint64_t got = dllps_for(_i, mps, payload, 480);

            /* The time of an SKP ordered set can make one interval of Acks and
             * one of UpdateFCs shorter. */
            ck_assert_msg(got >= want && got <= want + 2,
                          "%" G_GUINT64_FORMAT " DLLPs, not %" G_GUINT64_FORMAT,
                          got, want);
        }
    }
}
END_TEST

START_TEST(goodput_two_way_at_the_intervals_of_the_specification)
{
    static const uint32_t sizes[] = {64, 128, 256};

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        Stream stream = {sizes[i], i & 1, false};
        /* measure() uses a Max_Payload_Size of 4096, for which the interval is
         * longer. This link has one of 256. */
        g_autoptr(Fixture) fixture = fixture_new();
        FabSpeed speed = intervals[_i].speed;
        uint32_t width = intervals[_i].width;
        FabPortParams port = fixture_port_credits(speed, width, 4000, 40000);
        double tlp = tlp_wire_bytes(&stream);
        double tlps =
            (uint32_t)((intervals[_i].symbols[1] * width + tlp - 1) / tlp);
        double want = stream.payload / (tlp + 2 * DLLP_BYTES / tlps) *
                      link_bytes_s(speed, width);
        FixtureEnd *end[2];
        SimTime window = 200 * SIM_US;

        port.dllp = FAB_DLLP_SPEC;
        end[0] = fixture_end_new(fixture, "a", &port, 0, 0);
        end[1] = fixture_end_new(fixture, "b", &port, 0, 0);
        fixture_connect(fixture, &end[0]->component, 0, &end[1]->component, 0,
                        0, 0, 0);
        fixture_realize(fixture);
        for (unsigned j = 0; j < 2; j++) {
            end[j]->make = stream_make;
            end[j]->user = &stream;
            fixture_end_start(end[j], 2);
        }
        fixture_run_until(fixture, window);
        for (unsigned j = 0; j < 2; j++) {
            fixture_assert_near(end[j]->received_bytes * (double)SIM_S / window,
                                want, 0.005);
        }
    }
}
END_TEST

/* A TLP on an idle link leaves at once: DLLPs and SKP ordered sets that were
 * due earlier have been sent already. */
START_TEST(idle_link_sends_at_once)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(FAB_SPEED_2_5GT, 1, 100, 1000);
    FixtureEnd *a, *b;
    /* 8 + 12 + 64 bytes of 4 ns each */
    SimTime tlp = 84 * 4 * SIM_NS;

    port.dllp = FAB_DLLP_EACH;
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    b->logs = a->logs = true;
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0,
                    7 * SIM_NS);
    fixture_realize(fixture);
    fixture_send(a, fixture_tlp(a, FAB_TLP_MWR, 0x1000, 64));
    /* An SKP interval is 6.152 us, so 20 us is within the fourth. */
    fixture_run_until(fixture, 20 * SIM_US);
    fixture_send(b, fixture_tlp(b, FAB_TLP_MWR, 0x1000, 64));
    fixture_run(fixture);
    fixture_assert_time_eq(fixture_log(b, 0)->time, tlp + 7 * SIM_NS);
    fixture_assert_time_eq(fixture_log(a, 0)->time,
                           20 * SIM_US + tlp + 7 * SIM_NS);
    fixture_assert_drained(fixture);
}
END_TEST

/* A port may be slower than its wire: a TLP takes ceil(bytes / beat) beats and
 * a gap. */
START_TEST(service_time_limits)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 16);
    Stream stream = {64, false, false};
    FixtureEnd *a, *b;
    /* 76 bytes are 3 beats of 32, and a gap of 1. */
    double want = 64 * (double)SIM_S / (4 * 4 * SIM_NS) * SKP_LEFT;

    port.service = (FabService){32, 1, 4 * SIM_NS, 0};
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0, 0);
    fixture_realize(fixture);
    a->make = stream_make;
    a->user = &stream;
    fixture_end_start(a, 2);
    fixture_run_until(fixture, 500 * SIM_US);
    fixture_assert_near(b->received_bytes * (double)SIM_S / (500 * SIM_US),
                        want, 0.005);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_link");
    TCase *tcase = tcase_create("link");

    tcase_add_loop_test(tcase, goodput_without_dllps, FAB_SPEED_2_5GT,
                        FAB_SPEED_32_0GT + 1);
    tcase_add_loop_test(tcase, goodput_one_way_knows_no_dllps, FAB_SPEED_2_5GT,
                        FAB_SPEED_32_0GT + 1);
    tcase_add_loop_test(tcase, goodput_two_way_with_dllps_for_each,
                        FAB_SPEED_2_5GT, FAB_SPEED_32_0GT + 1);
    tcase_add_loop_test(tcase, dllps_come_at_the_intervals_of_the_specification,
                        0, G_N_ELEMENTS(intervals));
    tcase_add_loop_test(tcase,
                        goodput_two_way_at_the_intervals_of_the_specification,
                        0, G_N_ELEMENTS(intervals));
    tcase_add_test(tcase, idle_link_sends_at_once);
    tcase_add_test(tcase, service_time_limits);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
