/* SPDX-License-Identifier: MIT */
/*
 * Invariants of a switch: the time of a TLP through it agrees with the formula,
 * for cut-through and for store and forward. With cut-through the last byte
 * never leaves before it has arrived. Slow links together fill a fast one.
 * Every kind of arbitration gives its promised shares, and no sender starves.
 */
#include "fab_fixture.h"

#include "sim_random.h"
#include "../suite.h"

/* Time of @bytes on a link of 2.5 GT/s with @lanes lanes. */
#define GEN1(bytes, lanes) ((SimTime)(bytes)*4 * SIM_NS / (lanes))

#define LINK1  (11 * SIM_NS)
#define LINK2  (23 * SIM_NS)
#define SWITCH (150 * SIM_NS)

/* A host with a switch and ends below the switch. */
typedef struct Tree {
    Fixture *fixture;
    FabRoot *root;
    FabComponent *sw;
    FixtureEnd *end[16];
    unsigned ends;
} Tree;

static void tree_init(Tree *tree, Fixture *fixture, unsigned ends,
                      const FabPortParams *port, bool acs)
{
    FabRootParams root = fixture_root();
    FabPortParams end_port = *port;

    tree->fixture = fixture;
    tree->root = fab_root_new(fixture_fabric(fixture), "h", &root);
    tree->ends = ends;
    fab_root_add_port(tree->root, "rp0", port);
    tree->sw =
        fab_switch_new(fixture_fabric(fixture), "h.sw", ends, port, port, acs);
    fixture_connect(fixture, fab_root_component(tree->root), 0, tree->sw, 0, 0,
                    0, LINK1);
    end_port.latency = 0;
    for (unsigned i = 0; i < ends; i++) {
        g_autofree char *name = g_strdup_printf("h.e%u", i);

        tree->end[i] =
            fixture_end_new(fixture, name, &end_port, MIB(1), MIB(2));
        tree->end[i]->logs = true;
        tree->end[i]->user = tree;
    }
}

static void tree_connect(Tree *tree, unsigned i, uint32_t width,
                         SimTime propagation)
{
    fixture_connect(tree->fixture, tree->sw, 1 + i, &tree->end[i]->component, 0,
                    0, width, propagation);
}

/* ---- Latency --------------------------------------------------------- */

/* For several payloads and pairs of widths. _i: 0: cut-through, 1: store. */
START_TEST(latency_is_that_of_the_formula)
{
    static const uint32_t widths[] = {1, 2, 4, 8, 16};
    static const uint32_t payloads[] = {4, 64, 256};

    for (unsigned n = 0; n < 5 * 5 * 3; n++) {
        g_autoptr(Fixture) fixture = fixture_new();
        FabPortParams port = fixture_port(FAB_SPEED_2_5GT, 16);
        uint32_t in = widths[n % 5], out = widths[n / 5 % 5];
        uint32_t payload = payloads[n / 25], bytes = 8 + 12 + payload;
        SimTime t_in = GEN1(bytes, in), t_out = GEN1(bytes, out), want;
        Tree tree;

        port.latency = SWITCH;
        port.forwarding =
            _i ? FAB_FORWARDING_STORE : FAB_FORWARDING_CUT_THROUGH;
        tree_init(&tree, fixture, 2, &port, false);
        tree_connect(&tree, 0, in, LINK1);
        tree_connect(&tree, 1, out, LINK2);
        fixture_realize(fixture);
        fixture_send(tree.end[0],
                     fixture_tlp(tree.end[0], FAB_TLP_MWR,
                                 fixture_bar(tree.end[1], 0), payload));
        fixture_run(fixture);
        ck_assert_uint_eq(tree.end[1]->log->len, 1);
        /* Store and forward adds the times on both links. With cut-through only
         * the slower link counts. */
        want = (_i ? t_in + t_out : MAX(t_in, t_out)) + LINK1 + SWITCH + LINK2;
        ck_assert_int_le(fixture_log(tree.end[1], 0)->time, want + 1);
        ck_assert_int_ge(fixture_log(tree.end[1], 0)->time, want - 1);
        fixture_assert_drained(fixture);
    }
}
END_TEST

/* Along a chain of switches with links of equal speed the latencies add up. The
 * time of the TLP on the wire counts once with cut-through, and once for each
 * link with store and forward. _i: 0: cut-through, 1: store. */
START_TEST(latency_adds_up_along_a_chain)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_2_5GT, 4);
    FabRootParams root_params = fixture_root();
    FabRoot *root = fab_root_new(fixture_fabric(fixture), "h", &root_params);
    FabComponent *above = fab_root_component(root), *sw;
    SimTime t = GEN1(8 + 12 + 256, 4);
    FixtureEnd *end;

    port.latency = SWITCH;
    port.forwarding = _i ? FAB_FORWARDING_STORE : FAB_FORWARDING_CUT_THROUGH;
    fab_root_add_port(root, "rp0", &port);
    for (unsigned i = 0; i < 5; i++) {
        g_autofree char *name = g_strdup_printf("h.s%u", i);

        sw = fab_switch_new(fixture_fabric(fixture), name, 2, &port, &port,
                            false);
        fixture_connect(fixture, above, i > 0, sw, 0, 0, 0, LINK1);
        above = sw;
    }
    port.latency = 0;
    end = fixture_end_new(fixture, "h.a", &port, MIB(1), 0);
    fixture_connect(fixture, above, 1, &end->component, 0, 0, 0, LINK1);
    {
        FixtureEnd *top = fixture_end_new(fixture, "h.b", &port, MIB(1), 0);

        top->logs = true;
        fixture_connect(fixture,
                        fab_fabric_find(fixture_fabric(fixture), "h.s0"), 2,
                        &top->component, 0, 0, 0, LINK1);
        fixture_realize(fixture);
        fixture_send(end,
                     fixture_tlp(end, FAB_TLP_MWR, fixture_bar(top, 0), 256));
        fixture_run(fixture);
        fixture_assert_time_eq(fixture_log(top, 0)->time,
                               6 * LINK1 + 5 * SWITCH + (_i ? 6 * t : t));
        ck_assert_uint_eq(fixture_log(top, 0)->tlp.hops, 6);
    }
}
END_TEST

/* ---- Many into one --------------------------------------------------- */

static FabTlp *to_first(FixtureEnd *end)
{
    const Tree *tree = end->user;
    FabTlp *tlp =
        fixture_tlp(end, FAB_TLP_MWR, fixture_bar(tree->end[0], 0), 256);

    tlp->flow = 1 + (end->component.name[3] - '0');
    return tlp;
}

/* The last byte of a TLP leaves the switch no earlier than SWITCH after its
 * arrival, less 1 ps of rounding. */
static void check_underrun(void *data, const FabTraceRecord *record)
{
    GHashTable *tails = data;
    SimTime *tail = g_hash_table_lookup(tails, record->tlp);

    if (fab_port_owner(record->port)->kind == FAB_KIND_ENDPOINT) {
        tail = g_new(SimTime, 1);
        *tail = record->end + LINK1 + SWITCH;
        g_hash_table_insert(tails, (void *)record->tlp, tail);
    } else {
        fixture_ensure(record->end >= *tail - 1);
    }
}

/* Senders with two lanes each send to one end with eight lanes. _i: number of
 * senders. */
START_TEST(slow_links_fill_a_fast_one)
{
    g_autoptr(Fixture) fixture = fixture_new();
    g_autoptr(GHashTable) tails =
        g_hash_table_new_full(g_direct_hash, g_direct_equal, NULL, g_free);
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 512);
    SimTime window = 400 * SIM_US;
    double link = 256.0 / (256 + 12 + 8) * 7.877e9 / 8 * (1 - 4.0 / 1538);
    double want = link * MIN(8, 2 * _i);
    Tree tree;

    port.latency = SWITCH;
    tree_init(&tree, fixture, 1 + _i, &port, false);
    tree_connect(&tree, 0, 8, LINK2);
    for (int i = 1; i <= _i; i++) {
        tree_connect(&tree, i, 2, LINK1);
    }
    fixture_realize(fixture);
    fab_fabric_set_trace(fixture_fabric(fixture), FAB_TRACE_LINK,
                         check_underrun, tails);
    for (int i = 1; i <= _i; i++) {
        tree.end[i]->make = to_first;
        fixture_end_start(tree.end[i], 2);
    }
    fixture_run_until(fixture, window);
    fixture_assert_near(tree.end[0]->received_bytes * (double)SIM_S / window,
                        want, 0.005);
}
END_TEST

/* ---- Arbitration ----------------------------------------------------- */

static FabTlp *mixed_to_first(FixtureEnd *end)
{
    const Tree *tree = end->user;
    unsigned number = end->component.name[3] - '0';
    static const uint32_t sizes[] = {8, 256, 64, 128, 32, 256, 16, 192};
    FabTlp *tlp = fixture_tlp(end, FAB_TLP_MWR, fixture_bar(tree->end[0], 0),
                              sizes[number % 8]);

    tlp->flow = 1 + number;
    return tlp;
}

/* Counts the TLPs that end 0 has received since @begin, and their bytes on the
 * wire, by sender. */
static void count_by_sender(const Tree *tree, SimTime begin, uint64_t *ret_tlps,
                            uint64_t *ret_bytes)
{
    for (unsigned i = 0; i < tree->end[0]->log->len; i++) {
        const FixtureLog *log = fixture_log(tree->end[0], i);

        if (log->time >= begin) {
            ret_tlps[log->tlp.flow - 1]++;
            ret_bytes[log->tlp.flow - 1] += 8 + fab_tlp_bytes(&log->tlp);
        }
    }
}

static void saturate(Tree *tree, Fixture *fixture, FabArbitration arbitration,
                     const uint32_t *widths, unsigned senders,
                     FabTlp *(*make)(FixtureEnd *), uint64_t *ret_tlps,
                     uint64_t *ret_bytes)
{
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 512);

    port.latency = SWITCH;
    port.arbitration = arbitration;
    tree_init(tree, fixture, 1 + senders, &port, false);
    for (unsigned i = 0; i <= senders; i++) {
        tree_connect(tree, i, widths[i], LINK1);
    }
    fixture_realize(fixture);
    for (unsigned i = 1; i <= senders; i++) {
        tree->end[i]->make = make;
        fixture_end_start(tree->end[i], 2);
    }
    fixture_run_until(fixture, 400 * SIM_US);
    count_by_sender(tree, 50 * SIM_US, ret_tlps, ret_bytes);
}

START_TEST(round_robin_gives_equal_numbers_of_tlps)
{
    static const uint32_t widths[] = {8, 8, 8, 8, 8, 8, 8, 8, 8};
    g_autoptr(Fixture) fixture = fixture_new();
    uint64_t tlps[9] = {0}, bytes[9] = {0}, sum = 0;
    Tree tree;

    saturate(&tree, fixture, FAB_ARBITRATION_ROUND_ROBIN, widths, 8,
             mixed_to_first, tlps, bytes);
    for (unsigned i = 1; i <= 8; i++) {
        ck_assert_uint_gt(tlps[i], 1000);
        ck_assert_uint_le(tlps[i], tlps[1] + 1);
        ck_assert_uint_ge(tlps[i] + 1, tlps[1]);
        sum += bytes[i];
    }
    fixture_assert_near(sum / 350e-6, 7.877e9 * (1 - 4.0 / 1538), 0.005);
}
END_TEST

/* Three senders with 13 lanes in all send through an egress of 8 lanes. Each
 * gets a share in proportion to its lanes. _i: 1: TLPs of different sizes. */
START_TEST(weighted_gives_shares_by_ingress_rate)
{
    static const uint32_t widths[] = {8, 1, 4, 8};
    g_autoptr(Fixture) fixture = fixture_new();
    uint64_t tlps[4] = {0}, bytes[4] = {0}, sum;
    FabTlp *(*make)(FixtureEnd *) = _i ? mixed_to_first : to_first;
    Tree tree;

    saturate(&tree, fixture, FAB_ARBITRATION_WEIGHTED, widths, 3, make, tlps,
             bytes);
    sum = bytes[1] + bytes[2] + bytes[3];
    fixture_assert_near(sum / 350e-6, 7.877e9 * (1 - 4.0 / 1538), 0.005);
    for (unsigned i = 1; i <= 3; i++) {
        fixture_assert_near(bytes[i] / (double)sum, widths[i] / 13.0, 0.02);
    }
}
END_TEST

/* Runs three senders with @shares through a table of @phases. Gives the numbers
 * of TLPs that arrive. Sender 3 sends only if @all. */
static void run_table(uint32_t phases, const uint32_t *shares, bool all,
                      uint64_t *ret_tlps)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 512);
    uint64_t bytes[4] = {0};
    Tree tree;

    port.arbitration = FAB_ARBITRATION_TABLE;
    port.phases = phases;
    tree_init(&tree, fixture, 4, &port, false);
    for (unsigned i = 0; i <= 3; i++) {
        tree_connect(&tree, i, 8, LINK1);
        if (i > 0) {
            fab_switch_set_share(tree.sw, 1 + i, shares[i - 1]);
        }
    }
    fixture_realize(fixture);
    for (unsigned i = 1; i <= 2u + all; i++) {
        tree.end[i]->make = mixed_to_first;
        fixture_end_start(tree.end[i], 2);
    }
    fixture_run_until(fixture, 400 * SIM_US);
    count_by_sender(&tree, 50 * SIM_US, ret_tlps, bytes);
}

/* A phase serves one TLP, whatever its size, so saturated senders get TLPs in
 * the proportion of their phases. The Upstream Port is connected and has a
 * share of 1, but sends nothing: its phases are skipped. With the shares
 * 4:2:1:1 of 32 phases each has a whole number of them; 5:2:1:1 are 17.8, 7.1,
 * 3.6 and 3.6, and what rounding down leaves goes to the largest fractions, the
 * lower port first. _i: 0: exact shares, 1: rounded ones, 2: the third sender
 * is idle too. */
START_TEST(table_gives_tlps_in_proportion_to_its_phases)
{
    static const uint32_t shares[][3] = {{4, 2, 1}, {5, 2, 1}, {4, 2, 1}};
    static const double phases[][3] = {{16, 8, 4}, {18, 7, 3}, {16, 8, 0}};
    double sum = phases[_i][0] + phases[_i][1] + phases[_i][2];
    uint64_t tlps[4] = {0}, all;

    run_table(32, shares[_i], _i != 2, tlps);
    all = tlps[1] + tlps[2] + tlps[3];
    ck_assert_uint_gt(all, 3000);
    for (unsigned i = 1; i <= 3; i++) {
        fixture_assert_near(tlps[i] / (double)all, phases[_i][i - 1] / sum,
                            0.01);
    }
}
END_TEST

/* An ingress that needs less than its share loses nothing, and the others share
 * the rest. */
START_TEST(weighted_gives_what_is_left_to_others)
{
    static const uint32_t widths[] = {4, 1, 4, 4};
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 512);
    uint64_t tlps[4] = {0}, bytes[4] = {0};
    Tree tree;

    port.arbitration = FAB_ARBITRATION_WEIGHTED;
    tree_init(&tree, fixture, 4, &port, false);
    for (unsigned i = 0; i < 4; i++) {
        tree_connect(&tree, i, widths[i], LINK1);
    }
    fixture_realize(fixture);
    for (unsigned i = 2; i <= 3; i++) {
        tree.end[i]->make = to_first;
        fixture_end_start(tree.end[i], 2);
    }
    /* End 1 sends one write a microsecond, far below its share of 4/9 lane. */
    for (unsigned i = 0; i < 400; i++) {
        fixture_run_until(fixture, i * SIM_US);
        fixture_send(tree.end[1], to_first(tree.end[1]));
    }
    fixture_run_until(fixture, 400 * SIM_US);
    count_by_sender(&tree, 50 * SIM_US, tlps, bytes);
    ck_assert_uint_ge(tlps[1], 349);
    ck_assert_uint_le(tlps[1], 351);
    fixture_assert_near(bytes[2] / (double)bytes[3], 1.0, 0.02);
}
END_TEST

static SimTime hold_reads(FixtureEnd *end, const FabTlp *tlp)
{
    return tlp->cls == FAB_CLASS_NP ? 100 * SIM_US : 0;
}

/* A read of end 1 waits at the switch for credits for a long time. Afterwards
 * end 1 gets no larger share to make up for that time. */
START_TEST(weighted_does_not_make_up_for_blocked_time)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port_credits(FAB_SPEED_8_0GT, 8, 32, 512);
    uint64_t tlps[3] = {0};
    Tree tree;

    port.arbitration = FAB_ARBITRATION_WEIGHTED;
    port.credits.header[FAB_CLASS_NP] = 1;
    tree_init(&tree, fixture, 3, &port, false);
    for (unsigned i = 0; i < 3; i++) {
        tree_connect(&tree, i, 4, LINK1);
    }
    tree.end[0]->hold = hold_reads;
    fixture_realize(fixture);
    /* The first read takes the one credit, the second waits at the switch. */
    for (unsigned i = 0; i < 2; i++) {
        fixture_send(tree.end[1], fixture_tlp(tree.end[1], FAB_TLP_MRD,
                                              fixture_bar(tree.end[0], 0), 64));
    }
    tree.end[2]->make = to_first;
    fixture_end_start(tree.end[2], 2);
    fixture_run_until(fixture, 90 * SIM_US);
    tree.end[1]->make = to_first;
    fixture_end_start(tree.end[1], 2);
    fixture_run_until(fixture, 95 * SIM_US);
    for (unsigned i = 0; i < tree.end[0]->log->len; i++) {
        const FixtureLog *log = fixture_log(tree.end[0], i);

        if (log->time >= 91 * SIM_US && log->tlp.cls == FAB_CLASS_P) {
            tlps[log->tlp.flow - 1]++;
        }
    }
    ck_assert_uint_gt(tlps[1], 20);
    fixture_assert_near(tlps[1] / (double)tlps[2], 1.0, 0.1);
}
END_TEST

typedef struct Arrival {
    SimTime seen;
    uint64_t data;
} Arrival;

typedef struct Arrivals {
    GArray *in;  /* of Arrival: TLPs that reach the switch */
    GArray *out; /* of uint64_t: data of TLPs, in the order they leave */
} Arrivals;

static void note_arrival(void *data, const FabTraceRecord *record)
{
    Arrivals *arrivals = data;

    if (fab_port_owner(record->port)->kind == FAB_KIND_ENDPOINT) {
        Arrival arrival = {record->seen, record->tlp->data};

        g_array_append_val(arrivals->in, arrival);
    } else {
        g_array_append_val(arrivals->out, record->tlp->data);
    }
}

static int compare_arrivals(const void *a, const void *b)
{
    const Arrival *x = a, *y = b;

    return (x->seen > y->seen) - (x->seen < y->seen);
}

START_TEST(oldest_first_keeps_the_order_of_arrival)
{
    g_autoptr(Fixture) fixture = fixture_new();
    FabPortParams port = fixture_port(FAB_SPEED_8_0GT, 8);
    Arrivals arrivals = {g_array_new(FALSE, FALSE, sizeof(Arrival)),
                         g_array_new(FALSE, FALSE, sizeof(uint64_t))};
    SimRandom random;
    Tree tree;

    sim_random_init(&random, 1, "oldest");
    port.arbitration = FAB_ARBITRATION_OLDEST;
    port.forwarding = FAB_FORWARDING_STORE;
    tree_init(&tree, fixture, 6, &port, false);
    for (unsigned i = 0; i < 6; i++) {
        tree_connect(&tree, i, i ? 8 : 4, LINK1 + i * 777);
    }
    fixture_realize(fixture);
    fab_fabric_set_trace(fixture_fabric(fixture), FAB_TRACE_LINK, note_arrival,
                         &arrivals);
    for (unsigned i = 0; i < 2000; i++) {
        FixtureEnd *end = tree.end[1 + sim_random_below(&random, 5)];
        FabTlp *tlp = fixture_tlp(end, FAB_TLP_MWR, fixture_bar(tree.end[0], 0),
                                  1 + sim_random_below(&random, 256));

        tlp->data = i;
        fixture_send(end, tlp);
        fixture_run_until(fixture, fixture_now(fixture) +
                                       sim_random_below(&random, 40 * SIM_NS));
    }
    fixture_run(fixture);
    g_array_sort(arrivals.in, compare_arrivals);
    fixture_ensure(arrivals.in->len == 2000);
    fixture_ensure(arrivals.out->len == 2000);
    for (unsigned i = 0; i < 2000; i++) {
        fixture_ensure(g_array_index(arrivals.in, Arrival, i).data ==
                       g_array_index(arrivals.out, uint64_t, i));
    }
    g_array_unref(arrivals.in);
    g_array_unref(arrivals.out);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("fab_switch");
    TCase *tcase = tcase_create("switch");

    tcase_add_loop_test(tcase, latency_is_that_of_the_formula, 0, 2);
    tcase_add_loop_test(tcase, latency_adds_up_along_a_chain, 0, 2);
    tcase_add_loop_test(tcase, slow_links_fill_a_fast_one, 1, 9);
    tcase_add_test(tcase, round_robin_gives_equal_numbers_of_tlps);
    tcase_add_loop_test(tcase, weighted_gives_shares_by_ingress_rate, 0, 2);
    tcase_add_test(tcase, weighted_gives_what_is_left_to_others);
    tcase_add_loop_test(tcase, table_gives_tlps_in_proportion_to_its_phases, 0,
                        3);
    tcase_add_test(tcase, weighted_does_not_make_up_for_blocked_time);
    tcase_add_test(tcase, oldest_first_keeps_the_order_of_arrival);
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
