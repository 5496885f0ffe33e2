/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a link in FLIT mode carries TLPs in 236 of the 256 bytes of each
 * flit, in both directions whatever DLLPs there are, and an SKP ordered set of
 * 40 symbols after at most 12,000. A receiver has a TLP when it has decoded the
 * flit in which that ends.
 */
#include "fab_fixture.h"

#include <math.h>

#include "fab_fault.h"
#include "fab_flit_priv.h"
#include "../suite.h"

#define FLIT 256u
#define FEC  (2 * SIM_NS)
#define WIRE (5 * SIM_NS)

/* ps of a byte on one lane. */
#define BYTE_64GT 125.0
#define BYTE_32GT (8.0 / 32e9 * 130 / 128 * 1e12)

typedef struct Stream {
    FabTlpType type;
    uint32_t payload;
    uint64_t addr;
    bool ecrc;
} Stream;

static FabTlp *stream_make_of(FixtureEnd *end, const Stream *stream)
{
    FabTlp *tlp = fixture_tlp(end, stream->type, stream->addr, stream->payload);

    tlp->ecrc = stream->ecrc;
    return tlp;
}

static FabTlp *stream_make(FixtureEnd *end)
{
    return stream_make_of(end, end->user);
}

static FabPortParams flit_port(FabSpeed speed, uint32_t width)
{
    FabPortParams port = fixture_port_credits(speed, width, 2000, 200000);

    port.mps_bytes = 4096;
    port.fec = FEC;
    return port;
}

/* Bytes a second that are left for TLPs. */
static double tlp_bytes_s(double byte_ps, uint32_t width, uint32_t interval,
                          uint32_t skp)
{
    /* Whole flits between two ordered sets, in symbols. */
    double between = interval * width / FLIT * (double)FLIT / width;

    return 236.0 / 256 * between / (between + skp) * width / (byte_ps * 1e-12);
}

static void stream_measure(const Stream *stream, const FabPortParams *params,
                           FabSpeed speed, uint32_t tlp_bytes, double bytes_s)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FixtureEnd *end[2];
    uint64_t before[2];
    double want = bytes_s / tlp_bytes; /* TLPs a second */
    SimTime window = MAX((SimTime)(600 / want * SIM_S), (SimTime)(60 * SIM_US));

    for (unsigned i = 0; i < 2; i++) {
        end[i] = fixture_end_new(fixture, i ? "b" : "a", params, 0, 0);
    }
    fixture_connect(fixture, &end[0]->component, 0, &end[1]->component, 0,
                    speed, 0, WIRE);
    fixture_realize(fixture);
    for (unsigned i = 0; i < 2; i++) {
        end[i]->make = stream_make;
        end[i]->user = (void *)stream;
        fixture_end_start(end[i], 2);
    }
    fixture_run_until(fixture, 20 * SIM_US);
    for (unsigned i = 0; i < 2; i++) {
        before[i] = fab_port_counters(end[i]->component.ports[0])
                        ->tlps_sent[fab_tlp_type_class(stream->type)];
    }
    fixture_run_until(fixture, 20 * SIM_US + window);
    for (unsigned i = 0; i < 2; i++) {
        uint64_t now = fab_port_counters(end[i]->component.ports[0])
                           ->tlps_sent[fab_tlp_type_class(stream->type)];

        fixture_assert_near((now - before[i]) * (double)SIM_S / window, want,
                            0.005);
    }
}

/* A stream and the bytes of its TLPs: header, OHC, payload, ECRC. */
static const struct {
    Stream stream;
    uint32_t bytes;
} streams[] = {
    {{FAB_TLP_MWR, 64, MIB(1), false}, 12 + 64},
    {{FAB_TLP_MWR, 128, GIB(8), false}, 16 + 128},
    {{FAB_TLP_MWR, 256, GIB(8), true}, 16 + 256 + 4},
    {{FAB_TLP_MWR, 4096, MIB(1), false}, 12 + 4096},
    /* OHC-A1: bytes of the first or of the last DW are not enabled. */
    {{FAB_TLP_MWR, 4, MIB(1), false}, 12 + 4},
    {{FAB_TLP_MWR, 3, MIB(1), false}, 12 + 4 + 4},
    {{FAB_TLP_MWR, 64, MIB(1) + 2, false}, 12 + 4 + 68},
    {{FAB_TLP_MRD, 512, GIB(8), false}, 16},
    {{FAB_TLP_MRD, 511, GIB(8), false}, 16 + 4},
    {{FAB_TLP_MRD, 0, MIB(1), false}, 12 + 4},
};

/* _i: the stream */
START_TEST(goodput_is_that_of_the_flits)
{
    static const uint32_t widths[] = {1, 2, 4, 8, 16};

    for (unsigned w = 0; w < G_N_ELEMENTS(widths); w++) {
        for (unsigned dllp = FAB_DLLP_SPEC; dllp <= FAB_DLLP_FREE; dllp++) {
            FabPortParams port = flit_port(FAB_SPEED_64_0GT, widths[w]);

            port.dllp = dllp;
            stream_measure(&streams[_i].stream, &port, 0, streams[_i].bytes,
                           tlp_bytes_s(BYTE_64GT, widths[w], 12000, 40));
        }
    }
}
END_TEST

/* Two ends that can do FLIT mode are in it at lower speeds, too. */
START_TEST(lower_speeds_have_flits)
{
    FabPortParams port = flit_port(FAB_SPEED_64_0GT, 8);
    Stream stream = {FAB_TLP_MWR, 256, MIB(1), false};

    stream_measure(&stream, &port, FAB_SPEED_32_0GT, 12 + 256,
                   tlp_bytes_s(BYTE_32GT, 8, 6000, 16));
}
END_TEST

/* A device of 32.0 GT/s has framing and DLLPs on a port of 64.0 GT/s. */
START_TEST(an_older_device_has_no_flits)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port[2] = {flit_port(FAB_SPEED_64_0GT, 16),
                             flit_port(FAB_SPEED_32_0GT, 16)};
    FixtureEnd *a = fixture_end_new(fixture, "a", &port[0], 0, 0);
    FixtureEnd *b = fixture_end_new(fixture, "b", &port[1], 0, 0);

    b->logs = true;
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0, WIRE);
    fixture_realize(fixture);
    fixture_send(a, fixture_tlp(a, FAB_TLP_MWR, MIB(1), 64));
    fixture_run(fixture);
    fixture_assert_time_eq(fixture_log(b, 0)->time,
                           (SimTime)((8 + 12 + 64) * BYTE_32GT / 16) + WIRE);
}
END_TEST

/* The first TLP ends in the first flit, and the fifth of 76 bytes in the second
 * one. _i: log2 of the width */
START_TEST(a_tlp_comes_with_its_flit)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = flit_port(FAB_SPEED_64_0GT, 1u << _i);
    FixtureEnd *a = fixture_end_new(fixture, "a", &port, 0, 0);
    FixtureEnd *b = fixture_end_new(fixture, "b", &port, 0, 0);
    SimTime flit = (SimTime)(FLIT * BYTE_64GT) >> _i;

    b->logs = true;
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0, WIRE);
    fixture_realize(fixture);
    for (unsigned i = 0; i < 5; i++) {
        fixture_send(a, fixture_tlp(a, FAB_TLP_MWR, MIB(1), 64));
    }
    fixture_run(fixture);
    for (unsigned i = 0; i < 5; i++) {
        SimTime flits = (76 * (i + 1) + 235) / 236;

        fixture_assert_time_eq(fixture_log(b, i)->time,
                               flits * flit + FEC + WIRE);
    }
    fixture_assert_drained(fixture);
}
END_TEST

/* With credits for one TLP, the next leaves when the flit that brings them has
 * been decoded: two flits, the way there and back, and the wait for the begin
 * of a flit. */
START_TEST(credits_come_with_a_flit)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = flit_port(FAB_SPEED_64_0GT, 16);
    Stream stream = {FAB_TLP_MWR, 64, MIB(1), false};
    FixtureEnd *a, *b;
    SimTime flit = (SimTime)(FLIT * BYTE_64GT / 16);
    /* The first is there at 9 ns. The next flit back begins at 10 ns, and its
     * credits come at 19 ns, in the middle of a flit; 76 bytes from there end
     * in that flit, at 20 ns. So the second is there at 27 ns, and so on. */
    SimTime first = flit + FEC + WIRE;

    port.credits.header[FAB_CLASS_P] = 1;
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    b->logs = true;
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0, WIRE);
    fixture_realize(fixture);
    a->make = stream_make;
    a->user = &stream;
    fixture_end_start(a, 1);
    fixture_run_until(fixture, 200 * SIM_NS);
    ck_assert_uint_ge(b->log->len, 9);
    fixture_assert_time_eq(fixture_log(b, 0)->time, first);
    for (unsigned i = 1; i < 9; i++) {
        fixture_assert_time_eq(fixture_log(b, i)->time,
                               first + i * 18 * SIM_NS);
    }
}
END_TEST

/*
 * A switch that cuts through begins to send when it has the flit of the header,
 * and its last byte leaves no earlier than it came. A write of 256 bytes has
 * 272 with its header, and comes in two flits of 8 ns (x4). Its header is
 * decoded after 8 + 2 + 5 ns, so the switch acts at 115 ns, and has the last
 * byte at 123 ns.
 *
 *   x4 out   It begins at 115 ns, 3 ns after the begin of a flit, and ends in
 * the next one, which ends at 128 ns. x16 out  Its bytes take 2.125 ns, so it
 * begins 2.125 ns before 123 ns, in the flit of 2 ns from 120 ns on, and ends
 * in the next one, at 124 ns.
 */
START_TEST(a_switch_cuts_through_flits)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabRootParams root_params = fixture_root();
    static const uint32_t widths[] = {4, 16};
    static const SimTime left[] = {128 * SIM_NS, 124 * SIM_NS};
    FabPortParams port = flit_port(FAB_SPEED_64_0GT, 16), inner = port;
    FabRoot *root = fab_root_new(fixture_fabric(fixture), "h", &root_params);
    FixtureEnd *end[2];
    FabComponent *sw;
    FabTlp *tlp;

    inner.latency = 100 * SIM_NS;
    inner.forwarding = FAB_FORWARDING_CUT_THROUGH;
    fab_root_add_port(root, "rp0", &port);
    sw = fab_switch_new(fixture_fabric(fixture), "h.sw", 2, &inner, &inner,
                        false);
    fixture_connect(fixture, fab_root_component(root), 0, sw, 0, 0, 0, WIRE);
    for (unsigned i = 0; i < 2; i++) {
        end[i] = fixture_end_new(fixture, i ? "h.b" : "h.a", &port, 0, MIB(1));
        end[i]->logs = true;
        fixture_connect(fixture, sw, 1 + i, &end[i]->component, 0, 0,
                        i ? widths[_i] : 4, WIRE);
    }
    fixture_realize(fixture);
    tlp = fixture_tlp(end[0], FAB_TLP_MWR, fixture_bar(end[1], 2), 256);
    fixture_send(end[0], tlp);
    fixture_run(fixture);
    fixture_assert_time_eq(fixture_log(end[1], 0)->time, left[_i] + FEC + WIRE);
}
END_TEST

/* ---- Errors ------------------------------------------------------------- */

/* The probability that one of three groups of @n bytes has two bytes or more
 * that are wrong, by the complement of the binomial distribution. */
static double bad_rate(double rate)
{
    double byte = 1 - pow(1 - rate, 8), good = 1;

    for (unsigned group = 0; group < 3; group++) {
        unsigned n = group == 0 ? 86 : 85;

        good *= pow(1 - byte, n) + n * byte * pow(1 - byte, n - 1);
    }
    return 1 - good;
}

START_TEST(one_wrong_byte_of_a_group_is_corrected)
{
    static const double rates[] = {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.5};

    for (unsigned i = 0; i < G_N_ELEMENTS(rates); i++) {
        fixture_assert_near(fab_flit_bad_rate(rates[i]), bad_rate(rates[i]),
                            1e-4);
    }
    ck_assert(fab_flit_bad_rate(0) == 0);
    ck_assert(fab_flit_bad_rate(1) == 1);
    /* Far below what 1 - good can tell: C(86, 2) + 2 C(85, 2) pairs. */
    fixture_assert_near(fab_flit_bad_rate(1e-12),
                        (86 * 85 + 2 * 85 * 84) / 2 * 64e-24, 1e-4);
}
END_TEST

/* Bad flits are sent again, and nothing is lost. _i: 0: one TLP in each flit,
 * 1: many */
START_TEST(bad_flits_are_sent_again)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = flit_port(FAB_SPEED_64_0GT, 16);
    Stream stream = {FAB_TLP_MWR, _i ? 16 : 220, MIB(1), false};
    FixtureEnd *a, *b;
    const double rate = 2e-4;
    const unsigned count = 40000;
    double flits, bad;

    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0, WIRE);
    fixture_realize(fixture);
    fixture_set_errors(a->component.ports[0], rate, 0, SIM_TIME_NONE);
    for (unsigned i = 0; i < count; i++) {
        fixture_send(a, stream_make_of(a, &stream));
    }
    fixture_run(fixture);
    ck_assert_uint_eq(b->received[FAB_CLASS_P], count);
    flits = fab_port_counters(a->component.ports[0])->wire_sent_bytes / 236.0;
    bad = fab_port_counters(a->component.ports[0])->replayed_tlps
              ? fab_port_counters(b->component.ports[0])->naks_sent
              : 0;
    /* A Nak for each bad flit that came in order: the flits behind it, until
     * the sender knows, are not looked at. So no more than the rate, and not
     * much fewer: 20 ns of 2 ns flits at a rate of 2 %. */
    ck_assert_msg(bad <= 1.1 * flits * bad_rate(rate) &&
                      bad >= 0.6 * flits * bad_rate(rate),
                  "%g of %g flits, not %g", bad, flits, bad_rate(rate) * flits);
    fixture_assert_drained(fixture);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_flit");
    TCase *tcase = tcase_create("flit");

    tcase_add_loop_test(tcase, goodput_is_that_of_the_flits, 0,
                        G_N_ELEMENTS(streams));
    tcase_add_test(tcase, lower_speeds_have_flits);
    tcase_add_test(tcase, an_older_device_has_no_flits);
    tcase_add_loop_test(tcase, a_tlp_comes_with_its_flit, 0, 5);
    tcase_add_test(tcase, credits_come_with_a_flit);
    tcase_add_loop_test(tcase, a_switch_cuts_through_flits, 0, 2);
    tcase_add_test(tcase, one_wrong_byte_of_a_group_is_corrected);
    tcase_add_loop_test(tcase, bad_flits_are_sent_again, 0, 2);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
