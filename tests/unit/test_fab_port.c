/* SPDX-License-Identifier: MIT */
/*
 * Invariants of flow control: if credits are the limit, the throughput is
 * credits x payload / round trip. A port never sends a TLP without room in the
 * receiver. Every credit comes back.
 */
#include "fab_fixture.h"

#include "sim_random.h"
#include "../suite.h"

/* One lane of 2.5 GT/s: a byte takes 4 ns. */
#define BYTE (4 * SIM_NS)

/* A kind of TLP, and which of its credits are scarce. */
typedef struct Kind {
    FabTlpType type;
    uint32_t payload; /* payload, or requested bytes of a read */
    bool data;        /* data credits are scarce, not header credits */
} Kind;

static const Kind kinds[] = {
    {FAB_TLP_MWR, 64, false},  {FAB_TLP_MWR, 256, true},
    {FAB_TLP_MRD, 64, false},  {FAB_TLP_FETCHADD, 8, true},
    {FAB_TLP_CPLD, 64, false}, {FAB_TLP_CPLD, 100, true},
};

static FabTlp *kind_make(FixtureEnd *end)
{
    const Kind *kind = end->user;

    return fixture_tlp(end, kind->type, MIB(1), kind->payload);
}

static uint32_t wire_bytes(const Kind *kind)
{
    return 8 + 12 + (kind->type == FAB_TLP_MRD ? 0 : kind->payload);
}

/* Data credits of a TLP of @kind: 16 bytes each, rounded up. */
static uint32_t data_credits(const Kind *kind)
{
    return kind->type == FAB_TLP_MRD ? 0 : (kind->payload + 15) / 16;
}

/* Scarce credits for @tlps TLPs of @kind, and more than enough of all other
 * credits. */
static FabCredits scarce_credits(const Kind *kind, uint32_t tlps)
{
    FabCredits credits = {{500, 500, 500}, {5000, 5000, 5000}};
    FabClass cls = fab_tlp_type_class(kind->type);

    if (kind->data) {
        credits.data[cls] = tlps * data_credits(kind);
    } else {
        credits.header[cls] = tlps;
    }
    return credits;
}

#define PROPAGATION    (3000 * SIM_NS)
#define LATENCY        (200 * SIM_NS)
#define CREDIT_LATENCY (150 * SIM_NS)

/*
 * The round trip of a credit: the TLP is sent and crosses the link. The
 * receiver takes it when it is complete and consumes it at once. After
 * credit_latency an UpdateFC of 8 bytes is sent and crosses the link back.
 */
static double round_trip(const Kind *kind)
{
    return wire_bytes(kind) * BYTE + PROPAGATION + LATENCY + CREDIT_LATENCY +
           8 * BYTE + PROPAGATION;
}

static void limited(const Kind *kind, uint32_t tlps, FabDllpPolicy dllp)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_2_5GT, 1);
    FixtureEnd *a, *b;
    uint64_t before;
    SimTime warm = 100 * SIM_US, window = 3000 * SIM_US;
    double want = MIN(tlps / round_trip(kind), 1.0 / (wire_bytes(kind) * BYTE));

    port.latency = LATENCY;
    port.credit_latency = CREDIT_LATENCY;
    port.credits = scarce_credits(kind, tlps);
    port.dllp = dllp;
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0,
                    PROPAGATION);
    fixture_realize(fixture);
    fixture_watch_credits(fixture);
    a->make = kind_make;
    a->user = (void *)kind;
    fixture_end_start(a, 4);
    fixture_run_until(fixture, warm);
    before = b->received[fab_tlp_type_class(kind->type)];
    fixture_run_until(fixture, warm + window);
    /* SKP ordered sets take 16 ns of every 6152 ns and may delay any round
     * trip. */
    fixture_assert_near((b->received[fab_tlp_type_class(kind->type)] - before) /
                            (double)window,
                        want, 0.006);
    a->make = NULL;
    fixture_run(fixture);
    fixture_assert_drained(fixture);
}

/* _i: index in kinds[] */
START_TEST(throughput_is_credits_by_round_trip)
{
    static const uint32_t tlps[] = {1, 2, 3, 7, 16};

    for (unsigned i = 0; i < G_N_ELEMENTS(tlps); i++) {
        limited(&kinds[_i], tlps[i], FAB_DLLP_FREE);
        limited(&kinds[_i], tlps[i], FAB_DLLP_EACH);
    }
}
END_TEST

/* A receiver that collects credits before it sends an UpdateFC never blocks the
 * sender for ever, even if it has room for one TLP only. */
START_TEST(scarce_credits_come_back_under_every_policy)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 16);
    FixtureEnd *a, *b;

    port.credits = scarce_credits(&kinds[_i], 1);
    port.dllp = FAB_DLLP_SPEC;
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0,
                    5 * SIM_NS);
    fixture_realize(fixture);
    fixture_watch_credits(fixture);
    for (unsigned i = 0; i < 100; i++) {
        const Kind *kind = &kinds[_i];

        fixture_send(a, fixture_tlp(a, kind->type, MIB(1), kind->payload));
    }
    fixture_run(fixture);
    ck_assert_uint_eq(b->received[fab_tlp_type_class(kinds[_i].type)], 100);
    fixture_assert_drained(fixture);
}
END_TEST

/* Infinite credits never run out, and no UpdateFC is sent for them. */
START_TEST(infinite_credits)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 1);
    FixtureEnd *a, *b;

    port.dllp = FAB_DLLP_EACH;
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0,
                    50 * SIM_US);
    fixture_realize(fixture);
    for (unsigned i = 0; i < 600; i++) {
        const Kind *kind = &kinds[i % G_N_ELEMENTS(kinds)];

        fixture_send(a, fixture_tlp(a, kind->type, MIB(1), kind->payload));
    }
    fixture_run(fixture);
    ck_assert_uint_eq(b->received[FAB_CLASS_P], 200);
    ck_assert_uint_eq(b->received[FAB_CLASS_NP], 200);
    ck_assert_uint_eq(b->received[FAB_CLASS_CPL], 200);
    /* These are Acks only. */
    ck_assert_uint_eq(fab_port_counters(b->component.ports[0])->dllps_sent,
                      600);
    fixture_assert_time_eq(
        fab_port_counters(a->component.ports[0])->credit_wait_ps, 0);
    fixture_assert_drained(fixture);
}
END_TEST

typedef struct Noise {
    SimRandom random;
    FixtureEnd *to[3];
    uint64_t count;
} Noise;

static FabTlp *noise_make(FixtureEnd *end)
{
    Noise *noise = end->user;
    FixtureEnd *to = noise->to[sim_random_below(&noise->random, 3)];
    const Kind *kind = &kinds[sim_random_below(&noise->random, 6)];
    uint32_t bytes = 1 + sim_random_below(&noise->random, 250);
    FabTlp *tlp;

    if (end->made == noise->count) {
        return NULL;
    }
    tlp =
        fixture_tlp(end, kind->type,
                    fixture_bar(to, 0) + sim_random_below(&noise->random, 4000),
                    kind->type == FAB_TLP_FETCHADD ? 8 : bytes);
    if (fab_tlp_is_completion(tlp)) {
        tlp->requester_id = to->component.bdf;
        tlp->tag = end->made;
    }
    return tlp;
}

static SimTime noise_hold(FixtureEnd *end, const FabTlp *tlp)
{
    Noise *noise = end->user;

    return sim_random_below(&noise->random, 4)
               ? 0
               : (SimTime)sim_random_below(&noise->random, 3000 * SIM_NS);
}

/*
 * Four ends below a switch with links of very different speeds, so that room in
 * a buffer is freed in another order than it was taken.
 * fixture_watch_credits() checks every buffer.
 */
static void no_credit_is_used_twice(FabDllpPolicy dllp, FabForwarding forward,
                                    uint32_t data, uint64_t seed)
{
    static const struct {
        FabSpeed speed;
        uint32_t width;
    } links[] = {{FAB_SPEED_2_5GT, 1},
                 {FAB_SPEED_8_0GT, 16},
                 {FAB_SPEED_5_0GT, 4},
                 {FAB_SPEED_16_0GT, 8}};
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(FAB_SPEED_32_0GT, 16, 8, data);
    FabRootParams root_params = fixture_root();
    FabRoot *root = fab_root_new(fixture_fabric(fixture), "h", &root_params);
    FixtureEnd *end[4];
    Noise noise[4];
    uint64_t received = 0;
    FabComponent *sw;

    port.dllp = dllp;
    port.forwarding = forward;
    port.latency = 100 * SIM_NS;
    port.credit_latency = 20 * SIM_NS;
    fab_root_add_port(root, "rp0", &port);
    sw =
        fab_switch_new(fixture_fabric(fixture), "h.sw", 4, &port, &port, false);
    fixture_connect(fixture, fab_root_component(root), 0, sw, 0, 0, 0, 0);
    for (unsigned i = 0; i < 4; i++) {
        g_autofree char *name = g_strdup_printf("h.e%u", i);

        end[i] = fixture_end_new(fixture, name, &port, MIB(1), 0);
        fixture_connect(fixture, sw, 1 + i, &end[i]->component, 0,
                        links[i].speed, links[i].width, 10 * SIM_NS);
    }
    fixture_realize(fixture);
    fixture_watch_credits(fixture);
    for (unsigned i = 0; i < 4; i++) {
        noise[i].count = 3000;
        sim_random_init(&noise[i].random, seed, end[i]->component.name);
        for (unsigned j = 0; j < 3; j++) {
            noise[i].to[j] = end[(i + 1 + j) % 4];
        }
        end[i]->user = &noise[i];
        end[i]->make = noise_make;
        end[i]->hold = noise_hold;
        fixture_end_start(end[i], 3);
    }
    fixture_run(fixture);
    for (unsigned i = 0; i < 4; i++) {
        for (unsigned cls = 0; cls < FAB_CLASSES; cls++) {
            received += end[i]->received[cls];
        }
    }
    ck_assert_uint_eq(received, 4 * 3000);
    fixture_assert_drained(fixture);
}

/* _i: seed */
START_TEST(no_buffer_is_overrun)
{
    static const FabDllpPolicy policies[] = {FAB_DLLP_FREE, FAB_DLLP_EACH,
                                             FAB_DLLP_SPEC};

    for (unsigned i = 0; i < 6; i++) {
        FabForwarding forward =
            i % 2 ? FAB_FORWARDING_STORE : FAB_FORWARDING_CUT_THROUGH;

        no_credit_is_used_twice(policies[i / 2], forward, 40, _i);
        no_credit_is_used_twice(policies[i / 2], forward, 4000, _i);
    }
}
END_TEST

/* A connection is refused if the port does not exist, is already connected or
 * is the same at both ends, or if it exceeds the speed or width of the port. */
/* An Ack delays the TLPs that leave after it was made, and no others. A TLP of
 * 256 B goes from a to b. b sends one of 4 B @after ns after the Ack is made:
 * when the first TLP has come in, or the Ack latency limit later. At 2.5 GT/s
 * and x1 a byte takes 4 ns, and the limit is (256 + 28) * 1.4 + 19 = 416
 * symbols (PCIe 5.0 s3.6.3.1). */
static void acks_wait_for_their_tlp(FabDllpPolicy dllp, SimTime made, int after)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_2_5GT, 1);
    FixtureEnd *a, *b;
    SimTime begin = 20 * SIM_US; /* no SKP ordered set is due until the end */
    SimTime leaves, ack, length = (4 + 12 + 8) * BYTE;

    port.dllp = dllp;
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0,
                    PROPAGATION);
    fixture_realize(fixture);
    a->logs = true;
    ack = begin + (256 + 12 + 8) * BYTE + PROPAGATION + made;
    leaves = ack + after * SIM_NS;
    fixture_run_until(fixture, begin);
    fixture_send(a, fixture_tlp(a, FAB_TLP_MWR, MIB(1), 256));
    fixture_run_until(fixture, leaves);
    fixture_send(b, fixture_tlp(b, FAB_TLP_MWR, MIB(1), 4));
    fixture_run(fixture);
    if (leaves >= ack) { /* behind the Ack */
        leaves = MAX(leaves, ack + 8 * BYTE);
    }
    fixture_assert_near(fixture_log(a, 0)->time - begin,
                        leaves + length + PROPAGATION - begin, 1e-5);
    fixture_assert_drained(fixture);
}

START_TEST(acks_that_do_not_exist_delay_nobody)
{
    static const int after[] = {-3000, -200, -1, 1, 20, 33, 500};

    for (unsigned i = 0; i < G_N_ELEMENTS(after); i++) {
        acks_wait_for_their_tlp(FAB_DLLP_EACH, 0, after[i]);
        acks_wait_for_their_tlp(FAB_DLLP_SPEC, 416 * BYTE, after[i]);
    }
}
END_TEST

/* Acks that went while the wire was idle delay no later TLP. A TLP of b leaves
 * while the Ack of the last of many TLPs is still to be made. Another one
 * leaves when all Acks are long over, and finds the wire free. */
START_TEST(acks_of_an_idle_wire_are_over)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_2_5GT, 1);
    SimTime tlp = (256 + 12 + 8) * BYTE, length = (4 + 12 + 8) * BYTE;
    SimTime begin = 200 * tlp + PROPAGATION + tlp / 2;
    FixtureEnd *a, *b;

    port.dllp = FAB_DLLP_EACH;
    a = fixture_end_new(fixture, "a", &port, 0, 0);
    b = fixture_end_new(fixture, "b", &port, 0, 0);
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0,
                    PROPAGATION);
    fixture_realize(fixture);
    a->logs = true;
    for (unsigned i = 0; i < 200; i++) {
        fixture_send(a, fixture_tlp(a, FAB_TLP_MWR, MIB(1), 256));
    }
    for (unsigned i = 0; i < 2; i++) {
        fixture_run_until(fixture, begin + i * 2000 * SIM_NS);
        fixture_send(b, fixture_tlp(b, FAB_TLP_MWR, MIB(1), 4));
    }
    fixture_run(fixture);
    /* An Ack and an SKP ordered set may be on the wire. */
    ck_assert_int_le(fixture_log(a, 1)->time - begin - 2000 * SIM_NS,
                     length + PROPAGATION + 8 * BYTE + 4 * BYTE);
    fixture_assert_drained(fixture);
}
END_TEST

/* Beats are counted without a division, and exactly: for each size that a TLP
 * may have, and beats from 1 B to 4096 B on a link that is 32 times as wide. */
START_TEST(beats_are_those_of_a_division)
{
    static const uint32_t sizes[] = {
        1,     2,     3,     5,      6,     7,    8,     12,    16,
        24,    31,    32,    33,     48,    64,   96,    127,   128,
        192,   255,   256,   511,    512,   513,  1023,  1024,  1025,
        1536,  2047,  2048,  3072,   4095,  4096, 12288, 16384, 49152,
        65535, 65536, 98304, 131071, 131072};

    for (unsigned i = 0; i < G_N_ELEMENTS(sizes); i++) {
        uint64_t inverse = fab_beat_inverse(sizes[i]);

        for (uint32_t bytes = 0; bytes <= UINT16_MAX; bytes++) {
            uint32_t want = bytes / sizes[i] + (bytes % sizes[i] > 0);

            if (fab_beats(bytes, sizes[i], inverse) != want) {
                ck_abort_msg("%u B are not %u beats of %u B", bytes, want,
                             sizes[i]);
            }
        }
    }
}
END_TEST

START_TEST(bad_connections_are_refused)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 8);
    FixtureEnd *a = fixture_end_new(fixture, "a", &port, 0, 0);
    FixtureEnd *b = fixture_end_new(fixture, "b", &port, 0, 0);
    FixtureEnd *c = fixture_end_new(fixture, "c", &port, 0, 0);
    static const struct {
        unsigned port;
        FabSpeed speed;
        uint32_t width;
        const char *text;
    } bad[] = {
        {1, 0, 0, "b has no port 1"},
        {0, FAB_SPEED_16_0GT, 0, "x8 at 8.0GT/s at most"},
        {0, 0, 16, "x8 at 8.0GT/s at most"},
    };

    for (unsigned i = 0; i < G_N_ELEMENTS(bad); i++) {
        g_autoptr(GError) error = NULL;

        ck_assert(!fab_fabric_connect(&a->component, 0, &b->component,
                                      bad[i].port, bad[i].speed, bad[i].width,
                                      0, &error));
        ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_CONNECT));
        ck_assert_ptr_nonnull(strstr(error->message, bad[i].text));
    }
    fixture_connect(fixture, &a->component, 0, &b->component, 0, 0, 0, 0);
    for (unsigned i = 0; i < 2; i++) {
        g_autoptr(GError) error = NULL;

        ck_assert(!fab_fabric_connect(&c->component, 0,
                                      i ? &a->component : &b->component, 0, 0,
                                      0, 0, &error));
        ck_assert_ptr_nonnull(strstr(error->message, "already connected"));
    }
    {
        g_autoptr(GError) error = NULL;

        ck_assert(!fab_fabric_connect(&c->component, 0, &c->component, 0, 0, 0,
                                      0, &error));
        ck_assert(g_error_matches(error, FAB_ERROR, FAB_ERROR_CONNECT));
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_port");
    TCase *tcase = tcase_create("port");

    tcase_add_loop_test(tcase, throughput_is_credits_by_round_trip, 0,
                        G_N_ELEMENTS(kinds));
    tcase_add_loop_test(tcase, scarce_credits_come_back_under_every_policy, 0,
                        G_N_ELEMENTS(kinds));
    tcase_add_test(tcase, infinite_credits);
    tcase_add_loop_test(tcase, no_buffer_is_overrun, 1, 6);
    tcase_add_test(tcase, acks_that_do_not_exist_delay_nobody);
    tcase_add_test(tcase, acks_of_an_idle_wire_are_over);
    tcase_add_test(tcase, beats_are_those_of_a_division);
    tcase_add_test(tcase, bad_connections_are_refused);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
