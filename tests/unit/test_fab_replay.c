/* SPDX-License-Identifier: MIT */
/*
 * Invariant: on a link with bit errors every TLP arrives once and in order,
 * whichever TLPs, Acks, Naks and UpdateFCs are destroyed, and the goodput is
 * that of the closed formula for going back to the bad packet.
 */
#include <math.h>

#include "fab_fault.h"
#include "fab_fixture.h"
#include "fab_replay_priv.h"
#include "sim_random.h"
#include "../suite.h"

#define SPEED               FAB_SPEED_8_0GT
#define WIDTH               8
#define BYTE_PS             (1015.625 / WIDTH)
#define BITS                8.125 /* of a byte on the wire, with 128b/130b */
#define DLLP_BYTES          8
#define PROPAGATION         (5 * SIM_NS)
/* Framing, header of 3 DW, payload. */
#define WIRE_BYTES(payload) (8 + 12 + (payload))
#define SKP_SHARE           (1.0 / 375)
/* PCIe 5.0 table 3-9: 8.0 GT/s, x8, 256 bytes, in symbol times of 1 ns. */
#define ACK_LIMIT_PS        (203 * 1015.625)
#define TIMER_PS            (3 * ACK_LIMIT_PS + 2 * PROPAGATION)

typedef struct Pair {
    Fixture *fixture;
    FixtureEnd *end[2];
    FabPort *port[2];
} Pair;

static void pair_init(Pair *pair, Fixture *fixture, const FabPortParams *port)
{
    static const char *const names[] = {"a", "b"};

    pair->fixture = fixture;
    for (unsigned i = 0; i < 2; i++) {
        pair->end[i] = fixture_end_new(fixture, names[i], port, 0, 0);
        pair->port[i] = pair->end[i]->component.ports[0];
    }
    fixture_connect(fixture, &pair->end[0]->component, 0,
                    &pair->end[1]->component, 0, 0, 0, PROPAGATION);
    fixture_realize(fixture);
}

/* ---- Goodput ---------------------------------------------------------- */

static FabTlp *write_make(FixtureEnd *end)
{
    return fixture_tlp(end, FAB_TLP_MWR, 0x1000, *(const uint32_t *)end->user);
}

/*
 * A bad TLP costs its own time, and the whole TLPs that the sender sends until
 * the Nak has come back: the wire there, the Nak, the wire back. If the TLP is
 * bad again, the receiver, which has sent its Nak, sends no other one (PCIe 5.0
 * s3.6.3.1), and the sender's timer must end; so it must if the Nak is bad.
 */
static double goodput(uint32_t payload, double rate)
{
    double tlp = WIRE_BYTES(payload) * BYTE_PS;
    double nak = 2 * PROPAGATION + DLLP_BYTES * BYTE_PS;
    double p = 1 - pow(1 - rate, WIRE_BYTES(payload) * BITS);
    double q = 1 - pow(1 - rate, DLLP_BYTES * BITS);
    double once = tlp + ceil(nak / tlp) * tlp;
    double timer = ceil((tlp + TIMER_PS) / tlp) * tlp;
    double time =
        tlp + p * ((1 - q) * once + q * timer) + p * p / (1 - p) * timer;

    return payload / time * (1 - SKP_SHARE);
}

/* _i: the rate is 10^-_i */
START_TEST(goodput_is_that_of_the_formula)
{
    static const uint32_t sizes[] = {32, 128, 256};
    const SimTime window = 3 * SIM_MS;
    double rate = pow(10, -_i);

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabPortParams port = fixture_port(SPEED, WIDTH);
        uint32_t size = sizes[i];
        Pair pair;

        pair_init(&pair, fixture, &port);
        fixture_set_errors(pair.port[0], rate, 0, SIM_TIME_NONE);
        pair.end[0]->make = write_make;
        pair.end[0]->user = &size;
        fixture_end_start(pair.end[0], 2);
        fixture_run_until(fixture, window);
        fixture_assert_near(pair.end[1]->received_bytes / (double)window,
                            goodput(size, rate), 0.01);
    }
}
END_TEST

/* ---- Nothing is lost or doubled ---------------------------------------- */

typedef struct Numbers {
    SimRandom random;
    uint64_t count;
    uint64_t got[FAB_CLASSES]; /* the number that came last, from 1 */
    uint64_t total;
} Numbers;

/* TLPs of all classes with numbers that go up. */
static FabTlp *number_make(FixtureEnd *end)
{
    static const FabTlpType types[] = {FAB_TLP_MWR, FAB_TLP_MRD, FAB_TLP_CPLD};
    Numbers *numbers = end->user;
    FabTlp *tlp;

    if (end->made == numbers->count) {
        return NULL;
    }
    tlp = fixture_tlp(end, types[sim_random_below(&numbers->random, 3)], 0x1000,
                      4 + 4 * sim_random_below(&numbers->random, 60));
    tlp->data = end->made + 1;
    return tlp;
}

/* TLPs of one class keep their order. */
static void number_got(FixtureEnd *end, const FabTlp *tlp)
{
    Numbers *numbers = end->user;

    fixture_ensure(tlp->data > numbers->got[tlp->cls]);
    numbers->got[tlp->cls] = tlp->data;
    numbers->total++;
}

static void numbers_send(Pair *pair, Numbers numbers[2], uint64_t count)
{
    for (unsigned i = 0; i < 2; i++) {
        sim_random_init(&numbers[i].random, i, "numbers");
        numbers[i].count = count;
        pair->end[i]->make = number_make;
        pair->end[i]->got = number_got;
        pair->end[i]->user = &numbers[i];
        fixture_end_start(pair->end[i], 3);
    }
}

static void numbers_check(Pair *pair, const Numbers numbers[2])
{
    fixture_run(pair->fixture);
    for (unsigned i = 0; i < 2; i++) {
        ck_assert_uint_eq(numbers[i].total, numbers[i].count);
    }
    fixture_assert_drained(pair->fixture);
}

/* _i: bits 0 and 1: DLLP policy; bit 2: few credits; bit 3: a replay buffer of
 * 1 KiB; then the rate 1e-5, 1e-4, 1e-3 */
START_TEST(errors_lose_and_double_nothing)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = _i & 4 ? fixture_port_credits(SPEED, WIDTH, 4, 40)
                                : fixture_port(SPEED, WIDTH);
    Numbers numbers[2] = {0};
    Pair pair;

    port.dllp = (_i & 3) % 3;
    port.latency = 100 * SIM_NS;
    port.replay_bytes = _i & 8 ? 1024 : 0;
    pair_init(&pair, fixture, &port);
    fixture_set_errors(pair.port[_i & 1], pow(10, -5 + _i / 16), 0,
                       SIM_TIME_NONE);
    numbers_send(&pair, numbers, 20000);
    numbers_check(&pair, numbers);
    for (unsigned i = 0; i < 2; i++) {
        const FabPortCounters *counters = fab_port_counters(pair.port[i]);

        ck_assert_uint_gt(counters->bad_tlps, 0);
        ck_assert_uint_gt(counters->naks_sent, 0);
        ck_assert_uint_ge(counters->replayed_tlps,
                          fab_port_counters(pair.port[1 - i])->bad_tlps);
    }
}
END_TEST

/* ---- Chosen packets ----------------------------------------------------- */

/*
 * Only the first of ten TLPs is destroyed. The receiver sends one Nak. Until it
 * arrives, the sender has sent more TLPs, and all go again: the first arrives
 * when it has been sent for the second time.
 */
START_TEST(one_bad_tlp_is_sent_again)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    double tlp = WIRE_BYTES(128) * BYTE_PS;
    double nak = 2 * PROPAGATION + DLLP_BYTES * BYTE_PS;
    double again = tlp + ceil(nak / tlp) * tlp;
    Pair pair;

    pair_init(&pair, fixture, &port);
    pair.end[1]->logs = true;
    fixture_set_errors(pair.port[0], 1, 0, 1);
    for (unsigned i = 0; i < 10; i++) {
        FabTlp *write = fixture_tlp(pair.end[0], FAB_TLP_MWR, 0x1000, 128);

        write->data = i;
        fixture_send(pair.end[0], write);
    }
    fixture_run(fixture);
    ck_assert_uint_eq(pair.end[1]->received[FAB_CLASS_P], 10);
    for (unsigned i = 0; i < 10; i++) {
        const FixtureLog *log = fixture_log(pair.end[1], i);
        double want = again + (i + 1) * tlp + PROPAGATION;

        ck_assert_uint_eq(log->tlp.data, i);
        ck_assert_msg(fabs(log->time - want) <= 20,
                      "TLP %u at %" G_GINT64_FORMAT ", not %g", i, log->time,
                      want);
    }
    ck_assert_uint_eq(fab_port_counters(pair.port[1])->bad_tlps, 1);
    ck_assert_uint_eq(fab_port_counters(pair.port[1])->naks_sent, 1);
    ck_assert_uint_eq(fab_port_counters(pair.port[0])->replay_timeouts, 0);
    ck_assert_uint_eq(fab_port_counters(pair.port[0])->replayed_tlps,
                      1 + (unsigned)ceil(nak / tlp));
    fixture_assert_drained(fixture);
}
END_TEST

/*
 * Each TLP in turn is destroyed, _i times in a row, and each DLLP. All TLPs
 * arrive once and in order. A TLP that is destroyed is sent once more for each
 * time. REPLAY_NUM has two bits, so after three replays without progress the
 * fourth one comes after retraining.
 */
#define CHOSEN 12

START_TEST(chosen_tlps_are_sent_again)
{
    for (unsigned number = 1; number <= CHOSEN; number++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabPortParams port = fixture_port_credits(SPEED, WIDTH, 4, 40);
        const FabFault fault = {.action = FAB_FAULT_BIT_ERRORS,
                                .event = FAB_FAULT_ON_TLP,
                                .number = number,
                                .count = _i,
                                .from_port = true};
        Numbers numbers[2] = {0};
        const FabPortCounters *sender, *receiver;
        Pair pair;

        pair_init(&pair, fixture, &port);
        fab_port_add_fault(pair.port[0], &fault);
        if (_i == 1) { /* among others, in both directions */
            numbers_send(&pair, numbers, CHOSEN);
            numbers_check(&pair, numbers);
        } else { /* alone, so that no other TLP is hit */
            pair.end[1]->got = number_got;
            pair.end[1]->user = &numbers[1];
            for (unsigned i = 0; i < CHOSEN; i++) {
                FabTlp *tlp = fixture_tlp(pair.end[0], FAB_TLP_MWR, 0x1000, 64);

                tlp->data = i + 1;
                fixture_send(pair.end[0], tlp);
                fixture_run(fixture);
            }
            ck_assert_uint_eq(numbers[1].total, CHOSEN);
            fixture_assert_drained(fixture);
        }
        sender = fab_port_counters(pair.port[0]);
        receiver = fab_port_counters(pair.port[1]);
        ck_assert_uint_eq(receiver->bad_tlps, _i);
        ck_assert_uint_eq(receiver->naks_sent, 1);
        /* The receiver sends one Nak; then the timer ends. */
        ck_assert_uint_eq(sender->replay_timeouts, _i - 1);
        ck_assert_uint_eq(sender->retrains, _i / 4);
        if (_i > 1) {
            ck_assert_uint_eq(sender->replayed_tlps, _i);
        }
    }
}
END_TEST

/* _i: the DLLP, of those that the receiver sends; each is destroyed alone, and
 * with the two that follow. Nothing is bad, so no Nak is sent. */
START_TEST(chosen_dllps_are_made_up_for)
{
    for (unsigned count = 1; count <= 3; count += 2) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabPortParams port = fixture_port_credits(SPEED, WIDTH, 4, 40);
        const FabFault fault = {.action = FAB_FAULT_BIT_ERRORS,
                                .event = FAB_FAULT_ON_DLLP,
                                .number = _i,
                                .count = count,
                                .from_peer = true};
        Numbers numbers[2] = {0};
        Pair pair;

        port.dllp = FAB_DLLP_EACH;
        pair_init(&pair, fixture, &port);
        fab_port_add_fault(pair.port[0], &fault);
        numbers_send(&pair, numbers, 40);
        numbers_check(&pair, numbers);
        for (unsigned i = 0; i < 2; i++) {
            const FabPortCounters *counters = fab_port_counters(pair.port[i]);

            ck_assert_uint_eq(counters->bad_tlps + counters->naks_sent, 0);
            ck_assert_uint_eq(counters->retrains, 0);
        }
    }
}
END_TEST

/* All Acks are destroyed for a while. The TLP arrives once. The sender repeats
 * it whenever its timer ends, three Ack latency limits after the last byte. */
START_TEST(lost_acks_end_the_timer)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(SPEED, WIDTH);
    double tlp = WIRE_BYTES(64) * BYTE_PS;
    double timer = TIMER_PS;
    Pair pair;

    pair_init(&pair, fixture, &port);
    fixture_set_errors(pair.port[0], 0, 0, 0);
    /* Longer than one timer, shorter than two. */
    fab_replay_set_errors(pair.port[1], 1, 0, 1.5 * timer);
    fixture_send(pair.end[0], fixture_tlp(pair.end[0], FAB_TLP_MWR, 0, 64));
    fixture_run_until(fixture, tlp + timer - 2 * SIM_NS);
    ck_assert_uint_eq(fab_port_counters(pair.port[0])->replayed_tlps, 0);
    fixture_run_until(fixture, tlp + timer + 2 * SIM_NS);
    ck_assert_uint_eq(fab_port_counters(pair.port[0])->replayed_tlps, 1);
    fixture_run(fixture);
    ck_assert_uint_eq(pair.end[1]->received[FAB_CLASS_P], 1);
    ck_assert_uint_eq(fab_port_counters(pair.port[0])->replay_timeouts, 2);
    ck_assert_uint_eq(fab_port_counters(pair.port[1])->bad_tlps, 0);
    fixture_assert_drained(fixture);
}
END_TEST

/* Everything is destroyed for longer than four replays take, so REPLAY_NUM
 * rolls over and the link retrains. Then all arrives. _i: DLLP policy */
START_TEST(rollover_retrains_the_link)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(SPEED, WIDTH, 4, 40);
    Numbers numbers[2] = {0};
    Pair pair;

    port.dllp = _i;
    pair_init(&pair, fixture, &port);
    fixture_set_errors(pair.port[0], 1, 5 * SIM_US, 9 * SIM_US);
    numbers_send(&pair, numbers, 2000);
    numbers_check(&pair, numbers);
    ck_assert_uint_ge(fab_port_counters(pair.port[0])->retrains, 1);
    ck_assert_uint_ge(fab_port_counters(pair.port[0])->replay_timeouts, 4);
}
END_TEST

/* Without errors the layer changes no arrival, only when Acks are sent. */
START_TEST(no_errors_change_nothing)
{
    FixtureLog last[2];

    for (unsigned i = 0; i < 2; i++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabPortParams port = fixture_port_credits(SPEED, WIDTH, 8, 100);
        Pair pair;

        pair_init(&pair, fixture, &port);
        pair.end[1]->logs = true;
        if (i) {
            fixture_set_errors(pair.port[0], 0, 0, SIM_TIME_NONE);
        }
        for (unsigned j = 0; j < 3000; j++) {
            fixture_send(pair.end[0], fixture_tlp(pair.end[0], FAB_TLP_MWR,
                                                  0x1000, 4 + j % 200));
        }
        fixture_run(fixture);
        ck_assert_uint_eq(pair.end[1]->received[FAB_CLASS_P], 3000);
        last[i] = *fixture_log(pair.end[1], 2999);
        fixture_assert_drained(fixture);
    }
    fixture_assert_time_eq(last[0].time, last[1].time);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_replay");
    TCase *tcase = tcase_create("replay");

    tcase_add_loop_test(tcase, goodput_is_that_of_the_formula, 5, 9);
    tcase_add_loop_test(tcase, errors_lose_and_double_nothing, 0, 48);
    tcase_add_test(tcase, one_bad_tlp_is_sent_again);
    tcase_add_loop_test(tcase, chosen_tlps_are_sent_again, 1, 10);
    tcase_add_loop_test(tcase, chosen_dllps_are_made_up_for, 1, 30);
    tcase_add_test(tcase, lost_acks_end_the_timer);
    tcase_add_loop_test(tcase, rollover_retrains_the_link, 0, 3);
    tcase_add_test(tcase, no_errors_change_nothing);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
