/* SPDX-License-Identifier: MIT */
/*
 * Invariant: a fault begins at its time or with its event, and hits what it
 * names. A degraded link has the goodput of the lower link; a poisoned TLP is
 * forwarded, counted at every port and never believed (PCIe 5.0 s2.7.2); a
 * receiver with a surplus of credits drops as many TLPs as the surplus.
 */
#include <math.h>

#include "fab_fault.h"
#include "fab_fixture.h"
#include "../suite.h"

#define SPEED       FAB_SPEED_8_0GT
#define WIDTH       8
#define PROPAGATION (5 * SIM_NS)
#define RECOVERY    (3 * SIM_US)
#define SKP_SHARE   (1.0 / 375)
#define WIRE_BYTES  (8 + 12)

typedef struct Pair {
    Fixture *fixture;
    FixtureEnd *end[2];
    FabPort *port[2];
    uint32_t bytes;
    uint64_t last; /* number of the last TLP that came in at end 1 */
} Pair;

static void pair_init(Pair *pair, Fixture *fixture, const FabPortParams *port,
                      FabSpeed speed, uint32_t width)
{
    static const char *const names[] = {"a", "b"};

    *pair = (Pair){.fixture = fixture, .bytes = 256};
    for (unsigned i = 0; i < 2; i++) {
        pair->end[i] = fixture_end_new(fixture, names[i], port, 0, 0);
        pair->end[i]->user = pair;
        pair->port[i] = pair->end[i]->component.ports[0];
    }
    fixture_connect(fixture, &pair->end[0]->component, 0,
                    &pair->end[1]->component, 0, speed, width, PROPAGATION);
    fixture_realize(fixture);
}

static FabTlp *write_make(FixtureEnd *end)
{
    FabTlp *tlp =
        fixture_tlp(end, FAB_TLP_MWR, 0x1000, ((Pair *)end->user)->bytes);

    tlp->data = end->made + 1;
    return tlp;
}

static void in_order(FixtureEnd *end, const FabTlp *tlp)
{
    Pair *pair = end->user;

    fixture_ensure(tlp->data == pair->last + 1);
    pair->last = tlp->data;
}

static void pair_start(Pair *pair)
{
    pair->end[0]->make = write_make;
    pair->end[1]->got = in_order;
    fixture_end_start(pair->end[0], 2);
}

/* Payload that end 1 gets from now on until @until, in bytes per ps. */
static double measure(Pair *pair, SimTime until)
{
    uint64_t before = pair->end[1]->received_bytes;
    SimTime begin = fixture_now(pair->fixture);

    fixture_run_until(pair->fixture, until);
    return (pair->end[1]->received_bytes - before) / (double)(until - begin);
}

/* ---- Degraded links ----------------------------------------------------- */

static const struct {
    FabSpeed speed;
    uint32_t width;
    double byte_ps;   /* encoding included */
    double skp_share; /* 4 of 1538 symbols, or 1 of 375 blocks + 1 */
} lower[] = {
    {FAB_SPEED_8_0GT, 4, 1015.625 / 4, 1.0 / 376},
    {FAB_SPEED_8_0GT, 1, 1015.625, 1.0 / 376},
    {FAB_SPEED_5_0GT, 8, 2000.0 / 8, 4.0 / 1542},
    {FAB_SPEED_2_5GT, 2, 4000.0 / 2, 4.0 / 1542},
};

/* The goodput of a link that carries only writes of @bytes. */
static double formula(uint32_t bytes, double byte_ps, double skp_share)
{
    return bytes / ((WIRE_BYTES + bytes) * byte_ps) * (1 - skp_share);
}

/* Free DLLPs: the goodput before, meanwhile and afterwards is that of the
 * formula, and nothing moves in Recovery. _i: the lower link; +4: with a replay
 * buffer */
START_TEST(goodput_is_that_of_the_lower_link)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    unsigned i = _i % 4;
    FabFault fault = {.action = FAB_FAULT_DEGRADE,
                      .at = 50 * SIM_US,
                      .duration = 300 * SIM_US,
                      .training = RECOVERY,
                      .speed = lower[i].speed,
                      .width = lower[i].width};
    double full = formula(256, 1015.625 / WIDTH, 1.0 / 376);
    double got;
    uint64_t sent;
    Pair pair;

    port.replay_bytes = _i >= 4 ? 64 << 10 : 0;
    pair_init(&pair, fixture, &port, 0, 0);
    fab_port_add_fault(pair.port[_i & 1], &fault);
    pair_start(&pair);
    fixture_run_until(fixture, 1 * SIM_US);
    got = measure(&pair, 50 * SIM_US);
    fixture_assert_near(got, full, 0.002);
    fixture_run_until(fixture, 51 * SIM_US);
    sent = fab_port_counters(pair.port[0])->tlps_sent[FAB_CLASS_P];
    fixture_run_until(fixture, 50 * SIM_US + RECOVERY);
    ck_assert_uint_eq(fab_port_counters(pair.port[0])->tlps_sent[FAB_CLASS_P],
                      sent);
    ck_assert_uint_eq(fab_port_width(pair.port[0]), lower[i].width);
    fixture_run_until(fixture, 60 * SIM_US);
    /* One TLP more or less of 60 at the slowest. */
    got = measure(&pair, 350 * SIM_US);
    fixture_assert_near(got, formula(256, lower[i].byte_ps, lower[i].skp_share),
                        0.02);
    fixture_run_until(fixture, 350 * SIM_US + RECOVERY + 2 * SIM_US);
    got = measure(&pair, 400 * SIM_US);
    fixture_assert_near(got, full, 0.01);
    pair.end[0]->make = NULL;
    fixture_run(fixture);
    ck_assert_uint_eq(pair.last, pair.end[0]->made);
    fixture_assert_drained(fixture);
}
END_TEST

/* Finite credits, and Acks and UpdateFCs at the limits of the specification:
 * the goodput is that of a link that was never wider. _i: lower link; +4:
 * DLLPs after each TLP */
START_TEST(credits_and_limits_are_those_of_the_lower_link)
{
    double got[2];

    for (unsigned fresh = 0; fresh < 2; fresh++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabPortParams port = fixture_port_credits(SPEED, WIDTH, 12, 100);
        unsigned i = _i % 4;
        FabFault fault = {.action = FAB_FAULT_DEGRADE,
                          .at = 10 * SIM_US,
                          .training = RECOVERY,
                          .speed = lower[i].speed,
                          .width = lower[i].width};
        Pair pair;

        port.dllp = _i >= 4 ? FAB_DLLP_EACH : FAB_DLLP_SPEC;
        port.credit_latency = 100 * SIM_NS;
        pair_init(&pair, fixture, &port, fresh ? lower[i].speed : 0,
                  fresh ? lower[i].width : 0);
        if (!fresh) {
            fab_port_add_fault(pair.port[0], &fault);
        }
        fixture_watch_credits(fixture);
        pair_start(&pair);
        fixture_run_until(fixture, 20 * SIM_US);
        got[fresh] = measure(&pair, 1000 * SIM_US);
        pair.end[0]->make = NULL;
        fixture_run(fixture);
        ck_assert_uint_eq(pair.last, pair.end[0]->made);
        fixture_assert_drained(fixture);
    }
    /* A TLP more or less of 450 at the slowest. */
    fixture_assert_near(got[0], got[1], 0.005);
}
END_TEST

/* ---- Events -------------------------------------------------------------- */

/* The link degrades with a TLP of a number: those before go at full speed, and
 * that one as well, for it is on the wire. */
START_TEST(a_fault_begins_with_its_event)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    double tlp = (WIRE_BYTES + 256) * 1015.625 / WIDTH;
    FabFault fault = {.action = FAB_FAULT_DEGRADE,
                      .event = FAB_FAULT_ON_WRITE,
                      .number = _i,
                      .training = RECOVERY,
                      .width = 1,
                      .from_port = true};
    Pair pair;

    pair_init(&pair, fixture, &port, 0, 0);
    pair.end[1]->logs = true;
    fab_port_add_fault(pair.port[0], &fault);
    for (unsigned i = 0; i < 20; i++) {
        /* Reads, and what end 1 sends, are no writes of end 0. */
        fixture_send_read(pair.end[1], 0, 4, i);
        fixture_send(pair.end[0],
                     fixture_tlp(pair.end[0], FAB_TLP_MWR, 0, 256));
    }
    fixture_run(fixture);
    for (unsigned i = 0; i < 20; i++) {
        double want = (i + 1) * tlp + PROPAGATION;

        if (i + 1 > (unsigned)_i) {
            want += RECOVERY + (i + 1 - _i) * (WIDTH - 1) * tlp;
        }
        /* One SKP ordered set falls into the slow part. */
        ck_assert_double_ge(fixture_log(pair.end[1], i)->time, want - 20);
        ck_assert_double_le(fixture_log(pair.end[1], i)->time,
                            want + 20 * SIM_NS);
    }
}
END_TEST

/* ---- Poisoned TLPs --------------------------------------------------------
 */

/* By count: the TLPs with data from the third on. TLPs without data have no EP
 * bit, and are not counted. */
START_TEST(the_chosen_tlps_are_poisoned)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabFault fault = {.action = FAB_FAULT_POISON,
                      .event = FAB_FAULT_ON_TLP,
                      .number = 3,
                      .count = 4,
                      .from_port = true};
    Pair pair;

    pair_init(&pair, fixture, &port, 0, 0);
    pair.end[1]->logs = true;
    fab_port_add_fault(pair.port[0], &fault);
    for (unsigned i = 0; i < 12; i++) {
        fixture_send(
            pair.end[0],
            fixture_tlp(pair.end[0], i % 2 ? FAB_TLP_MRD : FAB_TLP_MWR, 0, 64));
        fixture_send(pair.end[1], fixture_tlp(pair.end[1], FAB_TLP_MWR, 0, 64));
    }
    fixture_run(fixture);
    for (unsigned i = 0; i < 12; i++) {
        const FabTlp *tlp = &fixture_log(pair.end[1], i)->tlp;

        ck_assert_uint_eq(tlp->poisoned, i % 2 == 0 && i >= 2 && i < 10);
    }
    ck_assert_uint_eq(fab_port_counters(pair.port[1])->poisoned_tlps, 4);
    ck_assert_uint_eq(fab_port_counters(pair.port[0])->poisoned_tlps, 0);
    fixture_assert_drained(fixture);
}
END_TEST

/* By rate, for a time: the number is binomial, so 4 standard deviations hold in
 * all but one of 16000 cases; the seed is fixed. */
START_TEST(a_rate_poisons_its_share)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    FabFault fault = {.action = FAB_FAULT_POISON,
                      .at = 100 * SIM_US,
                      .duration = 300 * SIM_US,
                      .rate = 0.125,
                      .from_port = true};
    uint64_t sent, hit;
    Pair pair;

    pair_init(&pair, fixture, &port, 0, 0);
    fab_port_add_fault(pair.port[0], &fault);
    pair_start(&pair);
    fixture_run_until(fixture, 100 * SIM_US);
    ck_assert_uint_eq(fab_port_counters(pair.port[1])->poisoned_tlps, 0);
    sent = fab_port_counters(pair.port[0])->tlps_sent[FAB_CLASS_P];
    fixture_run_until(fixture, 401 * SIM_US);
    hit = fab_port_counters(pair.port[1])->poisoned_tlps;
    sent = (fab_port_counters(pair.port[0])->tlps_sent[FAB_CLASS_P] - sent) *
           300 / 301;
    ck_assert_double_le(fabs(hit - sent * 0.125),
                        4 * sqrt(sent * 0.125 * 0.875));
    fixture_run_until(fixture, 500 * SIM_US);
    ck_assert_uint_eq(fab_port_counters(pair.port[1])->poisoned_tlps, hit);
}
END_TEST

/* ---- Receivers with more credits than space -------------------------------
 */

static SimTime hold_long(FixtureEnd *end, const FabTlp *tlp)
{
    return 20 * SIM_US;
}

/* The receiver keeps each TLP for 20 us, so all credits are used. It has space
 * for 10 TLPs. The first 10 arrive; those of the surplus are dropped, and their
 * credits are lost, so from then on no more than 10 are under way: 10 each 20
 * us. _i: the surplus */
START_TEST(a_surplus_is_dropped_once)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(SPEED, WIDTH, 10, 160);
    const FabPortCounters *counters;
    Pair pair;

    pair_init(&pair, fixture, &port, 0, 0);
    fab_port_set_overflow(pair.port[1], _i);
    pair.end[1]->hold = hold_long;
    for (unsigned i = 0; i < 100; i++) {
        fixture_send(pair.end[0],
                     fixture_tlp(pair.end[0], FAB_TLP_MWR, 0, 256));
    }
    counters = fab_port_counters(pair.port[1]);
    fixture_run_until(fixture, 19 * SIM_US);
    ck_assert_uint_eq(pair.end[1]->received[FAB_CLASS_P], 10);
    ck_assert_uint_eq(counters->receiver_overflows, _i);
    fixture_run_until(fixture, 39 * SIM_US);
    ck_assert_uint_eq(pair.end[1]->received[FAB_CLASS_P], 20);
    fixture_run(fixture);
    ck_assert_uint_eq(counters->receiver_overflows, _i);
    ck_assert_uint_eq(pair.end[1]->received[FAB_CLASS_P], 100 - _i);
    ck_assert_uint_eq(fixture_lost(fixture), _i);
}
END_TEST

/* When the link trains anew, the receiver advertises its surplus again. */
START_TEST(a_new_link_has_the_surplus_again)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(SPEED, WIDTH, 10, 160);
    Pair pair;

    pair_init(&pair, fixture, &port, 0, 0);
    fab_port_set_overflow(pair.port[1], 3);
    fixture_set_outage(pair.port[0], 200 * SIM_US, 300 * SIM_US);
    pair.end[1]->hold = hold_long;
    pair_start(&pair);
    pair.end[1]->got = NULL;
    fixture_run_until(fixture, 199 * SIM_US);
    ck_assert_uint_eq(fab_port_counters(pair.port[1])->receiver_overflows, 3);
    fixture_run_until(fixture, 500 * SIM_US);
    ck_assert_uint_eq(fab_port_counters(pair.port[1])->receiver_overflows, 6);
}
END_TEST

/* A receiver that sends TLPs on before it is full drops none. */
START_TEST(space_in_time_is_no_overflow)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(SPEED, WIDTH, 10, 160);
    Pair pair;

    pair_init(&pair, fixture, &port, 0, 0);
    fab_port_set_overflow(pair.port[1], 5);
    pair_start(&pair);
    fixture_run_until(fixture, 200 * SIM_US);
    ck_assert_uint_eq(fab_port_counters(pair.port[1])->receiver_overflows, 0);
    ck_assert_uint_gt(pair.last, 5000);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_fault");
    TCase *tcase = tcase_create("fault");

    tcase_set_timeout(tcase, 20);
    tcase_add_loop_test(tcase, goodput_is_that_of_the_lower_link, 0, 8);
    tcase_add_loop_test(tcase, credits_and_limits_are_those_of_the_lower_link,
                        0, 8);
    tcase_add_loop_test(tcase, a_fault_begins_with_its_event, 1, 20);
    tcase_add_test(tcase, the_chosen_tlps_are_poisoned);
    tcase_add_test(tcase, a_rate_poisons_its_share);
    tcase_add_loop_test(tcase, a_surplus_is_dropped_once, 1, 8);
    tcase_add_test(tcase, a_new_link_has_the_surplus_again);
    tcase_add_test(tcase, space_in_time_is_no_overflow);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
